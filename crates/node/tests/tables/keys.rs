//! Keys: counts, policies, order, and what the user is told.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::*;
use proptest::prelude::*;
use tacita_core::{Error, Result};
use tacita_node::table::{
    Duplicates, KeyColumn, KeySpec, NullWords, Nulls, ReadOptions, RowCounts, Table, TableKeys, Warning, key, read,
};

fn csv(text: &str) -> Table {
    read::read_csv(text.as_bytes(), "people.csv", &ReadOptions::default()).unwrap()
}

fn spec(columns: &[(&str, &str)]) -> KeySpec {
    let column = |(header, profile): &(&str, &str)| KeyColumn {
        name: header.to_string(),
        header: header.to_string(),
        profile: profile.parse().unwrap(),
    };
    KeySpec {
        columns: columns.iter().map(column).collect(),
        duplicates: Duplicates::All,
        nulls: Nulls::Skip,
        words: NullWords::default(),
        allow_unreadable: false,
    }
}

fn build(text: &str, spec: &KeySpec) -> Result<(TableKeys, Vec<Warning>)> {
    TableKeys::build(&csv(text), spec)
}

fn message<T>(result: Result<T>) -> String {
    match result {
        Err(Error::Input(text)) => {
            assert!(!text.contains('\n'), "one line: {text}");
            text
        }
        Err(other) => panic!("{other} should have been bad input"),
        Ok(_) => panic!("it should have been refused"),
    }
}

fn parts(keys: &TableKeys) -> Vec<Vec<String>> {
    let text = |part: &[u8]| String::from_utf8(part.to_vec()).unwrap();
    keys.iter().map(|key| key::parts(key).map(text).collect()).collect()
}

const PEOPLE: &str =
    "name,born\n\"LEE, Ann\",2001-02-03\nBob,\nann lee,20010203\n,bad\nCy,2000-01-01\nAnn Lee,3 Feb 2001\n";

#[test]
fn rows_are_counted_once() {
    let mut spec = spec(&[("name", "name"), ("born", "date")]);
    let (keys, warnings) = build(PEOPLE, &spec).unwrap();
    let counts = keys.counts();
    assert_eq!((counts.read, counts.nulls, counts.unreadable, counts.duplicates, counts.items), (6, 1, 1, 2, 2));
    assert_eq!(parts(&keys), [["ann lee", "2001-02-03"], ["cy", "2000-01-01"]]);
    assert_eq!((keys.rows(0), keys.rows(1), keys.most_rows()), (&[0, 2, 5][..], &[4][..], 3));
    assert_eq!(keys.rows_of(&[0, 1]), [0, 2, 5, 4]);
    assert_eq!(warnings.len(), 1);

    spec.duplicates = Duplicates::First;
    let keys = build(PEOPLE, &spec).unwrap().0;
    assert_eq!((keys.rows(0), keys.rows(1)), (&[0][..], &[4][..]));
    assert_eq!(keys.counts(), counts);

    spec.duplicates = Duplicates::Multiset;
    let keys = build(PEOPLE, &spec).unwrap().0;
    let counts = keys.counts();
    assert_eq!((counts.read, counts.nulls, counts.unreadable, counts.duplicates, counts.items), (6, 1, 1, 0, 4));
    assert_eq!(keys.rows_of(&[0, 1, 2, 3]), [0, 2, 5, 4]);
    assert_eq!((keys.len(), keys.most_rows()), (4, 1));

    spec.duplicates = Duplicates::Error;
    let text = message(build(PEOPLE, &spec));
    assert!(text.starts_with("people.csv: line 2 and line 4 have the same key"), "{text}");
    assert!(!text.to_lowercase().contains("ann"), "{text}");

    spec.nulls = Nulls::Error;
    let text = message(build(PEOPLE, &spec));
    assert!(text.starts_with("people.csv, line 3: no value in key column \"born\""), "{text}");

    let keys = build("name,born\n", &spec).unwrap().0;
    assert!(keys.is_empty() && keys.most_rows() == 0);
}

#[test]
fn a_missing_column_is_explained() {
    let mut spec = spec(&[("name", "name")]);
    spec.columns[0].header = "insured".into();
    let text = message(build("insured_name,dob\n", &spec));
    for expected in [
        "people.csv: no column \"insured\"",
        "did you mean \"insured_name\"?",
        "its columns are \"insured_name\", \"dob\"",
        "`columns = { name = \"insured_name\" }`",
        "`name=insured_name`",
    ] {
        assert!(text.contains(expected), "{text} should contain {expected}");
    }
}

