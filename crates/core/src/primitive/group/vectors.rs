//! Test vectors: RFC 9496 (ristretto255), appendix A, and RFC 9380 (message expansion), appendix K.3.

use super::ristretto255::form;
use super::*;
use chacha20::ChaCha20Rng;
use curve25519_dalek::ristretto::RistrettoPoint;
use rand_core::SeedableRng;
use sha2::{Digest, Sha512};

/// RFC 9496, appendix A.1: the encodings of 0, 1, ... 15 times the generator.
const MULTIPLES: [&str; 16] = [
    "0000000000000000000000000000000000000000000000000000000000000000",
    "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76",
    "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919",
    "94741f5d5d52755ece4f23f044ee27d5d1ea1e2bd196b462166b16152a9d0259",
    "da80862773358b466ffadfe0b3293ab3d9fd53c5ea6c955358f568322daf6a57",
    "e882b131016b52c1d3337080187cf768423efccbb517bb495ab812c4160ff44e",
    "f64746d3c92b13050ed8d80236a7f0007c3b3f962f5ba793d19a601ebb1df403",
    "44f53520926ec81fbd5a387845beb7df85a96a24ece18738bdcfa6a7822a176d",
    "903293d8f2287ebe10e2374dc1a53e0bc887e592699f02d077d5263cdd55601c",
    "02622ace8f7303a31cafc63f8fc48fdc16e1c8c8d234b2f0d6685282a9076031",
    "20706fd788b2720a1ed2a5dad4952b01f413bcf0e7564de8cdc816689e2db95f",
    "bce83f8ba5dd2fa572864c24ba1810f9522bc6004afe95877ac73241cafdab42",
    "e4549ee16b9aa03099ca208c67adafcafa4c3f3e4e5303de6026e3ca8ff84460",
    "aa52e000df2e16f55fb1032fc33bc42742dad6bd5a8fc0be0167436c5948501f",
    "46376b80f409b29dc2b5f6f0c52591990896e5716f41477cd30085ab7f10301e",
    "e0c418f7c8d9c4cdd7395b93ea124f3ad99021bb681dfc3302a9d99a2e53e64e",
];

/// RFC 9496, appendix A.2: encodings that no point has. Field elements that are not reduced, negative ones, s whose
/// x^2 is not a square, negative x * y, and s = -1.
const INVALID: [&str; 29] = [
    "00ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
    "ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "f3ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "01ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "ed57ffd8c914fb201471d1c3d245ce3c746fcbe63a3679d51b6a516ebebe0e20",
    "c34c4e1826e5d403b78e246e88aa051c36ccf0aafebffe137d148a2bf9104562",
    "c940e5a4404157cfb1628b108db051a8d439e1a421394ec4ebccb9ec92a8ac78",
    "47cfc5497c53dc8e61c91d17fd626ffb1c49e2bca94eed052281b510b1117a24",
    "f1c6165d33367351b0da8f6e4511010c68174a03b6581212c71c0e1d026c3c72",
    "87260f7a2f12495118360f02c26a470f450dadf34a413d21042b43b9d93e1309",
    "26948d35ca62e643e26a83177332e6b6afeb9d08e4268b650f1f5bbd8d81d371",
    "4eac077a713c57b4f4397629a4145982c661f48044dd3f96427d40b147d9742f",
    "de6a7b00deadc788eb6b6c8d20c0ae96c2f2019078fa604fee5b87d6e989ad7b",
    "bcab477be20861e01e4a0e295284146a510150d9817763caf1a6f4b422d67042",
    "2a292df7e32cababbd9de088d1d1abec9fc0440f637ed2fba145094dc14bea08",
    "f4a9e534fc0d216c44b218fa0c42d99635a0127ee2e53c712f70609649fdff22",
    "8268436f8c4126196cf64b3c7ddbda90746a378625f9813dd9b8457077256731",
    "2810e5cbc2cc4d4eece54f61c6f69758e289aa7ab440b3cbeaa21995c2f4232b",
    "3eb858e78f5a7254d8c9731174a94f76755fd3941c0ac93735c07ba14579630e",
    "a45fdc55c76448c049a1ab33f17023edfb2be3581e9c7aade8a6125215e04220",
    "d483fe813c6ba647ebbfd3ec41adca1c6130c2beeee9d9bf065c8d151c5f396e",
    "8a2e1d30050198c65a54483123960ccc38aef6848e1ec8f5f780e8523769ba32",
    "32888462f8b486c68ad7dd9610be5192bbeaf3b443951ac1a8118419d9fa097b",
    "227142501b9d4355ccba290404bde41575b037693cef1f438c47f8fbf35d1165",
    "5c37cc491da847cfeb9281d407efc41e15144c876e0170b499a96a22ed31e01e",
    "445425117cb8c90edcbc7c1cc0e74f747f2c1efa5630a967c64f287792a48a4b",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
];

