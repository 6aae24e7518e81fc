//! A database that answers what it likes to a proxy, which is one of two.

use std::net::TcpListener;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::extract::State;
use axum::http::header;
use axum::response::IntoResponse;
use axum::routing::{get, post, put as putting};
use axum::{Json, Router};
use serde_json::{Value, json};
use tacita_aggregate::transport::{Admission, MEDIA_TYPE, Server, SharedTraffic, stand};
use tacita_aggregate::wire::hello::ServiceInfo;
use tacita_aggregate::wire::signed::{KeyPurpose, KeyRole, Signed};
use tacita_core::protocol::aggregate::DatabaseKey;
use tacita_node::base::cancel::Cancel;
use tacita_node::base::hex::hex;
use tacita_node::base::random::fresh_rng;

use super::world::{ROUND, World, names};

/// Function that answers claims.
pub type Answers = fn(&[u8]) -> Vec<u8>;

/// Dishonest database: the messages that it received, and its answers.
pub struct Lying {
    pub state: &'static str,
    database: Signed,
    proxy: Option<Value>,
    /// The fingerprint of the round's keys, as it tells.
    pub keys: Option<String>,
    pub answer: Answers,
    pub claims: Vec<Vec<u8>>,
    pub entries: Vec<Vec<u8>>,
    rest: Option<Value>,
    /// Amounts that the other proxies have, as it tells.
    pub others: Value,
    /// The other proxies that the round waits for, and those that it goes on without.
    pub waits: Vec<usize>,
    pub without: Vec<usize>,
    pub completion: Option<Value>,
    /// Requests that it received: sessions, claims and entries.
    pub asked: Vec<&'static str>,
    /// Number of requests for the status of its rounds.
    pub polls: u64,
}

pub type Shared = Arc<Mutex<Lying>>;

/// A round of two proxies, of which the first one serves, whose database answers claims so.
pub fn lying(participants: &[&str], answer: Answers) -> (World, Shared) {
    let mut world = World::of_proxies(2, "dh", &names(participants), json!({}));
    let (params, mut rng) = (world.setting.params(ROUND).unwrap(), fresh_rng().unwrap());
    let purpose = KeyPurpose { agreement: &world.setting.agreement, round: ROUND, role: KeyRole::Database };
    let public = DatabaseKey::generate(&params, &mut rng).public(&params, &mut rng);
    let database = Signed::new(&world.identity("database"), purpose, &public).unwrap();
    let shared = Arc::new(Mutex::new(Lying {
        state: "open",
        database,
        proxy: None,
        keys: None,
        answer,
        claims: Vec::new(),
        entries: Vec::new(),
        rest: None,
        others: json!({ "1": "nothing" }),
        waits: Vec::new(),
        without: Vec::new(),
        completion: None,
        asked: Vec::new(),
        polls: 0,
    }));
    let agreement = hex(&world.setting.agreement);
    let here = ServiceInfo { agreement, service: None, version: String::new(), clock: 0, participant: None };
    let status = |it: &Lying| {
        let own = if it.state == "closed" && it.completion.is_none() { Some(0) } else { None };
        let waits: Vec<_> = own.into_iter().chain(it.waits.iter().copied()).collect();
        let mut rests = it.others.clone();
        if let Some(rest) = &it.rest {
            rests["0"] = rest.clone();
        }
        json!({
            "round": ROUND, "state": it.state, "reveal_when": "", "waits": waits, "database": it.database, "proxy": it.proxy,
            "keys": it.keys,
            "rests": rests, "without": it.without,
        })
    };
    let routes = Router::new()
        .route("/v1/here", get(move || async move { Json(here) }))
        .route(
            "/v1/rounds",
            get(move |it: State<Shared>| async move {
                let mut it = it.lock().unwrap();
                it.polls += 1;
                Json(json!([status(&it)]))
            }),
        )
        .route(
            "/v1/rounds/{round}/key",
            post(|it: State<Shared>, Json(key): Json<Value>| async move { it.lock().unwrap().proxy = Some(key) }),
        )
        .route(
            "/v1/rounds/{round}/session",
            post(|it: State<Shared>| async move { it.lock().unwrap().asked.push("session") }),
        )
        .route(
            "/v1/rounds/{round}/claims",
            post(|it: State<Shared>, body: Bytes| async move {
                let mut it = it.lock().unwrap();
                it.claims.push(body.to_vec());
                it.asked.push("claims");
                ([(header::CONTENT_TYPE, MEDIA_TYPE)], (it.answer)(&body)).into_response()
            }),
        )
        .route(
            "/v1/rounds/{round}/rest",
            post(move |it: State<Shared>, Json(told): Json<Value>| async move {
                let mut it = it.lock().unwrap();
                it.rest = Some(told["rest"].clone());
                Json(status(&it))
            }),
        )
        .route(
            "/v1/rounds/{round}/entries/{batch}",
            putting(|it: State<Shared>, body: Bytes| async move {
                let mut it = it.lock().unwrap();
                it.entries.push(body.to_vec());
                it.asked.push("entries");
            }),
        )
        .route(
            "/v1/rounds/{round}/complete",
            post(
                |it: State<Shared>, Json(told): Json<Value>| async move { it.lock().unwrap().completion = Some(told) },
            ),
        )
        .with_state(shared.clone());
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
    (world, shared)
}

/// Waits until something is so of the database.
#[track_caller]
pub fn until<T>(shared: &Shared, what: impl Fn(&Lying) -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = what(&shared.lock().unwrap()) {
            return found;
        }
        assert!(Instant::now() < until, "nothing comes");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Waits until a proxy has been told several times how the round stands, and has had time to do something about it.
#[track_caller]
pub fn looked(shared: &Shared) {
    let before = shared.lock().unwrap().polls;
    until(shared, |it| (it.polls >= before + 5).then_some(()));
}
