//! A doctor looks at a participant's side, and at each service's.

use std::net::TcpListener;

use serde_json::json;

use super::world::World;
use crate::common::{Ended, tacita, text};

/// A job whose services have addresses, as a doctor needs them.
fn addressed() -> World {
    let mut world = World::new(&["a", "b"], json!({}), json!({}));
    // Ports that were free a moment ago, all at once so that they differ.
    let ports: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    let mut job: serde_json::Value = serde_json::from_str(&text(world.job())).unwrap();
    for (role, port) in ["proxy", "oracle", "database"].into_iter().zip(&ports) {
        job[role][0]["address"] = port.local_addr().unwrap().to_string().into();
    }
    world.home.file("job.json", &job.to_string());
    drop(ports);
    world.addressed = true;
    world
}

fn doctor(world: &World, job: &str, who: &str, identity: &str, more: &[&str]) -> Ended {
    let id = world.home.at(&format!("id-{identity}"));
    tacita(&[&["doctor", job, "--as", who, "--identity", &id], more].concat())
}

#[track_caller]
fn says(ended: &Ended, code: i32, words: &[&str]) {
    assert_eq!(ended.code, code, "{}", ended.stdout);
    for words in words {
        assert!(ended.stdout.contains(words), "{words}: {}", ended.stdout);
    }
}

#[test]
fn a_doctor_finds_what_a_participant_needs() {
    let mut world = addressed();
    let (job, input) = (world.job(), world.home.file("own.csv", "item\nx\n\ny\n"));
    let before = doctor(&world, &job, "a", "a", &["--input", &input]);
    let silent = "expected if it is not running yet";
    says(&before, 0, &["ok    identity", "2 reports", silent, "the proxy", "the database", "Nothing to mend."]);
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    let all = ["the proxy answers at", "ok    clock      the database's", "as the proxy's (agreement", "ok    name"];
    says(
        &doctor(&world, &job, "a", "a", &["--input", &input, "--force", "--output", &world.home.at("x.stix.json")]),
        0,
        &all,
    );
    // What each mistake looks like.
    says(&doctor(&world, &job, "b", "a", &[]), 2, &["MEND  name", "knows this identity as a: use --as a"]);
    tacita(&["identity", "new", &world.home.at("id-stranger")]).well();
    says(&doctor(&world, &job, "a", "stranger", &[]), 2, &["MEND  network", "refused our identity"]);
    says(&doctor(&world, &job, "a", "nobody", &[]), 2, &["MEND  identity", "tacita identity new"]);
    let other = world.home.file("other.json", &text(&job).replace("distinct >= 2", "distinct >= 3"));
    let differ = doctor(&world, &other, "a", "a", &[]);
    says(&differ, 2, &["MEND  terms", "round.reveal_when (ours \"distinct >= 3\", theirs \"distinct >= 2\")"]);
    for (content, words) in [("thing\nx\n", "no column \"item\""), ("item\n", "no reports to submit")] {
        let input = world.home.file("wrong.csv", content);
        says(&doctor(&world, &job, "a", "a", &["--input", &input]), 2, &["MEND  input", words]);
    }
    let past = world
        .home
        .file("past.json", &text(&job).replace("\"round\":{", "\"round\":{\"close_at\":\"2020-01-01T00:00Z\","));
    says(&doctor(&world, &past, "a", "a", &[]), 2, &["MEND  round", "has passed"]);
}

#[test]
fn a_doctor_finds_what_a_service_needs() {
    let mut world = addressed();
    let job = world.job();
    says(
        &doctor(&world, &job, "proxy", "proxy", &[]),
        0,
        &["2 participants may report", "can listen on", "the database"],
    );
    says(&doctor(&world, &job, "oracle", "proxy", &[]), 2, &["MEND  identity", "[[oracle]]"]);
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    for (role, dialed) in [("proxy", "the database"), ("oracle", "the proxy"), ("database", "the oracle")] {
        let answers = format!("{dialed} answers at");
        says(&doctor(&world, &job, role, role, &[]), 0, &[&answers, "expected if the", "Nothing to mend."]);
    }
    world.home.file("participants", "a SHA256:nonsense");
    says(&doctor(&world, &job, "database", "database", &[]), 2, &["MEND  list", "line 1"]);
}
