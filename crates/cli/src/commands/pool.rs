//! `tacita pool`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tacita_core::Result;

use super::help;
use crate::console::print;
use crate::threads::set_threads;
use tacita_node::base::random::fresh_rng;
use tacita_node::jobs::dot::pool;

/// Precompute Paillier encryptions for job "dot".
///
/// `tacita run JOB ... --pool DIR` uses each encryption once, and computes more when the pool is empty. All runs with
/// one pool share a public key: keep one pool for each peer.
#[derive(Args)]
#[command(after_help = r"Examples:
  tacita pool fill pool --key pool.key --ones 100000 --zeros 100000
  tacita pool status pool")]
pub struct PoolCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Add encryptions of 0 and 1 to a pool, created if missing.
    #[command(after_help = r"Examples:
  tacita pool fill pool --key pool.key --ones 100000 --zeros 100000")]
    Fill {
        /// Directory of the pool. Never copy it, and never restore it from a copy.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Key file of the pool, best on another disk; created if missing. Its readers can decrypt everything ever
        /// encrypted under it.
        #[arg(long, value_name = "FILE", help_heading = help::POOL)]
        key: PathBuf,
        /// Number of encryptions of 1. Each number that a run encrypts takes one encryption, of either kind.
        #[arg(long, value_name = "N", help_heading = help::POOL)]
        ones: u64,
        /// Number of encryptions of 0.
        #[arg(long, value_name = "N", help_heading = help::POOL)]
        zeros: u64,
        /// Security level of a new key, as in job files [default: bits128].
        #[arg(long, value_name = "LEVEL", help_heading = help::PROTOCOL)]
        level: Option<String>,
        /// Allow breakable security levels: bits112 and paper80.
        #[arg(long, help_heading = help::PROTOCOL)]
        allow_insecure: bool,
        /// Threads for computation [default: all cores].
        #[arg(long, value_name = "N", help_heading = help::RESOURCES)]
        threads: Option<usize>,
    },
    /// Print the numbers of unused encryptions, and their key.
    #[command(after_help = r"Examples:
  tacita pool status pool")]
    Status {
        /// Directory of the pool.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

impl PoolCommand {
    /// Carries the command out.
    pub fn execute(self) -> Result<()> {
        let status = match self.action {
            Action::Fill { directory, key, ones, zeros, level, allow_insecure, threads } => {
                let level = level.as_deref().map(str::parse).transpose()?;
                let fill = pool::Fill { directory, key_file: key, level, ones, zeros };
                fill.check_secure(allow_insecure)?;
                set_threads(threads)?;
                pool::fill(&fill, &mut fresh_rng()?)?
            }
            Action::Status { directory } => pool::status(&directory)?,
        };
        print(format_args!("ones {}", status.ones))?;
        print(format_args!("zeros {}", status.zeros))?;
        print(format_args!("key {}", status.key))?;
        print(format_args!("bits {}", status.bits))?;
        print(format_args!("key_file {}", status.key_file.display()))
    }
}
