//! Cost of scalar products, from the first message to the value: both parties in memory, by rows, OT extension and
//! threads. There is one binary column of each party; the second one learns the product. CPU times and bytes are of the
//! first party, who sends in the OTs, and of the second.

use std::io::Result;
use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::{Rng, SeedableRng};
use tacita_bench::pair::Pair;
use tacita_bench::{Json, Repeat, Row, Verdicts, about, median};
use tacita_core::Side;
use tacita_core::protocol::dot::ot::{self, Extension, Params};
use tacita_core::protocol::dot::{Columns, Integers, Shape, reveal};
use tacita_core::session::{Session, Transcript};
use tacita_node::base::usage;

const EXTENSIONS: [Extension; 4] =
    [Extension::SoftSpoken(2), Extension::SoftSpoken(4), Extension::SoftSpoken(8), Extension::Silent];

/// Wall milliseconds and megabytes of both parties that a million rows may take, with two threads in all.
const TARGETS: [(Extension, f64, f64); 3] = [
    (Extension::SoftSpoken(4), 100.0, 7.0),
    (Extension::SoftSpoken(8), f64::INFINITY, 5.0),
    (Extension::Silent, f64::INFINITY, 5.0),
];

#[derive(Parser)]
#[command(about = about(include_str!("dot_ot.rs")))]
struct Arguments {
    /// Rows of the longest run, as a power of ten; the shortest has 10^3
    #[arg(default_value_t = 7, value_parser = clap::value_parser!(u32).range(3..=8))]
    log10_largest: u32,
    #[command(flatten)]
    repeat: Repeat<5>,
    #[command(flatten)]
    json: Json,
}

pub fn main() -> Result<ExitCode> {
    let Arguments { log10_largest, repeat: Repeat { runs }, json } = Arguments::parse_from(tacita_bench::arguments());
    let mut table = json.table()?;
    let mut verdicts = Verdicts::default();
    for threads in [1, 2] {
        for extension in EXTENSIONS {
            for exponent in 3..=log10_largest {
                let row = dot(10usize.pow(exponent), extension, threads, runs);
                table.add(&row)?;
                let target = TARGETS.into_iter().find(|(of, ..)| *of == extension);
                if let (6, 1, Some((_, wall, megabytes))) = (exponent, threads, target) {
                    let sent = row.bytes.iter().sum::<u64>() as f64 / 1e6;
                    let line =
                        format!("{extension}: {:.1} ms (target {wall}), {sent:.2} MB ({megabytes})", row.wall_ms);
                    verdicts.add(line, row.wall_ms <= wall && sent <= megabytes);
                }
            }
        }
    }
    Ok(verdicts.end())
}

fn dot(n: usize, extension: Extension, threads: usize, runs: u32) -> Row {
    let bits = |seed: u8| {
        let mut rng = rng(seed);
        (0..n.div_ceil(64)).flat_map(move |_| {
            let word = rng.next_u64();
            (0..64).map(move |bit| (word >> bit & 1) as i64)
        })
    };
    let columns = |seed: u8| {
        let mut columns = Columns::new(Integers::BINARY, n);
        columns.push(bits(seed).take(n)).expect("bits are binary");
        columns
    };
    let expected: i64 = bits(1).zip(bits(2)).take(n).map(|(a, b)| a * b).sum();
    let (first, second) = (columns(1), columns(2));
    let shape = Shape { rows: n, first: 1, second: 1, integers: Integers::BINARY };
    let modulus = shape.value_modulus().expect("the rows are possible");
    let params = Params::new(shape, modulus, extension, Some(Side::Second)).expect("the shape is possible");
    let (mut walls, mut cpus, mut bytes) = (Vec::new(), [Vec::new(), Vec::new()], [0; 2]);
    for run in 0..runs as u8 {
        let mut pair = Pair::new(threads);
        let session = Session::new(Transcript::new(&format!("bench {run}")));
        let ((_, value), wall, cpu) = pair.run(
            |channel| {
                let shares = ot::run(Side::First, &first, &params, &session, channel, &mut rng(run ^ 100))?;
                reveal(&shares, false, true, channel)
            },
            |channel| {
                let shares = ot::run(Side::Second, &second, &params, &session, channel, &mut rng(run))?;
                reveal(&shares, true, false, channel)
            },
        );
        assert_eq!(value, Some(vec![expected as u128]), "the product is wrong");
        walls.push(wall);
        cpus.iter_mut().zip(cpu).for_each(|(all, one)| all.push(one));
        bytes = pair.bytes();
    }
    Row {
        primitive: "dot".into(),
        variant: format!("ot, {extension}"),
        n,
        threads,
        wall_ms: median(&walls),
        cpu_ms: cpus.iter().map(|cpus| median(cpus)).collect(),
        bytes: bytes.to_vec(),
        peak_memory: usage::peak_memory(),
    }
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}
