//! Alignment against the union and the intersection in plaintext.

use super::{SIDES, aligned, common, dealt, in_common_order, order_as};
use crate::support::two::run;
use crate::support::{items, rng};
use proptest::prelude::*;
use tacita_core::protocol::align::{self, Alignment, Params};
use tacita_core::{ErrorKind, Item, Side};

/// Checks the alignments of both parties against the plaintext.
fn agrees(first: &[Item], second: &[Item], params: &Params, [one, other]: [&Alignment; 2]) {
    let shared = common(first, second);
    for alignment in [one, other] {
        assert_eq!(alignment.rows(), params.first_items + params.second_items - shared);
        assert_eq!(alignment.common(), shared);
    }
    in_common_order(first, second, [one.positions(), other.positions()], one.rows());
    // Present on both sides, as products count them.
    let [mine, theirs] = [one, other].map(|alignment| alignment.present());
    assert_eq!([mine.len(), theirs.len()], [one.rows(); 2]);
    assert_eq!((0..one.rows()).filter(|&row| mine.get(row)).count(), first.len());
    assert_eq!((0..one.rows()).filter(|&row| mine.get(row) && theirs.get(row)).count(), shared);
    // A column has each value in its row, and nothing elsewhere.
    let values: Vec<u32> = (1..).take(first.len()).collect();
    let column = one.column(&values).unwrap();
    assert!(one.positions().iter().zip(&values).all(|(&row, value)| column[row as usize] == *value));
    assert_eq!(column.iter().filter(|&&value| value == 0).count(), one.rows() - first.len());
}

/// The whole protocol is right, and costs what was counted beforehand.
fn check(first: &[Item], second: &[Item], params: &Params) {
    let (one, other) = aligned(first, second, params, [1, 2]);
    let ((one, first_traffic), (other, second_traffic)) = (one.unwrap(), other.unwrap());
    agrees(first, second, params, [&one, &other]);
    let counted = SIDES.map(|side| params.bytes_sent_by(side, common(first, second)).unwrap());
    assert_eq!([first_traffic.sent, second_traffic.sent], counted, "{params:?}");
    let rounds = [first_traffic.rounds, second_traffic.rounds];
    assert_eq!(rounds, [params.rounds().unwrap(); 2], "{params:?}");
}

#[test]
fn small_sizes() {
    for (first, second) in [(0, 0), (0, 1), (1, 0), (1, 1), (2, 3), (3, 2), (5, 0), (0, 7), (33, 17)] {
        // All common, one common, none.
        for shift in [0, first.max(1) - 1, 100] {
            check(&items(0..first), &items(shift..shift + second), &Params::new(first, second));
        }
    }
}

#[test]
fn sizes_that_differ_by_orders_of_magnitude() {
    for (first, second) in [(3, 3_000), (3_000, 3), (1, 5_000)] {
        let params = Params::new(first, second);
        check(&items(0..first), &items((first - 1..first - 1 + second).rev()), &params);
        check(&items(0..first), &items(9_000..9_000 + second), &params);
    }
}

#[test]
fn random_items_fill_up() {
    for (first, second, more) in [(0, 0, [1, 2]), (4, 5, [3, 0]), (4, 5, [0, 7])] {
        let params = Params::new(first + more[0], second + more[1]);
        check(&items(0..first), &items(2..2 + second), &params);
    }
}

/// Longer tags and larger stores of one of several runs give the same result at the stated cost.
#[test]
fn the_probability_of_a_wrong_answer_is_divided_among_runs() {
    let params = Params::new(600, 500);
    let bytes = |params: &Params| params.bytes_sent_by(Side::Second, 0).unwrap();
    assert!(bytes(&params.one_of(1 << 20)) > bytes(&params));
    check(&items(0..600), &items(300..800), &params.one_of(1 << 20));
}

/// Memory that is asked for before a run follows the sizes.
#[test]
fn memory_follows_the_sizes() {
    let of = |first: usize, second: usize| SIDES.map(|side| Params::new(first, second).memory(side));
    let [small, more_own, more_theirs] = [of(1 << 10, 1 << 10), of(1 << 20, 1 << 10), of(1 << 10, 1 << 20)];
    assert!(small[0] == small[1] && more_own[0] > more_theirs[0] && more_theirs[0] > small[0]);
    assert_eq!([more_own[1], more_own[0]], more_theirs);
}

