//! `mixed_only`: which itemsets of one party the others are told, and when.
//!
//! A rule needs the counts of its antecedents and of its consequents. Those of one party that stand in no rule of the
//! result are not told. Who decides whether a rule has enough confidence is who knows its antecedents' count:
//!
//! 1. each party tells its own itemsets that are antecedents of a rule, and those that are consequents of mixed ones;
//! 2. with the antecedents that it has been told, each party sees for which rules its own itemsets are consequents, and tells
//!    those.
//!
//! Both are told as bits over a list that all parties have: the parts of the frequent mixed itemsets. That one is not
//! told says that no rule of the result has it, which the result says too.
//!
//! Before that, each says whether the rules that it knows of are as few as the terms allow: those with mixed
//! antecedents, which all know, and those with antecedents of its own. After the first round all know of all.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::association::{TooManyRules, each};
use super::frequent::{Counted, Frequent};
use super::itemsets::{FrequentItem, ItemsetOwner, Itemsets, kind, part_of};
use super::params::Params;
use super::{TOLD, exchange as exchanged};
use crate::channel::{Channel, conclude_all_for};
use crate::error::Result;

/// Itemsets whose counts are to be told, before these are known.
pub(super) struct Telling {
    me: usize,
    /// Itemsets of each party.
    parts: Vec<Parts>,
}

impl Telling {
    /// Selects the itemsets to be told from `frequent`, which holds the mixed itemsets. Returns `None` if there are no
    /// mixed ones.
    pub(crate) fn of(me: u8, parties: usize, frequent: &Frequent) -> Option<Telling> {
        frequent.mixed().next()?;
        let parts = (0..parties as u8).map(|party| Parts::of(party, frequent)).collect();
        Some(Telling { me: me.into(), parts })
    }

    /// The own itemsets whose counts are needed.
    pub(crate) fn own(&self) -> &[Itemsets] {
        &self.parts[self.me].levels
    }

    /// Adds to `frequent` those of each party that stand in rules. `counts` are those of the own itemsets.
    pub(crate) fn exchange(
        self,
        counts: &[u32],
        params: &Params,
        frequent: &mut Frequent,
        channels: &mut [Channel],
    ) -> Result<()> {
        let Telling { me, mut parts } = self;
        channels.iter().for_each(|channel| channel.progress().start("telling supports of rules", 2));
        parts[me].counts = counts.iter().copied().map(Some).collect();

        let mut told = vec![false; counts.len()];
        let known = needed(frequent, params, &parts).is_ok();
        let all = vec![(); channels.len()];
        let fit = exchanged::with_each(channels, all, |(), channel| exchanged::fit(known, channel))?;
        if !fit.into_iter().all(|fit| fit) {
            return Err(conclude_all_for(channels, params.too_many_rules()));
        }
        let needed = |frequent: &Frequent, parts: &[Parts], channels: &mut [Channel]| {
            let needed = needed(frequent, params, parts);
            needed.map_err(|TooManyRules| conclude_all_for(channels, params.too_many_rules()))
        };
        let rows = frequent.rows();
        for _ in 0..2 {
            // After the first round, what all know of is the same.
            let needed = needed(frequent, &parts, channels)?;
            let own = &parts[me];
            let now: Vec<bool> = own.iter().zip(&told).map(|(part, told)| !told && needed.contains(part)).collect();
            let message: Vec<Option<u32>> =
                own.counts.iter().zip(&now).map(|(count, &now)| count.filter(|_| now)).collect();
            told.iter_mut().zip(now).for_each(|(told, now)| *told |= now);
            let peers = parts.iter_mut().enumerate().filter(|(party, _)| *party != me).map(|(_, theirs)| theirs);
            exchanged::with_each(channels, peers.collect(), |theirs: &mut Parts, channel| {
                let received = exchanged::counts(TOLD, &message, theirs.counts.len(), channel)?;
                for (index, count) in received.into_iter().enumerate().filter(|(_, count)| count.is_some()) {
                    let possible = theirs.least[index]..=rows;
                    if theirs.counts[index].is_some() || !count.is_some_and(|count| possible.contains(&count)) {
                        return Err(channel.violation(format!("`{}` hold a count that cannot be", TOLD.name)));
                    }
                    theirs.counts[index] = count;
                }
                channel.progress().advance(1);
                Ok(())
            })?;
        }
        let needed = needed(frequent, &parts, channels)?;
        let own = &mut parts[me];
        own.counts.iter_mut().zip(&told).for_each(|(count, told)| *count = count.filter(|_| *told));
        let as_needed = |party: &Parts| {
            let here: BTreeSet<&[FrequentItem]> = party.known().collect();
            let needed = needed.iter().filter(|part| kind(part) == ItemsetOwner::One(party.party));
            here == needed.map(Vec::as_slice).collect()
        };
        let check = format!("`{}` are not what the rules need", TOLD.name);
        let peers = parts.iter().enumerate().filter(|(party, _)| *party != me).map(|(_, theirs)| theirs);
        let wrong = channels.iter().zip(peers).find(|(_, theirs)| !as_needed(theirs));
        match wrong {
            Some((channel, _)) => return Err(channel.violation(check)),
            // Somebody told an antecedent too late.
            None if !as_needed(&parts[me]) => {
                return Err(exchanged::violation_of_one(&channels.iter().collect::<Vec<_>>(), &check));
            }
            None => parts.iter().for_each(|party| party.add_to(frequent)),
        }
        Ok(())
    }
}

