//! `tacita pool`

use std::path::PathBuf;

use clap::{Args, Subcommand};
use tacita_core::Result;

use crate::console::print;
use crate::threads::set_threads;
use tacita_node::base::random::fresh_rng;
use tacita_node::jobs::dot::pool;

/// Make encryptions in advance for runs of `dot` by `paillier`, or say how many are left.
///
/// `tacita run JOB ... --pool DIR` takes them from there, each one once, and makes others when there are none left. All runs
/// with one pool have the same public key: keep a pool for each peer.
#[derive(Args)]
pub struct Pool {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    /// Add encryptions of 0 and of 1 to a pool, which is made if need be.
    Fill {
        /// Where the pool is kept. Never copy it, and never restore it from a copy.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// The file of the pool's key, best on another disk than the pool; made if it is not there. Whoever reads it can read
        /// all that was ever encrypted under it.
        #[arg(long, value_name = "FILE")]
        key: PathBuf,
        /// Encryptions of 1. Either kind serves any number; a run needs one for each number of the columns that it encrypts.
        #[arg(long, value_name = "N")]
        ones: u64,
        /// Encryptions of 0.
        #[arg(long, value_name = "N")]
        zeros: u64,
        /// The level of a new key, as in job files [default: bits128].
        #[arg(long, value_name = "LEVEL")]
        level: Option<String>,
        /// Allow levels of security that can be broken: bits112 and paper80.
        #[arg(long)]
        allow_insecure: bool,
        /// Threads for computation [default: all cores].
        #[arg(long, value_name = "N")]
        threads: Option<usize>,
    },
    /// Say how many encryptions of 0 and of 1 are left, and for which key.
    Status {
        /// Where the pool is kept.
        #[arg(value_name = "DIR")]
        directory: PathBuf,
    },
}

impl Pool {
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
