//! `tacita helper`

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tacita_core::{Error, Result};
use tacita_node::agreement::{JobSpec, Topology};
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::outsourced::Helping;
use tacita_node::run::addresses::parties;
use tacita_node::simulate::Instructions;
use tacita_node::transport::{ConnectCancel, DEFAULT_TIMEOUT, Peer};
use tacita_serve::helper::{self, HelperConfig};

use super::{arguments, help};
use crate::interrupt;

/// Serve as the helper of jobs with protocol "outsourced".
///
/// Parties leave messages here for each other and for the helper, which combines them. It serves only the given jobs
/// and their parties, until Ctrl-C. Active runs then finish first; a second Ctrl-C ends at once. The parties' job file
/// names this address and identity under [helper].
///
/// The helper learns who takes part, and when. It does not learn keys, how many a party has, or the result.
#[derive(Args)]
#[command(after_help = r#"Examples:
  tacita helper --listen :7500 --identity id/helper --state state \
    job.toml other-job.toml

In the job file of the parties:
  protocol = "outsourced"
  [helper]
  address  = "helper.example:7500"
  identity = "SHA256:..."     # tacita identity show id/helper"#)]
pub struct Helper {
    /// Job files of the parties, with the identities of all.
    #[arg(value_name = "JOB", required = true)]
    jobs: Vec<PathBuf>,
    /// Address to listen on.
    #[arg(long, value_name = "ADDR", help_heading = help::CONNECTION)]
    listen: String,
    /// Directory of the helper's key pair.
    #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
    identity: PathBuf,
    /// Directory for messages of active runs, so that a restarted helper can continue [default: a temporary one].
    #[arg(long, value_name = "DIR", help_heading = help::RESOURCES)]
    state: Option<PathBuf>,
    /// Address for /health and /metrics on this machine, as 127.0.0.1:7501 or :7501.
    #[arg(long, value_name = "ADDR", help_heading = help::MONITORING)]
    status: Option<String>,
    /// Longest absence of a party during a run.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        value_parser = arguments::duration,
        help_heading = help::CONNECTION
    )]
    timeout: Duration,
    /// Longest inactivity of a connected party.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30min",
        value_parser = arguments::duration,
        help_heading = help::CONNECTION
    )]
    patience: Duration,
}

impl Helper {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let identity = Identity::load(&self.identity)?;
        let helping = |path: PathBuf| {
            let (job, name) = (JobSpec::load(&path)?, path.display().to_string());
            if let Some(named) = job.helper.as_ref().and_then(|helper| helper.identity)
                && named != identity.fingerprint()
            {
                return Err(Error::Input(format!(
                    "{name}: helper.identity is {named}, but --identity has {}; use the right --identity, or \
                     correct the job file at all parties",
                    identity.fingerprint()
                )));
            }
            let through_one = job.topology() == Topology::Helper;
            if through_one && job.helper.is_none() {
                return Err(Error::Input(format!(
                    "{name}: has no [helper], so its first party, {}, acts as the helper; add [helper] with this \
                     address and identity",
                    job.parties.names()[0]
                )));
            }
            let all = if through_one { parties(&job) } else { Ok(Vec::new()) };
            let helping = all.and_then(|parties| Helping::new(&job, parties));
            let helping = helping.map_err(|error| match error {
                Error::Input(text) => Error::Input(format!("{name}: {text}")),
                other => other,
            })?;
            Ok((name, helping))
        };
        let jobs = self.jobs.into_iter().map(helping).collect::<Result<Vec<_>>>()?;
        let drain = ConnectCancel::default();
        let ending = drain.clone();
        interrupt::stands("ending when the runs under way are over", move || ending.cancel());
        helper::serve(HelperConfig {
            jobs,
            identity,
            listen: self.listen,
            state: self.state,
            status: self.status,
            timeout: self.timeout,
            patience: self.patience,
            drain,
            once: false,
            announce: None,
            report: None,
        })
    }
}

/// The helper of a simulation.
pub fn simulated(job: &JobSpec, told: Instructions) -> Result<()> {
    let pin = |name: &str| {
        let pin = told.pins.get(name).map(|pin| pin.parse()).transpose()?;
        pin.ok_or_else(|| Error::Internal("a simulated helper has no pin for a party".into()))
    };
    let peer = |name: &str| Ok(Peer { name: name.to_owned(), pin: pin(name)? });
    let parties = job.parties.names().into_iter().map(peer).collect::<Result<Vec<_>>>()?;
    helper::serve(HelperConfig {
        jobs: vec![(format!("job {}", job.id), Helping::new(job, parties)?)],
        identity: Identity::load(&told.identity)?,
        listen: "127.0.0.1:0".into(),
        state: None,
        status: None,
        timeout: DEFAULT_TIMEOUT,
        patience: tacita_node::run::party::DEFAULT_PATIENCE,
        drain: ConnectCancel::default(),
        once: true,
        announce: Some(told.announce),
        report: Some(told.report),
    })
}
