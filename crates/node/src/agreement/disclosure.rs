//! Summary of who learns what: one entry for each result.

use serde::Serialize;

use super::JobSpec;

/// Something that some parties of a job learn.
#[derive(Debug, Clone, Serialize)]
pub struct Disclosure {
    /// Description of the result.
    pub what: String,
    /// Parties that learn the result.
    pub parties: Vec<String>,
    /// The party whose own it is, which neither learns it nor lacks it.
    #[serde(skip)]
    pub owner: Option<String>,
}

impl Disclosure {
    /// A thing that those parties of a job learn of whom `learns` says so.
    pub fn new(job: &JobSpec, what: impl Into<String>, learns: impl Fn(&str) -> bool) -> Disclosure {
        let parties = job.parties.names().into_iter().filter(|name| learns(name)).map(str::to_owned).collect();
        Disclosure { what: what.into(), parties, owner: None }
    }

    /// A thing of `owner`'s, such as columns that it gives, that those others learn of whom `learns` says so.
    pub fn given(job: &JobSpec, owner: &str, what: String, learns: impl Fn(&str) -> bool) -> Disclosure {
        Disclosure { owner: Some(owner.to_owned()), ..Disclosure::new(job, what, |name| name != owner && learns(name)) }
    }
}
