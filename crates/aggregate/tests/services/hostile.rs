//! Participants that send what they should not: nobody else's result changes, and the service goes on.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::json;
use tacita_aggregate::transport::{ApiRequest, MAX_BODY_BYTES, Persistence, REQUESTS_EACH};
use tacita_aggregate::wire::rounds::RoundState;
use tacita_aggregate::wire::service::Service;
use tacita_core::Error;
use tacita_node::identity::Identity;

use super::dripping::dripping;
use super::forged::mixed;
use super::world::{ONCE, PATIENT, ROUND, World, put, refused};

/// Reports carry values, so that each proves whose it is.
fn world() -> World {
    World::started(&["a", "b", "c"], json!({ "values": [1, 2, 3], "reveal_when": "distinct >= 2" }))
}

#[test]
fn what_is_no_report_is_refused_and_changes_nothing() {
    let world = world();
    let proxy = world.proxy("c");
    let good = world.reports(&proxy, "c", &[3; 16], &[("x", 1), ("y", 2)]);
    let length = good.len() / 2;
    let ask = |body: Vec<u8>| proxy.ask(&put(&[3; 16], body), ONCE).unwrap();
    refused(&ask(vec![0; MAX_BODY_BYTES * 2]), 413, "longer than");
    refused(&ask(Vec::new()), 400, "no whole number");
    refused(&ask(good[..good.len() - 1].to_vec()), 400, "no whole number");
    // The identity, and what is no encoding of a point.
    refused(&ask(vec![0; length]), 400, "identity");
    refused(&ask(vec![0xff; length]), 400, "no valid point");
    let mut changed = good.clone();
    changed[length - 1] ^= 1;
    refused(&ask(changed), 400, "does not prove");
    // One bad report takes its batch with it: nothing of it is there.
    let mut half = good.clone();
    half[length..].fill(0xff);
    refused(&ask(half), 400, "no valid point");
    // A name of a batch, or of a round, that is none; a body that says that it is something else.
    let odd = ApiRequest::put(format!("/v1/rounds/{ROUND}/reports/xyz"), good.clone(), 1 << 16);
    refused(&proxy.ask(&odd, ONCE).unwrap(), 400, "32 hexadecimal digits");
    let odd = ApiRequest::put("/v1/rounds/other/reports/00000000000000000000000000000000", good.clone(), 1 << 16);
    refused(&proxy.ask(&odd, ONCE).unwrap(), 404, "no round");
    let odd = ApiRequest { json: true, ..put(&[3; 16], good.clone()) };
    refused(&proxy.ask(&odd, ONCE).unwrap(), 400, "no application/vnd.tacita.v1");
    // What it is refused for is gone, and the same name takes what is right.
    assert!(ask(good).is_ok());
    world.submit("a", &[1; 16], &[("x", 1)]);
    world.submit("b", &[2; 16], &[("y", 2)]);
    assert_eq!(world.over().state, RoundState::Revealed);
    assert_eq!(world.result("a"), [("x".into(), 2), ("y".into(), 2)].into());
}

#[test]
fn reports_count_once_and_for_who_made_them() {
    let world = world();
    let [a, b] = ["a", "b"].map(|name| world.proxy(name));
    let of_a = world.reports(&a, "a", &[1; 16], &[("x", 1)]);
    assert!(a.ask(&put(&[1; 16], of_a.clone()), PATIENT).unwrap().is_ok());
    // Again, as when the answer was lost.
    let again = a.ask(&put(&[1; 16], of_a.clone()), PATIENT).unwrap();
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&again.body).unwrap(),
        json!({ "reports": 1, "known": true })
    );
    // As many others under the same name: the first ones count.
    let other = world.reports(&a, "a", &[1; 16], &[("y", 1)]);
    let again = a.ask(&put(&[1; 16], other), PATIENT).unwrap();
    assert_eq!(
        serde_json::from_slice::<serde_json::Value>(&again.body).unwrap(),
        json!({ "reports": 1, "known": true })
    );
    let other = world.reports(&a, "a", &[1; 16], &[("x", 1), ("y", 1)]);
    refused(&a.ask(&put(&[1; 16], other), ONCE).unwrap(), 409, "another batch");
    // The same body under another name, and from somebody else.
    refused(&a.ask(&put(&[9; 16], of_a.clone()), ONCE).unwrap(), 400, "does not prove");
    refused(&b.ask(&put(&[1; 16], of_a.clone()), ONCE).unwrap(), 400, "does not prove");
    let late = world.reports(&a, "a", &[4; 16], &[("x", 1)]);
    world.submit("b", &[2; 16], &[("x", 2)]);
    assert_eq!(world.over().numbers.unwrap().reports, 2);
    // Once more when the round is over, as when the answer came too late: it is there, and goes to no other round.
    assert!(a.ask(&put(&[1; 16], of_a), ONCE).unwrap().is_ok());
    refused(&a.ask(&put(&[4; 16], late), ONCE).unwrap(), 410, "takes no reports");
    assert_eq!(world.result("b"), [("x".into(), 2)].into());
}

