//! Comparison of shared numbers with a public threshold: both parties learn for each number whether it reaches the
//! threshold, and nothing else. Semi-honest.
//!
//! With shares a and b modulo 2^l of a number v, and v - threshold in [-2^(l-1), 2^(l-1)), the answer is the complement
//! of the highest bit of a - threshold + b. That is the exclusive or of both summands' highest bits and of the carry
//! out of the l - 1 bits below, which is 1 if the first party's bits are greater than the complement of the second
//! party's: a millionaires' problem. As in Rathee, Rathee, Kumar, Chandran, Gupta, Rastogi and Sharma, "CrypTFlow2:
//! Practical 2-party secure inference" (CCS 2020), algorithm 1, blocks of four bits are compared by one transfer out of
//! sixteen (`gates.rs`), and the blocks' answers are put together in a tree (`tree.rs`): with "greater" and "equal" of
//! an upper and a lower part,
//!
//! - greater = greater_upper + equal_upper * greater_lower,
//! - equal = equal_upper * equal_lower,
//!
//! all of them shared bit by bit. The tree's products come from products of random bits, which are made along with the
//! blocks' transfers: after those, a level of the tree is one exchange of messages. The modulus is first reduced to the
//! least that tells the answers apart, which takes no message.
//!
//! The first party is the sender of all OTs, the second their receiver.

pub mod bits;
mod circuit;
mod gates;
mod mesh;
mod params;
mod planes;
mod tree;

pub use mesh::MeshComparison;
pub(crate) use mesh::MeshGates;
pub use params::{K, Params};
pub(crate) use planes::Planes;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use bits::{BitParty, First, Second, SharedBits};
use circuit::Circuit;

use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::ot::softspoken::{RandomReceiver, RandomSender};
use crate::primitive::ot::{RandomOtReceiver, RandomOtSender};
use crate::protocol::dot::Shares;
use crate::role::Side;
use crate::session::Session;

/// A party's part: for each number, known to be in 0 to `bound`, whether it is at least `threshold`. Makes the OTs that
/// it needs, once in a session; for more batches, see [`first_setup`] and [`first_over`].
///
/// Errors: [`Error::Input`](crate::Error::Input) if `shares` are not modulo a power of two that is more than twice
/// `bound`; the channel's; the peer's.
pub fn run(
    side: Side,
    shares: &Shares,
    bound: u128,
    threshold: u128,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<bool>> {
    let params = Params::new(shares.len(), shares.modulus(), bound, threshold)?;
    match (params.known(), side) {
        (Some(answers), _) => Ok(answers),
        (None, Side::First) => {
            first_over(shares, bound, threshold, &mut first_setup(session, channel, rng)?, channel, rng)
        }
        (None, Side::Second) => {
            second_over(shares, bound, threshold, &mut second_setup(session, channel, rng)?, channel, rng)
        }
    }
}

/// Makes OTs for any number of calls of [`first_over`]; once in a session.
pub fn first_setup(session: &Session, channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<RandomSender> {
    RandomSender::setup(&Params::transfers()?, session, PURPOSE, channel, rng)
}

/// The other side of [`first_setup`].
pub fn second_setup(session: &Session, channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<RandomReceiver> {
    RandomReceiver::setup(&Params::transfers()?, session, PURPOSE, channel, rng)
}

/// Runs the first party's role as [`run`] does, over given OTs.
pub fn first_over(
    shares: &Shares,
    bound: u128,
    threshold: u128,
    ot: &mut impl RandomOtSender,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<bool>> {
    opened(shares, bound, threshold, &mut First(ot), channel, rng)
}

/// Runs the second party's role as [`run`] does, over given OTs.
pub fn second_over(
    shares: &Shares,
    bound: u128,
    threshold: u128,
    ot: &mut impl RandomOtReceiver,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<bool>> {
    opened(shares, bound, threshold, &mut Second(ot), channel, rng)
}

/// The answers, which both parties learn.
fn opened(
    shares: &Shares,
    bound: u128,
    threshold: u128,
    party: &mut impl BitParty,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<bool>> {
    let params = Params::new(shares.len(), shares.modulus(), bound, threshold)?;
    match params.known() {
        Some(answers) => Ok(answers),
        None => tree::open_answers(&compared(shares, threshold, &params, party, channel, rng)?, channel),
    }
}

/// The answers as bits that the parties share.
pub(crate) fn shared(
    shares: &Shares,
    bound: u128,
    threshold: u128,
    party: &mut impl BitParty,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<SharedBits> {
    let params = Params::new(shares.len(), shares.modulus(), bound, threshold)?;
    match params.known() {
        Some(answers) => Ok(answers.into_iter().map(|answer| answer && party.leads()).collect()),
        None => Ok(SharedBits::of_plane(&compared(shares, threshold, &params, party, channel, rng)?)),
    }
}

/// A plane of shares of the answers, where public values do not give them.
fn compared(
    shares: &Shares,
    threshold: u128,
    params: &Params,
    party: &mut impl BitParty,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Planes> {
    // What is compared is a - threshold, with b; the answer is the complement of the sign. The second party's bits
    // below the highest are compared in their complement.
    let (modulus, highest) = (u128::MAX >> (128 - params.bits()), 1 << (params.bits() - 1));
    let own = |&share: &u128| {
        if party.leads() {
            (share.wrapping_sub(threshold) & modulus) ^ highest
        } else {
            (share & modulus) ^ (highest - 1)
        }
    };
    let own: Zeroizing<Vec<u128>> = Zeroizing::new(shares.residues().iter().map(own).collect());
    let circuit = Circuit::new(params.bits() - 1);
    let masks = Planes::random(circuit.masks(), own.len(), rng);
    let outputs = party.transfer(&circuit, &own, &masks, channel)?;
    tree::answers(&circuit, &own, &masks, &outputs, party.leads(), channel)
}

/// Purpose for which the OTs' keys are derived.
const PURPOSE: &str = "comparison of shares";
