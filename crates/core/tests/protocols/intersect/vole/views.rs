//! Tests of the messages that each role of `vole` receives, compared with what its own input and output allow. Every
//! check is also run on a deliberately leaky variant, which must fail it.

use std::collections::HashSet;

use crate::support::views::*;
use crate::support::*;
use tacita_core::primitive::kernel::{Block, block};
use tacita_core::primitive::okvs::{Okvs, Params};
use tacita_core::protocol::intersect::vole::{COIN, COMMITMENT, ENTRIES, MASKED, MATCHES, OPENING, SEED};
use tacita_core::{Chance, Item, Security};

const SIZE: usize = 200;

/// Inputs of the receiver that the sender must not tell apart: equal, reversed, all common, none common, padded, empty.
fn receivers() -> Vec<Vec<Item>> {
    vec![items(0..SIZE), items(0..SIZE), items((0..SIZE).rev()), items(1000..1000 + SIZE), items(0..3), vec![]]
}

/// Masked stores are as long as the agreed number of items says, uniform, and unrelated from run to run.
fn fresh_stores(runs: &[Vec<u8>]) -> Check {
    let length = 16 * Params::new(SIZE, Chance::Store.bits()).unwrap().columns();
    let mut seen = HashSet::new();
    for store in runs {
        if store.len() != length {
            return Err(format!("{} bytes instead of {length}", store.len()));
        }
        if !store.chunks(16).all(|block| seen.insert(block.to_vec())) {
            return Err("a block came twice".into());
        }
    }
    uniform("bytes", &byte_counts(runs.concat().into_iter()))?;
    for pair in runs.windows(2) {
        uniform("differences", &byte_counts(pair[0].iter().zip(&pair[1]).map(|(one, other)| one ^ other)))?;
    }
    Ok(())
}

#[test]
fn the_sender_sees_fresh_uniform_blocks_whatever_the_items() {
    for (variant, security) in [(Variant::Rows, Security::SemiHonest), (Variant::Payload, Security::Malicious)] {
        let (mut stores, mut seeds) = (Vec::new(), HashSet::new());
        for (seed, receiver) in (0..).zip(receivers()) {
            let padding = SIZE - receiver.len();
            let mut case = Case::new(variant, receiver, items(0..SIZE), padding, 64).by_vole(security, seed);
            case.params.sender_entries = case.sender_rows.rows();
            let recorded = record(&case, (seed, 100)).receiver;
            let labels: HashSet<u8> =
                recorded.iter().filter(|frame| frame.kind == Frame::DATA).map(|frame| frame.label).collect();
            let expected = match security {
                Security::SemiHonest => HashSet::from([SEED.code, MASKED.code]),
                Security::Malicious => HashSet::from([SEED.code, MASKED.code, COIN.code]),
            };
            assert_eq!(labels, expected);
            assert!(seeds.insert(payloads(&recorded, SEED.code)), "a seed came twice");
            stores.push(payloads(&recorded, MASKED.code));
        }
        fresh_stores(&stores).unwrap();
    }
}

#[test]
fn leaky_receivers_are_caught() {
    let store = |items: &[Item], seed: u8| -> Vec<Block> {
        let half = |half: usize| -> Vec<Block> {
            items.iter().map(|item| Block::from_le_slice(&item.0[half..half + 16])).collect()
        };
        let okvs = Okvs::new(Params::new(SIZE, Chance::Store.bits()).unwrap(), &[seed; 32]);
        let (grouped, values) = okvs.group(&half(0), &half(16));
        okvs.encode(&grouped, &values).unwrap()
    };
    let masked = |items: &[Item], seed: u8, mask: u8| -> Vec<u8> {
        let mut store = store(items, seed);
        block::xor_into(&block::random(store.len(), &mut rng(mask)), &mut store);
        block::as_bytes(&store).to_vec()
    };
    let all = items(0..SIZE);
    fresh_stores(&[masked(&all, 1, 1), masked(&all, 2, 2)]).unwrap();
    // Not masked: columns that nothing determines are zero.
    fresh_stores(&[block::as_bytes(&store(&all, 1)).to_vec()]).unwrap_err();
    // Masked alike twice.
    fresh_stores(&[masked(&all, 1, 1), masked(&all, 2, 1)]).unwrap_err();
    // As long as the items, not as agreed.
    fresh_stores(&[masked(&all, 1, 1)[16..].to_vec()]).unwrap_err();
}

