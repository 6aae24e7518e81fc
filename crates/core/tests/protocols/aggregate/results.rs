//! Tests of the results, beside a plain computation on everybody's pairs.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tacita_core::protocol::aggregate::{
    DatabaseKey, Entry, MAX_KEY_BYTES, MAX_VALUES, Params, ProxyKey, RevealThreshold, RowAnswer, open,
};

use crate::aggregate::round::*;

/// Computes the expected result: for each key that enough pairs from enough participants have, the values.
pub fn truth(reported: &[(String, Vec<Entry>)], least: RevealThreshold) -> Revealed {
    let mut pairs = BTreeMap::<Vec<u8>, Vec<u32>>::new();
    let mut who = BTreeMap::<Vec<u8>, BTreeSet<&str>>::new();
    for (participant, entries) in reported {
        for entry in entries {
            pairs.entry(entry.key.clone()).or_default().push(entry.value);
            who.entry(entry.key.clone()).or_default().insert(participant);
        }
    }
    let enough = |key: &Vec<u8>, values: &Vec<u32>| {
        values.len() >= least.count as usize && who[key].len() >= least.distinct as usize
    };
    pairs
        .into_iter()
        .filter(|(key, values)| enough(key, values))
        .map(|(key, mut values)| {
            values.sort_unstable();
            (key, values)
        })
        .collect()
}

/// Checks that a round reveals what it must.
fn check(round: &mut Round, reported: &[(String, Vec<Entry>)], least: RevealThreshold) {
    let entries = round.entries(reported.iter().map(|(name, entries)| (&name[..], &entries[..])));
    assert_eq!(round.reveal(&entries, least), truth(reported, least));
}

#[test]
fn rounds_of_nothing_of_one_and_of_many() {
    let name = |number: usize| format!("participant {number}");
    let mut round = Round::new(16, 3, true, 1);
    let least = RevealThreshold { count: 1, distinct: 1 };
    check(&mut round, &[], least);
    check(&mut round, &[(name(0), Vec::new())], least);
    check(&mut round, &[(name(0), vec![entry(b"k", 2)])], least);
    let many: Vec<_> = (0..7)
        .map(|who| {
            (name(who), (0..43).map(|key| entry(format!("{}", key * (who + 1) % 101), (key % 3) as u32)).collect())
        })
        .collect();
    for distinct in [1, 2, 3, 7, 8] {
        check(&mut round, &many, RevealThreshold { count: 0, distinct });
    }
    assert_eq!(open(&round.params, &round.database, &[]).unwrap(), Default::default());
}

/// One participant reports a key as often as it likes: it is one.
#[test]
fn a_participant_counts_once() {
    let mut round = Round::new(16, 0, true, 2);
    let twice = [entry(b"mine", 0), entry(b"mine", 0), entry(b"ours", 0)];
    let reported = [("a".to_owned(), twice.to_vec()), ("b".to_owned(), vec![entry(b"ours", 0)])];
    check(&mut round, &reported, RevealThreshold { count: 2, distinct: 2 });
    check(&mut round, &reported, RevealThreshold { count: 2, distinct: 0 });
    let entries = round.entries(reported.iter().map(|(name, entries)| (&name[..], &entries[..])));
    assert_eq!(
        round.reveal(&entries, RevealThreshold { count: 2, distinct: 2 }).into_keys().collect::<Vec<_>>(),
        [b"ours"]
    );
    for row in round.rows(&entries).into_values() {
        // What the database has evaluated does not matter to the oracle.
        assert_eq!(round.ask(&row, RevealThreshold { count: 3, distinct: 0 }), RowAnswer::TooFew);
        assert_eq!(round.ask(&row, RevealThreshold { count: 0, distinct: 3 }), RowAnswer::TooFew);
    }
}

/// Keys of every length, with zero bytes at the end that nobody can tell from none.
#[test]
fn keys_of_every_length_come_back() {
    for (key_bytes, seed) in [(1, 3), (15, 4), (16, 5), (17, 6), (33, 7)] {
        let mut round = Round::new(key_bytes, 0, false, seed);
        let keys: Vec<Vec<u8>> = (0..=key_bytes).map(|length| vec![200; length]).collect();
        let reported: Vec<Entry> =
            keys.iter().map(|key| entry([key.clone(), vec![0; (key_bytes - key.len()).min(2)]].concat(), 0)).collect();
        let entries = round.entries([("a", &reported[..])]);
        let revealed = round.reveal(&entries, RevealThreshold { count: 1, distinct: 0 });
        assert_eq!(revealed.into_keys().collect::<Vec<_>>(), keys);
        assert!(
            tacita_core::protocol::aggregate::report(
                &round.params,
                &round.keys,
                "a",
                0,
                &[entry(vec![1; key_bytes + 1], 0)],
                &mut rng(1)
            )
            .is_err()
        );
    }
}

