//! The channel in memory and over sockets: what arrives, what is counted, and who is told what when it ends.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tacita_core::channel::{Channel, HEADER_BYTES, Label, MAX_PAYLOAD_BYTES};
use tacita_core::{Error, ErrorKind};

const ITEMS: Label = Label::new(1, "items");
const ANSWER: Label = Label::new(2, "answer");

const HEARTBEAT: Duration = Duration::from_millis(50);
const SILENCE: Duration = Duration::from_millis(400);

/// Whatever ends a channel must do so within this.
const BOUND: Duration = Duration::from_secs(5);

fn over(peer: &str, socket: UnixStream) -> Channel {
    socket.set_read_timeout(Some(SILENCE)).unwrap();
    Channel::over_socket(peer, socket, HEARTBEAT, UnixStream::shutdown)
}

fn sockets() -> (Channel, Channel) {
    let (a, b) = UnixStream::pair().unwrap();
    (over("bob", a), over("alice", b))
}

/// A channel whose peer the test plays byte by byte.
fn raw() -> (Channel, UnixStream) {
    let (a, b) = UnixStream::pair().unwrap();
    b.set_read_timeout(Some(BOUND)).unwrap();
    (over("bob", a), b)
}

fn frame(sequence: u32, kind: u8, label: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes().to_vec();
    bytes.extend(sequence.to_le_bytes());
    bytes.extend([kind, label]);
    bytes.extend(payload);
    bytes
}

/// The kind of the abort that the raw peer is sent, if it is sent one before the end.
fn abort_told(peer: &mut UnixStream) -> Option<ErrorKind> {
    let mut bytes = Vec::new();
    peer.read_to_end(&mut bytes).unwrap();
    let mut rest = &bytes[..];
    while rest.len() >= HEADER_BYTES {
        if rest[8] == 2 {
            return ErrorKind::from_code(rest[9]);
        }
        rest = &rest[HEADER_BYTES + u32::from_le_bytes(rest[..4].try_into().unwrap()) as usize..];
    }
    None
}

fn soon<T>(what: &str, act: impl FnOnce() -> T) -> T {
    let start = Instant::now();
    let result = act();
    assert!(start.elapsed() < BOUND, "{what} took {:?}", start.elapsed());
    result
}

fn chunk(index: usize) -> Vec<u8> {
    (0..100_000 + index).map(|i| (i * 31 + index) as u8).collect()
}

#[test]
fn messages_arrive_in_order_and_are_counted_alike() {
    for (mut alice, mut bob) in [Channel::pair("alice", "bob"), sockets()] {
        assert_eq!((alice.peer(), bob.peer()), ("bob", "alice"));
        let (a, b) = std::thread::scope(|scope| {
            let other = scope.spawn(move || {
                for i in 0..20 {
                    assert_eq!(bob.receive(ITEMS, chunk(i).len()).unwrap(), chunk(i));
                }
                // Heartbeats travel meanwhile, and are not counted.
                std::thread::sleep(3 * HEARTBEAT);
                bob.send(ANSWER, vec![]).unwrap();
                bob.finish().unwrap()
            });
            for i in 0..20 {
                alice.send(ITEMS, chunk(i)).unwrap();
            }
            assert_eq!(alice.receive_up_to(ANSWER, 10).unwrap(), b"");
            (alice.finish().unwrap(), other.join().unwrap())
        });
        let bytes: usize = (0..20).map(|i| HEADER_BYTES + chunk(i).len()).sum();
        // Each side's last frame ends the job.
        assert_eq!((a.sent, a.received), ((bytes + HEADER_BYTES) as u64, 2 * HEADER_BYTES as u64));
        assert_eq!((b.sent, b.received), (a.received, a.sent));
        assert_eq!((a.rounds, b.rounds), (2, 2));
    }
}

