//! Rows that belong to common items: found and opened by the receiver, and returned in kind.

use std::sync::Arc;

use super::domain::TagDomain;
use super::rows_of_items::{COUNT_BYTES, Payload};
use super::table::TagTable;
use super::{
    ENTRIES, Entries, Frames, Params, RETURNED_COUNTS, RETURNED_ROWS, ReceiverReveal, Returns, SEAL_BYTES,
    check_payload, send_marks,
};
use crate::Progress;
use crate::channel::{Channel, Label};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::oprf::OUTPUT_BYTES;

/// Result that a party learns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Matches {
    /// Indices of its items that are common, ascending.
    pub items: Vec<usize>,
    /// The other party's rows for each of them, in the same order; `None` where the other party gives none.
    pub payload: Option<Payload>,
}

/// Refuses rows of the receiver that do not fit what was agreed on.
pub(crate) fn check_own(items: &[Item], own: Option<&Payload>, params: &Params) -> Result<()> {
    if let (_, Some(returns)) = agreed(params)? {
        let own = own.ok_or_else(|| Error::Internal("rows were agreed on, and none are given".into()))?;
        check_payload(items, own, returns.row_bytes, returns.rows)?;
    }
    Ok(())
}

/// The receiver's role once it has the function's outputs for its own items: finds and opens the sender's entries for
/// them, tells the sender what it may learn, and returns rows of its `own` if that was agreed on.
pub(crate) fn receive(
    outputs: &[[u8; OUTPUT_BYTES]],
    own: Option<&Payload>,
    domain: &TagDomain,
    params: &Params,
    channel: &mut Channel,
) -> Result<Matches> {
    let (_, returns) = agreed(params)?;
    // 1. and 2.
    let Opened { mut common, payload, places } = Sealed::collect(params, channel)?.open(outputs, domain)?;

    // 3. What the sender may learn, and what it is given.
    if params.to_sender {
        send_marks(&places, params, channel)?;
    }
    let items = common.iter().map(|(item, _)| *item).collect();
    if let (Some(returns), Some(own)) = (returns, own) {
        // In the order of the first rows on the wire, which both parties know and which means nothing.
        common.sort_unstable_by_key(|(_, place)| *place);
        returned(returns, params).send(common.iter().map(|(item, _)| *item), own, channel)?;
    }
    Ok(Matches { items, payload: Some(payload) })
}

/// Entries of the sender, with their sealed rows.
pub(crate) struct Sealed {
    entries: Vec<u8>,
    table: TagTable,
    tag_bytes: usize,
    row_bytes: usize,
    progress: Arc<Progress>,
}

/// The rows that a receiver could open.
struct Opened {
    /// Common items of the receiver, and the position of the first row of each, ascending by item.
    common: Vec<(usize, u32)>,
    payload: Payload,
    /// Positions of the opened rows.
    places: Vec<u32>,
}

impl Sealed {
    /// 1. The sender's entries, all of them, because the rows of an item stand anywhere among them.
    pub(crate) fn collect(params: &Params, channel: &mut Channel) -> Result<Sealed> {
        let (row_bytes, _) = agreed(params)?;
        let (tag_bytes, entry_bytes) = (params.tag_bytes, params.entry_bytes());
        let progress = channel.progress().clone();
        progress.start("receiving entries", params.sender_entries);
        let entries = params.frames(params.sender_entries, entry_bytes).receive(ENTRIES, channel)?;
        let mut table = TagTable::new(params.sender_entries, tag_bytes);
        for entry in entries.chunks(entry_bytes) {
            if !table.insert(&entry[..tag_bytes]) {
                return Err(channel.violation(format!("`{}` holds a tag twice", ENTRIES.name)));
            }
        }
        Ok(Sealed { entries, table, tag_bytes, row_bytes, progress })
    }

    /// Finds what a receiver with these outputs learns of a sender that may cheat, whatever its entries are. The sender
    /// must not see how long that takes: an item with many rows takes longer if it is common.
    pub(crate) fn find(self, outputs: &[[u8; OUTPUT_BYTES]], domain: &TagDomain) -> Result<Matches> {
        let Opened { common, payload, .. } = self.open(outputs, domain)?;
        Ok(Matches { items: common.into_iter().map(|(item, _)| item).collect(), payload: Some(payload) })
    }

