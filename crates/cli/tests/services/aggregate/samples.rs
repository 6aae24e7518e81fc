//! The samples that are shipped, against the results that their generator expects: every form of list among them.

use std::path::Path;

use crate::common::{Home, Running, examples, text};

fn check(example: &str, job: &str, inputs: &str, learner: &str) {
    let (home, directory) = (Home::new(), examples().join(example));
    let file = directory.join(job).with_extension("toml");
    check_job(&home, &file.display().to_string(), (example, job, inputs), learner);
}

/// The same by the published protocol, which the sample does not name.
fn check_published(example: &str, inputs: &str, learner: &str) {
    let home = Home::new();
    let text = text(examples().join(example).join("job.toml"));
    let file = home.file("job.toml", &format!("protocol = \"naor-reingold\"\n{text}"));
    check_job(&home, &file, (example, "job", inputs), learner);
}

fn check_job(home: &Home, file: &str, (example, job, inputs): (&str, &str, &str), learner: &str) {
    let directory = examples().join(example);
    let mut arguments = vec!["simulate".to_owned(), file.to_owned()];
    let mut files: Vec<_> =
        std::fs::read_dir(directory.join(inputs)).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.is_file() && !file.extension().is_some_and(|ending| ending == "toml" || ending == "md"));
    files.sort();
    for file in &files {
        let name = file.file_stem().and_then(|stem| stem.to_str()).unwrap();
        arguments.extend(["--input".to_owned(), format!("{name}={}", file.display())]);
    }
    arguments.extend(["--force".to_owned(), "--output".to_owned(), home.at("out")]);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    Running::start(&arguments).end_within(super::simulated::LONG).well();
    let expected = text(directory.join("expected").join(job).join("results.csv"));
    assert_eq!(text(Path::new(&home.at("out")).join(format!("{learner}.csv"))), expected, "{example}/{job}");
}

#[test]
fn attackers_of_networks() {
    check("attackers", "job", "lists", "zelkova");
}

#[test]
fn attackers_with_their_histogram() {
    check("attackers", "three", "lists", "cedar");
}

#[test]
fn certificates_that_observers_saw() {
    check("certificates", "job", ".", "observer_7");
}

#[test]
fn popular_sites_with_their_visits() {
    check("popular-sites", "job", ".", "network_3");
}

#[test]
#[ignore = "slow: one sample by this protocol is always checked"]
fn attackers_by_the_published_protocol() {
    check_published("attackers", "lists", "zelkova");
}

#[test]
#[ignore = "slow: one sample by this protocol is always checked"]
fn certificates_by_the_published_protocol() {
    check_published("certificates", ".", "observer_7");
}

/// The one that has values, too.
#[test]
fn popular_sites_by_the_published_protocol() {
    check_published("popular-sites", ".", "network_3");
}
