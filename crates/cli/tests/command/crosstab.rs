//! Cross tables by whole processes, against tables counted without the program.

mod noise;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::common::dot::noise;
use crate::common::{Ended, Home, NAMES, Pair, Running, data, json, rows_of, tacita, text};

/// Number of rows and sum of a measure, by the categories of the cell.
type Cells = BTreeMap<[String; 2], (u64, i64)>;

fn job(rest: &str) -> String {
    format!(
        "job = \"crosstab\"\nid = \"test\"\nreveal_to = [\"a\", \"b\"]\nrows = [\"x\"]\ncolumns = [\"y\"]\n{rest}\n[parties.a]\n[parties.b]\n"
    )
}

fn attempt(home: &Home, job: &str, inputs: [&str; 2], more: &[&str]) -> Ended {
    let (job, report, out) = (home.file("job.toml", job), home.at("report.json"), home.at("out"));
    let inputs = [format!("a={}", inputs[0]), format!("b={}", inputs[1])];
    let fixed = [
        "simulate", &job, "--force", "--output", &out, "--report", &report, "--input", &inputs[0], "--input",
        &inputs[1],
    ];
    tacita(&[&fixed, more].concat())
}

/// Cells of a result file, closed ones without a count.
fn cells(path: &str) -> Vec<([String; 2], BTreeMap<String, String>)> {
    let rows = rows_of(path);
    rows.into_iter().map(|row| ([row["x"].clone(), row["y"].clone()], row)).collect()
}

/// Checks a party's cells: open ones are right, small ones closed, and as many closed as the report says. Returns the
/// open ones.
#[track_caller]
fn check(path: &str, truth: &Cells, least: u64, result: &Value) -> Vec<[String; 2]> {
    let categories =
        |side: usize| truth.keys().map(|cell| cell[side].clone()).collect::<std::collections::BTreeSet<_>>();
    let all = categories(0).len() * categories(1).len();
    let mut open = Vec::new();
    for (cell, row) in cells(path) {
        let (count, sum) = truth.get(&cell).copied().unwrap_or_default();
        match row["count"].as_str() {
            "" => assert!(row.get("sum").is_none_or(String::is_empty), "{cell:?}"),
            text => {
                assert_eq!(text.parse::<u64>().unwrap(), count, "{cell:?}");
                assert!(count >= least, "{cell:?} is open with {count}");
                if let Some(text) = row.get("sum") {
                    assert_eq!(text.parse::<i64>().unwrap(), sum, "{cell:?}");
                }
                open.push(cell);
            }
        }
    }
    assert_eq!(*result, json!({ "cells": open.len(), "closed": all - open.len() }));
    open
}

/// Two columns of as many rows, with skewed categories, and some values absent.
fn columns(seed: u64, rows: usize) -> [Vec<String>; 2] {
    let mut random = noise(seed);
    let mut column = |of: u64, name: &str| -> Vec<String> {
        let mut value = || match (random.next().unwrap() % of).min(random.next().unwrap() % of) {
            0 if seed.is_multiple_of(3) => String::new(),
            number => format!("{name}{number}"),
        };
        (0..rows).map(|_| value()).collect()
    };
    [column(2 + seed % 5, "p"), column(2 + seed % 7, "q ")]
}

fn truth<'a>(rows: impl Iterator<Item = (&'a String, &'a String, i64)>) -> Cells {
    let mut cells = Cells::new();
    for (x, y, value) in rows {
        let cell = cells.entry([x.clone(), y.clone()]).or_default();
        *cell = (cell.0 + 1, cell.1 + value);
    }
    cells
}

fn csv(header: &str, rows: impl Iterator<Item = String>) -> String {
    format!("{header}\n{}", rows.map(|row| format!("{row}\n")).collect::<String>())
}

