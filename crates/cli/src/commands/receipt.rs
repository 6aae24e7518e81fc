//! `tacita receipt`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tacita_core::Result;

use crate::console::print;
use tacita_node::base::text::shown;
use tacita_node::govern::receipt::{Phase, ReceiptFile};

/// Verify the receipts of a run.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita receipt verify receipt.json")]
pub struct ReceiptCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Check all signatures in a file of --receipt, and print what they prove.
    #[command(after_help = r"Examples:
  tacita receipt verify receipt.json")]
    Verify {
        /// File written by `tacita run --receipt`.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
}

impl ReceiptCommand {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let Action::Verify { file } = self.action;
        let receipts = ReceiptFile::load(&file)?;
        if let Some(facts) = receipts.facts() {
            print(format!("run {}", facts.run))?;
            print(format!("job {} {} by {}", shown(&facts.job), shown(&facts.id), shown(&facts.protocol)))?;
            print(format!("agreement {}", shown(&facts.agreement)))?;
            for party in &facts.parties {
                let learns = if party.learns { ", learns" } else { "" };
                print(format!(
                    "{} {} announced {}{learns}",
                    shown(&party.name),
                    shown(&party.identity),
                    party.announced
                ))?;
            }
        }
        for receipt in
            [&receipts.begun, &receipts.ended].into_iter().flat_map(|phase| phase.own.iter().chain(&phase.peers))
        {
            let statement = &receipt.statement;
            let phase = match statement.phase {
                Phase::Begun => "begun",
                Phase::Ended => "ended",
            };
            let (by, to) = (shown(&statement.by), shown(&statement.to));
            print(format!("{phase} signed by {by} for {to} at {} (entry {})", statement.time, statement.entry))?;
        }
        Ok(())
    }
}
