//! The sender's cuckoo table, and a value for each of its bins.
//!
//! An item has three places. The sender keeps it in one of them; the receiver fixes the OPPRF's value at each of its
//! items and each of the three, to the random value of that bin (Pinkas, Schneider, Tkachenko & Yanai, "Efficient
//! circuit-based PSI with linear communication", EUROCRYPT 2019). With 1.27 bins an item, a table fails with
//! probability 2^-40 at most, as Pinkas, Schneider & Zohner extrapolate from experiments ("Scalable private set
//! intersection based on OT extension", ACM TOPS 2018). The run then ends with an error.

use rand_core::CryptoRng;
use rayon::prelude::*;
use tacita_core::primitive::kernel::Block;
use tacita_core::protocol::intersect::opprf::{
    self, EvaluateOprf, OpprfReceiver, OpprfSender, ProgramOprf, QueryStore,
};
use tacita_core::{Channel, Error, Item, Result, Session};
use zeroize::Zeroizing;

/// Places of an item.
pub const PLACES: usize = 3;

/// Bins besides, with which tables of a few items have room, too.
const MIN_BINS: usize = 64;

/// Items that are moved for another one before a table counts as full.
const MAX_MOVES: usize = 10_000;

/// Number of bins of a table.
pub fn bins(items: usize) -> usize {
    (items * 127).div_ceil(100) + MIN_BINS
}

/// Bins that hold an item each, or none.
#[derive(Default)]
pub struct Table {
    /// Index of a bin's item, and the place that the bin is of it.
    bins: Vec<Option<(u32, u8)>>,
}

impl Table {
    /// Table of all items, which are distinct: each takes a free place, or moves another item to one of its others.
    pub fn new(items: &[Item], session: &Session, rng: &mut impl CryptoRng) -> Result<Table> {
        let mut table = Table { bins: vec![None; bins(items.len())] };
        let places = places(items, table.bins.len(), session);
        for index in 0..items.len() as u32 {
            let mut moving = (index, u8::MAX);
            for moves in 0.. {
                let own = &places[moving.0 as usize];
                let free = (0..PLACES).find(|&place| table.bins[own[place] as usize].is_none());
                if let Some(place) = free {
                    table.bins[own[place] as usize] = Some((moving.0, place as u8));
                    break;
                }
                if moves == MAX_MOVES {
                    return Err(Error::NotReady("the items do not fit their table: run the job again".into()));
                }
                // Any place but the one that it comes from.
                let mut place = rng.next_u32() as usize % PLACES;
                if place == usize::from(moving.1) {
                    place = (place + 1) % PLACES;
                }
                let bin = &mut table.bins[own[place] as usize];
                moving = bin.replace((moving.0, place as u8)).expect("no place is free");
            }
        }
        Ok(table)
    }

    /// Index of a bin's item.
    pub fn item(&self, bin: u32) -> Option<u32> {
        self.bins[bin as usize].map(|(item, _)| item)
    }

    /// Bins with an item, and those without.
    pub fn held_and_empty(&self) -> (Vec<u32>, Vec<u32>) {
        (0..self.bins.len() as u32).partition(|&bin| self.bins[bin as usize].is_some())
    }

    /// The sender's part: its value of each bin. Those of empty bins are zero, and nobody asks for them.
    pub fn evaluate(
        &self,
        items: &[Item],
        params: &opprf::Params,
        session: &Session,
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<Vec<u64>> {
        let key = point_key(session);
        let held: Vec<(u32, u8)> = self.bins.iter().flatten().copied().collect();
        let points: Vec<Item> =
            held.par_iter().map(|&(item, place)| point(&key, &items[item as usize], place)).collect();
        let asked = QueryStore::new(&points, params, session, rng)?;
        let planes = OpprfReceiver { session: &link(session) }.evaluate(&asked, params, channel, rng)?;
        let mut values = planes[0].iter();
        let mut value = |bin: &Option<_>| bin.and_then(|_| values.next()).map_or(0, |block: &Block| block.0 as u64);
        Ok(self.bins.iter().map(&mut value).collect())
    }
}

/// The receiver's part: its value of each of `bins` bins.
pub fn program(
    items: &[Item],
    bins: usize,
    params: &opprf::Params,
    session: &Session,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Vec<u64>> {
    let key = point_key(session);
    let targets = tacita_core::primitive::kernel::block::random(bins, rng);
    let places = places(items, bins, session);
    let points: Vec<Item> = items
        .par_iter()
        .flat_map_iter(|item| (0..PLACES as u8).map(|place| point(&key, item, place)).collect::<Vec<_>>())
        .collect();
    let values: Vec<Block> = places.iter().flatten().map(|&bin| targets[bin as usize]).collect();
    let sender = OpprfSender { session: &link(session), whole: session };
    sender.program(&points, &vec![Zeroizing::new(values)], params, channel, rng)?;
    Ok(targets.iter().map(|target| target.0 as u64).collect())
}

/// The bins of each item, by a hash that is drawn with the session.
fn places(items: &[Item], bins: usize, session: &Session) -> Vec<[u32; PLACES]> {
    let key = session.derive("union by switching places");
    let places = |item: &Item| {
        let hash = blake3::keyed_hash(&key, &item.0);
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| hash.as_bytes()[8 * at + byte]));
        std::array::from_fn(|place| ((u128::from(word(place)) * bins as u128) >> 64) as u32)
    };
    items.par_iter().map(places).collect()
}

fn point_key(session: &Session) -> [u8; 32] {
    session.derive("union by switching points")
}

/// The point of an item at one of its places.
fn point(key: &[u8; 32], item: &Item, place: u8) -> Item {
    let mut text = [place; 33];
    text[..32].copy_from_slice(&item.0);
    Item::new(key, &text)
}

fn link(session: &Session) -> Session {
    session.child("union by switching values", 0)
}

#[cfg(test)]
mod tests {
    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;
    use tacita_core::session::Transcript;

    use super::*;

    #[test]
    fn every_item_is_in_a_place_of_its_own() {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        let session = Session::new(Transcript::new("test"));
        for count in [0, 1, 10, 1000, 20_000] {
            let items: Vec<Item> = (0..count).map(|number: u32| Item::new(&[2; 32], &number.to_le_bytes())).collect();
            let table = Table::new(&items, &session, &mut rng).unwrap();
            let (held, empty) = table.held_and_empty();
            assert_eq!((held.len(), held.len() + empty.len()), (items.len(), bins(items.len())));
            let places = places(&items, bins(items.len()), &session);
            let mut found = vec![false; items.len()];
            for bin in held {
                let (item, place) = table.bins[bin as usize].unwrap();
                assert_eq!(places[item as usize][usize::from(place)], bin);
                assert!(!std::mem::replace(&mut found[item as usize], true));
            }
        }
    }
}
