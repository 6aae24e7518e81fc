//! A job as an object: all that the rest of the program asks of one. Each room of `jobs` has one, which holds the keys
//! of the job file that are this job's own.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt::Debug;
use std::ops::Deref;

use serde_json::Value;
use tacita_core::primitive::noise::PrivacyLoss;
use tacita_core::{Error, Result};

use super::cost::{Calibration, Cost};
use super::{
    Capabilities, Choice, Chosen, Disclosure, ItemKind, JobSpec, KnownSizes, Network, PartyInput, PoolPlace, Protocol,
    Reveal, Sizes, Source, Topology,
};

/// Abilities that not every job has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// A table that is sorted on disk, and worked on there.
    Disk,
    /// A part that was prepared.
    Prepared,
    /// Encryptions from a pool.
    Pool,
    /// A page for readers.
    Page,
    /// Several inputs of one party.
    SeveralInputs,
    /// A second table, of keys to be tried.
    Candidates,
}

impl Ability {
    /// An error about the option that asks for it, in a job of this name that cannot.
    pub fn missing(self, job: &str) -> Error {
        Error::Input(match self {
            Ability::Disk => format!("--work: job = \"{job}\" keeps its tables in memory"),
            Ability::Prepared => format!("--work: job = \"{job}\" has no prepared part"),
            Ability::Pool => {
                "--pool is for job = \"dot\" with protocol = \"paillier\": leave it out, or agree on that protocol"
                    .into()
            }
            Ability::Page => format!("--html is for job = \"rules\" or \"crosstab\", and this is \"{job}\""),
            Ability::SeveralInputs => format!("job = \"{job}\" takes one table of each party"),
            Ability::Candidates => {
                "keys to be tried are for job = \"union\" with protocol = \"polynomial\", at the party that learns"
                    .into()
            }
        })
    }
}

/// Keys of job files that several jobs have, and not all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CommonKey {
    /// `gives`
    Gives,
    /// `[key]`
    Key,
    /// `scale`
    Scale,
    /// `parties.NAME.role` and `slice`
    Roles,
    /// `parties.NAME.items`
    Items,
    /// `limits.pad_to`
    PadTo,
    /// `alignment` and `limits.blur`
    Alignment,
    /// `limits.min_result`
    MinResult,
    /// `noise`
    Noise,
    /// `noise.unit`
    NoiseUnit,
    /// `limits.min_cell`
    MinCell,
    /// `limits.max_queries` and `limits.max_clients`
    Queries,
    /// `[helper]`
    Helper,
    /// `[clients]`, `limits.daily_queries` and `limits.rotate_within`
    Clients,
    /// `parties.NAME.show`
    Show,
}

/// A job that is not run between its parties: others serve, for as many as come.
#[derive(Debug, Clone, Copy)]
pub struct Served {
    /// Names of the serving roles; no party has one of these names.
    pub roles: &'static [&'static str],
    /// Names that `reveal_to` may contain besides parties.
    pub audience: &'static [&'static str],
    /// Commands available for the job, for messages.
    pub commands: &'static str,
    /// Privacy loss of what is protected, a report or a participant, in one round, where there is noise.
    pub round_loss: fn(&JobSpec) -> Result<Option<PrivacyLoss>>,
}

/// Question that `tacita init` asks the author of a job file about one of its keys.
#[derive(Debug, Clone, Copy)]
pub struct InitQuestion {
    /// The key, with dots where it is in a table.
    pub key: &'static str,
    /// Text of the question.
    pub asks: &'static str,
    /// The usual answer; an empty one leaves the key out. Without any, there has to be an answer.
    pub usual: Option<&'static str>,
    /// Kind of answer expected.
    pub answer: Answering,
    /// Meaning of the key, to be written beside it.
    pub means: &'static str,
}

/// Kind of answer to a [`InitQuestion`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answering {
    /// A word, or a number.
    Word,
    /// Columns of both tables, by the names that are agreed on.
    Columns,
    /// Profiles, one for each of the columns before.
    Profiles,
}

