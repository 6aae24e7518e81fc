//! How much memory a run may take.

mod available;

use std::fmt;

use tacita_core::{Error, Result};

pub use self::available::available;
use super::text;

/// What is assumed to be available where the system does not tell.
pub const ASSUMED: u64 = 2 << 30;

/// How much memory a run may take besides its table.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// So many bytes, as the user says.
    Allowed(u64),
    /// What the machine has available now.
    Available(u64),
    /// The system does not tell.
    Assumed,
}

impl Limit {
    /// What the user allows, or else what there is.
    pub fn of(allowed: Option<u64>) -> Limit {
        match (allowed, available()) {
            (Some(bytes), _) => Limit::Allowed(bytes),
            (None, Some(bytes)) => Limit::Available(bytes),
            (None, None) => Limit::Assumed,
        }
    }

    /// The same in bytes.
    pub fn bytes(&self) -> u64 {
        match *self {
            Limit::Allowed(bytes) | Limit::Available(bytes) => bytes,
            Limit::Assumed => ASSUMED,
        }
    }

    /// How the user can have more.
    pub fn advice(&self) -> &'static str {
        match self {
            Limit::Allowed(_) => "allow more",
            Limit::Available(_) | Limit::Assumed => "allow it with --memory",
        }
    }

    /// Refuses a job that needs more.
    pub fn check(&self, needed: u64, advice: &str) -> Result<()> {
        if needed <= self.bytes() {
            return Ok(());
        }
        Err(Error::Input(format!(
            "the job needs about {} of memory besides the table, and {self}: {advice}, or {}",
            text::bytes(needed),
            self.advice()
        )))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = text::bytes(self.bytes());
        match self {
            Limit::Allowed(_) => write!(f, "--memory allows {bytes}"),
            Limit::Available(_) => write!(f, "this machine has {bytes} available"),
            Limit::Assumed => write!(f, "{bytes} are assumed to be available on this machine"),
        }
    }
}
