//! The job as an object: its room's answers to what the rest of the program asks.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use tacita_core::primitive::bloom::Strength;
use tacita_core::{Result, Role, Security};

use super::disk::{self, Disk};
use super::{choose, cost, learned, memory};
use crate::agreement::cost::{Calibration, Cost};
use crate::agreement::words::bad;
use crate::agreement::{
    Ability, Choice, Chosen, Found, Job, JobSpec, Known, Left, Network, Part, PoolPlace, Protocol, Reveal, Shared,
    Sizes, Source,
};
use crate::base::hex::hex;
use crate::jobs::Own;
use crate::table::PayloadSchema;

/// Which rows, or how many, have keys in common?
#[derive(Debug, Clone, Copy, Default, Deserialize)]
pub struct Intersect {}

impl Own for Intersect {}

/// What is assumed of a column that is given and has not been read: bytes of its longest value.
const ASSUMED_COLUMN_BYTES: u64 = 24;

impl Job for Intersect {
    fn name(&self) -> &'static str {
        "intersect"
    }

    fn usual_reveal(&self) -> Reveal {
        Reveal::Rows
    }

    fn reveals(&self) -> &'static [&'static str] {
        &["rows", "count", "sum:COLUMN", "payload"]
    }

    fn protocols(&self, _spec: &JobSpec) -> &'static [Protocol] {
        &[Protocol::Vole, Protocol::Ecdh, Protocol::Bloom]
    }

    fn things(&self, _spec: &JobSpec) -> &'static str {
        "keys"
    }

    fn has(&self, key: Shared) -> bool {
        use Shared::{Gives, Key, MinResult, PadTo, Queries, Scale};
        matches!(key, Gives | Key | Scale | PadTo | MinResult | Queries)
    }

    fn check(&self, spec: &JobSpec) -> Result<()> {
        check(spec)?;
        spec.check_key()
    }

    fn terms(&self, spec: &JobSpec) -> Vec<(&'static str, Value)> {
        match spec.summed() {
            Some(_) => vec![("scale", spec.summed_decimals().into())],
            None => Vec::new(),
        }
    }

    fn can(&self, spec: &JobSpec, what: Ability) -> Result<()> {
        match what {
            Ability::Disk => disk::check_job(spec),
            Ability::Prepared => Ok(()),
            _ => Err(what.missing(self.name())),
        }
    }

    fn assumed(&self, spec: &JobSpec, party: &str, items: u64, row_bytes: Option<u64>) -> Result<Sizes> {
        let mut sizes = Sizes { items, ..Sizes::default() };
        let columns = spec.given_by(party);
        if spec.reveal == Reveal::Payload && !columns.is_empty() && spec.learns(spec.peer_of(party)) {
            let bytes = row_bytes.unwrap_or(columns.len() as u64 * ASSUMED_COLUMN_BYTES);
            let schema = PayloadSchema::of_texts(columns, bytes)?;
            sizes.entries = items;
            sizes.row_bytes = schema.row_bytes() as u32;
            sizes.schema = hex(&schema.encode());
        }
        Ok(sizes)
    }

    fn choose(&self, spec: &JobSpec, me: &str, own: &Sizes, theirs: &Sizes, network: Network) -> Result<Choice> {
        Ok(choose::choose_intersection(spec, me, own, theirs, network))
    }

    fn allows(&self, spec: &JobSpec, chosen: &Chosen) -> bool {
        let semi_honest = spec.security == Security::SemiHonest;
        let fits = match chosen.protocol {
            Protocol::Ecdh => semi_honest,
            Protocol::Vole => !matches!(spec.reveal, Reveal::Count | Reveal::Sum(_)),
            // It costs ten times as much as others that do the same: only who names it gets it.
            Protocol::Bloom => semi_honest && spec.protocol == Protocol::Bloom,
            _ => false,
        };
        spec.leaves(chosen.protocol) && chosen.extension.is_none() && chosen.alignment.is_none() && fits
    }

    fn memory(&self, spec: &JobSpec, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
        let (own, theirs) = (&sizes[me], &sizes[spec.peer_of(me)]);
        if !disk::is_bucketed(own, theirs) {
            return memory::needed(spec, me, chosen, own, theirs);
        }
        let params = disk::params(spec, me, chosen.protocol, own, theirs)?;
        let [asked, sent] = [Role::Receiver, Role::Sender].map(|role| params.bound(role) as u64);
        let one = memory::of_bucket(me == spec.receiver(), chosen.protocol, asked, sent);
        let in_memory = if own.work.is_none() { own.items.saturating_mul(memory::ITEM_IN_MEMORY_BYTES) } else { 0 };
        let lanes = one.saturating_mul(params.buckets.min(disk::LANES) as u64);
        Ok(lanes.saturating_add(disk::memory::FIXED_BYTES).saturating_add(in_memory))
    }

    fn cost(
        &self,
        spec: &JobSpec,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost> {
        cost::intersection_cost(chosen, spec, sizes, machine)
    }

    fn learned(&self, spec: &JobSpec, party: &str, known: Known<'_>) -> Vec<String> {
        learned::intersect(spec, party, known)
    }

    fn load(&self, spec: &JobSpec, me: &str, source: &Source, _pool: Option<&PoolPlace>) -> Result<Box<dyn Part>> {
        Ok(Box::new(super::load(spec, me, source)?))
    }

    fn holds_run(&self, directory: &Path) -> bool {
        disk::holds_run(directory)
    }

    fn left(&self, spec: &JobSpec, me: &str, source: &Source, done: Left) -> Result<Option<(Box<dyn Part>, Found)>> {
        let Source::Disk { work, .. } = source else { return Ok(None) };
        let disk = match done {
            Left::Ended => Disk::ended(spec, me, work)?,
            Left::Complete => Disk::complete(spec, me, work)?,
        };
        let Some(disk) = disk else { return Ok(None) };
        let (part, found) = super::left_on_disk(spec, me, Arc::new(disk))?;
        Ok(Some((Box::new(part), found)))
    }
}

