//! A trusted dealer in the place of the protocol, for tests of what is built on it: both parties hand it their items,
//! and it puts those of both into a uniformly random order.

use std::collections::BTreeSet;
use std::sync::mpsc;

use rand_core::CryptoRng;

use super::order::places;
use super::{Alignment, Id, Order, Params};
use crate::error::{Error, Result};
use crate::item::Item;

/// Items of a party, and its share of the seed of the order.
type Told = (Vec<Item>, [u8; 32]);

/// The dealer's end for one party, for one use.
pub struct IdealAlignParty {
    to_peer: mpsc::Sender<Told>,
    from_peer: mpsc::Receiver<Told>,
}

/// The dealer's two ends, in one process: for the first party, and for the second.
pub fn pair() -> (IdealAlignParty, IdealAlignParty) {
    let ((to_second, from_first), (to_first, from_second)) = (mpsc::channel(), mpsc::channel());
    let first = IdealAlignParty { to_peer: to_second, from_peer: from_second };
    (first, IdealAlignParty { to_peer: to_first, from_peer: from_first })
}

impl IdealAlignParty {
    /// Returns the alignment, as [`run`](super::run) does, from the dealer.
    pub fn run(self, items: &[Item], params: &Params, rng: &mut impl CryptoRng) -> Result<Alignment> {
        let gone = || Error::Internal("the dealer's other end is gone".into());
        let mut share = [0; 32];
        rng.fill_bytes(&mut share);
        self.to_peer.send((items.to_vec(), share)).map_err(|_| gone())?;
        let (theirs, their_share) = self.from_peer.recv().map_err(|_| gone())?;
        let seed: [u8; 32] = std::array::from_fn(|byte| share[byte] ^ their_share[byte]);

        let id = |item: &[u8]| {
            let hash = blake3::keyed_hash(&seed, item);
            Id::from_bytes(std::array::from_fn(|byte| hash.as_bytes()[byte]))
        };
        let own: Vec<Id> = items.iter().map(|item| id(&item.0)).collect();
        let both = items.len() + theirs.len();
        let fill = params.first_items + params.second_items;
        let fill =
            fill.checked_sub(both).ok_or_else(|| Error::Internal("align: more items than were agreed on".into()))?;
        // Strings of another length than an item's are none.
        let fill = (0..fill as u64).map(|number| id(&number.to_le_bytes()));
        let all: BTreeSet<Id> = own.iter().copied().chain(theirs.iter().map(|item| id(&item.0))).chain(fill).collect();
        let all: Vec<Id> = all.into_iter().collect();
        let positions =
            places(&own, &all).ok_or_else(|| Error::Internal("align: an own id is not in the union".into()))?;
        Alignment::new(items.len(), &Order { rows: all.len(), positions }, params)
    }
}
