//! Keys of the tree of marks and records.

use tacita_node::base::hex::hex;

/// First byte of a key, by kind: name of a round, mark of a batch, claim, record, sealed round, and round whose removal
/// has begun.
pub(super) const ROUND: u8 = b'n';
pub(super) const MARK: u8 = b'b';
pub(super) const CLAIM: u8 = b'c';
pub(super) const RECORD: u8 = b'r';
pub(super) const SEALED: u8 = b's';
pub(super) const REMOVED: u8 = b'x';

const BYTES: usize = 32;

/// A round in keys: names may be of any length, and hold anything.
pub(super) struct Round(pub(super) [u8; BYTES]);

impl Round {
    pub(super) fn new(name: &str) -> Round {
        Round(*blake3::hash(name.as_bytes()).as_bytes())
    }

    pub(super) fn key(&self, kind: u8, rest: &[u8]) -> Vec<u8> {
        [&[kind], &self.0[..], rest].concat()
    }

    pub(super) fn tree(&self) -> String {
        hex(&self.0)
    }
}
