//! `dot`: from tables to the scalar product that a party learns, or to its share.

pub mod clients;
mod method;
pub mod pool;

use std::path::Path;

use rand_core::CryptoRng;
use serde_json::json;
use tacita_core::channel::Channel;
use tacita_core::protocol::dot::gm_bloom::{self, Dense};
use tacita_core::protocol::dot::{Columns, Shape, Shares, Side, reveal};
use tacita_core::session::Transcript;
use tacita_core::{Error, Result, Session};

use crate::agreement::handshake::Agreed;
use crate::agreement::{Chosen, JobSpec, Protocol, Reveal, Sizes};
use crate::base::text::{count, counted};
use crate::jobs::answer::Told;
use crate::jobs::dot::pool::Pool;
use crate::jobs::intersect;
use crate::jobs::memory::of_intersection;
use crate::jobs::numbers::ShareFile;
use crate::run::party::Source;
use crate::run::report::Encryptions;
use crate::table::{RowCounts, numbers, read};
pub use method::{MEASURED, Method, OT_START, OT_WORD, transfer_seconds};

/// What a party brings to a scalar product.
pub struct Brought {
    columns: Columns,
    rows: RowCounts,
    /// The table with its ids, where rows are aligned by them.
    ids: Option<intersect::Brought>,
    sizes: Sizes,
    /// Encryptions that were made in advance.
    pool: Option<Pool>,
}

/// What a party gets.
pub struct Found {
    rows: usize,
    outcome: Outcome,
    encryptions: Option<Encryptions>,
}

enum Outcome {
    /// Nothing: the other party learns the value.
    Nothing,
    /// The value, or a matrix of them.
    Values(Vec<i128>),
    /// Shares of it.
    Shares(Box<ShareFile>),
}

impl Brought {
    /// Reads a party's columns, and the ids of its rows.
    pub fn load(job: &JobSpec, me: &str, source: &Source) -> Result<Brought> {
        let Source::File { path, options, allow_unreadable } = source else {
            return Err(Error::Input("a scalar product needs a table: give --input FILE".into()));
        };
        let table = read(path, options)?;
        let names = job.columns_of(me);
        let names: Vec<_> = names.iter().map(|name| (name.clone(), job.header(me, name).to_owned())).collect();
        let (integers, decimals) = (job.integers()?, job.decimals());
        let Some(alignment) = job.alignment() else {
            if let Some(line) = table.blank_line() {
                return Err(Error::Input(format!(
                    "{}, line {line}: a blank line, where rows are aligned by position: put a number there, or remove the line",
                    table.source()
                )));
            }
            let columns =
                numbers::columns(&table, &names, integers, decimals, |_| true).map_err(|error| named(job, error))?;
            check_density(job, me, &columns)?;
            let rows = RowCounts { read: table.rows(), items: table.rows(), ..RowCounts::default() };
            let sizes = Sizes { items: table.rows() as u64, ..Sizes::default() };
            intersect::check_limits(job, table.source(), &mut sizes.clone())?;
            return Ok(Brought { columns, rows, ids: None, sizes, pool: None });
        };
        let loaded = intersect::Loaded::of(&alignment, me, table, *allow_unreadable)?;
        let mut identified = vec![false; loaded.table().rows()];
        for key in 0..loaded.keys().len() {
            loaded.keys().rows(key).iter().for_each(|&row| identified[row as usize] = true);
        }
        let columns = numbers::columns(loaded.table(), &names, integers, decimals, |row| identified[row])
            .map_err(|error| named(job, error))?;
        let (rows, sizes) = (loaded.keys().counts(), loaded.sizes().clone());
        Ok(Brought { columns, rows, ids: Some(intersect::Brought::Table(Box::new(loaded))), sizes, pool: None })
    }

    /// The same with a pool to take encryptions from.
    pub fn with_pool(self, pool: Option<Pool>) -> Brought {
        Brought { pool, ..self }
    }

    /// The numbers.
    pub fn columns(&self) -> &Columns {
        &self.columns
    }

    /// How much it is, as the peer is told.
    pub fn sizes(&self) -> Sizes {
        self.sizes.clone()
    }

