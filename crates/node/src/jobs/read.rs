//! Parser of job files: the keys that all jobs have, and those of a kind of job.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde::de::value::Error as NoValue;
use serde::de::{DeserializeOwned, Deserializer, Error as _, IgnoredAny, MapAccess, Visitor};
use serde::forward_to_deserialize_any;
use tacita_core::{Error, Level, Result, Security};

use super::check::foreign;
use super::{JOBS, Kind, ParseJob};
use crate::agreement::words::{either, from_word};
use crate::agreement::{
    Admitted, AlignWay, Job, JobSpec, Limits, MatchKey, Member, Names, NoiseSpec, Parties, Protocol, Quality, Reveal,
};
use crate::base::text::{meant, nearest, shown};
use crate::base::text_file::read_text;

/// Job files are read up to this size.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The keys that all jobs have, or several.
#[derive(Deserialize)]
struct Common {
    #[serde(rename = "job")]
    _job: IgnoredAny,
    id: String,
    #[serde(default = "auto", deserialize_with = "protocol")]
    protocol: Protocol,
    #[serde(default = "semi_honest", deserialize_with = "from_word")]
    security: Security,
    #[serde(default = "bits128", deserialize_with = "from_word")]
    level: Level,
    #[serde(default)]
    reveal: Option<Reveal>,
    #[serde(deserialize_with = "names")]
    reveal_to: Vec<String>,
    #[serde(default)]
    gives: BTreeMap<String, Vec<String>>,
    #[serde(default)]
    key: Option<MatchKey>,
    #[serde(default)]
    alignment: Option<AlignWay>,
    #[serde(default)]
    scale: Option<u32>,
    #[serde(default)]
    noise: Option<NoiseSpec>,
    #[serde(default)]
    limits: Limits,
    #[serde(default, deserialize_with = "from_word")]
    quality: Quality,
    #[serde(default)]
    clients: Option<Admitted>,
    #[serde(default)]
    relay: Option<Member>,
    #[serde(default)]
    helper: Option<Member>,
    #[serde(default)]
    parties: Option<Parties>,
}

/// Reads the keys that are a job's own.
pub(super) type Read = fn(&Text<'_>) -> Result<Arc<dyn Job>>;

/// The text of a job file.
pub(super) struct Text<'a> {
    text: &'a str,
    is_json: bool,
    /// Directory of the file.
    directory: &'a Path,
}

impl Text<'_> {
    /// Reads all of it as one value, whose errors say where.
    fn read<T: DeserializeOwned>(&self) -> Result<T> {
        if self.is_json {
            serde_json::from_str(self.text).map_err(|error| Error::Input(in_our_words(&error.to_string())))
        } else {
            toml::from_str(self.text).map_err(|error| toml_error(self.text, &error))
        }
    }
}

impl JobSpec {
    /// Reads a job file: JSON if its name ends in `.json`, else TOML.
    pub fn load(path: &Path) -> Result<JobSpec> {
        let shown = path.display();
        let bad = |error: std::io::Error| Error::Input(format!("{shown}: cannot read the job file: {error}"));
        if std::fs::metadata(path).map_err(bad)?.len() > MAX_FILE_BYTES {
            return Err(Error::Input(format!("{shown}: too large for a job file; is it the data?")));
        }
        let text = read_text(path).map_err(bad)?;
        let is_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
        // Beside the job file, wherever the command is run.
        let directory = path.parent().unwrap_or(Path::new(""));
        let mut job = JobSpec::parse_in(&text, is_json, directory).map_err(|error| match error {
            Error::Input(text) => Error::Input(format!("{shown}: {text}")),
            other => other,
        })?;
        if let Some(Admitted { allow }) = &mut job.clients {
            *allow = directory.join(&*allow);
        }
        Ok(job)
    }

    /// Reads a job from text, JSON or TOML.
    pub fn parse(text: &str, is_json: bool) -> Result<JobSpec> {
        JobSpec::parse_in(text, is_json, Path::new(""))
    }

    fn parse_in(text: &str, is_json: bool, directory: &Path) -> Result<JobSpec> {
        // A JSON job in a file of another name is still one.
        let text = Text { text, is_json: is_json || text.trim_start().starts_with('{'), directory };
        let kind = kind_of(&text)?;
        let keys: Keys = text.read()?;
        keys.check(kind)?;
        let own = (kind.read)(&text)?;
        let common: Common = text.read()?;
        let parties = match common.parties {
            Some(parties) => parties,
            None if own.served().is_some() => Parties::default(),
            None => return Err(Error::Input("missing key `parties`".into())),
        };
        let job = JobSpec {
            reveal: common.reveal.unwrap_or_else(|| own.info().usual_reveal.clone()),
            job: own,
            id: common.id,
            protocol: common.protocol,
            security: common.security,
            level: common.level,
            reveal_to: common.reveal_to,
            gives: common.gives,
            key: common.key,
            alignment: common.alignment,
            scale: common.scale,
            noise: common.noise,
            limits: common.limits,
            quality: common.quality,
            clients: common.clients,
            relay: common.relay,
            helper: common.helper,
            parties,
            spread: None,
        };
        job.check()?;
        Ok(job)
    }
}

