use std::collections::BTreeMap;
use std::convert::Infallible;

use chacha20::ChaCha20Rng;
use rand_core::{SeedableRng, TryCryptoRng, TryRng};

use super::*;

fn wide(value: u64) -> Wide {
    Wide::from_u64(value)
}

/// The sensitivity of so many numbers of which one row changes all.
fn each(by: u64, changed: u64) -> Sensitivity {
    Sensitivity { changed, by }
}

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// Random bytes of which the first are given: with symbols in all ways, each way is as probable as any other.
struct Tape<'a> {
    symbols: &'a [u8],
    further: ChaCha20Rng,
    over: bool,
}

impl TryRng for Tape<'_> {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> std::result::Result<u32, Infallible> {
        unreachable!("bytes alone are drawn")
    }

    fn try_next_u64(&mut self) -> std::result::Result<u64, Infallible> {
        unreachable!("bytes alone are drawn")
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> std::result::Result<(), Infallible> {
        for byte in bytes {
            match self.symbols {
                [first, rest @ ..] => (*byte, self.symbols) = (*first, rest),
                [] => {
                    self.over = true;
                    let mut drawn = [0];
                    self.further.try_fill_bytes(&mut drawn)?;
                    *byte = drawn[0];
                }
            }
        }
        Ok(())
    }
}

impl TryCryptoRng for Tape<'_> {}