    /// What became of the input's rows.
    pub fn row_counts(&self) -> RowCounts {
        self.rows
    }
}

/// Checks that the peer's sizes fit: as many rows by position, or what an intersection asks for.
pub fn check_peer(job: &JobSpec, own: &Sizes, theirs: &Sizes, channel: &Channel) -> Result<()> {
    if let Some(alignment) = job.alignment() {
        return match theirs.epoch {
            Some(_) => Err(channel.violation("it announces a prepared part where none can be used")),
            None => intersect::check_peer(&alignment, own, theirs, channel),
        };
    }
    if (Sizes { items: theirs.items, ..Sizes::default() }) != *theirs {
        return Err(channel.violation("it announces more than its number of rows"));
    }
    match own.items == theirs.items {
        true => Ok(()),
        false => Err(Error::Terms(format!(
            "rows are aligned by position, and {} has {} where this party has {}: are both tables of the same rows? \
             Name an id column with row_id to align rows that differ",
            channel.peer(),
            count(theirs.items),
            count(own.items)
        ))),
    }
}

/// Which party this is in a product.
pub fn side(job: &JobSpec, party: &str) -> Side {
    match job.parties.position(party) {
        Some(0) => Side::First,
        _ => Side::Second,
    }
}

/// Memory besides the table, in bytes: a share is so short, and rows so many, that the columns are most of it.
pub fn memory(job: &JobSpec, me: &str, chosen: &Chosen, own: &Sizes, theirs: &Sizes) -> Result<u64> {
    let shape = job.dot_shape(0)?;
    let columns = if side(job, me) == Side::First { shape.first } else { shape.second } as u64;
    let bytes = if shape.integers.bits() == 1 { 1 } else { 32 };
    let columns = own.items * columns * bytes / 8;
    let method = Method::new(job, chosen, own.items.min(theirs.items) as usize)?;
    let alignment = job.alignment().zip(chosen.alignment);
    let alignment =
        alignment.map_or(Ok(0), |(job, protocol)| of_intersection(&job, me, &Chosen::only(protocol), own, theirs))?;
    Ok(method.memory() + 2 * columns + alignment)
}

/// Refuses a column with more ones than the terms allow, where the protocol has such a bound.
fn check_density(job: &JobSpec, me: &str, columns: &Columns) -> Result<()> {
    let (Some(density), Some(bound)) = (job.density()?, job.most_ones(columns.rows())?) else { return Ok(()) };
    match gm_bloom::dense(columns, bound) {
        Some(Dense { column, ones }) => Err(Error::Input(format!(
            "column \"{}\" has {} in {}, and density = {density} allows {}: agree on a higher density, or leave it out",
            job.columns_of(me).get(column).map_or("", |name| job.header(me, name)).escape_debug(),
            counted(ones as u64, "one"),
            counted(columns.rows() as u64, "row"),
            count(bound as u64)
        ))),
        None => Ok(()),
    }
}

/// An error about a number, with what the named protocol has to do with it.
fn named(job: &JobSpec, error: Error) -> Error {
    match error {
        Error::Input(text) if job.protocol == Protocol::GmBloom => Error::Input(format!(
            "{text} (\"gm-bloom\" multiplies zeros and ones alone: name another protocol for other numbers)"
        )),
        error => error,
    }
}