/// 200 rows of which `bad` hold `value`.
fn mixed(bad: usize, value: &str) -> String {
    let mut text = String::from("born\n");
    (0..200).for_each(|row| text += if row < bad { value } else { "2001-02-03\n" });
    text
}

#[test]
fn unreadable_values_are_reported() {
    let mut spec = spec(&[("born", "date")]);
    assert!(build(&mixed(2, "05/06/2001\n"), &spec).unwrap().1.is_empty(), "1 % is not over 1 %");
    let warn = |value: &str| {
        let (keys, warnings) = build(&mixed(3, &format!("{value}\n")), &spec).unwrap();
        assert_eq!(keys.counts().unreadable, 3);
        assert!(!format!("{warnings:?}").contains(value), "values are not printed by accident");
        warnings[0].text_for_own_user().to_string()
    };
    assert_eq!(
        warn("25/13/2001"),
        "people.csv: 3 of 200 values in column \"born\" cannot be read as date, the first in line 2 (\"25/13/2001\"); no other \
         profile reads them: correct the values, or leave them out"
    );
    assert!(warn("05/06/2001").ends_with("date:DMY and date:MDY read them: take the one that the file means"));
    assert!(warn("2001").contains("no other profile reads them"), "a bare year is no date for being an integer");
    assert!(warn(&"x".repeat(90)).contains(&format!("(\"{}\"...)", "x".repeat(40))));
    let dates = format!("born\n{}25/12/2001\n", "05/06/2001\n".repeat(99));
    let text = message(build(&dates, &spec));
    assert!(text.contains("date:DMY reads them; that is over half of the rows"), "{text}");
    assert!(build(&mixed(100, "x\n"), &spec).is_ok(), "half is not over half");
    assert!(message(build(&mixed(101, "x\n"), &spec)).contains("--allow-unreadable"));
    spec.allow_unreadable = true;
    assert_eq!(build(&mixed(101, "x\n"), &spec).unwrap().1.len(), 1);
    spec.columns[0].profile = "phone".parse().unwrap();
    let (_, warnings) = build(&mixed(0, ""), &spec).unwrap();
    assert_eq!(warnings.len(), 1);
    let numbers = format!("born\n+41446681800\n{}", "044 668 18 00\n".repeat(20));
    assert!(
        build(&numbers, &spec).unwrap().1[0]
            .text_for_own_user()
            .ends_with("name the country: phone:CC, as in phone:DE")
    );
}

/// One column of a type, as a table.
fn typed(array: impl Array + 'static) -> Table {
    let batch = RecordBatch::try_from_iter([("k", Arc::new(array) as ArrayRef)]).unwrap();
    Table::new("t", batch.schema(), vec![batch]).unwrap()
}

#[test]
fn keys_do_not_depend_on_the_type() {
    let same = |profile: &str, tables: Vec<Table>| {
        let keys: Vec<_> =
            tables.iter().map(|table| parts(&TableKeys::build(table, &spec(&[("k", profile)])).unwrap().0)).collect();
        assert!(keys[0].len() == 2 && keys.iter().all(|other| *other == keys[0]), "{keys:?}");
    };
    let dictionary: DictionaryArray<types::Int8Type> = vec!["7", "12"].into_iter().collect();
    let numbers = || {
        vec![
            typed(StringArray::from(vec!["7", "12"])),
            typed(LargeStringArray::from(vec!["7", "12"])),
            typed(StringViewArray::from(vec!["7", "12"])),
            typed(Int16Array::from(vec![7, 12])),
            typed(UInt64Array::from(vec![Some(12), Some(7), None])),
            typed(Float64Array::from(vec![7.0, 12.0])),
            typed(Decimal128Array::from(vec![700, 1200]).with_precision_and_scale(8, 2).unwrap()),
        ]
    };
    let mut tables = numbers();
    tables.push(typed(dictionary));
    same("none", tables);
    same("integer", numbers());
    let day = 86_400i64;
    same(
        "date",
        vec![
            typed(StringArray::from(vec!["1970-01-02", "01 Jan 1970"])),
            typed(Date32Array::from(vec![1, 0])),
            typed(Date64Array::from(vec![day * 1000, 0])),
            typed(TimestampSecondArray::from(vec![day, 0])),
            typed(TimestampNanosecondArray::from(vec![day * 1_000_000_000, 0]).with_timezone("UTC")),
        ],
    );
    let lists = ListArray::from_iter_primitive::<types::Int8Type, _, _>([Some([Some(1)])]);
    assert!(message(TableKeys::build(&typed(lists), &spec(&[("k", "none")]))).contains("cannot be a key"));
}

