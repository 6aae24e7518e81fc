//! Conditions for revealing a row's key: a small language over the known properties of a row.
//!
//! ```text
//! condition  = all , { "or" , all } ;
//! all        = one , { "and" , one } ;
//! one        = "not" , one | "(" , condition , ")" | measure , ( ">=" | ">" | "<=" | "<" | "=" | "!=" ) , bound ;
//! measure    = "count" | "distinct" | ( "sum" | "median" | "min" | "max" | "mode" ) , "(" , "value" , ")" ;
//! bound      = whole number | grade in quotes ;
//! ```
//!
//! `count` is how many reports a row has, `distinct` of how many reporters, whom the proxy's tags tell apart. Of an
//! even number of values, the median is the lower one of the two in the middle; of several values that occur most
//! often, the mode is the least. Grades compare by their order in `round.values`. `and` binds closer than `or`, `not`
//! closer than both; case does not matter in words of the language.

mod parse;
#[cfg(test)]
mod tests;
mod tighten;

use std::fmt;

use super::Summary;

pub use tighten::{PredicateThreshold, largest_gap};

/// The longest text of a predicate, in bytes.
pub const MAX_BYTES: usize = 4096;

/// Condition for revealing a row's key. Displayed in the canonical form of the terms: no unnecessary parentheses,
/// one blank between words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Predicate {
    root: Node,
}

/// Lower bounds on a row that passes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PredicateMinimum {
    /// Minimum number of reports.
    pub count: u64,
    /// Minimum number of distinct reporters.
    pub distinct: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    Compare(Comparison),
    Not(Box<Node>),
    /// Two or more, none of which is `All` itself.
    All(Vec<Node>),
    /// Two or more, none of which is `Any` itself.
    Any(Vec<Node>),
}

/// A measure of a row and what it is compared with.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Comparison {
    measure: Measure,
    relation: Relation,
    bound: Bound,
}

/// Measure that is taken of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Number of its reports.
    Count,
    /// Number of its distinct reporters.
    Distinct,
    /// The sum of their values.
    Sum,
    /// Median of its values.
    Median,
    /// Least of its values.
    Min,
    /// Greatest of its values.
    Max,
    /// The value that occurs most often.
    Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    AtLeast,
    Above,
    AtMost,
    Below,
    Equal,
    Unequal,
}

/// Bound with which a measure is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Bound {
    Number(i128),
    /// Grade with its place in the order.
    Grade(u32, String),
}

impl Measure {
    /// List of all measures, with their names.
    pub const ALL: [(Measure, &'static str); 7] = [
        (Measure::Count, "count"),
        (Measure::Distinct, "distinct"),
        (Measure::Sum, "sum"),
        (Measure::Median, "median"),
        (Measure::Min, "min"),
        (Measure::Max, "max"),
        (Measure::Mode, "mode"),
    ];

    /// Whether it is of the values.
    pub fn is_of_values(self) -> bool {
        !matches!(self, Measure::Count | Measure::Distinct)
    }

    /// Returns the value of the measure in a row; none without values.
    fn of(self, row: &Summary<'_>) -> Option<i128> {
        let value = |place: Option<u32>| {
            place.map(|place| row.domain().number(place).map_or_else(|| i128::from(place), i128::from))
        };
        match self {
            Measure::Count => Some(row.count().into()),
            Measure::Distinct => Some(row.distinct().into()),
            Measure::Sum => Some(row.sum()),
            Measure::Median => value(row.median()),
            Measure::Min => value(row.min()),
            Measure::Max => value(row.max()),
            Measure::Mode => value(row.mode()),
        }
    }
}

impl fmt::Display for Measure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Measure::ALL.iter().find(|(known, _)| known == self).map_or("", |(_, name)| name);
        let of = if self.is_of_values() { "(value)" } else { "" };
        write!(f, "{name}{of}")
    }
}

impl Relation {
    const ALL: [(Relation, &'static str); 6] = [
        (Relation::AtLeast, ">="),
        (Relation::Above, ">"),
        (Relation::AtMost, "<="),
        (Relation::Below, "<"),
        (Relation::Equal, "="),
        (Relation::Unequal, "!="),
    ];

    fn holds(self, left: i128, right: i128) -> bool {
        match self {
            Relation::AtLeast => left >= right,
            Relation::Above => left > right,
            Relation::AtMost => left <= right,
            Relation::Below => left < right,
            Relation::Equal => left == right,
            Relation::Unequal => left != right,
        }
    }

    fn sign(self) -> &'static str {
        Relation::ALL.iter().find(|(known, _)| *known == self).map_or("", |(_, sign)| sign)
    }
}

impl Bound {
    fn size(&self) -> i128 {
        match self {
            Bound::Number(number) => *number,
            Bound::Grade(place, _) => (*place).into(),
        }
    }
}

