use proptest::prelude::*;

use super::*;
use crate::primitive::group::{Group, Point, Ristretto255};

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn blocks(count: usize, rng: &mut ChaCha20Rng) -> Vec<Block> {
    (0..count).map(|_| Block::random(rng)).collect()
}

fn store(keys: usize, seed: u8) -> Okvs {
    Okvs::new(Params::new(keys, 40).unwrap(), &[seed; 32])
}

/// <row(key), P> with the row written out in full: the definition.
fn decode_by_definition(okvs: &Okvs, key: Block, store: &[Block]) -> Block {
    let params = okvs.params();
    let mut row_hash = [key];
    okvs.row.encrypt_blocks(&mut row_hash);
    let row_hash = row_hash[0] ^ key;
    let mut coefficient = [key];
    okvs.coefficient.encrypt_blocks(&mut coefficient);
    let coefficient = coefficient[0] ^ key;
    let bin = if params.bins == 1 { 0 } else { scale_down((row_hash.0 >> 96) as u32, params.bins as u32) as usize };
    let mut row = vec![Block::ZERO; params.columns()];
    let start = bin * params.bin_columns();
    for column in three_distinct(row_hash, params.sparse as u32) {
        row[start + column as usize] = Block::ONE;
    }
    let mut power = coefficient;
    for column in 0..params.dense {
        row[start + params.sparse + column] = power;
        power *= coefficient;
    }
    row.iter().zip(store).fold(Block::ZERO, |sum, (coefficient, column)| sum ^ (*coefficient * *column))
}

fn check(count: usize, seed: u8, random: bool) {
    let mut rng = rng(seed);
    let (keys, values) = (blocks(count, &mut rng), blocks(count, &mut rng));
    let okvs = store(count, seed);
    let (grouped, arranged) = okvs.group(&keys, &values);
    let encoded =
        if random { okvs.encode_random(&grouped, &arranged, &mut rng) } else { okvs.encode(&grouped, &arranged) }
            .unwrap();
    assert_eq!(encoded.len(), okvs.params().columns());
    assert!(okvs.decode(&grouped, &encoded) == arranged, "{count} keys");
    for index in [0, 1, count / 2, count.saturating_sub(1)].into_iter().filter(|&index| index < count) {
        assert!(decode_by_definition(&okvs, keys[index], &encoded) == values[index]);
    }
    // Keys that are not there decode to what the definition says, too.
    let others = blocks(3, &mut rng);
    let (grouped, _) = okvs.group(&others, &[(); 3]);
    for (value, key) in okvs.decode(&grouped, &encoded).iter().zip(grouped.keys()) {
        assert!(*value == decode_by_definition(&okvs, *key, &encoded));
    }
}

#[test]
fn every_key_has_its_value() {
    for count in (0..40).chain([127, 128, 129, 1000, 4096]) {
        check(count, count as u8, count % 2 == 0);
    }
}