/// The one-party parts of frequent mixed itemsets, and what this party knows of them. Every part of such a part is one.
pub(super) struct Parts {
    party: u8,
    /// Itemsets by length, from 1 on.
    pub levels: Vec<Itemsets>,
    /// Rows that each is in at least: those of mixed itemsets that contain it.
    pub least: Vec<u32>,
    pub counts: Vec<Option<u32>>,
}

impl Parts {
    pub(super) fn of(party: u8, frequent: &Frequent) -> Parts {
        let part = |set| part_of(set, party);
        let longest = frequent.mixed().map(|(set, _)| part(set).len()).max().unwrap_or(0);
        let level = |length| {
            let here = frequent.mixed().map(|(set, _)| part(set)).filter(|part| part.len() == length);
            Itemsets::sorted(length, here.map(<[FrequentItem]>::to_vec))
        };
        let levels: Vec<Itemsets> = (1..=longest).map(level).collect();
        let count = levels.iter().map(Itemsets::len).sum();
        let mut parts = Parts { party, levels, least: vec![0; count], counts: vec![None; count] };
        for (set, count) in frequent.mixed() {
            if let Some(index) = parts.position(part(set)) {
                parts.least[index] = parts.least[index].max(count);
            }
        }
        parts
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &[FrequentItem]> {
        self.levels.iter().flat_map(Itemsets::iter)
    }

    pub(super) fn position(&self, part: &[FrequentItem]) -> Option<usize> {
        let before = part.len().checked_sub(1)?;
        let shorter: usize = self.levels.iter().take(before).map(Itemsets::len).sum();
        Some(shorter + self.levels.get(before)?.position(part)?)
    }

    fn count(&self, part: &[FrequentItem]) -> Option<u32> {
        self.position(part).and_then(|index| self.counts[index])
    }

    /// Iterates over the itemsets whose counts are known.
    fn known(&self) -> impl Iterator<Item = &[FrequentItem]> {
        self.iter().zip(&self.counts).filter(|(_, count)| count.is_some()).map(|(part, _)| part)
    }

    pub(super) fn add_to(&self, frequent: &mut Frequent) {
        let mut rest = &self.counts[..];
        for sets in &self.levels {
            let (here, beyond) = rest.split_at(sets.len());
            rest = beyond;
            let sets = sets.select(|index| here[index].is_some());
            frequent.push(
                ItemsetOwner::One(self.party),
                Counted { sets, counts: here.iter().flatten().copied().collect() },
            );
        }
    }
}

/// The itemsets of one party in mixed rules, as far as the antecedents' counts are known; or that these rules are too
/// many.
pub(super) fn needed(
    frequent: &Frequent,
    params: &Params,
    parts: &[Parts],
) -> std::result::Result<BTreeSet<Vec<FrequentItem>>, TooManyRules> {
    let (mut needed, mut rules) = (BTreeSet::new(), 0);
    let count_of = |set: &[FrequentItem]| match kind(set) {
        ItemsetOwner::Mixed => frequent.count(set),
        ItemsetOwner::One(party) => parts[usize::from(party)].count(set),
    };
    for (set, count) in frequent.mixed() {
        let ended = each(set, count, &params.rules, count_of, |antecedents, consequents, _| {
            if rules == params.max_rules {
                return ControlFlow::Break(TooManyRules);
            }
            rules += 1;
            for part in [antecedents, consequents].into_iter().filter(|set| kind(set) != ItemsetOwner::Mixed) {
                // Most have been met before.
                if !needed.contains(part) {
                    needed.insert(part.to_vec());
                }
            }
            ControlFlow::Continue(())
        });
        if let ControlFlow::Break(more) = ended {
            return Err(more);
        }
    }
    Ok(needed)
}
