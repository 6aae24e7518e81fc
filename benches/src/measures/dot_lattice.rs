//! Cost of scalar products by `lattice`: transforms, one product, further products of kept columns, a matrix. Both
//! parties run in this process, each on threads of its own, over a channel in memory. Bytes are those of each party for
//! one row.

use std::hint::black_box;
use std::io::Result;
use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::{Rng, SeedableRng};
use tacita_bench::pair::Pair;
use tacita_bench::{Json, Repeat, Row, Verdicts, about, measure, median};
use tacita_core::Side;
use tacita_core::primitive::kernel::backend::{self, Backend};
use tacita_core::primitive::kernel::ntt::Ntt;
use tacita_core::primitive::rlwe::Ring;
use tacita_core::protocol::dot::lattice::{self, Answerer, Encryptor, Params};
use tacita_core::protocol::dot::{Columns, Integers, Shape};
use tacita_core::session::{Session, Transcript};
use tacita_node::base::usage;

/// Wall milliseconds on two cores: of one product of 10^6 rows, of each further one, and of 100 x 100 columns of 10^5
/// rows.
const TARGETS: [f64; 3] = [60.0, 3.0, 10_000.0];

/// Bytes of the encrypting side for each row and column, without and with several columns in a number.
const BYTES: [f64; 2] = [13.0, 5.0];

/// Further products that are asked for one by one.
const FURTHER: usize = 8;

#[derive(Parser)]
#[command(about = about(include_str!("dot_lattice.rs")))]
struct Arguments {
    /// Rows of the longest columns; the shortest have 1000
    #[arg(default_value_t = 1_000_000, value_parser = clap::value_parser!(u32).range(1000..=100_000_000))]
    largest: u32,
    #[command(flatten)]
    repeat: Repeat<5>,
    #[command(flatten)]
    json: Json,
}

pub fn main() -> Result<ExitCode> {
    let Arguments { largest, repeat: Repeat { runs }, json } = Arguments::parse_from(tacita_bench::arguments());
    let (largest, mut table) = (largest as usize, json.table()?);
    let mut verdicts = Verdicts::default();
    for degree in [4096, 8192, 32768] {
        for backend in backend::available() {
            // The others take the portable form.
            if ["portable", "avx512"].contains(&backend.name()) {
                table.add(&transforms(backend, degree, runs))?;
            }
        }
    }
    for threads in [1, 2] {
        let bench = Bench { threads, runs };
        for rows in [1000, 10_000, 100_000, 1_000_000].into_iter().filter(|&rows| rows <= largest) {
            for learner in [None, Some(Side::First)] {
                let (row, best) = bench.products(binary(rows, 1, 1), learner);
                table.add(&row)?;
                if rows == 1_000_000 && threads == 2 {
                    verdicts.at_most("one product of 10^6 rows, ms", best, TARGETS[0]);
                    verdicts.at_most("its bytes a row", row.bytes[0] as f64 / rows as f64, BYTES[0]);
                }
            }
        }
        let further = bench.further(largest);
        further.iter().try_for_each(|(row, _)| table.add(row))?;
        let [_, (_, together), _] = further;
        if largest == 1_000_000 && threads == 2 {
            let what = "each of 8 further products, asked for together, ms";
            verdicts.at_most(what, together / FURTHER as f64, TARGETS[1]);
        }
        let rows = largest / 10;
        for (learner, most) in [(None, BYTES[0]), (Some(Side::First), BYTES[1])] {
            let (row, best) = Bench { runs: 1, ..bench }.products(binary(rows, 100, 100), learner);
            table.add(&row)?;
            if rows == 100_000 && threads == 2 {
                verdicts.at_most("100 x 100 columns of 10^5 rows, ms", best, TARGETS[2]);
                verdicts.at_most("its bytes a row and column", row.bytes[0] as f64 / (rows * 100) as f64, most);
            }
        }
    }
    Ok(verdicts.end())
}

