//! Arithmetic modulo a prime of at most 50 bits, without division and without branches.

/// The longest primes: four times a residue then fits 52 bits, which AVX-512's integer products take.
pub(crate) const MAX_PRIME_BITS: u32 = 50;

/// A prime below 2^50, with what reductions modulo it need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Prime {
    value: u64,
    pub(super) one: Factor,
    /// Factor for the constant 2^64.
    carry: Factor,
    /// 2^52 and 2^104, for sums of products in words of 52 bits.
    pub(super) carries_52: [Factor; 2],
}

/// A public or secret residue w that many numbers are multiplied with, and floor(w * 2^64 / p) (Shoup's trick, as in
/// Harvey, "Faster arithmetic for number-theoretic transforms", 2014).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[repr(C)]
pub(crate) struct Factor {
    pub(super) value: u64,
    pub(super) quotient: u64,
}

impl Prime {
    /// The prime `value`. That it is one is the caller's word; it is odd and below 2^50.
    pub(crate) fn new(value: u64) -> Prime {
        assert!(value % 2 == 1 && value > 2 && value >> MAX_PRIME_BITS == 0, "{value} is no odd prime below 2^50");
        let factor = |residue| public_factor(residue, value);
        let power_of_two = |bits: u32| factor(((1u128 << bits) % u128::from(value)) as u64);
        Prime { value, one: factor(1), carry: power_of_two(64), carries_52: [power_of_two(52), power_of_two(104)] }
    }

    /// Returns the value of the prime.
    #[inline]
    pub fn value(&self) -> u64 {
        self.value
    }

    /// A public residue as a factor.
    pub(crate) fn factor(&self, residue: u64) -> Factor {
        assert!(residue < self.value, "a factor is a residue");
        public_factor(residue, self.value)
    }

    /// Returns a + b modulo the prime.
    #[inline]
    pub fn add(&self, a: u64, b: u64) -> u64 {
        once(a.wrapping_add(b), self.value)
    }

    /// Returns a - b modulo the prime.
    #[inline]
    pub fn subtract(&self, a: u64, b: u64) -> u64 {
        once(a.wrapping_add(self.value).wrapping_sub(b), self.value)
    }

    /// A number times a factor, below twice the prime.
    #[inline]
    pub(crate) fn times_lazy(&self, number: u64, factor: Factor) -> u64 {
        times_lazy(number, factor, self.value)
    }

    /// A number times a factor.
    #[inline]
    pub(crate) fn times(&self, number: u64, factor: Factor) -> u64 {
        once(self.times_lazy(number, factor), self.value)
    }

    /// Returns a * b modulo the prime.
    #[inline]
    pub(crate) fn multiply(&self, a: u64, b: u64) -> u64 {
        self.reduce_wide(u128::from(a) * u128::from(b))
    }

    /// The residue of a number.
    #[inline]
    pub fn reduce(&self, number: u64) -> u64 {
        self.times(number, self.one)
    }

    /// The residue of a long number.
    #[inline]
    pub(crate) fn reduce_wide(&self, number: u128) -> u64 {
        let high = self.times_lazy((number >> 64) as u64, self.carry);
        let low = self.times_lazy(number as u64, self.one);
        once(once(high.wrapping_add(low), 2 * self.value), self.value)
    }

    /// The residue of a number in 64-bit limbs, the lowest first.
    pub(crate) fn reduce_limbs(&self, limbs: &[u64]) -> u64 {
        limbs.iter().rev().fold(0, |sum, &limb| self.reduce_wide(u128::from(sum) << 64 | u128::from(limb)))
    }

    /// The residue of a signed number.
    #[inline]
    #[cfg(test)]
    pub(crate) fn reduce_signed(&self, number: i64) -> u64 {
        // The number plus 2^63, less the residue of 2^63.
        let shifted = self.reduce((number as u64) ^ (1 << 63));
        self.subtract(shifted, self.reduce(1 << 63))
    }

