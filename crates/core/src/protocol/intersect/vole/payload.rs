//! `vole` that reveals which items are common, and rows that belong to them.

use std::sync::atomic::AtomicBool;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::function::{self, Evaluated, OutputHash};
use super::{Params, correlation};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::oprf::{OUTPUT_BYTES, Outputs};
use crate::primitive::vole::{VoleReceiver, VoleSender};
use crate::protocol::intersect::entries::items::{Padded, check};
use crate::protocol::intersect::entries::payload::Sealed;
use crate::protocol::intersect::entries::{Domain, Entries, Own, Payload, check_payload, payload};
use crate::security::Security;
use crate::session::Session;

pub use crate::protocol::intersect::entries::payload::Common;

/// The receiver's role. `own` are the rows of its own items, which it returns for the common ones if that was agreed
/// on. Items must be distinct, and made with a key of this session. Among malicious parties this ends the channel's
/// job, and waits for the sender to end it.
pub fn receive(
    items: &[Item],
    own: Option<&Payload>,
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Common> {
    check_receiver(items, own, params)?;
    let mut vole = correlation::receiver(params, session, channel, rng)?;
    receive_over(items, own, session, params, &mut vole, channel, rng)
}

/// As [`receive`], with a correlation from elsewhere.
pub fn receive_over(
    items: &[Item],
    own: Option<&Payload>,
    session: &Session,
    params: &Params,
    vole: &mut impl VoleReceiver,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Common> {
    check_receiver(items, own, params)?;
    let outputs = ask(items, session, params, vole, channel, rng)?;
    let domain = Domain::of_protocol("vole", session);
    if params.security == Security::Malicious {
        let waiting = Waiting { outputs, domain, sealed: Sealed::collect(&params.entries, channel)? };
        channel.conclude()?;
        return waiting.find();
    }
    // 2. The sender's entries for them, and what the sender is told and given.
    payload::receive(&outputs, own, &domain, &params.entries, channel)
}

/// As [`receive`] among malicious parties, where this is not the channel's last run: the channel's job does not end.
pub fn receive_one_of(
    items: &[Item],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Waiting> {
    check_receiver(items, None, params)?;
    let mut vole = correlation::receiver(params, session, channel, rng)?;
    let outputs = ask(items, session, params, &mut vole, channel, rng)?;
    let domain = Domain::of_protocol("vole", session);
    Ok(Waiting { outputs, domain, sealed: Sealed::collect(&params.entries, channel)? })
}

/// A receiver that has all that it needs of a sender that may cheat.
pub struct Waiting {
    outputs: Outputs,
    domain: Domain,
    sealed: Sealed,
}

impl Waiting {
    /// What the receiver learns. How long this takes depends on it: the sender must not see that, so that [`Channel::conclude`]
    /// comes before.
    pub fn find(self) -> Result<Common> {
        self.sealed.find(&self.outputs, &self.domain)
    }
}

/// The receiver's first step.
fn ask(
    items: &[Item],
    session: &Session,
    params: &Params,
    vole: &mut impl VoleReceiver,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Outputs> {
    // 1. F(y) of the own items.
    let padded = Padded::new(items, rng);
    let all = padded.range(&(0..params.entries.receiver_items));
    let evaluated = function::receive(&all, params, session, vole, channel, rng)?;
    Ok(outputs(&evaluated, items.len(), session))
}

/// The sender's role, with one or more rows for each of its items. Returns what it learns, if it learns. Items must
/// be distinct, and made with a key of this session.
pub fn send(
    items: &[Item],
    rows: &Payload,
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Common>> {
    check_sender(items, rows, params)?;
    let mut vole = correlation::sender(params, session, channel, rng)?;
    send_over(items, rows, session, params, &mut vole, channel, rng)
}

/// As [`send`], with a correlation from elsewhere, which must be fresh.
pub fn send_over(
    items: &[Item],
    rows: &Payload,
    session: &Session,
    params: &Params,
    vole: &mut impl VoleSender,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Common>> {
    check_sender(items, rows, params)?;

    // 1. The function's key; tags and sealed rows of the own items.
    let key = function::send(params, session, vole, channel, rng)?;
    let own = Own { items, payload: Some(rows) };
    let progress = channel.progress().clone();
    progress.start("evaluating", params.entries.sender_entries);
    let evaluate = |items: &[Item]| Ok(outputs(&key.evaluate(items), items.len(), session));
    let domain = Domain::of_protocol("vole", session);
    let entries = Entries::new(own, evaluate, &domain, &params.entries, rng, &progress, &AtomicBool::new(false))?;

    // 2. The tags and sealed rows in random order.
    entries.send(&params.entries, channel)?;

    // 3. What the receiver tells and gives.
    payload::learn(&entries, &params.entries, channel)
}

/// The outputs of the first `count` items, in the items' order.
fn outputs(evaluated: &Evaluated, count: usize, session: &Session) -> Outputs {
    let strings = evaluated.strings(&OutputHash::new(session));
    let mut outputs = Zeroizing::new(vec![[0; OUTPUT_BYTES]; count]);
    for (string, &item) in strings.iter().zip(evaluated.order()) {
        if let Some(output) = outputs.get_mut(item as usize) {
            *output = *string;
        }
    }
    outputs
}

fn check_receiver(items: &[Item], own: Option<&Payload>, params: &Params) -> Result<()> {
    payload::check_own(items, own, &params.entries)?;
    params.check_receiver(items)
}

fn check_sender(items: &[Item], rows: &Payload, params: &Params) -> Result<()> {
    let (row_bytes, _) = payload::agreed(&params.entries)?;
    check(items, params.entries.sender_entries, &params.entries)?;
    check_payload(items, rows, row_bytes, params.entries.sender_entries)
}
