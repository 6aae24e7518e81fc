//! Between the count of a round's rows and its reveal.

use std::time::{Duration, Instant};

use serde_json::json;
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::store::{self, Ingested, Storage};
use tacita_aggregate::wire::rounds::{RoundState, RoundStatus};

use super::faked::faked;
use super::world::{ROUND, World};

/// The state in which a round comes to rest: its operator decides, or it is over.
fn rests(world: &World) -> RoundStatus {
    let until = Instant::now() + Duration::from_secs(60);
    loop {
        let status: RoundStatus = serde_json::from_value(world.operate(&RoundOrder::Status).unwrap()).unwrap();
        if status.state == RoundState::Counted || status.state.is_over() {
            return status;
        }
        assert!(Instant::now() < until, "{status:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Nobody raises thresholds by the histogram of a part of the reports.
#[test]
fn a_round_that_lacks_reports_is_not_counted() {
    let (world, mut one, mut other) = faked(&["a", "b"], json!({ "tighten": true }));
    one.advance();
    other.advance();
    world.operate(&RoundOrder::Close { without: Vec::new() }).unwrap();
    assert!(one.complete(0).is_ok() && other.complete(3).is_ok());
    let status = rests(&world);
    assert_eq!(status.state, RoundState::Failed);
    assert!(status.failure.unwrap().reason.contains("it lacks 3 reports"));
}

/// A storage that takes over after the count, and lacks some of what was counted, gives no result; one that was counted
/// takes nothing more.
#[test]
fn what_was_counted_is_compared_once_more_before_it_is_revealed() {
    let mut world = World::started(&["a", "b"], json!({ "tighten": true }));
    world.submit("a", &[1; 16], &[("x", 0)]);
    world.submit("b", &[2; 16], &[("x", 0)]);
    world.operate(&RoundOrder::Close { without: Vec::new() }).unwrap();
    assert_eq!(rests(&world).state, RoundState::Counted);
    world.stopper("database")();
    world.ended("database");
    let rows = world.at("database").join("state").join("rows");
    let storage: Box<dyn Storage> = store::open(&format!("embedded:{}", rows.display())).unwrap();
    assert_eq!(storage.ingest(ROUND, &[9; 16], &[]).unwrap(), Ingested::Sealed);
    // Its rows are gone, and its record is there.
    let record = storage.get(ROUND, "round").unwrap().unwrap();
    storage.remove(ROUND).unwrap();
    storage.put(ROUND, "round", &record).unwrap();
    drop(storage);
    world.start("database");
    world.operate(&RoundOrder::Reveal).unwrap();
    let status = world.ends();
    assert_eq!(status.state, RoundState::Failed);
    assert!(status.failure.unwrap().reason.contains("it lacks 2 reports"));
}
