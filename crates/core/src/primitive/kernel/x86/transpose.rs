//! Bit-matrix transposition: squares of 8 x 8 bits by GFNI, and bytes by shuffles.

use std::arch::x86_64::*;

use super::super::block::{BLOCK_BITS, Block};
use super::{LANES, single};

/// Eight rows make a group, whose squares of 8 x 8 bits are transposed at once.
const GROUPS: usize = BLOCK_BITS / 8;

/// For `_mm512_permutex2var_epi8` on eight rows of 16 bytes: in qword q, byte `8 * half + q` of each row, the last row
/// first. The affine instruction takes a matrix in that order.
const fn gather(half: usize) -> [u8; 64] {
    let mut places = [0; 64];
    let mut place = 0;
    while place < 64 {
        let (q, row) = (place / 8, 7 - place % 8);
        places[place] = (16 * row + 8 * half + q) as u8;
        place += 1;
    }
    places
}

const GATHER: [[u8; 64]; 2] = [gather(0), gather(1)];

#[inline]
#[target_feature(enable = "avx512f")]
fn load_bytes(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: 64 bytes are there to be read, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Four blocks, `stride` apart.
#[inline]
#[target_feature(enable = "avx512f")]
fn load_rows(blocks: &[Block], stride: usize) -> __m512i {
    let last = &blocks[..=3 * stride];
    let value = _mm512_castsi128_si512(single(last[0]));
    let value = _mm512_inserti32x4::<1>(value, single(last[stride]));
    let value = _mm512_inserti32x4::<2>(value, single(last[2 * stride]));
    _mm512_inserti32x4::<3>(value, single(last[3 * stride]))
}

/// Transposes the square of 128 x 128 bits whose rows are blocks at a distance of `from_stride`, and writes its columns at
/// a distance of `to_stride`. Both slices reach as far as the last of their blocks.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn square(from: &[Block], from_stride: usize, to: &mut [Block], to_stride: usize) {
    let gathers = [load_bytes(&GATHER[0]), load_bytes(&GATHER[1])];
    let identity = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
    // In qword q of `[half][g]`, byte i has the bits of rows 8g to 8g + 7 in column 64 half + 8q + i.
    let mut bytes = [[_mm512_setzero_si512(); GROUPS]; 2];
    for group in 0..GROUPS {
        let first = load_rows(&from[8 * group * from_stride..], from_stride);
        let second = load_rows(&from[(8 * group + LANES) * from_stride..], from_stride);
        for half in 0..2 {
            let eight = _mm512_permutex2var_epi8(first, gathers[half], second);
            bytes[half][group] = _mm512_gf2p8affine_epi64_epi8::<0>(identity, eight);
        }
    }
    for (half, bytes) in bytes.iter().enumerate() {
        let columns = interleave(bytes);
        for (register, columns) in columns.into_iter().enumerate() {
            // Lane l has column i of qword 2l, or of 2l + 1.
            let (odd, i) = (register / 8, register % 8);
            let first = 64 * half + 8 * odd + i;
            let lanes = [
                _mm512_castsi512_si128(columns),
                _mm512_extracti32x4_epi32::<1>(columns),
                _mm512_extracti32x4_epi32::<2>(columns),
                _mm512_extracti32x4_epi32::<3>(columns),
            ];
            for (lane, column) in lanes.into_iter().enumerate() {
                to[(first + 16 * lane) * to_stride] = super::block(column);
            }
        }
    }
}

/// In lane l of vector 8 p + i: byte i of qword 2l + p of each of the sixteen vectors, in their order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn interleave(groups: &[__m512i; GROUPS]) -> [__m512i; GROUPS] {
    let zero = _mm512_setzero_si512();
    // In [p][s]: pairs of the groups 2s and 2s + 1, for qwords 2l + p.
    let mut pairs = [[zero; 8]; 2];
    for s in 0..8 {
        pairs[0][s] = _mm512_unpacklo_epi8(groups[2 * s], groups[2 * s + 1]);
        pairs[1][s] = _mm512_unpackhi_epi8(groups[2 * s], groups[2 * s + 1]);
    }
    let mut columns = [zero; GROUPS];
    for p in 0..2 {
        // In [i / 4][s]: four groups.
        let mut fours = [[zero; 4]; 2];
        for s in 0..4 {
            fours[0][s] = _mm512_unpacklo_epi16(pairs[p][2 * s], pairs[p][2 * s + 1]);
            fours[1][s] = _mm512_unpackhi_epi16(pairs[p][2 * s], pairs[p][2 * s + 1]);
        }
        for (upper, fours) in fours.iter().enumerate() {
            // In [(i / 2) % 2][s]: eight groups.
            let low = [_mm512_unpacklo_epi32(fours[0], fours[1]), _mm512_unpacklo_epi32(fours[2], fours[3])];
            let high = [_mm512_unpackhi_epi32(fours[0], fours[1]), _mm512_unpackhi_epi32(fours[2], fours[3])];
            let base = 8 * p + 4 * upper;
            columns[base] = _mm512_unpacklo_epi64(low[0], low[1]);
            columns[base + 1] = _mm512_unpackhi_epi64(low[0], low[1]);
            columns[base + 2] = _mm512_unpacklo_epi64(high[0], high[1]);
            columns[base + 3] = _mm512_unpackhi_epi64(high[0], high[1]);
        }
    }
    columns
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(in super::super) fn to_columns(rows: &[Block], stride: usize, columns: &mut [Block]) {
    for (index, columns) in columns.as_chunks_mut::<BLOCK_BITS>().0.iter_mut().enumerate() {
        square(&rows[index..], stride, columns, 1);
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
pub(in super::super) fn to_rows(columns: &[Block], rows: &mut [Block], stride: usize) {
    for (index, columns) in columns.as_chunks::<BLOCK_BITS>().0.iter().enumerate() {
        square(columns, 1, &mut rows[index..], stride);
    }
}
