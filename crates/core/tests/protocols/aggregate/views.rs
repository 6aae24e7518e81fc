//! Tests of the view of each role, compared with what a simulator makes of what the role may see: whether two things
//! are the same, how many there are, and uniform bytes. Every check is also run on a leaky variant, which must fail it.

use std::collections::HashSet;

use tacita_core::primitive::group::{Group, Point, ScalarField};
use tacita_core::protocol::aggregate::*;

use crate::aggregate::forged::*;
use crate::aggregate::round::*;
use crate::support::views::*;

/// Reports, entries and questions are uniform and new, whatever is in them: so are those of one pair again and again.
#[test]
fn the_proxy_sees_fresh_uniform_points_whatever_is_reported() {
    let mut round = Round::new(16, 3, true, 1);
    let pairs: [Vec<Entry>; 3] = [
        (0..60).map(|_| entry(b"the same key", 2)).collect(),
        (0..60u8).map(|number| entry([number; 16], 0)).collect(),
        (0..60).map(|_| entry(b"", 1)).collect(),
    ];
    let points = |reports: &[u8], length: usize| {
        reports.chunks(length).flat_map(|report| report[..256].to_vec()).collect::<Vec<u8>>()
    };
    let length = round.params.report_bytes();
    let runs: Vec<Vec<u8>> = pairs.iter().map(|pairs| points(&round.report("a", pairs), length)).collect();
    fresh_points(&runs).unwrap();
    // The row function's input, or the key, as it is.
    let mut leaky = runs.clone();
    for report in leaky[0].chunks_mut(256) {
        report[32..64].copy_from_slice(&encoded(&hashed(&round, b"the same key")));
    }
    assert!(fresh_points(&leaky).is_err());
    // The same masks again: those of a source of randomness that starts anew.
    let again = |_| points(&report(&round.params, &round.keys, "a", 0, &pairs[0], &mut rng(5)).unwrap(), length);
    assert!(fresh_points(&[again(0), again(1)]).is_err());
}

/// The points of each thing of `width` bytes.
fn points(bytes: &[u8], width: usize) -> Vec<Vec<Point>> {
    bytes.chunks(width).map(|chunk| GROUP.decode(&chunk[..chunk.len() / 32 * 32]).unwrap()).collect()
}

fn double(point: &Point) -> Point {
    plus(point, point)
}

/// Whether one thing among `before` can be recognised among `after`: a point, doubled once or twice or not, or a sum of
/// two ciphertexts'.
fn recognised(before: &[Vec<Point>], after: &[Vec<Point>]) -> Check {
    let seen: HashSet<Vec<u8>> = after.iter().flatten().map(encoded).collect();
    for point in before.iter().flatten() {
        let multiples = [point.clone(), double(point), double(&double(point)), double(&double(&double(point)))];
        if multiples.iter().any(|multiple| seen.contains(&encoded(multiple))) {
            return Err("a point is recognised".into());
        }
    }
    Ok(())
}

