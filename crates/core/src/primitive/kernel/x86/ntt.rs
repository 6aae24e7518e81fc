//! Number-theoretic transforms and sums of products, eight residues at a time, by AVX-512's products of 52 bits (IFMA).
//!
//! All steps are those of the portable form, with 52 bits in place of 64: a residue below four times a prime of 50 bits
//! fits. Factors come with their quotients for 64 bits, of which the upper 52 are those for 52.

use std::arch::x86_64::*;

use super::super::ntt::{LANES, LanePair};
use super::super::prime::{Factor, Prime};

/// The least number of values that the transforms here take.
pub(in super::super) const MIN_VALUES: usize = 16;

/// Residues in a vector.
const WIDTH: usize = 8;

/// A factor in each lane, with its quotient for 52 bits.
#[derive(Clone, Copy)]
struct Factors {
    values: __m512i,
    quotients: __m512i,
}

/// The prime in each lane.
#[derive(Clone, Copy)]
struct Modulus {
    once: __m512i,
    twice: __m512i,
    /// Constant 2^52 - p.
    negative: __m512i,
    low: __m512i,
}

impl Modulus {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(prime: &Prime) -> Modulus {
        let all = |value: u64| _mm512_set1_epi64(value as i64);
        let p = prime.value();
        Modulus { once: all(p), twice: all(2 * p), negative: all((1 << 52) - p), low: all((1 << 52) - 1) }
    }

    /// A number below 2^52 times a factor, below twice the prime.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn times(self, number: __m512i, factors: Factors) -> __m512i {
        let zero = _mm512_setzero_si512();
        let quotient = _mm512_madd52hi_epu64(zero, number, factors.quotients);
        let product = _mm512_madd52lo_epu64(zero, number, factors.values);
        _mm512_and_si512(_mm512_madd52lo_epu64(product, quotient, self.negative), self.low)
    }

    /// The forward butterfly, on numbers below four times the prime.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn forward(self, x: __m512i, y: __m512i, factors: Factors) -> (__m512i, __m512i) {
        let (a, b) = (once(x, self.twice), self.times(y, factors));
        (_mm512_add_epi64(a, b), _mm512_sub_epi64(_mm512_add_epi64(a, self.twice), b))
    }

    /// The inverse butterfly, on numbers below twice the prime.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn inverse(self, x: __m512i, y: __m512i, factors: Factors) -> (__m512i, __m512i) {
        let sum = once(_mm512_add_epi64(x, y), self.twice);
        (sum, self.times(_mm512_sub_epi64(_mm512_add_epi64(x, self.twice), y), factors))
    }
}

/// Numbers below twice `modulus`, reduced: what is less wraps around and is then not the smaller one.
#[inline]
#[target_feature(enable = "avx512f")]
fn once(numbers: __m512i, modulus: __m512i) -> __m512i {
    _mm512_min_epu64(numbers, _mm512_sub_epi64(numbers, modulus))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn load(residues: &[u64; WIDTH]) -> __m512i {
    // SAFETY: 64 bytes are there to be read, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(residues.as_ptr().cast()) }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn store(residues: &mut [u64; WIDTH], value: __m512i) {
    // SAFETY: 64 bytes are there to be written, and the store needs no alignment.
    unsafe { _mm512_storeu_si512(residues.as_mut_ptr().cast(), value) }
}

/// The vectors of a group's four quarters that belong together.
#[inline]
fn quarters(group: &mut [[u64; WIDTH]], length: usize) -> impl Iterator<Item = [&mut [u64; WIDTH]; 4]> {
    let (low, high) = group.split_at_mut(2 * length);
    let ((a, b), (c, d)) = (low.split_at_mut(length), high.split_at_mut(length));
    a.iter_mut().zip(b).zip(c.iter_mut().zip(d)).map(|((a, b), (c, d))| [a, b, c, d])
}

/// One factor in all lanes.
#[inline]
#[target_feature(enable = "avx512f")]
fn broadcast(factor: Factor) -> Factors {
    Factors {
        values: _mm512_set1_epi64(factor.value as i64),
        quotients: _mm512_set1_epi64((factor.quotient >> 12) as i64),
    }
}

/// Lane i gets factor `order[i]`.
#[inline]
#[target_feature(enable = "avx512f")]
fn gather(factors: &[Factor], order: __m512i) -> Factors {
    const {
        assert!(size_of::<Factor>() == 2 * size_of::<i64>());
        assert!(std::mem::offset_of!(Factor, value) == 0 && std::mem::offset_of!(Factor, quotient) == size_of::<i64>());
    }
    // Values and quotients alternate: four factors are a vector. A mask keeps the load within the slice.
    let fields = 2 * factors.len().min(8);
    let start = factors.as_ptr().cast::<i64>();
    // SAFETY: a factor is two 64-bit integers, and the masks are for as many as there are.
    let (first, second) = unsafe {
        let first = _mm512_maskz_loadu_epi64(((1u32 << fields.min(8)) - 1) as u8, start);
        let more = fields.saturating_sub(8);
        (first, _mm512_maskz_loadu_epi64(((1u32 << more) - 1) as u8, start.wrapping_add(8)))
    };
    let places = _mm512_slli_epi64::<1>(order);
    let next = _mm512_add_epi64(places, _mm512_set1_epi64(1));
    Factors {
        values: _mm512_permutex2var_epi64(first, places, second),
        quotients: _mm512_srli_epi64::<12>(_mm512_permutex2var_epi64(first, next, second)),
    }
}

/// Positions of the factors of the last three layers, whose groups are shorter than a vector.
struct Orders {
    fours: __m512i,
    twos: __m512i,
    ones: __m512i,
}

impl Orders {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new() -> Orders {
        Orders {
            fours: _mm512_setr_epi64(0, 0, 0, 0, 1, 1, 1, 1),
            twos: _mm512_setr_epi64(0, 0, 2, 2, 1, 1, 3, 3),
            ones: _mm512_setr_epi64(0, 1, 4, 5, 2, 3, 6, 7),
        }
    }
}

/// The factors of the last four layers for two vectors: for groups of both, of a vector, of half of one, and of a
/// quarter.
struct Tail<'a> {
    eight: Factor,
    fours: &'a [Factor; 2],
    twos: &'a [Factor; 4],
    ones: &'a [Factor; 8],
}

