//! Run of a cross table: aligned rows, categories, products, cells that close, and what is opened of the others.

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::channel::labels::crosstab::{CATEGORIES, OWNED};
use tacita_core::protocol::crosstab::{self, Params};
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, Shares};
use tacita_core::{Error, Result, Side};
use zeroize::Zeroizing;

use super::categories::{self, Labels, OwnCategories};
use super::load::{CrosstabInput, Owned};
use super::noise;
use super::output::{Cell, CrossTable};
use super::product::product;
use super::spec::CrosstabJob;
use crate::agreement::handshake::HandshakeResult;
use crate::base::memory::Limit;
use crate::jobs::aligned::{self, AlignedRows};
use crate::jobs::dot::side;
use crate::jobs::noise::{DrawnNoise, added};

/// Advice where memory does not suffice.
pub(super) const FEWER: &str = "put numbers into bins, or name fewer columns";

/// Result of a run for a party.
pub(super) struct Found {
    /// Number of rows that both have.
    pub(super) common: usize,
    /// Categories of this party and of the peer.
    pub(super) categories: [usize; 2],
    /// The table, if this party learns it.
    pub(super) table: Option<CrossTable>,
}

/// Parties of the columns of a job: whether this party has each, in the order of [`CrosstabJob::used`].
struct Ownership {
    mine: Vec<bool>,
}

impl Ownership {
    /// Tells the peer which columns this party has, and hears which the peer has.
    ///
    /// Errors ([`Error::Terms`]): both have one, or none of both.
    fn exchange(job: &CrosstabJob<'_>, me: &str, own: &[Owned], channel: &mut Channel) -> Result<Ownership> {
        let told: Vec<u8> = own.iter().map(|owned| *owned as u8).collect();
        let theirs = channel.exchange(OWNED, told, own.len())?;
        if theirs.len() != own.len() || theirs.iter().any(|code| *code > Owned::Mapped as u8) {
            return Err(channel.violation(format!("`{}` do not say who has which", OWNED.name)));
        }
        let mut mine = Vec::with_capacity(own.len());
        for ((name, own), theirs) in job.used().iter().zip(own).zip(theirs) {
            let (own, name) = (*own as u8, name.escape_debug());
            if own == theirs {
                let who = if own == 0 { "neither party has" } else { "both parties have" };
                let peer = job.peer_of(me);
                return Err(channel.conclude_for(Error::Terms(format!(
                    "{who} a column \"{name}\": its owner maps it in its [parties.X] columns, as columns = {{ {name} = \"HEADER\" \
                     }} (X is {me} or {peer})"
                ))));
            }
            mine.push(own > theirs);
        }
        Ok(Ownership { mine })
    }

    /// The columns of categories of this party, or of the peer, with their places.
    fn columns<'a>(&self, by: &'a [String], mine: bool) -> Vec<(usize, &'a String)> {
        by.iter().enumerate().filter(|(place, _)| self.mine[*place] == mine).collect()
    }

    /// Whether this party has the measure, in a job with one.
    fn has_measure(&self, by: &[String]) -> bool {
        self.mine.get(by.len()).copied().unwrap_or(false)
    }
}

