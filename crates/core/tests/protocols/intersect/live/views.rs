//! Tests of the view of each side, compared with what a simulator makes of what the side may see. Every check is also
//! run on a leaky variant, which must fail it.

use std::collections::HashSet;

use rand_core::Rng;
use tacita_core::Item;
use tacita_core::protocol::intersect::live::ListDraft;

use super::*;
use crate::support::views::*;

/// Elements of several questions: new in each, and uniform, whatever is asked.
fn fresh_elements(questions: &[Vec<u8>]) -> Check {
    let mut seen = HashSet::new();
    for element in questions.iter().flat_map(|question| question.chunks(32)) {
        if !seen.insert(element.to_vec()) {
            return Err("an element came twice".into());
        }
    }
    let inner = questions.iter().flat_map(|question| question.chunks(32)).flat_map(|element| element[3..31].to_vec());
    uniform("bytes", &byte_counts(inner))
}

#[test]
fn the_authority_sees_fresh_uniform_elements_whatever_is_asked() {
    let asked = [items(0..100), items(0..100), items([5; 100]), items(1000..1100)];
    let questions: Vec<Vec<u8>> = asked
        .iter()
        .zip(1..)
        .map(|(asked, seed)| ListQuestion::new(asked.clone(), &params(8), &mut rng(seed)).unwrap().blinded().to_vec())
        .collect();
    fresh_elements(&questions).unwrap();
    // One blind for a whole question; no blind at all; the same blinds again.
    let unblinded: Vec<Vec<u8>> = asked.iter().map(|asked| Suite::Ristretto255.hash_to_group(asked).unwrap()).collect();
    assert!(fresh_elements(&unblinded).is_err());
    assert!(fresh_elements(&[questions[0].clone(), questions[0].clone()]).is_err());
}

/// The table tells nothing of how many are on the list, nor of which: it is uniform, and new in each epoch.
#[test]
fn a_desk_sees_a_uniform_table_whatever_is_on_the_list() {
    let bytes = params(200).tag_bytes;
    let tables: Vec<Vec<u8>> = [items(0..0), items(0..1), items(0..200), items(0..200), items(50..150)]
        .iter()
        .zip(1..)
        .map(|(listed, seed)| list(listed, 200, seed).table().to_vec())
        .collect();
    fresh_entries(&tables, bytes, 200).unwrap();
    // Zeros in the place of dummies; and a key that is used in two epochs, in which a tag would be the same.
    let mut leaky = tables.clone();
    leaky[1][bytes..].fill(0);
    assert!(fresh_entries(&leaky, bytes, 200).is_err());
    assert!(fresh_entries(&[tables[2].clone(), tables[2].clone()], bytes, 200).is_err());
}

/// Finds the entries of the table that are tags of an item, as a desk finds them that has asked for the item.
fn entries_of(list: &List, item: &Item) -> Vec<usize> {
    // Its tags from the first one on, by a list that never had it: of what is stored, each item stands at the end once,
    // with a number.
    let mut without = list.to_bytes().to_vec();
    if let Some(at) = without.windows(32).rposition(|part| part == item.0) {
        without.drain(at..at + 32 + 4);
    }
    let mut without = List::from_bytes(&without).unwrap();
    let begun = without.table().len();
    change(&mut without, &[], &[*item]);
    change(&mut without, &[*item], &[*item]);
    let length = list.params().tag_bytes;
    let tags: Vec<&[u8]> = without.table()[begun..].chunks(length).collect();
    let entries = list.table().chunks(length).enumerate();
    entries.filter(|(_, entry)| tags.contains(entry)).map(|(place, _)| place).collect()
}

/// The order of the list does not show in the places.
#[test]
fn places_say_nothing_of_the_order() {
    let listed = items(0..PLACES);
    let mut at_first = Vec::new();
    for seed in 0..ORDERS as u8 {
        let list = list(&listed, PLACES, seed);
        at_first.extend(listed.iter().map(|item| entries_of(&list, item)[0]).enumerate());
    }
    hides_order(&at_first).unwrap();
    let leaky: Vec<_> = (0..ORDERS).flat_map(|_| (0..PLACES).map(|place| (place, place))).collect();
    assert!(hides_order(&leaky).is_err());
}

/// Tables before and after as many changes: there are as many entries more behind the others, uniform and new, and
/// nothing else has changed.
fn shows_only_how_many(tables: &[(Vec<u8>, Vec<u8>)], changes: usize, entry: usize) -> Check {
    let mut seen = HashSet::new();
    for (before, after) in tables {
        if !after.starts_with(before) {
            return Err("an entry became another".into());
        }
        if after.len() != before.len() + changes * entry {
            return Err("there is another number of entries".into());
        }
        for entry in after.chunks(entry) {
            if !seen.insert(entry) {
                return Err("an entry came twice".into());
            }
        }
    }
    uniform("bytes", &byte_counts(tables.iter().flat_map(|(before, after)| after[before.len()..].to_vec())))
}

