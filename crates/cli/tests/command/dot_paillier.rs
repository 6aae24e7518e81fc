//! Scalar products by `paillier`, by whole processes, against sums that were computed without the program.

use std::collections::BTreeMap;

use crate::common::dot::{job, noise, open, opening, simulate, table};
use crate::common::{Home, NAMES, Pair, json, tacita, text};
use serde_json::{Value, json};

/// Short keys: they are made in no time.
const SHORT: &str = "protocol = \"paillier\"\nlevel = \"paper80\"";

/// A table of these columns.
fn columns(home: &Home, name: &str, columns: &[(&str, Vec<i64>)]) -> String {
    let header: Vec<_> = columns.iter().map(|(name, _)| *name).collect();
    let rows = (0..columns[0].1.len()).map(|row| {
        let cells: Vec<_> = columns.iter().map(|(_, values)| values[row].to_string()).collect();
        cells.join(",") + "\n"
    });
    home.file(name, &(header.join(",") + "\n" + &rows.collect::<String>()))
}

fn numbers(seed: u64, count: usize, range: std::ops::Range<i64>) -> Vec<i64> {
    noise(seed).take(count).map(|word| range.start + (word >> 8) as i64 % (range.end - range.start)).collect()
}

fn product(a: &[i64], b: &[i64]) -> i64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn products_are_exact_for_every_length_and_learner() {
    for (count, learners) in
        [(0, "[\"a\"]"), (1, "[\"b\"]"), (1, "[\"a\", \"b\"]"), (1001, "[\"a\"]"), (1501, "[\"a\", \"b\"]")]
    {
        let home = Home::new();
        let (a, b) = (numbers(1, count, 0..2), numbers(2, count, 0..2));
        let inputs = [table(&home, "a.csv", &a), table(&home, "b.csv", &b)];
        let job = job(SHORT).replace("[\"a\", \"b\"]", learners);
        let report = simulate(&home, &job, [&inputs[0], &inputs[1]], "out", &["--allow-insecure"]);
        for name in ["a", "b"] {
            let party = &report["parties"][name];
            let expected = if learners.contains(name) { json!({"value": product(&a, &b)}) } else { Value::Null };
            assert_eq!(party["result"], expected, "{count} {learners} {name}");
            assert_eq!((&party["protocol"], &party["choice"]), (&json!("paillier"), &json!("paillier")));
            assert_eq!(party["level"], "paper80");
        }
    }
}

#[test]
fn signed_numbers_with_decimals_under_a_key_of_the_usual_length() {
    let home = Home::new();
    let inputs = [table(&home, "a.csv", ["12.5", "-0.01", "3"]), table(&home, "b.csv", ["1.25", "100", "-7.5"])];
    let job = job("protocol = \"paillier\"\nbits = 16\nsigned = true\nscale = 2");
    let report = simulate(&home, &job, [&inputs[0], &inputs[1]], "out", &[]);
    for name in ["a", "b"] {
        assert_eq!(report["parties"][name]["result"], json!({"value": -7.875}));
        // A message of this level's ciphertexts: 3 times 768 bytes from the encryptor.
        assert_eq!(report["parties"][name]["level"], "bits128");
    }
    assert_eq!(text(home.at("out/a.csv")), "value\n-7.875\n");
}

