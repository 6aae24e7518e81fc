//! Operations for the owner of a key: encryption and decryption modulo p^2 and q^2.

use crypto_bigint::{BoxedUint, ConcatenatingSquare, NonZero};
use rand_core::CryptoRng;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::public::{Encoder, GROUPS};
use super::{PaillierCiphertexts, PaillierPublicKey, Plaintexts, in_groups, number};
use crate::primitive::blum::Primes;
use crate::primitive::kernel::montgomery::{LANES, Lanes};
use crate::primitive::kernel::pairs::{self, SquareArithmetic};
use crate::primitive::kernel::power::{FixedBase, power};

/// Bytes of the tables for one prime at most.
const TABLES_BYTES: usize = 32 << 20;

/// p and q. Zeroized when dropped, never printed.
pub struct PaillierSecretKey {
    public: PaillierPublicKey,
    p: Half,
    q: Half,
    /// 1 / p^2 modulo q^2, in Montgomery's form.
    inverse_square: Lanes,
    /// 1 / p modulo q, likewise.
    inverse: Lanes,
}

/// One of the primes.
#[derive(ZeroizeOnDrop)]
struct Half {
    prime: NonZero<BoxedUint>,
    square: BoxedUint,
    /// Exponent p - 1.
    exponent: BoxedUint,
    /// 1 / L((1 + N)^(p-1) mod p^2) modulo p, with L(x) = (x - 1) / p, in Montgomery's form.
    scale: Lanes,
    ring: SquareArithmetic,
    #[zeroize(skip)]
    encoder: Encoder,
    base: FixedBase,
}

/// Prints the size of the key only.
impl std::fmt::Debug for PaillierSecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretKey({} bits)", self.public.size().bits())
    }
}

impl Half {
    fn new(public: &PaillierPublicKey, prime: &BoxedUint, other: &BoxedUint) -> Half {
        let square = prime.concatenating_square();
        let prime = Zeroizing::new(prime.clone()).to_odd().expect("an odd prime");
        let ring = SquareArithmetic::new(&prime);
        let other = Zeroizing::new(other.rem(prime.as_nz_ref()));
        let encoder = Encoder::new(ring.field(), prime.as_ref(), &other);
        let bits = public.size().random_bits();
        let base = ring.enter_all(&number(&public.base));
        let spacing = FixedBase::bytes(&ring, bits).div_ceil(TABLES_BYTES);
        let base = FixedBase::new(&ring, base, bits, spacing);
        // (1 + N)^(p-1) = 1 + (p-1) N = 1 - p q modulo p^2.
        let scale = Zeroizing::new(other.neg_mod(prime.as_nz_ref()));
        let scale = Zeroizing::new(scale.invert_odd_mod(&prime).into_option().expect("different primes"));
        let scale = ring.field().enter(&ring.field().pack([scale.as_words(); LANES]));
        let exponent = prime.wrapping_sub(BoxedUint::one());
        Half { prime: prime.as_nz_ref().clone(), square, exponent, scale, ring, encoder, base }
    }

    /// 1 + m N modulo p^2 times powers in Montgomery's form, in no form.
    fn encode(&self, plaintexts: &[&[u64]], power: &Lanes) -> Lanes {
        let (field, words) = (self.ring.field(), self.ring.field().words());
        let [low, high] = [0, 1].map(|part| field.pack(plaintexts.iter().map(|all| &all[part * words..][..words])));
        let encoded = self.encoder.encode(&self.ring, &field.enter_wide(&low, &high));
        self.ring.multiply(power, &encoded)
    }

    /// Plaintexts modulo p, below 2 p.
    fn decrypt(&self, ciphertexts: &[&[u64]]) -> Lanes {
        let exponents = [self.exponent.as_words(); LANES];
        let base = self.ring.enter(ciphertexts.iter().copied());
        let result = power(&self.ring, &base, &exponents, self.prime.bits_precision() as usize);
        self.ring.field().multiply(&self.ring.logarithms(&result), &self.scale)
    }
}

