//! One party's run of a job: load and connect at the same time, agree, run the protocol, write the result.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tacita_core::{Error, Result};

use crate::agreement::{
    Answer, JobSpec, KnownSizes, PartyInput, PoolPlace, Protocol, RELAY_LEARNS, ResultPage, ResumePoint, RunResult,
    Source, Terms,
};
use crate::base::cancel::Cancel;
use crate::base::files::{Existing, write_over};
use crate::base::usage::round;
use crate::govern::account::{Account, Governance};
use crate::identity::Identity;
use crate::run::connect::{ConnectPlan, Ready};
use crate::run::connections::Connections;
use crate::run::execute::{Executed, RunContext};
use crate::run::report::{Bytes, PhaseSeconds, RunReport};
use crate::run::write::{Destination, WrittenAnswer, all_beside, write};
use crate::watch::ProgressSink;

/// Default time-out for a peer that is busy: loading a table, or computing on a large one.
pub const DEFAULT_PATIENCE: Duration = Duration::from_secs(30 * 60);

/// Everything that a party needs to run a job.
pub struct PartyRun {
    /// Job that is run.
    pub job: JobSpec,
    /// Path from which the job was read, if it was.
    pub job_file: Option<PathBuf>,
    /// The party to be.
    pub me: String,
    /// Source of the party's data.
    pub source: Source,
    /// Key pair of the party.
    pub identity: Identity,
    /// Plan for connecting the parties.
    pub meeting: ConnectPlan,
    /// Path of the result.
    pub output: Option<PathBuf>,
    /// Path of the report.
    pub report: Option<PathBuf>,
    /// Path of the page for readers, in a job that has one.
    pub html: Option<PathBuf>,
    /// Whether an output or a page that is there stays. A report is that of the last run, and is replaced.
    pub existing: Existing,
    /// Policy that allows the run, ledger in which it is entered, and file for its receipts.
    pub governance: Governance,
    /// Pool from which encryptions are taken that were made in advance.
    pub pool: Option<PoolPlace>,
    /// Time-out for connecting to the peer.
    pub timeout: Duration,
    /// Time-out for a peer that is connected and alive, but sends or reads nothing.
    pub patience: Duration,
    /// Memory that the job may use, in bytes.
    pub memory: Option<u64>,
    /// Screen for messages during the run.
    pub screen: Arc<dyn ProgressSink>,
    /// Handle by which others may end the run.
    pub cancel: Cancel,
}

/// Outcome of a run.
pub struct RunOutcome {
    /// Report on the run.
    pub report: RunReport,
    /// The result in one line, where the party learns any.
    pub line: Option<String>,
    /// The files that were written.
    pub wrote: Vec<PathBuf>,
    /// Whether there is a file for the result.
    pub kept: bool,
    /// Warning that the user should see besides.
    pub warning: Option<String>,
    /// Error that occurred after the result was already there. The result is worth more than the error.
    pub ended: Result<()>,
}

/// State of a run before its connections end.
struct Ran {
    part: Box<dyn PartyInput>,
    found: RunResult,
    report: RunReport,
    connections: Connections,
}

impl PartyRun {
    /// Runs the job to its end.
    pub fn run(self) -> Result<RunOutcome> {
        let (account, opened) = self.account();
        let account = account.as_ref();
        match self.run_to_its_end(account, opened).map_err(|error| self.meeting.blame(error, &self.identity)) {
            Ok(mut outcome) => {
                outcome.ended =
                    outcome.ended.and(account.map_or(Ok(()), |account| account.end(Ok(outcome.report.accounted()))));
                Ok(outcome)
            }
            Err(error) => Err(self.failed(account, error)),
        }
    }

