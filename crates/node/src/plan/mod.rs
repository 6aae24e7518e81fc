//! What a job will cost and reveal, before anything is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, SeedableRng};
use serde::Serialize;
use tacita_core::channel::{Channel, HEADER_BYTES};
use tacita_core::primitive::paillier::{KeySize, PublicKey};
use tacita_core::protocol::dot::ot;
use tacita_core::protocol::dot::{Columns, Integers, Shape as DotShape, Side, reveal_bytes};
use tacita_core::protocol::intersect::buckets::{Attempt, Role};
use tacita_core::protocol::intersect::entries::{Domain, Params, ReturnedRows};
use tacita_core::protocol::intersect::{ecdh, vole};
use tacita_core::session::Transcript;
use tacita_core::{Error, Item, Level, Result, Security, Session};

use crate::agreement::{Choice, Chosen, Job, JobSpec, Known, Network, Protocol, Reveal, Sizes, handshake};
use crate::base::{text, usage};
use crate::jobs::choose::choose;
use crate::jobs::dot::clients;
use crate::jobs::intersect::disk;
use crate::jobs::shares::{EXTENSION, Work};
use crate::jobs::{dot, intersect, learned, memory, rules};
use crate::transport::Shape;

/// A job's plan.
#[derive(Debug, Clone, Serialize)]
pub struct Plan {
    /// The protocol that will run.
    pub protocol: &'static str,
    /// All that was chosen: the protocol, how it makes oblivious transfers, what aligns rows before it.
    pub choice: String,
    /// Why it is the one.
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
    /// What rounds, bytes and seconds depend on that cannot be known before: they are then what is spent at least.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What to think about before the job is run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// By party.
    pub parties: BTreeMap<String, Share>,
}

/// One party's share.
#[derive(Debug, Clone, Serialize)]
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
    /// CPU time in seconds that `ot` costs each party before the first transfer.
    pub ot_start: f64,
    /// CPU time in seconds that a transfer costs both parties in `ot` by [`dot::MEASURED`].
    pub ot_transfer: f64,
    /// CPU time in seconds that checking a ciphertext of Paillier's takes at level `bits128`.
    pub paillier_read: f64,
    /// Threads that share the work.
    pub threads: usize,
}

/// What else costs time in a sum: the sender's key in seconds; as multiples of [`Calibration::paillier_read`] an encryption and
/// the decryption by the sender, an addition and the re-randomisation by the receiver. See `docs/benchmarks.md`.
const PAILLIER_KEY: f64 = 0.7;
const PAILLIER_ENCRYPT: f64 = 36.0;
const PAILLIER_DECRYPT: f64 = 240.0;
const PAILLIER_ADD: f64 = 0.35;
const PAILLIER_RERANDOMIZE: f64 = 840.0;

/// Of [`Calibration::vole_item`], what the receiver does, what the sender does for an item of the receiver, and for
/// one of its own: measured with a profiler.
const VOLE_SHARES: [f64; 3] = [0.6, 0.25, 0.15];

/// CPU time in seconds that a slot costs each party in `bloom` besides its transfer: hashing, filling and hiding, or looking up.
const BLOOM_RECEIVER_SLOT: f64 = 15e-9;
const BLOOM_SENDER_SLOT: f64 = 20e-9;
/// CPU time in seconds that it takes to read a row, sort it on disk, hash its key and write it, measured.
const SORTED_ROW: f64 = 3e-6;

/// Bytes of the message with which parties tell each other how many frequent items they have.
const ITEMS_BYTES: u64 = HEADER_BYTES as u64 + 4;

/// Bytes of the frame with which each party ends a job.
const CLOSE_BYTES: u64 = HEADER_BYTES as u64;

