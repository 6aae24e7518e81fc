//! Comparison of shared numbers with a threshold: answers, costs, and peers that break the protocol.

use std::sync::Arc;

use crate::support::attack::run_all;
use crate::support::two::{self, Ended, Repeated, Two};
use crate::support::{Frame, rng, session};
use proptest::prelude::*;
use tacita_core::channel::HEADER_BYTES;
use tacita_core::primitive::ot::{MESSAGES, ideal};
use tacita_core::protocol::dot::{Modulus, Shares};
use tacita_core::protocol::shares::at_least::{self, Params};
use tacita_core::protocol::shares::{ANSWERS, HIDDEN_BITS};
use tacita_core::{Channel, Result, Side};

/// Numbers with what they are compared with, in shares.
struct Case {
    shares: [Shares; 2],
    bound: u128,
    threshold: u128,
}

impl Case {
    fn new(numbers: &[u128], bits: u32, bound: u128, threshold: u128, seed: u8) -> Case {
        let modulus = Modulus::power_of_two(bits).unwrap();
        let first = Shares::random(modulus, numbers.len(), &mut rng(seed));
        let second = numbers.iter().zip(first.residues()).map(|(&number, &share)| modulus.subtract(number, share));
        let second = Shares::new(modulus, second.collect()).unwrap();
        Case { shares: [first, second], bound, threshold }
    }

    fn params(&self) -> Params {
        Params::new(self.shares[0].len(), self.shares[0].modulus(), self.bound, self.threshold).unwrap()
    }

    /// Over the dealer's OTs, or over real ones.
    fn run(&self, dealt: bool) -> (Ended<Vec<bool>>, Ended<Vec<bool>>) {
        two::run(&|channel| self.role(0, dealt, channel), &|channel| self.role(1, dealt, channel))
    }

    fn role(&self, party: usize, dealt: bool, channel: &mut Channel) -> Result<Vec<bool>> {
        let (mut sender, mut receiver) = ideal::pair([5; 32]);
        let (shares, bound, threshold, rng) = (&self.shares[party], self.bound, self.threshold, &mut rng(party as u8));
        match (party, dealt) {
            (0, true) => at_least::first_over(shares, bound, threshold, &mut sender, channel, rng),
            (_, true) => at_least::second_over(shares, bound, threshold, &mut receiver, channel, rng),
            (0, false) => at_least::run(Side::First, shares, bound, threshold, &session(), channel, rng),
            (_, false) => at_least::run(Side::Second, shares, bound, threshold, &session(), channel, rng),
        }
    }

    /// Checks that both parties' answers are right, and that the traffic is as planned.
    fn check(&self, numbers: &[u128], dealt: bool) {
        let (one, other) = self.run(dealt);
        let ((one, first), (other, second)) = (one.unwrap(), other.unwrap());
        let expected: Vec<bool> = numbers.iter().map(|&number| number >= self.threshold).collect();
        assert!(one == expected && other == expected, "{} {}", self.bound, self.threshold);
        let params = self.params();
        let bytes = |side| if dealt { params.bytes_sent_over_by(side) } else { params.bytes_sent_by(side) };
        let close = HEADER_BYTES as u64;
        assert_eq!([first.sent, second.sent], [Side::First, Side::Second].map(|side| bytes(side) + close));
        if !dealt {
            assert_eq!((first.rounds, second.rounds), (params.rounds(), params.rounds()));
        }
    }
}

#[test]
fn small_moduli_exhaustively() {
    for bits in 2..=6u32 {
        let modulus = 1u128 << bits;
        for bound in [1, modulus / 4, modulus / 2 - 1] {
            for threshold in 0..=bound + 1 {
                // Every number in every sharing.
                let pairs: Vec<(u128, u128)> =
                    (0..=bound).flat_map(|number| (0..modulus).map(move |share| (number, share))).collect();
                let numbers: Vec<u128> = pairs.iter().map(|pair| pair.0).collect();
                let modulus = Modulus::power_of_two(bits).unwrap();
                let first = Shares::new(modulus, pairs.iter().map(|pair| pair.1).collect()).unwrap();
                let second = pairs.iter().map(|pair| modulus.subtract(pair.0, pair.1)).collect();
                let shares = [first, Shares::new(modulus, second).unwrap()];
                Case { shares, bound, threshold }.check(&numbers, true);
            }
        }
    }
}

#[test]
fn long_numbers_at_the_edges() {
    for bits in [2, 3, 8, 9, 15, 16, 17, 18, 31, 33, 34, 63, 64, 65, 127] {
        let bound = (1u128 << (bits - 1)) - 1;
        for threshold in [0, 1, 2, bound / 2, bound / 2 + 1, bound / 2 + 2, bound - 1, bound, bound + 1, u128::MAX] {
            let near = |number: u128| [number.saturating_sub(1).min(bound), number.min(bound), (number + 1).min(bound)];
            let numbers = [near(0), near(threshold.min(bound)), near(bound / 2), near(bound)].concat();
            Case::new(&numbers, bits, bound, threshold, bits as u8).check(&numbers, true);
        }
    }
}

