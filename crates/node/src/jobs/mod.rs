//! The jobs, a room each, and the table of them.

pub mod aggregate;
pub mod aligned;
mod check;
pub mod crosstab;
pub mod dot;
pub mod intersect;
mod learned;
mod limits;
mod noise;
pub mod numbers;
pub mod on_disk;
pub mod paillier;
pub mod polynomials;
mod read;
pub mod rules;
pub mod shares;
pub mod union;

pub use intersect::live::refuse_run;
pub use rules::reads_lines;

use std::path::Path;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use tacita_core::Result;

pub(crate) use read::toml_error;

use crate::agreement::words::{either, unknown};
use crate::agreement::{CommonKey, Job, Protocol};

/// A job whose own keys are read from a job file: each field is one.
pub trait ParseJob: Job + Default + DeserializeOwned + 'static {
    /// The protocols that such a job may name.
    fn all_protocols() -> Vec<Protocol>;

    /// Takes numbers digit for digit from the text of the file, in place of what its parser has made of them.
    fn take_exact(&mut self, _text: &str, _is_json: bool) {}

    /// Files that it names are beside the job file, in this directory, wherever a command is run.
    fn is_in(&mut self, _directory: &Path) {}
}

/// A row of the table of jobs.
struct Kind {
    name: &'static str,
    protocols: fn() -> Vec<Protocol>,
    /// A job of this kind with nothing but defaults.
    usual: fn() -> Arc<dyn Job>,
    /// The keys of job files that are its own.
    keys: fn() -> &'static [&'static str],
    /// Reader of these keys from a job file.
    read: read::Read,
}

impl Kind {
    const fn of<J: ParseJob>(name: &'static str) -> Kind {
        Kind {
            name,
            protocols: J::all_protocols,
            usual: || Arc::new(J::default()),
            keys: read::keys::<J>,
            read: read::own::<J>,
        }
    }
}

/// Registry of all kinds of job.
static JOBS: [Kind; 7] = [
    Kind::of::<intersect::Intersect>("intersect"),
    Kind::of::<union::Union>("union"),
    Kind::of::<dot::Dot>("dot"),
    Kind::of::<shares::SharesSpec>("shares"),
    Kind::of::<rules::Rules>("rules"),
    Kind::of::<crosstab::Crosstab>("crosstab"),
    Kind::of::<aggregate::Aggregate>("aggregate"),
];

/// The protocol of this name, or [`Protocol::AUTO`].
///
/// Errors ([`Error::Input`](tacita_core::Error)): no job has such a protocol.
pub fn protocol(word: &str) -> Result<Protocol> {
    let mut all = [Protocol::AUTO].into_iter().chain(JOBS.iter().flat_map(|kind| (kind.protocols)()));
    match all.find(|protocol| protocol.name() == word) {
        Some(protocol) => Ok(protocol),
        None => unknown("protocol", word, &protocols_by_job()),
    }
}

/// Lists all protocols with the jobs that have them, for messages.
fn protocols_by_job() -> String {
    let mut groups: Vec<(Vec<Protocol>, Vec<&str>)> = Vec::new();
    for kind in &JOBS {
        let protocols = (kind.protocols)();
        match groups.iter_mut().find(|(known, _)| *known == protocols) {
            Some((_, jobs)) => jobs.push(kind.name),
            None => groups.push((protocols, vec![kind.name])),
        }
    }
    let group = |(protocols, jobs): (Vec<Protocol>, Vec<&str>)| {
        let names = protocols.iter().map(|protocol| protocol.name());
        format!("{} ({})", either(names), jobs.join(", "))
    };
    let groups: Vec<_> = groups.into_iter().map(group).collect();
    format!("\"{}\", {}", Protocol::AUTO.name(), groups.join(", "))
}

