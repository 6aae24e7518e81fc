//! Tests of the messages that each role of `paillier` receives, compared with what its own input and output allow.
//! Every check is also run on a deliberately leaky variant, which must fail it.

use std::collections::HashSet;

use crate::support::views::*;
use crate::support::{Frame, lengths, payloads, rng, two};
use tacita_core::primitive::ot::Choices;
use tacita_core::primitive::paillier::{CiphertextProducts, KeySize, PaillierCiphertexts, PaillierSecretKey};
use tacita_core::protocol::dot::paillier::{self, ANSWERS, COLUMNS, LiveEncryptions, PUBLIC_KEY, Params, clients};
use tacita_core::protocol::dot::{Columns, Integers, Modulus, Shape, Shares};
use tacita_core::{Channel, Side};

fn size() -> KeySize {
    KeySize::new(512).unwrap()
}

const BYTES: usize = 128;

fn shape(rows: usize, first: usize, second: usize) -> Shape {
    Shape { rows, first, second, integers: Integers::BINARY }
}

/// Columns whose bits are those of numbers.
fn columns(rows: usize, bits: &[u64]) -> Columns {
    let mut columns = Columns::new(Integers::BINARY, rows);
    bits.iter().for_each(|bits| columns.push((0..rows).map(|row| (bits >> (row % 64) & 1) as i64)).unwrap());
    columns
}

struct Recorded {
    /// Frames of the first and the second party.
    frames: [Vec<Frame>; 2],
    shares: [Shares; 2],
}

/// One run over a wire tap; the first party encrypts, with this key.
fn record(params: &Params, key: &PaillierSecretKey, first: &Columns, second: &Columns, seeds: [u8; 2]) -> Recorded {
    assert_eq!(params.encryptor(), Side::First);
    let encrypt = |channel: &mut Channel| {
        paillier::encrypt_over(first, params, &mut LiveEncryptions::new(key, rng(seeds[0])), channel)
    };
    let answer = |channel: &mut Channel| paillier::run(Side::Second, second, params, channel, &mut rng(seeds[1]));
    let (frames, shares) = two::record(&encrypt, &answer);
    Recorded { frames, shares }
}

/// Rows of the columns of which an encryptor tries all.
const ROWS: usize = 10;

/// The encryptor's best attack: it knows its own ciphertexts, multiplies each choice of them, takes the plaintext out
/// of the answer and of the product, and compares what is left: the randomness. All columns of the answerer that
/// explain each answer.
fn explanations<const N: usize>(
    key: &PaillierSecretKey,
    own: &PaillierCiphertexts,
    answers: [&PaillierCiphertexts; N],
) -> [Vec<u64>; N] {
    let public = key.public();
    // What a ciphertext is without its plaintext: an N-th power.
    let bare = |ciphertexts: &PaillierCiphertexts| {
        let plaintexts = key.decrypt(ciphertexts);
        let minus = public.negate(&public.add_plain(&one(key, ciphertexts.len()), &plaintexts));
        public.add(ciphertexts, &minus)
    };
    let choices: Vec<_> =
        (0..1u64 << ROWS).map(|bits| Choices::from_bits((0..ROWS).map(|row| bits >> row & 1 == 1))).collect();
    let mut products = CiphertextProducts::new(public, choices.len());
    products.multiply(own, &choices);
    let products = bare(&products.finish());
    answers.map(|answer| {
        let answer = bare(answer);
        (0..1 << ROWS).filter(|&bits| products.select([bits as usize]) == answer).collect()
    })
}

/// Encryptions of zero with no randomness: ones.
fn one(key: &PaillierSecretKey, count: usize) -> PaillierCiphertexts {
    let mut bytes = [0; BYTES];
    bytes[0] = 1;
    key.public().read(&bytes.repeat(count)).unwrap()
}

