//! Trees of AES, with secret seeds and secret places; and what is computed with their leaves.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread::JoinHandle;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use tacita_core::primitive::kernel::fold::permute_by_xor;
use tacita_core::primitive::kernel::{Block, Doubling, LeafStreams, block, gf128};
use tacita_core::primitive::ot::{Choices, CorrelatedOtReceiver};
use tacita_core::primitive::vole::params::{MIN_OUTPUTS, Parameters, VoleKind};
use tacita_core::primitive::vole::silent::CotReceiver;
use tacita_core::primitive::vole::{RandomCotReceiver, TREE_SUMS, TREE_TIPS};
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Result, Security};

use super::measure::{Make, Operation, trial};

/// Levels of a tree.
const DEPTH: usize = 8;
const LEAVES: usize = 1 << DEPTH;

/// Streams that are folded, and blocks of each.
const STREAMS: usize = 16;
const BLOCKS: usize = 64;

/// Returns all operations of this module.
pub fn all() -> Vec<Operation> {
    vec![
        Operation::new("trees: leaves, root", "zero", grown(), growing_a_half()),
        Operation::new("trees: leaves but one, place", "0", punctured(), stopping_at_the_hole()),
        Operation::new("trees: places moved, by how much", "0", moved(), moving_where_a_bit_is_set()),
        Operation::new("trees: sums of streams, seeds", "zeros", folded(), leaving_out_zeros()),
        Operation::new("silent OT: receiver's places and choices", "seed", silent(), stopping_at_the_hole()),
        Operation::new("GF(2^128): products with one factor", "zero", scaled(), adding_where_a_bit_is_set()),
    ]
}

fn generator() -> Doubling {
    Doubling::new([Block(1), Block(2)])
}

/// Computes all leaves under a root.
fn grown() -> Make {
    Box::new(|_| {
        let (generator, mut leaves, mut sums) = (generator(), block::zeros(LEAVES), [[Block::ZERO; 2]; DEPTH]);
        trial(Block::ZERO, Block::random, move |root| generator.expand_tree(*root, &mut leaves, &mut sums))
    })
}

/// The control of leaves: a root with an odd number has more of them.
fn growing_a_half() -> Make {
    Box::new(|_| {
        let (generator, mut leaves, mut sums) = (generator(), block::zeros(LEAVES), [[Block::ZERO; 2]; DEPTH]);
        trial(Block::ZERO, Block::random, move |root| {
            let levels = DEPTH - 1 + (root.0 & 1) as usize;
            generator.expand_tree(*root, &mut leaves[..1 << levels], &mut sums[..levels]);
        })
    })
}

/// Computes all leaves but that at a place.
fn punctured() -> Make {
    Box::new(|rng| {
        let (generator, mut leaves, sums) = (generator(), block::zeros(LEAVES), block::random(DEPTH, rng));
        trial(0, place, move |hole| generator.expand_punctured(*hole, &sums, &mut leaves))
    })
}

fn place(rng: &mut ChaCha20Rng) -> usize {
    rng.next_u32() as usize % LEAVES
}

/// The control of places: leaf by leaf until the one that is missing.
fn stopping_at_the_hole() -> Make {
    Box::new(|rng| {
        let (generator, parents) = (generator(), block::random(LEAVES, rng));
        trial(0, place, move |hole| {
            let mut children = [Block::ZERO; 2];
            let each = parents[..*hole].chunks(1).map(|parent| generator.expand(parent, &mut children));
            each.fold(Block::ZERO, |sum, [left, right]| sum ^ left ^ right)
        })
    })
}

/// Leaves moved to other places.
fn moved() -> Make {
    Box::new(|rng| {
        let mut leaves = block::random(LEAVES, rng);
        trial(0, place, move |shift| permute_by_xor(&mut leaves, *shift))
    })
}

/// The control of moving.
fn moving_where_a_bit_is_set() -> Make {
    Box::new(|rng| {
        let mut leaves = block::random(LEAVES, rng);
        trial(0, place, move |shift| {
            for half in (0..DEPTH).map(|bit| 1 << bit).filter(|half| *shift & half != 0) {
                for pair in leaves.chunks_exact_mut(2 * half) {
                    let (low, high) = pair.split_at_mut(half);
                    low.swap_with_slice(high);
                }
            }
        })
    })
}

