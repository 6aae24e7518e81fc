//! `mixed_only`: which itemsets of one party the other is told, and when.
//!
//! A rule needs the counts of its antecedents and of its consequents. Those of one party that stand in no rule of the
//! result are not told. Who decides whether a rule has enough confidence is who knows its antecedents' count:
//!
//! 1. each party tells its own itemsets that are antecedents of a rule, and those that are consequents of mixed ones;
//! 2. with the antecedents that it has been told, each party sees for which rules its own itemsets are consequents, and tells
//!    those.
//!
//! Both are told as bits over a list that both parties have: the parts of the frequent mixed itemsets. That one is not
//! told says that no rule of the result has it, which the result says too.
//!
//! Before that, each says whether the rules that it knows of are as few as the terms allow: those with mixed
//! antecedents, which both know, and those with antecedents of its own. After the first round both know of all.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::association::{TooManyRules, each};
use super::frequent::{Counted, Frequent};
use super::itemsets::{FrequentItem, ItemsetOwner, Itemsets, kind, parts};
use super::params::Params;
use super::{TOLD, exchange as exchanged};
use crate::channel::Channel;
use crate::error::Result;
use crate::role::Side;

/// Itemsets whose counts are to be told, before these are known.
pub(super) struct Telling {
    own: Parts,
    theirs: Parts,
}

impl Telling {
    /// Selects the itemsets to be told from `frequent`, which holds the mixed itemsets. Returns `None` if there are no
    /// mixed ones.
    pub(crate) fn of(side: Side, frequent: &Frequent) -> Option<Telling> {
        frequent.mixed().next()?;
        Some(Telling { own: Parts::of(side, frequent), theirs: Parts::of(side.other(), frequent) })
    }

    /// The own itemsets whose counts are needed.
    pub(crate) fn own(&self) -> &[Itemsets] {
        &self.own.levels
    }

    /// Adds to `frequent` those of each party that stand in rules. `counts` are those of the own itemsets.
    pub(crate) fn exchange(
        self,
        counts: &[u32],
        params: &Params,
        frequent: &mut Frequent,
        channel: &mut Channel,
    ) -> Result<()> {
        let Telling { mut own, mut theirs } = self;
        channel.progress().start("telling supports of rules", 2);
        own.counts = counts.iter().copied().map(Some).collect();

        let mut told = vec![false; own.counts.len()];
        let known = needed(frequent, params, &own, &theirs);
        if !exchanged::fit(known.is_ok(), channel)? {
            return Err(channel.conclude_for(params.too_many_rules()));
        }
        for _ in 0..2 {
            // After the first round, what both know of is the same.
            let needed = needed(frequent, params, &own, &theirs);
            let needed = needed.map_err(|TooManyRules| channel.conclude_for(params.too_many_rules()))?;
            let now: Vec<bool> = own.iter().zip(&told).map(|(part, told)| !told && needed.contains(part)).collect();
            let message: Vec<Option<u32>> =
                own.counts.iter().zip(&now).map(|(count, &now)| count.filter(|_| now)).collect();
            told.iter_mut().zip(now).for_each(|(told, now)| *told |= now);
            let received = exchanged::counts(TOLD, &message, theirs.counts.len(), channel)?;
            for (index, count) in received.into_iter().enumerate().filter(|(_, count)| count.is_some()) {
                let possible = theirs.least[index]..=frequent.rows();
                if theirs.counts[index].is_some() || !count.is_some_and(|count| possible.contains(&count)) {
                    return Err(channel.violation(format!("`{}` hold a count that cannot be", TOLD.name)));
                }
                theirs.counts[index] = count;
            }
            channel.progress().advance(1);
        }
        let needed = needed(frequent, params, &own, &theirs);
        let needed = needed.map_err(|TooManyRules| channel.conclude_for(params.too_many_rules()))?;
        own.counts.iter_mut().zip(&told).for_each(|(count, told)| *count = count.filter(|_| *told));
        let known = own.known().chain(theirs.known()).collect::<BTreeSet<_>>();
        if known != needed.iter().map(Vec::as_slice).collect() {
            return Err(channel.violation(format!("`{}` are not what the rules need", TOLD.name)));
        }
        own.add_to(frequent);
        theirs.add_to(frequent);
        Ok(())
    }
}

/// The one-party parts of frequent mixed itemsets, and what this party knows of them. Every part of such a part is one.
pub(super) struct Parts {
    side: Side,
    /// Itemsets by length, from 1 on.
    pub levels: Vec<Itemsets>,
    /// Rows that each is in at least: those of mixed itemsets that contain it.
    pub least: Vec<u32>,
    pub counts: Vec<Option<u32>>,
}

impl Parts {
    pub(super) fn of(side: Side, frequent: &Frequent) -> Parts {
        let part = |set| {
            let (first, second) = parts(set);
            if side == Side::First { first } else { second }
        };
        let longest = frequent.mixed().map(|(set, _)| part(set).len()).max().unwrap_or(0);
        let level = |length| {
            let here = frequent.mixed().map(|(set, _)| part(set)).filter(|part| part.len() == length);
            Itemsets::sorted(length, here.map(<[FrequentItem]>::to_vec))
        };
        let levels: Vec<Itemsets> = (1..=longest).map(level).collect();
        let count = levels.iter().map(Itemsets::len).sum();
        let mut parts = Parts { side, levels, least: vec![0; count], counts: vec![None; count] };
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
        let shorter: usize = self.levels.iter().take(part.len() - 1).map(Itemsets::len).sum();
        Some(shorter + self.levels.get(part.len() - 1)?.position(part)?)
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
            frequent
                .push(ItemsetOwner::One(self.side), Counted { sets, counts: here.iter().flatten().copied().collect() });
        }
    }
}

/// The itemsets of one party in mixed rules, as far as the antecedents' counts are known; or that these rules are too
/// many.
pub(super) fn needed(
    frequent: &Frequent,
    params: &Params,
    own: &Parts,
    theirs: &Parts,
) -> std::result::Result<BTreeSet<Vec<FrequentItem>>, TooManyRules> {
    let (mut needed, mut rules) = (BTreeSet::new(), 0);
    let count_of = |set: &[FrequentItem]| match kind(set) {
        ItemsetOwner::Mixed => frequent.count(set),
        ItemsetOwner::One(side) if side == own.side => own.count(set),
        ItemsetOwner::One(_) => theirs.count(set),
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
