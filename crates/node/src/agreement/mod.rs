//! The job file: what the parties agree on. [`JobSpec`] is the one configuration type; the command line's flags build
//! it too.

mod check;
mod chosen;
mod clients;
pub mod cost;
mod dot;
mod found;
pub mod handshake;
mod known;
mod part;
mod reveal;
mod rules;
mod shares;
mod sizes;
mod source;
mod terms;
mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};
use tacita_core::protocol::dot::Modulus;
use tacita_core::protocol::dot::ot::Extension;
use tacita_core::protocol::rules::association::Consequents;
use tacita_core::{Error, Level, Result, Security};

use crate::base::text::shown;
use crate::identity::Fingerprint;
use crate::table::Profile;

pub use chosen::{Choice, Chosen, FAR_BANDWIDTH, NEAR_BANDWIDTH, Network};
pub use clients::{Clients, Role};
pub use dot::{ColumnNames, Names};
pub use found::{Answer, Deferred, Found, Page};
pub use known::Known;
pub use part::{Pair, Part, Peers, Run};
pub use reveal::Reveal;
pub use rules::{Basket, Bins, ItemsFrom, Star, USUAL_CONFIDENCE, Written};
pub use shares::{Operation, Threshold};
pub use sizes::{Kept, Sizes, Slices, Work};
pub use source::{OnDisk, PoolPlace, Source};
pub use terms::Terms;

/// Job files are read up to this size.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// A job as written in its file, with defaults filled in. [`JobSpec::check`] has passed for every one that
/// [`JobSpec::load`] returns.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JobSpec {
    /// Which question is asked.
    pub job: Job,
    /// The parties' name for this job.
    pub id: String,
    /// Which protocol answers it.
    #[serde(default)]
    pub protocol: Protocol,
    /// What the others are assumed to do.
    #[serde(default = "semi_honest", deserialize_with = "from_word")]
    pub security: Security,
    /// Computational security.
    #[serde(default = "bits128", deserialize_with = "from_word")]
    pub level: Level,
    /// What those in `reveal_to` learn.
    #[serde(default)]
    pub reveal: Reveal,
    /// Who learns.
    pub reveal_to: Vec<String>,
    /// Whose columns others may see.
    #[serde(default)]
    pub gives: BTreeMap<String, Vec<String>>,
    /// What a row is matched by.
    #[serde(default)]
    pub key: Option<Key>,
    /// Bounds that the parties agree on.
    #[serde(default)]
    pub limits: Limits,
    /// `dot`: which columns are multiplied; see [`JobSpec::columns_of`].
    #[serde(default)]
    pub column: Option<ColumnNames>,
    /// `dot` and `rules`: the columns by which rows are aligned; absent: by position.
    #[serde(default)]
    pub row_id: Option<Names>,
    /// `dot`: length of the integers that columns hold; see [`JobSpec::integers`].
    #[serde(default)]
    pub bits: Option<u32>,
    /// `dot`: whether there are negative ones.
    #[serde(default)]
    pub signed: Option<bool>,
    /// `dot`, and `intersect` for a sum: how many decimals the columns' numbers have; see [`JobSpec::decimals`] and
    /// [`JobSpec::summed_decimals`].
    #[serde(default)]
    pub scale: Option<u32>,
    /// `dot`: what shares add up modulo; see [`JobSpec::modulus`].
    #[serde(default, deserialize_with = "maybe_from_word")]
    pub modulus: Option<Modulus>,
    /// Scalar products by `ot`: how oblivious transfers are made; absent: chosen as the protocol is.
    #[serde(default, deserialize_with = "maybe_from_word")]
    pub extension: Option<Extension>,
    /// `dot` by `paillier`: rows of a column in one message; absent: see [`Params::new`].
    ///
    /// [`Params::new`]: tacita_core::protocol::dot::paillier::Params::new
    #[serde(default)]
    pub chunk: Option<u64>,
    /// Scalar products by `gm-bloom`: which part of a column's rows may be ones; see [`JobSpec::density`].
    #[serde(default)]
    pub density: Option<Written>,
    /// `shares`: what is done with them.
    #[serde(default)]
    pub operation: Option<Operation>,
    /// `rules`: how many rows make an itemset frequent; see [`JobSpec::support`].
    #[serde(default)]
    pub min_support: Option<Written>,
    /// `rules`: how sure a rule is at least; see [`JobSpec::confidence`].
    #[serde(default)]
    pub min_confidence: Option<Written>,
    /// `rules`: how many items an itemset has at most.
    #[serde(default)]
    pub max_len: Option<u64>,
    /// `rules`: how many items a rule may promise.
    #[serde(default, deserialize_with = "maybe_from_word")]
    pub consequents: Option<Consequents>,
    /// `rules`: where items come from; see [`JobSpec::items_of`].
    #[serde(default)]
    pub items: Option<ItemsFrom>,
    /// `rules`: whether only rules with items of both parties are wanted.
    #[serde(default)]
    pub mixed_only: Option<bool>,
    /// `rules`: the most candidates of one kind and length.
    #[serde(default)]
    pub max_candidates: Option<u64>,
    /// `rules`: the most rules.
    #[serde(default)]
    pub max_rules: Option<u64>,
    /// `rules`: how columns of numbers become items.
    #[serde(default)]
    pub bins: BTreeMap<String, Bins>,
    /// The parties, in the order of the file: a later one dials earlier ones, the first resolves `auto`.
    pub parties: Parties,
}

