//! Private scalar products: two parties hold columns of integers over the same rows, and get, for each pair of a column
//! of the first and a column of the second, the sum of the products, or shares of it.
//!
//! Every protocol here ends with [`Shares`]: each party alone holds uniformly random residues, and both together add up
//! to the products modulo [`Modulus`]. [`reveal`] opens them to one party or to both.
//!
//! ```
//! use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, lattice, reveal};
//! use tacita_core::session::Transcript;
//! use tacita_core::{Channel, Result, Session, Side};
//! # fn rng() -> chacha20::ChaCha20Rng {
//! #     let mut seed = [0; 32];
//! #     getrandom::fill(&mut seed).unwrap();
//! #     rand_core::SeedableRng::from_seed(seed)
//! # }
//!
//! let session = Session::new(Transcript::new("example"));
//! let shape = Shape { rows: 4, first: 1, second: 1, integers: Integers::BINARY };
//! let params = lattice::Params::new(shape, "2^32".parse::<Modulus>()?, None)?;
//! let run = |side, bits: [i64; 4], channel: &mut Channel| -> Result<Option<Vec<u128>>> {
//!     let mut columns = Columns::new(shape.integers, shape.rows);
//!     columns.push(bits)?;
//!     let shares = lattice::run(side, &columns, &params, &session, channel, &mut rng())?;
//!     // The first party learns, the second opens its shares to it.
//!     reveal(&shares, side == Side::First, side == Side::Second, channel)
//! };
//! let (mut to_second, mut to_first) = Channel::pair("first", "second");
//! let product = std::thread::scope(|scope| {
//!     scope.spawn(|| run(Side::Second, [1, 0, 1, 1], &mut to_first));
//!     run(Side::First, [1, 1, 1, 0], &mut to_second)
//! })?;
//! assert_eq!(product, Some(vec![2]));
//! # Result::Ok(())
//! ```

mod columns;
pub mod lattice;
mod modulus;
pub mod ot;
pub mod paillier;
mod shares;

pub use crate::channel::labels::dot::SHARES;
pub use columns::{Columns, Integers, MAX_BITS, MAX_ROWS};
pub use modulus::Modulus;
pub(crate) use shares::exchange_some;
pub use shares::{Shares, exchange, reveal, reveal_bytes};

use crate::error::{Error, Result};
use crate::role::Side;

/// Shape of the columns that are multiplied; known to both parties.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Rows that both have.
    pub rows: usize,
    /// Columns of the first party.
    pub first: usize,
    /// Columns of the second party.
    pub second: usize,
    /// Range of the integers in all columns.
    pub integers: Integers,
}

impl Shape {
    /// Returns the number of columns of a party.
    pub fn columns(&self, side: Side) -> usize {
        match side {
            Side::First => self.first,
            Side::Second => self.second,
        }
    }

    /// Refuses a choice of products, each given by the columns of the first and the second party: columns that are not
    /// there, a pair that stands there twice, and a column of `side` that is in no pair.
    pub(crate) fn check_pairs(&self, pairs: &[(u32, u32)], side: Side) -> Result<()> {
        let mut alone = vec![true; self.columns(side)];
        for &(first, second) in pairs {
            if first as usize >= self.first || second as usize >= self.second {
                return Err(Error::Internal("dot: a pair of columns that are not there".into()));
            }
            alone[if side == Side::First { first } else { second } as usize] = false;
        }
        if alone.contains(&true) {
            return Err(Error::Internal("dot: a column that is multiplied with none".into()));
        }
        let mut sorted = pairs.to_vec();
        sorted.sort_unstable();
        if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
            Err(Error::Internal("dot: a pair that is asked for twice".into()))
        } else {
            Ok(())
        }
    }

    /// Returns the number of products.
    pub fn products(&self) -> usize {
        self.first * self.second
    }

    /// The smallest and the largest value that a product can have.
    pub fn range(&self) -> (i128, i128) {
        let (low, high) = self.integers.range();
        let (low, high, rows) = (i128::from(low), i128::from(high), self.rows as i128);
        ((low * high).min(0) * rows, (low * low).max(high * high) * rows)
    }

    /// The smallest power of two modulo which no possible value of a product is mistaken for another: what shares need
    /// that are opened to a value.
    pub fn value_modulus(&self) -> Result<Modulus> {
        self.products_range().modulus()
    }

    /// The values that a product can have.
    fn products_range(&self) -> ProductRange {
        ProductRange { ends: self.range(), signed: self.integers.signed() }
    }

    /// Whether all possible values of a product are told apart modulo `modulus`, signed values by the sign that
    /// [`Modulus::integer`] gives them.
    pub fn fits(&self, modulus: &Modulus) -> bool {
        self.products_range().fits(modulus)
    }
}

/// Values that the sum over some rows of products of integers can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProductRange {
    ends: (i128, i128),
    signed: bool,
}

