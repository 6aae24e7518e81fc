//! Tests of the messages that each role of `ecdh` receives, compared with what its own input and output allow. Every
//! check is also run on a deliberately leaky variant, which must fail it.

use std::collections::HashSet;

use crate::support::views::*;
use crate::support::*;
use tacita_core::Item;
use tacita_core::primitive::group::{Group, Ristretto255, ScalarField};
use tacita_core::primitive::oprf::{AdditiveBlinds, OprfKey, Suite};
use tacita_core::protocol::intersect::ecdh::sum::ENCRYPTED_SUM;
use tacita_core::protocol::intersect::ecdh::{BLINDED, ENTRIES, EVALUATED, MATCHES, PUBLIC_KEY, RETURNED_ROWS};

/// Elements are as many as agreed, uniform and never the same twice: neither in one run nor in several, whatever the
/// items. (An encoding's first byte is even and its last below 128: the bytes between are uniform.)
fn fresh_elements(runs: &[Vec<u8>], count: usize) -> Check {
    fresh_in(Suite::Ristretto255, runs, count)
}

/// The same in any suite's group.
fn fresh_in(suite: Suite, runs: &[Vec<u8>], count: usize) -> Check {
    let length = suite.element_bytes();
    let mut seen = HashSet::new();
    for elements in runs {
        if elements.len() != length * count {
            return Err(format!("{} bytes instead of {count} elements", elements.len()));
        }
        if !elements.chunks(length).all(|element| seen.insert(element.to_vec())) {
            return Err("an element came twice".into());
        }
    }
    // Bytes that the modulus or a tag has no part in.
    let inner = |element: &[u8]| element[3..length - 1].to_vec();
    uniform("bytes", &byte_counts(runs.iter().flat_map(|run| run.chunks(length).flat_map(inner))))?;
    // Neighbouring runs are also unrelated element by element.
    for pair in runs.windows(2) {
        let differences = pair[0].chunks(length).zip(pair[1].chunks(length)).flat_map(|(one, other)| {
            inner(one).into_iter().zip(inner(other)).map(|(a, b)| a.wrapping_sub(b)).collect::<Vec<_>>()
        });
        uniform("differences", &byte_counts(differences))?;
    }
    Ok(())
}

const SIZE: usize = 200;

/// Inputs of the receiver that the sender must not tell apart: equal, reversed, all common, none common, padded to
/// `size`.
fn receivers(size: usize) -> Vec<Vec<Item>> {
    vec![items(0..size), items(0..size), items((0..size).rev()), items(1000..1000 + size), items(0..3), vec![]]
}

#[test]
fn the_sender_sees_fresh_uniform_elements_whatever_the_items() {
    let lowest =
        [Variant::Rows, Variant::Count, Variant::Sum, Variant::Payload].map(|variant| (variant, Suite::Ristretto255));
    let others = [Suite::P384, Suite::P521]
        .into_iter()
        .flat_map(|suite| [Variant::Rows, Variant::Count].map(|variant| (variant, suite)));
    for (variant, suite) in lowest.into_iter().chain(others) {
        // `ecdh_sum_views.rs` looks at the encrypted sum.
        let labels = if variant == Variant::Sum { vec![BLINDED.code, ENCRYPTED_SUM.code] } else { vec![BLINDED.code] };
        // Longer elements, and dear ones: fewer are as many bytes.
        let size = if suite == Suite::Ristretto255 { SIZE } else { 60 };
        let mut runs = Vec::new();
        for (seed, receiver) in (0..).zip(receivers(size)) {
            let padding = size - receiver.len();
            let mut case = Case::new(variant, receiver, items(0..size), padding, 64).in_suite(suite);
            // The sender's size is another matter.
            case.params.sender_entries = case.sender_rows.rows();
            let recorded = record(&case, (seed, 100));
            assert!(recorded.receiver.iter().all(|frame| frame.kind != Frame::DATA || labels.contains(&frame.label)));
            runs.push(payloads(&recorded.receiver, BLINDED.code));
        }
        fresh_in(suite, &runs, size).unwrap();
    }
}

