//! Seed of a round's noise.

use std::fmt;

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;
use serde::{Deserialize, Serialize};
use tacita_core::Result;
use tacita_node::base::hex::hex;
use tacita_node::base::random::fill_random;
use zeroize::Zeroizing;

/// Seed of a round's noise, in hexadecimal.
#[derive(Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct NoiseSeed(String);

/// Secret from those who get results.
impl fmt::Debug for NoiseSeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("NoiseSeed(..)")
    }
}

impl NoiseSeed {
    /// Draws the seed of a round that opens.
    pub(super) fn fresh() -> Result<NoiseSeed> {
        let mut seed = Zeroizing::new([0; 32]);
        fill_random(&mut *seed)?;
        Ok(NoiseSeed(hex(&*seed)))
    }

    /// The generator of noise for numbers that these bytes stand for.
    pub(super) fn generator(&self, what: &str, bytes: impl IntoIterator<Item = impl AsRef<[u8]>>) -> ChaCha20Rng {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 noise of a round");
        hasher.update(&(self.0.len() as u64).to_le_bytes()).update(self.0.as_bytes());
        hasher.update(&(what.len() as u64).to_le_bytes()).update(what.as_bytes());
        for part in bytes {
            hasher.update(part.as_ref());
        }
        ChaCha20Rng::from_seed(*hasher.finalize().as_bytes())
    }
}
