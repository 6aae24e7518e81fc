//! Scalar products of several clients with one server, by whole processes: against sums that were computed without the
//! program; what is refused; what happens when a party goes.

use std::time::Duration;

use crate::common::dot::{noise, table};
use crate::common::{Ended, Home, Running, examples, files, free_port, json, rows_of, tacita, text};
use rustix::process::Signal;
use serde_json::{Value, json};

/// A job of the clients `c1`, `c2`, ... and the server `s`, with the parties in this order; `keys` come before them,
/// and ADDRESS and IDENTITY of each party are what `more` says of it.
fn job(keys: &str, order: &[&str], more: impl Fn(&str) -> String) -> String {
    let clients: Vec<_> = order.iter().filter(|name| **name != "s").collect();
    let learners = if keys.contains("reveal_to") { String::new() } else { format!("reveal_to = {clients:?}\n") };
    let column = if keys.contains("column") { "" } else { "column = \"x\"\n" };
    let party = |name: &&str| {
        let role = match name.strip_prefix('c') {
            Some(slice) => format!("role = \"client\"\nslice = {slice}\n"),
            None => "role = \"server\"\n".into(),
        };
        format!("[parties.{name}]\n{role}{}", more(name))
    };
    let parties: String = order.iter().map(party).collect();
    format!("job = \"dot\"\nid = \"test\"\n{learners}{column}{keys}\n{parties}")
}

/// Short keys: they are made in no time.
const SHORT: &str = "level = \"paper80\"";

fn plain(_: &str) -> String {
    String::new()
}

/// A table of each party: `lengths` rows of zeros and ones for each client, as many as all of them together for the
/// server. Returns `NAME=FILE` of each, the server's last, and the sum.
fn tables(home: &Home, lengths: &[usize]) -> (Vec<String>, u64) {
    let bits = |seed| noise(seed).map(|word| word >> 17 & 1);
    let (mut theirs, mut sum) = (bits(99), 0);
    let mut all = Vec::new();
    let mut inputs = Vec::new();
    for (client, &length) in lengths.iter().enumerate() {
        let own: Vec<_> = bits(client as u64 + 1).take(length).collect();
        let other: Vec<_> = theirs.by_ref().take(length).collect();
        sum += own.iter().zip(&other).map(|(a, b)| a * b).sum::<u64>();
        all.extend(other);
        inputs.push(format!("c{}={}", client + 1, table(home, &format!("c{}.csv", client + 1), own)));
    }
    inputs.push(format!("s={}", table(home, "s.csv", all)));
    (inputs, sum)
}

#[track_caller]
fn simulate(home: &Home, job: &str, inputs: &[String], more: &[&str]) -> Ended {
    let (job, report, out) = (home.file("job.toml", job), home.at("report.json"), home.at("out"));
    let mut arguments = vec!["simulate", &job, "--report", &report, "--force", "--output", &out];
    arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
    arguments.extend(more);
    tacita(&arguments)
}

