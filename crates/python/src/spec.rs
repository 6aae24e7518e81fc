//! Jobs as made and read in Python.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use tacita_core::protocol::rules::CountPlan;
use tacita_core::{Error, Result};
use tacita_node::agreement::{Bucket, BucketCounts, JobSpec, KnownSizes, Pooled, Terms};
use tacita_node::jobs::protocol as protocol_called;
use tacita_node::simulate::JobText;
use zeroize::Zeroizing;

use crate::errors::raise;

/// A job: what the parties agree on.
#[pyclass(frozen, module = "tacita._tacita")]
pub struct Spec {
    /// Table that is read.
    pub job: JobSpec,
    /// Text that the job was read from.
    pub text: JobText,
}

#[pymethods]
impl Spec {
    #[staticmethod]
    fn parse(py: Python<'_>, text: String, is_json: bool) -> PyResult<Spec> {
        let job = JobSpec::parse(&text, is_json).map_err(|error| raise(py, error))?;
        Ok(Spec { job, text: JobText { text, is_json } })
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Spec> {
        let read = |path: &Path| Ok((JobSpec::load(path)?, JobText::load(path)?));
        read(&path).map(|(job, text)| Spec { job, text }).map_err(|error| raise(py, error))
    }

    /// Whether another one says the same in all: the terms, where parties are, and how each reads its table.
    fn same(&self, other: &Spec) -> bool {
        format!("{:?}", self.job) == format!("{:?}", other.job)
    }

    /// Returns the job as a job file in TOML.
    fn to_toml(&self, py: Python<'_>) -> PyResult<String> {
        let JobText { text, is_json } = &self.text;
        if !is_json && !text.trim_start().starts_with('{') {
            return Ok(text.clone());
        }
        let written = serde_json::from_str::<toml::Table>(text).map_err(|error| error.to_string());
        let written = written.and_then(|keys| toml::to_string_pretty(&keys).map_err(|error| error.to_string()));
        // Numbers with more digits than others keep are in terms as they are written.
        let same = |text: &String| match JobSpec::parse(text, false) {
            Ok(job) if format!("{job:?}") == format!("{:?}", self.job) => Ok(()),
            _ => Err("it says something that TOML cannot say as exactly: keep it as JSON".to_owned()),
        };
        let written = written.and_then(|text| same(&text).map(|()| text));
        written.map_err(|what| raise(py, Error::Input(format!("this job cannot be written as TOML: {what}"))))
    }

    #[getter]
    fn kind(&self) -> &'static str {
        self.job.job.name()
    }

    #[getter]
    fn id(&self) -> &str {
        &self.job.id
    }

    #[getter]
    fn protocol(&self) -> &'static str {
        self.job.protocol.name()
    }

    #[getter]
    fn security(&self) -> &'static str {
        self.job.security.name()
    }

    #[getter]
    fn level(&self) -> &'static str {
        self.job.level.name()
    }

    #[getter]
    fn reveal(&self) -> String {
        self.job.reveal.to_string()
    }

    #[getter]
    fn reveal_to(&self) -> Vec<String> {
        self.job.reveal_to.clone()
    }

    #[getter]
    fn parties(&self) -> Vec<String> {
        self.job.parties.names().into_iter().map(str::to_owned).collect()
    }

    #[getter]
    fn agreement(&self) -> String {
        Terms::of(&self.job).agreement()
    }

    #[getter]
    fn terms(&self) -> String {
        Terms::of(&self.job).canonical()
    }

    /// The text that it was read from, and whether that is JSON.
    #[getter]
    fn text(&self) -> (&str, bool) {
        (&self.text.text, self.text.is_json)
    }

    /// Address at which the parties meet, if a relay is in the job.
    #[getter]
    fn relay(&self) -> Option<String> {
        self.job.relay.as_ref().map(|relay| relay.address.clone().unwrap_or_default())
    }

    /// Whether rows of the parties belong together that are at the same place of their tables.
    #[getter]
    fn aligns_by_position(&self) -> bool {
        self.job.aligns_by_position()
    }

    /// Returns the address at which a party listens, as the job says.
    fn address(&self, party: &str) -> Option<String> {
        self.job.parties.get(party).and_then(|party| party.address.clone())
    }

    /// One bucket of this job; see `Drivers`.
    #[expect(clippy::too_many_arguments, reason = "the package names each of them")]
    #[pyo3(signature = (*, session, number, of, attempt, bounds, protocol, addresses, facts, counts, told=None,
        pooled=None))]
    fn bucket(
        &self,
        py: Python<'_>,
        session: String,
        number: usize,
        of: usize,
        attempt: u32,
        bounds: BTreeMap<String, u64>,
        protocol: &str,
        addresses: BTreeMap<String, String>,
        facts: &str,
        counts: Option<(u64, u64, PyBackedBytes)>,
        told: Option<PathBuf>,
        pooled: Option<([u8; 32], [u8; 32], PathBuf)>,
    ) -> PyResult<Spec> {
        let pooled = pooled.map(|(secret, item_key, place)| Pooled {
            secret: Zeroizing::new(secret),
            item_key: Zeroizing::new(item_key),
            place,
        });
        let counts = counts.map(|(rows, all_rows, wanted)| {
            let candidates = Arc::new(wanted_of(&wanted)?.mixed);
            Ok(BucketCounts { rows, all_rows, candidates })
        });
        let job = counts.transpose().and_then(|counts| {
            let facts = serde_json::from_str(facts).map_err(|error| Error::Internal(error.to_string()))?;
            let bucket = Bucket { session, number, of, attempt, bounds, counts, facts, told, pooled };
            self.job.of_bucket(bucket, protocol_called(protocol)?, &addresses)
        });
        let text = JobText { text: self.text.text.clone(), is_json: self.text.is_json };
        job.map(|job| Spec { job, text }).map_err(|error| raise(py, error))
    }

    fn learned(&self, py: Python<'_>, party: &str) -> PyResult<Vec<String>> {
        let served = self.job.job.served().is_some();
        let known = if served { Ok(()) } else { self.job.party(party).map(drop) };
        known.map_err(|error| raise(py, error))?;
        Ok(self.job.learned(party, KnownSizes::default()))
    }
}

/// Parses the itemsets to be counted, as a driver has written them.
pub fn wanted_of(bytes: &[u8]) -> Result<CountPlan> {
    CountPlan::from_bytes(bytes).ok_or_else(|| Error::Internal("these are no itemsets".into()))
}
