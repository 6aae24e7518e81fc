//! Number of threads for computation.

use tacita_core::{Error, Result};

/// More threads than any machine makes use of are a typing error.
const MAX_THREADS: usize = 256;

/// Uses `threads` threads for computation; all cores if `None`.
pub fn set_threads(threads: Option<usize>) -> Result<()> {
    match threads {
        Some(threads) if threads == 0 || threads > MAX_THREADS => {
            Err(Error::Input(format!("--threads {threads}: use 1 to {MAX_THREADS}")))
        }
        Some(threads) => rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build_global()
            .map_err(|error| Error::Internal(error.to_string())),
        None => Ok(()),
    }
}