const CHANGES: usize = 6;

/// Number of items with which the list begins, and the changes that follow.
type History = (usize, fn(&mut List));

/// Each history makes as many changes, on a list that is empty, half full or full.
fn histories() -> [History; 5] {
    [
        (0, |list| change(list, &[], &items(20..26))),
        (16, |list| change(list, &items(3..9), &[])),
        (8, |list| change(list, &items(0..3), &items(20..23))),
        // One that comes and goes, in one batch after the other.
        (8, |list| (0..3).for_each(|_| change(list, &items([2]), &items([2])))),
        (8, |list| {
            for _ in 0..3 {
                change(list, &[], &items([20]));
                change(list, &items([20]), &[]);
            }
        }),
    ]
}

/// Whether rows come, go, or do both in turn, and how many there are: changes show their number alone.
#[test]
fn additions_and_removals_look_alike() {
    let bytes = params(16).tag_bytes;
    for (listed, history) in histories() {
        let tables: Vec<(Vec<u8>, Vec<u8>)> = (0..100)
            .map(|seed| {
                let mut list = list(&items(0..listed), 16, seed);
                let before = list.table().to_vec();
                history(&mut list);
                (before, list.table().to_vec())
            })
            .collect();
        shows_only_how_many(&tables, CHANGES, bytes).unwrap();
        // A removal that overwrites the tag; one that has the same bytes everywhere; an addition that brings an old tag
        // back.
        let leaky = |leak: &dyn Fn(usize, &mut Vec<u8>)| {
            let mut leaky = tables.clone();
            leaky.iter_mut().enumerate().for_each(|(number, (_, after))| leak(number, after));
            shows_only_how_many(&leaky, CHANGES, bytes)
        };
        assert!(leaky(&|number, after| after[number % 16 * bytes] ^= 1).is_err());
        assert!(leaky(&|_, after| after[16 * bytes..17 * bytes].fill(0)).is_err());
        assert!(
            leaky(&|number, after| after.copy_within(number % 16 * bytes..(number % 16 + 1) * bytes, 17 * bytes))
                .is_err()
        );
        assert!(leaky(&|_, after| after.truncate(20 * bytes)).is_err());
        // Zeros at the end of each, so that none comes twice.
        let biased = leaky(&|_, after| (16..22).for_each(|entry| after[entry * bytes + bytes - 1] = 0));
        assert!(biased.is_err());
    }
}

/// Checks an epoch that was prepared while the list changed. Nobody sees what changed meanwhile: neither in the number
/// of entries, nor by a value of what is gone.
#[test]
fn a_new_epoch_shows_nothing_of_the_one_before() {
    let listed = |item: &Item| items(2..8).contains(item);
    let mut draft = ListDraft::new(&items(0..5), [1; 32], params(8), &mut rng(1)).unwrap();
    draft.update(&items(2..8)).unwrap();
    let list = draft.begin(&mut rng(2));
    assert_eq!(list.table().len(), params(8).table_bytes());
    for item in items(0..8) {
        assert_eq!(entries_of(&list, &item).len(), usize::from(listed(&item)));
    }
    // Changes that are made after the epoch has begun do show to who asks.
    let mut leaky = super::list(&items(0..5), 8, 1);
    change(&mut leaky, &items(0..2), &items(5..8));
    assert_eq!(entries_of(&leaky, &items([0])[0]).len(), 2);
}

/// Checks that a desk's kept value of a removed item finds nothing any more, though the desk knows the tag. Of another
/// epoch it knows nothing.
#[test]
fn a_kept_value_is_worth_nothing_after_a_rotation() {
    let mut random = rng(9);
    let mut seed = || random.next_u32() as u8;
    let mut kept = list(&items(0..4), 8, 1);
    let mut replica = fetch(&kept);
    let question = ListQuestion::new(items([2]), kept.params(), &mut rng(seed())).unwrap();
    let evaluated = exchange(&kept, &mut replica, question.blinded());
    assert_eq!(replica.answers(&question, &evaluated), Ok(vec![true]));
    change(&mut kept, &items([2]), &[]);
    exchange(&kept, &mut replica, &[]);
    // Within the epoch the value is good for looking again: it is this that a rotation ends.
    assert_eq!(replica.answers(&question, &evaluated), Ok(vec![false]));
    change(&mut kept, &[], &items([2]));
    exchange(&kept, &mut replica, &[]);
    assert_eq!(replica.answers(&question, &evaluated), Ok(vec![true]));
    let rotated = list(&items(0..4), 8, 2);
    assert_eq!(fetch(&rotated).answers(&question, &evaluated), Ok(vec![false]));
}
