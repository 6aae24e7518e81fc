//! What a party brings in memory: its table, its keys, and what it gives for each of them.

use arrow_schema::Schema;
use tacita_core::{Error, Item, Result};
use zeroize::Zeroizing;

use super::sizes::{given_columns, payload_bytes, sends};
use crate::agreement::{Duplicates, Each, JobSpec, Reveal, Sizes};
use crate::base::hex::hex;
use crate::base::text;
use crate::jobs::intersect::key_spec;
use crate::table::payload::{PayloadEncoder, PayloadSchema, received_name};
use crate::table::{Keys, Table};
use crate::watch::warn_own_user;

/// Bytes that say how many rows a key has.
pub(super) const COUNT_BYTES: usize = 4;

/// A table that has been read, with its distinct keys.
pub(super) struct Loaded {
    table: Table,
    keys: Keys,
    /// What is given for each key, of a party that gives.
    payloads: Option<Zeroizing<Vec<u8>>>,
    sizes: Sizes,
}

impl Loaded {
    /// Collects a table's keys, and what is given for them.
    pub(super) fn of(job: &JobSpec, me: &str, table: Table, allow_unreadable: bool) -> Result<Loaded> {
        check_names(job, me, table.source(), table.schema())?;
        let (keys, warnings) = Keys::build(&table, &key_spec(job, me, allow_unreadable)?)?;
        for warning in warnings {
            warn_own_user(&warning);
        }
        let mut sizes = Sizes { items: keys.len() as u64, ..Sizes::default() };
        let payloads = match sends(job, me) && job.reveal == Reveal::Rows {
            true => Some(encode(job, me, &table, &keys, &mut sizes)?),
            false => None,
        };
        let rows = (0..keys.len()).map(|key| keys.rows(key).len() as u64).sum();
        check_limits(job, me, table.source(), rows, &mut sizes)?;
        Ok(Loaded { table, keys, payloads, sizes })
    }

    /// The distinct keys, sorted.
    pub(super) fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The table.
    pub(super) fn table(&self) -> &Table {
        &self.table
    }

    /// How much it is, as the peer is told.
    pub(super) fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// What is given for each key, one after the other.
    pub(super) fn payloads(&self) -> Result<&[u8]> {
        self.payloads.as_ref().map(|payloads| &payloads[..]).ok_or_else(|| Error::Internal("nothing is given".into()))
    }

    /// The items of the keys, in their order.
    pub(super) fn items(&self, item_key: &[u8; 32]) -> Vec<Item> {
        (0..self.keys.len()).map(|key| Item::new(item_key, self.keys.key(key))).collect()
    }
}

/// What is given for each key: how many rows it has, and the rows, as many for each as the key has that has most.
fn encode(job: &JobSpec, me: &str, table: &Table, keys: &Keys, sizes: &mut Sizes) -> Result<Zeroizing<Vec<u8>>> {
    let (columns, texts) = given_headers(job, me);
    let longest = job.limits.max_text.map(|bytes| bytes as usize);
    let encoder = PayloadEncoder::with_texts(table, keys, &columns, texts, longest)?;
    if let Some(filling) = encoder.filling() {
        tracing::warn!("{filling}");
    }
    let place = || {
        let fullest = (0..keys.len()).max_by_key(|&key| keys.rows(key).len()).unwrap_or(0);
        table.place(keys.rows(fullest).first().copied().unwrap_or(0) as usize)
    };
    let bytes = announce(job, me, encoder.schema(), keys.most_rows(), sizes, table.source(), place)?;
    let counted = counts_rows(job);
    let mut payloads = Zeroizing::new(Vec::with_capacity(bytes * keys.len()));
    for key in 0..keys.len() {
        let rows = keys.rows(key);
        if counted {
            payloads.extend_from_slice(&(rows.len() as u32).to_le_bytes());
        }
        rows.iter().for_each(|&row| encoder.encode_row(row, &mut payloads));
        payloads.resize(bytes * (key + 1), 0);
    }
    Ok(payloads)
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

/// Notes in a sender's sizes what it gives: rows of this schema, and for each key as many as the one that has `most`. Returns the bytes
/// for a key. `place` says where that key is in the table `source`.
pub(super) fn announce(
    job: &JobSpec,
    me: &str,
    schema: &PayloadSchema,
    most: usize,
    sizes: &mut Sizes,
    source: &str,
    place: impl FnOnce() -> String,
) -> Result<usize> {
    let most = most.max(1);
    sizes.row_bytes = schema.row_bytes() as u32;
    sizes.schema = hex(&schema.encode());
    sizes.each = Some(Each { rows: most as u32, profiles: job.profiles(me).iter().map(ToString::to_string).collect() });
    payload_bytes(job, sizes).ok_or_else(|| {
        Error::Input(format!(
            "{source}, {}: its key has {}, and all keys are given as many rows as the one that has most, so that nobody sees which has \
             how many: that is more than 1 MiB for each. Mend the table, or agree on duplicates = \"first\"",
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

/// Own sizes against the job's limits, of a table with so many rows that have a key; a receiver's become the bound that it pads to.
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
