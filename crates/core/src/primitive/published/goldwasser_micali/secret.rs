//! Operations for the owner of a key: decryption, by Legendre symbols.

use crypto_bigint::{BoxedUint, Odd};
use rand_core::CryptoRng;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::public::check_symbols;
use super::{GmCiphertexts, GmFormatError, GmPublicKey, KeySize};
use crate::primitive::blum::Primes;
use crate::primitive::kernel::jacobi::Jacobi;
use crate::primitive::kernel::montgomery::{Lanes, Montgomery};

/// p and q. Zeroized when dropped, never printed.
pub struct GmSecretKey {
    public: GmPublicKey,
    p: Half,
    q: Half,
}

/// One of the primes.
#[derive(ZeroizeOnDrop)]
struct Half {
    field: Montgomery,
    jacobi: Jacobi,
}

/// Prints the size of the key only.
impl std::fmt::Debug for GmSecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretKey({} bits)", self.public.size().bits())
    }
}

impl Half {
    fn new(prime: &BoxedUint) -> Half {
        let prime = Zeroizing::new(prime.clone());
        let prime: &Odd<BoxedUint> = prime.as_odd_vartime().expect("an odd prime");
        Half { field: Montgomery::new(prime), jacobi: Jacobi::new(prime) }
    }

    /// The Legendre symbols of eight numbers of each group: of R times them, which are the same, as R is a square.
    fn symbols(&self, groups: &[Vec<Vec<u64>>]) -> Zeroizing<Vec<i8>> {
        let residues: Vec<Lanes> = groups
            .iter()
            .map(|group| {
                let half = self.field.words();
                let low = self.field.pack(group.iter().map(|words| &words[..half]));
                self.field.enter_wide(&low, &self.field.pack(group.iter().map(|words| &words[half..])))
            })
            .collect();
        self.jacobi.symbols(&residues)
    }
}

impl GmSecretKey {
    /// Generates a fresh key.
    pub fn generate(size: KeySize, rng: &mut impl CryptoRng) -> GmSecretKey {
        GmSecretKey::from_primes(size, &Primes::generate(size, rng))
    }

    pub(super) fn from_primes(size: KeySize, primes: &Primes) -> GmSecretKey {
        let public = GmPublicKey::new(size, primes.modulus());
        GmSecretKey { public, p: Half::new(&primes.p), q: Half::new(&primes.q) }
    }

    /// Returns the public key.
    pub fn public(&self) -> &GmPublicKey {
        &self.public
    }

    /// Decrypts ciphertexts into bits.
    ///
    /// # Panics
    ///
    /// If they are ciphertexts of another key, some of which are no numbers below N.
    pub fn decrypt(&self, ciphertexts: &GmCiphertexts) -> Zeroizing<Vec<bool>> {
        let bytes = ciphertexts.as_bytes();
        self.bits(bytes, |_, _| Ok(())).expect("ciphertexts are what they have been checked to be")
    }

    /// Checks, as [`GmPublicKey::read`] does, ciphertexts that came from elsewhere, and decrypts them: faster than each
    /// by itself.
    ///
    /// Errors: [`GmFormatError`] says which check the first of them failed that is none.
    pub fn open(&self, bytes: &[u8]) -> Result<Zeroizing<Vec<bool>>, GmFormatError> {
        self.bits(bytes, |groups, of_p| {
            // The Jacobi symbol is the product of both. It may be known; which of them is what, may not.
            let of_q = self.q.symbols(groups);
            let symbols: Vec<i8> = of_p.iter().zip(&*of_q).map(|(p, q)| p * q).collect();
            check_symbols(&symbols)
        })
    }

    /// The bits of numbers below N, after a check of each block that sees its words and the symbols modulo p.
    fn bits(
        &self,
        bytes: &[u8],
        check: impl Fn(&[Vec<Vec<u64>>], &[i8]) -> Result<(), GmFormatError> + Sync,
    ) -> Result<Zeroizing<Vec<bool>>, GmFormatError> {
        let each = self.public.size().modulus_bytes();
        let blocks = self.public.check_blocks(bytes, |block| {
            let groups: Vec<_> = self.public.groups(block).collect();
            let mut symbols = self.p.symbols(&groups);
            symbols.truncate(block.len() / each);
            check(&groups, &symbols)?;
            Ok(symbols)
        })?;
        // All room at once: a list that grows leaves its bits where it was.
        let mut bits = Zeroizing::new(Vec::with_capacity(bytes.len() / each));
        for symbols in &blocks {
            // No jump: the sign is the bit.
            bits.extend(symbols.iter().map(|symbol| symbol >> 7 & 1 == 1));
        }
        Ok(bits)
    }
}
