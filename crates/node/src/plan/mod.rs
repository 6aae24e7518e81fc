//! Plans of a job's cost and disclosures, before anything is sent.

pub mod assessment;
mod calibration;

use std::collections::BTreeMap;

use serde::Serialize;
use tacita_core::Result;

use crate::agreement::cost::Calibration;
use crate::agreement::{
    Choice, Disclosure, JobSpec, KnownSizes, Network, PartyInput, Sizes, Topology, group, handshake, memory, mesh,
    quality,
};
use crate::transport::LinkShape;

/// Plan of a job.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Plan {
    /// The protocol that will run.
    pub protocol: &'static str,
    /// Description of the whole choice: the protocol, how it makes oblivious transfers, and the protocol that aligns
    /// rows before it.
    pub choice: String,
    /// Reason for the choice.
    pub why: String,
    /// Message flights in sequence, the handshake's included.
    pub rounds: u32,
    /// Seconds, if each party has a machine like this one.
    pub seconds_apart: f64,
    /// Seconds, if both share this machine, as in a simulation.
    pub seconds_together: f64,
    /// Buckets of a run on disk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<usize>,
    /// Unknowns on which rounds, bytes and seconds depend, and which cannot be known beforehand. If there are any, the
    /// figures are lower bounds.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// Points to consider before the job is run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Summary of who learns what.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub at_a_glance: Vec<Disclosure>,
    /// The helper's share, in a job with one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub helper: Option<HelperShare>,
    /// Share of each party, by name.
    pub parties: BTreeMap<String, Share>,
}

/// Share of a helper in the job.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct HelperShare {
    /// Bytes that it sends of its own: what it keeps for others not counted.
    pub bytes_sent: u64,
    /// Bytes that it is sent.
    pub bytes_received: u64,
    /// CPU time in seconds.
    pub cpu_seconds: f64,
    /// Sentences that state what the helper learns.
    pub learned: Vec<String>,
}

/// Share of one party in the job.
#[derive(Debug, Clone, Serialize)]
#[non_exhaustive]
pub struct Share {
    /// Distinct keys, rows that are aligned by position, or numbers in shares.
    pub items: u64,
    /// Bytes that it sends, framing and handshake included, TLS not.
    pub bytes_sent: u64,
    /// CPU seconds for the protocol.
    pub cpu_seconds: f64,
    /// Memory besides its table, in bytes, estimated from above; with its table, where that is on disk.
    pub memory: u64,
    /// Bytes on disk at once, for a table that is sorted there: an estimate, since it is not known how long rows are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disk: Option<u64>,
    /// Sentences that state what the party learns.
    pub learned: Vec<String>,
}

