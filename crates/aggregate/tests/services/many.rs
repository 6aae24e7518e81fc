//! Hundreds of participants at once: all are taken, or told to come again, and each counts once.

use serde_json::json;
use tacita_aggregate::wire::rounds::RoundState;

use super::world::{PATIENT, World, put};

#[test]
fn hundreds_of_participants_at_once_are_all_counted() {
    all_are_counted(300);
}

#[test]
#[ignore = "slow: a thousand participants"]
fn a_thousand_participants_at_once_are_all_counted() {
    all_are_counted(1000);
}

fn all_are_counted(participants: u64) {
    let names: Vec<String> = (0..participants).map(|number| format!("p{number}")).collect();
    let mut world = World::new(&names, json!({ "reveal_when": format!("distinct >= {}", participants * 2 / 5) }));
    ["database", "proxy", "oracle"].iter().for_each(|role| world.start(role));
    world.keys(&world.proxy("p0"));
    std::thread::scope(|scope| {
        for (number, name) in names.iter().enumerate() {
            let world = &world;
            let run = move || {
                let proxy = world.proxy(name);
                let mut batch = [0; 16];
                batch[..8].copy_from_slice(&(number as u64 + 1).to_be_bytes());
                let body = world.reports(
                    &proxy,
                    name,
                    &batch,
                    &[("all", 0), (if number % 2 == 0 { "even" } else { "odd" }, 0)],
                );
                let answer = proxy.ask(&put(&batch, body), PATIENT).unwrap();
                assert!(answer.is_ok(), "{:?}", answer.told());
            };
            std::thread::Builder::new().stack_size(1 << 20).spawn_scoped(scope, run).unwrap();
        }
    });
    let status = world.over();
    assert_eq!(status.state, RoundState::Revealed, "{status:?}");
    assert_eq!(status.numbers.unwrap().reports, 2 * participants);
    let half = participants / 2;
    assert_eq!(world.result("p7"), [("all".into(), participants), ("even".into(), half), ("odd".into(), half)].into());
}
