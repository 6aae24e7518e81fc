//! Tests of the messages that each role of `lattice` receives, compared with what its own input and output allow. Every
//! check is also run on a deliberately leaky variant, which must fail it.

use std::collections::HashSet;

use crate::support::views::*;
use crate::support::{Frame, payloads, rng, session, two};
use tacita_core::primitive::kernel::ntt::Ntt;
use tacita_core::primitive::kernel::{Block, Prg};
use tacita_core::primitive::rlwe::{Ring, RlweSecretKey, Switch, Uniform, errors, packed_bytes, unpack};
use tacita_core::protocol::dot::lattice::{self, ANSWERS, COLUMNS, PUBLIC_KEY, Params, SEED};
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, Shares};
use tacita_core::{Channel, Side};

fn binary(rows: usize, first: usize, second: usize) -> Shape {
    Shape { rows, first, second, integers: Integers::BINARY }
}

/// Columns of which bit `row` of column i is that of `bits(i)`.
fn columns(shape: &Shape, count: usize, bits: impl Fn(usize) -> u64) -> Columns {
    let mut columns = Columns::new(shape.integers, shape.rows);
    (0..count).for_each(|i| columns.push((0..shape.rows).map(|row| (bits(i) >> (row % 64) & 1) as i64)).unwrap());
    columns
}

/// Frames of the first and of the second party, and their shares.
struct Recorded {
    frames: [Vec<Frame>; 2],
    shares: [Shares; 2],
}

/// One run over a wire tap; the seeds are those of the parties' generators.
fn record(params: &Params, first: &Columns, second: &Columns, seeds: [u8; 2]) -> Recorded {
    let own = |side, own| {
        move |channel: &mut Channel| {
            lattice::run(side, own, params, &session(), channel, &mut rng(seeds[side as usize]))
        }
    };
    let (frames, shares) = two::record(&own(Side::First, first), &own(Side::Second, second));
    Recorded { frames, shares }
}

fn labels(frames: &[Frame]) -> HashSet<u8> {
    frames.iter().filter(|frame| frame.kind == Frame::DATA).map(|frame| frame.label).collect()
}

/// Counts the residues in each of 64 equal parts of their range.
fn spread(residues: &[u64], prime: u64) -> Vec<u64> {
    let mut counts = vec![0; 64];
    residues.iter().for_each(|&residue| counts[(u128::from(residue) * 64 / u128::from(prime)) as usize] += 1);
    counts
}

/// Lists of residues are uniform, each and in their differences.
fn fresh(lists: &[Vec<u64>], prime: u64) -> Check {
    for list in lists {
        uniform("residues", &spread(list, prime))?;
    }
    for pair in lists.windows(2) {
        let differences: Vec<_> = pair[0].iter().zip(&pair[1]).map(|(a, b)| (a + prime - b) % prime).collect();
        uniform("differences", &spread(&differences, prime))?;
    }
    Ok(())
}

/// The first residues modulo one prime of a message.
fn residues(params: &Params, ntt: &Ntt, bytes: &[u8], count: usize) -> Vec<u64> {
    let mut residues = vec![0; count];
    let (bits, _) = params.prime_bits();
    assert!(unpack(bits, ntt.prime().value(), &bytes[..packed_bytes(bits, count)], &mut residues));
    residues
}

/// Rows of the columns of which an encryptor tries all.
const ROWS: usize = 12;

/// An encryptor that wants to read the other party's only column from an answer.
struct Attacker {
    ring: Ring,
    switch: Switch,
    /// Coefficients of the mask of its only ciphertext, modulo each prime.
    mask: Vec<Vec<u64>>,
}

impl Attacker {
    /// Creates an attacker that knows the seed that it has sent.
    fn new(params: &Params, seed: &[u8]) -> Attacker {
        let ring = params.ring();
        let key = session().derive("dot lattice masks");
        let masks = Uniform::new(*blake3::keyed_hash(&key, seed).as_bytes().first_chunk().unwrap());
        let (bits, primes) = params.prime_bits();
        let mask = ring.primes().iter().enumerate().map(|(index, ntt)| {
            let mut mask = vec![0; params.degree()];
            // The public key's masks come first.
            masks.fill(ntt, bits, (primes + index) as u64, &mut mask);
            ntt.inverse(&mut mask);
            mask
        });
        Attacker { mask: mask.collect(), switch: Switch::new(&ring, 1), ring }
    }

