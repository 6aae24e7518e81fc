//! One measurement: what is prepared before it, and the cycles that the work takes.

use std::hint::black_box;
use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use rand_core::Rng;
use tacita_bench::timing::Run;

/// Measurements before the first that counts.
const WARM_UP: usize = 32;

/// Measurements of both classes at most: more would tell differences apart that no clock of another party sees.
const MAX_MEASUREMENTS: usize = 60_000;

/// Words that are read before each measurement: more than the nearest cache holds, so that what was prepared is not in
/// it, whatever it was.
const SETTLED: usize = 1 << 14;

/// Takes one measurement with the fixed secret (`true`) or a random one: cycles.
pub type Trial = Box<dyn FnMut(bool, &mut ChaCha20Rng) -> u64>;

/// Makes a trial, anew for each run: what it keeps lies in memory where chance has it.
pub type Make = Box<dyn Fn(&mut ChaCha20Rng) -> Trial>;

/// An operation of which the time must not depend on a secret.
pub struct Operation {
    /// Name of the operation.
    pub name: String,
    /// The fixed secret; the other class has random ones.
    pub fixed: &'static str,
    /// Trial of the operation itself.
    pub trial: Make,
    /// The same done in a way that depends on the secret, which must be found.
    pub control: Make,
    /// Whether the operation is known to depend on the secret: `docs/security.md` says why that may be.
    pub is_known: bool,
}

impl Operation {
    /// An operation that is to take the same time whatever the secret.
    pub fn new(name: impl Into<String>, fixed: &'static str, trial: Make, control: Make) -> Operation {
        Operation { name: name.into(), fixed, trial, control, is_known: false }
    }

    /// The same, known to depend on the secret.
    pub fn known(self) -> Operation {
        Operation { is_known: true, ..self }
    }
}

/// A trial of `work` on the secret `fixed` or one that `random` makes. Both are made each time, either of them first,
/// and `work` gets a copy of one in fresh memory, after other memory was read: nothing but its value tells the classes
/// apart, neither where it lies nor what the caches hold.
pub fn trial<T: Clone + 'static, R>(
    fixed: T,
    mut random: impl FnMut(&mut ChaCha20Rng) -> T + 'static,
    mut work: impl FnMut(&mut T) -> R + 'static,
) -> Trial {
    let other = vec![1u64; SETTLED];
    Box::new(move |is_fixed, rng| {
        let is_fixed_first = rng.next_u32() & 1 == 1;
        let secrets = if is_fixed_first {
            let copy = fixed.clone();
            [copy, random(rng)]
        } else {
            [random(rng), fixed.clone()]
        };
        let mut secret = black_box(&secrets)[usize::from(is_fixed != is_fixed_first)].clone();
        black_box(black_box(&other).iter().sum::<u64>());
        let (cycles, result) = cycles(|| work(black_box(&mut secret)));
        black_box(result);
        cycles
    })
}

/// Measures the time of `work`, and returns it with the result: dropping the result is not included.
fn cycles<R>(work: impl FnOnce() -> R) -> (u64, R) {
    let start = clock::start();
    let result = work();
    (clock::end().wrapping_sub(start), result)
}

/// The processor's cycle counter. Fences keep the work between its readings.
#[cfg(target_arch = "x86_64")]
mod clock {
    use std::arch::x86_64::{__rdtscp, _mm_lfence, _rdtsc};

    pub fn start() -> u64 {
        // SAFETY: every x86-64 processor has these instructions, which touch no memory.
        unsafe {
            _mm_lfence();
            let now = _rdtsc();
            _mm_lfence();
            now
        }
    }

    pub fn end() -> u64 {
        let mut core = 0;
        // SAFETY: as above; `core` is what is written to.
        unsafe {
            let now = __rdtscp(&mut core);
            _mm_lfence();
            now
        }
    }
}

/// Nanoseconds, where there is no counter that programs may read.
#[cfg(not(target_arch = "x86_64"))]
mod clock {
    use std::sync::OnceLock;
    use std::time::Instant;

    pub fn start() -> u64 {
        static FIRST: OnceLock<Instant> = OnceLock::new();
        FIRST.get_or_init(Instant::now).elapsed().as_nanos() as u64
    }

    pub fn end() -> u64 {
        start()
    }
}

/// Returns the number of measurements of both classes that fit into this time, preparation included.
pub fn fitting(make: &Make, time: Duration, rng: &mut ChaCha20Rng) -> usize {
    let mut trial = make(rng);
    trial(true, rng);
    let (start, mut done) = (Instant::now(), 0);
    while done < 2 || (start.elapsed() < time / 20 && done < MAX_MEASUREMENTS) {
        trial(rng.next_u32() & 1 == 1, rng);
        done += 1;
    }
    let each = start.elapsed().as_secs_f64() / f64::from(done as u32);
    ((time.as_secs_f64() / each) as usize).clamp(16, MAX_MEASUREMENTS)
}

/// A run of `count` measurements of both classes, in random order.
pub fn run(make: &Make, count: usize, rng: &mut ChaCha20Rng) -> Run {
    let mut trial = make(rng);
    let mut samples = [Vec::with_capacity(count), Vec::with_capacity(count)];
    for number in 0..count + WARM_UP {
        let is_fixed = rng.next_u32() & 1 == 1;
        let cycles = trial(is_fixed, rng);
        if number >= WARM_UP {
            samples[usize::from(!is_fixed)].push(cycles);
        }
    }
    Run::new(samples)
}
