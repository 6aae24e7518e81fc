//! Who learns what in an intersection, in plain sentences.

use tacita_core::Security;
use tacita_core::protocol::intersect::entries::Params;
use tacita_core::protocol::intersect::vole::overfitted_items;

use crate::agreement::{Duplicates, JobSpec, Known, Reveal};
use crate::base::text::{count, counted, names};
use crate::jobs::intersect::{methods, sums};
use crate::jobs::learned::{filtered, list};

/// Which keys a number tells.
pub(super) const WHICH: &str =
    "but none or all of its own say which, and two runs with one key more or less tell of that key";

/// What a table's size is the number of, which is `keys` unless tables are multisets.
fn counted_in(job: &JobSpec, keys: &'static str) -> &'static str {
    if job.is_of_multisets() { "rows with a key" } else { keys }
}

/// Whether each key stands for one row, whatever the tables hold.
pub(super) fn one_row_a_key(job: &JobSpec) -> bool {
    job.key.as_ref().is_some_and(|key| key.duplicates != Duplicates::All)
}

/// What `party` learns in a two-party intersection, given what is known.
pub(crate) fn intersect(job: &JobSpec, party: &str, known: Known) -> Vec<String> {
    let peer = job.peer_of(party);
    let mut learned = Vec::new();
    if job.learns(party) {
        result(job, party, peer, &mut learned);
        limit(job, &mut learned);
    } else {
        let sum = job.summed().map_or(String::new(), |(_, summed)| sums::not_learned(summed));
        learned.push(format!(
            "{party} does not learn which keys the two have in common, nor how many{sum}; but if one of them has no key, there are \
             none."
        ));
    }
    sizes(job, party, peer, known, &mut learned);
    together(job, party, peer, &mut learned);
    if known.prepared && party == job.receiver() {
        learned.push(format!(
            "{peer} answers from a prepared part: {party} can tell which answers of this run equal answers of its other \
             runs against the same part, so it can join all that it ever asked, also with what others asked and show it; and \
             that {peer}'s table is the same in all of these runs."
        ));
    }
    if known.on_disk {
        learned.push(on_disk(party, &[peer]));
    }
    if let Some(named) = methods::named(job.protocol) {
        named.learned(job, party, &mut learned);
    }
    match job.security {
        Security::SemiHonest => learned
            .push(format!("{party} learns nothing else about {peer}'s data, as long as both follow the protocol.")),
        Security::Malicious => {
            cheating(job, party, peer, known, &mut learned);
            learned.push(format!("{party} learns nothing else about {peer}'s data, whatever it does."));
        }
    }
    learned
}

/// What `party` learns of peers that work on disk.
pub(super) fn on_disk(party: &str, peers: &[&str]) -> String {
    let (work, its, it) = match peers.len() {
        1 => ("works", "its", "it"),
        _ => ("work", "their", "each"),
    };
    format!(
        "{} {work} on disk: {party} learns how much memory {its} buckets may take and, if the run is resumed, which of them {it} \
         has finished, and whether {its} keys are the same as before.",
        names(peers)
    )
}

/// The columns of each of several keys; of one key, nothing.
fn keys(job: &JobSpec) -> Vec<String> {
    job.key.iter().flat_map(|key| &key.any).map(|columns| list(columns)).collect()
}

/// What several keys tell together.
fn together(job: &JobSpec, party: &str, peer: &str, learned: &mut Vec<String>) {
    if keys(job).is_empty() || !job.learns(party) {
        return;
    }
    learned.push(format!(
        "The keys tell more together than each: of a row that matches by one of them and not by another, {party} learns that no row of \
         {peer} has its other key."
    ));
    if job.reveal == Reveal::Payload && !job.given_by(peer).is_empty() {
        learned.push(format!(
            "{party} learns which of the rows that it gets by different keys are one row of {peer}, and so which values of its own \
             keys {peer} has in one row."
        ));
    }
}

/// What a party can gain by cheating, where the protocol limits that.
fn cheating(job: &JobSpec, party: &str, peer: &str, known: Known, learned: &mut Vec<String>) {
    if party != job.receiver() {
        return;
    }
    let runs = keys(job).len().max(1);
    let store_bits = Params::rows(0, 0).one_of(runs).store_bits;
    let test = |items: Option<u64>| {
        let bound = items.and_then(|items| overfitted_items(items as usize, store_bits, runs).ok());
        bound.map_or("several times as many keys as it announces".into(), |n| counted(n, "key"))
    };
    if keys(job).is_empty() {
        let number = test(known.own_items);
        let often = if job.is_of_multisets() { " at least as often as it says of each" } else { "" };
        learned.push(format!(
            "If {party} cheats, it can test up to {number} for being {peer}'s{often}, chosen before it sees anything."
        ));
    }
    for (place, columns) in keys(job).into_iter().enumerate() {
        let number = test(known.any.map(|[own, _]| own[place].items));
        learned.push(format!(
            "If {party} cheats, it can test up to {number} by {columns} for being {peer}'s, chosen before it sees anything, whatever \
             it brings by another key."
        ));
    }
}

fn result(job: &JobSpec, party: &str, peer: &str, learned: &mut Vec<String>) {
    let by = match &keys(job)[..] {
        [] => String::new(),
        keys => format!(", and by which of the keys: {}", keys.join("; ")),
    };
    match &job.reveal {
        Reveal::Rows if job.is_of_multisets() => {
            learned.push(format!(
                "{party} learns for each of its own keys the smaller of two numbers: of its own rows with that key, and of {peer}'s. \
                 Where that is less than its own, {peer} has the key just as often as that; else at least as often."
            ));
            learned.push(format!(
                "Nothing checks how often {party} has a key: with more rows of it, {party} learns more of {peer}'s number."
            ));
        }
        Reveal::Rows | Reveal::CountsBy(_) => {
            learned.push(format!("{party} learns which of its own rows have a key that {peer} has too{by}."));
        }
        Reveal::Payload => {
            learned.push(format!("{party} learns which of its own rows have a key that {peer} has too{by}."));
            let given = job.given_by(peer);
            if !given.is_empty() {
                let rows = match one_row_a_key(job) {
                    true => String::new(),
                    false => format!(", and how many rows {peer} has for each of them"),
                };
                learned.push(format!("{party} learns {peer}'s {} for those keys{rows}.", list(given)));
            }
        }
        Reveal::Count if job.is_of_multisets() => {
            learned.push(format!(
                "{party} learns how many rows the two have in common, each key as often as both have it, not which; but none or all \
                 of its own say which, and two runs with one row more or less tell of its key."
            ));
            learned.push(format!(
                "How often {party} has its keys weighs them in that number: of keys that it has in different numbers of rows, or of one \
                 key alone, the number may say which are common, and how often."
            ));
            learned.extend(filtered(job, party, "count"));
        }
        Reveal::Count => {
            learned.push(format!("{party} learns how many distinct keys the two have in common, not which; {WHICH}."));
            learned.extend(filtered(job, party, "count"));
        }
        Reveal::Sum(summed) => {
            let gives = job.summed().is_some_and(|(giver, _)| giver == party);
            let whose = if gives { "its own".to_owned() } else { format!("{peer}'s") };
            let mut of_sums = sums::learned(job, party, &whose, WHICH, summed);
            of_sums.insert(1, of_sum(party, gives));
            learned.extend(of_sums);
        }
        Reveal::Value | Reveal::Shares | Reveal::Frequent | Reveal::Counts | Reveal::Keys { .. } => (),
    }
}

/// What a sum tells besides, of numbers that `party` gives itself, or not.
pub(super) fn of_sum(party: &str, gives: bool) -> String {
    match gives {
        true => format!(
            "From a sum of its own numbers {party} may find out which keys are common, if few choices of them have that sum."
        ),
        false => format!(
            "A sum over few keys can tell more than it seems: over one key, it is that key's. Nothing checks which keys {party} \
             brings."
        ),
    }
}

pub(crate) fn sizes(job: &JobSpec, party: &str, peer: &str, known: Known, learned: &mut Vec<String>) {
    if let Some(bound) = job.limits.pad_to {
        learned.push(format!(
            "{party} does not learn how many {} {peer} has, beyond what the result says and that they are no more than {}: all \
             sets are padded to that. (The time that {peer} takes to load its table may hint at it.)",
            counted_in(job, "keys"),
            count(bound)
        ));
    } else {
        let number = |items: Option<u64>| items.map_or(String::new(), |items| format!(" ({})", count(items)));
        if keys(job).is_empty() {
            learned.push(format!(
                "{party} learns how many {} {peer} has{}.",
                counted_in(job, "distinct keys"),
                number(known.items)
            ));
        }
        for (place, columns) in keys(job).into_iter().enumerate() {
            let number = number(known.any.map(|[_, theirs]| theirs[place].items));
            learned.push(format!("{party} learns how many distinct keys {peer} has by {columns}{number}."));
        }
    }
    learned.push(format!(
        "{party} learns which version {peer} runs, and by which kinds of profiles it normalises its key."
    ));
    let gives = job.reveal == Reveal::Payload && job.learns(party) && !job.given_by(peer).is_empty();
    if gives {
        let rows = match (job.limits.pad_to, known.entries) {
            _ if one_row_a_key(job) => String::new(),
            (None, _) if !keys(job).is_empty() => ", how many rows it has with each key".to_owned(),
            (None, Some(entries)) => format!(", that it has {} with a key", counted(entries, "row")),
            (None, None) => ", how many rows with a key it has".to_owned(),
            (Some(_), _) => String::new(),
        };
        let longest = match job.limits.max_text {
            Some(_) => "",
            None => ", the length of the longest text in each",
        };
        learned.push(format!("{party} learns the types of {peer}'s given columns{longest}{rows}."));
    }
}

/// What `min_result` does not do.
pub(crate) fn limit(job: &JobSpec, learned: &mut Vec<String>) {
    if let (Reveal::Rows | Reveal::Payload, Some(limit)) = (&job.reveal, job.limits.min_result) {
        learned.push(format!(
            "limits.min_result = {limit} holds back small numbers only; rows are revealed however few they are."
        ));
    }
}
