//! `tacita prepare`

use std::path::PathBuf;

use clap::Args;
use tacita_core::{Error, Result};

use super::arguments;
use crate::threads::set_threads;
use tacita_node::agreement::JobSpec;
use tacita_node::base::files::is_read_once;
use tacita_node::base::random::fresh_rng;
use tacita_node::base::text::{counted, pasted};
use tacita_node::jobs::intersect::{Loaded, prepared};

/// Make the reusable part of a party that answers many small clients.
///
/// `tacita run JOB --as NAME --work DIR` then answers one client after the other without reading the table again. The
/// part is bound to the data and the terms, and refused for others; it holds a secret key. A client can link what it
/// asks in different runs, so what it learns adds up: `[limits] max_queries` and `max_clients` bound it.
#[derive(Args)]
pub struct Prepare {
    /// The job file; the client's party may differ from run to run.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// The party to be: the one that does not learn.
    #[arg(long = "as", value_name = "NAME")]
    me: String,
    /// Its table.
    #[arg(long, value_name = "FILE")]
    input: PathBuf,
    /// Where the part is kept.
    #[arg(long, value_name = "DIR")]
    work: PathBuf,
    /// Replace a part that is there: a new key, and fresh quotas.
    #[arg(long)]
    rotate: bool,
    /// Threads for computation [default: all cores].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    #[command(flatten)]
    reading: arguments::Reading,
    /// Go on although more than half of the keys cannot be read.
    #[arg(long)]
    allow_unreadable: bool,
}

impl Prepare {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let job = JobSpec::load(&self.job)?;
        job.party(&self.me)?;
        if is_read_once(&self.input) {
            return Err(Error::Input(format!("--input {}: a part is prepared from a file", self.input.display())));
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
