//! `tacita intersect`

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use tacita_core::Result;

use super::help;
use super::pair::{MinimumOption, PairOptions, ReceiverOption, named_columns};
use super::run::{PageOptions, ShownRows, StockOptions};
use crate::console::LogOptions;
use tacita_node::agreement::{Duplicates, JobSpec, MatchKey, Nulls, all_columns};
use tacita_node::jobs::intersect::Intersect;
use tacita_node::jobs::polynomials::Polynomials;

const LEVEL: &str = "Security level: bits128; with protocol \"ecdh\" also bits192 and bits256. With \"bloom\" and \
    --allow-insecure also bits112 and paper80";

/// Find the rows that two parties have in common.
///
/// No job file is needed: one party listens, the other connects, and both give the same terms.
#[derive(Args)]
#[command(
    mut_arg("security", |security| security.help("Threat model of the other party: semi-honest or malicious")),
    mut_arg("level", |level| level.help(LEVEL)),
    after_help = r"Examples:
  tacita intersect --listen 0.0.0.0:7400 --peer SHA256:... --identity id \
    --input a.csv --key name,dob --receiver me --output common.csv
  tacita intersect --connect a.example:7400 --peer SHA256:... --identity id \
    --input b.csv --key name=insured,dob=birth --receiver peer")]
pub struct IntersectOptions {
    /// Columns to match rows by. NAME=HEADER if this table's header differs from the agreed name. If repeated, rows
    /// match by any of these keys.
    #[arg(long, value_name = "A,B", required = true, help_heading = help::MATCHING)]
    key: Vec<String>,
    /// Result: rows, count, sum:COLUMN (count and sum), mean:COLUMN (also the mean) or payload. Several columns as
    /// sum:A,B.
    #[arg(long, default_value = "rows", help_heading = help::RESULT)]
    reveal: String,
    /// Columns that this party gives, with --reveal payload, sum:COLUMN or mean:COLUMN.
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = help::RESULT)]
    gives: Vec<String>,
    /// Columns that the peer gives.
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = help::RESULT)]
    peer_gives: Vec<String>,
    /// Maximum number of decimals in a sum [default: 9].
    #[arg(long, value_name = "N", help_heading = help::RESULT)]
    scale: Option<u32>,
    /// Transfer and multiplication of polynomials (protocol "polynomial"): schoolbook, karatsuba, toom3, fft, points
    /// or auto.
    #[arg(long, value_name = "HOW", help_heading = help::PROTOCOL)]
    strategy: Option<String>,
    /// Number of bins for the keys (protocol "polynomial"): 1 as published, another number, or auto.
    #[arg(long, value_name = "N", help_heading = help::PROTOCOL)]
    bins: Option<String>,
    /// Treatment of rows with equal keys. With multiset, as many of them are common as both parties have.
    #[arg(long, value_name = "all|first|error|multiset", default_value = "all", help_heading = help::MATCHING)]
    duplicates: Duplicates,
    /// Treatment of rows without a key.
    #[arg(long, value_name = "skip|error", default_value = "skip", help_heading = help::MATCHING)]
    nulls: Nulls,
    #[command(flatten)]
    rows: ShownRows,
    #[command(flatten)]
    pair: PairOptions,
    #[command(flatten)]
    least: MinimumOption,
}

impl IntersectOptions {
    /// Carries the command out.
    pub fn execute(self, voice: LogOptions) -> Result<()> {
        let (me, peer) = self.pair.names()?;
        let keys: Vec<_> = self.key.iter().map(|key| key.split(',').map(str::to_owned).collect::<Vec<_>>()).collect();
        let mut mapping = BTreeMap::new();
        let mut any = Vec::new();
        for key in &keys {
            let (columns, own) = named_columns("key", key)?;
            any.push(columns);
            mapping.extend(own);
        }
        let columns = all_columns(&any);
        // A column that is there twice in the one key is refused as such.
        let (columns, any) = if any.len() > 1 { (columns, any) } else { (any.concat(), Vec::new()) };
        let gives = [(me.clone(), &self.gives), (peer, &self.peer_gives)];
        let gives = gives.into_iter().filter(|(_, columns)| !columns.is_empty());
        let Polynomials { strategy, bins } = Polynomials::parse(self.strategy.as_deref(), self.bins.as_deref())?;
        let mut job = JobSpec {
            reveal: self.reveal.parse()?,
            scale: self.scale,
            gives: gives.map(|(name, columns)| (name, columns.clone())).collect(),
            key: Some(MatchKey { columns, any, duplicates: self.duplicates, nulls: self.nulls, ..MatchKey::default() }),
            ..self.pair.job(
                Arc::new(Intersect { strategy, bins, ..Intersect::default() }),
                ReceiverOption::Me,
                mapping,
            )?
        };
        job.limits.min_result = self.least.min_result;
        self.rows.put_into(&mut job, &me)?;
        self.pair.run(job, (PageOptions::default(), StockOptions::default()), voice)
    }
}
