//! Rounds of which a database takes nothing for now, and which hold up no other.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{Path, State};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde_json::{Value, json};
use tacita_aggregate::transport::{Admission, Server, SharedTraffic, stand};
use tacita_aggregate::wire::hello::ServiceInfo;
use tacita_aggregate::wire::reply::{ApiError, RefusalReason};
use tacita_aggregate::wire::signed::{KeyPurpose, KeyRole, Signed};
use tacita_core::protocol::aggregate::DatabaseKey;
use tacita_node::base::cancel::Cancel;
use tacita_node::base::hex::hex;
use tacita_node::base::random::fresh_rng;

use super::world::{ROUND, World};

/// Number of rounds on which a proxy works at the same time.
const SICK: usize = 8;

/// The rounds that the proxies' key was brought for.
type Asked = Arc<Mutex<BTreeSet<String>>>;

#[test]
fn rounds_of_which_nothing_is_taken_hold_up_no_other() {
    let mut world = World::new(&["a", "b"].map(str::to_owned), json!({}));
    let (params, mut rng) = (world.setting.params(ROUND).unwrap(), fresh_rng().unwrap());
    let purpose = KeyPurpose { agreement: &world.setting.agreement, round: ROUND, role: KeyRole::Database };
    let public = DatabaseKey::generate(&params, &mut rng).public(&params, &mut rng);
    let database = Signed::new(&world.identity("database"), purpose, &public).unwrap();
    let names = (0..SICK).map(|place| format!("sick-{place}")).chain(["well".to_owned()]);
    let status = |round: String| json!({ "round": round, "state": "open", "reveal_when": "", "database": database });
    let rounds: Vec<Value> = names.map(status).collect();
    let agreement = hex(&world.setting.agreement);
    let here = ServiceInfo { agreement, service: None, version: String::new(), clock: 0, participant: None };
    let asked = Asked::default();
    let routes = Router::new()
        .route("/v1/here", get(move || async move { Json(here) }))
        .route("/v1/rounds", get(move || async move { Json(rounds) }))
        .route("/v1/rounds/{round}/session", post(|| async {}))
        .route(
            "/v1/rounds/{round}/key",
            post(|asked: State<Asked>, Path(round): Path<String>| async move {
                asked.lock().unwrap().insert(round);
                ApiError::new(RefusalReason::NotYet, "it is not taken at the moment")
            }),
        )
        .with_state(asked.clone());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::write(world.at("addresses").join("database-1"), listener.local_addr().unwrap().to_string()).unwrap();
    let server = Server {
        identity: world.identity("database"),
        admission: Arc::new(Admission::new(world.setting.services().unwrap(), Vec::new(), None).unwrap()),
        traffic: SharedTraffic::default(),
        routes,
        cancel: Cancel::default(),
    };
    world.runtime.spawn(stand(Arc::new(server), listener));
    world.start("proxy");
    // Of all rounds nothing is taken, and still each has its turn.
    let until = Instant::now() + Duration::from_secs(60);
    while asked.lock().unwrap().len() <= SICK {
        assert!(Instant::now() < until, "{:?}", asked.lock().unwrap());
        std::thread::sleep(Duration::from_millis(20));
    }
}
