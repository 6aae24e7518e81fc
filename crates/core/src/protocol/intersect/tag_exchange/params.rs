//! Parameters that both parties agree on before the first message, and the costs that follow from them.

use super::frames::{Frames, framed_bytes};
use super::rows_of_items::COUNT_BYTES;
use crate::channel::{HEADER_BYTES, MAX_PAYLOAD_BYTES};
use crate::error::{Error, Result};
use crate::primitive::paillier::{KeySize, PACKED_BITS};
use crate::security::Chance;

/// Elements in one message, unless the parties agree on another number.
pub const CHUNK: usize = 1 << 12;

/// The most elements in one message; fewer where they are so long that a frame does not hold as many.
const MAX_CHUNK: usize = 1 << 15;

/// Bytes that sealing adds to a row: the authenticator of ChaCha20-Poly1305.
pub const SEAL_BYTES: usize = 16;

/// Length of the message that tells the sender the count.
pub(crate) const COUNT_MESSAGE_BYTES: usize = 8;

/// Bytes of a sum, blinded or told.
pub(crate) const SUM_BYTES: usize = PACKED_BITS / 8;

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Items that the receiver sends, dummies included. Fewer own items are filled up, more are refused.
    pub receiver_items: usize,
    /// Entries that the sender sends, dummies included: items, or rows of items in `payload`.
    pub sender_entries: usize,
    /// Length of a tag in bytes; see [`tag_bytes`], [`payload_tag_bytes`] and [`epoch_tag_bytes`].
    pub tag_bytes: usize,
    /// The receiver's items do not fit a store with probability 2^-this at most; more where this is one of several
    /// runs.
    pub store_bits: u32,
    /// Result that is revealed to the receiver.
    pub reveal: ReceiverReveal,
    /// Whether the sender learns, afterwards, what the receiver has learned.
    pub to_sender: bool,
    /// Elements in one message: [`CHUNK`].
    pub chunk: usize,
}

/// Result that the receiver learns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReceiverReveal {
    /// Receiver's items that are common.
    Rows,
    /// Number of the common items.
    Count,
    /// Number of the common items, and the sums of the sender's numbers for them.
    Sum {
        /// Size of the Paillier key.
        key_size: KeySize,
        /// Number of numbers that each of the sender's items has, and so the number of sums.
        sums: usize,
    },
    /// Receiver's items that are common, and the sender's rows for them.
    Payload {
        /// Length of each row of the sender in bytes.
        row_bytes: usize,
        /// Rows that the receiver gives in return, if any; only if the sender learns.
        returned: Option<Returns>,
    },
}

/// The rows that the receiver can give in return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Returns {
    /// Length of each in bytes.
    pub row_bytes: usize,
    /// Largest number of returned rows.
    pub rows: usize,
}

/// Rows that the receiver has given in return in one run; for the bytes of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReturnedRows {
    /// Number of common items.
    pub items: usize,
    /// The receiver's rows for them.
    pub rows: usize,
}

/// Length of a tag so that, over all pairs of `receiver_items` and `sender_items`, two different items have equal tags
/// with probability at most 2^-43 ([`Chance::Tag`]): (43 + log2(receiver_items * sender_items)) / 8 bytes, rounded up.
/// The least is 6 bytes.
pub fn tag_bytes(receiver_items: usize, sender_items: usize) -> usize {
    bytes_for_pairs(receiver_items as u128 * sender_items as u128)
}

/// Length of a tag as [`tag_bytes`] has it, for `payload`: each of the receiver's items looks for one entry more than
/// it finds.
pub fn payload_tag_bytes(receiver_items: usize, sender_entries: usize) -> usize {
    bytes_for_pairs((receiver_items as u128 + sender_entries as u128) * sender_entries as u128)
}

/// Length of a tag as [`payload_tag_bytes`] has it, for a prepared sender. `queries` is the number of items that all
/// receivers together send in the epoch.
pub fn epoch_tag_bytes(queries: usize, runs: usize, sender_entries: usize) -> usize {
    let found = runs as u128 * sender_entries as u128;
    bytes_for_pairs((queries as u128 + found) * sender_entries as u128)
}

/// (43 + log2(pairs)) / 8, both rounded up.
fn bytes_for_pairs(pairs: u128) -> usize {
    (Chance::Tag.bits() + bits_of(pairs)).div_ceil(8) as usize
}

