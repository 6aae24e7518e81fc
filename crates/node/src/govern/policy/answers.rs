//! Limits on exact answers about nearly the same rows.

use serde::Deserialize;

use super::{Policy, Rule};
use crate::agreement::{JobSpec, Reveal};
use crate::base::text::{counted, shown};
use crate::identity::Fingerprint;

/// Number of rows by which tables differ at least, where no policy says another, that do not count as nearly the same.
pub const USUAL_MIN_DIFFERENCE: u64 = 10;

/// Largest `min_difference`: the work of comparing grows with it.
pub(super) const MAX_MIN_DIFFERENCE: u64 = 250;

/// Limits on the number of exact answers about nearly the same rows.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(from = "Written")]
pub(super) struct AnswerLimits {
    /// Answers to one peer.
    peer: Option<u64>,
    /// Answers to all peers of one of `[groups]`.
    group: Option<u64>,
    /// Answers to all peers together.
    all: Option<u64>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "write a number, or { peer = N, group = N, all = N }")]
enum Written {
    All(u64),
    Each(EachLimit),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct EachLimit {
    peer: Option<u64>,
    group: Option<u64>,
    all: Option<u64>,
}

impl From<Written> for AnswerLimits {
    fn from(written: Written) -> AnswerLimits {
        match written {
            Written::All(all) => AnswerLimits { peer: None, group: None, all: Some(all) },
            Written::Each(EachLimit { peer, group, all }) => AnswerLimits { peer, group, all },
        }
    }
}

/// Exact answers so far about the rows that a run brings, or about nearly the same.
pub trait Answers {
    /// Returns the number of earlier runs about rows that differ by fewer than `min_difference` from these, and that
    /// told one of these peers something exact; or anybody, if none are named.
    ///
    /// Errors: why that is not known.
    fn about_these_rows(&self, to: Option<&[Fingerprint]>, min_difference: u64) -> Result<u64, &str>;
}

/// Answers that have not been counted yet, because the rows have not been read.
pub struct NotCounted;

impl Answers for NotCounted {
    fn about_these_rows(&self, _: Option<&[Fingerprint]>, _: u64) -> Result<u64, &str> {
        Ok(0)
    }
}

/// Answers about rows that cannot be compared, for this reason.
pub struct Uncountable(pub &'static str);

impl Answers for Uncountable {
    fn about_these_rows(&self, _: Option<&[Fingerprint]>, _: u64) -> Result<u64, &str> {
        Err(self.0)
    }
}

/// Returns the other parties that learn something exact about the rows of `me`: those who learn the result, and, where
/// rows are aligned by ids, all, since each learns at least how many are common. A result with noise is not exact, but
/// how many are common is, unless it is blurred.
pub fn informed<'a>(job: &'a JobSpec, me: &str) -> Vec<&'a str> {
    if job.job.served().is_some() {
        if job.noise.is_some() {
            return Vec::new();
        }
        return job.reveal_to.iter().map(String::as_str).filter(|name| *name != me).collect();
    }
    // Whoever learns what shares stand for is named when they are opened.
    let exact = job.noise.is_none();
    let tells_all = (job.job.alignment(job).is_some() && !job.hides_rows()) || (exact && job.reveal == Reveal::Shares);
    let learns = |name: &str| exact && (job.learns(name) || job.job.tells_all(job));
    job.others(me).into_iter().filter(|name| tells_all || learns(name)).collect()
}

impl Policy {
    /// Returns the largest number of rows by which tables differ that count as nearly the same, and one more.
    pub fn min_difference(&self) -> u64 {
        let of_rule = |rule: &Rule| rule.min_difference.as_ref().map_or(USUAL_MIN_DIFFERENCE, |rows| *rows.get_ref());
        self.rules.iter().map(of_rule).max().unwrap_or(USUAL_MIN_DIFFERENCE)
    }

    /// Whether a rule limits the answers about nearly the same rows, which have to be compared for it.
    pub fn compares_rows(&self) -> bool {
        self.rules.iter().any(|rule| rule.exact_answers.is_some())
    }

    /// Refuses a `min_difference` or limits that make no sense.
    pub(super) fn check_answers(&self, rule: &Rule) -> tacita_core::Result<()> {
        if let Some(rows) =
            rule.min_difference.as_ref().filter(|rows| !(1..=MAX_MIN_DIFFERENCE).contains(rows.get_ref()))
        {
            return Err(self.fault(rows, format_args!("min_difference: it is a number from 1 to {MAX_MIN_DIFFERENCE}")));
        }
        let none = |limits: &AnswerLimits| [limits.peer, limits.group, limits.all] == [None; 3];
        match rule.exact_answers.as_ref().filter(|limits| none(limits.get_ref())) {
            Some(limits) => Err(self.fault(limits, "exact_answers: name at least one of peer, group, all")),
            None => Ok(()),
        }
    }

    /// Returns why the job would be an answer more than these limits allow.
    pub(super) fn beyond(
        &self,
        limits: &AnswerLimits,
        rule: &Rule,
        (job, me): (&JobSpec, &str),
        answers: &dyn Answers,
    ) -> Option<String> {
        let near = rule.min_difference.as_ref().map_or(USUAL_MIN_DIFFERENCE, |rows| *rows.get_ref());
        let over = |most: Option<u64>, who: &str, to: Option<&[Fingerprint]>| {
            let most = most?;
            match answers.about_these_rows(to, near) {
                Err(why) => {
                    Some(format!("exact_answers: the rows cannot be compared with those of earlier runs: {why}"))
                }
                Ok(had) if had >= most => Some(format!(
                    "exact_answers: {who} had {} about these rows, or about rows that differ by fewer than {near}",
                    counted(had, "answer")
                )),
                Ok(_) => None,
            }
        };
        let of_peer = |name: &str| {
            let pin = job.party(name).ok().and_then(|party| party.identity);
            let groups = self.groups.iter().filter(|(_, pins)| pin.is_some_and(|pin| pins.contains(&pin)));
            let mut of_groups = groups.filter_map(|(group, pins)| over(limits.group, &shown(group), Some(pins)));
            // Whoever is not known could be anybody.
            over(limits.peer, &shown(name), pin.as_ref().map(std::slice::from_ref)).or_else(|| of_groups.next())
        };
        let informed = informed(job, me);
        let first = informed.first()?;
        over(limits.all, if informed.len() == 1 { first } else { "the peers" }, None)
            .or_else(|| informed.iter().find_map(|name| of_peer(name)))
    }
}
