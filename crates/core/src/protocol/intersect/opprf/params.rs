//! Parameters that both ends agree on before the first message, and the costs that follow from them.

use crate::channel::HEADER_BYTES;
use crate::error::Result;
use crate::primitive::kernel::block::BLOCK_BYTES;
use crate::primitive::okvs;
use crate::protocol::intersect::tag_exchange;
use crate::protocol::intersect::vole::{self, correlation, function};
use crate::role::Role;
use crate::security::Security;

/// Agreed public values of one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Params {
    /// Items at which the receiver asks, dummies included.
    pub asked: usize,
    /// Items at which the sender fixes values, at most.
    pub programmed: usize,
    /// Blocks of a value.
    pub planes: usize,
    /// Whether there is one more, of the function as it is, which nobody fixes.
    pub free: bool,
    /// Items do not fit a store with probability 2^-this at most.
    pub store_bits: u32,
}

impl Params {
    /// Blocks that the receiver gets at an item.
    pub(super) fn width(&self) -> usize {
        self.planes + usize::from(self.free)
    }

    /// Sizes of the receiver's store.
    pub(in crate::protocol::intersect) fn asked_store(&self) -> Result<okvs::Params> {
        okvs::Params::new(self.asked, self.store_bits)
    }

    /// Sizes of the sender's.
    pub(in crate::protocol::intersect) fn programmed_store(&self) -> Result<okvs::Params> {
        okvs::Params::new(self.programmed, self.store_bits)
    }

    /// Parameters of the correlation.
    pub(super) fn correlation(&self) -> Result<vole::Params> {
        vole::Params::new(tag_exchange::Params::rows(self.asked, self.programmed), Security::SemiHonest)
    }

    /// Bytes that an end sends in all, frame headers included and heartbeats not.
    pub(crate) fn bytes_sent_by(&self, role: Role) -> Result<u64> {
        let asked = self.asked_store()?.columns();
        let store =
            |columns: usize| (columns * BLOCK_BYTES + columns.div_ceil(function::MASKED_BLOCKS) * HEADER_BYTES) as u64;
        let seed = (HEADER_BYTES + function::SEED_BYTES) as u64;
        let own = match role {
            Role::Receiver => store(asked),
            Role::Sender => self.planes as u64 * store(self.programmed_store()?.columns()),
        };
        Ok(correlation::bytes_sent_by(role, asked, Security::SemiHonest)? + seed + own)
    }

    /// Message flights in sequence: base OTs; seed and corrections; trees; masked store; the programmed one.
    pub(crate) fn rounds(&self) -> u32 {
        5
    }
}
