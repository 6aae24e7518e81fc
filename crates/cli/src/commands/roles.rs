//! `tacita proxy`, `tacita oracle` and `tacita database`

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tacita_aggregate::database::Databasing;
use tacita_aggregate::database::dashboard::Dashboard;
use tacita_aggregate::proxy::Proxying;
use tacita_aggregate::registry::Registry;
use tacita_aggregate::serve::Serving;
use tacita_aggregate::setting::Setting;
use tacita_aggregate::store::holds_password;
use tacita_aggregate::wire::questions::MOST_QUESTION_BYTES;
use tacita_aggregate::{database, oracle, proxy};
use tacita_core::{Error, Result};
use tacita_node::agreement::JobSpec;
use tacita_node::base::cancel::Cancel;
use tacita_node::identity::Identity;
use tacita_serve::page::Origin;

use super::arguments;
use crate::console::print;
use crate::interrupt;
use crate::threads::set_threads;

/// Take the participants' reports in an aggregate job, blind and shuffle them, and forward them to the database so that nobody can tell who reported what.
///
/// Rounds open and close at the database. What was accepted is on disk, sealed, and sent exactly once, whenever this program is ended and
/// started again. The proxy sees who reports, when and how much; neither keys nor values nor the result. It must not be run by whoever runs the
/// database.
#[derive(Args)]
#[command(
    after_help = "Example: tacita proxy job.toml --listen :7600 --identity id/proxy --state proxy --status 127.0.0.1:7601"
)]
pub struct Proxy {
    #[command(flatten)]
    role: Role,
    /// The most that the reports of a round that wait may take on disk, as 64GiB: who comes then is told to come again.
    #[arg(long, value_name = "SIZE", value_parser = arguments::memory)]
    queue: Option<u64>,
}

/// Tell the database of an aggregate job the keys of rows that have as many reports as agreed. Belongs to the proxy's domain.
///
/// The secrets of a round come from any of the proxies. The oracle sees the keys of rows that it is asked about and how many reports each has;
/// no reporter, and no other key.
#[derive(Args)]
#[command(after_help = "Example: tacita oracle job.toml --listen :7610 --identity id/oracle --state oracle")]
pub struct Oracle {
    #[command(flatten)]
    role: Role,
}

/// Keep the rounds of an aggregate job and their rows, find the rows that pass, and give results to those in reveal_to.
///
/// `tacita round` opens and closes rounds, with the same identity. The database sees how many reports each row has, and their values, and
/// neither its key, unless it passes, nor a reporter. It must not be run by whoever runs the proxy.
#[derive(Args)]
#[command(
    after_help = "Example: tacita database job.toml --listen :7620 --identity id/database --state database --round 2026-11-30\n\
                  With rows in PostgreSQL: ... --storage 'postgresql://tacita@/rounds?host=/run/postgresql'"
)]
pub struct Database {
    #[command(flatten)]
    role: Role,
    /// Where rows are kept: embedded:DIR, postgresql://USER@HOST/DATABASE, or file:PATH of a file that says one of these, as it has to
    /// where there is a password [default: $TACITA_STORAGE, or in --state].
    #[arg(long, value_name = "URL")]
    storage: Option<String>,
    /// Open this round, unless it is there.
    #[arg(long, value_name = "ID")]
    round: Vec<String>,
    /// How long the oracle may be silent before a round fails.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = arguments::duration)]
    patience: Duration,
    /// Serve a page for the operator at this address of this machine, as 127.0.0.1:7622, and print the link that opens it.
    #[arg(long, value_name = "ADDR")]
    dashboard: Option<String>,
    /// Take the key in that link from this file, which is made if it is not there; nothing is printed then.
    #[arg(long, value_name = "FILE", requires = "dashboard")]
    dashboard_token_file: Option<PathBuf>,
    /// Where that page is opened, if something in front of it encrypts: https://HOST, as in https://rounds.example.
    #[arg(long, value_name = "URL", requires = "dashboard")]
    dashboard_origin: Option<Origin>,
}

/// What all roles are told.
#[derive(Args)]
struct Role {
    /// The job file: the same everywhere.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Listen here rather than on the address in the job file.
    #[arg(long, value_name = "ADDR")]
    listen: Option<String>,
    /// Directory of this role's key pair.
    #[arg(long, value_name = "DIR")]
    identity: PathBuf,
    /// Directory for what must not be lost.
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Serve /healthz, /readyz and /metrics at this address of this machine, as 127.0.0.1:7601.
    #[arg(long, value_name = "ADDR")]
    status: Option<String>,
    /// Threads for computation [default: all cores].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[arg(long, hide = true)]
    report: Option<PathBuf>,
    #[arg(long, hide = true, conflicts_with = "registry")]
    announce: Option<PathBuf>,
    #[command(flatten)]
    registry: Registering,
    /// Where others reach this role, as it is to stand in the registry [default: where it listens].
    #[arg(long, value_name = "HOST:PORT", requires = "registry")]
    advertise: Option<String>,
    /// Allow levels of security that can be broken.
    #[arg(long)]
    allow_insecure: bool,
}

/// Where roles register.
#[derive(Args, Clone)]
pub(super) struct Registering {
    /// Roles say in this etcd where they listen, and find each other there: http://HOST:PORT or https://HOST:PORT, with commas between
    /// several. Identities stay those of the job file.
    #[arg(long, value_name = "URL")]
    registry: Option<String>,
    /// The certificate (PEM) of whoever issued that of an etcd at https://.
    #[arg(long, value_name = "FILE", requires = "registry")]
    registry_ca: Option<PathBuf>,
    /// A certificate (PEM) to show to it.
    #[arg(long, value_name = "FILE", requires_all = ["registry_ca", "registry_key"])]
    registry_cert: Option<PathBuf>,
    /// The key of that certificate (PEM).
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
    fn serving(self) -> Result<Serving> {
        let spec = JobSpec::load(&self.job)?;
        spec.check_secure(self.allow_insecure)?;
        set_threads(self.threads)?;
        let cancel = Cancel::default();
        let ending = cancel.clone();
        interrupt::stands("ending when the requests under way are answered", move || {
            ending.cancel();
        });
        Ok(Serving {
            setting: Arc::new(Setting::new(spec)?),
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
        proxy::serve(Proxying { queue_bytes: self.queue.unwrap_or(proxy::QUEUE_BYTES), serving: self.role.serving()? })
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
        let question_bytes = MOST_QUESTION_BYTES;
        database::serve(Databasing {
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
            "--storage: a password on the command line is seen by everybody on this machine, and has to be changed now: write the URL into a file \
             that only you can read, and give file:PATH, or set TACITA_STORAGE"
                .into(),
        ));
    }
    Ok(told.or_else(|| std::env::var("TACITA_STORAGE").ok().filter(|url| !url.is_empty())))
}
