//! Shares add up to the products, whatever the shape, the numbers and the modulus.

use tacita_core::protocol::dot::ot::mesh::{self, MeshProducts};
use tacita_core::protocol::dot::{Columns, Integers, Modulus};
use tacita_core::protocol::mesh::MeshOts;

use crate::support::many::{in_memory, run_parties};
use crate::support::mesh::{K, Mesh, Source, ots, product};

fn integers(bits: u32, signed: bool) -> Integers {
    Integers::new(bits, signed).unwrap()
}

fn modulus(text: &str) -> Modulus {
    text.parse().unwrap()
}

fn check(case: &Mesh, about: &str) {
    let ended = case.run_over(&in_memory);
    let all: Vec<_> = ended.into_iter().map(|ended| ended.unwrap_or_else(|error| panic!("{about}: {error}"))).collect();
    let shares: Vec<_> = all.iter().map(|(shares, _)| shares).collect();
    assert_eq!(case.sums(&shares), case.expected(), "{about}");
    if case.source != Source::Real {
        return;
    }
    for (me, (_, traffic)) in all.iter().enumerate() {
        for (peer, traffic) in (0..case.parties()).filter(|&peer| peer != me).zip(traffic) {
            let bytes = MeshOts::setup_bytes(K, me, peer).unwrap() + case.plan.bytes_sent(K, me, peer).unwrap();
            let closing = tacita_core::channel::HEADER_BYTES as u64;
            assert_eq!(traffic.sent, bytes + closing, "from {me} to {peer}: {about}");
            assert!(traffic.rounds <= case.plan.rounds(), "{} of {}: {about}", traffic.rounds, case.plan.rounds());
        }
    }
}

#[test]
fn shares_add_up_to_the_product_of_one_column_of_each() {
    let forms = [
        (1, false, "2^20"),
        (1, false, "2^1"),
        (1, true, "2^9"),
        (3, true, "2^40"),
        (8, false, "2^64"),
        (32, true, "2^116"),
    ];
    let others = [(1, false, "1000003"), (5, true, "3"), (4, false, "170141183460469231731687303715884105727")];
    for parties in [2, 3, 4] {
        for rows in [0, 1, 3, 130] {
            for (bits, signed, text) in forms.into_iter().chain(others) {
                let all: Vec<(usize, u32)> = (0..parties).map(|party| (party, 0)).collect();
                let columns = vec![1; parties];
                let case = Mesh::random(rows, integers(bits, signed), modulus(text), &columns, vec![product(&all)]);
                check(&case.dealt(7), &format!("{parties} parties, {rows} rows, {bits} bits modulo {text}"));
            }
        }
    }
}

/// Products of some of the parties, with factors in common, in one batch; and the same in blocks of rows.
#[test]
fn products_of_some_parties_share_their_beginnings() {
    let wanted = || {
        vec![
            product(&[(0, 0), (1, 1), (2, 0)]),
            product(&[(0, 0), (1, 1), (2, 1)]),
            product(&[(0, 0), (1, 1), (3, 0)]),
            product(&[(0, 1), (1, 0)]),
            product(&[(1, 1), (3, 1)]),
            product(&[(2, 1), (3, 0)]),
            product(&[(0, 0), (1, 0), (2, 1), (3, 1)]),
            product(&[(0, 0), (2, 1)]),
        ]
    };
    for (rows, blocks) in [(0, 1), (1, 1), (200, 200), (700, 128), (300, 7)] {
        for (bits, text) in [(1, "2^17"), (4, "2^30"), (3, "10007")] {
            let case = Mesh::random(rows, integers(bits, bits == 4), modulus(text), &[2, 2, 2, 2], wanted());
            check(&case.in_blocks_of(blocks), &format!("{rows} rows in blocks of {blocks}, {bits} bits modulo {text}"));
        }
    }
}

