//! Whether a policy allows a job. Each key of a rule is one line of [`Policy::broken`], in the order in which they are
//! tried.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use tacita_core::primitive::noise::PrivacyLoss;
use tacita_core::{Error, Result};
use toml::Spanned;

use super::columns::UsedColumns;
use super::{Policy, Rule, Words};
use crate::agreement::{JobSpec, Terms};
use crate::base::text::{names, shown};
use crate::govern::approval::Approval;
use crate::govern::time::Day;
use crate::identity::Fingerprint;

/// A job that a policy is asked about.
pub struct PolicyQuestion<'a> {
    /// Job that is to be run.
    pub job: &'a JobSpec,
    /// The party that runs it, whose policy it is.
    pub me: &'a str,
    /// Time of the question.
    pub now: Timestamp,
    /// Number of runs so far.
    pub history: &'a dyn History,
    /// Approvals that are there, with signatures that are right.
    pub approvals: &'a [Approval],
}

/// Runs of a party so far.
pub trait History {
    /// Returns the number of runs with a peer on a day (UTC) that came so far that something may have been revealed.
    fn runs_with(&self, peer: &Fingerprint, day: Day) -> u64;

    /// Returns the number of such runs that an approval was used for.
    fn runs_approved_by(&self, approval: &str) -> u64;

    /// Returns the privacy loss of such runs together: with a peer, or with all; on a day (UTC) and after it, or ever.
    fn loss(&self, peer: Option<&Fingerprint>, since: Option<Day>) -> PrivacyLoss;
}

/// The history of a party that has none.
pub struct NoHistory;

impl History for NoHistory {
    fn runs_with(&self, _: &Fingerprint, _: Day) -> u64 {
        0
    }

    fn runs_approved_by(&self, _: &str) -> u64 {
        0
    }

    fn loss(&self, _: Option<&Fingerprint>, _: Option<Day>) -> PrivacyLoss {
        PrivacyLoss::default()
    }
}

/// Permission for one run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Allowed {
    /// The rule, for people: file and line.
    pub rule: String,
    /// Ids of the approvals that the run uses.
    pub approvals: Vec<String>,
}

/// A key of a rule that a job does not keep to: how many keys it has kept to before, the line, and why.
struct Broken {
    kept: usize,
    line: usize,
    why: String,
}

impl Policy {
    /// Returns the rule that allows the job.
    ///
    /// Errors ([`Error::Policy`]): none does; the text names the line of the rule that is nearest.
    pub fn allow(&self, question: &PolicyQuestion<'_>) -> Result<Allowed> {
        let mut nearest: Option<Broken> = None;
        for rule in &self.rules {
            match self.broken(rule, question) {
                Ok(approvals) => {
                    let rule = format!("{}, line {}", self.path.display(), self.line(&rule.peers));
                    return Ok(Allowed { rule, approvals });
                }
                Err(broken) if nearest.as_ref().is_none_or(|other| broken.kept > other.kept) => nearest = Some(broken),
                Err(_) => {}
            }
        }
        let path = self.path.display();
        Err(Error::Policy(match nearest {
            Some(Broken { line, why, .. }) => format!("{path}, line {line}: refused by policy: {why}"),
            None => format!("{path}, line 1: refused by policy: it has no [[allow]], which would name a peer"),
        }))
    }

    /// Tries one rule; returns the approvals that it takes.
    fn broken(&self, rule: &Rule, question: &PolicyQuestion<'_>) -> std::result::Result<Vec<String>, Broken> {
        let PolicyQuestion { job, me, now, .. } = question;
        let terms = Terms::of(job);
        let limit = |name: &str| {
            let limits = &terms.json()["limits"];
            limits[name].as_u64().or_else(|| terms.json()[name].as_u64())
        };
        let used = UsedColumns::of(job, me);
        let unnamed = used.unnamed.then_some("columns that the job does not name");
        let reveal = job.reveal.to_string();
        let kind = reveal.split(':').next().unwrap_or_default();
        let learners = job.reveal_to.iter().map(|name| if name == me { "self" } else { "peers" });
        let (today, time) = (Day::of(*now), now.to_zoned(TimeZone::UTC).time());
        let mut tried = Tried { policy: self, kept: 0 };
        tried.key(&rule.peers, |listed| self.unlisted(listed, job, me))?;
        tried.one_of(&rule.jobs, "jobs", [job.job.name()])?;
        tried.key_if(&rule.reveal, |listed| {
            let has = listed.iter().any(|word| *word == reveal || word == kind);
            (!has).then(|| format!("reveal: the job reveals \"{}\"", shown(&reveal)))
        })?;
        tried.one_of(&rule.reveal_to, "reveal_to", learners)?;
        tried.one_of(&rule.protocols, "protocols", [job.protocol.name()])?;
        tried.one_of(&rule.security, "security", [job.security.name()])?;
        tried.one_of(&rule.levels, "levels", [job.level.name()])?;
        tried.one_of(&rule.keys, "keys", used.keys.iter().map(String::as_str))?;
        tried.one_of(&rule.gives, "gives", used.gives.iter().map(String::as_str))?;
        tried.one_of(&rule.computes, "computes", used.computes.iter().map(String::as_str).chain(unnamed))?;
        for (least, name) in
            [(&rule.min_rows, "min_rows"), (&rule.min_result, "min_result"), (&rule.min_cell, "min_cell")]
        {
            tried.key_if(least, |least| {
                let has = limit(name);
                has.is_none_or(|has| has < *least).then(|| {
                    let has = has.map_or("none".to_owned(), |has| has.to_string());
                    format!("{name}: limits.{name} of the job is {has}, and at least {least} is asked for")
                })
            })?;
        }
        tried.key_if(&rule.padded, |padded| {
            let missing = *padded && job.limits.pad_to.is_none();
            missing.then(|| "padded: the job has no limits.pad_to".to_owned())
        })?;
        tried.key_if(&rule.hours, |hours| {
            (!hours.contain(time)).then(|| format!("hours: it is {} UTC", time.strftime("%H:%M")))
        })?;
        tried.key_if(&rule.until, |last| (today > *last).then(|| format!("until: it is {today}")))?;
        tried.key_if(&rule.runs_per_day, |most| {
            let peers = job.others(me).into_iter().filter_map(|name| Some((name, job.party(name).ok()?.identity?)));
            let mut spent = peers.filter(|(_, pin)| question.history.runs_with(pin, today) >= *most);
            spent.next().map(|(name, _)| format!("runs_per_day: {} had {most} runs today (UTC)", shown(name)))
        })?;
        tried.key_if(&rule.epsilon, |bound| rule.overspent_with_a_peer(bound, question))?;
        tried.key_if(&rule.epsilon_in_all, |bound| rule.overspent_in_all(bound, question))?;
        let mut used = Vec::new();
        tried.key_if(&rule.approve, |needed| {
            let approvers = rule.approvers.as_ref().map_or(&[][..], |listed| listed.get_ref());
            used = question.approved_by(approvers);
            used.truncate(*needed as usize);
            ((used.len() as u64) < *needed).then(|| {
                format!(
                    "approve: of {needed} approvals {} are there that hold for this job: `tacita approve` makes one, for the \
                     directory `approvals` of the identity",
                    used.len()
                )
            })
        })?;
        Ok(used)
    }