/// Forward transforms modulo a prime of 50 bits, one after the other.
fn transforms(backend: Backend, degree: usize, runs: u32) -> Row {
    const COUNT: usize = 500;
    let ring = Ring::new(degree, 50, 1);
    let prime = ring.primes()[0].prime();
    let ntt = Ntt::on(backend, *prime, degree);
    let mut values: Vec<_> =
        (0..degree as u64).map(|value| prime.reduce(value.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
    let samples: Vec<_> = (0..runs)
        .map(|_| measure(|| (0..COUNT).for_each(|_| ntt.forward(black_box(&mut values)))).1)
        .map(|sample| [sample.wall, sample.cpu].map(|time| time.as_secs_f64() * 1e3))
        .collect();
    let middle = |index: usize| median(&samples.iter().map(|sample| sample[index]).collect::<Vec<_>>());
    Row {
        primitive: format!("NTT {degree}"),
        variant: backend.name().into(),
        n: COUNT,
        threads: 1,
        wall_ms: middle(0),
        cpu_ms: vec![middle(1)],
        bytes: Vec::new(),
        peak_memory: usage::peak_memory(),
    }
}

/// Wall milliseconds, and CPU milliseconds and bytes of the first and of the second party.
type Run = (f64, [f64; 2], [u64; 2]);

#[derive(Clone, Copy)]
struct Bench {
    threads: usize,
    runs: u32,
}

impl Bench {
    /// The medians of several runs, and the least wall milliseconds: other work on the machine only ever adds to them.
    fn row(&self, primitive: String, variant: String, n: usize, runs: &[Run]) -> (Row, f64) {
        let middle = |value: &dyn Fn(&Run) -> f64| median(&runs.iter().map(value).collect::<Vec<_>>());
        let best = runs.iter().map(|run| run.0).fold(f64::INFINITY, f64::min);
        let row = Row {
            primitive,
            variant,
            n,
            threads: self.threads,
            wall_ms: middle(&|run| run.0),
            cpu_ms: vec![middle(&|run| run.1[0]), middle(&|run| run.1[1])],
            bytes: runs[0].2.to_vec(),
            peak_memory: usage::peak_memory(),
        };
        (row, best)
    }

    /// Measures all products of two parties' columns.
    fn products(&self, shape: Shape, learner: Option<Side>) -> (Row, f64) {
        let (a, b) = (columns(&shape, shape.first, 1), columns(&shape, shape.second, 2));
        let modulus = shape.value_modulus().expect("a modulus holds the values");
        let runs: Vec<_> = (0..self.runs)
            .map(|_| {
                let mut pair = Pair::new(self.threads);
                let params = Params::new(shape, modulus, learner).expect("parameters fit");
                let ((one, two), wall, cpu) = pair.run(
                    |channel| lattice::run(Side::First, &a, &params, &session(), channel, &mut rng(3)),
                    |channel| lattice::run(Side::Second, &b, &params, &session(), channel, &mut rng(4)),
                );
                assert_eq!(one.open(&two)[0], product(&a, &b), "the shares do not fit");
                (wall, cpu, pair.bytes())
            })
            .collect();
        let what = if learner.is_some() { "values" } else { "shares" };
        self.row(format!("dot {} x {}", shape.first, shape.second), what.into(), shape.rows, &runs)
    }

    /// Sending one column and preparing [`FURTHER`] others; and then [`FURTHER`] products, together and one after the
    /// other.
    fn further(&self, rows: usize) -> [(Row, f64); 3] {
        let shape = binary(rows, 1, FURTHER);
        let (a, b) = (columns(&shape, 1, 1), columns(&shape, FURTHER, 2));
        let modulus = shape.value_modulus().expect("a modulus holds the values");
        let params = Params::keeping(shape, modulus, 2 * FURTHER * self.runs as usize).expect("parameters fit");
        let mut pair = Pair::new(self.threads);
        let ((encryptor, (mut answerer, encrypted, prepared)), wall, cpu) = pair.run(
            |channel| {
                let rng = &mut rng(3);
                let mut encryptor = Encryptor::new(&params, &session(), rng);
                encryptor.send_keys(channel)?;
                encryptor.send_columns(&a, 0, channel, rng)?;
                Ok(encryptor)
            },
            |channel| {
                let answerer = Answerer::receive_keys(&params, &session(), channel)?;
                let encrypted = answerer.receive_columns(channel)?;
                let prepared = answerer.prepare(&b, 0)?;
                Ok((answerer, encrypted, prepared))
            },
        );
        let mut sent = pair.bytes();
        let preparing = self.row("dot kept".into(), "send, prepare 8".into(), rows, &[(wall, cpu, sent)]);
        let pairs: Vec<_> = (0..FURTHER).map(|second| (0, second)).collect();
        let answers = params.answers_for(&pairs).expect("products");
        let mut products = |together: usize| {
            let runs: Vec<_> = (0..self.runs)
                .map(|_| {
                    let ((one, two), wall, cpu) = pair.run(
                        |channel| {
                            answers.iter().map(|answer| Ok(encryptor.receive_answer(answer, channel)?[0])).collect()
                        },
                        |channel| {
                            let mut shares = Vec::new();
                            for answers in answers.chunks(together) {
                                let products = answerer.multiply(&encrypted, &prepared, answers)?;
                                answerer.send_answers(answers, &products, channel, &mut rng(9), |_, values| {
                                    shares.push(values[0]);
                                })?;
                            }
                            Ok(shares)
                        },
                    );
                    let one: Vec<u128> = one;
                    assert_eq!(modulus.add(one[0], two[0]), product(&a, &b), "the shares do not fit");
                    let now = pair.bytes();
                    let bytes = [now[0] - sent[0], now[1] - sent[1]];
                    sent = now;
                    (wall, cpu, bytes)
                })
                .collect();
            let variant = if together == 1 { "8, one by one" } else { "8 together" };
            self.row("dot kept".into(), variant.into(), rows, &runs)
        };
        let (together, each) = (products(FURTHER), products(1));
        [preparing, together, each]
    }
}

fn binary(rows: usize, first: usize, second: usize) -> Shape {
    Shape { rows, first, second, integers: Integers::BINARY }
}

fn columns(shape: &Shape, count: usize, seed: u8) -> Columns {
    let (mut columns, mut rng) = (Columns::new(shape.integers, shape.rows), rng(seed));
    for _ in 0..count {
        columns.push((0..shape.rows).map(|_| i64::from(rng.next_u32() & 1))).expect("bits");
    }
    columns
}

/// The product of both parties' first columns.
fn product(a: &Columns, b: &Columns) -> u128 {
    (0..a.rows()).map(|row| (a.value(0, row) * b.value(0, row)) as u128).sum()
}

fn session() -> Session {
    Session::new(Transcript::new("bench"))
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}
