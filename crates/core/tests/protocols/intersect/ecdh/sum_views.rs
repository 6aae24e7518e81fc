//! Tests of the messages that each role of `ecdh` receives besides points and tags if it reveals a sum. The messages
//! are compared with what the role's own input and output allow. Every check is also run on a deliberately leaky
//! variant, which must fail it.

use crate::support::views::*;
use crate::support::*;
use rand_core::Rng;
use tacita_core::primitive::group::{Ristretto255, ScalarField};
use tacita_core::primitive::ot::Choices;
use tacita_core::primitive::paillier::{CiphertextProducts, PaillierCiphertexts, PaillierSecretKey};
use tacita_core::protocol::intersect::ecdh::ENTRIES;
use tacita_core::protocol::intersect::ecdh::sum::{BLINDED_SUM, ENCRYPTED_SUM, PUBLIC_KEY};

const CIPHERTEXT: usize = 128;

/// The sender's key in runs with this seed.
fn key_of_seed(seed: u8) -> PaillierSecretKey {
    let mut rng = rng(seed);
    Ristretto255.random_scalars(1, &mut rng);
    rng.fill_bytes(&mut [0; 32]);
    PaillierSecretKey::generate(short_key(), &mut rng)
}

/// Checks that this key is the one that travelled.
fn travelled(key: &PaillierSecretKey, recorded: &Recorded) {
    assert_eq!(payloads(&recorded.sender, PUBLIC_KEY.code), key.public().to_bytes());
}

/// The sender's key in a run with this seed, which is checked to be the one that travelled.
fn key_of(seed: u8, recorded: &Recorded) -> PaillierSecretKey {
    let key = key_of_seed(seed);
    travelled(&key, recorded);
    key
}

/// The encrypted numbers in the order in which they travelled.
fn numbers_sent(case: &Case, key: &PaillierSecretKey, recorded: &Recorded) -> PaillierCiphertexts {
    let entries = payloads(&recorded.sender, ENTRIES.code);
    let ciphertexts = entries.chunks(case.params.entry_bytes()).map(|entry| &entry[case.params.tag_bytes..]);
    key.public().read(&ciphertexts.collect::<Vec<_>>().concat()).unwrap()
}

/// Numbers of which the sender tries all choices.
const TRIED: usize = 8;

/// The sender's best attack: it multiplies each choice of its own ciphertexts, takes the plaintexts out of them and out
/// of what came back, and compares the randomness that is left. All choices that explain each of what came back.
fn explanations<const N: usize>(
    key: &PaillierSecretKey,
    own: &PaillierCiphertexts,
    returned: [&PaillierCiphertexts; N],
) -> [Vec<usize>; N] {
    let public = key.public();
    let mut one = [0; CIPHERTEXT];
    one[0] = 1;
    let bare = |ciphertexts: &PaillierCiphertexts| {
        let ones = public.read(&one.repeat(ciphertexts.len())).unwrap();
        public.add(ciphertexts, &public.negate(&public.add_plain(&ones, &key.decrypt(ciphertexts))))
    };
    let choices: Vec<_> =
        (0..1 << TRIED).map(|bits: usize| Choices::from_bits((0..TRIED).map(|row| bits >> row & 1 == 1))).collect();
    let mut products = CiphertextProducts::new(public, choices.len());
    products.multiply(own, &choices);
    let products = bare(&products.finish());
    returned.map(|returned| {
        let returned = bare(returned);
        (0..1 << TRIED).filter(|&bits| products.select([bits]) == returned).collect()
    })
}

#[test]
fn what_the_sender_decrypts_does_not_show_what_was_added_and_without_fresh_randomness_it_does() {
    for (seed, receiver) in [(1, items(0..TRIED)), (2, items([3])), (3, items(100..110))] {
        let case = Case::new(Variant::Sum, receiver, items(0..TRIED), 0, 3);
        let recorded = record(&case, (seed, seed));
        let key = key_of(seed, &recorded);
        let own = numbers_sent(&case, &key, &recorded);
        let returned = key.public().read(&payloads(&recorded.receiver, ENCRYPTED_SUM.code)).unwrap();
        // Leaky: the sum itself, and with R added, but no fresh randomness.
        let bits = 0b1010_0110;
        let mut product = CiphertextProducts::new(key.public(), 1);
        product.multiply(&own, &[Choices::from_bits((0..TRIED).map(|row| bits >> row & 1 == 1))]);
        let product = product.finish();
        let blinded = key.public().add_plain(&product, &key.public().random(1, &mut rng(4)));
        let [hidden, bare, blinded] = explanations(&key, &own, [&returned, &product, &blinded]);
        assert_eq!(hidden, [0; 0], "the choice shows");
        assert_eq!((bare, blinded), (vec![bits], vec![bits]));
    }
}

/// Runs in which something is looked at that each run has once.
const RUNS: usize = 100;

