//! Products modulo the square of an odd number n, of eight residues at a time.
//!
//! A residue is a pair of digits, x = x_0 - x_1 n, in Montgomery's form with the R of n, which is half as long as that
//! of n^2. Where x_0 y_0 + m n = r R, with the quotient m that Montgomery's reduction finds and drops,
//!
//! ```text
//! x y / R = r - n (x_0 y_1 + x_1 y_0 + m) / R    modulo n^2,
//! ```
//!
//! and the last digit, too, is reduced by a multiple of n. That is five products of numbers as long as n, those with n
//! included, where Montgomery's product modulo n^2 takes eight; for a square it is three and a half.
//!
//! Digits are below 2 n after a product of factors with digits below a n and b n for a b up to 7, because R is more
//! than 16 n, so that (2 a b n^2 + R) / R + n is below 2 n; and for a = 8 and b = 1. They may also be below R and zero
//! in one factor, and below n in the other.

use crypto_bigint::{BoxedUint, ConcatenatingMul, ConcatenatingSquare, NonZero, Odd, Resize};
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::backend::{self, Backend};
use super::montgomery::{LANES, LIMB_BITS, Lanes, Montgomery, carried, split};

/// Parts of a number that [`SquareArithmetic::enter`] takes, at most.
const PARTS: usize = 4;

/// Arithmetic modulo the square of one odd number, which may be secret: time depends on its length only. Residues are
/// [`Lanes`] that hold the limbs of both digits, the lower first. Zeroized when dropped.
#[derive(Clone, ZeroizeOnDrop)]
pub struct SquareArithmetic {
    field: Montgomery,
    modulus: BoxedUint,
    /// Residue R modulo n^2.
    one: Vec<u64>,
    /// R^2 2^(64 words i) modulo n^2.
    parts: Vec<Vec<u64>>,
    /// Limbs of 2 n, and of 2 n + 2, which are not carried: 2 n - (2 n + 2) n is a multiple of n^2.
    lift: Vec<u64>,
}

impl std::fmt::Debug for SquareArithmetic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pairs({} words)", self.words())
    }
}

impl SquareArithmetic {
    /// Arithmetic modulo the square of `modulus`.
    pub fn new(modulus: &Odd<BoxedUint>) -> SquareArithmetic {
        SquareArithmetic::on(backend::chosen(), modulus)
    }

    /// Prepares arithmetic as [`SquareArithmetic::new`] does, on a back end that is available.
    pub(crate) fn on(backend: Backend, modulus: &Odd<BoxedUint>) -> SquareArithmetic {
        let field = Montgomery::on(backend, modulus);
        let r = LIMB_BITS * field.limbs();
        let power = |bits: usize| scaled(&field, modulus, &BoxedUint::one(), bits);
        let one = power(r);
        let parts = (0..PARTS).map(|part| power(2 * r + 64 * field.words() * part)).collect();
        let mut lift: Vec<u64> = field.modulus.iter().chain(&field.modulus).map(|limb| limb << 1).collect();
        lift[field.limbs()] += 2;
        SquareArithmetic { field, modulus: modulus.as_ref().clone(), one, parts, lift }
    }

    /// Arithmetic modulo n itself.
    pub(crate) fn field(&self) -> &Montgomery {
        &self.field
    }

    /// 64-bit words of a residue: twice as many as of n.
    pub fn words(&self) -> usize {
        2 * self.field.words()
    }

    /// Limbs of a residue.
    pub(crate) fn limbs(&self) -> usize {
        2 * self.field.limbs()
    }

