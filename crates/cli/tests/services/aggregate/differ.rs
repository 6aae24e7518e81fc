//! Ends of one job that do not fit together: other terms, another name, another round.

use serde_json::json;

use super::world::{ROUND, World};
use crate::common::{tacita, text};

const DIFFERENT: &str = "round.reveal_when (ours \"distinct >= 3\", theirs \"distinct >= 2\")";

/// The job file of some, while that of the others stays.
fn with_other_terms(world: &World) -> String {
    let kept = text(world.job());
    world.home.file("job.json", &kept.replace("distinct >= 2", "distinct >= 3"));
    kept
}

/// Whoever comes with other terms is told which, with the exit code for it, before anything is sent.
#[test]
fn terms_that_differ_are_named() {
    let mut world = World::started(&["a", "b"], json!({}), json!({}));
    world.submit("a", &["x"]).well();
    let kept = with_other_terms(&world);
    world.submit("b", &["x"]).failed(5, &["the terms differ from those of the proxy", DIFFERENT]);
    world.as_participant("results", "a", &[]).end().failed(5, &["those of the database", DIFFERENT]);
    world.operate("close", ROUND, &[]).failed(5, &["those of the database", DIFFERENT]);
    // Services, too.
    let (own, aside) = (world.home.at("state-proxy"), world.home.at("aside"));
    for (role, other) in [("oracle", "the proxy"), ("proxy", "the database")] {
        world.kill(role);
        if role == "proxy" {
            std::fs::rename(&own, &aside).unwrap();
        }
        world.start(role);
        world.take(role).end().failed(5, &[&format!("those of {other}"), DIFFERENT]);
    }
    std::fs::remove_dir_all(&own).unwrap();
    std::fs::rename(&aside, &own).unwrap();
    // A round that was opened before stays what it is.
    world.kill("database");
    for role in ["proxy", "database"] {
        let (job, id) = (world.job(), world.home.at(&format!("id-{role}")));
        let (state, addresses) = (world.home.at(&format!("state-{role}")), world.home.at("addresses"));
        let listens = ["--listen", "127.0.0.1:0", "--announce", &addresses];
        tacita(&[&[role, &job, "--identity", &id, "--state", &state], &listens[..]].concat())
            .failed(5, &["round one was opened under other terms", "job file of that time"]);
    }
    // Nothing is lost by it.
    world.home.file("job.json", &kept);
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    world.submit("b", &["x"]).well();
    assert_eq!(world.result("a"), [("x".to_owned(), 2)].into());
}

/// Under another name than the list has, nothing is submitted, and nothing is collected.
#[test]
fn a_name_that_is_another_ones_is_refused() {
    let world = World::started(&["a", "b"], json!({}), json!({}));
    std::fs::rename(world.home.at("id-a"), world.home.at("id-b.kept")).unwrap();
    std::fs::rename(world.home.at("id-b"), world.home.at("id-a")).unwrap();
    let words = ["--as a", "knows this identity as b", "use --as b"];
    world.submit("a", &["x"]).failed(2, &words);
    world.as_participant("results", "a", &[]).end().failed(2, &words);
    assert_eq!(world.status(ROUND)["numbers"]["reports"], 0);
}

/// Checks that a report for a round that is not there goes to no other round.
#[test]
fn a_round_that_is_not_there_is_not_another_one() {
    let world = World::started(&["a", "b"], json!({}), json!({}));
    world.submit("a", &["x"]).well();
    world.submit_with("b", &["x"], &["--round", "next"]).failed(2, &["round next", "round one is open"]);
    world.submit("b", &["y"]).well();
    assert_eq!(world.result("a"), [].into());
}
