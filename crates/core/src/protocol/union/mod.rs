//! Union of two sets: the receiver learns the sender's items that it lacks, with what the sender gives for them, and
//! how many the two have in common, but not which of its own the sender has. The sender learns nothing.
//!
//! The protocols share a frame (Chen, Zhang, Zhang, Dong & Liu, "Private set operations from multi-query reverse
//! private membership test", PKC 2024, section 4; before them Kolesnikov, Rosulek, Trieu & Wang, "Scalable private set
//! union from symmetric-key techniques", ASIACRYPT
//! 2019): a reverse private membership test tells the receiver for each of the sender's items, which it does not see, whether it
//! has it; and one oblivious transfer for each item ([`transfer`]) hands it over if it has not.
//!
//! [`ecdh`] has that test from a commutative function. What each role learns is in `docs/protocols/union.md`.
//!
//! Order is data. Items in the order of their keys would show which of the receiver's own are common, by the gaps
//! between those that it gets; so they go in a uniformly random order that the sender draws ([`ShuffledItems`]). And
//! buckets would show how many of each are common; so there are none, and what is larger than memory is sorted as a
//! whole ([`SortSpace`]).
//!
//! Semi-honest parties only: a receiver that cheats says that it lacks everything, and gets all.

pub mod ecdh;
mod given;
pub(crate) mod params;
mod sorting;
pub mod transfer;

pub use crate::channel::labels::union::{ELEMENTS, TAGS};
pub use given::{ItemSource, SenderItems, ShuffledItems};
pub use params::Params;
pub use sorting::{MemorySpace, SortSpace, Sorter};
