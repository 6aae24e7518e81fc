//! `intersect` between two parties: from a table to the rows or the number that a party learns.

pub mod disk;
pub mod prepared;

use std::borrow::Cow;
use std::path::Path;

use rand_core::CryptoRng;
use rayon::prelude::*;
use serde_json::json;
use tacita_core::channel::{Channel, MAX_PAYLOAD_BYTES};
use tacita_core::primitive::paillier::KeySize;
use tacita_core::protocol::intersect::ecdh::{self, Domain};
use tacita_core::protocol::intersect::entries::{Common, Params, Payload, SEAL_BYTES};
use tacita_core::protocol::intersect::{bloom, vole};
use tacita_core::{Error, Item, Result};
use zeroize::Zeroizing;

use crate::agreement::handshake::Agreed;
use crate::agreement::{JobSpec, Protocol, Reveal, Sizes};
use crate::base::hex::{hex, unhex};
use crate::base::text;
use crate::console;
use crate::jobs::answer::Told;
use crate::jobs::intersect::disk::{self, Disk};
use crate::jobs::intersect::prepared::{self, Prepared};
use crate::run::party::Source;
use crate::table::numbers::{self, decimal, to_json};
use crate::table::payload::{PayloadEncoder, PayloadSchema};
use crate::table::{KeyColumn, KeySpec, Keys, ReadOptions, RowCounts, Selection, Table, output, read, select};

/// What a party brings to an intersection.
pub enum Brought {
    /// A table and its keys.
    Table(Box<Loaded>),
    /// The sender's part, made earlier.
    Prepared(Box<Prepared>),
    /// A table on disk, sorted by its keys.
    Disk(Box<Disk>),
}

/// A table that has been read, with its distinct keys.
pub struct Loaded {
    table: Table,
    keys: Keys,
    given: Option<Given>,
    /// A number for each key, where this party's are added up.
    numbers: Option<Zeroizing<Vec<i128>>>,
    sizes: Sizes,
}

/// The columns that a party gives.
struct Given {
    schema: PayloadSchema,
    rows: Payload,
}

/// What a party has found in common with the other.
pub enum Found {
    /// It is not meant to learn anything.
    Nothing,
    /// Indices of its keys that are common.
    Rows(Vec<usize>),
    /// The same, on disk.
    OnDisk,
    /// The same, with the other party's rows, where it gave columns.
    Payload(Vec<usize>, Option<(PayloadSchema, Payload)>),
    /// How many keys are common.
    Count(u64),
    /// How many keys are common, and the sum of a column over their rows.
    Sum(ecdh::sum::Total),
}

/// The most that an entry has besides its row: a tag and an authenticator.
const ENTRY_OVERHEAD: usize = 32 + SEAL_BYTES;

impl Brought {
    /// Reads and normalises a party's data.
    pub fn load(job: &JobSpec, me: &str, source: &Source) -> Result<Brought> {
        match source {
            Source::File { path, options, allow_unreadable } => {
                Ok(Brought::Table(Box::new(Loaded::read(job, me, path, options, *allow_unreadable)?)))
            }
            Source::Prepared { directory, check } => {
                let prepared = Prepared::open(directory, job, me)?;
                if let Some((path, options)) = check {
                    prepared.check_data(&Loaded::read(job, me, path, options, true)?)?;
                }
                Ok(Brought::Prepared(Box::new(prepared)))
            }
            Source::Disk { path, options, allow_unreadable, work } => {
                Ok(Brought::Disk(Box::new(Disk::load(job, me, path, options, *allow_unreadable, work)?)))
            }
            Source::Shares(_) => Err(Error::Internal("an intersection of shares".into())),
        }
    }

    /// How much it is, as the peer is told.
    pub fn sizes(&self) -> Sizes {
        match self {
            Brought::Table(loaded) => loaded.sizes.clone(),
            Brought::Prepared(prepared) => prepared.sizes(),
            Brought::Disk(disk) => disk.sizes(),
        }
    }

    /// What became of the input's rows.
    pub fn row_counts(&self) -> RowCounts {
        match self {
            Brought::Table(loaded) => loaded.keys.counts(),
            Brought::Prepared(prepared) => prepared.row_counts(),
            Brought::Disk(disk) => disk.row_counts(),
        }
    }
}

