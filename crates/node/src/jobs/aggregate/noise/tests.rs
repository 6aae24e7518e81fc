//! Changes by a report, the probability of a lone key, and the distribution of numbers, against what was claimed.

use std::collections::BTreeMap;

use rand_core::{Rng, SeedableRng};

use super::*;
use crate::agreement::JobSpec;
use crate::jobs::aggregate::{Aggregate, Domain};

/// A report: a key, and who reports it.
type Report = (u8, u8);

fn job(noise: &str, reveal: &str, round: &str) -> Result<JobSpec> {
    JobSpec::parse(
        &format!(
            "job = \"aggregate\"\nid = \"t\"\nreveal = \"{reveal}\"\nreveal_to = \"participants\"\nnoise = {{ {noise} }}\n[key]\n\
             columns = [\"x\"]\n[round]\n{round}\n"
        ),
        false,
    )
}

fn noise(job: &JobSpec) -> RoundNoise {
    Aggregate::of(job).unwrap().round_noise().unwrap().unwrap()
}

fn below(bound: u64, rng: &mut chacha20::ChaCha20Rng) -> u64 {
    rng.next_u64() % bound
}

/// The numbers of rows by key, and the histogram.
fn counted(noise: &RoundNoise, reports: &[Report]) -> (BTreeMap<u8, i64>, Vec<u64>) {
    let domain = Domain::Nothing;
    let mut rows: BTreeMap<u8, Summary<'_>> = BTreeMap::new();
    for (key, reporter) in reports {
        rows.entry(*key).or_insert_with(|| Summary::new(&domain)).add(0, &[*reporter; 32]);
    }
    let mut histogram = Histogram::default();
    rows.values().for_each(|row| histogram.add(row));
    let numbers = rows.iter().map(|(key, row)| (*key, noise.number(row) as i64)).collect();
    (numbers, noise.sized(&histogram))
}

fn changes(one: &[Report], other: &[Report], noise: &RoundNoise) -> (u64, u64) {
    let ((one, one_sizes), (other, other_sizes)) = (counted(noise, one), counted(noise, other));
    let keys: std::collections::BTreeSet<_> = one.keys().chain(other.keys()).collect();
    let number = |of: &BTreeMap<u8, i64>, key| of.get(key).copied().unwrap_or(0);
    let of_rows = keys.into_iter().map(|key| number(&one, key).abs_diff(number(&other, key))).sum();
    (of_rows, one_sizes.iter().zip(&other_sizes).map(|(one, other)| one.abs_diff(*other)).sum())
}

/// One report that is replaced, or all of one participant, change no more than the noise is made for; and in the worst
/// case as much.
#[test]
fn reports_change_as_much_as_the_noise_is_for() {
    let mut rng = chacha20::ChaCha20Rng::seed_from_u64(7);
    for measure in ["count", "distinct"] {
        let terms = |unit: &str| {
            let noise = format!("epsilon = 20, delta = 1e-6, bounds = [1, 5], unit = \"{unit}\"");
            let job = job(&noise, "keys+histogram", &format!("reveal_when = \"{measure} >= 40\"\nmax_reports = 3"));
            job.unwrap()
        };
        let (report, participant) = (terms("report"), terms("participant"));
        let laws = [noise(&report), noise(&participant)];
        let mut worst = [(0, 0); 2];
        for _ in 0..30_000 {
            let (keys, reporters) = (1 + below(8, &mut rng), 2 + below(4, &mut rng));
            let draw = |rng: &mut _| (below(keys, rng) as u8, below(reporters, rng) as u8);
            let reports: Vec<Report> = (0..1 + below(12, &mut rng)).map(|_| draw(&mut rng)).collect();
            let mut replaced = reports.clone();
            let at = below(reports.len() as u64, &mut rng) as usize;
            replaced[at].0 = below(keys + 1, &mut rng) as u8;
            // All of a participant that has three at most: by as many, or fewer.
            let mut others: Vec<Report> = reports.iter().copied().filter(|(_, reporter)| *reporter != 0).collect();
            let others_again = others.clone();
            let own: Vec<Report> = reports.iter().copied().filter(|(_, reporter)| *reporter == 0).take(3).collect();
            let with_own = [others_again, own].concat();
            others.extend((0..below(4, &mut rng)).map(|_| (below(keys + 3, &mut rng) as u8, 0)));
            for (place, (one, other)) in [(&reports, &replaced), (&with_own, &others)].into_iter().enumerate() {
                let (of_rows, of_sizes) = changes(one, other, &laws[place]);
                worst[place] = (worst[place].0.max(of_rows), worst[place].1.max(of_sizes));
            }
        }
        assert_eq!(worst[0], (CHANGED_ROWS, CHANGED_SIZES), "{measure}");
        assert!(worst[1].0 == 3 * CHANGED_ROWS && worst[1].1 <= 3 * CHANGED_SIZES && worst[1].1 > CHANGED_SIZES);
    }
}

/// The probability that noise is `m` or more, by adding up the distribution: its scale is that of changes by so much.
fn beyond(m: f64, scale: f64) -> f64 {
    let ratio = (-1.0 / scale).exp();
    // Terms of P(x) = (1 - q) / (1 + q) q^x.
    (0..20_000).map(|more| (1.0 - ratio) / (1.0 + ratio) * ratio.powf(m + f64::from(more))).sum()
}

