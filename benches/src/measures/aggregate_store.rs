//! Throughput of a database's storage, for writes and for reads row by row. Random rows of the length of real ones come
//! in batches, each of which is on disk before the next one. The embedded storage is used, unless `--storage` names
//! another.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::{Rng, SeedableRng};
use tacita_aggregate::store::{self, Ingested, OpenedReport, Stored};
use tacita_bench::{MISSED, about};
use tacita_node::base::usage::{cpu_time, peak_memory};

/// Bytes of a key that is encrypted for the oracles: a point and its key.
const SEALED_BYTES: usize = 64;

const ROUND: &str = "measured";

#[derive(Parser)]
#[command(about = about(include_str!("aggregate_store.rs")))]
struct Arguments {
    /// Number of rows
    #[arg(default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    rows: u64,
    /// Rows of a batch
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    batch: u32,
    /// Rows that have a key in common, on average
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    common: u64,
    /// Directory for the embedded storage, which is removed afterwards; a temporary one if absent
    #[arg(long, value_name = "DIR")]
    directory: Option<PathBuf>,
    /// Another storage, as postgresql://USER@HOST/DATABASE, of which the round `measured` is removed afterwards
    #[arg(long, value_name = "URL", conflicts_with = "directory")]
    storage: Option<String>,
    /// Rows a second that have to be taken in, or else this ends with 3
    #[arg(long, default_value_t = 0.0)]
    at_least: f64,
}

pub fn main() -> ExitCode {
    let Arguments { rows, batch, common, directory, storage, at_least } =
        Arguments::parse_from(tacita_bench::arguments());
    let home = match directory {
        Some(directory) => tempfile::tempdir_in(directory),
        None => tempfile::tempdir(),
    };
    let home = home.expect("a directory");
    let url = storage.unwrap_or_else(|| format!("embedded:{}", home.path().display()));
    let storage = store::open(&url).expect("a storage");
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    println!("| step | rows | s | CPU s | rows/s | longest batch ms | MiB on disk | peak MiB |");
    println!("|---|---|---|---|---|---|---|---|");
    let (mut done, mut seconds, mut longest, cpu) = (0, 0.0, 0f64, cpu_time());
    while done < rows {
        let count = u64::from(batch).min(rows - done);
        let made: Vec<OpenedReport> = (0..count).map(|_| row(&mut rng, rows / common)).collect();
        let mut id = [0; 16];
        rng.fill_bytes(&mut id);
        let begun = Instant::now();
        assert_eq!(storage.ingest(ROUND, &id, &made).expect("a batch"), Ingested::New);
        let taken = begun.elapsed().as_secs_f64();
        (done, seconds, longest) = (done + count, seconds + taken, longest.max(taken));
    }
    let rate = rows as f64 / seconds;
    line("ingest", rows, seconds, (cpu_time() - cpu).as_secs_f64(), longest, on_disk(home.path()));
    let (begun, cpu) = (Instant::now(), cpu_time());
    let (mut read, mut groups) = (0, 0);
    let each = &mut |_: &_, entries: &mut dyn Iterator<Item = _>| {
        groups += 1;
        for entry in entries {
            let _: Stored = entry?;
            read += 1;
        }
        Ok(ControlFlow::Continue(()))
    };
    storage.groups(ROUND, None, each).expect("groups");
    assert_eq!(read, rows);
    line("groups", read, begun.elapsed().as_secs_f64(), (cpu_time() - cpu).as_secs_f64(), 0.0, on_disk(home.path()));
    println!("{groups} groups");
    let begun = Instant::now();
    drop(storage);
    let storage = store::open(&url).expect("the storage again");
    line("open again", 0, begun.elapsed().as_secs_f64(), 0.0, 0.0, on_disk(home.path()));
    let begun = Instant::now();
    storage.remove(ROUND).expect("removal");
    drop(storage);
    line("remove", 0, begun.elapsed().as_secs_f64(), 0.0, 0.0, on_disk(home.path()));
    if rate < at_least { ExitCode::from(MISSED) } else { ExitCode::SUCCESS }
}

fn row(rng: &mut ChaCha20Rng, different: u64) -> OpenedReport {
    let key = rng.next_u64() % different.max(1);
    let mut id = [0; 32];
    ChaCha20Rng::seed_from_u64(key).fill_bytes(&mut id);
    let mut stored = Stored { tag: [0; 32], value: rng.next_u32() % 10, sealed: vec![0; SEALED_BYTES] };
    rng.fill_bytes(&mut stored.tag);
    rng.fill_bytes(&mut stored.sealed);
    OpenedReport { id, stored }
}

fn line(step: &str, rows: u64, seconds: f64, cpu: f64, longest: f64, bytes: u64) {
    let peak = peak_memory().map_or("?".into(), |bytes| (bytes >> 20).to_string());
    let rate = rows as f64 / seconds;
    println!(
        "| {step} | {rows} | {seconds:.2} | {cpu:.2} | {rate:.0} | {:.0} | {} | {peak} |",
        longest * 1000.0,
        bytes >> 20
    );
}

fn on_disk(path: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    let entries = entries.flatten().map(|entry| match entry.metadata() {
        Ok(facts) if facts.is_dir() => on_disk(&entry.path()),
        Ok(facts) => facts.blocks() * 512,
        // It was removed meanwhile.
        Err(_) => 0,
    });
    entries.sum()
}
