//! The jobs, a room each, and the table of them.

pub mod aligned;
mod check;
pub mod dot;
pub mod intersect;
mod learned;
pub mod numbers;
mod read;
pub mod rules;
pub mod shares;

use std::sync::Arc;

use serde::de::DeserializeOwned;

use crate::agreement::{Job, Shared};

/// A job whose own keys are read from a job file: each field is one.
pub trait Own: Job + Default + DeserializeOwned + 'static {
    /// Takes numbers digit for digit from the text of the file, in place of what its parser has made of them.
    fn take_exact(&mut self, _text: &str, _is_json: bool) {}
}

/// A row of the table of jobs.
struct Kind {
    name: &'static str,
    /// A job of this kind with nothing but defaults.
    usual: fn() -> Arc<dyn Job>,
    /// The keys of job files that are its own.
    keys: fn() -> &'static [&'static str],
    /// Reads these keys.
    read: read::Read,
}

impl Kind {
    const fn of<J: Own>(name: &'static str) -> Kind {
        Kind { name, usual: || Arc::new(J::default()), keys: read::keys::<J>, read: read::own::<J> }
    }
}

/// All jobs.
static JOBS: [Kind; 4] = [
    Kind::of::<intersect::Intersect>("intersect"),
    Kind::of::<dot::Dot>("dot"),
    Kind::of::<shares::ShareJob>("shares"),
    Kind::of::<rules::Rules>("rules"),
];

/// The names of the jobs that have a key.
fn having(key: Shared) -> Vec<&'static str> {
    JOBS.iter().filter(|kind| (kind.usual)().has(key)).map(|kind| kind.name).collect()
}

#[cfg(test)]
mod tests {
    use crate::agreement::{JobSpec, Network, Sizes};

    /// A peer's choice must be one of those that the terms leave.
    #[test]
    fn only_what_the_terms_leave_is_allowed() {
        let choices = [
            "ot softspoken-4",
            "ot softspoken-8",
            "ot silent",
            "lattice",
            "lattice or ot softspoken-4",
            "paillier",
            "gm-bloom",
        ];
        for (job, terms, expected) in [
            ("rules", "", &["lattice or ot softspoken-4"][..]),
            ("rules", "protocol = \"ot\"", &["ot softspoken-4", "ot softspoken-8"]),
            ("rules", "protocol = \"lattice\"", &["lattice"]),
            ("rules", "protocol = \"paillier\"\nreveal = \"counts\"", &["paillier"]),
            ("rules", "protocol = \"gm-bloom\"\nreveal = \"counts\"", &["gm-bloom"]),
            ("rules", "extension = \"softspoken-8\"", &["ot softspoken-8"]),
            ("dot", "", &["ot softspoken-4", "ot softspoken-8", "ot silent", "lattice"]),
            ("dot", "protocol = \"lattice\"", &["lattice"]),
            ("dot", "protocol = \"paillier\"", &["paillier"]),
            ("dot", "protocol = \"gm-bloom\"", &["gm-bloom"]),
        ] {
            let keys = if job == "rules" { "min_support = 2" } else { "column = \"x\"" };
            let text = format!(
                "job = \"{job}\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\n{keys}\n{terms}\n[parties.a]\n[parties.b]\n"
            );
            let job = JobSpec::parse(&text, false).unwrap();
            let allowed = choices.into_iter().filter(|choice| job.job.allows(&job, &choice.parse().unwrap()));
            assert_eq!(allowed.collect::<Vec<_>>(), expected, "{text}");
            let sizes = Sizes { items: 1000, ..Sizes::default() };
            let chosen = job.job.choose(&job, "a", &sizes, &sizes, Network::default()).unwrap().chosen;
            assert!(job.job.allows(&job, &chosen), "{text}: {chosen}");
        }
    }
}
