//! A receiver that wants to know delta, with which it opens both messages of every OT.

use tacita_core::primitive::kernel::block::{self, BLOCK_BYTES, Block};
use tacita_core::primitive::ot::softspoken::{Params, RandomReceiver, RandomSender};
use tacita_core::primitive::ot::{Choices, RandomOtReceiver, RandomOtSender, ideal};
use tacita_core::security::Security::{Malicious, SemiHonest};
use tacita_core::{Channel, Result};

use super::{Challenge, Check, Form, Keys, Receiver, Sender, bits, columns, part, refused, stream, width};
use crate::adversary::{against, as_likely_as};
use crate::support::{rng, session};

/// Sender that is attacked: the real one, or the one written here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Victim {
    Real,
    Written(Check),
}

/// The delta of the senders below: it is the first that they draw.
fn delta(seed: u8) -> Block {
    Block::random(&mut rng(seed))
}

/// A sender that makes OTs in calls of these sizes. What it has in the end.
fn send(victim: Victim, params: &Params, calls: &[usize], seed: u8, channel: &mut Channel) -> Result<Vec<[Block; 2]>> {
    let mut base = ideal::pair([seed; 32]).1;
    let mut pairs = Vec::new();
    match victim {
        Victim::Real => {
            let mut sender = RandomSender::setup_over(params, &session(), "test", &mut base, channel, &mut rng(seed))?;
            for &count in calls {
                let mut outputs = vec![[Block::ONE; 2]; count];
                let sent = sender.send(&mut outputs, channel);
                assert!(sent.is_ok() || outputs.as_flattened().iter().all(|block| *block == Block::ZERO));
                sent?;
                pairs.extend(outputs);
            }
        }
        Victim::Written(check) => {
            let mut sender = Sender::setup(Keys::new(params, Form::Sound), delta(seed), check, &mut base, channel)?;
            for &count in calls {
                pairs.extend(sender.chunk(count, channel)?);
            }
        }
    }
    Ok(pairs)
}

fn setup(params: &Params, seed: u8, channel: &mut Channel, spoil: impl FnOnce(&mut [u8])) -> Result<Receiver> {
    let roots = block::random(params.trees(), &mut rng(seed ^ 0x80));
    Receiver::setup(Keys::new(params, Form::Sound), &roots, &mut ideal::pair([seed; 32]).0, channel, spoil)
}

/// The same choices, all zero, in each tree.
fn no_choices(params: &Params, count: usize) -> Vec<Vec<Block>> {
    vec![block::zeros(width(params, count)); params.trees()]
}

fn hashes(keys: &Keys, blocks: &[Block]) -> Vec<Block> {
    let mut hashes = block::zeros(blocks.len());
    keys.hash.hash(0, blocks, &mut hashes, false);
    hashes
}

/// Whether these are the first blocks of the pairs.
fn are_firsts(firsts: &[Block], pairs: &[[Block; 2]]) -> bool {
    pairs.iter().zip(firsts).all(|(pair, first)| pair[0] == *first)
}

#[test]
fn the_roles_written_here_are_those_of_the_protocol() {
    const COUNT: usize = 5000;
    let choices = Choices::random(COUNT, &mut rng(1));
    for (security, k) in [(SemiHonest, 1), (SemiHonest, 3), (Malicious, 1), (Malicious, 3), (Malicious, 8)] {
        let params = Params::new(security, k).unwrap();
        let (sent, received) = against(
            |channel| send(Victim::Written(Check::All), &params, &[COUNT], 2, channel),
            |channel| {
                let (base, rng) = (&mut ideal::pair([2; 32]).0, &mut rng(3));
                let mut receiver = RandomReceiver::setup_over(&params, &session(), "test", base, channel, rng).unwrap();
                let mut outputs = vec![Block::ZERO; COUNT];
                receiver.receive(&choices, &mut outputs, channel).unwrap();
                outputs
            },
        );
        let sent = sent.unwrap();
        assert!((0..COUNT).all(|index| received[index] == sent[index][usize::from(choices.get(index))]));

        let mut row = block::zeros(width(&params, COUNT));
        choices.iter().enumerate().for_each(|(index, bit)| row[index / 128].0 |= u128::from(bit) << (index % 128));
        let (sent, received) = against(
            |channel| send(Victim::Real, &params, &[COUNT], 2, channel),
            |channel| {
                let mut receiver = setup(&params, 2, channel, |_| ()).unwrap();
                let blocks = receiver.chunk(COUNT, &vec![row; params.trees()], 0, channel).unwrap();
                hashes(&receiver.keys, &blocks)
            },
        );
        let sent = sent.unwrap();
        assert!((0..COUNT).all(|index| received[index] == sent[index][usize::from(choices.get(index))]));
    }
}