#[test]
fn slices_of_every_length_give_the_sum_to_the_clients_alone_as_planned() {
    let cases: [(&[usize], &[&str]); 4] = [
        (&[3, 4], &["c1", "c2", "s"]),
        (&[5, 0, 7], &["s", "c2", "c1", "c3"]),
        (&[100, 1, 30, 2, 0], &["c5", "c1", "s", "c2", "c4", "c3"]),
        (&[0, 0], &["c2", "s", "c1"]),
    ];
    for (lengths, order) in cases {
        let home = Home::new();
        let (inputs, sum) = tables(&home, lengths);
        let job = job(SHORT, order, plain);
        let printed = simulate(&home, &job, &inputs, &["--allow-insecure"]).well().stdout;
        assert_eq!(printed, format!("value {sum}\n"));
        let report = json(home.at("report.json"));
        let clients: Vec<_> = (1..=lengths.len()).map(|client| format!("c{client}")).collect();
        assert_eq!(files(&home.at("out")), clients.iter().map(|name| format!("{name}.csv")).collect::<Vec<_>>());

        let mut planned = vec!["plan", "job.toml", "--json"];
        let file = home.at("job.toml");
        planned[1] = &file;
        planned.extend(inputs.iter().flat_map(|input| ["--input", input]));
        let planned: Value = serde_json::from_str(&tacita(&planned).well().stdout).unwrap();
        let all: usize = lengths.iter().sum();
        for name in order {
            let party = &report["parties"][name];
            let expected = if *name == "s" { Value::Null } else { json!({ "value": sum }) };
            assert_eq!(party["result"], expected, "{name}");
            assert_eq!(party["protocol"], "paillier");
            let others: Vec<_> = order.iter().filter(|other| *other != name).collect();
            assert_eq!(party["peers"], json!(others));
            let rows = name.strip_prefix('c').map_or(all, |slice| lengths[slice.parse::<usize>().unwrap() - 1]);
            assert_eq!((&party["rows"]["items"], &planned["parties"][name]["items"]), (&json!(rows), &json!(rows)));
            assert_eq!(party["bytes"]["sent"], planned["parties"][name]["bytes_sent"], "{name} of {order:?}");
            assert_eq!(party["rounds"], planned["rounds"], "{name} of {order:?}");
            let (said, learned) = (&party["learned"], planned["parties"][name]["learned"].clone());
            if *name == "s" {
                assert_eq!(*said, learned);
                assert!(said[0].as_str().unwrap().contains("s learns no product"));
            } else {
                assert_eq!(*said, learned);
                assert!(said[0].as_str().unwrap().contains("the sum over all clients' rows"), "{said}");
                assert_eq!(text(home.at(&format!("out/{name}.csv"))), format!("value\n{sum}\n"));
            }
        }
    }
}

/// A client that adds nothing learns the others' sum; of one other, that one's. All who can see it are told.
#[test]
fn slices_that_add_nothing_are_warned_of() {
    let home = Home::new();
    let order = ["c1", "c2", "s"];
    let server = format!("s={}", table(&home, "s.csv", [1, 1, 1]));
    let of = |name: &str, rows: &[u64]| format!("{name}={}", table(&home, &format!("{name}.csv"), rows));
    let bare = "c1 alone, which every client learns";
    for (slices, words, none) in [
        (
            [&[1, 0, 1][..], &[]],
            &["c2: c2 has no rows", "no other client than c1 has rows", "s: no rows at c2", bare][..],
            "zeros",
        ),
        ([&[1, 0], &[0]], &["c2: a column of c2 holds nothing but zeros"], "no rows"),
        ([&[1, 0], &[1]], &[], "adds nothing"),
    ] {
        let inputs = [of("c1", slices[0]), of("c2", slices[1]), server.clone()];
        let ended = simulate(&home, &job(SHORT, &order, plain), &inputs, &["--allow-insecure"]).well();
        for word in words {
            assert!(ended.stderr.contains(word), "`{word}` is missing: {}", ended.stderr);
        }
        assert!(!ended.stderr.contains(none), "{}", ended.stderr);
        let file = home.at("job.toml");
        let planned =
            tacita(&["plan", &file, "--input", &inputs[0], "--input", &inputs[1], "--input", &inputs[2]]).well();
        assert_eq!(planned.stderr.contains(bare), slices[1].is_empty(), "{}", planned.stderr);
        assert!(planned.stdout.contains("the sum is that of the others"), "{}", planned.stdout);
        assert!(!planned.stdout.contains("not even"), "{}", planned.stdout);
    }
}

#[test]
fn signed_decimals_and_matrices_with_more_columns_at_the_clients() {
    let home = Home::new();
    let client = |name: &str, rows: &str| format!("{name}={}", home.file(&format!("{name}.csv"), rows));
    let inputs = [
        client("c1", "p,q,r\n1.5,-2,3\n"),
        client("c2", "p,q,r\n-8,7.5,0\n0.5,1,-1\n"),
        client("s", "y,z\n2,-1.5\n-3,4\n-8,-8\n"),
    ];
    let columns = "column = { c1 = [\"p\", \"q\", \"r\"], c2 = [\"p\", \"q\", \"r\"], s = [\"y\", \"z\"] }";
    let job = job(&format!("{SHORT}\n{columns}\nbits = 5\nsigned = true\nscale = 1"), &["c1", "s", "c2"], plain);
    let refused = simulate(&home, &job, &inputs, &["--allow-insecure"]);
    refused.failed(2, &["c1", "bits"]);
    let printed = simulate(&home, &job.replace("bits = 5", "bits = 8"), &inputs, &["--allow-insecure"]).well().stdout;
    // 1.5·2 + 8·3 - 0.5·8, 1.5·-1.5 - 8·4 - 0.5·8; ...
    assert_eq!(printed, "value [[23, -38.25], [-34.5, 25], [14, 3.5]]\n");
    let rows = rows_of(home.at("out/c2.csv"));
    assert_eq!(rows.len(), 6);
    assert_eq!((rows[1]["clients"].as_str(), rows[1]["s"].as_str(), rows[1]["value"].as_str()), ("p", "z", "-38.25"));
}

