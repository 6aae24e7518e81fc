//! Apriori over rows of which nobody knows which are common: columns go over the rows of either party, and are zero
//! where their owner lacks the row.
//!
//! A mixed itemset is counted as elsewhere. One of a single party's items is in a row of both where the other's column
//! *present* is one, so that it is counted as a mixed one with that column. No party knows these counts: they are
//! compared with the minimum as mixed ones are, and opened if they reach it.
//!
//! With `mixed_only` counts of one party's items are not opened, unless all counts are ([`RevealedCounts::Counts`]). At
//! the end, those that are antecedents of a possible rule are compared with the most rows that leave it enough
//! confidence, which tells whether the rule is in the result. Those that stand in a rule of the result are opened.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use super::association::{self, AssociationRule, RuleThresholds, TooManyRules};
use super::baskets::RowSet;
use super::batch::{ProductBatch, ScalarProducts};
use super::frequent::{Counted, Frequent};
use super::itemsets::{FrequentItem, ItemsetOwner, Itemsets, kind};
use super::levels::{self, Candidates, Level, count_items, impossible, possible};
use super::params::{Params, RevealedCounts};
use super::support::Fraction;
use super::told::{Parts, needed};
use crate::channel::Channel;
use crate::error::Result;
use crate::protocol::dot::{Modulus, Shares};
use crate::role::Side;

/// A party's part of a run over hidden rows. `compare` says of shared counts, up to a bound, whether they reach a
/// threshold.
pub(super) struct HiddenMiner<'a, P, C> {
    pub side: Side,
    pub params: &'a Params,
    /// Number of own items in enough of the own rows, whether they are kept or not.
    pub count: usize,
    /// Rows of these items, by their numbers; of more than there may be, none.
    pub items: Vec<&'a RowSet>,
    /// Rows that the party has.
    pub present: &'a RowSet,
    pub products: &'a mut P,
    pub compare: C,
}

/// Frequent itemsets, rules, and the places that the own items with a number had among those that a run began with.
pub(super) type HiddenResult = (Frequent, Vec<AssociationRule>, Vec<usize>);

