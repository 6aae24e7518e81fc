//! Tests of the messages that each role of `gm-bloom` receives, compared with what its own input and output allow.
//! Every check is also run on a deliberately leaky variant, which must fail it.

use std::collections::HashSet;

use crate::support::dot::{Dot, Source};
use crate::support::views::*;
use crate::support::{Frame, lengths, payloads, rng, session, short_key, two};
use tacita_core::primitive::published::bloom::Strength;
use tacita_core::primitive::published::goldwasser_micali::GmSecretKey;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, Shares};
use tacita_core::protocol::published::dot::gm_bloom::{self, BITS, LABELLED, Lengths, PUBLIC_KEY, Params};
use tacita_core::{Channel, Side};

/// Bytes of a number modulo N, and of a label.
const BYTES: usize = 64;
const LABEL_BYTES: usize = 10;

fn params(rows: usize, bound: usize) -> Params {
    let shape = Shape { rows, first: 1, second: 1, integers: Integers::BINARY };
    let lengths = Lengths { key: short_key(), strength: Strength::Bits80 };
    Params::new(shape, shape.value_modulus().unwrap(), lengths, bound, Some(Side::First)).unwrap()
}

fn column(rows: usize, ones: &[usize]) -> Columns {
    let mut columns = Columns::new(Integers::BINARY, rows);
    columns.push((0..rows).map(|row| i64::from(ones.contains(&row)))).unwrap();
    columns
}

struct Recorded {
    /// Frames of the counter and the labeller.
    frames: [Vec<Frame>; 2],
    /// The counter's, which its seed determines.
    key: GmSecretKey,
}

/// One run over a wire tap; the first party counts.
fn record(params: &Params, first: &Columns, second: &Columns, seeds: [u8; 2]) -> Recorded {
    let own = |side, own| {
        move |channel: &mut Channel| {
            gm_bloom::run(side, own, params, &session(), channel, &mut rng(seeds[side as usize]))
        }
    };
    let (frames, _) = two::record(&own(Side::First, first), &own(Side::Second, second));
    let key = GmSecretKey::generate(short_key(), &mut rng(seeds[0]));
    assert_eq!(payloads(&frames[0], PUBLIC_KEY.code), key.public().to_bytes());
    Recorded { frames, key }
}

/// Extracts what the counter is told of the rows: labels, and ciphertexts, in the order in which they came.
fn labelled(recorded: &Recorded, rows: usize) -> (Vec<u8>, Vec<u8>) {
    let mut labels = payloads(&recorded.frames[1], LABELLED.code);
    let ciphertexts = labels.split_off(rows * LABEL_BYTES);
    (labels, ciphertexts)
}

/// Ciphertexts that the counter knows, because it has made them.
fn recognised(own: &[u8], answered: &[u8]) -> Check {
    let own: HashSet<&[u8]> = own.chunks(BYTES).collect();
    match answered.chunks(BYTES).filter(|ciphertext| own.contains(ciphertext)).count() {
        0 => Ok(()),
        known => Err(format!("{known} ciphertexts are known")),
    }
}

/// The one row with a one of the counter's is a common one: where it stands among the labels tells nothing of which row
/// it is. A plain intersection of the rows' numbers tells just that.
#[test]
fn the_counter_does_not_learn_which_rows_are_common() {
    // Each makes a key.
    const RUNS: usize = 8 * PLACES;
    let params = params(PLACES, 4);
    let (mut runs, mut places, mut unshuffled) = (Vec::new(), Vec::new(), Vec::new());
    for run in 0..RUNS {
        let from = run % PLACES;
        let second = column(PLACES, &[from, (from + 1) % PLACES]);
        let recorded = record(&params, &column(PLACES, &[from]), &second, [run as u8, run as u8]);
        let (labels, ciphertexts) = labelled(&recorded, PLACES);
        let bits = recorded.key.open(&ciphertexts).unwrap();
        let to = bits.iter().position(|bit| *bit).unwrap();
        places.push((from, to));
        runs.push(labels);
        recognised(&payloads(&recorded.frames[0], BITS.code), &ciphertexts).unwrap();
        // Leaky: re-randomised, and in the order in which they came.
        let own = recorded.key.public().read(&payloads(&recorded.frames[0], BITS.code)).unwrap();
        let order: Vec<u32> = (0..PLACES as u32).collect();
        let answered = recorded.key.public().rerandomize(&own, &order, &mut rng(run as u8));
        let bits = recorded.key.decrypt(&answered);
        unshuffled.push((from, bits.iter().position(|bit| *bit).unwrap()));
    }
    hides_order(&places).unwrap();
    hides_order(&unshuffled).unwrap_err();
    fresh_entries(&runs, LABEL_BYTES, PLACES).unwrap();
    // Leaky: rows by their numbers.
    let numbers = |row: usize| (row as u128).to_le_bytes()[..LABEL_BYTES].to_vec();
    let bare: Vec<Vec<u8>> = (0..RUNS).map(|_| (0..PLACES).flat_map(numbers).collect()).collect();
    fresh_entries(&bare, LABEL_BYTES, PLACES).unwrap_err();
}

