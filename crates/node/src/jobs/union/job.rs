//! The job as an object: its room's answers to what the rest of the program asks.

use std::any::Any;
use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use tacita_core::protocol::published::intersect::polynomial::Strategy;
use tacita_core::{Error, Result};

use super::methods::{self, Pair};
use super::{disk, learned, load};
use crate::agreement::cost::{Calibration, Cost, RoleCost};
use crate::agreement::words::{MAX_ROWS, bad};
use crate::agreement::{
    Ability, Answering, Capabilities, Choice, Chosen, CommonKey, Disclosure, Distributed, InitQuestion, Job, JobInfo,
    JobSpec, KnownSizes, Network, PartyInput, PoolPlace, Protocol, Resumable, ResumePoint, Reveal, RowsPerKey,
    RunResult, Sizes, Source,
};
use crate::base::hex::hex;
use crate::jobs::ParseJob;
use crate::jobs::on_disk::{self, SORTED_ROW, memory, sorted_bytes};
use crate::jobs::polynomials::{OrAuto, POLYNOMIAL, Polynomials, is_of_polynomials};
use crate::table::PayloadSchema;

/// Job for all rows that either party has: which of them both have stays hidden.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct Union {
    /// Strategy for transfer and multiplication of polynomials, for `polynomial` and `polynomial-ot`.
    pub strategy: Option<OrAuto<Strategy>>,
    /// Number of bins into which keys go, for the same protocols.
    pub bins: Option<OrAuto<usize>>,
}

/// Questions that `tacita init` asks.
const QUESTIONS: [InitQuestion; 3] = [
    InitQuestion {
        key: "key.columns",
        asks: "Columns that say which rows are the same",
        usual: None,
        answer: Answering::Columns,
        means: "agreed names; a party with other headers maps them below",
    },
    InitQuestion {
        key: "key.normalize",
        asks: "How each is normalised: none, text, name, date, date:DMY, date:MDY, year, timestamp, timestamp:ZONE, email, domain, phone, phone:CC, ip, integer or decimal",
        usual: Some("none"),
        answer: Answering::Profiles,
        means: "profile of each: the form in which values are compared",
    },
    MAX_ROWS,
];

/// Assumed bytes of the longest value of a column that has not been read.
const ASSUMED_COLUMN_BYTES: u64 = 24;

/// Properties common to all jobs of this kind.
static INFO: JobInfo = JobInfo {
    name: "union",
    about: "all rows that either has, without showing which both have",
    questions: &QUESTIONS,
    // A party that brings nothing would get all rows of the other.
    usual_min_rows: 1,
    reveals: &["rows", "count"],
    keys: &[CommonKey::Gives, CommonKey::Key, CommonKey::PadTo, CommonKey::MinResult],
    only_learners_pad: true,
    ..JobInfo::USUAL
};

impl ParseJob for Union {
    fn all_protocols() -> Vec<Protocol> {
        methods::all().map(|method| method.protocol()).collect()
    }
}

impl Union {
    /// The own keys of a job.
    pub(super) fn of(job: &JobSpec) -> Union {
        let own: &dyn Any = &*job.job;
        own.downcast_ref().copied().unwrap_or_default()
    }

    /// Returns the settings for making polynomials, for the protocols that use them.
    pub(super) fn polynomials(&self) -> Polynomials {
        Polynomials { strategy: self.strategy, bins: self.bins }
    }
}

