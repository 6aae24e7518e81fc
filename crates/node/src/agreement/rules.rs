//! What a `rules` job says, with defaults filled in.

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tacita_core::protocol::rules::association::{Consequents, Terms};
use tacita_core::protocol::rules::support::{Fraction, Support};
use tacita_core::protocol::rules::{DEFAULT_MAX_CANDIDATES, DEFAULT_MAX_RULES, Params, Reveal as Opened};
use tacita_core::{Error, Result};

use super::{Job, JobSpec, Reveal};

/// The least confidence where a job does not say: what arules and mlxtend take.
pub const USUAL_CONFIDENCE: &str = "0.8";

/// The column of baskets where a job does not say, and what stands between its items.
const USUAL_COLUMN: &str = "items";
const USUAL_SEPARATOR: &str = "|";

/// A number as it stands in the job file, digit for digit: binary floating point has no 0.07.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written(pub String);

/// Where a party's items come from.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    expecting = "`items` is \"*\", a list of columns, or a table as { column = \"items\", separator = \"|\" }"
)]
pub enum ItemsFrom {
    // Before the table, which would be read from a list too.
    /// Each of these columns holds an item, or a value that makes one.
    Columns(Vec<String>),
    /// One column holds baskets.
    Basket(Basket),
    /// Each column does.
    All(Star),
}

/// A column of baskets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Basket {
    /// Its logical name.
    #[serde(default = "usual_column")]
    pub column: String,
    /// What stands between items.
    #[serde(default = "usual_separator")]
    pub separator: String,
}

/// The word `*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Star;

/// How the numbers of a column become items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "`bins` has, for each column, a number of bins or a list of bounds")]
pub enum Bins {
    /// So many bins of about as many of the rows that both have each.
    Quantiles(u32),
    /// Bins between these bounds, ascending: below the first, from the first to below the second, and so on.
    Bounds(Vec<f64>),
}

impl JobSpec {
    /// How many rows make an itemset frequent.
    pub fn support(&self) -> Result<Support> {
        match &self.min_support {
            Some(written) => written.0.parse(),
            None => Err(Error::Input(
                "the key `min_support` is missing: say in how many rows an itemset must be, as 100, or in which part of \
                 them, as 0.01 or \"1%\""
                    .into(),
            )),
        }
    }

    /// Whether what is frequent depends on what the other party brings: a part of the rows that both have, however few these
    /// are.
    pub fn support_of_common_rows(&self) -> bool {
        let part = matches!(self.support(), Ok(Support::Fraction(_)));
        self.job == Job::Rules && part && self.row_id.is_some()
    }

    /// How many rows must hold just one number for the bound of a bin to show it, if `minimum` make an itemset frequent. `None` where
    /// no bound may be shown: where the other party, by the rows that it brings, can make one row enough.
    pub fn bound_rows(&self, minimum: usize) -> Option<usize> {
        (!self.support_of_common_rows() || self.limits.min_rows.is_some()).then_some(minimum)
    }

    /// How many of the rows that hold a rule's antecedents must hold its consequents.
    pub fn confidence(&self) -> Result<Fraction> {
        self.min_confidence.as_ref().map_or(USUAL_CONFIDENCE, |written| written.0.as_str()).parse()
    }

    /// Where the items of `party` come from.
    pub fn items_of(&self, party: &str) -> ItemsFrom {
        let own = self.parties.get(party).and_then(|party| party.items.as_ref());
        own.or(self.items.as_ref())
            .cloned()
            .unwrap_or_else(|| ItemsFrom::Basket(Basket { column: usual_column(), separator: usual_separator() }))
    }

    /// What both parties derive from the terms for so many aligned rows.
    pub fn mining(&self, rows: usize) -> Result<Params> {
        let most = |limit: Option<u64>, usual| limit.map_or(usual, |limit| limit as usize);
        Ok(Params {
            rows,
            minimum: self.support()?.minimum(rows as u64) as usize,
            reveal: if self.reveal == Reveal::Counts { Opened::Counts } else { Opened::Frequent },
            max_len: most(self.max_len, usize::MAX),
            max_candidates: most(self.max_candidates, DEFAULT_MAX_CANDIDATES),
            max_rules: most(self.max_rules, DEFAULT_MAX_RULES),
            rules: Terms {
                min_confidence: self.confidence()?,
                consequents: self.consequents.unwrap_or(Consequents::Single),
                mixed_only: self.mixed_only.unwrap_or(false),
            },
        })
    }