#[test]
fn the_counter_does_not_recognise_its_ciphertexts_and_without_fresh_randomness_it_does() {
    let (params, rows) = (params(300, 300), 300);
    let mut runs = Vec::new();
    for (run, step) in (0..).zip([1, 2, 300]) {
        let ones: Vec<usize> = (0..rows).step_by(step).collect();
        let recorded = record(&params, &column(rows, &ones), &column(rows, &[5]), [run, 50 + run]);
        let own = payloads(&recorded.frames[0], BITS.code);
        let (_, ciphertexts) = labelled(&recorded, rows);
        recognised(&own, &ciphertexts).unwrap();
        // Leaky: shuffled alone.
        let mut shuffled: Vec<&[u8]> = own.chunks(BYTES).collect();
        shuffled.rotate_left(7);
        recognised(&own, &shuffled.concat()).unwrap_err();
        runs.push(low(&ciphertexts));
    }
    // As fresh encryptions, which a simulator makes of the number of ones alone.
    let key = GmSecretKey::generate(short_key(), &mut rng(9));
    let simulated = key.public().encrypt(&[true; 300], &mut rng(10));
    fresh_entries(&[&runs[..], &[low(simulated.as_bytes())]].concat(), BYTES - 8, rows).unwrap();
}

/// Without the highest bytes, which are not uniform: N is no power of 256.
fn low(ciphertexts: &[u8]) -> Vec<u8> {
    ciphertexts.chunks(BYTES).flat_map(|ciphertext| ciphertext[..BYTES - 8].to_vec()).collect()
}

#[test]
fn the_labeller_sees_fresh_ciphertexts_whatever_the_column() {
    let (params, rows) = (params(400, 400), 400);
    let mut runs = Vec::new();
    for (run, ones) in (0..).zip([vec![], vec![], (0..400).collect(), (0..400).step_by(2).collect::<Vec<_>>()]) {
        let recorded = record(&params, &column(rows, &ones), &column(rows, &[1, 2]), [run, 77]);
        runs.push(low(&payloads(&recorded.frames[0], BITS.code)));
    }
    fresh_entries(&runs, BYTES - 8, rows).unwrap();
    // Leaky: one ciphertext for every zero; the same ones again.
    let constant = runs[0][..BYTES - 8].repeat(rows);
    fresh_entries(&[constant], BYTES - 8, rows).unwrap_err();
    fresh_entries(&[runs[0].clone(), runs[0].clone()], BYTES - 8, rows).unwrap_err();
}

/// Checks that the lengths of messages depend on the bound, and not on the number of ones.
#[test]
fn lengths_do_not_depend_on_the_number_of_ones() {
    let rows = 60;
    let of = |bound: usize, ones: [usize; 2]| {
        let [first, second] = ones.map(|ones| column(rows, &(0..ones).collect::<Vec<_>>()));
        record(&params(rows, bound), &first, &second, [1, 2]).frames.map(|frames| lengths(&frames))
    };
    let expected = of(20, [0, 0]);
    for ones in [[0, 20], [20, 0], [20, 20], [7, 13]] {
        assert_eq!(of(20, ones), expected);
    }
    // Leaky: filters of the sets' own sizes.
    assert_ne!(of(7, [7, 7]), of(20, [20, 20]));
}

/// The parts of the form with two outputs say what the product is, within a few of its square roots.
fn estimates(parts: &[u128], product: f64) -> Check {
    if parts.iter().all(|&part| (2.0 * part as f64 - product).abs() <= 6.0 * product.sqrt()) {
        Ok(())
    } else {
        Err("a part says nothing of the product".into())
    }
}

#[test]
fn parts_are_about_half_of_the_product_each_and_no_uniform_shares() {
    let modulus = Modulus::new(1 << 64).unwrap();
    let dot = Dot::random(Integers::BINARY, 400, (1, 1), 0.7, 3);
    let product = dot.truth(modulus)[0] as f64;
    assert!(product > 100.0);
    let lengths = Lengths { key: short_key(), strength: Strength::Bits80 };
    let params = Params::in_parts(dot.shape(), modulus, lengths, 400).unwrap();
    let by_ot = dot.params(modulus, Extension::SoftSpoken(4));
    let (mut parts, mut shares) = ([Vec::new(), Vec::new()], [Vec::new(), Vec::new()]);
    for run in 0..40 {
        for (all, part) in parts.iter_mut().zip(run_parts(&dot, &params, run)) {
            all.extend_from_slice(part.residues());
        }
        for (all, (share, _)) in shares.iter_mut().zip(dot.check(&by_ot, Source::Dealer(run.into()))) {
            all.extend_from_slice(share.residues());
        }
    }
    for parts in &parts {
        estimates(parts, product).unwrap();
        uniform("parts", &bytes_of(parts)).unwrap_err();
    }
    // What `ot` makes are shares.
    for shares in &shares {
        estimates(shares, product).unwrap_err();
        uniform("shares", &bytes_of(shares)).unwrap();
    }
    // Split anew in each run.
    assert!(parts[0].iter().collect::<HashSet<_>>().len() > 10, "{:?}", parts[0]);
}

fn bytes_of(residues: &[u128]) -> Vec<u64> {
    byte_counts(residues.iter().flat_map(|residue| residue.to_le_bytes()[..8].to_vec()))
}

fn run_parts(dot: &Dot, params: &Params, run: u8) -> [Shares; 2] {
    let (mut one, mut other) = Channel::pair("first", "second");
    let (first, second) = (dot.columns(Side::First), dot.columns(Side::Second));
    std::thread::scope(|scope| {
        let first = scope
            .spawn(move || gm_bloom::run(Side::First, &first, params, &session(), &mut one, &mut rng(run)).unwrap());
        let second = gm_bloom::run(Side::Second, &second, params, &session(), &mut other, &mut rng(100 + run)).unwrap();
        [first.join().unwrap(), second]
    })
}
