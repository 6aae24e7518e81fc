//! Tests of output paths: existing files are not replaced, and learned results are not lost.

use std::process::{Command, Stdio};

use crate::common::{Home, NAMES, Pair, Running, files, tacita, text};

const TERMS: &str =
    "job = \"intersect\"\nid = \"t\"\nreveal_to = [\"hospital\", \"insurer\"]\n[key]\ncolumns = [\"id\"]\n";

/// A pair of parties with two rows in common.
fn pair(terms: &str) -> Pair {
    let pair = Pair::new(terms);
    pair.table("hospital", "id,x\n1,a\n2,b\n3,c\n");
    pair.table("insurer", "id,y\n2,d\n3,e\n4,f\n");
    pair
}

/// The arguments of a party's run, without an output.
fn run(pair: &Pair, name: &str) -> Vec<String> {
    let at = |suffix: &str| pair.home.at(&format!("{name}{suffix}"));
    let arguments = ["run", &at(".toml"), "--as", name, "--identity", &at(""), "--input", &at(".csv")];
    arguments.map(str::to_owned).to_vec()
}

fn start(pair: &Pair, name: &str, more: &[&str]) -> Running {
    start_with(pair, name, more, &[])
}

fn start_with(pair: &Pair, name: &str, more: &[&str], environment: &[(&str, &str)]) -> Running {
    let arguments = run(pair, name);
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
    Running::start_with(&arguments, environment)
}

#[test]
fn an_output_that_is_there_is_replaced_only_with_force() {
    let pair = pair(TERMS);
    let output = pair.home.file("rows.csv", "precious\n");
    // Before anybody is met.
    start(&pair, "hospital", &["--output", &output]).end().failed(2, &["rows.csv", "already exists", "--force"]);
    assert_eq!(text(&output), "precious\n");
    let seen = tacita(&[
        "doctor",
        &pair.home.at("hospital.toml"),
        "--as",
        "hospital",
        "--identity",
        &pair.home.at("hospital"),
        "--output",
        &output,
    ]);
    assert!(seen.stdout.contains("MEND  output") && seen.stdout.contains("--force"), "{}", seen.stdout);
    // An empty file holds nothing.
    let empty = pair.home.file("empty.csv", "");
    let insurer = start(&pair, "insurer", &["--output", &empty]);
    start(&pair, "hospital", &["--output", &output, "--force"]).end().well();
    insurer.end().well();
    assert_eq!((text(&output), text(&empty)), ("id,x\n2,b\n3,c\n".into(), "id,y\n2,d\n3,e\n".into()));
}

/// One rule for all commands.
#[test]
fn simulations_replace_nothing_either() {
    let home = Home::new();
    let input = NAMES.map(|name| format!("{name}={}", home.file(&format!("{name}.csv"), "id,items\n1,x y\n2,x\n")));
    let parties = "[parties.hospital]\n[parties.insurer]\n";
    let out = home.directory("out");
    let simulate = |terms: &str, more: &[&str]| {
        let job = home.file("job.toml", &format!("{terms}\n{parties}"));
        tacita(&[&["simulate", &job, "--input", &input[0], "--input", &input[1], "--output", &out], more].concat())
    };
    home.file("out/insurer.csv", "precious\n");
    simulate(TERMS, &[]).failed(2, &["insurer.csv", "already exists", "--force"]);
    assert_eq!((files(&out), text(home.at("out/insurer.csv"))), (vec!["insurer.csv".to_owned()], "precious\n".into()));
    simulate(TERMS, &["--force"]).well();
    assert_eq!(text(home.at("out/insurer.csv")), "id,items\n1,x y\n2,x\n");
    // What stands beside an output, too, and the page.
    std::fs::remove_file(home.at("out/insurer.csv")).unwrap();
    std::fs::remove_file(home.at("out/hospital.csv")).unwrap();
    let rules = "job = \"rules\"\nid = \"t\"\nmin_support = 2\nreveal_to = [\"hospital\", \"insurer\"]\n\
                 items = { column = \"items\", separator = \" \" }";
    home.file("out/hospital.itemsets.csv", "precious\n");
    simulate(rules, &[]).failed(2, &["hospital.itemsets.csv", "--force"]);
    let page = home.file("page.html", "precious\n");
    std::fs::remove_file(home.at("out/hospital.itemsets.csv")).unwrap();
    simulate(rules, &["--html", &page]).failed(2, &["page.html", "--force"]);
}

#[test]
fn devices_and_pipes_take_a_result_and_directories_do_not() {
    let pair = pair(TERMS);
    let directory = pair.home.directory("rows");
    start(&pair, "hospital", &["--output", &directory]).end().failed(2, &["rows", "is a directory; name a file in it"]);
    let pipe = pair.home.at("pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &*pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    let reader = std::thread::spawn({
        let pipe = pipe.clone();
        move || std::fs::read_to_string(pipe).unwrap()
    });
    // Nothing that is written to them is lost if it is written twice.
    let insurer = start(&pair, "insurer", &["--output", "/dev/null", "--report", "/dev/null"]);
    start(&pair, "hospital", &["--output", &pipe]).end().well();
    insurer.end().well();
    assert_eq!(reader.join().unwrap(), "id,x\n2,b\n3,c\n");
}

