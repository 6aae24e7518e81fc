//! Cost of a round for each role.

use std::collections::BTreeMap;

use tacita_core::{Error, Result};

use super::spec::{AggregateJob, KEY_BYTES, NAOR_REINGOLD};
use crate::agreement::Sizes;
use crate::agreement::cost::{Calibration, Cost, RoleCost};

/// Bytes of an element of the group, and of a number modulo its order.
const ELEMENT_BYTES: u64 = 32;

/// Bytes of an encryption: two elements.
const SEALED_BYTES: u64 = 2 * ELEMENT_BYTES;

/// Bytes of the proof of knowing a value: two elements and two numbers; and of that of knowing masks: one of each.
const VALUE_PROOF_BYTES: u64 = 4 * ELEMENT_BYTES;
const MASK_PROOF_BYTES: u64 = 2 * ELEMENT_BYTES;

/// Overhead of an entry on disk: in the proxy's queue a seal, in the database its place in the index.
const QUEUED_BYTES: u64 = 24;
const STORED_BYTES: u64 = 64;

/// The longest key, in bytes, whose bits the published protocol transfers obliviously; of longer ones it transfers so
/// long a hash.
const INPUT_BYTES: usize = 16;

/// Bytes of each of these transfers: of the participant's choice, and of the proxy's messages.
const CHOICE_BYTES: u64 = 4;
const OFFER_BYTES: u64 = 2 * ELEMENT_BYTES;

/// Cost of one transfer for the participant and for the proxy, in units of [`Calibration::ot_transfer`]. The
/// participant finds and multiplies one number; the proxy draws, multiplies and hides two.
const CHOSEN: f64 = 21.0;
const OFFERED: f64 = 40.0;

/// Passes over elements that a report costs, each about what [`Calibration::ecdh_pass`] measures: a multiplication and
/// what comes with it. The first number is for every report, the others for each point that its key takes, for its
/// value, and for its tag.
struct Passes {
    report: f64,
    point: f64,
    value: f64,
    tag: f64,
}

/// Passes by role. The participant encrypts and proves; the proxy verifies, raises and re-randomises. The database
/// strips and encodes; the oracle checks a row's entry and decrypts it.
const PARTICIPANT: Passes = Passes { report: 2.5, point: 2.0, value: 2.0, tag: 0.0 };
const PROXY: Passes = Passes { report: 3.0, point: 1.5, value: 2.0, tag: 2.0 };
const DATABASE: Passes = Passes { report: 1.5, point: 1.5, value: 1.0, tag: 1.5 };
// What a point holds is found by arithmetic of its own, one point at a time.
const ORACLE: Passes = Passes { report: 0.0, point: 13.0, value: 0.0, tag: 0.0 };

/// Cost of a submission for the proxy besides its reports, however few: a handshake, requests, and a batch on disk.
const SUBMISSION: f64 = 500.0;

/// Additional cost of a report in the published protocol, for the participant and for the proxy: a blind is raised,
/// or made.
const RAISED: f64 = 0.5;
const BLIND: f64 = 1.0;

/// Messages that follow from each other: reports, entries, and an answer; and where reports are made together, those
/// before them.
const ROUNDS: u32 = 3;
const MAKING_ROUNDS: u32 = 5;

/// Memory of a role or a participant, in bytes: it does not grow with the round.
const MEMORY: u64 = 256 << 20;

/// Memory of the proxy where several participants make reports with it at a time.
const MAKING: u64 = 512 << 20;

/// Memory of a party.
pub(super) fn memory(job: &AggregateJob<'_>, party: &str) -> u64 {
    match party {
        "proxy" if job.chosen() == NAOR_REINGOLD => MAKING,
        _ => MEMORY,
    }
}

/// Oblivious transfers for each report.
fn transfers(job: &AggregateJob<'_>) -> u64 {
    if job.chosen() == NAOR_REINGOLD { 8 * job.own.round.key_bytes.min(INPUT_BYTES) as u64 } else { 0 }
}

/// Returns the number of points that a key takes.
fn points(job: &AggregateJob<'_>) -> u64 {
    job.own.round.key_bytes.div_ceil(KEY_BYTES) as u64
}

fn has_values(job: &AggregateJob<'_>) -> bool {
    job.own.round.values.places() > 1
}

