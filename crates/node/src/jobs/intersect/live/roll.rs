//! The authority's list: its rows, as their keys.

use std::collections::{BTreeMap, HashMap, HashSet};

use tacita_core::{Error, Item, Result};

use super::{KeyReader, Live};
use crate::base::text::{count, counted};
use crate::table::{Duplicates, KeySpec, Table, TableKeys, Warning};
use crate::watch::warn_own_user;

/// The rows of a list. A row is its keys; rows with the same keys are one.
#[derive(Clone, Default)]
pub struct Roll {
    rows: HashSet<EncodedRow>,
    /// Number of rows that have each key.
    keys: HashMap<(u32, Key), u32>,
}

/// The keys of a row, encoded: for each, one byte that says whether it is there, its length, and it.
pub type EncodedRow = Vec<u8>;
type Key = Vec<u8>;

/// Changes made by adding or removing rows.
#[derive(Default)]
pub struct RollChange {
    /// Rows that were not as was said: on the list already, or not on it.
    pub left_out: usize,
    /// The rows that change.
    pub rows: Vec<EncodedRow>,
}

/// Contents of a table for a list.
#[derive(Default)]
pub struct RowsRead {
    /// The rows that can be found, encoded.
    pub rows: Vec<EncodedRow>,
    /// Rows of the table.
    pub read: usize,
    /// Rows without any key, which nobody would find: how many.
    pub lost: usize,
    /// Places of the first of them, with the reasons.
    pub lost_places: Vec<String>,
    /// Rows that lack a key and have another one: how many.
    pub partial: usize,
    /// Place of the first of them, and the keys by which it is found.
    pub partial_place: String,
}

/// Maximum number of rows that cannot be found which are listed one by one.
const MAX_LOST_PLACES: usize = 20;

impl RowsRead {
    /// Returns the report to their owner on rows that cannot be found, or not by all keys: a line each. No value is
    /// among it.
    pub fn shortfall(&self, source: &str) -> Vec<String> {
        let mut lines = Vec::new();
        if self.lost > 0 {
            lines.push(format!(
                "{source}: {} of {} CANNOT BE FOUND, as {} no key that can be read:",
                count(self.lost as u64),
                counted(self.read as u64, "row"),
                if self.lost == 1 { "it has" } else { "they have" }
            ));
            lines.extend(self.lost_places.iter().map(|place| format!("{source}, {place}")));
            if self.lost > self.lost_places.len() {
                lines.push(format!("and {} more", count((self.lost - self.lost_places.len()) as u64)));
            }
        }
        if self.partial > 0 {
            lines.push(format!(
                "{source}: {} of {} can be found by some of the keys alone, the first in {}",
                count(self.partial as u64),
                counted(self.read as u64, "row"),
                self.partial_place
            ));
        }
        lines
    }
}

impl Roll {
    /// The rows of a table, encoded, and those of them that cannot be found. The user is told what cannot be read.
    ///
    /// Errors ([`Error::Input`]): a column is missing; more than half of the rows have a value that no profile of its
    /// column reads, unless that is allowed.
    pub fn read(live: &Live, table: &Table, allow_unreadable: bool) -> Result<RowsRead> {
        let mut rows: Vec<EncodedRow> = vec![EncodedRow::default(); table.rows()];
        let (mut has_key, mut lacks_key) = (vec![false; table.rows()], vec![false; table.rows()]);
        let several = live.keys() > 1;
        let mut warnings = Vec::new();
        for job in live.jobs() {
            // Of several keys, another one may read what this one cannot: that is counted below.
            let spec = job.key_spec(&live.authority, allow_unreadable || several)?;
            let (keys, told) = TableKeys::build(table, &KeySpec { duplicates: Duplicates::All, ..spec })?;
            warnings.push((keys.counts().unreadable > 0, told));
            let mut of_row: Vec<Option<usize>> = vec![None; table.rows()];
            for key in 0..keys.len() {
                keys.rows(key).iter().for_each(|&row| of_row[row as usize] = Some(key));
            }
            for (row, key) in of_row.into_iter().enumerate() {
                let key = key.map(|key| keys.key(key));
                has_key[row] |= key.is_some();
                lacks_key[row] |= key.is_none();
                rows[row].push(u8::from(key.is_some()));
                if let Some(key) = key {
                    let length =
                        u32::try_from(key.len()).map_err(|_| Error::Input("a key is longer than 4 GiB".into()))?;
                    rows[row].extend(length.to_le_bytes());
                    rows[row].extend_from_slice(key);
                }
            }
        }
        let mut found = RowsRead { read: table.rows(), ..RowsRead::default() };
        let unreadable = found.look(live, table, &lacks_key)?;
        if unreadable * 2 > found.read && several && !allow_unreadable {
            let what = warnings.iter().filter(|(has_unreadable, _)| *has_unreadable).flat_map(|(_, told)| told).next();
            return Err(Error::Input(format!(
                "{}; {} of {} have such values, so nothing was done (--allow-unreadable goes on without them)",
                what.map_or(table.source(), Warning::text_without_values),
                count(unreadable as u64),
                counted(found.read as u64, "row")
            )));
        }
        // Where a value is unreadable for one key and read for another, nothing is to be mended.
        let told = warnings.iter().filter(|(has_unreadable, _)| !has_unreadable || unreadable > 0);
        told.flat_map(|(_, told)| told).for_each(warn_own_user);
        let readable = rows.into_iter().zip(&has_key).filter(|(_, has_key)| **has_key).map(|(row, _)| row);
        found.rows = readable.collect();
        Ok(found)
    }

