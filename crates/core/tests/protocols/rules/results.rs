//! Association rules: all parties find what a plain Apriori over all rows finds, itemset for itemset and rule for
//! rule.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::support::dealer::Dealer;
use crate::support::many::{in_memory, run_parties};
use crate::support::mesh::{Source, ots};
use crate::support::two;
use crate::support::{rng, session};
use proptest::prelude::*;
use tacita_core::primitive::ot::ideal;
use tacita_core::protocol::rules::association::{Consequents, RuleThresholds};
use tacita_core::protocol::rules::baskets::Baskets;
use tacita_core::protocol::rules::itemsets::FrequentItem;
use tacita_core::protocol::rules::support::Support;
use tacita_core::protocol::rules::{self, Learners, Mined, Params, RevealedCounts};
use tacita_core::{Channel, Error, Result, Side};

/// Rows of items 0, 1, 2, ...; and the party that has each. If rows are hidden, those behind the common ones are each
/// of one party alone: even ones the first's, odd ones the second's.
#[derive(Debug, Clone)]
pub(super) struct Case {
    pub rows: Vec<BTreeSet<usize>>,
    pub parties: usize,
    pub owners: Vec<usize>,
    pub params: Params,
    /// Whether comparisons, and products among more than two, run over dealt OTs.
    pub dealt: bool,
}

/// Owners of items, the first party's or the second's.
fn of_two(firsts: impl IntoIterator<Item = bool>) -> Vec<usize> {
    firsts.into_iter().map(|is_first| usize::from(!is_first)).collect()
}

pub(super) type Set = BTreeSet<usize>;

/// Findings that are compared: itemsets with counts, rules with counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub itemsets: BTreeMap<Set, u32>,
    pub rules: BTreeMap<(Set, Set), [u32; 4]>,
}

pub(super) fn params(rows: usize, minimum: usize, reveal: RevealedCounts, rules: RuleThresholds) -> Params {
    Params {
        rows,
        hidden: None,
        minimum,
        reveal,
        learners: Learners::ALL,
        max_len: usize::MAX,
        max_candidates: 10_000,
        max_rules: 1_000_000,
        rules,
    }
}

pub(super) fn terms(min_confidence: &str, consequents: Consequents, mixed_only: bool) -> RuleThresholds {
    RuleThresholds { min_confidence: min_confidence.parse().unwrap(), consequents, mixed_only }
}

impl Case {
    /// The items of a party, in its own order.
    fn items(&self, party: usize) -> Vec<usize> {
        (0..self.owners.len()).filter(|&item| self.owners[item] == party).collect()
    }

    pub(super) fn baskets(&self, party: usize) -> Result<Baskets> {
        let mut baskets = Baskets::new(self.params.column_rows(), self.params.minimum, self.params.max_candidates)?;
        let has = |row: &usize| *row < self.params.rows || row % 2 == party;
        for item in self.items(party) {
            baskets.push((0..self.rows.len()).filter(has).filter(|&row| self.rows[row].contains(&item)))?;
        }
        if self.params.hidden.is_some() {
            baskets.set_present((0..self.rows.len()).filter(has));
        }
        Ok(baskets)
    }

    fn role(&self, side: Side, channel: &mut Channel) -> Result<(Mined, Vec<usize>)> {
        let baskets = self.baskets(side as usize)?;
        let (mut products, rng) = (Dealer::new(7), &mut rng(side as u8));
        let (mut sender, mut receiver) = ideal::pair([5; 32]);
        let (params, products) = (&self.params, &mut products);
        let mined = match (side, self.dealt) {
            (Side::First, true) => rules::first_over(&baskets, params, &mut sender, products, channel, rng),
            (Side::Second, true) => rules::second_over(&baskets, params, &mut receiver, products, channel, rng),
            (side, false) => rules::run(side, &baskets, params, &session(), products, channel, rng),
        };
        Ok((mined?, products.asked.clone()))
    }

