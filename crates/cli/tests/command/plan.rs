//! Tests that the statements of `tacita plan` before a job agree with the job's report after it.

use crate::common::{Home, json, tacita};
use serde_json::Value;

/// Both tables have rows with equal keys, texts of several lengths, and a column of numbers.
fn tables(home: &Home, [a, b]: [std::ops::Range<u32>; 2]) -> [String; 2] {
    let rows = |range: std::ops::Range<u32>, column: &str| {
        let line = |number| format!("key {},{column} {},{number}.5\n", number / 2, "x".repeat(number as usize % 9));
        format!("name,{column},amount\n{}", range.map(line).collect::<String>())
    };
    [home.file("a.csv", &rows(a, "ward")), home.file("b.csv", &rows(b, "payer"))]
}

/// Every reveal, every choice of learners, padding, and tables of several messages, each beside some of the others.
#[test]
fn bytes_rounds_and_sentences_are_those_of_the_run() {
    let kept = ["rows b", "rows ab pad", "count ab", "sum:amount a", "mean:amount ab", "payload b", "payload ab pad"];
    plans_are_kept(|case| kept.contains(&case) || case == "payload ab long");
}

#[test]
#[ignore = "slow: every reveal with all learners"]
fn all_bytes_rounds_and_sentences_are_those_of_the_run() {
    plans_are_kept(|_| true);
}

/// Plans and runs the jobs whose short name is `wanted`, like "sum:amount ab pad".
fn plans_are_kept(wanted: impl Fn(&str) -> bool) {
    // The second pair of tables has more keys at one party than fit one message.
    for ranges in [[0..900, 800..1000], [0..8400, 8300..8400]] {
        let home = Home::new();
        let inputs = tables(&home, ranges.clone());
        let inputs = [format!("a={}", inputs[0]), format!("b={}", inputs[1])];
        let inputs = ["--input", &inputs[0], "--input", &inputs[1]];
        for reveal in ["rows", "count", "sum:amount", "mean:amount", "payload"] {
            for (learners, limits) in [
                ("[\"a\"]", ""),
                ("[\"b\"]", ""),
                ("[\"a\", \"b\"]", ""),
                ("[\"a\", \"b\"]", "[limits]\npad_to = 1000\n"),
            ] {
                if ranges[0].len() > 1000 && (reveal != "payload" || !limits.is_empty()) {
                    continue;
                }
                // Messages of several numbers differ from those of one at their end, which is there where both learn.
                if reveal == "mean:amount" && (!learners.contains(',') || !limits.is_empty()) {
                    continue;
                }
                let letters = learners.replace(|letter: char| !letter.is_alphabetic(), "");
                let size = if ranges[0].len() > 1000 { " long" } else { "" };
                if !wanted(&format!("{reveal} {letters}{}{size}", if limits.is_empty() { "" } else { " pad" })) {
                    continue;
                }
                let given = match (reveal, learners) {
                    ("payload", _) => "gives = { a = [\"ward\"], b = [\"payer\"] }",
                    ("sum:amount", "[\"a\"]") => "gives = { b = [\"amount\", \"payer\"] }",
                    ("sum:amount" | "mean:amount", _) => "gives = { a = [\"amount\"] }",
                    _ => "",
                };
                let text = format!(
                    "job = \"intersect\"\nid = \"plan\"\nprotocol = \"ecdh\"\nreveal = \"{reveal}\"\n\
                     reveal_to = {learners}\n{given}\n\
                     [key]\ncolumns = [\"name\"]\n{limits}[parties.a]\n[parties.b]\n"
                );
                let job = home.file("job.toml", &text);
                let planned = tacita(&[&["plan", &job, "--json"], &inputs[..]].concat()).well();
                let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
                let file = home.at("report.json");
                tacita(&[&["simulate", &job, "--report", &file], &inputs[..]].concat()).well();
                let report = json(&file);
                let case = format!("{reveal} to {learners} {limits}");
                for name in ["a", "b"] {
                    let (share, ran) = (&planned["parties"][name], &report["parties"][name]);
                    let (bytes, sent) = (share["bytes_sent"].as_u64().unwrap(), ran["bytes"]["sent"].as_u64().unwrap());
                    // What the receiver returns to a sender that learns depends on how much they have in common,
                    // which the plan cannot know: it plans for the most.
                    if reveal == "payload" && learners.contains(',') && name == "a" {
                        assert!(bytes >= sent, "{case}: {name} planned {bytes}, sent {sent}");
                    } else {
                        assert_eq!(bytes, sent, "{case}: {name}");
                    }
                    assert_eq!(planned["rounds"], ran["rounds"], "{case}");
                    assert_eq!(share["learned"], ran["learned"], "{case}: {name}");
                    assert_eq!(planned["protocol"], ran["protocol"]);
                }
            }
        }
    }
}

