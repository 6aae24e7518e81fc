//! Plain sentences on who learns what in an intersection.

use tacita_core::Security;
use tacita_core::protocol::intersect::tag_exchange::Params;
use tacita_core::protocol::intersect::vole::overfitted_items;

use crate::agreement::{Disclosure, Duplicates, JobSpec, KnownSizes, Reveal};
use crate::base::text::{count, counted, names};
use crate::jobs::intersect::{methods, sums};
use crate::jobs::learned::{filtered, list, no_common_keys, unchecked_keys, which_keys};

/// Returns the noun for what a table's size counts, which is `keys` unless tables are multisets.
pub(super) fn counted_in(job: &JobSpec, keys: &'static str) -> &'static str {
    if job.is_of_multisets() { "rows with a key" } else { keys }
}

/// Whether each key stands for one row, whatever the tables hold.
pub(super) fn one_row_a_key(job: &JobSpec) -> bool {
    job.key.as_ref().is_some_and(|key| key.duplicates != Duplicates::All)
}

/// Returns what `party` learns in a two-party intersection, given what is known.
pub(crate) fn intersect(job: &JobSpec, party: &str, known: KnownSizes) -> Vec<String> {
    let peer = job.peer_of(party);
    let mut learned = Vec::new();
    if job.learns(party) {
        result(job, party, peer, &mut learned);
        limit(job, party, &mut learned);
    } else {
        let sum = job.summed().map_or(String::new(), |(_, summed)| sums::not_learned(summed));
        learned.extend(no_common_keys(party, "the two have", &sum));
    }
    sizes(job, party, peer, known, &mut learned);
    together(job, party, peer, &mut learned);
    if known.prepared && party == job.receiver() {
        learned.extend(prepared(party, peer));
    }
    if known.on_disk {
        learned.extend(on_disk(party, &[peer]));
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

/// Returns the summary of who learns what, one entry for each result.
pub(crate) fn at_a_glance(job: &JobSpec) -> Vec<Disclosure> {
    let learns = |name: &str| job.learns(name);
    let result = match &job.reveal {
        Reveal::Count | Reveal::Sum(_) => format!("how many {} both have", counted_in(job, "keys")),
        _ => "which of its own rows both have".into(),
    };
    let mut all = vec![Disclosure::new(job, result, learns)];
    if let Some((giver, summed)) = job.summed() {
        let what = if summed.mean { "sum and mean" } else { "sum" };
        all.push(Disclosure::new(job, format!("{what} of {giver}'s {} over them", list(&summed.columns)), learns));
    }
    if job.reveal == Reveal::Payload {
        let givers = job.parties.names().into_iter().filter(|giver| !job.given_by(giver).is_empty());
        let given = |giver: &str| format!("{giver}'s {} for them", list(job.given_by(giver)));
        all.extend(givers.map(|giver| Disclosure::given(job, giver, given(giver), learns)));
    }
    all.push(sizes_at_a_glance(job, counted_in(job, "keys")));
    all
}

/// Whether sizes are learned.
pub(crate) fn sizes_at_a_glance(job: &JobSpec, things: &str) -> Disclosure {
    Disclosure::new(job, format!("exactly how many {things} the other has"), |_| job.limits.pad_to.is_none())
}

/// Sentences on a receiver whose sender answers from a prepared part.
fn prepared(party: &str, peer: &str) -> [String; 3] {
    [
        format!(
            "{party} learns which answers equal those of its other runs against the same part: {peer} answers from a prepared part."
        ),
        format!("{party} can join all that it ever asked against that part, and what others asked and show it."),
        format!("{party} learns that {peer}'s table is the same in all of these runs."),
    ]
}

/// Sentences on what `party` learns of peers that work on disk.
pub(super) fn on_disk(party: &str, peers: &[&str]) -> [String; 2] {
    let all = names(peers);
    let (work, have, their) = match peers.len() {
        1 => ("works", "has", "its"),
        _ => ("work", "have", "their"),
    };
    [
        format!("{party} learns how much memory the buckets of {all} may take: {all} {work} on disk."),
        format!(
            "{party} learns which buckets {all} {have} finished, and whether {their} keys are the same as before, if the run is \
             resumed."
        ),
    ]
}

/// The columns of each of several keys; of one key, nothing.
fn keys(job: &JobSpec) -> Vec<String> {
    job.key.iter().flat_map(|key| &key.any).map(|columns| list(columns)).collect()
}

/// Appends what several keys tell together.
fn together(job: &JobSpec, party: &str, peer: &str, learned: &mut Vec<String>) {
    if keys(job).is_empty() || !job.learns(party) {
        return;
    }
    learned.push(format!("{party} learns more from the keys together than from each alone."));
    learned.push(format!(
        "{party} learns, if one of its own rows matches by one key and not by another, that no row of {peer} has that other key."
    ));
    if job.reveal == Reveal::Payload && !job.given_by(peer).is_empty() {
        learned.push(format!("{party} learns which of the rows that it gets by different keys are one row of {peer}."));
        learned.push(format!("{party} so learns which values of its own keys {peer} has in one row."));
    }
}

/// Appends what a party can gain by cheating, if the protocol limits it.
fn cheating(job: &JobSpec, party: &str, peer: &str, known: KnownSizes, learned: &mut Vec<String>) {
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
        let often = if job.is_of_multisets() {
            format!(" The test is whether {peer} has a key at least as often as {party} says.")
        } else {
            String::new()
        };
        learned.push(format!(
            "{party} can test up to {number} for being {peer}'s, if it cheats. It has to choose them before it sees anything.{often}"
        ));
    }
    for (place, columns) in keys(job).into_iter().enumerate() {
        let number = test(known.any.map(|[own, _]| own[place].items));
        learned.push(format!(
            "{party} can test up to {number} by {columns} for being {peer}'s, if it cheats. It has to choose them before it sees \
             anything. Their number does not depend on what it brings by another key."
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
                "{party} learns, for each of its own keys, the smaller of two numbers: of its own rows with that key, and of {peer}'s."
            ));
            learned.push(format!(
                "{party} learns {peer}'s number exactly if that is less than {party}'s own; otherwise, only that it is not less."
            ));
            learned.push(format!(
                "{party} can learn more of {peer}'s number if it brings more rows with a key. Nothing checks how often {party} has a \
                 key."
            ));
        }
        Reveal::Rows | Reveal::CountsBy(_) => {
            learned.push(format!("{party} learns which of its own rows have a key that {peer} has too{by}."));
        }
        Reveal::Payload => {
            learned.push(format!("{party} learns which of its own rows have a key that {peer} has too{by}."));
            let given = job.given_by(peer);
            if !given.is_empty() {
                let rows = if one_row_a_key(job) {
                    String::new()
                } else {
                    format!(", and how many rows {peer} has for each of them")
                };
                learned.push(format!("{party} learns {peer}'s {} for those keys{rows}.", list(given)));
            }
        }
        Reveal::Count if job.is_of_multisets() => {
            learned.push(format!(
                "{party} learns how many rows the two have in common, each key as often as both have it, not which."
            ));
            learned.push(format!("{party} learns which rows are common if none or all of its own are."));
            learned.push(format!(
                "{party} can learn whether {peer} has more rows with a key than a number of its choice. Two runs \
                 that differ only in one row with that key tell it."
            ));
            learned.push(format!(
                "{party} can learn which keys are common, and how often, if it has them in different numbers of rows, or has one key \
                 alone. Each key counts at most as often as it has rows with it."
            ));
            learned.extend(filtered(job, party, "count"));
        }
        Reveal::Count => {
            learned.push(format!("{party} learns how many distinct keys the two have in common, not which."));
            learned.extend(which_keys(party));
            learned.extend(filtered(job, party, "count"));
        }
        Reveal::Sum(summed) => {
            let gives = job.summed().is_some_and(|(giver, _)| giver == party);
            let whose = if gives { "its own".to_owned() } else { format!("{peer}'s") };
            learned.extend(sums::learned(job, party, &whose, summed));
            learned.extend(of_sum(party, gives));
        }
        Reveal::Value | Reveal::Shares | Reveal::Frequent | Reveal::Counts | Reveal::Cells | Reveal::Keys { .. } => (),
    }
}

/// Sentences on what a sum tells besides, of numbers that `party` gives itself, or not.
pub(super) fn of_sum(party: &str, gives: bool) -> Vec<String> {
    if gives {
        return vec![format!(
            "{party} can learn which keys are common from a sum of its own numbers, if few choices of keys have that sum."
        )];
    }
    vec![
        format!(
            "{party} can learn more about single keys if a sum is over few of them: a sum over one key is that key's."
        ),
        unchecked_keys(party),
    ]
}

pub(crate) fn sizes(job: &JobSpec, party: &str, peer: &str, known: KnownSizes, learned: &mut Vec<String>) {
    if let Some(bound) = job.limits.pad_to {
        learned.push(format!(
            "{party} does not learn how many {} {peer} has, but for what the result says: all sets are padded to {}.",
            counted_in(job, "keys"),
            count(bound)
        ));
        learned.push(hint_of_size(party, peer));
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

/// Sentence on the time that hints at a padded size.
pub(crate) fn hint_of_size(party: &str, peer: &str) -> String {
    format!("{party} can learn a hint of that number from the time that {peer} takes to load its table.")
}

/// Adds a sentence on what `min_result` does not do.
pub(crate) fn limit(job: &JobSpec, party: &str, learned: &mut Vec<String>) {
    if let (Reveal::Rows | Reveal::Payload, Some(limit)) = (&job.reveal, job.limits.min_result) {
        learned.push(format!(
            "{party} learns rows however few they are: limits.min_result = {limit} holds back small numbers only."
        ));
    }
}
