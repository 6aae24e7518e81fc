//! What was found, in names: those of items that the result shows are told when all else is done.

use std::cmp::Ordering;
use std::collections::HashSet;

use tacita_core::channel::labels::rules::{LENGTHS, NAMES};
use tacita_core::channel::{Channel, Label, MAX_PAYLOAD_BYTES};
use tacita_core::protocol::rules::Mined;
use tacita_core::protocol::rules::itemsets::Item;
use tacita_core::{Error, Result, Side};

use crate::table::baskets::{MAX_NAME_BYTES, check_name};

const LENGTH_BYTES: usize = 2;

/// What a run found; the same at both parties. Items, itemsets and rules are in the order in which they are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// In how many rows it was found.
    pub rows: u32,
    /// The items that stand in itemsets.
    pub items: Vec<NamedItem>,
    /// The frequent itemsets: shorter ones first, then those in more rows. Each has its items' places in
    /// [`Named::items`], ascending, and the number of rows that hold it.
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

/// A rule, by its items' places in [`Named::items`].
#[derive(Debug, Clone, PartialEq)]
pub struct NamedRule {
    /// What it starts from.
    pub antecedents: Vec<u32>,
    /// What it promises.
    pub consequents: Vec<u32>,
    /// Its counts and measures.
    pub rule: tacita_core::protocol::rules::association::Rule,
}

/// Tells the peer these names, which are as many as it knows, and returns its `count` names.
pub fn exchange(own: &[String], count: usize, channel: &mut Channel) -> Result<Vec<String>> {
    let lengths = own.iter().flat_map(|name| (name.len() as u16).to_le_bytes()).collect();
    let lengths = exchange_bytes(LENGTHS, lengths, count * LENGTH_BYTES, channel)?;
    let lengths =
        decode_lengths(&lengths).ok_or_else(|| channel.violation("a name of an item is empty or too long"))?;
    let names = exchange_bytes(NAMES, own.concat().into_bytes(), lengths.iter().sum(), channel)?;
    decode_names(&lengths, &names).ok_or_else(|| channel.violation("a name of an item is none, or there twice"))
}

/// The lengths of names in bytes, as a peer tells them; `None` if one of them is none.
pub fn decode_lengths(bytes: &[u8]) -> Option<Vec<usize>> {
    let lengths = bytes.chunks(LENGTH_BYTES).map(|bytes| Some(usize::from(u16::from_le_bytes(bytes.try_into().ok()?))));
    lengths.map(|length| length.filter(|length| (1..=MAX_NAME_BYTES).contains(length))).collect()
}

/// Names of these lengths, as a peer tells them, one after the other; `None` if one can be no item's name or is there twice.
pub fn decode_names(lengths: &[usize], bytes: &[u8]) -> Option<Vec<String>> {
    let (mut rest, mut names, mut seen) = (bytes, Vec::with_capacity(lengths.len()), HashSet::new());
    for &length in lengths {
        let (name, beyond) = rest.split_at_checked(length)?;
        rest = beyond;
        let name = std::str::from_utf8(name).ok().filter(|name| check_name(name).is_ok() && seen.insert(*name))?;
        names.push(name.to_owned());
    }
    rest.is_empty().then_some(names)
}

/// Tells the peer `own` bytes, and returns the `due` bytes that it tells: in as many messages as the longer takes.
fn exchange_bytes(label: Label, own: Vec<u8>, due: usize, channel: &mut Channel) -> Result<Vec<u8>> {
    let mut received = Vec::new();
    for start in (0..own.len().max(due)).step_by(MAX_PAYLOAD_BYTES) {
        let own = &own[start.min(own.len())..(start + MAX_PAYLOAD_BYTES).min(own.len())];
        let expected = due.saturating_sub(start).min(MAX_PAYLOAD_BYTES);
        let message = channel.exchange(label, own.to_vec(), expected)?;
        if message.len() != expected {
            return Err(channel.violation(format!(
                "`{}` are {} bytes instead of {expected}",
                label.name,
                message.len()
            )));
        }
        received.extend(message);
    }
    Ok(received)
}

