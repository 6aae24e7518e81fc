//! Common part of the commands for two parties without a job file. One party listens, the other connects, and each
//! builds the same job from its own side.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use clap::{ArgAction, Args, ValueEnum};
use tacita_core::{Error, Result};

use super::run::{PageOptions, PartyOptions, StockOptions};
use super::{arguments, help};
use crate::console::LogOptions;
use tacita_node::agreement::{Ability, AlignWay, Job, JobSpec, Limits, Parties, Party, Profiles, Reveal};
use tacita_node::identity::{Fingerprint, Identity};
use tacita_node::jobs;
use tacita_node::run::connect::ConnectPlan;
use tacita_node::transport::{LinkShape, Peer};

/// Options of every such command.
#[derive(Args)]
pub struct PairOptions {
    /// Address to listen on.
    #[arg(long, value_name = "ADDR", conflicts_with = "connect", help_heading = help::CONNECTION)]
    listen: Option<String>,
    /// Address of the peer.
    #[arg(long, value_name = "ADDR", help_heading = help::CONNECTION)]
    connect: Option<String>,
    /// Fingerprint of the peer, as its `tacita identity show` prints it.
    #[arg(long, value_name = "SHA256:...", help_heading = help::CONNECTION)]
    peer: Fingerprint,
    /// Table of this party: CSV, Parquet or Arrow, or - for CSV on standard input.
    #[arg(long, value_name = "FILE", help_heading = help::INPUT)]
    input: PathBuf,
    /// Normalisation of this party's key columns: one profile a column, or COLUMN=PROFILE pairs. The peer's may
    /// differ.
    #[arg(long, value_name = "PROFILE,...", value_delimiter = ',', help_heading = help::MATCHING)]
    pub normalize: Vec<String>,
    /// Null words in this party's key columns, as NULL,unknown, in place of the usual ones.
    #[arg(long, value_name = "WORD,...", value_delimiter = ',', action = ArgAction::Set, help_heading = help::MATCHING)]
    null_words: Option<Vec<String>>,
    /// Party that learns the result. Both parties state it, each from its own side [default: me; both where both must
    /// learn].
    #[arg(long, value_enum, help_heading = help::RESULT)]
    receiver: Option<ReceiverOption>,
    /// Protocol; auto chooses by sizes and network.
    #[arg(long, default_value = "auto", help_heading = help::PROTOCOL)]
    protocol: String,
    /// Threat model of the other party: semi-honest, the only one for this job.
    #[arg(long, default_value = "semi-honest", help_heading = help::PROTOCOL)]
    security: String,
    /// Security level: bits128; with protocol "paillier" also bits192 and bits256. With "paillier" or "gm-bloom" and
    /// --allow-insecure also bits112 and paper80.
    #[arg(long, default_value = "bits128", help_heading = help::PROTOCOL)]
    level: String,
    /// Maximum number of keys or rows of the peer; more end the run.
    #[arg(long, value_name = "N", help_heading = help::LIMITS)]
    max_rows: Option<u64>,
    /// Size to which both key sets are padded, so that sizes stay hidden.
    #[arg(long, value_name = "N", help_heading = help::LIMITS)]
    pad_to: Option<u64>,
    /// Name of the job, the same at both parties.
    #[arg(long, default_value = "adhoc", help_heading = help::PARTY)]
    id: String,
    /// Name of this party [default: listener or dialer].
    #[arg(long, help_heading = help::PARTY)]
    name: Option<String>,
    /// Name of the peer [default: dialer or listener].
    #[arg(long, help_heading = help::PARTY)]
    peer_name: Option<String>,
    #[command(flatten)]
    common: PartyOptions,
}

/// The option of commands whose answer can be a number.
#[derive(Args)]
pub struct MinimumOption {
    /// Smallest number to report exactly; below it, only that it is below.
    #[arg(long, value_name = "N", help_heading = help::LIMITS)]
    pub min_result: Option<u64>,
}

/// Parties that learn the result.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReceiverOption {
    /// Name of this party.
    Me,
    /// The peer.
    Peer,
    /// Both parties.
    Both,
}

