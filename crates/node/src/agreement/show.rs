//! Options for showing results in a party's own output.

use std::str::FromStr;

use serde::Deserialize;
use tacita_core::{Error, Result};

use super::words::{from_word, unknown};

/// `[parties.X] show`: what this party's files hold of what was found, by `intersect` and `rules`. It is its own
/// affair: no other party notices, and everything is found and learned as without it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Show {
    /// `intersect`: which of the own rows there are.
    #[serde(deserialize_with = "from_word")]
    pub rows: OwnRows,
    /// `intersect`: whether the canonical form of each key column stands behind the own columns, as `key.NAME`.
    pub key: bool,
    /// `rules`: which measures rules have.
    #[serde(deserialize_with = "from_word")]
    pub measures: Measures,
    /// `rules`: which itemsets there are.
    #[serde(deserialize_with = "from_word")]
    pub itemsets: Which,
    /// `rules`: only rules with at least one of these among their antecedents; absent: all.
    pub items_in_antecedents: Option<Vec<String>>,
    /// `rules`: only rules with at least one of these among their consequents; absent: all.
    pub items_in_consequents: Option<Vec<String>>,
}

impl Show {
    /// Whether it says nothing of rules.
    pub fn is_of_rows(&self) -> bool {
        *self == Show { rows: self.rows, key: self.key, ..Show::default() }
    }

    /// Whether it says nothing of rows.
    pub fn is_of_rules(&self) -> bool {
        (self.rows, self.key) == (OwnRows::Common, false)
    }
}

/// Own rows, by whether they are common.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OwnRows {
    /// Common ones, by key.
    #[default]
    Common,
    /// Rows of the whole table as they are there, with a column `common`.
    All,
    /// Rows that are not common, as they are in the table.
    Others,
}

/// Measures that are shown for rules.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Measures {
    /// Support, confidence, lift, leverage and conviction.
    #[default]
    Usual,
    /// Every measure that mlxtend has.
    All,
}

/// Itemsets, by those that contain them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Which {
    /// Every itemset that was found.
    #[default]
    All,
    /// Itemsets that no larger one with the same row count contains.
    Closed,
    /// Itemsets that no larger one contains.
    Maximal,
}

impl FromStr for OwnRows {
    type Err = Error;

    fn from_str(word: &str) -> Result<OwnRows> {
        match word {
            "common" => Ok(OwnRows::Common),
            "all" => Ok(OwnRows::All),
            "others" => Ok(OwnRows::Others),
            _ => unknown("rows", word, "\"common\", \"all\" or \"others\""),
        }
    }
}

impl FromStr for Measures {
    type Err = Error;

    fn from_str(word: &str) -> Result<Measures> {
        match word {
            "usual" => Ok(Measures::Usual),
            "all" => Ok(Measures::All),
            _ => unknown("measures", word, "\"usual\" or \"all\""),
        }
    }
}

impl FromStr for Which {
    type Err = Error;

    fn from_str(word: &str) -> Result<Which> {
        match word {
            "all" => Ok(Which::All),
            "closed" => Ok(Which::Closed),
            "maximal" => Ok(Which::Maximal),
            _ => unknown("itemsets", word, "\"all\", \"closed\" or \"maximal\""),
        }
    }
}
