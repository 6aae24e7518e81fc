//! Scalar products among three and more parties by whole processes: against products that were computed without the
//! program; and the shares that they leave.

use super::{Group, NAMES};
use crate::common::dot::noise;
use crate::common::{Ended, Home, Running, examples, files, json, rows_of, tacita, text};
use serde_json::{Value, json};

const ALL: [&str; 5] = ["a", "b", "c", "d", "e"];

/// A job of these parties.
fn job(kind: &str, terms: &str, names: &[&str]) -> String {
    let parties: String = names.iter().map(|name| format!("[parties.{name}]\n")).collect();
    format!("job = \"{kind}\"\nid = \"test\"\n{terms}\n{parties}")
}

/// Runs a job on these files of its parties.
fn run(home: &Home, job: &str, inputs: &[(&str, String)], out: &str) -> Ended {
    let (job, report, out) = (home.file("job.toml", job), home.at("report.json"), home.at(out));
    let inputs: Vec<_> = inputs.iter().map(|(name, path)| format!("{name}={path}")).collect();
    let mut arguments = vec!["simulate", &job, "--report", &report, "--force", "--output", &out];
    arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
    tacita(&arguments)
}

/// A number, which stands as text where JSON's numbers do not hold it.
fn as_number(value: &Value) -> f64 {
    value.as_f64().or_else(|| value.as_str()?.parse().ok()).unwrap()
}

/// Columns of one party.
type Columns = Vec<Vec<i64>>;