impl Named {
    /// What was mined, with each party's name and the names of those of its items that are shown, by their numbers.
    pub(super) fn new(mined: Mined, parties: [(&str, Vec<String>); 2]) -> Result<Named> {
        let shown = [Side::First, Side::Second].map(|side| mined.frequent.shown(side));
        let mut items: Vec<(Item, NamedItem)> = Vec::new();
        let names = told_apart(&parties);
        for ((side, numbers), (names, (party, _))) in
            [Side::First, Side::Second].into_iter().zip(&shown).zip(names.into_iter().zip(&parties))
        {
            items.extend(
                numbers
                    .iter()
                    .zip(names)
                    .map(|(&number, name)| (Item { side, number }, NamedItem { name, party: party.to_string() })),
            );
        }
        items.sort_by(|(_, one), (_, other)| compare_names(&one.name, &other.name));
        let mut places: Vec<(Item, u32)> = items.iter().zip(0..).map(|((item, _), place)| (*item, place)).collect();
        places.sort_unstable();
        let place = |item: &Item| {
            let at = places.binary_search_by_key(item, |(item, _)| *item);
            at.map(|at| places[at].1).map_err(|_| Error::Internal("an item without a name".into()))
        };
        let set = |set: &[Item]| -> Result<Vec<u32>> {
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
        Ok(Named { rows: mined.frequent.rows(), items, itemsets, rules })
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

/// The names by which items are shown: their own; `PARTY.NAME` for a name that both parties have; and for all, if any item's
/// own name begins as if it were told apart: nobody can pass its items off as the other's.
fn told_apart(parties: &[(&str, Vec<String>); 2]) -> [Vec<String>; 2] {
    let [first, second] = parties;
    let sets = [first, second].map(|(_, names)| names.iter().collect::<HashSet<_>>());
    let named = |always: bool| {
        [(first, &sets[1]), (second, &sets[0])].map(|((party, names), others)| -> Vec<String> {
            let shown = |name: &String| match always || others.contains(name) {
                true => format!("{party}.{name}"),
                false => name.clone(),
            };
            names.iter().map(shown).collect()
        })
    };
    let poses = |name: &String| {
        // No party's name has a point.
        name.split_once('.').is_some_and(|(party, _)| parties.iter().any(|(known, _)| *known == party))
    };
    named(parties.iter().flat_map(|(_, names)| names).any(poses))
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
        let of = |first: &[&str], second: &[&str]| {
            let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
            told_apart(&[("a", names(first)), ("b", names(second))])
        };
        assert_eq!(of(&["milk", "tea"], &["rum"]), [vec!["milk", "tea"], vec!["rum"]]);
        assert_eq!(of(&["milk", "tea"], &["milk"]), [vec!["a.milk", "tea"], vec!["b.milk"]]);
        // A name that looks like one told apart.
        assert_eq!(of(&["milk", "b.milk"], &["milk"]), [vec!["a.milk", "a.b.milk"], vec!["b.milk"]]);
        // One that poses as the other's, or as its owner's own.
        assert_eq!(of(&["b.cheese"], &["rum"]), [vec!["a.b.cheese"], vec!["b.rum"]]);
        assert_eq!(of(&["a.tea"], &["rum"]), [vec!["a.a.tea"], vec!["b.rum"]]);
        assert_eq!(of(&["c.tea", "1.5"], &["rum"]), [vec!["c.tea", "1.5"], vec!["rum"]]);
    }

    /// Runs both sides, one of them as `peer` has it.
    fn against(
        peer: impl FnOnce(&mut Channel) -> Result<()> + Send,
        own: &[String],
        count: usize,
    ) -> Result<Vec<String>> {
        let (mut here, mut there) = Channel::pair("there", "here");
        std::thread::scope(|scope| {
            let peer = scope.spawn(move || drop(peer(&mut there)));
            let got = exchange(own, count, &mut here);
            drop(here);
            peer.join().unwrap();
            got
        })
    }

    #[test]
    fn names_survive_the_wire_and_garbage_is_refused() {
        let names = |prefix: &str, count: usize| (0..count).map(|n| format!("{prefix} {n}")).collect::<Vec<_>>();
        for (own, theirs) in [(0, 0), (3, 0), (0, 2), (600_000, 2), (5, 200_000)] {
            let (own, theirs) = (names("milk", own), names("é", theirs));
            let sent = theirs.clone();
            let due = own.len();
            let got = against(move |channel| exchange(&sent, due, channel).map(drop), &own, theirs.len());
            assert_eq!(got.unwrap(), theirs);
        }
        let garbage = [
            (vec![3, 0, 3], b"".to_vec()),
            (vec![3, 0, 0, 0], b"tea".to_vec()),
            (vec![3, 0, 1, 4], b"tea".to_vec()),
            (vec![3, 0, 3, 0], b"tearu".to_vec()),
            (vec![3, 0, 3, 0], b"teatea".to_vec()),
            (vec![3, 0, 3, 0], b"teaa|b".to_vec()),
            (vec![3, 0, 3, 0], b"tea\x1b[m".to_vec()),
            (vec![3, 0, 3, 0], b"tea\xff\xfe\xfd".to_vec()),
            (vec![3, 0, 3, 0], b"tearumx".to_vec()),
            (vec![3, 0, 4, 0], b"tea tea".to_vec()),
            (vec![3, 0, 4, 0], "tearm\u{a0}".into()),
            (vec![3, 0, 6, 0], "tea\u{202e}mur".into()),
            (vec![3, 0, 5, 0], "teaab\u{200f}".into()),
        ];
        for (lengths, bytes) in garbage {
            let shown = format!("{lengths:?} {bytes:?}");
            let peer = move |channel: &mut Channel| {
                channel.exchange(LENGTHS, lengths, 8)?;
                channel.exchange(NAMES, bytes, 100).map(drop)
            };
            let refused = against(peer, &names("x", 2), 2);
            assert!(matches!(refused, Err(Error::Protocol { .. })), "{shown}: {refused:?}");
        }
    }
}