    /// The keys of a `rules` job for the terms, with defaults filled in. Which of its columns hold items is a party's own
    /// matter.
    pub(super) fn rules_terms(&self) -> Vec<(&'static str, Value)> {
        if self.job != Job::Rules {
            return Vec::new();
        }
        // Job files whose thresholds cannot be read are refused.
        let written = |number: Result<String>| number.unwrap_or_default();
        let mut terms = vec![
            ("min_support", written(self.support().map(|support| support.to_string())).into()),
            ("min_confidence", written(self.confidence().map(|confidence| confidence.to_string())).into()),
            ("consequents", self.consequents.unwrap_or(Consequents::Single).name().into()),
            ("mixed_only", self.mixed_only.unwrap_or(false).into()),
            ("max_candidates", self.max_candidates.unwrap_or(DEFAULT_MAX_CANDIDATES as u64).into()),
            ("max_rules", self.max_rules.unwrap_or(DEFAULT_MAX_RULES as u64).into()),
        ];
        if let Some(max_len) = self.max_len {
            terms.push(("max_len", max_len.into()));
        }
        if let Some(row_id) = &self.row_id {
            terms.push(("row_id", row_id.all().into()));
        }
        if let Some(extension) = &self.extension {
            terms.push(("extension", extension.to_string().into()));
        }
        terms.extend(self.density_term());
        if !self.bins.is_empty() {
            let bins = self.bins.iter().map(|(column, bins)| (column.clone(), serde_json::json!(bins)));
            terms.push(("bins", Value::Object(bins.collect())));
        }
        terms
    }
}

impl ItemsFrom {
    /// The logical names of the columns that it names.
    pub fn columns(&self) -> &[String] {
        match self {
            ItemsFrom::Basket(basket) => std::slice::from_ref(&basket.column),
            ItemsFrom::Columns(columns) => columns,
            ItemsFrom::All(_) => &[],
        }
    }
}

fn usual_column() -> String {
    USUAL_COLUMN.into()
}

fn usual_separator() -> String {
    USUAL_SEPARATOR.into()
}

impl<'de> Deserialize<'de> for Star {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Star, D::Error> {
        match String::deserialize(deserializer)?.as_str() {
            "*" => Ok(Star),
            _ => Err(D::Error::custom("not *")),
        }
    }
}

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Written, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged, expecting = "a number, or a number in quotes")]
        enum Number {
            Integer(i64),
            Float(f64),
            Text(String),
        }
        Ok(Written(match Number::deserialize(deserializer)? {
            Number::Integer(integer) => integer.to_string(),
            // With a point even where it is an integer: 1.0 is not 1.
            Number::Float(float) => format!("{float:?}"),
            Number::Text(text) => text,
        }))
    }
}

/// The fractions of a job, each as `T` reads it.
#[derive(Deserialize)]
struct Thresholds<T> {
    min_support: Option<T>,
    min_confidence: Option<T>,
    density: Option<T>,
}

impl<T> Thresholds<T> {
    /// Puts what `exact` says in place of what the parser has made of numbers.
    fn put(self, job: &mut JobSpec, exact: impl Fn(T) -> Option<String>) {
        let put = |place: &mut Option<Written>, found: Option<T>| {
            if let Some(text) = found.and_then(&exact) {
                *place = Some(Written(text));
            }
        };
        put(&mut job.min_support, self.min_support);
        put(&mut job.min_confidence, self.min_confidence);
        put(&mut job.density, self.density);
    }
}

