//! Blocks of 128 bits.

use std::fmt;
use std::ops::{BitAnd, BitAndAssign, BitXor, BitXorAssign, Mul, MulAssign};

use rand_core::CryptoRng;
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use zeroize::DefaultIsZeroes;

use super::gf128;
use super::mask::mask;

// A slice of blocks is seen as bytes, on the wire too, without a copy.
#[cfg(target_endian = "big")]
compile_error!("blocks are taken for bytes in little-endian order; big-endian targets would need another layout");

/// Length of a [`Block`] in bytes.
pub const BLOCK_BYTES: usize = 16;

// What takes slices of blocks for bytes, or for vectors, counts on it.
const _: () = assert!(size_of::<Block>() == BLOCK_BYTES);

/// Length of a [`Block`] in bits.
pub const BLOCK_BITS: usize = 128;

/// 128 bits: a seed, a key, a row of a bit matrix, or an element of GF(2^128).
///
/// As an element of GF(2^128), polynomials modulo x^128 + x^7 + x^2 + x + 1, bit i of the number is the coefficient of
/// x^i (GCM's elements have the same modulus with their bits reflected). As bytes, and as an input or output of AES, it
/// is the number in little-endian order.
///
/// Blocks may be secret: they cannot be printed, and all operations on them take the same time whatever their values.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct Block(pub u128);

impl Block {
    /// Block of zero bits only; the zero of GF(2^128).
    pub const ZERO: Block = Block(0);
    /// The one of GF(2^128).
    pub const ONE: Block = Block(1);
    /// Block of one bits only.
    pub const ALL_ONES: Block = Block(u128::MAX);

    /// [`Block::ALL_ONES`] if `bit`, [`Block::ZERO`] if not: the mask that selects.
    #[inline]
    pub fn select(bit: bool) -> Block {
        Block(mask(bit))
    }

    /// Bit `index` (0 to 127).
    #[inline]
    pub fn bit(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
    }

    /// The block of 16 bytes, in little-endian order.
    #[inline]
    pub fn from_bytes(bytes: [u8; BLOCK_BYTES]) -> Block {
        Block(u128::from_le_bytes(bytes))
    }

    /// Returns the 16 bytes of the block, in little-endian order.
    #[inline]
    pub fn to_bytes(self) -> [u8; BLOCK_BYTES] {
        self.0.to_le_bytes()
    }

    /// The block of the first 16 bytes of `bytes`, in little-endian order. There must be so many.
    #[inline]
    pub fn from_le_slice(bytes: &[u8]) -> Block {
        Block::from_bytes(*bytes.first_chunk().expect("a block has 16 bytes"))
    }

    /// A uniformly random block.
    pub fn random(rng: &mut impl CryptoRng) -> Block {
        let mut block = [Block::ZERO];
        rng.fill_bytes(as_bytes_mut(&mut block));
        block[0]
    }

    /// The inverse in GF(2^128); zero for zero.
    pub fn invert(self) -> Block {
        let mut inverse = [Block::ZERO];
        gf128::invert(&[self], &mut inverse);
        inverse[0]
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Block(..)")
    }
}

impl DefaultIsZeroes for Block {}

impl ConstantTimeEq for Block {
    fn ct_eq(&self, other: &Block) -> Choice {
        self.0.ct_eq(&other.0)
    }
}

impl ConditionallySelectable for Block {
    fn conditional_select(a: &Block, b: &Block, choice: Choice) -> Block {
        Block(u128::conditional_select(&a.0, &b.0, choice))
    }
}

impl BitXor for Block {
    type Output = Block;
    #[inline]
    fn bitxor(self, other: Block) -> Block {
        Block(self.0 ^ other.0)
    }
}

impl BitXorAssign for Block {
    #[inline]
    fn bitxor_assign(&mut self, other: Block) {
        self.0 ^= other.0;
    }
}

impl BitAnd for Block {
    type Output = Block;
    #[inline]
    fn bitand(self, other: Block) -> Block {
        Block(self.0 & other.0)
    }
}

impl BitAndAssign for Block {
    #[inline]
    fn bitand_assign(&mut self, other: Block) {
        self.0 &= other.0;
    }
}

/// Multiplication in GF(2^128). One at a time; for many, see [`gf128`].
impl Mul for Block {
    type Output = Block;
    #[inline]
    fn mul(self, other: Block) -> Block {
        gf128::product(self, other)
    }
}

impl MulAssign for Block {
    #[inline]
    fn mul_assign(&mut self, other: Block) {
        *self = *self * other;
    }
}

/// `count` zero blocks, in memory that the system hands out zeroed (`vec![Block::ZERO; count]` would write it once
/// more).
pub fn zeros(count: usize) -> Vec<Block> {
    let mut numbers = std::mem::ManuallyDrop::new(vec![0u128; count]);
    // SAFETY: `Block` is a transparent wrapper of `u128`, so length, capacity and layout of the allocation are the same,
    // and its former owner does not drop it.
    unsafe { Vec::from_raw_parts(numbers.as_mut_ptr().cast(), numbers.len(), numbers.capacity()) }
}

