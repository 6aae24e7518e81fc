//! Several keys of which one is enough: the union of what each has in common, in memory and on disk.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::dot::noise;
use crate::common::{Ended, Home, NAMES, Pair, Running, data, files, json, tacita, text};
use rustix::process::Signal;
use serde_json::json;

const KEY: &str = "[key]\nany = [[\"name\", \"dob\"], [\"nhs\"], [\"zip\", \"name\"]]\n";
const KEYS: [&[usize]; 3] = [&[0, 1], &[2], &[3, 0]];
const HEADER: &str = "name,dob,nhs,zip,note";

type Row = [String; 5];

/// Rows with few names, so that keys meet in many ways; every part may be empty.
fn rows(count: usize, seed: u64) -> Vec<Row> {
    let mut noise = noise(seed);
    let mut next = |below: usize| noise.next().unwrap() as usize % below;
    let mut value =
        |kind: &str, values: usize| if next(8) == 0 { String::new() } else { format!("{kind}{}", next(values)) };
    (0..count)
        .map(|row| {
            let values = count / 2 + 2;
            [value("n", values), value("d", 3), value("", 2 * values), value("z", 9), format!("note {seed}.{row}")]
        })
        .collect()
}

fn csv(rows: &[Row]) -> String {
    std::iter::once(HEADER.to_owned()).chain(rows.iter().map(|row| row.join(","))).map(|line| line + "\n").collect()
}

/// A row's key, if it has one.
fn key(row: &Row, columns: &[usize]) -> Option<Vec<String>> {
    let parts: Vec<_> = columns.iter().map(|&column| row[column].clone()).collect();
    (!parts.iter().any(String::is_empty)).then_some(parts)
}

/// Pairs of an own row and one of theirs that have a key in common: by the first key in order, then by the next.
fn pairs(own: &[Row], theirs: &[Row]) -> Vec<(usize, usize)> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    for columns in KEYS {
        let by_key = |rows: &[Row]| {
            let mut all: BTreeMap<Vec<String>, Vec<usize>> = BTreeMap::new();
            for (place, row) in rows.iter().enumerate() {
                if let Some(key) = key(row, columns) {
                    all.entry(key).or_default().push(place);
                }
            }
            all
        };
        let theirs = by_key(theirs);
        for (key, rows) in by_key(own) {
            for row in rows {
                found.extend(
                    theirs.get(&key).into_iter().flatten().map(|&other| (row, other)).filter(|pair| seen.insert(*pair)),
                );
            }
        }
    }
    found
}

/// Returns the expected output of a party that learns rows.
fn expected(own: &[Row], theirs: &[Row]) -> String {
    let mut seen = BTreeSet::new();
    let rows: Vec<_> =
        pairs(own, theirs).into_iter().filter(|(row, _)| seen.insert(*row)).map(|(row, _)| own[row].clone()).collect();
    csv(&rows)
}

