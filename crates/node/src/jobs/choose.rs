//! Which protocols a job runs: what `auto` stands for.

use tacita_core::protocol::dot::Side;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::intersect::{ecdh, vole};
use tacita_core::{Error, Result, Security};

use crate::agreement::{Choice, Chosen, FAR_BANDWIDTH, Job, JobSpec, NEAR_BANDWIDTH, Network, Protocol, Reveal, Sizes};
use crate::base::text;
use crate::jobs::intersect::disk;
use crate::jobs::{dot, intersect, shares};

/// What is assumed of machines where only an order of magnitude matters: CPU time that an item costs in one pass of `ecdh`, and
/// in all of `vole`, and what `vole` costs before the first item.
const ECDH_PASS: f64 = 35e-6;
const VOLE_ITEM: f64 = 0.8e-6;
const VOLE_START: f64 = 50e-3;

/// How `ot` can make its transfers, as far as `auto` looks.
const EXTENSIONS: [Extension; 4] =
    [Extension::SoftSpoken(2), Extension::SoftSpoken(4), Extension::SoftSpoken(8), Extension::Silent];

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

fn choose_for_shares(job: &JobSpec) -> Choice {
    match job.threshold() {
        Some(_) => Choice {
            chosen: Chosen { extension: Some(shares::EXTENSION), ..Chosen::only(Protocol::Ot) },
            why: "it compares shares and opens none".into(),
        },
        None => Choice { chosen: Chosen::only(Protocol::Open), why: "shares are opened by sending them".into() },
    }
}

fn choose_intersection(job: &JobSpec, me: &str, own: &Sizes, theirs: &Sizes, network: Network) -> Choice {
    let settled = |protocol, why: &str| Choice { chosen: Chosen::only(protocol), why: why.into() };
    match job.protocol {
        Protocol::Auto => (),
        named => return settled(named, "the job names it"),
    }
    if let Some(protocol) = disk::resumed(own, theirs).and_then(|name| name.parse().ok()) {
        return settled(protocol, "the run began with it");
    }
    match job.reveal {
        Reveal::Count => return settled(Protocol::Ecdh, "a count needs a protocol whose sender shuffles its answers"),
        Reveal::Sum(_) => return settled(Protocol::Ecdh, "a sum needs a protocol whose sender shuffles its answers"),
        _ => (),
    }
    if job.security == Security::Malicious {
        return settled(Protocol::Vole, "it holds against parties that cheat");
    }
    if own.epoch.is_some() || theirs.epoch.is_some() {
        return settled(Protocol::Ecdh, "the sender's part was prepared");
    }
    // Of a line of which nothing is known the slower speed is taken: sets for which that makes a difference are small, and a
    // round trip that a busy machine lengthens does not change the protocol.
    let network = Network { bandwidth: Some(network.bandwidth.unwrap_or(FAR_BANDWIDTH as u64)), ..network };
    let params = intersect::params(job, me, own, theirs);
    let (asked, sent) = (params.receiver_items as f64, params.sender_entries as f64);
    let returned = ecdh::ReturnedRows::default();
    let by_ecdh = network.seconds(
        ECDH_PASS * (asked + asked.max(sent)),
        params.bytes_sent_by_receiver(returned) + params.bytes_sent_by_sender(),
        params.rounds(returned),
    );
    let by_vole = || -> Result<f64> {
        let params = vole::Params::new(params, job.security)?;
        let bytes = params.bytes_sent_by_receiver(returned)? + params.bytes_sent_by_sender()?;
        Ok(network.seconds(VOLE_START + VOLE_ITEM * (asked + sent), bytes, params.rounds(returned)))
    };
    match by_vole() {
        Ok(by_vole) if by_vole < by_ecdh => {
            settled(Protocol::Vole, "the fastest for sets of this size; its start pays off")
        }
        _ => settled(Protocol::Ecdh, "fewest rounds and bytes for sets so small"),
    }
}

