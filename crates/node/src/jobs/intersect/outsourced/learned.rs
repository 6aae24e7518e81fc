//! Plain sentences on who learns what.

use tacita_core::primitive::published::bloom::Rate;

use super::super::Intersect;
use super::super::learned::{hint_of_size, limit, of_sum};
use super::super::star::{given_rows, givers};
use super::published::bloom;
use crate::agreement::{Disclosure, JobSpec, Protocol, Reveal};
use crate::base::text::{count, names};
use crate::jobs::learned::{have, list, result_from, unchecked_keys, which_keys};

/// Sentences on what the helper learns of a job by this protocol, each without its full stop.
pub fn helper_learns(protocol: Protocol) -> &'static [&'static str] {
    if protocol == bloom::PROTOCOL { &LEARNS_BY_BLOOM } else { &LEARNS }
}

const LEARNS: [&str; 5] = [
    TAKES_PART,
    NO_DATA,
    TIMES,
    "the helper and parties that pool what they see learn no more than those parties together. That holds as long as one party stays \
     out of it and all follow the protocol",
    "the helper can leave out what a party has left if it does not follow the protocol. The result is then of the other parties' keys",
];

const LEARNS_BY_BLOOM: [&str; 4] = [
    TAKES_PART,
    NO_DATA,
    TIMES,
    "the helper and a party that learns can learn how many parties have set each slot of their filters, if they pool what they see",
];

const TAKES_PART: &str =
    "the helper learns who takes part in this job, when, from which addresses, and what the agreed sizes say";
const NO_DATA: &str = "the helper learns neither keys, nor how many a party has, nor the result";
const TIMES: &str =
    "the helper can learn a hint of how many keys a party has from the time that it takes to load its table";

/// Returns what `party` learns.
pub fn learned(job: &JobSpec, party: &str) -> Vec<String> {
    let others = job.others(party);
    let all = names(&others);
    let leader = job.receiver();
    let mut learned = Vec::new();
    let every = have(&others);
    let each = if others.len() == 1 { "has" } else { "each have" };
    let every_party = names(&[&others[..], &[party]].concat());
    if job.learns(party) {
        learned.push(match &job.reveal {
            Reveal::Count => format!("{party} learns how many keys {every_party} have in common, not which."),
            Reveal::Sum(summed) => format!(
                "{party} learns how many keys {every_party} have in common, not which, and the sum of {} {} over them.",
                whose(job, party),
                list(&summed.columns)
            ),
            Reveal::CountsBy(column) => format!(
                "{party} learns how many keys {every_party} have in common, by {} `{column}`, not which.",
                whose(job, party)
            ),
            _ => format!("{party} learns which of its own rows have a key that {all} {every} too."),
        });
        if matches!(job.reveal, Reveal::Count | Reveal::Sum(_) | Reveal::CountsBy(_)) {
            learned.extend(which_keys(party));
        }
        match &job.reveal {
            Reveal::Payload => learned.extend(of_given(job, party)),
            Reveal::Sum(_) => learned.extend(of_sum(party, giver(job) == party)),
            Reveal::CountsBy(_) => learned.extend(of_counts(party, giver(job) == party)),
            _ => {}
        }
        limit(job, party, &mut learned);
        if job.protocol == bloom::PROTOCOL {
            if let Some(rate) = wrong(job) {
                learned.push(format!(
                    "{party} takes up to {rate} of its other keys for common ones, too, and does not learn which. false_positives = \"{rate}\" is the \
                     rate of the paper; with \"2^-40\", there are as good as none."
                ));
            }
            if let Some(last) = told_by(job, party) {
                learned.push(format!(
                    "{party} learns all shares of the decryption from {last}, and takes its word for them."
                ));
            }
            learned.push(format!(
                "{party} learns, of every key that it can guess, and need not have, whether {all} {every} it. protocol = \"outsourced-bloom\" is \
                 for comparisons; \"outsourced\" does not tell this."
            ));
            learned.push(format!(
                "{party} and the helper can learn how many parties have set each slot of their filters, if they pool what they see."
            ));
        }
        if job.limits.min_result.is_some() && job.reveal != Reveal::Rows {
            learned.push(format!(
                "{party} can learn smaller numbers, too, if it changes its own program: limits.min_result is a filter on the output."
            ));
        }
    } else {
        learned.push(format!("{party} does not learn which keys all have in common, nor how many."));
        learned.push(format!("{party} learns that no keys are common if it has none itself."));
    }
    if others.len() > 1 && !(job.protocol == bloom::PROTOCOL && job.learns(party)) {
        learned.push(format!("{party} does not learn who has a key that not all have, nor how many do."));
    }
    let published = job.protocol == bloom::PROTOCOL && job.learns(party);
    if published {
        return learned;
    }
    learned.push(format!(
        "{party} does not learn how many keys {all} {each}, but for what the result says. All that is sent has the length for {}.",
        count(job.limits.pad_to.unwrap_or_default())
    ));
    learned.push(hint_of_size(party, "a party"));
    if job.learns(party) && party != leader {
        learned.push(result_from(party, leader));
    }
    if others.len() > 1 {
        learned.push(if job.learns(party) { format!(
                "{party} and some of the others, not all, learn no more than their own results say, if they pool what they see."
            ) } else {
                format!("{party} and some of the others, not all, learn no more than the learners among them, if they pool what they see.")
            });
    }
    learned.extend(of_giving(job, party));
    learned.extend(in_the_helpers_place(job, party));
    learned.push(format!("{party} learns nothing else about the data of {all}, as long as all follow the protocol."));
    learned
}

