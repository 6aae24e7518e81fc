//! The subgroup's elements, eight at a time.

use crate::parallel;
use std::fmt;
use std::ops::Range;

use crypto_bigint::BoxedUint;
use rayon::prelude::*;
use zeroize::{Zeroize, ZeroizeOnDrop, Zeroizing};

use super::{ModP, SPARE_BYTES, Scalar, number_from};
use crate::primitive::group::{DecodeError, Group, expand_message_xmd};
use crate::primitive::kernel::mask::mask;
use crate::primitive::kernel::montgomery::{LANES, Lanes, Montgomery};
use crate::primitive::kernel::power::{FixedBase, digits, power};
use crate::primitive::kernel::table::choose_lanes;

/// Powers of one point from which on tables are made. Below, tables would take longer.
const TABLES_FROM: usize = 4 * LANES;

/// Bytes of tables at most.
const TABLES_BYTES: usize = 32 << 20;

/// Groups of eight that go through tables together.
const GROUPS: usize = 4;

/// Points that share the power that inverts them, and one step of work for a processor.
const BATCH: usize = 64 * LANES;

/// Points that share the squarings of a product of powers: with more of them, their tables leave the cache.
const COMBINED: usize = 16 * LANES;

/// Bits of a digit in a product of powers.
const WINDOW: usize = 3;

/// An element of the group: words of its residue in Montgomery's form, less than p.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct Point(pub(super) Vec<u64>);

impl fmt::Debug for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Point(..)")
    }
}

impl Point {
    /// Returns the identity, one.
    pub(super) fn identity(field: &Montgomery) -> Point {
        let mut words = field.unpack(&field.one());
        words.truncate(field.words());
        Point(words)
    }
}

impl ModP {
    /// At most eight points, and the identity in lanes that are left.
    pub(super) fn pack(&self, points: &[Point]) -> Lanes {
        let words = points.iter().chain(std::iter::repeat(&self.identity)).map(|point| point.0.as_slice());
        self.field.pack(words.take(LANES))
    }

    /// The points of the first lanes.
    pub(super) fn points(&self, lanes: &Lanes, count: usize) -> Vec<Point> {
        let words = Zeroizing::new(self.field.unpack(lanes));
        words.chunks_exact(self.field.words()).take(count).map(|words| Point(words.to_vec())).collect()
    }

    /// The encodings of the first lanes, one after the other.
    fn encodings(&self, lanes: &Lanes, count: usize) -> Vec<u8> {
        let (words, length) = (self.field.words(), self.point_bytes());
        let mut encodings = Vec::with_capacity(count * length);
        for number in self.field.leave(lanes).chunks_exact_mut(words).take(count) {
            // The identity is written as zero.
            let others = number.iter().skip(1).fold(number[0] ^ 1, |all, word| all | word);
            number[0] &= mask(others != 0) as u64;
            let bytes = number.iter().rev().flat_map(|word| word.to_be_bytes());
            encodings.extend(bytes.skip(8 * words - length));
        }
        encodings
    }

    /// Returns the results of `make` for each eight of `count` items, one after the other.
    fn in_eights<T: Send>(&self, count: usize, make: impl Fn(Range<usize>) -> Vec<T> + Sync) -> Vec<T> {
        parallel::ranges(count, LANES, make).into_iter().flatten().collect()
    }

    /// Powers of eight points, each with its own exponent.
    fn powers(&self, points: &[Point], scalars: &[Scalar]) -> Lanes {
        let exponents: Vec<_> = scalars.iter().map(Scalar::number).collect();
        let exponents: Vec<&[u64]> = exponents.iter().map(|exponent| exponent.as_words()).collect();
        power(&self.field, &self.pack(points), &exponents, self.order_bits())
    }

    /// Powers of eight points, all with the same exponent.
    fn powers_of_all(&self, points: &[Point], exponent: &BoxedUint) -> Lanes {
        power(&self.field, &self.pack(points), &[exponent.as_words(); LANES], self.order_bits())
    }

