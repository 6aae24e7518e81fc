//! A receiver that wants to know delta.

use rand_core::Rng;
use tacita_core::primitive::kernel::Block;
use tacita_core::primitive::ot::{CorrelatedOtSender, ideal};
use tacita_core::primitive::vole::params::{Parameters, VoleKind};
use tacita_core::primitive::vole::silent::{CotSender, SilentSender};
use tacita_core::primitive::vole::{RandomCotSender, VoleReceiver, VoleSender};
use tacita_core::security::Security::{self, Malicious, SemiHonest};
use tacita_core::{Channel, Result};

use super::{Form, Instance, Point, Receiver, Sender};
use crate::adversary::against;
use crate::support::{rng, session};

pub const KINDS: [VoleKind; 2] = [VoleKind::Field, VoleKind::Binary];

pub fn instance(kind: VoleKind, security: Security, form: Form) -> Instance {
    Instance { kind, security, session: session(), purpose: "test", form }
}

/// Ideal correlated OTs whose delta is odd.
pub fn dealer(seed: u8) -> (ideal::IdealOtSender, ideal::IdealOtReceiver) {
    let odd = |&place: &u8| ideal::pair([seed, place].repeat(16).try_into().unwrap()).0.delta().bit(0);
    ideal::pair([seed, (0..).find(odd).unwrap()].repeat(16).try_into().unwrap())
}

/// Sender that is attacked: the real one, or a form of the one written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Real,
    Written(Form),
}

/// Runs the sender, and returns its outputs.
fn send(
    victim: Victim,
    kind: VoleKind,
    security: Security,
    outputs: usize,
    channel: &mut Channel,
) -> Result<Vec<Block>> {
    let (ot, mut b, rng) = (dealer(1).0, vec![Block::ONE; outputs], &mut rng(2));
    match (victim, kind) {
        (Victim::Written(form), _) => Sender::new(instance(kind, security, form), ot, 2).extend(&mut b, channel)?,
        (_, VoleKind::Field) => SilentSender::new(ot, security, &session(), "test", rng).extend(&mut b, channel)?,
        (_, VoleKind::Binary) => CotSender::new(ot, security, &session(), "test", rng)?.extend(&mut b, channel)?,
    }
    Ok(b)
}

/// Whether the outputs fit each other.
pub fn fits(kind: VoleKind, b: &[Block], a: &[Block], c: &[Block]) -> bool {
    let delta = dealer(1).0.delta();
    let product = |index: usize| match kind {
        VoleKind::Field => a[index] * delta,
        VoleKind::Binary => Block::select(c[index].bit(0)) & delta,
    };
    (0..b.len()).all(|index| c[index] == b[index] ^ product(index))
}

/// An honest receiver's point.
pub fn honest(parameters: &Parameters, tree: usize) -> Point {
    let mut rng = rng((tree % 251) as u8);
    let hole = rng.next_u32() as usize % parameters.leaves;
    Point::at(hole, Block::random(&mut rng), parameters)
}

/// Sizes for which trees of a VOLE have 22, 32 and 107 leaves.
const SIZES: [usize; 3] = [1, 6032, 20_000];

#[test]
fn the_roles_written_here_are_those_of_the_protocol() {
    for (kind, security) in KINDS.into_iter().flat_map(|kind| [(kind, SemiHonest), (kind, Malicious)]) {
        for outputs in SIZES {
            for victim in [Victim::Real, Victim::Written(Form::Sound)] {
                let mut receiver = Receiver::new(instance(kind, security, Form::Sound), dealer(1).1, 3, honest);
                let (mut a, mut c) = (vec![Block::ZERO; outputs], vec![Block::ZERO; outputs]);
                let (sent, received) = against(
                    |channel| send(victim, kind, security, outputs, channel),
                    |channel| receiver.extend(&mut a, &mut c, channel),
                );
                received.unwrap();
                assert!(fits(kind, &sent.unwrap(), &a, &c), "{victim:?} {kind:?} {security:?} {outputs}");
                assert!(outputs == 1 || c.iter().any(|block| *block != c[0]));
            }
        }
    }
}

/// Selection of the sums that a receiver takes.
type Taken = fn(tree: usize, level: usize) -> bool;

