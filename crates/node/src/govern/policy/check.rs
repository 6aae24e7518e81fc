//! Whether a policy allows a job. Each key of a rule is one line of [`Policy::broken`], in the order in which they are
//! tried.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::{Deserialize, Serialize};
use tacita_core::primitive::noise::PrivacyLoss;
use tacita_core::{Error, Result};
use toml::Spanned;

use super::answers::{Answers, informed};
use super::{CLIENTS, Policy, Rule, Words};
use crate::agreement::{AlignWay, JobSpec, Terms};
use crate::base::text::{counted, names, shown};
use crate::govern::approval::Approval;
use crate::govern::columns::UsedColumns;
use crate::govern::time::Day;
use crate::identity::Fingerprint;
use crate::jobs::aggregate::Aggregate;

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
    /// Exact answers so far about nearly the same rows.
    pub answers: &'a dyn Answers,
}

/// Runs of a party so far.
pub trait History {
    /// Returns the number of runs with a peer on a day (UTC) that came so far that something may have been revealed.
    fn runs_with(&self, peer: &Fingerprint, day: Day) -> u64;

    /// Returns the number of runs with a peer on a day (UTC) that this party has refused.
    fn refusals_of(&self, peer: &Fingerprint, day: Day) -> u64;

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

    fn refusals_of(&self, _: &Fingerprint, _: Day) -> u64 {
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allowed {
    /// The rule, for people: file and line.
    pub rule: String,
    /// Ids of the approvals that the run uses.
    pub approvals: Vec<String>,
}

/// A key of a rule, tried on a job.
pub struct TriedKey {
    /// Number of keys that are tried before it, whether the rule has them or not.
    place: usize,
    /// Line of the file at which its value stands.
    pub line: usize,
    /// Reason why the rule does not allow the job, if it is this key.
    pub broken: Option<String>,
}

/// A rule, tried on a job.
pub struct TriedRule {
    /// Line of the file at which its peers stand, which name it.
    pub line: usize,
    /// The keys that it has, in the order in which they are tried.
    pub keys: Vec<TriedKey>,
    /// Whether it limits exact answers, of which this job would be one.
    pub counts_answers: bool,
    approvals: Vec<String>,
}

impl TriedRule {
    /// Returns the first key that the job does not keep to; none if the rule allows the job.
    pub fn refusal(&self) -> Option<&TriedKey> {
        self.keys.iter().find(|key| key.broken.is_some())
    }
}

impl Policy {
    /// Returns the rule that allows the job.
    ///
    /// Errors ([`Error::Policy`]): none does; the text names the line of the rule that is nearest.
    pub fn allow(&self, question: &PolicyQuestion<'_>) -> Result<Allowed> {
        let tried = self.explain(question);
        let path = self.path.display();
        if let Some(rule) = tried.iter().find(|rule| rule.refusal().is_none()) {
            return Ok(Allowed { rule: format!("{path}, line {}", rule.line), approvals: rule.approvals.clone() });
        }
        // Of two that are as near, the first.
        let nearest = tried.iter().filter_map(TriedRule::refusal).rev().max_by_key(|key| key.place);
        Err(Error::Policy(match nearest {
            Some(TriedKey { line, broken, .. }) => {
                format!("{path}, line {line}: refused by policy: {}", broken.as_deref().unwrap_or_default())
            }
            None => format!("{path}, line 1: refused by policy: it has no [[allow]], which would name a peer"),
        }))
    }

    /// Tries all rules, with all of their keys.
    pub fn explain(&self, question: &PolicyQuestion<'_>) -> Vec<TriedRule> {
        self.rules.iter().map(|rule| self.try_rule(rule, question)).collect()
    }

    fn try_rule(&self, rule: &Rule, question: &PolicyQuestion<'_>) -> TriedRule {
        let PolicyQuestion { job, me, now, .. } = question;
        let terms = Terms::of(job);
        let limit = |name: &str| {
            let limits = &terms.json()["limits"];
            limits[name].as_u64().or_else(|| terms.json()[name].as_u64())
        };
        let used = UsedColumns::of(job, me);
        let unnamed = used.unnamed.then_some("columns that the job does not name");
        let (reveal, by_headers) = (job.reveal.to_string(), by_headers(job, me));
        let kind = reveal.split(':').next().unwrap_or_default();
        let aligned = job.job.alignment(job).map(|_| job.align_way().name());
        let learners = job.reveal_to.iter().map(|name| if name == me { "self" } else { "peers" });
        let (today, time) = (Day::of(*now), now.to_zoned(TimeZone::UTC).time());
        let pins = || job.others(me).into_iter().filter_map(|name| Some((name, job.party(name).ok()?.identity?)));
        let mut tried = Tried { policy: self, place: 0, keys: Vec::new() };
        tried.key(&rule.peers, |listed| self.unlisted(listed, job, me));
        tried.one_of(&rule.jobs, "jobs", [job.job.name()]);
        tried.key_if(&rule.reveal, |listed| {
            let has = listed.iter().any(|word| *word == by_headers || word == kind);
            (!has).then(|| format!("reveal: the job reveals \"{}\"", shown(&by_headers)))
        });
        tried.one_of(&rule.reveal_to, "reveal_to", learners);
        tried.one_of(&rule.protocols, "protocols", [job.protocol.name()]);
        tried.one_of(&rule.security, "security", [job.security.name()]);
        tried.one_of(&rule.levels, "levels", [job.level.name()]);
        // Which rows are common is a result of its own.
        let limits_results = if rule.reveal.is_some() { &rule.reveal } else { &rule.reveal_to };
        let budget = if rule.epsilon.is_some() { &rule.epsilon } else { &rule.epsilon_in_all };
        match &rule.alignment {
            Some(_) => tried.one_of(&rule.alignment, "alignment", aligned),
            None if budget.is_some() => tried.key_if(budget, |_| {
                let way = aligned.filter(|_| !job.hides_rows())?;
                Some(format!(
                    "alignment: noise does not hide which or how many rows are common: limits.blur in the job hides it, and alignment = \
                     [\"{way}\"] in the rule would allow it"
                ))
            }),
            None => tried.key_if(limits_results, |_| {
                let shows = aligned == Some(AlignWay::Rows.name());
                let why = "alignment: the job shows which rows are common: alignment = [\"rows\"] in the rule would allow that";
                shows.then(|| why.to_owned())
            }),
        }
        tried.one_of(&rule.keys, "keys", used.keys.iter().map(String::as_str));
        tried.one_of(&rule.gives, "gives", used.gives.iter().map(String::as_str).chain(unnamed));
        tried.one_of(&rule.computes, "computes", used.computes.iter().map(String::as_str).chain(unnamed));
        for (least, name) in
            [(&rule.min_rows, "min_rows"), (&rule.min_result, "min_result"), (&rule.min_cell, "min_cell")]
        {
            tried.key_if(least, |least| {
                let has = limit(name);
                has.is_none_or(|has| has < *least).then(|| {
                    let has = has.map_or("none".to_owned(), |has| has.to_string());
                    format!("{name}: limits.{name} of the job is {has}, and at least {least} is asked for")
                })
            });
        }
        tried.key_if(&rule.padded, |padded| {
            let missing = *padded && job.limits.pad_to.is_none();
            missing.then(|| "padded: the job has no limits.pad_to".to_owned())
        });
        tried.key_if(&rule.hours, |hours| {
            (!hours.contain(time)).then(|| format!("hours: it is {} UTC", time.strftime("%H:%M")))
        });
        tried.key_if(&rule.until, |last| (today > *last).then(|| format!("until: it is {today}")));
        tried.key_if(&rule.runs_per_day, |most| {
            if job.clients.is_some() || job.job.served().is_some() {
                return Some(
                    "runs_per_day: whom the job serves is not counted here: its own limits say how often".into(),
                );
            }
            let mut spent = pins().filter(|(_, pin)| question.history.runs_with(pin, today) >= *most);
            spent.next().map(|(name, _)| format!("runs_per_day: {} had {most} runs today (UTC)", shown(name)))
        });
        tried.key_if(&rule.refusals_per_day, |most| {
            let mut refused = pins().filter(|(_, pin)| question.history.refusals_of(pin, today) >= *most);
            refused.next().map(|(name, _)| {
                format!("refusals_per_day: {} was refused {} today (UTC)", shown(name), counted(*most, "time"))
            })
        });
        tried.key_if(&rule.epsilon, |bound| rule.overspent_with_a_peer(bound, question));
        tried.key_if(&rule.epsilon_in_all, |bound| rule.overspent_in_all(bound, question));
        tried.key_if(&rule.min_difference, |_| None);
        tried.key_if(&rule.exact_answers, |limits| self.beyond(limits, rule, (job, me), question.answers));
        let mut approvals = Vec::new();
        tried.key_if(&rule.approve, |needed| {
            let approvers = rule.approvers.as_ref().map_or(&[][..], |listed| listed.get_ref());
            approvals = question.approved_by(approvers);
            approvals.truncate(*needed as usize);
            ((approvals.len() as u64) < *needed).then(|| {
                format!(
                    "approve: of {needed} approvals {} are there that hold for this job: `tacita approve` makes one, for the \
                     directory `approvals` of the identity",
                    approvals.len()
                )
            })
        });
        let counts_answers = rule.exact_answers.is_some() && !informed(job, me).is_empty();
        TriedRule { line: self.line(&rule.peers), keys: tried.keys, counts_answers, approvals }
    }

    /// Returns why not all peers, and the helper, are listed. In a job that is not run between its parties, those who
    /// learn and those who serve count; who else may take part, its own list says. The desks of a list are listed by
    /// one word.
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
        // Whoever serves a list does not learn, and a desk of it has no identity in the job.
        let serves_clients = job.clients.is_some() && !job.learns(me);
        if serves_clients && !listed.iter().any(|word| word == CLIENTS) {
            return Some(format!("peers: the job has [clients], and \"{CLIENTS}\" is not among them"));
        }
        let counts = |name: &&str| if serves_clients { false } else { job.job.served().is_none() || job.learns(name) };
        let peers = job.others(me).into_iter().filter(counts);
        let peers = peers.map(|name| (name, job.party(name).ok().and_then(|party| party.identity)));
        let helper = job.helper.iter().map(|helper| ("the helper", helper.identity));
        peers.chain(helper).chain(members(job)).find_map(|(name, pin)| match pin {
            Some(pin) if has(&pin) => None,
            Some(pin) => Some(format!("peers: {} ({pin}) is not among them", shown(name))),
            None => Some(format!("peers: the job does not say the identity of {}", shown(name))),
        })
    }
}

/// Returns the services of an aggregation, with their identities.
pub(super) fn members(job: &JobSpec) -> Vec<(&'static str, Option<Fingerprint>)> {
    let Ok(round) = Aggregate::of(job) else { return Vec::new() };
    let titles = ["the proxy", "the oracle", "the database"];
    let roles = job.job.served().map_or(&[][..], |served| served.roles).iter().zip(titles);
    let of_role = |(role, title): (&&str, &'static str)| {
        round.own.members(role).iter().map(move |member| (title, member.identity))
    };
    roles.flat_map(of_role).collect()
}

/// Returns the word for what a job reveals, with the own table's headers of columns that this party gives.
pub(super) fn by_headers(job: &JobSpec, me: &str) -> String {
    let reveal = job.reveal.to_string();
    let Some((word, _)) = reveal.split_once(':') else { return reveal };
    let columns = job.reveal.columns().iter();
    let columns: Vec<_> = columns
        .map(|name| if job.given_by(me).contains(name) { job.header(me, name) } else { name.as_str() })
        .collect();
    format!("{word}:{}", columns.join(","))
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
    place: usize,
    keys: Vec<TriedKey>,
}

impl Tried<'_> {
    fn key<T>(&mut self, key: &Spanned<T>, broken: impl FnOnce(&T) -> Option<String>) {
        let (place, line, broken) = (self.place, self.policy.line(key), broken(key.get_ref()));
        self.keys.push(TriedKey { place, line, broken });
        self.place += 1;
    }

    fn key_if<T>(&mut self, key: &Option<Spanned<T>>, broken: impl FnOnce(&T) -> Option<String>) {
        match key {
            Some(key) => self.key(key, broken),
            None => self.place += 1,
        }
    }

    /// Tries a list that has to have all of these words.
    fn one_of<'a>(&mut self, key: &Words, name: &str, words: impl IntoIterator<Item = &'a str>) {
        self.key_if(key, |listed| {
            let has = |word: &&str| listed.iter().any(|listed| listed == word);
            let missing: Vec<_> = words.into_iter().filter(|word| !has(word)).map(shown).collect();
            let missing: Vec<_> = missing.iter().map(String::as_str).collect();
            (!missing.is_empty()).then(|| format!("{name}: the job has {}, which is not listed", names(&missing)))
        });
    }
}
