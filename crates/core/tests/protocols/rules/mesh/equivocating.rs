//! A party of several that tells two others different things: all honest ones end, with an error that is true.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use tacita_core::protocol::dot::SHARES;
use tacita_core::protocol::mesh::DIGESTS;
use tacita_core::protocol::rules::association::Consequents;
use tacita_core::protocol::rules::{FIT, ITEMS, Mined, Params, RevealedCounts, SUPPORTS, TOLD};
use tacita_core::protocol::shares::ANSWERS;
use tacita_core::{Error, ErrorKind};

use super::super::results::{Case, Set, params, terms};
use crate::support::many::{in_memory, run_parties};
use crate::support::mesh::{Ended, Source};
use crate::support::{Frame, Tap, tapped_between};

/// Change to the frame of this number among those that the culprit sends to the victim.
type Change = dyn Fn(Frame) -> Frame + Send + Sync;

fn case(parties: usize, mixed_only: bool) -> Case {
    let items = 2 * parties;
    let rows: Vec<Set> = (0..30usize).map(|row| (0..items).filter(|item| row * (item + 3) % 7 < 5).collect()).collect();
    let params = params(rows.len(), 9, RevealedCounts::Frequent, terms("0.6", Consequents::Any, mixed_only));
    let params = Params { max_len: 4, ..params };
    Case { rows, parties, owners: (0..items).map(|item| item % parties).collect(), params, dealt: true }
}

/// A party that follows the protocol, but that frame `number` to the victim is another one. It knows what it has told
/// to whom: its digests are those that the victim expects.
struct Equivocation<'a> {
    case: &'a Case,
    culprit: usize,
    victim: usize,
    number: usize,
    change: Arc<Change>,
    sent: Arc<Mutex<Vec<Frame>>>,
    /// Whether parties compare digests. Weakened: each is sent its own.
    compares: bool,
}

/// Changes to what the two ends of a link send, so that each end is sent its own digests.
fn own_digests() -> [Arc<Tap>; 2] {
    let ((one, at_other), (other, at_one)) = (mpsc::channel(), mpsc::channel());
    [(one, at_one), (other, at_other)].map(|(sent, theirs)| -> Arc<Tap> {
        let (sent, theirs) = (Mutex::new(sent), Mutex::new(theirs));
        Arc::new(move |mut frame: Frame| {
            if frame.kind == Frame::DATA && frame.label == DIGESTS.code {
                // Whoever has ended sends none.
                let _ = sent.lock().unwrap().send(frame.payload);
                frame.payload = theirs.lock().unwrap().recv_timeout(Duration::from_secs(10)).unwrap_or_default();
            }
            Some(vec![frame])
        })
    })
}