#[test]
fn both_ways_at_once_does_not_deadlock() {
    const CHUNKS: usize = 60;
    for (alice, bob) in [Channel::pair("alice", "bob"), sockets()] {
        let side = |mut channel: Channel, mine: Label, theirs: Label| {
            channel
                .duplex(
                    |out| (0..CHUNKS).try_for_each(|i| out.send(mine, vec![i as u8; MAX_PAYLOAD_BYTES])),
                    |inc| {
                        (0..CHUNKS).try_for_each(|i| {
                            let payload = inc.receive(theirs, MAX_PAYLOAD_BYTES)?;
                            assert!(payload.iter().all(|&byte| byte == i as u8));
                            Ok(())
                        })
                    },
                )
                .unwrap();
            channel.finish().unwrap()
        };
        let (a, b) = soon("duplex", || {
            std::thread::scope(|scope| {
                let other = scope.spawn(|| side(bob, ANSWER, ITEMS));
                (side(alice, ITEMS, ANSWER), other.join().unwrap())
            })
        });
        assert_eq!((a.sent, a.received), (b.received, b.sent));
        assert_eq!(a.sent, (CHUNKS * (HEADER_BYTES + MAX_PAYLOAD_BYTES) + HEADER_BYTES) as u64);
    }
}

#[test]
fn every_kind_of_abort_arrives() {
    let errors = [
        Error::Input(String::new()),
        Error::Terms(String::new()),
        Error::Protocol { peer: "bob".into(), check: String::new() },
        Error::Authentication { peer: "bob".into(), what: String::new() },
        Error::NotReady(String::new()),
        Error::Interrupted,
        Error::Internal(String::new()),
    ];
    for error in errors {
        for (alice, mut bob) in [Channel::pair("alice", "bob"), sockets()] {
            let told = Error::Peer { peer: "alice".into(), kind: error.kind() };
            soon("abort", || alice.abort(&error));
            assert_eq!(bob.receive(ITEMS, 1), Err(told.clone()));
            assert_eq!(bob.send(ITEMS, vec![]), Err(told.clone()));
            assert_eq!(bob.finish(), Err(told));
        }
    }
}

/// Fills everything between the two: the queues, the buffers, the socket.
fn fill(channel: Channel) -> std::thread::JoinHandle<Error> {
    std::thread::spawn(move || {
        let mut channel = channel;
        loop {
            if let Err(error) = channel.send(ITEMS, vec![0; MAX_PAYLOAD_BYTES]) {
                return error;
            }
        }
    })
}

#[test]
fn an_abort_reaches_a_peer_that_is_blocked_in_sending() {
    for (alice, bob) in [Channel::pair("alice", "bob"), sockets()] {
        let blocked = fill(bob);
        std::thread::sleep(Duration::from_millis(150));
        assert!(!blocked.is_finished());
        let error = soon("abort", || {
            alice.abort(&Error::Terms("other terms".into()));
            blocked.join().unwrap()
        });
        assert_eq!(error, Error::Peer { peer: "alice".into(), kind: ErrorKind::Terms });
    }
}

/// Checks an abort when both are blocked. Both send before they receive, more than fits in between: a deadlock by a
/// protocol's own mistake. One is interrupted. Because it goes on reading, the other gets to the point at which it
/// hears of that.
#[test]
fn an_abort_gets_through_when_both_are_blocked_in_sending() {
    let (alice, bob) = sockets();
    let interrupter = alice.handle();
    let side = |mut channel: Channel| {
        std::thread::spawn(move || {
            (0..20).try_for_each(|_| channel.send(ITEMS, vec![0; MAX_PAYLOAD_BYTES]))?;
            (0..20).try_for_each(|_| channel.receive(ITEMS, MAX_PAYLOAD_BYTES).map(drop))
        })
    };
    let (alice, bob) = (side(alice), side(bob));
    std::thread::sleep(Duration::from_millis(150));
    assert!(!alice.is_finished() && !bob.is_finished());
    soon("abort", || {
        interrupter.interrupt(Error::Interrupted);
        assert_eq!(alice.join().unwrap(), Err(Error::Interrupted));
        let told = Error::Peer { peer: "alice".into(), kind: ErrorKind::Interrupted };
        assert_eq!(bob.join().unwrap(), Err(told));
    });
}

