//! Scalar products by `gm-bloom`, by whole processes, against sums that were computed without the program.

use crate::common::dot::{job, noise, open, opening, simulate, table};
use crate::common::{Ended, Home, json, tacita};
use serde_json::{Value, json};

/// Short keys: they are made in no time.
const SHORT: &str = "protocol = \"gm-bloom\"\nlevel = \"paper80\"";

/// Zeros and ones, one in so many.
fn bits(seed: u64, count: usize, one_in: u64) -> Vec<i64> {
    noise(seed).take(count).map(|word| i64::from((word >> 8) % one_in == 0)).collect()
}

fn product(a: &[i64], b: &[i64]) -> i64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn products_are_exact_for_every_length_density_and_learner() {
    for (count, one_in, density, learners) in [
        (0, 2, "", "[\"a\"]"),
        (1, 1, "density = 1", "[\"b\"]"),
        (1, 1, "", "[\"a\", \"b\"]"),
        (1001, 2, "density = 0.6", "[\"a\"]"),
        (5000, 9, "density = \"12.5%\"", "[\"b\"]"),
        (301, 1, "density = 1.0", "[\"a\", \"b\"]"),
    ] {
        let home = Home::new();
        let (a, b) = (bits(1, count, one_in), bits(2, count, one_in));
        let inputs = [table(&home, "a.csv", &a), table(&home, "b.csv", &b)];
        let job = job(&format!("{SHORT}\n{density}")).replace("[\"a\", \"b\"]", learners);
        let report = simulate(&home, &job, [&inputs[0], &inputs[1]], "out", &["--allow-insecure"]);
        for name in ["a", "b"] {
            let party = &report["parties"][name];
            let expected = if learners.contains(name) { json!({"value": product(&a, &b)}) } else { Value::Null };
            assert_eq!(party["result"], expected, "{count} {learners} {name}");
            assert_eq!((&party["protocol"], &party["choice"]), (&json!("gm-bloom"), &json!("gm-bloom")));
        }
    }
}

#[test]
fn a_matrix_after_aligning_rows_under_keys_of_the_usual_length() {
    let home = Home::new();
    let inputs = [
        home.file("a.csv", "id,x,y\nann,1,1\nbob,1,0\ncy,0,0\ndee,1,1\n"),
        home.file("b.csv", "id,u,v\ndee,1,0\neve,1,1\nbob,1,1\nann,0,0\n"),
    ];
    let names = "column = { a = [\"x\", \"y\"], b = [\"u\", \"v\"] }";
    let job = job("protocol = \"gm-bloom\"\nrow_id = \"id\"").replace("column = \"x\"", names);
    let report = simulate(&home, &job, [&inputs[0], &inputs[1]], "out", &[]);
    for name in ["a", "b"] {
        assert_eq!(report["parties"][name]["result"], json!({"value": [[2, 1], [1, 0]]}));
        assert!(report["parties"][name]["choice"].as_str().unwrap().starts_with("gm-bloom after "));
    }
}

/// Warnings of parts that are no shares, and of keys that can be broken, which are not printed where there are neither.
#[test]
fn plan_and_simulation_warn_of_parts() {
    let home = Home::new();
    let inputs = [table(&home, "a.csv", [1, 0]), table(&home, "b.csv", [1, 1])];
    for (terms, warned) in [(SHORT, false), ("protocol = \"ot\"", false), (SHORT, true)] {
        let shares = if warned || terms != SHORT { "\nreveal = \"shares\"" } else { "" };
        let file = home.file("job.toml", &job(&format!("{terms}{shares}")));
        let [a, b, out] = [format!("a={}", inputs[0]), format!("b={}", inputs[1]), home.at("out")];
        let given = ["--input", &a, "--input", &b, &file];
        let simulated = ["simulate", "--allow-insecure", "--force", "--output", &out];
        let simulated = tacita(&[&simulated[..], &given].concat()).well();
        let planned = tacita(&[&["plan"], &given[..]].concat()).well();
        for text in [&simulated.stderr, &planned.stdout] {
            assert_eq!(text.contains("the parts are not uniformly random"), warned, "{terms}: {text}");
            assert_eq!(text.contains("level = \"paper80\" can be broken"), terms == SHORT, "{terms}: {text}");
        }
    }
}

