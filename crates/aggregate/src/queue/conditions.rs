//! Conditions under which reports may leave the queue.

use std::collections::BTreeMap;

/// Records that each participant has in some set.
pub type RecordCounts = BTreeMap<u32, u64>;

/// Conditions that a set of records has to meet to be shuffled. They are part of a job's terms.
///
/// No condition is about time, and nothing leaves the queue because it has waited for long: whoever can delay others'
/// reports (a network, a participant that reports alone at night, one that sends ten thousand of its own) would choose
/// whom a shuffle hides among, and the database would see whose rows those are. What does not meet the conditions
/// waits, and at the end of the round it stays for good.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Conditions {
    /// Distinct participants that have records in it, at least.
    pub min_participants: u32,
    /// The greatest share of its records that may be one participant's, in (0, 1].
    pub max_share: f64,
    /// Records that leave together while the round is open; if absent, the whole round leaves at its close.
    pub batch_size: Option<u64>,
}

/// Decision on records that wait.
#[derive(Debug, PartialEq)]
pub(super) enum Decision {
    /// Release of all records that wait.
    All,
    /// Release of this many, chosen at random, if they and the remaining records meet the conditions.
    Some(u64),
    /// None leave, for this reason.
    None(String),
}

/// Room for the error of a product of a share and a number, which is no whole number in binary.
const ROUNDING: f64 = 1e-9;

impl Conditions {
    /// Checks a set of records against the conditions, and describes the fault in a plain sentence.
    pub(super) fn check(&self, counts: &RecordCounts) -> Result<(), String> {
        let (records, participants) =
            (counts.values().sum::<u64>(), counts.values().filter(|count| **count > 0).count());
        if participants < self.min_participants as usize {
            return Err(format!(
                "{records} reports are of {participants} participants, and a shuffle needs those of {}",
                self.min_participants
            ));
        }
        let most = counts.values().copied().max().unwrap_or_default();
        if most as f64 > self.max_share * records as f64 + ROUNDING * records as f64 {
            return Err(format!(
                "{most} of {records} reports are of one participant, and of a shuffle none may have more than a share of {}",
                self.max_share
            ));
        }
        Ok(())
    }

    pub(super) fn decide(&self, counts: &RecordCounts, closed: bool) -> Decision {
        let records = counts.values().sum::<u64>();
        match self.batch_size {
            _ if closed => self.check(counts).map_or_else(Decision::None, |()| Decision::All),
            None => Decision::None(format!("{records} reports wait for the close of the round")),
            Some(size) if size > records => {
                Decision::None(format!("{records} reports wait for a full batch of {size}"))
            }
            Some(size) if size == records => self.check(counts).map_or_else(Decision::None, |()| Decision::All),
            // What all together do not meet, not both a part of them and the rest can.
            Some(size) => self.check(counts).map_or_else(Decision::None, |()| Decision::Some(size)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Conditions = Conditions { min_participants: 3, max_share: 0.5, batch_size: None };

    fn counts(each: &[u64]) -> RecordCounts {
        (0..).zip(each.iter().copied()).collect()
    }

    #[test]
    fn participants_and_shares_are_counted() {
        assert!(TERMS.check(&counts(&[1, 1, 1])).is_ok());
        assert!(TERMS.check(&counts(&[2, 1, 1])).is_ok());
        let error = TERMS.check(&counts(&[3, 1, 1])).unwrap_err();
        assert_eq!(
            error,
            "3 of 5 reports are of one participant, and of a shuffle none may have more than a share of 0.5"
        );
        let error = TERMS.check(&counts(&[1, 0, 1])).unwrap_err();
        assert_eq!(error, "2 reports are of 2 participants, and a shuffle needs those of 3");
        assert!(TERMS.check(&counts(&[])).is_err());
        // 0.57 * 100 is less than 57 in binary.
        let terms = Conditions { min_participants: 1, max_share: 0.57, ..TERMS };
        assert!(terms.check(&counts(&[57, 43])).is_ok() && terms.check(&counts(&[58, 42])).is_err());
    }

    #[test]
    fn what_leaves_depends_on_the_close_and_on_the_size_of_batches() {
        let waiting = counts(&[4, 4, 4]);
        let terms = Conditions { batch_size: Some(10), ..TERMS };
        assert!(matches!(TERMS.decide(&waiting, false), Decision::None(why) if why.contains("close of the round")));
        assert_eq!(TERMS.decide(&waiting, true), Decision::All);
        assert_eq!(terms.decide(&waiting, false), Decision::Some(10));
        assert_eq!(terms.decide(&waiting, true), Decision::All);
        assert_eq!(Conditions { batch_size: Some(12), ..TERMS }.decide(&waiting, false), Decision::All);
        assert!(matches!(Conditions { batch_size: Some(13), ..TERMS }.decide(&waiting, false), Decision::None(_)));
        assert!(matches!(TERMS.decide(&counts(&[12]), true), Decision::None(_)));
    }
}
