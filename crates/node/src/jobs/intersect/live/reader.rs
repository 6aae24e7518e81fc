//! Reader that turns a desk's data about a person into the query.

use std::collections::BTreeMap;

use tacita_core::{Error, Item, Result};

use super::Live;
use crate::table::Table;
use crate::table::key::encode_part;
use crate::table::normalize::{Profile, Reading};
use crate::table::text::TextColumn;

/// Reads rows as keys.
pub struct KeyReader {
    /// Logical names, headers and profiles of all columns of the keys, each once.
    columns: Vec<(String, String, Profile)>,
    /// The columns of each key, by their place among all.
    keys: Vec<Vec<usize>>,
}

/// A column that somebody is asked for by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryColumn {
    /// Header of the field.
    pub header: String,
    /// Profiles with which its values are read: several if several columns of the keys stand under one header.
    pub profiles: Vec<Profile>,
}

/// Somebody who is asked for.
#[derive(Clone)]
pub struct QueryRow {
    /// The keys that there are, encoded; none where a part is missing or cannot be read.
    pub keys: Vec<Option<Vec<u8>>>,
    /// Headers whose value no profile of theirs can read.
    pub unreadable: Vec<String>,
    /// Headers without a value.
    pub missing: Vec<String>,
}

impl QueryRow {
    /// Whether it can be asked for: there is a key, and nothing that could not be read.
    pub fn can_be_asked(&self) -> bool {
        self.unreadable.is_empty() && self.has_key()
    }

    /// Whether there is a key.
    pub fn has_key(&self) -> bool {
        self.keys.iter().any(Option::is_some)
    }

    /// Returns why it lacks some or all keys: its columns that cannot be read, and those without a value.
    pub fn why_not(&self) -> String {
        let of =
            |what: &str, headers: &[String]| (!headers.is_empty()).then(|| format!("{what} {}", headers.join(", ")));
        let parts = [of("cannot be read:", &self.unreadable), of("no value:", &self.missing)];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// The items of an epoch, one for each key: of a key that there is not, a random one that nobody finds, so that the
    /// authority cannot tell.
    pub fn items(&self, keys: &[[u8; 32]], rng: &mut impl rand_core::CryptoRng) -> Vec<Item> {
        let mut item = |(own, key): (&Option<Vec<u8>>, &[u8; 32])| match own {
            Some(own) => Item::new(key, own),
            None => {
                let mut random = [0; 32];
                rng.fill_bytes(&mut random);
                Item(random)
            }
        };
        self.keys.iter().zip(keys).map(&mut item).collect()
    }
}

/// Keys are never printed.
impl std::fmt::Debug for QueryRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Asked({} keys)", self.keys.iter().flatten().count())
    }
}

/// Outcome of reading the values under one header, all profiles together.
#[derive(Default)]
struct Seen {
    read: bool,
    unreadable: bool,
}

impl KeyReader {
    /// For what the party `me` writes.
    pub fn new(live: &Live, me: &str) -> Result<KeyReader> {
        let key = live.job.key.as_ref().ok_or_else(|| Error::Internal("a list without a key".into()))?;
        let column =
            |(name, profile): (&String, Profile)| (name.clone(), live.job.header(me, name).to_owned(), profile);
        let columns: Vec<_> = key.columns.iter().zip(live.job.profiles(me)).map(column).collect();
        let place = |name: &String| key.columns.iter().position(|column| column == name);
        let keys = if key.any.is_empty() {
            vec![(0..columns.len()).collect()]
        } else {
            key.any.iter().map(|columns| columns.iter().filter_map(place).collect()).collect()
        };
        Ok(KeyReader { columns, keys })
    }

    /// The columns that somebody is asked for by, each header once.
    pub fn fields(&self) -> Vec<QueryColumn> {
        self.fields_of(0..self.columns.len())
    }

    /// Returns the fields of one key.
    pub fn fields_of_key(&self, key: usize) -> Vec<QueryColumn> {
        self.fields_of(self.keys[key].iter().copied())
    }

    fn fields_of(&self, columns: impl Iterator<Item = usize>) -> Vec<QueryColumn> {
        let mut fields: Vec<QueryColumn> = Vec::new();
        for (_, header, profile) in columns.map(|column| &self.columns[column]) {
            match fields.iter_mut().find(|field| field.header == *header) {
                Some(field) => field.profiles.push(*profile),
                None => fields.push(QueryColumn { header: header.clone(), profiles: vec![*profile] }),
            }
        }
        fields
    }

