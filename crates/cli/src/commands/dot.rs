//! `tacita dot`

use std::sync::Arc;

use clap::Args;
use tacita_core::Result;

use super::help;
use super::pair::{AlignOptions, MinimumOption, PairOptions, ReceiverOption, named_columns};
use super::run::{PageOptions, StockOptions};
use crate::console::LogOptions;
use tacita_node::agreement::{JobSpec, MatchKey, Names, WrittenNumber};
use tacita_node::jobs::dot::{ColumnNames, Dot};

/// Multiply two parties' columns row by row, and add up.
///
/// Rows are aligned by position, or by ids with --row-id. No job file is needed: one party listens, the other
/// connects, and both give the same terms.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita dot --listen 0.0.0.0:7400 --peer SHA256:... --identity id \
    --input a.csv --column milk --receiver both
  tacita dot --connect a.example:7400 --peer SHA256:... --identity id \
    --input b.csv --column beer --receiver both")]
pub struct DotOptions {
    /// Column of this table; several make a matrix. With --peer-column, each party names its own, as NAME or
    /// NAME=HEADER.
    #[arg(long, value_name = "A,B", value_delimiter = ',', required = true, help_heading = help::NUMBERS)]
    column: Vec<String>,
    /// Agreed names of the peer's columns, if they differ from this party's.
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = help::NUMBERS)]
    peer_column: Vec<String>,
    #[command(flatten)]
    align: AlignOptions,
    /// Result: value, or shares. Each party keeps its share in --output, to be opened, added or compared later.
    #[arg(long, default_value = "value", help_heading = help::RESULT)]
    reveal: String,
    /// Bit length of the numbers: 1 for zeros and ones, at most 32.
    #[arg(long, value_name = "N", default_value = "1", help_heading = help::NUMBERS)]
    bits: u32,
    /// Allow negative numbers.
    #[arg(long, help_heading = help::NUMBERS)]
    signed: bool,
    /// Number of decimals.
    #[arg(long, value_name = "N", default_value = "0", help_heading = help::NUMBERS)]
    scale: u32,
    /// Modulus of the shares, as 2^64 or a decimal number.
    #[arg(long, value_name = "M", help_heading = help::NUMBERS)]
    modulus: Option<String>,
    /// Oblivious transfer extension: softspoken-1 to softspoken-8, or silent [default: chosen by the network].
    #[arg(long, value_name = "HOW", help_heading = help::PROTOCOL)]
    extension: Option<String>,
    /// Rows of a column in one message (protocol "paillier") [default: enough to keep both parties busy].
    #[arg(long, value_name = "N", help_heading = help::PROTOCOL)]
    chunk: Option<u64>,
    /// Maximum fraction of ones in a column, as 0.1 or 10% (protocol "gm-bloom") [default: all].
    #[arg(long, value_name = "PART", help_heading = help::PROTOCOL)]
    density: Option<String>,
    #[command(flatten)]
    pair: PairOptions,
    #[command(flatten)]
    least: MinimumOption,
    #[command(flatten)]
    stock: StockOptions,
}

impl DotOptions {
    /// Carries the command out.
    pub fn execute(self, voice: LogOptions) -> Result<()> {
        let (columns, mut mapping) = match &self.column[..] {
            // The two parties need not know each other's header.
            [header] if !header.contains('=') && self.peer_column.is_empty() => {
                named_columns("column", &[format!("value={header}")])?
            }
            several => named_columns("column", several)?,
        };
        let (row_id, of_ids) = named_columns("row-id", &self.align.row_id)?;
        mapping.extend(of_ids);
        let modulus = self.modulus.as_deref().map(str::parse).transpose()?;
        let extension = self.extension.as_deref().map(str::parse).transpose()?;
        let key = MatchKey { columns: row_id.clone(), ..MatchKey::default() };
        let (me, peer) = self.pair.names()?;
        let column = if self.peer_column.is_empty() {
            ColumnNames::Same(Names::Several(columns))
        } else {
            ColumnNames::ByParty(
                [(me, Names::Several(columns)), (peer, Names::Several(self.peer_column.clone()))].into(),
            )
        };
        let own = Dot {
            column: Some(column),
            row_id: (!row_id.is_empty()).then_some(Names::Several(row_id.clone())),
            bits: Some(self.bits),
            signed: Some(self.signed),
            modulus,
            extension,
            chunk: self.chunk,
            density: self.density.clone().map(WrittenNumber),
        };
        let mut job = JobSpec {
            reveal: self.reveal.parse()?,
            key: (!row_id.is_empty()).then_some(key),
            alignment: self.align.way()?,
            scale: Some(self.scale),
            ..self.pair.job(Arc::new(own), ReceiverOption::Me, mapping)?
        };
        job.limits.min_result = self.least.min_result;
        self.pair.run(job, (PageOptions::default(), self.stock), voice)
    }
}
