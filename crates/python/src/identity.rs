//! Key pairs of parties, for Python.

use std::path::PathBuf;

use pyo3::prelude::*;
use tacita_node::identity::Identity as Inner;

use crate::errors::raise;

/// A party's key pair.
#[pyclass(frozen, module = "tacita._tacita")]
pub struct Identity(Inner);

impl Identity {
    /// Table that is read.
    pub fn inner(&self) -> Inner {
        self.0.clone()
    }
}

#[pymethods]
impl Identity {
    #[staticmethod]
    fn create(py: Python<'_>, directory: PathBuf, name: &str) -> PyResult<Identity> {
        Inner::create(&directory, name).map(Identity).map_err(|error| raise(py, error))
    }

    #[staticmethod]
    fn load(py: Python<'_>, directory: PathBuf) -> PyResult<Identity> {
        Inner::load(&directory).map(Identity).map_err(|error| raise(py, error))
    }

    #[getter]
    fn fingerprint(&self) -> String {
        self.0.fingerprint().to_string()
    }
}