impl Predicate {
    /// Whether a row passes.
    pub fn holds(&self, row: &Summary<'_>) -> bool {
        self.root.holds(row)
    }

    /// Returns the lower bounds on a row that passes, as far as thresholds of `count` and `distinct` tell. Conjunctions
    /// take the maximum, disjunctions the minimum, and negations give nothing.
    pub fn least(&self) -> PredicateMinimum {
        self.root.least()
    }

    /// Returns the number that a row needs, and of what, if the condition is nothing but one threshold of `count` or
    /// `distinct`.
    pub fn only_threshold(&self) -> Option<(Measure, u64)> {
        let Node::Compare(comparison) = &self.root else { return None };
        let is_threshold = matches!(comparison.relation, Relation::AtLeast | Relation::Above);
        let least = comparison.least();
        (is_threshold && !comparison.measure.is_of_values()).then_some((comparison.measure, least.count))
    }

    /// Whether it looks at who reports, so that the proxy has to tag reports.
    pub fn uses_distinct(&self) -> bool {
        self.measures().contains(&Measure::Distinct)
    }

    /// Returns the measures that the predicate uses, each once.
    pub fn measures(&self) -> Vec<Measure> {
        let used = |wanted: Measure| {
            let mut found = false;
            self.root.each(&mut |comparison| found |= comparison.measure == wanted);
            found
        };
        Measure::ALL.iter().map(|(measure, _)| *measure).filter(|measure| used(*measure)).collect()
    }
}

impl Node {
    fn holds(&self, row: &Summary<'_>) -> bool {
        match self {
            Node::Compare(Comparison { measure, relation, bound }) => {
                measure.of(row).is_some_and(|size| relation.holds(size, bound.size()))
            }
            Node::Not(inner) => !inner.holds(row),
            Node::All(parts) => parts.iter().all(|part| part.holds(row)),
            Node::Any(parts) => parts.iter().any(|part| part.holds(row)),
        }
    }

    fn least(&self) -> PredicateMinimum {
        let of_parts = |parts: &[Node], choose: fn(u64, u64) -> u64| {
            let least = parts.iter().map(Node::least);
            least.reduce(|a, b| PredicateMinimum {
                count: choose(a.count, b.count),
                distinct: choose(a.distinct, b.distinct),
            })
        };
        match self {
            Node::Compare(comparison) => comparison.least(),
            Node::Not(_) => PredicateMinimum::default(),
            Node::All(parts) => of_parts(parts, u64::max).unwrap_or_default(),
            Node::Any(parts) => of_parts(parts, u64::min).unwrap_or_default(),
        }
    }

    /// Each comparison, from left to right.
    fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a Comparison)) {
        match self {
            Node::Compare(comparison) => visit(comparison),
            Node::Not(inner) => inner.each(visit),
            Node::All(parts) | Node::Any(parts) => parts.iter().for_each(|part| part.each(visit)),
        }
    }
}

impl Comparison {
    fn least(&self) -> PredicateMinimum {
        let size = match self.relation {
            Relation::AtLeast | Relation::Equal => self.bound.size(),
            Relation::Above => self.bound.size() + 1,
            _ => 0,
        };
        // The checks keep bounds of counts within 32 bits.
        let least = u64::try_from(size.max(0)).unwrap_or(u64::MAX);
        match self.measure {
            Measure::Count => PredicateMinimum { count: least, distinct: 0 },
            // Each reporter has a report.
            Measure::Distinct => PredicateMinimum { count: least, distinct: least },
            _ => PredicateMinimum::default(),
        }
    }
}

impl fmt::Display for Predicate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)
    }
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let between = |f: &mut fmt::Formatter<'_>, parts: &[Node], word: &str, looser: fn(&Node) -> bool| {
            for (place, part) in parts.iter().enumerate() {
                let word = if place > 0 { word } else { "" };
                if looser(part) { write!(f, "{word}({part})")? } else { write!(f, "{word}{part}")? }
            }
            Ok(())
        };
        match self {
            Node::Compare(Comparison { measure, relation, bound }) => {
                write!(f, "{measure} {} ", relation.sign())?;
                match bound {
                    Bound::Number(number) => write!(f, "{number}"),
                    Bound::Grade(_, word) => write!(f, "'{word}'"),
                }
            }
            Node::Not(inner) => match **inner {
                Node::All(_) | Node::Any(_) => write!(f, "not ({inner})"),
                _ => write!(f, "not {inner}"),
            },
            Node::All(parts) => between(f, parts, " and ", |part| matches!(part, Node::Any(_))),
            Node::Any(parts) => between(f, parts, " or ", |_| false),
        }
    }
}

impl Predicate {
    /// Returns the default: three distinct reporters.
    pub(super) fn usual() -> Predicate {
        let comparison =
            Comparison { measure: Measure::Distinct, relation: Relation::AtLeast, bound: Bound::Number(3) };
        Predicate { root: Node::Compare(comparison) }
    }
}
