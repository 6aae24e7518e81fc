//! `tacita submit`

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tacita_aggregate::participant::submit::{Submitting, submit};
use tacita_aggregate::setting::ServiceConfig;
use tacita_core::Result;
use tacita_node::agreement::JobSpec;
use tacita_node::base::cancel::Cancel;
use tacita_node::identity::Identity;
use tacita_node::jobs::aggregate::reports::ReportsInput;
use tacita_node::run::report::write_json;
use tacita_node::table::read::Listing;
use tacita_serve::run::governed;

use super::run::PolicyOptions;
use super::{arguments, help};
use crate::console::{self, LogOptions};
use crate::interrupt;
use crate::threads::set_threads;

/// Submit a participant's reports to a round.
///
/// Reports travel encrypted to the proxy in batches, and each batch counts once. After an interruption, submit the
/// same file again: nothing counts twice, and --resume skips delivered batches. If the round has closed, the remaining
/// reports go to the round that replaced it.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita submit job.toml --as alice --identity id \
    --input attackers.csv --round 2026-11-30
  zcat conn.log.gz | tacita submit job.toml --as alice --identity id \
    --input - --format-in zeek --round 2026-11-30")]
pub struct Submit {
    /// Job file, identical everywhere.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Name of this participant in the proxy's list.
    #[arg(long = "as", value_name = "NAME", help_heading = help::PARTY)]
    me: String,
    /// Directory of this participant's key pair.
    #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
    identity: PathBuf,
    /// Reports: a table (CSV, Parquet, Arrow), a list of addresses or keys, a log, or - for standard input.
    #[arg(long, value_name = "FILE", help_heading = help::INPUT)]
    input: PathBuf,
    /// Identifier of the round.
    #[arg(long, value_name = "ID", help_heading = help::ROUND)]
    round: String,
    /// Kind of the input, if its content does not show it.
    #[arg(long, value_name = "table|list|netset|ipset|zeek", help_heading = help::INPUT)]
    format_in: Option<Listing>,
    /// Maximum number of addresses to which all networks of the input expand.
    #[arg(long, value_name = "N", help_heading = help::INPUT)]
    expand: Option<u64>,
    #[command(flatten)]
    reading: arguments::Text,
    /// Continue although more than half of the keys are unreadable.
    #[arg(long, help_heading = help::INPUT)]
    allow_unreadable: bool,
    /// Ask a proxy for its batches, and skip those.
    #[arg(long, help_heading = help::ROUND)]
    resume: bool,
    /// Reports in a batch [default: as many as a request holds]. Another number splits the file into other batches,
    /// which count again.
    #[arg(long, value_name = "N", help_heading = help::ROUND)]
    batch: Option<usize>,
    /// Longest wait for a connection to the proxy. With several proxies, each is tried for a tenth of it.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        value_parser = arguments::duration,
        help_heading = help::CONNECTION
    )]
    timeout: Duration,
    /// Longest time of retries while every proxy is busy, or its queue full.
    #[arg(
        long,
        value_name = "TIME",
        default_value = "10min",
        value_parser = arguments::duration,
        help_heading = help::CONNECTION
    )]
    patience: Duration,
    /// JSON file for the report of the submission.
    #[arg(long, value_name = "FILE", help_heading = help::RESULT)]
    report: Option<PathBuf>,
    /// Threads for computation [default: all cores].
    #[arg(long, value_name = "N", help_heading = help::RESOURCES)]
    threads: Option<usize>,
    #[arg(long, hide = true)]
    announce: Option<PathBuf>,
    /// Allow breakable security levels.
    #[arg(long, help_heading = help::PROTOCOL)]
    allow_insecure: bool,
    #[command(flatten)]
    governance: PolicyOptions,
}

impl Submit {
    /// Carries the command out.
    pub fn execute(self, voice: LogOptions) -> Result<()> {
        let spec = JobSpec::load(&self.job)?;
        spec.check_secure(self.allow_insecure)?;
        if let Some(path) = &self.report {
            tacita_node::base::files::check_writable(path)?;
        }
        set_threads(self.threads)?;
        let cancel = Cancel::default();
        interrupt::ends(cancel.clone());
        let (identity, governance) = (Identity::load(&self.identity)?, self.governance.at(&self.identity));
        let (job, me, input) = (spec.clone(), self.me.clone(), self.input.clone());
        let submitting = Submitting {
            setting: Arc::new(ServiceConfig::new(spec)?),
            me: self.me,
            identity: identity.clone(),
            input: ReportsInput {
                path: self.input,
                options: self.reading.options(),
                listing: self.format_in,
                expand: self.expand,
                allow_unreadable: self.allow_unreadable,
            },
            round: self.round,
            resume: self.resume,
            batch: self.batch,
            timeout: self.timeout,
            patience: self.patience,
            announce: self.announce,
            screen: console::screen(voice),
            cancel,
        };
        let report = governed(&governance, (&job, &me), &identity, &[&input], |_| submit(&submitting))?;
        self.report.map_or(Ok(()), |path| write_json(&path, &report))
    }
}
