//! Common part of products of two parties, whatever the protocol.

use std::collections::BTreeMap;

use tacita_core::Result;

use super::DotMethod;
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::{
    Choice, Chosen, Disclosure, KnownSizes, Network, PairContext, PartContext, Protocol, RunResult, Sizes,
};
use crate::jobs::dot::spec::DotJob;
use crate::jobs::dot::{DotInput, choose, cost, found, learned, memory, methods, noise, run};

/// Products of two parties.
pub struct DotPair;

impl DotMethod for DotPair {
    fn protocols(&self) -> Vec<Protocol> {
        methods::all().map(|method| method.protocol()).collect()
    }

    fn choose(&self, job: &DotJob<'_>, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
        choose::choose_dot(job, sizes, network)
    }

    fn memory(&self, job: &DotJob<'_>, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        memory(job, me, chosen, &sizes[me], &sizes[job.peer_of(me)])
    }

    fn cost(
        &self,
        job: &DotJob<'_>,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        cost::dot_cost(chosen, job, sizes, machine)
    }

    fn learned(&self, job: &DotJob<'_>, party: &str, known: KnownSizes<'_>) -> Vec<String> {
        learned::dot(job, party, known)
    }

    fn at_a_glance(&self, job: &DotJob<'_>) -> Vec<Disclosure> {
        learned::at_a_glance(job)
    }

    fn run(&self, brought: &mut DotInput, run_of: PartContext<'_>) -> Result<RunResult> {
        let PairContext { job, me, agreed, channel, rng, .. } = run_of.pair()?;
        let noise = brought.noise.take();
        let job = &DotJob { spec: job, own: &brought.own };
        let found::DotResult { common, outcome, encryptions } = run(job, me, brought, noise, agreed, channel, rng)?;
        let learned = learned::dot(job, me, KnownSizes { common: Some(common as u64), ..KnownSizes::of(agreed) });
        let aligned = job.alignment().map(|_| common);
        let found = RunResult {
            answer: outcome.answer(job),
            common: aligned,
            ..RunResult::nothing(agreed.chosen.protocol, learned)
        };
        let found = match noise::report(job)? {
            Some(noise) => found.with("noise", noise)?,
            None => found,
        };
        match encryptions {
            Some(encryptions) => found.with("encryptions", encryptions),
            None => Ok(found),
        }
    }
}
