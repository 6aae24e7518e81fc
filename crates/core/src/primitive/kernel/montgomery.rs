//! Products modulo odd numbers of hundreds to thousands of bits, of eight residues at a time.
//!
//! Residues are in Montgomery's form: x stands for x / R modulo n, with R = 2^(52 k) for k limbs, and a product is
//! a b / R (Montgomery, "Modular multiplication without trial division", 1985). R is more than 16 n, so that nothing is
//! ever compared with n: of factors below 4 n comes a product below 2 n. All forms of the kernel give the same limbs.

use crypto_bigint::{BoxedUint, Odd};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::backend::{self, Backend};
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// Residues that are worked on together.
pub const LANES: usize = 8;

/// Bits of a limb: what AVX-512 multiplies.
pub(crate) const LIMB_BITS: usize = 52;

/// Numbers have a multiple of so many limbs, whatever the form.
pub(super) const TOGETHER: usize = 4;

/// The lowest [`LIMB_BITS`] bits.
pub(super) const LIMB: u64 = (1 << LIMB_BITS) - 1;

/// The limbs of that weight of all lanes.
pub(super) type Limbs = [u64; LANES];

/// Eight numbers: limb by limb, the lowest first, each for all lanes. Zeroized when dropped, never printed.
#[derive(Clone, PartialEq, Eq, ZeroizeOnDrop)]
pub struct Lanes(pub(super) Vec<Limbs>);

impl std::fmt::Debug for Lanes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Lanes(..)")
    }
}

impl Lanes {
    /// Zeros, of so many limbs.
    pub(crate) fn zero(limbs: usize) -> Lanes {
        Lanes(vec![[0; LANES]; limbs])
    }

    /// The same numbers, those of lane i + `by` in lane i.
    pub(crate) fn rotated(&self, by: usize) -> Lanes {
        Lanes(self.0.iter().map(|limbs| std::array::from_fn(|lane| limbs[(lane + by) % LANES])).collect())
    }

    /// For each lane its number in the entry that it chooses. Only that one is read: what is chosen is no secret.
    pub(crate) fn pick(table: &[Lanes], chosen: &[usize; LANES], picked: &mut Lanes) {
        for (lane, &entry) in chosen.iter().enumerate() {
            picked.0.iter_mut().zip(&table[entry].0).for_each(|(picked, limbs)| picked[lane] = limbs[lane]);
        }
    }

    /// Selects in each lane: the own number if the mask is all ones, the other one if it is zero.
    pub(crate) fn select(&self, other: &Lanes, masks: &Limbs) -> Lanes {
        let one = |(a, b): (&Limbs, &Limbs)| std::array::from_fn(|lane| b[lane] ^ (a[lane] ^ b[lane]) & masks[lane]);
        Lanes(self.0.iter().zip(&other.0).map(one).collect())
    }
}

/// Arithmetic modulo one odd number, which may be secret: time depends on its length only. Zeroized when dropped.
#[derive(Clone, ZeroizeOnDrop)]
pub struct Montgomery {
    /// Limbs of the modulus.
    pub(super) modulus: Vec<u64>,
    /// -1 / n modulo 2^52.
    pub(super) inverse: u64,
    /// R and R^2 modulo n.
    one: Vec<u64>,
    square: Vec<u64>,
    /// R^2 2^(64 words) modulo n.
    wide: Vec<u64>,
    /// 64-bit words of a residue.
    words: usize,
    #[zeroize(skip)]
    backend: Backend,
}

impl std::fmt::Debug for Montgomery {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Montgomery({} words)", self.words)
    }
}

impl Montgomery {
    /// Prepares arithmetic modulo `modulus`.
    pub fn new(modulus: &Odd<BoxedUint>) -> Montgomery {
        Montgomery::on(backend::chosen(), modulus)
    }

