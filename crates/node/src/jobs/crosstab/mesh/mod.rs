//! `crosstab` among three parties: two have the categories, the third a measure.
//! `tacita_core::protocol::crosstab::mesh` has what is different from two.

mod cost;
mod learned;
mod results;

use std::collections::BTreeMap;

use tacita_core::channel::labels::crosstab::{CATEGORIES, OWNED};
use tacita_core::channel::{Channel, Label, conclude_all_for, each};
use tacita_core::protocol::crosstab::{Params, mesh};
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::ot::mesh::{self as products, Factor, MeshProducts};
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shares};
use tacita_core::protocol::mesh::{Heard, MeshLink, MeshOts, MeshStatement};
use tacita_core::{Error, Result};

use super::categories::{self, Labels, OwnCategories, exchange_names};
use super::load::{CrosstabInput, Owned};
use super::output::{Cell, CrossTable};
use super::run::{FEWER, numbers};
use super::spec::CrosstabJob;
use crate::agreement::words::bad;
use crate::agreement::{Choice, Chosen, JobSpec, Network, PartContext, Sizes};
use crate::base::memory::Limit;
use crate::jobs::aligned::{self, AlignedRows, RowAlignment};
use crate::jobs::dot::mesh::check::check_products;
use crate::jobs::dot::mesh::{USUAL_K, k};
use crate::jobs::dot::methods::ot;
use crate::jobs::intersect;
use results::{results_of, same_results};

pub(super) use cost::cost;
pub(super) use learned::{at_a_glance, learned};

/// The parties: two with categories, one with a measure.
pub(super) const PARTIES: usize = 3;

/// Result of a run for a party.
pub(super) struct Found {
    /// Number of rows that all have.
    pub(super) common: usize,
    /// Number of categories of each party that has them.
    pub(super) categories: BTreeMap<String, usize>,
    /// The table, if this party learns it.
    pub(super) table: Option<CrossTable>,
}

/// Refuses what there is between two parties only.
pub(super) fn check(job: &CrosstabJob<'_>) -> Result<()> {
    if job.measure().column().is_none() {
        return bad(
            "measure: among three parties two have categories, and the third has a measure: use \"sum:COLUMN\" or \"mean:COLUMN\", or \
             leave the third out",
        );
    }
    check_products(job, None)
}

/// Chooses how transfers are made: there is one protocol.
pub(super) fn choose(job: &CrosstabJob<'_>, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
    let alignment = aligned::choose(job.alignment().as_ref(), sizes, network)?;
    let extension = Some(Extension::SoftSpoken(USUAL_K));
    let chosen = Chosen { extension, alignment, ..Chosen::only(ot::PROTOCOL) };
    Ok(Choice { chosen, why: "it is the one among more than two parties".into() })
}

/// Memory besides the table, in bytes, as far as it can be known before, without columns and products of categories.
pub(super) fn memory(job: &CrosstabJob<'_>, me: &str, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
    let alignment = match job.alignment() {
        Some(RowAlignment { ids, .. }) => ids.job.memory(&ids, me, &Chosen::only(intersect::star::PROTOCOL), sizes)?,
        None => 0,
    };
    Ok(super::WORK_BYTES.saturating_add(sizes[me].items.saturating_mul(super::ROW_BYTES)).saturating_add(alignment))
}

/// The parties of a table by what they have: as places in the job, the one with the measure first. Products go in this
/// order, since a number costs least as the first factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Roles([usize; PARTIES]);

/// Places of the parties among these.
const MEASURE: usize = 0;
const WITH_CATEGORIES: [usize; 2] = [1, 2];

impl Roles {
    /// Place among these of a party of the job.
    fn of(self, place: usize) -> Result<usize> {
        let role = self.0.iter().position(|party| *party == place);
        role.ok_or_else(|| Error::Internal(format!("no party {place}")))
    }
}

