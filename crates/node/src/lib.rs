//! Job files, tables, connections and reports: everything around the protocols of `tacita-core`.
//!
//! Follow a job: [`jobs`] reads its file, [`run`] loads the table, meets the peers ([`transport`]), settles the terms
//! with them ([`agreement::handshake`]), and hands over to the room of the job ([`jobs`]), whose result it writes.

pub mod agreement;
pub mod base;
pub mod distributed;
pub mod govern;
pub mod identity;
pub mod jobs;
pub mod plan;
pub mod run;
pub mod simulate;
pub mod store;
pub mod table;
pub mod transport;
pub mod watch;
