//! Tests of the messages between the leader and the others, apart from the result. Stores look random in every column,
//! under seeds that are drawn in every run.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use tacita_core::protocol::intersect::opprf::{PROGRAMMED, STORE_SEED};
use tacita_core::protocol::intersect::vole::{MASKED, SEED};

use crate::support::many::{Many, in_memory};
use crate::support::views::{byte_counts, uniform};
use crate::support::{Frame, Tap, payloads, tapped};

/// Records a run that the party at `leader` leads: the frames that it sends to each other party, and those that it gets
/// from each.
fn frames(leader: usize) -> [Vec<Vec<Frame>>; 2] {
    let sets: Vec<Vec<usize>> = (0..3).map(|place| (5 * place..5 * place + 20).collect()).collect();
    let case = Many::new(&sets, 3, leader, &[0, 1, 2], &[0, 1, 2]);
    let all: [Arc<Mutex<Vec<Vec<Frame>>>>; 2] = [(); 2].map(|()| Arc::new(Mutex::new(vec![Vec::new(); 3])));
    let keeping = |frames: &Arc<Mutex<Vec<Vec<Frame>>>>, other: usize| -> Arc<Tap> {
        let frames = frames.clone();
        Arc::new(move |frame: Frame| {
            frames.lock().unwrap()[other].push(frame.clone());
            Some(vec![frame])
        })
    };
    let ended = case.run_over(&|one, other| match (one == leader, other == leader) {
        (true, _) => tapped(keeping(&all[0], other), keeping(&all[1], other)),
        (_, true) => tapped(keeping(&all[1], one), keeping(&all[0], one)),
        _ => in_memory(one, other),
    });
    for (me, ended) in ended.into_iter().enumerate() {
        let learned = ended.unwrap().0.map(|common| (common.items, common.rows));
        assert_eq!(learned, case.expected(me));
    }
    all.map(|frames| {
        let mut frames = frames.lock().unwrap();
        frames.remove(leader);
        std::mem::take(&mut *frames)
    })
}

/// Blocks that all are others, with uniform bytes.
fn random_blocks(what: &str, blocks: &[u8]) {
    let distinct: HashSet<&[u8]> = blocks.chunks(16).collect();
    assert_eq!(distinct.len(), blocks.len() / 16, "{what}");
    assert!(!distinct.contains(&[0; 16][..]), "{what}");
    uniform(what, &byte_counts(blocks.iter().copied())).unwrap();
}

/// Columns of a store that no item determines are as random as others: the leader cannot tell how many items there are
/// in it, nor in which rows.
#[test]
fn no_column_of_a_store_is_zero() {
    for leader in 0..3 {
        let [asked, given] = frames(leader);
        for (asked, given) in asked.iter().zip(&given) {
            let (masked, programmed) = (payloads(asked, MASKED.code), payloads(given, PROGRAMMED.code));
            // 23 items in more than a hundred columns, for membership and the rows of others.
            assert!(masked.len() > 100 * 16 && programmed.len() > 200 * 16);
            random_blocks("masked store", &masked);
            random_blocks("programmed store", &programmed);
        }
        let all: Vec<u8> = given.iter().flat_map(|frames| payloads(frames, PROGRAMMED.code)).collect();
        random_blocks("both programmed stores", &all);
        let all: Vec<u8> = asked.iter().flat_map(|frames| payloads(frames, MASKED.code)).collect();
        random_blocks("the store, masked twice", &all);
    }
}

/// Every party draws the seeds of its own stores: the rows of items are known to nobody before the items are fixed.
#[test]
fn seeds_of_stores_are_drawn() {
    let (mut of_leaders, mut of_others) = (Vec::new(), Vec::new());
    for leader in 0..3 {
        let [asked, given] = frames(leader);
        let seeds: HashSet<Vec<u8>> = asked.iter().map(|frames| payloads(frames, SEED.code)).collect();
        // One store serves all links.
        assert_eq!(seeds.len(), 1);
        of_leaders.extend(seeds);
        let seeds: HashSet<Vec<u8>> = given.iter().map(|frames| payloads(frames, STORE_SEED.code)).collect();
        assert_eq!(seeds.len(), 2);
        of_others.extend(seeds);
    }
    for seeds in [of_leaders, of_others] {
        assert!(seeds.iter().all(|seed| seed.len() == 32));
        for at in (0..32).step_by(4) {
            let words: HashSet<&[u8]> = seeds.iter().map(|seed| &seed[at..at + 4]).collect();
            assert!(words.len() >= 3 && !words.contains(&[0; 4][..]), "from byte {at} on");
        }
    }
}
