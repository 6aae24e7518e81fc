//! Real data with known truth, found through `TACITA_DATA`; the tests are skipped where it is not set.

use std::collections::HashSet;
use std::path::PathBuf;

use tacita_node::table::{
    Duplicates, KeyColumn, KeySpec, NullWords, Nulls, ReadOptions, Selection, Table, TableKeys, output, read,
};

fn data(folder: &str) -> Option<PathBuf> {
    let found =
        std::env::var_os("TACITA_DATA").map(|root| PathBuf::from(root).join(folder)).filter(|path| path.is_dir());
    if found.is_none() {
        println!("skipped: TACITA_DATA does not lead to {folder}");
    }
    found
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

fn load(path: PathBuf) -> Table {
    read(&path, &ReadOptions::default()).unwrap()
}

fn keys(table: &Table, columns: &[(&str, &str)]) -> TableKeys {
    TableKeys::build(table, &spec(columns)).unwrap().0
}

/// Numbers of the keys of `a` that `b` has too.
fn common(a: &TableKeys, b: &TableKeys) -> Vec<usize> {
    let other: HashSet<_> = b.iter().collect();
    (0..a.len()).filter(|&key| other.contains(a.key(key))).collect()
}

#[test]
fn three_organisations() {
    let Some(data) = data("medical/synthea") else { return };
    let load = |name: &str, date| {
        let table = load(data.join(format!("{name}.csv")));
        let (keys, warnings) = TableKeys::build(&table, &spec(&[("name", "name"), ("dob", date)])).unwrap();
        assert!(warnings.is_empty());
        (table, keys)
    };
    let (hospital, fire, insurer) =
        (load("hospital", "date"), load("fire_department", "date:DMY"), load("insurer", "date"));
    assert_eq!([hospital.1.len(), fire.1.len(), insurer.1.len()], [1042, 520, 838]);
    assert_eq!(common(&hospital.1, &fire.1).len(), 459);
    assert_eq!(common(&hospital.1, &insurer.1).len(), 756);
    assert_eq!(common(&fire.1, &insurer.1).len(), 382);

    // The files of two parties match line by line, in every format.
    let directory = tempfile::tempdir().unwrap();
    for ending in ["csv", "parquet", "arrow"] {
        let write = |(table, keys): &(Table, TableKeys), other: &TableKeys, name: &str| {
            let rows = keys.rows_of(&common(keys, other));
            let path = directory.path().join(format!("{name}.{ending}"));
            output::write(&Selection::of_rows(table, rows).unwrap(), &path, None).unwrap();
            let back = read(&path, &ReadOptions::default()).unwrap();
            assert_eq!(back.rows(), 756);
            assert_eq!(back.schema().fields().len(), table.schema().fields().len());
            back
        };
        let ours = write(&hospital, &insurer.1, "hospital");
        let theirs = write(&insurer, &hospital.1, "insurer");
        let ours = keys(&ours, &[("name", "name"), ("dob", "date")]);
        let theirs = keys(&theirs, &[("name", "name"), ("dob", "date")]);
        assert_eq!(ours.len(), 756);
        for key in 0..756 {
            assert_eq!(ours.key(key), theirs.key(key));
            assert_eq!((ours.rows(key), theirs.rows(key)), (&[key as u32][..], &[key as u32][..]));
        }
    }
}

#[test]
fn exact_keys_of_distorted_records() {
    let Some(data) = data("medical/febrl") else { return };
    let columns = [("given_name", "none"), ("surname", "none"), ("date_of_birth", "none")];
    let (a, b) = (load(data.join("dataset4a.csv")), load(data.join("dataset4b.csv")));
    let (a, b) = (keys(&a, &columns), keys(&b, &columns));
    assert_eq!(common(&a, &b).len(), 2079);
    assert_eq!(a.counts().read, 5000);

    let text = std::fs::read_to_string(data.join("dataset1.csv")).unwrap();
    let half = |keep: &str| {
        let lines: Vec<_> =
            text.lines().enumerate().filter(|(i, l)| *i == 0 || l.contains(keep)).map(|(_, l)| l).collect();
        let table = read::read_csv(lines.join("\n").as_bytes(), "half", &ReadOptions::default()).unwrap();
        assert_eq!(table.rows(), 500);
        keys(&table, &columns)
    };
    assert_eq!(common(&half("-org,"), &half("-dup-")).len(), 202);
}

#[test]
fn passengers_on_a_list() {
    let Some(data) = data("watchlist") else { return };
    let (passengers, list) = (load(data.join("passengers.csv")), load(data.join("watchlist_ofac_sdn.csv")));
    let (ours, warnings) = TableKeys::build(&passengers, &spec(&[("name", "name"), ("dob", "date:DMY")])).unwrap();
    assert!(warnings.is_empty());
    // Bare years, which no profile reads as dates.
    let (theirs, warnings) = TableKeys::build(&list, &spec(&[("name", "name"), ("dob", "date")])).unwrap();
    assert_eq!(warnings.len(), 1);
    let counts = theirs.counts();
    assert_eq!((counts.read, counts.nulls, counts.unreadable), (12_746, 497, 2198));
    assert_eq!(counts.read, counts.nulls + counts.unreadable + counts.duplicates + counts.items);

    let matches = common(&ours, &theirs);
    assert_eq!(ours.rows_of(&matches).len(), 120);
    let pairs = |key: usize| {
        let other = (0..theirs.len()).find(|&other| theirs.key(other) == ours.key(key)).unwrap();
        ours.rows(key).len() * theirs.rows(other).len()
    };
    assert_eq!(matches.iter().map(|&key| pairs(key)).sum::<usize>(), 122);
}
