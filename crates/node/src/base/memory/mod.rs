//! Limits on the memory of a run.

mod available;

use std::fmt;

use tacita_core::{Error, Result};

pub use self::available::available;
use super::text;

/// Memory assumed to be available if the system does not tell.
pub const ASSUMED: u64 = 2 << 30;

/// Limit on a run's memory besides its table.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// Number of bytes that the user allows.
    Allowed(u64),
    /// Number of bytes that the machine has available now.
    Available(u64),
    /// The system does not tell.
    Assumed,
}

impl Limit {
    /// Returns the limit that the user allows, or else the available memory.
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

    /// Returns advice on how the user can have more memory.
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
