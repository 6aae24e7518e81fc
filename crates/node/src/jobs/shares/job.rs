//! The job as an object: its room's answers to what the rest of the program asks.

use std::collections::BTreeMap;

use serde_json::Value;
use tacita_core::{Result, Security};

use super::spec::{Operation, SharesJob, SharesSpec};
use super::{EXTENSION, OPEN, SharesInput, choose, cost, learned, memory};
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::words::bad;
use crate::agreement::{
    Ability, Answering, Choice, Chosen, CommonKey, Disclosure, InitQuestion, ItemKind, Job, JobInfo, JobSpec,
    KnownSizes, Network, PartyInput, PoolPlace, Protocol, Reveal, Sizes, Source, Topology,
};
use crate::jobs::ParseJob;
use crate::jobs::dot::mesh::MAX_PARTIES;
use crate::jobs::dot::methods::ot;

/// Questions that `tacita init` asks.
const QUESTIONS: [InitQuestion; 1] = [InitQuestion {
    key: "operation",
    asks: "What is done with the shares: open, sum, or at_least:N",
    usual: Some("open"),
    answer: Answering::Word,
    means: "open, sum or at_least:N; each share opens once",
}];

/// Properties common to all jobs of this kind.
static INFO: JobInfo = JobInfo {
    name: "shares",
    about: "what is in the shares that an earlier job left?",
    questions: &QUESTIONS,
    usual_reveal: &Reveal::Value,
    reveals: &["value"],
    keys: &[CommonKey::MinResult, CommonKey::Noise],
    items: ItemKind::Numbers,
    most_parties: MAX_PARTIES,
    // Shares have had their noise, and were charged for it, since they were made.
    makes_noise: false,
    ..JobInfo::USUAL
};

impl ParseJob for SharesSpec {
    fn all_protocols() -> Vec<Protocol> {
        vec![ot::PROTOCOL, OPEN]
    }
}

impl SharesSpec {
    /// Combines these keys with the job that they belong to.
    fn of<'a>(&'a self, spec: &'a JobSpec) -> SharesJob<'a> {
        SharesJob { spec, own: self }
    }
}

impl Job for SharesSpec {
    fn info(&self) -> &'static JobInfo {
        &INFO
    }

    fn topology<'a>(&self, spec: &'a JobSpec) -> Topology<'a> {
        if spec.parties.0.len() > 2 { Topology::Mesh } else { Topology::Pair }
    }

    fn protocols(&self, _spec: &JobSpec) -> Vec<Protocol> {
        vec![self.protocol()]
    }

    fn protocols_from(&self, _spec: &JobSpec) -> Option<String> {
        self.operation.map(|operation| format!("operation = \"{operation}\""))
    }

    fn check(&self, spec: &JobSpec) -> Result<()> {
        if spec.security == Security::Malicious {
            return bad(
                "security = \"malicious\" is not available for job = \"shares\": use \"semi-honest\". A cheating party could \
                 send a false share",
            );
        }
        spec.check_level()?;
        if let Some(noise) = &spec.noise {
            noise.privacy()?;
            if noise.bounds.is_some() {
                return bad("noise.bounds: they are those of the job that makes the shares: leave them out");
            }
        }
        match self.operation {
            None => bad("the key `operation` is missing: use \"open\", \"sum\" or \"at_least:N\""),
            Some(Operation::AtLeast(_)) if spec.reveal_to.len() < spec.parties.0.len() => {
                let all = if spec.parties.0.len() > 2 { "all" } else { "both" };
                bad(format!(
                    "reveal_to: a comparison (operation = \"at_least:N\") always reveals its answers to {all} parties: name {all}"
                ))
            }
            Some(Operation::AtLeast(_)) if spec.limits.min_result.is_some() => bad(
                "limits.min_result: a comparison (operation = \"at_least:N\") reveals yes or no, and no number that could \
                 be small: leave it out",
            ),
            Some(_) => Ok(()),
        }
    }

    fn terms(&self, _spec: &JobSpec) -> Vec<(&'static str, Value)> {
        vec![("operation", self.operation.map(|operation| operation.to_string()).into())]
    }

    fn can(&self, _spec: &JobSpec, what: Ability) -> Result<()> {
        if what == Ability::SeveralInputs { Ok(()) } else { Err(what.missing(INFO.name)) }
    }

    /// One run of so many numbers.
    fn assumed(&self, _spec: &JobSpec, _party: &str, items: u64, _row_bytes: Option<u64>) -> Result<Sizes> {
        Ok(Sizes { items, runs: Some(vec!["0".repeat(64)]), ..Sizes::default() })
    }

    fn choose(&self, _spec: &JobSpec, _sizes: &BTreeMap<String, Sizes>, _network: Network) -> Result<Choice> {
        Ok(choose::choose_for_shares(self))
    }

    fn allows(&self, spec: &JobSpec, chosen: &Chosen) -> bool {
        let extension = self.threshold().map(|_| EXTENSION);
        let made = chosen.extension == extension && chosen.alignment.is_none();
        spec.leaves(chosen.protocol) && spec.security == Security::SemiHonest && made
    }

    fn memory(&self, spec: &JobSpec, me: &str, _chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        Ok(memory(&self.of(spec), &sizes[me]))
    }

    fn cost(
        &self,
        spec: &JobSpec,
        _chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        cost::shares_cost(&self.of(spec), sizes, None, machine)
    }

    fn learned(&self, spec: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String> {
        learned::shares(&self.of(spec), party, known)
    }

    fn at_a_glance(&self, spec: &JobSpec) -> Vec<Disclosure> {
        learned::at_a_glance(&self.of(spec))
    }

    fn load(
        &self,
        spec: &JobSpec,
        me: &str,
        source: &Source,
        _pool: Option<&PoolPlace>,
    ) -> Result<Box<dyn PartyInput>> {
        Ok(Box::new(SharesInput::load(&self.of(spec), me, source)?))
    }
}
