//! A whole job on one machine: every party a process of its own, over TLS on the loopback interface.

mod party;
mod process;
mod tables;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use tacita_core::{Error, Result};

use crate::agreement::{Ability, JobSpec, Reveal, Terms, Topology};
use crate::base::files::{self, Existing, check_distinct, check_readable, scratch};
use crate::base::text_file::read_text;
use crate::identity::Identity;
use crate::run::write::all_beside;
use crate::table::ReadOptions;
use crate::table::output::Format;
use crate::watch::ProgressSink;

use process::wait_for_all;

pub use process::{GRACE, PartyProcess, consequence};

pub use party::party;
pub use tables::{Simulated, tables};

/// Name of the helper of a simulation: no party's name has a blank.
pub const HELPER: &str = "the helper";

/// Grace period for the parties to end when the user interrupts.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(700);

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Options of a simulation.
pub struct Simulation {
    /// The text of the job file.
    pub job: JobText,
    /// Each party's table, or its share files.
    pub inputs: BTreeMap<String, Vec<PathBuf>>,
    /// Options for reading the tables of parties whose text files do not state them.
    pub reading: BTreeMap<String, ReadOptions>,
    /// Directory in which `NAME.csv` and the like are written.
    pub output: Option<PathBuf>,
    /// Format of these files.
    pub format: Format,
    /// Path of the page for readers, in a job that has one: the first party writes it.
    pub html: Option<PathBuf>,
    /// The program that each party runs, with `simulated-party --quiet`: it reads [`Instructions`] from its standard
    /// input.
    pub program: PathBuf,
    /// Settings that all parties share.
    pub settings: Settings,
}

/// A job file that has been read.
#[derive(Clone, Serialize, Deserialize)]
pub struct JobText {
    /// Text of the job file.
    pub text: String,
    /// Whether it is JSON rather than TOML.
    pub is_json: bool,
}

/// Settings of every simulated party.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Settings {
    /// One-way latency of the simulated network, in seconds.
    pub latency: f64,
    /// Bandwidth of the network in bits a second, if limited.
    pub bandwidth: Option<u64>,
    /// Accept inputs most of which cannot be read.
    pub allow_unreadable: bool,
    /// Threads of each party.
    pub threads: Option<usize>,
    /// Memory that each party may use, in bytes.
    pub memory: Option<u64>,
    /// Directory where every party has one of its name for a table on disk.
    pub work: Option<PathBuf>,
    /// Whether the parties tell how far they are.
    pub progress: bool,
    /// Whether what they say goes to a log, where no value of a table may be.
    pub logged: bool,
    /// Whether results that are there are replaced.
    pub force: bool,
}

/// Instructions that a simulated party gets on its standard input.
#[derive(Serialize, Deserialize)]
pub struct Instructions {
    /// Job that is simulated.
    pub job: JobText,
    /// Name of the party to be.
    pub party: String,
    /// Table or share files of the party.
    pub inputs: Vec<PathBuf>,
    /// The kind of its file, if that is given.
    pub kind: Option<String>,
    /// Delimiter between the values of a text file, if it is given.
    pub delimiter: Option<u8>,
    /// Character encoding of the file, if it is given.
    pub encoding: Option<String>,
    /// Number of lines skipped at the beginning.
    pub skip: usize,
    /// Whether they have no header.
    pub no_header: bool,
    /// The sheet of a workbook, if that is given.
    pub sheet: Option<String>,
    /// Path of the party's result.
    pub output: Option<PathBuf>,
    /// Path of the party's report.
    pub report: PathBuf,
    /// Path of the party's page for readers.
    pub html: Option<PathBuf>,
    /// Location of the party's key pair.
    pub identity: PathBuf,
    /// The fingerprint of each party's key pair in this simulation.
    pub pins: BTreeMap<String, String>,
    /// Addresses of the peers to dial; the other peers are listened for. If there is a helper, it is dialed, and no
    /// party.
    pub dials: BTreeMap<String, String>,
    /// File to which the party writes its listening address.
    pub announce: PathBuf,
    /// Settings that all parties share.
    pub settings: Settings,
}

/// Outcome of a simulation.
pub struct SimulationOutcome {
    /// `{ job..., parties: { NAME: report } }`
    pub report: Value,
    /// The lines that each party printed on standard output.
    pub printed: Vec<(String, Vec<String>)>,
}

