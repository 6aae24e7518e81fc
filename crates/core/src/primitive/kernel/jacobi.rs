//! Jacobi symbols, of eight numbers at a time, in a time that depends on the length of the modulus only.
//!
//! It is the binary algorithm on a pair (a, b), b odd: if a is odd, the smaller of the two goes to b and is taken off
//! a; then a is halved. The symbol (a/b) changes its sign by the law of quadratic reciprocity with an exchange of two
//! numbers that are 3 modulo 4, and with a halving if b is 3 or 5 modulo 8. In the end a = 0, and b is the greatest
//! common divisor.
//!
//! As in Pornin, "Optimized Binary GCD for Modular Inversion" (ePrint 2020/972), section 3 with k = 31, and its remark
//! on the Legendre symbol, thirty steps at a time are first taken on words of 64 bits: the lowest 32 bits of a and b,
//! which say all that these steps have to know of parities and residues modulo 8, and 32 bits from the highest one of
//! the longer of the two, which say which is the smaller one. What these steps do is a matrix: a f0 + b g0 and a f1 + b
//! g1 are multiples of 2^30, and their quotients the new a and b. A limb has 30 bits, so a division is that limbs move
//! down.
//!
//! **Errors of the words.** Let the longer of a and b have n > 64 bits, and u = 2^(n - 64). A number differs from u times
//! its word by less than 2^32 u. After i steps |f| + |g| <= 2^i for both rows (a row is at most doubled by a step), so
//! the new a and b, too, differ by less than 2^32 u from u times what their words have become, which is not negative.
//! Each may thus be negative, but more than -2^(n - 32) then. Not both: the determinant of the matrix is 2^i or -2^i,
//! so a and b are sums of the new ones with factors of at most 2^i, and if both were that small, a and b were less than
//! 2^(i+1) 2^(n-32) <= 2^(n-1). That holds for all i <= 30. The law of reciprocity holds unless both numbers are
//! negative, the other rules hold for |b| if b is negative. After the steps, a negative a is made positive, by which
//! the symbol changes its sign if
//! |b| is 3 modulo 4, or b is, by which it does not. If n <= 64, words are the numbers themselves.
//!
//! **How often.** The thirty steps together make a and b at least 30 bits shorter (section 3 there), until a = 0, which
//! leaves at least one bit in b. A round more is made than that takes. As a and b become shorter, fewer limbs are
//! worked on: those that two lengths together allow, and one more. If it were ever too few rounds, or a limb that is
//! left out not zero, the answer would be 0, as it is for numbers that are not coprime: never a wrong sign.

use crypto_bigint::{BoxedUint, Odd};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::backend::{self, Backend};
use super::montgomery::{self, LANES, Lanes, Limbs};
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// Steps on words between two divisions of the numbers, and bits of a limb.
pub(super) const STEPS: usize = 30;

/// The lowest [`STEPS`] bits.
pub(super) const LIMB: u64 = (1 << STEPS) - 1;

/// Limbs that are never left out: a word's.
pub(super) const MIN_LIMBS: usize = 3;

/// Bits that a number may have more than the modulus: it is below 4 n, as sums of residues are.
const SPARE_BITS: usize = 2;

/// Symbols modulo one odd number, which may be secret: time depends on its length only. Zeroized when dropped.
#[derive(Clone, ZeroizeOnDrop)]
pub struct Jacobi {
    /// Limbs, the same for all lanes.
    modulus: Vec<Limbs>,
    #[zeroize(skip)]
    rounds: Rounds,
    #[zeroize(skip)]
    backend: Backend,
}

impl std::fmt::Debug for Jacobi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Jacobi({} limbs)", self.modulus.len())
    }
}

/// Eight pairs (a, b) on their way. Zeroized when dropped.
#[derive(ZeroizeOnDrop)]
pub(super) struct Pairs {
    pub(super) a: Vec<Limbs>,
    pub(super) b: Vec<Limbs>,
    /// Bit 1: whether the symbol is minus that of the pair.
    pub(super) sign: Limbs,
    /// Nonzero if a limb was left out that was not zero.
    pub(super) lost: Limbs,
}

/// Number of rounds, and of limbs in each of them.
#[derive(Clone, Copy)]
pub(super) struct Rounds {
    /// Bits that a may have.
    longest: usize,
    /// Bits of a and b together.
    total: usize,
}

impl Rounds {
    /// For a modulus of so many bits.
    fn new(bits: usize) -> Rounds {
        Rounds { longest: bits + SPARE_BITS, total: 2 * bits + SPARE_BITS }
    }

