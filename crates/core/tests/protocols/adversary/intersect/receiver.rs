//! A receiver that wants to know the function at more items than it may, or at items that it did not have in time.

use std::collections::HashSet;

use tacita_core::primitive::kernel::block::{self, Block};
use tacita_core::primitive::kernel::gf128;
use tacita_core::primitive::okvs::Okvs;
use tacita_core::primitive::ot::softspoken::{self, CorrelatedReceiver};
use tacita_core::primitive::vole::ideal;
use tacita_core::primitive::vole::params::{Parameters, VoleKind};
use tacita_core::protocol::intersect::ecdh::Payload;
use tacita_core::protocol::intersect::vole::{self, overfitted_items};
use tacita_core::security::Chance;
use tacita_core::security::Security::Malicious;
use tacita_core::{Channel, Error, Item, Result};

use super::{
    Coin, Form, Known, Params, ROW_BYTES, Receiver, Store, decode, halves, open, output, payload, receive_entries,
    rows, send, send_entries,
};
use crate::adversary::against;
use crate::adversary::silent::{self, Instance, Point};
use crate::support::{blames, items, rng, session};

/// Items of the receiver, as agreed.
const ITEMS: usize = 20;

/// Sender that is attacked: the real one, with its real correlation or a dealer's, or one that is weak in a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Real,
    RealOverDealer,
    /// The real one with a correlation of the sender written here, whose tips leave dropped nodes out.
    WeakTips,
    Written(Form),
}

fn instance(form: silent::Form) -> Instance {
    Instance { kind: VoleKind::Field, security: Malicious, session: session(), purpose: "intersection", form }
}

/// Runs the sender with these items, with a row each if it has a payload.
fn run_sender(victim: Victim, items: &[Item], params: &Params, channel: &mut Channel) -> Result<()> {
    let (session, rng) = (&session(), &mut rng(1));
    let mut weak = silent::Sender::new(instance(silent::Form::WithoutDropped), silent::dealer(1).0, 2);
    let mut dealer = ideal::pair([3; 32]).0;
    if params.entries.entry_bytes() > params.entries.tag_bytes {
        let mut own = Payload::new(ROW_BYTES);
        items.iter().for_each(|item| own.push(1, &item.0[..ROW_BYTES]).unwrap());
        return match victim {
            Victim::Real => vole::payload::send(items, &own, session, params, channel, rng).map(drop),
            _ => vole::payload::send_over(items, &own, session, params, &mut weak, channel, rng).map(drop),
        };
    }
    match victim {
        Victim::Real => vole::rows::send(items, session, params, channel, rng).map(drop),
        Victim::RealOverDealer => vole::rows::send_over(items, session, params, &mut dealer, channel, rng).map(drop),
        Victim::WeakTips => vole::rows::send_over(items, session, params, &mut weak, channel, rng).map(drop),
        Victim::Written(form) => {
            let key = send(form, params, session, &mut dealer, channel, |_| Block::ZERO)?;
            send_entries(&key.tags(items), params, channel)
        }
    }
}

/// Results of a receiver in the end: what it knows, what it takes delta for, and the entries.
type Attacked = (Known, Vec<Block>, Vec<Vec<u8>>);

/// Runs a receiver's program against it.
fn attack(victim: Victim, theirs: &[Item], params: &Params, program: &Receiver<'_>) -> Result<Attacked> {
    // The left sums of all levels of all trees: what is dropped is what it lacks.
    let points = |parameters: &Parameters, _: usize| Point { right: vec![false; parameters.depth], value: Block(7) };
    let (sent, attacked) = against(
        |channel| run_sender(victim, theirs, params, channel),
        |channel| -> Result<_> {
            let (known, guesses) = match victim {
                Victim::Real => {
                    let form = softspoken::Params::new(Malicious, 8)?;
                    let ot = CorrelatedReceiver::setup(&form, &session(), "intersection", channel, &mut rng(4))?;
                    let mut vole = silent::Receiver::new(instance(silent::Form::Sound), ot, 5, points);
                    (program.run(params, &session(), &mut vole, channel)?, vole.guesses().collect())
                }
                Victim::WeakTips => {
                    let ot = silent::dealer(1).1;
                    let mut vole = silent::Receiver::new(instance(silent::Form::WithoutDropped), ot, 5, points);
                    (program.run(params, &session(), &mut vole, channel)?, vole.guesses().collect())
                }
                _ => (program.run(params, &session(), &mut ideal::pair([3; 32]).1, channel)?, vec![]),
            };
            Ok((known, guesses, receive_entries(params, channel)?))
        },
    );
    let attacked = attacked?;
    sent.unwrap();
    Ok(attacked)
}

