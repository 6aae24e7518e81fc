//! Knowledge about the parties, as the basis of statements on who learns what.

use super::handshake::HandshakeResult;
use super::{Sizes, Slices};
use std::collections::BTreeMap;

/// Knowledge about both parties.
#[derive(Debug, Clone, Copy, Default)]
pub struct KnownSizes<'a> {
    /// The party's own distinct keys, if they are known to whoever prints this.
    pub own_items: Option<u64>,
    /// Distinct keys of the peer, if they are known to whoever prints this.
    pub items: Option<u64>,
    /// The peer's rows with a key, likewise, where it gives columns.
    pub entries: Option<u64>,
    /// The peer answers with a prepared part.
    pub prepared: bool,
    /// The peer keeps its table and the run on disk.
    pub on_disk: bool,
    /// The runs of which the peer brings shares, likewise.
    pub runs: Option<u64>,
    /// Rows that both have, where they are multiplied.
    pub common: Option<u64>,
    /// Row counts of several clients.
    pub slices: Option<&'a Slices>,
    /// The sizes of all of several parties.
    pub all: Option<&'a BTreeMap<String, Sizes>>,
    /// The party's own sizes and the peer's by each of several keys.
    pub any: Option<[&'a [Sizes]; 2]>,
}

impl<'a> KnownSizes<'a> {
    /// Returns the knowledge in the sizes that two parties have agreed on.
    pub fn of(agreed: &'a HandshakeResult) -> Self {
        KnownSizes::of_sizes(&agreed.own_sizes, &agreed.peer_sizes)
    }

    /// Returns the knowledge in the sizes of a party and its peer.
    pub fn of_sizes(own: &'a Sizes, theirs: &'a Sizes) -> Self {
        KnownSizes {
            own_items: Some(own.items),
            items: Some(theirs.items),
            entries: Some(theirs.entries),
            prepared: theirs.epoch.is_some(),
            on_disk: theirs.work.is_some(),
            runs: theirs.runs.as_ref().map(|runs| runs.len() as u64),
            common: None,
            slices: None,
            all: None,
            any: (!theirs.any.is_empty()).then_some([&own.any, &theirs.any]),
        }
    }
}