/// Checks that differing terms are found in unread messages. Both parties of a handshake say at once what they have.
/// The party that finds a difference first tells, and the other must still find it in what it has not read yet.
#[test]
fn differing_terms_come_after_what_waits_unread() {
    for (mut alice, mut bob) in (0..50).map(|_| sockets()) {
        alice.send(ITEMS, vec![1]).unwrap();
        soon("abort", || alice.abort(&Error::Terms("other terms".into())));
        let told = Error::Peer { peer: "alice".into(), kind: ErrorKind::Terms };
        assert_eq!((bob.receive(ITEMS, 1), bob.receive(ITEMS, 1)), (Ok(vec![1]), Err(told)));
    }
}

#[test]
fn an_abort_comes_before_what_waits_unread() {
    let (mut alice, mut bob) = sockets();
    for _ in 0..2 {
        alice.send(ITEMS, vec![1]).unwrap();
    }
    assert_eq!(bob.receive(ITEMS, 1), Ok(vec![1]));
    soon("abort", || alice.abort(&Error::Input("bad".into())));
    std::thread::sleep(HEARTBEAT);
    assert_eq!(bob.receive(ITEMS, 1), Err(Error::Peer { peer: "alice".into(), kind: ErrorKind::Input }));
}

#[test]
fn an_interrupter_unblocks_both_halves_of_a_phase() {
    for (mut alice, bob) in [Channel::pair("alice", "bob"), sockets()] {
        let interrupter = alice.handle();
        let phase = std::thread::spawn(move || {
            alice
                .duplex(
                    |out| loop {
                        out.send(ITEMS, vec![0; MAX_PAYLOAD_BYTES])?;
                    },
                    |inc| inc.receive(ANSWER, 1),
                )
                .map(|((), _)| ())
        });
        std::thread::sleep(Duration::from_millis(100));
        soon("interrupt", || {
            interrupter.interrupt(Error::Interrupted);
            assert_eq!(phase.join().unwrap(), Err(Error::Interrupted));
        });
        drop(bob);
    }
}

/// Checks, in a job of three, that an event between two of them is told to the third as what it means to that one.
#[test]
fn what_another_party_did_is_told_as_a_lost_connection() {
    let carol = || "carol".to_owned();
    for (error, told) in [
        (Error::Network { peer: carol(), what: "went away".into() }, ErrorKind::Network),
        (Error::Protocol { peer: carol(), check: "a length".into() }, ErrorKind::Network),
        (Error::Authentication { peer: carol(), what: "a key".into() }, ErrorKind::Network),
        (Error::Peer { peer: carol(), kind: ErrorKind::Input }, ErrorKind::Network),
        (Error::Peer { peer: carol(), kind: ErrorKind::Protocol }, ErrorKind::Network),
        (Error::Peer { peer: carol(), kind: ErrorKind::Terms }, ErrorKind::Terms),
        (Error::Terms("other rows".into()), ErrorKind::Terms),
        (Error::Input("bad".into()), ErrorKind::Input),
        (Error::Interrupted, ErrorKind::Interrupted),
    ] {
        for (mut alice, mut bob) in [Channel::pair("alice", "bob"), sockets()] {
            alice.handle().end(&error);
            assert_eq!(alice.receive(ITEMS, 1), Err(error.clone()));
            soon("end", || {
                assert_eq!(bob.receive(ITEMS, 1), Err(Error::Peer { peer: "alice".into(), kind: told }), "{error:?}");
            });
        }
    }
}

/// Checks, in a job of three, a party that has just been connected. It may be told that the job has ended before it has
/// said who is in it.
#[test]
fn what_was_told_before_the_parties_were_known_is_understood_when_they_are() {
    let parties = ["alice", "bob", "carol"];
    let ended = Error::Reported { culprit: "carol".into(), by: "carol".into(), through: None, kind: ErrorKind::Terms };
    for (mut alice, mut bob) in [Channel::pair("alice", "bob"), sockets()] {
        alice.in_company(&parties, 0);
        alice.handle().end(&ended);
        std::thread::sleep(HEARTBEAT);
        bob.in_company(&parties, 1);
        let told =
            Error::Reported { culprit: "carol".into(), by: "alice".into(), through: None, kind: ErrorKind::Terms };
        assert_eq!(soon("end", || bob.receive(ITEMS, 1)), Err(told));
    }
    // What this party has ended itself stays its own doing.
    let (mut alice, mut bob) = sockets();
    alice.in_company(&parties, 0);
    bob.handle().interrupt(Error::Interrupted);
    alice.handle().end(&ended);
    std::thread::sleep(HEARTBEAT);
    bob.in_company(&parties, 1);
    assert_eq!(soon("end", || bob.receive(ITEMS, 1)), Err(Error::Interrupted));
}

