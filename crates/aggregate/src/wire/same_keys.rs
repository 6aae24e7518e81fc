//! The fingerprint of a round's public keys, which requests about the round carry: whoever has others has lost what it
//! kept, or has it from another time. What is reported, sent or asked under one set of keys is worth nothing under
//! another one, so nothing of it is taken.

use std::fmt;
use std::str::FromStr;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::{Deserialize, Serialize};
use tacita_core::protocol::aggregate::{Params, RoundKeys};
use tacita_node::base::hex::{hex, unhex};

use super::reply::{ApiError, ApiResult, RefusalReason};

/// The parameter of a request that holds it.
const PARAMETER: &str = "keys=";

/// Digits of it that messages show.
const SHOWN: usize = 16;

/// The fingerprint of the public keys of a round, of both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct KeysFingerprint(pub [u8; 32]);

/// Under which keys a request is made, as it says itself.
pub struct Under(pub Option<KeysFingerprint>);

impl KeysFingerprint {
    /// Computes the fingerprint of a round's keys.
    pub fn of(params: &Params, keys: &RoundKeys) -> KeysFingerprint {
        KeysFingerprint(keys.fingerprint(params))
    }

    /// A path with the parameter that says it, behind others that it has.
    pub fn on(&self, path: &str) -> String {
        let before = if path.contains('?') { '&' } else { '?' };
        format!("{path}{before}{PARAMETER}{self}")
    }

    /// Returns the first digits, for messages.
    pub fn short(&self) -> String {
        self.to_string()[..SHOWN].to_owned()
    }
}

impl fmt::Display for KeysFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex(&self.0))
    }
}

impl FromStr for KeysFingerprint {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<KeysFingerprint, &'static str> {
        let bytes = unhex(text).and_then(|bytes| bytes.try_into().ok());
        bytes.map(KeysFingerprint).ok_or("the fingerprint of a round's keys has 64 hexadecimal digits")
    }
}

impl From<KeysFingerprint> for String {
    fn from(keys: KeysFingerprint) -> String {
        keys.to_string()
    }
}

impl TryFrom<String> for KeysFingerprint {
    type Error = &'static str;

    fn try_from(text: String) -> Result<KeysFingerprint, &'static str> {
        text.parse()
    }
}

impl Under {
    /// Refuses a request that names other keys of a round than those here; one that names none, unless it is `wanted`.
    pub(crate) fn check(&self, round: &str, here: &KeysFingerprint, wanted: bool) -> ApiResult<()> {
        match &self.0 {
            Some(keys) if keys != here => Err(other_keys(round, here, keys)),
            None if wanted => Err(unsaid()),
            _ => Ok(()),
        }
    }
}

impl<S: Sync> FromRequestParts<S> for Under {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Under, ApiError> {
        let query = parts.uri.query().unwrap_or_default();
        let keys = query.split('&').find_map(|one| one.strip_prefix(PARAMETER)).map(str::parse).transpose();
        keys.map(Under).map_err(|what| ApiError::new(RefusalReason::Malformed, what))
    }
}

/// Returns the reply to a request under other keys than those here.
pub(crate) fn other_keys(round: &str, here: &KeysFingerprint, asked: &KeysFingerprint) -> ApiError {
    ApiError::new(
        RefusalReason::OtherKeys,
        format!(
            "round {round} has the keys {} here, and {} where this comes from: {ADVICE}",
            here.short(),
            asked.short()
        ),
    )
}

/// Returns the reply to a request that has to say under which keys it is made, and does not.
pub(crate) fn unsaid() -> ApiError {
    ApiError::new(RefusalReason::Malformed, "the request does not name the keys of the round")
}

/// Advice where services have different keys of a round.
pub(crate) const ADVICE: &str = "one of the two has lost its state of the round. Have it started with its former --state and \
                                 storage, or have the database's operator remove the round and open another one";

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn under(path: &str) -> ApiResult<Option<KeysFingerprint>> {
        let (mut parts, ()) = Request::get(path).body(()).unwrap().into_parts();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(Under::from_request_parts(&mut parts, &())).map(|under| under.0)
    }

    #[test]
    fn a_request_says_under_which_keys_it_is_made() {
        let [one, other] = [1, 2].map(|byte| KeysFingerprint([byte; 32]));
        let found = under(&one.on("/v1/rounds/r")).unwrap();
        assert_eq!((found, under("/v1/rounds/r").unwrap()), (Some(one), None));
        assert_eq!(under(&one.on("/v1/rounds/r/claims?session=1-a&next=2-b")).unwrap(), Some(one));
        for wrong in ["", "1", &one.to_string()[1..], &one.to_string().replace('1', "x")] {
            assert_eq!(
                under(&format!("/v1/rounds/r?keys={wrong}")).unwrap_err().told().error,
                RefusalReason::Malformed,
                "{wrong}"
            );
        }
        let check = |asked, wanted| Under(asked).check("r", &one, wanted).map_err(|refused| refused.told().clone());
        assert!(check(Some(one), true).is_ok() && check(None, false).is_ok());
        assert_eq!(check(None, true).unwrap_err().error, RefusalReason::Malformed);
        let told = check(Some(other), false).unwrap_err();
        assert_eq!(told.error, RefusalReason::OtherKeys);
        assert!(told.message.contains(&one.short()) && told.message.contains(&other.short()), "{}", told.message);
    }
}
