//! Plain sentences on who learns what.

use super::super::learned::{counted_in, hint_of_size, limit, on_disk, one_row_a_key};
use super::super::load::given_columns;
use crate::agreement::{Disclosure, JobSpec, KnownSizes, Reveal};
use crate::base::text::{count, counted, names};
use crate::jobs::learned::{have, list, no_common_keys, result_from};

/// Returns what `party` learns, given what is known.
pub(super) fn learned(job: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String> {
    let others = job.others(party);
    let all = names(&others);
    let leader = job.receiver();
    let mut learned = Vec::new();
    if job.learns(party) {
        learned.extend(own_rows(job, party));
        learned.extend(given_rows(job, party));
        limit(job, party, &mut learned);
    } else {
        learned.extend(no_common_keys(party, "all have", ""));
    }
    if others.len() > 1 {
        learned.push(if job.learns(party) { format!(
                "{party} does not learn who has a key of its own that not all have, how many do, or what anybody gives for it."
            ) } else { format!("{party} does not learn who else has a key of its own, nor how many do.") });
    }
    sizes(job, party, known, &mut learned);
    let works_on_disk =
        |name: &&str| known.all.is_some_and(|all| all.get(*name).is_some_and(|sizes| sizes.work.is_some()));
    let with_disks: Vec<&str> = others.iter().copied().filter(works_on_disk).collect();
    if !with_disks.is_empty() {
        learned.extend(on_disk(party, &with_disks));
    }
    if job.learns(party) && party != leader {
        learned.push(result_from(party, leader));
    }
    if others.len() > 1 {
        collusion(job, party, leader, &mut learned);
    }
    if !job.learns(party) && party != leader {
        learned.push(format!(
            "{party} can learn a hint of how many keys are common from the time that {leader} needs at the end, if there are many."
        ));
    }
    learned.push(format!("{party} learns nothing else about the data of {all}, as long as all follow the protocol."));
    learned
}

/// Returns what a party learns of the rows that others give.
pub(in crate::jobs::intersect) fn given_rows(job: &JobSpec, party: &str) -> Vec<String> {
    let of = |giver: &str| {
        let rows = if one_row_a_key(job) {
            String::new()
        } else {
            format!(", and how many rows {giver} has for each of them")
        };
        format!("{party} learns {giver}'s {} for those keys{rows}.", list(job.given_by(giver)))
    };
    givers(job, party).into_iter().map(of).collect()
}

/// Returns what a party learns of its own rows: those that all have, or of multisets how often all have their keys.
pub(in crate::jobs::intersect) fn own_rows(job: &JobSpec, party: &str) -> Vec<String> {
    let others = job.others(party);
    let all = names(&others);
    if !job.is_of_multisets() {
        return vec![format!("{party} learns which of its own rows have a key that {all} {} too.", have(&others))];
    }
    let least = if others.len() == 1 { format!("{all}'s number") } else { format!("the smallest number of {all}") };
    let mut learned = vec![format!(
        "{party} learns, for each of its own keys, the smallest of the numbers of rows with that key: its own, and those of {all}."
    )];
    learned.push(format!(
        "{party} learns {least} exactly if that is less than {party}'s own; otherwise, only that it is not less."
    ));
    if others.len() > 1 {
        learned.push(format!(
            "{party} does not learn which of {all} has the smallest number, nor any larger one, unless their numbers of rows tell it."
        ));
    }
    learned.push(format!(
        "{party} can learn more of the smallest number if it brings more rows with a key. Nothing checks how often {party} has a key."
    ));
    learned
}

/// Returns the summary of who learns what, one entry for each result.
pub(in crate::jobs::intersect) fn at_a_glance(job: &JobSpec) -> Vec<Disclosure> {
    let givers: Vec<_> = job.parties.names().into_iter().filter(|giver| given_columns(job, giver).is_some()).collect();
    let own = if job.is_of_multisets() {
        "how often all have each of its own keys"
    } else {
        "which of its own rows all have"
    };
    let mut all = vec![Disclosure::new(job, own, |name| job.learns(name))];
    all.extend(givers.iter().map(|giver| {
        Disclosure::given(job, giver, format!("{giver}'s {} for them", list(job.given_by(giver))), |name| {
            job.learns(name)
        })
    }));
    if job.parties.names().len() > 2 {
        all.push(Disclosure::new(job, "who else has a key that not all have", |_| false));
    }
    let sizes = format!("exactly how many {} each of the others has", counted_in(job, "keys"));
    all.push(Disclosure::new(job, sizes, |_| job.limits.pad_to.is_none()));
    if !givers.is_empty() {
        all.push(Disclosure::new(job, "types and greatest lengths of given columns", |_| true));
    }
    all
}

/// Appends what several parties learn that pool what they see.
fn collusion(job: &JobSpec, party: &str, leader: &str, learned: &mut Vec<String>) {
    let rows = match job.reveal {
        Reveal::Payload => " They also learn the columns that these give for them.",
        _ if job.is_of_multisets() => " They also learn how often.",
        _ => "",
    };
    if party == leader {
        learned.push(format!(
            "{party} and some of the others, not all, can learn which of {party}'s keys all the rest have, if they pool what they see.\
             {rows} They then learn as much as if they themselves had brought every key."
        ));
        return;
    }
    learned.push(format!(
        "{party} and others without {leader} learn no more than the learners among them, if they pool what they see."
    ));
    learned.push(format!(
        "{party} and others with {leader} can learn which of {leader}'s keys all the rest have, if they pool what they see.{rows}"
    ));
}

/// Appends what `party` learns about the others' sizes.
pub(in crate::jobs) fn sizes(job: &JobSpec, party: &str, known: KnownSizes<'_>, learned: &mut Vec<String>) {
    let things = counted_in(job, "distinct keys");
    let others = job.others(party);
    if let Some(bound) = job.limits.pad_to {
        learned.push(format!(
            "{party} does not learn how many {things} {} {}, but for what the result says. All sets are padded to {}.",
            names(&others),
            if others.len() == 1 { "has" } else { "each have" },
            count(bound)
        ));
        learned.push(hint_of_size(party, "a party"));
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

/// Returns the parties that give columns to this party, in the order of the job.
pub(in crate::jobs::intersect) fn givers<'a>(job: &'a JobSpec, party: &str) -> Vec<&'a str> {
    job.others(party).into_iter().filter(|giver| given_columns(job, giver).is_some()).collect()
}
