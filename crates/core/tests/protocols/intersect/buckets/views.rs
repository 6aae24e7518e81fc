//! Tests of the view of each role in a bucketed run. The number and the lengths of frames follow from what was agreed
//! on. Nothing of one attempt comes again in another. Every check is also run on a deliberately leaky variant, which
//! must fail it.

use std::collections::{BTreeMap, HashSet};
use std::sync::atomic::Ordering;

use crate::support::buckets::*;
use crate::support::views::*;
use crate::support::*;
use tacita_core::channel::{HEADER_BYTES, MIN_ROOM_BYTES};
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::buckets::{BucketProtocol, BucketSource, Params, SHARE, STATE};
use tacita_core::protocol::intersect::ecdh::{self, BLINDED, EVALUATED, TagDomain};
use tacita_core::protocol::intersect::tag_exchange;
use tacita_core::protocol::intersect::vole::{ENTRIES, MASKED, SEED};
use tacita_core::{Channel, Item, Role};

/// Kinds of frames that hold a lane's message.
const LANE_DATA: std::ops::Range<u8> = 0x10..0x20;

/// Labels and lengths of what a party has sent, lane by lane (255: on no lane), in order.
type Shape = BTreeMap<u8, Vec<(u8, u8, usize)>>;

fn shape(frames: &[Frame]) -> Shape {
    let mut shape = Shape::new();
    for frame in frames {
        let lane = if frame.kind < LANE_DATA.start { 255 } else { frame.kind & 0x0f };
        shape.entry(lane).or_default().push((frame.kind, frame.label, frame.payload.len()));
    }
    shape
}

/// Runs have equal shapes, in both directions.
fn same_shapes(runs: &[Recorded]) -> Check {
    let shapes: Vec<[Shape; 2]> = runs.iter().map(|run| [shape(&run.receiver), shape(&run.sender)]).collect();
    if shapes.windows(2).all(|pair| pair[0] == pair[1]) { Ok(()) } else { Err("lengths differ".into()) }
}

/// Inputs of up to `size` items that the peer must not tell apart by lengths: equal, disjoint, few, none.
fn inputs(size: usize) -> Vec<[Vec<usize>; 2]> {
    vec![
        [(0..size).collect(), (0..size).collect()],
        [(0..size).collect(), (1000..1000 + size).collect()],
        [(5000..5003).collect(), (5000..5000 + size / 3 * 2).collect()],
        [vec![], (0..size).collect()],
    ]
}

#[test]
fn lengths_follow_from_what_was_agreed_on() {
    for protocol in PROTOCOLS {
        for lanes in [1, 3] {
            let params = Params::new(protocol, 60, 60, 4, lanes).unwrap().to_both();
            let runs: Vec<Recorded> = inputs(60)
                .into_iter()
                .map(|[receiver, sender]| {
                    let kits = kits(params, receiver, sender);
                    recorded(|one, other| {
                        let (received, sent) = attempt_over(&kits, 0, (one, other));
                        received.unwrap();
                        sent.unwrap();
                    })
                })
                .collect();
            same_shapes(&runs).unwrap();
            assert_eq!(shape(&runs[0].receiver).len(), lanes + 1);
        }
    }
}

/// Two buckets of an honest party, had they come before anything was read, are what a lane allows: each kind of message
/// may end in a short one, whatever the size of a bucket.
#[test]
fn honest_parties_are_not_too_far_ahead() {
    for (protocol, size) in [
        (BucketProtocol::Ecdh(Suite::Ristretto255), 1),
        (BucketProtocol::Ecdh(Suite::Ristretto255), 900),
        (BucketProtocol::Vole, 1),
        (BucketProtocol::Vole, 200_000),
    ] {
        let params = Params::new(protocol, size, size, 2, 1).unwrap().to_both();
        let kits = kits(params, 0..size, 0..size);
        let run = recorded(|one, other| {
            let (received, sent) = attempt_over(&kits, 0, (one, other));
            received.unwrap();
            sent.unwrap();
        });
        for (role, frames) in [(Role::Receiver, &run.receiver), (Role::Sender, &run.sender)] {
            let of_lane = frames.iter().filter(|frame| LANE_DATA.contains(&frame.kind));
            let bytes: Vec<u64> = of_lane.map(|frame| (HEADER_BYTES + frame.payload.len()) as u64).collect();
            let room: u64 = bytes.iter().map(|&bytes| bytes.max(MIN_ROOM_BYTES)).sum();
            let short = bytes.iter().filter(|&&bytes| bytes < MIN_ROOM_BYTES).count();
            assert!(room <= params.bytes_ahead(role).unwrap(), "{protocol:?} {size} {role:?}: {short} short messages");
        }
    }
}

/// A party's part in the intersection of a bucket of which both sides' items are known.
type Intersects<'a> = &'a (dyn Fn(&[Vec<Item>; 2], &ecdh::Params, &mut Channel) + Sync);

