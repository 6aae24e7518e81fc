//! `tacita approve`

use std::path::PathBuf;

use clap::Args;
use tacita_core::{Error, Result};

use super::help;
use tacita_node::agreement::JobSpec;
use tacita_node::base::files::write_whole_new;
use tacita_node::govern::approval::Approval;
use tacita_node::govern::time::Day;
use tacita_node::identity::Identity;

/// Days for which an approval holds if nothing is said.
const USUAL_DAYS: u32 = 30;

/// Sign that a party may run a job.
///
/// Policies can ask for such approvals. Put the file into the directory `approvals` of the identity that runs the job.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita approve job.toml --as hospital --identity officer \
    --output id/approvals/officer.json
  tacita approve job.toml --as hospital --identity officer \
    --runs 12 --until 2027-12-31 --output id/approvals/year.json")]
pub struct Approve {
    /// Job file, identical at every party.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Name of the party in the job file that may run it.
    #[arg(long = "as", value_name = "NAME", help_heading = help::PARTY)]
    me: String,
    /// Directory of the approver's own key pair.
    #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
    identity: PathBuf,
    /// Number of runs that it is for.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = help::GOVERNANCE)]
    runs: u64,
    /// Last day on which it holds, in UTC [default: 30 days from now].
    #[arg(long, value_name = "DATE", help_heading = help::GOVERNANCE)]
    until: Option<Day>,
    /// File for the approval.
    #[arg(long, value_name = "FILE", help_heading = help::RESULT)]
    output: PathBuf,
}

impl Approve {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        if self.runs == 0 {
            return Err(Error::Input("--runs 0: an approval is for one run at least".into()));
        }
        let (job, identity) = (JobSpec::load(&self.job)?, Identity::load(&self.identity)?);
        let until = self.until.unwrap_or_else(|| Day::today().after(USUAL_DAYS));
        let approval = Approval::sign(&job, &self.me, self.runs, until, &identity)?;
        write_whole_new(&self.output, approval.as_bytes())
    }
}
