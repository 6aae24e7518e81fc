//! Baskets: which rows hold which items, from the forms in which people keep them.
//!
//! A basket is a row. Its items stand in one column, as a list or with something between them, or each item has a
//! column of its own, or baskets are the lines of a file. In long tables a row has one item, and those of one id are a
//! basket. An empty basket is a row like any other.

mod bins;
mod columns;
mod lines;

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_schema::{DataType, Field};
use tacita_core::protocol::rules::names::check_name;
use tacita_core::{Error, Result};

use super::Table;
use super::text::{TextColumn, has_text};
use bins::Measured;
use columns::Made;
pub use columns::{Binning, ColumnScan, ItemColumn, all_columns};
pub use lines::{Between, is_dat, parse_lines, read_lines};

/// A party's items, sorted by name, and the rows whose baskets hold them; and the columns of numbers whose items are
/// not made yet. Secret: never printed.
#[derive(Clone, PartialEq)]
pub struct BasketItems {
    rows: usize,
    items: Vec<(String, Vec<u32>)>,
    measured: Vec<Measured>,
}

impl BasketItems {
    /// Returns the number of baskets, empty ones included.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of items, except for those of [`BasketItems::binned`].
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The name of an item.
    ///
    /// # Panics
    ///
    /// If there is no such item.
    pub fn name(&self, item: usize) -> &str {
        &self.items[item].0
    }

    /// The rows whose baskets hold an item, ascending; a basket that holds it twice may be there twice.
    ///
    /// # Panics
    ///
    /// If there is no such item.
    pub fn rows_of(&self, item: usize) -> &[u32] {
        &self.items[item].1
    }

    /// The items of numbers of which each bin holds about as many of the rows that count. A bound is a number of
    /// somebody's row: a name shows it only if at least `enough` of these rows hold just this number, as for an item of
    /// its own; else, and always if that is `None`, the bin is named by its rank.
    pub fn binned(&self, counts: impl Fn(u32) -> bool, enough: Option<usize>) -> BasketItems {
        let minimum = enough.unwrap_or(usize::MAX);
        let mut all: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        let fixed = |name: &str| self.items.binary_search_by(|(item, _)| item.as_str().cmp(name)).is_ok();
        for measured in &self.measured {
            let items = measured.items(&counts, minimum, |name| fixed(name) || all.contains_key(name));
            all.extend(items);
        }
        BasketItems::sorted(self.rows, all)
    }

    /// The same where rows are one: each counts as the one that `as_row` has for it, if any.
    pub fn gathered(self, as_row: &[Option<u32>]) -> BasketItems {
        let gather = |rows: Vec<u32>| {
            let mut rows: Vec<u32> = rows.into_iter().filter_map(|row| as_row[row as usize]).collect();
            rows.sort_unstable();
            rows.dedup();
            rows
        };
        let items = self.items.into_iter().map(|(name, rows)| (name, gather(rows)));
        BasketItems { items: items.filter(|(_, rows)| !rows.is_empty()).collect(), ..self }
    }

    fn sorted(rows: usize, items: impl IntoIterator<Item = (String, Vec<u32>)>) -> BasketItems {
        BasketItems {
            rows,
            items: items.into_iter().collect::<BTreeMap<_, _>>().into_iter().collect(),
            measured: Vec::new(),
        }
    }
}

/// Formats the shape only.
impl fmt::Debug for BasketItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Items({} in {} rows)", self.items.len(), self.rows)
    }
}

/// Reads one column of baskets: lists of items, or texts of items with `separator` between them, or without one of a
/// single item each. Blanks around an item do not count, nor do items without a name.
///
/// Errors ([`Error::Input`], with the place and without the item): the column is missing or holds no texts; an item's
/// name is none.
pub fn of_column(table: &Table, (logical, header): (&str, &str), separator: Option<&str>) -> Result<BasketItems> {
    let position = table.basket_column(header, logical)?;
    let mut items: HashMap<String, Vec<u32>> = HashMap::new();
    let mut take = |row: usize, name: &str| -> Result<()> {
        let name = name.trim();
        if name.is_empty() {
            return Ok(());
        }
        check_name(name).map_err(|what| {
            Error::Input(format!("{}, {}, column {header:?}: {what}", table.source(), table.place(row)))
        })?;
        match items.get_mut(name) {
            Some(rows) => rows.push(row as u32),
            None => drop(items.insert(name.to_owned(), vec![row as u32])),
        }
        Ok(())
    };
    if let Some(lists) = Lists::of(table, position)? {
        lists.each(&mut take)?;
    } else {
        for (row, text) in texts(table, position)?.iter() {
            match separator {
                Some(separator) => text.split(separator).try_for_each(|name| take(row, name))?,
                None => take(row, text)?,
            }
        }
    }
    Ok(BasketItems::sorted(table.rows(), items))
}

