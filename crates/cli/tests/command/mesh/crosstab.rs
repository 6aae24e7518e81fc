//! Cross tables of three parties by whole processes, against tables counted without the program.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::NAMES;
use crate::common::dot::noise;
use crate::common::{Ended, Home, files, json, rows_of, tacita};

/// Column of each party, with a value for each row.
type Columns = [(&'static str, Vec<String>); 3];

fn job(terms: &str, rest: &str) -> String {
    let learn = if terms.contains("reveal_to") { "" } else { "reveal_to = [\"a\", \"b\", \"c\"]\n" };
    format!(
        "job = \"crosstab\"\nid = \"test\"\n{learn}rows = [\"x\"]\ncolumns = [\"y\"]\n{terms}\n{rest}\n[parties.a]\n[parties.b]\n[parties.c]\n"
    )
}

fn run(home: &Home, job: &str, more: &[&str]) -> Ended {
    let (job, report, out) = (home.file("job.toml", job), home.at("report.json"), home.at("out"));
    let inputs = NAMES.map(|name| format!("{name}={}", home.at(&format!("{name}.csv"))));
    let mut arguments = vec!["simulate", &job, "--report", &report, "--force", "--output", &out];
    arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
    arguments.extend(more);
    tacita(&arguments)
}

/// Skewed categories of two, and numbers of the third. `order` says who has which.
fn columns(seed: u64, rows: usize, order: [usize; 3]) -> Columns {
    let mut random = noise(seed);
    let mut skewed = |of: u64, name: &str| -> Vec<String> {
        (0..rows).map(|_| format!("{name}{}", (random.next().unwrap() % of).min(random.next().unwrap() % of))).collect()
    };
    let all = [("x", skewed(5, "p")), ("y", skewed(4, "q ")), ("v", skewed(90, ""))];
    order.map(|at| all[at].clone())
}

/// Writes the tables, with ids in an order of each party's own, and some that not all have.
fn write(home: &Home, columns: &Columns) {
    for (party, (name, values)) in NAMES.iter().zip(columns) {
        let mut lines: Vec<String> = values.iter().enumerate().map(|(id, value)| format!("{id},{value}\n")).collect();
        lines.push(format!("only {party},{}\n", values[0]));
        lines.rotate_left(party.len() + 7 * usize::from(*party == "b"));
        home.file(&format!("{party}.csv"), &format!("id,{name}\n{}", lines.concat()));
    }
}

fn truth(columns: &Columns) -> BTreeMap<[String; 2], (u64, i64)> {
    let of = |wanted: &str| &columns.iter().find(|(name, _)| *name == wanted).unwrap().1;
    let mut cells: BTreeMap<[String; 2], (u64, i64)> = BTreeMap::new();
    for ((x, y), v) in of("x").iter().zip(of("y")).zip(of("v")) {
        let cell = cells.entry([x.clone(), y.clone()]).or_default();
        *cell = (cell.0 + 1, cell.1 + v.parse::<i64>().unwrap());
    }
    cells
}

/// Open cells are right, small ones closed; the party with the measure gets no sum.
#[test]
fn cells_are_those_of_the_joined_tables() {
    for (seed, order) in [[0, 1, 2], [2, 0, 1], [1, 2, 0]].into_iter().enumerate() {
        let home = Home::new();
        let columns = columns(seed as u64, 300, order);
        write(&home, &columns);
        let truth = truth(&columns);
        run(&home, &job("measure = \"mean:v\"\nrow_id = \"id\"", ""), &["--html", &home.at("page.html")]).well();
        let report = json(home.at("report.json"));
        for (party, (column, _)) in NAMES.iter().zip(&columns) {
            let cells = rows_of(home.at(&format!("out/{party}.csv")));
            let (mut open, mut closed) = (0, 0);
            for row in &cells {
                let (count, sum) = truth.get(&[row["x"].clone(), row["y"].clone()]).copied().unwrap_or_default();
                if row["count"].is_empty() {
                    closed += 1;
                    continue;
                }
                assert_eq!(row["count"], count.to_string());
                assert!(count >= 5, "{count} is open");
                open += 1;
                assert_eq!(row.get("sum").cloned(), (*column != "v").then(|| sum.to_string()), "{party}: {row:?}");
                if let Some(mean) = row.get("mean") {
                    assert!((mean.parse::<f64>().unwrap() - sum as f64 / count as f64).abs() < 1e-9);
                }
            }
            // Which cells close besides the small ones is random.
            assert!(open > 0, "{open} and {closed}");
            assert_eq!(report["parties"][party]["result"]["cells"], open);
            assert_eq!(report["parties"][party]["rows"]["common"], 300);
            let learned = report["parties"][party]["learned"].to_string();
            assert!(learned.contains("pool what they see") && learned.contains("which of its own rows have an id"));
        }
    }
}

/// Checks every count and sum where all cells are open, and the bytes that a plan says, names aside.
#[test]
fn a_table_without_closed_cells_takes_what_is_planned() {
    let home = Home::new();
    let values =
        |name: &str, of: usize, step: usize| (0..500).map(|row| format!("{name}{}", row / step % of)).collect();
    let columns: Columns = [("x", values("p", 10, 1)), ("y", values("q", 10, 10)), ("v", values("-", 7, 3))];
    for (party, (name, values)) in NAMES.iter().zip(&columns) {
        home.file(&format!("{party}.csv"), &format!("{name}\n{}\n", values.join("\n")));
    }
    let job = job("measure = \"sum:v\"\nreveal_to = [\"b\", \"c\"]", "[limits]\nmin_cell = 0");
    assert_eq!(run(&home, &job, &[]).well().stdout, "cells 100, closed 0\n");
    assert_eq!(files(&home.at("out")), ["b.csv", "c.csv"]);
    let truth = truth(&columns);
    for row in rows_of(home.at("out/b.csv")) {
        let (count, sum) = truth[&[row["x"].clone(), row["y"].clone()]];
        assert_eq!((&row["count"], &row["sum"]), (&count.to_string(), &sum.to_string()));
    }
    let report = json(home.at("report.json"));
    assert_eq!(report["parties"]["a"]["result"], Value::Null);
    assert_eq!(report["parties"]["c"]["categories"], json!({ "a": 10, "b": 10 }));
    let rows = ["--rows", "a=500", "--rows", "b=500", "--rows", "c=500"];
    let planned = tacita(&[&["plan", &home.at("job.toml"), "--json"][..], &rows].concat()).well();
    let plan: Value = serde_json::from_str(&planned.stdout).unwrap();
    for (name, [names, none]) in NAMES.iter().zip([[2, 0], [1, 1], [0, 2]]) {
        let sent = report["parties"][name]["bytes"]["sent"].as_u64().unwrap();
        let planned = plan["parties"][name]["bytes_sent"].as_u64().unwrap();
        // Ten names of 6 bytes, and their lengths, to each other that learns; to others that have some, two empty
        // messages.
        assert_eq!(sent, planned + names * (10 * 6 + 10 + 20 + 10) + none * 20, "{name}");
    }
}

#[test]
fn there_is_one_line_about_what_three_cannot_do() {
    let home = Home::new();
    let columns = columns(3, 60, [0, 1, 2]);
    write(&home, &columns);
    let sum = "measure = \"sum:v\"\nrow_id = \"id\"";
    for (terms, rest, code, words) in [
        ("measure = \"count\"", "", 2, &["measure: among three parties", "sum:COLUMN"][..]),
        (&format!("{sum}\nalignment = \"hidden\""), "", 2, &["hidden", "among 3 parties"]),
        (&format!("{sum}\nprotocol = \"lattice\""), "", 2, &["lattice", "among 3 parties"]),
        (&format!("{sum}\nsecurity = \"malicious\""), "", 2, &["malicious"]),
        ("measure = \"sum:w\"\nrow_id = \"id\"", "", 2, &["none of the columns"]),
    ] {
        run(&home, &job(terms, rest), &[]).failed(code, words);
    }
    let three = job(sum, "").replace("columns = [\"y\"]", "columns = [\"y\", \"z\"]");
    home.file("c.csv", "id,v,z\n1,2,r\n2,3,s\n");
    run(&home, &three, &[]).failed(5, &["all of a, b, c have some", "a measure of the third"]);
    home.file("c.csv", "id,v,y\n1,2,r\n2,3,s\n");
    run(&home, &job(sum, ""), &[]).failed(5, &["several parties have a column \"y\""]);
    let four = job(sum, "") + "[parties.d]\n";
    run(&home, &four, &[]).failed(2, &["3"]);
}