/// Checks that hearsay about another party is passed on with the name of the party that has said it first.
#[test]
fn hearsay_travels_with_its_first_speaker() {
    let parties = ["alice", "bob", "carol", "dave"];
    let reported = |through: Option<&str>| Error::Reported {
        culprit: "carol".into(),
        by: "dave".into(),
        through: through.map(str::to_owned),
        kind: ErrorKind::Protocol,
    };
    for (mut alice, mut bob) in [Channel::pair("alice", "bob"), sockets()] {
        alice.in_company(&parties, 0);
        bob.in_company(&parties, 1);
        alice.handle().end(&reported(None));
        assert_eq!(soon("end", || bob.receive(ITEMS, 1)), Err(reported(Some("alice"))));
    }
}

/// A message of any length up to a limit, and none beyond.
#[test]
fn a_message_up_to_a_limit_is_no_longer() {
    for (length, fits) in [(0, true), (3, true), (4, false), (5, false)] {
        let (mut alice, mut bob) = Channel::pair("alice", "bob");
        bob.send(ITEMS, vec![1; length]).unwrap();
        let received = alice.receive_up_to(ITEMS, 3);
        assert_eq!(received.as_ref().ok().map(Vec::len), fits.then_some(length), "{received:?}");
    }
}

/// A peer ends the job in the name of another party, if there is one.
#[test]
fn a_peer_blames_parties_that_there_are() {
    for (places, expected) in [(&[2][..], None), (&[3], Some("none")), (&[1, 3], Some("none"))] {
        let (mut alice, mut peer) = raw();
        alice.in_company(&["alice", "bob", "carol"], 0);
        peer.write_all(&frame(0, 2, ErrorKind::Protocol.code(), places)).unwrap();
        match (soon("end", || alice.receive(ITEMS, 1)), expected) {
            (Err(Error::Reported { culprit, .. }), None) => assert_eq!(culprit, "carol"),
            (Err(Error::Protocol { peer, check }), Some(word)) => {
                assert!(peer == "bob" && check.contains(word), "{check}")
            }
            (ended, _) => panic!("{places:?}: {ended:?}"),
        }
    }
}

#[test]
fn one_failing_half_ends_the_other() {
    let (mut alice, bob) = sockets();
    let failure = Error::Input("no such column".into());
    let result = soon("duplex", || alice.duplex(|_| Err::<(), _>(failure.clone()), |inc| inc.receive(ANSWER, 1)));
    assert_eq!(result, Err(failure));
    let mut bob = bob;
    assert_eq!(bob.receive(ITEMS, 1), Err(Error::Peer { peer: "alice".into(), kind: ErrorKind::Input }));
}

#[test]
fn a_panic_in_one_half_does_not_block_the_other() {
    let (mut alice, _bob) = Channel::pair("alice", "bob");
    let panicked = soon("panic", || {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = alice
                .duplex(
                    |out| loop {
                        out.send(ITEMS, vec![0])?;
                    },
                    |_| -> tacita_core::Result<()> { panic!("a bug") },
                )
                .map(|((), ())| ());
        }))
    });
    assert!(panicked.is_err());
    assert!(matches!(alice.send(ITEMS, vec![]), Err(Error::Internal(_))));
}

