//! `ot`: scalar products by oblivious transfer.
//!
//! One party's integers are decomposed into bits, and each bit chooses in one OT between nothing and the other party's
//! integer in that row; neither learns the outcome, of which both get shares. Sums of shares are shares of sums.
//! (Gilboa, "Two party RSA key generation", CRYPTO 1999.) The OTs are SoftSpoken's or those of silent COT.
//!
//! The party with more columns is the OT sender: all its columns share the OT of a row and bit, so that there is one
//! for each row and bit of the other party's columns, the chooser's. For a plane of bits j, that is bit j of one of the
//! chooser's columns in all rows, and a row i with bit y and random blocks m_0 and m_1, both of which become words for
//! each of the sender's columns:
//!
//! - the sender's share is -m_0, and it sends d = m_0 + x_i - m_1;
//! - the chooser's share is m_y + y d.
//!
//! The shares' sum is y x_i. What both keep is the sum over all rows, times what bit j stands for: 2^j, or -2^j for a
//! sign. Modulo 2^l, words of plane j have l - j bits.
//!
//! All keys are derived from the session and the number of the batch: runs of one session have
//! [numbers](Params::numbered) of their own.
//!
//! Semi-honest parties only: nothing holds the sender to one integer a row, or to its range. It could send d for 1, 2,
//! 4, ... and read bits of y out of one opened number. A malicious chooser gets no more than products with bits of its
//! choice. `docs/protocols/dot-ot.md` is the specification.

mod extension;
pub mod mesh;
pub mod pairs;
mod params;
mod products;
mod ring;
mod silent;
mod words;

pub use extension::Extension;
pub use params::{MAX_COLUMNS, Params};

use rand_core::CryptoRng;

use super::{Columns, Shares};
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::ot::softspoken::{RandomReceiver, RandomSender};
use crate::primitive::ot::{RandomOtReceiver, RandomOtSender};
use crate::role::Side;
use crate::session::Session;
use products::Products;

/// A party's part: its shares of the products, row by row (all columns of the second party with the first column of
/// the first, and so on). Uniformly random, unless there are no rows: then all are zero.
///
/// Errors: the channel fails, or the peer breaks the protocol; [`Error::Internal`](crate::Error::Internal) for columns
/// that do not have the agreed shape.
pub fn run(
    side: Side,
    columns: &Columns,
    params: &Params,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Shares> {
    let sends = side == params.ot_sender();
    let mut products = Products::new(side, columns, params, session, channel)?;
    // Nothing travels where nothing is transferred.
    if params.transfers() == 0 {
        return products.shares();
    }
    let purpose = &params.purpose();
    match (params.extension().softspoken()?, sends) {
        (Some(form), true) => {
            let mut ot = RandomSender::setup(&form, session, purpose, channel, rng)?;
            params.segments().try_for_each(|segment| products.send(&segment, &mut ot, channel))?;
        }
        (Some(form), false) => {
            let mut ot = RandomReceiver::setup(&form, session, purpose, channel, rng)?;
            params.segments().try_for_each(|segment| products.receive(&segment, &mut ot, channel))?;
        }
        (None, true) => {
            let mut ot = silent::Sender::setup(session, purpose, channel, rng)?;
            for segment in params.segments() {
                ot.refill(segment.transfers(), channel)?;
                products.send(&segment, &mut ot, channel)?;
            }
        }
        (None, false) => {
            let mut ot = silent::Receiver::setup(session, purpose, channel, rng)?;
            for segment in params.segments() {
                ot.refill(segment.transfers(), channel)?;
                products.receive(&segment, &mut ot, channel)?;
            }
        }
    }
    products.shares()
}

/// The part of the party that is [`Params::ot_sender`], over random OTs from elsewhere.
pub fn send_over(
    columns: &Columns,
    params: &Params,
    session: &Session,
    ot: &mut impl RandomOtSender,
    channel: &mut Channel,
) -> Result<Shares> {
    let mut products = Products::new(params.ot_sender(), columns, params, session, channel)?;
    params.segments().try_for_each(|segment| products.send(&segment, ot, channel))?;
    products.shares()
}

/// The other side of [`send_over`].
pub fn receive_over(
    columns: &Columns,
    params: &Params,
    session: &Session,
    ot: &mut impl RandomOtReceiver,
    channel: &mut Channel,
) -> Result<Shares> {
    let mut products = Products::new(params.ot_sender().other(), columns, params, session, channel)?;
    params.segments().try_for_each(|segment| products.receive(&segment, ot, channel))?;
    products.shares()
}
