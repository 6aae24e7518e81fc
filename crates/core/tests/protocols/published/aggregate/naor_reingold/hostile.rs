//! Parties that deviate: participants with a program of their own, whose choices and reports are not those of any key,
//! and frames that no honest party sends.

use std::sync::Arc;

use tacita_core::primitive::group::{Group, Ristretto255, ScalarField};
use tacita_core::primitive::ot::MESSAGES;
use tacita_core::protocol::aggregate::{Dropped, Entry, Refused, ReportRow, RevealThreshold, RowAnswer, Why};
use tacita_core::protocol::published::aggregate::naor_reingold::{BLINDS, REPORTS, TransferForm};

use super::round::{Round, round};
use crate::aggregate::round::{Revealed, entry};
use crate::support::attack::{Attack, Sent, by_turns, in_all_wrong_forms, no_points, oversized, run_all, says, sent};
use crate::support::two::{self, CULPRITS, Two, on_payload};

const THRESHOLD: RevealThreshold = RevealThreshold { count: 2, distinct: 2 };

/// The entries of two honest participants, who both have the key 7, of which one alone has 8.
fn honest(round: &mut Round) -> Vec<u8> {
    let mut entries = round.submit("a", &[entry([7], 0), entry([8], 1)], 9);
    entries.extend(round.submit("b", &[entry([7], 1)], 9));
    entries
}

fn expected() -> Revealed {
    Revealed::from([(vec![7], vec![0, 1])])
}

/// Makes the entries for a participant's report that has this value of the function, and claims to be of this key.
fn reported(
    round: &mut Round,
    who: &str,
    input: u8,
    key: u8,
    change: impl Fn(&Ristretto255, &mut Vec<Point>),
) -> Vec<u8> {
    let (made, mut values) = round.evaluated(&[input], TransferForm::Blinded);
    change(&Ristretto255, &mut values);
    let reports = round.report((who, 0), &[entry([key], 1)], values);
    round.unblind((who, 0), &reports, &made).unwrap()
}

type Point = <Ristretto255 as Group>::Point;

#[test]
fn another_key_under_the_row_of_one_is_found_and_counts_for_nothing() {
    let mut round = round(1, 2, true, 1);
    let honest = honest(&mut round);
    // Its choices are those of 7 and of 8, and what it seals is 9; or the other way.
    for (input, sealed) in [(7, 9), (8, 9), (9, 7)] {
        let wrong = reported(&mut round, "c", input, sealed, |_, _| ());
        let all = [&honest[..], &wrong].concat();
        assert_eq!(round.reveal(&all, THRESHOLD), expected());
        // The database sees three entries of the row of 7, and is told which of them is none of it.
        let rows = round.open(&all).rows;
        let row: Vec<ReportRow> = rows.iter().filter(|row| row.id == rows[0].id).cloned().collect();
        let answer = round.ask(&row, THRESHOLD);
        match input {
            7 => assert_eq!((row.len(), answer), (3, RowAnswer::Inconsistent(vec![2]))),
            _ => assert_eq!((row.len(), answer), (2, RowAnswer::Key(vec![7]))),
        }
    }
    // Of 8 there is one honest report: a wrong one makes two of them for the database, and the oracle says which is
    // wrong.
    let wrong = reported(&mut round, "c", 8, 9, |_, _| ());
    let rows = round.open(&[honest, wrong].concat()).rows;
    let row: Vec<ReportRow> = rows.iter().filter(|row| row.id == rows[1].id).cloned().collect();
    assert_eq!((row.len(), round.ask(&row, THRESHOLD)), (2, RowAnswer::Inconsistent(vec![1])));
}

#[test]
fn values_that_are_no_keys_are_in_rows_of_their_own() {
    type Change = fn(&Ristretto255, &mut Vec<Point>);
    let changes: [(&str, Change); 4] = [
        ("twice the value", |group, values| *values = group.add(values, values)),
        ("a multiple", |group, values| *values = group.multiply(values, &group.scalar(12345))),
        ("the generator", |group, values| *values = group.multiply_generator(&[group.scalar(1)])),
        ("random", |group, values| *values = group.hash_to_points(&[b"x"], b"test")),
    ];
    for (what, change) in changes {
        let mut round = round(1, 2, true, 1);
        let mut entries = honest(&mut round);
        // Two participants do the same, so that the database sees enough if the rows are the same.
        for who in ["c", "d"] {
            entries.extend(reported(&mut round, who, 7, 7, change));
        }
        let rows = round.open(&entries).rows;
        assert!(rows[3..].iter().all(|row| rows[..3].iter().all(|honest| honest.id != row.id)), "{what}");
        assert_eq!(round.reveal(&entries, THRESHOLD), expected(), "{what}");
        // The two are in one row where both are the same multiple of F(7): the oracle tells no key of it.
        let multiples = ["twice the value", "a multiple"].contains(&what);
        assert_eq!(rows[3].id == rows[4].id, multiples, "{what}");
        let all = (0..rows[3..].len() as u32).collect();
        assert_eq!(
            round.ask(&rows[3..], RevealThreshold { count: 1, distinct: 1 }),
            RowAnswer::Inconsistent(all),
            "{what}"
        );
    }
}

