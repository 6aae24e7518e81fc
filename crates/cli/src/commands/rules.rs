//! `tacita rules`

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use tacita_core::{Error, Result};

use super::help;
use super::pair::{AlignOptions, PairOptions, ReceiverOption, named_columns};
use super::run::{OUTPUT_OF_RULES, PageOptions, StockOptions};
use crate::console::LogOptions;
use tacita_node::agreement::{
    Basket, ItemsFrom, JobSpec, MatchKey, Measures, Names, Show, Which, Wildcard, WrittenNumber,
};
use tacita_node::jobs::rules::{self, Bins};

/// Mine association rules over the items of two parties.
///
/// Both parties learn the rules. Rows are aligned by position, or by ids with --row-id. No job file is needed: one
/// party listens, the other connects, and both give the same terms.
#[derive(Args)]
#[command(
    mut_arg("input", |input| input.help("Table of this party: CSV, Parquet or Arrow, FIMI .dat for baskets, or - \
     for CSV on standard input")),
    mut_arg("output", |output| output.help(OUTPUT_OF_RULES)),
    after_help = r"Examples:
  tacita rules --listen 0.0.0.0:7400 --peer SHA256:... --identity id \
    --input a.csv --min-support 1% --output rules.csv
  tacita rules --connect a.example:7400 --peer SHA256:... --identity id \
    --input b.csv --min-support 1% --output rules.csv --html rules.html")]
pub struct RulesOptions {
    /// Minimum support of an itemset: a number of rows, as 100, or a fraction, as 0.01 or 1%.
    #[arg(long, value_name = "N", help_heading = help::RULES)]
    min_support: String,
    /// Minimum confidence of a rule, as 0.8 or 80% [default: 0.8].
    #[arg(long, value_name = "PART", help_heading = help::RULES)]
    min_confidence: Option<String>,
    /// Maximum number of items in an itemset.
    #[arg(long, value_name = "N", help_heading = help::RULES)]
    max_len: Option<u64>,
    /// Number of items among the consequents of a rule: single or any.
    #[arg(long, default_value = "single", help_heading = help::RULES)]
    consequents: String,
    /// Keep only rules with items of both parties.
    #[arg(long, help_heading = help::RULES)]
    mixed_only: bool,
    /// Maximum number of candidates of one kind and length; more end the run [default: 1048576].
    #[arg(long, value_name = "N", help_heading = help::LIMITS)]
    max_candidates: Option<u64>,
    /// Maximum number of rules; more end the run [default: 250000].
    #[arg(long, value_name = "N", help_heading = help::LIMITS)]
    max_rules: Option<u64>,
    /// Result: frequent, or counts, which adds the counts of all candidates with items of both parties.
    #[arg(long, default_value = "frequent", help_heading = help::RESULT)]
    reveal: String,
    /// Column of baskets in this table [default: items].
    #[arg(long, value_name = "COLUMN", conflicts_with = "items", help_heading = help::INPUT)]
    basket: Option<String>,
    /// Separator between the items of a basket [default: |, or a comma with --lines].
    #[arg(long, value_name = "TEXT", conflicts_with = "items", help_heading = help::INPUT)]
    separator: Option<String>,
    /// Read one item a row; rows with the same --row-id form a basket.
    #[arg(long, requires = "row_id", conflicts_with_all = ["items", "lines", "separator"], help_heading = help::INPUT)]
    long: bool,
    /// Read one basket a line, without a header.
    #[arg(long, conflicts_with_all = ["items", "basket", "row_id"], help_heading = help::INPUT)]
    lines: bool,
    /// Columns that hold an item each, or values that make items; * for all.
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = help::INPUT)]
    items: Vec<String>,
    /// Bins of a column of numbers: a count, as age=4, or bounds, as age=18:40:65. Both parties give the same.
    #[arg(long, value_name = "COLUMN=BINS", value_delimiter = ',', help_heading = help::INPUT)]
    bins: Vec<String>,
    #[command(flatten)]
    align: AlignOptions,
    /// Oblivious transfer extension: softspoken-1 to softspoken-8 [default: chosen by the network].
    #[arg(long, value_name = "HOW", help_heading = help::PROTOCOL)]
    extension: Option<String>,
    /// Maximum fraction of rows with an item, as 0.1 or 10% (protocol "gm-bloom") [default: all].
    #[arg(long, value_name = "PART", help_heading = help::PROTOCOL)]
    density: Option<String>,
    /// Measures of each rule: usual, or all that mlxtend has.
    #[arg(long, value_name = "WHICH", default_value = "usual", help_heading = help::RESULT)]
    measures: Measures,
    /// Itemsets to write: all, closed or maximal. Closed ones have no superset of equal support, maximal ones no
    /// frequent superset.
    #[arg(long, value_name = "WHICH", default_value = "all", help_heading = help::RESULT)]
    itemsets: Which,
    /// Show this party only rules with one of these items among the antecedents.
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = help::RESULT)]
    items_in_antecedents: Option<Vec<String>>,
    /// Show this party only rules with one of these items among the consequents.
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = help::RESULT)]
    items_in_consequents: Option<Vec<String>>,
    #[command(flatten)]
    pair: PairOptions,
    /// Minimum number of common rows; with fewer, the run ends before counting.
    #[arg(long, value_name = "N", help_heading = help::LIMITS)]
    min_rows: Option<u64>,
    #[command(flatten)]
    page: PageOptions,
}

