//! Cross tables: two parties (or [several](mesh)) hold shares of the counts of a table's cells, and open those that
//! tell of enough rows.
//!
//! The table has a row for each category of the first party, and a column for each of the second. A count is the scalar
//! product of two columns that say which rows are of a category ([`dot`](super::dot)). Each party may know its own
//! margins, and a table that goes around has both. So it is not enough that small cells are closed: what closes besides
//! is chosen such that the open cells and all margins together determine no closed cell ([`closing()`]; complementary
//! suppression, as in Cox, "Suppression methodology and statistical disclosure control", JASA 1980).
//!
//! 1. Each shared count is compared with the least one that may be opened ([`at_least`]). The answers stay
//!    shared: a zero is a small count as any other.
//! 2. A circuit over the shared answers makes a bit for each cell: whether it closes ([`bits`](super::shares::bits)).
//! 3. These bits are opened, to both. Neither is told whether a closed cell is small; where the closed cells of a line
//!    have little more than the least number together, margins and the places of closed cells can tell it.
//! 4. Counts of open cells are opened, to those who learn ([`open`]). The shares of closed ones never leave their party.
//!
//! What closes besides small cells is chosen by the numbers of categories, and never by size. Each party numbers its
//! own at random, and in every run alike: else one run would open what closed in another besides a small cell, and both
//! together would tell that. Semi-honest parties.

mod closing;
pub mod mesh;
mod params;

pub use closing::closing;
pub use params::{MAX_CELLS, Params};

use rand_core::CryptoRng;

use super::dot::{Shares, reveal};
use super::shares::at_least;
use super::shares::bits::{BitGates, BitParty, First, Second, SharedGates};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::primitive::ot::{RandomOtReceiver, RandomOtSender};
use crate::role::Side;
use crate::session::Session;

/// Returns for each cell whether it stays closed, from a party's shares of the counts, with noise if they have any: all
/// cells of the first party's first category, then those of the next. Both parties learn that, and nothing else.
///
/// Errors: the shares are not those of such a table; the channel's; the peer's.
pub fn closed(
    side: Side,
    counts: &Shares,
    params: &Params,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<bool>> {
    match (params.known(), side) {
        (Some(answer), _) => Ok(vec![answer; params.cells()]),
        (None, Side::First) => {
            let mut ot = at_least::first_setup(session, channel, rng)?;
            first_over(counts, params, &mut ot, channel, rng)
        }
        (None, Side::Second) => {
            let mut ot = at_least::second_setup(session, channel, rng)?;
            second_over(counts, params, &mut ot, channel, rng)
        }
    }
}

/// Runs the first party's role as [`closed`] does, over given OTs.
pub fn first_over(
    counts: &Shares,
    params: &Params,
    ot: &mut impl RandomOtSender,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<bool>> {
    // Of numbers that noise may make negative, one party raises its shares.
    let raised = counts.plus(&vec![params.tail.into(); counts.len()]);
    decide(&raised, params, &mut First(ot), channel, rng)
}

/// The other side of [`first_over`].
pub fn second_over(
    counts: &Shares,
    params: &Params,
    ot: &mut impl RandomOtReceiver,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<bool>> {
    decide(counts, params, &mut Second(ot), channel, rng)
}

fn decide(
    counts: &Shares,
    params: &Params,
    party: &mut impl BitParty,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<bool>> {
    if counts.len() != params.cells() || counts.modulus() != params.modulus()? {
        return Err(Error::Internal("crosstab: shares of another table".into()));
    }
    if let Some(answer) = params.known() {
        return Ok(vec![answer; params.cells()]);
    }
    let large = at_least::shared(counts, params.bound(), params.threshold(), party, channel, rng)?;
    let mut gates = SharedGates { party, channel, rng };
    let small = gates.not(&large);
    let closed = closing(&small, [params.first, params.second], &mut gates)?;
    gates.open(&closed)
}

/// Opens the numbers of cells that are not closed to this party, to the peer, or to both. Returns them, with nothing in
/// the place of closed ones, if this party learns them. Shares of closed cells are not touched.
///
/// Errors: the channel's; the peer sends something that is no residue.
pub fn open(
    numbers: &Shares,
    closed: &[bool],
    to_me: bool,
    to_peer: bool,
    channel: &mut Channel,
) -> Result<Option<Vec<Option<u128>>>> {
    let open: Vec<u128> =
        numbers.residues().iter().zip(closed).filter(|(_, closed)| !**closed).map(|(share, _)| *share).collect();
    let opened = reveal(&Shares::new(numbers.modulus(), open)?, to_me, to_peer, channel)?;
    Ok(opened.map(|opened| {
        let mut opened = opened.into_iter();
        closed.iter().map(|closed| if *closed { None } else { opened.next() }).collect()
    }))
}
