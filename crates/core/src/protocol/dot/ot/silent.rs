//! Random OTs from silent COT: correlated OTs with random choices, made one run at a time.
//!
//! The receiver sends in which places its choices differ from the random ones, and the sender adds delta to its blocks
//! there (Beaver, CRYPTO 1995). Hashes of the blocks are the random OTs, as in OT extension.

use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::primitive::kernel::RekeyedHash;
use crate::primitive::kernel::block::{self, Block};
use crate::primitive::ot::softspoken::{self, CorrelatedReceiver, CorrelatedSender};
use crate::primitive::ot::stored::{receive_flips, send_flips};
use crate::primitive::ot::{Choices, RandomOtReceiver, RandomOtSender, base};
use crate::primitive::vole::params::VoleKind;
use crate::primitive::vole::silent::{self, CotReceiver, CotSender};
use crate::primitive::vole::{RandomCotReceiver, RandomCotSender};
use crate::role::Role;
use crate::security::Security;
use crate::session::Session;

/// The parameter k of OT extension: few bytes, because a run needs only some thousand OTs.
const K: usize = 8;

fn transfers() -> Result<softspoken::Params> {
    softspoken::Params::new(Security::SemiHonest, K)
}

/// Bytes that a party sends in setting up.
pub(super) fn setup_bytes_sent_by(role: Role) -> u64 {
    transfers().map_or(0, |transfers| transfers.setup_bytes_sent_by(role))
}

/// Bytes that a party sends in one [`Sender::refill`].
pub(super) fn run_bytes_sent_by(role: Role, count: usize) -> u64 {
    transfers().and_then(|transfers| silent::run_bytes_sent_by(role, VoleKind::Binary, count, &transfers)).unwrap_or(0)
}

/// State that both roles hold besides the correlated OTs' protocol.
struct Stock {
    hash: RekeyedHash,
    blocks: Zeroizing<Vec<Block>>,
    used: usize,
    /// The tweak of the next hash.
    index: u64,
}

impl Stock {
    fn new(session: &Session, purpose: &str) -> Stock {
        let key = Block::from_le_slice(&session.derive(&format!("silent OT hash for {purpose}")));
        Stock { hash: RekeyedHash::new(key), blocks: Zeroizing::default(), used: 0, index: 0 }
    }

    /// `count` new blocks, which `fill` makes. Until it has succeeded all count as used: those of a run that failed are
    /// not random.
    fn renew(&mut self, count: usize, fill: impl FnOnce(&mut [Block]) -> Result<()>) -> Result<()> {
        if self.blocks.len() != count {
            self.blocks = Zeroizing::new(block::zeros(count));
        }
        self.used = count;
        fill(&mut self.blocks)?;
        self.used = 0;
        Ok(())
    }

    /// The next `count` blocks, and the tweak of the first. They count as used whatever happens.
    fn take(&mut self, count: usize) -> Result<(&RekeyedHash, u64, &mut [Block])> {
        let left = self.blocks.len() - self.used;
        if count > left {
            return Err(Error::Internal(format!("{count} silent OTs are wanted, {left} are left")));
        }
        let (start, index) = (self.used, self.index);
        self.used += count;
        self.index += count as u64;
        Ok((&self.hash, index, &mut self.blocks[start..start + count]))
    }
}

/// Sender of silent OTs.
pub(super) struct Sender {
    cot: CotSender<CorrelatedSender>,
    stock: Stock,
}

impl Sender {
    /// Sets up OTs with a peer that sets up a [`Receiver`]; base OTs included.
    pub(super) fn setup(
        session: &Session,
        purpose: &str,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Sender> {
        // The lowest bit of blocks is their choice.
        let delta = Block(Block::random(rng).0 | 1);
        let mut base = base::BaseOtReceiver::new(session, &of_base(purpose), rng);
        let transfers = CorrelatedSender::setup_over(&transfers()?, session, purpose, delta, &mut base, channel)?;
        let cot = CotSender::new(transfers, Security::SemiHonest, session, purpose, rng)?;
        Ok(Sender { cot, stock: Stock::new(session, purpose) })
    }

    /// Makes `count` OTs in the place of those that are left.
    pub(super) fn refill(&mut self, count: usize, channel: &mut Channel) -> Result<()> {
        self.stock.renew(count, |blocks| self.cot.extend(blocks, channel))
    }
}

impl RandomOtSender for Sender {
    fn send(&mut self, outputs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()> {
        let delta = self.cot.delta();
        let (hash, index, blocks) = self.stock.take(outputs.len())?;
        let flips = receive_flips(outputs.len(), channel).inspect_err(|_| outputs.as_flattened_mut().zeroize())?;
        for (block, flip) in blocks.iter_mut().zip(flips.iter()) {
            *block ^= delta & Block::select(flip);
        }
        hash.hash_pairs(index, blocks, delta, outputs, false);
        blocks.zeroize();
        Ok(())
    }
}

/// Receiver of silent OTs.
pub(super) struct Receiver {
    cot: CotReceiver<CorrelatedReceiver>,
    stock: Stock,
}

impl Receiver {
    /// The other side of [`Sender::setup`].
    pub(super) fn setup(
        session: &Session,
        purpose: &str,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Receiver> {
        let mut base = base::BaseOtSender::new(session, &of_base(purpose), rng);
        let transfers = CorrelatedReceiver::setup_over(&transfers()?, session, purpose, &mut base, channel, rng)?;
        let cot = CotReceiver::new(transfers, Security::SemiHonest, session, purpose, rng);
        Ok(Receiver { cot, stock: Stock::new(session, purpose) })
    }

    /// The other side of [`Sender::refill`].
    pub(super) fn refill(&mut self, count: usize, channel: &mut Channel) -> Result<()> {
        self.stock.renew(count, |blocks| self.cot.extend(blocks, channel))
    }
}

impl RandomOtReceiver for Receiver {
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], channel: &mut Channel) -> Result<()> {
        assert_eq!(choices.len(), outputs.len(), "one choice bit an OT");
        let (hash, index, blocks) = self.stock.take(outputs.len())?;
        let random = |start: usize| {
            let bits = blocks[start..].iter().take(128).enumerate();
            bits.fold(0, |word, (place, block)| word | (block.0 & 1) << place)
        };
        let sent = send_flips(choices.len(), channel, |at| choices.word_at(at) ^ random(at));
        sent.inspect_err(|_| outputs.zeroize())?;
        hash.hash(index, blocks, outputs, false);
        blocks.zeroize();
        Ok(())
    }
}

fn of_base(purpose: &str) -> String {
    format!("silent OT for {purpose}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Transcript;

    #[test]
    fn a_run_that_failed_leaves_no_transfers() {
        let mut stock = Stock::new(&Session::new(Transcript::new("test")), "test");
        let fail = |_: &mut [Block]| Err(Error::Internal("no run".into()));
        let fill = |blocks: &mut [Block]| {
            blocks.fill(Block::ONE);
            Ok(())
        };
        assert!(stock.renew(4, fail).is_err());
        assert!(stock.take(1).is_err());
        stock.renew(4, fill).unwrap();
        assert_eq!(stock.take(3).unwrap().2, [Block::ONE; 3]);
        // Of the same size, and of another one: what is left counts no more.
        for count in [4, 5] {
            assert!(stock.renew(count, fail).is_err());
            assert!(stock.take(1).is_err());
        }
        stock.renew(5, fill).unwrap();
        assert_eq!(stock.take(5).unwrap().1, 3);
    }
}
