//! `tacita simulate` against results that were computed without the program.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::world::{made, over, rows};
use crate::common::{Ended, Home, Running, data, files, json, text};

/// More than small examples take, on a machine with much else to do.
pub const LONG: Duration = Duration::from_secs(600);

fn simulate(home: &Home, job: &str, inputs: &[(String, String)], more: &[&str]) -> Ended {
    let (out, report) = (home.at("out"), home.at("report.json"));
    let inputs: Vec<String> = inputs.iter().map(|(name, file)| format!("{name}={file}")).collect();
    let mut arguments = vec!["simulate", job, "--force", "--output", &out, "--report", &report];
    arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
    arguments.extend(more);
    Running::start(&arguments).end_within(LONG)
}

fn counted(path: &str) -> BTreeMap<String, u64> {
    rows(path).into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect()
}

#[test]
fn keys_that_enough_participants_report_come_out_with_their_counts() {
    let home = Home::new();
    let (items, counts) = made(5, 60);
    let inputs: Vec<(String, String)> = items
        .iter()
        .enumerate()
        .map(|(place, items)| {
            let name = format!("p{place}");
            let file = home.file(&format!("{name}.csv"), &format!("item\n{}\n", items.join("\n")));
            (name, file)
        })
        .collect();
    for (least, two) in [(2, ""), (3, "[[proxy]]\n[[proxy]]\n")] {
        let job = format!(
            "job = \"aggregate\"\nid = \"made\"\nreveal_to = \"participants\"\n[key]\ncolumns = [\"item\"]\n[round]\n\
             reveal_when = \"distinct >= {least}\"\nmin_participants = 2\n{two}"
        );
        let job = home.file("job.toml", &job);
        let ended = simulate(&home, &job, &inputs, &[]).well();
        let expected = over(&counts, least);
        assert_eq!(ended.stdout, format!("keys {}\n", expected.len()));
        for (name, _) in &inputs {
            assert_eq!(counted(&home.at(&format!("out/{name}.csv"))), expected, "{name}");
        }
        let report = json(home.at("report.json"));
        for (name, _) in &inputs {
            let party = &report["parties"][name];
            assert_eq!(party["result"]["keys"], expected.len());
            assert!(party["learned"].as_array().is_some_and(|learned| !learned.is_empty()), "{party}");
        }
        let roles: Vec<&str> = report["roles"].as_object().unwrap().keys().map(String::as_str).collect();
        let proxies = if two.is_empty() { &["proxy-1"][..] } else { &["proxy-1", "proxy-2"] };
        assert_eq!(roles, [proxies, &["oracle-1", "database-1"]].concat());
        for role in report["roles"].as_object().unwrap().values() {
            let sent = role["bytes"]["sent"].as_u64().unwrap();
            assert!(sent > 0 && role["cpu_seconds"].as_f64().unwrap() > 0.0, "{role}");
            assert!(role["learned"].as_array().is_some_and(|learned| !learned.is_empty()), "{role}");
        }
    }
}

/// Values and sums, a reader who reports nothing, and the histogram.
#[test]
fn values_are_revealed_to_those_who_are_named() {
    let home = Home::new();
    let inputs: Vec<(String, String)> = [("a", "x,1\ny,3\nx,2\n"), ("b", "x,3\nz,1\n"), ("c", "y,1\nx,1\n")]
        .into_iter()
        .map(|(name, text)| (name.to_owned(), home.file(&format!("{name}.csv"), &format!("item,value\n{text}"))))
        .collect();
    let job = home.file(
        "job.toml",
        "job = \"aggregate\"\nid = \"values\"\nreveal = \"keys+values+histogram\"\nreveal_to = [\"reader\"]\n[key]\ncolumns = [\"item\"]\n\
         duplicates = \"all\"\n[round]\nreveal_when = \"distinct >= 2 and sum(value) >= 4\"\nvalues = [1, 2, 3]\n[parties.reader]\n",
    );
    simulate(&home, &job, &inputs, &[]).well();
    assert_eq!(text(home.at("out/reader.csv")), "item,count,values,sum\nx,4,1|1|2|3,7\ny,2,1|3,4\n");
    assert_eq!(files(&home.at("out")), ["reader.csv", "reader.histogram.csv"]);
    let histogram = rows(&home.at("out/reader.histogram.csv"));
    let row = |measure: &str, size: &str, rows: &str| vec![measure.to_owned(), size.to_owned(), rows.to_owned()];
    assert_eq!(
        histogram,
        [
            row("count", "1", "1"),
            row("count", "2", "1"),
            row("count", "4", "1"),
            row("distinct", "1", "1"),
            row("distinct", "2", "1"),
            row("distinct", "3", "1"),
        ]
    );
}

