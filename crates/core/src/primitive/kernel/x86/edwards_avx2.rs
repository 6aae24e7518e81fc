//! Vectors for points: AVX2's words, two registers of four, with products by FMA.

#![expect(
    clippy::needless_range_loop,
    reason = "limbs and registers of several residues stand side by side, and an iterator's closures are compiled for other processors"
)]

use std::arch::asm;
use std::arch::x86_64::*;
use std::mem::MaybeUninit;

use super::super::edwards::Work;
use super::super::edwards::doubles::{self, Doubles};
use super::super::edwards::field::LIMBS;
use super::super::edwards::vector::{LANES, Vector, Words};

/// Words in a register.
const WIDTH: usize = 4;

/// Registers of a vector.
const HALVES: usize = LANES / WIDTH;

/// Four words in a register. Only code that [`run`] calls may name it.
#[derive(Clone, Copy)]
struct Register(__m256i);

/// Eight words in two of them.
#[derive(Clone, Copy)]
#[repr(transparent)]
struct Pair([Register; HALVES]);

/// Computes it on registers.
#[target_feature(enable = "avx2,fma")]
pub(in super::super) fn run<W: Work>(work: W) -> W::Output {
    work.run::<Pair>()
}

// SAFETY (all blocks): the processor has AVX2 and FMA, for `run` is called only where it does, and nothing else names the types; loads and
// stores are of 32 bytes each, without alignment.
impl Words for Register {
    #[inline(always)]
    fn all(word: u64) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm256_set1_epi64x(word as i64) })
    }

    #[inline(always)]
    fn add(self, other: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm256_add_epi64(self.0, other.0) })
    }

    #[inline(always)]
    fn add_nineteen(self, other: Register) -> Register {
        // SAFETY: see above.
        self.add(Register(unsafe { _mm256_mul_epu32(other.0, _mm256_set1_epi64x(19)) }))
    }

    #[inline(always)]
    fn and(self, other: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm256_and_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn or(self, other: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm256_or_si256(self.0, other.0) })
    }

    #[inline(always)]
    fn shl<const BITS: u32>(self) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm256_sll_epi64(self.0, _mm_cvtsi32_si128(BITS as i32)) })
    }

    #[inline(always)]
    fn shr<const BITS: u32>(self) -> Register {
        // SAFETY: see above.
        Register(unsafe { _mm256_srl_epi64(self.0, _mm_cvtsi32_si128(BITS as i32)) })
    }

    #[cfg(debug_assertions)]
    fn is_below(self, bound: u64) -> bool {
        Pair([self; HALVES]).store().iter().all(|word| *word < bound)
    }
}

impl Doubles for Register {
    #[inline(always)]
    fn less(self, other: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe {
            _mm256_castpd_si256(_mm256_sub_pd(_mm256_castsi256_pd(self.0), _mm256_castsi256_pd(other.0)))
        })
    }

    #[inline(always)]
    fn parts(a: Register, b: Register, high: Register, both: Register) -> (Register, Register) {
        // SAFETY: see above.
        let (high, low) = unsafe { parts(a.0, b.0, high.0, both.0) };
        (Register(high), Register(low))
    }

    #[inline(always)]
    fn add_in_order(self, other: Register) -> Register {
        // SAFETY: see above.
        Register(unsafe { add_in_order(self.0, other.0) })
    }
}

/// Computes both parts of products, with assembler instructions rather than intrinsics. The compiler puts intrinsics
/// first for all products, and registers have no room for their results.
#[inline]
#[target_feature(enable = "avx2,fma")]
fn parts(a: __m256i, b: __m256i, constant: __m256i, both: __m256i) -> (__m256i, __m256i) {
    let (high, low);
    // SAFETY: the instructions read and write registers only, and AVX2 and FMA have them.
    unsafe {
        asm!(
            "vmovapd {high}, {constant}",
            "vfmadd231pd {high}, {a}, {b}",
            "vsubpd {low}, {both}, {high}",
            "vfmadd231pd {low}, {a}, {b}",
            high = out(ymm_reg) high, low = out(ymm_reg) low,
            a = in(ymm_reg) a, b = in(ymm_reg) b, constant = in(ymm_reg) constant, both = in(ymm_reg) both,
            options(pure, nomem, nostack, preserves_flags)
        );
    }
    (high, low)
}

/// The sums, for the same reason by an instruction.
#[inline]
#[target_feature(enable = "avx2")]
fn add_in_order(a: __m256i, b: __m256i) -> __m256i {
    let sum;
    // SAFETY: the instruction reads and writes registers only, and AVX2 has it.
    unsafe {
        asm!("vpaddq {}, {}, {}", lateout(ymm_reg) sum, in(ymm_reg) a, in(ymm_reg) b,
            options(pure, nomem, nostack, preserves_flags));
    }
    sum
}

