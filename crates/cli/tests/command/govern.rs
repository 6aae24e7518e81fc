//! Policy, ledger, approvals and receipts, as the commands have them.

use serde_json::Value;

use crate::common::{Ended, Home, NAMES, Pair, Running, free_port, json, tacita, text};

const TERMS: &str = "job = \"intersect\"\nid = \"accidents\"\nreveal = \"count\"\nreveal_to = [\"hospital\"]\nprotocol = \"ecdh\"\n\
                     [key]\ncolumns = [\"name\"]\n";

fn pair() -> Pair {
    let pair = Pair::new(TERMS);
    for name in NAMES {
        pair.table(name, "name,born\nJane Doe,1970-01-01\nJohn Roe,1971-02-03\n");
    }
    pair
}

fn run_both(pair: &Pair, more: [&[&str]; 2]) -> [Ended; 2] {
    let running = [0, 1].map(|i| pair.start(NAMES[i], &[&["--timeout", "20s"], more[i]].concat()));
    running.map(Running::end)
}

fn well(pair: &Pair, more: [&[&str]; 2]) {
    for ended in run_both(pair, more) {
        ended.well();
    }
}

/// Writes the policy of a party, with the other as its peer and `keys` in its rule.
fn policy(pair: &Pair, name: &str, keys: &str) -> String {
    let peer = pair.fingerprint(NAMES[usize::from(name == NAMES[0])]);
    pair.home.file(&format!("{name}/policy.toml"), &format!("[[allow]]\npeers = [\"{peer}\"]\n{keys}"))
}

fn ledger(pair: &Pair, name: &str, action: &[&str]) -> Ended {
    tacita(&[&["ledger"], action, &["--identity", &pair.home.at(name)]].concat())
}

fn listed(pair: &Pair, name: &str) -> Vec<String> {
    ledger(pair, name, &["list"]).well().stdout.lines().map(str::to_owned).collect()
}

/// The party that refuses is told the rule, its peer no more than that it is refused, whoever dials.
#[test]
fn a_refused_job_ends_before_anything_is_sent() {
    for refuses in NAMES {
        let pair = pair();
        let path = policy(&pair, refuses, "reveal = [\"rows\"]\n");
        let job = pair.home.at(&format!("{refuses}.toml"));
        let rule = format!("{path}, line 3: refused by policy: reveal: the job reveals \"count\"");
        tacita(&["policy", "check", &job, "--as", refuses, "--policy", &path]).failed(2, &[&rule]);
        for (name, ended) in NAMES.into_iter().zip(run_both(&pair, [&[], &[]])) {
            if name == refuses {
                ended.failed(2, &[&rule]);
            } else {
                let told = ended.failed(5, &[&format!("{refuses} stopped: refused by policy")]);
                assert!(!told.contains("reveal"), "{told}");
            }
            let [line] = &listed(&pair, name)[..] else { panic!("not one entry") };
            let outcome = if name == refuses { " refused " } else { " failed " };
            assert!(line.contains(outcome) && line.contains("accidents"), "{line}");
            assert!(std::fs::read_dir(pair.home.at(&format!("{name}.out"))).unwrap().next().is_none());
        }
    }
}

#[test]
fn a_new_policy_refuses_all_until_a_peer_is_named() {
    let pair = pair();
    let [job, path] = ["hospital.toml", "new.toml"].map(|name| pair.home.at(name));
    tacita(&["policy", "new", &path]).well();
    tacita(&["policy", "new", &path]).failed(2, &["new.toml"]);
    let check = || tacita(&["policy", "check", &job, "--as", "hospital", "--policy", &path]);
    check().failed(2, &["line 5", "insurer", "is not among them"]);
    let named = text(&path).replace("peers = []", &format!("peers = [\"{}\"]", pair.fingerprint("insurer")));
    std::fs::write(&path, named).unwrap();
    assert!(check().well().stdout.contains("allowed by"));
    tacita(&["policy", "check", &job, "--as", "hospital", "--identity", &pair.home.at("hospital")])
        .failed(2, &["tacita policy new"]);
    for (name, ended) in NAMES.into_iter().zip(run_both(&pair, [&["--policy", &path], &[]])) {
        assert_eq!(ended.well().stdout, if name == "hospital" { "count 2\n" } else { "" });
    }
}