#[test]
fn heartbeats_carry_a_long_computation() {
    let (mut alice, mut bob) = sockets();
    let waiting = std::thread::spawn(move || bob.receive(ITEMS, 1).map(|_| bob));
    std::thread::sleep(3 * SILENCE);
    alice.send(ITEMS, vec![1]).unwrap();
    let bob = waiting.join().unwrap().unwrap();
    // The same while one has finished and the other still computes.
    let finishing = std::thread::spawn(move || bob.finish());
    std::thread::sleep(3 * SILENCE);
    alice.finish().unwrap();
    finishing.join().unwrap().unwrap();
}

#[test]
fn a_peer_that_computes_with_full_queues_is_not_silent() {
    let (mut alice, mut bob) = sockets();
    let sending = std::thread::spawn(move || {
        (0..30).try_for_each(|_| alice.send(ITEMS, vec![0; MAX_PAYLOAD_BYTES])).map(|()| alice)
    });
    std::thread::sleep(3 * SILENCE);
    (0..30).for_each(|_| drop(bob.receive(ITEMS, MAX_PAYLOAD_BYTES).unwrap()));
    let alice = sending.join().unwrap().unwrap();
    let finishing = std::thread::spawn(move || bob.finish());
    alice.finish().unwrap();
    finishing.join().unwrap().unwrap();
}

#[test]
fn silence_is_noticed() {
    let (mut alice, peer) = raw();
    let error = soon("silence", || alice.receive(ITEMS, 1).unwrap_err());
    assert!(matches!(&error, Error::Network { peer, what } if peer == "bob" && what.contains("heartbeat")), "{error}");
    drop((alice, peer));
}

#[test]
fn a_dead_peer_is_named_at_once() {
    // In all of a receiver's, a sender's and a finisher's position; dead without a word.
    let positions: [fn(Channel) -> Error; 3] = [
        |mut channel| channel.receive(ITEMS, 1).unwrap_err(),
        |channel| fill(channel).join().unwrap(),
        |channel| channel.finish().unwrap_err(),
    ];
    for position in positions {
        let (alice, mut peer) = raw();
        peer.write_all(&frame(0, 1, 0, &[])).unwrap();
        let dying = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(50));
            drop(peer);
        });
        let start = Instant::now();
        let error = position(alice);
        assert!(start.elapsed() < Duration::from_secs(1), "{:?}", start.elapsed());
        assert!(matches!(&error, Error::Network { peer, .. } if peer == "bob"), "{error:?}");
        dying.join().unwrap();
    }
    let (mut alice, bob) = sockets();
    drop(bob);
    assert!(matches!(alice.receive(ITEMS, 1), Err(Error::Network { .. })));
    // It died between its last frame and ours.
    let (alice, mut peer) = raw();
    peer.write_all(&frame(0, 3, 0, &[])).unwrap();
    drop(peer);
    std::thread::sleep(HEARTBEAT);
    assert!(matches!(alice.finish(), Err(Error::Network { .. })));
}

/// A peer that ends with an abort and closes at once leaves us with a broken pipe: the abort must win.
#[test]
fn the_peers_word_beats_our_broken_pipe() {
    for _ in 0..30 {
        let (alice, mut peer) = raw();
        let blocked = fill(alice);
        // Unread data is what makes a closed connection break ours.
        std::thread::sleep(Duration::from_millis(5));
        peer.write_all(&frame(0, 0, 2, &[5; 3000])).unwrap();
        peer.write_all(&frame(1, 2, ErrorKind::Terms.code(), &[])).unwrap();
        drop(peer);
        let error = soon("abort", || blocked.join().unwrap());
        assert_eq!(error, Error::Peer { peer: "bob".into(), kind: ErrorKind::Terms });
    }
}

