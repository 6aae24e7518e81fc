//! Counts that each two parties tell each other at once.

use super::{FIT, ITEMS};
use crate::channel::{Channel, Label, MAX_PAYLOAD_BYTES, each};
use crate::error::Result;

/// Itemsets of one message.
const CHUNK: usize = 1 << 17;

const COUNT_BYTES: usize = 4;

const _: () = assert!(CHUNK / 8 + CHUNK * COUNT_BYTES <= MAX_PAYLOAD_BYTES);

/// Runs `work` with all channels and their states at once.
pub(super) fn with_each<S: Send, A: Send>(
    channels: &mut [Channel],
    mut states: Vec<S>,
    work: impl Fn(S, &mut Channel) -> Result<A> + Sync,
) -> Result<Vec<A>> {
    match (channels, states.pop()) {
        // One needs no thread.
        ([channel], Some(state)) if states.is_empty() => Ok(vec![work(state, channel)?]),
        (channels, last) => each(channels, states.into_iter().chain(last).collect(), work),
    }
}

/// Places of the peers of a party, in the order of its channels.
pub(super) fn peers(me: u8, channels: &[Channel]) -> Vec<u8> {
    (0..=channels.len() as u8).filter(|party| *party != me).collect()
}

/// Tells the peer how many frequent items this party has, and returns how many the peer has. Of more than `limit` both
/// tell no more than that: they are `limit + 1`.
pub(super) fn items(own: usize, limit: usize, channel: &mut Channel) -> Result<usize> {
    let most = limit.saturating_add(1).min(u32::MAX as usize);
    let told = own.min(most) as u32;
    let message = channel.exchange(ITEMS, told.to_le_bytes().to_vec(), COUNT_BYTES)?;
    let theirs = match message.as_slice().try_into() {
        Ok(bytes) => u32::from_le_bytes(bytes) as usize,
        Err(_) => return Err(channel.violation(format!("`{}` has {} bytes instead of 4", ITEMS.name, message.len()))),
    };
    if theirs <= most {
        Ok(theirs)
    } else {
        Err(channel.violation(format!("{theirs} frequent items are more than max_candidates ({limit})")))
    }
}

/// Tells the peer whether this party knows of no more rules than allowed, and returns whether the peer does.
pub(super) fn fit(own: bool, channel: &mut Channel) -> Result<bool> {
    match channel.exchange(FIT, vec![u8::from(own)], 1)?[..] {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(channel.violation(format!("`{}` is neither yes nor no", FIT.name))),
    }
}

/// Says which of two parties tells the other counts. One that does not only tells which itemsets these are of.
#[derive(Debug, Clone, Copy)]
pub(super) struct WithCounts {
    pub(super) to_peer: bool,
    pub(super) to_me: bool,
    /// Number that stands for a count that is not told.
    pub(super) unknown: u32,
}

impl WithCounts {
    /// Counts from both to each other.
    pub(super) const BOTH: WithCounts = WithCounts { to_peer: true, to_me: true, unknown: 0 };
}

/// Tells the peer the counts of some of this party's itemsets, which the peer can list, and returns the counts of those
/// of the peer's `theirs` itemsets that it tells. In each message a bit for each itemset says whether it is told; the
/// counts follow.
pub(super) fn counts(
    label: Label,
    own: &[Option<u32>],
    theirs: usize,
    with: WithCounts,
    channel: &mut Channel,
) -> Result<Vec<Option<u32>>> {
    let mut told = Vec::with_capacity(theirs);
    for start in (0..own.len().max(theirs)).step_by(CHUNK) {
        let own = &own[start.min(own.len())..(start + CHUNK).min(own.len())];
        let due = theirs.saturating_sub(start).min(CHUNK);
        let message = if with.to_peer { write_counts(own) } else { write_told(own) };
        let due_bytes = due.div_ceil(8) + if with.to_me { due * COUNT_BYTES } else { 0 };
        let message = channel.exchange(label, message, due_bytes)?;
        let read = if with.to_me { read_counts(&message, due) } else { read_told(&message, due, with.unknown) };
        told.extend(read.ok_or_else(|| channel.violation(format!("`{}` hold no counts", label.name)))?);
    }
    Ok(told)
}

