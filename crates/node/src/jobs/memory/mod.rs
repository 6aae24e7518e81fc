//! How much memory a job needs, as far as the agreed sizes tell, and whether there is so much. This is looked at before any of
//! it is taken: a peer can claim any size, and what it claims is what a run is made for.

use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::buckets::Role;
use tacita_core::{Error, Result};

use crate::agreement::handshake::Agreed;
use crate::agreement::{Chosen, Job, JobSpec, Sizes, Work};
use crate::base::memory::Limit;
use crate::base::text;
use crate::jobs::intersect::disk;
use crate::jobs::intersect::memory::{needed as of_intersection, of_bucket};
use crate::jobs::{dot, rules, shares};

/// Memory of an item and its place among all buckets, at a party that keeps them in memory.
const ITEM_IN_MEMORY_BYTES: u64 = 48;

/// Memory that a party needs for a job of these sizes, in bytes: its table aside, an estimate from above.
///
/// Errors: so many rows are too many for the protocol, or for the memory that is to be used on disk.
pub fn needed(job: &JobSpec, me: &str, chosen: &Chosen, own: &Sizes, theirs: &Sizes) -> Result<u64> {
    match job.job {
        Job::Intersect if disk::is_bucketed(own, theirs) => {
            let params = disk::params(job, me, chosen.protocol, own, theirs)?;
            let [asked, sent] = [Role::Receiver, Role::Sender].map(|role| params.bound(role) as u64);
            let one = of_bucket(me == job.receiver(), chosen.protocol, asked, sent);
            let in_memory = if own.work.is_none() { own.items.saturating_mul(ITEM_IN_MEMORY_BYTES) } else { 0 };
            let lanes = one.saturating_mul(params.buckets.min(disk::LANES) as u64);
            Ok(lanes.saturating_add(disk::memory::FIXED_BYTES).saturating_add(in_memory))
        }
        Job::Intersect => of_intersection(job, me, chosen, own, theirs),
        Job::Dot => dot::memory(job, me, chosen, own, theirs),
        Job::Shares => Ok(shares::memory(job, own)),
        Job::Rules => rules::memory(job, me, chosen, own, theirs),
    }
}

/// Refuses a job of two parties that needs more memory than the user allows, or than there is.
///
/// Errors: [`Error::Input`] if it would whatever the peer brought; else [`Error::Terms`], with what the peer brings.
pub fn check(job: &JobSpec, me: &str, agreed: &Agreed, allowed: Option<u64>, channel: &Channel) -> Result<()> {
    let (own, theirs, limit) = (&agreed.own_sizes, &agreed.peer_sizes, Limit::of(allowed));
    let on_disk = if disk::check_job(job).is_ok() { ", let --work DIR take it to disk" } else { "" };
    let check = |theirs: &Sizes, advice: &str| {
        let needed = needed(job, me, &agreed.chosen, own, theirs)?;
        // On disk there are as many buckets as it takes.
        if own.work.is_some() { Ok(()) } else { limit.check(needed, &format!("{advice}{on_disk}")) }
    };
    let refused = check(theirs, "agree on fewer rows with limits.max_rows");
    let Err(Error::Input(text)) = refused else { return refused };
    check(&without_rows(job, theirs), "split the input")?;
    let given = match theirs.entries {
        0 => String::new(),
        rows => format!(" and {} of {} bytes", text::counted(rows, "given row"), text::count(theirs.row_bytes.into())),
    };
    let things = text::counted(theirs.items, job.things().trim_end_matches('s'));
    Err(Error::Terms(format!("{} brings {things}{given}: {text}", channel.peer())))
}

/// What the user should know of terms that leave it to the peer how many rows it brings. (Rows that are aligned by position, and
/// shares, are as many as this party's.)
pub fn unbounded(job: &JobSpec) -> Option<&'static str> {
    let bounded = job.limits.max_rows.is_some() || job.limits.pad_to.is_some();
    (job.things() == "keys" && !bounded).then_some(
        "neither limits.max_rows nor limits.pad_to is set, so that a peer can claim any number of rows up to what this party's \
         memory allows: agree on one of them",
    )
}

/// The sizes of a peer that would bring nothing. Where rows are aligned by position, and of shares, both bring as many.
fn without_rows(job: &JobSpec, theirs: &Sizes) -> Sizes {
    match job.things() {
        "keys" => {
            let work = theirs.work.as_ref().map(|_| Work { memory: u64::MAX, kept: None });
            Sizes { items: 0, entries: 0, work, ..theirs.clone() }
        }
        _ => theirs.clone(),
    }
}