/// Properties common to all jobs of a kind.
#[derive(Debug)]
pub struct JobInfo {
    /// The word for it in job files.
    pub name: &'static str,
    /// The question in plain words.
    pub about: &'static str,
    /// Questions for the author of a job file about the job's own keys, and about the match keys.
    pub questions: &'static [InitQuestion],
    /// Default of `reveal` for job files that leave it out.
    pub usual_reveal: &'static Reveal,
    /// The fewest keys that a party may bring where the file does not say; 0 means any number.
    pub usual_min_rows: u64,
    /// Kinds of result that can be revealed: see [`Reveal::kind`].
    pub reveals: &'static [&'static str],
    /// Keys of the job file that only some jobs have, besides the job's own.
    pub keys: &'static [CommonKey],
    /// A key that the job has not, and what to use in its place.
    pub instead: Option<(CommonKey, &'static str)>,
    /// Items that the job counts, unless it aligns its rows by ids.
    pub items: ItemKind,
    /// Whether only the parties that learn pad what they bring to `limits.pad_to`; else all do.
    pub only_learners_pad: bool,
    /// Whether numbers get their noise in this job. If not, they have had it before.
    pub makes_noise: bool,
    /// The keys that name the columns of a party, for messages.
    pub columns_from: &'static str,
    /// Side outputs: for each, the part added to its file name, and its noun in messages.
    pub beside: &'static [(&'static str, &'static str)],
    /// Maximum number of parties if all are connected.
    pub most_parties: usize,
    /// Serving roles, in a job that is not run between its parties.
    pub served: Option<Served>,
}

impl JobInfo {
    /// Properties of most jobs, without those that every job states.
    pub const USUAL: JobInfo = JobInfo {
        name: "",
        about: "",
        questions: &[],
        usual_reveal: &Reveal::Rows,
        usual_min_rows: 0,
        reveals: &[],
        keys: &[],
        instead: None,
        items: ItemKind::Keys,
        only_learners_pad: false,
        makes_noise: true,
        columns_from: "key.columns or gives",
        beside: &[],
        most_parties: 2,
        served: None,
    };
}

impl dyn Job + '_ {
    /// The word for it in job files.
    pub fn name(&self) -> &'static str {
        self.info().name
    }

    /// Serving roles, in a job that is not run between its parties.
    pub fn served(&self) -> Option<Served> {
        self.info().served
    }

    /// Returns whether the job has this key, which only some jobs have, besides its own keys.
    pub fn has(&self, key: CommonKey) -> bool {
        self.info().keys.contains(&key)
    }

    /// Returns the kind of the items that the job counts.
    pub fn item_kind(&self) -> ItemKind {
        let ids = self.capabilities().aligned.and_then(|aligned| aligned.row_id());
        ids.map_or(self.info().items, |_| ItemKind::Keys)
    }

    /// Whether this party pads what it brings to `limits.pad_to`.
    pub fn pads(&self, spec: &JobSpec, party: &str) -> bool {
        !self.info().only_learners_pad || spec.learns(party)
    }

    /// The intersection of ids by which it aligns rows before: how they are read, whether their rows are shown or not.
    pub fn alignment(&self, spec: &JobSpec) -> Option<JobSpec> {
        self.capabilities().aligned?.alignment(spec)
    }
}

/// The question that a job asks, with its own keys. `spec` is the job that it is of.
pub trait Job: Any + Debug + Send + Sync {
    /// Returns the properties common to all jobs of this kind.
    fn info(&self) -> &'static JobInfo;