/// Reason that a simulation failed: the party with which it began, and its error line.
pub struct SimulationFailure {
    /// Party with which the failure began.
    pub party: String,
    /// Error line of the party.
    pub text: String,
    /// Exit code of the party.
    pub code: u8,
}

/// Runs a simulation. `Ok(Err(_))` is a job that failed at one of its parties. `on_interrupt` gets what ends all
/// parties, for whoever hears of an interruption to call.
pub fn simulate(
    simulation: &Simulation,
    screen: &dyn ProgressSink,
    on_interrupt: impl FnOnce(Box<dyn Fn() + Send>),
) -> Result<std::result::Result<SimulationOutcome, SimulationFailure>> {
    let job = JobSpec::parse(&simulation.job.text, simulation.job.is_json)?;
    check_inputs(&job, &simulation.inputs)?;
    if let Some(directory) = &simulation.settings.work {
        job.job.can(&job, Ability::Disk)?;
        let holds_run =
            |at: &PathBuf| job.job.capabilities().resumable.is_some_and(|resumable| resumable.holds_run(at));
        if let Some(held) = job.parties.names().into_iter().map(|name| directory.join(name)).find(holds_run) {
            return Err(Error::Input(format!(
                "{}: left by an interrupted run, which a simulation cannot resume: remove it",
                held.display()
            )));
        }
    }
    if let Some(directory) = &simulation.output {
        if directory == Path::new("-") {
            return Err(Error::Input(
                "--output -: a simulation writes a file for each party: name a directory for them".into(),
            ));
        }
        let outputs: Vec<_> =
            job.parties.names().into_iter().filter_map(|name| simulation.output_of(&job, name)).collect();
        let beside = outputs.iter().map(|path| all_beside(&job, path)).collect::<Result<Vec<_>>>()?;
        let beside: Vec<_> = beside.into_iter().flatten().map(|(_, path)| path).collect();
        let existing = Existing::unless(simulation.settings.force);
        for output in outputs.iter().chain(&beside).filter(|output| output.exists()) {
            files::check_output(output, existing)?;
        }
        for input in simulation.inputs.values().flatten() {
            for output in outputs.iter().chain(&beside) {
                check_distinct(&[("an input", input), ("an output", output)])?;
            }
        }
        std::fs::create_dir_all(directory)
            .map_err(|error| Error::Input(format!("{}: cannot make the directory: {error}", directory.display())))?;
    }
    let work = scratch()?;
    let mut pins = BTreeMap::new();
    let helper = (job.topology() == Topology::Helper).then_some(HELPER);
    let all: Vec<&str> = helper.into_iter().chain(job.parties.names()).collect();
    for name in all.iter().copied() {
        let identity = Identity::create(&work.path().join(name), name)?;
        pins.insert(name.to_owned(), identity.fingerprint().to_string());
    }

    let processes = Arc::<Mutex<Vec<Pid>>>::default();
    let (stopped, directory) = (processes.clone(), work.path().to_owned());
    on_interrupt(Box::new(move || {
        for process in lock(&stopped).iter() {
            let _ = kill_process(*process, Signal::TERM);
        }
        std::thread::sleep(SHUTDOWN_GRACE);
        let _ = std::fs::remove_dir_all(&directory);
    }));
    let mut parties: Vec<PartyProcess> = Vec::new();
    for name in all {
        let mut dials = BTreeMap::new();
        let earlier: Vec<_> = peers(&job, helper, name)
            .into_iter()
            .filter(|peer| parties.iter().any(|party| party.name == *peer))
            .collect();
        for listener in &earlier {
            let address = announced_address(&work.path().join(listener), &mut parties)?;
            dials.extend(address.map(|address| (String::from(*listener), address)));
        }
        // A listener has failed already: its error is the answer.
        if dials.len() < earlier.len() {
            break;
        }
        let directory = work.path().join(name);
        let reading = simulation.reading.get(name).cloned().unwrap_or_default();
        let instructions = Instructions {
            job: simulation.job.clone(),
            party: name.to_owned(),
            inputs: simulation.inputs.get(name).cloned().unwrap_or_default(),
            kind: reading.kind.map(|kind| kind.name().to_owned()),
            delimiter: reading.delimiter,
            skip: reading.skip,
            no_header: reading.no_header,
            sheet: reading.sheet.map(|sheet| sheet.to_string()),
            encoding: reading.encoding.map(|encoding| encoding.name().to_owned()),
            output: simulation.output_of(&job, name).filter(|_| name != HELPER),
            report: directory.join("report.json"),
            html: simulation.html.clone().filter(|_| helper.is_none() && parties.is_empty()),
            identity: directory.clone(),
            pins: pins.clone(),
            dials,
            announce: directory.join("address"),
            settings: simulation.settings.clone(),
        };
        parties.push(PartyProcess::start(&simulation.program, name, &instructions, screen)?);
        lock(&processes).extend(parties.last().map(|party| Pid::from_child(&party.child)));
    }
    if let Some(failure) = wait_for_all(&mut parties)? {
        return Ok(Err(failure));
    }
    let mut reports = Map::new();
    for name in job.parties.names() {
        let path = work.path().join(name).join("report.json");
        let report = std::fs::read(path).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok());
        let report: Value = report.ok_or_else(|| Error::Internal(format!("{name} left no report")))?;
        reports.insert(name.to_owned(), report);
    }
    let helped = helper.and_then(|name| std::fs::read(work.path().join(name).join("report.json")).ok());
    let helped: Option<Value> = helped.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let printed = parties
        .iter()
        .filter(|party| party.name != HELPER)
        .map(|party| (party.name.clone(), lock(&party.printed).clone()))
        .collect();
    let mut report = json!({
        "job": job.job.name(),
        "id": job.id,
        "agreement": Terms::of(&job).agreement(),
        "version": env!("CARGO_PKG_VERSION"),
        "parties": reports,
    });
    if let Some(helped) = helped {
        report["helper"] = helped;
    }
    Ok(Ok(SimulationOutcome { report, printed }))
}

