//! Keys by which rows are matched.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use tacita_core::{Error, Result};

use super::JobSpec;
use super::check::MAX_COLUMNS;
use super::words::{bad, check_distinct};
use crate::base::text::shown;
use crate::table::{Duplicates, KeyColumn, KeySpec, NullWords, Nulls, Profile};

/// The most keys of which one is enough: the chances of what may go wrong in one of them add up.
pub const MAX_ALTERNATIVES: usize = 8;

/// `[key]`: what a row is matched by.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(try_from = "Written")]
pub struct MatchKey {
    /// Logical column names; several make a composite key. Of `any`, all columns, each once.
    pub columns: Vec<String>,
    /// Several keys, each with its columns: rows match if any of them does. Empty where `columns` are the one key.
    pub any: Vec<Vec<String>>,
    /// The verdict by each of them, in their order; `match` for those beyond its end.
    pub verdicts: Vec<KeyVerdict>,
    /// Profiles with which the columns are read; all by `none` if absent.
    pub normalize: Option<Profiles>,
    /// Treatment of rows with equal keys.
    pub duplicates: Duplicates,
    /// Treatment of rows without a key.
    pub nulls: Nulls,
    /// Position of this key among several alternative keys.
    pub alternative: Option<Alternative>,
}

/// One of several keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Alternative {
    /// Number of the key, counted from 0.
    pub number: usize,
    /// Total number of alternative keys.
    pub of: usize,
}

/// Verdict on a row of a live list that a key finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyVerdict {
    /// The one that was asked for.
    #[default]
    Match,
    /// Perhaps the one that was asked for: the key is less strict, as a name and a year.
    Possible,
}

impl KeyVerdict {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            KeyVerdict::Match => "match",
            KeyVerdict::Possible => "possible",
        }
    }
}

/// One of several keys, as it is written.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "a key of `any` is a list of columns, or { columns = [\"name\", \"year\"], verdict = \"possible\" }"
)]
enum WrittenKey {
    Columns(Vec<String>),
    Judged(JudgedKey),
}

/// A key with its verdict.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JudgedKey {
    columns: Vec<String>,
    #[serde(default)]
    verdict: KeyVerdict,
}

impl WrittenKey {
    fn into_parts(self) -> (Vec<String>, KeyVerdict) {
        match self {
            WrittenKey::Columns(columns) => (columns, KeyVerdict::Match),
            WrittenKey::Judged(JudgedKey { columns, verdict }) => (columns, verdict),
        }
    }
}

/// Profiles of key columns, as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Profiles {
    /// One for each column, in their order.
    List(Vec<Profile>),
    /// Profiles by column name.
    Table(BTreeMap<String, Profile>),
}

/// `[key]` as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "the table [key]")]
struct Written {
    columns: Option<Vec<String>>,
    any: Option<Vec<WrittenKey>>,
    normalize: Option<Profiles>,
    #[serde(default)]
    duplicates: Duplicates,
    #[serde(default)]
    nulls: Nulls,
}

impl TryFrom<Written> for MatchKey {
    type Error = String;

    fn try_from(written: Written) -> std::result::Result<MatchKey, String> {
        let key = MatchKey {
            normalize: written.normalize,
            duplicates: written.duplicates,
            nulls: written.nulls,
            ..MatchKey::default()
        };
        match (written.columns, written.any) {
            (Some(columns), None) => Ok(MatchKey { columns, ..key }),
            (None, Some(any)) => {
                let (any, verdicts): (Vec<_>, Vec<_>) = any.into_iter().map(WrittenKey::into_parts).unzip();
                Ok(MatchKey { columns: all_columns(&any), any, verdicts, ..key })
            }
            (Some(_), Some(_)) => {
                Err("columns and any: use columns for one key, or any for several alternative keys".into())
            }
            (None, None) => {
                Err("missing key `columns`: name the columns by which rows are matched, as columns = [\"name\"]".into())
            }
        }
    }
}

/// The columns of several keys, each once.
pub fn all_columns(any: &[Vec<String>]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for column in any.iter().flatten() {
        if !all.contains(column) {
            all.push(column.clone());
        }
    }
    all
}

impl MatchKey {
    /// The verdict by key number `number` of several, or by the one there is.
    pub fn verdict(&self, number: usize) -> KeyVerdict {
        self.verdicts.get(number).copied().unwrap_or_default()
    }

    /// Whether some key says no more than that a row is perhaps on the list.
    pub fn has_possible(&self) -> bool {
        self.verdicts.contains(&KeyVerdict::Possible)
    }

    /// The profiles that the parties have agreed on, one for each column.
    pub fn profiles(&self) -> Vec<Profile> {
        let none = vec![Profile::None; self.columns.len()];
        self.normalize.as_ref().map_or_else(|| none.clone(), |profiles| profiles.of(&self.columns, &none))
    }

