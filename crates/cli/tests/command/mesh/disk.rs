//! Tables on disk among several: exact in many buckets, beside parties that keep theirs in memory, and resumed after
//! whoever is killed.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::{Group, JOIN, NAMES, ROWS, SOON, expected, job, lines, simulate, table};
use crate::common::dot::noise;
use crate::common::{Home, Running, files, json, tacita, text};

/// Memory limit so low that there are several buckets.
const LITTLE: &str = "76MiB";

const KEYS: u32 = 60_000;

impl Group {
    /// Starts a party with its work in NAME.work.
    fn start_on_disk(&self, name: &str, more: &[&str]) -> Running {
        let work = self.home.at(&format!("{name}.work"));
        self.start(name, &[&["--work", &work, "--memory", LITTLE, "--threads", "1"][..], more].concat())
    }

    /// Whether a party has written its result, whole; nothing else is ever there under its name.
    #[track_caller]
    fn is_done(&self, name: &str) -> bool {
        let path = self.home.at(&format!("{name}.out/rows.csv"));
        if !Path::new(&path).exists() {
            return false;
        }
        assert_eq!(lines(path), expected(&self.home, &NAMES, name), "{name}");
        true
    }

    /// A run of which `a`, which works it out, was killed when it had two buckets' results, and so the others the
    /// first's.
    fn cut_off() -> Group {
        let group = Group::with_tables(ROWS, KEYS);
        let running = NAMES.map(|name| group.start_on_disk(name, &[]));
        let work = group.home.at("a.work");
        let until = Instant::now() + SOON;
        let results = || files(&work).iter().filter(|file| file.starts_with("result")).count();
        while !Path::new(&work).exists() || results() < 2 {
            assert!(Instant::now() < until, "no two buckets are done");
            std::thread::sleep(Duration::from_millis(2));
        }
        running[0].signal(Signal::KILL);
        let [a, others @ ..] = running;
        a.end();
        others.into_iter().for_each(|party| drop(party.end_within(SOON).failed(3, &["error: a"])));
        group.wrote_nothing();
        group
    }
}

#[test]
fn tables_larger_than_memory_are_intersected_bucket_by_bucket() {
    let home = Home::new();
    for (name, range) in NAMES.iter().zip([0..KEYS, KEYS / 2..KEYS * 3 / 2, KEYS / 4..KEYS]) {
        table(&home, name, range);
    }
    let job = job(ROWS, &NAMES, |_| String::new());
    simulate(&home, &job, &NAMES, &["--work", &home.at("work"), "--memory", LITTLE]).well();
    for name in ["a", "b"] {
        assert_eq!(lines(home.at(&format!("out/{name}.csv"))), expected(&home, &NAMES, name), "{name}");
    }
    // As many bytes as are planned, and as many buckets.
    let report = json(home.at("report.json"));
    let rows: Vec<String> =
        NAMES.iter().map(|name| format!("{name}={}", report["parties"][name]["rows"]["items"])).collect();
    let path = home.file("job.toml", &job);
    let mut arguments = vec!["plan", &path, "--json", "--memory", LITTLE];
    arguments.extend(rows.iter().flat_map(|rows| ["--rows", rows]));
    let plan: serde_json::Value = serde_json::from_str(&tacita(&arguments).well().stdout).unwrap();
    let buckets = plan["buckets"].as_u64().unwrap();
    assert!(buckets > 3, "{buckets}");
    for name in NAMES {
        let party = &report["parties"][name];
        assert_eq!((&party["work"]["buckets"], &party["work"]["done"]), (&buckets.into(), &buckets.into()));
        assert_eq!(plan["parties"][name]["bytes_sent"], party["bytes"]["sent"], "{name}");
        assert_eq!(files(&home.at(&format!("work/{name}"))), [""; 0]);
        let sentences = party["learned"].to_string();
        let others: Vec<_> = NAMES.into_iter().filter(|other| *other != name).collect();
        let others = others.join(" and ");
        let said = format!("the buckets of {others} may take: {others} work on disk");
        assert!(sentences.contains(&said), "{sentences}");
    }
}

/// Whoever has memory enough needs no disk.
#[test]
fn some_are_on_disk_and_others_in_memory() {
    for on_disk in [&["a"][..], &["b", "c"], &["c"]] {
        let group = Group::with_tables(ROWS, 20_000);
        let start =
            |name: &&str| if on_disk.contains(name) { group.start_on_disk(name, &[]) } else { group.start(name, &[]) };
        let running: Vec<_> = NAMES.iter().map(start).collect();
        running.into_iter().for_each(|party| drop(party.end().well()));
        assert!(group.is_done("a") && group.is_done("b"), "{on_disk:?}");
        assert_eq!(files(&group.home.at("c.out")), ["report.json"]);
    }
}