fn choose_dot(job: &JobSpec, me: &str, own: &Sizes, theirs: &Sizes, network: Network) -> Result<Choice> {
    let alignment = job.alignment().map(|job| choose_intersection(&job, me, own, theirs, network).chosen.protocol);
    // Of aligned rows there are no more than the shorter table has.
    let rows = own.items.min(theirs.items) as usize;
    let named = |protocol| job.protocol == Protocol::Auto || job.protocol == protocol;
    let mut candidates = Vec::new();
    if named(Protocol::Ot) {
        let extensions = job.extension.map_or(EXTENSIONS.to_vec(), |extension| vec![extension]);
        let by_ot = |extension| Chosen { protocol: Protocol::Ot, extension: Some(extension), alignment };
        candidates.extend(extensions.into_iter().map(by_ot));
    }
    // One product is so little that the fewest bytes are worth more than a few milliseconds.
    let several = job.dot_shape(rows)?.products() > 1;
    if job.protocol == Protocol::Lattice || (named(Protocol::Lattice) && several && job.extension.is_none()) {
        candidates.push(Chosen { alignment, ..Chosen::only(Protocol::Lattice) });
    }
    if job.protocol.is_published() {
        candidates.push(Chosen { alignment, ..Chosen::only(job.protocol) });
    }
    let only = candidates.len() == 1;
    let mut best: Option<(Chosen, f64, u64)> = None;
    let mut refused = None;
    for chosen in candidates {
        let method = match dot::Method::new(job, &chosen, rows) {
            Ok(method) => method,
            // Another one may do.
            Err(error) => {
                refused.get_or_insert(error);
                continue;
            }
        };
        let bytes = [Side::First, Side::Second].into_iter().map(|side| method.bytes_sent_by(side)).sum();
        // The two parties compute at the same time.
        let cpu = method.cpu(None);
        let seconds = network.seconds(cpu.first.max(cpu.second), bytes, method.rounds());
        if best.is_none_or(|(_, least, _)| seconds < least) {
            best = Some((chosen, seconds, bytes));
        }
    }
    match (best, refused) {
        (Some((chosen, ..)), _) if only => Ok(Choice { chosen, why: "the job names it".into() }),
        (Some((chosen, _, bytes)), _) => {
            Ok(Choice { chosen, why: format!("the fastest over this network, with {}", text::bytes(bytes)) })
        }
        (None, Some(error)) => Err(error),
        (None, None) => Err(Error::Internal("no protocol for a scalar product".into())),
    }
}

/// The bandwidth in bits a second that rules assume where a level can go by either protocol; both parties know how transfers
/// are made, and the network was looked at for that.
pub fn bandwidth_for(extension: Option<Extension>) -> f64 {
    match extension {
        Some(Extension::SoftSpoken(..8)) => NEAR_BANDWIDTH,
        _ => FAR_BANDWIDTH,
    }
}

/// What multiplies in rules. How many products there are depends on what is frequent, so that each level has its own
/// choice; how transfers are made depends on the network alone.
fn choose_rules(job: &JobSpec, me: &str, own: &Sizes, theirs: &Sizes, network: Network) -> Choice {
    let alignment = job.alignment().map(|job| choose_intersection(&job, me, own, theirs, network).chosen.protocol);
    let settled =
        |protocol, extension, why: &str| Choice { chosen: Chosen { protocol, extension, alignment }, why: why.into() };
    if job.protocol == Protocol::Lattice || job.protocol.is_published() {
        return settled(job.protocol, None, "the job names it");
    }
    if let Some(extension) = job.extension {
        return settled(Protocol::Ot, Some(extension), "the job names how its oblivious transfers are made");
    }
    let seconds = |extension: Extension| match extension {
        // A transfer of SoftSpoken has 128 / k bits.
        Extension::SoftSpoken(k) => {
            Some((extension, dot::transfer_seconds(extension) / 2.0 + 128.0 / k as f64 / network.bandwidth()))
        }
        Extension::Silent => None,
    };
    let cheapest = EXTENSIONS.into_iter().filter_map(seconds).min_by(|one, other| one.1.total_cmp(&other.1));
    let cheapest = cheapest.map_or(Extension::SoftSpoken(4), |(extension, _)| extension);
    match job.protocol {
        Protocol::Ot => settled(Protocol::Ot, Some(cheapest), "its transfers are the cheapest over this network"),
        _ => settled(Protocol::Lattice, Some(cheapest), "each level by the faster of both over this network"),
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
