//! The plan for connecting a party to its peers, and what it has once it is connected.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::PathBuf;
use std::time::Duration;

use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

use super::connections::Connections;
use crate::agreement::handshake::Greeted;
use crate::agreement::{JobSpec, PartyInput};
use crate::identity::{Fingerprint, Identity};
use crate::transport::{self, Connected, LinkShape, Peer, depot, relay};

/// Plan for connecting a party to its peers.
pub struct ConnectPlan {
    /// Peers that it dials, and their addresses.
    pub dials: Vec<(Peer, String)>,
    /// For whom it listens.
    pub awaits: Vec<Peer>,
    /// Address on which it listens.
    pub listen: String,
    /// Relay at which it meets all of them instead, if neither dials the other.
    pub relay: Option<relay::RelayAddress>,
    /// Helper at which data in transit is left instead, in a job through a helper.
    pub helper: Option<depot::HelperAddress>,
    /// Write the address that is listened on to this file.
    pub announce: Option<PathBuf>,
    /// Latency and bandwidth to imitate.
    pub shape: LinkShape,
}

impl ConnectPlan {
    /// Returns the plan for meeting at a helper.
    pub fn at(place: depot::HelperAddress) -> ConnectPlan {
        ConnectPlan {
            dials: Vec::new(),
            awaits: Vec::new(),
            listen: String::new(),
            relay: None,
            helper: Some(place),
            announce: None,
            shape: LinkShape::default(),
        }
    }

    /// Returns the identities of all peers, by name.
    pub(crate) fn pins(&self) -> BTreeMap<String, Fingerprint> {
        let dials = self.dials.iter().map(|(peer, _)| peer);
        dials.chain(&self.awaits).map(|peer| (peer.name.clone(), peer.pin)).collect()
    }

    /// Binds the listening socket, if the party listens.
    pub(crate) fn listener(&self) -> Result<Option<TcpListener>> {
        if self.awaits.is_empty() || self.relay.is_some() {
            return Ok(None);
        }
        let address = &transport::listening_at(&self.listen)?;
        let bad = |error: std::io::Error| {
            Error::Input(format!("cannot listen on {address}: {error}: give another address with --listen"))
        };
        let listener = TcpListener::bind(address).map_err(bad)?;
        if let Some(path) = &self.announce {
            let local = listener.local_addr().map_err(bad)?.to_string();
            crate::base::files::write_whole(path, local.as_bytes())?;
        }
        Ok(Some(listener))
    }

    /// Connects to all peers at the same time, and authenticates them. `found` gets each as it comes, on a thread of
    /// its own, or why it did not come; several names where a wait for several ended.
    pub(crate) fn connect(
        &self,
        listener: Option<TcpListener>,
        identity: &Identity,
        options: &transport::Options,
        found: impl Fn(&str, Result<Connected>) + Sync,
    ) {
        let found = &found;
        if let Some(place) = &self.relay {
            return self.connect_through(place, identity, options, found);
        }
        std::thread::scope(|scope| {
            for (peer, address) in &self.dials {
                tracing::info!("dialing {} at {address}", peer.name);
                scope.spawn(move || found(&peer.name, transport::dial(address, peer, identity, options)));
            }
            if let Some(listener) = listener {
                let names: Vec<_> = self.awaits.iter().map(|peer| peer.name.as_str()).collect();
                tracing::info!("waiting for {} on {}", names.join(", "), self.listen);
                let missing = std::cell::RefCell::new(names);
                let one = |peer: &Peer, connected| {
                    missing.borrow_mut().retain(|name| *name != peer.name);
                    let name = peer.name.clone();
                    scope.spawn(move || found(&name, connected));
                };
                let all = transport::listen_for_all(&listener, &self.awaits, identity, options, one);
                if let Err(error) = all {
                    found(&missing.borrow().join(", "), Err(error));
                }
            }
        });
    }
}

impl ConnectPlan {
    /// The same through a relay.
    fn connect_through(
        &self,
        place: &relay::RelayAddress,
        identity: &Identity,
        options: &transport::Options,
        found: &(impl Fn(&str, Result<Connected>) + Sync),
    ) {
        let dials = self.dials.iter().map(|(peer, _)| (peer, relay::ConnectionEnd::Dials));
        let awaits = self.awaits.iter().map(|peer| (peer, relay::ConnectionEnd::Listens));
        std::thread::scope(|scope| {
            for (peer, side) in dials.chain(awaits) {
                tracing::info!("meeting {} at {}", peer.name, place.name());
                scope.spawn(move || found(&peer.name, relay::meet(place, peer, side, identity, options)));
            }
        });
    }

    /// Returns the reason that a run has ended, as far as the way to its peers tells.
    pub(crate) fn blame(&self, error: Error, identity: &Identity) -> Error {
        match &self.relay {
            Some(place) => place.blame(error, identity),
            None => error,
        }
    }
}

/// A party that has its data and all its peers.
pub(crate) struct Ready {
    pub(crate) part: Box<dyn PartyInput>,
    pub(crate) load: Duration,
    pub(crate) connect: Duration,
    /// Outcome of each peer's `hello`, in the order of the job file.
    pub(crate) greeted: Vec<Greeted>,
    pub(crate) round_trip: Duration,
    pub(crate) connections: Connections,
}

/// Configures the channel, in a job of more than two parties, so that the party which ends the job names the one to
/// blame.
pub fn company(job: &JobSpec, me: &str, channel: &mut Channel) {
    let names = job.parties.names();
    if let (3.., Some(place)) = (names.len(), job.parties.position(me)) {
        channel.in_company(&names, place);
    }
}
