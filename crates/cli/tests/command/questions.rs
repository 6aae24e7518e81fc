//! Repeated questions about nearly the same rows: warned of, and limited by a policy; and what else officers are shown.

use std::fs::File;
use std::io::Write;
use std::sync::mpsc;

use serde_json::Value;

use crate::common::{Ended, NAMES, Pair, Running, examples, tacita, text};

const TERMS: &str = "job = \"intersect\"\nid = \"accidents\"\nreveal = \"count\"\nreveal_to = [\"hospital\"]\nprotocol = \"ecdh\"\n\
                     [key]\ncolumns = [\"name\"]\n";

/// Names of persons, but for some.
fn names(without: &[&str]) -> String {
    let all = ["Jane", "John", "Mary"].map(str::to_owned).into_iter().chain((0..30).map(|row| format!("Ann {row}")));
    let some = all.filter(|name| !without.contains(&name.as_str()));
    format!("name,cost\n{}", some.map(|name| format!("{name},7\n")).collect::<String>())
}

fn pair() -> Pair {
    let pair = Pair::new(TERMS);
    NAMES.iter().for_each(|name| pair.table(name, &names(&[])));
    pair
}

fn run_both(pair: &Pair, insurer: &[&str]) -> [Ended; 2] {
    let more = [&[][..], insurer];
    let running = [0, 1].map(|i| pair.start(NAMES[i], &[&["--timeout", "20s"], more[i]].concat()));
    running.map(Running::end)
}

/// Runs the job, and returns the count that the hospital learns, and what the insurer was told.
fn count(pair: &Pair, insurer: &[&str]) -> (u64, String) {
    let [hospital, insurer] = run_both(pair, insurer).map(Ended::well);
    let count = hospital.stdout.trim().strip_prefix("count ").unwrap().parse().unwrap();
    (count, insurer.stderr)
}

fn policy(pair: &Pair, keys: &str) -> String {
    let peer = pair.fingerprint("hospital");
    pair.home.file("insurer/policy.toml", &format!("[[allow]]\npeers = [\"{peer}\"]\n{keys}"))
}

/// The hospital knows whether Jane, who has left the insurer, is among its own, by two counts. With ledgers that do not
/// know of each other nobody notices; with one, the insurer is warned; with a policy, it does not answer.
#[test]
fn two_counts_that_tell_one_person_are_noticed() {
    let pair = pair();
    let [one, other] = ["one", "other"].map(|name| pair.home.directory(name));
    let (before, _) = count(&pair, &["--ledger", &one]);
    pair.table("insurer", &names(&["Jane"]));
    let (after, told) = count(&pair, &["--ledger", &other]);
    assert_eq!((before, after), (33, 32), "the attack works: Jane was common");
    assert!(!told.contains("same rows"), "{told}");
    // The ledger knows the earlier run.
    let (_, told) = count(&pair, &["--ledger", &one]);
    assert!(told.contains("nearly the same rows as in run 1") && told.contains("(0 more, 1 fewer)"), "{told}");
    let (_, told) = count(&pair, &["--ledger", &one]);
    assert!(told.contains("warning: the same rows as in run 2") && told.contains("2 exact answers"), "{told}");
    pair.table("insurer", "name,cost\nZoe,3\n");
    let (_, told) = count(&pair, &["--ledger", &one]);
    assert!(!told.contains("same rows"), "{told}");
    // A policy with one answer: the other party hears that it is refused, and nothing of the rows.
    pair.table("insurer", &names(&[]));
    let path = policy(&pair, "exact_answers = { peer = 1 }\n");
    count(&pair, &[]);
    pair.table("insurer", &names(&["Jane"]));
    let [hospital, insurer] = run_both(&pair, &[]);
    let rule = format!("{path}, line 3: refused by policy: exact_answers: hospital had 1 answer about these rows");
    insurer.failed(2, &[&rule]);
    let told = hospital.failed(5, &["insurer stopped: refused by policy"]);
    assert!(!told.contains("exact") && !told.contains("rows"), "{told}");
    let shown = tacita(&["ledger", "show", "2", "--identity", &pair.home.at("insurer")]).well().stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!(shown["comparison"]["near"][0], serde_json::json!({ "entry": 1, "rows": 1 }));
    assert_eq!(shown["comparison"]["told"][0], pair.fingerprint("hospital"));
    assert_eq!(shown["ended"]["outcome"], "refused");
}

