//! Association rules among three and more parties by whole processes: against rules that were computed without the
//! program; and who is named when one of them fails.

use super::{Group, NAMES, SOON, agreeable};
use crate::common::dot::noise;
use crate::common::{Ended, Home, Running, examples, files, json, rows_of, tacita, text};
use rustix::process::Signal;
use serde_json::{Value, json};
use tacita_core::channel::Label;
use tacita_node::agreement::{Sizes, mesh};

/// A job of these parties.
fn job(terms: &str, names: &[&str]) -> String {
    let parties: String = names.iter().map(|name| format!("[parties.{name}]\n")).collect();
    let learn = if terms.contains("reveal_to") { String::new() } else { format!("reveal_to = {names:?}\n") };
    format!("job = \"rules\"\nid = \"test\"\n{learn}{terms}\n{parties}")
}

/// Runs a job on these files of its parties.
fn run(home: &Home, job: &str, inputs: &[(&str, String)], more: &[&str]) -> Ended {
    let (job, report, out) = (home.file("job.toml", job), home.at("report.json"), home.at("out"));
    let inputs: Vec<_> = inputs.iter().map(|(name, path)| format!("{name}={path}")).collect();
    let mut arguments = vec!["simulate", &job, "--report", &report, "--force", "--output", &out];
    arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
    arguments.extend(more);
    tacita(&arguments)
}