#[test]
fn many_parties_multiply() {
    let all: Vec<(usize, u32)> = (0..7).map(|party| (party, 0)).collect();
    check(&Mesh::random(40, integers(1, false), modulus("2^8"), &[1; 7], vec![product(&all)]), "seven");
    let all: Vec<(usize, u32)> = (0..16).map(|party| (party, 0)).collect();
    let ones = vec![vec![vec![1; 9]]; 16];
    check(&Mesh::new(ones, integers(1, false), modulus("2^8"), vec![product(&all)]).dealt(1), "sixteen");
}

/// Batches after each other, over the same transfers, have other keys and other shares of zero.
#[test]
fn batches_follow_each_other() {
    let wanted = vec![product(&[(0, 0), (1, 0), (2, 0)])];
    let case = Mesh::random(50, integers(1, false), modulus("2^30"), &[1, 1, 1], wanted);
    let ended = run_parties(3, &in_memory, |me, channels| {
        let mut ots = case.ots(me, channels)?;
        let one = mesh::run(&case.columns[me], &case.plan, &mut ots, channels)?;
        let other = mesh::run(&case.columns[me], &case.plan, &mut ots, channels)?;
        Ok([one, other])
    });
    let all: Vec<_> = ended.into_iter().map(|ended| ended.unwrap().0).collect();
    for batch in 0..2 {
        let shares: Vec<_> = all.iter().map(|shares| &shares[batch]).collect();
        assert_eq!(case.sums(&shares), case.expected());
    }
    assert!(all.iter().all(|[one, other]| one != other));
}

#[test]
fn numbers_are_opened_to_those_who_learn() {
    let wanted = vec![product(&[(0, 0), (1, 0), (2, 0)]), product(&[(0, 1), (1, 0), (2, 0)])];
    for learners in [vec![0], vec![2], vec![0, 1], vec![0, 1, 2]] {
        let case = Mesh::random(60, integers(2, false), modulus("2^30"), &[2, 1, 1], wanted.clone()).dealt(3);
        let ended = run_parties(3, &in_memory, |me, channels| {
            let mut ots = case.ots(me, channels)?;
            let shares = mesh::run(&case.columns[me], &case.plan, &mut ots, channels)?;
            let peers: Vec<usize> = (0..3).filter(|&peer| peer != me).collect();
            mesh::open(&shares, me, &learners, &peers, channels)
        });
        for (me, ended) in ended.into_iter().enumerate() {
            assert_eq!(ended.unwrap().0, learners.contains(&me).then(|| case.expected()), "{me} of {learners:?}");
        }
    }
}

#[test]
fn wrong_products_are_refused() {
    let plan = |products: &[Vec<(usize, u32)>]| {
        let products: Vec<_> = products.iter().map(|factors| product(factors)).collect();
        MeshProducts::new(5, integers(1, false), modulus("2^9"), &products)
    };
    assert!(plan(&[vec![(0, 0), (2, 0)], vec![(0, 0), (1, 0), (2, 0)]]).is_ok());
    for wrong in [
        vec![vec![(0, 0)]],
        vec![vec![(1, 0), (0, 0)]],
        vec![vec![(0, 0), (0, 1)]],
        vec![vec![(0, 0), (1, 0)], vec![(0, 0), (1, 0)]],
        vec![vec![(0, 0), (1, 0)], vec![(0, 0), (1, 0), (2, 0)]],
    ] {
        assert!(plan(&wrong).is_err(), "{wrong:?}");
    }
    let many: Vec<_> = (0..1 << 20).map(|column| vec![(0, column), (1, 0)]).collect();
    assert!(matches!(plan(&many), Err(tacita_core::Error::Input(_))));
    // Columns of another shape than was agreed on.
    let case =
        Mesh::random(5, integers(1, false), modulus("2^9"), &[1, 1, 1], vec![product(&[(0, 0), (1, 0), (2, 0)])]);
    for (bits, rows) in [(1, 5), (1, 4), (2, 5)] {
        let mut ots = ots(0, 3, Source::Dealer(1), &mut []).unwrap();
        let error = mesh::run(&Columns::new(integers(bits, false), rows), &case.plan, &mut ots, &mut []).unwrap_err();
        assert!(error.to_string().contains("columns of another shape"), "{error}");
    }
}
