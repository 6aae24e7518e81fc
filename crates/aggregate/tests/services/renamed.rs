//! A participant is an identity, whatever lists call it.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::transport::ApiRequest;
use tacita_aggregate::wire::hello::ServiceInfo;
use tacita_aggregate::wire::rounds::RoundState;
use tacita_core::ErrorKind;

use super::world::{PATIENT, World, put, refused};

/// The list calls `a` something else from now on.
fn rename(world: &World) {
    let list = world.at("participants");
    let text = std::fs::read_to_string(&list).unwrap();
    std::fs::write(&list, text.replace("a SHA256", "renamed SHA256")).unwrap();
    let until = Instant::now() + Duration::from_secs(60);
    let proxy = world.proxy("a");
    loop {
        let answer = proxy.ask(&ApiRequest::get("/v1/here", 1 << 12), PATIENT).unwrap();
        let here: ServiceInfo = serde_json::from_slice(&answer.body).unwrap();
        if here.participant.as_deref() == Some("renamed") {
            return;
        }
        assert!(Instant::now() < until, "{here:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn who_is_renamed_in_an_open_round_is_still_one_reporter() {
    let world = World::started(&["a", "b"], json!({}));
    world.submit("a", &[1; 16], &[("x", 0)]);
    rename(&world);
    world.submit("a", &[2; 16], &[("x", 0)]);
    world.submit("b", &[3; 16], &[("y", 0)]);
    assert_eq!(world.over().state, RoundState::Revealed);
    assert_eq!(world.result("b"), [].into());
    let counts: Value = world.operate(&RoundOrder::Histogram).unwrap();
    assert_eq!((&counts["count"], &counts["distinct"]), (&json!({ "1": 1, "2": 1 }), &json!({ "1": 2 })));
}

#[test]
fn who_is_renamed_hides_among_nobody_and_has_no_other_quota() {
    let world = World::started(&["a", "b"], json!({ "max_reports": 2 }));
    world.submit("a", &[1; 16], &[("x", 0)]);
    rename(&world);
    world.submit("a", &[2; 16], &[("y", 0)]);
    let proxy = world.proxy("a");
    let more = world.reports(&proxy, "a", &[3; 16], &[("z", 0)]);
    refused(&proxy.ask(&put(&[3; 16], more), PATIENT).unwrap(), 429, "takes 2 reports of one participant");
    let failure = world.over().failure.unwrap();
    assert_eq!(failure.kind, ErrorKind::Terms.code());
    assert!(failure.reason.contains("of 1 participants"), "{}", failure.reason);
}
