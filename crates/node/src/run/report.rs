//! The report of a run: what happened, what was learned, what it cost.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use serde_json::{Map, Value};
use tacita_core::Result;
use tacita_core::channel::Traffic;

use crate::base::text::json;
use crate::base::usage::{self, round};
use crate::govern::account::AccountedOutcome;
use crate::table::key::RowCounts;

/// Report that a party writes with `--report`. The names are a contract.
#[derive(Debug, Clone, Serialize)]
pub struct RunReport {
    /// The kind of job.
    pub job: String,
    /// The parties' name for it.
    pub id: String,
    /// The protocol that ran.
    pub protocol: String,
    /// Assumed behaviour of the other parties.
    pub security: String,
    /// Level of computational security.
    pub level: String,
    /// Fingerprint of the terms.
    pub agreement: String,
    /// Version of this program.
    pub version: String,
    /// The party that reports.
    pub party: String,
    /// Names of the other parties.
    pub peers: Vec<String>,
    /// Counts of the input's rows by outcome.
    pub rows: RowCounts,
    /// Result that this party learned, as `{"rows": N}`, `{"count": N}` or `{"value": X}`, else null; see the job's
    /// guide.
    pub result: Value,
    /// Sentences that state what this party learned.
    pub learned: Vec<String>,
    /// Bytes over the channel, framing included, TLS not.
    pub bytes: Bytes,
    /// Message flights in sequence.
    pub rounds: u32,
    /// Wall time by phase.
    pub seconds: PhaseSeconds,
    /// CPU time of this process.
    pub cpu_seconds: f64,
    /// The most memory held at once, in bytes; null where the system does not tell.
    pub peak_memory: Option<u64>,
    /// Description of the whole choice: the protocol, how it made oblivious transfers, and the protocol that aligned
    /// rows before it.
    pub choice: String,
    /// Further entries for such a job.
    #[serde(flatten)]
    pub extras: Map<String, Value>,
}

/// Number of bytes each way.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Bytes {
    /// Bytes sent by this party.
    pub sent: u64,
    /// Bytes received by this party.
    pub received: u64,
    /// Bytes to and from each of several peers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_peer: BTreeMap<String, Bytes>,
}

impl Bytes {
    /// Returns the bytes of all connections together, and of each if there are several.
    pub(crate) fn of(all: &Traffic, by_peer: &[(String, Traffic)]) -> Bytes {
        let one = |traffic: &Traffic| Bytes { sent: traffic.sent, received: traffic.received, ..Bytes::default() };
        let several = by_peer.iter().filter(|_| by_peer.len() > 1);
        Bytes { by_peer: several.map(|(name, traffic)| (name.clone(), one(traffic))).collect(), ..one(all) }
    }
}

/// Wall time by phase, in seconds. Loading and connecting go on at the same time.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct PhaseSeconds {
    /// Reading and normalising the input.
    pub load: f64,
    /// Waiting for the peer, TLS included.
    pub connect: f64,
    /// Agreeing on terms, sizes and protocol.
    pub setup: f64,
    /// Running of the protocol.
    pub protocol: f64,
    /// Writing of the output.
    pub output: f64,
    /// Total of all phases.
    pub total: f64,
}

impl RunReport {
    /// Writes the report as JSON; the file appears whole or not at all.
    pub fn write(&self, path: &Path) -> Result<()> {
        write_json(path, self)
    }

    /// Returns the part of the report that is entered in the ledger.
    pub(crate) fn accounted(&self) -> AccountedOutcome {
        AccountedOutcome {
            protocol: self.choice.clone(),
            rows: serde_json::to_value(self.rows).unwrap_or_default(),
            learned: self.learned.clone(),
            result: self.result.clone(),
        }
    }

    /// Takes the resources that this process has used up to now.
    pub fn measure(&mut self, started: Instant) {
        self.seconds.total = round(started.elapsed());
        self.cpu_seconds = round(usage::cpu_time());
        self.peak_memory = usage::peak_memory();
    }
}

/// Writes indented JSON to `path`, whole or not at all.
pub fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = json(serde_json::to_string_pretty(value))?;
    crate::base::files::write_whole(path, format!("{text}\n").as_bytes())
}
