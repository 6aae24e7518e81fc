//! Cells that close, against the rules over counts in the clear, and bytes that a run sends.

use tacita_core::channel::HEADER_BYTES;
use tacita_core::protocol::crosstab::{self, MAX_CELLS, Params};
use tacita_core::protocol::dot::reveal_bytes;
use tacita_core::protocol::shares::bits::{PlainGates, SharedBits};
use tacita_core::{Error, Side};

use super::{Table, plain};

fn check(table: &Table, dealt: bool) {
    let closed = plain::closed(table, None);
    let counts: Vec<Option<u128>> =
        table.counts.iter().zip(&closed).map(|(&count, closed)| (!closed).then_some(count.into())).collect();
    let open = closed.iter().filter(|closed| !**closed).count();
    for (side, ended) in [Side::First, Side::Second].into_iter().zip(table.run(dealt)) {
        let (found, traffic) = ended.unwrap();
        assert!(found == (closed.clone(), counts.clone()), "{table:?}");
        let params = &table.params;
        let decided = if dealt { params.bytes_sent_over_by(side) } else { params.bytes_sent_by(side) }.unwrap();
        let opened = reveal_bytes(params.modulus().unwrap(), open);
        assert_eq!(traffic.sent, decided + opened + HEADER_BYTES as u64, "{params:?}");
    }
}

#[test]
fn random_tables() {
    for seed in 0..150 {
        check(&Table::random(seed, 8, [0, 1, 3, 5][seed as usize % 4]), true);
    }
}

#[test]
fn tables_of_few_cells() {
    for shape in [[0, 0], [0, 3], [1, 1], [1, 2], [2, 1], [1, 9], [2, 2]] {
        for minimum in [0, 1, 5] {
            for count in [0, 1, 4, 5, 6] {
                check(&Table::new(vec![count; shape[0] * shape[1]], shape, minimum), true);
            }
        }
    }
}

#[test]
fn real_transfers() {
    for seed in [1, 2, 3] {
        check(&Table::random(seed, 9, 3), false);
    }
}

/// The circuit, over bits that one party holds, for tables with every pattern of small cells.
#[test]
fn every_pattern_of_small_cells() {
    for shape in [[1, 1], [1, 4], [3, 2], [2, 3], [3, 3]] {
        let cells = shape[0] * shape[1];
        for pattern in 0..1u32 << cells {
            let counts: Vec<u64> = (0..cells).map(|cell| u64::from(pattern >> cell & 1)).collect();
            let table = Table::new(counts, shape, 1);
            let small: SharedBits = table.counts.iter().map(|count| *count == 0).collect();
            let closed = crosstab::closing(&small, shape, &mut PlainGates::default()).unwrap();
            assert_eq!(closed.bits().collect::<Vec<_>>(), plain::closed(&table, None), "{table:?}");
        }
    }
}

#[test]
fn tables_that_are_too_large_are_refused() {
    let params = |first, second| Params { rows: 10, first, second, minimum: 5, tail: 0 };
    assert!(params(1 << 7, MAX_CELLS >> 7).check().is_ok());
    for (first, second) in [(1 << 7, (MAX_CELLS >> 7) + 1), (usize::MAX, 2), (1 << 40, 1 << 40)] {
        assert!(matches!(params(first, second).check(), Err(Error::Input(_))));
    }
}
