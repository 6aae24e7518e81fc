//! Comparison of strategies for multiplying polynomials: with scalars and with points as coefficients, by number of
//! coefficients.

use std::process::ExitCode;

use chacha20::ChaCha20Rng;
use clap::Parser;
use crypto_bigint::BoxedUint;
use rand_core::SeedableRng;
use tacita_bench::{Repeat, Verdicts, about, measure, median};
use tacita_core::Level;
use tacita_core::primitive::group::{Group, ModP, P384, Ristretto255, ScalarField, safe_prime};
use tacita_core::primitive::published::Pallas;
use tacita_core::primitive::published::polynomial::{Module, MultiplyStrategy, Points, Scalars, multiply};

#[derive(Parser)]
#[command(about = about(include_str!("polynomials.rs")))]
struct Arguments {
    /// The most coefficients of each factor, as a power of two
    #[arg(default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..=16))]
    log2_coefficients: u32,
    #[command(flatten)]
    repeat: Repeat<3>,
}

/// Maximum time of the strategy that is chosen for points, relative to the best one.
const TARGET: f64 = 1.2;

/// Beyond so many coefficients, nobody waits for products as in school.
const MAX_IN_SCHOOL: usize = 128;

pub fn main() -> ExitCode {
    let Arguments { log2_coefficients, repeat: Repeat { runs } } = Arguments::parse_from(tacita_bench::arguments());
    println!("CPU milliseconds a product, median of {runs}");
    let mut verdicts = Verdicts::default();
    compare("ristretto255", &Ristretto255, log2_coefficients, runs, &mut verdicts);
    compare("pallas", &Pallas, log2_coefficients, runs, &mut verdicts);
    compare("p384", &P384::new(), log2_coefficients.min(6), runs, &mut verdicts);
    let most = 1 << log2_coefficients;
    println!(
        "\nCPU milliseconds of a product by Karatsuba's way, by the number of coefficients that are multiplied as in school"
    );
    println!("{:>16} {:>6} {}", "", "k", SCHOOLS.map(|school| format!("{school:>9}")).join(""));
    schools("ristretto255", &Ristretto255, most, runs);
    schools("pallas", &Pallas, most.min(128), runs);
    schools("p384", &P384::new(), most.min(64), runs);
    let (p, q) = safe_prime(1024, 1, &mut ChaCha20Rng::from_seed([3; 32])).expect("the length is possible");
    let group = ModP::new(&p, &q, &BoxedUint::from(4u64)).expect("primes that were found");
    schools("mod p, 1024/1023", &group, most.min(256), runs);
    for level in [Level::Paper80, Level::Bits112, Level::Bits128] {
        let group = ModP::of(level);
        schools(&format!("mod p, {}", level.name()), &group, most.min(128), runs);
    }
    verdicts.end()
}

/// Numbers of coefficients up to which a product is made as in school.
const SCHOOLS: [usize; 5] = [8, 16, 32, 64, 128];

/// Points that are multiplied as in school up to another number of coefficients than their group's.
struct Until<'a, G>(Points<'a, G>, usize);

impl<'a, G: Group + Sync> Module for Until<'a, G> {
    type Field = G;
    type Element = G::Point;

    const IN_SUM: f64 = <Points<'a, G> as Module>::IN_SUM;
    const SUM: f64 = <Points<'a, G> as Module>::SUM;
    const OWN_TRANSFORM: f64 = <Points<'a, G> as Module>::OWN_TRANSFORM;

    fn field(&self) -> &G {
        self.0.field()
    }

    fn school(&self) -> usize {
        self.1
    }

    fn zero(&self) -> G::Point {
        self.0.zero()
    }

    fn add(&self, elements: &[G::Point], others: &[G::Point]) -> Vec<G::Point> {
        self.0.add(elements, others)
    }

    fn subtract(&self, elements: &[G::Point], others: &[G::Point]) -> Vec<G::Point> {
        self.0.subtract(elements, others)
    }