/// Returns what it means for `party` that the first party is in the helper's place, if it is. Helper and leader
/// together can pass on what one party alone has left, which tells them more if there are several.
fn in_the_helpers_place(job: &JobSpec, party: &str) -> Vec<String> {
    let first = job.parties.names().into_iter().next().filter(|_| job.helper.is_none());
    let Some(first) = first else { return Vec::new() };
    let leads = first == job.receiver() && job.others(first).len() > 1 && job.protocol != bloom::PROTOCOL;
    // With given columns, a leader has columns of stores decrypted: what it tests are not only `pad_to` keys.
    let keys = match job.reveal {
        Reveal::Payload => "keys that it can guess".to_owned(),
        _ => format!("up to {} keys", count(job.limits.pad_to.unwrap_or_default())),
    };
    match (first == party, leads) {
        (true, false) => vec![
            format!("{party} learns who takes part, when, and from which addresses: it is in the helper's place."),
            format!("{party} learns nothing else by that."),
        ],
        (true, true) => vec![
            format!(
                "{party} learns who takes part, when, and from which addresses: it is in the helper's place, and computes the result, too."
            ),
            format!("{party} learns nothing else by that if it follows the protocol."),
            format!(
                "{party} can test {keys} for each other party alone if it does not follow the protocol. With a [helper], \
                 or with a first party that does not learn, that takes two that pool what they see.{}",
                opens(job, party, "")
            ),
        ],
        (false, true) => vec![format!(
            "{first} can test {keys} for being {party}'s if it does not follow the protocol. It is in the helper's place, and \
             computes the result, too.{}",
            opens(job, first, party)
        )],
        (false, false) => Vec::new(),
    }
}

/// Sentences on what rows that others give tell besides.
fn of_given(job: &JobSpec, party: &str) -> Vec<String> {
    let mut learned = given_rows(job, party);
    for giver in givers(job, party) {
        learned.push(format!("{party} learns the types of {giver}'s given columns, whatever is common."));
    }
    if job.others(party).len() > 1 {
        learned.push(format!("{party} does not learn given columns of keys that not all have."));
        if helping(job) != party && givers(job, party).into_iter().any(|giver| giver != helping(job)) {
            learned.push(format!(
                "{party} can learn them for keys that it can guess, together with {}, if neither follows the protocol.",
                helping(job)
            ));
        }
    }
    let others = job.others(party);
    learned.push(format!(
        "{party} can learn whether {} {} a key that it can guess, if it does not follow the protocol. {party} need not have that key, \
         and can then open the given columns for it, too.",
        names(&others),
        have(&others)
    ));
    learned
}