/// The probability of each outcome that the first symbols decide, all of `bits` bits, and of those that they do not.
fn decided<T: Ord>(bits: u32, symbols: u32, run: impl Fn(&mut Tape<'_>) -> T) -> (BTreeMap<T, f64>, f64) {
    let (mut outcomes, mut open) = (BTreeMap::new(), 0.0);
    let all = 1u64 << (bits * symbols);
    for number in 0..all {
        let tape: Vec<u8> = (0..symbols).map(|at| (number >> (bits * at)) as u8 & ((1 << bits) - 1)).collect();
        let mut tape = Tape { symbols: &tape, further: rng(1), over: false };
        let outcome = run(&mut tape);
        if tape.over {
            open += 1.0 / all as f64;
        } else {
            *outcomes.entry(outcome).or_insert(0.0) += 1.0 / all as f64;
        }
    }
    (outcomes, open)
}

#[test]
fn small_cases_have_exactly_their_probabilities() {
    for (numerator, denominator) in [(1, 2), (3, 2), (0, 5)] {
        let (outcomes, open) = decided(4, 5, |tape| sample::bernoulli_exp(&wide(numerator), &wide(denominator), tape));
        let (expected, yes) = ((-(numerator as f64) / denominator as f64).exp(), outcomes.get(&true).unwrap_or(&0.0));
        assert!(open < 0.07, "{numerator} / {denominator}: {open}");
        let holds = *yes <= expected + 1e-9 && expected <= yes + open + 1e-9;
        assert!(holds, "{numerator} / {denominator}: {yes} {open} {expected}");
    }
    let (outcomes, open) = decided(3, 7, |tape| sample::laplace(&Wide::ONE, &Wide::ONE, tape));
    assert!(open < 0.3, "{open}");
    for x in -1..=1i128 {
        let (expected, least) = (laplace(1.0, x), outcomes[&x]);
        assert!(least <= expected && expected <= least + open, "{x}: {least} {open} {expected}");
        assert_eq!(outcomes[&x], outcomes[&-x]);
    }
}

/// The probability of discrete Laplace noise of this scale.
fn laplace(scale: f64, x: i128) -> f64 {
    (0.5 / scale).tanh() * (-(x.abs() as f64) / scale).exp()
}

/// The probability of discrete Gaussian noise of this variance.
fn gaussian(variance: f64, x: i128) -> f64 {
    let weight = |x: i128| (-((x * x) as f64) / (2.0 * variance)).exp();
    weight(x) / (-200..=200).map(weight).sum::<f64>()
}

/// Pearson's statistic in standard deviations above what is expected, over values that are expected five times and
/// more.
fn deviation(drawn: &BTreeMap<i128, u64>, law: impl Fn(i128) -> f64) -> f64 {
    let all = drawn.values().sum::<u64>() as f64;
    let (mut statistic, mut cells, mut seen, mut expected) = (0.0, 0.0, 0.0, 0.0);
    for x in -200..=200 {
        let (observed, probable) = (drawn.get(&x).copied().unwrap_or(0) as f64, law(x) * all);
        if probable >= 5.0 {
            statistic += (observed - probable).powi(2) / probable;
            (cells, seen, expected) = (cells + 1.0, seen + observed, expected + probable);
        }
    }
    let rest = all - expected;
    if rest >= 5.0 {
        statistic += (all - seen - rest).powi(2) / rest;
        cells += 1.0;
    }
    let freedom: f64 = cells - 1.0;
    (statistic - freedom) / (2.0 * freedom).sqrt()
}

fn drawn(mut draw: impl FnMut() -> i128) -> BTreeMap<i128, u64> {
    let mut drawn = BTreeMap::new();
    (0..1_000_000).for_each(|_| *drawn.entry(draw()).or_insert(0) += 1);
    drawn
}

#[test]
fn laplace_noise_has_its_distribution() {
    laplace_has_its_distribution(3, 7, 2);
}

#[test]
fn gaussian_noise_has_its_distribution() {
    gaussian_has_its_distribution(6, 7);
}

#[test]
#[ignore = "slow: millions of draws"]
fn wider_noise_has_its_distribution() {
    laplace_has_its_distribution(24, 10, 1);
    gaussian_has_its_distribution(7, 100);
}

/// Chi-square tests of 10^6 draws: the distribution is not told from the one it should be, and is from one of a scale
/// that is a fiftieth larger.
fn laplace_has_its_distribution(seed: u8, numerator: u64, denominator: u64) {
    let mut rng = rng(seed);
    let drawn = drawn(|| sample::laplace(&wide(numerator), &wide(denominator), &mut rng));
    let scale = numerator as f64 / denominator as f64;
    let (right, wrong) = (deviation(&drawn, |x| laplace(scale, x)), deviation(&drawn, |x| laplace(scale * 1.02, x)));
    assert!(right < 4.0 && wrong > 6.0, "{numerator} / {denominator}: {right} {wrong}");
}

/// The same of a variance.
fn gaussian_has_its_distribution(seed: u8, variance: u64) {
    let mut rng = rng(seed);
    let drawn = drawn(|| sample::gaussian(&wide(variance), &mut rng));
    let exact = variance as f64;
    let (right, wrong) = (deviation(&drawn, |x| gaussian(exact, x)), deviation(&drawn, |x| gaussian(exact * 1.02, x)));
    assert!(right < 4.0 && wrong > 6.0, "{variance}: {right} {wrong}");
}

/// Long parameters: the variance of what is drawn is the distribution's.
#[test]
fn long_noise_has_its_variance() {
    let draws = 20_000;
    let squares = |law: NoiseLaw, unit: f64, seed| {
        let mut rng = rng(seed);
        (0..draws).map(|_| (law.draw(&mut rng)[0] as f64 / unit).powi(2)).sum::<f64>() / f64::from(draws)
    };
    let sensitivity = u64::MAX;
    let law = NoiseLaw::new(Privacy::new("0.001", None).unwrap(), each(sensitivity, 1), 1).unwrap();
    assert!((squares(law, sensitivity as f64 * 1000.0, 8) - 2.0).abs() < 0.15);
    let privacy = Privacy::new("0.001", Some("1e-15")).unwrap();
    let law = NoiseLaw::new(privacy, each(sensitivity, 1), 1).unwrap();
    let deviation = sensitivity as f64 / (2.0 * privacy.rho() as f64 * 1e-12).sqrt();
    assert!((squares(law, deviation, 9) - 1.0).abs() < 0.05);
}

#[test]
fn error_bars_are_the_least_that_hold_in_95_of_100_runs() {
    let laws =
        [("1", None, 1), ("0.3", None, 5), ("1", Some("1e-3"), 1), ("20", Some("1e-3"), 1), ("0.5", Some("1e-6"), 3)];
    for (seed, (epsilon, delta, sensitivity)) in laws.into_iter().enumerate() {
        let law = NoiseLaw::new(Privacy::new(epsilon, delta).unwrap(), each(sensitivity, 1), 1).unwrap();
        let mut rng = rng(20 + seed as u8);
        for parties in [1, 2] {
            let draws = 40_000;
            let mut sums: Vec<u128> =
                (0..draws).map(|_| (0..parties).map(|_| law.draw(&mut rng)[0]).sum::<i128>().unsigned_abs()).collect();
            sums.sort_unstable();
            let share = |m: u128| sums.partition_point(|size| *size <= m) as f64 / f64::from(draws);
            let within = law.within(parties);
            // Five standard deviations of a share of so many draws.
            assert!(share(within) > 0.945, "{law:?} {parties}: {within}");
            assert!(within == 0 || share(within - 1) < 0.955, "{law:?} {parties}: {within}");
            assert!(*sums.last().unwrap() <= law.tail(parties).unwrap());
        }
    }
}

#[test]
fn tails_hold_all_numbers_of_all_parties() {
    // Scale 10: P(|x| > m) is 2 exp(-(m + 1) / 10) / (1 + exp(-1 / 10)).
    let law = |numbers| NoiseLaw::new(Privacy::new("0.1", None).unwrap(), each(1, numbers), numbers).unwrap();
    let one = law(1).tail(1).unwrap() as f64;
    assert!((-one / 10.0).exp() * 2.0 < 2f64.powi(-43) && (-(one - 20.0) / 10.0).exp() * 2.0 > 2f64.powi(-43));
    assert!(law(1).tail(2).unwrap() > 2 * law(1).tail(1).unwrap());
    assert!(law(5).tail(1).unwrap() > 5 * law(1).tail(1).unwrap());
    let long = NoiseLaw::new(Privacy::new("0.001", None).unwrap(), each(u64::MAX, MAX_NUMBERS), MAX_NUMBERS).unwrap();
    assert!(long.tail(2).is_ok());
    for numbers in [0, MAX_NUMBERS + 1] {
        assert!(matches!(NoiseLaw::new(Privacy::new("1", None).unwrap(), each(1, 1), numbers), Err(Error::Input(_))));
    }
}

#[test]
fn losses_are_rounded_up_and_add_up() {
    let pure = Privacy::new("0.5", None).unwrap();
    assert_eq!((pure.epsilon(), pure.delta(), pure.rho()), (500_000, 0, 125_000_000_000));
    assert_eq!(Privacy::new("0.001001", None).unwrap().rho(), 501_001);
    for (epsilon, delta) in [("1", "1e-9"), ("0.001", "1e-15"), ("20", "0.001"), ("0.25", "0.00001")] {
        let privacy = Privacy::new(epsilon, Some(delta)).unwrap();
        let (epsilon, delta): (f64, f64) = (epsilon.parse().unwrap(), delta.parse().unwrap());
        let of = |rho: f64| rho + 2.0 * (rho * (1.0 / delta).ln()).sqrt();
        let rho = privacy.rho() as f64 * 1e-12;
        assert!(of(rho) <= epsilon * (1.0 + 1e-12) && of(rho * 1.00001 + 2e-12) > epsilon, "{privacy}: {rho}");
        let loss = PrivacyLoss::from(privacy);
        assert!(loss.epsilon_at(privacy.delta()) <= privacy.epsilon());
    }
    // A few releases add up by epsilon, many by rho.
    let of = |times: usize| (0..times).fold(PrivacyLoss::default(), |sum, _| sum.and(pure.into()));
    let delta = Privacy::new("1", Some("1e-6")).unwrap().delta();
    assert_eq!(of(2).epsilon_at(delta), 1_000_000);
    assert_eq!(of(2).epsilon_at(0), 1_000_000);
    let many = of(1000).epsilon_at(delta) as f64 / 1e6;
    let exact = 125.0 + 2.0 * (125.0 * 1e6f64.ln()).sqrt();
    assert!(many >= exact && many < exact + 1e-5 && many < 500.0, "{many} {exact}");
    assert_eq!(PrivacyLoss::default().epsilon_at(0), 0);
    // Deltas that are used up leave rho alone.
    let gaussian = PrivacyLoss::from(Privacy::new("1", Some("1e-6")).unwrap());
    assert!(gaussian.and(gaussian).epsilon_at(delta) < 2_000_000);
    assert_eq!(gaussian.epsilon_at(0), u64::MAX);
}

/// A loss that is concentrated only approximately spends its delta first: Bun & Steinke, Lemma 8.8 and Proposition 1.3.
#[test]
fn approximate_losses_spend_their_delta_first() {
    let coins = binomial::of_coins(128);
    assert_eq!(coins.to_string(), "(1, 3e-9)");
    let delta = Privacy::new("1", Some("1e-6")).unwrap().delta();
    assert_eq!((coins.epsilon_at(delta), coins.epsilon_at(coins.delta)), (1_000_000, 1_000_000));
    assert_eq!(coins.epsilon_at(coins.delta - 1), u64::MAX);
    let of = |times: usize| (0..times).fold(PrivacyLoss::default(), |sum, _| sum.and(coins));
    // 300 times rho = 0.5, and 9e-7 of delta.
    let exact = 150.0 + 2.0 * (150.0 * (1.0 / 1e-7f64).ln()).sqrt();
    let found = of(300).epsilon_at(delta) as f64 / 1e6;
    assert!(found >= exact && found < exact + 1e-5, "{found} {exact}");
    assert_eq!(of(1000).epsilon_at(delta), u64::MAX);
}

#[test]
fn decimals_are_read_exactly_or_refused() {
    for (text, decimals, units) in
        [("0.5", 6, 500_000), ("1", 6, 1_000_000), ("1e-9", 18, 1_000_000_000), ("2.5E-3", 6, 2_500), ("1e0", 0, 1)]
    {
        assert_eq!(decimal::read(text, decimals), Some(units), "{text}");
    }
    for text in ["", ".", "-1", "+1", "0.0000001", "1e99", "1e-40", "nan", "inf", "1e", "0x1", "1_0", &"9".repeat(60)] {
        assert_eq!(decimal::read(text, 6), None, "{text}");
    }
    assert_eq!([500_000, 0, 1, 12_000_000].map(|units| decimal::write(units, 6)), ["0.5", "0", "0.000001", "12"]);
    for (epsilon, delta) in [("0", None), ("0.0009", None), ("21", None), ("1", Some("0")), ("1", Some("0.1"))] {
        assert!(matches!(Privacy::new(epsilon, delta), Err(Error::Input(_))), "{epsilon} {delta:?}");
    }
    assert_eq!(Privacy::new("0.5", Some("1e-9")).unwrap().to_string(), "(0.5, 1e-9)");
}
