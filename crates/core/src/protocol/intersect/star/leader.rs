//! The part of the party that works the result out.

use rand_core::CryptoRng;
use rayon::prelude::*;

use super::shares::{Plane, half};
use super::{COMMON, Gives, MeshLink, StarMatches, StarParty};
use crate::channel::{Channel, each};
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::kernel::{Aes128, Block};
use crate::protocol::intersect::opprf::{EvaluateOprf, Planes, QueryStore};
use crate::protocol::intersect::tag_exchange::items::fork;
use crate::protocol::intersect::tag_exchange::{self, CHUNK, Frames, Payload, TagDomain, payload};

/// The leader's part, with the ends of its functions from elsewhere, one for each link.
pub fn lead_over<E: EvaluateOprf + Send>(
    party: StarParty<'_>,
    ends: Vec<E>,
    channels: &mut [Channel],
    rng: &mut (impl CryptoRng + Send),
) -> Result<StarMatches> {
    let StarParty { items, params, session, links, .. } = party;

    // 1. One store of its items, for all links.
    channels.iter().for_each(|channel| channel.progress().start("encoding", items.len()));
    let asked = QueryStore::new(items, &params.link(params.leader), session, rng)?;

    // 2. What each of the others has programmed.
    let states = links.iter().zip(ends).map(|(link, end)| (link, end, fork(rng))).collect();
    let values = each(channels, states, |(link, end, mut rng): (&MeshLink, E, _), channel| {
        end.evaluate(&asked, &params.link(link.peer), channel, &mut rng)
    })?;
    drop(asked);

    // 3. All have an item if the values and the own share sum to zero.
    let mut sums = party.shares(Plane::Membership, items);
    values.iter().for_each(|planes| add(&mut sums, &planes[0]));
    let common: Vec<usize> = (0..items.len()).filter(|&index| sums[index] == Block::ZERO).collect();
    let found: Vec<Item> = common.iter().map(|&index| items[index]).collect();
    if found.len() > params.told()
        && let Some(smallest) = links.iter().position(|link| params.items[link.peer] == params.told())
    {
        let check = format!("{} items are common, more than its {}", found.len(), params.told());
        return Err(party.whoever(&channels[smallest], check));
    }

    // 4. The rows that others give.
    let states = links.iter().map(|link| params.sharings().find(|gives| gives.party == link.peer)).collect();
    let received = each(channels, states, |gives: Option<&Gives>, channel| {
        let Some(gives) = gives else { return Ok(None) };
        let keys = party.keys_of(gives, &common, &found, &values);
        let outputs = party.row_keys(gives.party, &found, &keys);
        let domain = TagDomain::of_protocol("star", &party.link_to(gives.party)?.session);
        let opened = payload::receive(&outputs, None, &domain, &params.entries(gives), channel)?;
        Ok(Some((gives.party, opened)))
    })?;
    let received: Vec<_> = received.into_iter().flatten().collect();
    let kept = with_rows_of_all(found.len(), &received);
    let rows =
        received.into_iter().map(|(giver, opened)| Ok((giver, rows_of(opened, &kept)?))).collect::<Result<_>>()?;
    let found: Vec<Item> = kept.iter().map(|&place| found[place]).collect();
    let common = StarMatches { items: kept.iter().map(|&place| common[place]).collect(), rows };

    // 5. What the others learn.
    let states = links.iter().map(|link| (link, fork(rng))).collect();
    each(channels, states, |(link, mut rng): (&MeshLink, _), channel| {
        if params.learners.contains(&link.peer) { party.tell(link, &common, &found, channel, &mut rng) } else { Ok(()) }
    })?;
    Ok(common)
}

/// Determines which of `items` items have rows of every giver. If a giver has left out a row, or sealed it wrongly, the
/// item is passed over, as if that giver did not have it. To end the run would tell the giver that all have the item,
/// and the giver may be nobody that learns.
fn with_rows_of_all(items: usize, received: &[(usize, tag_exchange::Matches)]) -> Vec<usize> {
    let has = |opened: &tag_exchange::Matches, item: usize| opened.items.binary_search(&item).is_ok();
    (0..items).filter(|item| received.iter().all(|(_, opened)| has(opened, *item))).collect()
}

/// A giver's rows of the items that are kept.
fn rows_of(opened: tag_exchange::Matches, kept: &[usize]) -> Result<Payload> {
    let rows = opened.payload.ok_or_else(|| Error::Internal("star: a giver's rows are not there".into()))?;
    if opened.items == kept {
        return Ok(rows);
    }
    let mut of_kept = Payload::new(rows.row_bytes());
    for (place, _) in opened.items.iter().enumerate().filter(|(_, item)| kept.binary_search(item).is_ok()) {
        of_kept.push(rows.rows_of(place), rows.item(place))?;
    }
    Ok(of_kept)
}

