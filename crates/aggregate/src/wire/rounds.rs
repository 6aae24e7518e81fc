//! Rounds: their names, and what the database tells of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tacita_core::{Error, ErrorKind, Result};
use tacita_node::base::text::{shown, shown_within};
use tacita_node::jobs::aggregate::Histogram;
use tacita_serve::clock;

use super::same_keys::KeysFingerprint;
use super::signed::Signed;

/// The longest name of a round, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// Characters of a reason that are shown: it has to be read to its end.
const MAX_REASON: usize = 400;

/// Refuses what is no name of a round.
pub fn check_name(round: &str) -> Result<()> {
    let fits = (1..=MAX_NAME_BYTES).contains(&round.len())
        && round.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && !round.starts_with('.');
    if fits {
        Ok(())
    } else {
        Err(Error::Input(format!(
            "round \"{}\": use 1 to {MAX_NAME_BYTES} letters, digits, - _ and ., as 2026-11-30",
            shown(round)
        )))
    }
}

/// Converts the error on a round that was kept by this service itself and does not fit its job file: nobody else is to
/// blame.
pub(crate) fn of_other_terms(round: &str, error: Error) -> Error {
    match error {
        Error::Protocol { .. } | Error::Authentication { .. } => Error::Terms(format!(
            "round {round} was opened under other terms or identities than the job file's: use the job file of that time, or \
             another --state (and, with PostgreSQL, another ?schema=)"
        )),
        other => other,
    }
}

/// State of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RoundState {
    /// Open: the round takes reports.
    Open,
    /// Closed: the round takes no more reports, and those that were taken are on their way.
    Closed,
    /// Counted: all reports are there, and rows are counted. The operator may look at the counts, and decide.
    Counted,
    /// Keys of rows that passed are being asked for.
    Revealing,
    /// Revealed: the result can be collected.
    Revealed,
    /// Failed: the round has no result, for a reason.
    Failed,
    /// Removed: nothing of the round is left.
    Removed,
}

impl RoundState {
    /// Returns the word for the state.
    pub fn name(self) -> &'static str {
        match self {
            RoundState::Open => "open",
            RoundState::Closed => "closed",
            RoundState::Counted => "counted",
            RoundState::Revealing => "revealing",
            RoundState::Revealed => "revealed",
            RoundState::Failed => "failed",
            RoundState::Removed => "removed",
        }
    }

    /// Returns the predicate that messages use for a round in this state.
    pub fn told(self) -> &'static str {
        match self {
            RoundState::Open => "is open",
            RoundState::Closed => "is closed",
            RoundState::Counted => "is counted",
            RoundState::Revealing => "is being revealed",
            RoundState::Revealed => "is revealed",
            RoundState::Failed => "has failed",
            RoundState::Removed => "was removed",
        }
    }

    /// Whether nothing will change any more without the operator.
    pub fn is_over(self) -> bool {
        matches!(self, RoundState::Revealed | RoundState::Failed | RoundState::Removed)
    }
}

/// Reason why a round has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RoundFailure {
    /// Party that is to blame, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit: Option<String>,
    /// Code of the kind of error: see [`ErrorKind::code`].
    pub kind: u8,
    /// Description of the event.
    pub reason: String,
    /// Text that others than the operator are told in its place, if it contains numbers that are the operator's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<String>,
}

impl RoundFailure {
    /// Creates the failure for an error of this service.
    pub fn of(error: &Error) -> RoundFailure {
        let (culprit, kind) = (error.peer().map(str::to_owned), error.kind().code());
        RoundFailure { culprit, kind, reason: error.to_string(), told: None }
    }

    /// Returns the failure in the form for the operator, or for others. Others learn who broke the protocol, and why a
    /// round cannot have a result. A failure here may name a file; one that connects services names addresses and
    /// identities. Of these, others are told only where to look.
    pub(crate) fn for_others(mut self, operator: bool) -> RoundFailure {
        if let Some(told) = self.told.take().filter(|_| !operator) {
            return RoundFailure { reason: told, ..self };
        }
        let reason = match (operator, ErrorKind::from_code(self.kind)) {
            (true, _) | (false, Some(ErrorKind::Protocol | ErrorKind::Terms)) => return self,
            (false, Some(ErrorKind::Network | ErrorKind::Authentication)) => "the database had no answer",
            (false, _) => "it failed at the database",
        };
        RoundFailure { reason: format!("{reason}: its operator finds more in the log"), ..self }
    }

