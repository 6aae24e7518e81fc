//! Proxies that claim what they have, and databases that answer what they like.

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
use tacita_core::protocol::aggregate::DatabaseKey;
use tacita_node::agreement::{JobSpec, Terms};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::hex::hex;
use tacita_node::base::random::fresh_rng;
use tacita_service::aggregate::here::Here;
use tacita_service::aggregate::keys::Role;
use tacita_service::aggregate::rounds::State as Stage;
use tacita_service::aggregate::signed::{Purpose, Signed};
use tacita_service::aggregate::transport::{Admission, Ask, Client, MEDIA_TYPE, Server, Service, SharedTraffic, stand};

use super::world::{ONCE, PATIENT, ROUND, World, put, refused};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Two proxies and what belongs to them.
fn started(participants: &[&str]) -> World {
    let round = json!({ "reveal_when": "count >= 1 and distinct >= 1" });
    let mut world = World::of_proxies(2, "dh", &names(participants), round);
    ["database", "proxy", "proxy-1", "oracle"].iter().for_each(|role| world.start(role));
    world
}

#[test]
fn a_batch_that_two_proxies_have_counts_once_and_is_there_at_both() {
    let world = started(&["a", "b", "c", "d"]);
    let proxies = |name: &str| [0, 1].map(|place| world.client(name, Service::Proxy(place)));
    let give = |name: &str, batch: u8, places: &[usize]| {
        let proxies = proxies(name);
        let body = world.reports(&proxies[0], name, &[batch; 16], &[("x", 0), (name, 0)]);
        for place in places {
            world.keys(&proxies[*place]);
            let answer = proxies[*place].ask(&put(&[batch; 16], body.clone()), PATIENT).unwrap();
            assert!(answer.is_ok(), "{:?}", answer.told());
        }
        body
    };
    let both = give("a", 1, &[0, 1]);
    // The same name from somebody else is another batch.
    give("b", 1, &[0]);
    give("c", 1, &[1]);
    give("d", 1, &[1]);
    give("c", 2, &[0]);
    let status = world.over();
    assert_eq!((status.state, status.numbers.unwrap().reports), (Stage::Revealed, 10));
    let expected = [("x", 5), ("a", 1), ("b", 1), ("c", 2), ("d", 1)];
    assert_eq!(world.result("a"), expected.map(|(key, count)| (key.to_owned(), count)).into());
    for proxy in proxies("a") {
        let there = proxy.ask(&Ask::get(put(&[1; 16], Vec::new()).path, 1 << 12), ONCE).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&there.body).unwrap(), json!({ "there": true, "open": false }));
        let again = proxy.ask(&put(&[1; 16], both.clone()), ONCE).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&again.body).unwrap(), json!({ "reports": 2, "known": true }));
    }
}

/// Claims are a proxy's, whole, bounded, and of a round that takes something.
#[test]
fn what_are_no_claims_is_refused() {
    let world = started(&["a", "b"]);
    world.keys(&world.proxy("a"));
    let path = world.under(&format!("/v1/rounds/{ROUND}/claims"));
    let [one, other] = ["proxy", "proxy-1"].map(|name| world.client(name, Service::Database(0)));
    let claim = |proxy: &Client, body: Vec<u8>| proxy.ask(&Ask::post(path.clone(), body, 1 << 16), ONCE).unwrap();
    refused(&claim(&world.client("a", Service::Database(0)), vec![1; 16]), 403, "only proxies");
    refused(&claim(&one, vec![]), 400, "whole number of claims");
    refused(&claim(&one, vec![1; 17]), 400, "whole number of claims");
    refused(&claim(&one, vec![1; 16 * ((1 << 14) + 1)]), 413, "longer than");
    let odd = Ask::post("/v1/rounds/other/claims", vec![1; 16], 1 << 16);
    refused(&one.ask(&odd, ONCE).unwrap(), 404, "no round");
    let of = |numbers: &[u8]| numbers.iter().flat_map(|number| [*number; 16]).collect::<Vec<u8>>();
    // Who is first has it, however often either asks.
    for _ in 0..2 {
        assert_eq!(claim(&one, of(&[1, 2, 3])).body, [0b111]);
        assert_eq!(claim(&other, of(&[3, 4, 5, 6, 7, 8, 9, 1, 10])).body, [0b0111_1110, 1]);
    }
    assert_eq!(claim(&one, of(&[4, 2])).body, [0b10]);
    assert_eq!(claim(&one, vec![7; 16 * (1 << 14)]).body.len(), 1 << 11);
    world.over();
    refused(&claim(&one, of(&[1])), 410, "takes no claims");
}