    fn run_to_its_end(&self, account: Option<&Arc<Account>>, opened: Result<()>) -> Result<RunOutcome> {
        let started = Instant::now();
        if let Some((part, found)) = self.left(ResumePoint::Ended)? {
            opened?;
            self.check_paths()?;
            tracing::info!("all that the parties need of each other is there: what is left is to write the result");
            let mut outcome = self.write_left(&*part, found, started)?;
            outcome.ended = outcome.ended.and_then(|()| part.clear());
            return Ok(outcome);
        }
        let checked = opened.and_then(|()| self.check_paths());
        match &checked {
            Ok(()) => self.announce(),
            Err(_) => tracing::info!("{} cannot run (see the error at the end): telling the others", self.me),
        }
        let refused = checked.as_ref().err().filter(|error| matches!(error, Error::Policy(_))).map(ToString::to_string);
        let ready = match self.prepare(checked, account) {
            Ok(ready) => ready,
            // A peer that fails first does not hide why this party refuses, nor is a kept result written then.
            Err(Error::Network { .. }) if refused.is_some() => return Err(Error::Policy(refused.unwrap_or_default())),
            Err(error) if refused.is_some() => return Err(error),
            Err(error) => return self.write_alone(error, started),
        };
        let Ran { part, found, mut report, connections } = self.execute(ready, account)?;
        let RunResult { answer, further_rounds, page, .. } = found;
        let write = || {
            let started = Instant::now();
            let result = self.cancel.without_cancel(|| self.write_answer(answer()?))?;
            Ok((result, started.elapsed()))
        };
        let (traffic, (result, writing)) = connections.conclude(&self.job, &*part, write)?;
        report.bytes = Bytes::of(&traffic.all, &traffic.by_peer);
        report.rounds = traffic.all.rounds + further_rounds;
        report.seconds.output = round(writing);
        self.end_with(&*part, report, page, result, started)
    }

    /// A run that was cut off, if so much of it is done.
    fn left(&self, done: ResumePoint) -> Result<Option<(Box<dyn PartyInput>, RunResult)>> {
        let resumable = self.job.job.capabilities().resumable;
        resumable.map_or(Ok(None), |resumable| resumable.left(&self.job, &self.me, &self.source, done))
    }

    /// Writes what stands beside the answer.
    fn end_with(
        &self,
        part: &dyn PartyInput,
        mut report: RunReport,
        page: Option<Box<dyn ResultPage>>,
        result: WrittenAnswer,
        started: Instant,
    ) -> Result<RunOutcome> {
        report.result = result.json;
        let reported = self.write_report(&mut report, started);
        let page = match (&self.html, page) {
            (Some(path), Some(page)) => {
                let text = page.html(&self.job, &report.choice);
                write_over(path, text.as_bytes(), self.existing).map(|()| Some(path))
            }
            _ => Ok(None),
        };
        let mut outcome = self.outcome(report, result.line, result.written)?;
        outcome.wrote.extend(page.as_ref().ok().copied().flatten().cloned());
        outcome.ended = outcome.ended.and_then(|()| part.clear()).and(reported).and(page.map(drop));
        Ok(outcome)
    }

    /// Runs the job to its end, and writes nothing: the answer is for the caller.
    ///
    /// Errors: as [`PartyRun::run`]; and of a table on disk, whose rows are gone when the run has ended.
    pub fn answer(self) -> Result<(RunReport, Answer)> {
        let started = Instant::now();
        if let Source::Disk { work, .. } = &self.source {
            return Err(Error::Input(format!(
                "{}: a run on disk writes its rows to a file: name one, and run it",
                work.directory.display()
            )));
        }
        let blame = |error| self.meeting.blame(error, &self.identity);
        let (account, opened) = self.account();
        let account = account.as_ref();
        let answered = || {
            let checked = opened.and_then(|()| self.check_party()).and_then(|()| self.check_receipt());
            let ready = self.prepare(checked, account)?;
            let Ran { part, found, mut report, connections } = self.execute(ready, account)?;
            let (traffic, answer) = connections.conclude(&self.job, &*part, found.answer)?;
            report.bytes = Bytes::of(&traffic.all, &traffic.by_peer);
            report.rounds = traffic.all.rounds + found.further_rounds;
            report.measure(started);
            Ok((report, answer))
        };
        let (report, answer) = answered().map_err(|error| self.failed(account, blame(error)))?;
        if let Some(Err(error)) = account.map(|account| account.end(Ok(report.accounted()))) {
            tracing::warn!("{error}");
        }
        Ok((report, answer))
    }

