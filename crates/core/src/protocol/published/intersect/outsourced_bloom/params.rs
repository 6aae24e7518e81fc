//! Parameters that the parties of a run agree on, and the values that follow from them.

use crate::depot::SEAL_BYTES;
use crate::error::{Error, Result};
use crate::primitive::elgamal::threshold::PartyOrder;
use crate::primitive::group::Group;
use crate::primitive::proof::Proof;
use crate::primitive::published::bloom::{FilterSizes, Rate};

/// The most slots in a part of a parcel, and the most bytes of their ciphertexts.
const PART: usize = 1 << 12;
const PART_BYTES: usize = 1 << 19;

/// Agreed public values of a run. All parties and the helper must use equal ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    parties: usize,
    sizes: FilterSizes,
    bound: usize,
    order: PartyOrder,
    learners: Vec<usize>,
}

impl Params {
    /// A run of so many parties with at most `bound` items each, of whom the `learners`, ascending, learn: with false
    /// positives at that rate, decrypting in that order.
    ///
    /// Errors: [`Error::Input`] for more items than a filter can have.
    pub fn new(parties: usize, bound: usize, rate: Rate, order: PartyOrder, learners: Vec<usize>) -> Result<Params> {
        let ascending = learners.windows(2).all(|pair| pair[0] < pair[1]);
        let places = learners.iter().all(|place| *place < parties);
        if !(2..=255).contains(&parties) || !ascending || !places || learners.is_empty() {
            return Err(Error::Internal("outsourced-bloom: these are not the parties of a run".into()));
        }
        Ok(Params { parties, sizes: rate.sizes(bound)?, bound, order, learners })
    }

    /// Returns the number of parties.
    pub fn parties(&self) -> usize {
        self.parties
    }

    /// The most items that a party may have.
    pub(crate) fn bound(&self) -> usize {
        self.bound
    }

    /// Message flights in sequence: from what all tell to the last share, and what other learners are told.
    pub fn rounds(&self) -> u32 {
        3 + self.order.steps(self.parties) + u32::from(!self.tells(self.last()).is_empty())
    }

    /// Returns the number of parties that give the one at `place` their shares, all of which it checks.
    pub fn checked_by(&self, place: usize) -> usize {
        self.before(place).len()
    }

    /// The learner that tells the one at `place` all shares together, where it does not get them itself.
    pub fn told_by(&self, place: usize) -> Option<usize> {
        (self.learners.contains(&place) && !self.opens(place)).then(|| self.last())
    }

    /// Sizes of a filter.
    pub fn sizes(&self) -> FilterSizes {
        self.sizes
    }

    /// Returns the places of the parties that learn.
    pub fn learners(&self) -> &[usize] {
        &self.learners
    }

    /// Numbers of slots in the parts of a filter.
    pub fn parts<G: Group>(&self, group: &G) -> Vec<usize> {
        let most = PART.min(PART_BYTES / ciphertext_bytes(group));
        let slots = self.sizes.slots;
        (0..slots.div_ceil(most)).map(|part| most.min(slots - part * most)).collect()
    }

    /// Returns all parties in the order of decryption: those who learn nothing before those who learn.
    fn line(&self) -> Vec<usize> {
        let others = (0..self.parties).filter(|place| !self.learners.contains(place));
        others.chain(self.learners.iter().copied()).collect()
    }

    /// The party that has all shares first.
    pub(super) fn last(&self) -> usize {
        self.learners[self.learners.len() - 1]
    }

    /// Whether the party at `place` works out all shares together, and is not told them.
    pub(super) fn opens(&self, place: usize) -> bool {
        place == self.last() || self.order == PartyOrder::Alone && self.learners.contains(&place)
    }

    /// Parties that give the one at `place` the values to which it adds its own share. If each is alone, the parties
    /// that give a learner a share.
    pub(super) fn before(&self, place: usize) -> Vec<usize> {
        match self.order {
            PartyOrder::Alone if self.opens(place) => (0..self.parties).filter(|other| *other != place).collect(),
            order => {
                let line = self.line();
                let at = line.iter().position(|other| *other == place).unwrap_or_default();
                order.before(at, self.parties).into_iter().map(|other| line[other]).collect()
            }
        }
    }

    /// Parties to which the one at `place` gives its values.
    pub(super) fn after(&self, place: usize) -> Vec<usize> {
        (0..self.parties).filter(|other| self.before(*other).contains(&place)).collect()
    }

    /// Whether the party at `place` passes on, beside its own share, the sum of those before it.
    pub(super) fn passes_on(&self, place: usize) -> bool {
        self.order != PartyOrder::Alone && !self.before(place).is_empty()
    }

    /// Parties to which the one at `place` tells all shares together.
    pub(super) fn tells(&self, place: usize) -> &[usize] {
        let all_but_last = &self.learners[..self.learners.len() - 1];
        if place == self.last() && self.order != PartyOrder::Alone { all_but_last } else { &[] }
    }

    /// Bytes of a part of `slots` slots that the party at `place` gives to others.
    pub(super) fn share_bytes<G: Group>(&self, group: &G, place: usize, slots: usize) -> usize {
        slots * group.point_bytes() * (1 + usize::from(self.passes_on(place))) + Proof::bytes(group, 2, 1)
    }

    /// Bytes that the party at `place` leaves at the depot: what it tells all not counted.
    pub fn bytes_left_by<G: Group>(&self, group: &G, place: usize) -> u64 {
        let (after, tells) = (self.after(place).len(), self.tells(place).len());
        let of_part = |slots: usize| {
            slots * ciphertext_bytes(group)
                + after * (self.share_bytes(group, place, slots) + SEAL_BYTES)
                + tells * (slots * group.point_bytes() + SEAL_BYTES)
        };
        self.parts(group).into_iter().map(|slots| of_part(slots) as u64).sum()
    }

    /// Bytes that the helper leaves, and those that it collects.
    pub fn helper_bytes<G: Group>(&self, group: &G) -> [u64; 2] {
        [(self.sizes.slots * ciphertext_bytes(group) * self.parties) as u64; 2]
    }
}

/// Bytes of a ciphertext.
pub(super) fn ciphertext_bytes<G: Group>(group: &G) -> usize {
    2 * group.point_bytes()
}
