//! Intersections through a helper, by whole processes: results, the party in the helper's place, who is named when somebody fails, and a
//! helper that is ended and started again.

mod common;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use common::{Ended, Home, Running, data, files, free_port, json, rows_of, tacita, text};
use rustix::process::Signal;

const NAMES: [&str; 3] = ["a", "b", "c"];

/// How soon everybody has ended when one of them fails.
const SOON: Duration = Duration::from_secs(28);

/// A job through a helper; `more` is what is in the table of each party.
fn job(terms: &str, bound: usize, names: &[&str], more: impl Fn(&str) -> String) -> String {
    let parties: String = names.iter().map(|name| format!("[parties.{name}]\n{}", more(name))).collect();
    format!(
        "job = \"intersect\"\nid = \"test\"\nprotocol = \"outsourced\"\n{terms}\n[limits]\npad_to = {bound}\n[key]\ncolumns = [\"k\"]\n{parties}"
    )
}

/// A table of these keys, with a number below 10 and one of three words for each.
fn table(home: &Home, name: &str, keys: impl IntoIterator<Item = u32>) -> String {
    let words = ["red", "green, dark", ""];
    let row = |key: u32| format!("key {key},{},\"{}\"\n", key % 10, words[key as usize % 7 % 3]);
    let rows: String = keys.into_iter().map(row).collect();
    home.file(&format!("{name}.csv"), &format!("k,v,w\n{rows}"))
}

/// The lines of a table whose keys all have.
fn common_lines(home: &Home, names: &[&str], of: &str) -> Vec<String> {
    let lines =
        |name: &str| text(home.at(&format!("{name}.csv"))).lines().skip(1).map(str::to_owned).collect::<Vec<_>>();
    let key = |line: &String| line.split(',').next().unwrap().to_owned();
    let all: Vec<BTreeSet<String>> = names.iter().map(|name| lines(name).iter().map(key).collect()).collect();
    let mut rows: Vec<_> =
        lines(of).into_iter().filter(|line| all.iter().all(|keys| keys.contains(&key(line)))).collect();
    rows.sort_by_key(key);
    rows
}

fn simulate(home: &Home, job: &str, names: &[&str]) -> Ended {
    let (job, report, out) = (home.file("job.toml", job), home.at("report.json"), home.at("out"));
    let inputs: Vec<_> = names.iter().map(|name| format!("{name}={}", home.at(&format!("{name}.csv")))).collect();
    let mut arguments = vec!["simulate", &job, "--report", &report, "--output", &out];
    arguments.extend(inputs.iter().flat_map(|input| ["--input", input]));
    tacita(&arguments)
}

fn lines(path: impl AsRef<std::path::Path>) -> Vec<String> {
    let rows = rows_of(path);
    rows.iter().map(|row| format!("{},{},\"{}\"", row["k"], row["v"], row["w"])).collect()
}

/// A helper and the parties of a job, none of them running yet.
struct Meeting {
    home: Home,
    address: String,
}

impl Meeting {
    fn new(terms: &str, bound: usize) -> Meeting {
        let (home, address) = (Home::new(), format!("127.0.0.1:{}", free_port()));
        let identity = |name: &str| tacita(&["identity", "new", &home.at(name)]).well().stdout.trim().to_owned();
        let pins = NAMES.map(|name| format!("identity = \"{}\"\n", identity(name)));
        let own = |name: &str| pins[NAMES.iter().position(|known| *known == name).unwrap()].clone();
        let helper = format!("[helper]\naddress = \"{address}\"\nidentity = \"{}\"\n", identity("helper"));
        home.file("job.toml", &format!("{}{helper}", job(terms, bound, &NAMES, own)));
        for (name, keys) in NAMES.iter().zip([0..60, 20..80, 40..100]) {
            table(&home, name, keys);
        }
        Meeting { home, address }
    }

    fn helper(&self, more: &[&str]) -> Running {
        let (job, identity, state) = (self.home.at("job.toml"), self.home.at("helper"), self.home.at("state"));
        let all = ["helper", &job, "--listen", &self.address, "--identity", &identity, "--state", &state];
        Running::start(&[&all[..], more].concat())
    }

