//! Rounds whose numbers have noise: what participants get, what the oracle sees, and participants that cheat.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::http::header;
use axum::routing::post;
use serde_json::{Value, json};
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::transport::{ApiRequest, MEDIA_TYPE};
use tacita_aggregate::wire::questions::decode_questions;
use tacita_aggregate::wire::rounds::{ReportCounts, RoundState};
use tacita_aggregate::wire::service::Service;

use super::forged::mixed;
use super::world::{PATIENT, ROUND, World, names, put, refused};

/// Returns noise that is 0 but with probability 10^-4.
fn hardly_any() -> Value {
    json!({ "epsilon": 20, "delta": "1e-6", "unit": "report" })
}

/// Checks that one key has come out, with about this number: it is beyond with probability 10^-8.
#[track_caller]
fn only(told: BTreeMap<String, u64>, key: &str, number: u64) {
    assert!(told.len() == 1 && told.get(key).is_some_and(|told| told.abs_diff(number) <= 1), "{told:?}");
}

/// Returns this many reports of one key.
fn times(key: &str, number: usize) -> Vec<(&str, u32)> {
    vec![(key, 0); number]
}

/// A participant puts wrong keys beside the row of a key until the row is far above the threshold. If they counted, a
/// single report of another participant would decide whether the key is told.
#[test]
fn wrong_reports_make_no_key_pass() {
    for reported in [false, true] {
        let round = json!({ "noise": hardly_any(), "reveal": "keys", "reveal_when": "count >= 4" });
        let world = World::started(&["a", "b", "c"], round);
        world.submit("a", &[1; 16], &if reported { times("x", 1) } else { times("w", 1) });
        world.submit("b", &[2; 16], &times("y", 6));
        let wrong = mixed(&world, "c", &[3; 16], &[("x", "?"); 12]);
        assert!(world.proxy("c").ask(&put(&[3; 16], wrong), PATIENT).unwrap().is_ok());
        let beside_y = mixed(&world, "c", &[4; 16], &[("y", "?"); 3]);
        assert!(world.proxy("c").ask(&put(&[4; 16], beside_y), PATIENT).unwrap().is_ok());
        let status = world.over();
        assert_eq!(status.state, RoundState::Revealed, "{:?}", status.failure);
        only(world.result("a"), "y", 6);
    }
}

/// Reporters with wrong keys do not count either, and an honest one counts once.
#[test]
fn reporters_with_wrong_keys_count_for_nothing() {
    let cheats = ["d", "e", "f", "g"];
    let round = json!({ "noise": hardly_any(), "reveal": "keys", "reveal_when": "distinct >= 4" });
    let world = World::started(&["a", "b", "c", "h", "i", "d", "e", "f", "g"], round);
    for (place, name) in cheats.into_iter().enumerate() {
        let batch = [9 + place as u8; 16];
        let wrong = mixed(&world, name, &batch, &[("x", "?"), ("y", "?")]);
        assert!(world.proxy(name).ask(&put(&batch, wrong), PATIENT).unwrap().is_ok());
    }
    world.submit("a", &[1; 16], &[("x", 0), ("y", 0), ("y", 0)]);
    world.submit("b", &[2; 16], &[("y", 0), ("y", 0)]);
    for (place, name) in ["c", "h", "i"].into_iter().enumerate() {
        world.submit(name, &[20 + place as u8; 16], &[("y", 0)]);
    }
    let status = world.over();
    assert_eq!(status.state, RoundState::Revealed, "{:?}", status.failure);
    only(world.result("b"), "y", 5);
}

