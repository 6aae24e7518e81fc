//! Whole jobs by `tacita simulate`, against results that were computed without the program.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::common::{
    Ended, Home, Rows, column, convert, data, examples, files, joined_key, json, rows_of, tacita, text,
};
use serde_json::{Value, json};

const INPUTS: [&str; 4] = ["csv", "csv.gz", "parquet", "arrow"];
const FORMATS: [&str; 4] = ["csv", "parquet", "arrow", "json"];

/// Runs a job on inputs (party, file), with results as `format` in the directory `out` of `home`.
#[track_caller]
fn simulate(home: &Home, job: &str, inputs: &[(&str, &str)], format: &str) -> Value {
    let (out, report) = (home.at("out"), home.at("report.json"));
    let inputs: Vec<_> = inputs.iter().map(|(name, file)| format!("{name}={file}")).collect();
    let mut arguments = vec!["simulate", job, "--force", "--output", &out, "--format", format, "--report", &report];
    arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
    tacita(&arguments).well();
    json(report)
}

#[test]
fn every_example_gives_the_expected_files_byte_for_byte() {
    for set in ["patients", "do-not-fly"] {
        let set = examples().join(set);
        let summary = json(set.join("expected/summary.json"));
        for (job, expected) in summary.as_object().unwrap() {
            let home = Home::new();
            let file = set.join(format!("{job}.toml"));
            let inputs: Vec<_> = expected["rows"].as_object().unwrap().keys().collect();
            let paths = inputs.iter().map(|name| set.join(format!("{name}.csv")).to_str().unwrap().to_owned());
            let paths: Vec<_> = paths.collect();
            let inputs: Vec<_> = inputs.into_iter().map(String::as_str).zip(paths.iter().map(String::as_str)).collect();
            let report = simulate(&home, file.to_str().unwrap(), &inputs, "csv");

            let wanted = set.join("expected").join(job);
            let names = files(wanted.to_str().unwrap());
            assert_eq!(files(&home.at("out")), names, "{job}");
            for name in names {
                assert_eq!(text(home.at(&format!("out/{name}"))), text(wanted.join(&name)), "{job}/{name}");
            }
            for (party, rows) in expected["rows"].as_object().unwrap() {
                assert_eq!(report["parties"][party]["rows"], *rows, "{job}, {party}");
                let result = &report["parties"][party]["result"];
                match &expected["lines"][party] {
                    Value::Null => assert_eq!(*result, Value::Null, "{job}, {party}"),
                    _ if job == "count" => assert_eq!(*result, json!({"count": expected["common_keys"]}), "{job}"),
                    _ if job == "sum" => {
                        assert_eq!(*result, json!({"count": expected["common_keys"], "sum": expected["sum"]}), "{job}");
                    }
                    lines => assert_eq!(*result, json!({"rows": lines}), "{job}, {party}"),
                }
            }
        }
    }
}

fn sorted<T: Ord>(mut values: Vec<T>) -> Vec<T> {
    values.sort();
    values
}

/// The three organisations of the medical data: name, profile of its dates, columns besides name and date.
const ORGANISATIONS: [(&str, &str, &[&str]); 3] = [
    (
        "hospital",
        "date",
        &[
            "gender",
            "n_conditions",
            "last_condition_date",
            "diabetes",
            "hypertension",
            "asthma",
            "cancer",
            "pregnancy",
            "anemia",
        ],
    ),
    ("fire_department", "date:DMY", &["city", "n_injury_callouts", "last_callout_date", "last_callout_reason"]),
    ("insurer", "date", &["payer", "ownership", "insured_since", "insured_years"]),
];

const PAIRS: [(usize, usize, usize); 3] = [(0, 1, 459), (0, 2, 756), (1, 2, 382)];

/// A job of two of the organisations; `head` says what is revealed.
fn medical_job(home: &Home, (one, two): (usize, usize), head: &str) -> String {
    let party =
        |(name, date, _): (&str, &str, &[&str])| format!("[parties.{name}]\nnormalize = [\"name\", \"{date}\"]\n");
    let text = format!(
        "job = \"intersect\"\nid = \"medical\"\n{head}\n[key]\ncolumns = [\"name\", \"dob\"]\n\
         normalize = [\"name\", \"date\"]\n{}{}",
        party(ORGANISATIONS[one]),
        party(ORGANISATIONS[two])
    );
    home.file("job.toml", &text)
}