/// The same by counts with noise over hidden rows: neither tells whether Jane is there. They are no exact answers, and
/// are refused when the budget is used up; without blur, each tells how many rows are common.
#[test]
fn counts_with_noise_are_charged_and_are_no_exact_answers() {
    let terms = |limits: &str| {
        format!(
            "job = \"dot\"\nid = \"noisy\"\nreveal_to = [\"hospital\"]\nrow_id = \"name\"\ncolumn = \"one\"\n{limits}\n\
             noise = {{ epsilon = 1 }}\n"
        )
    };
    let pair = Pair::new(&terms("limits = { blur = 128 }"));
    let table = |without: &[&str]| names(without).replace(",7", ",1").replace(",cost", ",one");
    NAMES.iter().for_each(|name| pair.table(name, &table(&[])));
    let budget = "exact_answers = 0\nepsilon = 4\ndelta = 1e-8\n";
    let path = policy(&pair, budget);
    for without in [&[][..], &["Jane"]] {
        pair.table("insurer", &table(without));
        let [hospital, insurer] = run_both(&pair, &[]).map(Ended::well);
        let count: i64 = hospital.stdout.split([' ', ',']).nth(1).unwrap().parse().unwrap();
        // Discrete Laplace noise of scale 1 is beyond 60 with a probability of 10^-26.
        assert!((count - 33).abs() <= 60, "{}", hospital.stdout);
        assert!(!insurer.stderr.contains("same rows"), "{}", insurer.stderr);
    }
    let refused = |why: &str| {
        let [hospital, insurer] = run_both(&pair, &[]);
        insurer.failed(2, &[&path, why]);
        hospital.failed(5, &["insurer stopped: refused by policy"]);
    };
    refused(
        "line 4: refused by policy: epsilon: with this run, runs with hospital would have used epsilon 6, and 4 is allowed",
    );
    let shown = tacita(&["ledger", "show", "1", "--identity", &pair.home.at("insurer")]).well().stdout;
    let shown: Value = serde_json::from_str(&shown).unwrap();
    assert_eq!((&shown["loss"]["epsilon"], &shown["loss"]["rho_delta"]), (&"2".into(), &"0.000000003".into()));
    assert_eq!(shown["agreed"]["own"][0]["statement"]["facts"]["epsilon"], "(2, 3e-9)");
    // The hospital loses what the blurred number tells the insurer, though it alone learns the count.
    let shown = tacita(&["ledger", "show", "1", "--identity", &pair.home.at("hospital")]).well().stdout;
    assert_eq!(serde_json::from_str::<Value>(&shown).unwrap()["loss"]["epsilon"], "1");
    // Without blur: how many are common is exact.
    NAMES.iter().for_each(|name| drop(pair.home.file(&format!("{name}.toml"), &pair.job(&terms("")))));
    policy(&pair, "exact_answers = 0\nepsilon = 9\ndelta = 1e-8\n");
    refused("line 4: refused by policy: alignment: noise does not hide");
    policy(&pair, "exact_answers = 0\nalignment = [\"hidden\"]\n");
    refused("line 3: refused by policy: exact_answers: hospital had 0 answers");
}

/// A refusal takes as long by whatever rule: the table is read before it, if a rule has to know the rows.
#[test]
fn the_table_is_read_before_any_refusal_if_a_rule_compares_rows() {
    for (keys, read) in [("exact_answers = 3\n", true), ("", false)] {
        let pair = pair();
        policy(&pair, &format!("reveal = [\"rows\"]\n{keys}"));
        let fifo = pair.home.at("table.csv");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
        let hospital = pair.start("hospital", &["--timeout", "20s"]);
        let insurer = pair.start_on("insurer", &["--input", &fifo], &["--timeout", "20s"]);
        let (opened, is_opened) = mpsc::channel();
        let writing = std::thread::spawn({
            let fifo = fifo.clone();
            move || {
                // Waits for a reader.
                let mut file = File::options().write(true).open(fifo).unwrap();
                opened.send(()).unwrap();
                let _ = file.write_all(names(&[]).as_bytes());
            }
        });
        hospital.end().failed(5, &["refused by policy"]);
        insurer.end().failed(2, &["line 3", "reveal"]);
        assert_eq!(is_opened.try_recv().is_ok(), read, "{keys}");
        if !read {
            // Lets the writer go.
            std::fs::read(&fifo).unwrap();
        }
        writing.join().unwrap();
    }
}

/// Too many refusals of one day are answered by another one, whatever is asked.
#[test]
fn refusals_are_counted_by_peer() {
    let pair = pair();
    let path = policy(&pair, "reveal = [\"rows\"]\n");
    for _ in 0..2 {
        run_both(&pair, &[])[1].failed(2, &["reveal"]);
    }
    let peer = pair.fingerprint("hospital");
    std::fs::write(&path, format!("[[allow]]\npeers = [\"{peer}\"]\nrefusals_per_day = 2\n")).unwrap();
    let [hospital, insurer] = run_both(&pair, &[]);
    insurer.failed(2, &["line 3", "refusals_per_day: hospital was refused 2 times today"]);
    hospital.failed(5, &["refused by policy"]);
    std::fs::write(&path, format!("[[allow]]\npeers = [\"{peer}\"]\nrefusals_per_day = 4\n")).unwrap();
    count(&pair, &[]);
}

