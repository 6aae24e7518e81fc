//! Several encryptors, the *clients*, who share one side's columns: each has some of the rows, and a key of its own, so
//! that the work of encrypting is divided (Yang, Wright & Subramaniam, section 3.4).
//!
//! 1. The answerer draws shares for each client that add up to its own ([`blindings`]), and runs the protocol with each client
//!    over its rows, with those shares ([`answer_with`](super::answer_with)). What a client gets is uniformly random.
//! 2. The clients add up what they have, along a chain in which each has a channel to its neighbours ([`sum_up`]): the first
//!    one sends its shares to the second, each adds its own and sends on, and the last one has the sums, which go back the same
//!    way.
//!
//! The sums are the products where the answerer's own shares are zero, else the other shares of them. A client sees the
//! sum of those before it, which is uniformly random as long as one client's shares are missing in it, and the result.
//! The answerer together with both neighbours of a client learns that one's partial products.

use rand_core::CryptoRng;

use super::internal;
use crate::channel::Channel;
use crate::error::Result;
use crate::protocol::dot::{Shares, reveal};

/// The answerer's shares for its runs with each of `clients` clients: uniformly random, but that they add up to `own`.
///
/// Errors ([`Error::Internal`](crate::Error::Internal)): there are no clients.
pub fn blindings(clients: usize, own: &Shares, rng: &mut impl CryptoRng) -> Result<Vec<Shares>> {
    let last = clients.checked_sub(1).ok_or_else(|| internal("no clients"))?;
    let mut all: Vec<Shares> = (0..last).map(|_| Shares::random(own.modulus(), own.len(), rng)).collect();
    let mut rest = own.residues().to_vec();
    for shares in &all {
        rest.iter_mut().zip(shares.residues()).for_each(|(rest, share)| *rest = own.modulus().subtract(*rest, *share));
    }
    all.push(Shares::new(own.modulus(), rest)?);
    Ok(all)
}

/// A client's part in adding up: the sums of all clients' shares. The first client has no `previous` one, the last no
/// `next`.
///
/// Errors: a channel fails, or a neighbour breaks the protocol.
pub fn sum_up(mine: &Shares, mut previous: Option<&mut Channel>, next: Option<&mut Channel>) -> Result<Shares> {
    let modulus = mine.modulus();
    let zeros = || Shares::new(modulus, vec![0; mine.len()]);
    let hear = |own: &Shares, channel: &mut Channel| {
        let sums = reveal(own, true, false, channel)?.ok_or_else(|| internal("nothing was opened"))?;
        Shares::new(modulus, sums)
    };
    let until_here = match &mut previous {
        Some(previous) => hear(mine, previous)?,
        None => Shares::new(modulus, mine.residues().to_vec())?,
    };
    let sums = match next {
        Some(next) => {
            reveal(&until_here, false, true, next)?;
            hear(&zeros()?, next)?
        }
        None => until_here,
    };
    if let Some(previous) = previous {
        reveal(&sums, false, true, previous)?;
    }
    Ok(sums)
}
