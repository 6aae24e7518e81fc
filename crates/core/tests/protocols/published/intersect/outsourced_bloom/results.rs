//! Results are those of plaintext, but for as many false positives as agreed, and as many bytes travel as was said.

use tacita_core::Level;
use tacita_core::depot::DepotParty;
use tacita_core::primitive::elgamal::threshold::PartyOrder;
use tacita_core::primitive::group::{Group, ModP, P384, Ristretto255};
use tacita_core::primitive::published::bloom::Rate;

use crate::support::published::outsourced_bloom::Blooms;

fn check<G: Group + Sync>(run: &Blooms<'_, G>) {
    let (ends, shelf) = run.run();
    for (me, end) in ends.into_iter().enumerate() {
        assert_eq!(end.unwrap(), run.expected(me), "party {me} of {:?}", run.params);
        let [left, _] = shelf.moved(DepotParty::Party(me as u8));
        assert_eq!(left, run.params.bytes_left_by(run.group, me), "bytes of party {me} of {:?}", run.params);
    }
    assert_eq!(shelf.moved(DepotParty::Helper), run.params.helper_bytes(run.group));
}

/// The largest of these sets has `size` items.
fn overlapping(parties: usize, size: usize) -> Vec<Vec<usize>> {
    (0..parties).map(|party| (party..size - party / 2).collect()).collect()
}

fn every_order(sets: &[Vec<usize>], bound: usize) {
    let parties = sets.len();
    for order in PartyOrder::ALL {
        check(&Blooms::new(&Ristretto255, sets, bound, Rate::Negligible, order, &[0]));
        if parties < 6 {
            let all: Vec<usize> = (0..parties).collect();
            check(&Blooms::new(&Ristretto255, sets, bound, Rate::Negligible, order, &all));
            check(&Blooms::new(&Ristretto255, sets, bound, Rate::Negligible, order, &[0, parties - 1]));
        }
    }
}

#[test]
fn every_order_of_any_number_of_parties_is_exact() {
    for parties in [2, 3, 4, 5, 8, 16] {
        // One item of each party's own, and two that all have.
        let sets: Vec<Vec<usize>> = (0..parties).map(|party| vec![100 + party, 7, 5]).collect();
        every_order(&sets, 4);
    }
    every_order(&overlapping(3, 12), 12);
}

#[test]
#[ignore = "slow: larger sets of every number of parties"]
fn every_order_of_any_number_of_parties_with_larger_sets_is_exact() {
    for parties in [2, 3, 4, 5, 8, 16] {
        every_order(&overlapping(parties, 24), 24);
    }
}

#[test]
fn other_groups() {
    for order in PartyOrder::ALL {
        let group = ModP::of(Level::Paper80);
        check(&Blooms::new(&group, &overlapping(3, 7), 7, Rate::Negligible, order, &[1]));
        check(&Blooms::new(&P384::new(), &overlapping(2, 7), 7, Rate::Published, order, &[0, 1]));
    }
}

#[test]
fn empty_single_and_unequal_sets() {
    let small: [Vec<usize>; 3] = [vec![], vec![7], (5..25).collect()];
    for (first, second) in (0..3).flat_map(|first| (0..3).map(move |second| (first, second))) {
        let sets = [small[first].clone(), small[second].clone(), small[2].clone()];
        check(&Blooms::new(&Ristretto255, &sets, 20, Rate::Negligible, PartyOrder::Chain, &[0, 2]));
    }
    check(&Blooms::new(&Ristretto255, &[vec![], vec![]], 0, Rate::Published, PartyOrder::Chain, &[1]));
}

/// Also where filters have several parts.
#[test]
fn false_positives_are_as_many_as_agreed() {
    let size = 1 << 10;
    let sets = [(0..size).collect(), (size - 5..2 * size - 5).collect()];
    let run = Blooms::new(&Ristretto255, &sets, size, Rate::Published, PartyOrder::Alone, &[0, 1]);
    let (ends, _) = run.run();
    let mut found = 0;
    for (me, end) in ends.into_iter().enumerate() {
        let (rows, expected) = (end.unwrap().unwrap(), run.expected(me).unwrap());
        assert!(expected.iter().all(|row| rows.contains(row)), "what is common is always found");
        found += rows.len() - expected.len();
    }
    let expected = 2.0 * size as f64 * Rate::Published.probability();
    assert!((found as f64 - expected).abs() < 5.0 * expected.sqrt(), "{found} false positives, not {expected}");
}
