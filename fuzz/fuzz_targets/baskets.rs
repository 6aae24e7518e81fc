//! Baskets in all forms, as a user may hand them in: items with their rows, or an error of one line.

#![no_main]

use std::collections::BTreeSet;

use libfuzzer_sys::fuzz_target;
use tacita_core::protocol::rules::names::check_name;
use tacita_core::{Error, Result};
use tacita_node::table::baskets::{
    BasketItems, Between, Binning, ItemColumn, all_columns, of_column, of_columns, parse_lines,
};
use tacita_node::table::read::{Encoding, read_csv};
use tacita_node::table::{DecimalMark, ReadOptions};

/// Items that are what they should be, or an error that can be shown.
fn check(found: Result<BasketItems>, rows: usize) {
    let items = match found {
        Ok(items) => items,
        Err(Error::Input(text)) => return assert!(!text.contains('\n'), "{text}"),
        Err(error) => panic!("{error}"),
    };
    assert_eq!(items.rows(), rows);
    for item in 0..items.len() {
        assert!(check_name(items.name(item)).is_ok());
        assert!(item == 0 || items.name(item - 1) < items.name(item));
        assert!(items.rows_of(item).is_sorted());
        assert!(items.rows_of(item).last().is_none_or(|&last| (last as usize) < rows));
    }
}

fuzz_target!(|input: (u8, &str, &[u8])| {
    let (bins, separator, bytes) = input;
    let ended = bytes.last().is_none_or(|&byte| byte == b'\n');
    let lines = bytes.iter().filter(|&&byte| byte == b'\n').count() + usize::from(!ended);
    let options = ReadOptions { encoding: Some(Encoding::UTF_8), ..ReadOptions::default() };
    for between in [Between::Blanks, Between::Text(if separator.is_empty() { "," } else { separator })] {
        // A mark is no line, and one of another encoding is refused.
        if bytes != b"\xEF\xBB\xBF" {
            check(parse_lines(bytes, "fuzzed", between, &options), lines);
        }
    }

    let Ok(table) = read_csv(bytes, "fuzzed.csv", &ReadOptions::default()) else { return };
    let headers = all_columns(&table, &BTreeSet::new());
    if let Some(header) = headers.first().filter(|_| !separator.is_empty()) {
        check(of_column(&table, ("items", header), Some(separator)), table.rows());
        check(of_column(&table, ("items", header), None), table.rows());
    }
    let binning = match bins {
        0..=1 => None,
        2..=99 => Some(Binning::Quantiles(bins.into())),
        100.. => Some(Binning::Bounds((100..=bins).map(f64::from).collect())),
    };
    // Looked at here, or said of a whole that this is a part of.
    let is_flag = [None, Some(false), Some(true)][usize::from(bins % 3)];
    let column = |header: &String| ItemColumn {
        name: header.clone(),
        header: header.clone(),
        binning: binning.clone(),
        mark: DecimalMark::Point,
        is_flag,
    };
    check(of_columns(&table, &headers.iter().map(column).collect::<Vec<_>>()), table.rows());
});
