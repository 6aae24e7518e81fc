//! Checks of what a party needs before a run, for Python.

use std::path::PathBuf;

use pyo3::prelude::*;
use serde_json::json;
use tacita_aggregate::doctor::examine;
use tacita_core::Result;
use tacita_node::agreement::JobSpec;
use tacita_node::base::files::{Existing, scratch};
use tacita_node::base::text::{harmless, json as written};
use tacita_node::jobs::aggregate::Aggregate;
use tacita_node::table::ReadOptions;
use tacita_node::transport::ConnectCancel;
use tacita_serve::doctor::{DoctorInput, Examination, Finding, FindingState};

use crate::data::Data;
use crate::errors::raise;
use crate::identity::Identity;
use crate::run::seconds;
use crate::spec::Spec;
use crate::words::as_arguments;
use crate::work::{Shown, wait};

/// Examines a party; the findings as JSON. The job is one, or the path of its file; the identity is one, or its
/// directory. The time to wait for the peers' doctors is in seconds.
#[pyfunction]
#[pyo3(signature = (job, party, identity, *, data, listen, output, overwrite, meet, timeout))]
#[expect(clippy::too_many_arguments, reason = "the package names each of them")]
pub fn doctor(
    py: Python<'_>,
    job: &Bound<'_, PyAny>,
    party: String,
    identity: &Bound<'_, PyAny>,
    data: Option<&Bound<'_, PyAny>>,
    listen: Option<String>,
    output: Option<PathBuf>,
    overwrite: bool,
    meet: bool,
    timeout: f64,
) -> PyResult<String> {
    let (job, shown) = match job.cast::<Spec>() {
        Ok(spec) => (Ok(spec.get().job.clone()), spec.get().job.id.clone()),
        Err(_) => {
            let path: PathBuf = job.extract()?;
            (JobSpec::load(&path), path.display().to_string())
        }
    };
    let identity = match identity.cast::<Identity>() {
        Ok(identity) => identity.get().home().unwrap_or_default(),
        Err(_) => identity.extract()?,
    };
    let data = data.map(|data| Data::of(data, &party)).transpose()?;
    let timeout = seconds("timeout", timeout).map_err(|error| raise(py, error))?;
    // It goes when the waiting ends, whatever the work is still at.
    let scratch = scratch().map_err(|error| raise(py, error))?;
    let (place, cancel) = (scratch.path().to_owned(), ConnectCancel::default());
    let stop = {
        let cancel = cancel.clone();
        move || cancel.cancel()
    };
    wait(py, stop, &Shown::default(), None, move || {
        let in_memory = !job.as_ref().is_ok_and(|job| Aggregate::of(job).is_ok());
        let input = match data {
            Some(Data::Table(table)) if in_memory => DoctorInput::Table(table),
            data => {
                let paths = data.map_or_else(|| Ok(Vec::new()), |data| data.paths(&place))?;
                DoctorInput::Files { paths, options: ReadOptions::default() }
            }
        };
        let examination = Examination {
            shown,
            me: party,
            identity,
            input,
            output,
            existing: Existing::unless(overwrite),
            work: None,
            meet: meet.then_some(timeout),
            listen,
            cancel,
        };
        let mut found = Vec::new();
        let mut keep = |Finding { state, subject, text }: Finding| -> Result<()> {
            let state = match state {
                FindingState::Good => "ok",
                FindingState::Note => "note",
                FindingState::Mend => "mend",
            };
            let text = harmless(&as_arguments(&text));
            found.push(json!({ "state": state, "subject": subject, "text": text }));
            Ok(())
        };
        examine(&examination, job, None, &mut keep)?;
        Ok(written(serde_json::to_string(&found))?)
    })
}
