//! A sender that wants to know the receiver's choices: every leaf of one tree would tell them.
//!
//! It sends nothing after its choices in the base OTs, and each choice there is a bit of some delta: what it can
//! deviate in is what it makes of what it gets.

use tacita_core::primitive::kernel::block::{self, BLOCK_BITS, BLOCK_BYTES, Block};
use tacita_core::primitive::ot::softspoken::{Params, RandomReceiver};
use tacita_core::primitive::ot::{CORRECTIONS, Choices, RandomOtReceiver, RandomOtSender, base, ideal};
use tacita_core::security::Security::{Malicious, SemiHonest};
use tacita_core::{Channel, Result};

use super::{Check, Form, Keys, PURPOSE, Receiver, Sender, part, sum, untiled, width};
use crate::adversary::against;
use crate::adversary::base::{self as base_ot, grab_both};
use crate::support::{rng, session};

const COUNT: usize = 120;

/// Receiver that is attacked: the real one, or a form of the one written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Real,
    Written(Form),
}

fn choices() -> Choices {
    Choices::random(COUNT, &mut rng(1))
}

/// The row of the victim's choices.
fn row(params: &Params) -> Vec<Block> {
    let mut row = block::random(width(params, COUNT), &mut rng(2));
    row[0] = Block(choices().iter().enumerate().fold(0, |bits, (index, bit)| bits | u128::from(bit) << index));
    row
}

fn receive(victim: Victim, params: &Params, base: &mut impl RandomOtSender, channel: &mut Channel) -> Result<()> {
    match victim {
        Victim::Real => {
            let mut receiver = RandomReceiver::setup_over(params, &session(), "test", base, channel, &mut rng(3))?;
            receiver.receive(&choices(), &mut [Block::ZERO; COUNT], channel)
        }
        Victim::Written(form) => {
            let mut roots = block::random(params.trees(), &mut rng(3));
            if form == Form::OneTree {
                roots.fill(Block::ONE);
            }
            let mut receiver = Receiver::setup(Keys::new(params, form), &roots, base, channel, |_| ())?;
            receiver.chunk(COUNT, &vec![row(params); params.trees()], 0, channel).map(drop)
        }
    }
}

/// The choices as each tree shows them to a sender: what its streams make of the tree's correction.
fn shown(sender: &Sender, channel: &mut Channel) -> Vec<Choices> {
    let (params, width) = (sender.keys.params, width(&sender.keys.params, COUNT));
    let corrections =
        untiled(&channel.receive(CORRECTIONS, width * params.trees() * BLOCK_BYTES).unwrap(), params.trees());
    let shown = |(tree, correction)| {
        let mut rows = sender.streams(tree, 0, width);
        rows.push(correction);
        let row = sum(&rows, |_| true);
        Choices::from_bits((0..COUNT).map(|index| row[index / BLOCK_BITS].bit(index % BLOCK_BITS)))
    };
    corrections.into_iter().enumerate().map(shown).collect()
}

fn forms() -> impl Iterator<Item = Params> {
    [(SemiHonest, 1), (SemiHonest, 4), (Malicious, 1), (Malicious, 4)]
        .into_iter()
        .map(|(security, k)| Params::new(security, k).unwrap())
}

