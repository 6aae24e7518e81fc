//! Cross tables of categories at two of three parties: which cells close, what travels, and that no more can
//! be seen of it.

use std::sync::{Arc, Mutex};

use tacita_core::channel::HEADER_BYTES;
use tacita_core::primitive::ot::MESSAGES;
use tacita_core::protocol::crosstab::mesh;
use tacita_core::protocol::dot::{SHARES, reveal_bytes};
use tacita_core::protocol::mesh::MeshOts;
use tacita_core::protocol::shares::ANSWERS;
use tacita_core::{Channel, Error, Result};

use super::{Table, plain};
use crate::support::many::{in_memory, run_parties};
use crate::support::mesh::{Ended, K, Source, ots};
use crate::support::views::{Check, byte_counts, uniform};
use crate::support::{Frame, Tap, tapped};

const PARTIES: usize = 3;

/// The places of those with categories.
const WITH_CATEGORIES: [[usize; 2]; 3] = [[0, 1], [0, 2], [1, 2]];

type Opened = (Vec<bool>, Option<Vec<Option<u128>>>);

/// A party's part: which cells close, and the counts of those that `opens` leaves open.
fn part(
    table: &Table,
    parties: [usize; 2],
    learners: &[usize],
    opens: fn(&[bool]) -> Vec<bool>,
    (me, source, seed): (usize, Source, u8),
    channels: &mut [Channel],
) -> Result<Opened> {
    let mut ots = ots(me, PARTIES, source, channels)?;
    let shares = table.shares(seed);
    let own = parties.iter().position(|party| *party == me).map(|at| &shares[at]);
    let closed = mesh::closed(own, &table.params, parties, &mut ots, channels)?;
    let modulus = table.params.modulus()?;
    let counts = mesh::open(own, modulus, &opens(&closed), &parties, learners, &ots, channels)?;
    Ok((closed, counts))
}

fn check(table: &Table, parties: [usize; 2], learners: &[usize], source: Source) {
    let closed = plain::closed(table, None);
    let counts: Vec<Option<u128>> =
        table.counts.iter().zip(&closed).map(|(&count, closed)| (!closed).then_some(count.into())).collect();
    let ended: Vec<Ended<Opened>> = run_parties(PARTIES, &in_memory, |me, channels| {
        part(table, parties, learners, <[bool]>::to_vec, (me, source, 1), channels)
    });
    let (params, open) = (&table.params, closed.iter().filter(|closed| !**closed).count());
    for (me, ended) in ended.into_iter().enumerate() {
        let ((found, opened), traffic) = ended.unwrap();
        assert_eq!(found, closed, "{me} of {parties:?}: {table:?}");
        assert_eq!(opened, learners.contains(&me).then(|| counts.clone()), "{me} of {parties:?}: {table:?}");
        let peers = (0..PARTIES).filter(|peer| *peer != me);
        for (peer, traffic) in peers.zip(traffic).filter(|_| source == Source::Real) {
            let mut bytes = MeshOts::setup_bytes(K, me, peer).unwrap() + HEADER_BYTES as u64;
            bytes += mesh::closed_bytes(params, parties, K, me, peer).unwrap();
            if parties.contains(&me) && learners.contains(&peer) {
                bytes += reveal_bytes(params.modulus().unwrap(), open);
            }
            assert_eq!(traffic.sent, bytes, "{me} to {peer} of {parties:?}: {params:?}");
        }
    }
}

#[test]
fn random_tables() {
    for seed in 0..40 {
        let (parties, learners) = (WITH_CATEGORIES[seed as usize % 3], [&[0][..], &[2], &[0, 1, 2], &[1, 2]]);
        let table = Table::random(seed, 7, [0, 1, 3, 5][seed as usize % 4]);
        check(&table, parties, learners[seed as usize / 4 % 4], Source::Dealer(seed as u32));
    }
}

#[test]
fn tables_of_few_cells() {
    for shape in [[0, 0], [0, 3], [1, 1], [1, 2], [2, 1], [1, 9]] {
        for (minimum, count) in [(0, 0), (0, 3), (1, 0), (1, 1), (5, 4), (5, 5)] {
            let table = Table::new(vec![count; shape[0] * shape[1]], shape, minimum);
            check(&table, [0, 1], &[1], Source::Dealer(3));
            check(&table, [1, 2], &[0, 2], Source::Dealer(3));
        }
    }
}

