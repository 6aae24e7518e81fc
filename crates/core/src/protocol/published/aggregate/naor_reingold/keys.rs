//! The secrets of proxy and oracle.

use std::fmt;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::function::{PseudorandomFunction, input_bytes, inputs};
use crate::primitive::group::{Embedding, Group, Ristretto255};
use crate::protocol::aggregate::{Blinding, Params, RowFunction};

/// First bytes of the encoding of a key: the form, and the holder.
const FORM: [u8; 2] = [1, 3];

/// The secrets of the proxy and of the oracle: the key of the function, and what they have in every protocol.
pub struct NaorReingoldProxyKey<G: Group = Ristretto255> {
    pub(super) function: PseudorandomFunction<G>,
    pub(super) shared: Blinding<G>,
}

impl<G: Embedding + Sync> NaorReingoldProxyKey<G> {
    /// Draws fresh secrets of the proxy and its function.
    pub fn generate(params: &Params<G>, rng: &mut impl CryptoRng) -> NaorReingoldProxyKey<G> {
        let function = PseudorandomFunction::generate(params.group(), input_bytes(params.key_bytes()), rng);
        NaorReingoldProxyKey { function, shared: Blinding::generate(params.group(), rng) }
    }

    /// The function whose values are rows.
    pub fn function(&self) -> &PseudorandomFunction<G> {
        &self.function
    }

    /// The public key P with the proof that p is known, for
    /// [`RoundKeys::new`](crate::protocol::aggregate::RoundKeys::new).
    pub fn public(&self, params: &Params<G>, rng: &mut impl CryptoRng) -> Vec<u8> {
        self.shared.public(params, rng)
    }

    /// Their encoding, secret as they are.
    pub fn to_bytes(&self, params: &Params<G>) -> Zeroizing<Vec<u8>> {
        let function = self.function.to_bytes(params.group());
        Zeroizing::new([&FORM[..], &function, &self.shared.to_bytes(params.group())].concat())
    }

    /// The secrets that [`NaorReingoldProxyKey::to_bytes`] has encoded for the same parameters; none if it has not.
    pub fn from_bytes(params: &Params<G>, bytes: &[u8]) -> Option<NaorReingoldProxyKey<G>> {
        let (group, input_bytes) = (params.group(), input_bytes(params.key_bytes()));
        let secrets = bytes.strip_prefix(&FORM)?;
        let (function, shared) = secrets.split_at_checked(PseudorandomFunction::bytes(group, input_bytes))?;
        let function = PseudorandomFunction::from_bytes(group, input_bytes, function)?;
        Some(NaorReingoldProxyKey { function, shared: Blinding::from_bytes(group, shared)? })
    }
}

impl<G: Embedding + Sync> RowFunction<G> for NaorReingoldProxyKey<G> {
    fn rows(&self, params: &Params<G>, keys: &[Zeroizing<Vec<u8>>]) -> Vec<G::Point> {
        self.function.evaluate(params.group(), &inputs(params, keys))
    }

    fn blinding(&self) -> &Blinding<G> {
        &self.shared
    }
}

impl<G: Group> fmt::Debug for NaorReingoldProxyKey<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProxyKey(..)")
    }
}
