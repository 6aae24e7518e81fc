//! Multiplication in GF(2^128), four products at a time.
//!
//! With a = a0 + a1 X and b = b0 + b1 X, where X = x^64, a product is L + M X + H X^2 with L = a0 b0, M = a0 b1 + a1 b0
//! and H = a1 b1. As X^2 = r = x^7 + x^2 + x + 1, H's upper half goes to M as h1 r; then M's lower half goes to the
//! result's upper half, and M's upper half and H's lower half go to the result's lower half times r, which is at most
//! 71 bits long: nothing is left to reduce. The unit for shuffles and carry-less products is what limits the speed;
//! this takes seven of its cycles for four products.

use std::arch::x86_64::*;

use super::super::block::Block;
use super::{LANES, Quad, broadcast, load, store, sum_lanes};

/// x^128 = x^7 + x^2 + x + 1, for each lane.
#[inline]
#[target_feature(enable = "avx512f")]
fn modulus() -> __m512i {
    _mm512_set1_epi64(0x87)
}

/// The exchange of a block's halves, for `_mm512_shuffle_epi32`.
const SWAP: i32 = 0b01_00_11_10;

/// The upper half of each block.
const HIGH_HALVES: __mmask8 = 0b1010_1010;

/// An unreduced product: L, M and H.
#[derive(Clone, Copy)]
struct Wide(__m512i, __m512i, __m512i);

#[inline]
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
fn wide(a: __m512i, b: __m512i) -> Wide {
    let low = _mm512_clmulepi64_epi128::<0x00>(a, b);
    let high = _mm512_clmulepi64_epi128::<0x11>(a, b);
    let one = _mm512_clmulepi64_epi128::<0x10>(a, b);
    let other = _mm512_clmulepi64_epi128::<0x01>(a, b);
    Wide(low, _mm512_xor_si512(one, other), high)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
fn reduce(Wide(low, middle, high): Wide) -> __m512i {
    let middle = _mm512_xor_si512(middle, _mm512_clmulepi64_epi128::<0x01>(high, modulus()));
    let swapped = _mm512_shuffle_epi32::<SWAP>(middle);
    let above = _mm512_clmulepi64_epi128::<0x00>(_mm512_xor_si512(high, swapped), modulus());
    let low = _mm512_mask_xor_epi64(low, HIGH_HALVES, low, swapped);
    _mm512_xor_si512(low, above)
}

#[inline]
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
fn product(a: __m512i, b: __m512i) -> __m512i {
    reduce(wide(a, b))
}

/// A factor s of many products, as s and s X: then a s = a0 s + a1 (s X), which needs one step of reduction only.
#[derive(Clone, Copy)]
struct Scalar {
    once: __m512i,
    shifted: __m512i,
}

impl Scalar {
    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn new(s: Block) -> Scalar {
        let once = broadcast(s);
        Scalar { once, shifted: product(once, broadcast(Block(1 << 64))) }
    }

    #[inline]
    #[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
    fn times(self, a: __m512i) -> __m512i {
        let low = _mm512_xor_si512(
            _mm512_clmulepi64_epi128::<0x00>(a, self.once),
            _mm512_clmulepi64_epi128::<0x01>(a, self.shifted),
        );
        let middle = _mm512_xor_si512(
            _mm512_clmulepi64_epi128::<0x10>(a, self.once),
            _mm512_clmulepi64_epi128::<0x11>(a, self.shifted),
        );
        let above = _mm512_clmulepi64_epi128::<0x01>(middle, modulus());
        let up = _mm512_bslli_epi128::<8>(middle);
        _mm512_ternarylogic_epi64::<0x96>(low, above, up)
    }
}

/// The blocks of a slice that fill no vector, padded with zeros.
fn padded(rest: &[Block]) -> Quad {
    let mut quad = [Block::ZERO; LANES];
    quad[..rest.len()].copy_from_slice(rest);
    quad
}

/// `out[i] = a[i] * b[i]`, or `+=`.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
pub(in super::super) fn multiply<const ADD: bool>(a: &[Block], b: &[Block], out: &mut [Block]) {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    let (out, out_rest) = out.as_chunks_mut();
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        put::<ADD>(out, product(load(a), load(b)));
    }
    let mut last = padded(out_rest);
    put::<ADD>(&mut last, product(load(&padded(a_rest)), load(&padded(b_rest))));
    out_rest.copy_from_slice(&last[..out_rest.len()]);
}

/// `out[i] = s * a[i]`, or `+=`.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
pub(in super::super) fn scale<const ADD: bool>(a: &[Block], s: Block, out: &mut [Block]) {
    let s = Scalar::new(s);
    let (a, a_rest) = a.as_chunks();
    let (out, out_rest) = out.as_chunks_mut();
    for (a, out) in a.iter().zip(out) {
        put::<ADD>(out, s.times(load(a)));
    }
    let mut last = padded(out_rest);
    put::<ADD>(&mut last, s.times(load(&padded(a_rest))));
    out_rest.copy_from_slice(&last[..out_rest.len()]);
}

/// `a[i] = s * a[i]`.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
pub(in super::super) fn scale_in_place(a: &mut [Block], s: Block) {
    let s = Scalar::new(s);
    let (a, rest) = a.as_chunks_mut();
    for a in a {
        let scaled = s.times(load(a));
        store(a, scaled);
    }
    let mut last = padded(rest);
    let scaled = s.times(load(&last));
    store(&mut last, scaled);
    rest.copy_from_slice(&last[..rest.len()]);
}

/// The sum of all `a[i] * b[i]`.
#[target_feature(enable = "avx512f,avx512bw,vpclmulqdq")]
pub(in super::super) fn inner_product(a: &[Block], b: &[Block]) -> Block {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks(), b.as_chunks());
    let mut sum = wide(load(&padded(a_rest)), load(&padded(b_rest)));
    for (a, b) in a.iter().zip(b) {
        let product = wide(load(a), load(b));
        sum.0 = _mm512_xor_si512(sum.0, product.0);
        sum.1 = _mm512_xor_si512(sum.1, product.1);
        sum.2 = _mm512_xor_si512(sum.2, product.2);
    }
    sum_lanes(reduce(sum))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn put<const ADD: bool>(out: &mut Quad, value: __m512i) {
    let old = if ADD { load(out) } else { _mm512_setzero_si512() };
    store(out, _mm512_xor_si512(value, old));
}
