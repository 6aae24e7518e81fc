//! Bucketed intersections against the plaintext intersection, in one go and resumed.

use std::collections::HashSet;
use std::sync::atomic::Ordering;

use crate::support::buckets::*;
use crate::support::*;
use tacita_core::primitive::oprf::Suite;
use tacita_core::protocol::intersect::buckets::{
    self, AttemptKind, BucketProtocol, BucketSource, BucketsParty, Params, buckets_for,
};
use tacita_core::protocol::intersect::ecdh::{self, TagDomain};
use tacita_core::{Channel, Error, ErrorKind, Item, Result, Role};

/// A whole run, with its traffic, and what it tells both.
fn check(params: Params, receiver: impl IntoIterator<Item = usize>, sender: impl IntoIterator<Item = usize>) {
    let kits = kits(params, receiver, sender);
    let (received, sent) = attempt(&kits, 0);
    let ((_, receiver_traffic), (_, sender_traffic)) = (received.unwrap(), sent.unwrap());
    let truth: HashSet<usize> = {
        let theirs: HashSet<&usize> = kits[1].keys.iter().collect();
        kits[0].keys.iter().filter(|key| theirs.contains(key)).copied().collect()
    };
    assert_eq!(kits[0].learned().as_ref(), Some(&truth), "{params:?}");
    assert_eq!(kits[1].learned(), params.to_sender.then_some(truth), "{params:?}");
    let bytes = |role| params.bytes_sent_by(role, AttemptKind::Fresh).unwrap();
    assert_eq!((receiver_traffic.sent, receiver_traffic.received), (bytes(Role::Receiver), bytes(Role::Sender)));
    assert_eq!((sender_traffic.sent, sender_traffic.received), (bytes(Role::Sender), bytes(Role::Receiver)));
    let rounds = [receiver_traffic.rounds, sender_traffic.rounds];
    assert_eq!(rounds, [params.rounds(AttemptKind::Fresh).unwrap(); 2], "{params:?}");
}

/// One of every `step` combinations of protocols, sizes, numbers of buckets, and who learns.
fn small_sets(step: usize) {
    let mut combination = 0usize;
    for protocol in PROTOCOLS {
        for (number, (receiver, sender)) in
            [(0, 0), (0, 3), (3, 0), (1, 1), (1, 5), (9, 1), (33, 32), (300, 7)].into_iter().enumerate()
        {
            for buckets in [1, 2, 7] {
                let params = Params::new(protocol, receiver, sender, buckets, 1 + number % 4).unwrap();
                for to_both in [false, true] {
                    combination += 1;
                    if !combination.is_multiple_of(step) {
                        continue;
                    }
                    if to_both {
                        check(params.to_both(), 0..receiver, receiver / 2..receiver / 2 + sender);
                    } else {
                        check(params, 0..receiver, (0..sender).map(|key| 2 * key));
                    }
                }
            }
        }
    }
}

/// Takes every fifth: no number of values has the factor 5, so that every size meets every protocol, and so on.
#[test]
fn small_sets_in_any_number_of_buckets() {
    small_sets(5);
}

#[test]
#[ignore = "slow: every combination"]
fn small_sets_in_any_number_of_buckets_in_every_combination() {
    small_sets(1);
}

#[test]
fn many_buckets_on_all_numbers_of_lanes() {
    let lanes = (1..=4).map(|lanes| (BucketProtocol::Ecdh(Suite::Ristretto255), 400, lanes)).chain([(
        BucketProtocol::Vole,
        5000,
        3,
    )]);
    for (protocol, size, lanes) in lanes {
        let params = Params::new(protocol, size + 1, size, 64, lanes).unwrap();
        check(if lanes % 2 == 0 { params.to_both() } else { params }, 0..=size, size / 3..size / 3 + size);
    }
}

#[test]
fn large_sets() {
    for (buckets, lanes) in [(2, 2), (7, 3), (64, 4)] {
        let params = Params::new(BucketProtocol::Vole, 1 << 17, (1 << 16) + 1, buckets, lanes).unwrap();
        check(params.to_both(), 0..1 << 17, (1 << 16) + 77..(1 << 17) + 78);
    }
}

/// A bucket's session is that of its number: with a sender by hand that takes another's nothing is common.
#[test]
fn every_bucket_has_a_session_of_its_own() {
    let params = Params::new(BucketProtocol::Ecdh(Suite::Ristretto255), 60, 60, 4, 1).unwrap();
    for (other, common) in [(0, 60), (1, 0)] {
        let kits = kits(params, 0..60, 0..60);
        let send = |channel: &mut Channel| {
            let (session, mut rng) = (session_of(0), rng(1));
            let party = BucketsParty { place: 1, commitment: &kits[1].commitment, kept: None };
            let agreed =
                buckets::agree(party, &TERMS, &params.shape(), &session, std::slice::from_mut(channel), &mut rng)?;
            let source = Memory::new(&kits[1], &agreed.run);
            channel.lanes(vec![rng], u64::MAX, |mut rng, channel| {
                for bucket in 0..params.buckets {
                    let domain = TagDomain::of_session(&session.child("bucket", bucket as u64 ^ other));
                    let bucket_params = ecdh::Params::new(params.bucket(), Suite::Ristretto255);
                    ecdh::rows::send(&source.load(bucket)?, &domain, &bucket_params, channel, &mut rng)?;
                }
                Ok(())
            })?;
            Ok(agreed)
        };
        let ends = Channel::pair("receiver", "sender");
        let (received, sent) = two::run_over(ends, &|channel| kits[0].run(0, channel), &send);
        assert_eq!((received.map(|_| ()), sent.map(|_| ())), (Ok(()), Ok(())));
        assert_eq!(kits[0].learned().unwrap().len(), common);
    }
}

