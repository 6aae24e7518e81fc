//! A trusted dealer in the place of each OT protocol, for tests of what is built on OT.
//!
//! Both ends expand one seed, so that no message travels. This is no protocol: each end could compute what the other
//! has.

use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use super::{Choices, CorrelatedOtReceiver, CorrelatedOtSender, RandomOtReceiver, RandomOtSender};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::kernel::Block;

/// The dealer's two ends. Each is behind both of its role's traits; the OTs of both come from one stream, so that
/// both ends must take them in the same order.
pub fn pair(seed: [u8; 32]) -> (IdealOtSender, IdealOtReceiver) {
    (IdealOtSender(Dealer::new(seed)), IdealOtReceiver(Dealer::new(seed)))
}

/// The dealer's end for a sender.
pub struct IdealOtSender(Dealer);

/// The dealer's end for a receiver.
pub struct IdealOtReceiver(Dealer);

struct Dealer {
    rng: ChaCha20Rng,
    delta: Block,
}

impl Dealer {
    fn new(seed: [u8; 32]) -> Dealer {
        let mut rng = ChaCha20Rng::from_seed(seed);
        let delta = block(&mut rng);
        Dealer { rng, delta }
    }
}

fn block(rng: &mut ChaCha20Rng) -> Block {
    let mut bytes = [0; 16];
    rng.fill_bytes(&mut bytes);
    Block(u128::from_le_bytes(bytes))
}

impl RandomOtSender for IdealOtSender {
    fn send(&mut self, outputs: &mut [[Block; 2]], _: &mut Channel) -> Result<()> {
        outputs.fill_with(|| [block(&mut self.0.rng), block(&mut self.0.rng)]);
        Ok(())
    }
}

impl RandomOtReceiver for IdealOtReceiver {
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], _: &mut Channel) -> Result<()> {
        assert_eq!(choices.len(), outputs.len(), "one choice bit an OT");
        for (choice, output) in choices.iter().zip(outputs) {
            let pair = [block(&mut self.0.rng), block(&mut self.0.rng)];
            *output = pair[usize::from(choice)];
        }
        Ok(())
    }
}

impl CorrelatedOtSender for IdealOtSender {
    fn delta(&self) -> Block {
        self.0.delta
    }

    fn send(&mut self, outputs: &mut [Block], _: &mut Channel) -> Result<()> {
        outputs.fill_with(|| block(&mut self.0.rng));
        Ok(())
    }
}

impl CorrelatedOtReceiver for IdealOtReceiver {
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], _: &mut Channel) -> Result<()> {
        assert_eq!(choices.len(), outputs.len(), "one choice bit an OT");
        for (choice, output) in choices.iter().zip(outputs) {
            let first = block(&mut self.0.rng);
            *output = if choice { Block(first.0 ^ self.0.delta.0) } else { first };
        }
        Ok(())
    }
}

impl fmt::Debug for IdealOtSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sender(..)")
    }
}

impl fmt::Debug for IdealOtReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Receiver(..)")
    }
}