/// Plans a job for parties of these sizes, over a network of this shape. `parts` are what parties bring, as far as it
/// is there: it may know more than sizes say.
pub fn plan(
    job: &JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    parts: &BTreeMap<String, Box<dyn PartyInput>>,
    calibration: Calibration,
    network: LinkShape,
) -> Result<Plan> {
    let topology = job.topology();
    if topology == Topology::Served {
        return served(job, sizes, &calibration, network);
    }
    let names = job.parties.names();
    let (first, second) = (names[0], names[1]);
    let line = Network { round_trip: 2 * network.latency, bandwidth: network.bandwidth };
    let Choice { chosen, why } = job.job.choose(job, sizes, line)?;
    let exact = parts.values().next().map_or(Ok(None), |part| part.cost(job, sizes, &calibration))?;
    let mut cost = exact.map_or_else(|| job.job.cost(job, &chosen, sizes, &calibration), Ok)?;
    let frequent = |name: &str| parts.get(name).map_or(Ok(None), |part| part.frequent_items(job));
    if let (Some(part), Some(one), Some(other)) = (parts.get(first), frequent(first)?, frequent(second)?)
        && let Some(more) = part.cost_of_items(job, &chosen, sizes, &calibration, [one, other])?
    {
        cost = more.and(cost);
    }
    let slices = match &topology {
        Topology::Clients(roles) => Some(roles.slices(sizes)),
        _ => None,
    };
    let of_handshake = match topology {
        Topology::Pair => handshake::ROUNDS,
        Topology::Mesh => mesh::ROUNDS,
        Topology::Clients(_) => group::ROUNDS,
        Topology::Helper | Topology::Served => 0,
    };
    let rounds = cost.rounds + of_handshake + quality::rounds(job);
    let mut parties = BTreeMap::new();
    for me in names {
        let role = &cost.roles[me];
        let (handshake, known) = match &topology {
            Topology::Clients(roles) => {
                let known = KnownSizes { slices: slices.as_ref(), ..KnownSizes::default() };
                (group::bytes_sent(job, roles, me, sizes), known)
            }
            Topology::Helper | Topology::Served => (0, KnownSizes::default()),
            Topology::Mesh => {
                let known = KnownSizes { all: Some(sizes), ..KnownSizes::default() };
                (mesh::bytes_sent(job, me, &chosen, &sizes[me]), known)
            }
            Topology::Pair => {
                let theirs = &sizes[job.peer_of(me)];
                let known = KnownSizes {
                    entries: (!theirs.schema.is_empty()).then_some(theirs.entries),
                    ..KnownSizes::of_sizes(&sizes[me], theirs)
                };
                (handshake::bytes_sent(job, me, &chosen, &sizes[me]), known)
            }
        };
        let share = Share {
            items: sizes[me].items,
            bytes_sent: handshake + quality::bytes_sent(job, me) + role.bytes,
            cpu_seconds: role.cpu,
            memory: job.job.memory(job, me, &chosen, sizes)?,
            disk: role.disk,
            learned: job.learned(me, known),
        };
        parties.insert(me.to_owned(), share);
    }

    let [seconds_apart, seconds_together] = seconds(&parties, rounds, &calibration, network);
    Ok(Plan {
        protocol: chosen.protocol.name(),
        choice: chosen.to_string(),
        why: why + cost.assumed.unwrap_or_default(),
        rounds,
        seconds_apart,
        seconds_together,
        buckets: cost.buckets,
        notes: cost.notes,
        warnings: warnings(job),
        at_a_glance: job.job.at_a_glance(job),
        helper: cost.helper.map(|helper| HelperShare {
            bytes_sent: helper.sent,
            bytes_received: helper.received,
            cpu_seconds: helper.cpu,
            learned: helper.learns.iter().map(|sentence| format!("{sentence}.")).collect(),
        }),
        parties,
    })
}

/// Plans a job in which others serve those who come, of whom `sizes` has each.
fn served(
    job: &JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    calibration: &Calibration,
    network: LinkShape,
) -> Result<Plan> {
    let Choice { chosen, why } = job.job.choose(job, sizes, Network::default())?;
    let cost = job.job.cost(job, &chosen, sizes, calibration)?;
    let all: u64 = sizes.values().map(|sizes| sizes.items).sum();
    let mut parties = BTreeMap::new();
    for (name, role) in &cost.roles {
        let share = Share {
            items: sizes.get(name).map_or(all, |sizes| sizes.items),
            bytes_sent: role.bytes,
            cpu_seconds: role.cpu,
            memory: job.job.memory(job, name, &chosen, sizes)?,
            disk: role.disk,
            learned: job.job.learned(job, name, KnownSizes::default()),
        };
        parties.insert(name.clone(), share);
    }
    let [seconds_apart, seconds_together] = seconds(&parties, cost.rounds, calibration, network);
    Ok(Plan {
        protocol: chosen.protocol.name(),
        choice: chosen.to_string(),
        why,
        rounds: cost.rounds,
        seconds_apart,
        seconds_together,
        buckets: None,
        notes: cost.notes,
        warnings: warnings(job),
        at_a_glance: job.job.at_a_glance(job),
        helper: None,
        parties,
    })
}

/// Seconds, if each has a machine like this one, and if all share this one.
fn seconds(parties: &BTreeMap<String, Share>, rounds: u32, calibration: &Calibration, network: LinkShape) -> [f64; 2] {
    let transfer = match network.bandwidth {
        Some(bits) => parties.values().map(|share| share.bytes_sent as f64 * 8.0 / bits as f64).fold(0.0, f64::max),
        None => 0.0,
    };
    // TCP and TLS take two round trips before the first message.
    let waiting = network.latency.as_secs_f64() * f64::from(rounds + 4);
    let cpu = || parties.values().map(|share| share.cpu_seconds);
    [cpu().fold(0.0, f64::max), cpu().sum()].map(|cpu| (cpu / calibration.threads as f64).max(transfer) + waiting)
}

fn warnings(job: &JobSpec) -> Vec<String> {
    let of_job = job.job.warnings(job);
    job.insecure().into_iter().chain(memory::unbounded(job).map(str::to_owned)).chain(of_job).collect()
}
