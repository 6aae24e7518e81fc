//! The job as an object: its room's answers to what the rest of the program asks.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use tacita_core::Result;

use super::spec::{Aggregate, AggregateJob, DH, NAOR_REINGOLD, PARTICIPANTS, ROLES};
use super::{cost, learned};
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::words::bad;
use crate::agreement::{
    Answering, Choice, Chosen, CommonKey, Disclosure, InitQuestion, ItemKind, Job, JobInfo, JobSpec, KnownSizes,
    Network, PartyInput, PoolPlace, Protocol, Reveal, Served, Sizes, Source, Topology,
};
use crate::jobs::ParseJob;

/// Serving roles, and the commands used instead of a run.
const SERVED: Served = Served {
    roles: &ROLES,
    audience: &[PARTICIPANTS, "database"],
    commands: "`tacita proxy`, `tacita oracle` and `tacita database` serve it, participants use `tacita submit` and `tacita results`, and \
               `tacita simulate` tries all of them here",
    round_loss: |spec| Aggregate::of(spec)?.round_loss(),
};

/// Questions that `tacita init` asks.
const QUESTIONS: [InitQuestion; 6] = [
    InitQuestion {
        key: "key.columns",
        asks: "Which column holds what is reported, as an address",
        usual: Some("key"),
        answer: Answering::Columns,
        means: "columns of the reported key",
    },
    InitQuestion {
        key: "key.normalize",
        asks: "How it is read (none, text, ip, email, ...)",
        usual: Some("none"),
        answer: Answering::Profiles,
        means: "profiles that bring equal values into one form",
    },
    InitQuestion {
        key: "round.reveal_when",
        asks: "When is a key revealed",
        usual: Some("distinct >= 3"),
        answer: Answering::Word,
        means: "condition for a key to be revealed",
    },
    InitQuestion {
        key: "round.key_bytes",
        asks: "How many bytes has the longest key",
        usual: Some("16"),
        answer: Answering::Word,
        means: "maximum length of a key; an address takes 16",
    },
    InitQuestion {
        key: "round.min_participants",
        asks: "How many participants are shuffled together at least",
        usual: Some("5"),
        answer: Answering::Word,
        means: "with fewer, nothing is sent to the database",
    },
    InitQuestion {
        key: "participants.allow",
        asks: "The file that lists who may report, a name and an identity on each line",
        usual: Some("participants.txt"),
        answer: Answering::Word,
        means: "participants that may report",
    },
];

/// Properties common to all jobs of this kind.
static INFO: JobInfo = JobInfo {
    name: "aggregate",
    about: "which keys do enough of many participants report?",
    questions: &QUESTIONS,
    usual_reveal: &Reveal::Keys { values: true, histogram: false },
    reveals: &["keys", "keys+values", "keys+histogram", "keys+values+histogram"],
    keys: &[CommonKey::Key, CommonKey::Noise, CommonKey::NoiseUnit],
    items: ItemKind::Reports,
    columns_from: "key.columns or round.value",
    served: Some(SERVED),
    ..JobInfo::USUAL
};

impl ParseJob for Aggregate {
    fn all_protocols() -> Vec<Protocol> {
        vec![DH, NAOR_REINGOLD]
    }

    fn is_in(&mut self, directory: &Path) {
        if let Some(allow) = &mut self.participants.allow {
            *allow = directory.join(&*allow);
        }
    }
}

impl Aggregate {
    /// Combines these keys with the job that they belong to.
    fn with<'a>(&'a self, spec: &'a JobSpec) -> AggregateJob<'a> {
        AggregateJob { spec, own: self }
    }
}

impl Job for Aggregate {
    fn info(&self) -> &'static JobInfo {
        &INFO
    }

    fn topology<'a>(&self, _spec: &'a JobSpec) -> Topology<'a> {
        Topology::Served
    }

    fn protocols(&self, _spec: &JobSpec) -> Vec<Protocol> {
        Aggregate::all_protocols()
    }

    fn warnings(&self, spec: &JobSpec) -> Vec<String> {
        self.with(spec).warnings()
    }

    fn check(&self, spec: &JobSpec) -> Result<()> {
        self.with(spec).check()
    }

    fn columns(&self, _spec: &JobSpec, _party: &str) -> Vec<String> {
        self.round.value.iter().cloned().collect()
    }

    fn terms(&self, _spec: &JobSpec) -> Vec<(&'static str, Value)> {
        let round = &self.round;
        let mut terms = Map::new();
        let mut put = |name: &str, value: Value| terms.insert(name.to_owned(), value);
        put("reveal_when", round.reveal_when.to_string().into());
        put("key_bytes", round.key_bytes.into());
        put("keys", round.keys.name().into());
        put("min_participants", round.min_participants.into());
        put("max_share", round.max_share.to_string().into());
        put("tighten", round.tighten.into());
        if let Some(value) = &round.value {
            put("values", round.values.terms());
            put("value", value.as_str().into());
        }
        if let Some(moment) = round.close_at {
            put("close_at", moment.to_string().into());
        }
        for (name, bound) in [("batch_size", round.batch_size), ("max_reports", round.max_reports)] {
            if let Some(bound) = bound {
                put(name, bound.into());
            }
        }
        let identities = |role| {
            let mut all: Vec<_> = self.members(role).iter().filter_map(|member| member.identity.as_ref()).collect();
            // Proxies and the database speak of each proxy by its place. Others come in any order, and share an
            // identity if they like.
            if role != "proxy" {
                all.sort_by_key(ToString::to_string);
                all.dedup();
            }
            json!(all.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        let mut all = vec![("round", Value::Object(terms))];
        all.extend(ROLES.map(|role| (role, identities(role))));
        all
    }

    fn choose(&self, spec: &JobSpec, _sizes: &BTreeMap<String, Sizes>, _network: Network) -> Result<Choice> {
        let protocol = self.with(spec).chosen();
        let why = if protocol == DH {
            "one message from each participant, and none back"
        } else {
            "the file asks for the published protocol"
        };
        Ok(Choice { chosen: Chosen::only(protocol), why: why.into() })
    }

    fn allows(&self, spec: &JobSpec, chosen: &Chosen) -> bool {
        *chosen == Chosen::only(self.with(spec).chosen())
    }

    fn memory(&self, spec: &JobSpec, me: &str, _chosen: &Chosen, _sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        Ok(cost::memory(&self.with(spec), me))
    }

    fn cost(
        &self,
        spec: &JobSpec,
        _chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        cost::cost(&self.with(spec), sizes, machine)
    }

    fn learned(&self, spec: &JobSpec, party: &str, _known: KnownSizes<'_>) -> Vec<String> {
        learned::learned(&self.with(spec), party)
    }

    fn at_a_glance(&self, spec: &JobSpec) -> Vec<Disclosure> {
        learned::at_a_glance(&self.with(spec))
    }

    fn load(
        &self,
        _spec: &JobSpec,
        _me: &str,
        _source: &Source,
        _pool: Option<&PoolPlace>,
    ) -> Result<Box<dyn PartyInput>> {
        bad(format!("job = \"aggregate\" is not run between its parties: {}", SERVED.commands))
    }
}
