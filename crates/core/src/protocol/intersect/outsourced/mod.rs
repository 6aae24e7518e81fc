//! `outsourced`: intersection among any number of parties through a helper who knows neither inputs, outputs nor sizes.
//!
//! The setting is that of Miyaji, Nakasho & Nishida, "Privacy-Preserving Integration of Medical Data" (J. Med. Syst. 2017): a
//! helper adds up what all send it, encrypted under a key of which every party has a share, and no party's work grows with their
//! number (but with that of givers of rows). What they send is no Bloom filter, of which each party could test the slots of items that it does not have, but an
//! oblivious key-value store over pairs of group elements:
//!
//! 1. All tell their public keys ([`meet`]). The joint key is the sum (exponential ElGamal, all of n).
//! 2. Each party but the leader encodes: each of its items stands for a fresh encryption of 0, whatever else is looked up for random
//!    elements. To who has not all shares the store looks random, whatever is in it. The helper adds the stores of all.
//! 3. The leader looks up its own items in the sum and re-randomises: an encryption of 0 if all have the item, or else of a random
//!    element.
//! 4. These pass from party to party, the leader last. Each multiplies every one by a fresh scalar and takes its share of the key off,
//!    with a proof that it did. What is 0 in the end is common.
//!
//! If the count alone is revealed, everybody shuffles in step 4. To sum values of a party over common items, or to
//! count categories, encryptions of these travel along, re-randomised and shuffled with them.
//!
//! To give rows, a party leaves a second store at the helper, in which each of its items stands for an encryption of a
//! random element, its mask. The helper adds the sum of all stores to it, times a scalar of its own, and in step 4 each
//! party adds the tested ciphertext, times another. So the mask comes out only for a common item, and with
//! it the row that is sealed under item and mask.
//!
//! Semi-honest parties and helper; who deviates in a decryption is named all the same. With one learner, what a party
//! does and sends follows from the agreed bound alone. What each role learns, and why, is in
//! `docs/protocols/outsourced.md`.

mod chain;
mod given;
pub mod helper;
mod leader;
pub mod meet;
mod other;
mod params;
mod store;
mod told;
mod values;

pub use given::SealedAnswer;
pub use leader::lead;
pub use other::follow;
pub use params::{MAX_CATEGORIES, MAX_GIVEN_BYTES, MAX_NAME_BYTES, OutsourcedGives, OutsourcedReveal, Params};

use crate::depot::{DepotStep, Post};
use crate::item::Item;
use crate::primitive::elgamal::ElGamalPublicKey;
use crate::primitive::elgamal::threshold::{KeyShare, VerificationKey};
use crate::primitive::group::{Group, Ristretto255};
use crate::protocol::intersect::tag_exchange::Payload;
use crate::session::Session;

/// Party to helper: the columns of its store.
pub const STORE: DepotStep = DepotStep { code: 1, name: "store" };
/// Helper to leader: the sum of all stores.
pub const SUM: DepotStep = DepotStep { code: 2, name: "sum of stores" };
/// Giver to leader: the columns of the store of its values.
pub const VALUES: DepotStep = DepotStep { code: 3, name: "store of values" };
/// Giver to leader: its categories, each sealed with what stands for it.
pub const CATEGORIES: DepotStep = DepotStep { code: 4, name: "categories" };
/// Each to the next: entries, blinded and with one share less of the key.
pub const ENTRIES: DepotStep = DepotStep { code: 5, name: "entries" };
/// Each to the next: what is opened, with one share less of the key.
pub const OPENED: DepotStep = DepotStep { code: 6, name: "opened" };
/// Giver to helper: the columns of the store of its masks.
pub const MASKS: DepotStep = DepotStep { code: 8, name: "store of masks" };
/// Helper to leader: the stores of masks, bound to the sum of all stores.
pub const BOUND_MASKS: DepotStep = DepotStep { code: 9, name: "bound masks" };
/// Giver to leader: what it tells of its rows, and the sealed rows.
pub const ROWS: DepotStep = DepotStep { code: 10, name: "sealed rows" };
/// Leader to other learners: what it has found.
pub const TOLD: DepotStep = DepotStep { code: 7, name: "result" };

/// Entries, or columns, in a part of a parcel.
const PART: usize = 1 << 12;

/// A party of a run.
pub struct OutsourcedParty<'a, D> {
    /// Place of this party.
    pub me: usize,
    /// Parameters that all parties have agreed on.
    pub params: &'a Params,
    /// Items of this party, distinct, no more than agreed on.
    pub items: &'a [Item],
    /// Values that this party gives for each of its items.
    pub values: OutsourcedValues<'a>,
    /// Data that the parties have of each other.
    pub met: &'a Met<Ristretto255>,
    /// Connection of this party to the others, through the depot.
    pub post: &'a Post<'a, D>,
}

/// Values that a party gives for each of its items.
#[derive(Clone, Copy)]
pub enum OutsourcedValues<'a> {
    /// No values at all.
    Nothing,
    /// Numbers to be summed.
    Numbers(&'a [u64]),
    /// The place of its category among these names.
    Categories(&'a [u32], &'a [Vec<u8>]),
    /// The encoded schema of its columns, which the leader learns even if nothing is common, and one row or more for
    /// each item.
    Rows(&'a [u8], &'a Payload),
}

/// Result that a learner learns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutsourcedResult {
    /// Indices of its items that are common, ascending.
    Rows(Vec<usize>),
    /// Number of common items.
    Count(u64),
    /// Number of common items, and the sum of their values.
    Sum(u64, u64),
    /// The categories of common items, with how many are of each, in the order of their names.
    Counts(Vec<(Vec<u8>, u64)>),
    /// Common items, and what the givers give for them, which is still to be opened.
    Payload(SealedAnswer),
}

/// Rows that a party has given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutsourcedGiven {
    /// Place of the party that gives them.
    pub party: usize,
    /// Encoded schema of its columns. The leader learns it even if nothing is common.
    pub head: Vec<u8>,
    /// Rows that it gives for each common item.
    pub rows: Payload,
}

/// Data that parties have of each other once they have exchanged announcements.
pub struct Met<G: Group> {
    /// The session of the run.
    pub session: Session,
    /// Share of the key that this party holds.
    pub share: KeyShare<G>,
    /// Verification keys for every share, by place, which all parties know.
    pub keys: Vec<VerificationKey<G>>,
    /// The key under which all encrypt.
    pub joint: ElGamalPublicKey<G>,
}
