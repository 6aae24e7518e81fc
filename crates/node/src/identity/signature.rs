//! Signatures under an identity's key (Ed25519, RFC 8032), checked by who knows its fingerprint.

use rustls::SignatureScheme;
use rustls::crypto::ring;
use rustls::pki_types::PrivatePkcs8KeyDer;
use tacita_core::{Error, Result};

use super::{Fingerprint, Identity};

/// Bytes of a public key.
pub const ED25519_KEY_BYTES: usize = 32;

/// Bytes of a signature.
pub const SIGNATURE_BYTES: usize = 64;

/// Prefix of the key in its SubjectPublicKeyInfo (RFC 8410 section 4).
const INFO_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];

impl Identity {
    /// The public key, and its signature of `message`. A message begins with what it is for.
    pub fn sign(&self, message: &[u8]) -> Result<([u8; ED25519_KEY_BYTES], [u8; SIGNATURE_BYTES])> {
        let failed = || Error::Internal("the identity's key does not sign".into());
        let key = ring::sign::any_eddsa_type(&PrivatePkcs8KeyDer::from(self.key.as_slice())).map_err(|_| failed())?;
        let signer = key.choose_scheme(&[SignatureScheme::ED25519]).ok_or_else(failed)?;
        let signature = signer.sign(message).map_err(|_| failed())?;
        let public = self.certificate.public_key.strip_prefix(&INFO_PREFIX).ok_or_else(failed)?;
        Ok((public.try_into().map_err(|_| failed())?, signature.try_into().map_err(|_| failed())?))
    }
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
