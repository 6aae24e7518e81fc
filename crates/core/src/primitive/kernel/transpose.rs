//! Transposition of bit matrices with 128 rows.
//!
//! It is ten times faster on tiles that fit the second-level cache (4096 columns: 64 KiB) than on whole matrices whose
//! rows lie far apart, where each row is another place in memory.

use super::backend::{self, Backend};
use super::block::{BLOCK_BITS, Block};
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// Transposes a bit matrix of 128 rows and `columns.len()` columns, a multiple of 128: bit r of `columns[c]` is bit
/// c % 128 of `rows[r * stride + c / 128]`.
///
/// `stride` is the distance between rows in blocks: `columns.len() / 128` for a whole matrix, more for a part of its
/// columns.
pub fn to_columns(rows: &[Block], stride: usize, columns: &mut [Block]) {
    check(rows.len(), stride, columns.len());
    to_columns_on(backend::chosen(), rows, stride, columns);
}

/// The inverse of [`to_columns`]: writes the rows of the matrix whose columns are given.
pub fn to_rows(columns: &[Block], rows: &mut [Block], stride: usize) {
    check(rows.len(), stride, columns.len());
    to_rows_on(backend::chosen(), columns, rows, stride);
}

fn to_columns_on(backend: Backend, rows: &[Block], stride: usize, columns: &mut [Block]) {
    match backend.family() {
        // SAFETY: the processor has what the back end needs.
        #[cfg(target_arch = "x86_64")]
        backend::Family::Avx512 => unsafe { x86::transpose::to_columns(rows, stride, columns) },
        _ => portable::transpose::to_columns(rows, stride, columns),
    }
}

fn to_rows_on(backend: Backend, columns: &[Block], rows: &mut [Block], stride: usize) {
    match backend.family() {
        // SAFETY: the processor has what the back end needs.
        #[cfg(target_arch = "x86_64")]
        backend::Family::Avx512 => unsafe { x86::transpose::to_rows(columns, rows, stride) },
        _ => portable::transpose::to_rows(columns, rows, stride),
    }
}

fn check(rows: usize, stride: usize, columns: usize) {
    let width = columns / BLOCK_BITS;
    assert!(columns.is_multiple_of(BLOCK_BITS), "{columns} columns are no multiple of 128");
    assert!(width <= stride, "rows of {width} blocks overlap at a distance of {stride}");
    assert!(width == 0 || rows >= (BLOCK_BITS - 1) * stride + width, "128 rows need more than {rows} blocks");
}

#[cfg(test)]
mod tests {
    use super::super::block;
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    #[test]
    fn every_bit_goes_to_its_place() {
        for backend in backend::available() {
            check_every_bit(backend);
        }
    }

    fn check_every_bit(backend: Backend) {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for (width, more) in [(0, 0), (0, 2), (1, 0), (1, 1), (2, 0), (3, 0), (4, 0), (5, 2), (8, 0), (13, 0)] {
            let stride = width + more;
            let rows = block::random(BLOCK_BITS * stride, &mut rng);
            // One block more in front, so that slices do not begin where vectors would.
            let mut columns = vec![Block::ALL_ONES; width * BLOCK_BITS + 1];
            let columns = &mut columns[1..];
            to_columns_on(backend, &rows, stride, columns);
            for (c, column) in columns.iter().enumerate() {
                let expected = (0..BLOCK_BITS)
                    .fold(0, |bits, r| bits | u128::from(rows[r * stride + c / BLOCK_BITS].bit(c % BLOCK_BITS)) << r);
                assert_eq!(column.0, expected);
            }
            let mut back = vec![Block(7); rows.len()];
            to_rows_on(backend, columns, &mut back, stride);
            for (row, back) in rows.chunks(stride.max(1)).zip(back.chunks(stride.max(1))) {
                assert_eq!(row[..width], back[..width]);
                assert!(back[width..].iter().all(|block| *block == Block(7)));
            }
        }
    }
}
