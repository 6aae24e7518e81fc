//! A participant of a job "aggregate": it submits reports, and collects what a round has revealed.

use std::path::Path;
use std::sync::Arc;

use pyo3::prelude::*;
use tacita_aggregate::participant::results::{Collecting, collect};
use tacita_aggregate::participant::submit::{Submitting, submit as submit_all};
use tacita_aggregate::setting::ServiceConfig;
use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::files::scratch;
use tacita_node::govern::account::Governance;
use tacita_node::jobs::aggregate::reports::ReportsInput;
use tacita_node::table::ReadOptions;
use tacita_serve::run::governed;

use crate::data::Data;
use crate::errors::{Failure, raise};
use crate::identity::Identity;
use crate::log::RunLog;
use crate::outcome::Outcome;
use crate::run::seconds;
use crate::spec::Spec;
use crate::work::{Shown, cancels, wait};

/// Submits reports; the report of that as JSON. Times are in seconds.
#[pyfunction]
#[pyo3(signature = (spec, party, data, identity, round, *, resume, batch, timeout, patience, expand, allow_unreadable,
    allow_insecure, progress))]
#[expect(clippy::too_many_arguments, reason = "the package names each of them")]
pub fn submit(
    py: Python<'_>,
    spec: &Spec,
    party: String,
    data: &Bound<'_, PyAny>,
    identity: &Identity,
    round: String,
    resume: bool,
    batch: Option<usize>,
    timeout: f64,
    patience: f64,
    expand: Option<u64>,
    allow_unreadable: bool,
    allow_insecure: bool,
    progress: Option<&Bound<'_, PyAny>>,
) -> PyResult<String> {
    let (data, identity_home) = (Data::of(data, &party)?, identity.home());
    let (shown, cancel) = (Shown::default(), Cancel::default());
    // It goes when the waiting ends, whatever the work is still at.
    let scratch = scratch().map_err(|error| raise(py, error))?;
    let work = {
        let (job, identity, screen, cancel) = (spec.job.clone(), identity.inner(), shown.of(&party), cancel.clone());
        let scratch = scratch.path().to_owned();
        let told = RunLog::of(&job.id, &party);
        // A policy beside the identity has to allow it, and it is entered in the ledger there.
        let governance = Governance { home: identity_home, ..Governance::default() };
        let submit = move || {
            job.check_secure(allow_insecure)?;
            let submitting = Submitting {
                setting: Arc::new(ServiceConfig::new(job.clone())?),
                identity,
                input: ReportsInput { allow_unreadable, expand, ..input(data, &scratch)? },
                round,
                resume,
                batch,
                timeout: seconds("timeout", timeout)?,
                patience: seconds("patience", patience)?,
                announce: None,
                screen,
                cancel,
                me: party,
            };
            let Submitting { me, identity, .. } = &submitting;
            Ok::<_, Failure>(governed(&governance, (&job, me), identity, &[], |_| submit_all(&submitting))?)
        };
        move || {
            let mut report = told.within(submit)?;
            report["warnings"] = told.warnings().into();
            Ok(report.to_string())
        }
    };
    wait(py, cancels(&cancel), &shown, progress, work)
}

/// Collects the result of a round. Times are in seconds.
#[pyfunction]
#[pyo3(signature = (spec, party, identity, round, *, data, timeout))]
pub fn results(
    py: Python<'_>,
    spec: &Spec,
    party: String,
    identity: &Identity,
    round: String,
    data: Option<&Bound<'_, PyAny>>,
    timeout: f64,
) -> PyResult<Outcome> {
    let data = data.map(|data| Data::of(data, &party)).transpose()?;
    let cancel = Cancel::default();
    let scratch = scratch().map_err(|error| raise(py, error))?;
    let work = {
        let (job, identity, cancel) = (spec.job.clone(), identity.inner(), cancel.clone());
        let scratch = scratch.path().to_owned();
        move || {
            let collecting = Collecting {
                setting: Arc::new(ServiceConfig::new(job.clone())?),
                me: party,
                identity,
                round,
                input: data.map(|data| input(data, &scratch)).transpose()?,
                timeout: seconds("timeout", timeout)?,
                announce: None,
                cancel,
            };
            let (results, report) = collect(&collecting)?;
            Ok(Outcome::of_round(&job, report, results)?)
        }
    };
    wait(py, cancels(&cancel), &Shown::default(), None, work)
}

/// A participant's reports, in a file.
fn input(data: Data, scratch: &Path) -> Result<ReportsInput> {
    let paths = data.paths(scratch)?;
    let [path] = <[_; 1]>::try_from(paths)
        .map_err(|paths| Error::Input(format!("{} tables are given: a participant reports from one", paths.len())))?;
    Ok(ReportsInput { path, options: ReadOptions::default(), listing: None, expand: None, allow_unreadable: false })
}