impl RulesOptions {
    /// Carries the command out.
    pub fn execute(self, voice: LogOptions) -> Result<()> {
        let (row_id, mapping) = named_columns("row-id", &self.align.row_id)?;
        let key = MatchKey { columns: row_id.clone(), ..MatchKey::default() };
        let items = match &self.items[..] {
            [] => ItemsFrom::Basket(Basket {
                column: self.basket.clone(),
                separator: self.separator.clone(),
                long: self.long,
                lines: self.lines,
            }),
            [all] if all == "*" => ItemsFrom::All(Wildcard),
            columns => ItemsFrom::Columns(columns.to_vec()),
        };
        let (me, _) = self.pair.names()?;
        let own = rules::Rules {
            row_id: (!row_id.is_empty()).then_some(Names::Several(row_id.clone())),
            extension: self.extension.as_deref().map(str::parse).transpose()?,
            density: self.density.clone().map(WrittenNumber),
            min_support: Some(WrittenNumber(self.min_support.clone())),
            min_confidence: self.min_confidence.clone().map(WrittenNumber),
            max_len: self.max_len,
            consequents: Some(self.consequents.parse()?),
            items: None,
            mixed_only: Some(self.mixed_only),
            max_candidates: self.max_candidates,
            max_rules: self.max_rules,
            bins: bins(&self.bins)?,
        };
        let mut job = JobSpec {
            reveal: self.reveal.parse()?,
            key: (!row_id.is_empty()).then_some(key),
            alignment: self.align.way()?,
            ..self.pair.job(Arc::new(own), ReceiverOption::Both, mapping)?
        };
        if let Some(own) = job.parties.get_mut(&me) {
            own.items = Some(items);
            own.show = Show {
                measures: self.measures,
                itemsets: self.itemsets,
                items_in_antecedents: self.items_in_antecedents,
                items_in_consequents: self.items_in_consequents,
                ..Show::default()
            };
        }
        job.limits.min_rows = self.min_rows;
        self.pair.run(job, (self.page, StockOptions::default()), voice)
    }
}

/// `COLUMN=4` and `COLUMN=18:40:65`
fn bins(texts: &[String]) -> Result<BTreeMap<String, Bins>> {
    let one = |text: &String| {
        let bad =
            || Error::Input(format!("--bins {text}: use COLUMN=4 for so many bins, or COLUMN=18:40:65 for bounds"));
        let (column, bins) = text.split_once('=').filter(|(column, _)| !column.is_empty()).ok_or_else(bad)?;
        if let Ok(count) = bins.parse() {
            return Ok((column.to_owned(), Bins::Quantiles(count)));
        }
        let bounds = bins.trim_end_matches(':').split(':').map(|bound| bound.parse().map_err(|_| bad()));
        Ok((column.to_owned(), Bins::Bounds(bounds.collect::<Result<_>>()?)))
    };
    texts.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_are_read() {
        let read = |text: &str| bins(&[text.to_owned()]).map(|bins| bins["age"].clone());
        assert_eq!(read("age=4").unwrap(), Bins::Quantiles(4));
        assert_eq!(read("age=18:40.5").unwrap(), Bins::Bounds(vec![18.0, 40.5]));
        assert_eq!(read("age=18:").unwrap(), Bins::Bounds(vec![18.0]));
        for text in ["age", "=4", "age=", "age=x", "age=1:x"] {
            assert!(bins(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
