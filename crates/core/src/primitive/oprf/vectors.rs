//! Test vectors of RFC 9497, appendices A.1.1, A.4.1 and A.5.1 (mode OPRF).

use super::*;
use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

const SEED: [u8; 32] = [0xa3; 32];
const KEY_INFO: &[u8] = b"test key";

/// The vectors of a suite, whose inputs are [`INPUTS`].
struct Vectors {
    suite: Suite,
    key: &'static str,
    blind: &'static str,
    vectors: [Vector; 2],
}

struct Vector {
    blinded: &'static str,
    evaluated: &'static str,
    output: &'static str,
}

const INPUTS: [&[u8]; 2] = [&[0], &[0x5a; 17]];

const VECTORS: [Vectors; 3] = [
    Vectors {
        suite: Suite::Ristretto255,
        key: "5ebcea5ee37023ccb9fc2d2019f9d7737be85591ae8652ffa9ef0f4d37063b0e",
        blind: "64d37aed22a27f5191de1c1d69fadb899d8862b58eb4220029e036ec4c1f6706",
        vectors: [
            Vector {
                blinded: "609a0ae68c15a3cf6903766461307e5c8bb2f95e7e6550e1ffa2dc99e412803c",
                evaluated: "7ec6578ae5120958eb2db1745758ff379e77cb64fe77b0b2d8cc917ea0869c7e",
                output: "527759c3d9366f277d8c6020418d96bb393ba2afb20ff90df23fb7708264e2f3ab9135e3bd69955851de4b1f9fe8a097\
3396719b7912ba9ee8aa7d0b5e24bcf6",
            },
            Vector {
                blinded: "da27ef466870f5f15296299850aa088629945a17d1f5b7f5ff043f76b3c06418",
                evaluated: "b4cbf5a4f1eeda5a63ce7b77c7d23f461db3fcab0dd28e4e17cecb5c90d02c25",
                output: "f4a74c9c592497375e796aa837e907b1a045d34306a749db9f34221f7e750cb4f2a6413a6bf6fa5e19ba6348eb673934\
a722a7ede2e7621306d18951e7cf2c73",
            },
        ],
    },
    Vectors {
        suite: Suite::P384,
        key: "dfe7ddc41a4646901184f2b432616c8ba6d452f9bcd0c4f75a5150ef2b2ed02ef40b8b92f60ae591bcabd72a6518f188",
        blind: "504650f53df8f16f6861633388936ea23338fa65ec36e0290022b48eb562889d89dbfa691d1cde91517fa222ed7ad364",
        vectors: [
            Vector {
                blinded: "02a36bc90e6db34096346eaf8b7bc40ee1113582155ad3797003ce614c835a874343701d3f2debbd80d97cbe45de6e5f\
1f",
                evaluated: "03af2a4fc94770d7a7bf3187ca9cc4faf3732049eded2442ee50fbddda58b70ae2999366f72498cdbc43e6f2fc184afe\
30",
                output: "ed84ad3f31a552f0456e58935fcc0a3039db42e7f356dcb32aa6d487b6b815a07d5813641fb1398c03ddab5763874357",
            },
            Vector {
                blinded: "02def6f418e3484f67a124a2ce1bfb19de7a4af568ede6a1ebb2733882510ddd43d05f2b1ab5187936a55e50a847a8b9\
00",
                evaluated: "034e9b9a2960b536f2ef47d8608b21597ba400d5abfa1825fd21c36b75f927f396bf3716c96129d1fa4a77fa1d479c8d\
7b",
                output: "dd4f29da869ab9355d60617b60da0991e22aaab243a3460601e48b075859d1c526d36597326f1b985778f781a1682e75",
            },
        ],
    },
    Vectors {
        suite: Suite::P521,
        key: "0153441b8faedb0340439036d6aed06d1217b34c42f17f8db4c5cc610a4a955d698a688831b16d0dc7713a1aa3611ec6\
0703bffc7dc9c84e3ed673b3dbe1d5fccea6",
        blind: "00d1dccf7a51bafaf75d4a866d53d8cafe4d504650f53df8f16f6861633388936ea23338fa65ec36e0290022b48eb562\
889d89dbfa691d1cde91517fa222ed7ad364",
        vectors: [
            Vector {
                blinded: "0300e78bf846b0e1e1a3c320e353d758583cd876df56100a3a1e62bacba470fa6e0991be1be80b721c50c5fd0c672ba7\
64457acc18c6200704e9294fbf28859d916351",
                evaluated: "030166371cf827cb2fb9b581f97907121a16e2dc5d8b10ce9f0ede7f7d76a0d047657735e8ad07bcda824907b3e5479b\
d72cdef6b839b967ba5c58b118b84d26f2ba07",
                output: "26232de6fff83f812adadadb6cc05d7bbeee5dca043dbb16b03488abb9981d0a1ef4351fad52dbd7e759649af393348f\
7b9717566c19a6b8856284d69375c809",
            },
            Vector {
                blinded: "0300c28e57e74361d87e0c1874e5f7cc1cc796d61f9cad50427cf54655cdb455613368d42b27f94bf66f59f53c816db3\
e95e68e1b113443d66a99b3693bab88afb556b",
                evaluated: "0301ad453607e12d0cc11a3359332a40c3a254eaa1afc64296528d55bed07ba322e72e22cf3bcb50570fd913cb54f7f0\
9c17aff8787af75f6a7faf5640cbb2d9620a6e",
                output: "ad1f76ef939042175e007738906ac0336bbd1d51e287ebaa66901abdd324ea3ffa40bfc5a68e7939c2845e0fd37a5a6e\
76dadb9907c6cc8579629757fd4d04ba",
            },
        ],
    },
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn keys_are_derived() {
    for Vectors { suite, key, .. } in VECTORS {
        assert_eq!(hex(&OprfKey::derive(suite, &SEED, KEY_INFO).unwrap().to_bytes()), key);
        assert!(OprfKey::derive(suite, &SEED, &[0; 65_536]).is_err());
    }
}

#[test]
fn every_step_of_every_vector() {
    for Vectors { suite, key, blind, vectors } in VECTORS {
        let key = OprfKey::from_bytes(suite, &bytes(key)).unwrap();
        for (input, vector) in INPUTS.iter().zip(vectors) {
            let blinds = Blinds(suite.decode_scalar(&bytes(blind)).unwrap());
            let blinded = blinds.blind(&[input]).unwrap();
            assert_eq!(hex(&blinded), vector.blinded);
            let evaluated = key.blind_evaluate(&blinded).unwrap();
            assert_eq!(hex(&evaluated), vector.evaluated);
            let output = blinds.finalize(&[input], &evaluated).unwrap()[0];
            let length = vector.output.len() / 2;
            assert_eq!((hex(&output[..length]), &output[length..]), (vector.output.into(), &[0; 64][length..]));
            assert_eq!(key.evaluate(&[input]).unwrap()[0], output);

            // Blinded by addition, with the same number.
            let public = OprfPublicKey::from_bytes(suite, &key.public()).unwrap();
            let blinds = AdditiveBlinds(suite.decode_scalar(&bytes(blind)).unwrap());
            let evaluated = key.blind_evaluate(&blinds.blind(&[input]).unwrap()).unwrap();
            assert_eq!(blinds.finalize(&[input], &evaluated, &public).unwrap()[0], output);
        }
    }
}

#[test]
fn batches_agree_with_single_inputs() {
    for suite in Suite::ALL {
        let mut rng = ChaCha20Rng::from_seed([7; 32]);
        let key = OprfKey::random(suite, &mut rng);
        let inputs: Vec<[u8; 4]> = (0..130u32).map(u32::to_le_bytes).collect();
        let blinds = Blinds::random(suite, inputs.len(), &mut rng);
        let evaluated = key.blind_evaluate(&blinds.blind(&inputs).unwrap()).unwrap();
        let outputs = blinds.finalize(&inputs, &evaluated).unwrap();
        assert_eq!(*outputs, *key.evaluate(&inputs).unwrap());
        for index in [0, 63, 64, 129] {
            assert_eq!(outputs[index], key.evaluate(&inputs[index..=index]).unwrap()[0]);
        }
        let blinds = AdditiveBlinds::random(suite, inputs.len(), &mut rng);
        let public = OprfPublicKey::from_bytes(suite, &key.public()).unwrap();
        let evaluated = key.blind_evaluate(&blinds.blind(&inputs).unwrap()).unwrap();
        assert_eq!(*blinds.finalize(&inputs, &evaluated, &public).unwrap(), *outputs);
        let elements = key.elements(&inputs).unwrap();
        assert_eq!(elements.len(), inputs.len() * suite.element_bytes());
        assert_eq!(key.inverse().blind_evaluate(&elements).unwrap(), suite.hash_to_group(&inputs).unwrap());
        assert!(key.evaluate::<[u8; 4]>(&[]).unwrap().is_empty());
    }
}

#[test]
fn answers_of_the_wrong_number_are_refused() {
    for suite in Suite::ALL {
        let mut rng = ChaCha20Rng::from_seed([8; 32]);
        let blinds = Blinds::random(suite, 2, &mut rng);
        let blinded = blinds.blind(&[[1], [2]]).unwrap();
        let additive = AdditiveBlinds::random(suite, 2, &mut rng);
        let public = OprfPublicKey::from_bytes(suite, &OprfKey::random(suite, &mut rng).public()).unwrap();
        let length = suite.element_bytes();
        for wrong in [0, 1, length - 1, length, 2 * length - 1] {
            assert_eq!(blinds.finalize(&[[1], [2]], &blinded[..wrong]), Err(DecodeError::Length));
            assert_eq!(additive.finalize(&[[1], [2]], &blinded[..wrong], &public), Err(DecodeError::Length));
        }
        assert_eq!(additive.finalize(&[[1]], &blinded[..length], &public), Err(DecodeError::Length));
        assert_eq!(blinds.finalize(&[[1]], &blinded[..length]), Err(DecodeError::Length));
    }
}

#[test]
fn keys_are_not_printed_and_bad_ones_are_refused() {
    for Vectors { suite, key, .. } in VECTORS {
        let length = suite.key_bytes();
        let key = OprfKey::from_bytes(suite, &bytes(key)).unwrap();
        assert_eq!((format!("{key:?}"), key.to_bytes().len(), key.suite()), ("Key(..)".into(), length, suite));
        for wrong in [vec![0; length], vec![0xff; length], vec![1; length + 1], vec![1; length - 1]] {
            assert!(OprfKey::from_bytes(suite, &wrong).is_none());
        }
    }
}

#[test]
fn public_keys_are_single_elements_other_than_the_identity() {
    for suite in Suite::ALL {
        let public = OprfKey::random(suite, &mut ChaCha20Rng::from_seed([9; 32])).public();
        OprfPublicKey::from_bytes(suite, &public).unwrap();
        let twice = [&public[..], &public].concat();
        for wrong in [&[][..], &public[1..], &twice, &vec![0; public.len()], &vec![0xff; public.len()]] {
            OprfPublicKey::from_bytes(suite, wrong).unwrap_err();
        }
    }
}

/// The program of a sender that answers with another key than the one that it has announced. It can compute the output
/// for one guess of the input, and for no other: tags by the announced key do not match.
#[test]
fn an_answer_by_another_key_gives_an_output_that_is_known_for_a_guess_alone() {
    use crate::primitive::group::{Group, Ristretto255, ScalarField};

    let (suite, group, mut rng) = (Suite::Ristretto255, &Ristretto255, ChaCha20Rng::from_seed([10; 32]));
    let [announced, other] = [(); 2].map(|()| group.random_scalars(1, &mut rng).remove(0));
    let key = OprfKey(Scalars::Ristretto255(vec![announced.clone()]));
    let public = OprfPublicKey::from_bytes(suite, &key.public()).unwrap();

    let blinds = AdditiveBlinds::random(suite, 1, &mut rng);
    let blinded = blinds.blind(&[b"input"]).unwrap();
    let answered = OprfKey(Scalars::Ristretto255(vec![other.clone()])).blind_evaluate(&blinded).unwrap();
    let output = blinds.finalize(&[b"input"], &answered, &public).unwrap()[0];

    let offset = group.multiply(&group.decode(&blinded).unwrap(), &group.minus(&other, &announced));
    let predicted = |guess: &[u8; 5]| {
        let point = group.decode(&suite.hash_to_group(&[guess]).unwrap()).unwrap();
        suite.finalize(&[guess], &group.encode(&group.add(&group.multiply(&point, &announced), &offset)))[0]
    };
    assert_eq!(predicted(b"input"), output);
    assert_ne!(predicted(b"other"), output);
    assert_ne!(key.evaluate(&[b"input"]).unwrap()[0], output);
}
