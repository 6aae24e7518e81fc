//! Input that a party brings: the categories of its rows, the measure, and the ids of its rows.

use std::collections::BTreeMap;
use std::sync::Arc;

use tacita_core::protocol::dot::Columns;
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::noise;
use super::spec::{Crosstab, CrosstabJob};
use crate::agreement::{Sizes, Source};
use crate::jobs::intersect;
use crate::jobs::limits::check_limits;
use crate::jobs::noise::DrawnNoise;
use crate::table::baskets::{self, Binning, ItemColumn};
use crate::table::{RowCounts, Table, numbers};

/// Input that a party brings to a cross table.
pub struct CrosstabInput {
    pub(super) own: Crosstab,
    /// For each column that the job uses, how the party has it.
    pub(super) owned: Vec<Owned>,
    /// Categories of the columns that it has, by their place in the job.
    pub(super) categories: BTreeMap<usize, CategoryColumn>,
    /// The measure's numbers, if it has them.
    pub(super) measure: Option<Columns>,
    pub(super) table_rows: usize,
    pub(super) rows: RowCounts,
    /// The table with its ids, where rows are aligned by them.
    pub(super) ids: Option<Arc<intersect::Loaded>>,
    pub(super) sizes: Sizes,
    /// Noise that this party adds; taken by the run that uses it.
    pub(super) noise: DrawnNoise,
}

/// Whether a party has a column of the job. Of two that have one of the same name, the one that maps it means it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Owned {
    /// The party does not.
    No = 0,
    /// The table has a column of this name.
    Named = 1,
    /// The party's own part of the job file maps it.
    Mapped = 2,
}

/// Categories of one column. An absent value is the category without a name. Secret: zeroized when dropped.
pub(super) struct CategoryColumn {
    /// Header of the column in the party's table, whatever the job calls it.
    pub(super) header: String,
    /// Names of the categories.
    pub(super) labels: Vec<String>,
    /// The category of each row of the table.
    pub(super) of_row: Zeroizing<Vec<u32>>,
}

impl CrosstabInput {
    /// Reads a party's columns, and the ids of its rows.
    pub fn load(job: &CrosstabJob<'_>, me: &str, source: &Source) -> Result<CrosstabInput> {
        let Some((table, allow_unreadable)) = source.table()? else {
            return Err(Error::Input("a cross table needs a table: give --input FILE".into()));
        };
        let (table, rows, ids, sizes) = match job.alignment() {
            None => {
                refuse_blank_line(&table)?;
                let rows = RowCounts { read: table.rows(), items: table.rows(), ..RowCounts::default() };
                let mut sizes = Sizes { items: table.rows() as u64, ..Sizes::default() };
                check_limits(job, me, table.source(), &mut sizes)?;
                (table, rows, None, sizes)
            }
            Some(alignment) => {
                let loaded = Arc::new(intersect::Loaded::of(&alignment.ids, me, table, allow_unreadable)?);
                let table = loaded.table().clone();
                (table, loaded.keys().counts(), Some(loaded.clone()), loaded.sizes().clone())
            }
        };
        let used = used_rows(table.rows(), ids.as_deref());
        let owned = owned(job, me, &table)?;
        let (by, mut categories) = (job.by(), BTreeMap::new());
        for (place, name) in by.iter().enumerate().filter(|(place, _)| owned[*place] != Owned::No) {
            categories.insert(place, read(job, me, name, &table, &used)?);
        }
        let of_measure = job.measure().column().filter(|_| owned.last() != Some(&Owned::No)).map(str::to_owned);
        let measure = of_measure.map(|name| {
            let form = numbers::NumberForm { decimals: job.decimals(), mark: job.mark(me) };
            let named = [(name.clone(), job.header(me, &name).to_owned())];
            numbers::columns(&table, &named, job.integers()?, form, |row| used[row])
        });
        let measure = measure.transpose()?;
        Ok(CrosstabInput {
            own: job.own.clone(),
            owned,
            categories,
            measure,
            table_rows: table.rows(),
            rows,
            ids,
            sizes,
            noise: noise::drawn(job, me)?,
        })
    }
}

/// Rows of a table that can count: all by position, else those that have an id.
fn used_rows(rows: usize, ids: Option<&intersect::Loaded>) -> Vec<bool> {
    let Some(ids) = ids else { return vec![true; rows] };
    let mut used = vec![false; rows];
    (0..ids.keys().len()).for_each(|key| ids.keys().rows(key).iter().for_each(|&row| used[row as usize] = true));
    used
}

