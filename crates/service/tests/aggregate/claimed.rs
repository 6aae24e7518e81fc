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
use tacita_service::aggregate::participant::operate::Order;
use tacita_service::aggregate::rounds::State as Stage;
use tacita_service::aggregate::same_keys::KeysFingerprint;
use tacita_service::aggregate::secret::Secret;
use tacita_service::aggregate::sessions::{Advance, Session};
use tacita_service::aggregate::signed::{Purpose, Signed};
use tacita_service::aggregate::transport::{
    Admission, Answer, Ask, Client, MEDIA_TYPE, Server, Service, SharedTraffic, stand,
};

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

/// A proxy that does as the test likes: it has the round's keys and a session, and no directory.
struct Fake {
    client: Client,
    keys: KeysFingerprint,
    last: Option<Session>,
}

impl Fake {
    fn new(world: &World, name: &str) -> Fake {
        Fake { client: world.client(name, Service::Database(0)), keys: world.fingerprint(), last: None }
    }

    fn session(&self) -> Session {
        self.last.unwrap()
    }

    fn post(&self, what: &str, body: &Value) -> Answer {
        let path = self.keys.on(&format!("/v1/rounds/{ROUND}/{what}"));
        self.client.ask(&Ask::json(path, body, 1 << 16), PATIENT).unwrap()
    }

    /// Asks for a step, which is its own from then on if it is granted.
    fn ask(&mut self, from: Option<Session>, to: Session) -> Answer {
        let answer = self.post("session", &serde_json::to_value(Advance { from, to }).unwrap());
        if answer.is_ok() {
            self.last = Some(to);
        }
        answer
    }

    fn advance(&mut self) {
        let answer = self.ask(self.last, Session::after(self.last).unwrap());
        assert!(answer.is_ok(), "{:?}", answer.told());
    }

    fn claim(&mut self, body: Vec<u8>) -> Answer {
        let next = Session::after(self.last).unwrap();
        let path = format!("/v1/rounds/{ROUND}/claims?session={}&next={next}", self.session());
        let answer = self.client.ask(&Ask::post(self.keys.on(&path), body, 1 << 16), PATIENT).unwrap();
        if answer.is_ok() {
            self.last = Some(next);
        }
        answer
    }

    fn complete(&self, entries: u64) -> Answer {
        self.post(&format!("complete?session={}", self.session()), &json!({ "entries": entries }))
    }
}

/// A database alone, and two proxies that do as the test likes.
fn faked(participants: &[&str]) -> (World, Fake, Fake) {
    let mut world = World::of_proxies(2, "dh", &names(participants), json!({}));
    world.start("database");
    give_key(&world);
    let [one, other] = ["proxy", "proxy-1"].map(|name| Fake::new(&world, name));
    (world, one, other)
}

/// Gives the database a key of the proxies' for the round.
fn give_key(world: &World) {
    let (params, mut rng) = (world.setting.params(ROUND).unwrap(), fresh_rng().unwrap());
    let public = Secret::generate(&world.setting, &params, &mut rng).public(&params, &mut rng);
    let purpose = Purpose { agreement: &world.setting.agreement, round: ROUND, role: Role::Proxy };
    let signed = serde_json::to_value(Signed::new(&world.identity("proxy"), purpose, &public).unwrap()).unwrap();
    let ask = Ask::json(format!("/v1/rounds/{ROUND}/key"), &signed, 1 << 16);
    let answer = world.client("proxy", Service::Database(0)).ask(&ask, PATIENT).unwrap();
    assert!(answer.is_ok(), "{:?}", answer.told());
}

fn close(world: &World) {
    world.operate(&Order::Close { without: Vec::new() }).unwrap();
}

/// Claims are a proxy's, whole, bounded, and of a round that takes something.
#[test]
fn what_are_no_claims_is_refused() {
    let (world, mut one, mut other) = faked(&["a", "b"]);
    let path = one.keys.on(&format!("/v1/rounds/{ROUND}/claims"));
    let bare = |client: &Client| client.ask(&Ask::post(path.clone(), vec![1; 16], 1 << 16), PATIENT).unwrap();
    refused(&bare(&world.client("a", Service::Database(0))), 403, "only proxies");
    refused(&bare(&one.client), 400, "names no session");
    one.advance();
    other.advance();
    refused(&one.claim(vec![]), 400, "whole number of claims");
    refused(&one.claim(vec![1; 17]), 400, "whole number of claims");
    refused(&one.claim(vec![1; 16 * ((1 << 14) + 1)]), 413, "longer than");
    let odd = one.keys.on(&format!("/v1/rounds/other/claims?session={}", one.session()));
    refused(&one.client.ask(&Ask::post(odd, vec![1; 16], 1 << 16), ONCE).unwrap(), 404, "no round");
    let of = |numbers: &[u8]| numbers.iter().flat_map(|number| [*number; 16]).collect::<Vec<u8>>();
    // Who is first has it, however often either asks.
    for _ in 0..2 {
        assert_eq!(one.claim(of(&[1, 2, 3])).body, [0b111]);
        assert_eq!(other.claim(of(&[3, 4, 5, 6, 7, 8, 9, 1, 10])).body, [0b0111_1110, 1]);
    }
    assert_eq!(one.claim(of(&[4, 2])).body, [0b10]);
    assert_eq!(one.claim(vec![7; 16 * (1 << 14)]).body.len(), 1 << 11);
    close(&world);
    for proxy in [&one, &other] {
        assert!(proxy.complete(0).is_ok());
    }
    refused(&one.claim(of(&[1])), 410, "takes no claims");
}

