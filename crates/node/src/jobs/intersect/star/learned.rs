//! Who learns what, in plain sentences.

use super::super::learned::{limit, on_disk, one_row_a_key};
use super::super::load::given_columns;
use crate::agreement::{Glance, JobSpec, Known, Reveal};
use crate::base::text::{count, counted, names};
use crate::jobs::learned::{have, list};

/// What `party` learns, given what is known.
pub(super) fn learned(job: &JobSpec, party: &str, known: Known<'_>) -> Vec<String> {
    let others = job.others(party);
    let all = names(&others);
    let leader = job.receiver();
    let mut learned = Vec::new();
    if job.learns(party) {
        learned.push(format!("{party} learns which of its own rows have a key that {all} {} too.", have(&others)));
        for giver in givers(job, party) {
            let rows = match one_row_a_key(job) {
                true => String::new(),
                false => format!(", and how many rows {giver} has for each of them"),
            };
            learned.push(format!("{party} learns {giver}'s {} for those keys{rows}.", list(job.given_by(giver))));
        }
        limit(job, &mut learned);
    } else {
        learned.push(format!(
            "{party} does not learn which keys all have in common, nor how many; but if one of them has no key, there are none."
        ));
    }
    if others.len() > 1 {
        learned.push(match job.learns(party) {
            true => format!(
                "Of a key of its own that not all have, {party} learns no more than that: neither who has it, nor how many do, nor what \
                 anybody gives for it."
            ),
            false => format!("{party} does not learn who else has a key of its own, nor how many do."),
        });
    }
    sizes(job, party, known, &mut learned);
    let works_on_disk =
        |name: &&str| known.all.is_some_and(|all| all.get(*name).is_some_and(|sizes| sizes.work.is_some()));
    let with_disks: Vec<&str> = others.iter().copied().filter(works_on_disk).collect();
    if !with_disks.is_empty() {
        learned.push(on_disk(party, &with_disks));
    }
    if job.learns(party) && party != leader {
        learned.push(format!("{party} hears the result from {leader}, which works it out, and takes its word for it."));
    }
    if others.len() > 1 {
        collusion(job, party, leader, &mut learned);
    }
    if !job.learns(party) && party != leader {
        learned.push(format!(
            "The time that {leader} needs at the end may give {party} a hint of how many keys are common, if there are many."
        ));
    }
    learned.push(format!("{party} learns nothing else about the data of {all}, as long as all follow the protocol."));
    learned
}

/// Who learns what, thing by thing.
pub(in crate::jobs::intersect) fn at_a_glance(job: &JobSpec) -> Vec<Glance> {
    let names = || job.parties.names().into_iter();
    let to = |what: String, learns: &dyn Fn(&str) -> bool| Glance {
        what,
        parties: names().filter(|name| learns(name)).map(str::to_owned).collect(),
    };
    let mut all = vec![to("which of its own rows all have".into(), &|name| job.learns(name))];
    for giver in names().filter(|giver| given_columns(job, giver).is_some()) {
        let what = format!("{giver}'s {} for them", list(job.given_by(giver)));
        all.push(to(what, &|name| job.learns(name) && name != giver));
    }
    all.push(to("of a key that not all have: who has it".into(), &|_| false));
    all.push(to("how many keys each of the others has".into(), &|_| job.limits.pad_to.is_none()));
    if names().any(|giver| given_columns(job, giver).is_some()) {
        all.push(to("types and greatest lengths of given columns".into(), &|_| true));
    }
    all
}

/// What several learn who pool what they see.
fn collusion(job: &JobSpec, party: &str, leader: &str, learned: &mut Vec<String>) {
    let rows = match job.reveal {
        Reveal::Payload => ", with the columns that these give",
        _ => "",
    };
    learned.push(match party == leader {
        true => format!(
            "If {party} pools what it sees with some of the others, and not with all, they learn which of {party}'s keys all the rest \
             have{rows}: as if they themselves had brought every key."
        ),
        false => format!(
            "If {party} pools what it sees with others, they learn no more than those of them who learn, as long as {leader} is not among \
             them; with {leader}, they learn which of {leader}'s keys all the rest have{rows}."
        ),
    });
}

fn sizes(job: &JobSpec, party: &str, known: Known<'_>, learned: &mut Vec<String>) {
    let things = "distinct keys";
    let others = job.others(party);
    if let Some(bound) = job.limits.pad_to {
        learned.push(format!(
            "{party} does not learn how many {things} {} {}, beyond what the result says and that they are no more than {}: all sets are \
             padded to that. (The time that one takes to load its table may hint at it.)",
            names(&others),
            have(&others),
            count(bound)
        ));
    } else {
        let of = |name: &&str| match known.all.and_then(|all| all.get(*name)) {
            Some(sizes) => format!("{name} has ({})", count(sizes.items)),
            None => format!("{name} has"),
        };
        let each: Vec<_> = others.iter().map(of).collect();
        let each: Vec<_> = each.iter().map(String::as_str).collect();
        learned.push(format!("{party} learns how many {things} {}.", names(&each)));
    }
    let (run, normalise) =
        if others.len() == 1 { ("runs", "it normalises its key") } else { ("run", "they normalise their keys") };
    let all = names(&others);
    learned.push(format!("{party} learns which version {all} {run}, and by which kinds of profiles {normalise}."));
    // All that are connected are told what is given, whoever gets it.
    for giver in others.into_iter().filter(|giver| given_columns(job, giver).is_some()) {
        let entries = known.all.and_then(|all| all.get(giver)).map(|sizes| sizes.entries);
        let rows = match (job.limits.pad_to, entries) {
            _ if one_row_a_key(job) => String::new(),
            (Some(_), _) => String::new(),
            (None, Some(entries)) => format!(", that it has {} with a key", counted(entries, "row")),
            (None, None) => ", how many rows with a key it has".to_owned(),
        };
        let longest = match job.limits.max_text {
            Some(_) => "",
            None => ", the length of the longest text in each",
        };
        learned.push(format!("{party} learns the types of {giver}'s given columns{longest}{rows}."));
    }
}

/// Those who give columns to this party, in the order of the job.
fn givers<'a>(job: &'a JobSpec, party: &str) -> Vec<&'a str> {
    job.others(party).into_iter().filter(|giver| given_columns(job, giver).is_some()).collect()
}
