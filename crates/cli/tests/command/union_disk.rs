//! Unions of tables on disk, `--work`: the same result as in memory, byte for byte, at both parties or at one, and
//! after a run that was cut off.

use std::time::{Duration, Instant};

use crate::common::dot::noise;
use crate::common::{Home, NAMES, Pair, Running, files, json, tacita, text};
use rustix::process::Signal;
use serde_json::Value;

/// Memory limit so low that a table of some ten thousand rows is sorted in several runs.
const LITTLE: &str = "70MiB";

const BOTH: &str = "job = \"union\"\nid = \"test\"\nreveal_to = [\"hospital\", \"insurer\"]\n";

const ONE: &str = "job = \"union\"\nid = \"test\"\nreveal_to = [\"insurer\"]\n";

const GIVES: &str = "gives = { hospital = [\"cost\", \"note\"], insurer = [\"note\"] }\n";

const GIVES_ONE: &str = "gives = { hospital = [\"cost\", \"note\"] }\n";

const PLAIN: &str = "[parties.hospital]\n[parties.insurer]\n";

fn key(duplicates: &str) -> String {
    format!("[key]\ncolumns = [\"name\", \"dob\"]\nnormalize = [\"name\", \"date\"]\nduplicates = \"{duplicates}\"\n")
}

/// A table of persons: repeated, empty and unreadable keys among them; `own` of the names are in no other table.
fn persons(rows: usize, seed: u64) -> String {
    let mut noise = noise(seed);
    let mut next = |below: u64| noise.next().unwrap() % below;
    let mut text = String::from("name,note,dob,cost\n");
    for row in 0..rows {
        let person = next(rows as u64 * 2);
        let whose = if next(2) == 0 { String::new() } else { format!(" of {seed}") };
        let name = match next(60) {
            0 => String::new(),
            1 => format!("\"Person, {person:x}{whose}\""),
            2 => format!("  PERSON {person:x}{whose} "),
            _ => format!("person {person:x}{whose}"),
        };
        let dob = match next(200) {
            0 => "no date".into(),
            _ => format!("{}-0{}-{}", 1950 + person % 50, 1 + person % 9, 10 + person % 18),
        };
        let note = match next(50) {
            0 => "\"two\nlines\"".into(),
            1 => String::new(),
            _ => format!("note {row}"),
        };
        text.push_str(&format!("{name},{note},{dob},{}\n", row % 97));
    }
    text
}

/// Runs a simulation in memory and on disk, and compares all that it writes and says.
#[track_caller]
fn compare(home: &Home, terms: &str, inputs: [&str; 2], format: &str) -> Value {
    let job = home.file("job.toml", terms);
    let inputs = [0, 1].map(|i| format!("{}={}", NAMES[i], inputs[i]));
    let (report, work) = (home.at("report.json"), home.at("work"));
    let run = |out: &str, more: &[&str]| {
        let out = home.at(out);
        let fixed = ["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--format", format];
        let ended = tacita(&[&fixed[..], &["--force", "--output", &out, "--report", &report], more].concat()).well();
        (ended.stdout, json(&report))
    };
    let (in_memory, expected) = run("memory", &[]);
    let (on_disk, report) = run("disk", &["--work", &work, "--memory", LITTLE]);
    assert_eq!(in_memory, on_disk);
    for name in NAMES {
        let file = |out: &str| std::fs::read(home.at(&format!("{out}/{name}.{format}"))).ok();
        assert!(file("memory") == file("disk"), "{name}.{format}");
        for key in ["rows", "result", "learned", "bytes", "rounds"] {
            assert_eq!(expected["parties"][name][key], report["parties"][name][key], "{name}: {key}");
        }
        assert_eq!(files(&home.at(&format!("work/{name}"))), [""; 0]);
    }
    report
}

#[test]
fn unions_are_as_in_memory() {
    unions_as_in_memory(4_000, &[(BOTH, GIVES, "all"), (ONE, GIVES_ONE, "first")]);
}