/// The classical attack on extensions: OT i is chosen otherwise in tree i than in all others, so that the first block
/// of its pair is the hash of t plus delta's part of tree i. Whoever hears it, as when a message is known, tries the
/// few values that the part can have. If the challenge is known, the last block of columns, which belongs to no OT,
/// hides the difference from the check. All of delta, from a sender that does not end the run.
fn read_delta(victim: Victim, params: &Params, seed: u8) -> Result<Block> {
    let trees = params.trees();
    let (sent, attack) = against(
        |channel| send(victim, params, &[trees], seed, channel),
        |channel| {
            let mut receiver = setup(params, seed, channel, |_| ()).ok()?;
            let mut rows = no_choices(params, trees);
            rows.iter_mut().enumerate().for_each(|(tree, row)| row[0] = Block(1 << tree));
            if params.security() == Malicious {
                let known = Challenge::Known.coefficients(&mut [0; 32], params, trees, &[]);
                rows.iter_mut().for_each(|row| row[1] = row[0] * known[0]);
            }
            if victim == Victim::Written(Check::Known) {
                receiver.challenge = Challenge::Known;
            }
            let blocks = receiver.chunk(trees, &rows, 0, channel).ok()?;
            Some((receiver.keys, blocks))
        },
    );
    let (sent, (keys, blocks)) = (sent?, attack.unwrap());
    let mut delta = Block::ZERO;
    for tree in 0..trees {
        let part = |guess: usize| Block((guess as u128) << bits(params, tree).start);
        let fits = |guess: &usize| {
            let mut hash = [Block::ZERO];
            keys.hash.hash(tree as u64, &[blocks[tree] ^ part(*guess)], &mut hash, false);
            hash[0] == sent[tree][0]
        };
        delta ^= (0..1 << bits(params, tree).len()).find(fits).map_or(Block::ZERO, part);
    }
    Ok(delta)
}

#[test]
fn a_receiver_with_other_choices_in_each_tree_reads_nothing_of_delta() {
    for k in [1, 2, 5, 8] {
        let (semi_honest, malicious) = (Params::new(SemiHonest, k).unwrap(), Params::new(Malicious, k).unwrap());
        assert!(read_delta(Victim::Real, &semi_honest, 10).unwrap() == delta(10), "the form without a check, k = {k}");
        for weakness in [Check::NotChoices, Check::Known] {
            let read = read_delta(Victim::Written(weakness), &malicious, 10).unwrap();
            assert!(read == delta(10), "{weakness:?}, k = {k}");
        }
        for victim in [Victim::Real, Victim::Written(Check::All)] {
            assert!(refused(&read_delta(victim, &malicious, 10)), "{victim:?}, k = {k}");
        }
    }
}

/// Other choices in some trees, and an answer for parts of delta that are zero there: it passes as often as that is
/// right, and then the OTs are as good as any.
#[test]
fn a_guess_of_delta_passes_if_it_is_right_and_only_then() {
    const COUNT: usize = 40;
    for (k, others, bits) in [(1, &[3][..], 1), (1, &[0, 64, 127], 3), (2, &[5], 2)] {
        let params = Params::new(Malicious, k).unwrap();
        let (trials, mut passed) = (128, 0);
        let guess = |victim: Victim, seed: u8| {
            against(
                |channel| send(victim, &params, &[COUNT], seed, channel),
                |channel| {
                    let mut receiver = setup(&params, seed, channel, |_| ()).unwrap();
                    let mut rows = no_choices(&params, COUNT);
                    others.iter().for_each(|tree| rows[*tree][0] = Block(1));
                    let honest = (0..params.trees()).find(|tree| !others.contains(tree)).unwrap();
                    let blocks = receiver.chunk(COUNT, &rows, honest, channel).unwrap();
                    hashes(&receiver.keys, &blocks)
                },
            )
        };
        for seed in 0..trials as u8 {
            let right = others.iter().all(|tree| part(&params, *tree, delta(seed)) == 0);
            // Who does not look lets wrong guesses pass.
            if seed < 8 {
                let (sent, received) = guess(Victim::Written(Check::NotChoices), seed);
                assert_eq!(are_firsts(&received, &sent.unwrap()), right);
            }
            let (sent, received) = guess(Victim::Real, seed);
            match sent {
                Ok(sent) => assert!(right && are_firsts(&received, &sent)),
                refusal => assert!(!right && refused(&refusal)),
            }
            passed += usize::from(right);
        }
        as_likely_as(passed, trials, 0.5f64.powi(bits));
    }
}

