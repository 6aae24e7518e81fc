//! `tacita crosstab`

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use tacita_core::{Error, Result};

use super::help;
use super::pair::{AlignOptions, PairOptions, ReceiverOption, named_columns};
use super::run::{PageOptions, StockOptions};
use crate::console::LogOptions;
use tacita_node::agreement::{JobSpec, MatchKey, Names};
use tacita_node::jobs::crosstab::Crosstab;

/// Count the rows of two parties by categories here and there.
///
/// Cells in few rows stay closed, and others with them, so that nothing tells their counts. Rows are aligned by
/// position, or by ids with --row-id. No job file is needed: one party listens, the other connects, and both give
/// the same terms.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita crosstab --listen 0.0.0.0:7400 --peer SHA256:... --identity id \
    --input a.csv --rows age_group --columns diagnosis --output cells.csv
  tacita crosstab --connect a.example:7400 --peer SHA256:... --identity id \
    --input b.csv --rows age_group --columns diagnosis --receiver peer")]
pub struct CrosstabOptions {
    /// Columns whose categories are the rows of the table; each of one of the parties. NAME=HEADER if this table's
    /// header differs, or if both tables have a column of this name and this party's is meant.
    #[arg(long, value_name = "A,B", value_delimiter = ',', required = true, help_heading = help::TABLE)]
    rows: Vec<String>,
    /// Columns whose categories are the columns of the table, likewise.
    #[arg(long, value_name = "A,B", value_delimiter = ',', required = true, help_heading = help::TABLE)]
    columns: Vec<String>,
    /// Number of each cell: count, sum:COLUMN or mean:COLUMN. The party with COLUMN learns counts alone.
    #[arg(long, value_name = "MEASURE", default_value = "count", help_heading = help::TABLE)]
    measure: String,
    /// Header of the measure's column in this table, if it differs.
    #[arg(long, value_name = "HEADER", help_heading = help::TABLE)]
    measure_column: Option<String>,
    /// Bounds of the bins of a column of numbers, as age=18:40:65. Both parties give the same.
    #[arg(long, value_name = "COLUMN=BOUNDS", value_delimiter = ',', help_heading = help::TABLE)]
    bins: Vec<String>,
    /// Bit length of the measure's numbers, at most 32 [default: 32].
    #[arg(long, value_name = "N", help_heading = help::NUMBERS)]
    bits: Option<u32>,
    /// Assume that the measure has no negative numbers.
    #[arg(long, help_heading = help::NUMBERS)]
    unsigned: bool,
    /// Number of decimals of the measure.
    #[arg(long, value_name = "N", help_heading = help::NUMBERS)]
    scale: Option<u32>,
    #[command(flatten)]
    align: AlignOptions,
    /// Rows that a cell needs to be open [default: 5].
    #[arg(long, value_name = "N", help_heading = help::LIMITS)]
    min_cell: Option<u64>,
    #[command(flatten)]
    pair: PairOptions,
    #[command(flatten)]
    page: PageOptions,
}

impl CrosstabOptions {
    /// Carries the command out.
    pub fn execute(self, voice: LogOptions) -> Result<()> {
        let (rows, mut mapping) = named_columns("rows", &self.rows)?;
        let (columns, of_columns) = named_columns("columns", &self.columns)?;
        let (row_id, of_ids) = named_columns("row-id", &self.align.row_id)?;
        mapping.extend(of_columns);
        mapping.extend(of_ids);
        let measure: tacita_node::jobs::crosstab::CellMeasure = self.measure.parse()?;
        if let Some(header) = &self.measure_column {
            let Some(column) = measure.column() else {
                return Err(Error::Input("--measure-column: a count has no column; use --measure sum:COLUMN".into()));
            };
            mapping.insert(column.to_owned(), header.clone());
        }
        let key = MatchKey { columns: row_id.clone(), ..MatchKey::default() };
        let own = Crosstab {
            rows: Some(Names::Several(rows)),
            columns: Some(Names::Several(columns)),
            measure: Some(measure),
            row_id: (!row_id.is_empty()).then_some(Names::Several(row_id.clone())),
            bins: bins(&self.bins)?,
            categories: BTreeMap::new(),
            bits: self.bits,
            signed: self.unsigned.then_some(false),
        };
        let mut job = JobSpec {
            key: (!row_id.is_empty()).then_some(key),
            alignment: self.align.way()?,
            scale: self.scale,
            ..self.pair.job(Arc::new(own), ReceiverOption::Me, mapping)?
        };
        job.limits.min_cell = self.min_cell;
        self.pair.run(job, (self.page, StockOptions::default()), voice)
    }
}

/// `COLUMN=18:40:65`
fn bins(texts: &[String]) -> Result<BTreeMap<String, Vec<f64>>> {
    let one = |text: &String| {
        let bad = || Error::Input(format!("--bins {text}: use COLUMN=18:40:65 for bounds"));
        let (column, bounds) = text.split_once('=').filter(|(column, _)| !column.is_empty()).ok_or_else(bad)?;
        let bounds = bounds.split(':').map(|bound| bound.parse().map_err(|_| bad()));
        Ok((column.to_owned(), bounds.collect::<Result<_>>()?))
    };
    texts.iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_are_read() {
        assert_eq!(bins(&["age=18:40.5".into()]).unwrap()["age"], [18.0, 40.5]);
        for text in ["age", "=4", "age=", "age=x", "age=1:x"] {
            assert!(bins(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
