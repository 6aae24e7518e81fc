//! `tacita round`

mod told;

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::builder::RangedU64ValueParser;
use clap::{Args, Subcommand};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tacita_aggregate::database::backup::{Size, Where, back_up, restore};
use tacita_aggregate::participant::operate::{Operator, Order};
use tacita_aggregate::setting::Setting;
use tacita_core::{Error, Result};
use tacita_node::agreement::JobSpec;
use tacita_node::base::text::counted;
use tacita_node::identity::Identity;

use super::arguments;
use super::wait::{Wait, until_ready};
use crate::console::print;

/// Open, close and look at rounds of an aggregate job: for the operator of its database, who has the database's identity.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tacita round open job.toml --round 2026-11-30 --identity id/database\n  tacita round tighten job.toml --round \
    2026-11-30 --identity id/database --measure distinct --gap"
)]
pub struct Round {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Open a round: it takes reports from now on.
    Open(Which),
    /// Print all rounds that were opened, and how they stand.
    List(List),
    /// Close a round: it takes no reports any more, and its rows are counted when all of them are there.
    Close(Close),
    /// Print how a round stands.
    Status(Which),
    /// Print how many rows have how many reports, and reporters.
    Histogram(Which),
    /// Raise a threshold before the reveal, where the job says round.tighten = true.
    Tighten(Tighten),
    /// Have the keys of rows that pass revealed.
    Reveal(Which),
    /// Write all of a round that the database has to one sealed file, which is not there yet, with its key.
    ///
    /// It needs the database's identity to be put back: keep that as well, elsewhere. A round can be saved as soon as its proxies have sent all that they have,
    /// and, where there is one proxy, before the first report has come.
    Backup(Saved),
    /// Put a round back from such a file, into a storage that does not have it.
    Restore(Saved),
    /// Remove a round and all that is left of it. Its name is not used again.
    Remove(Which),
}

#[derive(Args)]
struct Which {
    #[command(flatten)]
    list: List,
    /// The round.
    #[arg(long, value_name = "ID")]
    round: String,
}

#[derive(Args)]
struct List {
    /// The job file.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Directory of the database's key pair.
    #[arg(long, value_name = "DIR")]
    identity: PathBuf,
    /// Print JSON, with all that the database tells.
    #[arg(long)]
    json: bool,
    #[arg(long, hide = true)]
    announce: Option<PathBuf>,
}

#[derive(Args)]
struct Saved {
    /// The job file.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// The round.
    #[arg(long, value_name = "ID")]
    round: String,
    /// Directory of the database's key pair.
    #[arg(long, value_name = "DIR")]
    identity: PathBuf,
    /// The database's state directory, which no process uses meanwhile.
    #[arg(long, value_name = "DIR")]
    state: PathBuf,
    /// Where rows are kept, as the database is told.
    #[arg(long, value_name = "URL")]
    storage: Option<String>,
    /// The file, in a directory that others cannot write to.
    #[arg(long, value_name = "FILE")]
    file: PathBuf,
}

#[derive(Args)]
struct Close {
    #[command(flatten)]
    which: Which,
    /// Go on without what this proxy has not sent, the N-th of the job file: for one that will not come back. It is missing in the result for good, which says
    /// so. Can be said of a round that is closed already, and several times.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 16))]
    without_proxy: Vec<usize>,
    /// Wait until nothing changes any more without the operator, for so long at most [default: for as long as it takes]: until the result is
    /// there or the round has failed; with round.tighten = true, until its rows are counted.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, value_parser = arguments::duration)]
    wait: Option<Option<Duration>>,
}

#[derive(Args)]
struct Tighten {
    #[command(flatten)]
    which: Which,
    /// What the threshold is of.
    #[arg(long, value_name = "count|distinct|sum|...")]
    measure: String,
    /// The new threshold.
    #[arg(
        long,
        value_name = "N",
        required_unless_present = "gap",
        conflicts_with = "gap",
        allow_negative_numbers = true
    )]
    to: Option<i64>,
    /// Put it into the widest gap between counts of rows.
    #[arg(long)]
    gap: bool,
}

impl Round {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        match self.action {
            Action::Open(which) => which.order(Order::Open),
            Action::List(list) => list.print(),
            Action::Close(Close { which, without_proxy, wait }) => {
                which.close(without_proxy.iter().map(|number| number - 1).collect(), wait)
            }
            Action::Status(which) => which.order(Order::Status),
            Action::Histogram(which) => which.order(Order::Histogram),
            Action::Tighten(Tighten { which, measure, to, gap }) => {
                which.order(Order::Tighten { measure, to: to.filter(|_| !gap) })
            }
            Action::Reveal(which) => which.order(Order::Reveal),
            Action::Backup(saved) => saved.act("saved", back_up),
            Action::Restore(saved) => saved.act("put back", restore),
            Action::Remove(which) => which.order(Order::Remove),
        }
    }
}

impl Saved {
    fn act(self, done: &str, act: impl FnOnce(&Where, &Path) -> Result<Size>) -> Result<()> {
        let Saved { job, round, identity, state, storage, file } = self;
        let setting = Setting::new(JobSpec::load(&job)?)?;
        let identity = Identity::load(&identity)?;
        let at = Where { setting, identity, state, storage: super::roles::storage(storage)?, round };
        let size = act(&at, &file)?;
        let parts = counted(size.parts, "part");
        tracing::info!("round {}: {done}, {} and {parts} of the result", at.round, counted(size.reports, "report"));
        Ok(())
    }
}

impl Which {
    fn order(self, order: Order) -> Result<()> {
        let told = self.list.operator()?.order(&self.round, &order)?;
        match order {
            _ if self.list.json => print_json(&told),
            Order::Histogram => told::histogram(&read(told)?),
            _ => told::status(&read(told)?),
        }
    }

    fn close(self, without: Vec<usize>, wait: Wait) -> Result<()> {
        if wait.is_none() {
            return self.order(Order::Close { without });
        }
        let operator = self.list.operator()?;
        operator.order(&self.round, &Order::Close { without })?;
        let status = until_ready(wait, || operator.outcome(&self.round))?;
        if self.list.json { print_json(&status) } else { told::status(&status) }
    }
}

impl List {
    fn operator(&self) -> Result<Operator> {
        let setting = Setting::new(JobSpec::load(&self.job)?)?;
        Operator::new(&setting, &Identity::load(&self.identity)?, self.announce.as_deref())
    }

    fn print(self) -> Result<()> {
        let rounds = self.operator()?.list()?;
        if self.json { print_json(&rounds) } else { told::list(&rounds) }
    }
}

fn read<T: DeserializeOwned>(told: Value) -> Result<T> {
    serde_json::from_value(told)
        .map_err(|_| Error::Protocol { peer: "the database".into(), check: "its answer cannot be read".into() })
}

fn print_json(told: &impl Serialize) -> Result<()> {
    print(serde_json::to_string_pretty(told).map_err(|error| Error::Internal(error.to_string()))?)
}
