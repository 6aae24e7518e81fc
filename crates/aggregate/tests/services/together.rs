//! `naor-reingold`: reports that participants make together with the proxy, honest ones, some that break off, and some
//! that do as they like.

use std::io::Write;
use std::net::TcpListener;
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Path;
use axum::http::header;
use axum::routing::post;
use serde_json::json;
use tacita_aggregate::interaction::{InteractionSide, MAX_OUTCOME_BYTES, ParticipantBatch, bounds, session};
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::transport::{
    Admission, ApiRequest, ApiResponse, Bounds, Client, INTERACTIONS_EACH, MAX_INTERACTIONS, MEDIA_TYPE, Server,
    SharedTraffic, join, outlet, stand,
};
use tacita_aggregate::wire::rounds::RoundState;
use tacita_core::channel::Label;
use tacita_core::channel::labels::interaction::{NONCE, OUTCOME};
use tacita_core::protocol::aggregate::{Entry, Params, RoundKeys};
use tacita_core::protocol::published::aggregate::naor_reingold::{Reporting, participant};
use tacita_core::{Channel, Error, ErrorKind, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::random::fresh_rng;

use super::world::{ONCE, PATIENT, ROUND, World, put, refused};

fn world_of(names: &[String]) -> World {
    let round = json!({ "values": [1, 2, 3], "reveal_when": "count >= 1 and distinct >= 1" });
    let mut world = World::by("naor-reingold", names, round);
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    world
}

fn world() -> World {
    world_of(&["a", "b", "c"].map(str::to_owned))
}

fn path(batch: &[u8; 16], reports: impl std::fmt::Display) -> String {
    format!("{}/{reports}", put(batch, Vec::new()).path)
}

/// Point up to which a participant goes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Until {
    Session,
    Transfers,
    Reports,
    Outcome,
}

/// Plays the participant `name` on a channel. It reports `items` in a batch of this name, and numbers the first of them
/// `off` higher than it has to.
pub fn participate(
    world: &World,
    (params, keys): &(Params, RoundKeys),
    (name, batch, off): (&str, &[u8; 16], u64),
    items: &[(&str, u32)],
    until: Until,
    channel: &mut Channel,
) -> Result<ApiResponse> {
    let mut number = [0; 8];
    number.copy_from_slice(&batch[..8]);
    let first = (u64::from_le_bytes(number) >> 20 << 20) + off;
    let entries: Vec<Entry> =
        items.iter().map(|(key, value)| Entry { key: key.as_bytes().to_vec(), value: *value }).collect();
    let mut rng = fresh_rng()?;
    let gone = || Error::Network { peer: "the proxy".into(), what: "a test breaks off".into() };
    let go_on = |here| if until == here { Err(gone()) } else { Ok(()) };
    let reporter = world.reporter(name);
    let batch = ParticipantBatch { round: ROUND, participant: &reporter, name: *batch, reports: items.len() };
    let session = session(&world.setting, &batch, InteractionSide::Participant, channel, &mut rng)?;
    go_on(Until::Session)?;
    let mut transfers = participant::connect(&session, channel, &mut rng)?;
    go_on(Until::Transfers)?;
    let reporting = Reporting { params, keys, participant: &reporter, first, stage: items.len() };
    participant::send(&reporting, &entries, &mut transfers, channel, &mut rng)?;
    go_on(Until::Reports)?;
    let outcome = channel.receive_up_to(OUTCOME, MAX_OUTCOME_BYTES)?;
    Ok(ApiResponse::decode(&outcome).unwrap())
}

/// Asks for a channel, once.
fn once(
    world: &World,
    proxy: &Client,
    batch: &[u8; 16],
    reports: usize,
    run: impl FnMut(&mut Channel) -> Result<ApiResponse>,
) -> Result<ApiResponse> {
    let bounds = bounds(&world.setting.params(ROUND).unwrap(), reports);
    proxy.interact(&path(batch, reports), bounds, ONCE, run)
}

/// Has reports made and taken, and returns whether they had been there.
fn make(world: &World, name: &str, batch: &[u8; 16], items: &[(&str, u32)]) -> bool {
    let proxy = world.proxy(name);
    let agreed = world.keys(&proxy);
    let bounds = bounds(&world.setting.params(ROUND).unwrap(), items.len());
    let run = |channel: &mut Channel| participate(world, &agreed, (name, batch, 0), items, Until::Outcome, channel);
    let answer = proxy.interact(&path(batch, items.len()), bounds, PATIENT, run).unwrap();
    assert!(answer.is_ok(), "{:?}", answer.told());
    let taken: serde_json::Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(taken["reports"], items.len());
    taken["known"].as_bool().unwrap()
}

