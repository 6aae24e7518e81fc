//! Bytes as a file that is read by its ending.

use std::path::PathBuf;
use std::sync::{LazyLock, Once};

use tacita_core::Error;
use tacita_node::table::{
    Budget, Duplicates, KeyColumn, KeySpec, NullWords, Nulls, Profile, ReadOptions, TableKeys, read,
};

/// Memory that a table may take; the fuzzer itself allows 2 GiB.
const MEMORY: u64 = 64 << 20;

/// In memory, where the machine has a place for that.
static DIRECTORY: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() { memory } else { std::env::temp_dir() }
});

/// Libraries that panic on corrupt files are guarded. The fuzzer's hook would end the process before the guard has a
/// panic; without it a panic that nobody guards still does, at the end of the input.
static WITHOUT_HOOK: Once = Once::new();

/// Reads the bytes, and the keys of each column.
pub fn check(bytes: &[u8], ending: &str) {
    WITHOUT_HOOK.call_once(|| drop(std::panic::take_hook()));
    let path = DIRECTORY.join(format!("tacita-fuzz-{}.{ending}", std::process::id()));
    std::fs::write(&path, bytes).unwrap();
    let budget = Budget { rows: 1 << 20, bytes: Some(MEMORY) };
    let table = read(&path, &ReadOptions { budget, ..ReadOptions::default() });
    std::fs::remove_file(&path).unwrap();
    let table = match table {
        Ok(table) => table,
        Err(Error::Input(text)) => return assert!(!text.contains('\n'), "{text}"),
        Err(error) => panic!("{error}"),
    };
    assert!(table.rows() <= budget.rows);
    for field in table.schema().fields() {
        let column = KeyColumn { name: "k".into(), header: field.name().clone(), profile: Profile::None };
        let spec = KeySpec {
            columns: vec![column],
            duplicates: Duplicates::All,
            nulls: Nulls::Skip,
            words: NullWords::default(),
            allow_unreadable: true,
        };
        match TableKeys::build(&table, &spec) {
            Ok((keys, _)) => assert!(keys.len() <= table.rows()),
            Err(Error::Input(text)) => assert!(!text.contains('\n'), "{text}"),
            Err(error) => panic!("{error}"),
        }
    }
}
