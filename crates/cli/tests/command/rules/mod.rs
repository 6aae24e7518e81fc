//! Association rules by whole processes: baskets in, itemsets and rules out, against what was computed without the
//! program.

mod hidden;
mod inputs;
mod limits;
mod parties;
mod results;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;
use std::path::Path;

use crate::common::dot::noise;
use crate::common::{
    Ended, Home, NAMES, Pair, Running, convert, data, examples, files, free_port, json, rows_of, tacita, text,
};
use serde_json::{Value, json};

/// Itemsets with counts; rules with the counts of all items, antecedents and consequents.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
struct Truth {
    rows: u64,
    itemsets: BTreeMap<String, u64>,
    rules: BTreeMap<(String, String), [u64; 3]>,
}

/// Request of a job.
#[derive(Debug, Clone, Copy)]
struct Asked {
    minimum: u64,
    /// The least confidence in percent.
    percent: u64,
    any: bool,
    mixed_only: bool,
    max_len: usize,
}

fn joined<'a>(items: impl IntoIterator<Item = &'a String>) -> String {
    let mut items: Vec<&String> = items.into_iter().collect();
    let number = |item: &str| item.parse::<u64>().ok().filter(|_| item.bytes().all(|byte| byte.is_ascii_digit()));
    items.sort_by_key(|item| match number(item) {
        Some(number) => (0, number, String::new()),
        None => (1, 0, item.to_string()),
    });
    items.into_iter().map(String::as_str).collect::<Vec<_>>().join("|")
}

/// Mines by exhaustive search: each frequent itemset with every item more, by the rows that both are in.
fn mined(baskets: &[BTreeSet<String>], asked: Asked) -> Truth {
    let mut single: BTreeMap<&String, Vec<usize>> = BTreeMap::new();
    for (row, basket) in baskets.iter().enumerate() {
        basket.iter().for_each(|item| single.entry(item).or_default().push(row));
    }
    single.retain(|_, rows| rows.len() as u64 >= asked.minimum);
    let mut counts: BTreeMap<BTreeSet<String>, u64> = BTreeMap::new();
    let mut last: Vec<(BTreeSet<String>, Vec<usize>)> = vec![(BTreeSet::new(), (0..baskets.len()).collect())];
    let mut length = 0;
    while !last.is_empty() && length < asked.max_len {
        let mut longer: BTreeMap<BTreeSet<String>, Vec<usize>> = BTreeMap::new();
        for (set, rows) in &last {
            for (item, with_item) in single.iter().filter(|(item, _)| !set.contains(**item)) {
                let more: BTreeSet<String> = set.iter().chain([*item]).cloned().collect();
                let both = || rows.iter().copied().filter(|row| with_item.binary_search(row).is_ok()).collect();
                longer.entry(more).or_insert_with(both);
            }
        }
        longer.retain(|_, rows| !rows.is_empty() && rows.len() as u64 >= asked.minimum);
        counts.extend(longer.iter().map(|(set, rows)| (set.clone(), rows.len() as u64)));
        last = longer.into_iter().collect();
        length += 1;
    }
    // Parts of frequent itemsets are frequent.
    let count = |set: &BTreeSet<String>| counts[set];
    let frequent: Vec<(BTreeSet<String>, u64)> = counts.iter().map(|(set, count)| (set.clone(), *count)).collect();
    let mixed =
        |set: &BTreeSet<String>| set.iter().any(|item| is_first(item)) && !set.iter().all(|item| is_first(item));
    let mut truth = Truth { rows: baskets.len() as u64, ..Truth::default() };
    for (set, all) in frequent.iter().filter(|(set, _)| !asked.mixed_only || mixed(set)) {
        truth.itemsets.insert(joined(set), *all);
        let items: Vec<&String> = set.iter().collect();
        for mask in 1..(1usize << items.len()) - 1 {
            let (to, from): (Vec<(usize, &String)>, Vec<_>) =
                items.iter().copied().enumerate().partition(|(bit, _)| mask >> bit & 1 == 1);
            let part =
                |part: Vec<(usize, &String)>| part.into_iter().map(|(_, item)| item.clone()).collect::<BTreeSet<_>>();
            let (from, to) = (part(from), part(to));
            let (antecedents, consequents) = (count(&from), count(&to));
            if (asked.any || to.len() == 1) && 100 * all >= asked.percent * antecedents {
                truth.rules.insert((joined(&from), joined(&to)), [*all, antecedents, consequents]);
            }
        }
    }
    if asked.mixed_only {
        let parts: BTreeSet<String> = truth.rules.keys().flat_map(|(from, to)| [from.clone(), to.clone()]).collect();
        for (set, count) in frequent.iter().filter(|(set, _)| parts.contains(&joined(set))) {
            truth.itemsets.insert(joined(set), *count);
        }
    }
    truth
}

