//! A trusted dealer in the place of the protocols, for tests of what is built on VOLE and COT.
//!
//! Both ends expand one seed, so that no message travels. This is no protocol: each end could compute what the other
//! has.

use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::{RandomCotReceiver, RandomCotSender, VoleReceiver, VoleSender};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::kernel::Block;

/// The dealer's two ends, each behind both of its role's traits. Both must be used in the same order.
pub fn pair(seed: [u8; 32]) -> (IdealVoleSender, IdealVoleReceiver) {
    (IdealVoleSender(Dealer::new(seed)), IdealVoleReceiver(Dealer::new(seed)))
}

/// The dealer's end for a sender.
pub struct IdealVoleSender(Dealer);

/// The dealer's end for a receiver.
pub struct IdealVoleReceiver(Dealer);

struct Dealer {
    rng: ChaCha20Rng,
    delta: Block,
}

/// The lowest bit of a block.
const LOWEST: Block = Block(1);

impl Dealer {
    fn new(seed: [u8; 32]) -> Dealer {
        let mut rng = ChaCha20Rng::from_seed(seed);
        let delta = Block(Block::random(&mut rng).0 | LOWEST.0);
        Dealer { rng, delta }
    }

    /// a and b of the next element of a VOLE.
    fn element(&mut self) -> (Block, Block) {
        (Block::random(&mut self.rng), Block::random(&mut self.rng))
    }

    /// The choice, as a block of zeros or ones, and the first block of the next OT.
    fn transfer(&mut self) -> (Block, Block) {
        let (choice, first) = self.element();
        (Block::select(choice.bit(0)), Block(first.0 & !LOWEST.0))
    }
}

impl VoleSender for IdealVoleSender {
    fn delta(&self) -> Block {
        self.0.delta
    }

    fn extend(&mut self, b: &mut [Block], _: &mut Channel) -> Result<()> {
        b.fill_with(|| self.0.element().1);
        Ok(())
    }
}

impl VoleReceiver for IdealVoleReceiver {
    fn extend(&mut self, a: &mut [Block], c: &mut [Block], _: &mut Channel) -> Result<()> {
        assert_eq!(a.len(), c.len(), "as many products as factors");
        for (a, c) in a.iter_mut().zip(c) {
            let element = self.0.element();
            (*a, *c) = (element.0, element.1 ^ (element.0 * self.0.delta));
        }
        Ok(())
    }
}

impl RandomCotSender for IdealVoleSender {
    fn delta(&self) -> Block {
        self.0.delta
    }

    fn extend(&mut self, b: &mut [Block], _: &mut Channel) -> Result<()> {
        b.fill_with(|| self.0.transfer().1);
        Ok(())
    }
}

impl RandomCotReceiver for IdealVoleReceiver {
    fn extend(&mut self, c: &mut [Block], _: &mut Channel) -> Result<()> {
        for c in c {
            let (choice, first) = self.0.transfer();
            *c = first ^ choice & self.0.delta;
        }
        Ok(())
    }
}

impl fmt::Debug for IdealVoleSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender(..)")
    }
}

impl fmt::Debug for IdealVoleReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver(..)")
    }
}
