//! What the measuring programs share.

use std::time::{Duration, Instant};

use tacita::usage;

/// Wall and CPU time of one run.
#[derive(Debug, Clone, Copy)]
pub struct Sample {
    /// Wall time.
    pub wall: Duration,
    /// CPU time of the whole process, all threads.
    pub cpu: Duration,
}

/// Runs `work` once and measures it.
pub fn measure<T>(work: impl FnOnce() -> T) -> (T, Sample) {
    let (cpu, wall) = (usage::cpu_time(), Instant::now());
    let result = work();
    (result, Sample { wall: wall.elapsed(), cpu: usage::cpu_time() - cpu })
}

/// The median of some values (the upper one of two middle ones).
pub fn median<T: PartialOrd + Copy>(values: &[T]) -> T {
    let mut sorted = values.to_vec();
    sorted.sort_by(|a, b| a.partial_cmp(b).expect("measurements are comparable"));
    sorted[sorted.len() / 2]
}