/// Runs of a day are counted in the ledger, and only those that came so far that something was revealed.
#[test]
fn runs_of_a_day_are_counted() {
    let pair = pair();
    policy(&pair, "insurer", "runs_per_day = 1\n[ledger]\nresults = true\n");
    policy(&pair, "hospital", "[ledger]\nresults = true\n");
    // The peer does not come.
    pair.start("insurer", &["--timeout", "1s"]).end().failed(3, &["hospital"]);
    well(&pair, [&[], &[]]);
    let [hospital, insurer] = run_both(&pair, [&[], &[]]);
    hospital.failed(5, &["insurer stopped: refused by policy"]);
    insurer.failed(2, &["line 3", "runs_per_day", "hospital"]);
    let outcomes: Vec<_> =
        listed(&pair, "insurer").iter().map(|line| line.split(' ').nth(2).unwrap().to_owned()).collect();
    assert_eq!(outcomes, ["failed", "done", "refused"]);
    let shown: Value = serde_json::from_str(&ledger(&pair, "hospital", &["show", "1"]).well().stdout).unwrap();
    assert_eq!(shown["ended"]["result"], serde_json::json!({ "count": 2 }));
    assert_eq!(shown["ended"]["inputs"].as_array().unwrap().len(), 1);
    assert_eq!(shown["peers"]["insurer"], pair.fingerprint("insurer"));
    assert!(shown["policy"].as_str().unwrap().ends_with("policy.toml, line 2"));
    ledger(&pair, "hospital", &["show", "3"]).failed(2, &["there is no entry 3", "2 runs"]);
}

#[test]
fn a_ledger_that_was_changed_or_cut_is_told_and_nothing_is_run() {
    let pair = pair();
    ledger(&pair, "hospital", &["list"]).failed(2, &["nothing was run yet"]);
    well(&pair, [&[], &[]]);
    assert_eq!(listed(&pair, "hospital").len(), 1);
    assert!(ledger(&pair, "hospital", &["verify"]).well().stdout.contains("1 run in 3 records"));
    let export = |ending: &str| {
        let path = pair.home.at(&format!("ledger.{ending}"));
        ledger(&pair, "hospital", &["export", "--output", &path]).well();
        text(path)
    };
    assert!(export("csv").contains("accidents") && export("html").contains("<td>accidents</td>"));
    export("json");
    assert_eq!(json(pair.home.at("ledger.json"))[0]["id"], "accidents");
    let path = pair.home.at("hospital/ledger");
    let whole = std::fs::read(&path).unwrap();
    let mut changed = whole.clone();
    changed[whole.len() - 1] ^= 1;
    for bytes in [&changed[..], &whole[..whole.len() - 1], &whole[..whole.len() / 2], &[]] {
        std::fs::write(&path, bytes).unwrap();
        ledger(&pair, "hospital", &["verify"]).failed(2, &["was changed, cut or moved"]);
    }
    let [hospital, insurer] = run_both(&pair, [&[], &["--timeout", "2s"]]);
    hospital.failed(2, &["was changed, cut or moved"]);
    assert_ne!(insurer.code, 0);
    std::fs::write(&path, whole).unwrap();
    well(&pair, [&[], &[]]);
    assert_eq!(listed(&pair, "hospital").len(), 2);
}

