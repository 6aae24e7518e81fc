//! Settings of an `aggregate` job, with defaults filled in.

use std::any::Any;
use std::path::PathBuf;
use std::str::FromStr;

use serde::Deserialize;
use tacita_core::protocol::rules::support::Fraction;
use tacita_core::{Error, Result};

use super::{Domain, Moment, Predicate};
use crate::agreement::words::{maybe_from_word, unknown};
use crate::agreement::{JobSpec, JobWith, Member, Protocol, Reveal, WrittenNumber};
use crate::identity::Fingerprint;

/// One message from each participant, no answer: the default.
pub const DH: Protocol = Protocol::named("dh");

/// The published protocol, with an oblivious pseudo-random function.
pub const NAOR_REINGOLD: Protocol = Protocol::named("naor-reingold");

/// The word in `reveal_to` for all who may report.
pub const PARTICIPANTS: &str = "participants";

/// The words for the roles that serve; no participant has one of these names.
pub const ROLES: [&str; 3] = ["proxy", "oracle", "database"];

/// Bytes of a key where the job does not say; also of a hashed key, and of an address.
pub const KEY_BYTES: usize = 16;

/// The longest keys, in bytes.
pub const MAX_KEY_BYTES: usize = 256;

/// Distinct participants of a shuffle where the job does not say: fewer are no shuffle.
const MIN_PARTICIPANTS: u32 = 2;

/// Reports of one participant in a round, at each proxy, where the job does not say.
const UNSAID_REPORTS: u64 = 1 << 24;

/// Job that asks: which keys do many have?
#[derive(Debug, Clone, Deserialize)]
pub struct Aggregate {
    /// Settings of a round.
    pub round: RoundSpec,
    /// Participants that may report.
    #[serde(default)]
    pub participants: Participants,
    /// Proxies to which participants send their reports.
    #[serde(default)]
    pub proxy: Vec<Member>,
    /// Oracles that decrypt keys of rows that pass, in the proxy's domain.
    #[serde(default)]
    pub oracle: Vec<Member>,
    /// Databases that hold the rows and give results.
    #[serde(default)]
    pub database: Vec<Member>,
}

/// An `aggregate` job with its own keys.
pub type AggregateJob<'a> = JobWith<'a, Aggregate>;

/// `[participants]`: who may report, beside those who have an identity in `[parties]`. Not a part of the terms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Participants {
    /// The authority that has signed their certificates.
    pub ca: Option<Fingerprint>,
    /// The file that lists them, a name and an identity on each line.
    pub allow: Option<PathBuf>,
}

/// `[round]`: what is reported, and when a key is revealed.
#[derive(Debug, Clone, Deserialize)]
#[serde(try_from = "WrittenRound")]
pub struct RoundSpec {
    /// Condition for revealing a row's key.
    pub reveal_when: Predicate,
    /// The values that reports carry.
    pub values: Domain,
    /// Bytes of a key, from above.
    pub key_bytes: usize,
    /// Form in which keys travel.
    pub keys: KeyForm,
    /// The logical name of the column with values, where reports carry some.
    pub value: Option<String>,
    /// A shuffle holds reports of so many distinct participants at least.
    pub min_participants: u32,
    /// And at most this part of them from one.
    pub max_share: Fraction,
    /// Number of reports that are shuffled at once; absent: all of the round, at its close.
    pub batch_size: Option<u64>,
    /// Closing time of the round; absent: when the database's operator says so.
    pub close_at: Option<Moment>,
    /// Whether that operator may raise thresholds before the reveal.
    pub tighten: bool,
    /// The most reports of one participant.
    pub max_reports: Option<u64>,
}

/// Form in which keys travel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum KeyForm {
    /// Keys as they are: those who get results can read them.
    #[default]
    Embedded,
    /// Hashes of keys: anyone who knows a key can recognise its hash.
    Hashed,
}

/// Parts of rows that pass which are revealed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Revealed {
    /// Whether values are revealed besides keys.
    pub values: bool,
    /// Whether the number of rows with each count is revealed, over all of the round.
    pub histogram: bool,
}

/// Recipients of results, as `reveal_to` names them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Audience<'a> {
    /// Every participant that may report.
    pub participants: bool,
    /// Operator of the database, as a recipient.
    pub database: bool,
    /// Named parties that get results.
    pub names: Vec<&'a str>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, expecting = "the table [round]")]
struct WrittenRound {
    reveal_when: String,
    #[serde(default)]
    values: Domain,
    key_bytes: Option<usize>,
    #[serde(default, deserialize_with = "maybe_from_word")]
    keys: Option<KeyForm>,
    value: Option<String>,
    min_participants: Option<u32>,
    max_share: Option<WrittenNumber>,
    batch_size: Option<u64>,
    close_at: Option<Moment>,
    tighten: Option<bool>,
    max_reports: Option<u64>,
}

impl TryFrom<WrittenRound> for RoundSpec {
    type Error = String;

