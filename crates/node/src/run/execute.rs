//! From connections to what was found: it is agreed what runs, and the part runs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tacita_core::channel::Channel;
use tacita_core::{Error, Result, Session};

use super::connections::Connections;
use crate::agreement::handshake::Greeted;
use crate::agreement::{
    Chosen, JobSpec, PartContext, PartyInput, Peers, RunResult, Sizes, Topology, Unusable, quality,
};
use crate::base::random::fresh_rng;
use crate::govern::account::Account;
use crate::identity::Fingerprint;
use crate::transport::depot::DepotClient;
use crate::transport::links::Links;
use crate::watch::{ProgressSink, Watcher};

/// State of a run before its connections end.
pub(crate) struct Executed {
    pub(crate) found: RunResult,
    pub(crate) choice: String,
    /// Counts of unusable rows that the peers have reported, if they have.
    pub(crate) unusable: BTreeMap<String, Unusable>,
    pub(crate) setup: Duration,
    pub(crate) running: Duration,
}

/// A party of a run.
pub(crate) struct RunContext<'a> {
    pub(crate) job: &'a JobSpec,
    pub(crate) me: &'a str,
    /// Memory that the job may use, in bytes.
    pub(crate) memory: Option<u64>,
    /// Secret of the party that is the same in all its runs.
    pub(crate) secret: &'a [u8; 32],
    /// Bits a second of the network, if that is known.
    pub(crate) bandwidth: Option<u64>,
    /// Screen for messages during the run.
    pub(crate) screen: &'a Arc<dyn ProgressSink>,
    /// Account of the run, and the identities of the peers that give receipts for it; none in a simulation within one
    /// process.
    pub(crate) account: Option<(&'a Arc<Account>, BTreeMap<String, Fingerprint>)>,
}

impl RunContext<'_> {
    /// From connections to what was found. `greeted` is what came of each peer's `hello`.
    pub(crate) fn run(
        &self,
        part: &mut dyn PartyInput,
        greeted: Vec<Greeted>,
        round_trip: Duration,
        connections: &mut Connections,
    ) -> Result<Executed> {
        match connections {
            Connections::Peers { channels, links, .. } => {
                links.guard(|| self.run_with_peers(part, greeted, round_trip, channels, links))
            }
            Connections::Helper(client) => self.run_at_helper(part, client).inspect_err(|error| client.end(error)),
        }
    }

    /// From connections to peers to what was found.
    pub(crate) fn run_with_peers(
        &self,
        part: &mut dyn PartyInput,
        mut greeted: Vec<Greeted>,
        round_trip: Duration,
        channels: &mut [Channel],
        links: &Links,
    ) -> Result<Executed> {
        for warning in greeted.iter().flat_map(|greeted| &greeted.warnings) {
            tracing::warn!("{warning}");
        }
        let unusable = quality::exchange(self.job, self.me, &part.rows(), channels)?;
        quality::told(&unusable).iter().for_each(|text| tracing::warn!("{text}"));
        let started = Instant::now();
        let executed = match self.job.topology() {
            Topology::Mesh => {
                let agreed = &self.negotiate_in_mesh(part, greeted, channels)?;
                self.exchange_receipts(&agreed.session, &agreed.chosen, &agreed.sizes, channels)?;
                self.execute(part, &agreed.chosen, started, Peers::Mesh { agreed, channels })
            }
            Topology::Clients(roles) => {
                let (chosen, rows) = &self.negotiate_with_clients(&roles, part, greeted, channels)?;
                self.note_agreement()?;
                self.execute(part, chosen, started, Peers::Several { rows, channels, links })
            }
            Topology::Pair | Topology::Helper | Topology::Served => {
                let ([channel], Some(greeted)) = (channels, greeted.pop()) else {
                    return Err(Error::Internal("a job of two, and not one peer".into()));
                };
                let agreed = &self.negotiate_with_one(part, greeted, round_trip, channel)?;
                let sizes = self.job.sizes_of_both(self.me, &agreed.own_sizes, &agreed.peer_sizes);
                let one = std::slice::from_mut(channel);
                self.exchange_receipts(&agreed.session, &agreed.chosen, &sizes, one)?;
                self.execute(part, &agreed.chosen, started, Peers::One { agreed, channel })
            }
        };
        executed.map(|executed| Executed { unusable, ..executed })
    }

    /// Gives receipts to the peers and takes theirs, before anything else is sent.
    fn exchange_receipts(
        &self,
        session: &Session,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        channels: &mut [Channel],
    ) -> Result<()> {
        let Some((account, pins)) = &self.account else { return Ok(()) };
        account.agreed(self.job, session, &chosen.to_string(), sizes, pins, channels)
    }

    /// Notes that the parties have agreed, where they give no receipts.
    fn note_agreement(&self) -> Result<()> {
        self.account.as_ref().map_or(Ok(()), |(account, _)| account.agreed_without_receipts())
    }

    fn run_at_helper(&self, part: &mut dyn PartyInput, client: &DepotClient) -> Result<Executed> {
        let started = Instant::now();
        let chosen = self.negotiate_at_helper(part)?;
        self.note_agreement()?;
        self.execute(part, &chosen, started, Peers::Depot(client))
    }

    /// Runs a part over its connections, by what was agreed on since `negotiating`.
    fn execute(
        &self,
        part: &mut dyn PartyInput,
        chosen: &Chosen,
        negotiating: Instant,
        mut peers: Peers<'_>,
    ) -> Result<Executed> {
        let (job, me, setup, started) = (self.job, self.me, negotiating.elapsed(), Instant::now());
        peers.channels().iter_mut().for_each(|channel| job.note_answer(channel));
        let watcher = self.watch(&mut peers);
        let helper = peers.helper();
        let found =
            part.run(PartContext { job, me, peers, allowed: self.memory, secret: self.secret, rng: &mut fresh_rng()? });
        let found = found.and_then(|found| helper.map_or(Ok(()), DepotClient::done).map(|()| found));
        drop(watcher);
        Ok(Executed {
            found: found?,
            choice: chosen.to_string(),
            unusable: BTreeMap::new(),
            setup,
            running: started.elapsed(),
        })
    }

    /// Shows how far a run has come until what is returned is dropped.
    fn watch(&self, peers: &mut Peers<'_>) -> Option<Watcher> {
        let screen = self.screen.clone();
        match peers {
            Peers::One { channel, .. } => Some(Watcher::start(channel.handle(), screen)),
            Peers::Mesh { channels, .. } => {
                Some(Watcher::of_several(channels.iter().map(Channel::handle).collect(), screen))
            }
            Peers::Several { channels, .. } => channels.first().map(|channel| Watcher::start(channel.handle(), screen)),
            Peers::Depot(client) => Some(Watcher::of_connections(client.progress(), client.counting(), screen)),
        }
    }
}
