//! Settings of a `rules` job, with defaults filled in.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::rules::association::{Consequents, RuleThresholds};
use tacita_core::protocol::rules::support::{Fraction, Support};
use tacita_core::protocol::rules::{DEFAULT_MAX_CANDIDATES, DEFAULT_MAX_RULES, Learners, Params, RevealedCounts};
use tacita_core::{Error, Result};

use crate::agreement::words::maybe_from_word;
use crate::agreement::{ItemsFrom, JobWith, Names, Reveal, Show, WrittenNumber};
use crate::jobs::aligned::{self, RowAlignment};
use crate::jobs::dot::density;

/// The least confidence where a job does not say: what arules and mlxtend take.
pub const USUAL_CONFIDENCE: &str = "0.8";

/// Job that asks: which items stand in many baskets together, and what do they tell of each other?
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct Rules {
    /// The columns by which rows are aligned; absent: by position.
    pub row_id: Option<Names>,
    /// Extension with which oblivious transfers are made; absent: chosen as the protocol is.
    #[serde(deserialize_with = "maybe_from_word")]
    pub extension: Option<Extension>,
    /// Fraction of the rows that an item may be in, for `gm-bloom`; see [`RulesJob::density`].
    pub density: Option<WrittenNumber>,
    /// Number of rows that make an itemset frequent; see [`RulesJob::support`].
    pub min_support: Option<WrittenNumber>,
    /// Minimum confidence of a rule; see [`RulesJob::confidence`].
    pub min_confidence: Option<WrittenNumber>,
    /// Maximum number of items in an itemset.
    pub max_len: Option<u64>,
    /// Number of items that a rule may promise.
    #[serde(deserialize_with = "maybe_from_word")]
    pub consequents: Option<Consequents>,
    /// Source of the items; see [`RulesJob::items_of`].
    pub items: Option<ItemsFrom>,
    /// Whether only rules with items of both parties are wanted.
    pub mixed_only: Option<bool>,
    /// The most candidates of one kind and length.
    pub max_candidates: Option<u64>,
    /// Maximum number of rules.
    pub max_rules: Option<u64>,
    /// Binning by which columns of numbers become items.
    pub bins: BTreeMap<String, Bins>,
}

/// A `rules` job with its own keys.
pub type RulesJob<'a> = JobWith<'a, Rules>;

/// Binning by which the numbers of a column become items.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "`bins` has, for each column, a number of bins or a list of bounds")]
pub enum Bins {
    /// Number of bins, each with about as many of the rows that both have.
    Quantiles(u32),
    /// Bins between these bounds, ascending: below the first, from the first to below the second, and so on.
    Bounds(Vec<f64>),
}

impl RulesJob<'_> {
    /// Returns the number of rows that make an itemset frequent.
    pub fn support(&self) -> Result<Support> {
        match &self.own.min_support {
            Some(written) => written.0.parse(),
            None => Err(Error::Input(
                "the key `min_support` is missing: set the least number of rows of an itemset, as 100, or a fraction of all \
                 rows, as 0.01 or \"1%\""
                    .into(),
            )),
        }
    }

    /// Whether what is frequent depends on what the other party brings: a part of the rows that both have, however few
    /// these are.
    pub fn support_of_common_rows(&self) -> bool {
        let part = matches!(self.support(), Ok(Support::Fraction(_)));
        part && self.own.row_id.is_some()
    }

    /// Returns how many rows must hold just one number for the bound of a bin to show it, if `minimum` make an itemset
    /// frequent. `None` if no bound may be shown: where the other party, by the rows that it brings, can make one row
    /// enough.
    pub fn bound_rows(&self, minimum: usize) -> Option<usize> {
        if !self.support_of_common_rows() {
            return Some(minimum);
        }
        // Of no fewer rows than the limit says, so many are enough.
        let least = self.support().ok()?.minimum(self.limits.min_rows?);
        (least > 1).then_some(minimum)
    }

    /// Returns the fraction of the rows with a rule's antecedents that must hold its consequents.
    pub fn confidence(&self) -> Result<Fraction> {
        self.own.min_confidence.as_ref().map_or(USUAL_CONFIDENCE, |written| written.0.as_str()).parse()
    }

    /// Returns the source of the items of `party`.
    pub fn items_of(&self, party: &str) -> ItemsFrom {
        let own = self.parties.get(party).and_then(|party| party.items.as_ref());
        own.or(self.own.items.as_ref()).cloned().unwrap_or_default()
    }

    /// Returns the options for showing results in the output of `party`.
    pub fn show(&self, party: &str) -> Show {
        self.parties.get(party).map(|party| party.show.clone()).unwrap_or_default()
    }

    /// Returns the parameters that both parties derive from the terms for so many common rows. `hidden` are the rows
    /// of either party, if nobody knows which are common.
    pub fn mining(&self, rows: usize, hidden: Option<usize>) -> Result<Params> {
        let most = |limit: Option<u64>, usual| limit.map_or(usual, |limit| limit as usize);
        Ok(Params {
            rows,
            hidden,
            minimum: self.support()?.minimum(rows as u64) as usize,
            learners: Learners::of(self.reveal_to.iter().filter_map(|name| self.parties.position(name))),
            reveal: if self.reveal == Reveal::Counts { RevealedCounts::Counts } else { RevealedCounts::Frequent },
            max_len: most(self.own.max_len, usize::MAX),
            max_candidates: most(self.own.max_candidates, DEFAULT_MAX_CANDIDATES),
            max_rules: most(self.own.max_rules, DEFAULT_MAX_RULES),
            rules: RuleThresholds {
                min_confidence: self.confidence()?,
                consequents: self.own.consequents.unwrap_or(Consequents::Single),
                mixed_only: self.own.mixed_only.unwrap_or(false),
            },
        })
    }

    /// Returns a column whose bins are quantiles, if there is one.
    pub(super) fn quantiles(&self) -> Option<&str> {
        self.own.bins.iter().find(|(_, bins)| matches!(bins, Bins::Quantiles(_))).map(|(column, _)| column.as_str())
    }

    /// The way in which rows are aligned by `row_id`, if they are.
    pub fn alignment(&self) -> Option<RowAlignment> {
        if self.bucket().is_some_and(|bucket| bucket.counts.is_some()) {
            // Its rows are aligned.
            return None;
        }
        aligned::spec::alignment(self, self.own.row_id.as_ref())
    }

    /// Returns the fraction of the rows that an item may be in, if the protocol has such a bound: all, unless the job
    /// says otherwise.
    pub fn density(&self) -> Result<Option<Fraction>> {
        density::of(self, self.own.density.as_ref())
    }

    /// Returns the maximum number of ones in a column of so many rows, if the protocol has such a bound.
    pub fn most_ones(&self, rows: usize) -> Result<Option<usize>> {
        Ok(self.density()?.map(|density| density.ceiling(rows as u64) as usize))
    }
}

