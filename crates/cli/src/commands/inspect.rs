//! `tacita inspect`

use std::path::PathBuf;

use clap::{ArgAction, Args};
use tacita_core::Result;

use super::pair::named_columns;
use super::{arguments, help};
use crate::console::{Log, LogOptions, print};
use tacita_node::base::files::{check_distinct, check_writable, write_whole};
use tacita_node::base::text::json;
use tacita_node::table::inspect::{Advice, InspectOptions, TableFindings, key_of};
use tacita_node::table::{DecimalMark, KeySpec, Profile};

/// Examine a table: columns, types and fitting key profiles.
///
/// With --key, also counts distinct keys, duplicates, empty and unreadable values. No data leaves this machine.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita inspect examples/patients/hospital.csv
  tacita inspect examples/patients/hospital.csv \
    --key name,dob --normalize name,date
  tacita inspect examples/office/members.csv --skip 2 --encoding windows-1252")]
pub struct Inspect {
    /// Table: CSV, Parquet, Arrow or .xlsx, FIMI .dat for baskets, or - for CSV on standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Columns to match rows by. NAME=HEADER if the header differs from the agreed name.
    #[arg(long, value_name = "A,B", value_delimiter = ',', action = ArgAction::Set, help_heading = help::MATCHING)]
    key: Vec<String>,
    /// Normalisation profiles, one a key column [default: none, which keeps each value].
    #[arg(long, value_name = "PROFILE,...", value_delimiter = ',', requires = "key", help_heading = help::MATCHING)]
    normalize: Vec<Profile>,
    /// Columns to examine [default: the first 100].
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = help::INPUT)]
    columns: Vec<String>,
    /// Null words in key columns, in place of the usual ones.
    #[arg(
        long,
        value_name = "WORD,...",
        value_delimiter = ',', action = ArgAction::Set,
        requires = "key",
        help_heading = help::MATCHING
    )]
    nulls: Option<Vec<String>>,
    #[command(flatten)]
    reading: arguments::ReadArguments,
    /// Decimal mark of numbers: , or . [default: a point].
    #[arg(long, value_name = "MARK", help_heading = help::INPUT)]
    decimal: Option<DecimalMark>,
    /// JSON file for the findings, without any value of the table.
    #[arg(long, value_name = "FILE", help_heading = help::RESULT)]
    report: Option<PathBuf>,
}

impl Inspect {
    /// Carries the command out.
    pub fn execute(self, voice: LogOptions) -> Result<()> {
        if let Some(report) = &self.report {
            check_writable(report)?;
            check_distinct(&[("the table", &self.file), ("the report", report)])?;
        }
        let wanted = InspectOptions { key: self.spec()?, columns: self.columns };
        // What is collected by machines may go elsewhere.
        let with_values = voice.log == Log::Text;
        let found = TableFindings::of_file(&self.file, &self.reading.options(), &wanted, with_values, advise)?;
        found.lines.iter().try_for_each(print)?;
        for warning in &found.warnings {
            let text = if with_values { warning.text_for_own_user() } else { warning.text_without_values() };
            tracing::warn!("{text}");
        }
        found.seen.iter().try_for_each(|seen| print(format_args!("\n{seen}")))?;
        self.report.as_deref().map_or(Ok(()), |path| {
            let text = json(serde_json::to_string_pretty(&found.report))?;
            write_whole(path, (text + "\n").as_bytes())
        })
    }

    /// Key by which rows would be matched.
    fn spec(&self) -> Result<Option<KeySpec>> {
        if self.key.is_empty() {
            return Ok(None);
        }
        let (names, headers) = named_columns("key", &self.key)?;
        let words = self.nulls.as_deref().map(arguments::words);
        key_of(&names, &headers, &self.normalize, self.decimal.unwrap_or_default(), words.as_deref()).map(Some)
    }
}

/// Advice in the command's words.
fn advise(advice: Advice) -> &'static str {
    match advice {
        Advice::HeaderIsData => "If the first line is a row, add --no-header.",
        Advice::NameColumns => "--columns A,B looks at those",
        Advice::NameKey => "Add --key A,B",
    }
}
