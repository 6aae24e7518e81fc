//! `tacita init`: job files from answers, by options and on a terminal.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::common::{Ended, Home, LIMIT, NAMES, Pair, examples, files, tacita, text};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use tacita_node::agreement::{JobSpec, Topology};

const PARTIES: [&str; 4] = ["--party", "hospital=hospital.example:7400", "--party", "insurer"];

#[track_caller]
fn init(home: &Home, options: &[&str]) -> Ended {
    tacita(&[&["init", &home.at("job.toml"), "--yes"], &PARTIES[..], options].concat())
}

#[test]
fn every_job_is_written_as_it_is_read() {
    for options in [
        &["--job", "intersect", "--key", "name,dob", "--normalize", "name,date", "--learns", "insurer"][..],
        &["--job", "intersect", "--key", "name", "--reveal", "count", "--set", "limits.min_result=5"],
        &["--job", "intersect", "--key", "name", "--reveal", "sum:cost", "--set", "protocol=ecdh"],
        &["--job", "intersect", "--key", "name", "--reveal", "mean:cost,fee"],
        &["--job", "intersect", "--key", "name", "--reveal", "payload", "--gives", "insurer=payer,cost"],
        &["--job", "dot"],
        &["--job", "dot", "--set", "column=a,b", "--set", "row_id=id", "--set", "bits=16", "--set", "signed=true"],
        &["--job", "rules", "--set", "min_support=2"],
        &["--job", "rules", "--set", "items=*", "--set", "row_id=id,day", "--set", "min_confidence=0.5"],
        &["--job", "shares"],
        &["--job", "shares", "--set", "operation=at_least:2.5"],
    ] {
        let home = Home::new();
        init(&home, options).well();
        let text = text(home.at("job.toml"));
        let job = JobSpec::parse(&text, false).unwrap();
        assert_eq!(job.parties.names(), ["hospital", "insurer"]);
        assert_eq!(job.party("hospital").unwrap().address.as_deref(), Some("hospital.example:7400"));
        // Every line says what it means, and what is to be filled in is there.
        let mute = text.lines().find(|line| line.contains(" = ") && !line.contains("  # "));
        assert!(
            mute.is_none_or(|line| options
                .iter()
                .any(|option| option.starts_with(line.split(' ').next().unwrap_or("?")) || option.contains("limits"))),
            "{mute:?}"
        );
        assert_eq!(text.lines().filter(|line| line.starts_with("# identity")).count(), 2, "{text}");
        assert_eq!(files(&home.at("")), ["job.toml"]);
    }
}

/// Three and more, whoever stands between them.
#[test]
fn several_parties_reach_each_other_in_every_way() {
    let home = Home::new();
    let three = ["--party", "a=a.example:7400", "--party", "b=b.example:7400", "--party", "c"];
    let written = |name: &str, options: &[&str]| {
        let path = home.at(name);
        tacita(&[&["init", &path, "--job", "intersect", "--key", "id", "--yes"], options].concat()).well();
        (text(&path), JobSpec::load(path.as_ref()).unwrap())
    };
    let (_, job) = written("direct.toml", &[&three[..], &["--learns", "a,b,c"]].concat());
    assert_eq!((job.parties.names().len(), job.reveal_to.len()), (3, 3));
    assert_eq!(job.party("b").unwrap().address.as_deref(), Some("b.example:7400"));
    let names = ["--party", "a", "--party", "b", "--party", "c"];
    let (text, job) = written("relay.toml", &[&names[..], &["--via", "relay=relay.example:7450"]].concat());
    assert_eq!(job.relay.unwrap().address.as_deref(), Some("relay.example:7450"));
    assert!(!text.contains("\n# address") && text.contains("# identity"), "{text}");
    let (text, job) =
        written("helper.toml", &[&names[..], &["--via", "helper", "--set", "limits.pad_to=100"]].concat());
    assert!(job.topology() == Topology::Helper && job.helper.is_some() && text.contains("\n# address"), "{text}");
    let desk = ["--party", "authority=authority.example:7490", "--party", "airline", "--via", "desk"];
    let (text, job) = written("desk.toml", &[&desk[..], &["--set", "limits.daily_queries=500"]].concat());
    assert!(job.clients.is_some() && job.reveal_to == ["airline"], "{text}");
    assert_eq!((job.limits.daily_queries, job.limits.pad_to), (Some(500), Some(10_000)));
}

