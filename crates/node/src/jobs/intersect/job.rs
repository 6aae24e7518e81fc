//! The job as an object: its room's answers to what the rest of the program asks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tacita_core::primitive::bloom::Rate;
use tacita_core::primitive::elgamal::threshold::Order;
use tacita_core::protocol::intersect::polynomial::Strategy;
use tacita_core::{Result, Role, Security};

use super::{
    any, choose, cost, disk, kissner_song, learned, live, load, memory, methods, multiset, outsourced, shown, spread,
    star,
};
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::polynomials::{OrAuto, POLYNOMIAL, Polynomials};
use crate::agreement::words::{MAX_ROWS, bad, maybe_from_word};
use crate::agreement::{
    Ability, Answering, Choice, Chosen, Filters, Found, Glance, Helped, Job, JobSpec, Known, Left, MOST_PARTIES,
    Network, Part, PoolPlace, Protocol, Question, Reveal, Shared, Sizes, Source, Topology,
};
use crate::base::hex::hex;
use crate::jobs::{Own, on_disk};
use crate::table::PayloadSchema;
use crate::transport::depot::Expected;

/// Which rows, or how many, have keys in common?
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
pub struct Intersect {
    /// By `polynomial`: how polynomials travel and are multiplied.
    pub strategy: Option<OrAuto<Strategy>>,
    /// By `polynomial`: into how many bins keys go.
    pub bins: Option<OrAuto<usize>>,
    /// By `outsourced-bloom`: in which order the parties decrypt.
    #[serde(deserialize_with = "maybe_from_word")]
    pub decryption: Option<Order>,
    /// By `outsourced-bloom`: how often a key is wrongly in the result.
    #[serde(deserialize_with = "maybe_from_word")]
    pub false_positives: Option<Rate>,
}

/// What `tacita init` asks.
const QUESTIONS: [Question; 3] = [
    Question {
        key: "key.columns",
        asks: "Columns that rows are matched by",
        usual: None,
        answer: Answering::Columns,
        means: "names that both agree on; a party whose headers differ maps them below",
    },
    Question {
        key: "key.normalize",
        asks: "How each is normalised: none, text, name, latin, initials, date, date:DMY, date:MDY, year, timestamp, timestamp:ZONE, email, domain, phone, phone:CC, ip, integer or decimal",
        usual: Some("none"),
        answer: Answering::Profiles,
        means: "how each of them is read",
    },
    MAX_ROWS,
];

impl Own for Intersect {
    fn all_protocols() -> Vec<Protocol> {
        methods::all().map(|method| method.protocol()).chain([star::PROTOCOL]).chain(outsourced::PROTOCOLS).collect()
    }
}

/// What is assumed of a column that is given and has not been read: bytes of its longest value.
const ASSUMED_COLUMN_BYTES: u64 = 24;

