//! A round that is removed leaves no secret behind, wherever it was.

use std::time::{Duration, Instant};

use serde_json::json;
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::transport::ApiRequest;
use tacita_aggregate::wire::rounds::RoundState;
use tacita_aggregate::wire::service::Service;

use super::world::{ONCE, ROUND, World, refused};

#[test]
fn secrets_of_a_round_that_is_removed_are_gone() {
    let world = World::started(&["a", "b"], json!({}));
    world.submit("a", &[1; 16], &[("x", 0)]);
    world.submit("b", &[2; 16], &[("x", 0)]);
    assert_eq!(world.over().state, RoundState::Revealed);
    let keys = world.fingerprint();
    let round: String = ROUND.bytes().map(|byte| format!("{byte:02x}")).collect();
    let secrets = [("proxy", "proxy"), ("oracle", "proxy"), ("database", "database")]
        .map(|(role, of)| world.at(role).join("state").join(format!("{of}-{round}.key")));
    assert!(secrets.iter().all(|path| path.exists()), "{secrets:?}");
    world.operate(&RoundOrder::Remove).unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while let Some(left) = secrets.iter().find(|path| path.exists()) {
        assert!(Instant::now() < until, "{} is still there", left.display());
        std::thread::sleep(Duration::from_millis(20));
    }
    // Nor does the oracle have them in memory: it would answer, if only that nothing was asked.
    let asked = ApiRequest::post(keys.on(&format!("/v1/rounds/{ROUND}/answers")), Vec::new(), 1 << 12);
    refused(&world.client("database", Service::Oracle(0)).ask(&asked, ONCE).unwrap(), 503, "cannot be done");
}