/// Returns the kind of job that a file is for.
fn kind_of(text: &Text<'_>) -> Result<&'static Kind> {
    let word = if text.is_json {
        let root: serde_json::Value = text.read()?;
        root.get("job").and_then(|job| job.as_str()).map(str::to_owned)
    } else {
        let root: toml::Table = text.read()?;
        root.get("job").and_then(|job| job.as_str()).map(str::to_owned)
    };
    let Some(word) = word else {
        return Err(Error::Input("the key `job` is missing: begin with job = \"intersect\"".into()));
    };
    if let Some(kind) = JOBS.iter().find(|kind| kind.name == word) {
        return Ok(kind);
    }
    let names = JOBS.iter().map(|kind| kind.name);
    let meant = meant(&word, names.clone());
    Err(Error::Input(format!("job = \"{}\" is unknown{meant}: use {}", shown(&word), either(names))))
}

/// The first keys of a file that its job does not have.
#[derive(Default)]
struct Keys(Vec<String>);

impl Keys {
    /// Refuses keys of other jobs.
    fn check(&self, kind: &Kind) -> Result<()> {
        let of_others = self.0.iter().find(|key| !(kind.keys)().contains(&key.as_str()));
        let Some(key) = of_others else { return Ok(()) };
        let jobs: Vec<_> =
            JOBS.iter().filter(|kind| (kind.keys)().contains(&key.as_str())).map(|kind| kind.name).collect();
        Err(foreign(key, &jobs, kind.name))
    }
}

/// A key of a file, if some job has it.
struct KnownKey(String);

impl<'de> Deserialize<'de> for KnownKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<KnownKey, D::Error> {
        struct Name;
        impl Visitor<'_> for Name {
            type Value = KnownKey;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a key")
            }

            fn visit_str<E: serde::de::Error>(self, key: &str) -> std::result::Result<KnownKey, E> {
                let own = JOBS.iter().flat_map(|kind| (kind.keys)());
                let mut all: Vec<&str> = keys::<Common>().iter().chain(own).copied().collect();
                if all.contains(&key) {
                    return Ok(KnownKey(key.to_owned()));
                }
                all.sort_unstable();
                all.dedup();
                Err(E::custom(format!("unknown field `{key}`, expected one of `{}`", all.join("`, `"))))
            }
        }
        deserializer.deserialize_identifier(Name)
    }
}

impl<'de> Deserialize<'de> for Keys {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Keys, D::Error> {
        struct All;
        impl<'de> Visitor<'de> for All {
            type Value = Keys;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a job")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> std::result::Result<Keys, A::Error> {
                let mut found: Vec<String> = Vec::new();
                while let Some((KnownKey(key), IgnoredAny)) = map.next_entry()? {
                    if found.contains(&key) {
                        return Err(A::Error::custom(format!("duplicate field `{key}`")));
                    }
                    found.push(key);
                }
                found.retain(|key| !keys::<Common>().contains(&key.as_str()));
                Ok(Keys(found))
            }
        }
        deserializer.deserialize_map(All)
    }
}

/// Reads the keys that are a job's own.
pub(super) fn own<J: ParseJob>(text: &Text<'_>) -> Result<Arc<dyn Job>> {
    let mut own: J = text.read()?;
    own.take_exact(text.text, text.is_json);
    own.is_in(text.directory);
    Ok(Arc::new(own))
}

/// The names of the fields that a type is read from.
pub(super) fn keys<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Fields<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Fields<'_> {
        type Error = NoValue;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> std::result::Result<V::Value, NoValue> {
            Err(NoValue::custom("only names are wanted"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> std::result::Result<V::Value, NoValue> {
            *self.0 = fields;
            self.deserialize_any(visitor)
        }

        forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
            newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }

    let mut fields: &'static [&'static str] = &[];
    // Always an error: the fields are what it leaves behind.
    let _ = T::deserialize(Fields(&mut fields));
    fields
}

fn semi_honest() -> Security {
    Security::SemiHonest
}

fn auto() -> Protocol {
    Protocol::AUTO
}

fn names<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<String>, D::Error> {
    Names::deserialize(deserializer).map(|names| names.all().to_vec())
}

fn protocol<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Protocol, D::Error> {
    super::protocol(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

fn bits128() -> Level {
    Level::Bits128
}

/// A parser's message in the words of job files.
fn in_our_words(message: &str) -> String {
    if let Some(name) = message.strip_prefix("duplicate field ") {
        return twice(name);
    }
    let message = message.replace("unknown field", "unknown key").replace("missing field", "missing key");
    with_nearest(&message).unwrap_or(message)
}

/// Replaces the list of all known keys, in an error on an unknown key, by the one that was meant, if one is near.
fn with_nearest(message: &str) -> Option<String> {
    let (word, known) = message.strip_prefix("unknown key `")?.split_once("`, expected ")?;
    let (known, place) = known.split_once(" at line ").map_or((known, None), |(known, place)| (known, Some(place)));
    let meant = nearest(word, known.split('`').skip(1).step_by(2))?;
    let place = place.map_or_else(String::new, |place| format!(", at line {place}"));
    Some(format!("unknown key `{}`: did you mean `{meant}`?{place}", shown(word)))
}

/// A key, in its quotes, that is there more than once.
fn twice(name: &str) -> String {
    format!("the key {name} is given twice: leave one out")
}

/// A TOML error as one line: where, what.
pub(crate) fn toml_error(text: &str, error: &toml::de::Error) -> Error {
    // The parser of TOML says of such a key no more than where it is.
    let again = error.span().filter(|_| error.message() == "duplicate key").and_then(|span| text.get(span));
    let message = again.map(|name| twice(&format!("`{}`", shown(name.trim_matches(['"', '\''])))));
    let message = message.unwrap_or_else(|| in_our_words(&error.message().lines().collect::<Vec<_>>().join("; ")));
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