    /// Checks how many columns there are, and that each is there once.
    pub(super) fn check_columns(&self) -> Result<()> {
        let check = |place: &str, columns: &[String]| {
            if columns.is_empty() || columns.len() > MAX_COLUMNS {
                bad(format!("{place}: name 1 to {MAX_COLUMNS} columns"))
            } else {
                check_distinct(place, columns)
            }
        };
        if self.any.is_empty() && !self.columns.is_empty() {
            return check("key.columns", &self.columns);
        }
        if !(2..=MAX_ALTERNATIVES).contains(&self.any.len()) {
            return match self.any.len() {
                0 => check("key.columns", &self.columns),
                1 => bad("key.any: it has one key only: write its columns as key.columns"),
                _ => bad(format!("key.any: at most {MAX_ALTERNATIVES} keys")),
            };
        }
        let mut seen: Vec<Vec<&String>> = Vec::new();
        for columns in &self.any {
            check("key.any", columns)?;
            let mut sorted: Vec<_> = columns.iter().collect();
            sorted.sort();
            if seen.contains(&sorted) {
                return bad(format!("key.any: the key {} is listed twice", shown(&columns.join(", "))));
            }
            seen.push(sorted);
        }
        if self.columns.len() > MAX_COLUMNS {
            bad(format!("key.any: at most {MAX_COLUMNS} columns in all"))
        } else {
            Ok(())
        }
    }
}

impl Profiles {
    /// One for each of `columns`; `usual` where they say nothing.
    pub fn of(&self, columns: &[String], usual: &[Profile]) -> Vec<Profile> {
        match self {
            Profiles::List(list) => list.clone(),
            Profiles::Table(table) => {
                let of = |(column, usual): (&String, &Profile)| table.get(column).copied().unwrap_or(*usual);
                columns.iter().zip(usual).map(of).collect()
            }
        }
    }

    /// Reads what stands on a command line: profiles, or `COLUMN=PROFILE` for some of the columns; none of nothing.
    pub fn parse(words: &[String]) -> Result<Option<Profiles>> {
        let named: Vec<_> = words.iter().map(|word| word.split_once('=')).collect();
        if words.is_empty() {
            return Ok(None);
        }
        if named.iter().all(Option::is_none) {
            return words.iter().map(|word| word.parse()).collect::<Result<_>>().map(Profiles::List).map(Some);
        }
        let entry = |named: Option<(&str, &str)>| -> Result<(String, Profile)> {
            let (column, profile) = named.ok_or_else(|| {
                Error::Input(
                    "--normalize: give one profile for each column, or COLUMN=PROFILE for each that you name".into(),
                )
            })?;
            Ok((column.to_owned(), profile.parse()?))
        };
        let table: BTreeMap<_, _> = named.into_iter().map(entry).collect::<Result<_>>()?;
        if table.len() < words.len() {
            bad("--normalize: a column is listed twice")
        } else {
            Ok(Some(Profiles::Table(table)))
        }
    }

    /// Checks that there is one for each column, or that those which are named are columns of the key.
    pub(super) fn check(&self, place: &str, columns: &[String]) -> Result<()> {
        match self {
            Profiles::List(list) if list.len() != columns.len() => {
                let by_name = if columns.len() > 1 {
                    "; they can be given by column, as normalize = { COLUMN = \"date\" }"
                } else {
                    ""
                };
                bad(format!("{place}: {} profiles for {} key columns{by_name}", list.len(), columns.len()))
            }
            Profiles::List(_) => Ok(()),
            Profiles::Table(table) => match table.keys().find(|name| !columns.contains(name)) {
                Some(name) => bad(format!(
                    "{place}: {:?} is not a column of the key; its columns are {}",
                    shown(name),
                    shown(&columns.join(", "))
                )),
                None => Ok(()),
            },
        }
    }
}