#[test]
fn random_tables_by_position() {
    for (seed, rows, least) in [(1, 1, 5), (2, 60, 5), (3, 300, 5), (4, 300, 1), (5, 120, 0), (6, 400, 3)] {
        let home = Home::new();
        let [x, y] = columns(seed, rows);
        let (a, b) = (
            home.file("a.csv", &csv("x,n", x.iter().map(|x| format!("\"{x}\",1")))),
            home.file("b.csv", &csv("m,y", y.iter().map(|y| format!("2,\"{y}\"")))),
        );
        let ended = attempt(&home, &job(&format!("[limits]\nmin_cell = {least}")), [&a, &b], &[]).well();
        let report = json(home.at("report.json"));
        let truth = truth(x.iter().zip(&y).map(|(x, y)| (x, y, 0)));
        for name in ["a", "b"] {
            let open = check(&home.at(&format!("out/{name}.csv")), &truth, least, &report["parties"][name]["result"]);
            if least == 0 {
                assert_eq!(report["parties"][name]["result"]["closed"], 0);
            }
            assert_eq!(
                ended.stdout.lines().next().unwrap(),
                format!("cells {}, closed {}", open.len(), report["parties"][name]["result"]["closed"])
            );
        }
    }
}

/// Rows that both have, in tables in different orders, shown and hidden.
#[test]
fn rows_by_ids() {
    for (way, common) in [("rows", 900), ("hidden", 900), ("hidden", 0), ("rows", 0)] {
        let home = Home::new();
        let [x, y] = columns(4, 2000);
        // The first has the rows up to this, the second the others and the common ones, backwards.
        let first = 1400;
        let start = first - common;
        let line = |row: usize, value: &String| format!("id{},{value}", row * 7919 % 10_007);
        let a = home.file("a.csv", &csv("id,x", (0..first).map(|row| line(row, &x[row]))));
        let b = home.file("b.csv", &csv("id,y", (start..2000).rev().map(|row| line(row, &y[row]))));
        let job = job(&format!("row_id = [\"id\"]\nalignment = \"{way}\"\n[limits]\nmin_cell = 4"));
        attempt(&home, &job, [&a, &b], &[]).well();
        let report = json(home.at("report.json"));
        let truth = truth((start..first).map(|row| (&x[row], &y[row], 0)));
        for name in ["a", "b"] {
            let of_party = &report["parties"][name];
            assert_eq!(of_party["rows"]["common"], common, "{way}");
            let open =
                cells(&home.at(&format!("out/{name}.csv"))).into_iter().filter(|(_, row)| !row["count"].is_empty());
            let mut found = 0;
            for (cell, row) in open {
                assert_eq!(row["count"].parse::<u64>().unwrap(), truth[&cell].0, "{way} {cell:?}");
                assert!(truth[&cell].0 >= 4);
                found += 1;
            }
            assert_eq!(of_party["result"]["cells"], found);
            assert!(common == 0 || found > 0, "{way}");
        }
    }
}

/// Every cell of hidden rows is exact where all are open, whatever sizes tables have and how many rows are common.
#[test]
fn hidden_rows_of_every_size() {
    hidden_rows_are_exact(4);
}

#[test]
#[ignore = "slow: more sizes"]
fn hidden_rows_of_more_sizes() {
    hidden_rows_are_exact(usize::MAX);
}

/// Makes tables of the first `number` sizes.
fn hidden_rows_are_exact(number: usize) {
    let sizes = [(0..0, 0..3), (0..5, 5..9), (0..7, 6..20), (3..4, 0..1000), (0..1, 0..1), (0..1, 1..2), (0..9, 0..9)];
    for (a, b) in sizes.into_iter().take(number) {
        let home = Home::new();
        let [x, y] = columns(4, 1000);
        let table = |name: &str, rows: &std::ops::Range<usize>, column: &[String]| {
            home.file(
                &format!("{name}.csv"),
                &csv(&format!("id,{name}"), rows.clone().rev().map(|row| format!("k{row},{}", column[row]))),
            )
        };
        let inputs = [table("x", &a, &x), table("y", &b, &y)];
        let job = job("row_id = [\"id\"]\n[limits]\nmin_cell = 0");
        attempt(&home, &job, [&inputs[0], &inputs[1]], &[]).well();
        let common = a.start.max(b.start)..a.end.min(b.end).max(a.start.max(b.start));
        let truth = truth(common.clone().map(|row| (&x[row], &y[row], 0)));
        for name in ["a", "b"] {
            let found = cells(&home.at(&format!("out/{name}.csv")));
            for (cell, row) in &found {
                let count = truth.get(cell).map_or(0, |cell| cell.0);
                assert_eq!(row["count"], count.to_string(), "{a:?} {b:?} {cell:?}");
            }
            let named: std::collections::BTreeSet<_> = found.iter().map(|(cell, _)| cell).collect();
            assert!(named.len() == found.len() && truth.keys().all(|cell| named.contains(cell)), "{a:?} {b:?}");
            assert_eq!(json(home.at("report.json"))["parties"][name]["rows"]["common"], common.len());
        }
    }
}

