//! Buckets among several parties, against sets in the clear: in one go, and resumed after whatever ended a run.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};

use crate::support::buckets::{Kit, Memory, TERMS, session_of};
use crate::support::many::{Wire, in_memory, link, run_parties};
use crate::support::{Frame, Tap, passing, rng, tapped};
use tacita_core::channel::Traffic;
use tacita_core::protocol::intersect::buckets::{
    AttemptKind, BucketAgreement, BucketsParty, BucketsRun, HEARD, KeptRun, SHARE, STATE, agree,
};
use tacita_core::protocol::intersect::star::buckets::{self, Params};
use tacita_core::{Channel, Error, ErrorKind, Result};

type Kits = Vec<Kit<Params>>;

/// Result of a party: the agreement, and the traffic of its links.
type Ended = Result<(BucketAgreement, Vec<Traffic>)>;

fn kits(sets: &[Vec<usize>], leader: usize, learners: &[usize], buckets: usize) -> Kits {
    let items = sets.iter().map(Vec::len).collect();
    let params = Params::new(items, leader, learners.to_vec(), buckets).unwrap();
    sets.iter().enumerate().map(|(me, set)| Kit::at(me, params.clone(), buckets, set.clone())).collect()
}

/// Starts, or resumes what was kept, as the attempt with this number.
fn run(kits: &Kits, me: usize, number: u8, channels: &mut [Channel]) -> Result<BucketAgreement> {
    let (kit, session, mut rng) = (&kits[me], session_of(number), rng(number.wrapping_mul(16) + me as u8));
    let kept = kit.run.lock().unwrap().clone();
    let finished: Vec<usize> = kit.results.lock().unwrap().keys().copied().collect();
    let kept = kept.as_ref().map(|run| KeptRun { run, finished: &finished });
    let party = BucketsParty { place: me, commitment: &kit.commitment, kept };
    let agreed = agree(party, &TERMS, &kit.params.shape(), &session, channels, &mut rng)?;
    *kit.run.lock().unwrap() = Some(agreed.run.clone());
    let links: Vec<_> = (0..kits.len()).filter(|&peer| peer != me).map(|peer| link(me, peer)).collect();
    let party = buckets::StarBucketsParty { me, params: &kit.params, session: &session, links: &links };
    buckets::run(party, &agreed.remaining, &Memory::new(kit, &agreed.run), channels, &mut rng)?;
    Ok(agreed)
}

fn attempt_over(kits: &Kits, number: u8, wire: Wire<'_>) -> Vec<Ended> {
    run_parties(kits.len(), wire, |me, channels| run(kits, me, number, channels))
}

fn attempt(kits: &Kits, number: u8) -> Vec<Ended> {
    attempt_over(kits, number, &in_memory)
}

fn truth(kits: &Kits) -> HashSet<usize> {
    let all = |key: &&usize| kits.iter().all(|kit| kit.keys.contains(key));
    kits[0].keys.iter().filter(all).copied().collect()
}

/// Checks that all have ended well, know what they should, and have sent what they say.
fn check(kits: &Kits, ended: Vec<Ended>, learners: &[usize]) {
    let params = &kits[0].params;
    for (me, ended) in ended.into_iter().enumerate() {
        let (agreed, traffic) = ended.unwrap_or_else(|error| panic!("{me} in {params:?}: {error}"));
        if learners.contains(&me) {
            assert_eq!(kits[me].learned(), Some(truth(kits)), "{me} in {params:?}");
        } else {
            assert!(kits[me].results.lock().unwrap().values().all(Option::is_none));
        }
        let peers = (0..kits.len()).filter(|&peer| peer != me);
        for (peer, traffic) in peers.zip(traffic) {
            assert_eq!(
                traffic.sent,
                params.bytes_sent_by(me, peer, agreed.attempt).unwrap(),
                "{me} to {peer}: {params:?}"
            );
            assert!(traffic.rounds <= params.rounds(agreed.attempt), "{} rounds in {params:?}", traffic.rounds);
        }
    }
}

#[test]
fn any_number_of_parties_in_any_number_of_buckets() {
    for (sizes, leader, learners, buckets) in [
        (&[60, 50][..], 0, &[0, 1][..], 4),
        (&[300, 200, 400], 0, &[0], 1),
        (&[300, 200, 400], 1, &[0, 1, 2], 8),
        (&[3000, 1, 40, 900], 3, &[2, 3], 7),
        (&[1, 1, 1, 1, 1], 2, &[2], 2),
        (&[50, 0, 70], 0, &[0, 2], 3),
        (&[200; 9], 8, &[1, 8], 2),
    ] {
        // Of every set the first numbers, without some.
        let set = |(place, &size): (usize, &usize)| (0..2 * size).filter(|n| n % 7 != place + 1).take(size).collect();
        let sets: Vec<Vec<usize>> = sizes.iter().enumerate().map(set).collect();
        let kits = kits(&sets, leader, learners, buckets);
        let ended = attempt(&kits, 0);
        assert!(ended.iter().flatten().all(|(agreed, _)| agreed.attempt == AttemptKind::Fresh));
        check(&kits, ended, learners);
    }
}

