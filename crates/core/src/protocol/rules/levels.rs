//! The itemsets of one length: which are worth counting, and what counts of them can be.

use super::frequent::{Counted, Frequent};
use super::itemsets::{FrequentItem, ItemsetOwner, Itemsets, has_part, kind, mixed_pairs};
use super::params::Params;
use super::{SUPPORTS, exchange};
use crate::channel::{Channel, conclude_all_for};
use crate::error::{Error, Result};
use crate::protocol::dot::{self, Shares};

/// Exchanges the number of frequent items of each party. Too many of one end the run at all.
pub(super) fn count_items(me: u8, own: usize, params: &Params, channels: &mut [Channel]) -> Result<Vec<u32>> {
    let most = params.max_candidates;
    let all = vec![(); channels.len()];
    let theirs = exchange::with_each(channels, all, |(), channel| exchange::items(own, most, channel))?;
    let of_peer = channels.iter().zip(&theirs).find(|(_, theirs)| **theirs > most);
    let whose = match of_peer {
        _ if own > most => Some(format!("{own} own items")),
        of_peer => of_peer.map(|(channel, _)| format!("more than {most} items of {}", channel.peer())),
    };
    if let Some(whose) = whose {
        return Err(conclude_all_for(channels, params.too_many_items(&whose)));
    }
    let mut items: Vec<u32> = theirs.into_iter().map(|theirs| theirs as u32).collect();
    items.insert(me.into(), own as u32);
    Ok(items)
}

/// The frequent itemsets of one length.
pub(super) struct Level {
    /// Itemsets of each party. With `mixed_only` none beyond single items, of which the peers' have no counts.
    pub one: Vec<Counted>,
    pub mixed: Counted,
    /// Single items of each party.
    pub items: Vec<u32>,
}

/// The candidates of one length.
pub(super) struct Candidates {
    pub one: Vec<Itemsets>,
    pub mixed: Itemsets,
}

