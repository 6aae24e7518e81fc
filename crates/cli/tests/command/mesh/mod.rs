//! Intersections among three and more parties, by whole processes: against results that were computed without the
//! program; in every order of starting; and who is named when one of them fails.

mod crosstab;
mod disk;
mod dot;
mod lines;
mod multisets;
mod polynomial;
mod relayed;
mod rules;

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::common::{Ended, Home, Running, data, files, free_port, json, rows_of, tacita, text};
use rustix::process::Signal;
use tacita_core::channel::{Channel, Label};
use tacita_node::agreement::handshake::{Greeted, fresh_nonce, greet_as};
use tacita_node::agreement::{JobSpec, Sizes, mesh};
use tacita_node::base::random::fresh_rng;
use tacita_node::identity::Identity;
use tacita_node::run::connect::company;
use tacita_node::transport::{self, Options, Peer};

/// `a` learns first and works the result out; `b` and `c` talk to each other besides.
const NAMES: [&str; 3] = ["a", "b", "c"];

/// Columns that fire department and insurer give in the join of the medical data.
const GIVEN: [&str; 2] = ["fire_department.n_injury_callouts", "insurer.payer"];

const ROWS: &str = "reveal_to = [\"a\", \"b\"]";
const JOIN: &str = "reveal = \"payload\"\nreveal_to = [\"a\", \"b\"]\ngives = { a = [\"v\"], c = [\"v\"] }";

/// Time limit for all parties to end when one of them fails.
const SOON: Duration = Duration::from_secs(25);

fn job(terms: &str, names: &[&str], more: impl Fn(&str) -> String) -> String {
    let parties: String = names.iter().map(|name| format!("[parties.{name}]\n{}", more(name))).collect();
    format!("job = \"intersect\"\nid = \"test\"\n{terms}\n[key]\ncolumns = [\"k\"]\n{parties}")
}

/// A table with these keys, some of them in two rows.
fn table(home: &Home, name: &str, keys: impl IntoIterator<Item = u32>) -> String {
    let row = |key: u32| {
        let second = if key.is_multiple_of(5) { format!("key {key},{name} again {key}\n") } else { String::new() };
        format!("key {key},{name} {key}\n{second}")
    };
    let rows: String = keys.into_iter().map(row).collect();
    home.file(&format!("{name}.csv"), &format!("k,v\n{rows}"))
}

/// The rows of a table whose keys all of the others have, in the order of their keys.
fn expected(home: &Home, names: &[&str], of: &str) -> Vec<String> {
    let lines =
        |name: &str| text(home.at(&format!("{name}.csv"))).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let key = |line: &String| line.split(',').next().unwrap().to_owned();
    let all: Vec<BTreeSet<String>> = names.iter().map(|name| lines(name).iter().map(key).collect()).collect();
    let mut rows: Vec<_> =
        lines(of).into_iter().filter(|line| all.iter().all(|keys| keys.contains(&key(line)))).collect();
    rows.sort_by_key(key);
    rows
}

fn simulate(home: &Home, job: &str, names: &[&str], more: &[&str]) -> Ended {
    let (job, report, out) = (home.file("job.toml", job), home.at("report.json"), home.at("out"));
    let inputs: Vec<_> = names.iter().map(|name| format!("{name}={}", home.at(&format!("{name}.csv")))).collect();
    let mut arguments = vec!["simulate", &job, "--report", &report, "--force", "--output", &out];
    arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
    arguments.extend(more);
    tacita(&arguments)
}

fn lines(path: impl AsRef<Path>) -> Vec<String> {
    text(path).lines().skip(1).map(str::to_owned).collect()
}

