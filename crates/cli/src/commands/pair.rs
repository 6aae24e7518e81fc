//! What the commands for two parties without a job file share: one listens, the other connects, and each builds the same
//! job from its own side.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgAction, Args, ValueEnum};
use tacita_core::{Error, Result};

use super::arguments;
use super::run::{Common, Page, Stock};
use crate::console::Voice;
use tacita_node::agreement::{Ability, Job, JobSpec, Limits, Parties, Party, Profiles, Reveal};
use tacita_node::identity::{Fingerprint, Identity};
use tacita_node::jobs;
use tacita_node::run::meet::Meeting;
use tacita_node::transport::{Peer, Shape};

/// Options of every such command.
#[derive(Args)]
pub struct Pair {
    /// Listen on this address.
    #[arg(long, value_name = "ADDR", conflicts_with = "connect")]
    listen: Option<String>,
    /// Connect to this address.
    #[arg(long, value_name = "ADDR")]
    connect: Option<String>,
    /// The peer's fingerprint, from its `tacita identity show`.
    #[arg(long, value_name = "SHA256:...")]
    peer: Fingerprint,
    /// This party's table: CSV, Parquet or Arrow; - for CSV on standard input.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// How this party's key columns are normalised: one profile a column, or COLUMN=PROFILE,...; it may differ from the peer's.
    #[arg(long, value_name = "PROFILE,...", value_delimiter = ',')]
    pub normalize: Vec<String>,
    /// Words that stand for no value in this party's key columns, as NULL,unknown, in place of the usual ones.
    #[arg(long, value_name = "WORD,...", value_delimiter = ',', action = ArgAction::Set)]
    null_words: Option<Vec<String>>,
    /// Who learns the result. Both must say so, each from its own side [default: me; both where both have to].
    #[arg(long, value_enum)]
    receiver: Option<Receiver>,
    /// The protocol; auto chooses by sizes and network.
    #[arg(long, default_value = "auto")]
    protocol: String,
    /// What the other party is taken to do: semi-honest, and no other word in this job.
    #[arg(long, default_value = "semi-honest")]
    security: String,
    /// bits128; with protocol "paillier" also bits192 and bits256; with "paillier" or "gm-bloom" and --allow-insecure bits112 and
    /// paper80.
    #[arg(long, default_value = "bits128")]
    level: String,
    /// Refuse a peer with more keys or rows.
    #[arg(long, value_name = "N")]
    max_rows: Option<u64>,
    /// Pad both sets of keys to this size, so that sizes are not revealed.
    #[arg(long, value_name = "N")]
    pad_to: Option<u64>,
    /// Both parties' name for this job.
    #[arg(long, default_value = "adhoc")]
    id: String,
    /// This party's name [default: listener or dialer].
    #[arg(long)]
    name: Option<String>,
    /// The peer's name [default: dialer or listener].
    #[arg(long)]
    peer_name: Option<String>,
    #[command(flatten)]
    common: Common,
}

/// The option of commands whose answer can be a number.
#[derive(Args)]
pub struct Least {
    /// Report a number below this only as being below it.
    #[arg(long, value_name = "N")]
    pub min_result: Option<u64>,
}

/// Who learns.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Receiver {
    /// This party.
    Me,
    /// The other.
    Peer,
    /// Both.
    Both,
}

impl Pair {
    /// This party's and the peer's name.
    pub fn names(&self) -> Result<(String, String)> {
        if self.listen.is_none() && self.connect.is_none() {
            return Err(Error::Input("give --listen ADDR at one party, and --connect ADDR at the other".into()));
        }
        let (own_role, peer_role) = if self.listens() { ("listener", "dialer") } else { ("dialer", "listener") };
        let me = self.name.clone().unwrap_or_else(|| own_role.into());
        let peer = self.peer_name.clone().unwrap_or_else(|| peer_role.into());
        match me == peer {
            true => Err(Error::Input(format!("--name and --peer-name: both parties are called \"{me}\""))),
            false => Ok((me, peer)),
        }
    }