#[test]
fn answers_do_not_show_what_was_multiplied_and_without_fresh_randomness_they_do() {
    let key = PaillierSecretKey::generate(size(), &mut rng(1));
    let public = key.public();
    for learner in [None, Some(Side::First)] {
        let params = Params::new(shape(ROWS, 1, 1), Modulus::new(1 << 10).unwrap(), size(), learner).unwrap();
        for (run, bits) in (0..).zip([0b10_1101_1001, 0, 1, 0x3ff]) {
            let (a, b) = (columns(ROWS, &[0b11_0001_0110]), columns(ROWS, &[bits]));
            let recorded = record(&params, &key, &a, &b, [run, 100 + run]);
            let own = public.read(&payloads(&recorded.frames[0], COLUMNS.code)).unwrap();
            let answer = public.read(&payloads(&recorded.frames[1], ANSWERS.code)).unwrap();
            // Leaky: the product itself, and with R added, but no fresh randomness.
            let chosen = [Choices::from_bits((0..ROWS).map(|row| bits >> row & 1 == 1))];
            let mut product = CiphertextProducts::new(public, 1);
            product.multiply(&own, &chosen);
            let product = product.finish();
            let blinded = public.add_plain(&product, &public.random(1, &mut rng(3)));
            let [hidden, bare, blinded] = explanations(&key, &own, [&answer, &product, &blinded]);
            assert_eq!(hidden, [0u64; 0], "the column shows");
            assert_eq!((bare, blinded), (vec![bits], vec![bits]));
        }
    }
}

/// The simulator: fresh encryptions, under its own key, of what the encryptor gets out.
#[test]
fn the_encryptor_sees_answers_as_fresh_encryptions_of_its_outputs() {
    let key = PaillierSecretKey::generate(size(), &mut rng(2));
    let public = key.public();
    let params = Params::new(shape(30, 20, 21), Modulus::new(13).unwrap(), size(), None).unwrap();
    let mut runs = Vec::new();
    for (run, bits) in (0..).zip([0, !0, 0x1234_5678_9abc_def0]) {
        let (a, b) = (columns(30, &[!0; 20]), columns(30, &[bits; 21]));
        let recorded = record(&params, &key, &a, &b, [1, 50 + run]);
        assert_eq!(lengths(&recorded.frames[1]), [(ANSWERS.code, 420 * BYTES)]);
        runs.push(payloads(&recorded.frames[1], ANSWERS.code));
    }
    // Plaintexts are uniform too, modulo any number.
    let plaintexts = |bytes: &[u8]| {
        let residues = public.residues(&key.decrypt(&public.read(bytes).unwrap()), 64);
        let mut counts = vec![0; 64];
        residues.iter().for_each(|&residue| counts[residue as usize] += 1);
        counts
    };
    let simulated = public.rerandomize(&key.encrypt(&public.random(420, &mut rng(3)), &mut rng(4)), &mut rng(5));
    // The highest bytes are not uniform: N^2 is no power of 256.
    let low = |bytes: &Vec<u8>| bytes.chunks(BYTES).flat_map(|entry| entry[..BYTES - 8].to_vec()).collect::<Vec<_>>();
    for bytes in runs.iter().chain([&simulated.to_bytes()]) {
        uniform("plaintexts", &plaintexts(bytes)).unwrap();
    }
    fresh_entries(&runs.iter().map(low).collect::<Vec<_>>(), BYTES - 8, 420).unwrap();
    // Leaky: the products without R; the same answers again.
    let bare = key.encrypt(&public.encode(&[7; 420]), &mut rng(6)).to_bytes();
    uniform("plaintexts", &plaintexts(&bare)).unwrap_err();
    fresh_entries(&[low(&runs[0]), low(&runs[0])], BYTES - 8, 420).unwrap_err();
}

#[test]
fn the_answerer_sees_fresh_ciphertexts_whatever_the_columns() {
    let params = Params::new(shape(500, 1, 1), Modulus::new(1 << 20).unwrap(), size(), None).unwrap().with_chunk(200);
    let key = PaillierSecretKey::generate(size(), &mut rng(3));
    let mut runs = Vec::new();
    for (run, bits) in (0..).zip([0, 0, !0, 0x5555]) {
        let recorded = record(&params, &key, &columns(500, &[bits]), &columns(500, &[!0]), [run, 77]);
        let column = [200, 200, 100].map(|rows| (COLUMNS.code, rows * BYTES));
        let key = (PUBLIC_KEY.code, size().public_key_bytes());
        assert_eq!(lengths(&recorded.frames[0]), [&[key][..], &column].concat());
        let payload = payloads(&recorded.frames[0], COLUMNS.code);
        runs.push(payload.chunks(BYTES).flat_map(|entry| entry[..BYTES - 8].to_vec()).collect::<Vec<_>>());
    }
    fresh_entries(&runs, BYTES - 8, 500).unwrap();
    // Leaky: encryptions without randomness; a pool whose entries are used twice.
    let bare = |bits: u8| {
        let ones = one(&key, 500);
        let plaintexts = key.public().encode(&[i128::from(bits); 500]);
        let bytes = key.public().add_plain(&ones, &plaintexts).to_bytes();
        bytes.chunks(BYTES).flat_map(|entry| entry[..BYTES - 8].to_vec()).collect::<Vec<_>>()
    };
    fresh_entries(&[bare(0)], BYTES - 8, 500).unwrap_err();
    fresh_entries(&[bare(1)], BYTES - 8, 500).unwrap_err();
    fresh_entries(&[runs[0].clone(), runs[0].clone()], BYTES - 8, 500).unwrap_err();
}

