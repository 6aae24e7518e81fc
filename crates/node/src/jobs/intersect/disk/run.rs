//! A run in buckets between two parties: how many there are, and how each is done.

use std::sync::Arc;

use rand_core::CryptoRng;
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::buckets::{self, BucketSource, MAX_BUCKETS, Params, buckets_for};
use tacita_core::{Error, Level, Progress, Result, Role};

use super::attempt::{Attempt, TablePlace, check_fresh, resumed, run_attempt};
use super::buckets::role;
use super::{DiskAgreement, check_job};
use crate::agreement::handshake::HandshakeResult;
use crate::agreement::{JobSpec, Protocol, Sizes, Terms};
use crate::base::hex::unhex;
use crate::jobs::intersect::IntersectResult;
use crate::jobs::intersect::memory::of_bucket;
use crate::jobs::intersect::methods::{self, Bucketed};
use crate::jobs::on_disk::memory::{MIN_BYTES, for_buckets};

/// Buckets in flight at once: one travels while another is computed.
pub const LANES: usize = 4;

/// Whether parties of these sizes intersect bucket by bucket: one of them has its work on disk.
pub fn is_bucketed(own: &Sizes, theirs: &Sizes) -> bool {
    own.work.is_some() || theirs.work.is_some()
}

/// Refuses what a peer says of its run if no party says such a thing.
pub fn check_sizes(job: &JobSpec, sizes: &Sizes, channel: &Channel) -> Result<()> {
    let Some(work) = &sizes.work else { return Ok(()) };
    let refuse = |what: &str| Err(channel.violation(what));
    // A bucket of a job that is spread is in memory at all parties, whatever they have of the whole.
    if job.bucket().is_some() || check_job(job).is_err() {
        return refuse("it has its table on disk, which this job cannot use");
    }
    if work.memory < for_buckets(MIN_BYTES) {
        return refuse("it has its table on disk, and no memory for any of it");
    }
    let Some(kept) = &work.kept else { return Ok(()) };
    let bounded = (1..=MAX_BUCKETS as u64).contains(&kept.buckets) && kept.finished <= kept.buckets;
    let known = methods::of(job).in_buckets_called(&kept.protocol).is_some();
    if bounded && known && unhex(&kept.run).is_some_and(|run| run.len() == 32) {
        Ok(())
    } else {
        refuse("it announces a run that cannot be")
    }
}

/// Returns the bucketed form of a protocol.
pub fn bucketed(protocol: Protocol) -> Result<&'static dyn Bucketed> {
    let bucketed = methods::chosen(protocol)?.in_buckets();
    bucketed.ok_or_else(|| Error::Internal(format!("{} bucket by bucket", protocol.name())))
}

/// Returns the parameters that both parties derive from sizes and protocol. `own` are the sizes of `me`.
pub fn params(job: &JobSpec, me: &str, protocol: Protocol, own: &Sizes, theirs: &Sizes) -> Result<Params> {
    let protocol = bucketed(protocol)?;
    let receives = me == job.receiver();
    let (receiver, sender) = if receives { (own, theirs) } else { (theirs, own) };
    let buckets = match resumed(own, [theirs]) {
        Some(kept) => kept.buckets as usize,
        None => buckets_of(protocol, job.level, receiver, sender, job.keys_in_all())?,
    };
    let params =
        Params::new(protocol.protocol(job.level), receiver.items as usize, sender.items as usize, buckets, LANES)?;
    let params = params.one_of(job.keys_in_all());
    Ok(if job.reveal_to.len() > 1 { params.to_both() } else { params })
}

/// Number of buckets in a fresh run, one of `runs`: as many as the party needs that needs most.
pub fn buckets_of(
    protocol: &dyn Bucketed,
    level: Level,
    receiver: &Sizes,
    sender: &Sizes,
    runs: usize,
) -> Result<usize> {
    let (asked, sent) = (receiver.items as usize, sender.items as usize);
    let of = |sizes: &Sizes, receives: bool| match &sizes.work {
        Some(work) => buckets_for(asked, sent, LANES, runs, work.memory, |asked, sent| {
            of_bucket(receives, protocol, level, asked as u64, sent as u64)
        }),
        None => Ok(1),
    };
    Ok(of(receiver, true)?.max(of(sender, false)?))
}

