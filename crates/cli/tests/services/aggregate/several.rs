//! Several proxies, any of which is killed, or not there: every report that was acknowledged counts exactly once,
//! whichever of them it was given to.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};

use super::world::{ROUND, World};
use crate::common::{Ended, tacita};

const PROXIES: [&str; 3] = ["proxy", "proxy-1", "proxy-2"];

/// Participants by the proxy that each begins with. Three of each: what one of them has given to another proxy as well
/// leaves two.
const OF: [[&str; 3]; 3] = [["c", "d", "e"], ["b", "f", "o"], ["a", "g", "i"]];

/// A job with three proxies, in the result of which each report shows; nothing runs yet.
fn world(protocol: &str) -> World {
    world_of(protocol, json!({}))
}

/// The same with more in `[round]`.
fn world_of(protocol: &str, more: Value) -> World {
    let mut round = json!({ "reveal_when": "count >= 1 and distinct >= 1", "min_participants": 2 });
    more.as_object().unwrap().iter().for_each(|(key, value)| round[key] = value.clone());
    World::of_several(&[("proxy", 3)], OF.as_flattened(), round, json!({ "protocol": protocol }))
}

fn started(protocol: &str) -> World {
    let mut world = world(protocol);
    ["database", "oracle"].iter().chain(&PROXIES).for_each(|role| world.start(role));
    world
}

/// Everybody reports one item that all have, and one of its own.
fn submit_all(world: &World) -> BTreeMap<String, u64> {
    submit_all_with(world, &[])
}

fn submit_all_with(world: &World, more: &[&str]) -> BTreeMap<String, u64> {
    OF.as_flattened().iter().for_each(|name| drop(again(world, name, more).well()));
    let own = OF.as_flattened().iter().map(|name| (format!("of-{name}"), 1));
    own.chain([("all".to_owned(), OF.as_flattened().len() as u64)]).collect()
}

/// Submits again what [`submit_all`] has submitted for one of them.
fn again(world: &World, name: &str, more: &[&str]) -> Ended {
    world.submit_with(name, &["all", &format!("of-{name}")], more)
}

fn a_batch_that_two_proxies_have_counts_once(protocol: &str) {
    let mut world = started(protocol);
    let expected = submit_all(&world);
    for (place, proxy) in PROXIES.iter().enumerate() {
        world.kill(proxy);
        let ended = again(&world, OF[place][0], &["--timeout", "5s"]).well();
        assert!(ended.stderr.contains("trying the next proxy"), "{}", ended.stderr);
        assert!(!ended.stderr.contains("had been there before"), "{}", ended.stderr);
        world.start(proxy);
    }
    // Wherever it counts, it is there for whoever asks.
    world.operate("close", ROUND, &[]).well();
    let status = world.until(ROUND, &["revealed", "failed"]);
    assert_eq!(status["state"], "revealed", "{status}");
    assert_eq!(status["numbers"]["reports"], 18, "{status}");
    assert_eq!(world.collected("a", ROUND), expected);
    let said: String = PROXIES.iter().map(|proxy| world.role(proxy).said()).collect();
    let dropped = said.lines().filter_map(|line| line.strip_suffix(" came to another proxy as well, which sends them"));
    let dropped = dropped.filter_map(|line| line.strip_prefix("round one: ")?.split(' ').next()?.parse::<u64>().ok());
    assert_eq!(dropped.sum::<u64>(), 3, "{said}");
    world.operate("open", "two", &[]).well();
    PROXIES.iter().for_each(|proxy| world.role(proxy).until_it_says("round two takes reports"));
    for name in OF.as_flattened() {
        let ended = again(&world, name, &[]).well();
        assert!(ended.stderr.contains("had been taken in round one before it closed"), "{}", ended.stderr);
    }
}

#[test]
fn a_batch_that_two_proxies_have_counts_once_where_it_is_sent() {
    a_batch_that_two_proxies_have_counts_once("dh");
}

#[test]
fn a_batch_that_two_proxies_have_counts_once_where_it_is_made_with_them() {
    a_batch_that_two_proxies_have_counts_once("naor-reingold");
}

