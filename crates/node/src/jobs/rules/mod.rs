//! `rules`: from baskets to the association rules that all parties learn.

pub mod choose;
pub mod cost;
pub mod distributed;
pub mod html;
mod job;
pub mod learned;
mod load;
mod mesh;
mod names;
mod output;
mod page;
mod products;
mod shown;
pub mod spec;

use std::collections::BTreeMap;
use std::sync::Arc;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tacita_core::channel::{Channel, conclude_all_for, each};
use tacita_core::protocol::mesh::{Heard, MeshStatement};
use tacita_core::protocol::rules::{self as mining, Mined, Params, baskets::Baskets};
use tacita_core::{Error, Result, Side};

use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::handshake::HandshakeResult;
use crate::agreement::{
    self, Chosen, JobSpec, KnownSizes, PairContext, PartContext, PartyInput, Peers, Protocol, Sizes, Topology,
};
use crate::base::memory::Limit;
use crate::base::text;
use crate::jobs::aligned::cost::most_rows;
use crate::jobs::aligned::{self, AlignedRows};
use crate::jobs::intersect;
use crate::table::RowCounts;
use crate::table::baskets::BasketItems;

pub use load::reads_lines;
pub use names::{NamedItem, RulesResult};
use page::ForReaders;
use products::RunProducts;
pub use products::{LevelCost, estimate};
pub use spec::{Bins, Rules, RulesJob, USUAL_CONFIDENCE};

/// Input that a party brings to association rules.
pub struct RulesInput {
    own: Rules,
    items: BasketItems,
    rows: RowCounts,
    /// The table with its ids, where rows are aligned by them.
    ids: Option<Arc<intersect::Loaded>>,
    sizes: Sizes,
}

/// Result of a run for a party.
struct Found {
    /// Rows that were counted.
    rows: usize,
    /// Itemsets and rules, if this party learns them.
    named: Option<RulesResult>,
    levels: Vec<LevelCost>,
}

/// Bytes of memory that a candidate takes: its items, its count, and places in lists.
const CANDIDATE_BYTES: u64 = 100;

/// Bytes of memory that a rule takes: its items and counts, by number and by name, and its line of the result.
const RULE_BYTES: u64 = 500;

impl PartyInput for RulesInput {
    fn sizes(&self) -> Sizes {
        self.sizes.clone()
    }

    fn rows(&self) -> RowCounts {
        self.rows
    }

    fn check_peer(&self, job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()> {
        let alignment = RulesJob { spec: job, own: &self.own }.alignment();
        aligned::check_peer(alignment.as_ref(), &self.sizes, theirs, channel)
    }

    fn frequent_items(&self, job: &JobSpec) -> Result<Option<u32>> {
        let params = RulesJob { spec: job, own: &self.own }.mining(self.items.rows(), None)?;
        let count =
            |items: &BasketItems| (0..items.len()).filter(|&item| items.rows_of(item).len() >= params.minimum).count();
        Ok(Some((count(&self.items) + count(&self.items.binned(|_| true, None))) as u32))
    }

    fn cost_of_items(
        &self,
        job: &JobSpec,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
        items: [u32; 2],
    ) -> Result<Option<Cost>> {
        if job.topology() != Topology::Pair {
            return Ok(None);
        }
        cost::of_items(chosen, &RulesJob { spec: job, own: &self.own }, sizes, machine, items).map(Some)
    }

    fn run(&mut self, run: PartContext<'_>) -> Result<agreement::RunResult> {
        if let Peers::Mesh { agreed, .. } = &run.peers {
            let own = self.own.clone();
            let job = &RulesJob { spec: run.job, own: &own };
            let (me, agreed) = (run.me, *agreed);
            let found = mesh::run(job, self, run)?;
            let known = KnownSizes { all: Some(&agreed.sizes), ..KnownSizes::default() };
            return self.result(job, me, &agreed.chosen, found, known);
        }
        let PairContext { job, me, agreed, allowed, channel, rng, .. } = run.pair()?;
        let own = self.own.clone();
        let job = &RulesJob { spec: job, own: &own };
        if job.bucket().is_some() {
            let rows = self.align(job, me, agreed, channel, rng)?;
            let answer = distributed::aligned_rows(self, &rows, &agreed.session)?;
            return Ok(agreement::RunResult::new(agreed.chosen.protocol, Vec::new(), move || Ok(answer)));
        }
        let found = self::run(job, me, self, agreed, allowed, channel, rng)?;
        self.result(job, me, &agreed.chosen, found, KnownSizes::of(agreed))
    }
}

impl RulesInput {
    /// The result of a run, with what `me` learned, given what is known.
    fn result(
        &self,
        job: &RulesJob<'_>,
        me: &str,
        chosen: &Chosen,
        found: Found,
        known: KnownSizes<'_>,
    ) -> Result<agreement::RunResult> {
        let common = Some(found.rows as u64);
        let aligned = job.alignment().map(|_| found.rows);
        let learned = learned::rules(job, me, KnownSizes { common, ..known });
        let (protocol, levels) = (found.protocol(chosen), found.levels);
        let show = job.show(me);
        let found = match found.named.map(Arc::new) {
            Some(named) => agreement::RunResult {
                page: Some(Box::new(ForReaders { own: self.own.clone(), named: named.clone() })),
                ..agreement::RunResult::new(protocol, learned, move || Ok(output::answer(&named, &show)))
            },
            None => agreement::RunResult::nothing(protocol, learned),
        };
        let found = agreement::RunResult { common: aligned, ..found };
        if levels.is_empty() { Ok(found) } else { found.with("levels", levels) }
    }

