//! A whole job in this process: every party a thread, each with an identity of its own, over TLS on the loopback
//! interface. Of a job whose roles serve, each is a process of the command that comes with the package.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime};

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Map, Value, json};
use tacita_aggregate::simulate as aggregate;
use tacita_core::{Error, Result};
use tacita_node::agreement::{JobSpec, Source, Terms, Topology};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::files::{Existing, scratch};
use tacita_node::identity::{Identity, VALIDITY};
use tacita_node::jobs::intersect::outsourced::Helping;
use tacita_node::run::connect::ConnectPlan;
use tacita_node::run::party::{DEFAULT_PATIENCE, PartyRun};
use tacita_node::simulate::{GRACE, HELPER, JobText};
use tacita_node::table::read;
use tacita_node::transport::{self, DEFAULT_TIMEOUT, LinkShape, Peer, depot};
use tacita_node::watch::NoProgress;
use tacita_serve::helper::{HelperConfig, serve};

use crate::data::{Data, by_party};
use crate::errors::{Failure, raise};
use crate::log::RunLog;
use crate::outcome::{HISTOGRAM, MAIN, Outcome};
use crate::run::seconds;
use crate::spec::Spec;
use crate::work::{Shown, cancels, wait};

/// Outcome of each party, and the report of all as JSON.
type Ended = (BTreeMap<String, Outcome>, String);

const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Runs all parties. Returns what came of each, and the report of all as JSON.
#[pyfunction]
#[pyo3(signature = (spec, tables, *, latency, bandwidth, memory, allow_unreadable, allow_insecure, program, storage,
    progress))]
