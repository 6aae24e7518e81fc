//! Input that a party brings: its items, and the ids of its rows.

use std::any::Any;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use tacita_core::{Error, Result};

use super::{RulesInput, distributed};
use crate::agreement::{Basket, Duplicates, ItemsFrom, JobSpec, Sizes, Source};
use crate::base::text::names;
use crate::jobs::intersect;
use crate::jobs::limits::check_limits;
use crate::jobs::rules::spec::{Bins, Rules, RulesJob};
use crate::table::baskets::{self, BasketItems, Between, Binning, ItemColumn};
use crate::table::{RowCounts, Table};

impl RulesInput {
    /// Reads a party's baskets, and the ids of its rows.
    pub fn load(job: &RulesJob<'_>, me: &str, source: &Source) -> Result<RulesInput> {
        let alignment = job.alignment();
        if let Source::File { path, options, .. } = source
            && let Some(between) = in_lines(path, &job.items_of(me))
        {
            return match alignment {
                None => {
                    let items = baskets::read_lines(path, between.of(), options)?;
                    let source = path.display().to_string();
                    if let InLines::Text(separator) = &between {
                        warn_of_separator(&source, &items, separator);
                    }
                    by_position(job, me, items, &source)
                }
                Some(_) => Err(Error::Input(format!(
                    "{}: baskets in this form have no ids, and row_id asks for them: write them as CSV, or leave out row_id",
                    path.display()
                ))),
            };
        }
        let Some((table, allow_unreadable)) =
            source.table().map_err(|error| perhaps_lines(error, &job.items_of(me)))?
        else {
            return Err(Error::Input("association rules need baskets: give --input FILE".into()));
        };
        let Some(mut alignment) = alignment else {
            refuse_blank_line(&table)?;
            return by_position(job, me, items(job, me, &table)?, table.source());
        };
        let mut items = items(job, me, &table)?;
        if matches!(job.items_of(me), ItemsFrom::Basket(Basket { long: true, .. })) {
            items = items.gathered(&intersect::first_rows(&alignment.ids, me, &table)?);
            // The first row of an id stands for its basket.
            if let Some(key) = &mut alignment.ids.key {
                key.duplicates = Duplicates::First;
            }
        }
        let loaded = intersect::Loaded::of(&alignment.ids, me, table, allow_unreadable)?;
        let (rows, sizes) = (loaded.keys().counts(), loaded.sizes().clone());
        Ok(RulesInput { own: job.own.clone(), items, rows, ids: Some(Arc::new(loaded)), sizes })
    }
}

/// Separator between the items of a file with a basket in each line.
enum InLines {
    Blanks,
    Text(String),
}

impl InLines {
    fn of(&self) -> Between<'_> {
        match self {
            InLines::Blanks => Between::Blanks,
            InLines::Text(separator) => Between::Text(separator),
        }
    }
}

/// Whether a party's file is one of association rules with a basket in each line, which is no table.
pub fn reads_lines(job: &JobSpec, me: &str, path: &Path) -> bool {
    let own: &dyn Any = &*job.job;
    let rules = own.downcast_ref::<Rules>().map(|own| RulesJob { spec: job, own });
    rules.is_some_and(|rules| in_lines(path, &rules.items_of(me)).is_some())
}

/// Returns the separator for baskets that are lines of a file, if they are.
fn in_lines(path: &Path, items: &ItemsFrom) -> Option<InLines> {
    match items {
        ItemsFrom::Basket(basket) if basket.lines => Some(InLines::Text(basket.separator().to_owned())),
        _ if baskets::is_dat(path) => Some(InLines::Blanks),
        _ => None,
    }
}

fn by_position(job: &RulesJob<'_>, me: &str, items: BasketItems, source: &str) -> Result<RulesInput> {
    let rows = RowCounts { read: items.rows(), items: items.rows(), ..RowCounts::default() };
    let mut sizes = Sizes { items: items.rows() as u64, ..Sizes::default() };
    check_limits(job, me, source, &mut sizes)?;
    Ok(RulesInput { own: job.own.clone(), items, rows, ids: None, sizes })
}

