//! Policy of a party: a file beside its identity that says which jobs the party takes part in.
//!
//! A policy is a list of rules, `[[allow]]`. A job is allowed if one rule allows all of it: its peers, its question,
//! its columns of this party, its limits, the time, the number of runs, and the approvals. A key that a rule leaves out
//! restricts nothing, but for `peers`, which each rule has. So a policy without a rule refuses everything, and a file
//! that cannot be read refuses everything, too.

mod answers;
mod budget;
mod check;
mod draft;

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use jiff::civil::Time;
use serde::Deserialize;
use tacita_core::{Error, Level, Result, Security};
use toml::Spanned;

use crate::agreement::{AlignWay, WrittenNumber};
use crate::base::text::shown;
use crate::base::text_file::read_text;
use crate::govern::time::Day;
use crate::identity::Fingerprint;
use crate::jobs::toml_error;
use answers::AnswerLimits;

pub use answers::{Answers, NotCounted, USUAL_MIN_DIFFERENCE, Uncountable, informed};
pub use check::{Allowed, History, NoHistory, PolicyQuestion, TriedKey, TriedRule};
pub use draft::draft;

/// Name of the policy in the directory of an identity.
pub const POLICY_FILE: &str = "policy.toml";

/// Policies are read up to this size.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The word for the desks that a list is served to.
const CLIENTS: &str = "clients";

/// Words for those who are not named one by one, which a rule may list among the peers.
const AUDIENCES: [&str; 2] = ["participants", CLIENTS];

/// The policy that `tacita policy new` writes, up to the peers.
const TEMPLATE: &str = include_str!("template.toml");

/// A policy as it was read.
#[derive(Debug)]
pub struct Policy {
    path: PathBuf,
    text: String,
    groups: BTreeMap<String, Vec<Fingerprint>>,
    rules: Vec<Rule>,
    results: bool,
}

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    ledger: LedgerKeys,
    #[serde(default)]
    groups: BTreeMap<String, Vec<Fingerprint>>,
    #[serde(default)]
    allow: Vec<Rule>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct LedgerKeys {
    /// Whether the ledger keeps the numbers that were revealed.
    #[serde(default)]
    results: bool,
}

type Words = Option<Spanned<Vec<String>>>;

/// A rule: `[[allow]]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Rule {
    peers: Spanned<Vec<String>>,
    jobs: Words,
    reveal: Words,
    reveal_to: Words,
    protocols: Words,
    security: Words,
    levels: Words,
    alignment: Words,
    keys: Words,
    gives: Words,
    computes: Words,
    min_rows: Option<Spanned<u64>>,
    min_result: Option<Spanned<u64>>,
    min_cell: Option<Spanned<u64>>,
    padded: Option<Spanned<bool>>,
    hours: Option<Spanned<Hours>>,
    until: Option<Spanned<Day>>,
    runs_per_day: Option<Spanned<u64>>,
    refusals_per_day: Option<Spanned<u64>>,
    min_difference: Option<Spanned<u64>>,
    exact_answers: Option<Spanned<AnswerLimits>>,
    epsilon: Option<Spanned<WrittenNumber>>,
    epsilon_in_all: Option<Spanned<WrittenNumber>>,
    delta: Option<Spanned<WrittenNumber>>,
    days: Option<Spanned<u32>>,
    approve: Option<Spanned<u64>>,
    approvers: Option<Spanned<Vec<Fingerprint>>>,
}

/// Hours of a day in UTC; those that end before they begin go over midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Hours {
    from: Time,
    to: Time,
}

impl Hours {
    fn contain(self, time: Time) -> bool {
        if self.from < self.to { (self.from..self.to).contains(&time) } else { time >= self.from || time < self.to }
    }
}

impl TryFrom<String> for Hours {
    type Error = String;

    fn try_from(text: String) -> std::result::Result<Hours, String> {
        let time = |text: &str| {
            let (hours, minutes) =
                text.split_once(':').filter(|(hours, minutes)| [hours.len(), minutes.len()] == [2, 2])?;
            let number = |digits: &str| digits.bytes().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok())?;
            Time::new(number(hours)?, number(minutes)?, 0, 0).ok()
        };
        let hours = text.split_once('-').and_then(|(from, to)| Some(Hours { from: time(from)?, to: time(to)? }));
        hours
            .filter(|hours| hours.from != hours.to)
            .ok_or_else(|| format!("\"{}\" are no hours: write them in UTC, as in \"08:00-18:00\"", shown(&text)))
    }
}

