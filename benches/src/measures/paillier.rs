//! Throughput of Paillier's cryptosystem on one thread, by the size of keys. Set `TACITA_PORTABLE=1` for the form that
//! every processor runs.

use std::hint::black_box;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::{Rng, SeedableRng};
use tacita_bench::{Json, Repeat, Row, Table, about, key_size, median};
use tacita_core::primitive::kernel::backend;
use tacita_core::primitive::kernel::montgomery::{LANES, Montgomery};
use tacita_core::primitive::ot::Choices;
use tacita_core::primitive::paillier::{CiphertextProducts, KeySize, PaillierSecretKey};
use tacita_node::base::usage;

#[derive(Parser)]
#[command(about = about(include_str!("paillier.rs")))]
struct Arguments {
    /// Lengths of keys in bits
    #[arg(default_values = ["1024", "2048", "3072"], value_parser = key_size)]
    bits: Vec<KeySize>,
    #[command(flatten)]
    repeat: Repeat<3>,
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

/// Measures `work`, which makes `n` things, and adds a row.
fn run(bench: &mut Bench, kernel: &str, bits: usize, n: usize, mut work: impl FnMut()) -> std::io::Result<()> {
    work();
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    for _ in 0..bench.runs {
        let (cpu, wall) = (usage::cpu_time(), Instant::now());
        work();
        walls.push(wall.elapsed().as_secs_f64() * 1e3);
        cpus.push((usage::cpu_time() - cpu).as_secs_f64() * 1e3);
    }
    let cpu = median(&cpus);
    println!("{kernel} at {bits} bits: {:.0} a second of CPU time", 1e3 * n as f64 / cpu);
    bench.table.add(&Row {
        primitive: kernel.into(),
        variant: format!("{} {bits}", backend::chosen().name()),
        n,
        threads: 1,
        wall_ms: median(&walls),
        cpu_ms: vec![cpu],
        bytes: Vec::new(),
        peak_memory: usage::peak_memory(),
    })
}

/// Measures all operations with a key of this size.
fn measure_key(bench: &mut Bench, size: KeySize) -> std::io::Result<()> {
    let bits = size.bits();
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    // Modulo a number of as many bits: the key's owner computes with those, everybody else with twice as many.
    let modulus = crypto_bigint::BoxedUint::max(bits as u32).into_odd().expect("an odd number");
    let field = Montgomery::new(&modulus);
    let (mut a, mut product) = (field.radix(), field.one());
    let rounds = (1 << 32) / bits.pow(2);
    run(bench, "multiply", bits, LANES * rounds, || {
        for _ in 0..rounds {
            field.multiply_into(black_box(&a), black_box(&a), &mut product);
            std::mem::swap(&mut a, &mut product);
        }
    })?;
    let mut keys = 0;
    run(bench, "generate", bits, 1, || {
        keys += 1;
        black_box(PaillierSecretKey::generate(size, &mut ChaCha20Rng::from_seed([keys; 32])));
    })?;
    let key = PaillierSecretKey::generate(size, &mut rng);
    let public = key.public();
    // About equally long for all sizes.
    let n = ((1 << 34) / bits.pow(3)).max(1) * 64;
    let zeros = public.encode(&vec![0; n]);
    let random = public.random(n, &mut rng);
    run(bench, "encrypt, owner", bits, n, || {
        black_box(key.encrypt(&zeros, &mut rng));
    })?;
    run(bench, "encrypt, public", bits, n, || {
        black_box(public.encrypt(&zeros, &mut rng));
    })?;
    let few = n.div_ceil(8).next_multiple_of(8);
    let some = key.encrypt(&public.encode(&vec![1; few]), &mut rng);
    run(bench, "decrypt", bits, few, || {
        black_box(key.decrypt(&some));
    })?;
    run(bench, "rerandomize", bits, few, || {
        black_box(public.rerandomize(&some, &mut rng));
    })?;
    let all = key.encrypt(&random, &mut rng);
    let many = public.add(&all, &all).select((0..16 * n).map(|number| number % n));
    run(bench, "read", bits, n, || {
        black_box(public.read(&all.to_bytes()).expect("ciphertexts"));
    })?;
    let choices = [Choices::from_bits((0..many.len()).map(|_| rng.next_u32() & 1 == 1))];
    run(bench, "product", bits, many.len(), || {
        let mut product = CiphertextProducts::new(public, 1);
        product.multiply(&many, &choices);
        black_box(product.finish());
    })
}