    fn start(&self, name: &str, more: &[&str]) -> Running {
        let at = |suffix: &str| self.home.at(&format!("{name}{suffix}"));
        let job = if std::fs::exists(at(".toml")).unwrap() { at(".toml") } else { self.home.at("job.toml") };
        let files = ["--identity", &at(""), "--input", &at(".csv"), "--output", &at(".out.csv")];
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
            match learners.contains(&name) {
                true => assert_eq!(lines(&out), common_lines(&self.home, &NAMES, name)),
                false => assert!(!std::fs::exists(&out).unwrap(), "{name}"),
            }
        }
    }
}

const ROWS: &str = "reveal_to = [\"a\", \"b\"]";

#[test]
fn every_reveal_is_exact_for_any_number_of_parties() {
    for (count, bound) in [(2, 60), (3, 100), (5, 60)] {
        let home = Home::new();
        let names: Vec<_> = ["a", "b", "c", "d", "e"].into_iter().take(count).collect();
        for (place, name) in (0..).zip(&names) {
            table(&home, name, place * 3..60);
        }
        let common = common_lines(&home, &names, "a");
        let learners = &names[1..count.min(3)];
        let terms =
            |reveal: &str| format!("reveal = \"{reveal}\"\nreveal_to = {learners:?}\ngives = {{ a = [\"v\", \"w\"] }}");
        let run = |reveal: &str| {
            let terms = if reveal.contains(':') { terms(reveal) } else { terms(reveal).replace("gives", "# gives") };
            simulate(&home, &job(&terms, bound, &names, |_| String::new()), &names).well();
            json(home.at("report.json"))
        };
        let report = run("rows");
        for name in learners {
            assert_eq!(lines(home.at(&format!("out/{name}.csv"))), common_lines(&home, &names, name));
        }
        assert_eq!(files(&home.at("out")), learners.iter().map(|name| format!("{name}.csv")).collect::<Vec<_>>());
        assert!(report["helper"]["bytes"]["received"].as_u64().unwrap() > 0);
        assert_eq!(run("count")["parties"]["b"]["result"]["count"], common.len());
        let number = |line: &String| line.split(',').nth(1).unwrap().parse::<usize>().unwrap();
        let sum: usize = common.iter().map(number).sum();
        assert_eq!(run("sum:v")["parties"]["b"]["result"], serde_json::json!({ "count": common.len(), "sum": sum }));
        let counts = &run("counts:w")["parties"]["b"]["result"]["counts"];
        let of = |word: &str| common.iter().filter(|line| line.ends_with(&format!(",\"{word}\""))).count();
        let words = ["red", "green, dark", ""];
        assert_eq!(words.map(|word| counts[word].as_u64().unwrap_or(0) as usize), words.map(of));
        let table = rows_of(home.at("out/b.csv"));
        assert_eq!(table.len(), words.iter().filter(|word| of(word) > 0).count());
        assert!(table.iter().all(|row| row["count"].parse::<usize>().unwrap() == of(&row["w"])));
    }
}

/// As it was published, for whoever says that it may.
#[test]
fn the_published_form_is_exact_and_says_what_it_gives_away() {
    let home = Home::new();
    for (name, keys) in NAMES.iter().zip([0..12, 3..14, 5..20]) {
        table(&home, name, keys);
    }
    let job = job(ROWS, 15, &NAMES, |_| String::new()).replace("outsourced", "outsourced-bloom");
    simulate(&home, &job, &NAMES).failed(2, &["whether all others have it", "--allow-insecure"]);
    let inputs: Vec<_> = NAMES.iter().map(|name| format!("{name}={}", home.at(&format!("{name}.csv")))).collect();
    for level in ["bits128", "paper80", "bits192"] {
        let path = home.file("job.toml", &job.replace(ROWS, &format!("{ROWS}\nlevel = \"{level}\"")));
        let (out, report) = (home.at(level), home.at("report.json"));
        let mut all = vec!["simulate", &path, "--output", &out, "--report", &report, "--allow-insecure"];
        all.extend(inputs.iter().flat_map(|input| ["--input", input]));
        tacita(&all).well();
        for name in ["a", "b"] {
            assert_eq!(lines(home.at(&format!("{level}/{name}.csv"))), common_lines(&home, &NAMES, name), "{level}");
        }
        let learned = json(&report)["parties"]["a"]["learned"].to_string();
        assert!(
            learned.contains("every key that it can guess") && !learned.contains("learns nothing else"),
            "{learned}"
        );
        let plan = tacita(&["plan", &path, "--rows", "a=9", "--rows", "b=9", "--rows", "c=9"]).well().stdout;
        for words in ["every key that it can guess", "how many parties have set each slot", "--allow-insecure"] {
            assert!(plan.contains(words), "{words}: {plan}");
        }
    }
}

