//! Lists of keys as they are found, of every kind: rows of the columns that were asked for, or an error of one line,
//! within the bound of what networks are expanded to.

#![no_main]

use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tacita_core::Error;
use tacita_node::table::ReadOptions;
use tacita_node::table::read::{ListOptions, Listing, WantedColumn, lists};

const EXPAND: u64 = 300;
const BATCH_BYTES: usize = 1 << 16;

/// In memory, where the machine has a place for that.
static FILE: LazyLock<PathBuf> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let directory = if memory.is_dir() { memory } else { std::env::temp_dir() };
    directory.join(format!("tacita-fuzz-{}.log", std::process::id()))
});

/// The number of rows, or what is wrong with the file.
fn rows(listing: Option<Listing>, columns: &[WantedColumn]) -> Result<usize, Error> {
    let lists = ListOptions { listing, expand: EXPAND, columns: columns.to_vec() };
    let mut stream = lists::open(&FILE, &lists, &ReadOptions::default(), BATCH_BYTES)?;
    let mut rows = 0;
    while let Some(batch) = stream.next_batch()? {
        if listing.is_some_and(|listing| listing != Listing::Table) {
            assert_eq!(batch.num_columns(), columns.len());
        }
        rows += batch.num_rows();
    }
    Ok(rows)
}

fuzz_target!(|bytes: &[u8]| {
    std::fs::write(&*FILE, bytes).unwrap();
    let wanted = |header: &str, mapped| WantedColumn { header: header.into(), mapped };
    let one = [wanted("ip", false)];
    let several = [wanted("id.orig_h", true), wanted("ts", true)];
    for listing in [None, Some(Listing::List), Some(Listing::Netset), Some(Listing::Ipset), Some(Listing::Zeek)] {
        for columns in [&one[..], &several] {
            match rows(listing, columns) {
                Ok(rows) => assert!(rows as u64 <= bytes.len() as u64 + EXPAND),
                Err(Error::Input(text)) => assert!(!text.contains('\n'), "{text}"),
                Err(error) => panic!("{error}"),
            }
        }
    }
    std::fs::remove_file(&*FILE).unwrap();
});