    /// The columns of each key, for people.
    pub fn key_names(&self) -> Vec<String> {
        let names =
            |columns: &Vec<usize>| columns.iter().map(|&column| self.columns[column].0.as_str()).collect::<Vec<_>>();
        self.keys.iter().map(|columns| names(columns).join(" + ")).collect()
    }

    /// The keys of somebody of whom `value` says what stands under a header. A value that one profile reads and another
    /// does not, as a year alone, makes the keys that it can.
    pub fn read<'a>(&self, value: impl Fn(&str) -> &'a str) -> QueryRow {
        let mut seen: Vec<(&str, Seen)> = Vec::new();
        let mut canonical = String::new();
        let mut parts: Vec<Option<Vec<u8>>> = Vec::with_capacity(self.columns.len());
        for (_, header, profile) in &self.columns {
            canonical.clear();
            let reading = profile.canonical(value(header), &mut canonical);
            let place = seen.iter().position(|(known, _)| known == header).unwrap_or_else(|| {
                seen.push((header, Seen::default()));
                seen.len() - 1
            });
            let seen = &mut seen[place].1;
            parts.push(match reading {
                Reading::Value => {
                    seen.read = true;
                    let mut part = Vec::new();
                    encode_part(&canonical, &mut part);
                    Some(part)
                }
                Reading::Null => None,
                Reading::Unreadable => {
                    seen.unreadable = true;
                    None
                }
            });
        }
        let of = |wanted: fn(&Seen) -> bool| {
            let of = seen.iter().filter(|(_, seen)| wanted(seen)).map(|(header, _)| (*header).to_owned());
            of.collect::<Vec<_>>()
        };
        let key = |columns: &Vec<usize>| {
            let parts: Option<Vec<&[u8]>> = columns.iter().map(|&column| parts[column].as_deref()).collect();
            parts.map(|parts| parts.concat())
        };
        QueryRow {
            keys: self.keys.iter().map(key).collect(),
            unreadable: of(|seen| seen.unreadable && !seen.read),
            missing: of(|seen| !seen.unreadable && !seen.read),
        }
    }

    /// The keys of each row of a table, with the text of the column `reference`, if one is named. Columns whose headers
    /// are among `names` are called otherwise in this table.
    ///
    /// Errors ([`Error::Input`]): a column of the keys, or that of references, is not there.
    pub fn read_table(
        &self,
        table: &Table,
        names: &BTreeMap<String, String>,
        reference: Option<&str>,
    ) -> Result<Vec<(QueryRow, String)>> {
        let mut rows = Vec::with_capacity(table.rows());
        self.visit(table, names, reference, |_, asked, reference| rows.push((asked(), reference.to_owned())))?;
        Ok(rows)
    }

    /// Calls `visit` for each row with its number, what makes its keys, and its reference.
    pub(super) fn visit(
        &self,
        table: &Table,
        names: &BTreeMap<String, String>,
        reference: Option<&str>,
        mut visit: impl FnMut(usize, &dyn Fn() -> QueryRow, &str),
    ) -> Result<()> {
        let mut places = Vec::new();
        for (name, header, _) in &self.columns {
            let own = names.get(header).unwrap_or(header);
            places.push((header.as_str(), table.column(own, name)?));
        }
        let position = |name| {
            table.schema().index_of(name).map_err(|_| {
                Error::Input(format!(
                    "{}: no column {name:?} for references; its columns are {}",
                    table.source(),
                    table.column_names()
                ))
            })
        };
        let reference = reference.map(position).transpose()?;
        let mut number = 0;
        for batch in table.batches() {
            let text = |place: usize| {
                TextColumn::new(batch.column(place)).ok_or_else(|| {
                    let name = table.schema().field(place).name();
                    Error::Input(format!("{}: column {name:?} is of a type without text", table.source()))
                })
            };
            let texts: Vec<_> =
                places.iter().map(|&(header, place)| Ok((header, text(place)?))).collect::<Result<_>>()?;
            let references = reference.map(text).transpose()?;
            for row in 0..batch.num_rows() {
                let value = |header: &str| {
                    let column = texts.iter().find(|(known, _)| *known == header);
                    column.and_then(|(_, column)| column.get(row)).unwrap_or_default()
                };
                let reference = references.as_ref().and_then(|column| column.get(row)).unwrap_or_default();
                visit(number, &|| self.read(value), reference);
                number += 1;
            }
        }
        Ok(())
    }
}
