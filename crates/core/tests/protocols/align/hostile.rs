//! A peer that breaks the protocol: the victim ends with the right error, and neither side panics, hangs or takes a
//! wrong order for a good one.

use std::sync::Arc;

use super::{align_as, dealt, order_as};
use crate::support::attack::{Attack, change, network, run_all, says};
use crate::support::two::{CULPRITS, Repeated, Two, on_payload, run, run_over, wrong_forms};
use crate::support::{Frame, blames, items, recorded, rng, session};
use tacita_core::protocol::align::{self, Id, ORDER, Params, ROWS};
use tacita_core::protocol::union::{self, MemorySpace, ShuffledItems};
use tacita_core::{Channel, Result, Side};

const MINE: usize = 40;
const THEIRS: usize = 30;

fn params() -> Params {
    Params { chunk: 16, ..Params::new(MINE, THEIRS) }
}

fn ids(side: Side) -> Vec<Id> {
    match side {
        Side::First => dealt(&items(0..MINE), 1),
        Side::Second => dealt(&items(20..50), 1),
    }
}

/// The steps after the functions.
fn ordering() -> Arc<Two> {
    let part = |side: Side, seed: u8| -> Repeated {
        Box::new(move |channel| order_as(side, &ids(side), &params(), channel, seed).map(drop))
    };
    Arc::new(Two { name: "order".into(), first: part(Side::First, 1), second: part(Side::Second, 2) })
}

/// The whole protocol.
fn whole() -> Arc<Two> {
    let part = |side: Side, seed: u8| -> Repeated {
        let items = if side == Side::First { items(0..MINE) } else { items(20..50) };
        Box::new(move |channel| align_as(side, &items, &params(), channel, seed).map(drop))
    };
    Arc::new(Two { name: "align".into(), first: part(Side::First, 1), second: part(Side::Second, 2) })
}

fn frames(case: &Two) -> [Vec<Frame>; 2] {
    let frames = recorded(|first, second| {
        let (first, second) = run_over((first, second), &*case.first, &*case.second);
        first.unwrap();
        second.unwrap();
    });
    [frames.receiver, frames.sender]
}

#[test]
fn every_message_of_the_order_in_a_wrong_form() {
    let case = ordering();
    let attacks = wrong_forms(&case, &frames(&case), None);
    assert!(attacks.len() > 130, "only {} attacks", attacks.len());
    run_all(attacks);
}

/// A peer that is gone, or goes on with another message, at every message of all steps.
#[test]
fn every_message_of_all_steps_cut_or_replaced() {
    let case = whole();
    let mut attacks = Vec::new();
    for (party, frames) in frames(&case).iter().enumerate() {
        for (frame, data) in frames.iter().enumerate() {
            let mut add = |name: &str, mutation, expected| {
                let culprit = CULPRITS[party];
                attacks.push(Attack { name: name.into(), case: case.clone(), culprit, frame, mutation, expected });
            };
            add("cut", Arc::new(|_| None), network as fn(&_) -> bool);
            if data.kind == Frame::DATA {
                add("wrong label", change(|frame| frame.label ^= 0x40), blames);
                add("shortened", change(|frame| frame.payload.truncate(frame.payload.len() - 1)), blames);
            }
        }
    }
    assert!(attacks.len() > 80, "only {} attacks", attacks.len());
    run_all(attacks);
}

/// A change of a frame of the first party's with this label, and what it is told for.
fn of_first(
    label: u8,
    number: usize,
    name: &str,
    told: fn(&tacita_core::Error) -> bool,
    edit: fn(&mut Vec<u8>),
) -> Attack {
    let case = ordering();
    let all: Vec<usize> = frames(&case)[0]
        .iter()
        .enumerate()
        .filter(|(_, frame)| frame.label == label && frame.kind == Frame::DATA)
        .map(|(at, _)| at)
        .collect();
    Attack { expected: told, ..on_payload(&case, name, 0, all[number], edit) }
}

/// Numbers of rows that no two tables of the agreed sizes have.
#[test]
fn impossible_numbers_of_rows() {
    let impossible = |error: &_| says(error, "are possible");
    let number = |name, edit| of_first(ROWS.code, 0, name, impossible, edit);
    run_all(vec![
        number("fewer than one party has", |payload| payload.copy_from_slice(&(MINE as u64 - 1).to_le_bytes())),
        number("more than both have", |payload| payload.copy_from_slice(&((MINE + THEIRS) as u64 + 1).to_le_bytes())),
        number("none", |payload| payload.fill(0)),
        number("as many as can be written", |payload| payload.fill(0xff)),
    ]);
}

/// A union that is in no order would be two different orders; one with an id twice, or without one, would be none.
#[test]
fn a_union_out_of_order() {
    let order = |error: &_| says(error, "not in order, or has an id twice");
    let missing = |error: &_| says(error, "lacks an id");
    run_all(vec![
        of_first(ORDER.code, 0, "two ids swapped", order, |payload| {
            let (one, rest) = payload.split_at_mut(16);
            one.swap_with_slice(&mut rest[..16]);
        }),
        of_first(ORDER.code, 0, "an id twice", order, |payload| payload.copy_within(0..16, 16)),
        of_first(ORDER.code, 1, "the last of the message before", order, |payload| payload[..16].fill(0)),
        // Sixteen ids that are nobody's.
        of_first(ORDER.code, 0, "other ids", missing, |payload| {
            let counted = (0..16u128).flat_map(u128::to_be_bytes);
            payload.iter_mut().zip(counted).for_each(|(byte, put)| *byte = put);
        }),
    ]);
}

/// A second party with ids in its union that say something else than the items that go with them.
fn giving(given: impl Fn(usize) -> Id + Sync) -> Result<()> {
    let second = |channel: &mut Channel| {
        let rng = &mut rng(2);
        let own: Vec<_> = ids(Side::Second).iter().map(|id| id.item()).collect();
        let payload = |index: usize, out: &mut Vec<u8>| out.extend(given(index).to_bytes());
        let given = ShuffledItems::new(&own, &payload, rng)?;
        let union = union::Params { chunk: 16, ..union::Params::new(MINE, THEIRS, 16) };
        union::ecdh::send(&given, &MemorySpace, &session().child("align union", 0), &union, channel, rng)?;
        channel.receive(ROWS, 8).map(drop)
    };
    let (first, _) = run(&|channel| order_as(Side::First, &ids(Side::First), &params(), channel, 1).map(drop), &second);
    first.map(drop)
}

#[test]
fn an_id_twice_in_the_union() {
    let twice = |error| says(&error, "gives an id twice");
    // The same for all; one that the first party has itself.
    let own = ids(Side::Second);
    assert!(twice(giving(|_| own[29]).unwrap_err()));
    assert!(twice(giving(|index| if index < 29 { own[index] } else { ids(Side::First)[0] }).unwrap_err()));
    // As they should be: it waits for what the other does not do any more.
    assert!(!twice(giving(|index| own[index]).unwrap_err()));
}

/// More rows than were agreed on are refused where they are counted, and not sent.
#[test]
fn more_items_than_agreed_on() {
    let other = Params::new(MINE, THEIRS + 1);
    let (first, second) =
        run(&|channel| align_as(Side::First, &items(0..MINE), &params(), channel, 1).map(drop), &|channel| {
            align::run(Side::Second, &items(20..51), &session(), &other, channel, &mut rng(2)).map(drop)
        });
    assert!(blames(&first.unwrap_err()) || blames(&second.unwrap_err()));
}