impl Job for Union {
    fn info(&self) -> &'static JobInfo {
        &INFO
    }

    fn protocols(&self, _spec: &JobSpec) -> Vec<Protocol> {
        Self::all_protocols()
    }

    fn check(&self, spec: &JobSpec) -> Result<()> {
        self.polynomials().check(spec)?;
        match methods::named(spec.protocol) {
            Some(named) => named.check(spec)?,
            None => methods::all()
                .filter(|method| method.advantage().is_some())
                .try_for_each(|method| method.check(spec))?,
        }
        if spec.key.as_ref().is_some_and(|key| !key.any.is_empty()) {
            return bad(
                "key.any is not available for job = \"union\", because a row could be present by one key and missing by another. \
                 Agree on one key: columns = [\"NAME\"]",
            );
        }
        if spec.is_of_multisets() {
            return bad(
                "duplicates = \"multiset\" is not available for job = \"union\": the number of missing rows of a key would \
                 reveal how often the other has it. Use \"all\" or \"first\"",
            );
        }
        if spec.limits.pad_to.is_some() {
            if spec.reveal == Reveal::Count {
                return bad(
                    "limits.pad_to is not available with reveal = \"count\" in a union, because that count is made of both \
                     sizes. Leave it out, or use reveal = \"rows\"",
                );
            }
            if spec.reveal_to.len() > 1 {
                return bad(
                    "limits.pad_to hides how much the one party brings that learns, and here both learn, each what the other brings: \
                     name one in reveal_to, or leave it out",
                );
            }
        }
        spec.check_key()
    }

    fn terms(&self, spec: &JobSpec) -> Vec<(&'static str, Value)> {
        let named = is_of_polynomials(spec.protocol);
        named.then(|| self.polynomials().terms()).into_iter().flatten().collect()
    }

    fn leak(&self, spec: &JobSpec) -> Option<String> {
        (spec.protocol == POLYNOMIAL).then(|| {
            "protocol = \"polynomial\" lets the party that learns test which keys are the other's: its own, and every one that it can \
             guess; for a union that hides what both have, use \"ecdh\""
                .into()
        })
    }

    fn can(&self, spec: &JobSpec, what: Ability) -> Result<()> {
        match what {
            Ability::Candidates if spec.protocol == POLYNOMIAL => Ok(()),
            Ability::Disk => disk::check_job(spec),
            _ => Err(what.missing(INFO.name)),
        }
    }

    fn gives_rows(&self, spec: &JobSpec) -> bool {
        spec.reveal == Reveal::Rows && spec.protocol != POLYNOMIAL
    }

    fn assumed(&self, spec: &JobSpec, party: &str, items: u64, row_bytes: Option<u64>) -> Result<Sizes> {
        let mut sizes = Sizes { items, ..Sizes::default() };
        if super::sizes::hands_over(spec, party) {
            let (columns, _) = super::sizes::given_columns(spec, party);
            let column = spec.limits.max_text.unwrap_or(ASSUMED_COLUMN_BYTES);
            let schema = PayloadSchema::of_texts(&columns, row_bytes.unwrap_or(columns.len() as u64 * column))?;
            sizes.row_bytes = schema.row_bytes() as u32;
            sizes.schema = hex(&schema.encode());
            sizes.each =
                Some(RowsPerKey { rows: 1, profiles: spec.profiles(party).iter().map(ToString::to_string).collect() });
        }
        Ok(sizes)
    }

    fn choose(&self, spec: &JobSpec, sizes: &BTreeMap<String, Sizes>, _network: Network) -> Result<Choice> {
        if let Some(named) = methods::named(spec.protocol) {
            let [(first, own), (_, theirs)] = spec.both(sizes);
            let (asks, has) = if spec.learns(first) { (own, theirs) } else { (theirs, own) };
            let way = named.way(&Pair { job: spec, asks, has })?.map_or(String::new(), |way| format!(": {way}"));
            return Ok(Choice { chosen: Chosen::only(named.protocol()), why: format!("the job names it{way}") });
        }
        let usual = methods::all().find_map(|method| Some((method, method.advantage()?)));
        let (method, why) = usual.ok_or_else(|| Error::Internal("no protocol for a union".into()))?;
        Ok(Choice { chosen: Chosen::only(method.protocol()), why: why.into() })
    }

    fn allows(&self, spec: &JobSpec, chosen: &Chosen) -> bool {
        let Some(method) = methods::named(chosen.protocol) else { return false };
        let open = spec.protocol == chosen.protocol || (spec.protocol.is_auto() && method.advantage().is_some());
        open && method.check(spec).is_ok() && *chosen == Chosen::only(chosen.protocol)
    }

    fn memory(&self, spec: &JobSpec, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        let own = &sizes[me];
        if own.on_disk || own.work.is_some() {
            // Data fits what it may take; but the bits of what a party has are in memory wherever its table is.
            let items = if spec.learns(me) { sizes[spec.peer_of(me)].items } else { 0 };
            let data = own.work.as_ref().map_or(0, |work| memory::of_buckets(work.memory));
            return Ok(memory::FIXED_BYTES + data.max(disk::bits(items).saturating_add(memory::MIN_BYTES)));
        }
        let method = methods::chosen(chosen.protocol)?;
        let mut most = 0;
        for receiver in methods::receivers(spec) {
            let pair = Pair { job: spec, asks: &sizes[receiver], has: &sizes[spec.peer_of(receiver)] };
            most = most.max(method.memory(&pair, me == receiver)?);
        }
        Ok(most)
    }

    fn cost(
        &self,
        spec: &JobSpec,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        let method = methods::chosen(chosen.protocol)?;
        let mut all = Cost::default();
        let mut closes = 0;
        for receiver in methods::receivers(spec) {
            let sender = spec.peer_of(receiver);
            let pair = Pair { job: spec, asks: &sizes[receiver], has: &sizes[sender] };
            let one = method.cost(&pair, machine)?;
            let roles = [(receiver.to_owned(), one.receiver), (sender.to_owned(), one.sender)];
            all = all.and(Cost { roles: BTreeMap::from(roles), rounds: one.rounds, ..Cost::default() });
            closes += 1;
        }
        for (name, role) in &mut all.roles {
            if sizes[name].work.is_some() {
                role.cpu += SORTED_ROW * sizes[name].items as f64;
                role.disk = Some(bytes_on_disk(spec, name, sizes));
            }
        }
        // The job ends once.
        let more = (closes - 1).max(0) as u64 * crate::agreement::cost::CLOSE_BYTES;
        all.roles.values_mut().for_each(|role: &mut RoleCost| role.bytes -= more);
        Ok(all)
    }

    fn learned(&self, spec: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String> {
        learned::union(spec, party, known)
    }

    fn at_a_glance(&self, spec: &JobSpec) -> Vec<Disclosure> {
        learned::at_a_glance(spec)
    }

    fn load(
        &self,
        spec: &JobSpec,
        me: &str,
        source: &Source,
        _pool: Option<&PoolPlace>,
    ) -> Result<Box<dyn PartyInput>> {
        Ok(Box::new(load(spec, me, source)?))
    }

    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities { distributed: Some(self), resumable: Some(self), ..Capabilities::default() }
    }
}

