//! Plans under a fixed calibration, with their sentences.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use tacita_node::agreement::cost::Calibration;
use tacita_node::agreement::{Ability, DiskRun, JobSpec, KnownSizes, Reveal, RowsPerKey, Sizes};
use tacita_node::plan::plan;
use tacita_node::transport::LinkShape;

use crate::goldens::{compare, jobs};

const MACHINE: Calibration = Calibration {
    ecdh_pass: 40e-6,
    single_pass: 40e-6,
    vole_start: 30e-3,
    vole_item: 1e-6,
    ot_start: 10e-3,
    ot_transfer: 40e-9,
    paillier_power: 600e-6,
    threads: 4,
};

/// Returns the sizes that each party brings: the given numbers of rows, in the form that the job has.
fn sizes(job: &JobSpec, rows: &[u64], on_disk: bool) -> BTreeMap<String, Sizes> {
    let of = |(place, name): (usize, &str)| {
        let mut sizes = Sizes { items: job.limits.pad_to.unwrap_or(rows[place % rows.len()]), ..Sizes::default() };
        if job.reveal == Reveal::Payload && !job.given_by(name).is_empty() {
            sizes.entries = job.limits.pad_to.unwrap_or(sizes.items + sizes.items / 2);
            sizes.row_bytes = 24;
            sizes.schema = "00".repeat(12);
        }
        if job.job.name() == "union" {
            if !job.job.pads(job, name) {
                sizes.items = rows[place % rows.len()];
            }
            if job.reveal == Reveal::Rows && job.learns(job.peer_of(name)) {
                sizes.row_bytes = 40;
                sizes.each = Some(RowsPerKey { rows: 2, profiles: Vec::new() });
            }
        }
        if job.job.name() == "shares" {
            sizes.runs = Some(vec!["0123456789abcdef0123456789abcdef".into(); 2]);
        }
        sizes.work = on_disk.then_some(DiskRun { memory: 64 << 20, kept: None });
        (name.to_owned(), sizes)
    };
    // Some of those who come to be served.
    let names = if job.job.served().is_some() { vec!["a", "b", "c", "d", "e"] } else { job.parties.names() };
    names.into_iter().enumerate().map(of).collect()
}

#[test]
fn plans_and_sentences() {
    let near = LinkShape { latency: Duration::ZERO, bandwidth: None };
    let far = LinkShape { latency: Duration::from_millis(40), bandwidth: Some(20_000_000) };
    // Some memory is for each thread.
    let threads = rayon::ThreadPoolBuilder::new().num_threads(MACHINE.threads).build().unwrap();
    let mut found = String::new();
    for (name, job) in jobs::all() {
        let by_position = !job.matches_keys();
        let rows: [&[u64]; 3] =
            if by_position { [&[0], &[1000], &[200_000]] } else { [&[0, 1], &[900, 1000], &[2_000_000, 100_000]] };
        for (rows, shape, on_disk) in [
            (rows[0], near, false),
            (rows[1], near, false),
            (rows[1], far, false),
            (rows[2], LinkShape { latency: Duration::ZERO, ..far }, false),
            (rows[2], near, job.job.name() == "intersect" && name.starts_with("rows")),
        ] {
            let sizes = sizes(&job, rows, on_disk && job.job.can(&job, Ability::Disk).is_ok());
            let planned = match threads.install(|| plan(&job, &sizes, &BTreeMap::new(), MACHINE, shape)) {
                Ok(mut planned) => {
                    // Once for each job is enough.
                    if shape.latency.is_zero() {
                        planned.parties.values_mut().for_each(|share| share.learned.clear());
                    }
                    serde_json::to_string(&planned).unwrap().replace("],\"", "],\n  \"").replace("},\"", "},\n  \"")
                }
                Err(error) => error.to_string(),
            };
            writeln!(found, "{name}, {rows:?} rows, {shape:?}\n  {planned}").unwrap();
        }
    }
    compare("plans.txt", &found);
}

/// Before anything is known of the other party, and with all that can be.
#[test]
fn sentences() {
    let all = KnownSizes {
        own_items: Some(1),
        items: Some(12),
        entries: Some(20),
        prepared: true,
        on_disk: true,
        runs: Some(3),
        common: Some(1),
        slices: None,
        all: None,
        any: None,
    };
    let mut found = String::new();
    for (name, job) in jobs::all() {
        let served = job.job.served().map_or(&[][..], |served| served.roles);
        for party in job.parties.names().into_iter().chain(served.iter().copied()) {
            for known in [KnownSizes::default(), all] {
                let which = if known.items.is_some() { "all known" } else { "nothing known" };
                writeln!(found, "{name}, {party}, {which}").unwrap();
                for sentence in job.learned(party, known) {
                    writeln!(found, "  {sentence}").unwrap();
                }
            }
        }
    }
    compare("sentences.txt", &found);
}