/// A party's disk fills up after some buckets, whoever it is; later all go on with what is left.
#[test]
fn a_run_that_was_cut_off_is_resumed() {
    for (culprit, learners) in [(0, &[1][..]), (1, &[1]), (1, &[0, 1, 2]), (2, &[1, 2]), (0, &[1, 2])] {
        let kits = kits(&[(0..200).collect(), (50..260).collect(), (100..300).collect()], 1, learners, 8);
        for (number, room) in [0, 3, 1].into_iter().enumerate() {
            kits[culprit].room.store(room, Ordering::SeqCst);
            for (me, ended) in attempt(&kits, number as u8).into_iter().enumerate() {
                match ended.unwrap_err() {
                    Error::Input(text) => assert_eq!((me, &text[..]), (culprit, "the disk is full")),
                    // As the one at fault says, or another that has heard it from that one.
                    Error::Peer { kind: ErrorKind::Input | ErrorKind::Network, .. } => assert_ne!(me, culprit),
                    error => panic!("{me}: {error:?}"),
                }
            }
        }
        kits[culprit].room.store(usize::MAX, Ordering::SeqCst);
        let finished = |me: usize| -> HashSet<usize> { kits[me].results.lock().unwrap().keys().copied().collect() };
        let done = |bucket: &usize| learners.iter().all(|&learner| finished(learner).contains(bucket));
        let expected: Vec<usize> = (0..8).filter(|bucket| !done(bucket)).collect();
        let ended = attempt(&kits, 3);
        assert!(ended.iter().flatten().all(|(agreed, _)| agreed.remaining == expected), "{expected:?}");
        assert!(!learners.contains(&culprit) || expected.len() < 8);
        check(&kits, ended, learners);
        // Once more: nothing is left to do.
        let ended = attempt(&kits, 4);
        assert!(ended.iter().flatten().all(|(agreed, _)| agreed.remaining.is_empty()));
        check(&kits, ended, learners);
    }
}

/// A run that was cut off when its leader had finished two buckets.
fn stopped() -> Kits {
    let kits = kits(&[(0..40).collect(), (10..50).collect(), (20..60).collect()], 0, &[0, 1, 2], 4);
    kits[0].room.store(2, Ordering::SeqCst);
    assert!(attempt(&kits, 0).iter().all(Result::is_err));
    kits[0].room.store(usize::MAX, Ordering::SeqCst);
    kits
}

#[track_caller]
fn terms(ended: &Ended, words: &str) {
    let Err(Error::Terms(text)) = ended else { panic!("{ended:?}") };
    assert!(text.contains(words), "{text}");
}

/// Checks that a party is refused if it has lost what it kept, has changed its input, or keeps another run. Everybody
/// is told which party it is and what to do.
#[test]
fn what_does_not_fit_together_is_refused() {
    for lost in 0..3 {
        let kits = stopped();
        *kits[lost].run.lock().unwrap() = None;
        for (me, ended) in attempt(&kits, 1).iter().enumerate() {
            if me == lost {
                terms(ended, "resumes a run of this job, this party starts a new one")
            } else {
                terms(ended, &format!("this party resumes a run of this job, {lost} starts a new one"))
            }
        }
    }
    for changed in 0..3 {
        // Noticed by the party itself.
        let mut kits = stopped();
        kits[changed].commitment = [9; 32];
        for (me, ended) in attempt(&kits, 1).into_iter().enumerate() {
            match ended.unwrap_err() {
                Error::Input(text) if me == changed => assert!(text.contains("input has changed")),
                Error::Peer { .. } if me != changed => (),
                error => panic!("{me}: {error:?}"),
            }
        }
        // By the others: it has forgotten what it committed to.
        let mut bytes = kits[changed].run.lock().unwrap().clone().unwrap().to_bytes();
        bytes[32 + 32 * changed..][..32].fill(9);
        *kits[changed].run.lock().unwrap() = BucketsRun::from_bytes(&bytes);
        let ended = attempt(&kits, 1);
        assert!((0..3).filter(|me| *me != changed).any(|me| {
            matches!(&ended[me], Err(Error::Terms(text)) if text.contains(&format!("{changed}'s input has changed")))
        }));
        assert!(ended.iter().all(Result::is_err), "{ended:?}");
    }
    // The same run, but in one place under other parameters, or another run.
    let kits = stopped();
    let mut other = stopped();
    let third = other.pop().unwrap();
    let another = attempt(&kits, 1);
    assert!(another.iter().all(Result::is_ok));
    let mut mixed = kits;
    mixed[2] = third;
    mixed[2].params = Params::new(vec![40, 40, 41], 0, vec![0, 1, 2], 4).unwrap();
    for (me, ended) in attempt(&mixed, 2).iter().enumerate() {
        let who = if me == 2 { "0 resumes another run" } else { "2 resumes another run" };
        terms(ended, who);
    }
}

