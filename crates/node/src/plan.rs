//! What a job will cost and reveal, before anything is sent.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rand_core::CryptoRng;
use serde::Serialize;
use tacita_core::channel::Channel;
use tacita_core::protocol::intersect::ecdh::{self, Domain, Params};
use tacita_core::session::Transcript;
use tacita_core::{Item, Result, Session};

use crate::agree::{self, Sizes};
use crate::intersect;
use crate::job::{JobSpec, Reveal};
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
    /// CPU time that one item costs in one pass: hashing or decoding, a multiplication, encoding.
    pub pass: Duration,
    /// Threads that share the work.
    pub threads: usize,
}

/// Items that the calibration works on; more are more exact, and slower.
const CALIBRATION_ITEMS: usize = 1 << 11;

impl Calibration {
    /// Runs a small intersection in memory, for about a fifth of a second.
    pub fn measure(rng: &mut impl CryptoRng) -> Result<Calibration> {
        let session = Session::new(Transcript::new("calibration"));
        let domain = Domain::of_session(&session);
        let item_key = session.derive("item");
        let items: Vec<_> = (0..CALIBRATION_ITEMS).map(|i| Item::new(&item_key, &i.to_le_bytes())).collect();
        let params = Params::rows(items.len(), items.len());
        let mut seeds = [[0; 32]; 2];
        seeds.iter_mut().for_each(|seed| rng.fill_bytes(seed));
        let started = usage::cpu_time();
        let wall = Instant::now();
        let mut rounds = 0;
        while rounds == 0 || wall.elapsed() < Duration::from_millis(150) {
            let (mut one, mut two) = Channel::pair("receiver", "sender");
            let run = |seed: [u8; 32]| <chacha20::ChaCha20Rng as rand_core::SeedableRng>::from_seed(seed);
            std::thread::scope(|scope| {
                let sender = scope.spawn(|| ecdh::rows::send(&items, &domain, &params, &mut two, &mut run(seeds[1])));
                let received = ecdh::rows::receive(&items, &domain, &params, &mut one, &mut run(seeds[0]));
                let sent = sender.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                received.and(sent.map(|_| ()))
            })?;
            rounds += 1;
        }
        // Four passes over the items: blind, evaluate, unblind, and the sender's own.
        let pass = (usage::cpu_time() - started) / (4 * rounds * CALIBRATION_ITEMS as u32);
        Ok(Calibration { pass, threads: rayon::current_num_threads() })
    }
}

/// Plans a job for parties of these sizes, over a network of this shape.
pub fn plan(job: &JobSpec, sizes: &BTreeMap<String, Sizes>, calibration: Calibration, network: Shape) -> Plan {
    let receiver = job.receiver();
    let sender = job.peer_of(receiver);
    let (receiver_sizes, sender_sizes) = (&sizes[receiver], &sizes[sender]);
    let params = intersect::params(job, receiver, receiver_sizes, sender_sizes);
    let handshake = |me: &str| agree::bytes_sent(job, me, &sizes[me]);
    let returned = ecdh::ReturnedRows {
        items: receiver_sizes.items.min(sender_sizes.items) as usize,
        rows: receiver_sizes.entries.min(u64::from(u32::MAX)) as usize,
    };
    let sent = BTreeMap::from([
        (receiver, handshake(receiver) + params.bytes_sent_by_receiver(returned)),
        (sender, handshake(sender) + params.bytes_sent_by_sender()),
    ]);
    let passes =
        BTreeMap::from([(receiver, 2 * receiver_sizes.items), (sender, receiver_sizes.items + sender_sizes.items)]);
    let cpu = |party: &str| calibration.pass.as_secs_f64() * passes[party] as f64;
    let rounds = agree::ROUNDS + params.rounds(returned);

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
        let known =
            Known { items: Some(sizes[peer].items), entries: gives.then_some(sizes[peer].entries), prepared: false };
        let share = Share {
            items: sizes[me].items,
            bytes_sent: sent[me],
            cpu_seconds: cpu(me),
            memory: intersect::memory(job, me, &sizes[me], &sizes[peer]),
            learned: learned::intersect(job, me, known),
        };
        (me.to_owned(), share)
    });
    Plan {
        protocol: intersect::choose(job).name(),
        why: why(job),
        rounds,
        seconds_apart: apart,
        seconds_together: together,
        parties: parties.collect(),
    }
}

fn why(job: &JobSpec) -> String {
    match job.reveal {
        Reveal::Count => "a count needs a protocol whose sender shuffles its answers".into(),
        Reveal::Rows | Reveal::Payload => {
            "the two-party protocol of this version: least traffic, and set sizes may differ widely".into()
        }
    }
}