/// The items of a table, as the job has it for this party.
fn items(job: &RulesJob<'_>, me: &str, table: &Table) -> Result<BasketItems> {
    if let ItemsFrom::Basket(basket) = job.items_of(me) {
        warn_of_bins(job, me, &[]);
        let named = (basket.column(), job.header(me, basket.column()));
        let separator = (!basket.long).then(|| basket.separator());
        let items =
            baskets::of_column(table, named, separator).map_err(|error| perhaps_headless(error, &basket, table))?;
        if let Some(separator) = separator {
            warn_of_separator(&format!("{}, column {:?}", table.source(), named.1), &items, separator);
        }
        return Ok(items);
    }
    let mut columns = item_columns(job, me, table);
    warn_of_bins(job, me, &columns);
    if let Some(bucket) = job.bucket() {
        let flags = distributed::flags(&bucket.facts)?;
        columns.iter_mut().for_each(|column| column.is_flag = flags.get(&column.header).copied());
        distributed::check_names(table, &columns)?;
    }
    table.warning_of_header().iter().for_each(|warning| tracing::warn!("{warning}"));
    baskets::of_columns(table, &columns)
}

/// Refuses a blank line, where it may be an empty basket.
pub(super) fn refuse_blank_line(table: &Table) -> Result<()> {
    match table.blank_line() {
        None => Ok(()),
        Some(line) => Err(Error::Input(format!(
            "{}, line {line}: a blank line, where rows are aligned by position: is it an empty basket? Write \"\" for one, or remove the line",
            table.source()
        ))),
    }
}

/// The columns that make items; none, where one column has whole baskets.
pub(super) fn item_columns(job: &RulesJob<'_>, me: &str, table: &Table) -> Vec<ItemColumn> {
    let column = |name: &str, header: &str| {
        let bins = job.own.bins.get(name).or_else(|| job.own.bins.get(header));
        let binning = bins.map(|bins| match bins {
            Bins::Quantiles(count) => Binning::Quantiles(*count as usize),
            Bins::Bounds(bounds) => Binning::Bounds(bounds.clone()),
        });
        ItemColumn { name: name.to_owned(), header: header.to_owned(), binning, mark: job.mark(me), is_flag: None }
    };
    match job.items_of(me) {
        ItemsFrom::Basket(_) => Vec::new(),
        ItemsFrom::Columns(names) => names.iter().map(|name| column(name, job.header(me, name))).collect(),
        ItemsFrom::All(_) => {
            let ids = job.own.row_id.as_ref().map_or(&[][..], |names| names.all());
            let ids: BTreeSet<&str> = ids.iter().map(|name| job.header(me, name)).collect();
            let headers = baskets::all_columns(table, &ids);
            headers.iter().map(|header| column(header, header)).collect()
        }
    }
}

/// Warns of baskets that seem to have something else between their items.
fn warn_of_separator(place: &str, items: &BasketItems, separator: &str) {
    if let Some(other) = baskets::perhaps_separator(items) {
        let (separator, other) = (separator.escape_debug(), other.escape_debug());
        tracing::warn!(
            "{place}: no basket has more than one item, and names hold `{other}`, where the separator is `{separator}`: to \
             change it, set separator = \"{other}\" in the job's items, or --separator"
        );
    }
}

/// Warns of bins for no column of this party: they may be for the other's, or for none because of a typing error.
fn warn_of_bins(job: &RulesJob<'_>, me: &str, columns: &[ItemColumn]) {
    let here = |name: &String| columns.iter().any(|column| column.name == *name || column.header == *name);
    for name in job.own.bins.keys().filter(|name| !here(name)) {
        tracing::warn!(
            "bins.{}: no item column of {me} is called so: is it one of {}'s?",
            name.escape_debug(),
            names(&job.others(me))
        );
    }
}

/// Hint for a file that may have a basket in each line.
const IN_LINES: &str = "if each line is a basket, without a header, set items = { lines = true }, or --lines";

/// A file of baskets, a line each, that is read as CSV has a basket where its header should be.
fn perhaps_headless(error: Error, basket: &Basket, table: &Table) -> Error {
    let fields = table.schema().fields();
    let number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let is_basket = |header: &str| !header.is_empty() && header.split_ascii_whitespace().all(number);
    match error {
        Error::Input(text) if fields.iter().all(|field| is_basket(field.name())) => Error::Input(format!(
            "{text}. Its first line looks like a basket: a file with a basket in each line and blanks between items is read if its \
             name ends in .dat; {IN_LINES}"
        )),
        Error::Input(text) if basket.column.is_none() && text.contains("no column") => {
            Error::Input(format!("{text}; {IN_LINES}"))
        }
        other => other,
    }
}

/// A file whose lines are not equally long may have a basket in each.
fn perhaps_lines(error: Error, items: &ItemsFrom) -> Error {
    match (error, items) {
        (Error::Input(text), ItemsFrom::Basket(_)) if text.contains(" instead of ") => {
            Error::Input(format!("{text}; {IN_LINES}"))
        }
        (other, _) => other,
    }
}
