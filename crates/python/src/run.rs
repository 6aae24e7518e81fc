//! One party of a job, with the others elsewhere.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::prelude::*;
use tacita_core::{Error, Result};
use tacita_node::agreement::PoolPlace;
use tacita_node::base::cancel::{Cancel, Cancelled};
use tacita_node::base::files::{Existing, scratch};
use tacita_node::govern::account::Governance;
use tacita_node::run::addresses::meeting;
use tacita_node::run::connect::ConnectPlan;
use tacita_node::run::party::PartyRun;
use tacita_serve::run::{check, start};

use crate::data::Data;
use crate::errors::{Failure, raise};
use crate::identity::Identity;
use crate::log::RunLog;
use crate::outcome::Outcome;
use crate::spec::Spec;
use crate::work::{Shown, cancels, wait};

/// Ends a run from another thread.
#[pyclass(frozen, name = "Cancel", module = "tacita._tacita")]
pub struct Canceller(Cancel);

#[pymethods]
impl Canceller {
    #[new]
    fn new() -> Canceller {
        Canceller(Cancel::default())
    }

    /// Ends the run, and returns whether it does: one that writes its result goes on.
    fn cancel(&self, py: Python<'_>) -> bool {
        py.detach(|| self.0.cancel()) != Cancelled::Writing
    }
}

/// Runs a party of a job to its end. Times are in seconds, `memory` in bytes.
#[pyfunction]
#[pyo3(signature = (spec, party, data, identity, *, listen, announce, timeout, patience, memory, pool, pool_key,
    policy, ledger, receipt, allow_unreadable, allow_insecure, progress, cancel))]
#[expect(clippy::too_many_arguments, reason = "the package names each of them")]
pub fn run(
    py: Python<'_>,
    spec: &Spec,
    party: String,
    data: &Bound<'_, PyAny>,
    identity: &Identity,
    listen: Option<String>,
    announce: Option<PathBuf>,
    timeout: f64,
    patience: f64,
    memory: Option<u64>,
    pool: Option<PathBuf>,
    pool_key: Option<PathBuf>,
    policy: Option<PathBuf>,
    ledger: Option<PathBuf>,
    receipt: Option<PathBuf>,
    allow_unreadable: bool,
    allow_insecure: bool,
    progress: Option<&Bound<'_, PyAny>>,
    cancel: Option<&Canceller>,
) -> PyResult<Outcome> {
    let of = if spec.job.bucket().is_some() { Data::of_bucket } else { Data::of };
    let data = of(data, &party)?;
    let (shown, cancel) = (Shown::default(), cancel.map(|canceller| canceller.0.clone()).unwrap_or_default());
    // It goes when the waiting ends, whatever the work is still at.
    let scratch = scratch().map_err(|error| raise(py, error))?;
    let work = {
        let governance = Governance { home: identity.home(), policy, ledger, receipt };
        let (job, identity, screen, cancel) = (spec.job.clone(), identity.inner(), shown.of(&party), cancel.clone());
        let scratch = scratch.path().to_owned();
        let told = RunLog::of(&job.id, &party);
        let run = move || {
            let times = [seconds("timeout", timeout)?, seconds("patience", patience)?];
            check(&job, &party)?;
            let source = data.source(&job, &party, allow_unreadable, &scratch)?;
            let meeting = ConnectPlan { announce, ..meeting(&job, &party, listen)? };
            let run = PartyRun {
                job: job.clone(),
                job_file: None,
                screen,
                me: party,
                source,
                identity,
                meeting,
                output: None,
                report: None,
                html: None,
                existing: Existing::Replaced,
                governance,
                pool: pool.map(|directory| PoolPlace { directory, key_file: pool_key }),
                timeout: times[0],
                patience: times[1],
                memory,
                cancel,
            };
            let answered = start(run, allow_insecure, |run| {
                if job.spread.is_none() {
                    run.announce();
                }
                let (report, answer) = run.answer()?;
                Outcome::new(&job, &report, answer)
            });
            Ok::<_, Failure>(answered?)
        };
        move || told.within(run).map(|outcome| outcome.warned(told.warnings()))
    };
    wait(py, cancels(&cancel), &shown, progress, work)
}

/// A time that an argument says.
pub fn seconds(what: &str, seconds: f64) -> Result<Duration> {
    if (0.0..1e9).contains(&seconds) {
        Ok(Duration::from_secs_f64(seconds))
    } else {
        Err(Error::Input(format!("{what} = {seconds}: give seconds, as 60 or 0.5")))
    }
}
