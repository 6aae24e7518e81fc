//! Parties of a run: what each learns and no more, what is refused before it is opened or answered, and who takes part.

mod confirmed;
mod prepared;
mod purposes;
mod receipts;
mod results;
mod shares;
mod written;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use tacita_core::channel::Channel;
use tacita_core::{Error, Result};
use tacita_node::agreement::handshake::{confirm, greet, settle};
use tacita_node::agreement::{Answer, JobSpec, Network, PartContext, PartyInput, Peers, Source};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::files::Existing;
use tacita_node::base::random::fresh_rng;
use tacita_node::identity::{Identity, VALIDITY};
use tacita_node::run::connect::ConnectPlan;
use tacita_node::run::party::PartyRun;
use tacita_node::table::Table;
use tacita_node::transport::{LinkShape, Peer};
use tacita_node::watch::NoProgress;

/// Maximum time for which a test waits.
const BOUND: Duration = Duration::from_secs(20);

fn identity(name: &str) -> Identity {
    let now = SystemTime::now();
    Identity::generate(name, now, now + VALIDITY).unwrap()
}

fn peer(name: &str, identity: &Identity) -> Peer {
    Peer { name: name.into(), pin: identity.fingerprint() }
}

/// Names, and a number for each.
fn table(names: &[&str], numbers: &[i64]) -> Table {
    let names: ArrayRef = Arc::new(StringArray::from(names.to_vec()));
    let numbers: ArrayRef = Arc::new(Int64Array::from(numbers.to_vec()));
    let batch = RecordBatch::try_from_iter([("name", names), ("value", numbers)]).unwrap();
    Table::new("table", batch.schema(), vec![batch]).unwrap()
}

fn source(table: &Table) -> Source {
    Source::Table { table: table.clone(), allow_unreadable: false }
}

fn job(terms: &str) -> JobSpec {
    let text = format!("id = \"t\"\n{terms}\n[parties.a]\n[parties.b]\n");
    JobSpec::parse(&text, false).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn load(job: &JobSpec, me: &str, source: &Source) -> Result<Box<dyn PartyInput>> {
    job.job.load(job, me, source, None)
}

/// The answer as it is printed.
fn said(answer: &Answer) -> String {
    match answer {
        Answer::Nothing => "nothing".into(),
        Answer::Rows(rows) => format!("rows {}", rows.count().unwrap()),
        Answer::Numbers { line, .. } | Answer::Tables { line, .. } => line.clone(),
        Answer::Share { numbers, .. } => format!("shares {numbers}"),
    }
}

/// Returns the text of the error with which a party has ended.
#[track_caller]
fn text<T>(ended: Result<T>) -> String {
    match ended {
        Ok(_) => panic!("it is not refused"),
        Err(error) => error.to_string(),
    }
}

/// Runs a job between two parties with what they have loaded.
fn run(job: &JobSpec, parts: [Box<dyn PartyInput>; 2]) -> [Result<Answer>; 2] {
    let names: Vec<_> = job.parties.names();
    let (one, other) = Channel::pair(names[0], names[1]);
    std::thread::scope(|scope| {
        let ends = names.iter().zip(parts.into_iter().zip([one, other]));
        let running: Vec<_> =
            ends.map(|(me, (part, channel))| scope.spawn(move || party(job, me, part, channel))).collect();
        let ended: Vec<_> = running.into_iter().map(|one| one.join().unwrap()).collect();
        ended.try_into().unwrap_or_else(|_| panic!("two"))
    })
}

fn party(job: &JobSpec, me: &str, mut part: Box<dyn PartyInput>, mut channel: Channel) -> Result<Answer> {
    let found = run_over(job, me, &mut *part, &mut channel);
    match found {
        Ok(found) => channel.finish().and_then(|_| (found.answer)()),
        Err(error) => {
            channel.abort(&error);
            Err(error)
        }
    }
}

fn run_over(
    job: &JobSpec,
    me: &str,
    part: &mut dyn PartyInput,
    channel: &mut Channel,
) -> Result<tacita_node::agreement::RunResult> {
    let greeted = greet(job, me, &[0; 32], channel, &mut fresh_rng()?)?;
    let own = part.sizes();
    let check = |theirs: &_, channel: &_| part.check_peer(job, theirs, channel);
    let choose = |theirs: &_| {
        let sizes = job.sizes_of_both(me, &own, theirs);
        job.job.choose(job, &sizes, Network::default()).map(|choice| choice.chosen)
    };
    let agreed = settle(greeted, job, me, &own, check, choose, channel)?;
    confirm(&agreed.session, job, me, channel)?;
    let peers = Peers::One { agreed: &agreed, channel };
    part.run(PartContext { job, me, peers, allowed: None, secret: &[7; 32], rng: &mut fresh_rng()? })
}

/// A party that dials `a`, or nobody.
fn party_run(job: JobSpec, me: &str, source: Source, dials: Vec<(Peer, String)>) -> PartyRun {
    PartyRun {
        job,
        job_file: None,
        me: me.into(),
        source,
        identity: identity(me),
        meeting: ConnectPlan {
            dials,
            awaits: Vec::new(),
            listen: String::new(),
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
        timeout: BOUND,
        patience: BOUND,
        memory: None,
        screen: Arc::new(NoProgress),
        cancel: Cancel::default(),
    }
}

/// Returns both tables, by the party's name.
fn both(one: Table, other: Table) -> BTreeMap<String, Table> {
    BTreeMap::from([("a".to_owned(), one), ("b".to_owned(), other)])
}

fn is_input(error: &Error) -> bool {
    matches!(error, Error::Input(_))
}
