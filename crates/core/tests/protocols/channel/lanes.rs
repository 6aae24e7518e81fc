//! Lanes of a channel: several conversations at once, with peers that keep to them and peers that do not.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::two::{self, Ended};
use crate::support::*;
use tacita_core::channel::{HEADER_BYTES, Label, MAX_LANES, MAX_PAYLOAD_BYTES};
use tacita_core::{Channel, Error, ErrorKind, Result};

const ONE: Label = Label::new(1, "one");
const OTHER: Label = Label::new(2, "other");

/// More than anybody sends here.
const AMPLE: u64 = 1 << 30;

/// Message `index` of a lane: of another length each.
fn message(lane: usize, index: usize) -> Vec<u8> {
    vec![(lane + 3 * index) as u8; (index * 37 + lane) % 200]
}

/// Each lane sends `count` messages and then reads as many.
fn talk(channel: &mut Channel, lanes: usize, count: usize) -> Result<usize> {
    let talked = channel.lanes((0..lanes).collect(), AMPLE, |lane, channel| {
        (0..count).try_for_each(|index| channel.send(ONE, message(lane, index)))?;
        for index in 0..count {
            let expected = message(lane, index);
            assert_eq!(channel.receive(ONE, expected.len())?, expected);
        }
        Ok(lane)
    })?;
    assert!(talked.into_iter().eq(0..lanes));
    Ok(count)
}

/// Checks that nobody waits if both send far more than fits a queue before they read anything.
#[test]
fn nobody_waits_for_lanes_that_do_not_read() {
    for lanes in [1, 2, 5, MAX_LANES] {
        let (one, other) = two::run(&|channel| talk(channel, lanes, 100), &|channel| talk(channel, lanes, 100));
        let ((_, traffic), (_, theirs)) = (one.unwrap(), other.unwrap());
        let payloads: usize = (0..lanes).flat_map(|lane| (0..100).map(move |index| message(lane, index).len())).sum();
        // Each lane ends, and the job.
        let bytes = (payloads + (101 * lanes + 1) * HEADER_BYTES) as u64;
        assert_eq!([traffic.sent, traffic.received, theirs.sent, theirs.received], [bytes; 4]);
        // A lane's messages begin in both directions, once each.
        assert_eq!((traffic.rounds, theirs.rounds), (2, 2));
        let (one, other) =
            two::run_over(tapped(passing(), passing()), &|channel| talk(channel, lanes, 100), &|channel| {
                talk(channel, lanes, 100)
            });
        assert_eq!((one.unwrap().1.sent, other.unwrap().1.sent), (bytes, bytes));
    }
}

#[test]
fn a_channel_goes_on_after_its_lanes() {
    let role = |channel: &mut Channel| {
        for label in [ONE, OTHER] {
            talk(channel, 3, 10)?;
            let answer = channel.exchange(label, vec![7; 9], 9)?;
            assert_eq!(answer, [7; 9]);
        }
        Ok(())
    };
    let (one, other) = two::run(&role, &role);
    assert_eq!(one.unwrap().1.rounds, 6);
    other.unwrap();
}

/// The longest message, in both directions and on all lanes at once.
#[test]
fn a_lane_takes_what_a_channel_takes() {
    let role = |channel: &mut Channel| {
        channel.lanes(vec![(); 3], AMPLE, |(), channel| {
            channel.duplex(
                |outgoing| (0..8).try_for_each(|_| outgoing.send(ONE, vec![1; MAX_PAYLOAD_BYTES])),
                |incoming| (0..8).try_for_each(|_| incoming.receive(ONE, MAX_PAYLOAD_BYTES).map(drop)),
            )
        })
    };
    let (one, other) = two::run_over(tapped(passing(), passing()), &role, &role);
    assert_eq!((one.unwrap().0.len(), other.unwrap().0.len()), (3, 3));
}