impl<'a> Equivocation<'a> {
    /// One that changes nothing.
    fn new(case: &'a Case, culprit: usize, victim: usize) -> Equivocation<'a> {
        let change = Arc::new(|frame| frame);
        Equivocation { case, culprit, victim, number: usize::MAX, change, sent: Arc::default(), compares: true }
    }

    fn run(&self) -> Vec<Ended<Mined>> {
        let (count, number, change, sent) = (AtomicUsize::new(0), self.number, self.change.clone(), self.sent.clone());
        let [as_expected, to_culprit] = own_digests();
        let from_culprit: Arc<Tap> = Arc::new(move |mut frame: Frame| {
            if frame.kind == Frame::DATA {
                sent.lock().unwrap().push(frame.clone());
                if count.fetch_add(1, Ordering::Relaxed) == number {
                    frame = change(frame);
                }
            }
            as_expected(frame)
        });
        // The culprit knows better than to compare what the victim sends, and ends as others do.
        let from_victim: Arc<Tap> = to_culprit;
        let names: Vec<String> = (0..self.case.parties).map(|party| party.to_string()).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let pair = [self.culprit.min(self.victim), self.culprit.max(self.victim)];
        let wire = |one, other| {
            let of_names = [names[one], names[other]];
            match [one, other] {
                link if link != pair && self.compares => in_memory(one, other),
                link if link != pair => {
                    let [from_one, from_other] = own_digests();
                    tapped_between(of_names, from_one, from_other)
                }
                [one, _] if one == self.culprit => tapped_between(of_names, from_culprit.clone(), from_victim.clone()),
                _ => tapped_between(of_names, from_victim.clone(), from_culprit.clone()),
            }
        };
        run_parties(self.case.parties, &wire, |me, channels| {
            channels.iter_mut().for_each(|channel| channel.in_company(&names, me));
            let ended = self.case.part(me, Source::Dealer(4), 3, channels);
            // As a run of the program ends: each peer hears who is to blame.
            ended.inspect_err(|error| channels.iter().for_each(|channel| channel.handle().end(error)))
        })
    }
}

/// The frames that the culprit sends to the victim in an honest run.
fn frames(case: &Case, culprit: usize, victim: usize) -> Vec<Frame> {
    let run = Equivocation::new(case, culprit, victim);
    let (sent, ended) = (run.sent.clone(), run.run());
    assert!(ended.iter().all(Result::is_ok), "{ended:?}");
    std::mem::take(&mut *sent.lock().unwrap())
}

/// Other messages of the same form.
fn changes(label: u8) -> Vec<Arc<Change>> {
    let change = |change: fn(&mut Vec<u8>)| -> Arc<Change> {
        Arc::new(move |mut frame| {
            change(&mut frame.payload);
            frame
        })
    };
    let more = |payload: &mut Vec<u8>| {
        let at = payload.len().saturating_sub(4);
        payload.get_mut(at).into_iter().for_each(|byte| *byte = byte.wrapping_add(1));
    };
    let fewer = |payload: &mut Vec<u8>| {
        let at = payload.len().saturating_sub(4);
        payload.get_mut(at).into_iter().for_each(|byte| *byte = byte.wrapping_sub(1));
    };
    let flipped = |payload: &mut Vec<u8>| payload[0] ^= 1;
    // The first itemset that is told is not told.
    let withheld = |payload: &mut Vec<u8>| {
        let told = |bytes: usize| payload[..bytes].iter().map(|byte| byte.count_ones() as usize).sum::<usize>();
        let Some(bits) = (1..payload.len()).find(|bytes| bytes + 4 * told(*bytes) == payload.len()) else { return };
        let Some(first) = payload[..bits].iter().position(|byte| *byte != 0) else { return };
        payload[first] &= payload[first] - 1;
        payload.drain(bits..bits + 4);
    };
    match label {
        label if label == ITEMS.code => vec![change(more), change(fewer)],
        label if label == SUPPORTS.code || label == TOLD.code => vec![change(more), change(fewer), change(withheld)],
        label if [ANSWERS.code, SHARES.code, FIT.code].contains(&label) => vec![change(flipped)],
        _ => Vec::new(),
    }
}

/// Whether an honest party's error is true, if the party at `culprit` has broken the protocol, and no other.
fn is_true(error: &Error, culprit: &str) -> bool {
    match error {
        Error::Protocol { peer, .. } => peer == culprit,
        Error::OneOf { peers, .. } => peers.iter().any(|peer| peer == culprit),
        // What the culprit says of others is its own word.
        Error::Peer { peer, kind: ErrorKind::Protocol } => peer == culprit,
        Error::Reported { culprit: named, by, kind: ErrorKind::Protocol, .. } => named == culprit || by == culprit,
        Error::Peer { kind, .. } | Error::Reported { kind, .. } => {
            matches!(kind, ErrorKind::OneOf | ErrorKind::Network)
        }
        Error::Network { .. } => true,
        _ => false,
    }
}

/// Changes each message of the rules, one at a time.
fn check(parties: usize, mixed_only: bool, links: &[(usize, usize)]) {
    let case = case(parties, mixed_only);
    let (mut kinds, mut between_honest) = (BTreeSet::new(), BTreeSet::new());
    for &(culprit, victim) in links {
        let honest = frames(&case, culprit, victim);
        let levels = honest.iter().filter(|frame| frame.label == ANSWERS.code).count();
        assert!(levels > 2, "a first, a middle and a last level");
        for (number, frame) in honest.iter().enumerate() {
            for (way, change) in changes(frame.label).into_iter().enumerate() {
                if change(frame.clone()).payload == frame.payload {
                    continue;
                }
                let ended = Equivocation { number, change, ..Equivocation::new(&case, culprit, victim) }.run();
                let about = format!("{culprit} to {victim}, label {}, {number}, way {way}", frame.label);
                for (me, ended) in ended.iter().enumerate().filter(|(me, _)| *me != culprit) {
                    let error = ended.as_ref().err().unwrap_or_else(|| panic!("{about}: {me} has a result"));
                    assert!(is_true(error, &culprit.to_string()), "{about}, {me}: {error:?}");
                    if let Error::OneOf { peers, .. } = error {
                        assert!(!peers.contains(&me.to_string()), "{about}: {me} names itself");
                        between_honest.insert(frame.label);
                    }
                }
                kinds.insert(frame.label);
            }
        }
    }
    let mut all = BTreeSet::from([ITEMS.code, ANSWERS.code, SHARES.code]);
    all.extend(if mixed_only { vec![TOLD.code, FIT.code] } else { vec![SUPPORTS.code] });
    assert!(all.is_subset(&kinds) && all.is_subset(&between_honest), "{kinds:?} {between_honest:?}");
}

#[test]
fn a_party_of_three_that_equivocates() {
    check(3, false, &[(0, 1), (1, 2), (2, 0)]);
    check(3, true, &[(0, 2), (1, 0), (2, 1)]);
}

#[test]
fn a_party_of_four_that_equivocates() {
    check(4, false, &[(2, 0)]);
}

/// Weakened: parties that compare nothing. An honest one has a result, or blames another honest one.
#[test]
fn parties_that_compare_nothing_are_misled() {
    let (case, culprit, victim) = (case(3, false), 0, 1);
    let mut misled = BTreeSet::new();
    for (number, frame) in frames(&case, culprit, victim).iter().enumerate() {
        for change in changes(frame.label) {
            let run = Equivocation { number, change, compares: false, ..Equivocation::new(&case, culprit, victim) };
            let ended = run.run();
            let honest = ended.iter().enumerate().filter(|(me, _)| *me != culprit);
            let is_misled = |ended: &Ended<Mined>| !ended.as_ref().is_err_and(|error| is_true(error, "0"));
            misled.extend(honest.filter(|(_, ended)| is_misled(ended)).map(|_| frame.label));
        }
    }
    assert!([SUPPORTS.code, ANSWERS.code].iter().all(|label| misled.contains(label)), "{misled:?}");
}