/// Aligns rows, multiplies, and opens the product as far as the job says.
pub fn run(
    job: &JobSpec,
    me: &str,
    brought: &Brought,
    agreed: &Agreed,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Found> {
    let aligned = align(job, me, brought.ids.as_ref(), agreed, channel, rng)?;
    let aligned = aligned.map(|rows| brought.columns.select(&rows));
    let columns = aligned.as_ref().unwrap_or(&brought.columns);
    check_density(job, me, columns)?;
    let method = Method::new(job, &agreed.chosen, columns.rows())?;
    if let Some(text) = modulus_warning(job, &job.dot_shape(columns.rows())?)? {
        tracing::warn!("{text}");
    }
    let side = side(job, me);
    let (shares, encryptions) = match (&method, &brought.pool) {
        (Method::Paillier(params), Some(pool)) if params.encryptor() == side => {
            let (shares, used) = pool.encrypt(columns, params, channel, rng)?;
            (shares, Some(Encryptions { pool: used.stored, live: used.live }))
        }
        (_, pool) => {
            if pool.is_some() {
                tracing::info!("the pool is not used: it is {} who encrypts in this job", channel.peer());
            }
            (method.run(side, columns, &agreed.session, channel, rng)?, None)
        }
    };
    let outcome = match job.reveal {
        Reveal::Shares => {
            let shape = job.dot_shape(columns.rows())?;
            Outcome::Shares(Box::new(ShareFile::new(job, me, &agreed.session, &shape, &shares)))
        }
        _ => open(job, me, &shares, channel)?,
    };
    Ok(Found { rows: columns.rows(), outcome, encryptions })
}

/// The own rows that both parties have, in the same order at both; `None` where rows are aligned by position. `ids` is the
/// table with the ids, where they are not.
pub fn align(
    job: &JobSpec,
    me: &str,
    ids: Option<&intersect::Brought>,
    agreed: &Agreed,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<u32>>> {
    let (Some(alignment), Some(ids), Some(protocol)) = (job.alignment(), ids, agreed.chosen.alignment) else {
        return Ok(None);
    };
    let mut transcript = Transcript::new("alignment");
    transcript.append("session", agreed.session.id());
    let agreed = Agreed {
        session: Session::new(transcript),
        chosen: Chosen::only(protocol),
        own_sizes: agreed.own_sizes.clone(),
        peer_sizes: agreed.peer_sizes.clone(),
    };
    intersect::run(&alignment, me, ids, &agreed, channel, rng)?.rows_of(ids).map(Some)
}

fn open(job: &JobSpec, me: &str, shares: &Shares, channel: &mut Channel) -> Result<Outcome> {
    let (modulus, signed) = (shares.modulus(), job.integers()?.signed());
    let numbers = reveal(shares, job.learns(me), job.learns(job.peer_of(me)), channel)?;
    Ok(match numbers {
        None => Outcome::Nothing,
        Some(numbers) => Outcome::Values(numbers.into_iter().map(|residue| modulus.integer(residue, signed)).collect()),
    })
}

/// What the user should know of a modulus that may not hold the product.
pub fn modulus_warning(job: &JobSpec, shape: &Shape) -> Result<Option<String>> {
    let modulus = job.modulus(shape)?;
    Ok((!shape.fits(&modulus)).then(|| {
        format!(
            "the shares add up to the product modulo {modulus}, and a product of {} rows may be larger than that",
            count(shape.rows as u64)
        )
    }))
}

impl Found {
    /// Of so many rows these products, row by row, or nothing.
    pub fn new(rows: usize, values: Option<Vec<i128>>) -> Found {
        Found { rows, outcome: values.map_or(Outcome::Nothing, Outcome::Values), encryptions: None }
    }

    /// How many rows were multiplied.
    pub fn rows(&self) -> u64 {
        self.rows as u64
    }

    /// Where encryptions came from, where there is a pool.
    pub fn encryptions(&self) -> Option<Encryptions> {
        self.encryptions
    }

    /// Writes the result where the user wants it, and says what it is.
    pub fn write(&self, job: &JobSpec, path: Option<&Path>) -> Result<Told> {
        match &self.outcome {
            Outcome::Nothing => Ok(Told::nothing()),
            Outcome::Shares(file) => {
                if let Some(path) = path {
                    file.write(path)?;
                }
                let number = file.count();
                let told = format!("shares {number}{}", if path.is_some() { "" } else { " (not kept: no --output)" });
                Ok(Told { json: json!({ "shares": number }), line: Some(told), written: Ok(()) })
            }
            Outcome::Values(values) => {
                let value = Value::of_job(job, values.clone());
                match job.limits.min_result {
                    Some(limit) if value.is_below(limit) => Told::below("value", limit, path),
                    _ => write_values(&[value], path),
                }
            }
        }
    }
}
