//! The secrets of rounds at the oracle: those that belong to the public keys which it is asked under, and no others of
//! a round of the same name.

use std::sync::Arc;
use std::time::Duration;

use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::{ONCE, Oracle, Round, lock};
use crate::secret::{Secret, fetch_key};
use crate::transport::{Client, Persistence};
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::check_name;
use crate::wire::same_keys::{KeysFingerprint, other_keys};

/// Time for which the only proxy is asked for secrets; of several, none is waited for.
const TIMEOUT: Duration = Duration::from_secs(5);

/// Bytes of the fingerprint in front of the secrets that are kept.
const FINGERPRINT_BYTES: usize = 32;

impl Oracle {
    /// The secrets of a round that belong to these keys; from a proxy, the first time. Those of other keys that are
    /// kept under its name make room for them then, and not before.
    pub(super) fn round(&self, name: &str, keys: &KeysFingerprint) -> ApiResult<Arc<Round>> {
        check_name(name).map_err(|error| ApiError::new(RefusalReason::Malformed, error.to_string()))?;
        if let Some(round) = lock(&self.rounds).get(name).filter(|round| round.keys == *keys) {
            return Ok(round.clone());
        }
        let _of = tracing::error_span!("secrets", round = name).entered();
        let kept = self.kept(name)?;
        let params = self.setting.params(name)?;
        let of_job = |secret: &[u8]| {
            let key = Secret::from_bytes(&self.setting, &params, secret);
            key.ok_or_else(|| Error::Input(format!("the secrets of round {name} are of another job")))
        };
        let key = match kept {
            Some((of, secret)) if of == *keys => of_job(&secret)?,
            other => {
                let (secret, proxy) = self.fetch(name, keys).map_err(|error| match other {
                    Some((of, _)) => {
                        tracing::error!("round {name}: {}; {error}", other_keys(name, &of, keys).told().message);
                        other_keys(name, &of, keys).again_in(2)
                    }
                    None => ApiError::from(error),
                })?;
                let key = of_job(&secret)?;
                // Those who follow proxies may have it at once.
                let _one = lock(&self.keeping);
                self.keys.keep(name, &Zeroizing::new([&keys.0[..], &secret].concat()))?;
                tracing::info!("round {name}: has the secrets from {proxy}, under the keys {}", keys.short());
                key
            }
        };
        let round = Arc::new(Round { params, key, keys: *keys });
        lock(&self.rounds).insert(name.to_owned(), round.clone());
        Ok(round)
    }

    /// Whether a proxy names keys of a round that are to be here before they are asked for: none are, or those that are
    /// no proxy has any more.
    pub(super) fn is_wanted(&self, name: &str, keys: &KeysFingerprint) -> bool {
        let here = lock(&self.rounds).get(name).map(|round| round.keys);
        here.is_none_or(|here| here != *keys && !lock(&self.held).values().any(|held| held.get(name) == Some(&here)))
    }

    /// The secrets that are kept under the name of a round, and the keys that they belong to. An earlier version noted
    /// no keys: from whoever has them, they are had again.
    fn kept(&self, name: &str) -> Result<Option<(KeysFingerprint, Zeroizing<Vec<u8>>)>> {
        let Some(bytes) = self.keys.load(name)? else { return Ok(None) };
        let params = self.setting.params(name)?;
        let Some((keys, secret)) = bytes.split_first_chunk::<FINGERPRINT_BYTES>() else { return Ok(None) };
        let is_known = Secret::from_bytes(&self.setting, &params, secret).is_some();
        Ok(is_known.then(|| (KeysFingerprint(*keys), Zeroizing::new(secret.to_vec()))))
    }

    /// The secrets that belong to a round's keys, and from whom they are: first those are asked who have answered last.
    fn fetch(&self, round: &str, keys: &KeysFingerprint) -> Result<(Zeroizing<Vec<u8>>, &str)> {
        let mut proxies: Vec<&Client> = self.proxies.iter().collect();
        proxies.sort_by_key(|proxy| proxy.contact().silent().unwrap_or(Duration::MAX));
        let mut failure = None;
        let patient = Persistence { silence: TIMEOUT, busy: TIMEOUT };
        for proxy in &proxies {
            let persistence = if proxies.len() == 1 { patient } else { ONCE };
            match fetch_key(proxy, round, Some(keys), persistence) {
                Ok(secret) => return Ok((secret, proxy.name())),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or_else(|| Error::Internal("a job without a proxy".into())))
    }
}