/// A proxy takes reports of a round with one state directory: another process of its identity is told so.
#[test]
fn a_proxy_has_one_directory_for_a_round() {
    let mut world = World::of_proxies(2, "dh", &names(&["a", "b"]), json!({}));
    world.start("database");
    let [one, other] = ["proxy", "proxy-1"].map(|name| world.client(name, Service::Database(0)));
    let tell = |client: &Client, body: Value| {
        client.ask(&Ask::json(format!("/v1/rounds/{ROUND}/directory"), &body, 1 << 16), PATIENT).unwrap()
    };
    let named = |name: &str| json!({ "directory": name.repeat(32) });
    refused(&tell(&world.client("a", Service::Database(0)), named("a")), 403, "only proxies");
    for odd in ["", "a", &"a".repeat(31), &"a".repeat(34), &"g".repeat(32), &"a".repeat(1 << 10)] {
        refused(&tell(&one, json!({ "directory": odd })), 400, "no name of a directory");
    }
    refused(&tell(&one, json!({})), 400, "not what is asked for");
    for _ in 0..2 {
        assert!(tell(&one, named("a")).is_ok() && tell(&other, named("b")).is_ok());
        refused(&tell(&one, named("b")), 409, "has taken reports of round one with another state directory");
    }
    // It is known after a start, too.
    world.stopper("database")();
    world.ended("database");
    world.start("database");
    let one = world.client("proxy", Service::Database(0));
    refused(&tell(&one, named("c")), 409, "with another state directory");
    assert!(tell(&one, named("a")).is_ok());
}

/// How it answers claims.
type Answers = fn(&[u8]) -> Vec<u8>;

/// What a database that does as it likes was told, and what it answers.
struct Lying {
    state: &'static str,
    database: Signed,
    proxy: Option<Value>,
    answer: Answers,
    claims: Vec<Vec<u8>>,
    entries: Vec<Vec<u8>>,
    rest: Option<Value>,
    completion: Option<Value>,
}

type Shared = Arc<Mutex<Lying>>;