/// Checks sets that are smaller than agreed, as with `pad_to`.
#[test]
fn sets_smaller_than_agreed() {
    for protocol in PROTOCOLS {
        let params = Params::new(protocol, 100, 60, 4, 2).unwrap().to_both();
        check(params, 0..20, 10..50);
        check(params, [], 10..50);
        check(params, 0..100, []);
    }
}

/// A party's disk fills up after some buckets; later it goes on with the rest.
#[test]
fn a_run_that_was_cut_off_is_resumed() {
    for protocol in PROTOCOLS {
        for (culprit, to_both, lanes) in [(0, false, 1), (0, true, 3), (1, false, 2), (1, true, 2)] {
            let params = Params::new(protocol, 30, 20, 8, lanes).unwrap();
            let params = if to_both { params.to_both() } else { params };
            let kits = kits(params, 0..30, 25..45);
            let mut attempts = 0;
            for room in [0, 3, 1] {
                kits[culprit].room.store(room, Ordering::SeqCst);
                let (received, sent) = attempt(&kits, attempts);
                attempts += 1;
                let [own, peer] = match culprit {
                    0 => [received, sent],
                    _ => [sent, received],
                };
                assert_eq!(own.unwrap_err(), Error::Input("the disk is full".into()));
                assert!(matches!(peer.unwrap_err(), Error::Peer { kind: ErrorKind::Input, .. }));
            }
            kits[culprit].room.store(usize::MAX, Ordering::SeqCst);
            let finished: Vec<HashSet<usize>> =
                kits.iter().map(|kit| kit.results.lock().unwrap().keys().copied().collect()).collect();
            assert!((1..=4).contains(&finished[culprit].len()));
            // Another number of lanes does no harm.
            let (received, sent) = attempt(&kits, attempts);
            let ((agreed, receiver_traffic), (other, sender_traffic)) = (received.unwrap(), sent.unwrap());
            assert_eq!((&agreed.run, &agreed.remaining), (&other.run, &other.remaining));
            let done = |bucket: &usize| finished[0].contains(bucket) && (finished[1].contains(bucket) || !to_both);
            let expected: Vec<usize> = (0..8).filter(|bucket| !done(bucket)).collect();
            assert_eq!(agreed.remaining, expected);
            let truth: HashSet<usize> = (25..30).collect();
            assert_eq!(kits[0].learned().as_ref(), Some(&truth));
            let bytes = |role| params.bytes_sent_by(role, agreed.attempt).unwrap();
            assert_eq!([receiver_traffic.sent, sender_traffic.sent], [Role::Receiver, Role::Sender].map(bytes));
            assert_eq!(receiver_traffic.rounds, params.rounds(agreed.attempt).unwrap());
            if to_both || finished[1].is_superset(&finished[0]) {
                assert_eq!(kits[1].learned(), to_both.then_some(truth));
            }
            // Once more: nothing is left to do, at least for a receiver alone.
            let (received, sent) = attempt(&kits, attempts + 1);
            assert!(received.unwrap().0.remaining.is_empty() && sent.unwrap().0.remaining.is_empty());
        }
    }
}