/// Returns the helper, or the party in its place.
fn helping(job: &JobSpec) -> &str {
    job.parties.names().into_iter().next().filter(|_| job.helper.is_none()).unwrap_or("the helper")
}

/// Sentences on who can open the columns that `party` gives besides the receiver by the protocol.
fn of_giving(job: &JobSpec, party: &str) -> Vec<String> {
    let (leader, helping) = (job.receiver(), helping(job));
    if !givers(job, leader).contains(&party) || job.others(party).len() < 2 || helping == leader || helping == party {
        return Vec::new();
    }
    vec![format!(
        "{leader} and {helping} together can open {party}'s given columns for keys that they can guess, whoever else has them, if neither \
         follows the protocol."
    )]
}

/// Returns what a party that is helper and leader at once can do with given columns: with all, or with those of
/// `giver`.
fn opens(job: &JobSpec, first: &str, giver: &str) -> String {
    let gives = givers(job, first).into_iter().any(|name| giver.is_empty() || name == giver);
    let whose = if giver.is_empty() { String::new() } else { format!("{giver}'s ") };
    if gives { format!(" {first} can then open {whose}given columns for those keys, too.") } else { String::new() }
}

/// Sentences on what counts by category tell besides, of categories that `party` gives itself, or not.
fn of_counts(party: &str, gives: bool) -> Vec<String> {
    if gives {
        return vec![
            format!("{party} can learn which keys are common from counts of its own categories."),
            format!(
                "{party} learns whether a key is common if none of its other keys has the same category: the count says it."
            ),
        ];
    }
    vec![
        format!(
            "{party} can learn more about single keys if counts are over few of them: counts over one key tell its category."
        ),
        unchecked_keys(party),
    ]
}

/// Returns the summary of who learns what, one entry for each result.
pub fn at_a_glance(job: &JobSpec) -> Vec<Disclosure> {
    let what = match &job.reveal {
        Reveal::Count => "how many keys all have".into(),
        Reveal::Sum(summed) => {
            format!("how many keys all have, and the sum of {}'s {}", giver(job), summed.columns.join(", "))
        }
        Reveal::CountsBy(column) => format!("how many keys all have, by {}'s {column}", giver(job)),
        _ => "which of its own rows all have".to_owned(),
    };
    if job.protocol == bloom::PROTOCOL {
        let what = wrong(job).map_or(what.clone(), |rate| format!("{what}, and up to {rate} of the others with them"));
        return vec![
            Disclosure::new(job, what, |name| job.learns(name)),
            Disclosure::new(job, "of every key that can be guessed: whether all others have it", |name| {
                job.learns(name)
            }),
        ];
    }
    let mut things = vec![
        Disclosure::new(job, what, |name| job.learns(name)),
        Disclosure::new(job, "exactly how many keys each of the others has", |_| false),
    ];
    for giver in givers(job, job.receiver()) {
        let what = format!("{giver}'s {} for them", list(job.given_by(giver)));
        things.push(Disclosure::given(job, giver, what, |name| job.learns(name)));
        let types = format!("types of {giver}'s given columns");
        things.push(Disclosure::given(job, giver, types, |name| job.learns(name)));
    }
    if job.parties.names().len() > 2 {
        things.push(Disclosure::new(job, "who else has a key that not all have", |_| false));
    }
    things
}

/// Returns the rate at which keys are wrongly in the result of the published form, unless it is negligible.
fn wrong(job: &JobSpec) -> Option<&'static str> {
    let rate = Intersect::of(job).filters().rate();
    (rate != Rate::Negligible).then(|| rate.name())
}

/// Returns the party that tells `party` what it learns, in the published form.
fn told_by<'a>(job: &'a JobSpec, party: &str) -> Option<&'a str> {
    let place = job.parties.position(party)?;
    let last = bloom::params(job).ok()?.told_by(place)?;
    job.parties.names().get(last).copied()
}

/// The same as `party` reads it.
fn whose(job: &JobSpec, party: &str) -> String {
    match giver(job) {
        giver if giver == party => "its own".to_owned(),
        giver => format!("{giver}'s"),
    }
}

/// Returns the party that gives the column.
fn giver(job: &JobSpec) -> &str {
    job.number_giver().unwrap_or_default()
}
