//! The job as an object: its room's answers to what the rest of the program asks.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tacita_core::Result;
use tacita_core::primitive::elgamal::threshold::PartyOrder;
use tacita_core::primitive::published::bloom::Rate;
use tacita_core::protocol::published::intersect::polynomial::Strategy;

use super::load;
use super::outsourced::{self, Filters};
use super::{any, distributed, live, methods, multiset, shown};
use crate::agreement::CommonKey::{Clients, Gives, Helper, Key, MinResult, PadTo, Queries, Scale, Show};
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::words::{MAX_ROWS, maybe_from_word};
use crate::agreement::{
    Ability, Answering, Capabilities, Choice, Chosen, CommonKey, Disclosure, Distributed, Helped, InitQuestion, Job,
    JobInfo, JobSpec, KnownSizes, MAX_PARTIES, Network, PartyInput, PoolPlace, Prepared, Protocol, Resumable,
    ResumePoint, RunResult, Sizes, Source, Topology,
};
use crate::base::hex::hex;
use crate::jobs::polynomials::{OrAuto, Polynomials};
use crate::jobs::{ParseJob, on_disk};
use crate::table::PayloadSchema;
use crate::transport::depot::Expected;

/// Job that asks: which rows, or how many, have keys in common?
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct Intersect {
    /// Strategy for transfer and multiplication of polynomials, for `polynomial`.
    pub strategy: Option<OrAuto<Strategy>>,
    /// Number of bins into which keys go, for `polynomial`.
    pub bins: Option<OrAuto<usize>>,
    /// Order in which the parties decrypt, for `outsourced-bloom`.
    #[serde(deserialize_with = "maybe_from_word")]
    pub decryption: Option<PartyOrder>,
    /// Rate at which a key is wrongly in the result, for `outsourced-bloom`.
    #[serde(deserialize_with = "maybe_from_word")]
    pub false_positives: Option<Rate>,
}

/// Questions that `tacita init` asks.
const QUESTIONS: [InitQuestion; 3] = [
    InitQuestion {
        key: "key.columns",
        asks: "Columns that rows are matched by",
        usual: None,
        answer: Answering::Columns,
        means: "agreed names; a party with other headers maps them below",
    },
    InitQuestion {
        key: "key.normalize",
        asks: "How each is normalised: none, text, name, latin, initials, date, date:DMY, date:MDY, year, timestamp, timestamp:ZONE, email, domain, phone, phone:CC, ip, integer or decimal",
        usual: Some("none"),
        answer: Answering::Profiles,
        means: "profile of each: the form in which values are compared",
    },
    MAX_ROWS,
];

/// Properties common to all jobs of this kind.
static INFO: JobInfo = JobInfo {
    name: "intersect",
    about: "which rows do all have, by a key?",
    questions: &QUESTIONS,
    reveals: &["rows", "count", "sum:COLUMN", "mean:COLUMN", "counts:COLUMN", "payload"],
    keys: &[Gives, Key, Scale, PadTo, MinResult, Queries, Clients, Helper, Show],
    most_parties: MAX_PARTIES,
    instead: Some((
        CommonKey::Noise,
        "The receiver counts itself what matches, so that nobody could add noise. A count or sum with noise is a job = \"dot\" with \
         row_id, limits.blur and noise: see docs/guides/dot.md",
    )),
    ..JobInfo::USUAL
};

impl ParseJob for Intersect {
    fn all_protocols() -> Vec<Protocol> {
        methods::protocols(None)
    }
}

impl Intersect {
    /// The own keys of a job.
    pub(super) fn of(job: &JobSpec) -> Intersect {
        let own: &dyn Any = &*job.job;
        own.downcast_ref().copied().unwrap_or_default()
    }

    /// Returns the settings for making polynomials, for the protocols that use them.
    pub(super) fn polynomials(&self) -> Polynomials {
        Polynomials { strategy: self.strategy, bins: self.bins }
    }

    /// Returns the settings for making and decrypting filters, for the published protocol through a helper.
    pub(super) fn filters(&self) -> Filters {
        Filters { decryption: self.decryption, false_positives: self.false_positives }
    }
}

/// Assumed bytes of the longest value of a given column that has not been read.
const ASSUMED_COLUMN_BYTES: u64 = 24;

