//! Jobs that must not run: strangers, differing terms, bad input, and what this version does not have. Each ends with
//! the exit code of the contract, one line of error, and no file.

use std::time::{Duration, SystemTime};

use crate::common::{Ended, Home, NAMES, Pair, Running, examples, files, tacita, text};
use tacita_node::identity::{Identity, VALIDITY};

const DAY: Duration = Duration::from_secs(24 * 3600);

const TERMS: &str = "job = \"intersect\"\nid = \"test\"\nreveal_to = [\"hospital\"]\n\
                     [key]\ncolumns = [\"name\"]\nnormalize = [\"name\"]\n[limits]\nmax_rows = 1000\n";

fn pair(terms: &str) -> Pair {
    let pair = Pair::new(terms);
    for name in NAMES {
        pair.table(name, "name,born\nJane Doe,1970-01-01\nJohn Roe,1971-02-03\n");
    }
    pair
}

/// Runs both parties to their ends, and checks that they have written nothing.
#[track_caller]
fn run_both(pair: &Pair) -> [Ended; 2] {
    run_both_within(pair, "10s")
}

/// The same, where one that listens waits for so long.
#[track_caller]
fn run_both_within(pair: &Pair, timeout: &str) -> [Ended; 2] {
    let ended = NAMES.map(|name| pair.start(name, &["--timeout", timeout])).map(Running::end);
    for (name, ended) in NAMES.into_iter().zip(&ended) {
        assert_eq!(files(&pair.home.at(&format!("{name}.out"))), [""; 0], "{name}");
        assert_eq!(ended.stdout, "", "{name}");
        assert!(ended.took < Duration::from_secs(8), "{name} took {:?}: {}", ended.took, ended.stderr);
    }
    ended
}

fn identity(from: SystemTime, to: SystemTime) -> Identity {
    Identity::generate("test", from, to).unwrap()
}

#[test]
fn another_key_than_the_expected_one_is_refused_at_both_ends() {
    for (stranger, peer) in [("hospital", "insurer"), ("insurer", "hospital")] {
        let mut pair = pair(TERMS);
        let before = text(pair.home.at(&format!("{peer}.toml")));
        let now = SystemTime::now();
        pair.identify(stranger, &identity(now, now + VALIDITY));
        // The peer has not heard of it.
        pair.home.file(&format!("{peer}.toml"), &before);
        let fingerprint = pair.fingerprint(stranger).to_owned();
        let [hospital, insurer] = run_both_within(&pair, "4s");
        let (of_peer, of_stranger) = if stranger == "hospital" { (insurer, hospital) } else { (hospital, insurer) };
        of_peer.failed(4, &[stranger, &fingerprint]);
        of_stranger.failed(4, &[peer]);
    }
}

#[test]
fn a_certificate_out_of_its_dates_is_refused_at_both_ends() {
    certificates_are_refused(NAMES);
}

#[test]
#[ignore = "slow: the other way round"]
fn another_certificate_out_of_its_dates_is_refused_at_both_ends() {
    certificates_are_refused([NAMES[1], NAMES[0]]);
}

/// Checks what both say if a certificate of `past` has expired, and if one of `future` is not valid yet.
fn certificates_are_refused([past, future]: [&str; 2]) {
    let now = SystemTime::now();
    for (late, peer, from, to, word) in
        [(past, future, now - 2 * DAY, now - DAY, "expired"), (future, past, now + DAY, now + 2 * DAY, "valid")]
    {
        let mut pair = pair(TERMS);
        pair.identify(late, &identity(from, to));
        let [hospital, insurer] = run_both_within(&pair, "4s");
        let (of_peer, of_late) = if late == "hospital" { (insurer, hospital) } else { (hospital, insurer) };
        of_peer.failed(4, &[late, word]);
        of_late.failed(4, &[peer]);
    }
}

#[test]
fn the_hour_of_slack_lets_clocks_differ() {
    let now = SystemTime::now();
    let mut pair = pair(TERMS);
    pair.identify("hospital", &identity(now - 2 * DAY, now - Duration::from_secs(1800)));
    pair.identify("insurer", &identity(now + Duration::from_secs(1800), now + DAY));
    for ended in NAMES.map(|name| pair.start(name, &[])).map(Running::end) {
        ended.well();
    }
}

