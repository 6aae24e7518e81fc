//! Several integers in one plaintext: number j of them times 2^(128 j), all added up. Sums of such plaintexts hold the
//! sums of each, as long as these are below 2^126 in absolute value.

use zeroize::Zeroizing;

use super::{PaillierPublicKey, Plaintexts};
use crate::primitive::kernel::mask::mask;

/// Bits of a plaintext that each integer has for itself.
pub(crate) const PACKED_BITS: usize = 128;

/// The borrow that an integer takes from the next one: 1 if it is negative, as a negative number.
fn borrow(integer: i128) -> i128 {
    integer >> (PACKED_BITS - 1)
}

impl PaillierPublicKey {
    /// The plaintexts that stand for integers: m for m, and N - m for -m.
    pub fn encode(&self, integers: &[i128]) -> Plaintexts {
        self.pack(integers, 1)
    }

    /// Plaintexts that hold `each` integers.
    pub(crate) fn pack(&self, integers: &[i128], each: usize) -> Plaintexts {
        let words = self.size().words();
        let mut all = vec![0; words * (integers.len() / each)];
        for (room, integers) in all.chunks_exact_mut(words).zip(integers.chunks_exact(each)) {
            let sign = integers.iter().fold(0, |borrowed, &integer| borrow(integer.wrapping_add(borrowed)));
            let sign = mask(sign != 0) as u64;
            // In two's complement of all words, plus N if it is negative.
            let (mut borrowed, mut carry) = (0, false);
            for (index, (room, modulus)) in room.chunks_mut(2).zip(self.modulus.as_words().chunks(2)).enumerate() {
                let packed = integers.get(index).map(|integer| integer.wrapping_add(borrowed));
                borrowed = packed.map_or(0, borrow);
                let halves = packed.map_or([sign; 2], |packed| [packed as u64, (packed >> 64) as u64]);
                for ((room, modulus), word) in room.iter_mut().zip(modulus).zip(halves) {
                    let (sum, first) = word.overflowing_add(modulus & sign);
                    let (sum, second) = sum.overflowing_add(u64::from(carry));
                    (*room, carry) = (sum, first | second);
                }
            }
        }
        Plaintexts { words, all }
    }
}

impl Plaintexts {
    /// The lowest 128 bits of the first one, the next 128, and so on, `count` times.
    pub(crate) fn low(&self, count: usize) -> Zeroizing<Vec<u128>> {
        let pairs = self.all[..2 * count].chunks(2);
        Zeroizing::new(pairs.map(|words| u128::from(words[0]) | u128::from(words[1]) << 64).collect())
    }
}

/// The integers that are packed in `sum` - `mask`, of which the highest bit is left out, modulo a power of two. Both
/// are as [`Plaintexts::low`] gives them.
pub(crate) fn unpack(sum: &[u128], mask: &[u128]) -> Zeroizing<Vec<i128>> {
    let mut carry = false;
    let difference = sum.iter().zip(mask).map(|(sum, mask)| {
        let (difference, first) = sum.overflowing_sub(*mask);
        let (difference, second) = difference.overflowing_sub(u128::from(carry));
        carry = first | second;
        difference as i128
    });
    let mut integers = Zeroizing::new(difference.collect::<Vec<_>>());
    // Without its highest bit, the next one is the sign.
    integers.iter_mut().rev().take(1).for_each(|highest| *highest = *highest << 1 >> 1);
    let mut borrowed = 0;
    for integer in integers.iter_mut() {
        let packed = *integer;
        *integer = packed.wrapping_sub(borrowed);
        borrowed = borrow(packed);
    }
    integers
}