    /// Tables for so many powers of `base`, a residue in no form.
    fn tables_of(&self, base: &[u64], count: usize) -> FixedBase {
        let bits = self.order_bits();
        let spacing = if count < TABLES_FROM {
            FixedBase::digits(bits)
        } else {
            FixedBase::bytes(&self.field, bits).div_ceil(TABLES_BYTES)
        };
        let base = self.field.enter(&self.field.pack([base; LANES]));
        FixedBase::new(&self.field, base, bits, spacing)
    }

    /// Powers of one point.
    fn powers_of_one(&self, tables: &FixedBase, scalars: &[Scalar]) -> Vec<Point> {
        let batch = |range: Range<usize>| {
            let exponents: Vec<_> = scalars[range].iter().map(Scalar::number).collect();
            let exponents: Vec<&[u64]> = exponents.iter().map(|exponent| exponent.as_words()).collect();
            let groups: Vec<&[&[u64]]> = exponents.chunks(LANES).collect();
            let powers = tables.powers(&self.field, &groups);
            powers.iter().zip(groups).flat_map(|(lanes, group)| self.points(lanes, group.len())).collect::<Vec<_>>()
        };
        // Not more than there is for every thread.
        let each = scalars.len().div_ceil(LANES * rayon::current_num_threads()).clamp(1, GROUPS) * LANES;
        parallel::ranges(scalars.len(), each, batch).into_iter().flatten().collect()
    }

    /// The inverses of all lanes by Montgomery's trick: the inverse of their product is its power to q - 1.
    fn inverses(&self, groups: &[Lanes]) -> Vec<Lanes> {
        let mut inverses = Vec::with_capacity(groups.len());
        let mut product = self.field.one();
        for group in groups {
            let next = self.field.multiply(&product, group);
            inverses.push(std::mem::replace(&mut product, next));
        }
        let exponent = self.order.wrapping_sub(BoxedUint::one());
        let mut rest = power(&self.field, &product, &[exponent.as_words(); LANES], self.order_bits());
        for (inverse, group) in inverses.iter_mut().zip(groups).rev() {
            *inverse = self.field.multiply(inverse, &rest);
            rest = self.field.multiply(&rest, group);
        }
        inverses
    }

    /// A product of powers, of which each lane has a part (Straus, "Addition chains of vectors", 1964).
    fn product_of_powers(&self, points: &[Point], scalars: &[Scalar]) -> Lanes {
        let field = &self.field;
        let exponents: Vec<_> = scalars.iter().map(Scalar::number).collect();
        let exponents: Vec<&[u64]> = exponents.iter().map(|exponent| exponent.as_words()).collect();
        let table = |points: &[Point]| {
            let mut table = vec![field.one(), self.pack(points)];
            while table.len() < 1 << WINDOW {
                table.push(field.multiply(&table[table.len() - 1], &table[1]));
            }
            table
        };
        let groups: Vec<(Vec<Lanes>, _)> = points.chunks(LANES).map(table).zip(exponents.chunks(LANES)).collect();
        let (mut product, mut spare, mut chosen) = (field.one(), field.one(), field.one());
        for digit in (0..self.order_bits().div_ceil(WINDOW)).rev() {
            for _ in 0..WINDOW {
                field.square_into(&product, &mut spare);
                std::mem::swap(&mut product, &mut spare);
            }
            for (table, exponents) in &groups {
                choose_lanes(field.backend(), table, &digits(exponents, WINDOW, digit), &mut chosen);
                field.multiply_into(&product, &chosen, &mut spare);
                std::mem::swap(&mut product, &mut spare);
            }
        }
        product
    }
}

impl Group for ModP {
    type Point = Point;
    type Base = Point;

    fn point_bytes(&self) -> usize {
        self.modulus.bits_vartime().div_ceil(8) as usize
    }