/// The tails of all pairs of vectors, of which there are `pairs`.
#[inline]
fn tails(roots: &[Factor], pairs: usize) -> impl Iterator<Item = Tail<'_>> {
    let of = |times: usize| &roots[times * pairs..2 * times * pairs];
    let (fours, twos, ones) = (of(2).as_chunks().0, of(4).as_chunks().0, of(8).as_chunks().0);
    let factors = of(1).iter().zip(fours).zip(twos.iter().zip(ones));
    factors.map(|((&eight, fours), (twos, ones))| Tail { eight, fours, twos, ones })
}

/// See the portable form. There are at least [`MIN_VALUES`] values.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn forward(prime: &Prime, roots: &[Factor], values: &mut [u64]) {
    let (modulus, orders, count) = (Modulus::new(prime), Orders::new(), values.len());
    let (vectors, _) = values.as_chunks_mut::<WIDTH>();
    let mut groups = 1;
    // Two layers at once, so that every value is loaded and stored half as often.
    while 2 * groups * MIN_VALUES < count {
        let length = vectors.len() / (4 * groups);
        let (firsts, seconds) = (&roots[groups..2 * groups], &roots[2 * groups..4 * groups]);
        for ((group, &first), second) in
            vectors.chunks_exact_mut(4 * length).zip(firsts).zip(seconds.as_chunks::<2>().0)
        {
            let (first, second) = (broadcast(first), second.map(|factor| broadcast(factor)));
            for [a, b, c, d] in quarters(group, length) {
                let (x, z) = modulus.forward(load(a), load(c), first);
                let (y, w) = modulus.forward(load(b), load(d), first);
                let (x, y) = modulus.forward(x, y, second[0]);
                let (z, w) = modulus.forward(z, w, second[1]);
                store(a, x);
                store(b, y);
                store(c, z);
                store(d, w);
            }
        }
        groups *= 4;
    }
    if groups * MIN_VALUES < count {
        let length = vectors.len() / (2 * groups);
        for (group, &root) in vectors.chunks_exact_mut(2 * length).zip(&roots[groups..2 * groups]) {
            let (low, high) = group.split_at_mut(length);
            let factors = broadcast(root);
            for (low, high) in low.iter_mut().zip(high) {
                let (x, y) = modulus.forward(load(low), load(high), factors);
                store(low, x);
                store(high, y);
            }
        }
        groups *= 2;
    }
    let lower = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    let upper = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    for (pair, tail) in vectors.chunks_exact_mut(2).zip(tails(roots, groups)) {
        let (a, b) = modulus.forward(load(&pair[0]), load(&pair[1]), broadcast(tail.eight));
        let (x, y) = (_mm512_shuffle_i64x2::<0x44>(a, b), _mm512_shuffle_i64x2::<0xee>(a, b));
        let (x, y) = modulus.forward(x, y, gather(tail.fours, orders.fours));
        let (x, y) = (_mm512_shuffle_i64x2::<0x88>(x, y), _mm512_shuffle_i64x2::<0xdd>(x, y));
        let (x, y) = modulus.forward(x, y, gather(tail.twos, orders.twos));
        let (x, y) = (_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y));
        let (x, y) = modulus.forward(x, y, gather(tail.ones, orders.ones));
        let [x, y] = [x, y].map(|value| once(once(value, modulus.twice), modulus.once));
        let (x, y) = (_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y));
        store(&mut pair[0], _mm512_permutex2var_epi64(x, lower, y));
        store(&mut pair[1], _mm512_permutex2var_epi64(x, upper, y));
    }
}

