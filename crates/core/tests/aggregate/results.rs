//! What comes out, beside a plain computation on everybody's pairs.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use tacita_core::protocol::aggregate::{Answer, Least};

use crate::round::*;

/// What must come out: of each key that enough pairs from enough participants have, the values.
fn truth(reported: &[(String, Vec<tacita_core::protocol::aggregate::Entry>)], least: Least) -> Revealed {
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
        let least = Least { count: count.max(1), distinct: if distinct { different } else { 0 } };
        let entries = round.entries(reported.iter().map(|(name, entries)| (&name[..], &entries[..])));
        prop_assert_eq!(round.reveal(&entries, least), truth(&reported, least));
    }
}
