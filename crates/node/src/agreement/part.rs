//! What a party brings to a job, ready to run.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use tacita_core::channel::Channel;
use tacita_core::{Error, Result};

use super::cost::{Calibration, Cost};
use super::handshake::Agreed;
use super::{Chosen, Found, JobSpec, Sizes, Slices, mesh};
use crate::table::RowCounts;
use crate::transport::depot::Client;
use crate::transport::links::Links;

/// What a party brings to a job.
pub trait Part: Send {
    /// How much it is, as the peers are told.
    fn sizes(&self) -> Sizes;

    /// What became of the input's rows.
    fn rows(&self) -> RowCounts;

    /// Checks that the sizes of the one peer fit the job and this party's own: all that can be said of them before it is chosen
    /// what runs.
    fn check_peer(&self, job: &JobSpec, theirs: &Sizes, channel: &Channel) -> Result<()>;

    /// What the job costs, where this knows more of it than its sizes say.
    fn cost(&self, _job: &JobSpec, _sizes: &BTreeMap<String, Sizes>, _machine: &Calibration) -> Result<Option<Cost>> {
        Ok(None)
    }

    /// How many of the own items could be in what is found, where the cost depends on that: those that are frequent in the own rows.
    fn frequent_items(&self, _job: &JobSpec) -> Result<Option<u32>> {
        Ok(None)
    }

    /// What is added to that if so many items of each party, in the order of the job file, are frequent.
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
    fn run(&mut self, run: Run<'_>) -> Result<Found>;

    /// Notes that the peer has all that it needs of this party, and this party of the peer.
    fn ended(&self) -> Result<()> {
        Ok(())
    }

    /// Removes what was kept on disk for this run alone, now that it has succeeded.
    fn clear(&self) -> Result<()> {
        Ok(())
    }
}

/// What a part runs with.
pub struct Run<'a> {
    /// The job.
    pub job: &'a JobSpec,
    /// The party.
    pub me: &'a str,
    /// Those whom it has connections to.
    pub peers: Peers<'a>,
    /// As much memory as the user allows, for what shows only in the run.
    pub allowed: Option<u64>,
    /// Randomness.
    pub rng: &'a mut ChaCha20Rng,
}

/// The peers of a party.
pub enum Peers<'a> {
    /// One.
    One {
        /// What was agreed on.
        agreed: &'a Agreed,
        /// The connection.
        channel: &'a mut Channel,
    },
    /// All others.
    Mesh {
        /// What was agreed on.
        agreed: &'a mesh::Agreed,
        /// The connections, in the order of the job file.
        channels: &'a mut [Channel],
    },
    /// Several.
    Several {
        /// How many rows there are.
        rows: &'a Slices,
        /// The connections, in the order of the job file.
        channels: &'a mut [Channel],
        /// What ends all of them when one fails.
        links: &'a Links,
    },
    /// None: what travels is left at a helper.
    Depot(&'a Client),
}

/// What a part of a job between two runs with.
pub struct Pair<'a> {
    /// The job.
    pub job: &'a JobSpec,
    /// The party.
    pub me: &'a str,
    /// What was agreed on.
    pub agreed: &'a Agreed,
    /// As much memory as the user allows, for what shows only in the run.
    pub allowed: Option<u64>,
    /// The connection.
    pub channel: &'a mut Channel,
    /// Randomness.
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

    /// The helper in their place.
    pub(crate) fn helper(&self) -> Option<&'a Client> {
        match self {
            Peers::Depot(client) => Some(client),
            Peers::One { .. } | Peers::Mesh { .. } | Peers::Several { .. } => None,
        }
    }
}

impl<'a> Run<'a> {
    /// The same for a job that is between two.
    pub fn pair(self) -> Result<Pair<'a>> {
        let Run { job, me, peers, allowed, rng } = self;
        match peers {
            Peers::One { agreed, channel } => Ok(Pair { job, me, agreed, allowed, channel, rng }),
            Peers::Mesh { .. } | Peers::Several { .. } | Peers::Depot(_) => {
                Err(Error::Internal(format!("{} has one peer in this job", me)))
            }
        }
    }
}