/// Whether the party has each column that the job uses.
///
/// Errors ([`Error::Input`]): it maps one that its table lacks; it has none.
fn owned(job: &CrosstabJob<'_>, me: &str, table: &Table) -> Result<Vec<Owned>> {
    let maps = |party: &str, name: &String| job.parties.get(party).is_some_and(|own| own.columns.contains_key(name));
    let mapped = |name: &String| maps(me, name);
    let has = |name: &String| table.schema().column_with_name(job.header(me, name)).is_some();
    let used = job.used();
    if let Some(name) = used.iter().find(|name| mapped(name) && !has(name)) {
        table.column(job.header(me, name), name)?;
    }
    let owned = used.iter().map(|name| match (mapped(name), has(name)) {
        (true, _) => Owned::Mapped,
        // A column that the job file maps for others alone is not read here.
        (_, true) if !job.others(me).iter().any(|other| maps(other, name)) => Owned::Named,
        _ => Owned::No,
    });
    let owned: Vec<Owned> = owned.collect();
    if owned.iter().all(|owned| *owned == Owned::No) {
        return Err(Error::Input(format!(
            "{}: the table has none of the columns {}: map its own in [parties.{me}] columns of the job file",
            table.source(),
            used.iter().map(|name| format!("\"{}\"", name.escape_debug())).collect::<Vec<_>>().join(", ")
        )));
    }
    Ok(owned)
}

/// Refuses a blank line, which may or may not be a row.
fn refuse_blank_line(table: &Table) -> Result<()> {
    match table.blank_line() {
        Some(line) => Err(Error::Input(format!(
            "{}, line {line}: a blank line, where rows are aligned by position: write \"\" for a row without values, or remove the line",
            table.source()
        ))),
        None => Ok(()),
    }
}

/// Reads the categories of a column.
///
/// Errors ([`Error::Input`], with the place and without the value): a value is in no bin, or none of the agreed
/// categories.
fn read(job: &CrosstabJob<'_>, me: &str, name: &str, table: &Table, used: &[bool]) -> Result<CategoryColumn> {
    let header = job.header(me, name);
    let listed = job.own.categories.get(name);
    let mut column = CategoryColumn {
        header: header.to_owned(),
        labels: listed.cloned().unwrap_or_default(),
        of_row: Zeroizing::new(vec![u32::MAX; table.rows()]),
    };
    let mut places: BTreeMap<String, u32> = column.labels.iter().cloned().zip(0..).collect();
    let mut take = |row: usize, text: &str, labels: &mut Vec<String>| match places.get(text) {
        Some(&place) => Some(place),
        None if listed.is_some() => (!used[row]).then_some(u32::MAX),
        None => {
            let place = labels.len() as u32;
            labels.push(text.to_owned());
            places.insert(text.to_owned(), place);
            Some(place)
        }
    };
    let unlisted = |row: usize| {
        Error::Input(format!(
            "{}, {}, column {header:?}: the value is none of the agreed categories: add it to categories.{} (\"\" for an absent \
             value), or mend it",
            table.source(),
            table.place(row),
            name.escape_debug()
        ))
    };
    match job.own.bins.get(name) {
        None => {
            let texts = baskets::texts(table, table.column(header, name)?)?;
            for (row, text) in texts.iter() {
                column.of_row[row] = take(row, text, &mut column.labels).ok_or_else(|| unlisted(row))?;
            }
        }
        Some(bounds) => {
            let binning = Some(Binning::Bounds(bounds.clone()));
            let of_bins =
                ItemColumn { name: name.into(), header: header.into(), binning, mark: job.mark(me), is_flag: None };
            let items = baskets::of_columns(table, std::slice::from_ref(&of_bins))?;
            for item in 0..items.len() {
                // Named by column and interval.
                let label = items.name(item).strip_prefix(of_bins.item_name()).unwrap_or_default();
                let place = take(0, label.strip_prefix('=').unwrap_or(label), &mut column.labels);
                let place = place.ok_or_else(|| Error::Internal("a bin that is none".into()))?;
                items.rows_of(item).iter().for_each(|&row| column.of_row[row as usize] = place);
            }
        }
    }
    for row in (0..table.rows()).filter(|&row| used[row]) {
        if column.of_row[row] == u32::MAX {
            column.of_row[row] = take(row, "", &mut column.labels).ok_or_else(|| unlisted(row))?;
        }
    }
    Ok(column)
}