    /// Prepares arithmetic as [`Montgomery::new`] does, on a back end that is available.
    pub(crate) fn on(backend: Backend, modulus: &Odd<BoxedUint>) -> Montgomery {
        let words = modulus.as_words().len();
        let limbs = (64 * words + 4).div_ceil(LIMB_BITS).next_multiple_of(TOGETHER);
        let divisor = modulus.as_nz_ref();
        // 2^bits modulo n.
        let power = |bits: usize| {
            let room = (bits + 64).next_multiple_of(64) as u32;
            let power = BoxedUint::one_with_precision(room).shl(bits as u32);
            // It tells the modulus.
            let remainder = Zeroizing::new(power.rem(divisor));
            let mut residue = vec![0; limbs];
            split(remainder.as_words(), |limb, value| residue[limb] = value);
            residue
        };
        let mut own = vec![0; limbs];
        split(modulus.as_words(), |limb, value| own[limb] = value);
        // Newton's iteration doubles the bits that are right; an odd number is its own inverse modulo 8.
        let low = own[0];
        let inverse = (0..5).fold(low, |x, _| x.wrapping_mul(2u64.wrapping_sub(low.wrapping_mul(x))));
        let r = LIMB_BITS * limbs;
        Montgomery {
            modulus: own,
            inverse: inverse.wrapping_neg() & LIMB,
            one: power(r),
            square: power(2 * r),
            wide: power(2 * r + 64 * words),
            words,
            backend,
        }
    }

    /// 64-bit words of a residue.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Limbs of a residue.
    pub(crate) fn limbs(&self) -> usize {
        self.modulus.len()
    }