/// A job of every kind, with nothing but defaults.
///
/// ```
/// let names: Vec<_> = tacita_node::jobs::usual().map(|job| job.name()).collect();
/// assert!(names.contains(&"intersect") && names.contains(&"dot"));
/// ```
pub fn usual() -> impl Iterator<Item = Arc<dyn Job>> {
    JOBS.iter().map(|kind| (kind.usual)())
}

/// The names of the jobs that have a key.
fn having(key: CommonKey) -> Vec<&'static str> {
    JOBS.iter().filter(|kind| (kind.usual)().has(key)).map(|kind| kind.name).collect()
}

#[cfg(test)]
mod tests {
    use crate::agreement::{Chosen, JobSpec, Network, Sizes};

    const PARTIES: &str = "[parties.a]\n[parties.b]\n";

    fn job(name: &str, keys: &str) -> JobSpec {
        let text = format!("job = \"{name}\"\nid = \"t\"\nreveal_to = [\"a\", \"b\"]\n{keys}\n{PARTIES}");
        JobSpec::parse(&text, false).unwrap()
    }

    /// Each choice is written as it is read, and nothing else is one.
    #[test]
    fn choices_that_are_written_are_read() {
        let jobs = [
            (job("intersect", "[key]\ncolumns = [\"x\"]"), &["vole", "ecdh", "bloom", "polynomial"][..]),
            (job("dot", "column = \"x\"\nrow_id = \"id\""), &["ot softspoken-4 after align", "lattice after align"]),
            (
                job("dot", "column = \"x\"\nrow_id = \"id\"\nalignment = \"rows\""),
                &[
                    "ot softspoken-4",
                    "ot silent after ecdh",
                    "lattice after vole",
                    "paillier after vole",
                    "gm-bloom",
                    "lattice",
                ],
            ),
            (
                job("rules", "min_support = 2\nrow_id = \"id\"\nalignment = \"rows\""),
                &["lattice or ot softspoken-8", "lattice or ot softspoken-2 after vole", "paillier", "ot softspoken-1"],
            ),
        ];
        for (job, texts) in &jobs {
            for text in *texts {
                let chosen = Chosen::read(job, text).unwrap_or_else(|| panic!("{text}"));
                assert_eq!(chosen.to_string(), *text);
            }
            for text in [
                "",
                "no",
                "auto",
                "ot ",
                "ot no",
                "lattice or",
                "lattice or ",
                "lattice or ot ",
                "ot or lattice after",
                "vole after",
                "vole after ecdh after ecdh",
                "ot softspoken-4 after bloom ",
            ] {
                assert!(Chosen::read(job, text).is_none(), "{text}");
            }
        }
        // Rows that are hidden are shown by nothing, and the other way round.
        assert!(Chosen::read(&jobs[1].0, "lattice after vole").is_none());
        assert!(Chosen::read(&jobs[2].0, "lattice after align").is_none());
        // Rows that are aligned by position are aligned by nothing.
        assert!(Chosen::read(&job("dot", "column = \"x\""), "lattice after vole").is_none());
    }

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
            "ot or lattice",
            "ot or lattice softspoken-4",
            "lattice or ot",
            "lattice or ot silent",
            "lattice or paillier",
            "lattice softspoken-4",
            "paillier softspoken-4",
            "gm-bloom softspoken-4",
            "ot",
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
            let text = format!("{keys}\n{terms}");
            let job = self::job(job, &text);
            let allowed = choices
                .into_iter()
                .filter(|choice| Chosen::read(&job, choice).is_some_and(|chosen| job.job.allows(&job, &chosen)));
            assert_eq!(allowed.collect::<Vec<_>>(), expected, "{text}");
            let sizes = Sizes { items: 1000, ..Sizes::default() };
            let sizes = job.sizes_of_both("a", &sizes, &sizes);
            let chosen = job.job.choose(&job, &sizes, Network::default()).unwrap().chosen;
            assert!(job.job.allows(&job, &chosen), "{text}: {chosen}");
        }
    }
}
