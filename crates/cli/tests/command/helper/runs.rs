//! Parties and a helper as processes: who comes when, who fails, and what others have of it.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::common::{Home, Running, examples, files, free_port, json, tacita, text};
use crate::helper::{NAMES, ROWS, common_lines, job, lines, table};

/// Time limit for all parties to end when one of them fails.
const SOON: Duration = Duration::from_secs(28);

/// A helper and the parties of a job, none of them running yet.
struct Meeting {
    home: Home,
    address: String,
    /// Section of the job file on the helper.
    helper: String,
}

/// Makes a key pair, and returns its fingerprint.
fn identity(home: &Home, name: &str) -> String {
    tacita(&["identity", "new", &home.at(name)]).well().stdout.trim().to_owned()
}

impl Meeting {
    fn new(terms: &str, bound: usize) -> Meeting {
        let (home, address) = (Home::new(), format!("127.0.0.1:{}", free_port()));
        let helper = format!("[helper]\naddress = \"{address}\"\nidentity = \"{}\"\n", identity(&home, "helper"));
        Meeting::of("test", terms, bound, home, address, helper)
    }

    /// Another job, with parties of its own, that comes to the same helper.
    fn beside(&self, id: &str, terms: &str, bound: usize) -> Meeting {
        Meeting::of(id, terms, bound, Home::new(), self.address.clone(), self.helper.clone())
    }

    fn of(id: &str, terms: &str, bound: usize, home: Home, address: String, helper: String) -> Meeting {
        let text = job(terms, bound, &NAMES, |name| format!("identity = \"{}\"\n", identity(&home, name)));
        home.file("job.toml", &(text.replacen("\"test\"", &format!("\"{id}\""), 1) + &helper));
        for (name, keys) in NAMES.iter().zip([0..60, 20..80, 40..100]) {
            table(&home, name, keys);
        }
        Meeting { home, address, helper }
    }

    fn helper(&self, more: &[&str]) -> Running {
        self.helper_of(&[], more)
    }

    /// One that serves other jobs, too.
    fn helper_of(&self, others: &[&Meeting], more: &[&str]) -> Running {
        let jobs: Vec<_> = others.iter().map(|other| other.home.at("job.toml")).collect();
        let jobs: Vec<_> = jobs.iter().map(String::as_str).collect();
        self.forgetful_helper(&[&["--state", &self.home.at("state")], &jobs[..], more].concat())
    }

    /// One that keeps nothing for the next time.
    fn forgetful_helper(&self, more: &[&str]) -> Running {
        let (job, identity) = (self.home.at("job.toml"), self.home.at("helper"));
        let all = ["helper", &job, "--listen", &self.address, "--identity", &identity];
        Running::start(&[&all[..], more].concat())
    }

    fn start(&self, name: &str, more: &[&str]) -> Running {
        let at = |suffix: &str| self.home.at(&format!("{name}{suffix}"));
        let job = if std::fs::exists(at(".toml")).unwrap() { at(".toml") } else { self.home.at("job.toml") };
        let files = ["--identity", &at(""), "--input", &at(".csv"), "--force", "--output", &at(".out.csv")];
        let timeout: &[&str] = if more.contains(&"--timeout") { &[] } else { &["--timeout", "20s"] };
        Running::start(&[&["run", &job, "--as", name], timeout, &files[..], more].concat())
    }

    fn start_all(&self) -> Vec<Running> {
        NAMES.iter().map(|name| self.start(name, &[])).collect()
    }

    /// Gives a party a job file of its own.
    fn change(&self, name: &str, from: &str, to: &str) {
        let changed = text(self.home.at("job.toml")).replace(from, to);
        self.home.file(&format!("{name}.toml"), &changed);
    }

    #[track_caller]
    fn is_exact(&self, learners: &[&str]) {
        for name in NAMES {
            let out = self.home.at(&format!("{name}.out.csv"));
            if learners.contains(&name) {
                assert_eq!(lines(&out), common_lines(&self.home, &NAMES, name))
            } else {
                assert!(!std::fs::exists(&out).unwrap(), "{name}")
            }
        }
    }
}

