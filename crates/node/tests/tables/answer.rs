//! Parties that are run by a caller, each from a table in memory and over TLS, and hand their answers back.

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tacita_core::{ErrorKind, Result};
use tacita_node::agreement::{Answer, JobSpec, Source, Terms};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::files::Existing;
use tacita_node::identity::{Fingerprint, Identity, VALIDITY};
use tacita_node::run::connect::ConnectPlan;
use tacita_node::run::party::PartyRun;
use tacita_node::run::report::RunReport;
use tacita_node::table::Table;
use tacita_node::transport::{LinkShape, Peer};
use tacita_node::watch::NoProgress;

const NAMES: [&str; 2] = ["a", "b"];

fn identity(name: &str) -> Identity {
    let now = SystemTime::now();
    Identity::generate(name, now, now + VALIDITY).unwrap()
}

fn table(names: &[&str], numbers: &[i64]) -> Table {
    let names: ArrayRef = Arc::new(StringArray::from(names.to_vec()));
    let numbers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
    let batch = RecordBatch::try_from_iter([("name", names), ("value", numbers)]).unwrap();
    Table::new("table", batch.schema(), vec![batch]).unwrap()
}

/// Returns the runs of both parties; the first one listens. `pins` are the identities of the parties in the job.
fn parties(terms: &str, pins: [Option<&Fingerprint>; 2], identities: [&Identity; 2]) -> [PartyRun; 2] {
    let party = |place: usize| {
        let pin = pins[place].map_or(String::new(), |pin| format!("identity = \"{pin}\"\n"));
        format!("[parties.{}]\n{pin}", NAMES[place])
    };
    let job = JobSpec::parse(&format!("id = \"t\"\n{terms}\n{}{}", party(0), party(1)), false).unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let tables = [table(&["x", "y", "z"], &[1, 0, 1]), table(&["y", "q", "z"], &[1, 1, 1])];
    [0, 1].map(|place| {
        let peer = Peer { name: NAMES[1 - place].into(), pin: identities[1 - place].fingerprint() };
        let (dials, awaits) =
            if place == 0 { (Vec::new(), vec![peer]) } else { (vec![(peer, address.clone())], Vec::new()) };
        PartyRun {
            job: job.clone(),
            job_file: None,
            me: NAMES[place].into(),
            source: Source::Table { table: tables[place].clone(), allow_unreadable: false },
            identity: identities[place].clone(),
            meeting: ConnectPlan {
                dials,
                awaits,
                listen: address.clone(),
                relay: None,
                helper: None,
                announce: None,
                shape: LinkShape::default(),
            },
            output: None,
            report: None,
            html: None,
            existing: Existing::Replaced,
            governance: tacita_node::govern::account::Governance::default(),
            pool: None,
            timeout: Duration::from_secs(60),
            patience: Duration::from_secs(60),
            memory: None,
            screen: Arc::new(NoProgress),
            cancel: Cancel::default(),
        }
    })
}

fn answers(runs: [PartyRun; 2]) -> [Result<(RunReport, Answer)>; 2] {
    std::thread::scope(|scope| {
        let running = runs.map(|run| scope.spawn(move || run.answer()));
        running.map(|one| one.join().unwrap())
    })
}

fn said(answer: &Answer) -> String {
    match answer {
        Answer::Nothing => "nothing".into(),
        Answer::Rows(rows) => format!("rows {}", rows.count().unwrap()),
        Answer::Numbers { line, .. } | Answer::Tables { line, .. } => line.clone(),
        Answer::Share { numbers, .. } => format!("shares {numbers}"),
    }
}

/// Every kind of answer is handed back, shares too, for which nobody names a file.
#[test]
fn answers_are_handed_back() {
    let identities = NAMES.map(identity);
    let [one, other] = identities.each_ref();
    let cases = BTreeMap::from([
        ("job = \"intersect\"\nreveal_to = [\"a\"]\n[key]\ncolumns = [\"name\"]", ["rows 2", "nothing"]),
        ("job = \"dot\"\nreveal_to = [\"a\", \"b\"]", ["value 2", "value 2"]),
        ("job = \"dot\"\nreveal = \"shares\"\nreveal_to = [\"a\", \"b\"]", ["shares 1", "shares 1"]),
    ]);
    for (terms, expected) in cases {
        let runs = parties(terms, [None; 2], [one, other]);
        let agreement = Terms::of(&runs[0].job).agreement();
        let ended = answers(runs);
        for (place, ended) in ended.into_iter().enumerate() {
            let (report, answer) = ended.unwrap();
            assert_eq!(said(&answer), expected[place], "{terms}");
            assert_eq!((report.party.as_str(), &report.peers[..]), (NAMES[place], &[NAMES[1 - place].to_owned()][..]));
            assert!(!report.learned.is_empty() && report.rounds > 0, "{terms}");
            assert_eq!(report.agreement, agreement, "{terms}");
        }
    }
}

/// A party with another identity than the job says does not run as that party, and the peer is told.
#[test]
fn another_identity_than_the_job_says_is_refused() {
    let identities = NAMES.map(identity);
    let [one, other] = identities.each_ref();
    let terms = "job = \"dot\"\nreveal_to = [\"a\", \"b\"]";
    let stranger = identity("stranger").fingerprint();
    let [first, second] = answers(parties(terms, [Some(&stranger), None], [one, other]));
    assert_eq!(first.err().unwrap().kind(), ErrorKind::Input);
    // What is wrong with its files is its own business.
    assert_eq!(second.err().unwrap().kind(), ErrorKind::Network);
}
