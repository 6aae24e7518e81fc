//! The protocol of a bucketed run: how many buckets, whether it is a fresh run, and each bucket's intersection.

use std::sync::atomic::Ordering;

use rand_core::CryptoRng;
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::buckets::{self, MAX_BUCKETS, Params, Run, buckets_for};
use tacita_core::{Error, Level, Result, Role};

use super::buckets::{InMemory, OnDisk, role};
use super::{Agreed as Kept, Disk, check_job};
use crate::agreement::handshake::Agreed;
use crate::agreement::{JobSpec, Protocol, Sizes, Terms};
use crate::base::hex::{hex, unhex};
use crate::jobs::intersect::memory::of_bucket;
use crate::jobs::intersect::methods::{self, Bucketed};
use crate::jobs::on_disk::RESULT;
use crate::jobs::on_disk::memory::{LEAST_BYTES, for_buckets};
use crate::table::Keys;

/// Buckets in flight at once: one travels while another is computed.
pub const LANES: usize = 4;

/// Where a party has its table.
pub enum Party<'a> {
    /// On disk.
    Disk(&'a Disk),
    /// In memory.
    Memory(&'a Keys),
}

/// Whether parties of these sizes intersect bucket by bucket: one of them has its work on disk.
pub fn is_bucketed(own: &Sizes, theirs: &Sizes) -> bool {
    own.work.is_some() || theirs.work.is_some()
}

/// The name of the protocol of the run that both parties of these sizes go on with.
pub fn resumed<'a>(own: &'a Sizes, theirs: &'a Sizes) -> Option<&'a str> {
    let [own, theirs] = [own, theirs].map(|sizes| sizes.work.as_ref()?.kept.as_ref());
    own.filter(|own| Some(&own.run) == theirs.map(|theirs| &theirs.run)).map(|own| own.protocol.as_str())
}

/// Refuses what a peer says of its run if no party says such a thing.
pub fn check_sizes(job: &JobSpec, sizes: &Sizes, channel: &Channel) -> Result<()> {
    let Some(work) = &sizes.work else { return Ok(()) };
    let refuse = |what: &str| Err(channel.violation(what));
    if check_job(job).is_err() {
        return refuse("it has its table on disk, which this job cannot use");
    }
    if work.memory < for_buckets(LEAST_BYTES) {
        return refuse("it has its table on disk, and no memory for any of it");
    }
    let Some(kept) = &work.kept else { return Ok(()) };
    let bounded = (1..=MAX_BUCKETS as u64).contains(&kept.buckets) && kept.finished <= kept.buckets;
    let known = methods::called(&kept.protocol).is_some_and(|method| method.in_buckets().is_some());
    match bounded && known && unhex(&kept.run).is_some_and(|run| run.len() == 32) {
        true => Ok(()),
        false => refuse("it announces a run that cannot be"),
    }
}

/// How a protocol runs bucket by bucket.
pub fn bucketed(protocol: Protocol) -> Result<&'static dyn Bucketed> {
    let bucketed = methods::chosen(protocol)?.in_buckets();
    bucketed.ok_or_else(|| Error::Internal(format!("{} bucket by bucket", protocol.name())))
}