impl Loaded {
    /// Reads a table, collects its keys, and the rows to be given.
    pub fn read(job: &JobSpec, me: &str, path: &Path, options: &ReadOptions, allow_unreadable: bool) -> Result<Loaded> {
        Loaded::of(job, me, read(path, options)?, allow_unreadable)
    }

    /// As [`Loaded::read`], of a table that has been read.
    pub fn of(job: &JobSpec, me: &str, table: Table, allow_unreadable: bool) -> Result<Loaded> {
        let spec = key_spec(job, me, allow_unreadable)?;
        let (keys, warnings) = Keys::build(&table, &spec)?;
        for warning in warnings {
            console::warn_own_user(&warning);
        }
        let given = match given_columns(job, me) {
            Some(columns) => Some(Given::encode(job, me, columns, &table, &keys)?),
            None => None,
        };
        let numbers = match job.summed() {
            Some((giver, column)) if giver == me => Some(add_up(job, me, column, &table, &keys)?),
            _ => None,
        };
        let mut sizes = Sizes { items: keys.len() as u64, ..Sizes::default() };
        if let Some(given) = &given {
            sizes.entries = given.rows.rows() as u64;
            sizes.row_bytes = given.rows.row_bytes() as u32;
            sizes.schema = hex(&given.schema.encode());
        }
        check_limits(job, table.source(), &mut sizes)?;
        Ok(Loaded { table, keys, given, numbers, sizes })
    }

    /// The distinct keys, canonically encoded and sorted.
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// The table.
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// How much it is, as the peer is told.
    pub fn sizes(&self) -> &Sizes {
        &self.sizes
    }

    /// The rows that this party gives.
    pub fn given_rows(&self) -> Option<&Payload> {
        self.given.as_ref().map(|given| &given.rows)
    }

    /// The numbers that this party gives to be added up.
    fn numbers_to_send(&self) -> Result<&[i128]> {
        self.numbers.as_ref().map(|numbers| &numbers[..]).ok_or_else(|| Error::Internal("a sum of no numbers".into()))
    }

    /// The rows that this party gives as a sender of `items` items: rows of no bytes if it gives nothing, in a job in
    /// which the receiver does.
    fn rows_to_send(&self, items: usize) -> Result<Cow<'_, Payload>> {
        match self.given_rows() {
            Some(rows) => Ok(Cow::Borrowed(rows)),
            None => empty_rows(items).map(Cow::Owned),
        }
    }

    /// The items of its keys. `key` binds them to a session or to a prepared epoch.
    pub fn items(&self, key: &[u8; 32]) -> Vec<Item> {
        (0..self.keys.len()).into_par_iter().map(|index| Item::new(key, self.keys.key(index))).collect()
    }
}

/// What a party's rows are matched by.
pub fn key_spec(job: &JobSpec, me: &str, allow_unreadable: bool) -> Result<KeySpec> {
    let key = job.key.as_ref().ok_or_else(|| Error::Internal("an intersection without a key".into()))?;
    let columns = key.columns.iter().zip(job.profiles(me)).map(|(name, profile)| KeyColumn {
        name: name.clone(),
        header: job.header(me, name).to_owned(),
        profile,
    });
    Ok(KeySpec { columns: columns.collect(), duplicates: key.duplicates, nulls: key.nulls, allow_unreadable })
}

impl Given {
    fn encode(job: &JobSpec, me: &str, columns: &[String], table: &Table, keys: &Keys) -> Result<Given> {
        let headers: Vec<_> =
            columns.iter().map(|column| (column.clone(), job.header(me, column).to_owned())).collect();
        let encoder = PayloadEncoder::new(table, keys, &headers)?;
        let mut rows = Payload::new(encoder.schema().row_bytes());
        let mut row_bytes = Vec::new();
        for key in 0..keys.len() {
            row_bytes.clear();
            encoder.encode_key(key, &mut row_bytes);
            rows.push(keys.rows(key).len(), &row_bytes)?;
        }
        Ok(Given { schema: encoder.schema().clone(), rows })
    }
}

