//! The part of what was found that a party wants to see.

use std::collections::{HashMap, HashSet};

use super::RulesResult;
use crate::agreement::{Show, Which};

impl RulesResult {
    /// Itemsets and rules as `show` wants them, in the same order.
    pub(super) fn shown(&self, show: &Show) -> RulesResult {
        let antecedents = show.items_in_antecedents.as_deref().map(|names| self.places(names));
        let consequents = show.items_in_consequents.as_deref().map(|names| self.places(names));
        let one_of = |wanted: &Option<HashSet<u32>>, items: &[u32]| {
            wanted.as_ref().is_none_or(|wanted| items.iter().any(|item| wanted.contains(item)))
        };
        let rules = self
            .rules
            .iter()
            .filter(|rule| one_of(&antecedents, &rule.antecedents) && one_of(&consequents, &rule.consequents));
        let hidden = self.hidden(show.itemsets);
        let itemsets = self.itemsets.iter().filter(|(set, _)| !hidden.contains(&set[..]));
        RulesResult {
            rows: self.rows,
            items: self.items.clone(),
            itemsets: itemsets.cloned().collect(),
            rules: rules.cloned().collect(),
        }
    }

    /// Itemsets that are not shown. An itemset with a larger one has one that is larger by an item: all subsets of a
    /// frequent one are frequent.
    fn hidden(&self, which: Which) -> HashSet<Vec<u32>> {
        let mut hidden = HashSet::new();
        if which == Which::All {
            return hidden;
        }
        let counts: HashMap<&[u32], u32> = self.itemsets.iter().map(|(set, count)| (&set[..], *count)).collect();
        for (set, count) in &self.itemsets {
            for left_out in 0..set.len() {
                let mut smaller = set.clone();
                smaller.remove(left_out);
                let known = counts.get(&smaller[..]);
                if known.is_some_and(|known| which == Which::Maximal || known == count) {
                    hidden.insert(smaller);
                }
            }
        }
        hidden
    }

    /// The places of items of these names. One that nothing found is called is warned of.
    fn places(&self, names: &[String]) -> HashSet<u32> {
        let place = |(number, name): (usize, &String)| {
            let place = self.items.iter().position(|item| item.name == *name);
            if place.is_none() {
                tracing::warn!("show: no item in the itemsets has name {} of {}", number + 1, names.len());
            }
            place.map(|place| place as u32)
        };
        names.iter().enumerate().filter_map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::names::{NamedItem, NamedRule};
    use super::*;
    use tacita_core::protocol::rules::association::AssociationRule;

    fn named() -> RulesResult {
        let item = |name: &str| NamedItem { name: name.into(), party: "shop".into() };
        let sets: [(&[u32], u32); 6] = [(&[0], 5), (&[1], 4), (&[2], 3), (&[0, 1], 4), (&[0, 2], 2), (&[3], 2)];
        let rule = |antecedents: &[u32], consequents: &[u32]| NamedRule {
            antecedents: antecedents.to_vec(),
            consequents: consequents.to_vec(),
            rule: AssociationRule {
                antecedents: Vec::new(),
                consequents: Vec::new(),
                rows: 6,
                count: 2,
                antecedent_count: 3,
                consequent_count: 4,
            },
        };
        RulesResult {
            rows: 6,
            items: ["milk", "tea", "rum", "ham"].map(item).to_vec(),
            itemsets: sets.map(|(set, count)| (set.to_vec(), count)).to_vec(),
            rules: vec![rule(&[0], &[1]), rule(&[0], &[2]), rule(&[1], &[0])],
        }
    }

    #[test]
    fn closed_and_maximal_itemsets_are_those_of_the_textbook() {
        let sets = |itemsets| -> Vec<Vec<u32>> {
            let shown = named().shown(&Show { itemsets, ..Show::default() });
            assert_eq!(shown.rules, named().rules);
            shown.itemsets.into_iter().map(|(set, _)| set).collect()
        };
        assert_eq!(sets(Which::All).len(), 6);
        // Tea is in the same rows as milk and tea.
        assert_eq!(sets(Which::Closed), [vec![0], vec![2], vec![0, 1], vec![0, 2], vec![3]]);
        assert_eq!(sets(Which::Maximal), [vec![0, 1], vec![0, 2], vec![3]]);
    }

    #[test]
    fn rules_are_chosen_by_their_items() {
        let names = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect());
        let rules = |show: &Show| -> Vec<(Vec<u32>, Vec<u32>)> {
            let shown = named().shown(show);
            assert_eq!(shown.itemsets, named().itemsets);
            shown.rules.into_iter().map(|rule| (rule.antecedents, rule.consequents)).collect()
        };
        let milk = Show { items_in_antecedents: names(&["milk"]), ..Show::default() };
        assert_eq!(rules(&milk), [(vec![0], vec![1]), (vec![0], vec![2])]);
        let to_rum = Show { items_in_consequents: names(&["rum", "ham"]), ..milk.clone() };
        assert_eq!(rules(&to_rum), [(vec![0], vec![2])]);
        assert_eq!(rules(&Show { items_in_consequents: names(&["beer"]), ..milk }), []);
    }
}