    /// Numbers of at most four times as many words as n, in Montgomery's form.
    pub fn enter<'a>(&self, numbers: impl IntoIterator<Item = &'a [u64]> + Clone) -> Lanes {
        self.multiply(&self.sum_of_parts(numbers), &self.one())
    }

    /// Reduces numbers as [`SquareArithmetic::enter`] does, in no form.
    pub(crate) fn reduce<'a>(&self, numbers: impl IntoIterator<Item = &'a [u64]> + Clone) -> Lanes {
        self.multiply(&self.sum_of_parts(numbers), &self.plain_one())
    }

    /// Digits of four parts are below 8 n, which as a factor of one below n is within the bounds.
    fn sum_of_parts<'a>(&self, numbers: impl IntoIterator<Item = &'a [u64]> + Clone) -> Lanes {
        let each = self.field.words();
        let count = numbers.clone().into_iter().map(|number| number.len().div_ceil(each)).max().unwrap_or(0);
        assert!(count <= PARTS, "numbers of at most {PARTS} parts");
        let mut sum = Lanes::zero(self.limbs());
        for (part, scale) in self.parts[..count].iter().enumerate() {
            let cut = |number: &'a [u64]| number.chunks(each).nth(part).unwrap_or_default();
            let mut pairs = self.field.pack(numbers.clone().into_iter().map(cut));
            pairs.0.resize(self.limbs(), [0; LANES]);
            sum = self.add(&sum, &self.multiply(&pairs, &self.field.shared(scale)));
        }
        sum
    }

    /// A number of any size in Montgomery's form, with digits that are at most n, in all lanes.
    pub(crate) fn enter_all(&self, number: &BoxedUint) -> Lanes {
        self.field.shared(&scaled(&self.field, &self.modulus, number, LIMB_BITS * self.field.limbs()))
    }

    /// 1 - d n in no form, for numbers d below 2 n in no form.
    pub(crate) fn one_less(&self, d: &Lanes) -> Lanes {
        let mut pairs = self.plain_one();
        pairs.0[self.field.limbs()..].copy_from_slice(&d.0);
        pairs
    }

    /// One, in all lanes.
    pub(crate) fn one(&self) -> Lanes {
        self.field.shared(&self.one)
    }

    /// a b / R.
    pub(crate) fn multiply(&self, a: &Lanes, b: &Lanes) -> Lanes {
        let mut product = Lanes::zero(self.limbs());
        self.field.multiply_pairs(a, b, &mut product);
        product
    }

    /// Multiplies as [`SquareArithmetic::multiply`] does, without taking memory.
    pub(crate) fn multiply_into(&self, a: &Lanes, b: &Lanes, product: &mut Lanes) {
        self.field.multiply_pairs(a, b, product);
    }

    /// Squares as [`SquareArithmetic::multiply_into`] of a number with itself does. Faster on back ends with a form of
    /// its own.
    pub(crate) fn square_into(&self, a: &Lanes, product: &mut Lanes) {
        self.field.square_pairs(a, product);
    }

    /// a + b: the sums of digits.
    fn add(&self, a: &Lanes, b: &Lanes) -> Lanes {
        self.digitwise(a, b, |a, b, _| a.wrapping_add(b))
    }

    /// a - b, with digits below 4 n + 2, of such as are below 2 n.
    pub(crate) fn subtract(&self, a: &Lanes, b: &Lanes) -> Lanes {
        self.digitwise(a, b, |a, b, lift| a.wrapping_add(lift).wrapping_sub(b))
    }

    fn digitwise(&self, a: &Lanes, b: &Lanes, combine: impl Fn(u64, u64, u64) -> u64) -> Lanes {
        let limbs = self.field.limbs();
        let (mut low, _) = carried(&a.0[..limbs], &b.0[..limbs], &self.lift[..limbs], &combine);
        let (high, _) = carried(&a.0[limbs..], &b.0[limbs..], &self.lift[limbs..], &combine);
        low.0.extend_from_slice(&high.0);
        low
    }

    /// Residues in no form, all words of one lane after the other.
    pub(crate) fn leave(&self, residues: &Lanes) -> Vec<u64> {
        self.unpack(&self.multiply(residues, &self.plain_one()))
    }

    /// Products' own words, reduced: residues in no form.
    pub(crate) fn unpack(&self, residues: &Lanes) -> Vec<u64> {
        let [low, high] = self.digits(residues).map(|digits| Zeroizing::new(self.field.words_of(&digits)));
        join(&low, &high, self.field.words(), &self.modulus)
    }

    /// (x - 1) / n for residues x, in Montgomery's form, that are 1 modulo n: in no form, below n.
    pub(crate) fn logarithms(&self, residues: &Lanes) -> Lanes {
        let [_, high] = self.digits(&self.multiply(residues, &self.plain_one()));
        high
    }

    /// The digits of residues in no form, x = low + high n, both below n.
    fn digits(&self, residues: &Lanes) -> [Lanes; 2] {
        let (low, high) = residues.0.split_at(self.field.limbs());
        let [(low, more), (high, _)] = [low, high].map(|digits| self.field.reduced(&Lanes(digits.to_vec())));
        // n - x_1, and the multiple of n that x_0 had: at most n + 1.
        let mut multiple = Lanes::zero(self.field.limbs());
        multiple.0[0] = more;
        let (high, _) = carried(&multiple.0, &high.0, &self.field.modulus, |a, b, n| a.wrapping_add(n).wrapping_sub(b));
        [low, self.field.reduced(&high).0]
    }

    /// The number 1 in no form.
    fn plain_one(&self) -> Lanes {
        let mut one = Lanes::zero(self.limbs());
        one.0[0] = [1; LANES];
        one
    }
}