    /// Coefficient `place` of the mask times the column with these bits, modulo each prime.
    fn product(&self, bits: u64, place: usize) -> Vec<u64> {
        let residue = |(ntt, mask): (&Ntt, &Vec<u64>)| {
            let rows = (0..ROWS).filter(|row| bits >> row & 1 == 1);
            rows.fold(0, |sum, row| ntt.prime().add(sum, mask[place + row]))
        };
        self.ring.primes().iter().zip(&self.mask).map(residue).collect()
    }

    /// The columns that explain an answer's first coefficients, but for small errors.
    fn explanations(&self, second: &[u64]) -> Vec<u64> {
        let prime = self.ring.primes()[0].prime();
        let fits = |bits: &u64| {
            (0..4).all(|place| {
                let mut product = self.product(*bits, place);
                self.switch.apply(&mut product);
                let error = prime.subtract(product[0], second[place]);
                error.min(prime.value() - error) < 100
            })
        };
        (0..1 << ROWS).filter(fits).collect()
    }

    /// Computes the answer of an answerer that leaves out the fresh encryption of zero, and adds errors or not.
    fn unprotected(&self, bits: u64, errors: &[i64]) -> Vec<u64> {
        let one = |place: usize| {
            let mut residues = self.product(bits, place);
            for (residue, ntt) in residues.iter_mut().zip(self.ring.primes()) {
                *residue = ntt.prime().add_small(*residue, errors[place]);
            }
            self.switch.apply(&mut residues);
            residues[0]
        };
        (0..4).map(one).collect()
    }
}

#[test]
fn answers_without_a_fresh_zero_give_the_column_away_and_answers_do_not() {
    let shape = binary(ROWS, 1, 1);
    let params = Params::new(shape, shape.value_modulus().unwrap(), None).unwrap();
    assert_eq!(params.encryptor(), Side::First);
    for (run, bits) in (0..).zip([0b1011_0110_1001, 1, 0xfff]) {
        let (a, b) = (columns(&shape, 1, |_| 0b1100_0101_1010), columns(&shape, 1, |_| bits));
        let recorded = record(&params, &a, &b, [run, 100 + run]);
        let attacker = Attacker::new(&params, &payloads(&recorded.frames[0], SEED.code));
        let answer = payloads(&recorded.frames[1], ANSWERS.code);
        // All of the second half travels, and of the first one the output alone.
        let residues = residues(&params, &attacker.ring.primes()[0], &answer, params.degree() + 1);
        assert_eq!(attacker.explanations(&residues), [0u64; 0], "the column shows");
        assert_eq!(attacker.explanations(&attacker.unprotected(bits, &[0; 4])), [bits]);
        let errors = errors(4, &mut Prg::new(Block(5)));
        assert_eq!(attacker.explanations(&attacker.unprotected(bits, &errors)), [bits]);
    }
}

#[test]
fn the_encryptor_sees_fresh_uniform_answers_whatever_the_columns() {
    // Shares, and values that are equal: the output is the same in all runs.
    for (learner, seconds) in [(None, [0, !0, 0x5555]), (Some(Side::First), [0b1010, 0b1010, 0b0101])] {
        let shape = binary(4032, 9, 9);
        let params = Params::new(shape, shape.value_modulus().unwrap(), learner).unwrap();
        assert_eq!(params.digits() > 1, learner.is_some());
        let first = columns(&shape, 9, |_| if learner.is_some() { 0b1111 } else { 0b1011 });
        let mut lists = Vec::new();
        let mut prime = 0;
        for (run, bits) in (0..).zip(seconds) {
            let recorded = record(&params, &first, &columns(&shape, 9, |_| bits), [1, 50 + run]);
            assert_eq!(labels(&recorded.frames[1]), HashSet::from([ANSWERS.code]));
            let answer = recorded.frames[1].iter().find(|frame| frame.label == ANSWERS.code).unwrap();
            let ring = params.ring();
            prime = ring.primes()[0].prime().value();
            lists.push(residues(&params, &ring.primes()[0], &answer.payload, params.degree()));
        }
        fresh(&lists, prime).unwrap();
        // Leaky: the same zero twice; no zero, for columns of zeros.
        fresh(&[lists[0].clone(), lists[0].clone()], prime).unwrap_err();
        fresh(&[vec![0; params.degree()]], prime).unwrap_err();
    }
}

