//! Public keys of a round, signed by the identity of the role that they are of: nobody between two roles can put others
//! in their place.

use data_encoding::BASE64;
use serde::{Deserialize, Serialize};
use tacita_core::primitive::group::Group;
use tacita_core::protocol::aggregate::Params;
use tacita_core::{Error, Result};
use tacita_node::identity::{ED25519_KEY_BYTES, Fingerprint, Identity, SIGNATURE_BYTES, ed25519_fingerprint, verify};

/// Prefix of every signed message.
const PURPOSE: &[u8] = b"tacita 1 aggregate round key\0";

/// Role that owns the keys: the proxies and oracles of a job share one, the databases another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum KeyRole {
    /// The proxies', and the oracles'.
    Proxy = 1,
    /// Role of the databases.
    Database = 2,
}

impl KeyRole {
    /// Returns the word for the role.
    pub fn name(self) -> &'static str {
        match self {
            KeyRole::Proxy => "proxy",
            KeyRole::Database => "database",
        }
    }
}

/// A public key with its signature, each in base64.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signed {
    /// The public key, with its proof of possession.
    pub public: String,
    /// The identity's public key.
    pub by: String,
    /// Signature by the identity of the terms, the round, the role and the public key.
    pub signature: String,
}

/// Purpose of a key.
#[derive(Debug, Clone, Copy)]
pub struct KeyPurpose<'a> {
    /// The fingerprint of the terms.
    pub agreement: &'a [u8; 32],
    /// Name of the round.
    pub round: &'a str,
    /// Role that owns the key.
    pub role: KeyRole,
}

impl KeyPurpose<'_> {
    fn message(&self, public: &[u8]) -> Vec<u8> {
        let round = (self.round.len() as u64).to_le_bytes();
        [PURPOSE, self.agreement, &round[..], self.round.as_bytes(), &[self.role as u8], public].concat()
    }
}

impl Signed {
    /// Signs a public key.
    pub fn new(identity: &Identity, purpose: KeyPurpose<'_>, public: &[u8]) -> Result<Signed> {
        let (key, signature) = identity.sign(&purpose.message(public))?;
        Ok(Signed { public: BASE64.encode(public), by: BASE64.encode(&key), signature: BASE64.encode(&signature) })
    }

    /// Whether this and another public key are of one secret, whatever proofs and signatures they come with.
    pub(crate) fn holds_point_of(&self, other: &Signed, params: &Params) -> bool {
        let point = |signed: &Signed| {
            let public = BASE64.decode(signed.public.as_bytes()).ok()?;
            public.get(..params.group().point_bytes()).map(<[u8]>::to_vec)
        };
        let own = point(self);
        own.is_some() && own == point(other)
    }

    /// The public key, if one of `pins` has signed it for this purpose.
    ///
    /// Errors ([`Error::Protocol`], [`Error::Authentication`]), about `peer`: it is not what it has to be.
    pub fn open(&self, purpose: KeyPurpose<'_>, pins: &[Fingerprint], peer: &str) -> Result<Vec<u8>> {
        let wrong = |what: &str| Error::Protocol {
            peer: peer.to_owned(),
            check: format!("the key of round {} {what}", purpose.round),
        };
        let decode = |text: &str| BASE64.decode(text.as_bytes()).ok();
        let public = decode(&self.public).ok_or_else(|| wrong("is not base64"))?;
        let by: [u8; ED25519_KEY_BYTES] =
            decode(&self.by).and_then(|key| key.try_into().ok()).ok_or_else(|| wrong("names no identity"))?;
        let signature: [u8; SIGNATURE_BYTES] = decode(&self.signature)
            .and_then(|signature| signature.try_into().ok())
            .ok_or_else(|| wrong("has no signature"))?;
        let who = ed25519_fingerprint(&by);
        if !pins.contains(&who) {
            let what = format!("the key of round {} is signed by {who}, which is not in the job file", purpose.round);
            return Err(Error::Authentication { peer: peer.to_owned(), what });
        }
        if verify(&by, &purpose.message(&public), &signature) {
            Ok(public)
        } else {
            Err(wrong("has a signature that is not of this job, round and role"))
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use tacita_node::identity::VALIDITY;

    use super::*;

    #[test]
    fn a_key_is_of_its_round_role_and_signer() {
        let now = SystemTime::now();
        let [one, other] = ["one", "other"].map(|name| Identity::generate(name, now, now + VALIDITY).unwrap());
        let purpose = KeyPurpose { agreement: &[7; 32], round: "r", role: KeyRole::Proxy };
        let signed = Signed::new(&one, purpose, b"public").unwrap();
        let pins = [one.fingerprint()];
        assert_eq!(signed.open(purpose, &pins, "x").unwrap(), b"public");
        for wrong in [
            KeyPurpose { agreement: &[8; 32], ..purpose },
            KeyPurpose { round: "s", ..purpose },
            KeyPurpose { role: KeyRole::Database, ..purpose },
        ] {
            assert!(matches!(signed.open(wrong, &pins, "x"), Err(Error::Protocol { .. })));
        }
        assert!(matches!(signed.open(purpose, &[other.fingerprint()], "x"), Err(Error::Authentication { .. })));
        let swapped = Signed { public: BASE64.encode(b"publik"), ..signed.clone() };
        assert!(matches!(swapped.open(purpose, &pins, "x"), Err(Error::Protocol { .. })));
        let signed_by_other = Signed::new(&other, purpose, b"public").unwrap();
        let mixed = Signed { by: signed.by.clone(), ..signed_by_other };
        assert!(matches!(mixed.open(purpose, &pins, "x"), Err(Error::Protocol { .. })));
        for odd in ["", "!", "AAAA"] {
            assert!(Signed { by: odd.into(), ..signed.clone() }.open(purpose, &pins, "x").is_err());
            assert!(Signed { signature: odd.into(), ..signed.clone() }.open(purpose, &pins, "x").is_err());
        }
    }
}
