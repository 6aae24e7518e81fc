//! The report for readers: one HTML page with the table as a heat map, its totals, and, where no cell is closed,
//! chi-square and odds ratio. It needs no network and runs no script. Names come from the peer: all that is not written
//! here is escaped.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use data_encoding::BASE64;
use sha2::{Digest, Sha256};

use super::learned;
use super::output::{Cell, CrossTable};
use super::spec::{Crosstab, CrosstabJob, MEAN, SUM};
use super::tail::upper_tail;
use crate::agreement::{JobSpec, KnownSizes, ResultPage};
use crate::base::html::text;
use crate::base::text::{count, counted};
use crate::jobs::noise::ERROR_BAR;
use crate::table::numbers::decimal;

/// The most cells on a page: those of the first rows.
const MAX_CELLS: usize = 10_000;

const STYLE: &str = include_str!("style.css");

/// Results of a run, with the keys of its job.
pub(super) struct ForReaders {
    pub(super) own: Crosstab,
    pub(super) table: Arc<CrossTable>,
}

/// The least expected count with which a p-value of chi-square is taken to be good (Cochran 1954).
const ENOUGH_EXPECTED: f64 = 5.0;

/// Test of whether the categories of rows and columns have nothing to do with each other.
struct ChiSquare {
    statistic: f64,
    /// Degrees of freedom of the statistic.
    freedom: usize,
    /// The least count that a cell would have if they had not.
    least_expected: f64,
}

/// Lines of the table in one direction, in order.
type Lines<'a> = Vec<&'a [String]>;

/// Cells by row and column.
struct Grid<'a> {
    rows: Lines<'a>,
    columns: Lines<'a>,
    cells: BTreeMap<(usize, usize), &'a Cell>,
    /// Whether the table has cells that are not here.
    partial: bool,
}

