//! Messages that come early, late, or from another run.

use tacita_core::channel::Label;
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::kernel::block;
use tacita_core::primitive::vole::{VoleReceiver, VoleSender, ideal};
use tacita_core::protocol::intersect::vole::{self, COIN, COMMITMENT, ENTRIES, MASKED, OPENING, SEED};
use tacita_core::security::Security::Malicious;
use tacita_core::session::Session;
use tacita_core::{Channel, Result};

use super::{Form, Key, MASKED_BLOCKS, Params, commitment, rows, send, send_entries, sizes};
use crate::adversary::{against, says_no_more, waits};
use crate::support::{blames, items, rng, session};

const ITEMS: usize = 30;

fn params() -> Params {
    rows(ITEMS, ITEMS, Malicious)
}

fn receive(session: &Session, seed: u8, channel: &mut Channel) -> Result<Vec<usize>> {
    let dealer = &mut ideal::pair([seed; 32]).1;
    vole::rows::receive_over(&items(0..ITEMS), session, &params(), dealer, channel, &mut rng(seed))
}

fn sender(channel: &mut Channel) -> Result<()> {
    let dealer = &mut ideal::pair([1; 32]).0;
    vole::rows::send_over(&items(0..ITEMS), &session(), &params(), dealer, channel, &mut rng(2)).map(drop)
}

/// Checks that nothing a party has to see before it goes on is to be had earlier: the other party waits.
#[test]
fn nobody_speaks_before_it_is_bound() {
    // The seed comes after the commitment.
    let waits_for_commitment = |victim: &(dyn Fn(&mut Channel) -> Result<()> + Sync)| {
        let (received, waited) = against(victim, waits);
        assert!(received.is_err_and(|error| blames(&error)));
        waited
    };
    let hurries = |channel: &mut Channel| {
        channel.send(SEED, vec![3; 32])?;
        receive(&session(), 1, channel).map(drop)
    };
    assert!(!waits_for_commitment(&hurries));
    assert!(waits_for_commitment(&|channel| receive(&session(), 1, channel).map(drop)));
    // The coin comes when the commitment, and nothing else, has come from the sender; the opening after the masked
    // store and the coin.
    let before_store = |channel: &mut Channel| {
        channel.receive(COMMITMENT, 32).unwrap();
        channel.send(SEED, vec![3; 32]).unwrap();
        waits(channel)
    };
    let before_coin = |channel: &mut Channel| {
        channel.receive(COMMITMENT, 32).unwrap();
        channel.send(SEED, vec![3; 32]).unwrap();
        send_store(channel);
        waits(channel)
    };
    for adversary in [&before_store as &dyn Fn(&mut Channel) -> bool, &before_coin] {
        let (sent, waited) = against(sender, adversary);
        assert!(waited && sent.is_err_and(|error| blames(&error)));
    }
    let opens_first = |channel: &mut Channel| {
        let dealer = &mut ideal::pair([1; 32]).0;
        send(Form::OpensFirst, &params(), &session(), dealer, channel, |_| Block::ZERO)
    };
    let (sent, waited) = against(opens_first, before_coin);
    assert!(!waited && sent.is_err_and(|error| blames(&error)));
}

/// Sends any store, masked.
fn send_store(channel: &mut Channel) {
    let columns = sizes(&params()).columns();
    let (mut a, mut c) = (block::zeros(columns), block::zeros(columns));
    ideal::pair([1; 32]).1.extend(&mut a, &mut c, channel).unwrap();
    for masked in a.chunks(MASKED_BLOCKS) {
        channel.send(MASKED, block::as_bytes(masked).to_vec()).unwrap();
    }
}

/// A message that comes before its time is refused, and not kept until it is due.
#[test]
fn what_comes_early_is_refused() {
    type Messages<'a> = &'a [(Label, usize)];
    let blamed = |victim: &(dyn Fn(&mut Channel) -> Result<()> + Sync), early: Messages<'_>, its: Messages<'_>| {
        let (outcome, ()) = against(victim, |channel| {
            early.iter().for_each(|(label, length)| channel.send(*label, vec![0; *length]).unwrap());
            its.iter().for_each(|(label, length)| drop(channel.receive(*label, *length).unwrap()));
            assert!(says_no_more(channel));
        });
        assert!(outcome.is_err_and(|error| blames(&error)), "{early:?}");
    };
    let store = (MASKED, 16 * sizes(&params()).columns());
    let (commitment, seed, coin, tags) = ((COMMITMENT, 32), (SEED, 32), (COIN, 16), (ENTRIES, 16 * ITEMS));
    let receiver = |channel: &mut Channel| receive(&session(), 1, channel).map(drop);
    blamed(&receiver, &[(OPENING, 32)], &[]);
    blamed(&receiver, &[commitment, tags], &[seed, store, coin]);
    blamed(&receiver, &[commitment, commitment], &[seed, store, coin]);
    blamed(&sender, &[store], &[commitment]);
    blamed(&sender, &[coin], &[commitment]);
    blamed(&sender, &[seed, coin], &[commitment]);
    blamed(&sender, &[seed, seed], &[commitment]);
}

