//! `tacita relay`

use std::path::PathBuf;

use clap::Args;
use tacita_core::Result;
use tacita_node::agreement::JobSpec;
use tacita_node::identity::Identity;
use tacita_node::transport::Cancel;
use tacita_serve::relay::{self, Serving};

use crate::interrupt;

/// Let parties meet that can only dial out.
///
/// They connect here, and what they say to each other is carried between them. For the jobs whose files are given, and their parties alone, until Ctrl-C. The parties' job file has [relay] with this address and
/// identity. The relay sees who meets whom, when, and how many bytes they exchange; it has no key to any of them, and keeps nothing on disk.
#[derive(Args)]
#[command(after_help = "Example:\n  tacita relay --listen :7500 --identity id/relay job.toml other-job.toml\n\n\
                        In the job file of the parties:\n  [relay]\n  address  = \"relay.example:7500\"\n  \
                        identity = \"SHA256:...\"     # tacita identity show id/relay")]
pub struct Relay {
    /// The job files of those who meet here: the same as theirs, with the identities of all parties.
    #[arg(value_name = "JOB", required = true)]
    jobs: Vec<PathBuf>,
    /// Where to listen.
    #[arg(long, value_name = "ADDR")]
    listen: String,
    /// Directory of the relay's key pair.
    #[arg(long, value_name = "DIR")]
    identity: PathBuf,
    /// Taken as by other services, and left alone: a relay keeps nothing.
    #[arg(long, value_name = "DIR", hide = true)]
    #[allow(dead_code, reason = "scripts that start every service alike give it")]
    state: Option<PathBuf>,
}

impl Relay {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let jobs = self.jobs.into_iter().map(|path| JobSpec::load(&path).map(|job| (path, job)));
        let jobs = jobs.collect::<Result<Vec<_>>>()?;
        let identity = Identity::load(&self.identity)?;
        let cancel = Cancel::default();
        let stop = cancel.clone();
        interrupt::stands("ending", move || stop.cancel());
        relay::serve(Serving { jobs, identity, listen: self.listen, cancel })
    }
}
