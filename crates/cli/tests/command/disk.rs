//! Tables on disk, `--work`: the same result as in memory, byte for byte, whatever the table, its format and its
//! memory.

use std::path::Path;

use crate::common::dot::noise;
use crate::common::{Ended, Home, NAMES, Pair, files, json, keys, tacita, text};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use serde_json::{Value, json};
use std::sync::Arc;
use tacita_node::table::{Selection, Table, output};

/// Memory limit so low that a table of some ten thousand rows is sorted in several runs, with its keys in many buckets.
const LITTLE: &str = "70MiB";

fn terms(rest: &str) -> String {
    format!("job = \"intersect\"\nid = \"test\"\nreveal_to = [\"hospital\", \"insurer\"]\n{rest}\n")
}

const NAME_AND_DATE: &str =
    "[key]\ncolumns = [\"name\", \"dob\"]\nnormalize = [\"name\", \"date\"]\nduplicates = \"DUPLICATES\"\n";

/// A table of persons: repeated, empty and unreadable keys among them, values with quotes, commas and line ends.
fn persons(rows: usize, seed: u64) -> String {
    let mut noise = noise(seed);
    let mut next = |below: u64| noise.next().unwrap() % below;
    let mut text = String::from("name,note,dob\n");
    for row in 0..rows {
        let person = next(rows as u64 * 2);
        let name = match next(60) {
            0 => String::new(),
            1 => format!("\"Person, {person:x}\""),
            2 => format!("  PERSON {person:x} "),
            _ => format!("person {person:x}"),
        };
        let dob = match next(200) {
            0 => "no date".into(),
            1 => String::new(),
            _ => format!("{}-0{}-{}", 1950 + person % 50, 1 + person % 9, 10 + person % 18),
        };
        let note = match next(50) {
            0 => "\"two\nlines\"".into(),
            1 => "\"a \"\"quote\"\"\"".into(),
            _ => format!("note {row}"),
        };
        text.push_str(&format!("{name},{note},{dob}\n"));
    }
    text
}

/// Runs a simulation in memory and on disk, and compares all that it writes and says.
#[track_caller]
fn compare(home: &Home, terms: &str, inputs: [&str; 2], format: &str) -> Value {
    let job = home.file("job.toml", &format!("{terms}\n[parties.hospital]\n[parties.insurer]\n"));
    let inputs = [0, 1].map(|i| format!("{}={}", NAMES[i], inputs[i]));
    let (report, work) = (home.at("report.json"), home.at("work"));
    let run = |out: &str, more: &[&str]| -> (Ended, Value) {
        let out = home.at(out);
        let fixed = ["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--format", format];
        let ended = tacita(&[&fixed[..], &["--force", "--output", &out, "--report", &report], more].concat()).well();
        (ended, json(&report))
    };
    let (in_memory, expected) = run("memory", &[]);
    let (on_disk, report) = run("disk", &["--work", &work, "--memory", LITTLE]);
    assert_eq!(in_memory.stdout, on_disk.stdout);
    for name in NAMES {
        let file = |out: &str| std::fs::read(home.at(&format!("{out}/{name}.{format}"))).unwrap();
        assert!(file("memory") == file("disk"), "{name}.{format}");
        let said = |report: &Value, key: &str| report["parties"][name][key].clone();
        for key in ["rows", "result"] {
            assert_eq!(said(&expected, key), said(&report, key));
        }
        // The peer is told of the work on disk, and nothing else is another.
        let Value::Array(mut learned) = said(&report, "learned") else { panic!("{report}") };
        let of_disk = |sentence: &Value| {
            [" works on disk.", " if the run is resumed."].iter().any(|end| sentence.as_str().unwrap().ends_with(end))
        };
        learned.retain(|sentence| !of_disk(sentence));
        assert_eq!(said(&expected, "learned"), json!(learned));
        assert_eq!(learned.len() + 2, said(&report, "learned").as_array().unwrap().len());
        assert_eq!(files(&home.at(&format!("work/{name}"))), [""; 0]);
    }
    for name in NAMES {
        let work = &report["parties"][name]["work"];
        assert_eq!(work["done"], work["buckets"]);
        if expected["parties"]["hospital"]["rows"]["items"].as_u64() > Some(20_000) {
            assert!(work["buckets"].as_u64() >= Some(8), "{work}");
        }
    }
    report
}

/// Tables of several runs and many buckets in one way, small ones in the others.
#[test]
fn text_is_as_in_memory() {
    text_of_sizes_is_as_in_memory([3_000, 30_000, 3_000]);
}

#[test]
#[ignore = "slow: large tables in each way"]
fn large_text_is_as_in_memory() {
    text_of_sizes_is_as_in_memory([30_000; 3]);
}