#[test]
fn every_size_of_batch() {
    for count in [0u128, 1, 2, 7, 63, 64, 65, 127, 1999] {
        let numbers: Vec<u128> = (0..count).map(|index| index * 37 % 1001).collect();
        Case::new(&numbers, 20, 1000, 500, 1).check(&numbers, true);
        if count < 100 {
            Case::new(&numbers, 20, 1000, 500, 1).check(&numbers, false);
        }
    }
}

/// Several messages of tables, over real OTs; numbers that are bits need none.
#[test]
fn ten_thousand_numbers() {
    let numbers: Vec<u128> = (0..10_000).map(|index| index * 7919 % 9836).collect();
    Case::new(&numbers, 15, 9835, 99, 2).check(&numbers, false);
    let bits: Vec<u128> = numbers.iter().map(|number| number % 2).collect();
    Case::new(&bits, 64, 1, 1, 3).check(&bits, false);
}

/// Checks a number of answers so large that they take two messages.
#[test]
#[ignore = "takes a gigabyte"]
fn eight_million_bits() {
    let numbers: Vec<u128> = (0..(1 << 23) + 9).map(|index| index * 7919 % 11 % 2).collect();
    Case::new(&numbers, 2, 1, 1, 1).check(&numbers, true);
}

/// One set of OTs serves any number of batches.
#[test]
fn batches_after_each_other() {
    let numbers: Vec<u128> = (0..300).collect();
    let cases = [Case::new(&numbers, 20, 300, 77, 1), Case::new(&numbers, 12, 300, 290, 2)];
    let first = |channel: &mut Channel| {
        let mut ot = at_least::first_setup(&session(), channel, &mut rng(1))?;
        let mut answers = Vec::new();
        for case in &cases {
            let shares = &case.shares[0];
            answers.push(at_least::first_over(shares, case.bound, case.threshold, &mut ot, channel, &mut rng(1))?);
        }
        Ok(answers)
    };
    let second = |channel: &mut Channel| {
        let mut ot = at_least::second_setup(&session(), channel, &mut rng(2))?;
        let mut answers = Vec::new();
        for case in &cases {
            let shares = &case.shares[1];
            answers.push(at_least::second_over(shares, case.bound, case.threshold, &mut ot, channel, &mut rng(2))?);
        }
        Ok(answers)
    };
    let (one, other) = two::run(&first, &second);
    let expected = [77, 290].map(|threshold| numbers.iter().map(|&number| number >= threshold).collect::<Vec<_>>());
    assert_eq!(one.unwrap().0, expected);
    assert_eq!(other.unwrap().0, expected);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn random_numbers(bits in 2u32..=64, seed: u8, bound: u128, threshold: u128, numbers: Vec<u128>) {
        let bound = bound % ((1 << (bits - 1)) - 1) + 1;
        let threshold = threshold % (bound + 2);
        let numbers: Vec<u128> = numbers.iter().map(|number| number % (bound + 1)).collect();
        Case::new(&numbers, bits, bound, threshold, seed).check(&numbers, true);
    }
}

#[test]
fn unfit_shares_are_refused() {
    let modulus = Modulus::new(1000).unwrap();
    let shares = [3, 4].map(|share| Shares::new(modulus, vec![share]).unwrap());
    assert!(matches!(Case { shares, bound: 10, threshold: 2 }.run(true).0, Err(tacita_core::Error::Input(_))));
    assert!(matches!(Case::new(&[1], 8, 128, 2, 1).run(true).1, Err(tacita_core::Error::Input(_))));
}

/// Every frame of either party in every wrong form, over dealt and over real OTs; and bits where none may be.
#[test]
fn hostile_peers() {
    let numbers: Vec<u128> = (0..77).collect();
    let case = Arc::new(Case::new(&numbers, 20, 1000, 50, 1));
    let mut attacks = Vec::new();
    for dealt in [true, false] {
        let role = |party: usize| -> Repeated {
            let case = case.clone();
            Box::new(move |channel| case.role(party, dealt, channel).map(drop))
        };
        let two = Arc::new(Two { name: format!("dealt: {dealt}"), first: role(0), second: role(1) });
        let (frames, _) = two::record(&two.first, &two.second);
        attacks.extend(two::wrong_forms(&two, &frames, None));
        for (culprit, frames) in frames.iter().enumerate() {
            for (index, frame) in frames.iter().enumerate().filter(|(_, frame)| frame.kind == Frame::DATA) {
                if [MESSAGES.code, HIDDEN_BITS.code, ANSWERS.code].contains(&frame.label) {
                    let set = |payload: &mut Vec<u8>| *payload.last_mut().unwrap() |= 0x80;
                    attacks.push(two::on_payload(&two, "bits beyond the last", culprit, index, set));
                }
            }
        }
    }
    assert!(attacks.len() > 100);
    run_all(attacks);
}