/// Bytes of a report as it is submitted.
fn report_bytes(job: &AggregateJob<'_>) -> u64 {
    let value = if has_values(job) { SEALED_BYTES + VALUE_PROOF_BYTES } else { 0 };
    SEALED_BYTES * (1 + points(job)) + MASK_PROOF_BYTES + value + transfers(job) * CHOICE_BYTES
}

/// Bytes of an entry as it leaves the proxy.
fn entry_bytes(job: &AggregateJob<'_>) -> u64 {
    let tag = if job.tags() { SEALED_BYTES } else { 0 };
    let value = if has_values(job) { SEALED_BYTES } else { 0 };
    SEALED_BYTES * (1 + points(job)) + value + tag
}

impl Passes {
    fn seconds(&self, job: &AggregateJob<'_>, machine: &Calibration) -> f64 {
        let value = if has_values(job) { self.value } else { 0.0 };
        let tag = if job.tags() { self.tag } else { 0.0 };
        (self.report + self.point * points(job) as f64 + value + tag) * machine.ecdh_pass
    }
}

/// Computes the cost of a round in which each participant submits so many reports. `sizes` are the participants'.
pub(super) fn cost(job: &AggregateJob<'_>, sizes: &BTreeMap<String, Sizes>, machine: &Calibration) -> Result<Cost> {
    job.check_participants(sizes.len() as u64)?;
    let most = job.own.round.max_reports.unwrap_or(u64::MAX);
    if let Some((name, sizes)) = sizes.iter().find(|(_, sizes)| sizes.items > most) {
        return Err(Error::Input(format!(
            "{name} has {} reports, more than round.max_reports = {most}: agree on more, or report fewer",
            sizes.items
        )));
    }
    let chosen = making(job, machine, CHOSEN, RAISED);
    let mut costs: BTreeMap<String, RoleCost> = BTreeMap::new();
    for (name, sizes) in sizes {
        let reports = sizes.items;
        let cpu = (PARTICIPANT.seconds(job, machine) + chosen) * reports as f64;
        costs.insert(name.clone(), RoleCost { cpu, bytes: reports * report_bytes(job), disk: None });
    }
    let all = sizes.values().map(|sizes| sizes.items).sum();
    costs.extend(roles(job, all, sizes.len() as u64, machine).map(|(name, cost)| (name.to_owned(), cost)));
    let notes = vec![
        "of oracle and database, as if every report's key passed: what does not pass costs them nothing at the reveal"
            .to_owned(),
    ];
    let rounds = if transfers(job) > 0 { ROUNDS + MAKING_ROUNDS } else { ROUNDS };
    Ok(Cost { roles: costs, rounds, notes, ..Cost::default() })
}

/// Computes the cost of so many reports for the serving roles, if they come in so many submissions.
pub(super) fn roles(
    job: &AggregateJob<'_>,
    reports: u64,
    submissions: u64,
    machine: &Calibration,
) -> [(&'static str, RoleCost); 3] {
    let offer = if transfers(job) > 0 { transfers(job) * OFFER_BYTES + ELEMENT_BYTES } else { 0 };
    let of = |seconds: f64, bytes: u64, disk: Option<u64>| RoleCost {
        cpu: seconds * reports as f64,
        bytes: reports * bytes,
        disk: disk.map(|bytes| reports * bytes),
    };
    let (entry, sealed) = (entry_bytes(job), SEALED_BYTES * points(job));
    let proxy = PROXY.seconds(job, machine) + making(job, machine, OFFERED, BLIND);
    let base = if transfers(job) > 0 { machine.ot_start } else { 0.0 };
    let submitted = (SUBMISSION * machine.ecdh_pass + base) * submissions as f64;
    // The rest of an entry is a row's id, a tag and a place among the values.
    let stored = sealed + 2 * ELEMENT_BYTES + STORED_BYTES;
    let proxy = of(proxy, entry + offer, Some(entry + QUEUED_BYTES));
    [
        ("proxy", RoleCost { cpu: proxy.cpu + submitted, ..proxy }),
        ("oracle", of(ORACLE.seconds(job, machine), job.own.round.key_bytes as u64, None)),
        ("database", of(DATABASE.seconds(job, machine), sealed, Some(stored))),
    ]
}

/// Returns the seconds that one side takes to make a report together with the other, if reports are made so.
fn making(job: &AggregateJob<'_>, machine: &Calibration, transfer: f64, passes: f64) -> f64 {
    match transfers(job) {
        0 => 0.0,
        transfers => transfers as f64 * transfer * machine.ot_transfer + passes * machine.ecdh_pass,
    }
}