#[expect(clippy::too_many_arguments, reason = "the package names each of them")]
pub fn simulate(
    py: Python<'_>,
    spec: &Spec,
    tables: &Bound<'_, PyDict>,
    latency: f64,
    bandwidth: Option<u64>,
    memory: Option<u64>,
    allow_unreadable: bool,
    allow_insecure: bool,
    program: Option<PathBuf>,
    storage: Option<String>,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<Ended> {
    let bad = |error| raise(py, error);
    let told = RunLog::of(&spec.job.id, "");
    told.within(|| spec.job.check_secure(allow_insecure)).map_err(bad)?;
    // It goes when the waiting ends, whatever the work is still at.
    let (data, scratch) = (by_party(tables)?, scratch().map_err(bad)?);
    let (job, directory, shown) = (spec.job.clone(), scratch.path().to_owned(), Shown::default());
    if spec.job.job.served().is_some() {
        let program = program
            .ok_or_else(|| bad(Error::Input("the command `tacita` is missing: install the package again".into())))?;
        let roles = Roles { job, text: spec.text.clone(), program, storage, allow_unreadable, scratch: directory };
        let stop = Stop::default();
        let work = {
            let stop = stop.clone();
            move || told.within(|| roles.simulate(data, &stop))
        };
        return wait(py, || stop.call(), &shown, progress, work);
    }
    check_names(&job, &data).map_err(bad)?;
    let shape = LinkShape { latency: seconds("latency", latency).map_err(bad)?, bandwidth };
    let cancel = Cancel::default();
    let work = {
        let (cancel, shown) = (cancel.clone(), shown.clone());
        move || {
            let source = |(name, data): (String, Data)| {
                let source = data.source(&job, &name, allow_unreadable, &directory)?;
                Ok((name, source))
            };
            let sources = data.into_iter().map(source).collect::<Result<_>>()?;
            told.within(|| Parties { job, sources, shape, memory, cancel, shown, scratch: directory }.simulate())
        }
    };
    wait(py, cancels(&cancel), &shown, progress, work)
}

/// Each party has a table, and nobody else.
fn check_names(job: &JobSpec, data: &[(String, Data)]) -> Result<()> {
    data.iter().try_for_each(|(name, _)| job.party(name).map(drop))?;
    let missing = job.parties.names().into_iter().find(|name| !data.iter().any(|(given, _)| given == name));
    missing.map_or(Ok(()), |name| Err(Error::Input(format!("no table for {name}: give one to each party"))))
}

/// A simulation between the parties of a job.
struct Parties {
    job: JobSpec,
    sources: BTreeMap<String, Source>,
    shape: LinkShape,
    memory: Option<u64>,
    cancel: Cancel,
    shown: Shown,
    scratch: PathBuf,
}

/// A party, or the helper, that is running.
struct Running<T>(JoinHandle<Result<T>>);

impl<T> Running<T> {
    fn end(self) -> Result<T> {
        self.0.join().unwrap_or_else(|_| Err(Error::Internal("a party has panicked".into())))
    }
}

impl Parties {
    fn simulate(self) -> std::result::Result<Ended, Failure> {
        let names: Vec<String> = self.job.parties.names().into_iter().map(str::to_owned).collect();
        let now = SystemTime::now();
        let identity = |name: &str| Ok((name.to_owned(), Identity::generate(name, now, now + VALIDITY)?));
        let identities = names.iter().map(String::as_str).chain([HELPER]).map(identity);
        let identities: BTreeMap<_, _> = identities.collect::<Result<_>>()?;
        let drain = transport::ConnectCancel::default();
        let helper = (self.job.topology() == Topology::Helper).then(|| self.helper(&identities, &drain)).transpose()?;
        let (ended, mut report) = (self.run_all(&names, &identities, helper.is_some()), self.report());
        if ended.is_err() {
            drain.cancel();
        }
        let helped = helper.map(Running::end);
        let outcomes = ended?;
        if let Some(helped) = helped {
            helped.map_err(|error| Failure::from(error).at(HELPER))?;
            let text = std::fs::read(self.report_of_helper()).unwrap_or_default();
            report["helper"] = serde_json::from_slice(&text).unwrap_or_default();
        }
        let parties = outcomes.iter().map(|(name, outcome)| (name.clone(), outcome.json()));
        report["parties"] = parties.collect::<Map<_, _>>().into();
        Ok((outcomes, report.to_string()))
    }

    /// Starts the parties in their order, each when it can know where those are that it dials, and waits for all.
    fn run_all(
        &self,
        names: &[String],
        identities: &BTreeMap<String, Identity>,
        helped: bool,
    ) -> std::result::Result<BTreeMap<String, Outcome>, Failure> {
        let (done, ended) = mpsc::channel();
        let (mut running, mut outcomes, mut failures) = (0, BTreeMap::new(), Vec::new());
        for name in names {
            let dials: Vec<&str> = if helped {
                vec![HELPER]
            } else {
                self.job.peers_of(name).into_iter().filter(|peer| self.is_before(peer, name)).collect()
            };
            // Of a listener that has failed already, its error is the answer.
            let Some(addresses) = dials.iter().map(|peer| self.address(peer, &ended, &mut failures)).collect() else {
                break;
            };
            let run = self.party(name, identities, dials.into_iter().zip::<Vec<String>>(addresses).collect())?;
            if running == 0 {
                run.announce();
            }
            let (done, name, job) = (done.clone(), name.clone(), self.job.clone());
            let told = RunLog::of(&job.id, &name);
            std::thread::spawn(move || {
                let answer = told.within(|| std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run.answer())));
                let answer = answer.unwrap_or_else(|_| Err(Error::Internal("a party has panicked".into())));
                let outcome = answer.and_then(|(report, answer)| Outcome::new(&job, &report, answer));
                let _ = done.send((name, outcome.map(|outcome| outcome.warned(told.warnings()))));
            });
            running += 1;
        }
        let mut until: Option<Instant> = None;
        while outcomes.len() + failures.len() < running {
            let time = until.map_or(Duration::MAX, |until| until.saturating_duration_since(Instant::now()));
            match ended.recv_timeout(time) {
                Ok((name, Ok(outcome))) => drop(outcomes.insert(name, outcome)),
                Ok((name, Err(error))) => failures.push(Failure::from(error).at(&name)),
                // Those that wait in vain for one that has failed.
                Err(_) => {
                    self.cancel.cancel();
                    break;
                }
            }
            if !failures.is_empty() {
                until = until.or(Some(Instant::now() + GRACE));
            }
        }
        match failures.into_iter().min_by_key(Failure::consequence) {
            Some(failure) => Err(failure),
            None => Ok(outcomes),
        }
    }

    fn is_before(&self, one: &str, other: &str) -> bool {
        self.job.parties.position(one) < self.job.parties.position(other)
    }

    /// Returns the address at which a listener listens; `None` if a party fails meanwhile.
    fn address(
        &self,
        name: &str,
        ended: &mpsc::Receiver<(String, Result<Outcome>)>,
        failures: &mut Vec<Failure>,
    ) -> Option<String> {
        loop {
            if let Ok(address) = std::fs::read_to_string(self.announced(name)) {
                return Some(address);
            }
            if let Ok((name, Err(error))) = ended.recv_timeout(POLL_INTERVAL) {
                failures.push(Failure::from(error).at(&name));
                return None;
            }
        }
    }

    fn announced(&self, name: &str) -> PathBuf {
        let place = self.job.parties.position(name).map_or("helper".to_owned(), |place| place.to_string());
        self.scratch.join(format!("{place}.address"))
    }

    fn report_of_helper(&self) -> PathBuf {
        self.scratch.join("helper.json")
    }

    fn party(
        &self,
        name: &str,
        identities: &BTreeMap<String, Identity>,
        dials: BTreeMap<&str, String>,
    ) -> Result<PartyRun> {
        let peer = |name: &str| Peer { name: name.to_owned(), pin: identities[name].fingerprint() };
        let mut meeting = match dials.get(HELPER) {
            Some(address) => {
                let parties = self.job.parties.names().into_iter().map(peer).collect();
                ConnectPlan::at(depot::HelperAddress { address: address.clone(), helper: peer(HELPER), parties })
            }
            None => {
                let peers = self.job.peers_of(name).into_iter();
                let (dialed, awaited): (Vec<_>, Vec<_>) = peers.partition(|peer| dials.contains_key(peer));
                ConnectPlan {
                    dials: dialed.into_iter().map(|name| (peer(name), dials[name].clone())).collect(),
                    awaits: awaited.into_iter().map(peer).collect(),
                    listen: "127.0.0.1:0".into(),
                    relay: None,
                    helper: None,
                    announce: None,
                    shape: LinkShape::default(),
                }
            }
        };
        meeting.announce = Some(self.announced(name));
        meeting.shape = self.shape;
        Ok(PartyRun {
            job: self.job.clone(),
            job_file: None,
            me: name.to_owned(),
            source: self.sources[name].clone(),
            identity: identities[name].clone(),
            meeting,
            output: None,
            report: None,
            html: None,
            existing: Existing::Replaced,
            governance: tacita_node::govern::account::Governance::default(),
            pool: None,
            timeout: DEFAULT_TIMEOUT,
            patience: DEFAULT_PATIENCE,
            memory: self.memory,
            screen: self.shown.of(name),
            cancel: self.cancel.clone(),
        })
    }

    fn helper(&self, identities: &BTreeMap<String, Identity>, drain: &transport::ConnectCancel) -> Result<Running<()>> {
        let peer = |name: &str| Peer { name: name.to_owned(), pin: identities[name].fingerprint() };
        let parties = self.job.parties.names().into_iter().map(peer).collect();
        let serving = HelperConfig {
            jobs: vec![(format!("job {}", self.job.id), Helping::new(&self.job, parties)?)],
            identity: identities[HELPER].clone(),
            listen: "127.0.0.1:0".into(),
            state: None,
            status: None,
            timeout: DEFAULT_TIMEOUT,
            patience: DEFAULT_PATIENCE,
            drain: drain.clone(),
            once: true,
            announce: Some(self.announced(HELPER)),
            report: Some(self.report_of_helper()),
        };
        Ok(Running(std::thread::spawn(move || serve(serving))))
    }

    fn report(&self) -> Value {
        json!({
            "job": self.job.job.name(),
            "id": self.job.id,
            "agreement": Terms::of(&self.job).agreement(),
            "version": env!("CARGO_PKG_VERSION"),
        })
    }
}

