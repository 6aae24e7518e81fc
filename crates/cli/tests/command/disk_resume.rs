//! Runs on disk that were cut off: they go on where they were, with the same result, or say what to do.

use std::collections::BTreeMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::dot::noise;
use crate::common::{NAMES, Pair, Running, files, text};
use rustix::process::Signal;

const TERMS: &str =
    "job = \"intersect\"\nid = \"test\"\nreveal_to = [\"hospital\", \"insurer\"]\n[key]\ncolumns = [\"name\"]\n";

/// Memory limit so low that there are many buckets.
const LITTLE: &str = "76MiB";

/// Two tables of `rows` rows, half of which have their name in both, and what the parties should write.
fn tables(pair: &Pair, rows: usize) -> [String; 2] {
    let own = |party: usize, row: usize| {
        // Row numbers in an order of their own.
        let person = row * 2_654_435_761 % rows;
        format!(
            "{},{row} at {party}\n",
            if person.is_multiple_of(2) { format!("p{person}") } else { format!("{party}p{person}") }
        )
    };
    [0, 1].map(|party| {
        let lines: Vec<String> = (0..rows).map(|row| own(party, row)).collect();
        pair.table(NAMES[party], &format!("name,note\n{}", lines.concat()));
        let mut common: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for line in lines.iter().filter(|line| line.starts_with('p')) {
            common.entry(line.split(',').next().unwrap()).or_default().push(line);
        }
        format!("name,note\n{}", common.into_values().flatten().collect::<String>())
    })
}

/// Starts a party with its work in NAME.work.
fn start(pair: &Pair, name: &str, more: &[&str]) -> Running {
    start_with(LITTLE, pair, name, more)
}

fn start_with(memory: &str, pair: &Pair, name: &str, more: &[&str]) -> Running {
    let work = pair.home.at(&format!("{name}.work"));
    pair.start(name, &[&["--work", &work, "--memory", memory][..], more].concat())
}

/// Whether a party has written its result, whole; nothing else is ever there under its name.
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

/// Whether a party is done, and its peer needs it no longer: who has written alone keeps its directory.
#[track_caller]
fn is_over(pair: &Pair, name: &str, expected: &str) -> bool {
    is_done(pair, name, expected) && files(&pair.home.at(&format!("{name}.work"))).is_empty()
}

/// Kills one party or both at random moments, `kills` times, and lets them come to the end.
fn kill_and_resume(rows: usize, memory: &str, kills: usize, seed: u64, limit: Duration) {
    println!("seed {seed}");
    let pair = Pair::new(TERMS);
    let expected = tables(&pair, rows);
    let mut noise = noise(seed);
    let mut killed = 0;
    let until = Instant::now() + limit;
    // How long an attempt takes, so that kills hit all of it.
    let mut whole = Duration::from_millis(300 + rows as u64 / 50);
    while !NAMES.iter().zip(&expected).all(|(name, expected)| is_done(&pair, name, expected)) {
        assert!(Instant::now() < until, "{killed} killed, and it does not end");
        let pending = NAMES.iter().zip(&expected).filter(|(name, expected)| !is_over(&pair, name, expected));
        let started = Instant::now();
        let mut running: Vec<_> =
            pending.map(|(name, _)| start_with(memory, &pair, name, &["--resume", "--timeout", "3s"])).collect();
        if killed < kills && running.len() == 2 {
            std::thread::sleep(whole.mul_f64((noise.next().unwrap() % 1000) as f64 / 1000.0));
            let victims = noise.next().unwrap() % 3;
            for (position, party) in running.iter().enumerate() {
                if victims == 2 || victims == position as u64 {
                    party.signal(Signal::KILL);
                }
            }
            killed += 1;
        }
        let codes: Vec<_> = running.drain(..).map(|party| party.end_within(limit)).collect();
        for ended in &codes {
            assert!([0, 3, -1].contains(&ended.code), "{}: {}", ended.code, ended.stderr);
        }
        if codes.iter().all(|ended| ended.code == 0) {
            whole = started.elapsed();
        }
    }
    assert!(killed > 0);
}

#[test]
fn killed_parties_go_on_where_they_were() {
    let seed = u64::from(std::process::id());
    kill_and_resume(1 << 15, LITTLE, 4, seed, Duration::from_secs(60));
}

