//! `tacita prepare`

use std::path::PathBuf;

use clap::Args;
use tacita_core::{Error, Result};

use super::{arguments, help};
use crate::threads::set_threads;
use tacita_node::agreement::JobSpec;
use tacita_node::base::files::is_read_once;
use tacita_node::base::random::fresh_rng;
use tacita_node::base::text::{counted, pasted};
use tacita_node::jobs::intersect::{Loaded, prepared};

/// Precompute a sender that answers many small clients.
///
/// `tacita run JOB --as NAME --work DIR` then answers clients without reading the table again. The prepared data holds
/// a secret key, and is refused for other data or terms.
///
/// A client can link its queries across runs, and so combine what it learns. Bound it by `max_queries` and
/// `max_clients` in `[limits]`.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita prepare job.toml --as insurer --input insured.csv --work prepared
  tacita run job.toml --as insurer --identity id --work prepared")]
pub struct Prepare {
    /// Job file; its client may differ from run to run.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Name of the party that does not learn.
    #[arg(long = "as", value_name = "NAME", help_heading = help::PARTY)]
    me: String,
    /// Table of this party.
    #[arg(long, value_name = "FILE", help_heading = help::INPUT)]
    input: PathBuf,
    /// Directory for the prepared data.
    #[arg(long, value_name = "DIR", help_heading = help::RESULT)]
    work: PathBuf,
    /// Replace existing prepared data: a new key and fresh quotas.
    #[arg(long, help_heading = help::RESULT)]
    rotate: bool,
    /// Threads for computation [default: all cores].
    #[arg(long, value_name = "N", help_heading = help::RESOURCES)]
    threads: Option<usize>,
    #[command(flatten)]
    reading: arguments::ReadArguments,
    /// Continue although more than half of the keys are unreadable.
    #[arg(long, help_heading = help::INPUT)]
    allow_unreadable: bool,
}

impl Prepare {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let job = JobSpec::load(&self.job)?;
        job.party(&self.me)?;
        if is_read_once(&self.input) {
            return Err(Error::Input(format!(
                "--input {}: cannot be read twice; prepare from a file",
                self.input.display()
            )));
        }
        set_threads(self.threads)?;
        prepared::check_job(&job, &self.me)?;
        let options = job.reading(&self.me, self.reading.options());
        let loaded = Loaded::read(&job, &self.me, &self.input, &options, self.allow_unreadable)?;
        prepared::prepare(&job, &self.me, &loaded, &self.work, self.rotate, &mut fresh_rng()?)?;
        tracing::info!(
            "{}: prepared {}; answer clients with `tacita run {} --as {} --work {} --identity DIR`",
            self.work.display(),
            counted(loaded.sizes().items, "key"),
            pasted(self.job.display()),
            pasted(&self.me),
            pasted(self.work.display())
        );
        Ok(())
    }
}