#[test]
#[ignore = "slow: two large tables, thrice"]
fn larger_unions_are_as_in_memory() {
    unions_as_in_memory(21_000, &[(BOTH, GIVES, "all"), (ONE, GIVES_ONE, "first"), (BOTH, "", "all")]);
}

/// Compares unions of a table of `rows` rows with one that is sorted in several runs.
fn unions_as_in_memory(rows: usize, unions: &[(&str, &str, &str)]) {
    for &(terms, parties, duplicates) in unions {
        let home = Home::new();
        let inputs =
            [(1, rows), (2, 33_000)].map(|(seed, rows)| home.file(&format!("{seed}.csv"), &persons(rows, seed)));
        let report =
            compare(&home, &format!("{terms}{parties}{}{PLAIN}", key(duplicates)), [&inputs[0], &inputs[1]], "csv");
        let insurer = &report["parties"]["insurer"];
        assert!(insurer["result"]["rows"].as_u64() > Some(20_000), "{insurer}");
        assert!(insurer["work"]["runs"].as_u64() >= Some(2), "{insurer}");
    }
}

#[test]
fn other_outputs_and_padding_are_as_in_memory() {
    let home = Home::new();
    let inputs = [3, 4].map(|seed| home.file(&format!("{seed}.csv"), &persons(1_000, seed)));
    for format in ["json", "parquet", "arrow"] {
        compare(&home, &format!("{BOTH}{GIVES}{}{PLAIN}", key("all")), [&inputs[0], &inputs[1]], format);
    }
    for limits in ["pad_to = 1700", "max_text = 40", "max_rows = 3000\npad_to = 2700\nmax_text = 64"] {
        compare(
            &home,
            &format!("{ONE}{GIVES_ONE}{}[limits]\n{limits}\n{PLAIN}", key("all")),
            [&inputs[0], &inputs[1]],
            "csv",
        );
    }
}

/// Each pair of tables with some of the terms, and all terms with some of the pairs.
#[test]
fn small_tables_are_as_in_memory() {
    small_tables_as_in_memory(false);
}

#[test]
#[ignore = "slow: each pair of tables with all terms"]
fn all_small_tables_are_as_in_memory() {
    small_tables_as_in_memory(true);
}

fn small_tables_as_in_memory(all: bool) {
    let home = Home::new();
    let key = "[key]\ncolumns = [\"name\"]\n";
    let full = home.file("full.csv", "name,x\nb,1\na,2\nb,3\n");
    let one = home.file("one.csv", "name\nb\n");
    let none = home.file("none.csv", "name,y\n");
    let nulls = home.file("nulls.csv", "name,y\n,1\n,2\n");
    let pairs = [[&full, &one], [&full, &none], [&none, &one], [&none, &none], [&nulls, &full]];
    for (place, pair) in pairs.into_iter().enumerate() {
        for (way, (terms, padded)) in [(BOTH, ""), (ONE, ""), (ONE, "pad_to = 300\n")].into_iter().enumerate() {
            if all || (place + way).is_multiple_of(2) {
                let terms = format!("{terms}{key}[limits]\nmin_rows = 0\n{padded}{PLAIN}");
                compare(&home, &terms, [pair[0], pair[1]], "csv");
            }
        }
    }
}

