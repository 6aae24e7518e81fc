//! Memory of the protocol, in bytes: estimates from above.

use tacita_core::protocol::intersect::star::{Gives, Params};

use crate::jobs::intersect::memory::BUCKET_ITEM_BYTES;

/// Memory of the leader for each of its items, and for each link besides; of another for each of the leader's items and
/// each of its own, measured and rounded up.
const LEADER_BYTES: u64 = 200;
const LINK_BYTES: u64 = 160;
const OTHER_BYTES: u64 = 130;
const OWN_BYTES: u64 = 220;

/// Memory of the leader for each tag that another who learns is told, while they are put in order.
const TAG_BYTES: u64 = 128;

/// Memory of the party at `me` for one bucket of a run in buckets, in bytes, with its items.
pub fn of_bucket(bucket: &Params, me: usize) -> u64 {
    of_run(bucket, me).saturating_add((bucket.items[me] as u64).saturating_mul(BUCKET_ITEM_BYTES))
}

/// Returns the memory of a run that grows with its items.
pub fn of_run(params: &Params, me: usize) -> u64 {
    let items = |place: usize| params.items[place] as u64;
    let planes = 1 + params.givers.iter().filter(|gives| gives.party != params.leader).count() as u64;
    // Peers claim these numbers, as large as they like.
    let entries = |gives: &Gives| (gives.rows as u64).saturating_mul(3 * gives.row_bytes as u64 + 160);
    let together = |all: &mut dyn Iterator<Item = u64>| all.fold(0, u64::saturating_add);
    if me == params.leader {
        let links = (params.items.len() - 1) as u64;
        let stores = (0..params.items.len()).filter(|place| *place != me).map(|place| items(place) * 21 * planes);
        let own = items(me).saturating_mul(LEADER_BYTES + links * (LINK_BYTES + 16 * planes));
        // What it forwards is there once more for each who hears it, in memory that doubles as it grows.
        let hear = params.learners.len() as u64 - 1;
        let forward = |gives: &Gives| (gives.rows as u64).saturating_mul((gives.row_bytes as u64 + 4) * 2 * hear);
        let forwarded = together(&mut params.givers.iter().map(forward));
        let tags = params.items.iter().min().map_or(0, |least| (*least as u64).saturating_mul(TAG_BYTES * hear));
        let received = together(&mut params.givers.iter().map(entries));
        let parts = [own, together(&mut { stores }), received, forwarded, tags];
        together(&mut parts.into_iter())
    } else {
        let own = items(me).saturating_mul(OWN_BYTES + 64 * planes);
        let given = params.givers.iter().filter(|gives| gives.party == me || params.learners.contains(&me));
        let asked = items(params.leader).saturating_mul(OTHER_BYTES);
        asked.saturating_add(own).saturating_add(together(&mut given.map(entries)))
    }
}