/// Columns of lists of texts.
struct Lists<'a> {
    table: &'a Table,
    position: usize,
}

impl<'a> Lists<'a> {
    /// The column, if it is one of lists.
    ///
    /// Errors: lists of what has no text.
    fn of(table: &'a Table, position: usize) -> Result<Option<Lists<'a>>> {
        let field = table.schema().field(position);
        match field.data_type() {
            DataType::List(inner) | DataType::LargeList(inner) | DataType::FixedSizeList(inner, _) => {
                if has_text(inner.data_type()) {
                    Ok(Some(Lists { table, position }))
                } else {
                    Err(no_text(table, field))
                }
            }
            _ => Ok(None),
        }
    }

    /// Hands every value to `take`, with its row.
    fn each(&self, mut take: impl FnMut(usize, &str) -> Result<()>) -> Result<()> {
        let mut first = 0;
        for batch in self.table.batches() {
            let column = batch.column(self.position);
            for row in (0..batch.num_rows()).filter(|row| column.is_valid(*row)) {
                let list = match column.data_type() {
                    DataType::List(_) => column.as_list::<i32>().value(row),
                    DataType::LargeList(_) => column.as_list::<i64>().value(row),
                    _ => column.as_fixed_size_list().value(row),
                };
                let Some(texts) = TextColumn::new(&list) else { continue };
                (0..list.len()).filter_map(|place| texts.get(place)).try_for_each(|text| take(first + row, text))?;
            }
            first += batch.num_rows();
        }
        Ok(())
    }
}

/// Returns another possible separator between items, if no basket has more than one item.
pub fn perhaps_separator(items: &BasketItems) -> Option<char> {
    let mut held = vec![false; items.rows()];
    for (_, rows) in &items.items {
        let mut last = None;
        for &row in rows.iter().filter(|row| last.replace(**row) != Some(**row)) {
            if std::mem::replace(&mut held[row as usize], true) {
                return None;
            }
        }
    }
    [',', ';', '\t'].into_iter().find(|other| items.items.iter().any(|(name, _)| name.contains(*other)))
}

/// Reads columns each of which holds an item or a value that makes one: see [`ItemColumn`].
///
/// Errors ([`Error::Input`]): as [`of_column`]; a column of many numbers without bins; two columns that make items of
/// one name.
pub fn of_columns(table: &Table, columns: &[ItemColumn]) -> Result<BasketItems> {
    let mut owners: BTreeMap<String, &ItemColumn> = BTreeMap::new();
    let (mut items, mut measured) = (Vec::new(), Vec::new());
    for column in columns {
        let names: Vec<String> = match column.read(table)? {
            Made::Items(made) => {
                let names = made.keys().cloned().collect();
                items.extend(made);
                names
            }
            Made::Numbers(made) => {
                let names = made.names_without_bounds().collect();
                measured.push(made);
                names
            }
        };
        for name in names {
            if let Some(other) = owners.insert(name, column) {
                return Err(Error::Input(format!(
                    "{}: the columns {:?} and {:?} make items of the same name: rename one",
                    table.source(),
                    other.header,
                    column.header
                )));
            }
        }
    }
    Ok(BasketItems { measured, ..BasketItems::sorted(table.rows(), items) })
}

/// The texts of a column that are not empty, without blanks around them, by row.
pub(crate) struct Texts(Vec<(usize, TextColumn, usize)>);

pub(crate) fn texts(table: &Table, position: usize) -> Result<Texts> {
    let field = table.schema().field(position);
    if !has_text(field.data_type()) {
        return Err(no_text(table, field));
    }
    let mut start = 0;
    let parts = table.batches().iter().filter_map(|batch| {
        let first = start;
        start += batch.num_rows();
        Some((first, TextColumn::new(batch.column(position))?, batch.num_rows()))
    });
    Ok(Texts(parts.collect()))
}

fn no_text(table: &Table, field: &Field) -> Error {
    Error::Input(format!(
        "{}: column {:?} is of type {}, which has no text: write its items as lists of text, or as text with a separator between them",
        table.source(),
        field.name(),
        field.data_type()
    ))
}

impl Texts {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &str)> {
        self.0.iter().flat_map(|(first, texts, rows)| {
            let text = move |row| Some((first + row, texts.get(row)?.trim())).filter(|(_, text)| !text.is_empty());
            (0..*rows).filter_map(text)
        })
    }
}