/// A submission whose proxy dies goes on with the next, whether the first comes back meanwhile or not.
fn a_submission_goes_on_with_the_next_proxy(protocol: &str, batch: &str, items: usize) {
    let mut world = started(protocol);
    let mut expected = submit_all(&world);
    let items: Vec<String> = (0..items).map(|number| format!("item-{number:05}")).collect();
    let input = world.home.file("c.csv", &format!("item\n{}\n", items.join("\n")));
    // A proxy that is dead is passed over after a tenth of the time.
    let arguments = ["--input", &input, "--batch", batch, "--timeout", "20s"];
    for pause in [150, 400] {
        let running = world.as_participant("submit", "c", &arguments);
        std::thread::sleep(Duration::from_millis(pause));
        world.kill("proxy");
        running.end_within(Duration::from_secs(300)).well();
        world.start("proxy");
    }
    expected.extend(items.into_iter().map(|item| (item, 1)));
    assert_eq!(world.result("b"), expected);
}

#[test]
fn a_submission_goes_on_with_the_next_proxy_in_its_middle() {
    a_submission_goes_on_with_the_next_proxy("dh", "5", 700);
}

#[test]
#[ignore = "slow: three thousand reports"]
fn a_long_submission_goes_on_with_the_next_proxy_in_its_middle() {
    a_submission_goes_on_with_the_next_proxy("dh", "10", 3000);
}

#[test]
fn reports_are_made_with_the_next_proxy_in_the_middle_of_a_submission() {
    a_submission_goes_on_with_the_next_proxy("naor-reingold", "25", 500);
}

#[test]
#[ignore = "slow: 1,500 reports"]
fn reports_are_made_with_the_next_proxy_in_the_middle_of_a_long_submission() {
    a_submission_goes_on_with_the_next_proxy("naor-reingold", "100", 1500);
}

/// A proxy that is stopped keeps its connections, and answers nothing.
#[test]
fn a_proxy_that_is_stopped_is_passed_over() {
    let mut world = started("dh");
    let expected = submit_all(&world);
    world.role("proxy").signal(Signal::STOP);
    let ended = again(&world, "c", &["--timeout", "20s"]).well();
    assert!(ended.stderr.contains("trying the next proxy") && ended.took < Duration::from_secs(15), "{}", ended.stderr);
    world.role("proxy").signal(Signal::CONT);
    assert_eq!(world.result("a"), expected);
}

/// A proxy that has too much to do is passed over; if all have, they are not asked without end.
#[test]
fn a_proxy_whose_queue_is_full_is_passed_over() {
    let mut world = world("dh");
    ["database", "oracle", "proxy-2"].iter().for_each(|role| world.start(role));
    ["proxy", "proxy-1"].iter().for_each(|proxy| world.start_with(proxy, &["--queue", "40KB"]));
    let expected = submit_all(&world);
    let items: Vec<String> = (0..200).map(|number| format!("item-{number}")).collect();
    let input = world.home.file("more.csv", &format!("item\n{}\n", items.join("\n")));
    for name in ["c", "d"] {
        world.as_participant("submit", name, &["--input", &input]).end().well();
    }
    world.kill("proxy-2");
    let ended = world.as_participant("submit", "e", &["--input", &input, "--patience", "2s", "--timeout", "5s"]).end();
    assert!(ended.took < Duration::from_secs(30), "{:?}", ended.took);
    ended.failed(75, &["queue is full", "submit again later"]);
    world.start("proxy-2");
    let expected = expected.into_iter().chain(items.into_iter().map(|item| (item, 2)));
    assert_eq!(world.result("a"), expected.collect());
    PROXIES.iter().for_each(|proxy| world.kill(proxy));
    let ended = again(&world, "e", &["--timeout", "2s"]);
    assert!(ended.took < Duration::from_secs(30), "{:?}", ended.took);
    ended.failed(3, &["connection refused"]);
}