/// Whatever it chooses in the base OTs, the sender lacks a leaf of each tree. If it had both blocks of them, it would
/// lack none.
#[test]
fn a_sender_reads_no_choices_whatever_it_chooses_in_the_base_ots() {
    const SOUND: base_ot::Form = base_ot::Form::Sound;
    const WEAK: base_ot::Form = base_ot::Form::WithoutPartner;
    for params in forms() {
        // With the blocks of these sides that somebody has who believes in this form of the base OTs.
        let read = |weak: bool, believed: base_ot::Form, sides: [bool; 2]| {
            let (received, shown) = against(
                |channel| {
                    if weak {
                        let mut base = base_ot::Sender::new(WEAK, &session(), PURPOSE, 4);
                        receive(Victim::Real, &params, &mut base, channel)
                    } else {
                        let mut base = base::BaseOtSender::new(&session(), PURPOSE, &mut rng(4));
                        receive(Victim::Real, &params, &mut base, channel)
                    }
                },
                |channel| {
                    let pairs = grab_both(believed, BLOCK_BITS, &session(), PURPOSE, channel, 5).unwrap();
                    let taken = |pair: &[Block; 2]| [0, 1].map(|side| Some(pair[side]).filter(|_| sides[side]));
                    let pads: Vec<_> = pairs.iter().map(taken).collect();
                    let keys = Keys::new(&params, Form::Sound);
                    let sender = Sender::setup_with(keys, Block::ZERO, Check::Nothing, &pads, channel).unwrap();
                    shown(&sender, channel)
                },
            );
            received.unwrap();
            shown
        };
        let shown = read(true, WEAK, [true; 2]);
        assert!(shown.iter().all(|shown| *shown == choices()), "weak base OTs, {params:?}");
        // Of the real ones it has one block of each; what it takes for the other is none.
        for (believed, sides) in [(SOUND, [false, true]), (SOUND, [true; 2]), (WEAK, [true; 2])] {
            let shown = read(false, believed, sides);
            assert!(shown.iter().all(|shown| *shown != choices()), "{params:?}");
        }
    }
}

/// Each tree lacks another leaf, if delta's parts are others. All trees together would give all leaves of one, were
/// they the same.
#[test]
fn trees_say_nothing_of_each_other() {
    for params in forms().filter(|params| params.k() == 4) {
        for (victim, believed) in [(Victim::Written(Form::OneTree), Form::OneTree), (Victim::Real, Form::Sound)] {
            // Tree i stands for i mod 16.
            let bit = |bit: usize| ((bit / 4) as u128 >> (bit % 4) & 1) << bit;
            let delta = Block((0..128).map(bit).sum());
            let (received, shown) = against(
                |channel| receive(victim, &params, &mut ideal::pair([6; 32]).0, channel),
                |channel| {
                    let (keys, base) = (Keys::new(&params, believed), &mut ideal::pair([6; 32]).1);
                    let mut sender = Sender::setup(keys, delta, Check::Nothing, base, channel).unwrap();
                    // Tree 0 lacks leaf 0, which tree 1 has.
                    let leaf = sender.leaves[1][0];
                    assert!(sender.leaves[0][0].is_none() && leaf.is_some());
                    sender.leaves[0][0] = leaf;
                    shown(&sender, channel)
                },
            );
            received.unwrap();
            assert_eq!(shown[0] == choices(), victim != Victim::Real, "{params:?}");
        }
    }
}

/// The sum of a tree's tags gives the tag that the sender lacks. Were a tag the leaf, it would give the leaf.
#[test]
fn tags_say_nothing_of_the_leaf_that_the_sender_lacks() {
    let params = Params::new(Malicious, 4).unwrap();
    for (victim, believed) in [(Victim::Written(Form::BareTags), Form::BareTags), (Victim::Real, Form::Sound)] {
        let (received, shown) = against(
            |channel| receive(victim, &params, &mut ideal::pair([7; 32]).0, channel),
            |channel| {
                let (keys, base) = (Keys::new(&params, believed), &mut ideal::pair([7; 32]).1);
                let delta = Block::random(&mut rng(8));
                let mut sender = Sender::setup(keys, delta, Check::Nothing, base, channel).unwrap();
                for (tree, tag) in sender.missing_tags().into_iter().enumerate() {
                    sender.leaves[tree][part(&params, tree, delta)] = Some(tag[0]);
                }
                shown(&sender, channel)
            },
        );
        received.unwrap();
        assert!(shown.iter().all(|shown| (*shown == choices()) == (victim != Victim::Real)), "{victim:?}");
    }
}