/// Parties, rows, numbers, terms, decimals, columns of each, learners.
type Case = (usize, usize, (i64, i64), &'static str, u32, &'static [usize], &'static [usize]);

/// Pseudorandom columns.
fn columns(seed: u64, count: usize, rows: usize, (low, high): (i64, i64)) -> Columns {
    let mut numbers = noise(seed).map(|word| low + (word % (high - low + 1) as u64) as i64);
    (0..count).map(|_| numbers.by_ref().take(rows).collect()).collect()
}

/// A party's table: its columns `NAME0`, `NAME1`, ... of numbers over 10^`scale`.
fn table(home: &Home, name: &str, columns: &Columns, scale: u32) -> String {
    let header: Vec<_> = (0..columns.len()).map(|column| format!("{name}{column}")).collect();
    let written = |number: i64| match scale {
        0 => number.to_string(),
        _ => {
            let (sign, unit) = (if number < 0 { "-" } else { "" }, 10u64.pow(scale));
            format!(
                "{sign}{}.{:0width$}",
                number.unsigned_abs() / unit,
                number.unsigned_abs() % unit,
                width = scale as usize
            )
        }
    };
    let line = |row: usize| columns.iter().map(|column| written(column[row])).collect::<Vec<_>>().join(",");
    let lines: String = (0..columns[0].len()).map(|row| line(row) + "\n").collect();
    home.file(&format!("{name}.csv"), &format!("{}\n{lines}", header.join(",")))
}

/// Products of one column of each, the last party's changing first.
fn products(all: &[Columns]) -> Vec<i64> {
    let rows = all[0][0].len();
    let mut factors = vec![vec![1i64; rows]];
    for columns in all {
        let with = |factor: &Vec<i64>| {
            columns
                .iter()
                .map(|column| factor.iter().zip(column).map(|(a, b)| a * b).collect::<Vec<_>>())
                .collect::<Vec<_>>()
        };
        factors = factors.iter().flat_map(with).collect();
    }
    factors.iter().map(|factor| factor.iter().sum()).collect()
}

/// The column keys of these parties.
fn of_columns(names: &[&str], all: &[Columns]) -> String {
    let of = |(name, columns): (&&str, &Columns)| {
        format!("{name} = {:?}", (0..columns.len()).map(|column| format!("{name}{column}")).collect::<Vec<_>>())
    };
    format!("column = {{ {} }}", names.iter().zip(all).map(of).collect::<Vec<_>>().join(", "))
}

#[test]
fn values_are_the_products_of_all_parties_columns() {
    let cases: [Case; 8] = [
        (3, 200, (0, 1), "", 0, &[1, 1, 1], &[0, 1, 2]),
        (3, 0, (0, 1), "", 0, &[1, 1, 1], &[0]),
        (3, 1, (1, 1), "", 0, &[1, 1, 1], &[2]),
        (3, 3, (0, 0), "", 0, &[1, 1, 1], &[1]),
        (4, 77, (-8, 7), "bits = 4\nsigned = true", 0, &[1, 1, 1, 1], &[1, 3]),
        (3, 40, (-2000, 2000), "bits = 12\nsigned = true\nscale = 2", 2, &[1, 1, 1], &[0]),
        (3, 50, (0, 1), "modulus = \"2^20\"\nextension = \"softspoken-8\"", 0, &[2, 1, 3], &[0, 2]),
        (5, 30, (0, 1), "modulus = \"1009\"\nprotocol = \"ot\"", 0, &[1, 2, 1, 1, 2], &[4]),
    ];
    for (number, (parties, rows, range, terms, scale, counts, learners)) in cases.into_iter().enumerate() {
        let (home, names) = (Home::new(), &ALL[..parties]);
        let all: Vec<Columns> =
            counts.iter().enumerate().map(|(seed, count)| columns(seed as u64 + 7, *count, rows, range)).collect();
        let inputs: Vec<_> =
            names.iter().zip(&all).map(|(name, columns)| (*name, table(&home, name, columns, scale))).collect();
        let learning: Vec<&str> = learners.iter().map(|place| names[*place]).collect();
        let terms = format!("{terms}\n{}\nreveal_to = {learning:?}", of_columns(names, &all));
        run(&home, &job("dot", &terms, names), &inputs, "out").well();
        let (report, expected) = (json(home.at("report.json")), products(&all));
        for name in names {
            let result = &report["parties"][name]["result"];
            if !learning.contains(name) {
                assert_eq!(*result, Value::Null, "{name} of case {number}");
                continue;
            }
            // One number, or arrays in arrays, one within the other for each party.
            let mut found = vec![result["value"].clone()];
            if expected.len() > 1 {
                for count in counts {
                    assert!(found.iter().all(|list| list.as_array().unwrap().len() == *count));
                    found = found.iter().flat_map(|list| list.as_array().unwrap().clone()).collect();
                }
            }
            let unit = 10f64.powi(scale as i32 * parties as i32);
            let shown: Vec<f64> = found.iter().map(as_number).collect();
            let wanted: Vec<f64> = expected.iter().map(|value| *value as f64 / unit).collect();
            assert_eq!(shown, wanted, "{name} of case {number}");
            let table = rows_of(home.at(&format!("out/{name}.csv")));
            assert_eq!(table.len(), expected.len());
            if expected.len() > 1 {
                let last = table.last().unwrap();
                assert_eq!(last[names[0]], format!("{}{}", names[0], counts[0] - 1));
            }
        }
        let written: Vec<_> = learning.iter().map(|name| format!("{name}.csv")).collect();
        assert_eq!(files(&home.at("out")), written);
    }
}

/// Rows by ids: those that all have, whatever their order.
#[test]
fn rows_by_ids_are_those_that_all_have() {
    for ranges in [[0..60, 20..90, 10..70], [0..5, 5..9, 0..9], [0..0, 0..5, 0..5], [3..4, 3..4, 0..9]] {
        let home = Home::new();
        let value = |party: usize, id: usize| (id * (party + 3) / 2) % 2;
        let inputs: Vec<_> = NAMES
            .iter()
            .zip(&ranges)
            .enumerate()
            .map(|(party, (name, range))| {
                let mut ids: Vec<usize> = range.clone().collect();
                if party == 1 {
                    ids.reverse();
                }
                let lines: String = ids.iter().map(|id| format!("id {id},{}\n", value(party, *id))).collect();
                (*name, home.file(&format!("{name}.csv"), &format!("id,x\n{lines}")))
            })
            .collect();
        let terms = "row_id = [\"id\"]\ncolumn = \"x\"\nreveal_to = [\"b\"]";
        run(&home, &job("dot", terms, &NAMES), &inputs, "out").well();
        let common = (0..100).filter(|id| ranges.iter().all(|range| range.contains(id)));
        let expected: usize = common.map(|id| (0..3).map(|party| value(party, id)).product::<usize>()).sum();
        let report = json(home.at("report.json"));
        assert_eq!(report["parties"]["b"]["result"], json!({ "value": expected }), "{ranges:?}");
        assert!(
            report["parties"]["a"]["learned"].to_string().contains("which of its own rows have an id that b and c")
        );
    }
}

#[test]
fn the_example_counts_customers_of_all_three() {
    let (home, tables) = (Home::new(), examples().join("dot"));
    let inputs =
        ["agency", "shop", "partner"].map(|name| (name, tables.join(format!("{name}.csv")).display().to_string()));
    let ended = run(&home, &text(tables.join("three.toml")), &inputs, "out").well();
    // Of 260 cards that all have, as the tables say.
    assert_eq!(ended.stdout, "value 44\n");
    assert_eq!(files(&home.at("out")), ["agency.csv"]);
}

#[test]
fn shares_of_all_open_add_up_and_compare() {
    let (home, names) = (Home::new(), &ALL[..4]);
    let all: Vec<Columns> = (0..4).map(|seed| columns(seed + 3, if seed == 1 { 2 } else { 1 }, 60, (0, 1))).collect();
    let inputs: Vec<_> =
        names.iter().zip(&all).map(|(name, columns)| (*name, table(&home, name, columns, 0))).collect();
    let terms = format!("reveal = \"shares\"\n{}\nreveal_to = {names:?}", of_columns(names, &all));
    let expected = products(&all);
    let shared = |out: &str| -> Vec<(&str, String)> {
        run(&home, &job("dot", &terms, names), &inputs, out).well();
        assert_eq!(json(home.at("report.json"))["parties"]["a"]["result"], json!({ "shares": 2 }));
        names.iter().map(|name| (*name, home.at(&format!("{out}/{name}.json")))).collect()
    };
    let open = |operation: &str, learners: &str, inputs: &[(&str, String)]| {
        let terms = format!("operation = \"{operation}\"\nreveal_to = {learners}");
        run(&home, &job("shares", &terms, names), inputs, "opened")
    };
    let everybody = format!("{names:?}");
    let (one, two, three) = (shared("one"), shared("two"), shared("three"));
    // Nobody's file alone, or with two others', is the number.
    let residue = |(_, path): &(&str, String)| json(path)["values"][0].as_str().unwrap().parse::<u128>().unwrap();
    let sum =
        |files: &[(&str, String)]| files.iter().map(residue).fold(0u64, |sum, share| sum.wrapping_add(share as u64));
    assert_eq!(sum(&one), expected[0] as u64);
    assert!((0..3).all(|count| sum(&one[..=count]) != expected[0] as u64));
    assert_eq!(
        open("open", "[\"b\"]", &one).well().stdout,
        format!("value [[[[{}]], [[{}]]]]\n", expected[0], expected[1])
    );
    let report = json(home.at("report.json"));
    assert_eq!(report["parties"]["a"]["result"], Value::Null);
    // Once: copies are another matter.
    open("open", "[\"b\"]", &one).failed(2, &["opened before"]);
    assert_eq!(open("sum", &everybody, &two).well().stdout, format!("value {}\n", expected[0] + expected[1]));
    let threshold = expected[0].min(expected[1]) + 1;
    let answers = expected.iter().map(|value| (*value >= threshold).to_string()).collect::<Vec<_>>();
    open(&format!("at_least:{threshold}"), "[\"a\"]", &three).failed(2, &["all parties"]);
    let said = open(&format!("at_least:{threshold}"), &everybody, &three).well().stdout;
    assert_eq!(said, format!("at_least [[[[{}]], [[{}]]]]\n", answers[0], answers[1]));
    assert!(json(home.at("report.json"))["parties"]["d"]["result"]["at_least"].is_array());
}

#[test]
fn a_plan_counts_the_bytes_that_travel() {
    for (terms, kind) in [
        ("column = \"x\"\nreveal_to = [\"c\"]", "dot"),
        ("row_id = \"id\"\ncolumn = \"x\"\nreveal_to = [\"a\"]", "dot"),
    ] {
        let home = Home::new();
        let lines: String = (0..300).map(|row| format!("id {row},{}\n", row % 2)).collect();
        let inputs: Vec<_> =
            NAMES.iter().map(|name| (*name, home.file(&format!("{name}.csv"), &format!("id,x\n{lines}")))).collect();
        run(&home, &job(kind, terms, &NAMES), &inputs, "out").well();
        let report = json(home.at("report.json"));
        let rows = ["--rows", "a=300", "--rows", "b=300", "--rows", "c=300"];
        let planned = tacita(&[&["plan", &home.at("job.toml"), "--json"][..], &rows].concat()).well();
        let plan: Value = serde_json::from_str(&planned.stdout).unwrap();
        for name in NAMES {
            assert_eq!(
                plan["parties"][name]["bytes_sent"], report["parties"][name]["bytes"]["sent"],
                "{name}: {terms}"
            );
            let learned = plan["parties"][name]["learned"].to_string();
            assert_eq!(
                learned.contains("learns the sum over all rows"),
                terms.contains(&format!("[\"{name}\"]")),
                "{learned}"
            );
        }
    }
}

#[test]
fn there_is_one_line_about_what_several_cannot_do() {
    let home = Home::new();
    let inputs: Vec<_> = NAMES.iter().map(|name| (*name, home.file(&format!("{name}.csv"), "x\n1\n0\n"))).collect();
    for (terms, words) in [
        ("protocol = \"lattice\"", &["lattice", "among 3 parties", "\"ot\""][..]),
        ("protocol = \"paillier\"", &["paillier", "among 3 parties"]),
        ("extension = \"silent\"", &["silent", "softspoken-1"]),
        ("level = \"bits192\"", &["bits192"]),
        ("bits = 32\nscale = 9", &["scale = 9", "27 decimals"]),
        ("density = 0.5", &["density"]),
        ("security = \"malicious\"", &["malicious"]),
        ("modulus = \"2\"", &["modulus = 2", "too small"]),
    ] {
        let terms = format!("column = \"x\"\nreveal_to = [\"a\"]\n{terms}");
        run(&home, &job("dot", &terms, &NAMES), &inputs, "out").failed(2, words);
    }
    let terms = "column = \"x\"\nbits = 32\nreveal_to = [\"a\"]";
    let many = ["a", "b", "c", "d", "e"];
    let inputs: Vec<_> = many.iter().map(|name| (*name, home.file(&format!("{name}.csv"), "x\n1\n0\n"))).collect();
    run(&home, &job("dot", terms, &many), &inputs, "out").failed(2, &["bits = 32", "agree on fewer bits"]);
    // Another number of rows.
    let rows = |name: &str| if name == "c" { "x\n1\n" } else { "x\n1\n0\n" };
    let inputs: Vec<_> = NAMES.iter().map(|name| (*name, home.file(&format!("{name}.csv"), rows(name)))).collect();
    run(&home, &job("dot", "column = \"x\"\nreveal_to = [\"a\"]", &NAMES), &inputs, "out").failed(5, &["by position"]);
    let sixteen: Vec<String> = (0..17).map(|party| format!("p{party}")).collect();
    let names: Vec<&str> = sixteen.iter().map(String::as_str).collect();
    let inputs: Vec<_> = names.iter().map(|name| (*name, home.file(&format!("{name}.csv"), "x\n1\n0\n"))).collect();
    run(&home, &job("dot", "column = \"x\"\nreveal_to = [\"p0\"]", &names), &inputs, "out").failed(2, &["17", "16"]);
}

/// Processes of their own, in two orders of starting; and one that is killed is named by the others.
#[test]
fn processes_multiply_together() {
    let terms = "column = \"x\"\nreveal_to = [\"a\", \"b\"]";
    let group = || {
        let group = Group::new("reveal_to = [\"a\", \"b\"]");
        for name in NAMES {
            let own = text(group.home.at(&format!("{name}.toml")));
            let parties = own.split_once("[parties").unwrap().1;
            group
                .home
                .file(&format!("{name}.toml"), &format!("job = \"dot\"\nid = \"test\"\n{terms}\n[parties{parties}"));
            let lines: String = (0..50).map(|row| format!("{}\n", u32::from(row % 3 != 0 || name == "b"))).collect();
            group.home.file(&format!("{name}.csv"), &format!("x\n{lines}"));
        }
        group
    };
    for order in [[0, 1, 2], [2, 1, 0]] {
        let group = group();
        let running: Vec<Running> = order.map(|place| group.start(NAMES[place], &[])).into();
        running.into_iter().for_each(|party| drop(party.end().well()));
        for name in ["a", "b"] {
            assert_eq!(json(group.home.at(&format!("{name}.out/report.json")))["result"], json!({ "value": 33 }));
        }
        assert_eq!(json(group.home.at("c.out/report.json"))["result"], Value::Null);
    }
}
