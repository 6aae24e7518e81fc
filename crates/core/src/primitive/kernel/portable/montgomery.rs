//! Montgomery's products, lane by lane, with sums of columns in 128 bits.

use zeroize::Zeroizing;

use super::super::montgomery::{LANES, LIMB, LIMB_BITS, Limbs, Montgomery, masks};

/// a b / R in all lanes.
pub(in super::super) fn multiply(field: &Montgomery, a: &[Limbs], b: &[Limbs], product: &mut [Limbs]) {
    let count = a.len();
    let (mut x, mut y) = (Zeroizing::new(vec![0; count]), Zeroizing::new(vec![0; count]));
    let mut quotient = Zeroizing::new(vec![0; count]);
    for lane in 0..LANES {
        for limb in 0..count {
            (x[limb], y[count - 1 - limb]) = (a[limb][lane], b[limb][lane]);
        }
        // Column by column of the sum of a b and the quotient's multiple of n, of which the lower half becomes zero. A
        // column is at most 2 count products of 104 bits.
        let mut sum = 0u128;
        for column in 0..count {
            sum = sum.wrapping_add(dot(&x[..=column], &y[count - 1 - column..]));
            for (quotient, modulus) in quotient[..column].iter().zip(field.modulus[1..=column].iter().rev()) {
                sum = sum.wrapping_add(u128::from(*quotient).wrapping_mul(u128::from(*modulus)));
            }
            quotient[column] = (sum as u64).wrapping_mul(field.inverse) & LIMB;
            let last = u128::from(quotient[column]).wrapping_mul(u128::from(field.modulus[0]));
            sum = sum.wrapping_add(last) >> LIMB_BITS;
        }
        for column in count..2 * count {
            let start = column + 1 - count;
            sum = sum.wrapping_add(dot(&x[start..], &y[..2 * count - 1 - column]));
            for (quotient, modulus) in quotient[start..].iter().zip(field.modulus[start..].iter().rev()) {
                sum = sum.wrapping_add(u128::from(*quotient).wrapping_mul(u128::from(*modulus)));
            }
            product[column - count][lane] = sum as u64 & LIMB;
            sum >>= LIMB_BITS;
        }
    }
}

/// The sum of the products of limbs.
#[inline]
fn dot(a: &[u64], b: &[u64]) -> u128 {
    a.iter().zip(b).fold(0, |sum, (a, b)| sum.wrapping_add(u128::from(*a).wrapping_mul(u128::from(*b))))
}

/// See [`Montgomery`]'s.
pub(in super::super) fn choose(table: &[u64], numbers: &Limbs, chosen: &mut [Limbs]) {
    chosen.fill([0; LANES]);
    for (number, entry) in (0u64..).zip(table.chunks_exact(chosen.len())) {
        let masks = masks(number, numbers);
        for (chosen, limb) in chosen.iter_mut().zip(entry) {
            (0..LANES).for_each(|lane| chosen[lane] |= limb & masks[lane]);
        }
    }
}