/// See the portable form. There are at least [`MIN_VALUES`] values.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn inverse(prime: &Prime, roots: &[Factor], scale: Factor, values: &mut [u64]) {
    let (modulus, orders) = (Modulus::new(prime), Orders::new());
    let mut groups = values.len() / MIN_VALUES;
    let (vectors, _) = values.as_chunks_mut::<WIDTH>();
    let lower = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    let upper = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    let first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    let second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for (pair, tail) in vectors.chunks_exact_mut(2).zip(tails(roots, groups)) {
        let (a, b) = (load(&pair[0]), load(&pair[1]));
        let (x, y) = (_mm512_permutex2var_epi64(a, lower, b), _mm512_permutex2var_epi64(a, upper, b));
        let (x, y) = (_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y));
        let (x, y) = modulus.inverse(x, y, gather(tail.ones, orders.ones));
        let (x, y) = (_mm512_unpacklo_epi64(x, y), _mm512_unpackhi_epi64(x, y));
        let (x, y) = modulus.inverse(x, y, gather(tail.twos, orders.twos));
        let (x, y) = (_mm512_permutex2var_epi64(x, first, y), _mm512_permutex2var_epi64(x, second, y));
        let (x, y) = modulus.inverse(x, y, gather(tail.fours, orders.fours));
        let (a, b) = (_mm512_shuffle_i64x2::<0x44>(x, y), _mm512_shuffle_i64x2::<0xee>(x, y));
        let (a, b) = modulus.inverse(a, b, broadcast(tail.eight));
        store(&mut pair[0], a);
        store(&mut pair[1], b);
    }
    groups /= 2;
    while groups > 1 {
        let length = vectors.len() / (2 * groups);
        let (firsts, seconds) = (&roots[groups / 2..groups], &roots[groups..2 * groups]);
        for ((group, &first), second) in
            vectors.chunks_exact_mut(4 * length).zip(firsts).zip(seconds.as_chunks::<2>().0)
        {
            let (first, second) = (broadcast(first), second.map(|factor| broadcast(factor)));
            for [a, b, c, d] in quarters(group, length) {
                let (x, y) = modulus.inverse(load(a), load(b), second[0]);
                let (z, w) = modulus.inverse(load(c), load(d), second[1]);
                let (x, z) = modulus.inverse(x, z, first);
                let (y, w) = modulus.inverse(y, w, first);
                store(a, x);
                store(b, y);
                store(c, z);
                store(d, w);
            }
        }
        groups /= 4;
    }
    if groups == 1 {
        let (low, high) = vectors.split_at_mut(vectors.len() / 2);
        let factors = broadcast(roots[1]);
        for (low, high) in low.iter_mut().zip(high) {
            let (x, y) = modulus.inverse(load(low), load(high), factors);
            store(low, x);
            store(high, y);
        }
    }
    let scale = broadcast(scale);
    for vector in vectors {
        store(vector, once(modulus.times(load(vector), scale), modulus.once));
    }
}

/// Constants that reduce a sum of products h 2^52 + l.
struct Reduction {
    modulus: Modulus,
    one: Factors,
    /// Factor for the constant 2^52.
    carry: Factors,
    /// Factor for the constant 2^104.
    carry_twice: Factors,
}

impl Reduction {
    #[inline]
    #[target_feature(enable = "avx512f")]
    fn new(prime: &Prime) -> Reduction {
        let [carry, carry_twice] = prime.carries_52;
        Reduction {
            modulus: Modulus::new(prime),
            one: broadcast(prime.one),
            carry: broadcast(carry),
            carry_twice: broadcast(carry_twice),
        }
    }