    /// A party's part among more than two.
    pub(super) fn part(&self, me: usize, source: Source, seed: u8, channels: &mut [Channel]) -> Result<Mined> {
        let mut ots = ots(me, self.parties, source, channels)?;
        let rng = &mut rng(seed.wrapping_add(15 * me as u8));
        rules::mesh::run(&self.baskets(me)?, &self.params, &mut ots, channels, rng, |_, _, _| ())
    }

    /// The outcome at each party, and the numbers of products that two ask for.
    fn outcomes(&self) -> (Vec<Result<Mined>>, Vec<usize>) {
        if self.parties > 2 {
            let source = if self.dealt { Source::Dealer(3) } else { Source::Real };
            let ended = run_parties(self.parties, &in_memory, |me, channels| self.part(me, source, 1, channels));
            return (ended.into_iter().map(|ended| ended.map(|(mined, _)| mined)).collect(), Vec::new());
        }
        let (one, other) =
            two::run(&|channel| self.role(Side::First, channel), &|channel| self.role(Side::Second, channel));
        let asked = one.as_ref().map_or(Vec::new(), |((_, asked), _)| asked.clone());
        (vec![one.map(|((mined, _), _)| mined), other.map(|((mined, _), _)| mined)], asked)
    }

    /// Runs all parties. Returns what they found, in names, and the numbers of products that two asked for.
    pub(super) fn run(&self) -> Result<(Found, Vec<usize>)> {
        let (outcomes, asked) = self.outcomes();
        let all_refuse = outcomes.iter().all(|outcome| matches!(outcome, Err(Error::Input(_))));
        let mut mined = Vec::new();
        for outcome in outcomes {
            match outcome {
                Ok(outcome) => mined.push(outcome),
                // Where a run ends with an error of the input, it does at all.
                Err(error) if all_refuse => return Err(error),
                Err(error @ Error::Input(_)) => panic!("one party alone: {error}"),
                Err(error) => return Err(error),
            }
        }
        let learns = |party: &usize| self.params.learners.contains(*party as u8);
        let first = (0..mined.len()).find(learns).unwrap();
        let one = &mined[first];
        for (party, other) in mined.iter().enumerate() {
            if learns(&party) {
                assert_eq!((&one.frequent, &one.rules), (&other.frequent, &other.rules));
                continue;
            }
            let own = |set: &[FrequentItem]| set.iter().all(|item| usize::from(item.party) == party);
            let known = |(set, count)| (set, if own(set) { count } else { self.params.rows as u32 });
            let expected: Vec<_> = one.frequent.iter().map(known).collect();
            assert!(other.rules.is_empty() && other.frequent.iter().collect::<Vec<_>>() == expected, "{party}");
        }
        let names = |(party, mined): (usize, &Mined)| -> Vec<usize> {
            mined.items.iter().map(|&item| self.items(party)[item]).collect()
        };
        let names: Vec<Vec<usize>> = mined.iter().enumerate().map(names).collect();
        let named = |items: &[FrequentItem]| -> Set {
            items.iter().map(|item| names[usize::from(item.party)][item.number as usize]).collect()
        };
        let itemsets: BTreeMap<Set, u32> = one.frequent.iter().map(|(set, count)| (named(set), count)).collect();
        assert_eq!(itemsets.len(), one.frequent.len());
        for (party, names) in names.iter().enumerate() {
            let of_party = |item: &usize| self.owners[*item] == party;
            let shown: Set = one.frequent.shown(party as u8).iter().map(|&number| names[number as usize]).collect();
            assert_eq!(shown, itemsets.keys().flatten().filter(|item| of_party(item)).copied().collect::<Set>());
        }
        let rule = |rule: &rules::association::AssociationRule| {
            let counts = [rule.rows, rule.count, rule.antecedent_count, rule.consequent_count];
            ((named(&rule.antecedents), named(&rule.consequents)), counts)
        };
        let rules: BTreeMap<_, _> = one.rules.iter().map(rule).collect();
        assert_eq!(rules.len(), one.rules.len());
        Ok((Found { itemsets, rules }, asked))
    }

