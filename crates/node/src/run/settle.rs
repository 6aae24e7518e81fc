//! From connections to what was found: sizes and choice are agreed on, it is looked whether there is room, and the part runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tacita_core::channel::{Channel, Traffic};
use tacita_core::{Error, Result};

use crate::agreement::handshake::{self, Greeted};
use crate::agreement::{
    Clients, Found, JobSpec, Network, Part, Peers, Reveal, Run, Sizes, Unusable, group, memory, mesh, quality,
};
use crate::base::memory::Limit;
use crate::base::random::fresh_rng;
use crate::base::text;
use crate::transport::links::Links;
use crate::watch::{Screen, Watcher};

/// What a run has come to, before its connections end.
pub(crate) struct Settled {
    pub(crate) found: Found,
    pub(crate) choice: String,
    /// What the peers have said of rows that they could not use, where they have.
    pub(crate) unusable: BTreeMap<String, Unusable>,
    pub(crate) setup: Duration,
    pub(crate) running: Duration,
}

/// A party that settles what runs, and runs it.
pub(crate) struct Settling<'a> {
    pub(crate) job: &'a JobSpec,
    pub(crate) me: &'a str,
    /// Memory that the job may use, in bytes.
    pub(crate) memory: Option<u64>,
    /// Bits a second of the network, if that is known.
    pub(crate) bandwidth: Option<u64>,
    /// What is said meanwhile.
    pub(crate) screen: &'a Arc<dyn Screen>,
}

impl Settling<'_> {
    /// From connections on which terms were compared to what was found.
    pub(crate) fn run(
        &self,
        part: &mut dyn Part,
        greeted: Vec<Greeted>,
        round_trip: Duration,
        channels: &mut [Channel],
        links: &Links,
    ) -> Result<Settled> {
        for warning in greeted.iter().flat_map(|greeted| &greeted.warnings) {
            tracing::warn!("{warning}");
        }
        let unusable = quality::exchange(self.job, self.me, &part.rows(), channels)?;
        quality::told(&unusable).iter().for_each(|text| tracing::warn!("{text}"));
        let settled = if self.job.is_mesh() {
            self.run_in_mesh(part, greeted, channels)
        } else {
            match (self.job.clients(), channels, <[Greeted; 1]>::try_from(greeted)) {
                (None, [channel], Ok([greeted])) => self.run_with_one(part, greeted, round_trip, channel),
                (Some(roles), channels, Err(greeted)) => self.run_with_clients(&roles, part, greeted, channels, links),
                _ => Err(Error::Internal("peers of another job".into())),
            }
        };
        Ok(Settled { unusable, ..settled? })
    }

    fn run_with_one(
        &self,
        part: &mut dyn Part,
        greeted: Greeted,
        round_trip: Duration,
        channel: &mut Channel,
    ) -> Result<Settled> {
        let setup_started = Instant::now();
        let (job, me) = (self.job, self.me);
        let peer_version = greeted.peer_version.clone();
        let own = part.sizes();
        let network = Network { round_trip, bandwidth: self.bandwidth };
        let check = |theirs: &_, channel: &_| part.check_peer(job, theirs, channel);
        let choose = |theirs: &_| job.job.choose(job, me, &own, theirs, network).map(|choice| choice.chosen);
        let agreed = handshake::settle(greeted, job, me, &own, check, choose, channel)?;
        handshake::confirm(&agreed.session, job, me, channel)?;
        memory::check(job, me, &agreed, self.memory, channel)?;
        let setup = setup_started.elapsed();
        tracing::info!(
            "agreed with {} ({peer_version}): {}, {} here, {} there",
            channel.peer(),
            agreed.chosen,
            text::counted(own.items, job.thing()),
            text::count(agreed.peer_sizes.items)
        );

        let protocol_started = Instant::now();
        job.note_answer(channel);
        let watcher = Watcher::start(channel.handle(), self.screen.clone());
        let peers = Peers::One { agreed: &agreed, channel };
        let found = part.run(Run { job, me, peers, allowed: self.memory, rng: &mut fresh_rng()? });
        drop(watcher);
        let (choice, running) = (agreed.chosen.to_string(), protocol_started.elapsed());
        Ok(Settled { found: found?, choice, unusable: BTreeMap::new(), setup, running })
    }

    fn run_in_mesh(&self, part: &mut dyn Part, greeted: Vec<Greeted>, channels: &mut [Channel]) -> Result<Settled> {
        let setup_started = Instant::now();
        let (job, me) = (self.job, self.me);
        let own = part.sizes();
        let check = |theirs: &_, channel: &_| part.check_peer(job, theirs, channel);
        let choose = |sizes: &_| job.job.choose_among(job, sizes).map(|choice| choice.chosen);
        let agreed = mesh::agree(job, me, &own, greeted, channels, check, choose)?;
        memory::check_all(job, me, &agreed, self.memory)?;
        let setup = setup_started.elapsed();
        let each = agreed.sizes.iter().filter(|(name, _)| *name != me);
        let each: Vec<_> = each.map(|(name, sizes)| format!("{} at {name}", text::count(sizes.items))).collect();
        let own = text::counted(own.items, job.thing());
        tracing::info!("agreed with all: {}, {own} here, {}", agreed.chosen, each.join(", "));

        let protocol_started = Instant::now();
        channels.iter_mut().for_each(|channel| job.note_answer(channel));
        let handles = channels.iter().map(Channel::handle).collect();
        let watcher = Watcher::of_several(handles, self.screen.clone());
        let peers = Peers::Mesh { agreed: &agreed, channels };
        let found = part.run(Run { job, me, peers, allowed: self.memory, rng: &mut fresh_rng()? });
        drop(watcher);
        let (choice, running) = (agreed.chosen.to_string(), protocol_started.elapsed());
        Ok(Settled { found: found?, choice, unusable: BTreeMap::new(), setup, running })
    }

    fn run_with_clients(
        &self,
        roles: &Clients<'_>,
        part: &mut dyn Part,
        greeted: Vec<Greeted>,
        channels: &mut [Channel],
        links: &Links,
    ) -> Result<Settled> {
        let setup_started = Instant::now();
        let (job, me) = (self.job, self.me);
        let rows = group::agree(job, roles, me, part.sizes(), greeted, channels)?;
        let chosen = job.job.choose(job, me, &Sizes::default(), &Sizes::default(), Network::default())?.chosen;
        let needed = job.job.memory(job, me, &chosen, &roles.sizes(&rows))?;
        Limit::of(self.memory).check(needed, "split the input")?;
        let setup = setup_started.elapsed();
        tracing::info!("agreed with {}: {} in all", job.peers_of(me).join(", "), text::counted(rows.all, "row"));

        let protocol_started = Instant::now();
        let watcher = channels.first().map(|channel| Watcher::start(channel.handle(), self.screen.clone()));
        let peers = Peers::Several { rows: &rows, channels, links };
        let found = part.run(Run { job, me, peers, allowed: self.memory, rng: &mut fresh_rng()? });
        drop(watcher);
        let found = found?;
        let choice = found.protocol.name().into();
        Ok(Settled { found, choice, unusable: BTreeMap::new(), setup, running: protocol_started.elapsed() })
    }
}

