//! Operations for everybody who knows the public key.

use crypto_bigint::{BoxedUint, Odd};
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::random::{Below, seeds};
use super::{BLOCK, GmCiphertexts, GmFormatError, KeySize};
use crate::primitive::blum::{number, words};
use crate::primitive::kernel::jacobi::Jacobi;
use crate::primitive::kernel::mask::mask;
use crate::primitive::kernel::montgomery::{LANES, Lanes, Montgomery};

/// Public key of Goldwasser-Micali encryption: N.
#[derive(Clone)]
pub struct GmPublicKey {
    size: KeySize,
    modulus: Odd<BoxedUint>,
    field: Montgomery,
    jacobi: Jacobi,
}

/// Prints the size of the key only.
impl std::fmt::Debug for GmPublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "PublicKey({} bits)", self.size.bits())
    }
}

/// Compares keys by N.
impl PartialEq for GmPublicKey {
    fn eq(&self, other: &GmPublicKey) -> bool {
        self.modulus == other.modulus
    }
}

impl Eq for GmPublicKey {}

impl GmPublicKey {
    /// A key whose modulus is known to be right.
    pub(super) fn new(size: KeySize, modulus: Odd<BoxedUint>) -> GmPublicKey {
        GmPublicKey { size, field: Montgomery::new(&modulus), jacobi: Jacobi::new(&modulus), modulus }
    }

    /// Returns the size of the key.
    pub fn size(&self) -> KeySize {
        self.size
    }

    /// Returns the encoding on the wire: N, little-endian, [`KeySize::modulus_bytes`].
    pub fn to_bytes(&self) -> Vec<u8> {
        self.modulus.as_words().iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// A key of this size that came from elsewhere. Whether N is a product of two primes that are 3 modulo 4, nobody
    /// can tell.
    ///
    /// Errors: [`GmFormatError`] says which check failed.
    pub fn from_bytes(size: KeySize, bytes: &[u8]) -> Result<GmPublicKey, GmFormatError> {
        if bytes.len() != size.modulus_bytes() {
            return Err(GmFormatError::Length);
        }
        let modulus = number(&words(bytes));
        if modulus.bits_vartime() as usize != size.bits() {
            return Err(GmFormatError::Size);
        }
        if modulus.as_words()[0] & 3 != 1 {
            return Err(GmFormatError::Residue);
        }
        if modulus.checked_sqrt_vartime().is_some() {
            return Err(GmFormatError::Square);
        }
        let modulus = modulus.into_odd().into_option().ok_or(GmFormatError::Residue)?;
        Ok(GmPublicKey::new(size, modulus))
    }

    /// Returns an empty list of ciphertexts.
    pub(crate) fn no_ciphertexts(&self) -> GmCiphertexts {
        GmCiphertexts::new(self.size.modulus_bytes(), Vec::new())
    }

    /// Ciphertexts that came from elsewhere.
    ///
    /// Errors: [`GmFormatError`] says which check the first of them failed that is none.
    pub fn read(&self, bytes: &[u8]) -> Result<GmCiphertexts, GmFormatError> {
        self.check_blocks(bytes, |block| {
            let groups: Vec<Lanes> =
                self.groups(block).map(|group| self.field.pack(group.iter().map(|c| &c[..]))).collect();
            check_symbols(&self.jacobi.symbols(&groups)[..block.len() / self.size.modulus_bytes()])
        })?;
        Ok(GmCiphertexts::new(self.size.modulus_bytes(), bytes.to_vec()))
    }

    /// Checks that bytes are numbers from 1 to N - 1, and lets `check` see them, in blocks. What it says of them, in
    /// order.
    pub(super) fn check_blocks<T: Send>(
        &self,
        bytes: &[u8],
        check: impl Fn(&[u8]) -> Result<T, GmFormatError> + Sync,
    ) -> Result<Vec<T>, GmFormatError> {
        let each = self.size.modulus_bytes();
        if !bytes.len().is_multiple_of(each) {
            return Err(GmFormatError::Length);
        }
        let check = |block: &[u8]| {
            block.chunks_exact(each).try_for_each(|bytes| self.check_range(bytes))?;
            check(block)
        };
        let results: Vec<_> = bytes.par_chunks(BLOCK * each).map(check).collect();
        // The first error, whichever thread found one first.
        results.into_iter().collect()
    }

    fn check_range(&self, bytes: &[u8]) -> Result<(), GmFormatError> {
        if bytes.iter().all(|&byte| byte == 0) {
            return Err(GmFormatError::Zero);
        }
        let words = bytes.as_chunks().0.iter().rev().map(|bytes| u64::from_le_bytes(*bytes));
        if words.lt(self.modulus.as_words().iter().rev().copied()) { Ok(()) } else { Err(GmFormatError::TooLarge) }
    }

    /// The words of numbers, in groups of eight.
    pub(super) fn groups<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = Vec<Vec<u64>>> + use<'a> {
        let each = self.size.modulus_bytes();
        bytes.chunks(LANES * each).map(move |group| group.chunks_exact(each).map(words).collect())
    }

