//! Bucketed runs with a peer that breaks the protocol, in either role: the victim must end with the right error, and
//! neither side may panic, hang or take a wrong result for a good one.

use std::sync::Arc;

use crate::support::attack::*;
use crate::support::buckets::*;
use crate::support::two::{CULPRITS, Two, on_payload, wrong_forms};
use crate::support::*;
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::buckets::{
    BucketProtocol, BucketsParty, BucketsRun, BucketsState, KeptRun, Params, SHARE, STATE, agree,
};
use tacita_core::{Error, Role};

const LANE_CLOSE: std::ops::Range<u8> = 0x20..0x30;

/// Records both parties of a fresh run with one lane, so that frames come in one order, and the frames that they send.
fn fresh() -> (Arc<Two>, [Vec<Frame>; 2]) {
    let params = Params::new(BucketProtocol::Ecdh(Suite::Ristretto255), 12, 9, 2, 1).unwrap().to_both();
    let role = |role: Role| -> two::Repeated {
        Box::new(move |channel| Kit::new(role, params, 0..9).run(0, channel).map(drop))
    };
    recorded_two("fresh".into(), role(Role::Receiver), role(Role::Sender))
}

/// Records both parties when they agree on resuming a run of 10 buckets.
fn resuming() -> (Arc<Two>, [Vec<Frame>; 2]) {
    let params = Params::new(BucketProtocol::Vole, 12, 9, 10, 1).unwrap();
    let role = |role: Role| -> two::Repeated {
        Box::new(move |channel| {
            let run = BucketsRun::from_bytes(&[5; 96]).unwrap();
            let kept = Some(KeptRun { run: &run, finished: &[1, 9] });
            let party = BucketsParty { place: role as usize, commitment: &[5; 32], kept };
            let channels = std::slice::from_mut(channel);
            let agreed = agree(party, &TERMS, &params.shape(), &session(), channels, &mut rng(1))?;
            assert!(agreed.remaining.into_iter().eq([0, 2, 3, 4, 5, 6, 7, 8]));
            Ok(())
        })
    };
    recorded_two("resuming".into(), role(Role::Receiver), role(Role::Sender))
}

fn recorded_two(name: String, first: two::Repeated, second: two::Repeated) -> (Arc<Two>, [Vec<Frame>; 2]) {
    let (frames, _) = two::record(&first, &second);
    (Arc::new(Two { name, first, second }), frames)
}

#[test]
fn every_message_in_a_wrong_form() {
    let mut attacks = Vec::new();
    // The messages of `vole` have tests of their own: it is the lanes and what comes before them that count here.
    for (case, frames) in [fresh(), resuming()] {
        // The ends of lanes have no payload: `lanes` attacks them.
        let ends = |attack: &Attack| {
            let party = CULPRITS.iter().position(|culprit| *culprit == attack.culprit).unwrap();
            LANE_CLOSE.contains(&frames[party][attack.frame].kind)
        };
        let forms = frames.clone().map(|frames| {
            let filled = |mut frame: Frame| {
                if LANE_CLOSE.contains(&frame.kind) {
                    frame.payload = vec![0];
                }
                frame
            };
            frames.into_iter().map(filled).collect::<Vec<_>>()
        });
        attacks.extend(wrong_forms(&case, &forms, None).into_iter().filter(|attack| !ends(attack)));
    }
    assert!(attacks.len() > 100, "only {} attacks", attacks.len());
    run_all(attacks);
}

#[test]
fn states_that_make_no_sense() {
    let mut attacks = Vec::new();
    let (case, frames) = resuming();
    for (culprit, frames) in frames.iter().enumerate() {
        assert_eq!((frames[0].label, frames[0].payload.len()), (STATE.code, 67));
        attacks.push(on_payload(&case, "a bucket too many", culprit, 0, |payload| payload[66] |= 0b100));
        attacks.push(on_payload(&case, "unknown kind", culprit, 0, |payload| payload[0] = 2));
        attacks.push(on_payload(&case, "kind of the other length", culprit, 0, |payload| payload[0] = 0));
        attacks.push(on_payload(&case, "bitmap of 9 buckets", culprit, 0, |payload| payload.truncate(66)));
        // These could be honest: another party's directory, or an input that has changed.
        for (name, place) in [("another run", 33), ("another input", 1)] {
            let attack = on_payload(&case, name, culprit, 0, move |payload| payload[place] ^= 1);
            attacks.push(Attack { expected: |error| matches!(error, Error::Terms(_)), ..attack });
        }
        let attack = on_payload(&case, "a new run", culprit, 0, |payload| {
            payload.truncate(33);
            payload[0] = 0;
        });
        attacks.push(Attack { expected: |error| matches!(error, Error::Terms(_)), ..attack });
    }
    let (case, frames) = fresh();
    for (culprit, frames) in frames.iter().enumerate() {
        assert_eq!((frames[1].label, frames[1].payload.len()), (SHARE.code, 32));
        let attack = on_payload(&case, "an old run", culprit, 0, |payload| {
            payload[0] = 1;
            payload.resize(66, 0);
        });
        attacks.push(Attack { expected: |error| matches!(error, Error::Terms(_)), ..attack });
    }
    run_all(attacks);
}

/// Frames of another attempt, replayed, match nothing: all of a bucket is bound to the attempt's session.
#[test]
fn tags_of_another_attempt_match_nothing() {
    use tacita_core::protocol::intersect::ecdh::ENTRIES;
    for protocol in PROTOCOLS {
        let params = Params::new(protocol, 40, 40, 1, 1).unwrap();
        let pair = kits(params, 0..40, 0..40);
        let old = recorded(|one, other| drop(attempt_over(&pair, 0, (one, other))));
        let old = payloads_of_lane(&old.sender, ENTRIES.code);
        assert_eq!(pair[0].learned().unwrap().len(), 40);
        // The same run again, as if nothing had been finished.
        pair.iter().for_each(|kit| kit.results.lock().unwrap().clear());
        let tap: Arc<Tap> = Arc::new(move |mut frame| {
            if frame.kind == 0x10 && frame.label == ENTRIES.code {
                frame.payload.copy_from_slice(&old);
            }
            Some(vec![frame])
        });
        let (received, sent) = attempt_over(&pair, 1, tapped(passing(), tap));
        received.unwrap();
        sent.unwrap();
        assert_eq!(pair[0].learned().unwrap().len(), 0);
    }
}

fn payloads_of_lane(frames: &[Frame], label: u8) -> Vec<u8> {
    let of_lane = frames.iter().filter(|frame| frame.kind == 0x10 && frame.label == label);
    of_lane.flat_map(|frame| frame.payload.iter().copied()).collect()
}

#[test]
fn a_state_has_one_encoding() {
    for buckets in [1, 7, 8, 9, 64, 1000] {
        let finished: Vec<bool> = (0..buckets).map(|bucket| bucket % 3 == 0).collect();
        for state in [
            BucketsState::Fresh { commitment: [4; 32] },
            BucketsState::Resuming { commitment: [4; 32], run: [6; 32], finished },
        ] {
            let bytes = state.encode();
            assert_eq!(BucketsState::decode(&bytes, buckets).unwrap(), state);
            for wrong in 0..buckets + 20 {
                let again = BucketsState::decode(&bytes, wrong);
                assert!(again.is_err() || again.unwrap().encode() == bytes);
            }
        }
    }
}
