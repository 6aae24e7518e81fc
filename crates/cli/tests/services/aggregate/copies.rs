//! Copies of state directories and storages, put back or started beside the original, and queues that are lost: nothing
//! that was acknowledged is missing without a word, and nothing counts twice.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use super::backups::copy_all;
use super::world::{ROUND, World};
use crate::common::Running;

const ELSEWHERE: &str = "the reports that this proxy acknowledged are in another state directory than";

/// One proxy, and reports of two participants.
fn begun() -> World {
    let round = json!({ "reveal_when": "count >= 1 and distinct >= 1", "min_participants": 2 });
    let world = World::started(&["a", "b", "c"], round, json!({}));
    ["a", "b"].iter().for_each(|name| submit(&world, name));
    world
}

fn submit(world: &World, name: &str) {
    world.submit(name, &["all", &format!("of-{name}")]).well();
}

fn expected(names: &[&str]) -> BTreeMap<String, u64> {
    let own = names.iter().map(|name| (format!("of-{name}"), 1));
    own.chain([("all".to_owned(), names.len() as u64)]).collect()
}

fn copy(world: &World, from: &str, to: &str) {
    copy_all(Path::new(&world.home.at(from)), Path::new(&world.home.at(to)));
}

/// Puts a directory in the place of another one, which is kept beside it.
fn swap(world: &World, state: &str, other: &str) {
    let [state, other, kept] = [state, other, "kept"].map(|name| world.home.at(name));
    std::fs::rename(&state, &kept).unwrap();
    std::fs::rename(&other, &state).unwrap();
    std::fs::rename(&kept, &other).unwrap();
}

fn queue(world: &World) -> std::path::PathBuf {
    let entries = std::fs::read_dir(world.home.at("state-proxy")).unwrap().map(|entry| entry.unwrap().path());
    entries.into_iter().find(|path| path.file_name().unwrap().to_string_lossy().starts_with("queue-")).unwrap()
}

#[test]
fn an_older_copy_of_a_directory_that_is_put_back_takes_and_sends_nothing() {
    let mut world = begun();
    world.kill("proxy");
    copy(&world, "state-proxy", "older");
    world.start("proxy");
    submit(&world, "c");
    world.kill("proxy");
    swap(&world, "state-proxy", "older");
    world.start("proxy");
    world.role("proxy").until_it_says(ELSEWHERE);
    let ended = world.submit_with("a", &["all", "of-a"], &["--patience", "1s", "--timeout", "5s"]);
    ended.failed(75, &["in another state directory"]);
    world.operate("close", ROUND, &[]).well();
    let waits = json!(["the proxy, which is there without the state directory that has its reports"]);
    let until = Instant::now() + Duration::from_secs(40);
    while world.status(ROUND)["waits_for"] != waits {
        assert!(Instant::now() < until, "{}", world.status(ROUND));
        std::thread::sleep(Duration::from_millis(50));
    }
    world.kill("proxy");
    swap(&world, "state-proxy", "older");
    world.start("proxy");
    assert_eq!(world.result("a"), expected(&["a", "b", "c"]));
}

#[test]
fn of_a_directory_and_a_copy_that_is_started_beside_it_one_goes_on() {
    let mut world = begun();
    let address = world.home.at("addresses/proxy-1");
    let original = std::fs::read_to_string(&address).unwrap();
    copy(&world, "state-proxy", "beside");
    let (job, id, state, addresses) =
        (world.job(), world.home.at("id-proxy"), world.home.at("beside"), world.home.at("addresses"));
    let arguments =
        ["proxy", &job, "--identity", &id, "--state", &state, "--listen", "127.0.0.1:0", "--announce", &addresses];
    let mut beside = Running::start(&arguments);
    beside.until_it_says("listens on");
    // It takes this one, and has the round from then on.
    submit(&world, "c");
    std::fs::write(&address, original).unwrap();
    for name in ["a", "c"] {
        let ended = world.submit_with(name, &["more"], &["--patience", "1s", "--timeout", "5s"]);
        ended.failed(75, &["in another state directory"]);
    }
    world.role("proxy").until_it_says(ELSEWHERE);
    assert_eq!(world.result("b"), expected(&["a", "b", "c"]));
    beside.stop();
}

#[test]
fn a_queue_that_is_lost_or_older_is_waited_for() {
    let mut world = begun();
    world.kill("proxy");
    let (path, kept, older) = (queue(&world), world.home.at("kept-queue"), world.home.at("older-queue"));
    copy_all(&path, Path::new(&older));
    world.start("proxy");
    submit(&world, "c");
    world.kill("proxy");
    std::fs::rename(&path, &kept).unwrap();
    world.start("proxy");
    world.role("proxy").until_it_says("its queue is gone");
    world.operate("close", ROUND, &[]).well();
    world.kill("proxy");
    std::fs::rename(&older, &path).unwrap();
    world.start("proxy");
    world.role("proxy").until_it_says("its queue lacks 1 batch that this proxy has acknowledged");
    assert_eq!(world.status(ROUND)["state"], "closed");
    world.kill("proxy");
    std::fs::remove_dir_all(&path).unwrap();
    std::fs::rename(&kept, &path).unwrap();
    world.start("proxy");
    assert_eq!(world.result("a"), expected(&["a", "b", "c"]));
}

