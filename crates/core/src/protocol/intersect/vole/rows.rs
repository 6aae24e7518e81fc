//! `vole` that reveals which items are common.

use rand_core::CryptoRng;

use super::function::{self, OutputHash};
use super::{Params, correlation};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::shuffle::random_order;
use crate::primitive::vole::{VoleReceiver, VoleSender};
use crate::protocol::intersect::entries::items::{Padded, check};
use crate::protocol::intersect::entries::{self, Entries, Reveal, TagTable};
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

/// As [`receive`], with a correlation from elsewhere.
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
        let waiting = Waiting { asked, tags: entries::rows::collect(&params.entries, channel)? };
        channel.conclude()?;
        return Ok(waiting.find());
    }
    // 2. The sender's tags, and what the sender may learn.
    let common = entries::rows::receive(&asked.table, &params.entries, channel)?;
    Ok(asked.items(common))
}

/// As [`receive`] among malicious parties, where this is not the channel's last run: the channel's job does not end.
pub fn receive_one_of(
    items: &[Item],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Waiting> {
    check_receiver(items, params)?;
    let mut vole = correlation::receiver(params, session, channel, rng)?;
    let asked = ask(items, session, params, &mut vole, channel, rng)?;
    Ok(Waiting { asked, tags: entries::rows::collect(&params.entries, channel)? })
}

/// A receiver that has all that it needs of a sender that may cheat.
pub struct Waiting {
    asked: Asked,
    tags: Vec<u8>,
}

impl Waiting {
    /// The indices of the receiver's items that are common, ascending. How long this takes depends on them: the sender must not see
    /// it, so that [`Channel::conclude`] comes before.
    pub fn find(self) -> Vec<usize> {
        let common = entries::rows::look_up(&self.asked.table, &self.tags);
        self.asked.items(common)
    }
}

/// A receiver's tags.
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

/// As [`send`], with a correlation from elsewhere, which must be fresh.
pub fn send_over(
    items: &[Item],
    session: &Session,
    params: &Params,
    vole: &mut impl VoleSender,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<usize>>> {
    check_sender(items, params)?;

    // 1. The function's key, and the own tags, with those of random dummies behind them up to the agreed number.
    let key = function::send(params, session, vole, channel, rng)?;
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
    let learned = entries::rows::learn(&entries, &params.entries, channel)?;
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
        Reveal::Rows => Ok(()),
        _ => Err(Error::Internal("vole: these parameters are not for rows".into())),
    }
}
