//! Views of each party, compared with those that a simulator makes of its own items, the sizes and the number of common
//! items. Every check is also run on a leaky variant, which must fail it.

use std::collections::HashSet;

use super::{align_as, dealt, order_as};
use crate::support::two::{record, run_over};
use crate::support::views::*;
use crate::support::*;
use crate::union::order::{ALL_PLACES, Places, SOME_PLACES, hides_which};
use tacita_core::primitive::oprf::{OprfKey, Suite};
use tacita_core::primitive::ot::MESSAGES;
use tacita_core::protocol::align::{self, Id, ORDER, Params, ROWS};
use tacita_core::protocol::intersect::vole::{MASKED, SEED};
use tacita_core::protocol::union::{self, ELEMENTS, ItemSource, MemorySpace, SenderItems, TAGS};
use tacita_core::{Channel, Item, Result, Side};

const SIZE: usize = 200;
const COMMON: usize = 50;

/// The second party's items.
fn theirs() -> Vec<Item> {
    items(0..SIZE)
}

/// Items of the first party with overlaps of one size: at the beginning, at the end, everywhere, in another order.
fn overlaps() -> Vec<Vec<Item>> {
    let with = |common: Vec<usize>| {
        let rest = (1_000..).take(SIZE - common.len());
        items(common.into_iter().chain(rest))
    };
    let mut last = with((0..COMMON).collect());
    last.reverse();
    vec![with((0..COMMON).collect()), with((150..200).collect()), with((0..200).step_by(4).collect()), last]
}

/// Frames of both parties, in the order in which each sent them, for all overlaps.
fn recordings() -> Vec<[Vec<Frame>; 2]> {
    let params = Params { chunk: 64, ..Params::new(SIZE, SIZE) };
    let record = |(seed, mine): (u8, Vec<Item>)| {
        let first = |channel: &mut Channel| align_as(Side::First, &mine, &params, channel, seed).map(drop);
        let second = |channel: &mut Channel| align_as(Side::Second, &theirs(), &params, channel, 100 + seed).map(drop);
        record(&first, &second).0
    };
    (1..).zip(overlaps()).map(record).collect()
}

/// Bytes of elements that are uniform.
fn inner(elements: &[u8]) -> Vec<u8> {
    elements.chunks(32).flat_map(|element| element[2..30].to_vec()).collect()
}

/// The shape of all messages follows from the sizes and the number of common items; masked stores, elements, tags,
/// hidden ids and the union are uniform, and new in every run.
#[test]
fn each_party_sees_fresh_uniform_strings() {
    let runs = recordings();
    let tag_bytes = union::Params::new(SIZE, SIZE, 16).tag_bytes;
    for party in 0..2 {
        let shapes: Vec<_> = runs.iter().map(|frames| lengths(&frames[party])).collect();
        assert!(shapes.iter().all(|shape| *shape == shapes[0]));
        let of = |label: u8| runs.iter().map(|frames| payloads(&frames[party], label)).collect::<Vec<_>>();
        let stores = of(MASKED.code);
        let blocks = stores[0].len() / 16;
        fresh_entries(&stores, 16, blocks).unwrap();
        fresh_entries(&of(ELEMENTS.code).iter().map(|run| inner(run)).collect::<Vec<_>>(), 28, SIZE).unwrap();
        assert_eq!(of(SEED.code).iter().collect::<HashSet<_>>().len(), runs.len());
    }
    // The first party's view: tags of its own items, and hidden ids, of which it opens those that it lacks.
    let of = |party: usize, label: u8| runs.iter().map(|frames| payloads(&frames[party], label)).collect::<Vec<_>>();
    fresh_entries(&of(1, TAGS.code), tag_bytes, SIZE).unwrap();
    fresh_entries(&of(1, MESSAGES.code), 16, SIZE).unwrap();
    // The second party's: the union.
    let unions = of(0, ORDER.code);
    fresh_entries(&unions, 16, 2 * SIZE - COMMON).unwrap();
    assert!(of(0, ROWS.code).iter().all(|rows| *rows == ((2 * SIZE - COMMON) as u64).to_le_bytes()));
    // Leaky: the ids of a second run are those of the first.
    fresh_entries(&[unions[0].clone(), unions[0].clone()], 16, 2 * SIZE - COMMON).unwrap_err();
    // Leaky: other numbers of rows than the sizes and the number of common items say.
    fresh_entries(&[unions[0][16..].to_vec()], 16, 2 * SIZE - COMMON).unwrap_err();
}

