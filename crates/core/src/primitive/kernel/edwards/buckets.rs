//! Sums of products of many points with public scalars, by buckets (Pippenger's way; Bernstein, Doumen, Lange &
//! Oosterwijk, "Faster Batch Forgery Identification", INDOCRYPT 2012, section 4). Each lane has a digit of its own:
//! eight digits of a point's scalar say to which bucket of each lane it is added, or from which it is taken. A bucket
//! counts as often as its number says, and what a lane comes to is multiplied by the weight of its digit at the end.
//!
//! Addresses depend on the scalars here.

use super::multiply::SCALAR_BYTES;
use super::point::{Addends, Extended, Points, put};
use super::vector::{LANES, Vector};

/// Points from which on this takes less time than tables do.
pub(super) const MIN_POINTS: usize = 384;

/// Words of a scalar that is cut into digits.
const WORDS: usize = 5;

/// Division of scalars into signed digits of a number of bits, for whole vectors.
#[derive(Clone, Copy)]
struct Cut {
    bits: u32,
    digits: u32,
}

impl Cut {
    /// For scalars below 2^`bits`, and the carry of signed digits, which have two bits at least.
    fn new(bits: u32) -> Cut {
        let digits = if bits <= 128 { 2 * LANES as u32 } else { 4 * LANES as u32 };
        Cut { bits: (bits + 1).div_ceil(digits).max(2), digits }
    }

    /// The highest number of a bucket.
    fn half(self) -> usize {
        1 << (self.bits - 1)
    }

    /// The scalar plus half of what each digit can be, whose digits are not negative.
    fn raised(self, scalar: &[u8; SCALAR_BYTES]) -> [u64; WORDS] {
        let (mut raised, mut carry) = ([0; WORDS], false);
        let zero = [0; 8];
        for (index, word) in scalar.as_chunks().0.iter().chain(std::iter::once(&zero)).enumerate() {
            (raised[index], carry) = u64::from_le_bytes(*word).carrying_add(self.halves(index as u32), carry);
        }
        raised
    }

    /// Returns the word at this index of the number whose digits are all half of their range.
    fn halves(self, word: u32) -> u64 {
        let bits = (0..self.digits).map(|digit| (digit + 1) * self.bits - 1);
        bits.filter(|bit| bit / 64 == word).fold(0, |halves, bit| halves | 1 << (bit % 64))
    }

    /// Returns the absolute value of a digit, and whether the digit is negative.
    fn digit(self, raised: &[u64; WORDS], place: u32) -> (usize, bool) {
        let (word, shift) = ((place * self.bits / 64) as usize, place * self.bits % 64);
        let above = raised.get(word + 1).map_or(0, |above| above << 1 << (63 - shift));
        let digit = (raised[word] >> shift | above) as usize & (2 * self.half() - 1);
        (digit.abs_diff(self.half()), digit < self.half())
    }
}

/// The sum of the products with scalars below 2^`bits`. The slices are equally long.
#[inline(always)]
pub(super) fn sum<V: Vector>(points: &[Extended], scalars: &[[u8; SCALAR_BYTES]], bits: u32) -> Extended {
    let cut = Cut::new(bits);
    let mut raised = Vec::with_capacity(scalars.len());
    for scalar in scalars {
        raised.push(cut.raised(scalar));
    }
    // The lowest digits first.
    let mut sums = Vec::with_capacity(cut.digits as usize);
    let mut buckets = vec![[Extended::IDENTITY; LANES]; cut.half() + 1];
    for first in (0..cut.digits).step_by(LANES) {
        buckets.fill([Extended::IDENTITY; LANES]);
        fill::<V>(points, &raised, cut, first, &mut buckets);
        let mut lanes = [Extended::IDENTITY; LANES];
        weighted::<V>(&buckets).unpack(&mut lanes);
        sums.extend(lanes);
    }
    let mut total = Points::<V>::identity();
    for sum in sums.iter().rev() {
        total = total.doubled_times(cut.bits).plus(&Points::pack(std::slice::from_ref(sum)).addends());
    }
    let mut lane = [Extended::IDENTITY];
    total.unpack(&mut lane);
    lane[0]
}

/// Adds all points to buckets, by eight digits from that one on. Those of digits that are zero go to bucket 0, which
/// counts for nothing.
#[inline(always)]
fn fill<V: Vector>(
    points: &[Extended],
    raised: &[[u64; WORDS]],
    cut: Cut,
    first: u32,
    buckets: &mut [[Extended; LANES]],
) {
    for (points, raised) in points.chunks(LANES).zip(raised.chunks(LANES)) {
        let addends = Points::<V>::pack(points).addends().store();
        for (index, raised) in raised.iter().enumerate() {
            let (mut places, mut masks) = ([0; LANES], [0; LANES]);
            for lane in 0..LANES {
                let (magnitude, negative) = cut.digit(raised, first + lane as u32);
                (places[lane], masks[lane]) = (magnitude, u64::from(negative).wrapping_neg());
            }
            let addends = Addends::<V>::of_lane(&addends, index).negated_where(V::load(&masks));
            let mut lanes = [&buckets[0][0]; LANES];
            for lane in 0..LANES {
                lanes[lane] = &buckets[places[lane]][lane];
            }
            let sums = Points::<V>::gather(lanes).plus(&addends);
            let rows = sums.rows();
            for lane in 0..LANES {
                put(&rows, lane, &mut buckets[places[lane]][lane]);
            }
        }
    }
}

/// Buckets times their numbers, for each lane: the sum of all sums from some number on.
#[inline(always)]
fn weighted<V: Vector>(buckets: &[[Extended; LANES]]) -> Points<V> {
    let (mut sum, mut weighted) = (Points::<V>::identity(), Points::<V>::identity());
    for bucket in buckets[1..].iter().rev() {
        sum = sum.plus(&Points::pack(bucket).addends());
        weighted = weighted.plus(&sum.addends());
    }
    weighted
}
