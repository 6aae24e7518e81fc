//! Bit-matrix transposition: squares of 8 x 8 bits by GFNI, and bytes by shuffles.
//!
//! Four squares of 128 x 128 bits that lie side by side are transposed together, one in each lane: 64 bytes of each row
//! are then read at once.

use std::arch::x86_64::*;

use super::super::block::{BLOCK_BITS, Block};
use super::super::memory::wipe;
use super::{LANES, load, store};

/// Eight rows make a group, whose squares of 8 x 8 bits are transposed at once.
const GROUPS: usize = BLOCK_BITS / 8;

/// The vectors of one group, or of sixteen bytes' columns.
type Sixteen = [__m512i; GROUPS];

/// Four squares of 128 columns each.
type Columns = [[Block; BLOCK_BITS]; LANES];

/// Transposes bits within the squares of 8 x 8. In lane t of `[m][g]`, byte i of qword p has the bits of rows 8g to 8g + 7
/// in column 16m + 8p + i of square t.
struct Bytes([Sixteen; 8]);

impl Bytes {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Bytes {
        Bytes([[_mm512_setzero_si512(); GROUPS]; 8])
    }

    /// Takes in eight rows, each with a block of every square.
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,gfni")]
    fn put(&mut self, group: usize, rows: &[__m512i; 8]) {
        let identity = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
        for (bytes, eight) in self.0.iter_mut().zip(eight_rows(rows)) {
            bytes[group] = _mm512_gf2p8affine_epi64_epi8::<0>(identity, eight);
        }
    }
}

/// Transposes four squares whose rows lie `stride` apart.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn four_to_columns(rows: &[Block], stride: usize, columns: &mut Columns) {
    let mut bytes = Bytes::new();
    for group in 0..GROUPS {
        let mut eight = [_mm512_setzero_si512(); 8];
        for (index, row) in eight.iter_mut().enumerate() {
            *row = load(rows[(8 * group + index) * stride..].first_chunk().expect("a row has four blocks"));
        }
        bytes.put(group, &eight);
    }
    for (m, bytes) in bytes.0.iter().enumerate() {
        for (quad, vectors) in interleave(bytes).as_chunks::<LANES>().0.iter().enumerate() {
            for (columns, vector) in columns.iter_mut().zip(exchange_lanes(vectors)) {
                store(&mut columns.as_chunks_mut().0[4 * m + quad], vector);
            }
        }
    }
}