/// The order of dates and the headers of one table say nothing of the other parties', which are shown where theirs go.
#[test]
fn what_is_read_off_one_table_is_of_its_party() {
    let home = Home::new();
    let table = home.file("in.csv", "person,born\nAnn,04/05/1980\nBob,13/05/1980\n");
    let options = [
        &["--job", "intersect", "--party", "a=a.example:7400", "--party", "b", "--party", "c", "--yes"][..],
        &["--input", &table, "--as", "b", "--key", "name=person,dob=born", "--learns", "a,b,c"],
        &["--set", "parties.c.columns.dob=geboren"],
    ]
    .concat();
    let written = |name: &str, more: &[&str]| {
        let path = home.at(name);
        let ended = tacita(&[&["init", &path], &options[..], more].concat()).well();
        (text(&path), JobSpec::load(path.as_ref()).unwrap(), ended.stderr)
    };
    let (text, job, said) = written("read.toml", &[]);
    assert!(text.contains("[\"text\", \"date\"]") && text.contains("[\"text\", \"date:DMY\"]"), "{text}");
    let headers = ["a", "b", "c"].map(|name| job.header(name, "dob"));
    assert_eq!(headers, ["dob", "born", "geboren"]);
    let shown = |what: &str| text.lines().filter(|line| line.starts_with(what)).count();
    assert_eq!((shown("# normalize"), shown("# columns"), shown("normalize")), (2, 1, 2), "{text}");
    // A party that others dial has no address yet.
    assert!(said.contains("has no parties.a.identity, parties.b.address, parties.b.identity, parties.c.id"), "{said}");
    // What an option says is for all.
    let (text, ..) = written("said.toml", &["--normalize", "text,date:DMY"]);
    assert_eq!((text.matches("date:DMY").count(), text.matches("# normalize").count()), (1, 0), "{text}");
}

/// A job with others who serve has no two parties.
#[test]
fn an_aggregation_names_those_who_serve() {
    let home = Home::new();
    let path = home.at("job.toml");
    let options =
        ["--party", "proxy=proxy.example:7600", "--key", "ip", "--normalize", "ip", "--set", "round.key_bytes=16"];
    tacita(&[&["init", &path, "--job", "aggregate", "--yes"], &options[..]].concat()).well();
    let written = text(&path);
    let job = JobSpec::parse(&written, false).unwrap();
    assert!(job.parties.names().is_empty() && job.reveal_to == ["participants"], "{written}");
    assert!(written.contains("proxy.example:7600") && written.contains("# oracle"), "{written}");
    // There are no values that could be revealed.
    assert!(job.reveal.to_string() == "keys", "{written}");
    let wrong = tacita(&["init", &home.at("other.toml"), "--job", "aggregate", "--yes", "--party", "hospital=h:1"]);
    wrong.failed(2, &["proxy, oracle, database"]);
}

/// Checks that the written file can be planned and simulated as it is.
#[test]
fn a_file_that_was_written_runs() {
    let home = Home::new();
    let input = |name: &str| examples().join("patients").join(format!("{name}.csv")).display().to_string();
    let own = input("insurer");
    let options = [
        "--job",
        "intersect",
        "--input",
        &own,
        "--as",
        "insurer",
        "--key",
        "name=insured,dob=birth",
        "--learns",
        "hospital,insurer",
    ];
    init(&home, &options).well();
    let written = text(home.at("job.toml"));
    // The profiles that fit the own table.
    assert!(written.contains("[\"name\", \"date\"]") && written.contains("insured"), "{written}");
    let inputs = NAMES.map(|name| format!("{name}={}", input(name)));
    let out = home.at("out");
    let ended = tacita(&[
        "simulate",
        &home.at("job.toml"),
        "--input",
        &inputs[0],
        "--input",
        &inputs[1],
        "--force",
        "--output",
        &out,
    ])
    .well();
    assert!(ended.stdout.contains("rows"), "{}", ended.stdout);
    for name in NAMES {
        assert_eq!(
            text(format!("{out}/{name}.csv")),
            text(examples().join(format!("patients/expected/job/{name}.csv")))
        );
    }
    let pair = Pair::new("job = \"intersect\"\nid = \"t\"\nreveal_to = [\"hospital\"]\n[key]\ncolumns = [\"name\"]");
    let pins = NAMES.map(|name| format!("{name}={}", pair.fingerprint(name)));
    let home = Home::new();
    let options = ["--job", "intersect", "--key", "name", "--identity", &pins[0], "--identity", &pins[1]];
    init(&home, &options).well();
    let (job, identity) = (home.at("job.toml"), pair.home.at("insurer"));
    let seen = tacita(&["doctor", &job, "--as", "insurer", "--identity", &identity]).stdout;
    assert!(seen.contains("ok    identity") && seen.contains("ok    peer"), "{seen}");
}

