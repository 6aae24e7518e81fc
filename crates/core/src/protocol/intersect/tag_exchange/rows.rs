//! Common items: the receiver's look-up of the sender's tags, and the message that tells the sender.

use super::table::{Bits, TagTable};
use super::{ENTRIES, Entries, Params, send_marks};
use crate::channel::Channel;
use crate::error::Result;

/// The receiver's role once it has the tags of its own items in `table`: looks for the sender's among them, as they
/// come, and tells the sender what it may learn. Returns the numbers of the tags that are common, ascending.
pub(crate) fn receive(table: &TagTable, params: &Params, channel: &mut Channel) -> Result<Vec<usize>> {
    let mut found = Bits::new(table.len());
    let mut places = Vec::new();
    let progress = channel.progress().clone();
    progress.start("matching", params.sender_entries);
    for range in params.frames(params.sender_entries, params.tag_bytes) {
        let tags = channel.receive(ENTRIES, range.len() * params.tag_bytes)?;
        for (index, item) in table.find_each(&tags) {
            if found.set(item) {
                return Err(channel.violation(format!("`{}` holds a tag twice", ENTRIES.name)));
            }
            places.push((range.start + index) as u32);
        }
        progress.advance(range.len());
    }
    if params.to_sender {
        send_marks(&places, params, channel)?;
    }
    Ok(found.ones().collect())
}

/// Receives all tags of a sender that may cheat.
pub(crate) fn collect(params: &Params, channel: &mut Channel) -> Result<Vec<u8>> {
    channel.progress().start("receiving entries", params.sender_entries);
    params.frames(params.sender_entries, params.tag_bytes).receive(ENTRIES, channel)
}

/// Looks for the tags of a sender that may cheat, whatever they are. It must not see how long that takes: many copies
/// of one tag take longer if it is found. Returns the numbers of the tags that are common, ascending.
pub(crate) fn look_up(table: &TagTable, tags: &[u8]) -> Vec<usize> {
    let mut found = Bits::new(table.len());
    for (_, item) in table.find_each(tags) {
        found.set(item);
    }
    found.ones().collect()
}

/// Receives the result that the sender of `entries` may learn.
pub(crate) fn learn(entries: &Entries, params: &Params, channel: &mut Channel) -> Result<Option<Vec<usize>>> {
    if !params.to_sender {
        return Ok(None);
    }
    let mut items = entries.receive_marks(params, channel)?;
    items.sort_unstable();
    Ok(Some(items))
}
