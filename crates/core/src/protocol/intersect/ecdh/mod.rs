//! `ecdh`: intersection of two sets by Diffie-Hellman, as the oblivious pseudorandom function 2HashDH.
//!
//! The receiver blinds the hash of each of its items and sends it; the sender raises it to its key; the receiver
//! unblinds and has F(y). The sender sends F(x) of its own items, shortened to tags and in random order; the receiver
//! looks for its own among them. Meadows 1986; Huberman, Franklin & Hogg 1999; the function as in RFC 9497.
//! Semi-honest parties.
//!
//! [`rows`] tells the receiver which of its items are common, [`payload`] also the sender's rows for them, [`count`]
//! only how many are. Each can tell the sender the same afterwards. [`prepared`] keeps the sender's part of the first
//! two for many receivers. What each role learns is in `docs/protocols/ecdh.md`, every byte in `docs/wire.md`.

pub mod count;
mod entries;
mod exchange;
mod frames;
mod keys;
mod params;
pub mod payload;
pub mod prepared;
pub mod rows;
mod rows_of_items;
mod table;

pub use keys::Domain;
pub use params::{CHUNK, Params, Returns, SEAL_BYTES, epoch_tag_bytes, payload_tag_bytes, tag_bytes};
pub use params::{ReturnedRows, Reveal};
pub use rows_of_items::Payload;

use crate::channel::Label;

/// Receiver to sender: blinded elements.
pub const BLINDED: Label = Label::new(1, "blinded");
/// Sender to receiver: evaluated elements.
pub const EVALUATED: Label = Label::new(2, "evaluated");
/// Sender to receiver: tags, each with a sealed row in `payload`.
pub const ENTRIES: Label = Label::new(3, "entries");
/// Receiver to sender: which of the entries matched.
pub const MATCHES: Label = Label::new(4, "matches");
/// Receiver to sender: how many entries matched.
pub const COUNT: Label = Label::new(5, "count");
/// Receiver to sender: how many rows it returns for each matched item.
pub const RETURNED_COUNTS: Label = Label::new(6, "returned counts");
/// Receiver to sender: those rows.
pub const RETURNED_ROWS: Label = Label::new(7, "returned rows");