/// A proxy goes from session to session; whoever does not have the last one is refused.
#[test]
fn only_the_holder_of_the_last_session_brings_anything() {
    let (mut world, mut one, mut other) = faked(&["a", "b"]);
    refused(&Fake::new(&world, "a").ask(None, Session::after(None).unwrap()), 403, "only proxies");
    let name = "ab".repeat(16);
    for (from, to) in [("", format!("1-{name}")), ("1-a", format!("2-{name}")), ("0", format!("1-{name}"))] {
        refused(&one.post("session", &json!({ "from": from, "to": to })), 400, "not what is asked for");
    }
    refused(&one.post("session", &json!({ "to": format!("2-{name}") })), 400, "no session that follows");
    other.advance();
    one.advance();
    let first = one.session();
    one.advance();
    let last = one.session();
    // The same step once more is the same one.
    for _ in 0..2 {
        assert!(one.ask(Some(first), last).is_ok());
    }
    // Another directory, an older copy, and one that was copied and asks for another step.
    for from in [None, Some(first)] {
        let answer = one.ask(from, Session::after(from).unwrap());
        refused(&answer, 409, "with another state directory, or a later copy of this one");
    }
    // It is known after a start, too.
    world.stopper("database")();
    world.ended("database");
    world.start("database");
    let mut one = Fake { client: world.client("proxy", Service::Database(0)), last: Some(first), ..one };
    refused(&one.claim(vec![1; 16]), 409, "another state directory");
    let path = one.keys.on(&format!("/v1/rounds/{ROUND}/entries/{}?session={first}", "01".repeat(16)));
    refused(&one.client.ask(&Ask::put(path, vec![1], 1 << 12), PATIENT).unwrap(), 409, "another state directory");
    close(&world);
    refused(&one.post(&format!("rest?session={first}"), &json!({ "rest": "nothing" })), 409, "another state directory");
    refused(&one.complete(0), 409, "another state directory");
    one.last = Some(last);
    one.advance();
    assert!(one.complete(0).is_ok() && one.complete(0).is_ok());
    refused(&one.ask(one.last, Session::after(one.last).unwrap()), 410, "takes no more of this proxy");
}

/// A storage that lacks a session that a proxy had from it lacks more than that.
#[test]
fn a_storage_that_is_behind_ends_the_round() {
    let (world, mut one, _) = faked(&["a", "b"]);
    one.advance();
    let later = Session { number: 5, ..one.session() };
    refused(&one.ask(Some(later), Session::after(Some(later)).unwrap()), 410, "it was put back to an earlier state");
    let reason = world.ends().failure.unwrap().reason;
    assert!(reason.contains("the storage lacks changes that it had told"), "{reason}");
    let told = world.collect("a").unwrap_err().to_string();
    assert!(told.contains("reports are missing") && !told.contains("storage"), "{told}");
}

/// More or fewer entries than a proxy says that it has sent.
#[test]
fn what_is_there_is_compared_with_what_was_sent() {
    for (says, words) in [(3, "it lacks 3 reports: "), (0, "")] {
        let (world, mut one, mut other) = faked(&["a", "b"]);
        one.advance();
        other.advance();
        close(&world);
        assert!(one.complete(0).is_ok() && other.complete(says).is_ok());
        let status = world.over();
        let reason = status.failure.map_or_else(String::new, |failure| failure.reason);
        assert!(reason.contains(words) && reason.is_empty() == words.is_empty(), "{reason}");
        // How many is the operator's to know.
        if says > 0 {
            let told = world.collect("a").unwrap_err().to_string();
            assert!(told.contains("reports are missing") && !told.contains('3'), "{told}");
        }
    }
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
        .route("/v1/rounds/{round}/session", post(|| async {}))
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
