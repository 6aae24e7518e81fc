//! `outsourced-bloom`: intersection among any number of parties through a helper, as it was published (Miyaji, Nakasho
//! & Nishida, "Privacy-Preserving Integration of Medical Data", J. Med. Syst. 2017, "Practical MPSI"). **It gives away
//! far more than the intersection**: it is here to be measured and compared, and
//! [`outsourced`](crate::protocol::intersect::outsourced) is what to use.
//!
//! 1. All tell their public keys ([`meet`](crate::protocol::intersect::outsourced::meet)). The joint key is the sum (exponential ElGamal, all of n).
//! 2. Each party makes the Bloom filter of its items and sends the helper, for each slot, an encryption of 0 if it is set or of -1.
//! 3. The helper adds these slot by slot, multiplies each sum by a fresh random scalar, and gives them to all.
//! 4. All decrypt together, in an agreed order ([`PartyOrder`]). Who learns sees 0 in the slots that all parties have set; an
//!    item whose slots are all 0 is common, but for false positives.
//!
//! What it gives away:
//!
//! - A learner's own filter has about half of all slots set, and so has any item's half of its slots there: whether they are 0
//!   tells, for every item that can be guessed, whether *all others* have it.
//! - The helper knows the scalars of step 3: with a learner it knows how many parties have set each slot.
//!
//! All lengths follow from the agreed bound. Parts travel while others are worked on: a party encrypts on one thread
//! and decrypts on another. Semi-honest parties and helper; whoever proves its share of a decryption wrongly is named
//! all the same.

mod decrypt;
pub mod helper;
mod params;

pub use decrypt::{decrypted, run};
pub use params::Params;

use crate::depot::{DepotStep, Post};
use crate::item::Item;
#[cfg(doc)]
use crate::primitive::elgamal::threshold::PartyOrder;
use crate::primitive::group::Group;
use crate::primitive::published::bloom::Hashes;

use crate::protocol::intersect::outsourced::Met;

/// Party to helper: its filter, encrypted.
pub const FILTER: DepotStep = DepotStep { code: 1, name: "encrypted filter" };
/// Helper to each party: the sums of all filters, randomised.
pub const SUMS: DepotStep = DepotStep { code: 2, name: "sum of filters" };
/// Party to party: its share of a decryption.
pub(crate) const SHARE: DepotStep = DepotStep { code: 3, name: "share of the decryption" };
/// The last learner to the others: all shares together.
pub(crate) const TOTAL: DepotStep = DepotStep { code: 4, name: "shares of all" };

/// A party of a run.
pub struct OutsourcedBloomParty<'a, G: Group, D> {
    /// Place of this party.
    pub me: usize,
    /// Group in which all parties compute.
    pub group: &'a G,
    /// Parameters that all parties have agreed on.
    pub params: &'a Params,
    /// Items of this party, distinct, no more than agreed on.
    pub items: &'a [Item],
    /// Data that the parties have of each other.
    pub met: &'a Met<G>,
    /// Connection of this party to the others, through the depot.
    pub post: &'a Post<'a, D>,
}

impl<G: Group, D> OutsourcedBloomParty<'_, G, D> {
    /// The places of items in this run's filters, which nobody knew before all had told their keys.
    pub fn hashes(&self) -> Hashes {
        Hashes::of(self.params.sizes(), &self.met.session.derive("outsourced bloom"))
    }
}