#[test]
fn absent_values_of_any_type_are_nulls() {
    let table = typed(Float64Array::from(vec![Some(f64::NAN), None, Some(1.0)]));
    assert_eq!(TableKeys::build(&table, &spec(&[("k", "none")])).unwrap().0.counts().nulls, 2);
}

proptest! {
    #[test]
    fn keys_are_those_of_a_plain_map(
        rows in prop::collection::vec(("[ab ]{0,9}", "[ab]{0,2}"), 0..60),
        cut in 0usize..60,
    ) {
        // Batches may end anywhere.
        let cut = cut.min(rows.len());
        let schema = csv("a,b\n").schema().clone();
        let batch = |rows: &[(String, String)]| {
            let a: StringArray = rows.iter().map(|row| Some(&row.0)).collect();
            let b: StringArray = rows.iter().map(|row| Some(&row.1)).collect();
            RecordBatch::try_new(schema.clone(), vec![Arc::new(a), Arc::new(b)]).unwrap()
        };
        let table = Table::new("t", schema.clone(), vec![batch(&rows[..cut]), batch(&rows[cut..])]).unwrap();
        let (keys, _) = TableKeys::build(&table, &spec(&[("a", "none"), ("b", "none")])).unwrap();
        let mut expected: BTreeMap<Vec<String>, Vec<u32>> = BTreeMap::new();
        for (row, (a, b)) in rows.iter().enumerate() {
            if !a.is_empty() && !b.is_empty() {
                expected.entry(vec![a.clone(), b.clone()]).or_default().push(row as u32);
            }
        }
        prop_assert_eq!(parts(&keys), expected.keys().cloned().collect::<Vec<_>>());
        for (key, rows) in expected.values().enumerate() {
            prop_assert_eq!(keys.rows(key), &rows[..]);
        }
        let counts = keys.counts();
        prop_assert_eq!(counts.read, counts.nulls + counts.unreadable + counts.duplicates + counts.items);

        let multiset = KeySpec { duplicates: Duplicates::Multiset, ..spec(&[("a", "none"), ("b", "none")]) };
        let (rows, _) = TableKeys::build(&table, &multiset).unwrap();
        let numbers = |(key, rows): (&Vec<String>, &Vec<u32>)| {
            (0..rows.len() as u32).map(|number| (key.clone(), number)).collect::<Vec<_>>()
        };
        prop_assert_eq!(numbered(&rows), expected.iter().flat_map(numbers).collect::<Vec<_>>());
        let all = |keys: &TableKeys| keys.rows_of(&(0..keys.len()).collect::<Vec<_>>());
        prop_assert_eq!(all(&rows), all(&keys));
        let counts = RowCounts { items: counts.items + counts.duplicates, duplicates: 0, ..counts };
        prop_assert_eq!(rows.counts(), counts);
    }
}

/// The parts of a multiset's keys: texts, and the number of the row.
fn numbered(keys: &TableKeys) -> Vec<(Vec<String>, u32)> {
    let split = |key: &[u8]| {
        let all: Vec<_> = key::parts(key).collect();
        let (number, texts) = all.split_last().unwrap();
        let texts = texts.iter().map(|part| String::from_utf8(part.to_vec()).unwrap());
        (texts.collect(), u32::from_be_bytes((*number).try_into().unwrap()))
    };
    keys.iter().map(split).collect()
}

#[test]
fn each_row_of_a_multiset_is_a_key_of_its_own() {
    let mut spec = spec(&[("name", "name")]);
    spec.duplicates = Duplicates::Multiset;
    // Rows that are written in several ways, in several scripts, and one key more often than a byte counts.
    let many = "Ωmega\n".repeat(300);
    let keys = build(&format!("name\nZoë\nbo\nZOE\n{many}Bo\nzoe\u{308}\n\"\"\n"), &spec).unwrap().0;
    let mut expected: Vec<_> = [("bo", 2), ("zoe", 3), ("ωmega", 300)]
        .into_iter()
        .flat_map(|(name, rows)| (0..rows).map(move |row| (vec![name.to_owned()], row)))
        .collect();
    assert_eq!(numbered(&keys), expected);
    assert_eq!(keys.rows_of(&[0, 1, 2, 3, 4]), [1, 303, 0, 2, 304]);
    assert_eq!(keys.rows_of(&(5..305).collect::<Vec<_>>()), (3..303).collect::<Vec<_>>());
    // Keys of any two rows are different, and in order.
    let encoded: Vec<_> = keys.iter().collect();
    assert!(encoded.windows(2).all(|pair| key::compare(pair[0], pair[1]).is_lt()));
    // A table without rows, and one with a row: the first copy is numbered, too.
    assert!(build("name\n", &spec).unwrap().0.is_empty());
    expected.truncate(1);
    assert_eq!(numbered(&build("name\nbo\n", &spec).unwrap().0), expected);
    assert_eq!(build("name\nbo\n", &spec).unwrap().0.key(0), b"\x02\0\0\0bo\x04\0\0\0\0\0\0\0");
}

