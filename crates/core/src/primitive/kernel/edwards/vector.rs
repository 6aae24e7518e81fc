//! Eight words of 64 bits: what all arithmetic here is made of, and its plain form.

use super::field::LIMBS;
#[cfg(test)]
use super::{
    doubles::{self, Doubles},
    fused::{self, Fused},
};

/// Lanes of a vector.
pub(crate) const LANES: usize = 8;

/// Bits that a product takes of each factor.
#[cfg(test)]
const FACTOR: u64 = (1 << 52) - 1;

/// Words. All operations are on each lane alone, and take the same time whatever is in them.
pub(in super::super) trait Words: Copy {
    /// The same word in all lanes.
    fn all(word: u64) -> Self;

    /// The sums, modulo 2^64.
    fn add(self, other: Self) -> Self;

    /// Plus 19 times words below 2^32.
    fn add_nineteen(self, other: Self) -> Self;

    /// Bit by bit: and.
    fn and(self, other: Self) -> Self;

    /// Bit by bit: or.
    fn or(self, other: Self) -> Self;

    /// Shifted to the left.
    fn shl<const BITS: u32>(self) -> Self;

    /// Shifted to the right.
    fn shr<const BITS: u32>(self) -> Self;

    /// Whether all words are below this.
    #[cfg(debug_assertions)]
    fn is_below(self, bound: u64) -> bool;
}

/// Vector of eight words.
pub(in super::super) trait Vector: Words {
    /// Loads these words into a vector.
    fn load(words: &[u64; LANES]) -> Self;

    /// Returns the words of the vector.
    fn store(self) -> [u64; LANES];

    /// The differences, modulo 2^64.
    fn sub(self, other: Self) -> Self;

    /// Bit by bit: exclusive or.
    fn xor(self, other: Self) -> Self;

    /// Shifted to the right, all by as many bits, below 64.
    fn shr_by(self, bits: u32) -> Self;

    /// Returns all ones in the lanes whose words are equal, zero elsewhere.
    fn equals(self, other: Self) -> Self;

    /// The words of `self` where the mask is all ones, those of `other` where it is zero.
    fn select(self, other: Self, mask: Self) -> Self;

    /// For each lane the word of this number, below 16, of a table of 16. No address depends on the numbers.
    fn pick(numbers: Self, table: &[u64; 2 * LANES]) -> Self;

    /// Word i of vector j in the place of word j of vector i.
    fn transposed(rows: &[Self; LANES]) -> [Self; LANES];

    /// The limbs of the products of reduced residues, reduced ([`super::field`]).
    fn product(a: &[Self; LIMBS], b: &[Self; LIMBS]) -> [Self; LIMBS];

    /// Returns the limbs of twice the products.
    fn twice_product(a: &[Self; LIMBS], b: &[Self; LIMBS]) -> [Self; LIMBS];

    /// Returns the limbs of the squares.
    fn square(a: &[Self; LIMBS]) -> [Self; LIMBS];
}

/// The plain form, with products by doubles or by integers of 52 bits. Its operations are not inlined, for what is made
/// of them is long, and speed is not what it is there for.
#[cfg(test)]
#[derive(Clone, Copy)]
pub(in super::super) struct Plain<const DOUBLES: bool>([u64; LANES]);

#[cfg(test)]
impl<const DOUBLES: bool> Plain<DOUBLES> {
    fn map(self, other: Self, combine: impl Fn(u64, u64) -> u64) -> Self {
        Plain(std::array::from_fn(|lane| combine(self.0[lane], other.0[lane])))
    }
}

#[cfg(test)]
impl<const DOUBLES: bool> Words for Plain<DOUBLES> {
    #[inline(never)]
    fn all(word: u64) -> Self {
        Plain([word; LANES])
    }

    #[inline(never)]
    fn add(self, other: Self) -> Self {
        self.map(other, u64::wrapping_add)
    }

    #[inline(never)]
    fn add_nineteen(self, other: Self) -> Self {
        assert!(other.0.iter().all(|word| *word < 1 << 10), "carries of columns below 2^61");
        self.map(other, |word, other| word + 19 * other)
    }

    #[inline(never)]
    fn and(self, other: Self) -> Self {
        self.map(other, |a, b| a & b)
    }

    #[inline(never)]
    fn or(self, other: Self) -> Self {
        self.map(other, |a, b| a | b)
    }