#[test]
fn rows_that_all_have_are_found_and_no_others() {
    // Sets that meet two by two in much more than all together; one of a single key; an empty one.
    let sets: [&[std::ops::Range<u32>]; 4] = [
        &[0..600, 300..900, 0..300, 200..700],
        &[0..900, 250..260, 0..900],
        &[0..50, 7..8, 0..2000],
        &[0..50, 0..0, 0..50],
    ];
    let two = &sets[2][..2];
    for (protocol, ranges) in
        [("auto", sets[0]), ("star", sets[1]), ("auto", sets[2]), ("auto", sets[3]), ("star", two)]
    {
        let home = Home::new();
        let names: Vec<_> = ["a", "b", "c", "d"].into_iter().take(ranges.len()).collect();
        for (name, range) in names.iter().zip(ranges) {
            table(&home, name, range.clone().filter(|key| *name != "c" || key % 3 != 1));
        }
        let learning = &names[1..names.len().min(3)];
        let terms = format!("protocol = \"{protocol}\"\nreveal_to = {learning:?}");
        simulate(&home, &job(&terms, &names, |_| String::new()), &names, &[]).well();
        for name in learning {
            assert_eq!(lines(home.at(&format!("out/{name}.csv"))), expected(&home, &names, name), "{name}");
        }
        let written: Vec<_> = learning.iter().map(|name| format!("{name}.csv")).collect();
        assert_eq!(files(&home.at("out")), written);
        let report = json(home.at("report.json"));
        assert_eq!(report["parties"]["b"]["result"]["rows"], expected(&home, &names, "b").len());
        assert_eq!(report["parties"]["a"]["result"], serde_json::Value::Null);
        for name in &names {
            let bytes = &report["parties"][name]["bytes"];
            let Some(by_peer) = bytes["by_peer"].as_object() else {
                assert_eq!(names.len(), 2);
                continue;
            };
            assert_eq!(by_peer.len(), names.len() - 1);
            let sum: u64 = by_peer.values().map(|peer| peer["sent"].as_u64().unwrap()).sum();
            assert_eq!(bytes["sent"], sum);
        }
    }
}

/// Three organisations that write names and dates in their own ways: rows, and columns of two of them at the third.
#[test]
fn medical_data_of_three_are_joined_exactly() {
    let Some(data) = data("medical") else { return };
    let names = ["hospital", "fire_department", "insurer"];
    let home = Home::new();
    let own = |name: &str| match name {
        "fire_department" => "normalize = [\"name\", \"date:DMY\"]\n".to_owned(),
        _ => String::new(),
    };
    let mut path = String::new();
    for (reveal, gives, learners) in [
        ("rows", "", "[\"hospital\", \"fire_department\", \"insurer\"]"),
        ("payload", "gives = { fire_department = [\"n_injury_callouts\"], insurer = [\"payer\"] }", "[\"hospital\"]"),
    ] {
        let terms = format!("reveal = \"{reveal}\"\nreveal_to = {learners}\n{gives}");
        let text = job(&terms, &names, own).replace("[\"k\"]", "[\"name\", \"dob\"]\nnormalize = [\"name\", \"date\"]");
        path = home.file("job.toml", &text);
        let out = home.at(reveal);
        let inputs = names.map(|name| format!("{name}={}", data.join(format!("synthea/{name}.csv")).display()));
        let fixed = [
            "simulate", &path, "--force", "--output", &out, "--input", &inputs[0], "--input", &inputs[1], "--input",
            &inputs[2],
        ];
        tacita(&fixed).well();
    }
    assert!(!path.is_empty());
    // The truth has a line for each person whom all know: in the order of the keys, as the rows are.
    let truth = rows_of(data.join("truth/synthea_joined.csv"));
    let joined = rows_of(home.at("payload/hospital.csv"));
    assert_eq!((truth.len(), joined.len()), (335, 335));
    let one = |row: &std::collections::BTreeMap<String, String>, names: [&str; 2]| names.map(|name| row[name].clone());
    let mut wanted: Vec<_> = truth.iter().map(|row| one(row, GIVEN)).collect();
    let mut found: Vec<_> = joined.iter().map(|row| one(row, GIVEN)).collect();
    wanted.sort();
    found.sort();
    assert_eq!(found, wanted);
    for name in names {
        assert_eq!(rows_of(home.at(&format!("rows/{name}.csv"))).len(), 335);
    }
}