/// The sum of a column over the rows of each key.
fn add_up(job: &JobSpec, me: &str, column: &str, table: &Table, keys: &Keys) -> Result<Zeroizing<Vec<i128>>> {
    let header = job.header(me, column);
    let sums = numbers::sums(table, &(column.to_owned(), header.to_owned()), job.summed_decimals(), keys)?;
    if sums.absent > 0 {
        tracing::warn!(
            "{}: {} with a key {} to the sum, because column {header:?} is empty there",
            table.source(),
            text::counted(sums.absent as u64, "row"),
            if sums.absent == 1 { "adds nothing" } else { "add nothing" }
        );
    }
    Ok(sums.of_keys)
}

/// The columns that `giver` gives, if somebody else is to learn them.
fn given_columns<'a>(job: &'a JobSpec, giver: &str) -> Option<&'a [String]> {
    let columns = job.given_by(giver);
    let wanted = job.reveal == Reveal::Payload && !columns.is_empty() && job.learns(job.peer_of(giver));
    wanted.then_some(columns)
}

/// Own sizes against the job's limits; where sets are padded, the sizes become the bound.
pub fn check_limits(job: &JobSpec, source: &str, sizes: &mut Sizes) -> Result<()> {
    let most = sizes.items.max(sizes.entries);
    if let Some(limit) = job.limits.max_rows
        && most > limit
    {
        return Err(Error::Input(format!(
            "{source}: {}, and limits.max_rows is {}: agree on a higher limit",
            text::counted(most, "row") + if job.things() == "keys" { " with a key" } else { "" },
            text::count(limit)
        )));
    }
    if let Some(bound) = job.limits.pad_to {
        if most > bound {
            return Err(Error::Input(format!(
                "{source}: {} with a key do not fit limits.pad_to = {}: agree on a higher bound",
                text::counted(most, "row"),
                text::count(bound)
            )));
        }
        sizes.items = bound;
        if !sizes.schema.is_empty() {
            sizes.entries = bound;
        }
    }
    Ok(())
}

/// Checks that the peer's sizes fit the job: what it gives, and what it has prepared.
pub fn check_peer(job: &JobSpec, own: &Sizes, sizes: &Sizes, channel: &Channel) -> Result<()> {
    let peer = channel.peer();
    let refuse = |check: &str| Err(channel.violation(check));
    match given_columns(job, peer) {
        None if sizes.entries != 0 || sizes.row_bytes != 0 || !sizes.schema.is_empty() => {
            return refuse("it announces columns that the terms do not have it give");
        }
        None => (),
        Some(_) => {
            let schema = peer_schema(job, peer, sizes)?;
            if sizes.entries < sizes.items || (sizes.items == 0 && sizes.entries > 0) {
                return refuse("it announces fewer given rows than keys");
            }
            if schema.row_bytes() + ENTRY_OVERHEAD > MAX_PAYLOAD_BYTES {
                return refuse("it announces given rows that do not fit a message");
            }
            if schema.row_bytes() != sizes.row_bytes as usize {
                return refuse("it announces given rows of another length than their columns have");
            }
        }
    }
    disk::check_sizes(job, sizes, channel)?;
    if sizes.epoch.is_some() && disk::is_bucketed(own, sizes) {
        return refuse("it announces a prepared part, which a table on disk cannot use");
    }
    if sizes.epoch.is_some() != sizes.tag_bytes.is_some() {
        return refuse("it announces half a prepared part");
    }
    if sizes.epoch.is_some() {
        if peer == job.receiver() || prepared::check_job(job, peer).is_err() {
            return refuse("it announces a prepared part where none can be used");
        }
        let due = prepared::tag_bytes(job, sizes);
        if epoch(sizes).is_none() || sizes.tag_bytes.is_none_or(|bytes| bytes as usize != due) {
            return refuse("it announces a prepared part that does not fit the terms");
        }
    }
    Ok(())
}

/// The columns that `peer` announces, which must be those that the terms have it give.
fn peer_schema(job: &JobSpec, peer: &str, sizes: &Sizes) -> Result<PayloadSchema> {
    // What is not hexadecimal is no schema either.
    PayloadSchema::decode(&unhex(&sizes.schema).unwrap_or_default(), peer, job.given_by(peer))
}

/// The id of the prepared epoch that `sizes` announce.
fn epoch(sizes: &Sizes) -> Option<[u8; 32]> {
    sizes.epoch.as_deref().and_then(unhex)?.try_into().ok()
}

