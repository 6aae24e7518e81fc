//! Tests of the view of each role of `polynomial`: the sender sees nothing, the receiver more than the union. Every
//! check is also run on a leaky variant, which must fail it.

use super::{receive, send, wanted};
use crate::support::published::polynomials::{GROUP, Point, Receiver, STRATEGY, Scalar, ask, polynomial_of, root};
use crate::support::two::record;
use crate::support::views::fresh_points;
use crate::support::{Frame, items, lengths, payloads, rng};
use tacita_core::channel::Channel;
use tacita_core::primitive::elgamal;
use tacita_core::primitive::group::{Group, ScalarField};
use tacita_core::primitive::published::polynomial::{EncryptedModule, Module, Points, divide, evaluate_one, multiply};
use tacita_core::protocol::published::intersect::polynomial::{ANSWERS, POLYNOMIALS, PUBLIC_KEY, Strategy};
use tacita_core::protocol::published::union::polynomial::Params;
use tacita_core::{Item, Result, Role};

/// A receiver with these items that keeps what it sees, all in one bin.
fn asked(mine: &[Item], theirs: &[Item]) -> Receiver {
    let params = Params::new(wanted(Some(Strategy::Schoolbook), Some(1)), mine.len(), theirs.len()).unwrap();
    ask(mine, |channel| send(theirs, &params, channel, 7), mine.len() + theirs.len() + 1)
}

/// Finds the items that are roots of a polynomial that is known in the exponent.
fn roots<'a>(polynomial: &[Point], items: &'a [Item]) -> Vec<&'a Item> {
    let is_root = |item: &&Item| GROUP.any_identity(&[evaluate_one(&Points(&GROUP), polynomial, &root(item))]);
    items.iter().filter(is_root).collect()
}

/// Checks what the documentation says of the leak. The receiver divides what it opens by its own polynomial, and is
/// left with the sender's. At the roots of that it can test which of its own items are common, and any other item. A
/// random factor of the sender's would be no help, nor a random number, which is one of degree 0.
#[test]
fn the_receiver_finds_which_of_its_items_are_common() {
    let (mine, theirs, others) = (items(0..8), items(5..12), items(100..120));
    let seen = asked(&mine, &theirs);
    for degree in [None, Some(0), Some(3)] {
        let opened = match degree {
            None => seen.opened.clone(),
            Some(degree) => {
                multiply(&Points(&GROUP), STRATEGY, &GROUP.random_scalars(degree + 1, &mut rng(9)), &seen.opened)
            }
        };
        let (psi, rest) = divide(&Points(&GROUP), STRATEGY, &opened, &seen.phi);
        assert!(rest.iter().all(|point| GROUP.any_identity(std::slice::from_ref(point))));
        assert_eq!(roots(&psi, &mine), mine[5..].iter().collect::<Vec<_>>(), "the common ones, and no others");
        assert_eq!(roots(&psi, &theirs), theirs.iter().collect::<Vec<_>>());
        assert!(roots(&psi, &others).is_empty());
    }
}

/// Or it looks which roots are there twice, by the derivative, as multisets have them.
#[test]
fn common_items_are_roots_twice() {
    let (mine, theirs) = (items(0..8), items(5..12));
    let opened = asked(&mine, &theirs).opened;
    let degrees: Vec<Scalar> = (1..opened.len() as u64).map(|degree| GROUP.scalar(degree)).collect();
    let derivative = Points(&GROUP).multiply_each(&opened[1..], &degrees);
    assert_eq!(roots(&opened, &mine).len(), 8);
    assert_eq!(roots(&derivative, &mine), mine[5..].iter().collect::<Vec<_>>());
    assert_eq!(roots(&derivative, &theirs), theirs[..3].iter().collect::<Vec<_>>());
}

/// A sender that adds no fresh [0].
fn weakened(mine: &[Item], theirs: &[Item], channel: &mut Channel) -> Result<()> {
    channel.receive(PUBLIC_KEY, 32)?;
    let mut phi = elgamal::decode(&GROUP, &channel.receive(POLYNOMIALS, mine.len() * 64)?).unwrap();
    phi.push([Points(&GROUP).zero(), GROUP.multiply_generator(&[GROUP.scalar(1)]).remove(0)]);
    let product = multiply(&EncryptedModule(&GROUP), STRATEGY, &polynomial_of(theirs), &phi);
    channel.send(ANSWERS, elgamal::encode(&GROUP, &product))
}

/// Checks that no part of the answers follows from the randomness that the receiver has chosen.
#[test]
fn everything_is_encrypted_anew() {
    let (mine, theirs) = (items(0..6), items(4..12));
    let as_before = |seen: &Receiver| {
        let made = multiply(&Points(&GROUP), STRATEGY, &polynomial_of(&theirs), &{
            GROUP.multiply_generator(&seen.randomness)
        });
        let rest = GROUP.subtract(&seen.firsts, &made);
        rest.iter().filter(|point| GROUP.any_identity(std::slice::from_ref(point))).count()
    };
    let weak = ask(&mine, |channel| weakened(&mine, &theirs, channel), 15);
    assert_eq!(as_before(&weak), 15, "all halves are the sender's polynomial times the receiver's randomness");
    assert_eq!(as_before(&asked(&mine, &theirs)), 0);
}

const SIZE: usize = 30;

/// The frames of the receiver and of the sender in a run with these items.
fn frames(mine: &[Item], candidates: &[Item], theirs: &[Item], params: &Params, seed: u8) -> [Vec<Frame>; 2] {
    record(&|channel| receive(mine, candidates, params, channel, seed).map(drop), &|channel| {
        send(theirs, params, channel, seed ^ 0x80)
    })
    .0
}

/// Messages have one form whatever the items and the candidates are; points are new in every run.
#[test]
fn both_see_fresh_points_in_messages_of_one_form() {
    for (strategy, bins) in [(Strategy::Schoolbook, 4), (Strategy::Points, 4), (Strategy::Toom3, 1)] {
        let params = Params::new(wanted(Some(strategy), Some(bins)), SIZE, SIZE).unwrap();
        let sets = [(0..SIZE, 0..SIZE), (0..SIZE, 0..SIZE), (900..900 + SIZE, 0..3), (0..2, 5..9), (0..0, 0..0)];
        let run = |((mine, theirs), seed): ((std::ops::Range<usize>, _), u8)| {
            frames(&items(mine), &items(0..usize::from(seed) * 20), &items(theirs), &params, seed)
        };
        let runs: Vec<_> = sets.into_iter().zip(0..).map(run).collect();
        let forms: Vec<_> = runs.iter().map(|[first, second]| [lengths(first), lengths(second)]).collect();
        assert!(forms.iter().all(|form| *form == forms[0]));
        let known = [PUBLIC_KEY, POLYNOMIALS, ANSWERS].map(|label| label.code);
        assert!(forms[0].iter().flatten().all(|(label, _)| known.contains(label)));
        let points = |role: usize, label| runs.iter().map(|run| payloads(&run[role], label)).collect::<Vec<_>>();
        fresh_points(&points(0, POLYNOMIALS.code)).unwrap();
        fresh_points(&points(1, ANSWERS.code)).unwrap();
        // Leaky: points of an earlier run; polynomials of the own number of items.
        fresh_points(&[points(1, ANSWERS.code)[0].clone(), points(1, ANSWERS.code)[0].clone()]).unwrap_err();
        let own = Params::new(wanted(Some(strategy), Some(bins)), SIZE, SIZE / 2).unwrap();
        assert_ne!(own.bytes_sent_by(Role::Sender), params.bytes_sent_by(Role::Sender));
    }
}