#[test]
fn leaky_receivers_are_caught() {
    let honest = |items: &[Item], seed| {
        AdditiveBlinds::random(Suite::Ristretto255, items.len(), &mut rng(seed)).blind(items).unwrap()
    };
    let runs = |leaky: &dyn Fn(&[Item], u8) -> Vec<u8>| -> Vec<Vec<u8>> {
        (0..).zip(&receivers(SIZE)[..3]).map(|(seed, items)| leaky(items, seed)).collect()
    };
    fresh_elements(&runs(&honest), SIZE).unwrap();
    // Hashed, not blinded.
    let bare = |items: &[Item], _| Suite::Ristretto255.hash_to_group(items).unwrap();
    fresh_elements(&runs(&bare), SIZE).unwrap_err();
    // Blinded alike in every run.
    fresh_elements(&runs(&|items, _| honest(items, 0)), SIZE).unwrap_err();
    // As many elements as there are items, where a padded number was agreed on.
    fresh_elements(&[honest(&items(0..3), 0)], SIZE).unwrap_err();
    // An element twice, as from an item twice.
    let twice = |items: &[Item], seed| {
        let mut elements = honest(items, seed);
        elements.copy_within(..32, 32);
        elements
    };
    fresh_elements(&runs(&twice), SIZE).unwrap_err();
    // An encoding with one constant byte.
    let constant = |items: &[Item], seed| {
        let mut elements = honest(items, seed);
        elements.chunks_mut(32).for_each(|element| element[9] = 0);
        elements
    };
    fresh_elements(&runs(&constant), SIZE).unwrap_err();
}