/// One participant's reports alone are never shuffled, and everybody is told.
#[test]
fn a_round_that_cannot_be_shuffled_fails_with_the_reason() {
    let home = Home::new();
    let inputs: Vec<(String, String)> = [("a", "x\ny\nz\n"), ("b", "x\n")]
        .into_iter()
        .map(|(name, text)| (name.to_owned(), home.file(&format!("{name}.csv"), &format!("item\n{text}"))))
        .collect();
    let job = home.file(
        "job.toml",
        "job = \"aggregate\"\nid = \"share\"\nreveal_to = \"participants\"\n[key]\ncolumns = [\"item\"]\n[round]\n\
         reveal_when = \"distinct >= 2\"\nmax_share = 0.5\n",
    );
    let ended = simulate(&home, &job, &inputs, &[]);
    ended.failed(2, &["could not shuffle", "3 of 4 reports are of one participant"]);
    assert!(files(&home.at("out")).is_empty());
}

fn lists(directory: &Path, ending: &str) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = std::fs::read_dir(directory)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|found| found == ending))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().replace('.', "_");
            (name, path.to_str().unwrap().to_owned())
        })
        .collect();
    all.sort();
    all
}

/// The truth of the block lists, which is gzipped CSV: address, count, participants.
fn truth(path: &Path) -> BTreeMap<String, u64> {
    let file = flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap());
    let mut reader = csv::Reader::from_reader(file);
    reader.records().map(|row| row.unwrap()).map(|row| (row[0].to_owned(), row[1].parse().unwrap())).collect()
}

fn attackers(least: u64, most_addresses: Option<usize>) {
    let Some(directory) = data("over_threshold_ips") else { return };
    let home = Home::new();
    let mut inputs = lists(&directory.join("lists"), "txt");
    let mut expected = truth(&directory.join(format!("truth/over_threshold_t{least}.csv.gz")));
    if let Some(most) = most_addresses {
        // The addresses of a part of the address space, of which all lists have theirs.
        let mut counts = BTreeMap::<String, u64>::new();
        for (name, file) in &mut inputs {
            let lines = text(&*file);
            let own: Vec<&str> = lines.lines().filter(|line| blake(line) < most).collect();
            own.iter().for_each(|line| *counts.entry((*line).to_owned()).or_default() += 1);
            *file = home.file(&format!("{name}.txt"), &(own.join("\n") + "\n"));
        }
        inputs.retain(|(_, file)| text(file).lines().any(|line| !line.is_empty()));
        expected = over(&counts, least);
        assert!(!expected.is_empty());
    }
    let job = format!(
        "job = \"aggregate\"\nid = \"attackers\"\nreveal = \"keys\"\nreveal_to = [\"reader\"]\n[key]\ncolumns = [\"address\"]\nnormalize = [\"ip\"]\n\
         [round]\nreveal_when = \"distinct >= {least}\"\nkey_bytes = 16\nmin_participants = 5\n[parties.reader]\n"
    );
    let job = home.file("job.toml", &job);
    simulate(&home, &job, &inputs, &[]).well();
    assert_eq!(counted(&home.at("out/reader.csv")), expected);
}

/// A number from 0 to 255 that depends on the text alone.
fn blake(line: &str) -> usize {
    line.bytes().fold(7usize, |sum, byte| (sum * 31 + usize::from(byte)) % 65_521) % 256
}

#[test]
fn a_part_of_the_block_lists_gives_the_truth() {
    attackers(3, Some(1));
}