/// A key beside another key's row, where the row passes by that report alone: no key is told, and the round goes on.
#[test]
fn a_wrong_key_in_a_row_stops_no_round() {
    let world = World::started(&["a", "b", "c"], json!({}));
    world.submit("a", &[1; 16], &[("x", 0), ("y", 0), ("z", 0)]);
    world.submit("b", &[2; 16], &[("z", 0)]);
    let proxy = world.proxy("c");
    let mixed = mixed(&world, "c", &[3; 16], &[("x", "?"), ("x", "!"), ("y", "z")]);
    assert!(proxy.ask(&put(&[3; 16], mixed), PATIENT).unwrap().is_ok());
    let status = world.over();
    assert_eq!(status.state, RoundState::Revealed, "{:?}", status.failure);
    assert_eq!(status.numbers.unwrap().inconsistent, 3);
    assert_eq!(world.result("a"), [("z".into(), 2)].into());
}

/// Each route is for whom it is for.
#[test]
fn nobody_does_what_is_another_ones() {
    let world = world();
    let (proxy, database) = (world.proxy("a"), world.client("a", Service::Database(0)));
    world.keys(&proxy);
    let at = |what: &str| format!("/v1/rounds/{ROUND}{what}");
    for path in [at("/key"), "/v1/keys".into()] {
        refused(&proxy.ask(&ApiRequest::get(path, 1 << 12), ONCE).unwrap(), 403, "secrets are for");
    }
    let zeros = "0".repeat(32);
    refused(
        &proxy.ask(&ApiRequest::put(at(&format!("/handed/{zeros}")), vec![1], 1 << 12), ONCE).unwrap(),
        403,
        "only other",
    );
    let oracle = world.client("oracle", Service::Proxy(0));
    refused(&oracle.ask(&put(&[1; 16], vec![1]), ONCE).unwrap(), 403, "only participants");
    refused(
        &oracle.ask(&ApiRequest::get(put(&[1; 16], vec![]).path, 1 << 12), ONCE).unwrap(),
        403,
        "only participants",
    );
    let entries = at("/entries/00000000000000000000000000000000");
    refused(&database.ask(&ApiRequest::put(entries, vec![1], 1 << 12), ONCE).unwrap(), 403, "only proxies");
    for (what, body) in [
        ("/key", json!({ "public": "", "by": "", "signature": "" })),
        ("/complete", json!({ "entries": 0 })),
        ("/open", json!({})),
        ("/close", json!({})),
        ("/tighten", json!({ "measure": "count", "to": 9 })),
        ("/reveal", json!({})),
        ("/remove", json!({})),
    ] {
        refused(&database.ask(&ApiRequest::json(at(what), &body, 1 << 12), ONCE).unwrap(), 403, "only");
    }
    for who in ["a", "proxy", "oracle"] {
        let database = world.client(who, Service::Database(0));
        refused(&database.ask(&ApiRequest::get(at("/secret"), 1 << 12), ONCE).unwrap(), 403, "only databases");
        refused(
            &database.ask(&ApiRequest::put(at("/secret"), vec![1; 34], 1 << 12), ONCE).unwrap(),
            403,
            "only databases",
        );
    }
    let own = world.client("database", Service::Database(0));
    for (body, status, says) in
        [(vec![], 400, "no secret"), (vec![1; 33], 400, "no secret"), (vec![1; 2000], 413, "longer")]
    {
        refused(&own.ask(&ApiRequest::put(at("/secret"), body, 1 << 12), ONCE).unwrap(), status, says);
    }
    refused(
        &database.ask(&ApiRequest::get(at("/histogram"), 1 << 12), ONCE).unwrap(),
        403,
        "histogram is not revealed",
    );
    refused(&database.ask(&ApiRequest::get(at("/results/0"), 1 << 12), ONCE).unwrap(), 503, "round one is open");
    for who in ["proxy", "oracle"] {
        let database = world.client(who, Service::Database(0));
        refused(
            &database.ask(&ApiRequest::get(at("/results/0"), 1 << 12), ONCE).unwrap(),
            403,
            "parties in reveal_to only",
        );
    }
    let status: serde_json::Value =
        serde_json::from_slice(&database.ask(&ApiRequest::get(at(""), 1 << 16), ONCE).unwrap().body).unwrap();
    assert!(status.get("numbers").is_none(), "{status}");
    // Whole roles are not let in where they have nothing to do, nor is who is nobody.
    let stranger = Identity::create(&world.at("stranger"), "stranger").unwrap();
    for (who, service) in [
        (world.identity("a"), Service::Oracle(0)),
        (world.identity("proxy"), Service::Oracle(0)),
        (world.identity("database"), Service::Proxy(0)),
        (world.identity("oracle"), Service::Database(0)),
        (stranger.clone(), Service::Proxy(0)),
        (stranger, Service::Database(0)),
    ] {
        // A connection that is refused may break before the reason is read: whoever asks again hears it.
        let again = Persistence { silence: Duration::from_secs(20), busy: Duration::ZERO };
        let refusal = world.client_of(&who, service).ask(&ApiRequest::get(at(""), 1 << 12), again);
        match (who.name(), service) {
            // The oracle is a service of the job, and knows nothing that it could do at the database.
            ("oracle", Service::Database(0)) => assert!(refusal.is_ok()),
            _ => assert!(
                matches!(&refusal, Err(Error::Authentication { .. })),
                "{} {service:?}: {refusal:?}",
                who.name()
            ),
        }
    }
}