/// log2 of a number, rounded up.
pub(crate) fn bits_of(number: u128) -> u32 {
    u128::BITS - number.saturating_sub(1).leading_zeros()
}

impl Params {
    /// Parameters that reveal the common items, to the receiver alone. Each party has as many items as given.
    pub fn rows(receiver_items: usize, sender_items: usize) -> Params {
        Params {
            receiver_items,
            sender_entries: sender_items,
            tag_bytes: tag_bytes(receiver_items, sender_items),
            store_bits: Chance::Store.bits(),
            reveal: ReceiverReveal::Rows,
            to_sender: false,
            chunk: CHUNK,
        }
    }

    /// Parameters that reveal the number of common items, to the receiver alone. Each party has as many items as given.
    pub fn count(receiver_items: usize, sender_items: usize) -> Params {
        Params { reveal: ReceiverReveal::Count, ..Params::rows(receiver_items, sender_items) }
    }

    /// Parameters that reveal the number of common items and the sum of the sender's numbers for them, to the receiver
    /// alone. Each party has as many items as given.
    pub fn sum(receiver_items: usize, sender_items: usize, key_size: KeySize) -> Params {
        Params { reveal: ReceiverReveal::Sum { key_size, sums: 1 }, ..Params::rows(receiver_items, sender_items) }
    }

    /// The same, and each of the sender's items has so many numbers, each with a sum of its own.
    pub fn of_sums(self, sums: usize) -> Params {
        match self.reveal {
            ReceiverReveal::Sum { key_size, .. } => Params { reveal: ReceiverReveal::Sum { key_size, sums }, ..self },
            _ => self,
        }
    }

    /// Parameters that reveal the common items and the sender's rows for them, to the receiver alone. The sender has
    /// `sender_entries` rows of `row_bytes` each.
    pub fn payload(receiver_items: usize, sender_entries: usize, row_bytes: usize) -> Params {
        Params {
            tag_bytes: payload_tag_bytes(receiver_items, sender_entries),
            reveal: ReceiverReveal::Payload { row_bytes, returned: None },
            ..Params::rows(receiver_items, sender_entries)
        }
    }

    /// The same, as one of `runs` of which none may go wrong by chance, but with the probability that one alone may.
    pub fn one_of(self, runs: usize) -> Params {
        let (asked, sent) = (self.receiver_items as u128, self.sender_entries as u128);
        let pairs = match self.reveal {
            ReceiverReveal::Payload { .. } => (asked + sent) * sent,
            ReceiverReveal::Rows | ReceiverReveal::Count | ReceiverReveal::Sum { .. } => asked * sent,
        };
        Params {
            tag_bytes: bytes_for_pairs(pairs * runs as u128),
            store_bits: Chance::Store.bits() + bits_of(runs as u128),
            ..self
        }
    }

    /// The same, and the sender learns too.
    pub fn to_both(self) -> Params {
        Params { to_sender: true, ..self }
    }

    /// The same, and the receiver returns rows for the common items: at most `rows` of `row_bytes` each.
    pub fn returning(self, rows: usize, row_bytes: usize) -> Params {
        match self.reveal {
            ReceiverReveal::Payload { row_bytes: own, .. } => Params {
                reveal: ReceiverReveal::Payload { row_bytes: own, returned: Some(Returns { rows, row_bytes }) },
                ..self.to_both()
            },
            _ => self,
        }
    }

    /// Length of one entry of the sender: a tag, and a sealed row or an encrypted number where there is one.
    pub fn entry_bytes(&self) -> usize {
        match self.reveal {
            ReceiverReveal::Sum { key_size, .. } => self.tag_bytes + key_size.ciphertext_bytes(),
            ReceiverReveal::Payload { row_bytes, .. } => self.tag_bytes + row_bytes + SEAL_BYTES,
            ReceiverReveal::Rows | ReceiverReveal::Count => self.tag_bytes,
        }
    }

    /// Bytes with which the sender sends its entries, and closes.
    pub(crate) fn bytes_of_entries(&self) -> u64 {
        framed_bytes(self.sender_entries, self.entry_bytes(), self.chunk) + HEADER_BYTES as u64
    }

