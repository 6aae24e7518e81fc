//! Results by the names of items.

use std::cmp::Ordering;
use std::collections::HashMap;

use tacita_core::protocol::rules::Mined;
use tacita_core::protocol::rules::itemsets::FrequentItem;
use tacita_core::{Error, Result};

/// Results of a run; the same at all parties. Items, itemsets and rules are in the order in which they are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct RulesResult {
    /// Number of rows in which it was found.
    pub rows: u32,
    /// The items that stand in itemsets.
    pub items: Vec<NamedItem>,
    /// The frequent itemsets: shorter ones first, then those in more rows. Each has its items' places in
    /// [`RulesResult::items`], ascending, and the number of rows that hold it.
    pub itemsets: Vec<(Vec<u32>, u32)>,
    /// The rules: of more confidence first, then those in more rows.
    pub rules: Vec<NamedRule>,
}

/// An item, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedItem {
    /// The name that it is shown by, which no other item has.
    pub name: String,
    /// The party that has it.
    pub party: String,
}

/// A rule, by its items' places in [`RulesResult::items`].
#[derive(Debug, Clone, PartialEq)]
pub struct NamedRule {
    /// Items from which the rule starts.
    pub antecedents: Vec<u32>,
    /// Items that the rule promises.
    pub consequents: Vec<u32>,
    /// Counts and measures of the rule.
    pub rule: tacita_core::protocol::rules::association::AssociationRule,
}

impl RulesResult {
    /// Names the mined results. Takes each party's name and the names of those of its items that are shown, by their
    /// numbers.
    pub(super) fn new(mined: Mined, parties: &[(&str, Vec<String>)]) -> Result<RulesResult> {
        let mut items: Vec<(FrequentItem, NamedItem)> = Vec::new();
        for (party, (names, (owner, _))) in (0..).zip(told_apart(parties).into_iter().zip(parties)) {
            let named = |(number, name)| (FrequentItem { party, number }, NamedItem { name, party: owner.to_string() });
            items.extend(mined.frequent.shown(party).into_iter().zip(names).map(named));
        }
        items.sort_by(|(_, one), (_, other)| compare_names(&one.name, &other.name));
        let mut places: Vec<(FrequentItem, u32)> =
            items.iter().zip(0..).map(|((item, _), place)| (*item, place)).collect();
        places.sort_unstable();
        let place = |item: &FrequentItem| {
            let at = places.binary_search_by_key(item, |(item, _)| *item);
            at.map(|at| places[at].1).map_err(|_| Error::Internal("an item without a name".into()))
        };
        let set = |set: &[FrequentItem]| -> Result<Vec<u32>> {
            let mut set = set.iter().map(place).collect::<Result<Vec<u32>>>()?;
            set.sort_unstable();
            Ok(set)
        };

        let itemsets = mined.frequent.iter().map(|(items, count)| Ok((set(items)?, count)));
        let mut itemsets = itemsets.collect::<Result<Vec<_>>>()?;
        itemsets.sort_by(|(one, count), (other, other_count)| {
            (one.len().cmp(&other.len())).then(other_count.cmp(count)).then_with(|| one.cmp(other))
        });
        let rules = mined.rules.into_iter().map(|rule| {
            Ok(NamedRule { antecedents: set(&rule.antecedents)?, consequents: set(&rule.consequents)?, rule })
        });
        let mut rules = rules.collect::<Result<Vec<_>>>()?;
        rules.sort_by(|one, other| {
            let confidence = other.compare_confidence(one);
            let antecedents = || one.antecedents.cmp(&other.antecedents);
            let consequents = || one.consequents.cmp(&other.consequents);
            confidence.then(other.rule.count.cmp(&one.rule.count)).then_with(antecedents).then_with(consequents)
        });
        let items = items.into_iter().map(|(_, item)| item).collect();
        Ok(RulesResult { rows: mined.frequent.rows(), items, itemsets, rules })
    }