#[test]
#[ignore = "minutes: four million rows, killed ten times"]
fn killed_parties_with_millions_of_rows_go_on() {
    kill_and_resume(1 << 22, "512MiB", 10, 7, Duration::from_secs(3600));
}

/// A pair of which the hospital has sorted its table, and was killed then.
fn cut_off(terms: &str) -> (Pair, [String; 2]) {
    let pair = Pair::new(terms);
    let expected = tables(&pair, 20_000);
    let mut hospital = start(&pair, "hospital", &[]);
    hospital.until_it_says("sorted 20,000 rows");
    hospital.signal(Signal::KILL);
    hospital.end();
    assert!(files(&pair.home.at("hospital.work")).contains(&"keys.sealed".to_owned()));
    (pair, expected)
}

/// Both go on, and come to their results.
#[track_caller]
fn ends_well(pair: &Pair, expected: &[String; 2], more: &[&str]) {
    let running = NAMES.map(|name| start(pair, name, more));
    running.into_iter().for_each(|running| drop(running.end().well()));
    for (name, expected) in NAMES.iter().zip(expected) {
        assert!(is_done(pair, name, expected));
        assert_eq!(files(&pair.home.at(&format!("{name}.work"))), [""; 0]);
    }
}

#[test]
fn what_is_sorted_is_used_again() {
    let (pair, expected) = cut_off(TERMS);
    start(&pair, "hospital", &[]).end().failed(2, &["unfinished run", "resume it with --resume", "remove it"]);
    // The same table under another date is the same.
    std::fs::File::options()
        .append(true)
        .open(pair.home.at("hospital.csv"))
        .unwrap()
        .set_modified(std::time::SystemTime::UNIX_EPOCH)
        .unwrap();
    start(&pair, "hospital", &["--resume"]).until_it_says("the sorted table is there");
    // The insurer has nothing to resume, which is no error.
    ends_well(&pair, &expected, &["--resume"]);
}

#[test]
fn another_table_and_other_terms_are_refused() {
    let (pair, _) = cut_off(TERMS);
    let resumed = || start(&pair, "hospital", &["--resume"]);
    let job = pair.home.at("hospital.toml");
    let original = text(&job);
    std::fs::write(&job, original.replace("\"test\"", "\"another\"")).unwrap();
    resumed().end().failed(5, &["terms have changed", "\"test\"", "remove the directory"]);
    // A mapping of one's own is no term, and makes other keys all the same.
    std::fs::write(
        &job,
        format!("{original}\n").replace("[parties.insurer]", "columns = { name = \"note\" }\n[parties.insurer]"),
    )
    .unwrap();
    resumed().end().failed(5, &["other columns, profiles, nulls", "remove"]);
    std::fs::write(&job, &original).unwrap();
    start(&pair, "hospital", &["--resume", "--skip", "1"]).end().failed(5, &["reading options", "remove"]);
    let table = pair.home.at("hospital.csv");
    let rows = text(&table);
    std::fs::write(&table, rows.replacen("at 0", "at 9", 1)).unwrap();
    resumed().end().failed(5, &["hospital.csv", "not the table", "remove"]);
    std::fs::write(&table, rows).unwrap();
    resumed().until_it_says("the sorted table is there");
}

#[test]
fn a_run_of_another_version_is_refused_with_what_to_do() {
    let (pair, _) = cut_off(TERMS);
    let head = pair.home.at("hospital.work/run.json");
    let good = text(&head);
    assert!(good.contains("\"tacita_work\": 2"), "{good}");
    for (version, which) in [("1", "an older"), ("3", "a newer")] {
        std::fs::write(&head, good.replace("\"tacita_work\": 2", &format!("\"tacita_work\": {version}"))).unwrap();
        let ended = start(&pair, "hospital", &["--resume"]).end();
        ended.failed(
            2,
            &["hospital.work", &format!("begun by {which} version"), "remove the directory and start again"],
        );
    }
    std::fs::write(&head, good).unwrap();
    start(&pair, "hospital", &["--resume"]).until_it_says("the sorted table is there");
}