    /// Returns the number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the rows, encoded.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.rows.iter().map(|row| row.as_slice())
    }

    /// Returns those of `rows` that would be added or removed, each once.
    pub fn plan(&self, rows: Vec<EncodedRow>, added: bool) -> RollChange {
        let (mut seen, all) = (HashSet::new(), rows.len());
        let rows: Vec<EncodedRow> =
            rows.into_iter().filter(|row| self.rows.contains(row) != added && seen.insert(row.clone())).collect();
        RollChange { left_out: all - rows.len(), rows }
    }

    /// The items that these rows bring, of those that would be added, or take with them, of those that would go.
    pub fn items(&self, live: &Live, rows: &[EncodedRow], added: bool, item_keys: &[[u8; 32]]) -> Result<Vec<Item>> {
        let mut changed: HashMap<(u32, Key), u32> = HashMap::new();
        for row in rows {
            parts(live, row)?.into_iter().for_each(|key| *changed.entry(key).or_default() += 1);
        }
        let brings = |(key, count): &(&(u32, Key), &u32)| match (added, self.keys.get(*key)) {
            (true, known) => known.is_none(),
            (false, known) => known.is_some_and(|known| known <= count),
        };
        let item = |((number, key), _): (&(u32, Key), &u32)| Item::new(&item_keys[*number as usize], key);
        Ok(changed.iter().filter(brings).map(item).collect())
    }

    /// Adds rows, or takes them off, as they were planned.
    pub fn apply(&mut self, live: &Live, rows: &[EncodedRow], added: bool) -> Result<()> {
        for row in rows {
            let changes = if added { self.rows.insert(row.clone()) } else { self.rows.remove(row) };
            if !changes {
                continue;
            }
            for key in parts(live, row)? {
                if added {
                    *self.keys.entry(key).or_default() += 1
                } else {
                    match self.keys.get_mut(&key) {
                        Some(count) if *count > 1 => *count -= 1,
                        _ => drop(self.keys.remove(&key)),
                    }
                }
            }
        }
        Ok(())
    }

    /// The items of all rows in an epoch.
    pub fn all_items(&self, item_keys: &[[u8; 32]]) -> Vec<Item> {
        self.keys.keys().map(|(number, key)| Item::new(&item_keys[*number as usize], key)).collect()
    }
}

impl RowsRead {
    /// Looks at the rows that lack a key. Returns how many of them have a value that no profile of its column reads.
    fn look(&mut self, live: &Live, table: &Table, lacks_key: &[bool]) -> Result<usize> {
        if !lacks_key.contains(&true) {
            return Ok(0);
        }
        let reader = KeyReader::new(live, &live.authority)?;
        let (names, mut unreadable) = (reader.key_names(), 0);
        reader.visit(table, &BTreeMap::new(), None, |row, asked, _| {
            if !lacks_key[row] {
                return;
            }
            let asked = asked();
            unreadable += usize::from(!asked.unreadable.is_empty());
            let place = table.place(row);
            if asked.has_key() {
                self.partial += 1;
                if self.partial == 1 {
                    let by: Vec<_> = names
                        .iter()
                        .zip(&asked.keys)
                        .filter(|(_, key)| key.is_some())
                        .map(|(name, _)| name.as_str())
                        .collect();
                    self.partial_place = format!("{place}: by {}", by.join("; "));
                }
            } else {
                self.lost += 1;
                if self.lost_places.len() < MAX_LOST_PLACES {
                    self.lost_places.push(format!("{place}: {}", asked.why_not()));
                }
            }
        })?;
        Ok(unreadable)
    }
}

/// Counts only: rows are never printed.
impl std::fmt::Debug for RowsRead {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RowsRead({} rows of {})", self.rows.len(), self.read)
    }
}

/// Counts only: rows are never printed.
impl std::fmt::Debug for Roll {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Roll({} rows)", self.len())
    }
}

/// The keys of an encoded row, each with its number.
fn parts(live: &Live, row: &[u8]) -> Result<Vec<(u32, Key)>> {
    let damaged = || Error::Internal("a row of a list that is none".into());
    let (mut rest, mut found) = (row, Vec::new());
    for number in 0..live.keys() as u32 {
        let (there, after) = rest.split_first().ok_or_else(damaged)?;
        rest = after;
        if *there == 1 {
            let (length, after) = rest.split_first_chunk().ok_or_else(damaged)?;
            let (key, after) = after.split_at_checked(u32::from_le_bytes(*length) as usize).ok_or_else(damaged)?;
            rest = after;
            found.push((number, key.to_vec()));
        }
    }
    if rest.is_empty() { Ok(found) } else { Err(damaged()) }
}