/// Sums and means go to the party that does not have the measure.
#[test]
fn sums_and_means() {
    let home = Home::new();
    let [x, y] = columns(2, 600);
    let values: Vec<i64> = noise(9).map(|number| number as i64 % 1000).take(600).collect();
    let a = home.file("a.csv", &csv("x", x.iter().cloned()));
    let b = home.file("b.csv", &csv("y,cost", y.iter().zip(&values).map(|(y, value)| format!("{y},{value}"))));
    attempt(&home, &job("measure = \"mean:cost\""), [&a, &b], &[]).well();
    let report = json(home.at("report.json"));
    let truth = truth(x.iter().zip(&y).zip(&values).map(|((x, y), &value)| (x, y, value)));
    let open = check(&home.at("out/a.csv"), &truth, 5, &report["parties"]["a"]["result"]);
    check(&home.at("out/b.csv"), &truth, 5, &report["parties"]["b"]["result"]);
    assert!(!open.is_empty());
    for (cell, row) in cells(&home.at("out/a.csv")).into_iter().filter(|(cell, _)| open.contains(cell)) {
        let (count, sum) = truth[&cell];
        assert!((row["mean"].parse::<f64>().unwrap() - sum as f64 / count as f64).abs() < 1e-9);
    }
    // The party with the costs learns counts alone.
    assert!(text(home.at("out/b.csv")).starts_with("x,y,count\n"));
    // With decimals.
    let b = home.file(
        "b.csv",
        &csv("y,cost", y.iter().zip(&values).map(|(y, value)| format!("{y},{:.2}", *value as f64 / 4.0))),
    );
    attempt(&home, &job("measure = \"sum:cost\"\nscale = 2"), [&a, &b], &[]).well();
    for (cell, row) in cells(&home.at("out/a.csv")).into_iter().filter(|(_, row)| !row["count"].is_empty()) {
        assert_eq!(row["sum"].parse::<f64>().unwrap(), truth[&cell].1 as f64 / 4.0, "{cell:?}");
    }
}

/// Columns of both parties on both sides, bins, agreed categories, formats, and the page.
#[test]
fn bins_categories_and_pages() {
    let home = Home::new();
    let [x, y] = columns(1, 500);
    let ages: Vec<u64> = noise(3).map(|number| number % 90).take(500).collect();
    let a = home.file("a.csv", &csv("age,x", ages.iter().zip(&x).map(|(age, x)| format!("{age},{x}"))));
    let b = home.file("b.csv", &csv("y", y.iter().cloned()));
    let job = "job = \"crosstab\"\nid = \"test\"\nreveal_to = [\"b\"]\nrows = [\"age\"]\ncolumns = [\"y\"]\nbins = { age = [18, 65] }\n\
               categories = { y = [\"q 1\", \"q 2\", \"q 0\", \"none\"] }\n[parties.a]\n[parties.b]\n";
    let page = home.at("page.html");
    attempt(&home, job, [&a, &b], &["--format", "json"]).well();
    let found: Vec<Value> = serde_json::from_str(&text(home.at("out/b.json"))).unwrap();
    let bin = |age: u64| {
        if age < 18 {
            "<18"
        } else if age < 65 {
            "[18,65)"
        } else {
            ">=65"
        }
    };
    let order: Vec<_> = found.iter().map(|row| row["age"].as_str().unwrap().to_owned()).collect();
    assert_eq!(order, ["<18", "[18,65)", ">=65"].iter().flat_map(|bin| [*bin; 4]).collect::<Vec<_>>());
    for row in &found {
        let count = ages.iter().zip(&y).filter(|(age, y)| row["age"] == bin(**age) && row["y"] == ***y).count();
        match row["count"].as_u64() {
            None => assert!(row["count"].is_null()),
            Some(open) => assert!(open == count as u64 && count >= 5),
        }
        assert!(row["y"] != "none" || row["count"].is_null());
    }
    assert!(found.iter().any(|row| row["count"].is_u64()));
    assert!(!std::path::Path::new(&home.at("out/a.json")).exists());

    // A page of a table without closed cells, of one party that learns.
    let job = job_of_two(0);
    let (a, b) = (home.file("a.csv", "x\n<b>\n<b>\nd\nd\nd\n"), home.file("b.csv", "y\n1\n2\n1\n1\n2\n"));
    attempt(&home, &job, [&a, &b], &["--html", &page]).well();
    let html = text(&page);
    for words in [
        "&lt;b&gt;",
        "Odds ratio 0.5000.",
        "Chi-square 0.1389; degrees of freedom: 1; p-value 0.7094; it is rough",
        "<td class=\"total\">5</td>",
    ] {
        assert!(html.contains(words), "{words}: {html}");
    }
    assert!(!html.contains("<b>") && !html.contains("<script"));
    attempt(&home, &job_of_two(5), [&a, &b], &["--html", &page]).well();
    assert!(text(&page).contains("0 open, 4 closed") && !text(&page).contains("Odds ratio 0"));
}

