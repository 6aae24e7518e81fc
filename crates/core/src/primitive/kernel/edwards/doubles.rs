//! Products of residues by floating-point numbers: AVX2 multiplies integers of 32 bits only, but with FMA significands
//! of 53.
//!
//! A limb is a double. Where 2^103 is added to the product x of two, it is rounded to a multiple k 2^51, for doubles
//! from 2^103 to 2^104 are such multiples; and what x has beside that is exact if it is rounded once only: x - k 2^51
//! lies from -2^51 to 2^51, whichever way doubles are rounded. With 3 2^51 added it lies from 2^52 to 2^53, where
//! doubles are the integers. So both sums, read as words, are those of the constants plus k, and plus x - k 2^51: they
//! are added up as words, and the constants are taken off at the end (Emmart, Zheng & Weems, "Faster Modular
//! Exponentiation Using Double Precision Floating Point Arithmetic on the GPU", ARITH 2018).
//!
//! All doubles here are zero or from 1 to 2^104: none is subnormal, so that the time they take does not depend on them.
//!
//! **Bounds.** Limbs are below 2^51 + 2^17, x is below 2^102 + 2^70, and k at most 2^51 + 2^19 + 1. At weight 2^(51 (i + j)) stands
//! x - k 2^51, one column above it k. Five columns at the top stand for 19 times those below, so that a column is a sum
//! of at most 77 (1 + 4 19) of the former and 95 (5 19) of the latter: it lies between -77 2^51 > -2^58 and 77 2^51 +
//! 95 (2^51 + 2^20) < 2^59. 2^8 p is added, of which each limb is between 2^58 and 2^59: so columns are from 0 to 2^60,
//! and twice that is below 2^61.

#![expect(
    clippy::needless_range_loop,
    reason = "limbs of several residues stand side by side, and an iterator's closures are compiled for other processors"
)]

use super::field::{LIMB_BITS, LIMBS, Limbs, MODULUS, carried};
use super::vector::Words;

/// Words that may be the bits of doubles.
pub(in super::super) trait Doubles: Words {
    /// The differences of doubles.
    fn less(self, other: Self) -> Self;

    /// Computes both parts of products: a b + `high`, and a b + (`both` - that), each rounded once.
    fn parts(a: Self, b: Self, high: Self, both: Self) -> (Self, Self);

    /// [`Words::add`], in the order in which it stands in the program.
    fn add_in_order(self, other: Self) -> Self;
}

/// Ten sums, of those columns that anything has been added to.
type Columns<V> = [Option<V>; 2 * LIMBS];

/// 2^52: integers below that are the lowest bits of their sums with it.
const INTEGERS: u64 = bits(52);

/// Bits of the constant 2^103 as a double.
const HIGH: u64 = bits(2 * LIMB_BITS + 1);

/// Bits of the constant 3 2^51 as a double.
const LOW: u64 = bits(LIMB_BITS + 1) + (1 << LIMB_BITS);

/// 2^103 + 3 2^51.
const BOTH: u64 = HIGH + 3;

/// The bits of a power of 2.
const fn bits(exponent: u32) -> u64 {
    (1023 + exponent as u64) << 52
}

/// Initial value of the columns: 2^8 p, less the constants that are in the bits of all summands.
const START: Limbs = {
    // How many lower parts column `column` of ten has, and how many higher ones column `column` + 1.
    const fn parts(column: usize) -> u64 {
        if column < LIMBS { column as u64 + 1 } else { (2 * LIMBS - 1 - column) as u64 }
    }
    let (mut start, mut column) = ([0; LIMBS], 0);
    while column < LIMBS {
        let lows = parts(column) + 19 * parts(column + LIMBS);
        let highs = if column == 0 { 0 } else { parts(column - 1) } + 19 * parts(column + LIMBS - 1);
        let constants = LOW.wrapping_mul(lows).wrapping_add(HIGH.wrapping_mul(highs));
        start[column] = (MODULUS[column] << 8).wrapping_sub(constants);
        column += 1;
    }
    start
};

