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
use tacita_aggregate::participant::operate::{Operator, RoundOrder};
use tacita_aggregate::setting::ServiceConfig;
use tacita_core::{Error, Result};
use tacita_node::agreement::JobSpec;
use tacita_node::base::text::counted;
use tacita_node::base::text::json;
use tacita_node::identity::Identity;

use super::wait::{Wait, until_ready};
use super::{arguments, help};
use crate::console::print;

/// Open, close and inspect rounds, as the database's operator.
///
/// All actions need the identity of the database.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita round open job.toml --round 2026-11-30 --identity id/database
  tacita round close job.toml --round 2026-11-30 --identity id/database --wait
  tacita round list job.toml --identity id/database")]
pub struct RoundCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Open a round for reports.
    #[command(after_help = r"Examples:
  tacita round open job.toml --round 2026-11-30 --identity id/database")]
    Open(Which),
    /// List all rounds with their status.
    #[command(after_help = r"Examples:
  tacita round list job.toml --identity id/database --json")]
    List(List),
    /// Close a round. Its rows are counted when all reports are there.
    #[command(after_help = r"Examples:
  tacita round close job.toml --round 2026-11-30 --identity id/database
  tacita round close job.toml --round 2026-11-30 --identity id/database \
    --without-proxy 2 --wait=2h")]
    Close(Close),
    /// Print the status of a round.
    #[command(after_help = r"Examples:
  tacita round status job.toml --round 2026-11-30 --identity id/database")]
    Status(Which),
    /// Print how many rows have how many reports and reporters.
    #[command(after_help = r"Examples:
  tacita round histogram job.toml --round 2026-11-30 --identity id/database")]
    Histogram(Which),
    /// Raise a threshold before the reveal, if round.tighten = true.
    #[command(after_help = r"Examples:
  tacita round tighten job.toml --round 2026-11-30 --identity id/database \
    --measure distinct --gap
  tacita round tighten job.toml --round 2026-11-30 --identity id/database \
    --measure count --to 10")]
    Tighten(Tighten),
    /// Reveal the keys of rows that pass.
    #[command(after_help = r"Examples:
  tacita round reveal job.toml --round 2026-11-30 --identity id/database")]
    Reveal(Which),
    /// Save a round with its key to a new encrypted file.
    ///
    /// A restore needs the database's identity: keep that as well, elsewhere. A round can be saved once its proxies
    /// have sent all reports. With a single proxy, it can also be saved before the first report.
    #[command(after_help = r"Examples:
  tacita round backup job.toml --round 2026-11-30 --identity id/database \
    --state database --file round.backup")]
    Backup(Saved),
    /// Restore a round from such a file into a storage without it.
    #[command(after_help = r"Examples:
  tacita round restore job.toml --round 2026-11-30 --identity id/database \
    --state database --file round.backup")]
    Restore(Saved),
    /// Delete a round and all its data. Its name cannot be used again.
    #[command(after_help = r"Examples:
  tacita round remove job.toml --round 2026-11-30 --identity id/database")]
    Remove(Which),
}

#[derive(Args)]
struct Which {
    #[command(flatten)]
    list: List,
    /// Identifier of the round.
    #[arg(long, value_name = "ID", help_heading = help::ROUND)]
    round: String,
}

#[derive(Args)]
struct List {
    /// Job file.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Directory of the database's key pair.
    #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
    identity: PathBuf,
    /// Print JSON, with all details from the database.
    #[arg(long, help_heading = help::RESULT)]
    json: bool,
    #[arg(long, hide = true)]
    announce: Option<PathBuf>,
}

#[derive(Args)]
struct Saved {
    /// Job file.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Identifier of the round.
    #[arg(long, value_name = "ID", help_heading = help::ROUND)]
    round: String,
    /// Directory of the database's key pair.
    #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
    identity: PathBuf,
    /// State directory of the database; no process may use it meanwhile.
    #[arg(long, value_name = "DIR", help_heading = help::RESOURCES)]
    state: PathBuf,
    /// Storage of rows, as given to `tacita database`.
    #[arg(long, value_name = "URL", help_heading = help::RESOURCES)]
    storage: Option<String>,
    /// Backup file, in a directory that others cannot write to.
    #[arg(long, value_name = "FILE", help_heading = help::RESOURCES)]
    file: PathBuf,
}