#[test]
fn a_plan_counts_the_bytes_that_travel() {
    let home = Home::new();
    for (name, range) in NAMES.iter().zip([0..400, 100..500, 50..450]) {
        table(&home, name, range);
    }
    let path = home.file("job.toml", &job(ROWS, &NAMES, |_| String::new()));
    simulate(&home, &text(&path), &NAMES, &[]).well();
    let report = json(home.at("report.json"));
    let rows = ["--rows", "a=400", "--rows", "b=400", "--rows", "c=400"];
    let planned = tacita(&[&["plan", &path, "--json"][..], &rows].concat()).well();
    let plan: serde_json::Value = serde_json::from_str(&planned.stdout).unwrap();
    for name in NAMES {
        assert_eq!(plan["parties"][name]["bytes_sent"], report["parties"][name]["bytes"]["sent"], "{name}");
    }
}

/// Parties that run as processes of their own: as in `clients.rs`.
struct Group {
    home: Home,
}

impl Group {
    fn new(terms: &str) -> Group {
        let home = Home::new();
        let known = |name: &str| {
            let identity = tacita(&["identity", "new", &home.at(name)]).well().stdout;
            format!("address = \"127.0.0.1:{}\"\nidentity = \"{}\"\n", free_port(), identity.trim())
        };
        let text = job(terms, &NAMES, known);
        for name in NAMES {
            home.directory(&format!("{name}.out"));
            home.file(&format!("{name}.toml"), &text);
        }
        Group { home }
    }

    /// With tables of so many keys, of which two thirds are common.
    fn with_tables(terms: &str, keys: u32) -> Group {
        let group = Group::new(terms);
        for (name, start) in NAMES.iter().zip([0, keys / 3, keys / 6]) {
            table(&group.home, name, start..start + keys);
        }
        group
    }

    fn start(&self, name: &str, more: &[&str]) -> Running {
        let at = |suffix: &str| self.home.at(&format!("{name}{suffix}"));
        let (job, identity, input) = (at(".toml"), at(""), at(".csv"));
        let (output, report) = (at(".out/rows.csv"), at(".out/report.json"));
        let fixed = ["run", &job, "--as", name, "--identity", &identity, "--input", &input, "--report", &report];
        let results = if name == "c" { vec![] } else { vec!["--force", "--output", &output] };
        Running::start(&[&fixed[..], &results, more].concat())
    }

    /// Changes a party's own job file.
    fn edit(&self, name: &str, from: &str, to: &str) {
        let own = text(self.home.at(&format!("{name}.toml")));
        assert!(own.contains(from), "{own}");
        self.home.file(&format!("{name}.toml"), &own.replace(from, to));
    }

    /// Returns the address at which a party listens.
    fn address(&self, name: &str) -> String {
        let own = JobSpec::load(Path::new(&self.home.at("a.toml"))).unwrap();
        own.party(name).unwrap().address.clone().unwrap()
    }

    fn wrote_nothing(&self) {
        for name in NAMES {
            assert_eq!(files(&self.home.at(&format!("{name}.out"))), [""; 0], "{name}");
        }
    }
}

/// Any two start in either order, and each of the three is the first and the last.
#[test]
fn processes_find_each_other_in_any_order() {
    found_in_order(&[[0, 1, 2], [1, 2, 0], [2, 0, 1]]);
}

#[test]
#[ignore = "slow: the orders that are left"]
fn processes_find_each_other_in_every_other_order() {
    found_in_order(&[[0, 2, 1], [1, 0, 2], [2, 1, 0]]);
}

fn found_in_order(orders: &[[usize; 3]]) {
    for &order in orders {
        let group = Group::with_tables(JOIN, 60);
        let mut running: [Option<Running>; 3] = [None, None, None];
        for place in order {
            running[place] = Some(group.start(NAMES[place], &[]));
            std::thread::sleep(Duration::from_millis(250));
        }
        running.into_iter().flatten().for_each(|party| drop(party.end().well()));
        for name in ["a", "b"] {
            let rows = text(group.home.at(&format!("{name}.out/rows.csv")));
            let (head, rows) = rows.split_once('\n').unwrap();
            let own = expected(&group.home, &NAMES, name);
            assert_eq!(head, if name == "a" { "k,v,c.v" } else { "k,v,a.v,c.v" });
            // Every row of a key beside every one of the others' rows with it.
            let mut joined = Vec::new();
            for row in &own {
                let (key, value) = row.split_once(',').unwrap();
                let theirs = |other: &str| {
                    let rows = expected(&group.home, &NAMES, other).into_iter();
                    let own = rows.filter_map(|row| row.strip_prefix(&format!("{key},")).map(str::to_owned));
                    own.collect::<Vec<_>>()
                };
                let firsts = if name == "a" { vec![None] } else { theirs("a").into_iter().map(Some).collect() };
                for first in firsts {
                    for last in theirs("c") {
                        let all = [Some(key.to_owned()), Some(value.to_owned()), first.clone(), Some(last)];
                        joined.push(all.into_iter().flatten().collect::<Vec<_>>().join(","));
                    }
                }
            }
            assert!(joined.len() > 40);
            assert_eq!(rows.lines().collect::<Vec<_>>(), joined, "{name}, started {order:?}");
        }
        assert_eq!(files(&group.home.at("c.out")), ["report.json"]);
    }
}

