use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::primitive::group::{P384, Ristretto255, ScalarField};
use crate::primitive::published::Pallas;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

/// A key, ciphertexts under it, and what they hold.
fn ciphertexts<G: Group + Sync>(group: &G, count: usize) -> (G::Point, Vec<Ciphertext<G>>, Vec<Opening<G>>) {
    let mut rng = rng(1);
    let key = group.random_points(1, &mut rng).remove(0);
    let masks = group.random_scalars(count, &mut rng);
    let scalars: Vec<G::Scalar> = (0..count).map(|number| group.scalar(number as u64 % 3)).collect();
    let hidden = group.add(&group.multiply_generator(&scalars), &group.multiply_one(&key, &masks));
    let ciphertexts = pairs::<G>(group.multiply_generator(&masks), hidden);
    (key, ciphertexts, scalars.into_iter().zip(masks).map(|(scalar, mask)| Opening { scalar, mask }).collect())
}

fn context<G: Group>(group: &G, ciphertexts: &[Ciphertext<G>], number: usize) -> Transcript {
    let mut transcript = Transcript::new("test");
    transcript.append("number", &number.to_le_bytes());
    transcript.append("ciphertext", &group.encode(&ciphertexts[number]));
    transcript
}

/// The two equations of one proof, written down plainly: the slow twin of the sum.
fn holds<G: Group + Sync>(
    group: &G,
    key: &G::Point,
    ciphertext: &Ciphertext<G>,
    proof: &[u8],
    context: Transcript,
) -> bool {
    let (commitment, responses) = proof.split_at(2 * group.point_bytes());
    let challenge = challenge(group, context, commitment);
    let commitment = decode(group, commitment).unwrap().remove(0);
    let [mask, scalar] =
        [0, 1].map(|at| group.decode_scalar(&responses[at * group.scalar_bytes()..][..group.scalar_bytes()]).unwrap());
    let times = |point: &G::Point, scalar: &G::Scalar| group.multiply(std::slice::from_ref(point), scalar);
    let generated = |scalar: &G::Scalar| group.multiply_generator(std::slice::from_ref(scalar));
    let right = [0, 1].map(|row| {
        group.encode(&group.add(std::slice::from_ref(&commitment[row]), &times(&ciphertext[row], &challenge)))
    });
    let left = [generated(&mask), group.add(&generated(&scalar), &times(key, &mask))];
    left.map(|points| group.encode(&points)) == right
}

fn proofs<G: Group + Sync>(group: &G, count: usize) {
    let (key, ciphertexts, openings) = ciphertexts(group, count);
    let context = |number| context(group, &ciphertexts, number);
    let proofs = prove(group, &group.base(&key), &openings, context, &mut rng(2));
    let length = proof_bytes(group);
    let check = |proofs: &[u8]| verify(group, &key, &ciphertexts, proofs, context, &mut rng(3));
    assert_eq!((proofs.len(), check(&proofs)), (count * length, Ok(())));
    for (number, proof) in proofs.chunks(length).enumerate() {
        assert!(holds(group, &key, &ciphertexts[number], proof, context(number)));
        assert!(!holds(group, &key, &ciphertexts[(number + 1) % count], proof, context(number)));
        // Each part of it another's, or none.
        for (start, part) in [(0, group.point_bytes()), (group.point_bytes(), group.point_bytes())]
            .into_iter()
            .chain([0, 1].map(|at| (2 * group.point_bytes() + at * group.scalar_bytes(), group.scalar_bytes())))
        {
            let mut wrong = proofs.clone();
            let other = proofs[(number + 1) % count * length..][start..start + part].to_vec();
            wrong[number * length..][start..start + part].copy_from_slice(&other);
            assert_eq!(check(&wrong), Err(number));
            wrong[number * length..][start..start + part].fill(0xff);
            assert_eq!(check(&wrong), Err(number));
            // Of two that are wrong, the first.
            wrong[(count - 1) * length..].fill(0xff);
            assert_eq!(check(&wrong), Err(number));
        }
    }
    assert!(check(&proofs[1..]).is_err() && check(&[&proofs[..], &[0]].concat()).is_err() && check(&[]).is_err());
    assert_eq!(verify(group, &key, &[], &[], context, &mut rng(3)), Ok(()));
    // Under another key, or for other contexts, none holds.
    let other = group.random_points(1, &mut rng(4)).remove(0);
    assert_eq!(verify(group, &other, &ciphertexts, &proofs, context, &mut rng(3)), Err(0));
    let elsewhere = |number: usize| context(if number == 4 { 5 } else { number });
    assert_eq!(verify(group, &key, &ciphertexts, &proofs, elsewhere, &mut rng(3)), Err(4));
}

