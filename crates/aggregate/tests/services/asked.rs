//! Questions to oracles, the oracles' view of them, and their answers.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::routing::post;
use serde_json::json;
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::store::{self, RowId, Stored};
use tacita_aggregate::transport::ApiRequest;
use tacita_aggregate::wire::questions::{RowQuestion, RowReply, decode_questions, decode_replies, encode_questions};
use tacita_aggregate::wire::rounds::RoundState;
use tacita_aggregate::wire::service::Service;
use tacita_core::protocol::aggregate::ask;
use tacita_node::base::random::fresh_rng;

use super::world::{PATIENT, ROUND, World, names};

/// A database that asks for more than it may learns no key: the oracle counts reports and reporters itself.
#[test]
fn an_oracle_tells_no_key_that_is_reported_less_than_agreed() {
    let mut world = World::started(&["a", "b", "c"], json!({ "reveal_when": "count >= 3 and distinct >= 2" }));
    // Often enough by two; by two, and not often enough; often enough, and by one alone.
    world.submit("a", &[1; 16], &[("enough", 0), ("few", 0), ("one", 0)]);
    world.submit("a", &[2; 16], &[("enough", 0), ("one", 0)]);
    world.submit("a", &[3; 16], &[("one", 0)]);
    world.submit("b", &[4; 16], &[("enough", 0), ("few", 0)]);
    let (params, round) = world.keys(&world.proxy("a"));
    let mut rng = fresh_rng().unwrap();
    assert_eq!(world.over().state, RoundState::Revealed);
    let keys = world.fingerprint();
    world.stopper("database")();
    world.ended("database");
    let storage = store::open(&format!("embedded:{}", world.at("database").join("state/rows").display())).unwrap();
    let mut rows: Vec<(RowId, Vec<Stored>)> = Vec::new();
    let mut each = |row: &RowId, entries: &mut dyn Iterator<Item = tacita_core::Result<Stored>>| {
        rows.push((*row, entries.collect::<tacita_core::Result<_>>()?));
        Ok(ControlFlow::Continue(()))
    };
    storage.groups(ROUND, None, &mut each).unwrap();
    assert_eq!(rows.len(), 3);
    let oracle = world.client("database", Service::Oracle(0));
    for (row, entries) in rows {
        let reporters: BTreeMap<_, _> = entries.iter().map(|one| one.tag).zip(0..).collect();
        let question = RowQuestion {
            row,
            sealed: ask(&params, &round, &entries.iter().map(|one| &one.sealed[..]).collect::<Vec<_>>(), &mut rng)
                .unwrap(),
            reporters: entries.iter().map(|one| reporters[&one.tag]).collect(),
        };
        let asked = [question];
        let path = keys.on(&format!("/v1/rounds/{ROUND}/answers"));
        let answer = oracle.ask(&ApiRequest::post(path, encode_questions(&asked), 1 << 12), PATIENT).unwrap();
        assert!(answer.is_ok(), "{:?}", answer.told());
        let reply = decode_replies(&answer.body, &asked, &params).unwrap().remove(0);
        let is_enough = entries.len() >= 3 && reporters.len() >= 2;
        assert_eq!(matches!(reply, RowReply::Key(_)), is_enough, "{} reports of {}", entries.len(), reporters.len());
        assert_eq!(reply == RowReply::TooFew, !is_enough);
    }
}

type Questions = Arc<Mutex<Vec<Vec<u8>>>>;

/// Stands in the oracle's place, keeps what it is asked, and answers nonsense.
fn listen(world: &World) -> Questions {
    let asked = Questions::default();
    let keep = |asked: State<Questions>, body: Bytes| async move {
        asked.lock().unwrap().push(body.to_vec());
        [7_u8]
    };
    let routes = Router::new().route("/v1/rounds/{round}/answers", post(keep)).with_state(asked.clone());
    world.start_oracle_of(routes);
    asked
}

/// The oracle is of the proxies' domain: what it is asked about must not be what a proxy has sent. So the same row is
/// asked about under other ciphertexts and in another order each time, and of who reported it nothing is seen but which
/// reports are of one.
#[test]
fn an_oracle_sees_nothing_that_a_proxy_has_seen() {
    let mut world = World::new(&names(&["a", "b"]), json!({}));
    ["database", "proxy"].iter().for_each(|role| world.start(role));
    let asked = listen(&world);
    world.submit("a", &[1; 16], &[("x", 0); 7]);
    world.submit("b", &[2; 16], &[("x", 0)]);
    assert_eq!(world.over().state, RoundState::Failed);
    while asked.lock().unwrap().len() < 10 {
        world.operate(&RoundOrder::Reveal).unwrap();
        assert_eq!(world.ends().state, RoundState::Failed);
    }
    let params = world.setting.params(ROUND).unwrap();
    let questions = asked.lock().unwrap().clone();
    let (mut sealed, mut orders) = (BTreeSet::new(), BTreeSet::new());
    for question in &questions {
        let question = decode_questions(question, &params).unwrap().remove(0);
        let pieces = question.sealed.chunks(params.sealed_bytes());
        assert!(
            pieces.len() == 8 && pieces.map(<[u8]>::to_vec).all(|one| sealed.insert(one)),
            "a ciphertext comes again"
        );
        // Numbered as they come, and no more.
        let (first, second) = (question.reporters[0], question.reporters.iter().find(|one| **one != 0));
        assert_eq!((first, second), (0, Some(&1)));
        assert_eq!(question.reporters.iter().collect::<BTreeSet<_>>().len(), 2);
        orders.insert(question.reporters);
    }
    // All alike with probability below 8^-9.
    assert!(orders.len() > 1, "{orders:?}");
}