    /// Aligns rows with those of the peer.
    fn align(
        &self,
        job: &RulesJob<'_>,
        me: &str,
        agreed: &HandshakeResult,
        channel: &mut Channel,
        rng: &mut ChaCha20Rng,
    ) -> Result<AlignedRows> {
        let table = (self.items.rows(), self.ids.as_ref());
        aligned::align(job.alignment().as_ref(), me, table, agreed, channel, rng)
    }
}

/// Memory of candidates and rules, as many as there may be, and of what does not depend on the job, in bytes.
fn base_memory(job: &RulesJob<'_>) -> Result<u64> {
    let params = job.mining(0, None)?;
    let candidates = (params.max_candidates as u64).saturating_mul(CANDIDATE_BYTES);
    let rules = (params.max_rules as u64).saturating_mul(RULE_BYTES);
    Ok([candidates, rules].into_iter().fold(128 << 20, u64::saturating_add))
}

/// Memory besides the table, in bytes, as far as it can be known before: candidates, rules, and the alignment. Items
/// take a bit a row each, if they are frequent; how many are shows in the run.
pub fn memory(job: &RulesJob<'_>, me: &str, chosen: &Chosen, own: &Sizes, theirs: &Sizes) -> Result<u64> {
    let alignment = job.alignment();
    // Tables of another number of rows by position are refused later.
    let rows = most_rows(job, alignment.as_ref(), &job.sizes_of_both(me, own, theirs));
    let products = products::memory(job, chosen, rows.unwrap_or(own.items.min(theirs.items)))?;
    let alignment = alignment.map_or(Ok(0), |alignment| alignment.memory(me, chosen, own, theirs))?;
    Ok([products, alignment].into_iter().fold(base_memory(job)?, u64::saturating_add))
}

/// Aligns rows, mines, and exchanges the names of what was found, with as much memory as is `allowed`.
fn run(
    job: &RulesJob<'_>,
    me: &str,
    brought: &RulesInput,
    agreed: &HandshakeResult,
    allowed: Option<u64>,
    channel: &mut Channel,
    rng: &mut ChaCha20Rng,
) -> Result<Found> {
    warn_of_common_rows(job, channel.peer());
    let aligned = brought.align(job, me, agreed, channel, rng)?;
    let others = memory(job, me, &agreed.chosen, &agreed.own_sizes, &agreed.peer_sizes)?;
    let mut seed = zeroize::Zeroizing::new([0; 32]);
    rng.fill_bytes(&mut *seed);
    let mut products = RunProducts::new(job, &agreed.session, &agreed.chosen, ChaCha20Rng::from_seed(*seed))?;
    let side = side(job, me);
    let mine = |baskets: &Baskets, params: &Params, channels: &mut [Channel]| {
        // The parties are two, with one channel.
        mining::run(side, baskets, params, &agreed.session, &mut products, &mut channels[0], rng)
    };
    let named = mine_named(
        job,
        me,
        brought,
        &aligned,
        (others, Limit::of(allowed)),
        None,
        std::slice::from_mut(channel),
        mine,
    )?;
    Ok(Found { rows: aligned.common(), named, levels: products.levels(channel.traffic()) })
}

/// Mines over aligned rows, and exchanges the names of what was found. `mine` finds it from the baskets of the frequent
/// items, which, with `others`, take no more memory than there may be used. More than two check with `heard` that all
/// were told the same names.
#[allow(clippy::too_many_arguments, reason = "the rest of `run`, of two and of several")]
fn mine_named(
    job: &RulesJob<'_>,
    me: &str,
    brought: &RulesInput,
    aligned: &AlignedRows,
    (others, limit): (u64, Limit),
    heard: Option<Heard>,
    channels: &mut [Channel],
    mine: impl FnOnce(&Baskets, &Params, &mut [Channel]) -> Result<Mined>,
) -> Result<Option<RulesResult>> {
    let rows = aligned.common();
    if let Some(least) = job.limits.min_rows.filter(|least| *least > rows as u64) {
        // All know both numbers.
        let all = if channels.len() > 1 { "all" } else { "both" };
        let error = Error::Input(format!(
            "{all} parties have {} in common, and limits.min_rows is {}: nothing was counted",
            text::counted(rows as u64, "row"),
            text::count(least)
        ));
        return Err(conclude_all_for(channels, error));
    }
    let params = job.mining(rows, aligned.are_hidden().then_some(aligned.rows()))?;
    warn_of_minimum(&params);
    let binned = brought.items.binned(|row| aligned.place(row).is_some(), job.bound_rows(params.minimum));
    let items = Aligned::new([&brought.items, &binned], aligned, params.minimum);
    items.check_density(job)?;
    items.check_memory(&params, others, limit)?;
    let baskets = items.baskets(&params)?;
    let mined = mine(&baskets, &params, channels)?;

    let place = job.parties.place(me)?;
    let own = mined.frequent.shown(place as u8).into_iter().map(|number| {
        let item = mined.items.get(number as usize).and_then(|item| items.frequent.get(*item));
        let (name, _) = item.ok_or_else(|| Error::Internal("an item that is not there".into()))?;
        Ok((*name).to_owned())
    });
    let own = own.collect::<Result<Vec<_>>>()?;
    let parties = job.parties.names();
    let (learns, learner) = (job.learns(me), |party: &usize| job.learns(parties[*party]));
    let peers: Vec<usize> = (0..parties.len()).filter(|party| *party != place).collect();
    let mut names = each(channels, peers, |peer, channel| {
        let own = if learner(&peer) { &own[..] } else { &[] };
        let count = if learns { mined.frequent.shown(peer as u8).len() } else { 0 };
        mining::names::exchange(own, count, channel)
    })?;
    names.insert(place, own);
    if let Some(mut heard) = heard {
        let told = |(party, names): (usize, &Vec<String>)| MeshStatement::new([party], names);
        let statements: Vec<MeshStatement> = names.iter().enumerate().map(told).collect();
        let shared = |peer| if learns && learner(&peer) { statements.clone() } else { Vec::new() };
        heard.check("names of items", shared, channels)?;
    }
    let named = learns.then(|| RulesResult::new(mined, &parties.into_iter().zip(names).collect::<Vec<_>>()));
    named.transpose()
}

/// Warns of a minimum that the peer has a say in.
fn warn_of_common_rows(job: &RulesJob<'_>, peer: &str) {
    if job.support_of_common_rows() && job.limits.min_rows.is_none() {
        tracing::warn!(
            "min_support is a fraction of the common rows: {peer} can make these so few that one or two rows suffice. Use a \
             number of rows, or limits.min_rows"
        );
    }
}

/// Warns of a minimum that nothing reaches.
fn warn_of_minimum(params: &Params) {
    if params.minimum > params.rows {
        tracing::warn!(
            "min_support asks for {}, and there are {}: no itemset can be frequent",
            text::counted(params.minimum as u64, "row"),
            text::count(params.rows as u64)
        );
    }
}

/// Returns the places of an item's rows, each once, from its own rows, ascending.
fn places<'a>(aligned: &'a AlignedRows, rows: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
    let once = rows.iter().enumerate().filter(|(index, row)| *index == 0 || rows[index - 1] != **row);
    once.filter_map(|(_, &row)| aligned.place(row))
}

