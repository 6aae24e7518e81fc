//! The groups of the levels of security. Their primes are made from texts, so that everybody can see that nothing is
//! hidden in them: p and q by FIPS 186-4, appendix A.1.1.2, the generator by A.2.3, all with SHA-512. (It has no 7680
//! and 15360 bits; these are made in the same way.)
//!
//! A domain parameter seed is the hash of the text and the number of the attempt. What is kept is the first attempt
//! that gives a prime q and a prime p, and at which counter: p and q follow from that by a few hashes. Tests look for
//! them again.

use crypto_bigint::{BoxedUint, NonZero, Odd, Resize};
use sha2::{Digest, Sha512};

use super::number_from;
use crate::primitive::blum::number;
use crate::security::Level;

/// Bits of a hash: `outlen` and `seedlen` of the standard.
const HASH_BITS: usize = 512;

/// The `index` of generators.
const INDEX: u8 = 1;

/// Group of a standard size, by the numbers of the attempt that gives it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Standard {
    /// Bits of p, a multiple of [`HASH_BITS`]: the standard's L.
    pub(super) bits: usize,
    /// Bits of q, at most [`HASH_BITS`]: the standard's N.
    pub(super) order_bits: usize,
    /// The attempt's number: those before it give no primes.
    attempt: u32,
    /// Counter of the standard at which p was found.
    counter: u32,
}

impl Standard {
    /// For a level of security: as long as NIST has them (SP 800-57 part 1, table 2).
    pub(super) const fn of(level: Level) -> Standard {
        let (bits, order_bits, attempt, counter) = match level {
            Level::Paper80 => (1024, 160, 70, 59),
            Level::Bits112 => (2048, 224, 39, 258),
            Level::Bits128 => (3072, 256, 1, 542),
            Level::Bits192 => (7680, 384, 58, 1711),
            Level::Bits256 => (15360, 512, 138, 1096),
        };
        Standard { bits, order_bits, attempt, counter }
    }

    /// The domain parameter seed.
    fn seed(&self) -> [u8; HASH_BITS / 8] {
        let text = format!("tacita 1 mod p {}/{}", self.bits, self.order_bits);
        Sha512::new().chain_update(text).chain_update(self.attempt.to_be_bytes()).finalize().into()
    }

    /// q, steps 6 and 7.
    pub(super) fn order(&self) -> BoxedUint {
        let mut words = number_from(&Sha512::digest(self.seed())).to_words().to_vec();
        words.truncate(self.order_bits.div_ceil(64));
        let (top, bit) = ((self.order_bits - 1) / 64, (self.order_bits - 1) % 64);
        words[top] = words[top] & ((1 << bit) - 1) | 1 << bit;
        words[0] |= 1;
        number(&words)
    }

    /// p, step 11; it may be too short.
    pub(super) fn modulus(&self, order: &BoxedUint) -> BoxedUint {
        let seed = number_from(&self.seed());
        let hashes = self.bits / HASH_BITS;
        let first = 1 + u64::from(self.counter) * hashes as u64;
        let hash = |offset: u64| Sha512::digest(seed.wrapping_add(BoxedUint::from(first + offset)).to_be_bytes());
        let mut words: Vec<u64> =
            (0..hashes as u64).flat_map(|offset| number_from(&hash(offset)).to_words().to_vec()).collect();
        // The last hash lacks one bit only.
        *words.last_mut().expect("groups have bits") |= 1 << 63;
        let x = number(&words);
        let double = NonZero::new(order.resize(self.order_bits as u32 + 1).shl(1)).expect("orders are not zero");
        let c = x.rem(&double).resize(x.bits_precision());
        x.wrapping_sub(c).wrapping_add(BoxedUint::one())
    }

    /// The generator, of the subgroup of this order.
    pub(super) fn generator(&self, order: &BoxedUint, modulus: &Odd<BoxedUint>) -> BoxedUint {
        let less = modulus.wrapping_sub(BoxedUint::one());
        let (cofactor, _) = less.div_rem(NonZero::new(order.clone()).as_ref().expect("orders are not zero"));
        let attempt = |count: u16| {
            let hash = Sha512::new()
                .chain_update(self.seed())
                .chain_update(b"ggen")
                .chain_update([INDEX])
                .chain_update(count.to_be_bytes());
            number_from(&hash.finalize()).resize(modulus.bits_precision()).pow_mod(&cofactor, modulus)
        };
        let mut generators = (1..=u16::MAX).map(attempt);
        generators.find(|generator| generator.bits_vartime() > 1).expect("most numbers give generators")
    }
}

#[cfg(test)]
mod tests {
    use rayon::prelude::*;

    use super::super::primes::tests::{all_small_primes, is_large_prime};
    use super::*;

    /// Searches for a group by the standard's loops.
    fn search(bits: usize, order_bits: usize) -> Standard {
        let small = all_small_primes();
        for attempt in 0.. {
            let at = |counter| Standard { bits, order_bits, attempt, counter };
            let order = at(0).order();
            if !is_large_prime(&order, &small) {
                continue;
            }
            let is_found = |&counter: &u32| {
                let modulus = at(counter).modulus(&order);
                modulus.bits_vartime() as usize == bits && is_large_prime(&modulus, &small)
            };
            let counters: Vec<u32> = (0..4 * bits as u32).collect();
            if let Some(counter) = counters.chunks(32).find_map(|some| some.par_iter().copied().find_first(is_found)) {
                return at(counter);
            }
        }
        unreachable!("there are more attempts than it takes")
    }

    fn check(level: Level) {
        let known = Standard::of(level);
        assert_eq!(search(known.bits, known.order_bits), known);
    }

    #[test]
    fn groups_are_the_first_that_there_are() {
        check(Level::Paper80);
        check(Level::Bits112);
    }

    #[test]
    #[ignore = "primes of 3072 bits and more take minutes"]
    fn larger_groups_are_the_first_that_there_are() {
        check(Level::Bits128);
        check(Level::Bits192);
        check(Level::Bits256);
    }
}
