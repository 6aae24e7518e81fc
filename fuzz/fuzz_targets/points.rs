//! Group elements, keys, proofs and ciphertexts from bytes, in every group: what is read is written as the same bytes.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tacita_core::primitive::elgamal::threshold::VerificationKey;
use tacita_core::primitive::elgamal::{self, ElGamalPublicKey};
use tacita_core::primitive::group::{Group, ModP, P384, P521, Ristretto255};
use tacita_core::primitive::oprf::{OprfKey, Suite};
use tacita_core::primitive::proof::Proof;
use tacita_core::primitive::published::Pallas;
use tacita_core::security::Level;

static MOD_P: LazyLock<ModP> = LazyLock::new(|| ModP::of(Level::Paper80));

fuzz_target!(|bytes: &[u8]| {
    let Some((which, bytes)) = bytes.split_first() else { return };
    match usize::from(*which) % (Suite::ALL.len() + 2) {
        3 => group(&Pallas, bytes),
        4 => group(&*MOD_P, bytes),
        suite => {
            oprf(Suite::ALL[suite], bytes);
            match Suite::ALL[suite] {
                Suite::Ristretto255 => group(&Ristretto255, bytes),
                Suite::P384 => group(&P384::new(), bytes),
                Suite::P521 => group(&P521::new(), bytes),
            }
        }
    }
});

fn group<G: Group + Sync>(group: &G, bytes: &[u8]) {
    if let Ok(points) = group.decode(bytes) {
        assert!(!group.any_identity(&points));
        assert_eq!(group.encode(&points), bytes);
    }
    if let Ok(ciphertexts) = elgamal::decode(group, bytes) {
        assert_eq!(elgamal::encode(group, &ciphertexts), bytes);
    }
    if let Ok(key) = ElGamalPublicKey::from_bytes(group, bytes) {
        assert_eq!(key.to_bytes(group), bytes);
    }
    if let Ok(key) = VerificationKey::from_bytes(group, bytes) {
        assert_eq!(key.to_bytes(group), bytes);
    }
    // Of a key, and of a ciphertext.
    for (equations, scalars) in [(1, 1), (2, 1), (2, 2)] {
        if let Some(proof) = Proof::decode(group, bytes, equations, scalars) {
            assert_eq!(proof.encode(group), bytes);
        }
    }
    if let Some(scalar) = group.decode_scalar(bytes) {
        assert_eq!(&group.encode_scalar(&scalar)[..], bytes);
    }
}

fn oprf(suite: Suite, bytes: &[u8]) {
    let key = OprfKey::derive(suite, &[1; 32], b"fuzz").unwrap();
    if let Ok(evaluated) = key.blind_evaluate(bytes) {
        assert_eq!(evaluated.len(), bytes.len());
        // Elements are canonical and none is the identity, so what comes out goes in again, and back.
        assert_eq!(key.inverse().blind_evaluate(&evaluated).unwrap(), bytes);
    }
    if let Some(key) = OprfKey::from_bytes(suite, bytes) {
        assert_eq!((bytes.len(), &key.to_bytes()[..]), (suite.key_bytes(), bytes));
    }
}
