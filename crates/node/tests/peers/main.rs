//! Parties that meet: connections, agreements, jobs and their results.

mod agreement;
mod clients_handshake;
mod handshake;
mod layers;
mod parties;
mod rehearsal;
mod simulate;
mod transport;
mod transport_faults;
mod transport_relay;