/// Returns the owner of each column of the job, in the order of [`CrosstabJob::used`], as all have told.
fn owners(job: &CrosstabJob<'_>, told: &[Vec<u8>]) -> Result<Vec<usize>> {
    let owner = |(at, name): (usize, &String)| {
        let most = told.iter().map(|codes| codes[at]).max().unwrap_or(0);
        let mut all = (0..told.len()).filter(|party| most > 0 && told[*party][at] == most);
        match (all.next(), all.next()) {
            (Some(owner), None) => Ok(owner),
            (owner, _) => {
                let (who, name) =
                    (if owner.is_none() { "no party has" } else { "several parties have" }, name.escape_debug());
                Err(Error::Terms(format!(
                    "{who} a column \"{name}\": its owner maps it in its [parties.X] columns, as columns = {{ {name} = \"HEADER\" }} (X is \
                     one of {})",
                    job.parties.names().join(", ")
                )))
            }
        }
    };
    job.used().iter().enumerate().map(owner).collect()
}

/// Returns the parties by what they have, if two have the categories and the third the measure.
fn roles(job: &CrosstabJob<'_>, owners: &[usize]) -> Result<Roles> {
    let (by, names) = (job.by().len(), job.parties.names());
    let (Some(&measure), categories) = (owners.get(by), &owners[..by]) else {
        return Err(Error::Internal("crosstab: no measure among three".into()));
    };
    let with: Vec<usize> = (0..names.len()).filter(|party| categories.contains(party)).collect();
    match with[..] {
        [first, second] if measure != first && measure != second => Ok(Roles([measure, first, second])),
        [_, _, _] => Err(Error::Terms(format!(
            "rows and columns: all of {} have some, and two can: two that pool what they have would know closed cells of the third. Name \
             columns of two, and a measure of the third",
            names.join(", ")
        ))),
        _ => Err(Error::Terms(format!(
            "rows, columns and measure: two of {} have to have all rows and columns, and the third the measure: leave out who has none",
            names.join(", ")
        ))),
    }
}

/// Tells all others, and hears from them, bytes of one length. All are heard alike. In the order of the job.
fn tell_all(
    label: Label,
    own: Vec<u8>,
    what: &str,
    me: usize,
    heard: &mut Heard,
    channels: &mut [Channel],
) -> Result<Vec<Vec<u8>>> {
    let states = vec![(); channels.len()];
    let mut told = each(channels, states, |(), channel| match channel.exchange(label, own.clone(), own.len())? {
        theirs if theirs.len() == own.len() => Ok(theirs),
        theirs => {
            Err(channel.violation(format!("`{}` has {} bytes instead of {}", label.name, theirs.len(), own.len())))
        }
    })?;
    told.insert(me, own);
    let statements: Vec<MeshStatement> =
        told.iter().enumerate().map(|(party, told)| MeshStatement::new([party], [told])).collect();
    heard.check(what, |_| statements.clone(), channels)?;
    Ok(told)
}

