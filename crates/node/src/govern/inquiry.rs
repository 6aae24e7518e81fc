//! Questions to a policy outside of a run: whether it allows a job, by which rule, and line by line why.

use std::path::Path;

use serde::Serialize;
use tacita_core::{Error, Result};

use super::account::Governance;
use super::ledger::Ledger;
use super::policy::{History, NoHistory, NotCounted, Policy, PolicyQuestion, TriedKey, TriedRule};
use super::time::UtcTime;
use crate::agreement::JobSpec;
use crate::identity::Identity;

/// Answer of a policy that allows a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyCheck {
    /// The rule that allows it: file and line.
    pub rule: String,
    /// Counts that are missing, and can refuse a run yet.
    pub remaining: Vec<String>,
}

/// A policy, tried on a job rule by rule.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PolicyExplanation {
    /// Line of the rule that allows the job, if one does.
    pub allowed_by: Option<usize>,
    /// Rules, in the order of the file.
    pub rules: Vec<ExplainedRule>,
    /// Counts that are missing, and can refuse a run yet.
    pub remaining: Vec<String>,
}

/// A rule of a [`PolicyExplanation`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedRule {
    /// Line at which its peers stand, which name it.
    pub line: usize,
    /// Whether it allows the job.
    pub allows: bool,
    /// The keys that it has, in the order in which they are tried.
    pub keys: Vec<ExplainedKey>,
}

/// A key of an [`ExplainedRule`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExplainedKey {
    /// Line at which its value stands.
    pub line: usize,
    /// Text of that line.
    pub text: String,
    /// Reason why it refuses the job, if it does.
    pub refusal: Option<String>,
}

impl Governance {
    /// Returns the rule that allows a job, with the runs and approvals that there are.
    ///
    /// Errors ([`Error::Policy`]): none does. Others: there is no policy, or it or the ledger cannot be read.
    pub fn check(&self, job: &JobSpec, me: &str) -> Result<PolicyCheck> {
        self.ask(job, me, |policy, question| {
            let rule = policy.allow(question)?.rule;
            let tried = policy.explain(question);
            Ok(PolicyCheck { rule, remaining: self.remaining(tried.iter().find(|rule| rule.refusal().is_none())) })
        })
    }

    /// Tries all rules of the policy on a job, with the runs and approvals that there are.
    ///
    /// Errors: there is no policy, or it or the ledger cannot be read.
    pub fn explain(&self, job: &JobSpec, me: &str) -> Result<PolicyExplanation> {
        self.ask(job, me, |policy, question| {
            let tried = policy.explain(question);
            let allowing = tried.iter().find(|rule| rule.refusal().is_none());
            let (allowed_by, remaining) = (allowing.map(|rule| rule.line), self.remaining(allowing));
            let rule = |rule: &TriedRule| ExplainedRule {
                line: rule.line,
                allows: rule.refusal().is_none(),
                keys: explained(policy, &rule.keys),
            };
            Ok(PolicyExplanation { allowed_by, rules: tried.iter().map(rule).collect(), remaining })
        })
    }

    /// Returns what a rule that allows a job has yet to count.
    fn remaining(&self, allowing: Option<&TriedRule>) -> Vec<String> {
        let Some(rule) = allowing else { return Vec::new() };
        let rows = rule
            .counts_answers
            .then(|| "exact_answers is counted when a run has read its rows, and can refuse it then".to_owned());
        let history = self
            .home
            .is_none()
            .then(|| "without an identity, earlier runs, their privacy loss and approvals were not counted".to_owned());
        rows.into_iter().chain(history).collect()
    }

    fn ask<T>(
        &self,
        job: &JobSpec,
        me: &str,
        ask: impl FnOnce(&Policy, &PolicyQuestion<'_>) -> Result<T>,
    ) -> Result<T> {
        job.party(me)?;
        let policy = self.policy()?.ok_or_else(|| {
            Error::Input("there is no policy in the identity's directory: `tacita policy new` writes one".into())
        })?;
        let open = |home: &Path| Ledger::open(self.ledger.as_deref().unwrap_or(home), &Identity::load(home)?);
        let ledger = self.home.as_deref().map(open).transpose()?;
        let entries = ledger.filter(Ledger::is_there).map(|ledger| ledger.read()).transpose()?;
        let history: &dyn History = entries.as_ref().map_or(&NoHistory, |contents| &contents.entries);
        let approvals = self.approvals();
        let now = UtcTime::now().timestamp();
        let question = PolicyQuestion { job, me, now, history, approvals: &approvals, answers: &NotCounted };
        ask(&policy, &question)
    }
}

/// Returns each line with a key once, whatever it was tried for: the first reason why it refuses the job.
fn explained(policy: &Policy, tried: &[TriedKey]) -> Vec<ExplainedKey> {
    let mut keys: Vec<ExplainedKey> = Vec::new();
    for TriedKey { line, broken, .. } in tried {
        match keys.iter_mut().find(|key| key.line == *line) {
            Some(key) => key.refusal = key.refusal.take().or_else(|| broken.clone()),
            None => keys.push(ExplainedKey {
                line: *line,
                text: policy.line_text(*line).to_owned(),
                refusal: broken.clone(),
            }),
        }
    }
    keys
}

/// Returns the name of the party that has the identity in this directory.
///
/// Errors ([`Error::Input`]): the job names none, or the identity cannot be read.
pub fn party_of(job: &JobSpec, identity: &Path) -> Result<String> {
    let own = Identity::load(identity)?.fingerprint();
    let mut parties = job.parties.names().into_iter();
    let me = parties.find(|name| job.party(name).is_ok_and(|party| party.identity == Some(own)));
    me.map(str::to_owned)
        .ok_or_else(|| Error::Input(format!("the job file names no party with the identity {own}: give --as NAME")))
}
