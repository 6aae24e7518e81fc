//! What the owner of a key can do: encrypt and decrypt modulo p^2 and q^2.

use crypto_bigint::{BoxedUint, ConcatenatingMul, ConcatenatingSquare, NonZero, Resize};
use rand_core::CryptoRng;
use zeroize::{ZeroizeOnDrop, Zeroizing};

use super::public::{Encoder, GROUPS};
use super::{Ciphertexts, Plaintexts, PublicKey, in_groups, number};
use crate::primitive::blum::Primes;
use crate::primitive::kernel::montgomery::{LANES, Lanes, Montgomery};
use crate::primitive::kernel::power::{FixedBase, power};

/// Bytes of the tables for one prime at most.
const TABLES_BYTES: usize = 32 << 20;

/// p and q. Zeroized when dropped, never printed.
pub struct SecretKey {
    public: PublicKey,
    p: Half,
    q: Half,
    /// 1 / p^2 modulo q^2, in no form.
    inverse_square: Lanes,
    /// 1 / p modulo q.
    inverse: Zeroizing<BoxedUint>,
}

/// One of the primes.
#[derive(ZeroizeOnDrop)]
struct Half {
    prime: NonZero<BoxedUint>,
    square: BoxedUint,
    /// p - 1.
    exponent: BoxedUint,
    /// 1 / p modulo 2^(bits of p).
    inverse: BoxedUint,
    /// 1 / L((1 + N)^(p-1) mod p^2) modulo p, with L(x) = (x - 1) / p.
    scale: BoxedUint,
    field: Montgomery,
    #[zeroize(skip)]
    encoder: Encoder,
    base: FixedBase,
}

/// Size only.
impl std::fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SecretKey({} bits)", self.public.size().bits())
    }
}

impl Half {
    fn new(public: &PublicKey, prime: &BoxedUint, other: &BoxedUint) -> Half {
        let square = prime.concatenating_square();
        let odd = square.clone().into_odd().expect("an odd prime");
        let field = Montgomery::new(&odd);
        let encoder = Encoder::new(&field, public.modulus.as_ref().rem(odd.as_nz_ref()).as_words());
        let bits = public.size().random_bits();
        let base = Zeroizing::new(number(&public.base).rem(odd.as_nz_ref()));
        let spacing = FixedBase::bytes(&field, bits).div_ceil(TABLES_BYTES);
        let base = FixedBase::new(&field, base.as_words(), bits, spacing);
        let prime = prime.clone().into_odd().expect("an odd prime");
        // (1 + N)^(p-1) = 1 + (p-1) N = 1 - p q modulo p^2.
        let scale = Zeroizing::new(other.rem(prime.as_nz_ref()).neg_mod(prime.as_nz_ref()));
        let scale = scale.invert_odd_mod(&prime).into_option().expect("different primes");
        let inverse = prime.as_ref().invert_mod2k(prime.bits_precision()).0;
        let exponent = prime.wrapping_sub(BoxedUint::one());
        Half { prime: prime.as_nz_ref().clone(), square, exponent, inverse, scale, field, encoder, base }
    }

    /// Plaintexts modulo p, of ciphertexts given by their lower and upper halves.
    fn decrypt(&self, low: &Lanes, high: &Lanes) -> Vec<Zeroizing<BoxedUint>> {
        let field = &self.field;
        let bits = self.prime.bits_precision();
        let exponents = [self.exponent.as_words(); LANES];
        let result = power(field, &field.enter_wide(low, high), &exponents, bits as usize);
        let plaintext = |words: &[u64]| {
            // x - 1 is a multiple of p, whose quotient is that modulo 2^bits.
            let less = Zeroizing::new(number(&words[..bits as usize / 64]).wrapping_sub(BoxedUint::one()));
            let quotient = Zeroizing::new(less.wrapping_mul(&self.inverse));
            Zeroizing::new(quotient.mul_mod(&self.scale, &self.prime))
        };
        Zeroizing::new(field.leave(&result)).chunks_exact(field.words()).map(plaintext).collect()
    }
}

impl SecretKey {
    /// `public` belongs to these primes.
    pub(super) fn from_primes(public: PublicKey, primes: &Primes) -> SecretKey {
        let (p, q) = (&*primes.p, &*primes.q);
        let (p, q) = rayon::join(|| Half::new(&public, p, q), || Half::new(&public, q, p));
        let modulus = q.square.clone().into_odd().expect("an odd prime");
        let square = Zeroizing::new(p.square.rem(modulus.as_nz_ref()));
        let inverse_square = Zeroizing::new(square.invert_odd_mod(&modulus).into_option().expect("different primes"));
        let inverse_square = q.field.pack(std::iter::repeat_n(inverse_square.as_words(), LANES));
        let modulus = Zeroizing::new(q.prime.as_ref().clone()).to_odd().expect("an odd prime");
        let residue = Zeroizing::new(p.prime.as_ref().rem(&q.prime));
        let inverse = residue.invert_odd_mod(&modulus).into_option().expect("different primes");
        SecretKey { public, p, q, inverse_square, inverse: Zeroizing::new(inverse) }
    }

