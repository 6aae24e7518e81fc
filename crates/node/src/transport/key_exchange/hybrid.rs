//! X25519MLKEM768 (draft-ietf-tls-ecdhe-mlkem, code point 0x11EC): ML-KEM-768 (FIPS 203) and X25519 (RFC 7748) side by
//! side, so that a connection's keys are secret as long as one of the two holds.
//!
//! ```text
//! client's share   encapsulation key (1184 bytes) || X25519 public key (32)
//! server's share   ciphertext (1088)              || X25519 public key (32)
//! shared secret    ML-KEM secret (32)             || X25519 secret (32)
//! ```
//!
//! X25519 is the TLS library's own. Secrets that pass through this file are wiped when they are no longer needed, but
//! for copies that calls leave on the stack; the decapsulation key wipes itself.

use ml_kem::kem::{Decapsulate, KeyExport};
use ml_kem::ml_kem_768::{Ciphertext, DecapsulationKey, EncapsulationKey};
use ml_kem::{B32, Seed, SharedKey};
use rustls::crypto::ring::kx_group::X25519;
use rustls::crypto::{ActiveKeyExchange, CompletedKeyExchange, GetRandomFailed, SharedSecret, SupportedKxGroup};
use rustls::ffdhe_groups::FfdheGroup;
use rustls::{Error, NamedGroup, PeerMisbehaved, ProtocolVersion};
use zeroize::Zeroizing;

/// Lengths of the shares' parts, in bytes.
pub(super) const ENCAPSULATION_KEY_BYTES: usize = 1184;
pub(super) const CIPHERTEXT_BYTES: usize = 1088;
pub(super) const X25519_BYTES: usize = 32;

/// The group as the TLS library takes it.
pub(super) static X25519MLKEM768: &dyn SupportedKxGroup = &HybridGroup;

/// RFC 8446 section 4.2.8 and the draft end a handshake with a share like that by the alert `illegal_parameter`, which
/// the TLS library makes of this error.
const INVALID_SHARE: Error = Error::PeerMisbehaved(PeerMisbehaved::InvalidKeyShare);

#[derive(Debug)]
struct HybridGroup;

impl SupportedKxGroup for HybridGroup {
    /// The client's beginning of an exchange.
    fn start(&self) -> Result<Box<dyn ActiveKeyExchange>, Error> {
        let classical = X25519.start()?;
        let decapsulation = DecapsulationKey::from_seed(*random(Seed::default())?);
        let share = [&decapsulation.encapsulation_key().to_bytes()[..], classical.pub_key()].concat();
        Ok(Box::new(HybridClient { classical, decapsulation, share }))
    }

    /// The whole of the server's part.
    fn start_and_complete(&self, share: &[u8]) -> Result<CompletedKeyExchange, Error> {
        let (key, classical) = split(share, ENCAPSULATION_KEY_BYTES)?;
        let key = encapsulation_key(key)?;
        let classical = X25519.start_and_complete(classical)?;
        let (ciphertext, secret) = encapsulate(&key, &*random(B32::default())?);
        Ok(CompletedKeyExchange {
            group: self.name(),
            pub_key: [&ciphertext[..], &classical.pub_key].concat(),
            secret: joined(&secret, &classical.secret),
        })
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn name(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }

    fn usable_for_version(&self, version: ProtocolVersion) -> bool {
        version == ProtocolVersion::TLSv1_3
    }
}

/// A client that has sent its share.
struct HybridClient {
    classical: Box<dyn ActiveKeyExchange>,
    decapsulation: DecapsulationKey,
    share: Vec<u8>,
}

impl ActiveKeyExchange for HybridClient {
    fn complete(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
        let (ciphertext, classical) = split(share, CIPHERTEXT_BYTES)?;
        let classical = self.classical.complete(classical)?;
        let secret = decapsulate(&self.decapsulation, ciphertext)?;
        Ok(joined(&secret, &classical))
    }

    /// The X25519 key is offered alone as well: a server that has nothing else takes it without a further round trip.
    fn hybrid_component(&self) -> Option<(NamedGroup, &[u8])> {
        Some((self.classical.group(), self.classical.pub_key()))
    }

    fn complete_hybrid_component(self: Box<Self>, share: &[u8]) -> Result<SharedSecret, Error> {
        self.classical.complete(share)
    }

    fn ffdhe_group(&self) -> Option<FfdheGroup<'static>> {
        None
    }

    fn pub_key(&self) -> &[u8] {
        &self.share
    }

    fn group(&self) -> NamedGroup {
        NamedGroup::X25519MLKEM768
    }
}

/// A share's part of ML-KEM, which is `first` bytes long, and its part of X25519.
fn split(share: &[u8], first: usize) -> Result<(&[u8], &[u8]), Error> {
    if share.len() == first + X25519_BYTES { Ok(share.split_at(first)) } else { Err(INVALID_SHARE) }
}

/// Reads a client's key. The numbers in it have to be below the modulus (FIPS 203 section 7.2).
pub(super) fn encapsulation_key(bytes: &[u8]) -> Result<EncapsulationKey, Error> {
    let bytes = bytes.try_into().map_err(|_| INVALID_SHARE)?;
    EncapsulationKey::new(bytes).map_err(|_| INVALID_SHARE)
}

/// Encapsulates a secret to `key` with the random bytes `m`.
pub(super) fn encapsulate(key: &EncapsulationKey, m: &B32) -> (Ciphertext, Zeroizing<SharedKey>) {
    let (ciphertext, secret) = key.encapsulate_deterministic(m);
    (ciphertext, Zeroizing::new(secret))
}

/// Returns the secret in a ciphertext; of one that was not made for `key`, another one that nobody knows (FIPS 203
/// section 6.3).
pub(super) fn decapsulate(key: &DecapsulationKey, ciphertext: &[u8]) -> Result<Zeroizing<SharedKey>, Error> {
    let ciphertext: &Ciphertext = ciphertext.try_into().map_err(|_| INVALID_SHARE)?;
    Ok(Zeroizing::new(key.decapsulate(ciphertext)))
}

/// The shared secret, which is wiped with what is returned.
fn joined(secret: &SharedKey, classical: &SharedSecret) -> SharedSecret {
    SharedSecret::from([&secret[..], classical.secret_bytes()].concat())
}

/// Fills `bytes` from the operating system.
fn random<T: AsMut<[u8]> + zeroize::Zeroize>(bytes: T) -> Result<Zeroizing<T>, Error> {
    let mut bytes = Zeroizing::new(bytes);
    getrandom::fill(bytes.as_mut()).map_err(|_| GetRandomFailed)?;
    Ok(bytes)
}