fn medical_key(row: &BTreeMap<String, String>) -> String {
    joined_key(&row["name"], &row["dob"])
}

/// The keys that two organisations have in common, as the data's makers say.
fn medical_truth(data: &Path, one: &str, two: &str) -> BTreeSet<String> {
    let pairs = rows_of(data.join("truth/synthea_pairs.csv"));
    pairs.into_iter().filter(|row| row[one] == "1" && row[two] == "1").map(|row| row["key"].clone()).collect()
}

#[test]
fn medical_pairs_are_exactly_the_truth_in_every_format() {
    medical_pairs(2);
}

#[test]
#[ignore = "slow: every format to every format"]
fn medical_pairs_are_exactly_the_truth_in_all_formats() {
    medical_pairs(FORMATS.len());
}

/// Runs one pair with so many formats of results for each format of tables, and the others with one.
fn medical_pairs(outputs: usize) {
    let Some(data) = data("medical") else { return };
    for (one, two, size) in PAIRS {
        let home = Home::new();
        let names = [ORGANISATIONS[one].0, ORGANISATIONS[two].0];
        let head = format!("reveal_to = [\"{}\", \"{}\"]", names[0], names[1]);
        let job = medical_job(&home, (one, two), &head);
        let truth = medical_truth(&data, names[0], names[1]);
        assert_eq!(truth.len(), size);
        let expected = names.map(|name| {
            let mut rows = rows_of(data.join(format!("synthea/{name}.csv")));
            rows.retain(|row| truth.contains(&medical_key(row)));
            assert_eq!(rows.len(), size);
            sorted(rows)
        });
        for (position, input) in INPUTS.iter().enumerate() {
            let files = names.map(|name| {
                let file = home.at(&format!("{name}.{input}"));
                convert(&data.join(format!("synthea/{name}.csv")), &file);
                file
            });
            let outputs = if size == 382 { outputs } else { 1 };
            for output in FORMATS.iter().cycle().skip(position).take(outputs) {
                simulate(&home, &job, &[(names[0], &files[0]), (names[1], &files[1])], output);
                let results = names.map(|name| rows_of(home.at(&format!("out/{name}.{output}"))));
                let keys = |rows: &Rows| rows.iter().map(medical_key).collect::<Vec<_>>();
                assert_eq!(keys(&results[0]), keys(&results[1]), "line by line, {input} to {output}");
                for (rows, expected) in results.into_iter().zip(&expected) {
                    assert!(sorted(rows) == *expected, "{names:?}, {input} to {output}");
                }
            }
        }
    }
}

#[test]
fn medical_sums_are_those_of_the_data() {
    medical_sums(false);
}

#[test]
#[ignore = "slow: more columns"]
fn more_medical_sums_are_those_of_the_data() {
    medical_sums(true);
}

