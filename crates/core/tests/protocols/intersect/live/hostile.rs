//! Tests of messages that no honest peer sends, and of bytes that no list stores.

use proptest::prelude::*;
use tacita_core::protocol::intersect::live::{
    Facts, List, ListAnswer, ListQuery, ListRequest, ListStep, MAX_CHANGES, MAX_ELEMENTS,
};

use super::*;

/// Each message cut at each place, longer than it says, and with each kind.
#[test]
fn messages_in_a_wrong_form() {
    let list = list(&items(0..5), 8, 1);
    let params = list.params();
    let question = ListQuestion::new(items(0..2), params, &mut rng(1)).unwrap();
    let asked = ListRequest::Ask(ListQuery { state: list.state(), blinded: question.blinded().to_vec() }).encode();
    let whole = |length: usize| length == 57 || length == 57 + 32;
    for length in 0..asked.len() {
        assert_eq!(ListRequest::decode(&asked[..length], params).is_ok(), whole(length), "{length}");
    }
    assert!(ListRequest::decode(&[&asked[..], &[0]].concat(), params).is_err());
    assert!(ListRequest::decode(&[0, 0], params).is_err() && ListRequest::decode(&[2], params).is_err());
    assert_eq!(ListRequest::decode(&[0], params), Ok(ListRequest::Fetch));
    let many = ListQuery { state: list.state(), blinded: vec![0; (MAX_ELEMENTS + 1) * 32] };
    assert!(ListRequest::decode(&ListRequest::Ask(many).encode(), params).is_err());

    let mut changed = super::list(&items(0..5), 8, 1);
    change(&mut changed, &[], &items([6]));
    let changes: Vec<_> = changed.since(&list.state()).unwrap().collect();
    let evaluated = list.evaluate(question.blinded()).unwrap();
    let answer = ListAnswer::Answered { left: 1, behind: 0, changes, evaluated };
    let answer = answer.encode(params);
    assert!(ListAnswer::decode(&answer, params, 2).is_ok());
    for length in 0..answer.len() {
        assert!(ListAnswer::decode(&answer[..length], params, 2).is_err(), "{length}");
    }
    assert!(ListAnswer::decode(&[&answer[..], &[0]].concat(), params, 2).is_err());
    assert!([0, 1, 3].iter().all(|&other| ListAnswer::decode(&answer, params, other).is_err()));
    for kind in [0, 1, 3, 255] {
        let other = [&[kind], &answer[1..]].concat();
        assert!(ListAnswer::decode(&other, params, 2).is_err(), "{kind}");
    }
    // More changes than there are, or may be; a promise of changes without any.
    let with = |at: usize, bytes: &[u8]| {
        let mut other = answer.clone();
        other[at..at + bytes.len()].copy_from_slice(bytes);
        ListAnswer::decode(&other, params, 2).unwrap_err()
    };
    assert_eq!(with(17, &u32::MAX.to_le_bytes()), "has more changes than one may have");
    assert_eq!(with(17, &(MAX_CHANGES as u32).to_le_bytes()), "has fewer changes than it says");
    assert_eq!(with(9, &1u64.to_le_bytes()), "has another number of elements than were sent");
    let nothing = ListAnswer::Answered { left: 1, behind: 1, changes: Vec::new(), evaluated: Vec::new() };
    assert!(ListAnswer::decode(&nothing.encode(params), params, 2).is_err());
    let mut facts = Facts { id: [0; 32], state: list.state(), lasts: 1 };
    let encoded = facts.encode();
    for wrong in [&encoded[1..], &[&encoded[..], &[0]].concat()] {
        assert!(Facts::decode(wrong, params).is_err());
    }
    // A table that is longer than any may be takes no memory.
    for (version, is_possible) in [(params.max_changes(), true), (params.max_changes() + 1, false), (usize::MAX, false)]
    {
        facts.state.version = version as u64;
        assert_eq!(Facts::decode(&facts.encode(), params).is_ok(), is_possible, "{version}");
    }
}

#[test]
fn elements_that_are_none() {
    let list = list(&items(0..5), 8, 2);
    let replica = fetch(&list);
    let question = ListQuestion::new(items(0..1), list.params(), &mut rng(1)).unwrap();
    for bad in [[0u8; 32], [255; 32], {
        let mut odd = [0; 32];
        odd[0] = 1;
        odd
    }] {
        assert!(list.evaluate(&bad).is_err());
        assert!(replica.answers(&question, &bad).is_err());
    }
    assert!(replica.answers(&question, &[]).is_err());
}

#[test]
fn tables_that_are_none() {
    let list = list(&items(0..5), 8, 3);
    let facts = Facts { id: [0; 32], state: list.state(), lasts: 1 };
    for length in [0, 1, list.table().len() - 1, list.table().len() + 1] {
        assert!(Replica::new(&facts, *list.params(), &vec![0; length]).is_err());
    }
    // One entry in all places, and again as a change, is one by chance or by cheating: it is there.
    let table = list.table()[..list.params().tag_bytes].repeat(8);
    let mut replica = Replica::new(&facts, *list.params(), &table).unwrap();
    let mut other = super::list(&items(0..5), 8, 3);
    change(&mut other, &items([0]), &[]);
    let changes: Vec<_> = other.since(&list.state()).unwrap().collect();
    replica.apply(&changes).unwrap();
    replica.apply(&changes).unwrap();
    assert_eq!(replica.state().version, 2);
    // More changes than an epoch has.
    let most = list.params().max_changes();
    replica.apply(&changes.repeat(most - 2)).unwrap();
    assert!(replica.apply(&changes).is_err());
    assert_eq!(replica.state().version, most as u64);
}

#[test]
fn stored_lists_that_are_damaged() {
    let mut list = list(&items(0..3), 6, 4);
    change(&mut list, &items([0]), &items([5]));
    let stored = list.to_bytes();
    // Cut between two items, it is a shorter list: what it is kept in has a seal and a length.
    let one = 32 + 4;
    let items_begin = stored.len() - 4 * one;
    for length in
        (0..stored.len()).filter(|length| *length < items_begin || !(stored.len() - length).is_multiple_of(one))
    {
        assert!(List::from_bytes(&stored[..length]).is_none(), "{length}");
    }
    let twice = [&stored[..], &stored[items_begin..items_begin + one]].concat();
    let never = [&stored[..], &[7; 32], &[0; 4]].concat();
    let too_often = [&stored[..], &[7; 32], &[255; 4]].concat();
    for wrong in [[&stored[..], &[0]].concat(), twice, never, too_often] {
        assert!(List::from_bytes(&wrong).is_none());
    }
    let mut earlier = stored.to_vec();
    earlier[0] = 1;
    assert!(List::from_bytes(&earlier).is_none());
    let steps = ListStep::encode_all(&plan(&list, &items([1]), &[]));
    assert!(ListStep::decode_all(&steps[1..]).is_none());
    assert!(ListStep::decode_all(&[&[2], &steps[1..]].concat()).is_none());
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let params = params(8);
        if let Ok(request) = ListRequest::decode(&bytes, &params) {
            prop_assert_eq!(request.encode(), bytes.clone());
        }
        for elements in 0..3 {
            if let Ok(answer) = ListAnswer::decode(&bytes, &params, elements) {
                prop_assert_eq!(answer.encode(&params), bytes.clone());
            }
        }
        let _ = List::from_bytes(&bytes);
    }
}