#[test]
fn real_transfers() {
    check(&Table::random(2, 9, 3), [0, 1], &[0, 1, 2], Source::Real);
    check(&Table::random(3, 6, 3), [0, 2], &[1, 2], Source::Real);
}

/// Frames of a run, from one to another.
struct View(Vec<(usize, usize, Frame)>);

fn view(table: &Table, parties: [usize; 2], source: Source, seed: u8, opens: fn(&[bool]) -> Vec<bool>) -> View {
    let frames: Arc<Mutex<Vec<(usize, usize, Frame)>>> = Arc::default();
    let tap = |from: usize, to: usize| -> Arc<Tap> {
        let frames = frames.clone();
        Arc::new(move |frame: Frame| {
            if frame.kind == Frame::DATA {
                frames.lock().unwrap().push((from, to, frame.clone()));
            }
            Some(vec![frame])
        })
    };
    let wire = |one: usize, other: usize| tapped(tap(one, other), tap(other, one));
    let ended = run_parties(PARTIES, &wire, |me, channels| {
        part(table, parties, &[0, 1, 2], opens, (me, source, seed), channels)
    });
    assert!(ended.iter().all(Result::is_ok));
    View(std::mem::take(&mut *frames.lock().unwrap()))
}

impl View {
    fn bytes(&self, from: usize, to: usize, label: u8) -> Vec<u8> {
        let sent = self.0.iter().filter(|(one, other, frame)| (*one, *other, frame.label) == (from, to, label));
        sent.flat_map(|(_, _, frame)| frame.payload.clone()).collect()
    }

    /// Checks that all that every coalition receives follows from the cells that close and the counts of the others:
    /// messages of transfers, shares of closing bits and of counts are uniform over all runs, but for their sums.
    fn check(views: &[View], table: &Table, parties: [usize; 2]) -> Check {
        let closed = plain::closed(table, None);
        let modulus = table.params.modulus().unwrap();
        let open = closed.iter().filter(|closed| !**closed).count();
        for (from, to) in (0..PARTIES).flat_map(|from| (0..PARTIES).map(move |to| (from, to))) {
            if from == to {
                continue;
            }
            let both = parties.contains(&from) && parties.contains(&to);
            for view in views {
                let labels = |label: u8| both || [ANSWERS.code, SHARES.code].contains(&label);
                let other =
                    view.0.iter().find(|(one, other, frame)| (*one, *other) == (from, to) && !labels(frame.label));
                if other.is_some() || !parties.contains(&from) && !view.bytes(from, to, ANSWERS.code).is_empty() {
                    return Err(format!("{from} tells {to} of what it has no part in"));
                }
                if !parties.contains(&from) {
                    continue;
                }
                if view.bytes(from, to, SHARES.code).len() != (open * modulus.bits() as usize).div_ceil(8) {
                    return Err("shares of closed cells travel".into());
                }
                let told_by = |one: usize| {
                    let someone = (0..PARTIES).find(|other| *other != one).unwrap();
                    view.bytes(one, someone, ANSWERS.code)
                };
                if view.bytes(from, to, ANSWERS.code) != told_by(from) {
                    return Err("not all hear alike which cells close".into());
                }
                let told = parties.map(told_by);
                let bit = |cell: usize| told.iter().fold(0, |sum, bytes| sum ^ bytes[cell / 8] >> (cell % 8) & 1) == 1;
                if (0..closed.len()).any(|cell| bit(cell) != closed[cell]) {
                    return Err("more is opened than which cells close".into());
                }
            }
            // Whole bytes alone: the last of a message may have bits to spare.
            let all = |label: u8, most: usize| -> Vec<u8> {
                let of = |view: &View| view.bytes(from, to, label).into_iter().take(most).collect::<Vec<u8>>();
                views.iter().flat_map(of).collect()
            };
            if parties.contains(&from) {
                uniform("closing bits", &byte_counts(all(ANSWERS.code, closed.len() / 8).into_iter()))?;
                uniform("shares", &byte_counts(all(SHARES.code, open * modulus.bits() as usize / 8).into_iter()))?;
            }
            if both && from < to {
                let whole = |view: &View| -> Vec<u8> {
                    let sent = view
                        .0
                        .iter()
                        .filter(|(one, other, frame)| (*one, *other, frame.label) == (from, to, MESSAGES.code));
                    sent.flat_map(|(_, _, frame)| frame.payload[..frame.payload.len() - 1].to_vec()).collect()
                };
                uniform("messages", &byte_counts(views.iter().flat_map(whole)))?;
            }
        }
        Ok(())
    }
}

