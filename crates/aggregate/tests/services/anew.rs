//! Services that have lost what they kept of a round, and open it anew under the same name: the others have its keys of
//! before. Nothing that was reported under one set of keys is taken for another, and none of it is lost without a word.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::transport::ApiRequest;
use tacita_aggregate::wire::reply::RefusalReason;
use tacita_aggregate::wire::rounds::{RoundState, RoundStatus};
use tacita_aggregate::wire::same_keys::KeysFingerprint;
use tacita_aggregate::wire::service::Service;

use super::world::{ONCE, PATIENT, ROUND, World, put, refused};

fn report(world: &World) {
    world.submit("a", &[1; 16], &[("x", 0), ("y", 0)]);
    world.submit("b", &[2; 16], &[("x", 0)]);
}

/// Ends a role, and puts its state directory aside.
fn loses(world: &mut World, role: &str) {
    world.stopper(role)();
    world.ended(role);
    std::fs::rename(world.at(role).join("state"), world.at(role).join("kept")).unwrap();
}

/// Ends a role, and gives it the state directory back that was put aside.
fn finds(world: &mut World, role: &str) {
    world.stopper(role)();
    world.ended(role);
    std::fs::rename(world.at(role).join("state"), world.at(role).join("anew")).unwrap();
    std::fs::rename(world.at(role).join("kept"), world.at(role).join("state")).unwrap();
}

