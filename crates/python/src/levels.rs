//! Jobs on many machines that count again and again: what the machines count, and what they are told.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use serde_json::{Value, json};
use tacita_core::{Error, Result};
use tacita_node::base::files::scratch;
use tacita_node::jobs::rules::distributed::count;
use tacita_node::table::output::check_writable;

use crate::arrow;
use crate::data::Data;
use crate::errors::raise;
use crate::outcome::Outcome;
use crate::spec::{Spec, wanted_of};
use crate::work::{Shown, wait};

/// Joins the facts of all parts of a party's table on how they are read. Returns them as JSON, from the facts of each
/// part.
#[pyfunction]
pub fn join_facts(py: Python<'_>, spec: &Spec, party: &str, facts: Vec<String>) -> PyResult<String> {
    let parse = |text: &String| serde_json::from_str(text).map_err(|error| Error::Internal(error.to_string()));
    let joined = facts.iter().map(parse).collect::<Result<Vec<Value>>>();
    let joined = joined.and_then(|facts| spec.job.distributed()?.join_facts(&spec.job, party, facts));
    joined.map(|facts| facts.to_string()).map_err(|error| raise(py, error))
}

/// The items of a bucket's rows, which go by their position.
#[pyfunction]
pub fn partition(py: Python<'_>, spec: &Spec, party: String, data: &Bound<'_, PyAny>) -> PyResult<Outcome> {
    let (data, job) = (Data::of_bucket(data, &party)?, spec.job.clone());
    let scratch = scratch().map_err(|error| raise(py, error))?;
    let place = scratch.path().to_owned();
    let work = move || {
        let answer = job.repeated_counts()?.partition(&job, &party, &data.source(&job, &party, true, &place)?)?;
        Ok(Outcome::with(&job, json!({}), answer)?)
    };
    wait(py, || (), &Shown::default(), None, work)
}

/// In how many of a bucket's rows each of the own itemsets is. `items` has the rows of each item, by its number.
#[pyfunction]
pub fn count_itemsets(
    py: Python<'_>,
    items: &Bound<'_, PyAny>,
    rows: usize,
    wanted: PyBackedBytes,
) -> PyResult<Vec<u32>> {
    let table = arrow::import(items, "items")?
        .ok_or_else(|| raise(py, Error::Internal("items are to be counted that are no table".into())))?;
    py.detach(|| count(&table, rows, &wanted_of(&wanted)?.own)).map_err(|error| raise(py, error))
}

/// Refuses an output of which it would show at the end that it cannot be written.
#[pyfunction]
pub fn check_file(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    check_writable(&path, None).map(drop).map_err(|error| raise(py, error))
}