/// The words of low + high modulus, for many numbers, each of so many words.
pub(crate) fn join(low: &[u64], high: &[u64], words: usize, modulus: &BoxedUint) -> Vec<u64> {
    let mut all = Vec::with_capacity(2 * low.len());
    for (low, high) in low.chunks_exact(words).zip(high.chunks_exact(words)) {
        // Each by itself may tell a secret modulus.
        let [low, high] = [low, high].map(|words| Zeroizing::new(BoxedUint::from_words(words.iter().copied())));
        let multiple = Zeroizing::new(high.concatenating_mul(modulus));
        let low = Zeroizing::new((&*low).resize(128 * words as u32));
        all.extend_from_slice(Zeroizing::new(multiple.wrapping_add(&*low)).as_words());
    }
    all
}

/// Limbs of the digits of a number times 2^bits, modulo n^2.
fn scaled(field: &Montgomery, modulus: &BoxedUint, number: &BoxedUint, bits: usize) -> Vec<u64> {
    let square = Zeroizing::new(modulus.concatenating_square());
    let square = Zeroizing::new(NonZero::new((*square).clone()).expect("the square of an odd number"));
    let room = (number.bits_precision() + bits as u32).next_multiple_of(64).max(square.bits_precision());
    let wide = Zeroizing::new(Zeroizing::new(number.resize(room)).shl(bits as u32));
    let number = Zeroizing::new(wide.rem(&square));
    let divisor = Zeroizing::new(NonZero::new(modulus.clone()).expect("an odd number"));
    let (multiple, rest) = number.div_rem(&divisor);
    let (multiple, rest) = (Zeroizing::new(multiple), Zeroizing::new(rest));
    // n for 0, which is as good.
    let less = Zeroizing::new(modulus.wrapping_sub(&*Zeroizing::new((&*multiple).resize(modulus.bits_precision()))));
    let mut limbs = vec![0; 2 * field.limbs()];
    split(&rest.as_words()[..field.words()], |limb, value| limbs[limb] = value);
    split(less.as_words(), |limb, value| limbs[field.limbs() + limb] = value);
    limbs
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    use super::super::montgomery::LIMB;
    use super::*;

    const SIZES: [usize; 10] = [1, 2, 3, 4, 8, 13, 16, 24, 32, 64];

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

    fn squared(n: &Odd<BoxedUint>) -> NonZero<BoxedUint> {
        NonZero::new(n.as_ref().concatenating_square()).unwrap()
    }

    /// Numbers below the square: the ends of both digits' ranges, and random ones.
    fn residues(n: &Odd<BoxedUint>, rng: &mut ChaCha20Rng) -> Vec<Vec<u64>> {
        let (square, words) = (squared(n), 2 * n.as_words().len());
        let wide = n.as_ref().resize(64 * words as u32);
        let (zero, one) = (BoxedUint::zero_with_precision(64 * words as u32), BoxedUint::one());
        let mut all =
            vec![zero, wide.wrapping_sub(&one), wide.clone(), square.wrapping_sub(&one), square.wrapping_sub(&wide)];
        while all.len() < LANES {
            let random: Vec<u64> = (0..words).map(|_| rng.next_u64()).collect();
            all.push(number(&random).rem(&square));
        }
        all.iter().map(|value| value.as_words()[..words].to_vec()).collect()
    }

    fn slices(numbers: &[Vec<u64>]) -> Vec<&[u64]> {
        numbers.iter().map(Vec::as_slice).collect()
    }

    #[test]
    fn arithmetic_is_that_of_residues_and_all_back_ends_agree() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for words in SIZES {
            for kind in 0..3 {
                let n = modulus(words, kind, &mut rng);
                let square = squared(&n);
                let a = residues(&n, &mut rng);
                let mut b = residues(&n, &mut rng);
                b.rotate_left(words % LANES);
                let fixed = b[7].clone();
                let mut seen = Vec::new();
                for backend in backend::available() {
                    let ring = SquareArithmetic::on(backend, &n);
                    let (x, y) = (ring.enter(slices(&a)), ring.enter(slices(&b)));
                    let (mut own, mut long) = (ring.one(), ring.one());
                    ring.square_into(&x, &mut own);
                    // Sums are factors, too, of what is as small as constants are.
                    ring.multiply_into(&ring.subtract(&x, &y), &ring.enter_all(&number(&fixed)), &mut long);
                    let results = [ring.multiply(&x, &y), own, long, ring.one()];
                    let left: Vec<_> = results.iter().map(|result| ring.leave(result)).collect();
                    for (lane, (a, b)) in a.iter().zip(&b).enumerate() {
                        let (a, b, fixed) = (number(a), number(b), number(&fixed));
                        let truth = [
                            a.mul_mod(&b, &square),
                            a.mul_mod(&a, &square),
                            a.sub_mod(&b, &square).mul_mod(&fixed, &square),
                            BoxedUint::one_with_precision(128 * words as u32),
                        ];
                        for (left, truth) in left.iter().zip(&truth) {
                            let left = &left[2 * words * lane..][..2 * words];
                            assert_eq!(left, truth.as_words(), "{backend:?} {words} {kind}");
                        }
                    }
                    assert_eq!(ring.unpack(&ring.reduce(slices(&a))), a.concat(), "{backend:?} {words} {kind}");
                    seen.push(results);
                }
                assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{words} {kind}");
            }
        }
    }

    /// Numbers of four parts; 1 - d n; and (x - 1) / n.
    #[test]
    fn what_encryption_needs_besides_is_as_it_is_written() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        for words in SIZES {
            for kind in 0..3 {
                let n = modulus(words, kind, &mut rng);
                let square = squared(&n);
                let mut long: Vec<Vec<u64>> =
                    (0..LANES).map(|_| (0..4 * words).map(|_| rng.next_u64()).collect()).collect();
                (long[0], long[1]) = (vec![0; 4 * words], vec![u64::MAX; 4 * words]);
                let reduced = |number: BoxedUint, modulus: &NonZero<BoxedUint>| number.rem(modulus).to_words().to_vec();
                let d: Vec<_> =
                    long.iter().map(|long| reduced(number(long), n.as_nz_ref())[..words].to_vec()).collect();
                for backend in backend::available() {
                    let ring = SquareArithmetic::on(backend, &n);
                    let left = ring.unpack(&ring.reduce(slices(&long)));
                    let truth = long.iter().flat_map(|long| reduced(number(long), &square)[..2 * words].to_vec());
                    assert_eq!(left, truth.collect::<Vec<_>>(), "{backend:?} {words} {kind}");
                    let one_less = ring.unpack(&ring.one_less(&ring.field().pack(slices(&d))));
                    let residues: Vec<_> = one_less.chunks_exact(2 * words).collect();
                    for (residue, d) in residues.iter().zip(&d) {
                        let multiple = number(d).concatenating_mul(n.as_ref());
                        let one = BoxedUint::one_with_precision(multiple.bits_precision());
                        assert_eq!(*residue, one.sub_mod(&multiple, &square).as_words());
                    }
                    let logarithms = ring.field().unpack(&ring.logarithms(&ring.enter(residues)));
                    for (logarithm, d) in logarithms.chunks_exact(words).zip(&d) {
                        assert_eq!(logarithm, number(d).neg_mod(n.as_nz_ref()).as_words());
                    }
                }
            }
        }
    }

    /// Digits at the bounds that products allow.
    #[test]
    fn digits_of_products_are_below_twice_the_modulus() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        for words in SIZES {
            for kind in 0..3 {
                let n = modulus(words, kind, &mut rng);
                let room = 64 * words as u32 + 256;
                let (wide, one) = (n.as_ref().resize(room), BoxedUint::one_with_precision(room));
                let below = |factor: u64| wide.concatenating_mul(&BoxedUint::from(factor)).wrapping_sub(&one);
                let limbs = Montgomery::new(&n).limbs();
                let all = one.shl((LIMB_BITS * limbs) as u32).wrapping_sub(&one);
                let (zero, n_itself) = (BoxedUint::zero_with_precision(room), wide.clone());
                for (a, b) in [
                    ([below(2), below(2)], [below(2), below(2)]),
                    ([below(7), below(7)], [n_itself.clone(), n_itself.clone()]),
                    ([below(8), below(8)], [below(1), n_itself.clone()]),
                    ([all.clone(), zero.clone()], [below(1), n_itself.clone()]),
                ] {
                    let mut seen = Vec::new();
                    for backend in backend::available() {
                        let ring = SquareArithmetic::on(backend, &n);
                        let lanes = |digits: &[BoxedUint; 2]| {
                            let mut both = vec![0; 2 * limbs];
                            for (half, digit) in both.chunks_exact_mut(limbs).zip(digits) {
                                split(digit.as_words(), |limb, value| {
                                    if limb < limbs {
                                        half[limb] = value;
                                    }
                                });
                            }
                            ring.field.shared(&both)
                        };
                        let product = ring.multiply(&lanes(&a), &lanes(&b));
                        for digit in product.0.chunks_exact(limbs) {
                            assert!(digit.iter().flatten().all(|limb| *limb <= LIMB));
                            // Less than twice the modulus: what is reduced once is what is reduced again.
                            let once = ring.field.reduced(&Lanes(digit.to_vec())).0;
                            assert!(ring.field.reduced(&once).0 == once, "{backend:?} {words} {kind}");
                        }
                        seen.push(product);
                    }
                    assert!(seen.windows(2).all(|pair| pair[0] == pair[1]), "{words} {kind}");
                }
            }
        }
    }
}
