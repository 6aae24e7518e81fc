//! `vole` that reveals which items are common.

use rand_core::CryptoRng;

use super::function::{self, OutputHash};
use super::{Params, VoleInput, check_malicious, correlation, count_rounds};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::shuffle::random_order;
use crate::primitive::vole::{VoleReceiver, VoleSender};
use crate::protocol::intersect::tag_exchange::items::{Padded, check};
use crate::protocol::intersect::tag_exchange::{self, Entries, ReceiverReveal, TagTable};
use crate::security::Security;
use crate::session::Session;

/// The receiver's role. Returns the indices of its items that are common, ascending. Items must be distinct, and made
/// with a key of this session. Among malicious parties this ends the channel's job, and waits for the sender to end it.
///
/// Memory besides the items: about 150 bytes for each of them.
pub fn receive(
    items: &[Item],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<usize>> {
    check_receiver(items, params)?;
    let mut vole = correlation::receiver(params, session, channel, rng)?;
    receive_over(items, session, params, &mut vole, channel, rng)
}

/// Runs the receiver's role as [`receive`] does, with a correlation from elsewhere.
pub fn receive_over(
    items: &[Item],
    session: &Session,
    params: &Params,
    vole: &mut impl VoleReceiver,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<usize>> {
    let asked = ask(items, session, params, vole, channel, rng)?;
    if params.security == Security::Malicious {
        return Ok(conclude(vec![(asked, params)], channel)?.remove(0));
    }
    // 2. The sender's tags, and what the sender may learn.
    let common = tag_exchange::rows::receive(&asked.table, &params.entries, channel)?;
    Ok(asked.items(common))
}

/// The receiver's role in several runs among malicious parties, as by several keys of one table. Returns what
/// [`receive`] does, for each.
///
/// The stores of all runs and their coins come before any tag: the items of no run can depend on what another has told.
/// Memory is that of all runs together.
pub fn receive_each(
    runs: &[VoleInput<'_>],
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<Vec<usize>>> {
    check_malicious(runs)?;
    let mut asked = Vec::new();
    for (number, VoleInput { items, session, params }) in runs.iter().enumerate() {
        count_rounds(number, channel);
        check_receiver(items, params)?;
        let mut vole = correlation::receiver(params, session, channel, rng)?;
        asked.push((ask(items, session, params, &mut vole, channel, rng)?, *params));
    }
    conclude(asked, channel)
}

/// The receiver's last steps among malicious parties: all tags of all runs, the end of the channel's job, and only then
/// the look-up. How long that takes depends on the items, and the sender must not see it.
fn conclude(asked: Vec<(Asked, &Params)>, channel: &mut Channel) -> Result<Vec<Vec<usize>>> {
    // 2. The sender's tags.
    let collect = |(_, params): &(Asked, &Params)| tag_exchange::rows::collect(&params.entries, channel);
    let tags = asked.iter().map(collect).collect::<Result<Vec<_>>>()?;
    channel.conclude()?;
    let find = |((asked, _), tags): ((Asked, &Params), Vec<u8>)| {
        let common = tag_exchange::rows::look_up(&asked.table, &tags);
        asked.items(common)
    };
    Ok(asked.into_iter().zip(tags).map(find).collect())
}

/// Tags of a receiver's items.
struct Asked {
    table: TagTable,
    /// The item of each.
    own: Vec<u32>,
}

impl Asked {
    /// The items of these tags, ascending.
    fn items(&self, tags: Vec<usize>) -> Vec<usize> {
        let mut items: Vec<usize> = tags.into_iter().map(|tag| self.own[tag] as usize).collect();
        items.sort_unstable();
        items
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
) -> Result<Asked> {
    check_receiver(items, params)?;

    // 1. F(y) of the own items, shortened to tags.
    let padded = Padded::new(items, rng);
    let all = padded.range(&(0..params.entries.receiver_items));
    let evaluated = function::receive(&all, params, session, vole, channel, rng)?;
    let order = evaluated.order().to_vec();
    let tags = evaluated.tags(&OutputHash::new(session), params.entries.tag_bytes);
    drop(evaluated);
    drop(all);
    let mut table = TagTable::new(items.len(), params.entries.tag_bytes);
    let mut own = Vec::new();
    if items.len() == order.len() {
        table.insert_each(&tags);
        own = order;
    } else {
        for (tag, item) in tags.chunks_exact(params.entries.tag_bytes).zip(order) {
            // Nobody looks for dummies.
            if (item as usize) < items.len() {
                table.insert(tag);
                own.push(item);
            }
        }
    }
    Ok(Asked { table, own })
}

/// The sender's role. Returns the indices of its items that are common, ascending, if it learns. Items must be
/// distinct, and made with a key of this session.
///
/// Memory: about 20 bytes for each of the receiver's items, 60 for each of its own.
pub fn send(
    items: &[Item],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<usize>>> {
    check_sender(items, params)?;
    let mut vole = correlation::sender(params, session, channel, rng)?;
    send_over(items, session, params, &mut vole, channel, rng)
}

/// Runs the sender's role as [`send`] does, with a correlation from elsewhere, which must be fresh.
pub fn send_over(
    items: &[Item],
    session: &Session,
    params: &Params,
    vole: &mut impl VoleSender,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<usize>>> {
    check_sender(items, params)?;
    // 1. The function's key.
    let key = function::send(params, session, vole, channel, rng)?;
    answer(&key, items, session, params, channel, rng)
}

/// The sender's role in several runs, as by several keys of one table: the other side of [`receive_each`]. Nobody but
/// the receiver learns.
///
/// No tag of any run leaves before the receiver is bound to its items of all of them. Memory is that of all runs
/// together.
pub fn send_each(runs: &[VoleInput<'_>], channel: &mut Channel, rng: &mut impl CryptoRng) -> Result<()> {
    check_malicious(runs)?;
    let mut keys = Vec::new();
    for (number, VoleInput { items, session, params }) in runs.iter().enumerate() {
        count_rounds(number, channel);
        check_sender(items, params)?;
        let mut vole = correlation::sender(params, session, channel, rng)?;
        // 1. The function's key.
        keys.push(function::send(params, session, &mut vole, channel, rng)?);
    }
    for (key, VoleInput { items, session, params }) in keys.into_iter().zip(runs) {
        answer(&key, items, session, params, channel, rng)?;
    }
    Ok(())
}

/// The sender's steps once it has the function's key.
fn answer(
    key: &function::Key,
    items: &[Item],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<usize>>> {
    // 1. The own tags, with those of random dummies behind them up to the agreed number.
    channel.progress().start("evaluating", params.entries.sender_entries);
    let evaluated = key.evaluate(items);
    let order = evaluated.order().to_vec();
    let (hash, tag_bytes) = (OutputHash::new(session), params.entries.tag_bytes);
    let mut bytes = evaluated.tags(&hash, tag_bytes);
    drop(evaluated);
    let padded = Padded::new(items, rng);
    let dummies = padded.range(&(items.len()..params.entries.sender_entries));
    bytes.extend_from_slice(&key.evaluate(&dummies).tags(&hash, tag_bytes));

    // 2. The tags in random order.
    let entries = Entries {
        offsets: (0..=items.len() as u32).collect(),
        entry_bytes: params.entries.tag_bytes,
        bytes,
        order: random_order(params.entries.sender_entries, rng),
    };
    entries.send(&params.entries, channel)?;

    // 3. What the receiver tells.
    let learned = tag_exchange::rows::learn(&entries, &params.entries, channel)?;
    Ok(learned.map(|tags| {
        let mut items: Vec<usize> = tags.into_iter().map(|tag| order[tag] as usize).collect();
        items.sort_unstable();
        items
    }))
}

fn check_receiver(items: &[Item], params: &Params) -> Result<()> {
    params.check_receiver(items)?;
    check_reveal(params)
}

fn check_sender(items: &[Item], params: &Params) -> Result<()> {
    check_reveal(params)?;
    check(items, params.entries.sender_entries, &params.entries)
}

fn check_reveal(params: &Params) -> Result<()> {
    match params.entries.reveal {
        ReceiverReveal::Rows => Ok(()),
        _ => Err(Error::Internal("vole: these parameters are not for rows".into())),
    }
}