#[test]
fn small_numbers_are_held_back() {
    let home = Home::new();
    for (name, keys) in NAMES.iter().zip([0..20, 0..20, 0..20]) {
        table(&home, name, keys);
    }
    let with = |reveal: &str, least: usize| {
        let terms = format!("reveal = \"{reveal}\"\nreveal_to = [\"b\"]\ngives = {{ a = [\"w\"] }}");
        let text = job(&terms, 20, &NAMES, |_| String::new());
        simulate(&home, &text.replace("[limits]", &format!("[limits]\nmin_result = {least}")), &NAMES).well();
        json(home.at("report.json"))["parties"]["b"]["result"].clone()
    };
    let counts = with("counts:w", 7);
    assert!(counts["below"] == 7 && counts["counts"].as_object().unwrap().len() < 3, "{counts}");
    assert_eq!(with("counts:w", 21), serde_json::json!({ "below": 21 }));
}

#[test]
fn medical_data_of_three_are_joined_exactly() {
    let Some(data) = data("medical") else { return };
    let names = ["hospital", "fire_department", "insurer"];
    let home = Home::new();
    let own = |name: &str| match name {
        "fire_department" => "normalize = [\"name\", \"date:DMY\"]\n".to_owned(),
        _ => String::new(),
    };
    let truth = rows_of(data.join("truth/synthea_joined.csv"));
    for reveal in ["rows", "count", "counts:payer"] {
        let gives = if reveal.contains(':') { "gives = { insurer = [\"payer\"] }" } else { "" };
        let terms = format!("reveal = \"{reveal}\"\nreveal_to = [\"hospital\"]\n{gives}");
        let keys = "[\"name\", \"dob\"]\nnormalize = [\"name\", \"date\"]\nduplicates = \"first\"";
        let path = home.file("job.toml", &job(&terms, 1500, &names, own).replace("[\"k\"]", keys));
        let (out, report) = (home.at("out"), home.at("report.json"));
        let inputs = names.map(|name| format!("{name}={}", data.join(format!("synthea/{name}.csv")).display()));
        let mut all = vec!["simulate", &path, "--output", &out, "--report", &report];
        all.extend(inputs.iter().flat_map(|input| ["--input", input]));
        tacita(&all).well();
        let result = json(&report)["parties"]["hospital"]["result"].clone();
        match reveal {
            "rows" => assert_eq!(result["rows"], truth.len()),
            "count" => assert_eq!(result["count"], truth.len()),
            _ => {
                for (name, count) in result["counts"].as_object().unwrap() {
                    let of = truth.iter().filter(|row| row["insurer.payer"] == *name).count();
                    assert_eq!(count.as_u64().unwrap() as usize, of, "{name}");
                }
            }
        }
    }
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
    let ended = helper.stop();
    assert_eq!(ended.code, 130, "{}", ended.stderr);
    for words in ["serving job test", "test: a is here", "test: all parties are here", "neither keys, nor how many"] {
        assert!(ended.stderr.contains(words), "{words}: {}", ended.stderr);
    }
    assert!(!ended.stderr.contains("key 4"), "no value is in a log");
    for directory in files(&meeting.home.at("state")).iter().filter(|name| *name != "lock") {
        assert_eq!(files(&meeting.home.at(&format!("state/{directory}"))), [""; 0], "nothing is left of a run");
    }
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
    refused.failed(2, &["no [helper]", "a, is in its place"]);
    meeting.start("b", &["--listen", ":0"]).end().failed(2, &["--listen", "b dials a"]);
}

