//! Tests of the view of each role of `polynomial-ot`. Every check is also run on a leaky variant, which must fail it.
//! Unit tests of `intersect::polynomial` check, in a small group, that blinded values say only whether they are zero.

use std::collections::HashSet;

use super::{receive, send, send_given, wanted};
use crate::support::published::polynomials::{GROUP, STRATEGY, Scalar, ask_for, root};
use crate::support::two::record;
use crate::support::views::{Check, PLACES, fresh_points, shows_nothing};
use crate::support::{Frame, items, lengths, payloads, rng};
use crate::union::given_for;
use crate::union::order::{ALL_PLACES, Ordered, Places, SOME_PLACES, Sending, hides_which};
use tacita_core::channel::Channel;
use tacita_core::primitive::group::{Group, ScalarField};
use tacita_core::primitive::ot::{BASE_KEY, BASE_POINTS, CORRECTIONS, MESSAGES, TREES};
use tacita_core::primitive::published::polynomial::expand;
use tacita_core::protocol::published::intersect::polynomial::{ANSWERS, POLYNOMIALS, PUBLIC_KEY, Strategy};
use tacita_core::protocol::published::union::polynomial_ot::Params;
use tacita_core::{Item, Result, Role};

const BYTES: usize = 24;
const BINS: usize = 4;

/// The bin of an item.
fn bin(item: &Item) -> usize {
    let bits = u64::from_le_bytes(item.0[8..16].try_into().unwrap());
    ((u128::from(bits) * BINS as u128) >> 64) as usize
}

/// The coefficients that a receiver sends, bin by bin.
fn coefficients(mine: &[Item], params: &Params) -> Vec<Scalar> {
    let bound = params.polynomials().bound(Role::Receiver);
    let of_bin = |number: usize| {
        let mut roots: Vec<_> = mine.iter().filter(|item| bin(item) == number).map(root).collect();
        let rest = bound - roots.len();
        roots.extend(GROUP.random_scalars(rest, &mut rng(number as u8)));
        let mut polynomial = expand(&GROUP, STRATEGY, &roots);
        polynomial.pop();
        polynomial
    };
    (0..BINS).flat_map(of_bin).collect()
}

fn sender(sending: Sending, items: &[Item], params: &Params, seed: u8, channel: &mut Channel) -> Result<()> {
    match sending {
        Sending::Shuffled => send(items, params, channel, seed),
        _ => send_given(&Ordered::new(items, BYTES, sending, bin), params, channel, seed),
    }
}

fn check(sending: Sending) -> Check {
    let params = Params::new(wanted(Some(Strategy::Schoolbook), Some(BINS)), PLACES, PLACES, BYTES).unwrap();
    let runs = if sending == Sending::Shuffled { ALL_PLACES } else { SOME_PLACES };
    hides_which(runs, bin, &|mine, theirs, seed| {
        let asking = coefficients(mine, &params);
        let leaves = |channel: &mut Channel| {
            // The receiver leaves before the transfers.
            drop(sender(sending, theirs, &params, seed, channel));
            Ok(())
        };
        let [_, opened] = ask_for(&asking, leaves, PLACES);
        let zeros: Vec<_> = (0..PLACES).filter(|&place| GROUP.any_identity(&opened[place..=place])).collect();
        assert_eq!(zeros.len(), 1);
        Places { among_theirs: zeros[0], among_own: None }
    })
}

#[test]
fn which_items_are_common_cannot_be_told_from_where_answers_stand() {
    check(Sending::Shuffled).unwrap();
}

#[test]
fn answers_in_the_order_of_keys_tell_which_are_common() {
    check(Sending::InOrder).unwrap_err();
}

#[test]
fn answers_bin_by_bin_tell_which_are_common() {
    check(Sending::InBuckets).unwrap_err();
}

const SIZE: usize = 40;

fn all_params() -> Vec<Params> {
    let each = [(Strategy::Schoolbook, 4), (Strategy::Points, 4), (Strategy::Toom3, 1)];
    let params = |(strategy, bins)| Params::new(wanted(Some(strategy), Some(bins)), SIZE, SIZE, BYTES).unwrap();
    each.map(params).into()
}

/// The frames of the receiver and of the sender in a run with these items.
fn frames(mine: &[Item], theirs: &[Item], params: &Params, seed: u8) -> [Vec<Frame>; 2] {
    record(&|channel| receive(mine, params, channel, seed).map(drop), &|channel| {
        send(theirs, params, channel, seed ^ 0x80)
    })
    .0
}

fn labels(frames: &[Frame]) -> HashSet<u8> {
    lengths(frames).into_iter().map(|(label, _)| label).collect()
}

/// Messages have one form whatever the receiver's items are, and however many are common; points are new in every run.
#[test]
fn both_see_fresh_points_in_messages_of_one_form() {
    let theirs = items(0..SIZE);
    for params in all_params() {
        let sets = [items(0..SIZE), items((0..SIZE).rev()), items(900..900 + SIZE), items(0..2), vec![]];
        let runs: Vec<_> = sets.iter().zip(1..).map(|(mine, seed)| frames(mine, &theirs, &params, seed)).collect();
        assert!(
            runs.iter().all(|run| [0, 1].map(|role| lengths(&run[role])) == [0, 1].map(|role| lengths(&runs[0][role])))
        );
        let [of_receiver, of_sender] = [0, 1].map(|role| labels(&runs[0][role]));
        let known = [PUBLIC_KEY, POLYNOMIALS, BASE_KEY, TREES, CORRECTIONS].map(|label| label.code);
        assert_eq!(of_receiver, HashSet::from(known));
        assert_eq!(of_sender, HashSet::from([ANSWERS, BASE_POINTS, MESSAGES].map(|label| label.code)));
        let points = |role: usize, label| runs.iter().map(|run| payloads(&run[role], label)).collect::<Vec<_>>();
        fresh_points(&points(0, POLYNOMIALS.code)).unwrap();
        fresh_points(&points(1, ANSWERS.code)).unwrap();
        // Leaky: points of an earlier run.
        fresh_points(&[points(1, ANSWERS.code)[0].clone(), points(1, ANSWERS.code)[0].clone()]).unwrap_err();
    }
    // Leaky: polynomials of the own number of items.
    let own = Params::new(wanted(Some(Strategy::Schoolbook), Some(4)), SIZE / 2, SIZE, BYTES).unwrap();
    assert_ne!(own.bytes_sent_by(Role::Receiver), all_params()[0].bytes_sent_by(Role::Receiver));
}

#[test]
fn no_item_root_or_payload_stands_in_any_frame() {
    let (mine, theirs) = (items(0..SIZE), items(SIZE / 2..SIZE / 2 + SIZE));
    for params in all_params() {
        let mut frames = frames(&mine, &theirs, &params, 3).concat();
        let all = || mine.iter().chain(&theirs);
        let mut secrets: Vec<Vec<u8>> = all().map(|item| item.0.to_vec()).collect();
        secrets.extend(all().map(|item| GROUP.encode_scalar(&root(item)).to_vec()));
        secrets.extend(theirs.iter().map(|item| given_for(item, BYTES)));
        shows_nothing(&frames, &secrets).unwrap();
        frames[1].payload.splice(5..5, mine[7].0[8..24].iter().copied());
        shows_nothing(&frames, &secrets).unwrap_err();
    }
}
