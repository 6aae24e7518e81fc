//! Parameters that both parties agree on before the first message, and the costs that follow from them.

use super::correlation;
use super::function::{COIN_BYTES, COMMITMENT_BYTES, MASKED_BLOCKS, OPENING_BYTES, SEED_BYTES};
use crate::channel::HEADER_BYTES;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::kernel::block::BLOCK_BYTES;
use crate::primitive::okvs;
use crate::protocol::intersect::tag_exchange::{self, ReturnedRows};
use crate::role::Role;
use crate::security::{Chance, Security};

/// Length of a tag among malicious parties: an output of the random oracle. One that is of none of the sender's inputs
/// matches one of the receiver's 2^32 with probability 2^-96. But of 2^64 inputs two have the same: a sender that
/// evaluates so many, while the receiver waits, has one item more in its set, for each such pair, than it sends tags.
const MALICIOUS_TAG_BYTES: usize = 16;

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Sizes, tags and what is revealed.
    pub entries: tag_exchange::Params,
    /// Assumption on the behaviour of the parties.
    pub security: Security,
}

impl Params {
    /// Creates parameters from `entries`, with tags as long as this security asks. Malicious parties are refused if the
    /// sender learns too: nothing makes the receiver tell the truth.
    pub fn new(entries: tag_exchange::Params, security: Security) -> Result<Params> {
        let mut params = Params { entries, security };
        if security == Security::Malicious {
            if entries.to_sender {
                return Err(Error::Input(
                    "vole: among malicious parties only one can learn the result, because nothing makes it tell the other the truth"
                        .into(),
                ));
            }
            params.entries.tag_bytes = MALICIOUS_TAG_BYTES;
        }
        params.okvs()?;
        Ok(params)
    }

    /// Bytes that a party sends in all, frame headers included and heartbeats not. `returned` matters for the receiver
    /// in a `payload` that returns rows.
    pub fn bytes_sent_by(&self, role: Role, returned: ReturnedRows) -> Result<u64> {
        let entries = match role {
            Role::Receiver => self.entries.bytes_told(returned),
            Role::Sender => self.entries.bytes_of_entries(),
        };
        Ok(self.function_bytes_sent_by(role)? + entries)
    }

    /// Bytes that a party sends until both have their part of the function.
    pub(in crate::protocol) fn function_bytes_sent_by(&self, role: Role) -> Result<u64> {
        let columns = self.okvs()?.columns();
        let coin = match (self.security, role) {
            (Security::SemiHonest, _) => 0,
            (Security::Malicious, Role::Receiver) => frame(COIN_BYTES),
            (Security::Malicious, Role::Sender) => frame(COMMITMENT_BYTES) + frame(OPENING_BYTES),
        };
        let store = match role {
            Role::Receiver => {
                let masked = (columns * BLOCK_BYTES + columns.div_ceil(MASKED_BLOCKS) * HEADER_BYTES) as u64;
                frame(SEED_BYTES) + masked
            }
            Role::Sender => 0,
        };
        Ok(correlation::bytes_sent_by(role, columns, self.security)? + coin + store)
    }

    /// Message flights in sequence, as [`crate::channel::Traffic`] counts them.
    pub fn rounds(&self, returned: ReturnedRows) -> u32 {
        self.function_rounds() + self.entries.flights_of_entries(self.security == Security::Malicious, returned)
    }

    /// Message flights until both have their part of the function.
    pub(in crate::protocol) fn function_rounds(&self) -> u32 {
        match self.security {
            // Base OTs; seed, corrections; trees; masked store.
            Security::SemiHonest => 4,
            // The same, with the commitment before the seed, a challenge and its answer after the trees.
            Security::Malicious => 8,
        }
    }

    /// Refuses more items than were agreed on, and agreed values that cannot work.
    pub(super) fn check_receiver(&self, items: &[Item]) -> Result<()> {
        self.entries.check()?;
        if items.len() <= self.entries.receiver_items {
            Ok(())
        } else {
            Err(Error::Internal("vole: more items than were agreed on".into()))
        }
    }

    /// Sizes of the receiver's store.
    pub(super) fn okvs(&self) -> Result<okvs::Params> {
        okvs::Params::new(self.entries.receiver_items, self.entries.store_bits)
    }
}

fn frame(payload: usize) -> u64 {
    (HEADER_BYTES + payload) as u64
}

/// Upper bound on the number of items at which a malicious receiver can have the function evaluated, although its store
/// is sized for `receiver_items`. A store has more columns than items, and a receiver that tries many items finds some
/// that fit by chance.
///
/// The least n' with C(q, n') * q * 2^(-128 (n' - m)) <= 2^-46 / runs ([`Chance::Fit`]), for a store of m columns and q = 2^128
/// questions to the random oracle, as many as computational security allows. The right-hand sides of n' equations in m unknowns are
/// random, so that a solution exists with probability 2^(-128 (n' - m)) at most; the adversary chooses among all
/// subsets of the items that it has asked for, and among as many seeds. (The game of Rindal & Schoppmann 2021, section 3,
/// and of Pinkas, Rosulek, Trieu & Yanai 2020; with C(q, n') <= (e q / n')^n'.) `store_bits` are those of the run, which is one of `runs` of the job: in none
/// of them more fit, but with 2^-46.
pub fn overfitted_items(receiver_items: usize, store_bits: u32, runs: usize) -> Result<u64> {
    let columns = okvs::Params::new(receiver_items, store_bits)?.columns() as f64;
    let chance = f64::from(Chance::Fit.bits()) + (runs.max(1) as f64).log2();
    let possible = |items: f64| {
        let subsets = items * (QUESTION_BITS + std::f64::consts::LOG2_E - items.log2());
        subsets + QUESTION_BITS - FIELD_BITS * (items - columns) > -chance
    };
    // Impossible beyond some number, possible below: n' (log2 n' - log2 e) grows with n'.
    let (mut low, mut high) = (columns as u64, u64::MAX >> 8);
    while low < high {
        let middle = low + (high - low) / 2;
        if possible(middle as f64) { low = middle + 1 } else { high = middle }
    }
    Ok(low)
}

const QUESTION_BITS: f64 = 128.0;
const FIELD_BITS: f64 = 128.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_receiver_cannot_fit_many_more_items() {
        for (items, least, most) in [(1 << 20, 4.0, 9.0), (1 << 24, 4.0, 8.0), (1 << 10, 10.0, 25.0)] {
            let ratio = overfitted_items(items, Chance::Store.bits(), 1).unwrap() as f64 / items as f64;
            assert!((least..most).contains(&ratio), "{ratio} times {items}");
        }
        let mut last = 0;
        for items in 0..200 {
            let bound = overfitted_items(items, Chance::Store.bits(), 1).unwrap();
            assert!(bound > items as u64 && bound >= last);
            last = bound;
        }
    }

    #[test]
    fn malicious_parties_have_long_tags_and_one_learner() {
        let rows = tag_exchange::Params::rows(1000, 1000);
        assert_eq!(Params::new(rows, Security::SemiHonest).unwrap().entries.tag_bytes, rows.tag_bytes);
        assert_eq!(Params::new(rows, Security::Malicious).unwrap().entries.tag_bytes, 16);
        assert!(Params::new(rows.to_both(), Security::SemiHonest).is_ok());
        assert!(matches!(Params::new(rows.to_both(), Security::Malicious), Err(Error::Input(_))));
    }
}