fn check(job: &JobSpec) -> Result<()> {
    let hides_rows = matches!(job.reveal, Reveal::Count | Reveal::Sum(_));
    let kind = job.reveal.kind();
    if job.protocol == Protocol::Vole && hides_rows {
        return bad(format!(
            "protocol = \"vole\" reveals which keys are common: for reveal = \"{kind}\" use \"ecdh\" or \"auto\""
        ));
    }
    if job.protocol == Protocol::Bloom {
        check_bloom(job)?;
    }
    match (&job.reveal, job.scale) {
        (Reveal::Sum(_), _) => job.check_scale()?,
        (_, Some(_)) => {
            return bad(format!("scale is for reveal = \"sum:COLUMN\", and this is \"{kind}\": leave it out"));
        }
        (_, None) => (),
    }
    if job.security == Security::Malicious {
        if job.protocol == Protocol::Ecdh {
            return bad("security = \"malicious\" is not there with protocol = \"ecdh\": use \"vole\" or \"auto\"");
        }
        if hides_rows {
            return bad(format!("security = \"malicious\" is not there with reveal = \"{kind}\": use \"semi-honest\""));
        }
        if job.reveal_to.len() > 1 {
            return bad(
                "security = \"malicious\" is there with one learner only, because nothing would make it tell the \
                 other the truth: name one party in reveal_to, or run two jobs",
            );
        }
    }
    match job.protocol {
        Protocol::Bloom if Strength::of(job.level).is_none() => bad(format!(
            "level = \"{}\" is not there with protocol = \"bloom\", whose oblivious transfers have 128 bits: use \
             \"bits128\"",
            job.level
        )),
        Protocol::Bloom => Ok(()),
        _ => job.check_level(),
    }
}

fn check_bloom(job: &JobSpec) -> Result<()> {
    let kind = job.reveal.kind();
    if job.security == Security::Malicious {
        return bad(
            "security = \"malicious\" is not there with protocol = \"bloom\", whose published malicious form was broken: \
             use \"vole\" or \"auto\"",
        );
    }
    match job.reveal {
        Reveal::Rows => (),
        Reveal::Payload => {
            return bad("protocol = \"bloom\" gives no columns: for reveal = \"payload\" use \"vole\" or \"auto\"");
        }
        _ => {
            return bad(format!(
                "protocol = \"bloom\" reveals which keys are common: for reveal = \"{kind}\" use \"ecdh\" or \"auto\""
            ));
        }
    }
    match job.reveal_to.len() {
        ..2 => Ok(()),
        _ => bad(
            "protocol = \"bloom\" tells one party alone which keys are common: name one in reveal_to, or use \"vole\" or \
             \"auto\"",
        ),
    }
}