/// The example, whose tables have a payer with a comma in its name, and persons with two payers.
#[test]
fn the_example_counts_by_category() {
    let patients = examples().join("patients");
    let home = Home::new();
    let job = text(patients.join("helper.toml"));
    let run = |job: &str| {
        let (job, report) = (home.file("job.toml", job), home.at("report.json"));
        let names = ["hospital", "fire_department", "insurer"];
        let inputs = names.map(|name| format!("{name}={}", patients.join(format!("{name}.csv")).display()));
        tacita(
            &[
                &["simulate", &job, "--report", &report][..],
                &inputs.each_ref().map(|input| ["--input", input]).concat(),
            ]
            .concat(),
        )
    };
    let printed = run(&job).well().stdout;
    assert!(printed.contains(", \"Tallis & Daughters, Ltd.\" "), "{printed}");
    let counts = json(home.at("report.json"))["parties"]["hospital"]["result"]["counts"].clone();
    assert_eq!(counts.as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum::<u64>(), 35);
    run(&job.replace("duplicates = \"first\"", ""))
        .failed(2, &["insurer.csv", "in line ", "agree on duplicates = \"first\""]);
    run(&job.replace("200", "180")).failed(2, &["186 distinct keys do not fit limits.pad_to = 180"]);
    // What a plan says follows from the terms; a sum may take a table to be found in, at the party that works it out.
    let plan = |reveal: &str| {
        let job = home.file("job.toml", &job.replace("counts:payer", reveal).replace("[\"payer\"]", "[\"cost\"]"));
        let plan: serde_json::Value = serde_json::from_str(&tacita(&["plan", &job, "--json"]).well().stdout).unwrap();
        let learned = plan["parties"]["hospital"]["learned"].to_string();
        assert!(learned.contains("fire_department, insurer and hospital have in common"), "{learned}");
        ["hospital", "insurer"].map(|name| plan["parties"][name].clone())
    };
    let [(sum, other), (count, _)] = ["sum:cost", "counts:cost"].map(|reveal| plan(reveal).into());
    let more = |what: &str| sum[what].as_f64().unwrap() - count[what].as_f64().unwrap();
    assert_eq!(more("memory"), 24.0 * f64::from(1 << 20));
    assert!(more("cpu_seconds") > 0.2 && other["memory"] == count["memory"], "{sum}, {count}");
}

#[test]
fn parties_come_in_any_order_and_the_helper_last() {
    let meeting = Meeting::new(ROWS, 100);
    let parties = meeting.start_all();
    std::thread::sleep(Duration::from_millis(500));
    let mut helper = meeting.helper(&[]);
    parties.into_iter().for_each(|party| drop(party.end().well()));
    meeting.is_exact(&["a", "b"]);
    helper.until_it_says("done in");
    let ended = helper.stop().well();
    assert!(ended.stderr.trim_end().ends_with("helper stopped: 1 run finished, 0 ended otherwise"), "{}", ended.stderr);
    for words in ["serving job test", "test: a is here", "test: all parties are here", "neither keys, nor how many"] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("key 4"), "no value is in a log");
    assert_eq!(files(&meeting.home.at("state")), ["lock"], "nothing is left of a run");
}

#[test]
fn the_first_party_is_in_the_helper_s_place() {
    let meeting = Meeting::new(ROWS, 100);
    let file = text(meeting.home.at("job.toml"));
    let (file, _) = file.split_once("[helper]").unwrap();
    let file = file.replacen("[parties.a]\n", &format!("[parties.a]\naddress = \"{}\"\n", meeting.address), 1);
    meeting.home.file("job.toml", &file);
    let parties = meeting.start_all();
    parties.into_iter().for_each(|party| drop(party.end().well()));
    meeting.is_exact(&["a", "b"]);
    let refused = meeting.helper(&[]).end();
    refused.failed(2, &["no [helper]", "a, acts as the helper"]);
    meeting.start("b", &["--listen", ":0"]).end().failed(2, &["--listen", "b dials a"]);
}

/// Killed in the middle, and started again on what it has on disk: nothing is lost that it has taken.
#[test]
fn a_helper_that_is_killed_goes_on() {
    let meeting = Meeting::new(ROWS, 6000);
    let mut helper = meeting.helper(&[]);
    let parties = meeting.start_all();
    let mut done = false;
    for pause in [0, 300, 600] {
        helper.until_it_says(if pause == 0 { "all parties are here" } else { "goes on with the run" });
        std::thread::sleep(Duration::from_millis(pause));
        helper.signal(Signal::KILL);
        done |= helper.end().stderr.contains("done in");
        helper = meeting.helper(&[]);
    }
    parties.into_iter().for_each(|party| drop(party.end().well()));
    meeting.is_exact(&["a", "b"]);
    // The last one may have been killed when all was done.
    if !done {
        helper.until_it_says("done in");
    }
    drop(helper.stop());
}

