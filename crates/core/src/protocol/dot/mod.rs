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
pub use shares::{Shares, reveal, reveal_bytes};

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
        let (low, high) = self.range();
        let bits = |value: i128| 128 - value.unsigned_abs().leading_zeros();
        // A signed residue counts as negative from half of the modulus on.
        let bits =
            if self.integers.signed() { bits(high).max(bits(low + i128::from(low < 0))) + 1 } else { bits(high) };
        Modulus::power_of_two(bits.max(1))
    }

    /// Whether all possible values of a product are told apart modulo `modulus`, signed values by the sign that
    /// [`Modulus::integer`] gives them.
    pub fn fits(&self, modulus: &Modulus) -> bool {
        let (low, high) = self.range();
        let signed = self.integers.signed();
        [low, high].into_iter().all(|value| modulus.tells(value, signed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
