//! Policy and ledger of a party, for Python.

use std::path::PathBuf;

use pyo3::prelude::*;
use tacita_core::{Error, Result};
use tacita_node::base::text::json;
use tacita_node::govern::account::Governance;
use tacita_node::govern::inquiry::party_of;
use tacita_node::govern::ledger::{Contents, Ledger, export};
use tacita_node::identity::Identity as Inner;

use crate::errors::raise;
use crate::identity::Identity;
use crate::spec::Spec;

/// Returns the rule that allows a job and what it has yet to count, as JSON; raises if none does.
#[pyfunction]
#[pyo3(signature = (spec, party, *, identity, policy, ledger))]
pub fn policy_check(
    py: Python<'_>,
    spec: &Spec,
    party: &str,
    identity: Option<&Identity>,
    policy: Option<PathBuf>,
    ledger: Option<PathBuf>,
) -> PyResult<String> {
    let places = places(identity, policy, ledger);
    released(py, || json(serde_json::to_string(&places.check(&spec.job, party)?)))
}

/// Returns what each line of a policy says to a job, as JSON. The party is the one with this identity, if none is
/// named.
#[pyfunction]
#[pyo3(signature = (spec, party, *, identity, policy, ledger))]
pub fn policy_explain(
    py: Python<'_>,
    spec: &Spec,
    party: Option<String>,
    identity: &Identity,
    policy: Option<PathBuf>,
    ledger: Option<PathBuf>,
) -> PyResult<String> {
    let places = places(Some(identity), policy, ledger);
    let home = identity.home().unwrap_or_default();
    released(py, || {
        let party = party.map_or_else(|| party_of(&spec.job, &home), Ok)?;
        json(serde_json::to_string(&places.explain(&spec.job, &party)?))
    })
}

/// Returns the entries of a ledger, as JSON.
#[pyfunction]
#[pyo3(signature = (identity, *, directory))]
pub fn ledger_entries(py: Python<'_>, identity: &Identity, directory: Option<PathBuf>) -> PyResult<String> {
    let place = Place::of(identity, directory);
    released(py, || json(serde_json::to_string(&place.read()?.entries)))
}

/// Returns how much a whole ledger holds, in words; raises if it is not whole.
#[pyfunction]
#[pyo3(signature = (identity, *, directory))]
pub fn ledger_verify(py: Python<'_>, identity: &Identity, directory: Option<PathBuf>) -> PyResult<String> {
    let place = Place::of(identity, directory);
    released(py, || place.read()?.verify())
}

/// Returns the entries of a ledger in a format: `json`, `csv` or `html`.
#[pyfunction]
#[pyo3(signature = (identity, format, *, directory))]
pub fn ledger_export(
    py: Python<'_>,
    identity: &Identity,
    format: &str,
    directory: Option<PathBuf>,
) -> PyResult<String> {
    let place = Place::of(identity, directory);
    released(py, || {
        let entries = place.read()?.entries;
        match format {
            "csv" => export::csv(&entries),
            "html" => Ok(export::html(&entries)),
            _ => export::json(&entries),
        }
    })
}

/// Place of a ledger.
struct Place {
    identity: Inner,
    directory: PathBuf,
}

impl Place {
    fn of(identity: &Identity, directory: Option<PathBuf>) -> Place {
        let directory = directory.or_else(|| identity.home()).unwrap_or_default();
        Place { identity: identity.inner(), directory }
    }

    fn read(&self) -> Result<Contents> {
        Ledger::open(&self.directory, &self.identity)?.read()
    }
}

fn places(identity: Option<&Identity>, policy: Option<PathBuf>, ledger: Option<PathBuf>) -> Governance {
    Governance { home: identity.and_then(Identity::home), policy, ledger, ..Governance::default() }
}

/// Does `work`, which may wait for a lock, with the interpreter released.
fn released<T: Send>(py: Python<'_>, work: impl FnOnce() -> std::result::Result<T, Error> + Send) -> PyResult<T> {
    py.detach(work).map_err(|error| raise(py, error))
}