    /// Returns the topology: the pairs of parties that talk to each other.
    fn topology<'a>(&self, _spec: &'a JobSpec) -> Topology<'a> {
        Topology::Pair
    }

    /// The protocols that the job may name.
    fn protocols(&self, spec: &JobSpec) -> Vec<Protocol>;

    /// Returns the setting that those protocols depend on, if any, as it stands in the file; for messages.
    fn protocols_from(&self, _spec: &JobSpec) -> Option<String> {
        None
    }

    /// Returns points to consider before the job is run.
    fn warnings(&self, _spec: &JobSpec) -> Vec<String> {
        Vec::new()
    }

    /// Checks which parties there are, if roles determine it.
    fn check_parties(&self, _spec: &JobSpec) -> Result<()> {
        Ok(())
    }

    /// Checks that its keys, and those that all jobs have, go together; the error says which does not.
    fn check(&self, spec: &JobSpec) -> Result<()>;

    /// The columns of `party` that the job uses, by logical name, beside those of `gives` and `[key]`.
    fn columns(&self, _spec: &JobSpec, _party: &str) -> Vec<String> {
        Vec::new()
    }

    /// Returns the job's own keys for the terms, with defaults filled in.
    fn terms(&self, spec: &JobSpec) -> Vec<(&'static str, Value)>;

    /// Whether those who do not learn hear something that follows from what is learned.
    fn tells_all(&self, _spec: &JobSpec) -> bool {
        false
    }

    /// Whether columns that a party gives reach whoever learns, row by row.
    fn gives_rows(&self, spec: &JobSpec) -> bool {
        spec.reveal == Reveal::Payload
    }

    /// Returns the leak that defeats the job's purpose, if there is one. Such a job exists for comparisons only.
    fn leak(&self, _spec: &JobSpec) -> Option<String> {
        None
    }

    /// Whether it can do this with these terms; the error says why not.
    fn can(&self, _spec: &JobSpec, what: Ability) -> Result<()> {
        Err(what.missing(self.info().name))
    }

    /// Sizes of a party of which nothing is known but how much it brings, and perhaps the greatest length of the
    /// columns that it gives.
    fn assumed(&self, _spec: &JobSpec, _party: &str, items: u64, _row_bytes: Option<u64>) -> Result<Sizes> {
        Ok(Sizes { items, ..Sizes::default() })
    }

    /// Chooses the protocol that runs. All parties get the same for the same sizes and network; in a run the first
    /// party's choice holds.
    fn choose(&self, spec: &JobSpec, sizes: &BTreeMap<String, Sizes>, network: Network) -> Result<Choice>;

    /// Whether the terms allow the peer's choice: protocols that reveal what they say, with the security asked for.
    fn allows(&self, spec: &JobSpec, chosen: &Chosen) -> bool;

    /// Memory that a party needs for sizes as these, in bytes: its table aside, an estimate from above.
    ///
    /// Errors: so many rows are too many for the protocol, or for the memory that is to be used on disk.
    fn memory(&self, spec: &JobSpec, me: &str, chosen: &Chosen, sizes: &BTreeMap<String, Sizes>) -> Result<u64>;

    /// Returns the cost of the job, excluding the handshake.
    fn cost(
        &self,
        spec: &JobSpec,
        chosen: &Chosen,
        sizes: &BTreeMap<String, Sizes>,
        machine: &Calibration,
    ) -> Result<Cost>;

    /// Returns plain sentences on what `party` learns, given what is known.
    fn learned(&self, spec: &JobSpec, party: &str, known: KnownSizes<'_>) -> Vec<String>;

    /// Returns each thing that is learned, with the parties that learn it. No more than [`Job::learned`] says.
    fn at_a_glance(&self, _spec: &JobSpec) -> Vec<Disclosure> {
        Vec::new()
    }

    /// Reads a party's data. `pool` is where encryptions are taken from that were made in advance, in a job that can.
    fn load(&self, spec: &JobSpec, me: &str, source: &Source, pool: Option<&PoolPlace>) -> Result<Box<dyn PartyInput>>;

    /// Returns what the job can do that not every job can.
    fn capabilities(&self) -> Capabilities<'_> {
        Capabilities::default()
    }
}

/// A job together with its own keys.
#[derive(Debug)]
pub struct JobWith<'a, J> {
    /// Job that the keys belong to.
    pub spec: &'a JobSpec,
    /// Keys specific to this job.
    pub own: &'a J,
}

impl<J> Clone for JobWith<'_, J> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<J> Copy for JobWith<'_, J> {}

impl<J> Deref for JobWith<'_, J> {
    type Target = JobSpec;

    fn deref(&self) -> &JobSpec {
        self.spec
    }
}
