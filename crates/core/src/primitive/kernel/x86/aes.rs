//! AES-128 with VAES: four blocks in an instruction.

use std::arch::x86_64::*;

use zeroize::Zeroize;

use super::super::block::Block;
use super::super::memory::wipe;
use super::{LANES, Quad, count_from, load, single, steps_of, store};

/// Vectors in flight: enough to hide the latency of a round, few enough for the registers.
pub(super) const WIDTH: usize = 8;

/// Blocks in a chunk.
pub(super) const CHUNK: usize = WIDTH * LANES;

/// The rounds' keys of AES-128.
pub(in super::super) struct Keys([Block; 11]);

impl Keys {
    /// The key schedule (FIPS 197, section 5.2). The processor must have `Family::Avx512`'s features.
    #[target_feature(enable = "aes")]
    pub(in super::super) fn new(key: Block) -> Keys {
        let mut keys = Keys([key; 11]);
        macro_rules! expand {
            ($round:literal, $constant:literal) => {
                let before = single(keys.0[$round - 1]);
                let assist = _mm_shuffle_epi32::<0xff>(_mm_aeskeygenassist_si128::<$constant>(before));
                // Each word is added those before it.
                let before = _mm_xor_si128(before, _mm_slli_si128::<4>(before));
                let before = _mm_xor_si128(before, _mm_slli_si128::<8>(before));
                keys.0[$round] = super::block(_mm_xor_si128(before, assist));
            };
        }
        expand!(1, 0x01);
        expand!(2, 0x02);
        expand!(3, 0x04);
        expand!(4, 0x08);
        expand!(5, 0x10);
        expand!(6, 0x20);
        expand!(7, 0x40);
        expand!(8, 0x80);
        expand!(9, 0x1b);
        expand!(10, 0x36);
        keys
    }

    /// The key of a round in each lane.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn round(&self, round: usize) -> __m512i {
        super::broadcast(self.0[round])
    }

    /// Returns all round keys as vectors.
    #[inline]
    #[target_feature(enable = "avx512f")]
    pub(super) fn wide(&self) -> WideKeys {
        let mut wide = [_mm512_setzero_si512(); 11];
        for (round, wide) in wide.iter_mut().enumerate() {
            *wide = self.round(round);
        }
        WideKeys(wide)
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

/// The rounds' keys, for each lane.
#[derive(Clone, Copy)]
pub(super) struct WideKeys(pub(super) [__m512i; 11]);

impl WideKeys {
    /// Encrypts each lane of each vector.
    #[inline]
    #[target_feature(enable = "avx512f,vaes")]
    pub(super) fn encrypt<const N: usize>(&self, state: &mut [__m512i; N]) {
        for state in state.iter_mut() {
            *state = _mm512_xor_si512(*state, self.0[0]);
        }
        for key in &self.0[1..10] {
            for state in state.iter_mut() {
                *state = _mm512_aesenc_epi128(*state, *key);
            }
        }
        for state in state.iter_mut() {
            *state = _mm512_aesenclast_epi128(*state, self.0[10]);
        }
    }
}

/// The vectors of a chunk.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn load_chunk<const N: usize>(quads: &[Quad; N]) -> [__m512i; N] {
    let mut vectors = [_mm512_setzero_si512(); N];
    for (vector, quad) in vectors.iter_mut().zip(quads) {
        *vector = load(quad);
    }
    vectors
}

#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn store_chunk<const N: usize>(quads: &mut [Quad; N], vectors: &[__m512i; N]) {
    for (vector, quad) in vectors.iter().zip(quads) {
        store(quad, *vector);
    }
}

/// A chunk of blocks, as vectors.
pub(super) fn quads(blocks: &[Block; CHUNK]) -> &[Quad; WIDTH] {
    let (quads, _) = blocks.as_chunks();
    quads.try_into().expect("a chunk has as many vectors")
}

/// Views a chunk of blocks as vectors as [`quads`] does, to be written.
pub(super) fn quads_mut(blocks: &mut [Block; CHUNK]) -> &mut [Quad; WIDTH] {
    let (quads, _) = blocks.as_chunks_mut();
    quads.try_into().expect("a chunk has as many vectors")
}

#[target_feature(enable = "avx512f,vaes")]
pub(in super::super) fn encrypt_in_place(keys: &Keys, blocks: &mut [Block]) {
    let keys = keys.wide();
    let (chunks, rest) = blocks.as_chunks_mut::<CHUNK>();
    for chunk in chunks {
        let mut state = load_chunk(quads(chunk));
        keys.encrypt(&mut state);
        store_chunk(quads_mut(chunk), &state);
    }
    if !rest.is_empty() {
        let mut padded = [Block::ZERO; CHUNK];
        padded[..rest.len()].copy_from_slice(rest);
        let mut state = load_chunk(quads(&padded));
        keys.encrypt(&mut state);
        store_chunk(quads_mut(&mut padded), &state);
        rest.copy_from_slice(&padded[..rest.len()]);
        wipe(&mut padded);
    }
}

/// Encrypts `input` into `out`. Both slices are equally long.
#[target_feature(enable = "avx512f,vaes")]
pub(in super::super) fn encrypt_to(keys: &Keys, input: &[Block], out: &mut [Block]) {
    let wide = keys.wide();
    let (chunks, rest) = input.as_chunks::<CHUNK>();
    let (outs, out_rest) = out.as_chunks_mut::<CHUNK>();
    for (chunk, out) in chunks.iter().zip(outs) {
        let mut state = load_chunk(quads(chunk));
        wide.encrypt(&mut state);
        store_chunk(quads_mut(out), &state);
    }
    out_rest.copy_from_slice(rest);
    encrypt_in_place(keys, out_rest);
}

/// The encryptions of counters.
#[target_feature(enable = "avx512f,vaes")]
pub(in super::super) fn counters(keys: &Keys, start: u64, out: &mut [Block]) {
    let keys = keys.wide();
    let mut counter = count_from(start);
    let mut next = || {
        let mut state = [counter; WIDTH];
        for state in &mut state {
            *state = counter;
            counter = _mm512_add_epi64(counter, steps_of(LANES as u64));
        }
        keys.encrypt(&mut state);
        state
    };
    let (chunks, rest) = out.as_chunks_mut::<CHUNK>();
    for chunk in chunks {
        store_chunk(quads_mut(chunk), &next());
    }
    if !rest.is_empty() {
        let mut padded = [Block::ZERO; CHUNK];
        store_chunk(quads_mut(&mut padded), &next());
        rest.copy_from_slice(&padded[..rest.len()]);
        wipe(&mut padded);
    }
}