impl ProductRange {
    /// The range of sums over so many rows of products of so many `integers` each.
    ///
    /// Errors ([`Error::Input`]): no modulus holds them.
    pub fn new(rows: usize, factors: usize, integers: Integers) -> Result<ProductRange> {
        let bits = integers.bits();
        let too_long = || {
            Error::Input(format!(
                "bits = {bits}: the sum over {rows} rows of products of {factors} such numbers may need more than 127 bits: agree \
                 on fewer bits"
            ))
        };
        let (low, high) = integers.range();
        let one = |(from, to): (i128, i128)| -> Option<(i128, i128)> {
            let ends = [(from, low), (from, high), (to, low), (to, high)];
            let ends: Vec<i128> =
                ends.into_iter().map(|(end, factor)| end.checked_mul(factor.into())).collect::<Option<_>>()?;
            Some((*ends.iter().min()?, *ends.iter().max()?))
        };
        let all = (0..factors).try_fold((1, 1), |ends, _| one(ends));
        let sum = |end: i128| end.checked_mul(rows as i128);
        let ends = all.and_then(|(from, to)| Some((sum(from)?, sum(to)?))).ok_or_else(too_long)?;
        let range = ProductRange { ends, signed: integers.signed() };
        range.modulus().map_err(|_| too_long())?;
        Ok(range)
    }

    /// The range of the same numbers with noise from -`tail` to `tail`: signed.
    ///
    /// Errors ([`Error::Input`]): no modulus holds them.
    pub fn widened(&self, tail: u128) -> Result<ProductRange> {
        let too_long = || {
            Error::Input(
                "noise: products with it may need more than 127 bits: agree on narrower bounds or fewer bits".into(),
            )
        };
        let tail = i128::try_from(tail).map_err(|_| too_long())?;
        let ends = self.ends.0.checked_sub(tail).zip(self.ends.1.checked_add(tail)).ok_or_else(too_long)?;
        let range = ProductRange { ends, signed: true };
        range.modulus().map_err(|_| too_long())?;
        Ok(range)
    }

    /// The smallest and the largest.
    pub fn ends(&self) -> (i128, i128) {
        self.ends
    }

    /// The smallest power of two modulo which none is mistaken for another.
    pub fn modulus(&self) -> Result<Modulus> {
        let (low, high) = self.ends;
        let bits = |value: i128| 128 - value.unsigned_abs().leading_zeros();
        // A signed residue counts as negative from half of the modulus on.
        let bits = if self.signed { bits(high).max(bits(low + i128::from(low < 0))) + 1 } else { bits(high) };
        Modulus::power_of_two(bits.max(1))
    }

    /// Whether all are told apart modulo `modulus`, signed ones by the sign that [`Modulus::integer`] gives them.
    pub fn fits(&self, modulus: &Modulus) -> bool {
        [self.ends.0, self.ends.1].into_iter().all(|value| modulus.tells(value, self.signed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_of_products_are_those_of_all_their_factors() {
        for (bits, signed) in [(1, false), (1, true), (2, true), (3, false), (3, true)] {
            let integers = Integers::new(bits, signed).unwrap();
            let (low, high) = integers.range();
            for factors in 2..=5 {
                let mut all = vec![1i128];
                for _ in 0..factors {
                    all = all.iter().flat_map(|one| (low..=high).map(move |x| one * i128::from(x))).collect();
                }
                let ends = (all.iter().min().unwrap() * 7, all.iter().max().unwrap() * 7);
                let range = ProductRange::new(7, factors, integers).unwrap();
                assert_eq!(range.ends(), ends, "{bits} {signed} {factors}");
                assert!(range.fits(&range.modulus().unwrap()));
            }
            let shape = Shape { rows: 7, first: 1, second: 1, integers };
            assert_eq!(ProductRange::new(7, 2, integers).unwrap(), shape.products_range());
        }
        let long = Integers::new(32, true).unwrap();
        assert!(ProductRange::new(1 << 20, 3, long).is_ok());
        assert!(matches!(ProductRange::new(1 << 20, 4, long), Err(Error::Input(_))));
        assert!(matches!(ProductRange::new(MAX_ROWS, 16, long), Err(Error::Input(_))));
    }

    #[test]
    fn the_smallest_modulus_holds_every_value_and_half_of_it_does_not() {
        for bits in [1, 2, 7, 31, 32] {
            for signed in [false, true] {
                for rows in [0, 1, 2, 3, 1000, MAX_ROWS] {
                    let integers = Integers::new(bits, signed).unwrap();
                    let shape = Shape { rows, first: 1, second: 1, integers };
                    // Two's complement is not symmetric: the square of the lowest value may need one bit more.
                    let modulus = shape.value_modulus().unwrap();
                    assert!(shape.fits(&modulus), "{shape:?}");
                    let smaller = Modulus::power_of_two((modulus.bits() - 1).max(1)).unwrap();
                    assert!(modulus.bits() == 1 || !shape.fits(&smaller), "{shape:?}");
                }
            }
        }
    }
}
