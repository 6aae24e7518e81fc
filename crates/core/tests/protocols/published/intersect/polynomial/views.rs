//! Tests of the view of each role of `polynomial`, compared with what its result and the sizes allow. Every check is
//! also run on a deliberately leaky variant, which must fail it.

use super::{receive, send, wanted};
use crate::support::published::polynomials::{GROUP, Point, Receiver, STRATEGY, Scalar, ask, polynomial_of, root};
use crate::support::two::record;
use crate::support::views::{ORDERS, PLACES, fresh_points, hides_order};
use crate::support::{Frame, items, lengths, payloads, rng};
use tacita_core::channel::Channel;
use tacita_core::primitive::elgamal::{self, ElGamalPublicKey, ElGamalSecretKey};
use tacita_core::primitive::group::{Group, Ristretto255, ScalarField};
use tacita_core::primitive::published::polynomial::{
    self, EncryptedModule, Module, Points, Scalars, evaluate_one, expand, multiply,
};
use tacita_core::protocol::published::intersect::polynomial::{
    ANSWERS, POLYNOMIALS, PUBLIC_KEY, Params, PolynomialReveal, Strategy, count, rows,
};
use tacita_core::{Item, Result, Role};

const SIZE: usize = 40;

/// The frames of the receiver and of the sender in a run with these items.
fn frames(mine: &[Item], theirs: &[Item], params: &Params, seed: u8) -> [Vec<Frame>; 2] {
    record(&|channel| receive(mine, params, channel, seed), &|channel| send(theirs, params, channel, seed ^ 0x80)).0
}

fn all_params() -> Vec<Params> {
    let strategies = [Strategy::Schoolbook, Strategy::Points, Strategy::Toom3];
    let each = strategies.into_iter().flat_map(|strategy| {
        [PolynomialReveal::Rows, PolynomialReveal::Count]
            .map(|reveal| wanted(reveal, Some(strategy), Some(if strategy == Strategy::Toom3 { 1 } else { 4 })))
    });
    each.map(|wanted| Params::new(wanted, SIZE, SIZE).unwrap()).collect()
}

/// Every strategy, with one of the two outputs.
fn some_params() -> Vec<Params> {
    all_params()
        .into_iter()
        .enumerate()
        .filter(|(number, _)| [0, 3, 4].contains(number))
        .map(|(_, params)| params)
        .collect()
}

/// Kinds, labels and lengths of messages depend on the agreed sizes alone.
fn forms(params: Vec<Params>) {
    for params in params {
        let expected = frames(&items(0..SIZE), &items(0..SIZE), &params, 1).map(|frames| lengths(&frames));
        for (mine, theirs) in [(0..0, 0..0), (0..1, 5..SIZE), (0..SIZE, 0..0), (3..20, 10..40)] {
            let seen = frames(&items(mine), &items(theirs), &params, 2).map(|frames| lengths(&frames));
            assert_eq!(seen, expected, "{params:?}");
        }
        // Leaky: polynomials of the own number of items.
        let own = wanted(params.reveal(), Some(params.strategy()), Some(params.bins()));
        let own = Params::new(own, SIZE / 2, SIZE).unwrap();
        assert_ne!(own.bytes_sent_by(Role::Receiver), params.bytes_sent_by(Role::Receiver));
    }
}

#[test]
fn the_form_of_messages_says_nothing_of_the_items() {
    forms(some_params());
}

#[test]
#[ignore = "slow: every strategy with every output"]
fn the_form_of_messages_says_nothing_of_the_items_whatever_is_revealed() {
    forms(all_params());
}

/// The sender sees fresh points, whatever the receiver's items; and nothing else.
fn fresh(params: Vec<Params>) {
    for params in params {
        let sets =
            [items(0..SIZE), items(0..SIZE), items((0..SIZE).rev()), items(900..900 + SIZE), items(0..2), vec![]];
        let runs = sets.iter().zip(1..).map(|(mine, seed)| {
            let sent = frames(mine, &items(0..SIZE), &params, seed)[0].clone();
            assert!(
                sent.iter().all(|f| f.kind != Frame::DATA || [PUBLIC_KEY.code, POLYNOMIALS.code].contains(&f.label))
            );
            payloads(&sent, POLYNOMIALS.code)
        });
        fresh_points(&runs.collect::<Vec<_>>()).unwrap();
    }
}

