//! Real baskets, their columns dealt to several parties at random, with published numbers of itemsets and rules.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use rand_core::Rng;
use tacita_core::protocol::rules::RevealedCounts;
use tacita_core::protocol::rules::association::Consequents;
use tacita_core::protocol::rules::support::Support;

use super::super::results::{Case, Found, Set, params, terms};
use crate::support::rng;

/// A public table of baskets, and what is known of it.
struct Data {
    file: &'static str,
    separator: char,
    truth: &'static str,
    support: &'static str,
    confidence: &'static str,
    /// Numbers of rows, itemsets and rules.
    sizes: [usize; 3],
}

/// Finds what is known, with the columns dealt to so many parties.
fn check(data: &Data, parties: &[usize]) {
    let root = std::env::var_os("TACITA_DATA").map(|root| PathBuf::from(root).join("association_rules"));
    let Some(root) = root.filter(|path| path.is_dir()) else {
        println!("skipped: TACITA_DATA does not lead to association_rules");
        return;
    };
    let read = |name: &str| std::fs::read_to_string(root.join(name)).unwrap();
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut number = |item: &str| {
        let next = numbers.len();
        *numbers.entry(item.trim().to_owned()).or_insert(next)
    };
    let items = |line: &str| {
        line.split(data.separator).map(str::trim).filter(|item| !item.is_empty()).map(str::to_owned).collect::<Vec<_>>()
    };
    let rows: Vec<Set> =
        read(data.file).lines().map(|line| items(line).iter().map(|item| number(item)).collect()).collect();
    let known =
        |number: &HashMap<String, usize>, joined: &str| -> Set { joined.split('|').map(|item| number[item]).collect() };
    let lines = |name: &str| -> Vec<Vec<String>> {
        let file = read(&format!("truth/{}.{name}.csv", data.truth));
        file.lines().skip(1).map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let itemsets: BTreeMap<Set, u32> =
        lines("itemsets").iter().map(|fields| (known(&numbers, &fields[0]), fields[2].parse().unwrap())).collect();
    let count = rows.len();
    let rules: BTreeMap<(Set, Set), [u32; 4]> = lines("rules")
        .iter()
        .map(|fields| {
            let counts = [2, 3, 4].map(|field: usize| fields[field].parse::<u32>().unwrap());
            let sides = (known(&numbers, &fields[0]), known(&numbers, &fields[1]));
            (sides, [count as u32, counts[0], counts[1], counts[2]])
        })
        .collect();
    assert_eq!([count, itemsets.len(), rules.len()], data.sizes);
    let minimum = data.support.parse::<Support>().unwrap().minimum(count as u64) as usize;
    let params = params(count, minimum, RevealedCounts::Frequent, terms(data.confidence, Consequents::Single, false));
    let expected = Found { itemsets, rules };
    for &parties in parties {
        let mut rng = rng(parties as u8);
        let owners: Vec<usize> = (0..numbers.len()).map(|_| rng.next_u32() as usize % parties).collect();
        let case = Case { rows: rows.clone(), parties, owners, params, dealt: false };
        assert!(case.run().unwrap().0 == expected, "{} among {parties}", data.truth);
    }
}

fn groceries(support: &'static str) -> Data {
    let known = support == "0.006";
    Data {
        file: "groceries.csv",
        separator: ',',
        truth: if known { "groceries.s0.006" } else { "groceries.s0.01" },
        support,
        confidence: if known { "0.25" } else { "0.5" },
        sizes: if known { [9835, 747, 463] } else { [9835, 333, 15] },
    }
}

#[test]
fn groceries_of_three() {
    check(&groceries("0.01"), &[3]);
}

#[test]
#[ignore = "takes a minute: four and seven parties"]
fn groceries_of_four_and_seven() {
    check(&groceries("0.01"), &[4, 7]);
    check(&groceries("0.006"), &[3, 4, 7]);
}

#[test]
#[ignore = "takes a minute: three, four and seven parties"]
fn mushrooms_of_three_four_and_seven() {
    let mushroom = Data {
        file: "mushroom.dat",
        separator: ' ',
        truth: "mushroom.s0.4",
        support: "0.4",
        confidence: "0.9",
        sizes: [8124, 565, 1137],
    };
    check(&mushroom, &[3, 4, 7]);
}
