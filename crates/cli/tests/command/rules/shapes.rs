//! Baskets in the shapes in which other programs keep them: lines without a header, lists, and a row for each item.

use std::sync::Arc;

use arrow_array::builder::{LargeListBuilder, ListBuilder, StringBuilder};
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use tacita_node::table::{Selection, Table, output};

use super::*;

const THRESHOLDS: &str = "min_support = 12\nmin_confidence = 0.55";

/// The items of a basket that are `a`'s, or the others.
fn held(basket: &BTreeSet<String>, first: bool) -> Vec<&str> {
    basket.iter().filter(|item| is_first(item) == first).map(String::as_str).collect()
}

#[test]
fn lines_without_a_header() {
    let home = Home::new();
    let baskets = sample(60);
    let truth = mined(&baskets, ASKED);
    let lines = |first: bool, separator: &str, quote: &str| -> String {
        let line = |basket: &BTreeSet<String>| {
            let items: Vec<_> = held(basket, first).iter().map(|item| format!("{quote}{item}{quote}")).collect();
            items.join(separator) + "\r\n"
        };
        baskets.iter().map(line).collect()
    };
    let a = home.file("a.csv", &lines(true, ",", ""));
    let b = home.file("b.txt", &format!("\u{feff}{}", lines(false, " ; ", "\"")));
    let text = format!(
        "job = \"rules\"\nid = \"test\"\nreveal_to = [\"a\", \"b\"]\n{THRESHOLDS}\nitems = {{ lines = true }}\n[parties.a]\n\
         [parties.b]\nitems = {{ lines = true, separator = \";\" }}\n"
    );
    check(&home, &text, [&a, &b], &[], &truth);

    let refused = |text: &str, inputs: [&str; 2], words: &[&str]| {
        attempt(&home, text, inputs, "out", &[]).failed(2, words);
    };
    // Without a word of it, the hint leads there.
    refused(&job(THRESHOLDS), [&a, &b], &["a.csv", "items = { lines = true }, or --lines"]);
    let one = home.file("one.csv", "milk,bread\nmilk,tea\n");
    refused(&job(THRESHOLDS), [&one, &b], &["no column \"items\"", "items = { lines = true }, or --lines"]);
    let other = home.file("other.csv", &"a;b\nc;d\n".repeat(30));
    let ended = attempt(&home, &text, [&other, &b], "out", &[]);
    assert!(ended.stderr.contains("names hold `;`") && ended.stderr.contains("or --separator"), "{}", ended.stderr);
    let open = home.file("open.csv", "milk,\"bread\nmilk,tea\n");
    refused(&text, [&open, &b], &["open.csv, line 1", "a quote is opened and not closed in this line"]);
    for (items, words) in [
        ("{ lines = true, column = \"items\" }", "there are no columns"),
        ("{ lines = true, long = true }", "use one of them"),
        ("{ long = true }", "row_id"),
    ] {
        refused(&job(&format!("{THRESHOLDS}\nitems = {items}")), [&a, &b], &[words]);
    }
    let by_ids = |items: &str| job(&format!("{THRESHOLDS}\nrow_id = [\"tid\"]\nitems = {items}"));
    refused(&by_ids("{ lines = true }"), [&a, &b], &["such a file has no ids"]);
    refused(&by_ids("{ long = true, separator = \"|\" }"), [&a, &b], &["nothing is separated"]);
}

