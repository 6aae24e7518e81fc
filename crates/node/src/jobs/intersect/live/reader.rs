//! From what a desk is told of somebody to what it asks.

use tacita_core::{Error, Item, Result};

use super::Live;
use crate::table::Table;
use crate::table::key::encode_part;
use crate::table::normalize::{Profile, Reading};
use crate::table::text::TextColumn;

/// Reads rows as keys.
pub struct Reader {
    /// Logical names, headers and profiles of all columns of the keys, each once.
    columns: Vec<(String, String, Profile)>,
    /// The columns of each key, by their place among all.
    keys: Vec<Vec<usize>>,
}

/// Somebody who is asked for.
pub struct Asked {
    /// The keys that there are, encoded; none where a part is missing.
    pub keys: Vec<Option<Vec<u8>>>,
    /// Columns whose value could not be read.
    pub unreadable: Vec<String>,
}

impl Asked {
    /// Whether it can be asked for: there is a key, and nothing that could not be read.
    pub fn can_be_asked(&self) -> bool {
        self.unreadable.is_empty() && self.keys.iter().any(Option::is_some)
    }

    /// The items of an epoch, one for each key: of a key that there is not, a random one that nobody finds, so that the authority cannot tell.
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
impl std::fmt::Debug for Asked {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Asked({} keys)", self.keys.iter().flatten().count())
    }
}

impl Reader {
    /// For what the party `me` writes.
    pub fn new(live: &Live, me: &str) -> Result<Reader> {
        let key = live.job.key.as_ref().ok_or_else(|| Error::Internal("a list without a key".into()))?;
        let column =
            |(name, profile): (&String, Profile)| (name.clone(), live.job.header(me, name).to_owned(), profile);
        let columns: Vec<_> = key.columns.iter().zip(live.job.profiles(me)).map(column).collect();
        let place = |name: &String| key.columns.iter().position(|column| column == name);
        let keys = match key.any.is_empty() {
            true => vec![(0..columns.len()).collect()],
            false => key.any.iter().map(|columns| columns.iter().filter_map(place).collect()).collect(),
        };
        Ok(Reader { columns, keys })
    }

    /// The columns that somebody is asked for by: of those that one header stands for several times, the first one. Their headers, and the
    /// kind of what they hold.
    pub fn fields(&self) -> Vec<(&str, &'static str)> {
        let mut fields: Vec<(&str, &'static str)> = Vec::new();
        for (_, header, profile) in &self.columns {
            if !fields.iter().any(|(known, _)| known == header) {
                fields.push((header, profile.kind()));
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

    /// What is asked for somebody of whom `value` says what stands under a header.
    pub fn read<'a>(&self, value: impl Fn(&str) -> &'a str) -> Asked {
        let mut unreadable: Vec<String> = Vec::new();
        let mut canonical = String::new();
        let parts: Vec<Option<Vec<u8>>> = (self.columns.iter())
            .map(|(_, header, profile)| {
                canonical.clear();
                match profile.canonical(value(header), &mut canonical) {
                    Reading::Value => {
                        let mut part = Vec::new();
                        encode_part(&canonical, &mut part);
                        Some(part)
                    }
                    Reading::Null => None,
                    Reading::Unreadable => {
                        if !unreadable.contains(header) {
                            unreadable.push(header.clone());
                        }
                        None
                    }
                }
            })
            .collect();
        let key = |columns: &Vec<usize>| {
            let parts: Option<Vec<&[u8]>> = columns.iter().map(|&column| parts[column].as_deref()).collect();
            parts.map(|parts| parts.concat())
        };
        Asked { keys: self.keys.iter().map(key).collect(), unreadable }
    }

    /// What is asked for each row of a table, with the text of the column `reference`, if there is one.
    ///
    /// Errors ([`Error::Input`]): a column of the keys is missing.
    pub fn read_table(&self, table: &Table, reference: Option<&str>) -> Result<Vec<(Asked, String)>> {
        let mut places = Vec::new();
        for (name, header, _) in &self.columns {
            places.push((header.as_str(), table.column(header, name)?));
        }
        let reference = reference.and_then(|name| table.schema().index_of(name).ok());
        let mut rows = Vec::with_capacity(table.rows());
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
                rows.push((self.read(value), reference.to_owned()));
            }
        }
        Ok(rows)
    }
}