/// Runs a party's part of the protocol.
pub(super) fn run(job: &CrosstabJob<'_>, brought: &CrosstabInput, run: PartContext<'_>) -> Result<Found> {
    let PartContext { me, rng, peers, allowed, secret, .. } = run;
    let (agreed, channels) = peers.mesh()?;
    let (by, place) = (job.by(), job.parties.place(me)?);
    let mut heard = Heard::new(place, agreed.session.child("crosstab", 0));

    let told: Vec<u8> = brought.owned.iter().map(|owned| *owned as u8).collect();
    let told = tell_all(OWNED, told, "owned columns", place, &mut heard, channels)?;
    let odd = |codes: &Vec<u8>| codes.iter().any(|code| *code > Owned::Mapped as u8);
    if let Some(party) = told.iter().position(odd) {
        let at = if party < place { party } else { party - 1 };
        return Err(channels[at].violation(format!("`{}` do not say who has which", OWNED.name)));
    }
    let owners = owners(job, &told).map_err(|error| conclude_all_for(channels, error))?;
    let roles = roles(job, &owners).map_err(|error| conclude_all_for(channels, error))?;
    let columns_of = |party: usize| -> Vec<(usize, &String)> {
        by.iter().enumerate().filter(|(at, _)| owners[*at] == party).collect()
    };

    let own_columns = columns_of(place);
    let read: Vec<_> = own_columns.iter().filter_map(|(at, name)| Some((*name, brought.categories.get(at)?))).collect();
    // A column of free text is refused before the common rows are told.
    let labels = read.iter().flat_map(|(_, column)| &column.labels).map(std::slice::from_ref);
    categories::check_names(labels).map_err(|error| conclude_all_for(channels, error))?;
    let table = (brought.table_rows, brought.ids.as_ref());
    let rows = aligned::align_among(job.alignment().as_ref(), me, table, agreed, channels, rng)?;

    // The numbers of categories; of the party with the measure, none.
    let listed = |party: usize| {
        let names: Vec<&String> = columns_of(party).into_iter().map(|(_, name)| name).collect();
        categories::listed(job, &names)
    };
    let sizes = (brought.table_rows, rows.rows());
    let role = roles.of(place)?;
    let own = match role {
        MEASURE => None,
        _ => Some(OwnCategories::new(&read, listed(place), sizes, |row| rows.place(row), secret)?),
    };
    if let Some(own) = &own {
        categories::check_names(own.labels.iter().map(Vec::as_slice))
            .map_err(|error| conclude_all_for(channels, error))?;
    }
    let count = own.as_ref().map_or(0, |own| own.labels.len());
    let count = u32::try_from(count).map_err(|_| Error::Input("this party has 2^32 categories or more".into()))?;
    let told =
        tell_all(CATEGORIES, count.to_le_bytes().to_vec(), "numbers of categories", place, &mut heard, channels)?;
    let counts: Vec<usize> =
        told.iter().map(|bytes| bytes.iter().rev().fold(0, |count, byte| count << 8 | usize::from(*byte))).collect();
    for (party, &count) in counts.iter().enumerate().filter(|(party, _)| *party != place) {
        let none = party == roles.0[MEASURE] && count > 0;
        if none || party != roles.0[MEASURE] && listed(party).is_some_and(|all| all.len() != count) {
            let at = if party < place { party } else { party - 1 };
            return Err(channels[at].violation(format!("it has {count} categories, which its columns cannot have")));
        }
    }
    let [first, second] = WITH_CATEGORIES.map(|role| counts[roles.0[role]]);
    let params = Params { rows: rows.common(), first, second, minimum: job.min_cell(), tail: 0 };
    // All know all numbers.
    params.check().map_err(|error| conclude_all_for(channels, error))?;
    let table = MeshTable { job, roles, role, params, rows: &rows };
    table.check_memory(memory(job, me, &agreed.sizes)?, Limit::of(allowed))?;

    let links = agreed.links(job)?.into_iter().map(|link| Ok(MeshLink { peer: roles.of(link.peer)?, ..link }));
    let links = links.collect::<Result<Vec<_>>>()?;
    let mut ots = MeshOts::setup(role, &agreed.session, &links, k(&agreed.chosen)?, channels, rng)?;
    let learners: Vec<usize> = (0..PARTIES).filter(|role| job.learns(table.name(*role))).collect();

    // 1. Shares of all counts. 2. Which cells close. 3. The counts of the others. 4. Sums of the same cells.
    let shares = table.counts(own.as_ref(), &mut ots, channels)?;
    let closed = mesh::closed(shares.as_ref(), &params, WITH_CATEGORIES, &mut ots, channels)?;
    let cells: Vec<u8> = closed.iter().map(|closed| u8::from(*closed)).collect();
    let by_both = || WITH_CATEGORIES.map(|role| roles.0[role]);
    heard.check("closed cells", |_| vec![MeshStatement::new(by_both(), [&cells])], channels)?;
    let modulus = params.modulus()?;
    let counts = mesh::open(shares.as_ref(), modulus, &closed, &WITH_CATEGORIES, &learners, &ots, channels)?;
    let sums = table.sums(own.as_ref(), brought, &closed, &learners, &mut ots, channels)?;

    // 5. Names of categories with an open cell, and that all who learn have the same.
    let is_open = |one: usize, other: usize| !closed[one * second + other];
    let named = |party: usize| -> Vec<usize> {
        match roles.of(party) {
            Ok(1) => (0..first).filter(|&one| (0..second).any(|other| is_open(one, other))).collect(),
            Ok(2) => (0..second).filter(|&other| (0..first).any(|one| is_open(one, other))).collect(),
            _ => Vec::new(),
        }
    };
    let mine = named(place);
    let told: Vec<&Labels> = own.iter().flat_map(|own| mine.iter().map(|&category| &own.labels[category])).collect();
    let others: Vec<usize> = (0..PARTIES).filter(|party| *party != place).collect();
    let mut names = each(channels, others, |party, channel| {
        let told = if job.learns(job.parties.names()[party]) { &told[..] } else { &[] };
        let due = if job.learns(me) { named(party).len() } else { 0 };
        let columns: Vec<&String> = columns_of(party).into_iter().map(|(_, name)| name).collect();
        exchange_names(told, due, &columns, job, channel)
    })?;
    names.insert(place, told.into_iter().cloned().collect());
    same_results(&results_of(&names, counts.as_deref(), sums.as_deref()), job, place, roles, &mut heard, channels)?;

    let categories = WITH_CATEGORIES.map(|role| (table.name(role).to_owned(), counts_of(role, first, second)));
    let found = Found { common: rows.common(), categories: categories.into(), table: None };
    let Some(counts) = counts else { return Ok(found) };
    // Of each of both the categories that are known by name: of others those with an open cell, and agreed ones.
    let known = WITH_CATEGORIES.map(|role| -> Vec<(Labels, Option<usize>)> {
        let party = roles.0[role];
        if let Some(own) = own.as_ref().filter(|_| party == place) {
            return own.labels.iter().cloned().zip((0..).map(Some)).collect();
        }
        let mut known: Vec<(Labels, Option<usize>)> =
            names[party].iter().cloned().zip(named(party).into_iter().map(Some)).collect();
        for labels in listed(party).unwrap_or_default() {
            if !known.iter().any(|(known, _)| *known == labels) {
                known.push((labels, None));
            }
        }
        known
    });
    let [firsts, seconds] = &known;
    let owned = WITH_CATEGORIES.map(|role| columns_of(roles.0[role]));
    let mut cells = Vec::new();
    for (one_labels, one) in firsts {
        for (other_labels, other) in seconds {
            let mut labels = vec![String::new(); by.len()];
            for (columns, own) in owned.iter().zip([one_labels, other_labels]) {
                columns.iter().zip(own).for_each(|((at, _), label)| labels[*at].clone_from(label));
            }
            let at = one.zip(*other).map(|(one, other)| one * second + other);
            let count = at.and_then(|at| counts[at]).map(|count| modulus.integer(count, true) as i64);
            let sum = at.and_then(|at| sums.as_ref()?.get(at).copied().flatten());
            cells.push(Cell { labels, count, sum });
        }
    }
    let unnamed = firsts.len() < first || seconds.len() < second;
    let table = CrossTable::new(job, cells, closed.iter().filter(|closed| **closed).count(), unnamed, sums.is_some())?;
    Ok(Found { table: Some(table), ..found })
}

