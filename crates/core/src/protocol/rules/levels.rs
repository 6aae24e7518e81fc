//! The itemsets of one length: which are worth counting, and what counts of them can be.

use super::frequent::{Counted, Frequent};
use super::itemsets::{FrequentItem, ItemsetOwner, Itemsets, kind, mixed_pairs};
use super::params::Params;
use super::{SUPPORTS, exchange};
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::protocol::dot::{Shares, reveal};
use crate::role::Side;

/// Exchanges the number of frequent items of each party. Too many of one end the run at both.
pub(super) fn count_items(side: Side, own: usize, params: &Params, channel: &mut Channel) -> Result<[u32; 2]> {
    let most = params.max_candidates;
    let theirs = exchange::items(own, most, channel)?;
    if own > most {
        return Err(channel.conclude_for(params.too_many_items(&format!("{own} own items"))));
    }
    if theirs > most {
        let theirs = format!("more than {most} items of {}", channel.peer());
        return Err(channel.conclude_for(params.too_many_items(&theirs)));
    }
    Ok(if side == Side::First { [own as u32, theirs as u32] } else { [theirs as u32, own as u32] })
}

/// The frequent itemsets of one length.
pub(super) struct Level {
    /// The first party's and the second's. With `mixed_only` none beyond single items, of which the peer's have no
    /// counts.
    pub one: [Counted; 2],
    pub mixed: Counted,
    /// Single items of each party.
    pub items: [u32; 2],
}

/// The candidates of one length.
pub(super) struct Candidates {
    pub one: [Itemsets; 2],
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
    side: Side,
    own: &[u32],
    items: [u32; 2],
    params: &Params,
    channel: &mut Channel,
) -> Result<Level> {
    let theirs = items[side.other() as usize];
    let their_counts = if params.rules.mixed_only {
        // No count is known; none is above this.
        vec![params.rows as u32; theirs as usize]
    } else {
        let told: Vec<Option<u32>> = own.iter().copied().map(Some).collect();
        let theirs = exchange::counts(SUPPORTS, &told, theirs as usize, channel)?;
        let range = params.minimum..=params.rows;
        let count = |count: &Option<u32>| count.filter(|&count| range.contains(&(count as usize)));
        theirs.iter().map(count).collect::<Option<Vec<u32>>>().ok_or_else(|| impossible(channel))?
    };
    let counted = |side, counts: Vec<u32>| Counted { sets: Itemsets::singles(side, counts.len() as u32), counts };
    let one = match side {
        Side::First => [counted(Side::First, own.to_vec()), counted(Side::Second, their_counts)],
        Side::Second => [counted(Side::First, their_counts), counted(Side::Second, own.to_vec())],
    };
    Ok(Level { one, mixed: Counted::none(1), items })
}

impl Level {
    /// The candidates of one item more, which both parties compute alike.
    pub(crate) fn candidates(&self, length: usize, params: &Params) -> Result<Candidates> {
        let (limit, mixed_only) = (params.max_candidates, params.rules.mixed_only);
        let one = |side: Side, whose| {
            if mixed_only {
                Ok(Itemsets::none(length))
            } else {
                self.one[side as usize].sets.candidates(limit).map_err(|found| params.too_many(whose, length, found))
            }
        };
        let one = [one(Side::First, "one-party")?, one(Side::Second, "one-party")?];
        let mixed = match length {
            2 => mixed_pairs(self.items[0], self.items[1], limit),
            _ => self.mixed.sets.mixed_candidates(limit, |first, second| {
                // Shorter parts are those of mixed subsets.
                mixed_only
                    || [first, second]
                        .into_iter()
                        .zip(&self.one)
                        .all(|(part, frequent)| part.len() + 1 < length || frequent.sets.position(part).is_some())
            }),
        };
        Ok(Candidates { one, mixed: mixed.map_err(|found| params.too_many("mixed", length, found))? })
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
                match kind(&subset) {
                    ItemsetOwner::One(side) => self.one[side as usize].count(&subset),
                    ItemsetOwner::Mixed => self.mixed.count(&subset),
                }
            })
            .min()
    }

    /// Adds this level to the result.
    pub(crate) fn keep(&self, params: &Params, frequent: &mut Frequent) {
        if !params.rules.mixed_only {
            frequent.push(ItemsetOwner::One(Side::First), self.one[0].clone());
            frequent.push(ItemsetOwner::One(Side::Second), self.one[1].clone());
        }
        frequent.push(ItemsetOwner::Mixed, self.mixed.clone());
    }
}