/// Two runs at once with one adversary as their sender, which takes from one what it gives in the other. Both receivers
/// have the same items. What they find: with what belongs to their own runs, with the other's tags, with the other's
/// coin.
fn crossed(sessions: [Session; 2], seeds: [u8; 2]) -> [[Result<Vec<usize>>; 2]; 3] {
    let run = |cross_tags: bool, cross_coins: bool| {
        let ends = [0, 1].map(|_| Channel::pair("victim", "adversary"));
        let [(one, to_one), (other, to_other)] = ends;
        std::thread::scope(|scope| {
            let victims = [(one, 0), (other, 1)].map(|(mut channel, index)| {
                let session = sessions[index].clone();
                scope.spawn(move || {
                    let outcome = receive(&session, seeds[index], &mut channel);
                    if let Err(error) = &outcome {
                        channel.abort(error);
                    }
                    outcome
                })
            });
            let mut channels = [to_one, to_other];
            let keys = both(&sessions, seeds, &mut channels, cross_coins);
            for (index, mut channel) in channels.into_iter().enumerate() {
                let key = &keys[if cross_tags { 1 - index } else { index }];
                // Who has been refused is gone.
                let _ = send_entries(&key.tags(&items(0..ITEMS)), &params(), &mut channel);
                let _ = channel.finish();
            }
            victims.map(|victim| victim.join().unwrap())
        })
    };
    [run(false, false), run(true, false), run(false, true)]
}

/// Two runs of the sender's program, step by step.
fn both(sessions: &[Session; 2], seeds: [u8; 2], channels: &mut [Channel; 2], cross_coins: bool) -> Vec<Key> {
    let openings = if cross_coins { [[0x11; 32], [0x22; 32]] } else { [[0x11; 32]; 2] };
    let mut keys = Vec::new();
    for index in 0..2 {
        let (channel, session) = (&mut channels[index], &sessions[index]);
        channel.send(COMMITMENT, commitment(session, &openings[index])).unwrap();
        let seed = channel.receive(SEED, 32).unwrap();
        let mut dealer = ideal::pair([seeds[index]; 32]).0;
        let mut store = block::zeros(sizes(&params()).columns());
        VoleSender::extend(&mut dealer, &mut store, channel).unwrap();
        let delta = VoleSender::delta(&dealer);
        let masked = block::from_bytes(&channel.receive(MASKED, 16 * store.len()).unwrap()).unwrap();
        store.iter_mut().zip(masked).for_each(|(store, masked)| *store ^= delta * masked);
        keys.push(Key { session: session.clone(), params: params(), seed, store, delta, coin: Block::ZERO });
    }
    for index in 0..2 {
        let opening = openings[if cross_coins { 1 - index } else { index }];
        let theirs = Block::from_le_slice(&channels[index].receive(COIN, 16).unwrap());
        let _ = channels[index].send(OPENING, opening.to_vec());
        keys[index].coin = theirs ^ Block::from_le_slice(&opening);
    }
    keys
}

/// Checks that the values of one run are worth nothing in another that goes on at the same time. Runs that share a
/// session and their random numbers are one: then tags of one are found in the other.
#[test]
fn runs_at_the_same_time_have_nothing_in_common() {
    let all: Vec<usize> = (0..ITEMS).collect();
    let weak = crossed([session(), session()], [1, 1]);
    let found = |outcomes: &[Result<Vec<usize>>; 2], expected: &[usize]| {
        outcomes.iter().all(|outcome| outcome.as_ref().is_ok_and(|found| found == expected))
    };
    assert!(found(&weak[0], &all) && found(&weak[1], &all));
    let apart = crossed([session().child("run", 0), session().child("run", 1)], [1, 2]);
    assert!(found(&apart[0], &all) && found(&apart[1], &[]));
    for outcomes in [&weak[2], &apart[2]] {
        assert!(outcomes.iter().all(|outcome| outcome.as_ref().is_err_and(blames)));
    }
}
