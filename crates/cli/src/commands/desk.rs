//! `tacita desk`

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tacita_core::{Error, Result};
use tacita_node::agreement::JobSpec;
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::live::Live;
use tacita_node::transport::Cancel;
use tacita_serve::desk::check::{Checked, Checking, check};
use tacita_serve::desk::{self, Asking, Serving};
use tacita_serve::page::Origin;

use super::arguments;
use crate::console::print;
use crate::interrupt;
use crate::threads::set_threads;

/// Ask an authority whether rows are on its list, one by one or many at once, on a page in the browser.
///
/// Prints the page's address, which holds its key: open it in a browser on this machine. The authority runs `tacita serve` with the same job
/// file, and has this identity in its list of desks.
#[derive(Args)]
#[command(after_help = "Examples:\n  tacita desk job.toml --as airline --identity id --verdicts verdicts.jsonl\n  \
    tacita desk job.toml --as airline --identity id --check flight.csv > verdicts.csv")]
pub struct Desk {
    /// The job file: the same at the authority.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// The party to be: the one that asks.
    #[arg(long = "as", value_name = "NAME")]
    me: String,
    /// Directory of this desk's key pair.
    #[arg(long, value_name = "DIR")]
    identity: PathBuf,
    /// Where the page is.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", value_parser = page)]
    page: SocketAddr,
    /// Allow a page that others can reach; it is not encrypted.
    #[arg(long)]
    allow_remote_page: bool,
    /// Where the page is opened, if something in front of it encrypts: https://HOST, as in https://desk.example.
    #[arg(long, value_name = "URL")]
    origin: Option<Origin>,
    /// Where verdicts are kept, one line of JSON each: time, reference, verdict, list. Not whom was asked for.
    #[arg(long, value_name = "FILE", default_value = "verdicts.jsonl")]
    verdicts: PathBuf,
    /// Check the rows of this table and end, without a page: prints the verdicts as CSV. The exit code is 0 if all were checked.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["page", "allow_remote_page", "origin"])]
    check: Option<PathBuf>,
    /// The column of references of that table [default: reference, if there is one].
    #[arg(long, value_name = "COLUMN", requires = "check")]
    reference: Option<String>,
    #[command(flatten)]
    reading: arguments::Reading,
    /// Threads for computation [default: all cores].
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
}

/// `127.0.0.1:8080`
fn page(text: &str) -> std::result::Result<SocketAddr, String> {
    let text = text.strip_prefix("localhost:").map_or(text.to_owned(), |port| format!("127.0.0.1:{port}"));
    text.parse().map_err(|_| "use a number and a port, as in 127.0.0.1:8080".into())
}

/// Checks a table, and prints its verdicts.
fn checked(checking: Checking) -> Result<()> {
    let Checked { csv, progress, unchecked } = check(checking)?;
    print(csv.trim_end())?;
    tracing::info!("{progress}");
    unchecked.map_or(Ok(()), Err)
}

impl Desk {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let live = Live::of(JobSpec::load(&self.job)?, &self.me)?;
        if self.me != live.desk {
            return Err(Error::Input(format!(
                "--as {}: {} asks in this job; {} has the list, and serves it with `tacita serve`",
                self.me, live.desk, live.authority
            )));
        }
        let authority = live.job.party(&live.authority)?;
        if authority.address.is_none() || authority.identity.is_none() {
            return Err(Error::Input(format!(
                "parties.{0}: a desk has to know its address and its identity: ask {0} for the job file that has both",
                live.authority
            )));
        }
        set_threads(self.threads)?;
        let identity = Identity::load(&self.identity)?;
        let cancel = Cancel::default();
        let stop = cancel.clone();
        interrupt::stands("ending when the requests under way are answered", move || stop.cancel());
        let reading = live.job.reading(&self.me, self.reading.options());
        let asking = Asking { live, identity, cancel };
        if let Some(table) = self.check {
            let Desk { reference, verdicts, .. } = self;
            return checked(Checking { asking, table, reading, reference, verdicts });
        }
        desk::serve(Serving {
            asking,
            page: self.page,
            allow_remote: self.allow_remote_page,
            origin: self.origin,
            verdicts: self.verdicts,
            told: |address| {
                // Nobody may read standard output any more; the page is there all the same.
                let _ = print(address.to_owned());
            },
        })
    }
}