#[test]
#[ignore = "257,466 reports three times: minutes"]
fn the_block_lists_give_the_truth() {
    for least in [2, 3, 5] {
        attackers(least, None);
    }
}

#[test]
#[ignore = "1,310 certificates of nine stores: half a minute"]
fn certificates_that_most_stores_hold_are_those_of_the_truth() {
    let Some(directory) = data("certificates") else { return };
    let home = Home::new();
    let inputs = lists(&directory.join("views"), "csv");
    let job = home.file(
        "job.toml",
        "job = \"aggregate\"\nid = \"stores\"\nreveal = \"keys\"\nreveal_to = [\"reader\"]\n[key]\ncolumns = [\"sha256\"]\n[round]\n\
         reveal_when = \"distinct >= 5\"\nkey_bytes = 64\n[parties.reader]\n",
    );
    simulate(&home, &job, &inputs, &[]).well();
    let truth = rows(directory.join("truth/fingerprint_counts.csv").to_str().unwrap());
    let truth: BTreeMap<String, u64> = truth.into_iter().map(|row| (row[0].clone(), row[1].parse().unwrap())).collect();
    assert_eq!(counted(&home.at("out/reader.csv")), over(&truth, 5));
}

#[test]
#[ignore = "visits of twelve networks: minutes"]
fn visits_add_up_to_those_of_the_truth() {
    let Some(directory) = data("web_popularity") else { return };
    let home = Home::new();
    let inputs = lists(&directory.join("visits"), "csv");
    let mut expected = BTreeMap::<String, (u64, u64)>::new();
    let mut most = 1;
    for (_, file) in &inputs {
        for row in rows(file) {
            let visits: u64 = row[1].parse().unwrap();
            most = most.max(visits);
            let sum = expected.entry(row[0].clone()).or_default();
            *sum = (sum.0 + 1, sum.1 + visits);
        }
    }
    expected.retain(|_, (count, sum)| *count >= 3 && *sum >= 20);
    let job = format!(
        "job = \"aggregate\"\nid = \"visits\"\nreveal_to = [\"reader\"]\n[key]\ncolumns = [\"domain\"]\n[round]\n\
         reveal_when = \"distinct >= 3 and sum(value) >= 20\"\nvalue = \"visits\"\nvalues = {{ min = 1, max = {most} }}\nkey_bytes = 64\n\
         [parties.reader]\n"
    );
    let job = home.file("job.toml", &job);
    simulate(&home, &job, &inputs, &[]).well();
    let found: BTreeMap<String, (u64, u64)> = rows(&home.at("out/reader.csv"))
        .into_iter()
        .map(|row| (row[0].clone(), (row[1].parse().unwrap(), row[3].parse().unwrap())))
        .collect();
    assert_eq!(found, expected);
}

/// Every report stands where it was promised.
#[test]
fn a_simulation_reports_what_everybody_did() {
    let home = Home::new();
    let inputs: Vec<(String, String)> =
        ["a", "b"].map(|name| (name.to_owned(), home.file(&format!("{name}.txt"), "10.0.0.1\n10.0.0.2\n"))).to_vec();
    let job = home.file(
        "job.toml",
        "job = \"aggregate\"\nid = \"addresses\"\nreveal_to = \"participants\"\n[key]\ncolumns = [\"address\"]\nnormalize = [\"ip\"]\n[round]\n\
         reveal_when = \"distinct >= 2\"\n",
    );
    simulate(&home, &job, &inputs, &[]).well();
    let report = json(home.at("report.json"));
    assert_eq!((&report["job"], &report["id"]), (&Value::from("aggregate"), &Value::from("addresses")));
    let submitted = &report["parties"]["a"];
    assert_eq!(submitted["submitted"]["reports"], 2);
    assert_eq!(submitted["rows"]["items"], 2);
    assert_eq!(report["roles"]["proxy-1"]["numbers"]["accepted_reports"], 4);
    assert_eq!(report["roles"]["proxy-1"]["numbers"]["sent_entries"], 4);
    assert_eq!(report["roles"]["oracle-1"]["numbers"]["told_keys"], 2);
}
