//! Every protocol gives the same result whichever of the processor's instructions its kernels take.

use crate::common::{Home, Running, files, json, text};
use serde_json::{Value, json};

/// Values of `TACITA_PORTABLE`: the fastest family available, the portable one that every processor has, and AVX2 where
/// that is not the fastest.
fn families() -> Vec<&'static str> {
    #[cfg(target_arch = "x86_64")]
    let has_more = std::is_x86_feature_detected!("avx512ifma");
    #[cfg(not(target_arch = "x86_64"))]
    let has_more = false;
    ["", "1", "avx2"].into_iter().take(if has_more { 3 } else { 2 }).collect()
}

/// Jobs with their options: the first two of these parties, or as many as a job names.
const PARTIES: [&str; 3] = ["a", "b", "c"];

/// Jobs of all protocols; `level` is that of Paillier's and Goldwasser and Micali's keys, `padded` the size of sets
/// that are filled up.
fn jobs(level: &str, padded: u64) -> Vec<(Value, &'static [&'static str])> {
    let of_two = |job: &str, more: Value| {
        merged(json!({ "job": job, "reveal_to": ["a"], "parties": { "a": {}, "b": {} } }), more)
    };
    let of_three = |more: Value| {
        merged(
            json!({ "job": "intersect", "reveal_to": ["a"], "key": { "columns": ["name"] }, "parties": { "a": {}, "b": {}, "c": {} } }),
            more,
        )
    };
    let keyed = |more: Value| of_two("intersect", merged(json!({ "key": { "columns": ["name"] } }), more));
    let dot = |more: Value| of_two("dot", merged(json!({ "column": "v", "bits": 1 }), more));
    let reports = |protocol: &str| {
        json!({
            "job": "aggregate", "protocol": protocol, "reveal_to": "participants", "key": { "columns": ["name"] },
            "round": { "reveal_when": "distinct >= 2", "min_participants": 2 }, "parties": { "a": {}, "b": {}, "c": {} },
        })
    };
    vec![
        (keyed(json!({ "protocol": "vole" })), &[]),
        (keyed(json!({ "protocol": "vole", "security": "malicious" })), &[]),
        (keyed(json!({ "protocol": "ecdh" })), &[]),
        (keyed(json!({ "protocol": "ecdh", "reveal": "count" })), &[]),
        (keyed(json!({ "protocol": "ecdh", "reveal": "sum:v", "gives": { "b": ["v"] } })), &[]),
        (keyed(json!({ "protocol": "bloom" })), &[]),
        (keyed(json!({ "protocol": "polynomial" })), &[]),
        (of_three(json!({ "protocol": "star" })), &[]),
        (of_three(json!({ "protocol": "polynomial" })), &[]),
        (of_three(json!({ "protocol": "outsourced", "limits": { "pad_to": padded } })), &[]),
        (of_three(json!({ "protocol": "outsourced-bloom", "limits": { "pad_to": padded } })), &["--allow-insecure"]),
        (of_two("union", json!({ "key": { "columns": ["name"] } })), &[]),
        (of_two("union", json!({ "key": { "columns": ["name"] }, "protocol": "polynomial-ot" })), &[]),
        (dot(json!({ "protocol": "ot" })), &[]),
        (dot(json!({ "protocol": "lattice" })), &[]),
        (dot(json!({ "protocol": "paillier", "level": level })), &["--allow-insecure"]),
        (dot(json!({ "protocol": "gm-bloom", "level": level, "density": 0.6 })), &["--allow-insecure"]),
        (
            of_two(
                "rules",
                json!({ "items": ["v", "w"], "min_support": 2, "min_confidence": 0.1, "reveal_to": ["a", "b"] }),
            ),
            &[],
        ),
        (reports("dh"), &[]),
        (reports("naor-reingold"), &[]),
    ]
}

fn merged(mut job: Value, more: Value) -> Value {
    more.as_object().unwrap().iter().for_each(|(key, value)| job[key] = value.clone());
    job
}

/// Returns all results of the parties that learn something.
fn run(home: &Home, job: &Value, options: &[&str], family: &str) -> (Vec<String>, Value) {
    let mut job = job.clone();
    job["id"] = "backends".into();
    let path = home.file("job.json", &job.to_string());
    let (out, report) = (home.at(&format!("out-{family}")), home.at("report.json"));
    let _ = std::fs::remove_dir_all(&out);
    let names = PARTIES.iter().filter(|name| job["parties"].get(name).is_some());
    let inputs: Vec<String> = names.map(|name| format!("{name}={}", home.at(&format!("{name}.csv")))).collect();
    let mut arguments = vec!["simulate", &path, "--force", "--output", &out, "--report", &report];
    inputs.iter().for_each(|input| arguments.extend(["--input", input]));
    arguments.extend(options);
    Running::start_with(&arguments, &[("TACITA_PORTABLE", family)]).end().well();
    let results = json(&report)["parties"].as_object().unwrap().values().map(|party| party["result"].clone()).collect();
    (files(&out).iter().map(|file| text(format!("{out}/{file}"))).collect(), results)
}

/// Few rows, though more than a kernel takes at once, and short keys.
#[test]
fn every_protocol_gives_the_same_by_each_back_end() {
    give_the_same_by_each_back_end(21, &jobs("paper80", 32));
}

#[test]
#[ignore = "slow: more rows, and keys of the usual length"]
fn every_protocol_gives_the_same_of_more_rows() {
    give_the_same_by_each_back_end(40, &jobs("bits128", 64));
}

fn give_the_same_by_each_back_end(rows: usize, jobs: &[(Value, &[&str])]) {
    let (home, families) = (Home::new(), families());
    for (place, name) in PARTIES.iter().enumerate() {
        let row =
            |row: usize| format!("k{},{},{}\n", row + 10 * place, row * (place + 3) / 5 % 2, (row + place) % 3 / 2);
        home.file(&format!("{name}.csv"), &format!("name,v,w\n{}", (0..rows).map(row).collect::<String>()));
    }
    for (job, options) in jobs {
        let mut results = families.iter().map(|family| run(&home, job, options, family));
        let fastest = results.next().unwrap();
        assert!(
            fastest.0.iter().any(|file| file.lines().count() > 1)
                || fastest.1.to_string().contains(|c: char| c.is_ascii_digit()),
            "{job}"
        );
        results.for_each(|other| assert_eq!(other, fastest, "{job}"));
    }
}
