//! Tests of the results of all parties, compared with sets in the clear, and of their traffic.

use rand_core::Rng;
use tacita_core::primitive::group::{Group, ModP, Ristretto255};
use tacita_core::primitive::published::Pallas;
use tacita_core::protocol::published::intersect::kissner_song::{Params, PartyOrder, Strategy};
use tacita_core::security::Level;

use super::{expected, run_over};
use crate::support::many::in_memory;
use crate::support::rng;

/// Checks that all learn what they should, and send what they say.
fn check<G: Group + Sync>(group: &G, sets: &[Vec<usize>], params: &Params) {
    let mut most = 0;
    for (me, ended) in run_over(group, sets, params, &in_memory).into_iter().enumerate() {
        let (learned, traffic) = ended.unwrap_or_else(|error| panic!("{me} in {params:?}: {error}"));
        assert_eq!(learned, expected(sets, params, me), "{me} in {params:?}");
        for (peer, traffic) in (0..sets.len()).filter(|peer| *peer != me).zip(traffic) {
            assert_eq!(traffic.sent, params.bytes_sent_by(group, me, peer), "from {me} to {peer} in {params:?}");
            most = most.max(traffic.rounds);
        }
    }
    assert_eq!(most, params.rounds(), "{params:?}");
}

/// Random sets of these sizes, of few enough numbers that some are common.
fn random_sets(sizes: &[usize], seed: u8) -> Vec<Vec<usize>> {
    let mut rng = rng(seed);
    let mut set = |size: usize| {
        let mut set: Vec<usize> = (0..size + size / 4 + 1).collect();
        while set.len() > size {
            set.remove(rng.next_u32() as usize % set.len());
        }
        set
    };
    sizes.iter().map(|&size| set(size)).collect()
}

const SIZES: [&[usize]; 12] = [
    &[1, 1],
    &[0, 5],
    &[9, 20],
    &[1, 1, 1],
    &[7, 0, 3],
    &[13, 13, 13],
    &[20, 5, 11],
    &[1, 2, 3, 4],
    &[16, 16, 16, 16],
    &[9, 33, 17, 21],
    &[5, 5, 5, 5, 5],
    &[12, 19, 3, 25, 8],
];

/// For a group in which all takes long.
const SMALL_SIZES: [&[usize]; 5] = [&[0, 5], &[9, 4], &[7, 1, 3], &[5, 6, 7, 4], &[3, 4, 3, 2, 5]];

/// Random sets of these sizes, with one learner in a chain and with all, or with one of the two in turn.
fn in_group<G: Group + Sync>(group: &G, cases: &[&[usize]], seed: u8, all_learners: bool) {
    for (number, sizes) in cases.iter().enumerate() {
        let (sets, parties) = (random_sets(sizes, seed + number as u8), sizes.len());
        let bound = sizes.iter().copied().max().unwrap() + number % 3;
        let all: Vec<usize> = (0..parties).collect();
        let learning = [(vec![number % parties], PartyOrder::Chain), (all, PartyOrder::Alone)];
        for (turn, (learners, order)) in learning.into_iter().enumerate() {
            if !all_learners && number % 2 != turn {
                continue;
            }
            let params = Params { order, ..Params::new(parties, bound, learners).unwrap() };
            check(group, &sets, &params);
        }
    }
}

#[test]
fn any_number_of_parties_finds_what_all_have() {
    in_group(&Ristretto255, &SIZES, 0, false);
}

#[test]
#[ignore = "slow: every combination"]
fn any_number_of_parties_and_of_learners_finds_what_all_have() {
    in_group(&Ristretto255, &SIZES, 0, true);
    in_group(&ModP::of(Level::Paper80), &SMALL_SIZES, 100, true);
}

#[test]
fn so_do_they_in_a_group_of_the_papers() {
    in_group(&ModP::of(Level::Paper80), &SMALL_SIZES, 100, false);
}

#[test]
fn whoever_learns_does_so_in_every_order_and_by_every_strategy() {
    let sets = [vec![1, 4, 2], vec![9, 4, 1, 3, 8], vec![4, 7, 1, 6], vec![5, 1, 4, 2]];
    for learners in [vec![0], vec![3], vec![1, 2], vec![0, 3], vec![0, 1, 2, 3]] {
        for order in PartyOrder::ALL {
            let params = Params { order, ..Params::new(4, 5, learners.clone()).unwrap() };
            check(&Ristretto255, &sets, &params);
        }
    }
    for strategy in Strategy::ALL {
        let params = Params { strategy, ..Params::new(4, 20, vec![2]).unwrap() };
        let sets = random_sets(&[20, 15, 17, 19], 4);
        check(&Pallas, &sets, &params);
    }
}

#[test]
fn nothing_is_sent_where_nothing_can_be_common() {
    let params = Params::new(3, 0, vec![0, 1]).unwrap();
    check(&Ristretto255, &[vec![], vec![], vec![]], &params);
    assert_eq!((params.rounds(), params.bytes_sent_by(&Ristretto255, 0, 1)), (0, 10));
}

#[test]
fn what_cannot_work_is_refused() {
    for (parties, bound, learners) in [
        (1, 3, vec![0]),
        (3, 3, vec![]),
        (3, 3, vec![3]),
        (3, 3, vec![1, 0]),
        (3, 3, vec![1, 1]),
        (3, 1 << 32, vec![0]),
    ] {
        assert!(Params::new(parties, bound, learners).is_err());
    }
    let fft = Params { strategy: Strategy::Fft, ..Params::new(2, 3, vec![0]).unwrap() };
    let more = Params::new(2, 1, vec![0]).unwrap();
    for params in [fft, more] {
        let ended = run_over(&Ristretto255, &[vec![1, 2], vec![2, 3]], &params, &in_memory);
        assert!(ended.iter().all(Result::is_err));
    }
}
