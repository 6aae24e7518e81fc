//! A job: what the parties agree on. The command line's flags build it too.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use tacita_core::{Error, Level, Result, Security};

use super::words::{maybe_from_word, maybe_seconds};
use super::{
    AlignWay, ItemKind, ItemsFrom, Job, MatchKey, NoiseSpec, Profiles, Protocol, Quality, Reveal, RowShare, Show,
    SliceRole, Spread,
};
use crate::base::text::meant;
use crate::identity::Fingerprint;
use crate::table::read::FileKind;
use crate::table::{DecimalMark, Profile, ReadOptions};

/// A job as written in its file, with defaults filled in. `JobSpec::check` has passed for every one that
/// `JobSpec::load` returns.
///
/// ```
/// use tacita_node::agreement::{JobSpec, KnownSizes, Reveal};
///
/// let text = r#"
///     job       = "intersect"
///     id        = "accidents-2026-11"
///     reveal_to = ["hospital"]
///     key       = { columns = ["name", "dob"], normalize = ["name", "date"] }
///     parties   = { hospital = { address = "hospital.example:7400" }, insurer = {} }
/// "#;
/// let job = JobSpec::parse(text, false)?;
/// assert_eq!((job.job.name(), &job.reveal, job.parties.names()), ("intersect", &Reveal::Rows, vec!["hospital", "insurer"]));
/// let learned = job.learned("hospital", KnownSizes::default());
/// assert_eq!(learned[0], "hospital learns which of its own rows have a key that insurer has too.");
/// // Keys of other jobs, and terms that make no sense together, are refused with what to do.
/// let error = JobSpec::parse(&text.replace("reveal_to", "min_support = 2\nreveal_to"), false).unwrap_err();
/// assert!(error.to_string().contains("rules"), "{error}");
/// # tacita_core::Result::Ok(())
/// ```
#[derive(Debug, Clone)]
pub struct JobSpec {
    /// Question that the job asks, with the keys of the job file that are for this question alone.
    pub job: Arc<dyn Job>,
    /// The parties' name for this job.
    pub id: String,
    /// Protocol that answers the question.
    pub protocol: Protocol,
    /// Assumed behaviour of the other parties.
    pub security: Security,
    /// Level of computational security.
    pub level: Level,
    /// Result that the parties in `reveal_to` learn.
    pub reveal: Reveal,
    /// Parties that learn the result.
    pub reveal_to: Vec<String>,
    /// Columns that others may see, by the party that gives them.
    pub gives: BTreeMap<String, Vec<String>>,
    /// Key by which rows are matched.
    pub key: Option<MatchKey>,
    /// Way in which rows are aligned by `row_id`; absent: the usual one. See [`JobSpec::align_way`].
    pub alignment: Option<AlignWay>,
    /// Number of decimals that numbers have; see [`JobSpec::decimals`] and [`JobSpec::summed_decimals`].
    pub scale: Option<u32>,
    /// Noise that the numbers get that are revealed.
    pub noise: Option<NoiseSpec>,
    /// Bounds that the parties agree on.
    pub limits: Limits,
    /// Whether those who learn hear how many rows each party could not use.
    pub quality: Quality,
    /// Clients that may query a party that stands and answers; none in a job that is run. Not a part of the terms.
    pub clients: Option<Admitted>,
    /// Relay at which parties meet that can only dial out. Not a part of the terms.
    pub relay: Option<Member>,
    /// Helper, in protocols through a helper. Its address is no part of the terms.
    pub helper: Option<Member>,
    /// The parties, in the order of the file: a later one dials earlier ones, the first resolves `auto`.
    pub parties: Parties,
    /// Kind of run, if the job is spread over many machines; absent in job files.
    pub spread: Option<Spread>,
}

/// `[limits]`: bounds that the parties agree on.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// A party that has more rows is refused.
    pub max_rows: Option<u64>,
    /// Sizes are padded to this bound and not revealed.
    pub pad_to: Option<u64>,
    /// A party that has fewer keys is refused; in `rules`, fewer rows in common end the run, too. See
    /// [`JobSpec::least_rows`].
    pub min_rows: Option<u64>,
    /// A party ends the run if more of its rows are without a key.
    pub max_null: Option<RowShare>,
    /// A party ends the run if more of its rows have a key that cannot be read.
    pub max_unreadable: Option<RowShare>,
    /// Maximum length of a given text, in bytes: all are padded to it.
    pub max_text: Option<u64>,
    /// Dummies in each of two pools that blur the number of common rows, where these are hidden.
    pub blur: Option<u64>,
    /// Numbers below this are reported as below it.
    pub min_result: Option<u64>,
    /// The least count of a cross table's cell that may be opened; 5 if nothing is said.
    pub min_cell: Option<u64>,
    /// Maximum number of keys that one client may query at a prepared sender, in all runs together; at a live list,
    /// over its lifetime.
    pub max_queries: Option<u64>,
    /// Maximum number of clients that may query a prepared sender or a live list.
    pub max_clients: Option<u64>,
    /// Maximum number of keys that one client may query at a live list on one day (UTC).
    pub daily_queries: Option<u64>,
    /// Period in seconds within which a live list rotates its key, again and again.
    #[serde(default, deserialize_with = "maybe_seconds")]
    pub rotate_within: Option<u64>,
}