#[test]
fn what_the_sender_decrypts_is_uniform_whatever_the_sum() {
    let counted = |residues: &[u128], shift: u32| {
        let mut counts = vec![0; 16];
        residues.iter().for_each(|residue| counts[(residue >> shift & 15) as usize] += 1);
        counts
    };
    let key = key_of_seed(1);
    for numbers in [[0; 4], [5, -900, 1 << 100, 7]] {
        let (mut decrypted, mut answers) = (Vec::new(), Vec::new());
        for run in 0..RUNS {
            let seed = run as u8;
            let mut case = Case::new(Variant::Sum, items(0..3), items(1..5), 0, 8);
            case.sender_numbers = numbers.to_vec();
            let recorded = record(&case, (seed, 1));
            travelled(&key, &recorded);
            let returned = key.public().read(&payloads(&recorded.receiver, ENCRYPTED_SUM.code)).unwrap();
            // Above all sums, too: from 2^127 to near N. Modulo a number that has nothing to do with 2^127.
            let plaintext = key.decrypt(&returned);
            decrypted.push(key.public().residues(&plaintext, (1 << 61) - 1)[0]);
            let answer = payloads(&recorded.sender, BLINDED_SUM.code);
            answers.push(u128::from_le_bytes(answer.try_into().unwrap()));
        }
        for shift in [0, 30, 56] {
            uniform("residues", &counted(&decrypted, shift)).unwrap();
        }
        for shift in [0, 4, 64, 123] {
            uniform("answers", &counted(&answers, shift)).unwrap();
        }
        // Leaky: the sum itself; the sum plus a random number that is too short.
        let sum: i128 = numbers[..2].iter().sum();
        uniform("answers", &counted(&[sum as u128; RUNS], 0)).unwrap_err();
        let mut rng = rng(9);
        let short: Vec<_> = (0..RUNS).map(|_| (sum + i128::from(rng.next_u64())) as u128).collect();
        uniform("answers", &counted(&short, 64)).unwrap_err();
    }
}

#[test]
fn the_receiver_sees_fresh_uniform_entries_whatever_the_numbers() {
    const SIZE: usize = 100;
    // The receiver's output is the same in all of them: three items, and 4.
    let numbers: [(usize, [i128; 4]); 4] =
        [(SIZE, [7, -3, 0, 9]), (SIZE, [7, -3, 0, 9]), (SIZE, [2, 2, 0, 1 << 90]), (3, [-1, 4, 1, 0])];
    let mut runs = Vec::new();
    for (seed, (size, first)) in (0..).zip(numbers) {
        let mut case = Case::new(Variant::Sum, items(0..3), items(0..size), 0, 64);
        (case.params.sender_entries, case.params.tag_bytes) = (2 * SIZE, 8);
        case.sender_numbers = (0..size).map(|item| first[item.min(3)]).collect();
        let recorded = record(&case, (1, 50 + seed));
        let entry = 8 + CIPHERTEXT;
        let entries = [64, 64, 64, 8].map(|count| (ENTRIES.code, count * entry));
        let (key, answer) = ((PUBLIC_KEY.code, 64 + CIPHERTEXT), (BLINDED_SUM.code, 16));
        assert_eq!(lengths(&recorded.sender), [&[(2, 96), key][..], &entries, &[answer]].concat());
        // The highest bytes of a ciphertext are not uniform: N^2 is no power of 256.
        let sent = payloads(&recorded.sender, ENTRIES.code);
        runs.push(sent.chunks(entry).flat_map(|entry| entry[..entry.len() - 8].to_vec()).collect::<Vec<_>>());
    }
    fresh_entries(&runs, CIPHERTEXT, 2 * SIZE).unwrap();
    // Leaky: the same run again; numbers that are not encrypted.
    fresh_entries(&[runs[0].clone(), runs[0].clone()], CIPHERTEXT, 2 * SIZE).unwrap_err();
    let mut bare = runs[0].clone();
    bare.chunks_mut(CIPHERTEXT).for_each(|entry| entry[24..].fill(0));
    fresh_entries(&[bare], CIPHERTEXT, 2 * SIZE).unwrap_err();
}

#[test]
fn the_order_of_numbers_says_nothing_about_the_senders_order() {
    let mut observed = Vec::new();
    for run in 0..ORDERS / PLACES {
        // With a dummy or two, which are zeros.
        let mut case = Case::new(Variant::Sum, items(0..2), items(0..PLACES - 2), 0, 5);
        case.params.sender_entries = PLACES;
        case.sender_numbers = (1..=PLACES as i128 - 2).collect();
        let recorded = record(&case, (1, run as u8));
        let key = key_of(run as u8, &recorded);
        let plaintexts = key.decrypt(&numbers_sent(&case, &key, &recorded));
        let decoded = key.public().decode(&plaintexts).unwrap();
        assert_eq!(decoded.iter().filter(|number| **number == 0).count(), 2);
        let places = decoded.iter().enumerate().filter(|(_, number)| **number > 0);
        observed.extend(places.map(|(place, &number)| (number as usize - 1, place)));
    }
    hides_order(&observed).unwrap();
    // Leaky: in the sender's order; dummies last.
    hides_order(&observed.iter().map(|&(from, _)| (from, from)).collect::<Vec<_>>()).unwrap_err();
}

#[test]
fn every_run_has_keys_of_its_own() {
    let case = Case::new(Variant::Sum, items(0..3), items(1..5), 0, 8);
    let keys: std::collections::HashSet<_> =
        (0..4).map(|seed| payloads(&record(&case, (1, seed)).sender, PUBLIC_KEY.code)).collect();
    assert_eq!(keys.len(), 4);
}
