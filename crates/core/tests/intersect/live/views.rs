//! What each side sees, compared with what a simulator makes of what it may see. Every check is also run on a leaky variant, which
//! must fail it.

use std::collections::HashSet;

use rand_core::Rng;
use tacita_core::Item;
use tacita_core::protocol::intersect::live::Change;

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
        .map(|(asked, seed)| Question::new(asked.clone(), &params(8), &mut rng(seed)).unwrap().blinded().to_vec())
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

/// Where in the table each of the items stands.
fn places(list: &List, listed: &[Item]) -> Vec<usize> {
    let before: Vec<Vec<u8>> = list.table().chunks(list.params().tag_bytes).map(<[u8]>::to_vec).collect();
    let place = |item: &Item| {
        let mut without = List::from_bytes(&list.to_bytes()).unwrap();
        change(&mut without, std::slice::from_ref(item), &[], 1);
        let after = without.table().chunks(list.params().tag_bytes);
        before.iter().zip(after).position(|(before, after)| before != after).unwrap()
    };
    listed.iter().map(place).collect()
}

/// Neither the order of the list nor that of additions shows in the places.
#[test]
fn places_say_nothing_of_the_order() {
    let listed = items(0..PLACES);
    let (mut at_first, mut added) = (Vec::new(), Vec::new());
    for seed in 0..ORDERS as u8 {
        let list = list(&listed, PLACES, seed);
        at_first.extend(places(&list, &listed).into_iter().enumerate());
        let mut grown = super::list(&[], PLACES, seed);
        change(&mut grown, &[], &listed, seed.wrapping_add(1));
        added.extend(places(&grown, &listed).into_iter().enumerate());
    }
    hides_order(&at_first).unwrap();
    hides_order(&added).unwrap();
    let leaky: Vec<_> = (0..ORDERS).flat_map(|_| (0..PLACES).map(|place| (place, place))).collect();
    assert!(hides_order(&leaky).is_err());
}

/// An addition and a removal are both one entry that becomes another, uniform one.
fn changes_look_alike(additions: &[Change], removals: &[Change], entries: usize) -> Check {
    for changes in [additions, removals] {
        let mut counts = vec![0; entries];
        changes.iter().for_each(|change| counts[change.place as usize] += 1);
        uniform("places", &counts)?;
        let encode = |change: &Change| {
            let answer = Answer::Answered { left: 0, behind: 0, changes: vec![*change], evaluated: Vec::new() };
            answer.encode(&params(entries))[25..].to_vec()
        };
        uniform("bytes", &byte_counts(changes.iter().flat_map(encode)))?;
        let distinct: HashSet<_> = changes.iter().map(encode).collect();
        if distinct.len() < changes.len() {
            return Err("an entry came twice".into());
        }
    }
    Ok(())
}

#[test]
fn an_addition_and_a_removal_look_alike() {
    const ENTRIES: usize = 16;
    let (mut additions, mut removals) = (Vec::new(), Vec::new());
    for seed in 0..=255u8 {
        let start = list(&items(0..8), ENTRIES, seed);
        for (removed, added, into) in [(items([]), items([9]), &mut additions), (items([3]), items([]), &mut removals)]
        {
            let mut changed = List::from_bytes(&start.to_bytes()).unwrap();
            change(&mut changed, &removed, &added, seed.wrapping_add(7));
            into.extend(changed.since(&start.state()).unwrap());
        }
    }
    changes_look_alike(&additions, &removals, ENTRIES).unwrap();
    // Additions at the first free place.
    let leaky: Vec<_> = additions.iter().map(|change| Change { place: change.place % 3, ..*change }).collect();
    assert!(changes_look_alike(&leaky, &removals, ENTRIES).is_err());
    // A removal that puts the same bytes everywhere.
    let leaky: Vec<_> = removals.iter().map(|change| Change { tag: removals[0].tag, ..*change }).collect();
    assert!(changes_look_alike(&additions, &leaky, ENTRIES).is_err());
}

/// What a desk keeps of a removed item finds nothing any more, though it knows the tag; of another epoch it knows nothing.
#[test]
fn a_kept_value_is_worth_nothing_after_a_rotation() {
    let mut random = rng(9);
    let mut seed = || random.next_u32() as u8;
    let mut kept = list(&items(0..4), 8, 1);
    let mut replica = fetch(&kept);
    let question = Question::new(items([2]), kept.params(), &mut rng(seed())).unwrap();
    let evaluated = exchange(&kept, &mut replica, question.blinded());
    assert_eq!(replica.answers(&question, &evaluated), Ok(vec![true]));
    change(&mut kept, &items([2]), &[], seed());
    exchange(&kept, &mut replica, &[]);
    // Within the epoch the value is good for looking again: it is this that a rotation ends.
    assert_eq!(replica.answers(&question, &evaluated), Ok(vec![false]));
    change(&mut kept, &[], &items([2]), seed());
    exchange(&kept, &mut replica, &[]);
    assert_eq!(replica.answers(&question, &evaluated), Ok(vec![true]));
    let rotated = list(&items(0..4), 8, 2);
    assert_eq!(fetch(&rotated).answers(&question, &evaluated), Ok(vec![false]));
}
