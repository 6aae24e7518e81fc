//! Cost of a job, and the information that it will reveal.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use tacita_core::{Error, Result};
use tacita_node::agreement::cost::Calibration;
use tacita_node::agreement::{JobSpec, PartyInput, Sizes};
use tacita_node::base::files::scratch;
use tacita_node::base::random::fresh_rng;
use tacita_node::base::text::count;
use tacita_node::base::text::json;
use tacita_node::plan as planning;
use tacita_node::transport::LinkShape;

use crate::data::{Data, by_party};
use crate::errors::raise;
use crate::run::seconds;
use crate::spec::Spec;
use crate::work::{Shown, wait};

/// Plans a job; the plan as JSON.
#[pyfunction]
#[pyo3(signature = (spec, *, rows, row_bytes, tables, latency, bandwidth))]
pub fn plan(
    py: Python<'_>,
    spec: &Spec,
    rows: BTreeMap<String, u64>,
    row_bytes: BTreeMap<String, u64>,
    tables: &Bound<'_, PyDict>,
    latency: f64,
    bandwidth: Option<u64>,
) -> PyResult<String> {
    let network = seconds("latency", latency).map(|latency| LinkShape { latency, bandwidth });
    let network = network.map_err(|error| raise(py, error))?;
    // It goes when the waiting ends, whatever the work is still at.
    let (data, scratch) = (by_party(tables)?, scratch().map_err(|error| raise(py, error))?);
    let planning = Planning { job: spec.job.clone(), rows, row_bytes, scratch: scratch.path().to_owned() };
    wait(py, || (), &Shown::default(), None, move || Ok(planning.plan(data, network)?))
}

struct Planning {
    job: JobSpec,
    rows: BTreeMap<String, u64>,
    row_bytes: BTreeMap<String, u64>,
    scratch: PathBuf,
}

impl Planning {
    fn plan(&self, data: Vec<(String, Data)>, network: LinkShape) -> Result<String> {
        let job = &self.job;
        let served = job.job.served().is_some();
        if job.clients.is_some() {
            return Err(Error::Input(
                "a list that is served ([clients]) is planned by the command `tacita plan`".into(),
            ));
        }
        if !served {
            self.rows.keys().chain(self.row_bytes.keys()).try_for_each(|name| job.party(name).map(drop))?;
        }
        let (mut sizes, mut parts) = (BTreeMap::new(), BTreeMap::<_, Box<dyn PartyInput>>::new());
        for (name, data) in data {
            job.party(&name)?;
            let part = job.job.load(job, &name, &data.source(job, &name, false, &self.scratch)?, None)?;
            sizes.insert(name.clone(), part.sizes());
            parts.insert(name, part);
        }
        let names = if served { self.rows.keys().map(String::as_str).collect() } else { job.parties.names() };
        for name in names {
            if !sizes.contains_key(name) {
                sizes.insert(name.to_owned(), self.sizes(name)?);
            }
        }
        if sizes.is_empty() {
            return Err(Error::Input(format!(
                "how many {} has each participant? Say rows={{NAME: N}}",
                job.item_noun()
            )));
        }
        let calibration = Calibration::measure(&mut fresh_rng()?)?;
        let plan = planning::plan(job, &sizes, &parts, calibration, network)?;
        json(serde_json::to_string(&plan))
    }

    /// The sizes of a party whose table is not there.
    fn sizes(&self, name: &str) -> Result<Sizes> {
        let (job, things) = (&self.job, self.job.item_noun());
        // Who is padded is as large as the terms say, whatever it has.
        let padded = job.limits.pad_to.filter(|_| job.job.pads(job, name));
        let items = self.rows.get(name).copied().or(padded).ok_or_else(|| {
            Error::Input(format!("how many {things} has {name}? Say rows={{\"{name}\": N}}, or give its table"))
        })?;
        if let Some(bound) = padded.filter(|bound| items > *bound) {
            return Err(Error::Input(format!(
                "rows of {name}: {} do not fit limits.pad_to = {}: agree on a higher bound",
                count(items),
                count(bound)
            )));
        }
        if items > u64::from(u32::MAX) {
            return Err(Error::Input(format!("rows of {name}: at most {} {things} fit", count(u32::MAX.into()))));
        }
        job.job.assumed(job, name, padded.unwrap_or(items), self.row_bytes.get(name).copied())
    }
}
