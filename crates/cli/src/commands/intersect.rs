//! `tacita intersect`

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use tacita_core::Result;

use super::pair::{Least, Pair, Receiver, named_columns};
use super::run::{Page, ShownRows, Stock};
use crate::console::Voice;
use tacita_node::agreement::{Duplicates, JobSpec, Key, Nulls, all_columns};
use tacita_node::jobs::intersect::Intersect;
use tacita_node::jobs::polynomials::Polynomials;

/// Find the rows that two parties have in common, without a job file: one listens, the other connects.
#[derive(Args)]
#[command(
    mut_arg("security", |security| security.help("What the other party is taken to do: semi-honest, or malicious")),
    mut_arg("level", |level| level.help("bits128; by protocol \"ecdh\" also bits192 and bits256; with \"bloom\" and --allow-insecure bits112 and paper80")),
    after_help = "Example, on two machines:\n  \
  tacita intersect --listen 0.0.0.0:7400 --peer SHA256:... --identity id --input a.csv --key name,dob --receiver me --output common.csv\n  \
  tacita intersect --connect a.example:7400 --peer SHA256:... --identity id --input b.csv --key name=insured,dob=birth --receiver peer"
)]
pub struct Options {
    /// Columns that rows are matched by. NAME=HEADER where this table's header differs from the agreed name. Given several times, rows
    /// match if any of these keys does.
    #[arg(long, value_name = "A,B", required = true)]
    key: Vec<String>,
    /// What is learned: rows, count, sum:COLUMN (count and sum of a given column; several as sum:A,B), mean:COLUMN (also the mean) or payload.
    #[arg(long, default_value = "rows")]
    reveal: String,
    /// Columns that this party gives, with --reveal payload, sum:COLUMN or mean:COLUMN.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    gives: Vec<String>,
    /// Columns that the peer gives.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    peer_gives: Vec<String>,
    /// How many decimals the numbers of a sum have at most [default: 9].
    #[arg(long, value_name = "N")]
    scale: Option<u32>,
    /// How polynomials travel and are multiplied (protocol "polynomial"): schoolbook, karatsuba, toom3, fft, points or auto.
    #[arg(long, value_name = "HOW")]
    strategy: Option<String>,
    /// Into how many bins keys go (protocol "polynomial"): a number, 1 as it was published, or auto.
    #[arg(long, value_name = "N")]
    bins: Option<String>,
    /// What happens to rows with equal keys; multiset: as many of them are common as both parties have.
    #[arg(long, value_name = "all|first|error|multiset", default_value = "all")]
    duplicates: Duplicates,
    /// What happens to rows without a key.
    #[arg(long, value_name = "skip|error", default_value = "skip")]
    nulls: Nulls,
    #[command(flatten)]
    rows: ShownRows,
    #[command(flatten)]
    pair: Pair,
    #[command(flatten)]
    least: Least,
}

impl Options {
    /// Carries the command out.
    pub fn execute(self, voice: Voice) -> Result<()> {
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
            key: Some(Key { columns, any, duplicates: self.duplicates, nulls: self.nulls, ..Key::default() }),
            ..self.pair.job(Arc::new(Intersect { strategy, bins, ..Intersect::default() }), Receiver::Me, mapping)?
        };
        job.limits.min_result = self.least.min_result;
        self.rows.put_into(&mut job, &me)?;
        self.pair.run(job, (Page::default(), Stock::default()), voice)
    }
}
