//! Powers of eight residues at a time. Exponents may be secret: all entries of a table are read for each digit.

use zeroize::ZeroizeOnDrop;

use super::montgomery::{LANES, Lanes, Limbs, Montgomery};

/// Bits of a digit of exponents: 2^6 entries of a row are read about as fast as one product is made.
const FIXED_WINDOW: usize = 6;

/// Bits of a digit where each lane has a table of its own.
const WINDOW: usize = 5;

/// Eight exponents of one lane each, from the lowest word on; fewer for fewer lanes.
pub type Exponents<'a> = [&'a [u64]];

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
pub fn power(field: &Montgomery, base: &Lanes, exponents: &Exponents<'_>, bits: usize) -> Lanes {
    assert!(exponents.len() <= LANES, "an exponent for each lane");
    let mut table = vec![field.one(), base.clone()];
    while table.len() < 1 << WINDOW {
        table.push(field.multiply(&table[table.len() - 1], base));
    }
    let (mut result, mut spare, mut chosen) = (field.one(), field.one(), field.one());
    let count = bits.div_ceil(WINDOW);
    for index in (0..count).rev() {
        if index + 1 < count {
            for _ in 0..WINDOW {
                field.multiply_into(&result, &result, &mut spare);
                std::mem::swap(&mut result, &mut spare);
            }
        }
        field.choose_lanes(&table, &digits(exponents, WINDOW, index), &mut chosen);
        field.multiply_into(&result, &chosen, &mut spare);
        std::mem::swap(&mut result, &mut spare);
    }
    result
}

/// Tables for powers of one residue: a row for every `spacing`-th digit of exponents. With rows for all there are no
/// squarings; with a single row there is nothing to prepare. (Brickell, Gordon, McCurley & Wilson, "Fast exponentiation
/// with precomputation", 1992; Lim & Lee, 1994.) Zeroized when dropped: the modulus may be secret.
#[derive(Clone, ZeroizeOnDrop)]
pub struct FixedBase {
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
    /// How many digits exponents of so many bits have: the largest spacing.
    pub fn digits(bits: usize) -> usize {
        bits.div_ceil(FIXED_WINDOW)
    }

    /// Memory of tables with a row for every digit.
    pub fn bytes(field: &Montgomery, bits: usize) -> usize {
        (FixedBase::digits(bits) * 8 * field.limbs()) << FIXED_WINDOW
    }

    /// Tables for powers of `base`, a residue in no form, to exponents of at most `bits` bits.
    pub fn new(field: &Montgomery, base: &[u64], bits: usize, spacing: usize) -> FixedBase {
        let count = FixedBase::digits(bits).div_ceil(spacing);
        let mut current = field.enter(&field.pack(std::iter::repeat_n(base, LANES)));
        let mut spare = field.one();
        let mut rows = Vec::with_capacity(count);
        // Eight rows at a time, from their first powers.
        for group in (0..count).step_by(LANES) {
            let size = LANES.min(count - group);
            let mut firsts = field.one();
            for row in 0..size {
                for (firsts, limbs) in firsts.0.iter_mut().zip(&current.0) {
                    firsts[row] = limbs[row];
                }
                if group + row + 1 < count {
                    for _ in 0..FIXED_WINDOW * spacing {
                        field.multiply_into(&current, &current, &mut spare);
                        std::mem::swap(&mut current, &mut spare);
                    }
                }
            }
            let mut some = vec![Vec::with_capacity(field.limbs() << FIXED_WINDOW); size];
            let mut entry = field.one();
            for _ in 0..1 << FIXED_WINDOW {
                for (row, entries) in some.iter_mut().enumerate() {
                    entries.extend(entry.0.iter().map(|limbs| limbs[row]));
                }
                field.multiply_into(&entry, &firsts, &mut spare);
                std::mem::swap(&mut entry, &mut spare);
            }
            rows.extend(some);
        }
        FixedBase { rows, spacing, bits }
    }

    /// The base's powers, in Montgomery's form: as many lanes as there are exponents. `groups` are worked on side by side,
    /// so that a row is read from memory once for all of them.
    pub fn powers(&self, field: &Montgomery, groups: &[&Exponents<'_>]) -> Vec<Lanes> {
        let count = FixedBase::digits(self.bits);
        let mut results: Vec<Lanes> = groups.iter().map(|_| field.one()).collect();
        let (mut spare, mut chosen) = (field.one(), field.one());
        for step in (0..self.spacing).rev() {
            if step + 1 < self.spacing {
                for result in &mut results {
                    for _ in 0..FIXED_WINDOW {
                        field.multiply_into(result, result, &mut spare);
                        std::mem::swap(result, &mut spare);
                    }
                }
            }
            for (row, table) in self.rows.iter().enumerate() {
                let index = row * self.spacing + step;
                if index >= count {
                    break;
                }
                for (result, exponents) in results.iter_mut().zip(groups) {
                    field.choose(table, &digits(exponents, FIXED_WINDOW, index), &mut chosen);
                    field.multiply_into(result, &chosen, &mut spare);
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
                    let table = FixedBase::new(&field, &bases[2], 64 * length, spacing);
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
