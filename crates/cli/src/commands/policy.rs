//! `tacita policy`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tacita_core::{Error, Result};

use super::help;
use crate::console::print;
use tacita_node::agreement::JobSpec;
use tacita_node::base::files::write_whole_new;
use tacita_node::govern::account::Governance;
use tacita_node::govern::ledger::Ledger;
use tacita_node::govern::policy::{History, NoHistory, Policy, PolicyQuestion};
use tacita_node::govern::time::UtcTime;
use tacita_node::identity::{Fingerprint, Identity};

/// Write or try the policy that says which jobs this party runs.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita policy new id/policy.toml --peer SHA256:...
  tacita policy check job.toml --as hospital --policy id/policy.toml")]
pub struct PolicyCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Write a new policy, with a line for every key.
    ///
    /// Without --peer, the policy refuses every job until you name a peer.
    #[command(after_help = r"Examples:
  tacita policy new id/policy.toml
  tacita policy new id/policy.toml --peer SHA256:...")]
    New {
        /// File to write; policy.toml in the identity's directory holds for all runs.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Fingerprint of a peer to allow; repeat it for several.
        #[arg(long, value_name = "SHA256:...", help_heading = help::PARTY)]
        peer: Vec<Fingerprint>,
    },
    /// Print the rule that allows a job, or exit with 2 and the rule that refuses it.
    ///
    /// With --identity, runs of today and approvals count as they would in a run.
    #[command(after_help = r"Examples:
  tacita policy check job.toml --as hospital --policy id/policy.toml
  tacita policy check job.toml --as hospital --identity id")]
    Check {
        /// Job file, identical at every party.
        #[arg(value_name = "JOB")]
        job: PathBuf,
        /// Name of this party in the job file.
        #[arg(long = "as", value_name = "NAME", help_heading = help::PARTY)]
        me: String,
        /// Policy to try [default: policy.toml in the identity's directory].
        #[arg(long, value_name = "FILE", required_unless_present = "identity", help_heading = help::GOVERNANCE)]
        policy: Option<PathBuf>,
        /// Directory of this party's key pair.
        #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
        identity: Option<PathBuf>,
    },
}

impl PolicyCommand {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        match self.action {
            Action::New { file, peer } => write_whole_new(&file, Policy::template(&peer).as_bytes()),
            Action::Check { job, me, policy, identity } => {
                let places = Governance { home: identity.clone(), policy, ..Governance::default() };
                check(&JobSpec::load(&job)?, &me, &places)
            }
        }
    }
}

fn check(job: &JobSpec, me: &str, places: &Governance) -> Result<()> {
    job.party(me)?;
    let policy = places.policy()?;
    let missing =
        || Error::Input("there is no policy in the identity's directory: `tacita policy new` writes one".into());
    let policy = policy.ok_or_else(missing)?;
    let ledger = places.home.as_deref().map(|home| Ledger::open(home, &Identity::load(home)?)).transpose()?;
    let entries = ledger.filter(Ledger::is_there).map(|ledger| ledger.read()).transpose()?;
    let history: &dyn History = entries.as_ref().map_or(&NoHistory, |contents| &contents.entries);
    let approvals = places.approvals();
    let question = PolicyQuestion { job, me, now: UtcTime::now().timestamp(), history, approvals: &approvals };
    print(format!("allowed by {}", policy.allow(&question)?.rule))
}
