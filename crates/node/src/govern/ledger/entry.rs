//! Records that a ledger keeps of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use tacita_core::primitive::noise::PrivacyLoss;

use super::loss::ChargedLoss;
use crate::agreement::{JobSpec, Terms};
use crate::govern::columns::UsedColumns;
use crate::govern::difference::{EarlierAnswer, RowComparison, RowSketches};
use crate::govern::policy::{Allowed, History};
use crate::govern::receipt::Receipts;
use crate::govern::time::{Day, UtcTime};
use crate::identity::Fingerprint;

/// One record of the file. A run has up to three: when it begins, when the parties have agreed, and when it ends.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "record", rename_all = "kebab-case")]
pub(super) enum Record {
    Begun(Box<Begun>),
    Agreed {
        entry: u64,
        receipts: Receipts,
    },
    /// The rows were compared with those of earlier runs, and the run was allowed once more; or it was not, and has no
    /// sketches.
    Compared {
        entry: u64,
        comparison: RowComparison,
        sketches: Option<RowSketches>,
        allowed: Option<Allowed>,
    },
    /// Something was changed in a run that goes on: see [`Change`].
    Changed {
        entry: u64,
        change: Change,
    },
    Ended {
        entry: u64,
        ended: Box<Ended>,
    },
    /// The file ended in a part of a record, which a crash had left, and which was removed.
    Mended {
        bytes: u64,
    },
}

/// Outcome of a run that this party has refused.
pub(super) const REFUSED: &str = "refused";

/// Beginning of a run: everything that is known before anything is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Begun {
    /// Time of the beginning, in UTC.
    pub time: UtcTime,
    /// The kind of job.
    pub job: String,
    /// The parties' name for it.
    pub id: String,
    /// Fingerprint of the terms.
    pub agreement: String,
    /// The party that ran it.
    pub party: String,
    /// Identities of the other parties, and of the helper, by name.
    pub peers: BTreeMap<String, Option<String>>,
    /// Columns of the own table that the job uses, by its headers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// The terms themselves, as text.
    pub terms: Value,
    /// Version of this program.
    pub version: String,
    /// Privacy loss of the own rows, in a job with noise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<ChargedLoss>,
    /// The rule of the policy that allowed the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub policy: Option<String>,
    /// Ids of the approvals that it used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<String>,
}

/// Change of what a run serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Time at which it was ordered, in UTC.
    pub time: UtcTime,
    /// Kind of change in a word: `add`, `remove` or `rotate`.
    pub what: String,
    /// Number of rows that were given to be added or removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
}

/// End of a run.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Ended {
    /// Time of the end, in UTC.
    pub time: UtcTime,
    /// `done`, `refused`, or `failed`.
    pub outcome: String,
    /// Reason of a run that was refused or has failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Protocol that the run took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    /// Rows of the own table, as in the report.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub rows: Value,
    /// Keyed digests of the files that were read, in hexadecimal, under a key of this ledger.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<String>,
    /// Sentences that state what the party learned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub learned: Vec<String>,
    /// Result, if the policy says that it is kept.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub result: Value,
    /// Receipts of the end.
    #[serde(default, skip_serializing_if = "Receipts::is_empty")]
    pub receipts: Receipts,
}

/// A run in the ledger.
#[derive(Debug, Clone, Serialize)]
pub struct LedgerEntry {
    /// Number of the entry, from 1 on.
    pub entry: u64,
    /// Beginning of the run.
    #[serde(flatten)]
    pub begun: Begun,
    /// Receipts of the beginning, once the parties have agreed; nothing if they never did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agreed: Option<Receipts>,
    /// Comparison of its rows with those of earlier runs, if it tells others something exact about them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<RowComparison>,
    /// Sketches of its rows, which stay sealed.
    #[serde(skip)]
    sketches: Option<RowSketches>,
    /// Changes of the list that it served.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// End of the run; nothing if it is under way, or if its process ended before it.
    pub ended: Option<Ended>,
}

impl Begun {
    /// Begins the entry of a run.
    pub fn of(job: &JobSpec, me: &str, time: UtcTime) -> Begun {
        let terms = Terms::of(job);
        let pin = |pin: Option<Fingerprint>| pin.map(|pin| pin.to_string());
        let peers = job.others(me).into_iter();
        let peers = peers.map(|name| (name.to_owned(), job.party(name).ok().and_then(|party| pin(party.identity))));
        let helper = job.helper.iter().map(|helper| ("the helper".to_owned(), pin(helper.identity)));
        Begun {
            time,
            job: job.job.name().into(),
            id: job.id.clone(),
            agreement: terms.agreement(),
            party: me.into(),
            peers: peers.chain(helper).collect(),
            columns: UsedColumns::of(job, me).all().into_iter().collect(),
            terms: terms.json().clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            loss: job.privacy_loss(me).ok().flatten().map(ChargedLoss),
            policy: None,
            approvals: Vec::new(),
        }
    }
}

impl Begun {
    /// Notes what allowed the run.
    pub(super) fn permit(&mut self, Allowed { rule, approvals }: Allowed) {
        (self.policy, self.approvals) = (Some(rule).filter(|rule| !rule.is_empty()), approvals);
    }
}

impl LedgerEntry {
    /// Whether something may have been revealed by the run, or may be yet: the parties have agreed, or may be about to.
    fn may_reveal(&self) -> bool {
        self.agreed.is_some() || self.ended.is_none()
    }

