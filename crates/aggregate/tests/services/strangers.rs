//! Somebody else at an address of a service: that is silence, and ends no role and no round.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::routing::post;
use serde_json::json;
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::transport::{Admission, Server, SharedTraffic, stand};
use tacita_aggregate::wire::rounds::RoundState;
use tacita_core::{ErrorKind, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::identity::Identity;
use tokio::task::JoinHandle;

use super::world::World;

/// Somebody who listens where a service should.
struct Other {
    traffic: SharedTraffic,
    cancel: Cancel,
    serving: JoinHandle<Result<()>>,
}

impl Other {
    /// Starts a service with this identity, in the place of one that says in this file where it listens.
    fn new(world: &World, identity: Identity, file: &str, routes: Router) -> Other {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        std::fs::write(world.at("addresses").join(file), listener.local_addr().unwrap().to_string()).unwrap();
        let (traffic, cancel) = (SharedTraffic::default(), Cancel::default());
        let admission = Arc::new(Admission::new(world.setting.services().unwrap(), Vec::new(), None).unwrap());
        let server = Server { identity, admission, traffic: traffic.clone(), routes, cancel: cancel.clone() };
        Other { traffic, cancel, serving: world.runtime.spawn(stand(Arc::new(server), listener)) }
    }

    /// Starts a service with an identity of its own.
    fn stranger(world: &World, file: &str) -> Other {
        let identity = Identity::create(&world.at("stranger").join(file), "stranger").unwrap();
        Other::new(world, identity, file, Router::new())
    }

    /// Waits until somebody has come, and gone again.
    fn is_met(&self) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.traffic.refused() == 0 {
            assert!(Instant::now() < until, "nobody comes");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Goes, with all its connections.
    fn goes(self, world: &World) {
        self.cancel.cancel();
        world.runtime.block_on(self.serving).unwrap().unwrap();
    }
}

fn names() -> [String; 2] {
    ["a", "b"].map(str::to_owned)
}

fn report(world: &World) {
    world.submit("a", &[1; 16], &[("x", 0), ("y", 0)]);
    world.submit("b", &[2; 16], &[("x", 0)]);
}

#[test]
fn a_stranger_in_the_oracles_place_ends_no_round_for_good() {
    let mut world = World::new(&names(), json!({}));
    world.patience = Duration::ZERO;
    ["database", "proxy"].iter().for_each(|role| world.start(role));
    let stranger = Other::stranger(&world, "oracle-1");
    report(&world);
    let failure = world.over().failure.unwrap();
    assert_eq!((failure.kind, failure.culprit.as_deref()), (ErrorKind::Network.code(), Some("the oracle")));
    assert!(failure.reason.contains("expected SHA256:"), "{}", failure.reason);
    stranger.goes(&world);
    world.start("oracle");
    // Until it has said where it listens, the round may fail again.
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        world.operate(&RoundOrder::Reveal).unwrap();
        if world.ends().state == RoundState::Revealed {
            break;
        }
        assert!(Instant::now() < until, "{:?}", world.ends());
    }
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
}

#[test]
fn the_next_oracle_is_asked_where_a_stranger_answers() {
    let mut world = World::of_several("oracle", 2, "dh", &names(), json!({}));
    ["database", "proxy", "oracle-1"].iter().for_each(|role| world.start(role));
    let stranger = Other::stranger(&world, "oracle-1");
    report(&world);
    assert_eq!(world.over().state, RoundState::Revealed);
    stranger.is_met();
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
}

#[test]
fn a_round_whose_oracle_broke_the_protocol_is_revealed_by_one_that_does_not() {
    let mut world = World::new(&names(), json!({}));
    ["database", "proxy"].iter().for_each(|role| world.start(role));
    let routes = Router::new().route("/v1/rounds/{round}/answers", post(|| async { [7_u8] }));
    let liar = Other::new(&world, world.identity("oracle"), "oracle-1", routes);
    report(&world);
    let failure = world.over().failure.unwrap();
    assert_eq!((failure.kind, failure.culprit.as_deref()), (ErrorKind::Protocol.code(), Some("the oracle")));
    liar.goes(&world);
    std::fs::remove_file(world.at("addresses").join("oracle-1")).unwrap();
    world.start("oracle");
    world.operate(&RoundOrder::Reveal).unwrap();
    assert_eq!(world.ends().state, RoundState::Revealed);
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
}

/// The proxy goes on when the database is there again: if it had ended, the world would say so at its end.
#[test]
fn a_stranger_in_the_databases_place_ends_no_proxy() {
    let mut world = World::new(&names(), json!({}));
    let stranger = Other::stranger(&world, "database-1");
    ["proxy", "oracle"].iter().for_each(|role| world.start(role));
    stranger.is_met();
    world.start("database");
    report(&world);
    assert_eq!(world.over().state, RoundState::Revealed);
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
}

#[test]
fn a_stranger_in_a_proxys_place_ends_no_oracle_and_no_other_proxy() {
    let mut world = World::of_proxies(2, "dh", &names(), json!({}));
    let stranger = Other::stranger(&world, "proxy-2");
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    stranger.is_met();
    report(&world);
    world.start("proxy-1");
    assert_eq!(world.over().state, RoundState::Revealed);
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
}