/// A party's items over the rows that both have.
struct Aligned<'a> {
    rows: &'a AlignedRows,
    /// The items that are in enough of these rows: their names, and the own rows that hold them.
    frequent: Vec<(&'a str, &'a [u32])>,
}

impl<'a> Aligned<'a> {
    /// Counts the rows of each item, from the list of them: items that are rare cost no more than that.
    fn new(kinds: [&'a BasketItems; 2], rows: &'a AlignedRows, minimum: usize) -> Aligned<'a> {
        let items =
            kinds.into_iter().flat_map(|items| (0..items.len()).map(|item| (items.name(item), items.rows_of(item))));
        let enough = |(_, own): &(&str, &[u32])| places(rows, own).count() >= minimum;
        Aligned { rows, frequent: items.filter(enough).collect() }
    }

    /// Refuses an item in more rows than the terms allow, where the protocol has such a bound. No itemset is in more.
    fn check_density(&self, job: &RulesJob<'_>) -> Result<()> {
        let (Some(density), Some(bound)) = (job.density()?, job.most_ones(self.rows.rows())?) else { return Ok(()) };
        match self.frequent.iter().map(|(_, rows)| places(self.rows, rows).count()).find(|rows| *rows > bound) {
            Some(rows) => Err(Error::Input(format!(
                "an item of this party is in {} of {}, and density = {density} allows {}: agree on a higher density, or leave it \
                 out",
                text::count(rows as u64),
                text::counted(self.rows.rows() as u64, "row"),
                text::count(bound as u64)
            ))),
            None => Ok(()),
        }
    }

