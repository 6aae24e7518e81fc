//! Products of integers with bits, as sums of two shares: correlated OT with correlations that the sender chooses.
//!
//! The sender has x_i, the receiver a bit y_i. From a random OT with blocks m_0 and m_1 the sender's share is -m_0, and
//! it sends d_i = m_0 + x_i - m_1; the receiver's share is m_(y_i), and d_i added if y_i is set. The shares' sum is
//! x_i * y_i, modulo 2^bits or bit by bit. (Gilboa, CRYPTO 1999; Asharov, Lindell, Schneider and Zohner, CCS 2013.)
//!
//! Each share alone is uniformly random. A malicious receiver gets no more than x_i * y_i for a bit of its own; a
//! malicious sender can send any d_i, which is as if it had chosen another x_i.

use std::fmt;

use zeroize::Zeroize;

use super::{Choices, MESSAGES, RandomOtReceiver, RandomOtSender, messages};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::primitive::kernel::Block;

/// An unsigned integer that holds shares.
pub trait Word: Copy + Default + PartialEq + fmt::Debug + Send + Sync + Zeroize + sealed::Word {
    /// Its bits.
    const BITS: u32;
}

mod sealed {
    pub trait Word {
        fn wide(self) -> u128;
        fn narrow(wide: u128) -> Self;
    }
}