/// Checks the example against the statements in its README, under short keys.
#[test]
fn the_example_gives_what_two_parties_get() {
    gives_what_two_parties_get(SHORT);
}

#[test]
#[ignore = "slow: keys of the usual length"]
fn the_example_as_it_is_gives_what_two_parties_get() {
    gives_what_two_parties_get("");
}

fn gives_what_two_parties_get(keys: &str) {
    let home = Home::new();
    let shop = text(examples().join("dot/shop.csv"));
    let (header, rows) = shop.split_once('\n').unwrap();
    let rows: Vec<_> = rows.lines().collect();
    let half = |name: &str, rows: &[&str]| {
        format!("{name}={}", home.file(&format!("{name}.csv"), &format!("{header}\n{}\n", rows.join("\n"))))
    };
    let partner = format!("partner={}", examples().join("dot/partner.csv").display());
    let inputs = [half("north", &rows[..200]), half("south", &rows[200..]), partner];
    let job = format!("{keys}\n{}", text(examples().join("dot/clients.toml")));
    let printed = simulate(&home, &job, &inputs, &["--allow-insecure"]).well().stdout;
    assert_eq!(printed, "value 131\n");
}

#[test]
fn a_small_value_is_only_below_the_limit() {
    let home = Home::new();
    let inputs = [("c1", vec![1, 1]), ("c2", vec![1]), ("s", vec![1, 0, 1])];
    let inputs = inputs.map(|(name, rows)| format!("{name}={}", table(&home, &format!("{name}.csv"), rows)));
    let job = job("[limits]\nmin_result = 3", &["c1", "c2", "s"], plain);
    assert_eq!(simulate(&home, &job, &inputs, &[]).well().stdout, "value below 3\n");
}

#[test]
fn lengths_that_differ_end_all_with_the_numbers() {
    for (rows, code) in [(7, 5), (9, 5)] {
        let group = Group::new(&["c1", "s", "c2"]);
        table(&group.home, "c1.csv", vec![1; 3]);
        table(&group.home, "c2.csv", vec![1; 5]);
        table(&group.home, "s.csv", vec![1; rows]);
        let ended = group.run(&[]);
        for (name, ended) in group.order.iter().zip(ended) {
            ended.failed(code, &["8 rows together", &format!("s has {rows}")]);
            assert_eq!(ended.stdout, "");
            assert_eq!(files(&group.home.at(&format!("{name}.out"))), [""; 0]);
        }
    }
}

#[test]
fn differing_terms_end_all() {
    let group = Group::new(&["c1", "s", "c2", "c3"]);
    for name in group.order {
        table(&group.home, &format!("{name}.csv"), vec![1; if *name == "s" { 3 } else { 1 }]);
    }
    let other = text(group.home.at("c3.toml")).replace("column = \"x\"", "column = \"x\"\nbits = 2");
    group.home.file("c3.toml", &other);
    let ended = group.run(&[]);
    // Whose words are unexpected is often not whose doing it is.
    let all: Vec<_> = ended.iter().map(|ended| ended.stderr.lines().last().unwrap_or_default().to_owned()).collect();
    assert!(ended.iter().all(|ended| ended.code == 5), "{all:#?}");
    for ended in ended {
        ended.failed(5, &["terms differ"]);
    }
}

/// Parties that run as processes of their own. For each NAME there are in `home`: its key pair (the directory NAME),
/// its job file (NAME.toml), and its directory for output (NAME.out).
struct Group {
    home: Home,
    order: &'static [&'static str],
}