/// Measures the cost of a million keys of two columns on one thread; it is not a test of correctness. Run with
/// `--ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn time_of_a_million_keys() {
    let mut text = String::from("name,born\n");
    for n in 0u64..1 << 20 {
        let x = n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let letters = |x: u64| -> String { (0..8).map(|i| (b'a' + (x >> (5 * i)) as u8 % 26) as char).collect() };
        let (surname, given) = (letters(x >> 24).to_uppercase(), letters(x >> 11));
        text += &format!("\"{surname}, {given}\",{:02}/{:02}/19{:02}\n", 1 + x % 28, 1 + x % 12, x % 97);
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let (started, cpu) = (std::time::Instant::now(), tacita_node::base::usage::cpu_time());
    let table = csv(&text);
    println!("read: {:?} {:?} cpu", started.elapsed(), tacita_node::base::usage::cpu_time() - cpu);
    for columns in [[("name", "name"), ("born", "date:DMY")], [("name", "text"), ("born", "none")]] {
        let (started, cpu) = (std::time::Instant::now(), tacita_node::base::usage::cpu_time());
        let keys = pool.install(|| TableKeys::build(&table, &spec(&columns)).unwrap().0);
        println!(
            "{columns:?}: {:?} {:?} cpu, {:?}",
            started.elapsed(),
            tacita_node::base::usage::cpu_time() - cpu,
            keys.counts()
        );
    }
    println!("peak memory {:?} of {} bytes of text", tacita_node::base::usage::peak_memory(), text.len());
}

/// A word for no value is none in every column whose profile would read it; and which it was, and how often, is said
/// once.
#[test]
fn words_for_no_value_are_no_part_of_a_key() {
    let text = "k,d\nNULL,2020-01-01\nx,N/A\n-,-\ny,1/2/2020\nz,2020-01-03\nunknown,2020-01-04\n";
    let spec = spec(&[("k", "none"), ("d", "date")]);
    let (keys, warnings) = build(text, &KeySpec { allow_unreadable: true, ..spec.clone() }).unwrap();
    // What a profile cannot read is unreadable, whether it is such a word or not.
    let counts = keys.counts();
    assert_eq!((counts.read, counts.nulls, counts.unreadable, counts.items), (6, 2, 3, 1));
    let said: Vec<_> = warnings
        .iter()
        .map(Warning::text_without_values)
        .filter(|text| text.contains("are read as no value"))
        .collect();
    let [of_k] = &said[..] else { panic!("{said:?}") };
    assert!(of_k.contains("column \"k\": \"NULL\" (1 row), \"unknown\" (1 row) and \"-\" (1 row)"), "{of_k}");
    // Words of the party's own are so in any case.
    let own = KeySpec { words: NullWords::of(&["N/A".into()]), allow_unreadable: true, ..spec.clone() };
    let counts = build(text, &own).unwrap().0.counts();
    assert_eq!((counts.nulls, counts.unreadable), (1, 2));
    let none = KeySpec { words: NullWords::none(), allow_unreadable: true, ..spec };
    let counts = build(text, &none).unwrap().0.counts();
    assert_eq!((counts.nulls, counts.unreadable, counts.items), (0, 3, 3));
}

/// A typed column holds dates that may stand for none, too.
#[test]
fn placeholders_of_typed_columns_are_warned_of() {
    let days = Date32Array::from(vec![-25567, -25567, 0]);
    let (keys, warnings) = TableKeys::build(&typed(days), &spec(&[("k", "date")])).unwrap();
    assert_eq!(keys.counts().nulls, 0);
    let said: Vec<_> = warnings.iter().map(Warning::text_without_values).collect();
    assert!(said.len() == 1 && said[0].contains("\"1900-01-01\" (2 rows)"), "{said:?}");
}