pub(super) fn run(
    job: &CrosstabJob<'_>,
    me: &str,
    (brought, drawn): (&CrosstabInput, DrawnNoise),
    agreed: &HandshakeResult,
    (allowed, secret): (Option<u64>, &[u8; 32]),
    channel: &mut Channel,
    rng: &mut ChaCha20Rng,
) -> Result<Found> {
    let by = job.by();
    let ownership = Ownership::exchange(job, me, &brought.owned, channel)?;
    let (own_columns, their_columns) = (ownership.columns(&by, true), ownership.columns(&by, false));
    let table = (brought.table_rows, brought.ids.as_ref());
    let read: Vec<_> = own_columns.iter().filter_map(|(at, name)| Some((*name, brought.categories.get(at)?))).collect();
    // A column of free text is refused before the number of common rows is told.
    let labels = read.iter().flat_map(|(_, column)| &column.labels).map(std::slice::from_ref);
    categories::check_names(labels).map_err(|error| channel.conclude_for(error))?;
    let rows = aligned::align(job.alignment().as_ref(), me, table, agreed, channel, rng)?;

    let listed = categories::listed(job, &own_columns.iter().map(|(_, name)| *name).collect::<Vec<_>>());
    let sizes = (brought.table_rows, rows.rows());
    let own = OwnCategories::new(&read, listed, sizes, |row| rows.place(row), secret)?;
    categories::check_names(own.labels.iter().map(Vec::as_slice)).map_err(|error| channel.conclude_for(error))?;
    let theirs = exchange_count(own.labels.len(), channel)?;
    let their_names: Vec<&String> = their_columns.iter().map(|(_, name)| *name).collect();
    let agreed_theirs = categories::listed(job, &their_names);
    if agreed_theirs.as_ref().is_some_and(|all| all.len() != theirs) || (their_names.is_empty() && theirs > 1) {
        return Err(channel.violation(format!("it has {theirs} categories, which its columns cannot have")));
    }
    let mine = side(job, me);
    let of_sides = |own: usize, theirs: usize| if mine == Side::First { [own, theirs] } else { [theirs, own] };
    let [first, second] = of_sides(own.labels.len(), theirs);
    let params = Params { rows: rows.common(), first, second, minimum: job.min_cell(), tail: noise::tail(job)? };
    // Both know both numbers.
    params.check().map_err(|error| channel.conclude_for(error))?;
    let work = Work { job, me, agreed, params, rows: &rows, mine, allowed };
    work.check_memory(own.labels.len(), brought)?;

    // 1. Shares of all counts, with noise. 2. Which cells close. 3. The counts of the others, with the same noise.
    let columns = own.columns(Integers::BINARY)?;
    let shares = work.products(columns, Integers::BINARY, params.modulus()?, "crosstab counts", channel, rng)?;
    let shares = added(job, me, shares, drawn)?;
    let closed = crosstab::closed(mine, &shares, &params, &agreed.session, channel, rng)?;
    let (to_me, to_peer) = (job.learns(me), job.learns(job.peer_of(me)));
    let counts = crosstab::open(&shares, &closed, to_me, to_peer, channel)?;

    // 4. Sums of the same cells, to the party that does not have the measure.
    let sums = match job.measure().column() {
        None => None,
        Some(_) => work.sums(&own, ownership.has_measure(&by), brought, &closed, channel, rng)?,
    };

    // 5. Names of categories with an open cell.
    let cell = |own: usize, theirs: usize| {
        let [first, second] = of_sides(own, theirs);
        first * params.second + second
    };
    let is_open = |own: usize, theirs: usize| !closed[cell(own, theirs)];
    let told: Vec<&Labels> = (0..own.labels.len())
        .filter(|&one| to_peer && (0..theirs).any(|other| is_open(one, other)))
        .map(|one| &own.labels[one])
        .collect();
    let named: Vec<usize> =
        (0..theirs).filter(|&other| to_me && (0..own.labels.len()).any(|one| is_open(one, other))).collect();
    let names = categories::exchange_names(&told, named.len(), &their_names, job, channel)?;

    let found = Found { common: rows.common(), categories: [own.labels.len(), theirs], table: None };
    let Some(counts) = counts else { return Ok(found) };
    let modulus = params.modulus()?;
    let mut peers: Vec<(Labels, Option<usize>)> = names.into_iter().zip(named.into_iter().map(Some)).collect();
    // Agreed categories are known by name, with or without an open cell.
    for labels in agreed_theirs.unwrap_or_default() {
        if !peers.iter().any(|(known, _)| *known == labels) {
            peers.push((labels, None));
        }
    }
    let mut cells = Vec::new();
    for (one, own_labels) in own.labels.iter().enumerate() {
        for (their_labels, other) in &peers {
            let mut labels = vec![String::new(); by.len()];
            own_columns.iter().zip(own_labels).for_each(|((at, _), label)| labels[*at].clone_from(label));
            their_columns.iter().zip(their_labels).for_each(|((at, _), label)| labels[*at].clone_from(label));
            let at = other.map(|other| cell(one, other));
            let count = at.and_then(|at| counts[at]).map(|count| modulus.integer(count, true) as i64);
            let sum = at.and_then(|at| sums.as_ref()?.get(at).copied().flatten());
            cells.push(Cell { labels, count, sum });
        }
    }
    let unnamed = peers.len() < theirs;
    let table = CrossTable::new(job, cells, closed.iter().filter(|closed| **closed).count(), unnamed, sums.is_some())?;
    Ok(Found { table: Some(table), ..found })
}

