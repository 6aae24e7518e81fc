//! Plain sentences on who learns what from a live list.

use super::{DEFAULT_ROTATE_WITHIN, Live, Quota};
use crate::agreement::{Disclosure, JobSpec, KeyVerdict, MatchKey};
use crate::base::text::{count, counted};
use crate::jobs::learned::list;

/// Returns a sentence that names the protocol to run.
pub fn protocol(live: &Live) -> String {
    format!(
        "ecdh, a live list: an oblivious pseudorandom function ({}, RFC 9497), and a table that begins with {} entries of {} bytes.",
        live.params.suite.name(),
        count(live.params.entries as u64),
        live.params.tag_bytes
    )
}

/// Returns what `party` learns of a list that it keeps or queries.
pub fn learned(job: &JobSpec, party: &str) -> Vec<String> {
    let desk = job.receiver();
    let authority = job.peer_of(desk);
    if party == desk { of_desk(job, desk, authority) } else { of_authority(desk, authority) }
}

/// Returns the summary of who learns what, one entry for each result.
pub fn at_a_glance(job: &JobSpec) -> Vec<Disclosure> {
    let desk = job.receiver();
    let authority = job.peer_of(desk);
    vec![
        Disclosure::new(job, "whether a row that is asked for is on the list", |name| name == desk),
        Disclosure::given(job, authority, "when the list changes".into(), |_| true),
        Disclosure::given(job, desk, "which rows are asked for".into(), |_| false),
        Disclosure::given(job, desk, "when a desk asks, and for how many keys".into(), |_| true),
    ]
}

fn of_desk(job: &JobSpec, desk: &str, authority: &str) -> Vec<String> {
    let quota = Quota::of(job);
    let (rows, within) = (job.limits.pad_to.unwrap_or_default(), seconds(rotate_within(job)));
    let keys: Vec<String> = job.key.iter().flat_map(several).collect();
    let by = if keys.is_empty() { String::new() } else { format!(", and by which of the keys: {}", keys.join("; ")) };
    let may = match (quota.daily, quota.in_all) {
        (Some(daily), Some(all)) => format!("{} a day, and {} in all", counted(daily, "key"), count(all)),
        (Some(daily), None) => format!("{} a day", counted(daily, "key")),
        (None, all) => format!("{} in all", counted(all.unwrap_or_default(), "key")),
    };
    vec![
        format!("{desk} learns of each row that it asks for whether it is on {authority}'s list{by}."),
        format!("{desk} can ask for anybody: {may}. A row takes {}.", counted(keys.len().max(1) as u64, "key")),
        format!("{desk} does not get more by a rotation or a restart."),
        format!("{desk} does not learn how many rows {authority} has, but that they are no more than {}.", count(rows)),
        format!(
            "{desk} gets a table that begins as long as that under each key of {authority}, and grows by an entry with each change."
        ),
        format!("{desk} learns when the list changes, and how many keys of rows change."),
        format!(
            "{desk} does not learn which changes are additions and which are removals, but of rows that it asks for."
        ),
        format!("{desk} learns, of each row that it asks for, when it came and went since the key last changed."),
        format!(
            "{desk} can look for that row in all later states of the table until the key changes again, without {authority} and its quota. \
             So can whoever gets what it keeps, and desks that join what they have."
        ),
        format!("{desk} learns when {authority} changes its key: every {within}, whatever happens to the list."),
        format!(
            "{desk} also learns when the key changes at another time: its owner wants it, or it has no room for more changes of the list."
        ),
        format!("{desk} cannot look for anything that it kept once the key has changed."),
        format!("{desk} learns which version {authority} runs, and by which kinds of profiles it normalises its key."),
        format!("{desk} learns nothing else about {authority}'s list, as long as both follow the protocol."),
    ]
}

/// The several keys of a job, and which of them make a possible match alone.
fn several(key: &MatchKey) -> Vec<String> {
    let one = |(number, columns): (usize, &Vec<String>)| match key.verdict(number) {
        KeyVerdict::Match => list(columns),
        KeyVerdict::Possible => format!("{} (a possible match)", list(columns)),
    };
    key.any.iter().enumerate().map(one).collect()
}

fn of_authority(desk: &str, authority: &str) -> Vec<String> {
    vec![
        format!(
            "{authority} does not learn whom {desk} asks for, nor whether anybody was on the list, even if it can compute discrete \
             logarithms."
        ),
        format!(
            "{authority} learns which of the desks asks, when, and for how many keys at a time, and when it is connected."
        ),
        format!("{authority} so learns how many rows a desk checks, one by one or together."),
        format!(
            "{authority} learns when a desk fetches the table: at its start, after a change of the key, and after it lost its copy."
        ),
        format!("{authority} learns whether a desk asks the very same again, because an answer was lost."),
        format!("{authority} learns which version {desk} runs, and by which kinds of profiles it normalises its key."),
        format!("{authority} learns nothing else about what {desk} has, as long as both follow the protocol."),
    ]
}

fn rotate_within(job: &JobSpec) -> u64 {
    job.limits.rotate_within.unwrap_or(DEFAULT_ROTATE_WITHIN)
}

/// A time as job files have it.
fn seconds(seconds: u64) -> String {
    let units = [(86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second")];
    let (size, unit) = units.into_iter().find(|(size, _)| seconds.is_multiple_of(*size)).unwrap_or((1, "second"));
    counted(seconds / size, unit)
}
