//! Summary of who learns what, from the disclosures of a job.

use super::{Disclosure, JobSpec};

impl Disclosure {
    /// Splits what a job tells into that which a party learns, and that which it does not learn by itself. Its own is
    /// in neither.
    pub fn split<'a>(things: &'a [Disclosure], party: &str) -> (Vec<&'a Disclosure>, Vec<&'a Disclosure>) {
        let others = things.iter().filter(|thing| thing.owner.as_deref() != Some(party));
        others.partition(|thing| thing.parties.iter().any(|name| name == party))
    }
}

impl JobSpec {
    /// Returns a line for each party: what it learns, and what it does not by itself. Exceptions are in
    /// [`JobSpec::learned`].
    pub fn summary(&self) -> Vec<String> {
        let things = self.job.at_a_glance(self);
        let list = |things: Vec<&Disclosure>| {
            things.into_iter().map(|thing| thing.what.as_str()).collect::<Vec<_>>().join("; ")
        };
        let line = |party: &str| {
            let (learns, lacks) = Disclosure::split(&things, party);
            match (learns.is_empty(), lacks.is_empty()) {
                (true, _) => format!("{party} does not learn by itself: {}", list(lacks)),
                (false, true) => format!("{party} learns: {}", list(learns)),
                (false, false) => format!("{party} learns: {}. Not by itself: {}", list(learns), list(lacks)),
            }
        };
        if things.is_empty() { Vec::new() } else { self.parties.names().into_iter().map(line).collect() }
    }
}
