//! Cost of `star` from items to common items, beside a two-party run of `vole` on as many items: all parties in memory.
//!
//! CPU times are of the leader first, then of each other party; so are bytes.

use std::io::Result;
use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use rayon::ThreadPool;
use tacita_bench::pair::Pair;
use tacita_bench::{Json, Repeat, Row, Verdicts, about, measure, median};
use tacita_core::protocol::intersect::opprf::OpprfSender;
use tacita_core::protocol::intersect::star::{self, Params, MeshLink, StarParty};
use tacita_core::protocol::intersect::{tag_exchange, vole};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Item, Security};
use tacita_node::base::usage;

/// CPU time of four parties with 2^20 items each, in two-party runs of `vole`.
const TARGET: f64 = 3.2;

/// Maximum ratio between the CPU times of a party that does not lead, from one number of parties to another.
const SPREAD: f64 = 1.1;

#[derive(Parser)]
#[command(about = about(include_str!("intersect_star.rs")))]
struct Arguments {
    /// Items of each party where there are four, as a power of two; a sixteenth of it where there are more
    #[arg(default_value_t = 20, value_parser = clap::value_parser!(u32).range(10..=24))]
    log2_items: u32,
    #[command(flatten)]
    repeat: Repeat<3>,
    #[command(flatten)]
    json: Json,
}

pub fn main() -> Result<ExitCode> {
    let Arguments { log2_items, repeat: Repeat { runs }, json } = Arguments::parse_from(tacita_bench::arguments());
    let mut table = json.table()?;
    let mut verdicts = Verdicts::default();
    let (most, few) = (1 << log2_items, 1 << (log2_items - 4).max(10));

    let two = by_vole(most, runs);
    table.add(&two)?;
    let four = by_star(4, most, runs);
    table.add(&four)?;
    let ratio = four.cpu_ms.iter().sum::<f64>() / two.cpu_ms.iter().sum::<f64>();
    verdicts.add(format!("four parties: {ratio:.2} runs of vole (target {TARGET})"), ratio <= TARGET);

    let mut others = Vec::new();
    for parties in [4, 8, 16] {
        let row = by_star(parties, few, runs);
        others.push(median(&row.cpu_ms[1..]));
        table.add(&row)?;
    }
    let spread = others.iter().copied().fold(0.0, f64::max) / others.iter().copied().fold(f64::MAX, f64::min);
    verdicts.add(format!("a party that does not lead: {spread:.2} from 4 to 16 (target {SPREAD})"), spread <= SPREAD);
    Ok(verdicts.end())
}

/// Items of a party, half of which all have.
fn items(party: usize, n: usize) -> Vec<Item> {
    let number = |place: usize| if place < n / 2 { place } else { (party + 1) * n + place };
    (0..n).map(|place| Item::new(&[1; 32], &number(place).to_le_bytes())).collect()
}

fn row(variant: String, n: usize, walls: &[f64], cpus: &[Vec<f64>], bytes: Vec<u64>) -> Row {
    Row {
        primitive: "intersect".into(),
        variant,
        n,
        threads: 1,
        wall_ms: median(walls),
        cpu_ms: cpus.iter().map(|cpus| median(cpus)).collect(),
        bytes,
        peak_memory: usage::peak_memory(),
    }
}

fn by_vole(n: usize, runs: u32) -> Row {
    let (own, theirs) = (items(0, n), items(1, n));
    let params =
        vole::Params::new(tag_exchange::Params::rows(n, n), Security::SemiHonest).expect("the sizes are possible");
    let (mut walls, mut cpus, mut bytes) = (Vec::new(), vec![Vec::new(); 2], Vec::new());
    for run in 0..runs as u8 {
        let mut pair = Pair::new(1);
        let session = Session::new(Transcript::new(&format!("bench {run}")));
        let rng = |role: u8| ChaCha20Rng::from_seed([run ^ role; 32]);
        let ((_, common), wall, cpu) = pair.run(
            |channel| vole::rows::send(&theirs, &session, &params, channel, &mut rng(100)),
            |channel| vole::rows::receive(&own, &session, &params, channel, &mut rng(0)),
        );
        assert!(common.into_iter().eq(0..n / 2), "the intersection is wrong");
        walls.push(wall);
        cpus.iter_mut().zip(cpu).for_each(|(all, one)| all.push(one));
        bytes = pair.bytes().to_vec();
    }
    row("vole".into(), n, &walls, &cpus, bytes)
}