/// RFC 9496, appendix A.3: points derived from the SHA-512 hashes of words.
const DERIVED: [(&str, &str); 7] = [
    (
        "Ristretto is traditionally a short shot of espresso coffee",
        "3066f82a1a747d45120d1740f14358531a8f04bbffe6a819f86dfe50f44a0a46",
    ),
    (
        "made with the normal amount of ground coffee but extracted with",
        "f26e5b6f7d362d2d2a94c5d0e7602cb4773c95a2e5c31a64f133189fa76ed61b",
    ),
    (
        "about half the amount of water in the same amount of time",
        "006ccd2a9e6867e6a2c5cea83d3302cc9de128dd2a9a57dd8ee7b9d7ffe02826",
    ),
    ("by using a finer grind.", "f8f0c87cf237953c5890aec3998169005dae3eca1fbb04548c635953c817f92a"),
    (
        "This produces a concentrated shot of coffee per volume.",
        "ae81e7dedf20a497e10c304a765c1767a42d6e06029758d2d7e8ef7cc4c41179",
    ),
    (
        "Just pulling a normal shot short will produce a weaker shot",
        "e2705652ff9f5e44d3e841bf1c251cf7dddb77d140870d1ab2ed64f1a9ce8628",
    ),
    ("and is not a Ristretto as some believe.", "80bd07262511cdde4863f8a7434cef696750681cb9510eea557088f76d9e5065"),
];

/// RFC 9380, appendix K.3: outputs of `expand_message_xmd` with SHA-512. "Q" and "A" stand for its long messages.
const EXPANDED: [(&str, &str); 10] = [
    ("", "6b9a7312411d92f921c6f68ca0b6380730a1a4d982c507211a90964c394179ba"),
    ("abc", "0da749f12fbe5483eb066a5f595055679b976e93abe9be6f0f6318bce7aca8dc"),
    ("abcdef0123456789", "087e45a86e2939ee8b91100af1583c4938e0f5fc6c9db4b107b83346bc967f58"),
    ("Q", "7336234ee9983902440f6bc35b348352013becd88938d2afec44311caf8356b3"),
    ("A", "57b5f7e766d5be68a6bfe1768e3c2b7f1228b3e4b3134956dd73a59b954c66f4"),
    (
        "",
        "41b037d1734a5f8df225dd8c7de38f851efdb45c372887be655212d07251b921\
         b052b62eaed99b46f72f2ef4cc96bfaf254ebbbec091e1a3b9e4fb5e5b619d2e\
         0c5414800a1d882b62bb5cd1778f098b8eb6cb399d5d9d18f5d5842cf5d13d7e\
         b00a7cff859b605da678b318bd0e65ebff70bec88c753b159a805d2c89c55961",
    ),
    (
        "abc",
        "7f1dddd13c08b543f2e2037b14cefb255b44c83cc397c1786d975653e36a6b11\
         bdd7732d8b38adb4a0edc26a0cef4bb45217135456e58fbca1703cd6032cb134\
         7ee720b87972d63fbf232587043ed2901bce7f22610c0419751c065922b48843\
         1851041310ad659e4b23520e1772ab29dcdeb2002222a363f0c2b1c972b3efe1",
    ),
    (
        "abcdef0123456789",
        "3f721f208e6199fe903545abc26c837ce59ac6fa45733f1baaf0222f8b7acb04\
         24814fcb5eecf6c1d38f06e9d0a6ccfbf85ae612ab8735dfdf9ce84c372a77c8\
         f9e1c1e952c3a61b7567dd0693016af51d2745822663d0c2367e3f4f0bed827f\
         eecc2aaf98c949b5ed0d35c3f1023d64ad1407924288d366ea159f46287e61ac",
    ),
    (
        "Q",
        "b799b045a58c8d2b4334cf54b78260b45eec544f9f2fb5bd12fb603eaee70db7\
         317bf807c406e26373922b7b8920fa29142703dd52bdf280084fb7ef69da78af\
         df80b3586395b433dc66cde048a258e476a561e9deba7060af40adf30c64249c\
         a7ddea79806ee5beb9a1422949471d267b21bc88e688e4014087a0b592b695ed",
    ),
    (
        "A",
        "05b0bfef265dcee87654372777b7c44177e2ae4c13a27f103340d9cd11c86cb2\
         426ffcad5bd964080c2aee97f03be1ca18e30a1f14e27bc11ebbd650f305269c\
         c9fb1db08bf90bfc79b42a952b46daf810359e7bc36452684784a64952c343c5\
         2e5124cd1f71d474d5197fefc571a92929c9084ffe1112cf5eea5192ebff330b",
    ),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap()).collect()
}

