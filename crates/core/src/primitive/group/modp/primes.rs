//! Primes p = 2 q + 1 whose half q is a prime, too, with roots of unity modulo q.

use crypto_bigint::BoxedUint;
use crypto_primes::{Flavor, is_prime};
use rand_core::CryptoRng;
use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::primitive::blum::number;

/// Bound of the primes by which candidates are divided before they are tested: all primes below this.
const SMALL: usize = 1 << 16;

/// Candidates of a row: some 10^5 have to be looked at for a prime of 1024 bits.
const ROW: usize = 1 << 17;

/// Bits of p at least: below, a small prime could be q itself.
const MIN_BITS: u32 = 64;

/// A random prime p = 2 q + 1 of exactly `bits` bits, q = v 2^`two_adicity` + 1 a prime: p and q, none of which is
/// secret.
///
/// It is the loop of Kim & Kim's figure 1, which takes a Fourier prime q for polynomials of degree below half of
/// 2^`two_adicity`; with 1 it is the same for their general-purpose setting, where q may be any prime. Here v is not drawn anew
/// each time: those of a row are sieved together (Wiener, "Safe prime generation with a combined sieve", 2003).
///
/// Errors ([`Error::Input`]): `bits` is below 64, `two_adicity` zero, or more than half of the bits.
pub fn safe_prime(bits: u32, two_adicity: u32, rng: &mut impl CryptoRng) -> Result<(BoxedUint, BoxedUint)> {
    if bits < MIN_BITS || two_adicity < 1 || two_adicity > bits / 2 {
        return Err(Error::Input(format!(
            "no safe primes of {bits} bits with roots of unity of order 2^{two_adicity}"
        )));
    }
    let small = small_primes();
    loop {
        // p is v 2^(t + 1) + 3.
        let length = bits - two_adicity - 1;
        let mut first = vec![0; length.div_ceil(64) as usize];
        first.iter_mut().for_each(|word| *word = rng.next_u64());
        let (top, used) = ((length - 1) as usize / 64, (length - 1) % 64);
        first[top] = first[top] & ((1 << used) - 1) | 1 << used;

        let orders =
            survivors(&first, two_adicity, &small).into_par_iter().map(|index| order(&first, index, two_adicity));
        let found = orders.map(|order| (doubled(&order), order)).find_first(|(prime, order)| {
            prime.bits_vartime() == bits && is_prime(Flavor::Any, order) && is_prime(Flavor::Any, prime)
        });
        if let Some(found) = found {
            return Ok(found);
        }
    }
}

/// (`first` + `index`) 2^`two_adicity` + 1, with room for twice that and more.
fn order(first: &[u64], index: usize, two_adicity: u32) -> BoxedUint {
    let mut words = first.to_vec();
    words.resize((64 * first.len() + two_adicity as usize + 66).div_ceil(64), 0);
    number(&words).wrapping_add(BoxedUint::from(index as u64)).shl(two_adicity).wrapping_add(BoxedUint::one())
}

/// 2 q + 1.
fn doubled(order: &BoxedUint) -> BoxedUint {
    order.shl(1).wrapping_add(BoxedUint::one())
}

/// The places in a row that begins with `first` whose q and p no small prime divides.
fn survivors(first: &[u64], two_adicity: u32, small: &[u64]) -> Vec<usize> {
    let mut divided = vec![false; ROW];
    for &prime in &small[1..] {
        // v 2^t = -1, and v 2^t = -3 / 2, modulo the small prime.
        let inverse = power(prime.div_ceil(2), u64::from(two_adicity), prime);
        let start = remainder(first, prime);
        for root in [prime - 1, (prime - 3) * prime.div_ceil(2) % prime] {
            let from = (root * inverse + prime - start) % prime;
            divided.iter_mut().skip(from as usize).step_by(prime as usize).for_each(|divided| *divided = true);
        }
    }
    (0..ROW).filter(|&index| !divided[index]).collect()
}

/// The powers of a number modulo a small prime.
fn power(base: u64, exponent: u64, prime: u64) -> u64 {
    (0..64).rev().fold(1, |power, bit| match exponent >> bit & 1 {
        0 => power * power % prime,
        _ => power * power % prime * base % prime,
    })
}

/// A number modulo a small prime.
fn remainder(words: &[u64], prime: u64) -> u64 {
    words.iter().rev().fold(0, |high, word| {
        let middle = (high << 32 | word >> 32) % prime;
        (middle << 32 | word & 0xffff_ffff) % prime
    })
}

/// Returns all primes below [`SMALL`], in order: the sieve of Eratosthenes.
fn small_primes() -> Vec<u64> {
    let mut composite = vec![false; SMALL];
    for number in (2..SMALL).take_while(|number| number * number < SMALL) {
        (number * number..SMALL).step_by(number).for_each(|multiple| composite[multiple] = true);
    }
    (2..SMALL).filter(|&number| !composite[number]).map(|number| number as u64).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;

    /// Whether a number above them has no factor among the small primes, and is a prime.
    pub(crate) fn is_large_prime(number: &BoxedUint, small: &[u64]) -> bool {
        small.iter().all(|&prime| remainder(number.as_words(), prime) != 0) && is_prime(Flavor::Any, number)
    }

    pub(crate) fn all_small_primes() -> Vec<u64> {
        small_primes()
    }

    #[test]
    fn small_primes_are_all_of_them() {
        let small = small_primes();
        assert_eq!(small[..6], [2, 3, 5, 7, 11, 13]);
        assert_eq!((small.len(), small[small.len() - 1]), (6542, 65521));
        assert_eq!(remainder(&[5, 7], 65521), ((7u128 << 64 | 5) % 65521) as u64);
        assert_eq!((power(3, 0, 7), power(3, 5, 7)), (1, 5));
    }

    #[test]
    fn sieving_leaves_what_no_small_prime_divides() {
        let small = small_primes();
        let first = [0x9e37_79b9_7f4a_7c15, 0x1234];
        let left = survivors(&first, 5, &small);
        for index in 0..500 {
            let order = order(&first, index, 5);
            let free = |number: &BoxedUint| small.iter().all(|&prime| remainder(number.as_words(), prime) != 0);
            assert_eq!(left.contains(&index), free(&order) && free(&doubled(&order)), "{index}");
        }
    }

    #[test]
    fn safe_primes_have_the_form_asked_for() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for (bits, two_adicity) in
            [(64, 1), (64, 32), (65, 7), (127, 1), (128, 16), (129, 64), (192, 20), (256, 1), (256, 13)]
        {
            let (p, q) = safe_prime(bits, two_adicity, &mut rng).unwrap();
            assert_eq!(p.bits_vartime(), bits);
            assert_eq!(p, doubled(&q));
            assert!(q.wrapping_sub(BoxedUint::one()).trailing_zeros_vartime() >= two_adicity);
            assert!(is_prime(Flavor::Safe, &p));
        }
        for (bits, two_adicity) in [(63, 1), (64, 0), (64, 33), (0, 0)] {
            assert!(matches!(safe_prime(bits, two_adicity, &mut rng), Err(Error::Input(_))));
        }
    }
}
