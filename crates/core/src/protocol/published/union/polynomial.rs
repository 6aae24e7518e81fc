//! `polynomial`: the union as the roots of a product of encrypted polynomials, φ ⊗ f, as it was published. Kissner &
//! Song, "Privacy-preserving set operations" (CRYPTO 2005), theorem 1, for two parties as Kim & Kim, "An experimental
//! study of encrypted polynomial arithmetics for private set operations" (KK), section II.B, "Union", with values at
//! points too, which they leave to later work (section VI).
//!
//! The receiver (KK's client) makes the polynomial φ that has its items as roots, and sends it encrypted under a key of
//! its own. The sender (the server) makes ψ of its own items, and answers φ ψ, encrypted: each item of either set is a
//! root. A fresh encryption of zero is added to everything.
//!
//! **No items come out.** Exponential ElGamal shows whether a number is zero, and no numbers: the receiver opens φ ψ "in the
//! exponent", evaluates it at candidates, which it has to bring, and finds which of them are in the union.
//!
//! **It tells which items are common.** What both have is a root of φ ψ twice. Theorem 1 promises that the product tells no more than the
//! *multiset* union, in which multiplicities are added up; for two parties, one of whom knows its own set, that is both sets. Who
//! has φ ψ and φ divides, has ψ in the exponent, and can test any key, its own among them, for being the sender's. Nor
//! would this help:
//! - a random number for each bin: zeros stay zeros;
//! - a random polynomial as a further factor: it adds roots that nobody can name, and those of ψ stay, twice where they are common;
//! - adding a random multiple of φ, as the intersection does: what is common remains, and what is the sender's alone, which the union
//!   is about, goes.
//!
//! What does help is that the receiver sees values at points that the sender chooses, in the sender's order:
//! [`super::polynomial_ot`].
//!
//! Semi-honest parties only. Bins and strategies are those of [`crate::protocol::published::intersect::polynomial`].

use chacha20::ChaCha20Rng;
use rand_core::CryptoRng;

use crate::channel::{Channel, HEADER_BYTES};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::group::Group;
use crate::protocol::intersect::tag_exchange::items::{all_distinct, fork};
use crate::protocol::published::intersect::polynomial::bins::Bins;
use crate::protocol::published::intersect::polynomial::form::Form;
use crate::protocol::published::intersect::polynomial::group::with;
use crate::protocol::published::intersect::polynomial::{
    self, PolynomialCost, PolynomialRequest, PolynomialReveal, cost, messages, rows,
};
use crate::protocol::published::intersect::polynomial::{ANSWERS, POLYNOMIALS, PUBLIC_KEY};
use crate::role::Role;

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params(polynomial::Params);

impl Params {
    /// For sets of so many items. Polynomials are those of an intersection that reveals rows; what `wanted` says of
    /// that is of no account.
    ///
    /// Errors ([`Error::Input`]): those of [`polynomial::Params::new`].
    pub fn new(wanted: PolynomialRequest, receiver_items: usize, sender_items: usize) -> Result<Params> {
        let wanted = PolynomialRequest { reveal: PolynomialReveal::Rows, ..wanted };
        polynomial::Params::new(wanted, receiver_items, sender_items).map(Params)
    }

    /// Strategy, group and bins.
    pub fn polynomials(&self) -> &polynomial::Params {
        &self.0
    }

    /// Bytes that a party sends in all, frame headers included and heartbeats not.
    pub fn bytes_sent_by(&self, role: Role) -> u64 {
        self.0.bytes_of_messages(role) + HEADER_BYTES as u64
    }

    /// Message flights in sequence, as [`crate::channel::Traffic`] counts them.
    pub fn rounds(&self) -> u32 {
        2
    }

    /// Returns the cost of a run, in operations of the group, if the receiver brings so many candidates.
    pub fn cost(&self, candidates: usize) -> PolynomialCost {
        cost::of_looking_at(&self.0, candidates)
    }

    /// Memory of the party with this role besides its items and candidates, in bytes, an estimate from above for two
    /// threads.
    pub fn memory(&self, role: Role, candidates: usize) -> u64 {
        let of_candidates = match role {
            Role::Receiver => self.0.memory_of_items(candidates),
            Role::Sender => 0,
        };
        self.0.memory(role) + of_candidates
    }
}

/// The receiver's role (KK's client): returns the indices of the candidates that one of the parties has, or both,
/// ascending. There may be any number of them; the sender can tell how many about by the time. Items are distinct,
/// candidates too, and all are made with a key of this session.
///
/// Errors: [`Error::NotReady`] if the items do not fit their bins, before anything is sent; the channel fails, or the
/// peer breaks the protocol.
pub fn receive(
    items: &[Item],
    candidates: &[Item],
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<usize>> {
    params.0.check(Role::Receiver, items, PolynomialReveal::Rows)?;
    if candidates.len() > u32::MAX as usize || !all_distinct(candidates) {
        return Err(Error::Internal("union: the candidates are not distinct, or 2^32 or more".into()));
    }
    receive_by(items, candidates, params, channel, fork(rng))
}

/// The sender's role (the server), which learns nothing. Items must be distinct, and made with a key of this session.
///
/// Errors: those of [`receive`].
pub fn send(items: &[Item], params: &Params, channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<()> {
    params.0.check(Role::Sender, items, PolynomialReveal::Rows)?;
    send_by(items, params, channel, fork(rng))
}

// Without type parameters: see `polynomial::rows`.
fn receive_by(
    items: &[Item],
    candidates: &[Item],
    params: &Params,
    channel: &mut Channel,
    mut rng: ChaCha20Rng,
) -> Result<Vec<usize>> {
    let own = Bins::new(items, Role::Receiver, &params.0, &mut rng)?;
    let candidates = Bins::of_candidates(candidates, &params.0);
    // 1. to 4. φ, encrypted; 6. and 7. φ ψ, opened; 8. those of the candidates that are its roots.
    with!(params.0.curve(), |group| rows::roots_in(group, &own, &candidates, &params.0, channel, rng))
}

fn send_by(items: &[Item], params: &Params, channel: &mut Channel, rng: ChaCha20Rng) -> Result<()> {
    with!(params.0.curve(), |group| send_in(group, items, &params.0, channel, rng))
}

fn send_in<G: Group + Sync>(
    group: &G,
    items: &[Item],
    params: &polynomial::Params,
    channel: &mut Channel,
    mut rng: ChaCha20Rng,
) -> Result<()> {
    let bins = Bins::new(items, Role::Sender, params, &mut rng)?;
    let form = Form::new(group, params);
    let progress = channel.progress().clone();
    progress.start("multiplying polynomials", params.bins());

    let (outgoing, incoming) = channel.halves();
    let key = messages::receive_key(group, PUBLIC_KEY, incoming)?;
    for portion in params.portions() {
        let count = portion.len() * params.ciphertexts_of_bin();
        let polynomials = messages::receive(group, POLYNOMIALS, count, incoming)?;
        // 5. ψ of each bin, and φ ψ, with a fresh [0] for each coefficient or value.
        let roots = bins.roots(group, &portion, &mut rng);
        let products = form.multiply_by_roots(group, &polynomials, &roots);
        // 6.
        messages::send(group, ANSWERS, &key.rerandomize(group, &products, &mut rng), outgoing)?;
        progress.advance(portion.len());
    }
    Ok(())
}