#[test]
fn a_matrix_and_its_shares_whoever_encrypts() {
    let home = Home::new();
    let column = |seed| numbers(seed, 121, -64..64);
    let mine = [("x", column(1)), ("y", column(2)), ("z", column(3))];
    let theirs = [("u", column(4)), ("v", column(5))];
    let expected: Vec<Vec<i64>> =
        mine.iter().map(|(_, one)| theirs.iter().map(|(_, other)| product(one, other)).collect()).collect();
    let inputs = [columns(&home, "a.csv", &mine), columns(&home, "b.csv", &theirs)];
    let names = "column = { a = [\"x\", \"y\", \"z\"], b = [\"u\", \"v\"] }";
    let terms = |rest: &str| job(&format!("{SHORT}\nbits = 7\nsigned = true\n{rest}")).replace("column = \"x\"", names);
    // b has fewer columns and encrypts: as a learner it gets values, else both have shares.
    for learners in ["[\"a\"]", "[\"b\"]", "[\"a\", \"b\"]"] {
        let job = terms("chunk = 50").replace("[\"a\", \"b\"]\ncolumn", &format!("{learners}\ncolumn"));
        let report = simulate(&home, &job, [&inputs[0], &inputs[1]], "out", &["--allow-insecure"]);
        for name in ["a", "b"] {
            let result = if learners.contains(name) { json!({ "value": expected }) } else { Value::Null };
            assert_eq!(report["parties"][name]["result"], result, "{learners}");
        }
    }
    for modulus in ["", "modulus = \"2^127\"", "modulus = \"1000003\""] {
        let job = terms(&format!("reveal = \"shares\"\n{modulus}"));
        simulate(&home, &job, [&inputs[0], &inputs[1]], "shares", &["--allow-insecure"]);
        let shares = ["a", "b"].map(|party| home.at(&format!("shares/{party}.json")));
        assert_eq!(json(&shares[0])["values"].as_array().unwrap().len(), 6);
        open(&home, &opening("open", "[\"b\"]"), &[("a", &shares[0]), ("b", &shares[1])]).well();
        assert_eq!(json(home.at("report.json"))["parties"]["b"]["result"], json!({ "value": expected }), "{modulus}");
    }
}

#[test]
fn rows_are_aligned_by_id_first() {
    let home = Home::new();
    let inputs = [
        home.file("a.csv", "id,x\nann,1\nbob,1\ncy,0\ndee,1\n"),
        home.file("b.csv", "id,x\ndee,1\neve,1\nbob,1\nann,0\n"),
    ];
    let job = job("protocol = \"paillier\"\nrow_id = \"id\"");
    let report = simulate(&home, &job, [&inputs[0], &inputs[1]], "out", &[]);
    assert_eq!(report["parties"]["b"]["result"], json!({"value": 2}));
    assert!(report["parties"]["b"]["choice"].as_str().unwrap().starts_with("paillier after "));
}

#[test]
fn what_the_plan_says_is_what_the_run_does() {
    costs_what_the_plan_says(
        70,
        [
            ("[\"a\"]", &["chunk = 33"][..]),
            ("[\"b\"]", &["chunk = 1\nbits = 5\nsigned = true"]),
            ("[\"a\", \"b\"]", &["reveal = \"shares\"\nmodulus = \"2^64\""]),
        ],
    );
}

#[test]
#[ignore = "slow: more rows, and each key of the terms alone"]
fn every_plan_is_what_the_run_does() {
    costs_what_the_plan_says(
        700,
        [
            ("[\"a\"]", &["", "chunk = 333"][..]),
            ("[\"b\"]", &["chunk = 1", "bits = 5\nsigned = true"]),
            ("[\"a\", \"b\"]", &["", "reveal = \"shares\"\nmodulus = \"2^64\""]),
        ],
    );
}

fn costs_what_the_plan_says(rows: usize, cases: [(&str, &[&str]); 3]) {
    let home = Home::new();
    let (a, b) = (numbers(1, rows, 0..2), numbers(2, rows, 0..2));
    let inputs = [table(&home, "a.csv", &a), table(&home, "b.csv", &b)];
    for (learners, rests) in cases {
        for rest in rests {
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
                assert_eq!(planned["rounds"], ran["rounds"], "{rest} {learners}");
                let encrypts = if learners.contains('a') { "a" } else { "b" };
                assert_eq!(share["learned"].to_string().contains("from a pool"), name != encrypts, "{learners} {name}");
                assert!(share["memory"].as_u64() >= ran["peak_memory"].as_u64().map(|held| held / 2));
            }
            assert_eq!(planned["protocol"], "paillier");
        }
    }
}

/// Bytes of a run with chunks: each further message has a header of its own.
#[test]
fn chunks_are_as_long_as_the_terms_say() {
    let home = Home::new();
    let inputs = [table(&home, "a.csv", vec![1; 1000]), table(&home, "b.csv", vec![1; 1000])];
    let sent = |rest: &str| {
        let report =
            simulate(&home, &job(&format!("{SHORT}\n{rest}")), [&inputs[0], &inputs[1]], "out", &["--allow-insecure"]);
        assert_eq!(report["parties"]["a"]["result"], json!({"value": 1000}));
        report["parties"]["a"]["bytes"]["sent"].as_u64().unwrap()
    };
    // The terms are part of what is sent: numbers of equal length are compared.
    assert_eq!(sent("chunk = 100") - sent("chunk = 200"), 5 * 10);
    assert_eq!(sent("chunk = 100") - sent("chunk = 999"), 8 * 10);
}