#[test]
fn the_sender_sees_fresh_ciphertexts() {
    fresh(some_params());
    // Leaky: coefficients under one randomness, with which equal sets look alike.
    let secret = ElGamalSecretKey::generate(&Ristretto255, &mut rng(1));
    let roots = Ristretto255.random_scalars(SIZE, &mut rng(2));
    let coefficients = expand(&Ristretto255, polynomial::MultiplyStrategy::Schoolbook, &roots);
    let leaky = |_| elgamal::encode(&Ristretto255, &secret.encrypt(&Ristretto255, &coefficients, &mut rng(3)));
    fresh_points(&[0, 1].map(leaky)).unwrap_err();
}

#[test]
#[ignore = "slow: every strategy with every output"]
fn the_sender_sees_fresh_ciphertexts_whatever_is_revealed() {
    fresh(all_params());
}

/// Whether the receiver can tell that an item is the sender's, whether it has asked for it or not: the first halves of
/// the answers are the product of γ1 and its own randomness, if nothing was added to them; with γ1 it is left with γ2
/// ψ.
fn tells(asked: &Receiver, item: &Item) -> bool {
    let point = root(item);
    let known = |polynomial: &[Scalar]| evaluate_one(&Scalars(&GROUP), polynomial, &point);
    let hidden = |polynomial: &[Point]| evaluate_one(&Points(&GROUP), polynomial, &point);
    let divided = GROUP.times(&known(&asked.phi), &GROUP.invert(&[known(&asked.randomness)])[0]);
    let first = GROUP.multiply(&[hidden(&asked.firsts)], &divided);
    GROUP.any_identity(&GROUP.subtract(&[hidden(&asked.opened)], &first))
}

/// A sender that adds γ2 ψ either with a fresh [0], or with no randomness.
fn weakened(mine: &[Item], theirs: &[Item], fresh: bool, channel: &mut Channel) -> Result<()> {
    let key = ElGamalPublicKey::from_bytes(&GROUP, &channel.receive(PUBLIC_KEY, 32)?).unwrap();
    let mut phi = elgamal::decode(&GROUP, &channel.receive(POLYNOMIALS, mine.len() * 64)?).unwrap();
    let plain = |scalars: &[Scalar]| -> Vec<_> {
        GROUP.multiply_generator(scalars).into_iter().map(|point| [Points(&GROUP).zero(), point]).collect()
    };
    phi.extend(plain(&[GROUP.scalar(1)]));
    let [first, second] = [theirs, mine].map(|set| GROUP.random_scalars(set.len() + 1, &mut rng(set.len() as u8)));
    let hidden = multiply(&EncryptedModule(&GROUP), STRATEGY, &first, &phi);
    let known = multiply(&Scalars(&GROUP), STRATEGY, &second, &polynomial_of(theirs));
    let added = if fresh { key.encrypt(&GROUP, &known, &mut rng(99)) } else { plain(&known) };
    channel.send(ANSWERS, elgamal::encode(&GROUP, &EncryptedModule(&GROUP).add(&hidden, &added)))
}

/// Checks that a receiver with the randomness that it has chosen cannot test items that it has not asked for. This is
/// thanks to the fresh [0] that a sender adds to every coefficient: without it, the receiver can test any item.
#[test]
fn the_receiver_cannot_test_other_items() {
    let (mine, theirs, others) = (items(0..6), items(4..12), items(100..120));
    let weak = |fresh| ask(&mine, |channel| weakened(&mine, &theirs, fresh, channel), 15);
    let (plain, hidden) = (weak(false), weak(true));
    assert!(theirs.iter().all(|item| tells(&plain, item)), "all of the sender's, also those that are not common");
    assert!(!others.iter().any(|item| tells(&plain, item)), "and no others");
    let not_common = &theirs[2..];
    assert!(!not_common.iter().any(|item| tells(&hidden, item)), "the [0] is what hides them");
    let params = Params::new(wanted(PolynomialReveal::Rows, Some(Strategy::Schoolbook), Some(1)), 6, 8).unwrap();
    let honest = ask(&mine, |channel| rows::send(&theirs, &params, channel, &mut rng(7)), 15);
    assert!(!not_common.iter().chain(&others).any(|item| tells(&honest, item)));
}

