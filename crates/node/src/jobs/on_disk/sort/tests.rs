//! Sorting on disk gives what sorting in memory does.

use arrow_array::{StringArray, UInt32Array};
use proptest::prelude::*;

use super::super::directory::Owner;
use super::*;
use crate::identity::Identity;
use crate::table::key::build::read_pieces;
use crate::table::{Duplicates, KeyColumn, KeySpec, NullWords, Nulls, Origin, Profile};

/// The rows in order, as the sorter hands them on, and how many runs there were.
fn sorted(keys: &[String], batch_rows: usize, memory: usize) -> (Vec<(String, u32, u64)>, usize) {
    let home = tempfile::tempdir().unwrap();
    let identity = Identity::create(&home.path().join("id"), "a").unwrap();
    let owner = Owner { id: "test", party: "a", terms: "", identity: &identity };
    let (directory, _) = Directory::open::<()>(&home.path().join("work"), &owner, false).unwrap();
    let column = KeyColumn { name: "key".into(), header: "key".into(), profile: Profile::None };
    let spec = KeySpec {
        columns: vec![column],
        duplicates: Duplicates::All,
        nulls: Nulls::Skip,
        words: NullWords::default(),
        allow_unreadable: false,
    };
    let own = Schema::new(vec![Field::new("key", DataType::Utf8, true), Field::new("row", DataType::UInt32, false)]);
    let added: Vec<_> =
        own.fields().iter().cloned().chain([Arc::new(Field::new("", DataType::Binary, false))]).collect();
    let mut sorter = RowSorter::new(&directory, &own, memory);
    let origin = Origin { source: "test", lines: None, first: None };
    for (position, some) in keys.chunks(batch_rows).enumerate() {
        let first = position * batch_rows;
        let rows = UInt32Array::from_iter_values((0..some.len()).map(|row| (first + row) as u32));
        let columns: Vec<ArrayRef> = vec![Arc::new(StringArray::from(some.to_vec())), Arc::new(rows)];
        let batch = RecordBatch::try_new(Arc::new(own.clone()), columns).unwrap();
        let pieces = read_pieces(&batch, first, &spec, &[0], origin);
        sorter.add(batch, first, &pieces, |row| row as u64 + 1).unwrap();
    }
    let mut rows = Vec::new();
    let schema: SchemaRef = Arc::new(Schema::new(added));
    let runs = sorter.merge(&Progress::default(), |chunk| {
        let all: Vec<_> = (0..chunk.rows()).collect();
        let encoded: ArrayRef = Arc::new(BinaryArray::from_iter_values(all.iter().map(|&row| chunk.key(row))));
        let batch = chunk.select(&all, vec![encoded], &schema)?;
        let (keys, numbers) =
            (batch.column(0).as_string::<i32>(), batch.column(1).as_primitive::<arrow_array::types::UInt32Type>());
        for row in 0..chunk.rows() {
            assert_eq!(&chunk.key(row)[4..], keys.value(row).as_bytes());
            rows.push((keys.value(row).to_owned(), numbers.value(row), chunk.number(row)));
        }
        Ok(())
    });
    let runs = runs.unwrap();
    assert!(std::fs::read_dir(home.path().join("work")).unwrap().count() <= 2);
    (rows, runs)
}

fn expected(keys: &[String]) -> Vec<(String, u32, u64)> {
    let rows = keys.iter().enumerate().filter(|(_, key)| !key.is_empty());
    let mut rows: Vec<_> = rows.map(|(row, key)| (key.clone(), row as u32, row as u64 + 1)).collect();
    rows.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()).then(a.1.cmp(&b.1)));
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn rows_come_in_the_order_of_keys_and_of_the_table(
        keys in prop::collection::vec("[ab]{0,12}", 0..400),
        batch_rows in 1usize..100,
        memory in 1usize..40_000,
    ) {
        let (rows, _) = sorted(&keys, batch_rows, memory);
        prop_assert_eq!(rows, expected(&keys));
    }
}

#[test]
fn more_runs_than_are_merged_at_a_time() {
    let keys: Vec<_> = (0..2000u32).map(|row| format!("{}", row * 7919 % 700)).collect();
    let (rows, runs) = sorted(&keys, 10, 1);
    assert_eq!(runs, 200);
    assert_eq!(rows, expected(&keys));
}