/// An oracle that looks at what it is asked: as many entries as the number with noise says, whatever the row has, and
/// each as of another reporter.
#[test]
fn the_oracle_sees_numbers_with_noise_alone() {
    let noise = json!({ "epsilon": "0.5", "delta": "0.001", "unit": "report" });
    let round = json!({ "noise": noise, "reveal": "keys", "reveal_when": "count >= 29" });
    let mut world = World::new(&names(&["a", "b"]), round);
    ["database", "proxy"].iter().for_each(|role| world.start(role));
    let seen = Arc::new(Mutex::new(Vec::new()));
    let (params, asked) = (Arc::new(world.setting.params(ROUND).unwrap()), seen.clone());
    let reply = move |body: Bytes| {
        let questions = decode_questions(&body, &params).unwrap();
        let entries = questions.iter().map(|question| question.sealed.len() / params.sealed_bytes());
        asked.lock().unwrap().extend(entries);
        let answer = vec![0, 1, 0, b'x'];
        async move { ([(header::CONTENT_TYPE, MEDIA_TYPE)], answer) }
    };
    world.start_oracle_of(Router::new().route("/v1/rounds/{round}/answers", post(reply)));
    // Noise of scale 4: the row is above the threshold but with probability 10^-7.
    world.submit("a", &[1; 16], &times("x", 45));
    world.submit("b", &[2; 16], &times("x", 45));
    let status = world.over();
    assert_eq!(status.state, RoundState::Revealed, "{:?}", status.failure);
    let filling = world.setting.own().unwrap().round_noise().unwrap().unwrap().filling;
    let told = world.result("a")["x"];
    assert_eq!(*seen.lock().unwrap(), [(told + filling) as usize]);
}

/// Participants get the histogram with noise, the same each time; the operator sees exact numbers.
#[test]
fn the_histogram_has_noise_for_all_but_the_operator() {
    let noise = json!({ "epsilon": "0.5", "delta": "0.001", "unit": "report", "bounds": [1, 30] });
    let round = json!({ "noise": noise, "reveal": "keys+histogram", "reveal_when": "count >= 200" });
    let world = World::started(&["a", "b"], round);
    world.submit("a", &[1; 16], &[("x", 0), ("y", 0)]);
    world.submit("b", &[2; 16], &[("x", 0), ("z", 0)]);
    let request = ApiRequest::get(format!("/v1/rounds/{ROUND}/histogram"), 1 << 12);
    let database = world.client("a", Service::Database(0));
    let before = database.ask(&request, super::world::ONCE).unwrap();
    refused(&before, 503, "is open");
    assert_eq!(world.over().state, RoundState::Revealed);
    let read = || -> ReportCounts { serde_json::from_slice(&database.ask(&request, PATIENT).unwrap().body).unwrap() };
    let counts = read();
    assert!(counts.count.is_empty() && counts.distinct.is_empty(), "{counts:?}");
    assert_eq!(counts.noisy.len(), 30);
    assert!(counts.noisy.iter().skip(2).filter(|rows| **rows != 0).count() > 15, "{counts:?}");
    assert_eq!(counts, read());
    let exact: ReportCounts = serde_json::from_value(world.operate(&RoundOrder::Histogram).unwrap()).unwrap();
    assert_eq!(exact.count, [(1, 2), (2, 1)].into());
    assert_eq!(exact.noisy, counts.noisy);
    assert_eq!(world.result("b"), [].into());
}

/// Sums have noise, and stand in the place of values.
#[test]
fn sums_have_noise() {
    let round = json!({
        "noise": hardly_any(), "reveal": "keys+values", "reveal_when": "count >= 4", "values": { "min": 1, "max": 3 },
    });
    let world = World::started(&["a", "b"], round);
    world.submit("a", &[1; 16], &[("x", 0), ("x", 2), ("w", 1)]);
    world.submit("b", &[2; 16], &[("x", 2), ("x", 2), ("x", 1), ("x", 2)]);
    let status = world.over();
    assert_eq!(status.state, RoundState::Revealed, "{:?}", status.failure);
    // Scales are 1/5 and 3/5: more than this is off by so much with probability 10^-5.
    let told = world.result("a");
    assert!(told.len() == 1 && (5..=8).contains(&told["x"]), "{told:?}");
    let text = std::fs::read_to_string(world.at("result.csv")).unwrap();
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(lines[0], ["item", "count", "sum"]);
    assert!((lines[1][2].parse::<i64>().unwrap() - 15).abs() <= 7, "{text}");
}