    /// Hashes that are 128 bits longer than p, reduced, and raised to the cofactor's power.
    fn hash_to_points<M: AsRef<[u8]> + Sync>(&self, messages: &[M], tag: &[u8]) -> Vec<Point> {
        let field = &self.field;
        self.in_eights(messages.len(), |range| {
            let hash = |message: &M| {
                let mut bytes = Zeroizing::new(vec![0; self.point_bytes() + SPARE_BYTES]);
                expand_message_xmd(message.as_ref(), tag, &mut bytes);
                Zeroizing::new(Zeroizing::new(number_from(&bytes)).rem(self.modulus.as_nz_ref()))
            };
            let hashes: Vec<_> = messages[range.clone()].iter().map(hash).collect();
            let numbers = field.enter(&field.pack(hashes.iter().map(|hash| hash.as_words())));
            let bits = self.cofactor.bits_vartime() as usize;
            let points = match &self.squares {
                Some(_) => field.multiply(&numbers, &numbers),
                None => power(field, &numbers, &[self.cofactor.as_words(); LANES], bits),
            };
            self.points(&points, range.len())
        })
    }

    fn add(&self, points: &[Point], others: &[Point]) -> Vec<Point> {
        assert_eq!(points.len(), others.len(), "every point has one to be added");
        self.in_eights(points.len(), |range| {
            let sums = self.field.multiply(&self.pack(&points[range.clone()]), &self.pack(&others[range.clone()]));
            self.points(&sums, range.len())
        })
    }

    fn subtract(&self, points: &[Point], others: &[Point]) -> Vec<Point> {
        assert_eq!(points.len(), others.len(), "every point has one to be subtracted");
        let batch = |range: Range<usize>| {
            let groups: Vec<Lanes> = others[range.clone()].chunks(LANES).map(|others| self.pack(others)).collect();
            let each = points[range].chunks(LANES).zip(self.inverses(&groups));
            let one = |(points, inverses): (&[Point], Lanes)| {
                self.points(&self.field.multiply(&self.pack(points), &inverses), points.len())
            };
            each.flat_map(one).collect::<Vec<_>>()
        };
        parallel::ranges(points.len(), BATCH, batch).into_iter().flatten().collect()
    }

    fn any_identity(&self, points: &[Point]) -> bool {
        let differs = |point: &Point| point.0.iter().zip(&self.identity.0).fold(0, |all, (a, b)| all | a ^ b) != 0;
        points.iter().fold(false, |any, point| any | !differs(point))
    }

    fn multiply(&self, points: &[Point], scalar: &Scalar) -> Vec<Point> {
        let exponent = scalar.number();
        self.in_eights(points.len(), |range| {
            self.points(&self.powers_of_all(&points[range.clone()], &exponent), range.len())
        })
    }

    fn multiply_generator(&self, scalars: &[Scalar]) -> Vec<Point> {
        let tables = || self.tables_of(self.generator.as_words(), scalars.len());
        if scalars.len() < TABLES_FROM {
            self.powers_of_one(&tables(), scalars)
        } else {
            self.powers_of_one(self.tables.get_or_init(tables), scalars)
        }
    }

    fn multiply_encode(&self, points: &[Point], scalar: &Scalar) -> Vec<u8> {
        let exponent = scalar.number();
        self.in_eights(points.len(), |range| {
            self.encodings(&self.powers_of_all(&points[range.clone()], &exponent), range.len())
        })
    }

    fn multiply_each_encode(&self, points: &[Point], scalars: &[Scalar]) -> Vec<u8> {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        self.in_eights(points.len(), |range| {
            self.encodings(&self.powers(&points[range.clone()], &scalars[range.clone()]), range.len())
        })
    }

    fn multiply_each(&self, points: &[Point], scalars: &[Scalar]) -> Vec<Point> {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        self.in_eights(points.len(), |range| {
            self.points(&self.powers(&points[range.clone()], &scalars[range.clone()]), range.len())
        })
    }

