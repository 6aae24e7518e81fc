//! Throughput of the kernels under oblivious transfer and VOLE on one thread, in each form that the processor can run.
//!
//! At the end stands the best rate of each kernel, by CPU time, beside what the reference machine allows (AVX-512,
//! VAES, VPCLMULQDQ and GFNI, 2026).

use std::collections::BTreeMap;
use std::hint::black_box;
use std::path::PathBuf;
use std::process::Command;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::{Json, Repeat, Row, Table, about, median};
use tacita_core::primitive::kernel::backend;
use tacita_core::primitive::kernel::{Aes128, Block, Doubling, LeafStreams, Prg, TweakableHash};
use tacita_core::primitive::kernel::{block, gf128, transpose};
use tacita_node::base::{kernels, usage};

/// A size is repeated until at least so many items are made in a run.
const ITEMS_A_RUN: usize = 1 << 18;

/// Portable forms are measured up to this size only.
const LOG2_MAX_PORTABLE: u32 = 18;

/// Set in the process that measures the portable forms for another one.
const CHILD: &str = "TACITA_BENCH_CHILD";

/// Columns of a tile of an extension: its 128 rows take 64 KiB.
const TILE_COLUMNS: usize = 4096;

/// Millions of items a second that one thread of the reference machine reaches at most.
const LIMITS: [(&str, f64); 5] =
    [("gf128 multiply", 1600.0), ("aes", 1600.0), ("prg", 1600.0), ("doubling", 1600.0), ("transpose", 1700.0)];

#[derive(Parser)]
#[command(about = about(include_str!("kernel.rs")))]
struct Arguments {
    /// Items of the longest slices, as a power of two; the shortest have 2^10
    #[arg(default_value_t = 24, value_parser = clap::value_parser!(u32).range(10..=26))]
    log2_largest: u32,
    #[command(flatten)]
    repeat: Repeat<5>,
    #[command(flatten)]
    json: Json,
}

pub fn main() -> std::io::Result<()> {
    let Arguments { log2_largest: log2_max, repeat: Repeat { runs }, json } =
        Arguments::parse_from(tacita_bench::arguments());
    let portable = backend::chosen().name() == "portable";
    let mut bench = Bench { table: json.table()?, runs, best: BTreeMap::new() };
    let log2_max = if portable { LOG2_MAX_PORTABLE.min(log2_max) } else { log2_max };
    for log2 in (10..=log2_max).step_by(2) {
        measure_size(&mut bench, 1 << log2)?;
    }
    println!("\nbest rates, millions a second of CPU time:");
    for (name, rate) in &bench.best {
        let limit = LIMITS.iter().find(|(kernel, _)| kernel == name).map(|(_, limit)| *limit);
        let share = limit.map_or(String::new(), |limit| format!("{:6.0} % of {limit:.0}", 100.0 * rate / limit));
        println!("{name:<28} {rate:>8.1} {share}");
    }
    drop(bench);
    if !portable && std::env::var_os(CHILD).is_none() {
        println!("\nthe portable forms:");
        let mut child = Command::new(std::env::current_exe()?);
        child.env(kernels::VARIABLE, "1").env(CHILD, "1").args(["kernel", &log2_max.to_string()]);
        child.arg("--runs").arg(runs.to_string());
        let part = json.path.as_ref().map(|path| PathBuf::from(format!("{}.portable", path.display())));
        if let Some(part) = &part {
            child.arg("--json").arg(part);
        }
        assert!(child.status()?.success(), "the portable forms were not measured");
        if let (Some(json), Some(part)) = (&json.path, &part) {
            let mut rows = std::fs::read(json)?;
            rows.extend(std::fs::read(part)?);
            std::fs::write(json, rows)?;
            std::fs::remove_file(part)?;
        }
    }
    Ok(())
}

struct Bench {
    table: Table,
    runs: u32,
    best: BTreeMap<String, f64>,
}

impl Bench {
    /// Measures `work`, which makes `n` items, and adds a row.
    fn run(&mut self, kernel: &str, n: usize, mut work: impl FnMut()) -> std::io::Result<()> {
        let repeats = (ITEMS_A_RUN / n).max(1);
        work();
        let (mut walls, mut cpus) = (Vec::new(), Vec::new());
        for _ in 0..self.runs {
            let (cpu, wall) = (usage::thread_cpu_time(), Instant::now());
            for _ in 0..repeats {
                work();
            }
            walls.push(wall.elapsed().as_secs_f64() * 1e3 / repeats as f64);
            cpus.push((usage::thread_cpu_time() - cpu).as_secs_f64() * 1e3 / repeats as f64);
        }
        let row = Row {
            primitive: kernel.into(),
            variant: backend::chosen().name().into(),
            n,
            threads: 1,
            wall_ms: median(&walls),
            cpu_ms: vec![median(&cpus)],
            bytes: Vec::new(),
            peak_memory: usage::peak_memory(),
        };
        let rate = n as f64 / row.cpu_ms[0] / 1e3;
        let best = self.best.entry(kernel.into()).or_insert(rate);
        *best = best.max(rate);
        self.table.add(&row)
    }
}