/// Wherever an interaction breaks off, nothing of it counts, unless all of it does; and the same batch counts once.
#[test]
fn what_breaks_off_leaves_nothing_and_a_batch_counts_once() {
    let world = world();
    let agreed = world.keys(&world.proxy("a"));
    let items = [("x", 0), ("y", 1)];
    for until in [Until::Session, Until::Transfers, Until::Reports] {
        let proxy = world.proxy("a");
        let run = |channel: &mut Channel| participate(&world, &agreed, ("a", &[1; 16], 0), &items, until, channel);
        let broken = once(&world, &proxy, &[1; 16], 2, run).unwrap_err();
        assert!(broken.to_string().contains("breaks off"), "{broken}");
    }
    // The third had sent all and not waited for the outcome: it may be there.
    make(&world, "a", &[1; 16], &items);
    assert!(make(&world, "a", &[1; 16], &items));
    // Another number of reports is another batch, whose name is taken.
    let run =
        |channel: &mut Channel| participate(&world, &agreed, ("a", &[1; 16], 0), &items[..1], Until::Outcome, channel);
    refused(&once(&world, &world.proxy("a"), &[1; 16], 1, run).unwrap(), 409, "another batch");
    // The same name from somebody else is another batch.
    assert!(!make(&world, "b", &[1; 16], &[("x", 2)]));
    let status = world.over();
    assert_eq!((status.state, status.numbers.unwrap().reports), (RoundState::Revealed, 3));
    // Whoever had no answer until the round closed is not sent on to the next one with what is there.
    let run = |channel: &mut Channel| -> Result<ApiResponse> { Err(channel.violation("it is made again")) };
    assert!(once(&world, &world.proxy("a"), &[1; 16], 2, run).unwrap().is_ok());
    assert_eq!(world.result("a"), [("x".into(), 2), ("y".into(), 1)].into());
}

/// A proxy that is told to end breaks interactions off, and a participant that is patient begins again with the next
/// one.
#[test]
fn a_proxy_that_ends_is_come_back_to() {
    let mut world = world();
    let proxy = world.proxy("a");
    let agreed = world.keys(&proxy);
    let (begun, ended) = (Barrier::new(2), Barrier::new(2));
    let items = [("x", 0)];
    let bounds = bounds(&world.setting.params(ROUND).unwrap(), 1);
    let mut attempts = 0;
    let stop = world.stopper("proxy");
    std::thread::scope(|scope| {
        scope.spawn(|| {
            begun.wait();
            stop();
            // It is noticed in a moment.
            std::thread::sleep(Duration::from_millis(500));
            ended.wait();
        });
        let run = |channel: &mut Channel| {
            attempts += 1;
            begun.wait();
            ended.wait();
            participate(&world, &agreed, ("a", &[1; 16], 0), &items, Until::Outcome, channel)
        };
        let broken = proxy.interact(&path(&[1; 16], 1), bounds, ONCE, run).unwrap_err();
        assert_eq!((broken.kind(), broken.peer()), (ErrorKind::Network, Some("the proxy")), "{broken}");
    });
    assert_eq!(attempts, 1);
    world.ended("proxy");
    world.start("proxy");
    assert!(!make(&world, "a", &[1; 16], &items));
    make(&world, "b", &[1; 16], &items);
    assert_eq!(world.over().state, RoundState::Revealed);
    assert_eq!(world.result("b"), [("x".into(), 2)].into());
}

