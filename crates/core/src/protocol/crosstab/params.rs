//! Parameters that both parties agree on before the first message, and the costs that follow from them.

use super::closing;
use crate::channel::HEADER_BYTES;
use crate::error::{Error, Result};
use crate::protocol::dot::{MAX_ROWS, Modulus};
use crate::protocol::shares::at_least;
use crate::protocol::shares::bits::{PlainGates, SharedBits, product_bytes};
use crate::role::Side;

/// The most cells of a table.
pub const MAX_CELLS: usize = 1 << 14;

/// Agreed public values of one table. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Rows that are counted, at most.
    pub rows: usize,
    /// Categories of the first party.
    pub first: usize,
    /// Categories of the second party.
    pub second: usize,
    /// The least count that may be opened. 0 opens all.
    pub minimum: u64,
    /// Counts have noise from -`tail` to `tail`; 0 without noise.
    pub tail: u64,
}

impl Params {
    /// Refuses a table that is too large.
    pub fn check(&self) -> Result<()> {
        if self.rows > MAX_ROWS {
            return Err(Error::Input(format!("{} rows: at most {MAX_ROWS} are possible", self.rows)));
        }
        // Of one party's, too, if the other has none.
        match self.first.max(1).checked_mul(self.second.max(1)) {
            Some(..=MAX_CELLS) => Ok(()),
            _ => Err(Error::Input(format!(
                "the table has {} x {} cells, and at most {MAX_CELLS} are possible: put numbers into bins, or name fewer columns",
                self.first, self.second
            ))),
        }
    }

    /// Returns the number of cells.
    pub fn cells(&self) -> usize {
        self.first * self.second
    }

    /// The largest number that is compared: a count with noise, raised by the largest noise so that none is negative.
    pub(super) fn bound(&self) -> u128 {
        self.rows as u128 + 2 * u128::from(self.tail)
    }

    /// The least number that is open, of those.
    pub(super) fn threshold(&self) -> u128 {
        u128::from(self.minimum) + u128::from(self.tail)
    }

    /// Returns the modulus of shares of counts: more than twice the largest number that is compared.
    pub fn modulus(&self) -> Result<Modulus> {
        Modulus::power_of_two(u128::BITS - self.bound().leading_zeros() + 1)
    }

    /// Whether all cells close, if public values alone say so: then no message travels.
    pub(super) fn known(&self) -> Option<bool> {
        match self.minimum {
            0 => Some(false),
            _ if self.cells() == 0 => Some(false),
            _ if self.threshold() > self.bound() => Some(true),
            _ => None,
        }
    }

    /// Bytes that a party sends in [`closed`](super::closed), frames' headers included, the closing frame not.
    pub fn bytes_sent_by(&self, side: Side) -> Result<u64> {
        self.bytes(side, 1)
    }

    /// The same in [`first_over`](super::first_over) or [`second_over`](super::second_over), on top of the OTs.
    pub fn bytes_sent_over_by(&self, side: Side) -> Result<u64> {
        self.bytes(side, 0)
    }

    fn bytes(&self, side: Side, with_transfers: usize) -> Result<u64> {
        if self.known().is_some() {
            return Ok(0);
        }
        let compared = at_least::Params::new(self.cells(), self.modulus()?, self.bound(), self.threshold())?;
        let compared =
            if with_transfers == 1 { compared.bytes_sent_by(side) } else { compared.bytes_sent_over_by(side) };
        let transfers = at_least::Params::transfers()?;
        let products =
            self.layers()?.into_iter().map(|products| product_bytes(products, side, &transfers)[with_transfers]);
        let opened = self.cells().div_ceil(8);
        // The comparison's answers, which would be opened there, stay shared, and as many bits are opened here.
        let answers = (opened + HEADER_BYTES) as u64;
        Ok(compared - answers + products.sum::<u64>() + answers)
    }

    /// Products of shared bits, in the order in which they are made.
    pub(super) fn layers(&self) -> Result<Vec<usize>> {
        let mut gates = PlainGates::default();
        let small: SharedBits = (0..self.cells()).map(|_| false).collect();
        closing(&small, [self.first, self.second], &mut gates)?;
        Ok(gates.layers)
    }

    /// Products of shared bits in all.
    pub fn products(&self) -> Result<usize> {
        Ok(if self.known().is_some() { 0 } else { self.layers()?.iter().sum() })
    }

    /// Message flights in sequence of [`closed`](super::closed), an estimate.
    pub fn rounds(&self) -> Result<u32> {
        if self.known().is_some() {
            return Ok(0);
        }
        let compared = at_least::Params::new(self.cells(), self.modulus()?, self.bound(), self.threshold())?;
        // Corrections, tables, and an exchange.
        Ok(compared.rounds() + 3 * self.layers()?.len() as u32)
    }
}
