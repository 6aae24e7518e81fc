//! Job files hold words: how they are read, and the types that they stand for.

use std::collections::BTreeSet;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error as _};
use tacita_core::{Error, Result};

use super::{Answering, InitQuestion};
use crate::base::text::shown;
use crate::identity::Fingerprint;
use crate::table::{Duplicates, Nulls, Profile};

impl Duplicates {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Duplicates::All => "all",
            Duplicates::First => "first",
            Duplicates::Error => "error",
            Duplicates::Multiset => "multiset",
        }
    }
}

impl Nulls {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Nulls::Skip => "skip",
            Nulls::Error => "error",
        }
    }
}

/// Reads each type from the word that stands for it.
macro_rules! deserialize_from_word {
    ($($type:ty),*) => {$(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
                from_word(deserializer)
            }
        }
    )*};
}

deserialize_from_word!(super::AlignWay, super::Reveal, Duplicates, Nulls, Profile, Fingerprint);

/// Reads a time, as `24h`, `90min` or `45s`, as seconds.
pub(super) fn maybe_seconds<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Option<u64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let units = [("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)];
    let read = units
        .into_iter()
        .find_map(|(unit, seconds)| text.strip_suffix(unit)?.parse::<u64>().ok()?.checked_mul(seconds));
    read.map(Some).ok_or_else(|| {
        D::Error::custom(format!(
            "\"{}\" is no time: write a whole number and d, h, min or s, as in \"24h\"",
            shown(&text)
        ))
    })
}

/// The bound on the other's rows, which jobs that match rows ask for.
pub(crate) const MAX_ROWS: InitQuestion = InitQuestion {
    key: "limits.max_rows",
    asks: "The most rows that a party may bring",
    usual: Some("10000000"),
    answer: Answering::Word,
    means: "a party that claims more is refused",
};

/// Question for the columns by which rows are aligned, in jobs over rows of both parties.
pub(crate) const ROW_ID: InitQuestion = InitQuestion {
    key: "row_id",
    asks: "Columns by which rows are aligned; none: by their position",
    usual: Some(""),
    answer: Answering::Columns,
    means: "columns by which rows are aligned",
};

/// Refuses a word that nobody knows.
pub(crate) fn unknown<T>(key: &str, word: &str, instead: &str) -> Result<T> {
    Err(Error::Input(format!("{key} = \"{}\" is unknown: use {instead}", shown(word))))
}

/// Quoted words, of which one is to be used.
pub(crate) fn either<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let words: Vec<_> = words.map(|word| format!("\"{word}\"")).collect();
    match &words[..] {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        words => words.concat(),
    }
}

/// Reads a value from the word that stands for it.
pub(crate) fn from_word<'de, D, T>(deserializer: D) -> std::result::Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = Error>,
{
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// Deserialises like [`from_word`], for a key that may be absent.
pub(crate) fn maybe_from_word<'de, D, T>(deserializer: D) -> std::result::Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = Error>,
{
    from_word(deserializer).map(Some)
}

/// An error about a job file.
pub(crate) fn bad<T>(text: impl Into<String>) -> Result<T> {
    Err(Error::Input(text.into()))
}

/// Refuses names that are empty or there twice.
pub(crate) fn check_distinct(place: &str, names: &[String]) -> Result<()> {
    let mut seen = BTreeSet::new();
    match names.iter().find(|name| name.is_empty() || !seen.insert(*name)) {
        Some(name) => bad(format!("{place}: \"{}\" is empty or listed twice", name.escape_debug())),
        None => Ok(()),
    }
}
