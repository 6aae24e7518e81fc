//! `tacita proxy`, `tacita oracle` and `tacita database`

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tacita_aggregate::database::DatabaseConfig;
use tacita_aggregate::database::dashboard::Dashboard;
use tacita_aggregate::proxy::ProxyConfig;
use tacita_aggregate::registry::Registry;
use tacita_aggregate::serve::RoleConfig;
use tacita_aggregate::setting::ServiceConfig;
use tacita_aggregate::store::holds_password;
use tacita_aggregate::wire::questions::MAX_QUESTION_BYTES;
use tacita_aggregate::{database, oracle, proxy};
use tacita_core::{Error, Result};
use tacita_node::agreement::JobSpec;
use tacita_node::base::cancel::Cancel;
use tacita_node::identity::Identity;
use tacita_serve::page::PageOrigin;

use super::{arguments, help};
use crate::console::print;
use crate::interrupt;
use crate::threads::set_threads;

/// Accept, blind, shuffle and forward the participants' reports.
///
/// Rounds open and close at the database. Accepted reports are stored on disk, encrypted, and forwarded exactly once,
/// across restarts.
///
/// The proxy learns who reports, when and how much. It does not learn keys, values or the result. The operator of the
/// database must not run it.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita proxy job.toml --listen :7600 --identity id/proxy \
    --state proxy --status 127.0.0.1:7601")]
pub struct Proxy {
    #[command(flatten)]
    role: Role,
    /// Maximum disk space for the waiting reports of a round, as 64GiB. Beyond it, participants are told to retry
    /// later.
    #[arg(long, value_name = "SIZE", value_parser = arguments::memory, help_heading = help::LIMITS)]
    queue: Option<u64>,
}

/// Reveal the keys of rows with enough reports to the database.
///
/// The oracle belongs to the proxy's domain, and obtains the secrets of a round from any proxy.
///
/// The oracle learns the keys of rows that it is asked about, and how many reports each has. It does not learn
/// reporters or other keys.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita oracle job.toml --listen :7610 --identity id/oracle --state oracle")]
pub struct Oracle {
    #[command(flatten)]
    role: Role,
}

/// Store rounds, find rows that pass, and hand out results.
///
/// `tacita round` opens and closes rounds, with the same identity.
///
/// The database learns how many reports each row has, and their values. It learns the key of a row only if the row
/// passes. It does not learn reporters. The operator of the proxy must not run it.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita database job.toml --listen :7620 --identity id/database \
    --state database --round 2026-11-30
  tacita database job.toml --listen :7620 --identity id/database \
    --state database \
    --storage 'postgresql://tacita@/rounds?host=/run/postgresql'")]
pub struct Database {
    #[command(flatten)]
    role: Role,
    /// Storage of rows: embedded:DIR, postgresql://USER@HOST/DATABASE, or file:PATH of a file that holds one of these.
    /// A URL with a password must stand in such a file [default: $TACITA_STORAGE, or in --state].
    #[arg(long, value_name = "URL", help_heading = help::RESOURCES)]
    storage: Option<String>,
    /// Round to open, unless it exists.
    #[arg(long, value_name = "ID", help_heading = help::ROUND)]
    round: Vec<String>,
    /// Longest silence of the oracle before a round fails.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10min",
        value_parser = arguments::duration,
        help_heading = help::CONNECTION
    )]
    patience: Duration,
    /// Address of the operator's page on this machine, as 127.0.0.1:7622. Prints the link that opens it.
    #[arg(long, value_name = "ADDR", help_heading = help::MONITORING)]
    dashboard: Option<String>,
    /// File with the key of that link, created if missing. The link is then not printed.
    #[arg(long, value_name = "FILE", requires = "dashboard", help_heading = help::MONITORING)]
    dashboard_token_file: Option<PathBuf>,
    /// Public address of that page behind a reverse proxy with TLS: https://HOST, as https://rounds.example.
    #[arg(long, value_name = "URL", requires = "dashboard", help_heading = help::MONITORING)]
    dashboard_origin: Option<PageOrigin>,
}