/// Options on how rows are aligned.
#[derive(Args)]
pub struct AlignOptions {
    /// Columns to align rows by, in place of their position. NAME=HEADER if this table's header differs.
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = help::MATCHING)]
    pub row_id: Vec<String>,
    /// With --row-id: hidden, so that neither party learns which rows match, or rows, which shows both [default:
    /// hidden].
    #[arg(long, value_name = "WAY", help_heading = help::MATCHING)]
    alignment: Option<String>,
}

impl AlignOptions {
    /// Returns the way to align rows, if one is named.
    pub fn way(&self) -> Result<Option<AlignWay>> {
        self.alignment.as_deref().map(str::parse).transpose()
    }
}

impl PairOptions {
    /// Returns this party's name and the peer's name.
    pub fn names(&self) -> Result<(String, String)> {
        if self.listen.is_none() && self.connect.is_none() {
            return Err(Error::Input(
                "no address is given: use --listen ADDR at one party, and --connect ADDR at the other".into(),
            ));
        }
        let (own_role, peer_role) = if self.listens() { ("listener", "dialer") } else { ("dialer", "listener") };
        let me = self.name.clone().unwrap_or_else(|| own_role.into());
        let peer = self.peer_name.clone().unwrap_or_else(|| peer_role.into());
        if me == peer {
            Err(Error::Input(format!("--name and --peer-name: both parties are called \"{me}\"; choose two names")))
        } else {
            Ok((me, peer))
        }
    }

    fn listens(&self) -> bool {
        self.connect.is_none()
    }

    /// The part of the job that these options describe. `columns` are this party's own headers by logical
    /// name, `usual` are those who learn where the options do not say.
    pub fn job(&self, job: Arc<dyn Job>, usual: ReceiverOption, columns: BTreeMap<String, String>) -> Result<JobSpec> {
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
                ReceiverOption::Me => vec![me],
                ReceiverOption::Peer => vec![peer],
                ReceiverOption::Both => vec![me, peer],
            },
            limits: Limits { max_rows: self.max_rows, pad_to: self.pad_to, ..Limits::default() },
            ..JobSpec::new(job, &self.id, Parties(parties))
        })
    }

    /// Runs this party of the job.
    pub fn run(self, job: JobSpec, besides: (PageOptions, StockOptions), voice: LogOptions) -> Result<()> {
        self.run_with(job, None, besides, voice)
    }

    /// The same with a second table, of keys to be tried.
    pub fn run_with(
        self,
        job: JobSpec,
        candidates: Option<PathBuf>,
        besides: (PageOptions, StockOptions),
        voice: LogOptions,
    ) -> Result<()> {
        job.check()?;
        let (me, name) = self.names()?;
        if job.learns(&me) && keeps_a_table(&job.reveal) && self.common.output.is_none() && besides.0.html.is_none() {
            return Err(Error::Input(format!(
                "{me} learns {}, but no output is given: use --output FILE, or --output - for standard output",
                match job.reveal {
                    Reveal::Rows | Reveal::Payload => "rows",
                    Reveal::Cells => "cells",
                    _ => "rules",
                }
            )));
        }
        let peer = Peer { name, pin: self.peer };
        let (dials, awaits) = match &self.connect {
            Some(address) => (vec![(peer, address.clone())], Vec::new()),
            None => (Vec::new(), vec![peer]),
        };
        let listen = self.listen.clone().unwrap_or_default();
        let meeting = ConnectPlan {
            dials,
            awaits,
            listen,
            relay: None,
            helper: None,
            announce: None,
            shape: LinkShape::default(),
        };
        if candidates.is_some() {
            job.job.can(&job, Ability::Candidates)?;
        }
        let source = self.common.source(&job, &me, [self.input].into_iter().chain(candidates).collect())?;
        self.common.run((job, None), me, source, meeting, besides, voice)
    }
}

/// Whether what is learned is a table, of which one line on standard output says little.
pub fn keeps_a_table(reveal: &Reveal) -> bool {
    matches!(reveal, Reveal::Rows | Reveal::Payload | Reveal::Frequent | Reveal::Counts | Reveal::Cells)
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
