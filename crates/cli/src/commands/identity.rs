//! `tacita identity`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tacita_core::{Error, Result};

use super::help;
use crate::console::print;
use tacita_node::identity;

/// Create, show or renew this party's key pair.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita identity new id --name hospital
  tacita identity show id
  tacita identity renew id")]
pub struct IdentityCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Create a key pair and certificate, and print the fingerprint.
    ///
    /// Give the fingerprint to the other parties.
    #[command(after_help = r"Examples:
  tacita identity new id --name hospital")]
    New {
        /// New directory, or an existing one without an identity.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Name in the certificate, for people only; the fingerprint identifies the party.
        #[arg(long, default_value = "tacita", help_heading = help::PARTY)]
        name: String,
    },
    /// Print the fingerprint alone.
    #[command(after_help = r"Examples:
  tacita identity show id")]
    Show {
        /// Directory of the identity.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Create a new certificate for the same key; the fingerprint stays.
    #[command(after_help = r"Examples:
  tacita identity renew id")]
    Renew {
        /// Directory of the identity.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

impl IdentityCommand {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let fingerprint = match self.action {
            Action::New { directory, name } => {
                if name.is_empty() || name.len() > 64 || name.chars().any(char::is_control) {
                    return Err(Error::Input("--name: use 1 to 64 printable characters".into()));
                }
                let identity = identity::Identity::create(&directory, &name)?;
                tracing::info!("{}: new identity; give this fingerprint to the other parties:", directory.display());
                identity.fingerprint()
            }
            Action::Show { directory } => identity::Identity::load(&directory)?.fingerprint(),
            Action::Renew { directory } => identity::Identity::renew(&directory, None)?.fingerprint(),
        };
        print(fingerprint)?;
        Ok(())
    }
}
