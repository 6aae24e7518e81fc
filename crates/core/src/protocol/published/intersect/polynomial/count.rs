//! Roles that reveal the number of common items.

use rand_core::CryptoRng;

use super::{Params, PolynomialReveal, values};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::shuffle::random_order;
use crate::protocol::intersect::tag_exchange::items::fork;
use crate::role::Role;

/// The receiver's role: returns how many items are common. Items must be distinct, and made with a key of this session.
///
/// Errors: [`Error::NotReady`](crate::Error::NotReady) if the items do not fit their bins, before anything is sent; the
/// channel fails, or the peer breaks the protocol.
pub fn receive(items: &[Item], params: &Params, channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<usize> {
    params.check(Role::Receiver, items, PolynomialReveal::Count)?;
    if params.is_empty() {
        return Ok(0);
    }
    // 7. As many are common as answers are encryptions of 0.
    let zeros = values::receive(items, params, channel, fork(rng))?;
    Ok(zeros.iter().filter(|is_zero| **is_zero).count())
}

/// The sender's role. Items must be distinct, and made with a key of this session. Nothing is learned.
///
/// Errors: those of [`receive`].
pub fn send(items: &[Item], params: &Params, channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<()> {
    params.check(Role::Sender, items, PolynomialReveal::Count)?;
    if params.is_empty() {
        return Ok(());
    }
    values::send(items, params, channel, fork(rng), &|bins, rng| random_order(bins.count(), rng))
}
