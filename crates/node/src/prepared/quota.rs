//! How much clients may ask of a prepared part, and how much they have asked.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};

use crate::files::write_whole_private;
use crate::job::JobSpec;
use crate::text;

const FILE: &str = "clients.json";

/// Clients of one epoch, unless the terms say otherwise.
pub const DEFAULT_MAX_CLIENTS: u64 = 1000;

/// Runs that one client can make with as many keys as the terms allow, unless they say otherwise.
pub const DEFAULT_RUNS: u64 = 10;

/// Elements that one key answers at most. Each answer is one of a static Diffie-Hellman oracle, whose known attacks gain
/// about half of log2 of their number in bits (RFC 9497, section 7.2.3): 20 bits of 128 at 2^40.
pub const MAX_TOTAL_QUERIES: u64 = 1 << 40;

/// How much clients may ask in one epoch. It follows from the terms, so that both sides derive the tags' length from it.
#[derive(Debug, Clone, Copy)]
pub struct Quota {
    /// Keys of one client, in all runs together.
    pub max_queries: u64,
    /// Clients.
    pub max_clients: u64,
}

impl Quota {
    /// The quota of a job.
    pub fn of(job: &JobSpec) -> Quota {
        let client_rows = job.limits.pad_to.or(job.limits.max_rows).unwrap_or_default();
        Quota {
            max_queries: job.limits.max_queries.unwrap_or(client_rows.saturating_mul(DEFAULT_RUNS)),
            max_clients: job.limits.max_clients.unwrap_or(DEFAULT_MAX_CLIENTS),
        }
    }

    /// Keys of all clients in all runs.
    pub fn total(&self) -> u64 {
        self.max_queries.saturating_mul(self.max_clients)
    }
}

/// What clients have asked for, in one epoch.
#[derive(Serialize, Deserialize)]
pub(super) struct Ledger {
    /// The epoch's id, in hexadecimal.
    epoch: String,
    /// Keys, by the clients' fingerprints.
    clients: BTreeMap<String, u64>,
}

impl Ledger {
    /// Nobody has asked for anything yet.
    pub(super) fn new(epoch: String) -> Ledger {
        Ledger { epoch, clients: BTreeMap::new() }
    }

    /// Takes `queries` from what `client` may still ask of `epoch`; on disk before this returns. The caller holds the
    /// lock. `name` is what messages call the client.
    pub(super) fn charge(
        directory: &Path,
        epoch: &str,
        quota: Quota,
        client: &str,
        queries: u64,
        name: &str,
    ) -> Result<()> {
        let mut ledger = Ledger::read(directory)?;
        if ledger.epoch != epoch {
            return Err(Error::Input(format!(
                "{}: prepared anew since this run began: run it again",
                directory.display()
            )));
        }
        if !ledger.clients.contains_key(client) && ledger.clients.len() as u64 >= quota.max_clients {
            return Err(Error::Input(format!(
                "{name} is not among the {} that have asked already, and no more may (limits.max_clients): \
                 `tacita prepare --rotate` starts anew",
                text::counted(quota.max_clients, "client")
            )));
        }
        let asked = ledger.clients.entry(client.to_owned()).or_default();
        if queries > quota.max_queries {
            return Err(Error::Input(format!(
                "{name} wants {} keys, and limits.max_queries is {}: agree on a higher limit",
                text::count(queries),
                text::count(quota.max_queries)
            )));
        }
        let total = asked.saturating_add(queries);
        if total > quota.max_queries {
            return Err(Error::Input(format!(
                "{name} has asked for {} and wants {} more; limits.max_queries is {}: `tacita prepare --rotate` \
                 starts anew",
                text::counted(*asked, "key"),
                text::count(queries),
                text::count(quota.max_queries)
            )));
        }
        *asked = total;
        ledger.write(directory)
    }

    fn read(directory: &Path) -> Result<Ledger> {
        let path = directory.join(FILE);
        let bad = |what: String| {
            Error::Input(format!("{}: {what}: `tacita prepare --rotate` makes the part anew", path.display()))
        };
        let text = std::fs::read(&path).map_err(|error| bad(format!("cannot read: {error}")))?;
        serde_json::from_slice(&text).map_err(|_| bad("damaged".into()))
    }

    pub(super) fn write(&self, directory: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).map_err(|error| Error::Internal(error.to_string()))?;
        write_whole_private(&directory.join(FILE), format!("{text}\n").as_bytes())
    }
}
