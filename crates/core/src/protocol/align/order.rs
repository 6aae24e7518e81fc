//! Steps 3 and 4: the union of the ids, in order.

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::{ID_BYTES, Id, ORDER, Params, ROWS};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::protocol::union::{self, MemorySpace, ShuffledItems};
use crate::role::Side;
use crate::session::Session;

/// Length of the message that tells the number of rows.
pub(super) const ROWS_BYTES: usize = 8;

/// Rows of the union, and where a party's own ids stand among them.
pub struct Order {
    /// Number of rows to be ordered.
    pub rows: usize,
    /// Row of each of the own ids.
    pub positions: Zeroizing<Vec<u32>>,
}

/// The first party's role: it receives the union, sorts it, and sends it. Ids are those of [`ids`](super::ids()).
pub fn first(
    ids: &[Id],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Order> {
    params.check(Side::First, ids.len())?;

    // 3. The own ids, and behind them those that only the peer has.
    let mut all = Zeroizing::new(Vec::with_capacity(ids.len() + params.second_items));
    all.extend_from_slice(ids);
    let mut take = |id: &[u8]| {
        all.push(Id::from_bytes(id.try_into().map_err(|_| Error::Internal("align: an id of another length".into()))?));
        Ok(())
    };
    let items = items_of(ids);
    let session = session.child("align union", 0);
    union::ecdh::receive(&items[..], &MemorySpace, &session, &params.union(), channel, rng, &mut take)?;
    channel.progress().start("ordering", all.len());
    all.par_sort_unstable();
    if all.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(channel.violation("it gives an id twice, or one of this party's, as one that this party lacks"));
    }

    // 4. The union in order.
    channel.send(ROWS, (all.len() as u64).to_le_bytes().to_vec())?;
    for range in params.frames(all.len()) {
        let ids = all[range].iter();
        let count = ids.len();
        channel.send(ORDER, ids.flat_map(|id| id.to_bytes()).collect())?;
        channel.progress().advance(count);
    }
    let positions = places(ids, &all).ok_or_else(|| Error::Internal("align: an own id is not in the union".into()))?;
    Ok(Order { rows: all.len(), positions })
}

/// The second party's role: it gives its ids to the union, in a random order, and receives the sorted union.
pub fn second(
    ids: &[Id],
    session: &Session,
    params: &Params,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Order> {
    params.check(Side::Second, ids.len())?;

    // 3. All own ids; those that the peer lacks arrive there.
    let items = items_of(ids);
    let payload = |index: usize, out: &mut Vec<u8>| out.extend(ids[index].to_bytes());
    let given = ShuffledItems::new(&items, &payload, rng)?;
    union::ecdh::send(&given, &MemorySpace, &session.child("align union", 0), &params.union(), channel, rng)?;

    // 4. The union in order.
    let all = receive_order(params, channel)?;
    let positions = places(ids, &all);
    let positions =
        positions.ok_or_else(|| channel.violation(format!("`{}` lacks an id of this party's", ORDER.name)))?;
    Ok(Order { rows: all.len(), positions })
}

/// Receives the sorted union: no fewer rows than either party has, no more than both, no id twice.
fn receive_order(params: &Params, channel: &mut Channel) -> Result<Zeroizing<Vec<Id>>> {
    let rows = channel.receive(ROWS, ROWS_BYTES)?;
    let rows = rows.try_into().map(u64::from_le_bytes).map_err(|_| Error::Internal("a length was checked".into()))?;
    let (least, most) = params.possible_rows();
    if rows < least as u64 || rows > most as u64 {
        let check = format!("`{}` are {rows}, where {least} to {most} are possible", ROWS.name);
        return Err(channel.violation(check));
    }
    channel.progress().start("ordering", rows as usize);
    let mut all: Zeroizing<Vec<Id>> = Zeroizing::new(Vec::new());
    // Memory is taken as ids arrive.
    for range in params.frames(rows as usize) {
        let message = channel.receive(ORDER, range.len() * ID_BYTES)?;
        let ids = message.chunks_exact(ID_BYTES);
        all.extend(ids.map(|id| Id::from_bytes(std::array::from_fn(|index| id[index]))));
        let seen = &all[range.start.saturating_sub(1)..];
        if seen.windows(2).any(|pair| pair[0] >= pair[1]) {
            return Err(channel.violation(format!("`{}` is not in order, or has an id twice", ORDER.name)));
        }
        channel.progress().advance(range.len());
    }
    Ok(all)
}

/// Ids as items of the union.
fn items_of(ids: &[Id]) -> Zeroizing<Vec<Item>> {
    Zeroizing::new(ids.iter().map(|id| id.item()).collect())
}

/// Place of each id among all of them, which are in order; none if one is missing.
pub(super) fn places(ids: &[Id], all: &[Id]) -> Option<Zeroizing<Vec<u32>>> {
    let mut own: Zeroizing<Vec<(Id, u32)>> = Zeroizing::new(ids.iter().copied().zip(0..).collect());
    own.par_sort_unstable();
    let mut places = Zeroizing::new(vec![0; ids.len()]);
    let mut next = own.iter().peekable();
    for (id, place) in all.iter().zip(0..) {
        if let Some(&(_, index)) = next.next_if(|(own, _)| own == id) {
            places[index as usize] = place;
        }
    }
    next.peek().is_none().then_some(places)
}