#[test]
fn another_identity_opens_nothing() {
    let (mut pair, _) = cut_off(TERMS);
    let work = pair.home.at("hospital.work");
    let whole = tacita_node::identity::Identity::create(Path::new(&pair.home.at("other")), "other").unwrap();
    pair.identify("hospital", &whole);
    start(&pair, "hospital", &["--resume"]).end().failed(2, &["begun by SHA256:", "use that identity"]);
    // Nor does one that claims to be the first.
    let head = format!("{work}/run.json");
    let line = |text: &str, key: &str| text.lines().find(|line| line.contains(key)).unwrap().to_owned();
    let old = line(&text(&head), "\"identity\"");
    let forged = text(&head).replace(&old, &format!("  \"identity\": \"{}\",", whole.fingerprint()));
    std::fs::write(&head, &forged).unwrap();
    let ended = start(&pair, "hospital", &["--resume"]).end();
    assert!([2, 5].contains(&ended.code), "{}", ended.stderr);
    assert!(ended.stderr.contains("damaged") || ended.stderr.contains("terms have changed"), "{}", ended.stderr);
}

#[test]
fn one_directory_is_for_one_process() {
    let pair = Pair::new(TERMS);
    tables(&pair, 100);
    let mut first = start(&pair, "hospital", &["--timeout", "20s"]);
    first.until_it_says("sorted 100 rows");
    for more in [&["--listen", "127.0.0.1:0"][..], &["--listen", "127.0.0.1:0", "--resume"]] {
        start(&pair, "hospital", more).end().failed(2, &["another run uses this directory"]);
    }
    drop(first);
}

