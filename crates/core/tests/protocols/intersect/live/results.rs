//! A desk finds what is on the list, at all times, and nothing else.

use std::collections::HashSet;

use rand_core::Rng;
use tacita_core::Item;
use tacita_core::protocol::intersect::live::{List, ListDraft, ListStep, MAX_CHANGES, MAX_TURNS};

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

/// Additions, removals, and both at once, against a set in plain code; some desks look after each change and some
/// rarely.
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
        change(&mut list, &items(removed.clone()), &items(added.clone()));
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
    assert_eq!(plan(&list, &items(7..9), &items(0..5)), []);
    // The same one several times is one.
    assert_eq!(plan(&list, &items([1, 1]), &items([6, 6])).len(), 2);
    // Off and on again is two tags, of which neither was there before.
    let steps = plan(&list, &items([2]), &items([2]));
    assert_eq!(steps.iter().map(|step| step.added).collect::<Vec<_>>(), [false, true]);
    list.apply(&steps).unwrap();
    assert!(list.has(&items([2])[0]));
    let mut replica = fetch(&list);
    assert_eq!(ask(&list, &mut replica, &items(1..4), 1), [true; 3]);
    change(&mut list, &items([2]), &[]);
    assert_eq!(ask(&list, &mut replica, &items(1..4), 1), [true, false, true]);
}

#[test]
fn a_list_that_is_full_says_so_and_stays_as_it_is() {
    let list = list(&items(0..5), 8, 6);
    let error = list.plan(&[], &items(10..14)).unwrap_err().to_string();
    assert!(error.contains("9 keys") && error.contains("room for 8"), "{error}");
    assert!(List::new(&items(0..9), [0; 32], params(8), &mut rng(1)).is_err());
    assert_eq!(plan(&list, &items([0]), &items(10..14)).len(), 5);
}

/// An epoch has room for so many changes, and for one item to come and go so often; what is more needs another key.
#[test]
fn an_epoch_is_over_when_it_has_no_room() {
    let mut list = list(&items(0..1), 8, 6);
    // Each round is two of its tags, besides the one that it began with.
    for _ in 1..MAX_TURNS / 2 {
        change(&mut list, &items([0]), &items([0]));
    }
    let mut replica = fetch(&list);
    assert_eq!(ask(&list, &mut replica, &items(0..2), 1), [true, false]);
    change(&mut list, &items([0]), &[]);
    assert_eq!(ask(&list, &mut replica, &items(0..2), 2), [false, false]);
    assert_eq!(list.plan(&[], &items([0])), Ok(None));
    change(&mut list, &[], &items([1]));
    assert_eq!(ask(&list, &mut replica, &items(0..2), 3), [false, true]);
    // As often as an epoch has changes.
    let mut many = super::list(&[], 8, 7);
    let room = many.params().max_changes();
    let [on] = plan(&many, &[], &items([0]))[..] else { panic!("one step") };
    let off = ListStep { added: false, ..on };
    (0..room / 2).for_each(|_| many.apply(&[on, off]).unwrap());
    assert_eq!(many.state().version, room as u64);
    assert_eq!(many.plan(&[], &items([1])), Ok(None));
    assert!(many.apply(&[on]).is_err());
}

/// A list that changes while its next epoch is prepared: that begins with what is on the list then, as if it had always
/// been so.
#[test]
fn a_draft_becomes_the_list_as_it_is_at_last() {
    let mut draft = ListDraft::new(&items(0..5), [9; 32], params(8), &mut rng(1)).unwrap();
    draft.update(&items(3..10)).unwrap();
    assert!(draft.update(&items(0..9)).unwrap_err().to_string().contains("room for 8"));
    assert!(draft.update(&items([1, 1])).is_err());
    draft.update(&items(2..8)).unwrap();
    let list = draft.begin(&mut rng(2));
    assert_eq!((list.items(), list.state().version, list.table().len()), (6, 0, params(8).table_bytes()));
    let mut replica = fetch(&list);
    let expected: Vec<bool> = (0..12).map(|item| (2..8).contains(&item)).collect();
    assert_eq!(ask(&list, &mut replica, &items(0..12), 3), expected);
}

#[test]
fn a_desk_that_missed_much_gets_it_in_portions() {
    let entries = MAX_CHANGES + 10;
    let mut list = list(&[], entries, 7);
    let mut replica = fetch(&list);
    change(&mut list, &[], &items(0..MAX_CHANGES + 5));
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
    change(&mut one, &[], &items([6]));
    change(&mut back, &[], &items([7]));
    let ahead = fetch(&one);
    assert!(back.since(ahead.state()).is_none() && back.since(replica.state()).is_some());
    assert!(List::from_bytes(&stored).unwrap().since(ahead.state()).is_none(), "it is ahead of the list");
}

/// Checks that a stored list is the same list: desks go on with it, and steps that were written down do the same again.
#[test]
fn a_stored_list_goes_on() {
    let mut kept = list(&items(0..20), 64, 12);
    change(&mut kept, &items([3]), &items([30]));
    let mut replica = fetch(&kept);
    let mut back = List::from_bytes(&kept.to_bytes()).unwrap();
    assert_eq!((back.state(), back.items()), (kept.state(), 20));
    let steps = plan(&kept, &items([4, 30]), &items([31, 32]));
    let written = ListStep::encode_all(&steps);
    kept.apply(&steps).unwrap();
    back.apply(&ListStep::decode_all(&written).unwrap()).unwrap();
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
    // 43 bits, and log2 of (2^20 + 2^18) 2^18, rounded up: as many changes as entries, but 2^14 at least.
    assert_eq!(bytes(1 << 17, 1 << 20), Ok((43 + 39usize).div_ceil(8)));
    assert_eq!(bytes(1, 1 << 20), Ok((43 + 35usize).div_ceil(8)));
    assert_eq!(bytes(1 << 26, 1 << 40), Ok(14));
    assert!(bytes(0, 1).is_err() && bytes((1 << 26) + 1, 1).is_err());
}
