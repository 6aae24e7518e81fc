//! Signatures under an identity's key (Ed25519, RFC 8032), checked by who knows its fingerprint.

use std::sync::Arc;

use rustls::SignatureScheme;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::{Fingerprint, Identity};

/// Bytes of a public key.
pub const ED25519_KEY_BYTES: usize = 32;

/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;

/// Prefix of the key in its SubjectPublicKeyInfo (RFC 8410 section 4).
const INFO_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

/// Prefix of the seed in an Ed25519 private key in PKCS#8 (RFC 8410 section 7).
const PRIVATE_PREFIX: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];

impl Identity {
    /// The public key, and its signature of `message`. A message begins with what it is for.
    pub fn sign(&self, message: &[u8]) -> Result<([u8; ED25519_KEY_BYTES], [u8; SIGNATURE_BYTES])> {
        sign(&self.key, message)
    }

    /// A key pair for signatures of one purpose alone, which whoever has the private key can derive again.
    pub fn signing_key(&self, purpose: &str) -> SigningKey {
        let seed = self.derive(purpose, b"signing key");
        SigningKey(Zeroizing::new([&PRIVATE_PREFIX[..], &seed[..]].concat()))
    }
}

/// A key pair for signatures of one purpose, derived from an identity.
pub struct SigningKey(Zeroizing<Vec<u8>>);

impl SigningKey {
    /// The public key, and its signature of `message`. A message begins with what it is for.
    pub fn sign(&self, message: &[u8]) -> Result<([u8; ED25519_KEY_BYTES], [u8; SIGNATURE_BYTES])> {
        sign(&self.0, message)
    }

    /// Returns the public key.
    pub fn public(&self) -> Result<[u8; ED25519_KEY_BYTES]> {
        public(&*signing(&self.0)?)
    }
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SigningKey(..)")
    }
}

/// Signs with a private key in PKCS#8 in DER; returns the public key, too.
fn sign(key: &[u8], message: &[u8]) -> Result<([u8; ED25519_KEY_BYTES], [u8; SIGNATURE_BYTES])> {
    let key = signing(key)?;
    let signer = key.choose_scheme(&[SignatureScheme::ED25519]).ok_or_else(unusable)?;
    let signature = signer.sign(message).map_err(|_| unusable())?;
    Ok((public(&*key)?, signature.try_into().map_err(|_| unusable())?))
}

fn signing(key: &[u8]) -> Result<Arc<dyn rustls::sign::SigningKey>> {
    ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(key)).map_err(|_| unusable())
}

fn public(key: &dyn rustls::sign::SigningKey) -> Result<[u8; ED25519_KEY_BYTES]> {
    let info = key.public_key().ok_or_else(unusable)?;
    info.strip_prefix(&INFO_PREFIX).and_then(|public| public.try_into().ok()).ok_or_else(unusable)
}

fn unusable() -> Error {
    Error::Internal("the identity's key does not sign".into())
}

/// Returns the fingerprint by which others know the identity with this public key.
pub fn ed25519_fingerprint(key: &[u8; ED25519_KEY_BYTES]) -> Fingerprint {
    Fingerprint::of(&[&INFO_PREFIX[..], key].concat())
}

/// Whether `signature` is one of `message` under `key`.
pub fn verify(key: &[u8; ED25519_KEY_BYTES], message: &[u8], signature: &[u8; SIGNATURE_BYTES]) -> bool {
    let schemes = ring::default_provider().signature_verification_algorithms.mapping;
    let ed25519 = schemes.iter().find(|(scheme, _)| *scheme == SignatureScheme::ED25519);
    ed25519
        .and_then(|(_, algorithms)| algorithms.first())
        .is_some_and(|algorithm| algorithm.verify_signature(key, message, signature).is_ok())
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use super::*;

    /// The key of a purpose is of the identity and of the purpose, and its signatures are none of the identity's own
    /// key.
    #[test]
    fn a_derived_key_signs_for_its_purpose() {
        let now = SystemTime::now();
        let [one, other] = ["a", "a"].map(|name| Identity::generate(name, now, now + Duration::from_secs(60)).unwrap());
        let (public, signature) = one.signing_key("test").sign(b"message").unwrap();
        assert!(verify(&public, b"message", &signature) && !verify(&public, b"massage", &signature));
        assert_eq!(one.signing_key("test").sign(b"message").unwrap(), (public, signature));
        let others = [one.signing_key("another"), other.signing_key("test")];
        assert!(others.iter().all(|key| key.sign(b"message").unwrap().0 != public));
        assert_ne!(one.sign(b"message").unwrap().0, public);
        assert!(!verify(&one.sign(b"message").unwrap().0, b"message", &signature));
        assert_eq!(ed25519_fingerprint(&one.sign(b"message").unwrap().0), one.fingerprint());
    }
}
