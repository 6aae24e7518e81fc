//! Silence about a state directory until a database holds its last session: it may be an older copy, or lack something.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tacita_aggregate::interaction::bounds;
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::transport::{ApiRequest, ApiResponse, Client};
use tacita_aggregate::wire::handed::Handed;
use tacita_aggregate::wire::rounds::RoundState;
use tacita_aggregate::wire::service::Service;
use tacita_core::Result;

use super::together::{Until, participate};
use super::world::{ONCE, PATIENT, ROUND, World, names, put, refused};

const UNCOVERED: &str = "are acknowledged when it does";

fn stop(world: &mut World, role: &str) {
    world.stopper(role)();
    world.ended(role);
}

/// Starts the proxy anew, and lets it find no database.
fn alone(world: &mut World) {
    ["database", "proxy"].iter().for_each(|role| stop(world, role));
    std::fs::remove_file(world.at("addresses").join("proxy-1")).unwrap();
    world.start("proxy");
    let until = Instant::now() + Duration::from_secs(60);
    while !world.at("addresses").join("proxy-1").exists() {
        assert!(Instant::now() < until, "the proxy does not start");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Asks all at once, as each is waited for.
fn at_once(proxy: &Client, asks: &[ApiRequest]) -> Vec<ApiResponse> {
    std::thread::scope(|scope| {
        let all: Vec<_> = asks.iter().map(|ask| scope.spawn(|| proxy.ask(ask, ONCE).unwrap())).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

fn told(answer: &ApiResponse) -> Value {
    assert!(answer.is_ok(), "{:?}", answer.told());
    serde_json::from_slice(&answer.body).unwrap()
}

fn is_there(batch: u8) -> ApiRequest {
    ApiRequest::get(put(&[batch; 16], Vec::new()).path, 1 << 12)
}

#[test]
fn reports_are_neither_acknowledged_nor_denied_without_a_database() {
    let mut world = World::started(&["a", "b"], json!({}));
    world.submit("a", &[1; 16], &[("x", 0)]);
    let second = put(&[2; 16], world.reports(&world.proxy("a"), "a", &[2; 16], &[("y", 0)]));
    alone(&mut world);
    let proxy = world.proxy("a");
    at_once(&proxy, &[second.clone(), is_there(1), is_there(3)]).iter().for_each(|one| refused(one, 503, UNCOVERED));
    world.start("database");
    assert_eq!(told(&proxy.ask(&second, PATIENT).unwrap()), json!({ "reports": 1, "known": true }));
    assert_eq!(told(&proxy.ask(&is_there(3), PATIENT).unwrap()), json!({ "there": false, "open": true }));
}

#[test]
fn reports_that_are_made_together_are_not_acknowledged_without_a_database() {
    let mut world = World::by("naor-reingold", &names(&["a", "b"]), json!({}));
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    let agreed = world.keys(&world.proxy("a"));
    let bounds = bounds(&agreed.0, 1);
    let make = |world: &World, batch: u8, patience| -> Result<ApiResponse> {
        let path = format!("{}/1", put(&[batch; 16], Vec::new()).path);
        world.proxy("a").interact(&path, bounds, patience, |channel| {
            participate(world, &agreed, ("a", &[batch; 16], 0), &[("x", 0)], Until::Outcome, channel)
        })
    };
    told(&make(&world, 1, PATIENT).unwrap());
    alone(&mut world);
    let made = std::thread::scope(|scope| {
        let all = [1, 2].map(|batch| {
            let (make, world) = (&make, &world);
            scope.spawn(move || make(world, batch, ONCE).unwrap())
        });
        all.map(|one| one.join().unwrap())
    });
    made.iter().for_each(|one| refused(one, 503, UNCOVERED));
    world.start("database");
    for batch in [1, 2] {
        assert_eq!(told(&make(&world, batch, PATIENT).unwrap()), json!({ "reports": 1, "known": true }));
    }
}

/// Whoever hands a batch over drops it when it is told that it is there.
#[test]
fn batches_that_are_handed_over_are_not_acknowledged_without_a_database() {
    let mut world = World::of_proxies(2, "dh", &names(&["a", "b"]), json!({}));
    ["database", "proxy"].iter().for_each(|role| world.start(role));
    world.submit("a", &[1; 16], &[("x", 0)]);
    let keys = world.fingerprint();
    world.operate(&RoundOrder::Close { without: Vec::new() }).unwrap();
    let closed = |answer: ApiResponse| told(&answer)["open"] == false;
    let until = Instant::now() + Duration::from_secs(60);
    while !closed(world.proxy("a").ask(&is_there(1), PATIENT).unwrap()) {
        assert!(Instant::now() < until, "the proxy does not close the round");
        std::thread::sleep(Duration::from_millis(20));
    }
    alone(&mut world);
    let entry = vec![0; world.setting.params(ROUND).unwrap().entry_bytes()];
    let participant = world.identity("b").fingerprint();
    let body = Handed { participant, digest: [1; 32], records: &entry }.to_bytes();
    let path = keys.on(&format!("/v1/rounds/{ROUND}/handed/{}", "02".repeat(16)));
    let hand = ApiRequest::put(path, body, 1 << 12);
    let other = world.client("proxy-1", Service::Proxy(0));
    refused(&other.ask(&hand, ONCE).unwrap(), 503, UNCOVERED);
    world.start("database");
    assert_eq!(told(&other.ask(&hand, PATIENT).unwrap()), json!({ "taken": true }));
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let (path, to) = (entry.as_ref().unwrap().path(), to.join(entry.unwrap().file_name()));
        if path.is_dir() { copy(&path, &to) } else { std::fs::copy(&path, to).map(drop).unwrap() }
    }
}

/// A file in a directory whose name begins so.
fn find(directory: &Path, begins: &str) -> PathBuf {
    let all = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    all.into_iter().find(|entry| entry.file_name().to_string_lossy().starts_with(begins)).unwrap().path()
}

/// A directory that lacks something waits for the rest of it: nobody is told that what was acknowledged is not there,
/// not even for the moment until the database is asked.
#[test]
fn a_directory_that_lacks_something_says_nothing_of_its_rounds() {
    let mut world = World::started(&["a", "b"], json!({}));
    world.submit("a", &[1; 16], &[("x", 0)]);
    world.submit("b", &[2; 16], &[("x", 0)]);
    stop(&mut world, "proxy");
    let (state, kept) = (world.at("proxy").join("state"), world.at("proxy").join("kept"));
    std::fs::rename(&state, &kept).unwrap();
    let losses: [fn(&Path); 3] = [
        |state| std::fs::remove_file(find(&find(state, "queue-"), "in-")).unwrap(),
        |state| std::fs::remove_dir_all(find(state, "queue-")).unwrap(),
        |state| {
            std::fs::remove_dir_all(find(state, "queue-")).unwrap();
            std::fs::remove_file(find(state, "round-")).unwrap();
        },
    ];
    for lose in losses {
        copy(&kept, &state);
        lose(&state);
        std::fs::remove_file(world.at("addresses").join("proxy-1")).unwrap();
        world.start("proxy");
        let proxy = world.proxy("a");
        for batch in [1, 3] {
            let patient = tacita_aggregate::transport::Persistence { busy: Duration::ZERO, ..PATIENT };
            refused(&proxy.ask(&is_there(batch), patient).unwrap(), 503, "are in another state directory");
        }
        stop(&mut world, "proxy");
        std::fs::remove_dir_all(&state).unwrap();
    }
    std::fs::rename(&kept, &state).unwrap();
    world.start("proxy");
    assert_eq!(world.over().state, RoundState::Revealed);
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
}
