//! Intersections through a helper (`outsourced`), each role on a thread of its own: CPU and bytes of the leader, of the
//! party that has most to do of the others, and of the helper.

use std::time::Instant;

use chacha20::ChaCha20Rng;
use clap::{Parser, ValueEnum};
use rand_core::SeedableRng;
use rayon::{ThreadPool, ThreadPoolBuilder};
use tacita_bench::{Json, Repeat, Row, Table, about, median};
use tacita_core::Item;
use tacita_core::depot::{DepotParty, Shelf};
use tacita_core::primitive::group::Ristretto255;
use tacita_core::protocol::intersect::outsourced::meet::meet;
use tacita_core::protocol::intersect::outsourced::{
    OutsourcedGiven, OutsourcedGives, OutsourcedParty, OutsourcedResult, OutsourcedReveal, OutsourcedValues, Params,
    follow, helper, lead,
};
use tacita_core::protocol::intersect::tag_exchange::Payload;
use tacita_core::session::Transcript;
use tacita_node::base::usage;

#[derive(Parser)]
#[command(about = about(include_str!("outsourced.rs")))]
struct Arguments {
    /// Items of each party, as a power of two
    #[arg(default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=20))]
    log2_items: u32,
    /// Numbers of parties
    #[arg(long, value_delimiter = ',', default_value = "4,8,16", value_parser = clap::value_parser!(u8).range(2..=64))]
    parties: Vec<u8>,
    /// Kind of result that is revealed
    #[arg(long, value_enum, default_value_t = What::Rows)]
    reveal: What,
    #[command(flatten)]
    repeat: Repeat<3>,
    #[command(flatten)]
    json: Json,
}

#[derive(Clone, Copy, ValueEnum)]
enum What {
    Rows,
    Count,
    Sum,
    Counts,
    /// Rows, with one of 16 bytes from another party for each
    Payload,
}

/// Length of the rows that a party gives.
const ROW_BYTES: usize = 16;

pub fn main() -> std::io::Result<()> {
    let Arguments { log2_items, parties, reveal, repeat: Repeat { runs }, json } =
        Arguments::parse_from(tacita_bench::arguments());
    let mut table = json.table()?;
    for parties in parties {
        measure(&mut table, usize::from(parties), 1 << log2_items, reveal, runs)?;
    }
    Ok(())
}

fn measure(table: &mut Table, parties: usize, n: usize, what: What, runs: u32) -> std::io::Result<()> {
    let (name, reveal) = match what {
        What::Rows => ("rows", OutsourcedReveal::Rows),
        What::Count => ("count", OutsourcedReveal::Count),
        What::Sum => ("sum", OutsourcedReveal::Sum { giver: 1, bits: 16 }),
        What::Counts => ("counts", OutsourcedReveal::Counts { giver: 1, categories: 16 }),
        What::Payload => ("payload", OutsourcedReveal::Payload),
    };
    let mut params = Params::new(parties, n, 0, vec![0], reveal).expect("a run that can be");
    if let What::Payload = what {
        let gives = OutsourcedGives { party: 1, head_bytes: 0, row_bytes: ROW_BYTES };
        params = params.giving(vec![gives]).expect("rows that can be given");
    }
    let (mut walls, mut cpus, mut bytes) = (Vec::new(), vec![Vec::new(); 3], Vec::new());
    for _ in 0..runs {
        let (wall, cpu, moved) = run(&params, parties, n);
        walls.push(wall);
        let (others, own) = (cpu[1..parties].iter().copied().fold(0.0, f64::max), [cpu[0], cpu[parties]]);
        cpus.iter_mut().zip([own[0], others, own[1]]).for_each(|(all, one)| all.push(one));
        bytes = moved;
    }
    table.add(&Row {
        primitive: "intersect".into(),
        variant: format!("outsourced, {name}, {parties} parties"),
        n,
        threads: 1,
        wall_ms: median(&walls),
        cpu_ms: cpus.iter().map(|cpus| median(cpus)).collect(),
        bytes,
        peak_memory: usage::peak_memory(),
    })
}