/// Tables of so many rows, and some thousand more, for each way of keeping duplicates.
fn text_of_sizes_is_as_in_memory(sizes: [usize; 3]) {
    let ways = [("all", "vole"), ("first", "auto"), ("multiset", "vole")];
    for ((duplicates, protocol), size) in ways.into_iter().zip(sizes) {
        let home = Home::new();
        let terms = terms(&format!("protocol = \"{protocol}\"\n{}", NAME_AND_DATE.replace("DUPLICATES", duplicates)));
        let inputs = [1, 2].map(|seed| home.file(&format!("{seed}.csv"), &persons(size + 5_000 * seed, seed as u64)));
        let report = compare(&home, &terms, [&inputs[0], &inputs[1]], "csv");
        let rows = &report["parties"]["hospital"]["rows"];
        let of_rows = |part: usize| Some(((size + 5_000) / part) as u64);
        assert!(rows["nulls"].as_u64() > of_rows(350) && rows["unreadable"].as_u64() > of_rows(350), "{rows}");
        assert_eq!(rows["duplicates"].as_u64() > of_rows(35), duplicates != "multiset", "{rows}");
        assert!(report["parties"]["hospital"]["result"]["rows"].as_u64() > of_rows(35));
        assert!(size < 30_000 || report["parties"]["hospital"]["work"]["runs"].as_u64() >= Some(2));
    }
}

#[test]
fn other_text_and_other_outputs_are_as_in_memory() {
    let home = Home::new();
    let terms = terms(&NAME_AND_DATE.replace("DUPLICATES", "all"));
    let plain = [3, 4].map(|seed| home.file(&format!("{seed}.csv"), &persons(4_000, seed)));
    let packed = home.at("3.csv.gz");
    crate::common::convert(Path::new(&plain[0]), &packed);
    for format in ["json", "parquet", "arrow"] {
        compare(&home, &terms, [&packed, &plain[1]], format);
    }
}

/// A typed table of keys, some of them repeated or absent.
fn typed(rows: usize, seed: u64) -> Table {
    let noise: Vec<u64> = noise(seed).take(rows).collect();
    let key = |value: u64| (!value.is_multiple_of(17)).then_some((value % (2 * rows as u64)) as i64);
    let columns: [(&str, ArrayRef); 3] = [
        ("key", Arc::new(noise.iter().map(|value| key(*value)).collect::<Int64Array>())),
        (
            "cost",
            Arc::new(
                noise
                    .iter()
                    .map(|value| (!value.is_multiple_of(5)).then_some(*value as f64 / 64.0))
                    .collect::<Float64Array>(),
            ),
        ),
        (
            "note",
            Arc::new(
                noise
                    .iter()
                    .map(|value| (!value.is_multiple_of(7)).then(|| format!("n{value}")))
                    .collect::<StringArray>(),
            ),
        ),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.map(|(name, column)| (name, column, true))).unwrap();
    Table::new("typed", batch.schema(), vec![batch]).unwrap()
}

#[test]
fn typed_tables_are_as_in_memory() {
    let home = Home::new();
    let terms = terms("[key]\ncolumns = [\"key\"]\n");
    for (input, format, rows) in
        [("parquet", "parquet", 30_000), ("arrow", "arrow", 4_000), ("parquet", "csv", 4_000), ("arrow", "json", 4_000)]
    {
        let inputs = [5, 6].map(|seed| {
            let path = home.at(&format!("{seed}.{input}"));
            output::write(&Selection::all(&typed(rows, seed)), Path::new(&path), None).unwrap();
            path
        });
        compare(&home, &terms, [&inputs[0], &inputs[1]], format);
    }
}

#[test]
fn small_and_padded_tables_are_as_in_memory() {
    let home = Home::new();
    let key = "[key]\ncolumns = [\"name\"]\n";
    let full = home.file("full.csv", "name,x\nb,1\na,2\nb,3\n");
    let one = home.file("one.csv", "name\nb\n");
    let none = home.file("none.csv", "name,y\n");
    let nulls = home.file("nulls.csv", "name,y\n,1\n,2\n");
    // Filled up to tables of many buckets, and of few.
    for (pair, padded) in [
        ([&full, &one], 30_000),
        ([&full, &none], 300),
        ([&none, &one], 300),
        ([&none, &none], 3_000),
        ([&nulls, &full], 300),
    ] {
        compare(&home, &terms(key), [pair[0], pair[1]], "csv");
        compare(&home, &terms(&format!("{key}[limits]\npad_to = {padded}\n")), [pair[0], pair[1]], "csv");
    }
    let ecdh = terms(&format!("protocol = \"ecdh\"\n{key}"));
    compare(&home, &ecdh, [&full, &one], "csv");
}

