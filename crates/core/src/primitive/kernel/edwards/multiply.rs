//! Products of points and scalars, eight at a time. A scalar is cut into signed digits; multiples of the points are in
//! tables, of which every entry is read, or picked inside registers. Each product takes the same steps.

use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing, optimization_barrier};

use super::field::{Field, LIMBS};
use super::point::{Addends, Extended, Points, Sixteen, Stored};
use super::vector::{LANES, Vector};

/// Length of a scalar in bytes: a number below 2^253, little-endian.
pub(crate) const SCALAR_BYTES: usize = 32;

/// Bits of a digit of products of any points, and how many digits there are.
const DIGIT_BITS: u32 = 4;
const DIGITS: usize = 64;

/// Multiples that are kept of a point: by 1 to 8.
const MULTIPLES: usize = 1 << (DIGIT_BITS - 1);

/// The same of products of one point, of which a table is made.
const WIDE_BITS: u32 = 5;
const WIDE_DIGITS: usize = 51;
const WIDE_MULTIPLES: usize = 1 << (WIDE_BITS - 1);

/// Vectors of points that share the doublings of a sum: their tables, 10 kB each, stay in the processor's cache.
const SHARING: usize = 16;

/// Bits of a scalar that are kept in a word: whole digits, be they of 4 or of 5 bits.
const WORD_BITS: u32 = 60;
const WORDS: usize = 5;

/// Digits of eight scalars, from the lowest on, each more by half their number than it stands for: word by word, for
/// all lanes.
struct Digits<const BITS: u32>(Zeroizing<[[u64; LANES]; WORDS]>);

impl<const BITS: u32> Digits<BITS> {
    /// Half the number of digits, in the place of each digit of a scalar.
    const HALVES: [u64; 4] = {
        let (mut halves, mut bit) = ([0; 4], BITS - 1);
        while bit < 256 {
            halves[bit as usize / 64] |= 1 << (bit % 64);
            bit += BITS;
        }
        halves
    };

    /// Returns digits of zero scalars, to be filled.
    fn none() -> Digits<BITS> {
        Digits(Zeroizing::new([[0; LANES]; WORDS]))
    }

    /// Takes those of at most eight scalars; the others are zero. They are computed where they stay, for what is moved
    /// leaves a copy behind that nobody wipes.
    fn fill<'a>(&mut self, scalars: impl Iterator<Item = &'a [u8; SCALAR_BYTES]>) {
        let zeros = std::iter::repeat(&[0; SCALAR_BYTES]);
        for (lane, scalar) in scalars.chain(zeros).take(LANES).enumerate() {
            // The scalar plus the halves has digits that are not negative.
            let (mut sums, mut carry) = ([0; 4], false);
            for ((sum, word), half) in sums.iter_mut().zip(scalar.as_chunks().0).zip(Self::HALVES) {
                (*sum, carry) = u64::from_le_bytes(*word).carrying_add(half, carry);
            }
            debug_assert!(!carry, "a scalar below 2^253");
            let [a, b, c, d] = sums;
            let words = [a, a >> 60 | b << 4, b >> 56 | c << 8, c >> 52 | d << 12, d >> 48];
            for (kept, word) in self.0.iter_mut().zip(words) {
                kept[lane] = word & ((1 << WORD_BITS) - 1);
            }
        }
    }

    /// Returns the absolute value of a digit, and all ones in the lanes where it is negative.
    #[inline(always)]
    fn signed<V: Vector>(&self, place: usize) -> (V, V) {
        let per_word = (WORD_BITS / BITS) as usize;
        let digit = V::load(&self.0[place / per_word]).shr_by((place % per_word) as u32 * BITS);
        let difference = digit.and(V::all((1 << BITS) - 1)).sub(V::all(1 << (BITS - 1)));
        let negative = V::all(0).sub(difference.shr::<63>());
        (difference.xor(negative).sub(negative), negative)
    }
}

/// The multiples of eight points by 1 to 8.
type Table = [Stored; MULTIPLES];

/// Table that is not filled yet.
const NONE: Table = [[[[0; LANES]; LIMBS]; 4]; MULTIPLES];

/// Fills a table where it stands.
#[inline(always)]
fn multiples<V: Vector>(points: Points<V>, table: &mut Table) {
    let addends = points.addends();
    table[0] = addends.store();
    let mut multiple = points;
    for entry in &mut table[1..] {
        multiple = multiple.plus(&addends);
        *entry = multiple.addends().store();
    }
}

/// The same value in the place of all that points were computed with: at once, and not word by word as `zeroize` does,
/// so that it costs nothing beside the work.
#[inline(always)]
pub(super) fn wipe<T: Copy>(values: &mut [T], value: T) {
    values.fill(value);
    // Nothing reads them any more, but the compiler cannot know.
    optimization_barrier(values);
}

/// For each lane the multiple that a digit asks for.
#[inline(always)]
fn chosen<V: Vector>(table: &Table, (magnitude, negative): (V, V)) -> Addends<V> {
    let mut chosen = Addends::identity();
    for (index, entry) in table.iter().enumerate() {
        chosen = Addends::load(entry).select(&chosen, magnitude.equals(V::all(index as u64 + 1)));
    }
    chosen.negated_where(negative)
}

