//! Whether two classes of measurements take different times: the statistics of Reparaz, Balasch & Verbauwhede, "Dude,
//! is my code constant time?" (DATE 2017), and of their tool dudect.
//!
//! A run has measurements of both classes in random order. Welch's t compares the means of all of them, of those below
//! each of 100 thresholds (the longest are those in which the machine did something else), and of the squared
//! deviations of all. The strongest of these 102 counts.
//!
//! One run on a machine that does other things besides can be wrong. So several are made, and a [`Decision`] goes by
//! most of them.

/// A |t| above this tells two classes apart (the paper's threshold).
pub const APART: f64 = 4.5;

/// A |t| above this tells them apart beyond doubt (the tool's).
pub const CERTAIN: f64 = 10.0;

/// Thresholds below which measurements are compared.
const CROPS: u32 = 100;

/// Minimum number of measurements of a class below a threshold: fewer are not compared.
const MIN_MEASUREMENTS: usize = 100;

/// The crop by which a run says how small a difference it sees: it keeps 90 % of the measurements.
const USUAL: u32 = 33;

/// Statistics of one run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Run {
    /// The strongest t: positive if the first class takes longer.
    pub t: f64,
    /// Difference of the first class's median from the second's, relative to the latter: positive if the first is
    /// longer.
    pub difference: f64,
    /// The least difference of means that would have had a |t| of [`APART`], without the longest tenth of the
    /// measurements.
    pub resolution: f64,
}

impl Run {
    /// The run with these measurements, of each class one list.
    pub fn new(mut samples: [Vec<u64>; 2]) -> Run {
        samples.iter_mut().for_each(|samples| samples.sort_unstable());
        let mut all = samples.concat();
        all.sort_unstable();
        let sums = samples.each_ref().map(|samples| Sums::new(samples));
        let crop = |number: u32| {
            // As dudect has it: most thresholds lie where most of the measurements do.
            let kept = 1.0 - 0.5f64.powf(10.0 * f64::from(number) / f64::from(CROPS));
            let limit = all[((all.len() as f64 * kept) as usize).min(all.len() - 1)];
            let counts = samples.each_ref().map(|samples| samples.partition_point(|sample| *sample < limit));
            counts.map(|count| (count >= MIN_MEASUREMENTS).then_some(count))
        };
        let whole = samples.each_ref().map(Vec::len);
        let means = [0, 1].map(|class| sums[class].moments(whole[class]).0);
        let squares = [0, 1].map(|class| {
            let deviations = samples[class].iter().map(|sample| (*sample as f64 - means[class]).powi(2));
            moments(&deviations.collect::<Vec<_>>())
        });
        let of = |counts: [usize; 2]| [0, 1].map(|class| sums[class].moments(counts[class]));
        let crops = (1..=CROPS).filter_map(|number| match crop(number) {
            [Some(one), Some(other)] => Some(welch(of([one, other]))),
            _ => None,
        });
        let tests = crops.chain([welch(of(whole)), welch(squares)]);
        let t = tests.fold(0.0, |strongest: f64, t| if t.abs() > strongest.abs() { t } else { strongest });
        let usual = match crop(USUAL) {
            [Some(one), Some(other)] => [one, other],
            _ => whole,
        };
        let [one, other] = of(usual);
        let medians =
            samples.each_ref().map(|samples| samples.get(samples.len() / 2).map_or(0.0, |median| *median as f64));
        Run { t, difference: medians[0] / medians[1] - 1.0, resolution: APART * (one.1 + other.1).sqrt() / other.0 }
    }
}

/// Conclusion from several runs together.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// Statistics of the runs.
    pub runs: Vec<Run>,
}

impl Decision {
    /// Returns the number of runs that tell the classes apart in the same direction.
    pub fn agreeing(&self) -> usize {
        let longer = self.runs.iter().filter(|run| run.t > APART).count();
        let shorter = self.runs.iter().filter(|run| run.t < -APART).count();
        longer.max(shorter)
    }

    /// Whether the time depends on the class: most runs say so, and in the same direction.
    pub fn is_dependent(&self) -> bool {
        2 * self.agreeing() > self.runs.len()
    }

    /// The median and the largest |t| of the runs.
    pub fn strengths(&self) -> [f64; 2] {
        let strengths: Vec<f64> = self.runs.iter().map(|run| run.t.abs()).collect();
        [crate::median(&strengths), strengths.iter().copied().fold(0.0, f64::max)]
    }

    /// The median of what each run says.
    pub fn median(&self, of: impl Fn(&Run) -> f64) -> f64 {
        crate::median(&self.runs.iter().map(of).collect::<Vec<_>>())
    }
}

/// Sums over the shortest measurements of one class, of all counts.
struct Sums {
    /// Shift that is subtracted from each measurement, so that the sums of squares stay exact.
    shift: f64,
    /// Running sums of the shifted measurements and of their squares.
    sums: Vec<(f64, f64)>,
}