/// What both parties derive from terms and sizes. `own` are the sizes of `me`.
pub fn params(job: &JobSpec, me: &str, own: &Sizes, theirs: &Sizes) -> Params {
    let (receiver, sender) = if me == job.receiver() { (own, theirs) } else { (theirs, own) };
    let receiver_items = receiver.items as usize;
    let sender_items = sender.items as usize;
    let sender_learns = job.reveal_to.len() > 1;
    let mut params = match job.reveal {
        Reveal::Rows => Params::rows(receiver_items, sender_items),
        Reveal::Count => Params::count(receiver_items, sender_items),
        Reveal::Sum(_) => Params::sum(receiver_items, sender_items, KeySize::of(job.level)),
        Reveal::Payload => {
            let gives = !sender.schema.is_empty();
            let entries = if gives { sender.entries as usize } else { sender_items };
            Params::payload(receiver_items, entries, sender.row_bytes as usize)
        }
        // Job files that say so are refused.
        Reveal::Value | Reveal::Shares | Reveal::Frequent | Reveal::Counts => {
            Params::rows(receiver_items, sender_items)
        }
    };
    if sender_learns {
        params = params.to_both();
        if job.reveal == Reveal::Payload && !receiver.schema.is_empty() {
            params = params.returning(receiver.entries as usize, receiver.row_bytes as usize);
        }
    }
    if let Some(tag_bytes) = sender.tag_bytes {
        params.tag_bytes = tag_bytes as usize;
    }
    params
}

/// SoftSpoken's k in `bloom`: 4 bytes a slot beside the slot's own 16. With a larger one hardly less would travel.
const BLOOM_EXTENSION: usize = 4;

/// What `bloom` runs with: filters for the larger set of `sizes`.
pub fn bloom_params(job: &JobSpec, sizes: &Params) -> Result<bloom::Params> {
    match bloom::Strength::of(job.level) {
        Some(strength) => bloom::Params::new(sizes.receiver_items.max(sizes.sender_entries), strength, BLOOM_EXTENSION),
        None => Err(Error::Internal(format!("bloom of level {}", job.level))),
    }
}

