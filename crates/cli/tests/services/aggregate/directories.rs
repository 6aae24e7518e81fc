//! A proxy comes back without the state directory that has what it acknowledged: none of that is lost without a word.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;

use super::watched::{page, pages};
use super::world::{ROUND, World};
use crate::common::json as read_json;

const PROXIES: [&str; 3] = ["proxy", "proxy-1", "proxy-2"];

/// Participants by the proxy that each begins with.
const OF: [[&str; 3]; 3] = [["c", "d", "e"], ["b", "f", "o"], ["a", "g", "i"]];

/// Three proxies with the reports of three participants each, of which the second has lost its state directory.
fn bereft() -> World {
    let round = json!({ "reveal_when": "count >= 1 and distinct >= 1", "min_participants": 2 });
    let mut world = World::of_several(&[("proxy", 3)], OF.as_flattened(), round, json!({}));
    ["database", "oracle"].iter().chain(&PROXIES).for_each(|role| world.start(role));
    OF.as_flattened().iter().for_each(|name| drop(world.submit(name, &["all", &format!("of-{name}")]).well()));
    world.kill("proxy-1");
    std::fs::rename(world.home.at("state-proxy-1"), world.home.at("kept")).unwrap();
    world.start("proxy-1");
    let lost = "the reports that this proxy acknowledged are in another state directory than";
    world.role("proxy-1").until_it_says(lost);
    world
}

fn put_back(world: &mut World) {
    world.kill("proxy-1");
    std::fs::remove_dir_all(world.home.at("state-proxy-1")).unwrap();
    std::fs::rename(world.home.at("kept"), world.home.at("state-proxy-1")).unwrap();
    world.start("proxy-1");
}

fn own(names: &[&str]) -> BTreeMap<String, u64> {
    names.iter().map(|name| (format!("of-{name}"), 1)).collect()
}

#[test]
fn what_is_in_another_state_directory_is_waited_for() {
    let mut world = bereft();
    let said = world.role("proxy-1").said();
    assert!(said.contains("start it with that one") && said.contains("--without-proxy 2"), "{said}");
    // It takes nothing of this round. Those who come to it go on with another one.
    world.submit("b", &["late"]).well();
    world.operate("close", ROUND, &[]).well();
    let waits = "proxy 2, which is there without the state directory that has its reports";
    let told = ["waits for", waits];
    world.as_participant("results", "a", &["--force", "--output", &world.home.at("none.csv")]).end().failed(75, &told);
    // The others have told what they have, and wait for this one themselves.
    let until = Instant::now() + Duration::from_secs(30);
    while world.status(ROUND)["waits_for"] != json!([waits]) {
        assert!(Instant::now() < until, "{}", world.status(ROUND));
        std::thread::sleep(Duration::from_millis(50));
    }
    // Of another round it takes reports.
    world.operate("open", "two", &[]).well();
    world.role("proxy-1").until_it_says("round two takes reports");
    // What may be in that directory is given to no other round.
    let ended = world.submit_with("f", &["all", "of-f"], &["--timeout", "2s", "--patience", "2s"]);
    ended.failed(75, &["proxy 2: round one: the reports that this proxy acknowledged are in another state directory"]);
    put_back(&mut world);
    let mut expected = own(OF.as_flattened());
    expected.extend([("all".to_owned(), 9), ("late".to_owned(), 1)]);
    assert_eq!(world.result("a"), expected);
}

#[test]
fn a_round_goes_on_without_what_is_lost_if_its_operator_says_so() {
    let mut world = bereft();
    world.operate("close", ROUND, &["--without-proxy", "4"]).failed(2, &["there is no proxy 4: the job file names 3"]);
    assert_eq!(world.status(ROUND)["state"], "open");
    world.operate("close", ROUND, &["--without-proxy", "0"]).failed(2, &["--without-proxy"]);
    world.operate("close", ROUND, &["--without-proxy", "2"]).well();
    world.role("database").until_it_says("continues without the unsent reports of proxy 2");
    let mut expected = own(&[OF[0], OF[2]].concat());
    expected.insert("all".to_owned(), 6);
    assert_eq!(world.result("a"), expected);
    let (output, report) = (world.home.at("again.csv"), world.home.at("report.json"));
    let ended =
        world.as_participant("results", "c", &["--force", "--output", &output, "--report", &report]).end().well();
    assert!(ended.stderr.contains("was counted without the unsent reports of proxy 2"), "{}", ended.stderr);
    assert_eq!(read_json(report)["without_proxies"], json!([2]));
    world.operate("close", ROUND, &["--without-proxy", "1"]).failed(75, &["is revealed: it waits for no proxy"]);
    // What was lost and is found changes nothing of it any more.
    put_back(&mut world);
    world.operate("open", "two", &[]).well();
    world.role("proxy-1").until_it_says("round two takes reports");
    assert_eq!(world.collected("a", ROUND), expected);
    // Nobody is told that it was taken in a round that does not count it.
    for _ in 0..2 {
        let told =
            ["proxy 2 no longer knows", "round one continued without this proxy's unsent reports", "use --round two"];
        world.submit("b", &["all", "of-b"]).failed(2, &told);
    }
    world.submit_with("b", &["all", "of-b"], &["--round", "two"]).well();
    assert_eq!(world.until("two", &["open"])["state"], "open");
}

#[test]
fn a_proxy_is_ready_again_when_a_round_goes_on_without_it() {
    let mut world = bereft();
    world.take("proxy-1").stop();
    world.start_with("proxy-1", &["--status", "127.0.0.1:0"]);
    let address = pages(&mut world, "proxy-1");
    let until = |code: u16, words: &str| {
        let until = Instant::now() + Duration::from_secs(40);
        loop {
            let (found, said) = page(&address, "/readyz");
            if found == code && said.contains(words) {
                return;
            }
            assert!(Instant::now() < until, "{found} {said}");
            std::thread::sleep(Duration::from_millis(200));
        }
    };
    until(503, "another state directory");
    world.operate("close", ROUND, &["--without-proxy", "2"]).well();
    until(200, "");
}