#[test]
fn a_certificate_of_another_key_is_refused() {
    // In place of one's own: the program does not start with it.
    let pair = pair(TERMS);
    let crt = |name: &str| pair.home.at(&format!("{name}/identity.crt"));
    std::fs::copy(crt("hospital"), crt("insurer")).unwrap();
    pair.start("insurer", &[]).end().failed(2, &["identity.crt", "does not belong to the key"]);

    // The identities of the two parties swapped in one of the job files.
    let swapped = pair.job(&format!(
        "{TERMS}[parties.hospital]\naddress = \"ADDRESS\"\nidentity = \"INSURER\"\n[parties.insurer]\nidentity = \"HOSPITAL\"\n"
    ));
    pair.home.file("hospital.toml", &swapped);
    pair.start("hospital", &[]).end().failed(2, &["parties.hospital.identity", pair.fingerprint("hospital")]);
}

#[test]
fn differing_terms_are_named_at_both_ends() {
    let cases = [
        ("id", TERMS.replace("\"test\"", "\"other\"")),
        ("reveal_to", TERMS.replace("[\"hospital\"]", "[\"insurer\"]")),
        ("reveal ", TERMS.replace("[key]", "reveal = \"count\"\n[key]")),
        ("protocol", TERMS.replace("[key]", "protocol = \"ecdh\"\n[key]")),
        ("key.columns", TERMS.replace("[\"name\"]\nnorm", "[\"born\"]\nnorm")),
        ("key.normalize", TERMS.replace("normalize = [\"name\"]", "normalize = [\"text\"]")),
        ("key.duplicates", TERMS.replace("[limits]", "duplicates = \"first\"\n[limits]")),
        ("key.duplicates", TERMS.replace("[limits]", "duplicates = \"multiset\"\n[limits]")),
        ("key.nulls", TERMS.replace("[limits]", "nulls = \"error\"\n[limits]")),
        ("limits.max_rows", TERMS.replace("1000", "1001")),
        ("limits.pad_to", format!("{TERMS}pad_to = 10\n")),
        ("limits.min_result", format!("{TERMS}min_result = 2\n")),
    ];
    for (key, terms) in cases {
        let pair = pair(TERMS);
        assert_ne!(terms, TERMS, "{key}");
        pair.home.file("insurer.toml", &pair.job(&terms));
        for ended in run_both(&pair) {
            ended.failed(5, &["the terms differ", key, "ours", "theirs"]);
        }
    }
}

#[test]
fn own_mappings_and_addresses_are_no_terms() {
    let pair = pair(TERMS);
    let parties = "[parties.hospital]\naddress = \"ADDRESS\"\nidentity = \"HOSPITAL\"\n[parties.insurer]\n\
                   address = \"elsewhere.example:1\"\nidentity = \"INSURER\"\ncolumns = { name = \"person\" }\n\
                   normalize = [\"name\"]\n";
    pair.home.file("insurer.toml", &pair.job(&format!("{TERMS}{parties}")));
    pair.table("insurer", "person\n\"ROE, John\"\n");
    let [hospital, insurer] = NAMES.map(|name| pair.start(name, &[])).map(Running::end);
    assert_eq!(hospital.well().stdout, "rows 1\n");
    assert_eq!(insurer.well().stdout, "");
}

#[test]
fn bad_input_ends_both_at_once() {
    let cases = [
        ("who,born\nJane Doe,1970-01-01\n", "no column \"name\""),
        ("name,born\nJane Doe\n", "line 2"),
        ("", "standard input"),
    ];
    for (table, word) in cases {
        for (faulty, peer) in [("hospital", "insurer"), ("insurer", "hospital")] {
            let pair = pair(TERMS);
            let mut faulty_run = pair.start_on(faulty, &["--input", "-"], &[]);
            let mut peer_run = pair.start(peer, &[]);
            faulty_run.until_it_says("connected to");
            peer_run.until_it_says("connected to");
            faulty_run.feed(table);
            faulty_run.end().failed(2, &[word]);
            peer_run.end().failed(3, &[faulty, "input"]);
            assert_eq!(files(&pair.home.at(&format!("{peer}.out"))), [""; 0]);
        }
    }
}

#[test]
fn limits_and_memory_end_both_at_once() {
    let rows: String = (0..6).map(|number| format!("person {number}\n")).collect();
    for (terms, more, words) in [
        (TERMS.replace("1000", "5"), &[][..], ["6 distinct keys", "limits.max_rows"]),
        (format!("{TERMS}pad_to = 5\n"), &[], ["6 distinct keys", "limits.pad_to"]),
        (TERMS.to_owned(), &["--memory", "1MiB"], ["--memory", "1.0 MB"]),
    ] {
        let pair = pair(&terms);
        let mut faulty = pair.start_on("insurer", &["--input", "-"], more);
        let mut peer = pair.start("hospital", &[]);
        faulty.until_it_says("connected to");
        peer.until_it_says("connected to");
        faulty.feed(&format!("name\n{rows}"));
        faulty.end().failed(2, &words);
        peer.end().failed(3, &["insurer", "input"]);
    }
}

