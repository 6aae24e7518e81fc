//! `tacita ledger`

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use tacita_core::{Error, Result};

use super::help;
use crate::console::print;
use tacita_node::base::files::{Existing, write_private_over};
use tacita_node::base::text::shown;
use tacita_node::govern::ledger::{Contents, Ledger, LedgerEntry, export};
use tacita_node::identity::Identity;

/// Read the ledger of this party's runs.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita ledger list --identity id
  tacita ledger show 3 --identity id
  tacita ledger verify --identity id")]
pub struct LedgerCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Print one line for each run.
    #[command(after_help = r"Examples:
  tacita ledger list --identity id")]
    List {
        #[command(flatten)]
        place: LedgerPlace,
    },
    /// Print everything that is known of a run, as JSON.
    #[command(after_help = r"Examples:
  tacita ledger show 3 --identity id")]
    Show {
        /// Number of the entry.
        #[arg(value_name = "N")]
        entry: u64,
        #[command(flatten)]
        place: LedgerPlace,
    },
    /// Check that no entry was changed, cut or moved; exit with 2 if one was.
    #[command(after_help = r"Examples:
  tacita ledger verify --identity id")]
    Verify {
        #[command(flatten)]
        place: LedgerPlace,
    },
    /// Begin a new file, and keep the one so far under a number.
    ///
    /// Entries go on being counted, and all files are read: a file with a number must stay, and is not written any
    /// more.
    #[command(after_help = r"Examples:
  tacita ledger rotate --identity id")]
    Rotate {
        #[command(flatten)]
        place: LedgerPlace,
    },
    /// Write all entries to a file.
    #[command(after_help = r"Examples:
  tacita ledger export --identity id --output ledger.json
  tacita ledger export --identity id --format html --output ledger.html")]
    Export {
        #[command(flatten)]
        place: LedgerPlace,
        /// Format of the file [default: by its ending, or json].
        #[arg(long, value_enum, help_heading = help::RESULT)]
        format: Option<ExportFormat>,
        /// File to write [default: standard output].
        #[arg(long, value_name = "FILE", help_heading = help::RESULT)]
        output: Option<PathBuf>,
    },
}

/// Place of a ledger.
#[derive(Args)]
struct LedgerPlace {
    /// Directory of this party's key pair.
    #[arg(long, value_name = "DIR", help_heading = help::PARTY)]
    identity: PathBuf,
    /// Directory of the ledger [default: the identity's directory].
    #[arg(long, value_name = "DIR", help_heading = help::GOVERNANCE)]
    ledger: Option<PathBuf>,
}

/// Format of an exported ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExportFormat {
    Json,
    Csv,
    Html,
}

impl LedgerPlace {
    fn open(&self) -> Result<Ledger> {
        let identity = Identity::load(&self.identity)?;
        Ledger::open(self.ledger.as_ref().unwrap_or(&self.identity), &identity)
    }

    fn read(&self) -> Result<Contents> {
        self.open()?.read()
    }
}

impl LedgerCommand {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        match self.action {
            Action::List { place } => place.read()?.entries.iter().try_for_each(|entry| print(line(entry))),
            Action::Show { entry, place } => show(place.read()?.entry(entry)?),
            Action::Verify { place } => print(place.read()?.verify()?),
            Action::Rotate { place } => {
                let name = place.open()?.rotate()?;
                print(format!("the entries so far are in {name} from now on; the next go into a new file, ledger"))
            }
            Action::Export { place, format, output } => {
                let ending = output.as_ref().and_then(|path| path.extension()?.to_str());
                let by_ending = match ending {
                    Some("csv") => ExportFormat::Csv,
                    Some("html") => ExportFormat::Html,
                    _ => ExportFormat::Json,
                };
                let entries = place.read()?.entries;
                let text = match format.unwrap_or(by_ending) {
                    ExportFormat::Json => export::json(&entries)?,
                    ExportFormat::Csv => export::csv(&entries)?,
                    ExportFormat::Html => export::html(&entries),
                };
                match output {
                    Some(path) => write_private_over(&path, text.as_bytes(), Existing::Kept),
                    None => print(text.trim_end()),
                }
            }
        }
    }
}

fn line(entry: &LedgerEntry) -> String {
    let peers: Vec<_> = entry.begun.peers.keys().map(|name| shown(name)).collect();
    let (begun, outcome) = (&entry.begun, entry.outcome());
    format!("{} {} {outcome} {} {} with {}", entry.entry, begun.time, begun.job, shown(&begun.id), peers.join(", "))
}

fn show(entry: &LedgerEntry) -> Result<()> {
    print(serde_json::to_string_pretty(entry).map_err(|error| Error::Internal(error.to_string()))?)
}
