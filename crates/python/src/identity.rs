//! Key pairs of parties, for Python.

use std::path::PathBuf;

use pyo3::prelude::*;
use tacita_node::identity::Identity as Inner;

use crate::errors::raise;

/// A party's key pair.
#[pyclass(frozen, module = "tacita._tacita")]
pub struct Identity {
    inner: Inner,
    home: PathBuf,
}

impl Identity {
    /// Table that is read.
    pub fn inner(&self) -> Inner {
        self.inner.clone()
    }

    /// Returns the directory that it was read from, where its policy and its ledger are.
    pub fn home(&self) -> Option<PathBuf> {
        Some(self.home.clone())
    }
}

#[pymethods]
impl Identity {
    #[staticmethod]
    fn create(py: Python<'_>, directory: PathBuf, name: &str) -> PyResult<Identity> {
        let made = Inner::create(&directory, name);
        made.map(|inner| Identity { inner, home: directory }).map_err(|error| raise(py, error))
    }

    #[staticmethod]
    fn load(py: Python<'_>, directory: PathBuf) -> PyResult<Identity> {
        let read = Inner::load(&directory);
        read.map(|inner| Identity { inner, home: directory }).map_err(|error| raise(py, error))
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.inner.fingerprint().to_string()
    }
}