#[track_caller]
fn until(what: impl Fn() -> Result<(), String>) {
    let until = Instant::now() + Duration::from_secs(60);
    while let Err(so) = what() {
        assert!(Instant::now() < until, "{so}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn status(world: &World) -> RoundStatus {
    serde_json::from_value(world.operate(&RoundOrder::Status).unwrap()).unwrap()
}

#[test]
fn a_database_that_opens_a_round_anew_gets_nothing_of_it_and_loses_nothing() {
    let mut world = World::started(&["a", "b"], json!({}));
    report(&world);
    let keys = world.fingerprint();
    loses(&mut world, "database");
    world.start("database");
    let proxy = world.proxy("a");
    let ask = ApiRequest::get(format!("/v1/rounds/{ROUND}"), 1 << 16);
    until(|| match proxy.ask(&ask, ONCE).unwrap() {
        answer if answer.status == 409 => Ok(()),
        answer => Err(format!("{} {:?}", answer.status, answer.told())),
    });
    let told = format!("round one has the keys {} here", keys.short());
    refused(&proxy.ask(&ask, ONCE).unwrap(), 409, &told);
    refused(&proxy.ask(&put(&[3; 16], vec![0; 64]), ONCE).unwrap(), 409, &told);
    refused(&proxy.ask(&ApiRequest::get(put(&[1; 16], vec![]).path, 1 << 12), ONCE).unwrap(), 409, &told);
    // Its operator sees for what the round waits, which has no result.
    world.operate(&RoundOrder::Close { without: Vec::new() }).unwrap();
    let waits = format!("the proxy, which has the round under the keys {}", keys.short());
    until(|| match status(&world) {
        found if found.state == RoundState::Closed && found.waits_for == [waits.clone()] => Ok(()),
        found => Err(format!("{found:?}")),
    });
    finds(&mut world, "database");
    world.start("database");
    until(|| match proxy.ask(&ask, PATIENT).unwrap() {
        answer if answer.is_ok() => Ok(()),
        answer => Err(format!("{} {:?}", answer.status, answer.told())),
    });
    assert_eq!((world.over().state, world.fingerprint()), (RoundState::Revealed, keys));
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
}

/// A database that has lost its rows, and not its key, is given the proxies' key again. That it lacks what it had told
/// the proxy is noticed, and said.
#[test]
fn a_round_that_is_opened_anew_under_its_own_key_fails_and_says_what_it_lacks() {
    let mut world = World::started(&["a", "b"], json!({}));
    report(&world);
    let keys = world.fingerprint();
    world.stopper("database")();
    world.ended("database");
    std::fs::remove_dir_all(world.at("database").join("state").join("rows")).unwrap();
    world.start("database");
    until(|| match status(&world) {
        found if found.keys == Some(keys) => Ok(()),
        found => Err(format!("{found:?}")),
    });
    let ended = world.over();
    let reason = ended.failure.map_or_else(String::new, |failure| failure.reason);
    assert_eq!(ended.state, RoundState::Failed);
    assert!(reason.contains("the storage lacks changes that it had confirmed to the proxy"), "{reason}");
}

/// Only the proxy can give a round its key. It is not told to wait for that with what it brings.
#[test]
fn a_proxy_is_not_told_to_come_again_where_its_own_key_is_missing() {
    let mut world = World::new(&["a", "b"].map(str::to_owned), json!({}));
    world.start("database");
    let proxy = world.client("proxy", Service::Database(0));
    let at = |path: &str| KeysFingerprint([7; 32]).on(&format!("/v1/rounds/{ROUND}{path}"));
    let some = |path: &str, value: Value| ApiRequest::json(at(path), &value, 1 << 16);
    for ask in [
        ApiRequest::put(at(&format!("/entries/{}", "01".repeat(16))), vec![1; 16], 1 << 16),
        ApiRequest::post(at("/claims"), vec![1; 16], 1 << 16),
        some("/rest", json!({ "rest": "enough" })),
        some("/complete", json!({ "entries": 1 })),
    ] {
        let answer = proxy.ask(&ask, PATIENT).unwrap();
        refused(&answer, 409, "round one has no key of the proxies here");
        assert_eq!((answer.told().error, answer.again), (RefusalReason::OtherKeys, None), "{}", ask.path);
    }
}

#[test]
fn an_oracle_that_is_kept_has_the_secrets_of_a_round_that_is_opened_anew() {
    let mut world = World::started(&["a", "b"], json!({}));
    report(&world);
    let before = world.fingerprint();
    let secrets = world.at("oracle").join("state").join("proxy-6f6e65.key");
    until(|| if secrets.exists() { Ok(()) } else { Err("no secrets".into()) });
    ["database", "proxy"].iter().for_each(|role| loses(&mut world, role));
    // As they were started before.
    std::fs::remove_file(world.at("addresses").join("proxy-1")).unwrap();
    ["database", "proxy"].iter().for_each(|role| world.start(role));
    until(|| if Path::new(&world.at("addresses").join("proxy-1")).exists() { Ok(()) } else { Err("no proxy".into()) });
    report(&world);
    assert_ne!(world.fingerprint(), before);
    assert_eq!(world.over().state, RoundState::Revealed);
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
}

#[test]
fn what_comes_under_other_keys_is_refused_and_both_are_named() {
    let mut world = World::of_proxies(2, "dh", &["a", "b"].map(str::to_owned), json!({}));
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    world.keys(&world.proxy("a"));
    let (here, other) = (world.fingerprint(), KeysFingerprint([7; 32]));
    let both = format!("round one has the keys {} here, and {} where this comes from", here.short(), other.short());
    let batch = "01".repeat(16);
    let some = |path: &str, value: Value| ApiRequest::json(format!("/v1/rounds/{ROUND}{path}"), &value, 1 << 16);
    let bytes = |path: &str| ApiRequest::post(format!("/v1/rounds/{ROUND}{path}"), vec![1; 16], 1 << 16);
    let entries = ApiRequest { method: axum::http::Method::PUT, ..bytes(&format!("/entries/{batch}")) };
    let handed = ApiRequest { method: axum::http::Method::PUT, ..bytes(&format!("/handed/{batch}")) };
    for (who, service, ask) in [
        ("proxy", Service::Database(0), bytes("/claims")),
        ("proxy", Service::Database(0), entries),
        ("proxy", Service::Database(0), some("/rest", json!({ "rest": "enough" }))),
        ("proxy", Service::Database(0), some("/complete?session=1-a", json!({ "entries": 1 }))),
        ("proxy", Service::Database(0), some("/complete", json!({ "entries": 1 }))),
        ("proxy-1", Service::Proxy(0), handed),
        ("database", Service::Oracle(0), bytes("/answers")),
    ] {
        let client = world.client(who, service);
        refused(&client.ask(&ask, PATIENT).unwrap(), 400, "does not name the keys");
        let under = ApiRequest { path: other.on(&ask.path), ..ask };
        // The oracle may not have the round's own secrets yet.
        until(|| match client.ask(&under, ONCE).unwrap() {
            answer if answer.status == 409 && answer.told().message.contains(&both) => Ok(()),
            answer => Err(format!("{} {} {:?}", under.path, answer.status, answer.told())),
        });
    }
    let proxy = world.proxy("a");
    let reports = world.reports(&proxy, "a", &[1; 16], &[("x", 0)]);
    let given = put(&[1; 16], reports);
    refused(&proxy.ask(&ApiRequest { path: other.on(&given.path), ..given.clone() }, ONCE).unwrap(), 409, &both);
    assert!(proxy.ask(&ApiRequest { path: here.on(&given.path), ..given }, ONCE).unwrap().is_ok());
}