fn simulate(home: &Home, terms: &str, tables: [&[Row]; 2], more: &[&str]) -> Ended {
    let parties = "[parties.hospital]\n[parties.insurer]\n";
    let job = home.file("job.toml", &format!("job = \"intersect\"\nid = \"t\"\n{terms}\n{parties}"));
    let inputs = [0, 1].map(|i| format!("{}={}", NAMES[i], home.file(&format!("{}.csv", NAMES[i]), &csv(tables[i]))));
    let (out, report) = (home.at("out"), home.at("report.json"));
    let options = ["--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out, "--report", &report];
    tacita(&[&["simulate", &job][..], &options, more].concat())
}

/// Tables of each size by `vole` and by some of the other protocols.
#[test]
fn rows_match_by_any_key() {
    match_by_any_key(|number, size| number == 0 || (number + size).is_multiple_of(2));
}

#[test]
#[ignore = "slow: each size by each protocol"]
fn rows_match_by_any_key_and_protocol() {
    match_by_any_key(|_, _| true);
}

/// Matches by the protocols and sizes, by their places, that `taken` names.
fn match_by_any_key(taken: impl Fn(usize, usize) -> bool) {
    for (number, protocol) in ["vole", "ecdh", "auto", "bloom", "polynomial"].into_iter().enumerate() {
        let sizes = [(60, 45), (1, 30), (0, 9), (200, 200)].into_iter().enumerate();
        for (_, (a, b)) in sizes.filter(|(size, _)| taken(number, *size)) {
            let home = Home::new();
            let tables = [rows(a, number as u64), rows(b, 100 + number as u64)];
            let terms = format!("protocol = \"{protocol}\"\nreveal_to = [\"hospital\", \"insurer\"]\n{KEY}");
            let alone = ["bloom", "polynomial"].contains(&protocol);
            let terms = if alone { terms.replace(", \"insurer\"]", "]") } else { terms };
            simulate(&home, &terms, [&tables[0], &tables[1]], &[]).well();
            assert_eq!(text(home.at("out/hospital.csv")), expected(&tables[0], &tables[1]), "{protocol} {a} {b}");
            if !alone {
                assert_eq!(text(home.at("out/insurer.csv")), expected(&tables[1], &tables[0]), "{protocol} {a} {b}");
            }
            let report = json(home.at("report.json"));
            let hospital = &report["parties"]["hospital"];
            let keyless = tables[0].iter().filter(|row| KEYS.iter().all(|columns| key(row, columns).is_none())).count();
            let counts = json!({ "read": a, "nulls": keyless, "unreadable": 0, "duplicates": 0, "items": a - keyless });
            assert_eq!(hospital["rows"], counts);
            for (place, columns) in KEYS.into_iter().enumerate() {
                let keys = |table: &[Row]| table.iter().filter_map(|row| key(row, columns)).collect::<BTreeSet<_>>();
                let common = keys(&tables[0]).intersection(&keys(&tables[1])).count();
                assert_eq!(hospital["keys"][place]["common"], common);
                assert_eq!(hospital["keys"][place]["rows"]["items"], keys(&tables[0]).len());
            }
        }
    }
}

/// Each pair of rows once, however many keys they have in common; two equal rows of the peer are two.
#[test]
fn given_columns_come_with_each_pair_once() {
    for (security, both) in [("semi-honest", true), ("semi-honest", false), ("malicious", false)] {
        let home = Home::new();
        let mut tables = [rows(60, 7), rows(50, 8)];
        tables[1].iter_mut().for_each(|row| row[4] = "the same".into());
        let learners = if both { "\"hospital\", \"insurer\"" } else { "\"hospital\"" };
        let gives = "gives = { insurer = [\"note\", \"zip\"], hospital = [\"dob\"] }";
        let terms =
            format!("reveal = \"payload\"\nreveal_to = [{learners}]\n{gives}\nsecurity = \"{security}\"\n{KEY}");
        simulate(&home, &terms, [&tables[0], &tables[1]], &[]).well();
        let joined = |own: &[Row], theirs: &[Row], columns: &[usize]| -> Vec<String> {
            let line = |(row, other): (usize, usize)| {
                let given = columns.iter().map(|&column| theirs[other][column].clone());
                own[row].iter().cloned().chain(given).collect::<Vec<_>>().join(",")
            };
            let mut lines: Vec<_> = pairs(own, theirs).into_iter().map(line).collect();
            lines.sort();
            lines
        };
        let written = |name: &str| {
            let all = text(home.at(&format!("out/{name}.csv")));
            let mut lines: Vec<_> = all.lines().skip(1).map(str::to_owned).collect();
            lines.sort();
            lines
        };
        assert_eq!(written("hospital"), joined(&tables[0], &tables[1], &[4, 3]), "{security} {both}");
        assert!(written("hospital").len() > 60);
        if both {
            assert_eq!(written("insurer"), joined(&tables[1], &tables[0], &[1]));
        }
        let learned = json(home.at("report.json"))["parties"]["hospital"]["learned"].to_string();
        assert!(learned.contains("one row of insurer"), "{learned}");
        assert_eq!(
            learned.contains("does not depend on what it brings by another key"),
            security == "malicious",
            "{learned}"
        );
    }
}

#[test]
fn sizes_are_told_by_key_or_hidden() {
    let tables = [rows(60, 1), rows(50, 2)];
    for (limits, words) in [
        (
            "",
            &["by `name` and `dob` (", "by `nhs` (", "by `zip` and `name` (", "no row of insurer has that other key"][..],
        ),
        ("[limits]\npad_to = 100\n", &["does not learn how many keys insurer has"]),
    ] {
        let home = Home::new();
        let terms = format!("reveal_to = [\"hospital\"]\n{KEY}{limits}");
        simulate(&home, &terms, [&tables[0], &tables[1]], &[]).well();
        assert_eq!(text(home.at("out/hospital.csv")), expected(&tables[0], &tables[1]));
        let learned = json(home.at("report.json"))["parties"]["hospital"]["learned"].to_string();
        for words in words {
            assert!(learned.contains(words), "{words}: {learned}");
        }
    }
}

#[test]
fn what_several_keys_cannot_do_is_refused() {
    let (home, tables) = (Home::new(), [rows(9, 1), rows(9, 2)]);
    let to = "reveal_to = [\"hospital\"]";
    let value = "gives = { insurer = [\"zip\"] }";
    for (terms, words) in [
        (format!("reveal = \"count\"\n{to}\n{KEY}"), &["reveal = \"count\"", "key.any"][..]),
        (format!("reveal = \"sum:zip\"\n{to}\n{value}\n{KEY}"), &["reveal = \"sum:COLUMN\"", "twice"]),
        (format!("{to}\n{KEY}[limits]\nmax_rows = 9\nmax_queries = 9\n"), &["max_queries", "key.any"]),
        (format!("{to}\n{KEY}columns = [\"nhs\"]\n"), &["columns and any"]),
        (format!("{to}\n{KEY}normalize = {{ nsh = \"integer\" }}\n"), &["key.normalize", "\"nsh\"", "nhs"]),
        (format!("{to}\n{KEY}normalize = [\"name\"]\n"), &["1 profiles for 4 key columns", "by column"]),
    ] {
        simulate(&home, &terms, [&tables[0], &tables[1]], &[]).failed(2, words);
    }
    let parties = "[parties.hospital]\n[parties.insurer]\n";
    let both = "reveal_to = [\"hospital\", \"insurer\"]";
    for (job, rest) in [("dot", "column = \"zip\""), ("rules", "min_support = 1")] {
        let job = home.file(
            "other.toml",
            &format!("job = \"{job}\"\nid = \"t\"\n{both}\n{rest}\nrow_id = \"nhs\"\n{KEY}{parties}"),
        );
        tacita(&["plan", &job, "--rows", "hospital=9", "--rows", "insurer=9"])
            .failed(2, &["key.any", "agree on one key"]);
    }
}

/// Bytes, rounds and sentences are those that the plan says, whatever the protocol and where the tables are.
#[test]
fn it_costs_what_the_plan_says() {
    cost_what_the_plan_says(4);
}

#[test]
#[ignore = "slow: rows and payload by either security too"]
fn all_cost_what_the_plan_says() {
    cost_what_the_plan_says(usize::MAX);
}

fn cost_what_the_plan_says(number: usize) {
    let tables = [rows(700, 1), rows(500, 2)];
    let payload = "reveal = \"payload\"\ngives = { hospital = [\"zip\"], insurer = [\"note\"] }";
    for (terms, learners, on_disk) in [
        ("protocol = \"ecdh\"".to_owned(), "[\"hospital\", \"insurer\"]", false),
        ("protocol = \"vole\"".to_owned(), "[\"insurer\"]", false),
        (format!("security = \"malicious\"\n{payload}"), "[\"hospital\"]", false),
        ("protocol = \"vole\"".to_owned(), "[\"hospital\", \"insurer\"]", true),
        (format!("protocol = \"vole\"\n{payload}"), "[\"hospital\"]", false),
        ("security = \"malicious\"".to_owned(), "[\"hospital\"]", false),
    ]
    .into_iter()
    .take(number)
    {
        let home = Home::new();
        let terms = format!("reveal_to = {learners}\n{terms}\n{KEY}");
        let work = home.at("work");
        let disk = ["--work", &work, "--memory", "70MiB"];
        simulate(&home, &terms, [&tables[0], &tables[1]], if on_disk { &disk } else { &[] }).well();
        let inputs = NAMES.map(|name| format!("{name}={}", home.at(&format!("{name}.csv"))));
        let job = home.at("job.toml");
        let plan = ["plan", &job, "--json", "--input", &inputs[0], "--input", &inputs[1]];
        let plan = if on_disk { [&plan[..], &["--memory", "70MiB"]].concat() } else { plan.to_vec() };
        let plan: serde_json::Value = serde_json::from_str(&tacita(&plan).well().stdout).unwrap();
        let report = json(home.at("report.json"));
        for name in NAMES {
            let (share, ran) = (&plan["parties"][name], &report["parties"][name]);
            if !on_disk {
                assert_eq!(share["bytes_sent"], ran["bytes"]["sent"], "{terms}");
            }
            assert_eq!(plan["rounds"], ran["rounds"], "{terms}");
            assert_eq!(share["learned"], ran["learned"], "{terms}");
        }
    }
}

/// A row is one without a key if it has none of the keys.
#[test]
fn a_row_without_any_key_is_named() {
    let home = Home::new();
    let mut tables = [rows(40, 1), rows(40, 2)];
    for table in &mut tables {
        table.retain(|row| KEYS.iter().any(|columns| key(row, columns).is_some()));
    }
    let terms = format!("reveal_to = [\"hospital\"]\n{KEY}nulls = \"error\"\n");
    simulate(&home, &terms, [&tables[0], &tables[1]], &[]).well();
    tables[0].insert(3, [const { String::new() }; 5]);
    for more in [&[][..], &["--work", &home.at("work")]] {
        simulate(&home, &terms, [&tables[0], &tables[1]], more).failed(2, &["hospital.csv, line 5", "any of the keys"]);
    }
}

#[test]
fn on_disk_it_is_as_in_memory() {
    for (learners, duplicates) in [("\"hospital\", \"insurer\"", "all"), ("\"insurer\"", "first")] {
        let home = Home::new();
        let tables = [rows(4000, 1), rows(5000, 2)];
        let terms = format!("reveal_to = [{learners}]\n{KEY}duplicates = \"{duplicates}\"\n");
        simulate(&home, &terms, [&tables[0], &tables[1]], &[]).well();
        let in_memory = NAMES.map(|name| std::fs::read(home.at(&format!("out/{name}.csv"))).ok());
        let rows = json(home.at("report.json"))["parties"]["hospital"]["rows"].clone();
        let work = home.at("work");
        simulate(&home, &terms, [&tables[0], &tables[1]], &["--work", &work, "--memory", "70MiB"]).well();
        let on_disk = NAMES.map(|name| std::fs::read(home.at(&format!("out/{name}.csv"))).ok());
        assert!(in_memory == on_disk && in_memory[1].is_some());
        let report = json(home.at("report.json"));
        assert_eq!(report["parties"]["hospital"]["rows"], rows);
        assert_eq!(report["parties"]["hospital"]["work"].as_array().unwrap().len(), 3);
        for name in NAMES {
            assert_eq!(files(&home.at(&format!("work/{name}"))), [""; 0]);
        }
    }
}

/// One party has its table on disk, and is killed; both go on, and do nothing twice.
#[test]
fn a_run_that_was_cut_off_goes_on() {
    let pair = Pair::new(&format!("job = \"intersect\"\nid = \"t\"\nreveal_to = [\"hospital\", \"insurer\"]\n{KEY}"));
    let tables = [rows(20_000, 1), rows(20_000, 2)];
    (0..2).for_each(|party| pair.table(NAMES[party], &csv(&tables[party])));
    let expected = [expected(&tables[0], &tables[1]), expected(&tables[1], &tables[0])];
    let start = |name: &str| {
        let work = pair.home.at(&format!("{name}.work"));
        pair.start(name, &["--work", &work, "--memory", "70MiB", "--resume", "--timeout", "10s"])
    };
    for (attempt, phase) in ["sorted 20,000 rows", "agreed with", "buckets left", ""].into_iter().enumerate() {
        let mut running: Vec<Running> = NAMES.iter().map(|name| start(name)).collect();
        if !phase.is_empty() {
            running[attempt % 2].until_it_says(phase);
            running[attempt % 2].signal(Signal::KILL);
            running.into_iter().for_each(|party| drop(party.end()));
        } else {
            running.into_iter().for_each(|party| drop(party.end().well()));
        }
    }
    for (name, expected) in NAMES.iter().zip(expected) {
        assert!(text(pair.out(name, "rows.csv")) == expected, "{name}");
    }
}

/// Other headers and formats, and the keys as options.
#[test]
fn keys_are_given_as_options() {
    let home = Home::new();
    ["a", "b"].into_iter().for_each(|name| drop(tacita(&["identity", "new", &home.at(name)]).well()));
    let pin = |name: &str| tacita(&["identity", "show", &home.at(name)]).stdout.trim().to_owned();
    let own = home.file("a.csv", "name,dob,nhs\n\"Doe, Jane\",1980-05-04,\nX,1990-01-01,17\nY,1991-01-01,\n");
    let theirs = home.file("b.csv", "who,birth,number\njane doe,04/05/1980,9\nZ,01/01/1970,017\n");
    let address = format!("127.0.0.1:{}", crate::common::free_port());
    let (out, normalize) = (home.at("out.csv"), "name=name,dob=date,nhs=integer");
    let options = [
        "--key",
        "name,dob",
        "--key",
        "nhs",
        "--normalize",
        normalize,
        "--force",
        "--output",
        &out,
        "--receiver",
        "me",
    ];
    let listen = ["intersect", "--listen", &address, "--peer", &pin("b"), "--identity", &home.at("a"), "--input", &own];
    let listener = Running::start(&[&listen[..], &options].concat());
    let options =
        ["--key", "name=who,dob=birth", "--key", "nhs=number", "--normalize", "name=name,dob=date:DMY,nhs=integer"];
    let dial =
        ["intersect", "--connect", &address, "--peer", &pin("a"), "--identity", &home.at("b"), "--input", &theirs];
    tacita(&[&dial[..], &options, &["--receiver", "peer"]].concat()).well();
    listener.end().well();
    assert_eq!(text(out), "name,dob,nhs\n\"Doe, Jane\",1980-05-04,\nX,1990-01-01,17\n");
}

/// Persons with typing errors: exact keys find two of five, several keys most of them.
#[test]
fn several_keys_find_what_one_does_not() {
    let Some(febrl) = data("medical/febrl") else { return };
    let home = Home::new();
    let names = "[\"given_name\", \"surname\", \"date_of_birth\"]";
    let mut found = Vec::new();
    for key in [
        format!("columns = {names}"),
        format!("any = [{names}, [\"soc_sec_id\"]]"),
        format!("any = [{names}, [\"soc_sec_id\"], [\"surname\", \"date_of_birth\", \"postcode\"]]"),
    ] {
        let terms =
            "job = \"intersect\"\nid = \"t\"\nreveal = \"payload\"\nreveal_to = [\"a\"]\ngives = { b = [\"rec_id\"] }";
        let job = home.file("job.toml", &format!("{terms}\n[key]\n{key}\n[parties.a]\n[parties.b]\n"));
        let inputs = ["a", "b"].map(|side| format!("{side}={}", febrl.join(format!("dataset4{side}.csv")).display()));
        let out = home.at("out");
        tacita(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out]).well();
        let person = |id: &str| id.split('-').nth(1).unwrap_or_default().to_owned();
        let written = text(home.at("out/a.csv"));
        let pairs = written.lines().skip(1).map(|line| {
            let fields: Vec<_> = line.split(',').collect();
            person(fields[0]) == person(fields[fields.len() - 1])
        });
        let (right, wrong): (Vec<_>, Vec<_>) = pairs.partition(|right| *right);
        found.push((right.len(), wrong.len()));
    }
    println!("right and wrong of 5000: {found:?}");
    assert!(found[0].0 < found[1].0 && found[1].0 < found[2].0, "{found:?}");
    assert!(found[1].0 > 4_000 && found.iter().all(|(_, wrong)| *wrong < 20), "{found:?}");
}
