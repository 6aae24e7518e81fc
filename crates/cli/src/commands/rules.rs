//! `tacita rules`

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use tacita_core::{Error, Result};

use super::pair::{Pair, Receiver, named_columns};
use super::run::{OUTPUT_OF_RULES, Page, Stock};
use crate::console::Voice;
use tacita_node::agreement::{Basket, ItemsFrom, JobSpec, Key, Measures, Names, Show, Star, Which, Written};
use tacita_node::jobs::rules::{self, Bins};

/// Find which items of both parties go together, without a job file: one party listens, the other connects.
#[derive(Args)]
#[command(
    mut_arg("input", |input| input.help("This party's table: CSV, Parquet or Arrow; - for CSV on standard input; FIMI .dat for baskets")),
    mut_arg("output", |output| output.help(OUTPUT_OF_RULES)),
    after_help = "Example, on two machines:\n  \
  tacita rules --listen 0.0.0.0:7400 --peer SHA256:... --identity id --input a.csv --min-support 1% --output rules.csv\n  \
  tacita rules --connect a.example:7400 --peer SHA256:... --identity id --input b.csv --min-support 1% --output rules.csv\n\
Both learn the rules. Rows are aligned by position, or by ids with --row-id."
)]
pub struct Options {
    /// How many rows make an itemset frequent: 100, or a part of all rows, 0.01 or 1%.
    #[arg(long, value_name = "N")]
    min_support: String,
    /// How many of the rows with a rule's antecedents must have its consequents, as 0.8 or 80% [default: 0.8].
    #[arg(long, value_name = "PART")]
    min_confidence: Option<String>,
    /// How many items an itemset has at most.
    #[arg(long, value_name = "N")]
    max_len: Option<u64>,
    /// How many items a rule may promise: single or any.
    #[arg(long, default_value = "single")]
    consequents: String,
    /// Only rules with items of both parties.
    #[arg(long)]
    mixed_only: bool,
    /// The most candidates of one kind and length; more end the run [default: 1048576].
    #[arg(long, value_name = "N")]
    max_candidates: Option<u64>,
    /// The most rules; more end the run [default: 250000].
    #[arg(long, value_name = "N")]
    max_rules: Option<u64>,
    /// frequent, or counts: those of all candidates with items of both.
    #[arg(long, default_value = "frequent")]
    reveal: String,
    /// This table's column of baskets [default: items].
    #[arg(long, value_name = "COLUMN", conflicts_with = "items")]
    basket: Option<String>,
    /// What stands between the items of a basket [default: |, with --lines a comma].
    #[arg(long, value_name = "TEXT", conflicts_with = "items")]
    separator: Option<String>,
    /// Each row has one item of a basket; rows with the same --row-id are one basket.
    #[arg(long, requires = "row_id", conflicts_with_all = ["items", "lines", "separator"])]
    long: bool,
    /// The file has a basket in each line, and no header.
    #[arg(long, conflicts_with_all = ["items", "basket", "row_id"])]
    lines: bool,
    /// This table's columns that hold an item each, or values that make items; * for all.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    items: Vec<String>,
    /// How a column of numbers is put into bins: so many, as age=4, or by bounds, as age=18:40:65. Both parties say the same.
    #[arg(long, value_name = "COLUMN=BINS", value_delimiter = ',')]
    bins: Vec<String>,
    /// Align rows by these columns rather than by position; NAME=HEADER where this table's header differs. An
    /// intersection runs first: both learn which of their rows the other has too.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    row_id: Vec<String>,
    /// How oblivious transfers are made: softspoken-1 to softspoken-8 [default: chosen by the network].
    #[arg(long, value_name = "HOW")]
    extension: Option<String>,
    /// Which part of the rows may hold an item, as 0.1 or 10% (protocol "gm-bloom") [default: all].
    #[arg(long, value_name = "PART")]
    density: Option<String>,
    /// Which measures this party's rules have: usual, or all that mlxtend has.
    #[arg(long, value_name = "WHICH", default_value = "usual")]
    measures: Measures,
    /// Which itemsets this party's file has: all; closed ones, which no larger one contains that is in as many rows; or maximal ones, which
    /// no larger one contains.
    #[arg(long, value_name = "WHICH", default_value = "all")]
    itemsets: Which,
    /// Show this party only rules with one of these items among their antecedents.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    items_in_antecedents: Option<Vec<String>>,
    /// Show this party only rules with one of these items among their consequents.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    items_in_consequents: Option<Vec<String>>,
    #[command(flatten)]
    pair: Pair,
    /// End the search before anything is counted, if fewer rows are common.
    #[arg(long, value_name = "N")]
    min_rows: Option<u64>,
    #[command(flatten)]
    page: Page,
}

impl Options {
    /// Carries the command out.
    pub fn execute(self, voice: Voice) -> Result<()> {
        let (row_id, mapping) = named_columns("row-id", &self.row_id)?;
        let key = Key { columns: row_id.clone(), ..Key::default() };
        let items = match &self.items[..] {
            [] => ItemsFrom::Basket(Basket {
                column: self.basket.clone(),
                separator: self.separator.clone(),
                long: self.long,
                lines: self.lines,
            }),
            [all] if all == "*" => ItemsFrom::All(Star),
            columns => ItemsFrom::Columns(columns.to_vec()),
        };
        let (me, _) = self.pair.names()?;
        let own = rules::Rules {
            row_id: (!row_id.is_empty()).then_some(Names::Several(row_id.clone())),
            extension: self.extension.as_deref().map(str::parse).transpose()?,
            density: self.density.clone().map(Written),
            min_support: Some(Written(self.min_support.clone())),
            min_confidence: self.min_confidence.clone().map(Written),
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
            ..self.pair.job(Arc::new(own), Receiver::Both, mapping)?
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
        self.pair.run(job, (self.page, Stock::default()), voice)
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
