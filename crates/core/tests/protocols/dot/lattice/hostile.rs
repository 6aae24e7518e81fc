//! `lattice` with a peer that breaks the protocol at every message, in either role: the victim must end with the right
//! error, and neither side may panic or hang.

use std::sync::Arc;

use crate::support::attack::{
    Attack, Mutation, Parties, Sent, by_turns, change, in_all_wrong_forms, run_all, sent, side,
};
use crate::support::{Frame, blames, rng, session};
use tacita_core::protocol::dot::lattice::{self, ANSWERS, COLUMNS, PUBLIC_KEY, Params, SEED};
use tacita_core::protocol::dot::{Columns, Integers, Shape};
use tacita_core::{Channel, Result, Role, Side};

/// Variant of the run: shares of products, the values, several groups and frames, numbers of many primes, chosen pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Shares,
    Values,
    Groups,
    Primes,
    Chosen,
}

const VARIANTS: [Variant; 5] = [Variant::Shares, Variant::Values, Variant::Groups, Variant::Primes, Variant::Chosen];

fn params(variant: Variant) -> Params {
    let bits = if variant == Variant::Primes { 32 } else { 1 };
    let integers = Integers::new(bits, false).unwrap();
    let (rows, first, second) = match variant {
        Variant::Shares => (100, 3, 2),
        Variant::Values => (4000, 9, 9),
        Variant::Groups => (30_000, 3, 3),
        Variant::Primes => (70, 2, 2),
        Variant::Chosen => (5000, 3, 20),
    };
    let shape = Shape { rows, first, second, integers };
    let learner = (variant == Variant::Values).then_some(Side::First);
    let modulus = if variant == Variant::Primes { "2^127".parse() } else { shape.value_modulus() };
    let params = match variant {
        Variant::Chosen => Params::of_pairs(shape, modulus.unwrap(), &[(0, 1), (2, 9), (1, 19), (0, 2)]),
        _ => Params::new(shape, modulus.unwrap(), learner),
    };
    let params = params.unwrap();
    assert_eq!(params.encryptor(), Side::First);
    params
}

/// The first party, who encrypts, has the receiver's end.
impl Parties for Variant {
    fn part(&self, role: Role, channel: &mut Channel) -> Result<()> {
        let params = params(*self);
        let (shape, side) = (params.shape(), side(role));
        let mut columns = Columns::new(shape.integers, shape.rows);
        let count = shape.columns(side);
        (0..count).for_each(|column| columns.push((0..shape.rows).map(|row| ((row * column) % 2) as i64)).unwrap());
        lattice::run(side, &columns, &params, &session(), channel, &mut rng(1 + side as u8)).map(drop)
    }

    fn name(&self) -> String {
        format!("{self:?}")
    }
}

/// Every frame of every variant from both roles, the closing one included.
fn frames() -> Vec<Sent<Variant>> {
    VARIANTS.into_iter().flat_map(|variant| sent(Arc::new(variant))).collect()
}

#[test]
fn every_message_travels() {
    for variant in VARIANTS {
        let params = params(variant);
        match variant {
            Variant::Shares => assert!(params.groups().len() == 1 && params.digits() == 1),
            Variant::Values => assert!(params.digits() > 1),
            Variant::Groups => assert!(params.groups().len() > 1 && params.bytes_sent_by(Side::First) > 1 << 20),
            Variant::Primes => assert!(params.prime_bits().1 > 3),
            Variant::Chosen => assert_eq!(params.products(), 4),
        }
    }
    let labels: std::collections::HashSet<u8> = frames().iter().map(|(.., frame)| frame.label).collect();
    assert!([SEED, PUBLIC_KEY, COLUMNS, ANSWERS].iter().all(|label| labels.contains(&label.code)));
}

#[test]
fn every_message_in_a_wrong_form() {
    let attacks = by_turns(&frames(), in_all_wrong_forms);
    assert!(attacks.len() > 30, "only {} attacks", attacks.len());
    run_all(attacks);
}

#[test]
#[ignore = "slow: every message of every variant in every form"]
fn every_message_of_every_variant_in_a_wrong_form() {
    let attacks = in_all_wrong_forms(&frames());
    assert!(attacks.len() > 100, "only {} attacks", attacks.len());
    run_all(attacks);
}

/// Neighbouring messages of different kinds change places: the second one comes early.
#[test]
fn messages_in_another_order() {
    let all = frames();
    let mut attacks = Vec::new();
    for pair in all.windows(2) {
        let [(case, culprit, frame, one), (_, party, number, other)] = pair else { unreachable!() };
        if culprit != party || number != &(frame + 1) || one.label == other.label || other.kind != Frame::DATA {
            continue;
        }
        let other = other.clone();
        let mutation: Mutation = Arc::new(move |frame| Some(vec![other.clone(), frame]));
        let (case, culprit, frame) = (case.clone(), *culprit, *frame);
        attacks.push(Attack { name: "early".into(), case, culprit, frame, mutation, expected: blames });
    }
    assert_eq!(attacks.len(), 2 * VARIANTS.len());
    run_all(attacks);
}

/// Numbers that are no residues: the prime itself, the largest number of its length, bits beyond the last number.
#[test]
fn numbers_that_are_no_residues() {
    let mut attacks = Vec::new();
    let mut answers = 0;
    for (case, culprit, frame, data) in frames() {
        if data.kind != Frame::DATA || data.label == SEED.code {
            continue;
        }
        let params = params(*case);
        let (bits, _) = params.prime_bits();
        let mut add = |name: &str, mutation: Mutation| {
            let case = case.clone();
            attacks.push(Attack { name: name.into(), case, culprit, frame, mutation, expected: blames });
        };
        // So many bytes hold a whole number, wherever they begin.
        let ones = |place: usize| change(move |frame| frame.payload[place..place + 13].fill(0xff));
        add("ones at the start", ones(0));
        add("ones at the end", ones(data.payload.len() - 13));
        add("ones in the middle", ones(data.payload.len() / 2));
        let spare = data.label == ANSWERS.code && !(data.payload.len() * 8).is_multiple_of(bits as usize);
        if spare {
            add("a bit beyond", change(|frame| *frame.payload.last_mut().unwrap() |= 0x80));
        }
        answers += usize::from(spare);
        // The first prime, in a frame that begins with it: the first frame of its label.
        if [PUBLIC_KEY.code, COLUMNS.code, ANSWERS.code].contains(&data.label) {
            let prime = params.ring().primes().iter().map(|ntt| ntt.prime().value()).max().unwrap();
            let mutation = change(move |frame| {
                let mut low = [0; 8];
                low.copy_from_slice(&frame.payload[..8]);
                let kept = u64::from_le_bytes(low) & !(u64::MAX >> (64 - bits));
                frame.payload[..8].copy_from_slice(&(kept | prime).to_le_bytes());
            });
            add("a prime", mutation);
        }
    }
    assert!(answers > 0, "no answer has spare bits");
    run_all(attacks);
}