/// Ends the connections, and makes something of the answer: after them, when nobody waits for this party any longer. But a share
/// that one party cannot keep is of no use to the other, which therefore hears of that before it is done.
pub(crate) fn conclude<T>(
    job: &JobSpec,
    part: &dyn Part,
    channels: Vec<Channel>,
    links: &Links,
    make: impl FnOnce() -> Result<T>,
) -> Result<(Travelled, T)> {
    if job.reveal == Reveal::Shares {
        let made = links.guard(make)?;
        return Ok((links.guard(|| finish(channels))?, made));
    }
    let traffic = links.guard(|| finish(channels))?;
    part.ended()?;
    Ok((traffic, make()?))
}

/// What travelled over the connections of a party.
pub(crate) struct Travelled {
    /// Over all of them together, with the most flights of one.
    pub(crate) all: Traffic,
    /// Over each, by the name of the peer.
    pub(crate) by_peer: Vec<(String, Traffic)>,
}

/// Ends all connections in good order, at the same time.
pub(crate) fn finish(channels: Vec<Channel>) -> Result<Travelled> {
    let peers: Vec<_> = channels.iter().map(|channel| channel.peer().to_owned()).collect();
    let all = std::thread::scope(|scope| {
        let ending: Vec<_> = channels.into_iter().map(|channel| scope.spawn(move || channel.finish())).collect();
        let ended = ending.into_iter().map(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        ended.collect::<Result<Vec<_>>>()
    })?;
    let sum = |all: Traffic, one: Traffic| Traffic {
        sent: all.sent + one.sent,
        received: all.received + one.received,
        rounds: all.rounds.max(one.rounds),
    };
    let together = all.iter().copied().fold(Traffic::default(), sum);
    Ok(Travelled { all: together, by_peer: peers.into_iter().zip(all).collect() })
}
