//! Hidden alignment.

mod deviating;
mod hostile;
mod results;
mod views;

use std::collections::{BTreeSet, HashSet};

use crate::support::two::{Ended, run};
use crate::support::{rng, session};
use tacita_core::protocol::align::{self, Alignment, Id, Order, Params, order};
use tacita_core::{Channel, Item, Result, Side};

const SIDES: [Side; 2] = [Side::First, Side::Second];

/// A party that runs the whole protocol.
fn align_as(side: Side, items: &[Item], params: &Params, channel: &mut Channel, seed: u8) -> Result<Alignment> {
    align::run(side, items, &session(), params, channel, &mut rng(seed))
}

/// Both parties in memory.
fn aligned(first: &[Item], second: &[Item], params: &Params, seeds: [u8; 2]) -> (Ended<Alignment>, Ended<Alignment>) {
    run(&|channel| align_as(Side::First, first, params, channel, seeds[0]), &|channel| {
        align_as(Side::Second, second, params, channel, seeds[1])
    })
}

/// Ids as two honest runs of the functions make them: random strings, the same for the same items.
fn dealt(items: &[Item], run: u8) -> Vec<Id> {
    let id = |item: &Item| blake3::keyed_hash(&[run; 32], &item.0).as_bytes()[..16].try_into().unwrap();
    items.iter().map(|item| Id::from_bytes(id(item))).collect()
}

/// A party's last steps, from its ids on.
fn order_as(side: Side, ids: &[Id], params: &Params, channel: &mut Channel, seed: u8) -> Result<Order> {
    match side {
        Side::First => order::first(ids, &session(), params, channel, &mut rng(seed)),
        Side::Second => order::second(ids, &session(), params, channel, &mut rng(seed)),
    }
}

/// Number of items that both have.
fn common(first: &[Item], second: &[Item]) -> usize {
    let first: HashSet<&Item> = first.iter().collect();
    second.iter().filter(|item| first.contains(item)).count()
}

/// Items of both stand in one order: equal ones in one row, different ones in different rows.
fn in_common_order(first: &[Item], second: &[Item], positions: [&[u32]; 2], rows: usize) {
    let all: Vec<(&Item, u32)> =
        first.iter().zip(positions[0].iter().copied()).chain(second.iter().zip(positions[1].iter().copied())).collect();
    assert_eq!((positions[0].len(), positions[1].len()), (first.len(), second.len()));
    let items: HashSet<&Item> = all.iter().map(|(item, _)| *item).collect();
    let places: BTreeSet<u32> = all.iter().map(|(_, place)| *place).collect();
    let pairs: HashSet<(&Item, u32)> = all.iter().copied().collect();
    assert_eq!((places.len(), pairs.len()), (items.len(), items.len()));
    assert!(places.last().is_none_or(|&last| (last as usize) < rows));
}
