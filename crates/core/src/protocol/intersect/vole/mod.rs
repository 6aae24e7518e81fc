//! `vole`: intersection of two sets by vector oblivious linear evaluation.
//!
//! The receiver encodes its items in a key-value store, and masks it with a VOLE correlation; with what it sends, the
//! sender can evaluate a pseudorandom function at any item, the receiver only at those that it has encoded. The sender
//! sends its outputs in random order, the receiver looks for its own among them. Rindal & Schoppmann, "VOLE-PSI: Fast
//! OPRF and Circuit-PSI from Vector-OLE" (EUROCRYPT 2021), with the store of Raghuraman & Rindal, "Blazing Fast PSI from
//! Improved OKVS and Subfield VOLE" (CCS 2022), figure 4, over GF(2^128) throughout. Semi-honest or malicious parties.
//!
//! [`rows`] tells the receiver which of its items are common, [`payload`] also the sender's rows for them. Both can
//! tell the sender the same afterwards, among semi-honest parties. What each role learns, and why, is in
//! `docs/protocols/vole.md`.

pub(in crate::protocol::intersect) mod correlation;
pub(in crate::protocol::intersect) mod function;
mod params;
pub mod payload;
pub mod rows;

pub use params::{Params, overfitted_items};

pub use super::entries::{ENTRIES, MATCHES, RETURNED_COUNTS, RETURNED_ROWS};
pub use crate::channel::labels::vole::{COIN, COMMITMENT, MASKED, OPENING, SEED};