/// Settings that all roles share.
#[derive(Args)]
struct Role {
    /// Job file, identical everywhere.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Address to listen on, in place of the one in the job file.
    #[arg(long, value_name = "ADDR", help_heading = help::CONNECTION)]
    listen: Option<String>,
    /// Directory of this role's key pair.
    #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
    identity: PathBuf,
    /// Directory for data that must not be lost.
    #[arg(long, value_name = "DIR", help_heading = help::RESOURCES)]
    state: PathBuf,
    /// Address for /healthz, /readyz and /metrics on this machine, as 127.0.0.1:7601.
    #[arg(long, value_name = "ADDR", help_heading = help::MONITORING)]
    status: Option<String>,
    /// Threads for computation [default: all cores].
    #[arg(long, value_name = "N", help_heading = help::RESOURCES)]
    threads: Option<usize>,
    #[arg(long, hide = true)]
    report: Option<PathBuf>,
    #[arg(long, hide = true, conflicts_with = "registry")]
    announce: Option<PathBuf>,
    #[command(flatten)]
    registry: Registering,
    /// Address of this role for the registry, as others reach it [default: the address that it listens on].
    #[arg(long, value_name = "HOST:PORT", requires = "registry", help_heading = help::REGISTRY)]
    advertise: Option<String>,
    /// Allow breakable security levels.
    #[arg(long, help_heading = help::PROTOCOL)]
    allow_insecure: bool,
}

/// Options for the registry where roles register.
#[derive(Args, Clone)]
#[command(next_help_heading = help::REGISTRY)]
pub(super) struct Registering {
    /// Addresses of an etcd where roles register and find each other, separated by commas: http://HOST:PORT or
    /// https://HOST:PORT. Identities remain those of the job file.
    #[arg(long, value_name = "URL")]
    registry: Option<String>,
    /// CA certificate (PEM) of an etcd at https://.
    #[arg(long, value_name = "FILE", requires = "registry")]
    registry_ca: Option<PathBuf>,
    /// Client certificate (PEM) for that etcd.
    #[arg(long, value_name = "FILE", requires_all = ["registry_ca", "registry_key"])]
    registry_cert: Option<PathBuf>,
    /// Private key (PEM) of the client certificate.
    #[arg(long, value_name = "FILE", requires = "registry_cert")]
    registry_key: Option<PathBuf>,
}

impl Registering {
    /// The registry that is meant, in which a role stands at `advertise`.
    pub(super) fn registry(&self, advertise: Option<String>) -> Option<Registry> {
        let Registering { registry, registry_ca, registry_cert, registry_key } = self.clone();
        registry.map(|urls| Registry { urls, ca: registry_ca, certificate: registry_cert.zip(registry_key), advertise })
    }
}

impl Role {
    fn serving(self) -> Result<RoleConfig> {
        let spec = JobSpec::load(&self.job)?;
        spec.check_secure(self.allow_insecure)?;
        set_threads(self.threads)?;
        let cancel = Cancel::default();
        let ending = cancel.clone();
        interrupt::stands("ending when the requests under way are answered", move || {
            ending.cancel();
        });
        Ok(RoleConfig {
            setting: Arc::new(ServiceConfig::new(spec)?),
            identity: Identity::load(&self.identity)?,
            listen: self.listen,
            state: self.state,
            status: self.status,
            report: self.report,
            announce: self.announce,
            registry: self.registry.registry(self.advertise),
            cancel,
        })
    }
}

impl Proxy {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        proxy::serve(ProxyConfig {
            queue_bytes: self.queue.unwrap_or(proxy::QUEUE_BYTES),
            serving: self.role.serving()?,
        })
    }
}

impl Oracle {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        oracle::serve(self.role.serving()?)
    }
}

impl Database {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let Database { role, storage, round, patience, dashboard, dashboard_token_file, dashboard_origin } = self;
        let storage = self::storage(storage)?;
        let dashboard = dashboard.map(|address| Dashboard {
            address,
            token: dashboard_token_file,
            origin: dashboard_origin,
            told: |link| {
                // Nobody may read standard output any more; the page is there all the same.
                let _ = print(link.to_owned());
            },
        });
        let question_bytes = MAX_QUESTION_BYTES;
        database::serve(DatabaseConfig {
            serving: role.serving()?,
            storage,
            rounds: round,
            patience,
            question_bytes,
            dashboard,
        })
    }
}

/// The storage that is meant: as told, or as the environment says.
///
/// Errors ([`Error::Input`]): there is a password on the command line.
pub(super) fn storage(told: Option<String>) -> Result<Option<String>> {
    if told.as_deref().is_some_and(holds_password) {
        return Err(Error::Input(
            "--storage: every user of this machine can see a password on the command line: change it now. Put the \
             URL into a file that only you can read, and give file:PATH, or set TACITA_STORAGE"
                .into(),
        ));
    }
    Ok(told.or_else(|| std::env::var("TACITA_STORAGE").ok().filter(|url| !url.is_empty())))
}
