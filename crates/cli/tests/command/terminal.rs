//! Tests of the user's view at the terminal: help that lists what is accepted, commands that can be pasted, and
//! messages about small mistakes.

use std::io::Write;

use crate::common::{Home, NAMES, Pair, Running, tacita, text};
use flate2::Compression;
use flate2::write::GzEncoder;

const ROWS: &str = "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"hospital\"]\n[key]\ncolumns = [\"name\"]\n";

/// The options that a command's help lists.
fn options(command: &str) -> Vec<String> {
    let help = tacita(&[command, "--help"]).well().stdout;
    let lines = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    let names = lines.filter_map(|line| line.split([' ', ',']).find(|word| word.starts_with("--")));
    names
        .map(str::to_owned)
        .filter(|name| !["--help", "--log", "--quiet", "--verbose"].contains(&name.as_str()))
        .collect()
}

/// Returns a value to try with each option of the commands for two parties.
fn value<'a>(command: &str, option: &str, home: &'a [String; 3]) -> Option<&'a str> {
    Some(match option {
        "--listen" | "--connect" | "--peer" | "--identity" | "--input" | "--key" | "--column" | "--min-support" => {
            return None;
        }
        "--signed" | "--mixed-only" | "--allow-unreadable" | "--allow-insecure" | "--force" | "--no-header"
        | "--long" | "--lines" | "--with-key" => "",
        "--pad-to" | "--max-rows" | "--min-rows" | "--min-result" | "--max-len" | "--max-candidates"
        | "--max-rules" | "--threads" => "10",
        "--bits" => "8",
        "--scale" => "2",
        "--chunk" => "64",
        "--density" => "0.5",
        "--extension" => "softspoken-2",
        "--modulus" => "2^64",
        "--min-confidence" => "0.5",
        "--consequents" => "any",
        "--basket" => "items",
        "--items" => "id",
        "--separator" => "|",
        "--bins" if ["intersect", "union"].contains(&command) => "64",
        "--candidates" => "a.csv",
        "--max-text" => "99",
        "--bins" => "age=4",
        "--strategy" => "points",
        "--keep" | "--measures" => "all",
        "--itemsets" => "closed",
        "--items-in-antecedents" | "--items-in-consequents" => "id",
        "--decimal" => ",",
        "--null-words" => "NULL",
        "--format" => "csv",
        "--skip" => "1",
        "--sheet" => "Sheet1",
        "--reveal" => "no",
        "--receiver" => "both",
        "--protocol" => "auto",
        "--security" => "semi-honest",
        "--level" => "bits128",
        "--normalize" => "none",
        "--row-id" => "id",
        "--gives" | "--peer-gives" | "--peer-column" => "a",
        "--duplicates" => "all",
        "--nulls" => "skip",
        "--id" => "t",
        "--name" => "me",
        "--peer-name" => "you",
        "--timeout" | "--patience" => "1s",
        "--memory" => "1GiB",
        "--delimiter" => ";",
        "--encoding" => "latin1",
        "--output" | "--report" | "--html" => &home[0],
        "--pool" | "--pool-key" => &home[1],
        // A policy and a receipt are of a run that the policy allows: tried with governance.
        "--policy" | "--ledger" | "--receipt" => return None,
        "--alignment" => "rows",
        other => panic!("{other} is new: say what it can be tried with"),
    })
}

