//! `bloom` against the plaintext intersection.

use crate::support::two::run;
use crate::support::{items, rng, session};
use rand_core::Rng;
use tacita_core::channel::{Channel, HEADER_BYTES};
use tacita_core::protocol::published::intersect::bloom::{self, BloomReceiver, BloomSender, Params, Strength};
use tacita_core::{Error, ErrorKind, Item, Role};

const STRENGTHS: [Strength; 3] = [Strength::Bits80, Strength::Bits112, Strength::Bits128];

/// Checks that both parties learn just what they should, and send as much as was counted beforehand.
fn check(mine: &[Item], theirs: &[Item], params: &Params) {
    let receive = |channel: &mut Channel| bloom::receive(mine, params, &session(), channel, &mut rng(1));
    let send = |channel: &mut Channel| {
        bloom::send(theirs, params, &session(), channel, &mut rng(2))?;
        Ok(Vec::new())
    };
    let (received, sent) = run(&receive, &send);
    let ((received, receiver_traffic), (_, sender_traffic)) = (received.unwrap(), sent.unwrap());
    let set: std::collections::HashSet<&Item> = theirs.iter().collect();
    let common: Vec<usize> = (0..mine.len()).filter(|&index| set.contains(&mine[index])).collect();
    assert_eq!(received, common, "{params:?}");
    assert_eq!(
        [sender_traffic.sent, receiver_traffic.sent],
        [Role::Sender, Role::Receiver].map(|role| params.bytes_sent_by(role) + HEADER_BYTES as u64)
    );
    assert_eq!([receiver_traffic.rounds, sender_traffic.rounds], [params.rounds(); 2]);
}

#[test]
fn all_small_sizes() {
    for (receiver, sender) in (0..4).flat_map(|receiver| (0..4).map(move |sender| (receiver, sender))) {
        for more in [0, 3] {
            let params = Params::new(receiver.max(sender) + more, Strength::Bits80, 4).unwrap();
            for shift in [0, 1, 3] {
                check(&items(0..receiver), &items(shift..shift + sender), &params);
            }
        }
    }
}

#[test]
fn every_strength_and_extension_at_odd_and_unequal_sizes() {
    for strength in STRENGTHS {
        for (receiver, sender, extension) in [(1, 1, 1), (257, 33, 2), (5, 999, 8), (1001, 700, 4), (2000, 0, 5)] {
            let params = Params::new(receiver.max(sender), strength, extension).unwrap();
            check(&items(0..receiver), &items(receiver / 2..receiver / 2 + sender), &params);
            check(&items(0..receiver), &items((0..sender).rev()), &params);
        }
    }
}

/// More elements than one run of the receiver's sorting and than one batch of the sender's have.
#[test]
fn large_sets() {
    let params = Params::new(100_000, Strength::Bits80, 4).unwrap();
    check(&items(0..100_000), &items(40_000..139_999), &params);
    check(&items(0..3), &items((0..70_000).rev()), &params);
}

/// Keys are those of a run's number: parties that take different ones find nothing in common.
#[test]
fn every_run_has_keys_of_its_own() {
    let params = Params::new(50, Strength::Bits80, 4).unwrap();
    for (number, common) in [(7, 50), (8, 0)] {
        let receive = |channel: &mut Channel| {
            let mut receiver = BloomReceiver::setup(&params, &session(), "test", channel, &mut rng(1))?;
            Ok(receiver.intersect(&items(0..50), &params, 7, channel)?.len())
        };
        let send = |channel: &mut Channel| {
            let mut sender = BloomSender::setup(&params, &session(), "test", channel, &mut rng(2))?;
            sender.intersect(&items(0..50), &params, number, channel).map(|()| common)
        };
        let (received, sent) = run(&receive, &send);
        assert_eq!((received.unwrap().0, sent.unwrap().0), (common, common));
    }
}

/// One set-up serves many runs, of any sizes, each of which has its own keys.
#[test]
fn many_runs_over_one_set_up() {
    let mut sizes = rng(5);
    let mut size = || sizes.next_u32() as usize % 60;
    let cases: Vec<_> = (0..20).map(|_| (size(), size(), size())).chain([(0, 0, 0), (1, 1, 0)]).collect();
    let params = |one: usize, other: usize| Params::new(one.max(other), Strength::Bits112, 4).unwrap();
    let receive = |channel: &mut Channel| {
        let mut receiver = BloomReceiver::setup(&params(0, 0), &session(), "test", channel, &mut rng(1))?;
        let runs = (0..).zip(&cases);
        runs.map(|(run, &(mine, theirs, _))| receiver.intersect(&items(0..mine), &params(mine, theirs), run, channel))
            .collect()
    };
    let send = |channel: &mut Channel| {
        let mut sender = BloomSender::setup(&params(0, 0), &session(), "test", channel, &mut rng(2))?;
        (0..).zip(&cases).try_for_each(|(run, &(mine, theirs, first))| {
            sender.intersect(&items(first..first + theirs), &params(mine, theirs), run, channel)
        })?;
        Ok(Vec::new())
    };
    let (received, sent) = run(&receive, &send);
    sent.unwrap();
    for (found, (mine, theirs, first)) in received.unwrap().0.into_iter().zip(cases) {
        assert!(found.into_iter().eq(first.min(mine)..(first + theirs).min(mine)));
    }
}

/// Before anything is sent: the peer sees nothing but the end.
#[test]
fn what_a_caller_does_wrong_is_an_error() {
    let params = Params::new(2, Strength::Bits80, 4).unwrap();
    let (mut end, _other) = Channel::pair("one", "other");
    let many = items(0..3);
    let errors = [
        bloom::receive(&many, &params, &session(), &mut end, &mut rng(1)).map(drop).unwrap_err(),
        bloom::send(&many, &params, &session(), &mut end, &mut rng(1)).unwrap_err(),
    ];
    assert!(errors.iter().all(|error| error.kind() == ErrorKind::Input), "{errors:?}");
    let twice = items([1, 1]);
    let errors = [
        bloom::receive(&twice, &params, &session(), &mut end, &mut rng(1)).map(drop).unwrap_err(),
        bloom::send(&twice, &params, &session(), &mut end, &mut rng(1)).unwrap_err(),
    ];
    assert!(errors.iter().all(|error| error.kind() == ErrorKind::Internal), "{errors:?}");
    assert_eq!(end.traffic().sent, 0);
    for (bound, extension) in [(1 << 40, 4), (usize::MAX, 4), (10, 0), (10, 9)] {
        assert!(
            matches!(Params::new(bound, Strength::Bits128, extension), Err(Error::Input(_))),
            "{bound} {extension}"
        );
    }
}