#[test]
fn every_run_has_a_key_of_its_own() {
    let params = Params::new(shape(1, 1, 1), Modulus::new(4).unwrap(), size(), None).unwrap();
    let keys: HashSet<Vec<u8>> = (0..4)
        .map(|run| {
            let (params, (mut one, mut other)) = (&params, Channel::pair("first", "second"));
            std::thread::scope(|scope| {
                scope.spawn(move || {
                    let _ = paillier::run(Side::First, &columns(1, &[1]), params, &mut one, &mut rng(run));
                });
                let key = other.receive(PUBLIC_KEY, size().public_key_bytes()).unwrap();
                // The encryptor would wait for an answer.
                drop(other);
                key
            })
        })
        .collect();
    assert_eq!(keys.len(), 4);
}

#[test]
fn shares_are_uniform_whatever_the_products() {
    let modulus = Modulus::new(13).unwrap();
    let params = Params::new(shape(30, 15, 16), modulus, size(), None).unwrap();
    let key = PaillierSecretKey::generate(size(), &mut rng(4));
    let counts = |shares: &[u128]| {
        let mut counts = vec![0; 13];
        shares.iter().for_each(|&share| counts[share as usize] += 1);
        counts
    };
    for (a, b) in [(0, 0), (!0, !0), (0x2d5a_9c3b, 0x1f)] {
        let (mut all, mut products) = ([Vec::new(), Vec::new()], Vec::new());
        for run in 0..6 {
            let recorded = record(&params, &key, &columns(30, &[a; 15]), &columns(30, &[b; 16]), [run, 20 + run]);
            for (all, shares) in all.iter_mut().zip(&recorded.shares) {
                all.extend(shares.residues());
            }
            products.extend(recorded.shares[0].open(&recorded.shares[1]));
        }
        for shares in &all {
            uniform("shares", &counts(shares)).unwrap();
            // Neighbours have nothing to do with each other.
            let differences: Vec<_> = shares.windows(2).map(|pair| modulus.subtract(pair[0], pair[1])).collect();
            uniform("differences", &counts(&differences)).unwrap();
        }
        // Leaky: the products themselves; one share for all.
        uniform("shares", &counts(&products)).unwrap_err();
        let one: Vec<_> = products.iter().map(|&product| modulus.add(product, 5)).collect();
        uniform("shares", &counts(&one)).unwrap_err();
    }
}

/// Checks what a client of several passes on, and what clients who work together have of the others, until nobody's is
/// missing.
#[test]
fn what_clients_add_up_is_uniform_as_long_as_one_is_missing() {
    let modulus = Modulus::new(13).unwrap();
    let (products, count) = ([4, 0, 9], 3000);
    let zeros = || Shares::new(modulus, vec![0; count]).unwrap();
    let blindings = clients::blindings(3, &zeros(), &mut rng(5)).unwrap();
    // Which clients' shares are in a sum: one's own, those that a chain passes on, those of two who are no neighbours.
    let groups: [&[usize]; 6] = [&[0], &[1], &[2], &[0, 1], &[1, 2], &[0, 2]];
    let sums = |blindings: &[Shares], group: &[usize]| {
        let mut sums = vec![0; count];
        for &client in group {
            for (sum, blinding) in sums.iter_mut().zip(blindings[client].residues()) {
                *sum = modulus.add(*sum, modulus.subtract(products[client], *blinding));
            }
        }
        sums
    };
    let check = |sums: &[u128]| {
        let mut counts = vec![0; 13];
        sums.iter().for_each(|&sum| counts[sum as usize] += 1);
        uniform("sums", &counts)
    };
    for group in groups {
        check(&sums(&blindings, group)).unwrap();
        // Leaky: no blindings.
        check(&sums(&[zeros(), zeros(), zeros()], group)).unwrap_err();
    }
    assert!(sums(&blindings, &[0, 1, 2]).iter().all(|&sum| sum == 0), "4 + 0 + 9 modulo 13");
    let again = clients::blindings(3, &zeros(), &mut rng(6)).unwrap();
    assert_ne!(again[0].residues(), blindings[0].residues());
}
