//! `crosstab`: from tables to the cells of a cross table that those who learn get.

mod categories;
mod cost;
mod job;
mod learned;
mod load;
mod mesh;
mod noise;
mod output;
mod page;
mod product;
mod run;
mod spec;
mod tail;

use std::sync::Arc;

use tacita_core::Result;
use tacita_core::channel::Channel;

use crate::agreement::{
    Chosen, JobSpec, KnownSizes, PairContext, PartContext, PartyInput, Peers, Protocol, RunResult, Sizes,
};
use crate::jobs::aligned;
use crate::table::RowCounts;

use load::CrosstabInput;
use output::CrossTable;
use page::ForReaders;
pub use spec::{CellMeasure, Crosstab, CrosstabJob};

/// Memory of the products and of the circuit besides columns, in bytes, an estimate from above.
const WORK_BYTES: u64 = 512 << 20;

/// Memory of a row: the categories of its columns, its category, and its place.
const ROW_BYTES: u64 = 16;

impl CrosstabJob<'_> {
    /// Memory besides the table, in bytes, as far as it can be known before: columns of categories aside, whose number
    /// shows in the run.
    fn memory(&self, me: &str, chosen: &Chosen, own: &Sizes, theirs: &Sizes) -> Result<u64> {
        let alignment = self.alignment().map_or(Ok(0), |alignment| alignment.memory(me, chosen, own, theirs))?;
        Ok(WORK_BYTES.saturating_add(own.items.saturating_mul(ROW_BYTES)).saturating_add(alignment))
    }
}

impl PartyInput for CrosstabInput {
    fn sizes(&self) -> Sizes {
        self.sizes.clone()
    }

    fn rows(&self) -> RowCounts {
        self.rows
    }

    fn check_peer(&self, job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()> {
        let alignment = CrosstabJob { spec: job, own: &self.own }.alignment();
        aligned::check_peer(alignment.as_ref(), &self.sizes, theirs, channel)
    }

    fn run(&mut self, run: PartContext<'_>) -> Result<RunResult> {
        let own = self.own.clone();
        if let Peers::Mesh { agreed, .. } = &run.peers {
            let (job, me, agreed) = (&CrosstabJob { spec: run.job, own: &own }, run.me, *agreed);
            let mesh::Found { common, categories, table } = mesh::run(job, self, run)?;
            let known = KnownSizes { common: Some(common as u64), all: Some(&agreed.sizes), ..KnownSizes::default() };
            let learned = learned::crosstab(job, me, known);
            return result(&own, agreed.chosen.protocol, learned, common, table).with("categories", categories);
        }
        let PairContext { job, me, agreed, allowed, secret, channel, rng } = run.pair()?;
        let noise = self.noise.take();
        let job = &CrosstabJob { spec: job, own: &own };
        let found = run::run(job, me, (self, noise), agreed, (allowed, secret), channel, rng)?;
        let known = KnownSizes { common: Some(found.common as u64), ..KnownSizes::of(agreed) };
        let learned = learned::crosstab(job, me, known);
        let result = result(&own, agreed.chosen.protocol, learned, found.common, found.table);
        let result = match noise::report(job)? {
            Some(noise) => result.with("noise", noise)?,
            None => result,
        };
        let [mine, theirs] = found.categories;
        result.with("categories", std::collections::BTreeMap::from([(me, mine), (job.peer_of(me), theirs)]))
    }
}

/// The result of a run with so many common rows, and what was learned.
fn result(
    own: &Crosstab,
    protocol: Protocol,
    learned: Vec<String>,
    common: usize,
    table: Option<CrossTable>,
) -> RunResult {
    let table = table.map(Arc::new);
    let page = table.clone().map(|table| Box::new(ForReaders { own: own.clone(), table }) as _);
    let common = own.row_id.is_some().then_some(common);
    RunResult { page, common, ..RunResult::new(protocol, learned, move || Ok(output::answer(table))) }
}
