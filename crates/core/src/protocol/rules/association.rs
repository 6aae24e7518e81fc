//! Rules from frequent itemsets, in exact arithmetic on counts.

use std::ops::ControlFlow;
use std::str::FromStr;
use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::frequent::Frequent;
use super::itemsets::{FrequentItem, ItemsetOwner, Itemsets, kind};
use super::support::Fraction;
use crate::error::{Error, Result};
use crate::progress::Progress;

/// Itemsets whose rules one thread finds in one go.
const PART: usize = 256;

/// Number of consequents that a rule may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequents {
    /// Rules with a single consequent.
    Single,
    /// Rules with any number of consequents.
    Any,
}

impl Consequents {
    /// The word for it: `single` or `any`.
    pub fn name(self) -> &'static str {
        match self {
            Consequents::Single => "single",
            Consequents::Any => "any",
        }
    }
}

impl FromStr for Consequents {
    type Err = Error;

    fn from_str(word: &str) -> Result<Consequents> {
        [Consequents::Single, Consequents::Any].into_iter().find(|one| one.name() == word).ok_or_else(|| {
            let shown: String = word.chars().take(60).collect::<String>().escape_debug().collect();
            Error::Input(format!("consequents = \"{shown}\" is unknown: use \"single\" or \"any\""))
        })
    }
}

/// Conditions on the rules that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RuleThresholds {
    /// The least part of the rows that hold a rule's antecedents which must hold its consequents too.
    pub min_confidence: Fraction,
    /// Number of consequents that a rule may have.
    pub consequents: Consequents,
    /// Whether only rules are wanted that have items of both parties.
    pub mixed_only: bool,
}

/// Rows that hold all antecedents tend to hold all consequents.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct AssociationRule {
    /// The items that it starts from, sorted.
    pub antecedents: Vec<FrequentItem>,
    /// The items that it promises, sorted.
    pub consequents: Vec<FrequentItem>,
    /// Number of rows in all.
    pub rows: u32,
    /// Rows that hold all items of both.
    pub count: u32,
    /// Rows that hold all antecedents.
    pub antecedent_count: u32,
    /// Rows that hold all consequents.
    pub consequent_count: u32,
}

impl AssociationRule {
    /// The part of all rows that hold all of its items.
    pub fn support(&self) -> f64 {
        ratio(self.count.into(), self.rows.into())
    }

    /// The part of the rows with its antecedents that hold its consequents too.
    pub fn confidence(&self) -> f64 {
        ratio(self.count.into(), self.antecedent_count.into())
    }

    /// Factor by which antecedents raise the probability of the consequents.
    pub fn lift(&self) -> f64 {
        let [rows, count, antecedents, consequents] = self.counts();
        ratio(count * rows, antecedents * consequents)
    }

    /// Support beyond what it would be if antecedents and consequents were independent.
    pub fn leverage(&self) -> f64 {
        let [rows, count, antecedents, consequents] = self.counts();
        let (expected, found) = (antecedents * consequents, count * rows);
        let sign = if found < expected { -1.0 } else { 1.0 };
        sign * ratio(found.abs_diff(expected), rows * rows)
    }

    /// Factor by which the rule would fail more often if antecedents and consequents were independent; infinite for a
    /// rule that never fails.
    pub fn conviction(&self) -> f64 {
        let [rows, count, antecedents, consequents] = self.counts();
        if antecedents == count {
            f64::INFINITY
        } else {
            ratio((rows - consequents) * antecedents, rows * (antecedents - count))
        }
    }

    /// The part of all rows that hold all antecedents.
    pub fn antecedent_support(&self) -> f64 {
        ratio(self.antecedent_count.into(), self.rows.into())
    }

    /// The part of all rows that hold all consequents.
    pub fn consequent_support(&self) -> f64 {
        ratio(self.consequent_count.into(), self.rows.into())
    }