impl<'de> Deserialize<'de> for Profiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Profiles, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Profiles;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of profiles, or a table of them by column")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> std::result::Result<Profiles, A::Error> {
                Deserialize::deserialize(SeqAccessDeserializer::new(list)).map(Profiles::List)
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> std::result::Result<Profiles, A::Error> {
                Deserialize::deserialize(MapAccessDeserializer::new(table)).map(Profiles::Table)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

impl JobSpec {
    /// The jobs of the several keys of which one is enough, each with one key; none where there is one key.
    pub fn alternatives(&self) -> Vec<JobSpec> {
        let Some(key) = &self.key else { return Vec::new() };
        let of = |columns: &[String], profiles: &[Profile]| -> Vec<Profile> {
            let place = |name: &String| key.columns.iter().position(|column| column == name);
            columns.iter().filter_map(|name| place(name).and_then(|place| profiles.get(place))).copied().collect()
        };
        let alternative = |(number, columns): (usize, &Vec<String>)| {
            let mut job = self.clone();
            for (name, party) in &mut job.parties.0 {
                party.normalize = party.normalize.is_some().then(|| Profiles::List(of(columns, &self.profiles(name))));
            }
            // They are of the rows with any of the keys.
            job.limits.min_rows = None;
            job.key = Some(MatchKey {
                columns: columns.clone(),
                any: Vec::new(),
                verdicts: Vec::new(),
                normalize: Some(Profiles::List(of(columns, &key.profiles()))),
                duplicates: key.duplicates,
                // A row counts as one without a key if it has none of them.
                nulls: Nulls::Skip,
                alternative: Some(Alternative { number, of: key.any.len() }),
            });
            job
        };
        key.any.iter().enumerate().map(alternative).collect()
    }

    /// Whether each row is a key of its own: the tables are multisets of keys.
    pub fn is_of_multisets(&self) -> bool {
        self.key.as_ref().is_some_and(|key| key.duplicates == Duplicates::Multiset)
    }

    /// Returns the key specification by which `party`'s rows are matched.
    pub fn key_spec(&self, party: &str, allow_unreadable: bool) -> Result<KeySpec> {
        let key = self.key.as_ref().ok_or_else(|| Error::Internal("rows are matched, and by no key".into()))?;
        let columns = key.columns.iter().zip(self.profiles(party)).map(|(name, profile)| KeyColumn {
            name: name.clone(),
            header: self.header(party, name).to_owned(),
            profile: profile.with_mark(self.mark(party)),
        });
        // What was agreed on takes the place of the half that is usual.
        let allow_unreadable = allow_unreadable || self.limits.max_unreadable.is_some();
        let named = self.parties.get(party).and_then(|party| party.nulls.as_deref());
        Ok(KeySpec {
            columns: columns.collect(),
            duplicates: key.duplicates,
            nulls: key.nulls,
            words: named.map_or_else(NullWords::default, NullWords::of),
            allow_unreadable,
        })
    }

    /// Returns the number of alternative keys of which this job has one.
    pub fn keys_in_all(&self) -> usize {
        self.key.as_ref().and_then(|key| key.alternative).map_or(1, |alternative| alternative.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> std::result::Result<MatchKey, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn profiles_are_a_list_or_a_table() {
        let list = key("columns = [\"a\", \"b\"]\nnormalize = [\"name\", \"date:DMY\"]").unwrap();
        let table = key("columns = [\"a\", \"b\"]\nnormalize = { b = \"date:DMY\", a = \"name\" }").unwrap();
        assert_eq!(list.profiles(), table.profiles());
        let some = key("columns = [\"a\", \"b\"]\nnormalize = { b = \"date:DMY\" }").unwrap();
        assert_eq!(some.profiles(), [Profile::None, table.profiles()[1]]);
        assert!(key("columns = [\"a\"]\nnormalize = 3").unwrap_err().contains("a list of profiles, or a table"));
        assert!(key("columns = [\"a\"]\nnormalize = { a = \"no\" }").unwrap_err().contains("no profile"));
        let parse = |words: &[&str]| Profiles::parse(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>());
        assert_eq!(parse(&["name", "date:DMY"]).unwrap(), list.normalize);
        assert_eq!(parse(&["b=date:DMY", "a=name"]).unwrap(), table.normalize);
        assert_eq!(parse(&[]).unwrap(), None);
        for words in [&["name", "b=date"][..], &["a=name", "a=name"], &["a=no"]] {
            assert!(parse(words).is_err(), "{words:?}");
        }
    }

    #[test]
    fn several_keys_share_their_columns() {
        let several = key("any = [[\"name\", \"dob\"], [\"nhs\"], [\"dob\", \"zip\"]]").unwrap();
        assert_eq!(several.columns, ["name", "dob", "nhs", "zip"]);
        several.check_columns().unwrap();
        for (text, words) in [
            ("any = [[\"a\"]]", "one key only"),
            ("any = []", "name 1 to"),
            ("any = [[\"a\"], []]", "key.any: name 1 to"),
            ("any = [[\"a\", \"b\"], [\"b\", \"a\"]]", "twice"),
            ("any = [[\"a\", \"a\"], [\"b\"]]", "twice"),
            ("any = [[\"a\"], [\"b\"], [\"c\"], [\"d\"], [\"e\"], [\"f\"], [\"g\"], [\"h\"], [\"i\"]]", "at most 8"),
        ] {
            let error = key(text).unwrap().check_columns().unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!(key("columns = [\"a\"]\nany = [[\"a\"], [\"b\"]]").unwrap_err().contains("columns and any"));
        assert!(key("nulls = \"skip\"").unwrap_err().contains("columns"));
    }

    #[test]
    fn a_key_may_have_a_verdict() {
        let some =
            key("any = [[\"name\", \"dob\"], { columns = [\"name\", \"year\"], verdict = \"possible\" }]").unwrap();
        assert_eq!(some.any, [["name", "dob"], ["name", "year"]]);
        assert_eq!([0, 1, 2].map(|number| some.verdict(number).name()), ["match", "possible", "match"]);
        assert!(some.has_possible());
        let plain = key("any = [{ columns = [\"a\"], verdict = \"match\" }, [\"b\"]]").unwrap();
        assert!(!plain.has_possible());
        for wrong in
            ["{ columns = [\"b\"], verdict = \"perhaps\" }", "{ columns = [\"b\"], veredict = \"match\" }", "3"]
        {
            let error = key(&format!("any = [[\"a\"], {wrong}]")).unwrap_err();
            assert!(error.contains("a list of columns, or { columns"), "{wrong}: {error}");
        }
    }
}