/// Requests that are no interaction end, say why where they can, and change nothing.
#[test]
fn what_is_no_interaction_is_refused_and_changes_nothing() {
    let world = world();
    let proxy = world.proxy("c");
    let agreed = world.keys(&proxy);
    let most = world.setting.submission(&agreed.0);
    let post = |path: String, body: Vec<u8>| proxy.ask(&ApiRequest::post(path, body, 1 << 20), ONCE).unwrap();
    for reports in ["0", "-1", "x", "99999999999999999999", &(most + 1).to_string()] {
        refused(&post(path(&[3; 16], reports), Vec::new()), 400, "a batch of this round has 1 to");
    }
    refused(&post(format!("/v1/rounds/{ROUND}/reports/xyz/1"), Vec::new()), 400, "32 hexadecimal digits");
    refused(&post(path(&[3; 16], 1).replace(ROUND, "other"), Vec::new()), 404, "no round");
    let odd = ApiRequest { json: true, ..ApiRequest::post(path(&[3; 16], 1), Vec::new(), 1 << 16) };
    refused(&proxy.ask(&odd, ONCE).unwrap(), 400, "no application/vnd.tacita.v1");
    refused(&proxy.ask(&put(&[3; 16], vec![0; 320]), ONCE).unwrap(), 400, "made with the proxy");
    // Bodies that are no frames, or end within one; more than anybody has to say. Whoever breaks the rules is told so,
    // in the last frame.
    let ends_in = |body: Vec<u8>| {
        let answer = post(path(&[3; 16], 1), body);
        assert_eq!(answer.status, 200);
        let [l0, l1, l2, l3, .., kind, label] = answer.body.last_chunk::<10>().copied().unwrap_or_default();
        (u32::from_le_bytes([l0, l1, l2, l3]), kind, label)
    };
    let told = (0, 2, ErrorKind::Protocol.code());
    assert_eq!(ends_in(vec![0xff; 3000]), told);
    assert_ne!(ends_in(vec![0; 5]), told);
    assert_ne!(ends_in(Vec::new()), told);
    let heartbeats =
        (0..300_000u32).flat_map(|number| [[0; 4], number.to_le_bytes()].concat().into_iter().chain([1, 0]));
    assert_eq!(ends_in(heartbeats.collect()), told);
    // A message that is not due, one that is too long, and one that is none.
    const OTHER: Label = Label::new(99, "other");
    for (label, length) in [(OTHER, 32), (OUTCOME, 32), (NONCE, 31)] {
        let run = |channel: &mut Channel| {
            channel.send(label, vec![0; length])?;
            channel.receive(NONCE, 32)?;
            channel.receive_up_to(OUTCOME, 1 << 12).map(|outcome| ApiResponse::decode(&outcome).unwrap())
        };
        match once(&world, &proxy, &[3; 16], 1, run) {
            Ok(answer) => refused(&answer, 400, "the reports are refused"),
            Err(error) => assert!(matches!(error, Error::Peer { kind: ErrorKind::Protocol, .. }), "{error}"),
        }
    }
    // A proof that is not of its place; fewer reports than were said.
    let items = [("x", 0), ("y", 0)];
    let run = |channel: &mut Channel| participate(&world, &agreed, ("c", &[3; 16], 1), &items, Until::Outcome, channel);
    refused(&once(&world, &proxy, &[3; 16], 2, run).unwrap(), 400, "does not prove");
    let run = |channel: &mut Channel| participate(&world, &agreed, ("b", &[3; 16], 0), &items, Until::Outcome, channel);
    let other = once(&world, &proxy, &[3; 16], 2, run);
    assert!(other.as_ref().map_or(true, |answer| answer.status == 400), "another participant's: {other:?}");
    let run =
        |channel: &mut Channel| participate(&world, &agreed, ("c", &[3; 16], 0), &items[..1], Until::Outcome, channel);
    assert!(once(&world, &proxy, &[3; 16], 2, run).is_err(), "fewer than were said");
    // The same name takes what is right.
    assert!(!make(&world, "c", &[3; 16], &items));
    make(&world, "a", &[1; 16], &[("x", 1)]);
    assert_eq!(world.over().state, RoundState::Revealed);
    assert_eq!(world.result("a"), [("x".into(), 2), ("y".into(), 1)].into());
}

