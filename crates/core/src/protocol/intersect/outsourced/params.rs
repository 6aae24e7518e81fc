//! Parameters that the parties of a run agree on, and the values that follow from them.

use super::PART;
use crate::depot::SEAL_BYTES;
use crate::error::{Error, Result};
use crate::primitive::group::Ristretto255;
use crate::primitive::okvs;
use crate::primitive::proof::Proof;
use crate::protocol::intersect::tag_exchange::bits_of;
use crate::security::Chance;

/// Bytes of a sealed row besides the row: its tag, and the seal.
pub(super) const GIVEN_OVERHEAD: usize = TAG + SEAL_BYTES;

/// The most bits that a value may be agreed to have: a sum of them is found by as many steps as the root of the largest
/// one.
pub(crate) const MAX_VALUE_BITS: u32 = 32;

/// The most bits that a sum may have: it is found with a table of as many elements as the root of the largest one.
const MAX_SUM_BITS: u32 = 40;

/// The longest name of a category, in bytes.
pub const MAX_NAME_BYTES: usize = 255;
/// The longest row that a party may give, in bytes.
pub const MAX_GIVEN_BYTES: usize = PART_BYTES - GIVEN_OVERHEAD;
/// The most categories that a party may have.
pub const MAX_CATEGORIES: usize = 1 << 12;

/// Bytes of an element, of a ciphertext, and of the proof of a decryption.
pub(super) const POINT: usize = Ristretto255::POINT_BYTES;
pub(super) const CIPHERTEXT: usize = 2 * POINT;
/// A tag of what learners are told.
pub(super) const TAG: usize = 16;
/// The tag of a category, its name with a length before it, and the seal.
pub(super) const CATEGORY: usize = TAG + 1 + MAX_NAME_BYTES + SEAL_BYTES;

/// Bytes of the parts of lists, at most.
const PART_BYTES: usize = 1 << 19;

/// The rows that a party gives to the leader for its items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutsourcedGives {
    /// Place of the party that gives rows.
    pub party: usize,
    /// Length of its words on its rows, in bytes, which it tells whatever is common.
    pub head_bytes: usize,
    /// Length of each row in bytes.
    pub row_bytes: usize,
}

/// Result that is revealed to those who learn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutsourcedReveal {
    /// Items that are common.
    Rows,
    /// Items that are common, and the rows that others give for them ([`Params::giving`]).
    Payload,
    /// Number of common items.
    Count,
    /// Number of common items, and the sum of the values below 2^`bits` that the party at `giver` has for them.
    Sum {
        /// Place of the party whose values are summed.
        giver: usize,
        /// Bits of a value.
        bits: u32,
    },
    /// Number of common items in each of at most `categories` categories of the party at `giver`.
    Counts {
        /// Place of the party whose categories they are.
        giver: usize,
        /// Largest number of its categories.
        categories: usize,
    },
}

/// Agreed public values of a run. All parties and the helper must use equal ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Params {
    pub(super) parties: usize,
    pub(super) bound: usize,
    pub(super) leader: usize,
    pub(super) learners: Vec<usize>,
    pub(super) reveal: OutsourcedReveal,
    /// Parties that give rows, ascending by place.
    pub(super) gives: Vec<OutsourcedGives>,
}

impl Params {
    /// A run of so many parties with at most `bound` items each. The party at `leader` works the result out, and the
    /// `learners` learn.
    pub fn new(
        parties: usize,
        bound: usize,
        leader: usize,
        learners: Vec<usize>,
        reveal: OutsourcedReveal,
    ) -> Result<Params> {
        let ascending = learners.windows(2).all(|pair| pair[0] < pair[1]);
        let places = learners.iter().all(|place| *place < parties);
        if !(2..=255).contains(&parties) || !ascending || !places || !learners.contains(&leader) {
            return Err(Error::Internal("outsourced: these are not the parties of a run".into()));
        }
        match reveal {
            OutsourcedReveal::Sum { bits, .. } if !(1..=MAX_VALUE_BITS).contains(&bits) => {
                return Err(Error::Input(format!(
                    "values of {bits} bits cannot be summed: 1 to {MAX_VALUE_BITS} are possible"
                )));
            }
            OutsourcedReveal::Sum { bits, .. } if bits + bits_of(bound as u128) > MAX_SUM_BITS => {
                return Err(Error::Input(format!(
                    "{bound} values of {bits} bits may add up to more than {MAX_SUM_BITS} bits, which cannot be decrypted"
                )));
            }
            OutsourcedReveal::Payload if learners.len() > 1 => {
                return Err(Error::Internal("outsourced: rows are given to one party alone".into()));
            }
            OutsourcedReveal::Counts { categories, .. } if !(1..=MAX_CATEGORIES).contains(&categories) => {
                return Err(Error::Input(format!("{categories} categories: 1 to {MAX_CATEGORIES} are possible")));
            }
            OutsourcedReveal::Sum { giver, .. } | OutsourcedReveal::Counts { giver, .. } if giver >= parties => {
                return Err(Error::Internal("outsourced: the giver is no party".into()));
            }
            _ => {}
        }
        let params = Params { parties, bound, leader, learners, reveal, gives: Vec::new() };
        params.store().map(|_| params)
    }