#[test]
fn the_identity_is_dropped() {
    let mut round = round(1, 2, true, 1);
    let mut entries = honest(&mut round);
    entries.extend(reported(&mut round, "c", 7, 7, |group, values| *values = group.subtract(values, values)));
    assert_eq!(round.open(&entries).dropped, Dropped { identity: 1, outside_domain: 0 });
    assert_eq!(round.reveal(&entries, THRESHOLD), expected());
}

/// Checks a participant that mixes two keys' transfers. The bits that it chooses are its own affair. If it puts the
/// messages of one key with the blind of the other, it gets into a row of its own.
#[test]
fn messages_of_one_key_with_the_blind_of_another() {
    let mut round = round(1, 2, true, 1);
    let honest = honest(&mut round);
    let (mut made, _) = round.evaluated(&[7, 7], TransferForm::Blinded);
    let half = made.pairs.len() / 2;
    made.pairs.rotate_left(half);
    let chosen = super::round::choose(&made.pairs, 32, &[7, 7]);
    let blinds = Ristretto255.decode(&made.blinds).unwrap();
    let values =
        tacita_core::protocol::published::aggregate::naor_reingold::evaluate(&Ristretto255, 1, &blinds, &chosen);
    let reports = round.report(("c", 0), &[entry([7], 0), entry([7], 0)], values);
    let wrong = round.unblind(("c", 0), &reports, &made).unwrap();
    let all = [honest, wrong].concat();
    let rows = round.open(&all).rows;
    assert!(rows[3].id != rows[4].id && rows[3..].iter().all(|row| row.id != rows[0].id));
    assert_eq!(round.reveal(&all, THRESHOLD), expected());
}

#[test]
fn reports_of_others_of_other_places_and_of_other_bytes_are_refused() {
    let mut round = round(1, 2, true, 1);
    let (made, values) = round.evaluated(&[7, 8], TransferForm::Blinded);
    let pairs = [entry([7], 0), entry([8], 1)];
    let reports = round.report(("c", 0), &pairs, values);
    let length = round.params.report_bytes();
    let refused = |index, why| Err(Refused { index, why });
    assert!(round.unblind(("c", 0), &reports, &made).is_ok());
    // By another participant, at another place, in another order, one of them twice.
    assert_eq!(round.unblind(("d", 0), &reports, &made), refused(0, Why::Proof));
    assert_eq!(round.unblind(("c", 2), &reports, &made), refused(2, Why::Proof));
    let swapped = [&reports[length..], &reports[..length]].concat();
    assert_eq!(round.unblind(("c", 0), &swapped, &made), refused(0, Why::Proof));
    let twice = [&reports[..length], &reports[..length]].concat();
    assert_eq!(round.unblind(("c", 0), &twice, &made), refused(1, Why::Proof));
    // In another round.
    let mut other = super::round::round(1, 2, true, 2);
    assert_eq!(other.unblind(("c", 0), &reports, &made), refused(0, Why::Proof));
    // Each part of a report changed: a ciphertext by another point, the proof by one bit.
    let another = Ristretto255.encode(&Ristretto255.hash_to_points(&[b"x"], b"test"));
    for part in 0..round.params.report_bytes() / 32 {
        let mut changed = reports.clone();
        changed[length + 32 * part..][..32].copy_from_slice(&another);
        assert_eq!(round.unblind(("c", 0), &changed, &made), refused(1, Why::Proof), "part {part}");
    }
    assert_eq!(round.unblind(("c", 0), &reports[1..], &made), refused(1, Why::Length));
}

