//! Over hidden rows, nothing is opened but counts of the result, and nothing is told in the clear but how many items
//! each party has.

use std::collections::BTreeMap;

use super::views::{Run, messages, unpack};
use crate::support::dealer::Dealer;
use crate::support::views::Check;
use crate::support::{rng, two};
use tacita_core::primitive::ot::ideal;
use tacita_core::protocol::dot::SHARES;
use tacita_core::protocol::rules::association::{Consequents, RuleThresholds};
use tacita_core::protocol::rules::baskets::Baskets;
use tacita_core::protocol::rules::{self, FIT, Learners, Params, RevealedCounts, SUPPORTS, TOLD};
use tacita_core::{Channel, Error, Side};

/// Rows of both parties, and of either.
const COMMON: usize = 60;
const ALL: usize = 140;
const MINIMUM: usize = 22;

fn params(reveal: RevealedCounts, mixed_only: bool) -> Params {
    let rules = RuleThresholds { min_confidence: "0.6".parse().unwrap(), consequents: Consequents::Any, mixed_only };
    Params {
        rows: COMMON,
        hidden: Some(ALL),
        minimum: MINIMUM,
        reveal,
        learners: Learners::ALL,
        max_len: usize::MAX,
        max_candidates: 10_000,
        max_rules: 10_000,
        rules,
    }
}

/// Items of which some are frequent in own rows alone. Rows behind the common ones are the first party's and the
/// second's in turn.
fn baskets(side: Side, most: usize) -> Baskets {
    let mut baskets = Baskets::new(ALL, MINIMUM, most).unwrap();
    let has = |row: &usize| *row < COMMON || row % 2 == side as usize;
    for item in 0..7u8 {
        let holds = |row: &usize| blake3::hash(&[*row as u8, item, side as u8]).as_bytes()[0] < 70 + 20 * item;
        baskets.push((0..ALL).filter(has).filter(holds)).unwrap();
    }
    baskets.set_present((0..ALL).filter(has));
    baskets
}

fn run(params: &Params, seed: u8) -> Run {
    let ot = || ideal::pair([seed ^ 0x55; 32]);
    let (frames, mined) = two::record(
        &|channel| {
            let (mut dealer, rng) = (Dealer::new(seed), &mut rng(seed));
            rules::first_over(
                &baskets(Side::First, params.max_candidates),
                params,
                &mut ot().0,
                &mut dealer,
                channel,
                rng,
            )
        },
        &|channel| {
            let (mut dealer, rng) = (Dealer::new(seed), &mut rng(seed.wrapping_add(128)));
            rules::second_over(
                &baskets(Side::Second, params.max_candidates),
                params,
                &mut ot().1,
                &mut dealer,
                channel,
                rng,
            )
        },
    );
    Run { frames, mined }
}

/// Counts that are opened, with how often, by the shares that travel.
fn opened(run: &Run, params: &Params) -> BTreeMap<u64, usize> {
    let shares = [0, 1].map(|party| messages(&run.frames[party], SHARES.code));
    assert_eq!(shares[0].len(), shares[1].len());
    let bits = params.modulus().unwrap().bits() as usize;
    let mut counts = BTreeMap::new();
    for (index, (one, other)) in shares[0].iter().zip(&shares[1]).enumerate() {
        // The parts of rules come last, and have room for limits.
        let last = params.rules.mixed_only && index + 1 == shares[0].len();
        let bits = if last { bits + 2 } else { bits };
        for (one, other) in unpack(one, bits).into_iter().zip(unpack(other, bits)) {
            *counts.entry((one + other) % (1 << bits)).or_default() += 1;
        }
    }
    counts
}

/// Checks that the counts of the result are opened, each once, and nothing else.
fn opens_the_result_alone(run: &Run, params: &Params) -> Check {
    for label in [SUPPORTS.code, TOLD.code, FIT.code] {
        if run.frames.iter().any(|frames| !messages(frames, label).is_empty()) {
            return Err(format!("messages under label {label}"));
        }
    }
    let mut result = BTreeMap::new();
    run.mined[0].frequent.iter().for_each(|(_, count)| *result.entry(u64::from(count)).or_default() += 1);
    if opened(run, params) == result { Ok(()) } else { Err("other counts than the result's are opened".into()) }
}

#[test]
fn nothing_is_opened_but_the_result() {
    for mixed_only in [false, true] {
        let params = params(RevealedCounts::Frequent, mixed_only);
        for seed in 0..4 {
            let run = run(&params, seed);
            opens_the_result_alone(&run, &params).unwrap();
            assert_eq!(run.mined[0].frequent, run.mined[1].frequent);
        }
        // There are items that are frequent in own rows alone, and with `mixed_only` counts that are withheld.
        let mined = run(&params, 9).mined;
        assert!(mined[0].items.len() < baskets(Side::First, 10).len() && mined[0].frequent.mixed().count() > 3);
    }
}

/// A run that opens one-party counts whatever they are fails the same check.
#[test]
fn counts_in_the_clear_are_more_than_the_result() {
    let params = params(RevealedCounts::Counts, false);
    opens_the_result_alone(&run(&params, 1), &params).unwrap_err();
}

/// Items in enough of the own rows are candidates, and too many of them end the run at both parties, with a reason.
#[test]
fn too_many_items_end_the_run() {
    let params = Params { max_candidates: 3, ..params(RevealedCounts::Frequent, false) };
    let role = |side: Side, channel: &mut Channel| {
        let (baskets, mut dealer, mut ot, rng) =
            (baskets(side, 3), Dealer::new(1), ideal::pair([1; 32]), &mut rng(side as u8));
        match side {
            Side::First => rules::first_over(&baskets, &params, &mut ot.0, &mut dealer, channel, rng),
            Side::Second => rules::second_over(&baskets, &params, &mut ot.1, &mut dealer, channel, rng),
        }
    };
    let (one, other) = two::run(&|channel| role(Side::First, channel), &|channel| role(Side::Second, channel));
    for ended in [one, other] {
        assert!(matches!(&ended, Err(Error::Input(text)) if text.contains("max_candidates is 3")), "{ended:?}");
    }
}