#[test]
fn a_run_that_was_cut_off_goes_on_where_it_was() {
    let group = Group::cut_off();
    let running = NAMES.map(|name| group.start_on_disk(name, &["--resume"]));
    running.into_iter().for_each(|party| drop(party.end().well()));
    assert!(group.is_done("a") && group.is_done("b"));
    let report = json(group.home.at("a.out/report.json"));
    let [buckets, done] = ["buckets", "done"].map(|what| report["work"][what].as_u64().unwrap());
    // A bucket that one learner had not finished is done again; the rest is not.
    assert!(buckets > 3 && done < buckets, "{done} of {buckets}");
    for name in NAMES {
        assert_eq!(files(&group.home.at(&format!("{name}.work"))), [""; 0]);
    }
}

/// Checks that a party that has lost its kept state, or takes the directory of another run, is named by all others;
/// nothing is lost.
#[test]
fn who_does_not_resume_is_named() {
    let group = Group::cut_off();
    let kept = group.home.at("kept");
    std::fs::rename(group.home.at("b.work"), &kept).unwrap();
    let running = NAMES.map(|name| group.start_on_disk(name, if name == "b" { &[] } else { &["--resume"] }));
    for (name, party) in NAMES.iter().zip(running) {
        let words = if *name == "b" {
            "resumes a run, but this one is new"
        } else {
            "this run is resumed, but b begins a new one"
        };
        party.end_within(SOON).failed(5, &[words, "all remove their directories"]);
    }
    group.wrote_nothing();
    std::fs::remove_dir_all(group.home.at("b.work")).unwrap();
    std::fs::rename(kept, group.home.at("b.work")).unwrap();
    // Without --resume nothing of it is touched.
    group.start_on_disk("a", &[]).end().failed(2, &["unfinished run", "resume it with --resume"]);
    let running = NAMES.map(|name| group.start_on_disk(name, &["--resume"]));
    running.into_iter().for_each(|party| drop(party.end().well()));
    assert!(group.is_done("a") && group.is_done("b"));
}

/// Another table than before is refused by its own party, which the others hear.
#[test]
fn another_table_is_refused() {
    let group = Group::cut_off();
    let table = group.home.at("c.csv");
    std::fs::write(&table, text(&table).replacen(",c ", ",d ", 1)).unwrap();
    group.start_on_disk("c", &["--resume"]).end().failed(5, &["c.csv", "not the table", "remove"]);
}

/// One party or several are killed at random moments: in the end all have their results.
#[test]
fn killed_parties_go_on() {
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let group = Group::with_tables(ROWS, 30_000);
    let mut noise = noise(seed);
    let limit = Duration::from_secs(120);
    let until = Instant::now() + limit;
    let (mut killed, mut whole) = (0, Duration::from_secs(1));
    let mut ended = [false; 3];
    // Who learns nothing cannot know that the others need it no longer, if it was killed at the very end.
    while !(ended[0] && ended[1]) {
        assert!(Instant::now() < until, "{killed} killed, and it does not end: {ended:?}");
        let started = Instant::now();
        let pending: Vec<_> = (0..3).filter(|place| !ended[*place]).collect();
        let running: Vec<_> =
            pending.iter().map(|place| group.start_on_disk(NAMES[*place], &["--resume", "--timeout", "3s"])).collect();
        if killed < 4 && running.len() == 3 {
            std::thread::sleep(whole.mul_f64((noise.next().unwrap() % 1000) as f64 / 1000.0));
            let victims = 1 + noise.next().unwrap() % 7;
            running
                .iter()
                .enumerate()
                .filter(|(place, _)| victims >> place & 1 == 1)
                .for_each(|(_, party)| party.signal(Signal::KILL));
            killed += 1;
        }
        for (place, party) in pending.into_iter().zip(running) {
            let end = party.end_within(limit);
            assert!([0, 3, -1].contains(&end.code), "{}: {} {}", NAMES[place], end.code, end.stderr);
            // Who has written alone keeps its directory, because others may still need it.
            ended[place] = end.code == 0 && files(&group.home.at(&format!("{}.work", NAMES[place]))).is_empty();
        }
        whole = started.elapsed().min(whole * 2);
    }
    assert!(killed > 0 && group.is_done("a") && group.is_done("b"), "after {whole:?}");
}

#[test]
fn what_is_not_there_on_disk_is_refused() {
    let group = Group::with_tables(JOIN, 10);
    group.start_on_disk("a", &[]).end().failed(2, &["--work", "payload", "\"rows\" can be on disk"]);
    group.wrote_nothing();
}