/// What both derive from sizes and protocol. `own` are the sizes of `me`.
pub fn params(job: &JobSpec, me: &str, protocol: Protocol, own: &Sizes, theirs: &Sizes) -> Result<Params> {
    let protocol = bucketed(protocol)?;
    let receives = me == job.receiver();
    let (receiver, sender) = if receives { (own, theirs) } else { (theirs, own) };
    let kept = own.work.as_ref().and_then(|work| work.kept.as_ref()).filter(|_| resumed(own, theirs).is_some());
    let buckets = match kept {
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
pub fn public_id(kept: &Kept) -> String {
    let mut hasher = blake3::Hasher::new_derive_key("tacita 1 work run");
    hasher.update(kept.run.as_bytes()).update(&(kept.buckets as u64).to_le_bytes()).update(kept.protocol.as_bytes());
    hasher.finalize().to_hex().to_string()
}

/// Runs all buckets that are left. Returns the numbers of the common keys of a table in memory, ascending; those of one
/// on disk are there.
pub fn run(
    job: &JobSpec,
    me: &str,
    party: Party<'_>,
    agreed: &Agreed,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<usize>>> {
    let (own, theirs) = (&agreed.own_sizes, &agreed.peer_sizes);
    let protocol = agreed.chosen.protocol;
    let params = params(job, me, protocol, own, theirs)?;
    let role = role(me == job.receiver());
    let resumes = resumed(own, theirs).is_some();
    if !resumes {
        check_fresh(own, theirs, channel.peer()).map_err(|error| channel.conclude_for(error))?;
    }
    let Party::Disk(disk) = party else {
        let Party::Memory(keys) = party else { return Err(Error::Internal("a party of no kind".into())) };
        // Nothing of this run is ever resumed by a party that keeps nothing: it is committed to nothing.
        let mut commitment = [0; 32];
        rng.fill_bytes(&mut commitment);
        let agreed_run = agree(job, role, &commitment, None, &params, agreed, channel, rng)?;
        let source = InMemory::make(keys, &agreed_run.run.item_key(), &params);
        let remaining = &agreed_run.remaining;
        buckets::run(role, remaining, &source, &params, &agreed.session, channel, rng)?;
        return Ok(Some(source.common()));
    };

    let commitment = disk.commitment()?;
    let (kept, finished) = disk.kept(resumes)?;
    let kept = kept.as_ref().map(|run| buckets::Kept { run, finished: &finished });
    let agreed_run = agree(job, role, &commitment, kept, &params, agreed, channel, rng)?;
    let run = hex(&agreed_run.run.to_bytes());
    disk.keep(Kept { run: run.clone(), protocol: protocol.name().into(), buckets: params.buckets })?;
    tracing::info!(
        "{} of {} left, {} at a time",
        crate::base::text::count(agreed_run.remaining.len() as u64),
        crate::base::text::counted(params.buckets as u64, "bucket"),
        params.lanes
    );
    let progress = channel.progress().clone();
    let room = (disk.memory - for_buckets(disk.memory)) as usize;
    let item_key = agreed_run.run.item_key();
    let source = OnDisk::make(disk.table.directory(), &run, disk.table.sorted(), &item_key, &params, room, &progress)?;
    buckets::run(role, &agreed_run.remaining, &source, &params, &agreed.session, channel, rng)?;
    disk.done.store(agreed_run.remaining.len(), Ordering::Relaxed);
    Ok(None)
}

#[expect(clippy::too_many_arguments, reason = "everything that an attempt has; both callers are above")]
fn agree(
    job: &JobSpec,
    role: Role,
    commitment: &[u8; 32],
    kept: Option<buckets::Kept<'_>>,
    params: &Params,
    agreed: &Agreed,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<buckets::Agreed> {
    let terms = unhex(&Terms::of(job).agreement()).and_then(|terms| terms.try_into().ok());
    let terms = terms.ok_or_else(|| Error::Internal("terms have no fingerprint".into()))?;
    buckets::agree(buckets::Party { role, commitment, kept }, &terms, params, &agreed.session, channel, rng)
}

/// Refuses to begin anew what one party has done a part of, unless the other keeps nothing.
fn check_fresh(own: &Sizes, theirs: &Sizes, peer: &str) -> Result<()> {
    let done = |sizes: &Sizes| sizes.work.as_ref()?.kept.as_ref().map(|kept| kept.finished).filter(|done| *done > 0);
    let (Some(_), Some(_)) = (&own.work, &theirs.work) else {
        if done(own).is_some() {
            tracing::info!("{peer} keeps nothing on disk: all buckets are done again");
        }
        return Ok(());
    };
    match (done(own), done(theirs)) {
        (None, None) => Ok(()),
        (Some(_), None) => Err(Error::Terms(format!(
            "this run is resumed, and {peer} begins a new one: {peer} resumes the same with --resume, or both remove their \
             directories and start anew"
        ))),
        (None, Some(_)) => Err(Error::Terms(format!(
            "{peer} resumes a run, and this one is new: go on with that one here, too, with --resume and its --work, or both \
             remove their directories and start anew"
        ))),
        (Some(_), Some(_)) => Err(Error::Terms(format!(
            "{peer} resumes another run than this one: take the directories of one run, or both remove them and start anew"
        ))),
    }
}

impl Disk {
    /// What the peer sees of the table: nothing, but that it is the same as before.
    fn commitment(&self) -> Result<[u8; 32]> {
        let parts = unhex(&self.table.state().nonce).zip(unhex(&self.table.sorted().digest));
        let (nonce, digest) = parts.ok_or_else(|| Error::Internal("a table without a digest".into()))?;
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 work commitment");
        hasher.update(&nonce).update(&digest);
        Ok(hasher.finalize().into())
    }

    /// The run that is resumed, and its finished buckets. What is kept of one that is not resumed goes.
    fn kept(&self, resumes: bool) -> Result<(Option<Run>, Vec<usize>)> {
        let directory = self.table.directory();
        if !resumes {
            let keeps = self.table.state().run.is_some();
            if keeps {
                self.table.note(|state| state.run = None)?;
            }
            RESULT.remove_all(directory)?;
            return Ok((None, Vec::new()));
        }
        let state = self.table.state();
        let bytes = state.run.as_ref().and_then(|kept| unhex(&kept.run)).and_then(|bytes| bytes.try_into().ok());
        let bytes = bytes.ok_or_else(|| Error::Internal("no run is kept".into()))?;
        Ok((Some(Run::from_bytes(&bytes)), super::buckets::finished(directory)?))
    }

    /// Keeps the run that was agreed on.
    fn keep(&self, run: Kept) -> Result<()> {
        self.table.note(|state| state.run = Some(run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agreement::Work;
    use crate::jobs::on_disk::memory::FIXED_BYTES;

    /// Whatever the peer claims, what a party's lanes hold fits the memory that it has for buckets: what each bucket takes, and
    /// what the peer can send ahead. What does not grow with the items is in the fixed part.
    #[test]
    fn lanes_and_their_queues_fit_the_own_memory() {
        let counts = [0, 1, 1000, 1 << 20, 200_000_000, 1 << 31, u64::from(u32::MAX)];
        let (mut fitting, mut refused) = (0, 0);
        let cases = methods::all()
            .filter_map(|method| method.in_buckets())
            .flat_map(|protocol| [Level::Bits128, Level::Bits256].map(|level| (protocol, level)))
            .flat_map(|which| counts.into_iter().flat_map(move |own| counts.map(|peer| (which, own, peer))));
        for ((protocol, level), items, claimed) in cases {
            for (memory, receives) in
                [1 << 20, 1 << 30, 1 << 35].into_iter().flat_map(|memory| [(memory, true), (memory, false)])
            {
                let own = Sizes { items, work: Some(Work { memory, kept: None }), ..Sizes::default() };
                let peer =
                    Sizes { items: claimed, work: Some(Work { memory: u64::MAX, kept: None }), ..Sizes::default() };
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