/// No option is listed that no run of the command takes.
#[test]
fn help_lists_what_is_accepted() {
    let home = Home::new();
    let table = home.file("a.csv", "id,age\n1,2\n");
    ["id", "peer"].into_iter().for_each(|name| drop(tacita(&["identity", "new", &home.at(name)]).well()));
    let pin = tacita(&["identity", "show", &home.at("peer")]).stdout;
    let places = [home.at("out.csv"), home.at("pool"), String::new()];
    let (id, pin) = (home.at("id"), pin.trim());
    for (command, needed) in [
        ("intersect", ["--key", "id"]),
        ("union", ["--key", "id"]),
        ("dot", ["--column", "age"]),
        ("rules", ["--min-support", "1"]),
    ] {
        let fixed = ["--connect", "127.0.0.1:1", "--peer", pin, "--identity", &id, "--input", &table];
        let mut running = Vec::new();
        for option in options(command) {
            let Some(value) = value(command, &option, &places) else { continue };
            // Where it needs others beside it.
            let besides: &[&str] = match option.as_str() {
                "--long" => &["--row-id", "id"],
                "--chunk" | "--pool" => &["--protocol", "paillier"],
                "--density" => &["--protocol", "gm-bloom"],
                "--strategy" | "--bins" if command == "intersect" => &["--protocol", "polynomial"],
                "--strategy" | "--bins" if command == "union" => &["--protocol", "polynomial-ot"],
                "--candidates" => &["--protocol", "polynomial", "--allow-insecure"],
                "--pad-to" | "--normalize" | "--null-words" | "--alignment"
                    if !["intersect", "union"].contains(&command) =>
                {
                    &["--row-id", "id"]
                }
                "--pool-key" => &["--pool", &places[1], "--protocol", "paillier"],
                "--scale" if command == "intersect" => &["--reveal", "sum:age", "--peer-gives", "age"],
                "--min-result" if command == "union" => &["--reveal", "count"],
                "--gives" if command == "union" => &["--receiver", "peer"],
                "--peer-gives" if command == "union" => &[],
                "--gives" => &["--reveal", "payload", "--receiver", "peer"],
                "--peer-gives" => &["--reveal", "payload"],
                _ => &[],
            };
            let given = if value.is_empty() { vec![&*option] } else { vec![&*option, value] };
            let timeout: &[&str] = if option == "--timeout" { &[] } else { &["--timeout", "300ms"] };
            let run = Running::start(&[&[command], &fixed[..], &needed, &given, besides, timeout].concat());
            running.push((option.clone(), run));
        }
        for (option, run) in running {
            let said = run.end().stderr;
            for refusal in ["unexpected argument", "leave it out", "is for job", "is not available"] {
                assert!(!said.contains(refusal), "{command} {option}: {said}");
            }
        }
    }
    for (command, foreign) in [
        ("intersect", &["--html", "--pool", "--min-rows", "--density", ".dat"][..]),
        ("union", &["--html", "--pool", "--min-rows", "--density", ".dat", "--scale", "multiset"]),
        ("dot", &["--html", "--min-rows", ".dat"]),
        ("rules", &["--pool", "--min-result"]),
    ] {
        let help = tacita(&[command, "--help"]).well().stdout;
        foreign.iter().for_each(|option| assert!(!help.contains(option), "{command} {option}"));
    }
}

/// A command that is proposed can be pasted, whatever the paths.
#[test]
fn proposed_commands_are_quoted() {
    let home = Home::new();
    let odd = home.directory("Zoë's  \"data\" $HOME");
    let at = |name: &str| format!("{odd}/{name}");
    let job = at("the job.toml");
    std::fs::write(&job, ROWS.to_owned() + "[limits]\nmax_rows = 9\n[parties.hospital]\n[parties.insurer]\n").unwrap();
    std::fs::write(&job, text(&job).replace("id = \"t\"", "id = \"t\"\nprotocol = \"ecdh\"")).unwrap();
    std::fs::write(at("in.csv"), "name\nAnna\n").unwrap();
    let done =
        tacita(&["prepare", &job, "--as", "insurer", "--input", &at("in.csv"), "--work", &at("the part")]).well();
    let command = done.stderr.split('`').nth(1).unwrap();
    let words = std::process::Command::new("sh").args(["-c", &format!("printf '%s\n' {command}")]).output().unwrap();
    let words = String::from_utf8(words.stdout).unwrap();
    assert!(words.lines().any(|word| word == job) && words.lines().any(|word| word == at("the part")), "{command}");
    // Of directories and headers, too.
    let missing = tacita(&["identity", "show", &at("id")]).failed(2, &["tacita identity new '"]);
    assert!(missing.contains("Zoë'\\''s  \"data\" $HOME/id'"), "{missing}");
    std::fs::write(at("other.csv"), "full name\nAnna\n").unwrap();
    tacita(&["plan", &job, "--input", &format!("hospital={}", at("other.csv")), "--rows", "insurer=1"])
        .failed(2, &["`columns = { name = \"full name\" }`"]);
    let other = at("other.csv");
    let missing = ["inspect", &other, "--key", "name"];
    tacita(&missing).failed(2, &["`'name=full name'`"]);
}