    /// What others may know.
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// p and q.
    pub(super) fn primes(&self) -> [&BoxedUint; 2] {
        [&self.p, &self.q].map(|half| half.prime.as_ref())
    }

    /// Encrypts. The ciphertexts are as those of [`PublicKey::encrypt`], and several times as fast.
    pub fn encrypt(&self, plaintexts: &Plaintexts, rng: &mut impl CryptoRng) -> Ciphertexts {
        let exponents = self.public.exponents(plaintexts.len(), rng);
        let words = 2 * self.public.size().words();
        let all = in_groups(plaintexts.len(), words, GROUPS, |range| {
            let groups = exponents.groups(range.clone());
            let groups: Vec<_> = groups.iter().map(Vec::as_slice).collect();
            let powers = [&self.p, &self.q].map(|half| half.base.powers(&half.field, &groups));
            let starts = range.clone().step_by(LANES);
            let [of_p, of_q] = powers;
            let each = starts.zip(of_p.iter().zip(&of_q)).flat_map(|(start, (p, q))| {
                let group: Vec<_> = plaintexts.range(start..range.end.min(start + LANES)).collect();
                let encoded = |half: &Half, power: &Lanes| {
                    let group = half.field.pack(group.iter().copied());
                    half.field.multiply(power, &half.encoder.encode(&half.field, &group))
                };
                self.combine(&encoded(&self.p, p), &encoded(&self.q, q))
            });
            each.collect()
        });
        Ciphertexts { words, all }
    }

    /// Numbers modulo N^2 from what they are modulo p^2 and q^2: x_p + p^2 ((x_q - x_p) / p^2 mod q^2).
    fn combine(&self, of_p: &Lanes, of_q: &Lanes) -> Vec<u64> {
        let (p, q, words) = (&self.p, &self.q.field, self.p.field.words());
        let low = Zeroizing::new(p.field.leave(of_p));
        let difference = q.subtract(of_q, &q.enter(&q.pack(low.chunks_exact(words))));
        let high = Zeroizing::new(q.unpack(&q.multiply(&difference, &self.inverse_square)));
        let mut all = Vec::with_capacity(2 * LANES * words);
        for (low, high) in low.chunks_exact(words).zip(high.chunks_exact(words)) {
            // Each of these by itself gives p^2 away; the sum is the ciphertext.
            let (high, low) = (Zeroizing::new(number(high)), Zeroizing::new(number(low)));
            let multiple = Zeroizing::new(high.concatenating_mul(&p.square));
            let low = Zeroizing::new((&*low).resize(128 * words as u32));
            all.extend_from_slice(multiple.wrapping_add(&*low).as_words());
        }
        all
    }

    /// Decrypts.
    pub fn decrypt(&self, ciphertexts: &Ciphertexts) -> Plaintexts {
        let words = self.public.size().words();
        let all = in_groups(ciphertexts.len(), words, 1, |range| {
            let halves = [&self.p, &self.q].map(|half| {
                let pack = |part: usize| {
                    half.field.pack(ciphertexts.range(range.clone()).map(move |all| &all[part * words..][..words]))
                };
                half.decrypt(&pack(0), &pack(1))
            });
            let [of_p, of_q] = halves;
            let mut joined = Vec::with_capacity(LANES * words);
            of_p.iter().zip(&of_q).for_each(|(p, q)| joined.extend_from_slice(self.join(p, q).as_words()));
            joined
        });
        Plaintexts { words, all }
    }

    /// A number modulo N from what it is modulo p and q: m_p + p ((m_q - m_p) / p mod q).
    fn join(&self, of_p: &BoxedUint, of_q: &BoxedUint) -> Zeroizing<BoxedUint> {
        let prime = &self.q.prime;
        let difference = Zeroizing::new(of_q.sub_mod(&Zeroizing::new(of_p.rem(prime)), prime));
        let quotient = Zeroizing::new(difference.mul_mod(&self.inverse, prime));
        let multiple = Zeroizing::new(quotient.concatenating_mul(self.p.prime.as_ref()));
        let low = Zeroizing::new(of_p.resize(self.public.size().bits() as u32));
        Zeroizing::new(multiple.wrapping_add(&*low))
    }
}
