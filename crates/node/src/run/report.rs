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
use crate::transport::key_exchange::NegotiatedGroup;

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
    /// Encryption of the connections; null of a result that needed none.
    pub tls: Option<TlsReport>,
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

/// Encryption of a run's connections.
#[derive(Debug, Clone, Serialize)]
pub struct TlsReport {
    /// Version of TLS, as text.
    pub version: String,
    /// Group from which the keys come; of several connections, the one that protects least.
    pub key_exchange: String,
    /// The group of each of several peers.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_peer: BTreeMap<String, String>,
}

impl TlsReport {
    /// Returns the report of connections to these peers; `None` of none.
    pub(crate) fn of(by_peer: &[(String, NegotiatedGroup)]) -> Option<TlsReport> {
        let weakest = NegotiatedGroup::weakest(by_peer.iter().map(|(_, group)| *group))?;
        let several = by_peer.iter().filter(|_| by_peer.len() > 1);
        let by_peer = several.map(|(name, group)| (name.clone(), group.to_string())).collect();
        Some(TlsReport { by_peer, ..TlsReport::of_one(weakest) })
    }

    /// Returns the report of connections that all have this group, or a better one.
    pub fn of_one(group: NegotiatedGroup) -> TlsReport {
        TlsReport { version: "1.3".into(), key_exchange: group.to_string(), by_peer: BTreeMap::new() }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::key_exchange::OfferedGroups;

    #[test]
    fn the_weakest_of_several_connections_stands_for_all() {
        let [hybrid, classical] = [OfferedGroups::Hybrid, OfferedGroups::Classical].map(OfferedGroups::first);
        let of = |groups: &[(&str, NegotiatedGroup)]| {
            let named: Vec<_> = groups.iter().map(|(name, group)| ((*name).to_owned(), *group)).collect();
            serde_json::to_value(TlsReport::of(&named)).unwrap()
        };
        assert_eq!(of(&[]), Value::Null);
        assert_eq!(of(&[("b", hybrid)]), serde_json::json!({ "version": "1.3", "key_exchange": "X25519MLKEM768" }));
        let by_peer = serde_json::json!({ "b": "X25519MLKEM768", "c": "X25519" });
        let both = serde_json::json!({ "version": "1.3", "key_exchange": "X25519", "by_peer": by_peer });
        assert_eq!(of(&[("b", hybrid), ("c", classical)]), both);
    }
}
