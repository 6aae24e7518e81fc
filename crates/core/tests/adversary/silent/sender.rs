//! A sender that wants outputs to be wrong, or to know where a receiver's noise is.

use rand_core::Rng;
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::vole::params::{Kind, Parameters};
use tacita_core::primitive::vole::silent::{CotReceiver, SilentReceiver};
use tacita_core::primitive::vole::{RandomCotReceiver, VoleReceiver, VoleSender};
use tacita_core::security::Security::{self, Malicious, SemiHonest};
use tacita_core::{Channel, Error, Result};

use super::receiver::{KINDS, dealer, fits, honest, instance};
use super::{Deviation, Form, Receiver, Sender};
use crate::support::{blames, rng, session};
use crate::{against, as_likely_as};

const COUNT: usize = 100;

/// Which receiver is attacked: the real one, or a form of the one written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Real,
    Written(Form),
}

/// The receiver's outputs.
fn receive(victim: Victim, kind: Kind, security: Security, seed: u8, channel: &mut Channel) -> Result<[Vec<Block>; 2]> {
    let (ot, rng) = (dealer(1).1, &mut rng(seed));
    let (mut a, mut c) = (vec![Block::ONE; COUNT], vec![Block::ONE; COUNT]);
    let received = match (victim, kind) {
        (Victim::Written(form), _) => {
            Receiver::new(instance(kind, security, form), ot, seed, honest).extend(&mut a, &mut c, channel)
        }
        (_, Kind::Field) => SilentReceiver::new(ot, security, &session(), "test", rng).extend(&mut a, &mut c, channel),
        (_, Kind::Binary) => {
            a.fill(Block::ZERO);
            CotReceiver::new(ot, security, &session(), "test", rng).extend(&mut c, channel)
        }
    };
    let zero = |blocks: &[Block]| blocks.iter().all(|block| *block == Block::ZERO);
    assert!(received.is_ok() || victim != Victim::Real || zero(&a) && zero(&c), "outputs of a call that failed");
    received.map(|()| [a, c])
}

/// How a run with a sender that deviates ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// The receiver has outputs, which fit what the sender takes for its own.
    Right,
    /// It has outputs that do not.
    Wrong,
    /// It has refused.
    Refused,
}

fn run(victim: Victim, kind: Kind, security: Security, seed: u8, deviation: &Deviation) -> End {
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

fn parameters(kind: Kind) -> Parameters {
    Parameters::new(kind, COUNT).unwrap()
}

const DIFFERENCE: Block = Block(0xabcd << 90 | 6);

/// A tip, which is what another delta in one tree is; all of them; both sums of a level, of a tree and of all; the right
/// sums of a level, which is what another delta on it is.
fn deviations(kind: Kind) -> Vec<Deviation> {
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

/// Nothing that is wrong whatever the places of the noise, or for nearly all, is ever let pass. Without the check it is.
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

/// A spoilt tip comes out at the place of the tree's noise, and the sender may guess that when it answers. It is refused
/// unless the guess is right; if it is, its outputs differ as it expects, so that they are none but a sender's right ones.
#[test]
fn a_guess_of_a_place_passes_if_it_is_right_and_only_then() {
    for kind in KINDS {
        let (places, trials) = (parameters(kind).leaves, 200);
        let right = |seed: &u8| {
            let place = rng(*seed ^ 0x33).next_u32() as usize % places;
            let (tips, leaves) = (vec![(7, DIFFERENCE)], vec![(7, place, DIFFERENCE)]);
            let deviation = Deviation { tips, leaves, ..Deviation::default() };
            let end = run(Victim::Real, kind, Malicious, *seed, &deviation);
            assert_ne!(end, End::Wrong);
            end == End::Right
        };
        let passed = (0..trials as u8).filter(right).count();
        assert!(passed > 0);
        as_likely_as(passed, trials, 1.0 / places as f64);
    }
}

/// One sum of a level is a guess of the side that the receiver takes there: g of them pass with 2^-g.
#[test]
fn a_guess_of_bits_of_places_passes_if_they_are_right_and_only_then() {
    for kind in KINDS {
        for guesses in [1, 3] {
            // The last level: about as many leaves are on the left as on the right.
            let depth = parameters(kind).depth;
            let sums = (0..guesses).map(|tree| (tree, depth, 0, DIFFERENCE)).collect();
            let deviation = Deviation { sums, ..Deviation::default() };
            let right = |seed: &u8| {
                let end = run(Victim::Real, kind, Malicious, *seed, &deviation);
                assert_ne!(end, End::Wrong);
                end == End::Right
            };
            let trials = 100;
            as_likely_as((0..trials as u8).filter(right).count(), trials, 0.5f64.powi(guesses as i32));
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
        let mut sender = Sender::new(instance(kind, Malicious, Form::Sound), dealer(1).0, 9);
        sender.deviation.waits_before_tips = true;
        let (received, sent) = against(
            |channel| receive(Victim::Real, kind, Malicious, 1, channel),
            |channel| sender.extend(&mut [Block::ZERO; COUNT], channel),
        );
        assert!(received.is_err() && matches!(sent, Err(Error::Network { .. })));
    }
}