impl<P, C> HiddenMiner<'_, P, C>
where
    P: ScalarProducts,
    C: FnMut(&Shares, u128, u128, &mut Channel) -> Result<Vec<bool>>,
{
    /// Mines itemsets and rules.
    pub(super) fn run(mut self, channel: &mut Channel) -> Result<HiddenResult> {
        self.params.check()?;
        let (mut level, kept) = self.items(channel)?;
        let mut frequent = Frequent::new(self.params.rows as u32, 2);
        level.keep(self.params, &mut frequent);
        for length in 2..=self.params.max_len {
            let candidates = level.candidates(length, self.params);
            let candidates = candidates.map_err(|error| channel.conclude_for(error))?;
            if candidates.is_empty() {
                break;
            }
            channel.progress().start("counting candidates", candidates.len());
            (level.one, level.mixed) = self.frequent(&candidates, &level, length, channel)?;
            level.keep(self.params, &mut frequent);
        }
        if self.params.rules.mixed_only && frequent.mixed().next().is_some() {
            self.tell(&level, &mut frequent, channel)?;
        }
        let rules = association::rules(&frequent, &self.params.rules, self.params.max_rules, channel.progress());
        let rules = rules.map_err(|TooManyRules| channel.conclude_for(self.params.too_many_rules()))?;
        Ok((frequent, rules, kept))
    }

    /// Finds which items are frequent in common rows, among those that are in their owner's, and numbers them anew.
    fn items(&mut self, channel: &mut Channel) -> Result<(Level, Vec<usize>)> {
        let items = count_items(self.side as u8, self.count, self.params, None, std::slice::from_mut(channel))?;
        let one = (0..).zip(&items).map(|(party, &count)| Itemsets::singles(party, count)).collect();
        let level = Level { one: vec![Counted::none(1); 2], mixed: Counted::none(1), items };
        let candidates = Candidates { one, mixed: Itemsets::none(1) };
        let (one, mixed) = self.frequent(&candidates, &level, 1, channel)?;
        let kept: Vec<usize> = one[self.side as usize].sets.iter().flatten().map(|item| item.number as usize).collect();
        self.items = kept.iter().map(|&item| self.items[item]).collect();
        let items = one.iter().map(|one| one.counts.len() as u32).collect();
        let singles = |(party, Counted { counts, .. }): (u8, Counted)| Counted {
            sets: Itemsets::singles(party, counts.len() as u32),
            counts,
        };
        let one = (0..).zip(one).map(singles).collect();
        Ok((Level { one, mixed, items }, kept))
    }

    /// The frequent ones of these candidates. With `mixed_only` counts of one party's stay closed: each is said to be
    /// in all rows.
    fn frequent(
        &mut self,
        candidates: &Candidates,
        level: &Level,
        length: usize,
        channel: &mut Channel,
    ) -> Result<(Vec<Counted>, Counted)> {
        let sets = [&candidates.one[0], &candidates.one[1], &candidates.mixed];
        let modulus = self.params.modulus()?;
        let shares = self.shares(&sets, level, length, modulus, channel)?;
        let (rows, minimum) = (self.params.rows as u32, self.params.minimum);
        let counts: Vec<Option<u32>> = match self.params.reveal {
            RevealedCounts::Counts => {
                let enough = |count: u32| (count as usize >= minimum).then_some(count);
                opened(&shares, channel)?.into_iter().map(enough).collect()
            }
            RevealedCounts::Frequent => {
                let closed = if self.params.rules.mixed_only { sets[0].len() + sets[1].len() } else { 0 };
                let reached = (self.compare)(&shares, rows.into(), minimum as u128, channel)?;
                let kept = shares.residues().iter().zip(&reached).skip(closed).filter(|(_, reached)| **reached);
                let kept = Shares::new(modulus, kept.map(|(&share, _)| share).collect())?;
                let mut counts = opened(&kept, channel)?.into_iter();
                let mut count = |index| if index < closed { Some(rows) } else { counts.next() };
                reached.iter().enumerate().map(|(index, &reached)| reached.then(|| count(index)).flatten()).collect()
            }
        };
        let fits = |(set, count): (&[FrequentItem], &Option<u32>)| {
            count.is_none_or(|count| possible(count, level.most(set), self.params))
        };
        if !sets.iter().flat_map(|sets| sets.iter()).zip(&counts).all(fits) {
            return Err(impossible(channel));
        }
        let mut rest = &counts[..];
        let [first, second, mixed] = sets.map(|sets| {
            let (here, beyond) = rest.split_at(sets.len());
            rest = beyond;
            Counted::of(sets, here)
        });
        Ok((vec![first, second], mixed))
    }

    /// Shares of the counts of these itemsets, one after the other.
    fn shares(
        &mut self,
        sets: &[&Itemsets],
        level: &Level,
        length: usize,
        modulus: Modulus,
        channel: &mut Channel,
    ) -> Result<Shares> {
        let sets: Vec<Itemsets> = sets.iter().map(|sets| with_present(sets, &level.items)).collect();
        if sets.iter().all(Itemsets::is_empty) {
            return Shares::new(modulus, Vec::new());
        }
        let columns = self.items.iter().copied().chain([self.present]).collect();
        let rows = self.params.column_rows();
        self.products.products(&ProductBatch::of_all(self.side, rows, modulus, length, &sets, columns), channel)
    }

    /// Adds to `frequent` the itemsets of one party that stand in rules.
    fn tell(&mut self, level: &Level, frequent: &mut Frequent, channel: &mut Channel) -> Result<()> {
        channel.progress().start("telling supports of rules", 2);
        let [mut first, mut second] = [0, 1].map(|party| Parts::of(party, frequent));
        let sets: Vec<&Itemsets> = first.levels.iter().chain(&second.levels).collect();
        let length = sets.iter().map(|sets| sets.length()).max().unwrap_or(1);
        // A count and as many rows again are less than half of it.
        let modulus = Modulus::power_of_two(self.params.modulus()?.bits() + 2)?;
        let shares = self.shares(&sets, level, length, modulus, channel)?;
        channel.progress().advance(1);

        let mut counts: Vec<Option<u32>> = match self.params.reveal {
            RevealedCounts::Counts => opened(&shares, channel)?.into_iter().map(Some).collect(),
            RevealedCounts::Frequent => {
                let questions = questions(frequent, self.params, [&first, &second]);
                let above = self.above(&shares, &questions, channel)?;
                // The least that a count can be by these answers is on the same side of every limit as the count.
                let mut least: Vec<u32> = first.least.iter().chain(&second.least).copied().collect();
                let answers = questions.iter().zip(above).filter(|(_, above)| *above);
                answers.for_each(|((part, limit), _)| least[*part] = least[*part].max(limit + 1));
                least.into_iter().map(Some).collect()
            }
        };
        second.counts = counts.split_off(first.counts.len());
        first.counts = counts;
        let mut parts = [first, second];
        let needed = needed(frequent, self.params, &parts);
        let needed = needed.map_err(|TooManyRules| channel.conclude_for(self.params.too_many_rules()))?;
        let told: Vec<bool> = parts.iter().flat_map(Parts::iter).map(|part| needed.contains(part)).collect();
        let kept = shares.residues().iter().zip(&told).filter(|(_, told)| **told).map(|(&share, _)| share);
        let mut counts = match self.params.reveal {
            RevealedCounts::Counts => {
                let all = parts.iter().flat_map(|parts| &parts.counts).flatten().zip(&told);
                all.filter(|(_, told)| **told).map(|(&count, _)| count).collect()
            }
            RevealedCounts::Frequent => opened(&Shares::new(modulus, kept.collect())?, channel)?,
        }
        .into_iter();
        let mut told = told.into_iter();
        for parts in &mut parts {
            for (known, &least) in parts.counts.iter_mut().zip(&parts.least) {
                *known = if told.next() == Some(true) { counts.next() } else { None };
                if known.is_some_and(|count| !(least..=frequent.rows()).contains(&count)) {
                    return Err(impossible(channel));
                }
            }
        }
        parts.iter().for_each(|parts| parts.add_to(frequent));
        channel.progress().advance(1);
        Ok(())
    }

    /// Answers which of the shared counts are above a limit: of each question, the count's place and the limit.
    fn above(
        &mut self,
        shares: &Shares,
        questions: &BTreeSet<(usize, u32)>,
        channel: &mut Channel,
    ) -> Result<Vec<bool>> {
        let (modulus, rows) = (shares.modulus(), self.params.rows as u128);
        // All counts are compared with one number, from as far as their limits are below the number of rows.
        let raised = |&(part, limit): &(usize, u32)| match self.side {
            Side::First => modulus.add(shares.residues()[part], rows - u128::from(limit)),
            Side::Second => shares.residues()[part],
        };
        let raised = Shares::new(modulus, questions.iter().map(raised).collect())?;
        (self.compare)(&raised, 2 * rows, rows + 1, channel)
    }
}