    /// The residue of h 2^52 + l.
    #[inline]
    #[target_feature(enable = "avx512f,avx512ifma")]
    fn reduce(&self, high: __m512i, low: __m512i) -> __m512i {
        let modulus = self.modulus;
        let high = _mm512_add_epi64(high, _mm512_srli_epi64::<52>(low));
        let above = modulus.times(_mm512_srli_epi64::<52>(high), self.carry_twice);
        let middle = modulus.times(_mm512_and_si512(high, modulus.low), self.carry);
        let low = modulus.times(_mm512_and_si512(low, modulus.low), self.one);
        let sum = _mm512_add_epi64(once(_mm512_add_epi64(above, middle), modulus.twice), low);
        once(once(sum, modulus.twice), modulus.once)
    }
}

/// See the portable form.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn multiply_add(prime: &Prime, a: &[u64], b: &[u64], sum: &mut [u64]) {
    let reduction = Reduction::new(prime);
    let zero = _mm512_setzero_si512();
    for ((sum, a), b) in sum.chunks_mut(WIDTH).zip(a.chunks(WIDTH)).zip(b.chunks(WIDTH)) {
        let mask = ((1u32 << sum.len()) - 1) as u8;
        // SAFETY: all three are equally long, and the mask is for as many residues.
        let [x, y, z] =
            [a.as_ptr(), b.as_ptr(), sum.as_ptr()].map(|start| unsafe { _mm512_maskz_loadu_epi64(mask, start.cast()) });
        let result = reduction.reduce(_mm512_madd52hi_epu64(zero, x, y), _mm512_madd52lo_epu64(z, x, y));
        // SAFETY: the mask is for as many residues as there are.
        unsafe { _mm512_mask_storeu_epi64(sum.as_mut_ptr().cast(), mask, result) };
    }
}

/// See [`Ntt::accumulate`](super::super::ntt::Ntt::accumulate), for at most 2^11 pairs.
#[target_feature(enable = "avx512f,avx512ifma")]
pub(in super::super) fn accumulate(prime: &Prime, pairs: &[LanePair], factors: &[u64], sum: &mut LanePair) {
    match factors.len() / pairs.len() {
        32 => accumulate_by::<32>(prime, pairs, factors, sum),
        16 => accumulate_by::<16>(prime, pairs, factors, sum),
        8 => accumulate_by::<8>(prime, pairs, factors, sum),
        4 => accumulate_by::<4>(prime, pairs, factors, sum),
        2 => accumulate_by::<2>(prime, pairs, factors, sum),
        _ => accumulate_by::<1>(prime, pairs, factors, sum),
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx512ifma")]
fn accumulate_by<const FACTORS: usize>(prime: &Prime, pairs: &[LanePair], factors: &[u64], sum: &mut LanePair) {
    const VECTORS: usize = LANES / WIDTH;
    let zero = _mm512_setzero_si512();
    let (mut low, mut high) = ([[zero; VECTORS]; 2], [[zero; VECTORS]; 2]);
    for (low, sum) in low.iter_mut().zip(sum.iter()) {
        for (low, sum) in low.iter_mut().zip(sum.as_chunks::<WIDTH>().0) {
            *low = load(sum);
        }
    }
    let (factors, _) = factors.as_chunks::<FACTORS>();
    for (pair, factors) in pairs.iter().zip(factors) {
        for vector in 0..VECTORS {
            let factor = spread::<FACTORS>(factors, vector);
            for half in 0..2 {
                let values = load(&pair[half].as_chunks::<WIDTH>().0[vector]);
                low[half][vector] = _mm512_madd52lo_epu64(low[half][vector], values, factor);
                high[half][vector] = _mm512_madd52hi_epu64(high[half][vector], values, factor);
            }
        }
    }
    let reduction = Reduction::new(prime);
    for half in 0..2 {
        for (vector, sum) in sum[half].as_chunks_mut::<WIDTH>().0.iter_mut().enumerate() {
            store(sum, reduction.reduce(high[half][vector], low[half][vector]));
        }
    }
}

/// The factors of lanes 8 `vector` onwards, of which there are `FACTORS` for all [`LANES`].
#[inline]
#[target_feature(enable = "avx512f")]
fn spread<const FACTORS: usize>(factors: &[u64; FACTORS], vector: usize) -> __m512i {
    let start = vector * FACTORS * WIDTH / LANES;
    let of = |index: i64| factors[start + index as usize] as i64;
    match FACTORS * WIDTH / LANES {
        8 => _mm512_setr_epi64(of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)),
        4 => _mm512_setr_epi64(of(0), of(0), of(1), of(1), of(2), of(2), of(3), of(3)),
        2 => _mm512_setr_epi64(of(0), of(0), of(0), of(0), of(1), of(1), of(1), of(1)),
        _ => _mm512_set1_epi64(of(0)),
    }
}
