//! Intersections by encrypted polynomials, between two processes over TLS: every strategy, in one bin and in several.

use std::collections::BTreeSet;

use crate::common::dot::noise;
use crate::common::{Ended, Home, NAMES, Pair, Running, data, json, rows_of, tacita, text};
use serde_json::{Value, json};

const STRATEGIES: [&str; 6] = ["auto", "schoolbook", "karatsuba", "toom3", "fft", "points"];

/// Returns `count` different numbers below a bound.
fn numbers(count: usize, below: u64, seed: u64) -> BTreeSet<u64> {
    noise(seed)
        .map(|number| (number >> 20) % below)
        .scan(BTreeSet::new(), |set, number| {
            set.insert(number);
            Some(set.clone())
        })
        .find(|set| set.len() >= count)
        .unwrap_or_default()
}

fn csv(numbers: &BTreeSet<u64>) -> String {
    let lines: Vec<_> = numbers.iter().map(|number| format!("{number:05},row {number}\n")).collect();
    format!("id,note\n{}", lines.concat())
}

/// The job file of `terms`: `a` learns.
fn job(home: &Home, terms: &str) -> String {
    let head = "job = \"intersect\"\nid = \"t\"\nprotocol = \"polynomial\"\nreveal_to = [\"a\"]\n";
    home.file("job.toml", &format!("{head}{terms}\n[key]\ncolumns = [\"id\"]\n[parties.a]\n[parties.b]\n"))
}

fn simulate(home: &Home, job: &str, tables: [&str; 2]) -> Ended {
    let inputs = [("a", tables[0]), ("b", tables[1])].map(|(name, path)| format!("{name}={path}"));
    let (out, report) = (home.at("out"), home.at("report.json"));
    tacita(&[
        "simulate", job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out, "--report", &report,
    ])
}

/// Returns the result of `a`, as the report has it.
fn result(home: &Home) -> Value {
    json(home.at("report.json"))["parties"]["a"]["result"].clone()
}

/// Each strategy with two of the sizes, counted for one of them; each size with half of the strategies.
#[test]
fn every_strategy_finds_what_is_common() {
    strategies_find_what_is_common(false);
}

#[test]
#[ignore = "slow: each strategy with each size"]
fn every_strategy_finds_what_is_common_at_every_size() {
    strategies_find_what_is_common(true);
}

fn strategies_find_what_is_common(all: bool) {
    let home = Home::new();
    for (place, strategy) in STRATEGIES.into_iter().enumerate() {
        let sizes = [("1", 30, 17), ("5", 9, 40), ("\"auto\"", 0, 3), ("\"auto\"", 120, 1)];
        for (size, (bins, mine, theirs)) in sizes.into_iter().enumerate() {
            if !all && !(place + size).is_multiple_of(2) {
                continue;
            }
            let sets = [mine, theirs].map(|count| numbers(count, 150, 7 * (place + count) as u64 + 1));
            let [a, b] = [0, 1].map(|party| home.file(&format!("{party}.csv"), &csv(&sets[party])));
            let common: BTreeSet<u64> = sets[0].intersection(&sets[1]).copied().collect();
            let terms = format!("strategy = \"{strategy}\"\nbins = {bins}\n");
            simulate(&home, &job(&home, &terms), [&a, &b]).well();
            assert_eq!(text(home.at("out/a.csv")), csv(&common), "{terms}");
            assert_eq!(json(home.at("report.json"))["parties"]["b"]["protocol"], "polynomial");
            if all || place % sizes.len() == size {
                simulate(&home, &job(&home, &format!("{terms}reveal = \"count\"")), [&a, &b]).well();
                assert_eq!(result(&home), json!({ "count": common.len() }), "{terms}");
            }
        }
    }
}

#[test]
fn larger_levels_padded_sets_several_keys_and_multisets() {
    let home = Home::new();
    let [a, b] = [("a", "id,day\n1,x\n2,x\n2,x\n3,y\n"), ("b", "id,day\n2,y\n2,y\n2,y\n3,z\n9,x\n")]
        .map(|(name, table)| home.file(&format!("{name}.csv"), table));
    for (terms, key, rows) in [
        ("level = \"bits192\"", "columns = [\"id\"]", "2,x\n2,x\n3,y\n"),
        ("level = \"bits256\"\nbins = 2", "columns = [\"id\"]", "2,x\n2,x\n3,y\n"),
        ("", "columns = [\"id\"]\n[limits]\npad_to = 40", "2,x\n2,x\n3,y\n"),
        ("", "columns = [\"id\"]\nduplicates = \"multiset\"", "2,x\n2,x\n3,y\n"),
        ("", "columns = [\"day\"]\nduplicates = \"multiset\"", "1,x\n3,y\n"),
        ("", "any = [[\"id\"], [\"day\"]]", "2,x\n2,x\n3,y\n1,x\n"),
    ] {
        let head = "job = \"intersect\"\nid = \"t\"\nprotocol = \"polynomial\"\nreveal_to = [\"a\"]\n";
        let job = home.file("job.toml", &format!("{head}{terms}\n[key]\n{key}\n[parties.a]\n[parties.b]\n"));
        simulate(&home, &job, [&a, &b]).well();
        assert_eq!(text(home.at("out/a.csv")), format!("id,day\n{rows}"), "{terms} {key}");
    }
}