/// An operation on both registers.
macro_rules! each {
    ($one:ident, $other:ident, $combine:expr) => {{
        let ([a, b], [c, d]) = ($one.0, $other.0);
        Pair([$combine(a, c), $combine(b, d)])
    }};
}

impl Words for Pair {
    #[inline(always)]
    fn all(word: u64) -> Pair {
        Pair([Register::all(word); HALVES])
    }

    #[inline(always)]
    fn add(self, other: Pair) -> Pair {
        each!(self, other, Register::add)
    }

    #[inline(always)]
    fn add_nineteen(self, other: Pair) -> Pair {
        each!(self, other, Register::add_nineteen)
    }

    #[inline(always)]
    fn and(self, other: Pair) -> Pair {
        each!(self, other, Register::and)
    }

    #[inline(always)]
    fn or(self, other: Pair) -> Pair {
        each!(self, other, Register::or)
    }

    #[inline(always)]
    fn shl<const BITS: u32>(self) -> Pair {
        let [low, high] = self.0;
        Pair([low.shl::<BITS>(), high.shl::<BITS>()])
    }

    #[inline(always)]
    fn shr<const BITS: u32>(self) -> Pair {
        let [low, high] = self.0;
        Pair([low.shr::<BITS>(), high.shr::<BITS>()])
    }

    #[cfg(debug_assertions)]
    fn is_below(self, bound: u64) -> bool {
        self.0.iter().all(|half| half.is_below(bound))
    }
}

impl Vector for Pair {
    #[inline(always)]
    fn load(words: &[u64; LANES]) -> Pair {
        // SAFETY: see above.
        Pair(unsafe {
            let low = _mm256_loadu_si256(words.as_ptr().cast());
            let high = _mm256_loadu_si256(words.as_ptr().add(WIDTH).cast());
            [Register(low), Register(high)]
        })
    }

    #[inline(always)]
    fn store(self) -> [u64; LANES] {
        let mut words = [0; LANES];
        let [low, high] = self.0;
        // SAFETY: see above.
        unsafe {
            _mm256_storeu_si256(words.as_mut_ptr().cast(), low.0);
            _mm256_storeu_si256(words.as_mut_ptr().add(WIDTH).cast(), high.0);
        }
        words
    }

    #[inline(always)]
    fn sub(self, other: Pair) -> Pair {
        let ([a, b], [c, d]) = (self.0, other.0);
        // SAFETY: see above.
        Pair(unsafe { [Register(_mm256_sub_epi64(a.0, c.0)), Register(_mm256_sub_epi64(b.0, d.0))] })
    }

    #[inline(always)]
    fn xor(self, other: Pair) -> Pair {
        let ([a, b], [c, d]) = (self.0, other.0);
        // SAFETY: see above.
        Pair(unsafe { [Register(_mm256_xor_si256(a.0, c.0)), Register(_mm256_xor_si256(b.0, d.0))] })
    }

    #[inline(always)]
    fn shr_by(self, bits: u32) -> Pair {
        let [low, high] = self.0;
        // SAFETY: see above.
        Pair(unsafe {
            let count = _mm_cvtsi32_si128(bits as i32);
            [Register(_mm256_srl_epi64(low.0, count)), Register(_mm256_srl_epi64(high.0, count))]
        })
    }

    #[inline(always)]
    fn equals(self, other: Pair) -> Pair {
        let ([a, b], [c, d]) = (self.0, other.0);
        // SAFETY: see above.
        Pair(unsafe { [Register(_mm256_cmpeq_epi64(a.0, c.0)), Register(_mm256_cmpeq_epi64(b.0, d.0))] })
    }

    #[inline(always)]
    fn select(self, other: Pair, mask: Pair) -> Pair {
        let ([a, b], [c, d], [m, n]) = (self.0, other.0, mask.0);
        // SAFETY: see above.
        Pair(unsafe { [Register(_mm256_blendv_epi8(c.0, a.0, m.0)), Register(_mm256_blendv_epi8(d.0, b.0, n.0))] })
    }

    #[inline(always)]
    fn pick(numbers: Pair, table: &[u64; 2 * LANES]) -> Pair {
        let [low, high] = numbers.0;
        Pair([pick(low, table), pick(high, table)])
    }

    #[inline(always)]
    fn transposed(rows: &[Pair; LANES]) -> [Pair; LANES] {
        let mut columns = *rows;
        for half in 0..HALVES {
            // SAFETY: see above.
            let [low, high] = unsafe { [square_transposed(rows, 0, half), square_transposed(rows, WIDTH, half)] };
            for column in 0..WIDTH {
                columns[half * WIDTH + column] = Pair([low[column], high[column]]);
            }
        }
        columns
    }

    #[inline(always)]
    fn product(a: &[Pair; LIMBS], b: &[Pair; LIMBS]) -> [Pair; LIMBS] {
        let mut out = MaybeUninit::uninit();
        // SAFETY: see above; all limbs are written.
        unsafe {
            products::<false>(a, b, &mut out);
            out.assume_init()
        }
    }