/// Parties that are killed at any time leave a ledger that goes on, with an entry for each run that was begun.
#[test]
fn killed_runs_are_entered() {
    let pair = pair();
    for says in ["waiting for insurer", "connected to insurer", "agreed with insurer"] {
        let mut hospital = pair.start("hospital", &[]);
        // Whether it finds who is killed before it comes is not asked: it need not look for long.
        let patience = if says.starts_with("waiting") { "1s" } else { "5s" };
        let insurer = pair.start("insurer", &["--timeout", patience]);
        hospital.until_it_says(says);
        hospital.signal(rustix::process::Signal::KILL);
        hospital.end();
        insurer.end();
    }
    let runs = listed(&pair, "hospital");
    assert_eq!(runs.len(), 3, "{runs:?}");
    well(&pair, [&[], &[]]);
    ledger(&pair, "hospital", &["verify"]).well();
    assert_eq!(listed(&pair, "hospital").len(), 4);
}

/// Parties that run at the same time, some of which are killed: whoever came so far as to wait for the other has one
/// entry, and nobody has two.
#[test]
fn runs_at_the_same_time_are_each_entered_once() {
    killed_at_the_same_time(1, 12);
}

#[test]
#[ignore = "slow: a thousand runs"]
fn a_thousand_runs_at_the_same_time_are_each_entered_once() {
    killed_at_the_same_time(50, 20);
}

fn killed_at_the_same_time(times: usize, at_once: usize) {
    let pair = pair();
    let (job, identity, table) =
        (text(pair.home.at("hospital.toml")), pair.home.at("hospital"), pair.home.at("hospital.csv"));
    for time in 0..times {
        let start = |run: usize| {
            let id = format!("\"run-{time}-{run}\"");
            let job = pair.home.file(&format!("job-{run}.toml"), &job.replace("\"accidents\"", &id));
            let address = format!("127.0.0.1:{}", free_port());
            let who = ["run", &job, "--as", "hospital", "--identity", &identity, "--input", &table];
            Running::start(&[&who[..], &["--listen", &address, "--timeout", "2s"]].concat())
        };
        let running: Vec<_> = (0..at_once).map(start).collect();
        for (run, mut hospital) in running.into_iter().enumerate() {
            if run % 3 > 0 {
                hospital.until_it_says("waiting for insurer");
            }
            if run % 3 < 2 {
                hospital.signal(rustix::process::Signal::KILL);
            }
            hospital.end();
        }
    }
    // What a kill has left of a record is removed by the next run.
    well(&pair, [&[], &[]]);
    ledger(&pair, "hospital", &["verify"]).well();
    let entries: Value = serde_json::from_str(&ledger(&pair, "hospital", &["export"]).well().stdout).unwrap();
    let ids: Vec<_> = entries.as_array().unwrap().iter().map(|entry| entry["id"].as_str().unwrap()).collect();
    for (time, run) in (0..times).flat_map(|time| (0..at_once).map(move |run| (time, run))) {
        let id = format!("run-{time}-{run}");
        let entered = ids.iter().filter(|other| **other == id).count();
        assert!(entered == 1 || entered == 0 && run % 3 == 0, "{id}: {entered}");
    }
}

/// Each key of a rule, with a value that refuses the job: here with its line, and at the peer without a word of it.
#[test]
fn each_key_is_refused_at_both_sides() {
    let pair = pair();
    for (key, value) in [
        ("jobs", "[\"dot\"]"),
        ("reveal", "[\"rows\"]"),
        ("reveal_to", "[\"self\"]"),
        ("protocols", "[\"vole\"]"),
        ("security", "[\"malicious\"]"),
        ("levels", "[\"bits192\"]"),
        ("keys", "[\"born\"]"),
        ("min_rows", "1"),
        ("min_result", "1"),
        ("padded", "true"),
        ("until", "\"2020-01-01\""),
        ("runs_per_day", "0"),
        ("exact_answers", "0"),
    ] {
        let path = policy(&pair, "insurer", &format!("{key} = {value}\n"));
        let [hospital, insurer] = run_both(&pair, [&[], &[]]);
        insurer.failed(2, &[&format!("{path}, line 3: refused by policy: {key}: ")]);
        let told = hospital.failed(5, &["insurer stopped: refused by policy"]);
        assert!(!told.contains(key), "{told}");
    }
}