/// Parts that add up to the product, and say so plainly that they are no shares.
#[test]
fn parts_are_opened_as_shares_are_and_called_what_they_are() {
    let home = Home::new();
    let (a, b) = (bits(1, 900, 2), bits(2, 900, 2));
    let value = product(&a, &b);
    let inputs = [table(&home, "a.csv", &a), table(&home, "b.csv", &b)];
    for modulus in ["", "modulus = \"1000003\"", "modulus = \"2^16\""] {
        let job = job(&format!("{SHORT}\nreveal = \"shares\"\n{modulus}"));
        let report = simulate(&home, &job, [&inputs[0], &inputs[1]], "parts", &["--allow-insecure"]);
        let files = ["a", "b"].map(|party| home.at(&format!("parts/{party}.json")));
        for (name, file) in ["a", "b"].iter().zip(&files) {
            let learned = report["parties"][name]["learned"].to_string();
            let part = if *name == "a" { "about half" } else { "the exact product over a random half of its ones" };
            assert!(learned.contains("not uniformly random shares") && learned.contains(part), "{learned}");
            assert_eq!(json(file)["telling"], true);
            let part: i64 = json(file)["values"][0].as_str().unwrap().parse().unwrap();
            assert!((2 * part - value).pow(2) < 36 * value, "{part} of {value}");
        }
        let ended = open(&home, &opening("sum", "[\"b\"]"), &[("a", &files[0]), ("b", &files[1])]).well();
        assert_eq!(ended.stdout, format!("value {value}\n"));
        assert!(ended.stderr.contains("parts that \"gm-bloom\" made"), "{}", ended.stderr);
    }
}

const COSTS: [(&str, &str); 4] = [
    ("[\"a\"]", "density = 0.4"),
    ("[\"b\"]", ""),
    ("[\"a\", \"b\"]", "density = 0.4\nreveal = \"shares\""),
    ("[\"a\", \"b\"]", "density = 0.38"),
];

#[test]
fn what_the_plan_says_is_what_the_run_does() {
    costs_what_the_plan_says(1001, &COSTS[..3]);
}

#[test]
#[ignore = "slow: more rows"]
fn every_plan_is_what_the_run_does() {
    costs_what_the_plan_says(4000, &COSTS);
}

fn costs_what_the_plan_says(rows: usize, cases: &[(&str, &str)]) {
    let home = Home::new();
    let (a, b) = (bits(1, rows, 3), bits(2, rows, 4));
    let inputs = [table(&home, "a.csv", &a), table(&home, "b.csv", &b)];
    for (learners, rest) in cases {
        let text = job(&format!("{SHORT}\n{rest}")).replace("[\"a\", \"b\"]", learners);
        let report = simulate(&home, &text, [&inputs[0], &inputs[1]], "out", &["--allow-insecure"]);
        let named = [format!("a={}", inputs[0]), format!("b={}", inputs[1])];
        let planned =
            tacita(&["plan", &home.at("job.toml"), "--json", "--input", &named[0], "--input", &named[1]]).well();
        let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
        for name in ["a", "b"] {
            let (share, ran) = (&planned["parties"][name], &report["parties"][name]);
            assert_eq!(share["bytes_sent"], ran["bytes"]["sent"], "{rest} {learners} {name}");
            assert_eq!(share["learned"], ran["learned"], "{rest} {learners} {name}");
            assert_eq!(share["learned"].to_string().contains("agreed density"), rest.contains("density"));
            assert_eq!(planned["rounds"], ran["rounds"], "{rest} {learners}");
            assert!(share["memory"].as_u64() >= ran["peak_memory"].as_u64().map(|held| held / 2));
        }
        assert_eq!((&planned["protocol"], &planned["why"]), (&json!("gm-bloom"), &json!("the job names it")));
    }
}

