//! The cells as a table of results.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{Field, Schema};
use serde_json::json;
use tacita_core::{Error, Result};

use super::noise;
use super::spec::{COUNT, CellMeasure, CrosstabJob, MEAN, SUM};
use crate::agreement::Answer;
use crate::jobs::noise::ERROR_BAR;
use crate::table::Table;
use crate::table::numbers::decimal;

/// One cell of a table.
pub(super) struct Cell {
    /// The categories, by the columns of the job.
    pub(super) labels: Vec<String>,
    /// Number of rows, if it is open.
    pub(super) count: Option<i64>,
    /// Sum of the measure over these rows.
    pub(super) sum: Option<i128>,
}

/// Cells that a party learns, sorted by their categories.
pub(super) struct CrossTable {
    /// The columns of categories.
    pub(super) by: Vec<String>,
    /// Number of these that are for the rows.
    pub(super) row_columns: usize,
    pub(super) cells: Vec<Cell>,
    /// Number of closed cells, those without a name included.
    pub(super) closed: usize,
    /// Whether the peer has categories whose names this party does not learn: all their cells are closed, and none is
    /// here.
    pub(super) unnamed: bool,
    /// Number that cells have besides the count, if this party learns it, and its decimals.
    pub(super) measure: Option<(CellMeasure, u32)>,
    /// Error bar of each count, if they have noise.
    pub(super) within: Option<u64>,
}

impl CrossTable {
    pub(super) fn new(
        job: &CrosstabJob<'_>,
        cells: Vec<Cell>,
        closed: usize,
        unnamed: bool,
        has_sums: bool,
    ) -> Result<CrossTable> {
        let by = job.by();
        let mut cells = cells;
        cells.sort_by_cached_key(|cell| {
            cell.labels.iter().zip(&by).map(|(label, column)| job.order(column, label)).collect::<Vec<_>>()
        });
        let measure = has_sums.then(|| (job.measure(), job.decimals()));
        Ok(CrossTable {
            row_columns: job.row_columns(),
            by,
            cells,
            closed,
            unnamed,
            measure,
            within: noise::within(job)?,
        })
    }

    /// Number of open cells.
    pub(super) fn open(&self) -> usize {
        self.cells.iter().filter(|cell| cell.count.is_some()).count()
    }

    /// The mean of a cell's numbers.
    pub(super) fn mean(&self, cell: &Cell) -> Option<f64> {
        let (_, decimals) = self.measure.as_ref()?;
        let (count, sum) = (cell.count.filter(|count| *count > 0)?, cell.sum?);
        Some(sum as f64 / 10f64.powi(*decimals as i32) / count as f64)
    }

    fn table(&self) -> Result<Table> {
        let mut columns: Vec<(String, ArrayRef)> = Vec::new();
        for (at, name) in self.by.iter().enumerate() {
            let labels = self.cells.iter().map(|cell| Some(cell.labels[at].as_str()).filter(|label| !label.is_empty()));
            columns.push((name.clone(), Arc::new(labels.collect::<StringArray>())));
        }
        let counts = self.cells.iter().map(|cell| cell.count);
        columns.push((COUNT.into(), Arc::new(counts.collect::<Int64Array>())));
        if let Some((measure, decimals)) = &self.measure {
            let sums = || self.cells.iter().map(|cell| cell.sum);
            let sums: ArrayRef = match decimals {
                0 => Arc::new(sums().map(|sum| sum.map(|sum| sum as i64)).collect::<Int64Array>()),
                _ => Arc::new(sums().map(|sum| sum.map(|sum| decimal(sum, *decimals))).collect::<StringArray>()),
            };
            columns.push((SUM.into(), sums));
            if matches!(measure, CellMeasure::Mean(_)) {
                let means = self.cells.iter().map(|cell| self.mean(cell));
                columns.push((MEAN.into(), Arc::new(means.collect::<Float64Array>())));
            }
        }
        let field = |(name, array): &(String, ArrayRef)| Field::new(name, array.data_type().clone(), true);
        let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let failed = |error| Error::Internal(format!("cells do not make a table: {error}"));
        let arrays = columns.into_iter().map(|(_, array)| array).collect();
        Table::new("result", schema.clone(), vec![RecordBatch::try_new(schema, arrays).map_err(failed)?])
    }
}

/// The cells of a party that learns them.
pub(super) fn answer(table: Option<Arc<CrossTable>>) -> Answer {
    let Some(table) = table else { return Answer::Nothing };
    let (open, closed) = (table.open(), table.closed);
    let (mut json, mut line) = (json!({ "cells": open, "closed": closed }), format!("cells {open}, closed {closed}"));
    if let Some(within) = table.within {
        json["within"] = within.into();
        line = format!("{line}, each within {within} in {ERROR_BAR}");
    }
    Answer::Tables { json, line, main: Box::new(move || table.table()), beside: Vec::new() }
}
