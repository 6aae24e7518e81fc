//! A receiver that chooses the sums of a tree as it likes: it must not know all nodes that the tip adds up.
//!
//! An honest receiver's choices lead to a leaf that counts. Others may lead to a node that the sender dropped, or be no
//! path at all. Whatever they are, one node of the frontier (leaves and dropped nodes) has to stay unknown, and the tip
//! has to contain it: else the tip shows what it hides, from which delta follows.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::keys::Keys;
use super::trees::{grow, room};
use crate::channel::Channel;
use crate::primitive::kernel::{Block, block};
use crate::primitive::vole::params::{Parameters, VoleKind};
use crate::primitive::vole::{TREE_SUMS, TREE_TIPS};
use crate::session::{Session, Transcript};

const SEED: [u8; 32] = [4; 32];

fn keys() -> Keys {
    let mut keys = Keys::new(&Session::new(Transcript::new("test")), VoleKind::Field, "test");
    keys.runs = 1;
    keys
}

/// Values that a sender has sent of its first tree, and all that it hides.
struct Tree {
    /// For each level, both sums without their masks: a receiver gets one of each level, whichever it likes.
    sums: Vec<[Block; 2]>,
    tip: Block,
    /// Value that the tip is meant to add to the one unknown node.
    hidden: Block,
    root: Block,
}

impl Tree {
    fn sent(parameters: &Parameters) -> Tree {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        let delta = Block::random(&mut rng);
        let masks = block::random(parameters.tree_transfers(), &mut rng);
        let tips = block::random(parameters.trees, &mut rng);
        let (sender, mut receiver) = Channel::pair("sender", "receiver");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let (mut sender, mut nodes) = (sender, block::zeros(room(parameters)));
                let mut rng = ChaCha20Rng::from_seed(SEED);
                grow(parameters, &mut keys(), delta, &masks, &tips, &mut nodes, &mut sender, &mut rng).unwrap();
            });
            let mut sums = Vec::new();
            for level in 0..parameters.depth {
                let message =
                    block::from_bytes(&receiver.receive(TREE_SUMS, parameters.sums_bytes()).unwrap()).unwrap();
                let (at, mut pads) = (level * parameters.trees, [[Block::ZERO; 2]]);
                keys().hash.hash_pairs(at as u64, &masks[at..=at], delta, &mut pads, false);
                sums.push([0, 1].map(|side| message[side] ^ pads[0][side]));
            }
            let tip = block::from_bytes(&receiver.receive(TREE_TIPS, parameters.tips_bytes()).unwrap()).unwrap()[0];
            Tree { sums, tip, hidden: tips[0], root: Block::random(&mut ChaCha20Rng::from_seed(SEED)) }
        })
    }

    /// The frontier: all leaves, then the dropped nodes from the root on. `None` is what a receiver does not know that
    /// takes the sum on side `sides(level)` of each level; who has the root knows all.
    fn frontier(&self, p: &Parameters, root: Option<Block>, sides: impl Fn(usize) -> usize) -> Vec<Option<Block>> {
        let (keys, mut level, mut dropped) = (keys(), vec![root], Vec::new());
        for depth in 0..p.depth {
            let mut next = Vec::with_capacity(2 * level.len());
            for parent in &level {
                let mut children = [Block::ZERO; 2];
                keys.doubling(depth + 1).expand(&[parent.unwrap_or_default()], &mut children);
                next.extend(children.map(|child| parent.map(|_| child)));
            }
            let side = sides(depth);
            let missing: Vec<usize> = (side..next.len()).step_by(2).filter(|&node| next[node].is_none()).collect();
            if let [missing] = missing[..] {
                let others = next.iter().skip(side).step_by(2).flatten();
                next[missing] = Some(others.fold(self.sums[depth][side], |sum, node| sum ^ *node));
            }
            if depth + 1 < p.depth {
                dropped.extend(next.drain(p.nodes(depth + 1)..));
            }
            level = next;
        }
        level.extend(dropped);
        level
    }
}

fn sum(nodes: &[Option<Block>]) -> Block {
    nodes.iter().flatten().fold(Block::ZERO, |sum, node| sum ^ *node)
}

/// Checks each number of leaves with each string of choices.
#[test]
fn every_string_of_choices_leaves_one_node_of_the_frontier_unknown() {
    let mut opened = 0;
    for leaves in 2usize..=200 {
        let depth = leaves.next_power_of_two().ilog2() as usize;
        let parameters =
            Parameters { kind: VoleKind::Field, outputs: leaves / 2, trees: 1, leaves, depth, length: leaves };
        let tree = Tree::sent(&parameters);
        let whole = tree.frontier(&parameters, Some(tree.root), |_| 0);
        assert!(whole.iter().all(Option::is_some));
        let last = leaves.next_multiple_of(2);
        for string in 0..1usize << depth {
            let known = tree.frontier(&parameters, None, |level| string >> level & 1);
            let unknown: Vec<usize> = (0..known.len()).filter(|&node| known[node].is_none()).collect();
            let &[unknown] = &unknown[..] else {
                panic!("{leaves} leaves, choices {string:b}: {} nodes are unknown", unknown.len());
            };
            assert!(known.iter().zip(&whole).all(|(known, true_one)| known.is_none() || known == true_one));
            // What is left of the tip is hidden by that node.
            let left = tree.tip ^ sum(&known);
            assert!(left == tree.hidden ^ sum(&whole[unknown..=unknown]), "{leaves} leaves, choices {string:b}");
            // A sender that leaves dropped nodes out of its tip: every path that ends in one opens it.
            let weakened = tree.tip ^ sum(&whole[last..]) ^ sum(&known[..last]);
            assert_eq!(weakened == tree.hidden, unknown >= last);
            opened += usize::from(unknown >= last);
        }
    }
    assert!(opened > 1000, "the weakened sender lost {opened} times only");
}

/// The sizes of real runs, and a receiver that always takes the left sums, or the right ones.
#[test]
fn a_receiver_that_takes_one_side_of_all_levels_opens_no_tip() {
    for (kind, bits) in
        [VoleKind::Field, VoleKind::Binary].into_iter().flat_map(|kind| [12, 16, 18].map(|bits| (kind, bits)))
    {
        let parameters = Parameters::new(kind, 1 << bits).unwrap();
        let tree = Tree::sent(&parameters);
        for side in [0, 1] {
            let known = tree.frontier(&parameters, None, |_| side);
            assert_eq!(known.iter().filter(|node| node.is_none()).count(), 1, "{kind:?} 2^{bits}");
            // Whether it takes dropped nodes for a part of the tip or not.
            for counted in [known.len(), parameters.leaves.next_multiple_of(2)] {
                assert!(tree.tip ^ sum(&known[..counted]) != tree.hidden, "{kind:?} 2^{bits}");
            }
        }
    }
}