/// A level that can be broken is told of before a run refuses it.
#[test]
fn levels_that_can_be_broken_are_told_of_beforehand() {
    let pair = Pair::new(&ROWS.replace("[key]", "protocol = \"bloom\"\nlevel = \"paper80\"\n[key]"));
    let job = pair.home.at("insurer.toml");
    let planned = tacita(&["plan", &job, "--rows", "hospital=10", "--rows", "insurer=10"]).well().stdout;
    assert!(planned.contains("level = \"paper80\"") && planned.contains("--allow-insecure"), "{planned}");
    let seen = tacita(&["doctor", &job, "--as", "insurer", "--identity", &pair.home.at("insurer")]).well().stdout;
    assert!(seen.contains("note  level") && seen.contains("--allow-insecure"), "{seen}");
}

/// Jobs with clients have one protocol, and need not name it.
#[test]
fn keys_of_the_one_protocol_of_clients_need_no_name_of_it() {
    let home = Home::new();
    let parties = "[parties.c1]\nrole = \"client\"\nslice = 1\n[parties.c2]\nrole = \"client\"\nslice = 2\n[parties.s]\nrole = \"server\"\n";
    let inputs = [("c1", "x\n1\n0\n1\n"), ("c2", "x\n1\n1\n"), ("s", "x\n1\n1\n1\n1\n0\n")];
    let inputs = inputs.map(|(name, rows)| format!("{name}={}", home.file(&format!("{name}.csv"), rows)));
    let run = |keys: &str| {
        let fixed = "job = \"dot\"\nid = \"t\"\ncolumn = \"x\"\nreveal_to = [\"c1\", \"c2\"]\n";
        let job = home.file("job.toml", &format!("{fixed}{keys}\n{parties}"));
        let report = home.at("report.json");
        let inputs = inputs.iter().flat_map(|input| ["--input", input]).collect::<Vec<_>>();
        let ended = tacita(&[&["simulate", &job, "--report", &report, "--allow-insecure"], &inputs[..]].concat());
        ended.well();
        crate::common::json(report)
    };
    let usual = run("level = \"paper80\"");
    // A message for each row: more of them, and the same sum.
    let small = run("level = \"paper80\"\nchunk = 1");
    for report in [&usual, &small, &run("level = \"bits112\"")] {
        assert_eq!(report["parties"]["c1"]["result"]["value"], 3);
    }
    let sent = |report: &serde_json::Value| report["parties"]["c1"]["bytes"]["sent"].as_u64().unwrap();
    assert!(sent(&small) > sent(&usual), "{} {}", sent(&small), sent(&usual));
    let job = home.file(
        "job.toml",
        &format!("job = \"dot\"\nid = \"t\"\ncolumn = \"x\"\nreveal_to = [\"c1\", \"c2\"]\nchunk = 0\n{parties}"),
    );
    tacita(&["plan", &job, "--rows", "c1=1"]).failed(2, &["chunk = 0", "a message holds 1 to"]);
}

/// Checks that the operation on shares decides which protocols open them.
#[test]
fn a_wrong_protocol_for_shares_is_told_with_the_operation() {
    let home = Home::new();
    for (operation, wrong, right) in [("sum", "ot", "open"), ("at_least:3", "open", "ot")] {
        let terms = format!("operation = \"{operation}\"\nprotocol = \"{wrong}\"\nreveal_to = [\"a\", \"b\"]");
        let job = home.file("job.toml", &format!("job = \"shares\"\nid = \"t\"\n{terms}\n[parties.a]\n[parties.b]\n"));
        let words =
            [&format!("protocol = \"{wrong}\""), &format!("operation = \"{operation}\""), &format!("\"{right}\"")];
        tacita(&["plan", &job, "--rows", "a=1", "--rows", "b=1"]).failed(2, &words.map(String::as_str));
    }
}

#[test]
fn a_key_that_is_there_twice_is_named() {
    let home = Home::new();
    for (twice, name, line) in [
        ("id = \"t\"\nid = \"u\"", "`id`", "line 3"),
        ("id = \"t\"\nlimits = { max_rows = 1, max_rows = 2 }", "`max_rows`", "line 3"),
        ("id = \"t\"\n[key]\ncolumns = [\"a\"]\n[key]\nnulls = \"skip\"", "`key`", "line 5"),
    ] {
        let job = home.file("job.toml", &format!("job = \"intersect\"\n{twice}\n"));
        tacita(&["plan", &job, "--rows", "a=1"]).failed(2, &[name, line, "twice"]);
    }
    let job = home.file("job.json", "{\"job\": \"intersect\", \"id\": \"t\", \"id\": \"u\"}");
    tacita(&["plan", &job, "--rows", "a=1"]).failed(2, &["`id`", "twice"]);
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(Vec::new(), Compression::default());
    packer.write_all(bytes).unwrap();
    packer.finish().unwrap()
}