#[test]
fn lengths_are_as_they_are_said_to_be() {
    for (key_bytes, values, distinct, report, entry_bytes) in
        [(16, 0, false, 192, 128), (16, 1, true, 192, 192), (16, 2, true, 384, 256), (17, 10, false, 448, 256)]
    {
        let mut round = Round::new(key_bytes, values, distinct, 8);
        let pairs = [entry(b"a", 0), entry(b"", 0), entry(vec![9; 16], 0)];
        let reports = round.report("a", &pairs);
        let entries = round.blind("a", &reports).unwrap();
        assert_eq!((round.params.report_bytes(), round.params.entry_bytes()), (report, entry_bytes));
        assert_eq!((reports.len(), entries.len()), (3 * report, 3 * entry_bytes));
    }
    assert!(Params::new(session("one"), 0, 0, false).is_err());
    assert!(Params::new(session("one"), MAX_KEY_BYTES + 1, 0, false).is_err());
    assert!(Params::new(session("one"), 1, MAX_VALUES + 1, false).is_err());
}

/// Secrets that are stored and read again are the same; what is not one of them is none; none is printed.
#[test]
fn keys_survive_their_encoding() {
    let mut round = Round::new(16, 3, true, 9);
    let reports = round.report("a", &[entry(b"k", 1)]);
    let (proxy, database) = (round.proxy.to_bytes(&round.params), round.database.to_bytes(&round.params));
    round.proxy = ProxyKey::from_bytes(&round.params, &proxy).unwrap();
    round.database = DatabaseKey::from_bytes(&round.params, &database).unwrap();
    let public = round.database.public(&round.params, &mut round.rng);
    assert!(round.database.is_of(&round.params, &public));
    let other = DatabaseKey::generate(&round.params, &mut round.rng);
    assert!(!other.is_of(&round.params, &public) && !other.is_of(&round.params, &public[..5]));
    let entries = round.blind("a", &reports).unwrap();
    assert_eq!(
        round.reveal(&entries, RevealThreshold { count: 1, distinct: 1 }).into_keys().collect::<Vec<_>>(),
        [b"k"]
    );
    for length in 0..proxy.len() {
        assert!(ProxyKey::from_bytes(&round.params, &proxy[..length]).is_none());
    }
    assert!(ProxyKey::from_bytes(&round.params, &database).is_none());
    assert!(DatabaseKey::from_bytes(&round.params, &proxy).is_none());
    assert!(DatabaseKey::from_bytes(&round.params, &[&database[..], &[0]].concat()).is_none());
    assert_eq!(
        format!("{:?} {:?} {:?}", round.proxy, round.database, round.keys),
        "ProxyKey(..) DatabaseKey(..) RoundKeys(..)"
    );
    let row = &open(&round.params, &round.database, &entries).unwrap().rows[0];
    assert_eq!(
        format!("{row:?} {:?} {:?}", entry(b"k", 1), RowAnswer::Key(b"k".to_vec())),
        "Row(..) Entry(..) Key(..)"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_rounds(
        pairs in prop::collection::vec((0..5usize, 0..6u8, 0..4u32), 0..40),
        key_bytes in 1..40usize,
        values in prop::sample::select(vec![0u32, 1, 2, 4]),
        distinct: bool,
        count in 0..4u32,
        different in 0..4u32,
        seed: u64,
    ) {
        let mut round = Round::new(key_bytes, values, distinct, seed);
        let mut reported: Vec<_> = (0..5).map(|number| (format!("participant {number}"), Vec::new())).collect();
        for (participant, key, value) in pairs {
            let length = (usize::from(key) * 7) % (key_bytes + 1);
            let key: Vec<u8> = (0..length).map(|at| key + at as u8 + 1).collect();
            reported[participant].1.push(entry(key, value % values.max(1)));
        }
        let least = RevealThreshold { count: count.max(1), distinct: if distinct { different } else { 0 } };
        let entries = round.entries(reported.iter().map(|(name, entries)| (&name[..], &entries[..])));
        prop_assert_eq!(round.reveal(&entries, least), truth(&reported, least));
    }
}