/// The message of [`SUPPORTS`](super::SUPPORTS) and [`TOLD`](super::TOLD) that tells these counts.
pub fn write_counts(counts: &[Option<u32>]) -> Vec<u8> {
    let mut message = write_told(counts);
    message.extend(counts.iter().flatten().flat_map(|count| count.to_le_bytes()));
    message
}

/// The message that tells which of these counts there are.
pub fn write_told(counts: &[Option<u32>]) -> Vec<u8> {
    let mut message = vec![0; counts.len().div_ceil(8)];
    for (index, count) in counts.iter().enumerate() {
        message[index / 8] |= u8::from(count.is_some()) << (index % 8);
    }
    message
}

/// The other way, with `unknown` for each count.
fn read_told(message: &[u8], due: usize, unknown: u32) -> Option<Vec<Option<u32>>> {
    let told = message.iter().map(|bits| bits.count_ones() as usize).sum();
    read_counts(&[message, &unknown.to_le_bytes().repeat(told)].concat(), due)
}

/// The other way, for so many itemsets; `None` if it is not what [`write_counts`] can have written.
pub fn read_counts(message: &[u8], due: usize) -> Option<Vec<Option<u32>>> {
    let (bits, counts) = message.split_at_checked(due.div_ceil(8))?;
    let (counts, rest) = counts.as_chunks::<COUNT_BYTES>();
    let mut counts = counts.iter().map(|bytes| u32::from_le_bytes(*bytes));
    let mut read = Vec::with_capacity(due);
    for index in 0..due {
        read.push(match bits[index / 8] >> (index % 8) & 1 {
            0 => None,
            _ => Some(counts.next()?),
        });
    }
    let clean = due.is_multiple_of(8) || bits.last().is_none_or(|last| last >> (due % 8) == 0);
    (clean && rest.is_empty() && counts.next().is_none()).then_some(read)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_the_wire_and_garbage_is_refused() {
        for due in [0usize, 1, 7, 8, 9, 100] {
            for step in [1, 2, 1000] {
                let counts: Vec<Option<u32>> =
                    (0..due).map(|index| index.is_multiple_of(step).then_some(index as u32 * 77)).collect();
                let message = write_counts(&counts);
                assert_eq!(read_counts(&message, due).unwrap(), counts);
                assert!(read_counts(&[&message[..], &[0]].concat(), due).is_none());
                assert!(read_counts(&[&message[..], &[0; 4]].concat(), due).is_none());
                assert!(due == 0 || read_counts(&message[..message.len() - 1], due).is_none());
                if !due.is_multiple_of(8) {
                    let mut changed = message.clone();
                    changed[due / 8] |= 0x80;
                    assert!(read_counts(&[&changed[..], &[0; 4]].concat(), due).is_none());
                }
            }
        }
    }
    /// Lists of very different lengths, of several messages.
    #[test]
    fn long_lists_meet_short_ones() {
        use super::super::SUPPORTS;
        for (one, other) in [(2 * CHUNK + 5, 3), (0, CHUNK), (CHUNK + 1, 2 * CHUNK), (0, 0)] {
            let counts_of = |length: usize| -> Vec<Option<u32>> {
                (0..length).map(|index| (index % 3 > 0).then_some(index as u32)).collect()
            };
            let (mut first, mut second) = Channel::pair("first", "second");
            let (to_first, to_second) = std::thread::scope(|scope| {
                let second = scope.spawn(move || {
                    let told = counts(SUPPORTS, &counts_of(other), one, WithCounts::BOTH, &mut second);
                    second.finish().and(told)
                });
                let told = counts(SUPPORTS, &counts_of(one), other, WithCounts::BOTH, &mut first);
                (first.finish().and(told).unwrap(), second.join().unwrap().unwrap())
            });
            assert!(to_first == counts_of(other) && to_second == counts_of(one), "{one} {other}");
        }
    }
}
