//! Results are those of plaintext, whatever the sets are, and as many bytes travel as was said.

use rand_core::Rng;
use tacita_core::depot::DepotParty;
use tacita_core::primitive::group::Ristretto255;
use tacita_core::protocol::intersect::outsourced::OutsourcedReveal;
use tacita_core::protocol::intersect::outsourced::meet::announcement_bytes;

use crate::support::outsourced::Outsourced;
use crate::support::rng;

fn check(run: &Outsourced) {
    let (ends, shelf) = run.run();
    for (me, end) in ends.into_iter().enumerate() {
        assert_eq!(end.unwrap(), run.expected(me), "party {me} of {:?}", run.params);
        let moved = [run.params.bytes_left_by(me).unwrap(), run.params.bytes_collected_by(me).unwrap()];
        assert_eq!(shelf.moved(DepotParty::Party(me as u8)), moved, "bytes of party {me} of {:?}", run.params);
    }
    assert_eq!(shelf.moved(DepotParty::Helper), run.params.helper_bytes().unwrap());
    assert_eq!(announcement_bytes(&Ristretto255), 32 * 2 + 64 + 32);
}

const REVEALS: [OutsourcedReveal; 6] = [
    OutsourcedReveal::Rows,
    OutsourcedReveal::Count,
    OutsourcedReveal::Sum { giver: 0, bits: 10 },
    OutsourcedReveal::Sum { giver: 1, bits: 10 },
    OutsourcedReveal::Counts { giver: 0, categories: 4 },
    OutsourcedReveal::Counts { giver: 1, categories: 4000 },
];

#[test]
fn every_reveal_of_two_to_four_parties_is_exact() {
    for parties in 2..=4 {
        let sets: Vec<Vec<usize>> = (0..parties).map(|party| (party * 3..20 - party).collect()).collect();
        for reveal in REVEALS {
            check(&Outsourced::new(&sets, 30, 0, &[0], reveal));
            check(&Outsourced::new(&sets, 20, 1, &(0..parties).collect::<Vec<_>>(), reveal));
        }
    }
}

/// One of every `step` combinations of sets and reveals.
fn small_sets(step: usize) {
    let small: [Vec<usize>; 4] = [vec![], vec![7], (0..9).collect(), (5..150).collect()];
    let mut number = 0usize;
    for reveal in REVEALS {
        for (first, second) in (0..4).flat_map(|first| (0..4).map(move |second| (first, second))) {
            if number.is_multiple_of(step) {
                let sets = [small[first].clone(), small[second].clone(), small[3].clone()];
                check(&Outsourced::new(&sets, 145, 0, &[0, 2], reveal));
            }
            number += 1;
        }
    }
}

/// Every fifth of 6 x 16 combinations has every pair of sets, and every reveal.
#[test]
fn empty_single_and_unequal_sets() {
    small_sets(5);
    check(&Outsourced::new(&[vec![], vec![]], 0, 1, &[1], OutsourcedReveal::Rows));
}

#[test]
#[ignore = "slow: every combination"]
fn empty_single_and_unequal_sets_by_every_reveal() {
    small_sets(1);
}

fn random_sets(sizes: &[(usize, usize)]) {
    let mut rng = rng(5);
    for &(parties, items) in sizes {
        let sets: Vec<Vec<usize>> = (0..parties)
            .map(|_| {
                let mut set: Vec<usize> = (0..items).filter(|_| !rng.next_u32().is_multiple_of(8)).collect();
                set.reverse();
                set
            })
            .collect();
        check(&Outsourced::new(&sets, items, parties - 1, &[parties - 1], OutsourcedReveal::Rows));
        check(&Outsourced::new(
            &sets,
            items,
            parties / 2,
            &[parties / 2],
            OutsourcedReveal::Sum { giver: 0, bits: 12 },
        ));
    }
}

/// A part has 4096 entries.
#[test]
fn random_sets_of_many_parties_and_of_several_parts() {
    random_sets(&[(2, 4200), (7, 100), (16, 60)]);
}

#[test]
#[ignore = "slow: several parts of three parties, too"]
fn larger_random_sets_of_several_parts() {
    random_sets(&[(2, 5000), (3, 4200)]);
}
