//! `tacita intersect`

use std::collections::BTreeMap;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tacita_core::{Error, Result};

use super::run::Common;
use crate::console::Voice;
use crate::identity::{Fingerprint, Identity};
use crate::job::{Duplicates, Job, JobSpec, Key, Limits, Nulls, Parties, Party};
use crate::party::Meeting;
use crate::table::normalize::Profile;
use crate::transport::Shape;

/// Find the rows that two parties have in common, without a job file: one listens, the other connects.
#[derive(Args)]
#[command(after_help = "Example, on two machines:\n  \
  tacita intersect --listen 0.0.0.0:7400 --peer SHA256:... --identity id --input a.csv --key name,dob --receiver me --output common.csv\n  \
  tacita intersect --connect a.example:7400 --peer SHA256:... --identity id --input b.csv --key name=insured,dob=birth --receiver peer")]
pub struct Intersect {
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
    /// Columns that rows are matched by. NAME=HEADER where this table's header differs from the agreed name.
    #[arg(long, value_name = "A,B", value_delimiter = ',', required = true)]
    key: Vec<String>,
    /// How this party's key columns are normalised, one profile a column; it may differ from the peer's.
    #[arg(long, value_name = "PROFILE,...", value_delimiter = ',')]
    normalize: Vec<Profile>,
    /// Who learns the result. Both must say so, each from its own side.
    #[arg(long, value_enum, default_value_t = Receiver::Me)]
    receiver: Receiver,
    /// What is learned: rows, count or payload.
    #[arg(long, default_value = "rows")]
    reveal: String,
    /// Columns that this party gives, with --reveal payload.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    gives: Vec<String>,
    /// Columns that the peer gives.
    #[arg(long, value_name = "A,B", value_delimiter = ',')]
    peer_gives: Vec<String>,
    /// auto, vole or ecdh.
    #[arg(long, default_value = "auto")]
    protocol: String,
    /// semi-honest or malicious.
    #[arg(long, default_value = "semi-honest")]
    security: String,
    /// bits128.
    #[arg(long, default_value = "bits128")]
    level: String,
    /// What happens to rows with equal keys.
    #[arg(long, value_name = "all|first|error", default_value = "all")]
    duplicates: Duplicates,
    /// What happens to rows without a key.
    #[arg(long, value_name = "skip|error", default_value = "skip")]
    nulls: Nulls,
    /// Refuse a peer with more keys.
    #[arg(long, value_name = "N")]
    max_rows: Option<u64>,
    /// Pad both sets to this size, so that sizes are not revealed.
    #[arg(long, value_name = "N")]
    pad_to: Option<u64>,
    /// Report a count below this only as being below it.
    #[arg(long, value_name = "N")]
    min_result: Option<u64>,
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

/// Who learns.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Receiver {
    /// This party.
    Me,
    /// The other.
    Peer,
    /// Both.
    Both,
}

impl Intersect {
    /// Carries the command out.
    pub fn execute(self, voice: Voice) -> Result<()> {
        if self.listen.is_none() && self.connect.is_none() {
            return Err(Error::Input("give --listen ADDR at one party, and --connect ADDR at the other".into()));
        }
        let identity = Identity::load(&self.common.identity)?;
        let listens = self.connect.is_none();
        let (own_role, peer_role) = if listens { ("listener", "dialer") } else { ("dialer", "listener") };
        let me = self.name.clone().unwrap_or_else(|| own_role.into());
        let peer = self.peer_name.clone().unwrap_or_else(|| peer_role.into());
        if me == peer {
            return Err(Error::Input(format!("--name and --peer-name: both parties are called \"{me}\"")));
        }
        let job = self.job(&identity, &me, &peer, listens)?;
        let listen = self.listen.clone().unwrap_or_default();
        let meeting =
            Meeting { pin: self.peer, dial: self.connect.clone(), listen, announce: None, shape: Shape::default() };
        let source = self.common.file(self.input.clone());
        self.common.run((job, None), me, source, meeting, voice)
    }

    /// The job that the flags describe.
    fn job(&self, identity: &Identity, me: &str, peer: &str, listens: bool) -> Result<JobSpec> {
        let (columns, mapping) = key_columns(&self.key)?;
        let normalize = (!self.normalize.is_empty()).then(|| self.normalize.clone());
        let own = Party { identity: Some(identity.fingerprint()), columns: mapping, normalize, ..Party::default() };
        let other = Party { identity: Some(self.peer), ..Party::default() };
        let mut parties = vec![(me.to_owned(), own), (peer.to_owned(), other)];
        if !listens {
            parties.reverse();
        }
        let reveal_to = match self.receiver {
            Receiver::Me => vec![me.to_owned()],
            Receiver::Peer => vec![peer.to_owned()],
            Receiver::Both => vec![me.to_owned(), peer.to_owned()],
        };
        let gives = [(me, &self.gives), (peer, &self.peer_gives)];
        let gives = gives.into_iter().filter(|(_, columns)| !columns.is_empty());
        let job = JobSpec {
            job: Job::Intersect,
            id: self.id.clone(),
            protocol: self.protocol.parse()?,
            security: self.security.parse()?,
            level: self.level.parse()?,
            reveal: self.reveal.parse()?,
            reveal_to,
            gives: gives.map(|(name, columns)| (name.to_owned(), columns.clone())).collect(),
            key: Some(Key { columns, normalize: None, duplicates: self.duplicates, nulls: self.nulls }),
            limits: Limits {
                max_rows: self.max_rows,
                pad_to: self.pad_to,
                min_result: self.min_result,
                ..Limits::default()
            },
            parties: Parties(parties),
        };
        job.check()?;
        Ok(job)
    }
}

/// `A,NAME=HEADER` as the agreed names, and this party's headers where they differ.
fn key_columns(key: &[String]) -> Result<(Vec<String>, BTreeMap<String, String>)> {
    let mut columns = Vec::new();
    let mut mapping = BTreeMap::new();
    for column in key {
        match column.split_once('=') {
            Some((name, header)) if !name.is_empty() && !header.is_empty() => {
                columns.push(name.to_owned());
                mapping.insert(name.to_owned(), header.to_owned());
            }
            Some(_) => return Err(Error::Input(format!("--key {column}: use NAME=HEADER"))),
            None => columns.push(column.clone()),
        }
    }
    Ok((columns, mapping))
}
