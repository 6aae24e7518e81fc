//! Services that do not do what they have to: the others name them.

use std::net::TcpListener;
use std::sync::Arc;

use axum::http::header;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::json;
use tacita_aggregate::transport::{Admission, ApiRequest, MEDIA_TYPE, Server, SharedTraffic, stand};
use tacita_aggregate::wire::hello::ServiceInfo;
use tacita_aggregate::wire::rounds::RoundState;
use tacita_aggregate::wire::service::Service;
use tacita_core::{Error, ErrorKind};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::hex::hex;

use super::faked::{give_key, nothing, proxies_key};
use super::world::{ONCE, PATIENT, ROUND, World, refused};

/// Two participants, and a round whose oracle answers this.
fn answered(answer: Vec<u8>) -> World {
    let mut world = World::new(&["a".into(), "b".into()], json!({}));
    ["database", "proxy"].iter().for_each(|role| world.start(role));
    let reply = move || {
        let answer = answer.clone();
        async move { ([(header::CONTENT_TYPE, MEDIA_TYPE)], answer) }
    };
    world.start_oracle_of(Router::new().route("/v1/rounds/{round}/answers", post(reply)));
    world
}

#[test]
fn an_oracle_that_answers_nonsense_is_named() {
    let one_key_for_two_rows = [vec![0, 1, 0, b'x'], vec![0, 1, 0, b'x']].concat();
    for (answer, words) in [
        (vec![], "cannot be read"),
        (vec![7], "cannot be read"),
        (vec![1, 1, 0, 0, 0, 200, 0, 0, 0], "cannot be read"),
        (vec![2, 2], "withholds the key"),
        (one_key_for_two_rows, "one key for two rows"),
    ] {
        let world = answered(answer);
        world.submit("a", &[1; 16], &[("x", 0), ("y", 0)]);
        world.submit("b", &[2; 16], &[("x", 0), ("y", 0)]);
        let status = world.over();
        assert_eq!(status.state, RoundState::Failed);
        let failure = status.failure.unwrap();
        assert_eq!((failure.culprit.as_deref(), failure.kind), (Some("the oracle"), ErrorKind::Protocol.code()));
        assert!(failure.reason.contains(words), "{}", failure.reason);
        // Everybody who asks for the result hears of it.
        let told = world.collect("a").unwrap_err();
        assert_eq!((told.kind(), told.peer()), (ErrorKind::Protocol, Some("the oracle")), "{told}");
    }
}

/// Claims of a database about a row take no memory beyond their bound: more values than reports, or more than any table
/// holds.
#[test]
fn a_database_that_claims_too_much_is_not_believed() {
    let most = 1_u64 << 60;
    for (count, listed, words) in
        [(2, most, "more values than reports"), (most, most, "lists 1,152,921,504,606,846,976")]
    {
        let world = World::new(&["a".into()], json!({ "values": [1, 2] }));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap().to_string();
        std::fs::write(world.at("addresses").join("database-1"), here).unwrap();
        let row = [&[1, 0, b'x'][..], &u64::to_le_bytes(count), &[1, 0, 0, 0, 0, 0, 0, 0], &u64::to_le_bytes(listed)]
            .concat();
        let status = json!({ "round": ROUND, "state": "revealed", "reveal_when": "", "parts": 1 });
        let own = ServiceInfo {
            agreement: hex(&world.setting.agreement),
            service: None,
            version: String::new(),
            clock: 0,
            participant: Some("a".into()),
        };
        let routes = Router::new()
            .route("/v1/here", get(move || async move { Json(own) }))
            .route("/v1/rounds/{round}", get(move || async move { Json(status) }))
            .route("/v1/rounds/{round}/results/0", get(move || async move { row }));
        let allow = world.at("participants");
        let server = Server {
            identity: world.identity("database"),
            admission: Arc::new(Admission::new(Vec::new(), Vec::new(), Some(&allow)).unwrap()),
            traffic: SharedTraffic::default(),
            routes,
            cancel: Cancel::default(),
        };
        world.runtime.spawn(stand(Arc::new(server), listener));
        let error = world.collect("a").unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
}

#[test]
fn a_proxy_that_sends_what_is_no_entry_is_named() {
    let world = World::started(&["a", "b"], json!({}));
    let (params, _) = world.keys(&world.proxy("a"));
    let database = world.client("proxy", Service::Database(0));
    let path = format!("/v1/rounds/{ROUND}/entries/{}?session={}", "01".repeat(16), world.session("proxy"));
    let path = world.under(&path);
    let answer = database.ask(&ApiRequest::put(path, vec![0xff; params.entry_bytes()], 1 << 12), ONCE).unwrap();
    refused(&answer, 400, "no valid point");
    let told = world.collect("b").unwrap_err();
    assert_eq!((told.kind(), told.peer()), (ErrorKind::Protocol, Some("the proxy")), "{told}");
}

/// Two batches of one name, and more after the end.
#[test]
fn a_proxy_that_repeats_a_name_is_named() {
    let world = World::started(&["a", "b"], json!({}));
    world.keys(&world.proxy("a"));
    let database = world.client("proxy", Service::Database(0));
    // No row, but a batch.
    let entry = nothing(&world);
    let path = format!("/v1/rounds/{ROUND}/entries/{}?session={}", "02".repeat(16), world.session("proxy"));
    let path = world.under(&path);
    let give = |body: Vec<u8>| database.ask(&ApiRequest::put(path.clone(), body, 1 << 12), PATIENT).unwrap();
    assert!(give(entry.clone()).is_ok());
    assert!(give(entry.clone()).is_ok(), "the same again");
    refused(&give([entry.clone(), entry].concat()), 409, "another batch");
    let told = world.collect("b").unwrap_err();
    assert_eq!((told.kind(), told.peer()), (ErrorKind::Protocol, Some("the proxy")), "{told}");
}

/// Keys of a round that nobody who has to has signed are not encrypted under.
#[test]
fn keys_that_the_right_ones_have_not_signed_are_not_used() {
    use tacita_aggregate::wire::signed::{KeyPurpose, KeyRole, Signed};

    let world = World::started(&["a", "b"], json!({}));
    let proxy = world.proxy("a");
    world.keys(&proxy);
    let database = world.client("proxy", Service::Database(0));
    let purpose = KeyPurpose { agreement: &world.setting.agreement, round: ROUND, role: KeyRole::Proxy };
    let signed = Signed::new(&world.identity("a"), purpose, b"public").unwrap();
    let value = serde_json::to_value(&signed).unwrap();
    let path = format!("/v1/rounds/{ROUND}/key");
    // The round has the right one.
    refused(&database.ask(&ApiRequest::json(path, &value, 1 << 12), ONCE).unwrap(), 409, "another key");
    let opened = signed.open(purpose, &world.setting.pins("proxy").unwrap(), "the proxy");
    assert!(matches!(opened, Err(Error::Authentication { .. })));
    // Nor is it the first one that is brought, whatever that is.
    let mut world = World::new(&["a".into()], json!({}));
    world.start("database");
    let right = proxies_key(&world, ROUND, "proxy");
    for wrong in [proxies_key(&world, ROUND, "a"), proxies_key(&world, "other", "proxy")] {
        refused(&give_key(&world, &wrong), 400, "no key of the round that a proxy has signed");
    }
    for _ in 0..2 {
        assert!(give_key(&world, &right).is_ok());
    }
    refused(&give_key(&world, &proxies_key(&world, ROUND, "proxy")), 409, "another key");
}
