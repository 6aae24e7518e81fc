//! `dot` among more than two parties, all connected to each other: the products of one column of each, over rows that
//! all have. `tacita_core::protocol::dot::ot::mesh` has the protocol.

pub(in crate::jobs) mod check;
mod cost;
mod learned;

use std::collections::BTreeMap;
use std::time::Duration;

use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::ot::mesh::{self, Factor, MeshProducts};
use tacita_core::protocol::mesh::MeshOts;
use tacita_core::{Error, Result};

use super::DotInput;
use super::found::Outcome;
use super::methods::{DotMethod, ot};
use super::run::modulus_warning;
use super::spec::DotJob;
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::{
    Choice, Chosen, Disclosure, JobSpec, KnownSizes, Network, PartContext, Protocol, Reveal, RunResult, Sizes,
};
use crate::jobs::aligned;
use crate::jobs::numbers::ShareFile;

pub(in crate::jobs) use learned::{rows as rows_learned, rows_at_a_glance};

/// The most parties: each two of them make transfers.
pub const MAX_PARTIES: usize = 16;

/// The most products of a job: one for each choice of a column of each party.
const MAX_PRODUCTS: usize = 1 << 16;

/// SoftSpoken's parameter where the job says nothing: little computation, since several links share a party's
/// processor.
pub(in crate::jobs) const USUAL_K: usize = 4;

/// Products among more than two parties.
pub struct DotMesh;

impl DotMethod for DotMesh {
    fn protocols(&self) -> Vec<Protocol> {
        vec![ot::PROTOCOL]
    }

    fn choose(&self, job: &DotJob<'_>, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
        let alignment = aligned::choose(job.alignment().as_ref(), sizes, network)?;
        let extension = Some(job.own.extension.unwrap_or(Extension::SoftSpoken(USUAL_K)));
        let chosen = Chosen { extension, alignment, ..Chosen::only(ot::PROTOCOL) };
        Ok(Choice { chosen, why: "it is the one among more than two parties".into() })
    }

    fn memory(&self, job: &DotJob<'_>, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        cost::memory(job, me, chosen, sizes)
    }

    fn cost(
        &self,
        job: &DotJob<'_>,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        cost::cost(job, chosen, sizes, machine)
    }

    fn learned(&self, job: &DotJob<'_>, party: &str, known: KnownSizes<'_>) -> Vec<String> {
        learned::learned(job, party, known)
    }

    fn at_a_glance(&self, job: &DotJob<'_>) -> Vec<Disclosure> {
        learned::at_a_glance(job)
    }

    fn run(&self, brought: &mut DotInput, run: PartContext<'_>) -> Result<RunResult> {
        let PartContext { job, me, rng, peers, .. } = run;
        let job = &DotJob { spec: job, own: &brought.own };
        let (agreed, channels) = peers.mesh()?;
        let table = (brought.columns.rows(), brought.ids.as_ref());
        let rows = aligned::align_among(job.alignment().as_ref(), me, table, agreed, channels, rng)?;
        let aligned = rows.columns(&brought.columns);
        let columns = aligned.as_ref().unwrap_or(&brought.columns);
        let plan = products(job, columns.rows())?;
        if let Some(text) = modulus_warning(job, columns.rows())? {
            tracing::warn!("{text}");
        }
        let longest = longest(job, &agreed.chosen, &agreed.sizes)?;
        channels.iter_mut().for_each(|channel| channel.allow_longer(longest));

        let place = job.parties.place(me)?;
        let mut ots = MeshOts::setup(place, &agreed.session, &agreed.links(job)?, k(&agreed.chosen)?, channels, rng)?;
        let shares = mesh::run(columns, &plan, &mut ots, channels)?;
        let outcome = match job.reveal {
            Reveal::Shares => {
                let range = job.range(columns.rows())?;
                Outcome::Shares(Box::new(ShareFile::new(job, me, &agreed.session, &range, &shares, false)))
            }
            _ => {
                let modulus = shares.modulus();
                let signed = job.integers()?.signed();
                let numbers = mesh::open(&shares, place, &learners(job)?, &peers_of(job, place), channels)?;
                let integers = |numbers: Vec<u128>| numbers.into_iter().map(|n| modulus.integer(n, signed)).collect();
                numbers.map(integers).map_or(Outcome::Nothing, Outcome::Values)
            }
        };
        let known =
            KnownSizes { common: Some(columns.rows() as u64), all: Some(&agreed.sizes), ..KnownSizes::default() };
        let learned = learned::learned(job, me, known);
        Ok(RunResult { answer: outcome.answer(job), ..RunResult::nothing(agreed.chosen.protocol, learned) })
    }
}

/// The products that the job asks for: one for each choice of a column of each party, the last party's changing first.
fn products(job: &DotJob<'_>, rows: usize) -> Result<MeshProducts> {
    let mut all: Vec<Vec<Factor>> = vec![Vec::new()];
    for (party, (_, columns)) in job.factors().into_iter().enumerate() {
        let with = |product: Vec<Factor>| {
            (0..columns.len() as u32).map(move |column| {
                let mut product = product.clone();
                product.push(Factor { party, column });
                product
            })
        };
        all = all.into_iter().flat_map(with).collect();
    }
    MeshProducts::new(rows, job.integers()?, job.modulus(rows)?, &all)
}

/// Returns SoftSpoken's parameter k.
pub(in crate::jobs) fn k(chosen: &Chosen) -> Result<usize> {
    match chosen.extension {
        Some(Extension::SoftSpoken(k)) => Ok(k),
        _ => Err(Error::Internal(format!("\"{chosen}\" makes no transfers among several"))),
    }
}

/// The places of those who learn.
pub(in crate::jobs) fn learners(job: &JobSpec) -> Result<Vec<usize>> {
    job.reveal_to.iter().map(|name| job.parties.place(name)).collect()
}

/// The places of all others, in order.
pub(in crate::jobs) fn peers_of(job: &JobSpec, me: usize) -> Vec<usize> {
    (0..job.parties.0.len()).filter(|place| *place != me).collect()
}

/// Time in which a party may hear nothing but that a peer is alive, on slow machines and lines.
fn longest(job: &DotJob<'_>, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<Duration> {
    let cost = cost::of_products(job, chosen, sizes, None)?;
    let bytes: f64 = cost.roles.values().map(|role| role.bytes as f64).sum();
    let cpu: f64 = cost.roles.values().map(|role| role.cpu).sum();
    Ok(Duration::try_from_secs_f64(60.0 + 50.0 * cpu + bytes * 8.0 / 1e6).unwrap_or(Duration::MAX))
}