    /// Encrypts bits, one ciphertext for each.
    pub fn encrypt(&self, bits: &[bool], rng: &mut impl CryptoRng) -> GmCiphertexts {
        let zero = Lanes::zero(self.field.limbs());
        self.make(bits.len(), rng, |range, y| {
            // y^2 / R is the square of y / sqrt(R), which is as random as y: R is a square.
            let some = &bits[range];
            let signs = std::array::from_fn(|lane| some.get(lane).map_or(0, |&bit| mask(bit) as u64));
            self.field.multiply(y, &self.field.subtract(&zero, y).select(y, &signs))
        })
    }

    /// Output number i is input number `order[i]`, made uniformly random among all ciphertexts of the same bit, also in
    /// the eyes of the key's owner: by y^2 with a random y. An order may be given in parts, each of which gives a part
    /// of the output.
    ///
    /// # Panics
    ///
    /// If there is no such input.
    pub fn rerandomize(&self, ciphertexts: &GmCiphertexts, order: &[u32], rng: &mut impl CryptoRng) -> GmCiphertexts {
        self.make(order.len(), rng, |range, y| {
            let some: Vec<_> = order[range].iter().map(|&number| words(ciphertexts.one(number as usize))).collect();
            let some = self.field.pack(some.iter().map(Vec::as_slice));
            // y y c / R^2, so that the square is that of y / R.
            self.field.multiply(&self.field.multiply(y, y), &some)
        })
    }

    /// Ciphertexts of exclusive ors, one by one. Whoever knows the factors can tell the products from fresh
    /// ciphertexts.
    ///
    /// # Panics
    ///
    /// If there are not equally many.
    #[cfg(test)]
    pub(crate) fn xor(&self, a: &GmCiphertexts, b: &GmCiphertexts) -> GmCiphertexts {
        assert_eq!(a.len(), b.len(), "equally many ciphertexts");
        let products = self.groups(a.as_bytes()).zip(self.groups(b.as_bytes())).flat_map(|(a, b)| {
            let [first, second] = [&a, &b].map(|group| self.field.pack(group.iter().map(Vec::as_slice)));
            let product = self.field.unpack(&self.field.multiply(&self.field.enter(&first), &second));
            product[..a.len() * self.size.words()].to_vec()
        });
        GmCiphertexts::new(self.size.modulus_bytes(), products.flat_map(u64::to_le_bytes).collect())
    }

    /// Makes `count` ciphertexts: products below 2 n in no form. `make` makes at most eight of them at a time from as
    /// many random numbers below N. (A number that is not coprime to N would be found as seldom as a factor of N by
    /// guessing.)
    fn make(
        &self,
        count: usize,
        rng: &mut impl CryptoRng,
        make: impl Fn(std::ops::Range<usize>, &Lanes) -> Lanes + Sync,
    ) -> GmCiphertexts {
        let (each, length) = (self.size.modulus_bytes(), self.size.words());
        let mut bytes = vec![0; count * each];
        let seeds = seeds(count.div_ceil(BLOCK), rng);
        bytes.par_chunks_mut(BLOCK * each).zip(&**seeds).enumerate().for_each(|(block, (bytes, seed))| {
            let mut random = Below::new(self.modulus.as_words(), seed);
            let mut y = Zeroizing::new(vec![0; LANES * length]);
            for (group, bytes) in bytes.chunks_mut(LANES * each).enumerate() {
                let start = block * BLOCK + group * LANES;
                let size = bytes.len() / each;
                y.chunks_exact_mut(length).take(size).for_each(|y| random.fill(y));
                let made = make(start..start + size, &self.field.pack(y.chunks_exact(length).take(size)));
                for (bytes, word) in bytes.as_chunks_mut().0.iter_mut().zip(self.field.unpack(&made)) {
                    *bytes = word.to_le_bytes();
                }
            }
        });
        GmCiphertexts::new(each, bytes)
    }
}

/// Whether numbers with these Jacobi symbols are ciphertexts.
pub(super) fn check_symbols(symbols: &[i8]) -> Result<(), GmFormatError> {
    match symbols.iter().find(|&&symbol| symbol != 1) {
        None => Ok(()),
        Some(0) => Err(GmFormatError::NotCoprime),
        Some(_) => Err(GmFormatError::Symbol),
    }
}