/// Checks the `bins` of a job file.
pub(super) fn check_bins(bins: &BTreeMap<String, Bins>) -> Result<()> {
    const MAX_GROUPS: usize = 1000;
    for (column, bins) in bins {
        let good = match bins {
            Bins::Quantiles(count) => (2..=MAX_GROUPS as u32).contains(count),
            Bins::Bounds(bounds) => {
                let ascending = bounds.windows(2).all(|pair| pair[0] < pair[1]);
                (1..MAX_GROUPS).contains(&bounds.len()) && ascending && bounds.iter().all(|bound| bound.is_finite())
            }
        };
        if !good {
            return Err(Error::Input(format!(
                "bins.{}: use a number of bins, 2 to {MAX_GROUPS}, or ascending bounds, as [18, 40, 65]",
                column.escape_debug()
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::{Basket, Wildcard};
    use crate::jobs::ParseJob;

    /// A job that has been read, and the same keys as its own, to look at.
    struct Read(crate::agreement::JobSpec, Rules);

    impl Read {
        fn rules(&self) -> RulesJob<'_> {
            RulesJob { spec: &self.0, own: &self.1 }
        }
    }

    fn job(text: &str, is_json: bool) -> Read {
        let mut own: Rules =
            if is_json { serde_json::from_str(text).unwrap() } else { ::toml::from_str(text).unwrap() };
        own.take_exact(text, is_json);
        Read(crate::agreement::JobSpec::parse(text, is_json).unwrap(), own)
    }

    fn toml(rest: &str) -> Read {
        let fixed = "job = \"rules\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]";
        job(&format!("{fixed}\n{rest}\n[parties.a]\n[parties.b]\n"), false)
    }

    #[test]
    fn items_are_lists_tables_or_a_star() {
        let from = |text: &str| toml(&format!("min_support = 2\nitems = {text}")).rules().items_of("a");
        let names = |names: &[&str]| ItemsFrom::Columns(names.iter().map(|name| name.to_string()).collect());
        for list in [&["x"][..], &["x", "y"], &["x", "y", "z"]] {
            assert_eq!(from(&format!("{list:?}")), names(list));
        }
        let basket = |text: &str| {
            let ItemsFrom::Basket(found) = from(text) else { panic!("{text} is no basket") };
            (found.column().to_owned(), found.separator().to_owned(), found.long, found.lines)
        };
        assert_eq!(from("\"*\""), ItemsFrom::All(Wildcard));
        let read = |column: &str, separator: &str, long, lines| (column.to_owned(), separator.to_owned(), long, lines);
        assert_eq!(basket("{ column = \"x\" }"), read("x", "|", false, false));
        assert_eq!(basket("{ separator = \",\" }"), read("items", ",", false, false));
        assert_eq!(basket("{ column = \"x\", long = true }\nrow_id = [\"id\"]"), read("x", "|", true, false));
        assert_eq!(basket("{ lines = true }"), read("items", ",", false, true));
        assert_eq!(toml("min_support = 2").rules().items_of("b"), ItemsFrom::Basket(Basket::default()));
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
                assert_eq!(job.rules().support().unwrap().to_string(), exact);
                assert_eq!(job.rules().confidence().unwrap().to_string(), exact);
                assert!(job.0.job.terms(&job.0).contains(&("min_support", exact.into())));
            }
        }
        for written in ["3e-1", "0.3", "+0.3", "0.3_0", "30E-2"] {
            assert_eq!(
                toml(&format!("min_support = {written}")).rules().support().unwrap().to_string(),
                "0.3",
                "{written}"
            );
        }
        assert_eq!(toml("min_support = 7").rules().support().unwrap().to_string(), "7");
        assert_eq!(toml("min_support = 7").rules().confidence().unwrap().to_string(), USUAL_CONFIDENCE);
        assert_eq!(toml("min_support = \"12.50%\"").rules().support().unwrap().to_string(), "0.125");
    }
}
