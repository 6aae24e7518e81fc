//! The linear codes that turn few random places into many random elements: dual encoders of expand-convolute codes.
//!
//! An encoder maps a vector w of N symbols to n outputs, N about 2 n. First the convolution, in place:
//!
//! - [`FieldCode`]: w_i += sum of beta_(i,j) w_(i-j) for j from 4 to 9, beta uniform in GF(2^128);
//! - [`Binary`]: w_i += w_(i-15) + sum of beta_(i,j) w_(i-j) for j from 1 to 14, beta uniform bits.
//!
//! Then the expander: w is cut into equal regions (8 and 10), and output i is the sum of one uniformly drawn position
//! of each region, times a uniform label in the case of `FieldCode`. Constants and positions come from AES-128 in
//! counter mode under public keys.
//!
//! After Raghuraman, Rindal and Tanguy, *Expand-convolute codes for pseudorandom correlation generators from LPN*,
//! CRYPTO 2023. Why these numbers: [`super::params`]. Symbols are secret, all else is public: which memory is touched
//! does not depend on symbols.

pub(crate) mod binary;
pub(crate) mod field;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(test)]
mod reference;

pub use binary::Binary;
pub use field::FieldCode;

use crate::primitive::kernel::{Aes128, Block};

/// Zeros in front of the first symbol: as many as a convolution looks back, rounded up.
pub const FRONT: usize = 16;

/// The first lag of the convolution over GF(2^128): so many symbols are independent of each other.
const FIRST_LAG: usize = 4;

/// Terms of that convolution.
pub(crate) const FIELD_MEMORY: usize = 6;

/// Regions of that expander, and edges of an output.
pub(crate) const FIELD_REGIONS: usize = 8;

/// Outputs that are computed at once: their positions are known, and fetched, while the outputs before are computed.
const GROUP: usize = 32;

/// The keys of a code's streams.
fn streams<const COUNT: usize>(seed: Block) -> [Aes128; COUNT] {
    let cipher = Aes128::new(seed);
    std::array::from_fn(|index| Aes128::new(cipher.encrypt(Block(index as u128))))
}

/// Turns uniform 32-bit numbers into positions of a region of `length` from `first` on: each comes with at most
/// 1 + length / 2^32 times the uniform probability.
#[inline(always)]
fn position(number: u32, first: usize, length: usize) -> usize {
    first + ((u64::from(number) * length as u64) >> 32) as usize
}
