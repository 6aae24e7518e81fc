//! Rounds that are saved in a file, and put back: all of them is in it, or it is not made.

use std::path::PathBuf;

use serde_json::{Value, json};
use tacita_aggregate::database::backup::{Size, Where, back_up, restore};
use tacita_aggregate::participant::operate::RoundOrder;
use tacita_aggregate::store::{self, OpenedReport, Stored};
use tacita_aggregate::wire::rounds::{RoundState, RoundStatus};
use tacita_core::Error;

use super::world::{ROUND, World, names};

/// Returns the location at which a database of `world` keeps a round.
fn at(world: &World, round: &str) -> Where {
    Where {
        setting: (*world.setting).clone(),
        identity: world.identity("database"),
        state: world.at("database").join("state"),
        storage: None,
        round: round.into(),
    }
}

fn file(world: &World) -> PathBuf {
    world.at("saved")
}

/// A database alone, with a round of so many proxies that says this; it has ended.
fn ended(proxies: usize, round: Value, close: bool) -> World {
    let mut world = World::of_proxies(proxies, "dh", &names(&["a", "b"]), round);
    world.start("database");
    if close {
        drop(world.operate(&RoundOrder::Close { without: Vec::new() }).unwrap())
    } else {
        drop(world.operate(&RoundOrder::Status).unwrap())
    }
    stop(&mut world);
    world
}

fn stop(world: &mut World) {
    world.stopper("database")();
    world.ended("database");
}

#[track_caller]
fn not_yet(world: &World, why: &str) {
    match back_up(&at(world, ROUND), &file(world)) {
        Err(Error::NotReady(what)) => assert!(what.contains(why), "{what}"),
        other => panic!("{other:?}"),
    }
    assert!(!file(world).exists());
}

/// Reports that come after a copy was made would be missing in it, or count twice.
#[test]
fn a_round_of_which_something_is_on_its_way_is_not_saved() {
    not_yet(&ended(2, json!({}), false), "its proxies are sorting out duplicates");
    not_yet(&ended(1, json!({ "batch_size": 4 }), false), "still receives batches");
    not_yet(&ended(1, json!({}), true), "its proxies have not sent all yet");
    let world = ended(1, json!({}), false);
    let rows = world.at("database").join("state").join("rows");
    let storage = store::open(&format!("embedded:{}", rows.display())).unwrap();
    let row = OpenedReport { id: [7; 32], stored: Stored { tag: [1; 32], value: 0, sealed: vec![2; 64] } };
    storage.ingest(ROUND, &[1; 16], &[row]).unwrap();
    drop(storage);
    not_yet(&world, "still receives reports");
    // One that nothing has come of can be.
    assert_eq!(back_up(&at(&ended(1, json!({}), false), ROUND), &file(&world)).unwrap(), Size { reports: 0, parts: 0 });
}

/// A round that was put back knows how much each proxy had sent, and passes for no other.
#[test]
fn a_round_that_was_put_back_has_all_that_was_sent() {
    let mut world = World::started(&["a", "b"], json!({ "tighten": true }));
    world.submit("a", &[1; 16], &[("x", 0), ("y", 0)]);
    world.submit("b", &[2; 16], &[("x", 0)]);
    world.operate(&RoundOrder::Close { without: Vec::new() }).unwrap();
    let status = || -> RoundStatus { serde_json::from_value(world.operate(&RoundOrder::Status).unwrap()).unwrap() };
    while status().state != RoundState::Counted {
        assert!(!status().state.is_over(), "{:?}", status());
    }
    stop(&mut world);
    assert_eq!(back_up(&at(&world, ROUND), &file(&world)).unwrap(), Size { reports: 3, parts: 0 });
    std::fs::rename(world.at("database").join("state"), world.at("database").join("lost")).unwrap();
    let other = restore(&at(&world, "other"), &file(&world)).unwrap_err().to_string();
    assert!(other.contains("a backup of round one, and not of other"), "{other}");
    assert_eq!(restore(&at(&world, ROUND), &file(&world)).unwrap(), Size { reports: 3, parts: 0 });
    let there = restore(&at(&world, ROUND), &file(&world)).unwrap_err().to_string();
    assert!(there.contains("is in this storage, counted, and stays as it is"), "{there}");
    world.start("database");
    world.operate(&RoundOrder::Reveal).unwrap();
    assert_eq!(world.ends().state, RoundState::Revealed);
    assert_eq!(world.result("a"), [("x".into(), 2)].into());
}