/// A table in which every line has cells that are small, closed besides, and open.
fn table(small: u64) -> Table {
    let counts = (0..144u64).map(|cell| if cell % 23 == 0 { small } else { 40 + cell % 7 });
    Table::new(counts.collect(), [12, 12], 5)
}

fn views(runs: u8, parties: [usize; 2], source: fn(u32) -> Source, opens: fn(&[bool]) -> Vec<bool>) -> Vec<View> {
    (0..runs).map(|seed| view(&table(u64::from(seed % 4)), parties, source(seed.into()), 3 * seed, opens)).collect()
}

#[test]
fn views_are_made_up_from_what_is_learned() {
    for parties in [[0, 1], [1, 2]] {
        View::check(&views(80, parties, Source::Dealer, <[bool]>::to_vec), &table(0), parties).unwrap();
    }
}

/// A party that opens all cells, closing bits that are others, and messages of products to one without a part in them
/// are noticed, in any number of runs.
#[test]
fn leaky_variants_fail() {
    const RUNS: u8 = 16;
    let parties = [0, 2];
    let check = |views: &[View]| View::check(views, &table(0), parties).unwrap_err();
    let opens_all = views(RUNS, parties, Source::Dealer, |closed| vec![false; closed.len()]);
    assert!(check(&opens_all).contains("closed cells travel"));
    let mut all = views(RUNS, parties, Source::Dealer, <[bool]>::to_vec);
    all[5].0.iter_mut().filter(|(_, _, frame)| frame.label == ANSWERS.code).for_each(|sent| sent.2.payload.fill(0));
    assert!(check(&all).contains("which cells close"));
    let mut outside = views(RUNS, [0, 1], Source::Dealer, <[bool]>::to_vec);
    let (_, _, frame) = outside[2].0.iter().find(|(_, _, frame)| frame.label == MESSAGES.code).unwrap();
    let frame = frame.clone();
    outside[2].0.push((0, 2, frame));
    assert!(View::check(&outside, &table(0), [0, 1]).unwrap_err().contains("no part in"));
    let mut told = views(RUNS, parties, Source::Dealer, <[bool]>::to_vec);
    let frame = told[3].0.iter_mut().find(|(_, _, frame)| frame.label == ANSWERS.code).unwrap();
    frame.2.payload[2] ^= 4;
    assert!(check(&told).contains("which cells close"));
}

/// Change of a message.
type Change = Arc<dyn Fn(&mut Frame) + Send + Sync>;

/// Messages in other forms end the run at the victim, who names the culprit.
#[test]
fn messages_in_wrong_forms_end_the_run() {
    let table = table(2);
    let run = |number: usize, change: Change| {
        let count = std::sync::atomic::AtomicUsize::new(0);
        let tap = move |mut frame: Frame| {
            let due = [ANSWERS.code, SHARES.code].contains(&frame.label) && frame.kind == Frame::DATA;
            if due && count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == number {
                change(&mut frame);
            }
            Some(vec![frame])
        };
        let tap: Arc<Tap> = Arc::new(tap);
        let wire = |one: usize, other: usize| match (one, other) {
            (0, 2) => tapped(tap.clone(), crate::support::passing()),
            _ => in_memory(one, other),
        };
        let part = |me: usize, channels: &mut [Channel]| {
            part(&table, [0, 1], &[0, 1, 2], <[bool]>::to_vec, (me, Source::Dealer(2), 1), channels)
        };
        run_parties(PARTIES, &wire, part).swap_remove(2)
    };
    assert!(run(usize::MAX, Arc::new(|_| ())).is_ok());
    let changes: [Change; 3] = [
        Arc::new(|frame| frame.payload.truncate(frame.payload.len() - 1)),
        Arc::new(|frame| frame.payload.push(0)),
        Arc::new(|frame| frame.label ^= 0x40),
    ];
    for number in 0..2 {
        for change in &changes {
            let ended = run(number, change.clone());
            assert!(matches!(&ended, Err(Error::Protocol { peer, .. }) if peer == "receiver"), "{number}: {ended:?}");
        }
    }
}