/// A name that is wrong about gzip is told how to be right.
#[test]
fn names_that_are_wrong_about_gzip() {
    let home = Home::new();
    let job = home.file("job.toml", &(ROWS.to_owned() + "[parties.hospital]\n[parties.insurer]\n"));
    let rules = "job = \"rules\"\nid = \"t\"\nmin_support = 1\nreveal_to = [\"hospital\", \"insurer\"]\n";
    let rules = home.file("rules.toml", &format!("{rules}[parties.hospital]\n[parties.insurer]\n"));
    let plain = b"name\nAnna\n";
    for (job, name, bytes, words) in [
        (&job, "a.csv", packed(plain), &["a.csv: is compressed", "a.csv.gz"][..]),
        (&job, "a b.tsv", packed(plain), &["is compressed", "a b.tsv.gz'"]),
        (&job, "b.csv.gz", plain.to_vec(), &["b.csv.gz: is not compressed", "take .gz off"]),
        (&job, "c.csv.gz", packed(&packed(plain)), &["compressed again", "unpack it"]),
        (&job, "d.parquet", packed(plain), &["d.parquet: is compressed", "gzip -d"]),
        (&job, "e.csv.gz", Vec::new(), &["is empty"]),
        (&rules, "f.dat", packed(b"1 2\n"), &["f.dat: is compressed", "f.dat.gz"]),
        (&rules, "g.dat.gz", b"1 2\n".to_vec(), &["is not compressed", "take .gz off"]),
    ] {
        let path = home.at(name);
        std::fs::write(&path, bytes).unwrap();
        let input = format!("hospital={path}");
        tacita(&["plan", job, "--input", &input, "--rows", "insurer=1"]).failed(2, words);
    }
}

/// Telephone numbers that nobody reads: the advice is about the profile that is in use.
#[test]
fn advice_about_telephone_numbers_knows_the_profile_in_use() {
    let home = Home::new();
    let table = home.file("a.csv", "name\n12345\n13\n14\n");
    for (profile, words) in
        [("phone", ["phone:CC", "phone:DE"]), ("phone:FR", ["not numbers of FR", "another country"])]
    {
        let terms = ROWS.to_owned() + &format!("normalize = [\"{profile}\"]\n[parties.hospital]\n[parties.insurer]\n");
        let job = home.file("job.toml", &terms);
        tacita(&["plan", &job, "--input", &format!("hospital={table}"), "--rows", "insurer=1"]).failed(2, &words);
    }
}

#[test]
fn commands_with_actions_point_at_their_own_help() {
    tacita(&["pool"]).failed(2, &["`tacita pool`", "fill or status", "`tacita pool --help`"]);
    tacita(&["identity"]).failed(2, &["new or show or renew", "`tacita identity --help`"]);
    tacita(&["pool", "fill"]).failed(2, &["`tacita pool fill --help`"]);
    tacita(&["plan", "--nonsense"]).failed(2, &["--nonsense", "`tacita plan --help`"]);
    tacita(&[]).failed(2, &["`tacita --help`"]);
}

/// One thing is no plural.
#[test]
fn one_key_is_one_key() {
    let pair = Pair::new(ROWS);
    NAMES.iter().for_each(|name| pair.table(name, "name\nAnna\n"));
    let [hospital, insurer] = NAMES.map(|name| pair.start(name, &[]));
    assert!(hospital.end().well().stderr.contains("1 key here, 1 there"));
    insurer.end().well();
}