    /// Zhang's metric: leverage as a part of the largest (if it is positive) or smallest that the supports allow, from -1 to 1; 0 where
    /// they allow none. (Zhang, "Association rules", 2000.)
    pub fn zhangs_metric(&self) -> f64 {
        let [rows, count, antecedents, consequents] = self.counts().map(u128::from);
        let (expected, found) = (antecedents * consequents, count * rows);
        let most = (count * (rows - antecedents)).max(antecedents * (consequents - count));
        match (most, found < expected) {
            (0, _) => 0.0,
            (_, false) => (found - expected) as f64 / most as f64,
            (_, true) => -((expected - found) as f64 / most as f64),
        }
    }

    /// The rows that hold all items, as a part of those that hold all antecedents or all consequents.
    pub fn jaccard(&self) -> f64 {
        let [_, count, antecedents, consequents] = self.counts();
        ratio(count, antecedents + consequents - count)
    }

    /// Certainty factor: the part of the way to 1 by which antecedents move the consequents' support, as mlxtend has
    /// it. Negative if antecedents lower the support, and 0 if it is 1 without them.
    pub fn certainty(&self) -> f64 {
        if self.consequent_count == self.rows {
            0.0
        } else {
            (self.confidence() - self.consequent_support()) / (1.0 - self.consequent_support())
        }
    }

    /// The mean of the rule's confidence and that of the rule from consequents to antecedents.
    pub fn kulczynski(&self) -> f64 {
        (self.confidence() + ratio(self.count.into(), self.consequent_count.into())) / 2.0
    }

    fn counts(&self) -> [u64; 4] {
        [self.rows, self.count, self.antecedent_count, self.consequent_count].map(u64::from)
    }
}

fn ratio(part: u64, whole: u64) -> f64 {
    part as f64 / whole as f64
}

/// There are more rules than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooManyRules;

/// The rules of some frequent itemsets, sorted; or that there are more than `limit`, of which no more are made than
/// that. Those are left out whose antecedents or consequents are not among the itemsets, as happens with `mixed_only`
/// where no rule needs them.
pub(crate) fn rules(
    frequent: &Frequent,
    terms: &RuleThresholds,
    limit: usize,
    progress: &Progress,
) -> std::result::Result<Vec<AssociationRule>, TooManyRules> {
    let lengthy = frequent.iter().filter(|(set, _)| set.len() > 1);
    let sets: Vec<_> = lengthy.filter(|(set, _)| !terms.mixed_only || kind(set) == ItemsetOwner::Mixed).collect();
    progress.start("finding rules in itemsets", sets.len());
    let found = AtomicUsize::new(0);
    let of_part = |part: &[(&[FrequentItem], u32)]| {
        let mut rules = Vec::new();
        for &(set, count) in part {
            let take = |antecedents: &[FrequentItem], consequents: &[FrequentItem], antecedent_count| {
                let Some(consequent_count) = frequent.count(consequents) else { return ControlFlow::Continue(()) };
                if found.fetch_add(1, Ordering::Relaxed) >= limit {
                    return ControlFlow::Break(TooManyRules);
                }
                rules.push(AssociationRule {
                    antecedents: antecedents.to_vec(),
                    consequents: consequents.to_vec(),
                    rows: frequent.rows(),
                    count,
                    antecedent_count,
                    consequent_count,
                });
                ControlFlow::Continue(())
            };
            if let ControlFlow::Break(more) = each(set, count, terms, |set| frequent.count(set), take) {
                return Err(more);
            }
        }
        progress.advance(part.len());
        Ok(rules)
    };
    let parts = sets.par_chunks(PART).map(of_part).collect::<std::result::Result<Vec<_>, _>>()?;
    let mut rules: Vec<AssociationRule> = Vec::with_capacity(parts.iter().map(Vec::len).sum());
    parts.into_iter().for_each(|part| rules.extend(part));
    rules.par_sort_unstable();
    Ok(rules)
}

