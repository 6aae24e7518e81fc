//! Messages that the parties of any coalition receive from the others are what a simulator makes of their inputs and
//! outputs: they and the others' shares are uniformly random, whatever the others have. Each check is also run on a
//! weakened form, which must fail it.

use std::sync::{Arc, Mutex};

use tacita_core::Channel;
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::ot::{Choices, MESSAGES, RandomOtReceiver, ideal};
use tacita_core::protocol::dot::{Integers, Modulus, Shares};
use tacita_core::protocol::shares::ANSWERS;

use super::compare::Numbers;
use crate::support::many::{in_memory, run_parties};
use crate::support::mesh::{Mesh, Source, dealt_key, ots, product};
use crate::support::views::{Check, byte_counts, uniform};
use crate::support::{Frame, passing, tapped};

/// Coalitions of some of so many parties, not of all.
fn coalitions(parties: usize) -> impl Iterator<Item = Vec<usize>> {
    (1..(1u32 << parties) - 1).map(move |set| (0..parties).filter(|party| set >> party & 1 == 1).collect())
}

/// One column of each party: ones at whoever is honest, and `theirs` in the coalition.
fn columns(parties: usize, coalition: &[usize], rows: usize, theirs: i64, modulus: u128) -> Mesh {
    let value = |party: usize| if coalition.contains(&party) { theirs } else { 1 };
    let values = (0..parties).map(|party| vec![vec![value(party); rows]]).collect();
    let all: Vec<(usize, u32)> = (0..parties).map(|party| (party, 0)).collect();
    Mesh::new(values, Integers::BINARY, Modulus::new(modulus).unwrap(), vec![product(&all)])
}

/// Payloads with this label that each honest party sends to each party of the coalition.
type Received = Vec<((usize, usize), Vec<u8>)>;

/// Runs all, and records what the coalition receives.
fn received<T: Send>(
    parties: usize,
    coalition: &[usize],
    label: u8,
    part: impl Fn(usize, &mut [Channel]) -> tacita_core::Result<T> + Sync,
) -> Received {
    let seen: Arc<Mutex<Received>> = Arc::default();
    let tap = |from: usize, to: usize| -> Arc<dyn Fn(Frame) -> Option<Vec<Frame>> + Send + Sync> {
        if coalition.contains(&from) || !coalition.contains(&to) {
            return passing();
        }
        let seen = seen.clone();
        Arc::new(move |frame: Frame| {
            if frame.kind == Frame::DATA && frame.label == label {
                seen.lock().unwrap().push(((from, to), frame.payload.clone()));
            }
            Some(vec![frame])
        })
    };
    let ended = run_parties(parties, &|one, other| tapped(tap(one, other), tap(other, one)), part);
    ended.into_iter().for_each(|ended| drop(ended.unwrap()));
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    seen.sort_by_key(|(link, _)| *link);
    seen
}

/// Modulo 16 two words are a byte.
const ROWS: usize = 8192;

/// Checks that what the coalition receives is uniform, and so is, row by row, what the honest parties send to one of it
/// together: the sum of their shares would be a product of their numbers.
fn messages(parties: usize, coalition: &[usize], source: Source) -> Check {
    let case = Mesh { source, ..columns(parties, coalition, ROWS, 1, 16) };
    let seen = received(parties, coalition, MESSAGES.code, |me, channels| {
        let mut ots = case.ots(me, channels)?;
        tacita_core::protocol::dot::ot::mesh::run(&case.columns[me], &case.plan, &mut ots, channels)
    });
    for &chooser in coalition {
        let to_it: Vec<&Vec<u8>> =
            seen.iter().filter(|((_, to), _)| *to == chooser).map(|(_, payload)| payload).collect();
        let honest = (0..chooser).filter(|sender| !coalition.contains(sender)).count();
        if to_it.len() != honest || to_it.iter().any(|payload| payload.len() != ROWS / 2) {
            return Err(format!("{} messages to {chooser}", to_it.len()));
        }
        if to_it.is_empty() {
            continue;
        }
        for payload in &to_it {
            uniform("messages", &byte_counts(payload.iter().copied()))?;
        }
        let word = |payload: &Vec<u8>, row: usize| payload[row / 2] >> (4 * (row % 2)) & 15;
        let mut sums = vec![0; 16];
        (0..ROWS)
            .for_each(|row| sums[to_it.iter().map(|payload| word(payload, row) as usize).sum::<usize>() % 16] += 1);
        uniform("sums of messages", &sums)?;
    }
    Ok(())
}

#[test]
fn messages_to_any_coalition_are_uniform() {
    for parties in [3, 4] {
        for coalition in coalitions(parties) {
            let about = |check: Check| check.map_err(|error| format!("{coalition:?} of {parties}: {error}"));
            about(messages(parties, &coalition, Source::Dealer(1))).unwrap();
            // Weakened: transfers that hide nothing. A chooser then has the numbers of the one sender, or the shares of
            // all who have one of the product so far.
            let has_all = |chooser: &usize| *chooser > 0 && (0..*chooser).all(|sender| !coalition.contains(&sender));
            let is_sent = coalition.iter().any(has_all);
            assert_eq!(messages(parties, &coalition, Source::EqualBlocks(1)).is_err(), is_sent, "{coalition:?}");
        }
    }
}