#[test]
fn others_cost_what_their_plans_say_and_find_what_ecdh_finds() {
    others_cost_what_is_planned(false);
}

#[test]
#[ignore = "slow: padded and not, semi-honest and malicious, for each reveal"]
fn all_others_cost_what_their_plans_say_and_find_what_ecdh_finds() {
    others_cost_what_is_planned(true);
}

/// Without `all`, `ecdh` is only compared with: its plans have a test of their own. Bloom filters and polynomials are
/// padded then, and `vole` is malicious wherever it can be.
fn others_cost_what_is_planned(all: bool) {
    let home = Home::new();
    let inputs = tables(&home, [0..900, 800..1000]);
    let inputs = [format!("a={}", inputs[0]), format!("b={}", inputs[1])];
    let inputs = ["--input", &inputs[0], "--input", &inputs[1]];
    for (reveal, learners) in [("rows", "[\"a\"]"), ("rows", "[\"a\", \"b\"]"), ("payload", "[\"b\"]")] {
        let mut found = Vec::new();
        for (protocol, security, limits) in [
            ("ecdh", "semi-honest", ""),
            ("vole", "semi-honest", ""),
            ("vole", "malicious", ""),
            ("bloom", "semi-honest", ""),
            ("bloom", "semi-honest", "[limits]\npad_to = 1000\n"),
            ("polynomial", "semi-honest", ""),
            ("polynomial", "semi-honest", "[limits]\npad_to = 1000\n"),
        ] {
            if security == "malicious" && learners.contains(',')
                || ["bloom", "polynomial"].contains(&protocol) && learners != "[\"a\"]"
            {
                continue;
            }
            let alike = match protocol {
                "vole" => security == "semi-honest" && !learners.contains(','),
                "bloom" | "polynomial" => limits.is_empty(),
                _ => false,
            };
            if alike && !all {
                continue;
            }
            let given = if reveal == "payload" { "gives = { a = [\"ward\"], b = [\"payer\"] }" } else { "" };
            let text = format!(
                "job = \"intersect\"\nid = \"plan\"\nprotocol = \"{protocol}\"\nsecurity = \"{security}\"\n\
                 reveal = \"{reveal}\"\nreveal_to = {learners}\n{given}\n\
                 [key]\ncolumns = [\"name\"]\n{limits}[parties.a]\n[parties.b]\n"
            );
            let job = home.file("job.toml", &text);
            let (file, output) = (home.at("report.json"), home.at(&format!("{protocol}-{security}")));
            tacita(&[&["simulate", &job, "--report", &file, "--force", "--output", &output], &inputs[..]].concat())
                .well();
            if all || protocol != "ecdh" {
                let report = json(&file);
                let planned = tacita(&[&["plan", &job, "--json"], &inputs[..]].concat()).well();
                let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
                for name in ["a", "b"] {
                    let (share, ran) = (&planned["parties"][name], &report["parties"][name]);
                    assert_eq!(share["bytes_sent"], ran["bytes"]["sent"], "{protocol} {security} {reveal} {name}");
                    assert_eq!(planned["rounds"], ran["rounds"], "{protocol} {security} {reveal}");
                    assert_eq!(share["learned"], ran["learned"]);
                    assert_eq!((&planned["protocol"], &ran["security"]), (&protocol.into(), &security.into()));
                }
            }
            let learner = if learners.contains("\"a\"") { "a" } else { "b" };
            found.push(std::fs::read(std::path::Path::new(&output).join(format!("{learner}.csv"))).unwrap());
        }
        assert!(found.iter().all(|table| *table == found[0]), "{reveal} to {learners}");
        assert!(found[0].len() > 1000);
    }
}