#[test]
fn whoever_is_killed_or_stopped_is_named_by_all_others() {
    named_by_all_others([("a", Signal::KILL), ("b", Signal::STOP)]);
}

#[test]
#[ignore = "slow: one more party"]
fn a_third_that_is_killed_is_named_by_all_others() {
    named_by_all_others([("c", Signal::KILL)]);
}

fn named_by_all_others<const CASES: usize>(victims: [(&str, Signal); CASES]) {
    for (victim, signal) in victims {
        let group = Group::with_tables(ROWS, 400_000);
        let mut running: Vec<_> = NAMES.iter().map(|name| group.start(name, &["--threads", "1"])).collect();
        running.iter_mut().for_each(|party| party.until_it_says("agreed with all"));
        let place = NAMES.iter().position(|name| *name == victim).unwrap();
        let (began, stopped) = (Instant::now(), running.remove(place));
        stopped.signal(signal);
        for party in running {
            let line = party.end_within(SOON).failed(3, &[victim]);
            assert!(line.starts_with(&format!("error: {victim}")), "{line}");
            assert!(began.elapsed() < SOON);
        }
        stopped.signal(Signal::KILL);
        stopped.end();
        group.wrote_nothing();
    }
}

#[test]
fn a_party_with_another_job_file_is_named_by_all_others() {
    let group = Group::with_tables(ROWS, 10);
    group.edit("c", "id = \"test\"", "id = \"tests\"");
    let running: Vec<_> = NAMES.iter().map(|name| group.start(name, &[])).collect();
    let ended: Vec<_> = running.into_iter().map(Running::end).collect();
    for (name, ended) in NAMES.iter().zip(&ended) {
        let line = ended.failed(5, &["terms"]);
        assert!(*name == "c" || line.contains("c"), "{name}: {line}");
    }
    group.wrote_nothing();
}

/// `c` as a program of its own, which is who it should be and agrees to the terms: its channels to a and b, with what
/// came of that.
fn agreeable(group: &Group) -> (JobSpec, Vec<Channel>, Vec<Greeted>) {
    let spec = JobSpec::load(Path::new(&group.home.at("c.toml"))).unwrap();
    let identity = Identity::load(Path::new(&group.home.at("c"))).unwrap();
    let nonce = fresh_nonce(&mut fresh_rng().unwrap());
    let meet = |name: &str| {
        let peer = Peer { name: name.into(), pin: spec.party(name).unwrap().identity.unwrap() };
        let mut met = transport::dial(&group.address(name), &peer, &identity, &Options::default()).unwrap();
        company(&spec, "c", &mut met.channel);
        let greeted = greet_as(&spec, "c", nonce, &met.exporter, &mut met.channel).unwrap();
        (met.channel, greeted)
    };
    let (channels, greeted) = ["a", "b"].into_iter().map(meet).unzip();
    (spec, channels, greeted)
}

/// Sends a message that is not due to a party that does not compute the result.
#[test]
fn who_breaks_the_protocol_is_named_by_those_who_did_not_see_it() {
    let group = Group::with_tables(ROWS, 10);
    let running: Vec<_> = ["a", "b"].iter().map(|name| group.start(name, &[])).collect();
    let (_, mut channels, _) = agreeable(&group);
    channels[1].send(Label::new(0x7f, "nonsense"), vec![0; 100]).unwrap();
    let [a, b] = running.into_iter().map(|party| party.end_within(SOON)).collect::<Vec<_>>().try_into().unwrap();
    b.failed(4, &["c broke the protocol", "message 127 came where `sizes`"]);
    a.failed(4, &["c broke the protocol, as b says"]);
    group.wrote_nothing();
}