impl PaillierSecretKey {
    /// `public` belongs to these primes.
    pub(super) fn from_primes(public: PaillierPublicKey, primes: &Primes) -> PaillierSecretKey {
        let (p, q) = (&*primes.p, &*primes.q);
        let (p, q) = rayon::join(|| Half::new(&public, p, q), || Half::new(&public, q, p));
        let modulus = q.square.clone().into_odd().expect("an odd prime");
        let square = Zeroizing::new(p.square.rem(modulus.as_nz_ref()));
        let inverse_square = Zeroizing::new(square.invert_odd_mod(&modulus).into_option().expect("different primes"));
        let inverse_square = q.ring.enter_all(&inverse_square);
        let modulus = Zeroizing::new(q.prime.as_ref().clone()).to_odd().expect("an odd prime");
        let residue = Zeroizing::new(p.prime.as_ref().rem(&q.prime));
        let inverse = Zeroizing::new(residue.invert_odd_mod(&modulus).into_option().expect("different primes"));
        let inverse = q.ring.field().enter(&q.ring.field().pack([inverse.as_words(); LANES]));
        PaillierSecretKey { public, p, q, inverse_square, inverse }
    }

    /// Returns the public key.
    pub fn public(&self) -> &PaillierPublicKey {
        &self.public
    }

    /// Returns the primes p and q.
    pub(super) fn primes(&self) -> [&BoxedUint; 2] {
        [&self.p, &self.q].map(|half| half.prime.as_ref())
    }

    /// Encrypts. The ciphertexts are as those of [`PaillierPublicKey::encrypt`], from the same randomness, and take
    /// less time.
    pub fn encrypt(&self, plaintexts: &Plaintexts, rng: &mut impl CryptoRng) -> PaillierCiphertexts {
        let exponents = self.public.exponents(plaintexts.len(), rng);
        let words = 2 * self.public.size().words();
        let all = in_groups(plaintexts.len(), words, GROUPS, |range| {
            let groups = exponents.groups(range.clone());
            let groups: Vec<_> = groups.iter().map(Vec::as_slice).collect();
            let powers = [&self.p, &self.q].map(|half| half.base.powers(&half.ring, &groups));
            let starts = range.clone().step_by(LANES);
            let [of_p, of_q] = powers;
            let each = starts.zip(of_p.iter().zip(&of_q)).flat_map(|(start, (p, q))| {
                let group: Vec<_> = plaintexts.range(start..range.end.min(start + LANES)).collect();
                self.combine(&self.p.encode(&group, p), &self.q.encode(&group, q))
            });
            each.collect()
        });
        PaillierCiphertexts { words, all }
    }

    /// Numbers modulo N^2 from what they are modulo p^2 and q^2: x_p + p^2 ((x_q - x_p) / p^2 mod q^2).
    fn combine(&self, of_p: &Lanes, of_q: &Lanes) -> Vec<u64> {
        let (p, q, words) = (&self.p, &self.q.ring, self.p.ring.words());
        let low = Zeroizing::new(p.ring.unpack(of_p));
        let difference = q.subtract(of_q, &q.reduce(low.chunks_exact(words)));
        let high = Zeroizing::new(q.unpack(&q.multiply(&difference, &self.inverse_square)));
        pairs::join(&low, &high, words, &p.square)
    }

    /// Decrypts ciphertexts into plaintexts.
    pub fn decrypt(&self, ciphertexts: &PaillierCiphertexts) -> Plaintexts {
        let words = self.public.size().words();
        let all = in_groups(ciphertexts.len(), words, 1, |range| {
            let group: Vec<_> = ciphertexts.range(range).collect();
            self.join(&self.p.decrypt(&group), &self.q.decrypt(&group))
        });
        Plaintexts { words, all }
    }

    /// Numbers modulo N from what they are modulo p and q: m_p + p ((m_q - m_p) / p mod q).
    fn join(&self, of_p: &Lanes, of_q: &Lanes) -> Vec<u64> {
        let (p, q) = (self.p.ring.field(), self.q.ring.field());
        let low = Zeroizing::new(p.unpack(of_p));
        // p is below 2 q: both have as many bits.
        let difference = q.subtract(of_q, &q.pack(low.chunks_exact(p.words())));
        let high = Zeroizing::new(q.unpack(&q.multiply(&difference, &self.inverse)));
        pairs::join(&low, &high, p.words(), &self.p.prime)
    }
}
