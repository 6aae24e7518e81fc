//! `tacita serve`

use std::path::{Path, PathBuf};

use clap::Args;
use tacita_core::{Error, Result};
use tacita_node::agreement::JobSpec;
use tacita_node::base::files::is_read_once;
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::live::Live;
use tacita_node::run::check::check_identity;
use tacita_node::transport::ConnectCancel;
use tacita_serve::authority::control::{ListOrder, order};
use tacita_serve::authority::{self, AuthorityConfig};
use tacita_serve::run::governed;

use super::run::PolicyOptions;
use super::{arguments, help};
use crate::console::print;
use crate::interrupt;
use crate::threads::set_threads;

/// Serve a live list to many desks.
///
/// The list can change while it is served. The first start needs --input; later starts continue from --state under the
/// same key. The job file needs [clients], limits.pad_to and limits.daily_queries.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita serve job.toml --as authority --identity id \
    --input list.csv --state list
  tacita serve --state list --add new.csv
  tacita serve --state list --remove gone.csv
  tacita serve --state list --status")]
pub struct Serve {
    /// Job file, identical at every desk.
    #[arg(value_name = "JOB", required_unless_present = "order")]
    job: Option<PathBuf>,
    /// Name of the party that holds the list.
    #[arg(
        long = "as",
        value_name = "NAME",
        required_unless_present = "order",
        conflicts_with = "order",
        help_heading = help::PARTY
    )]
    me: Option<String>,
    /// Table that starts a new list.
    #[arg(long, value_name = "FILE", conflicts_with = "order", help_heading = help::INPUT)]
    input: Option<PathBuf>,
    /// Directory of this party's key pair.
    #[arg(
        long,
        value_name = "DIR",
        required_unless_present = "order",
        conflicts_with = "order",
        help_heading = help::PARTY
    )]
    identity: Option<PathBuf>,
    /// Directory for the list and the desks' quotas, encrypted.
    #[arg(long, value_name = "DIR", help_heading = help::RESOURCES)]
    state: PathBuf,
    /// Address to listen on, in place of the one in the job file.
    #[arg(long, value_name = "ADDR", conflicts_with = "order", help_heading = help::CONNECTION)]
    listen: Option<String>,
    #[command(flatten)]
    orders: Orders,
    /// Threads for computation [default: all cores].
    #[arg(long, value_name = "N", conflicts_with = "order", help_heading = help::RESOURCES)]
    threads: Option<usize>,
    #[command(flatten)]
    reading: arguments::ReadArguments,
    #[command(flatten)]
    governance: PolicyOptions,
    /// Continue although more than half of the keys are unreadable.
    #[arg(long, conflicts_with = "order", help_heading = help::INPUT)]
    allow_unreadable: bool,
}

/// Orders for the program that serves a list.
#[derive(Args)]
#[group(id = "order", multiple = false, conflicts_with = "job")]
struct Orders {
    /// Add the rows of this table to the list served from --state.
    #[arg(long, value_name = "FILE", help_heading = help::CHANGES)]
    add: Option<PathBuf>,
    /// Remove the rows of this table from that list.
    #[arg(long, value_name = "FILE", help_heading = help::CHANGES)]
    remove: Option<PathBuf>,
    /// Rotate the key of that list now. The server also rotates it every limits.rotate_within.
    #[arg(long, help_heading = help::CHANGES)]
    rotate: bool,
    /// Print the status of that list.
    #[arg(long, help_heading = help::CHANGES)]
    status: bool,
}

impl Orders {
    fn order(&self) -> Result<Option<ListOrder>> {
        Ok(match self {
            Orders { add: Some(path), .. } => Some(ListOrder::Add(whole(path)?)),
            Orders { remove: Some(path), .. } => Some(ListOrder::Remove(whole(path)?)),
            Orders { rotate: true, .. } => Some(ListOrder::Rotate),
            Orders { status: true, .. } => Some(ListOrder::Status),
            _ => None,
        })
    }
}

/// A path that means the same to another process.
fn whole(path: &Path) -> Result<PathBuf> {
    path.canonicalize().map_err(|error| Error::Input(format!("{}: cannot read: {error}", path.display())))
}

impl Serve {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        if let Some(wanted) = self.orders.order()? {
            return print(order(&self.state, &wanted)?);
        }
        let (Some(job), Some(me), Some(identity)) = (self.job, self.me, self.identity) else {
            return Err(Error::Internal("a command without its arguments".into()));
        };
        let live = Live::of(JobSpec::load(&job)?, &me)?;
        if me != live.authority {
            return Err(Error::Input(format!(
                "--as {me}: {} holds the list in this job; {me} asks it with `tacita desk`",
                live.authority
            )));
        }
        if let Some(input) = self.input.as_deref().filter(|input| is_read_once(input)) {
            return Err(Error::Input(format!(
                "--input {}: cannot be read twice; start the list from a file",
                input.display()
            )));
        }
        set_threads(self.threads)?;
        let governance = self.governance.at(&identity);
        let identity = Identity::load(&identity)?;
        check_identity(&live.job, &me, &identity)?;
        let address = live.job.party(&me)?.address.clone();
        let listen = self.listen.or(address).ok_or_else(|| {
            Error::Input(format!("parties.{me}.address is missing: add it to the job file, or give --listen"))
        })?;
        let cancel = ConnectCancel::default();
        let serving = AuthorityConfig {
            reading: live.job.reading(&me, self.reading.options()),
            live,
            input: self.input,
            allow_unreadable: self.allow_unreadable,
            identity,
            state: self.state,
            listen,
            account: None,
            cancel: cancel.clone(),
        };
        interrupt::stands("ending when the questions under way are answered", move || cancel.cancel());
        let (job, owner, input) = (serving.live.job.clone(), serving.identity.clone(), serving.input.clone());
        let inputs: Vec<_> = input.iter().map(PathBuf::as_path).collect();
        governed(&governance, (&job, &me), &owner, &inputs, |account| {
            authority::serve(AuthorityConfig { account: Some(account.clone()), ..serving })
        })
    }
}
