//! The hybrid group: its ML-KEM against NIST's vectors, the form of its shares and secrets, and the order of groups.

use std::collections::BTreeMap;

use ml_kem::kem::KeyExport;
use ml_kem::ml_kem_768::DecapsulationKey;
use ml_kem::{B32, Seed};
use rustls::crypto::ring::kx_group::X25519;
use sha3::{Digest, Sha3_256};

use super::hybrid::{
    CIPHERTEXT_BYTES, ENCAPSULATION_KEY_BYTES, X25519_BYTES, X25519MLKEM768, decapsulate, encapsulate,
    encapsulation_key,
};
use super::{NamedGroup, NegotiatedGroup};
use crate::base::hex::{hex, unhex};

/// Cases by what they are of, with the values of each by name. What a case lacks is as in the one before it.
fn vectors(kind: &str) -> Vec<BTreeMap<&'static str, Vec<u8>>> {
    let mut all: Vec<(&str, BTreeMap<_, _>)> = Vec::new();
    for line in include_str!("ml_kem_768.txt").lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix("  ").and_then(|line| line.split_once(' ')) {
            Some((name, value)) => {
                let value = unhex(value).unwrap();
                all.last_mut().unwrap().1.insert(name, value);
            }
            None => {
                let before = all.last().map(|(_, case)| case.clone()).unwrap_or_default();
                all.push((line, before));
            }
        }
    }
    let found: Vec<_> = all.into_iter().filter(|(title, _)| title.starts_with(kind)).map(|(_, case)| case).collect();
    assert!(!found.is_empty(), "{kind}");
    found
}

fn digest(bytes: &[u8]) -> Vec<u8> {
    Sha3_256::digest(bytes).to_vec()
}

#[test]
fn keys_are_nists() {
    for case in vectors("keygen") {
        let seed = Seed::try_from([&case["d"][..], &case["z"]].concat().as_slice()).unwrap();
        let key = DecapsulationKey::from_seed(seed);
        assert_eq!(digest(&key.encapsulation_key().to_bytes()), case["sha3-256(ek)"]);
    }
}

#[test]
fn ciphertexts_and_secrets_are_nists() {
    for case in vectors("encapsulation") {
        let key = encapsulation_key(&case["ek"]).unwrap();
        let (ciphertext, secret) = encapsulate(&key, &B32::try_from(&case["m"][..]).unwrap());
        assert_eq!(digest(&ciphertext), case["sha3-256(c)"]);
        assert_eq!(secret[..], case["k"]);
    }
}

/// NIST gives decapsulation keys in their long form, which TLS never sees.
#[test]
#[allow(deprecated)]
fn opened_secrets_are_nists_of_good_and_of_altered_ciphertexts() {
    use ml_kem::ExpandedKeyEncoding;
    let all = vectors("decapsulation");
    assert_eq!(all.len(), 2);
    for case in all {
        let key = DecapsulationKey::from_expanded_bytes(case["dk"].as_slice().try_into().unwrap()).unwrap();
        assert_eq!(decapsulate(&key, &case["c"]).unwrap()[..], case["k"]);
    }
}

#[test]
fn keys_with_numbers_from_the_modulus_on_are_refused() {
    let good = &vectors("encapsulation")[0]["ek"];
    let with = |place: usize, number: u16| {
        // Two numbers of 12 bits in three bytes.
        let (mut key, at) = (good.clone(), place / 2 * 3);
        let [low, high] = number.to_le_bytes();
        if place.is_multiple_of(2) {
            (key[at], key[at + 1]) = (low, key[at + 1] & 0xf0 | high);
        } else {
            (key[at + 1], key[at + 2]) = (key[at + 1] & 0x0f | low << 4, high << 4 | low >> 4);
        }
        encapsulation_key(&key).is_ok()
    };
    for place in [0, 1, 255, 256, 511, 766, 767] {
        assert!([0, 1, 3328].into_iter().all(|number| with(place, number)), "{place}");
        assert!([3329, 3330, 4095].into_iter().all(|number| !with(place, number)), "{place}");
    }
}

#[test]
fn shares_and_secrets_are_joined_in_the_order_of_the_draft() {
    let client = X25519MLKEM768.start().unwrap();
    let (name, alone) = client.hybrid_component().unwrap();
    assert_eq!((name, alone.len()), (NamedGroup::X25519, X25519_BYTES));
    assert_eq!(client.pub_key().len(), ENCAPSULATION_KEY_BYTES + X25519_BYTES);
    assert_eq!(&client.pub_key()[ENCAPSULATION_KEY_BYTES..], alone);

    // The secret of X25519, which a client of that group alone would have.
    let server = X25519MLKEM768.start_and_complete(client.pub_key()).unwrap();
    assert_eq!(server.pub_key.len(), CIPHERTEXT_BYTES + X25519_BYTES);
    let classical = server.pub_key[CIPHERTEXT_BYTES..].to_vec();
    let classical = client.complete_hybrid_component(&classical).unwrap();
    assert_eq!(server.secret.secret_bytes().len(), 64);
    assert_eq!(&server.secret.secret_bytes()[32..], classical.secret_bytes());

    // Both ends have the same, and a fresh one each time.
    let client = X25519MLKEM768.start().unwrap();
    let server = X25519MLKEM768.start_and_complete(client.pub_key()).unwrap();
    let secret = client.complete(&server.pub_key).unwrap();
    assert_eq!(hex(secret.secret_bytes()), hex(server.secret.secret_bytes()));
}

#[test]
fn the_first_half_of_a_secret_is_of_ml_kem_and_fresh() {
    let key = DecapsulationKey::from_seed(Seed::from([7; 64]));
    let point = X25519.start().unwrap();
    let share = [&key.encapsulation_key().to_bytes()[..], point.pub_key()].concat();
    let servers = [(); 2].map(|()| X25519MLKEM768.start_and_complete(&share).unwrap());
    for server in &servers {
        let secret = decapsulate(&key, &server.pub_key[..CIPHERTEXT_BYTES]).unwrap();
        assert_eq!(server.secret.secret_bytes()[..32], secret[..]);
    }
    let [one, other] = servers.map(|server| server.pub_key[..CIPHERTEXT_BYTES].to_vec());
    assert_ne!(one, other);
    let [one, other] = [(); 2].map(|()| X25519MLKEM768.start().unwrap().pub_key()[..ENCAPSULATION_KEY_BYTES].to_vec());
    assert_ne!(one, other);
}

#[test]
fn the_weakest_of_several_is_a_classical_one() {
    let [hybrid, classical] = [NamedGroup::X25519MLKEM768, NamedGroup::X25519].map(NegotiatedGroup);
    for groups in [vec![hybrid, classical, hybrid], vec![classical, hybrid], vec![hybrid, classical]] {
        assert_eq!(NegotiatedGroup::weakest(groups), Some(classical));
    }
    assert_eq!(NegotiatedGroup::weakest([hybrid, hybrid]), Some(hybrid));
    assert_eq!(NegotiatedGroup::weakest([]), None);
}