/// Handle that ends the processes of a simulation, also if that is asked for before there are any.
#[derive(Clone, Default)]
struct Stop(Arc<Mutex<Stopping>>);

#[derive(Default)]
enum Stopping {
    #[default]
    Unknown,
    Known(End),
    Asked,
}

type End = Box<dyn Fn() + Send>;

impl Stop {
    fn set(&self, end: End) {
        let mut stopping = self.lock();
        match *stopping {
            Stopping::Asked => end(),
            _ => *stopping = Stopping::Known(end),
        }
    }

    fn call(&self) {
        if let Stopping::Known(end) = std::mem::replace(&mut *self.lock(), Stopping::Asked) {
            end();
        }
    }

    fn lock(&self) -> MutexGuard<'_, Stopping> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A simulation of a job whose roles serve.
struct Roles {
    job: JobSpec,
    text: JobText,
    program: PathBuf,
    storage: Option<String>,
    allow_unreadable: bool,
    scratch: PathBuf,
}

impl Roles {
    fn simulate(self, data: Vec<(String, Data)>, stop: &Stop) -> std::result::Result<Ended, Failure> {
        let given = self.scratch.join("given");
        std::fs::create_dir(&given).map_err(|error| Error::Input(format!("{}: {error}", given.display())))?;
        let file = |(name, data): (String, Data)| Ok((name, data.paths(&given)?));
        let output = self.scratch.join("output");
        let simulation = aggregate::RoundSimulation {
            job: self.text,
            inputs: data.into_iter().map(file).collect::<Result<_>>()?,
            reading: BTreeMap::new(),
            output: Some(output.clone()),
            existing: Existing::Replaced,
            ending: "arrow",
            allow_unreadable: self.allow_unreadable,
            threads: None,
            at_once: std::thread::available_parallelism().map_or(2, |cores| cores.get()) + 1,
            storage: self.storage,
            directory: None,
            logged: true,
            program: self.program,
        };
        let ended = aggregate::simulate(&simulation, &NoProgress, |end| stop.set(end))??;
        let mut outcomes = BTreeMap::new();
        for (name, lines) in ended.printed {
            let mut tables = Vec::new();
            for (what, file) in [(MAIN, format!("{name}.arrow")), (HISTOGRAM, format!("{name}.{HISTOGRAM}.csv"))] {
                tables.extend(table_in(&output.join(file))?.map(|table| (what, table)));
            }
            let report = ended.report["parties"][&name].clone();
            outcomes.insert(name, Outcome::read(&self.job, report, lines.into_iter().next(), tables));
        }
        Ok((outcomes, ended.report.to_string()))
    }
}

/// The table in a file, if there is one.
fn table_in(path: &Path) -> Result<Option<tacita_node::table::Table>> {
    path.exists().then(|| read(path, &Default::default())).transpose()
}