    /// The same as an error of whoever hears of it from `by`.
    pub fn error(&self, round: &str, by: &str) -> Error {
        let reason = shown_within(&self.reason, MAX_REASON);
        match (&self.culprit, ErrorKind::from_code(self.kind)) {
            (Some(culprit), Some(ErrorKind::Protocol)) => Error::Protocol {
                peer: culprit.clone(),
                check: format!("round {round} has no result, as {by} says: {reason}"),
            },
            (Some(culprit), Some(ErrorKind::Authentication)) => Error::Authentication {
                peer: culprit.clone(),
                what: format!("round {round} has no result, as {by} says: {reason}"),
            },
            (Some(culprit), _) => Error::Network {
                peer: culprit.clone(),
                what: format!("round {round} has no result, as {by} says: {reason}"),
            },
            (None, _) => Error::Input(format!("round {round} has no result: {reason}")),
        }
    }
}

/// Report of a proxy that has sent all that it had of a round, or cannot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// Entries that it has sent.
    pub entries: u64,
    /// Reports that it has discarded: it was handing them over to a proxy that the round goes on without.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub discarded: u64,
    /// Reason why the proxy's reports cannot be sent, if they cannot.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unshufflable: Option<String>,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Amount of reports that one of several proxies has of a closed round, once it has claimed its own batches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rest {
    /// Nothing: the proxy has no report.
    Nothing,
    /// Reports that can be shuffled.
    Enough,
    /// Reports that cannot be shuffled by themselves.
    TooFew,
}

/// A proxy tells the database what it has.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resting {
    /// Amount that the proxy has.
    pub rest: Rest,
}

/// Options of the operator for closing a round.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Closing {
    /// The places of proxies that it goes on without, from 0 on.
    #[serde(default)]
    pub without: Vec<usize>,
}

/// Raise of a threshold.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tighten {
    /// Measure whose threshold is raised: `count`, `distinct` and so on.
    pub measure: String,
    /// New threshold; if absent, it is put into the widest gap of the histogram.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<i64>,
}

/// Returns the proxy that takes over from others with too few reports: the first that has enough, or else the first
/// that has any.
pub fn collector(rests: &BTreeMap<usize, Rest>) -> Option<usize> {
    let first = |wanted| rests.iter().find(|(_, rest)| **rest == wanted).map(|(place, _)| *place);
    first(Rest::Enough).or_else(|| first(Rest::TooFew))
}

/// Numbers of a round that only the operator of the database sees.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Numbers {
    /// Reports that are there.
    pub reports: u64,
    /// Entries that were dropped since they held nothing that could be one.
    pub dropped: u64,
    /// Reports that proxies have discarded: they were handing them over to one that the round goes on without.
    #[serde(default)]
    pub discarded: u64,
    /// Rows that all reports make, once they are counted.
    pub rows: Option<u64>,
    /// Rows that pass as things stand.
    pub passing: Option<u64>,
    /// Keys that were revealed.
    pub keys: Option<u64>,
    /// Reports that the oracle found to be inconsistent with their rows.
    pub inconsistent: u64,
    /// Rows that passed, and had more reports than an oracle can be asked about.
    #[serde(default)]
    pub too_long: u64,
}

/// Number of rows by number of reports, and by number of reporters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportCounts {
    /// Number of rows by the number of reports.
    pub count: BTreeMap<u64, u64>,
    /// Number of rows by the number of reporters, where they are told apart.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub distinct: BTreeMap<u64, u64>,
    /// Numbers of rows with noise by what the condition compares, from size 1 on, in their place; empty without noise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub noisy: Vec<i64>,
}

impl ReportCounts {
    /// Returns the histogram that is revealed: in a job with noise, the numbers that have some.
    pub(crate) fn histogram(self, noise: bool) -> Histogram {
        if noise {
            return Histogram { noisy: self.noisy, ..Histogram::default() };
        }
        Histogram { count: self.count, distinct: self.distinct, noisy: Vec::new() }
    }
}

