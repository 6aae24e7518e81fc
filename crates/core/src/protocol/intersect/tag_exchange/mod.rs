//! Steps that follow the oblivious evaluation of a pseudorandom function, in every protocol that is made of one. The
//! sender sends tags and sealed rows of its own items, and the receiver looks them up. The sender is told, and given
//! back, what was agreed on.

mod domain;
mod frames;
pub(crate) mod items;
mod params;
pub(crate) mod payload;
pub(crate) mod rows;
mod rows_of_items;
mod table;

use std::sync::atomic::{AtomicBool, Ordering};

use chacha20::ChaCha20Rng;
use rand_core::{CryptoRng, Rng, SeedableRng};
use rayon::prelude::*;
use zeroize::Zeroizing;

use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::oprf::OUTPUT_BYTES;
use crate::primitive::shuffle::random_order;
use crate::progress::Progress;
use items::{Padded, seed};

pub use crate::channel::labels::entries::{ENTRIES, MATCHES, RETURNED_COUNTS, RETURNED_ROWS};
pub use domain::TagDomain;
pub(crate) use frames::{Frames, framed_bytes};
pub use params::{
    CHUNK, Params, ReceiverReveal, ReturnedRows, SEAL_BYTES, epoch_tag_bytes, payload_tag_bytes, tag_bytes,
};
pub(crate) use params::{COUNT_MESSAGE_BYTES, Returns, SUM_BYTES, bits_of};
pub use payload::Matches;
pub(crate) use payload::PlainRows;
pub(crate) use rows_of_items::COUNT_BYTES;
pub use rows_of_items::Payload;
pub(crate) use table::{Bits, TagTable};

/// The sender's entries and the random order in which they travel.
pub(crate) struct Entries {
    /// Entry `offsets[i]` is the first of item i; one offset more than items.
    pub(crate) offsets: Vec<u32>,
    /// Length of an entry.
    pub(crate) entry_bytes: usize,
    /// The entries in the items' order, then the dummies.
    pub(crate) bytes: Vec<u8>,
    /// For each place on the wire, the entry that comes there.
    pub(crate) order: Vec<u32>,
}

/// The sender's input: items, and rows of each where rows are revealed.
#[derive(Clone, Copy)]
pub(crate) struct Own<'a> {
    pub(crate) items: &'a [Item],
    pub(crate) payload: Option<&'a Payload>,
}

impl Entries {
    /// The entries of `own` by the function that `evaluate` computes: one tag for each item, or one tag and sealed row
    /// for each row. Entries of random dummy items, with random rows, fill them up to the agreed number: they cost what
    /// others cost, so that the time taken does not tell them apart. Stops early with an incomplete result once `stop`
    /// is set.
    pub(crate) fn new(
        own: Own<'_>,
        evaluate: impl Fn(&[Item]) -> Result<Zeroizing<Vec<[u8; OUTPUT_BYTES]>>>,
        domain: &TagDomain,
        params: &Params,
        rng: &mut impl CryptoRng,
        progress: &Progress,
        stop: &AtomicBool,
    ) -> Result<Entries> {
        let Own { items, payload } = own;
        let (entry_bytes, tag_bytes) = (params.entry_bytes(), params.tag_bytes);
        let offsets = match payload {
            Some(payload) => payload.offsets().to_vec(),
            None => (0..=items.len() as u32).collect(),
        };
        let filled = offsets[items.len()] as usize;
        let dummies = params.sender_entries - filled;
        let padded = Padded::new(items, rng);
        let dummy_rows = seed(rng);
        let rows = |item: usize| if item < items.len() { offsets[item + 1] - offsets[item] } else { 1 };
        let mut bytes = vec![0; params.sender_entries * entry_bytes];
        let mut unfilled = &mut bytes[..];
        for start in (0..items.len() + dummies).step_by(CHUNK) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let range = start..(items.len() + dummies).min(start + CHUNK);
            let outputs = evaluate(&padded.range(&range))?;
            let places: Vec<(usize, u32)> =
                range.clone().flat_map(|item| (0..rows(item)).map(move |index| (item, index))).collect();
            let (filling, rest) = std::mem::take(&mut unfilled).split_at_mut(places.len() * entry_bytes);
            unfilled = rest;
            let fill = |(entry, &(item, index)): (&mut [u8], &(usize, u32))| {
                let output: &[u8; OUTPUT_BYTES] = &outputs[item - start];
                entry[..tag_bytes].copy_from_slice(&domain.tag(output, index)[..tag_bytes]);
                if let Some(payload) = payload {
                    let (sealed, authenticator) = entry[tag_bytes..].split_at_mut(payload.row_bytes());
                    match offsets.get(item).filter(|_| item < items.len()) {
                        Some(first) => sealed.copy_from_slice(payload.row((first + index) as usize)),
                        None => dummy_row(&dummy_rows, item, sealed),
                    }
                    authenticator.copy_from_slice(&domain.seal(output, index, sealed));
                }
            };
            filling.par_chunks_mut(entry_bytes).zip(places.par_iter()).with_min_len(256).for_each(fill);
            progress.advance(range.len());
        }
        Ok(Entries { offsets, entry_bytes, bytes, order: random_order(params.sender_entries, rng) })
    }

    /// Number of own items.
    pub(crate) fn items(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Sends the entries in their random order.
    pub(crate) fn send(&self, params: &Params, channel: &mut Channel) -> Result<()> {
        let progress = channel.progress().clone();
        progress.start("sending entries", self.order.len());
        for range in params.frames(self.order.len(), self.entry_bytes) {
            let mut message = Vec::with_capacity(range.len() * self.entry_bytes);
            for &entry in &self.order[range.clone()] {
                let start = entry as usize * self.entry_bytes;
                message.extend_from_slice(&self.bytes[start..start + self.entry_bytes]);
            }
            channel.send(ENTRIES, message)?;
            progress.advance(range.len());
        }
        Ok(())
    }

    /// Receives which entries have matched. Returns their items, in the order of their first rows' places on the wire.
    /// An honest receiver marks all rows of an item or none, no dummy, and no
    /// more items than it has.
    pub(crate) fn receive_marks(&self, params: &Params, channel: &mut Channel) -> Result<Vec<usize>> {
        let length = self.order.len();
        let bytes = params.frames(length.div_ceil(8), 1).receive(MATCHES, channel)?;
        let marks = Bits::from_bytes(bytes, length)
            .ok_or_else(|| channel.violation(format!("`{}` marks more than there is", MATCHES.name)))?;
        let mut marked_rows = vec![0u32; self.items()];
        let mut items = Vec::new();
        for place in marks.ones() {
            let entry = self.order[place];
            if entry >= self.offsets[self.items()] {
                return Err(channel.violation(format!("`{}` marks what nobody can find", MATCHES.name)));
            }
            let item = self.offsets.partition_point(|&offset| offset <= entry) - 1;
            marked_rows[item] += 1;
            if self.offsets[item] == entry {
                items.push(item);
            }
        }
        let part = |item: usize| ![0, self.offsets[item + 1] - self.offsets[item]].contains(&marked_rows[item]);
        if (0..self.items()).any(part) {
            return Err(channel.violation(format!("`{}` marks a part of an item's rows", MATCHES.name)));
        }
        if items.len() > params.receiver_items {
            return Err(channel.violation(format!("`{}` marks more items than were sent", MATCHES.name)));
        }
        Ok(items)
    }
}

