//! `tacita dot`

use std::sync::Arc;

use clap::Args;
use tacita_core::Result;

use super::pair::{Least, Pair, Receiver, named_columns};
use super::run::{Page, Stock};
use crate::console::Voice;
use tacita_node::agreement::{JobSpec, Key, Names, Written};
use tacita_node::jobs::dot::{ColumnNames, Dot};

/// Multiply a column here with a column there, row by row, and learn the sum, without a job file: one party listens, the
/// other connects.
#[derive(Args)]
#[command(after_help = "Example, on two machines: how many baskets hold both items?\n  \
  tacita dot --listen 0.0.0.0:7400 --peer SHA256:... --identity id --input a.csv --column milk --receiver both\n  \
  tacita dot --connect a.example:7400 --peer SHA256:... --identity id --input b.csv --column beer --receiver both\n\
Rows are aligned by position, or by ids with --row-id.")]
pub struct Options {
    /// This table's column. Several make a matrix; with --peer-column, each party names its own, as NAME or NAME=HEADER.
    #[arg(long, value_name = "A,B", value_delimiter = ',', required = true)]
    column: Vec<String>,
    /// The agreed names of the peer's columns, where they are others than this party's.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    peer_column: Vec<String>,
    /// Align rows by these columns rather than by position; NAME=HEADER where this table's header differs. An
    /// intersection runs first: both learn which of their rows the other has too.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    row_id: Vec<String>,
    /// value, or shares: each keeps a share in its --output, to be opened, added up or compared later.
    #[arg(long, default_value = "value")]
    reveal: String,
    /// Length of the numbers: 1 for zeros and ones, up to 32.
    #[arg(long, value_name = "N", default_value = "1")]
    bits: u32,
    /// There are negative numbers.
    #[arg(long)]
    signed: bool,
    /// How many decimals the numbers have.
    #[arg(long, value_name = "N", default_value = "0")]
    scale: u32,
    /// What shares add up modulo, as 2^64 or a decimal number.
    #[arg(long, value_name = "M")]
    modulus: Option<String>,
    /// How oblivious transfers are made: softspoken-1 to softspoken-8, or silent [default: chosen by the network].
    #[arg(long, value_name = "HOW")]
    extension: Option<String>,
    /// Rows of a column in one message (protocol "paillier") [default: as many as keep both parties busy].
    #[arg(long, value_name = "N")]
    chunk: Option<u64>,
    /// Which part of a column's rows may be ones, as 0.1 or 10% (protocol "gm-bloom") [default: all].
    #[arg(long, value_name = "PART")]
    density: Option<String>,
    #[command(flatten)]
    pair: Pair,
    #[command(flatten)]
    least: Least,
    #[command(flatten)]
    stock: Stock,
}

impl Options {
    /// Carries the command out.
    pub fn execute(self, voice: Voice) -> Result<()> {
        let (columns, mut mapping) = match &self.column[..] {
            // The two parties need not know each other's header.
            [header] if !header.contains('=') && self.peer_column.is_empty() => {
                named_columns("column", &[format!("value={header}")])?
            }
            several => named_columns("column", several)?,
        };
        let (row_id, of_ids) = named_columns("row-id", &self.row_id)?;
        mapping.extend(of_ids);
        let modulus = self.modulus.as_deref().map(str::parse).transpose()?;
        let extension = self.extension.as_deref().map(str::parse).transpose()?;
        let key = Key { columns: row_id.clone(), ..Key::default() };
        let (me, peer) = self.pair.names()?;
        let column = match self.peer_column.is_empty() {
            true => ColumnNames::Same(Names::Several(columns)),
            false => ColumnNames::ByParty(
                [(me, Names::Several(columns)), (peer, Names::Several(self.peer_column.clone()))].into(),
            ),
        };
        let own = Dot {
            column: Some(column),
            row_id: (!row_id.is_empty()).then_some(Names::Several(row_id.clone())),
            bits: Some(self.bits),
            signed: Some(self.signed),
            modulus,
            extension,
            chunk: self.chunk,
            density: self.density.clone().map(Written),
        };
        let mut job = JobSpec {
            reveal: self.reveal.parse()?,
            key: (!row_id.is_empty()).then_some(key),
            scale: Some(self.scale),
            ..self.pair.job(Arc::new(own), Receiver::Me, mapping)?
        };
        job.limits.min_result = self.least.min_result;
        self.pair.run(job, (Page::default(), self.stock), voice)
    }
}
