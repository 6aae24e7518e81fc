//! Scalar products of the parties `a` and `b`, and their shares.

use serde_json::{Value, json};

use super::{Ended, Home, json, tacita};

/// Runs a job of `a` and `b` on these files, with results in the directory `out` of `home`.
#[track_caller]
pub fn simulate(home: &Home, job: &str, inputs: [&str; 2], out: &str, more: &[&str]) -> Value {
    let (job, report) = (home.file("job.toml", job), home.at("report.json"));
    let inputs = ["a", "b"].map(|name| format!("{name}={}", inputs[usize::from(name == "b")]));
    let out = home.at(out);
    let fixed = [
        "simulate", &job, "--force", "--output", &out, "--report", &report, "--input", &inputs[0], "--input",
        &inputs[1],
    ];
    tacita(&[&fixed, more].concat()).well();
    json(report)
}

/// A table of one column `x`.
pub fn table(home: &Home, name: &str, values: impl IntoIterator<Item = impl ToString>) -> String {
    let lines: String = values.into_iter().map(|value| format!("{}\n", value.to_string())).collect();
    home.file(name, &format!("x\n{lines}"))
}

/// A job of `a` and `b` with one column `x` each, both of whom learn.
pub fn job(rest: &str) -> String {
    format!(
        "job = \"dot\"\nid = \"test\"\nreveal_to = [\"a\", \"b\"]\ncolumn = \"x\"\n{rest}\n[parties.a]\n[parties.b]\n"
    )
}

/// Pseudorandom numbers, the same in every run.
pub fn noise(seed: u64) -> impl Iterator<Item = u64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    })
}

/// A job that opens shares of `a` and `b`.
pub fn opening(operation: &str, learners: &str) -> String {
    format!(
        "job = \"shares\"\nid = \"opening\"\noperation = \"{operation}\"\nreveal_to = {learners}\n[parties.a]\n[parties.b]\n"
    )
}

/// Shares of the product of these columns: the two files.
pub fn shared(home: &Home, name: &str, rest: &str, a: &[i64], b: &[i64]) -> [String; 2] {
    let inputs = [table(home, "a.csv", a), table(home, "b.csv", b)];
    shared_by(home, name, &job(&format!("reveal = \"shares\"\n{rest}")), &inputs, 1)
}

/// Shares of `count` products, as this job makes them of these tables: the two files.
#[track_caller]
pub fn shared_by(home: &Home, name: &str, job: &str, inputs: &[String; 2], count: usize) -> [String; 2] {
    let report = simulate(home, job, [&inputs[0], &inputs[1]], name, &[]);
    for party in ["a", "b"] {
        assert_eq!(report["parties"][party]["result"], json!({ "shares": count }));
        assert!(report["parties"][party]["learned"].to_string().contains("learns no product"));
    }
    ["a", "b"].map(|party| home.at(&format!("{name}/{party}.json")))
}

/// Runs a job on share files, each of a party, with results in the directory `opened` of `home` and the report in
/// `report.json`.
#[track_caller]
pub fn open(home: &Home, job: &str, inputs: &[(&str, &str)]) -> Ended {
    let job = home.file("open.toml", job);
    let (out, report) = (home.at("opened"), home.at("report.json"));
    let inputs: Vec<_> = inputs.iter().map(|(party, file)| format!("{party}={file}")).collect();
    let mut arguments = vec!["simulate", &job, "--force", "--output", &out, "--report", &report];
    arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
    tacita(&arguments)
}