    fn multiply_one(&self, point: &Point, scalars: &[Scalar]) -> Vec<Point> {
        let base = Zeroizing::new(self.field.leave(&self.pack(std::slice::from_ref(point))));
        self.powers_of_one(&self.tables_of(&base[..self.field.words()], scalars.len()), scalars)
    }

    fn base(&self, point: &Point) -> Point {
        point.clone()
    }

    fn multiply_base(&self, base: &Point, scalars: &[Scalar]) -> Vec<Point> {
        self.multiply_one(base, scalars)
    }

    fn combine(&self, points: &[Point], scalars: &[Scalar]) -> Point {
        assert_eq!(points.len(), scalars.len(), "every point has its scalar");
        let field = &self.field;
        let parts = points.par_chunks(COMBINED).zip(scalars.par_chunks(COMBINED));
        let parts = parts.map(|(points, scalars)| self.product_of_powers(points, scalars));
        let lanes = parts.reduce(|| field.one(), |a, b| field.multiply(&a, &b));
        let product = [4, 2, 1].into_iter().fold(lanes, |lanes, by| field.multiply(&lanes, &lanes.rotated(by)));
        self.points(&product, 1).remove(0)
    }

    /// A sum squares as often whether it has one product or `COMBINED`. Counted in squarings and products of eight
    /// places, twice the coefficients take 2.75 times as long at 64 and 3.1 times at 128, where Karatsuba's way takes 3
    /// times.
    fn full_sum(&self) -> usize {
        8 * LANES
    }

    fn double_encode(&self, points: &[Point]) -> Vec<u8> {
        self.in_eights(points.len(), |range| {
            let points = self.pack(&points[range.clone()]);
            self.encodings(&self.field.multiply(&points, &points), range.len())
        })
    }

    fn encode(&self, points: &[Point]) -> Vec<u8> {
        self.in_eights(points.len(), |range| self.encodings(&self.pack(&points[range.clone()]), range.len()))
    }

    /// The identity's encodings are 0, as which it is written, and 1.
    fn decode(&self, bytes: &[u8]) -> Result<Vec<Point>, DecodeError> {
        let length = self.point_bytes();
        if !bytes.len().is_multiple_of(length) {
            return Err(DecodeError::Length);
        }
        let one = BoxedUint::one();
        let read = |(group, bytes): (usize, &[u8])| {
            let read = |(lane, bytes): (usize, &[u8])| {
                let (number, index) = (number_from(bytes), group * LANES + lane);
                match number.bits_vartime() {
                    0 | 1 => Err(DecodeError::Identity(index)),
                    _ if number >= *self.modulus => Err(DecodeError::NotAPoint(index)),
                    _ => Ok(number),
                }
            };
            let numbers: Vec<_> = bytes.chunks(length).enumerate().map(read).collect();
            // A member stands for what is none, and in lanes that are left.
            let words = numbers.iter().map(|number| number.as_ref().unwrap_or(&one).as_words());
            let lanes = self.field.pack(words.chain(std::iter::repeat(one.as_words())).take(LANES));
            (numbers.into_iter().map(|number| number.err()).collect::<Vec<_>>(), lanes)
        };
        let (refused, numbers): (Vec<_>, Vec<_>) = bytes.par_chunks(LANES * length).enumerate().map(read).unzip();
        let members = self.members(&numbers);
        let decode = |(group, numbers): (usize, &Lanes)| {
            for (lane, refused) in refused[group].iter().enumerate() {
                refused.map_or(Ok(()), Err)?;
                if !members[group][lane] {
                    return Err(DecodeError::NotAPoint(group * LANES + lane));
                }
            }
            Ok(self.points(&self.field.enter(numbers), refused[group].len()))
        };
        let groups: Result<Vec<_>, _> = numbers.par_iter().enumerate().map(decode).collect();
        Ok(groups?.into_iter().flatten().collect())
    }
}
