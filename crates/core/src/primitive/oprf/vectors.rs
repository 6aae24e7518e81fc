//! Test vectors of RFC 9497, appendix A.1.1 (ristretto255-SHA512, mode OPRF).

use super::*;
use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

const SEED: [u8; 32] = [0xa3; 32];
const KEY_INFO: &[u8] = b"test key";
const KEY: &str = "5ebcea5ee37023ccb9fc2d2019f9d7737be85591ae8652ffa9ef0f4d37063b0e";
const BLIND: &str = "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706";

struct Vector {
    input: &'static [u8],
    blinded: &'static str,
    evaluated: &'static str,
    output: &'static str,
}

const VECTORS: [Vector; 2] = [
    Vector {
        input: &[0],
        blinded: "609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c",
        evaluated: "7ec6578ae5120958eb2db1745758ff379e77cb64fe77b0b2d8cc917ea0869c7e",
        output: "527759c3d9366f277d8c6020418d96bb393ba2afb20ff90df23fb7708264e2f3\
                 ab9135e3bd69955851de4b1f9fe8a0973396719b7912ba9ee8aa7d0b5e24bcf6",
    },
    Vector {
        input: &[0x5a; 17],
        blinded: "da27ef466870f5f15296299850aa088629945a17d1f5b7f5ff043f76b3c06418",
        evaluated: "b4cbf5a4f1eeda5a63ce7b77c7d23f461db3fcab0dd28e4e17cecb5c90d02c25",
        output: "f4a74c9c592497375e796aa837e907b1a045d34306a749db9f34221f7e750cb4\
                 f2a6413a6bf6fa5e19ba6348eb673934a722a7ede2e7621306d18951e7cf2c73",
    },
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn the_key_is_derived() {
    let key = Key::derive(&SEED, KEY_INFO).unwrap();
    assert_eq!(hex(&key.to_bytes()), KEY);
    assert!(Key::derive(&SEED, &[0; 65_536]).is_err());
}

#[test]
fn every_step_of_every_vector() {
    let key = Key::from_bytes(&bytes(KEY)).unwrap();
    for vector in &VECTORS {
        let blinds = Blinds(vec![Ristretto255.decode_scalar(&bytes(BLIND)).unwrap()]);
        let blinded = blinds.blind(&[vector.input]).unwrap();
        assert_eq!(hex(&blinded), vector.blinded);
        let evaluated = key.blind_evaluate(&blinded).unwrap();
        assert_eq!(hex(&evaluated), vector.evaluated);
        assert_eq!(hex(&blinds.finalize(&[vector.input], &evaluated).unwrap()[0]), vector.output);
        assert_eq!(hex(&key.evaluate(&[vector.input]).unwrap()[0]), vector.output);
    }
}

#[test]
fn batches_agree_with_single_inputs() {
    let mut rng = ChaCha20Rng::from_seed([7; 32]);
    let key = Key::random(&mut rng);
    let inputs: Vec<[u8; 4]> = (0..600u32).map(u32::to_le_bytes).collect();
    let blinds = Blinds::random(inputs.len(), &mut rng);
    let evaluated = key.blind_evaluate(&blinds.blind(&inputs).unwrap()).unwrap();
    let outputs = blinds.finalize(&inputs, &evaluated).unwrap();
    assert_eq!(*outputs, *key.evaluate(&inputs).unwrap());
    for index in [0, 255, 256, 599] {
        assert_eq!(outputs[index], key.evaluate(&inputs[index..=index]).unwrap()[0]);
    }
}

#[test]
fn answers_of_the_wrong_number_are_refused() {
    let mut rng = ChaCha20Rng::from_seed([8; 32]);
    let blinds = Blinds::random(2, &mut rng);
    let blinded = blinds.blind(&[[1], [2]]).unwrap();
    assert_eq!(blinds.finalize(&[[1], [2]], &blinded[..32]), Err(DecodeError::Length));
    assert_eq!(blinds.finalize(&[[1], [2]], &blinded[..31]), Err(DecodeError::Length));
}

#[test]
fn keys_are_not_printed_and_bad_ones_are_refused() {
    let key = Key::from_bytes(&bytes(KEY)).unwrap();
    assert_eq!(format!("{key:?}"), "Key(..)");
    assert!(Key::from_bytes(&[0; 32]).is_none());
    assert!(Key::from_bytes(&[0xff; 32]).is_none());
    assert!(Key::from_bytes(&[1; 33]).is_none());
}