    /// Numbers as they are, in no form: at most eight, of at most [`words`](Montgomery::words) words each, the lowest
    /// first. The other lanes are zero.
    pub(crate) fn pack<'a>(&self, numbers: impl IntoIterator<Item = &'a [u64]>) -> Lanes {
        let mut lanes = Lanes::zero(self.limbs());
        for (lane, number) in numbers.into_iter().enumerate() {
            assert!(lane < LANES && number.len() <= self.words, "numbers that fit");
            split(number, |limb, value| lanes.0[limb][lane] = value);
        }
        lanes
    }

    /// Numbers below R, of any size, in Montgomery's form.
    pub(crate) fn enter(&self, numbers: &Lanes) -> Lanes {
        self.multiply_shared(numbers, &self.square)
    }

    /// Numbers of twice as many words as residues, given by their lower and upper halves, in Montgomery's form.
    pub(crate) fn enter_wide(&self, low: &Lanes, high: &Lanes) -> Lanes {
        self.add(&self.enter(low), &self.multiply_shared(high, &self.wide))
    }

    /// The residues, all words of one lane after the other.
    pub(crate) fn leave(&self, residues: &Lanes) -> Vec<u64> {
        let mut one = vec![0; self.limbs()];
        one[0] = 1;
        self.unpack(&self.multiply_shared(residues, &one))
    }

    /// Products' own words, reduced: numbers below 2 n in no form.
    pub(crate) fn unpack(&self, numbers: &Lanes) -> Vec<u64> {
        self.words_of(&self.reduced(numbers).0)
    }

    /// Numbers below 2 n less n if they are not below n, and 1 in the lanes for which that was so.
    pub(super) fn reduced(&self, numbers: &Lanes) -> (Lanes, Limbs) {
        let (mut less, borrows) = carried(&numbers.0, &numbers.0, &self.modulus, |a, _, n| a.wrapping_sub(n));
        let keep = std::hint::black_box(borrows.map(|borrow| borrow as u64));
        for (less, limbs) in less.0.iter_mut().zip(&numbers.0) {
            (0..LANES).for_each(|lane| less[lane] ^= (less[lane] ^ limbs[lane]) & keep[lane]);
        }
        (less, keep.map(|keep| keep.wrapping_add(1)))
    }

    /// The words of numbers that are reduced, all of one lane after the other.
    pub(super) fn words_of(&self, numbers: &Lanes) -> Vec<u64> {
        let mut words = vec![0; LANES * self.words];
        for (lane, words) in words.chunks_exact_mut(self.words).enumerate() {
            for (limb, limbs) in numbers.0.iter().enumerate() {
                let (word, shift) = (limb * LIMB_BITS / 64, limb * LIMB_BITS % 64);
                if word < self.words {
                    words[word] |= limbs[lane] << shift;
                }
                if word + 1 < self.words && shift + LIMB_BITS > 64 {
                    words[word + 1] |= limbs[lane] >> (64 - shift);
                }
            }
        }
        words
    }

    /// One, in all lanes.
    pub fn one(&self) -> Lanes {
        self.shared(&self.one)
    }

    /// R, in all lanes: what a product lacks of which one factor is in no form.
    pub fn radix(&self) -> Lanes {
        self.shared(&self.square)
    }

    /// The same limbs in all lanes.
    pub(super) fn shared(&self, limbs: &[u64]) -> Lanes {
        Lanes(limbs.iter().map(|&limb| [limb; LANES]).collect())
    }

    fn multiply_shared(&self, a: &Lanes, b: &[u64]) -> Lanes {
        self.multiply(a, &self.shared(b))
    }

    /// a b / R, below 2 n, for a and b below 4 n, or for one below n and the other below R.
    pub(crate) fn multiply(&self, a: &Lanes, b: &Lanes) -> Lanes {
        let mut product = Lanes::zero(self.limbs());
        self.multiply_into(a, b, &mut product);
        product
    }

    /// Multiplies like `Montgomery::multiply`, without allocating memory.
    pub fn multiply_into(&self, a: &Lanes, b: &Lanes, product: &mut Lanes) {
        let limbs = self.limbs();
        assert!(a.0.len() == limbs && b.0.len() == limbs && product.0.len() == limbs, "residues of this modulus");
        match self.backend.family() {
            // SAFETY: the processor has what the back end needs.
            #[cfg(target_arch = "x86_64")]
            backend::Family::Avx512 => unsafe { x86::montgomery::multiply(self, &a.0, &b.0, &mut product.0) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            backend::Family::Avx2 => unsafe { x86::montgomery_avx2::multiply(self, &a.0, &b.0, &mut product.0) },
            _ => portable::montgomery::multiply(self, &a.0, &b.0, &mut product.0),
        }
    }

    /// Squares as [`Montgomery::multiply_into`] of a number with itself does. Faster on back ends with a form of its
    /// own.
    pub(crate) fn square_into(&self, a: &Lanes, product: &mut Lanes) {
        let limbs = self.limbs();
        assert!(a.0.len() == limbs && product.0.len() == limbs, "residues of this modulus");
        match self.backend.family() {
            // SAFETY: the processor has what the back end needs.
            #[cfg(target_arch = "x86_64")]
            backend::Family::Avx512 => unsafe { x86::montgomery::square(self, &a.0, &mut product.0) },
            _ => self.multiply_into(a, a, product),
        }
    }

    /// Products modulo n^2 of pairs; see [`super::pairs`].
    pub(super) fn multiply_pairs(&self, a: &Lanes, b: &Lanes, product: &mut Lanes) {
        let limbs = 2 * self.limbs();
        assert!(a.0.len() == limbs && b.0.len() == limbs && product.0.len() == limbs, "pairs of this modulus");
        match self.backend.family() {
            // SAFETY: the processor has what the back end needs.
            #[cfg(target_arch = "x86_64")]
            backend::Family::Avx512 => unsafe { x86::montgomery::multiply_pairs(self, &a.0, &b.0, &mut product.0) },
            // SAFETY: as above.
            #[cfg(target_arch = "x86_64")]
            backend::Family::Avx2 => unsafe { x86::montgomery_avx2::multiply_pairs(self, &a.0, &b.0, &mut product.0) },
            _ => portable::montgomery::multiply_pairs(self, &a.0, &b.0, &mut product.0),
        }
    }

    /// Squares as [`Montgomery::multiply_pairs`] of a number with itself does.
    pub(super) fn square_pairs(&self, a: &Lanes, product: &mut Lanes) {
        let limbs = 2 * self.limbs();
        assert!(a.0.len() == limbs && product.0.len() == limbs, "pairs of this modulus");
        match self.backend.family() {
            // SAFETY: the processor has what the back end needs.
            #[cfg(target_arch = "x86_64")]
            backend::Family::Avx512 => unsafe { x86::montgomery::square_pairs(self, &a.0, &mut product.0) },
            _ => self.multiply_pairs(a, a, product),
        }
    }

    /// a + b, below 4 n, for a and b below 2 n.
    pub(crate) fn add(&self, a: &Lanes, b: &Lanes) -> Lanes {
        carried(&a.0, &b.0, &self.modulus, |a, b, _| a.wrapping_add(b)).0
    }

    /// a - b modulo n, below 4 n, for a and b below 2 n.
    pub(crate) fn subtract(&self, a: &Lanes, b: &Lanes) -> Lanes {
        carried(&a.0, &b.0, &self.modulus, |a, b, n| a.wrapping_add(n << 1).wrapping_sub(b)).0
    }

    /// Returns the back end that this process, or the caller who asked for it, chose.
    pub(crate) fn backend(&self) -> Backend {
        self.backend
    }
}

