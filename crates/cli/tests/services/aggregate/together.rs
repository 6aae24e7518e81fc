//! Reports that are made together with the proxy (`naor-reingold`), where one of the two is killed meanwhile: every
//! report counts exactly once.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::json;

use super::world::World;

/// Number of items that one participant reports, and how many to a batch. Both are busy while batch after batch comes.
#[derive(Clone, Copy)]
struct Size {
    items: usize,
    batch: &'static str,
}

/// Twenty-five batches.
const SHORT: Size = Size { items: 1500, batch: "60" };

/// Keeps both busy for seconds on any machine.
const LONG: Size = Size { items: 5000, batch: "400" };

fn world() -> World {
    let round = json!({ "reveal_when": "count >= 1 and distinct >= 1", "min_participants": 2 });
    World::started(&["a", "b"], round, json!({ "protocol": "naor-reingold" }))
}

/// Returns the items that `a` reports, and the number of reports of each once `b` has reported the first ten.
fn reports(size: Size) -> (Vec<String>, BTreeMap<String, u64>) {
    let items: Vec<String> = (0..size.items).map(|number| format!("item-{number:05}")).collect();
    let counts = items.iter().enumerate().map(|(place, item)| (item.clone(), if place < 10 { 2 } else { 1 })).collect();
    (items, counts)
}

fn others(world: &World, items: &[String]) {
    let items: Vec<&str> = items[..10].iter().map(String::as_str).collect();
    world.submit_with("b", &items, &[]).well();
}

#[test]
fn a_proxy_that_is_killed_meanwhile_loses_and_doubles_nothing() {
    a_proxy_is_killed(SHORT);
}

#[test]
#[ignore = "slow: five thousand reports"]
fn a_proxy_that_is_killed_in_a_long_submission_loses_and_doubles_nothing() {
    a_proxy_is_killed(LONG);
}

fn a_proxy_is_killed(size: Size) {
    let mut world = world();
    let (items, expected) = reports(size);
    let input = world.home.file("a.csv", &format!("item\n{}\n", items.join("\n")));
    let running = world.as_participant("submit", "a", &["--input", &input, "--batch", size.batch, "--timeout", "120s"]);
    for pause in [400, 700, 600] {
        std::thread::sleep(Duration::from_millis(pause));
        world.kill("proxy");
        world.start("proxy");
    }
    running.end_within(Duration::from_secs(300)).well();
    others(&world, &items);
    assert_eq!(world.result("a"), expected);
}

#[test]
fn a_participant_that_is_killed_meanwhile_submits_again() {
    a_participant_is_killed(SHORT);
}

#[test]
#[ignore = "slow: five thousand reports"]
fn a_participant_that_is_killed_in_a_long_submission_submits_again() {
    a_participant_is_killed(LONG);
}

fn a_participant_is_killed(size: Size) {
    let world = world();
    let (items, expected) = reports(size);
    let input = world.home.file("a.csv", &format!("item\n{}\n", items.join("\n")));
    let arguments = ["--input", &input, "--batch", size.batch];
    for pause in [300, 800] {
        let running = world.as_participant("submit", "a", &arguments);
        std::thread::sleep(Duration::from_millis(pause));
        running.signal(Signal::KILL);
        running.end();
    }
    world
        .as_participant("submit", "a", &[&arguments[..], &["--resume"]].concat())
        .end_within(Duration::from_secs(300))
        .well();
    // Again, without asking what is there.
    world.as_participant("submit", "a", &arguments).end_within(Duration::from_secs(300)).well();
    others(&world, &items);
    assert_eq!(world.result("a"), expected);
}