impl Calibration {
    /// Runs small intersections in memory, for about a third of a second.
    pub fn measure(rng: &mut impl CryptoRng) -> Result<Calibration> {
        // Four passes over the items: blind, evaluate, unblind, and the sender's own.
        let ecdh_pass = cpu_of(Protocol::Ecdh, 1 << 11, 3, rng)? / f64::from(4 << 11);
        // The first run pays for what is set up once in a process.
        cpu_of(Protocol::Vole, 1 << 8, 1, rng)?;
        let small = cpu_of(Protocol::Vole, 1 << 8, 3, rng)?;
        let large = cpu_of(Protocol::Vole, 1 << 16, 1, rng)?;
        let few = cpu_of_products(1 << 8, 2, rng)?;
        let many = cpu_of_products(1 << 18, 2, rng)?;
        Ok(Calibration {
            ecdh_pass,
            vole_start: small / 2.0,
            vole_item: (large - small).max(0.0) / f64::from(1 << 16),
            ot_start: few / 2.0,
            ot_transfer: (many - few).max(0.0) / f64::from(1 << 18),
            paillier_read: cpu_of_reading(1 << 9, rng)?,
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
    cpu_of_both(
        runs,
        rng,
        |channel, rng| match protocol {
            Protocol::Vole => vole::rows::send(&items, &session, &by_vole, channel, rng).map(drop),
            _ => ecdh::rows::send(&items, &domain, &params, channel, rng).map(drop),
        },
        |channel, rng| match protocol {
            Protocol::Vole => vole::rows::receive(&items, &session, &by_vole, channel, rng).map(drop),
            _ => ecdh::rows::receive(&items, &domain, &params, channel, rng).map(drop),
        },
    )
}

/// CPU seconds that it takes to check a ciphertext, the mean of `count` under a modulus whose factors nobody knows.
fn cpu_of_reading(count: usize, rng: &mut impl CryptoRng) -> Result<f64> {
    let size = KeySize::of(Level::Bits128);
    let modulus_bytes = size.public_key_bytes() - size.ciphertext_bytes();
    let mut bytes = vec![0; size.public_key_bytes()];
    rng.fill_bytes(&mut bytes[..modulus_bytes]);
    bytes[0] |= 1;
    bytes[modulus_bytes - 1] |= 0x80;
    bytes[modulus_bytes] = 2;
    let two = bytes[modulus_bytes..].to_vec();
    let failed = |invalid| Error::Internal(format!("calibration holds {invalid}"));
    let key = PublicKey::from_bytes(size, &bytes).map_err(failed)?;
    let started = usage::cpu_time();
    key.read(&two.repeat(count)).map_err(failed)?;
    Ok((usage::cpu_time() - started).as_secs_f64() / count as f64)
}

/// CPU seconds that both parties need to multiply two columns of `rows` bits, the mean of some runs.
fn cpu_of_products(rows: usize, runs: u32, rng: &mut impl CryptoRng) -> Result<f64> {
    let session = Session::new(Transcript::new("calibration"));
    let mut columns = Columns::new(Integers::BINARY, rows);
    columns.push((0..rows as i64).map(|row| row & 1))?;
    let shape = DotShape { rows, first: 1, second: 1, integers: Integers::BINARY };
    let params = ot::Params::new(shape, shape.value_modulus()?, dot::MEASURED, None)?;
    cpu_of_both(
        runs,
        rng,
        |channel, rng| ot::first(&columns, &params, &session, channel, rng).map(drop),
        |channel, rng| ot::second(&columns, &params, &session, channel, rng).map(drop),
    )
}

/// CPU seconds of two roles that talk to each other, the mean of some runs.
fn cpu_of_both(
    runs: u32,
    rng: &mut impl CryptoRng,
    one: impl Fn(&mut Channel, &mut ChaCha20Rng) -> Result<()> + Sync,
    other: impl Fn(&mut Channel, &mut ChaCha20Rng) -> Result<()>,
) -> Result<f64> {
    let mut seeds = [[0; 32]; 2];
    seeds.iter_mut().for_each(|seed| rng.fill_bytes(seed));
    let started = usage::cpu_time();
    for _ in 0..runs {
        let (mut one_end, mut other_end) = Channel::pair("one", "other");
        let [mut one_rng, mut other_rng] = seeds.map(ChaCha20Rng::from_seed);
        std::thread::scope(|scope| {
            let running = scope.spawn(|| one(&mut one_end, &mut one_rng));
            let ended = other(&mut other_end, &mut other_rng);
            ended.and(running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })?;
    }
    Ok((usage::cpu_time() - started).as_secs_f64() / f64::from(runs))
}

/// Plans a job for parties of these sizes, over a network of this shape. `work` is what share files say of themselves, if
/// they are there.
pub fn plan(
    job: &JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    work: Option<Work>,
    calibration: Calibration,
    network: Shape,
) -> Result<Plan> {
    if let Some(roles) = job.clients() {
        return clients::plan(job, &roles, sizes, calibration.threads, network);
    }
    let names = job.parties.names();
    let (first, second) = (names[0], names[1]);
    let known = Network { round_trip: 2 * network.latency, bandwidth: network.bandwidth };
    let Choice { chosen, mut why } = choose(job, first, &sizes[first], &sizes[second], known)?;
    let cost = match job.job {
        Job::Intersect => intersection_cost(&chosen, job, sizes, calibration)?,
        Job::Dot => dot_cost(&chosen, job, sizes, calibration)?,
        Job::Shares => {
            if work.is_none() {
                why.push_str("; shares modulo 2^64 are assumed: with --input NAME=FILE it is known");
            }
            shares_cost(job, sizes, work, calibration)?
        }
        Job::Rules => rules_cost(&chosen, job, sizes, calibration)?,
    };
    let notes = match job.job {
        Job::Rules => rules_notes(&chosen, job, sizes, calibration)?,
        _ => Vec::new(),
    };
    let bucketed = match disk::is_bucketed(&sizes[first], &sizes[second]) {
        true => Some(disk::params(job, first, chosen.protocol, &sizes[first], &sizes[second])?),
        false => None,
    };
    let rounds = agree::ROUNDS + cost.rounds;
    let mut parties = BTreeMap::new();
    for me in [first, second] {
        let peer = job.peer_of(me);
        let role = &cost.roles[me];
        let known = Known {
            own_items: Some(sizes[me].items),
            items: Some(sizes[peer].items),
            entries: (!sizes[peer].schema.is_empty()).then_some(sizes[peer].entries),
            prepared: false,
            on_disk: sizes[peer].work.is_some(),
            runs: sizes[peer].runs.as_ref().map(|runs| runs.len() as u64),
            common: None,
        };
        let share = Share {
            items: sizes[me].items,
            bytes_sent: agree::bytes_sent(job, me, &chosen, &sizes[me]) + role.bytes,
            cpu_seconds: role.cpu,
            memory: memory::needed(job, me, &chosen, &sizes[me], &sizes[peer])?,
            disk: sizes[me].work.as_ref().map(|_| disk::bytes(sizes[me].items, job.learns(me))),
            learned: learned::sentences(job, me, known),
        };
        parties.insert(me.to_owned(), share);
    }

    let transfer = match network.bandwidth {
        Some(bits) => parties.values().map(|share| share.bytes_sent as f64 * 8.0 / bits as f64).fold(0.0, f64::max),
        None => 0.0,
    };
    // TCP and TLS take two round trips before the first message.
    let waiting = network.latency.as_secs_f64() * f64::from(rounds + 4);
    let threads = calibration.threads as f64;
    let seconds = |cpu: f64| (cpu / threads).max(transfer) + waiting;
    Ok(Plan {
        protocol: chosen.protocol.name(),
        choice: chosen.to_string(),
        why,
        rounds,
        seconds_apart: seconds(parties.values().map(|share| share.cpu_seconds).fold(0.0, f64::max)),
        seconds_together: seconds(parties.values().map(|share| share.cpu_seconds).sum()),
        buckets: bucketed.map(|params| params.buckets),
        notes,
        warnings: memory::unbounded(job).map(str::to_owned).into_iter().collect(),
        parties,
    })
}

/// What a protocol costs, the handshake aside.
struct Cost<'a> {
    roles: BTreeMap<&'a str, RoleCost>,
    rounds: u32,
}

#[derive(Clone, Copy)]
struct RoleCost {
    /// CPU seconds.
    cpu: f64,
    /// Bytes sent.
    bytes: u64,
}

fn intersection_cost<'a>(
    chosen: &Chosen,
    job: &'a JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    calibration: Calibration,
) -> Result<Cost<'a>> {
    let receiver = job.receiver();
    let sender = job.peer_of(receiver);
    let (receiver_sizes, sender_sizes) = (&sizes[receiver], &sizes[sender]);
    if disk::is_bucketed(receiver_sizes, sender_sizes) {
        return cost_of_buckets(chosen.protocol, job, sizes, calibration);
    }
    let params = intersect::params(job, receiver, receiver_sizes, sender_sizes);
    let returned = ReturnedRows {
        items: receiver_sizes.items.min(sender_sizes.items) as usize,
        rows: receiver_sizes.entries.min(u64::from(u32::MAX)) as usize,
    };
    let (asked, sent) = (params.receiver_items as f64, params.sender_entries as f64);
    let (of_receiver, of_sender, rounds) = match chosen.protocol {
        Protocol::Vole => {
            let params = vole::Params::new(params, job.security)?;
            let [receiver, answer, own] = VOLE_SHARES.map(|share| share * calibration.vole_item);
            let of_receiver = RoleCost {
                cpu: calibration.vole_start + receiver * asked,
                bytes: params.bytes_sent_by_receiver(returned)?,
            };
            let of_sender = RoleCost {
                cpu: calibration.vole_start + answer * asked + own * sent,
                bytes: params.bytes_sent_by_sender()?,
            };
            (of_receiver, of_sender, params.rounds(returned))
        }
        Protocol::Bloom => {
            let params = intersect::bloom_params(job, &params)?;
            let transfer = calibration.ot_transfer / 2.0;
            let slots = params.slots() as f64;
            let cpu = |slot: f64| if slots > 0.0 { calibration.ot_start + slots * (transfer + slot) } else { 0.0 };
            let bytes = params.bytes_sent();
            let of_receiver = RoleCost { cpu: cpu(BLOOM_RECEIVER_SLOT), bytes: bytes.1 + CLOSE_BYTES };
            let of_sender = RoleCost { cpu: cpu(BLOOM_SENDER_SLOT), bytes: bytes.0 + CLOSE_BYTES };
            (of_receiver, of_sender, params.rounds())
        }
        _ => {
            let (pass, read) = (calibration.ecdh_pass, calibration.paillier_read);
            let [adding, encrypting] = match job.reveal {
                Reveal::Sum(_) => [
                    read * ((1.0 + PAILLIER_ADD) * sent + PAILLIER_RERANDOMIZE),
                    PAILLIER_KEY + read * (PAILLIER_ENCRYPT * sent + PAILLIER_DECRYPT),
                ],
                _ => [0.0, 0.0],
            };
            let of_receiver =
                RoleCost { cpu: pass * 2.0 * asked + adding, bytes: params.bytes_sent_by_receiver(returned) };
            let of_sender = RoleCost { cpu: pass * (asked + sent) + encrypting, bytes: params.bytes_sent_by_sender() };
            (of_receiver, of_sender, params.rounds(returned))
        }
    };
    Ok(Cost { roles: BTreeMap::from([(receiver, of_receiver), (sender, of_sender)]), rounds })
}

/// What a run on disk costs, sorting and hashing included.
fn cost_of_buckets<'a>(
    protocol: Protocol,
    job: &'a JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    calibration: Calibration,
) -> Result<Cost<'a>> {
    let receiver = job.receiver();
    let sender = job.peer_of(receiver);
    let params = disk::params(job, receiver, protocol, &sizes[receiver], &sizes[sender])?;
    let buckets = params.buckets as f64;
    let [asked, sent] = [Role::Receiver, Role::Sender].map(|role| params.bound(role) as f64 * buckets);
    let [of_receiver, of_sender] = match protocol {
        Protocol::Vole => {
            let [receiver, answer, own] = VOLE_SHARES.map(|share| share * calibration.vole_item);
            let start = calibration.vole_start * buckets;
            [start + receiver * asked, start + answer * asked + own * sent]
        }
        _ => [2.0 * asked, asked + sent].map(|passes| calibration.ecdh_pass * passes),
    };
    let role = |name: &'a str, role, cpu: f64| -> Result<(&'a str, RoleCost)> {
        let sorted = if sizes[name].work.is_some() { SORTED_ROW * sizes[name].items as f64 } else { 0.0 };
        Ok((name, RoleCost { cpu: cpu + sorted, bytes: params.bytes_sent_by(role, Attempt::Fresh)? }))
    };
    let roles = [role(receiver, Role::Receiver, of_receiver)?, role(sender, Role::Sender, of_sender)?];
    Ok(Cost { roles: BTreeMap::from(roles), rounds: params.rounds(Attempt::Fresh)? })
}

