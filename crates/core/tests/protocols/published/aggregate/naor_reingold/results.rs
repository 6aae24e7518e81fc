//! Tests of the results, beside a plain computation on everybody's pairs.

use proptest::prelude::*;
use tacita_core::Level;
use tacita_core::primitive::group::{Embedding, ModP};
use tacita_core::protocol::aggregate::{Entry, Params, RevealThreshold};
use tacita_core::protocol::published::aggregate::naor_reingold::{NaorReingoldProxyKey, memory_of_stage, stage};

use super::round::{Round, round, round_of};
use crate::aggregate::results::truth;
use crate::aggregate::round::{entry, rng, session};
use crate::support::two;

/// Pairs of five participants, of keys of different lengths.
fn reported(pairs: Vec<(usize, u8, u32)>, key_bytes: usize, values: u32) -> Vec<(String, Vec<Entry>)> {
    let mut reported: Vec<_> = (0..5).map(|number| (format!("participant {number}"), Vec::new())).collect();
    for (participant, key, value) in pairs {
        let length = (usize::from(key) * 7) % (key_bytes + 1);
        let key: Vec<u8> = (0..length).map(|at| key + at as u8 + 1).collect();
        reported[participant].1.push(entry(key, value % values.max(1)));
    }
    reported
}

fn agrees<G: Embedding + Sync>(
    round: &mut Round<G>,
    reported: &[(String, Vec<Entry>)],
    least: RevealThreshold,
    stage: usize,
) {
    let mut entries = Vec::new();
    for (participant, pairs) in reported {
        entries.extend(round.submit(participant, pairs, stage));
    }
    assert_eq!(round.reveal(&entries, least), truth(reported, least));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(16))]

    #[test]
    fn random_rounds(
        pairs in prop::collection::vec((0..5usize, 0..6u8, 0..4u32), 0..30),
        key_bytes in 1..20usize,
        values in prop::sample::select(vec![0u32, 1, 2, 4]),
        distinct: bool,
        count in 0..4u32,
        different in 0..4u32,
        stage in 1..9usize,
        seed: u64,
    ) {
        let mut round = round(key_bytes, values, distinct, seed);
        let least = RevealThreshold { count: count.max(1), distinct: if distinct { different } else { 0 } };
        agrees(&mut round, &reported(pairs, key_bytes, values), least, stage);
    }
}

#[test]
fn sizes_and_stages() {
    for count in [0, 1, 2, 3, 7] {
        for stage in [1, 2, 3, 7, 8, 1000] {
            let mut round = round(4, 2, true, 1);
            let pairs = (0..count).map(|number| (number % 2, number as u8 % 3, number as u32)).collect();
            agrees(&mut round, &reported(pairs, 4, 2), RevealThreshold { count: 2, distinct: 1 }, stage);
        }
    }
}

#[test]
fn a_group_modulo_p() {
    let params = Params::in_group(ModP::of(Level::Paper80), session("one"), 5, 3, true).unwrap();
    let pairs = vec![(0, 1, 2), (1, 1, 0), (2, 1, 1), (0, 2, 0), (1, 3, 1), (3, 3, 1), (4, 4, 1), (2, 5, 2)];
    agrees(&mut round_of(params, 1), &reported(pairs, 5, 3), RevealThreshold { count: 2, distinct: 2 }, 2);
}

/// Over real transfers, with stages that end within chunks of the extension, and at their ends.
#[test]
fn everything_that_it_is_made_of() {
    let mut round = round(16, 3, true, 1);
    let all: Vec<Entry> =
        (0..517u32).map(|number| entry(((number / 2) | (1 << 24)).to_le_bytes(), number % 3)).collect();
    for (count, stage) in [(517, 255), (517, 1020), (256, 256), (1, 255), (0, 255)] {
        let entries = &all[..count];
        let (sent, received) =
            two::run(&|channel| round.send("a", entries, stage, 1, channel).map(|()| Vec::new()), &|channel| {
                round.receive("a", count, stage, 2, channel)
            });
        sent.unwrap();
        let (stages, _) = received.unwrap();
        let lengths: Vec<usize> = stages.iter().map(|entries| entries.len() / round.params.entry_bytes()).collect();
        assert!(lengths.iter().take(lengths.len().saturating_sub(1)).all(|length| *length == stage));
        assert_eq!(lengths.iter().sum::<usize>(), count);
        let least = RevealThreshold { count: 2, distinct: 1 };
        assert_eq!(round.reveal(&stages.concat(), least), truth(&[("a".into(), entries.to_vec())], least));
    }
}

#[test]
fn keys_survive_their_encoding_and_those_of_others_are_refused() {
    let params = |key_bytes| Params::new(session("one"), key_bytes, 2, true).unwrap();
    let key = NaorReingoldProxyKey::generate(&params(4), &mut rng(1));
    let bytes = key.to_bytes(&params(4));
    let again = NaorReingoldProxyKey::from_bytes(&params(4), &bytes).unwrap();
    assert_eq!(*again.to_bytes(&params(4)), *bytes);
    assert_eq!(format!("{key:?}"), "ProxyKey(..)");
    assert!(NaorReingoldProxyKey::from_bytes(&params(5), &bytes).is_none());
    for end in [0, 1, 2, 34, bytes.len() - 1] {
        assert!(NaorReingoldProxyKey::from_bytes(&params(4), &bytes[..end]).is_none());
    }
    let of_dh = tacita_core::protocol::aggregate::ProxyKey::generate(&params(4), &mut rng(1)).to_bytes(&params(4));
    assert!(NaorReingoldProxyKey::from_bytes(&params(4), &of_dh).is_none());
    assert!(tacita_core::protocol::aggregate::ProxyKey::from_bytes(&params(4), &bytes).is_none());
}

#[test]
fn stages_have_as_many_keys_as_transfers_serve_and_bounded_memory() {
    for (key_bytes, keys) in [(1, 16320), (4, 4080), (16, 1020), (17, 1020), (1024, 1020)] {
        let params = Params::new(session("one"), key_bytes, 2, true).unwrap();
        assert_eq!(stage(&params), keys);
        let transfers = 2 * 130_560 * 32;
        assert!((transfers..4 * transfers + 1020 * 64 * 4 * 70).contains(&memory_of_stage(&params, keys)));
    }
}