/// Checks sums of columns at one learner and at two. Without `all`, one column is told to one, and another to both.
fn medical_sums(all: bool) {
    let Some(data) = data("medical") else { return };
    let queries = json(data.join("truth/summary.json"))["synthea"]["queries"].clone();
    for ((one, two, size), column, query) in [
        (PAIRS[0], "n_injury_callouts", "hospital&fire: sum n_injury_callouts"),
        (PAIRS[1], "insured_years", "hospital&insurer: sum insured_years"),
        // A flag: how many of the common persons have it.
        (PAIRS[1], "diabetes", "hospital&insurer: persons with diabetes"),
    ] {
        let (receiver, giver) = if column == "diabetes" { (two, one) } else { (one, two) };
        let (receiver, giver) = (ORGANISATIONS[receiver].0, ORGANISATIONS[giver].0);
        for learners in [vec![receiver], vec![giver, receiver]] {
            let kept = [("n_injury_callouts", 1), ("diabetes", 2)];
            if !all && !kept.contains(&(column, learners.len())) {
                continue;
            }
            let home = Home::new();
            let inputs =
                [receiver, giver].map(|name| data.join(format!("synthea/{name}.csv")).to_str().unwrap().to_owned());
            let head =
                format!("reveal = \"sum:{column}\"\nreveal_to = {learners:?}\ngives = {{ {giver} = [\"{column}\"] }}");
            let job = medical_job(&home, (one, two), &head);
            let report = simulate(&home, &job, &[(receiver, inputs[0].as_str()), (giver, inputs[1].as_str())], "csv");
            let told = json!({"count": size, "sum": queries[query]});
            assert!(queries[query].is_u64());
            assert_eq!(report["parties"][receiver]["result"], told, "{column}");
            let table = format!("count,sum\n{size},{}\n", queries[query]);
            assert_eq!(text(home.at(&format!("out/{receiver}.csv"))), table);
            let also = if learners.len() > 1 { told } else { Value::Null };
            assert_eq!(report["parties"][giver]["result"], also, "{column}");
        }
    }
}

#[test]
fn medical_payload_equals_the_join_and_the_count_its_size() {
    let Some(data) = data("medical") else { return };
    let joined = rows_of(data.join("truth/synthea_joined.csv"));
    for (one, two, size) in PAIRS {
        let home = Home::new();
        let ((receiver, _, own), (giver, _, given)) = (ORGANISATIONS[one], ORGANISATIONS[two]);
        let inputs =
            [receiver, giver].map(|name| data.join(format!("synthea/{name}.csv")).to_str().unwrap().to_owned());
        let inputs = [(receiver, inputs[0].as_str()), (giver, inputs[1].as_str())];

        let job = medical_job(&home, (one, two), &format!("reveal = \"count\"\nreveal_to = [\"{giver}\"]"));
        let report = simulate(&home, &job, &inputs, "csv");
        assert_eq!(report["parties"][giver]["result"], json!({"count": size}));
        assert_eq!(report["parties"][receiver]["result"], Value::Null);
        assert_eq!(text(home.at(&format!("out/{giver}.csv"))), format!("count\n{size}\n"));

        let head = format!("reveal = \"payload\"\nreveal_to = [\"{receiver}\"]\ngives = {{ {giver} = {given:?} }}");
        let job = medical_job(&home, (one, two), &head);
        simulate(&home, &job, &inputs, "csv");
        let result = rows_of(home.at(&format!("out/{receiver}.csv")));
        // Every row is a row of the receiver and the row of the giver with its key ...
        let of_giver: BTreeMap<_, _> = rows_of(inputs[1].1).into_iter().map(|row| (medical_key(&row), row)).collect();
        let mut expected = rows_of(inputs[0].1);
        expected.retain_mut(|row| {
            let Some(theirs) = of_giver.get(&medical_key(row)) else { return false };
            row.extend(given.iter().map(|column| (format!("{giver}.{column}"), theirs[*column].clone())));
            true
        });
        assert_eq!((result.len(), expected.len()), (size, size));
        let by_key: BTreeMap<_, _> = result.iter().map(|row| (medical_key(row), row.clone())).collect();
        assert!(sorted(result) == sorted(expected));
        // ... and so say those who made the data, of those persons whom all three know.
        for person in &joined {
            let row = &by_key[&person["key"]];
            for column in own {
                assert_eq!(row[*column], person[&format!("{receiver}.{column}")]);
            }
            for column in given {
                assert_eq!(row[&format!("{giver}.{column}")], person[&format!("{giver}.{column}")]);
            }
        }
    }
}

