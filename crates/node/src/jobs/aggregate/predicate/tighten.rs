//! Thresholds that the database's operator may raise before the reveal.

use std::collections::BTreeMap;

use tacita_core::{Error, Result};

use super::{Bound, Comparison, Measure, Node, Predicate, Relation};
use crate::jobs::aggregate::Histogram;

/// A comparison of a predicate with a number, in which a greater number lets fewer rows pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredicateThreshold {
    /// Position among all comparisons, from the left, counted from 0.
    pub place: usize,
    /// Measure that is compared.
    pub measure: Measure,
    /// Bound of the comparison.
    pub bound: i128,
    /// Whether only values above the bound pass; else the bound itself passes, too.
    pub strict: bool,
}

impl Predicate {
    /// The thresholds that may be raised: bounds from below on something that must hold, and bounds from above on
    /// something that must not. With either one raised, every row that passes has passed before.
    pub fn thresholds(&self) -> Vec<PredicateThreshold> {
        let (mut found, mut place) = (Vec::new(), 0);
        self.root.signed(true, &mut |comparison, wanted| {
            // Below a `not`, what is at most the bound does not pass.
            let strict = matches!(comparison.relation, Relation::Above | Relation::AtMost);
            let threshold =
                PredicateThreshold { place, measure: comparison.measure, bound: comparison.bound.size(), strict };
            found.extend(comparison.may_be_raised(wanted).then_some(threshold));
            place += 1;
        });
        found
    }

    /// The same with a higher threshold. `place` is that of [`PredicateThreshold::place`]; a grade's number is its
    /// place among the values.
    ///
    /// Errors ([`Error::Input`]): there is no such threshold; `number` is lower than it is, or higher than anything
    /// could be.
    pub fn tighten(&self, place: usize, number: i128) -> Result<Predicate> {
        let bad = |what: String| Err(Error::Input(format!("{what}: reveal_when is {self}")));
        let Some(threshold) = self.thresholds().into_iter().find(|threshold| threshold.place == place) else {
            return bad(format!("comparison {} is no threshold that can be raised", place + 1));
        };
        if number < threshold.bound {
            return bad(format!(
                "{} is agreed to be {}, and {number} would lower it: a threshold can be raised only",
                threshold.measure, threshold.bound
            ));
        }
        if number > i128::from(i64::MAX) || (!threshold.measure.is_of_values() && number > i128::from(u32::MAX)) {
            return bad(format!("no row has {} {number}", threshold.measure));
        }
        let mut raised = self.clone();
        let mut next = 0;
        raised.root.each_mut(&mut |comparison| {
            match &mut comparison.bound {
                Bound::Number(bound) if next == place => *bound = number,
                _ => (),
            }
            next += 1;
        });
        Ok(raised)
    }

    /// The same with every threshold of `measure` raised to `number`, where it is lower.
    ///
    /// Errors ([`Error::Input`]): there is none that could be raised, as where [`Predicate::tighten`] refuses it.
    pub fn tighten_all(&self, measure: Measure, number: i128) -> Result<Predicate> {
        let mut of_measure: Vec<_> = self.thresholds().into_iter().filter(|one| one.measure == measure).collect();
        if of_measure.is_empty() {
            return Err(Error::Input(format!("no threshold of {measure} can be raised: reveal_when is {self}")));
        }
        // Where all are above, the first says so.
        let above = of_measure.iter().all(|threshold| threshold.bound > number);
        of_measure.retain(|threshold| above || threshold.bound < number);
        of_measure.iter().try_fold(self.clone(), |raised, threshold| raised.tighten(threshold.place, number))
    }

    /// The same with the one threshold of `count` or `distinct` raised into the widest gap that the rows of a round
    /// leave at or above it; see [`largest_gap`].
    ///
    /// Errors ([`Error::Input`]): there is no such threshold, or several; the measure is another one.
    pub fn tighten_to_gap(&self, measure: Measure, histogram: &Histogram) -> Result<Predicate> {
        let bad = |what: &str| Err(Error::Input(format!("{measure}: {what}: reveal_when is {self}")));
        let sizes = match measure {
            Measure::Count => &histogram.count,
            Measure::Distinct => &histogram.distinct,
            _ => return bad("gaps are known of count and distinct alone"),
        };
        let of_measure: Vec<_> = self.thresholds().into_iter().filter(|one| one.measure == measure).collect();
        let [threshold] = of_measure[..] else {
            return bad("raising into a gap needs exactly one threshold of it");
        };
        let strict = u64::from(threshold.strict);
        // Bounds of counts are within 32 bits.
        let agreed = u64::try_from(threshold.bound).unwrap_or(0) + strict;
        self.tighten(threshold.place, i128::from(largest_gap(sizes, agreed) - strict))
    }
}

impl Comparison {
    /// Whether a greater number lets fewer rows pass, where the comparison is `wanted`, or must not hold. Grades have
    /// no numbers between them that an operator could think of, and stay as they are agreed on.
    fn may_be_raised(&self, wanted: bool) -> bool {
        let increasing = match self.relation {
            Relation::AtLeast | Relation::Above => wanted,
            Relation::AtMost | Relation::Below => !wanted,
            Relation::Equal | Relation::Unequal => false,
        };
        increasing && matches!(self.bound, Bound::Number(_))
    }
}

impl Node {
    /// Each comparison from left to right, and whether it is to hold.
    fn signed(&self, wanted: bool, visit: &mut dyn FnMut(&Comparison, bool)) {
        match self {
            Node::Compare(comparison) => visit(comparison, wanted),
            Node::Not(inner) => inner.signed(!wanted, visit),
            Node::All(parts) | Node::Any(parts) => parts.iter().for_each(|part| part.signed(wanted, visit)),
        }
    }

    fn each_mut(&mut self, visit: &mut dyn FnMut(&mut Comparison)) {
        match self {
            Node::Compare(comparison) => visit(comparison),
            Node::Not(inner) => inner.each_mut(visit),
            Node::All(parts) | Node::Any(parts) => parts.iter_mut().for_each(|part| part.each_mut(visit)),
        }
    }
}

/// The threshold, `agreed` or higher, in the middle of the widest gap between sizes that rows have, given how many rows
/// have each size; of several gaps as wide, in the lowest. `agreed` itself where there is no gap; sizes below it count
/// as the one before it.
pub fn largest_gap(sizes: &BTreeMap<u64, u64>, agreed: u64) -> u64 {
    let mut below = agreed.saturating_sub(1);
    let (mut best, mut widest) = (agreed, 1);
    for (&size, _) in sizes.range(agreed..).filter(|(_, rows)| **rows > 0) {
        let gap = size - below;
        if gap > widest {
            // With a threshold from `below + 1` to `size` the same rows pass.
            (best, widest) = (below + gap.div_ceil(2), gap);
        }
        below = size;
    }
    best.max(agreed)
}