fn add(sums: &mut [Block], values: &[Block]) {
    sums.par_iter_mut().zip(values).with_min_len(1 << 12).for_each(|(sum, value)| *sum ^= *value);
}

impl StarParty<'_> {
    /// The giver's keys for the items that all have: what all others have of its sharing, and its function.
    fn keys_of(&self, gives: &Gives, common: &[usize], found: &[Item], values: &[Planes]) -> Vec<Block> {
        let mut keys = self.shares(Plane::RowsOf(gives.party), found).to_vec();
        for (link, planes) in self.links.iter().zip(values) {
            if link.peer == gives.party {
                let free = planes.last().into_iter().flat_map(|free| common.iter().map(|&index| free[index]));
                keys.iter_mut().zip(free).for_each(|(key, free)| *key ^= free);
            }
            // The planes of a party are those of all givers but itself.
            let mut sharings = self.params.sharings().filter(|other| other.party != link.peer);
            if let Some(plane) = sharings.position(|other| other.party == gives.party) {
                keys.iter_mut().zip(common).for_each(|(key, &index)| *key ^= planes[plane + 1][index]);
            }
        }
        keys
    }

    /// A fault that shows at one party, and may be that of another if there are more than two.
    fn whoever(&self, channel: &Channel, check: String) -> Error {
        match self.links.len() {
            1 => channel.violation(check),
            _ => Error::Protocol { peer: format!("{}, or another party,", channel.peer()), check },
        }
    }

    fn link_to(&self, peer: usize) -> Result<&MeshLink> {
        let found = self.links.iter().find(|link| link.peer == peer);
        found.ok_or_else(|| Error::Internal("star: no link to a party".into()))
    }

    /// Tells another which of its items all have, in an order that says nothing, and the rows that it is given.
    fn tell(
        &self,
        link: &MeshLink,
        common: &StarMatches,
        found: &[Item],
        channel: &mut Channel,
        rng: &mut impl CryptoRng,
    ) -> Result<()> {
        let length = self.params.told_bytes(link.peer);
        let mut tags: Vec<(Vec<u8>, Option<usize>)> =
            self.told_tags(link, found).zip(0..).map(|(tag, place)| (tag[..length].to_vec(), Some(place))).collect();
        // Random ones fill them up, so that how many there are does not show on the line.
        tags.resize_with(self.params.told().max(tags.len()), || {
            let mut tag = vec![0; length];
            rng.fill_bytes(&mut tag);
            (tag, None)
        });
        tags.sort_unstable();
        let bytes: Vec<u8> = tags.iter().flat_map(|(tag, _)| tag).copied().collect();
        Frames::new(self.params.told(), length, CHUNK).send(COMMON, &bytes, channel)?;

        let order: Vec<usize> = tags.iter().filter_map(|(_, place)| *place).collect();
        for gives in self.params.given_to(link.peer) {
            let received = common.rows.iter().find(|(giver, _)| *giver == gives.party).map(|(_, rows)| rows);
            let own = self.rows.filter(|_| gives.party == self.me);
            let (rows, own) = match (received, own) {
                (Some(rows), _) => (rows, false),
                (None, Some(rows)) => (rows, true),
                (None, None) => return Err(Error::Internal("star: no rows of a giver".into())),
            };
            let items = order.iter().map(|place| if own { common.items[*place] } else { *place });
            gives.forwarded().send(items, rows, channel)?;
        }
        Ok(())
    }

    /// Tags by which the leader and another party know the items that all have.
    pub(super) fn told_tags(&self, link: &MeshLink, items: &[Item]) -> impl Iterator<Item = [u8; 32]> {
        let key = self.key_between(link, "star told", self.told_to(link) as u64);
        let cipher = Aes128::new(key);
        let tag = move |item: &Item| {
            let low = cipher.encrypt(half(item));
            let high = cipher.encrypt(Block::from_le_slice(&item.0[..16]));
            let mut tag = [0; 32];
            tag[..16].copy_from_slice(&low.to_bytes());
            tag[16..].copy_from_slice(&high.to_bytes());
            tag
        };
        items.iter().map(tag).collect::<Vec<_>>().into_iter()
    }

    /// The one of a link's two ends that is not the leader.
    fn told_to(&self, link: &MeshLink) -> usize {
        if self.me == self.params.leader { link.peer } else { self.me }
    }
}
