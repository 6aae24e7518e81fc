//! Multiplication in GF(2^128) on processors that have PCLMULQDQ; the method is that of [`super::gf128`].

use std::arch::x86_64::*;

use super::super::block::Block;
use super::{block, single};

/// L, M and H.
#[derive(Clone, Copy)]
struct Wide(__m128i, __m128i, __m128i);

#[inline]
#[target_feature(enable = "sse2,pclmulqdq")]
fn wide(a: Block, b: Block) -> Wide {
    let (a, b) = (single(a), single(b));
    let low = _mm_clmulepi64_si128::<0x00>(a, b);
    let high = _mm_clmulepi64_si128::<0x11>(a, b);
    let middle = _mm_xor_si128(_mm_clmulepi64_si128::<0x10>(a, b), _mm_clmulepi64_si128::<0x01>(a, b));
    Wide(low, middle, high)
}

#[inline]
#[target_feature(enable = "sse2,pclmulqdq")]
fn reduce(Wide(low, middle, high): Wide) -> Block {
    let modulus = _mm_set1_epi64x(0x87);
    let middle = _mm_xor_si128(middle, _mm_clmulepi64_si128::<0x01>(high, modulus));
    let above = _mm_xor_si128(high, _mm_srli_si128::<8>(middle));
    let low = _mm_xor_si128(low, _mm_slli_si128::<8>(middle));
    block(_mm_xor_si128(low, _mm_clmulepi64_si128::<0x00>(above, modulus)))
}

#[inline]
#[target_feature(enable = "sse2,pclmulqdq")]
pub(in super::super) fn product(a: Block, b: Block) -> Block {
    reduce(wide(a, b))
}

/// `out[i] = a[i] * b[i]`, or `+=`.
#[target_feature(enable = "sse2,pclmulqdq")]
pub(in super::super) fn multiply<const ADD: bool>(a: &[Block], b: &[Block], out: &mut [Block]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        put::<ADD>(out, product(*a, *b));
    }
}

/// `out[i] = s * a[i]`, or `+=`.
#[target_feature(enable = "sse2,pclmulqdq")]
pub(in super::super) fn scale<const ADD: bool>(a: &[Block], s: Block, out: &mut [Block]) {
    for (a, out) in a.iter().zip(out) {
        put::<ADD>(out, product(*a, s));
    }
}

/// `a[i] = s * a[i]`.
#[target_feature(enable = "sse2,pclmulqdq")]
pub(in super::super) fn scale_in_place(a: &mut [Block], s: Block) {
    for a in a {
        *a = product(*a, s);
    }
}

/// The sum of all `a[i] * b[i]`.
#[target_feature(enable = "sse2,pclmulqdq")]
pub(in super::super) fn inner_product(a: &[Block], b: &[Block]) -> Block {
    let zero = _mm_setzero_si128();
    let mut sum = Wide(zero, zero, zero);
    for (a, b) in a.iter().zip(b) {
        let product = wide(*a, *b);
        sum.0 = _mm_xor_si128(sum.0, product.0);
        sum.1 = _mm_xor_si128(sum.1, product.1);
        sum.2 = _mm_xor_si128(sum.2, product.2);
    }
    reduce(sum)
}

#[inline]
fn put<const ADD: bool>(out: &mut Block, value: Block) {
    *out = if ADD { *out ^ value } else { value };
}
