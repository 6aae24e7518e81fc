//! Simulation of all roles of a job and all participants on one machine. Each is a process of its own, with a directory
//! of its own, over the loopback interface.

mod rows;

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Map, Value, json};
use tacita_core::{Error, ErrorKind, Result};
use tacita_node::agreement::{JobSpec, Terms};
use tacita_node::base::exit::exit_code;
use tacita_node::base::files::{Existing, check_output, check_readable, scratch};
use tacita_node::identity::Identity;
use tacita_node::jobs::aggregate::Aggregate;
use tacita_node::jobs::aggregate::spec::{AggregateJob, ROLES};
use tacita_node::simulate::{JobText, PartyProcess, SimulationFailure, SimulationOutcome};
use tacita_node::table::ReadOptions;
use tacita_node::watch::ProgressSink;

use self::rows::Rows;
use crate::participant::operate::{Operator, RoundOrder};
use crate::setting::ServiceConfig;
use crate::wire::rounds::{RoundState, RoundStatus};

/// Name of the round in a simulation.
pub const ROUND: &str = "simulated";

/// Names of the files in the directory of the simulation.
const JOB: &str = "job.json";
const ALLOW: &str = "participants";

const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Time that the processes have to end when the user interrupts.
const SHUTDOWN_GRACE: Duration = Duration::from_millis(700);

/// Settings of a simulation.
pub struct RoundSimulation {
    /// The job file's text.
    pub job: JobText,
    /// Files that each participant reports.
    pub inputs: BTreeMap<String, Vec<PathBuf>>,
    /// Options for reading the files of participants whose text files do not say so themselves.
    pub reading: BTreeMap<String, ReadOptions>,
    /// Directory to which `NAME.csv` and the like are written.
    pub output: Option<PathBuf>,
    /// The ending of those files.
    pub ending: &'static str,
    /// Whether such files that are there stay.
    pub existing: Existing,
    /// Go on although more than half of the keys of an input cannot be read.
    pub allow_unreadable: bool,
    /// Threads of each process.
    pub threads: Option<usize>,
    /// Processes of participants at a time.
    pub at_once: usize,
    /// URL of the storage in which the databases keep rows; if absent, they are kept in the directory of the only one.
    pub storage: Option<String>,
    /// Directory in which the roles' directories are made, and left; if absent, they are made elsewhere, and removed.
    pub directory: Option<PathBuf>,
    /// Whether what they say goes to a log, where no value may be.
    pub logged: bool,
    /// The program that each runs.
    pub program: PathBuf,
}

/// A simulation that is under way.
struct Running<'a> {
    simulation: &'a RoundSimulation,
    directory: PathBuf,
    screen: &'a dyn ProgressSink,
    /// None once the user has interrupted.
    processes: Arc<Mutex<Option<Vec<Pid>>>>,
}

/// Returns the names of those who get the result.
fn readers_of(own: &AggregateJob<'_>, simulation: &RoundSimulation) -> Vec<String> {
    let audience = own.audience();
    let mut readers: Vec<String> = audience.names.iter().map(|name| (*name).to_owned()).collect();
    if audience.participants {
        readers.extend(simulation.inputs.keys().cloned());
    }
    if audience.database {
        readers.push("database".into());
    }
    readers.sort();
    readers.dedup();
    readers
}

/// Returns the path of one party's result.
fn output_of(simulation: &RoundSimulation, output: &Path, name: &str) -> PathBuf {
    let output = std::path::absolute(output).unwrap_or_else(|_| output.to_owned());
    output.join(format!("{name}.{}", simulation.ending))
}

