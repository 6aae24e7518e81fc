//! Input that a party brings to a job, ready to run.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

use super::cost::{Calibration, Cost};
use super::handshake::HandshakeResult;
use super::{Chosen, JobSpec, RunResult, Sizes, Slices, mesh};
use crate::table::RowCounts;
use crate::transport::depot::DepotClient;
use crate::transport::links::Links;

/// Input that a party brings to a job.
pub trait PartyInput: Send {
    /// Returns the sizes that are announced to the peers.
    fn sizes(&self) -> Sizes;

    /// Returns the counts of the input's rows by outcome.
    fn rows(&self) -> RowCounts;

    /// Checks that the sizes of the one peer fit the job and this party's own: all that can be said of them before it
    /// is chosen what runs.
    fn check_peer(&self, job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()>;

    /// Returns the cost of the job, if the input tells more about it than its sizes.
    fn cost(&self, _job: &JobSpec, _sizes: &BTreeMap<String, Sizes>, _machine: &Calibration) -> Result<Option<Cost>> {
        Ok(None)
    }

    /// Returns the number of own items that could be in the result, if the cost depends on it. Such items are frequent
    /// in the own rows.
    fn frequent_items(&self, _job: &JobSpec) -> Result<Option<u32>> {
        Ok(None)
    }

    /// Returns the additional cost if so many items of each party are frequent. The parties are in the order of the job
    /// file.
    fn cost_of_items(
        &self,
        _job: &JobSpec,
        _chosen: &Chosen,
        _sizes: &BTreeMap<String, Sizes>,
        _machine: &Calibration,
        _items: [u32; 2],
    ) -> Result<Option<Cost>> {
        Ok(None)
    }

    /// Runs what was agreed on.
    fn run(&mut self, run: PartContext<'_>) -> Result<RunResult>;

    /// Notes that the peer has all that it needs of this party, and this party of the peer.
    fn ended(&self) -> Result<()> {
        Ok(())
    }

    /// Removes what was kept on disk for this run alone, now that it has succeeded.
    fn clear(&self) -> Result<()> {
        Ok(())
    }
}

/// Context in which a party's part runs.
pub struct PartContext<'a> {
    /// Job that is run.
    pub job: &'a JobSpec,
    /// Name of the party.
    pub me: &'a str,
    /// Peers to which the party has connections.
    pub peers: Peers<'a>,
    /// Memory limit set by the user, for needs that show only during the run.
    pub allowed: Option<u64>,
    /// Secret of the party that is the same in all its runs, as long as it keeps its identity.
    pub secret: &'a [u8; 32],
    /// Random number generator of the run.
    pub rng: &'a mut ChaCha20Rng,
}

/// The peers of a party.
pub enum Peers<'a> {
    /// Connection to a single peer.
    One {
        /// Outcome of the handshake.
        agreed: &'a HandshakeResult,
        /// Connection to the peer.
        channel: &'a mut Channel,
    },
    /// Connections to all other parties.
    Mesh {
        /// Outcome of the handshake among all parties.
        agreed: &'a mesh::MeshAgreement,
        /// The connections, in the order of the job file.
        channels: &'a mut [Channel],
    },
    /// Connections to several parties.
    Several {
        /// Row counts of the server and the clients.
        rows: &'a Slices,
        /// The connections, in the order of the job file.
        channels: &'a mut [Channel],
        /// Handle that ends all connections when one fails.
        links: &'a Links,
    },
    /// None: what travels is left at a helper.
    Depot(&'a DepotClient),
}

/// Context in which a part of a job between two parties runs.
pub struct PairContext<'a> {
    /// Job that is run.
    pub job: &'a JobSpec,
    /// Name of the party.
    pub me: &'a str,
    /// Outcome of the handshake.
    pub agreed: &'a HandshakeResult,
    /// Memory limit set by the user, for needs that show only during the run.
    pub allowed: Option<u64>,
    /// Connection to the peer.
    pub channel: &'a mut Channel,
    /// Secret of the party that is the same in all its runs, as long as it keeps its identity.
    pub secret: &'a [u8; 32],
    /// Random number generator of the run.
    pub rng: &'a mut ChaCha20Rng,
}

impl<'a> Peers<'a> {
    /// The connections to them.
    pub(crate) fn channels(&mut self) -> &mut [Channel] {
        match self {
            Peers::One { channel, .. } => std::slice::from_mut(*channel),
            Peers::Mesh { channels, .. } | Peers::Several { channels, .. } => channels,
            Peers::Depot(_) => &mut [],
        }
    }

    /// The connections to all others, in a job in which all are connected, and what they agreed on.
    pub fn mesh(self) -> Result<(&'a mesh::MeshAgreement, &'a mut [Channel])> {
        match self {
            Peers::Mesh { agreed, channels } => Ok((agreed, channels)),
            Peers::One { .. } | Peers::Several { .. } | Peers::Depot(_) => {
                Err(Error::Internal("all are connected in this job".into()))
            }
        }
    }

    /// The helper in their place.
    pub(crate) fn helper(&self) -> Option<&'a DepotClient> {
        match self {
            Peers::Depot(client) => Some(client),
            Peers::One { .. } | Peers::Mesh { .. } | Peers::Several { .. } => None,
        }
    }
}

impl<'a> PartContext<'a> {
    /// The same for a job that is between two.
    pub fn pair(self) -> Result<PairContext<'a>> {
        let PartContext { job, me, peers, allowed, secret, rng } = self;
        match peers {
            Peers::One { agreed, channel } => Ok(PairContext { job, me, agreed, allowed, secret, channel, rng }),
            Peers::Mesh { .. } | Peers::Several { .. } | Peers::Depot(_) => {
                Err(Error::Internal(format!("{} has one peer in this job", me)))
            }
        }
    }
}
