//! The authority's list: its rows, as their keys.

use std::collections::{HashMap, HashSet};

use tacita_core::{Error, Item, Result};

use super::Live;
use crate::table::{Duplicates, KeySpec, Keys, RowCounts, Table};
use crate::watch::warn_own_user;

/// The rows of a list. A row is its keys; rows with the same keys are one.
#[derive(Clone, Default)]
pub struct Roll {
    rows: HashSet<Row>,
    /// How many rows have each key.
    keys: HashMap<(u32, Key), u32>,
}

/// The keys of a row, encoded: for each, one byte that says whether it is there, its length, and it.
pub type Row = Vec<u8>;
type Key = Vec<u8>;

/// What adding rows, or taking rows off, changes.
#[derive(Default)]
pub struct RollChange {
    /// Rows that were not as was said: on the list already, or not on it.
    pub left_out: usize,
    /// The rows that change.
    pub rows: Vec<Row>,
}

impl Roll {
    /// The rows of a table, encoded, and how many of them have no key. The user is told what cannot be read.
    pub fn read(live: &Live, table: &Table, allow_unreadable: bool) -> Result<(Vec<Row>, RowCounts)> {
        let mut rows: Vec<Row> = vec![Row::default(); table.rows()];
        let mut has_key = vec![false; table.rows()];
        let mut counts = RowCounts::default();
        for job in live.jobs() {
            let spec = KeySpec { duplicates: Duplicates::All, ..job.key_spec(&live.authority, allow_unreadable)? };
            let (keys, warnings) = Keys::build(table, &spec)?;
            warnings.iter().for_each(warn_own_user);
            counts = keys.counts();
            let mut of_row: Vec<Option<usize>> = vec![None; table.rows()];
            for key in 0..keys.len() {
                keys.rows(key).iter().for_each(|&row| of_row[row as usize] = Some(key));
            }
            for (row, key) in of_row.into_iter().enumerate() {
                let key = key.map(|key| keys.key(key));
                has_key[row] |= key.is_some();
                rows[row].push(u8::from(key.is_some()));
                if let Some(key) = key {
                    let length =
                        u32::try_from(key.len()).map_err(|_| Error::Input("a key is longer than 4 GiB".into()))?;
                    rows[row].extend(length.to_le_bytes());
                    rows[row].extend_from_slice(key);
                }
            }
        }
        let rows: Vec<Row> =
            rows.into_iter().zip(&has_key).filter(|(_, has_key)| **has_key).map(|(row, _)| row).collect();
        counts = RowCounts { read: table.rows(), items: rows.len(), ..counts };
        Ok((rows, counts))
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The rows, encoded.
    pub fn rows(&self) -> impl Iterator<Item = &[u8]> {
        self.rows.iter().map(|row| row.as_slice())
    }

    /// Those of `rows` that would be added, or taken off, each once.
    pub fn plan(&self, rows: Vec<Row>, added: bool) -> RollChange {
        let (mut seen, all) = (HashSet::new(), rows.len());
        let rows: Vec<Row> =
            rows.into_iter().filter(|row| self.rows.contains(row) != added && seen.insert(row.clone())).collect();
        RollChange { left_out: all - rows.len(), rows }
    }

    /// The items that these rows bring, of those that would be added, or take with them, of those that would go.
    pub fn items(&self, live: &Live, rows: &[Row], added: bool, item_keys: &[[u8; 32]]) -> Result<Vec<Item>> {
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
    pub fn apply(&mut self, live: &Live, rows: &[Row], added: bool) -> Result<()> {
        for row in rows {
            let changes = if added { self.rows.insert(row.clone()) } else { self.rows.remove(row) };
            if !changes {
                continue;
            }
            for key in parts(live, row)? {
                match added {
                    true => *self.keys.entry(key).or_default() += 1,
                    false => match self.keys.get_mut(&key) {
                        Some(count) if *count > 1 => *count -= 1,
                        _ => drop(self.keys.remove(&key)),
                    },
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
