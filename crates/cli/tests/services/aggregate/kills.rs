//! Roles that are killed, as if their machine failed, and started again with what they had on disk: every report that
//! was acknowledged counts exactly once.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use serde_json::json;

use super::world::{ROUND, World, made, over};

/// Each report shows in the count of its row.
const EVERY: &str = "count >= 1 and distinct >= 1";

fn world(names: &[&str]) -> World {
    world_by("dh", names)
}

fn world_by(protocol: &str, names: &[&str]) -> World {
    World::started(names, json!({ "reveal_when": EVERY, "min_participants": 2 }), json!({ "protocol": protocol }))
}

/// Returns the reports of three participants, and the number of reports of each item.
fn reports() -> (Vec<Vec<String>>, BTreeMap<String, u64>) {
    let (items, counts) = made(3, 40);
    (items, over(&counts, 1))
}

fn submit(world: &World, place: usize, items: &[String], more: &[&str]) {
    let name = world.names[place].clone();
    let items: Vec<&str> = items.iter().map(String::as_str).collect();
    world.submit_with(&name, &items, more).well();
}

/// Kills a role when it has said something, starts it again, and looks at the result.
fn killed(role: &'static str, says: &str) {
    let mut world = world(&["a", "b", "c"]);
    let (items, expected) = reports();
    submit(&world, 0, &items[0], &["--batch", "7"]);
    submit(&world, 1, &items[1], &["--batch", "7"]);
    let early = says.is_empty();
    if early {
        world.kill(role);
        world.start(role);
    }
    submit(&world, 2, &items[2], &["--batch", "7"]);
    world.operate("close", ROUND, &[]).well();
    if !early {
        world.role(role).until_it_says(says);
        world.kill(role);
        world.start(role);
    }
    assert_eq!(world.result("a"), expected, "{role} killed after `{says}`");
}

#[test]
fn a_proxy_that_is_killed_loses_and_doubles_nothing() {
    for says in ["", "shuffled", "the database has all"] {
        killed("proxy", says);
    }
}

#[test]
fn a_database_that_is_killed_loses_and_doubles_nothing() {
    for says in ["", "is closed", "make", "revealed"] {
        killed("database", says);
    }
}

#[test]
fn an_oracle_that_is_killed_is_waited_for() {
    killed("oracle", "");
    // It is away while it is asked.
    let mut world = world(&["a", "b", "c"]);
    let (items, expected) = reports();
    (0..3).for_each(|place| submit(&world, place, &items[place], &[]));
    world.kill("oracle");
    world.operate("close", ROUND, &[]).well();
    world.until(ROUND, &["revealing"]);
    world.start("oracle");
    assert_eq!(world.result("b"), expected);
}

#[test]
fn a_submission_that_is_killed_is_resumed() {
    is_resumed(900, "5");
}

#[test]
#[ignore = "slow: three thousand reports"]
fn a_long_submission_that_is_killed_is_resumed() {
    is_resumed(3000, "25");
}

/// A participant that is cut off submits the same file again.
fn is_resumed(reports: usize, batch: &str) {
    let world = world(&["a", "b"]);
    let items: Vec<String> = (0..reports).map(|number| format!("item-{number:05}")).collect();
    let input = world.home.file("a.csv", &format!("item\n{}\n", items.join("\n")));
    let running = world.as_participant("submit", "a", &["--input", &input, "--batch", batch]);
    std::thread::sleep(Duration::from_millis(400));
    running.signal(rustix::process::Signal::KILL);
    running.end();
    submit(&world, 0, &items, &["--batch", batch, "--resume"]);
    submit(&world, 0, &items, &["--batch", batch]);
    submit(&world, 1, &items[..10], &[]);
    let expected: BTreeMap<String, u64> =
        items.iter().enumerate().map(|(place, item)| (item.clone(), if place < 10 { 2 } else { 1 })).collect();
    assert_eq!(world.result("a"), expected);
}

#[test]
#[ignore = "a hundred kills: minutes"]
fn a_hundred_random_kills_lose_and_double_nothing() {
    a_hundred_random_kills("dh");
}

#[test]
#[ignore = "a hundred kills: minutes"]
fn a_hundred_random_kills_while_reports_are_made_together_lose_and_double_nothing() {
    a_hundred_random_kills("naor-reingold");
}

/// Roles are killed at random moments while participants submit, and while the round ends.
fn a_hundred_random_kills(protocol: &str) {
    let seed = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().subsec_nanos();
    eprintln!("seed {seed}");
    let mut state = u64::from(seed) | 1;
    let mut draw = move |bound: u64| {
        // xorshift64
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state % bound
    };
    let mut kills = 0;
    while kills < 100 {
        let mut world = world_by(protocol, &["a", "b", "c"]);
        let (items, expected) = reports();
        let patient = ["--batch", "5", "--timeout", "300s"];
        let submitting: Vec<_> = (0..3)
            .map(|place| {
                let input = world.home.file(&format!("{place}.csv"), &format!("item\n{}\n", items[place].join("\n")));
                let name = world.names[place].clone();
                world.as_participant("submit", &name, &[&["--input", &input][..], &patient].concat())
            })
            .collect();
        for _ in 0..3 {
            kill_some(&mut world, &mut draw);
        }
        for running in submitting {
            running.end_within(Duration::from_secs(300)).well();
        }
        let until = Instant::now() + Duration::from_secs(60);
        while world.operate("close", ROUND, &[]).code != 0 {
            assert!(Instant::now() < until);
        }
        for _ in 0..3 {
            kill_some(&mut world, &mut draw);
        }
        kills += 6;
        assert_eq!(world.result("c"), expected, "seed {seed}, after {kills} kills");
    }
}

fn kill_some(world: &mut World, draw: &mut impl FnMut(u64) -> u64) {
    let role = ["proxy", "database", "oracle"][draw(3) as usize];
    std::thread::sleep(Duration::from_millis(draw(400)));
    world.kill(role);
    std::thread::sleep(Duration::from_millis(draw(200)));
    world.start(role);
}