/// k = 1. The left sums of some trees are spoilt: a sender whose bit of delta is set there has a wrong leaf. Its OTs
/// say which of the few possible leaves it has. The bits of delta that this gives, if the sender does not end the run.
fn read_bits(victim: Victim, params: &Params, trees: &[usize], seed: u8) -> Result<Vec<bool>> {
    const COUNT: usize = 100;
    const SPOILT: u8 = 4;
    let (sent, receiver) = against(
        |channel| send(victim, params, &[COUNT], seed, channel),
        |channel| {
            let spoil = |message: &mut [u8]| trees.iter().for_each(|tree| message[2 * tree * BLOCK_BYTES] ^= SPOILT);
            let mut receiver = setup(params, seed, channel, spoil).ok()?;
            // The sender may be gone after the trees.
            let _ = receiver.chunk(COUNT, &no_choices(params, COUNT), 0, channel);
            Some(receiver)
        },
    );
    let (sent, receiver) = (sent?, receiver.unwrap());
    // The sender's row of a tree: a stream, and the correction if the bit is set.
    let row = |tree: usize, bit: bool| {
        let wrong = receiver.leaves[tree][0] ^ Block(SPOILT.into());
        let wrong = receiver.keys.seed_and_tag(tree, 0, wrong).0;
        let [zero, one] = [0, 1].map(|leaf| stream(receiver.seed(tree, leaf), 0, 1));
        if bit { vec![stream(wrong, 0, 1)[0] ^ zero[0] ^ one[0]] } else { one }
    };
    let guessed = |guess: usize, tree: usize| {
        trees.iter().position(|other| *other == tree).is_some_and(|at| guess >> at & 1 == 1)
    };
    let fits = |guess: &usize| {
        let rows: Vec<_> = (0..128).map(|tree| row(tree, guessed(*guess, tree))).collect();
        are_firsts(&hashes(&receiver.keys, &columns(&rows, COUNT)), &sent)
    };
    let guess = (0..1 << trees.len()).find(fits).expect("one guess is right");
    Ok((0..trees.len()).map(|at| guess >> at & 1 == 1).collect())
}

/// Among semi-honest parties a receiver that spoils trees reads bits of delta unseen. Among malicious ones it is let
/// pass if none of the sums that it spoilt was taken, which it has to guess.
#[test]
fn a_receiver_that_spoils_trees_learns_no_more_than_it_guesses() {
    let trees = [2, 3, 50, 51, 100, 127];
    let truth = |seed: u8| trees.map(|tree| delta(seed).bit(tree)).to_vec();
    let (semi_honest, malicious) = (Params::new(SemiHonest, 1).unwrap(), Params::new(Malicious, 1).unwrap());
    for seed in 20..23 {
        assert!(read_bits(Victim::Real, &semi_honest, &trees, seed).unwrap() == truth(seed));
        assert!(read_bits(Victim::Written(Check::Nothing), &malicious, &trees, seed).unwrap() == truth(seed));
    }
    let (trials, mut passed) = (120, 0);
    for seed in 0..trials as u8 {
        match read_bits(Victim::Real, &malicious, &trees[..2], seed) {
            Ok(bits) => {
                assert!(bits == [false; 2] && truth(seed)[..2] == bits);
                passed += 1;
            }
            refusal => assert!(refused(&refusal) && truth(seed)[..2].contains(&true)),
        }
    }
    as_likely_as(passed, trials, 0.25);
}

/// A receiver that replays its first call: the streams have moved on, so its choices are others in each tree.
#[test]
fn a_chunk_is_good_for_its_place_only() {
    const COUNT: usize = 100;
    let replayed = |security| {
        let params = Params::new(security, 4).unwrap();
        let (sent, ()) = against(
            |channel| send(Victim::Real, &params, &[COUNT, COUNT], 30, channel),
            |channel| {
                let mut receiver = setup(&params, 30, channel, |_| ()).unwrap();
                for _ in 0..2 {
                    receiver.position = 0;
                    receiver.chunk(COUNT, &no_choices(&params, COUNT), 0, channel).unwrap();
                }
            },
        );
        sent
    };
    assert!(replayed(SemiHonest).is_ok(), "nobody looks");
    assert!(refused(&replayed(Malicious)));
}