    /// The same, with the rows that others give to the leader, who alone learns.
    pub fn giving(self, gives: Vec<OutsourcedGives>) -> Result<Params> {
        let ascending = gives.windows(2).all(|pair| pair[0].party < pair[1].party);
        let places = gives.iter().all(|gives| gives.party < self.parties && gives.party != self.leader);
        if self.reveal != OutsourcedReveal::Payload || self.learners != [self.leader] || !ascending || !places {
            return Err(Error::Internal("outsourced: these are not the parties that give rows".into()));
        }
        if gives.iter().any(|gives| gives.row_bytes > MAX_GIVEN_BYTES || gives.head_bytes > PART_BYTES) {
            return Err(Error::Input(format!("rows of more than {MAX_GIVEN_BYTES} bytes cannot be given")));
        }
        Ok(Params { gives, ..self })
    }

    /// Returns the largest length of values in bits, if `bound` of them can be summed.
    pub fn value_bits(bound: usize) -> u32 {
        MAX_SUM_BITS.saturating_sub(bits_of(bound as u128)).min(MAX_VALUE_BITS)
    }

    /// Message flights in sequence, from what all tell to the last that is left: each party's part of the chains is
    /// one.
    pub fn rounds(&self) -> u32 {
        let chains = 1 + u32::from(self.opened() > 0);
        3 + chains * self.parties as u32 + u32::from(self.learners.len() > 1)
    }

    /// The most items that a party may have.
    pub fn bound(&self) -> usize {
        self.bound
    }

    /// Returns the place of the party that has the result first.
    pub fn leader(&self) -> usize {
        self.leader
    }

    /// Returns the places of the parties that learn.
    pub fn learners(&self) -> &[usize] {
        &self.learners
    }

    /// Returns what parties give to the leader, ascending by place.
    pub fn gives(&self) -> &[OutsourcedGives] {
        &self.gives
    }

    /// Returns the result that they learn.
    pub fn reveal(&self) -> OutsourcedReveal {
        self.reveal
    }

