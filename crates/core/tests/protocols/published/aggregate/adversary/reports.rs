//! Tests of the reports that a participant makes of the values it has evaluated: nobody else's counts change, and the
//! participant counts as one.

use std::collections::{BTreeMap, BTreeSet};

use rand_core::Rng;
use tacita_core::primitive::group::{Group, ScalarField};
use tacita_core::protocol::aggregate::{Entry, RevealThreshold};
use tacita_core::protocol::published::aggregate::naor_reingold::evaluate;

use super::stage::{Round, round};
use super::{GROUP, Ot, Participant, Point, Stage, bits, params, receive, rows, send_reports};
use crate::adversary::against;
use crate::aggregate::round::{Revealed, entry, passes, rng};

/// Everybody reports one of these keys with one of three values.
const VALUES: u32 = 3;

const THRESHOLD: RevealThreshold = RevealThreshold { count: 3, distinct: 2 };

/// One report: of which input it is evaluated, what is made of that, and what is said of it.
#[derive(Debug, Clone, Copy)]
struct Claim {
    input: u8,
    /// The value of the function is multiplied by this, and this multiple of the generator added.
    times: u64,
    plus: u64,
    key: u8,
    value: u32,
}

impl Claim {
    fn honest(key: u8, value: u32) -> Claim {
        Claim { input: key, times: 1, plus: 0, key, value }
    }

    /// Whether it is what somebody could report who does what is expected.
    fn is_consistent(&self) -> bool {
        self.input == self.key && self.times == 1 && self.plus == 0
    }
}

/// The entries of a participant that reports this, by OTs of its own.
fn claimed(distinct: bool, claims: &[Claim], seed: u64) -> Vec<u8> {
    let (victim, mut public) = (round(1, VALUES, distinct, 1), round(1, VALUES, distinct, 1));
    let (received, ()) = against(
        |channel| receive(&victim, Ot::Real, "one", claims.len(), seed, channel),
        |channel| {
            let mut own = Participant::connect(Ot::Real, "one", channel).unwrap();
            let bits = bits(&claims.iter().map(|claim| claim.input).collect::<Vec<_>>());
            let stage = Stage::new(&mut own, (bits.len(), claims.len()), &rows(&params(), &bits), channel).unwrap();
            let values = evaluate(&GROUP, 1, &stage.blinds, &stage.chosen(&own, &bits));
            let changed = |(claim, value): (&Claim, Point)| -> Point {
                let [times, plus] = [claim.times, claim.plus].map(|number| GROUP.scalar(number));
                let (times, plus) = (GROUP.multiply(&[value], &times), GROUP.multiply_generator(&[plus]));
                GROUP.add(&times, &plus).remove(0)
            };
            let values = claims.iter().zip(values).map(changed).collect();
            let entries: Vec<Entry> = claims.iter().map(|claim| entry([claim.key], claim.value)).collect();
            send_reports(&mut public, &entries, values, channel).unwrap();
        },
    );
    received.unwrap()
}

/// Reports of the others: keys, each of so many participants.
const OTHERS: [(u8, usize); 4] = [(1, 1), (2, 2), (3, 3), (4, 4)];

/// Returns the entries of the others.
fn others(round: &mut Round) -> Vec<u8> {
    let mut entries = Vec::new();
    for place in 0..4 {
        let own: Vec<Entry> = OTHERS
            .iter()
            .filter(|(_, many)| place < *many)
            .map(|(key, _)| entry([*key], place as u32 % VALUES))
            .collect();
        entries.extend(round.submit(&format!("other {place}"), &own, 4));
    }
    entries
}

/// Returns the expected result: for each key that enough participants report, the values of all reports that are what
/// they say.
fn expected(claims: &[Claim]) -> Revealed {
    let mut values = BTreeMap::<u8, Vec<u32>>::new();
    let mut reporters = BTreeMap::<u8, BTreeSet<usize>>::new();
    let theirs =
        OTHERS.iter().flat_map(|(key, many)| (0..*many).map(move |place| (*key, place, place as u32 % VALUES)));
    let own = claims.iter().filter(|claim| claim.is_consistent()).map(|claim| (claim.key, 4, claim.value));
    for (key, who, value) in theirs.chain(own) {
        values.entry(key).or_default().push(value);
        reporters.entry(key).or_default().insert(who);
    }
    let enough = |key: &u8, values: &Vec<u32>| values.len() >= THRESHOLD.count as usize && reporters[key].len() >= 2;
    values.retain(|key, values| {
        values.sort_unstable();
        enough(key, values)
    });
    values.into_iter().map(|(key, values)| (vec![key], values)).collect()
}