/// Runs the protocol in the role that the job gives to `me`.
pub fn run(
    job: &JobSpec,
    me: &str,
    brought: &Brought,
    agreed: &Agreed,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Found> {
    if disk::is_bucketed(&agreed.own_sizes, &agreed.peer_sizes) {
        return run_buckets(job, me, brought, agreed, channel, rng);
    }
    let params = params(job, me, &agreed.own_sizes, &agreed.peer_sizes);
    let loaded = match brought {
        Brought::Prepared(prepared) => return prepared.send(job, me, &params, channel),
        Brought::Table(loaded) => loaded,
        Brought::Disk(_) => return Err(Error::Internal("a table on disk in a run in memory".into())),
    };
    let (item_key, domain) = match epoch(&agreed.peer_sizes) {
        Some(epoch) => {
            let epoch = prepared::bound_epoch(job, job.peer_of(me), &epoch);
            (item_key_of_epoch(&epoch), Domain::of_epoch(&epoch))
        }
        None => (agreed.session.derive("item"), Domain::of_session(&agreed.session)),
    };
    let items = loaded.items(&item_key);
    let receives = me == job.receiver();
    if agreed.chosen.protocol == Protocol::Vole {
        let params = vole::Params::new(params, job.security)?;
        return run_vole(job, me, loaded, &items, &params, agreed, channel, rng);
    }
    if agreed.chosen.protocol == Protocol::Bloom {
        let params = bloom_params(job, &params)?;
        return match receives {
            true => Ok(Found::Rows(bloom::receive(&items, &params, &agreed.session, channel, rng)?)),
            false => bloom::send(&items, &params, &agreed.session, channel, rng).map(|()| Found::Nothing),
        };
    }
    match (&job.reveal, receives) {
        (Reveal::Rows, true) => Ok(Found::Rows(ecdh::rows::receive(&items, &domain, &params, channel, rng)?)),
        (Reveal::Rows, false) => {
            let common = ecdh::rows::send(&items, &domain, &params, channel, rng)?;
            Ok(common.map_or(Found::Nothing, Found::Rows))
        }
        (Reveal::Count, true) => {
            let count = ecdh::count::receive(&items, &agreed.session, &params, channel, rng)?;
            Ok(Found::Count(count as u64))
        }
        (Reveal::Count, false) => {
            let count = ecdh::count::send(&items, &agreed.session, &params, channel, rng)?;
            Ok(count.map_or(Found::Nothing, |count| Found::Count(count as u64)))
        }
        (Reveal::Sum(_), true) => Ok(Found::Sum(ecdh::sum::receive(&items, &agreed.session, &params, channel, rng)?)),
        (Reveal::Sum(_), false) => {
            let total = ecdh::sum::send(&items, loaded.numbers_to_send()?, &agreed.session, &params, channel, rng)?;
            Ok(total.map_or(Found::Nothing, Found::Sum))
        }
        (Reveal::Payload, true) => {
            let common = ecdh::payload::receive(&items, loaded.given_rows(), &domain, &params, channel, rng)?;
            found_payload(job, me, common, &agreed.peer_sizes)
        }
        (Reveal::Payload, false) => {
            let rows = loaded.rows_to_send(items.len())?;
            let common = ecdh::payload::send(&items, &rows, &domain, &params, channel, rng)?;
            common.map_or(Ok(Found::Nothing), |common| found_payload(job, me, common, &agreed.peer_sizes))
        }
        (reveal, _) => Err(Error::Internal(format!("an intersection reveals no {reveal}"))),
    }
}

/// A run in which one of the parties has its table on disk.
fn run_buckets(
    job: &JobSpec,
    me: &str,
    brought: &Brought,
    agreed: &Agreed,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Found> {
    let party = match brought {
        Brought::Disk(disk) => disk::Party::Disk(disk),
        Brought::Table(loaded) => disk::Party::Memory(&loaded.keys),
        Brought::Prepared(_) => {
            return Err(Error::Terms(format!(
                "{} has its table on disk (--work), and a prepared part answers from memory: run it here with --input \
                 instead, or there without --work",
                channel.peer()
            )));
        }
    };
    let common = disk::run(job, me, party, agreed, channel, rng)?;
    match (job.learns(me), common) {
        (false, _) => Ok(Found::Nothing),
        (true, Some(common)) => Ok(Found::Rows(common)),
        (true, None) => Ok(Found::OnDisk),
    }
}

#[expect(clippy::too_many_arguments, reason = "everything that a run has; both callers are in this file")]
fn run_vole(
    job: &JobSpec,
    me: &str,
    loaded: &Loaded,
    items: &[Item],
    params: &vole::Params,
    agreed: &Agreed,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Found> {
    let session = &agreed.session;
    match (&job.reveal, me == job.receiver()) {
        (Reveal::Rows, true) => Ok(Found::Rows(vole::rows::receive(items, session, params, channel, rng)?)),
        (Reveal::Rows, false) => {
            let common = vole::rows::send(items, session, params, channel, rng)?;
            Ok(common.map_or(Found::Nothing, Found::Rows))
        }
        (Reveal::Payload, true) => {
            let common = vole::payload::receive(items, loaded.given_rows(), session, params, channel, rng)?;
            found_payload(job, me, common, &agreed.peer_sizes)
        }
        (Reveal::Payload, false) => {
            let rows = loaded.rows_to_send(items.len())?;
            let common = vole::payload::send(items, &rows, session, params, channel, rng)?;
            common.map_or(Ok(Found::Nothing), |common| found_payload(job, me, common, &agreed.peer_sizes))
        }
        (reveal, _) => Err(Error::Internal(format!("vole reveals no {reveal}"))),
    }
}

/// One row of no bytes for each item: a sender that gives nothing in a job in which the receiver does.
pub fn empty_rows(items: usize) -> Result<Payload> {
    let mut rows = Payload::new(0);
    (0..items).try_for_each(|_| rows.push(1, &[]))?;
    Ok(rows)
}

fn found_payload(job: &JobSpec, me: &str, common: Common, peer_sizes: &Sizes) -> Result<Found> {
    let given = match common.payload {
        Some(rows) if !peer_sizes.schema.is_empty() => Some((peer_schema(job, job.peer_of(me), peer_sizes)?, rows)),
        _ => None,
    };
    Ok(Found::Payload(common.items, given))
}

/// The key that binds items to a prepared epoch (see [`prepared::bound_epoch`]) rather than to a session.
pub fn item_key_of_epoch(epoch: &[u8; 32]) -> [u8; 32] {
    blake3::derive_key("tacita 1 epoch item", epoch)
}

impl Found {
    /// The table rows of the common keys, key by key: in the same order at both parties.
    pub fn rows_of(&self, brought: &Brought) -> Result<Vec<u32>> {
        match (self, brought) {
            (Found::Rows(common), Brought::Table(loaded)) => Ok(loaded.keys.rows_of(common)),
            _ => Err(Error::Internal("an alignment found no rows".into())),
        }
    }

    /// Writes the result where the user wants it, and says what it is.
    pub fn write(&self, job: &JobSpec, me: &str, brought: &Brought, path: Option<&Path>) -> Result<Told> {
        let loaded = match (self, brought) {
            (Found::Nothing, _) => return Ok(Told::nothing()),
            (_, Brought::Table(loaded)) => loaded,
            (Found::OnDisk, Brought::Disk(disk)) => return disk.write(path),
            (_, Brought::Disk(_)) => return Err(Error::Internal("a table on disk has found something else".into())),
            (_, Brought::Prepared(_)) => return Err(Error::Internal("a prepared sender learns nothing".into())),
        };
        match self {
            Found::Nothing | Found::OnDisk => Ok(Told::nothing()),
            Found::Count(count) => write_count(*count, job.limits.min_result, path),
            Found::Sum(total) => write_sum(*total, job.summed_decimals(), job.limits.min_result, path),
            Found::Rows(common) => write_rows(&Selection::of_rows(&loaded.table, loaded.keys.rows_of(common))?, path),
            Found::Payload(common, given) => {
                let joined = match given {
                    Some((schema, rows)) => vec![given_table(schema, rows, job.peer_of(me))?],
                    None => Vec::new(),
                };
                write_rows(&Selection::join(&loaded.table, &loaded.keys, common, &joined)?, path)
            }
        }
    }
}

/// The peer's rows for the common keys, as columns.
fn given_table(schema: &PayloadSchema, rows: &Payload, peer: &str) -> Result<select::Given> {
    let mut bytes = Vec::new();
    let mut offsets = vec![0];
    for item in 0..rows.items() {
        bytes.extend_from_slice(rows.item(item));
        offsets.push(offsets[item] + rows.rows_of(item));
    }
    Ok(select::Given { rows: schema.decode_rows(&bytes, peer)?, offsets })
}

fn write_rows(rows: &Selection, path: Option<&Path>) -> Result<Told> {
    if let Some(path) = path {
        output::write(rows, path, None)?;
    }
    Ok(told_rows(rows.rows()))
}

/// So many rows are common.
pub fn told_rows(rows: usize) -> Told {
    Told { json: json!({ "rows": rows }), line: Some(format!("rows {rows}")), written: Ok(()) }
}

fn write_count(count: u64, min_result: Option<u64>, path: Option<&Path>) -> Result<Told> {
    if let Some(limit) = min_result.filter(|limit| count < *limit) {
        return Told::below("count", limit, path);
    }
    Ok(Told {
        json: json!({ "count": count }),
        line: Some(format!("count {count}")),
        written: Told::write_numbers(&[("count", count.to_string())], path),
    })
}

/// Count and sum, or neither: who knows one of them knows something of the other.
fn write_sum(total: ecdh::sum::Total, decimals: u32, min_result: Option<u64>, path: Option<&Path>) -> Result<Told> {
    let below = |limit: u64| (total.count as u64) < limit || total.sum < i128::from(limit) * 10i128.pow(decimals);
    if let Some(limit) = min_result.filter(|limit| below(*limit)) {
        return Told::below("count or sum", limit, path);
    }
    let (count, sum) = (total.count.to_string(), decimal(total.sum, decimals));
    Ok(Told {
        json: json!({ "count": total.count, "sum": to_json(&sum) }),
        line: Some(format!("count {count}, sum {sum}")),
        written: Told::write_numbers(&[("count", count), ("sum", sum)], path),
    })
}