/// `[clients]`: who may ask a party that stands and answers many.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Admitted {
    /// The file that lists them, a name and an identity on each line.
    pub allow: PathBuf,
}

/// `[relay]`, where parties meet that can only dial out, and `[helper]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Member {
    /// Listening address, as `host:port`.
    pub address: Option<String>,
    /// Fingerprint of its public key.
    pub identity: Option<Fingerprint>,
}

/// Statement of what a relay learns.
pub const RELAY_LEARNS: &str = "the relay learns who meets whom in this job, from which addresses, when, and how many bytes each sends; it cannot \
                            read or change what they say";

/// `[parties.X]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Party {
    /// Listening address for later parties, as `host:port`.
    pub address: Option<String>,
    /// Fingerprint of its public key.
    pub identity: Option<Fingerprint>,
    /// Header names of this party by logical name, where they differ.
    #[serde(default)]
    pub columns: BTreeMap<String, String>,
    /// Profiles of this party, where they differ.
    #[serde(default)]
    pub normalize: Option<Profiles>,
    /// `dot`: what it is where several have one side's rows; see [`JobSpec::clients`].
    #[serde(default, deserialize_with = "maybe_from_word")]
    pub role: Option<SliceRole>,
    /// `dot`: which of the slices it has that make up that side's rows, from 1 on.
    #[serde(default)]
    pub slice: Option<u64>,
    /// Number of lines above the header in the party's text file.
    #[serde(default)]
    pub skip: usize,
    /// Decimal mark of the party's numbers, between the whole part and the fraction, where they are text; a point by
    /// default.
    #[serde(default, deserialize_with = "maybe_from_word")]
    pub decimal: Option<DecimalMark>,
    /// Words that stand for no value in its key columns; the usual ones if nothing is said.
    #[serde(default)]
    pub nulls: Option<Vec<String>>,
    /// Whether its text file has a header; yes if nothing is said.
    #[serde(default)]
    pub header: Option<bool>,
    /// The name of the sheet, in a workbook; the first one that is not hidden if nothing is said.
    #[serde(default)]
    pub sheet: Option<String>,
    /// Format of the party's input, if its name does not tell; in `aggregate`, if its content does not.
    #[serde(default, deserialize_with = "maybe_from_word")]
    pub format: Option<FileKind>,
    /// Maximum number of addresses into which the networks of a list's input are expanded.
    #[serde(default)]
    pub expand: Option<u64>,
    /// `rules`: where its own items come from, if not from where the job says.
    #[serde(default)]
    pub items: Option<ItemsFrom>,
    /// `rules`: what its own output shows of what was found.
    #[serde(default)]
    pub show: Show,
}

/// The parties in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Parties(pub Vec<(String, Party)>);

impl JobSpec {
    /// Returns the options for reading a party's table: those of its user, and otherwise those of its own part of the
    /// job file.
    pub fn reading(&self, me: &str, options: ReadOptions) -> ReadOptions {
        let Some(party) = self.parties.get(me) else { return options };
        ReadOptions {
            kind: options.kind.or(party.format),
            expand: options.expand.or(party.expand),
            sheet: options.sheet.or_else(|| party.sheet.as_deref().map(Arc::from)),
            skip: if options.skip == 0 { party.skip } else { options.skip },
            no_header: options.no_header || party.header == Some(false),
            ..options
        }
    }

    /// A job with nothing but defaults, in which nobody learns.
    pub fn new(job: Arc<dyn Job>, id: &str, parties: Parties) -> JobSpec {
        JobSpec {
            id: id.into(),
            protocol: Protocol::AUTO,
            security: Security::SemiHonest,
            level: Level::Bits128,
            reveal: job.info().usual_reveal.clone(),
            job,
            reveal_to: Vec::new(),
            gives: BTreeMap::new(),
            key: None,
            alignment: None,
            scale: None,
            noise: None,
            limits: Limits::default(),
            quality: Quality::default(),
            clients: None,
            relay: None,
            helper: None,
            parties,
            spread: None,
        }
    }

