//! `dot`: from tables to the scalar product that a party learns, or to its share.

pub mod choose;
pub mod clients;
pub mod cost;
pub mod density;
mod distributed;
mod found;
mod job;
pub mod learned;
pub mod mesh;
pub mod methods;
pub(crate) mod noise;
pub mod pool;
mod run;
pub mod spec;

use std::sync::Arc;

use tacita_core::channel::Channel;
use tacita_core::protocol::dot::Columns;
use tacita_core::{Error, Result, Side};

use crate::agreement::{Chosen, JobSpec, PartContext, PartyInput, PoolPlace, RunResult, Sizes, Source};
use crate::jobs::aligned::cost::most_rows;
use crate::jobs::dot::pool::EncryptionPool;
use crate::jobs::limits::check_limits;
use crate::jobs::noise::DrawnNoise;
use crate::jobs::{aligned, intersect};
use crate::table::{RowCounts, Table, numbers};

use run::check_density;
pub use spec::{ColumnNames, Dot, DotJob};

pub use run::{modulus_warning, run};

/// Input that a party brings to a scalar product.
pub struct DotInput {
    own: Dot,
    columns: Columns,
    rows: RowCounts,
    /// The table with its ids, where rows are aligned by them.
    ids: Option<Arc<intersect::Loaded>>,
    sizes: Sizes,
    /// Encryptions that were made in advance.
    pool: Option<EncryptionPool>,
    /// Noise that this party adds; taken by the run that uses it.
    noise: DrawnNoise,
}

impl DotInput {
    /// Reads a party's columns, and the ids of its rows. `pool` is where encryptions are taken from that were made in
    /// advance.
    pub fn load(job: &DotJob<'_>, me: &str, source: &Source, pool: Option<&PoolPlace>) -> Result<DotInput> {
        let pool = pool.map(|place| EncryptionPool::open(place, job)).transpose()?;
        let Some((table, allow_unreadable)) = source.table()? else {
            return Err(Error::Input("a scalar product needs a table: give --input FILE".into()));
        };
        // Products that are too long are refused before others are met.
        job.range(table.rows())?;
        let noise = noise::drawn(job, me)?;
        let Some(alignment) = job.alignment() else {
            refuse_blank_line(&table)?;
            let columns = read_columns(job, me, &table, |_| true)?;
            check_density(job, me, &columns)?;
            let rows = RowCounts { read: table.rows(), items: table.rows(), ..RowCounts::default() };
            let sizes = Sizes { items: table.rows() as u64, ..Sizes::default() };
            check_limits(job, me, table.source(), &mut sizes.clone())?;
            return Ok(DotInput { own: job.own.clone(), columns, rows, ids: None, sizes, pool, noise });
        };
        let loaded = intersect::Loaded::of(&alignment.ids, me, table, allow_unreadable)?;
        let mut identified = vec![false; loaded.table().rows()];
        for key in 0..loaded.keys().len() {
            loaded.keys().rows(key).iter().for_each(|&row| identified[row as usize] = true);
        }
        let columns = read_columns(job, me, loaded.table(), |row| identified[row])?;
        let (rows, sizes) = (loaded.keys().counts(), loaded.sizes().clone());
        Ok(DotInput { own: job.own.clone(), columns, rows, ids: Some(Arc::new(loaded)), sizes, pool, noise })
    }
}

/// The party's columns, of those rows.
fn read_columns(job: &DotJob<'_>, me: &str, table: &Table, of_row: impl Fn(usize) -> bool) -> Result<Columns> {
    let names = job.columns_of(me);
    let names: Vec<_> = names.iter().map(|name| (name.clone(), job.header(me, name).to_owned())).collect();
    let form = numbers::NumberForm { decimals: job.decimals(), mark: job.mark(me) };
    let columns = numbers::columns(table, &names, job.integers()?, form, of_row).map_err(|error| named(job, error))?;
    noise::clipped(job, me, columns)
}

/// Refuses a blank line, which may or may not be a row.
fn refuse_blank_line(table: &Table) -> Result<()> {
    match table.blank_line() {
        Some(line) => Err(Error::Input(format!(
            "{}, line {line}: a blank line, where rows are aligned by position: put a number there, or remove the line",
            table.source()
        ))),
        None => Ok(()),
    }
}

impl PartyInput for DotInput {
    fn sizes(&self) -> Sizes {
        self.sizes.clone()
    }

    fn rows(&self) -> RowCounts {
        self.rows
    }

    fn check_peer(&self, job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()> {
        let alignment = DotJob { spec: job, own: &self.own }.alignment();
        aligned::check_peer(alignment.as_ref(), &self.sizes, theirs, channel)
    }

    fn run(&mut self, run: PartContext<'_>) -> Result<RunResult> {
        methods::of(run.job).run(self, run)
    }
}

/// Returns the side of a party in a product.
pub fn side(job: &JobSpec, party: &str) -> Side {
    match job.parties.position(party) {
        Some(0) => Side::First,
        _ => Side::Second,
    }
}

/// Memory besides the table, in bytes: a share is so short, and rows so many, that the columns are most of it.
pub fn memory(job: &DotJob<'_>, me: &str, chosen: &Chosen, own: &Sizes, theirs: &Sizes) -> Result<u64> {
    let shape = job.dot_shape(0)?;
    let columns = if side(job, me) == Side::First { shape.first } else { shape.second } as u64;
    let bytes = if shape.integers.bits() == 1 { 1 } else { 32 };
    let columns = |rows: u64| rows * columns * bytes / 8;
    let alignment = job.alignment();
    // Tables of another number of rows by position are refused later.
    let sizes = job.sizes_of_both(me, own, theirs);
    let rows = most_rows(job, alignment.as_ref(), &sizes).unwrap_or(own.items.min(theirs.items));
    let product = methods::product(job, chosen, rows as usize)?;
    let alignment = alignment.map_or(Ok(0), |alignment| alignment.memory(me, chosen, own, theirs))?;
    Ok(product.memory() + columns(own.items) + columns(rows) + alignment)
}

/// An error about a number, with what the named protocol has to do with it.
fn named(job: &DotJob<'_>, error: Error) -> Error {
    let only = methods::named(job.protocol).and_then(|method| method.only_numbers());
    match (error, only) {
        (Error::Input(text), Some(only)) => Error::Input(format!("{text} ({only})")),
        (error, _) => error,
    }
}