impl Sums {
    fn new(sorted: &[u64]) -> Sums {
        let shift = sorted.get(sorted.len() / 2).map_or(0.0, |median| *median as f64);
        let next = |sums: &mut (f64, f64), sample: &u64| {
            let sample = *sample as f64 - shift;
            *sums = (sums.0 + sample, sums.1 + sample * sample);
            Some(*sums)
        };
        Sums { shift, sums: sorted.iter().scan((0.0, 0.0), next).collect() }
    }

    /// The mean of the shortest `count` measurements, and the variance of that mean.
    fn moments(&self, count: usize) -> (f64, f64) {
        let (sum, squares) = count.checked_sub(1).map_or((0.0, 0.0), |last| self.sums[last]);
        let n = count as f64;
        (self.shift + sum / n, (squares - sum * sum / n).max(0.0) / (n - 1.0) / n)
    }
}

/// The mean of some numbers, and the variance of that mean.
fn moments(numbers: &[f64]) -> (f64, f64) {
    let n = numbers.len() as f64;
    let mean = numbers.iter().sum::<f64>() / n;
    (mean, numbers.iter().map(|number| (number - mean).powi(2)).sum::<f64>() / (n - 1.0) / n)
}

/// Welch's t of two means with their variances. None tells nothing apart.
fn welch([(one, of_one), (other, of_other)]: [(f64, f64); 2]) -> f64 {
    let t = (one - other) / (of_one + of_other).sqrt();
    if t.is_finite() { t } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    /// Measurements of both classes: 1000 cycles and up to 64 more, once in sixteen ten times as many; and `extra` of
    /// each.
    fn samples(count: usize, seed: u8, extra: impl Fn(usize, u64) -> u64) -> [Vec<u64>; 2] {
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let mut samples = [Vec::new(), Vec::new()];
        for _ in 0..2 * count {
            let (class, noise) = (rng.next_u32() as usize & 1, rng.next_u64());
            let usual = 1000 + noise % 64;
            let interrupted = if noise >> 32 & 15 == 0 { 10 } else { 1 };
            samples[class].push(interrupted * usual + extra(class, noise >> 40));
        }
        samples
    }

    fn decision(extra: impl Fn(usize, u64) -> u64 + Copy) -> Decision {
        Decision { runs: (0..10).map(|seed| Run::new(samples(5000, seed, extra))).collect() }
    }

    #[test]
    fn equal_classes_are_not_told_apart() {
        let equal = decision(|_, _| 0);
        assert!(!equal.is_dependent() && equal.agreeing() == 0 && equal.strengths()[0] < APART, "{equal:?}");
    }

    /// Far less than the noise, which the crops take away; and what shows among the longest alone.
    #[test]
    fn small_differences_are_found_with_their_direction() {
        let longer = decision(|class, _| if class == 0 { 6 } else { 0 });
        assert!(longer.is_dependent() && longer.runs.iter().all(|run| run.t > APART), "{longer:?}");
        let shorter = decision(|class, _| if class == 1 { 6 } else { 0 });
        assert!(shorter.runs.iter().all(|run| run.t < -APART), "{shorter:?}");
        let difference = longer.median(|run| run.difference);
        assert!((0.004..0.008).contains(&difference), "6 of 1030 cycles: {difference}");
        let resolution = longer.median(|run| run.resolution);
        assert!((0.0005..0.003).contains(&resolution), "{resolution}");
        let rare = decision(|class, noise| if class == 0 && noise & 15 == 0 { 50_000 } else { 0 });
        assert!(rare.is_dependent(), "{rare:?}");
    }

    /// The second class varies more around the same mean.
    #[test]
    fn a_difference_in_spread_is_found() {
        let spread = |class: usize, noise: u64| if class == 1 { 2000 * (noise & 1) } else { 1000 };
        assert!(decision(spread).is_dependent());
    }

    #[test]
    fn a_few_runs_or_both_directions_are_not_enough() {
        let run = |t: f64| Run { t, difference: 0.0, resolution: 0.0 };
        let decide = |ts: [f64; 10]| Decision { runs: ts.map(run).to_vec() }.is_dependent();
        assert!(!decide([5.0, 20.0, 9.0, 5.0, 5.0, 1.0, -1.0, 2.0, -3.0, 4.0]));
        assert!(!decide([5.0, -5.0, 5.0, -5.0, 5.0, -5.0, 5.0, -5.0, 5.0, -5.0]));
        assert!(decide([5.0, 5.0, 5.0, 5.0, 5.0, 5.0, -5.0, 0.0, 0.0, 0.0]));
        let strengths = Decision { runs: [1.0, -7.0, 3.0].map(run).to_vec() }.strengths();
        assert_eq!(strengths, [3.0, 7.0]);
    }
}
