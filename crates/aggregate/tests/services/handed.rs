//! Proxies that hand over what they have too little of, and whom nobody is to be given the same.

use serde_json::{Value, json};
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::transport::{ApiRequest, ApiResponse, Client};
use tacita_aggregate::wire::handed::Handed;
use tacita_aggregate::wire::rounds::RoundState;
use tacita_aggregate::wire::same_keys::KeysFingerprint;
use tacita_aggregate::wire::service::Service;

use super::lying::{Shared, looked, lying, until};
use super::world::{ONCE, PATIENT, ROUND, World, names, put, refused};

/// A batch of `name` that the other proxy hands over, of one entry.
fn handed(world: &World, keys: &KeysFingerprint, name: &str, batch: u8) -> ApiRequest {
    let entry = vec![0; world.setting.params(ROUND).unwrap().entry_bytes()];
    let participant = world.identity(name).fingerprint();
    let body = Handed { participant, digest: [1; 32], records: &entry }.to_bytes();
    let path = format!("/v1/rounds/{ROUND}/handed/{}", format!("{batch:02x}").repeat(16));
    ApiRequest::put(keys.on(&path), body, 1 << 16)
}

/// A round of `a` alone at the first of two proxies; the other one, which does as the test likes.
fn begun() -> (World, Shared, Client, KeysFingerprint) {
    let (world, shared) = lying(&["a", "b"], |_| vec![1]);
    let (params, keys) = world.keys(&world.proxy("a"));
    world.submit("a", &[1; 16], &[("x", 0), ("y", 0)]);
    let other = world.client("proxy-1", Service::Proxy(0));
    (world, shared, other, KeysFingerprint::of(&params, &keys))
}

fn close(shared: &Shared, others: Value, waits: &[usize]) {
    let mut it = shared.lock().unwrap();
    (it.state, it.others, it.waits) = ("closed", others, waits.to_vec());
}

fn completed(shared: &Shared) -> Option<Value> {
    shared.lock().unwrap().completion.clone()
}

/// Before the round has closed nothing is taken over, and when all has been sent nothing either: whoever hands it over
/// keeps it then.
#[test]
fn batches_are_taken_over_between_the_close_and_the_end() {
    let (world, shared, other, keys) = begun();
    let give = || -> ApiResponse { other.ask(&handed(&world, &keys, "b", 2), ONCE).unwrap() };
    refused(&give(), 503, "not closed here yet");
    close(&shared, json!({ "1": "too-few" }), &[1]);
    // It waits for what the other one has, and sends nothing before.
    looked(&shared);
    assert!(completed(&shared).is_none() && shared.lock().unwrap().entries.is_empty());
    let answer = other.ask(&handed(&world, &keys, "b", 2), PATIENT).unwrap();
    assert!(answer.is_ok(), "{:?}", answer.told());
    close(&shared, json!({ "1": "too-few" }), &[]);
    assert_eq!(until(&shared, |it| it.completion.clone()), json!({ "entries": 3 }));
    refused(&give(), 410, "all reports of the round have been sent");
}

/// The proxies agree on who takes over what when all have told what they have, and not before.
#[test]
fn nothing_is_decided_before_all_have_told() {
    let (_world, shared, ..) = begun();
    close(&shared, json!({}), &[1]);
    looked(&shared);
    assert_eq!(completed(&shared), None);
    close(&shared, json!({ "1": "nothing" }), &[]);
    let completion = until(&shared, |it| it.completion.clone());
    assert!(completion["unshufflable"].as_str().unwrap().contains("of 1 participants"), "{completion}");
}

/// Reports that are handed over are kept until the other proxy has them. If that is given up meanwhile, it may have
/// sent some of them: none of them leaves from here.
#[test]
fn what_was_being_handed_over_to_a_proxy_that_is_given_up_leaves_nowhere() {
    let (_world, shared, ..) = begun();
    // It is in the job, and nowhere to be reached.
    close(&shared, json!({ "1": "enough" }), &[1]);
    looked(&shared);
    assert_eq!(completed(&shared), None);
    {
        let mut it = shared.lock().unwrap();
        (it.others, it.waits, it.without) = (json!({ "1": "nothing" }), vec![], vec![1]);
    }
    assert_eq!(until(&shared, |it| it.completion.clone()), json!({ "entries": 0, "discarded": 2 }));
    assert!(shared.lock().unwrap().entries.is_empty());
}

/// Each of two has too little for a shuffle, and both together have enough.
#[test]
fn too_few_at_each_of_two_are_shuffled_together() {
    let mut world = World::of_proxies(2, "dh", &names(&["a", "b"]), json!({ "reveal_when": "distinct >= 2" }));
    ["database", "proxy", "proxy-1", "oracle"].iter().for_each(|role| world.start(role));
    for (place, name, batch) in [(0, "a", 1), (1, "b", 2)] {
        let proxy = world.client(name, Service::Proxy(place));
        let body = world.reports(&proxy, name, &[batch; 16], &[("x", 0), (name, 0)]);
        assert!(proxy.ask(&put(&[batch; 16], body), PATIENT).unwrap().is_ok());
    }
    world.operate(&RoundOrder::Close { without: Vec::new() }).unwrap();
    let status = world.ends();
    assert_eq!((status.state, status.numbers.unwrap().reports), (RoundState::Revealed, 4));
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
}
