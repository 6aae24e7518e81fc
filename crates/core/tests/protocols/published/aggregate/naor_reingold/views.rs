//! Tests of the view of each role, beside what the role may see; each check fails for a variant that leaks. Further
//! tests cover what a participant and the database find out together in the basic protocol, and not in the extended
//! one.

use std::collections::HashSet;

use tacita_core::primitive::group::{Embedding, Group, Ristretto255, ScalarField};
use tacita_core::primitive::ot::MESSAGES;
use tacita_core::protocol::aggregate::{Entry, ReportRow};
use tacita_core::protocol::published::aggregate::naor_reingold::{BLINDS, REPORTS, TransferForm, basic};

use super::round::{Round, round};
use crate::aggregate::round::entry;
use crate::support::views::{Check, byte_counts, fresh_points, shows_nothing, uniform};
use crate::support::{Frame, payloads, two};

const COUNT: usize = 64;

/// The frames of a participant that reports these pairs, and those of the proxy.
fn frames(round: &Round, entries: &[Entry], seed: u64) -> [Vec<Frame>; 2] {
    let (frames, _) =
        two::record(&|channel| round.send("a", entries, 1000, seed, channel).map(|()| Vec::new()), &|channel| {
            round.receive("a", entries.len(), 1000, seed + 500, channel)
        });
    frames
}

/// Whatever the keys are: one again and again, or others.
fn some_keys() -> [Vec<Entry>; 3] {
    let of = |key: &dyn Fn(u8) -> u8| (0..COUNT as u8).map(|number| entry([key(number); 4], 0)).collect();
    [of(&|_| 0), of(&|_| 0xff), of(&|number| number)]
}

#[test]
fn a_participant_sees_uniform_messages_and_points_that_never_come_again() {
    let round = round(4, 2, true, 1);
    let check = |runs: &[[Vec<Frame>; 2]]| -> Check {
        let messages: Vec<u8> = runs.iter().flat_map(|[_, proxy]| payloads(proxy, MESSAGES.code)).collect();
        uniform("messages", &byte_counts(messages.iter().copied()))?;
        let mut seen = HashSet::new();
        if !messages.chunks(32).all(|message| seen.insert(message)) {
            return Err("a message came twice".into());
        }
        fresh_points(&runs.iter().map(|[_, proxy]| payloads(proxy, BLINDS.code)).collect::<Vec<_>>())
    };
    for entries in some_keys() {
        let runs = [1, 2].map(|seed| frames(&round, &entries, seed));
        check(&runs).unwrap();
        let first = runs[0].clone();
        // Leaky: a proxy that draws the same again.
        check(&[first.clone(), first]).unwrap_err();
    }
}

#[test]
fn the_proxy_sees_fresh_ciphertexts_whatever_the_keys_and_values_are() {
    let round = round(4, 2, true, 1);
    let length = round.params.report_bytes();
    // The ciphertexts of reports: their proofs end with scalars.
    let ciphertexts = |run: &[Vec<Frame>; 2]| -> Vec<u8> {
        payloads(&run[0], REPORTS.code).chunks(length).flat_map(|report| report[..6 * 32].to_vec()).collect()
    };
    let check = |runs: &[[Vec<Frame>; 2]]| fresh_points(&runs.iter().map(ciphertexts).collect::<Vec<_>>());
    for entries in some_keys() {
        let runs = [3, 4].map(|seed| frames(&round, &entries, seed));
        assert!(runs.iter().all(|run| payloads(&run[0], REPORTS.code).len() == COUNT * length));
        check(&runs).unwrap();
        let secrets: Vec<Vec<u8>> = entries.iter().map(|entry| [&entry.key[..], &entry.key].concat()).collect();
        shows_nothing(&runs[0][0], &secrets).unwrap();
        let first = runs[0].clone();
        // Leaky: a participant whose masks are the same again.
        check(&[first.clone(), first]).unwrap_err();
    }
}

/// The proxy has 1/r, the function's key, and p; with all that it finds neither the row of a report nor its key.
#[test]
fn the_proxy_cannot_open_a_report() {
    let mut round = round(1, 0, false, 1);
    let group = Ristretto255;
    let key = round.proxy.to_bytes(&round.params);
    let p = group.decode_scalar(&key[key.len() - 32..]).unwrap();
    let input = [7];
    let (made, values) = round.evaluated(&input, TransferForm::Blinded);
    let row = group.encode(&round.proxy.function().evaluate(&group, &input));
    let report = round.report(("a", 0), &[entry(input, 0)], values.clone());
    // What it finds in a report: whether the first ciphertext is of the row, and the key in the other.
    let finds = |report: &[u8]| {
        let points = group.decode(&report[..4 * 32]).unwrap();
        let opened =
            |mask: usize| group.subtract(&points[mask + 1..mask + 2], &group.multiply(&points[mask..mask + 1], &p));
        let candidates = [points[1..2].to_vec(), opened(0)];
        let found = candidates.iter().any(|point| group.encode(&group.multiply_each(point, &made.unblind)) == row);
        (found, group.unembed(&opened(2)).remove(0).is_some())
    };
    assert_eq!(finds(&report), (false, false));
    // Leaky: a value that is not encrypted, and a key under P alone.
    let mut leaky = report;
    leaky[32..64].copy_from_slice(&group.encode(&values));
    assert_eq!(finds(&leaky), (true, false));
    let mask = group.random_scalars(1, &mut round.rng);
    let mut padded = [0; 16];
    padded[0] = 7;
    let hidden = group.add(&group.embed(&padded), &group.multiply(&group.multiply_generator(&mask), &p));
    leaky[64..96].copy_from_slice(&group.encode(&group.multiply_generator(&mask)));
    leaky[96..128].copy_from_slice(&group.encode(&hidden));
    assert_eq!(finds(&leaky), (true, true));
}