#[test]
fn the_receiver_sees_fresh_uniform_entries_whatever_else_the_sender_has() {
    for variant in [Variant::Rows, Variant::Count, Variant::Payload] {
        // The receiver's output is the same in all of them: items 0..3, of rows 1, 2, 3.
        let senders = [items(0..SIZE), items(0..SIZE), items((0..3).chain(5000..5100)), items(0..3)];
        let (entries, mut entry_bytes) = (2 * SIZE, 0);
        let mut runs = Vec::new();
        for (seed, sender) in (0..).zip(senders) {
            let mut case = Case::new(variant, items(0..3), sender, 0, 64);
            (case.params.sender_entries, case.params.tag_bytes) = (entries, 8);
            let recorded = record(&case, (1, 50 + seed));
            entry_bytes = case.params.entry_bytes();
            runs.push(payloads(&recorded.sender, ENTRIES.code));
            let labels: HashSet<u8> =
                recorded.sender.iter().filter(|frame| frame.kind == Frame::DATA).map(|frame| frame.label).collect();
            let mut expected = HashSet::from([EVALUATED.code, ENTRIES.code]);
            if variant != Variant::Count {
                expected.insert(PUBLIC_KEY.code);
            }
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

/// The receiver's marks tell it where its one item's tag stood; that says nothing about where the sender has it.
#[test]
fn the_order_of_tags_says_nothing_about_the_senders_order() {
    for variant in [Variant::RowsBoth, Variant::PayloadBoth] {
        let observe = |run: usize| {
            let own = run % PLACES;
            let sender = items((0..PLACES).map(|index| 100 * index));
            let mut case = Case::new(variant, items([100 * own]), sender.clone(), 0, 64);
            if variant == Variant::PayloadBoth {
                // One row an item, so that places and items are the same.
                case.sender_rows = tacita_core::protocol::intersect::ecdh::Payload::new(SENDER_ROW_BYTES);
                sender.iter().for_each(|_| case.sender_rows.push(1, &[0; SENDER_ROW_BYTES]).unwrap());
                case.params.sender_entries = PLACES;
            }
            let marks = payloads(&record(&case, (1, run as u8)).receiver, MATCHES.code);
            let place = (0..PLACES).find(|place| marks[place / 8] >> (place % 8) & 1 == 1).unwrap();
            (own, place)
        };
        let observed: Vec<_> = (0..ORDERS).map(observe).collect();
        hides_order(&observed).unwrap();
    }
    // Leaky: in the sender's order, reversed, or rotated.
    let leaky =
        |place: fn(usize) -> usize| (0..ORDERS).map(|run| (run % PLACES, place(run % PLACES))).collect::<Vec<_>>();
    hides_order(&leaky(|own| own)).unwrap_err();
    hides_order(&leaky(|own| (own + 5) % PLACES)).unwrap_err();
    hides_order(&leaky(|_| 0)).unwrap_err();
}

/// Dummies stand anywhere: a receiver that knows the places of its matches learns nothing of how many there are.
#[test]
fn the_order_of_padded_tags_hides_which_are_dummies() {
    let own = PLACES / 2;
    let observe = |run: usize| {
        let sender = items((0..own).map(|index| 100 * index));
        let mut case = Case::new(Variant::RowsBoth, items([100 * (run % own)]), sender, 0, 64);
        case.params.sender_entries = PLACES;
        let marks = payloads(&record(&case, (1, run as u8)).receiver, MATCHES.code);
        (run % own, (0..PLACES).find(|place| marks[place / 8] >> (place % 8) & 1 == 1).unwrap())
    };
    hides_order(&(0..ORDERS).map(observe).collect::<Vec<_>>()).unwrap();
    // Leaky: the own ones in a random order, and then the dummies.
    hides_order(&(0..ORDERS).map(|run| (run % own, (run / own) % own)).collect::<Vec<_>>()).unwrap_err();
}

/// Checks that elements in `count` and `sum` come back in an order that the receiver cannot follow. The test can: it
/// knows the key.
#[test]
fn counts_and_sums_hide_which_elements_matched() {
    for variant in [Variant::Count, Variant::Sum] {
        let case = Case::new(variant, items(0..PLACES), items(0..PLACES / 2), 0, 64);
        let mut observed = Vec::new();
        for run in 0..ORDERS / PLACES {
            let seed = run as u8;
            let recorded = record(&case, (1, seed));
            let key = Ristretto255.random_scalars(1, &mut rng(seed));
            let blinded = Ristretto255.decode(&payloads(&recorded.receiver, BLINDED.code)).unwrap();
            let in_order = Ristretto255.multiply_encode(&blinded, &key[0]);
            let evaluated = payloads(&recorded.sender, EVALUATED.code);
            for (from, element) in in_order.chunks(32).enumerate() {
                observed.push((from, evaluated.chunks(32).position(|other| other == element).unwrap()));
            }
        }
        hides_order(&observed).unwrap();
    }
    // Leaky: answered in order, as `rows` does.
    hides_order(&(0..ORDERS).map(|run| (run % PLACES, run % PLACES)).collect::<Vec<_>>()).unwrap_err();
}

/// Checks that the sender's tags in `count` come in an order of its own, dummies among them. The test knows the key,
/// and so the tags.
#[test]
fn the_order_of_tags_of_a_count_says_nothing_about_the_senders_order() {
    let own = PLACES - 2;
    let mut observed = Vec::new();
    for run in 0..ORDERS / PLACES {
        let mut case = Case::new(Variant::Count, items(0..2), items(0..own), 0, 64);
        case.params.sender_entries = PLACES;
        let recorded = record(&case, (1, run as u8));
        let elements = OprfKey::random(Suite::Ristretto255, &mut rng(run as u8)).elements(&case.sender).unwrap();
        let tag_key = session().derive("ecdh count tag");
        let (tags, length) = (payloads(&recorded.sender, ENTRIES.code), case.params.tag_bytes);
        for (from, element) in elements.chunks(32).enumerate() {
            let tag = blake3::keyed_hash(&tag_key, element);
            let place = tags.chunks(length).position(|other| *other == tag.as_bytes()[..length]);
            observed.push((from, place.unwrap()));
        }
    }
    hides_order(&observed).unwrap();
    // Leaky: in the sender's order.
    hides_order(&observed.iter().map(|&(from, _)| (from, from)).collect::<Vec<_>>()).unwrap_err();
}

#[test]
fn no_item_key_or_sealed_row_stands_in_any_frame() {
    for variant in VARIANTS {
        let case = Case::new(variant, items(0..100), items(50..150), 9, 32);
        let recorded = record(&case, (3, 4));
        let mut secrets: Vec<Vec<u8>> = case.receiver.iter().chain(&case.sender).map(|item| item.0.to_vec()).collect();
        secrets.extend((0..case.sender_rows.items()).map(|item| case.sender_rows.item(item).to_vec()));
        secrets.push(OprfKey::random(Suite::Ristretto255, &mut rng(4)).to_bytes().to_vec());
        for item in &secrets.clone()[..200] {
            secrets.push(Suite::Ristretto255.hash_to_group(&[item]).unwrap());
        }
        // What the receiver returns for common items goes as it is; the rest of its rows does not go at all.
        let (common, _) = case.truth();
        let kept = (0..case.receiver_rows.items()).filter(|item| !common.contains(item));
        secrets.extend(kept.map(|item| case.receiver_rows.item(item).to_vec()));
        let mut frames = [recorded.receiver, recorded.sender].concat();
        shows_nothing(&frames, &secrets).unwrap();
        assert_eq!(frames.iter().any(|frame| frame.label == RETURNED_ROWS.code), variant == Variant::PayloadReturned);
        // Leaky: an item's half anywhere.
        frames[1].payload.splice(5..5, case.receiver[7].0[8..24].iter().copied());
        shows_nothing(&frames, &secrets).unwrap_err();
    }
}
