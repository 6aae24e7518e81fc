//! Ways to align rows by ids.

use std::str::FromStr;

use tacita_core::{Error, Result};

use super::Protocol;
use super::words::unknown;

/// Way in which a job aligns rows by `row_id`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlignWay {
    /// A common order of the rows of both parties. Neither learns which are common.
    Hidden,
    /// Alignment by an intersection, which shows both parties which of their rows are common.
    Rows,
}

impl AlignWay {
    /// Protocol that aligns rows hidden, as a choice names it.
    pub const HIDDEN: Protocol = Protocol::named("align");

    /// The word for it: `hidden` or `rows`.
    pub fn name(self) -> &'static str {
        match self {
            AlignWay::Hidden => "hidden",
            AlignWay::Rows => "rows",
        }
    }
}

impl FromStr for AlignWay {
    type Err = Error;

    fn from_str(word: &str) -> Result<AlignWay> {
        match [AlignWay::Hidden, AlignWay::Rows].into_iter().find(|way| way.name() == word) {
            Some(way) => Ok(way),
            None => unknown("alignment", word, "\"hidden\" or \"rows\""),
        }
    }
}