/// Each line of a policy is explained, and the party is found by its identity.
#[test]
fn a_policy_is_explained_line_by_line() {
    let pair = pair();
    let (job, id) = (pair.home.at("insurer.toml"), pair.home.at("insurer"));
    policy(&pair, "jobs = [\"intersect\"]\nreveal = [\"rows\"]\nexact_answers = 3\n");
    let explain = |more: &[&str]| tacita(&[&["policy", "explain", &job, "--identity", &id], more].concat());
    let told = explain(&[]).well().stdout;
    for words in [
        "The rule of line 2 refuses the job:",
        "  3  jobs = [\"intersect\"]\n       holds",
        "  4  reveal = [\"rows\"]\n       refuses: reveal: the job reveals \"count\"",
        "The job is refused: no rule allows all of it.",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    // The line that limits results is tried for rows that are shown, too.
    assert_eq!(told.matches("  4  reveal").count(), 1, "{told}");
    policy(&pair, "jobs = [\"intersect\"]\n");
    let told = explain(&["--as", "insurer"]).well().stdout;
    assert!(told.ends_with("The job is allowed by the rule of line 2.\n"), "{told}");
    // What is counted later is told by both.
    let path = policy(&pair, "exact_answers = 3\n");
    let check = |more: [&str; 2]| tacita(&[&["policy", "check", &job, "--as", "insurer"], &more[..]].concat());
    for told in [explain(&[]).well().stdout, check(["--identity", &id]).well().stdout] {
        assert!(
            told.ends_with("but exact_answers is counted when a run has read its rows, and can refuse it then\n"),
            "{told}"
        );
    }
    let told = check(["--policy", &path]).well().stdout;
    assert!(
        told.ends_with("but without an identity, earlier runs, their privacy loss and approvals were not counted\n"),
        "{told}"
    );
    explain(&["--as", "bank"]).failed(2, &["bank"]);
}

/// An assessment holds what a plan knows, and leaves open what it does not know.
#[test]
fn an_assessment_is_filled_in_from_a_plan() {
    let job = examples().join("patients/job.toml");
    let rows = ["--rows", "hospital=1000", "--rows", "insurer=500"];
    let plan = |more: &[&str]| tacita(&[&["plan", job.to_str().unwrap()], &rows[..], more].concat());
    let page = plan(&["--assessment"]).well().stdout;
    for words in [
        "# Data protection impact assessment: ",
        "## Purpose and legal basis\n\n_To be filled in._",
        "| party | identity | brings |",
        "## What each party learns",
        "## Risks that stay",
        "Retention: of the result",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let learned: Value = serde_json::from_str(&plan(&["--json"]).well().stdout).unwrap();
    for share in learned["parties"].as_object().unwrap().values() {
        for sentence in share["learned"].as_array().unwrap() {
            let unescaped = page.replace('\\', "");
            assert!(unescaped.contains(sentence.as_str().unwrap()), "{sentence}: {page}");
        }
    }
    plan(&["--assessment", "--json"]).failed(2, &["--assessment"]);
}

/// `init` writes a policy that allows its own job, and no other.
#[test]
fn a_policy_comes_with_a_new_job_file() {
    let pair = pair();
    let [job, path] = ["new.toml", "new-policy.toml"].map(|name| pair.home.at(name));
    let identity = format!("b={}", pair.fingerprint("insurer"));
    let options = [
        "--job",
        "intersect",
        "--party",
        "a=h:1",
        "--party",
        "b",
        "--identity",
        &identity,
        "--key",
        "name",
        "--reveal",
        "count",
        "--learns",
        "b",
    ];
    let init = |file: &str, more: &[&str]| tacita(&[&["init", file, "--yes"], &options[..], more].concat());
    init(&job, &["--policy", &path]).well();
    let check = |job: &str| tacita(&["policy", "check", job, "--as", "a", "--policy", &path]);
    assert!(check(&job).well().stdout.contains("allowed by"));
    let changed = text(&job).replace("\"count\"", "\"rows\"");
    let other = pair.home.file("other.toml", &changed);
    check(&other).failed(2, &["reveal"]);
    init(&pair.home.at("third.toml"), &["--policy", &path]).failed(2, &["already exists"]);
    assert!(!std::path::Path::new(&pair.home.at("third.toml")).exists());
    init(&pair.home.at("third.toml"), &["--as", "a"]).failed(2, &["--as a"]);
}