/// The question that a job asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Job {
    /// Which rows, or how many, have keys in common?
    Intersect,
    /// What is the scalar product of a column here and a column there?
    Dot,
    /// Which numbers are in these shares, or are they large?
    Shares,
    /// Which items stand in many baskets together, and what do they tell of each other?
    Rules,
}

/// The protocol that a job runs, as the file names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Protocol {
    /// The first party chooses by sizes and network.
    #[default]
    Auto,
    /// Diffie-Hellman: see `tacita_core::protocol::intersect::ecdh`.
    Ecdh,
    /// Vector oblivious linear evaluation: see `tacita_core::protocol::intersect::vole`.
    Vole,
    /// Oblivious Bloom intersection: see `tacita_core::protocol::intersect::bloom`.
    Bloom,
    /// Oblivious transfer: see `tacita_core::protocol::dot::ot`.
    Ot,
    /// Homomorphic encryption: see `tacita_core::protocol::dot::lattice`.
    Lattice,
    /// Paillier's encryption: see `tacita_core::protocol::dot::paillier`.
    Paillier,
    /// Goldwasser and Micali's encryption, and Bloom filters: see `tacita_core::protocol::dot::gm_bloom`.
    GmBloom,
    /// Nothing but sending shares: see `tacita_core::protocol::dot::reveal`.
    Open,
}

/// `[key]`: what a row is matched by.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// Logical column names; several make a composite key.
    pub columns: Vec<String>,
    /// One profile a column; all `none` if absent.
    #[serde(default)]
    pub normalize: Option<Vec<Profile>>,
    /// What happens to rows with equal keys.
    #[serde(default)]
    pub duplicates: Duplicates,
    /// What happens to rows without a key.
    #[serde(default)]
    pub nulls: Nulls,
}

pub use crate::table::{Duplicates, Nulls};

/// `[limits]`: bounds that the parties agree on.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// A party that has more rows is refused.
    pub max_rows: Option<u64>,
    /// Sizes are padded to this bound and not revealed.
    pub pad_to: Option<u64>,
    /// `rules`: with fewer rows in common, the run ends before anything is counted.
    pub min_rows: Option<u64>,
    /// Numbers below this are reported as below it.
    pub min_result: Option<u64>,
    /// How many keys one client may ask of a prepared sender, in all runs together.
    pub max_queries: Option<u64>,
    /// How many clients may ask a prepared sender.
    pub max_clients: Option<u64>,
}

/// `[parties.X]`
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Party {
    /// Where earlier parties listen, as `host:port`.
    pub address: Option<String>,
    /// Fingerprint of its public key.
    pub identity: Option<Fingerprint>,
    /// Its own header names, by logical name, where they differ.
    #[serde(default)]
    pub columns: BTreeMap<String, String>,
    /// Its own profiles, where they differ.
    #[serde(default)]
    pub normalize: Option<Vec<Profile>>,
    /// `dot`: what it is where several have one side's rows; see [`JobSpec::clients`].
    #[serde(default, deserialize_with = "maybe_from_word")]
    pub role: Option<Role>,
    /// `dot`: which of the slices it has that make up that side's rows, from 1 on.
    #[serde(default)]
    pub slice: Option<u64>,
    /// `rules`: where its own items come from, if not from where the job says.
    #[serde(default)]
    pub items: Option<ItemsFrom>,
}

/// The parties in the order of the file.
#[derive(Debug, Clone, Default)]
pub struct Parties(pub Vec<(String, Party)>);