/// Whether the receiver of a count can tell that an item is the sender's: an answer's halves are in the proportion of φ
/// and its own randomness at that item, if nothing was added to them.
fn tells_of_a_count(asked: &Receiver, item: &Item) -> bool {
    let point = root(item);
    let [of_phi, of_randomness] =
        [&asked.phi, &asked.randomness].map(|polynomial| evaluate_one(&Scalars(&GROUP), polynomial, &point));
    let differences =
        GROUP.subtract(&GROUP.multiply(&asked.firsts, &of_phi), &GROUP.multiply(&asked.opened, &of_randomness));
    differences.iter().any(|difference| GROUP.any_identity(std::slice::from_ref(difference)))
}

/// A sender of a count that adds a fresh [0] to each answer, or nothing.
fn weakened_count(asked: usize, theirs: &[Item], fresh: bool, channel: &mut Channel) -> Result<()> {
    let key = ElGamalPublicKey::from_bytes(&GROUP, &channel.receive(PUBLIC_KEY, 32)?).unwrap();
    let mut phi = elgamal::decode(&GROUP, &channel.receive(POLYNOMIALS, asked * 64)?).unwrap();
    phi.push([Points(&GROUP).zero(), GROUP.multiply_generator(&[GROUP.scalar(1)]).remove(0)]);
    let values: Vec<_> = theirs.iter().map(|item| evaluate_one(&EncryptedModule(&GROUP), &phi, &root(item))).collect();
    let answers = EncryptedModule(&GROUP).multiply_each(&values, &GROUP.random_scalars(theirs.len(), &mut rng(98)));
    let answers = if fresh { key.rerandomize(&GROUP, &answers, &mut rng(99)) } else { answers };
    channel.send(ANSWERS, elgamal::encode(&GROUP, &answers))
}

/// Checks the same for a count, whose answers are values at the sender's items.
#[test]
fn the_receiver_of_a_count_cannot_test_other_items() {
    let (mine, theirs, others) = (items(0..6), items(4..12), items(100..120));
    let weak = |fresh| ask(&mine, |channel| weakened_count(mine.len(), &theirs, fresh, channel), 8);
    let not_common = &theirs[2..];
    let (plain, hidden) = (weak(false), weak(true));
    assert!(not_common.iter().all(|item| tells_of_a_count(&plain, item)), "all of the sender's");
    assert!(!others.iter().any(|item| tells_of_a_count(&plain, item)), "and no others");
    assert!(!not_common.iter().any(|item| tells_of_a_count(&hidden, item)), "the [0] is what hides them");
    let params = Params::new(wanted(PolynomialReveal::Count, Some(Strategy::Schoolbook), Some(1)), 6, 8).unwrap();
    let honest = ask(&mine, |channel| count::send(&theirs, &params, channel, &mut rng(7)), 8);
    assert!(!not_common.iter().chain(&others).any(|item| tells_of_a_count(&honest, item)));
}

/// Answers of a count come in an order that the sender draws: where the one that is 0 stands says nothing of where the
/// sender has the item.
#[test]
fn answers_of_a_count_have_no_order() {
    let params = Params::new(wanted(PolynomialReveal::Count, Some(Strategy::Schoolbook), Some(1)), 1, PLACES).unwrap();
    let observe = |run: usize| {
        let own = run % PLACES;
        let theirs = items(0..PLACES);
        let asked = ask(&items([own]), |channel| count::send(&theirs, &params, channel, &mut rng(run as u8)), PLACES);
        let zero = |opened: &Point| GROUP.any_identity(std::slice::from_ref(opened));
        (own, asked.opened.iter().position(zero).unwrap())
    };
    hides_order(&(0..ORDERS).map(observe).collect::<Vec<_>>()).unwrap();
    // Leaky: in the sender's order.
    hides_order(&(0..ORDERS).map(|run| (run % PLACES, run % PLACES)).collect::<Vec<_>>()).unwrap_err();
}