    /// Places of all but the leader, in the order in which entries pass.
    pub fn others(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.parties).filter(|place| *place != self.leader)
    }

    /// Parties that have still to remove their shares when the party at `place` is given entries: that party, those
    /// after it, and the leader.
    pub(super) fn rest(&self, place: usize) -> impl Iterator<Item = usize> + '_ {
        self.others().skip_while(move |other| *other != place).chain([self.leader])
    }

    /// Sizes of a store. None of all parties' may fail by chance, nor the giver's second one.
    pub(super) fn store(&self) -> Result<okvs::Params> {
        okvs::Params::new(self.bound, Chance::Store.bits() + self.parties.ilog2() + 1)
    }

    /// Returns the place of the party whose values travel along, if any do.
    pub(super) fn giver(&self) -> Option<usize> {
        match self.reveal {
            OutsourcedReveal::Rows | OutsourcedReveal::Payload | OutsourcedReveal::Count => None,
            OutsourcedReveal::Sum { giver, .. } | OutsourcedReveal::Counts { giver, .. } => Some(giver),
        }
    }

    /// Whether nobody may know which item an entry is of.
    pub(super) fn shuffled(&self) -> bool {
        !matches!(self.reveal, OutsourcedReveal::Rows | OutsourcedReveal::Payload)
    }

    /// Ciphertexts of an entry from which all remove their shares: the tested one, and a mask of each who gives rows.
    pub(super) fn width(&self) -> usize {
        1 + self.gives.len()
    }

    /// Returns the rows that the party at `place` gives, if it does.
    pub(super) fn gives_of(&self, place: usize) -> Option<&OutsourcedGives> {
        self.gives.iter().find(|gives| gives.party == place)
    }

    /// Parts of a store's columns, with the number of columns in each.
    pub(super) fn store_parts(&self) -> Result<Vec<usize>> {
        Ok(parts(self.store()?.columns()))
    }

    /// Returns the places of the party that passes entries to the party at `place`, and of the one to which that party
    /// passes them.
    pub(super) fn neighbours(&self, place: usize) -> [usize; 2] {
        let ring: Vec<usize> = std::iter::once(self.leader).chain(self.others()).collect();
        let at = ring.iter().position(|other| *other == place).unwrap_or_default();
        [ring[(at + ring.len() - 1) % ring.len()], ring[(at + 1) % ring.len()]]
    }

    /// Bytes of a part of `entries` entries, with values or without, as the leader passes it or as others do.
    pub(super) fn entry_bytes(&self, entries: usize, values: bool, from: usize) -> usize {
        let width = self.width();
        let each = CIPHERTEXT * (width + usize::from(values)) + if from == self.leader { 0 } else { POINT * width };
        entries * each + if from == self.leader { 0 } else { Proof::bytes(&Ristretto255, 2, 1) }
    }

    /// Bytes that the party at `place` leaves at the depot: what it tells all not counted.
    pub fn bytes_left_by(&self, place: usize) -> Result<u64> {
        let own = if place == self.leader {
            (self.learners.len() as u64 - 1) * self.told_bytes()
        } else {
            self.store_bytes()?
        };
        let gives = self.giver() == Some(place) && place != self.leader;
        let rows = match self.gives_of(place) {
            Some(gives) => self.store_bytes()? + self.rows_bytes(gives),
            None => 0,
        };
        Ok(own + rows + if gives { self.given_bytes()? } else { 0 } + self.passed_bytes(place))
    }

    /// Bytes that it collects: what all are told not counted.
    pub fn bytes_collected_by(&self, place: usize) -> Result<u64> {
        let [before, _] = self.neighbours(place);
        let own = if place == self.leader {
            let given = self.giver().is_some_and(|giver| giver != place);
            let rows: u64 = self.gives.iter().map(|gives| self.rows_bytes(gives)).sum();
            self.store_bytes()? * self.width() as u64 + rows + if given { self.given_bytes()? } else { 0 }
        } else if self.learners.contains(&place) {
            self.told_bytes()
        } else {
            0
        };
        Ok(own + self.passed_bytes(before))
    }

    fn store_bytes(&self) -> Result<u64> {
        Ok(self.store_parts()?.iter().map(|columns| (columns * CIPHERTEXT) as u64).sum())
    }

    /// Bytes that a giver leaves for the leader.
    fn given_bytes(&self) -> Result<u64> {
        let values = self.store_bytes()? + (self.store_parts()?.len() * SEAL_BYTES) as u64;
        Ok(match self.reveal {
            OutsourcedReveal::Counts { categories, .. } => {
                values + sealed(parts_of(categories, CATEGORY).into_iter().map(|part| part * CATEGORY))
            }
            _ => values,
        })
    }

    /// Bytes of what a party tells of its rows, and of the rows.
    fn rows_bytes(&self, gives: &OutsourcedGives) -> u64 {
        sealed(std::iter::once(gives.head_bytes).chain(self.row_parts(gives)))
    }

    /// Lengths of the parts of the sealed rows.
    pub(super) fn row_parts(&self, gives: &OutsourcedGives) -> impl Iterator<Item = usize> + use<> {
        let each = gives.row_bytes + GIVEN_OVERHEAD;
        parts_of(self.bound, each).into_iter().map(move |rows| rows * each)
    }

    /// Splits so many entries into parts that fit a message, however many masks each has.
    pub(super) fn entry_parts(&self, entries: usize) -> Vec<usize> {
        split(entries, PART / self.width().div_ceil(2))
    }

    /// Bytes that the party at `place` passes on in all.
    fn passed_bytes(&self, place: usize) -> u64 {
        let passed = |entries, values| {
            sealed(self.entry_parts(entries).into_iter().map(|part| self.entry_bytes(part, values, place)))
        };
        passed(self.bound, self.giver().is_some()) + passed(self.opened(), false)
    }

    /// Bytes that another learner is told.
    fn told_bytes(&self) -> u64 {
        sealed(self.told().into_iter())
    }

    /// Ciphertexts that are opened besides entries.
    pub(super) fn opened(&self) -> usize {
        match self.reveal {
            OutsourcedReveal::Rows | OutsourcedReveal::Payload | OutsourcedReveal::Count => 0,
            OutsourcedReveal::Sum { .. } => 1,
            OutsourcedReveal::Counts { .. } => self.bound,
        }
    }

    /// Lengths of the parts that tell another learner the result.
    pub(super) fn told(&self) -> Vec<usize> {
        match self.reveal {
            OutsourcedReveal::Rows => parts(self.bound).into_iter().map(|part| part * TAG).collect(),
            OutsourcedReveal::Payload => Vec::new(),
            OutsourcedReveal::Count => vec![8],
            OutsourcedReveal::Sum { .. } => vec![16],
            OutsourcedReveal::Counts { categories, .. } => {
                parts_of(categories, TOLD_CATEGORY).into_iter().map(|part| part * TOLD_CATEGORY).collect()
            }
        }
    }

    /// Bytes that the helper leaves, and those that it collects.
    pub fn helper_bytes(&self) -> Result<[u64; 2]> {
        let store = self.store_bytes()?;
        let masks = self.gives.len() as u64;
        Ok([store * (1 + masks), store * (self.parties as u64 - 1 + masks)])
    }

    /// Lengths of the parts of a store, as the helper gets them.
    pub fn helper_parts(&self) -> Result<Vec<usize>> {
        Ok(self.store_parts()?.into_iter().map(|columns| columns * CIPHERTEXT).collect())
    }
}