/// Computes the inverse transposition.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn four_to_rows(columns: &Columns, rows: &mut [Block], stride: usize) {
    let mut bytes = Bytes::new();
    for group in 0..GROUPS {
        let mut eight = [_mm512_setzero_si512(); 8];
        for (half, four) in eight.as_chunks_mut::<LANES>().0.iter_mut().enumerate() {
            for (vector, columns) in four.iter_mut().zip(columns) {
                *vector = load(&columns.as_chunks().0[2 * group + half]);
            }
            *four = exchange_lanes(four);
        }
        bytes.put(group, &eight);
    }
    for (m, bytes) in bytes.0.iter().enumerate() {
        for (index, vector) in interleave(bytes).into_iter().enumerate() {
            let row = &mut rows[(16 * m + index) * stride..];
            store(row.first_chunk_mut().expect("a row has four blocks"), vector);
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub(in super::super) fn to_columns(rows: &[Block], stride: usize, columns: &mut [Block]) {
    let (fours, rest) = columns.as_chunks_mut().0.as_chunks_mut();
    for (index, four) in fours.iter_mut().enumerate() {
        four_to_columns(&rows[LANES * index..], stride, four);
    }
    if !rest.is_empty() {
        let start = LANES * fours.len();
        let mut padded = [[Block::ZERO; LANES]; BLOCK_BITS];
        for (row, padded) in padded.iter_mut().enumerate() {
            padded[..rest.len()].copy_from_slice(&rows[row * stride + start..][..rest.len()]);
        }
        let mut room = [[Block::ZERO; BLOCK_BITS]; LANES];
        four_to_columns(padded.as_flattened(), LANES, &mut room);
        rest.copy_from_slice(&room[..rest.len()]);
        wipe(padded.as_flattened_mut());
        wipe(room.as_flattened_mut());
    }
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
pub(in super::super) fn to_rows(columns: &[Block], rows: &mut [Block], stride: usize) {
    let (fours, rest) = columns.as_chunks().0.as_chunks();
    for (index, four) in fours.iter().enumerate() {
        four_to_rows(four, &mut rows[LANES * index..], stride);
    }
    if !rest.is_empty() {
        let start = LANES * fours.len();
        let mut padded = [[Block::ZERO; BLOCK_BITS]; LANES];
        padded[..rest.len()].copy_from_slice(rest);
        let mut room = [[Block::ZERO; LANES]; BLOCK_BITS];
        four_to_rows(&padded, room.as_flattened_mut(), LANES);
        for (row, room) in room.iter().enumerate() {
            rows[row * stride + start..][..rest.len()].copy_from_slice(&room[..rest.len()]);
        }
        wipe(padded.as_flattened_mut());
        wipe(room.as_flattened_mut());
    }
}

/// Arranges the bytes of eight rows. Qword p of lane t of vector m holds byte 2m + p in lane t of each row, the last
/// row first. The affine instruction takes a matrix in that order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn eight_rows(rows: &[__m512i; 8]) -> [__m512i; 8] {
    let zero = _mm512_setzero_si512();
    let mut twos = [[zero; 4]; 2];
    for s in 0..4 {
        let (first, second) = (rows[7 - 2 * s], rows[6 - 2 * s]);
        twos[0][s] = _mm512_unpacklo_epi8(first, second);
        twos[1][s] = _mm512_unpackhi_epi8(first, second);
    }
    let mut eights = [zero; 8];
    for (half, twos) in twos.iter().enumerate() {
        let low = [_mm512_unpacklo_epi16(twos[0], twos[1]), _mm512_unpacklo_epi16(twos[2], twos[3])];
        let high = [_mm512_unpackhi_epi16(twos[0], twos[1]), _mm512_unpackhi_epi16(twos[2], twos[3])];
        eights[4 * half] = _mm512_unpacklo_epi32(low[0], low[1]);
        eights[4 * half + 1] = _mm512_unpackhi_epi32(low[0], low[1]);
        eights[4 * half + 2] = _mm512_unpacklo_epi32(high[0], high[1]);
        eights[4 * half + 3] = _mm512_unpackhi_epi32(high[0], high[1]);
    }
    eights
}

/// Interleaves the bytes of sixteen vectors. Each lane of vector 8p + i holds byte i of qword p of that lane in each of
/// the vectors, in their order.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn interleave(groups: &Sixteen) -> Sixteen {
    let zero = _mm512_setzero_si512();
    let mut twos = [[zero; 8]; 2];
    for s in 0..8 {
        twos[0][s] = _mm512_unpacklo_epi8(groups[2 * s], groups[2 * s + 1]);
        twos[1][s] = _mm512_unpackhi_epi8(groups[2 * s], groups[2 * s + 1]);
    }
    let mut columns = [zero; GROUPS];
    for (p, twos) in twos.iter().enumerate() {
        let mut fours = [[zero; 4]; 2];
        for s in 0..4 {
            fours[0][s] = _mm512_unpacklo_epi16(twos[2 * s], twos[2 * s + 1]);
            fours[1][s] = _mm512_unpackhi_epi16(twos[2 * s], twos[2 * s + 1]);
        }
        for (half, fours) in fours.iter().enumerate() {
            let low = [_mm512_unpacklo_epi32(fours[0], fours[1]), _mm512_unpacklo_epi32(fours[2], fours[3])];
            let high = [_mm512_unpackhi_epi32(fours[0], fours[1]), _mm512_unpackhi_epi32(fours[2], fours[3])];
            let base = 8 * p + 4 * half;
            columns[base] = _mm512_unpacklo_epi64(low[0], low[1]);
            columns[base + 1] = _mm512_unpackhi_epi64(low[0], low[1]);
            columns[base + 2] = _mm512_unpacklo_epi64(high[0], high[1]);
            columns[base + 3] = _mm512_unpackhi_epi64(high[0], high[1]);
        }
    }
    columns
}

/// Lane s of vector t is lane t of `vectors[s]`.
#[inline]
#[target_feature(enable = "avx512f")]
fn exchange_lanes(vectors: &[__m512i; LANES]) -> [__m512i; LANES] {
    let [a, b, c, d] = *vectors;
    let even = [_mm512_shuffle_i64x2::<0b10_00_10_00>(a, b), _mm512_shuffle_i64x2::<0b10_00_10_00>(c, d)];
    let odd = [_mm512_shuffle_i64x2::<0b11_01_11_01>(a, b), _mm512_shuffle_i64x2::<0b11_01_11_01>(c, d)];
    [
        _mm512_shuffle_i64x2::<0b10_00_10_00>(even[0], even[1]),
        _mm512_shuffle_i64x2::<0b10_00_10_00>(odd[0], odd[1]),
        _mm512_shuffle_i64x2::<0b11_01_11_01>(even[0], even[1]),
        _mm512_shuffle_i64x2::<0b11_01_11_01>(odd[0], odd[1]),
    ]
}