/// Measures all kernels on `n` items.
fn measure_size(bench: &mut Bench, n: usize) -> std::io::Result<()> {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let (a, b) = (block::random(n, &mut rng), block::random(n, &mut rng));
    let (s, mut out) = (a[0], vec![Block::ZERO; n]);

    bench.run("gf128 multiply", n, || gf128::multiply(&a, &b, black_box(&mut out)))?;
    bench.run("gf128 scale", n, || gf128::scale(&a, s, black_box(&mut out)))?;
    bench.run("gf128 scale add", n, || gf128::scale_add(&a, s, black_box(&mut out)))?;
    bench.run("gf128 inner", n, || {
        black_box(gf128::inner_product(&a, &b));
    })?;
    bench.run("gf128 powers", n, || gf128::powers(s, b[0], black_box(&mut out)))?;

    let cipher = Aes128::new(s);
    bench.run("aes", n, || cipher.encrypt_blocks(black_box(&mut out)))?;
    let mut prg = Prg::new(s);
    bench.run("prg", n, || prg.fill(black_box(&mut out)))?;
    let hash = TweakableHash::new(s);
    bench.run("hash", n, || hash.hash(0, &a, black_box(&mut out)))?;
    bench.run("hash pairs", n / 2, || {
        hash.hash_pairs(0, &a[..n / 2], s, black_box(out.as_chunks_mut().0));
    })?;
    let doubling = Doubling::new([a[0], a[1]]);
    bench.run("doubling", n, || {
        black_box(doubling.expand(&a[..n / 2], black_box(&mut out)));
    })?;
    let mut sums = vec![[Block::ZERO; 2]; n.ilog2() as usize];
    bench.run("tree", n, || doubling.expand_tree(s, black_box(&mut out), &mut sums))?;
    let siblings: Vec<_> = sums.iter().map(|sums| sums[0]).collect();
    bench.run("tree punctured", n, || doubling.expand_punctured(n - 1, &siblings, black_box(&mut out)))?;

    bench.run("transpose", n, || transpose::to_columns(&a, n / 128, black_box(&mut out)))?;
    bench.run("transpose back", n, || transpose::to_rows(&a, black_box(&mut out), n / 128))?;

    for bits in [2, 4, 8] {
        let banks: Vec<_> =
            (0..128 / bits).map(|bank| LeafStreams::new(&block::random(1 << bits, &mut seeded(bank)))).collect();
        let mut rows = vec![Block::ZERO; TILE_COLUMNS];
        bench.run(&format!("fold {bits}"), n, || {
            tiles(n, |start, columns| {
                fold_tile::<true>(&banks, start, columns, black_box(&mut rows));
            });
        })?;
        bench.run(&format!("extension {bits}, choosing"), n, || {
            extend::<true>(&banks, n, |start, q| {
                hash.hash_past_caches(start as u64, q, &mut out[start..start + q.len()]);
            });
        })?;
        let mut pairs = vec![[Block::ZERO; 2]; n];
        bench.run(&format!("extension {bits}, sending"), n, || {
            extend::<false>(&banks, n, |start, q| {
                hash.hash_pairs_past_caches(start as u64, q, s, &mut pairs[start..start + q.len()]);
            });
        })?;
    }
    Ok(())
}

fn seeded(number: usize) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([number as u8; 32])
}

/// Calls `work` with the first column and the number of columns of each tile.
fn tiles(n: usize, mut work: impl FnMut(usize, usize)) {
    for start in (0..n).step_by(TILE_COLUMNS) {
        work(start, TILE_COLUMNS.min(n - start));
    }
}

/// The planes of all banks, as 128 rows, and u of each unless `ALL` is false, for some columns.
fn fold_tile<const ALL: bool>(banks: &[LeafStreams], start: usize, columns: usize, rows: &mut [Block]) {
    let width = columns / 128;
    let position = (start / 128) as u64;
    let mut u = [Block::ZERO; TILE_COLUMNS / 128];
    for (bank, v) in banks.iter().zip(rows.chunks_mut(banks[0].bits() * width)) {
        if ALL {
            bank.fold(position, &mut u[..width], v, width);
        } else {
            bank.fold_planes(position, width, v, width);
        }
        black_box(&u);
    }
}

/// One side's local work of a semi-honest SoftSpoken extension but for the correction: fold, transpose, hash.
fn extend<const ALL: bool>(banks: &[LeafStreams], n: usize, mut hash: impl FnMut(usize, &[Block])) {
    let (mut rows, mut columns) = (vec![Block::ZERO; TILE_COLUMNS], vec![Block::ZERO; TILE_COLUMNS]);
    tiles(n, |start, count| {
        fold_tile::<ALL>(banks, start, count, &mut rows);
        transpose::to_columns(&rows, count / 128, &mut columns[..count]);
        hash(start, &columns[..count]);
    });
}