/// Checks rounds where batches leave before the close: a batch that has left one proxy leaves no other. No copy of the
/// database is made that would not know of it.
#[test]
fn what_has_left_a_proxy_while_the_round_is_open_leaves_no_other() {
    let mut world = world_of("dh", json!({ "batch_size": 6 }));
    ["database", "oracle"].iter().chain(&PROXIES).for_each(|role| world.start(role));
    let expected = submit_all(&world);
    PROXIES.iter().for_each(|proxy| world.role(proxy).until_it_says("shuffled 6 reports"));
    world.kill("proxy");
    again(&world, "c", &["--timeout", "5s"]).well();
    world.start("proxy");
    world.take("database").stop();
    let (job, id, state) = (world.job(), world.home.at("id-database"), world.home.at("state-database"));
    let file = world.home.at("saved");
    let arguments = ["round", "backup", &job, "--round", ROUND, "--identity", &id, "--state", &state, "--file", &file];
    tacita(&arguments).failed(75, &["is open, and its proxies are sorting out"]);
    world.start("database");
    assert_eq!(world.result("a"), expected);
    assert!(world.role("proxy-1").said().contains("1 batch came to another proxy as well"));
}

/// Checks the hand-over of reports. Either the proxy that came back at the end has those of one participant, or no
/// proxy has those of two.
#[test]
fn a_proxy_with_too_few_reports_hands_them_over() {
    for names in [&["c", "d", "b"][..], &["c", "b", "a"]] {
        let mut world = started("dh");
        names.iter().for_each(|name| drop(again(&world, name, &[]).well()));
        // The one that is to take them over is away when the round closes.
        world.kill("proxy");
        world.operate("close", ROUND, &[]).well();
        std::thread::sleep(Duration::from_millis(600));
        assert_eq!(world.status(ROUND)["state"], "closed");
        world.start("proxy");
        world.role("proxy-1").until_it_says("2 reports, too few for a shuffle, went to proxy 1");
        let own = names.iter().map(|name| (format!("of-{name}"), 1));
        assert_eq!(world.result("d"), own.chain([("all".to_owned(), 3)]).collect());
        // It counts there, for whoever asks.
        world.operate("open", "two", &[]).well();
        world.role("proxy-1").until_it_says("round two takes reports");
        let ended = again(&world, "b", &[]).well();
        assert!(ended.stderr.contains("had been taken in round one before it closed"), "{}", ended.stderr);
    }
}

/// Checks a round in which all proxies together have the reports of too few participants.
#[test]
fn a_round_of_too_few_fails_and_says_so() {
    let world = started("dh");
    again(&world, "b", &[]).well();
    world.operate("close", ROUND, &[]).well();
    let status = world.until(ROUND, &["revealed", "failed"]);
    let reason = status["failure"]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("2 reports are of 1 participants, and a shuffle needs those of 2"), "{status}");
}

/// Secrets are made by whoever is there when the round opens, and had from whoever has them.
#[test]
fn any_proxy_makes_secrets_and_gives_them_to_others() {
    let mut world = world("dh");
    world.start("database");
    world.start("proxy-1");
    world.role("proxy-1").until_it_says("round one takes reports");
    world.start("proxy-2");
    world.role("proxy-2").until_it_says("has the secrets from proxy 2");
    // Who has made them is gone, and the first of the list has never been there.
    world.kill("proxy-1");
    world.start("oracle");
    world.role("oracle").until_it_says("has the secrets from proxy 3");
    world.start("proxy");
    world.role("proxy").until_it_says("has the secrets from proxy 3");
    // A third of them begin with the one that is gone, and pass it over after a tenth of the time.
    let expected = submit_all_with(&world, &["--timeout", "10s"]);
    world.start("proxy-1");
    assert_eq!(world.result("a"), expected);
}

/// A proxy that was killed when it had made secrets, and another one's had become the round's.
#[test]
fn secrets_that_were_made_in_vain_are_dropped() {
    let mut world = world("dh");
    world.start("database");
    world.start("proxy");
    world.role("proxy").until_it_says("round one takes reports");
    let (job, id, state) = (world.job(), world.home.at("id-proxy-1"), world.home.at("state-proxy-1"));
    tacita(&["key", "new", &job, "--role", "proxy", "--round", ROUND, "--identity", &id, "--state", &state]).well();
    world.start("proxy-1");
    world.role("proxy-1").until_it_says("those made here are dropped");
    world.role("proxy-1").until_it_says("has the secrets from proxy 1");
    world.start("oracle");
    world.start("proxy-2");
    let expected = submit_all(&world);
    assert_eq!(world.result("a"), expected);
}