fn dot_cost<'a>(
    chosen: &Chosen,
    job: &'a JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    calibration: Calibration,
) -> Result<Cost<'a>> {
    let names = job.parties.names();
    let [first, second] = [names[0], names[1]];
    let rows = common_rows(job, sizes)?;
    let method = dot::Method::new(job, chosen, rows as usize)?;
    let cpu = method.cpu(Some((calibration.ot_start, calibration.ot_transfer)));
    let party = |side| if side == Side::First { first } else { second };
    let learns = |side| job.reveal == Reveal::Value && job.learns(party(side));

    let products = method.shape().products();
    let role = |side: Side, cpu| {
        let opened = if learns(side.other()) { reveal_bytes(method.modulus(), products) } else { 0 };
        (party(side), RoleCost { cpu, bytes: method.bytes_sent_by(side) + opened + CLOSE_BYTES })
    };
    let mut roles = BTreeMap::from([role(Side::First, cpu.first), role(Side::Second, cpu.second)]);
    // The last message and a share that follows it travel in one direction, so in one flight.
    let follows = learns(method.ends().other()) && method.rounds() > 0;
    let opens = learns(Side::First) || learns(Side::Second);
    let mut rounds = method.rounds() + u32::from(opens && (!follows || learns(method.ends())));
    if let (Some(alignment), Some(protocol)) = (job.alignment(), chosen.alignment) {
        let cost = intersection_cost(&Chosen::only(protocol), &alignment, sizes, calibration)?;
        // It ends with a message of its receiver; what begins with one of the same party goes on in that flight.
        let joined = method.rounds() > 0 && alignment.receiver() == party(method.begins());
        rounds += cost.rounds - u32::from(joined);
        for (name, role) in &mut roles {
            role.cpu += cost.roles[name].cpu;
            role.bytes += cost.roles[name].bytes - CLOSE_BYTES;
        }
    }
    Ok(Cost { roles, rounds })
}

