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
//! A part that is told must be one that the rules need, and in its round: whoever tells another is named.
//!
//! Before that, each says whether the rules that it knows of are as few as the terms allow: those with mixed
//! antecedents, which all know, and those with antecedents of its own. After the first round all know of all.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::association::{TooManyRules, each};
use super::exchange::WithCounts;
use super::frequent::{Counted, Frequent};
use super::itemsets::{FrequentItem, ItemsetOwner, Itemsets, kind, part_of};
use super::levels::of_each;
use super::params::Params;
use super::{TOLD, exchange as exchanged, write_counts};
use crate::channel::{Channel, conclude_all_for};
use crate::error::Result;
use crate::protocol::mesh::heard::{Heard, violation_of_one};

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
        mut heard: Option<&mut Heard>,
        channels: &mut [Channel],
    ) -> Result<()> {
        let Telling { me, mut parts } = self;
        channels.iter().for_each(|channel| channel.progress().start("telling supports of rules", 2));
        parts[me].counts = counts.iter().copied().map(Some).collect();

        let mut told = vec![false; counts.len()];
        let known = needed(frequent, params, &parts).is_ok();
        if !all_fit(me as u8, known, heard.as_deref_mut(), channels)? {
            return Err(conclude_all_for(channels, params.too_many_rules()));
        }
        let needed = |frequent: &Frequent, parts: &[Parts], channels: &mut [Channel]| {
            let needed = needed(frequent, params, parts);
            needed.map_err(|TooManyRules| conclude_all_for(channels, params.too_many_rules()))
        };
        let rows = frequent.rows();
        let check = format!("`{}` are not what the rules need", TOLD.name);
        let others = |party: &usize| *party != me;
        let mut due = BTreeSet::new();
        for round in 0..2 {
            // After the first round, what all know of is the same.
            due = needed(frequent, &parts, channels)?;
            let own = &parts[me];
            let now: Vec<bool> = own.iter().zip(&told).map(|(part, told)| !told && due.contains(part)).collect();
            let message: Vec<Option<u32>> =
                own.counts.iter().zip(&now).map(|(count, &now)| count.filter(|_| now)).collect();
            told.iter_mut().zip(now).for_each(|(told, now)| *told |= now);
            let peers = parts.iter_mut().enumerate().filter(|(party, _)| others(party)).map(|(_, theirs)| theirs);
            exchanged::with_each(channels, peers.collect(), |theirs: &mut Parts, channel| {
                let received = exchanged::counts(TOLD, &message, theirs.counts.len(), WithCounts::BOTH, channel)?;
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
            if let Some(heard) = &mut heard {
                let known = |(party, parts): (usize, &Parts)| -> Vec<Option<u32>> {
                    let if_told = |(count, told): (&Option<u32>, &bool)| count.filter(|_| *told);
                    if others(&party) {
                        parts.counts.clone()
                    } else {
                        parts.counts.iter().zip(&told).map(if_told).collect()
                    }
                };
                let statements = of_each(parts.iter().enumerate().map(|party| [write_counts(&known(party))]));
                heard.check("supports of rules", |_| statements.clone(), channels)?;
            }
            let wrong = |theirs: &Parts| {
                let known: BTreeSet<&[FrequentItem]> = theirs.known().collect();
                let due = || due.iter().filter(|part| kind(part) == ItemsetOwner::One(theirs.party));
                // Of antecedents that only their owner knows to be needed, the others hear in the first round.
                round == 1 && known != due().map(Vec::as_slice).collect()
            };
            let mut peers = parts.iter().enumerate().filter(|(party, _)| others(party)).map(|(_, theirs)| theirs);
            if let Some(peer) = peers.position(wrong) {
                return Err(channels[peer].violation(check));
            }
        }
        let own = &mut parts[me];
        own.counts.iter_mut().zip(&told).for_each(|(count, told)| *count = count.filter(|_| *told));
        if needed(frequent, &parts, channels)? != due {
            // Somebody told an antecedent too late.
            return Err(violation_of_one(&channels.iter().collect::<Vec<_>>(), &check));
        }
        parts.iter().for_each(|party| party.add_to(frequent));
        Ok(())
    }
}

/// Whether no party knows of more rules than allowed: each tells all others whether it does.
pub(super) fn all_fit(me: u8, own: bool, heard: Option<&mut Heard>, channels: &mut [Channel]) -> Result<bool> {
    let all = vec![(); channels.len()];
    let mut fit = exchanged::with_each(channels, all, |(), channel| exchanged::fit(own, channel))?;
    fit.insert(me.into(), own);
    if let Some(heard) = heard {
        let statements = of_each(fit.iter().map(|fit| [[u8::from(*fit)]]));
        heard.check("words on the number of rules", |_| statements.clone(), channels)?;
    }
    Ok(fit.into_iter().all(|fit| fit))
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