/// The random row of a dummy, which nobody can open.
fn dummy_row(seed: &[u8; 32], dummy: usize, row: &mut [u8]) {
    let mut rng = ChaCha20Rng::from_seed(*seed);
    rng.set_stream(dummy as u64);
    rng.fill_bytes(row);
}

/// Marks the places of the entries that have matched, for the sender.
pub(crate) fn send_marks(places: &[u32], params: &Params, channel: &mut Channel) -> Result<()> {
    let mut marks = Bits::new(params.sender_entries);
    for &place in places {
        marks.set(place as usize);
    }
    params.frames(marks.bytes().len(), 1).send(MATCHES, marks.bytes(), channel)
}

/// Refuses a payload that does not fit what was agreed on.
pub(crate) fn check_payload(items: &[Item], payload: &Payload, row_bytes: usize, rows: usize) -> Result<()> {
    if payload.items() == items.len() && payload.row_bytes() == row_bytes && payload.rows() <= rows {
        Ok(())
    } else {
        Err(Error::Internal(format!(
            "{payload:?} for {} items where at most {rows} rows of {row_bytes} bytes were agreed on",
            items.len()
        )))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Marks that an honest receiver can make, and others: of a dummy, of a part of an item's rows, of more items than
    /// were sent, beyond the end.
    #[test]
    fn only_marks_that_can_be_are_taken() {
        // Three items of one, two and one rows, and two dummies; place i on the wire has entry 5 - i.
        let own =
            Entries { offsets: vec![0, 1, 3, 4], entry_bytes: 1, bytes: vec![0; 6], order: vec![5, 4, 3, 2, 1, 0] };
        let marked = |entries: &[u32], receiver_items: usize| {
            let params = Params { receiver_items, sender_entries: 6, ..Params::rows(0, 0) };
            let marks = entries.iter().fold(0u8, |marks, entry| marks | 1 << (5 - *entry as i32).rem_euclid(8));
            let (mut end, mut other) = Channel::pair("receiver", "sender");
            other.send(MATCHES, vec![marks]).unwrap();
            own.receive_marks(&params, &mut end).map_err(|error| match error {
                Error::Protocol { check, .. } => check,
                error => panic!("{error:?}"),
            })
        };
        // In the order of their first rows on the wire.
        assert_eq!(marked(&[], 0), Ok(vec![]));
        assert_eq!(marked(&[0, 1, 2, 3], 3), Ok(vec![2, 1, 0]));
        assert_eq!(marked(&[1, 2], 1), Ok(vec![1]));
        for (entries, receiver_items, check) in [
            (&[4][..], 3, "what nobody can find"),
            (&[0, 5], 3, "what nobody can find"),
            (&[1], 3, "a part of an item's rows"),
            (&[0, 2], 3, "a part of an item's rows"),
            (&[0, 3], 1, "more items than were sent"),
            (&[0, 1, 2, 3], 2, "more items than were sent"),
            // The bit of place 6, and of place 7.
            (&[7], 3, "more than there is"),
            (&[0, 6], 3, "more than there is"),
        ] {
            let error = marked(entries, receiver_items).unwrap_err();
            assert!(error.contains(check), "{entries:?} of {receiver_items}: {error}");
        }
    }
}