fn counts_of(role: usize, first: usize, second: usize) -> usize {
    if role == WITH_CATEGORIES[0] { first } else { second }
}

/// A table whose shape is known.
struct MeshTable<'a> {
    job: &'a CrosstabJob<'a>,
    roles: Roles,
    /// Place of this party among the roles.
    role: usize,
    params: Params,
    rows: &'a AlignedRows,
}

impl MeshTable<'_> {
    /// Name of the party with a role.
    fn name(&self, role: usize) -> &str {
        self.job.parties.names()[self.roles.0[role]]
    }

    /// Refuses columns and products that take more memory than there may be used, `others` aside.
    fn check_memory(&self, others: u64, limit: Limit) -> Result<()> {
        let bits = if self.role == MEASURE { 32 } else { 1 };
        let columns = (self.rows.rows() as u64 / 8 + 1)
            * counts_of(self.role, self.params.first, self.params.second) as u64
            * bits;
        let held = sums_plan(&self.params, &vec![false; self.params.cells()], self.job)?.held_bytes();
        limit.check(columns.saturating_add(PARTIES as u64 * held).saturating_add(others), FEWER)
    }

    /// Makes this party's shares of all counts, if it has categories.
    fn counts(
        &self,
        own: Option<&OwnCategories>,
        ots: &mut MeshOts,
        channels: &mut [Channel],
    ) -> Result<Option<Shares>> {
        let columns = match own {
            Some(own) => own.columns(Integers::BINARY)?,
            None => Columns::new(Integers::BINARY, self.rows.rows()),
        };
        let shares = products::run(&columns, &counts_plan(&self.params)?, ots, channels)?;
        Ok(own.is_some().then_some(shares))
    }

    /// The sums of open cells, if this party learns them: if the measure is not its own.
    fn sums(
        &self,
        own: Option<&OwnCategories>,
        brought: &CrosstabInput,
        closed: &[bool],
        learners: &[usize],
        ots: &mut MeshOts,
        channels: &mut [Channel],
    ) -> Result<Option<Vec<Option<i128>>>> {
        let integers = self.job.integers()?;
        let columns = match (own, &brought.measure) {
            (Some(own), _) => own.columns(Integers::BINARY)?,
            (None, Some(measure)) => {
                let mut columns = Columns::new(integers, self.rows.rows());
                columns.push(numbers(measure, self.rows, brought.table_rows).iter().copied())?;
                columns
            }
            (None, None) => return Err(Error::Internal("crosstab: a measure that is not there".into())),
        };
        let plan = sums_plan(&self.params, closed, self.job)?;
        let shares = products::run(&columns, &plan, ots, channels)?;
        // A few of its own numbers that add up to a sum would name the rows.
        let learners: Vec<usize> = learners.iter().copied().filter(|role| *role != MEASURE).collect();
        let all = vec![false; shares.len()];
        let opened = mesh::open(Some(&shares), plan.modulus(), &all, &[0, 1, 2], &learners, ots, channels)?;
        let integer = |residue: u128| plan.modulus().integer(residue, integers.signed());
        Ok(opened.map(|opened| {
            let mut opened = opened.into_iter().flatten();
            closed.iter().map(|closed| if *closed { None } else { opened.next().map(integer) }).collect()
        }))
    }
}