/// [`Vector::product`](super::vector::Vector::product), or twice that.
#[inline(always)]
pub(in super::super) fn product<V: Doubles, const TWICE: bool>(a: &[V; LIMBS], b: &[V; LIMBS]) -> [V; LIMBS] {
    let (a, b) = (doubles(a), doubles(b));
    let mut columns = [None; 2 * LIMBS];
    add_column(&mut columns, 0, &a, &b);
    add_column(&mut columns, 1, &a, &b);
    add_column(&mut columns, 2, &a, &b);
    add_column(&mut columns, 3, &a, &b);
    add_column(&mut columns, 4, &a, &b);
    add_column(&mut columns, 5, &a, &b);
    add_column(&mut columns, 6, &a, &b);
    add_column(&mut columns, 7, &a, &b);
    add_column(&mut columns, 8, &a, &b);
    let mut columns = folded(columns);
    if TWICE {
        for column in 0..LIMBS {
            columns[column] = columns[column].shl::<1>();
        }
    }
    carried(columns)
}

/// [`Vector::square`](super::vector::Vector::square): the products of different limbs are computed once, and doubled.
#[inline(always)]
pub(in super::super) fn square<V: Doubles>(a: &[V; LIMBS]) -> [V; LIMBS] {
    let a = doubles(a);
    let mut columns = [None; 2 * LIMBS];
    add_row(&mut columns, 0, a[0], &a, 1);
    add_row(&mut columns, 1, a[1], &a, 2);
    add_row(&mut columns, 2, a[2], &a, 3);
    add_row(&mut columns, 3, a[3], &a, 4);
    for column in 1..2 * LIMBS - 1 {
        if let Some(sum) = columns[column] {
            columns[column] = Some(sum.shl::<1>());
        }
    }
    for i in 0..LIMBS {
        add_product(&mut columns, 2 * i, a[i], a[i]);
    }
    carried(folded(columns))
}

/// Converts limbs into doubles.
#[inline(always)]
fn doubles<V: Doubles>(limbs: &[V; LIMBS]) -> [V; LIMBS] {
    let integers = V::all(INTEGERS);
    let mut doubles = *limbs;
    for limb in 0..LIMBS {
        doubles[limb] = limbs[limb].or(integers).less(integers);
    }
    doubles
}

/// Adds the products of limb i and those from `first` on.
#[inline(always)]
fn add_row<V: Doubles>(columns: &mut Columns<V>, i: usize, limb: V, others: &[V; LIMBS], first: usize) {
    for j in first..LIMBS {
        add_product(columns, i + j, limb, others[j]);
    }
}

/// Adds the products whose lower parts belong to a column.
#[inline(always)]
fn add_column<V: Doubles>(columns: &mut Columns<V>, column: usize, a: &[V; LIMBS], b: &[V; LIMBS]) {
    for i in 0..LIMBS {
        if i <= column && column - i < LIMBS {
            add_product(columns, column, a[i], b[column - i]);
        }
    }
}

/// Adds the bits of both parts of the products of doubles.
#[inline(always)]
fn add_product<V: Doubles>(columns: &mut Columns<V>, column: usize, a: V, b: V) {
    let (high, low) = V::parts(a, b, V::all(HIGH), V::all(BOTH));
    add(&mut columns[column], low);
    add(&mut columns[column + 1], high);
}

/// Adds to a column.
#[inline(always)]
fn add<V: Doubles>(column: &mut Option<V>, part: V) {
    *column = match *column {
        Some(sum) => Some(sum.add_in_order(part)),
        None => Some(part),
    };
}

/// Ten columns, of which those at the top stand for 19 times those below.
#[inline(always)]
fn folded<V: Doubles>(columns: Columns<V>) -> [V; LIMBS] {
    let mut folded = [V::all(0); LIMBS];
    for column in 0..LIMBS {
        let start = V::all(START[column]);
        folded[column] = match (columns[column], columns[column + LIMBS]) {
            (Some(low), Some(top)) => {
                let sum = low.add(start).add_in_order(top);
                sum.add_in_order(top.shl::<1>()).add_in_order(top.shl::<4>())
            }
            _ => start,
        };
    }
    folded
}
