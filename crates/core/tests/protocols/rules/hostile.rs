//! Association rules with a peer that breaks the protocol: every message in every wrong form, and well-formed messages
//! whose counts cannot be.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::support::attack::{Attack, run_all};
use crate::support::dealer::{DEALT, Dealer};
use crate::support::two::{self, CULPRITS, Repeated, Two};
use crate::support::{Frame, blames, rng};
use tacita_core::primitive::ot::ideal;
use tacita_core::protocol::dot::SHARES;
use tacita_core::protocol::rules::association::{Consequents, RuleThresholds};
use tacita_core::protocol::rules::baskets::Baskets;
use tacita_core::protocol::rules::itemsets::{ItemsetOwner, kind, part_of};
use tacita_core::protocol::rules::{self, ITEMS, Learners, Mined, Params, RevealedCounts, SUPPORTS, TOLD};
use tacita_core::protocol::shares::ANSWERS;
use tacita_core::{Channel, Error, ErrorKind, Result};

const ROWS: usize = 60;
const MINIMUM: usize = 11;
const LIMIT: usize = 500;

fn params(reveal: RevealedCounts, mixed_only: bool) -> Params {
    let rules = RuleThresholds { min_confidence: "0.6".parse().unwrap(), consequents: Consequents::Any, mixed_only };
    Params {
        rows: ROWS,
        hidden: None,
        minimum: MINIMUM,
        reveal,
        learners: Learners::ALL,
        max_len: 4,
        max_candidates: LIMIT,
        max_rules: LIMIT,
        rules,
    }
}

/// Items of the first party are the multiples of three among ten.
fn baskets(party: usize) -> Baskets {
    let mut baskets = Baskets::new(ROWS, MINIMUM, LIMIT).unwrap();
    for item in (0..10u8).filter(|item| (item % 3 == 0) == (party == 0)) {
        let holds = |row: &usize| blake3::hash(&[*row as u8, item]).as_bytes()[0] < 110 + 10 * item;
        baskets.push((0..ROWS).filter(holds)).unwrap();
    }
    baskets
}

fn role(party: usize, params: &Params, channel: &mut Channel) -> Result<Mined> {
    let (mut sender, mut receiver) = ideal::pair([5; 32]);
    let (baskets, mut products, rng) = (baskets(party), Dealer::new(7), &mut rng(party as u8));
    match party {
        0 => rules::first_over(&baskets, params, &mut sender, &mut products, channel, rng),
        _ => rules::second_over(&baskets, params, &mut receiver, &mut products, channel, rng),
    }
}

fn all_params() -> impl Iterator<Item = Params> {
    let reveals = [RevealedCounts::Frequent, RevealedCounts::Counts];
    reveals.into_iter().flat_map(|reveal| [false, true].map(|mixed_only| params(reveal, mixed_only)))
}

/// The parties, the frames that they send, and what the first finds.
fn parties(params: Params) -> (Arc<Two>, [Vec<Frame>; 2], Mined) {
    let of = |party: usize| -> Repeated { Box::new(move |channel| role(party, &params, channel).map(drop)) };
    let two = Two { name: format!("{params:?}"), first: of(0), second: of(1) };
    let (frames, [mined, _]) = two::record(&|channel| role(0, &params, channel), &|channel| role(1, &params, channel));
    (Arc::new(two), frames, mined)
}

#[test]
fn messages_in_wrong_forms() {
    let all = all_params().flat_map(|params| {
        let (case, frames, _) = parties(params);
        let attacks = two::wrong_forms(&case, &frames, Some(DEALT.code));
        assert!(attacks.len() > 50);
        attacks
    });
    run_all(all.collect());
}

/// Returns the index, among the frames of a party, of the first, second, ... of a label.
fn place(frames: &[Frame], label: u8, number: usize) -> usize {
    let of_label = |(_, frame): &(usize, &Frame)| frame.kind == Frame::DATA && frame.label == label;
    frames.iter().enumerate().filter(of_label).nth(number).unwrap().0
}

/// A change of the first count behind `bits` bits.
fn set_count(bits: usize, count: u32) -> impl Fn(&mut Vec<u8>) + Send + Sync {
    move |payload| payload[bits.div_ceil(8)..][..4].copy_from_slice(&count.to_le_bytes())
}

/// Items of each party that are frequent: all.
const ITEMS_OF: [usize; 2] = [4, 6];

