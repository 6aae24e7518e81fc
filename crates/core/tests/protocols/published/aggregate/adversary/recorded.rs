//! Messages of earlier connections, in other orders, and OTs that nobody draws.

use tacita_core::primitive::group::ScalarField;
use tacita_core::primitive::kernel::block::{self, Block};
use tacita_core::primitive::ot::{BASE_KEY, BASE_POINTS, CONSISTENCY, CORRECTIONS, MESSAGES, TREES};
use tacita_core::protocol::published::aggregate::naor_reingold::{BLINDS, REPORTS, evaluate};
use tacita_core::{Channel, Error, Result};

use super::stage::{Round, round};
use super::{GROUP, INSTANCE, Ot, Participant, Stage, bits, params, receive, rows, send_reports};
use crate::adversary::against;
use crate::adversary::base;
use crate::adversary::extension::{Form, Keys, Receiver, refused};
use crate::aggregate::round::{entry, rng, session};
use crate::support::{Frame, recorded};

/// Inputs that the participant reports: one key of eight bits, twice.
const INPUTS: [u8; 2] = [7, 7];

fn victim() -> Round {
    round(1, 0, true, 1)
}

/// A participant that does what is expected, but for its roots and the secret of its base OTs.
fn report(roots: &[Block], secret: Option<u64>, connection: &str, channel: &mut Channel) -> Result<()> {
    let mut base = base::Sender::new(base::Form::Sound, &session(connection), INSTANCE, 7);
    base.secret = secret.map_or(base.secret, |secret| GROUP.scalar(secret));
    let keys = Keys::of(&params(), Form::Sound, &session(connection), INSTANCE);
    let mut own = Participant { receiver: Receiver::setup(keys, roots, &mut base, channel, |_| ())? };
    let bits = bits(&INPUTS);
    let stage = Stage::new(&mut own, (bits.len(), 2), &rows(&params(), &bits), channel)?;
    let values = evaluate(&GROUP, 1, &stage.blinds, &stage.chosen(&own, &bits));
    send_reports(&mut victim(), &INPUTS.map(|input| entry([input], 0)), values, channel)
}

fn random_roots() -> Vec<Block> {
    block::random(params().trees(), &mut rng(8))
}

/// Returns the entries that a proxy makes of these inputs in a connection, and the frames that the participant has
/// sent.
fn record(connection: &str, seed: u64) -> (Vec<u8>, Vec<Frame>) {
    let mut entries = Vec::new();
    let frames = recorded(|mut own, mut its| {
        std::thread::scope(|scope| {
            let proxy = scope.spawn(move || {
                let entries = receive(&victim(), Ot::Real, connection, INPUTS.len(), seed, &mut its).unwrap();
                its.finish().unwrap();
                entries
            });
            report(&random_roots(), None, connection, &mut own).unwrap();
            own.finish().unwrap();
            entries = proxy.join().unwrap();
        });
    });
    (entries, frames.receiver)
}

/// A proxy that is sent what was recorded, before it is heard.
fn replay(frames: &[(u8, Vec<u8>)], connection: &str, seed: u64) -> Result<Vec<u8>> {
    let labels = [BASE_KEY, TREES, CORRECTIONS, CONSISTENCY, REPORTS];
    let (entries, ()) = against(
        |channel| receive(&victim(), Ot::Real, connection, INPUTS.len(), seed, channel),
        |channel| {
            for (code, payload) in frames {
                let label = labels.into_iter().find(|label| label.code == *code).unwrap();
                // It may have ended the run.
                if channel.send(label, payload.clone()).is_err() {
                    return;
                }
            }
            // Until the run has ended, or the proxy has said all.
            let said = [BASE_POINTS, MESSAGES, BLINDS].into_iter().map(|label| channel.receive_up_to(label, 1 << 20));
            let _ = said.take_while(Result::is_ok).count();
        },
    );
    entries
}

fn payloads(frames: Vec<Frame>) -> Vec<(u8, Vec<u8>)> {
    let known = [BASE_KEY, TREES, CORRECTIONS, CONSISTENCY, REPORTS].map(|label| label.code);
    frames.into_iter().filter(|frame| known.contains(&frame.label)).map(|frame| (frame.label, frame.payload)).collect()
}

/// A proxy that draws the same again in a connection of the same name takes the same again: what was recorded counts
/// twice. One that does either anew refuses it.
#[test]
fn what_was_recorded_is_good_for_no_other_connection() {
    let (entries, frames) = record("one", 2);
    let frames = payloads(frames);
    assert_eq!(frames.len(), 5);
    assert!(replay(&frames, "one", 2).unwrap() == entries, "the same again");
    for (connection, seed) in [("two", 3), ("one", 3), ("two", 2)] {
        assert!(refused(&replay(&frames, connection, seed)), "{connection}, {seed}");
    }
}

/// Checks all orders of the participant's messages, and each of them left out: the proxy ends the run, and waits for
/// nothing.
#[test]
fn messages_in_another_order_end_the_run() {
    let frames = payloads(record("one", 2).1);
    let mut orders: Vec<Vec<usize>> = vec![vec![]];
    for _ in 0..frames.len() {
        let longer = |order: &Vec<usize>| {
            let free = (0..frames.len()).filter(|place| !order.contains(place)).collect::<Vec<_>>();
            free.into_iter().map(|place| [&order[..], &[place]].concat()).collect::<Vec<_>>()
        };
        orders = orders.iter().flat_map(longer).collect();
    }
    let in_order: Vec<usize> = (0..frames.len()).collect();
    let without = in_order.iter().map(|left| in_order.iter().copied().filter(|place| place != left).collect());
    orders.extend(without.collect::<Vec<_>>());
    assert_eq!(orders.len(), 125);
    for order in orders {
        let sent: Vec<_> = order.iter().map(|place| frames[*place].clone()).collect();
        let received = replay(&sent, "one", 2);
        assert_eq!(received.is_ok(), order == in_order, "{order:?}");
        assert!(!matches!(received, Err(Error::Internal(_))), "{order:?}");
    }
}

/// Points that are none are refused, the identity among them. Whatever else a participant draws, be it known to
/// everybody, all the same or of another connection, is its own affair: it has one row, once.
#[test]
fn base_ots_and_trees_that_nobody_draws_give_nothing() {
    let identity = [0; 32];
    let odd = [0xff; 32];
    for key in [identity, odd] {
        let (received, ()) = against(
            |channel| receive(&victim(), Ot::Real, "one", INPUTS.len(), 2, channel),
            |channel| {
                channel.receive_up_to(BASE_POINTS, 1 << 20).unwrap();
                channel.send(BASE_KEY, key.to_vec()).unwrap();
            },
        );
        assert!(refused(&received));
    }
    let alike = vec![Block::ZERO; params().trees()];
    for (roots, secret) in
        [(random_roots(), Some(1)), (alike.clone(), None), (alike, Some(1)), (random_roots(), Some(0))]
    {
        let (received, reported) = against(
            |channel| receive(&victim(), Ot::Real, "one", INPUTS.len(), 2, channel),
            |channel| report(&roots, secret, "one", channel),
        );
        if secret == Some(0) {
            assert!(refused(&received) && reported.is_err(), "the identity");
            continue;
        }
        let rows = victim().rows(&received.unwrap());
        assert!(rows.len() == 1 && rows.values().all(|row| row.len() == 2 && row[0].tag == row[1].tag));
        assert!(reported.is_ok() && rows.keys().eq(victim().rows(&record("two", 9).0).keys()));
    }
}