/// Takes numbers that are not whole from the text of the job file, which has been read into `job`.
pub(super) fn take_exact(job: &mut JobSpec, text: &str, is_json: bool) {
    if is_json {
        if let Ok(found) = serde_json::from_str::<Thresholds<Box<RawValue>>>(text) {
            found.put(job, |raw| (!raw.get().starts_with('"')).then(|| raw.get().to_owned()));
        }
    } else if let Ok(found) = toml::from_str::<Thresholds<toml::Spanned<toml::Value>>>(text) {
        found.put(job, |value| match value.get_ref() {
            // TOML allows a plus sign, and underscores between digits.
            toml::Value::Float(_) => {
                let text = text.get(value.span())?;
                Some(text.strip_prefix('+').unwrap_or(text).replace('_', ""))
            }
            _ => None,
        });
    }
}

/// What the check of a job file says of `bins`.
pub(super) fn check_bins(bins: &BTreeMap<String, Bins>) -> Result<()> {
    const MOST: usize = 1000;
    for (column, bins) in bins {
        let good = match bins {
            Bins::Quantiles(count) => (2..=MOST as u32).contains(count),
            Bins::Bounds(bounds) => {
                let ascending = bounds.windows(2).all(|pair| pair[0] < pair[1]);
                (1..MOST).contains(&bounds.len()) && ascending && bounds.iter().all(|bound| bound.is_finite())
            }
        };
        if !good {
            return Err(Error::Input(format!(
                "bins.{}: use a number of bins, 2 to {MOST}, or ascending bounds, as [18, 40, 65]",
                column.escape_debug()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(text: &str, is_json: bool) -> JobSpec {
        JobSpec::parse(text, is_json).unwrap()
    }

    fn toml(rest: &str) -> JobSpec {
        let fixed = "job = \"rules\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]";
        job(&format!("{fixed}\n{rest}\n[parties.a]\n[parties.b]\n"), false)
    }

    #[test]
    fn items_are_lists_tables_or_a_star() {
        let from = |text: &str| toml(&format!("min_support = 2\nitems = {text}")).items_of("a");
        let names = |names: &[&str]| ItemsFrom::Columns(names.iter().map(|name| name.to_string()).collect());
        for list in [&["x"][..], &["x", "y"], &["x", "y", "z"]] {
            assert_eq!(from(&format!("{list:?}")), names(list));
        }
        let basket = |column: &str, separator: &str| {
            ItemsFrom::Basket(Basket { column: column.into(), separator: separator.into() })
        };
        assert_eq!(from("\"*\""), ItemsFrom::All(Star));
        assert_eq!(from("{ column = \"x\" }"), basket("x", "|"));
        assert_eq!(from("{ separator = \",\" }"), basket("items", ","));
        assert_eq!(toml("min_support = 2").items_of("b"), basket("items", "|"));
    }

    /// Digits that binary floating point does not hold.
    #[test]
    fn thresholds_are_exact() {
        let exact = "0.30000000000000001";
        for written in [exact.to_owned(), format!("\"{exact}\"")] {
            let of_toml = toml(&format!("min_confidence = {written}\nmin_support = {written}"));
            let of_json = job(
                &format!(
                    "{{\"job\":\"rules\",\"id\":\"t\",\"reveal_to\":[\"a\",\"b\"],\"min_support\":{written},\
                     \"min_confidence\": {written} ,\"parties\":{{\"a\":{{}},\"b\":{{}}}}}}"
                ),
                true,
            );
            for job in [of_toml, of_json] {
                assert_eq!(job.support().unwrap().to_string(), exact);
                assert_eq!(job.confidence().unwrap().to_string(), exact);
            }
        }
        for written in ["3e-1", "0.3", "+0.3", "0.3_0", "30E-2"] {
            assert_eq!(toml(&format!("min_support = {written}")).support().unwrap().to_string(), "0.3", "{written}");
        }
        assert_eq!(toml("min_support = 7").support().unwrap().to_string(), "7");
        assert_eq!(toml("min_support = 7").confidence().unwrap().to_string(), USUAL_CONFIDENCE);
        assert_eq!(toml("min_support = \"12.50%\"").support().unwrap().to_string(), "0.125");
    }
}
