//! Tables as multisets of keys: common as often as both have it, in the order of the table.

use std::collections::BTreeMap;

use crate::common::dot::noise;
use crate::common::{Ended, Home, NAMES, Pair, Running, json, tacita, text};
use serde_json::{Value, json};

const KEY: &str = "[key]\ncolumns = [\"name\", \"day\"]\nnormalize = [\"name\", \"none\"]\nduplicates = \"multiset\"\n";
const BOTH: &str = "reveal_to = [\"hospital\", \"insurer\"]\n";
const ONE: &str = "reveal_to = [\"hospital\"]\n";

/// Key of a row, if it has any, and the row as it is written.
type Row = (Option<(usize, usize)>, String);

/// Rows of `keys` keys, each key written in several ways, and some rows without one.
fn rows(count: usize, keys: usize, seed: u64) -> Vec<Row> {
    let mut noise = noise(seed);
    let mut next = |below: usize| (noise.next().unwrap() >> 20) as usize % below;
    let row = |row: usize| {
        let (key, day) = (next(keys), next(3));
        let letter = char::from(b'a' + key as u8);
        let name = match next(8) {
            0 => return (None, format!(",{day},row {row}")),
            1 => format!("\"{letter}, ZOË\""),
            2 => format!("zoe\u{308} {letter}"),
            3 => format!(" Zoe  {}", letter.to_uppercase()),
            _ => format!("{letter} zoë"),
        };
        (Some((key, day)), format!("{name},{day},row {row}"))
    };
    (0..count).map(row).collect()
}

fn csv<'a>(rows: impl IntoIterator<Item = &'a Row>) -> String {
    let lines: Vec<_> = rows.into_iter().map(|(_, line)| format!("{line}\n")).collect();
    format!("name,day,note\n{}", lines.concat())
}

/// Returns the number of occurrences of each key.
fn times(rows: &[Row]) -> BTreeMap<(usize, usize), usize> {
    let mut times = BTreeMap::new();
    rows.iter().filter_map(|(key, _)| *key).for_each(|key| *times.entry(key).or_default() += 1);
    times
}

/// The own rows that are common: of each key, in order, the first ones.
fn common<'a>(own: &'a [Row], theirs: &[Row]) -> Vec<&'a Row> {
    let theirs = times(theirs);
    let of_key = |(key, own_times): (&(usize, usize), &usize)| {
        let common = *theirs.get(key).unwrap_or(&0).min(own_times);
        let key = *key;
        own.iter().filter(move |row| row.0 == Some(key)).take(common)
    };
    times(own).iter().flat_map(of_key).collect()
}