/// The most rows that both parties have: no more than the shorter table.
fn common_rows(job: &JobSpec, sizes: &BTreeMap<String, Sizes>) -> Result<u64> {
    let names = job.parties.names();
    let [first, second] = [names[0], names[1]].map(|name| sizes[name].items);
    match job.alignment().is_none() && first != second {
        false => Ok(first.min(second)),
        true => Err(Error::Input(format!(
            "rows are aligned by position, so both parties have the same number of them: {} has {first}, {} {second}",
            names[0], names[1]
        ))),
    }
}

/// What association rules cost if nothing is frequent: see [`rules_notes`].
fn rules_cost<'a>(
    chosen: &Chosen,
    job: &'a JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    calibration: Calibration,
) -> Result<Cost<'a>> {
    common_rows(job, sizes)?;
    if let (Some(alignment), Some(protocol)) = (job.alignment(), chosen.alignment) {
        let cost = intersection_cost(&Chosen::only(protocol), &alignment, sizes, calibration)?;
        let roles = job.parties.names().into_iter().map(|name| {
            let RoleCost { cpu, bytes } = cost.roles[name];
            (name, RoleCost { cpu, bytes: bytes + ITEMS_BYTES })
        });
        return Ok(Cost { roles: roles.collect(), rounds: cost.rounds + 1 });
    }
    let role = |name| (name, RoleCost { cpu: 0.0, bytes: ITEMS_BYTES + CLOSE_BYTES });
    Ok(Cost { roles: job.parties.names().into_iter().map(role).collect(), rounds: 1 })
}

