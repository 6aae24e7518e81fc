//! Which protocols a job runs: what `auto` stands for.

use tacita_core::protocol::dot::ot::Extension;
use tacita_core::{Result, Security};

use crate::agreement::{Choice, Chosen, Job, JobSpec, Network, Protocol, Reveal, Sizes};
use crate::jobs::dot::choose::choose_dot;
use crate::jobs::intersect::choose::choose_intersection;
use crate::jobs::rules::choose::choose_rules;
use crate::jobs::shares;
use crate::jobs::shares::choose::choose_for_shares;

/// Whether the terms allow the peer to choose this: protocols that reveal what they say, with the security that they ask.
pub fn allowed(job: &JobSpec, chosen: &Chosen) -> bool {
    let Chosen { protocol, extension, alignment } = *chosen;
    let named = job.protocol == Protocol::Auto || job.protocol == protocol;
    let aligned = match (job.alignment(), alignment) {
        (Some(job), Some(protocol)) => allowed(&job, &Chosen::only(protocol)),
        (None, None) => true,
        _ => false,
    };
    let extended = match (protocol, extension) {
        (_, Some(Extension::Silent)) if job.job == Job::Rules => false,
        (Protocol::Ot, Some(extension)) if job.job == Job::Shares => extension == shares::EXTENSION,
        (Protocol::Ot, Some(extension)) => match job.extension {
            Some(named) => named == extension,
            // Where the terms leave both, each level of rules has its own choice.
            None => job.job != Job::Rules || job.protocol == Protocol::Ot,
        },
        (Protocol::Ot, None) => false,
        (Protocol::Lattice, extension) if job.job == Job::Rules => {
            job.extension.is_none() && extension.is_some() == (job.protocol == Protocol::Auto)
        }
        (_, extension) => extension.is_none(),
    };
    let fits = match protocol {
        Protocol::Auto => false,
        Protocol::Ecdh => job.security == Security::SemiHonest,
        Protocol::Vole => !matches!(job.reveal, Reveal::Count | Reveal::Sum(_)),
        Protocol::Ot | Protocol::Lattice | Protocol::Open => job.security == Security::SemiHonest,
        // Where others do, they cost a thousand times as much, or ten times: only who names them gets them.
        Protocol::Paillier | Protocol::GmBloom | Protocol::Bloom => {
            job.security == Security::SemiHonest && job.protocol == protocol
        }
    };
    job.protocols().contains(&protocol) && named && aligned && extended && fits
}

/// What runs in a job between `me` and its peer. Both parties get the same for the same sizes and network; in a run the
/// first party's choice holds.
pub fn choose(job: &JobSpec, me: &str, own: &Sizes, theirs: &Sizes, network: Network) -> Result<Choice> {
    match job.job {
        Job::Intersect => Ok(choose_intersection(job, me, own, theirs, network)),
        Job::Dot => choose_dot(job, me, own, theirs, network),
        Job::Rules => Ok(choose_rules(job, me, own, theirs, network)),
        Job::Shares => Ok(choose_for_shares(job)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            let allowed = choices.into_iter().filter(|choice| allowed(&job, &choice.parse().unwrap()));
            assert_eq!(allowed.collect::<Vec<_>>(), expected, "{text}");
            let sizes = Sizes { items: 1000, ..Sizes::default() };
            let chosen = choose(&job, "a", &sizes, &sizes, Network::default()).unwrap().chosen;
            assert!(super::allowed(&job, &chosen), "{text}: {chosen}");
        }
    }
}