/// Checks that, if all proxies make secrets at once, one proxy's become those of the round.
#[test]
fn proxies_that_begin_at_once_agree_on_secrets() {
    let mut world = world("dh");
    PROXIES.iter().for_each(|proxy| world.start(proxy));
    world.start("database");
    PROXIES.iter().for_each(|proxy| world.role(proxy).until_it_says("round one takes reports"));
    world.start("oracle");
    let expected = submit_all(&world);
    assert_eq!(world.result("a"), expected);
}

/// Checks that reports given to a proxy that does not answer go to no later round: they count where they are.
#[test]
fn what_a_dead_proxy_may_have_goes_to_no_later_round() {
    let mut world = started("dh");
    let expected = submit_all(&world);
    world.kill("proxy");
    world.operate("close", ROUND, &[]).well();
    world.operate("open", "two", &[]).well();
    world.role("proxy-1").until_it_says("round two takes reports");
    world.role("proxy-2").until_it_says("round two takes reports");
    let told = ["proxy 1 may have taken this in round one", "--resume"];
    again(&world, "c", &["--timeout", "2s"]).failed(75, &told);
    again(&world, "b", &["--timeout", "2s", "--resume"]).well();
    world.start("proxy");
    let ended = again(&world, "c", &["--resume"]).well();
    assert!(ended.stderr.contains("had been taken in round one before it closed"), "{}", ended.stderr);
    assert_eq!(world.until("two", &["open"])["numbers"]["reports"], 0);
    world.until(ROUND, &["revealed"]);
    assert_eq!(world.collected("c", ROUND), expected);
}

#[test]
#[ignore = "a hundred kills: minutes"]
fn a_hundred_random_kills_of_proxies_lose_and_double_nothing() {
    kill_at_random("dh", 100);
}

#[test]
#[ignore = "a hundred kills: minutes"]
fn a_hundred_random_kills_of_proxies_that_make_reports_lose_and_double_nothing() {
    kill_at_random("naor-reingold", 100);
}

#[test]
fn proxies_that_are_killed_at_random_lose_and_double_nothing() {
    kill_at_random("dh", 5);
}

/// Proxies are killed at random moments while participants submit, and while the round ends.
fn kill_at_random(protocol: &str, kills: u64) {
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    println!("seed {seed}");
    let mut state = u64::from(seed) | 1;
    let mut draw = move |bound: u64| {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    let mut kill = |world: &mut World, number: u64| {
        for _ in 0..number {
            let proxy = PROXIES[draw(3) as usize];
            std::thread::sleep(Duration::from_millis(draw(300)));
            world.kill(proxy);
            std::thread::sleep(Duration::from_millis(draw(300)));
            world.start(proxy);
        }
        number
    };
    let mut killed = 0;
    while killed < kills {
        let mut world = started(protocol);
        let mut expected = submit_all(&world);
        let submitting: Vec<_> = (OF.as_flattened().iter())
            .map(|name| {
                let items: Vec<String> = (0..60).map(|number| format!("{name}-{number}")).collect();
                let input = world.home.file(&format!("more-{name}.csv"), &format!("item\n{}\n", items.join("\n")));
                expected.extend(items.into_iter().map(|item| (item, 1)));
                world.as_participant("submit", name, &["--input", &input, "--batch", "3", "--timeout", "300s"])
            })
            .collect();
        killed += kill(&mut world, 3);
        for running in submitting {
            running.end_within(Duration::from_secs(300)).well();
        }
        world.operate("close", ROUND, &[]).well();
        killed += kill(&mut world, 2);
        assert_eq!(world.result("c"), expected, "seed {seed}, after {killed} kills");
    }
}
