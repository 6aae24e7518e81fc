//! Estimates of the memory that a job needs, as far as the agreed sizes tell, and checks that it is available. The
//! checks precede any allocation: a peer can claim any size, and the run allocates for the claimed size.

use std::collections::BTreeMap;

use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

use super::handshake::HandshakeResult;
use super::{Ability, DiskRun, JobSpec, Sizes, mesh};
use crate::base::memory::Limit;
use crate::base::text;

/// Refuses a job of two parties that needs more memory than the user allows, or than there is.
///
/// Errors: [`Error::Input`] if it would whatever the peer brought; else [`Error::Terms`], with what the peer brings.
pub fn check(job: &JobSpec, me: &str, agreed: &HandshakeResult, allowed: Option<u64>, channel: &Channel) -> Result<()> {
    let (own, theirs, limit) = (&agreed.own_sizes, &agreed.peer_sizes, Limit::of(allowed));
    let on_disk = on_disk_instead(job, own);
    let check = |theirs: &Sizes, advice: &str| {
        let needed = job.job.memory(job, me, &agreed.chosen, &job.sizes_of_both(me, own, theirs))?;
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
    let things = text::counted(theirs.items, job.thing());
    Err(Error::Terms(format!("{} brings {things}{given}: {text}", channel.peer())))
}

/// Performs [`check`] in a job in which all parties are connected.
pub fn check_all(job: &JobSpec, me: &str, agreed: &mesh::MeshAgreement, allowed: Option<u64>) -> Result<()> {
    let sizes = &agreed.sizes;
    if sizes[me].work.is_some() {
        // On disk there are as many buckets as it takes.
        return Ok(());
    }
    let on_disk = on_disk_instead(job, &sizes[me]);
    let check = |sizes: &BTreeMap<String, Sizes>| {
        let needed = job.job.memory(job, me, &agreed.chosen, sizes)?;
        Limit::of(allowed).check(needed, &format!("split the input{on_disk}"))
    };
    let refused = check(sizes);
    let Err(Error::Input(text)) = refused else { return refused };
    let alone = |(name, theirs): (&String, &Sizes)| {
        let own = name == me;
        (name.clone(), if own { theirs.clone() } else { without_rows(job, theirs) })
    };
    check(&sizes.iter().map(alone).collect())?;
    let most = sizes.iter().filter(|(name, _)| *name != me).max_by_key(|(_, sizes)| sizes.items.max(sizes.entries));
    let most = most.map_or(String::new(), |(name, theirs)| {
        format!("{name} brings {}: ", text::counted(theirs.items, job.thing()))
    });
    Err(Error::Terms(format!("{most}{text}")))
}

/// Returns the hint to work on disk instead, if that is possible.
fn on_disk_instead(job: &JobSpec, own: &Sizes) -> &'static str {
    if !own.on_disk && job.job.can(job, Ability::Disk).is_ok() { ", let --work DIR take it to disk" } else { "" }
}

/// Returns a warning about terms that leave the peer's number of rows to the peer. (Rows that are aligned by
/// position, and shares, are as many as this party's.)
pub fn unbounded(job: &JobSpec) -> Option<&'static str> {
    let padded = job.parties.names().into_iter().all(|name| job.job.pads(job, name));
    if !job.matches_keys() || job.limits.max_rows.is_some() || (padded && job.limits.pad_to.is_some()) {
        return None;
    }
    Some(if padded {
        "neither limits.max_rows nor limits.pad_to is set: a peer can claim as many rows as this party's memory allows. \
             Agree on one of them"
    } else {
        "limits.max_rows is not set: the party that does not pad can claim as many rows as the other's memory allows. Agree \
             on limits.max_rows"
    })
}

/// The sizes of a peer that would bring nothing. Where rows are aligned by position, and of shares, both bring as many.
fn without_rows(job: &JobSpec, theirs: &Sizes) -> Sizes {
    if !job.matches_keys() {
        return theirs.clone();
    }
    let work = theirs.work.as_ref().map(|_| DiskRun { memory: u64::MAX, kept: None });
    let any = theirs.any.iter().map(|sizes| without_rows(job, sizes)).collect();
    Sizes { items: 0, entries: 0, work, any, ..theirs.clone() }
}

#[cfg(test)]
mod tests {
    use tacita_core::session::{Session, Transcript};

    use super::*;
    use crate::agreement::{Chosen, Protocol};

    /// Checks that the error names the party with too many rows, and that neither party pays for the other's claim.
    #[test]
    fn memory_is_refused_to_whoever_brings_too_much() {
        let text = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"x\"]\n[parties.a]\n[parties.b]\n";
        let job = JobSpec::parse(text, false).unwrap();
        let (few, many) = (1000, 1 << 26);
        // The receiver's memory grows with its own rows, the sender's with those of the receiver.
        let checked = |me: &str, items: [u64; 2]| {
            let peer = job.peer_of(me);
            let (channel, _peer) = Channel::pair(me, peer);
            let of = |items: [u64; 2]| {
                let [own_sizes, peer_sizes] = items.map(|items| Sizes { items, ..Sizes::default() });
                let session = Session::new(Transcript::new("test"));
                HandshakeResult { session, chosen: Chosen::only(Protocol::named("vole")), own_sizes, peer_sizes }
            };
            let fits = of([few, few]);
            let sizes = job.sizes_of_both(me, &fits.own_sizes, &fits.peer_sizes);
            let enough = job.job.memory(&job, me, &fits.chosen, &sizes).unwrap();
            check(&job, me, &of(items), Some(enough), &channel)
        };
        for me in ["a", "b"] {
            checked(me, [few, few]).unwrap();
        }
        assert!(matches!(checked("b", [few, many]), Err(Error::Terms(text)) if text.starts_with("a brings")));
        assert!(matches!(checked("a", [many, few]), Err(Error::Input(text)) if text.contains("split the input")));
    }
}