impl<'a> Grid<'a> {
    fn new(table: &'a CrossTable) -> Grid<'a> {
        let mut grid = Grid { rows: Vec::new(), columns: Vec::new(), cells: BTreeMap::new(), partial: false };
        let place = |lines: &mut Lines<'a>, labels: &'a [String]| {
            lines.iter().position(|line| *line == labels).unwrap_or_else(|| {
                lines.push(labels);
                lines.len() - 1
            })
        };
        for cell in table.cells.iter().take(MAX_CELLS) {
            let (row, column) = cell.labels.split_at(table.row_columns);
            let at = (place(&mut grid.rows, row), place(&mut grid.columns, column));
            grid.cells.insert(at, cell);
        }
        grid.partial = table.unnamed || table.cells.len() > MAX_CELLS;
        grid
    }

    /// The count of a cell, if it is open. Categories of one party that stand in no row together have no cell, and no
    /// rows.
    fn count(&self, row: usize, column: usize) -> Option<i64> {
        self.cells.get(&(row, column)).map_or(Some(0), |cell| cell.count)
    }

    /// The sum of cells, if all are here and open.
    fn total(&self, rows: std::ops::Range<usize>, columns: std::ops::Range<usize>) -> Option<i64> {
        if self.partial {
            return None;
        }
        let cells = rows.flat_map(|row| columns.clone().map(move |column| (row, column)));
        cells.map(|(row, column)| self.count(row, column)).sum()
    }

    fn row_total(&self, row: usize) -> Option<i64> {
        self.total(row..row + 1, 0..self.columns.len())
    }

    fn column_total(&self, column: usize) -> Option<i64> {
        self.total(0..self.rows.len(), column..column + 1)
    }

    fn all(&self) -> Option<i64> {
        self.total(0..self.rows.len(), 0..self.columns.len())
    }

    /// Pearson's test of independence, over lines that are not empty.
    fn chi_square(&self) -> Option<ChiSquare> {
        let all = self.all()? as f64;
        let lines = |count: usize, total: &dyn Fn(usize) -> Option<i64>| -> Option<Vec<(usize, f64)>> {
            let totals = (0..count).map(|line| Some((line, total(line)? as f64)));
            totals.filter(|line| line.is_none_or(|(_, total)| total > 0.0)).collect()
        };
        let rows = lines(self.rows.len(), &|row| self.row_total(row))?;
        let columns = lines(self.columns.len(), &|column| self.column_total(column))?;
        if rows.len() < 2 || columns.len() < 2 {
            return None;
        }
        let (mut statistic, mut least_expected) = (0.0, f64::INFINITY);
        for &(row, of_row) in &rows {
            for &(column, of_column) in &columns {
                let expected = of_row * of_column / all;
                statistic += (self.count(row, column)? as f64 - expected).powi(2) / expected;
                least_expected = least_expected.min(expected);
            }
        }
        Some(ChiSquare { statistic, freedom: (rows.len() - 1) * (columns.len() - 1), least_expected })
    }

    /// The odds ratio of a table of two by two.
    fn odds_ratio(&self) -> Option<f64> {
        let at = |row, column| self.count(row, column).map(|count| count as f64);
        let ratio = at(0, 0)? * at(1, 1)? / (at(0, 1)? * at(1, 0)?);
        ((self.rows.len(), self.columns.len()) == (2, 2) && ratio.is_finite()).then_some(ratio)
    }
}

impl ResultPage for ForReaders {
    fn html(&self, job: &JobSpec, choice: &str) -> String {
        let job = &CrosstabJob { spec: job, own: &self.own };
        let (table, grid) = (&self.table, Grid::new(&self.table));
        let style = format!("'sha256-{}'", BASE64.encode(&Sha256::digest(STYLE.as_bytes())));
        let mut page = String::from("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        let _ = writeln!(
            page,
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {style}; base-uri 'none'; \
             form-action 'none'\">"
        );
        page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        let _ = writeln!(page, "<title>Cross table: {}</title>", text(&job.id));
        let _ = writeln!(page, "<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>Cross table</h1>\n<dl>");
        let by = |columns: &[String]| columns.iter().map(|name| text(name)).collect::<Vec<_>>().join(", ");
        let (rows, columns) = table.by.split_at(table.row_columns);
        for (term, value) in [
            ("Job", text(&job.id)),
            ("Parties", by(&job.parties.names().into_iter().map(str::to_owned).collect::<Vec<_>>())),
            ("Rows", by(rows)),
            ("Columns", by(columns)),
            ("Cells", format!("{} open, {} closed", count(table.open() as u64), count(table.closed as u64))),
            ("Open from", counted(job.min_cell(), "row")),
            ("Protocol", text(choice)),
        ] {
            let _ = writeln!(page, "<div><dt>{term}</dt><dd>{value}</dd></div>");
        }
        page.push_str("</dl>\n");
        heat_map(&mut page, table, &grid);
        statistics(&mut page, table, &grid);
        if table.cells.len() > MAX_CELLS {
            let _ = writeln!(page, "<p>The first {} cells are shown.</p>", count(MAX_CELLS as u64));
        }
        page.push_str("<h2>Who learned what</h2>\n");
        for name in job.parties.names() {
            let _ = writeln!(page, "<h3>{}</h3>\n<ul>", text(name));
            for sentence in learned::crosstab(job, name, KnownSizes::default()) {
                let _ = writeln!(page, "<li>{}</li>", text(&sentence));
            }
            page.push_str("</ul>\n");
        }
        page.push_str("</main>\n</body>\n</html>\n");
        page
    }
}

/// Returns a count with a minus sign where noise has made it negative.
fn signed(number: i64) -> String {
    let minus = if number < 0 { "-" } else { "" };
    format!("{minus}{}", count(number.unsigned_abs()))
}

fn label(labels: &[String]) -> String {
    let labels = labels.iter().map(|label| if label.is_empty() { "(none)".into() } else { text(label) });
    labels.collect::<Vec<String>>().join(", ")
}

fn heat_map(page: &mut String, table: &CrossTable, grid: &Grid<'_>) {
    let most = grid.cells.values().filter_map(|cell| cell.count).max().unwrap_or(0).max(1);
    let total = |number: Option<i64>| format!("<td class=\"total\">{}</td>", number.map_or("-".into(), signed));
    page.push_str("<div class=\"wide\"><table>\n<tr><th></th>");
    for labels in &grid.columns {
        let _ = write!(page, "<th scope=\"col\">{}</th>", label(labels));
    }
    page.push_str("<th scope=\"col\">total</th></tr>\n");
    for (row, labels) in grid.rows.iter().enumerate() {
        let _ = write!(page, "<tr><th scope=\"row\">{}</th>", label(labels));
        for column in 0..grid.columns.len() {
            match grid.cells.get(&(row, column)).map(|cell| (cell, cell.count)) {
                Some((cell, Some(number))) => {
                    let heat = (number.max(0) as u128 * 9).div_ceil(most as u128);
                    let _ = write!(page, "<td class=\"h{heat}\">{}{}</td>", signed(number), measured(table, cell));
                }
                Some((_, None)) => page.push_str("<td class=\"closed\">closed</td>"),
                None => page.push_str("<td></td>"),
            }
        }
        let _ = writeln!(page, "{}</tr>", total(grid.row_total(row)));
    }
    page.push_str("<tr><th scope=\"row\">total</th>");
    (0..grid.columns.len()).for_each(|column| page.push_str(&total(grid.column_total(column))));
    let _ = writeln!(page, "{}</tr>\n</table></div>", total(grid.all()));
    page.push_str("<p>A total is shown where none of its cells is closed or left out.</p>\n");
}

/// The measure of a cell, under its count.
fn measured(table: &CrossTable, cell: &Cell) -> String {
    let (Some((_, decimals)), Some(sum)) = (&table.measure, cell.sum) else { return String::new() };
    let mean = table.mean(cell).map_or(String::new(), |mean| format!("<br>{MEAN} {mean:.3}"));
    format!("<small>{SUM} {}{mean}</small>", decimal(sum, *decimals))
}

fn statistics(page: &mut String, table: &CrossTable, grid: &Grid<'_>) {
    if let Some(within) = table.within {
        let _ = writeln!(
            page,
            "<p>Counts have noise: before small cells close, each is within {} of the exact one in {ERROR_BAR}. Totals are off by more.</p>",
            count(within)
        );
        return;
    }
    if table.closed > 0 {
        page.push_str("<p>Chi-square and odds ratio are for tables without closed cells.</p>\n");
        return;
    }
    if let Some(ChiSquare { statistic, freedom, least_expected }) = grid.chi_square() {
        let p_value = match upper_tail(statistic, freedom) {
            small if small < 0.0001 => "below 0.0001".into(),
            p_value => format!("{p_value:.4}"),
        };
        let rough = if least_expected < ENOUGH_EXPECTED {
            "; it is rough, since counts of less than 5 are expected of some cells"
        } else {
            ""
        };
        let _ = writeln!(
            page,
            "<p>Chi-square {statistic:.4}; degrees of freedom: {freedom}; p-value {p_value}{rough}.</p>"
        );
    }
    if let Some(ratio) = grid.odds_ratio().filter(|_| !grid.partial) {
        let _ = writeln!(page, "<p>Odds ratio {ratio:.4}.</p>");
    }
}