/// Ids of two runs with the same items.
fn ids_of_two_runs(seeds: [[u8; 2]; 2]) -> Vec<[Vec<Id>; 2]> {
    let params = Params::new(20, 20);
    let one = |seeds: [u8; 2]| {
        let of = |side: Side, items: Vec<Item>, seed: u8| {
            move |channel: &mut Channel| {
                let ids = align::ids(side, &items, &session(), &params, channel, &mut rng(seed))?;
                Ok(ids.to_vec())
            }
        };
        let (first, second) = (of(Side::First, items(0..20), seeds[0]), of(Side::Second, items(10..30), seeds[1]));
        record(&first, &second).1
    };
    seeds.map(one).into()
}

/// Whether ids depend on the keys of both parties: none of a run is one of the other, although items and session are
/// the same.
fn ids_are_fresh(seeds: [[u8; 2]; 2]) -> Check {
    let runs = ids_of_two_runs(seeds);
    for run in &runs {
        // Equal items have equal ids, others none in common.
        assert_eq!(run[0][10..], run[1][..10]);
        assert_eq!(run.iter().flatten().collect::<HashSet<_>>().len(), 30);
    }
    if runs[0].iter().flatten().any(|id| runs[1].iter().flatten().any(|other| other == id)) {
        Err("an id came twice".into())
    } else {
        Ok(())
    }
}

#[test]
fn ids_of_two_runs_have_nothing_in_common() {
    // A fresh key of either party is enough.
    ids_are_fresh([[1, 2], [3, 4]]).unwrap();
    ids_are_fresh([[1, 2], [1, 4]]).unwrap();
    ids_are_fresh([[1, 2], [3, 2]]).unwrap();
    // Leaky: both have the keys of the run before.
    ids_are_fresh([[1, 2], [1, 2]]).unwrap_err();
}

/// Order in which the second party gives its ids.
#[derive(Clone, Copy, PartialEq)]
enum Giving {
    /// Random, as it should.
    Shuffled,
    /// The order of its rows.
    InRowOrder,
}

/// Ids in the order of rows.
struct InRowOrder(Vec<Id>);

impl ItemSource for InRowOrder {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn items(&self, range: std::ops::Range<usize>) -> Result<std::borrow::Cow<'_, [Item]>> {
        Ok(self.0[range].iter().map(|id| id.item()).collect())
    }
}

impl SenderItems for InRowOrder {
    fn payloads(&self, range: std::ops::Range<usize>) -> Result<Vec<u8>> {
        Ok(self.0[range].iter().flat_map(|id| id.to_bytes()).collect())
    }
}