#[test]
fn two_signatures_are_asked_for() {
    let pair = pair();
    let keys = ["one", "two"].map(|name| {
        let made = tacita(&["identity", "new", &pair.home.at(name)]).well().stdout;
        format!("\"{}\"", made.trim())
    });
    policy(&pair, "hospital", &format!("approve = 2\napprovers = [{}]\n", keys.join(", ")));
    let [job, id] = ["hospital.toml", "hospital"].map(|name| pair.home.at(name));
    let check = || tacita(&["policy", "check", &job, "--as", "hospital", "--identity", &id]);
    pair.home.directory("hospital/approvals");
    let approve = |name: &str, more: &[&str]| {
        let output = pair.home.at(&format!("hospital/approvals/{name}.json"));
        let fixed = ["approve", &job, "--as", "hospital", "--identity", &pair.home.at(name), "--output", &output];
        tacita(&[&fixed, more].concat())
    };
    approve("one", &["--runs", "0"]).failed(2, &["--runs 0"]);
    approve("one", &["--runs", "2"]).well();
    check().failed(2, &["line 3", "of 2 approvals 1 are there"]);
    approve("two", &["--until", "2999-12-31"]).well();
    check().well();
    well(&pair, [&[], &[]]);
    // The second was for one run.
    check().failed(2, &["of 2 approvals 1 are there"]);
}

#[test]
fn receipts_prove_that_both_have_agreed() {
    let pair = pair();
    let files = NAMES.map(|name| pair.home.at(&format!("{name}-receipt.json")));
    well(&pair, [&["--receipt", &files[0]], &["--receipt", &files[1]]]);
    let verify = |path: &str| tacita(&["receipt", "verify", path]);
    let told = files.each_ref().map(|file| verify(file).well().stdout);
    for told in &told {
        for (name, other) in [("hospital", "insurer"), ("insurer", "hospital")] {
            for phase in ["begun", "ended"] {
                assert!(told.contains(&format!("{phase} signed by {name} for {other} at ")), "{told}");
            }
            assert!(told.contains(&format!("{name} {} announced 2", pair.fingerprint(name))), "{told}");
        }
    }
    assert_eq!(told[0].lines().take(5).collect::<Vec<_>>(), told[1].lines().take(5).collect::<Vec<_>>());
    let whole = text(&files[0]);
    let forged = whole.replacen("\"announced\": 2", "\"announced\": 3", 1);
    assert_ne!(forged, whole);
    std::fs::write(&files[0], forged).unwrap();
    verify(&files[0]).failed(2, &["it was changed"]);
    let (before, after) = whole.split_at(whole.rfind("\"announced\": 2").unwrap());
    let forged = format!("{before}{}", after.replacen('2', "3", 1));
    std::fs::write(&files[0], forged).unwrap();
    verify(&files[0]).failed(2, &["about another run"]);
    std::fs::write(&files[0], "{}").unwrap();
    verify(&files[0]).failed(2, &["no receipts"]);
    // The entry and its receipts are in the ledger, too.
    let shown: Value = serde_json::from_str(&ledger(&pair, "insurer", &["show", "1"]).well().stdout).unwrap();
    for phase in [&shown["agreed"], &shown["ended"]["receipts"]] {
        assert_eq!(phase["peers"][0]["statement"]["by"], "hospital");
    }
    assert_eq!(shown["agreed"]["own"][0]["statement"]["entry"], 1);
}

/// Another place for the ledger, as for an identity in a directory that cannot be written.
#[test]
fn a_ledger_can_be_elsewhere() {
    let (pair, other) = (pair(), Home::new());
    let directory = other.directory("ledgers");
    well(&pair, [&["--ledger", &directory], &[]]);
    ledger(&pair, "hospital", &["list"]).failed(2, &["nothing was run yet"]);
    assert_eq!(ledger(&pair, "hospital", &["list", "--ledger", &directory]).well().stdout.lines().count(), 1);
}
