//! Intersections through a helper, by whole processes: results, the party in the helper's place, who is named when
//! somebody fails, and a helper that is ended and started again.

mod published;
mod results;
mod runs;

use std::collections::BTreeSet;

use crate::common::{Ended, Home, rows_of, tacita, text};

const NAMES: [&str; 3] = ["a", "b", "c"];

const ROWS: &str = "reveal_to = [\"a\", \"b\"]";

/// A job through a helper; `more` is what is in the table of each party.
fn job(terms: &str, bound: usize, names: &[&str], more: impl Fn(&str) -> String) -> String {
    let parties: String = names.iter().map(|name| format!("[parties.{name}]\n{}", more(name))).collect();
    format!(
        "job = \"intersect\"\nid = \"test\"\nprotocol = \"outsourced\"\n{terms}\n[limits]\npad_to = {bound}\n[key]\ncolumns = [\"k\"]\n{parties}"
    )
}

/// A table of these keys, with a number below 10 and one of three words for each.
fn table(home: &Home, name: &str, keys: impl IntoIterator<Item = u32>) -> String {
    let words = ["red", "green, dark", ""];
    let row = |key: u32| format!("key {key},{},\"{}\"\n", key % 10, words[key as usize % 7 % 3]);
    let rows: String = keys.into_iter().map(row).collect();
    home.file(&format!("{name}.csv"), &format!("k,v,w\n{rows}"))
}

/// The lines of a table whose keys all have.
fn common_lines(home: &Home, names: &[&str], of: &str) -> Vec<String> {
    let lines =
        |name: &str| text(home.at(&format!("{name}.csv"))).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let key = |line: &String| line.split(',').next().unwrap().to_owned();
    let all: Vec<BTreeSet<String>> = names.iter().map(|name| lines(name).iter().map(key).collect()).collect();
    let mut rows: Vec<_> =
        lines(of).into_iter().filter(|line| all.iter().all(|keys| keys.contains(&key(line)))).collect();
    rows.sort_by_key(key);
    rows
}

fn simulate(home: &Home, job: &str, names: &[&str]) -> Ended {
    let (job, report, out) = (home.file("job.toml", job), home.at("report.json"), home.at("out"));
    let inputs: Vec<_> = names.iter().map(|name| format!("{name}={}", home.at(&format!("{name}.csv")))).collect();
    let mut arguments = vec!["simulate", &job, "--report", &report, "--force", "--output", &out];
    arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
    tacita(&arguments)
}

fn lines(path: impl AsRef<std::path::Path>) -> Vec<String> {
    let rows = rows_of(path);
    rows.iter().map(|row| format!("{},{},\"{}\"", row["k"], row["v"], row["w"])).collect()
}
