//! The language against a naive evaluator, and what is said of texts that are not of it.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::jobs::aggregate::{Domain, Histogram};

fn numbers() -> Domain {
    Domain::Numbers(vec![-2, 1, 3])
}

fn grades() -> Domain {
    Domain::Grades(["A", "B", "C"].map(str::to_owned).to_vec())
}

fn row<'a>(domain: &'a Domain, reports: &[(u32, u8)]) -> Summary<'a> {
    let mut row = Summary::new(domain);
    reports.iter().for_each(|(place, reporter)| row.add(*place, &[*reporter; 32]));
    row
}

/// A predicate as random tests make it: its text, and what it says of reports.
#[derive(Debug, Clone)]
enum Tree {
    Compare(usize, usize, i64),
    Not(Box<Tree>),
    All(Vec<Tree>),
    Any(Vec<Tree>),
}

impl Tree {
    /// Formats the tree with more parentheses and odder blanks than are needed.
    fn text(&self) -> String {
        let joined = |parts: &[Tree], word: &str| {
            let parts: Vec<_> = parts.iter().map(|part| format!("( {})", part.text())).collect();
            parts.join(word)
        };
        match self {
            Tree::Compare(measure, relation, bound) => {
                format!("{}{}  {bound}", Measure::ALL[*measure].0, Relation::ALL[*relation].1)
            }
            Tree::Not(inner) => format!("NOT ({})", inner.text()),
            Tree::All(parts) => joined(parts, " and "),
            Tree::Any(parts) => joined(parts, "\tOr "),
        }
    }