/// Fingerprint of a kept run, by which parties see that they have kept the same.
pub fn public_id(kept: &DiskAgreement) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 work run");
    hasher.update(kept.run.as_bytes()).update(&(kept.buckets as u64).to_le_bytes()).update(kept.protocol.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// Runs all buckets that are left. Returns the rows that the party has in common with the others, if it learns them.
pub fn run(
    job: &JobSpec,
    me: &str,
    party: TablePlace<'_>,
    agreed: &HandshakeResult,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<IntersectResult> {
    let (own, theirs) = (&agreed.own_sizes, &agreed.peer_sizes);
    let params = params(job, me, agreed.chosen.protocol, own, theirs)?;
    let resumes = resumed(own, [theirs]).is_some();
    if !resumes {
        check_fresh(job, me, own, &[(channel.peer(), theirs)]).map_err(|error| channel.conclude_for(error))?;
    }
    let (terms, progress) = (Terms::of(job).agreement_bytes(), channel.progress().clone());
    let role = role(me == job.receiver());
    run_attempt(party, job.learns(me), Between { params, role, resumes, terms, agreed, progress, channel, rng })
}

/// An attempt of two parties.
struct Between<'a, R> {
    params: Params,
    role: Role,
    resumes: bool,
    terms: [u8; 32],
    agreed: &'a HandshakeResult,
    progress: Arc<Progress>,
    channel: &'a mut Channel,
    rng: &'a mut R,
}

impl<R: CryptoRng> Attempt for Between<'_, R> {
    fn protocol(&self) -> &'static str {
        self.agreed.chosen.protocol.name()
    }

    fn buckets(&self) -> usize {
        self.params.buckets
    }

    fn at_once(&self) -> usize {
        self.params.lanes
    }

    fn resumes(&self) -> bool {
        self.resumes
    }

    fn progress(&self) -> &Progress {
        &self.progress
    }

    fn rng(&mut self) -> &mut dyn CryptoRng {
        self.rng
    }

    fn agree(&mut self, commitment: &[u8; 32], kept: Option<buckets::KeptRun<'_>>) -> Result<buckets::BucketAgreement> {
        let place = match self.role {
            Role::Receiver => 0,
            Role::Sender => 1,
        };
        let (party, shape) = (buckets::BucketsParty { place, commitment, kept }, self.params.shape());
        let channels = std::slice::from_mut(&mut *self.channel);
        buckets::agree(party, &self.terms, &shape, &self.agreed.session, channels, self.rng)
    }

    fn run(&mut self, remaining: &[usize], source: &dyn BucketSource) -> Result<()> {
        buckets::run(self.role, remaining, source, &self.params, &self.agreed.session, self.channel, self.rng)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;
    use crate::agreement::{Bucket, DiskRun};
    use crate::jobs::on_disk::memory::FIXED_BYTES;

    /// Checks that a bucket's tables are in memory, where its answers are recorded; any other location is refused.
    #[test]
    fn no_table_of_a_bucket_is_on_disk() {
        let text = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\n[key]\ncolumns = [\"x\"]\n[parties.a]\n[parties.b]\n";
        let job = JobSpec::parse(text, false).unwrap();
        let bounds = BTreeMap::from([("a".to_owned(), 10), ("b".to_owned(), 10)]);
        let (session, facts) = ("run".to_owned(), Value::Null);
        let bucket =
            Bucket { session, number: 0, of: 2, attempt: 0, bounds, counts: None, facts, told: None, pooled: None };
        let bucket = job.of_bucket(bucket, Protocol::named("vole"), &BTreeMap::new()).unwrap();
        let (channel, _other) = Channel::pair("a", "b");
        let work = Some(DiskRun { memory: for_buckets(MIN_BYTES), kept: None });
        let (own, theirs) = (Sizes { items: 10, ..Sizes::default() }, Sizes { items: 10, work, ..Sizes::default() });
        let check = |job: &JobSpec, theirs: &Sizes| crate::jobs::intersect::check_peer(job, &own, theirs, &channel);
        check(&job, &theirs).unwrap();
        check(&bucket, &own).unwrap();
        assert!(matches!(check(&bucket, &theirs), Err(Error::Protocol { .. })));
    }

    /// Whatever the peer claims, what a party's lanes hold fits the memory that it has for buckets: what each bucket
    /// takes, and what the peer can send ahead. What does not grow with the items is in the fixed part.
    #[test]
    fn lanes_and_their_queues_fit_the_own_memory() {
        let counts = [0, 1, 1000, 1 << 20, 200_000_000, 1 << 31, u64::from(u32::MAX)];
        let (mut fitting, mut refused) = (0, 0);
        let cases = methods::of_two()
            .filter_map(|method| method.in_buckets())
            .flat_map(|protocol| [Level::Bits128, Level::Bits256].map(|level| (protocol, level)))
            .flat_map(|which| counts.into_iter().flat_map(move |own| counts.map(|peer| (which, own, peer))));
        for ((protocol, level), items, claimed) in cases {
            for (memory, receives) in
                [1 << 20, 1 << 30, 1 << 35].into_iter().flat_map(|memory| [(memory, true), (memory, false)])
            {
                let own = Sizes { items, work: Some(DiskRun { memory, kept: None }), ..Sizes::default() };
                let peer =
                    Sizes { items: claimed, work: Some(DiskRun { memory: u64::MAX, kept: None }), ..Sizes::default() };
                let (receiver, sender) = if receives { (&own, &peer) } else { (&peer, &own) };
                let Ok(buckets) = buckets_of(protocol, level, receiver, sender, 1) else {
                    refused += 1;
                    continue;
                };
                fitting += 1;
                let (asked, sent) = (receiver.items as usize, sender.items as usize);
                let params = Params::new(protocol.protocol(level), asked, sent, buckets, LANES).unwrap().to_both();
                let ahead = params.bytes_ahead(role(receives).other()).unwrap();
                let lanes = buckets.min(LANES) as u64;
                let what = format!(
                    "{:?}: {items} here, {claimed} there, {memory} bytes, {receives}: {buckets}",
                    protocol.protocol(level)
                );
                assert!(lanes * 2 * ahead <= memory + FIXED_BYTES, "{what}: {ahead} bytes ahead");
                let [asked, sent] = [Role::Receiver, Role::Sender].map(|role| params.bound(role) as u64);
                let one = of_bucket(receives, protocol, level, asked, sent);
                assert!(lanes * one <= memory, "{what}: {one}");
            }
        }
        assert!(fitting > 300 && refused > 50, "{fitting} fit, {refused} do not");
    }
}