    /// Returns what the run has told others about its rows, or may tell yet, if that was something exact.
    pub(super) fn answer(&self) -> Option<EarlierAnswer<'_>> {
        let (comparison, rows) = self.comparison.as_ref().zip(self.sketches.as_ref())?;
        let LedgerEntry { entry, begun: Begun { time, .. }, .. } = self;
        self.may_reveal().then_some(EarlierAnswer { entry: *entry, time: *time, told: &comparison.told, rows })
    }

    /// Returns the outcome in a word.
    pub fn outcome(&self) -> &str {
        self.ended.as_ref().map_or("unfinished", |ended| ended.outcome.as_str())
    }
}

/// Puts records together; the error names the one that cannot be.
pub(super) fn entries(records: &[Record]) -> Result<Vec<LedgerEntry>, usize> {
    let mut entries: Vec<LedgerEntry> = Vec::new();
    for (place, record) in records.iter().enumerate() {
        let known = |entry: u64| entry.checked_sub(1).and_then(|at| usize::try_from(at).ok());
        match record {
            Record::Begun(begun) => {
                let entry = entries.len() as u64 + 1;
                let begun = (**begun).clone();
                entries.push(LedgerEntry {
                    entry,
                    begun,
                    agreed: None,
                    comparison: None,
                    sketches: None,
                    changes: Vec::new(),
                    ended: None,
                });
            }
            Record::Agreed { entry, receipts } => {
                let entry = known(*entry).and_then(|at| entries.get_mut(at)).ok_or(place)?;
                entry.agreed = Some(receipts.clone());
            }
            Record::Compared { entry, comparison, sketches, allowed } => {
                let entry = known(*entry).and_then(|at| entries.get_mut(at)).ok_or(place)?;
                (entry.comparison, entry.sketches) = (Some(comparison.clone()), sketches.clone());
                allowed.iter().for_each(|allowed| entry.begun.permit(allowed.clone()));
            }
            Record::Changed { entry, change } => {
                let entry = known(*entry).and_then(|at| entries.get_mut(at)).ok_or(place)?;
                entry.changes.push(change.clone());
            }
            Record::Ended { entry, ended } => {
                let entry = known(*entry).and_then(|at| entries.get_mut(at)).ok_or(place)?;
                entry.ended = Some((**ended).clone());
            }
            Record::Mended { .. } => {}
        }
    }
    Ok(entries)
}

/// A clock that was put back begins no new day: runs of later days count, too.
impl History for Vec<LedgerEntry> {
    fn runs_with(&self, peer: &Fingerprint, day: Day) -> u64 {
        let peer = peer.to_string();
        let with = |entry: &&LedgerEntry| entry.begun.peers.values().any(|pin| pin.as_ref() == Some(&peer));
        let counted = self.iter().filter(with).filter(|entry| entry.may_reveal());
        counted.filter(|entry| entry.begun.time.day() >= day).count() as u64
    }

    fn refusals_of(&self, peer: &Fingerprint, day: Day) -> u64 {
        let peer = peer.to_string();
        let with = |entry: &&LedgerEntry| entry.begun.peers.values().any(|pin| pin.as_ref() == Some(&peer));
        let refused = self.iter().filter(with).filter(|entry| entry.outcome() == REFUSED);
        refused.filter(|entry| entry.begun.time.day() >= day).count() as u64
    }

    fn runs_approved_by(&self, approval: &str) -> u64 {
        let used = |entry: &&LedgerEntry| entry.begun.approvals.iter().any(|used| used == approval);
        self.iter().filter(used).filter(|entry| entry.may_reveal()).count() as u64
    }

    fn loss(&self, peer: Option<&Fingerprint>, since: Option<Day>) -> PrivacyLoss {
        let peer = peer.map(Fingerprint::to_string);
        let with = |entry: &&LedgerEntry| peer.is_none() || entry.begun.peers.values().any(|pin| *pin == peer);
        // A run that was not refused tells by its end alone whether a table could be read as it was agreed.
        let counted = self.iter().filter(with).filter(|entry| entry.outcome() != REFUSED);
        let counted = counted.filter(|entry| since.is_none_or(|since| entry.begun.time.day() >= since));
        let losses = counted.filter_map(|entry| entry.begun.loss);
        losses.fold(PrivacyLoss::default(), |sum, ChargedLoss(loss)| sum.and(loss))
    }
}

/// Entries besides that of a run which is asked about again. What was begun since was counted together with it; but it
/// may not take an approval that a later run has got meanwhile.
pub(super) struct OtherEntries {
    before: Vec<LedgerEntry>,
    since: Vec<LedgerEntry>,
}

impl OtherEntries {
    pub(super) fn of(entries: Vec<LedgerEntry>, own: u64) -> OtherEntries {
        let others = entries.into_iter().filter(|other| other.entry != own);
        let (before, since) = others.partition(|other| other.entry < own);
        OtherEntries { before, since }
    }
}

impl History for OtherEntries {
    fn runs_with(&self, peer: &Fingerprint, day: Day) -> u64 {
        self.before.runs_with(peer, day)
    }

    fn refusals_of(&self, peer: &Fingerprint, day: Day) -> u64 {
        self.before.refusals_of(peer, day)
    }

    fn runs_approved_by(&self, approval: &str) -> u64 {
        self.before.runs_approved_by(approval) + self.since.runs_approved_by(approval)
    }

    fn loss(&self, peer: Option<&Fingerprint>, since: Option<Day>) -> PrivacyLoss {
        self.before.loss(peer, since)
    }
}
