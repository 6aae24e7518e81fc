//! A sender that wants outputs to be wrong, or to know where a receiver's noise is.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tacita_core::primitive::kernel::block::{self, Block};
use tacita_core::primitive::vole::params::{Parameters, VoleKind};
use tacita_core::primitive::vole::silent::{CotReceiver, SilentReceiver};
use tacita_core::primitive::vole::{RandomCotReceiver, VoleReceiver, VoleSender};
use tacita_core::security::Security::{self, Malicious, SemiHonest};
use tacita_core::{Channel, Result};

use super::receiver::{KINDS, dealer, fits, honest, instance};
use super::{Deviation, Form, Keys, Receiver, Sender};
use crate::adversary::against;
use crate::support::{blames, rng, session};

const COUNT: usize = 100;

/// Receiver that is attacked: the real one, or a form of the one written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Real,
    Written(Form),
}

/// Runs the receiver, and returns its outputs.
fn receive(
    victim: Victim,
    kind: VoleKind,
    security: Security,
    seed: u8,
    channel: &mut Channel,
) -> Result<[Vec<Block>; 2]> {
    let (ot, rng) = (dealer(1).1, &mut rng(seed));
    let (mut a, mut c) = (vec![Block::ONE; COUNT], vec![Block::ONE; COUNT]);
    let received = match (victim, kind) {
        (Victim::Written(form), _) => {
            Receiver::new(instance(kind, security, form), ot, seed, honest).extend(&mut a, &mut c, channel)
        }
        (_, VoleKind::Field) => {
            SilentReceiver::new(ot, security, &session(), "test", rng).extend(&mut a, &mut c, channel)
        }
        (_, VoleKind::Binary) => {
            a.fill(Block::ZERO);
            CotReceiver::new(ot, security, &session(), "test", rng).extend(&mut c, channel)
        }
    };
    let zero = |blocks: &[Block]| blocks.iter().all(|block| *block == Block::ZERO);
    assert!(received.is_ok() || victim != Victim::Real || zero(&a) && zero(&c), "outputs of a call that failed");
    received.map(|()| [a, c])
}

/// End of a run with a sender that deviates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The receiver has outputs, which fit what the sender takes for its own.
    Right,
    /// End with outputs of the receiver that do not fit.
    Wrong,
    /// Refusal by the receiver.
    Refused,
}

fn run(victim: Victim, kind: VoleKind, security: Security, seed: u8, deviation: &Deviation) -> End {
    let form = match victim {
        Victim::Written(form) => form,
        Victim::Real => Form::Sound,
    };
    let mut sender = Sender::new(instance(kind, security, form), dealer(1).0, seed ^ 0x55);
    sender.deviation = deviation.clone();
    let mut b = vec![Block::ZERO; COUNT];
    let (received, _) =
        against(|channel| receive(victim, kind, security, seed, channel), |channel| sender.extend(&mut b, channel));
    match received {
        Ok([a, c]) if fits(kind, &b, &a, &c) => End::Right,
        Ok(_) => End::Wrong,
        Err(error) if blames(&error) => End::Refused,
        Err(error) => panic!("{error:?}"),
    }
}

fn parameters(kind: VoleKind) -> Parameters {
    Parameters::new(kind, COUNT).unwrap()
}

const DIFFERENCE: Block = Block(0xabcd << 90 | 6);

/// A tip, which is what another delta in one tree is; all of them; both sums of a level, of a tree and of all; the
/// right sums of a level, which is what another delta on it is.
fn deviations(kind: VoleKind) -> Vec<Deviation> {
    let none = Deviation::default;
    let both = |tree, level| [0, 1].map(|side| (tree, level, side, DIFFERENCE)).to_vec();
    let trees = 0..parameters(kind).trees;
    vec![
        Deviation { tips: vec![(5, DIFFERENCE)], ..none() },
        Deviation { tips: trees.clone().map(|tree| (tree, DIFFERENCE)).collect(), ..none() },
        Deviation { sums: both(3, 1), ..none() },
        Deviation { sums: trees.clone().flat_map(|tree| both(tree, parameters(kind).depth)).collect(), ..none() },
        Deviation { sums: trees.map(|tree| (tree, 2, 1, DIFFERENCE)).collect(), ..none() },
    ]
}

/// Checks that a deviation which is wrong for all places of the noise, or for nearly all, never passes. Without the
/// check it does.
#[test]
fn a_sender_that_spoils_a_tree_for_all_places_is_refused() {
    for kind in KINDS {
        for (number, deviation) in deviations(kind).into_iter().enumerate() {
            for seed in 0..4 {
                assert_eq!(run(Victim::Real, kind, Malicious, seed, &deviation), End::Refused, "{kind:?} {number}");
                let unseen = run(Victim::Real, kind, SemiHonest, seed, &deviation);
                // One noisy place reaches each of the outputs with some probability only.
                assert!(unseen == End::Wrong || unseen == End::Right && number % 2 == 0, "{kind:?} {number}");
            }
        }
    }
}