/// A payload job in which `one` gets the column `given` of `two`; returns the pairs (id, given), sorted.
fn pairs(
    home: &Home,
    rest: &str,
    one: (&str, &str),
    two: (&str, &str),
    id: &str,
    given: &str,
) -> Vec<(String, String)> {
    let job = format!(
        "job = \"intersect\"\nid = \"pairs\"\nreveal = \"payload\"\nreveal_to = [\"{0}\"]\n\
         gives = {{ {1} = [\"{given}\"] }}\n{rest}\n",
        one.0, two.0
    );
    let job = home.file("pairs.toml", &job);
    let report = simulate(home, &job, &[one, two], "csv");
    let rows = rows_of(home.at(&format!("out/{}.csv", one.0)));
    assert_eq!(report["parties"][one.0]["result"], json!({"rows": rows.len()}));
    let pairs = rows.iter().map(|row| (row[id].clone(), row[&format!("{}.{given}", two.0)].clone()));
    sorted(pairs.collect())
}

const FEBRL: &str = "[key]\ncolumns = [\"given_name\", \"surname\", \"date_of_birth\"]\n[parties.a]\n[parties.b]";

/// The links of a truth file that exact keys find.
fn exact_links(path: &Path) -> Vec<(String, String)> {
    let rows = rows_of(path).into_iter().filter(|row| row["exact_key"] == "1");
    sorted(rows.map(|row| (row["rec_id_1"].clone(), row["rec_id_2"].clone())).collect())
}

#[test]
fn febrl_originals_and_copies_are_linked_exactly() {
    let Some(data) = data("medical") else { return };
    let home = Home::new();
    let file = |name: &str| data.join("febrl").join(name).to_str().unwrap().to_owned();
    let (a, b) = (file("dataset4a.csv"), file("dataset4b.csv"));
    let found = pairs(&home, FEBRL, ("a", &a), ("b", &b), "rec_id", "rec_id");
    assert_eq!(found.len(), 2079);
    assert!(found == exact_links(&data.join("truth/febrl_dataset4ab_links.csv")));

    // One file with originals and duplicates, split into two.
    let text = text(data.join("febrl/dataset1.csv"));
    let part = |kind: &str| {
        let lines = text.lines().enumerate().filter(|(number, line)| {
            *number == 0 || line.split(',').next().is_some_and(|id| id.split('-').nth(2) == Some(kind))
        });
        lines.map(|(_, line)| format!("{line}\n")).collect::<String>()
    };
    let (dup, org) = (home.file("dup.csv", &part("dup")), home.file("org.csv", &part("org")));
    let found = pairs(&home, FEBRL, ("a", &dup), ("b", &org), "rec_id", "rec_id");
    assert_eq!(found.len(), 202);
    assert!(found == exact_links(&data.join("truth/febrl_dataset1_links.csv")));
}

#[test]
fn watchlist_finds_all_planted_passengers_and_no_decoy() {
    let Some(data) = data("watchlist") else { return };
    let home = Home::new();
    let file = |name: &str| data.join(name).to_str().unwrap().to_owned();
    let (airline, authority) = (file("passengers.csv"), file("watchlist_ofac_sdn.csv"));
    let rest = "[key]\ncolumns = [\"name\", \"dob\"]\nnormalize = [\"name\", \"date:DMY\"]\n\
                [parties.airline]\n[parties.authority]";
    let found = pairs(&home, rest, ("airline", &airline), ("authority", &authority), "passenger_id", "uid");
    let truth = rows_of(data.join("truth/matches.csv"));
    assert_eq!((found.len(), truth.len()), (122, 122));
    let truth_pairs = truth.iter().map(|row| (row["passenger_id"].clone(), row["uid"].clone()));
    assert_eq!(found, sorted(truth_pairs.collect()));

    let job =
        home.file("rows.toml", &format!("job = \"intersect\"\nid = \"rows\"\nreveal_to = [\"airline\"]\n{rest}\n"));
    simulate(&home, &job, &[("airline", &airline), ("authority", &authority)], "csv");
    let passengers: BTreeSet<_> = truth.iter().map(|row| row["passenger_id"].clone()).collect();
    let rows = rows_of(home.at("out/airline.csv"));
    assert_eq!(column(&rows, "passenger_id"), passengers.into_iter().collect::<Vec<_>>());
    assert_eq!(rows.len(), 120);
}

/// A table with the numbers of a range as its keys.
fn numbers(home: &Home, name: &str, range: std::ops::Range<u32>) -> String {
    let lines: String = range.map(|number| format!("{number},{name} {number}\n")).collect();
    home.file(&format!("{name}.csv"), &format!("id,note\n{lines}"))
}