#[test]
fn lists_of_items() {
    let home = Home::new();
    let baskets = sample(60);
    let truth = mined(&baskets, ASKED);
    let write = |name: &str, column: ArrayRef| {
        let batch = RecordBatch::try_from_iter_with_nullable([("items", column, true)]).unwrap();
        let path = home.at(name);
        let table = Table::new("t", batch.schema(), vec![batch]).unwrap();
        output::write(&Selection::all(&table), Path::new(&path), None).unwrap();
        path
    };
    let mut lists = ListBuilder::new(StringBuilder::new());
    for basket in &baskets {
        let items = held(basket, true);
        // No list, and one without items, are both empty baskets; an item that is absent is none.
        items.iter().for_each(|item| lists.values().append_value(format!(" {item} ")));
        lists.values().append_null();
        lists.append(!items.is_empty());
    }
    let a = write("a.parquet", Arc::new(lists.finish()));
    let mut lists = LargeListBuilder::new(arrow_array::builder::Int64Builder::new());
    for basket in &baskets {
        held(basket, false).iter().for_each(|item| lists.values().append_value(item.parse().unwrap()));
        lists.append(true);
    }
    let b = write("b.arrow", Arc::new(lists.finish()));
    check(&home, &job(THRESHOLDS), [&a, &b], &[], &truth);
    let mut nested = ListBuilder::new(ListBuilder::new(StringBuilder::new()));
    nested.append(true);
    let nested = write("nested.arrow", Arc::new(nested.finish()));
    attempt(&home, &job(THRESHOLDS), [&nested, &b], "out", &[])
        .failed(2, &["nested.arrow", "has no text", "lists of text"]);
}

/// A row for each item: rows of one order are its basket, in any order, written in two ways.
#[test]
fn a_row_for_each_item() {
    let home = Home::new();
    let baskets = sample(60);
    // An order without items is not in such a table.
    let common: Vec<_> = baskets.iter().filter(|basket| !held(basket, true).is_empty()).cloned().collect();
    assert!(common.len() < baskets.len());
    let truth = mined(&common, ASKED);
    let mut lines: Vec<String> = Vec::new();
    for (row, basket) in baskets.iter().enumerate() {
        for (place, item) in held(basket, true).into_iter().enumerate() {
            let zeros = if place % 2 == 1 { "00" } else { "" };
            lines.push(format!("{zeros}{row},{item}\n"));
            lines.push(format!("{row}, {item}\n"));
        }
    }
    lines.sort_by_key(|line| line.bytes().rev().map(u64::from).fold(7, |hash: u64, byte| hash.wrapping_mul(31) + byte));
    let a = home.file("long.csv", &format!("tid,product\n{},a0\n", lines.concat()));
    let [_, b] = tables(&home, &baskets, "|", true);
    let text = format!(
        "job = \"rules\"\nid = \"test\"\nreveal_to = [\"a\", \"b\"]\n{THRESHOLDS}\nrow_id = [\"tid\"]\n[key]\ncolumns = [\"tid\"]\n\
         normalize = [\"text\"]\n[parties.a]\nnormalize = [\"text\"]\nitems = {{ column = \"product\", long = true }}\n[parties.b]\n"
    );
    let text = text.replace("\"text\"", "\"integer\"");
    // Of the other party's ids, two are no numbers or none at all.
    let report = check(&home, &text, [&a, &b], &[], &truth);
    let rows = &report["parties"]["a"]["rows"];
    assert_eq!(
        (rows["read"].as_u64(), rows["items"].as_u64()),
        (Some(lines.len() as u64 + 1), Some(common.len() as u64))
    );
    assert_eq!(rows["duplicates"].as_u64(), Some((lines.len() - common.len()) as u64));
    // Both in this form, and typed.
    let ids: Vec<i64> = vec![1, 2, 2, 3];
    let items: ArrayRef = Arc::new(arrow_array::StringArray::from(vec!["7", "8", "7", "8"]));
    let batch =
        RecordBatch::try_from_iter([("tid", Arc::new(Int64Array::from(ids)) as ArrayRef), ("items", items)]).unwrap();
    let typed = home.at("typed.parquet");
    let table = Table::new("t", batch.schema(), vec![batch]).unwrap();
    output::write(&Selection::all(&table), Path::new(&typed), None).unwrap();
    let other = home.file("other.csv", "tid,items\n2,a1\n1,a1\n2,a2\n2,a1\n");
    let baskets = [["a1", "7"].into(), ["a1", "a2", "7", "8"].into()]
        .map(|basket: Vec<&str>| basket.into_iter().map(str::to_owned).collect::<BTreeSet<_>>());
    let truth = mined(&baskets, Asked { minimum: 1, ..ASKED });
    let text = job("min_support = 1\nmin_confidence = 0.55\nrow_id = [\"tid\"]\nitems = { long = true }");
    check(&home, &text, [&other, &typed], &[], &truth);
}
