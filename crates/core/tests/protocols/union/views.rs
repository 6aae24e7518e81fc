//! Tests of the messages that each role receives, compared with what a simulator makes of its own input and output:
//! sizes, the number of common items, and what is given for those that are not. Every check is also run on a leaky
//! variant, which must fail it.
//!
//! Above all, nothing may depend on *which* items are common. The receiver sees for each of the sender's items whether
//! it has it, and for each of the tags of its own items whether it is one of those: where these stand must be
//! independent of everything that it could know of an item, which is its place in the order of keys, at itself or at
//! the sender, and the item's bits.

use std::collections::HashSet;

use super::order::{ALL_PLACES, Ordered, Places, SOME_PLACES, Sending, hides_which};
use super::{given_for, receive, send, send_given};
use crate::support::two::run_over;
use crate::support::views::*;
use crate::support::*;
use tacita_core::channel::Channel;
use tacita_core::primitive::oprf::{OprfKey, Suite};
use tacita_core::primitive::ot::{BASE_KEY, BASE_POINTS, CORRECTIONS, MESSAGES, TREES};
use tacita_core::protocol::union::{ELEMENTS, Params, ShuffledItems, SortSpace, Sorter, TAGS, ecdh};
use tacita_core::{Item, Result};

const BYTES: usize = 24;

/// The frames of a run, whatever comes of it.
fn frames_of(
    mine: &[Item],
    params: &Params,
    seed: u8,
    sender: &(dyn Fn(&mut Channel) -> Result<()> + Sync),
) -> Recorded {
    recorded(|receiver, other| {
        let first = |channel: &mut Channel| receive(mine, params, channel, seed).map(drop);
        drop(run_over((receiver, other), &first, &sender));
    })
}

/// Values that the receiver can compute from its messages: its tags of the sender's items in the order in which they
/// came, and those of its own items as the sender answered them.
struct View {
    of_theirs: Vec<Vec<u8>>,
    of_own: Vec<Vec<u8>>,
}

impl View {
    fn of(frames: &[Frame], params: &Params, seed: u8) -> View {
        // The receiver's key is what it draws first.
        let key = OprfKey::random(Suite::Ristretto255, &mut rng(seed));
        let elements = key.blind_evaluate(&payloads(frames, ELEMENTS.code)).unwrap();
        let tag_key = session().derive("union ecdh tag");
        let tag = |element: &[u8]| blake3::keyed_hash(&tag_key, element).as_bytes()[..params.tag_bytes].to_vec();
        View {
            of_theirs: elements.chunks(32).map(tag).collect(),
            of_own: payloads(frames, TAGS.code).chunks(params.tag_bytes).map(<[u8]>::to_vec).collect(),
        }
    }

    /// Returns the position of the only common item among the sender's, and of its tag among those of the own.
    fn places(&self) -> Places {
        let place = |tags: &[Vec<u8>], others: &[Vec<u8>]| {
            let common: Vec<_> = (0..tags.len()).filter(|&place| others.contains(&tags[place])).collect();
            assert_eq!(common.len(), 1);
            common[0]
        };
        Places {
            among_theirs: place(&self.of_theirs, &self.of_own),
            among_own: Some(place(&self.of_own, &self.of_theirs)),
        }
    }
}

/// Variant of the sender's program.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    Given(Sending),
    /// Sender that answers the receiver's elements in the order in which they came.
    Unsorted,
}

/// Returns the bucket of an item, out of 256.
fn bucket(item: &Item) -> usize {
    item.0[0].into()
}

/// Keeps records in the order in which they come.
struct AsTheyCome;

impl SortSpace for AsTheyCome {
    fn sorter(&self, _: usize) -> Result<Box<dyn Sorter + '_>> {
        Ok(Box::new(Kept(Vec::new())))
    }
}

struct Kept(Vec<u8>);

impl Sorter for Kept {
    fn add(&mut self, records: &[u8]) -> Result<()> {
        self.0.extend_from_slice(records);
        Ok(())
    }

