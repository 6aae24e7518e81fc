//! Submissions: repeated, too many, of strangers.

use serde_json::json;

use super::world::{ROUND, World};

/// The same file again counts once; another one counts, too.
#[test]
fn what_is_submitted_again_counts_once() {
    let world = World::started(&["a", "b"], json!({ "reveal_when": "count >= 1 and distinct >= 1" }), json!({}));
    world.submit("a", &["x", "x", "y"]).well();
    let again = world.submit("a", &["x", "x", "y"]).well();
    assert!(again.stderr.contains("1 batch were there") || again.stderr.contains("1 batch"), "{}", again.stderr);
    world.submit_with("a", &["x", "x", "y"], &["--resume"]).well();
    world.submit("a", &["z"]).well();
    world.submit("b", &["x"]).well();
    let expected = [("x", 3), ("y", 1), ("z", 1)].map(|(item, count)| (item.to_owned(), count));
    assert_eq!(world.result("a"), expected.into());
}

#[test]
fn a_participant_reports_no_more_than_it_may() {
    let world = World::started(&["a", "b"], json!({ "max_reports": 3 }), json!({}));
    world.submit("a", &["x", "y"]).well();
    world.submit("a", &["z", "w"]).failed(2, &["refuses the reports", "3 reports of one participant", "has 2"]);
    world.submit("a", &["z"]).well();
    world.submit("b", &["x"]).well();
    assert_eq!(world.result("b"), [("x".to_owned(), 2)].into());
}

/// A full queue tells participants to come again, and those who do are not refused for good.
#[test]
fn a_full_queue_tells_participants_to_come_again() {
    let mut world = World::new(&["a", "b"], json!({}), json!({}));
    world.start("database");
    world.start_with("proxy", &["--queue", "16KB"]);
    world.start("oracle");
    world.submit("a", &["x"]).well();
    let items: Vec<String> = (0..200).map(|number| format!("item-{number}")).collect();
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    world.submit_with("b", &items, &["--patience", "1s"]).failed(75, &["queue is full", "submit again later"]);
}

/// Checks that a party that is not in the list, or is not who the others expect, is refused, and that both are named.
#[test]
fn strangers_are_refused() {
    let mut world = World::started(&["a", "b"], json!({}), json!({}));
    // b's key pair under the name of nobody in the list.
    let directory = world.home.at("id-stranger");
    crate::common::tacita(&["identity", "new", &directory]).well();
    world.submit_with("stranger", &["x"], &["--timeout", "2s"]).failed(4, &["the proxy", "refused our identity"]);
    world
        .as_participant("results", "stranger", &["--timeout", "2s"])
        .end()
        .failed(4, &["the database", "refused our identity"]);
    // A name that belongs to another identity: the proxy knows who it is, and the proof does not fit.
    world.submit("a", &["x"]).well();
    world.submit("b", &["x"]).well();
    // Somebody else in the database's place.
    world.kill("database");
    std::fs::rename(world.home.at("id-database"), world.home.at("id-kept")).unwrap();
    std::fs::rename(world.home.at("id-stranger"), world.home.at("id-database")).unwrap();
    let job = world.home.at("job.json");
    let (text, own) = (crate::common::text(&job), crate::common::text(world.home.at("participants")));
    let fingerprint =
        |directory: &str| crate::common::tacita(&["identity", "show", directory]).well().stdout.trim().to_owned();
    let (real, other) = (fingerprint(&world.home.at("id-kept")), fingerprint(&world.home.at("id-database")));
    std::fs::write(&job, text.replace(&real, &other)).unwrap();
    std::fs::create_dir(world.home.at("elsewhere")).unwrap();
    std::fs::rename(world.home.at("state-database"), world.home.at("state-kept")).unwrap();
    world.start("database");
    std::fs::write(&job, &text).unwrap();
    assert!(!own.is_empty());
    // It is not the database, and says nothing of it: who looks for that waits.
    world.role("proxy").until_it_says("another server answers there, which counts as no answer");
    world
        .as_participant("results", "a", &["--timeout", "1s"])
        .end()
        .failed(3, &["the database", "presents", "expected"]);
    world.take("database").stop();
    for (moved, place) in [("id-stranger", "id-database"), ("state-stranger", "state-database")] {
        std::fs::rename(world.home.at(place), world.home.at(moved)).unwrap();
    }
    std::fs::rename(world.home.at("id-kept"), world.home.at("id-database")).unwrap();
    std::fs::rename(world.home.at("state-kept"), world.home.at("state-database")).unwrap();
    world.start("database");
    assert_eq!(world.result("a"), [("x".to_owned(), 2)].into());
}