impl Job for Intersect {
    fn info(&self) -> &'static JobInfo {
        &INFO
    }

    fn topology<'a>(&self, spec: &'a JobSpec) -> Topology<'a> {
        methods::of(spec).topology()
    }

    fn protocols(&self, spec: &JobSpec) -> Vec<Protocol> {
        methods::protocols(Some(spec.parties.0.len()))
    }

    fn protocols_from(&self, spec: &JobSpec) -> Option<String> {
        let count = spec.parties.0.len();
        (count > 2).then(|| format!("{count} parties"))
    }

    fn check(&self, spec: &JobSpec) -> Result<()> {
        self.polynomials().check(spec)?;
        self.filters().check(spec)?;
        methods::of(spec).check(spec)?;
        any::check(spec)?;
        multiset::check(spec)?;
        shown::check(spec)?;
        spec.check_key()?;
        live::check(spec)
    }

    fn terms(&self, spec: &JobSpec) -> Vec<(&'static str, Value)> {
        let scale = spec.summed().map(|_| ("scale", spec.summed_decimals().into()));
        scale.into_iter().chain(methods::of(spec).terms(self)).collect()
    }

    fn leak(&self, spec: &JobSpec) -> Option<String> {
        methods::of(spec).leak().map(str::to_owned)
    }

    fn can(&self, spec: &JobSpec, what: Ability) -> Result<()> {
        match what {
            Ability::Disk | Ability::Prepared => methods::of(spec).check_work(spec, what),
            _ => Err(what.missing(INFO.name)),
        }
    }

    fn assumed(&self, spec: &JobSpec, party: &str, items: u64, row_bytes: Option<u64>) -> Result<Sizes> {
        let alternatives = spec.alternatives();
        if !alternatives.is_empty() {
            let any = alternatives.iter().map(|spec| self.assumed(spec, party, items, row_bytes));
            return Ok(Sizes::of_alternatives(any.collect::<Result<_>>()?));
        }
        let mut sizes = Sizes { items, ..Sizes::default() };
        let columns = spec.given_by(party);
        if load::given_columns(spec, party).is_some() {
            let column = spec.limits.max_text.unwrap_or(ASSUMED_COLUMN_BYTES);
            let bytes = row_bytes.unwrap_or(columns.len() as u64 * column);
            let schema = PayloadSchema::of_texts(columns, bytes)?;
            sizes.entries = items;
            sizes.row_bytes = (load::number_bytes(spec) + schema.row_bytes()) as u32;
            sizes.schema = hex(&schema.encode());
        }
        Ok(sizes)
    }

    fn choose(&self, spec: &JobSpec, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice> {
        methods::of(spec).choose(spec, sizes, network)
    }

    fn allows(&self, spec: &JobSpec, chosen: &Chosen) -> bool {
        methods::of(spec).allows(spec, chosen)
    }

    fn memory(&self, spec: &JobSpec, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        methods::of(spec).memory(spec, me, chosen, sizes)
    }

    fn cost(
        &self,
        spec: &JobSpec,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        methods::of(spec).cost(spec, chosen, sizes, machine)
    }

    fn learned(&self, spec: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String> {
        methods::of(spec).learned(spec, party, known)
    }

    fn at_a_glance(&self, spec: &JobSpec) -> Vec<Disclosure> {
        methods::of(spec).at_a_glance(spec)
    }

    fn load(
        &self,
        spec: &JobSpec,
        me: &str,
        source: &Source,
        _pool: Option<&PoolPlace>,
    ) -> Result<Box<dyn PartyInput>> {
        methods::of(spec).load(spec, me, source)
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities {
            distributed: Some(self),
            resumable: Some(self),
            helped: Some(self),
            prepared: Some(self),
            ..Capabilities::default()
        }
    }
}

impl Distributed for Intersect {
    fn in_buckets(&self, spec: &JobSpec) -> Result<JobSpec> {
        distributed::in_buckets(spec)
    }
}

impl Prepared for Intersect {
    fn serves(&self, chosen: &Chosen) -> bool {
        methods::named(chosen.protocol).is_some_and(|method| method.uses_prepared())
    }
}

impl Resumable for Intersect {
    fn holds_run(&self, directory: &Path) -> bool {
        on_disk::holds_run(directory) || any::holds_run(directory)
    }

    fn left(
        &self,
        spec: &JobSpec,
        me: &str,
        source: &Source,
        done: ResumePoint,
    ) -> Result<Option<(Box<dyn PartyInput>, RunResult)>> {
        let Source::Disk { work, .. } = source else { return Ok(None) };
        if !spec.alternatives().is_empty() {
            let left = any::left(spec, me, work, done)?;
            return Ok(left.map(|(part, found)| (Box::new(part) as Box<dyn PartyInput>, found)));
        }
        let Some(disk) = super::left_disk(spec, me, work, done)? else { return Ok(None) };
        let (part, found) = super::left_on_disk(spec, me, Arc::new(disk))?;
        Ok(Some((Box::new(part), found)))
    }
}

impl Helped for Intersect {
    fn protocol(&self) -> Protocol {
        outsourced::PROTOCOL
    }

    fn expected(&self, spec: &JobSpec, place: usize) -> Result<Expected> {
        outsourced::expected(spec, place)
    }
}