/// A key that nobody else reports reaches the least threshold with probability delta at most, and a threshold that is
/// lower is refused.
#[test]
fn a_lone_key_reaches_the_threshold_with_probability_delta() {
    let cases = [(1.0, "1", 1e-6, "1e-6"), (0.1, "0.1", 1e-9, "1e-9"), (20.0, "20", 1e-3, "0.001")];
    for (epsilon, text, delta, written) in cases {
        for (unit, most, measure) in
            [("report", 1, "count"), ("participant", 4, "count"), ("participant", 4, "distinct")]
        {
            for (reveal, releases, bounds) in [("keys", 1.0, ""), ("keys+histogram", 2.0, "bounds = [1, 9],")] {
                let with = |threshold: u64| {
                    let noise = format!("epsilon = {text}, delta = {written}, {bounds} unit = \"{unit}\"");
                    job(&noise, reveal, &format!("reveal_when = \"{measure} >= {threshold}\"\nmax_reports = {most}"))
                };
                let scale = 2.0 * releases * f64::from(most) / epsilon;
                let error = with(1).unwrap_err().to_string();
                let least: u64 =
                    error.split(">= ").nth(2).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
                with(least).unwrap();
                with(least - 1).unwrap_err();
                // Each way in which the reports of one can be spread over keys of its own.
                let spread: &[&[f64]] = match (most, measure) {
                    (1, _) => &[&[1.0]],
                    (_, "distinct") => &[&[1.0; 4]],
                    _ => &[&[1.0; 4], &[2.0, 1.0, 1.0], &[2.0, 2.0], &[3.0, 1.0], &[4.0]],
                };
                for keys in spread {
                    let told: f64 = keys.iter().map(|number| beyond(least as f64 - number, scale)).sum();
                    assert!(told <= delta, "{epsilon} {unit} {reveal} {keys:?}: {told} at {least}");
                }
                // No more than needed, but for the margin of the simple bound.
                assert!(beyond(least as f64 - 2.0 - f64::from(most), scale) * f64::from(most) * 3.0 > delta / 3.0);
            }
        }
    }
}

/// Noise has the scale that was claimed: the mean of its size is 2 q / (1 - q^2), q = exp(-1 / scale).
#[test]
fn numbers_have_noise_of_the_claimed_scale() {
    let mut rng = chacha20::ChaCha20Rng::seed_from_u64(1);
    let terms = job(
        "epsilon = 1, delta = 1e-6, bounds = [1, 1000], unit = \"report\"",
        "keys+histogram",
        "reveal_when = \"count >= 57\"",
    );
    let noise = noise(&terms.unwrap());
    let mean = |scale: f64| {
        let ratio = (-1.0 / scale).exp();
        2.0 * ratio / (1.0 - ratio * ratio)
    };
    let drawn: f64 = (0..50_000).map(|_| noise.draw(&mut rng).unsigned_abs() as f64).sum::<f64>() / 50_000.0;
    // The standard deviation of the mean is 0.02.
    assert!((drawn - mean(4.0)).abs() < 0.1, "{drawn}");
    let mut sum = 0.0;
    for _ in 0..50 {
        sum += noise
            .noisy(&Histogram::default(), &mut rng)
            .unwrap()
            .iter()
            .map(|one| one.unsigned_abs() as f64)
            .sum::<f64>();
    }
    assert!((sum / 50_000.0 - mean(8.0)).abs() < 0.2, "{}", sum / 50_000.0);
    // Sums, which a value of -7 changes most: twice that, with half of epsilon.
    let round = "reveal_when = \"count >= 57\"\nvalues = { min = -7, max = 5 }";
    let sums = self::noise(&job("epsilon = 1, delta = 1e-6, unit = \"report\"", "keys+values", round).unwrap());
    let drawn: f64 = (0..50_000).map(|_| sums.draw_of_sum(&mut rng).unsigned_abs() as f64).sum::<f64>() / 50_000.0;
    assert!((drawn - mean(28.0)).abs() < 0.7, "{drawn}");
    assert!(noise.draw_of_sum(&mut rng) == 0 && sums.noisy(&Histogram::default(), &mut rng).is_none());
    // Rows of agreed sizes, and larger ones in the last.
    let histogram = Histogram { count: BTreeMap::from([(1, 3), (1000, 2), (5000, 4)]), ..Histogram::default() };
    let sized = noise.sized(&histogram);
    assert_eq!((sized[0], sized[1], sized[999]), (3, 0, 6));
}

/// No number of entries is below that of a row, and all say no more than the number with noise.
#[test]
fn entries_say_the_number_with_noise() {
    let job = job("epsilon = 1, delta = 1e-6, unit = \"report\"", "keys", "reveal_when = \"count >= 40\"").unwrap();
    let noise = noise(&job);
    assert_eq!(noise.entries(50, 3) - noise.filling, 53);
    assert_eq!(noise.entries(60, -7), noise.entries(50, 3));
    assert_eq!(noise.entries(60, -i128::from(noise.filling) - 5), 60);
    let own = Aggregate::of(&job).unwrap();
    assert_eq!(own.oracle_minimum().unwrap().count, 40 + noise.filling);
    let loss = job.privacy_loss("anybody").unwrap().unwrap();
    assert_eq!((loss.epsilon, loss.delta, loss.rho_delta), (1_000_000, 1_000_000_000_000, 1_000_000_000_000));
}
