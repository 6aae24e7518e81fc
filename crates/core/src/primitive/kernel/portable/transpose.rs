//! Bit-matrix transposition by exchanging ever smaller quarters.

use super::super::block::{BLOCK_BITS, Block};
use super::super::memory::wipe;

/// Transposes a square of 128 x 128 bits in place: bit c of block r goes to bit r of block c.
///
/// A square is transposed when its off-diagonal quarters are exchanged and each quarter is transposed (Warren, Hacker's
/// Delight, "Transposing a bit matrix"); all quarters of one size are exchanged in one pass.
pub(in super::super) fn square(blocks: &mut [Block; BLOCK_BITS]) {
    let mut size = BLOCK_BITS / 2;
    let mut low_half = u128::MAX >> size;
    while size > 0 {
        for pair in blocks.chunks_exact_mut(2 * size) {
            let (upper, lower) = pair.split_at_mut(size);
            for (upper, lower) in upper.iter_mut().zip(lower) {
                let difference = (upper.0 >> size ^ lower.0) & low_half;
                lower.0 ^= difference;
                upper.0 ^= difference << size;
            }
        }
        size /= 2;
        low_half ^= low_half << size;
    }
}

/// Transposes squares that lie side by side: square s has block s of each row (`stride` blocks from one row to the
/// next), and goes to 128 consecutive blocks of `out`.
pub(in super::super) fn to_columns(rows: &[Block], stride: usize, out: &mut [Block]) {
    for (index, out) in out.as_chunks_mut::<BLOCK_BITS>().0.iter_mut().enumerate() {
        for (row, out) in out.iter_mut().enumerate() {
            *out = rows[row * stride + index];
        }
        square(out);
    }
}

/// The inverse of [`to_columns`].
pub(in super::super) fn to_rows(columns: &[Block], rows: &mut [Block], stride: usize) {
    let mut room = [Block::ZERO; BLOCK_BITS];
    for (index, columns) in columns.as_chunks::<BLOCK_BITS>().0.iter().enumerate() {
        room = *columns;
        square(&mut room);
        for (row, block) in room.iter().enumerate() {
            rows[row * stride + index] = *block;
        }
    }
    wipe(&mut room);
}
