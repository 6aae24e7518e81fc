//! `tacita union`

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tacita_core::Result;

use super::help;
use super::pair::{MinimumOption, PairOptions, ReceiverOption, named_columns};
use super::run::{PageOptions, StockOptions};
use crate::console::LogOptions;
use tacita_node::agreement::{Duplicates, JobSpec, MatchKey, Nulls};
use tacita_node::jobs::polynomials::Polynomials;
use tacita_node::jobs::union::Union;

/// Unite the rows of two parties, and hide which both have.
///
/// No job file is needed: one party listens, the other connects, and both give the same terms.
#[derive(Args)]
#[command(
    mut_arg("protocol", |protocol| protocol.help("Protocol: ecdh, which auto selects; polynomial-ot; or, with \
     --allow-insecure, polynomial")),
    mut_arg("level", |level| level.help("Security level: bits128; with --reveal count also bits192 and bits256")),
    mut_arg("pad_to", |pad_to| pad_to.help("Size to which the set of the learning party is padded, so that it \
     stays hidden")),
    after_help = r"Examples:
  tacita union --listen 0.0.0.0:7400 --peer SHA256:... --identity id \
    --input a.csv --key name,dob --receiver me --output all.csv
  tacita union --connect a.example:7400 --peer SHA256:... --identity id \
    --input b.csv --key name=insured,dob=birth --receiver peer")]
pub struct UnionOptions {
    /// Columns that identify a row. NAME=HEADER if this table's header differs from the agreed name.
    #[arg(long, value_name = "A,B", required = true, value_delimiter = ',', help_heading = help::MATCHING)]
    key: Vec<String>,
    /// Result: rows, or count, the number of distinct keys in both tables together.
    #[arg(long, default_value = "rows", help_heading = help::RESULT)]
    reveal: String,
    /// Columns that this party gives with its rows, besides the key.
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = help::RESULT)]
    gives: Vec<String>,
    /// Columns that the peer gives.
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = help::RESULT)]
    peer_gives: Vec<String>,
    /// Transfer and multiplication of polynomials (protocols "polynomial" and "polynomial-ot"): schoolbook, karatsuba,
    /// toom3, fft, points or auto.
    #[arg(long, value_name = "HOW", help_heading = help::PROTOCOL)]
    strategy: Option<String>,
    /// Number of bins for the keys (the same protocols): 1 as published, another number, or auto.
    #[arg(long, value_name = "N", help_heading = help::PROTOCOL)]
    bins: Option<String>,
    /// Table of candidate keys, at the party that learns (protocol "polynomial").
    #[arg(long, value_name = "FILE", help_heading = help::PROTOCOL)]
    candidates: Option<PathBuf>,
    /// Treatment of rows with equal keys.
    #[arg(long, value_name = "all|first|error", default_value = "all", help_heading = help::MATCHING)]
    duplicates: Duplicates,
    /// Treatment of rows without a key.
    #[arg(long, value_name = "skip|error", default_value = "skip", help_heading = help::MATCHING)]
    nulls: Nulls,
    /// Maximum length of a given text in bytes; shorter ones are padded to it.
    #[arg(long, value_name = "N", help_heading = help::LIMITS)]
    max_text: Option<u64>,
    #[command(flatten)]
    pair: PairOptions,
    #[command(flatten)]
    least: MinimumOption,
}

impl UnionOptions {
    /// Carries the command out.
    pub fn execute(self, voice: LogOptions) -> Result<()> {
        let (me, peer) = self.pair.names()?;
        let (columns, mapping) = named_columns("key", &self.key)?;
        let gives = [(me, &self.gives), (peer, &self.peer_gives)];
        let gives = gives.into_iter().filter(|(_, columns)| !columns.is_empty());
        let Polynomials { strategy, bins } = Polynomials::parse(self.strategy.as_deref(), self.bins.as_deref())?;
        let mut job = JobSpec {
            reveal: self.reveal.parse()?,
            gives: gives.map(|(name, columns)| (name, columns.clone())).collect(),
            key: Some(MatchKey { columns, duplicates: self.duplicates, nulls: self.nulls, ..MatchKey::default() }),
            ..self.pair.job(Arc::new(Union { strategy, bins }), ReceiverOption::Me, mapping)?
        };
        (job.limits.min_result, job.limits.max_text) = (self.least.min_result, self.max_text);
        self.pair.run_with(job, self.candidates, (PageOptions::default(), StockOptions::default()), voice)
    }
}
