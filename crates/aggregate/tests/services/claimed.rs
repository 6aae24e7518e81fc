//! Proxies that claim what they have, and databases that answer what they like.

use serde_json::{Value, json};
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::transport::{ApiRequest, Client};
use tacita_aggregate::wire::rounds::RoundState;
use tacita_aggregate::wire::service::Service;
use tacita_aggregate::wire::sessions::StateSession;
use tacita_node::agreement::{JobSpec, Terms};

use super::faked::{Fake, faked, nothing};
use super::lying::{Answers, looked, lying, until};
use super::world::{ONCE, PATIENT, ROUND, World, names, put, refused};

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
    assert_eq!((status.state, status.numbers.unwrap().reports), (RoundState::Revealed, 10));
    let expected = [("x", 5), ("a", 1), ("b", 1), ("c", 2), ("d", 1)];
    assert_eq!(world.result("a"), expected.map(|(key, count)| (key.to_owned(), count)).into());
    for proxy in proxies("a") {
        let there = proxy.ask(&ApiRequest::get(put(&[1; 16], Vec::new()).path, 1 << 12), ONCE).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&there.body).unwrap(), json!({ "there": true, "open": false }));
        let again = proxy.ask(&put(&[1; 16], both.clone()), ONCE).unwrap();
        assert_eq!(serde_json::from_slice::<Value>(&again.body).unwrap(), json!({ "reports": 2, "known": true }));
    }
}

fn close(world: &World) {
    world.operate(&RoundOrder::Close { without: Vec::new() }).unwrap();
}

/// Claims are a proxy's, whole, bounded, and of a round that takes something.
#[test]
fn what_are_no_claims_is_refused() {
    let (world, mut one, mut other) = faked(&["a", "b"], json!({}));
    let path = one.keys.on(&format!("/v1/rounds/{ROUND}/claims"));
    let bare = |client: &Client| client.ask(&ApiRequest::post(path.clone(), vec![1; 16], 1 << 16), PATIENT).unwrap();
    refused(&bare(&world.client("a", Service::Database(0))), 403, "only proxies");
    refused(&bare(&one.client), 400, "names no session");
    one.advance();
    other.advance();
    let far = StateSession { number: one.session().number + 2, ..one.session() };
    let jump = one.keys.on(&format!("/v1/rounds/{ROUND}/claims?session={}&next={far}", one.session()));
    refused(
        &one.client.ask(&ApiRequest::post(jump, vec![1; 16], 1 << 16), ONCE).unwrap(),
        400,
        "no session that follows",
    );
    refused(&one.claim(vec![]), 400, "whole number of claims");
    refused(&one.claim(vec![1; 17]), 400, "whole number of claims");
    refused(&one.claim(vec![1; 16 * ((1 << 14) + 1)]), 413, "longer than");
    let odd = one.keys.on(&format!("/v1/rounds/other/claims?session={}", one.session()));
    refused(&one.client.ask(&ApiRequest::post(odd, vec![1; 16], 1 << 16), ONCE).unwrap(), 404, "no round");
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
    let (mut world, mut one, mut other) = faked(&["a", "b"], json!({}));
    refused(&Fake::new(&world, "a").ask(None, StateSession::after(None).unwrap()), 403, "only proxies");
    let name = "ab".repeat(16);
    for (from, to) in [("", format!("1-{name}")), ("1-a", format!("2-{name}")), ("0", format!("1-{name}"))] {
        refused(&one.post("session", &json!({ "from": from, "to": to })), 400, "cannot be read");
    }
    refused(&one.post("session", &json!({ "to": format!("2-{name}") })), 400, "does not follow an earlier");
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
        let answer = one.ask(from, StateSession::after(from).unwrap());
        refused(&answer, 409, "with another state directory, or a later copy of this one");
    }
    // It is known after a start, too.
    world.stopper("database")();
    world.ended("database");
    world.start("database");
    let mut one = Fake { client: world.client("proxy", Service::Database(0)), last: Some(first), ..one };
    refused(&one.claim(vec![1; 16]), 409, "another state directory");
    let path = one.keys.on(&format!("/v1/rounds/{ROUND}/entries/{}?session={first}", "01".repeat(16)));
    refused(
        &one.client.ask(&ApiRequest::put(path, vec![1], 1 << 12), PATIENT).unwrap(),
        409,
        "another state directory",
    );
    close(&world);
    refused(&one.post(&format!("rest?session={first}"), &json!({ "rest": "nothing" })), 409, "another state directory");
    refused(&one.complete(0), 409, "another state directory");
    one.last = Some(last);
    one.advance();
    assert!(one.complete(0).is_ok() && one.complete(0).is_ok());
    refused(&one.ask(one.last, StateSession::after(one.last).unwrap()), 410, "takes no more of this proxy");
}

