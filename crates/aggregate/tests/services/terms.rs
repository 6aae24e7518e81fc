//! Terms of the job on shuffles and thresholds hold, whatever the operator wants.

use serde_json::json;
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::wire::rounds::{RoundState, RoundStatus};
use tacita_core::ErrorKind;

use super::world::World;

/// A round that fails since a shuffle would be half one participant's stays so: its operator can neither reveal the
/// rest, nor change thresholds.
#[test]
fn a_round_whose_shuffle_is_mostly_one_participants_fails_for_good() {
    let world = World::started(&["a", "b", "c"], json!({ "max_share": 0.5 }));
    world.submit("a", &[1; 16], &[("v", 0), ("w", 0), ("x", 0), ("y", 0), ("z", 0)]);
    world.submit("b", &[2; 16], &[("x", 0)]);
    world.submit("c", &[3; 16], &[("x", 0)]);
    let failure = world.over().failure.unwrap();
    assert_eq!(failure.kind, ErrorKind::Terms.code());
    assert!(failure.reason.contains("5 of 7 reports are of one participant"), "{}", failure.reason);
    let refused = |order: RoundOrder| world.operate(&order).unwrap_err().to_string();
    let revealed = refused(RoundOrder::Reveal);
    assert!(revealed.contains("can be revealed when its rows are counted"), "{revealed}");
    let raised = refused(RoundOrder::Tighten { measure: "distinct".into(), to: Some(3) });
    assert!(raised.contains("thresholds cannot be raised"), "{raised}");
    let status: RoundStatus = serde_json::from_value(world.operate(&RoundOrder::Status).unwrap()).unwrap();
    assert_eq!(status.state, RoundState::Failed);
}