/// Whether the first party sees nothing, in what comes of the union, of where the common item stands: in the rows of
/// either party.
fn hides_rows(giving: Giving) -> Check {
    let params = Params::new(PLACES, PLACES);
    let of_union = session().child("align union", 0);
    let runs = if giving == Giving::Shuffled { ALL_PLACES } else { SOME_PLACES };
    hides_which(runs, |item| item.0[0].into(), &|mine, theirs, seed| {
        let (mine, theirs) = (dealt(mine, seed), dealt(theirs, seed));
        let frames = recorded(|first, second| {
            let first_party = |channel: &mut Channel| order_as(Side::First, &mine, &params, channel, 1).map(drop);
            let second_party = |channel: &mut Channel| match giving {
                Giving::Shuffled => order_as(Side::Second, &theirs, &params, channel, seed).map(drop),
                Giving::InRowOrder => {
                    let (given, union) = (InRowOrder(theirs.clone()), union::Params::new(PLACES, PLACES, 16));
                    union::ecdh::send(&given, &MemorySpace, &of_union, &union, channel, &mut rng(seed))?;
                    let rows = channel.receive(ROWS, 8)?[0];
                    channel.receive(ORDER, 16 * usize::from(rows)).map(drop)
                }
            };
            let (one, other) = run_over((first, second), &first_party, &second_party);
            one.unwrap();
            other.unwrap();
        });
        // The first party's key is what it draws first.
        let key = OprfKey::random(Suite::Ristretto255, &mut rng(1));
        let tag_key = of_union.derive("union ecdh tag");
        let tag_bytes = union::Params::new(PLACES, PLACES, 16).tag_bytes;
        let tag = |element: &[u8]| blake3::keyed_hash(&tag_key, element).as_bytes()[..tag_bytes].to_vec();
        let elements = key.blind_evaluate(&payloads(&frames.sender, ELEMENTS.code)).unwrap();
        let of_theirs: Vec<_> = elements.chunks(32).map(tag).collect();
        let of_own: Vec<_> = payloads(&frames.sender, TAGS.code).chunks(tag_bytes).map(<[u8]>::to_vec).collect();
        let place = |tags: &[Vec<u8>], others: &[Vec<u8>]| {
            let common: Vec<_> = (0..tags.len()).filter(|&place| others.contains(&tags[place])).collect();
            assert_eq!(common.len(), 1);
            common[0]
        };
        Places { among_theirs: place(&of_theirs, &of_own), among_own: Some(place(&of_own, &of_theirs)) }
    })
}

#[test]
fn which_rows_are_common_cannot_be_told_from_where_ids_stand() {
    hides_rows(Giving::Shuffled).unwrap();
}

#[test]
fn a_union_in_row_order_tells_which_rows_are_common() {
    hides_rows(Giving::InRowOrder).unwrap_err();
}

/// Whether the order of the union says nothing of where an item stands in the rows of its owner.
fn order_hides_rows(ids: impl Fn(&[Item], u8) -> Vec<Id>) -> Check {
    let observed: Vec<(usize, usize)> = (0..ORDERS)
        .map(|run| {
            // All of one party, so that places in the union are those in its rows, in another order.
            let mine = items(0..PLACES);
            let mut all = ids(&mine, run as u8);
            let own = all[run % PLACES];
            all.sort_unstable();
            (run % PLACES, all.iter().position(|id| *id == own).unwrap())
        })
        .collect();
    hides_order(&observed)
}

#[test]
fn the_order_of_ids_is_not_that_of_rows() {
    // Ids of real runs, one of which gives as many observations as there are items.
    let observe = |seed: u8| {
        let params = Params::new(PLACES, 0);
        let first = |channel: &mut Channel| {
            let alignment = align_as(Side::First, &items(0..PLACES), &params, channel, seed)?;
            Ok(alignment.positions().to_vec())
        };
        let second =
            |channel: &mut Channel| align_as(Side::Second, &[], &params, channel, 100 + seed).map(|_| Vec::new());
        let [positions, _] = record(&first, &second).1;
        positions.into_iter().map(|place| place as usize).enumerate().collect::<Vec<_>>()
    };
    hides_order(&(0..(ORDERS / PLACES) as u8).flat_map(observe).collect::<Vec<_>>()).unwrap();
    // Leaky: ids that count the rows.
    order_hides_rows(|items, _| (0..items.len() as u128).map(|row| Id::from_bytes(row.to_be_bytes())).collect())
        .unwrap_err();
    order_hides_rows(dealt).unwrap();
}

#[test]
fn no_item_stands_in_any_frame() {
    let (mine, params) = (items(100..300), Params::new(SIZE, SIZE));
    let first = |channel: &mut Channel| align_as(Side::First, &mine, &params, channel, 3).map(drop);
    let second = |channel: &mut Channel| align_as(Side::Second, &theirs(), &params, channel, 4).map(drop);
    let mut frames = record(&first, &second).0.concat();
    let secrets: Vec<Vec<u8>> = mine.iter().chain(&theirs()).map(|item| item.0.to_vec()).collect();
    shows_nothing(&frames, &secrets).unwrap();
    frames[1].payload.splice(5..5, mine[7].0[8..24].iter().copied());
    shows_nothing(&frames, &secrets).unwrap_err();
}