/// Without a report, beside which it would be, a result goes to a directory of this user.
#[test]
fn a_result_that_cannot_be_written_is_kept_and_fetched() {
    let pair = pair(TERMS);
    let state = pair.home.at("state");
    let environment = [("XDG_STATE_HOME", state.as_str())];
    let kept = |more: &[&str]| Running::start_with(&[&["results", "--kept"], more].concat(), &environment).end();
    assert_eq!(kept(&[]).well().stdout, "no result is kept\n");
    kept(&["--output", "x.csv"]).failed(2, &["no result is kept"]);
    let insurer = start(&pair, "insurer", &["--output", "/dev/null"]);
    let hospital = start_with(&pair, "hospital", &["--output", "/dev/full"], &environment);
    let said = hospital.end();
    said.failed(
        2,
        &[
            "/dev/full",
            "cannot be written",
            "the result is kept in",
            "tacita results --kept=kept-full.csv --output FILE",
        ],
    );
    assert_eq!(said.stdout, "rows 2\n");
    insurer.end().well();
    use std::os::unix::fs::PermissionsExt;
    let directory = format!("{state}/tacita/kept");
    assert_eq!(std::fs::metadata(&directory).unwrap().permissions().mode() & 0o777, 0o700);
    let listed = kept(&[]).well().stdout;
    assert!(listed.starts_with("kept-full.csv  13 B") && listed.lines().count() == 1, "{listed}");
    // It stays until it is somewhere else.
    let there = pair.home.file("there.csv", "precious\n");
    kept(&["--output", &there]).failed(2, &["there.csv", "--force"]);
    kept(&["--output", "/dev/full"]).failed(2, &["/dev/full", "cannot be written"]);
    kept(&["--output", &pair.home.at("rows.parquet")]).failed(2, &["name a file that ends with .csv"]);
    assert_eq!(files(&directory), ["kept-full.csv"]);
    let wanted = pair.home.at("rows.csv");
    let fetch = ["results", "--kept=kept-full.csv", "--output", &wanted];
    Running::start_with(&fetch, &environment).end().well();
    assert_eq!(text(&wanted), "id,x\n2,b\n3,c\n");
    assert!(files(&directory).is_empty());
    Running::start_with(&fetch, &environment).end().failed(2, &["--kept=kept-full.csv", "there is none"]);
    tacita(&["results", "--kept", "--round", "one"]).failed(2, &["--round", "cannot be used with"]);
    tacita(&["results", "--round", "one"]).failed(2, &["<JOB>"]);
}

/// A number is printed, so that standard output is what can fail.
#[test]
fn a_number_that_cannot_be_printed_is_kept() {
    let pair = pair(&TERMS.replace("reveal_to", "reveal = \"count\"\nreveal_to"));
    let state = pair.home.at("state");
    let insurer = start(&pair, "insurer", &[]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let ended = Command::new(env!("CARGO_BIN_EXE_tacita"))
        .args(run(&pair, "hospital"))
        .env("XDG_STATE_HOME", &state)
        .stdout(Stdio::from(full))
        .output()
        .unwrap();
    insurer.end().well();
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{said}");
    assert!(said.contains("standard output") && said.contains("kept-result.txt"), "{said}");
    assert_eq!(text(format!("{state}/tacita/kept/kept-result.txt")), "count 2\n");
}

/// A report that cannot be written takes no answer with it.
#[test]
fn a_report_that_cannot_be_written_hides_no_answer() {
    let pair = pair(&TERMS.replace("reveal_to", "reveal = \"count\"\nreveal_to"));
    let insurer = start(&pair, "insurer", &[]);
    let hospital = start(&pair, "hospital", &["--report", "/dev/full"]).end();
    insurer.end().well();
    hospital.failed(2, &["/dev/full", "cannot be written"]);
    assert_eq!(hospital.stdout, "count 2\n");
}

/// A run that was cut off between its output and its end writes the same once more when it is resumed.
#[test]
fn a_resumed_run_takes_its_own_output_for_no_other() {
    let pair = pair(TERMS);
    let (work, link) = (pair.home.at("work"), pair.home.at("full.csv"));
    std::os::unix::fs::symlink("/dev/full", &link).unwrap();
    let insurer = start(&pair, "insurer", &["--output", "/dev/null", "--work", &pair.home.at("work-2")]);
    start(&pair, "hospital", &["--work", &work, "--output", &link]).end().failed(2, &["full.csv", "--resume"]);
    insurer.end().well();
    let other = pair.home.file("other.csv", "precious\n");
    let resume = |output: &str| start(&pair, "hospital", &["--work", &work, "--resume", "--output", output]).end();
    resume(&other).failed(2, &["other.csv", "already exists", "--resume"]);
    assert_eq!(text(&other), "precious\n");
    let same = pair.home.file("same.csv", "id,x\n2,b\n3,c\n");
    resume(&same).well();
    assert_eq!(files(&work), [""; 0]);
}