/// Interactions that are begun and not gone on with take the places that there are, and no more; whoever finds none
/// comes again, and is answered when one is free.
#[test]
fn interactions_that_do_not_go_on_are_bounded() {
    let holders = MAX_INTERACTIONS / INTERACTIONS_EACH;
    let mut names: Vec<String> = (0..holders).map(|number| format!("slow{number}")).collect();
    names.extend(["a".into(), "b".into()]);
    let world = world_of(&names);
    let agreed = world.keys(&world.proxy("a"));
    let (all_begun, over) = (Barrier::new(MAX_INTERACTIONS + 1), Barrier::new(MAX_INTERACTIONS + 1));
    let silent = |channel: &mut Channel| -> Result<ApiResponse> { Err(channel.violation("unused")) };
    std::thread::scope(|scope| {
        for name in &names[..holders] {
            for number in 0..INTERACTIONS_EACH {
                let (world, all_begun, over) = (&world, &all_begun, &over);
                scope.spawn(move || {
                    let hold = |_: &mut Channel| {
                        all_begun.wait();
                        over.wait();
                        Err(Error::Network { peer: "the proxy".into(), what: "a test goes".into() })
                    };
                    let batch = [number as u8; 16];
                    once(world, &world.proxy(name), &batch, 1, hold).unwrap_err()
                });
            }
        }
        all_begun.wait();
        let others = ["a", names[0].as_str()].map(|name| once(&world, &world.proxy(name), &[7; 16], 1, silent));
        // What takes no place goes on.
        let asked = world.proxy("b").ask(&ApiRequest::get(format!("/v1/rounds/{ROUND}"), 1 << 16), ONCE);
        // Who waits has a place as soon as there is one.
        let waiting = scope.spawn(|| {
            let run = |channel: &mut Channel| {
                participate(&world, &agreed, ("a", &[1; 16], 0), &[("x", 0)], Until::Outcome, channel)
            };
            once(&world, &world.proxy("a"), &[1; 16], 1, run)
        });
        std::thread::sleep(Duration::from_secs(1));
        over.wait();
        let waited = waiting.join().unwrap().unwrap();
        assert!(waited.is_ok(), "{:?}", waited.told());
        assert!(asked.unwrap().is_ok());
        for answer in others.map(Result::unwrap) {
            refused(&answer, 429, "try again later");
            assert!(answer.again.is_some());
        }
    });
    let began = Instant::now();
    make(&world, "b", &[1; 16], &[("x", 0)]);
    assert!(began.elapsed() < Duration::from_secs(60), "{:?}", began.elapsed());
    assert_eq!(world.over().state, RoundState::Revealed);
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
}

/// Whoever has its outcome and does not end keeps no place from others.
#[test]
fn who_has_its_outcome_keeps_no_place() {
    let holders = MAX_INTERACTIONS / INTERACTIONS_EACH;
    let mut names: Vec<String> = (0..holders).map(|number| format!("slow{number}")).collect();
    names.push("a".into());
    let world = world_of(&names);
    let agreed = world.keys(&world.proxy("a"));
    let (all_told, over) = (Barrier::new(MAX_INTERACTIONS + 1), Barrier::new(MAX_INTERACTIONS + 1));
    std::thread::scope(|scope| {
        for name in &names[..holders] {
            for number in 0..INTERACTIONS_EACH {
                let (world, agreed, all_told, over) = (&world, &agreed, &all_told, &over);
                scope.spawn(move || {
                    let batch = [number as u8; 16];
                    let hold = |channel: &mut Channel| {
                        let who = (name.as_str(), &batch, 0);
                        let told = participate(world, agreed, who, &[("x", 0)], Until::Outcome, channel);
                        all_told.wait();
                        over.wait();
                        told
                    };
                    once(world, &world.proxy(name), &batch, 1, hold).unwrap()
                });
            }
        }
        all_told.wait();
        let run = |channel: &mut Channel| {
            participate(&world, &agreed, ("a", &[1; 16], 0), &[("x", 0)], Until::Outcome, channel)
        };
        let answer = once(&world, &world.proxy("a"), &[1; 16], 1, run);
        over.wait();
        let answer = answer.unwrap();
        assert!(answer.is_ok(), "{:?}", answer.told());
    });
}

/// Two interactions of one name at once make one batch, and one that the round closes behind makes none.
#[test]
fn a_batch_that_is_made_twice_at_once_counts_once_and_one_that_is_late_does_not() {
    let world = world();
    let agreed = world.keys(&world.proxy("a"));
    let items = [("x", 0)];
    let begun = Barrier::new(2);
    let both = std::thread::scope(|scope| {
        let one = || {
            let run = |channel: &mut Channel| {
                begun.wait();
                participate(&world, &agreed, ("a", &[1; 16], 0), &items, Until::Outcome, channel)
            };
            once(&world, &world.proxy("a"), &[1; 16], 1, run).unwrap()
        };
        [scope.spawn(one), scope.spawn(one)].map(|thread| thread.join().unwrap())
    });
    let known = both.map(|answer| {
        assert!(answer.is_ok(), "{:?}", answer.told());
        serde_json::from_slice::<serde_json::Value>(&answer.body).unwrap()["known"] == true
    });
    assert!(known[0] != known[1], "{known:?}");
    make(&world, "b", &[1; 16], &items);
    let late = |channel: &mut Channel| {
        world.operate(&RoundOrder::Close { without: Vec::new() }).unwrap();
        while world.proxy("b").ask(&ApiRequest::get(format!("/v1/rounds/{ROUND}"), 1 << 16), ONCE).unwrap().is_ok() {
            std::thread::sleep(Duration::from_millis(20));
        }
        participate(&world, &agreed, ("c", &[1; 16], 0), &items, Until::Outcome, channel)
    };
    refused(&once(&world, &world.proxy("c"), &[1; 16], 1, late).unwrap(), 410, "takes no reports any more");
    assert_eq!(world.over().numbers.unwrap().reports, 2);
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
}

