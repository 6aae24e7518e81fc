//! Random polynomials. Secret ones are made without branches on, or look-ups by, what is random.

use zeroize::{Zeroize, Zeroizing};

use crate::primitive::kernel::block::as_bytes_mut;
use crate::primitive::kernel::ntt::Ntt;
use crate::primitive::kernel::{Block, Prg};

/// The largest absolute value of an error.
pub(crate) const ERROR_BOUND: u64 = 21;

/// `count` errors: each the number of ones among 42 random bits, less 21. This centred binomial distribution has a
/// standard deviation of sqrt(10.5) = 3.24.
pub fn errors(count: usize, prg: &mut Prg) -> Zeroizing<Vec<i64>> {
    let words = words(count, prg);
    let bits = (1 << (2 * ERROR_BOUND)) - 1;
    Zeroizing::new(words.iter().map(|word| i64::from((word & bits).count_ones()) - ERROR_BOUND as i64).collect())
}

/// `count` numbers from -1, 0 and 1, each from 128 random bits: equally likely but for a statistical distance of
/// 2^-128.
pub fn ternary(count: usize, prg: &mut Prg) -> Zeroizing<Vec<i64>> {
    let mut blocks = Zeroizing::new(vec![Block::ZERO; count]);
    prg.fill(&mut blocks);
    let number = |block: &Block| {
        let (high, low) = (block.0 >> 64, block.0 & u128::from(u64::MAX));
        ((3 * high + ((3 * low) >> 64)) >> 64) as i64 - 1
    };
    Zeroizing::new(blocks.iter().map(number).collect())
}

/// `count` uniformly random words.
fn words(count: usize, prg: &mut Prg) -> Zeroizing<Vec<u64>> {
    let mut blocks = Zeroizing::new(vec![Block::ZERO; count.div_ceil(2)]);
    prg.fill(&mut blocks);
    let halves = blocks.iter().flat_map(|block| [block.0 as u64, (block.0 >> 64) as u64]);
    let mut words = Zeroizing::new(Vec::with_capacity(count + 1));
    words.extend(halves.take(count));
    words
}

/// Blocks of a generator's stream that are for one list, as a power of two: many more than a list needs.
const LIST_BITS: u32 = 24;

/// Public uniformly random residues from a seed. Each list of them has a number.
#[derive(Debug, Clone)]
pub struct Uniform {
    seed: Block,
}

impl Uniform {
    /// Creates the generator from a seed that is used for nothing else.
    pub fn new(seed: [u8; 16]) -> Uniform {
        Uniform { seed: Block::from_le_slice(&seed) }
    }

    /// Whether a seed has so many lists.
    pub(crate) fn has(count: u64) -> bool {
        count <= 1 << (64 - LIST_BITS)
    }

    /// Fills `values` with the list `number` modulo a prime of `bits` bits: numbers that are not below it are passed
    /// over.
    pub fn fill(&self, ntt: &Ntt, bits: u32, number: u64, values: &mut [u64]) {
        const WORDS: usize = 512;
        let mut prg = Prg::new(self.seed);
        assert!(Uniform::has(number + 1), "lists of a seed overlap");
        prg.seek(number << LIST_BITS);
        let (p, mask) = (ntt.prime().value(), u64::MAX >> (64 - bits));
        let mut blocks = [Block::ZERO; WORDS / 2];
        let mut words = [0u64; WORDS];
        let mut filled = 0;
        while filled < values.len() {
            let wanted = (values.len() - filled).min(WORDS);
            let blocks = &mut blocks[..wanted.div_ceil(2)];
            prg.fill(blocks);
            for (words, block) in words.as_chunks_mut().0.iter_mut().zip(blocks) {
                *words = [block.0 as u64 & mask, (block.0 >> 64) as u64 & mask];
            }
            let words = &words[..wanted];
            // A negative difference is one of a number that is no residue, which is rare.
            if words.iter().fold(0, |signs, &word| signs | (p - 1).wrapping_sub(word)) >> 63 == 0 {
                values[filled..filled + wanted].copy_from_slice(words);
                filled += wanted;
                continue;
            }
            for &word in words {
                values[filled] = word;
                filled += usize::from(word < p);
            }
        }
    }
}

/// Uniformly random integers from -F to F - 1, for an F = m 2^e that hides what it is added to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Flood {
    mantissa: u32,
    exponent: u32,
}

impl Flood {
    /// The least F with a mantissa of 16 bits that is at least `number` * 2^`exponent`. The number is not zero.
    pub(crate) fn at_least(number: u128, exponent: u32) -> Flood {
        let bits = 128 - number.leading_zeros();
        match bits.checked_sub(16) {
            None => Flood { mantissa: number as u32, exponent },
            Some(cut) => {
                let above = (number >> cut) as u32 + u32::from(number & ((1 << cut) - 1) != 0);
                Flood { mantissa: above, exponent: exponent + cut }
            }
        }
    }

    /// Returns the bound F, in limbs.
    pub(crate) fn bound(&self) -> Vec<u64> {
        shifted(u64::from(self.mantissa), self.exponent as usize)
    }