#[test]
fn the_choice_depends_on_sizes_security_and_network() {
    the_choice_depends_on(false);
}

#[test]
#[ignore = "slow: more plans, each of which measures"]
fn more_choices_depend_on_sizes_security_and_network() {
    the_choice_depends_on(true);
}

fn the_choice_depends_on(all: bool) {
    let home = Home::new();
    let text = |more: &str| {
        format!(
            "job = \"intersect\"\nid = \"plan\"\nreveal_to = [\"a\"]\n{more}\n[key]\ncolumns = [\"name\"]\n\
             [parties.a]\n[parties.b]\n"
        )
    };
    let chosen = |more: &str, rows: &str, latency: &str| {
        let job = home.file("job.toml", &text(more));
        let (a, b) = (format!("a={rows}"), format!("b={rows}"));
        let plan = tacita(&["plan", &job, "--rows", &a, "--rows", &b, "--latency", latency, "--json"]).well();
        let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
        plan["protocol"].as_str().unwrap().to_owned()
    };
    assert_eq!(chosen("", "100", "0ms"), "ecdh");
    // Rounds count where the network is slow: somewhere in between the choice changes with it.
    assert_eq!(chosen("", "3000", "0ms"), "vole");
    assert_eq!(chosen("", "3000", "200ms"), "ecdh");
    assert_eq!(chosen("security = \"malicious\"", "100", "50ms"), "vole");
    assert_eq!(chosen("reveal = \"count\"", "100000", "0ms"), "ecdh");
    if all {
        assert_eq!(chosen("", "100000", "0ms"), "vole");
        assert_eq!(chosen("", "100000", "50ms"), "vole");
        assert_eq!(chosen("reveal = \"sum:cost\"\ngives = { b = [\"cost\"] }", "100000", "0ms"), "ecdh");
        assert_eq!(chosen("protocol = \"ecdh\"", "100000", "0ms"), "ecdh");
    }
}

#[test]
fn sizes_alone_are_enough_and_missing_ones_are_asked_for() {
    let home = Home::new();
    let text = "job = \"intersect\"\nid = \"plan\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]\n[parties.a]\n[parties.b]\n";
    let job = home.file("job.toml", text);
    let plan = tacita(&["plan", &job, "--rows", "a=1_000_000", "--rows", "b=20,000", "--bandwidth", "100Mbit"]).well();
    for word in
        ["vole", "fastest", "1,000,000 keys", "20,000 keys", "a learns which of its own rows", "b does not learn"]
    {
        assert!(plan.stdout.contains(word), "{}", plan.stdout);
    }
    for row in [
        "Party  Learns                               Does not learn by itself, if all follow the protocol (exceptions below)",
        "a      which of its own rows both have\n       exactly how many keys the other has",
        "b      exactly how many keys the other has  which of its own rows both have",
    ] {
        assert!(plan.stdout.contains(row), "{row}: {}", plan.stdout);
    }
    let inputs = tables(&home, [0..10, 0..1000]);
    let mixed = tacita(&["plan", &job, "--rows", "a=100", "--input", &format!("b={}", inputs[1]), "--json"]).well();
    let mixed: Value = serde_json::from_str(&mixed.stdout).unwrap();
    assert_eq!(
        (&mixed["parties"]["a"]["items"], &mixed["parties"]["b"]["items"]),
        (&Value::from(100), &Value::from(500))
    );
    tacita(&["plan", &job, "--rows", "a=1"]).failed(2, &["--rows b=N"]);
    tacita(&["plan", &job, "--rows", "a=1", "--rows", "b=1", "--rows", "c=1"]).failed(2, &["\"c\"", "a, b"]);
    tacita(&["plan", &job, "--rows", "a=1", "--rows", "b=9999999999"]).failed(2, &["--rows b="]);
}