fn tables(home: &Home, names: &[&'static str], of: impl Fn(&str) -> String) -> Vec<(&'static str, String)> {
    names.iter().map(|name| (*name, home.file(&format!("{name}.csv"), &of(name)))).collect()
}

#[test]
fn the_example_has_the_rules_of_all_three_tables() {
    let (home, tables) = (Home::new(), examples().join("rules"));
    let names = ["shop", "card", "delivery"];
    let inputs = names.map(|name| (name, tables.join(format!("{name}.csv")).display().to_string()));
    let page = home.at("rules.html");
    let ended = run(&home, &text(tables.join("three.toml")), &inputs, &["--html", &page]).well();
    assert_eq!(ended.stdout, "itemsets 76, rules 20\n");
    let expected = tables.join("expected").join("three");
    for name in names {
        for ending in ["csv", "itemsets.csv"] {
            let found = text(home.at(&format!("out/{name}.{ending}")));
            assert_eq!(found, text(expected.join(format!("shop.{ending}"))), "{name}.{ending}");
        }
    }
    let report = json(home.at("report.json"));
    for name in names {
        let party = &report["parties"][name];
        assert_eq!(party["result"], json!({ "itemsets": 76, "rules": 20 }));
        let levels = party["levels"].as_array().unwrap();
        assert!(levels.len() >= 3 && levels.iter().all(|level| level["protocol"] == "ot"), "{levels:?}");
        let sent: u64 = levels.iter().map(|level| level["sent"].as_u64().unwrap()).sum();
        assert!(sent > 0 && sent < party["bytes"]["sent"].as_u64().unwrap());
    }
    let html = text(page);
    assert!(names.iter().all(|name| html.contains(&format!("<bdi>{name}</bdi>"))) && html.contains("mark p2"));
}

/// Items of one name are told apart; parties without a frequent item take part.
#[test]
fn items_are_named_by_their_party_where_names_clash() {
    let home = Home::new();
    let inputs = tables(&home, &["a", "b", "c", "d"], |name| match name {
        "a" | "c" => "items\ntea|milk\ntea|milk\n\"\"\n".into(),
        "b" => "items\ncup\ncup\ncup\n".into(),
        _ => "items\nrare\n\"\"\n\"\"\n".into(),
    });
    run(&home, &job("min_support = 2\nmixed_only = false", &["a", "b", "c", "d"]), &inputs, &[]).well();
    let itemsets = rows_of(home.at("out/d.itemsets.csv"));
    let items: Vec<&str> = itemsets.iter().map(|row| row["items"].as_str()).collect();
    assert_eq!(items[0], "cup");
    assert!(items.contains(&"a.milk|a.tea|c.milk|c.tea|cup"), "{items:?}");
    assert_eq!(items.len(), 31);
    run(&home, &job("min_support = 2\nmixed_only = true\nmax_len = 3", &["a", "b", "c", "d"]), &inputs, &[]).well();
    assert!(rows_of(home.at("out/a.itemsets.csv")).iter().any(|row| row["items"] == "a.tea|c.tea|cup"));
}

/// Rows by ids: those that all have, whatever their order.
#[test]
fn rows_by_ids_are_those_that_all_have() {
    for ranges in [[0..60, 20..90, 10..70], [0..5, 5..9, 0..9], [0..0, 0..5, 0..5], [3..4, 3..4, 0..9]] {
        let home = Home::new();
        let has = |party: usize, id: usize| !(id * (party + 3) / 2).is_multiple_of(3);
        let inputs = tables(&home, &NAMES, |name| {
            let party = NAMES.iter().position(|known| *known == name).unwrap();
            let mut ids: Vec<usize> = ranges[party].clone().collect();
            if party == 1 {
                ids.reverse();
            }
            let line = |id: &usize| format!("id {id},{}\n", if has(party, *id) { name } else { "" });
            format!("id,items\n{}", ids.iter().map(line).collect::<String>())
        });
        run(&home, &job("row_id = \"id\"\nmin_support = 1", &NAMES), &inputs, &[]).well();
        let common: Vec<usize> = (0..100).filter(|id| ranges.iter().all(|range| range.contains(id))).collect();
        let expected = common.iter().filter(|id| (0..3).all(|party| has(party, **id))).count();
        let found = rows_of(home.at("out/c.itemsets.csv"));
        let all = found.iter().find(|row| row["items"] == "a|b|c").map_or(0, |row| row["count"].parse().unwrap());
        assert_eq!(all, expected, "{ranges:?}");
        let report = json(home.at("report.json"));
        assert_eq!(report["parties"]["b"]["rows"]["common"], common.len());
        assert!(
            report["parties"]["a"]["learned"].to_string().contains("which of its own rows have an id that b and c")
        );
    }
}

/// Whoever is out of `reveal_to` gets nothing, and is told what it sees.
#[test]
fn some_learn() {
    let home = Home::new();
    let inputs = tables(&home, &NAMES, |name| format!("items\n{name}1|{name}2\n{name}1\n{name}1\n"));
    let ended = run(&home, &job("min_support = 2\nreveal_to = [\"b\", \"c\"]", &NAMES), &inputs, &[]).well();
    assert_eq!(ended.stdout, "itemsets 7, rules 9\n");
    assert_eq!(files(&home.at("out")), ["b.csv", "b.itemsets.csv", "c.csv", "c.itemsets.csv"]);
    assert_eq!(text(home.at("out/b.itemsets.csv")), text(home.at("out/c.itemsets.csv")));
    let report = json(home.at("report.json"));
    assert_eq!(report["parties"]["a"]["result"], Value::Null);
    let learned = |name: &str| report["parties"][name]["learned"].to_string();
    assert!(
        learned("a").contains("a does not learn in how many rows")
            && learned("a").contains("by numbers in place of names")
    );
    assert!(learned("b").contains("in or out of reveal_to") && learned("b").contains("The rules follow from them"));
}

#[test]
fn a_plan_counts_the_bytes_that_travel_if_nothing_is_frequent() {
    plans_count_the_bytes(&[
        "row_id = \"id\"\nmin_support = 250",
        "min_support = 250\nreveal = \"counts\"",
        "min_support = 250\nreveal_to = [\"b\"]",
    ]);
}

#[test]
#[ignore = "slow: more plans, each of which measures"]
fn more_plans_count_the_bytes_that_travel_if_nothing_is_frequent() {
    plans_count_the_bytes(&["min_support = 250", "min_support = 250\nmixed_only = true"]);
}

fn plans_count_the_bytes(jobs: &[&str]) {
    for terms in jobs {
        let home = Home::new();
        let lines: String = (0..300).map(|row| format!("id {row},item {}\n", row % 7)).collect();
        let inputs = tables(&home, &NAMES, |_| format!("id,items\n{lines}"));
        run(&home, &job(terms, &NAMES), &inputs, &[]).well();
        let report = json(home.at("report.json"));
        let rows = ["--rows", "a=300", "--rows", "b=300", "--rows", "c=300"];
        let planned = tacita(&[&["plan", &home.at("job.toml"), "--json"][..], &rows].concat()).well();
        let plan: Value = serde_json::from_str(&planned.stdout).unwrap();
        for name in NAMES {
            assert_eq!(
                plan["parties"][name]["bytes_sent"], report["parties"][name]["bytes"]["sent"],
                "{name}: {terms}"
            );
        }
        let compares = planned.stdout.contains("To compare the counts of 1,000 candidates");
        assert_eq!(compares, !terms.contains("counts"), "{}", planned.stdout);
    }
}

#[test]
fn limits_end_the_run_at_all() {
    let home = Home::new();
    let inputs = tables(&home, &NAMES, |name| {
        format!("id,items\n1,{name}1|{name}2\n2,{name}1|{name}2\n{name},{name}1|{name}2\n")
    });
    for (terms, code, words) in [
        ("max_candidates = 3", 2, &["mixed candidates of 2 items", "max_candidates is 3"][..]),
        ("max_rules = 2\nmin_confidence = 0.1", 2, &["max_rules is 2"]),
        ("row_id = \"id\"\n[limits]\nmin_rows = 3", 2, &["all parties have 2 rows in common", "nothing was counted"]),
    ] {
        run(&home, &job(&format!("min_support = 1\n{terms}"), &NAMES), &inputs, &[]).failed(code, words);
    }
}

#[test]
fn there_is_one_line_about_what_several_cannot_do() {
    let home = Home::new();
    let inputs = tables(&home, &NAMES, |_| "id,items\n1,x\n2,y\n".into());
    for (terms, words) in [
        ("protocol = \"lattice\"", &["lattice", "among 3 parties", "\"ot\""][..]),
        ("protocol = \"gm-bloom\"\nreveal = \"counts\"", &["gm-bloom", "among 3 parties"]),
        ("row_id = \"id\"\nalignment = \"hidden\"", &["hidden", "among 3 parties"]),
        ("extension = \"silent\"", &["silent", "softspoken-1"]),
        ("reveal_to = [\"a\", \"b\"]\nreveal = \"counts\"", &["reveal_to", "name all parties"]),
        ("reveal_to = [\"a\"]\nmixed_only = true", &["reveal_to", "mixed_only", "stand in rules"]),
        ("level = \"bits192\"", &["bits192"]),
        ("security = \"malicious\"", &["malicious"]),
    ] {
        run(&home, &job(&format!("min_support = 1\n{terms}"), &NAMES), &inputs, &[]).failed(2, words);
    }
    let rows = |name: &str| if name == "c" { "items\nx\n".into() } else { "items\nx\ny\n".to_owned() };
    let inputs = tables(&home, &NAMES, rows);
    run(&home, &job("min_support = 1", &NAMES), &inputs, &[]).failed(5, &["by position"]);
}

/// A group that mines these baskets.
fn group(terms: &str, rows: usize, items: u64) -> Group {
    let group = Group::new("reveal_to = [\"a\", \"b\"]");
    for (seed, name) in NAMES.iter().enumerate() {
        let own = text(group.home.at(&format!("{name}.toml")));
        let parties = own.split_once("[parties").unwrap().1;
        let fixed = format!("job = \"rules\"\nid = \"test\"\nreveal_to = {NAMES:?}\n{terms}");
        group.home.file(&format!("{name}.toml"), &format!("{fixed}\n[parties{parties}"));
        let mut bits = noise(seed as u64 + 5);
        let basket =
            |word: u64| (0..items).filter(move |item| word >> item & 1 == 1).map(|item| format!("{name}{item}"));
        let lines: Vec<_> = bits.by_ref().take(rows).map(|word| basket(word).collect::<Vec<_>>().join("|")).collect();
        group.home.file(&format!("{name}.csv"), &format!("items\n{}\n", lines.join("\n").replace("\n\n", "\n\"\"\n")));
    }
    group
}

#[test]
fn processes_mine_together_in_any_order_of_starting() {
    for order in [[0, 1, 2], [2, 1, 0]] {
        let group = group("min_support = 0.2", 50, 3);
        let running: Vec<Running> = order.map(|place| group.start(NAMES[place], &[])).into();
        running.into_iter().for_each(|party| drop(party.end().well()));
        let results = NAMES.map(|name| json(group.home.at(&format!("{name}.out/report.json")))["result"].clone());
        assert!(results[0]["itemsets"].as_u64().unwrap() > 9, "{results:?}");
        assert!(results.iter().all(|result| *result == results[0]), "{results:?}");
        assert_eq!(files(&group.home.at("a.out")), ["report.json", "rows.csv", "rows.itemsets.csv"]);
    }
}

#[test]
fn whoever_is_killed_or_stopped_is_named_by_all_others() {
    named_by_all_others([("a", Signal::STOP), ("c", Signal::KILL)]);
}

#[test]
#[ignore = "slow: one more party"]
fn a_third_that_is_killed_is_named_by_all_others() {
    named_by_all_others([("b", Signal::KILL)]);
}

fn named_by_all_others<const CASES: usize>(victims: [(&str, Signal); CASES]) {
    for (victim, signal) in victims {
        let group = group("min_support = 0.05", 100_000, 40);
        let mut running: Vec<_> = NAMES.iter().map(|name| group.start(name, &["--threads", "1"])).collect();
        running.iter_mut().for_each(|party| party.until_it_says("agreed with all"));
        let place = NAMES.iter().position(|name| *name == victim).unwrap();
        let stopped = running.remove(place);
        stopped.signal(signal);
        for party in running {
            let line = party.end_within(SOON).failed(3, &[victim]);
            assert!(line.starts_with(&format!("error: {victim}")), "{line}");
        }
        stopped.signal(Signal::KILL);
        stopped.end();
        group.wrote_nothing();
    }
}

/// Sends a message that is not due after the handshake, to one of the two.
#[test]
fn who_breaks_the_protocol_is_named_by_those_who_did_not_see_it() {
    let group = group("min_support = 0.2", 50, 3);
    let running: Vec<_> = ["a", "b"].iter().map(|name| group.start(name, &[])).collect();
    let (spec, mut channels, greeted) = agreeable(&group);
    let own = Sizes { items: 50, ..Sizes::default() };
    mesh::agree(&spec, "c", &own, greeted, &mut channels, |_, _| Ok(()), |_| unreachable!("a chooses")).unwrap();
    channels[1].send(Label::new(0x7f, "nonsense"), vec![0; 100]).unwrap();
    let [a, b] = running.into_iter().map(|party| party.end_within(SOON)).collect::<Vec<_>>().try_into().unwrap();
    b.failed(4, &["c broke the protocol", "message 127 came"]);
    a.failed(4, &["c broke the protocol, as b says"]);
    group.wrote_nothing();
}