impl Group {
    fn new(order: &'static [&'static str]) -> Group {
        Group::with(SHORT, order)
    }

    /// Parties with these keys in their job.
    fn with(keys: &str, order: &'static [&'static str]) -> Group {
        let home = Home::new();
        let known = |name: &str| {
            let identity = tacita(&["identity", "new", &home.at(name)]).well().stdout;
            format!("address = \"127.0.0.1:{}\"\nidentity = \"{}\"\n", free_port(), identity.trim())
        };
        let text = job(keys, order, known);
        for name in order {
            home.directory(&format!("{name}.out"));
            home.file(&format!("{name}.toml"), &text);
        }
        Group { home, order }
    }

    /// Starts a party on its table, NAME.csv.
    fn start(&self, name: &str, more: &[&str]) -> Running {
        let at = |suffix: &str| self.home.at(&format!("{name}{suffix}"));
        let (job, identity, input) = (at(".toml"), at(""), at(".csv"));
        let (output, report) = (at(".out/value.csv"), at(".out/report.json"));
        let fixed = ["run", &job, "--allow-insecure", "--as", name, "--identity", &identity, "--input", &input];
        let results = if name == "s" { vec![] } else { vec!["--force", "--output", &output] };
        Running::start(&[&fixed[..], &["--report", &report], &results, more].concat())
    }

    /// Runs all, the last one first.
    fn run(&self, more: &[&str]) -> Vec<Ended> {
        let started: Vec<_> = self.order.iter().rev().map(|name| self.start(name, more)).collect();
        let mut ended: Vec<_> = started.into_iter().map(Running::end).collect();
        ended.reverse();
        ended
    }
}

#[test]
fn parties_on_their_own_find_each_other_in_any_order() {
    let group = Group::new(&["c2", "s", "c1", "c3"]);
    let (_, sum) = tables(&group.home, &[2, 3, 4]);
    for (name, ended) in group.order.iter().zip(group.run(&[])) {
        let printed = if *name == "s" { String::new() } else { format!("value {sum}\n") };
        assert_eq!(ended.well().stdout, printed);
        let report = json(group.home.at(&format!("{name}.out/report.json")));
        assert_eq!(report["party"], *name);
    }
    // The job says where everybody listens; who only dials cannot listen.
    group.start("c3", &["--listen", "127.0.0.1:1"]).end().failed(2, &["--listen", "c3 is the later party"]);
    // A party that is not there is missed by name.
    let alone = group.start("c2", &["--timeout", "1s"]).end();
    alone.failed(3, &["s, c1, c3", "did not connect"]);
}

#[test]
fn a_stranger_among_the_clients_is_refused() {
    let group = Group::new(&["s", "c1", "c2"]);
    tables(&group.home, &[1, 1]);
    std::fs::remove_dir_all(group.home.at("c2")).unwrap();
    tacita(&["identity", "new", &group.home.at("c2")]).well();
    let own = text(group.home.at("s.toml"));
    let line = own.lines().filter(|line| line.starts_with("identity")).nth(2).unwrap();
    let fresh = tacita(&["identity", "show", &group.home.at("c2")]).well().stdout;
    group.home.file("c2.toml", &own.replace(line, &format!("identity = \"{}\"", fresh.trim())));
    let [s, c1, c2] = group.run(&["--timeout", "5s"]).try_into().unwrap();
    c2.failed(4, &["refused our identity"]);
    // Whichever it comes to first sees what is wrong; the other may hear of that one's end before it does.
    let seen = [&s, &c1].into_iter().filter(|party| party.code == 4);
    assert!(
        seen.inspect(|party| drop(party.failed(4, &["c2", fresh.trim()]))).count() > 0,
        "{} {}",
        s.stderr,
        c1.stderr
    );
    assert!([&s, &c1].iter().all(|party| [3, 4].contains(&party.code)));
}

