use proptest::prelude::*;
use tacita_core::protocol::union::MemorySpace;

use super::super::directory::Owner;
use super::*;
use crate::identity::Identity;

fn with_directory<T>(run: impl FnOnce(&Directory) -> T) -> T {
    let home = tempfile::tempdir().unwrap();
    let identity = Identity::create(&home.path().join("id"), "a").unwrap();
    let owner = Owner { id: "test", party: "a", terms: "", identity: &identity };
    let work = home.path().join("work");
    let (directory, _) = Directory::open::<()>(&work, &owner, false).unwrap();
    run(&directory)
}

fn sorted(room: &dyn union::SortSpace, bytes: usize, records: &[u8], added: usize) -> Vec<u8> {
    let mut sorter = room.sorter(bytes).unwrap();
    records.chunks(bytes * added).for_each(|some| sorter.add(some).unwrap());
    let mut all = Vec::new();
    sorter
        .finish(&mut |some| {
            all.extend_from_slice(some);
            Ok(())
        })
        .unwrap();
    all
}

fn runs_left(directory: &Directory) -> usize {
    RUNS.numbers(directory).unwrap().len()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn records_are_sorted_as_in_memory(
        bytes in 1usize..40,
        values in prop::collection::vec(any::<u32>(), 0..3000),
        added in 1usize..500,
        memory in 2_000usize..100_000,
    ) {
        let record = |value: &u32| {
            let byte = |byte| if byte < 10 { 7 } else { value.rotate_left(byte as u32) as u8 };
            (0..bytes).map(byte).collect::<Vec<_>>()
        };
        let records: Vec<u8> = values.iter().flat_map(record).collect();
        let (on_disk, left) = with_directory(|directory| {
            (sorted(&DiskSortSpace { directory, memory }, bytes, &records, added), runs_left(directory))
        });
        prop_assert_eq!(on_disk, sorted(&MemorySpace, bytes, &records, added));
        prop_assert_eq!(left, 0);
    }
}

#[test]
fn more_runs_than_are_merged_at_a_time() {
    let records: Vec<u8> = (0..20_000u32).flat_map(|value| value.wrapping_mul(2_654_435_761).to_be_bytes()).collect();
    // A hundred and more runs, two or more of which are merged at a time.
    for memory in [1, 4_000, 200_000] {
        let some = if memory == 1 { &records[..800] } else { &records };
        with_directory(|directory| {
            assert_eq!(sorted(&DiskSortSpace { directory, memory }, 4, some, 333), sorted(&MemorySpace, 4, some, 333));
        });
    }
}

#[test]
fn records_are_read_by_their_places() {
    with_directory(|directory| {
        for (count, bytes) in [(0usize, 3usize), (1, 3), (5000, 7), (3, 20_000)] {
            let record = |place: usize| vec![place as u8 ^ (place >> 8) as u8; bytes];
            let mut writer = FileWriter::create(directory, "file", bytes, 1).unwrap();
            (0..count).for_each(|place| writer.add(&[&record(place)[..1], &record(place)[1..]]).unwrap());
            let file = writer.readable().unwrap();
            assert_eq!(file.count(), count);
            for range in [0..count, 0..count.min(1), count / 3..count, count..count] {
                assert!(file.read(range.clone()).unwrap() == range.flat_map(record).collect::<Vec<_>>());
            }
        }
    });
}