/// Connections that say nothing, or stop in the middle of something, keep nobody else from reporting.
#[test]
fn half_open_connections_keep_nobody_away() {
    let world = world();
    world.keys(&world.proxy("a"));
    let address = std::fs::read_to_string(world.at("addresses").join("proxy-1")).unwrap();
    let open: Vec<TcpStream> = (0..1200)
        .map(|number| {
            let mut socket = TcpStream::connect(&address).unwrap();
            // Some begin a handshake that they do not go on with; some send what is no TLS.
            let said: &[u8] = match number % 3 {
                0 => b"",
                1 => &[22, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3],
                _ => b"GET / HTTP/1.1\r\n",
            };
            socket.write_all(said).unwrap();
            socket
        })
        .collect();
    let began = Instant::now();
    world.submit("a", &[1; 16], &[("x", 1)]);
    world.submit("b", &[2; 16], &[("x", 1)]);
    // The oldest of those who do not go on make room.
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
    assert_eq!(world.over().state, RoundState::Revealed);
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
    drop(open);
}

/// Bodies that never come: whoever may not give them is refused at once, and a few participants do not have all places.
#[test]
fn bodies_that_drip_keep_nobody_away() {
    let mut names: Vec<String> = (0..16).map(|number| format!("p{number}")).collect();
    names.push("z".into());
    let world = World::started(&names.iter().map(String::as_str).collect::<Vec<_>>(), json!({}));
    world.keys(&world.proxy("z"));
    let path = format!("/v1/rounds/{ROUND}/key");
    for refused in dripping(&world, "p0", Service::Database(0), ("POST", &path), true, 3) {
        let status = world.runtime.block_on(async { tokio::time::timeout(Duration::from_secs(5), refused).await });
        assert_eq!(status.expect("it is not waited for").unwrap(), 403);
    }
    let path = format!("/v1/rounds/{ROUND}/reports/{}", "ab".repeat(16));
    let hostile = &names[..16];
    let open: Vec<_> = hostile
        .iter()
        .flat_map(|name| dripping(&world, name, Service::Proxy(0), ("PUT", &path), false, REQUESTS_EACH))
        .collect();
    std::thread::sleep(Duration::from_secs(1));
    let asked = world.proxy("z").ask(&ApiRequest::get(format!("/v1/rounds/{ROUND}"), 1 << 16), ONCE).unwrap();
    assert!(asked.is_ok(), "{:?}", asked.told());
    open.iter().for_each(|one| one.abort());
}

/// A participant has so many connections, and what it is not let in for takes nobody else's place.
#[test]
fn one_participant_takes_no_more_than_its_part() {
    let world = world();
    let clients: Vec<_> = (0..20).map(|_| world.proxy("a")).collect();
    let ask = ApiRequest::get(format!("/v1/rounds/{ROUND}"), 1 << 16);
    let answers: Vec<_> = clients.iter().map(|client| client.ask(&ask, ONCE)).collect();
    let held = answers.iter().filter(|answer| answer.is_ok()).count();
    assert!(held <= tacita_aggregate::transport::CONNECTIONS_EACH, "{held}");
    world.submit("b", &[2; 16], &[("x", 1)]);
    drop(clients);
    world.submit("c", &[1; 16], &[("x", 1)]);
    assert_eq!(world.over().state, RoundState::Revealed);
}

/// A participant that reports a key more often than an oracle can be asked about takes that key out of the result, and
/// no other; the database's operator sees it.
#[test]
fn a_key_that_is_reported_too_often_is_left_out_and_counted() {
    let mut world = World::new(&["a", "b"].map(str::to_owned), json!({}));
    // About 20 reports of short keys.
    world.question_bytes = 64 + 20 * 68;
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    let often = [("x", 0); 30];
    world.submit("a", &[1; 16], &[&often[..], &[("y", 0), ("z", 0)]].concat());
    world.submit("b", &[1; 16], &[&[("x", 0), ("y", 0)][..], &[("w", 0); 19]].concat());
    let status = world.over();
    assert_eq!(status.state, RoundState::Revealed);
    let numbers = status.numbers.unwrap();
    assert_eq!((numbers.passing, numbers.keys, numbers.too_long), (Some(2), Some(1), 1));
    assert_eq!(world.result("b"), [("y".into(), 2)].into());
}