/// The products of all cells' counts.
fn counts_plan(params: &Params) -> Result<MeshProducts> {
    MeshProducts::new(
        params.rows,
        Integers::BINARY,
        params.modulus()?,
        &cells(params).map(|cell| cell.to_vec()).collect::<Vec<_>>(),
    )
}

/// The products of the sums of cells that are not closed.
fn sums_plan(params: &Params, closed: &[bool], job: &CrosstabJob<'_>) -> Result<MeshProducts> {
    let number = Factor { party: MEASURE, column: 0 };
    let open = cells(params).zip(closed).filter(|(_, closed)| !**closed);
    let all: Vec<Vec<Factor>> = open.map(|([one, other], _)| vec![number, one, other]).collect();
    let integers = job.integers()?;
    let plan = MeshProducts::new(params.rows, Integers::BINARY, sums_modulus(params.rows, integers)?, &all)?;
    Ok(plan.with_integers_of(MEASURE, integers))
}

/// A power of two above all sums, negative ones too.
fn sums_modulus(rows: usize, integers: Integers) -> Result<Modulus> {
    Modulus::power_of_two(integers.bits() + usize::BITS - rows.leading_zeros())
}

/// The columns of each cell's categories, in the order of cells.
fn cells(params: &Params) -> impl Iterator<Item = [Factor; 2]> {
    let [first, second] = [params.first as u32, params.second as u32];
    let column = |party: usize, column: u32| Factor { party: WITH_CATEGORIES[party], column };
    (0..first).flat_map(move |one| (0..second).map(move |other| [column(0, one), column(1, other)]))
}

/// Whether the job is among three.
pub(super) fn is_of(job: &JobSpec) -> bool {
    job.parties.0.len() > 2
}
