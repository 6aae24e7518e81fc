//! Cost of ristretto255's operations on one thread, as many at a time as the batch has. In the same run,
//! curve25519-dalek computes them one after the other.

use std::hint::black_box;
use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::traits::{MultiscalarMul, VartimeMultiscalarMul};
use curve25519_dalek::{RistrettoPoint, Scalar};
use rand_core::SeedableRng;
use tacita_bench::{Repeat, Verdicts, about, median};
use tacita_core::primitive::group::{Group, Ristretto255, ScalarField, expand_message_xmd};
use tacita_core::primitive::kernel::backend;
use tacita_node::base::usage;

/// Minimum factor by which the library takes more CPU time: products, with points that are decoded before and encoded
/// after.
const PRODUCTS: f64 = 3.0;

/// The same of hashing to the group.
const HASHES: f64 = 3.0;

/// The same of products of the generator.
const GENERATOR: f64 = 2.5;

#[derive(Parser)]
#[command(about = about(include_str!("points.rs")))]
struct Arguments {
    /// Points, as a power of two
    #[arg(default_value_t = 13, value_parser = clap::value_parser!(u32).range(3..=20))]
    log2_points: u32,
    #[command(flatten)]
    repeat: Repeat<5>,
}

pub fn main() -> ExitCode {
    let Arguments { log2_points, repeat: Repeat { runs } } = Arguments::parse_from(tacita_bench::arguments());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    pool.install(|| {
        let mut verdicts = Verdicts::default();
        let ratios = compare(1 << log2_points, runs);
        println!("kernels: {}", backend::chosen().name());
        if backend::chosen().name() == "avx512" && log2_points >= 10 {
            for (name, target) in
                [("products", PRODUCTS), ("hashes to points", HASHES), ("products of the generator", GENERATOR)]
            {
                let ratio = ratios.iter().find(|(operation, _)| *operation == name).map_or(0.0, |(_, ratio)| *ratio);
                verdicts.at_most(
                    &format!("{name}: the library's CPU that is asked for / the library's"),
                    target / ratio,
                    1.0,
                );
            }
        }
        verdicts.end()
    })
}

/// Median CPU seconds of `runs` runs.
fn cpu(runs: u32, mut work: impl FnMut()) -> f64 {
    let mut seconds = || {
        let start = usage::cpu_time();
        work();
        (usage::cpu_time() - start).as_secs_f64()
    };
    median(&(0..runs).map(|_| seconds()).collect::<Vec<_>>())
}

/// Prints a line for each operation, and says by how much the library's CPU is more.
fn compare(n: usize, runs: u32) -> Vec<(&'static str, f64)> {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let group = Ristretto255;
    let scalars = group.random_scalars(n, &mut rng);
    let numbers: Vec<Scalar> = scalars.iter().map(|scalar| number(&group.encode_scalar(scalar))).collect();
    let points = group.random_points(n, &mut rng);
    let encoded = group.encode(&points);
    let theirs: Vec<RistrettoPoint> = encoded.chunks(32).map(decompressed).collect();
    let messages: Vec<[u8; 16]> = (0..n as u128).map(u128::to_le_bytes).collect();
    let base = group.base(&points[0]);
    let mut ratios = Vec::new();
    let mut line = |name: &'static str, own: f64, library: f64| {
        let ratio = library / own;
        println!(
            "{name:28} {:8.3} us, curve25519-dalek {:8.3} us: {ratio:5.2} times",
            1e6 * own / n as f64,
            1e6 * library / n as f64
        );
        ratios.push((name, ratio));
    };
    line(
        "products",
        cpu(runs, || drop(black_box(group.multiply_encode(&group.decode(&encoded).expect("points"), &scalars[0])))),
        cpu(runs, || {
            for bytes in encoded.chunks(32) {
                black_box((decompressed(bytes) * numbers[0]).compress());
            }
        }),
    );
    line(
        "products alone",
        cpu(runs, || drop(black_box(group.multiply_each(&points, &scalars)))),
        cpu(runs, || {
            for (point, number) in theirs.iter().zip(&numbers) {
                black_box(point * number);
            }
        }),
    );
    line(
        "hashes to points",
        cpu(runs, || drop(black_box(group.hash_to_points(&messages, b"bench")))),
        cpu(runs, || {
            for message in &messages {
                let mut wide = [0; 64];
                expand_message_xmd(message, b"bench", &mut wide);
                black_box(RistrettoPoint::from_uniform_bytes(&wide));
            }
        }),
    );
    line(
        "products of the generator",
        cpu(runs, || drop(black_box(group.multiply_generator(&scalars)))),
        cpu(runs, || {
            for number in &numbers {
                black_box(RistrettoPoint::mul_base(number));
            }
        }),
    );
    line(
        "products of a made point",
        cpu(runs, || drop(black_box(group.multiply_base(&base, &scalars)))),
        cpu(runs, || {
            for number in &numbers {
                black_box(theirs[0] * number);
            }
        }),
    );
    line(
        "sums of 128 products",
        cpu(runs, || drop(black_box(group.combine(&points, &scalars)))),
        cpu(runs, || {
            for (points, numbers) in theirs.chunks(128).zip(numbers.chunks(128)) {
                black_box(RistrettoPoint::multiscalar_mul(numbers, points));
            }
        }),
    );
    line(
        "public sums of all products",
        cpu(runs, || drop(black_box(group.combine_public(&points, &scalars)))),
        cpu(runs, || {
            black_box(RistrettoPoint::vartime_multiscalar_mul(&numbers, &theirs));
        }),
    );
    line(
        "decodings",
        cpu(runs, || drop(black_box(group.decode(&encoded)))),
        cpu(runs, || {
            for bytes in encoded.chunks(32) {
                black_box(decompressed(bytes));
            }
        }),
    );
    line(
        "encodings",
        cpu(runs, || drop(black_box(group.encode(&points)))),
        cpu(runs, || {
            for point in &theirs {
                black_box(point.compress());
            }
        }),
    );
    line(
        "encodings of doubles",
        cpu(runs, || drop(black_box(group.double_encode(&points)))),
        cpu(runs, || drop(black_box(RistrettoPoint::double_and_compress_batch(&theirs)))),
    );
    ratios
}

fn decompressed(bytes: &[u8]) -> RistrettoPoint {
    CompressedRistretto::from_slice(bytes).ok().and_then(|bytes| bytes.decompress()).expect("a point")
}

fn number(bytes: &[u8]) -> Scalar {
    let bytes = bytes.try_into().expect("32 bytes");
    Option::from(Scalar::from_canonical_bytes(bytes)).expect("a scalar")
}
