//! The tweakable hash, four blocks in an instruction.

use std::arch::x86_64::*;

use super::super::block::Block;
use super::super::memory::wipe;
use super::aes::{CHUNK, Keys, WIDTH, WideKeys, load_chunk, quads, quads_mut, store_chunk};
use super::{LANES, Quad, count_from, steps_of};

/// Replaces each block by its hash; `tweak` has the tweaks of the first vector, and goes on by `step`.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn hash_vectors(keys: &WideKeys, state: &mut [__m512i; WIDTH], tweak: &mut __m512i, step: __m512i) {
    keys.encrypt(state);
    let mut second = *state;
    for second in &mut second {
        *second = _mm512_xor_si512(*second, *tweak);
        *tweak = _mm512_add_epi64(*tweak, step);
    }
    keys.encrypt(&mut second);
    for (state, second) in state.iter_mut().zip(second) {
        *state = _mm512_xor_si512(*state, second);
    }
}

#[target_feature(enable = "avx512f,vaes")]
pub(in super::super) fn hash_in_place(keys: &Keys, start: u64, blocks: &mut [Block]) {
    let keys = keys.wide();
    let (mut tweak, step) = (count_from(start), steps_of(LANES as u64));
    let (chunks, rest) = blocks.as_chunks_mut::<CHUNK>();
    for chunk in chunks {
        let mut state = load_chunk(quads(chunk));
        hash_vectors(&keys, &mut state, &mut tweak, step);
        store_chunk(quads_mut(chunk), &state);
    }
    if !rest.is_empty() {
        let mut padded = [Block::ZERO; CHUNK];
        padded[..rest.len()].copy_from_slice(rest);
        let mut state = load_chunk(quads(&padded));
        hash_vectors(&keys, &mut state, &mut tweak, step);
        store_chunk(quads_mut(&mut padded), &state);
        rest.copy_from_slice(&padded[..rest.len()]);
        wipe(&mut padded);
    }
}

/// Hashes `input` into `out`. Both slices are equally long.
#[target_feature(enable = "avx512f,vaes")]
pub(in super::super) fn hash<const PAST_CACHES: bool>(keys: &Keys, start: u64, input: &[Block], out: &mut [Block]) {
    let wide = keys.wide();
    let (mut tweak, step) = (count_from(start), steps_of(LANES as u64));
    let (chunks, rest) = input.as_chunks::<CHUNK>();
    let (outs, out_rest) = out.as_chunks_mut::<CHUNK>();
    for (chunk, out) in chunks.iter().zip(outs) {
        let mut state = load_chunk(quads(chunk));
        hash_vectors(&wide, &mut state, &mut tweak, step);
        put_chunk::<PAST_CACHES>(quads_mut(out), &state);
    }
    end_writing::<PAST_CACHES>();
    out_rest.copy_from_slice(rest);
    hash_in_place(keys, start + (chunks.len() * CHUNK) as u64, out_rest);
}

/// Hashes `input` into pairs in `out`. Both slices are equally long.
#[target_feature(enable = "avx512f,vaes")]
pub(in super::super) fn hash_pairs<const PAST_CACHES: bool>(
    keys: &Keys,
    start: u64,
    input: &[Block],
    delta: Block,
    out: &mut [[Block; 2]],
) {
    let keys = keys.wide();
    // Lanes hold x, x + delta, y, y + delta, where x and y have consecutive tweaks.
    let delta = _mm512_maskz_broadcast_i32x4(0b1111_0000_1111_0000, super::single(delta));
    let mut tweak = twice::<0>(count_from(start));
    let step = steps_of(LANES as u64 / 2);
    let (chunks, rest) = input.as_chunks::<{ CHUNK / 2 }>();
    let (outs, out_rest) = out.as_chunks_mut::<{ CHUNK / 2 }>();
    let mut chunk_of = |input: &[Block; CHUNK / 2], out: &mut [[Block; 2]; CHUNK / 2]| {
        let mut state = twice_all(input);
        for state in &mut state {
            *state = _mm512_xor_si512(*state, delta);
        }
        hash_vectors(&keys, &mut state, &mut tweak, step);
        let (out, _) = out.as_flattened_mut().as_chunks_mut::<CHUNK>();
        put_chunk::<PAST_CACHES>(quads_mut(&mut out[0]), &state);
    };
    for (input, out) in chunks.iter().zip(outs) {
        chunk_of(input, out);
    }
    if !rest.is_empty() {
        let mut padded = [Block::ZERO; CHUNK / 2];
        padded[..rest.len()].copy_from_slice(rest);
        let mut pairs = [[Block::ZERO; 2]; CHUNK / 2];
        chunk_of(&padded, &mut pairs);
        end_writing::<PAST_CACHES>();
        out_rest.copy_from_slice(&pairs[..rest.len()]);
        wipe(&mut padded);
        wipe(pairs.as_flattened_mut());
    }
    end_writing::<PAST_CACHES>();
}

/// Writes a chunk, into the caches or, to be followed by [`end_writing`], past them.
#[inline]
#[target_feature(enable = "avx512f")]
fn put_chunk<const PAST_CACHES: bool>(quads: &mut [Quad; WIDTH], vectors: &[__m512i; WIDTH]) {
    if !PAST_CACHES {
        return store_chunk(quads, vectors);
    }
    for (quad, vector) in quads.iter_mut().zip(vectors) {
        let lanes = [
            _mm512_castsi512_si128(*vector),
            _mm512_extracti32x4_epi32::<1>(*vector),
            _mm512_extracti32x4_epi32::<2>(*vector),
            _mm512_extracti32x4_epi32::<3>(*vector),
        ];
        for (block, lane) in quad.iter_mut().zip(lanes) {
            const { assert!(align_of::<Block>() == align_of::<__m128i>()) };
            // SAFETY: the block is there to be written and is aligned as the store asks (above). Nothing reads it before
            // `end_writing`, since it is borrowed until then.
            unsafe { _mm_stream_si128(std::ptr::from_mut(block).cast(), lane) }
        }
    }
}

/// Has to come between [`put_chunk`] and the next access to what was written.
#[inline]
#[target_feature(enable = "avx512f")]
fn end_writing<const PAST_CACHES: bool>() {
    if PAST_CACHES {
        _mm_sfence();
    }
}

/// Lanes 2h, 2h, 2h + 1, 2h + 1.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn twice<const HALF: usize>(value: __m512i) -> __m512i {
    if HALF == 0 {
        _mm512_shuffle_i64x2::<0b01_01_00_00>(value, value)
    } else {
        _mm512_shuffle_i64x2::<0b11_11_10_10>(value, value)
    }
}

/// Half a chunk, each block of it twice.
#[inline]
#[target_feature(enable = "avx512f")]
pub(super) fn twice_all(blocks: &[Block; CHUNK / 2]) -> [__m512i; WIDTH] {
    let quads: &[Quad] = blocks.as_chunks().0;
    let mut state = [_mm512_setzero_si512(); WIDTH];
    for (pair, quad) in state.as_chunks_mut::<2>().0.iter_mut().zip(quads) {
        let quad = super::load(quad);
        *pair = [twice::<0>(quad), twice::<1>(quad)];
    }
    state
}