    /// Refuses frequent items that take more memory than there may be used, `others` aside; so many that the run ends
    /// take none.
    fn check_memory(&self, params: &Params, others: u64, limit: Limit) -> Result<()> {
        let items = self.frequent.len() as u64;
        let bytes = items * Baskets::item_bytes(self.rows.rows()) as u64;
        if self.frequent.len() > params.max_candidates || others.saturating_add(bytes) <= limit.bytes() {
            return Ok(());
        }
        Err(Error::Input(format!(
            "{} of this party are in at least {} and take {} of memory, with all else {}, and {limit}: use a higher min_support, \
             or {}",
            text::counted(items, "item"),
            text::counted(params.minimum as u64, "row"),
            text::bytes(bytes),
            text::bytes(others.saturating_add(bytes)),
            limit.advice()
        )))
    }

    /// The baskets of the frequent items.
    fn baskets(&self, params: &Params) -> Result<Baskets> {
        let mut baskets = Baskets::new(self.rows.rows(), params.minimum, params.max_candidates)?;
        self.frequent.iter().try_for_each(|(_, rows)| baskets.push(places(self.rows, rows)))?;
        if self.rows.are_hidden() {
            baskets.set_present(self.rows.present());
        }
        Ok(baskets)
    }
}

/// Returns the side of this party.
fn side(job: &JobSpec, party: &str) -> Side {
    if job.parties.position(party) == Some(0) { Side::First } else { Side::Second }
}

impl Found {
    /// The protocol that made most of the products.
    fn protocol(&self, chosen: &Chosen) -> Protocol {
        let by = |protocol: Protocol| -> usize {
            let levels = self.levels.iter().filter(|level| level.protocol == protocol.name());
            levels.map(|level| level.products).sum()
        };
        match chosen.or {
            Some(other) if by(other) >= by(chosen.protocol) => other,
            _ => chosen.protocol,
        }
    }
}