/// Checks the files of rules and itemsets against the truth.
#[track_caller]
fn check_files(rules: &str, truth: &Truth) {
    let beside = match rules.rsplit_once('.') {
        Some((stem, ending)) => format!("{stem}.itemsets.{ending}"),
        None => panic!("{rules}"),
    };
    let (rules, itemsets) = (cells(rules), cells(&beside));
    let near = |row: &BTreeMap<String, String>, column: &str, value: f64| {
        let found: f64 = row[column].parse().unwrap();
        assert!((found - value).abs() <= 1e-12 * value.abs().max(1.0), "{column}: {found} instead of {value}: {row:?}");
    };
    let n = truth.rows as f64;
    for row in &itemsets {
        assert_eq!(truth.itemsets.get(&row["items"]).map(u64::to_string).as_ref(), Some(&row["count"]), "{row:?}");
        near(row, "support", truth.itemsets[&row["items"]] as f64 / n);
    }
    assert_eq!(itemsets.len(), truth.itemsets.len());
    let key = |row: &BTreeMap<String, String>| (row["antecedents"].clone(), row["consequents"].clone());
    for row in &rules {
        let Some(counts) = truth.rules.get(&key(row)) else { panic!("no rule: {row:?}") };
        let [both, from, to] = counts.map(|count| count as f64);
        near(row, "support", both / n);
        near(row, "confidence", both / from);
        near(row, "lift", both * n / (from * to));
        near(row, "leverage", both / n - from * to / (n * n));
        if counts[0] == counts[1] {
            assert!(["inf", "null"].contains(&row["conviction"].as_str()), "{row:?}")
        } else {
            near(row, "conviction", (1.0 - to / n) / (1.0 - both / from))
        }
    }
    assert_eq!(rules.len(), truth.rules.len());
    assert_eq!(rules.iter().map(key).collect::<BTreeSet<_>>().len(), rules.len());
}

/// A table's cells as text; JSON's too.
fn cells(path: &str) -> Vec<BTreeMap<String, String>> {
    if !path.ends_with(".json") {
        return rows_of(path);
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let row = |row: &Value| row.as_object().unwrap().iter().map(|(name, value)| (name.clone(), text(value))).collect();
    json(path).as_array().unwrap().iter().map(row).collect()
}

/// A job of `a` and `b`.
fn job(rest: &str) -> String {
    format!("job = \"rules\"\nid = \"test\"\nreveal_to = [\"a\", \"b\"]\n{rest}\n[parties.a]\n[parties.b]\n")
}

/// Simulates a job of `a` and `b` on these files.
fn attempt(home: &Home, job: &str, inputs: [&str; 2], out: &str, more: &[&str]) -> Ended {
    let (job, report) = (home.file("job.toml", job), home.at("report.json"));
    let inputs = [format!("a={}", inputs[0]), format!("b={}", inputs[1])];
    let out = home.at(out);
    let fixed = [
        "simulate", &job, "--force", "--output", &out, "--report", &report, "--input", &inputs[0], "--input",
        &inputs[1],
    ];
    tacita(&[&fixed, more].concat())
}

/// Runs [`attempt`], expects success, and checks both parties' files.
#[track_caller]
fn check(home: &Home, job: &str, inputs: [&str; 2], more: &[&str], truth: &Truth) -> Value {
    let ended = attempt(home, job, inputs, "out", more).well();
    let (itemsets, rules) = (truth.itemsets.len(), truth.rules.len());
    assert_eq!(ended.stdout, format!("itemsets {itemsets}, rules {rules}\n"));
    let report = json(home.at("report.json"));
    let ending = more.iter().skip_while(|word| **word != "--format").nth(1).unwrap_or(&"csv");
    for name in ["a", "b"] {
        assert_eq!(report["parties"][name]["result"], json!({"itemsets": itemsets, "rules": rules}));
        check_files(&home.at(&format!("out/{name}.{ending}")), truth);
    }
    let file = |name: &str| std::fs::read(home.at(&format!("out/{name}.{ending}"))).unwrap();
    assert_eq!(file("a"), file("b"));
    report
}

/// Small baskets in which things go together: of items a1, a2, ... and of numbers.
fn sample(rows: usize) -> Vec<BTreeSet<String>> {
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut draw = |bound: u64| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    let mut baskets = Vec::new();
    for _ in 0..rows {
        let mut basket = BTreeSet::new();
        let kind = draw(3);
        for item in 0..5 {
            for name in [format!("a{item}"), format!("{}", 7 + item)] {
                if draw(10) < if item % 3 == kind { 8 } else { 3 } {
                    basket.insert(name);
                }
            }
        }
        baskets.push(if draw(12) == 0 { BTreeSet::new() } else { basket });
    }
    baskets
}

fn is_first(item: &str) -> bool {
    item.starts_with('a')
}

const ASKED: Asked = Asked { minimum: 12, percent: 55, any: false, mixed_only: false, max_len: 9 };

/// The sample's baskets as two tables with ids, those of `b` in another order if they are to be aligned by them.
fn tables(home: &Home, baskets: &[BTreeSet<String>], separator: &str, shuffled: bool) -> [String; 2] {
    ["a", "b"].map(|party| {
        let mut lines: Vec<String> = baskets
            .iter()
            .enumerate()
            .map(|(row, basket)| {
                let held: Vec<&str> =
                    basket.iter().filter(|item| is_first(item) == (party == "a")).map(String::as_str).collect();
                format!("{row},{}\n", held.join(separator))
            })
            .collect();
        if shuffled && party == "b" {
            lines.reverse();
            // Rows that the other party does not have.
            lines.insert(3, format!("x1,7{separator}8\n"));
            lines.push(format!(",9{separator}8\n"));
        }
        home.file(&format!("{party}.csv"), &format!("tid,items\n{}", lines.concat()))
    })
}