#[test]
fn proofs_hold_and_wrong_ones_are_named_in_every_group() {
    proofs(&Ristretto255, 9);
    proofs(&Pallas, 9);
    proofs(&P384::new(), 6);
}

/// Errors of two equations that cancel in their plain sum do not under weights.
#[test]
fn errors_do_not_cancel() {
    let (key, mut ciphertexts, openings) = ciphertexts(&Ristretto255, 2);
    let group = &Ristretto255;
    // What is hashed stays, so that the challenges do.
    let honest = ciphertexts.clone();
    let context = |number| context(group, &honest, number);
    let proofs = prove(group, &group.base(&key), &openings, context, &mut rng(2));
    let error = group.random_points(1, &mut rng(5));
    let plus = group.add(std::slice::from_ref(&ciphertexts[0][1]), &error).remove(0);
    let minus = group.subtract(std::slice::from_ref(&ciphertexts[0][0]), &error).remove(0);
    ciphertexts[0] = [minus, plus];
    assert_eq!(verify(group, &key, &ciphertexts, &proofs, context, &mut rng(3)), Err(0));
}

#[test]
fn a_wrong_one_is_named_in_any_batch() {
    let count = BATCH + 3;
    let (key, ciphertexts, openings) = ciphertexts(&Ristretto255, count);
    let context = |number| context(&Ristretto255, &ciphertexts, number);
    let mut proofs = prove(&Ristretto255, &Ristretto255.base(&key), &openings, context, &mut rng(2));
    let length = proof_bytes(&Ristretto255);
    let check = |proofs: &[u8]| verify(&Ristretto255, &key, &ciphertexts, proofs, context, &mut rng(3));
    assert_eq!(check(&proofs), Ok(()));
    for wrong in [count - 1, BATCH, BATCH - 1, 77] {
        proofs.copy_within(0..length, wrong * length);
        assert_eq!(check(&proofs), Err(wrong));
    }
}

/// Checks that the nonces hiding mask and value in the responses never repeat, for the same values, in one call or in
/// two.
#[test]
fn two_proofs_have_other_nonces() {
    let group = &Ristretto255;
    let (key, ciphertexts, _) = ciphertexts(group, 1);
    let opening = || Opening { scalar: group.scalar(0), mask: group.random_scalars(2, &mut rng(1)).remove(1) };
    let mut seen = std::collections::HashSet::new();
    for seed in 2..5 {
        let context = |_| context(group, &ciphertexts, 0);
        let openings: Vec<_> = (0..3).map(|_| opening()).collect();
        for proof in prove(group, &group.base(&key), &openings, context, &mut rng(seed)).chunks(proof_bytes(group)) {
            let (commitment, responses) = proof.split_at(2 * group.point_bytes());
            let challenge = challenge(group, context(0), commitment);
            for (at, secret) in [opening().mask, opening().scalar].iter().enumerate() {
                let bytes = &responses[at * group.scalar_bytes()..][..group.scalar_bytes()];
                let nonce = group.minus(&group.decode_scalar(bytes).unwrap(), &group.times(&challenge, secret));
                assert!(seen.insert(group.encode_scalar(&nonce).to_vec()));
            }
        }
    }
}

#[test]
fn a_challenge_depends_on_context_and_commitment() {
    let group = &Ristretto255;
    let (_, ciphertexts, _) = ciphertexts(group, 2);
    let commitments = encode(group, &ciphertexts);
    let (one, other) = commitments.split_at(2 * group.point_bytes());
    let of =
        |number, commitment| group.encode_scalar(&challenge(group, context(group, &ciphertexts, number), commitment));
    assert!(of(0, one) != of(0, other) && of(0, one) != of(1, one));
}
