//! One oblivious transfer for each of the sender's items: the receiver gets what is given for those that it lacks.
//!
//! Random OTs by SoftSpoken's extension; the choice is whether the receiver has the item. What is given for it travels
//! hidden by the block of choice 0 (Kolesnikov, Rosulek, Trieu & Wang 2019, figure 5, step 3).

use rand_core::CryptoRng;

use super::SenderItems;
use crate::channel::{Channel, HEADER_BYTES};
use crate::error::Result;
use crate::primitive::ot::Choices;
use crate::primitive::ot::chosen::{self, accept, offer};
use crate::primitive::ot::softspoken::{Params as Extension, RandomReceiver, RandomSender};
use crate::role::Role;
use crate::security::Security;
use crate::session::Session;

/// Purpose for which the OTs are set up.
const PURPOSE: &str = "union";

/// SoftSpoken's k: four bytes an OT.
const K: usize = 4;

/// Message flights: the base OTs' points, with whatever the sender has sent before; their key, trees and corrections;
/// and the items.
pub(crate) const ROUNDS: u32 = 3;

/// Memory that a party takes besides what is given, in bytes, an estimate from above: some chunks of OTs, and their
/// messages.
pub(crate) const MEMORY: u64 = 16 << 20;

/// The receiver's role: `has` says for each of the sender's items, in the order in which they travel, whether the
/// receiver has it. Those that it has not are handed to `take` in that order.
pub fn receive(
    has: &Choices,
    payload_bytes: usize,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut each = |has: bool, payload: &[u8]| if has { Ok(()) } else { take(payload) };
    receive_each(has, payload_bytes, session, channel, rng, &mut each)
}

/// Runs the receiver's role as [`receive`] does. For every item, `each` is told whether the receiver has it. With that
/// come the bytes given for it if it does not, or else as many bytes that tell nothing.
pub(crate) fn receive_each(
    has: &Choices,
    payload_bytes: usize,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
    each: &mut dyn FnMut(bool, &[u8]) -> Result<()>,
) -> Result<()> {
    channel.progress().start("receiving what is missing", has.len());
    let mut ot = RandomReceiver::setup(&extension()?, session, PURPOSE, channel, rng)?;
    accept(&mut ot, has, payload_bytes, each, channel)
}

/// Runs the sender's role.
pub fn send(
    given: &dyn SenderItems,
    payload_bytes: usize,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<()> {
    channel.progress().start("sending what is missing", given.count());
    let mut ot = RandomSender::setup(&extension()?, session, PURPOSE, channel, rng)?;
    offer(&mut ot, given.count(), payload_bytes, |range| given.payloads(range), channel)
}

fn extension() -> Result<Extension> {
    Extension::new(Security::SemiHonest, K)
}

/// Bytes that a party sends, frame headers included.
pub(crate) fn bytes_sent_by(role: Role, items: usize, payload_bytes: usize) -> u64 {
    let (Ok(extension), Ok(chunk)) = (extension(), chosen::offered(payload_bytes)) else { return 0 };
    let calls = |items: usize| {
        let (whole, rest) = ((items / chunk) as u64, items % chunk);
        let of_rest = if rest == 0 { 0 } else { extension.bytes_sent_by(role, rest) };
        whole * extension.bytes_sent_by(role, chunk) + of_rest
    };
    let given = match role {
        Role::Receiver => 0,
        Role::Sender => (items * payload_bytes + items.div_ceil(chunk) * HEADER_BYTES) as u64,
    };
    extension.setup_bytes_sent_by(role) + calls(items) + given
}
