//! The handshake of a job in which every party has a connection to every other: each pair's, bound to the one run of
//! all of them. Byte for byte in `docs/wire.md`.
//!
//! A party has one nonce for all its connections. The terms, all nonces, all sizes and the choice make the session of
//! the run, which is in every pair's session: no connection of another run, and nobody who was told something else than
//! the others, passes for one of this.

use std::collections::BTreeMap;

use tacita_core::channel::labels::handshake::CHOICE;
use tacita_core::channel::{Channel, HEADER_BYTES, each};
use tacita_core::protocol::mesh::MeshLink;
use tacita_core::session::Transcript;
use tacita_core::{Error, Result, Session};
use zeroize::Zeroizing;

use super::handshake::{
    ANOTHER_SESSION, CONFIRM_BYTES, Greeted, check_fresh, exchange_sizes, has_the_same, hello_bytes, message,
    sizes_bytes, somebody,
};
use super::{Chosen, JobSpec, Sizes, Terms};

/// Message flights: `hello`, `sizes`, `choice`, `confirm`.
pub const ROUNDS: u32 = 4;

/// Outcome of a handshake among all parties.
pub struct MeshAgreement {
    /// The session of the run, which all parties have. It is public.
    pub session: Session,
    /// Protocol choice for the run.
    pub chosen: Chosen,
    /// Sizes that each party has announced, including this one.
    pub sizes: BTreeMap<String, Sizes>,
    /// The connections, in the order of the job file.
    pub pairs: Vec<MeshConnection>,
}

impl MeshAgreement {
    /// The connections as links of a protocol, in the order of the job file.
    pub fn links(&self, job: &JobSpec) -> Result<Vec<MeshLink>> {
        let link = |pair: &MeshConnection| {
            let place = job.parties.position(&pair.peer);
            let peer = place.ok_or_else(|| Error::Internal(format!("no party {}", pair.peer)))?;
            Ok(MeshLink { peer, session: pair.session.clone(), seed: pair.seed.clone() })
        };
        self.pairs.iter().map(link).collect()
    }
}

/// One connection of such a run.
pub struct MeshConnection {
    /// The party at the other end.
    pub peer: String,
    /// Session of the connection.
    pub session: Session,
    /// Seed known only to the connection's two ends, fresh for each connection.
    pub seed: Zeroizing<[u8; 32]>,
}

/// Sizes, choice, and the session of every connection. `channels` are in the order of the job file, with what came of
/// their `hello`. `check` is what else this party asks of a peer's sizes, `choose` what it would run with those of all.
///
/// Errors: a connection fails, or a peer breaks the protocol.
pub fn agree(
    job: &JobSpec,
    me: &str,
    own: &Sizes,
    greeted: Vec<Greeted>,
    channels: &mut [Channel],
    check: impl Fn(&Sizes, &Channel) -> Result<()>,
    choose: impl FnOnce(&BTreeMap<String, Sizes>) -> Result<Chosen>,
) -> Result<MeshAgreement> {
    let own_bytes = message(own)?;
    let nonces = nonces(job, me, &greeted, channels)?;

    // 1. How much each brings.
    let nothing = |channels: &[Channel]| vec![(); channels.len()];
    let told = each(channels, nothing(channels), |(), channel| exchange_sizes(job, own_bytes.clone(), channel))?;
    let mut sizes = BTreeMap::from([(me.to_owned(), own.clone())]);
    let mut written = BTreeMap::from([(me.to_owned(), own_bytes)]);
    for (channel, (theirs, bytes)) in channels.iter().zip(told) {
        check(&theirs, channel)?;
        sizes.insert(channel.peer().to_owned(), theirs);
        written.insert(channel.peer().to_owned(), bytes);
    }

    // 2. What runs: the first party says it to all. That it has said the same to all shows in the last step.
    let names = job.parties.names();
    let (choice, chosen) = if names.first() == Some(&me) {
        let chosen = choose(&sizes)?;
        let choice = chosen.to_string().into_bytes();
        channels.iter_mut().try_for_each(|channel| channel.send(CHOICE, choice.clone()))?;
        (choice, chosen)
    } else {
        let first = channels.iter_mut().find(|channel| names.first() == Some(&channel.peer()));
        let first = first.ok_or_else(|| Error::Internal("no connection to the first party".into()))?;
        let choice = first.receive_up_to(CHOICE, 64)?;
        let chosen = read_choice(job, &choice);
        (choice, chosen.ok_or_else(|| first.violation("it chose a protocol that the terms do not allow"))?)
    };

    // 3. All of it is the run's session, which every connection's is made of.
    let mut transcript = Transcript::new("mesh");
    transcript.append("terms", Terms::of(job).canonical().as_bytes());
    for name in &names {
        transcript.append("nonce", nonces[*name].as_bytes());
        transcript.append("sizes", &written[*name]);
    }
    transcript.append("choice", &choice);
    let session = job.in_its_whole(Session::new(transcript));
    let pairs = channels.iter().zip(greeted).map(|(channel, greeted)| {
        let seed = greeted.seed.clone();
        let own = greeted.bound_to(&[("mesh", session.id())]).within(&session);
        MeshConnection { peer: channel.peer().to_owned(), session: own, seed }
    });
    let pairs: Vec<MeshConnection> = pairs.collect();

    // 4. Each pair proves to have the same.
    each(channels, pairs.iter().collect(), |pair: &MeshConnection, channel| {
        if has_the_same(&pair.session, job, me, channel)? {
            Ok(())
        } else if names.len() > 2 {
            Err(somebody(channel.peer(), ANOTHER_SESSION.into()))
        } else {
            Err(channel.violation(ANOTHER_SESSION))
        }
    })?;
    Ok(MeshAgreement { session, chosen, sizes, pairs })
}

/// The choice that is written so, if the terms allow it. One way to write it: two would be two sessions.
fn read_choice(job: &JobSpec, bytes: &[u8]) -> Option<Chosen> {
    let chosen = Chosen::read(job, std::str::from_utf8(bytes).ok()?)?;
    (job.job.allows(job, &chosen) && chosen.to_string().as_bytes() == bytes).then_some(chosen)
}

/// The nonces of all parties, of which no two are the same.
fn nonces(job: &JobSpec, me: &str, greeted: &[Greeted], channels: &[Channel]) -> Result<BTreeMap<String, String>> {
    check_fresh(greeted, channels)?;
    let own = greeted.first().map(|greeted| (me.to_owned(), greeted.nonces[0].clone()));
    let others = channels.iter().zip(greeted);
    let others = others.map(|(channel, greeted)| (channel.peer().to_owned(), greeted.nonces[1].clone()));
    let nonces: BTreeMap<_, _> = own.into_iter().chain(others).collect();
    if nonces.len() == job.parties.names().len() {
        Ok(nonces)
    } else {
        Err(Error::Internal("not all parties are connected".into()))
    }
}

/// Bytes that `me` sends in the handshake, framing included, over all its connections.
pub fn bytes_sent(job: &JobSpec, me: &str, chosen: &Chosen, own: &Sizes) -> u64 {
    let first = job.parties.position(me) == Some(0);
    let choice = if first { (HEADER_BYTES + chosen.to_string().len()) as u64 } else { 0 };
    (hello_bytes(job, me) + sizes_bytes(own) + choice + CONFIRM_BYTES) * job.peers_of(me).len() as u64
}