/// Whether the database and a participant, who knows its masks of the first ciphertexts, recognise them among
/// `entries`: by ratios, since all are multiplied by one secret.
fn recognised_by_masks(masks: &[Scalar], entries: &[Vec<Point>]) -> Check {
    for (i, one) in entries.iter().enumerate() {
        for (j, other) in entries.iter().enumerate().filter(|(j, _)| *j != i) {
            for a in masks {
                for b in masks.iter().filter(|b| GROUP.encode_scalar(b) != GROUP.encode_scalar(a)) {
                    if encoded(&times(&one[0], b)) == encoded(&times(&other[0], a)) {
                        return Err(format!("entries {i} and {j} are recognised"));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The database and a participant together know every mask in its reports, and find none of them again.
#[test]
fn the_database_and_a_participant_recognise_no_report() {
    let mut round = Round::new(16, 3, true, 2);
    let (mut reports, mut masks) = (Vec::new(), Vec::new());
    for number in 0..4 {
        let forged = Forged { number, ..Forged::honest(&round, "a", &[number as u8 + 1], number % 3) };
        let (report, used) = forged.make(&mut round);
        reports.extend(report);
        masks.push(used[0].clone());
    }
    let entries = round.blind("a", &reports).unwrap();
    let before: Vec<Vec<Point>> =
        reports.chunks(round.params.report_bytes()).map(|report| GROUP.decode(&report[..192]).unwrap()).collect();
    let after = points(&entries, round.params.entry_bytes());
    recognised(&before, &after).unwrap();
    recognised_by_masks(&masks, &after).unwrap();
    // What else the database has of them: rows and questions.
    let opened = open(&round.params, &round.database, &entries).unwrap().rows;
    let sealed: Vec<u8> = opened.iter().flat_map(|row| row.sealed.clone()).collect();
    recognised(&before, &points(&sealed, 64)).unwrap();

    // A proxy that doesn't re-randomise values and keys, only doubles them as it does; and one that only multiplies
    // rows by its secret.
    let lazy: Vec<Vec<Point>> = before.iter().map(|report| report.iter().map(double).collect()).collect();
    assert!(recognised(&before, &lazy).is_err());
    let secret = GROUP.random_scalars(1, &mut round.rng).remove(0);
    let lazy: Vec<Vec<Point>> = before.iter().map(|report| vec![times(&report[0], &secret)]).collect();
    recognised(&before, &lazy).unwrap();
    assert!(recognised_by_masks(&masks, &lazy).is_err());
}

/// Pattern of equality: for each of these the index of the first that is the same.
fn pattern<T: PartialEq>(things: &[T]) -> Vec<usize> {
    things.iter().map(|thing| things.iter().position(|other| other == thing).unwrap()).collect()
}

/// The database sees which entries have the same key, and within a row which have the same reporter, and no more:
/// across rows no tag is another's, whoever has reported, and nothing is the same in another round.
#[test]
fn the_database_sees_rows_and_reporters_within_rows() {
    let reported = [("a", [b"x", b"y", b"y"]), ("b", [b"x", b"y", b"z"])];
    let mut all = Vec::new();
    let mut tags = HashSet::new();
    for seed in [3, 4] {
        let mut round = Round::new(16, 0, true, seed);
        let mut entries = Vec::new();
        for (participant, keys) in reported {
            let reports = round.report(participant, &keys.map(|key| entry(key, 0)));
            entries.extend(round.blind(participant, &reports).unwrap());
        }
        let rows = open(&round.params, &round.database, &entries).unwrap().rows;
        assert_eq!(pattern(&rows.iter().map(|row| row.id).collect::<Vec<_>>()), [0, 1, 1, 0, 1, 5]);
        assert_eq!(pattern(&rows.iter().map(|row| row.tag).collect::<Vec<_>>()), [0, 1, 1, 3, 4, 5]);
        assert_eq!(pattern(&rows.iter().map(|row| row.sealed.clone()).collect::<Vec<_>>()), [0, 1, 2, 3, 4, 5]);
        tags.extend(rows.iter().map(|row| row.tag));
        all.push(rows.iter().flat_map(|row| [row.id, row.tag]).collect::<Vec<_>>());
    }
    assert_eq!(tags.len(), 10);
    assert!(all[0].iter().all(|id| !all[1].contains(id)));
    // Tags that are the same in all rows of a participant would join them.
    let joined = reported.map(|(participant, keys)| keys.map(|_| participant));
    assert_ne!(pattern(&joined.concat()), [0, 1, 1, 3, 4, 5]);
}

/// The relation of two tags says nothing either: differences and sums of a row's id and a tag that are the same in two
/// rows would join them.
#[test]
fn tags_of_two_rows_have_nothing_in_common() {
    let mut round = Round::new(16, 0, true, 5);
    let entries = round.entries([("a", &[entry(b"x", 0), entry(b"y", 0)][..])]);
    let rows = open(&round.params, &round.database, &entries).unwrap().rows;
    let common = |rows: &[[Point; 2]]| {
        let [one, other] = [&rows[0], &rows[1]].map(|[id, tag]| {
            let tag = std::slice::from_ref(tag);
            let id = std::slice::from_ref(id);
            [GROUP.encode(&GROUP.subtract(tag, id)), GROUP.encode(&GROUP.add(tag, id)), GROUP.encode(tag)]
        });
        one.iter().any(|relation| other.contains(relation))
    };
    let read = |bytes: &[u8; 32]| one(GROUP.decode(bytes).unwrap());
    let seen: Vec<[Point; 2]> = rows.iter().map(|row| [read(&row.id), read(&row.tag)]).collect();
    assert!(!common(&seen));
    // A tag that is a participant's point added to the row, and one that is the point alone.
    let own = one(GROUP.random_points(1, &mut round.rng));
    assert!(common(&seen.iter().map(|[id, _]| [id.clone(), plus(id, &own)]).collect::<Vec<_>>()));
    assert!(common(&seen.iter().map(|[id, _]| [id.clone(), own.clone()]).collect::<Vec<_>>()));
}

/// The proxy's domain has both what it sent and what its oracle is asked, and can't tell which entries a question is
/// about.
#[test]
fn the_oracle_recognises_no_entry() {
    let mut round = Round::new(16, 3, true, 6);
    let pairs: Vec<Entry> = (0..6).map(|_| entry(b"key", 1)).collect();
    let reports = round.report("a", &pairs);
    let entries = round.blind("a", &reports).unwrap();
    let rows = open(&round.params, &round.database, &entries).unwrap().rows;
    let sealed: Vec<&[u8]> = rows.iter().map(|row| &row.sealed[..]).collect();
    let asked = ask(&round.params, &round.keys, &sealed, &mut round.rng).unwrap();
    let sent = points(&entries, round.params.entry_bytes());
    recognised(&sent, &points(&asked, 64)).unwrap();
    fresh_points(&[asked.clone(), ask(&round.params, &round.keys, &sealed, &mut round.rng).unwrap()]).unwrap();
    // A database that asks with what it has; it is what the proxy has sent, twice.
    assert!(recognised(&sent, &points(&sealed.concat(), 64)).is_err());
}

/// Checks that what the oracle is told of reporters is the same whoever they are, in an order that the database draws.
/// Tags would tell the proxy's domain who has reported the key: that domain can make them again.
#[test]
fn the_oracle_sees_how_many_reporters_and_not_which() {
    let mut round = Round::new(16, 0, true, 7);
    let reported = ["a", "b", "c"].map(|name| (name, vec![entry(b"key", 0)]));
    let mut observed = Vec::new();
    let mut row = Vec::new();
    for _ in 0..ORDERS / 3 {
        let entries = round.entries(reported.iter().map(|(name, entries)| (*name, &entries[..])));
        row = round.rows(&entries).into_values().next().unwrap();
        assert_eq!(classes(&row), [0, 1, 2]);
        observed.push(row[0].tag);
    }
    let names = ["a", "b", "c"].map(|name| {
        let reports = round.report(name, &[entry(b"key", 0)]);
        let entries = round.blind(name, &reports).unwrap();
        open(&round.params, &round.database, &entries).unwrap().rows[0].tag
    });
    // Whoever has tags has names; numbers in a random order have none.
    assert!(row.iter().all(|entry| names.contains(&entry.tag)));
    let count = |name: &[u8; 32]| observed.iter().filter(|tag| *tag == name).count() as u64;
    uniform("who comes first", &names.each_ref().map(count)).unwrap();
    assert!(uniform("who comes first, unshuffled", &[ORDERS as u64 / 3, 0, 0]).is_err());
}

/// Checks that nothing in a shuffled round tells the place of an entry in the proxy's order.
#[test]
fn the_order_of_entries_says_nothing() {
    let mut round = Round::new(16, PLACES as u32, false, 8);
    let pairs: Vec<Entry> = (0..PLACES as u32).map(|place| entry([place as u8 + 1], place)).collect();
    let reports = round.report("a", &pairs);
    let unshuffled = round.blind("a", &reports).unwrap();
    let observed = |entries: &[u8], round: &Round| -> Vec<(usize, usize)> {
        let rows = open(&round.params, &round.database, entries).unwrap().rows;
        rows.iter().enumerate().map(|(to, row)| (row.value as usize, to)).collect()
    };
    let mut seen = Vec::new();
    for _ in 0..ORDERS {
        let shuffled = round.shuffle(&unshuffled);
        seen.extend(observed(&shuffled, &round));
    }
    hides_order(&seen).unwrap();
    let leaky: Vec<_> = (0..ORDERS).flat_map(|_| observed(&unshuffled, &round)).collect();
    assert!(hides_order(&leaky).is_err());
}
