//! `vole` that reveals which items are common, and rows that belong to them.

use std::sync::atomic::AtomicBool;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::function::{self, Evaluated, OutputHash};
use super::{Params, VoleInput, check_malicious, correlation, count_rounds};
use crate::channel::Channel;
use crate::error::Result;
use crate::item::Item;
use crate::primitive::oprf::{OUTPUT_BYTES, Outputs};
use crate::primitive::vole::{VoleReceiver, VoleSender};
use crate::protocol::intersect::tag_exchange::items::{Padded, check};
use crate::protocol::intersect::tag_exchange::payload::Sealed;
use crate::protocol::intersect::tag_exchange::{Entries, Own, Payload, TagDomain, check_payload, payload};
use crate::security::Security;
use crate::session::Session;

pub(crate) use crate::protocol::intersect::tag_exchange::payload::Matches;

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
) -> Result<Matches> {
    check_receiver(items, own, params)?;
    let mut vole = correlation::receiver(params, session, channel, rng)?;
    receive_over(items, own, session, params, &mut vole, channel, rng)
}

/// Runs the receiver's role as [`receive`] does, with a correlation from elsewhere.
pub fn receive_over(
    items: &[Item],
    own: Option<&Payload>,
    session: &Session,
    params: &Params,
    vole: &mut impl VoleReceiver,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Matches> {
    check_receiver(items, own, params)?;
    let outputs = ask(items, session, params, vole, channel, rng)?;
    let domain = TagDomain::of_protocol("vole", session);
    if params.security == Security::Malicious {
        return Ok(conclude(vec![Asked { outputs, domain, params }], channel)?.remove(0));
    }
    // 2. The sender's entries for them, and what the sender is told and given.
    payload::receive(&outputs, own, &domain, &params.entries, channel)
}

/// The receiver's role in several runs among malicious parties, as by several keys of one table. Returns what
/// [`receive`] does, for each.
///
/// The stores of all runs and their coins come before any entry: the items of no run can depend on what another has
/// told. Memory is that of all runs together.
pub fn receive_each(runs: &[VoleInput<'_>], channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<Vec<Matches>> {
    check_malicious(runs)?;
    let mut asked = Vec::new();
    for (number, VoleInput { items, session, params }) in runs.iter().enumerate() {
        count_rounds(number, channel);
        check_receiver(items, None, params)?;
        let mut vole = correlation::receiver(params, session, channel, rng)?;
        let outputs = ask(items, session, params, &mut vole, channel, rng)?;
        asked.push(Asked { outputs, domain: TagDomain::of_protocol("vole", session), params });
    }
    conclude(asked, channel)
}

/// A receiver that has the function's outputs for its items.
struct Asked<'a> {
    outputs: Outputs,
    domain: TagDomain,
    params: &'a Params,
}

/// The receiver's last steps among malicious parties: all entries of all runs, the end of the channel's job, and only
/// then the look-up. How long that takes depends on what is common, and the sender must not see it.
fn conclude(asked: Vec<Asked<'_>>, channel: &mut Channel) -> Result<Vec<Matches>> {
    // 2. The sender's entries.
    let collect = |asked: &Asked<'_>| Sealed::collect(&asked.params.entries, channel);
    let sealed = asked.iter().map(collect).collect::<Result<Vec<_>>>()?;
    channel.conclude()?;
    asked.iter().zip(sealed).map(|(asked, sealed)| sealed.find(&asked.outputs, &asked.domain)).collect()
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
) -> Result<Option<Matches>> {
    check_sender(items, rows, params)?;
    let mut vole = correlation::sender(params, session, channel, rng)?;
    send_over(items, rows, session, params, &mut vole, channel, rng)
}

/// Runs the sender's role as [`send`] does, with a correlation from elsewhere, which must be fresh.
pub fn send_over(
    items: &[Item],
    rows: &Payload,
    session: &Session,
    params: &Params,
    vole: &mut impl VoleSender,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Matches>> {
    check_sender(items, rows, params)?;
    // 1. The function's key.
    let key = function::send(params, session, vole, channel, rng)?;
    answer(&key, items, rows, session, params, channel, rng)
}

/// The sender's role in several runs, as by several keys of one table, each with the rows of its items: the other side
/// of [`receive_each`]. Nobody but the receiver learns.
///
/// No entry of any run leaves before the receiver is bound to its items of all of them. Memory is that of all runs
/// together.
pub fn send_each(runs: &[(VoleInput<'_>, &Payload)], channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<()> {
    check_malicious(runs.iter().map(|(input, _)| input))?;
    let mut keys = Vec::new();
    for (number, (VoleInput { items, session, params }, rows)) in runs.iter().enumerate() {
        count_rounds(number, channel);
        check_sender(items, rows, params)?;
        let mut vole = correlation::sender(params, session, channel, rng)?;
        // 1. The function's key.
        keys.push(function::send(params, session, &mut vole, channel, rng)?);
    }
    for (key, (VoleInput { items, session, params }, rows)) in keys.into_iter().zip(runs) {
        answer(&key, items, rows, session, params, channel, rng)?;
    }
    Ok(())
}

/// The sender's steps once it has the function's key.
fn answer(
    key: &function::Key,
    items: &[Item],
    rows: &Payload,
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Matches>> {
    // 1. Tags and sealed rows of the own items.
    let own = Own { items, payload: Some(rows) };
    let progress = channel.progress().clone();
    progress.start("evaluating", params.entries.sender_entries);
    let evaluate = |items: &[Item]| Ok(outputs(&key.evaluate(items), items.len(), session));
    let domain = TagDomain::of_protocol("vole", session);
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
