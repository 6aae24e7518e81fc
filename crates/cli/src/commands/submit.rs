//! `tacita submit`

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use tacita_aggregate::participant::submit::{Submitting, submit};
use tacita_aggregate::setting::Setting;
use tacita_core::Result;
use tacita_node::agreement::JobSpec;
use tacita_node::base::cancel::Cancel;
use tacita_node::identity::Identity;
use tacita_node::jobs::aggregate::reports::Input;
use tacita_node::run::report::write_json;
use tacita_node::table::read::Listing;

use super::arguments;
use crate::console::{self, Voice};
use crate::interrupt;
use crate::threads::set_threads;

/// Submit this participant's reports to a round of an aggregate job.
///
/// The reports go to the proxy encrypted, batch by batch; each batch is taken once, however often it is sent. A run that was cut off is submitted
/// again with the same file: nothing counts twice, and with --resume what is there is not encrypted again. If the round has closed, what
/// was not submitted to it goes to the one that is open in its place.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  tacita submit job.toml --as alice --identity id --input attackers.csv --round 2026-11-30\n  \
    zcat conn.log.gz | tacita submit job.toml --as alice --identity id --input - --format-in zeek --round 2026-11-30"
)]
pub struct Submit {
    /// The job file: the same everywhere.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// The participant to be, as the proxy's list of participants calls it.
    #[arg(long = "as", value_name = "NAME")]
    me: String,
    /// Directory of this participant's key pair.
    #[arg(long, value_name = "DIR")]
    identity: PathBuf,
    /// What is reported: a table (CSV, Parquet, Arrow), a list of addresses or keys, a log, or - for standard input.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// The round.
    #[arg(long, value_name = "ID")]
    round: String,
    /// What the input is, where its content does not tell.
    #[arg(long, value_name = "table|list|netset|ipset|zeek")]
    format_in: Option<Listing>,
    /// Into how many addresses the networks of the input are expanded at most, all together.
    #[arg(long, value_name = "N")]
    expand: Option<u64>,
    #[command(flatten)]
    reading: arguments::Text,
    /// Go on although more than half of the keys cannot be read.
    #[arg(long)]
    allow_unreadable: bool,
    /// Ask which batches the proxy has, or any of several that answers, and leave those out.
    #[arg(long)]
    resume: bool,
    /// Reports of a batch [default: as many as a request holds]. With another number the same file makes other batches, which count again.
    #[arg(long, value_name = "N")]
    batch: Option<usize>,
    /// How long to try to reach the proxy; where there are several, each is tried for a tenth of it before the next.
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = arguments::duration)]
    timeout: Duration,
    /// How long to come again where the proxy, or each of several, is too busy, or its queue full.
    #[arg(long, value_name = "TIME", default_value = "10min", value_parser = arguments::duration)]
    patience: Duration,
    /// Write a report to this JSON file.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Threads for computation [default: all cores].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[arg(long, hide = true)]
    announce: Option<PathBuf>,
    /// Allow levels of security that can be broken.
    #[arg(long)]
    allow_insecure: bool,
}

impl Submit {
    /// Carries the command out.
    pub fn execute(self, voice: Voice) -> Result<()> {
        let spec = JobSpec::load(&self.job)?;
        spec.check_secure(self.allow_insecure)?;
        if let Some(path) = &self.report {
            tacita_node::base::files::check_writable(path)?;
        }
        set_threads(self.threads)?;
        let cancel = Cancel::default();
        interrupt::ends(cancel.clone());
        let report = submit(&Submitting {
            setting: Arc::new(Setting::new(spec)?),
            me: self.me,
            identity: Identity::load(&self.identity)?,
            input: Input {
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
        })?;
        self.report.map_or(Ok(()), |path| write_json(&path, &report))
    }
}