/// Claims more keys than there is memory for.
#[test]
fn a_claim_of_any_size_takes_no_memory() {
    let group = Group::with_tables(ROWS, 10);
    let running: Vec<_> = ["a", "b"].iter().map(|name| group.start(name, &["--memory", "1GiB"])).collect();
    let (spec, mut channels, greeted) = agreeable(&group);
    let own = Sizes { items: 4_000_000_000, ..Sizes::default() };
    let choose = |_: &_| unreachable!("a chooses");
    mesh::agree(&spec, "c", &own, greeted, &mut channels, |_, _| Ok(()), choose).unwrap();
    // Who sees it first tells the other.
    let lines: Vec<_> = running.into_iter().map(|party| party.end_within(SOON).failed(5, &[])).collect();
    let why = |line: &String| line.contains("c brings 4,000,000,000 keys") && line.contains("--memory allows");
    assert!(lines.iter().any(why), "{lines:?}");
    group.wrote_nothing();
}

/// Tells two parties different sizes, and checks that neither goes on.
#[test]
fn sizes_that_differ_from_one_to_the_other_are_noticed() {
    let group = Group::with_tables(ROWS, 10);
    let running: Vec<_> = ["a", "b"].iter().map(|name| group.start(name, &[])).collect();
    let (_, mut channels, _) = agreeable(&group);
    for (channel, items) in channels.iter_mut().zip([3, 4]) {
        let sizes = serde_json::to_vec(&Sizes { items, ..Sizes::default() }).unwrap();
        channel.send(Label::new(0xf1, "sizes"), sizes).unwrap();
    }
    // Neither can know who it was; whoever sees it first ends the other.
    let ended: Vec<_> = running.into_iter().map(|party| party.end_within(SOON)).collect();
    let noticed =
        |ended: &&Ended| ended.code == 4 && ended.stderr.contains("or a party that sends contradictory messages");
    assert!(ended.iter().any(|ended| noticed(&ended)));
    assert!(ended.iter().all(|ended| [3, 4].contains(&ended.code)));
    group.wrote_nothing();
}

#[test]
fn what_is_not_there_for_several_is_refused() {
    let home = Home::new();
    let refused = |job: &str, words: &[&str]| {
        let job = home.file("job.toml", job);
        tacita(&["plan", &job, "--rows", "a=1", "--rows", "b=1", "--rows", "c=1"]).failed(2, words);
    };
    let with = |terms: &str| job(terms, &NAMES, |_| String::new());
    let learn = "reveal_to = [\"a\"]";
    for (more, words) in [
        ("reveal = \"count\"", ["count", "\"outsourced\" for numbers"]),
        ("security = \"malicious\"", ["malicious", "3 parties"]),
        ("protocol = \"vole\"", ["with 3 parties", "star"]),
        ("level = \"bits192\"", ["bits192", "bits128"]),
    ] {
        refused(&with(&format!("{learn}\n{more}")), &words);
    }
    refused(&with("reveal = \"sum:v\"\nreveal_to = [\"a\"]\ngives = { b = [\"v\"] }"), &["sum:COLUMN", "3 parties"]);
    refused(&with(learn).replace("columns = [\"k\"]", "any = [[\"k\"], [\"v\"]]"), &["key.any", "3 parties"]);
    refused(&with(learn).replace("\"intersect\"", "\"union\""), &["exactly two", "intersect"]);
    refused(&with(learn).replace("[parties.a]", "[limits]\nmax_queries = 9\n[parties.a]"), &["limits.max_queries"]);
    let many: Vec<_> = (0..65).map(|number| format!("p{number}")).collect();
    let many: Vec<_> = many.iter().map(String::as_str).collect();
    refused(&job("reveal_to = [\"p0\"]", &many, |_| String::new()), &["65", "2 to 64"]);
}