/// Leaky: buckets of as many items as fall into them.
#[test]
fn buckets_that_are_not_filled_up_are_caught() {
    let params = Params::new(BucketProtocol::Ecdh(Suite::Ristretto255), 300, 300, 4, 1).unwrap();
    let mut runs = Vec::new();
    for [receiver, sender] in inputs(300) {
        let kits = kits(params, receiver, sender);
        runs.push(recorded(|one, other| {
            let (received, _) = attempt_over(&kits, 0, Channel::pair("receiver", "sender"));
            let run = received.unwrap().0.run;
            let [mine, theirs] = kits.each_ref().map(|kit| Memory::new(kit, &run));
            let domain = TagDomain::of_session(&session());
            let each = |channel: &mut Channel, role: Intersects| {
                channel.lanes(vec![()], 1 << 30, |(), channel| {
                    for bucket in 0..4 {
                        let items = [mine.load(bucket)?, theirs.load(bucket)?];
                        let entries = tag_exchange::Params::rows(items[0].len(), items[1].len());
                        role(&items, &ecdh::Params::new(entries, Suite::Ristretto255), channel);
                    }
                    Ok(())
                })
            };
            let (received, sent) = two::run_over(
                (one, other),
                &|channel| {
                    each(channel, &|items, params, channel| {
                        ecdh::rows::receive(&items[0], &domain, params, channel, &mut rng(1)).unwrap();
                    })
                },
                &|channel| {
                    each(channel, &|items, params, channel| {
                        ecdh::rows::send(&items[1], &domain, params, channel, &mut rng(2)).unwrap();
                    })
                },
            );
            received.unwrap();
            sent.unwrap();
        }));
    }
    // Even of sets that are equally large: of other items, other numbers fall into each bucket.
    same_shapes(&runs[..2]).unwrap_err();
    same_shapes(&runs[1..]).unwrap_err();
}

/// Checks that no 16 bytes of one attempt's random or masked messages stand in another's.
fn nothing_comes_again(attempts: &[Vec<Frame>]) -> Check {
    let hidden = [SEED, MASKED, BLINDED, EVALUATED, ENTRIES, SHARE].map(|label| label.code);
    let mut seen: HashSet<Vec<u8>> = HashSet::new();
    for frames in attempts {
        let frames = frames.iter().filter(|frame| LANE_DATA.contains(&frame.kind) && hidden.contains(&frame.label));
        let own: HashSet<Vec<u8>> =
            frames.flat_map(|frame| frame.payload.chunks_exact(16).map(<[u8]>::to_vec)).collect();
        if own.iter().any(|bytes| seen.contains(bytes)) {
            return Err("bytes of an earlier attempt come again".into());
        }
        seen.extend(own);
    }
    if seen.len() > 100 { Ok(()) } else { Err("too little to see".into()) }
}

#[test]
fn an_attempt_has_keys_of_its_own() {
    for protocol in PROTOCOLS {
        // Elements are many bytes to compare, but dear.
        let size = if protocol == BucketProtocol::Vole { 300 } else { 60 };
        let params = Params::new(protocol, size, size, 4, 2).unwrap();
        // The numbers of the attempts decide what is drawn, and the session. None but the last finishes a bucket, so
        // that lanes have the same ones in all.
        let attempts = |numbers: [u8; 3]| -> [Vec<Vec<Frame>>; 2] {
            let kits = kits(params, 0..size, 0..size);
            let mut frames = [Vec::new(), Vec::new()];
            for (number, room) in numbers.into_iter().zip([0, 0, usize::MAX]) {
                kits[0].room.store(room, Ordering::SeqCst);
                let attempt = recorded(|one, other| {
                    let (received, _) = attempt_over(&kits, number, (one, other));
                    assert_eq!(received.is_ok(), room == usize::MAX);
                });
                frames[0].push(attempt.receiver);
                frames[1].push(attempt.sender);
            }
            frames
        };
        for frames in attempts([1, 2, 3]) {
            nothing_comes_again(&frames).unwrap();
        }
        // Leaky: an attempt with the randomness and the session of the one before.
        let again = attempts([1, 2, 2]);
        assert!(again.iter().any(|frames| nothing_comes_again(frames).is_err()), "{protocol:?}");
    }
}

/// Checks what a party tells when it resumes: the buckets that it has finished, and nothing of what is in them.
#[test]
fn a_resuming_party_tells_what_is_finished_and_no_more() {
    let states = |keys: [Vec<usize>; 2]| {
        let params = Params::new(BucketProtocol::Ecdh(Suite::Ristretto255), 300, 300, 4, 1).unwrap();
        let kits = kits(params, keys[0].clone(), keys[1].clone());
        kits[0].room.store(2, Ordering::SeqCst);
        attempt(&kits, 0).0.unwrap_err();
        kits[0].room.store(usize::MAX, Ordering::SeqCst);
        let frames = recorded(|one, other| {
            attempt_over(&kits, 1, (one, other)).0.unwrap();
        });
        [frames.receiver, frames.sender].map(|frames| payloads(&frames, STATE.code))
    };
    let told: Vec<[Vec<u8>; 2]> = inputs(300).into_iter().map(states).collect();
    for [receiver, _] in &told {
        // Of the receiver: buckets 0 and 1, with one lane.
        assert_eq!((receiver.len(), receiver[65]), (66, 0b11));
    }
    // Apart from what this party's caller has chosen, the message is the run's id and the bitmap.
    let [one, other] = [&told[0][0], &told[1][0]];
    assert_eq!(one[..33], other[..33]);
}

#[test]
fn no_item_stands_in_any_frame() {
    for protocol in PROTOCOLS {
        let params = Params::new(protocol, 200, 200, 4, 2).unwrap().to_both();
        let kits = kits(params, 0..200, 100..300);
        let mut run = None;
        let recorded = recorded(|one, other| {
            let (received, sent) = attempt_over(&kits, 0, (one, other));
            run = Some(received.unwrap().0.run);
            sent.unwrap();
        });
        let run = run.unwrap();
        let mut secrets: Vec<Vec<u8>> = vec![run.to_bytes()[..32].to_vec(), run.item_key().to_vec()];
        for kit in &kits {
            let memory = Memory::new(kit, &run);
            secrets.extend((0..4).flat_map(|bucket| memory.load(bucket).unwrap()).map(|item| item.0.to_vec()));
        }
        let mut frames = [recorded.receiver, recorded.sender].concat();
        shows_nothing(&frames, &secrets).unwrap();
        frames[3].payload.extend_from_slice(&secrets[9][4..20]);
        shows_nothing(&frames, &secrets).unwrap_err();
    }
}
