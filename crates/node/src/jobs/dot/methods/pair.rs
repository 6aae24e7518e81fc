//! Common part of products of two parties, whatever the protocol.

use std::collections::BTreeMap;

use tacita_core::Result;

use super::Method;
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::{Choice, Chosen, Found, Glance, Known, Network, Pair as Both, Protocol, Run, Sizes};
use crate::jobs::dot::spec::Spec;
use crate::jobs::dot::{Brought, choose, cost, found, learned, memory, methods, run};

/// Products of two parties.
pub struct Pair;

impl Method for Pair {
    fn protocols(&self) -> Vec<Protocol> {
        methods::all().map(|method| method.protocol()).collect()
    }

    fn choose(&self, job: &Spec<'_>, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
        choose::choose_dot(job, sizes, network)
    }

    fn memory(&self, job: &Spec<'_>, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        memory(job, me, chosen, &sizes[me], &sizes[job.peer_of(me)])
    }

    fn cost(
        &self,
        job: &Spec<'_>,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        cost::dot_cost(chosen, job, sizes, machine)
    }

    fn learned(&self, job: &Spec<'_>, party: &str, known: Known<'_>) -> Vec<String> {
        learned::dot(job, party, known)
    }

    fn at_a_glance(&self, job: &Spec<'_>) -> Vec<Glance> {
        learned::at_a_glance(job)
    }

    fn run(&self, brought: &Brought, run_of: Run<'_>) -> Result<Found> {
        let Both { job, me, agreed, channel, rng, .. } = run_of.pair()?;
        let job = &Spec { spec: job, own: &brought.own };
        let found::Found { rows, outcome, encryptions } = run(job, me, brought, agreed, channel, rng)?;
        let learned = learned::dot(job, me, Known { common: Some(rows as u64), ..Known::of(agreed) });
        let found = Found { answer: outcome.answer(job), ..Found::nothing(agreed.chosen.protocol, learned) };
        match encryptions {
            Some(encryptions) => found.with("encryptions", encryptions),
            None => Ok(found),
        }
    }
}