    /// Evaluates the tree for these values and reporters, directly from the list.
    fn holds(&self, reports: &[(i64, u8)]) -> bool {
        match self {
            Tree::Compare(measure, relation, bound) => {
                let mut values: Vec<i64> = reports.iter().map(|(value, _)| *value).collect();
                values.sort_unstable();
                let times = |value: &i64| values.iter().filter(|other| *other == value).count();
                let size = match measure {
                    0 => reports.len() as i64,
                    1 => (0..=u8::MAX).filter(|who| reports.iter().any(|(_, other)| other == who)).count() as i64,
                    2 => values.iter().sum(),
                    3 => values[(values.len() - 1) / 2],
                    4 => values[0],
                    5 => values[values.len() - 1],
                    _ => {
                        let most = values.iter().map(times).max().unwrap();
                        *values.iter().find(|value| times(value) == most).unwrap()
                    }
                };
                [size >= *bound, size > *bound, size <= *bound, size < *bound, size == *bound, size != *bound]
                    [*relation]
            }
            Tree::Not(inner) => !inner.holds(reports),
            Tree::All(parts) => parts.iter().all(|part| part.holds(reports)),
            Tree::Any(parts) => parts.iter().any(|part| part.holds(reports)),
        }
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = (0..7usize, 0..6usize, 0..4i64).prop_map(|(measure, relation, bound)| {
        // Values reach from -2 to 3; counts do not begin below 0.
        let bound = if measure < 2 { bound } else { bound - 1 };
        Tree::Compare(measure, relation, bound)
    });
    leaf.prop_recursive(4, 24, 3, |inner| {
        prop_oneof![
            inner.clone().prop_map(|tree| Tree::Not(Box::new(tree))),
            prop::collection::vec(inner.clone(), 1..4).prop_map(Tree::All),
            prop::collection::vec(inner, 1..4).prop_map(Tree::Any),
        ]
    })
}

fn reports() -> impl Strategy<Value = Vec<(u32, u8)>> {
    prop::collection::vec((0..3u32, 0..4u8), 1..7)
}

proptest! {
    #[test]
    fn it_says_what_the_naive_evaluator_says(tree in trees(), reports in reports()) {
        let domain = numbers();
        let predicate = Predicate::parse(&tree.text(), &domain).unwrap();
        let row = row(&domain, &reports);
        let values: Vec<_> = reports.iter().map(|(place, who)| (domain.number(*place).unwrap(), *who)).collect();
        let holds = tree.holds(&values);
        prop_assert_eq!(predicate.holds(&row), holds, "{}", predicate);
        let least = predicate.least();
        prop_assert!(!holds || (row.count() >= least.count && row.distinct() >= least.distinct), "{}", predicate);
        // The canonical form says the same, and is its own.
        let again = Predicate::parse(&predicate.to_string(), &domain).unwrap();
        prop_assert_eq!(again.to_string(), predicate.to_string());
        prop_assert_eq!(again.holds(&row), holds);
    }

    #[test]
    fn with_a_higher_threshold_no_further_row_passes(tree in trees(), reports in reports(), raise in 0..4i128) {
        let domain = numbers();
        let predicate = Predicate::parse(&tree.text(), &domain).unwrap();
        let row = row(&domain, &reports);
        for threshold in predicate.thresholds() {
            let raised = predicate.tighten(threshold.place, threshold.bound + raise).unwrap();
            prop_assert!(!raised.holds(&row) || predicate.holds(&row), "{} by {}", predicate, raised);
            prop_assert!(predicate.tighten(threshold.place, threshold.bound - 1).is_err());
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in ".*", words in prop::collection::vec(
        prop::sample::select(vec!["count", "sum(value)", ">=", "3", "and", "not", "(", ")", "'A'", "value", "-", "or", "mode"]), 0..12,
    )) {
        for domain in [Domain::Nothing, numbers(), grades()] {
            for text in [&text, &words.join(" ")] {
                if let Ok(predicate) = Predicate::parse(text, &domain) {
                    let again = Predicate::parse(&predicate.to_string(), &domain).unwrap();
                    prop_assert_eq!(again, predicate);
                }
            }
        }
    }

    #[test]
    fn the_gap_is_the_widest(sizes in prop::collection::btree_map(0..40u64, 0..3u64, 0..12), agreed in 1..12u64) {
        let found = largest_gap(&sizes, agreed);
        prop_assert!(found >= agreed);
        // As wide as any run of thresholds that let the same rows pass, and some.
        let passing = |threshold: u64| sizes.range(threshold..).map(|(_, rows)| rows).sum::<u64>();
        let width = |threshold: u64| {
            (agreed..=40).filter(|other| passing(*other) == passing(threshold) && passing(*other) > 0).count()
        };
        prop_assert_eq!(width(found), (agreed..=40).map(width).max().unwrap(), "{:?} from {}: {}", sizes, agreed, found);
    }
}

#[test]
fn words_and_their_forms() {
    for (text, canonical) in [
        ("count>=3", "count >= 3"),
        (" Distinct  >= 1_000 AND sum ( value )>10 ", "distinct >= 1000 and sum(value) > 10"),
        ("(count = 1 or (count = 2 or count != 3))", "count = 1 or count = 2 or count != 3"),
        ("(count > 1 or count < 9) and count <= 4", "(count > 1 or count < 9) and count <= 4"),
        ("count > 1 or count < 9 and count <= 4", "count > 1 or count < 9 and count <= 4"),
        ("not not (count > 1)", "not not count > 1"),
        ("not (count > 1 and median(value) = -2)", "not (count > 1 and median(value) = -2)"),
    ] {
        assert_eq!(Predicate::parse(text, &numbers()).unwrap().to_string(), canonical);
    }
    let grade = Predicate::parse("mode(value) <= \"B\" and min(value) != 'A'", &grades()).unwrap();
    assert_eq!(grade.to_string(), "mode(value) <= 'B' and min(value) != 'A'");
    assert!(grade.holds(&row(&grades(), &[(1, 1), (2, 2)])));
    assert!(!grade.holds(&row(&grades(), &[(2, 1), (2, 2)])));
    assert!(!grade.uses_distinct());
}

#[test]
fn the_place_of_what_is_wrong_is_said() {
    for (domain, text, place, words) in [
        (numbers(), "", 1, "found the end instead of count"),
        (numbers(), "count", 6, "found the end instead of >="),
        (numbers(), "count >= ", 10, "found the end instead of a number"),
        (numbers(), "count >= 3 4", 12, "found 4 instead of and, or"),
        (numbers(), "count >= 3 and", 15, "found the end"),
        (numbers(), "count => 3", 7, "\"=>\" means nothing"),
        (numbers(), "count == 3", 7, "write = instead of =="),
        (numbers(), "count >= 3.5", 10, "no whole number"),
        (numbers(), "count >= 99999999999999999999", 10, "no whole number"),
        (numbers(), "count >= -1", 10, "no row has"),
        (numbers(), "count >= 4294967296", 10, "no row has"),
        (numbers(), "(count >= 3", 12, "closes character 1"),
        (numbers(), "count >= 3 ) ", 12, "found ) instead of and"),
        (numbers(), "sum >= 3", 5, "with (value) behind it"),
        (numbers(), "sum(count) >= 3", 5, "instead of value"),
        (numbers(), "mean(value) >= 3", 1, "found \"mean\" instead of count"),
        (numbers(), "3 <= count", 1, "found 3 instead of count"),
        (numbers(), "median(value) >= 4", 18, "no value is 4"),
        (numbers(), "median(value) >= 'A'", 18, "round.values has none"),
        (numbers(), "count >= 'A", 10, "never closed"),
        (numbers(), "count >= 3 & count", 12, "\"&\" means nothing"),
        (grades(), "sum(value) >= 3", 1, "cannot be added up"),
        (grades(), "max(value) >= 3", 15, "put grades in quotes"),
        (grades(), "max(value) >= 'D'", 15, "none of round.values"),
        (grades(), "count >= 'A'", 10, "is compared with a grade"),
        (Domain::Nothing, "count >= 3 and sum(value) > 1", 16, "carry no value"),
    ] {
        let error = Predicate::parse(text, &domain).unwrap_err().to_string();
        assert!(error.contains(&format!("character {place}: ")) && error.contains(words), "{text}: {error}");
    }
    assert!(Predicate::parse(&"not ".repeat(40), &numbers()).unwrap_err().to_string().contains("deep"));
    assert!(Predicate::parse(&" ".repeat(MAX_BYTES + 1), &numbers()).unwrap_err().to_string().contains("too long"));
}

#[test]
fn what_passes_has_at_least() {
    for (text, count, distinct) in [
        ("distinct >= 3", 3, 3),
        ("count > 3", 4, 0),
        ("count = 2", 2, 0),
        ("count <= 2", 0, 0),
        ("distinct >= 3 and count >= 5", 5, 3),
        ("distinct >= 3 or count >= 5", 3, 0),
        ("distinct >= 3 or sum(value) >= 5", 0, 0),
        ("not count < 3", 0, 0),
    ] {
        assert_eq!(Predicate::parse(text, &numbers()).unwrap().least(), PredicateMinimum { count, distinct }, "{text}");
    }
}

#[test]
fn thresholds_are_raised_and_never_lowered() {
    let predicate =
        Predicate::parse("distinct >= 3 and (count <= 9 or not count < 7) and count = 3", &numbers()).unwrap();
    let places: Vec<_> = predicate.thresholds().iter().map(|found| (found.place, found.bound)).collect();
    assert_eq!(places, [(0, 3), (2, 7)]);
    let raised = predicate.tighten(0, 5).unwrap();
    assert_eq!(raised.to_string(), "distinct >= 5 and (count <= 9 or not count < 7) and count = 3");
    assert!(raised.tighten(0, 4).unwrap_err().to_string().contains("would lower it"));
    assert!(predicate.tighten(1, 10).unwrap_err().to_string().contains("comparison 2 is no threshold"));
    assert!(predicate.tighten(0, 1 << 32).is_err());
    assert_eq!(predicate.tighten_all(Measure::Distinct, 4).unwrap(), predicate.tighten(0, 4).unwrap());
    assert_eq!(predicate.tighten_all(Measure::Distinct, 3).unwrap(), predicate);
    assert!(predicate.tighten_all(Measure::Distinct, 2).is_err());
    assert!(predicate.tighten_all(Measure::Sum, 2).unwrap_err().to_string().contains("no threshold of sum(value)"));
}

#[test]
fn thresholds_go_into_gaps() {
    let sizes = |counts: &[u64]| counts.iter().map(|count| (*count, 1)).collect::<BTreeMap<_, _>>();
    let histogram = Histogram { count: sizes(&[3, 4, 20]), distinct: sizes(&[2, 3, 9]), noisy: vec![] };
    for (text, raised) in [
        ("count >= 3", "count >= 12"),
        ("count > 2 and distinct = 1", "count > 11 and distinct = 1"),
        ("not count <= 2", "not count <= 11"),
    ] {
        let predicate = Predicate::parse(text, &numbers()).unwrap();
        assert_eq!(predicate.tighten_to_gap(Measure::Count, &histogram).unwrap().to_string(), raised);
    }
    let several = Predicate::parse("distinct >= 3 or distinct >= 2", &numbers()).unwrap();
    for measure in [Measure::Distinct, Measure::Count, Measure::Sum] {
        assert!(several.tighten_to_gap(measure, &histogram).is_err());
    }
}

#[test]
fn gaps_of_the_paper_are_found() {
    let sizes = |counts: &[u64]| counts.iter().map(|count| (*count, 1)).collect::<BTreeMap<_, _>>();
    assert_eq!(largest_gap(&sizes(&[1, 2, 3, 4, 20, 21]), 3), 12);
    // A gap below what was agreed on is none.
    assert_eq!(largest_gap(&sizes(&[1, 30, 31]), 31), 31);
    assert_eq!(largest_gap(&sizes(&[1, 30]), 20), 25);
    assert_eq!(largest_gap(&sizes(&[5, 6, 8, 10]), 5), 7);
    assert_eq!(largest_gap(&sizes(&[]), 4), 4);
    assert_eq!(largest_gap(&sizes(&[1]), 4), 4);
}