/// Returns as many of the items as any store can hold, one for each column, and that store. The items are those whose
/// rows are linearly independent. The store is found by Gaussian elimination.
pub fn overfitted(okvs: &Okvs, items: &[Item]) -> (Vec<Item>, Vec<Block>) {
    let columns = okvs.params().columns();
    let unit = |column: usize| {
        let mut unit = block::zeros(columns);
        unit[column] = Block::ONE;
        decode(okvs, items, &unit)
    };
    let matrix: Vec<Vec<Block>> = (0..columns).map(unit).collect();
    // Reduced rows with their values behind them, and the column in which each has its one.
    let (mut reduced, mut encoded): (Vec<(usize, Vec<Block>)>, Vec<Item>) = (Vec::new(), Vec::new());
    for (index, item) in items.iter().enumerate() {
        let mut row: Vec<Block> = matrix.iter().map(|column| column[index]).chain([halves(item)[1]]).collect();
        for (pivot, other) in &reduced {
            let factor = row[*pivot];
            gf128::scale_add(other, factor, &mut row);
        }
        if let Some(pivot) = row[..columns].iter().position(|entry| *entry != Block::ZERO) {
            let inverse = row[pivot].invert();
            gf128::scale_in_place(&mut row, inverse);
            for (_, other) in &mut reduced {
                let factor = other[pivot];
                gf128::scale_add(&row, factor, other);
            }
            reduced.push((pivot, row));
            encoded.push(*item);
        }
    }
    let mut store = block::zeros(columns);
    reduced.iter().for_each(|(pivot, row)| store[*pivot] = row[columns]);
    (encoded, store)
}