/// A round of two proxies, of which the first one serves, whose database answers claims so.
fn lying(participants: &[&str], answer: Answers) -> (World, Shared) {
    let mut world = World::of_proxies(2, "dh", &names(participants), json!({}));
    let (params, mut rng) = (world.setting.params(ROUND).unwrap(), fresh_rng().unwrap());
    let purpose = Purpose { agreement: &world.setting.agreement, round: ROUND, role: Role::Database };
    let public = DatabaseKey::generate(&params, &mut rng).public(&params, &mut rng);
    let database = Signed::new(&world.identity("database"), purpose, &public).unwrap();
    let (claims, entries) = (Vec::new(), Vec::new());
    let shared = Lying { state: "open", database, proxy: None, answer, claims, entries, rest: None, completion: None };
    let shared = Arc::new(Mutex::new(shared));
    let agreement = hex(&world.setting.agreement);
    let here = Here { agreement, service: None, version: String::new(), clock: 0, participant: None };
    let status = |it: &Lying| {
        let waits = if it.state == "closed" && it.completion.is_none() { vec![0] } else { vec![] };
        json!({
            "round": ROUND, "state": it.state, "reveal_when": "", "waits": waits, "database": it.database, "proxy": it.proxy,
            "rests": it.rest.as_ref().map_or(json!({}), |rest| json!({ "0": rest, "1": "nothing" })),
        })
    };
    let routes = Router::new()
        .route("/v1/here", get(move || async move { Json(here) }))
        .route("/v1/rounds", get(move |it: State<Shared>| async move { Json(json!([status(&it.lock().unwrap())])) }))
        .route(
            "/v1/rounds/{round}/key",
            post(|it: State<Shared>, Json(key): Json<Value>| async move { it.lock().unwrap().proxy = Some(key) }),
        )
        .route("/v1/rounds/{round}/directory", post(|| async {}))
        .route(
            "/v1/rounds/{round}/claims",
            post(|it: State<Shared>, body: Bytes| async move {
                let mut it = it.lock().unwrap();
                it.claims.push(body.to_vec());
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
            putting(|it: State<Shared>, body: Bytes| async move { it.lock().unwrap().entries.push(body.to_vec()) }),
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
fn until<T>(shared: &Shared, what: impl Fn(&Lying) -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        if let Some(found) = what(&shared.lock().unwrap()) {
            return found;
        }
        assert!(Instant::now() < until, "nothing comes");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A database that answers for fewer, more, or others than were named gets nothing, and loses nothing: it is asked again.
#[test]
fn an_answer_that_does_not_fit_its_claims_is_none() {
    let wrong: [Answers; 4] = [|_| vec![], |_| vec![0b111, 0], |_| vec![0b1111], |_| vec![0xff; 1 << 12]];
    let (world, shared) = lying(&["a", "b", "c"], wrong[0]);
    for (name, batch) in [("a", 1), ("b", 2), ("c", 3)] {
        world.submit(name, &[batch; 16], &[("x", 0)]);
    }
    shared.lock().unwrap().state = "closed";
    for answer in wrong {
        let before = {
            let mut it = shared.lock().unwrap();
            it.answer = answer;
            it.claims.len()
        };
        until(&shared, |it| (it.claims.len() >= before + 2).then_some(()));
        let it = shared.lock().unwrap();
        assert!(it.entries.is_empty() && it.completion.is_none());
        // The same are claimed each time, in the order of their names, which are those of no batch.
        let names: Vec<&[u8]> = it.claims[0].chunks(16).collect();
        assert!(names.len() == 3 && names.is_sorted() && it.claims.iter().all(|claims| *claims == it.claims[0]));
        assert!(names.iter().all(|name| (1..=3).all(|batch| **name != [batch; 16])));
    }
    shared.lock().unwrap().answer = |_| vec![0b111];
    assert_eq!(until(&shared, |it| it.completion.clone()), json!({ "entries": 3 }));
    let params = world.setting.params(ROUND).unwrap();
    assert_eq!(shared.lock().unwrap().entries.concat().len(), 3 * params.entry_bytes());
}

/// A database that says of all batches but one that they are another proxy's, to see whose rows are whose, sees none.
#[test]
fn a_database_that_leaves_one_batch_alone_gets_nothing() {
    let (world, shared) = lying(&["a", "b", "c"], |_| vec![0b010]);
    for (name, batch) in [("a", 1), ("b", 2), ("c", 3)] {
        world.submit(name, &[batch; 16], &[("x", 0), ("y", 0)]);
    }
    shared.lock().unwrap().state = "closed";
    let completion = until(&shared, |it| it.completion.clone());
    assert_eq!(completion["entries"], 0, "{completion}");
    assert!(completion["unshufflable"].as_str().unwrap().contains("2 reports are of 1 participants"), "{completion}");
    assert!(shared.lock().unwrap().entries.is_empty());
}

/// The places of proxies are spoken of: job files that name them in another order do not fit.
#[test]
fn proxies_in_another_order_are_other_terms() {
    let world = World::of_proxies(2, "dh", &names(&["a"]), json!({}));
    let text = std::fs::read_to_string(world.at("job.json")).unwrap();
    let mut job: Value = serde_json::from_str(&text).unwrap();
    job["proxy"].as_array_mut().unwrap().reverse();
    let other = JobSpec::parse(&job.to_string(), true).unwrap();
    let differences = Terms::of(&world.setting.spec).differences(&Terms::of(&other));
    assert!(differences.len() == 1 && differences[0].starts_with("proxy (ours"), "{differences:?}");
    job["proxy"][1] = job["proxy"][0].clone();
    let twice = JobSpec::parse(&job.to_string(), true).unwrap_err().to_string();
    assert!(twice.contains("two [[proxy]] have the same identity"), "{twice}");
}