    /// Bytes with which the receiver tells and returns what was agreed on, and closes.
    pub(crate) fn bytes_told(&self, returned: ReturnedRows) -> u64 {
        let chunk = self.chunk;
        let mut bytes = HEADER_BYTES as u64;
        if self.to_sender {
            bytes += match self.reveal {
                ReceiverReveal::Count => framed_bytes(1, COUNT_MESSAGE_BYTES, chunk),
                ReceiverReveal::Sum { sums, .. } => framed_bytes(1, COUNT_MESSAGE_BYTES + sums * SUM_BYTES, chunk),
                ReceiverReveal::Rows | ReceiverReveal::Payload { .. } => {
                    framed_bytes(self.sender_entries.div_ceil(8), 1, chunk)
                }
            };
        }
        if let ReceiverReveal::Payload { returned: Some(Returns { row_bytes, .. }), .. } = self.reveal {
            bytes += framed_bytes(returned.items, COUNT_BYTES, chunk);
            bytes += framed_bytes(returned.rows, row_bytes, chunk);
        }
        bytes
    }

    /// Message flights from the sender's entries on; `after_sent` says whether the sender has a flight of its own
    /// that they continue, or must have anyway.
    pub(crate) fn flights_of_entries(&self, after_sent: bool, returned: ReturnedRows) -> u32 {
        let answers = after_sent || self.sender_entries > 0;
        let told = self.to_sender
            && match self.reveal {
                ReceiverReveal::Count | ReceiverReveal::Sum { .. } => true,
                ReceiverReveal::Rows | ReceiverReveal::Payload { .. } => self.sender_entries > 0,
            };
        let returns = matches!(self.reveal, ReceiverReveal::Payload { returned: Some(_), .. }) && returned.items > 0;
        u32::from(answers) + u32::from(told || returns)
    }

    /// Refuses values that cannot work: a bug of whoever has agreed on them.
    pub(crate) fn check(&self) -> Result<()> {
        let sizes = [self.receiver_items, self.sender_entries];
        let widest = match self.reveal {
            ReceiverReveal::Payload { returned: Some(returns), .. } => self.entry_bytes().max(returns.row_bytes),
            _ => self.entry_bytes(),
        };
        // A mask is then so much longer than the sums that these exceed N together with a probability of 2^-128 at
        // most.
        let fits = |key_size: KeySize, sums: usize| {
            sums > 0 && PACKED_BITS.saturating_mul(sums.saturating_add(1)) <= key_size.bits()
        };
        let wrong = if sizes.iter().any(|&size| size > u32::MAX as usize) {
            "a set has 2^32 elements or more"
        } else if self.tag_bytes == 0 || self.tag_bytes > 32 {
            "a tag has 1 to 32 bytes"
        } else if self.chunk == 0 || self.chunk > MAX_CHUNK {
            "a chunk has 1 to 32,768 elements"
        } else if matches!(self.reveal, ReceiverReveal::Sum { key_size, sums } if !fits(key_size, sums)) {
            "so many sums are not computed in one run"
        } else if widest > MAX_PAYLOAD_BYTES {
            "the given columns of a row, padded to one length, exceed 1 MiB: give fewer or shorter columns"
        } else {
            return Ok(());
        };
        Err(Error::Input(wrong.into()))
    }

    /// Returns the division of elements into messages: as many in each as `Frames` puts into one.
    pub(crate) fn frames(&self, elements: usize, element_bytes: usize) -> Frames {
        Frames::new(elements, element_bytes, self.chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that any of several runs goes wrong no more often than one alone may. For this, tags are longer and
    /// stores larger by the logarithm of their number.
    #[test]
    fn one_of_many_runs_goes_wrong_as_seldom_as_all_may() {
        for params in
            [Params::rows(1 << 20, 1 << 19), Params::count(1 << 20, 1 << 19), Params::payload(1 << 20, 1 << 19, 8)]
        {
            let pairs = match params.reveal {
                ReceiverReveal::Payload { .. } => ((1u128 << 20) + (1 << 19)) << 19,
                _ => 1 << 39,
            };
            for runs in [1, 2, 3, 1 << 10, 1 << 20] {
                let each = params.one_of(runs);
                assert_eq!(each.store_bits, Chance::Store.bits() + (runs as f64).log2().ceil() as u32);
                // That two of them are equal, in all runs together, with 2^-43 at most; and with a byte less more
                // often.
                let chance = |bytes: usize| (pairs as f64).log2() + (runs as f64).log2() - 8.0 * bytes as f64;
                let most = -f64::from(Chance::Tag.bits());
                assert!(chance(each.tag_bytes) <= most && chance(each.tag_bytes - 1) > most - 1.0, "{runs}: {each:?}");
            }
        }
    }
}