impl JobSpec {
    /// A job with nothing but defaults, in which nobody learns.
    pub fn new(job: Job, id: &str, parties: Parties) -> JobSpec {
        JobSpec {
            job,
            id: id.into(),
            protocol: Protocol::Auto,
            security: semi_honest(),
            level: bits128(),
            reveal: job.usual_reveal(),
            reveal_to: Vec::new(),
            gives: BTreeMap::new(),
            key: None,
            limits: Limits::default(),
            column: None,
            row_id: None,
            bits: None,
            signed: None,
            scale: None,
            modulus: None,
            extension: None,
            chunk: None,
            density: None,
            operation: None,
            min_support: None,
            min_confidence: None,
            max_len: None,
            consequents: None,
            items: None,
            mixed_only: None,
            max_candidates: None,
            max_rules: None,
            bins: BTreeMap::new(),
            parties,
        }
    }

    /// Reads a job file: JSON if its name ends in `.json`, else TOML.
    pub fn load(path: &Path) -> Result<JobSpec> {
        let shown = path.display();
        let bad = |error: std::io::Error| Error::Input(format!("{shown}: cannot read the job file: {error}"));
        if std::fs::metadata(path).map_err(bad)?.len() > MAX_FILE_BYTES {
            return Err(Error::Input(format!("{shown}: too large for a job file; is it the data?")));
        }
        let text = std::fs::read_to_string(path).map_err(bad)?;
        let is_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        JobSpec::parse(&text, is_json).map_err(|error| match error {
            Error::Input(text) => Error::Input(format!("{shown}: {text}")),
            other => other,
        })
    }

    /// Reads a job from text, JSON or TOML.
    pub fn parse(text: &str, is_json: bool) -> Result<JobSpec> {
        // A JSON job in a file of another name is still one.
        let is_json = is_json || text.trim_start().starts_with('{');
        let (mut job, reveals): (JobSpec, bool) = if is_json {
            let root: serde_json::Value =
                serde_json::from_str(text).map_err(|error| Error::Input(in_our_words(&error.to_string())))?;
            check::known_job(root.get("job").and_then(|job| job.as_str()))?;
            let job = serde_json::from_str(text).map_err(|error| Error::Input(in_our_words(&error.to_string())))?;
            (job, root.get("reveal").is_some())
        } else {
            let root: toml::Table = toml::from_str(text).map_err(|error| toml_error(text, &error))?;
            check::known_job(root.get("job").and_then(|job| job.as_str()))?;
            (toml::from_str(text).map_err(|error| toml_error(text, &error))?, root.contains_key("reveal"))
        };
        if !reveals {
            job.reveal = job.job.usual_reveal();
        }
        rules::take_exact(&mut job, text, is_json);
        job.check()?;
        Ok(job)
    }

    /// The party called `name`, or an error that lists those there are.
    pub fn party(&self, name: &str) -> Result<&Party> {
        self.parties.get(name).ok_or_else(|| {
            Error::Input(format!("no party is called \"{name}\": the job has {}", self.parties.names().join(", ")))
        })
    }

    /// The one other party of a job for two.
    pub fn peer_of(&self, name: &str) -> &str {
        self.parties.0.iter().map(|(party, _)| party.as_str()).find(|party| *party != name).unwrap_or_default()
    }

    /// What the job counts, for messages.
    pub fn things(&self) -> &'static str {
        match self.job {
            Job::Dot | Job::Rules if self.row_id.is_none() => "rows",
            Job::Intersect | Job::Dot | Job::Rules => "keys",
            Job::Shares => "numbers",
        }
    }

    /// Whether `name` learns the result.
    pub fn learns(&self, name: &str) -> bool {
        self.reveal_to.iter().any(|learner| learner == name)
    }

    /// The party that learns first and, in two-party protocols, plays the receiver: of a sum the one whose numbers are not
    /// added.
    pub fn receiver(&self) -> &str {
        if let Some((giver, _)) = self.summed() {
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
        let own = self.parties.get(name).and_then(|party| party.normalize.clone());
        own.or_else(|| key.normalize.clone()).unwrap_or_else(|| vec![Profile::None; key.columns.len()])
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

    /// All names, in order.
    pub fn names(&self) -> Vec<&str> {
        self.0.iter().map(|(name, _)| name.as_str()).collect()
    }

    /// Where in the order `name` stands.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|(party, _)| party == name)
    }
}