fn job_of_two(least: u64) -> String {
    job(&format!("[limits]\nmin_cell = {least}"))
}

#[test]
fn refusals_are_one_clear_line() {
    let home = Home::new();
    let (a, b) = (home.file("a.csv", "x\np\nq\n"), home.file("b.csv", "y\n1\n2\n"));
    for (terms, words) in [
        ("security = \"malicious\"", "security = \"malicious\" is not available"),
        ("measure = \"median:c\"", "measure = \"median:c\" is unknown"),
        ("measure = \"sum:x\"", "is in row_id or measure too"),
        ("bits = 8", "are of a measure"),
        ("bins = { z = [1] }", "bins.z: it is not in rows or columns"),
        ("bins = { x = [2, 1] }", "bins.x: use ascending bounds"),
        ("categories = { x = [] }", "categories.x: list 1 to 1000 categories"),
        ("reveal = \"rows\"", "reveal = \"rows\" is not for job = \"crosstab\": use one of \"cells\""),
        ("protocol = \"vole\"", "protocol = \"vole\" is not for job = \"crosstab\""),
        ("[limits]\nmin_result = 5", "limits.min_result is for job ="),
        ("categories = { x = [\"p\"] }", "a.csv, line 3, column \"x\": the value is none of the agreed categories"),
        ("measure = \"sum:z\"", "neither party has a column \"z\""),
    ] {
        let code = if terms.contains("sum:z") { 5 } else { 2 };
        attempt(&home, &job(terms), [&a, &b], &[]).failed(code, &[words]);
    }
    // Of two columns of one name, the owner maps its own.
    let both = home.file("both.csv", "x,y\np,1\nq,2\n");
    attempt(&home, &job(""), [&a, &both], &[]).failed(5, &["both parties have a column \"x\""]);
    let mapped = job("").replace("[parties.a]", "[parties.a]\ncolumns = { x = \"x\" }");
    attempt(&home, &mapped, [&a, &both], &[]).well();
    // A party that has no column of the job.
    let none = home.file("none.csv", "w\n1\n2\n");
    attempt(&home, &job(""), [&none, &both], &[]).failed(2, &["the table has none of the columns \"x\", \"y\""]);
    // Rows that are not equally many.
    let short = home.file("short.csv", "y\n1\n");
    attempt(&home, &job(""), [&a, &short], &[]).failed(5, &["rows are aligned by position"]);
    // min_cell belongs to no other job.
    let other = "job = \"dot\"\nid = \"t\"\nreveal_to = [\"a\"]\n[limits]\nmin_cell = 5\n[parties.a]\n[parties.b]\n";
    attempt(&home, other, [&a, &b], &[]).failed(2, &["limits.min_cell is for job = \"crosstab\""]);
}