#[test]
fn a_run_on_disk_is_planned() {
    runs_on_disk_are_planned(&[("[\"a\", \"b\"]", "vole"), ("[\"b\"]", "ecdh")]);
}

#[test]
#[ignore = "slow: one more"]
fn a_run_on_disk_for_one_is_planned() {
    runs_on_disk_are_planned(&[("[\"a\"]", "vole")]);
}

fn runs_on_disk_are_planned(jobs: &[(&str, &str)]) {
    let home = Home::new();
    for &(learners, protocol) in jobs {
        let rows = if protocol == "ecdh" { 300 } else { 8_000 };
        let inputs = tables(&home, [0..rows, rows / 2..rows * 3]);
        let job = home.file(
            "job.toml",
            &format!(
                "job = \"intersect\"\nid = \"plan\"\nprotocol = \"{protocol}\"\nreveal_to = {learners}\n\
                 [key]\ncolumns = [\"name\"]\n[parties.a]\n[parties.b]\n"
            ),
        );
        let inputs = [format!("a={}", inputs[0]), format!("b={}", inputs[1])];
        let inputs = ["--input", &inputs[0], "--input", &inputs[1], "--memory", "68MiB"];
        let planned = tacita(&[&["plan", &job, "--json"], &inputs[..]].concat()).well();
        let planned: Value = serde_json::from_str(&planned.stdout).unwrap();
        let (file, work) = (home.at("report.json"), home.at("work"));
        tacita(&[&["simulate", &job, "--report", &file, "--work", &work], &inputs[..]].concat()).well();
        let report = json(&file);
        if protocol == "vole" {
            assert!(planned["buckets"].as_u64() >= Some(8), "{planned}");
        }
        for name in ["a", "b"] {
            let (share, ran) = (&planned["parties"][name], &report["parties"][name]);
            assert_eq!(share["bytes_sent"], ran["bytes"]["sent"], "{name}, {protocol}, {learners}");
            assert_eq!(planned["rounds"], ran["rounds"], "{name}, {protocol}, {learners}");
            assert_eq!(planned["buckets"], ran["work"]["buckets"]);
            assert!(share["disk"].as_u64() > Some(0) && share["memory"].as_u64() > Some(0));
        }
        if protocol == "vole" {
            let text = tacita(&[&["plan", &job], &inputs[..]].concat()).well().stdout;
            assert!(text.contains("Buckets   ") && text.contains(" on disk"), "{text}");
        }
    }
}