impl Job for Intersect {
    fn name(&self) -> &'static str {
        "intersect"
    }

    fn about(&self) -> &'static str {
        "which rows do all have, by a key?"
    }

    fn questions(&self) -> &'static [Question] {
        &QUESTIONS
    }

    fn usual_reveal(&self) -> Reveal {
        Reveal::Rows
    }

    fn reveals(&self) -> &'static [&'static str] {
        &["rows", "count", "sum:COLUMN", "mean:COLUMN", "counts:COLUMN", "payload"]
    }

    fn topology<'a>(&self, spec: &'a JobSpec) -> Topology<'a> {
        let (several, protocol) = (spec.parties.0.len() > 2, spec.protocol);
        if outsourced::PROTOCOLS.contains(&protocol) || (protocol.is_auto() && spec.helper.is_some()) {
            Topology::Helper
        } else if several || protocol == star::PROTOCOL {
            Topology::Mesh
        } else if spec.clients.is_some() {
            Topology::Served
        } else {
            Topology::Pair
        }
    }

    fn protocols(&self, spec: &JobSpec) -> Vec<Protocol> {
        match spec.parties.0.len() {
            ..3 => Self::all_protocols(),
            _ => [star::PROTOCOL, POLYNOMIAL].into_iter().chain(outsourced::PROTOCOLS).collect(),
        }
    }

    fn protocols_from(&self, spec: &JobSpec) -> Option<String> {
        let count = spec.parties.0.len();
        (count > 2).then(|| format!("{count} parties"))
    }

    fn most_parties(&self) -> usize {
        MOST_PARTIES
    }

    fn things(&self, _spec: &JobSpec) -> &'static str {
        "keys"
    }

    fn has(&self, key: Shared) -> bool {
        use Shared::{Clients, Gives, Helper, Key, MinResult, PadTo, Queries, Scale, Show};
        matches!(key, Gives | Key | Scale | PadTo | MinResult | Queries | Clients | Helper | Show)
    }

    fn check(&self, spec: &JobSpec) -> Result<()> {
        self.polynomials().check(spec)?;
        self.filters().check(spec)?;
        match spec.topology() == Topology::Mesh {
            _ if (spec.topology() == Topology::Helper) => outsourced::check(spec)?,
            _ if kissner_song::is_for(spec) => kissner_song::check(spec)?,
            true => star::check(spec)?,
            false => check(spec)?,
        }
        any::check(spec)?;
        multiset::check(spec)?;
        shown::check(spec)?;
        spec.check_key()?;
        live::check(spec)
    }

    fn terms(&self, spec: &JobSpec) -> Vec<(&'static str, Value)> {
        let scale = spec.summed().map(|_| ("scale", spec.summed_decimals().into()));
        let polynomials = (spec.protocol == POLYNOMIAL).then(|| self.polynomials().terms());
        let filters = (spec.protocol == outsourced::PROTOCOLS[1]).then(|| self.filters().terms());
        scale.into_iter().chain(polynomials.into_iter().flatten()).chain(filters.into_iter().flatten()).collect()
    }

    fn polynomials(&self) -> Polynomials {
        Polynomials { strategy: self.strategy, bins: self.bins }
    }

    fn filters(&self) -> Filters {
        Filters { decryption: self.decryption, false_positives: self.false_positives }
    }

    fn leak(&self, spec: &JobSpec) -> Option<String> {
        (spec.protocol == outsourced::PROTOCOLS[1]).then(|| {
            "protocol = \"outsourced-bloom\" tells who learns, of every key that can be guessed, whether all others have it".into()
        })
    }

    fn can(&self, spec: &JobSpec, what: Ability) -> Result<()> {
        match what {
            Ability::Disk | Ability::Prepared if (spec.topology() == Topology::Helper) => {
                bad("--work: a run through a helper keeps its table in memory: leave it out")
            }
            Ability::Disk if kissner_song::is_for(spec) => {
                bad("--work: polynomials among several keep their tables in memory: leave it out")
            }
            Ability::Prepared if (spec.topology() == Topology::Mesh) => {
                bad("--work: a part is prepared for one peer, and this job is among several")
            }
            Ability::Disk => disk::check_job(spec),
            Ability::Prepared if spec.key.as_ref().is_some_and(|key| !key.any.is_empty()) => bad(
                "--work: a part is prepared for one key, and this job has several (key.any): run it without, or agree on one",
            ),
            Ability::Prepared => multiset::check_prepared(spec),
            _ => Err(what.missing(self.name())),
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
        Ok(match spec.topology() {
            Topology::Helper => outsourced::choose(spec),
            _ if kissner_song::is_for(spec) => kissner_song::choose(),
            Topology::Mesh => star::choose(spec),
            _ => {
                let [(first, own), (_, theirs)] = spec.both(sizes);
                choose::choose_intersection(spec, first, own, theirs, network)?
            }
        })
    }

    fn allows(&self, spec: &JobSpec, chosen: &Chosen) -> bool {
        if (spec.topology() == Topology::Helper) || (spec.topology() == Topology::Mesh) {
            return self
                .choose(spec, &BTreeMap::new(), Network::default())
                .is_ok_and(|choice| *chosen == choice.chosen);
        }
        let Some(method) = methods::named(chosen.protocol) else { return false };
        let open = spec.protocol == chosen.protocol || (spec.protocol.is_auto() && method.advantage().is_some());
        open && method.check(spec).is_ok() && *chosen == Chosen::only(chosen.protocol)
    }

    fn uses_prepared(&self, chosen: &Chosen) -> bool {
        methods::named(chosen.protocol).is_some_and(|method| method.uses_prepared())
    }

    fn memory(&self, spec: &JobSpec, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        if spec.topology() == Topology::Helper {
            return outsourced::memory(spec, me);
        }
        if spec.topology() == Topology::Mesh {
            return match kissner_song::is_for(spec) {
                true => kissner_song::memory(spec, sizes),
                false => star::memory(spec, me, sizes),
            };
        }
        let (own, theirs) = (&sizes[me], &sizes[spec.peer_of(me)]);
        if !own.any.is_empty() {
            let each = any::split(spec, own, theirs).map(|(one, own, theirs)| {
                let sizes =
                    [(me, own), (spec.peer_of(me), theirs)].map(|(name, sizes)| (name.to_owned(), sizes.clone()));
                self.memory(&one, me, chosen, &BTreeMap::from(sizes))
            });
            let each = each.collect::<Result<Vec<_>>>()?.into_iter();
            // One after the other. Malicious parties hold the states of all runs until all are bound, and all entries until the
            // last one has come.
            return Ok(match spec.security {
                Security::SemiHonest => each.max().unwrap_or(0),
                Security::Malicious => each.fold(0, u64::saturating_add),
            });
        }
        if !disk::is_bucketed(own, theirs) {
            return memory::needed(spec, me, chosen, own, theirs);
        }
        let params = disk::params(spec, me, chosen.protocol, own, theirs)?;
        let [asked, sent] = [Role::Receiver, Role::Sender].map(|role| params.bound(role) as u64);
        let one = memory::of_bucket(me == spec.receiver(), disk::bucketed(chosen.protocol)?, spec.level, asked, sent);
        let in_memory = if own.work.is_none() { own.items.saturating_mul(memory::ITEM_IN_MEMORY_BYTES) } else { 0 };
        let lanes = one.saturating_mul(params.buckets.min(disk::LANES) as u64);
        Ok(lanes.saturating_add(on_disk::memory::FIXED_BYTES).saturating_add(in_memory))
    }

    fn cost(
        &self,
        spec: &JobSpec,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        match spec.topology() == Topology::Mesh {
            _ if (spec.topology() == Topology::Helper) => outsourced::cost(spec, machine),
            _ if kissner_song::is_for(spec) => kissner_song::cost(spec, sizes, machine),
            true => star::cost(spec, sizes, machine),
            false => cost::intersection_cost(chosen, spec, sizes, machine),
        }
    }

    fn helped(&self) -> Option<&dyn Helped> {
        Some(self)
    }

    fn learned(&self, spec: &JobSpec, party: &str, known: Known<'_>) -> Vec<String> {
        match spec.clients {
            Some(_) => live::learned(spec, party),
            None if (spec.topology() == Topology::Helper) => outsourced::learned(spec, party, known),
            None if kissner_song::is_for(spec) => kissner_song::learned(spec, party, known),
            None if (spec.topology() == Topology::Mesh) => star::learned(spec, party, known),
            None => learned::intersect(spec, party, known),
        }
    }

    fn at_a_glance(&self, spec: &JobSpec) -> Vec<Glance> {
        match spec.parties.0.len() {
            ..3 => Vec::new(),
            _ if (spec.topology() == Topology::Helper) => outsourced::at_a_glance(spec),
            _ => star::at_a_glance(spec),
        }
    }

    fn in_buckets(&self, spec: &JobSpec) -> Result<JobSpec> {
        spread::in_buckets(spec)
    }

    fn load(&self, spec: &JobSpec, me: &str, source: &Source, _pool: Option<&PoolPlace>) -> Result<Box<dyn Part>> {
        live::refuse_run(spec)?;
        if spec.topology() == Topology::Helper {
            return Ok(Box::new(outsourced::Outsourced::load(spec, me, source)?));
        }
        if kissner_song::is_for(spec) {
            return Ok(Box::new(kissner_song::Several::load(spec, me, source)?));
        }
        if spec.topology() == Topology::Mesh {
            return Ok(Box::new(star::Star::load(spec, me, source)?));
        }
        match spec.key.as_ref().is_some_and(|key| !key.any.is_empty()) {
            true => Ok(Box::new(any::load_all(spec, me, source)?)),
            false => Ok(Box::new(load(spec, me, source)?)),
        }
    }

    fn holds_run(&self, directory: &Path) -> bool {
        on_disk::holds_run(directory) || any::holds_run(directory)
    }

    fn left(&self, spec: &JobSpec, me: &str, source: &Source, done: Left) -> Result<Option<(Box<dyn Part>, Found)>> {
        let Source::Disk { work, .. } = source else { return Ok(None) };
        if !spec.alternatives().is_empty() {
            let left = any::left(spec, me, work, done)?;
            return Ok(left.map(|(part, found)| (Box::new(part) as Box<dyn Part>, found)));
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

fn check(job: &JobSpec) -> Result<()> {
    if matches!(job.reveal, Reveal::CountsBy(_)) {
        return bad("reveal = \"counts:COLUMN\" is there through a helper: use protocol = \"outsourced\"");
    }
    match methods::named(job.protocol) {
        Some(named) => named.check(job)?,
        None if methods::automatic().any(|method| method.check(job).is_ok()) => (),
        None => job.check_level()?,
    }
    let kind = job.reveal.kind();
    match (&job.reveal, job.scale) {
        (Reveal::Sum(_), _) => job.check_scale()?,
        (_, Some(_)) => {
            return bad(format!("scale is for reveal = \"sum:COLUMN\", and this is \"{kind}\": leave it out"));
        }
        (_, None) => (),
    }
    if job.security == Security::SemiHonest {
        return Ok(());
    }
    if matches!(job.reveal, Reveal::Count | Reveal::Sum(_)) {
        return bad(format!("security = \"malicious\" is not there with reveal = \"{kind}\": use \"semi-honest\""));
    }
    match job.reveal_to.len() {
        ..2 => Ok(()),
        _ => bad(
            "security = \"malicious\" is there with one learner only, because nothing would make it tell the other the \
             truth: name one party in reveal_to, or run two jobs",
        ),
    }
}
