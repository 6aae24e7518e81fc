//! The VOLE correlation that a run is made of: fresh, from base OTs on.

use rand_core::CryptoRng;

use super::Params;
use crate::channel::Channel;
use crate::error::Result;
use crate::primitive::ot::softspoken::{self, CorrelatedReceiver, CorrelatedSender};
use crate::primitive::vole::silent::{self, SilentReceiver, SilentSender};
use crate::role::Role;
use crate::security::Security;
use crate::session::Session;

/// Purpose for which the correlation's keys are derived.
const PURPOSE: &str = "intersection";

/// The parameter k of OT extension: few bytes, because only about a hundred thousand OTs are needed.
const K: usize = 8;

/// Bytes that a party sends in making a correlation of so many elements.
pub(in crate::protocol::intersect) fn bytes_sent_by(role: Role, elements: usize, security: Security) -> Result<u64> {
    silent::bytes_sent_by(role, elements, &softspoken::Params::new(security, K)?)
}

/// The part of the intersection's receiver, who gets A and C.
pub(in crate::protocol) fn receiver(
    params: &Params,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<SilentReceiver<CorrelatedReceiver>> {
    let transfers = softspoken::Params::new(params.security, K)?;
    let transfers = CorrelatedReceiver::setup(&transfers, session, PURPOSE, channel, rng)?;
    Ok(SilentReceiver::new(transfers, params.security, session, PURPOSE, rng))
}

/// The part of the intersection's sender, who gets D and B.
pub(in crate::protocol) fn sender(
    params: &Params,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<SilentSender<CorrelatedSender>> {
    let transfers = softspoken::Params::new(params.security, K)?;
    let transfers = CorrelatedSender::setup(&transfers, session, PURPOSE, channel, rng)?;
    Ok(SilentSender::new(transfers, params.security, session, PURPOSE, rng))
}