impl Distributed for Union {
    fn in_buckets(&self, _spec: &JobSpec) -> Result<JobSpec> {
        Err(Error::Input(
            "this job runs on one machine of each party; who learns a union would see from which bucket each row of the others \
             came, and how many there are in each; for a table of any length, use `tacita run --work`"
                .into(),
        ))
    }
}

impl Resumable for Union {
    fn holds_run(&self, directory: &Path) -> bool {
        on_disk::holds_run(directory)
    }

    fn left(
        &self,
        spec: &JobSpec,
        me: &str,
        source: &Source,
        done: ResumePoint,
    ) -> Result<Option<(Box<dyn PartyInput>, RunResult)>> {
        let left = super::left(spec, me, source, done)?;
        Ok(left.map(|(part, found)| (Box::new(part) as Box<dyn PartyInput>, found)))
    }
}

/// Estimates the peak disk usage, in bytes, of a party with its work on disk. It holds its table in runs and in
/// order, and likewise what it gives. It also holds what it gets, as it came, in runs and in order, and the tags of
/// one side in runs.
fn bytes_on_disk(spec: &JobSpec, party: &str, sizes: &BTreeMap<String, Sizes>) -> u64 {
    let (own, theirs) = (&sizes[party], &sizes[spec.peer_of(party)]);
    let payloads = |sizes: &Sizes| {
        let bytes = super::sizes::payload_bytes(spec, sizes).unwrap_or_default() as u64;
        sizes.items.saturating_mul(bytes.saturating_add(TAG_BYTES))
    };
    let gives = if super::sizes::sends(spec, party) { payloads(own).saturating_mul(2) } else { 0 };
    let gets = if spec.learns(party) { payloads(theirs).saturating_mul(3) } else { 0 };
    sorted_bytes(own.items, true).saturating_add(gives.max(gets)).saturating_add(theirs.items.saturating_mul(TAG_BYTES))
}

/// Bytes of a tag or an item with what is kept beside it, at most.
const TAG_BYTES: u64 = 32;
