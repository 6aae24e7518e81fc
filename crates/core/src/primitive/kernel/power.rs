//! Powers of eight residues at a time. Exponents may be secret: all entries of a table are read for each digit.

use zeroize::ZeroizeOnDrop;

use super::backend::Backend;
use super::montgomery::{LANES, Lanes, Limbs, Montgomery};
use super::pairs::SquareArithmetic;
use super::table::{self, SIZE, WINDOW as FIXED_WINDOW};

/// Bits of a digit where each lane has a table of its own.
const WINDOW: usize = 5;

/// Eight exponents of one lane each, from the lowest word on; fewer for fewer lanes.
pub(crate) type Exponents<'a> = [&'a [u64]];

/// Operations from which powers are made: products of eight residues at a time, in Montgomery's form.
pub trait PowerRing {
    /// Limbs of a residue.
    fn limbs(&self) -> usize;

    /// One, in all lanes.
    fn one(&self) -> Lanes;

    /// Makes a product of residues that are themselves products.
    fn multiply_into(&self, a: &Lanes, b: &Lanes, product: &mut Lanes);

    /// Computes the square of residues.
    fn square_into(&self, a: &Lanes, product: &mut Lanes);

    /// Returns the back end of the kernels in use.
    fn backend(&self) -> Backend;
}

impl PowerRing for Montgomery {
    fn limbs(&self) -> usize {
        self.limbs()
    }

    fn one(&self) -> Lanes {
        self.one()
    }

    fn multiply_into(&self, a: &Lanes, b: &Lanes, product: &mut Lanes) {
        self.multiply_into(a, b, product);
    }

    fn square_into(&self, a: &Lanes, product: &mut Lanes) {
        self.square_into(a, product);
    }

    fn backend(&self) -> Backend {
        self.backend()
    }
}

impl PowerRing for SquareArithmetic {
    fn limbs(&self) -> usize {
        self.limbs()
    }

    fn one(&self) -> Lanes {
        self.one()
    }

    fn multiply_into(&self, a: &Lanes, b: &Lanes, product: &mut Lanes) {
        self.multiply_into(a, b, product);
    }

    fn square_into(&self, a: &Lanes, product: &mut Lanes) {
        self.square_into(a, product);
    }

    fn backend(&self) -> Backend {
        self.field().backend()
    }
}

/// Digit number `index` of `bits` bits of each exponent.
pub(crate) fn digits(exponents: &Exponents<'_>, bits: usize, index: usize) -> Limbs {
    std::array::from_fn(|lane| {
        let Some(words) = exponents.get(lane) else { return 0 };
        let (word, shift) = (index * bits / 64, index * bits % 64);
        let low = words.get(word).map_or(0, |word| word >> shift);
        let high = words.get(word + 1).filter(|_| shift + bits > 64).map_or(0, |word| word << (64 - shift));
        (low | high) & ((1 << bits) - 1)
    })
}

/// Powers of residues in Montgomery's form, each lane with its own exponent of at most `bits` bits.
pub fn power(ring: &impl PowerRing, base: &Lanes, exponents: &Exponents<'_>, bits: usize) -> Lanes {
    assert!(exponents.len() <= LANES, "an exponent for each lane");
    let mut table = vec![ring.one(), base.clone()];
    while table.len() < 1 << WINDOW {
        let mut next = ring.one();
        ring.multiply_into(&table[table.len() - 1], base, &mut next);
        table.push(next);
    }
    let (mut result, mut spare, mut chosen) = (ring.one(), ring.one(), ring.one());
    let count = bits.div_ceil(WINDOW);
    for index in (0..count).rev() {
        if index + 1 < count {
            square_times(ring, WINDOW, &mut result, &mut spare);
        }
        table::choose_lanes(ring.backend(), &table, &digits(exponents, WINDOW, index), &mut chosen);
        ring.multiply_into(&result, &chosen, &mut spare);
        std::mem::swap(&mut result, &mut spare);
    }
    result
}

fn square_times(ring: &impl PowerRing, times: usize, result: &mut Lanes, spare: &mut Lanes) {
    for _ in 0..times {
        ring.square_into(result, spare);
        std::mem::swap(result, spare);
    }
}

/// Tables for powers of one residue: a row for every `spacing`-th digit of exponents. With rows for all there are no
/// squarings; with a single row there is nothing to prepare. (Brickell, Gordon, McCurley & Wilson, "Fast exponentiation
/// with precomputation", 1992; Lim & Lee, 1994.) Zeroized when dropped: the modulus may be secret.
#[derive(Clone, ZeroizeOnDrop)]
pub(crate) struct FixedBase {
    rows: Vec<Vec<u64>>,
    spacing: usize,
    bits: usize,
}

impl std::fmt::Debug for FixedBase {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "FixedBase({} rows)", self.rows.len())
    }
}

impl FixedBase {
    /// Returns the number of digits of exponents of so many bits: the largest spacing.
    pub(crate) fn digits(bits: usize) -> usize {
        bits.div_ceil(FIXED_WINDOW)
    }

    /// Memory of tables with a row for every digit.
    pub(crate) fn bytes(ring: &impl PowerRing, bits: usize) -> usize {
        FixedBase::digits(bits) * 8 * ring.limbs() * SIZE
    }