/// Whoever is on a part of the list, and nobody else.
#[test]
fn passengers_on_a_part_of_the_list() {
    let Some(data) = data("watchlist") else { return };
    let home = Home::new();
    let list = text(data.join("watchlist_ofac_sdn.csv"));
    let (head, lines) = list.split_once('\n').unwrap();
    // Every eighth person with all names, each of which has a line of its own.
    let listed = |uid: &str| uid.parse::<u32>().unwrap().is_multiple_of(8);
    let part: String =
        lines.lines().filter(|line| listed(line.split(',').next().unwrap())).map(|line| format!("{line}\n")).collect();
    let authority = home.file("list.csv", &format!("{head}\n{part}"));
    let matches = rows_of(data.join("truth/matches.csv"));
    let truth: BTreeSet<_> =
        matches.iter().filter(|row| listed(&row["uid"])).map(|row| row["passenger_id"].clone()).collect();
    assert!(truth.len() > 5, "{truth:?}");
    let passengers = data.join("passengers.csv");
    simulate(&home, &list_job(&home, "rows"), [passengers.to_str().unwrap(), &authority]).well();
    let found: BTreeSet<_> = rows_of(home.at("out/a.csv")).iter().map(|row| row["passenger_id"].clone()).collect();
    assert_eq!(found, truth);
}

/// A job of names and dates of birth, of which `a` learns `reveal`.
fn list_job(home: &Home, reveal: &str) -> String {
    home.file(
        "list.toml",
        &format!(
            "job = \"intersect\"\nid = \"t\"\nprotocol = \"polynomial\"\nreveal = \"{reveal}\"\nreveal_to = [\"a\"]\n\
             [key]\ncolumns = [\"name\", \"dob\"]\nnormalize = [\"name\", \"date:DMY\"]\n[parties.a]\n[parties.b]\n"
        ),
    )
}

/// Whoever is on the list, and nobody else, in bins and by count.
#[test]
#[ignore = "slow: 12,746 on the list, twice"]
fn passengers_on_the_list() {
    let Some(data) = data("watchlist") else { return };
    let home = Home::new();
    let file = |name: &str| data.join(name).to_str().unwrap().to_owned();
    let tables = [file("passengers.csv"), file("watchlist_ofac_sdn.csv")];
    let truth: BTreeSet<_> =
        rows_of(data.join("truth/matches.csv")).iter().map(|row| row["passenger_id"].clone()).collect();
    for reveal in ["rows", "count"] {
        simulate(&home, &list_job(&home, reveal), [&tables[0], &tables[1]]).well();
        if reveal == "rows" {
            let found: BTreeSet<_> =
                rows_of(home.at("out/a.csv")).iter().map(|row| row["passenger_id"].clone()).collect();
            assert_eq!(found, truth);
        } else {
            assert_eq!(result(&home), json!({ "count": 120 }), "distinct keys of 120 passengers");
        }
    }
}

/// Patients of two organisations, with different ways to write names and dates.
#[test]
fn patients_of_two_organisations() {
    patients_of([("karatsuba", "fire_department.csv", "insurer.csv", 382)]);
}

#[test]
#[ignore = "slow: larger tables"]
fn more_patients_of_two_organisations() {
    patients_of([("auto", "hospital.csv", "insurer.csv", 756), ("points", "insurer.csv", "hospital.csv", 756)]);
}

/// Runs jobs of a strategy and two tables, which have so many rows in common.
fn patients_of<const JOBS: usize>(jobs: [(&str, &str, &str, u64); JOBS]) {
    let Some(data) = data("medical") else { return };
    let home = Home::new();
    let file = |name: &str| data.join("synthea").join(name).to_str().unwrap().to_owned();
    for (strategy, mine, theirs, common) in jobs {
        let job = home.file(
            "patients.toml",
            &format!(
                "job = \"intersect\"\nid = \"t\"\nprotocol = \"polynomial\"\nstrategy = \"{strategy}\"\nreveal_to = [\"a\"]\n\
                 [key]\ncolumns = [\"name\", \"dob\"]\nnormalize = [\"name\", \"date:DMY\"]\n[parties.a]\n[parties.b]\n"
            ),
        );
        simulate(&home, &job, [&file(mine), &file(theirs)]).well();
        assert_eq!(result(&home), json!({ "rows": common }), "{strategy}");
    }
}

