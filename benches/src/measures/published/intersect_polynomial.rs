//! Cost of `polynomial`, both parties in memory: in one bin, as it was published, by every strategy; and in bins, as
//! chosen. Ends with an error if another strategy takes less than 1/1.2 of the time of the one that is chosen. Rates
//! are of items of both parties.

use std::io::Result;
use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::pair::Pair;
use tacita_bench::{Json, MISSED, Repeat, Row, about, median};
use tacita_core::protocol::published::intersect::polynomial::{
    Params, PolynomialRequest, PolynomialReveal, Strategy, count, rows,
};
use tacita_core::{Item, Level};
use tacita_node::base::usage;

#[derive(Parser)]
#[command(about = about(include_str!("intersect_polynomial.rs")))]
struct Arguments {
    /// Logarithms of the numbers of items of each party
    #[arg(default_values_t = [6u32, 8, 10], value_parser = clap::value_parser!(u32).range(1..=20))]
    sizes: Vec<u32>,
    /// Leave out what is estimated to take longer than this, in seconds
    #[arg(long, default_value_t = 60)]
    most: u32,
    #[command(flatten)]
    repeat: Repeat<3>,
    #[command(flatten)]
    json: Json,
}

/// A multiplication of a point in ristretto255, in seconds, to estimate with.
const MULTIPLICATION: f64 = 12e-6;

/// The choice may take so many times the time of the best.
const MARGIN: f64 = 1.2;

pub fn main() -> Result<ExitCode> {
    let Arguments { sizes, most, repeat: Repeat { runs }, json } = Arguments::parse_from(tacita_bench::arguments());
    let (mut table, mut missed) = (json.table()?, false);
    for (log2, reveal) in
        sizes.iter().flat_map(|&log2| [(log2, PolynomialReveal::Rows), (log2, PolynomialReveal::Count)])
    {
        let size = 1usize << log2;
        for bins in [Some(1), None] {
            let params = |strategy| {
                let wanted = PolynomialRequest { level: Level::Bits128, reveal, strategy, bins, runs: 1 };
                Params::new(wanted, size, size).expect("the sizes are possible")
            };
            let chosen = params(None);
            let mut times = Vec::new();
            for strategy in Strategy::ALL {
                let params = params(Some(strategy));
                if params.cost().work() * MULTIPLICATION > f64::from(most) {
                    continue;
                }
                let row = intersect(&params, params.strategy() == chosen.strategy(), runs);
                times.push((row.cpu_ms.iter().sum::<f64>(), strategy));
                table.add(&row)?;
            }
            let best = times.iter().map(|(time, _)| *time).fold(f64::INFINITY, f64::min);
            let of_choice = times.iter().find(|(_, strategy)| *strategy == chosen.strategy());
            if let Some((time, strategy)) = of_choice {
                println!("{strategy} is chosen: {:.2} of the best one's time", time / best);
                missed |= *time > MARGIN * best;
            }
        }
    }
    Ok(if missed { ExitCode::from(MISSED) } else { ExitCode::SUCCESS })
}

fn items(numbers: std::ops::Range<usize>) -> Vec<Item> {
    numbers.map(|number| Item::new(&[1; 32], &number.to_le_bytes())).collect()
}

fn intersect(params: &Params, chosen: bool, runs: u32) -> Row {
    let n = params.items(tacita_core::Role::Receiver);
    let (mine, theirs) = (items(0..n), items(n / 2..n / 2 + n));
    let (mut walls, mut cpus, mut bytes) = (Vec::new(), [Vec::new(), Vec::new()], [0; 2]);
    for run in 0..runs as u8 {
        let mut pair = Pair::new(1);
        let rng = |role: u8| ChaCha20Rng::from_seed([run ^ role; 32]);
        let ((_, found), wall, cpu) = pair.run(
            |channel| match params.reveal() {
                PolynomialReveal::Rows => rows::send(&theirs, params, channel, &mut rng(100)),
                PolynomialReveal::Count => count::send(&theirs, params, channel, &mut rng(100)),
            },
            |channel| match params.reveal() {
                PolynomialReveal::Rows => rows::receive(&mine, params, channel, &mut rng(0)).map(|rows| rows.len()),
                PolynomialReveal::Count => count::receive(&mine, params, channel, &mut rng(0)),
            },
        );
        assert_eq!(found, n - n / 2, "the intersection is wrong");
        walls.push(wall);
        cpus.iter_mut().zip(cpu).for_each(|(all, one)| all.push(one));
        bytes = pair.bytes();
    }
    let reveal = if params.reveal() == PolynomialReveal::Rows { "rows" } else { "count" };
    let mark = if chosen { "*" } else { "" };
    Row {
        primitive: format!("{reveal} {}", params.curve().name()),
        variant: format!("{}{mark}, {} bins", params.strategy(), params.bins()),
        n: 2 * n,
        threads: 1,
        wall_ms: median(&walls),
        cpu_ms: cpus.iter().map(|of_party| median(of_party)).collect(),
        bytes: bytes.to_vec(),
        peak_memory: usage::peak_memory(),
    }
}