/// Limbs that are made of two numbers' and a third one's, carried: and what is carried out of the highest.
pub(super) fn carried(
    a: &[Limbs],
    b: &[Limbs],
    shared: &[u64],
    combine: impl Fn(u64, u64, u64) -> u64,
) -> (Lanes, [i64; LANES]) {
    let mut carries = [0i64; LANES];
    let rows = a.iter().zip(b).zip(shared).map(|((a, b), &shared)| {
        std::array::from_fn(|lane| {
            let sum = (combine(a[lane], b[lane], shared) as i64).wrapping_add(carries[lane]);
            carries[lane] = sum >> LIMB_BITS;
            sum as u64 & LIMB
        })
    });
    (Lanes(rows.collect()), carries)
}

/// Cuts words into limbs.
pub(super) fn split(words: &[u64], mut take: impl FnMut(usize, u64)) {
    for limb in 0..(64 * words.len()).div_ceil(LIMB_BITS) {
        let (word, shift) = (limb * LIMB_BITS / 64, limb * LIMB_BITS % 64);
        let next = words.get(word + 1).filter(|_| shift + LIMB_BITS > 64).map_or(0, |next| next << (64 - shift));
        take(limb, (words[word] >> shift | next) & LIMB);
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use crypto_bigint::Resize;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    fn number(words: &[u64]) -> BoxedUint {
        BoxedUint::from_words(words.iter().copied())
    }

    /// An odd modulus of full length, or the largest one, or one with only its ends set.
    fn modulus(words: usize, kind: usize, rng: &mut ChaCha20Rng) -> Odd<BoxedUint> {
        let mut value: Vec<u64> = (0..words).map(|_| [rng.next_u64(), u64::MAX, 0][kind]).collect();
        value[0] |= 1;
        value[words - 1] |= 1 << 63;
        number(&value).into_odd().unwrap()
    }

    fn random(modulus: &Odd<BoxedUint>, rng: &mut ChaCha20Rng) -> Vec<u64> {
        let words: Vec<u64> = (0..modulus.as_words().len()).map(|_| rng.next_u64()).collect();
        number(&words).rem(modulus.as_nz_ref()).to_words().to_vec()
    }

    #[test]
    fn arithmetic_is_that_of_residues_and_all_back_ends_agree() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for words in [1, 2, 3, 4, 5, 8, 13, 16, 17, 32, 48, 64, 96] {
            for kind in 0..3 {
                let n = modulus(words, kind, &mut rng);
                let nz = n.as_nz_ref();
                let largest = n.wrapping_sub(BoxedUint::one()).to_words().to_vec();
                let mut some = |lane: usize| match lane {
                    0 => vec![0; words],
                    1 => largest.clone(),
                    _ => random(&n, &mut rng),
                };
                let (a, b): (Vec<_>, Vec<_>) = (0..LANES).map(|lane| (some(lane), some(lane % 3))).unzip();
                let mut seen = Vec::new();
                for backend in backend::available() {
                    let field = Montgomery::on(backend, &n);
                    let pack = |numbers: &[Vec<u64>]| field.pack(numbers.iter().map(Vec::as_slice));
                    let (x, y) = (field.enter(&pack(&a)), field.enter(&pack(&b)));
                    let mut square = field.one();
                    field.square_into(&x, &mut square);
                    let results = [
                        field.multiply(&x, &y),
                        square,
                        field.add(&x, &y),
                        field.subtract(&x, &y),
                        // Sums of sums may be factors.
                        field.multiply(&field.add(&x, &y), &field.subtract(&x, &y)),
                        field.enter_wide(&pack(&a), &pack(&b)),
                        field.one(),
                    ];
                    for lane in 0..LANES {
                        let (a, b) = (number(&a[lane]), number(&b[lane]));
                        let (sum, difference) = (a.add_mod(&b, nz), a.sub_mod(&b, nz));
                        let wide: Vec<u64> = a.as_words().iter().chain(b.as_words()).copied().collect();
                        let truth = [
                            a.mul_mod(&b, nz),
                            a.mul_mod(&a, nz),
                            sum.clone(),
                            difference.clone(),
                            sum.mul_mod(&difference, nz),
                            number(&wide).rem(nz),
                            BoxedUint::one_with_precision(64 * words as u32).rem(nz),
                        ];
                        for (result, truth) in results.iter().zip(&truth) {
                            let left = field.leave(result);
                            assert_eq!(left[lane * words..][..words], *truth.as_words(), "{backend:?} {words} {kind}");
                        }
                    }
                    seen.push(results);
                }
                assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{words} {kind}");
            }
        }
    }

    /// Factors at the bounds that products allow: 4 n - 1, and R - 1 with n - 1.
    #[test]
    fn products_of_the_largest_factors_are_below_twice_the_modulus() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        for words in [1, 4, 13, 32] {
            for kind in 0..3 {
                let n = modulus(words, kind, &mut rng);
                for backend in backend::available() {
                    let field = Montgomery::on(backend, &n);
                    let room = (LIMB_BITS * field.limbs()).next_multiple_of(64) as u32;
                    let lanes = |value: &BoxedUint| {
                        let mut limbs = vec![0; room as usize / LIMB_BITS + 2];
                        split(value.as_words(), |limb, part| limbs[limb] = part);
                        field.shared(&limbs[..field.limbs()])
                    };
                    let wide = (&*n).resize(room);
                    let one = BoxedUint::one_with_precision(room);
                    let four = wide.shl(2).wrapping_sub(&one);
                    let all = one.shl((LIMB_BITS * field.limbs()) as u32).wrapping_sub(&one);
                    for (a, b) in [(&four, &four), (&all, &wide.wrapping_sub(&one))] {
                        let product = field.multiply(&lanes(a), &lanes(b));
                        let left = field.unpack(&product);
                        // a b / R.
                        let r = field.unpack(&field.one());
                        let nz = n.as_nz_ref();
                        let inverse = number(&r[..words]).invert_odd_mod(&n).unwrap();
                        let truth = a.rem(nz).mul_mod(&b.rem(nz), nz).mul_mod(&inverse, nz);
                        assert_eq!(left[..words], *truth.as_words());
                        assert!(product.0.iter().flatten().all(|limb| *limb <= LIMB));
                        if a == b {
                            let mut square = field.one();
                            field.square_into(&lanes(a), &mut square);
                            assert_eq!(square, product);
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn lanes_rotate() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        let n = modulus(4, 0, &mut rng);
        for backend in backend::available() {
            let field = Montgomery::on(backend, &n);
            let numbers: Vec<_> = (0..LANES).map(|_| random(&n, &mut rng)).collect();
            let lanes = field.pack(numbers.iter().map(Vec::as_slice));
            assert_eq!(field.unpack(&lanes), numbers.concat());
            assert_eq!(field.unpack(&lanes.rotated(3))[..4], numbers[3]);
        }
    }
}
