//! Values that a party gives for its keys: numbers to be summed, or categories to be counted.

use std::collections::BTreeMap;

use arrow_schema::DataType;
use tacita_core::protocol::intersect::outsourced::{
    MAX_CATEGORIES, MAX_NAME_BYTES, OutsourcedGiven, OutsourcedValues, Params,
};
use tacita_core::protocol::intersect::tag_exchange::Payload;
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::super::Loaded;
use super::super::load::given_columns;
use crate::agreement::{JobSpec, Reveal};
use crate::base::hex::unhex;
use crate::base::text::{count, shown};
use crate::table::PayloadSchema;
use crate::table::text::TextColumn;

/// Values that a party gives.
pub enum Values {
    /// No values are given.
    Nothing,
    /// A number for each key.
    Numbers(Zeroizing<Vec<u64>>),
    /// The place of each key's category among these.
    Categories(Zeroizing<Vec<u32>>, Vec<Vec<u8>>),
    /// The columns that rows have, and the rows of each key.
    Rows(Vec<u8>, Payload),
}

impl Values {
    /// Returns the values that `me` gives in this job.
    pub fn of(job: &JobSpec, me: &str, loaded: &Loaded) -> Result<Values> {
        match (&job.reveal, job.reveal.columns()) {
            (Reveal::Payload, _) => rows(job, me, loaded),
            _ if job.number_giver() != Some(me) => Ok(Values::Nothing),
            (Reveal::Sum(_), [column]) => numbers(job, column, loaded),
            (Reveal::CountsBy(_), [column]) => categories(job, me, column, loaded),
            _ => Ok(Values::Nothing),
        }
    }

    /// The same for the protocol.
    pub fn given(&self) -> OutsourcedValues<'_> {
        match self {
            Values::Nothing => OutsourcedValues::Nothing,
            Values::Numbers(numbers) => OutsourcedValues::Numbers(numbers),
            Values::Categories(of_keys, names) => OutsourcedValues::Categories(of_keys, names),
            Values::Rows(schema, rows) => OutsourcedValues::Rows(schema, rows),
        }
    }
}

/// The rows that `me` gives, filled up to the length that is agreed on for them.
fn rows(job: &JobSpec, me: &str, loaded: &Loaded) -> Result<Values> {
    let (Some(own), Some(columns)) = (loaded.given_rows(), given_columns(job, me)) else { return Ok(Values::Nothing) };
    let [row_bytes, _] = PayloadSchema::most_bytes(columns, job.limits.max_text.unwrap_or_default())?;
    let mut rows = Payload::new(row_bytes);
    let mut filled = Vec::new();
    for key in 0..own.items() {
        filled.clear();
        for row in own.item(key).chunks(own.row_bytes()) {
            filled.extend_from_slice(row);
            filled.resize(filled.len().next_multiple_of(row_bytes), 0);
        }
        rows.push(own.rows_of(key), &filled)?;
    }
    let schema = unhex(&loaded.sizes().schema).unwrap_or_default();
    Ok(Values::Rows(schema, rows))
}

/// The columns that rows have which `giver` has given, and the rows without what fills them up.
pub fn given(job: &JobSpec, giver: &str, given: &OutsourcedGiven) -> Result<(PayloadSchema, Payload)> {
    let schema = PayloadSchema::decode(&given.head, giver, job.given_by(giver))?;
    let bytes = schema.row_bytes();
    if !schema.is_filled_up_to(job.limits.max_text.unwrap_or_default()) || bytes > given.rows.row_bytes() {
        let check = "its given texts are not filled up to limits.max_text".into();
        return Err(Error::Protocol { peer: giver.to_owned(), check });
    }
    let mut rows = Payload::new(bytes);
    for item in 0..given.rows.items() {
        let own = given.rows.item(item).chunks(given.rows.row_bytes()).flat_map(|row| &row[..bytes]);
        rows.push(given.rows.rows_of(item), &own.copied().collect::<Vec<_>>())?;
    }
    Ok((schema, rows))
}

fn numbers(job: &JobSpec, column: &str, loaded: &Loaded) -> Result<Values> {
    let bits = Params::value_bits(job.limits.pad_to.unwrap_or_default() as usize);
    let sums = loaded.numbers_to_send()?;
    let fits = |sum: &i128| u64::try_from(*sum).ok().filter(|sum| sum >> bits == 0);
    let numbers: Option<Vec<u64>> = sums.iter().map(fits).collect();
    let numbers = numbers.ok_or_else(|| {
        let scaled = match job.summed_decimals() {
            0 => String::new(),
            decimals => format!(" (as integers, with {decimals} decimals)"),
        };
        Error::Input(format!(
            "{}: the numbers of column {:?} add up to less than 0, or to more than {}{scaled}, for some key: a helper \
             sums only from 0 to that; scale them down, or agree on a lower limits.pad_to",
            loaded.table().source(),
            shown(column),
            count((1 << bits) - 1)
        ))
    })?;
    Ok(Values::Numbers(Zeroizing::new(numbers)))
}

fn categories(job: &JobSpec, me: &str, column: &str, loaded: &Loaded) -> Result<Values> {
    let (table, keys) = (loaded.table(), loaded.keys());
    let header = job.header(me, column);
    let position = table.column(header, column)?;
    let mut texts: Vec<String> = Vec::with_capacity(table.rows());
    for batch in table.batches() {
        let cast = arrow_cast::cast(batch.column(position), &DataType::Utf8);
        let text = cast.ok().and_then(|array| TextColumn::new(&array)).ok_or_else(|| {
            Error::Input(format!(
                "{}: column {header:?} holds no categories: use one of texts or numbers",
                table.source()
            ))
        })?;
        texts.extend((0..batch.num_rows()).map(|row| text.get(row).unwrap_or_default().to_owned()));
    }
    let mut names: BTreeMap<&str, u32> = BTreeMap::new();
    let mut of_keys = Zeroizing::new(Vec::with_capacity(keys.len()));
    for key in 0..keys.len() {
        let rows = keys.rows(key);
        let mut own = rows.iter().map(|row| texts[*row as usize].as_str());
        let name = own.next().unwrap_or_default();
        if let Some(at) = own.position(|other| other != name) {
            return Err(Error::Input(format!(
                "{}: column {header:?} has different categories in {} and {}, which have the same key: give each key one \
                 category, or agree on duplicates = \"first\"",
                table.source(),
                table.place(rows[0] as usize),
                table.place(rows[at + 1] as usize)
            )));
        }
        if name.len() > MAX_NAME_BYTES {
            return Err(Error::Input(format!(
                "{}: {}: the category in column {header:?} is longer than {MAX_NAME_BYTES} bytes: shorten it",
                table.source(),
                table.place(rows[0] as usize)
            )));
        }
        let next = names.len() as u32;
        of_keys.push(*names.entry(name).or_insert(next));
    }
    if names.len() > MAX_CATEGORIES {
        return Err(Error::Input(format!(
            "{}: column {header:?} has {} categories, and at most {} can be counted: agree on a coarser column",
            table.source(),
            count(names.len() as u64),
            count(MAX_CATEGORIES as u64)
        )));
    }
    let mut in_order = vec![Vec::new(); names.len()];
    names.into_iter().for_each(|(name, place)| in_order[place as usize] = name.as_bytes().to_vec());
    Ok(Values::Categories(of_keys, in_order))
}
