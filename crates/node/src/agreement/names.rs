//! One name or several.

use serde::Deserialize;

/// One name or several.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged, expecting = "a name or a list of names")]
pub enum Names {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Names {
    /// The names.
    pub fn all(&self) -> &[String] {
        match self {
            Names::One(name) => std::slice::from_ref(name),
            Names::Several(names) => names,
        }
    }
}