#[test]
fn mostly_unreadable_keys_are_refused_unless_allowed() {
    let terms = TERMS.replace("\"name\"", "\"born\"").replace("normalize = [\"born\"]", "normalize = [\"date\"]");
    let pair = pair(&terms);
    pair.table("hospital", "born\n13.14.1999\nsoon\n1970-01-01\n");
    pair.start("hospital", &[]).end().failed(2, &["--allow-unreadable"]);
    let [hospital, insurer] = [("hospital", &["--allow-unreadable"][..]), ("insurer", &[])]
        .map(|(name, more)| pair.start(name, more))
        .map(Running::end);
    assert_eq!(hospital.well().stdout, "rows 1\n");
    insurer.well();
}

#[test]
fn a_peer_that_does_not_come_is_waited_for_as_long_as_said() {
    for (name, peer) in [("hospital", "insurer"), ("insurer", "hospital")] {
        let pair = pair(TERMS);
        let ended = pair.start(name, &["--timeout", "700ms"]).end();
        ended.failed(3, &[peer, &pair.address]);
        assert!((700..5000).contains(&ended.took.as_millis()), "{:?}", ended.took);
    }
}

#[test]
fn what_cannot_work_is_said_before_anything_is_sent() {
    let pair = pair(TERMS);
    let at = |name: &str| pair.home.at(name);
    let csv = at("hospital.csv");
    let start = |files: &[&str], more: &[&str]| pair.start_on("hospital", files, more).end();
    start(&["--input", &at("absent.csv")], &[]).failed(2, &["absent.csv"]);
    start(&["--input", &csv, "--force", "--output", &at("absent/rows.csv")], &[]).failed(2, &["absent"]);
    start(&["--input", &csv, "--force", "--output", &at("rows.ods")], &[]).failed(2, &["rows.ods", ".parquet"]);
    start(&["--input", &csv], &["--listen", "no.such.host.example:1"]).failed(2, &["--listen"]);
    pair.start("insurer", &["--listen", "127.0.0.1:0"]).end().failed(2, &["--listen", "dials"]);
    let job = at("hospital.toml");
    let run = |me: &str, identity: &str| tacita(&["run", &job, "--as", me, "--identity", identity, "--input", &csv]);
    run("pharmacy", &at("hospital")).failed(2, &["pharmacy", "hospital, insurer"]);
    run("hospital", &at("absent")).failed(2, &["absent", "tacita identity new"]);
    run("hospital", &at("insurer")).failed(2, &["parties.hospital.identity"]);
    // Usage: no error line of ours, but the same code.
    assert_eq!(tacita(&["run", &job, "--as", "hospital", "--colour"]).code, 2);
    assert_eq!(tacita(&["run", &job, "--as", "hospital", "--identity", &at("hospital")]).code, 2);
}