    #[inline(never)]
    fn shl<const BITS: u32>(self) -> Self {
        Plain(self.0.map(|word| word << BITS))
    }

    #[inline(never)]
    fn shr<const BITS: u32>(self) -> Self {
        Plain(self.0.map(|word| word >> BITS))
    }

    #[cfg(debug_assertions)]
    fn is_below(self, bound: u64) -> bool {
        self.0.iter().all(|word| *word < bound)
    }
}

#[cfg(test)]
impl<const DOUBLES: bool> Vector for Plain<DOUBLES> {
    #[inline(never)]
    fn load(words: &[u64; LANES]) -> Self {
        Plain(*words)
    }

    #[inline(never)]
    fn store(self) -> [u64; LANES] {
        self.0
    }

    #[inline(never)]
    fn sub(self, other: Self) -> Self {
        self.map(other, u64::wrapping_sub)
    }

    #[inline(never)]
    fn xor(self, other: Self) -> Self {
        self.map(other, |a, b| a ^ b)
    }

    #[inline(never)]
    fn shr_by(self, bits: u32) -> Self {
        Plain(self.0.map(|word| word >> bits))
    }

    #[inline(never)]
    fn equals(self, other: Self) -> Self {
        self.map(other, |a, b| {
            let difference = std::hint::black_box(a ^ b);
            // The highest bit of x | -x says whether x is not zero.
            ((difference | difference.wrapping_neg()) >> 63).wrapping_sub(1)
        })
    }

    #[inline(never)]
    fn select(self, other: Self, mask: Self) -> Self {
        self.xor(other).and(mask).xor(other)
    }

    #[inline(never)]
    fn pick(numbers: Self, table: &[u64; 2 * LANES]) -> Self {
        let mut picked = Plain::all(0);
        for (number, word) in (0..).zip(table) {
            picked = picked.or(numbers.equals(Plain::all(number)).and(Plain::all(*word)));
        }
        picked
    }

    #[inline(never)]
    fn transposed(rows: &[Self; LANES]) -> [Self; LANES] {
        std::array::from_fn(|place| Plain(rows.map(|row| row.0[place])))
    }

    #[inline(never)]
    fn product(a: &[Self; LIMBS], b: &[Self; LIMBS]) -> [Self; LIMBS] {
        if DOUBLES { doubles::product::<_, false>(a, b) } else { fused::product(a, b) }
    }

    #[inline(never)]
    fn twice_product(a: &[Self; LIMBS], b: &[Self; LIMBS]) -> [Self; LIMBS] {
        if DOUBLES { doubles::product::<_, true>(a, b) } else { fused::twice_product(a, b) }
    }

    #[inline(never)]
    fn square(a: &[Self; LIMBS]) -> [Self; LIMBS] {
        if DOUBLES { doubles::square(a) } else { fused::square(a) }
    }
}

#[cfg(test)]
impl<const DOUBLES: bool> Fused for Plain<DOUBLES> {
    #[inline(never)]
    fn mul(self, other: Self) -> Self {
        self.map(other, u64::wrapping_mul)
    }

    #[inline(never)]
    fn add_low(self, a: Self, b: Self) -> Self {
        self.add(a.map(b, |a, b| product(a, b) as u64 & FACTOR))
    }

    #[inline(never)]
    fn add_high(self, a: Self, b: Self) -> Self {
        self.add(a.map(b, |a, b| (product(a, b) >> 52) as u64))
    }
}

#[cfg(test)]
impl<const DOUBLES: bool> Doubles for Plain<DOUBLES> {
    #[inline(never)]
    fn less(self, other: Self) -> Self {
        self.map(other, |a, b| (f64::from_bits(a) - f64::from_bits(b)).to_bits())
    }

    #[inline(never)]
    fn parts(a: Self, b: Self, high: Self, both: Self) -> (Self, Self) {
        let times_plus = |addend: Self| {
            Plain(std::array::from_fn(|lane| {
                let [a, b, c] = [a.0[lane], b.0[lane], addend.0[lane]].map(f64::from_bits);
                a.mul_add(b, c).to_bits()
            }))
        };
        let high = times_plus(high);
        (high, times_plus(both.less(high)))
    }

    #[inline(never)]
    fn add_in_order(self, other: Self) -> Self {
        self.add(other)
    }
}

/// The product of the lower 52 bits.
#[cfg(test)]
fn product(a: u64, b: u64) -> u128 {
    u128::from(a & FACTOR) * u128::from(b & FACTOR)
}