/// Checks that tables refused in memory are refused on disk in the same words, with the same positions.
#[test]
fn bad_tables_are_refused_as_in_memory() {
    let home = Home::new();
    let good = home.file("good.csv", "name,dob,note,cost\na,2001-01-01,,\n");
    let long = "x".repeat(80);
    let cases = [
        ("error", "", "name,dob,note,cost\nb,2001-01-01,,\na,2001-01-01,,\nb,2001-01-01,,\n".to_owned()),
        (
            "all",
            "[limits]\nmax_text = 40\n",
            format!("name,dob,note,cost\n\"x\ny\",2001-01-01,,\na,2001-01-01,{long},\n"),
        ),
        ("all", "[limits]\nmax_rows = 1\n", "name,dob,note,cost\na,2001-01-01,,\na,2001-01-01,,\n".to_owned()),
        ("all", "", "name,dob,cost\na,2001-01-01,1\n".to_owned()),
        ("all", "", "name,dob,note,cost,insurer.note\na,2001-01-01,,,\n".to_owned()),
        ("all", "", format!("name,dob,note,cost\n{}", format!("a,2001-01-01,{long},1\n").repeat(12_000))),
    ];
    for (duplicates, limits, table) in cases {
        let job = home.file("job.toml", &format!("{BOTH}{GIVES}{}{limits}{PLAIN}", key(duplicates)));
        let bad = home.file("bad.csv", &table);
        let inputs = [format!("hospital={bad}"), format!("insurer={good}")];
        let fixed = ["simulate", &job, "--input", &inputs[0], "--input", &inputs[1]];
        let line = tacita(&fixed).failed(2, &["bad.csv"]);
        let work = home.at("work");
        let on_disk = tacita(&[&fixed[..], &["--work", &work, "--memory", LITTLE]].concat()).failed(2, &["bad.csv"]);
        assert_eq!(line, on_disk);
        std::fs::remove_dir_all(&work).unwrap();
    }
}