/// Another attempt has other keys throughout, also for a bucket that is done again: no frame but those that say how all
/// stand is equal.
#[test]
fn no_attempt_sends_what_another_has_sent() {
    let kits = kits(&[(0..30).collect(), (0..30).collect(), (0..30).collect()], 0, &[0, 1, 2], 1);
    let mut seen: HashSet<(u8, Vec<u8>)> = HashSet::new();
    for number in 0..3 {
        let frames = Arc::new(Mutex::new(Vec::new()));
        let kept = frames.clone();
        let tap: Arc<Tap> = Arc::new(move |frame: Frame| {
            kept.lock().unwrap().push((frame.label, frame.payload.clone()));
            Some(vec![frame])
        });
        let wire = |_, _| tapped(tap.clone(), tap.clone());
        let ended = attempt_over(&kits, number, &wire);
        assert!(ended.iter().all(Result::is_ok));
        kits.iter().for_each(|kit| kit.results.lock().unwrap().clear());
        // What the leader sends, it may send to all.
        let sent: HashSet<(u8, Vec<u8>)> = frames.lock().unwrap().drain(..).collect();
        let sent = sent.into_iter().filter(|(label, payload)| *label != STATE.code && payload.len() > 4);
        for message in sent {
            assert!(seen.insert(message), "a message of an earlier attempt");
        }
    }
    assert!(seen.len() > 50);
}

/// States and shares that are none, on a line between two that do not lead: whoever is at the other end says so, and
/// all end.
#[test]
fn messages_in_a_wrong_form_are_refused() {
    let fresh = || kits(&[(0..40).collect(), (10..50).collect(), (20..60).collect()], 0, &[0], 4);
    type Change = fn(&mut Vec<u8>);
    let states: [(bool, u8, Change); 9] = [
        (true, STATE.code, |payload| payload[0] = 2),
        (true, STATE.code, |payload| payload.clear()),
        (true, STATE.code, |payload| payload.truncate(20)),
        (true, STATE.code, |payload| payload.push(0)),
        (true, SHARE.code, |payload| payload.truncate(31)),
        (true, SHARE.code, |payload| payload.push(0)),
        (false, STATE.code, |payload| payload[0] = 0),
        (false, STATE.code, |payload| payload[65] |= 0x10),
        (false, STATE.code, |payload| payload.truncate(65)),
    ];
    for (number, (is_fresh, label, change)) in states.into_iter().enumerate() {
        let kits = if is_fresh { fresh() } else { stopped() };
        let changed = Arc::new(AtomicUsize::new(0));
        let count = changed.clone();
        let tap: Arc<Tap> = Arc::new(move |mut frame: Frame| {
            if frame.label == label && count.fetch_add(1, Ordering::SeqCst) == 0 {
                change(&mut frame.payload);
            }
            Some(vec![frame])
        });
        let wire = |one, other| match (one, other) {
            (1, 2) => tapped(tap.clone(), passing()),
            _ => in_memory(one, other),
        };
        let ended = attempt_over(&kits, 7, &wire);
        assert_eq!(changed.load(Ordering::SeqCst), 1, "attack {number} happened");
        assert!(matches!(&ended[2], Err(Error::Protocol { .. })), "{number}: {:?}", ended[2]);
        assert!(ended.iter().all(Result::is_err), "{number}: {ended:?}");
    }
}