    fn listens(&self) -> bool {
        self.connect.is_none()
    }

    /// The part of the job that these options describe. `columns` are this party's own headers by logical
    /// name, `usual` are those who learn where the options do not say.
    pub fn job(&self, job: Arc<dyn Job>, usual: Receiver, columns: BTreeMap<String, String>) -> Result<JobSpec> {
        let (me, peer) = self.names()?;
        let identity = Identity::load(&self.common.identity)?.fingerprint();
        let normalize = Profiles::parse(&self.normalize)?;
        let nulls = self.null_words.as_deref().map(arguments::words);
        let decimal = self.common.decimal;
        let own = Party { identity: Some(identity), columns, normalize, nulls, decimal, ..Party::default() };
        let other = Party { identity: Some(self.peer), ..Party::default() };
        let mut parties = vec![(me.clone(), own), (peer.clone(), other)];
        if !self.listens() {
            parties.reverse();
        }
        Ok(JobSpec {
            protocol: jobs::protocol(&self.protocol)?,
            security: self.security.parse()?,
            level: self.level.parse()?,
            reveal_to: match self.receiver.unwrap_or(usual) {
                Receiver::Me => vec![me],
                Receiver::Peer => vec![peer],
                Receiver::Both => vec![me, peer],
            },
            limits: Limits { max_rows: self.max_rows, pad_to: self.pad_to, ..Limits::default() },
            ..JobSpec::new(job, &self.id, Parties(parties))
        })
    }

    /// Runs this party of the job.
    pub fn run(self, job: JobSpec, besides: (Page, Stock), voice: Voice) -> Result<()> {
        self.run_with(job, None, besides, voice)
    }

    /// The same with a second table, of keys to be tried.
    pub fn run_with(
        self,
        job: JobSpec,
        candidates: Option<PathBuf>,
        besides: (Page, Stock),
        voice: Voice,
    ) -> Result<()> {
        job.check()?;
        let (me, name) = self.names()?;
        if job.learns(&me) && keeps_a_table(&job.reveal) && self.common.output.is_none() && besides.0.html.is_none() {
            return Err(Error::Input(format!(
                "{me} learns {}, and nothing says where they go: give --output FILE, as --output common.csv, or --output - to \
                 see them here",
                if matches!(job.reveal, Reveal::Rows | Reveal::Payload) { "rows" } else { "rules" }
            )));
        }
        let peer = Peer { name, pin: self.peer };
        let (dials, awaits) = match &self.connect {
            Some(address) => (vec![(peer, address.clone())], Vec::new()),
            None => (Vec::new(), vec![peer]),
        };
        let listen = self.listen.clone().unwrap_or_default();
        let meeting =
            Meeting { dials, awaits, listen, relay: None, helper: None, announce: None, shape: Shape::default() };
        if candidates.is_some() {
            job.job.can(&job, Ability::Candidates)?;
        }
        let source = self.common.source(&job, &me, [self.input].into_iter().chain(candidates).collect())?;
        self.common.run((job, None), me, source, meeting, besides, voice)
    }
}

/// Whether what is learned is a table, of which one line on standard output says little.
pub fn keeps_a_table(reveal: &Reveal) -> bool {
    matches!(reveal, Reveal::Rows | Reveal::Payload | Reveal::Frequent | Reveal::Counts)
}

/// `A,NAME=HEADER` as the agreed names, and this party's headers where they differ.
pub fn named_columns(option: &str, columns: &[String]) -> Result<(Vec<String>, BTreeMap<String, String>)> {
    let mut names = Vec::new();
    let mut mapping = BTreeMap::new();
    for column in columns {
        match column.split_once('=') {
            Some((name, header)) if !name.is_empty() && !header.is_empty() => {
                names.push(name.to_owned());
                mapping.insert(name.to_owned(), header.to_owned());
            }
            Some(_) => return Err(Error::Input(format!("--{option} {column}: use NAME=HEADER"))),
            None => names.push(column.clone()),
        }
    }
    Ok((names, mapping))
}