#[test]
fn multiples_of_the_generator() {
    let one = Ristretto255.decode_scalar(&bytes(&format!("01{}", "00".repeat(31)))).unwrap();
    let mut multiple = RistrettoPoint::default();
    for (index, encoding) in MULTIPLES.iter().enumerate() {
        assert_eq!(hex(multiple.compress().as_bytes()), *encoding);
        let decoded = Ristretto255.decode(&bytes(encoding));
        if index == 0 {
            assert_eq!(decoded.unwrap_err(), DecodeError::Identity(0));
        } else {
            let points = decoded.unwrap();
            assert_eq!(hex(&Ristretto255.encode(&points)), *encoding);
            assert_eq!(hex(&Ristretto255.multiply_encode(&points, &one)), *encoding);
        }
        multiple += curve25519_dalek::constants::RISTRETTO_BASEPOINT_POINT;
    }
}

#[test]
fn invalid_encodings_are_rejected_wherever_they_stand() {
    for encoding in INVALID {
        assert_eq!(Ristretto255.decode(&bytes(encoding)).unwrap_err(), DecodeError::NotAPoint(0));
        let after = [bytes(MULTIPLES[1]), bytes(encoding)].concat();
        assert_eq!(Ristretto255.decode(&after).unwrap_err(), DecodeError::NotAPoint(1));
    }
}

#[test]
fn points_derived_from_hashes() {
    for (words, encoding) in DERIVED {
        let mut point = [Point::identity()];
        form().map(&[Sha512::digest(words).into()], &mut point);
        assert_eq!(hex(&Ristretto255.encode(&point)), encoding);
    }
}

#[test]
fn message_expansion() {
    for (message, expected) in EXPANDED {
        let message = match message {
            "Q" => format!("q128_{}", "q".repeat(128)),
            "A" => format!("a512_{}", "a".repeat(512)),
            short => short.to_owned(),
        };
        let mut output = vec![0; expected.len() / 2];
        expand_message_xmd(message.as_bytes(), b"QUUX-V01-CS02-with-expander-SHA512-256", &mut output);
        assert_eq!(hex(&output), expected);
    }
}

/// Hashing to the group is message expansion and the map of RFC 9496, and encodings are never those of the identity.
#[test]
fn hashing_to_the_group_is_expansion_and_map() {
    let mut wide = [0; 64];
    expand_message_xmd(b"message", b"tag", &mut wide);
    let expected = RistrettoPoint::from_uniform_bytes(&wide).compress();
    let points = Ristretto255.hash_to_points(&[b"message"], b"tag");
    assert_eq!(Ristretto255.encode(&points), expected.as_bytes());
    assert!(Ristretto255.hash_to_points::<[u8; 4]>(&[], b"tag").is_empty());
}

/// A bit flipped in a valid encoding is either rejected or another point, which then encodes to just these bytes.
#[test]
fn whatever_decodes_is_canonical() {
    let mut rng = ChaCha20Rng::from_seed([9; 32]);
    let points = Ristretto255.multiply_generator(&Ristretto255.random_scalars(1, &mut rng));
    let encoding = Ristretto255.encode(&points);
    let mut accepted = 0;
    for bit in 0..256 {
        let mut flipped = encoding.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        if let Ok(points) = Ristretto255.decode(&flipped) {
            accepted += 1;
            assert_eq!(Ristretto255.encode(&points), flipped);
        }
    }
    assert!((1..255).contains(&accepted));
}