/// Checks that a silent role is named.
#[test]
fn a_role_that_is_silent_is_named() {
    let mut world = World::started(&["a", "b"], json!({}), json!({}));
    world.submit("a", &["x"]).well();
    world.submit("b", &["x"]).well();
    world.kill("proxy");
    world.submit_with("a", &["y"], &["--timeout", "1s"]).failed(3, &["the proxy", "connection refused"]);
    world.operate("close", ROUND, &[]).well();
    world.as_participant("results", "a", &[]).end().failed(75, &["round one is closed", "waits for the proxy"]);
    world.start("proxy");
    world.kill("oracle");
    world.kill("database");
    world.start_with("database", &["--patience", "1s"]);
    let status = world.until(ROUND, &["failed"]);
    assert_eq!(status["failure"]["culprit"], "the oracle", "{status}");
    world.as_participant("results", "a", &[]).end().failed(3, &["the oracle", "has no result"]);
    // The round goes on when it is there again.
    world.start("oracle");
    world.operate("reveal", ROUND, &[]).well();
    world.until(ROUND, &["revealed"]);
    assert_eq!(world.collected("b", ROUND), [("x".to_owned(), 2)].into());
    world.kill("database");
    world.as_participant("results", "a", &["--timeout", "1s"]).end().failed(3, &["the database", "connection refused"]);
}

/// A role that is told to end does, and leaves its report.
#[test]
fn a_role_that_is_told_to_end_does() {
    let mut world = World::started(&["a", "b"], json!({}), json!({}));
    world.submit("a", &["x"]).well();
    for role in ["proxy", "database", "oracle"] {
        let ended = world.take(role).stop().well();
        assert!(ended.stderr.contains("ending when the requests under way are answered"), "{}", ended.stderr);
        assert!(!ended.stderr.contains("error: "), "{}", ended.stderr);
        let report = world.report(role);
        assert!(report["learned"].as_array().is_some_and(|learned| !learned.is_empty()), "{report}");
        assert!(report["bytes"]["received"].as_u64().is_some_and(|bytes| bytes > 0), "{report}");
    }
    assert_eq!(world.report("proxy")["numbers"]["accepted_reports"], 1);
    // What was acknowledged is there when they are back.
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    world.submit("b", &["x"]).well();
    assert_eq!(world.result("b"), [("x".to_owned(), 2)].into());
}

/// A proxy has not heard of a round yet that has just opened beside another one.
#[test]
fn a_round_takes_reports_as_soon_as_it_is_open() {
    let world = World::started(&["a", "b"], json!({}), json!({}));
    world.submit("a", &["x"]).well();
    for number in 0..4 {
        let round = format!("more-{number}");
        world.operate("open", &round, &[]).well();
        let told = world.submit_with("a", &["x"], &["--round", &round]).well();
        assert!(told.stderr.contains(&format!("to round {round}")), "{}", told.stderr);
    }
}

/// Checks that an unknown round is not refused: it may have opened since the database has answered last.
#[test]
fn a_round_that_is_not_known_is_not_refused_while_the_database_is_silent() {
    let mut world = World::started(&["a", "b"], json!({}), json!({}));
    world.submit("a", &["x"]).well();
    world.role("database").signal(rustix::process::Signal::STOP);
    let more = ["--round", "another", "--patience", "1s"];
    world.submit_with("a", &["x"], &more).failed(75, &["the database does not answer at the moment"]);
    world.role("database").signal(rustix::process::Signal::CONT);
    world.submit_with("a", &["x"], &more).failed(2, &["no round of this name"]);
}

/// Rows that do not keep to the job's limits are seen before anything is sent.
#[test]
fn nothing_is_submitted_of_rows_that_do_not_keep_to_a_limit() {
    let world = World::started(&["a", "b"], json!({}), json!({ "limits": { "max_null": 1, "min_rows": 2 } }));
    world
        .submit("a", &["x", "unknown", "-"])
        .failed(2, &["a has 2 rows without a key, of 3 rows", "limits.max_null is 1"]);
    world.submit("b", &["x"]).failed(2, &["b has 1 report", "limits.min_rows is 2"]);
    world.submit("b", &["x", "y"]).well();
    world.submit("a", &["x", "unknown", "z"]).well();
    assert_eq!(world.result("a"), [("x".to_owned(), 2)].into());
}