/// Sums of the streams of seeds.
fn folded() -> Make {
    Box::new(|_| {
        let mut sums = block::zeros(STREAMS.ilog2() as usize * BLOCKS);
        let random = |rng: &mut ChaCha20Rng| block::random(STREAMS, rng);
        trial(block::zeros(STREAMS), random, move |seeds| {
            LeafStreams::new(seeds).fold_planes(0, BLOCKS, &mut sums, BLOCKS);
        })
    })
}

/// The control of streams.
fn leaving_out_zeros() -> Make {
    Box::new(|_| {
        let generator = generator();
        let random = |rng: &mut ChaCha20Rng| block::random(STREAMS, rng);
        trial(block::zeros(STREAMS), random, move |seeds| {
            seeds.retain(|seed| *seed != Block::ZERO);
            let mut children = block::zeros(2 * seeds.len());
            generator.expand(seeds, &mut children)
        })
    })
}

/// Products of many blocks with one.
fn scaled() -> Make {
    Box::new(|rng| {
        let (blocks, mut products) = (block::random(LEAVES, rng), block::zeros(LEAVES));
        trial(Block::ZERO, Block::random, move |factor| gf128::scale(&blocks, *factor, &mut products))
    })
}

/// The control of products: the first factor, doubled, is added where a bit of the second is set.
fn adding_where_a_bit_is_set() -> Make {
    Box::new(|rng| {
        let block = Block::random(rng);
        trial(Block::ZERO, Block::random, move |factor| {
            let double = |block: &Block| Some(Block(block.0 << 1 ^ 0x87 & (block.0 >> 127).wrapping_neg()));
            let doubles = std::iter::successors(Some(block), double).take(128);
            let set = doubles.enumerate().filter(|(bit, _)| factor.bit(*bit));
            set.fold(Block::ZERO, |sum, (_, double)| gf128::product(sum ^ double, Block::ONE))
        })
    })
}

/// A run of silent OT at its receiver: which leaves it lacks, and its choices, follow from a seed.
fn silent() -> Make {
    Box::new(|rng| {
        let peer = Rc::new(RefCell::new(None::<Peer>));
        let (of_random, session) = (peer.clone(), Session::new(Transcript::new("bench")));
        let (mut outputs, transfers) = (block::zeros(MIN_OUTPUTS), Rc::new(block::random(1 << 16, rng)));
        let random = move |rng: &mut ChaCha20Rng| {
            if let Some((_, thread)) = of_random.replace(Some(sender(rng))) {
                thread.join().expect("it has sent all");
            }
            let mut seed = [0; 32];
            rng.fill_bytes(&mut seed);
            seed
        };
        trial([0; 32], random, move |seed| {
            let mut rng = ChaCha20Rng::from_seed(*seed);
            let transfers = Given(transfers.clone());
            let mut receiver = CotReceiver::new(transfers, Security::SemiHonest, &session, "bench", &mut rng);
            let mut peer = peer.borrow_mut();
            let (channel, _) = peer.as_mut().expect("there is a sender");
            receiver.extend(&mut outputs, channel).expect("the messages are as long as they should be");
        })
    })
}

/// The receiver's end of a channel, and the thread at its other end.
type Peer = (Channel, JoinHandle<Channel>);

/// A channel on which a sender's messages wait: random ones, of which a receiver that is semi-honest can't tell.
fn sender(rng: &mut ChaCha20Rng) -> Peer {
    let parameters = Parameters::new(VoleKind::Binary, MIN_OUTPUTS).expect("there are such runs");
    let mut message = |bytes: usize| {
        let mut message = vec![0; bytes];
        rng.fill_bytes(&mut message);
        message
    };
    let sums: Vec<_> = (0..parameters.depth).map(|_| message(parameters.sums_bytes())).collect();
    let tips = message(parameters.tips_bytes());
    let (mut sender, receiver) = Channel::pair("sender", "receiver");
    let thread = std::thread::spawn(move || {
        let sent = sums.into_iter().try_for_each(|sums| sender.send(TREE_SUMS, sums));
        sent.and_then(|()| sender.send(TREE_TIPS, tips)).expect("the receiver takes them");
        sender
    });
    (receiver, thread)
}

/// Transfers whose outputs do not depend on the choices.
struct Given(Rc<Vec<Block>>);

impl CorrelatedOtReceiver for Given {
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], _: &mut Channel) -> Result<()> {
        outputs.copy_from_slice(&self.0[..choices.len()]);
        Ok(())
    }
}
