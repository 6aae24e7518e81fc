//! A peer that breaks the protocol at every message, in either role: the victim must end with the right error, and
//! neither side may panic, hang or report a wrong result as a good one.

use std::sync::Arc;

use super::{receive, send};
use crate::support::attack::{no_points, run_all, says, sent};
use crate::support::two::{Repeated, Two, on_payload, run_over, wrong_forms};
use crate::support::{Frame, items, recorded, rng, session};
use tacita_core::channel::{Channel, Incoming};
use tacita_core::primitive::oprf::{OprfKey, Suite};
use tacita_core::primitive::ot::Choices;
use tacita_core::protocol::union::{ELEMENTS, Params, TAGS, transfer};

const MINE: usize = 40;

fn case() -> Arc<Two> {
    let params = Params { chunk: 16, ..Params::new(MINE, 30, 20) };
    let first: Repeated = Box::new(move |channel| receive(&items(0..MINE), &params, channel, 1).map(drop));
    let second: Repeated = Box::new(move |channel| send(&items(20..50), &params, channel, 2));
    Arc::new(Two { name: format!("{params:?}"), first, second })
}

#[test]
fn every_message_in_a_wrong_form() {
    let case = case();
    let frames = recorded(|receiver, sender| {
        let (received, sent) = run_over((receiver, sender), &*case.first, &*case.second);
        received.unwrap();
        sent.unwrap();
    });
    let attacks = wrong_forms(&case, &[frames.receiver, frames.sender], None);
    assert!(attacks.len() > 100, "only {} attacks", attacks.len());
    run_all(attacks);
}

#[test]
fn elements_that_are_none() {
    let attacks = no_points(&sent(case()), &[ELEMENTS]);
    assert!(attacks.len() >= 40, "only {} attacks", attacks.len());
    run_all(attacks);
}

/// Tags that are not in order would be compared wrongly: within a message, and from one to the next.
#[test]
fn tags_out_of_order() {
    let case = case();
    let frames: Vec<Frame> = recorded(|receiver, sender| {
        let (received, sent) = run_over((receiver, sender), &*case.first, &*case.second);
        received.unwrap();
        sent.unwrap();
    })
    .sender;
    let of_tags: Vec<usize> = (0..frames.len()).filter(|&frame| frames[frame].label == TAGS.code).collect();
    assert_eq!(of_tags.len(), 3);
    let mut attacks = Vec::new();
    for &frame in &of_tags {
        let mut swapped = on_payload(&case, "two tags swapped", 1, frame, |payload| {
            let bytes = Params::new(MINE, 30, 20).tag_bytes;
            let (first, rest) = payload.split_at_mut(bytes);
            first.swap_with_slice(&mut rest[..bytes]);
        });
        swapped.expected = |error| says(error, "not in order");
        attacks.push(swapped);
    }
    let mut early = on_payload(&case, "smaller than the last message's", 1, of_tags[1], |payload| payload.fill(0));
    early.expected = |error| says(error, "not in order");
    attacks.push(early);
    run_all(attacks);
}

/// The promise is for parties that follow the protocol. This is what the documentation says of a receiver that does
/// not: it gets all that the sender has, by choosing as if it lacked everything.
#[test]
fn a_receiver_that_cheats_gets_everything() {
    let params = Params::new(5, 5, 12);
    let all = items(0..5);
    let cheating = |channel: &mut Channel| {
        let rng = &mut rng(1);
        let elements = OprfKey::random(Suite::Ristretto255, rng).elements(&all)?;
        let receive = |incoming: &mut Incoming| incoming.receive(ELEMENTS, 5 * 32);
        channel.duplex_of(ELEMENTS, |outgoing| outgoing.send(ELEMENTS, elements), receive)?;
        channel.receive(TAGS, 5 * params.tag_bytes)?;
        let mut received = Vec::new();
        let mut take = |payload: &[u8]| {
            received.push(payload.to_vec());
            Ok(())
        };
        transfer::receive(&Choices::zeros(5), 12, &session(), channel, rng, &mut take)?;
        Ok((received, 0))
    };
    let second = |channel: &mut Channel| send(&all, &params, channel, 2).map(|()| (Vec::new(), 0));
    let (received, sent) = run_over(Channel::pair("receiver", "sender"), &cheating, &second);
    sent.unwrap();
    assert_eq!(received.unwrap().0.0.len(), 5);
}
