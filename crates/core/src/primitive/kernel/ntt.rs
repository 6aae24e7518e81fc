//! Polynomials modulo X^N + 1 and a prime, as their values at the N roots of X^N + 1: products are then value by value.
//!
//! With psi a primitive 2N-th root of one, value i of a transform is the polynomial at psi^(2 r(i) + 1), where r
//! reverses the bits of i. A polynomial in X^c has a transform of which c neighbours each are equal, and these are the
//! transform of length N / c of the polynomial in X. (Longa & Naehrig, "Speeding up the number theoretic transform for
//! faster ideal lattice-based cryptography", CANS 2016.)

use super::backend::{self, Backend};
use super::portable;
use super::prime::{Factor, Prime};
#[cfg(target_arch = "x86_64")]
use super::x86;

/// The transforms of polynomials of degree below N, a power of two, and of shorter ones.
#[derive(Debug, Clone)]
pub struct Ntt {
    prime: Prime,
    /// Roots psi^r(i), as factors.
    roots: Vec<Factor>,
    /// Inverses of the roots.
    inverses: Vec<Factor>,
    /// Factor 1 / N of the inverse transform.
    scale: Factor,
    backend: Backend,
}

impl Ntt {
    /// The transforms for `degree` and a prime p with p = 1 modulo 2 `degree`.
    pub(crate) fn new(prime: Prime, degree: usize) -> Ntt {
        Ntt::on(backend::chosen(), prime, degree)
    }

    /// Creates a transform like `Ntt::new`, on a back end that is available.
    pub fn on(backend: Backend, prime: Prime, degree: usize) -> Ntt {
        assert!(degree.is_power_of_two() && degree >= 2, "a degree of {degree}");
        assert!(prime.value() % (2 * degree as u64) == 1, "{} has no root of that order", prime.value());
        let psi = root(&prime, degree);
        let powers = |base: u64| {
            let (mut powers, mut power) = (vec![Factor::default(); degree], 1);
            for index in 0..degree {
                powers[index.reverse_bits() >> (usize::BITS - degree.ilog2())] = prime.factor(power);
                power = prime.multiply(power, base);
            }
            powers
        };
        let scale = prime.factor(prime.invert(degree as u64 % prime.value()));
        Ntt { prime, roots: powers(psi), inverses: powers(prime.invert(psi)), scale, backend }
    }

    /// Returns the prime modulus.
    pub fn prime(&self) -> &Prime {
        &self.prime
    }

    /// Returns the length N of the transforms.
    pub(crate) fn degree(&self) -> usize {
        self.roots.len()
    }

    /// Coefficients, residues from the lowest on, become values. There are N of them, or N / c for a power of two c:
    /// the coefficients at multiples of c of a polynomial that has no others, and each value then stands for c equal
    /// ones.
    pub fn forward(&self, values: &mut [u64]) {
        let length = values.len();
        assert!(length.is_power_of_two() && length <= self.degree(), "{length} coefficients");
        match self.backend.family() {
            // SAFETY: the processor has what the back end needs.
            #[cfg(target_arch = "x86_64")]
            backend::Family::Avx512 if length >= x86::ntt::MIN_VALUES => unsafe {
                x86::ntt::forward(&self.prime, &self.roots, values);
            },
            _ => portable::ntt::forward(&self.prime, &self.roots, values),
        }
    }

    /// N values become coefficients.
    pub fn inverse(&self, values: &mut [u64]) {
        assert_eq!(values.len(), self.degree(), "as many values as roots");
        match self.backend.family() {
            // SAFETY: the processor has what the back end needs.
            #[cfg(target_arch = "x86_64")]
            backend::Family::Avx512 if values.len() >= x86::ntt::MIN_VALUES => unsafe {
                x86::ntt::inverse(&self.prime, &self.inverses, self.scale, values);
            },
            _ => portable::ntt::inverse(&self.prime, &self.inverses, self.scale, values),
        }
    }

