//! Results among several parties: all find what a plain Apriori over all rows finds.

use proptest::prelude::*;
use tacita_core::Error;
use tacita_core::protocol::rules::association::Consequents;
use tacita_core::protocol::rules::{Learners, Params, RevealedCounts};

use super::super::results::{Case, Set, params, terms};

/// Random baskets of a few parties in which some items come together.
fn cases() -> impl Strategy<Value = Case> {
    let rows = prop::collection::vec(prop::collection::btree_set(0usize..9, 0..9), 0..30);
    let term = (prop::sample::select(vec!["0", "0.5", "0.75", "1"]), any::<bool>(), any::<bool>());
    let rest = (1usize..8, any::<bool>(), prop::option::of(1usize..6), term);
    let parties = prop::sample::select(vec![3usize, 4, 7]);
    (rows, prop::collection::vec(0usize..7, 9), parties, rest).prop_map(|(rows, owners, parties, rest)| {
        let (minimum, counts, max_len, (min_confidence, single, mixed_only)) = rest;
        let consequents = if single { Consequents::Single } else { Consequents::Any };
        let reveal = if counts { RevealedCounts::Counts } else { RevealedCounts::Frequent };
        let mut params = params(rows.len(), minimum, reveal, terms(min_confidence, consequents, mixed_only));
        params.max_len = max_len.unwrap_or(usize::MAX);
        let owners = owners.into_iter().map(|owner| owner % parties).collect();
        Case { rows, parties, owners, params, dealt: true }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]
    #[test]
    fn all_find_what_plain_apriori_finds(case in cases()) {
        case.check();
    }
}

#[test]
fn over_real_transfers() {
    let rows: Vec<Set> = (0..60usize).map(|row| (0..9).filter(|item| row * (item + 3) % 7 < 4).collect()).collect();
    for mixed_only in [false, true] {
        for reveal in [RevealedCounts::Frequent, RevealedCounts::Counts] {
            let terms = terms("0.6", Consequents::Any, mixed_only);
            let case = Case {
                params: Params { max_len: 4, ..params(rows.len(), 15, reveal, terms) },
                rows: rows.clone(),
                parties: 3,
                owners: (0..9).map(|item| item % 3).collect(),
                dealt: false,
            };
            assert!(case.expected().rules.len() > 20);
            case.check();
        }
    }
}

/// Checks that those who learn find all. The others find which itemsets are frequent, whoever has their items, and no
/// more.
#[test]
fn some_learn() {
    let rows: Vec<Set> = (0..40usize).map(|row| (0..8).filter(|item| row * (item + 3) % 7 < 4).collect()).collect();
    for (parties, learners) in [(3, vec![1]), (3, vec![0, 2]), (4, vec![3]), (4, vec![0, 1, 2])] {
        let learners = Learners::of(learners);
        let params = params(rows.len(), 10, RevealedCounts::Frequent, terms("0.6", Consequents::Any, false));
        let case = Case {
            params: Params { learners, max_len: 4, ..params },
            rows: rows.clone(),
            parties,
            owners: (0..8).map(|item| item % parties).collect(),
            dealt: true,
        };
        case.check();
        let few = Case { params: Params { max_rules: 3, ..case.params }, ..case.clone() };
        assert!(matches!(few.run(), Err(Error::Input(_))), "all hear of too many rules");
    }
}

/// Checks the edges: nobody has anything, some have nothing, nothing is frequent, everything is.
#[test]
fn edges() {
    let full: Vec<Set> = vec![(0..5).collect(); 9];
    for (rows, owners, minimum) in [
        (vec![], vec![], 1),
        (vec![Set::new(); 3], vec![0, 1, 2], 1),
        (vec![Set::from([0, 1, 2])], vec![0, 1, 2], 1),
        (vec![Set::from([0, 1, 2]), Set::from([2]), Set::from([1, 2])], vec![2, 1, 0], 2),
        (full.clone(), vec![1; 5], 3),
        (full.clone(), vec![0, 0, 2, 2, 2], 3),
        (full.clone(), vec![0, 1, 2, 1, 0], 10),
        (full.clone(), vec![2, 1, 0, 1, 0], 9),
    ] {
        for reveal in [RevealedCounts::Frequent, RevealedCounts::Counts] {
            for mixed_only in [false, true] {
                let terms = terms("0.5", Consequents::Any, mixed_only);
                let params = params(rows.len(), minimum, reveal, terms);
                let (rows, owners) = (rows.clone(), owners.clone());
                Case { params, rows, parties: 3, owners, dealt: true }.check();
            }
        }
    }
}

/// Itemsets of all of sixteen parties.
#[test]
fn sixteen_parties() {
    let params = params(3, 2, RevealedCounts::Frequent, terms("0.9", Consequents::Single, false));
    let rows: Vec<Set> = vec![(0..16).collect(), [1, 5, 15].into(), [0, 1, 5].into()];
    let case = Case { rows, parties: 16, owners: (0..16).collect(), params, dealt: true };
    assert!(case.expected().itemsets.contains_key(&Set::from([1, 5])));
    case.check();
}

/// Every batch has products and comparisons of its own, however few candidates it has.
#[test]
fn candidates_are_counted_in_batches() {
    use tacita_core::protocol::rules::mesh::batches;
    let all = |candidates, rows| batches(candidates, rows).collect::<Vec<_>>();
    assert_eq!(all(0, 100), []);
    assert_eq!(all(5000, 100), [0..4096, 4096..5000]);
    assert_eq!(all(100, 1 << 30), [0..64, 64..100]);
    // So many pairs that they are two batches.
    let rows: Vec<Set> = vec![(0..120).collect(), [7].into()];
    let params = Params { max_len: 2, ..params(2, 1, RevealedCounts::Frequent, terms("1", Consequents::Single, true)) };
    let case = Case { rows, parties: 3, owners: (0..120).map(|item| item % 3).collect(), params, dealt: true };
    assert!(case.expected().itemsets.len() > 4096);
    case.check();
}

/// Limits end the run at all parties.
#[test]
fn explosions_end_at_all_with_what_to_change() {
    let case = |max_candidates, max_rules, mixed_only| {
        let terms = terms("0.5", Consequents::Any, mixed_only);
        let params = Params { max_candidates, max_rules, ..params(5, 5, RevealedCounts::Frequent, terms) };
        let rows = vec![(0..12).collect(); 5];
        Case { params, rows, parties: 3, owners: (0..12).map(|item| item % 3).collect(), dealt: true }
    };
    let text = |max_candidates, max_rules, mixed_only| match case(max_candidates, max_rules, mixed_only).run() {
        Err(Error::Input(text)) => text,
        other => panic!("{other:?}"),
    };
    assert!(
        text(3, 1000, false).contains("items are frequent, and max_candidates is 3")
            || text(3, 1000, true).contains("own items")
    );
    assert!(text(47, 1000, false).starts_with("48 mixed candidates of 2 items"));
    for mixed_only in [false, true] {
        assert!(text(2000, 500, mixed_only).starts_with("more than 500 rules"));
    }
}