/// Two parties without a job file. A second run closes the same cells: others, and those of the first would tell those
/// in both.
#[test]
fn two_parties_again_and_again() {
    let pair = Pair::new("job = \"dot\"\nid = \"t\"\nreveal_to = [\"hospital\"]\n");
    // One small cell, and with it one in each line that it is in, and a fourth, in places that no run has alone.
    let rows = (0..16).flat_map(|cell| std::iter::repeat_n((cell / 4, cell % 4), if cell == 0 { 3 } else { 30 }));
    let (x, y): (Vec<_>, Vec<_>) = rows.map(|(x, y)| (format!("p{x}"), format!("q {y}"))).unzip();
    let tables = [
        pair.home.file("a.csv", &csv("group", x.iter().cloned())),
        pair.home.file("b.csv", &csv("y", y.iter().cloned())),
    ];
    let truth = truth(x.iter().zip(&y).map(|(x, y)| (x, y, 0)));
    let mut runs = Vec::new();
    for id in ["first", "second", "third"] {
        let start = |me: usize, how: &str, rows: &str| {
            let (name, peer) = (NAMES[me], NAMES[1 - me]);
            let (identity, output) = (pair.home.at(name), pair.out(name, "cells.csv"));
            Running::start(&[
                "crosstab",
                how,
                &pair.address,
                "--peer",
                pair.fingerprint(peer),
                "--identity",
                &identity,
                "--input",
                &tables[me],
                "--rows",
                rows,
                "--columns",
                "y",
                "--min-cell",
                "20",
                "--id",
                id,
                "--receiver",
                "both",
                "--force",
                "--output",
                &output,
            ])
        };
        let running = [start(0, "--listen", "x=group"), start(1, "--connect", "x")];
        let stdout = running.map(|party| party.end().well().stdout);
        assert_eq!(stdout[0], stdout[1]);
        let open: Vec<_> = cells(&pair.out("hospital", "cells.csv"))
            .into_iter()
            .filter(|(_, row)| !row["count"].is_empty())
            .map(|(cell, row)| {
                assert!(row["count"] == truth[&cell].0.to_string() && truth[&cell].0 >= 20);
                cell
            })
            .collect();
        assert_eq!(open.len(), 12);
        runs.push(open);
    }
    assert!(runs[0] == runs[1] && runs[1] == runs[2]);
}

/// Open cells of the joined tables of two institutions are exact.
#[test]
fn synthetic_patients() {
    let Some(synthea) = data("medical/synthea") else { return };
    let home = Home::new();
    let inputs = ["hospital", "insurer"].map(|name| synthea.join(format!("{name}.csv")).display().to_string());
    let key = "[key]\ncolumns = [\"name\", \"dob\"]\nnormalize = [\"name\", \"date\"]\n";
    let parties = "[parties.a]\n[parties.b]\nnormalize = [\"name\", \"date\"]\n";
    let joined = format!(
        "job = \"intersect\"\nid = \"t\"\nreveal = \"payload\"\nreveal_to = [\"a\"]\ngives = {{ b = [\"payer\"] }}\n{key}{parties}"
    );
    attempt(&home, &joined, [&inputs[0], &inputs[1]], &[]).well();
    let mut truth: BTreeMap<[String; 2], u64> = BTreeMap::new();
    for row in rows_of(home.at("out/a.csv")) {
        *truth.entry([row["gender"].clone(), row["b.payer"].clone()]).or_default() += 1;
    }
    for way in ["rows", "hidden"] {
        let job = format!(
            "job = \"crosstab\"\nid = \"t\"\nreveal_to = [\"a\"]\nrows = [\"gender\"]\ncolumns = [\"payer\"]\nrow_id = [\"name\", \"dob\"]\n\
             alignment = \"{way}\"\n{key}{parties}"
        );
        attempt(&home, &job, [&inputs[0], &inputs[1]], &[]).well();
        let rows = rows_of(home.at("out/a.csv"));
        let open: Vec<_> = rows.iter().filter(|row| !row["count"].is_empty()).collect();
        assert!(!open.is_empty(), "{way}");
        for row in open {
            let count = truth.get(&[row["gender"].clone(), row["payer"].clone()]).copied().unwrap_or(0);
            assert!(row["count"] == count.to_string() && count >= 5, "{way}");
        }
    }
}