/// The products of at most eight points and as many scalars.
#[inline(always)]
pub(super) fn products<'a, V: Vector>(
    points: Points<V>,
    scalars: impl Iterator<Item = &'a [u8; SCALAR_BYTES]>,
) -> Points<V> {
    let mut digits = Digits::<DIGIT_BITS>::none();
    digits.fill(scalars);
    let mut table = NONE;
    multiples(points, &mut table);
    let mut product = Points::identity();
    for place in (0..DIGITS).rev() {
        product = product.step(DIGIT_BITS, &chosen(&table, digits.signed(place)), place == 0);
    }
    wipe(&mut table, NONE[0]);
    product
}

/// Sums of products: of those in the same lane of vectors of points. Scalars are below 2^`bits`, so that digits above
/// are zero, but for one that a carry may go to.
#[inline(always)]
pub(super) fn sums<V: Vector>(points: &[Extended], scalars: &[[u8; SCALAR_BYTES]], bits: u32) -> Points<V> {
    let digits_needed = DIGITS.min(bits.div_ceil(DIGIT_BITS) as usize + 1);
    let mut sum = Points::identity();
    let mut room = vec![NONE; SHARING.min(points.len().div_ceil(LANES))];
    let all = points.chunks(SHARING * LANES).zip(scalars.chunks(SHARING * LANES));
    for (points, scalars) in all {
        let mut digits: Vec<_> = scalars.chunks(LANES).map(|_| Digits::<DIGIT_BITS>::none()).collect();
        for (digits, scalars) in digits.iter_mut().zip(scalars.chunks(LANES)) {
            digits.fill(scalars.iter());
        }
        let tables = &mut room[..digits.len()];
        for (table, points) in tables.iter_mut().zip(points.chunks(LANES)) {
            multiples(Points::<V>::pack(points), table);
        }
        let mut part = Points::identity();
        for place in (0..digits_needed).rev() {
            part = part.doubled_times(DIGIT_BITS);
            for (table, digits) in tables.iter().zip(&digits) {
                part = part.plus(&chosen(table, digits.signed(place)));
            }
        }
        sum = sum.plus(&part.addends());
    }
    wipe(&mut room, NONE);
    sum
}

/// Multiples of one point for all places of a digit, by 1 to 16 each.
#[derive(Zeroize, ZeroizeOnDrop)]
pub(super) struct Multiples(Vec<Sixteen>);

impl Multiples {
    /// Computes the multiples of one point.
    #[inline(always)]
    pub(super) fn of<V: Vector>(point: &Extended) -> Multiples {
        // The point times the weight of each place.
        let mut bases = [Extended::IDENTITY; WIDE_DIGITS];
        let mut base = Points::<V>::pack(std::slice::from_ref(point));
        for (place, kept) in bases.iter_mut().enumerate() {
            if place > 0 {
                base = base.doubled_times(WIDE_BITS);
            }
            base.unpack(std::slice::from_mut(kept));
        }
        // Their multiples, for eight places at a time, and then all with Z = 1.
        let mut all: Vec<Points<V>> = Vec::with_capacity(WIDE_DIGITS.div_ceil(LANES) * WIDE_MULTIPLES);
        for bases in bases.chunks(LANES) {
            let mut multiple = Points::pack(bases);
            let addends = multiple.addends();
            for number in 0..WIDE_MULTIPLES {
                if number > 0 {
                    multiple = multiple.plus(&addends);
                }
                all.push(multiple);
            }
        }
        let mut denominators = Vec::with_capacity(all.len());
        for points in &all {
            denominators.push(points.z);
        }
        let inverses = inverses(&denominators);
        let mut table = vec![[[[0; 2 * LANES]; LIMBS]; 3]; WIDE_DIGITS];
        for (index, (points, inverse)) in all.iter().zip(inverses).enumerate() {
            let (first, number) = (index / WIDE_MULTIPLES * LANES, index % WIDE_MULTIPLES);
            let (x, y) = (points.x.times(inverse), points.y.times(inverse));
            let parts = Points { x, y, z: Field::one(), t: x.times(y) }.addends().parts();
            for (part, field) in parts.iter().enumerate() {
                for (limb, words) in field.store().iter().enumerate() {
                    for (sixteen, word) in table[first..].iter_mut().zip(words) {
                        sixteen[part][limb][number] = *word;
                    }
                }
            }
        }
        Multiples(table)
    }

    /// The products with at most eight scalars.
    #[inline(always)]
    pub(super) fn products<'a, V: Vector>(&self, scalars: impl Iterator<Item = &'a [u8; SCALAR_BYTES]>) -> Points<V> {
        let mut digits = Digits::<WIDE_BITS>::none();
        digits.fill(scalars);
        let mut product = Points::identity();
        for (place, table) in self.0.iter().enumerate() {
            let (magnitude, negative) = digits.signed::<V>(place);
            let none = magnitude.equals(V::all(0));
            let number = magnitude.sub(V::all(1)).and(V::all(WIDE_MULTIPLES as u64 - 1));
            let multiple = Addends::identity().select(&Addends::pick(number, table), none);
            product = product.plus(&multiple.negated_where(negative));
        }
        product
    }
}

/// The inverses of residues that are not zero, by one inversion of a vector (Montgomery's trick).
#[inline(always)]
pub(super) fn inverses<V: Vector>(residues: &[Field<V>]) -> Vec<Field<V>> {
    // Products of all that come before.
    let mut before = Vec::with_capacity(residues.len());
    let mut product = Field::one();
    for residue in residues {
        before.push(product);
        product = product.times(*residue);
    }
    let mut inverse = product.inverted();
    for (before, residue) in before.iter_mut().zip(residues).rev() {
        *before = inverse.times(*before);
        inverse = inverse.times(*residue);
    }
    before
}
