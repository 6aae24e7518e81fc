//! A job file, planned and run: both parties as their own machines would run them, over TLS between their identities.
//!
//! `cargo run --release -p tacita-node --example job_file`

use std::collections::BTreeMap;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::SystemTime;

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use tacita_core::Result;
use tacita_node::identity::VALIDITY;
use tacita_node::prelude::*;

const HOSPITAL: [&str; 3] = ["Ada Lovelace", "Emmy Noether", "Sofia Kovalevskaya"];
const INSURER: [&str; 3] = ["NOETHER, EMMY", "Ada  Lovelace", "Alan Turing"];

/// The job file, the same at both parties, who have told each other their fingerprints.
fn job_file(address: &str, [hospital, insurer]: [&Identity; 2]) -> String {
    format!(
        r#"
        job       = "intersect"
        id        = "accidents"
        reveal_to = ["hospital"]
        key       = {{ columns = ["name"], normalize = ["name"] }}

        [parties.hospital]
        address  = "{address}"
        identity = "{}"

        [parties.insurer]
        identity = "{}"
        "#,
        hospital.fingerprint(),
        insurer.fingerprint(),
    )
}

fn table(names: [&str; 3]) -> Result<Table> {
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(names));
    let batch = RecordBatch::try_from_iter([("name", names)]).expect("one column");
    Table::new("names", batch.schema(), vec![batch])
}

/// Prints what the job will cost, and what the other party will learn.
fn print_plan(job: &JobSpec) -> Result<()> {
    let sizes = job.parties.names().into_iter().map(|party| (party.to_owned(), Sizes { items: 3, ..Sizes::default() }));
    let calibration = Calibration::measure(&mut fresh_rng()?)?;
    let plan = plan(job, &sizes.collect(), &BTreeMap::new(), calibration, LinkShape::default())?;
    println!("{}, {} rounds. {}", plan.protocol, plan.rounds, plan.why);
    println!("{}", plan.parties["insurer"].learned.join("\n"));
    Ok(())
}

/// The run of a party with its table.
fn run(job: &JobSpec, me: &str, table: Table, identity: &Identity) -> Result<(RunReport, Answer)> {
    let source = Source::Table { table, allow_unreadable: false };
    PartyRun::new(job.clone(), me, source, identity.clone())?.answer()
}

/// Plans and runs the job, and prints what the hospital learns.
pub fn main() -> Result<()> {
    // A port that is free on this machine; two machines have addresses of their own.
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
    let address = free.map_err(|error| Error::Input(format!("no free port: {error}")))?.to_string();
    let now = SystemTime::now();
    let [hospital, insurer] = ["hospital", "insurer"].map(|name| Identity::generate(name, now, now + VALIDITY));
    let (hospital, insurer) = (hospital?, insurer?);
    let job = JobSpec::parse(&job_file(&address, [&hospital, &insurer]), false)?;
    print_plan(&job)?;

    let (here, there) = std::thread::scope(|scope| {
        let there = scope.spawn(|| run(&job, "insurer", table(INSURER)?, &insurer));
        (table(HOSPITAL).and_then(|table| run(&job, "hospital", table, &hospital)), there.join())
    });
    let ((report, answer), (_, nothing)) = (here?, there.expect("a thread that does not panic")?);
    let Answer::Rows(rows) = answer else { return Err(Error::Internal("rows were asked for".into())) };
    assert!(rows.count()? == 2 && matches!(nothing, Answer::Nothing));
    rows.batches().try_for_each(|batch| batch.map(|batch| println!("{batch:?}")))?;
    println!("{} bytes sent in {} rounds", report.bytes.sent, report.rounds);
    Ok(())
}
