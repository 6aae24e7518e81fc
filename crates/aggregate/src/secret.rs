//! Secrets of a round at proxy and oracle, in either protocol: the secret function whose values are rows, and the data
//! beside it.

use rand_core::CryptoRng;
use tacita_core::primitive::group::{Group, Ristretto255};
use tacita_core::protocol::aggregate::{Blinding, Params, ProxyKey, RowFunction};
use tacita_core::protocol::published::aggregate::naor_reingold;
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use crate::setting::ServiceConfig;
use crate::transport::{ApiRequest, Client, Persistence};
use crate::wire::same_keys::KeysFingerprint;

/// Bytes of a round's secrets.
const MAX_KEY_BYTES: usize = 1 << 13;

/// The secrets of proxy and oracle.
#[derive(Debug)]
pub enum Secret {
    /// Secret of the protocol `dh`.
    Dh(ProxyKey),
    /// Secret of the protocol `naor-reingold`.
    NaorReingold(naor_reingold::NaorReingoldProxyKey),
}

impl Secret {
    /// Fresh ones for a round of the job's protocol.
    pub fn generate(setting: &ServiceConfig, params: &Params, rng: &mut impl CryptoRng) -> Secret {
        if setting.is_interactive() {
            Secret::NaorReingold(naor_reingold::NaorReingoldProxyKey::generate(params, rng))
        } else {
            Secret::Dh(ProxyKey::generate(params, rng))
        }
    }

    /// The public key P with the proof that p is known.
    pub fn public(&self, params: &Params, rng: &mut impl CryptoRng) -> Vec<u8> {
        self.blinding().public(params, rng)
    }

    /// Their encoding, secret as they are.
    pub fn to_bytes(&self, params: &Params) -> Zeroizing<Vec<u8>> {
        match self {
            Secret::Dh(key) => key.to_bytes(params),
            Secret::NaorReingold(key) => key.to_bytes(params),
        }
    }

    /// Parses secrets of the job's protocol that [`Secret::to_bytes`] has encoded; none if it has not.
    pub fn from_bytes(setting: &ServiceConfig, params: &Params, bytes: &[u8]) -> Option<Secret> {
        if setting.is_interactive() {
            naor_reingold::NaorReingoldProxyKey::from_bytes(params, bytes).map(Secret::NaorReingold)
        } else {
            ProxyKey::from_bytes(params, bytes).map(Secret::Dh)
        }
    }
}

impl RowFunction<Ristretto255> for Secret {
    fn rows(&self, params: &Params, keys: &[Zeroizing<Vec<u8>>]) -> Vec<<Ristretto255 as Group>::Point> {
        match self {
            Secret::Dh(key) => key.rows(params, keys),
            Secret::NaorReingold(key) => key.rows(params, keys),
        }
    }

    fn blinding(&self) -> &Blinding {
        match self {
            Secret::Dh(key) => key.blinding(),
            Secret::NaorReingold(key) => key.blinding(),
        }
    }
}

/// The secrets of a round, from a proxy: those that belong to these public keys, if any are named.
///
/// Errors: [`Error::NotReady`] if it has none; those of a connection.
pub(crate) fn fetch_key(
    proxy: &Client,
    round: &str,
    keys: Option<&KeysFingerprint>,
    persistence: Persistence,
) -> Result<Zeroizing<Vec<u8>>> {
    let path = format!("/v1/rounds/{round}/key");
    let ask = ApiRequest::get(keys.map_or(path.clone(), |keys| keys.on(&path)), MAX_KEY_BYTES);
    let answer = proxy.ask(&ask, persistence)?;
    if answer.is_ok() {
        Ok(Zeroizing::new(answer.body))
    } else {
        Err(Error::NotReady(format!("{} gives no secrets of round {round}: {}", proxy.name(), answer.told().message)))
    }
}
