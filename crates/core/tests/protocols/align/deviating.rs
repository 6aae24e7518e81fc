//! Promises are for parties that follow the protocol. These programs do not, in the first way that offers itself: they
//! leave their own items out of the union. The documentation says that such a party learns exactly which items are
//! common, and that the other does not notice. So it is; and one that follows the protocol learns none by the same
//! look.

use std::collections::HashSet;

use super::{align_as, common};
use crate::support::two::run;
use crate::support::{items, rng, session};
use tacita_core::protocol::align::{self, Alignment, Id, ORDER, Params, ROWS};
use tacita_core::protocol::union::{self, MemorySpace};
use tacita_core::{Channel, Item, Result, Side};

const MINE: usize = 30;
const THEIRS: usize = 25;

fn mine() -> Vec<Item> {
    items(0..MINE)
}

fn theirs() -> Vec<Item> {
    items(20..20 + THEIRS)
}

/// The own items whose ids stand among those that came from the peer.
fn seen(own: &[Item], ids: &[Id], theirs: &HashSet<Id>) -> Vec<Item> {
    own.iter().zip(ids).filter(|(_, id)| theirs.contains(id)).map(|(item, _)| *item).collect()
}

fn truth() -> Vec<Item> {
    mine().into_iter().filter(|item| theirs().contains(item)).collect()
}

/// A first party that is honest until it has its ids, and brings `brought` of them to the union. It sends the sorted
/// union of all that it knows of then.
fn first_that_brings(brought: usize, channel: &mut Channel) -> Result<Vec<Item>> {
    let (params, rng) = (Params::new(MINE, THEIRS), &mut rng(1));
    let ids = align::ids(Side::First, &mine(), &session(), &params, channel, rng)?;
    channel.count_rounds_anew();
    let own: Vec<Item> = ids[..brought].iter().map(|id| id.item()).collect();
    let mut received = HashSet::new();
    let mut take = |id: &[u8]| {
        received.insert(Id::from_bytes(id.try_into().unwrap()));
        Ok(())
    };
    let union = union::Params::new(MINE, THEIRS, 16);
    let of_union = session().child("align union", 0);
    union::ecdh::receive(&own[..], &MemorySpace, &of_union, &union, channel, rng, &mut take)?;
    let mut all: Vec<Id> =
        received.iter().copied().chain(ids.iter().copied()).collect::<HashSet<_>>().into_iter().collect();
    all.sort_unstable();
    channel.send(ROWS, (all.len() as u64).to_le_bytes().to_vec())?;
    channel.send(ORDER, all.iter().flat_map(|id| id.to_bytes()).collect())?;
    Ok(seen(&mine(), &ids, &received))
}

/// A second party that is honest until it has its ids, and brings `brought` of them to the union, and random ones
/// besides.
fn second_that_brings(brought: usize, channel: &mut Channel) -> Result<Vec<Item>> {
    let (params, mut rng) = (Params::new(MINE, THEIRS), rng(2));
    let ids = align::ids(Side::Second, &theirs(), &session(), &params, channel, &mut rng)?;
    channel.count_rounds_anew();
    let mut given = ids.to_vec();
    let random = super::dealt(&items(5_000..5_000 + THEIRS), 9);
    given[brought..].copy_from_slice(&random[brought..]);
    // The honest steps, but that it sees all ids that come.
    let (union, of_union) = (union::Params::new(MINE, THEIRS, 16), session().child("align union", 0));
    let own: Vec<Item> = given.iter().map(|id| id.item()).collect();
    let payload = |index: usize, out: &mut Vec<u8>| out.extend(given[index].to_bytes());
    let shuffled = union::ShuffledItems::new(&own, &payload, &mut rng)?;
    union::ecdh::send(&shuffled, &MemorySpace, &of_union, &union, channel, &mut rng)?;
    let rows = u64::from_le_bytes(channel.receive(ROWS, 8)?.try_into().unwrap()) as usize;
    let all = channel.receive(ORDER, 16 * rows)?;
    let brought: HashSet<&Id> = given.iter().collect();
    let all = all.chunks(16).map(|id| Id::from_bytes(id.try_into().unwrap()));
    let others = all.filter(|id| !brought.contains(id)).collect();
    Ok(seen(&theirs(), &ids, &others))
}

/// The other party, which follows the protocol.
fn honest(side: Side, channel: &mut Channel) -> Result<Alignment> {
    let items = if side == Side::First { mine() } else { theirs() };
    align_as(side, &items, &Params::new(MINE, THEIRS), channel, 7)
}

/// The items that a party with this program sees to be common, and what the honest one is told.
fn against_honest(side: Side, program: &(dyn Fn(&mut Channel) -> Result<Vec<Item>> + Sync)) -> (Vec<Item>, [usize; 2]) {
    enum Got {
        Seen(Vec<Item>),
        Told([usize; 2]),
    }
    let deviating = |channel: &mut Channel| program(channel).map(Got::Seen);
    let following = |channel: &mut Channel| {
        honest(side.other(), channel).map(|alignment| Got::Told([alignment.rows(), alignment.common()]))
    };
    let (one, other) = match side {
        Side::First => run(&deviating, &following),
        Side::Second => run(&following, &deviating),
    };
    match (one.unwrap().0, other.unwrap().0) {
        (Got::Seen(seen), Got::Told(told)) | (Got::Told(told), Got::Seen(seen)) => (seen, told),
        _ => unreachable!("one deviates, the other does not"),
    }
}

#[test]
fn a_first_party_that_leaves_its_items_out_learns_which_are_common() {
    let shared = common(&mine(), &theirs());
    let (seen, told) = against_honest(Side::First, &|channel| first_that_brings(0, channel));
    assert_eq!(seen, truth());
    // The other gets what it should, and cannot notice.
    assert_eq!(told, [MINE + THEIRS - shared, shared]);
    // By the same look it learns nothing where it brings all.
    assert_eq!(against_honest(Side::First, &|channel| first_that_brings(MINE, channel)), (Vec::new(), told));
}

#[test]
fn a_second_party_that_leaves_its_items_out_learns_which_are_common() {
    let shared = common(&mine(), &theirs());
    let (seen, told) = against_honest(Side::Second, &|channel| second_that_brings(0, channel));
    assert_eq!(seen, truth());
    // The other is told that none is common, as it may be.
    assert_eq!(told, [MINE + THEIRS, 0]);
    let (seen, told) = against_honest(Side::Second, &|channel| second_that_brings(THEIRS, channel));
    assert_eq!((seen, told), (Vec::new(), [MINE + THEIRS - shared, shared]));
}