/// A program whose store has as many items of the dictionary as fit.
fn greedy(store: Store<'_>) -> Receiver<'_> {
    Receiver { seed: [9; 32], store, coin: Coin::Chosen(Block(11)), trusts: false }
}

/// The receiver learns the function at n' items at most. What it is able to encode is less, one item for each column of
/// the store; with delta it would be a whole dictionary.
#[test]
fn a_receiver_learns_the_function_at_no_more_items_than_it_may() {
    let bound = overfitted_items(ITEMS, Chance::Store.bits(), 1).unwrap() as usize;
    let dictionary = items(0..bound + 300);
    let params = rows(ITEMS, dictionary.len(), Malicious);
    let store = |okvs: &Okvs| overfitted(okvs, &dictionary[..4 * okvs.params().columns()]).1;
    for victim in [Victim::WeakTips, Victim::Real] {
        let (known, guesses, tags) = attack(victim, &dictionary, &params, &greedy(&store)).unwrap();
        let (encoded, _) = overfitted(&known.okvs, &dictionary[..4 * known.store.len()]);
        assert!(encoded.len() == known.store.len() && encoded.len() > ITEMS && encoded.len() < bound);
        // The page names both numbers.
        assert_eq!((encoded.len(), bound), (254, 3204));
        assert_eq!(known.found(&dictionary, Block::ZERO, &tags), encoded, "{victim:?}");
        // A guess of delta is right if it finds an item that is not encoded.
        let other = [dictionary[dictionary.len() - 1]];
        let (factor, rest) = known.parts(&other)[0];
        let tag = |delta: Block| output(&known.session, (delta * factor) ^ rest, &other[0])[..tags[0].len()].to_vec();
        let all: HashSet<&Vec<u8>> = tags.iter().collect();
        let delta = guesses.into_iter().find(|delta| all.contains(&tag(*delta)));
        assert_eq!(delta.is_some(), victim == Victim::WeakTips);
        if let Some(delta) = delta {
            assert_eq!(known.found(&dictionary, delta, &tags).len(), dictionary.len());
        }
    }
}

/// Nor does it open a row of an item that it did not encode.
#[test]
fn a_receiver_opens_no_row_of_an_item_that_it_did_not_encode() {
    let theirs = items(0..100);
    let params = payload(ITEMS, theirs.len(), Malicious);
    let store = |okvs: &Okvs| overfitted(okvs, &theirs[..ITEMS]).1;
    for victim in [Victim::WeakTips, Victim::Real] {
        let (known, guesses, entries) = attack(victim, &theirs, &params, &greedy(&store)).unwrap();
        let opened = |delta: Block| -> Vec<bool> {
            let outputs = known.outputs(&theirs, delta);
            let rows = outputs.iter().map(|output| open(&known.session, output, 0, &entries, &params));
            rows.zip(&theirs).map(|(row, item)| row.is_some_and(|row| row == item.0[..ROW_BYTES])).collect()
        };
        let expected: Vec<bool> = (0..theirs.len()).map(|index| index < ITEMS).collect();
        assert_eq!(opened(Block::ZERO), expected);
        let last = theirs[theirs.len() - 1];
        let (factor, rest) = known.parts(&[last])[0];
        let opens_last = |delta: &Block| {
            let output = output(&known.session, (*delta * factor) ^ rest, &last);
            open(&known.session, &output, 0, &entries, &params).is_some()
        };
        let delta = guesses.into_iter().find(opens_last);
        assert_eq!(delta.is_some(), victim == Victim::WeakTips);
        assert!(delta.is_none_or(|delta| opened(delta).iter().all(|opened| *opened)));
    }
}

/// A store that holds nothing gives the function nowhere, whatever it is. A function that did not take an item's value
/// would be known everywhere.
#[test]
fn a_store_of_nothing_gives_the_function_nowhere() {
    let theirs = items(0..500);
    let params = rows(ITEMS, theirs.len(), Malicious);
    // One for another seed; one that says of each item that it is another one.
    let elsewhere =
        |okvs: &Okvs| overfitted(&super::store(&params, &session(), &[1; 32]), &theirs[..okvs.params().keys]).1;
    let exchanged = |okvs: &Okvs| {
        let exchange = |(one, other): (&Item, &Item)| {
            let mut item = *one;
            item.0[16..].copy_from_slice(&other.0[16..]);
            item
        };
        let mixed: Vec<Item> = theirs[..ITEMS].iter().zip(&theirs[1..]).map(exchange).collect();
        overfitted(okvs, &mixed).1
    };
    let stores: [Store<'_>; 5] = [
        &|okvs| block::zeros(okvs.params().columns()),
        &|okvs| vec![Block::ONE; okvs.params().columns()],
        &|okvs| block::random(okvs.params().columns(), &mut rng(6)),
        &elsewhere,
        &exchanged,
    ];
    for (number, store) in stores.into_iter().enumerate() {
        let run = |victim| {
            let (known, _, tags) = attack(victim, &theirs, &params, &greedy(store)).unwrap();
            known.found(&theirs, Block::ZERO, &tags).len()
        };
        assert_eq!(run(Victim::RealOverDealer), 0, "store {number}");
        assert_eq!(run(Victim::Written(Form::Sound)), 0, "store {number}");
        assert!(number > 0 || run(Victim::Written(Form::WithoutValue)) == theirs.len());
    }
}

/// The coin is nobody's choice: a receiver that aims at one gets it from a sender that opens first. The real one waits
/// for the receiver's share.
#[test]
fn a_receiver_does_not_choose_the_coin() {
    let theirs = items(0..50);
    let params = rows(ITEMS, theirs.len(), Malicious);
    let aimed = Block(0x600d);
    let store = |okvs: &Okvs| overfitted(okvs, &theirs[..ITEMS]).1;
    let program = Receiver { coin: Coin::Aimed(aimed), ..greedy(&store) };
    let (known, _, tags) = attack(Victim::Written(Form::OpensFirst), &theirs, &params, &program).unwrap();
    assert!(known.coin == aimed && known.found(&theirs, Block::ZERO, &tags) == theirs[..ITEMS]);
    // From the real sender no opening comes before the coin, so that it can only choose blindly.
    let opens = |victim| {
        let program = Receiver { coin: Coin::Withheld, ..greedy(&store) };
        let (sent, opened) = against(
            |channel| run_sender(victim, &theirs, &params, channel),
            |channel| program.run(&params, &session(), &mut ideal::pair([3; 32]).1, channel).map(drop),
        );
        assert!(sent.is_err_and(|error| blames(&error)));
        assert!(matches!(opened, Ok(()) | Err(Error::Peer { .. })));
        opened.is_ok()
    };
    assert!(opens(Victim::Written(Form::OpensFirst)) && !opens(Victim::RealOverDealer));
    let program = Receiver { coin: Coin::Chosen(aimed), ..greedy(&store) };
    let (mut known, _, tags) = attack(Victim::RealOverDealer, &theirs, &params, &program).unwrap();
    assert_eq!(known.found(&theirs, Block::ZERO, &tags), theirs[..ITEMS]);
    known.coin = aimed;
    assert_eq!(known.found(&theirs, Block::ZERO, &tags), []);
}