/// A job of the two parties on a table of one column each.
fn attempt(home: &Home, rest: &str, a: &[i64], b: &[i64]) -> Ended {
    let file = home.file("job.toml", &job(rest));
    let inputs = [format!("a={}", table(home, "a.csv", a)), format!("b={}", table(home, "b.csv", b))];
    tacita(&["simulate", &file, "--input", &inputs[0], "--input", &inputs[1], "--allow-insecure"])
}

/// The party whose column it is says so, with its name, count and bound.
#[test]
fn a_column_with_too_many_ones_is_refused() {
    let home = Home::new();
    let rest = format!("{SHORT}\ndensity = 0.25");
    let (few, many) = ([1, 0, 0, 1, 0, 0, 0, 0], [1, 1, 0, 0, 1, 0, 0, 0]);
    attempt(&home, &rest, &few, &few).well();
    let words = ["column \"x\"", "3 ones in 8 rows", "density = 0.25 allows 2", "leave it out"];
    attempt(&home, &rest, &few, &many).failed(2, &words);
    attempt(&home, &rest, &many, &few).failed(2, &words);
    // Of aligned rows there are fewer.
    let file = home
        .file("aligned.toml", &job("protocol = \"gm-bloom\"\ndensity = 0.5\nrow_id = \"id\"\nalignment = \"rows\""));
    let a = home.file("ids.csv", "id,x\na,1\nb,1\nc,0\nd,0\n");
    let b = home.file("others.csv", "id,x\na,1\nb,0\nx,0\ny,0\n");
    let ended = tacita(&["simulate", &file, "--input", &format!("a={a}"), "--input", &format!("b={b}")]);
    ended.failed(2, &["column \"x\"", "2 ones in 2 rows", "density = 0.5 allows 1"]);
}

#[test]
fn what_it_does_not_do_is_refused_with_what_does() {
    let home = Home::new();
    for (rest, words) in [
        ("density = 0", &["density = 0", "above 0", "up to 1"][..]),
        ("density = 1.5", &["density = 1.5", "up to 1"]),
        ("density = \"few\"", &["density = few", "decimal"]),
        ("bits = 8", &["gm-bloom", "zeros and ones", "\"ot\", \"lattice\" or \"paillier\""]),
        ("signed = true", &["gm-bloom", "zeros and ones"]),
        ("level = \"bits192\"", &["bits192", "bits128"]),
        ("level = \"bits256\"", &["bits256", "bits128"]),
        ("level = \"bits112\"\nrow_id = \"x\"", &["bits112", "row_id", "position"]),
        ("extension = \"softspoken-4\"", &["extension", "gm-bloom"]),
        ("chunk = 100", &["chunk", "paillier"]),
        ("security = \"malicious\"", &["malicious", "semi-honest"]),
    ] {
        attempt(&home, &format!("protocol = \"gm-bloom\"\n{rest}"), &[1, 0], &[1, 1]).failed(2, words);
    }
    attempt(&home, "protocol = \"ot\"\ndensity = 0.5", &[1, 0], &[1, 1]).failed(2, &["density", "gm-bloom"]);
    let file = home.file("job.toml", &job(SHORT));
    let input = table(&home, "a.csv", [1, 0]);
    let inputs = [format!("a={input}"), format!("b={input}")];
    let ended = tacita(&["simulate", &file, "--input", &inputs[0], "--input", &inputs[1]]);
    ended.failed(2, &["paper80", "--allow-insecure"]);
    attempt(&home, "protocol = \"gm-bloom\"\nlevel = \"bits112\"", &[1, 0], &[1, 1]).well();
}