impl Policy {
    /// Reads the policy in a file.
    pub fn load(path: &Path) -> Result<Policy> {
        let bad = |error: std::io::Error| Error::Input(format!("{}: cannot read the policy: {error}", path.display()));
        if std::fs::metadata(path).map_err(bad)?.len() > MAX_FILE_BYTES {
            return Err(Error::Input(format!("{}: too large for a policy", path.display())));
        }
        Policy::parse(path, &read_text(path).map_err(bad)?)
    }

    /// Reads a policy from its text; `path` is what messages call it.
    ///
    /// Errors ([`Error::Input`]): a key is unknown, or its value makes no sense; the text names the line.
    pub fn parse(path: &Path, text: &str) -> Result<Policy> {
        let read = toml::from_str(text).map_err(|error| toml_error(text, &error));
        let at = |error| match error {
            Error::Input(what) => Error::Input(format!("{}: {what}", path.display())),
            other => other,
        };
        let Written { ledger, groups, allow } = read.map_err(at)?;
        let policy =
            Policy { path: path.to_owned(), text: text.to_owned(), groups, rules: allow, results: ledger.results };
        policy.rules.iter().try_for_each(|rule| policy.check_rule(rule))?;
        Ok(policy)
    }

    /// Whether the ledger keeps the numbers that were revealed.
    pub fn keeps_results(&self) -> bool {
        self.results
    }

    /// Returns the text of a new policy in which these peers are named; all is refused if there are none.
    pub fn template(peers: &[Fingerprint]) -> String {
        let peers: Vec<_> = peers.iter().map(|peer| format!("\"{peer}\"")).collect();
        TEMPLATE.replace("peers = []", &format!("peers = [{}]", peers.join(", ")))
    }

    /// Refuses words that stand for nothing, and keys that make no sense together.
    fn check_rule(&self, rule: &Rule) -> Result<()> {
        for word in rule.peers.get_ref() {
            if !self.groups.contains_key(word) && !AUDIENCES.contains(&word.as_str()) {
                word.parse::<Fingerprint>().map_err(|error| {
                    self.fault(&rule.peers, format_args!("peers: {error}; and [groups] has no `{}`", shown(word)))
                })?;
            }
        }
        let jobs: Vec<_> = crate::jobs::usual().map(|job| job.name()).chain(["aggregate"]).collect();
        self.check_words(&rule.jobs, "jobs", |word| jobs.contains(&word))?;
        self.check_words(&rule.reveal_to, "reveal_to", |word| ["self", "peers"].contains(&word))?;
        self.check_words(&rule.security, "security", |word| word.parse::<Security>().is_ok())?;
        self.check_words(&rule.levels, "levels", |word| word.parse::<Level>().is_ok())?;
        self.check_words(&rule.alignment, "alignment", |word| word.parse::<AlignWay>().is_ok())?;
        self.check_answers(rule)?;
        self.check_budget(rule)?;
        let Some(approve) = rule.approve.as_ref().filter(|approve| *approve.get_ref() > 0) else {
            let say = "approvers: say how many of them have to approve, as in approve = 1";
            return rule.approvers.as_ref().map_or(Ok(()), |listed| Err(self.fault(listed, say)));
        };
        let approvers = rule.approvers.as_ref().map_or(&[][..], |listed| listed.get_ref());
        let distinct: std::collections::BTreeSet<_> = approvers.iter().map(|key| key.0).collect();
        if distinct.len() as u64 >= *approve.get_ref() {
            return Ok(());
        }
        Err(self
            .fault(approve, format_args!("approve: approvers lists {} keys: list at least as many", distinct.len())))
    }

    fn check_words(&self, words: &Words, key: &str, known: impl Fn(&str) -> bool) -> Result<()> {
        let Some(words) = words else { return Ok(()) };
        match words.get_ref().iter().find(|word| !known(word)) {
            Some(word) => Err(self.fault(words, format_args!("{key}: `{}` is unknown", shown(word)))),
            None => Ok(()),
        }
    }

    fn fault<T>(&self, at: &Spanned<T>, what: impl fmt::Display) -> Error {
        Error::Input(format!("{}: line {}: {what}", self.path.display(), self.line(at)))
    }

    /// Returns the text of a line of the file, from 1 on.
    pub fn line_text(&self, line: usize) -> &str {
        line.checked_sub(1).and_then(|place| self.text.lines().nth(place)).unwrap_or_default()
    }

    /// Returns the line of the file at which something stands, from 1 on.
    fn line<T>(&self, at: &Spanned<T>) -> usize {
        let before = self.text.get(..at.span().start).unwrap_or_default();
        before.matches('\n').count() + 1
    }
}

#[cfg(test)]
mod tests;
