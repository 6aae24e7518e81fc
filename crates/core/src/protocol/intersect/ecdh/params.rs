//! Parameters that both parties agree on before the first message, and the costs that follow from them.

use crate::primitive::oprf::Suite;
use crate::protocol::intersect::tag_exchange::{self, ReceiverReveal, ReturnedRows, SUM_BYTES, framed_bytes};
use crate::role::Role;

/// Agreed public values of one run. Both parties must use equal ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Sizes, tags and what is revealed.
    pub entries: tag_exchange::Params,
    /// The group and the hash function.
    pub suite: Suite,
}

impl Params {
    /// Creates parameters from `entries`, in a group.
    pub fn new(entries: tag_exchange::Params, suite: Suite) -> Params {
        Params { entries, suite }
    }

    /// Bytes that a party sends in all, frame headers included and heartbeats not. `returned` matters for the receiver
    /// in a `payload` that returns rows.
    pub fn bytes_sent_by(&self, role: Role, returned: ReturnedRows) -> u64 {
        let Params { entries, suite } = self;
        let frame = |bytes: usize| framed_bytes(1, bytes, entries.chunk);
        let adding = match (entries.reveal, role) {
            (ReceiverReveal::Sum { key_size, .. }, Role::Receiver) => frame(key_size.ciphertext_bytes()),
            (ReceiverReveal::Sum { key_size, sums }, Role::Sender) => {
                frame(key_size.public_key_bytes()) + frame(sums * SUM_BYTES)
            }
            (ReceiverReveal::Rows | ReceiverReveal::Payload { .. }, Role::Sender) => frame(suite.element_bytes()),
            _ => 0,
        };
        let rest = match role {
            Role::Receiver => entries.bytes_told(returned),
            Role::Sender => entries.bytes_of_entries(),
        };
        framed_bytes(entries.receiver_items, suite.element_bytes(), entries.chunk) + adding + rest
    }

    /// Message flights in sequence, as [`crate::channel::Traffic`] counts them.
    pub fn rounds(&self, returned: ReturnedRows) -> u32 {
        let asks = self.entries.receiver_items > 0;
        let rest = match self.entries.reveal {
            // The key travels with the entries; then the encrypted sum, and the blinded one.
            ReceiverReveal::Sum { .. } => 3 + u32::from(self.entries.to_sender),
            ReceiverReveal::Count => self.entries.flights_of_entries(asks, returned),
            // The sender's public key comes first.
            _ => u32::from(asks) + self.entries.flights_of_entries(true, returned),
        };
        u32::from(asks) + rest
    }
}
