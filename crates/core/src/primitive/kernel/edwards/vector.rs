//! Eight words of 64 bits: what all arithmetic here is made of, and its plain form.

/// Lanes of a vector.
pub(crate) const LANES: usize = 8;

/// Bits that a product takes of each factor.
#[cfg(test)]
const FACTOR: u64 = (1 << 52) - 1;

/// Eight words. All operations are on each lane alone, and take the same time whatever is in them.
pub(in super::super) trait Vector: Copy {
    /// These words.
    fn load(words: &[u64; LANES]) -> Self;

    /// The words.
    fn store(self) -> [u64; LANES];

    /// The same word in all lanes.
    fn all(word: u64) -> Self;

    /// The sums, modulo 2^64.
    fn add(self, other: Self) -> Self;

    /// The differences, modulo 2^64.
    fn sub(self, other: Self) -> Self;

    /// The products, modulo 2^64.
    fn mul(self, other: Self) -> Self;

    /// Bit by bit: and.
    fn and(self, other: Self) -> Self;

    /// Bit by bit: or.
    fn or(self, other: Self) -> Self;

    /// Bit by bit: exclusive or.
    fn xor(self, other: Self) -> Self;

    /// Shifted to the left.
    fn shl<const BITS: u32>(self) -> Self;

    /// Shifted to the right.
    fn shr<const BITS: u32>(self) -> Self;

    /// Shifted to the right, all by as many bits, below 64.
    fn shr_by(self, bits: u32) -> Self;

    /// Plus the lower 52 bits of the product of the lower 52 bits of two factors.
    fn add_low(self, a: Self, b: Self) -> Self;

    /// Plus the upper 52 bits of that product.
    fn add_high(self, a: Self, b: Self) -> Self;

    /// All ones where the words are equal, zero elsewhere.
    fn equals(self, other: Self) -> Self;

    /// The words of `self` where the mask is all ones, those of `other` where it is zero.
    fn select(self, other: Self, mask: Self) -> Self;

    /// For each lane the word of this number, below 16, of a table of 16. No address depends on the numbers.
    fn pick(numbers: Self, table: &[u64; 2 * LANES]) -> Self;
}

/// The plain form. Its operations are not inlined, for what is made of them is long, and speed is not what it is there for.
#[cfg(test)]
#[derive(Clone, Copy)]
pub(in super::super) struct Plain([u64; LANES]);

#[cfg(test)]
impl Plain {
    fn map(self, other: Plain, combine: impl Fn(u64, u64) -> u64) -> Plain {
        Plain(std::array::from_fn(|lane| combine(self.0[lane], other.0[lane])))
    }

    fn product(a: u64, b: u64) -> u128 {
        u128::from(a & FACTOR) * u128::from(b & FACTOR)
    }
}

#[cfg(test)]
impl Vector for Plain {
    #[inline(never)]
    fn load(words: &[u64; LANES]) -> Plain {
        Plain(*words)
    }

    #[inline(never)]
    fn store(self) -> [u64; LANES] {
        self.0
    }

    #[inline(never)]
    fn all(word: u64) -> Plain {
        Plain([word; LANES])
    }

    #[inline(never)]
    fn add(self, other: Plain) -> Plain {
        self.map(other, u64::wrapping_add)
    }

    #[inline(never)]
    fn sub(self, other: Plain) -> Plain {
        self.map(other, u64::wrapping_sub)
    }

    #[inline(never)]
    fn mul(self, other: Plain) -> Plain {
        self.map(other, u64::wrapping_mul)
    }

    #[inline(never)]
    fn and(self, other: Plain) -> Plain {
        self.map(other, |a, b| a & b)
    }

    #[inline(never)]
    fn or(self, other: Plain) -> Plain {
        self.map(other, |a, b| a | b)
    }

    #[inline(never)]
    fn xor(self, other: Plain) -> Plain {
        self.map(other, |a, b| a ^ b)
    }

    #[inline(never)]
    fn shl<const BITS: u32>(self) -> Plain {
        Plain(self.0.map(|word| word << BITS))
    }

    #[inline(never)]
    fn shr<const BITS: u32>(self) -> Plain {
        Plain(self.0.map(|word| word >> BITS))
    }

    #[inline(never)]
    fn shr_by(self, bits: u32) -> Plain {
        Plain(self.0.map(|word| word >> bits))
    }

    #[inline(never)]
    fn add_low(self, a: Plain, b: Plain) -> Plain {
        self.add(a.map(b, |a, b| Plain::product(a, b) as u64 & FACTOR))
    }

    #[inline(never)]
    fn add_high(self, a: Plain, b: Plain) -> Plain {
        self.add(a.map(b, |a, b| (Plain::product(a, b) >> 52) as u64))
    }

    #[inline(never)]
    fn equals(self, other: Plain) -> Plain {
        self.map(other, |a, b| {
            let difference = std::hint::black_box(a ^ b);
            // The highest bit of x | -x says whether x is not zero.
            ((difference | difference.wrapping_neg()) >> 63).wrapping_sub(1)
        })
    }

    #[inline(never)]
    fn select(self, other: Plain, mask: Plain) -> Plain {
        self.xor(other).and(mask).xor(other)
    }

    #[inline(never)]
    fn pick(numbers: Plain, table: &[u64; 2 * LANES]) -> Plain {
        let mut picked = Plain::all(0);
        for (number, word) in (0..).zip(table) {
            picked = picked.or(numbers.equals(Plain::all(number)).and(Plain::all(*word)));
        }
        picked
    }
}