/// Exchanges the numbers of categories.
fn exchange_count(own: usize, channel: &mut Channel) -> Result<usize> {
    let own = u32::try_from(own).map_err(|_| Error::Input("this party has 2^32 categories or more".into()))?;
    let message = channel.exchange(CATEGORIES, own.to_le_bytes().to_vec(), size_of::<u32>())?;
    match message.as_slice().try_into() {
        Ok(bytes) => Ok(u32::from_le_bytes(bytes) as usize),
        Err(_) => Err(channel.violation(format!("`{}` has {} bytes instead of 4", CATEGORIES.name, message.len()))),
    }
}

/// A run whose shape is known.
struct Work<'a> {
    job: &'a CrosstabJob<'a>,
    me: &'a str,
    agreed: &'a HandshakeResult,
    params: Params,
    rows: &'a AlignedRows,
    mine: Side,
    /// Memory that the user allows, in bytes.
    allowed: Option<u64>,
}

impl Work<'_> {
    /// Refuses more columns than memory has room for.
    fn check_memory(&self, categories: usize, brought: &CrosstabInput) -> Result<()> {
        let bits = if self.job.measure().column().is_some() { 32 } else { 1 };
        let columns = (self.rows.rows() as u64 / 8 + 1).saturating_mul(categories as u64 * bits);
        let others = self.job.memory(self.me, &self.agreed.chosen, &brought.sizes, &self.agreed.peer_sizes)?;
        Limit::of(self.allowed).check(columns.saturating_add(others), FEWER)
    }

    /// Shares of the products of these columns with the peer's, of such integers.
    fn products(
        &self,
        columns: Columns,
        integers: Integers,
        modulus: Modulus,
        purpose: &str,
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
    ) -> Result<Shares> {
        if self.params.cells() == 0 {
            return Shares::new(modulus, Vec::new());
        }
        let Params { first, second, .. } = self.params;
        let shape = Shape { rows: self.rows.rows(), first, second, integers };
        let session = self.agreed.session.child(purpose, 0);
        let product = product(&self.agreed.chosen, shape, modulus)?;
        // It grows with the peer's categories, whose number shows in the run alone.
        Limit::of(self.allowed).check(product.memory(), FEWER)?;
        product.run(self.mine, &columns, &session, channel, rng)
    }

    /// Sums of the measure in cells that are open, if this party does not have the measure and learns them.
    #[allow(clippy::too_many_arguments, reason = "a step of `run`, whose values these are")]
    fn sums(
        &self,
        own: &OwnCategories,
        has_measure: bool,
        brought: &CrosstabInput,
        closed: &[bool],
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
    ) -> Result<Option<Vec<Option<i128>>>> {
        let integers = self.job.integers()?;
        let modulus = Shape { rows: self.rows.rows(), first: 1, second: 1, integers }.value_modulus()?;
        let columns = match (&brought.measure, has_measure) {
            (Some(measure), true) => own.weighted(&numbers(measure, self.rows, brought.table_rows), integers)?,
            _ => own.columns(integers)?,
        };
        let shares = self.products(columns, integers, modulus, "crosstab sums", channel, rng)?;
        let (job, peer) = (self.job, self.job.peer_of(self.me));
        // A few of its own numbers that add up to a sum would name the rows.
        let (to_me, to_peer) = (!has_measure && job.learns(self.me), has_measure && job.learns(peer));
        let sums = crosstab::open(&shares, closed, to_me, to_peer, channel)?;
        let integer = |residue: Option<u128>| residue.map(|residue| modulus.integer(residue, integers.signed()));
        Ok(sums.map(|sums| sums.into_iter().map(integer).collect()))
    }
}

/// The measure's numbers in the order of the rows that are counted.
pub(super) fn numbers(measure: &Columns, rows: &AlignedRows, table_rows: usize) -> Zeroizing<Vec<i64>> {
    let mut numbers = Zeroizing::new(vec![0; rows.rows()]);
    for row in 0..table_rows {
        if let Some(place) = rows.place(row as u32) {
            numbers[place] = measure.value(0, row);
        }
    }
    numbers
}