/// Exchanges the counts of each party's own candidates, as far as they are frequent.
pub(super) fn one_party(
    side: Side,
    own_counts: &[u32],
    level: &Level,
    candidates: &Candidates,
    params: &Params,
    channel: &mut Channel,
) -> Result<[Counted; 2]> {
    let (own, theirs) = (&candidates.one[side as usize], &candidates.one[side.other() as usize]);
    let enough = |&count: &u32| (count as usize >= params.minimum).then_some(count);
    let own_counts: Vec<Option<u32>> = own_counts.iter().map(enough).collect();
    let their_counts = exchange::counts(SUPPORTS, &own_counts, theirs.len(), channel)?;
    for (set, count) in theirs.iter().zip(&their_counts) {
        if count.is_some_and(|count| !possible(count, level.most(set), params)) {
            return Err(impossible(channel));
        }
    }
    let told = |sets: &Itemsets, counts: &[Option<u32>]| Counted {
        sets: sets.select(|index| counts[index].is_some()),
        counts: counts.iter().flatten().copied().collect(),
    };
    Ok(match side {
        Side::First => [told(own, &own_counts), told(theirs, &their_counts)],
        Side::Second => [told(theirs, &their_counts), told(own, &own_counts)],
    })
}

/// Opens all counts, and keeps those that reach the minimum.
pub(super) fn every_count(
    shares: Shares,
    level: &Level,
    candidates: &Itemsets,
    params: &Params,
    channel: &mut Channel,
) -> Result<Counted> {
    let counts = opened(&shares, channel)?;
    if candidates.iter().zip(&counts).any(|(set, &count)| level.most(set).is_some_and(|most| count > most)) {
        return Err(impossible(channel));
    }
    let enough = |count: u32| count as usize >= params.minimum;
    let sets = candidates.select(|index| enough(counts[index]));
    Ok(Counted { sets, counts: counts.into_iter().filter(|&count| enough(count)).collect() })
}

/// Opens the counts of which it is known that they reach the minimum.
pub(super) fn frequent_counts(
    shares: Shares,
    reached: &[bool],
    level: &Level,
    candidates: &Itemsets,
    params: &Params,
    channel: &mut Channel,
) -> Result<Counted> {
    let kept = shares.residues().iter().zip(reached).filter(|(_, reached)| **reached).map(|(&share, _)| share);
    let counts = opened(&Shares::new(shares.modulus(), kept.collect())?, channel)?;
    let sets = candidates.select(|index| reached[index]);
    if sets.iter().zip(&counts).any(|(set, &count)| !possible(count, level.most(set), params)) {
        return Err(impossible(channel));
    }
    Ok(Counted { sets, counts })
}

/// Counts from shares, for both parties. None is above the most that a count can be.
pub(super) fn opened(shares: &Shares, channel: &mut Channel) -> Result<Vec<u32>> {
    let counts = reveal(shares, true, true, channel)?.unwrap_or_default();
    let count = |count: u128| u32::try_from(count).ok();
    counts.into_iter().map(count).collect::<Option<_>>().ok_or_else(|| impossible(channel))
}

/// Whether a frequent itemset can be in `count` rows, if those that it contains are in `most` at least.
pub(super) fn possible(count: u32, most: Option<u32>, params: &Params) -> bool {
    count as usize >= params.minimum && count <= most.unwrap_or(params.rows as u32)
}

pub(super) fn impossible(channel: &Channel) -> Error {
    channel.violation("a count is not between the minimum and those of smaller itemsets")
}
