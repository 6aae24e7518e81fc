//! Cost of oblivious key-value stores: sorting keys by bin, encoding, decoding; beside it a random band matrix.

use std::hint::black_box;
use std::io::Result;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::{Json, Repeat, Row, Sample, about, band, measure, median};
use tacita_core::primitive::kernel::{Aes128, Block, block};
use tacita_core::primitive::okvs::{Okvs, Params};
use tacita_core::security::Chance;
use tacita_node::base::usage;

#[derive(Parser)]
#[command(about = about(include_str!("okvs.rs")))]
struct Arguments {
    /// Keys of the largest store, as a power of two; the smallest has 2^10
    #[arg(default_value_t = 22, value_parser = clap::value_parser!(u32).range(10..=26))]
    log2_largest: u32,
    #[command(flatten)]
    repeat: Repeat<5>,
    #[command(flatten)]
    json: Json,
}

pub fn main() -> Result<()> {
    let Arguments { log2_largest, repeat: Repeat { runs }, json } = Arguments::parse_from(tacita_bench::arguments());
    let mut table = json.table()?;
    for threads in [1, 2] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads can be started");
        for exponent in (10..=log2_largest).step_by(2) {
            for row in pool.install(|| peeled(1 << exponent, threads, runs)) {
                table.add(&row)?;
            }
        }
    }
    for exponent in (10..=log2_largest.min(20)).step_by(2) {
        for row in banded(1 << exponent, runs) {
            table.add(&row)?;
        }
    }
    Ok(())
}

fn row(variant: String, n: usize, threads: usize, samples: &[Sample]) -> Row {
    let milliseconds = |of: fn(&Sample) -> std::time::Duration| {
        median(&samples.iter().map(|sample| of(sample).as_secs_f64() * 1e3).collect::<Vec<_>>())
    };
    Row {
        primitive: "okvs".into(),
        variant,
        n,
        threads,
        wall_ms: milliseconds(|sample| sample.wall),
        cpu_ms: vec![milliseconds(|sample| sample.cpu)],
        bytes: Vec::new(),
        peak_memory: usage::peak_memory(),
    }
}

fn peeled(n: usize, threads: usize, runs: u32) -> Vec<Row> {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let (keys, values) = (block::random(n, &mut rng), block::random(n, &mut rng));
    let params = Params::new(n, Chance::Store.bits()).expect("the number is below 2^32");
    let okvs = Okvs::new(params, &[1; 32]);
    let mut samples = [const { Vec::new() }; 3];
    for _ in 0..runs {
        let ((grouped, arranged), group) = measure(|| okvs.group(&keys, &values));
        let (encoded, encode) =
            measure(|| okvs.encode(&grouped, &arranged).expect("it fails less than once in 2^40 times"));
        let (decoded, decode) = measure(|| okvs.decode(&grouped, &encoded));
        assert!(decoded == arranged, "decoding is wrong");
        black_box(decoded);
        samples.iter_mut().zip([group, encode, decode]).for_each(|(samples, sample)| samples.push(sample));
    }
    let expansion = params.columns() as f64 / n as f64;
    let names = ["sort".to_owned(), format!("encode, {expansion:.3} a key"), "decode".to_owned()];
    names.into_iter().zip(samples).map(|(name, samples)| row(name, n, threads, &samples)).collect()
}

fn banded(n: usize, runs: u32) -> Vec<Row> {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let (keys, values) = (block::random(n, &mut rng), block::random(n, &mut rng));
    let ciphers = [Aes128::new(Block(1)), Aes128::new(Block(2))];
    let mut samples = [const { Vec::new() }; 2];
    for _ in 0..runs {
        let (encoded, encode) = measure(|| band::encode(&ciphers, &keys, &values).expect("rows are independent"));
        let (decoded, decode) = measure(|| band::decode(&ciphers, &keys, &encoded));
        assert!(decoded == values, "decoding is wrong");
        samples.iter_mut().zip([encode, decode]).for_each(|(samples, sample)| samples.push(sample));
    }
    let names = [format!("band {}: encode, {} a key", band::BAND, band::EXPANSION), "band: decode".to_owned()];
    names.into_iter().zip(samples).map(|(name, samples)| row(name, n, 1, &samples)).collect()
}
