//! Tests of the results of all parties, compared with sets in the clear.

use crate::support::many::{Many, in_memory};
use tacita_core::protocol::intersect::star::{Gives, Params};

/// Set `place` of `parties`: the numbers below `size` that are no multiple of 5 + place, and 0.
fn set(place: usize, size: usize) -> Vec<usize> {
    (0..size).filter(|number| *number == 0 || !number.is_multiple_of(5 + place)).collect()
}

fn sets(parties: usize, size: usize) -> Vec<Vec<usize>> {
    (0..parties).map(|place| set(place, size)).collect()
}

#[test]
fn any_number_of_parties_finds_what_all_have() {
    for parties in [2, 3, 4, 5, 8, 16] {
        Many::new(&sets(parties, 300), 0, parties / 2, &[parties / 2], &[]).check();
    }
}

#[test]
fn a_dealer_instead_of_the_function_changes_nothing() {
    for parties in 2..=16 {
        for leader in [0, parties - 1] {
            let learners: Vec<usize> = (0..parties).collect();
            Many::new(&sets(parties, 100), 2, leader, &learners, &[0, parties - 1]).ideally().check();
        }
    }
    Many::new(&sets(33, 30), 0, 3, &[3], &[]).ideally().check();
}

#[test]
fn sizes_may_be_anything() {
    for (first, second, third) in [(1, 1, 1), (1, 2, 500), (500, 1, 2), (10_000, 1, 1), (1, 10_000, 1), (1, 1, 10_000)]
    {
        for leader in 0..3 {
            let sets: Vec<Vec<usize>> = [first, second, third].iter().map(|&size| (0..size).collect()).collect();
            Many::new(&sets, 0, leader, &[leader], &[]).check();
        }
    }
    // Of equal sizes and nothing in common, and of a set of nothing but dummies.
    Many::new(&[(0..50).collect(), (50..100).collect(), (0..100).collect()], 0, 0, &[0, 1, 2], &[1]).check();
    Many::new(&[vec![], (0..50).collect(), (0..50).collect()], 3, 0, &[0, 1, 2], &[0, 1]).check();
}

#[test]
fn an_empty_set_sends_nothing() {
    for empty in 0..3 {
        let mut sets = sets(3, 40);
        sets[empty].clear();
        let case = Many::new(&sets, 0, 1, &[0, 1, 2], &[0, 1, 2]);
        case.check();
        let traffic = case.run_over(&in_memory).into_iter().flat_map(|ended| ended.unwrap().1);
        assert!(traffic.map(|traffic| (traffic.sent, traffic.rounds)).all(|sent| sent == (10, 0)), "only closes");
    }
}

#[test]
fn everybody_gives_and_learns_what_was_agreed_on() {
    for (learners, givers) in [
        (vec![1], vec![1]),
        (vec![1], vec![0]),
        (vec![1], vec![0, 2, 3]),
        (vec![0, 1], vec![]),
        (vec![0, 1, 2, 3], vec![0, 1, 2, 3]),
        (vec![1, 3], vec![1, 3]),
        (vec![0, 1, 2], vec![3]),
    ] {
        for padding in [0, 7] {
            Many::new(&sets(4, 200), padding, 1, &learners, &givers).check();
        }
    }
    Many::new(&sets(2, 200), 0, 1, &[0, 1], &[0, 1]).check();
}

#[test]
fn what_cannot_work_is_refused() {
    let params = |items: &[usize], leader, learners: &[usize], givers: &[usize]| {
        let gives = givers.iter().map(|&party| Gives { party, rows: 9, row_bytes: 4 }).collect();
        Params::new(items.to_vec(), leader, learners.to_vec(), gives)
    };
    assert!(params(&[1, 2], 0, &[0], &[1]).is_ok());
    for wrong in [
        params(&[1], 0, &[0], &[]),
        params(&[1, 2], 2, &[2], &[]),
        params(&[1, 2], 0, &[1], &[]),
        params(&[1, 2], 0, &[], &[]),
        params(&[1, 2], 0, &[0, 2], &[]),
        params(&[1, 2, 3], 1, &[1, 0], &[]),
        params(&[1, 2, 3], 1, &[1], &[2, 2]),
        params(&[1, 2, 3], 1, &[1], &[3]),
        params(&[1, 1 << 32], 1, &[1], &[]),
        Params::new(vec![1, 2], 0, vec![0], vec![Gives { party: 1, rows: 1, row_bytes: 1 << 20 }]),
    ] {
        assert!(wrong.is_err(), "{wrong:?}");
    }
}
