//! Parameters that both parties agree on before the first message.

use super::association::{Consequents, RuleThresholds};
use super::itemsets::TooMany;
use crate::error::{Error, Result};
use crate::protocol::dot::{MAX_ROWS, Modulus};

/// The most candidates of one kind and length, unless the terms say otherwise.
pub const DEFAULT_MAX_CANDIDATES: usize = 1 << 20;

/// The most rules, unless the terms say otherwise.
pub const DEFAULT_MAX_RULES: usize = 250_000;

/// Itemsets whose counts are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RevealedCounts {
    /// Counts of frequent itemsets only.
    Frequent,
    /// Mixed candidates, every one of them.
    Counts,
}

/// The parties that learn the result, by their places. Between two these are both.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Learners(u32);

impl Learners {
    /// The set of all parties.
    pub const ALL: Learners = Learners(u32::MAX);

    /// The parties at these places, below 32.
    pub fn of(places: impl IntoIterator<Item = usize>) -> Learners {
        Learners(places.into_iter().fold(0, |all, place| all | 1 << place))
    }

    /// Whether a party is among them.
    pub fn contains(self, party: u8) -> bool {
        self.0 >> party & 1 == 1
    }

    /// Whether all of so many parties are among them.
    pub fn are_all(self, parties: usize) -> bool {
        (0..parties as u8).all(|party| self.contains(party))
    }
}

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Rows that both have.
    pub rows: usize,
    /// Rows of either party, which columns go over, if nobody knows which of them both have. A row that a party lacks
    /// has none of its items.
    pub hidden: Option<usize>,
    /// Least number of rows that a frequent itemset is in.
    pub minimum: usize,
    /// Itemsets whose counts are opened.
    pub reveal: RevealedCounts,
    /// The parties that learn counts and rules. The others learn which itemsets are frequent, by numbers of items. Not
    /// all can be left out of counts of all candidates, nor with `mixed_only`: see `Params::check_among`.
    pub learners: Learners,
    /// Items of the longest itemsets.
    pub max_len: usize,
    /// The most candidates of one kind and length; and the most frequent items of one party.
    pub max_candidates: usize,
    /// Largest number of rules.
    pub max_rules: usize,
    /// Conditions on the rules that are wanted.
    pub rules: RuleThresholds,
}

impl Params {
    /// Number of rows that columns go over.
    pub fn column_rows(&self) -> usize {
        self.hidden.unwrap_or(self.rows)
    }

    /// Refuses values that cannot work.
    pub(super) fn check(&self) -> Result<()> {
        match () {
            _ if self.column_rows() > MAX_ROWS => {
                Err(Error::Input(format!("{} rows: at most {MAX_ROWS} are possible", self.column_rows())))
            }
            _ if self.minimum == 0 => Err(Error::Input("min_support = 0 rows: use 1 or more".into())),
            _ if self.max_len == 0 => Err(Error::Input("max_len = 0: use 1 or more".into())),
            _ => Ok(()),
        }
    }

    /// Refuses values that cannot work among so many parties.
    pub(super) fn check_among(&self, parties: usize) -> Result<()> {
        let some = !self.learners.are_all(parties);
        let told_by_counts = self.reveal == RevealedCounts::Counts || self.rules.mixed_only;
        if self.hidden.is_some() || some && (told_by_counts || !(0..parties as u8).any(|p| self.learners.contains(p))) {
            return Err(Error::Internal("rules: rows or learners that there are not among more than two".into()));
        }
        Ok(())
    }

    /// Returns the modulus of shares of counts: for a comparison, more than twice the number of rows.
    pub fn modulus(&self) -> Result<Modulus> {
        let bits = usize::BITS - self.column_rows().leading_zeros();
        Modulus::power_of_two(match self.reveal {
            RevealedCounts::Frequent => bits + 1,
            RevealedCounts::Counts => bits.max(1),
        })
    }

    /// The error for `whose` candidates of `length` items.
    pub(super) fn too_many(&self, whose: &str, length: usize, found: TooMany) -> Error {
        let TooMany { candidates, or_more } = found;
        let found = if or_more { format!("{candidates} or more") } else { candidates.to_string() };
        Error::Input(format!(
            "{found} {whose} candidates of {length} items, and max_candidates is {}: use a higher min_support, a lower max_len, or a higher max_candidates",
            self.max_candidates
        ))
    }

    /// The error for more frequent items of a party than there may be: `whose` says how many, and of whom.
    pub(super) fn too_many_items(&self, whose: &str) -> Error {
        Error::Input(format!(
            "{whose} are frequent, and max_candidates is {}: use a higher min_support, or a higher max_candidates",
            self.max_candidates
        ))
    }

    /// The error for more rules than there may be.
    pub(super) fn too_many_rules(&self) -> Error {
        let single = match self.rules.consequents {
            Consequents::Single => "",
            Consequents::Any => "consequents = \"single\", ",
        };
        Error::Input(format!(
            "more than {0} rules, and max_rules is {0}: use a higher min_confidence, {single}a lower max_len, or a higher max_rules",
            self.max_rules
        ))
    }
}