#[test]
fn the_receiver_sees_fresh_uniform_entries_whatever_else_the_sender_has() {
    for (variant, security) in [
        (Variant::Rows, Security::SemiHonest),
        (Variant::Rows, Security::Malicious),
        (Variant::Payload, Security::SemiHonest),
    ] {
        // The receiver's output is the same in all of them: items 0..3, of rows 1, 2, 3.
        let senders = [items(0..SIZE), items(0..SIZE), items((0..3).chain(5000..5100)), items(0..3)];
        let (entries, mut entry_bytes) = (2 * SIZE, 0);
        let mut runs = Vec::new();
        for (seed, sender) in (0..).zip(senders) {
            let mut case = Case::new(variant, items(0..3), sender, 0, 64).by_vole(security, seed);
            case.params.sender_entries = entries;
            if security == Security::SemiHonest {
                case.params.tag_bytes = 8;
            }
            let recorded = record(&case, (1, 50 + seed)).sender;
            entry_bytes = case.params.entry_bytes();
            runs.push(payloads(&recorded, ENTRIES.code));
            let labels: HashSet<u8> =
                recorded.iter().filter(|frame| frame.kind == Frame::DATA).map(|frame| frame.label).collect();
            let expected = match security {
                Security::SemiHonest => HashSet::from([ENTRIES.code]),
                Security::Malicious => HashSet::from([COMMITMENT.code, OPENING.code, ENTRIES.code]),
            };
            assert_eq!(labels, expected);
        }
        fresh_entries(&runs, entry_bytes, entries).unwrap();
        // Leaky: one key for all runs; dummies left out; dummies of zeros.
        fresh_entries(&[runs[0].clone(), runs[0].clone()], entry_bytes, entries).unwrap_err();
        fresh_entries(&[runs[0][entry_bytes..].to_vec()], entry_bytes, entries).unwrap_err();
        let mut zeros = runs[0].clone();
        zeros[..20 * entry_bytes].fill(0);
        fresh_entries(&[zeros], entry_bytes, entries).unwrap_err();
    }
}

/// The receiver's marks tell it where its one item's tag stood; that says nothing about where the sender has it, nor
/// how many of the others are dummies.
#[test]
fn the_order_of_tags_says_nothing_about_the_senders_order() {
    for own in [PLACES, PLACES / 2] {
        let observe = |run: usize| {
            let sender = items((0..own).map(|index| 100 * index));
            let mut case = Case::new(Variant::RowsBoth, items([100 * (run % own)]), sender, 0, 64)
                .by_vole(Security::SemiHonest, run as u8);
            case.params.sender_entries = PLACES;
            let marks = payloads(&record(&case, (1, run as u8)).receiver, MATCHES.code);
            (run % own, (0..PLACES).find(|place| marks[place / 8] >> (place % 8) & 1 == 1).unwrap())
        };
        hides_order(&(0..ORDERS).map(observe).collect::<Vec<_>>()).unwrap();
        // Leaky: in the sender's order; the own ones in a random order, and then the dummies.
        hides_order(&(0..ORDERS).map(|run| (run % own, run % own)).collect::<Vec<_>>()).unwrap_err();
    }
}

#[test]
fn no_item_or_sealed_row_stands_in_any_frame() {
    for variant in [Variant::Rows, Variant::RowsBoth, Variant::Payload, Variant::PayloadReturned] {
        let case = Case::new(variant, items(0..100), items(50..150), 9, 32).by_vole(Security::SemiHonest, 3);
        let recorded = record(&case, (3, 4));
        let mut secrets: Vec<Vec<u8>> = case.receiver.iter().chain(&case.sender).map(|item| item.0.to_vec()).collect();
        secrets.extend((0..case.sender_rows.items()).map(|item| case.sender_rows.item(item).to_vec()));
        // What the receiver returns for common items goes as it is; the rest of its rows does not go at all.
        let (common, _) = case.truth();
        let kept = (0..case.receiver_rows.items()).filter(|item| !common.contains(item));
        secrets.extend(kept.map(|item| case.receiver_rows.item(item).to_vec()));
        let mut frames = [recorded.receiver, recorded.sender].concat();
        shows_nothing(&frames, &secrets).unwrap();
        // Leaky: an item's half anywhere.
        frames[1].payload.splice(5..5, case.receiver[7].0[8..24].iter().copied());
        shows_nothing(&frames, &secrets).unwrap_err();
    }
}

/// Checks the values that each role draws itself, besides items and correlations: the seed of the store, both shares of
/// the coin, and the randomness that hides one of them. Each is different in every run, whatever else is the same, and
/// none has a part that is always the same.
#[test]
fn what_a_role_draws_is_fresh() {
    let case = Case::new(Variant::Rows, items(0..20), items(10..30), 0, 64).by_vole(Security::Malicious, 1);
    let runs: Vec<Recorded> = (0..16).map(|seed| record(&case, (seed, 100 + seed))).collect();
    let drawn = |label: u8, of_sender: bool| {
        let of_run = |run: &Recorded| payloads(if of_sender { &run.sender } else { &run.receiver }, label);
        runs.iter().map(of_run).collect::<Vec<_>>()
    };
    let all = [(SEED, false, 32), (COIN, false, 16), (COMMITMENT, true, 32), (OPENING, true, 32)];
    for (label, of_sender, length) in all {
        let drawn = drawn(label.code, of_sender);
        assert!(drawn.iter().all(|bytes| bytes.len() == length));
        // Each word of four bytes is another in every run.
        for at in (0..length).step_by(4) {
            let words: HashSet<&[u8]> = drawn.iter().map(|bytes| &bytes[at..at + 4]).collect();
            assert_eq!(words.len(), runs.len(), "`{}` from byte {at} on", label.name);
        }
    }
}