/// Checks the files that packages install beside the program.
#[test]
fn shells_complete_and_manual_pages_are_there() {
    for (shell, words) in [
        ("bash", ["complete -F _tacita", "--reveal"]),
        ("zsh", ["#compdef tacita", "--reveal"]),
        ("fish", ["complete -c tacita", "reveal"]),
    ] {
        let script = tacita(&["completions", shell]).well().stdout;
        assert!(words.iter().all(|word| script.contains(word)), "{shell}: {script:.200}");
        assert!(script.contains("doctor"), "{shell}");
    }
    tacita(&["completions", "bsh"]).failed(2, &["bsh", "bash"]);
    let home = Home::new();
    let script = format!("{}/../../scripts/share", env!("CARGO_MANIFEST_DIR"));
    let done = std::process::Command::new("bash")
        .args([&script, env!("CARGO_BIN_EXE_tacita"), &home.at("usr")])
        .status()
        .unwrap();
    assert!(done.success());
    let page = text(home.at("usr/share/man/man1/tacita-results.1"));
    assert!(page.contains(".TH tacita-results 1") && page.contains("\\-\\-wait"), "{page:.400}");
    assert!(page.contains(".SH EXAMPLES\n.nf\n  tacita results") && !page.contains(".SH EXTRA"), "{page}");
    assert!(text(home.at("usr/share/bash-completion/completions/tacita")).contains("complete -F _tacita"));
    // The command that is for the program alone has no page.
    let pages = crate::common::files(&home.at("usr/share/man/man1"));
    assert!(pages.len() > 30 && !pages.iter().any(|page| page.contains("simulated")), "{pages:?}");
}

/// A word that is nearly right is told from one that is not.
#[test]
fn typing_errors_are_told_with_what_was_meant() {
    let home = Home::new();
    let terms = |from: &str, to: &str| {
        let terms = format!("{ROWS}[parties.hospital]\n[parties.insurer]\n").replacen(from, to, 1);
        home.file("job.toml", &terms)
    };
    let plan = |job: &str| tacita(&["plan", job, "--rows", "hospital=1", "--rows", "insurer=1"]);
    for (from, to, meant) in [
        ("reveal_to", "reveal_too", "unknown key `reveal_too`: did you mean `reveal_to`?"),
        ("columns", "colums", "unknown key `colums`: did you mean `columns`?"),
        ("\"intersect\"", "\"intersekt\"", "did you mean \"intersect\"?"),
        ("id = ", "salt = ", "unknown key `salt`, expected one of"),
    ] {
        plan(&terms(from, to)).failed(2, &[meant]);
    }
    let job = terms("", "");
    tacita(&["plan", &job, "--rows", "hosptial=1", "--rows", "insurer=1"]).failed(2, &["did you mean \"hospital\"?"]);
    // A number without a unit could be seconds or milliseconds.
    tacita(&["plan", &job, "--latency", "20"]).failed(2, &["--latency", "20ms or 20s"]);
    // A fingerprint is pasted with the end of its line.
    let pin = tacita(&["identity", "new", &home.at("own")]).well().stdout;
    plan(&terms("[parties.hospital]", &format!("[parties.hospital]\nidentity = \"{} \"", pin.trim()))).well();
}

/// A message says what is in a file, and does nothing to the terminal.
#[test]
fn names_from_files_do_nothing_to_the_terminal() {
    let home = Home::new();
    let mark = "\u{202e}\u{1b}]0;owned\u{7}";
    let table = home.file("a.csv", &format!("id,{mark}\n1,2\n"));
    let job = home.file(
        "job.toml",
        &format!(
            "{}[parties.hospital]\n[parties.insurer]\n",
            ROWS.replace("name", mark).replace("\u{1b}", "\\u001b").replace("\u{7}", "\\u0007")
        ),
    );
    let input = ["--input", &format!("hospital={table}"), "--input", &format!("insurer={table}")];
    let said = tacita(&[&["plan", &job][..], &input].concat());
    assert!(!said.stderr.contains('\u{202e}') && !said.stderr.contains('\u{1b}'), "{:?}", said.stderr);
    // A header of 200 kB is cut.
    let long = home.file("long.csv", &format!("{},b\n1,2\n", "x".repeat(200_000)));
    let input = ["--input", &format!("hospital={long}"), "--input", &format!("insurer={long}")];
    let job = home.file("job.toml", &format!("{ROWS}[parties.hospital]\n[parties.insurer]\n"));
    let line = tacita(&[&["plan", &job][..], &input].concat()).failed(2, &["long.csv"]);
    assert!(line.len() < 6_000, "{}", line.len());
    let said = tacita(&["inspect", &long]).well();
    assert!(said.stdout.len() < 6_000 && said.stderr.len() < 6_000, "{} {}", said.stdout.len(), said.stderr.len());
}