/// Changes a byte of a file, counted from its end if negative.
fn damage(path: &str, at: i64) {
    let mut file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let from = |at: i64| if at < 0 { SeekFrom::End(at) } else { SeekFrom::Start(at as u64) };
    let mut byte = [0];
    file.seek(from(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(from(at)).unwrap();
    file.write_all(&[byte[0] ^ 1]).unwrap();
}

#[test]
fn damaged_files_are_noticed() {
    let (pair, _) = cut_off(TERMS);
    let work = pair.home.at("hospital.work");
    let keep: BTreeMap<_, _> =
        files(&work).into_iter().map(|name| (name.clone(), std::fs::read(format!("{work}/{name}")).unwrap())).collect();
    let names: Vec<_> = keep.keys().map(String::as_str).collect();
    assert_eq!(names, ["keys.sealed", "rows.sealed", "run.json", "run.lock", "state.sealed"]);
    for (name, bytes) in &keep {
        let text = std::str::from_utf8(bytes);
        assert!(
            name.starts_with("run.") || text.is_err_and(|_| !bytes.windows(5).any(|part| part == b" at 0")),
            "{name}"
        );
    }
    // Seen at once.
    let early = [("state.sealed", 30), ("state.sealed", -1), ("keys.sealed", 10), ("rows.sealed", 10), ("run.json", 0)];
    // Seen when it is read.
    let late = [("keys.sealed", -1), ("keys.sealed", 1000), ("rows.sealed", 2000), ("rows.sealed", -1)];
    for (position, (name, at)) in early.into_iter().chain(late).enumerate() {
        let path = format!("{work}/{name}");
        damage(&path, at);
        let hospital = start(&pair, "hospital", &["--resume"]);
        let insurer = (position >= early.len()).then(|| pair.start("insurer", &[]));
        hospital.end().failed(2, &[name, "damaged", "start the run anew"]);
        drop(insurer);
        assert!(!Path::new(&pair.out("hospital", "rows.csv")).exists());
        for (name, bytes) in &keep {
            std::fs::write(format!("{work}/{name}"), bytes).unwrap();
        }
        files(&work)
            .iter()
            .filter(|name| !keep.contains_key(*name))
            .for_each(|name| std::fs::remove_file(format!("{work}/{name}")).unwrap());
    }
    // Cut off.
    std::fs::File::options().write(true).open(format!("{work}/state.sealed")).unwrap().set_len(100).unwrap();
    start(&pair, "hospital", &["--resume"]).end().failed(2, &["state.sealed", "damaged"]);
}

#[test]
fn a_full_disk_can_be_gone_on_from() {
    let pair = Pair::new(TERMS);
    let expected = tables(&pair, 20_000);
    let at = |name: &str| pair.home.at(name);
    // A file may not grow beyond 200 kB, and whoever tries is told so rather than killed.
    let command = format!(
        "trap '' XFSZ; ulimit -f 200; exec {} run {} --as hospital --identity {} --input {} --work {} --memory {LITTLE} --timeout 20s",
        env!("CARGO_BIN_EXE_tacita"),
        at("hospital.toml"),
        at("hospital"),
        at("hospital.csv"),
        at("hospital.work"),
    );
    let ended = Command::new("sh").args(["-c", &command]).stderr(Stdio::piped()).output().unwrap();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    for words in ["hospital.work/", "the disk is full", "the run needs about", "--resume goes on"] {
        assert!(said.contains(words), "{said}");
    }
    ends_well(&pair, &expected, &["--resume"]);
}

#[test]
fn who_begins_anew_while_the_other_resumes_is_told() {
    let pair = Pair::new(TERMS);
    let expected = tables(&pair, 1 << 16);
    // Until some buckets are done.
    let running = NAMES.map(|name| start(&pair, name, &[]));
    let until = Instant::now() + Duration::from_secs(20);
    let finished = |name: &str| {
        files(&pair.home.at(&format!("{name}.work")))
            .iter()
            .any(|file| file.starts_with("result-") && file.ends_with(".sealed"))
    };
    while !NAMES.iter().all(|name| Path::new(&pair.home.at(&format!("{name}.work"))).exists() && finished(name)) {
        assert!(Instant::now() < until);
        std::thread::sleep(Duration::from_millis(1));
    }
    running.iter().for_each(|party| party.signal(Signal::KILL));
    running.into_iter().for_each(|running| drop(running.end()));
    std::fs::rename(pair.home.at("insurer.work"), pair.home.at("kept")).unwrap();
    let running = NAMES.map(|name| start(&pair, name, &["--resume"]));
    for ended in running.map(|running| running.end()) {
        let line = ended.failed(5, &["start again"]);
        assert!(line.contains("resume"), "{line}");
    }
    // A party that keeps nothing may come again, and is done all buckets with.
    let insurer = pair.start("insurer", &[]);
    let hospital = start(&pair, "hospital", &["--resume"]);
    let ended = [hospital.end().well(), insurer.end().well()];
    assert!(ended[0].stderr.contains("keeps nothing on disk"), "{}", ended[0].stderr);
    assert!(NAMES.iter().zip(&expected).all(|(name, expected)| is_done(&pair, name, expected)));
}

#[test]
fn a_directory_that_others_can_write_to_is_refused_and_so_are_links_in_it() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let pair = Pair::new(TERMS);
    tables(&pair, 100);
    let work = pair.home.directory("hospital.work");
    let set_mode = |mode| std::fs::set_permissions(&work, std::fs::Permissions::from_mode(mode)).unwrap();
    set_mode(0o775);
    start(&pair, "hospital", &[]).end().failed(2, &["/hospital.work: others can write", "chmod 700"]);
    set_mode(0o700);
    let precious = pair.home.file("precious", "precious");
    for name in ["run.lock", "run.json"] {
        symlink(&precious, format!("{work}/{name}")).unwrap();
        start(&pair, "hospital", &[]).end().failed(2, &[name, "is a link", "remove it"]);
        std::fs::remove_file(format!("{work}/{name}")).unwrap();
    }
    // Files that are made take the place of what is there.
    for name in ["state.sealed.part", "keys.sealed", "buckets.sealed", ".tacita-run.json.part"] {
        symlink(&precious, format!("{work}/{name}")).unwrap();
    }
    start(&pair, "hospital", &["--timeout", "1s"]).end().failed(3, &[]);
    let left = files(&work);
    assert!(left.iter().any(|name| name == "state.sealed"), "{left:?}");
    for name in left {
        assert!(!Path::new(&work).join(&name).is_symlink(), "{name}");
    }
    // A run is resumed from its own files only.
    let (state, moved) = (format!("{work}/state.sealed"), pair.home.at("moved"));
    std::fs::rename(&state, &moved).unwrap();
    symlink(&moved, &state).unwrap();
    start(&pair, "hospital", &["--resume"]).end().failed(2, &["state.sealed", "is a link", "remove it"]);
    assert_eq!(text(&precious), "precious");
}
