//! Randomness of the operating system, and generators that it seeds.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Fills `bytes` with randomness of the operating system.
pub fn fill_random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes)
        .map_err(|error| Error::Internal(format!("the operating system gives no randomness: {error}")))
}

/// A generator seeded by the operating system, as every protocol asks for one.
pub fn fresh_rng() -> Result<ChaCha20Rng> {
    let mut seed = Zeroizing::new([0; 32]);
    fill_random(&mut *seed)?;
    Ok(ChaCha20Rng::from_seed(*seed))
}