    /// A residue plus a signed number that is less than the prime in absolute value.
    #[inline]
    pub fn add_small(&self, residue: u64, number: i64) -> u64 {
        // No mask is made of the sign: where several primes follow each other, it would be the same for all of them,
        // and the optimiser makes two loops of one then, between which a jump decides by the sign.
        self.reduce(residue.wrapping_add(self.value).wrapping_add_signed(number))
    }

    /// The residues of signed numbers that are less than the prime in absolute value, of as many as there is room for.
    ///
    /// It is never a part of a loop over primes, for the reason given in [`Prime::add_small`].
    #[inline(never)]
    pub fn small(&self, numbers: &[i64], residues: &mut [u64]) {
        for (residue, &number) in residues.iter_mut().zip(numbers) {
            *residue = (number as u64).wrapping_add(self.value & (number >> 63) as u64);
        }
    }

    /// A public residue's power.
    pub(crate) fn power(&self, base: u64, mut exponent: u64) -> u64 {
        let (mut power, mut square) = (1, base);
        while exponent > 0 {
            if exponent & 1 == 1 {
                power = self.multiply(power, square);
            }
            square = self.multiply(square, square);
            exponent >>= 1;
        }
        power
    }

    /// A public residue's inverse.
    pub(crate) fn invert(&self, residue: u64) -> u64 {
        self.power(residue, self.value - 2)
    }
}

fn public_factor(residue: u64, prime: u64) -> Factor {
    Factor { value: residue, quotient: ((u128::from(residue) << 64) / u128::from(prime)) as u64 }
}

/// See [`Prime::times_lazy`].
#[inline(always)]
pub(super) fn times_lazy(number: u64, factor: Factor, prime: u64) -> u64 {
    let quotient = ((u128::from(number) * u128::from(factor.quotient)) >> 64) as u64;
    number.wrapping_mul(factor.value).wrapping_sub(quotient.wrapping_mul(prime))
}

/// A number below twice the modulus (and below 2^63), reduced.
#[inline(always)]
pub(super) fn once(number: u64, modulus: u64) -> u64 {
    let less = number.wrapping_sub(modulus);
    less.wrapping_add(modulus & ((less as i64) >> 63) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PRIMES: [u64; 5] = [3, 12289, 65537, (1 << 36) - 5, 1125899906826241];

    proptest! {
        #[test]
        fn residues_are_those_of_division(index in 0..PRIMES.len(), a: u64, b: u64, wide: u128, signed: i64) {
            let (p, prime) = (PRIMES[index], Prime::new(PRIMES[index]));
            prop_assert_eq!(prime.reduce(a), a % p);
            prop_assert_eq!(prime.reduce_wide(wide), (wide % u128::from(p)) as u64);
            prop_assert_eq!(prime.reduce_signed(signed), i128::from(signed).rem_euclid(i128::from(p)) as u64);
            let truth = ((u128::from(b) << 64 | u128::from(a)) % u128::from(p)) as u64;
            prop_assert_eq!(prime.reduce_limbs(&[a, b]), truth);
            let (x, y) = (a % p, b % p);
            prop_assert_eq!(prime.add(x, y), (x + y) % p);
            prop_assert_eq!(prime.subtract(x, y), (x + p - y) % p);
            prop_assert_eq!(prime.multiply(x, y), (u128::from(x) * u128::from(y) % u128::from(p)) as u64);
            prop_assert_eq!(prime.times(b, prime.factor(x)), (u128::from(x) * u128::from(b) % u128::from(p)) as u64);
            let small = signed % p as i64;
            let mut residues = [0; 9];
            prime.small(&[small; 9], &mut residues);
            prop_assert_eq!(residues, [small.rem_euclid(p as i64) as u64; 9]);
            prop_assert_eq!(prime.add_small(x, small), (x as i64 + small).rem_euclid(p as i64) as u64);
        }
    }

    #[test]
    fn inverses_invert() {
        for p in [12289, 65537, 1125899906826241] {
            let prime = Prime::new(p);
            for residue in [1, 2, 3, 1000, p - 1] {
                assert_eq!(prime.multiply(residue, prime.invert(residue)), 1);
            }
        }
        for edge in [0, 1, u64::MAX] {
            assert_eq!(Prime::new(65537).reduce(edge), edge % 65537);
        }
    }
}
