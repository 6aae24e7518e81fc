//! What both parties agree on before the first message.

use super::association::Terms;
use super::itemsets::TooMany;
use crate::error::{Error, Result};
use crate::protocol::dot::{MAX_ROWS, Modulus};

/// The most candidates of one kind and length, unless the terms say otherwise.
pub const DEFAULT_MAX_CANDIDATES: usize = 1 << 20;

/// Whose counts are opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reveal {
    /// Of frequent itemsets.
    Frequent,
    /// Of all mixed candidates.
    Counts,
}

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Rows that both have.
    pub rows: usize,
    /// In how many of them a frequent itemset is, at least.
    pub minimum: usize,
    /// Whose counts are opened.
    pub reveal: Reveal,
    /// Items of the longest itemsets.
    pub max_len: usize,
    /// The most candidates of one kind and length; and the most frequent items of one party.
    pub max_candidates: usize,
    /// Which rules are wanted.
    pub rules: Terms,
}

impl Params {
    /// Refuses values that cannot work.
    pub(super) fn check(&self) -> Result<()> {
        match () {
            _ if self.rows > MAX_ROWS => {
                Err(Error::Input(format!("{} rows: at most {MAX_ROWS} are possible", self.rows)))
            }
            _ if self.minimum == 0 => Err(Error::Input("min_support = 0 rows: use 1 or more".into())),
            _ if self.max_len == 0 => Err(Error::Input("max_len = 0: use 1 or more".into())),
            _ => Ok(()),
        }
    }

    /// What shares of counts add up modulo: for a comparison, more than twice the number of rows.
    pub fn modulus(&self) -> Result<Modulus> {
        let bits = usize::BITS - self.rows.leading_zeros();
        Modulus::power_of_two(match self.reveal {
            Reveal::Frequent => bits + 1,
            Reveal::Counts => bits.max(1),
        })
    }

    /// The error for `whose` candidates of `length` items.
    pub(super) fn too_many(&self, whose: &str, length: usize, found: TooMany) -> Error {
        let TooMany { candidates, or_more } = found;
        let found = if or_more { format!("{candidates} or more") } else { candidates.to_string() };
        let items = if length == 1 { "1 item" } else { &format!("{length} items") };
        Error::Input(format!(
            "{found} {whose} candidates of {items}, and max_candidates is {}: use a higher min_support, a lower max_len, or a higher max_candidates",
            self.max_candidates
        ))
    }
}