#[test]
fn whatever_a_participant_reports_others_count_as_they_do() {
    let mut rng = rng(11);
    let mut draw = |bound: u64| rng.next_u64() % bound;
    let (mut honest, mut fooled) = (0, 0);
    for seed in 0..24 {
        let claims: Vec<Claim> = (0..1 + draw(8))
            .map(|_| match draw(4) {
                0 => Claim::honest(draw(6) as u8, draw(3) as u32),
                1 => Claim { key: draw(6) as u8, ..Claim::honest(draw(6) as u8, draw(3) as u32) },
                2 => Claim { times: 1 + draw(3), plus: draw(2), ..Claim::honest(draw(6) as u8, draw(3) as u32) },
                _ => Claim { input: draw(256) as u8, times: draw(3), plus: draw(3), key: draw(256) as u8, value: 2 },
            })
            .collect();
        let mut round = round(1, VALUES, true, 1);
        let all = [others(&mut round), claimed(true, &claims, seed)].concat();
        assert_eq!(round.reveal(&all, THRESHOLD), expected(&claims), "{claims:?}");
        honest += usize::from(expected(&claims) != expected(&[]));
        // A database that takes whatever is in a row for reports of its key.
        let mut all_of_rows: Vec<Vec<u32>> = Vec::new();
        for row in round.rows(&all).into_values().filter(|row| passes(row, THRESHOLD)) {
            let mut values: Vec<u32> = row.iter().map(|entry| entry.value).collect();
            values.sort_unstable();
            all_of_rows.push(values);
        }
        let mut values: Vec<Vec<u32>> = expected(&claims).into_values().collect();
        values.sort_unstable();
        all_of_rows.sort_unstable();
        fooled += usize::from(values != all_of_rows);
    }
    assert!(honest > 3 && fooled > 3, "{honest} {fooled}");
}

/// One participant reports a key as often as it likes: by tags it is one. Without them, as the job may say, it is as
/// many as its reports.
#[test]
fn one_participant_is_one_however_often_it_reports_a_key() {
    for distinct in [false, true] {
        let claims = [0, 1, 2].map(|value| Claim::honest(9, value));
        let entries = claimed(distinct, &claims, 12);
        let mut round = round(1, VALUES, distinct, 1);
        let least = RevealThreshold { count: 3, distinct: if distinct { 2 } else { 0 } };
        let revealed = round.reveal(&entries, least);
        assert_eq!(revealed.contains_key(&vec![9]), !distinct);
    }
}

/// Checks the extent of what the protocol does not promise. A participant that multiplies the value of the function has
/// the database look for the row of the key that it has chosen. It finds no other.
#[test]
fn with_the_database_each_report_tests_one_key() {
    const TIMES: u64 = 12345;
    let mut victim = round(1, VALUES, true, 1);
    let others = others(&mut victim);
    let times = GROUP.scalar(TIMES);
    for (input, there) in [(3, true), (200, false)] {
        let planted = claimed(true, &[Claim { times: TIMES, ..Claim::honest(input, 0) }], 13);
        let planted = *victim.rows(&planted).keys().next().unwrap();
        let is_planted = |id: &[u8]| GROUP.multiply_encode(&GROUP.decode(id).unwrap(), &times) == planted;
        let found: Vec<_> = victim.rows(&others).into_keys().filter(|id| is_planted(id)).collect();
        assert_eq!(found.len(), usize::from(there));
        // Of all keys that there are it is the row of the one alone. Rows are four times the value of the function.
        let all: Vec<u8> = (0..=255).collect();
        let values = GROUP.multiply(&victim.proxy.function().evaluate(&GROUP, &all), &GROUP.scalar(4));
        let fits = |(_, id): &(&u8, &[u8])| is_planted(id);
        let fitting: Vec<u8> =
            all.iter().zip(GROUP.encode(&values).chunks(32)).filter(fits).map(|(key, _)| *key).collect();
        assert_eq!(fitting, [input]);
    }
}