/// Without what it had on disk: the run is lost, which all are told in moments, whether they leave or wait; nobody is
/// blamed, and a new run begins as ever. Whoever only waits for the others goes on waiting.
#[test]
fn a_helper_that_lost_a_run_says_so() {
    let meeting = Meeting::new(ROWS, 6000);
    let mut helper = meeting.forgetful_helper(&[]);
    let parties = meeting.start_all();
    helper.until_it_says("all parties are here");
    std::thread::sleep(Duration::from_millis(300));
    helper.signal(Signal::KILL);
    drop(helper.end());
    let mut helper = meeting.forgetful_helper(&[]);
    let started = Instant::now();
    for party in parties {
        party.end().failed(3, &["the helper", "was restarted, and has lost the run: start again"]);
    }
    assert!(started.elapsed() < SOON, "{:?}", started.elapsed());
    meeting.is_exact(&[]);
    let early = ["a", "b"].map(|name| meeting.start(name, &[]));
    helper.until_it_says("b is here");
    helper.until_it_says("a is here");
    helper.signal(Signal::KILL);
    drop(helper.end());
    let mut helper = meeting.forgetful_helper(&[]);
    helper.until_it_says("b is here");
    meeting.start("c", &[]).end().well();
    early.into_iter().for_each(|party| drop(party.end().well()));
    meeting.is_exact(&["a", "b"]);
    let said = helper.stop().well().stderr;
    assert!(!said.contains("Protocol") && !said.contains("warning"), "{said}");
}

/// Checks the doctor's findings on a helper, the helper's log of a doctor, and the case of a job that the helper does
/// not serve.
#[test]
fn a_doctor_compares_terms_with_the_helper() {
    let meeting = Meeting::new(ROWS, 100);
    let doctor = |name: &str, more: &[&str]| {
        let job =
            meeting.home.at(if std::fs::exists(meeting.home.at("a.toml")).unwrap() { "a.toml" } else { "job.toml" });
        tacita(&[&["doctor", &job, "--as", name, "--identity", &meeting.home.at(name)], more].concat())
    };
    let mut helper = meeting.helper(&[]);
    helper.until_it_says("serving job");
    let seen = doctor("a", &["--meet"]).well().stdout;
    for words in [
        "lets this party in",
        "ok    terms      as the helper's (agreement ",
        "not needed: the parties of this job connect only to the helper",
        "Nothing to mend.",
    ] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    let output = meeting.home.at("out.csv");
    let seen = doctor("c", &["--force", "--output", &output]).well().stdout;
    assert!(seen.contains("note  output") && !seen.contains("ok    output"), "{seen}");
    meeting.change("a", "pad_to = 100", "pad_to = 200");
    let seen = doctor("a", &[]);
    assert_eq!(seen.code, 2);
    for words in ["MEND  terms", "limits.pad_to", "all need the same job file", "1 thing to mend"] {
        assert!(seen.stdout.contains(words), "{words}: {}", seen.stdout);
    }
    meeting.change("a", "id = \"test\"", "id = \"auto\"");
    let unknown = "the helper does not serve a job \"auto\": ask its operator";
    let seen = doctor("a", &[]).stdout;
    assert!(seen.contains(unknown), "{seen}");
    meeting.start("a", &[]).end().failed(5, &[unknown]);
    let said = helper.stop().well().stderr;
    assert!(!said.contains("warning") && !said.contains("without a word") && !said.contains("a party:"), "{said}");
    for words in ["test: a has looked, and its terms are these", "a comes for a job \"auto\", which is not served here"]
    {
        assert!(said.contains(words), "{words}: {said}");
    }
    meeting.start("helper", &[]).end().failed(2, &["is not a party", "tacita helper"]);
}

#[test]
fn a_party_that_is_killed_or_silent_is_named() {
    for signal in [Signal::KILL, Signal::STOP] {
        let meeting = Meeting::new(ROWS, 6000);
        let mut helper = meeting.helper(&["--timeout", "1s", "--patience", "5s"]);
        let mut parties = meeting.start_all();
        helper.until_it_says("all parties are here");
        let started = Instant::now();
        let c = parties.pop().unwrap();
        c.signal(signal);
        for party in parties {
            party.end().failed(3, &["c", "the helper"]);
        }
        assert!(started.elapsed() < SOON);
        c.signal(Signal::KILL);
        drop(c.end());
        meeting.is_exact(&[]);
        drop(helper.stop());
    }
}

