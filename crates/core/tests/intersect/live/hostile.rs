//! What no honest peer sends, and what no list stores.

use proptest::prelude::*;
use tacita_core::protocol::intersect::live::{Answer, Ask, Facts, List, MAX_CHANGES, MAX_ELEMENTS, Request, Step};

use super::*;

/// Each message cut at each place, longer than it says, and with each kind.
#[test]
fn messages_in_a_wrong_form() {
    let list = list(&items(0..5), 8, 1);
    let params = list.params();
    let question = Question::new(items(0..2), params, &mut rng(1)).unwrap();
    let asked = Request::Ask(Ask { state: list.state(), blinded: question.blinded().to_vec() }).encode();
    let whole = |length: usize| length == 57 || length == 57 + 32;
    for length in 0..asked.len() {
        assert_eq!(Request::decode(&asked[..length], params).is_ok(), whole(length), "{length}");
    }
    assert!(Request::decode(&[&asked[..], &[0]].concat(), params).is_err());
    assert!(Request::decode(&[0, 0], params).is_err() && Request::decode(&[2], params).is_err());
    assert_eq!(Request::decode(&[0], params), Ok(Request::Fetch));
    let many = Ask { state: list.state(), blinded: vec![0; (MAX_ELEMENTS + 1) * 32] };
    assert!(Request::decode(&Request::Ask(many).encode(), params).is_err());

    let mut changed = super::list(&items(0..5), 8, 1);
    change(&mut changed, &[], &items([6]), 2);
    let changes: Vec<_> = changed.since(&list.state()).unwrap().collect();
    let evaluated = list.evaluate(question.blinded()).unwrap();
    let answer = Answer::Answered { left: 1, behind: 0, changes, evaluated };
    let answer = answer.encode(params);
    assert!(Answer::decode(&answer, params, 2).is_ok());
    for length in 0..answer.len() {
        assert!(Answer::decode(&answer[..length], params, 2).is_err(), "{length}");
    }
    assert!(Answer::decode(&[&answer[..], &[0]].concat(), params, 2).is_err());
    assert!([0, 1, 3].iter().all(|&other| Answer::decode(&answer, params, other).is_err()));
    for kind in [0, 1, 3, 255] {
        let other = [&[kind], &answer[1..]].concat();
        assert!(Answer::decode(&other, params, 2).is_err(), "{kind}");
    }
    // More changes than there are, or may be; a place that the table does not have; a promise of changes without any.
    let with = |at: usize, bytes: &[u8]| {
        let mut other = answer.clone();
        other[at..at + bytes.len()].copy_from_slice(bytes);
        Answer::decode(&other, params, 2).unwrap_err()
    };
    assert_eq!(with(17, &u32::MAX.to_le_bytes()), "has more changes than one may have");
    assert_eq!(with(17, &(MAX_CHANGES as u32).to_le_bytes()), "has fewer changes than it says");
    assert_eq!(with(21, &8u32.to_le_bytes()), "changes a place that the table does not have");
    assert_eq!(with(9, &1u64.to_le_bytes()), "has another number of elements than were sent");
    let nothing = Answer::Answered { left: 1, behind: 1, changes: Vec::new(), evaluated: Vec::new() };
    assert!(Answer::decode(&nothing.encode(params), params, 2).is_err());
    let facts = Facts { id: [0; 32], state: list.state(), lasts: 1 }.encode();
    assert!(Facts::decode(&facts[1..]).is_err() && Facts::decode(&[&facts[..], &[0]].concat()).is_err());
}

#[test]
fn elements_that_are_none() {
    let list = list(&items(0..5), 8, 2);
    let replica = fetch(&list);
    let question = Question::new(items(0..1), list.params(), &mut rng(1)).unwrap();
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
        assert!(Replica::new(&facts, *list.params(), vec![0; length]).is_err());
    }
    // One entry in all places is one by chance or by cheating: it can go in one place, and stays in the others.
    let table = list.table()[..list.params().tag_bytes].repeat(8);
    let mut replica = Replica::new(&facts, *list.params(), table).unwrap();
    let mut other = super::list(&items(0..5), 8, 3);
    change(&mut other, &items([0]), &[], 1);
    let changes: Vec<_> = other.since(&list.state()).unwrap().collect();
    replica.apply(&changes).unwrap();
}

#[test]
fn stored_lists_that_are_damaged() {
    let mut list = list(&items(0..3), 6, 4);
    change(&mut list, &items([0]), &items([5]), 1);
    let stored = list.to_bytes();
    for length in 0..stored.len() {
        assert!(List::from_bytes(&stored[..length]).is_none(), "{length}");
    }
    assert!(List::from_bytes(&[&stored[..], &[0]].concat()).is_none());
    let steps = Step::encode_all(&list.plan(&items([1]), &[], &mut rng(1)).unwrap());
    assert!(Step::decode_all(&steps[1..]).is_none());
    assert!(Step::decode_all(&[&[2], &steps[1..]].concat()).is_none());
}

proptest! {
    #[test]
    fn whatever_comes_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let params = params(8);
        if let Ok(request) = Request::decode(&bytes, &params) {
            prop_assert_eq!(request.encode(), bytes.clone());
        }
        for elements in 0..3 {
            if let Ok(answer) = Answer::decode(&bytes, &params, elements) {
                prop_assert_eq!(answer.encode(&params), bytes.clone());
            }
        }
        let _ = List::from_bytes(&bytes);
    }
}