    /// Opens the account of the run: none where this is a part of a run that is spread, which its driver accounts for.
    /// The error says why the run may not go on.
    fn account(&self) -> (Option<Arc<Account>>, Result<()>) {
        if self.job.spread.is_some() {
            return (None, Ok(()));
        }
        let paths = self.source.paths();
        match self.governance.open(&self.job, &self.me, &self.identity, &paths) {
            Ok(account) => (Some(Arc::new(account)), Ok(())),
            Err(error) => (None, Err(error)),
        }
    }

    /// Ends the account of a run that has failed. That it could not be written is worth less than why the run failed.
    fn failed(&self, account: Option<&Arc<Account>>, error: Error) -> Error {
        if let Some(Err(unwritten)) = account.map(|account| account.end(Err(&error))) {
            tracing::warn!("{unwritten}");
        }
        error
    }

    /// Runs what the parties have come together for.
    fn execute(&self, ready: Ready, account: Option<&Arc<Account>>) -> Result<Ran> {
        let Ready { mut part, load, connect, greeted, round_trip, mut connections } = ready;
        let context = RunContext {
            job: &self.job,
            me: &self.me,
            memory: self.memory,
            secret: &self.identity.lasting_secret(),
            bandwidth: self.meeting.shape.bandwidth,
            screen: &self.screen,
            account: account.map(|account| (account, self.meeting.pins())),
        };
        let executed = context.run(&mut *part, greeted, round_trip, &mut connections)?;
        let Executed { mut found, choice, unusable, setup, running } = executed;
        let (learned, mut extras) = (std::mem::take(&mut found.learned), std::mem::take(&mut found.extras));
        if !unusable.is_empty() {
            extras.insert("quality".into(), json!(unusable));
        }
        let mut report = self.report(&*part, found.protocol, &choice, learned, extras);
        report.rows.common = found.common;
        report.tls = connections.tls();
        report.seconds.load = round(load);
        report.seconds.connect = round(connect);
        report.seconds.setup = round(setup);
        report.seconds.protocol = round(running);
        Ok(Ran { part, found, report, connections })
    }

    /// A peer that cannot be reached is not missed by a party that was cut off when it had all it needs.
    fn write_alone(&self, error: Error, started: Instant) -> Result<RunOutcome> {
        let (Error::Network { peer, .. }, Source::Disk { work, .. }) = (&error, &self.source) else {
            return Err(error);
        };
        let Ok(Some((part, found))) = self.left(ResumePoint::Complete) else {
            return Err(error);
        };
        let mut outcome = self.write_left(&*part, found, started)?;
        outcome.warning = Some(format!(
            "{error}; the result is complete, and was written. {} is kept, because {peer} may still need this party: --resume \
             finishes that, else remove it",
            work.directory.display()
        ));
        Ok(outcome)
    }

    /// Writes the result of a run that was cut off when it had all it needs.
    fn write_left(&self, part: &dyn PartyInput, found: RunResult, started: Instant) -> Result<RunOutcome> {
        let output_started = Instant::now();
        let result = self.write_answer((found.answer)()?)?;
        let mut report = self.report(part, found.protocol, found.protocol.name(), found.learned, found.extras);
        report.result = result.json;
        report.seconds.output = round(output_started.elapsed());
        let reported = self.write_report(&mut report, started);
        let mut outcome = self.outcome(report, result.line, result.written)?;
        outcome.ended = outcome.ended.and(reported);
        Ok(outcome)
    }