/// Selections that leave the receiver with one unknown path, in every way. One side of all levels, every string of
/// choices (in one tree or another), others in each tree, without regard to the place of a leaf.
const STRINGS: [Taken; 5] = [
    |_, _| false,
    |_, _| true,
    |tree, level| tree >> level & 1 == 1,
    |tree, level| (tree + level) % 3 == 0,
    |tree, level| tree.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(level as u32 + 7) & 1 == 1,
];

/// Runs the attack. Whether delta is among the guesses of a receiver that takes these sums; and how many nodes of each
/// frontier it did not know.
fn finds_delta(
    victim: Victim,
    kind: VoleKind,
    security: Security,
    outputs: usize,
    taken: Taken,
    lie: Block,
) -> (bool, Vec<usize>) {
    let form = match victim {
        Victim::Real => Form::Sound,
        Victim::Written(form) => form,
    };
    let points = move |parameters: &Parameters, tree: usize| Point {
        right: (0..parameters.depth).map(|level| taken(tree, level)).collect(),
        value: Block(tree as u128 + 1),
    };
    let mut receiver = Receiver::new(instance(kind, security, form), dealer(1).1, 3, points);
    receiver.lie = lie;
    let (mut a, mut c) = (vec![Block::ZERO; outputs], vec![Block::ZERO; outputs]);
    let (sent, received) = against(
        |channel| send(victim, kind, security, outputs, channel),
        |channel| receiver.extend(&mut a, &mut c, channel),
    );
    received.unwrap();
    let b = sent.unwrap();
    // The attack goes unnoticed: what the receiver has is a correlation.
    assert!(
        lie != Block::ZERO || form == Form::OneMask || fits(kind, &b, &a, &c),
        "{victim:?} {kind:?} {security:?} {outputs}"
    );
    let delta = dealer(1).0.delta();
    (receiver.guesses().any(|guess| guess == delta), receiver.unknown().collect())
}

/// Whether a level above the last has a node that no leaf is below, for trees of so many leaves.
fn drops(kind: VoleKind, outputs: usize) -> bool {
    let parameters = Parameters::new(kind, outputs).unwrap();
    (1..parameters.depth).any(|level| 2 * parameters.nodes(level - 1) > parameters.nodes(level))
}

/// A receiver, whatever its choices in the trees' OTs, never knows the sum of a tree's frontier, and hence not delta.
#[test]
fn a_receiver_never_finds_delta_whatever_sums_it_takes() {
    for (kind, security) in KINDS.into_iter().flat_map(|kind| [(kind, SemiHonest), (kind, Malicious)]) {
        for outputs in SIZES {
            for (number, taken) in STRINGS.into_iter().enumerate() {
                let run = |victim| finds_delta(victim, kind, security, outputs, taken, Block::ZERO);
                // All strings among them, or the right one in all trees, find it where the tip does not add up all.
                let (found, _) = run(Victim::Written(Form::WithoutDropped));
                assert!(number == 1 || number == 3 || found == drops(kind, outputs), "string {number}, {outputs}");
                let (found, unknown) = run(Victim::Real);
                assert!(!found, "string {number}, {kind:?} {security:?} {outputs}");
                assert!(unknown.iter().all(|unknown| *unknown == 1));
            }
        }
        assert!(drops(kind, SIZES[0]) && drops(kind, SIZES[2]));
    }
}

/// Checks that a receiver has one of the two sums of a level. With both it would know all nodes, as in the form in
/// which the left sums have the mask of the right ones.
#[test]
fn a_receiver_has_one_sum_of_each_level() {
    for kind in KINDS {
        let run = |victim| finds_delta(victim, kind, Malicious, 1, STRINGS[0], Block::ZERO);
        let (found, unknown) = run(Victim::Written(Form::OneMask));
        assert!(found && unknown.iter().all(|unknown| *unknown == 0));
        assert!(!run(Victim::Real).0);
    }
}

/// A challenge with another value than that of the receiver's choices is answered with delta times the difference,
/// under a hash.
#[test]
fn the_answer_to_a_lie_says_nothing_of_delta() {
    for kind in KINDS {
        let run = |victim| finds_delta(victim, kind, Malicious, 1, STRINGS[2], Block(0x1234)).0;
        assert!(run(Victim::Written(Form::BareAnswer)));
        assert!(!run(Victim::Real));
    }
}
