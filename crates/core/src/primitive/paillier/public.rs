//! Operations for everybody who knows the public key.

use std::sync::OnceLock;

use crypto_bigint::{BoxedUint, ConcatenatingMul, ConcatenatingSquare, Gcd, NonZero, Odd};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::{
    CiphertextProducts, KeySize, PaillierCiphertexts, PaillierFormatError, Plaintexts, in_groups, number, words,
};
use crate::primitive::kernel::mask::mask;
use crate::primitive::kernel::montgomery::{LANES, Lanes, Montgomery};
use crate::primitive::kernel::pairs::SquareArithmetic;
use crate::primitive::kernel::power::{FixedBase, power};

/// Encryptions from which on tables are made. Below, tables would take longer.
const TABLES_FROM: usize = 4 * LANES;

/// Bytes of tables at most.
const TABLES_BYTES: usize = 32 << 20;

/// Groups of eight encryptions that go through the tables together.
pub(super) const GROUPS: usize = 16;

/// Public key of Paillier encryption: N and h_s.
#[derive(Clone)]
pub struct PaillierPublicKey {
    size: KeySize,
    pub(super) modulus: Odd<BoxedUint>,
    square: BoxedUint,
    /// Modulo N^2, for single products of ciphertexts as they are.
    pub(super) field: Montgomery,
    /// Factor N R^2, for Montgomery multiplication.
    factor: Lanes,
    /// Modulo N^2, for powers.
    pub(super) ring: SquareArithmetic,
    pub(super) base: Vec<u64>,
    encoder: Encoder,
    tables: OnceLock<FixedBase>,
}

/// Prints the size of the key only.
impl std::fmt::Debug for PaillierPublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublicKey({} bits)", self.size.bits())
    }
}

/// Compares two public keys.
impl PartialEq for PaillierPublicKey {
    fn eq(&self, other: &PaillierPublicKey) -> bool {
        self.modulus == other.modulus && self.base == other.base
    }
}

impl Eq for PaillierPublicKey {}

/// 1 + m N, modulo n^2 for a divisor n of N.
#[derive(Clone)]
pub(super) struct Encoder {
    /// -N / n modulo n, in no form.
    factor: Lanes,
}

impl Encoder {
    /// `cofactor` is N / n, reduced.
    pub(super) fn new(field: &Montgomery, modulus: &BoxedUint, cofactor: &BoxedUint) -> Encoder {
        let negative = Zeroizing::new(modulus.wrapping_sub(cofactor));
        Encoder { factor: field.pack([negative.as_words(); LANES]) }
    }

    /// Encodes plaintexts modulo n, which are in Montgomery's form. The result is in no form.
    pub(super) fn encode(&self, ring: &SquareArithmetic, plaintexts: &Lanes) -> Lanes {
        ring.one_less(&ring.field().multiply(plaintexts, &self.factor))
    }
}

impl PaillierPublicKey {
    /// A key of parts that are known to be right.
    pub(super) fn new(size: KeySize, modulus: Odd<BoxedUint>, base: Option<Vec<u64>>) -> PaillierPublicKey {
        let square = modulus.as_ref().concatenating_square();
        let field = Montgomery::new(&square.clone().into_odd().expect("the square of an odd number"));
        let factor = field.enter(&field.enter(&field.pack([modulus.as_words(); LANES])));
        let ring = SquareArithmetic::new(&modulus);
        let one = BoxedUint::one_with_precision(modulus.bits_precision());
        let encoder = Encoder::new(ring.field(), modulus.as_ref(), &one);
        let (base, tables) = (base.unwrap_or_default(), OnceLock::new());
        PaillierPublicKey { size, square, field, factor, ring, encoder, base, modulus, tables }
    }

    /// Returns the size of the key.
    pub fn size(&self) -> KeySize {
        self.size
    }