    /// 2. The rows of each item, until there is no further one.
    ///
    /// One that is not authentic is none: to end the job would tell who has sent it that the item is common.
    fn open(mut self, outputs: &[[u8; OUTPUT_BYTES]], domain: &TagDomain) -> Result<Opened> {
        let (tag_bytes, entry_bytes) = (self.tag_bytes, self.tag_bytes + self.row_bytes + SEAL_BYTES);
        self.progress.start("matching", outputs.len());
        let mut opened = Opened { common: Vec::new(), payload: Payload::new(self.row_bytes), places: Vec::new() };
        let mut rows = Vec::new();
        for (item, output) in outputs.iter().enumerate() {
            let mut index = 0;
            rows.clear();
            let first = opened.places.len();
            while let Some(place) = self.table.find(&domain.tag(output, index)[..tag_bytes]) {
                let sealed = &mut self.entries[place * entry_bytes + tag_bytes..(place + 1) * entry_bytes];
                let Some(row) = domain.open(output, index, sealed) else { break };
                rows.extend_from_slice(row);
                opened.places.push(place as u32);
                index += 1;
            }
            if index > 0 {
                opened.payload.push(index as usize, &rows)?;
                opened.common.push((item, opened.places[first]));
            }
            self.progress.advance(1);
        }
        Ok(opened)
    }
}

/// Receives the result that the sender of `entries` may learn.
pub(crate) fn learn(entries: &Entries, params: &Params, channel: &mut Channel) -> Result<Option<Matches>> {
    if !params.to_sender {
        return Ok(None);
    }
    let (_, returns) = agreed(params)?;
    let marked = entries.receive_marks(params, channel)?;
    let Some(returns) = returns else {
        let mut items = marked;
        items.sort_unstable();
        return Ok(Some(Matches { items, payload: None }));
    };
    let returned = returned(returns, params).receive(marked.len(), returns.rows, channel)?;
    let mut by_item: Vec<(usize, usize)> = marked.into_iter().zip(0..).collect();
    by_item.sort_unstable();
    let mut payload = Payload::new(returns.row_bytes);
    for &(_, place) in &by_item {
        payload.push(returned.rows_of(place), returned.item(place))?;
    }
    Ok(Some(Matches { items: by_item.into_iter().map(|(item, _)| item).collect(), payload: Some(payload) }))
}

/// Rows as they travel, unsealed, to who knows which items they belong to: how many each item has, and then all of
/// them.
#[derive(Clone, Copy)]
pub(crate) struct PlainRows {
    /// Length of a row in bytes.
    pub(crate) row_bytes: usize,
    /// Largest number of bytes in a message.
    pub(crate) chunk: usize,
    /// The label of the numbers.
    pub(crate) counts: Label,
    /// The label of the rows.
    pub(crate) rows: Label,
}

impl PlainRows {
    /// Sends those of `items`.
    pub(crate) fn send(
        &self,
        items: impl Iterator<Item = usize> + Clone,
        own: &Payload,
        channel: &mut Channel,
    ) -> Result<()> {
        let counts: Vec<u8> = items.clone().flat_map(|item| (own.rows_of(item) as u32).to_le_bytes()).collect();
        Frames::new(counts.len() / COUNT_BYTES, COUNT_BYTES, self.chunk).send(self.counts, &counts, channel)?;
        let rows = items.clone().map(|item| own.rows_of(item)).sum();
        let bytes: Vec<u8> = items.flat_map(|item| own.item(item)).copied().collect();
        Frames::new(rows, self.row_bytes, self.chunk).send(self.rows, &bytes, channel)
    }

    /// Receives those of so many items: at least one each, and no more than `most` in all.
    pub(crate) fn receive(&self, items: usize, most: usize, channel: &mut Channel) -> Result<Payload> {
        let counts = Frames::new(items, COUNT_BYTES, self.chunk).receive(self.counts, channel)?;
        let counts: Vec<usize> =
            counts.chunks_exact(COUNT_BYTES).map(|c| u32::from_le_bytes([c[0], c[1], c[2], c[3]]) as usize).collect();
        let rows: u64 = counts.iter().map(|&count| count as u64).sum();
        if counts.contains(&0) || rows > most as u64 {
            return Err(channel.violation(format!("`{}` are not what was agreed on", self.counts.name)));
        }
        let bytes = Frames::new(rows as usize, self.row_bytes, self.chunk).receive(self.rows, channel)?;
        let mut payload = Payload::new(self.row_bytes);
        let mut rest = &bytes[..];
        for count in counts {
            let (rows, after) = rest.split_at(count * self.row_bytes);
            payload.push(count, rows)?;
            rest = after;
        }
        Ok(payload)
    }
}

/// Returns the form of the rows that a receiver returns.
fn returned(returns: Returns, params: &Params) -> PlainRows {
    PlainRows { row_bytes: returns.row_bytes, chunk: params.chunk, counts: RETURNED_COUNTS, rows: RETURNED_ROWS }
}

/// The agreed length of the sender's rows, and what the receiver returns.
pub(crate) fn agreed(params: &Params) -> Result<(usize, Option<Returns>)> {
    match params.reveal {
        ReceiverReveal::Payload { row_bytes, returned } if returned.is_none() || params.to_sender => {
            Ok((row_bytes, returned))
        }
        _ => Err(Error::Internal("these parameters are not for a payload".into())),
    }
}