    /// Items as they are written, with `|` between them.
    pub fn text(&self, items: &[u32]) -> String {
        let names: Vec<&str> = items.iter().map(|&item| self.items[item as usize].name.as_str()).collect();
        names.join("|")
    }
}

impl NamedRule {
    /// Compares confidences as fractions of counts.
    fn compare_confidence(&self, other: &NamedRule) -> Ordering {
        let times =
            |one: &NamedRule, other: &NamedRule| u64::from(one.rule.count) * u64::from(other.rule.antecedent_count);
        times(self, other).cmp(&times(other, self))
    }
}

/// The names by which items are shown: their own; `PARTY.NAME` for a name that several parties have; and for all, if
/// any item's own name begins as if it were told apart: nobody can pass its items off as another's.
fn told_apart(parties: &[(&str, Vec<String>)]) -> Vec<Vec<String>> {
    let mut owners: HashMap<&String, usize> = HashMap::new();
    parties.iter().flat_map(|(_, names)| names).for_each(|name| *owners.entry(name).or_default() += 1);
    let poses = |name: &&String| {
        // No party's name has a point.
        name.split_once('.').is_some_and(|(party, _)| parties.iter().any(|(known, _)| *known == party))
    };
    let always = owners.keys().any(poses);
    let shown = |(party, names): &(&str, Vec<String>)| -> Vec<String> {
        let shown = |name: &String| if always || owners[name] > 1 { format!("{party}.{name}") } else { name.clone() };
        names.iter().map(shown).collect()
    };
    parties.iter().map(shown).collect()
}

/// Numbers by their value, before everything else by code point.
pub fn compare_names(one: &str, other: &str) -> Ordering {
    let digits = |name: &str| !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    let value = |name: &str| name.trim_start_matches('0').to_owned();
    match (digits(one), digits(other)) {
        (true, true) => {
            let (a, b) = (value(one), value(other));
            // "07" and "7" are two items.
            (a.len().cmp(&b.len())).then_with(|| a.cmp(&b)).then_with(|| one.cmp(other))
        }
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
        (false, false) => one.cmp(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_first_and_in_their_order() {
        let mut names = ["b", "10", "9", "a", "09", "1a", "0", "é", "-1"];
        names.sort_by(|one, other| compare_names(one, other));
        assert_eq!(names, ["0", "09", "9", "10", "-1", "1a", "a", "b", "é"]);
    }

    #[test]
    fn items_of_one_name_are_told_apart() {
        let all = |parties: &[(&'static str, &[&str])]| {
            let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
            told_apart(&parties.iter().map(|(party, of)| (*party, names(of))).collect::<Vec<_>>())
        };
        let of = |first: &[&str], second: &[&str]| all(&[("a", first), ("b", second)]);
        assert_eq!(of(&["milk", "tea"], &["rum"]), [vec!["milk", "tea"], vec!["rum"]]);
        assert_eq!(of(&["milk", "tea"], &["milk"]), [vec!["a.milk", "tea"], vec!["b.milk"]]);
        // A name that looks like one told apart.
        assert_eq!(of(&["milk", "b.milk"], &["milk"]), [vec!["a.milk", "a.b.milk"], vec!["b.milk"]]);
        // One that poses as the other's, or as its owner's own.
        assert_eq!(of(&["b.cheese"], &["rum"]), [vec!["a.b.cheese"], vec!["b.rum"]]);
        assert_eq!(of(&["a.tea"], &["rum"]), [vec!["a.a.tea"], vec!["b.rum"]]);
        assert_eq!(of(&["c.tea", "1.5"], &["rum"]), [vec!["c.tea", "1.5"], vec!["rum"]]);
        // Among three.
        let three = all(&[("a", &["milk", "tea"]), ("b", &["rum"]), ("c", &["milk"])]);
        assert_eq!(three, [vec!["a.milk", "tea"], vec!["rum"], vec!["c.milk"]]);
        let three = all(&[("a", &["c.tea"]), ("b", &["rum"]), ("c", &["milk"])]);
        assert_eq!(three, [vec!["a.c.tea"], vec!["b.rum"], vec!["c.milk"]]);
    }
}
