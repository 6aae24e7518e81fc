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