    fn finish(self: Box<Self>, take: &mut (dyn FnMut(&[u8]) -> Result<()> + Send)) -> Result<()> {
        take(&self.0)
    }
}

fn sender(variant: Variant, items: &[Item], params: &Params, seed: u8, channel: &mut Channel) -> Result<()> {
    match variant {
        Variant::Given(Sending::Shuffled) => send(items, params, channel, seed),
        Variant::Given(sending) => send_given(&Ordered::new(items, BYTES, sending, bucket), params, channel, seed),
        Variant::Unsorted => {
            let payload = |index: usize, out: &mut Vec<u8>| out.extend(given_for(&items[index], BYTES));
            let given = ShuffledItems::new(items, &payload, &mut rng(seed ^ 0x80))?;
            ecdh::send(&given, &AsTheyCome, &session(), params, channel, &mut rng(seed))
        }
    }
}

fn check(variant: Variant) -> Check {
    let params = Params::new(PLACES, PLACES, BYTES);
    let runs = if variant == Variant::Given(Sending::Shuffled) { ALL_PLACES } else { SOME_PLACES };
    hides_which(runs, bucket, &|mine, theirs, seed| {
        let frames = frames_of(mine, &params, 1, &|channel| sender(variant, theirs, &params, seed, channel));
        View::of(&frames.sender, &params, 1).places()
    })
}

#[test]
fn which_items_are_common_cannot_be_told_from_where_they_stand() {
    check(Variant::Given(Sending::Shuffled)).unwrap();
}

#[test]
fn items_in_the_order_of_keys_tell_which_are_common() {
    check(Variant::Given(Sending::InOrder)).unwrap_err();
}

#[test]
fn items_bucket_by_bucket_tell_which_are_common() {
    check(Variant::Given(Sending::InBuckets)).unwrap_err();
}

#[test]
fn tags_that_are_not_put_in_order_tell_which_are_common() {
    check(Variant::Unsorted).unwrap_err();
}

const SIZE: usize = 200;

/// Different overlaps of one size: at the beginning, at the end, everywhere, in another order.
fn overlaps() -> Vec<Vec<Item>> {
    let with = |common: Vec<usize>| {
        let rest = (1_000..).take(SIZE - common.len());
        items(common.into_iter().chain(rest))
    };
    let mut last = with((0..50).collect());
    last.reverse();
    vec![with((0..50).collect()), with((150..200).collect()), with((0..200).step_by(4).collect()), last]
}

