//! Stages: how many keys go through the transfers together, and what these keep in memory (section 5.1 of the paper).

use std::ops::Range;

use super::function::input_bytes;
use crate::primitive::group::{Embedding, Group, Ristretto255};
use crate::primitive::ot::messages;
use crate::protocol::aggregate::{Params, RoundKeys};

/// Transfers of a stage, unless something else is agreed on: four chunks of the extension.
const TRANSFERS: usize = 4 * messages::CHUNK;

/// Data that participant and proxy have of each other while reports go from one to the other.
pub struct Reporting<'a, G: Group = Ristretto255> {
    /// Parameters agreed on for the round.
    pub params: &'a Params<G>,
    /// Public keys of the round.
    pub keys: &'a RoundKeys<G>,
    /// Name by which the proxy knows the participant: the fingerprint of an identity.
    pub participant: &'a str,
    /// The number of the first report that is sent, among all of this participant in the round.
    pub first: u64,
    /// Keys of a stage: see [`stage()`].
    pub stage: usize,
}

impl<G: Embedding> Reporting<'_, G> {
    /// The places of the keys of each stage, of so many in all.
    pub(super) fn stages(&self, count: usize) -> impl Iterator<Item = Range<usize>> + use<G> {
        messages::chunks(count, self.stage.max(1))
    }
}

/// Recommended number of keys in a stage: as many as 130,560 transfers serve, 1020 keys of 128 bits and 4080 of 32.
/// With more there is little to gain. With fewer than a quarter of these, a part of each message of the transfers is
/// empty.
pub fn stage<G: Embedding>(params: &Params<G>) -> usize {
    TRANSFERS / (8 * input_bytes(params.key_bytes()))
}

/// Memory of the proxy, in bytes, for the transfers and the reports of a stage of so many keys. The participant needs
/// less.
pub fn memory_of_stage<G: Embedding>(params: &Params<G>, keys: usize) -> u64 {
    let scalars = 2 * 8 * input_bytes(params.key_bytes()) * params.group().scalar_bytes();
    // Bytes and points of reports, and of entries, which are longer.
    let reports = 4 * params.entry_bytes();
    (keys * (scalars + reports)) as u64
}