/// The dealer gives what the protocol gives, in an order of its own each time.
#[test]
fn the_ideal_twin_agrees() {
    let mut orders = Vec::new();
    for (first, second, fill) in [(0, 0, 0), (0, 3, 1), (40, 30, 0), (40, 30, 0), (7, 900, 5)] {
        let (mine, theirs) = (items(0..first), items(first / 2..first / 2 + second));
        let params = Params::new(first + fill, second);
        let (one, other) = align::ideal::pair();
        let (one, other) = std::thread::scope(|scope| {
            let seed = orders.len() as u8;
            let other = scope.spawn(|| other.run(&theirs, &params, &mut rng(100)).unwrap());
            (one.run(&mine, &params, &mut rng(seed)).unwrap(), other.join().unwrap())
        });
        agrees(&mine, &theirs, &params, [&one, &other]);
        orders.push(one.positions().to_vec());
    }
    assert_ne!(orders[2], orders[3]);
}

#[test]
fn misuse_is_refused() {
    let kinds = |first: &[Item], second: &[Item], params: Params| {
        let (one, other) = aligned(first, second, &params, [1, 2]);
        [one.unwrap_err().kind(), other.unwrap_err().kind()]
    };
    // An item twice, at either party; more items than were agreed on.
    assert_eq!(kinds(&items([1, 2, 1]), &items(0..3), Params::new(3, 3))[0], ErrorKind::Internal);
    assert_eq!(kinds(&items(0..3), &items([1, 2, 1]), Params::new(3, 3))[1], ErrorKind::Internal);
    assert_eq!(kinds(&items(0..3), &items(0..3), Params::new(2, 2)), [ErrorKind::Internal; 2]);
    // More rows than can be numbered.
    let none = Params::new(u32::MAX as usize, 1);
    let (one, _) = run(&|channel| order_as(Side::First, &[], &none, channel, 1).map(drop), &|channel| {
        order_as(Side::Second, &[], &none, channel, 2).map(drop)
    });
    assert_eq!(one.unwrap_err().kind(), ErrorKind::Input);
    // Values for other items.
    let (one, _) = aligned(&items(0..3), &items(0..3), &Params::new(3, 3), [1, 2]);
    assert_eq!(one.unwrap().0.column(&[1u32, 2]).unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn nothing_of_a_row_is_printed() {
    let (one, _) = aligned(&items(0..3), &items(1..4), &Params::new(3, 3), [1, 2]);
    assert_eq!(format!("{:?}", one.unwrap().0), "Alignment { rows: 4, common: 2, .. }");
    assert_eq!(format!("{:?}", dealt(&items(0..1), 1)), "[Id(..)]");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    /// The order of ids that come from elsewhere.
    #[test]
    fn random_sets(
        first in prop::collection::hash_set(0usize..300, 0..120),
        second in prop::collection::hash_set(0usize..300, 0..120),
        chunk in 1usize..70,
    ) {
        let (first, second) = (items(first), items(second));
        let params = Params { chunk, ..Params::new(first.len(), second.len()) };
        let (one, other) = run(
            &|channel| order_as(Side::First, &dealt(&first, 1), &params, channel, 1),
            &|channel| order_as(Side::Second, &dealt(&second, 1), &params, channel, 2),
        );
        let (one, other) = (one.unwrap().0, other.unwrap().0);
        prop_assert_eq!(one.rows, first.len() + second.len() - common(&first, &second));
        prop_assert_eq!(one.rows, other.rows);
        in_common_order(&first, &second, [&one.positions, &other.positions], one.rows);
    }
}

/// Items of tables with a million rows.
#[test]
#[ignore = "takes a minute"]
fn large_sets() {
    for log in [16, 20] {
        let size = 1 << log;
        check(&items(0..size), &items(size / 2..size / 2 + size), &Params::new(size, size));
    }
}
