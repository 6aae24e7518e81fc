//! `tacita desk`

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use tacita_core::{Error, Result};
use tacita_node::agreement::JobSpec;
use tacita_node::govern::account::Governance;
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::live::Live;
use tacita_node::table::ReadOptions;
use tacita_node::transport::ConnectCancel;
use tacita_serve::desk::check::{Checked, Checking, check};
use tacita_serve::desk::{self, Asking, DeskConfig};
use tacita_serve::page::PageOrigin;
use tacita_serve::run::governed;

use super::{arguments, help};
use crate::console::print;
use crate::interrupt;
use crate::threads::set_threads;

/// Check rows against an authority's list, in the browser.
///
/// Prints the address of a page, which contains its key: open it in a browser on this machine. The authority runs
/// `tacita serve` with the same job file, and lists this identity among its desks.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita desk job.toml --as airline --identity id --verdicts verdicts.jsonl
  tacita desk job.toml --as airline --identity id \
    --check flight.csv > verdicts.csv")]
pub struct DeskCommand {
    /// Job file, identical at the authority.
    #[arg(value_name = "JOB")]
    job: PathBuf,
    /// Name of the party that asks.
    #[arg(long = "as", value_name = "NAME", help_heading = help::PARTY)]
    me: String,
    /// Directory of this desk's key pair.
    #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
    identity: PathBuf,
    /// Address of the page.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:8080", value_parser = page, help_heading = help::PAGE)]
    page: SocketAddr,
    /// Allow a page that other machines can reach; it is not encrypted.
    #[arg(long, help_heading = help::PAGE)]
    allow_remote_page: bool,
    /// Public address of the page behind a reverse proxy with TLS: https://HOST, as https://desk.example.
    #[arg(long, value_name = "URL", help_heading = help::PAGE)]
    origin: Option<PageOrigin>,
    /// File for verdicts, one JSON object a line: time, reference, verdict, list. The rows asked about are not stored.
    #[arg(long, value_name = "FILE", default_value = "verdicts.jsonl", help_heading = help::RESULT)]
    verdicts: PathBuf,
    /// Table to check without a page; prints the verdicts as CSV. Exit code 0 means that all rows were checked.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["page", "allow_remote_page", "origin"],
        help_heading = help::INPUT
    )]
    check: Option<PathBuf>,
    /// Column of references in that table [default: reference, if present].
    #[arg(long, value_name = "COLUMN", requires = "check", help_heading = help::INPUT)]
    reference: Option<String>,
    #[command(flatten)]
    reading: arguments::ReadArguments,
    /// Threads for computation [default: all cores].
    #[arg(long, value_name = "N", help_heading = help::RESOURCES)]
    threads: Option<usize>,
}

/// `127.0.0.1:8080`
fn page(text: &str) -> std::result::Result<SocketAddr, String> {
    let text = text.strip_prefix("localhost:").map_or(text.to_owned(), |port| format!("127.0.0.1:{port}"));
    text.parse().map_err(|_| "use an IP address and a port, as 127.0.0.1:8080".into())
}

/// Checks a table, and prints its verdicts.
fn checked(checking: Checking) -> Result<()> {
    let Checked { csv, progress, unchecked } = check(checking)?;
    print(csv.trim_end())?;
    tracing::info!("{progress}");
    unchecked.map_or(Ok(()), Err)
}

impl DeskCommand {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let live = Live::of(JobSpec::load(&self.job)?, &self.me)?;
        if self.me != live.desk {
            return Err(Error::Input(format!(
                "--as {}: {} asks in this job; {} holds the list, and serves it with `tacita serve`",
                self.me, live.desk, live.authority
            )));
        }
        let authority = live.job.party(&live.authority)?;
        if authority.address.is_none() || authority.identity.is_none() {
            return Err(Error::Input(format!(
                "parties.{0}: address or identity is missing; ask {0} for the complete job file",
                live.authority
            )));
        }
        set_threads(self.threads)?;
        let identity = Identity::load(&self.identity)?;
        let cancel = ConnectCancel::default();
        let stop = cancel.clone();
        interrupt::stands("ending when the requests under way are answered", move || stop.cancel());
        let reading = live.job.reading(&self.me, self.reading.options());
        let (governance, job, owner) = (Governance::at(&self.identity), live.job.clone(), identity.clone());
        let asking = Asking { live, identity, cancel };
        governed(&governance, (&job, &self.me.clone()), &owner, &[], |_| self.ask(asking, reading))
    }

    /// Asks for the keys of a table, or serves the page.
    fn ask(self, asking: Asking, reading: ReadOptions) -> Result<()> {
        if let Some(table) = self.check {
            let DeskCommand { reference, verdicts, .. } = self;
            return checked(Checking { asking, table, reading, reference, verdicts });
        }
        desk::serve(DeskConfig {
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