/// Checks that the receiver's messages are uniform, and new in every run: elements, the tags of its own items, and what
/// is given for items that it has. The length of everything follows from the sizes.
#[test]
fn the_receiver_sees_nothing_else_of_the_items_that_it_has() {
    let (theirs, params) = (items(0..SIZE), Params { chunk: 64, ..Params::new(SIZE, SIZE, BYTES) });
    let (mut elements, mut tags, mut hidden, mut shapes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (seed, mine) in (1..).zip(overlaps()) {
        let frames = frames_of(&mine, &params, seed, &|channel| send(&theirs, &params, channel, 50 + seed)).sender;
        let view = View::of(&frames, &params, seed);
        let messages = payloads(&frames, MESSAGES.code);
        let given: Vec<u8> = messages
            .chunks(BYTES)
            .zip(&view.of_theirs)
            .filter(|(_, tag)| view.of_own.contains(tag))
            .flat_map(|(given, _)| given.to_vec())
            .collect();
        assert_eq!(given.len(), 50 * BYTES);
        assert!(view.of_own.is_sorted());
        elements.push(payloads(&frames, ELEMENTS.code));
        tags.push(view.of_own.concat());
        hidden.push(given);
        shapes.push(lengths(&frames));
    }
    assert!(shapes.iter().all(|shape| *shape == shapes[0]));
    let labels: HashSet<u8> = shapes[0].iter().map(|(label, _)| *label).collect();
    assert_eq!(labels, HashSet::from([ELEMENTS.code, TAGS.code, BASE_POINTS.code, MESSAGES.code]));
    fresh_entries(&elements.iter().map(|run| inner(run)).collect::<Vec<_>>(), 28, SIZE).unwrap();
    fresh_entries(&tags, params.tag_bytes, SIZE).unwrap();
    fresh_entries(&hidden, BYTES, 50).unwrap();
    // Leaky: not hidden at all, or alike in two runs.
    let bare: Vec<u8> = theirs[..50].iter().flat_map(|item| given_for(item, BYTES)).collect();
    fresh_entries(&[bare.clone(), bare], BYTES, 50).unwrap_err();
    fresh_entries(&[hidden[0].clone(), hidden[0].clone()], BYTES, 50).unwrap_err();
}

/// Bytes of elements that are uniform.
fn inner(elements: &[u8]) -> Vec<u8> {
    elements.chunks(32).flat_map(|element| element[2..30].to_vec()).collect()
}

/// Checks that the sender's messages are uniform, new in every run, and as long whatever the receiver's items are,
/// padded or not.
#[test]
fn the_sender_sees_nothing_of_the_receivers_items() {
    let (theirs, params) = (items(0..SIZE), Params { chunk: 64, ..Params::new(SIZE, SIZE, BYTES) });
    let mut receivers = overlaps();
    receivers.extend([items(0..SIZE), items(5_000..5_000 + SIZE), items(0..3), Vec::new()]);
    let (mut elements, mut corrections, mut shapes) = (Vec::new(), Vec::new(), Vec::new());
    for (seed, mine) in (1..).zip(receivers) {
        let frames = frames_of(&mine, &params, seed, &|channel| send(&theirs, &params, channel, 50 + seed)).receiver;
        elements.push(payloads(&frames, ELEMENTS.code));
        corrections.push(payloads(&frames, CORRECTIONS.code));
        shapes.push(lengths(&frames));
    }
    assert!(shapes.iter().all(|shape| *shape == shapes[0]));
    let labels: HashSet<u8> = shapes[0].iter().map(|(label, _)| *label).collect();
    assert_eq!(labels, HashSet::from([ELEMENTS.code, BASE_KEY.code, TREES.code, CORRECTIONS.code]));
    fresh_entries(&elements.iter().map(|run| inner(run)).collect::<Vec<_>>(), 28, SIZE).unwrap();
    uniform("corrections", &byte_counts(corrections.concat().into_iter())).unwrap();
    // Leaky: fewer elements where there are fewer items; those of another run.
    fresh_entries(&[inner(&elements[0][..32 * 3])], 28, SIZE).unwrap_err();
    fresh_entries(&[inner(&elements[0]), inner(&elements[0])], 28, SIZE).unwrap_err();
}

#[test]
fn no_item_key_or_payload_stands_in_any_frame() {
    let (mine, theirs, params) = (items(0..100), items(50..150), Params::new(109, 100, BYTES));
    let frames = frames_of(&mine, &params, 3, &|channel| send(&theirs, &params, channel, 4));
    let mut secrets: Vec<Vec<u8>> = mine.iter().chain(&theirs).map(|item| item.0.to_vec()).collect();
    secrets.extend(theirs.iter().map(|item| given_for(item, BYTES)));
    secrets.extend([3, 4].map(|seed| OprfKey::random(Suite::Ristretto255, &mut rng(seed)).to_bytes().to_vec()));
    let hashes: Vec<_> = theirs.iter().map(|item| Suite::Ristretto255.hash_to_group(&[item]).unwrap()).collect();
    secrets.extend(hashes);
    let mut frames = [frames.receiver, frames.sender].concat();
    shows_nothing(&frames, &secrets).unwrap();
    frames[1].payload.splice(5..5, mine[7].0[8..24].iter().copied());
    shows_nothing(&frames, &secrets).unwrap_err();
}