    /// Returns the encoding on the wire: N and h_s, little-endian, [`KeySize::public_key_bytes`] together.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.modulus.as_words().iter().chain(&self.base).flat_map(|word| word.to_le_bytes()).collect()
    }

    /// A key of this size that came from elsewhere. Whether N is a product of two primes, and h_s what it should be,
    /// nobody can tell.
    ///
    /// Errors: [`PaillierFormatError`] says which check failed.
    pub fn from_bytes(size: KeySize, bytes: &[u8]) -> Result<PaillierPublicKey, PaillierFormatError> {
        if bytes.len() != size.public_key_bytes() {
            return Err(PaillierFormatError::Length);
        }
        let words = words(bytes);
        let (modulus, base) = words.split_at(size.words());
        let modulus = number(modulus);
        if modulus.bits_vartime() as usize != size.bits() {
            return Err(PaillierFormatError::Size);
        }
        let modulus = modulus.into_odd().into_option().ok_or(PaillierFormatError::Even)?;
        let key = PaillierPublicKey::new(size, modulus, Some(base.to_vec()));
        key.check(&PaillierCiphertexts { words: base.len(), all: base.to_vec() })?;
        if number(base).is_one().to_bool() { Err(PaillierFormatError::One) } else { Ok(key) }
    }

    /// Returns an empty list of ciphertexts.
    pub fn no_ciphertexts(&self) -> PaillierCiphertexts {
        PaillierCiphertexts { words: 2 * self.size.words(), all: Vec::new() }
    }

    /// Ciphertexts that came from elsewhere.
    ///
    /// Errors: [`PaillierFormatError`] says which check failed.
    pub fn read(&self, bytes: &[u8]) -> Result<PaillierCiphertexts, PaillierFormatError> {
        if !bytes.len().is_multiple_of(self.size.ciphertext_bytes()) {
            return Err(PaillierFormatError::Length);
        }
        let ciphertexts = PaillierCiphertexts { words: 2 * self.size.words(), all: words(bytes) };
        self.check(&ciphertexts)?;
        Ok(ciphertexts)
    }

    fn check(&self, ciphertexts: &PaillierCiphertexts) -> Result<(), PaillierFormatError> {
        for words in ciphertexts.range(0..ciphertexts.len()) {
            if words.iter().all(|&word| word == 0) {
                return Err(PaillierFormatError::Zero);
            }
            if words.iter().rev().ge(self.square.as_words().iter().rev()) {
                return Err(PaillierFormatError::TooLarge);
            }
        }
        // The product has every factor of each.
        let product = CiphertextProducts::of_all(self, ciphertexts);
        let gcd = self.modulus.gcd_vartime(&number(product.one(0)).rem(self.modulus.as_nz_ref()));
        if gcd.as_ref().is_one().to_bool() { Ok(()) } else { Err(PaillierFormatError::NotCoprime) }
    }

    /// Draws `count` uniformly random plaintexts.
    pub fn random(&self, count: usize, rng: &mut impl CryptoRng) -> Plaintexts {
        let mut all = Vec::with_capacity(count * self.size.words());
        (0..count).for_each(|_| all.extend_from_slice(self.random_below(self.modulus.as_nz_ref(), rng).as_words()));
        Plaintexts { words: self.size.words(), all }
    }

    fn random_below(&self, bound: &NonZero<BoxedUint>, rng: &mut impl CryptoRng) -> Zeroizing<BoxedUint> {
        // So many more bits than N has that the remainder is uniform but for 2^-128.
        let mut long = Zeroizing::new(vec![0; 8 * (self.size.words() + 2)]);
        rng.fill_bytes(&mut long);
        Zeroizing::new(Zeroizing::new(number(&Zeroizing::new(words(&long)))).rem(bound))
    }

    /// Plaintexts that are uniformly random among those with these residues modulo `modulus` (but for the last ones
    /// before N, beyond the largest multiple of the modulus).
    pub(crate) fn random_with_residues(
        &self,
        residues: &[u128],
        modulus: u128,
        rng: &mut impl CryptoRng,
    ) -> Plaintexts {
        let words = self.size.words();
        let modulus = BoxedUint::from(modulus);
        let (multiples, _) = self.modulus.as_ref().div_rem(&NonZero::new(modulus.clone()).expect("a modulus"));
        let multiples = NonZero::new(multiples).expect("a modulus that is shorter than the key");
        let mut all = Vec::with_capacity(residues.len() * words);
        for residue in residues {
            let factor = self.random_below(&multiples, rng);
            let sum = Zeroizing::new(factor.concatenating_mul(&modulus).wrapping_add(BoxedUint::from(*residue)));
            all.extend_from_slice(&sum.as_words()[..words]);
        }
        Plaintexts { words, all }
    }

    /// The integers that plaintexts stand for: from -(2^127 - 1) to 2^127 - 1. None if any stands for another.
    pub fn decode(&self, plaintexts: &Plaintexts) -> Option<Zeroizing<Vec<i128>>> {
        let (mut integers, mut fit) = (Zeroizing::new(Vec::with_capacity(plaintexts.len())), true);
        for words in plaintexts.range(0..plaintexts.len()) {
            let value = Zeroizing::new(number(words));
            let negative = Zeroizing::new(self.modulus.wrapping_sub(&*value));
            let low = |value: &BoxedUint| u128::from(value.as_words()[0]) | u128::from(value.as_words()[1]) << 64;
            let small = |value: &BoxedUint| {
                value.as_words()[2..].iter().fold((low(value) >> 127) as u64, |all, word| all | word) == 0
            };
            let (below, above) = (small(&value), small(&negative));
            fit &= below | above;
            let (below, above) = (mask(below), mask(above & !below));
            integers.push((low(&value) & below | low(&negative).wrapping_neg() & above) as i128);
        }
        fit.then_some(integers)
    }

    /// Reduces plaintexts modulo `modulus`.
    pub fn residues(&self, plaintexts: &Plaintexts, modulus: u128) -> Zeroizing<Vec<u128>> {
        let divisor = NonZero::new(BoxedUint::from(modulus)).expect("a modulus that is not zero");
        let residue = |words: &[u64]| {
            let residue = Zeroizing::new(Zeroizing::new(number(words)).rem(&divisor));
            residue.as_words().iter().rev().fold(0, |value, word| value << 64 | u128::from(*word))
        };
        Zeroizing::new(plaintexts.range(0..plaintexts.len()).map(residue).collect())
    }

    /// Encrypts, with randomness that hides plaintexts from all but the key's owner.
    pub fn encrypt(&self, plaintexts: &Plaintexts, rng: &mut impl CryptoRng) -> PaillierCiphertexts {
        let count = plaintexts.len();
        let exponents = self.exponents(count, rng);
        let bits = self.size.random_bits();
        let ring = &self.ring;
        let base = || ring.enter_all(&number(&self.base));
        let few;
        let tables = if count < TABLES_FROM {
            few = FixedBase::new(ring, base(), bits, FixedBase::digits(bits));
            &few
        } else {
            self.tables.get_or_init(|| {
                let spacing = FixedBase::bytes(ring, bits).div_ceil(TABLES_BYTES);
                FixedBase::new(ring, base(), bits, spacing)
            })
        };
        let all = in_groups(count, 2 * self.size.words(), GROUPS, |range| {
            let groups = exponents.groups(range.clone());
            let powers = tables.powers(ring, &groups.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let starts = range.clone().step_by(LANES);
            let each = starts.zip(powers).flat_map(|(start, power)| {
                let group = plaintexts.range(start..range.end.min(start + LANES));
                let group = ring.field().enter(&ring.field().pack(group));
                ring.unpack(&ring.multiply(&power, &self.encoder.encode(ring, &group)))
            });
            each.collect()
        });
        PaillierCiphertexts { words: 2 * self.size.words(), all }
    }

    /// Draws `count` random exponents r.
    pub(super) fn exponents(&self, count: usize, rng: &mut impl CryptoRng) -> RandomExponents {
        let words = self.size.random_bits() / 64;
        let mut all = Zeroizing::new(vec![0; count * words]);
        all.iter_mut().for_each(|word| *word = rng.next_u64());
        RandomExponents { words, all }
    }

    /// Makes of each ciphertext one that is uniformly random among all of the same plaintext, also in the eyes of the
    /// key's owner: by x^N with a random x. Far slower than encrypting.
    pub fn rerandomize(&self, ciphertexts: &PaillierCiphertexts, rng: &mut impl CryptoRng) -> PaillierCiphertexts {
        let random = self.random(ciphertexts.len(), rng);
        let (ring, bits) = (&self.ring, self.size.bits());
        self.map(ciphertexts.len(), |range| {
            let base = ring.enter(random.range(range.clone()).collect::<Vec<_>>());
            let power = power(ring, &base, &[self.modulus.as_words(); LANES], bits);
            ring.unpack(&ring.multiply(&power, &ring.reduce(ciphertexts.range(range).collect::<Vec<_>>())))
        })
    }

    /// Ciphertexts of sums, one by one.
    ///
    /// # Panics
    ///
    /// If there are not equally many.
    pub fn add(&self, a: &PaillierCiphertexts, b: &PaillierCiphertexts) -> PaillierCiphertexts {
        assert_eq!(a.len(), b.len(), "equally many ciphertexts");
        self.map(a.len(), |range| {
            let first = self.field.enter(&self.field.pack(a.range(range.clone())));
            self.field.unpack(&self.field.multiply(&first, &self.field.pack(b.range(range))))
        })
    }

    /// Ciphertexts of sums with plaintexts, one by one, with the same randomness.
    ///
    /// # Panics
    ///
    /// If there are not equally many.
    pub fn add_plain(&self, ciphertexts: &PaillierCiphertexts, plaintexts: &Plaintexts) -> PaillierCiphertexts {
        assert_eq!(ciphertexts.len(), plaintexts.len(), "equally many ciphertexts and plaintexts");
        let field = &self.field;
        self.map(ciphertexts.len(), |range| {
            let multiples = field.multiply(&field.pack(plaintexts.range(range.clone())), &self.factor);
            let encoded = field.add(&multiples, &field.one());
            field.unpack(&field.multiply(&encoded, &field.pack(ciphertexts.range(range))))
        })
    }

    /// Ciphertexts of products with plaintexts, one by one.
    ///
    /// # Panics
    ///
    /// If there are not equally many.
    pub fn multiply(&self, ciphertexts: &PaillierCiphertexts, plaintexts: &Plaintexts) -> PaillierCiphertexts {
        assert_eq!(ciphertexts.len(), plaintexts.len(), "equally many ciphertexts and plaintexts");
        let ring = &self.ring;
        self.map(ciphertexts.len(), |range| {
            let exponents: Vec<&[u64]> = plaintexts.range(range.clone()).collect();
            let base = ring.enter(ciphertexts.range(range).collect::<Vec<_>>());
            ring.leave(&power(ring, &base, &exponents, self.size.bits()))
        })
    }

    /// Ciphertexts of the negative plaintexts: inverses.
    pub fn negate(&self, ciphertexts: &PaillierCiphertexts) -> PaillierCiphertexts {
        let words = 2 * self.size.words();
        let square = self.square.clone().into_odd().expect("the square of an odd number");
        let all = in_groups(ciphertexts.len(), words, 1, |range| {
            let inverse = |ciphertext: &[u64]| {
                let inverse = number(ciphertext).invert_odd_mod(&square);
                inverse.into_option().expect("ciphertexts are coprime to N").to_words().to_vec()
            };
            ciphertexts.range(range).flat_map(inverse).collect()
        });
        PaillierCiphertexts { words, all }
    }

    /// Ciphertexts from their words, eight at a time.
    fn map(&self, count: usize, make: impl Fn(std::ops::Range<usize>) -> Vec<u64> + Sync) -> PaillierCiphertexts {
        let words = 2 * self.size.words();
        PaillierCiphertexts { words, all: in_groups(count, words, 1, make) }
    }
}

/// Numbers r for many encryptions.
pub(super) struct RandomExponents {
    words: usize,
    all: Zeroizing<Vec<u64>>,
}

impl RandomExponents {
    /// Some of them, in groups of eight.
    pub(super) fn groups(&self, range: std::ops::Range<usize>) -> Vec<Vec<&[u64]>> {
        let some: Vec<&[u64]> =
            self.all[range.start * self.words..range.end * self.words].chunks_exact(self.words).collect();
        some.chunks(LANES).map(<[_]>::to_vec).collect()
    }
}
