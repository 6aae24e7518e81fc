//! Folding of AES-CTR streams as they come out of the rounds.

use std::arch::x86_64::*;

use super::super::block::Block;
use super::super::fold::MAX_BITS;
use super::super::memory::wipe;
use super::aes::{CHUNK, Keys, WIDTH, quads_mut, store_chunk};
use super::{LANES, count_from, steps_of};

/// One chunk of a stream, or of a sum of streams.
type Vectors = [__m512i; WIDTH];

/// Partial sums of one chunk of 2^K streams while they come in, in order.
struct Folding<const K: usize> {
    planes: [Vectors; K],
    /// Sums of 2^l neighbours, which wait at l for those of the next 2^l.
    waiting: [Vectors; K],
}

impl<const K: usize> Folding<K> {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Folding<K> {
        let zero = [_mm512_setzero_si512(); WIDTH];
        Folding { planes: [zero; K], waiting: [zero; K] }
    }

    /// Takes in stream x, and returns the sum of as many streams up to it as it completes.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn take(&mut self, x: usize, mut state: Vectors) -> Vectors {
        let level = x.trailing_ones() as usize;
        for (plane, waiting) in self.planes[..level].iter_mut().zip(&self.waiting) {
            for ((state, plane), waiting) in state.iter_mut().zip(plane).zip(waiting) {
                *plane = _mm512_xor_si512(*plane, *state);
                *state = _mm512_xor_si512(*state, *waiting);
            }
        }
        if level < K {
            self.waiting[level] = state;
        }
        state
    }

    /// Writes the planes' blocks `index` to `index + length`.
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn write_planes(&self, v: &mut [Block], stride: usize, index: usize, length: usize) {
        for (plane, vectors) in self.planes.iter().enumerate() {
            write(&mut v[plane * stride + index..][..length], vectors);
        }
    }
}

/// Calls a function that is generic over the bits of an index, which are then known to the compiler: planes of few bits
/// stay in registers.
macro_rules! with_bits {
    ($bits:expr, $function:ident $([$first:ident])? ($($argument:expr),*)) => {
        match $bits {
            1 => $function::<1 $(, $first)?>($($argument),*),
            2 => $function::<2 $(, $first)?>($($argument),*),
            3 => $function::<3 $(, $first)?>($($argument),*),
            4 => $function::<4 $(, $first)?>($($argument),*),
            5 => $function::<5 $(, $first)?>($($argument),*),
            6 => $function::<6 $(, $first)?>($($argument),*),
            7 => $function::<7 $(, $first)?>($($argument),*),
            8 => $function::<8 $(, $first)?>($($argument),*),
            9 => $function::<9 $(, $first)?>($($argument),*),
            MAX_BITS => $function::<MAX_BITS $(, $first)?>($($argument),*),
            bits => unreachable!("{bits} bits"),
        }
    };
}

/// Folds streams `FIRST` onwards, each the counters from `start` on; see [`super::super::LeafStreams::fold`]. `u` is
/// the sum of those streams.
#[target_feature(enable = "avx512f,vaes")]
pub(in super::super) fn fold<const FIRST: usize>(
    keys: &[Keys],
    start: u64,
    count: usize,
    u: Option<&mut [Block]>,
    v: &mut [Block],
    stride: usize,
) {
    with_bits!(keys.len().ilog2() as usize, fold_streams[FIRST](keys, start, count, u, v, stride));
}

#[target_feature(enable = "avx512f,vaes")]
fn fold_streams<const K: usize, const FIRST: usize>(
    keys: &[Keys],
    start: u64,
    count: usize,
    mut u: Option<&mut [Block]>,
    v: &mut [Block],
    stride: usize,
) {
    for index in (0..count).step_by(CHUNK) {
        let mut counters = [count_from(start + index as u64); WIDTH];
        for place in 1..WIDTH {
            counters[place] = _mm512_add_epi64(counters[place - 1], steps_of(LANES as u64));
        }
        let mut folding = Folding::<K>::new();
        let mut sum = [_mm512_setzero_si512(); WIDTH];
        for (x, keys) in keys[..1 << K].iter().enumerate().skip(FIRST) {
            let mut state = counters;
            encrypt(keys, &mut state);
            sum = folding.take(x, state);
        }
        let length = CHUNK.min(count - index);
        folding.write_planes(v, stride, index, length);
        if let Some(u) = &mut u {
            write(&mut u[index..index + length], &sum);
        }
    }
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
        wipe(&mut room);
    }
}