    /// Rounds: a has no bit after these, and b one.
    pub(super) fn count(self) -> usize {
        (self.total - 1).div_ceil(STEPS) + 1
    }

    /// Limbs before round number `round`.
    pub(super) fn width(self, round: usize) -> usize {
        let together = (self.total + STEPS).saturating_sub(STEPS * round);
        self.longest.min(together).div_ceil(STEPS).max(MIN_LIMBS)
    }
}

impl Jacobi {
    /// Symbols (a / `modulus`).
    pub fn new(modulus: &Odd<BoxedUint>) -> Jacobi {
        Jacobi::on(backend::chosen(), modulus)
    }

    /// Creates the kernel as [`Jacobi::new`] does, on a back end that is available.
    pub(crate) fn on(backend: Backend, modulus: &Odd<BoxedUint>) -> Jacobi {
        let rounds = Rounds::new(64 * modulus.as_words().len());
        let mut lanes = Lanes::zero(rounds.longest.div_ceil(montgomery::LIMB_BITS));
        montgomery::split(modulus.as_words(), |limb, value| lanes.0[limb] = [value; LANES]);
        Jacobi { modulus: cut(&lanes, rounds.width(0)), rounds, backend }
    }

    /// The symbols of numbers below 4 n: eight for each of `numbers`. 1, -1, or 0 for numbers that have a factor in
    /// common with n.
    pub fn symbols(&self, numbers: &[Lanes]) -> Zeroizing<Vec<i8>> {
        let mut symbols = Zeroizing::new(Vec::with_capacity(LANES * numbers.len()));
        for some in numbers.chunks(2) {
            match some {
                [one, other] => {
                    let mut both = [self.start(one), self.start(other)];
                    self.run(&mut both);
                    both.iter().for_each(|pairs| symbols.extend(pairs.symbols()));
                }
                some => some.iter().for_each(|one| {
                    let mut one = [self.start(one)];
                    self.run(&mut one);
                    symbols.extend(one[0].symbols());
                }),
            }
        }
        symbols
    }

    fn start(&self, numbers: &Lanes) -> Pairs {
        let (a, b) = (cut(numbers, self.modulus.len()), self.modulus.clone());
        Pairs { a, b, sign: [0; LANES], lost: [0; LANES] }
    }

    /// Runs all rounds, for two groups side by side: one works while the other waits.
    fn run<const GROUPS: usize>(&self, groups: &mut [Pairs; GROUPS]) {
        match self.backend.family() {
            // SAFETY: the processor has what the back end needs.
            #[cfg(target_arch = "x86_64")]
            backend::Family::Avx512 => unsafe { x86::jacobi::run(groups, self.rounds) },
            #[cfg(target_arch = "x86_64")]
            backend::Family::Avx2 => groups.iter_mut().for_each(|pairs| {
                // SAFETY: as above.
                unsafe { x86::jacobi_avx2::run(pairs, self.rounds) }
            }),
            _ => groups.iter_mut().for_each(|pairs| portable::jacobi::run(pairs, self.rounds)),
        }
    }
}

impl Pairs {
    /// Reads the symbols from the final pairs: (0, 1), or else the numbers are not coprime.
    fn symbols(&self) -> [i8; LANES] {
        std::array::from_fn(|lane| {
            let of_b = |limb: usize| self.b[limb][lane] ^ u64::from(limb == 0);
            let wrong = (0..MIN_LIMBS).fold(self.lost[lane], |wrong, limb| wrong | self.a[limb][lane] | of_b(limb));
            let right = ((wrong | wrong.wrapping_neg()) >> 63 ^ 1) as i8;
            right.wrapping_mul(1i8.wrapping_sub((self.sign[lane] & 2) as i8))
        })
    }
}