#[test]
fn the_answerer_sees_fresh_uniform_ciphertexts_whatever_the_columns() {
    let shape = binary(4096, 1, 1);
    let params = Params::new(shape, shape.value_modulus().unwrap(), None).unwrap();
    let ring = params.ring();
    let (ntt, prime) = (&ring.primes()[0], ring.primes()[0].prime().value());
    let (mut keys, mut ciphertexts, mut seeds) = (Vec::new(), Vec::new(), HashSet::new());
    for (run, bits) in (0..).zip([0, 0, !0, 0x1234_5678_9abc_def0]) {
        let recorded = record(&params, &columns(&shape, 1, |_| bits), &columns(&shape, 1, |_| !0), [run, 77]);
        let frames = &recorded.frames[0];
        assert_eq!(labels(frames), HashSet::from([SEED.code, PUBLIC_KEY.code, COLUMNS.code]));
        assert!(seeds.insert(payloads(frames, SEED.code)), "a seed came twice");
        let unit = params.degree() * params.prime_bits().0 as usize / 8;
        for (label, lists) in [(PUBLIC_KEY, &mut keys), (COLUMNS, &mut ciphertexts)] {
            lists.push(residues(&params, ntt, &payloads(frames, label.code)[..unit], params.degree()));
        }
    }
    fresh(&keys, prime).unwrap();
    fresh(&ciphertexts, prime).unwrap();
    // Leaky: one mask for two plaintexts, of which the coefficients' difference is then small; no mask.
    let key = RlweSecretKey::new(&ring, &mut Prg::new(Block(1)));
    let mut mask = vec![0; params.degree()];
    Uniform::new([1; 16]).fill(ntt, params.prime_bits().0, 0, &mut mask);
    let encrypted = |mask: &[u64], seed: u128| {
        let errors = errors(params.degree(), &mut Prg::new(Block(seed)));
        let mut values = vec![0; params.degree()];
        ntt.prime().small(&errors, &mut values);
        key.encrypt(&ring, 0, mask, &mut values);
        ntt.inverse(&mut values);
        values
    };
    fresh(&[encrypted(&mask, 1)], prime).unwrap();
    fresh(&[encrypted(&mask, 1), encrypted(&mask, 2)], prime).unwrap_err();
    fresh(&[encrypted(&vec![0; params.degree()], 1)], prime).unwrap_err();
}

/// Extracts the polynomials of one run: all of the encryptor's ciphertexts, the public key among them, and the second
/// halves of all answers. Returns coefficients modulo the first prime.
fn one_run(params: &Params, recorded: &Recorded) -> [Vec<Vec<u64>>; 2] {
    let (bits, primes) = params.prime_bits();
    let (ring, degree) = (params.ring(), params.degree());
    let ntt = &ring.primes()[0];
    let mut ciphertexts = Vec::new();
    for label in [PUBLIC_KEY, COLUMNS] {
        let payload = payloads(&recorded.frames[0], label.code);
        for unit in payload.chunks(packed_bytes(bits, degree)).step_by(primes) {
            let mut values = residues(params, ntt, unit, degree);
            ntt.inverse(&mut values);
            ciphertexts.push(values);
        }
    }
    let answers: Vec<_> = recorded.frames[1].iter().filter(|frame| frame.label == ANSWERS.code).collect();
    let count: usize = (0..params.groups().len()).map(|group| params.answers(group).len()).sum();
    let answers = answers.chunks(answers.len() / count);
    [ciphertexts, answers.map(|answer| residues(params, ntt, &answer[0].payload, degree)).collect()]
}