    /// Adds a * b to `sum`, residue by residue.
    pub(crate) fn multiply_add(&self, a: &[u64], b: &[u64], sum: &mut [u64]) {
        assert!(a.len() == b.len() && b.len() == sum.len(), "equally many residues");
        match self.backend.family() {
            // SAFETY: the processor has what the back end needs.
            #[cfg(target_arch = "x86_64")]
            backend::Family::Avx512 => unsafe { x86::ntt::multiply_add(&self.prime, a, b, sum) },
            _ => portable::ntt::multiply_add(&self.prime, a, b, sum),
        }
    }

    /// Adds to `sum` the products of `pairs` with `factors`, all residues: for each pair of rows, w factors, of which
    /// each counts for [`LANES`] / w neighbours. w is a power of two up to [`LANES`]; `factors` holds w for each pair.
    pub(crate) fn accumulate(&self, pairs: &[LanePair], factors: &[u64], sum: &mut LanePair) {
        if pairs.is_empty() {
            return;
        }
        let width = factors.len() / pairs.len();
        assert!(width.is_power_of_two() && width <= LANES && width * pairs.len() == factors.len(), "{width} factors");
        for (pairs, factors) in pairs.chunks(MAX_PAIRS).zip(factors.chunks(MAX_PAIRS * width)) {
            match self.backend.family() {
                // SAFETY: the processor has what the back end needs.
                #[cfg(target_arch = "x86_64")]
                backend::Family::Avx512 => unsafe { x86::ntt::accumulate(&self.prime, pairs, factors, sum) },
                _ => portable::ntt::accumulate(&self.prime, pairs, factors, sum),
            }
        }
    }
}

/// Values that are summed at once.
pub(crate) const LANES: usize = 32;

/// The same [`LANES`] values of two polynomials.
pub(crate) type LanePair = [[u64; LANES]; 2];

/// Products that are added before they are reduced.
const MAX_PAIRS: usize = 256;

