//! Tests of what parties of `rules` tell each other besides counts: names of items, and the way in which products are
//! made.

use std::sync::Arc;

use crate::support;
use crate::support::attack::run_all;
use crate::support::two::{self, Repeated, Two};
use tacita_core::channel::MAX_PAYLOAD_BYTES;
use tacita_core::protocol::rules::names::{MAX_NAME_BYTES, exchange};
use tacita_core::protocol::rules::{LENGTHS, NAMES, WAY, Way};
use tacita_core::{Channel, Error, Result};

/// Runs a party against a peer that does this, and returns how the party ends.
fn against<T>(peer: impl FnOnce(&mut Channel) -> Result<()> + Send, own: impl FnOnce(&mut Channel) -> T) -> T {
    let (mut here, mut there) = Channel::pair("there", "here");
    std::thread::scope(|scope| {
        let peer = scope.spawn(move || drop(peer(&mut there)));
        let got = own(&mut here);
        drop(here);
        peer.join().unwrap();
        got
    })
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| format!("{prefix} {n}")).collect()
}

#[test]
fn names_survive_the_wire_and_garbage_is_refused() {
    for (own, theirs) in [(0, 0), (3, 0), (0, 2), (600_000, 2), (5, 200_000)] {
        let (own, theirs) = (names("milk", own), names("é", theirs));
        let sent = theirs.clone();
        let due = own.len();
        let peer = move |channel: &mut Channel| exchange(&sent, due, channel).map(drop);
        let got = against(peer, |channel| exchange(&own, theirs.len(), channel));
        assert_eq!(got.unwrap(), theirs);
    }
    let garbage = [
        (vec![3, 0, 3], b"".to_vec()),
        (vec![3, 0, 0, 0], b"tea".to_vec()),
        (vec![3, 0, 1, 4], b"tea".to_vec()),
        (vec![3, 0, 3, 0], b"tearu".to_vec()),
        (vec![3, 0, 3, 0], b"teatea".to_vec()),
        (vec![3, 0, 3, 0], b"teaa|b".to_vec()),
        (vec![3, 0, 3, 0], b"tea\x1b[m".to_vec()),
        (vec![3, 0, 3, 0], b"tea\xff\xfe\xfd".to_vec()),
        (vec![3, 0, 3, 0], b"tearumx".to_vec()),
        (vec![3, 0, 4, 0], b"tea tea".to_vec()),
        (vec![3, 0, 4, 0], "tearm\u{a0}".into()),
        (vec![3, 0, 6, 0], "tea\u{202e}mur".into()),
        (vec![3, 0, 5, 0], "teaab\u{200f}".into()),
    ];
    for (lengths, bytes) in garbage {
        let shown = format!("{lengths:?} {bytes:?}");
        let peer = move |channel: &mut Channel| {
            channel.exchange(LENGTHS, lengths, 8)?;
            channel.exchange(NAMES, bytes, 100).map(drop)
        };
        let refused = against(peer, |channel| exchange(&names("x", 2), 2, channel));
        assert!(matches!(refused, Err(Error::Protocol { .. })), "{shown}: {refused:?}");
    }
}

/// Parties that tell a way, and names in several messages each.
fn parties() -> Arc<Two> {
    // About as long as names can be: three messages of each end.
    const COUNT: usize = 5 * MAX_PAYLOAD_BYTES / 2 / 1000;
    let way = Way { encrypted: true, split: false };
    let first: Repeated = Box::new(move |channel| {
        way.send(channel)?;
        exchange(&names(&"milk".repeat(250), COUNT), COUNT, channel).map(drop)
    });
    let second: Repeated = Box::new(move |channel| {
        Way::receive(|way| way.encrypted, channel)?;
        exchange(&names(&"é".repeat(500), COUNT), COUNT, channel).map(drop)
    });
    Arc::new(Two { name: "names".into(), first, second })
}

/// The frames of both in an honest run.
fn frames(case: &Two) -> [Vec<support::Frame>; 2] {
    two::record(&case.first, &case.second).0
}

#[test]
fn messages_in_wrong_forms() {
    let case = parties();
    let attacks = two::wrong_forms(&case, &frames(&case), None);
    assert!(attacks.len() > 50);
    run_all(attacks);
}

#[test]
fn names_that_cannot_be() {
    let case = parties();
    let frames = frames(&case);
    let mut attacks = Vec::new();
    for (culprit, frames) in frames.iter().enumerate() {
        let at = |label: u8| frames.iter().position(|frame| frame.label == label).unwrap();
        let (lengths, names) = (at(LENGTHS.code), at(NAMES.code));
        let length = |length: u16| move |payload: &mut Vec<u8>| payload[..2].copy_from_slice(&length.to_le_bytes());
        for wrong in [0, MAX_NAME_BYTES as u16 + 1, u16::MAX] {
            attacks.push(two::on_payload(&case, "length that no name has", culprit, lengths, length(wrong)));
        }
        // One byte more or less than all names have.
        let own = u16::from_le_bytes([frames[lengths].payload[0], frames[lengths].payload[1]]);
        for wrong in [own - 1, own + 1] {
            attacks.push(two::on_payload(&case, "length of another name", culprit, lengths, length(wrong)));
        }
        // Its own first name, twice.
        let (own, next) =
            (usize::from(own), u16::from_le_bytes([frames[lengths].payload[2], frames[lengths].payload[3]]));
        assert_eq!(own, usize::from(next));
        let again = move |payload: &mut Vec<u8>| payload.copy_within(..own, own);
        attacks.push(two::on_payload(&case, "name that is there twice", culprit, names, again));
        for byte in [b'|', 0, 0x1b, 0x7f, 0xff, b' '] {
            let change = move |payload: &mut Vec<u8>| payload[0] = byte;
            attacks.push(two::on_payload(&case, "name that none can be", culprit, names, change));
        }
        let garbage = |payload: &mut Vec<u8>| payload.iter_mut().zip(0u8..=255).for_each(|(byte, n)| *byte = n ^ 0x9d);
        attacks.push(two::on_payload(&case, "garbage", culprit, names, garbage));
    }
    run_all(attacks);
}

#[test]
fn ways_that_were_not_agreed_on() {
    for (encrypted, split) in [(false, false), (true, false), (false, true), (true, true)] {
        let way = Way { encrypted, split };
        let got = |possible: bool| against(|channel| way.send(channel), |channel| Way::receive(|_| possible, channel));
        assert_eq!(got(true), Ok(way));
        assert!(matches!(got(false), Err(Error::Protocol { .. })));
    }
    let told = |payload: Vec<u8>| {
        let asked = |_: &Way| true;
        against(move |channel| channel.send(WAY, payload), move |channel| Way::receive(asked, channel))
    };
    for payload in (4..=255).map(|code| vec![code]).chain([vec![], vec![0, 0], vec![1; 1000]]) {
        let refused = told(payload.clone());
        assert!(matches!(refused, Err(Error::Protocol { .. })), "{payload:?}: {refused:?}");
    }
}