/// Also where there are no values to be proved. (A report that was taken again would come out under another r, in a row
/// of its own.)
#[test]
fn replays_are_refused_without_values_too() {
    let mut round = round(1, 0, true, 1);
    let (made, values) = round.evaluated(&[7], TransferForm::Blinded);
    let report = round.report(("c", 0), &[entry([7], 0)], values);
    let (again, _) = round.evaluated(&[7], TransferForm::Blinded);
    assert!(round.unblind(("c", 0), &report, &made).is_ok());
    for (who, number) in [("d", 0), ("c", 1)] {
        let refused = Err(Refused { index: number, why: Why::Proof });
        assert_eq!(round.unblind((who, number), &report, &again), refused);
    }
}

/// Case of both roles over real transfers.
fn case() -> Arc<Two> {
    let round = Arc::new(round(1, 2, true, 1));
    let entries: Vec<Entry> = (0..5).map(|number| entry([number], u32::from(number) % 2)).collect();
    let count = entries.len();
    let (sender, receiver) = (round.clone(), round);
    Arc::new(Two {
        name: "naor-reingold".into(),
        first: Box::new(move |channel| sender.send("a", &entries, 3, 1, channel)),
        second: Box::new(move |channel| receiver.receive("a", count, 3, 2, channel).map(drop)),
    })
}

/// Attacks with all wrong forms of messages, and too long ones.
fn wrong_forms(frames: &[Sent<Two>]) -> Vec<Attack> {
    in_all_wrong_forms(frames).into_iter().chain(oversized(frames)).collect()
}

#[test]
fn every_message_in_a_wrong_form() {
    let frames = sent(case());
    for label in [BLINDS, REPORTS] {
        assert_eq!(frames.iter().filter(|(.., frame)| frame.label == label.code).count(), 2, "two stages");
    }
    run_all(by_turns(&frames, wrong_forms));
}

#[test]
#[ignore = "slow: every message in every form"]
fn every_message_in_every_wrong_form() {
    run_all(wrong_forms(&sent(case())));
}

#[test]
fn points_that_are_none() {
    let frames = sent(case());
    let mut attacks = no_points(&frames, &[BLINDS]);
    // The last of a report's parts are scalars, which are refused as proofs: its first is a point.
    for (case, _, number, frame) in frames.iter().filter(|(.., frame)| frame.label == REPORTS.code) {
        let last = frame.payload.len() - 1;
        attacks.push(on_payload(case, "no point", 0, *number, |payload| payload[..32].fill(0xff)));
        attacks.push(on_payload(case, "the identity", 0, *number, |payload| payload[32..64].fill(0)));
        attacks.push(on_payload(case, "another response", 0, *number, move |payload| payload[last - 5] ^= 1));
        attacks.push(on_payload(case, "no scalar", 0, *number, move |payload| payload[last] = 0xff));
    }
    for attack in &mut attacks {
        let by = CULPRITS.iter().position(|culprit| *culprit == attack.culprit);
        attack.expected = if by == Some(0) { |error| says(error, "reports") } else { |error| says(error, "blinds") };
    }
    run_all(attacks);
}

/// A proxy that spoils one message of each pair, or both, sees an honest run whatever the bits are: no error, as many
/// bytes.
#[test]
fn a_proxy_that_spoils_messages_sees_no_difference() {
    use crate::support::{Frame, passing, tapped};
    for input in [[0u8], [0xff]] {
        for spoiled in [0..32, 32..64, 0..64] {
            let round = round(1, 2, true, 1);
            let entries = [entry(input, 0)];
            let spoil = move |mut frame: Frame| {
                if frame.label == MESSAGES.code {
                    frame.payload.chunks_mut(64).for_each(|pair| pair[spoiled.clone()].fill(0xff));
                }
                Some(vec![frame])
            };
            let ends = tapped(passing(), Arc::new(spoil));
            let (sent, received) = two::run_over(
                ends,
                &|channel| round.send("a", &entries, 3, 1, channel).map(|()| Vec::new()),
                &|channel| round.receive("a", 1, 3, 2, channel),
            );
            let (_, traffic) = sent.unwrap();
            let (stages, _) = received.unwrap();
            assert_eq!(stages.concat().len(), round.params.entry_bytes());
            let honest = undisturbed(&round, &entries);
            assert_eq!(traffic, honest);
        }
    }
}

/// The participant's traffic in a run that nobody disturbs.
fn undisturbed(round: &Round, entries: &[Entry]) -> tacita_core::channel::Traffic {
    let (sent, _) = two::run(&|channel| round.send("a", entries, 3, 1, channel).map(|()| Vec::new()), &|channel| {
        round.receive("a", 1, 3, 2, channel)
    });
    sent.unwrap().1
}