/// A primitive root of one of order 2N: whatever is not a square, to the power of (p - 1) / 2N.
fn root(prime: &Prime, degree: usize) -> u64 {
    let p = prime.value();
    let minus_one = p - 1;
    (2..p)
        .map(|base| prime.power(base, minus_one / (2 * degree as u64)))
        .find(|&candidate| prime.power(candidate, degree as u64) == minus_one)
        .expect("half of all residues are no squares")
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::ChaCha20Rng;
    use rand_core::{Rng, SeedableRng};

    /// Primes that are 1 modulo 2^16, of 50, 36 and 17 bits.
    const PRIMES: [u64; 3] = [1125899904679937, 68718428161, 65537];

    fn random(prime: &Prime, count: usize, rng: &mut ChaCha20Rng) -> Vec<u64> {
        (0..count).map(|_| prime.reduce(rng.next_u64())).collect()
    }

    /// The definition of products modulo X^N + 1.
    fn schoolbook(prime: &Prime, a: &[u64], b: &[u64]) -> Vec<u64> {
        let (count, mut product) = (a.len(), vec![0; a.len()]);
        for (i, &a) in a.iter().enumerate() {
            for (j, &b) in b.iter().enumerate() {
                let term = prime.multiply(a, b);
                let place = &mut product[(i + j) % count];
                *place = if i + j < count { prime.add(*place, term) } else { prime.subtract(*place, term) };
            }
        }
        product
    }

    #[test]
    fn products_of_values_are_products_of_polynomials() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        for backend in backend::available() {
            for p in PRIMES {
                for degree in [2, 4, 8, 16, 32, 64, 256, 2048] {
                    let prime = Prime::new(p);
                    let ntt = Ntt::on(backend, prime, degree);
                    let largest = vec![p - 1; degree];
                    let (one, other) = (random(&prime, degree, &mut rng), random(&prime, degree, &mut rng));
                    for (a, b) in [(&one, &other), (&largest, &largest), (&vec![0; degree], &one)] {
                        let (mut values, mut others) = (a.clone(), b.clone());
                        ntt.forward(&mut values);
                        ntt.forward(&mut others);
                        let mut product = vec![0; degree];
                        ntt.multiply_add(&values, &others, &mut product);
                        ntt.inverse(&mut product);
                        assert_eq!(product, schoolbook(&prime, a, b), "{backend:?} {p} {degree}");
                        ntt.inverse(&mut values);
                        assert_eq!(values, *a);
                    }
                }
            }
        }
    }

    #[test]
    fn all_back_ends_agree() {
        let mut rng = ChaCha20Rng::from_seed([2; 32]);
        for degree in [16, 32, 4096, 8192, 16384, 32768] {
            for p in &PRIMES[..2] {
                let prime = Prime::new(*p);
                let all: Vec<_> =
                    backend::available().into_iter().map(|backend| Ntt::on(backend, prime, degree)).collect();
                for values in [random(&prime, degree, &mut rng), vec![p - 1; degree], vec![0; degree]] {
                    let runs = all.iter().map(|ntt| {
                        let (mut forward, mut inverse, mut sum) = (values.clone(), values.clone(), values.clone());
                        ntt.forward(&mut forward);
                        ntt.inverse(&mut inverse);
                        ntt.multiply_add(&forward, &inverse, &mut sum);
                        assert!(forward.iter().chain(&inverse).chain(&sum).all(|value| value < p));
                        (forward, inverse, sum)
                    });
                    let runs: Vec<_> = runs.collect();
                    assert!(runs.windows(2).all(|pair| pair[0] == pair[1]), "{degree} {p}");
                }
            }
        }
    }

    #[test]
    fn polynomials_in_powers_have_repeated_values() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        for backend in backend::available() {
            let prime = Prime::new(PRIMES[0]);
            let ntt = Ntt::on(backend, prime, 512);
            for repeated in [1, 2, 8, 64, 256, 512] {
                let mut short = random(&prime, 512 / repeated, &mut rng);
                let mut long = vec![0; 512];
                long.iter_mut().step_by(repeated).zip(&short).for_each(|(place, &value)| *place = value);
                ntt.forward(&mut short);
                ntt.forward(&mut long);
                assert!(long.iter().enumerate().all(|(index, &value)| value == short[index / repeated]));
            }
        }
    }

    #[test]
    fn sums_of_products_follow_the_definition() {
        let mut rng = ChaCha20Rng::from_seed([4; 32]);
        for backend in backend::available() {
            for p in PRIMES {
                let prime = Prime::new(p);
                let ntt = Ntt::on(backend, prime, 2);
                for (count, width) in [(0, 1), (1, 1), (3, 2), (20, 4), (7, 8), (300, 16), (1000, 32), (513, 1)] {
                    for largest in [false, true] {
                        let mut some =
                            |count: usize| if largest { vec![p - 1; count] } else { random(&prime, count, &mut rng) };
                        let row = |values: Vec<u64>| -> [u64; LANES] { values.try_into().unwrap() };
                        let pairs: Vec<LanePair> = (0..count).map(|_| [row(some(LANES)), row(some(LANES))]).collect();
                        let factors = some(count * width);
                        let start: LanePair = [row(some(LANES)), row(some(LANES))];
                        let mut sum = start;
                        ntt.accumulate(&pairs, &factors, &mut sum);
                        for half in 0..2 {
                            for lane in 0..LANES {
                                let mut expected = start[half][lane];
                                for (index, pair) in pairs.iter().enumerate() {
                                    let factor = factors[index * width + lane * width / LANES];
                                    expected = prime.add(expected, prime.multiply(pair[half][lane], factor));
                                }
                                assert_eq!(sum[half][lane], expected, "{backend:?} {p} {count} {width}");
                            }
                        }
                    }
                }
            }
        }
    }
}