/// The difference of an honest sender's share from what a chooser with zeros knows of it: minus the sum of its blocks.
fn share_less_known(case: &Mesh, seed: u32, honest: usize, chooser: usize, shares: &Shares) -> u128 {
    let rows = case.plan.rows();
    let (_, mut receiver) = ideal::pair(dealt_key(seed, honest, chooser));
    let mut blocks = vec![Block::ZERO; rows];
    let (mut end, _other) = Channel::pair("chooser", "sender");
    receiver.receive(&Choices::zeros(rows), &mut blocks, &mut end).unwrap();
    let known = blocks.iter().fold(0u128, |sum, block| sum.wrapping_sub(block.0));
    shares.residues()[0].wrapping_sub(known) % case.plan.modulus().value()
}

/// Runs in which the share of each honest party is looked at.
const RUNS: u32 = 60;

/// The shares of honest parties, less what the coalition knows of each, in many runs.
fn outputs(parties: usize, coalition: &[usize], theirs: i64, of: fn(u32) -> Source) -> Check {
    let honest: Vec<usize> = (0..parties).filter(|party| !coalition.contains(party)).collect();
    // One honest party's share is what is left of the product: nothing to count.
    let runs = if honest.len() < 2 { 1 } else { RUNS };
    let mut counts = vec![vec![0; 4]; honest.len()];
    for run in 0..runs {
        let case = Mesh { source: of(run), ..columns(parties, coalition, 3, theirs, 4) };
        let all: Vec<_> = case.run_over(&in_memory).into_iter().map(|ended| ended.unwrap().0).collect();
        for (counts, &party) in counts.iter_mut().zip(&honest) {
            let last = parties - 1;
            let share = if coalition.contains(&last) && theirs == 0 {
                share_less_known(&case, run, party, last, &all[party])
            } else {
                all[party].residues()[0]
            };
            counts[share as usize] += 1;
        }
    }
    if honest.len() < 2 {
        return Ok(());
    }
    counts.iter().try_for_each(|counts| uniform("shares", counts))
}

#[test]
fn shares_of_those_who_do_not_collude_are_uniform() {
    for parties in [3, 4] {
        for coalition in coalitions(parties) {
            for theirs in [0, 1] {
                let about =
                    |check: Check| check.map_err(|error| format!("{coalition:?} of {parties}, {theirs}: {error}"));
                about(outputs(parties, &coalition, theirs, Source::Dealer)).unwrap();
            }
            // Weakened: a sharing of zero that is used again. A chooser with zeros then knows the others' shares.
            let knows = coalition.contains(&(parties - 1)) && parties - coalition.len() > 1;
            assert_eq!(
                outputs(parties, &coalition, 0, Source::SameSeeds).is_err(),
                knows,
                "{coalition:?} of {parties}"
            );
        }
    }
}

/// A comparison of many equal numbers: what the coalition receives with this label.
fn comparison(parties: usize, coalition: &[usize], source: Source, label: u8) -> Check {
    let all: Vec<usize> = (0..parties).collect();
    let numbers: Vec<_> = (0..1024).map(|_| (9, all.clone())).collect();
    let case = Numbers::new(parties, 12, 1000, 7, &numbers, 0);
    let seen = received(parties, coalition, label, |me, channels| {
        let mut ots = ots(me, parties, source, channels)?;
        case.comparison.run(&case.shares[me], &mut ots, channels)
    });
    // The one honest party's share of an answer is what is left of it.
    if parties - coalition.len() < 2 && label == ANSWERS.code {
        return Ok(());
    }
    seen.iter().try_for_each(|(_, payload)| uniform("bits", &byte_counts(payload.iter().copied())))
}

#[test]
fn a_comparison_tells_a_coalition_the_answers_alone() {
    for parties in [3, 4] {
        for coalition in coalitions(parties) {
            for label in [MESSAGES.code, ANSWERS.code] {
                let about = |check: Check| check.map_err(|error| format!("{coalition:?} of {parties}: {error}"));
                about(comparison(parties, &coalition, Source::Dealer(2), label)).unwrap();
            }
            // Weakened: products of bits that are not hidden.
            let is_sent = coalition.iter().any(|chooser| (0..*chooser).any(|sender| !coalition.contains(&sender)));
            let weak = comparison(parties, &coalition, Source::EqualBlocks(2), MESSAGES.code);
            assert_eq!(weak.is_err(), is_sent, "{coalition:?} of {parties}");
        }
    }
}

/// Runs of one mesh have keys of their own: no share comes twice.
#[test]
fn every_run_has_other_shares() {
    let case = columns(3, &[2], 5, 1, 1 << 60);
    let shares = |seed: u32| {
        let ended = run_parties(3, &in_memory, |me, channels| {
            let mut ots = ots(me, 3, Source::Dealer(seed), channels)?;
            tacita_core::protocol::dot::ot::mesh::run(&case.columns[me], &case.plan, &mut ots, channels)
        });
        ended.into_iter().map(|ended| ended.unwrap().0.residues()[0]).collect::<Vec<_>>()
    };
    let (one, other) = (shares(1), shares(2));
    assert!(one.iter().zip(&other).all(|(one, other)| one != other));
}