    fn try_from(written: WrittenRound) -> std::result::Result<RoundSpec, String> {
        let reveal_when = Predicate::parse(&written.reveal_when, &written.values)
            .map_err(|error| format!("round.reveal_when, {error}"))?;
        let max_share = written.max_share.map_or(Ok(Fraction::ONE), |share| {
            let read = share.0.parse().ok().filter(|share| *share != Fraction::ZERO);
            read.ok_or_else(|| {
                "round.max_share: use a decimal above 0 and up to 1, as 0.5: the part of a shuffle that may come from one participant"
                    .to_owned()
            })
        })?;
        if written.value.is_some() && !written.values.has_values() {
            return Err("round.value names a column, but without round.values reports carry no values: add round.values, or leave \
                        round.value out"
                .to_owned());
        }
        let value = written.value.unwrap_or_else(|| "value".to_owned());
        let value = written.values.has_values().then_some(value);
        Ok(RoundSpec {
            reveal_when,
            values: written.values,
            key_bytes: written.key_bytes.unwrap_or(KEY_BYTES),
            keys: written.keys.unwrap_or_default(),
            value,
            min_participants: written.min_participants.unwrap_or(MIN_PARTICIPANTS),
            max_share,
            batch_size: written.batch_size,
            close_at: written.close_at,
            tighten: written.tighten.unwrap_or(false),
            max_reports: written.max_reports,
        })
    }
}

/// A job in which a key is revealed that three report.
impl Default for Aggregate {
    fn default() -> Aggregate {
        let round = RoundSpec {
            reveal_when: Predicate::usual(),
            values: Domain::Nothing,
            key_bytes: KEY_BYTES,
            keys: KeyForm::Embedded,
            value: None,
            min_participants: MIN_PARTICIPANTS,
            max_share: Fraction::ONE,
            batch_size: None,
            close_at: None,
            tighten: false,
            max_reports: None,
        };
        Aggregate { round, participants: Participants::default(), proxy: vec![], oracle: vec![], database: vec![] }
    }
}

impl RoundSpec {
    /// The most reports of one participant, at each proxy.
    pub fn quota(&self) -> u64 {
        self.max_reports.unwrap_or(UNSAID_REPORTS)
    }
}

impl KeyForm {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            KeyForm::Embedded => "embedded",
            KeyForm::Hashed => "hashed",
        }
    }
}

impl FromStr for KeyForm {
    type Err = Error;

    fn from_str(word: &str) -> Result<KeyForm> {
        let found = [KeyForm::Embedded, KeyForm::Hashed].into_iter().find(|form| form.name() == word);
        found.map_or_else(|| unknown("keys", word, "\"embedded\" or \"hashed\""), Ok)
    }
}

impl Aggregate {
    /// The `aggregate` job that `spec` is, with its own keys.
    ///
    /// Errors ([`Error::Input`]): it is another job.
    pub fn of(spec: &JobSpec) -> Result<AggregateJob<'_>> {
        let job: &dyn Any = &*spec.job;
        let own = job.downcast_ref::<Aggregate>().ok_or_else(|| {
            Error::Input(format!(
                "job = \"{}\" has no rounds: name a job file with job = \"aggregate\"",
                spec.job.name()
            ))
        })?;
        Ok(AggregateJob { spec, own })
    }

    /// The members that have a role, one of [`ROLES`].
    pub fn members(&self, role: &str) -> &[Member] {
        match role {
            "proxy" => &self.proxy,
            "oracle" => &self.oracle,
            "database" => &self.database,
            _ => &[],
        }
    }
}

impl<'a> AggregateJob<'a> {
    /// Returns the parts of rows that pass which are revealed.
    pub fn revealed(&self) -> Revealed {
        match self.reveal {
            Reveal::Keys { values, histogram } => Revealed { values, histogram },
            _ => Revealed::default(),
        }
    }

    /// Returns the recipients of results.
    pub fn audience(&self) -> Audience<'a> {
        let mut audience = Audience::default();
        for name in &self.spec.reveal_to {
            match name.as_str() {
                PARTICIPANTS => audience.participants = true,
                "database" => audience.database = true,
                name => audience.names.push(name),
            }
        }
        audience
    }

    /// Whether whoever has this name gets results. `participant` says whether it may report.
    pub fn gets_results(&self, name: &str, participant: bool) -> bool {
        let audience = self.audience();
        (audience.participants && participant) || audience.names.contains(&name)
    }

    /// Returns the protocol to run: the default if the file leaves it open.
    pub fn chosen(&self) -> Protocol {
        if self.protocol.is_auto() { DH } else { self.protocol }
    }

    /// Whether the proxy tags reports, so that the database can tell reporters of a row apart.
    pub fn tags(&self) -> bool {
        self.own.round.reveal_when.uses_distinct()
    }

    /// The logical names of what a report is made of: the key's columns, and the one with values.
    pub fn columns(&self) -> Vec<&'a str> {
        let key = self.spec.key.iter().flat_map(|key| key.columns.iter().map(String::as_str));
        key.chain(self.own.round.value.as_deref()).collect()
    }

    /// Refuses so few participants that no key could ever be revealed, or nothing shuffled.
    pub fn check_participants(&self, number: u64) -> Result<()> {
        let round = &self.own.round;
        let least = round.reveal_when.least().distinct;
        if least > number {
            return Err(Error::Input(format!(
                "round.reveal_when: no key is reported by {least} of {number} participants: lower the threshold, or let more take part"
            )));
        }
        // Each has at most its share, so that there are so many at least.
        let needed = u64::from(round.min_participants).max(round.max_share.least_parts());
        if needed > number {
            return Err(Error::Input(format!(
                "round.min_participants and max_share: a shuffle needs reports of {needed} participants, and there are {number}: \
                 lower them, or no shuffle is ever sent"
            )));
        }
        Ok(())
    }
}