/// Checks that tables refused in memory are refused on disk in the same words, with the same positions.
#[test]
fn bad_tables_are_refused_as_in_memory() {
    let home = Home::new();
    let good = home.file("good.csv", "name,dob\na,2001-01-01\n");
    let cases = [
        ("all", "error", "name,dob\na,2001-01-01\n,2001-01-01\n".to_owned()),
        (
            "error",
            "skip",
            "name,dob\nb,2001-01-01\n\"x\ny\",2001-01-01\na,2001-01-01\nb,2001-01-01\na,2001-01-01\n".to_owned(),
        ),
        ("all", "skip", "name,dob\na,x\nb,y\nc,2001-01-01\n".to_owned()),
        ("all", "skip", "name,dob\na,b,c\n".to_owned()),
        ("all", "skip", "name,date\na,b\n".to_owned()),
        ("all", "skip", "name,dob\n\"a,b\n".to_owned()),
    ];
    for (duplicates, nulls, table) in cases {
        let key = format!("{}nulls = \"{nulls}\"\n", NAME_AND_DATE.replace("DUPLICATES", duplicates));
        let job = home.file("job.toml", &format!("{}[parties.hospital]\n[parties.insurer]\n", terms(&key)));
        let bad = home.file("bad.csv", &table);
        let inputs = [format!("hospital={bad}"), format!("insurer={good}")];
        let fixed = ["simulate", &job, "--input", &inputs[0], "--input", &inputs[1]];
        let line = tacita(&fixed).failed(2, &["bad.csv"]);
        let work = home.at("work");
        let on_disk = tacita(&[&fixed[..], &["--work", &work]].concat());
        assert_eq!(on_disk.failed(2, &["bad.csv"]), line);
        std::fs::remove_dir_all(&work).unwrap();
    }
}

#[test]
fn a_party_with_its_table_in_memory_takes_part() {
    for (on_disk, receivers) in
        [("hospital", "\"hospital\""), ("insurer", "\"hospital\""), ("hospital", "\"hospital\", \"insurer\"")]
    {
        let terms = terms("[key]\ncolumns = [\"name\"]\n").replace("\"hospital\", \"insurer\"", receivers);
        let pair = Pair::new(&terms);
        for (name, seed) in NAMES.into_iter().zip([7, 8]) {
            pair.table(name, &persons(8_000, seed));
        }
        let expected = {
            let running = NAMES.map(|name| pair.start(name, &[]));
            running.map(|running| running.end().well().stdout)
        };
        let before = NAMES.map(|name| std::fs::read(pair.out(name, "rows.csv")).ok());
        let work = pair.home.at("work");
        let more = ["--work", &work, "--memory", LITTLE];
        let running = NAMES.map(|name| pair.start(name, if name == on_disk { &more } else { &[] }));
        let ended = running.map(|running| running.end().well());
        assert_eq!(ended.each_ref().map(|ended| ended.stdout.clone()), expected);
        assert!(NAMES.map(|name| std::fs::read(pair.out(name, "rows.csv")).ok()) == before);
        assert_eq!(files(&work), [""; 0]);
        let report = json(pair.out(on_disk, "report.json"));
        assert!(keys(&report).contains(&"peak_memory"));
        assert!(text(pair.out("hospital", "report.json")).contains("vole"));
    }
}

#[test]
fn what_cannot_be_on_disk_is_refused() {
    let home = Home::new();
    let table = home.file("table.csv", "name,x\na,1\n");
    let inputs = NAMES.map(|name| format!("{name}={table}"));
    let work = home.at("work");
    let simulate = |terms: &str, more: &[&str]| {
        let job = home.file("job.toml", &format!("{terms}[parties.hospital]\n[parties.insurer]\n"));
        tacita(&[&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--work", &work][..], more].concat())
    };
    let key = "[key]\ncolumns = [\"name\"]\n";
    simulate(&terms(&format!("reveal = \"count\"\n{key}")), &[]).failed(2, &["--work", "count", "in memory"]);
    let one = terms(&format!("security = \"malicious\"\n{key}")).replace(", \"insurer\"", "");
    simulate(&one, &[]).failed(2, &["--work", "malicious"]);
    let bloom = terms(&format!("protocol = \"bloom\"\n{key}")).replace(", \"insurer\"", "");
    simulate(&bloom, &[]).failed(2, &["--work", "bloom", "\"vole\" and \"ecdh\""]);
    simulate(&terms(key), &["--resume"]).failed(2, &["--resume", "tacita run"]);
    assert!(!Path::new(&work).exists());
}

#[test]
fn too_little_memory_names_the_directory() {
    let pair = Pair::new(&terms("[key]\ncolumns = [\"name\"]\n"));
    NAMES.iter().for_each(|name| pair.table(name, "name\na\n"));
    let [hospital, insurer] =
        [("hospital", &["--memory", "1MiB"][..]), ("insurer", &[])].map(|(name, more)| pair.start(name, more));
    hospital.end().failed(2, &["--memory allows", "--work DIR"]);
    insurer.end().failed(3, &["hospital"]);
}