/// Status of a round, as the database tells it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RoundStatus {
    /// Name of the round.
    pub round: String,
    /// State of the round.
    pub state: RoundState,
    /// Time at which the round closed, in seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<u64>,
    /// Current condition under which the keys of rows are revealed.
    pub reveal_when: String,
    /// The places of the proxies that it waits for, from 0 on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<usize>,
    /// Descriptions of these proxies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits_for: Vec<String>,
    /// Amount that each of several proxies has, once it has told; for proxies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rests: BTreeMap<usize, Rest>,
    /// The places of the proxies that it goes on without: what they had not sent is in no result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<usize>,
    /// Reason why the round failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RoundFailure>,
    /// Another round that is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
    /// Number of parts of the result, for those who get it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<u64>,
    /// The database's public key of the round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub database: Option<Signed>,
    /// Public key of the proxies for the round.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy: Option<Signed>,
    /// The fingerprint of both, once both are there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keys: Option<KeysFingerprint>,
    /// Numbers for the operator alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<Numbers>,
}

impl RoundStatus {
    /// Returns the message while the result is not there.
    pub fn waiting(&self) -> String {
        let waits = if self.waits_for.is_empty() {
            String::new()
        } else {
            format!(", and waits for {}", self.waits_for.join(" and "))
        };
        format!("round {} {}{waits}: ask again later", self.round, self.state.told())
    }

    /// Returns the time at which the round closed, in UTC, as `2026-11-23T08:05:09Z`.
    pub fn closed_at(&self) -> Option<String> {
        self.closed.map(clock::written)
    }
}

/// Description of a round by a proxy for its participants: the keys that reports are encrypted under.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// Name of the round.
    pub round: String,
    /// The database's public key.
    pub database: Signed,
    /// Public key of the proxies for the round.
    pub proxy: Signed,
    /// Reports that one participant may send to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most_reports: Option<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_rounds_stand_in_paths() {
        for good in ["1", "2026-11-30", "a.b_C-9", &"x".repeat(64)] {
            check_name(good).unwrap();
        }
        for bad in ["", ".", "..", "a/b", "a b", "ä", "a\n", "a%2f", &"x".repeat(65)] {
            assert!(check_name(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_failure_keeps_its_culprit_and_kind() {
        let error = Error::Protocol { peer: "the oracle".into(), check: "it lies".into() };
        let told = RoundFailure::of(&error).error("r", "the database");
        assert_eq!((told.kind(), told.peer()), (ErrorKind::Protocol, Some("the oracle")));
        let stranger = "at 10.0.0.9:7610 it presents SHA256:A, expected SHA256:B";
        let silent = RoundFailure::of(&Error::Network { peer: "the oracle".into(), what: stranger.into() });
        assert!(silent.clone().for_others(true).reason.contains(stranger));
        let told = silent.for_others(false);
        assert!(!told.reason.contains("10.0.0.9") && !told.reason.contains("SHA256"), "{}", told.reason);
        assert_eq!((told.kind, told.culprit.as_deref()), (ErrorKind::Network.code(), Some("the oracle")));
        let file = RoundFailure::of(&Error::Input("/state/rows: no space".into())).for_others(false);
        assert!(!file.reason.contains("/state"), "{}", file.reason);
        assert_eq!(RoundFailure::of(&error).for_others(false), RoundFailure::of(&error));
        let numbers = RoundFailure {
            told: Some("some are missing".into()),
            ..RoundFailure::of(&Error::Terms("it lacks 3".into()))
        };
        let both = [true, false].map(|operator| numbers.clone().for_others(operator));
        assert_eq!(both.each_ref().map(|told| &told.reason[..]), ["it lacks 3", "some are missing"]);
        assert!(both.iter().all(|told| told.told.is_none() && told.kind == ErrorKind::Terms.code()));
        let own = RoundFailure::of(&Error::Input("too few".into())).error("r", "the database");
        assert_eq!(own, Error::Input("round r has no result: too few".into()));
    }
}
