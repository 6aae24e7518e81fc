//! `tacita union`

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use tacita_core::Result;

use super::pair::{Least, Pair, Receiver, named_columns};
use super::run::{Page, Stock};
use crate::console::Voice;
use tacita_node::agreement::{Duplicates, JobSpec, Key, Nulls};
use tacita_node::jobs::polynomials::Polynomials;
use tacita_node::jobs::union::Union;

/// Bring together all rows that either of two parties has, without showing which both have: one listens, the other connects.
#[derive(Args)]
#[command(
    mut_arg("protocol", |protocol| protocol.help("ecdh, which auto stands for; polynomial-ot; or, with --allow-insecure, polynomial")),
    mut_arg("level", |level| level.help("bits128; with --reveal count also bits192 and bits256")),
    mut_arg("pad_to", |pad_to| pad_to.help("Pad the set of the party that learns to this size, so that it is not revealed")),
    after_help = "Example, on two machines:\n  \
  tacita union --listen 0.0.0.0:7400 --peer SHA256:... --identity id --input a.csv --key name,dob --receiver me --output all.csv\n  \
  tacita union --connect a.example:7400 --peer SHA256:... --identity id --input b.csv --key name=insured,dob=birth --receiver peer"
)]
pub struct Options {
    /// Columns that say which rows are the same. NAME=HEADER where this table's header differs from the agreed name.
    #[arg(long, value_name = "A,B", required = true, value_delimiter = ',')]
    key: Vec<String>,
    /// What is learned: rows, or count (how many distinct keys the two have together).
    #[arg(long, default_value = "rows")]
    reveal: String,
    /// Columns that this party gives with its rows, beside those of the key.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    gives: Vec<String>,
    /// Columns that the peer gives.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    peer_gives: Vec<String>,
    /// How polynomials travel and are multiplied (protocols "polynomial" and "polynomial-ot"): schoolbook, karatsuba, toom3, fft, points or
    /// auto.
    #[arg(long, value_name = "HOW")]
    strategy: Option<String>,
    /// Into how many bins keys go (the same protocols): a number, 1 as it was published, or auto.
    #[arg(long, value_name = "N")]
    bins: Option<String>,
    /// A table of keys to be tried, at the party that learns (protocol "polynomial").
    #[arg(long, value_name = "FILE")]
    candidates: Option<PathBuf>,
    /// What happens to rows with equal keys.
    #[arg(long, value_name = "all|first|error", default_value = "all")]
    duplicates: Duplicates,
    /// What happens to rows without a key.
    #[arg(long, value_name = "skip|error", default_value = "skip")]
    nulls: Nulls,
    /// No text that is given is longer, in bytes: all are filled up to it.
    #[arg(long, value_name = "N")]
    max_text: Option<u64>,
    #[command(flatten)]
    pair: Pair,
    #[command(flatten)]
    least: Least,
}

impl Options {
    /// Carries the command out.
    pub fn execute(self, voice: Voice) -> Result<()> {
        let (me, peer) = self.pair.names()?;
        let (columns, mapping) = named_columns("key", &self.key)?;
        let gives = [(me, &self.gives), (peer, &self.peer_gives)];
        let gives = gives.into_iter().filter(|(_, columns)| !columns.is_empty());
        let Polynomials { strategy, bins } = Polynomials::parse(self.strategy.as_deref(), self.bins.as_deref())?;
        let mut job = JobSpec {
            reveal: self.reveal.parse()?,
            gives: gives.map(|(name, columns)| (name, columns.clone())).collect(),
            key: Some(Key { columns, duplicates: self.duplicates, nulls: self.nulls, ..Key::default() }),
            ..self.pair.job(Arc::new(Union { strategy, bins }), Receiver::Me, mapping)?
        };
        (job.limits.min_result, job.limits.max_text) = (self.least.min_result, self.max_text);
        self.pair.run_with(job, self.candidates, (Page::default(), Stock::default()), voice)
    }
}
