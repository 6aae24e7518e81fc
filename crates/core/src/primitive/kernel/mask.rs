//! Masks that select by a secret bit.
//!
//! What the optimiser can follow, it may turn into a conditional jump: `value & -(bit)` is the same as
//! `if bit { value } else { 0 }`, and a sum with it the same as a jump around an addition, which takes a time that
//! tells the bit. So each bit passes through [`black_box`] before a mask is made of it, or the masks do before they are
//! used, and what comes out is any number as far as the optimiser knows.

use std::hint::black_box;

/// Returns all ones if `bit`, zero if not.
#[inline(always)]
pub(crate) fn mask(bit: bool) -> u128 {
    u128::from(black_box(u64::from(bit))).wrapping_neg()
}

/// The masks of the lowest bits of `bits`, as many as there is room for: faster than one by one.
///
/// # Panics
///
/// If there is room for more than 128.
#[inline]
pub(crate) fn masks(bits: u128, masks: &mut [i64]) {
    assert!(masks.len() <= 128, "masks of 128 bits");
    for (half, masks) in [bits as u64, (bits >> 64) as u64].iter().zip(masks.chunks_mut(64)) {
        for (bit, mask) in masks.iter_mut().enumerate() {
            *mask = ((half >> bit & 1) as i64).wrapping_neg();
        }
    }
    black_box(masks);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_are_all_ones_or_zero() {
        assert_eq!((mask(true), mask(false)), (u128::MAX, 0));
        let bits = 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835_u128;
        for length in [0, 1, 63, 64, 65, 127, 128] {
            let mut all = vec![7; length];
            masks(bits, &mut all);
            for (bit, one) in all.into_iter().enumerate() {
                assert_eq!(i128::from(one) as u128, mask(bits >> bit & 1 == 1));
            }
        }
    }
}