#[test]
fn what_it_does_not_do_is_refused() {
    let home = Home::new();
    let table = home.file("t.csv", "id,cost\n1,2\n");
    for (terms, words) in [
        ("security = \"malicious\"", &["malicious", "nothing proves", "\"vole\""][..]),
        ("reveal = \"payload\"\ngives = { b = [\"cost\"] }", &["no columns", "\"vole\""]),
        ("reveal = \"sum:cost\"\ngives = { b = [\"cost\"] }", &["adds nothing up", "\"ecdh\""]),
        ("level = \"bits112\"", &["bits112", "\"bits128\", \"bits192\" or \"bits256\""]),
        ("level = \"bits192\"\nstrategy = \"fft\"", &["fft", "roots of unity", "\"bits128\""]),
        ("strategy = \"newton\"", &["newton", "\"schoolbook\", \"karatsuba\", \"toom3\", \"fft\", \"points\""]),
        ("strategy = 3", &["line 5", "a string"]),
        ("bins = 0", &["bins = 0", "1 to 16777216"]),
        ("bins = -4", &["bins = -4", "1 to 16777216"]),
        ("bins = 16777217", &["bins = 16777217", "1 to 16777216"]),
        ("bins = \"many\"", &["bins = \"many\"", "\"auto\""]),
        ("bins = 1.5", &["bins are \"auto\", or a whole number"]),
    ] {
        simulate(&home, &job(&home, terms), [&table, &table]).failed(2, words);
    }
    let both = text(job(&home, "")).replace("[\"a\"]", "[\"a\", \"b\"]");
    simulate(&home, &home.file("both.toml", &both), [&table, &table]).failed(2, &["reveal_to", "one party only"]);
    for key in ["strategy = \"points\"", "bins = 4", "bins = \"auto\""] {
        let other = text(job(&home, key)).replace("\"polynomial\"", "\"vole\"");
        let name = key.split(' ').next().unwrap();
        simulate(&home, &home.file("other.toml", &other), [&table, &table])
            .failed(2, &[name, "protocol = \"polynomial\"", "leave it out"]);
    }
    let work = home.at("work");
    let input = format!("a={table}");
    tacita(&["simulate", &job(&home, ""), "--input", &input, "--input", &format!("b={table}"), "--work", &work])
        .failed(2, &["--work", "polynomial"]);
}

/// Checks that a party that plans another way is told which key differs.
#[test]
fn both_go_one_way() {
    let terms = "job = \"intersect\"\nid = \"t\"\nprotocol = \"polynomial\"\nreveal_to = [\"hospital\"]\n";
    let key = "[key]\ncolumns = [\"id\"]\n";
    let pair = Pair::new(&format!("{terms}bins = 4\n{key}"));
    NAMES.iter().for_each(|name| pair.table(name, "id\n1\n2\n"));
    pair.home.file("insurer.toml", &pair.job(&format!("{terms}strategy = \"points\"\n{key}")));
    let both = NAMES.map(|name| pair.start(name, &[]));
    for ended in both.map(Running::end) {
        ended.failed(5, &["the terms differ", "strategy", "bins"]);
    }
}

#[test]
fn without_a_job_file_and_in_plans() {
    let pair = Pair::new("");
    let sets = [numbers(60, 200, 1), numbers(50, 200, 2)];
    NAMES.iter().zip(&sets).for_each(|(name, set)| pair.table(name, &csv(set)));
    let start = |name: &str, peer: &str, rest: &[&str]| {
        let (identity, input) = (pair.home.at(name), pair.home.at(&format!("{name}.csv")));
        let fixed = ["intersect", "--identity", &identity, "--input", &input, "--peer", pair.fingerprint(peer)];
        let way = ["--key", "id", "--protocol", "polynomial", "--strategy", "toom3", "--bins", "1"];
        Running::start(&[&fixed, &way[..], rest].concat())
    };
    let out = pair.home.at("common.csv");
    let listening =
        start("hospital", "insurer", &["--listen", &pair.address, "--receiver", "me", "--force", "--output", &out]);
    start("insurer", "hospital", &["--connect", &pair.address, "--receiver", "peer"]).end().well();
    let said = listening.end().well();
    assert_eq!(text(out), csv(&sets[0].intersection(&sets[1]).copied().collect()));
    assert!(said.stderr.contains("polynomials in one bin, by toom3"), "{}", said.stderr);
    start("hospital", "insurer", &["--listen", &pair.address, "--bins", "x"]).end().failed(2, &["bins"]);

    let home = Home::new();
    let plan =
        |terms: &str| tacita(&["plan", &job(&home, terms), "--rows", "a=5000", "--rows", "b=9000"]).well().stdout;
    let said = plan("");
    assert!(said.contains("the job names it: polynomials in") && said.contains("bins of"), "{said}");
    assert!(said.contains("may be able to test any number of keys"), "{said}");
    assert!(plan("bins = 1\nstrategy = \"karatsuba\"").contains("polynomials in one bin, by karatsuba"));
}