/// Runs a simulation. `Ok(Err(_))` is a job that failed at one of its processes. `on_interrupt` gets what ends all of
/// them.
pub fn simulate(
    simulation: &RoundSimulation,
    screen: &dyn ProgressSink,
    on_interrupt: impl FnOnce(Box<dyn Fn() + Send>),
) -> Result<std::result::Result<SimulationOutcome, SimulationFailure>> {
    let spec = JobSpec::parse(&simulation.job.text, simulation.job.is_json)?;
    let own = Aggregate::of(&spec)?;
    own.check_participants(simulation.inputs.len() as u64)?;
    let _kept = Rows::free(simulation, own.own.members("database").len())?;
    for (name, paths) in &simulation.inputs {
        match &paths[..] {
            [path] if path.as_os_str() == "-" => {
                return Err(Error::Input(format!("--input {name}=-: a simulation reads files, not standard input")));
            }
            [path] => check_readable(path)?,
            _ => return Err(Error::Input(format!("--input {name}=...: given twice"))),
        }
    }
    if let Some(output) = &simulation.output {
        std::fs::create_dir_all(output)
            .map_err(|error| Error::Input(format!("{}: cannot make the directory: {error}", output.display())))?;
        for name in readers_of(&own, simulation) {
            check_output(&output_of(simulation, output, &name), simulation.existing)?;
        }
    }
    let scratch = match &simulation.directory {
        None => Some(scratch()?),
        Some(_) => None,
    };
    let directory = match (&simulation.directory, &scratch) {
        (Some(directory), _) => {
            std::fs::create_dir_all(directory)
                .map_err(|error| Error::Input(format!("{}: {error}", directory.display())))?;
            directory.canonicalize().map_err(|error| Error::Input(format!("{}: {error}", directory.display())))?
        }
        (None, Some(scratch)) => scratch.path().to_owned(),
        (None, None) => return Err(Error::Internal("a simulation without a directory".into())),
    };
    let processes = Arc::new(Mutex::new(Some(Vec::new())));
    let (stopped, removed) = (processes.clone(), scratch.as_ref().map(|scratch| scratch.path().to_owned()));
    on_interrupt(Box::new(move || {
        let ended = stopped.lock().unwrap_or_else(PoisonError::into_inner).take();
        for process in ended.into_iter().flatten() {
            let _ = kill_process(process, Signal::TERM);
        }
        std::thread::sleep(SHUTDOWN_GRACE);
        removed.iter().for_each(|directory| drop(std::fs::remove_dir_all(directory)));
    }));
    let readers = readers_of(&own, simulation);
    let running = Running { simulation, directory, screen, processes };
    let roles = running.prepare(&spec, &readers)?;
    let mut services = Vec::new();
    for role in &roles {
        services.push(running.serve(*role, called(&roles, *role))?);
    }
    running.run(&spec, &roles, services, &readers)
}