    /// Adds one of these integers to a number, given by its residues modulo `primes`.
    pub(crate) fn add(&self, primes: &[Ntt], residues: &mut [u64], prg: &mut Prg) {
        let mut blocks = [Block::ZERO; 5];
        prg.fill(&mut blocks);
        let wide = 2 * u128::from(self.mantissa);
        let first = blocks[0].0;
        let high = ((first >> 64) * wide + (((first & u128::from(u64::MAX)) * wide) >> 64)) >> 64;
        // `high` stands for the upper bits, and random ones follow. The number plus F.
        let mut limbs = Zeroizing::new(shifted(high as u64, self.exponent as usize));
        let (whole, part) = (self.exponent as usize / 64, self.exponent % 64);
        let random = blocks[1..].iter().flat_map(|block| [block.0 as u64, (block.0 >> 64) as u64]);
        for (index, (limb, random)) in limbs.iter_mut().zip(random).enumerate() {
            let mask = if index < whole {
                u64::MAX
            } else if index == whole {
                (1 << part) - 1
            } else {
                0
            };
            *limb |= random & mask;
        }
        for (ntt, residue) in primes.iter().zip(residues) {
            let prime = ntt.prime();
            let shifted = prime.subtract(prime.reduce_limbs(&limbs), prime.reduce_limbs(&self.bound()));
            *residue = prime.add(*residue, shifted);
        }
        as_bytes_mut(&mut blocks).zeroize();
    }
}

/// Returns number * 2^bits.
fn shifted(number: u64, bits: usize) -> Vec<u64> {
    let mut limbs = vec![0; bits / 64];
    let wide = u128::from(number) << (bits % 64);
    limbs.extend([wide as u64, (wide >> 64) as u64]);
    limbs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::primitive::kernel::Prime;

    fn prg() -> Prg {
        Prg::new(Block(77))
    }

    #[test]
    fn errors_are_centred_binomial() {
        let errors = errors(1 << 18, &mut prg());
        let mean = |power: u32| errors.iter().map(|error| error.pow(power) as f64).sum::<f64>() / errors.len() as f64;
        // Standard deviations of the means: 3.24 / 512, and about 10.5 * sqrt(2) / 512.
        assert!(mean(1).abs() < 0.04 && (mean(2) - 10.5).abs() < 0.2, "{} {}", mean(1), mean(2));
        // The fourth moment tells it from other distributions of that variance: 3 * 10.5^2 - 10.5 / 2.
        assert!((mean(4) - 325.5).abs() < 15.0, "{}", mean(4));
        assert!(errors.iter().all(|error| error.unsigned_abs() <= ERROR_BOUND));
    }

    #[test]
    fn ternary_numbers_are_equally_likely() {
        let numbers = ternary(300_000, &mut prg());
        for wanted in -1..=1 {
            let count = numbers.iter().filter(|&&number| number == wanted).count();
            assert!(count.abs_diff(100_000) < 1600, "{wanted}: {count}");
        }
    }

    #[test]
    fn residues_are_uniform_and_follow_from_the_seed() {
        // A prime of which the numbers of its length are often no residues.
        let ntt = Ntt::new(Prime::new(40961), 4096);
        let mut values = vec![u64::MAX; 1 << 16];
        Uniform::new([3; 16]).fill(&ntt, 16, 5, &mut values);
        let mut counts = [0u32; 16];
        values.iter().for_each(|&value| counts[(value * 16 / 40961) as usize] += 1);
        assert!(counts.iter().all(|count| count.abs_diff(4096) < 380), "{counts:?}");
        let mut again = vec![0; 1 << 16];
        Uniform::new([3; 16]).fill(&ntt, 16, 5, &mut again);
        assert_eq!(values, again);
        Uniform::new([3; 16]).fill(&ntt, 16, 6, &mut again);
        assert_ne!(values, again);
    }

    #[test]
    fn floods_fill_their_range() {
        assert_eq!(Flood::at_least(3, 0).bound()[0], 3);
        assert_eq!(Flood::at_least((1 << 20) + 1, 0).bound()[0], (1 << 20) + 32);
        assert_eq!(Flood::at_least((1 << 17) - 1, 0).bound()[0], 1 << 17);
        assert_eq!(Flood::at_least(1, 70).bound()[..2], [0, 64]);
        assert_eq!(Flood::at_least(u128::MAX, 9).bound()[..3], [0, 0, 512]);
        let ntt = Ntt::new(Prime::new(1125899904679937), 4096);
        let p = ntt.prime().value() as i64;
        for (flood, bound) in [(Flood::at_least(100, 0), 100i64), (Flood::at_least(1 << 39, 1), 1 << 40)] {
            let mut prg = prg();
            let mut counts = [0u32; 10];
            for _ in 0..20_000 {
                let mut residue = [5];
                flood.add(std::slice::from_ref(&ntt), &mut residue, &mut prg);
                let value = residue[0] as i64 - 5;
                let value = if value > p / 2 { value - p } else { value };
                assert!((-bound..bound).contains(&value));
                counts[((value + bound) as i128 * 5 / i128::from(bound)) as usize] += 1;
            }
            assert!(counts.iter().all(|count| count.abs_diff(2000) < 250), "{counts:?}");
        }
    }
}
