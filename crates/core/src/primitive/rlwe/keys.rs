//! Keys, and what is done with them. All polynomials here are transformed but where coefficients are named.

use std::fmt;

use zeroize::Zeroizing;

use crate::primitive::kernel::Prg;
use crate::primitive::kernel::ntt::Ntt;

use super::{Ring, errors, ternary};

/// A secret key: a polynomial s with coefficients -1, 0 and 1. Zeroized when dropped, never printed.
pub struct RlweSecretKey {
    /// Negated secret polynomial, -s.
    negative: Zeroizing<Vec<u64>>,
}

impl RlweSecretKey {
    /// A fresh key, from a generator that is used for nothing else.
    pub fn new(ring: &Ring, prg: &mut Prg) -> RlweSecretKey {
        // -s is distributed as s is.
        RlweSecretKey::from_negative(ring, &ternary(ring.degree(), prg))
    }

    /// The key s with these coefficients of -s.
    pub(crate) fn from_negative(ring: &Ring, coefficients: &[i64]) -> RlweSecretKey {
        RlweSecretKey { negative: transformed(ring, coefficients) }
    }

    /// Encrypts under a mask a, modulo prime `index` of the ring: `values`, the coefficients of message and error,
    /// become their transform minus a s.
    pub fn encrypt(&self, ring: &Ring, index: usize, mask: &[u64], values: &mut [u64]) {
        let ntt = &ring.primes()[index];
        ntt.forward(values);
        ntt.multiply_add(mask, part(ring, &self.negative, index), values);
    }

    /// -c1 s, modulo prime `index` of the ring, as coefficients, from the coefficients of c1.
    pub fn negative_product(&self, ring: &Ring, index: usize, second: &mut [u64]) -> Zeroizing<Vec<u64>> {
        let ntt = &ring.primes()[index];
        ntt.forward(second);
        let mut product = Zeroizing::new(vec![0; ring.degree()]);
        ntt.multiply_add(second, part(ring, &self.negative, index), &mut product);
        ntt.inverse(&mut product);
        product
    }

    /// The public key for a uniformly random polynomial `mask`: (-(mask s + e), mask). It is the encryption of zero.
    pub(crate) fn public(&self, ring: &Ring, mask: Vec<u64>, prg: &mut Prg) -> RlwePublicKey {
        let error = errors(ring.degree(), prg);
        let mut first = ring.zero();
        for (index, values) in first.chunks_exact_mut(ring.degree()).enumerate() {
            ring.primes()[index].prime().small(&error, values);
            self.encrypt(ring, index, part(ring, &mask, index), values);
        }
        RlwePublicKey { first, mask }
    }
}

/// Prints nothing of the key.
impl fmt::Debug for RlweSecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretKey(..)")
    }
}

/// A public key: an encryption of zero under a secret key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RlwePublicKey {
    /// -(mask s + e).
    pub first: Vec<u64>,
    /// Uniformly random polynomial of the encryption.
    pub mask: Vec<u64>,
}

impl RlwePublicKey {
    /// Adds a fresh encryption of zero to a ciphertext: with a random polynomial u of coefficients -1, 0 and 1, `first`
    /// u and `mask` u. The two errors are still to be added, to the coefficients.
    pub(crate) fn add_zero(&self, ring: &Ring, ciphertext: [&mut [u64]; 2], prg: &mut Prg) {
        self.add_times(ring, &ternary(ring.degree(), prg), ciphertext);
    }

    /// Adds the key, times a polynomial with these small coefficients, to a ciphertext.
    pub(crate) fn add_times(&self, ring: &Ring, coefficients: &[i64], ciphertext: [&mut [u64]; 2]) {
        let factor = transformed(ring, coefficients);
        for (key, sum) in [&self.first, &self.mask].into_iter().zip(ciphertext) {
            for (index, sum) in sum.chunks_exact_mut(ring.degree()).enumerate() {
                ring.primes()[index].multiply_add(part(ring, key, index), part(ring, &factor, index), sum);
            }
        }
    }
}

/// The transform of a polynomial with small coefficients.
fn transformed(ring: &Ring, coefficients: &[i64]) -> Zeroizing<Vec<u64>> {
    let mut values = Zeroizing::new(ring.zero());
    let transform = |(values, ntt): (&mut [u64], &Ntt)| {
        ntt.prime().small(coefficients, values);
        ntt.forward(values);
    };
    values.chunks_exact_mut(ring.degree()).zip(ring.primes()).for_each(transform);
    values
}

/// A polynomial's residues modulo one prime.
fn part<'a>(ring: &Ring, polynomial: &'a [u64], index: usize) -> &'a [u64] {
    &polynomial[index * ring.degree()..(index + 1) * ring.degree()]
}

#[cfg(test)]
mod tests {
    use super::super::{ERROR_BOUND, Uniform};
    use super::*;
    use crate::primitive::kernel::Block;

    #[test]
    fn phases_are_messages_and_small_errors() {
        let ring = Ring::new(2048, 50, 2);
        let mut prg = Prg::new(Block(5));
        let key = RlweSecretKey::new(&ring, &mut prg);
        let mut mask = ring.zero();
        for (index, values) in mask.chunks_exact_mut(ring.degree()).enumerate() {
            Uniform::new([9; 16]).fill(&ring.primes()[index], 50, index as u64, values);
        }
        let public = key.public(&ring, mask.clone(), &mut prg);
        let mut zero = [public.first.clone(), mask];
        let [first, second] = &mut zero;
        // Twice the public key, and a fresh zero.
        for index in 0..2 {
            let ntt = &ring.primes()[index];
            for values in [&mut *first, second] {
                let values = &mut values[index * 2048..(index + 1) * 2048];
                values.iter_mut().for_each(|value| *value = ntt.prime().add(*value, *value));
            }
        }
        public.add_zero(&ring, [first, second], &mut prg);
        for (index, ntt) in ring.primes().iter().enumerate() {
            let prime = ntt.prime();
            let values = &mut first[index * 2048..(index + 1) * 2048];
            let masks = &mut second[index * 2048..(index + 1) * 2048];
            ntt.inverse(values);
            ntt.inverse(masks);
            let product = key.negative_product(&ring, index, masks);
            for (value, product) in values.iter().zip(product.iter()) {
                let phase = prime.subtract(*value, *product);
                let bound = 2 * ERROR_BOUND + 2048 * ERROR_BOUND;
                assert!(phase.min(prime.value() - phase) <= bound, "{phase}");
            }
        }
    }
}