/// Each pair of sizes with two of three reveals.
#[test]
fn sizes_may_be_0_1_and_differ_a_thousandfold() {
    sizes_of_tables(false);
}

#[test]
#[ignore = "slow: every reveal of each pair of sizes"]
fn all_sizes_may_be_0_1_and_differ_a_thousandfold() {
    sizes_of_tables(true);
}

fn sizes_of_tables(all: bool) {
    let cases = [
        (0..0, 0..0),
        (0..0, 0..7),
        (0..7, 0..0),
        (3..4, 3..4),
        (3..4, 4..5),
        (8..9, 0..20),
        (0..20, 19..20),
        (900..905, 0..5000),
        (0..5000, 4999..5004),
    ];
    let home = Home::new();
    let rest = "[key]\ncolumns = [\"id\"]\n[parties.a]\n[parties.b]\n";
    let heads = [
        "reveal_to = [\"a\", \"b\"]",
        "reveal = \"count\"\nreveal_to = [\"b\", \"a\"]",
        "reveal = \"payload\"\nreveal_to = [\"a\", \"b\"]\ngives = { a = [\"note\"], b = [\"note\"] }",
    ];
    let jobs = heads.map(|head| format!("job = \"intersect\"\nid = \"sizes\"\n{head}\n{rest}"));
    let jobs: Vec<_> = jobs.iter().enumerate().map(|(i, text)| home.file(&format!("{i}.toml"), text)).collect();
    for (place, (a, b)) in cases.into_iter().enumerate() {
        let common: Vec<_> = a.clone().filter(|number| b.contains(number)).map(|number| number.to_string()).collect();
        let inputs = [numbers(&home, "a", a.clone()), numbers(&home, "b", b.clone())];
        let inputs = [("a", inputs[0].as_str()), ("b", inputs[1].as_str())];
        for (kind, job) in jobs.iter().enumerate() {
            if !all && (place + kind).is_multiple_of(3) {
                continue;
            }
            let report = simulate(&home, job, &inputs, "csv");
            for (name, peer) in [("a", "b"), ("b", "a")] {
                let result = &report["parties"][name]["result"];
                if kind == 1 {
                    assert_eq!(*result, json!({"count": common.len()}), "{a:?} {b:?}");
                    continue;
                }
                assert_eq!(*result, json!({"rows": common.len()}), "{a:?} {b:?}");
                let rows = rows_of(home.at(&format!("out/{name}.csv")));
                assert_eq!(column(&rows, "id"), sorted(common.clone()), "{a:?} {b:?}");
                assert!(rows.iter().all(|row| row["note"] == format!("{name} {}", row["id"])));
                let given = format!("{peer}.note");
                assert!(kind == 0 || rows.iter().all(|row| row[&given] == format!("{peer} {}", row["id"])));
            }
        }
    }
}

#[test]
fn a_network_can_be_imitated() {
    let home = Home::new();
    let [a, b] = [numbers(&home, "a", 0..50), numbers(&home, "b", 25..75)];
    let job = "job = \"intersect\"\nid = \"slow\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"id\"]\n[parties.a]\n[parties.b]\n";
    let job = home.file("job.toml", job);
    let report = home.at("report.json");
    let inputs = [format!("a={a}"), format!("b={b}")];
    let run = |more: &[&str]| -> (Ended, f64) {
        let fixed = ["simulate", &job, "--report", &report, "--input", &inputs[0], "--input", &inputs[1]];
        let ended = tacita(&[&fixed, more].concat()).well();
        (ended, json(&report)["parties"]["a"]["seconds"]["total"].as_f64().unwrap())
    };
    let (plain, fast) = run(&[]);
    let (_, slow) = run(&["--latency", "40ms", "--bandwidth", "10Mbit"]);
    assert_eq!(plain.stdout, "rows 25\n");
    // Two flights of the TLS handshake, five of the job.
    assert!(slow > fast + 6.0 * 0.040, "{slow} s, and {fast} s without latency");
}