#[test]
fn a_party_that_is_killed_ends_all() {
    for victim in ["c2", "s"] {
        // Long enough keys that nobody is done when one is killed.
        let group = Group::with("level = \"bits112\"", &["c1", "s", "c2", "c3"]);
        tables(&group.home, &[20_000, 20_000, 20_000]);
        let mut running: Vec<_> = group.order.iter().map(|name| group.start(name, &["--threads", "1"])).collect();
        running.iter_mut().for_each(|party| party.until_it_says("agreed with"));
        std::thread::sleep(Duration::from_millis(300));
        let place = group.order.iter().position(|name| *name == victim).unwrap();
        running[place].signal(Signal::KILL);
        let killed = std::time::Instant::now();
        for (name, ended) in group.order.iter().zip(running.into_iter().map(Running::end)) {
            if *name != victim {
                let line = ended.failed(3, &[]);
                assert!(line.contains(victim) || line.contains("lost a connection"), "{name}: {line}");
                assert!(killed.elapsed() < Duration::from_secs(20), "{name} went on for {:?}", killed.elapsed());
            }
            assert_eq!(files(&group.home.at(&format!("{name}.out"))), [""; 0], "{name}");
        }
    }
}

#[test]
fn a_client_that_cannot_read_its_table_ends_all() {
    let group = Group::new(&["s", "c1", "c2", "c3"]);
    tables(&group.home, &[1, 1, 1]);
    table(&group.home, "c3.csv", ["no number"]);
    let [s, c1, c2, c3] = group.run(&[]).try_into().unwrap();
    c3.failed(2, &["c3.csv", "line 2"]);
    // Who brings the news first differs: c3 itself, or a neighbour that has lost it.
    for other in [s, c1, c2] {
        other.failed(3, &["stopped"]);
    }
}

#[test]
fn jobs_that_make_no_sense_are_refused() {
    let home = Home::new();
    let good = job("", &["c1", "c2", "s"], plain);
    let refused = |job: &str, words: &[&str]| {
        let job = home.file("job.toml", job);
        tacita(&["plan", &job, "--rows", "c1=1", "--rows", "c2=1", "--rows", "s=2"]).failed(2, words);
    };
    refused(&good.replace("slice = 2", "slice = 1"), &["2 have slice = 1"]);
    refused(&good.replace("slice = 2", "slice = 3"), &["0 have slice = 2"]);
    refused(&good.replace("slice = 2\n", ""), &["0 have slice = 2"]);
    refused(&good.replace("slice = 1", "slice = 0"), &["0 have slice = 1"]);
    refused(&good.replace("\"server\"", "\"server\"\nslice = 3"), &["parties.s.slice"]);
    refused(&good.replace("\"server\"", "\"client\"\nslice = 3"), &["0 have role = \"server\""]);
    refused(&good.replace("role = \"client\"\nslice = 2", "role = \"server\""), &["2 have role = \"server\""]);
    refused(&good.replace("role = \"server\"\n", ""), &["parties.s.role is missing"]);
    refused(&good.replace("\"server\"", "\"proxy\""), &["\"proxy\"", "\"client\" or \"server\""]);
    refused(
        &good.replace("[parties.c2]\nrole = \"client\"\nslice = 2\n", "").replace(", \"c2\"", ""),
        &["1 have role"],
    );
    let keys = |keys: &str| job(keys, &["c1", "c2", "s"], plain);
    refused(&keys("reveal_to = [\"c1\"]"), &["name c2 too"]);
    refused(&keys("reveal_to = [\"c1\", \"c2\", \"s\"]"), &["s is the server, which learns nothing"]);
    refused(&keys("reveal = \"shares\""), &["reveal = \"shares\" is not available with clients"]);
    refused(&keys("protocol = \"ot\""), &["protocol = \"ot\" is not available with clients"]);
    refused(&keys("security = \"malicious\""), &["malicious"]);
    refused(&keys("row_id = \"x\""), &["row_id"]);
    refused(&keys("extension = \"softspoken-4\""), &["extension"]);
    refused(&keys("column = { c1 = \"x\", c2 = [\"x\", \"y\"], s = \"x\" }"), &["c1 has 1 and c2 2"]);
    refused(&keys("modulus = \"2\""), &["modulus"]);
    let other = good.replace("\"dot\"", "\"shares\"").replace("column = \"x\"", "operation = \"open\"");
    refused(&other, &["role and slice"]);
    let job = home.file("job.toml", &good);
    tacita(&["plan", &job, "--rows", "c1=1", "--rows", "c2=1", "--rows", "s=3"])
        .failed(2, &["2 rows together", "s has 3"]);
}