impl Simulation {
    /// Returns the path of a party's result: rows and numbers go to those who learn them, shares to both.
    pub fn output_of(&self, job: &JobSpec, party: &str) -> Option<PathBuf> {
        let directory = self.output.as_ref()?;
        match job.reveal {
            Reveal::Shares => Some(directory.join(format!("{party}.json"))),
            _ => job.learns(party).then(|| directory.join(format!("{party}.{}", self.format.ending()))),
        }
    }
}

/// Returns the peers that a party has connections to, or the helper, if there is one.
fn peers<'a>(job: &'a JobSpec, helper: Option<&'a str>, name: &str) -> Vec<&'a str> {
    match helper {
        Some(helper) => Vec::from_iter((name != helper).then_some(helper)),
        None => job.peers_of(name),
    }
}

fn check_inputs(job: &JobSpec, inputs: &BTreeMap<String, Vec<PathBuf>>) -> Result<()> {
    for name in inputs.keys() {
        job.party(name).map_err(|error| Error::Input(format!("--input {name}=...: {error}")))?;
    }
    for name in job.parties.names() {
        let Some(paths) = inputs.get(name) else {
            return Err(Error::Input(format!("no input for {name}: add --input {name}=FILE")));
        };
        let candidates = paths.len() == 2 && job.learns(name) && job.job.can(job, Ability::Candidates).is_ok();
        if paths.len() > 1 && !candidates && job.job.can(job, Ability::SeveralInputs).is_err() {
            return Err(Error::Input(format!("--input {name}=...: given twice")));
        }
        for path in paths {
            if path == Path::new("-") {
                return Err(Error::Input(format!("--input {name}=-: a simulation reads files, not standard input")));
            }
            check_readable(path)?;
        }
    }
    Ok(())
}

/// Waits for a listener's address; `None` if a party has ended instead.
fn announced_address(directory: &Path, parties: &mut [PartyProcess]) -> Result<Option<String>> {
    let path = directory.join("address");
    loop {
        if let Ok(address) = std::fs::read_to_string(&path) {
            return Ok(Some(address));
        }
        for party in parties.iter_mut() {
            if party.has_ended()? {
                return Ok(None);
            }
        }
        std::thread::sleep(POLL_INTERVAL);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl JobText {
    /// Reads a job file, and checks that it is one.
    pub fn load(path: &Path) -> Result<JobText> {
        JobSpec::load(path)?;
        let text = read_text(path)
            .map_err(|error| Error::Input(format!("{}: cannot read the job file: {error}", path.display())))?;
        Ok(JobText { text, is_json: path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json")) })
    }
}
