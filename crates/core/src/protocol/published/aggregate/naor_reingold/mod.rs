//! `naor-reingold`: over-threshold aggregation as it was published, in the extended form that withstands any
//! participants (Ringberg, Applebaum, Freedman, Caesar & Rexford, sections 3.2 and 3.3, and the appendix).
//!
//! The row of a key is its value of Naor & Reingold's function, [`PseudorandomFunction`], of which proxy and oracle
//! have the key. A participant has the value computed obliviously, blinded and under encryption (`transfer`), by one
//! oblivious transfer for each bit of the function's input. All else is what [`aggregate`](crate::protocol::aggregate)
//! has: values with proofs, keys under both keys, re-randomisation, rows, and the oracle's check.
//!
//! [`participant`] and [`proxy`] are the two roles, over a channel, in stages of so many keys that neither needs more
//! memory for more of them. The steps beneath are pure: [`offer`], [`evaluate`], [`report`], [`unblind`]. [`basic`] has
//! the published basic protocol, for comparison. What each role learns, and why, is in
//! `docs/protocols/naor-reingold.md`.

pub mod basic;
mod function;
mod keys;
pub mod participant;
pub mod proxy;
mod stage;
pub(crate) mod transfer;

pub use crate::protocol::published::labels::naor_reingold::{BLINDS, REPORTS};
pub use function::{MAX_INPUT_BYTES, PseudorandomFunction, inputs};
pub use keys::NaorReingoldProxyKey;
pub use participant::report;
pub use proxy::unblind;
pub use stage::{Reporting, memory_of_stage, stage};
pub use transfer::{Offer, TransferForm, evaluate, offer};
