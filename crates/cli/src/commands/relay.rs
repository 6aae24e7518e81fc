//! `tacita relay`

use std::path::PathBuf;

use clap::Args;
use tacita_core::Result;
use tacita_node::agreement::JobSpec;
use tacita_node::identity::Identity;
use tacita_node::transport::ConnectCancel;
use tacita_serve::relay::{self, RelayConfig};

use super::help;
use crate::interrupt;

/// Connect parties that can only dial out.
///
/// Parties connect here, and the relay forwards their encrypted traffic. It serves only the given jobs and their
/// parties, until Ctrl-C. The parties' job file names this address and identity under [relay].
///
/// The relay learns which parties connect, when, and how many bytes they exchange. It does not learn what they
/// exchange, and stores nothing on disk.
#[derive(Args)]
#[command(after_help = r#"Examples:
  tacita relay --listen :7500 --identity id/relay job.toml other-job.toml

In the job file of the parties:
  [relay]
  address  = "relay.example:7500"
  identity = "SHA256:..."     # tacita identity show id/relay"#)]
pub struct RelayCommand {
    /// Job files of the parties, with the identities of all.
    #[arg(value_name = "JOB", required = true)]
    jobs: Vec<PathBuf>,
    /// Address to listen on.
    #[arg(long, value_name = "ADDR", help_heading = help::CONNECTION)]
    listen: String,
    /// Directory of the relay's key pair.
    #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
    identity: PathBuf,
    /// Taken as by other services, and left alone: a relay keeps nothing.
    #[arg(long, value_name = "DIR", hide = true)]
    #[allow(dead_code, reason = "scripts that start every service alike give it")]
    state: Option<PathBuf>,
}

impl RelayCommand {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let jobs = self.jobs.into_iter().map(|path| JobSpec::load(&path).map(|job| (path, job)));
        let jobs = jobs.collect::<Result<Vec<_>>>()?;
        let identity = Identity::load(&self.identity)?;
        let cancel = ConnectCancel::default();
        let stop = cancel.clone();
        interrupt::stands("ending", move || stop.cancel());
        relay::serve(RelayConfig { jobs, identity, listen: self.listen, cancel })
    }
}