#[test]
fn what_this_version_does_not_have_is_refused_with_what_it_has() {
    let home = Home::new();
    let good = format!("{TERMS}[parties.hospital]\n[parties.insurer]\n");
    let change = |from: &str, to: &str| {
        assert!(good.contains(from), "{from}");
        good.replace(from, to)
    };
    let head = |line: &str| change("[key]", &format!("{line}\n[key]"));
    let sum = |line: &str| head(&format!("reveal = \"sum:cost\"\n{line}"));
    let cases: Vec<(String, &[&str])> = vec![
        (change("\"intersect\"", "\"aggregate\""), &["missing key", "round"]),
        (change("\"intersect\"", "\"guess\""), &["guess", "intersect"]),
        (head("protocol = \"naor-reingold\""), &["naor-reingold", "not for job = \"intersect\"", "vole", "star"]),
        (head("protocol = \"bloom\"\nsecurity = \"malicious\""), &["bloom", "malicious form was broken", "vole"]),
        (head("protocol = \"bloom\"\nreveal = \"count\""), &["bloom", "count", "ecdh"]),
        (sum("gives = { insurer = [\"cost\"] }\nprotocol = \"bloom\""), &["bloom", "sum:COLUMN", "ecdh"]),
        (
            head("protocol = \"bloom\"\nreveal = \"payload\"\ngives = { insurer = [\"cost\"] }"),
            &["bloom", "no columns", "vole"],
        ),
        (
            head("protocol = \"bloom\"")
                .replace("reveal_to = [\"hospital\"]", "reveal_to = [\"hospital\", \"insurer\"]"),
            &["bloom", "reveal_to", "vole"],
        ),
        (head("protocol = \"bloom\"\nlevel = \"bits192\""), &["bits192", "bits128"]),
        (head("protocol = \"bloom\"\nextension = \"softspoken-4\""), &["extension", "leave it out"]),
        (head("protocol = \"magic\""), &["magic", "vole", "ecdh"]),
        (head("protocol = \"vole\"\nreveal = \"count\""), &["count", "ecdh"]),
        (head("security = \"malicious\"\nprotocol = \"ecdh\""), &["malicious", "vole"]),
        (head("security = \"malicious\"\nreveal = \"count\""), &["malicious", "semi-honest"]),
        (
            head("security = \"malicious\"")
                .replace("reveal_to = [\"hospital\"]", "reveal_to = [\"hospital\", \"insurer\"]"),
            &["malicious", "reveal_to"],
        ),
        (head("protocol = \"vole\"\nlevel = \"bits192\""), &["bits192", "bits128"]),
        (head("level = \"bits64\""), &["bits64", "bits128"]),
        (head("reveal = \"counts:cost\""), &["counts:COLUMN", "outsourced"]),
        (head("reveal = \"sum:\""), &["sum:", "sum:COLUMN"]),
        (head("reveal = \"sum:cost\""), &["sum:cost", "gives = { NAME = [\"cost\"] }"]),
        (sum("gives = { insurer = [\"payer\"] }"), &["sum:cost", "gives"]),
        (sum("gives = { hospital = [\"cost\"] }"), &["hospital gives", "insurer has to be in reveal_to"]),
        (sum("gives = { hospital = [\"cost\"], insurer = [\"cost\"] }"), &["sum:cost", "two parties"]),
        (sum("gives = { insurer = [\"cost\"] }\nprotocol = \"vole\""), &["sum:COLUMN", "ecdh"]),
        (sum("gives = { insurer = [\"cost\"] }\nsecurity = \"malicious\""), &["sum:COLUMN", "semi-honest"]),
        (sum("gives = { insurer = [\"cost\"] }\nscale = 10"), &["scale = 10", "0 to 9"]),
        (sum("gives = { insurer = [\"cost\"] }\nbits = 8"), &["bits", "dot"]),
        (head("scale = 2"), &["scale", "sum:COLUMN"]),
        (head("job = \"dot\"").replacen("job = \"intersect\"", "reveal = \"sum:cost\"", 1), &["sum:cost", "shares"]),
        (head("reveal = \"everything\""), &["everything", "rows"]),
        (head("reveal = \"payload\""), &["gives"]),
        (head("gives = { pharmacy = [\"born\"] }"), &["gives", "pharmacy"]),
        (
            change("[parties.insurer]", "[parties.insurer]\nnormalize = [\"text\"]"),
            &["parties.insurer.normalize", "kind"],
        ),
        (
            change("[parties.insurer]", "[parties.insurer]\n[helper]\naddress = \"x:1\""),
            &["limits.pad_to", "outsourced", "most keys"],
        ),
        (head("colour = 1"), &["line 4", "colour"]),
        (change("max_rows", "max_row"), &["line 8", "max_row"]),
        (change("max_rows = 1000", "max_rows = 0"), &["limits.max_rows"]),
        (change("[parties.insurer]", "[parties.insurer]\nport = 1"), &["port"]),
        (change("columns = [\"name\"]", "columns = []"), &["key.columns"]),
        (change("normalize = [\"name\"]", "normalize = [\"name\", \"date\"]"), &["key.normalize"]),
        (change("normalize = [\"name\"]", "normalize = [\"soundex\"]"), &["soundex"]),
        (change("id = \"test\"\n", ""), &["id"]),
        (change("reveal_to = [\"hospital\"]\n", ""), &["reveal_to"]),
        (change("reveal_to = [\"hospital\"]", "reveal_to = []"), &["reveal_to"]),
        (change("reveal_to = [\"hospital\"]", "reveal_to = [\"pharmacy\"]"), &["pharmacy"]),
        (change("[parties.insurer]", ""), &["1", "2 to 64"]),
        (change("[parties.insurer]", "[parties.\"../x\"]"), &["../x"]),
        (change("id = \"test\"", "id = test"), &["line 2, column"]),
        ("".into(), &["job"]),
        ("\u{0}".into(), &["is not valid text in UTF-8"]),
    ];
    let input = home.file("a.csv", "name\nJane\n");
    for (position, (text, words)) in cases.into_iter().enumerate() {
        let job = home.file(&format!("{position}.toml"), &text);
        let inputs = ["hospital", "insurer"].map(|name| format!("{name}={input}"));
        let ended = tacita(&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1]]);
        ended.failed(2, &[&[job.as_str()], words].concat());
        let ended = tacita(&["plan", &job, "--rows", "hospital=1", "--rows", "insurer=1"]);
        ended.failed(2, words);
    }
}