    fn mixed(&self, set: &Set) -> bool {
        set.iter().map(|&item| self.owners[item]).collect::<Set>().len() > 1
    }

    fn count(&self, set: &Set) -> u32 {
        self.rows[..self.params.rows].iter().filter(|row| set.is_subset(row)).count() as u32
    }

    /// The slow plain way: every itemset is extended by every item, every rule is tried.
    pub(super) fn expected(&self) -> Found {
        let Params { minimum, max_len, rules: terms, .. } = self.params;
        let mut itemsets = BTreeMap::new();
        let mut level: BTreeSet<Set> = BTreeSet::from([Set::new()]);
        for _ in 0..max_len.min(self.owners.len()) {
            let extended = level.iter().flat_map(|set| {
                let largest = set.last().map_or(0, |last| last + 1);
                (largest..self.owners.len()).map(|item| set.iter().copied().chain([item]).collect::<Set>())
            });
            level = extended.filter(|set| self.count(set) as usize >= minimum).collect();
            itemsets.extend(level.iter().map(|set| (set.clone(), self.count(set))));
        }
        let mut rules = BTreeMap::new();
        for (set, &count) in itemsets.iter().filter(|(set, _)| !terms.mixed_only || self.mixed(set)) {
            let items: Vec<usize> = set.iter().copied().collect();
            for mask in 1..(1u64 << items.len()) - 1 {
                let part = |wanted: u64| -> Set {
                    (0..items.len()).filter(|bit| mask >> bit & 1 == wanted).map(|bit| items[bit]).collect()
                };
                let (from, to) = (part(0), part(1));
                let (from_count, to_count) = (itemsets[&from], itemsets[&to]);
                let short = terms.consequents == Consequents::Any || to.len() == 1;
                if short && terms.min_confidence.reached(count.into(), from_count.into()) {
                    rules.insert((from, to), [self.params.rows as u32, count, from_count, to_count]);
                }
            }
        }
        if terms.mixed_only {
            let in_rules: BTreeSet<&Set> = rules.keys().flat_map(|(from, to)| [from, to]).collect();
            itemsets.retain(|set, _| self.mixed(set) || in_rules.contains(set));
        }
        Found { itemsets, rules }
    }

    pub(super) fn check(&self) {
        assert_eq!(self.run().unwrap().0, self.expected());
    }
}

