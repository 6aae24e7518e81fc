//! The connections of a party in a run, and how they end.

use tacita_core::Result;
use tacita_core::channel::{Channel, Traffic};

use super::report::TlsReport;
use crate::agreement::{JobSpec, PartyInput, Reveal};
use crate::transport::depot::DepotClient;
use crate::transport::key_exchange::NegotiatedGroup;
use crate::transport::links::Links;

/// The connections of a party in a run.
pub(crate) enum Connections {
    /// To its peers, in the order of the job file.
    Peers {
        channels: Vec<Channel>,
        /// Groups from which they have their keys.
        groups: Vec<NegotiatedGroup>,
        /// Ends all of them when one fails.
        links: Links,
    },
    /// Connection to a helper.
    Helper(Box<DepotClient>),
}

/// Traffic over the connections of a party.
pub(crate) struct Travelled {
    /// Over all of them together, with the most flights of one.
    pub(crate) all: Traffic,
    /// Over each, by the name of the peer.
    pub(crate) by_peer: Vec<(String, Traffic)>,
}

impl Connections {
    /// Returns how the connections are encrypted; `None` before there is any.
    pub(crate) fn tls(&self) -> Option<TlsReport> {
        match self {
            Connections::Peers { channels, groups, .. } => {
                let peers = channels.iter().map(|channel| channel.peer().to_owned());
                TlsReport::of(&peers.zip(groups.iter().copied()).collect::<Vec<_>>())
            }
            Connections::Helper(client) => client.group().map(TlsReport::of_one),
        }
    }

    /// Ends the connections, and makes something of the answer: after them, when nobody waits for this party any
    /// longer. But a share that one party cannot keep is of no use to the other, which therefore hears of that before
    /// it is done.
    pub(crate) fn conclude<T>(
        self,
        job: &JobSpec,
        part: &dyn PartyInput,
        make: impl FnOnce() -> Result<T>,
    ) -> Result<(Travelled, T)> {
        let (channels, links) = match self {
            Connections::Peers { channels, links, .. } => (channels, links),
            // It has been told already.
            Connections::Helper(client) => {
                return Ok((Travelled { all: client.traffic(), by_peer: Vec::new() }, make()?));
            }
        };
        if job.reveal == Reveal::Shares {
            let made = links.guard(make)?;
            return Ok((links.guard(|| finish(channels))?, made));
        }
        let traffic = links.guard(|| finish(channels))?;
        part.ended()?;
        Ok((traffic, make()?))
    }
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