#[derive(Args)]
struct Close {
    #[command(flatten)]
    which: Which,
    /// Continue without the missing reports of the N-th proxy of the job file, which is lost for good. The result
    /// states the gap. Works on closed rounds, and can be repeated.
    #[arg(
        long,
        value_name = "N",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..=1 << 16),
        help_heading = help::ROUND
    )]
    without_proxy: Vec<usize>,
    /// Wait for the result or a failure, at most TIME [default: no limit]. With round.tighten = true, wait until the
    /// rows are counted.
    #[arg(
        long,
        value_name = "TIME",
        num_args = 0..=1,
        require_equals = true,
        value_parser = arguments::duration,
        help_heading = help::ROUND
    )]
    wait: Option<Option<Duration>>,
}

#[derive(Args)]
struct Tighten {
    #[command(flatten)]
    which: Which,
    /// Measure of the threshold.
    #[arg(long, value_name = "count|distinct|sum|...", help_heading = help::ROUND)]
    measure: String,
    /// New threshold.
    #[arg(
        long,
        value_name = "N",
        required_unless_present = "gap",
        conflicts_with = "gap",
        allow_negative_numbers = true, help_heading = help::ROUND)]
    to: Option<i64>,
    /// Place the threshold in the widest gap between counts of rows.
    #[arg(long, help_heading = help::ROUND)]
    gap: bool,
}

impl RoundCommand {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        match self.action {
            Action::Open(which) => which.order(RoundOrder::Open),
            Action::List(list) => list.print(),
            Action::Close(Close { which, without_proxy, wait }) => {
                which.close(without_proxy.iter().map(|number| number - 1).collect(), wait)
            }
            Action::Status(which) => which.order(RoundOrder::Status),
            Action::Histogram(which) => which.order(RoundOrder::Histogram),
            Action::Tighten(Tighten { which, measure, to, gap }) => {
                which.order(RoundOrder::Tighten { measure, to: to.filter(|_| !gap) })
            }
            Action::Reveal(which) => which.order(RoundOrder::Reveal),
            Action::Backup(saved) => saved.act("saved", back_up),
            Action::Restore(saved) => saved.act("restored", restore),
            Action::Remove(which) => which.order(RoundOrder::Remove),
        }
    }
}

impl Saved {
    fn act(self, done: &str, act: impl FnOnce(&Where, &Path) -> Result<Size>) -> Result<()> {
        let Saved { job, round, identity, state, storage, file } = self;
        let setting = ServiceConfig::new(JobSpec::load(&job)?)?;
        let identity = Identity::load(&identity)?;
        let at = Where { setting, identity, state, storage: super::roles::storage(storage)?, round };
        let size = act(&at, &file)?;
        let parts = counted(size.parts, "part");
        tracing::info!("round {}: {done}, {} and {parts} of the result", at.round, counted(size.reports, "report"));
        Ok(())
    }
}

impl Which {
    fn order(self, order: RoundOrder) -> Result<()> {
        let told = self.list.operator()?.order(&self.round, &order)?;
        match order {
            _ if self.list.json => print_json(&told),
            RoundOrder::Histogram => told::histogram(&read(told)?),
            _ => told::status(&read(told)?),
        }
    }

    fn close(self, without: Vec<usize>, wait: Wait) -> Result<()> {
        if wait.is_none() {
            return self.order(RoundOrder::Close { without });
        }
        let operator = self.list.operator()?;
        operator.order(&self.round, &RoundOrder::Close { without })?;
        let status = until_ready(wait, || operator.outcome(&self.round))?;
        if self.list.json { print_json(&status) } else { told::status(&status) }
    }
}

impl List {
    fn operator(&self) -> Result<Operator> {
        let setting = ServiceConfig::new(JobSpec::load(&self.job)?)?;
        Operator::new(&setting, &Identity::load(&self.identity)?, self.announce.as_deref())
    }

    fn print(self) -> Result<()> {
        let rounds = self.operator()?.list()?;
        if self.json { print_json(&rounds) } else { told::list(&rounds) }
    }
}

fn read<T: DeserializeOwned>(told: Value) -> Result<T> {
    serde_json::from_value(told)
        .map_err(|_| Error::Protocol { peer: "the database".into(), check: "its answer is malformed".into() })
}

fn print_json(told: &impl Serialize) -> Result<()> {
    print(json(serde_json::to_string_pretty(told))?)
}