/// Random baskets in which some items come together.
fn cases() -> impl Strategy<Value = Case> {
    let rows = prop::collection::vec(prop::collection::btree_set(0usize..8, 0..8), 0..40);
    let term = (prop::sample::select(vec!["0", "0.3", "0.5", "0.75", "1"]), any::<bool>(), any::<bool>());
    let rest = (1usize..10, any::<bool>(), prop::option::of(1usize..5), term, prop::option::of(0usize..40));
    (rows, prop::collection::vec(any::<bool>(), 8), rest).prop_map(|(rows, firsts, rest)| {
        let (minimum, counts, max_len, (min_confidence, single, mixed_only), hidden) = rest;
        let consequents = if single { Consequents::Single } else { Consequents::Any };
        let reveal = if counts { RevealedCounts::Counts } else { RevealedCounts::Frequent };
        let common = hidden.map_or(rows.len(), |common| common.min(rows.len()));
        let mut params = params(common, minimum, reveal, terms(min_confidence, consequents, mixed_only));
        params.max_len = max_len.unwrap_or(usize::MAX);
        params.hidden = hidden.map(|_| rows.len());
        Case { rows, parties: 2, owners: of_two(firsts), params, dealt: true }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn both_find_what_plain_apriori_finds(case in cases()) {
        case.check();
    }
}

#[test]
fn over_real_comparisons() {
    let rows: Vec<Set> = (0..60usize).map(|row| (0..10).filter(|item| row * (item + 3) % 7 < 4).collect()).collect();
    for mixed_only in [false, true] {
        for reveal in [RevealedCounts::Frequent, RevealedCounts::Counts] {
            let terms = terms("0.6", Consequents::Any, mixed_only);
            let case = Case {
                params: Params { max_len: 4, ..params(rows.len(), 15, reveal, terms) },
                rows: rows.clone(),
                parties: 2,
                owners: of_two((0..10).map(|item| item % 3 == 0)),
                dealt: false,
            };
            assert!(case.expected().rules.len() > 20);
            case.check();
        }
    }
}

/// Rows of one party alone change nothing, whoever has them; and real comparisons have room for all thresholds.
#[test]
fn hidden_rows_over_real_comparisons() {
    let rows: Vec<Set> = (0..90usize).map(|row| (0..10).filter(|item| row * (item + 3) % 7 < 4).collect()).collect();
    for (mixed_only, consequents) in [(false, Consequents::Any), (true, Consequents::Any), (true, Consequents::Single)]
    {
        for min_confidence in ["0", "0.6", "0.9", "1"] {
            let terms = terms(min_confidence, consequents, mixed_only);
            let plain = params(60, 15, RevealedCounts::Frequent, terms);
            let case = Case {
                params: Params { max_len: 4, hidden: Some(rows.len()), ..plain },
                rows: rows.clone(),
                parties: 2,
                owners: of_two((0..10).map(|item| item % 3 == 0)),
                dealt: false,
            };
            case.check();
            let shown = Case { params: Params { hidden: None, ..case.params }, rows: rows[..60].to_vec(), ..case };
            shown.check();
        }
    }
}

/// Checks the edges: nobody has anything, one party has nothing, nothing is frequent, everything is.
#[test]
fn edges() {
    let full: Vec<Set> = vec![(0..5).collect(); 9];
    let terms = terms("0.5", Consequents::Any, false);
    for (rows, firsts, minimum) in [
        (vec![], vec![], 1),
        (vec![Set::new(); 3], vec![true, false], 1),
        (full.clone(), vec![true; 5], 3),
        (full.clone(), vec![false; 5], 3),
        (full.clone(), vec![true, false, true, false, false], 10),
        (full.clone(), vec![true, false, true, false, false], 9),
        (vec![Set::from([0, 1])], vec![true, false], 1),
    ] {
        for reveal in [RevealedCounts::Frequent, RevealedCounts::Counts] {
            let (rows, owners) = (rows.clone(), of_two(firsts.clone()));
            for mixed_only in [false, true] {
                let terms = RuleThresholds { mixed_only, ..terms };
                let params = params(rows.len(), minimum, reveal, terms);
                Case { params, rows: rows.clone(), parties: 2, owners: owners.clone(), dealt: false }.check();
                let hidden = Params { rows: rows.len() / 2, hidden: Some(rows.len()), ..params };
                Case { params: hidden, rows: rows.clone(), parties: 2, owners: owners.clone(), dealt: false }.check();
            }
        }
    }
}

#[test]
fn explosions_end_with_what_to_change() {
    let rows: Vec<Set> = vec![(0..20).collect(); 5];
    let owners = of_two((0..20).map(|item| item < 10));
    let case = |max_candidates, mixed_only| {
        let terms = terms("0.5", Consequents::Single, mixed_only);
        let params = Params { max_candidates, ..params(5, 5, RevealedCounts::Frequent, terms) };
        Case { params, rows: rows.clone(), parties: 2, owners: owners.clone(), dealt: true }
    };
    let text = |max_candidates, mixed_only| match case(max_candidates, mixed_only).run() {
        Err(Error::Input(text)) => text,
        other => panic!("{other:?}"),
    };
    for mixed_only in [false, true] {
        let text = text(9, mixed_only);
        assert!(text.starts_with("10 own items are frequent, and max_candidates is 9") && !text.contains("max_len"));
    }
    assert!(text(44, false).starts_with("45 or more one-party candidates of 2 items"));
    assert!(text(99, false).starts_with("100 mixed candidates of 2 items"));
    assert!(text(99, true).starts_with("100 mixed candidates of 2 items"));
    // 2 * 45 * 10 of three items.
    assert!(text(899, true).starts_with("900 or more mixed candidates of 3 items"));
    for part in ["min_support", "max_len", "max_candidates"] {
        assert!(text(899, false).contains(part));
    }
}

/// The party that has no more items than allowed hears as well why the run ends.
#[test]
fn too_many_items_of_one_party_end_the_run_at_both() {
    let rules = terms("0.5", Consequents::Single, false);
    let case = Case {
        rows: vec![(0..12).collect(); 5],
        parties: 2,
        owners: of_two((0..12).map(|item| item < 10)),
        params: Params { max_candidates: 9, ..params(5, 5, RevealedCounts::Frequent, rules) },
        dealt: true,
    };
    let (one, other) =
        two::run(&|channel| case.role(Side::First, channel), &|channel| case.role(Side::Second, channel));
    let input = |ended: Result<_>| match ended {
        Err(Error::Input(text)) => text,
        _ => panic!("it goes on"),
    };
    assert!(input(one.map(drop)).starts_with("10 own items are frequent"));
    assert!(input(other.map(drop)).starts_with("more than 9 items of first are frequent"));
}

/// Checks that both parties end alike, before there are more rules than allowed; one less is fine.
#[test]
fn too_many_rules_end_the_run_at_both() {
    let rows: Vec<Set> = (0..24usize).map(|row| (0..9).filter(|item| row % (item + 8) > 0).collect()).collect();
    for (consequents, mixed_only) in
        [(Consequents::Single, false), (Consequents::Any, false), (Consequents::Single, true), (Consequents::Any, true)]
    {
        for firsts in [4, 1, 8] {
            let rules = terms("0.6", consequents, mixed_only);
            let mut case = Case {
                params: params(rows.len(), 12, RevealedCounts::Frequent, rules),
                rows: rows.clone(),
                parties: 2,
                owners: of_two((0..9).map(|item| item < firsts)),
                dealt: true,
            };
            let expected = case.expected();
            assert!(expected.rules.len() > 100, "{}", expected.rules.len());
            case.params.max_rules = expected.rules.len();
            case.check();
            // So few that both, or only one of them, can tell before the last supports are told.
            for limit in [expected.rules.len() - 1, expected.rules.len() / 2, 1] {
                case.params.max_rules = limit;
                let (one, other) =
                    two::run(&|channel| case.role(Side::First, channel), &|channel| case.role(Side::Second, channel));
                for ended in [one.map(drop), other.map(drop)] {
                    let Err(Error::Input(text)) = ended else { panic!("{ended:?}") };
                    assert!(text.starts_with(&format!("more than {limit} rules, and max_rules is {limit}:")), "{text}");
                    assert_eq!(text.contains("consequents"), consequents == Consequents::Any);
                }
            }
        }
    }
}

/// Seventeen items in every basket: 131,071 itemsets, and 129 million rules.
#[test]
fn an_explosion_of_rules_takes_little_time() {
    let case = Case {
        rows: vec![(0..17).collect(); 2],
        parties: 2,
        owners: of_two((0..17).map(|item| item < 16)),
        params: Params {
            max_candidates: 1 << 20,
            max_rules: 100_000,
            ..params(2, 2, RevealedCounts::Frequent, terms("0.5", Consequents::Any, false))
        },
        dealt: true,
    };
    let started = std::time::Instant::now();
    let Err(Error::Input(text)) = case.run() else { panic!("it goes on") };
    assert!(text.starts_with("more than 100000 rules"), "{text}");
    assert!(started.elapsed().as_secs() < 20, "{:?}", started.elapsed());
}

#[test]
fn values_that_cannot_work_are_refused() {
    let good = params(1, 1, RevealedCounts::Frequent, terms("0", Consequents::Any, false));
    for bad in [Params { minimum: 0, ..good }, Params { max_len: 0, ..good }] {
        let case = Case { rows: vec![Set::from([0])], parties: 2, owners: vec![0], params: bad, dealt: true };
        assert!(matches!(case.run(), Err(Error::Input(_))));
    }
}

/// The two parties' views of real baskets, with published numbers.
#[test]
fn groceries() {
    let root = std::env::var_os("TACITA_DATA").map(|root| PathBuf::from(root).join("association_rules"));
    let Some(data) = root.filter(|path| path.is_dir()) else {
        println!("skipped: TACITA_DATA does not lead to association_rules");
        return;
    };
    let read = |name: &str| std::fs::read_to_string(data.join(name)).unwrap();
    let mut names: Vec<(String, bool)> = Vec::new();
    let mut baskets: Vec<Set> = Vec::new();
    for (file, is_first) in [("vertical/groceries.2party_A.csv", true), ("vertical/groceries.2party_B.csv", false)] {
        for (row, line) in read(file).lines().skip(1).enumerate() {
            let (tid, items) = line.split_once(',').unwrap();
            assert_eq!(tid, (row + 1).to_string());
            baskets.resize(baskets.len().max(row + 1), Set::new());
            for item in items.trim_matches('"').split('|').filter(|item| !item.is_empty()) {
                let number = names.iter().position(|name| name.0 == item).unwrap_or(names.len());
                if number == names.len() {
                    names.push((item.to_owned(), is_first));
                }
                assert_eq!(names[number].1, is_first);
                baskets[row].insert(number);
            }
        }
    }
    assert_eq!((baskets.len(), names.len()), (9835, 169));
    let number = |name: &str| names.iter().position(|known| known.0 == name).unwrap();
    let set = |joined: &str| -> Set { joined.split('|').map(number).collect() };
    let owners = of_two(names.iter().map(|name| name.1));

    for (support, confidence, reveal) in [
        ("0.01", "0.5", RevealedCounts::Frequent),
        ("0.006", "0.25", RevealedCounts::Frequent),
        ("1%", "50%", RevealedCounts::Counts),
    ] {
        let minimum = support.parse::<Support>().unwrap().minimum(9835) as usize;
        let file = if support == "0.006" { "truth/groceries.s0.006" } else { "truth/groceries.s0.01" };
        let itemsets: BTreeMap<Set, u32> = read(&format!("{file}.itemsets.csv"))
            .lines()
            .skip(1)
            .map(|line| line.split(',').collect::<Vec<_>>())
            .map(|fields| (set(fields[0]), fields[2].parse().unwrap()))
            .collect();
        let rules: BTreeMap<(Set, Set), [u32; 4]> = read(&format!("{file}.rules.csv"))
            .lines()
            .skip(1)
            .map(|line| line.split(',').collect::<Vec<_>>())
            .map(|fields| {
                let number = |field: usize| fields[field].parse().unwrap();
                ((set(fields[0]), set(fields[1])), [9835, number(2), number(3), number(4)])
            })
            .collect();
        assert_eq!(itemsets.len(), if support == "0.006" { 747 } else { 333 });
        assert_eq!(rules.len(), if support == "0.006" { 463 } else { 15 });
        let terms = terms(confidence, Consequents::Single, false);
        let params = params(9835, minimum, reveal, terms);
        let case = Case { rows: baskets.clone(), parties: 2, owners: owners.clone(), params, dealt: false };
        let (found, asked) = case.run().unwrap();
        println!("{support}: {asked:?} products");
        assert_eq!(found, Found { itemsets, rules });

        let terms = RuleThresholds { mixed_only: true, ..terms };
        let case = Case { params: Params { rules: terms, ..case.params }, ..case };
        let (mixed, asked_mixed) = case.run().unwrap();
        println!("{support}, mixed only: {asked_mixed:?} products");
        let mut expected = found;
        expected.rules.retain(|(from, to), _| case.mixed(&(from | to)));
        let in_rules: BTreeSet<&Set> = expected.rules.keys().flat_map(|(from, to)| [from, to]).collect();
        expected.itemsets.retain(|set, _| case.mixed(set) || in_rules.contains(set));
        assert_eq!(mixed, expected);
    }
}
