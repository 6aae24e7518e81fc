//! Random bytes and generators for runs.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use tacita_core::{Error, Result};

/// Fills `bytes` with randomness of the operating system.
pub fn fill_random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes)
        .map_err(|error| Error::Internal(format!("the operating system gives no randomness: {error}")))
}

/// A generator seeded by the operating system.
pub fn fresh_rng() -> Result<ChaCha20Rng> {
    let mut seed = zeroize::Zeroizing::new([0; 32]);
    fill_random(&mut *seed)?;
    Ok(ChaCha20Rng::from_seed(*seed))
}