/// The error of one lane ends all of them, at both ends.
#[test]
fn one_lane_ends_all() {
    let errors = [Error::Input("full".into()), Error::Interrupted, Error::NotReady("later".into())];
    for error in errors {
        for tap in [false, true] {
            let fails = |channel: &mut Channel| {
                channel.lanes((0..4).collect(), AMPLE, |lane: usize, channel| match lane {
                    2 => Err(error.clone()),
                    _ => channel.receive(ONE, 5).map(drop),
                })
            };
            let waits = |channel: &mut Channel| {
                channel.lanes(vec![(); 4], AMPLE, |(), channel| channel.receive(ONE, 5).map(drop))
            };
            let ends = if tap { tapped(passing(), passing()) } else { Channel::pair("first", "second") };
            let (one, other) = two::run_over(ends, &fails, &waits);
            assert_eq!(one.unwrap_err(), error);
            assert!(matches!(other.unwrap_err(), Error::Peer { kind, .. } if kind == error.kind()));
        }
    }
}

#[test]
fn an_interrupt_reaches_lanes_that_wait() {
    let interrupted = |channel: &mut Channel| {
        let handle = channel.handle();
        channel.lanes((0..3).collect(), AMPLE, move |lane: usize, channel| {
            if lane == 1 {
                handle.interrupt(Error::Interrupted);
            }
            channel.receive(ONE, 5).map(drop)
        })
    };
    let waits =
        |channel: &mut Channel| channel.lanes(vec![(); 3], AMPLE, |(), channel| channel.receive(ONE, 5).map(drop));
    let (one, other) = two::run(&interrupted, &waits);
    assert_eq!(one.unwrap_err(), Error::Interrupted);
    assert!(matches!(other.unwrap_err(), Error::Peer { kind: ErrorKind::Interrupted, .. }));
}

#[test]
fn a_panic_of_a_lane_does_not_leave_others_waiting() {
    let ended = std::thread::scope(|scope| {
        let (mut one, mut other) = Channel::pair("first", "second");
        let panics = scope.spawn(move || {
            one.lanes((0..2).collect(), AMPLE, |lane: usize, channel| {
                assert_eq!(lane, 0, "as this test wants it");
                channel.receive(ONE, 5).map(drop)
            })
        });
        let waits = other.lanes(vec![(); 2], AMPLE, |(), channel| channel.receive(ONE, 5).map(drop));
        assert!(panics.join().is_err());
        waits
    });
    assert!(matches!(ended.unwrap_err(), Error::Peer { kind: ErrorKind::Internal, .. }));
}

/// A victim with two lanes, each of which reads two messages of 5 bytes, and a peer that sends them unless a tap or it
/// itself changes something.
fn victim(channel: &mut Channel) -> Result<Vec<()>> {
    channel.lanes(vec![(); 2], AMPLE, |(), channel| (0..2).try_for_each(|_| channel.receive(ONE, 5).map(drop)))
}

fn peer(channel: &mut Channel) -> Result<Vec<()>> {
    channel.lanes(vec![(); 2], AMPLE, |(), channel| (0..2).try_for_each(|_| channel.send(ONE, vec![1; 5])))
}

/// The victim's end when `tap` changes what the peer sends.
fn attacked(tap: impl Fn(usize, Frame) -> Option<Vec<Frame>> + Send + Sync + 'static) -> Ended<Vec<()>> {
    let number = AtomicUsize::new(0);
    let tap: Arc<Tap> = Arc::new(move |frame| tap(number.fetch_add(1, Ordering::SeqCst), frame));
    two::run_over(tapped(passing(), tap), &victim, &peer).0
}

#[test]
fn frames_that_are_not_of_an_open_lane_are_refused() {
    let data = |lane: u8| Frame { kind: 0x10 + lane, label: ONE.code, payload: vec![1; 5] };
    let close = |lane: u8| Frame { kind: 0x20 + lane, label: 0, payload: Vec::new() };
    attacked(|_, frame| Some(vec![frame])).unwrap();
    let mut frames = vec![data(2), data(15), close(2), close(15), Frame::close()];
    // Of no lane.
    frames.push(Frame { kind: Frame::DATA, ..data(0) });
    // Of no kind, or with a payload where there is none.
    frames.extend([0x04, 0x0f, 0x30, 0x1f + 0x11, 0xff].map(|kind| Frame { kind, ..close(0) }));
    frames.push(Frame { payload: vec![1], ..close(1) });
    for wrong in frames {
        // In place of each of the peer's frames: four messages and two ends.
        for place in 0..6 {
            let sent = wrong.clone();
            let ended = attacked(move |number, frame| Some(vec![if number == place { sent.clone() } else { frame }]));
            assert!(blames(&ended.clone().unwrap_err()), "{wrong:?} at {place}: {ended:?}");
        }
    }
    // One message too many before the lane's end, and after it.
    for place in 0..6 {
        let ended =
            attacked(move |number, frame| Some(if number == place { vec![frame.clone(), frame] } else { vec![frame] }));
        assert!(blames(&ended.unwrap_err()), "frame {place} twice");
    }
    // The peer is cut off.
    for place in 0..6 {
        let ended = attacked(move |number, frame| (number < place).then(|| vec![frame]));
        assert!(matches!(ended.unwrap_err(), Error::Network { .. }), "cut at {place}");
    }
}

