//! Vectors for points: AVX-512's words, with its products of 52 bits (IFMA).

use std::arch::x86_64::*;

use super::super::edwards::Work;
use super::super::edwards::field::LIMBS;
use super::super::edwards::fused::{self, Fused};
use super::super::edwards::vector::{LANES, Vector, Words};

/// Eight words in a register. Only code that [`run`] calls may name it.
#[derive(Clone, Copy)]
struct Register(__m512i);

/// Computes it on registers.
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512ifma")]
pub(in super::super) fn run<W: Work>(work: W) -> W::Output {
    work.run::<Register>()
}

// SAFETY (all blocks): the processor has AVX-512, for `run` is called only where it does, and nothing else names the type; loads and
// stores are of 64 bytes each, without alignment.
impl Words for Register {
    #[inline(always)]
    fn all(word: u64) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_set1_epi64(word as i64) })
    }

    #[inline(always)]
    fn add(self, other: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn add_nineteen(self, other: Register) -> Register {
        self.add_low(other, Register::all(19))
    }

    #[inline(always)]
    fn and(self, other: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_and_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn or(self, other: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_or_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn shl<const BITS: u32>(self) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_slli_epi64::<BITS>(self.0) })
    }

    #[inline(always)]
    fn shr<const BITS: u32>(self) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_srli_epi64::<BITS>(self.0) })
    }

    #[cfg(debug_assertions)]
    fn is_below(self, bound: u64) -> bool {
        self.store().iter().all(|word| *word < bound)
    }
}

impl Fused for Register {
    #[inline(always)]
    fn mul(self, other: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_mullo_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn add_low(self, a: Register, b: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_madd52lo_epu64(self.0, a.0, b.0) })
    }

    #[inline(always)]
    fn add_high(self, a: Register, b: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_madd52hi_epu64(self.0, a.0, b.0) })
    }
}

impl Vector for Register {
    #[inline(always)]
    fn load(words: &[u64; LANES]) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_loadu_si512(words.as_ptr().cast()) })
    }

    #[inline(always)]
    fn store(self) -> [u64; LANES] {
        let mut words = [0; LANES];
        // SAFETY: see above.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), self.0) };
        words
    }

    #[inline(always)]
    fn sub(self, other: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_sub_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn xor(self, other: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_xor_si512(self.0, other.0) })
    }

    #[inline(always)]
    fn shr_by(self, bits: u32) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_srl_epi64(self.0, _mm_cvtsi32_si128(bits as i32)) })
    }

    #[inline(always)]
    fn equals(self, other: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm512_movm_epi64(_mm512_cmpeq_epi64_mask(self.0, other.0)) })
    }

    #[inline(always)]
    fn select(self, other: Register, mask: Register) -> Register {
        // mask & self | !mask & other.
        // SAFETY: see above.
        Register(unsafe { _mm512_ternarylogic_epi64::<0xca>(mask.0, self.0, other.0) })
    }

    #[inline(always)]
    fn pick(numbers: Register, table: &[u64; 2 * LANES]) -> Register {
        // SAFETY: see above.
        Register(unsafe {
            let low = _mm512_loadu_si512(table.as_ptr().cast());
            let high = _mm512_loadu_si512(table.as_ptr().add(LANES).cast());
            _mm512_permutex2var_epi64(low, numbers.0, high)
        })
    }

    #[inline(always)]
    fn transposed(rows: &[Register; LANES]) -> [Register; LANES] {
        let [a, b, c, d, e, f, g, h] = *rows;
        // SAFETY: see above.
        unsafe {
            let [i, j] = [_mm512_unpacklo_epi64(a.0, b.0), _mm512_unpacklo_epi64(c.0, d.0)];
            let [k, l] = [_mm512_unpacklo_epi64(e.0, f.0), _mm512_unpacklo_epi64(g.0, h.0)];
            let [zero, two, four, six] = pairs_transposed([i, j, k, l]);
            let [i, j] = [_mm512_unpackhi_epi64(a.0, b.0), _mm512_unpackhi_epi64(c.0, d.0)];
            let [k, l] = [_mm512_unpackhi_epi64(e.0, f.0), _mm512_unpackhi_epi64(g.0, h.0)];
            let [one, three, five, seven] = pairs_transposed([i, j, k, l]);
            [zero, one, two, three, four, five, six, seven]
        }
    }

    #[inline(always)]
    fn product(a: &[Register; LIMBS], b: &[Register; LIMBS]) -> [Register; LIMBS] {
        fused::product(a, b)
    }

    #[inline(always)]
    fn twice_product(a: &[Register; LIMBS], b: &[Register; LIMBS]) -> [Register; LIMBS] {
        fused::twice_product(a, b)
    }

    #[inline(always)]
    fn square(a: &[Register; LIMBS]) -> [Register; LIMBS] {
        fused::square(a)
    }
}

/// Pair i of vector j in the place of pair j of vector i.
#[inline]
#[target_feature(enable = "avx512f")]
fn pairs_transposed([a, b, c, d]: [__m512i; 4]) -> [Register; 4] {
    let [even, odd] = [_mm512_shuffle_i64x2::<0x88>(a, b), _mm512_shuffle_i64x2::<0xdd>(a, b)];
    let [next_even, next_odd] = [_mm512_shuffle_i64x2::<0x88>(c, d), _mm512_shuffle_i64x2::<0xdd>(c, d)];
    [
        Register(_mm512_shuffle_i64x2::<0x88>(even, next_even)),
        Register(_mm512_shuffle_i64x2::<0x88>(odd, next_odd)),
        Register(_mm512_shuffle_i64x2::<0xdd>(even, next_even)),
        Register(_mm512_shuffle_i64x2::<0xdd>(odd, next_odd)),
    ]
}
