//! What a job will cost and reveal, before anything is sent.

use std::collections::BTreeMap;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use serde::Serialize;
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::entries::{Domain, Params, ReturnedRows};
use tacita_core::protocol::intersect::{ecdh, vole};
use tacita_core::session::Transcript;
use tacita_core::{Item, Result, Security, Session};

use crate::agree::{self, Sizes};
use crate::choose::{Choice, choose};
use crate::intersect;
use crate::job::{JobSpec, Protocol};
use crate::learned::{self, Known};
use crate::transport::Shape;
use crate::usage;

/// A job's plan.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// The protocol that will run.
    pub protocol: &'static str,
    /// Why it is the one.
    pub why: String,
    /// Message flights in sequence, the handshake's included.
    pub rounds: u32,
    /// Seconds, if each party has a machine like this one.
    pub seconds_apart: f64,
    /// Seconds, if both share this machine, as in a simulation.
    pub seconds_together: f64,
    /// By party.
    pub parties: BTreeMap<String, Share>,
}

/// One party's share.
#[derive(Debug, Clone, Serialize)]
pub struct Share {
    /// Distinct keys.
    pub items: u64,
    /// Bytes that it sends, framing and handshake included, TLS not.
    pub bytes_sent: u64,
    /// CPU seconds for the protocol.
    pub cpu_seconds: f64,
    /// Memory besides its table, in bytes, estimated from above.
    pub memory: u64,
    /// What it learns, in sentences.
    pub learned: Vec<String>,
}

/// Measured on this machine.
#[derive(Debug, Clone, Copy)]
pub struct Calibration {
    /// CPU time in seconds that one item costs in one pass of `ecdh`: hashing or decoding, a multiplication, encoding.
    pub ecdh_pass: f64,
    /// CPU time in seconds that `vole` costs each party before the first item.
    pub vole_start: f64,
    /// CPU time in seconds that an item of both parties costs both in `vole`.
    pub vole_item: f64,
    /// Threads that share the work.
    pub threads: usize,
}

/// Of [`Calibration::vole_item`], what the receiver does, what the sender does for an item of the receiver, and for
/// one of its own: measured with a profiler.
const VOLE_SHARES: [f64; 3] = [0.6, 0.25, 0.15];

impl Calibration {
    /// Runs small intersections in memory, for about a third of a second.
    pub fn measure(rng: &mut impl CryptoRng) -> Result<Calibration> {
        // Four passes over the items: blind, evaluate, unblind, and the sender's own.
        let ecdh_pass = cpu_of(Protocol::Ecdh, 1 << 11, 3, rng)? / f64::from(4 << 11);
        // The first run pays for what is set up once in a process.
        cpu_of(Protocol::Vole, 1 << 8, 1, rng)?;
        let small = cpu_of(Protocol::Vole, 1 << 8, 3, rng)?;
        let large = cpu_of(Protocol::Vole, 1 << 16, 1, rng)?;
        Ok(Calibration {
            ecdh_pass,
            vole_start: small / 2.0,
            vole_item: (large - small).max(0.0) / f64::from(1 << 16),
            threads: rayon::current_num_threads(),
        })
    }
}

/// CPU seconds that both parties need to intersect two sets of `count` items, the mean of some runs.
fn cpu_of(protocol: Protocol, count: usize, runs: u32, rng: &mut impl CryptoRng) -> Result<f64> {
    let session = Session::new(Transcript::new("calibration"));
    let domain = Domain::of_session(&session);
    let item_key = session.derive("item");
    let items: Vec<_> = (0..count).map(|i| Item::new(&item_key, &i.to_le_bytes())).collect();
    let params = Params::rows(count, count);
    let by_vole = vole::Params::new(params, Security::SemiHonest)?;
    let mut seeds = [[0; 32]; 2];
    seeds.iter_mut().for_each(|seed| rng.fill_bytes(seed));
    let started = usage::cpu_time();
    for _ in 0..runs {
        let (mut one, mut two) = Channel::pair("receiver", "sender");
        let [mut receiver_rng, mut sender_rng] = seeds.map(ChaCha20Rng::from_seed);
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| match protocol {
                Protocol::Vole => vole::rows::send(&items, &session, &by_vole, &mut two, &mut sender_rng),
                _ => ecdh::rows::send(&items, &domain, &params, &mut two, &mut sender_rng),
            });
            let received = match protocol {
                Protocol::Vole => vole::rows::receive(&items, &session, &by_vole, &mut one, &mut receiver_rng),
                _ => ecdh::rows::receive(&items, &domain, &params, &mut one, &mut receiver_rng),
            };
            let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            received.and(sent.map(|_| ()))
        })?;
    }
    Ok((usage::cpu_time() - started).as_secs_f64() / f64::from(runs))
}