/// Without the list of participants, whoever submits again would get another number, and count twice.
#[test]
fn a_list_of_participants_that_is_lost_is_waited_for() {
    let mut world = begun();
    world.kill("proxy");
    let (list, kept) = (world.home.at("state-proxy/participants.json"), world.home.at("kept-list"));
    std::fs::rename(&list, &kept).unwrap();
    world.start("proxy");
    world.role("proxy").until_it_says("participants.json lacks a participant of its queue");
    // What is lost, and where, is for this proxy's log.
    let ended = world.submit_with("a", &["more"], &["--patience", "1s", "--timeout", "5s"]);
    assert!(
        !ended.stderr.contains(&world.home.at("state-proxy")) && !ended.stderr.contains(".json lacks"),
        "{}",
        ended.stderr
    );
    ended.failed(75, &["round one: the reports that this proxy acknowledged are in another state directory"]);
    world.kill("proxy");
    std::fs::rename(&kept, &list).unwrap();
    world.start("proxy");
    assert_eq!(world.result("a"), expected(&["a", "b"]));
}

#[test]
fn a_storage_that_is_put_back_to_an_earlier_state_ends_the_round() {
    let mut world = begun();
    world.take("database").stop();
    copy(&world, "state-database", "older");
    world.start("database");
    submit(&world, "c");
    world.kill("database");
    swap(&world, "state-database", "older");
    world.start("database");
    world.operate("close", ROUND, &[]).well();
    let status = world.until(ROUND, &["revealed", "failed"]);
    let reason = status["failure"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("the storage lacks changes that it had confirmed to the proxy"), "{status}");
}

/// A storage of before that was started by mistake fails the round there, and nowhere else: what it had refused is
/// taken when the right one is back.
#[test]
fn a_round_goes_on_when_the_right_storage_is_put_back() {
    let round = json!({ "reveal_when": "count >= 1 and distinct >= 1", "min_participants": 2 });
    let mut world = World::started(&["a", "b", "c", "d"], round, json!({}));
    ["a", "b"].iter().for_each(|name| submit(&world, name));
    world.take("database").stop();
    copy(&world, "state-database", "older");
    world.start("database");
    submit(&world, "c");
    world.kill("database");
    swap(&world, "state-database", "older");
    world.start("database");
    world.submit_with("d", &["all", "of-d"], &["--patience", "1s", "--timeout", "5s"]).failed(75, &[]);
    world.role("proxy").until_it_says("round one has failed at the database");
    world.kill("database");
    swap(&world, "state-database", "older");
    world.start("database");
    world.role("proxy").until_it_says("round one continues at the database");
    submit(&world, "d");
    assert_eq!(world.result("a"), expected(&["a", "b", "c", "d"]));
}

/// Checks that reports that a proxy was handing over to a lost one are lost with it, and that this is reported.
#[test]
fn reports_that_are_lost_with_another_proxy_are_counted() {
    let round = json!({ "reveal_when": "count >= 1 and distinct >= 1", "min_participants": 2 });
    let mut world = World::of_several(&[("proxy", 2)], &["a", "b", "c", "d"], round, json!({}));
    ["database", "oracle", "proxy", "proxy-1"].iter().for_each(|role| world.start(role));
    ["proxy", "proxy-1"].iter().for_each(|role| world.role(role).until_it_says("round one takes reports"));
    // All but one go to the first.
    world.kill("proxy-1");
    for name in ["a", "b", "c"] {
        world.submit_with(name, &["all", &format!("of-{name}")], &["--timeout", "5s"]).well();
    }
    world.start("proxy-1");
    world.kill("proxy");
    world.submit_with("d", &["all", "of-d"], &["--timeout", "5s"]).well();
    world.kill("proxy-1");
    world.start("proxy");
    world.operate("close", ROUND, &[]).well();
    let until = Instant::now() + Duration::from_secs(40);
    while world.status(ROUND)["waits_for"].as_array().is_none_or(|waits| waits.len() != 1) {
        assert!(Instant::now() < until, "{}", world.status(ROUND));
        std::thread::sleep(Duration::from_millis(50));
    }
    world.kill("proxy");
    world.start_with("proxy-1", &["--verbose"]);
    // It has begun to hand over what it has.
    world.role("proxy-1").until_it_says("connection refused");
    world.operate("close", ROUND, &["--without-proxy", "1"]).well();
    let status = world.until(ROUND, &["revealed", "failed"]);
    assert_eq!(status["state"], "revealed", "{status}");
    assert_eq!((&status["numbers"]["discarded"], &status["numbers"]["reports"]), (&json!(2), &json!(0)), "{status}");
    world.role("proxy-1").until_it_says("2 reports were being handed over to proxy 1, and are lost with it");
    world.role("database").until_it_says("has lost 2 reports that it was handing over");
}