/// A category as learners are told: its name with a length before it, and how many there are.
pub(super) const TOLD_CATEGORY: usize = 1 + MAX_NAME_BYTES + 8;

/// Splits so many entries into parts.
pub(super) fn parts(entries: usize) -> Vec<usize> {
    split(entries, PART)
}

/// Splits `things` items of `bytes` bytes each into parts.
pub(super) fn parts_of(things: usize, bytes: usize) -> Vec<usize> {
    split(things, PART_BYTES / bytes)
}

/// Bytes of parts of these lengths when they are sealed.
fn sealed(parts: impl Iterator<Item = usize>) -> u64 {
    parts.map(|bytes| (bytes + SEAL_BYTES) as u64).sum()
}

fn split(all: usize, most: usize) -> Vec<usize> {
    (0..all.div_ceil(most)).map(|part| most.min(all - part * most)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::channel::MAX_PAYLOAD_BYTES;
    use crate::security::Chance;

    /// Checks that all parties' stores, and the giver's second one, together fail no more often than a job may.
    #[test]
    fn all_stores_together_fail_as_seldom_as_a_job_may() {
        for parties in [2, 3, 4, 5, 127, 128, 255] {
            let params = Params::new(parties, 1000, 0, vec![0], OutsourcedReveal::Rows).unwrap();
            let bits = Chance::Store.bits() + (parties as f64).log2().ceil() as u32;
            let alone = okvs::Params::new(1000, bits).unwrap();
            assert!(params.store().unwrap().columns() >= alone.columns(), "{parties}");
        }
    }
    /// Checks that a part of entries fits a request to the helper, however many parties give rows.
    #[test]
    fn parts_of_entries_fit_a_message() {
        for givers in [0, 1, 2, 3, 9, 254] {
            let params = Params::new(255, 1 << 13, 0, vec![0], OutsourcedReveal::Payload).unwrap();
            let gives = (1..=givers).map(|party| OutsourcedGives { party, head_bytes: 1, row_bytes: 1 });
            let params = params.giving(gives.collect()).unwrap();
            let parts = params.entry_parts(params.bound());
            assert_eq!(parts.iter().sum::<usize>(), 1 << 13);
            let longest = parts.into_iter().map(|part| params.entry_bytes(part, false, 1) + SEAL_BYTES).max();
            // A request has seven bytes before the part.
            assert!(longest.unwrap() + 7 <= MAX_PAYLOAD_BYTES, "{givers} givers");
        }
    }
}