#[test]
fn a_count_stays_in_memory() {
    let home = Home::new();
    let job = home.file("job.toml", &format!("{BOTH}reveal = \"count\"\n[key]\ncolumns = [\"name\"]\n{PLAIN}"));
    let table = home.file("table.csv", "name\na\n");
    let inputs = NAMES.map(|name| format!("{name}={table}"));
    let work = home.at("work");
    tacita(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--work", &work])
        .failed(2, &["--work: reveal = \"count\" keeps its tables in memory"]);
}

/// Starts a party with its work in NAME.work.
fn start(pair: &Pair, name: &str, more: &[&str]) -> Running {
    let work = pair.home.at(&format!("{name}.work"));
    pair.start(name, &[&["--work", &work, "--memory", LITTLE][..], more].concat())
}

/// Two parties with their tables, and what they write where both keep them in memory.
fn expected(terms: &str, rows: usize) -> (Pair, [String; 2]) {
    let pair = Pair::new(terms);
    NAMES.iter().zip([5, 6]).for_each(|(name, seed)| pair.table(name, &persons(rows, seed)));
    let running = NAMES.map(|name| pair.start(name, &[]));
    running.into_iter().for_each(|running| drop(running.end().well()));
    let written = NAMES.map(|name| text(pair.out(name, "rows.csv")));
    NAMES.iter().for_each(|name| std::fs::remove_file(pair.out(name, "rows.csv")).unwrap());
    (pair, written)
}

#[track_caller]
fn is_done(pair: &Pair, name: &str, expected: &str) -> bool {
    match std::fs::read_to_string(pair.out(name, "rows.csv")) {
        Ok(written) => {
            assert!(written == expected, "{name} wrote {} bytes instead of {}", written.len(), expected.len());
            true
        }
        Err(_) => false,
    }
}

#[test]
fn one_party_alone_may_have_its_table_on_disk() {
    let (pair, expected) = expected(&format!("{BOTH}{}", key("all")), 3_000);
    for on_disk in NAMES {
        let running = NAMES.map(|name| if name == on_disk { start(&pair, name, &[]) } else { pair.start(name, &[]) });
        running.into_iter().for_each(|running| drop(running.end().well()));
        for (name, expected) in NAMES.iter().zip(&expected) {
            assert!(is_done(&pair, name, expected));
            std::fs::remove_file(pair.out(name, "rows.csv")).unwrap();
        }
        assert_eq!(files(&pair.home.at(&format!("{on_disk}.work"))), [""; 0]);
    }
}

#[test]
fn killed_parties_go_on_to_the_same_result() {
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let (pair, expected) = expected(&format!("{BOTH}{}", key("all")), 6_000);
    let mut noise = noise(seed);
    let (mut killed, until) = (0, Instant::now() + Duration::from_secs(120));
    let done = |pair: &Pair, at: usize| is_done(pair, NAMES[at], &expected[at]);
    while !(done(&pair, 0) && done(&pair, 1)) {
        assert!(Instant::now() < until, "{killed} killed, and it does not end");
        // Who has written alone keeps its directory, because its peer may still need it.
        let over = |at: usize| done(&pair, at) && files(&pair.home.at(&format!("{}.work", NAMES[at]))).is_empty();
        let pending = (0..2).filter(|&at| !over(at));
        let running: Vec<_> = pending.map(|at| start(&pair, NAMES[at], &["--resume", "--timeout", "3s"])).collect();
        if killed < 4 && running.len() == 2 {
            std::thread::sleep(Duration::from_millis(200 + noise.next().unwrap() % 2000));
            let victims = noise.next().unwrap() % 3;
            for (position, party) in running.iter().enumerate() {
                if victims == 2 || victims == position as u64 {
                    party.signal(Signal::KILL);
                }
            }
            killed += 1;
        }
        for party in running {
            let ended = party.end_within(Duration::from_secs(60));
            assert!([0, 3, -1].contains(&ended.code), "{}: {}", ended.code, ended.stderr);
        }
    }
    assert!(killed > 0);
}

/// A pair of which the hospital has sorted its table, and was killed then.
fn cut_off() -> (Pair, [String; 2]) {
    let (pair, expected) = expected(&format!("{BOTH}{}", key("all")), 4_000);
    let mut hospital = start(&pair, "hospital", &[]);
    hospital.until_it_says("sorted 4,000 rows");
    hospital.signal(Signal::KILL);
    hospital.end();
    assert!(files(&pair.home.at("hospital.work")).contains(&"keys.sealed".to_owned()));
    (pair, expected)
}

#[test]
fn a_sorted_table_is_used_again_and_another_one_is_refused() {
    let (pair, expected) = cut_off();
    start(&pair, "hospital", &[]).end().failed(2, &["unfinished run", "resume it with --resume", "remove it"]);
    let table = pair.home.at("hospital.csv");
    let rows = text(&table);
    std::fs::write(&table, rows.replacen("note 7", "note 8", 1)).unwrap();
    start(&pair, "hospital", &["--resume"]).end().failed(5, &["hospital.csv", "not the table", "remove"]);
    std::fs::write(&table, rows).unwrap();
    let mut hospital = start(&pair, "hospital", &["--resume"]);
    hospital.until_it_says("the sorted table is there");
    let insurer = pair.start("insurer", &[]);
    [hospital, insurer].into_iter().for_each(|running| drop(running.end().well()));
    (0..2).for_each(|at| assert!(is_done(&pair, NAMES[at], &expected[at])));
    assert_eq!(files(&pair.home.at("hospital.work")), [""; 0]);
}

#[test]
fn damaged_files_are_noticed() {
    let (pair, _) = cut_off();
    let work = pair.home.at("hospital.work");
    for name in ["keys.sealed", "rows.sealed", "state.sealed"] {
        let path = format!("{work}/{name}");
        let whole = std::fs::read(&path).unwrap();
        assert!(!whole.windows(6).any(|part| part == b"person"), "{name}");
        for at in [10, whole.len() / 2, whole.len() - 1] {
            let mut damaged = whole.clone();
            damaged[at] ^= 1;
            std::fs::write(&path, damaged).unwrap();
            let hospital = start(&pair, "hospital", &["--resume"]);
            let insurer = (name == "keys.sealed").then(|| pair.start("insurer", &[]));
            hospital.end().failed(2, &[name, "damaged", "start the run anew"]);
            drop(insurer);
        }
        std::fs::write(&path, whole).unwrap();
    }
}

/// A result that could not be written is there all the same: a resumed run writes it, without the peer.
#[test]
fn what_was_received_is_written_without_the_peer() {
    let (pair, expected) = expected(&format!("{BOTH}{}", key("all")), 2_000);
    let place = pair.home.at("gone");
    std::fs::create_dir(&place).unwrap();
    let output = format!("{place}/rows.csv");
    let work = pair.home.at("hospital.work");
    let input = pair.home.at("hospital.csv");
    let go = |more: &[&str]| {
        let fixed = ["--input", &input, "--force", "--output", &output];
        pair.start_on("hospital", &fixed, &[&["--work", &work, "--memory", LITTLE], more].concat())
    };
    let mut hospital = go(&[]);
    hospital.until_it_says("sorted 2,000 rows");
    std::fs::remove_dir(&place).unwrap();
    let insurer = pair.start("insurer", &[]);
    hospital.end().failed(2, &["gone/rows.csv", "is kept: --resume writes the result, without the other parties"]);
    insurer.end().well();
    std::fs::create_dir(&place).unwrap();
    go(&["--resume"]).end().well();
    assert!(text(&output) == expected[0]);
    assert_eq!(files(&work), [""; 0]);
}

/// Memory does not grow with the tables.
#[test]
#[ignore = "minutes: two million rows"]
fn millions_of_rows_take_little_memory() {
    let home = Home::new();
    let rows = 2_000_000u64;
    let table = |first: u64| {
        let mut text = String::from("name,note\n");
        (0..rows).for_each(|row| text.push_str(&format!("n{},note of {row}\n", first + row * 7919 % rows)));
        text
    };
    let inputs = [home.file("a.csv", &table(0)), home.file("b.csv", &table(rows / 2))];
    let job = home.file("job.toml", &format!("{ONE}[key]\ncolumns = [\"name\"]\n{PLAIN}"));
    let inputs = [0, 1].map(|i| format!("{}={}", NAMES[i], inputs[i]));
    let (report, work, out) = (home.at("report.json"), home.at("work"), home.at("out"));
    let memory = 160u64 << 20;
    let fixed = ["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out];
    tacita(&[&fixed[..], &["--report", &report, "--work", &work, "--memory", "160MiB"]].concat()).well();
    let report = json(&report);
    assert_eq!(report["parties"]["insurer"]["result"]["rows"], rows + rows / 2);
    for name in NAMES {
        let peak = report["parties"][name]["peak_memory"].as_u64().unwrap();
        assert!(peak < memory, "{name}: {peak}");
    }
}

/// One key with as many rows as the limit allows, in memory: that they are rounded up to a power of two is nobody's
/// fault.
#[test]
fn one_key_may_have_all_rows_that_the_limit_allows() {
    let home = Home::new();
    for (rows, limit) in [(5, 5), (5, 6), (5, 7), (3, 3)] {
        let theirs: String = (0..rows).map(|row| format!("2,y{row}\n")).collect();
        let (a, b) = (home.file("a.csv", "id,note\n1,x\n"), home.file("b.csv", &format!("id,note\n{theirs}")));
        let job = home.file(
            "job.toml",
            &format!(
                "job = \"union\"\nid = \"t\"\nreveal_to = [\"a\"]\ngives = {{ b = [\"note\"] }}\n\
                 [key]\ncolumns = [\"id\"]\n[limits]\nmax_rows = {limit}\n[parties.a]\n[parties.b]\n"
            ),
        );
        let inputs = [("a", a), ("b", b)].map(|(name, path)| format!("{name}={path}"));
        let out = home.at("out");
        tacita(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out]).well();
        assert_eq!(text(home.at("out/a.csv")), format!("id,note,b.note\n1,x,\n{}", theirs.replace("2,y", "2,,y")));
    }
}
