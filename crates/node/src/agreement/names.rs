//! One name or several.

use serde::Deserialize;

/// One name or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a name or a list of names")]
pub enum Names {
    /// One name given alone.
    One(String),
    /// A list of names.
    Several(Vec<String>),
}

impl Names {
    /// Returns all the names.
    pub fn all(&self) -> &[String] {
        match self {
            Names::One(name) => std::slice::from_ref(name),
            Names::Several(names) => names,
        }
    }
}
