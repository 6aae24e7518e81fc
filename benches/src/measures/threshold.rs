//! Cost for a party to decrypt together with others, on one thread, with proofs. It is by the number of parties and the
//! order in which they add what they know.

use std::hint::black_box;
use std::time::Instant;

use chacha20::ChaCha20Rng;
use clap::Parser;
use rand_core::SeedableRng;
use tacita_bench::{Json, Repeat, Row, Table, about, median};
use tacita_core::Level;
use tacita_core::primitive::elgamal::threshold::{KeyShare, PartyOrder, ThresholdView, check, joint_key};
use tacita_core::primitive::group::{Group, ModP, Ristretto255};
use tacita_core::session::Transcript;
use tacita_node::base::usage;

#[derive(Parser)]
#[command(about = about(include_str!("threshold.rs")))]
struct Arguments {
    /// Ciphertexts that are decrypted, as a power of two
    #[arg(default_value_t = 12, value_parser = clap::value_parser!(u32).range(1..=20))]
    log2_ciphertexts: u32,
    #[command(flatten)]
    repeat: Repeat<3>,
    #[command(flatten)]
    json: Json,
}

pub fn main() -> std::io::Result<()> {
    let Arguments { log2_ciphertexts, repeat: Repeat { runs }, json } =
        Arguments::parse_from(tacita_bench::arguments());
    let mut table = json.table()?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    pool.install(|| {
        for parties in [4, 8, 16] {
            for order in PartyOrder::ALL {
                measure(&mut table, "ristretto255", &Ristretto255, parties, order, 1 << log2_ciphertexts, runs)?;
            }
        }
        measure(&mut table, "paper80", &ModP::of(Level::Paper80), 4, PartyOrder::Chain, 1 << log2_ciphertexts, runs)
    })
}

/// The party that has the most to do: it checks what it is given, and adds its own; where each is alone, all others'.
fn measure<G: Group + Sync>(
    table: &mut Table,
    name: &str,
    group: &G,
    parties: usize,
    order: PartyOrder,
    n: usize,
    runs: u32,
) -> std::io::Result<()> {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let transcript = Transcript::new("bench");
    let shares: Vec<KeyShare<G>> = (0..parties).map(|_| KeyShare::generate(group, &mut rng)).collect();
    let keys: Vec<_> = shares.iter().map(|share| share.verification_key(group)).collect();
    let prove = |(place, share): (usize, &KeyShare<G>)| {
        share.prove_possession(group, place, &transcript, &mut ChaCha20Rng::from_seed([place as u8; 32]))
    };
    let proofs: Vec<_> = shares.iter().enumerate().map(prove).collect();
    let key = joint_key(group, &keys, &proofs, &transcript, &mut rng).expect("all know their shares");
    let ciphertexts = key.encrypt(group, &vec![group.scalar(1); n], &mut rng);
    let last = parties - 1;
    // Of those that it is given something by, as if they were the first of all.
    let firsts: Vec<usize> = match order {
        PartyOrder::Alone => (0..last).collect(),
        _ => order.before(last, parties),
    };
    let contribution =
        |place: usize, rng: &mut _| shares[place].contribute(group, place, &ciphertexts, &[], &transcript, rng);
    let given: Vec<_> = firsts.iter().map(|&place| (place, contribution(place, &mut rng))).collect();
    let (mut walls, mut cpus) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        let (cpu, wall) = (usage::cpu_time(), Instant::now());
        let told: Vec<_> = given
            .iter()
            .map(|(place, contribution)| ThresholdView { place: *place, key: &keys[*place], given: &[], contribution })
            .collect();
        check(group, &ciphertexts, &told, &transcript, &mut rng).expect("all added what they should");
        let sums: Vec<&[G::Point]> = given.iter().map(|(_, contribution)| &contribution.sums[..]).collect();
        black_box(shares[last].contribute(group, last, &ciphertexts, &sums, &transcript, &mut rng));
        walls.push(wall.elapsed().as_secs_f64() * 1e3);
        cpus.push((usage::cpu_time() - cpu).as_secs_f64() * 1e3);
    }
    table.add(&Row {
        primitive: "threshold".into(),
        variant: format!("{name}, {parties} parties, {order:?}").to_lowercase(),
        n,
        threads: 1,
        wall_ms: median(&walls),
        cpu_ms: vec![median(&cpus)],
        bytes: vec![(n * group.point_bytes()) as u64],
        peak_memory: usage::peak_memory(),
    })
}