/// Columns of zeros, so that whatever were used twice would leave small errors in a difference: masks of the encryptor,
/// u or all the randomness of the answerer.
#[test]
fn nothing_in_one_run_repeats() {
    let shape = binary(60_000, 3, 20);
    let params = Params::new(shape, shape.value_modulus().unwrap(), None).unwrap();
    assert_eq!(params.encryptor(), Side::First);
    let recorded = record(&params, &columns(&shape, 3, |_| 0), &columns(&shape, 20, |_| 0), [5, 6]);
    let [ciphertexts, answers] = one_run(&params, &recorded);
    // Several groups, of several blocks each; more answers than are made at once.
    assert!(params.groups().len() >= 2 && ciphertexts.len() > 4 * params.groups().len(), "{params:?}");
    assert!(answers.len() >= 2 * params.groups().len() && params.answers(0).len() > 16, "{params:?}");
    let prime = params.ring().primes()[0].prime().value();
    for lists in [&ciphertexts, &answers] {
        // Neighbours at every distance: all pairs.
        for distance in 1..lists.len() {
            for start in 0..distance {
                let some: Vec<_> = lists.iter().skip(start).step_by(distance).cloned().collect();
                fresh(&some, prime).unwrap();
            }
        }
        // Leaky: one that comes again, but for small errors.
        let again: Vec<_> = lists[0].iter().zip(0..).map(|(value, error)| (value + error % 43) % prime).collect();
        fresh(&[lists[0].clone(), again], prime).unwrap_err();
    }
}

/// Answers hold the chosen products and nothing else, and are as fresh as those of all products.
#[test]
fn of_chosen_pairs_nothing_else_travels() {
    let shape = binary(5000, 3, 20);
    let pairs = [(0, 1), (2, 9), (1, 19), (0, 2)];
    let params = Params::of_pairs(shape, shape.value_modulus().unwrap(), &pairs).unwrap();
    assert_eq!(params.encryptor(), Side::First);
    let recorded = record(&params, &columns(&shape, 3, |_| 0), &columns(&shape, 20, |_| 0), [5, 6]);
    assert_eq!(recorded.shares.each_ref().map(Shares::len), [4, 4]);
    let frames: Vec<_> = recorded.frames[1].iter().filter(|frame| frame.label == ANSWERS.code).collect();
    let answers: Vec<_> = (0..params.groups().len()).flat_map(|group| params.answers(group)).collect();
    let bytes: u64 = answers.iter().map(|answer| params.answer_bytes(answer)).sum();
    assert_eq!(
        frames.iter().map(|frame| (tacita_core::channel::HEADER_BYTES + frame.payload.len()) as u64).sum::<u64>(),
        bytes
    );
    let outputs: usize = answers.iter().map(|answer| params.products_of(answer).count()).sum();
    assert_eq!(outputs, pairs.len());
    let prime = params.ring().primes()[0].prime().value();
    for lists in one_run(&params, &recorded) {
        assert!(lists.len() > 2);
        fresh(&lists, prime).unwrap();
        fresh(&[lists[0].clone(), lists[0].clone()], prime).unwrap_err();
    }
}

#[test]
fn shares_are_uniform_whatever_the_products() {
    let shape = binary(30, 20, 25);
    let modulus = Modulus::new(13).unwrap();
    let params = Params::new(shape, modulus, None).unwrap();
    let counts = |shares: &[u128]| {
        let mut counts = vec![0; 13];
        shares.iter().for_each(|&share| counts[share as usize] += 1);
        counts
    };
    for (a, b) in [(0, 0), (!0, !0), (0x2d5a_9c3b, 0x1f)] {
        let (mut all, mut products) = ([Vec::new(), Vec::new()], Vec::new());
        for run in 0..8 {
            let (first, second) = (columns(&shape, 20, |_| a), columns(&shape, 25, |_| b));
            let recorded = record(&params, &first, &second, [run, 20 + run]);
            for (all, shares) in all.iter_mut().zip(&recorded.shares) {
                all.extend(shares.residues());
            }
            products.extend(recorded.shares[0].open(&recorded.shares[1]));
        }
        for shares in &all {
            uniform("shares", &counts(shares)).unwrap();
            // Neighbours have nothing to do with each other.
            let differences: Vec<_> = shares.windows(2).map(|pair| modulus.subtract(pair[0], pair[1])).collect();
            uniform("differences", &counts(&differences)).unwrap();
        }
        // Leaky: the products themselves; one share for all.
        uniform("shares", &counts(&products)).unwrap_err();
        let one: Vec<_> = products.iter().map(|&product| modulus.add(product, 5)).collect();
        uniform("shares", &counts(&one)).unwrap_err();
    }
}