/// A proxy that answers what is no interaction is named, and one that breaks off is come back to.
#[test]
fn a_proxy_that_answers_nonsense_is_named() {
    let world = World::by("naor-reingold", &["a".to_owned()], json!({}));
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    std::fs::write(world.at("addresses").join("proxy-1"), listener.local_addr().unwrap().to_string()).unwrap();
    let nonsense = |Path((_, _, reports)): Path<(String, String, usize)>| async move {
        let (kind, body) = match reports {
            1 => (MEDIA_TYPE, vec![0xff; 100]),
            2 => (MEDIA_TYPE, Vec::new()),
            3 => (MEDIA_TYPE, vec![0; 5]),
            _ => ("application/json", b"{}".to_vec()),
        };
        ([(header::CONTENT_TYPE, kind)], body)
    };
    let participants = vec![(world.identity("a").fingerprint(), "a".to_owned())];
    let server = Server {
        identity: world.identity("proxy"),
        admission: Arc::new(Admission::new(world.setting.services().unwrap(), participants, None).unwrap()),
        traffic: SharedTraffic::default(),
        routes: Router::new().route("/v1/rounds/{round}/reports/{batch}/{reports}", post(nonsense)),
        cancel: Cancel::default(),
    };
    world.runtime.spawn(stand(Arc::new(server), listener));
    let proxy = world.proxy("a");
    let answered = |reports| {
        once(&world, &proxy, &[1; 16], reports, |channel| {
            let batch = ParticipantBatch { round: ROUND, participant: "a", name: [1; 16], reports };
            session(&world.setting, &batch, InteractionSide::Participant, channel, &mut fresh_rng()?)?;
            Err(channel.violation("there is a session"))
        })
    };
    for (reports, kind) in [(1, ErrorKind::Protocol), (2, ErrorKind::Network), (3, ErrorKind::Network)] {
        let error = answered(reports).unwrap_err();
        assert_eq!((error.kind(), error.peer()), (kind, Some("the proxy")), "{error}");
        assert!(!error.to_string().contains("there is a session"), "{error}");
    }
    assert!(answered(4).unwrap().is_ok(), "an answer without a channel is what it says");
}

#[test]
fn a_job_of_the_other_protocol_makes_no_reports_together() {
    let world = World::started(&["a", "b"], json!({ "values": [1, 2, 3] }));
    let proxy = world.proxy("a");
    world.keys(&proxy);
    refused(&proxy.ask(&ApiRequest::post(path(&[1; 16], 1), Vec::new(), 1 << 16), ONCE).unwrap(), 400, "are sent");
}

/// An end that drips, or that shows only that it is there, is given up; so is one that takes nothing.
#[test]
fn an_end_that_takes_too_long_is_given_up() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let _here = runtime.enter();
    let bounds = Bounds { bytes: 1 << 20, time: Duration::from_secs(1) };
    for sends in [false, true] {
        let ((mut theirs, incoming), (own, _never_taken)) = (outlet(), outlet());
        let mut channel = join("a", incoming, own, bounds, &Cancel::default());
        let dripping = std::thread::spawn(move || {
            // Heartbeats, and then the beginning of a message, byte by byte.
            let frames = (0u32..).flat_map(|number| [[0; 4], number.to_le_bytes()].concat().into_iter().chain([1, 0]));
            for byte in frames.take(65).chain(std::iter::repeat(1)) {
                if theirs.write_all(&[byte]).is_err() {
                    return;
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let began = Instant::now();
        let error = if sends {
            (0..100).find_map(|_| channel.send(NONCE, vec![0; 1 << 20]).err()).unwrap()
        } else {
            channel.receive(NONCE, 32).unwrap_err()
        };
        assert!(error.to_string().contains("took longer than 1 s"), "{error}");
        drop(channel);
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        dripping.join().unwrap();
    }
}
