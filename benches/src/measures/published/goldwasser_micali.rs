//! Throughput of Goldwasser and Micali's cryptosystem on one thread, by the size of keys. Set `TACITA_PORTABLE=1` for
//! the form that every processor runs.

use std::hint::black_box;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::{Rng, SeedableRng};
use tacita_bench::{Json, Repeat, Row, Table, about, key_size, median};
use tacita_core::primitive::kernel::backend;
use tacita_core::primitive::kernel::jacobi::Jacobi;
use tacita_core::primitive::kernel::montgomery::{LANES, Montgomery};
use tacita_core::primitive::published::goldwasser_micali::{GmSecretKey, KeySize};
use tacita_node::base::usage;

#[derive(Parser)]
#[command(about = about(include_str!("goldwasser_micali.rs")))]
struct Arguments {
    /// Lengths of keys in bits
    #[arg(default_values = ["1024", "2048", "3072"], value_parser = key_size)]
    bits: Vec<KeySize>,
    #[command(flatten)]
    repeat: Repeat<5>,
    #[command(flatten)]
    json: Json,
}

pub fn main() -> std::io::Result<()> {
    let Arguments { bits, repeat: Repeat { runs }, json } = Arguments::parse_from(tacita_bench::arguments());
    let mut bench = Bench { table: json.table()?, runs };
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    pool.install(|| bits.into_iter().try_for_each(|size| measure_key(&mut bench, size)))
}

struct Bench {
    table: Table,
    runs: u32,
}

/// Measures `work`, which makes `n` things, adds a row, and gives the microseconds of CPU time for one.
fn run(bench: &mut Bench, kernel: &str, bits: usize, n: usize, mut work: impl FnMut()) -> std::io::Result<String> {
    work();
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    for _ in 0..bench.runs {
        let (cpu, wall) = (usage::cpu_time(), Instant::now());
        work();
        walls.push(wall.elapsed().as_secs_f64() * 1e3);
        cpus.push((usage::cpu_time() - cpu).as_secs_f64() * 1e3);
    }
    let cpu = median(&cpus);
    bench.table.add(&Row {
        primitive: kernel.into(),
        variant: format!("{} {bits}", backend::chosen().name()),
        n,
        threads: 1,
        wall_ms: median(&walls),
        cpu_ms: vec![cpu],
        bytes: Vec::new(),
        peak_memory: usage::peak_memory(),
    })?;
    Ok(format!("{kernel} {:.3}", 1e3 * cpu / n as f64))
}

/// Measures all operations with a key of this size, in one line.
fn measure_key(bench: &mut Bench, size: KeySize) -> std::io::Result<()> {
    let bits = size.bits();
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let key = GmSecretKey::generate(size, &mut rng);
    let public = key.public();
    // About equally long for all sizes.
    let n = ((1 << 34) / bits.pow(2)).next_multiple_of(16 * LANES);
    let plain: Vec<bool> = (0..n).map(|_| rng.next_u32() & 1 == 1).collect();
    let encrypted = public.encrypt(&plain, &mut rng);
    let order: Vec<u32> = (0..n as u32).rev().collect();
    let mut parts = vec![run(bench, "encrypt", bits, n, || {
        black_box(public.encrypt(&plain, &mut rng));
    })?];
    parts.push(run(bench, "rerandomize", bits, n, || {
        black_box(public.rerandomize(&encrypted, &order, &mut rng));
    })?);
    parts.push(run(bench, "check", bits, n, || {
        black_box(public.read(encrypted.as_bytes()).expect("ciphertexts"));
    })?);
    parts.push(run(bench, "open", bits, n, || {
        black_box(key.open(encrypted.as_bytes()).expect("ciphertexts"));
    })?);
    parts.push(run(bench, "decrypt", bits, n, || {
        black_box(key.decrypt(&encrypted));
    })?);
    // Their parts: modulo numbers of as many bits, and the hash of a ciphertext.
    let modulus = crypto_bigint::BoxedUint::max(bits as u32).into_odd().expect("an odd number");
    let (field, jacobi) = (Montgomery::new(&modulus), Jacobi::new(&modulus));
    let numbers = vec![field.radix(); n / LANES];
    parts.push(run(bench, "symbol", bits, n, || {
        black_box(jacobi.symbols(black_box(&numbers)));
    })?);
    let mut product = field.one();
    parts.push(run(bench, "multiply", bits, n, || {
        numbers.iter().for_each(|number| field.multiply_into(black_box(number), black_box(number), &mut product));
    })?);
    parts.push(run(bench, "hash", bits, n, || {
        for bytes in encrypted.as_bytes().chunks(bits / 8) {
            black_box(blake3::hash(bytes));
        }
    })?);
    println!("{} {bits} bits, us of CPU time: {}", backend::chosen().name(), parts.join(", "));
    Ok(())
}
