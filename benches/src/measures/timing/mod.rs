//! Whether the time that operations take depends on their secrets: those of the compiled program on this processor, on
//! one thread.
//!
//! Each operation is measured with a fixed secret and with random ones, in random order, by the processor's cycle
//! counter; everything is prepared before the clock starts. The statistics are those of dudect (Reparaz, Balasch &
//! Verbauwhede, "Dude, is my code constant time?", DATE 2017): the strongest of Welch's t over 100 crops, over all
//! measurements and over their squared deviations. The time is said to depend on the secret if |t| > 4.5 in most runs,
//! with the same sign; |t| > 10 is beyond doubt.
//!
//! Beside each operation stands a control: the same done in a way that depends on the secret, in a fifth of the time.
//! If a control is not found, the target is missed.
//!
//! Set `TACITA_PORTABLE=1` for the forms that every processor runs, `TACITA_PORTABLE=avx2` for those without AVX-512.
//! Run it on a machine that is otherwise idle.

mod ciphers;
mod groups;
mod lattice;
mod measure;
mod scalars;
mod shares;
mod stores;
mod trees;

use std::process::ExitCode;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use clap::Parser;
use measure::Operation;
use rand_core::SeedableRng;
use tacita_bench::timing::{APART, CERTAIN, Decision};
use tacita_bench::{Repeat, Verdicts, about, key_size};
use tacita_core::primitive::kernel::backend;
use tacita_core::primitive::paillier::KeySize;

/// A control is measured for so many times less time.
const CONTROL: usize = 5;

/// Fewer measurements of an operation say nothing.
const MIN_MEASUREMENTS: usize = 300;

#[derive(Parser)]
#[command(about = about(include_str!("mod.rs")))]
struct Arguments {
    /// Operations whose names hold one of these words; all if there are none
    words: Vec<String>,
    /// Seconds that the measurements of one operation take in each run
    #[arg(long, default_value_t = 0.8)]
    seconds: f64,
    /// Length of the keys of Paillier, and of Goldwasser and Micali
    #[arg(long, default_value = "1024", value_parser = key_size)]
    bits: KeySize,
    #[command(flatten)]
    repeat: Repeat<10>,
}

pub fn main() -> ExitCode {
    let arguments = Arguments::parse_from(tacita_bench::arguments());
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("a thread can be started");
    pool.install(|| all(&arguments))
}

fn all(arguments: &Arguments) -> ExitCode {
    let parts = [groups::all(), scalars::all(), ciphers::all(arguments.bits), trees::all(), stores::all()];
    let operations = parts.into_iter().flatten().chain(shares::all()).chain(lattice::all());
    let asked = |operation: &Operation| {
        arguments.words.is_empty() || arguments.words.iter().any(|word| operation.name.contains(word.as_str()))
    };
    let mut verdicts = Verdicts::default();
    println!("kernels: {}; |t| > {APART} tells apart, |t| > {CERTAIN} beyond doubt", backend::chosen().name());
    println!(
        "{:<48} {:<22} {:>7} {:>6} {:>8} {:>7} {:>9} {:>9} {:>9}",
        "operation", "fixed", "count", "apart", "median t", "max t", "differ %", "seen %", "control t"
    );
    for operation in operations.filter(asked) {
        measure(&operation, arguments, &mut verdicts);
    }
    verdicts.end()
}

/// Measures an operation and its control, prints a row, and adds what is to be said.
fn measure(operation: &Operation, arguments: &Arguments, verdicts: &mut Verdicts) {
    let time = Duration::from_secs_f64(arguments.seconds);
    let mut rng = ChaCha20Rng::from_seed([0; 32]);
    let count = measure::fitting(&operation.trial, time, &mut rng);
    let control_count = (measure::fitting(&operation.control, time, &mut rng) / CONTROL).max(1);
    let (mut runs, mut controls) = (Vec::new(), Vec::new());
    for run in 0..arguments.repeat.runs {
        let mut rng = ChaCha20Rng::from_seed([1 + run as u8; 32]);
        runs.push(measure::run(&operation.trial, count, &mut rng));
        controls.push(measure::run(&operation.control, control_count, &mut rng));
    }
    let [decision, control] = [runs, controls].map(|runs| Decision { runs });
    let [median, most] = decision.strengths();
    println!(
        "{:<48} {:<22} {count:>7} {:>6} {median:>8.1} {most:>7.1} {:>9.3} {:>9.3} {:>9.1}",
        operation.name,
        operation.fixed,
        format!("{}/{}", decision.agreeing(), decision.runs.len()),
        100.0 * decision.median(|run| run.difference),
        100.0 * decision.median(|run| run.resolution),
        control.strengths()[0],
    );
    if count < MIN_MEASUREMENTS {
        return;
    }
    let found = match (decision.is_dependent(), operation.is_known) {
        (false, _) => "takes the same time",
        (true, true) => "depends on the secret, as is known",
        (true, false) => "DEPENDS ON THE SECRET",
    };
    verdicts.add(format!("{}: {found}", operation.name), operation.is_known || !decision.is_dependent());
    if !control.is_dependent() {
        verdicts.add(format!("{}: its control is not found", operation.name), false);
    }
}
