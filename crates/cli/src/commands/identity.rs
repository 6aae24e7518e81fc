//! `tacita identity`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tacita_core::{Error, Result};

use crate::console::print;
use tacita_node::identity;

/// Make, show or renew the key pair by which the other parties know this one.
#[derive(Args)]
pub struct Identity {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Make a key pair and a certificate in DIR, and print the fingerprint to give to the other parties.
    New {
        /// A new directory, or an existing one without an identity.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Name in the certificate; it is for people, the fingerprint is what counts.
        #[arg(long, default_value = "tacita")]
        name: String,
    },
    /// Print the fingerprint alone.
    Show {
        /// The directory of the identity.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
    /// Make a new certificate for the same key: the fingerprint stays.
    Renew {
        /// The directory of the identity.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

impl Identity {
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