macro_rules! word {
    ($($word:ty),*) => {$(
        impl Word for $word {
            const BITS: u32 = <$word>::BITS;
        }

        impl sealed::Word for $word {
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

/// How shares add up.
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

    /// By exclusive or of `bits` bits, 1 to 128.
    pub fn exclusive_or(bits: u32) -> Result<Sharing> {
        Sharing::new(bits, false)
    }

    fn new(bits: u32, carries: bool) -> Result<Sharing> {
        match (1..=128).contains(&bits) {
            true => Ok(Sharing { bits, carries }),
            false => Err(Error::Internal(format!("shares of {bits} bits: 1 to 128 are possible"))),
        }
    }

    /// Bytes of the message for `count` OTs.
    pub fn message_bytes(&self, count: usize) -> usize {
        (count * self.bits as usize).div_ceil(8)
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

    fn check<W: Word>(&self) -> Result<()> {
        match self.bits <= W::BITS {
            true => Ok(()),
            false => Err(Error::Internal(format!("shares of {} bits in words of {}", self.bits, W::BITS))),
        }
    }
}

/// The sender's part: writes its shares for its correlations x_i, which are taken modulo 2^bits. The slices must be
/// equally long. If this fails, `shares` are zero.
pub fn send<W: Word>(
    sharing: Sharing,
    ot: &mut impl RandomOtSender,
    correlations: &[W],
    shares: &mut [W],
    channel: &mut Channel,
) -> Result<()> {
    assert_eq!(correlations.len(), shares.len(), "one share for each correlation");
    sharing.check::<W>()?;
    let sent = messages::send(ot, correlations.len(), messages::CHUNK, channel, |range, pairs| {
        let mut message = Packer::new(sharing.bits, range.len());
        for ((pair, x), share) in pairs.iter().zip(&correlations[range.clone()]).zip(&mut shares[range]) {
            let [first, second] = pair.map(|block| sharing.mask(block.0));
            *share = W::narrow(sharing.subtract(0, first));
            message.push(sharing.subtract(sharing.add(first, sharing.mask(x.wide())), second));
        }
        message.finish()
    });
    sent.inspect_err(|_| shares.iter_mut().for_each(Zeroize::zeroize))
}

/// The receiver's part: writes its shares for its bits y_i. There must be as many of both. If this fails, `shares` are
/// zero.
pub fn receive<W: Word>(
    sharing: Sharing,
    ot: &mut impl RandomOtReceiver,
    choices: &Choices,
    shares: &mut [W],
    channel: &mut Channel,
) -> Result<()> {
    assert_eq!(choices.len(), shares.len(), "one share for each choice bit");
    sharing.check::<W>()?;
    let bytes = |count| sharing.message_bytes(count);
    let received =
        messages::receive(ot, choices, messages::CHUNK, channel, bytes, |range, blocks, message, channel| {
            let mut message = Unpacker::new(sharing.bits, message);
            for ((block, index), share) in blocks.iter().zip(range.clone()).zip(&mut shares[range]) {
                let chosen = Block::select(choices.get(index)).0;
                *share = W::narrow(sharing.add(sharing.mask(block.0), message.next() & chosen));
            }
            match message.is_clean() {
                true => Ok(()),
                false => Err(channel.violation(format!("`{}` have bits beyond the last", MESSAGES.name))),
            }
        });
    received.inspect_err(|_| shares.iter_mut().for_each(Zeroize::zeroize))
}

/// Numbers of the same number of bits, one after the other without gaps, the lowest bit first.
struct Packer {
    bits: u32,
    bytes: Vec<u8>,
    /// Bits that do not fill a byte yet.
    pending: u128,
    held: u32,
}

impl Packer {
    fn new(bits: u32, count: usize) -> Packer {
        Packer { bits, bytes: Vec::with_capacity((count * bits as usize).div_ceil(8)), pending: 0, held: 0 }
    }

    fn push(&mut self, value: u128) {
        // Two halves, so that there is room for what is pending.
        self.push_half(value as u64, self.bits.min(64));
        if self.bits > 64 {
            self.push_half((value >> 64) as u64, self.bits - 64);
        }
    }

    fn push_half(&mut self, value: u64, bits: u32) {
        self.pending |= u128::from(value) << self.held;
        self.held += bits;
        let whole = self.held / 8;
        self.bytes.extend_from_slice(&self.pending.to_le_bytes()[..whole as usize]);
        self.pending >>= 8 * whole;
        self.held %= 8;
    }

    fn finish(mut self) -> Vec<u8> {
        if self.held > 0 {
            self.bytes.push(self.pending as u8);
        }
        self.bytes
    }
}

/// Reads what a [`Packer`] wrote.
struct Unpacker<'a> {
    bits: u32,
    bytes: &'a [u8],
    pending: u128,
    held: u32,
}

impl<'a> Unpacker<'a> {
    fn new(bits: u32, bytes: &'a [u8]) -> Unpacker<'a> {
        Unpacker { bits, bytes, pending: 0, held: 0 }
    }

    /// The next number; zeros beyond the end.
    fn next(&mut self) -> u128 {
        let low = self.next_half(self.bits.min(64));
        match self.bits > 64 {
            true => low | self.next_half(self.bits - 64) << 64,
            false => low,
        }
    }

    fn next_half(&mut self, bits: u32) -> u128 {
        if self.held < bits {
            let needed = (bits - self.held).div_ceil(8) as usize;
            let (next, rest) = self.bytes.split_at(needed.min(self.bytes.len()));
            let mut wide = [0; 16];
            wide[..next.len()].copy_from_slice(next);
            self.pending |= u128::from_le_bytes(wide) << self.held;
            self.held += 8 * needed as u32;
            self.bytes = rest;
        }
        let value = self.pending & (u128::MAX >> (128 - bits));
        self.pending >>= bits;
        self.held -= bits;
        value
    }

    /// Whether nothing but zeros is left.
    fn is_clean(&self) -> bool {
        self.pending == 0 && self.bytes.iter().all(|&byte| byte == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_every_length_survive_packing() {
        for bits in 1..=128 {
            for count in [0usize, 1, 2, 3, 7, 8, 9, 100] {
                let value = |index: usize| {
                    (index as u128 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
                        & (u128::MAX >> (128 - bits))
                };
                let mut packer = Packer::new(bits, count);
                (0..count).for_each(|index| packer.push(value(index)));
                let bytes = packer.finish();
                assert_eq!(bytes.len(), Sharing::modulo(bits).unwrap().message_bytes(count));
                let mut unpacker = Unpacker::new(bits, &bytes);
                assert!((0..count).all(|index| unpacker.next() == value(index)));
                assert!(unpacker.is_clean());
                // Bit by bit.
                for index in 0..count {
                    for bit in 0..bits as usize {
                        let at = index * bits as usize + bit;
                        assert_eq!(u128::from(bytes[at / 8] >> (at % 8) & 1), value(index) >> bit & 1);
                    }
                }
            }
        }
        let mut unpacker = Unpacker::new(3, &[0b1000_0000]);
        assert_eq!((unpacker.next(), unpacker.next()), (0, 0));
        assert!(!unpacker.is_clean());
    }
}