fn by_star(parties: usize, n: usize, runs: u32) -> Row {
    let sets: Vec<Vec<Item>> = (0..parties).map(|party| items(party, n)).collect();
    let params = Params::new(vec![n; parties], 0, vec![0], Vec::new()).expect("the sizes are possible");
    let (mut walls, mut cpus, mut bytes) = (Vec::new(), vec![Vec::new(); parties], Vec::new());
    for run in 0..runs as u8 {
        let session = Session::new(Transcript::new(&format!("bench {run}")));
        let (mut ends, others): (Vec<_>, Vec<_>) = (1..parties).map(|_| Channel::pair("leader", "other")).unzip();
        let pool = |_| rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("threads start");
        let pools: Vec<ThreadPool> = (1..parties).map(pool).collect();
        let (sets, params, session) = (&sets, &params, &session);
        let (sent, sample) = measure(|| {
            std::thread::scope(|scope| {
                let threads: Vec<_> = others
                    .into_iter()
                    .zip(&pools)
                    .zip(1..)
                    .map(|((mut channel, pool), me)| {
                        scope.spawn(move || {
                            pool.install(|| other(me, &sets[me], params, session, &mut channel));
                            channel.traffic().sent
                        })
                    })
                    .collect();
                let links = links(0, parties, session);
                let party = StarParty { me: 0, items: &sets[0], rows: None, params, session, links: &links };
                let rng = &mut ChaCha20Rng::from_seed([run; 32]);
                let common = star::run(party, &mut ends, rng).expect("the leader succeeds").expect("it learns");
                assert!(common.items.into_iter().eq(0..n / 2), "the intersection is wrong");
                threads.into_iter().map(|thread| thread.join().expect("no panic")).collect::<Vec<u64>>()
            })
        });
        let cpu = |pool: &ThreadPool| pool.install(usage::thread_cpu_time).as_secs_f64() * 1e3;
        let others: Vec<f64> = pools.iter().map(cpu).collect();
        let leader = sample.cpu.as_secs_f64() * 1e3 - others.iter().sum::<f64>();
        cpus.iter_mut().zip([leader].into_iter().chain(others)).for_each(|(all, one)| all.push(one));
        walls.push(sample.wall.as_secs_f64() * 1e3);
        bytes = vec![ends.iter().map(|channel| channel.traffic().sent).sum()];
        bytes.extend(sent);
    }
    row(format!("star, {parties} parties"), n, &walls, &cpus, bytes)
}

/// The part of a party that does not lead, all of it on this thread's pool.
fn other(me: usize, items: &[Item], params: &Params, session: &Session, channel: &mut Channel) {
    let links = links(me, params.items.len(), session);
    let party = StarParty { me, items, rows: None, params, session, links: &links };
    let link = session.part_of("star link", &links[0].session);
    let rng = &mut ChaCha20Rng::from_seed([100 + me as u8; 32]);
    star::answer_over(party, OpprfSender { session: &link, whole: session }, channel, rng).expect("the party succeeds");
}

fn links(me: usize, parties: usize, session: &Session) -> Vec<MeshLink> {
    let link = |peer: usize| {
        let pair = (me.min(peer) * parties + me.max(peer)) as u64;
        MeshLink { peer, session: session.child("pair", pair), seed: session.derive(&format!("seed {pair}")).into() }
    };
    (0..parties).filter(|&peer| peer != me).map(link).collect()
}
