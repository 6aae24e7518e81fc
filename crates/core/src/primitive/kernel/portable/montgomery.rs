//! Montgomery's products, lane by lane, with sums of columns in 128 bits.

use zeroize::Zeroizing;

use super::super::montgomery::{LANES, LIMB, LIMB_BITS, Limbs, Montgomery};

/// A number of one lane.
type Number = Zeroizing<Vec<u64>>;

/// a b / R in all lanes.
pub(in super::super) fn multiply(field: &Montgomery, a: &[Limbs], b: &[Limbs], product: &mut [Limbs]) {
    let [zero, mut x, mut y, mut quotient] = numbers(field);
    for lane in 0..LANES {
        upwards(a, lane, &mut x);
        downwards(b, lane, &mut y);
        reduce(field, [(&x, &y)], &zero, &mut quotient, &mut product.iter_mut().map(|limbs| &mut limbs[lane]));
    }
}

/// The product modulo the modulus' square of pairs; see [`super::super::pairs`].
pub(in super::super) fn multiply_pairs(field: &Montgomery, a: &[Limbs], b: &[Limbs], product: &mut [Limbs]) {
    let ((a, higher_a), (b, higher_b)) = (a.split_at(field.limbs()), b.split_at(field.limbs()));
    let (low, high) = product.split_at_mut(field.limbs());
    let [zero, mut x, mut y, mut higher_x] = numbers(field);
    let [mut higher_y, mut quotient, mut last] = numbers(field);
    for lane in 0..LANES {
        upwards(a, lane, &mut x);
        upwards(higher_a, lane, &mut higher_x);
        downwards(b, lane, &mut y);
        downwards(higher_b, lane, &mut higher_y);
        let low = &mut low.iter_mut().map(|limbs| &mut limbs[lane]);
        reduce(field, [(&x, &y)], &zero, &mut quotient, low);
        let high = &mut high.iter_mut().map(|limbs| &mut limbs[lane]);
        reduce(field, [(&higher_x, &y), (&x, &higher_y)], &quotient, &mut last, high);
    }
}

fn numbers<const COUNT: usize>(field: &Montgomery) -> [Number; COUNT] {
    std::array::from_fn(|_| Zeroizing::new(vec![0; field.limbs()]))
}

/// The number of that lane from its lowest limb on.
fn upwards(limbs: &[Limbs], lane: usize, number: &mut [u64]) {
    number.iter_mut().zip(limbs).for_each(|(number, limbs)| *number = limbs[lane]);
}

/// The same from its highest limb on.
fn downwards(limbs: &[Limbs], lane: usize, number: &mut [u64]) {
    number.iter_mut().zip(limbs.iter().rev()).for_each(|(number, limbs)| *number = limbs[lane]);
}

/// Makes the limbs of the sum of products and of one number, divided by R, and those of the quotient: of the multiple
/// of the modulus that made the sum's lower half zero. Second factors are from their highest limb on.
fn reduce<'a, const TERMS: usize>(
    field: &Montgomery,
    terms: [(&[u64], &[u64]); TERMS],
    addend: &[u64],
    quotient: &mut [u64],
    result: &mut impl Iterator<Item = &'a mut u64>,
) {
    let count = addend.len();
    // Column by column. One is at most (TERMS + 1) count products of 104 bits.
    let mut sum = 0u128;
    for column in 0..count {
        sum = sum.wrapping_add(u128::from(addend[column]));
        for (x, y) in terms {
            sum = sum.wrapping_add(dot(&x[..=column], &y[count - 1 - column..]));
        }
        for (quotient, modulus) in quotient[..column].iter().zip(field.modulus[1..=column].iter().rev()) {
            sum = sum.wrapping_add(u128::from(*quotient).wrapping_mul(u128::from(*modulus)));
        }
        quotient[column] = (sum as u64).wrapping_mul(field.inverse) & LIMB;
        let last = u128::from(quotient[column]).wrapping_mul(u128::from(field.modulus[0]));
        sum = sum.wrapping_add(last) >> LIMB_BITS;
    }
    for column in count..2 * count {
        let start = column + 1 - count;
        for (x, y) in terms {
            sum = sum.wrapping_add(dot(&x[start..], &y[..2 * count - 1 - column]));
        }
        for (quotient, modulus) in quotient[start..].iter().zip(field.modulus[start..].iter().rev()) {
            sum = sum.wrapping_add(u128::from(*quotient).wrapping_mul(u128::from(*modulus)));
        }
        *result.next().expect("a limb for each column") = sum as u64 & LIMB;
        sum >>= LIMB_BITS;
    }
}

/// The sum of the products of limbs.
#[inline]
fn dot(a: &[u64], b: &[u64]) -> u128 {
    a.iter().zip(b).fold(0, |sum, (a, b)| sum.wrapping_add(u128::from(*a).wrapping_mul(u128::from(*b))))
}