impl Job {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Job::Intersect => "intersect",
            Job::Dot => "dot",
            Job::Shares => "shares",
            Job::Rules => "rules",
        }
    }

    /// What is revealed where the file does not say.
    pub fn usual_reveal(self) -> Reveal {
        match self {
            Job::Intersect => Reveal::Rows,
            Job::Dot | Job::Shares => Reveal::Value,
            Job::Rules => Reveal::Frequent,
        }
    }

    /// What can be revealed: see [`Reveal::kind`].
    pub fn reveals(self) -> &'static [&'static str] {
        match self {
            Job::Intersect => &["rows", "count", "sum:COLUMN", "payload"],
            Job::Dot => &["value", "shares"],
            Job::Shares => &["value"],
            Job::Rules => &["frequent", "counts"],
        }
    }

    /// The protocols that answer it.
    pub fn protocols(self) -> &'static [Protocol] {
        match self {
            Job::Intersect => &[Protocol::Vole, Protocol::Ecdh, Protocol::Bloom],
            Job::Dot | Job::Rules => &[Protocol::Ot, Protocol::Lattice, Protocol::Paillier, Protocol::GmBloom],
            Job::Shares => &[Protocol::Open],
        }
    }
}

impl Protocol {
    /// The word for it in job files.
    pub fn name(self) -> &'static str {
        match self {
            Protocol::Auto => "auto",
            Protocol::Ecdh => "ecdh",
            Protocol::Vole => "vole",
            Protocol::Bloom => "bloom",
            Protocol::Ot => "ot",
            Protocol::Lattice => "lattice",
            Protocol::Paillier => "paillier",
            Protocol::GmBloom => "gm-bloom",
            Protocol::Open => "open",
        }
    }

    /// Whether it is there as a paper has it, for who names it, and costs more than others that do the same.
    pub fn is_published(self) -> bool {
        matches!(self, Protocol::Paillier | Protocol::GmBloom)
    }
}

/// Words of job files that this version knows and does not have.
fn later<T>(key: &str, word: &str, instead: &str) -> Result<T> {
    let version = env!("CARGO_PKG_VERSION");
    Err(Error::Input(format!("{key} = \"{word}\" is not in this version ({version}): use {instead}")))
}

fn unknown<T>(key: &str, word: &str, instead: &str) -> Result<T> {
    Err(Error::Input(format!("{key} = \"{}\" is unknown: use {instead}", shown(word))))
}

impl FromStr for Protocol {
    type Err = Error;

    fn from_str(word: &str) -> Result<Protocol> {
        let all = [
            Protocol::Auto,
            Protocol::Vole,
            Protocol::Ecdh,
            Protocol::Bloom,
            Protocol::Ot,
            Protocol::Lattice,
            Protocol::Paillier,
            Protocol::GmBloom,
            Protocol::Open,
        ];
        let instead = "\"auto\", \"vole\", \"ecdh\" or \"bloom\" (intersect), \"ot\", \"lattice\", \"paillier\" or \"gm-bloom\" \
                       (dot, rules)";
        match all.into_iter().find(|protocol| protocol.name() == word) {
            Some(protocol) => Ok(protocol),
            None => match word {
                "polynomial" | "star" | "outsourced" | "outsourced-bloom" | "dh" | "naor-reingold" => {
                    later("protocol", word, instead)
                }
                _ => unknown("protocol", word, instead),
            },
        }
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
                        return Err(A::Error::custom(format!("party \"{name}\" is there twice")));
                    }
                    parties.push((name, party));
                }
                Ok(Parties(parties))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

fn semi_honest() -> Security {
    Security::SemiHonest
}

fn bits128() -> Level {
    Level::Bits128
}

/// Reads a value from the word that stands for it.
pub(crate) fn from_word<'de, D, T>(deserializer: D) -> std::result::Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = Error>,
{
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

/// As [`from_word`], for a key that may be absent.
fn maybe_from_word<'de, D, T>(deserializer: D) -> std::result::Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: FromStr<Err = Error>,
{
    from_word(deserializer).map(Some)
}

/// Tables and keys of job files that this version does not have.
const LATER: [&str; 2] = ["helper", "relay"];

/// A parser's message in the words of job files.
fn in_our_words(message: &str) -> String {
    if let Some(table) = LATER.iter().find(|table| message.starts_with(&format!("unknown field `{table}`"))) {
        return format!("`{table}` is for protocols that are not in this version ({})", env!("CARGO_PKG_VERSION"));
    }
    message.replace("unknown field", "unknown key").replace("missing field", "missing key")
}

/// A TOML error as one line: where, what.
fn toml_error(text: &str, error: &toml::de::Error) -> Error {
    let message = in_our_words(&error.message().lines().collect::<Vec<_>>().join("; "));
    match error.span() {
        Some(span) if span.start > 0 || span.end > 0 => {
            let before = &text[..span.start.min(text.len())];
            let line = before.matches('\n').count() + 1;
            let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
            Error::Input(format!("line {line}, column {column}: {message}"))
        }
        _ => Error::Input(message),
    }
}
