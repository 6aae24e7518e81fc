//! The part of every party but the leader.

use std::sync::atomic::AtomicBool;

use rand_core::CryptoRng;

use super::shares::Plane;
use super::{COMMON, MeshLink, StarMatches, StarParty};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::kernel::block;
use crate::protocol::intersect::opprf::{Function, Planes, ProgramOprf};
use crate::protocol::intersect::tag_exchange::items::Padded;
use crate::protocol::intersect::tag_exchange::{CHUNK, Entries, Frames, Own, Payload, TagDomain, TagTable};

/// The part of another party than the leader, with the end of its function from elsewhere. `channel` is that to the
/// leader.
pub fn answer_over(
    party: StarParty<'_>,
    end: impl ProgramOprf,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Option<StarMatches>> {
    let StarParty { me, items, rows, params, links, .. } = party;
    let link = links.iter().find(|link| link.peer == params.leader);
    let link = link.ok_or_else(|| Error::Internal("star: no link to the leader".into()))?;

    // 1. Its shares, of its own rows' sharing not: that one is their key.
    let sharings = params.sharings().filter(|gives| gives.party != me).map(|gives| Plane::RowsOf(gives.party));
    let planes = std::iter::once(Plane::Membership).chain(sharings);
    let all = Padded::new(items, rng);
    let all = all.range(&(0..params.items[me]));
    let values: Planes = planes.map(|plane| party.shares(plane, &all)).collect();
    let function = end.program(&all, &values, &params.link(me), channel, rng)?;
    drop(values);

    // 2. The rows that it gives, sealed, in random order. Its shares alone must not be their keys: all others together know
    // every seed that is in them, and could try any item. The function, which the leader has at its own items only, is
    // the rest.
    if let (Some(gives), Some(rows)) = (params.givers.iter().find(|gives| gives.party == me), rows) {
        let entries = params.entries(gives);
        let progress = channel.progress().clone();
        progress.start("sealing", entries.sender_entries);
        let domain = TagDomain::of_protocol("star", &link.session);
        let keys = |items: &[Item]| {
            let mut keys = function.free(items);
            block::xor_into(&party.shares(Plane::RowsOf(me), items), &mut keys);
            Ok(party.row_keys(me, items, &keys))
        };
        let own = Own { items, payload: Some(rows) };
        let sealed = Entries::new(own, keys, &domain, &entries, rng, &progress, &AtomicBool::new(false))?;
        sealed.send(&entries, channel)?;
    }

    // 3. What the leader tells.
    if params.learners.contains(&me) { party.hear(link, channel).map(Some) } else { Ok(None) }
}

impl StarParty<'_> {
    /// Receives the items that all have, and the rows that come with them.
    fn hear(&self, link: &MeshLink, channel: &mut Channel) -> Result<StarMatches> {
        let (params, length) = (self.params, self.params.told_bytes(self.me));
        let mut table = TagTable::new(self.items.len(), length);
        for tag in self.told_tags(link, self.items) {
            table.insert(&tag[..length]);
        }
        let tags = Frames::new(params.told(), length, CHUNK).receive(COMMON, channel)?;
        if !tags.chunks_exact(length).is_sorted() {
            return Err(channel.violation(format!("`{}` are not in order", COMMON.name)));
        }
        // In the order of the tags; each with its place there.
        let told: Vec<usize> = table.find_each(&tags).into_iter().map(|(_, item)| item).collect();
        let mut order: Vec<usize> = (0..told.len()).collect();
        order.sort_unstable_by_key(|&place| told[place]);
        if order.windows(2).any(|pair| told[pair[0]] == told[pair[1]]) {
            return Err(channel.violation(format!("`{}` holds a tag twice", COMMON.name)));
        }
        let mut rows = Vec::new();
        for gives in params.given_to(self.me) {
            let received = gives.forwarded().receive(told.len(), gives.rows, channel)?;
            let mut ordered = Payload::new(gives.row_bytes);
            order.iter().try_for_each(|&place| ordered.push(received.rows_of(place), received.item(place)))?;
            rows.push((gives.party, ordered));
        }
        Ok(StarMatches { items: order.into_iter().map(|place| told[place]).collect(), rows })
    }
}
