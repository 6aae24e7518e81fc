//! Tests which messages answer: the action due before the first one is done exactly if the peer learns a part of the
//! answer.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use crate::support::many::Many;
use crate::support::two::{Part, run_over};
use crate::support::{Case, Variant, items, rng, session};
use tacita_core::protocol::intersect::star;
use tacita_core::protocol::published::intersect::bloom;
use tacita_core::protocol::published::intersect::polynomial::{self, PolynomialRequest, PolynomialReveal};
use tacita_core::{Channel, Level, Result, Security};

/// Counts how often the action before an answer over this channel is done.
fn noted(channel: &mut Channel) -> Arc<AtomicU32> {
    let times = Arc::new(AtomicU32::new(0));
    let own = times.clone();
    channel.before_answer(move || {
        own.fetch_add(1, Ordering::Relaxed);
        Ok(())
    });
    times
}

/// Counts the answers that the receiver has noted, and the sender, in a run.
fn answered<T: Send>(receive: Part<T>, send: Part<T>) -> [u32; 2] {
    let (mut receiver, mut sender) = Channel::pair("receiver", "sender");
    let times = [noted(&mut receiver), noted(&mut sender)];
    let (received, sent) = run_over((receiver, sender), receive, send);
    received.unwrap();
    sent.unwrap();
    times.map(|times| times.load(Ordering::Relaxed))
}

#[test]
fn who_answers_notes_it_once() {
    use Variant::{Count, CountBoth, Payload, PayloadBoth, PayloadReturned, Rows, RowsBoth};
    let case = |variant| Case::new(variant, items(0..20), items(10..40), 3, 8);
    let tables = [Rows, RowsBoth, Payload, PayloadBoth, PayloadReturned].map(case);
    let by_vole = [Rows, RowsBoth, Payload, PayloadBoth, PayloadReturned].map(case);
    let by_vole = by_vole.map(|case| case.by_vole(Security::SemiHonest, 1));
    // Base OTs and trees say nothing of the items.
    let whole = [RowsBoth, PayloadReturned].map(case).map(|case| case.by_real_vole(Security::SemiHonest));
    for case in tables.into_iter().chain(by_vole).chain(whole).chain([Count, CountBoth].map(case)) {
        let times = answered(&|channel| case.receive(channel, 1), &|channel| case.send(channel, 2));
        assert_eq!(times, [u32::from(case.params.to_sender), 1], "{:?} by {:?}", case.params, case.protocol);
    }
}

#[test]
fn who_answers_by_a_filter_or_polynomials_notes_it_once() {
    let (mine, theirs) = (items(0..20), items(10..30));
    let params = bloom::Params::new(20, bloom::Strength::Bits80, 4).unwrap();
    let receive = |channel: &mut Channel| bloom::receive(&mine, &params, &session(), channel, &mut rng(1)).map(drop);
    let send = |channel: &mut Channel| bloom::send(&theirs, &params, &session(), channel, &mut rng(2));
    assert_eq!(answered(&receive, &send), [0, 1], "bloom");
    let wanted = PolynomialRequest {
        level: Level::Bits128,
        reveal: PolynomialReveal::Rows,
        strategy: None,
        bins: None,
        runs: 1,
    };
    let params = polynomial::Params::new(wanted, 20, 20).unwrap();
    let receive = |channel: &mut Channel| polynomial::rows::receive(&mine, &params, channel, &mut rng(1)).map(drop);
    let send = |channel: &mut Channel| polynomial::rows::send(&theirs, &params, channel, &mut rng(2));
    assert_eq!(answered(&receive, &send), [0, 1], "polynomial");
}

/// Checks the answers among many parties: all answer the leader, and the leader answers those who learn. The messages
/// between the others say nothing of anybody's items.
#[test]
fn who_answers_among_many_notes_it_once_for_each() {
    for (learners, givers) in
        [(vec![1], vec![]), (vec![1], vec![0, 2]), (vec![0, 1, 2], vec![]), (vec![1, 2], vec![0, 1])]
    {
        let sets: Vec<Vec<usize>> = (0..3).map(|place| (10 * place..10 * place + 40).collect()).collect();
        let case = Many::new(&sets, 2, 1, &learners, &givers);
        let times = Mutex::new(Vec::new());
        let wire = |one: usize, other: usize| {
            let (mut first, mut second) = Channel::pair(&one.to_string(), &other.to_string());
            times.lock().unwrap().extend([(one, other, noted(&mut first)), (other, one, noted(&mut second))]);
            (first, second)
        };
        let ended: Result<Vec<(Option<star::StarMatches>, _)>> = case.run_over(&wire).into_iter().collect();
        ended.unwrap();
        for (me, peer, times) in times.into_inner().unwrap() {
            let learns = peer == 1 || me == 1 && learners.contains(&peer);
            assert_eq!(times.load(Ordering::Relaxed), u32::from(learns), "{me} to {peer}, {learners:?}, {givers:?}");
        }
    }
}