/// Calls `take` with antecedents, consequents and the antecedents' count for every division of `set`, which is in
/// `count` rows, into a rule of enough confidence; as far as `count_of` knows the antecedents, and until `take` has
/// enough.
///
/// Consequents grow (ap-genrules of Agrawal and Srikant): antecedents that lose an item are in as many rows or
/// more, so that consequents which promise too much for a rule do so with any item more.
pub(super) fn each<Enough>(
    set: &[FrequentItem],
    count: u32,
    terms: &RuleThresholds,
    count_of: impl Fn(&[FrequentItem]) -> Option<u32>,
    mut take: impl FnMut(&[FrequentItem], &[FrequentItem], u32) -> ControlFlow<Enough>,
) -> ControlFlow<Enough> {
    let longest = match terms.consequents {
        Consequents::Single => 1,
        Consequents::Any => set.len() - 1,
    };
    let mut promised = Itemsets::sorted(1, set.iter().map(|item| vec![*item]));
    let mut antecedents = Vec::with_capacity(set.len());
    for length in 1..=longest {
        let mut holds = Vec::with_capacity(promised.len());
        for consequents in promised.iter() {
            antecedents.clear();
            antecedents.extend(set.iter().filter(|item| !consequents.contains(item)));
            let known = count_of(&antecedents);
            let confident = known.filter(|&known| terms.min_confidence.reached(count.into(), known.into()));
            if let Some(known) = confident {
                take(&antecedents, consequents, known)?;
            }
            holds.push(confident.is_some());
        }
        if length < longest {
            // There are at most 2^length of them: no limit of ours.
            promised =
                promised.select(|index| holds[index]).candidates(usize::MAX).unwrap_or(Itemsets::none(length + 1));
        }
    }
    ControlFlow::Continue(())
}

#[cfg(test)]
mod tests {
    use super::super::frequent::Counted;
    use super::*;

    fn items(numbers: &[u32]) -> Vec<FrequentItem> {
        // Even ones are the first party's.
        let mut items: Vec<FrequentItem> =
            numbers.iter().map(|&number| FrequentItem { party: (number % 2) as u8, number }).collect();
        items.sort();
        items
    }

    /// Frequent itemsets of these with their counts, of three items at most.
    fn frequent(rows: u32, counted: &[(&[u32], u32)]) -> Frequent {
        let mut frequent = Frequent::new(rows, 2);
        for kind_of in [ItemsetOwner::One(0), ItemsetOwner::One(1), ItemsetOwner::Mixed] {
            for length in 1..=3 {
                let here = counted.iter().map(|(set, count)| (items(set), *count));
                let mut here: Vec<_> = here.filter(|(set, _)| set.len() == length && kind(set) == kind_of).collect();
                here.sort();
                let sets = Itemsets::sorted(length, here.iter().map(|(set, _)| set.clone()));
                if !(kind_of == ItemsetOwner::Mixed && length == 1) {
                    frequent.push(kind_of, Counted { sets, counts: here.iter().map(|(_, count)| *count).collect() });
                }
            }
        }
        frequent
    }

    fn terms(min_confidence: &str, consequents: Consequents, mixed_only: bool) -> RuleThresholds {
        RuleThresholds { min_confidence: min_confidence.parse().unwrap(), consequents, mixed_only }
    }