/// The time of the clock, the CPU of each party and the helper, and the bytes that leader, another and helper leave.
fn run(params: &Params, parties: usize, n: usize) -> (f64, Vec<f64>, Vec<u64>) {
    let names: Vec<String> = (0..parties).map(|place| place.to_string()).collect();
    let shelf = Shelf::new(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let pool = || ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    let started = Instant::now();
    let cpus = std::thread::scope(|scope| {
        let shelf = &shelf;
        let part = |place: usize| move || timed(&pool(), || party(params, shelf, place, parties, n));
        let roles: Vec<_> = (0..parties).map(|place| scope.spawn(part(place))).collect();
        let helper = scope.spawn(move || {
            timed(&pool(), || {
                helper::run(params, &shelf.user(DepotParty::Helper), &[9; 32]).expect("all keep to the protocol");
            })
        });
        roles.into_iter().chain([helper]).map(|role| role.join().expect("no role panics")).collect()
    });
    let wall = started.elapsed().as_secs_f64() * 1e3;
    let left = [DepotParty::Party(0), DepotParty::Party(1), DepotParty::Helper].map(|place| shelf.moved(place)[0]);
    (wall, cpus, left.to_vec())
}

/// CPU in milliseconds that `work` takes on the one thread of a pool.
fn timed(pool: &ThreadPool, work: impl FnOnce() + Send) -> f64 {
    pool.install(|| {
        let before = usage::thread_cpu_time();
        work();
        (usage::thread_cpu_time() - before).as_secs_f64() * 1e3
    })
}

/// Half of each party's items are everybody's.
fn party(params: &Params, shelf: &Shelf, me: usize, parties: usize, n: usize) {
    let mut rng = ChaCha20Rng::from_seed([me as u8 + 1; 32]);
    let depot = shelf.user(DepotParty::Party(me as u8));
    let (met, post) = meet(&Ristretto255, me, parties, &Transcript::new("bench"), &depot, &mut rng).expect("all prove");
    let key = met.session.derive("item");
    let number = |index: usize| if index < n / 2 { index } else { index + (me + 1) * n };
    let items: Vec<Item> = (0..n).map(|index| Item::new(&key, &number(index).to_le_bytes())).collect();
    let (numbers, categories) = (vec![7; n], vec![0; n]);
    let names = [b"one".to_vec()];
    let rows = rows_of(n);
    let values = match params.reveal() {
        OutsourcedReveal::Payload if me == 1 => OutsourcedValues::Rows(&[], &rows),
        OutsourcedReveal::Sum { giver, .. } if giver == me => OutsourcedValues::Numbers(&numbers),
        OutsourcedReveal::Counts { giver, .. } if giver == me => OutsourcedValues::Categories(&categories, &names),
        _ => OutsourcedValues::Nothing,
    };
    let party = OutsourcedParty { me, params, items: &items, values, met: &met, post: &post };
    if me != params.leader() {
        follow(&party, &mut rng).expect("all keep to the protocol");
        return;
    }
    let found = lead(&party, &mut rng).expect("all keep to the protocol");
    let common = (n / 2) as u64;
    let expected = match params.reveal() {
        OutsourcedReveal::Rows => OutsourcedResult::Rows((0..n / 2).collect()),
        OutsourcedReveal::Payload => {
            let OutsourcedResult::Payload(sealed) = found else { panic!("rows are given") };
            let given = OutsourcedGiven { party: 1, head: Vec::new(), rows: rows_of(n / 2) };
            let opened = sealed.open(&items).expect("all keep to the protocol");
            assert_eq!(opened, ((0..n / 2).collect(), vec![given]), "the result is right");
            return;
        }
        OutsourcedReveal::Count => OutsourcedResult::Count(common),
        OutsourcedReveal::Sum { .. } => OutsourcedResult::Sum(common, 7 * common),
        OutsourcedReveal::Counts { .. } => OutsourcedResult::Counts(vec![(b"one".to_vec(), common)]),
    };
    assert_eq!(found, expected, "the result is right");
}

/// A row of a giver for each of so many items.
fn rows_of(items: usize) -> Payload {
    let mut rows = Payload::new(ROW_BYTES);
    (0..items).try_for_each(|_| rows.push(1, &[7; ROW_BYTES])).expect("rows of the agreed length");
    rows
}