impl Candidates {
    pub(crate) fn len(&self) -> usize {
        self.one.iter().chain([&self.mixed]).map(Itemsets::len).sum()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Exchanges what the parties tell each other of single items.
pub(super) fn first_level(
    me: u8,
    own: &[u32],
    items: Vec<u32>,
    params: &Params,
    channels: &mut [Channel],
) -> Result<Level> {
    let peers = exchange::peers(me, channels);
    let count_of = |peer: &u8| items[usize::from(*peer)] as usize;
    let mut counts: Vec<Vec<u32>> = if params.rules.mixed_only {
        // No count is known; none is above this.
        peers.iter().map(|peer| vec![params.rows as u32; count_of(peer)]).collect()
    } else {
        let told: Vec<Option<u32>> = own.iter().copied().map(Some).collect();
        let range = params.minimum..=params.rows;
        let count = |count: &Option<u32>| count.filter(|&count| range.contains(&(count as usize)));
        exchange::with_each(channels, peers.iter().map(count_of).collect(), |theirs, channel| {
            let theirs = exchange::counts(SUPPORTS, &told, theirs, channel)?;
            theirs.iter().map(count).collect::<Option<Vec<u32>>>().ok_or_else(|| impossible(channel))
        })?
    };
    counts.insert(me.into(), own.to_vec());
    let singles =
        |(party, counts): (u8, Vec<u32>)| Counted { sets: Itemsets::singles(party, counts.len() as u32), counts };
    Ok(Level { one: (0..).zip(counts).map(singles).collect(), mixed: Counted::none(1), items })
}

impl Level {
    /// The candidates of one item more, which all parties compute alike.
    pub(crate) fn candidates(&self, length: usize, params: &Params) -> Result<Candidates> {
        let (limit, mixed_only) = (params.max_candidates, params.rules.mixed_only);
        let one = |frequent: &Counted| {
            if mixed_only {
                Ok(Itemsets::none(length))
            } else {
                frequent.sets.candidates(limit).map_err(|found| params.too_many("one-party", length, found))
            }
        };
        let one = self.one.iter().map(one).collect::<Result<_>>()?;
        let mixed = match length {
            2 => mixed_pairs(&self.items, limit),
            _ => self.mixed.sets.mixed_candidates(limit, |part| {
                // Shorter parts are those of mixed subsets.
                mixed_only || part.len() + 1 < length || self.count(part).is_some()
            }),
        };
        Ok(Candidates { one, mixed: mixed.map_err(|found| params.too_many("mixed", length, found))? })
    }

    /// The number of rows that an itemset of this level is in, as far as it is known.
    fn count(&self, set: &[FrequentItem]) -> Option<u32> {
        match kind(set) {
            ItemsetOwner::One(party) => self.one[usize::from(party)].count(set),
            ItemsetOwner::Mixed => self.mixed.count(set),
        }
    }

    /// The most rows that an itemset of one item more can be in.
    pub(super) fn most(&self, set: &[FrequentItem]) -> Option<u32> {
        if set.len() < 2 {
            return None;
        }
        let mut subset = Vec::with_capacity(set.len());
        (0..set.len())
            .filter_map(|left_out| {
                subset.clear();
                subset.extend(set.iter().enumerate().filter(|(index, _)| *index != left_out).map(|(_, item)| *item));
                self.count(&subset)
            })
            .min()
    }

    /// Adds this level to the result.
    pub(crate) fn keep(&self, params: &Params, frequent: &mut Frequent) {
        if !params.rules.mixed_only {
            (0..).zip(&self.one).for_each(|(party, one)| frequent.push(ItemsetOwner::One(party), one.clone()));
        }
        frequent.push(ItemsetOwner::Mixed, self.mixed.clone());
    }
}

/// Exchanges the counts of each party's own candidates, as far as they are frequent.
pub(super) fn one_party(
    me: u8,
    own_counts: &[u32],
    level: &Level,
    candidates: &Candidates,
    params: &Params,
    channels: &mut [Channel],
) -> Result<Vec<Counted>> {
    let enough = |&count: &u32| (count as usize >= params.minimum).then_some(count);
    let own: Vec<Option<u32>> = own_counts.iter().map(enough).collect();
    let peers = exchange::peers(me, channels);
    let mut counts = exchange::with_each(channels, peers, |peer, channel| {
        let theirs = &candidates.one[usize::from(peer)];
        let counts = exchange::counts(SUPPORTS, &own, theirs.len(), channel)?;
        fit(theirs.iter().zip(&counts), level, params).then_some(counts).ok_or_else(|| impossible(channel))
    })?;
    counts.insert(me.into(), own);
    let told = |(sets, counts): (&Itemsets, Vec<Option<u32>>)| Counted::of(sets, &counts);
    Ok(candidates.one.iter().zip(counts).map(told).collect())
}

/// The frequent ones of the mixed candidates, from this party's shares of the counts of those that it has a part in.
/// Counts are opened to the parties of their candidates: those that are known to be frequent, or all. The first party
/// of a frequent one tells the others its count.
pub(super) fn mixed(
    me: u8,
    shares: &Shares,
    reached: Option<&[bool]>,
    level: &Level,
    candidates: &Itemsets,
    params: &Params,
    channels: &mut [Channel],
) -> Result<Counted> {
    let peers = exchange::peers(me, channels);
    let own = (0..candidates.len()).filter(|&index| has_part(candidates.get(index), me));
    let open = |&(place, _): &(usize, usize)| reached.is_none_or(|reached| reached[place]);
    let (places, own): (Vec<usize>, Vec<usize>) = own.enumerate().filter(open).unzip();
    let with = |&peer: &u8| -> Vec<usize> {
        (0..own.len()).filter(|&place| has_part(candidates.get(own[place]), peer)).collect()
    };
    let with: Vec<Vec<usize>> = peers.iter().map(with).collect();
    let counts = opened(&some(shares, &places)?, &with, channels)?;
    for (place, &count) in counts.iter().enumerate() {
        let most = level.most(candidates.get(own[place]));
        let fits = reached.map_or(count <= most.unwrap_or(u32::MAX), |_| possible(count, most, params));
        if !fits {
            return Err(impossible_of(place, &with, channels));
        }
    }
    let mut known = vec![None; candidates.len()];
    for (&index, &count) in own.iter().zip(&counts) {
        known[index] = (count as usize >= params.minimum).then_some(count);
    }
    let told = exchange::with_each(channels, peers, |peer, channel| {
        let tells = |teller: u8, to: u8| -> Vec<usize> {
            let tells = |set: &[FrequentItem]| set[0].party == teller && !has_part(set, to);
            (0..candidates.len()).filter(|&index| tells(candidates.get(index))).collect()
        };
        let (own, theirs) = (tells(me, peer), tells(peer, me));
        let own: Vec<Option<u32>> = own.into_iter().map(|index| known[index]).collect();
        let counts = exchange::counts(SUPPORTS, &own, theirs.len(), channel)?;
        let sets = theirs.iter().map(|&index| candidates.get(index));
        let fits = fit(sets.zip(&counts), level, params);
        fits.then(|| theirs.into_iter().zip(counts).collect::<Vec<_>>()).ok_or_else(|| impossible(channel))
    })?;
    told.into_iter().flatten().for_each(|(index, count)| known[index] = count);
    Ok(Counted::of(candidates, &known))
}

/// Some of the shares.
fn some(shares: &Shares, places: &[usize]) -> Result<Shares> {
    Shares::new(shares.modulus(), places.iter().map(|&place| shares.residues()[place]).collect())
}

/// Counts from shares: `with` says which of them each peer has a share of, and is told this party's.
pub(super) fn opened(shares: &Shares, with: &[Vec<usize>], channels: &mut [Channel]) -> Result<Vec<u32>> {
    let modulus = shares.modulus();
    let theirs = exchange::with_each(channels, with.iter().collect(), |places: &Vec<usize>, channel| {
        dot::exchange(&some(shares, places)?, true, true, channel)
    })?;
    let mut sums = shares.residues().to_vec();
    for (places, theirs) in with.iter().zip(theirs.iter().flatten()) {
        places.iter().zip(theirs.residues()).for_each(|(&place, share)| sums[place] = modulus.add(sums[place], *share));
    }
    let count = |(place, &sum): (usize, &u128)| u32::try_from(sum).map_err(|_| impossible_of(place, with, channels));
    sums.iter().enumerate().map(count).collect()
}

/// Whether counts that were told can be: each is that of a frequent itemset.
fn fit<'s>(
    mut told: impl Iterator<Item = (&'s [FrequentItem], &'s Option<u32>)>,
    level: &Level,
    params: &Params,
) -> bool {
    told.all(|(set, count)| count.is_none_or(|count| possible(count, level.most(set), params)))
}

/// Whether a frequent itemset can be in `count` rows, if those that it contains are in `most` at least.
pub(super) fn possible(count: u32, most: Option<u32>, params: &Params) -> bool {
    count as usize >= params.minimum && count <= most.unwrap_or(params.rows as u32)
}

/// The check of counts that a peer tells, or has a share of.
const POSSIBLE: &str = "a count is not between the minimum and those of smaller itemsets";

pub(super) fn impossible(channel: &Channel) -> Error {
    channel.violation(POSSIBLE)
}

/// The error for a count of which several have shares.
fn impossible_of(place: usize, with: &[Vec<usize>], channels: &[Channel]) -> Error {
    let has = |(channel, places): (_, &Vec<usize>)| places.contains(&place).then_some(channel);
    let peers: Vec<&Channel> = channels.iter().zip(with).filter_map(has).collect();
    exchange::violation_of_one(&peers, POSSIBLE)
}
