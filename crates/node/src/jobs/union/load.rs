//! Input that a party brings in memory: its table, its keys, and the data given for each of them.

use arrow_schema::Schema;
use tacita_core::primitive::items::items_of;
use tacita_core::{Error, Item, Result};

use super::sizes::{given_columns, hands_over, payload_bytes, rounded};
use crate::agreement::{Duplicates, JobSpec, Reveal, RowsPerKey, Sizes};
use crate::base::hex::hex;
use crate::base::text;
use crate::table::payload::{PayloadEncoder, PayloadSchema, received_name};
use crate::table::{Table, TableKeys};
use crate::watch::warn_own_user;

/// Bytes that say how many rows a key has.
pub(super) const COUNT_BYTES: usize = 4;

/// Texts are filled up to this many bytes at least, and else to a power of two, where no bound is agreed on: a length
/// that nothing has which the receiver gets is that of a common key, and may say which.
pub(super) const MIN_TEXT_BYTES: usize = 32;

/// More bytes than this that are nothing but filling are worth a word.
const FILLING: u64 = 64 << 20;

/// A table that has been read, with its distinct keys.
pub(super) struct Loaded {
    table: Table,
    keys: TableKeys,
    /// Keys to be tried, with their table.
    candidates: Option<(Table, TableKeys)>,
    sizes: Sizes,
}

impl Loaded {
    /// Collects a table's keys, and what is given for them.
    pub(super) fn of(job: &JobSpec, me: &str, table: Table, allow_unreadable: bool) -> Result<Loaded> {
        check_names(job, me, table.source(), table.schema())?;
        let (keys, warnings) = TableKeys::build(&table, &job.key_spec(me, allow_unreadable)?)?;
        for warning in warnings {
            warn_own_user(&warning);
        }
        let mut sizes = Sizes { items: keys.len() as u64, ..Sizes::default() };
        let rows = (0..keys.len()).map(|key| keys.rows(key).len() as u64).sum();
        if hands_over(job, me) {
            let (giver, given) = Giver::new(job, me, &table, &keys)?;
            if let Some(filling) = giver.encoder.filling() {
                tracing::warn!("{filling}");
            }
            if let Some(filling) = filling(&given, rows, keys.most_rows(), table.source(), || fullest(&table, &keys)) {
                tracing::warn!("{filling}");
            }
            sizes = given;
        }
        check_limits(job, me, table.source(), rows, &mut sizes)?;
        Ok(Loaded { table, keys, candidates: None, sizes })
    }

    /// The same, with the keys of another table to be tried.
    pub(super) fn trying(self, job: &JobSpec, me: &str, candidates: Table, allow_unreadable: bool) -> Result<Loaded> {
        let (keys, warnings) = TableKeys::build(&candidates, &job.key_spec(me, allow_unreadable)?)?;
        for warning in warnings {
            warn_own_user(&warning);
        }
        Ok(Loaded { candidates: Some((candidates, keys)), ..self })
    }

    /// The keys to be tried, with their table.
    pub(super) fn candidates(&self) -> Option<&(Table, TableKeys)> {
        self.candidates.as_ref()
    }

    /// The distinct keys, sorted.
    pub(super) fn keys(&self) -> &TableKeys {
        &self.keys
    }

    /// Returns the table of this party.
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// Returns the sizes that are announced to the peer.
    pub(super) fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// Returns the encoder of the data that this party gives for each key.
    pub(super) fn giver(&self, job: &JobSpec, me: &str) -> Result<Giver<'_>> {
        Giver::new(job, me, &self.table, &self.keys).map(|(giver, _)| giver)
    }

    /// The items of the keys, in their order.
    pub(super) fn items(&self, item_key: &[u8; 32]) -> Vec<Item> {
        items(&self.keys, item_key)
    }
}

/// The items of keys, in their order.
pub(super) fn items(keys: &TableKeys, item_key: &[u8; 32]) -> Vec<Item> {
    items_of(item_key, keys.len(), |key| keys.key(key))
}

/// Makes what a party gives for its keys: how many rows one has, and the rows, as many for each as the key has that has
/// most.
pub(super) struct Giver<'a> {
    keys: &'a TableKeys,
    encoder: PayloadEncoder<'a>,
    counted: bool,
    bytes: usize,
}

impl<'a> Giver<'a> {
    fn new(job: &JobSpec, me: &str, table: &'a Table, keys: &'a TableKeys) -> Result<(Giver<'a>, Sizes)> {
        let (columns, texts) = given_headers(job, me);
        let longest = job.limits.max_text.map(|bytes| bytes as usize);
        let mut encoder = PayloadEncoder::with_texts(table, keys, &columns, texts, longest)?;
        if longest.is_none() {
            encoder.round(MIN_TEXT_BYTES)?;
        }
        let mut sizes = Sizes { items: keys.len() as u64, ..Sizes::default() };
        let place = || fullest(table, keys);
        let bytes = announce(job, me, encoder.schema(), keys.most_rows(), &mut sizes, table.source(), place)?;
        Ok((Giver { keys, encoder, counted: counts_rows(job), bytes }, sizes))
    }

