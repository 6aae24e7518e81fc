//! Multiplication in GF(2^128) by integer products with holes: no tables, no branches.

use super::super::block::Block;

/// Every fifth bit. Two numbers of 64 bits that have bits in such places only have a product in which at most 13 ones
/// meet in one place: the carries stay within the four bits above, and every fifth bit is the carry-less product's.
const HOLES: [u128; 5] = {
    let mut masks = [0; 5];
    let mut bit = 0;
    while bit < 128 {
        masks[bit % 5] |= 1 << bit;
        bit += 1;
    }
    masks
};

/// The carry-less product of two polynomials of 64 coefficients.
#[inline]
fn carryless(a: u64, b: u64) -> u128 {
    let a = HOLES.map(|mask| u128::from(a) & mask);
    let b = HOLES.map(|mask| u128::from(b) & mask);
    let mut product = 0;
    for (place, mask) in HOLES.iter().enumerate() {
        let mut sum = 0;
        for (index, a) in a.iter().enumerate() {
            sum ^= a.wrapping_mul(b[(place + 5 - index) % 5]);
        }
        product |= sum & mask;
    }
    product
}

/// The product of two polynomials of 128 coefficients (Karatsuba): its lower and its upper half.
#[inline]
fn wide(a: Block, b: Block) -> (u128, u128) {
    let halves = |block: Block| (block.0 as u64, (block.0 >> 64) as u64);
    let ((a0, a1), (b0, b1)) = (halves(a), halves(b));
    let (low, high) = (carryless(a0, b0), carryless(a1, b1));
    let middle = carryless(a0 ^ a1, b0 ^ b1) ^ low ^ high;
    (low ^ middle << 64, high ^ middle >> 64)
}

/// `low + high x^128`, reduced: x^128 = x^7 + x^2 + x + 1, twice, as the first time leaves up to seven bits above.
#[inline]
fn reduce(low: u128, high: u128) -> Block {
    let above = high >> 127 ^ high >> 126 ^ high >> 121;
    let fold = |high: u128| high ^ high << 1 ^ high << 2 ^ high << 7;
    Block(low ^ fold(high) ^ fold(above))
}

#[inline]
pub(in super::super) fn product(a: Block, b: Block) -> Block {
    let (low, high) = wide(a, b);
    reduce(low, high)
}

/// `out[i] = a[i] * b[i]`, or `+=`.
pub(in super::super) fn multiply<const ADD: bool>(a: &[Block], b: &[Block], out: &mut [Block]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        let old = if ADD { *out } else { Block::ZERO };
        *out = product(*a, *b) ^ old;
    }
}

/// `out[i] = s * a[i]`, or `+=`.
pub(in super::super) fn scale<const ADD: bool>(a: &[Block], s: Block, out: &mut [Block]) {
    for (a, out) in a.iter().zip(out) {
        let old = if ADD { *out } else { Block::ZERO };
        *out = product(*a, s) ^ old;
    }
}

pub(in super::super) fn scale_in_place(a: &mut [Block], s: Block) {
    for a in a {
        *a = product(*a, s);
    }
}

pub(in super::super) fn inner_product(a: &[Block], b: &[Block]) -> Block {
    let (mut low, mut high) = (0, 0);
    for (a, b) in a.iter().zip(b) {
        let product = wide(*a, *b);
        low ^= product.0;
        high ^= product.1;
    }
    reduce(low, high)
}