/// `count` uniformly random blocks.
pub fn random(count: usize, rng: &mut impl CryptoRng) -> Vec<Block> {
    let mut blocks = zeros(count);
    rng.fill_bytes(as_bytes_mut(&mut blocks));
    blocks
}

/// The bytes of blocks, 16 each, in little-endian order.
pub fn as_bytes(blocks: &[Block]) -> &[u8] {
    // SAFETY: each byte of a block is initialised and may be read as a byte, whose alignment is 1; the target is
    // little-endian (see above), so their order is that of the number.
    unsafe { std::slice::from_raw_parts(blocks.as_ptr().cast(), size_of_val(blocks)) }
}

/// Views blocks as bytes as [`as_bytes`] does, to be written.
pub(crate) fn as_bytes_mut(blocks: &mut [Block]) -> &mut [u8] {
    // SAFETY: as in `as_bytes`; all bytes make a valid block, and the borrow is exclusive.
    unsafe { std::slice::from_raw_parts_mut(blocks.as_mut_ptr().cast(), size_of_val(blocks)) }
}

/// The blocks that bytes stand for, 16 each, in little-endian order; `None` if their number is no multiple of 16.
pub fn from_bytes(bytes: &[u8]) -> Option<Vec<Block>> {
    if !bytes.len().is_multiple_of(BLOCK_BYTES) {
        return None;
    }
    let mut blocks = zeros(bytes.len() / BLOCK_BYTES);
    as_bytes_mut(&mut blocks).copy_from_slice(bytes);
    Some(blocks)
}

/// `to[i] ^= from[i]`. The slices must be equally long.
pub fn xor_into(from: &[Block], to: &mut [Block]) {
    assert_eq!(from.len(), to.len(), "as many blocks are added as there are");
    for (to, from) in to.iter_mut().zip(from) {
        *to ^= *from;
    }
}

/// The sum (exclusive or) of blocks.
pub(crate) fn xor_all(blocks: &[Block]) -> Block {
    // Eight sums side by side are what compilers turn into vectors.
    let mut sums = [Block::ZERO; 8];
    let (chunks, rest) = blocks.as_chunks::<8>();
    for chunk in chunks {
        for (sum, block) in sums.iter_mut().zip(chunk) {
            *sum ^= *block;
        }
    }
    sums.iter().chain(rest).fold(Block::ZERO, |sum, block| sum ^ *block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;
    use zeroize::Zeroize;

    #[test]
    fn bytes_are_little_endian() {
        let block = Block(0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10);
        let bytes: [u8; 16] = std::array::from_fn(|index| 16 - index as u8);
        assert_eq!(block.to_bytes(), bytes);
        assert_eq!(Block::from_bytes(bytes), block);
        assert_eq!(Block::from_le_slice(&[&bytes[..], &[7]].concat()), block);
        let blocks = [block, Block::ONE];
        assert_eq!(as_bytes(&blocks)[..16], bytes);
        assert_eq!(as_bytes(&blocks)[16..], Block::ONE.to_bytes());
        assert_eq!(from_bytes(as_bytes(&blocks)).unwrap(), blocks);
        assert!(from_bytes(&bytes[1..]).is_none());
        assert!(from_bytes(&[]).unwrap().is_empty());
    }

    #[test]
    fn masks_select() {
        assert_eq!((Block::select(true), Block::select(false)), (Block::ALL_ONES, Block::ZERO));
        let (one, other) = (Block(5), Block(6));
        assert_eq!(Block::conditional_select(&one, &other, Choice::from(0)), one);
        assert_eq!(Block::conditional_select(&one, &other, Choice::from(1)), other);
        assert!(bool::from(one.ct_eq(&one)) && !bool::from(one.ct_eq(&other)));
        assert!(one.bit(0) && !one.bit(1) && one.bit(2) && Block(1 << 127).bit(127));
    }

    #[test]
    fn sums_are_exclusive_ors() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for count in [0, 1, 7, 8, 9, 33] {
            let blocks = random(count, &mut rng);
            let sum = blocks.iter().fold(0, |sum, block| sum ^ block.0);
            assert_eq!(xor_all(&blocks).0, sum);
            let mut twice = blocks.clone();
            xor_into(&blocks, &mut twice);
            assert!(twice.iter().all(|block| *block == Block::ZERO));
        }
    }

    #[test]
    fn secrets_are_neither_printed_nor_kept() {
        let mut block = Block(77);
        assert_eq!(format!("{block:?}"), "Block(..)");
        block.zeroize();
        assert_eq!(block, Block::ZERO);
    }
}