/// Checks that a party is refused if it has lost what it kept, has changed its input, or keeps another run. Both
/// parties are told so.
#[test]
fn what_does_not_fit_together_is_refused() {
    let params = Params::new(BucketProtocol::Ecdh(Suite::Ristretto255), 10, 10, 4, 2).unwrap();
    let stopped = || {
        let kits = kits(params, 0..10, 5..15);
        kits[0].room.store(2, Ordering::SeqCst);
        let _ = attempt(&kits, 0);
        kits[0].room.store(usize::MAX, Ordering::SeqCst);
        kits
    };
    let terms = |error: &Error, words: &str| {
        let Error::Terms(text) = error else { panic!("{error:?}") };
        assert!(text.contains(words), "{text}");
    };
    for lost in 0..2 {
        let kits = stopped();
        *kits[lost].run.lock().unwrap() = None;
        let (received, sent) = attempt(&kits, 1);
        let ended = [received.unwrap_err(), sent.unwrap_err()];
        terms(&ended[lost], "resumes a run");
        terms(&ended[1 - lost], "starts a new one");
    }
    for changed in 0..2 {
        // Noticed by the party itself.
        let mut kits = stopped();
        kits[changed].commitment = [9; 32];
        let (received, sent) = attempt(&kits, 1);
        let ended = [received.unwrap_err(), sent.unwrap_err()];
        assert!(matches!(&ended[changed], Error::Input(text) if text.contains("input has changed")));
        assert!(matches!(&ended[1 - changed], Error::Peer { kind: ErrorKind::Input, .. }));
        // By its peer: it has forgotten what it committed to.
        let own = kits[changed].run.lock().unwrap().clone().unwrap();
        let mut bytes = own.to_bytes();
        bytes[32 + 32 * changed..][..32].fill(9);
        *kits[changed].run.lock().unwrap() = buckets::BucketsRun::from_bytes(&bytes);
        let (received, sent) = attempt(&kits, 1);
        let ended = [received.unwrap_err(), sent.unwrap_err()];
        terms(&ended[1 - changed], "input has changed");
        assert_eq!(ended[changed].kind(), ErrorKind::Terms);
    }
    // Runs of the same inputs, but not the same.
    let [first, second] = [stopped(), kits(params, 0..10, 5..15)];
    second[1].room.store(1, Ordering::SeqCst);
    let _ = attempt(&second, 7);
    let [receiver, _] = first;
    let [_, sender] = second;
    let (received, sent) = attempt(&[receiver, sender], 8);
    terms(&received.unwrap_err(), "another run");
    terms(&sent.unwrap_err(), "another run");
    // The same run, but under other parameters.
    let mut kits = stopped();
    kits[1].params.sender_items = 11;
    let (received, sent) = attempt(&kits, 1);
    terms(&received.unwrap_err(), "another run");
    terms(&sent.unwrap_err(), "another run");
}

/// A source with more items in a bucket than fit.
struct Crowded(Vec<Item>);

impl BucketSource for Crowded {
    fn load(&self, _: usize) -> Result<Vec<Item>> {
        Ok(self.0.clone())
    }

    fn finish(&self, _: usize, _: Option<&[usize]>) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_bucket_that_overflows_says_so() {
    let params = Params::new(BucketProtocol::Ecdh(Suite::Ristretto255), 2000, 2000, 16, 2).unwrap();
    let bound = params.bound(Role::Receiver);
    assert!((125..400).contains(&bound), "{bound}");
    for crowded in [Role::Receiver, Role::Sender] {
        let party = |role: Role, channel: &mut Channel| {
            let source = Crowded(items(0..bound + usize::from(role == crowded)));
            buckets::run(role, &[3, 4], &source, &params, &session(), channel, &mut rng(role as u8))
        };
        let (received, sent) =
            two::run(&|channel| party(Role::Receiver, channel), &|channel| party(Role::Sender, channel));
        let [own, peer] = match crowded {
            Role::Receiver => [received, sent],
            Role::Sender => [sent, received],
        };
        assert!(matches!(own.unwrap_err(), Error::NotReady(text) if text.contains("once in 2^40")));
        assert!(matches!(peer.unwrap_err(), Error::Peer { kind: ErrorKind::NotReady, .. }));
    }
}

#[test]
fn buckets_fit_the_memory() {
    let bytes = |receiver: usize, sender: usize| (260 * receiver + 100 * sender) as u64;
    for (receiver, sender, lanes, memory) in [
        (1 << 20, 1 << 20, 1, 1u64 << 30),
        (1 << 24, 1 << 20, 2, 1 << 30),
        (1 << 28, 1 << 28, 4, 1 << 32),
        (0, 0, 1, 0),
    ] {
        let buckets = buckets_for(receiver, sender, lanes, 1, memory, bytes).unwrap();
        let needed = |buckets: usize| {
            let params = Params::new(BucketProtocol::Vole, receiver, sender, buckets, lanes).unwrap();
            lanes.min(buckets) as u64 * bytes(params.bound(Role::Receiver), params.bound(Role::Sender))
        };
        assert!(needed(buckets) <= memory && (buckets == 1 || needed(buckets / 2) > memory));
    }
    assert!(matches!(buckets_for(1 << 30, 1, 1, 1, 1000, bytes), Err(Error::Input(_))));
    // Sets that are too large for one bucket, whatever the memory, and for any number of them.
    assert_eq!(buckets_for(1 << 33, 1, 1, 1, u64::MAX, bytes).unwrap(), 4);
    assert_eq!(buckets_for(3, 1 << 32, 2, 1, u64::MAX, bytes).unwrap(), 2);
    assert!(buckets_for(1 << 50, 1, 1, 1, u64::MAX, bytes).is_err());
    assert!(
        Params::new(BucketProtocol::Vole, 1, 1, 0, 1).is_err()
            && Params::new(BucketProtocol::Vole, 1, 1, 1, 17).is_err()
    );
    assert!(Params::new(BucketProtocol::Vole, 1, 1, buckets::MAX_BUCKETS + 1, 1).is_err());
}