/// A storage that lacks a session that a proxy had from it lacks more than that.
#[test]
fn a_storage_that_is_behind_ends_the_round() {
    let (world, mut one, _) = faked(&["a", "b"], json!({}));
    one.advance();
    let later = StateSession { number: 5, ..one.session() };
    refused(
        &one.ask(Some(later), StateSession::after(Some(later)).unwrap()),
        410,
        "it was restored to an earlier state",
    );
    let reason = world.ends().failure.unwrap().reason;
    assert!(reason.contains("the storage lacks changes that it had confirmed"), "{reason}");
    let told = world.collect("a").unwrap_err().to_string();
    assert!(told.contains("reports are missing") && !told.contains("storage"), "{told}");
}

/// More or fewer entries than a proxy says that it has sent.
#[test]
fn what_is_there_is_compared_with_what_was_sent() {
    for (sent, says, words) in
        [(0, 3, "it lacks 3 reports: "), (0, 0, ""), (1, 1, ""), (1, 0, "1 report would count twice: ")]
    {
        let (world, mut one, mut other) = faked(&["a", "b"], json!({}));
        one.advance();
        other.advance();
        for batch in 0..sent {
            assert!(other.entries(batch, nothing(&world)).is_ok());
        }
        close(&world);
        assert!(other.complete(says).is_ok());
        // Nothing comes behind that.
        refused(&other.entries(9, nothing(&world)), 410, "takes no entries");
        assert!(one.complete(0).is_ok());
        let status = world.over();
        let reason = status.failure.map_or_else(String::new, |failure| failure.reason);
        assert!(reason.contains(words) && reason.is_empty() == words.is_empty(), "{reason}");
        // How many is the operator's to know.
        if says > sent.into() {
            let told = world.collect("a").unwrap_err().to_string();
            assert!(told.contains("reports are missing") && !told.contains('3'), "{told}");
        }
    }
}

#[test]
fn a_proxy_that_is_not_there_is_not_gone_on_without() {
    let (world, ..) = faked(&["a", "b"], json!({}));
    let error = world.operate(&RoundOrder::Close { without: vec![2] }).unwrap_err().to_string();
    assert!(error.contains("there is no proxy 3"), "{error}");
}

/// A database that answers for fewer, more, or others than were named gets nothing, and loses nothing: it is asked
/// again.
#[test]
fn an_answer_that_does_not_fit_its_claims_is_none() {
    let wrong: [Answers; 4] = [|_| vec![], |_| vec![0xff, 1, 0], |_| vec![0xff, 0b11], |_| vec![0xff; 1 << 12]];
    let (world, shared) = lying(&["a", "b", "c"], wrong[0]);
    for (name, batch) in ["a", "b", "c"].into_iter().flat_map(|name| [1, 2, 3].map(|batch| (name, batch))) {
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
        assert!(names.len() == 9 && names.is_sorted() && it.claims.iter().all(|claims| *claims == it.claims[0]));
        assert!(names.iter().all(|name| (1..=3).all(|batch| **name != [batch; 16])));
    }
    shared.lock().unwrap().answer = |_| vec![0xff, 1];
    assert_eq!(until(&shared, |it| it.completion.clone()), json!({ "entries": 9 }));
    let params = world.setting.params(ROUND).unwrap();
    assert_eq!(shared.lock().unwrap().entries.concat().len(), 9 * params.entry_bytes());
}

/// A session follows what was claimed before it is acted on, and what was shuffled before it is sent: a storage that
/// was put back, or an older copy of the directory, would have the same once more.
#[test]
fn claims_and_shuffles_are_covered_by_sessions_of_their_own() {
    let (world, shared) = lying(&["a", "b"], |_| vec![0b11]);
    world.submit("a", &[1; 16], &[("x", 0)]);
    world.submit("b", &[2; 16], &[("x", 0)]);
    shared.lock().unwrap().state = "closed";
    assert_eq!(until(&shared, |it| it.completion.clone()), json!({ "entries": 2 }));
    let asked = shared.lock().unwrap().asked.clone();
    let place = |what: &str| asked.iter().position(|one| *one == what).unwrap();
    assert_eq!(asked[place("claims")..=place("entries")], ["claims", "session", "session", "entries"]);
}

/// Reports are worth nothing under other keys of the round, and leave when the database has the earlier keys again.
#[test]
fn a_database_that_tells_other_keys_of_the_round_is_sent_nothing() {
    let (world, shared) = lying(&["a", "b"], |_| vec![0b11]);
    world.submit("a", &[1; 16], &[("x", 0)]);
    world.submit("b", &[2; 16], &[("x", 0)]);
    {
        let mut it = shared.lock().unwrap();
        (it.keys, it.state) = (Some("07".repeat(32)), "closed");
    }
    looked(&shared);
    {
        let mut it = shared.lock().unwrap();
        assert!(it.claims.is_empty() && it.entries.is_empty() && it.completion.is_none(), "{:?}", it.asked);
        it.keys = None;
    }
    assert_eq!(until(&shared, |it| it.completion.clone()), json!({ "entries": 2 }));
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