    /// Returns why not all peers, and the helper, are listed. In a job that is not run between its parties, those who
    /// learn count; whom else it serves, its own list says. In a job that is not run between its parties, those who
    /// learn count; who may ask or take part without being named, its own list says.
    fn unlisted(&self, listed: &[String], job: &JobSpec, me: &str) -> Option<String> {
        let has = |pin: &Fingerprint| {
            listed.iter().any(|word| match self.groups.get(word) {
                Some(group) => group.contains(pin),
                None => word.parse::<Fingerprint>().is_ok_and(|listed| listed == *pin),
            })
        };
        let audience = job.reveal_to.iter().find(|name| job.party(name).is_err() && !listed.contains(name));
        if let Some(audience) = audience {
            return Some(format!("peers: the job reveals to \"{}\", which is not among them", shown(audience)));
        }
        let served = job.job.served().is_some() || job.clients.is_some();
        let counts = |name: &&str| !served || job.learns(name);
        let peers = job.others(me).into_iter().filter(counts);
        let peers = peers.map(|name| (name, job.party(name).ok().and_then(|party| party.identity)));
        let peers = peers.filter(|(_, pin)| job.clients.is_none() || pin.is_some());
        let helper = job.helper.iter().map(|helper| ("the helper", helper.identity));
        peers.chain(helper).find_map(|(name, pin)| match pin {
            Some(pin) if has(&pin) => None,
            Some(pin) => Some(format!("peers: {} ({pin}) is not among them", shown(name))),
            None => Some(format!("peers: the job does not say the identity of {}", shown(name))),
        })
    }
}

impl PolicyQuestion<'_> {
    /// Returns the ids of approvals that hold for this run, one for each of these keys at most.
    fn approved_by(&self, approvers: &[Fingerprint]) -> Vec<String> {
        let mut seen = Vec::new();
        let holds = self.approvals.iter().filter(|approval| {
            let known = approvers.contains(&approval.approver()) && !seen.contains(&approval.approver());
            let left = self.history.runs_approved_by(&approval.id()) < approval.runs();
            let holds = known && left && approval.covers(self.job, self.me, self.now);
            if holds {
                seen.push(approval.approver());
            }
            holds
        });
        holds.map(Approval::id).collect()
    }
}

/// Keys of a rule that were tried so far.
struct Tried<'a> {
    policy: &'a Policy,
    kept: usize,
}

impl Tried<'_> {
    fn key<T>(
        &mut self,
        key: &Spanned<T>,
        broken: impl FnOnce(&T) -> Option<String>,
    ) -> std::result::Result<(), Broken> {
        match broken(key.get_ref()) {
            Some(why) => Err(Broken { kept: self.kept, line: self.policy.line(key), why }),
            None => {
                self.kept += 1;
                Ok(())
            }
        }
    }

    fn key_if<T>(
        &mut self,
        key: &Option<Spanned<T>>,
        broken: impl FnOnce(&T) -> Option<String>,
    ) -> std::result::Result<(), Broken> {
        match key {
            Some(key) => self.key(key, broken),
            None => {
                self.kept += 1;
                Ok(())
            }
        }
    }

    /// Tries a list that has to have all of these words.
    fn one_of<'a>(
        &mut self,
        key: &Words,
        name: &str,
        words: impl IntoIterator<Item = &'a str>,
    ) -> std::result::Result<(), Broken> {
        self.key_if(key, |listed| {
            let has = |word: &&str| listed.iter().any(|listed| listed == word);
            let missing: Vec<_> = words.into_iter().filter(|word| !has(word)).map(shown).collect();
            let missing: Vec<_> = missing.iter().map(String::as_str).collect();
            (!missing.is_empty()).then(|| format!("{name}: the job has {}, which is not listed", names(&missing)))
        })
    }
}