    fn multiply_each(&self, elements: &[G::Point], scalars: &[G::Scalar]) -> Vec<G::Point> {
        self.0.multiply_each(elements, scalars)
    }

    fn combine(&self, elements: &[G::Point], scalars: &[G::Scalar]) -> G::Point {
        self.0.combine(elements, scalars)
    }
}

/// Measures where Karatsuba's way should stop in a group: [`Group::full_sum`].
fn schools<G: Group + Sync>(name: &str, group: &G, most: usize, runs: u32) {
    let mut rng = ChaCha20Rng::from_seed([2; 32]);
    for count in std::iter::successors(Some(16), |count| Some(2 * count)).take_while(|count| *count <= most) {
        let (a, b) = (group.random_scalars(count, &mut rng), group.random_points(count, &mut rng));
        let time = |school: usize| {
            let once = |_| measure(|| multiply(&Until(Points(group), school), MultiplyStrategy::Karatsuba, &a, &b)).1;
            format!("{:>9.2}", 1e3 * median(&(0..runs).map(|run| once(run).cpu.as_secs_f64()).collect::<Vec<_>>()))
        };
        let shown = SCHOOLS.map(|school| if school / 2 < count { time(school) } else { format!("{:>9}", "") });
        println!("{name:>16} {count:>6} {}  here {}", shown.join(""), group.full_sum());
    }
}

fn compare<G: Group + Sync>(name: &str, group: &G, most: u32, runs: u32, verdicts: &mut Verdicts) {
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let headings: Vec<_> = MultiplyStrategy::ALL
        .iter()
        .map(|strategy| format!("{strategy:>12}", strategy = format!("{strategy:?}")))
        .collect();
    println!("\n{name}{:>24}", headings.join(""));
    let counts: Vec<usize> = (1..=most).flat_map(|log2| [1 << log2, 3 << (log2 - 1)]).collect();
    for &count in &counts {
        let (a, b) = (group.random_scalars(count, &mut rng), group.random_scalars(count, &mut rng));
        line("scalars", &Scalars(group), count, (&a, &b), runs);
    }
    let worst = counts.iter().map(|&count| {
        let a = group.random_scalars(count, &mut rng);
        line("points", &Points(group), count, (&a, &group.random_points(count, &mut rng)), runs)
    });
    verdicts.at_most(&format!("{name}, points: the strategy chosen / the best"), worst.fold(0.0, f64::max), TARGET);
}

type ScalarOf<M> = <<M as Module>::Field as ScalarField>::Scalar;

/// The times of all strategies for one number of coefficients, and how the one that would be chosen compares with the
/// best.
fn line<M: Module>(what: &str, module: &M, count: usize, (a, b): (&[ScalarOf<M>], &[M::Element]), runs: u32) -> f64 {
    let time = |strategy: MultiplyStrategy| {
        let can = strategy.can(module.field(), 2 * count - 1);
        (can && (strategy != MultiplyStrategy::Schoolbook || count <= MAX_IN_SCHOOL)).then(|| {
            let once = |_| measure(|| multiply(module, strategy, a, b)).1.cpu.as_secs_f64() * 1e3;
            // Once for the caches and the threads, which matter where a product takes microseconds.
            let _warm: Vec<f64> = (0..2).map(once).collect();
            median(&(0..runs).map(once).collect::<Vec<_>>())
        })
    };
    let times = MultiplyStrategy::ALL.map(|strategy| (strategy, time(strategy)));
    let chosen = MultiplyStrategy::fastest(module, count, count);
    let best = times.iter().filter_map(|(_, time)| *time).fold(f64::INFINITY, f64::min);
    let own = times.iter().find_map(|(strategy, time)| time.filter(|_| *strategy == chosen)).unwrap_or(f64::INFINITY);
    let shown = times.map(|(_, time)| time.map_or(format!("{:>12}", "-"), |time| format!("{time:>12.3}")));
    println!("{what:>8} {count:>6} {}  {chosen:?}: {:.2} of the best", shown.join(""), own / best);
    own / best
}
