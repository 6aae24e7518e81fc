//! Random OTs that were made before the receiver knew its choices.
//!
//! The receiver sends in which places its choices differ from the random ones, and the sender exchanges the blocks of
//! those pairs (Beaver, CRYPTO 1995). The differences are uniformly random.

use std::fmt;

use zeroize::{Zeroize, Zeroizing};

use super::{Choices, FLIPS, RandomOtReceiver, RandomOtSender};
use crate::channel::{Channel, MAX_PAYLOAD_BYTES};
use crate::error::{Error, Result};
use crate::primitive::kernel::Block;

/// Choices of one message.
const CHUNK: usize = 8 * MAX_PAYLOAD_BYTES;

/// A sender's store of random OTs. Each is used once, in order.
pub struct StoredSender {
    pairs: Zeroizing<Vec<[Block; 2]>>,
    used: usize,
}

/// A receiver's store of random OTs with random choices. Each is used once, in order.
pub struct StoredReceiver {
    choices: Choices,
    blocks: Zeroizing<Vec<Block>>,
    used: usize,
}

impl StoredSender {
    /// A store of these pairs, as [`RandomOtSender::send`] wrote them.
    pub fn new(pairs: Vec<[Block; 2]>) -> StoredSender {
        StoredSender { pairs: Zeroizing::new(pairs), used: 0 }
    }

    /// Returns the number of OTs left.
    pub fn left(&self) -> usize {
        self.pairs.len() - self.used
    }
}

impl StoredReceiver {
    /// A store of these OTs, as [`RandomOtReceiver::receive`] wrote them for `choices`, which must be uniformly random.
    ///
    /// # Panics
    ///
    /// If there are not as many of both.
    pub fn new(choices: Choices, blocks: Vec<Block>) -> StoredReceiver {
        assert_eq!(choices.len(), blocks.len(), "one choice bit an OT");
        StoredReceiver { choices, blocks: Zeroizing::new(blocks), used: 0 }
    }

    /// Returns the number of OTs left.
    pub fn left(&self) -> usize {
        self.blocks.len() - self.used
    }
}

impl RandomOtSender for StoredSender {
    fn send(&mut self, outputs: &mut [[Block; 2]], channel: &mut Channel) -> Result<()> {
        check(outputs.len(), self.left())?;
        // Used even if this fails: the receiver may have shown the differences already.
        let (start, count) = (self.used, outputs.len());
        self.used += count;
        let stored = &mut self.pairs[start..start + count];
        let mut send = || -> Result<()> {
            for (outputs, stored) in outputs.chunks_mut(CHUNK).zip(stored.chunks(CHUNK)) {
                let flips = receive_flips(outputs.len(), channel)?;
                for ((output, pair), flip) in outputs.iter_mut().zip(stored).zip(flips.iter()) {
                    // The differences are public.
                    *output = if flip { [pair[1], pair[0]] } else { *pair };
                }
            }
            Ok(())
        };
        let sent = send();
        stored.as_flattened_mut().zeroize();
        sent.inspect_err(|_| outputs.as_flattened_mut().zeroize())
    }
}

impl RandomOtReceiver for StoredReceiver {
    fn receive(&mut self, choices: &Choices, outputs: &mut [Block], channel: &mut Channel) -> Result<()> {
        assert_eq!(choices.len(), outputs.len(), "one choice bit an OT");
        check(outputs.len(), self.left())?;
        let (start, count) = (self.used, outputs.len());
        self.used += count;
        let mut receive = || -> Result<()> {
            for from in (0..count).step_by(CHUNK) {
                send_flips(CHUNK.min(count - from), channel, |at| {
                    choices.word_at(from + at) ^ self.choices.word_at(start + from + at)
                })?;
            }
            Ok(())
        };
        let received = receive();
        let stored = &mut self.blocks[start..start + count];
        outputs.copy_from_slice(stored);
        stored.zeroize();
        received.inspect_err(|_| outputs.zeroize())
    }
}

/// Sends in which of `count` places, [`CHUNK`] at most, the choices differ: `difference` has the 128 bits from a place
/// on, of which those beyond the last are left out.
pub(crate) fn send_flips(count: usize, channel: &mut Channel, difference: impl Fn(usize) -> u128) -> Result<()> {
    let mut flips = vec![0; count.div_ceil(8)];
    for (word, bytes) in flips.chunks_mut(16).enumerate() {
        let at = 128 * word;
        let used = u128::MAX >> (128 - (count - at).min(128));
        bytes.copy_from_slice(&(difference(at) & used).to_le_bytes()[..bytes.len()]);
    }
    channel.send(FLIPS, flips)
}

/// The other side of [`send_flips`].
pub(crate) fn receive_flips(count: usize, channel: &mut Channel) -> Result<Choices> {
    let flips = channel.receive(FLIPS, count.div_ceil(8))?;
    if !count.is_multiple_of(8) && flips.last().is_some_and(|last| last >> (count % 8) != 0) {
        return Err(channel.violation(format!("`{}` have bits beyond the last", FLIPS.name)));
    }
    Ok(Choices::from_bytes(&flips, count))
}

fn check(wanted: usize, left: usize) -> Result<()> {
    if wanted <= left {
        Ok(())
    } else {
        Err(Error::Internal(format!("{wanted} stored OTs are wanted, {left} are left")))
    }
}

impl fmt::Debug for StoredSender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredSender({} left)", self.left())
    }
}

impl fmt::Debug for StoredReceiver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "StoredReceiver({} left)", self.left())
    }
}