    /// The party called `name`, or an error that lists those there are.
    pub fn party(&self, name: &str) -> Result<&Party> {
        self.parties.get(name).ok_or_else(|| {
            let names = self.parties.names();
            let meant = meant(name, names.iter().copied());
            Error::Input(format!("no party is called \"{name}\"{meant}: the job has {}", names.join(", ")))
        })
    }

    /// The one other party of a job for two.
    pub fn peer_of(&self, name: &str) -> &str {
        self.parties.0.iter().map(|(party, _)| party.as_str()).find(|party| *party != name).unwrap_or_default()
    }

    /// The way in which rows are aligned by `row_id`, in a job that does. Between two parties it hides which are common
    /// unless the job says otherwise; no protocol does so among more.
    pub fn align_way(&self) -> AlignWay {
        let usual = if self.parties.0.len() > 2 { AlignWay::Rows } else { AlignWay::Hidden };
        self.alignment.unwrap_or(usual)
    }

    /// Returns the noun for the items that the job counts, for messages.
    pub fn item_noun(&self) -> &'static str {
        self.job.item_kind().noun()
    }

    /// Whether the parties' rows are matched by key, so that each may bring any number of them; else all bring as many.
    pub fn matches_keys(&self) -> bool {
        self.job.item_kind() == ItemKind::Keys
    }

    /// Returns the singular of [`JobSpec::item_noun`].
    pub fn thing(&self) -> &'static str {
        self.item_noun().trim_end_matches('s')
    }

    /// Whether `name` learns the result.
    pub fn learns(&self, name: &str) -> bool {
        self.reveal_to.iter().any(|learner| learner == name)
    }

    /// The party that learns first and, in two-party protocols, plays the receiver: of a sum the one whose numbers are
    /// not added.
    pub fn receiver(&self) -> &str {
        if let Some((giver, _)) = self.summed().filter(|_| self.sums_for_the_other()) {
            return self.peer_of(giver);
        }
        self.parties.names().into_iter().find(|name| self.learns(name)).unwrap_or_default()
    }

    /// The header under which party `name` keeps the logical column `column`.
    pub fn header<'a>(&'a self, name: &str, column: &'a str) -> &'a str {
        self.parties.get(name).and_then(|party| party.columns.get(column)).map_or(column, String::as_str)
    }

    /// The profiles with which party `name` reads its key columns.
    pub fn profiles(&self, name: &str) -> Vec<Profile> {
        let Some(key) = &self.key else { return Vec::new() };
        let own = self.parties.get(name).and_then(|party| party.normalize.as_ref());
        own.map_or_else(|| key.profiles(), |own| own.of(&key.columns, &key.profiles()))
    }

    /// The decimal mark of a party's numbers.
    pub fn mark(&self, name: &str) -> DecimalMark {
        self.parties.get(name).and_then(|party| party.decimal).unwrap_or_default()
    }

    /// Returns the number of decimals in columns that are multiplied. Each number is an integer over 10 to this power,
    /// and a product one over 10 to twice that.
    pub fn decimals(&self) -> u32 {
        self.scale.unwrap_or(0)
    }

    /// The columns that `name` gives to others, by logical name.
    pub fn given_by(&self, name: &str) -> &[String] {
        self.gives.get(name).map_or(&[], Vec::as_slice)
    }
}

impl Parties {
    /// The party called `name`.
    pub fn get(&self, name: &str) -> Option<&Party> {
        self.0.iter().find(|(party, _)| party == name).map(|(_, party)| party)
    }

    /// Likewise, to change it.
    pub fn get_mut(&mut self, name: &str) -> Option<&mut Party> {
        self.0.iter_mut().find(|(party, _)| party == name).map(|(_, party)| party)
    }

    /// Returns the names of all parties, in order.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Returns the position of a party of the job in the order of parties.
    pub fn place(&self, name: &str) -> Result<usize> {
        self.position(name).ok_or_else(|| Error::Internal(format!("no party {name}")))
    }

    /// Returns the position of `name` in the order of parties, if it is one.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(party, _)| party == name)
    }
}

impl<'de> Deserialize<'de> for Parties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Parties;

            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a table of parties, as in [parties.hospital]")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Parties, A::Error> {
                let mut parties = Vec::new();
                while let Some((name, party)) = map.next_entry::<String, Party>()? {
                    if parties.iter().any(|(known, _)| *known == name) {
                        return Err(A::Error::custom(format!("party \"{name}\" is defined twice")));
                    }
                    parties.push((name, party));
                }
                Ok(Parties(parties))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}