    #[inline(always)]
    fn twice_product(a: &[Pair; LIMBS], b: &[Pair; LIMBS]) -> [Pair; LIMBS] {
        let mut out = MaybeUninit::uninit();
        // SAFETY: see above; all limbs are written.
        unsafe {
            products::<true>(a, b, &mut out);
            out.assume_init()
        }
    }

    #[inline(always)]
    fn square(a: &[Pair; LIMBS]) -> [Pair; LIMBS] {
        let mut out = MaybeUninit::uninit();
        // SAFETY: see above; all limbs are written.
        unsafe {
            squares(a, &mut out);
            out.assume_init()
        }
    }
}

/// For each lane the word of this number. The table is in four registers: a permutation of halves of words takes the
/// one that the lowest bits of the number say from each, and the higher bits say which of the four.
#[inline(always)]
fn pick(numbers: Register, table: &[u64; 2 * LANES]) -> Register {
    // SAFETY: see above.
    Register(unsafe {
        // The numbers of both halves of a word: 2 n and 2 n + 1.
        let twice = _mm256_add_epi64(numbers.0, numbers.0);
        let halves =
            _mm256_or_si256(_mm256_or_si256(twice, _mm256_slli_epi64::<32>(twice)), _mm256_set1_epi64x(1 << 32));
        let [mut a, mut b, mut c, mut d] = [_mm256_setzero_pd(); 4];
        for (part, taken) in [&mut a, &mut b, &mut c, &mut d].into_iter().enumerate() {
            let words = _mm256_loadu_si256(table.as_ptr().add(part * WIDTH).cast());
            *taken = _mm256_castsi256_pd(_mm256_permutevar8x32_epi32(words, halves));
        }
        // Blends look at the highest bits: the number's third and fourth.
        let third = _mm256_castsi256_pd(_mm256_slli_epi64::<61>(numbers.0));
        let fourth = _mm256_castsi256_pd(_mm256_slli_epi64::<60>(numbers.0));
        let (below, above) = (_mm256_blendv_pd(a, b, third), _mm256_blendv_pd(c, d, third));
        _mm256_castpd_si256(_mm256_blendv_pd(below, above, fourth))
    })
}

/// Words of half of four vectors from this one on: word i of vector j in the place of word j of vector i.
#[inline]
#[target_feature(enable = "avx2")]
fn square_transposed(rows: &[Pair; LANES], first: usize, half: usize) -> [Register; WIDTH] {
    let (a, b) = (rows[first].0[half].0, rows[first + 1].0[half].0);
    let (c, d) = (rows[first + 2].0[half].0, rows[first + 3].0[half].0);
    let [even, odd] = [_mm256_unpacklo_epi64(a, b), _mm256_unpackhi_epi64(a, b)];
    let [next_even, next_odd] = [_mm256_unpacklo_epi64(c, d), _mm256_unpackhi_epi64(c, d)];
    [
        Register(_mm256_permute2x128_si256::<0x20>(even, next_even)),
        Register(_mm256_permute2x128_si256::<0x20>(odd, next_odd)),
        Register(_mm256_permute2x128_si256::<0x31>(even, next_even)),
        Register(_mm256_permute2x128_si256::<0x31>(odd, next_odd)),
    ]
}

/// The products of four lanes, and then of the others. It is a function of its own, for a few hundred instructions
/// wherever a product stands would leave the cache that holds instructions.
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
fn products<const TWICE: bool>(a: &[Pair; LIMBS], b: &[Pair; LIMBS], products: &mut MaybeUninit<[Pair; LIMBS]>) {
    for half in 0..HALVES {
        put(products, half, doubles::product::<Register, TWICE>(&taken(a, half), &taken(b, half)));
    }
}

/// The same of squares.
#[inline(never)]
#[target_feature(enable = "avx2,fma")]
fn squares(a: &[Pair; LIMBS], squares: &mut MaybeUninit<[Pair; LIMBS]>) {
    for half in 0..HALVES {
        put(squares, half, doubles::square(&taken(a, half)));
    }
}

/// The limbs of four lanes.
#[inline(always)]
fn taken(limbs: &[Pair; LIMBS], half: usize) -> [Register; LIMBS] {
    let mut taken = [limbs[0].0[half]; LIMBS];
    for limb in 0..LIMBS {
        taken[limb] = limbs[limb].0[half];
    }
    taken
}

/// Writes them where they belong.
#[inline(always)]
fn put(limbs: &mut MaybeUninit<[Pair; LIMBS]>, half: usize, four: [Register; LIMBS]) {
    let first = limbs.as_mut_ptr().cast::<Register>();
    for limb in 0..LIMBS {
        // SAFETY: a pair is two registers, of which this is one.
        unsafe { first.add(HALVES * limb + half).write(four[limb]) };
    }
}
