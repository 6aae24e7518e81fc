//! A receiver of several keys that wants to choose what it encodes for one of them when it has learned something by
//! another.

use tacita_core::primitive::ot::softspoken::{self, CorrelatedReceiver};
use tacita_core::primitive::vole::silent::SilentReceiver;
use tacita_core::protocol::intersect::ecdh::Payload;
use tacita_core::protocol::intersect::vole::{self, VoleInput};
use tacita_core::security::Security::Malicious;
use tacita_core::session::Session;
use tacita_core::{Channel, Item, Result};

use super::receiver::overfitted;
use super::{Coin, Known, Params, ROW_BYTES, Receiver, open, payload, receive_entries, rows};
use crate::adversary::against;
use crate::support::{blames, item, items, rng, session};
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::okvs::Okvs;

/// Items of the receiver by each key, as agreed.
const ITEMS: usize = 20;

/// Rows of the sender. By the first key they are numbered from 0 on.
const ROWS: usize = 30;

/// Sender's item by the second key in a row. Nobody guesses it who does not have the row.
fn other(row: usize) -> Item {
    item(1_000_000 + 7919 * row * row)
}

/// The row that the sender gives for an item by the first key: the beginning of what it has by the second.
fn given(row: usize) -> [u8; ROW_BYTES] {
    std::array::from_fn(|at| other(row).0[at])
}

/// The item by the second key of the row that was given so.
fn wanted(given: &[u8]) -> Item {
    (0..ROWS).map(other).find(|item| item.0.starts_with(given)).unwrap()
}

fn of_key(number: u64) -> Session {
    session().child("alternative", number)
}

/// Order in which a sender goes through its keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Order {
    /// Order of the shipped program.
    AllBoundFirst,
    /// Each key to its end before the next.
    OneByOne,
}

fn send(order: Order, params: &Params, channel: &mut Channel) -> Result<()> {
    let (sessions, rng) = ([0, 1].map(of_key), &mut rng(1));
    let items = [items(0..ROWS), (0..ROWS).map(other).collect()];
    let inputs = [0, 1].map(|key| VoleInput { items: &items[key], session: &sessions[key], params });
    if params.entries.entry_bytes() == params.entries.tag_bytes {
        return match order {
            Order::AllBoundFirst => vole::rows::send_each(&inputs, channel, rng),
            Order::OneByOne => inputs.iter().try_for_each(|VoleInput { items, session, params }| {
                vole::rows::send(items, session, params, channel, rng).map(drop)
            }),
        };
    }
    let mut given_rows = Payload::new(ROW_BYTES);
    (0..ROWS).for_each(|row| given_rows.push(1, &given(row)).unwrap());
    let inputs = inputs.map(|input| (input, &given_rows));
    match order {
        Order::AllBoundFirst => vole::payload::send_each(&inputs, channel, rng),
        Order::OneByOne => inputs.iter().try_for_each(|(VoleInput { items, session, params }, rows)| {
            vole::payload::send(items, rows, session, params, channel, rng).map(drop)
        }),
    }
}

/// The receiver's program by one key up to where it is bound to these items.
fn bind(key: u64, items: &[Item], params: &Params, channel: &mut Channel) -> Result<Known> {
    let (session, rng) = (of_key(key), &mut rng(4));
    let transfers = softspoken::Params::new(Malicious, 8)?;
    let transfers = CorrelatedReceiver::setup(&transfers, &session, "intersection", channel, rng)?;
    let mut vole = SilentReceiver::new(transfers, Malicious, &session, "intersection", rng);
    let store = |okvs: &Okvs| overfitted(okvs, items).1;
    let program = Receiver { seed: [9; 32], store: &store, coin: Coin::Chosen(Block(11)), trusts: false };
    program.run(params, &session, &mut vole, channel)
}

/// Opens the rows of these items that are among the entries.
fn opened(known: &Known, items: &[Item], entries: &[Vec<u8>], params: &Params) -> Vec<Vec<u8>> {
    let outputs = known.outputs(items, Block::ZERO);
    outputs.iter().filter_map(|output| open(&known.session, output, 0, entries, params)).collect()
}

/// Attacks as a receiver that opens the first key, and then encodes for the second what it has read. Returns the number
/// of rows that it opens by that.
fn chooses_late(params: &Params, channel: &mut Channel) -> Result<usize> {
    let guesses = items(0..ITEMS);
    let first = bind(0, &guesses, params, channel)?;
    let entries = receive_entries(params, channel)?;
    let read: Vec<Item> = opened(&first, &guesses, &entries, params).iter().map(|row| wanted(row)).collect();
    let second = bind(1, &read, params, channel)?;
    let entries = receive_entries(params, channel)?;
    Ok(opened(&second, &read, &entries, params).len())
}

/// Runs a receiver that goes along with the order, with these items by the second key. Returns the number of rows that
/// it opens by the first key. The other number is that of rows opened by the second key, for items that the receiver
/// has read about in the first ones.
fn chooses_blindly(blind: &[Item], params: &Params, channel: &mut Channel) -> Result<[usize; 2]> {
    let guesses = items(0..ITEMS);
    let (first, second) = (bind(0, &guesses, params, channel)?, bind(1, blind, params, channel)?);
    let [of_first, of_second] = [receive_entries(params, channel)?, receive_entries(params, channel)?];
    let read: Vec<Item> = opened(&first, &guesses, &of_first, params).iter().map(|row| wanted(row)).collect();
    Ok([read.len(), opened(&second, &read, &of_second, params).len()])
}

/// Checks that the items encoded by a key do not depend on what another key has told: no entry comes before all stores
/// are fixed. A sender that goes through its keys one by one is tested for what its own rows say.
#[test]
fn a_receiver_does_not_choose_one_key_by_what_another_tells() {
    let params = payload(ITEMS, ROWS, Malicious);
    let late = |order, params: &Params| {
        against(|channel| send(order, params, channel), |channel| chooses_late(params, channel))
    };
    let (sent, found) = late(Order::OneByOne, &params);
    assert!(sent.is_ok() && found.is_ok_and(|found| found == ITEMS));

    // The real one does not answer by the first key: it waits for the second to be fixed.
    for params in [params, rows(ITEMS, ROWS, Malicious)] {
        let (sent, found) = late(Order::AllBoundFirst, &params);
        assert!(found.is_err_and(|error| blames(&error)) && sent.is_err());
    }
    let blind: Vec<Item> = (0..ITEMS).map(|row| if row < 3 { other(row) } else { item(500 + row) }).collect();
    let (sent, found) = against(
        |channel| send(Order::AllBoundFirst, &params, channel),
        |channel| chooses_blindly(&blind, &params, channel),
    );
    assert!(sent.is_ok());
    assert_eq!(found.unwrap(), [ITEMS, 3]);
}