/// `count` limbs of [`STEPS`] bits. Bits above them are zero: the numbers are as short as they have to be.
fn cut(numbers: &Lanes, count: usize) -> Vec<Limbs> {
    let from = montgomery::LIMB_BITS;
    let zero = [0; LANES];
    let one = |index: usize| {
        let (limb, shift) = (index * STEPS / from, index * STEPS % from);
        let low = numbers.0.get(limb).unwrap_or(&zero);
        let high = numbers.0.get(limb + 1).filter(|_| shift + STEPS > from).unwrap_or(&zero);
        // The shift is less than the length of a limb where it matters.
        let up = (from - shift) as u32;
        std::array::from_fn(|lane| (low[lane] >> shift | high[lane] << up) & LIMB)
    };
    (0..count).map(one).collect()
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use crypto_bigint::{BitOps, Resize, Uint};
    use rand_core::{Rng, SeedableRng};

    use super::montgomery::Montgomery;
    use super::*;

    fn number(words: &[u64]) -> BoxedUint {
        BoxedUint::from_words(words.iter().copied())
    }

    /// Computes the symbol by the algorithm of textbooks (Cohen, "A Course in Computational Algebraic Number Theory",
    /// algorithm 1.4.10).
    fn slow(a: &BoxedUint, n: &Odd<BoxedUint>) -> i8 {
        let (mut a, mut n, mut symbol) = (a.rem(n.as_nz_ref()), n.as_ref().clone(), 1);
        while !a.is_zero().to_bool() {
            while a.as_words()[0] & 1 == 0 {
                a = a.shr(1);
                symbol *= if [3, 5].contains(&(n.as_words()[0] & 7)) { -1 } else { 1 };
            }
            std::mem::swap(&mut a, &mut n);
            symbol *= if a.as_words()[0] & n.as_words()[0] & 3 == 3 { -1 } else { 1 };
            a = a.rem(&n.to_nz().unwrap());
        }
        if n.is_one().to_bool() { symbol } else { 0 }
    }

    /// Computes the symbol with another implementation.
    fn other<const WORDS: usize>(a: &BoxedUint, n: &Odd<BoxedUint>) -> i8 {
        let fixed = |words: &[u64]| Uint::<WORDS>::from_words(words.try_into().unwrap());
        let n = fixed(n.as_words()).to_odd().unwrap();
        fixed(a.as_words()).jacobi_symbol_vartime(&n) as i8
    }

    /// Compares all back ends with `truth`, on any number of numbers of as many words as n.
    fn compare(numbers: &[BoxedUint], n: &Odd<BoxedUint>, truth: impl Fn(&BoxedUint) -> i8) {
        let truth: Vec<i8> = numbers.iter().map(truth).collect();
        for backend in backend::available() {
            let field = Montgomery::on(backend, n);
            let groups: Vec<_> =
                numbers.chunks(LANES).map(|group| field.pack(group.iter().map(|a| a.as_words()))).collect();
            let symbols = Jacobi::on(backend, n).symbols(&groups);
            assert_eq!(symbols.len(), LANES * groups.len());
            for (index, number) in numbers.iter().enumerate() {
                assert_eq!(symbols[index], truth[index], "{backend:?}: {number} modulo {n}");
            }
        }
    }

    fn random(words: usize, rng: &mut ChaCha20Rng) -> BoxedUint {
        number(&(0..words).map(|_| rng.next_u64()).collect::<Vec<_>>())
    }

    fn odd(mut value: BoxedUint) -> Odd<BoxedUint> {
        value.set_bit_vartime(0, true);
        value.into_odd().unwrap()
    }

    /// Numbers of these words in which long runs of bits are equal, at random places.
    fn runs(words: usize, rng: &mut ChaCha20Rng) -> BoxedUint {
        let (mut value, mut bit, mut set) =
            (BoxedUint::zero_with_precision(64 * words as u32), 0, rng.next_u32() & 1 == 1);
        while bit < 64 * words as u32 {
            let end = (bit + 1 + rng.next_u32() % [3, 40, 200][rng.next_u32() as usize % 3]).min(64 * words as u32);
            (bit..end).for_each(|bit| value.set_bit_vartime(bit, set));
            (bit, set) = (end, !set);
        }
        value
    }

    /// Returns numbers that are random, tiny, huge or close to n and its parts. Others have a factor in common with n,
    /// or agree with it in most limbs.
    fn numbers(n: &Odd<BoxedUint>, rng: &mut ChaCha20Rng) -> Vec<BoxedUint> {
        let bits = n.bits_precision();
        let words = n.as_words().len();
        let small = |value: u64| BoxedUint::from(value).resize(bits);
        let one = small(1);
        let half = n.as_ref().shr(1);
        let mut all: Vec<BoxedUint> = [0, 1, 2, 3, 4, 5, 7, 8, 15, u64::MAX].map(small).to_vec();
        all.extend([
            n.as_ref().clone(),
            half.wrapping_add(&one),
            half.wrapping_sub(&one),
            half.clone(),
            BoxedUint::max(bits),
        ]);
        all.extend((1..5).map(|less| n.as_ref().wrapping_sub(small(less))));
        all.extend((0..bits).step_by(29).map(|shift| one.clone().shl(shift)));
        for _ in 0..6 {
            all.extend([random(words, rng), runs(words, rng)]);
            all.push(n.as_ref().wrapping_sub(runs(words, rng).shr(rng.next_u32() % bits)));
            all.push(n.as_ref().wrapping_sub(one.clone().shl(rng.next_u32() % bits)));
            // n's bits, but for one.
            all.push(n.as_ref() ^ one.clone().shl(rng.next_u32() % bits));
            all.push(n.as_ref().shr(rng.next_u32() % bits));
            // Close to a fraction of n, and below it.
            let divisor = small(u64::from(rng.next_u32()) + 2).to_nz().unwrap();
            all.push(n.as_ref().div_rem(&divisor).0.wrapping_add(small(rng.next_u64() % 3)));
        }
        all
    }

    fn check<const WORDS: usize>(rng: &mut ChaCha20Rng) {
        for _ in 0..if WORDS > 8 { 1 } else { 3 } {
            let top = BoxedUint::one_with_precision(64 * WORDS as u32).shl(64 * WORDS as u32 - 1);
            let moduli = [
                random(WORDS, rng),
                random(WORDS, rng) | &top,
                runs(WORDS, rng),
                top.clone(),
                !runs(WORDS, rng) | &top,
            ];
            for n in moduli.map(odd) {
                let numbers = numbers(&n, rng);
                compare(&numbers, &n, |a| other::<WORDS>(a, &n));
                numbers.iter().rev().take(3).for_each(|a| assert_eq!(slow(a, &n), other::<WORDS>(a, &n)));
            }
        }
    }

    #[test]
    fn symbols_are_those_of_others_and_all_back_ends_agree() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        check::<1>(&mut rng);
        check::<2>(&mut rng);
        check::<3>(&mut rng);
        check::<4>(&mut rng);
        check::<7>(&mut rng);
        check::<8>(&mut rng);
        check::<16>(&mut rng);
        check::<17>(&mut rng);
        check::<32>(&mut rng);
        check::<48>(&mut rng);
    }

    #[test]
    fn symbols_of_the_longest_modulus() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        let n = odd(random(240, &mut rng));
        let some =
            [random(240, &mut rng), runs(240, &mut rng), n.as_ref().wrapping_sub(BoxedUint::one()), n.as_ref().clone()];
        compare(&some, &n, |a| other::<240>(a, &n));
    }

    #[test]
    fn symbols_of_numbers_with_common_factors_are_zero() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        for words in [1, 4, 8] {
            for _ in 0..20 {
                let bits = 64 * words;
                let factor = odd(random(words as usize, &mut rng).shr(bits / 2));
                let n = odd(factor.wrapping_mul(odd(random(words as usize, &mut rng).shr(bits / 2 + 1)).as_ref()));
                let a = factor.wrapping_mul(random(words as usize, &mut rng).shr(bits / 2));
                compare(&[a, factor.as_ref().clone()], &n, |a| slow(a, &n));
            }
        }
    }

    /// Checks all symbols modulo all small numbers, squares and primes among them.
    #[test]
    fn symbols_modulo_small_numbers() {
        for n in (1u64..130).step_by(2) {
            let n = BoxedUint::from(n).into_odd().unwrap();
            let numbers: Vec<_> = (0u64..131).map(BoxedUint::from).collect();
            compare(&numbers, &n, |a| slow(a, &n));
        }
    }

    /// Numbers below 4 n, as the kernel for products leaves them.
    #[test]
    fn symbols_of_sums() {
        let mut rng = ChaCha20Rng::from_seed([4; 32]);
        for words in [1, 8, 13] {
            let n = odd(BoxedUint::max(64 * words));
            for backend in backend::available() {
                let (field, jacobi) = (Montgomery::on(backend, &n), Jacobi::on(backend, &n));
                let residues: Vec<_> =
                    (0..LANES).map(|_| random(words as usize, &mut rng).rem(n.as_nz_ref())).collect();
                let lanes = field.pack(residues.iter().map(|residue| residue.as_words()));
                let difference = field.subtract(&Lanes::zero(field.limbs()), &lanes);
                let symbols = jacobi.symbols(&[difference]);
                for (symbol, residue) in symbols.iter().zip(&residues) {
                    assert_eq!(*symbol, slow(&residue.neg_mod(n.as_nz_ref()), &n));
                }
                let sum = field.add(&field.subtract(&Lanes::zero(field.limbs()), &Lanes::zero(field.limbs())), &lanes);
                for (symbol, residue) in jacobi.symbols(&[sum]).iter().zip(&residues) {
                    assert_eq!(*symbol, slow(residue, &n));
                }
            }
        }
    }
}