/// Killed in the middle, and started again on what it has on disk: nothing is lost that it has taken.
#[test]
fn a_helper_that_is_killed_goes_on() {
    let meeting = Meeting::new(ROWS, 6000);
    let mut helper = meeting.helper(&[]);
    let parties = meeting.start_all();
    for pause in [0, 300, 600] {
        helper.until_it_says(if pause == 0 { "all parties are here" } else { "goes on with the run" });
        std::thread::sleep(Duration::from_millis(pause));
        helper.signal(Signal::KILL);
        drop(helper.end());
        helper = meeting.helper(&[]);
    }
    parties.into_iter().for_each(|party| drop(party.end().well()));
    meeting.is_exact(&["a", "b"]);
    helper.until_it_says("done in");
    drop(helper.stop());
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
        write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").unwrap();
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
    assert_eq!(helper.end().code, 130);
    meeting.is_exact(&["a", "b"]);
    meeting.helper(&["--status", "0.0.0.0:0"]).end().failed(2, &["--status", "127.0.0.1"]);
}

#[test]
fn jobs_that_make_no_sense_are_refused() {
    let home = Home::new();
    let good = job(ROWS, 10, &NAMES, |_| String::new());
    let cases: Vec<(String, &[&str])> = vec![
        (good.replace("pad_to = 10", ""), &["limits.pad_to", "most keys"]),
        (
            good.replace(ROWS, "reveal = \"payload\"\nreveal_to = [\"a\"]\ngives = { b = [\"v\"] }"),
            &["payload", "star"],
        ),
        (good.replace(ROWS, &format!("{ROWS}\nsecurity = \"malicious\"")), &["malicious", "semi-honest"]),
        (good.replace(ROWS, &format!("{ROWS}\nlevel = \"bits192\"")), &["bits192", "bits128"]),
        (good.replace(ROWS, "reveal = \"counts:v\"\nreveal_to = [\"a\"]"), &["counts:v", "gives"]),
        (good.replace(ROWS, "reveal = \"counts:\"\nreveal_to = [\"a\"]"), &["counts:"]),
        (good.replace("\"outsourced\"", "\"star\"") + "[helper]\n", &["[helper]", "outsourced"]),
        (good.replace("\"outsourced\"", "\"auto\"") + "[helper]\n[relay]\n", &["[relay]", "leave the relay out"]),
        (good.replace(ROWS, &format!("{ROWS}\nscale = 2")), &["scale", "sum:COLUMN"]),
        (
            good.replace(ROWS, "reveal = \"counts:v\"\nreveal_to = [\"a\"]\ngives = { b = [\"v\"] }")
                .replace("outsourced", "star"),
            &["counts:COLUMN", "outsourced"],
        ),
    ];
    for (text, words) in cases {
        let path = home.file("bad.toml", &text);
        let rows = ["--rows", "a=1", "--rows", "b=1", "--rows", "c=1"];
        tacita(&[&["plan", &path][..], &rows].concat()).failed(2, words);
    }
    // What is given has to fit.
    for (name, keys) in NAMES.iter().zip([0..5, 0..5, 0..5]) {
        table(&home, name, keys);
    }
    for (column, row, words) in [
        ("v", "key 1,-2,x\n", "from 0"),
        ("v", "key 1,1.5,x\n", "decimals"),
        ("w", "key 1,1,y\nkey 1,1,x\n", "category"),
    ] {
        home.file("b.csv", &format!("k,v,w\n{row}"));
        let reveal = if column == "v" { "sum:v" } else { "counts:w" };
        let terms = format!("reveal = \"{reveal}\"\nreveal_to = [\"a\"]\ngives = {{ b = [\"{column}\"] }}");
        simulate(&home, &job(&terms, 10, &NAMES, |_| String::new()), &NAMES).failed(2, &["b", words]);
    }
}