    #[test]
    fn measures_are_those_of_the_textbook() {
        let rule = AssociationRule {
            antecedents: items(&[0]),
            consequents: items(&[1]),
            rows: 100,
            count: 20,
            antecedent_count: 40,
            consequent_count: 30,
        };
        let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-12, "{value} {expected}");
        near(rule.support(), 0.2);
        near(rule.confidence(), 0.5);
        near(rule.lift(), 0.5 / 0.3);
        near(rule.leverage(), 0.2 - 0.4 * 0.3);
        near(rule.conviction(), 0.7 / 0.5);
        near(AssociationRule { count: 5, ..rule.clone() }.leverage(), 0.05 - 0.4 * 0.3);
        assert_eq!(AssociationRule { count: 40, ..rule.clone() }.conviction(), f64::INFINITY);
        near(rule.antecedent_support(), 0.4);
        near(rule.consequent_support(), 0.3);
        near(rule.zhangs_metric(), 0.08 / (0.2f64 * 0.6).max(0.4 * 0.1));
        near(AssociationRule { count: 5, ..rule.clone() }.zhangs_metric(), -0.07 / (0.05f64 * 0.6).max(0.4 * 0.25));
        near(
            AssociationRule { count: 100, antecedent_count: 100, consequent_count: 100, ..rule.clone() }
                .zhangs_metric(),
            0.0,
        );
        near(rule.jaccard(), 0.2 / 0.5);
        near(rule.certainty(), (0.5 - 0.3) / 0.7);
        near(AssociationRule { count: 5, ..rule.clone() }.certainty(), (0.125 - 0.3) / 0.7);
        near(AssociationRule { count: 40, consequent_count: 100, ..rule.clone() }.certainty(), 0.0);
        near(rule.kulczynski(), (0.5 + 2.0 / 3.0) / 2.0);
        // Counts near the most that there can be.
        let most = u32::MAX;
        let full =
            AssociationRule { rows: most, count: most - 1, antecedent_count: most, consequent_count: most - 1, ..rule };
        near(full.lift(), 1.0);
        near(full.conviction(), 1.0);
        near(full.leverage(), 0.0);
    }

    #[test]
    fn rules_of_a_few_itemsets() {
        let frequent =
            frequent(10, &[(&[0], 6), (&[2], 5), (&[1], 4), (&[0, 2], 4), (&[0, 1], 3), (&[1, 2], 3), (&[0, 1, 2], 3)]);
        let found = |terms: &RuleThresholds| -> Vec<(Vec<FrequentItem>, Vec<FrequentItem>)> {
            let all = rules(&frequent, terms, usize::MAX, &Progress::default()).unwrap();
            // As many as there are, and not one more.
            let limited = |limit| rules(&frequent, terms, limit, &Progress::default());
            assert_eq!(limited(all.len()).as_ref(), Ok(&all));
            assert_eq!(limited(all.len() - 1), Err(TooManyRules));
            all.into_iter().map(|rule| (rule.antecedents, rule.consequents)).collect()
        };
        let all = found(&terms("0", Consequents::Any, false));
        assert_eq!(all.len(), 3 * 2 + 6);
        let single = found(&terms("0", Consequents::Single, false));
        assert_eq!(single.len(), 3 * 2 + 3);
        assert!(single.iter().all(|rule| rule.1.len() == 1 && all.contains(rule)));
        let mixed = found(&terms("0", Consequents::Any, true));
        assert_eq!(mixed.len(), 2 * 2 + 6);
        // 3 of 4, exactly.
        let sure = found(&terms("0.75", Consequents::Any, false));
        let expected = [
            (&[1][..], &[0][..]),
            (&[1], &[2]),
            (&[0, 1], &[2]),
            (&[1, 2], &[0]),
            (&[0, 2], &[1]),
            (&[2], &[0]),
            (&[1], &[0, 2]),
        ];
        let mut expected: Vec<_> = expected.iter().map(|(from, to)| (items(from), items(to))).collect();
        expected.sort();
        assert_eq!(sure, expected);
    }

    /// Growing consequents finds what trying all divisions finds.
    #[test]
    fn no_rule_is_missed() {
        // Counts that shrink with every item, in no regular way.
        let count_of = |set: &[FrequentItem]| 1000 / set.iter().map(|item| item.number + 2).product::<u32>() + 1;
        let set = items(&[0, 1, 2, 3, 4]);
        for percent in 0..=100 {
            let terms = terms(&format!("{percent}%"), Consequents::Any, false);
            let mut found = Vec::new();
            let ended = each(
                &set,
                count_of(&set),
                &terms,
                |set| Some(count_of(set)),
                |from, to, _| {
                    found.push((from.to_vec(), to.to_vec()));
                    ControlFlow::<()>::Continue(())
                },
            );
            assert!(ended.is_continue());
            let mut expected: Vec<_> = (1..31u32)
                .map(|mask| set.iter().enumerate().partition::<Vec<_>, _>(|(bit, _)| mask >> bit & 1 == 0))
                .map(|(from, to)| [from, to].map(|part| part.into_iter().map(|(_, item)| *item).collect::<Vec<_>>()))
                .filter(|[from, _]| 100 * count_of(&set) >= percent * count_of(from))
                .map(|[from, to]| (from, to))
                .collect();
            found.sort();
            expected.sort();
            assert_eq!(found, expected, "{percent}");
        }
    }
}