    /// Appends what is given for a key.
    pub(super) fn give(&self, key: usize, out: &mut Vec<u8>) {
        let (rows, end) = (self.keys.rows(key), out.len() + self.bytes);
        if self.counted {
            out.extend_from_slice(&(rows.len() as u32).to_le_bytes());
        }
        rows.iter().for_each(|&row| self.encoder.encode_row(row, out));
        out.resize(end, 0);
    }
}

/// Returns the place of the first row of the key that has most.
fn fullest(table: &Table, keys: &TableKeys) -> String {
    let fullest = (0..keys.len()).find(|&key| keys.rows(key).len() == keys.most_rows());
    fullest.map_or(String::new(), |key| table.place(keys.rows(key)[0] as usize))
}

/// Returns a warning for the user about a key with so many rows that padding all others takes much. The key has
/// `most` of the `rows`, and is at `place`.
pub(super) fn filling(
    sizes: &Sizes,
    rows: u64,
    most: usize,
    source: &str,
    place: impl FnOnce() -> String,
) -> Option<String> {
    let (each, row_bytes) = (u64::from(sizes.each.as_ref()?.rows), u64::from(sizes.row_bytes));
    let given = each.saturating_mul(sizes.items);
    let bytes = given.saturating_sub(rows).saturating_mul(row_bytes);
    (bytes > FILLING && bytes > 3 * rows * row_bytes).then(|| {
        format!(
            "{source}, {}: this key has {}, and every key is padded to as many rows, which sends {} more than the rows are. \
             Agree on duplicates = \"first\", or mend the table",
            place(),
            text::counted(most as u64, "row"),
            text::bytes(bytes)
        )
    })
}

/// Whether it is said for each key how many rows it has.
pub(super) fn counts_rows(job: &JobSpec) -> bool {
    job.key.as_ref().is_some_and(|key| key.duplicates == Duplicates::All)
}

/// The columns that a party gives, each with its header in the table, and how many of the first are given as text.
pub(super) fn given_headers(job: &JobSpec, me: &str) -> (Vec<(String, String)>, usize) {
    let (columns, texts) = given_columns(job, me);
    (columns.into_iter().map(|column| (column.clone(), job.header(me, &column).to_owned())).collect(), texts)
}

/// Notes in a sender's sizes what it gives: rows of this schema, and for each key as many as the one that has `most`,
/// rounded up to a power of two. Returns the bytes for a key. `place` says where that key is in the table `source`.
pub(super) fn announce(
    job: &JobSpec,
    me: &str,
    schema: &PayloadSchema,
    most: usize,
    sizes: &mut Sizes,
    source: &str,
    place: impl FnOnce() -> String,
) -> Result<usize> {
    let rows = u32::try_from(rounded(most as u64)).unwrap_or(u32::MAX);
    sizes.row_bytes = schema.row_bytes() as u32;
    sizes.schema = hex(&schema.encode());
    sizes.each = Some(RowsPerKey { rows, profiles: job.profiles(me).iter().map(ToString::to_string).collect() });
    payload_bytes(job, sizes).ok_or_else(|| {
        Error::Input(format!(
            "{source}, {}: its key has {}, and every key is padded to as many rows, which takes more than 1 MiB for each key. \
             Mend the table, or agree on duplicates = \"first\"",
            place(),
            text::counted(most as u64, "row")
        ))
    })
}

/// Refuses a table with a column that is called as one that this party will get: both would stand in its result.
pub(super) fn check_names(job: &JobSpec, me: &str, source: &str, schema: &Schema) -> Result<()> {
    if job.reveal != Reveal::Rows || !job.learns(me) {
        return Ok(());
    }
    let key = job.key.as_ref().map_or(&[][..], |key| &key.columns);
    let headers: Vec<&str> = key.iter().map(|name| job.header(me, name)).collect();
    if let Some(place) = (1..headers.len()).find(|&place| headers[..place].contains(&headers[place])) {
        return Err(Error::Input(format!(
            "{}: two columns of the key are mapped to the one column {:?}, which cannot hold the other party's two: give the \
             table a column for each",
            source, headers[place]
        )));
    }
    let peer = job.peer_of(me);
    let got: Vec<_> = job.given_by(peer).iter().map(|column| received_name(peer, column)).collect();
    match schema.fields().iter().find(|field| got.contains(field.name())) {
        Some(field) => Err(Error::Input(format!(
            "{source}: a column is called {:?}, as the one that {peer} gives will be in the result: rename it, or leave it out",
            field.name()
        ))),
        None => Ok(()),
    }
}

/// Own sizes against the job's limits, of a table with so many rows that have a key; a receiver's become the bound that
/// it pads to.
pub(super) fn check_limits(job: &JobSpec, me: &str, source: &str, rows: u64, sizes: &mut Sizes) -> Result<()> {
    let rows = if sizes.each.is_some() { rows } else { sizes.items };
    let over = |limit: &str, bound: u64| {
        Err(Error::Input(format!(
            "{source}: {} with a key, and limits.{limit} is {}: agree on more",
            text::counted(rows, "row"),
            text::count(bound)
        )))
    };
    if let Some(limit) = job.limits.max_rows.filter(|&limit| rows > limit) {
        return over("max_rows", limit);
    }
    if let Some(bound) = job.limits.pad_to.filter(|_| job.learns(me)) {
        if sizes.items > bound {
            return over("pad_to", bound);
        }
        sizes.items = bound;
    }
    Ok(())
}
