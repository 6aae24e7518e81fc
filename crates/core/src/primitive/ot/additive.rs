//! Products of integers with bits, as sums of two shares: correlated OT with correlations that the sender chooses.
//!
//! The sender has x_i, the receiver a bit y_i. From a random OT with blocks m_0 and m_1 the sender's share is -m_0, and
//! it sends d_i = m_0 + x_i - m_1; the receiver's share is m_(y_i), and d_i added if y_i is set. The shares' sum is
//! x_i * y_i, modulo 2^bits or bit by bit. (Gilboa, CRYPTO 1999; Asharov, Lindell, Schneider and Zohner, CCS 2013.)
//!
//! Each share alone is uniformly random. A malicious receiver gets no more than x_i * y_i for a bit of its own; a
//! malicious sender can send any d_i, which is as if it had chosen another x_i.

use std::fmt;
use std::ops::Range;

use zeroize::Zeroize;

use super::packing::{self, STRIP};
use super::{Choices, MESSAGES, RandomOtReceiver, RandomOtSender, messages};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::primitive::kernel::Block;

/// An unsigned integer that holds shares.
pub trait ShareWord: Copy + Default + PartialEq + fmt::Debug + Send + Sync + Zeroize + sealed::Sealed {
    /// Number of bits of the integer.
    const BITS: u32;
}

mod sealed {
    pub trait Sealed {
        fn wide(self) -> u128;
        fn narrow(wide: u128) -> Self;
    }
}

macro_rules! word {
    ($($word:ty),*) => {$(
        impl ShareWord for $word {
            const BITS: u32 = <$word>::BITS;
        }

        impl sealed::Sealed for $word {
            #[inline]
            fn wide(self) -> u128 {
                u128::from(self)
            }

            #[inline]
            fn narrow(wide: u128) -> $word {
                wide as $word
            }
        }
    )*};
}

word!(u8, u16, u32, u64, u128);

/// Arithmetic in which shares add up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sharing {
    bits: u32,
    carries: bool,
}

impl Sharing {
    /// Modulo 2^`bits`, 1 to 128.
    pub fn modulo(bits: u32) -> Result<Sharing> {
        Sharing::new(bits, true)
    }

    /// Shares by exclusive or of `bits` bits, 1 to 128.
    pub fn exclusive_or(bits: u32) -> Result<Sharing> {
        Sharing::new(bits, false)
    }

    fn new(bits: u32, carries: bool) -> Result<Sharing> {
        if (1..=128).contains(&bits) {
            Ok(Sharing { bits, carries })
        } else {
            Err(Error::Internal(format!("shares of {bits} bits: 1 to 128 are possible")))
        }
    }

    /// Bytes of the message for `count` OTs.
    pub(crate) fn message_bytes(&self, count: usize) -> usize {
        packing::bytes(count, self.bits)
    }

    fn mask(&self, value: u128) -> u128 {
        value & (u128::MAX >> (128 - self.bits))
    }

    fn add(&self, a: u128, b: u128) -> u128 {
        self.mask(if self.carries { a.wrapping_add(b) } else { a ^ b })
    }

    fn subtract(&self, a: u128, b: u128) -> u128 {
        self.mask(if self.carries { a.wrapping_sub(b) } else { a ^ b })
    }

    fn check<W: ShareWord>(&self) -> Result<()> {
        if self.bits <= W::BITS {
            Ok(())
        } else {
            Err(Error::Internal(format!("shares of {} bits in words of {}", self.bits, W::BITS)))
        }
    }
}

/// The sender's part: writes its shares for its correlations x_i, which are taken modulo 2^bits. The slices must be
/// equally long. If this fails, `shares` are zero.
pub fn send<W: ShareWord>(
    sharing: Sharing,
    ot: &mut (impl RandomOtSender + ?Sized),
    correlations: &[W],
    shares: &mut [W],
    channel: &mut Channel,
) -> Result<()> {
    assert_eq!(correlations.len(), shares.len(), "one share for each correlation");
    sharing.check::<W>()?;
    let pieces = messages::chunks(correlations.len(), messages::CHUNK);
    let sent = messages::send(ot, pieces, channel, |range, pairs| {
        let mut message = vec![0; sharing.message_bytes(range.len())];
        let inputs = pairs.chunks(STRIP).zip(correlations[range.clone()].chunks(STRIP));
        let outputs = shares[range].chunks_mut(STRIP).zip(message.chunks_mut(sharing.message_bytes(STRIP)));
        for ((pairs, correlations), (shares, message)) in inputs.zip(outputs) {
            let mut numbers = [0; STRIP];
            for (((pair, x), share), number) in pairs.iter().zip(correlations).zip(&mut *shares).zip(&mut numbers) {
                let [first, second] = pair.map(|block| sharing.mask(block.0));
                *share = W::narrow(sharing.subtract(0, first));
                *number = sharing.subtract(sharing.add(first, sharing.mask(x.wide())), second);
            }
            packing::pack(&numbers[..shares.len()], sharing.bits, message);
        }
        Ok(message)
    });
    sent.inspect_err(|_| shares.iter_mut().for_each(Zeroize::zeroize))
}

/// The receiver's part: writes its shares for its bits y_i. There must be as many of both. If this fails, `shares` are
/// zero.
pub fn receive<W: ShareWord>(
    sharing: Sharing,
    ot: &mut (impl RandomOtReceiver + ?Sized),
    choices: &Choices,
    shares: &mut [W],
    channel: &mut Channel,
) -> Result<()> {
    assert_eq!(choices.len(), shares.len(), "one share for each choice bit");
    sharing.check::<W>()?;
    let pieces = messages::chunks(choices.len(), messages::CHUNK);
    let choices = |range: &Range<usize>| choices.slice(range.clone());
    let bytes = |range: &Range<usize>| sharing.message_bytes(range.len());
    let received =
        messages::receive(ot, pieces, choices, bytes, channel, |range, choices, blocks, message, channel| {
            let strips = blocks.chunks(STRIP).zip(shares[range].chunks_mut(STRIP));
            let mut clean = true;
            for (strip, ((blocks, shares), message)) in
                strips.zip(message.chunks(sharing.message_bytes(STRIP))).enumerate()
            {
                clean &= packing::unpack(message, blocks.len(), sharing.bits, |index, number| {
                    let chosen = Block::select(choices.get(strip * STRIP + index)).0;
                    shares[index] = W::narrow(sharing.add(sharing.mask(blocks[index].0), number & chosen));
                });
            }
            if clean {
                Ok(())
            } else {
                Err(channel.violation(format!("`{}` have bits beyond the last", MESSAGES.name)))
            }
        });
    received.inspect_err(|_| shares.iter_mut().for_each(Zeroize::zeroize))
}