#[test]
fn other_levels_are_there_for_paillier_alone_and_weak_ones_only_if_allowed() {
    let home = Home::new();
    let input = table(&home, "a.csv", [1, 0, 1]);
    let inputs = [format!("a={input}"), format!("b={input}")];
    let run = |rest: &str, more: &[&str]| {
        let file = home.file("job.toml", &job(rest));
        tacita(&[&["simulate", &file, "--input", &inputs[0], "--input", &inputs[1]], more].concat())
    };
    for (rest, words) in [
        ("level = \"bits192\"", &["bits192", "paillier", "bits128"][..]),
        ("protocol = \"ot\"\nlevel = \"paper80\"", &["paper80", "paillier", "bits128"]),
        ("protocol = \"lattice\"\nlevel = \"bits256\"", &["bits256", "paillier"]),
        ("protocol = \"paillier\"\nlevel = \"bits192\"\nrow_id = \"x\"", &["bits192", "row_id", "position"]),
        ("protocol = \"paillier\"\nlevel = \"paper80\"", &["paper80", "--allow-insecure"]),
        ("protocol = \"paillier\"\nlevel = \"bits112\"", &["bits112", "--allow-insecure"]),
        ("chunk = 10", &["chunk", "paillier"]),
        ("protocol = \"lattice\"\nchunk = 10", &["chunk", "paillier"]),
        ("protocol = \"paillier\"\nchunk = 0", &["chunk = 0", "1 to 1365", "3072"]),
        ("protocol = \"paillier\"\nchunk = 1366", &["chunk = 1366", "1 to 1365"]),
        ("protocol = \"paillier\"\nextension = \"silent\"", &["extension", "paillier"]),
        ("protocol = \"paillier\"\nsecurity = \"malicious\"", &["malicious", "semi-honest"]),
    ] {
        run(rest, &[]).failed(2, words);
    }
    run("protocol = \"paillier\"\nlevel = \"bits112\"", &["--allow-insecure"]).well();
    let intersect = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"a\"]\nprotocol = \"vole\"\nlevel = \"bits192\"\n[key]\ncolumns = [\"x\"]\n\
                     [parties.a]\n[parties.b]\n";
    let file = home.file("job.toml", intersect);
    tacita(&["simulate", &file, "--input", &inputs[0], "--input", &inputs[1]]).failed(2, &["bits192", "bits128"]);
    // Whoever runs a party decides for that party.
    let pair = Pair::new(&format!("job = \"dot\"\nid = \"t\"\nreveal_to = [\"hospital\"]\ncolumn = \"x\"\n{SHORT}\n"));
    NAMES.iter().for_each(|name| pair.table(name, "x\n1\n1\n"));
    pair.start("hospital", &[]).end().failed(2, &["paper80", "--allow-insecure"]);
    let running = NAMES.map(|name| pair.start(name, &["--allow-insecure"]));
    let [one, _] = running.map(|running| running.end().well());
    assert_eq!(one.stdout, "value 2\n");
}

#[test]
fn auto_never_takes_it_and_the_plan_tells_what_it_costs() {
    let home = Home::new();
    let planned = |rest: &str, rows: u32| -> BTreeMap<String, Value> {
        let file = home.file("plan.toml", &job(rest));
        let rows = ["a", "b"].map(|name| format!("{name}={rows}"));
        let ended = tacita(&["plan", &file, "--json", "--rows", &rows[0], "--rows", &rows[1]]).well();
        serde_json::from_str(&ended.stdout).unwrap()
    };
    for rows in [1, 1_000_000] {
        assert_eq!(planned("", rows)["protocol"], "ot");
    }
    let named = planned("protocol = \"paillier\"", 1_000_000);
    assert_eq!(named["why"], "the job names it");
    let cpu = |name: &str| named["parties"][name]["cpu_seconds"].as_f64().unwrap();
    // Whoever encrypts has most of the work.
    assert!(cpu("a") > 100.0 && cpu("b") > 1.0 && cpu("b") < cpu("a"), "{named:?}");
}