#[test]
fn broken_framing_is_a_violation_and_the_peer_is_told() {
    let good = frame(0, 0, 1, b"x");
    let cases: Vec<(Vec<u8>, &str)> = vec![
        (frame(1, 0, 1, b"x"), "frame 1 came where frame 0 was due"),
        ([good.clone(), good.clone()].concat(), "frame 0 came where frame 1 was due"),
        (frame(0, 4, 0, b""), "unknown kind 4"),
        (frame(0, 2, 0, b""), "unknown reason 0"),
        (frame(0, 1, 0, b"x"), "kind 1 claims 1 bytes"),
        (frame(0, 2, 1, b"xyz"), "kind 2 claims 3 bytes"),
        (frame(0, 0, 2, b"x"), "message 2 came where `items` (1) was due"),
        (frame(0, 0, 1, b"xy"), "`items` has 2 bytes instead of 1"),
        (frame(0, 0, 1, b""), "`items` has 0 bytes instead of 1"),
        (frame(0, 3, 0, b""), "the end of the job came where `items` was due"),
        ([frame(0, 3, 0, b""), frame(1, 0, 1, b"x")].concat(), ""),
        // Claims without the bytes.
        ([&u32::MAX.to_le_bytes()[..], &[0; 6]].concat(), "claims 4294967295 bytes"),
        ([&(MAX_PAYLOAD_BYTES as u32 + 1).to_le_bytes()[..], &[0; 6]].concat(), "claims 1048577 bytes"),
    ];
    for (bytes, check) in cases {
        let (mut alice, mut peer) = raw();
        peer.write_all(&bytes).unwrap();
        let error = soon("violation", || {
            loop {
                if let Err(error) = alice.receive(ITEMS, 1) {
                    break error;
                }
            }
        });
        assert!(matches!(&error, Error::Protocol { peer, check: c } if peer == "bob" && c.contains(check)), "{error}");
        let ending = std::thread::spawn(move || drop(alice));
        assert_eq!(abort_told(&mut peer), Some(ErrorKind::Protocol), "{check}");
        drop(peer);
        soon("the end", || ending.join().unwrap());
    }
}

#[test]
fn a_message_after_the_last_is_a_violation() {
    for (mut alice, bob) in [Channel::pair("alice", "bob"), sockets()] {
        alice.send(ITEMS, vec![1]).unwrap();
        let other = std::thread::spawn(move || bob.finish());
        let here = alice.finish();
        let there = other.join().unwrap();
        assert!(matches!(&there, Err(Error::Protocol { check, .. }) if check.contains("message 1 came")), "{there:?}");
        assert!(here.is_ok() || matches!(here, Err(Error::Peer { kind: ErrorKind::Protocol, .. })), "{here:?}");
    }
}

#[test]
fn a_peer_that_does_not_read_cannot_hold_up_the_end() {
    let (alice, peer) = raw();
    let blocked = fill(alice);
    std::thread::sleep(Duration::from_millis(50));
    // Nothing is heard from it either: the sender fails, and the end waits no longer than it promises.
    let error = soon("the end", || blocked.join().unwrap());
    assert!(matches!(error, Error::Network { .. }));
    drop(peer);
}

#[test]
fn what_does_not_fit_a_frame_is_our_bug() {
    let (mut alice, _bob) = Channel::pair("alice", "bob");
    assert!(matches!(alice.send(ITEMS, vec![0; MAX_PAYLOAD_BYTES + 1]), Err(Error::Internal(_))));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Frames of which some are sound, or random bytes: the reader ends in time and without a panic.
    #[test]
    fn garbage_never_panics_or_hangs(
        frames in prop::collection::vec(
            (0u32..4, 0u8..6, 0u8..10, prop::collection::vec(any::<u8>(), 0..40), any::<bool>()), 0..8),
        tail in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let (mut alice, mut peer) = raw();
        for (i, (sequence, kind, label, payload, in_order)) in frames.into_iter().enumerate() {
            let sequence = if in_order { i as u32 } else { sequence };
            // It may have been refused by now.
            let _ = peer.write_all(&frame(sequence, kind, label, &payload));
        }
        let _ = peer.write_all(&tail);
        drop(peer);
        let start = Instant::now();
        for _ in 0..20 {
            if alice.receive_up_to(ITEMS, 20).is_err() {
                break;
            }
        }
        let last = alice.finish();
        let refused = matches!(last, Err(Error::Protocol { .. } | Error::Network { .. } | Error::Peer { .. }));
        prop_assert!(refused, "{:?}", last);
        prop_assert!(start.elapsed() < BOUND);
    }
}