    /// Tables for powers of `base`, in Montgomery's form and the same in all lanes, to exponents of at most `bits`
    /// bits.
    pub(crate) fn new(ring: &impl PowerRing, base: Lanes, bits: usize, spacing: usize) -> FixedBase {
        let count = FixedBase::digits(bits).div_ceil(spacing);
        let (mut current, mut spare) = (base, ring.one());
        let mut rows = Vec::with_capacity(count);
        // Eight rows at a time, from their first powers.
        for group in (0..count).step_by(LANES) {
            let size = LANES.min(count - group);
            let mut firsts = ring.one();
            for row in 0..size {
                for (firsts, limbs) in firsts.0.iter_mut().zip(&current.0) {
                    firsts[row] = limbs[row];
                }
                if group + row + 1 < count {
                    square_times(ring, FIXED_WINDOW * spacing, &mut current, &mut spare);
                }
            }
            let mut some = vec![vec![0; ring.limbs() * SIZE]; size];
            let mut entry = ring.one();
            for number in 0..SIZE {
                for (row, entries) in some.iter_mut().enumerate() {
                    let same = entries.chunks_exact_mut(SIZE).zip(&entry.0);
                    same.for_each(|(entries, limbs)| entries[number] = limbs[row]);
                }
                ring.multiply_into(&entry, &firsts, &mut spare);
                std::mem::swap(&mut entry, &mut spare);
            }
            rows.extend(some);
        }
        FixedBase { rows, spacing, bits }
    }

    /// The base's powers, in Montgomery's form: as many lanes as there are exponents. `groups` are worked on side by
    /// side, so that a row is read from memory once for all of them.
    pub(crate) fn powers(&self, ring: &impl PowerRing, groups: &[&Exponents<'_>]) -> Vec<Lanes> {
        let count = FixedBase::digits(self.bits);
        let mut results: Vec<Lanes> = groups.iter().map(|_| ring.one()).collect();
        let (mut spare, mut chosen) = (ring.one(), ring.one());
        for step in (0..self.spacing).rev() {
            if step + 1 < self.spacing {
                results.iter_mut().for_each(|result| square_times(ring, FIXED_WINDOW, result, &mut spare));
            }
            for (row, table) in self.rows.iter().enumerate() {
                let index = row * self.spacing + step;
                if index >= count {
                    break;
                }
                for (result, exponents) in results.iter_mut().zip(groups) {
                    table::choose(ring.backend(), table, &digits(exponents, FIXED_WINDOW, index), &mut chosen);
                    ring.multiply_into(result, &chosen, &mut spare);
                    std::mem::swap(result, &mut spare);
                }
            }
        }
        results
    }
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use crypto_bigint::{BoxedUint, Odd};
    use rand_core::{Rng, SeedableRng};

    use super::super::backend;
    use super::*;

    fn number(words: &[u64]) -> BoxedUint {
        BoxedUint::from_words(words.iter().copied())
    }

    fn truth(base: &[u64], exponent: &[u64], n: &Odd<BoxedUint>) -> Vec<u64> {
        number(base).pow_mod(&number(exponent), n).to_words().to_vec()
    }

    #[test]
    fn powers_are_those_of_the_definition() {
        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let mut words = |count: usize| -> Vec<u64> { (0..count).map(|_| rng.next_u64()).collect() };
        for (size, length) in [(1, 1), (4, 2), (5, 5), (8, 3)] {
            let mut value = words(size);
            value[0] |= 1;
            value[size - 1] |= 1 << 63;
            let n = number(&value).into_odd().unwrap();
            let reduced = |words: Vec<u64>| number(&words).rem(n.as_nz_ref()).to_words().to_vec();
            let bases: Vec<Vec<u64>> = (0..LANES).map(|_| reduced(words(size))).collect();
            let mut exponents: Vec<Vec<u64>> = (0..2 * LANES).map(|_| words(length)).collect();
            (exponents[0], exponents[1]) = (vec![0; length], vec![u64::MAX; length]);
            let slices: Vec<&[u64]> = exponents.iter().map(Vec::as_slice).collect();
            for backend in backend::available() {
                let field = Montgomery::on(backend, &n);
                let base = field.enter(&field.pack(bases.iter().map(Vec::as_slice)));
                let result = field.leave(&power(&field, &base, &slices[..LANES], 64 * length));
                for (lane, result) in result.chunks_exact(size).enumerate() {
                    assert_eq!(result, truth(&bases[lane], slices[lane], &n));
                }
                let digits = FixedBase::digits(64 * length);
                for spacing in [1, 2, 3, digits - 1, digits] {
                    let table =
                        FixedBase::new(&field, field.enter(&field.pack([&bases[2][..]; LANES])), 64 * length, spacing);
                    let groups = [&slices[..LANES], &slices[LANES..2 * LANES - 3]];
                    let results = table.powers(&field, &groups);
                    for (result, group) in results.iter().zip(groups) {
                        let left = field.leave(result);
                        for (result, exponent) in left.chunks_exact(size).zip(group) {
                            assert_eq!(result, truth(&bases[2], exponent, &n), "{spacing}");
                        }
                    }
                }
            }
        }
    }
}
