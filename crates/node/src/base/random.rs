//! Random number generators for runs.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use tacita_core::{Error, Result};

/// A generator seeded by the operating system.
pub fn fresh_rng() -> Result<ChaCha20Rng> {
    let mut seed = zeroize::Zeroizing::new([0; 32]);
    getrandom::fill(&mut *seed)
        .map_err(|error| Error::Internal(format!("the operating system gives no randomness: {error}")))?;
    Ok(ChaCha20Rng::from_seed(*seed))
}