/// One process, and three runs that are all under way at once: each of them waits for a party that is stopped until all
/// have begun.
#[test]
fn one_helper_serves_jobs_side_by_side_and_one_that_fails_leaves_the_others_alone() {
    let first = Meeting::new(ROWS, 2000);
    let [second, third] = ["second", "third"].map(|id| first.beside(id, ROWS, 2000));
    // Keys that are nobody's in the other jobs.
    for (meeting, from) in [(&second, 200), (&third, 400)] {
        for (name, keys) in NAMES.iter().zip([0..60, 20..80, 40..100]) {
            table(&meeting.home, name, keys.map(|key| from + key + key % 7));
        }
    }
    let jobs = [("test", &first), ("second", &second), ("third", &third)];
    // Who is killed is missed soon, and who is stopped not before the run beside it has ended.
    let mut helper = first.helper_of(&[&second, &third], &["--timeout", "6s"]);
    let mut runs = jobs.map(|(id, meeting)| {
        let parties = meeting.start_all();
        helper.until_it_says(&format!("{id}: all parties are here"));
        parties[2].signal(Signal::STOP);
        parties
    });
    let killed = runs[1].pop().unwrap();
    killed.signal(Signal::KILL);
    drop(killed.end());
    let [first_run, second_run, third_run] = runs;
    second_run.into_iter().for_each(|party| drop(party.end().failed(3, &["c", "the helper"])));
    for run in [first_run, third_run] {
        run[2].signal(Signal::CONT);
        run.into_iter().for_each(|party| drop(party.end().well()));
    }
    first.is_exact(&["a", "b"]);
    second.is_exact(&[]);
    third.is_exact(&["a", "b"]);

    // The job that failed is as good as new.
    second.start_all().into_iter().for_each(|party| drop(party.end().well()));
    second.is_exact(&["a", "b"]);
    helper.until_it_says("second: done in");
    let said = helper.stop().stderr;
    let at = |words: &str| said.find(words).unwrap_or_else(|| panic!("{words}: {said}"));
    let begun = jobs.map(|(id, _)| at(&format!("{id}: all parties are here")));
    let over = [at("test: done in"), at("second: ended by"), at("third: done in")];
    assert!(begun.iter().max() < over.iter().min(), "runs do not overlap: {said}");
    assert!(at("second: ended by") < at("test: done in") && at("second: ended by") < at("third: done in"), "{said}");
}

#[test]
fn whoever_cannot_go_on_ends_it_for_all() {
    let meeting = Meeting::new(ROWS, 100);
    let helper = meeting.helper(&[]);
    table(&meeting.home, "c", 0..101);
    let mut parties = meeting.start_all();
    parties.pop().unwrap().end().failed(2, &["pad_to"]);
    parties.into_iter().for_each(|party| drop(party.end().failed(3, &["c"])));

    table(&meeting.home, "c", 40..100);
    meeting.change("c", "pad_to = 100", "pad_to = 200");
    let parties = ["a", "b"].map(|name| meeting.start(name, &[]));
    std::thread::sleep(Duration::from_secs(1));
    meeting.start("c", &[]).end().failed(5, &["limits.pad_to", "100", "200", "the helper"]);
    parties.into_iter().for_each(|party| drop(party.end().failed(5, &["c"])));

    // One that does not come, and one that comes a second time.
    let parties = ["a", "b"].map(|name| meeting.start(name, &["--timeout", "2s"]));
    std::thread::sleep(Duration::from_millis(700));
    meeting.start("a", &["--timeout", "1s"]).end().failed(3, &["another process"]);
    let ended = parties.map(Running::end);
    assert!(ended.iter().any(|ended| ended.stderr.contains("error: c: did not come")), "{ended:?}");
    assert!(ended.iter().all(|ended| ended.code == 3), "{ended:?}");

    // It is as good as new.
    std::fs::remove_file(meeting.home.at("c.toml")).unwrap();
    meeting.start_all().into_iter().for_each(|party| drop(party.end().well()));
    meeting.is_exact(&["a", "b"]);
    drop(helper.stop());
}

#[test]
fn a_helper_that_is_to_end_ends_with_its_last_run() {
    let meeting = Meeting::new(ROWS, 3000);
    let status = format!("127.0.0.1:{}", free_port());
    let mut helper = meeting.helper(&["--status", &status]);
    let parties = meeting.start_all();
    helper.until_it_says("all parties are here");
    let page = |path: &str| {
        use std::io::{Read, Write};
        let mut stream = std::net::TcpStream::connect(&status).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: {status}\r\nConnection: close\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text
    };
    assert!(page("/health").ends_with("ok\n"));
    assert!(page("/metrics").contains("tacita_helper_running{job=\"1\"} 1\n"));
    helper.signal(Signal::TERM);
    helper.until_it_says("ending when");
    assert!(page("/health").contains("503"));
    parties.into_iter().for_each(|party| drop(party.end().well()));
    helper.end().well();
    meeting.is_exact(&["a", "b"]);
    meeting.helper(&["--status", "0.0.0.0:0"]).end().failed(2, &["--status", "127.0.0.1"]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = format!(":{}", taken.local_addr().unwrap().port());
    let ended = meeting.helper(&["--status", &port]).end();
    ended.failed(2, &["--status", &port, "give another address"]);
    assert!(!ended.stderr.contains("serving job"), "{}", ended.stderr);
    // Told twice, it cuts the run off.
    let mut helper = meeting.helper(&[]);
    let parties = meeting.start_all();
    helper.until_it_says("all parties are here");
    helper.signal(Signal::INT);
    helper.until_it_says("ending when");
    helper.signal(Signal::INT);
    helper.end().failed(130, &["interrupted"]);
    parties.iter().for_each(|party| party.signal(Signal::INT));
}
