//! The kernels for x86-64.
//!
//! All functions but those of `pclmul`, `edwards_avx2`, `jacobi_avx2`, `montgomery_avx2` and `keyed_hash::avx2` need
//! what `Family::Avx512` stands for. Vectors hold four blocks. A function works on whole chunks of several vectors,
//! which keep the units for AES and for products busy; what is left at the end is padded to a chunk.

pub(super) mod aes;
pub(super) mod bits;
pub(super) mod doubling;
pub(super) mod edwards;
pub(super) mod edwards_avx2;
pub(super) mod fold;
pub(super) mod gf128;
pub(super) mod hash;
pub(super) mod jacobi;
pub(super) mod jacobi_avx2;
pub(super) mod keyed_hash;
pub(super) mod montgomery;
pub(super) mod montgomery_avx2;
pub(super) mod ntt;
pub(super) mod pclmul;
pub(super) mod table;
pub(super) mod transpose;

use std::arch::x86_64::*;

use super::block::Block;

/// Blocks in a vector.
const LANES: usize = 4;

/// Blocks of one vector.
type Quad = [Block; LANES];

#[inline]
#[target_feature(enable = "avx512f")]
fn load(blocks: &Quad) -> __m512i {
    // SAFETY: 64 bytes are there to be read, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(blocks.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(blocks: &mut Quad, value: __m512i) {
    // SAFETY: 64 bytes are there to be written, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(blocks.as_mut_ptr().cast(), value) }
}

/// One block in each lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn broadcast(block: Block) -> __m512i {
    _mm512_broadcast_i32x4(single(block))
}

#[inline]
fn single(block: Block) -> __m128i {
    // SAFETY: both are 128 bits of which all values are valid.
    unsafe { std::mem::transmute(block) }
}

#[inline]
fn block(value: __m128i) -> Block {
    // SAFETY: both are 128 bits of which all values are valid.
    unsafe { std::mem::transmute(value) }
}

/// The sum (exclusive or) of the four blocks.
#[inline]
#[target_feature(enable = "avx512f")]
fn sum_lanes(value: __m512i) -> Block {
    let mut quad = [Block::ZERO; LANES];
    store(&mut quad, value);
    quad[0] ^ quad[1] ^ quad[2] ^ quad[3]
}

/// The numbers from `start` on, one in each lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn count_from(start: u64) -> __m512i {
    _mm512_add_epi64(_mm512_set_epi64(0, 3, 0, 2, 0, 1, 0, 0), _mm512_maskz_set1_epi64(LOW_HALVES, start as i64))
}

/// `step` in each lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn steps_of(step: u64) -> __m512i {
    _mm512_maskz_set1_epi64(LOW_HALVES, step as i64)
}

/// The lower 64 bits of each block.
const LOW_HALVES: __mmask8 = 0b0101_0101;