/// Data that a participant has kept: values of the function as it had them, and its reports.
struct Kept {
    values: Vec<u8>,
    reports: Vec<u8>,
}

/// Links reports to rows, as a participant and the database can do together: the row of each of the participant's
/// reports. They compare values, doubled as often as rows are, quotients of values, and the points of ciphertexts.
fn linked(round: &Round, kept: &Kept, rows: &[ReportRow]) -> Vec<Option<usize>> {
    let group = Ristretto255;
    let decode = |bytes: &[u8]| group.decode(bytes).unwrap();
    let ids: Vec<Vec<u8>> = rows.iter().map(|row| row.id.to_vec()).collect();
    let times = |bytes: &[u8], factor: u64| group.encode(&group.multiply(&decode(bytes), &group.scalar(factor)));
    let report_bytes = round.params.report_bytes();
    let of_report = |(index, report): (usize, &[u8])| {
        // 1. The row is the value, times anything small.
        let value = &kept.values[32 * index..][..32];
        let by_value = |row: &Vec<u8>| (1..=8).any(|factor| times(value, factor) == *row);
        // 2. The database strips its layer of the key's ciphertext: its first point is the participant's, times anything small.
        let mask = &report[64..96];
        let by_mask = |row: &ReportRow| (1..=8).any(|factor| times(mask, factor) == row.sealed[..32]);
        ids.iter().position(by_value).or_else(|| rows.iter().position(by_mask))
    };
    kept.reports.chunks(report_bytes).enumerate().map(of_report).collect()
}

#[test]
fn the_basic_protocol_links_a_key_to_its_row_and_the_extended_one_does_not() {
    let inputs = [7, 8, 9];
    let entries = inputs.map(|key| entry([key], 0));
    for (form, expected) in [(TransferForm::Plain, [Some(0), Some(1), Some(2)]), (TransferForm::Blinded, [None; 3])] {
        let mut round = round(1, 0, false, 1);
        let (made, values) = round.evaluated(&inputs, form);
        let kept = Ristretto255.encode(&values);
        let reports = round.report(("a", 0), &entries, values);
        let passed = match form {
            TransferForm::Plain => basic::pass(&round.params, &reports).unwrap(),
            TransferForm::Blinded => round.unblind(("a", 0), &reports, &made).unwrap(),
        };
        let rows = round.open(&passed).rows;
        assert_eq!(rows.len(), 3);
        let kept = Kept { values: kept, reports };
        assert_eq!(linked(&round, &kept, &rows), expected, "{form:?}");
        // Each half of the extended protocol alone does not do: re-randomised rows of plain values, values with r whose
        // ciphertexts pass.
        let half = match form {
            TransferForm::Plain => round.unblind(("a", 0), &kept.reports, &made).unwrap(),
            TransferForm::Blinded => basic::pass(&round.params, &kept.reports).unwrap(),
        };
        let rows = round.open(&half).rows;
        assert_eq!(linked(&round, &kept, &rows), [Some(0), Some(1), Some(2)], "half of {form:?}");
    }
}

/// Checks that, in the database, reports of one key have one row and different ciphertexts. Neither rows nor tags are
/// those of another round.
#[test]
fn the_database_sees_equal_rows_and_nothing_else_that_is_equal() {
    let mut round = round(4, 2, true, 1);
    let entries = [[1; 4], [1; 4], [2; 4]].map(|key| entry(key, 0));
    let mut opened: Vec<ReportRow> = Vec::new();
    for who in ["a", "b"] {
        let entries = round.submit(who, &entries, 2);
        opened.extend(round.open(&entries).rows);
    }
    let different = |of: &dyn Fn(&ReportRow) -> Vec<u8>| opened.iter().map(of).collect::<HashSet<_>>().len();
    assert_eq!(different(&|row| row.id.to_vec()), 2);
    assert_eq!(different(&|row| row.tag.to_vec()), 4);
    assert_eq!(different(&|row| row.sealed[..32].to_vec()), 6);
    assert_eq!(different(&|row| row.sealed[32..].to_vec()), 6);
    let mut other = super::round::round(4, 2, true, 2);
    let entries = other.submit("a", &entries, 2);
    let there: HashSet<Vec<u8>> =
        other.open(&entries).rows.iter().flat_map(|row| [row.id.to_vec(), row.tag.to_vec()]).collect();
    assert!(opened.iter().all(|row| !there.contains(&row.id[..]) && !there.contains(&row.tag[..])));
}