fn run(home: &Home, terms: &str, tables: [&[Row]; 2], more: &[&str]) -> Ended {
    let job = format!("job = \"intersect\"\nid = \"t\"\n{terms}\n[parties.hospital]\n[parties.insurer]\n");
    let job = home.file("job.toml", &job);
    let inputs = [0, 1].map(|i| format!("{}={}", NAMES[i], home.file(&format!("{}.csv", NAMES[i]), &csv(tables[i]))));
    let (out, report) = (home.at("out"), home.at("report.json"));
    let fixed = ["--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out, "--report", &report];
    tacita(&[&["simulate", &job][..], &fixed, more].concat())
}

/// Tables of no row, of one, of few keys, of one key alone, and of many.
fn tables() -> Vec<[Vec<Row>; 2]> {
    let sizes = [
        (0, 0, 5),
        (0, 7, 3),
        (1, 1, 1),
        (1, 0, 2),
        (1, 50, 1),
        (60, 45, 4),
        (300, 20, 1),
        (200, 250, 26),
        (40, 40, 26),
    ];
    let both = |(place, (a, b, keys)): (usize, (usize, usize, usize))| {
        [rows(a, keys, 2 * place as u64 + 1), rows(b, keys, 2 * place as u64 + 2)]
    };
    sizes.into_iter().enumerate().map(both).collect()
}

#[test]
fn the_first_rows_of_each_key_are_common_as_often_as_both_have_it() {
    for (protocol, learners) in [("vole", BOTH), ("ecdh", BOTH), ("auto", ONE), ("bloom", ONE)] {
        for [a, b] in &tables() {
            let home = Home::new();
            run(&home, &format!("protocol = \"{protocol}\"\n{learners}{KEY}"), [a, b], &[]).well();
            let what = format!("{protocol}, {} rows and {}", a.len(), b.len());
            assert_eq!(text(home.at("out/hospital.csv")), csv(common(a, b)), "{what}");
            if learners == BOTH {
                assert_eq!(text(home.at("out/insurer.csv")), csv(common(b, a)), "{what}");
            }
            let report = json(home.at("report.json"));
            for (name, own) in NAMES.into_iter().zip([a, b]) {
                let keyed = own.iter().filter(|row| row.0.is_some()).count();
                let counts = json!({ "read": own.len(), "nulls": own.len() - keyed, "unreadable": 0, "duplicates": 0, "items": keyed });
                assert_eq!(report["parties"][name]["rows"], counts, "{what}");
            }
        }
    }
}

#[test]
fn a_count_is_of_as_many_rows_as_both_have() {
    for (place, [a, b]) in tables().iter().enumerate() {
        let home = Home::new();
        let protocol = ["auto", "ecdh"][place % 2];
        run(&home, &format!("protocol = \"{protocol}\"\nreveal = \"count\"\n{BOTH}{KEY}"), [a, b], &[]).well();
        let count = common(a, b).len();
        assert_eq!(count, common(b, a).len());
        for name in NAMES {
            assert_eq!(json(home.at("report.json"))["parties"][name]["result"], json!({ "count": count }));
        }
    }
}

#[test]
fn other_forms_find_the_same_rows() {
    let [a, b] = [rows(120, 5, 71), rows(150, 5, 72)];
    for (terms, more) in [
        (format!("security = \"malicious\"\n{ONE}{KEY}"), &[][..]),
        (format!("level = \"bits192\"\n{ONE}{KEY}"), &[]),
        (format!("{ONE}{KEY}[limits]\npad_to = 200\n"), &[]),
        (format!("{ONE}{KEY}"), &["--work", "WORK"]),
        (format!("protocol = \"ecdh\"\n{ONE}{KEY}"), &["--work", "WORK"]),
    ] {
        let home = Home::new();
        let work = home.at("work");
        let more: Vec<_> = more.iter().map(|word| if *word == "WORK" { work.as_str() } else { word }).collect();
        run(&home, &terms, [&a, &b], &more).well();
        assert_eq!(text(home.at("out/hospital.csv")), csv(common(&a, &b)), "{terms}");
    }
}

/// The keys of a table on disk are those of a table in memory.
#[test]
fn one_may_be_on_disk() {
    let pair = Pair::new(&format!("job = \"intersect\"\nid = \"t\"\n{BOTH}{KEY}"));
    let tables = [rows(300, 7, 81), rows(200, 7, 82)];
    NAMES.iter().zip(&tables).for_each(|(name, rows)| pair.table(name, &csv(rows)));
    let work = pair.home.at("work");
    let both = [("hospital", &["--work", &work][..]), ("insurer", &[])].map(|(name, more)| pair.start(name, more));
    both.into_iter().map(Running::end).for_each(|ended| drop(ended.well()));
    let [a, b] = &tables;
    assert_eq!(text(pair.out("hospital", "rows.csv")), csv(common(a, b)));
    assert_eq!(text(pair.out("insurer", "rows.csv")), csv(common(b, a)));
}

fn learned(report: &Value, name: &str) -> String {
    let sentences = report["parties"][name]["learned"].as_array().unwrap();
    sentences.iter().map(|sentence| sentence.as_str().unwrap().to_owned() + "\n").collect()
}

#[test]
fn the_report_says_what_numbers_of_rows_tell() {
    let (a, b) = (rows(40, 3, 91), rows(30, 3, 92));
    let home = Home::new();
    run(&home, &format!("{ONE}{KEY}"), [&a, &b], &[]).well();
    let report = json(home.at("report.json"));
    let keyed = |rows: &[Row]| rows.iter().filter(|row| row.0.is_some()).count();
    for sentence in [
        "the smaller of two numbers: of its own rows with that key, and of insurer's".to_owned(),
        "Nothing checks how often hospital has a key".to_owned(),
        format!("hospital learns how many rows with a key insurer has ({}).", keyed(&b)),
    ] {
        assert!(learned(&report, "hospital").contains(&sentence), "{sentence}: {report}");
    }
    for name in NAMES {
        assert!(!learned(&report, name).contains("distinct"), "{report}");
    }
    assert!(learned(&report, "insurer").contains(&format!("how many rows with a key hospital has ({}).", keyed(&a))));
    run(&home, &format!("reveal = \"count\"\n{ONE}{KEY}"), [&a, &b], &[]).well();
    let report = json(home.at("report.json"));
    assert!(
        learned(&report, "hospital")
            .contains("how many rows the two have in common, each key as often as both have it")
    );
    assert!(!learned(&report, "hospital").contains("distinct"), "{report}");

    let (job, input) = (home.at("job.toml"), home.at("hospital.csv"));
    let said = tacita(&["doctor", &job, "--as", "hospital", "--identity", &home.at("id"), "--input", &input]).stdout;
    let line = format!("40 rows, {} with a key; {} without a key, 0 unreadable\n", keyed(&a), 40 - keyed(&a));
    assert!(said.contains(&line), "{said}");
}

#[test]
fn without_a_job_file_it_is_an_option() {
    let pair = Pair::new("");
    let tables = [rows(50, 4, 101), rows(60, 4, 102)];
    NAMES.iter().zip(&tables).for_each(|(name, rows)| pair.table(name, &csv(rows)));
    let start = |name: &str, peer: &str, rest: &[&str]| {
        let (identity, input) = (pair.home.at(name), pair.home.at(&format!("{name}.csv")));
        let fixed = ["intersect", "--identity", &identity, "--input", &input, "--peer", pair.fingerprint(peer)];
        let key = ["--key", "name,day", "--normalize", "name,none", "--duplicates", "multiset"];
        Running::start(&[&fixed, &key[..], rest].concat())
    };
    let out = pair.home.at("common.csv");
    let listening =
        start("hospital", "insurer", &["--listen", &pair.address, "--receiver", "me", "--force", "--output", &out]);
    start("insurer", "hospital", &["--connect", &pair.address, "--receiver", "peer"]).end().well();
    listening.end().well();
    assert_eq!(text(out), csv(common(&tables[0], &tables[1])));

    let words = ["duplicates = \"multiset\"", "reveal = \"payload\"", "\"rows\""];
    let payload = ["--listen", &pair.address, "--receiver", "me", "--reveal", "payload", "--peer-gives", "note"];
    start("hospital", "insurer", &payload).end().failed(2, &words);
    start("hospital", "insurer", &["--listen", &pair.address, "--key", "note"]).end().failed(2, &["key.any"]);
}

#[test]
fn a_part_cannot_be_prepared() {
    let home = Home::new();
    let input = home.file("list.csv", &csv(&rows(9, 2, 3)));
    let limits = "[limits]\nmax_rows = 10\n[parties.hospital]\n[parties.insurer]\n";
    let job = home.file("job.toml", &format!("job = \"intersect\"\nid = \"t\"\n{ONE}{KEY}{limits}"));
    let prepared = tacita(&["prepare", &job, "--as", "insurer", "--input", &input, "--work", &home.at("work")]);
    prepared.failed(2, &["--work", "multiset", "duplicates = \"all\""]);
}
