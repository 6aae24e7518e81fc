//! Ciphertexts modulo fewer primes.

use crate::primitive::kernel::{Factor, Prime};

use super::Ring;

/// Divides by the last primes, and rounds: a number modulo all primes of a ring becomes one modulo the first of them.
///
/// One prime p is dropped after the other: x becomes (x - r) / p, where r is the number nearest to zero with x = r
/// modulo p.
#[derive(Debug)]
pub struct Switch {
    primes: Vec<Prime>,
    /// For each prime that goes, the last one first: half of it, and for each that stays then, that half's residue and
    /// the inverse of the prime.
    dropped: Vec<(u64, Vec<(u64, Factor)>)>,
}

impl Switch {
    /// Prepares the switch to the first `kept` primes of a ring.
    pub fn new(ring: &Ring, kept: usize) -> Switch {
        let primes: Vec<_> = ring.primes().iter().map(|ntt| *ntt.prime()).collect();
        let dropped = (kept..primes.len()).rev().map(|last| {
            let (value, half) = (primes[last].value(), primes[last].value() / 2);
            let stay = primes[..last].iter();
            let stay = stay.map(|prime| (prime.reduce(half), prime.factor(prime.invert(prime.reduce(value)))));
            (half, stay.collect())
        });
        Switch { dropped: dropped.collect(), primes }
    }

    /// Switches a number, given by its residues modulo all primes; the first ones are then those modulo the primes that
    /// are kept.
    pub fn apply(&self, residues: &mut [u64]) {
        let mut last = self.primes.len();
        for (half, stay) in &self.dropped {
            last -= 1;
            let shifted = self.primes[last].add(residues[last], *half);
            for ((residue, prime), (half, inverse)) in residues.iter_mut().zip(&self.primes).zip(stay) {
                let whole = prime.subtract(prime.add(*residue, *half), prime.reduce(shifted));
                *residue = prime.times(whole, *inverse);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_divided_and_rounded() {
        let ring = Ring::new(4096, 36, 3);
        let primes: Vec<_> = ring.primes().iter().map(|ntt| *ntt.prime()).collect();
        let values = primes.iter().map(|prime| u128::from(prime.value())).collect::<Vec<_>>();
        for x in [0, 1, 1 << 35, values[2] / 2, values[2] / 2 + 1, 1 << 70, values[1] * values[2] / 2 + 1, 1 << 100] {
            let residues = || primes.iter().map(|prime| prime.reduce_wide(x)).collect::<Vec<_>>();
            let mut two = residues();
            Switch::new(&ring, 2).apply(&mut two);
            let rounded = (x + values[2] / 2) / values[2];
            assert_eq!([two[0], two[1]], [0, 1].map(|index| primes[index].reduce_wide(rounded)));
            let mut one = residues();
            Switch::new(&ring, 1).apply(&mut one);
            let rounded = (rounded + values[1] / 2) / values[1];
            assert_eq!(one[0], primes[0].reduce_wide(rounded));
            let mut all = residues();
            Switch::new(&ring, 3).apply(&mut all);
            assert_eq!(all, residues());
        }
    }
}