/// One that tells two others different states, or different shares of the seed: they see it in each other before the
/// first bucket, and neither is said to have broken the protocol by itself.
#[test]
fn one_that_tells_two_different_things_is_noticed() {
    let fresh = || kits(&[(0..40).collect(), (10..50).collect(), (20..60).collect()], 0, &[0, 1, 2], 4);
    let lies: [(bool, u8, usize); 4] =
        [(true, STATE.code, 1), (true, SHARE.code, 0), (false, STATE.code, 1), (false, STATE.code, 65)];
    for (number, (is_fresh, label, at)) in lies.into_iter().enumerate() {
        let kits = if is_fresh { fresh() } else { stopped() };
        let changed = Arc::new(AtomicUsize::new(0));
        let count = changed.clone();
        let tap: Arc<Tap> = Arc::new(move |mut frame: Frame| {
            if frame.label == label && count.fetch_add(1, Ordering::SeqCst) == 0 {
                frame.payload[at] ^= 1;
            }
            Some(vec![frame])
        });
        // From the first party to the second one, and not to the third.
        let wire = |one, other| match (one, other) {
            (0, 1) => tapped(tap.clone(), passing()),
            _ => in_memory(one, other),
        };
        let ended = attempt_over(&kits, 7, &wire);
        assert_eq!(changed.load(Ordering::SeqCst), 1, "lie {number} was told");
        let mut noticed = 0;
        for (me, ended) in ended.iter().enumerate() {
            match ended {
                Err(Error::Protocol { peer, check }) => {
                    assert!(peer.ends_with(", or a party that sends contradictory messages,"), "{number}: {peer}");
                    assert!(check.contains("it was told another"), "{number}: {check}");
                    noticed += 1;
                }
                // The word of who noticed it first.
                Err(Error::Peer { .. }) => (),
                ended => panic!("{number}, {me}: {ended:?}"),
            }
        }
        assert!(noticed > 0, "{number}: {ended:?}");
    }
}

/// One that sends back what it has heard has not said that it was told the same: what is said is another's at each
/// place.
#[test]
fn a_party_cannot_echo_what_it_has_heard() {
    let kits = kits(&[(0..40).collect(), (10..50).collect(), (20..60).collect()], 0, &[0, 1, 2], 4);
    let heard: Arc<(Mutex<Option<Vec<u8>>>, Condvar)> = Arc::default();
    let keeping = heard.clone();
    let from_second: Arc<Tap> = Arc::new(move |frame: Frame| {
        if frame.label == HEARD.code {
            *keeping.0.lock().unwrap() = Some(frame.payload.clone());
            keeping.1.notify_all();
        }
        Some(vec![frame])
    });
    let from_first: Arc<Tap> = Arc::new(move |mut frame: Frame| {
        if frame.label == HEARD.code {
            let kept = heard.1.wait_while(heard.0.lock().unwrap(), |kept| kept.is_none()).unwrap();
            frame.payload.clone_from(kept.as_ref().unwrap());
        }
        Some(vec![frame])
    });
    let wire = |one, other| match (one, other) {
        (0, 1) => tapped(from_first.clone(), from_second.clone()),
        _ => in_memory(one, other),
    };
    let ended = attempt_over(&kits, 7, &wire);
    assert!(
        matches!(&ended[1], Err(Error::Protocol { check, .. }) if check.contains("it was told another")),
        "{ended:?}"
    );
}

/// Each party draws its share of the seed, and the seed depends on every share and on what every input is committed to.
#[test]
fn a_seed_is_everybodys() {
    let fresh = || kits(&[(0..40).collect(), (10..50).collect(), (20..60).collect()], 0, &[0, 1, 2], 4);
    let shares: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
    let keeping = || -> Arc<Tap> {
        let shares = shares.clone();
        Arc::new(move |frame: Frame| {
            if frame.label == SHARE.code {
                shares.lock().unwrap().push(frame.payload.clone());
            }
            Some(vec![frame])
        })
    };
    let item_key = |kits: &Kits, wire: Wire<'_>| {
        let ended = attempt_over(kits, 0, wire);
        let keys: HashSet<[u8; 32]> = ended.into_iter().map(|ended| ended.unwrap().0.run.item_key()).collect();
        assert_eq!(keys.len(), 1);
        keys.into_iter().next().unwrap()
    };
    let mut keys = HashSet::from([item_key(&fresh(), &|_, _| tapped(keeping(), keeping()))]);
    // Each has told two others the same.
    let shares: HashSet<Vec<u8>> = shares.lock().unwrap().drain(..).collect();
    assert!(shares.len() == 3 && shares.iter().all(|share| share.len() == 32), "{shares:?}");
    for at in (0..32).step_by(4) {
        let words: HashSet<&[u8]> = shares.iter().map(|share| &share[at..at + 4]).collect();
        assert!(words.len() == 3 && !words.contains(&[0; 4][..]), "from byte {at} on");
    }
    for changed in 0..3 {
        let mut kits = fresh();
        kits[changed].commitment = [9; 32];
        assert!(keys.insert(item_key(&kits, &in_memory)), "commitment of {changed}");
    }
}