#[test]
fn bins_work_together() {
    for (count, random) in [(65_536, true), (65_537, false), (150_001, true)] {
        check(count, 7, random);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn any_number_of_keys(count in 0usize..3000, seed: u8, random: bool) {
        check(count, seed, random);
    }
}

#[test]
fn a_duplicate_is_named() {
    for count in [2usize, 100, 70_000] {
        let mut rng = rng(3);
        let mut keys = blocks(count, &mut rng);
        keys[count - 1] = keys[count / 3];
        let values = blocks(count, &mut rng);
        let okvs = store(count, 1);
        let (grouped, values) = okvs.group(&keys, &values);
        let error = okvs.encode(&grouped, &values).unwrap_err();
        assert_eq!(error, EncodeError::Duplicate(count / 3, count - 1));
    }
    // Even if there are far more of them than fit a bin.
    let okvs = store(70_000, 1);
    let (grouped, values) = okvs.group(&vec![Block::ONE; 70_000], &vec![Block::ZERO; 70_000]);
    assert!(matches!(okvs.encode(&grouped, &values).unwrap_err(), EncodeError::Duplicate(..)));
}

/// The core is solved by elimination: forced by far fewer sparse columns than rows would need to be peeled.
#[test]
fn cores_are_solved() {
    let mut rng = rng(4);
    let (sparse, dense, count) = (30usize, 12usize, 36usize);
    let mut solved = 0;
    for _ in 0..50 {
        let hashes = blocks(count, &mut rng);
        let rows: Vec<_> = hashes.iter().map(|hash| three_distinct(*hash, sparse as u32)).collect();
        let coefficients = blocks(count, &mut rng);
        let values = blocks(count, &mut rng);
        for random in [None, Some(ChaCha20Rng::from_seed([1; 32]))] {
            let mut columns = vec![Block::ZERO; sparse + dense];
            let bin = solve::Rows { sparse: &rows, coefficients: &coefficients, columns: sparse };
            if solve::solve(bin, &values, &mut columns, random).is_err() {
                continue;
            }
            solved += 1;
            for ((row, coefficient), value) in rows.iter().zip(&coefficients).zip(&values) {
                let mut sum = row.iter().fold(Block::ZERO, |sum, &column| sum ^ columns[column as usize]);
                let mut power = *coefficient;
                for column in &columns[sparse..] {
                    sum ^= power * *column;
                    power *= *coefficient;
                }
                assert!(sum == *value);
            }
        }
    }
    assert!(solved >= 80, "only {solved} of 100 were solved");
}

/// More equations than unknowns have no solution, and that is said.
#[test]
fn too_many_rows_are_refused() {
    let mut rng = rng(5);
    let okvs = store(128, 5);
    let count = okvs.params().columns() + 1;
    let larger = Okvs::new(Params { keys: count, bin_keys: count, ..*okvs.params() }, &[5; 32]);
    let (grouped, _) = larger.group(&blocks(count, &mut rng), &vec![(); count]);
    assert_eq!(larger.encode(&grouped, &blocks(count, &mut rng)).unwrap_err(), EncodeError::Unlucky);
    // So is a bin that overflows.
    let okvs = store(128, 5);
    let (grouped, _) = okvs.group(&blocks(129, &mut rng), &[(); 129]);
    assert_eq!(okvs.encode(&grouped, &blocks(129, &mut rng)).unwrap_err(), EncodeError::Unlucky);
}

/// Encoding fails at most as often as the published relation says, at sizes where failures can be counted.
#[test]
fn failures_are_as_rare_as_stated() {
    let mut rng = rng(6);
    for (rows, bits, trials) in [(128usize, 2.0, 4000), (128, 5.0, 8000), (512, 5.0, 3000), (1024, 4.0, 1500)] {
        let columns = (params::expansion(rows, bits) * rows as f64).ceil() as usize;
        let failures = (0..trials)
            .filter(|_| {
                let sparse: Vec<_> =
                    (0..rows).map(|_| three_distinct(Block::random(&mut rng), columns as u32)).collect();
                // Two equal rows are what the dense columns are for: the relation leaves them out.
                let coefficients = blocks(rows, &mut rng);
                let values = vec![Block::ZERO; rows];
                let mut solution = vec![Block::ZERO; columns + 1];
                let bin = solve::Rows { sparse: &sparse, coefficients: &coefficients, columns };
                solve::solve(bin, &values, &mut solution, None).is_err()
            })
            .count();
        let stated = trials as f64 * (-bits).exp2();
        assert!(
            (failures as f64) < stated + 5.0 * stated.sqrt(),
            "{failures} of {trials} failed with {rows} rows at 2^-{bits}"
        );
    }
}

/// A store with too few columns fails: the test above can fail.
#[test]
fn too_few_columns_fail_often() {
    let mut rng = rng(7);
    let (rows, columns) = (1024, 1150);
    let sparse: Vec<_> = (0..rows).map(|_| three_distinct(Block::random(&mut rng), columns as u32)).collect();
    let coefficients = blocks(rows, &mut rng);
    let mut solution = vec![Block::ZERO; columns + 1];
    let bin = solve::Rows { sparse: &sparse, coefficients: &coefficients, columns };
    assert!(solve::solve(bin, &vec![Block::ZERO; rows], &mut solution, None).is_err());
}

/// Checks that rows follow from the seed. With random values and random free columns a store is uniformly random,
/// whatever the keys. Another seed has other columns and coefficients, so that nobody who fixed its keys before could
/// choose them badly.
#[test]
fn rows_follow_from_the_seed() {
    let mut rng = rng(9);
    let (keys, columns) = (blocks(100, &mut rng), blocks(store(100, 1).params().columns(), &mut rng));
    let rows = |seed: u8| {
        let okvs = store(100, seed);
        let (mut rows, mut coefficients) = (vec![[0; 3]; 100], vec![Block::ZERO; 100]);
        okvs.rows(&keys, &mut rows, &mut coefficients);
        let (grouped, _) = okvs.group(&keys, &[(); 100]);
        (rows, coefficients, okvs.decode(&grouped, &columns))
    };
    let (one, again, other) = (rows(1), rows(1), rows(2));
    assert!(one == again);
    assert!(one.0.iter().zip(&other.0).filter(|(one, other)| one == other).count() < 3);
    assert!(one.1.iter().zip(&other.1).all(|(one, other)| one != other));
    assert!(one.2.iter().zip(&other.2).all(|(one, other)| one != other));
}

/// Checks that free columns are drawn for each bin alone: no two columns of a store without keys are alike.
#[test]
fn free_columns_of_all_bins_are_others() {
    let okvs = store(150_000, 3);
    assert_eq!(okvs.params().bins, 3);
    let (none, _) = okvs.group::<()>(&[], &[]);
    let columns = okvs.encode_random(&none, &[] as &[Block], &mut rng(4)).unwrap();
    let different: std::collections::HashSet<u128> = columns.iter().map(|column| column.0).collect();
    assert_eq!(different.len(), okvs.params().columns());
}

#[test]
fn a_random_store_is_uniform() {
    let uniform = |random: bool| {
        let mut rng = rng(8);
        let okvs = store(200, 8);
        let (grouped, _) = okvs.group(&blocks(200, &mut rng), &[(); 200]);
        let mut ones = [0u32; 128];
        let mut columns = 0;
        for _ in 0..40 {
            let values = blocks(200, &mut rng);
            let encoded =
                if random { okvs.encode_random(&grouped, &values, &mut rng) } else { okvs.encode(&grouped, &values) };
            for column in encoded.unwrap() {
                columns += 1;
                (0..128).for_each(|bit| ones[bit] += (column.0 >> bit) as u32 & 1);
            }
        }
        let deviation = (f64::from(columns) / 4.0).sqrt();
        ones.iter().all(|&count| (f64::from(count) - f64::from(columns) / 2.0).abs() < 5.0 * deviation)
    };
    assert!(uniform(true));
    assert!(!uniform(false), "zeros in free columns show");
}

#[test]
fn numbers_are_distinct_and_in_range() {
    let mut rng = rng(9);
    let mut seen = [0u32; 5];
    for _ in 0..10_000 {
        let mut three = three_distinct(Block::random(&mut rng), 5);
        three.iter().for_each(|&column| seen[column as usize] += 1);
        three.sort_unstable();
        assert!(three[0] < three[1] && three[1] < three[2] && three[2] < 5);
    }
    assert!(seen.iter().all(|&count| count.abs_diff(6000) < 300), "{seen:?}");
    for edge in [0, u128::MAX, 1, u128::MAX << 32] {
        let mut three = three_distinct(Block(edge), 3);
        three.sort_unstable();
        assert_eq!(three, [0, 1, 2]);
    }
}

/// Ciphertexts as two points: every key has its pair, and with few sparse columns the core is solved modulo the order.
#[test]
fn points_can_be_stored() {
    let mut rng = rng(10);
    let encode = |points: &[[Point; 2]]| -> Vec<Vec<u8>> { points.iter().map(|p| Ristretto255.encode(p)).collect() };
    for (count, random) in [(0usize, true), (1, false), (150, true)] {
        let okvs = store(count, 10);
        let (grouped, _) = okvs.group(&blocks(count, &mut rng), &vec![(); count]);
        let values: Vec<[Point; 2]> = (0..count).map(|_| Element::random(&mut rng)).collect();
        let encoded =
            if random { okvs.encode_random(&grouped, &values, &mut rng) } else { okvs.encode(&grouped, &values) }
                .unwrap();
        assert_eq!(encode(&okvs.decode(&grouped, &encoded)), encode(&values));
    }
    // 12 rows over 10 sparse columns leave a core.
    let params = Params { keys: 12, bins: 1, bin_keys: 12, sparse: 10, dense: 8 };
    let okvs = Okvs::new(params, &[1; 32]);
    let (grouped, _) = okvs.group(&blocks(12, &mut rng), &[(); 12]);
    let values: Vec<[Point; 2]> = (0..12).map(|_| Element::random(&mut rng)).collect();
    let encoded = okvs.encode(&grouped, &values).unwrap();
    assert_eq!(encode(&okvs.decode(&grouped, &encoded)), encode(&values));
}
