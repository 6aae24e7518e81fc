//! Cost of a hidden alignment beside those of two intersections by `vole` and a count by `ecdh` of the same sets, in
//! the same run: CPU and wall time of both sides, bytes against their formula, memory. Then products over the rows of
//! either party beside products over as many rows by position.

use std::process::ExitCode;
use std::sync::OnceLock;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::pair::both;
use tacita_bench::{Repeat, Verdicts, about, median};
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::align::{self, Alignment};
use tacita_core::protocol::dot::ot::{self, Extension};
use tacita_core::protocol::dot::{Columns, Integers, Shape, reveal};
use tacita_core::protocol::intersect::{ecdh, tag_exchange, vole};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Item, Result, Security, Side};
use tacita_node::base::usage;

/// CPU time of the count by `ecdh` that an alignment may take, besides that of two runs of `vole`.
const COUNTS: f64 = 1.05;

/// Bytes of both sides that 2^20 items of each party may take, for each item.
const BYTES: f64 = 200e6 / (1 << 20) as f64;

/// Columns of zeros and ones of each party that products are made of.
const COLUMNS: usize = 16;

/// CPU time of products over rows in a common order, in that of products over as many rows by position.
const PRODUCTS: f64 = 1.05;

#[derive(Parser)]
#[command(about = about(include_str!("align.rs")))]
struct Arguments {
    /// Items of each party, as a power of two
    #[arg(default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=24))]
    log2_items: u32,
    #[command(flatten)]
    repeat: Repeat<3>,
}

pub fn main() -> Result<ExitCode> {
    let Arguments { log2_items, repeat: Repeat { runs } } = Arguments::parse_from(tacita_bench::arguments());
    let size = 1usize << log2_items;
    let items = |first: usize| -> Vec<Item> {
        (first..first + size).map(|number| Item::new(&[1; 32], &number.to_le_bytes())).collect()
    };
    let (first_items, second_items, common) = (items(0), items(size / 2), size - size / 2);
    let params = align::Params::new(size, size);
    let of_vole = vole::Params::new(tag_exchange::Params::rows(size, size), Security::SemiHonest)?;
    let of_count = ecdh::Params::new(tag_exchange::Params::count(size, size), Suite::Ristretto255);

    let (mut ratios, mut walls, mut cpus, mut bytes) = (Vec::new(), Vec::new(), Vec::new(), 0);
    let mut by_row = Vec::new();
    for run in 0..runs {
        let session = Session::new(Transcript::new(&format!("bench {run}")));
        let rng = |role: u8| ChaCha20Rng::from_seed([100 * role + run as u8; 32]);
        let (outcome, by_vole) = both(
            |channel| vole::rows::receive(&first_items, &session, &of_vole, channel, &mut rng(0)),
            |channel| vole::rows::send(&second_items, &session, &of_vole, channel, &mut rng(1)),
        );
        assert_eq!(outcome?.0.len(), common, "the intersection is wrong");
        let (outcome, by_ecdh) = both(
            |channel| ecdh::count::receive(&first_items, &session, &of_count, channel, &mut rng(0)),
            |channel| ecdh::count::send(&second_items, &session, &of_count, channel, &mut rng(1)),
        );
        assert_eq!(outcome?.0, common, "the count is wrong");
        let theirs = OnceLock::new();
        let (outcome, sample) = both(
            |channel| align::run(Side::First, &first_items, &session, &params, channel, &mut rng(0)),
            |channel| {
                let aligned = align::run(Side::Second, &second_items, &session, &params, channel, &mut rng(1))?;
                Ok(theirs.set(aligned))
            },
        );
        let (alignment, traffic) = outcome?;
        assert_eq!(alignment.common(), common, "the alignment is wrong");

        let [vole, ecdh, cpu] = [by_vole, by_ecdh, sample].map(|sample| sample.cpu.as_secs_f64());
        let wall = sample.wall.as_secs_f64();
        bytes = traffic.sent + traffic.received;
        ratios.push(cpu / (2.0 * vole + COUNTS * ecdh));
        walls.push(wall);
        cpus.push(cpu);
        let theirs = theirs.get().expect("the other side has ended");
        let [aligned, by_position] = [Some([&alignment, theirs]), None]
            .map(|aligned| products(aligned, alignment.rows(), size, &session));
        by_row.push(aligned? / by_position?);
        println!("run {run}: cpu {cpu:.3} s, wall {wall:.3} s; vole: cpu {vole:.3} s; count by ecdh: cpu {ecdh:.3} s");
    }

    let formula: Result<u64> = [Side::First, Side::Second].iter().map(|&side| params.bytes_sent_by(side, common)).sum();
    let peak = usage::peak_memory().map_or("unknown".into(), |bytes| format!("{:.0} MiB", bytes as f64 / 1048576.0));
    let counted = (params.memory(Side::First) + params.memory(Side::Second)) as f64 / 1048576.0;
    println!("{size} x {size} items, median of {runs}: cpu {:.3} s, wall {:.3} s", median(&cpus), median(&walls));
    println!("bytes: {bytes}, as counted beforehand {}", formula?);
    println!("peak memory of both sides in this process: {peak}; counted beforehand, without items: {counted:.0} MiB");
    let mut verdicts = Verdicts::default();
    verdicts.at_most("cpu time, in that of two runs of vole and 1.05 counts by ecdh", median(&ratios), 1.0);
    verdicts.at_most("bytes of both sides an item", bytes as f64 / size as f64, BYTES);
    verdicts.at_most("cpu time of products a row, in that by position", median(&by_row), PRODUCTS);
    Ok(verdicts.end())
}

/// CPU seconds of products of all columns over `rows` rows: of tables of `size` rows that are put into a common order,
/// in which the second half of the first and the first half of the second are common, or of tables of all rows.
fn products(aligned: Option<[&Alignment; 2]>, rows: usize, size: usize, session: &Session) -> Result<f64> {
    let is_one = |column: usize, row: usize| row.is_multiple_of(column + 2);
    let mut table = Columns::new(Integers::BINARY, if aligned.is_some() { size } else { rows });
    for column in 0..COLUMNS {
        table.push((0..table.rows()).map(|row| i64::from(is_one(column, row))))?;
    }
    let shape = Shape { rows, first: COLUMNS, second: COLUMNS, integers: Integers::BINARY };
    let params = ot::Params::new(shape, shape.value_modulus()?, Extension::SoftSpoken(4), None)?;
    let run = |side: Side, channel: &mut Channel| {
        let placed = aligned.map(|aligned| {
            let places: Vec<Option<u32>> = aligned[side as usize].positions().iter().copied().map(Some).collect();
            table.scatter(rows, &places)
        });
        let mut rng = ChaCha20Rng::from_seed([side as u8; 32]);
        let shares = ot::run(side, placed.as_ref().unwrap_or(&table), &params, session, channel, &mut rng)?;
        reveal(&shares, side == Side::First, side == Side::Second, channel)
    };
    let (outcome, sample) = both(|channel| run(Side::First, channel), |channel| run(Side::Second, channel));
    let (common, shift) = if aligned.is_some() { (size / 2..size, size / 2) } else { (0..rows, 0) };
    let last = COLUMNS - 1;
    let expected = common.filter(|&row| is_one(last, row) && is_one(last, row - shift)).count();
    assert_eq!(outcome?.0.and_then(|all| all.last().copied()), Some(expected as u128), "a product is wrong");
    Ok(sample.cpu.as_secs_f64())
}