#[test]
fn what_is_missing_or_wrong_is_told_with_its_option() {
    let home = Home::new();
    let job = home.at("job.toml");
    // No terminal, and nothing given.
    tacita(&["init", &job]).failed(2, &["no terminal", "--job"]);
    tacita(&["init", &job, "--yes"]).failed(2, &["--job"]);
    tacita(&["init", &job, "--job", "intersect"]).failed(2, &["--id", "--yes"]);
    tacita(&["init", &job, "--job", "intersect", "--yes"]).failed(2, &["--party NAME=ADDRESS"]);
    for (options, words) in [
        (&["--job", "guess"][..], &["unknown job \"guess\"", "intersect, union, dot"][..]),
        (&["--job", "intersect"], &["--key", "Columns that rows are matched by"]),
        (&["--job", "intersect", "--key", "a,b", "--normalize", "name"], &["--normalize", "1 profiles for 2"]),
        (&["--job", "intersect", "--key", "a", "--normalize", "nam"], &["--normalize", "no profile"]),
        (&["--job", "intersect", "--key", "a=b"], &["--key", "--input"]),
        (&["--job", "intersect", "--key", "a", "--learns", "bank"], &["--learns", "\"bank\" is no party"]),
        (&["--job", "intersect", "--key", "a", "--reveal", "value"], &["reveal = \"value\""]),
        (&["--job", "intersect", "--key", "a", "--reveal", "payload"], &["--gives"]),
        (&["--job", "intersect", "--key", "a", "--identity", "insurer=SHA256:x"], &["--identity", "is no fingerprint"]),
        (&["--job", "intersect", "--key", "a", "--identity", "bank="], &["--identity", "bank"]),
        (&["--job", "intersect", "--key", "a", "--set", "min_support=1"], &["min_support is for job = \"rules\""]),
        (&["--job", "rules", "--learns", "hospital"], &["name both"]),
        (&["--job", "dot", "--set", "bits=99"], &["the answers make no job", "bits"]),
        (&["--job", "dot", "--set", "bits"], &["--set bits", "NAME=VALUE"]),
        (&["--job", "union", "--key", "a", "--party", "third"], &["there are 3", "jobs of two"]),
        (&["--job", "dot", "--via", "helper"], &["--via", "use one of direct, relay"]),
        (&["--job", "intersect", "--key", "a", "--via", "rely"], &["did you mean \"relay\"?"]),
        (&["--job", "intersect", "--key", "a", "--via", "relay=here"], &["--via", "\"here\" is no address"]),
        (&["--job", "intersect", "--key", "a", "--learns", "hosptial"], &["--learns", "did you mean \"hospital\"?"]),
    ] {
        init(&home, options).failed(2, words);
        assert!(!std::path::Path::new(&job).exists(), "{options:?}");
    }
    let table = home.file("a.csv", "name,born\nAnna,1980-05-04\n");
    let with = ["--job", "intersect", "--input", &table];
    init(&home, &[&with[..], &["--key", "nam"]].concat()).failed(2, &["no column \"nam\"", "name, born", "nam=HEADER"]);
    init(&home, &[&with[..], &["--key", "name", "--as", "bank"]].concat()).failed(2, &["--as bank"]);
    // Nothing is overwritten.
    home.file("job.toml", "mine");
    init(&home, &["--job", "dot"]).failed(2, &["already exists"]);
    assert_eq!(text(&job), "mine");
    let shown = tacita(&[&["init", "-", "--yes", "--job", "dot"], &PARTIES[..]].concat()).well().stdout;
    JobSpec::parse(&shown, false).unwrap();
}

/// `tacita` at a terminal of its own.
struct Terminal {
    child: Child,
    screen: File,
    said: Arc<Mutex<String>>,
}

