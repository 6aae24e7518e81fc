//! Who learns what, in plain sentences.

use tacita_core::primitive::published::bloom::Rate;

use super::super::Intersect;
use super::super::learned::{WHICH, limit, of_sum};
use super::published::bloom;
use crate::agreement::{Glance, JobSpec, Protocol, Reveal};
use crate::base::text::{count, names};
use crate::jobs::learned::{have, list};

/// What the helper learns of a job by this protocol.
pub fn helper_learns(protocol: Protocol) -> [&'static str; 2] {
    let [alone, pooled] = LEARNS;
    [alone, if protocol == bloom::PROTOCOL { LEARNS_BY_BLOOM } else { pooled }]
}

/// What the helper learns together with those who learn, of the published form.
const LEARNS_BY_BLOOM: &str = "if the helper pools what it sees with a party that learns, they know how many parties have set each slot of their filters";

const LEARNS: [&str; 2] = [
    "the helper learns who takes part in this job, when, from which addresses, and what the agreed sizes say: neither keys, nor how many a \
     party has (the time that one takes to load its table may hint at it), nor the result",
    "if the helper pools what it sees with parties, they learn no more than those parties learn together, as long as one party stays out of it \
     and all follow the protocol; a helper that does not can leave out what a party has left, and the result is then of the other parties' keys",
];

/// What `party` learns.
pub fn learned(job: &JobSpec, party: &str) -> Vec<String> {
    let others = job.others(party);
    let all = names(&others);
    let leader = job.receiver();
    let mut learned = Vec::new();
    let every = have(&others);
    let every_party = names(&[&others[..], &[party]].concat());
    if job.learns(party) {
        learned.push(match &job.reveal {
            Reveal::Count => format!("{party} learns how many keys {every_party} have in common, not which; {WHICH}."),
            Reveal::Sum(summed) => format!(
                "{party} learns how many keys {every_party} have in common, not which, and the sum of {} {} over them; {WHICH}.",
                whose(job, party),
                list(&summed.columns)
            ),
            Reveal::CountsBy(column) => format!(
                "{party} learns how many keys {every_party} have in common, by {} `{column}`, not which; {WHICH}.",
                whose(job, party)
            ),
            _ => format!("{party} learns which of its own rows have a key that {all} {every} too."),
        });
        match &job.reveal {
            Reveal::Sum(_) => learned.push(of_sum(party, giver(job) == party)),
            Reveal::CountsBy(_) => learned.push(of_counts(party, giver(job) == party)),
            _ => {}
        }
        limit(job, &mut learned);
        if job.protocol == bloom::PROTOCOL {
            if let Some(rate) = wrong(job) {
                learned.push(format!(
                    "{party} takes up to {rate} of its other keys for such, too, and cannot tell which: false_positives = \"{rate}\" is the rate of \
                     the paper, and with \"2^-40\" there are as good as none."
                ));
            }
            if let Some(last) = told_by(job, party) {
                learned.push(format!(
                    "{party} hears all shares of the decryption from {last}, and takes its word for them."
                ));
            }
            learned.push(format!(
                "{party} learns of every key that it can guess, and need not have, whether {all} {every} it: protocol = \"outsourced-bloom\" is for \
                 comparisons, and \"outsourced\" does not tell this."
            ));
            learned.push(format!(
                "{party} together with the helper learns how many parties have set each slot of their filters."
            ));
        }
        if job.limits.min_result.is_some() && job.reveal != Reveal::Rows {
            learned.push(format!(
                "limits.min_result is kept by the program that {party} runs: whoever changes it sees smaller numbers, too."
            ));
        }
    } else {
        learned.push(format!(
            "{party} does not learn which keys all have in common, nor how many; but if it has no key, there are none."
        ));
    }
    if others.len() > 1 && !(job.protocol == bloom::PROTOCOL && job.learns(party)) {
        learned.push(format!("Of a key that not all have, {party} does not learn who has it, nor how many do."));
    }
    let published = job.protocol == bloom::PROTOCOL && job.learns(party);
    if published {
        return learned;
    }
    learned.push(format!(
        "{party} does not learn how many keys {all} {every}, beyond what the result says and that they are no more than {}: all that is sent has \
         the length for that. (The time that one takes to load its table may hint at it.)",
        count(job.limits.pad_to.unwrap_or_default())
    ));
    if job.learns(party) && party != leader {
        learned.push(format!("{party} hears the result from {leader}, which works it out, and takes its word for it."));
    }
    if others.len() > 1 {
        learned.push(match job.learns(party) {
            true => format!("If {party} pools what it sees with others, and not with all, they learn no more than their own results say."),
            false => format!("If {party} pools what it sees with others, they learn no more than those of them who learn."),
        });
    }
    learned.extend(in_the_helpers_place(job, party));
    learned.push(format!("{party} learns nothing else about the data of {all}, as long as all follow the protocol."));
    learned
}

/// What it means for `party` that the first party is in the helper's place, if it is. Helper and leader together can pass on what one party alone has left,
/// which tells them more if there are several.
fn in_the_helpers_place(job: &JobSpec, party: &str) -> Option<String> {
    let first = job.parties.names().into_iter().next().filter(|_| job.helper.is_none())?;
    let leads = first == job.receiver() && job.others(first).len() > 1 && job.protocol != bloom::PROTOCOL;
    let keys = count(job.limits.pad_to.unwrap_or_default());
    match (first == party, leads) {
        (true, false) => Some(format!(
            "{party} is in the helper's place: it sees who takes part, when, and from which addresses, and learns nothing else by that."
        )),
        (true, true) => Some(format!(
            "{party} is in the helper's place, and works the result out, too: it sees who takes part, when, and from which addresses. It learns \
             nothing else by that if it follows the protocol; if not, it can test up to {keys} keys for each other party alone. That takes two, if \
             a [helper] is named, or a party is first that does not learn."
        )),
        (false, true) => Some(format!(
            "{first} is in the helper's place, and works the result out, too: if it does not follow the protocol, it can test up to {keys} keys \
             for being {party}'s."
        )),
        (false, false) => None,
    }
}

/// What counts by category tell besides, of categories that `party` gives itself, or not.
fn of_counts(party: &str, gives: bool) -> String {
    match gives {
        true => format!(
            "From counts of its own categories {party} may find out which keys are common: of a category with one key alone, its count says \
             it."
        ),
        false => format!(
            "Counts of few keys can tell more than they seem to: of one key, its category. Nothing checks which keys {party} brings."
        ),
    }
}

/// Who learns what, thing by thing.
pub fn at_a_glance(job: &JobSpec) -> Vec<Glance> {
    let to = |what: String, learns: &dyn Fn(&str) -> bool| Glance {
        what,
        parties: job.parties.names().into_iter().filter(|name| learns(name)).map(str::to_owned).collect(),
    };
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
            to(what, &|name| job.learns(name)),
            to("of every key that can be guessed: whether all others have it".into(), &|name| job.learns(name)),
        ];
    }
    vec![
        to(what, &|name| job.learns(name)),
        to("of a key that not all have: who has it".into(), &|_| false),
        to("how many keys each of the others has".into(), &|_| false),
    ]
}

/// How many keys are wrongly in the result of the published form, unless there are as good as none.
fn wrong(job: &JobSpec) -> Option<&'static str> {
    let rate = Intersect::of(job).filters().rate();
    (rate != Rate::Negligible).then(|| rate.name())
}

/// Who tells `party` what it learns, in the published form.
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

/// Whose column it is.
fn giver(job: &JobSpec) -> &str {
    job.number_giver().unwrap_or_default()
}