/// Filters of the published experiments are for tables without secrets.
#[test]
fn bloom_below_128_bits_asks_for_leave() {
    let home = Home::new();
    let text = format!("{TERMS}[parties.hospital]\n[parties.insurer]\n");
    let input = home.file("a.csv", "name\nJane Doe\n");
    let inputs = ["hospital", "insurer"].map(|name| format!("{name}={input}"));
    for level in ["paper80", "bits112"] {
        let job = text.replace("[key]", &format!("protocol = \"bloom\"\nlevel = \"{level}\"\n[key]"));
        let job = home.file("job.toml", &job);
        let simulate = ["simulate", &job, "--input", &inputs[0], "--input", &inputs[1]];
        tacita(&simulate).failed(2, &[level, "--allow-insecure"]);
        tacita(&[&simulate[..], &["--allow-insecure"]].concat()).well();
    }
}

#[test]
fn a_simulation_says_whose_fault_it_was() {
    let home = Home::new();
    let job = examples().join("patients/job.toml");
    let (job, good) = (job.to_str().unwrap(), examples().join("patients/hospital.csv"));
    let bad = home.file("bad.csv", "insured\nJane Doe\n");
    let inputs = [format!("hospital={}", good.display()), format!("insurer={bad}")];
    let out = home.at("out");
    let ended = tacita(&["simulate", job, "--input", &inputs[0], "--input", &inputs[1], "--force", "--output", &out]);
    ended.failed(2, &["insurer: ", "bad.csv", "no column \"birth\""]);
    assert!(ended.took < Duration::from_secs(4), "{:?}", ended.took);
    assert_eq!(files(&out), [""; 0]);
    tacita(&["simulate", job, "--input", &inputs[0]]).failed(2, &["--input insurer=FILE"]);
    tacita(&["simulate", job, "--input", &inputs[0], "--input", "pharmacy=x.csv"]).failed(2, &["pharmacy"]);
}

#[test]
fn nothing_that_is_read_is_written_over() {
    let home = Home::new();
    let job = examples().join("patients/job.toml").display().to_string();
    let table = std::fs::read_to_string(examples().join("patients/hospital.csv")).unwrap();
    home.directory("out");
    let hospital = home.file("out/hospital.csv", &table);
    let insurer = examples().join("patients/insurer.csv").display().to_string();
    let inputs = [format!("hospital={hospital}"), format!("insurer={insurer}")];
    let simulate =
        |more: &[&str]| tacita(&[&["simulate", &job, "--input", &inputs[0], "--input", &inputs[1]], more].concat());
    simulate(&["--force", "--output", &home.at("out")]).failed(2, &["hospital.csv", "an input", "an output"]);
    simulate(&["--report", &hospital]).failed(2, &["hospital.csv", "the report"]);
    assert_eq!(std::fs::read_to_string(&hospital).unwrap(), table);
}

#[test]
fn standard_output_that_is_full_is_an_error() {
    let home = Home::new();
    let job = examples().join("patients/job.toml").display().to_string();
    let report = home.at("report.json");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let Ok(full) = full else { return println!("no /dev/full here") };
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_tacita"))
        .args(["plan", &job, "--rows", "hospital=1", "--rows", "insurer=1"])
        .stdout(full)
        .stderr(std::fs::File::create(&report).unwrap())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
    assert!(std::fs::read_to_string(report).unwrap().contains("standard output"));
}

#[test]
fn usage_errors_are_one_line() {
    for (arguments, words) in [
        (&["aggregate"][..], &["`aggregate` is a job, not a command", "tacita submit"][..]),
        (&["run", "job.toml", "--colour"], &["--colour"]),
        (&["simulate"], &["--input", "JOB"]),
        (&["plan", "job.toml", "--rows", "a=b"], &["NAME=N"]),
        (&[], &["--help"]),
    ] {
        tacita(arguments).failed(2, words);
    }
}