/// A service of the simulation: its role, and its place among those of the role.
type Service = (&'static str, usize);

/// Returns the name of a service's directory, which is also its key in the report.
fn directory((role, place): Service) -> String {
    format!("{role}-{}", place + 1)
}

/// Returns the name of a service, as everywhere.
fn called(all: &[Service], (role, place): Service) -> String {
    match all.iter().filter(|(other, _)| *other == role).count() {
        1 => format!("the {role}"),
        _ => format!("{role} {}", place + 1),
    }
}

impl Running<'_> {
    /// Makes identities for all, and a job file that names them.
    fn prepare(&self, spec: &JobSpec, readers: &[String]) -> Result<Vec<Service>> {
        let JobText { text, is_json } = &self.simulation.job;
        let unreadable = |what: String| Error::Internal(format!("a job file that was read before: {what}"));
        let mut job: Value = if *is_json {
            serde_json::from_str(text).map_err(|error| unreadable(error.to_string()))?
        } else {
            toml::from_str(text).map_err(|error| unreadable(error.to_string()))?
        };
        let own = Aggregate::of(spec)?;
        let mut services = Vec::new();
        for role in ROLES {
            let number = own.own.members(role).len().max(1);
            let mut members = Vec::new();
            for place in 0..number {
                let identity = Identity::create(&self.at(&directory((role, place))).join("id"), role)?;
                members.push(json!({ "identity": identity.fingerprint().to_string() }));
                services.push((role, place));
            }
            job[role] = members.into();
        }
        let mut allow = String::new();
        let mut names: Vec<&String> =
            self.simulation.inputs.keys().chain(readers).filter(|name| *name != "database").collect();
        names.sort();
        names.dedup();
        for name in names {
            let identity = Identity::create(&self.of(name).join("id"), name)?;
            allow.push_str(&format!("{name} {}\n", identity.fingerprint()));
        }
        job["participants"] = json!({ "allow": ALLOW });
        if let Some(round) = job["round"].as_object_mut() {
            // The simulation closes it when all have reported.
            round.remove("close_at");
        }
        for party in
            job["parties"].as_object_mut().into_iter().flat_map(Map::values_mut).filter_map(Value::as_object_mut)
        {
            party.remove("address");
            party.remove("identity");
        }
        let write = |name: &str, text: String| {
            let path = self.directory.join(name);
            std::fs::write(&path, text).map_err(|error| Error::Input(format!("{}: {error}", path.display())))
        };
        std::fs::create_dir_all(self.directory.join("addresses"))
            .map_err(|error| Error::Input(format!("{}: {error}", self.directory.display())))?;
        write(ALLOW, allow)?;
        write(JOB, job.to_string())?;
        Ok(services)
    }

    fn at(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The directory of a participant, or of another one who gets the result.
    fn of(&self, name: &str) -> PathBuf {
        match name {
            "database" => self.at("database-1"),
            name => self.at(&format!("as-{name}")),
        }
    }

    /// Starts a process of this program.
    fn spawn(&self, name: &str, command: &str, arguments: Vec<OsString>) -> Result<PartyProcess> {
        let mut process = Command::new(&self.simulation.program);
        process.args(["--quiet", "--log", if self.simulation.logged { "json" } else { "text" }, command]);
        process.arg(self.directory.join(JOB)).args(arguments);
        if let Some(threads) = self.simulation.threads.filter(|_| command != "results") {
            process.args(["--threads", &threads.to_string()]);
        }
        process.arg("--announce").arg(self.directory.join("addresses"));
        let mut processes = self.processes.lock().unwrap_or_else(PoisonError::into_inner);
        let running = processes.as_mut().ok_or(Error::Interrupted)?;
        let party = PartyProcess::spawn(process, name, "", self.screen)?;
        running.push(party.pid());
        Ok(party)
    }

    fn serve(&self, service: Service, name: String) -> Result<PartyProcess> {
        let (role, directory) = (service.0, self.at(&directory(service)));
        let mut arguments = options(&directory);
        arguments.extend(["--listen".into(), "127.0.0.1:0".into(), "--state".into(), directory.join("state").into()]);
        arguments.extend(["--allow-insecure".into()]);
        if role == "database" {
            arguments.extend(["--round".into(), ROUND.into()]);
            if let Some(storage) = &self.simulation.storage {
                arguments.extend(["--storage".into(), storage.into()]);
            }
        }
        self.spawn(&name, role, arguments)
    }

    fn run(
        &self,
        spec: &JobSpec,
        roles: &[Service],
        mut services: Vec<PartyProcess>,
        readers: &[String],
    ) -> Result<std::result::Result<SimulationOutcome, SimulationFailure>> {
        let submit = |name: &String| {
            let directory = self.of(name);
            let mut arguments = options(&directory);
            arguments.extend(["--as".into(), name.into(), "--round".into(), ROUND.into(), "--allow-insecure".into()]);
            let path = &self.simulation.inputs[name][0];
            arguments.extend(["--input".into(), std::path::absolute(path).unwrap_or_else(|_| path.clone()).into()]);
            let reading = self.simulation.reading.get(name).cloned().unwrap_or_default();
            if let Some(delimiter) = reading.delimiter {
                let shown = if delimiter == b'\t' { "tab".to_owned() } else { char::from(delimiter).to_string() };
                arguments.push(format!("--delimiter={shown}").into());
            }
            if let Some(encoding) = reading.encoding {
                arguments.push(format!("--encoding={}", encoding.name()).into());
            }
            if self.simulation.allow_unreadable {
                arguments.push("--allow-unreadable".into());
            }
            self.spawn(name, "submit", arguments)
        };
        if let Err(failure) = self.each(self.simulation.inputs.keys(), &mut services, submit)? {
            return Ok(Err(failure));
        }
        let setting = ServiceConfig::new(JobSpec::load(&self.directory.join(JOB))?)?;
        let identity = Identity::load(&self.at("database-1").join("id"))?;
        let operator = Operator::new(&setting, &identity, Some(&self.directory.join("addresses")))?;
        operator.order(ROUND, &RoundOrder::Close { without: Vec::new() })?;
        loop {
            if let Some(failure) = failed(&mut services)? {
                return Ok(Err(failure));
            }
            let status: RoundStatus = serde_json::from_value(operator.order(ROUND, &RoundOrder::Status)?)
                .map_err(|error| Error::Internal(format!("the database's status: {error}")))?;
            match (status.state, status.failure) {
                (RoundState::Failed, Some(failure)) => {
                    let party = failure.culprit.clone().unwrap_or_else(|| "the database".into());
                    let code = match ErrorKind::from_code(failure.kind) {
                        Some(ErrorKind::Network) => 3,
                        Some(ErrorKind::Protocol | ErrorKind::Authentication) => 4,
                        _ => 2,
                    };
                    return Ok(Err(SimulationFailure { party, text: failure.reason, code }));
                }
                // The operator's part.
                (RoundState::Counted, _) => drop(operator.order(ROUND, &RoundOrder::Reveal)?),
                (state, _) if state.is_over() => break,
                _ => (),
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        let mut printed = Vec::new();
        let results = |name: &String| {
            let directory = self.of(name);
            let mut arguments = vec!["--identity".into(), directory.join("id").into()];
            arguments.extend(["--report".into(), directory.join("results.json").into()]);
            arguments.extend(["--as".into(), name.into(), "--round".into(), ROUND.into()]);
            if let Some(output) = &self.simulation.output {
                arguments.extend(["--output".into(), output_of(self.simulation, output, name).into()]);
                arguments.extend((self.simulation.existing == Existing::Replaced).then(|| "--force".into()));
            }
            self.spawn(name, "results", arguments)
        };
        match self.each(readers.iter(), &mut services, results)? {
            Err(failure) => return Ok(Err(failure)),
            Ok(ended) => printed.extend(ended.iter().map(|party| (party.name.clone(), party.printed()))),
        }
        services.iter().for_each(PartyProcess::tell_to_end);
        for service in &mut services {
            while !service.has_ended()? {
                std::thread::sleep(POLL_INTERVAL);
            }
        }
        Ok(Ok(SimulationOutcome { report: self.report(spec, roles, &services, readers)?, printed }))
    }

    /// Starts a process for each, so many at a time, until all have ended; or the failure of one, or of a service.
    fn each<'n>(
        &self,
        names: impl Iterator<Item = &'n String>,
        services: &mut [PartyProcess],
        start: impl Fn(&String) -> Result<PartyProcess>,
    ) -> Result<std::result::Result<Vec<PartyProcess>, SimulationFailure>> {
        let mut waiting: VecDeque<&String> = names.collect();
        let (mut under_way, mut ended): (Vec<PartyProcess>, Vec<PartyProcess>) = (Vec::new(), Vec::new());
        while !waiting.is_empty() || !under_way.is_empty() {
            while under_way.len() < self.simulation.at_once
                && let Some(name) = waiting.pop_front()
            {
                under_way.push(start(name)?);
            }
            let mut place = 0;
            while place < under_way.len() {
                if under_way[place].has_ended()? { ended.push(under_way.swap_remove(place)) } else { place += 1 }
            }
            if let Some(failure) = failed(services)?.or_else(|| ended.iter().find_map(PartyProcess::failure)) {
                return Ok(Err(failure));
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(Ok(ended))
    }

    fn report(&self, spec: &JobSpec, all: &[Service], services: &[PartyProcess], readers: &[String]) -> Result<Value> {
        let read = |directory: PathBuf, name: &str| -> Option<Value> {
            serde_json::from_slice(&std::fs::read(directory.join(name)).ok()?).ok()
        };
        let mut parties = Map::new();
        for name in self.simulation.inputs.keys().chain(readers) {
            let directory = self.of(name);
            let submitted = read(directory.clone(), "report.json").filter(|_| name != "database");
            let collected = read(directory, "results.json");
            let report = match (submitted, collected) {
                (Some(submitted), Some(collected)) => both(submitted, &collected),
                (one, other) => one.or(other).unwrap_or_default(),
            };
            parties.insert(name.clone(), report);
        }
        let mut roles = Map::new();
        for (service, party) in all.iter().zip(services) {
            let report = read(self.at(&directory(*service)), "report.json");
            let mut report = report.ok_or_else(|| Error::Internal(format!("{} left no report", party.name)))?;
            report["name"] = party.name.clone().into();
            roles.insert(directory(*service), report);
        }
        Ok(json!({
            "job": spec.job.name(),
            "id": spec.id,
            "agreement": Terms::of(spec).agreement(),
            "version": env!("CARGO_PKG_VERSION"),
            "parties": parties,
            "roles": roles,
        }))
    }
}

/// The report of a participant that has submitted and collected.
fn both(mut submitted: Value, collected: &Value) -> Value {
    for key in ["result", "reveal_when", "learned", "noise"] {
        if let Some(value) = collected.get(key) {
            submitted[key] = value.clone();
        }
    }
    for key in ["sent", "received"] {
        let sum =
            [&submitted, collected].map(|report| report["bytes"][key].as_u64().unwrap_or_default()).iter().sum::<u64>();
        submitted["bytes"][key] = sum.into();
    }
    let seconds = [&submitted, collected].map(|report| report["cpu_seconds"].as_f64().unwrap_or_default());
    submitted["cpu_seconds"] = (seconds[0] + seconds[1]).into();
    submitted
}

/// Returns the options that every process is given about its directory.
fn options(directory: &Path) -> Vec<OsString> {
    vec!["--identity".into(), directory.join("id").into(), "--report".into(), directory.join("report.json").into()]
}

/// The failure of a service that has ended.
fn failed(services: &mut [PartyProcess]) -> Result<Option<SimulationFailure>> {
    for service in services.iter_mut() {
        if service.has_ended()? {
            return Ok(Some(service.failure().unwrap_or_else(|| SimulationFailure {
                party: service.name.clone(),
                // With 0 ends who was told to, and here nobody else does that than the user who interrupts.
                text: "was told to end".into(),
                code: exit_code(ErrorKind::Interrupted),
            })));
        }
    }
    Ok(None)
}