/// What can be said of a run whose candidates depend on what is frequent.
fn rules_notes(
    chosen: &Chosen,
    job: &JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    calibration: Calibration,
) -> Result<Vec<String>> {
    let rows = common_rows(job, sizes)?;
    let params = job.mining(rows as usize)?;
    // A level of pairs, by what would make it.
    let level = |items: u32| -> Result<String> {
        let (protocol, cost) = rules::estimate(job, chosen, &params, [items; 2])?;
        let machine = calibration.ot_transfer / dot::transfer_seconds(dot::MEASURED);
        Ok(format!(
            "If {items} items here and {items} there are frequent, their {} pairs take {} of traffic and about {} of CPU of both \
             parties together, by {}.",
            text::count(u64::from(items) * u64::from(items)),
            text::bytes(cost.bytes),
            text::duration(Duration::from_secs_f64(cost.seconds * machine)),
            protocol.name()
        ))
    };
    let mut notes = vec![
        "What it costs depends on what is frequent, and is not known before: rounds, traffic and time are those of a run \
         that finds no frequent item."
            .into(),
        level(10)?,
        level(100)?,
        format!(
            "An itemset is frequent in {} or more{}. The run ends with an error if there are more than {} candidates of one \
             kind and length, or more than {} rules.",
            text::counted(params.minimum as u64, "row"),
            if job.support_of_common_rows() { ", if both have all rows; in fewer, if they have fewer" } else { "" },
            text::count(params.max_candidates as u64),
            text::count(params.max_rules as u64)
        ),
    ];
    if job.alignment().is_some() {
        notes.push(
            "Aligning rows by ids tells both which of their rows are common; a form that hides it is not in this version. By \
             position, without row_id, they learn no more of their rows than that they have equally many."
                .into(),
        );
    }
    Ok(notes)
}