/// The coefficients must not be known: with ones, what was added to both sums of the last level appears twice, whatever
/// the place, and cancels out.
#[test]
fn errors_do_not_cancel_each_other_in_the_check() {
    for kind in KINDS {
        let cancelling = &deviations(kind)[3];
        assert_eq!(run(Victim::Written(Form::Ones), kind, Malicious, 1, cancelling), End::Wrong);
        assert_eq!(run(Victim::Written(Form::Sound), kind, Malicious, 1, cancelling), End::Refused);
        assert_eq!(run(Victim::Real, kind, Malicious, 1, cancelling), End::Refused);
    }
}

/// Returns the places of the real receiver's missing leaves: one for each tree, which the receiver draws behind its
/// values.
fn places(kind: VoleKind, security: Security, seed: u8) -> Vec<usize> {
    let mut own = [0; 32];
    rng(seed).fill_bytes(&mut own);
    let (own, keys) = (&mut ChaCha20Rng::from_seed(own), Keys::new(&instance(kind, security, Form::Sound), COUNT));
    block::random(keys.values(), own);
    let place = |number: Block| (((number.0 >> 32) * keys.parameters.leaves as u128) >> 96) as usize;
    block::random(keys.parameters.trees, own).into_iter().map(place).collect()
}

/// A spoilt tip comes out at the place of the tree's noise, and the sender may guess that when it answers. It is
/// refused unless the guess is right; if it is, its outputs differ as it expects, so that they are none but a sender's
/// right ones.
#[test]
fn a_guess_of_a_place_passes_if_it_is_right_and_only_then() {
    const TREE: usize = 7;
    for kind in KINDS {
        let guess = |security, seed, place| {
            let (tips, leaves) = (vec![(TREE, DIFFERENCE)], vec![(TREE, place, DIFFERENCE)]);
            run(Victim::Real, kind, security, seed, &Deviation { tips, leaves, ..Deviation::default() })
        };
        let leaves = parameters(kind).leaves;
        for seed in 0..8 {
            let right = places(kind, Malicious, seed)[TREE];
            for place in 0..leaves {
                let end = if place == right { End::Right } else { End::Refused };
                assert_eq!(guess(Malicious, seed, place), end, "{kind:?} {seed} {place}");
            }
        }
        // Nobody looks: a wrong guess is let pass, and some output has one of the two places in it.
        let wrong = |seed| (places(kind, SemiHonest, seed)[TREE] + 1) % leaves;
        let ends: Vec<End> = (0..8).map(|seed| guess(SemiHonest, seed, wrong(seed))).collect();
        assert!(ends.contains(&End::Wrong) && !ends.contains(&End::Refused), "{kind:?} {ends:?}");
    }
}

/// One sum of a level is a guess of the side that the receiver takes there: of the 2^g guesses for g trees one passes.
#[test]
fn a_guess_of_bits_of_places_passes_if_they_are_right_and_only_then() {
    for kind in KINDS {
        let depth = parameters(kind).depth;
        for (guesses, seed) in [1, 3].into_iter().flat_map(|guesses| (0..8).map(move |seed| (guesses, seed))) {
            // The receiver lacks the sum of the side that its place is on.
            let right = |tree: usize| places(kind, Malicious, seed)[tree] & 1;
            for guess in 0..1 << guesses {
                let sides: Vec<usize> = (0..guesses).map(|tree| guess >> tree & 1).collect();
                let sums = (0..guesses).map(|tree| (tree, depth, sides[tree], DIFFERENCE)).collect();
                let deviation = Deviation { sums, ..Deviation::default() };
                let end = if (0..guesses).all(|tree| sides[tree] == right(tree)) { End::Right } else { End::Refused };
                assert_eq!(run(Victim::Real, kind, Malicious, seed, &deviation), end, "{kind:?} {seed} {sides:?}");
            }
        }
        // Nobody looks: the same is let pass in the semi-honest form.
        let sums = (0..40).map(|tree| (tree, 1, 0, DIFFERENCE)).collect();
        let deviation = Deviation { sums, ..Deviation::default() };
        assert_eq!(run(Victim::Real, kind, Malicious, 1, &deviation), End::Refused);
        assert_eq!(run(Victim::Real, kind, SemiHonest, 1, &deviation), End::Wrong);
    }
}

/// The challenge comes when all that it is about has come, and not before.
#[test]
fn there_is_no_challenge_before_the_tips() {
    for kind in KINDS {
        let waits = |victim| {
            let mut sender = Sender::new(instance(kind, Malicious, Form::Sound), dealer(1).0, 9);
            sender.deviation.withholds_tips = true;
            let (received, sent) = against(
                |channel| receive(victim, kind, Malicious, 1, channel),
                |channel| sender.extend(&mut [Block::ZERO; COUNT], channel),
            );
            assert!(sent.is_ok() && received.is_err_and(|error| blames(&error)));
            sender.waited
        };
        assert!(!waits(Victim::Written(Form::Hasty)) && waits(Victim::Real), "{kind:?}");
    }
}
