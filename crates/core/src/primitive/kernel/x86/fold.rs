//! Folding of AES-CTR streams as they come out of the rounds.

use std::arch::x86_64::*;

use super::super::block::Block;
use super::super::fold::MAX_BITS;
use super::aes::{CHUNK, Keys, WIDTH, load_chunk, quads, quads_mut, store_chunk};
use super::{LANES, count_from, steps_of};

/// One chunk of a stream, or of a sum of streams.
type Vectors = [__m512i; WIDTH];

/// Folds streams `FIRST` onwards, each the counters from `start` on; see [`super::super::LeafStreams::fold`]. `u` is the
/// sum of those streams.
#[target_feature(enable = "avx512f,vaes")]
pub(in super::super) fn fold<const FIRST: usize>(
    keys: &[Keys],
    start: u64,
    count: usize,
    mut u: Option<&mut [Block]>,
    v: &mut [Block],
    stride: usize,
) {
    let bits = keys.len().ilog2() as usize;
    let mut planes = [[_mm512_setzero_si512(); WIDTH]; MAX_BITS];
    for index in (0..count).step_by(CHUNK) {
        let sum = fold_chunk::<FIRST>(keys, start + index as u64, &mut planes);
        let length = CHUNK.min(count - index);
        for (plane, vectors) in planes[..bits].iter().enumerate() {
            write(&mut v[plane * stride + index..][..length], vectors);
        }
        if let Some(u) = &mut u {
            write(&mut u[index..index + length], &sum);
        }
    }
}

/// The planes and the sum of one chunk of all streams.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn fold_chunk<const FIRST: usize>(keys: &[Keys], start: u64, planes: &mut [Vectors; MAX_BITS]) -> Vectors {
    let zero = [_mm512_setzero_si512(); WIDTH];
    let mut counters = zero;
    let mut counter = count_from(start);
    for place in &mut counters {
        *place = counter;
        counter = _mm512_add_epi64(counter, steps_of(LANES as u64));
    }
    let bits = keys.len().ilog2() as usize;
    planes[..bits].fill(zero);
    let mut waiting = [zero; MAX_BITS + 1];
    for (x, keys) in keys.iter().enumerate().skip(FIRST) {
        let mut state = counters;
        encrypt(keys, &mut state);
        merge(x, state, planes, &mut waiting);
    }
    waiting[bits]
}

/// Takes in stream x. Sums of 2^l neighbours are in `waiting[l]` until those of the next 2^l come.
#[inline]
#[target_feature(enable = "avx512f")]
fn merge(x: usize, mut state: Vectors, planes: &mut [Vectors; MAX_BITS], waiting: &mut [Vectors; MAX_BITS + 1]) {
    let level = x.trailing_ones() as usize;
    for (plane, waiting) in planes[..level].iter_mut().zip(&*waiting) {
        for ((state, plane), waiting) in state.iter_mut().zip(plane).zip(waiting) {
            *plane = _mm512_xor_si512(*plane, *state);
            *state = _mm512_xor_si512(*state, *waiting);
        }
    }
    waiting[level] = state;
}

/// Each key serves one chunk, so that the rounds' keys are read as they are needed.
#[inline]
#[target_feature(enable = "avx512f,vaes")]
fn encrypt(keys: &Keys, state: &mut Vectors) {
    let key = keys.round(0);
    for state in state.iter_mut() {
        *state = _mm512_xor_si512(*state, key);
    }
    for round in 1..10 {
        let key = keys.round(round);
        for state in state.iter_mut() {
            *state = _mm512_aesenc_epi128(*state, key);
        }
    }
    let key = keys.round(10);
    for state in state.iter_mut() {
        *state = _mm512_aesenclast_epi128(*state, key);
    }
}

/// A chunk, or the end of a stream.
#[inline]
#[target_feature(enable = "avx512f")]
fn read(stream: &[Block]) -> Vectors {
    match stream.try_into() {
        Ok(chunk) => load_chunk(quads(chunk)),
        Err(_) => {
            let mut padded = [Block::ZERO; CHUNK];
            padded[..stream.len()].copy_from_slice(stream);
            load_chunk(quads(&padded))
        }
    }
}

/// The first blocks of a chunk.
#[inline]
#[target_feature(enable = "avx512f")]
fn write(out: &mut [Block], vectors: &Vectors) {
    if let Ok(chunk) = <&mut [Block; CHUNK]>::try_from(&mut *out) {
        store_chunk(quads_mut(chunk), vectors);
    } else {
        let mut room = [Block::ZERO; CHUNK];
        store_chunk(quads_mut(&mut room), vectors);
        out.copy_from_slice(&room[..out.len()]);
    }
}

/// As [`super::super::fold::fold`]: streams in memory, `u.len()` blocks each.
#[target_feature(enable = "avx512f")]
pub(in super::super) fn fold_memory(streams: &[Block], u: &mut [Block], v: &mut [Block], stride: usize) {
    let count = u.len();
    let bits = (streams.len() / count).ilog2() as usize;
    let zero = [_mm512_setzero_si512(); WIDTH];
    let mut planes = [zero; MAX_BITS];
    let mut waiting = [zero; MAX_BITS + 1];
    for index in (0..count).step_by(CHUNK) {
        let length = CHUNK.min(count - index);
        planes[..bits].fill(zero);
        for x in 0..1usize << bits {
            let state = read(&streams[x * count + index..][..length]);
            merge(x, state, &mut planes, &mut waiting);
        }
        for (plane, vectors) in planes[..bits].iter().enumerate() {
            write(&mut v[plane * stride + index..][..length], vectors);
        }
        write(&mut u[index..index + length], &waiting[bits]);
    }
}