fn shares_cost<'a>(
    job: &'a JobSpec,
    sizes: &BTreeMap<String, Sizes>,
    work: Option<Work>,
    calibration: Calibration,
) -> Result<Cost<'a>> {
    let names = job.parties.names();
    let [numbers, others] = [names[0], names[1]].map(|name| sizes[name].items);
    if numbers != others {
        return Err(Error::Input(format!(
            "both parties bring shares of the same numbers: {numbers} and {others} are not equally many"
        )));
    }
    let (costs, rounds) = match work.map_or_else(|| Work::assumed(job, numbers as usize), Ok)? {
        Work::Open(modulus, numbers) => {
            let opened = |peer| if job.learns(peer) { reveal_bytes(modulus, numbers) } else { 0 };
            let cost = |peer| RoleCost { cpu: 0.0, bytes: opened(peer) + CLOSE_BYTES };
            ([cost(names[1]), cost(names[0])], u32::from(numbers > 0))
        }
        Work::Compare(comparison) => {
            let params = comparison.params()?;
            let (first, second) = params.bytes()?;
            let relative = dot::transfer_seconds(EXTENSION) / dot::transfer_seconds(dot::MEASURED);
            let cpu = calibration.ot_start + params.ots() as f64 * calibration.ot_transfer * relative / 2.0;
            // What the terms and files say alone takes no message.
            let cpu = if params.rounds() == 0 { 0.0 } else { cpu };
            ([first, second].map(|bytes| RoleCost { cpu, bytes: bytes + CLOSE_BYTES }), params.rounds())
        }
    };
    Ok(Cost { roles: names.into_iter().zip(costs).collect(), rounds })
}