    /// Writes the answer. Where its place fails, it is kept beside the report or in a directory of this user; on disk
    /// it is there anyway.
    fn write_answer(&self, answer: Answer) -> Result<WrittenAnswer> {
        let beside = |path: &Path| {
            path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
        };
        let to = Destination { path: self.output.as_deref(), existing: self.existing, spare: None };
        let Source::Disk { work, .. } = &self.source else {
            let spare: Vec<_> = self.report.as_deref().map(beside).into_iter().collect();
            return write(self.job.job.name(), answer, Destination { spare: Some(&spare), ..to });
        };
        let mut result = write(self.job.job.name(), answer, to)?;
        if let Err(Error::Input(text)) = result.written {
            let directory = work.directory.display();
            result.written = Err(Error::Input(format!(
                "{text}; {directory} is kept: --resume writes the result, without the other parties"
            )));
        }
        Ok(result)
    }

    fn write_report(&self, report: &mut RunReport, started: Instant) -> Result<()> {
        report.measure(started);
        self.report.as_deref().map_or(Ok(()), |path| report.write(path))
    }

    pub(super) fn resumes(&self) -> bool {
        matches!(&self.source, Source::Disk { work, .. } if work.resume)
    }

    /// Returns the outcome of the run, with the files that were written.
    fn outcome(&self, report: RunReport, line: Option<String>, written: Result<()>) -> Result<RunOutcome> {
        let output = self.output.clone().filter(|_| line.is_some() && written.is_ok());
        let beside = if output.is_some() { self.beside()? } else { Vec::new() };
        let kept = self.output.is_some();
        Ok(RunOutcome {
            report,
            line,
            wrote: output.into_iter().chain(beside.into_iter().map(|(_, path)| path)).collect(),
            kept,
            warning: None,
            ended: written,
        })
    }

    /// The files that stand beside the output, with what messages call them.
    pub(super) fn beside(&self) -> Result<Vec<(&'static str, PathBuf)>> {
        self.output.as_deref().map_or(Ok(Vec::new()), |output| all_beside(&self.job, output))
    }

    /// Says what each party will learn: of two parties in full, of more in a line each. [`PartyRun::answer`] leaves
    /// that to its caller.
    pub fn announce(&self) {
        let parties = self.job.parties.names();
        let summary = if parties.len() > 2 { self.job.summary() } else { Vec::new() };
        if summary.is_empty() {
            let sentences = parties.iter().flat_map(|party| self.job.learned(party, KnownSizes::default()));
            sentences.for_each(|sentence| tracing::info!("{sentence}"));
        } else {
            summary.iter().for_each(|line| tracing::info!("{line}"));
            tracing::info!("for exceptions, see `tacita plan`, or `learned` in the report");
        }
        if self.meeting.relay.is_some() {
            tracing::info!("{}.", RELAY_LEARNS);
        }
    }

    pub(super) fn report(
        &self,
        part: &dyn PartyInput,
        protocol: Protocol,
        choice: &str,
        mut learned: Vec<String>,
        extras: Map<String, Value>,
    ) -> RunReport {
        let job = &self.job;
        learned.extend(job.learned_of_rows(&self.me));
        let others = job.parties.names().into_iter().filter(|name| *name != self.me);
        RunReport {
            job: job.job.name().into(),
            id: job.id.clone(),
            protocol: protocol.name().into(),
            security: job.security.name().into(),
            level: job.level.name().into(),
            agreement: Terms::of(job).agreement(),
            version: env!("CARGO_PKG_VERSION").into(),
            party: self.me.clone(),
            peers: others.map(str::to_owned).collect(),
            rows: part.rows(),
            result: Value::Null,
            learned,
            bytes: Bytes::default(),
            tls: None,
            rounds: 0,
            seconds: PhaseSeconds::default(),
            cpu_seconds: 0.0,
            peak_memory: None,
            choice: choice.into(),
            extras,
        }
    }
}
