//! A database with many rounds.

use std::collections::HashMap;
use std::net::TcpListener;
use std::sync::Arc;

use axum::extract::Query;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tacita_aggregate::participant::operate::{Operator, RoundOrder};
use tacita_aggregate::transport::{Admission, ApiRequest, Server, SharedTraffic, stand};
use tacita_aggregate::wire::hello::ServiceInfo;
use tacita_aggregate::wire::rounds::RoundStatus;
use tacita_aggregate::wire::service::Service;
use tacita_node::base::cancel::Cancel;
use tacita_node::base::hex::hex;

use super::world::{ONCE, PATIENT, ROUND, World, refused};

const ROUNDS: usize = 9000;

fn name(place: usize) -> String {
    format!("r{place:05}")
}

/// A round that is over, with as much beside it as a page has room for.
fn over(place: usize) -> Value {
    json!({ "round": name(place), "state": "revealed", "reveal_when": "x".repeat(600) })
}

/// Stands in place of the database, with that many rounds, of which it tells as many as it is asked for.
fn many(world: &World) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::write(world.at("addresses").join("database-1"), listener.local_addr().unwrap().to_string()).unwrap();
    let agreement = hex(&world.setting.agreement);
    let own = ServiceInfo { agreement, service: None, version: String::new(), clock: 0, participant: None };
    let list = |Query(asked): Query<HashMap<String, String>>| async move {
        let limit = asked.get("limit").map_or(ROUNDS, |limit| limit.parse().unwrap());
        let after = asked.get("after").map_or(0, |name| name[1..].parse::<usize>().unwrap() + 1);
        Json((after..ROUNDS).take(limit).map(over).collect::<Vec<_>>())
    };
    let server = Server {
        identity: world.identity("database"),
        admission: Arc::new(Admission::new(world.setting.services().unwrap(), Vec::new(), None).unwrap()),
        traffic: SharedTraffic::default(),
        routes: Router::new().route("/v1/here", get(move || async move { Json(own) })).route("/v1/rounds", get(list)),
        cancel: Cancel::default(),
    };
    world.runtime.spawn(stand(Arc::new(server), listener));
}

/// More rounds than one answer holds: the proxy knows them all.
#[test]
fn a_proxy_follows_thousands_of_rounds() {
    let mut world = World::new(&["a".into()], json!({}));
    many(&world);
    world.start("proxy");
    let proxy = world.proxy("a");
    for place in [0, ROUNDS / 2, ROUNDS - 1] {
        let path = format!("/v1/rounds/{}/reports/{}", name(place), "00".repeat(16));
        let answer = proxy.ask(&ApiRequest::get(path, 1 << 12), PATIENT).unwrap();
        let told: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(told, json!({ "there": false, "open": false }), "{:?}", answer.told());
    }
    let unknown = ApiRequest::get(format!("/v1/rounds/{}", name(ROUNDS)), 1 << 12);
    refused(&proxy.ask(&unknown, PATIENT).unwrap(), 404, "no round of this name");
}

/// Rounds are listed in the order of their names, in parts of which the next begins behind the last.
#[test]
fn rounds_are_listed_in_parts() {
    let world = World::started(&["a", "b"], json!({}));
    let operator = Operator::new(&world.setting, &world.identity("database"), Some(&world.at("addresses"))).unwrap();
    for round in ["c", "a", "b"] {
        operator.order(round, &RoundOrder::Open).unwrap();
    }
    let database = world.client("proxy", Service::Database(0));
    let list = |part: &str| -> Vec<String> {
        let answer = database.ask(&ApiRequest::get(format!("/v1/rounds{part}"), 1 << 16), PATIENT).unwrap();
        assert!(answer.is_ok(), "{:?}", answer.told());
        let all: Vec<RoundStatus> = serde_json::from_slice(&answer.body).unwrap();
        all.into_iter().map(|status| status.round).collect()
    };
    assert_eq!(list(""), ["a", "b", "c", ROUND]);
    assert_eq!(list("?limit=2"), ["a", "b"]);
    assert_eq!(list("?limit=2&after=b"), ["c", ROUND]);
    assert_eq!(list("?limit=2&after=c"), [ROUND]);
    assert_eq!(list("?after=aa"), ["b", "c", ROUND]);
    assert!(list(&format!("?limit=2&after={ROUND}")).is_empty());
    for odd in ["?limit=x", "?limit=-1", "?other=1"] {
        refused(
            &database.ask(&ApiRequest::get(format!("/v1/rounds{odd}"), 1 << 12), ONCE).unwrap(),
            400,
            "takes `after`",
        );
    }
    // Of one that is over a part tells no more than that.
    world.submit("a", &[1; 16], &[("x", 0)]);
    world.submit("b", &[2; 16], &[("x", 0)]);
    world.over();
    let one = |part: &str| -> RoundStatus {
        let answer = database.ask(&ApiRequest::get(format!("/v1/rounds{part}"), 1 << 16), PATIENT).unwrap();
        serde_json::from_slice::<Vec<RoundStatus>>(&answer.body).unwrap().pop().unwrap()
    };
    let (whole, brief) = (one("?after=c"), one("?after=c&limit=1"));
    assert!(whole.database.is_some() && brief.database.is_none() && brief.failure.is_none());
    assert_eq!((brief.round, brief.state, brief.closed), (whole.round, whole.state, whole.closed));
}