/// Terms that leave it to the peer how many rows it brings.
#[test]
fn unbounded_rows_are_warned_of() {
    let home = Home::new();
    let job = |job: &str, rest: &str| {
        home.file("job.toml", &format!("job = \"{job}\"\nid = \"plan\"\n{rest}\n[parties.a]\n[parties.b]\n"))
    };
    let keys = "reveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]\n";
    let dot = "reveal_to = [\"a\"]\ncolumn = \"x\"\n";
    // A plan as text for the first two, and as JSON for the others.
    for (place, (kind, terms, warned)) in (0..).zip([
        ("intersect", keys.to_owned(), true),
        ("intersect", format!("{keys}[limits]\nmax_rows = 100\n"), false),
        ("intersect", format!("{keys}[limits]\npad_to = 100\n"), false),
        ("intersect", format!("{keys}[limits]\nmin_result = 2\n"), true),
        ("dot", dot.to_owned(), false),
        ("dot", format!("{dot}row_id = \"id\"\n"), true),
    ]) {
        let job = job(kind, &terms);
        let plan = |more: &[&str]| tacita(&[&["plan", &job, "--rows", "a=10", "--rows", "b=10"], more].concat()).well();
        let text = "neither limits.max_rows nor limits.pad_to is set";
        if place < 2 {
            assert_eq!(plan(&[]).stdout.contains(text), warned, "{terms}");
        } else {
            let planned: Value = serde_json::from_str(&plan(&["--json"]).stdout).unwrap();
            let said = planned["warnings"][0].as_str().is_some_and(|warning| warning.contains(text));
            assert_eq!(said, warned, "{terms}");
        }
        let doctor = tacita(&["doctor", &job, "--as", "a", "--identity", &home.at("none")]);
        assert_eq!(doctor.stdout.lines().any(|line| line.starts_with("note  limits") && line.contains(text)), warned);
    }
}

/// Ten times the load takes ten times the cores, reports that come one by one cost the proxy more, and a job that is
/// none of rounds is told so.
#[test]
fn a_standing_load_says_how_many_of_each_role() {
    let home = Home::new();
    let head = "id = \"load\"\n[key]\ncolumns = [\"address\"]\n";
    let round = "[round]\nreveal_when = \"distinct >= 5\"\nmin_participants = 5\nmax_reports = 30\n";
    let job = home.file(
        "job.toml",
        &format!("job = \"aggregate\"\nreveal = \"keys\"\nreveal_to = \"participants\"\n{head}{round}"),
    );
    let plan = |load: &str| -> Value {
        serde_json::from_str(&tacita(&["plan", &job, "--load", load, "--threads", "1", "--json"]).well().stdout)
            .unwrap()
    };
    let (one, ten) = (plan("3,600,000/h"), plan("100000/s"));
    for role in ["proxy", "oracle", "database"] {
        let of = |plan: &Value, what: &str| plan["roles"][role][what].as_f64().unwrap();
        assert_eq!(of(&one, "bytes_per_second") * 100.0, of(&ten, "bytes_per_second"), "{role}");
        let (cores, machines) = (of(&ten, "cores"), of(&ten, "machines"));
        assert!(cores > 0.0 && machines >= cores && machines < cores / 0.6 + 1.0, "{role}: {cores}, {machines}");
    }
    let few = ["plan", &job, "--load", "1000/s", "--at-once", "1", "--threads", "1", "--json"];
    let few: Value = serde_json::from_str(&tacita(&few).well().stdout).unwrap();
    let times = |role: &str| {
        let cores = |plan: &Value| plan["roles"][role]["cores"].as_f64().unwrap();
        cores(&few) / cores(&one)
    };
    assert!(times("proxy") > 10.0 && times("database") < 5.0, "{} {}", times("proxy"), times("database"));
    tacita(&["plan", &job, "--at-once", "15"]).failed(2, &["--load"]);
    let told = tacita(&["plan", &job, "--load", "10000000/day"]).well();
    for word in ["115.7 reports a second, 2,048 at once", "proxy", "oracle", "database", "a day"] {
        assert!(told.stdout.contains(word), "{}", told.stdout);
    }
    for wrong in ["5", "5/week", "0/s", "-1/s", "x/s", "inf/s"] {
        tacita(&["plan", &job, &format!("--load={wrong}")]).failed(2, &["500/s"]);
    }
    let other = home.file(
        "other.toml",
        &format!("job = \"intersect\"\nreveal = \"count\"\nreveal_to = [\"a\"]\n{head}[parties.a]\n[parties.b]\n"),
    );
    tacita(&["plan", &other, "--load", "1/s"]).failed(2, &["aggregate"]);
}