#[test]
fn counts_that_cannot_be() {
    for reveal in [RevealedCounts::Frequent, RevealedCounts::Counts] {
        let (case, frames, mined) = parties(params(reveal, false));
        assert_eq!(mined.frequent.shown(0).len(), ITEMS_OF[0]);
        assert_eq!(mined.frequent.shown(1).len(), ITEMS_OF[1]);
        let mut attacks = Vec::new();
        for culprit in 0..2 {
            let (items, pairs) = (ITEMS_OF[culprit], ITEMS_OF[culprit] * (ITEMS_OF[culprit] - 1) / 2);
            let (own, at) = (&frames[culprit], |label: u8, number| place(&frames[culprit], label, number));
            // Claims of more than the limits allow. If memory were taken for the second, this would not end well.
            for claim in [LIMIT as u32 + 2, u32::MAX] {
                let claim = move |payload: &mut Vec<u8>| *payload = claim.to_le_bytes().to_vec();
                attacks.push(two::on_payload(&case, "too many items", culprit, at(ITEMS.code, 0), claim));
            }
            for count in [0, MINIMUM as u32 - 1, ROWS as u32 + 1, u32::MAX] {
                let change = set_count(items, count);
                attacks.push(two::on_payload(&case, "count of an item", culprit, at(SUPPORTS.code, 0), change));
            }
            let mute = |payload: &mut Vec<u8>| {
                payload[0] &= !1;
                payload.drain(1..5);
            };
            attacks.push(two::on_payload(&case, "an item that is not frequent", culprit, at(SUPPORTS.code, 0), mute));
            for count in [0, MINIMUM as u32 - 1, ROWS as u32] {
                let change = set_count(pairs, count);
                attacks.push(two::on_payload(&case, "count of a pair", culprit, at(SUPPORTS.code, 1), change));
            }
            let beyond = |payload: &mut Vec<u8>| {
                payload[0] |= 0x80;
                payload.extend([20, 0, 0, 0]);
            };
            if !pairs.is_multiple_of(8) && pairs < 8 {
                attacks.push(two::on_payload(&case, "a pair that is none", culprit, at(SUPPORTS.code, 1), beyond));
            }
            // Half the modulus more than the count is more than all rows, or less than the minimum.
            let flip = |payload: &mut Vec<u8>| payload[0] ^= 0x20;
            attacks.push(two::on_payload(&case, "another share", culprit, at(SHARES.code, 0), flip));
            if reveal == RevealedCounts::Frequent {
                // All answers turned: itemsets that are not frequent would be opened, and are found out.
                assert!(own.iter().any(|frame| frame.label == ANSWERS.code));
                let turn = |payload: &mut Vec<u8>| payload.iter_mut().take(1).for_each(|byte| *byte ^= 0xff);
                let attack = two::on_payload(&case, "turned answers", culprit, at(ANSWERS.code, 1), turn);
                // The other end of the wire, which is honest, may notice first that the answers are not the same.
                attacks.push(Attack {
                    expected: |error| blames(error) || matches!(error, Error::Peer { kind: ErrorKind::Protocol, .. }),
                    ..attack
                });
            }
        }
        run_all(attacks);
    }
}

#[test]
fn told_supports_that_no_rule_needs() {
    let mut params = params(RevealedCounts::Frequent, true);
    params.rules.consequents = Consequents::Single;
    params.rules.min_confidence = "0.85".parse().unwrap();
    let (case, frames, mined) = parties(params);
    let mut attacks = Vec::new();
    for culprit in 0..2 {
        let at = place(&frames[culprit], TOLD.code, 0);
        let payload = &frames[culprit][at].payload;
        // Bits first, then four bytes for each that is set.
        let bits = (0..payload.len())
            .find(|&bytes| {
                bytes + 4 * payload[..bytes].iter().map(|byte| byte.count_ones() as usize).sum::<usize>()
                    == payload.len()
            })
            .unwrap();
        let told: usize = payload[..bits].iter().map(|byte| byte.count_ones() as usize).sum();
        let part = |set| part_of(set, culprit as u8);
        let all = mined.frequent.mixed().map(|(set, _)| part(set)).collect::<BTreeSet<_>>().len();
        let shown = mined.frequent.iter().filter(|(set, _)| kind(set) == ItemsetOwner::One(culprit as u8)).count();
        assert!(0 < told && told <= shown && shown < all && bits == all.div_ceil(8), "{told} {shown} {all}");
        let nothing = move |payload: &mut Vec<u8>| *payload = vec![0; bits];
        attacks.push(two::on_payload(&case, "nothing is told", culprit, at, nothing));
        for count in [0, MINIMUM as u32 - 1, ROWS as u32 + 1] {
            attacks.push(two::on_payload(&case, "count that is told", culprit, at, set_count(8 * bits, count)));
        }
        // Told again.
        let again = payload.clone();
        attacks.push(Attack {
            name: "told twice".into(),
            case: case.clone(),
            culprit: CULPRITS[culprit],
            frame: at + 1,
            mutation: Arc::new(move |frame| {
                assert_eq!(frame.label, TOLD.code);
                Some(vec![Frame { payload: again.clone(), ..frame }])
            }),
            expected: blames,
        });
        // One more that nobody asked for, as long as there is one.
        let one_more = move |payload: &mut Vec<u8>| {
            let bit = (0..8 * bits).find(|bit| payload[bit / 8] >> (bit % 8) & 1 == 0).unwrap();
            let before = (0..bit).filter(|bit| payload[bit / 8] >> (bit % 8) & 1 == 1).count();
            payload[bit / 8] |= 1 << (bit % 8);
            let counts = payload.split_off(bits + 4 * before);
            payload.extend((ROWS as u32).to_le_bytes());
            payload.extend(counts);
        };
        attacks.push(two::on_payload(&case, "one more is told", culprit, at, one_more));
    }
    run_all(attacks);
}
