//! A desk finds what is on the list, at all times, and nothing else.

use std::collections::HashSet;

use rand_core::Rng;
use tacita_core::Item;
use tacita_core::protocol::intersect::live::{List, MAX_CHANGES, Step};

use super::*;

#[test]
fn what_is_on_the_list_is_found_and_nothing_else() {
    for (listed, entries) in [(0, 1), (1, 1), (3, 8), (40, 40), (500, 1000)] {
        let list = list(&items(0..listed), entries, 1);
        let mut replica = fetch(&list);
        let asked = items(0..listed + 20);
        let found = ask(&list, &mut replica, &asked, 2);
        assert_eq!(found, (0..listed + 20).map(|item| item < listed).collect::<Vec<_>>());
    }
}

/// Additions, removals, and both at once, against a set in plain code; some desks look after each change and some rarely.
#[test]
fn a_list_that_changes_is_what_a_set_is() {
    let mut random = rng(3);
    let mut list = list(&items(0..50), 120, 4);
    let mut truth: HashSet<usize> = (0..50).collect();
    let (mut eager, mut lazy) = (fetch(&list), fetch(&list));
    for round in 0..60u8 {
        let mut some = |count: u32| -> Vec<usize> { (0..count).map(|_| random.next_u32() as usize % 150).collect() };
        let (removed, mut added) = (some(4), some(4));
        added.retain(|_| truth.len() < 110);
        let before = list.items();
        change(&mut list, &items(removed.clone()), &items(added.clone()), round);
        truth.retain(|item| !removed.contains(item));
        truth.extend(&added);
        assert_eq!(list.items(), truth.len(), "{before} before");
        let asked: Vec<usize> = (0..150).step_by(7).chain(added).chain(removed).collect();
        let expected: Vec<bool> = asked.iter().map(|item| truth.contains(item)).collect();
        assert_eq!(ask(&list, &mut eager, &items(asked.clone()), round), expected);
        if round % 17 == 0 {
            assert_eq!(ask(&list, &mut lazy, &items(asked), round), expected);
        }
    }
}

#[test]
fn what_is_there_already_and_what_is_not_changes_nothing() {
    let mut list = list(&items(0..5), 8, 5);
    assert_eq!(list.plan(&items(7..9), &items(0..5), &mut rng(1)).unwrap(), []);
    // The same one several times is one.
    assert_eq!(list.plan(&items([1, 1]), &items([6, 6]), &mut rng(1)).unwrap().len(), 2);
    // Off and on again is a tag in another place.
    let steps = list.plan(&items([2]), &items([2]), &mut rng(1)).unwrap();
    assert_eq!(steps.iter().map(|step| step.added).collect::<Vec<_>>(), [false, true]);
    list.apply(&steps).unwrap();
    assert!(list.has(&items([2])[0]));
}

#[test]
fn a_list_that_is_full_says_so_and_stays_as_it_is() {
    let list = list(&items(0..5), 8, 6);
    let error = list.plan(&[], &items(10..14), &mut rng(1)).unwrap_err().to_string();
    assert!(error.contains("9 keys") && error.contains("limits.pad_to"), "{error}");
    assert!(List::new(&items(0..9), [0; 32], params(8), &mut rng(1)).is_err());
    // A place that becomes free is no room for what comes at the same time.
    assert!(list.plan(&items([0]), &items(10..14), &mut rng(1)).is_err());
}

#[test]
fn a_desk_that_missed_much_gets_it_in_portions() {
    let entries = MAX_CHANGES + 10;
    let mut list = list(&[], entries, 7);
    let mut replica = fetch(&list);
    change(&mut list, &[], &items(0..MAX_CHANGES + 5), 8);
    for left in [MAX_CHANGES, 5, 0] {
        let changes: Vec<_> = list.since(replica.state()).unwrap().collect();
        assert_eq!(changes.len(), left);
        replica.apply(&changes).unwrap();
    }
    assert_eq!(ask(&list, &mut replica, &items([0, MAX_CHANGES + 4, MAX_CHANGES + 5]), 9), [true, true, false]);
}

#[test]
fn a_desk_of_another_epoch_or_history_has_to_fetch() {
    let mut one = list(&items(0..5), 8, 10);
    let replica = fetch(&one);
    let other = list(&items(0..5), 8, 11);
    assert!(other.since(replica.state()).is_none());
    // The same list, put back, with another history since: the number of changes is the same.
    let stored = one.to_bytes();
    let mut back = List::from_bytes(&stored).unwrap();
    change(&mut one, &[], &items([6]), 1);
    change(&mut back, &[], &items([7]), 2);
    let ahead = fetch(&one);
    assert!(back.since(ahead.state()).is_none() && back.since(replica.state()).is_some());
    assert!(List::from_bytes(&stored).unwrap().since(ahead.state()).is_none(), "it is ahead of the list");
}

/// What is stored is the same list: desks go on with it, and steps that were written down do the same again.
#[test]
fn a_stored_list_goes_on() {
    let mut kept = list(&items(0..20), 64, 12);
    change(&mut kept, &items([3]), &items([30]), 1);
    let mut replica = fetch(&kept);
    let mut back = List::from_bytes(&kept.to_bytes()).unwrap();
    assert_eq!((back.state(), back.items()), (kept.state(), 20));
    let steps = kept.plan(&items([4, 30]), &items([31, 32]), &mut rng(2)).unwrap();
    let written = Step::encode_all(&steps);
    kept.apply(&steps).unwrap();
    back.apply(&Step::decode_all(&written).unwrap()).unwrap();
    assert_eq!((back.state(), back.table()), (kept.state(), kept.table()));
    let asked: Vec<Item> = items([3, 4, 5, 30, 31, 32]);
    assert_eq!(ask(&back, &mut replica, &asked, 3), [false, false, true, false, true, true]);
    // Steps of another list are refused.
    assert!(back.apply(&steps).is_err());
}

#[test]
fn every_suite_finds_the_same() {
    for suite in Suite::ALL {
        let params = Params::new(16, 1000, suite).unwrap();
        let list = List::new(&items(0..3), [1; 32], params, &mut rng(1)).unwrap();
        let mut replica = fetch(&list);
        assert_eq!(ask(&list, &mut replica, &items(0..5), 2), [true, true, true, false, false]);
        assert_eq!(List::from_bytes(&list.to_bytes()).unwrap().state(), list.state());
    }
}

#[test]
fn tags_are_as_long_as_they_must_be() {
    let bytes =
        |entries, questions| Params::new(entries, questions, Suite::Ristretto255).map(|params| params.tag_bytes);
    // 43 bits, and log2 of (2^20 + 2^17) 2^17, rounded up.
    assert_eq!(bytes(1 << 17, 1 << 20), Ok((43 + 38usize).div_ceil(8)));
    assert_eq!(bytes(1 << 26, 1 << 40), Ok(14));
    assert!(bytes(0, 1).is_err() && bytes((1 << 26) + 1, 1).is_err());
}