#[test]
fn a_message_of_a_lane_is_none_of_the_channel() {
    let listens = |channel: &mut Channel| channel.receive(ONE, 5);
    let (one, _) = two::run(&listens, &|channel| peer(channel).map(|_| Vec::new()));
    assert!(blames(&one.unwrap_err()));
}

/// Checks that a peer which sends more than an honest one can have sent by then is stopped, whether the lane is busy or
/// dead.
#[test]
fn what_waits_unread_is_bounded() {
    // Short messages count as 128 bytes.
    for (length, messages, room) in [(0, 11, 1408), (90, 2, 256), (118, 2, 256), (200, 3, 630)] {
        let floods = |channel: &mut Channel| {
            channel.lanes(vec![()], AMPLE, |(), channel| {
                (0..messages).try_for_each(|_| channel.send(ONE, vec![0; length]))?;
                channel.receive(OTHER, 1).map(drop)
            })
        };
        for (ahead, stopped) in [(room - 1, true), (room, false)] {
            let busy = |channel: &mut Channel| {
                let handle = channel.handle();
                channel.lanes(vec![()], ahead, |(), channel| {
                    // Reads nothing before it is stopped, or all has come.
                    let all = (messages * (length + HEADER_BYTES)) as u64;
                    while handle.failure().is_none() && handle.traffic().received < all {
                        std::thread::yield_now();
                    }
                    (0..messages).try_for_each(|_| channel.receive(ONE, length).map(drop))?;
                    channel.send(OTHER, vec![0])
                })
            };
            let (one, _) = two::run(&busy, &floods);
            if stopped { assert!(blames(&one.unwrap_err())) } else { drop(one.unwrap()) }
        }
    }
}

/// A party that is busy for longer than its patience with the peer has nobody to blame.
#[test]
fn patience_is_for_messages_that_are_due() {
    let patience = Duration::from_millis(20);
    let busy = |channel: &mut Channel| {
        channel.set_patience(patience);
        let handle = channel.handle();
        channel.lanes(vec![()], AMPLE, |(), channel| {
            // All that the peer has to say: the message and the end of the lane.
            while handle.traffic().received < 2 * HEADER_BYTES as u64 + 5 {
                std::thread::yield_now();
            }
            std::thread::sleep(5 * patience);
            channel.receive(ONE, 5).map(drop)
        })
    };
    let (one, other) = two::run(
        &|channel| {
            busy(channel)?;
            channel.set_patience(Duration::from_secs(60));
            Ok(())
        },
        &|channel| channel.lanes(vec![()], AMPLE, |(), channel| channel.send(ONE, vec![1; 5])).map(drop),
    );
    one.unwrap();
    other.unwrap();
    let waits = |channel: &mut Channel| {
        channel.set_patience(patience);
        channel.lanes(vec![(); 2], AMPLE, |(), channel| channel.receive(ONE, 5).map(drop))
    };
    let (one, other) = two::run(&waits, &|channel| channel.receive(ONE, 5).map(|_| Vec::new()));
    assert!(matches!(one.unwrap_err(), Error::Network { what, .. } if what.contains("sent nothing")));
    other.unwrap_err();
}

#[test]
fn there_are_one_to_sixteen_lanes() {
    for count in [0, MAX_LANES + 1] {
        let (mut one, _other) = Channel::pair("first", "second");
        assert!(matches!(one.lanes(vec![(); count], AMPLE, |(), _| Ok(())), Err(Error::Internal(_))));
    }
}