/// For each antecedent of one party that a rule of a mixed itemset could have, in order: its place among the parts of
/// the first and of the second party, and the most rows that it can be in for the rule to have enough confidence.
/// Where that is all rows, it is left out.
fn questions(frequent: &Frequent, params: &Params, parts: [&Parts; 2]) -> BTreeSet<(usize, u32)> {
    let any = RuleThresholds { min_confidence: Fraction::ZERO, ..params.rules };
    let mut questions = BTreeSet::new();
    for (set, count) in frequent.mixed() {
        let limit = params.rules.min_confidence.most_whole(count.into());
        if limit >= params.rows as u64 {
            continue;
        }
        let take = |antecedents: &[FrequentItem], _: &[FrequentItem], _| -> ControlFlow<()> {
            let place = match kind(antecedents) {
                ItemsetOwner::One(0) => parts[0].position(antecedents),
                ItemsetOwner::One(_) => parts[1].position(antecedents).map(|place| parts[0].least.len() + place),
                ItemsetOwner::Mixed => None,
            };
            questions.extend(place.map(|place| (place, limit as u32)));
            ControlFlow::Continue(())
        };
        let _ = association::each(set, count, &any, |_| Some(count), take);
    }
    questions
}

/// Itemsets as they are multiplied: those of one party with the other's column *present*, which has the number behind
/// its items'.
fn with_present(sets: &Itemsets, items: &[u32]) -> Itemsets {
    let whole = |set: &[FrequentItem]| match kind(set) {
        ItemsetOwner::Mixed => set.to_vec(),
        ItemsetOwner::One(party) => {
            let other = 1 - party;
            let present = FrequentItem { party: other, number: items[usize::from(other)] };
            let mut whole = [set, &[present]].concat();
            whole.sort_unstable();
            whole
        }
    };
    let length = sets.iter().next().map_or(1, |set| whole(set).len());
    Itemsets::sorted(length, sets.iter().map(whole))
}

/// Counts from shares, for both parties.
fn opened(shares: &Shares, channel: &mut Channel) -> Result<Vec<u32>> {
    levels::opened(shares, &[(0..shares.len()).collect()], std::slice::from_mut(channel))
}