/// Plans a job for parties of these sizes, over a network of this shape.
pub fn plan(job: &JobSpec, sizes: &BTreeMap<String, Sizes>, calibration: Calibration, network: Shape) -> Result<Plan> {
    let receiver = job.receiver();
    let sender = job.peer_of(receiver);
    let (receiver_sizes, sender_sizes) = (&sizes[receiver], &sizes[sender]);
    let params = intersect::params(job, receiver, receiver_sizes, sender_sizes);
    let Choice { protocol, why } = choose(job, receiver, receiver_sizes, sender_sizes, 2 * network.latency);
    let handshake = |me: &str| agree::bytes_sent(job, me, protocol, &sizes[me]);
    let returned = ReturnedRows {
        items: receiver_sizes.items.min(sender_sizes.items) as usize,
        rows: receiver_sizes.entries.min(u64::from(u32::MAX)) as usize,
    };
    let cost = cost(protocol, job, params, returned, calibration)?;
    let sent = BTreeMap::from([
        (receiver, handshake(receiver) + cost.receiver.bytes),
        (sender, handshake(sender) + cost.sender.bytes),
    ]);
    let seconds = BTreeMap::from([(receiver, cost.receiver.cpu), (sender, cost.sender.cpu)]);
    let cpu = |party: &str| seconds[party];
    let rounds = agree::ROUNDS + cost.rounds;

    let transfer = match network.bandwidth {
        Some(bits) => sent.values().map(|bytes| *bytes as f64 * 8.0 / bits as f64).fold(0.0, f64::max),
        None => 0.0,
    };
    // TCP and TLS take two round trips before the first message.
    let waiting = network.latency.as_secs_f64() * f64::from(rounds + 4);
    let threads = calibration.threads as f64;
    let apart = (cpu(receiver).max(cpu(sender)) / threads).max(transfer) + waiting;
    let together = ((cpu(receiver) + cpu(sender)) / threads).max(transfer) + waiting;

    let parties = [receiver, sender].into_iter().map(|me| {
        let peer = job.peer_of(me);
        let gives = !sizes[peer].schema.is_empty();
        let known = Known {
            own_items: Some(sizes[me].items),
            items: Some(sizes[peer].items),
            entries: gives.then_some(sizes[peer].entries),
            prepared: false,
        };
        let share = Share {
            items: sizes[me].items,
            bytes_sent: sent[me],
            cpu_seconds: cpu(me),
            memory: intersect::memory(job, me, protocol, &sizes[me], &sizes[peer]),
            learned: learned::intersect(job, me, known),
        };
        (me.to_owned(), share)
    });
    Ok(Plan {
        protocol: protocol.name(),
        why,
        rounds,
        seconds_apart: apart,
        seconds_together: together,
        parties: parties.collect(),
    })
}

/// What a protocol costs the two roles.
struct Cost {
    receiver: RoleCost,
    sender: RoleCost,
    rounds: u32,
}

struct RoleCost {
    /// CPU seconds.
    cpu: f64,
    /// Bytes sent.
    bytes: u64,
}

fn cost(
    protocol: Protocol,
    job: &JobSpec,
    params: Params,
    returned: ReturnedRows,
    calibration: Calibration,
) -> Result<Cost> {
    let (asked, sent) = (params.receiver_items as f64, params.sender_entries as f64);
    Ok(match protocol {
        Protocol::Vole => {
            let params = vole::Params::new(params, job.security)?;
            let [receiver, answer, own] = VOLE_SHARES.map(|share| share * calibration.vole_item);
            Cost {
                receiver: RoleCost {
                    cpu: calibration.vole_start + receiver * asked,
                    bytes: params.bytes_sent_by_receiver(returned)?,
                },
                sender: RoleCost {
                    cpu: calibration.vole_start + answer * asked + own * sent,
                    bytes: params.bytes_sent_by_sender()?,
                },
                rounds: params.rounds(returned),
            }
        }
        _ => {
            let pass = calibration.ecdh_pass;
            Cost {
                receiver: RoleCost { cpu: pass * 2.0 * asked, bytes: params.bytes_sent_by_receiver(returned) },
                sender: RoleCost { cpu: pass * (asked + sent), bytes: params.bytes_sent_by_sender() },
                rounds: params.rounds(returned),
            }
        }
    })
}
