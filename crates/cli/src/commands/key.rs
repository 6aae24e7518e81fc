//! `tacita key`

use std::path::PathBuf;

use super::help;
use clap::{Args, Subcommand, ValueEnum};
use tacita_aggregate::keys::{self, StateKeys};
use tacita_aggregate::setting::ServiceConfig;
use tacita_aggregate::wire::signed;
use tacita_core::{Error, Result};
use tacita_node::agreement::JobSpec;
use tacita_node::identity::Identity;

/// Create, rotate, back up or restore a round's secrets.
///
/// The proxy and the database create the secrets of a round when it opens. Use this command to create them earlier, or
/// to save them. Secrets and backups are encrypted under the role's identity: keep the identity as well. The oracle
/// obtains the proxy's secrets from the proxy.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita key backup job.toml --role proxy --round 2026-11-30 \
    --identity id/proxy --state proxy --file proxy.key
  tacita key restore job.toml --role proxy --round 2026-11-30 \
    --identity id/proxy --state proxy --file proxy.key")]
pub struct KeyCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Create the secrets of a round before it opens.
    #[command(after_help = r"Examples:
  tacita key new job.toml --role proxy --round 2026-11-30 \
    --identity id/proxy --state proxy")]
    New(Which),
    /// Replace a round's secrets before it opens.
    #[command(after_help = r"Examples:
  tacita key rotate job.toml --role proxy --round 2026-11-30 \
    --identity id/proxy --state proxy")]
    Rotate(Which),
    /// Save a round's secrets to an encrypted file.
    #[command(after_help = r"Examples:
  tacita key backup job.toml --role proxy --round 2026-11-30 \
    --identity id/proxy --state proxy --file proxy.key")]
    Backup(Kept),
    /// Restore a round's secrets from such a file.
    #[command(after_help = r"Examples:
  tacita key restore job.toml --role proxy --round 2026-11-30 \
    --identity id/proxy --state proxy --file proxy.key")]
    Restore(Kept),
}

#[derive(Args)]
struct Which {
    /// Job file.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Role that holds the secrets.
    #[arg(long, value_name = "proxy|database", help_heading = help::PARTY)]
    role: Role,
    /// Identifier of the round.
    #[arg(long, value_name = "ID", help_heading = help::ROUND)]
    round: String,
    /// Directory of the role's key pair.
    #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
    identity: PathBuf,
    /// State directory of the role; no process may use it meanwhile.
    #[arg(long, value_name = "DIR", help_heading = help::RESOURCES)]
    state: PathBuf,
}

#[derive(Args)]
struct Kept {
    #[command(flatten)]
    which: Which,
    /// Backup file.
    #[arg(long, value_name = "FILE", help_heading = help::RESOURCES)]
    file: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum Role {
    Proxy,
    Database,
}

impl KeyCommand {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        match self.action {
            Action::New(which) => which.with(true, "created", |keys, setting, role, round| match keys.load(round)? {
                None => keys.keep(round, &keys::fresh(setting, role, round)?),
                Some(_) => Err(Error::Input(format!(
                    "round {round} already has secrets; replace them with `tacita key rotate`"
                ))),
            }),
            Action::Rotate(which) => which.with(false, "replaced", |keys, setting, role, round| {
                if keys.is_used(round) {
                    Err(Error::Input(format!(
                        "round {round} was opened with its secrets, which cannot change any more; open another round, \
                     which has its own"
                    )))
                } else if keys.load(round)?.is_none() {
                    Err(keys.none(round))
                } else {
                    keys.keep(round, &keys::fresh(setting, role, round)?)
                }
            }),
            Action::Backup(Kept { which, file }) => {
                which.with(false, "backed up", |keys, _, _, round| keys.back_up(round, &file))
            }
            Action::Restore(Kept { which, file }) => {
                which.with(true, "restored", |keys, _, _, round| keys.restore(round, &file))
            }
        }
    }
}

impl Which {
    /// Acts on the secrets in the state directory, which is made if it is not there and `make` is said.
    fn with(
        self,
        make: bool,
        done: &str,
        act: impl FnOnce(&StateKeys, &ServiceConfig, signed::KeyRole, &str) -> Result<()>,
    ) -> Result<()> {
        let role = match self.role {
            Role::Proxy => signed::KeyRole::Proxy,
            Role::Database => signed::KeyRole::Database,
        };
        tacita_aggregate::wire::rounds::check_name(&self.round)?;
        let setting = ServiceConfig::new(JobSpec::load(&self.job)?)?;
        let identity = Identity::load(&self.identity)?;
        setting.place_of(role.name(), &identity)?;
        if !make && !self.state.is_dir() {
            return Err(Error::Input(format!(
                "{}: no such directory, so no secrets of round {} are there; give the --state of the {}",
                self.state.display(),
                self.round,
                role.name()
            )));
        }
        let (folder, _lock) = keys::lock(&self.state, None)?;
        let keys = StateKeys::new(folder, &identity, role);
        act(&keys, &setting, role, &self.round)?;
        tracing::info!("round {}: the {}'s secrets are {done}", self.round, role.name());
        Ok(())
    }
}