impl Terminal {
    fn start(arguments: &[&str]) -> Terminal {
        let control = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&control).unwrap();
        unlockpt(&control).unwrap();
        let name = ptsname(&control, Vec::new()).unwrap().into_string().unwrap();
        let end = || Stdio::from(OwnedFd::from(File::options().read(true).write(true).open(&name).unwrap()));
        let mut command = Command::new(env!("CARGO_BIN_EXE_tacita"));
        let child = command.args(arguments).stdin(end()).stdout(end()).stderr(end()).spawn().unwrap();
        let (screen, said) = (File::from(control), Arc::<Mutex<String>>::default());
        let (mut reader, heard) = (screen.try_clone().unwrap(), said.clone());
        std::thread::spawn(move || {
            let mut bytes = [0; 1024];
            while let Ok(length @ 1..) = reader.read(&mut bytes) {
                heard.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
            }
        });
        Terminal { child, screen, said }
    }

    /// Waits for a question, after those that were waited for before, and answers it.
    #[track_caller]
    fn answer(&mut self, question: &str, answer: &str) {
        let until = Instant::now() + LIMIT;
        loop {
            let mut said = self.said.lock().unwrap();
            if let Some(at) = said.find(question) {
                said.drain(..at + question.len());
                break;
            }
            assert!(Instant::now() < until, "{question}: {said}");
            drop(said);
            std::thread::sleep(Duration::from_millis(5));
        }
        self.screen.write_all(answer.as_bytes()).unwrap();
    }

    fn end(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // It fails if it has ended.
        let _ = self.child.kill();
    }
}

#[test]
fn questions_are_asked_on_a_terminal() {
    let home = Home::new();
    let table = home.file("in.csv", "patient,born\n\"DOE, Jane\",04/05/1980\n\"ROE, Rick\",13/05/1980\n");
    let mut terminal = Terminal::start(&["init", &home.at("mine.toml"), "--input", &table]);
    terminal.answer("Which job: ", "what\n");
    terminal.answer("unknown job", "");
    terminal.answer("Which job: ", "intersect\n");
    terminal.answer("name for this job [mine]: ", "\n");
    terminal.answer("How the parties reach each other: direct, relay, helper, desk [direct]: ", "\n");
    // What is wrong is told at once, and not after the last question.
    terminal.answer("Name of the first party", "St. Mary's\n");
    terminal.answer("is no name", "");
    terminal.answer("Name of the first party", "hospital\n");
    terminal.answer("Its address", "hospital.example\n");
    terminal.answer("is no address", "");
    terminal.answer("Its address", "hospital.example:7400\n");
    terminal.answer("Fingerprint of hospital", "\n");
    terminal.answer("Name of the second party", "hospital\n");
    terminal.answer("there is a party hospital already", "");
    terminal.answer("Name of the second party", "insurer\n");
    terminal.answer("Fingerprint of insurer", "nonsense\n");
    terminal.answer("is no fingerprint", "");
    terminal.answer("Fingerprint of insurer", "\n");
    terminal.answer("Name of another party; empty if there is none: ", "clinic\n");
    terminal.answer("Address of insurer, where clinic dials it", "insurer.example:7400\n");
    terminal.answer("Fingerprint of clinic", "\n");
    terminal.answer("Name of another party; empty if there is none: ", "\n");
    terminal.answer("has the columns patient (name), born (date:DMY)", "name=patient,dob=born\n");
    terminal.answer("[name,date:DMY]: ", "\n");
    terminal.answer("most rows", "1000\n");
    terminal.answer("What is learned: ", "row\n");
    terminal.answer("is not for this job", "");
    terminal.answer("What is learned: ", "\n");
    terminal.answer("Who learns it [hospital]: ", "hosptial\n");
    terminal.answer("did you mean \"hospital\"?", "");
    terminal.answer("Who learns it [hospital]: ", "\n");
    assert_eq!(terminal.end(), Some(0));
    let job = JobSpec::load(home.at("mine.toml").as_ref()).unwrap();
    assert_eq!((job.id.as_str(), job.limits.max_rows, job.header("hospital", "dob")), ("mine", Some(1000), "born"));
    assert_eq!(job.parties.names(), ["hospital", "insurer", "clinic"]);
    assert_eq!(job.party("insurer").unwrap().address.as_deref(), Some("insurer.example:7400"));
}

/// The end of the input, and Ctrl-C: no file.
#[test]
fn whoever_leaves_leaves_no_file() {
    let home = Home::new();
    let mut terminal = Terminal::start(&["init", &home.at("job.toml")]);
    terminal.answer("Which job: ", "intersect\n");
    terminal.answer("name for this job", "\u{4}");
    assert_eq!(terminal.end(), Some(2));
    let mut terminal = Terminal::start(&["init", &home.at("job.toml")]);
    terminal.answer("Which job: ", "");
    rustix::process::kill_process(rustix::process::Pid::from_child(&terminal.child), rustix::process::Signal::INT)
        .unwrap();
    assert_eq!(terminal.end(), Some(130));
    assert!(files(&home.at("")).is_empty());
}
