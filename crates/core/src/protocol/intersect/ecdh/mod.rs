//! `ecdh`: intersection of two sets by Diffie-Hellman, as the oblivious pseudorandom function 2HashDH.
//!
//! The receiver blinds the hash of each of its items and sends it; the sender raises it to its key; the receiver
//! unblinds and has F(y). The sender sends F(x) of its own items, shortened to tags and in random order; the receiver
//! looks for its own among them. Meadows 1986; Huberman, Franklin & Hogg 1999; the function as in RFC 9497.
//! Semi-honest parties.
//!
//! [`rows`] tells the receiver which of its items are common, [`payload`] also the sender's rows for them, [`count`]
//! only how many are, [`sum`] also the sum of the sender's numbers for them. Each can tell the sender the same afterwards. [`prepared`] keeps the sender's part of the first
//! two for many receivers. [`pooled`] counts over many machines. What each role learns is in `docs/protocols/ecdh.md`, every byte in `docs/wire.md`.

pub mod count;
mod exchange;
mod params;
pub mod payload;
pub mod pooled;
pub mod prepared;
pub mod rows;
mod shuffled;
pub mod sum;

pub use super::tag_exchange::{
    CHUNK, ENTRIES, MATCHES, Payload, RETURNED_COUNTS, RETURNED_ROWS, ReceiverReveal, ReturnedRows, TagDomain,
    epoch_tag_bytes, payload_tag_bytes, tag_bytes,
};
pub use crate::channel::labels::ecdh::{BLINDED, COUNT, EVALUATED};
pub use params::Params;
