use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::primitive::group::{P384, Ristretto255, ScalarField};

const COUNT: usize = 7;
const COLUMNS: usize = 3;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn context(number: usize) -> Transcript {
    let mut transcript = Transcript::new("test");
    transcript.append("number", &number.to_le_bytes());
    transcript
}

/// The equation of one proof, written down plainly: the slow twin of the sum.
fn holds<G: Group + Sync>(group: &G, points: &[G::Point], proof: &[u8], context: Transcript) -> bool {
    let (commitment, response) = proof.split_at(group.point_bytes());
    let powers = powers(group, context, commitment, points.len());
    let mut sum = group.decode(commitment).unwrap();
    for (point, power) in points.iter().zip(&powers) {
        sum = group.add(&sum, &group.multiply(std::slice::from_ref(point), power));
    }
    group.encode(&sum) == group.encode(&group.multiply_generator(&[group.decode_scalar(response).unwrap()]))
}

fn proofs<G: Group + Sync>(group: &G) {
    let masks: Vec<Vec<G::Scalar>> = (0..COLUMNS).map(|_| group.random_scalars(COUNT, &mut rng(1))).collect();
    let points: Vec<Vec<G::Point>> = masks.iter().map(|column| group.multiply_generator(column)).collect();
    let columns: Vec<&[G::Point]> = points.iter().map(Vec::as_slice).collect();
    let known: Vec<&[G::Scalar]> = masks.iter().map(Vec::as_slice).collect();
    let proofs = prove(group, COUNT, &known, context, &mut rng(2));
    let length = proof_bytes(group);
    assert_eq!(proofs.len(), COUNT * length);
    assert_eq!(verify(group, &columns, &proofs, context, &mut rng(3)), Ok(()));
    for (number, proof) in proofs.chunks(length).enumerate() {
        let row: Vec<G::Point> = points.iter().map(|column| column[number].clone()).collect();
        assert!(holds(group, &row, proof, context(number)) && !holds(group, &row, proof, context(number + 1)));
        // Another's commitment or response, or none.
        for (start, end) in [(0, group.point_bytes()), (group.point_bytes(), length)] {
            let mut wrong = proofs.clone();
            let other = proofs[(number + 1) % COUNT * length..][start..end].to_vec();
            wrong[number * length..][start..end].copy_from_slice(&other);
            assert_eq!(verify(group, &columns, &wrong, context, &mut rng(3)), Err(number));
            wrong[number * length..][start..end].fill(0xff);
            assert_eq!(verify(group, &columns, &wrong, context, &mut rng(3)), Err(number));
        }
        // A point whose mask is not known, in each column: another's, re-randomised.
        for column in 0..COLUMNS {
            let mut stolen = points.clone();
            let random = group.random_points(1, &mut rng(4)).remove(0);
            stolen[column][number] = group.add(&stolen[column][number..=number], &[random]).remove(0);
            let columns: Vec<&[G::Point]> = stolen.iter().map(Vec::as_slice).collect();
            assert_eq!(verify(group, &columns, &proofs, context, &mut rng(3)), Err(number));
        }
    }
    // Points whose plain sum is right.
    let mut moved = points.clone();
    let error = group.random_points(1, &mut rng(5));
    moved[0][2] = group.add(&points[0][2..3], &error).remove(0);
    moved[1][2] = group.subtract(&points[1][2..3], &error).remove(0);
    let moved: Vec<&[G::Point]> = moved.iter().map(Vec::as_slice).collect();
    assert_eq!(verify(group, &moved, &proofs, context, &mut rng(3)), Err(2));
    assert!(verify(group, &columns, &proofs[1..], context, &mut rng(3)).is_err());
    let none: Vec<&[G::Point]> = columns.iter().map(|column| &column[..0]).collect();
    assert_eq!(verify(group, &none, &[], context, &mut rng(3)), Ok(()));
}

#[test]
fn proofs_hold_and_wrong_ones_are_named() {
    proofs(&Ristretto255);
    proofs(&P384::new());
}

/// One nonce for two proofs gives the masks away: no two have the same, in one call or in two.
#[test]
fn two_proofs_have_other_nonces() {
    let group = &Ristretto255;
    let masks = group.random_scalars(COUNT, &mut rng(1));
    let mut seen = std::collections::HashSet::new();
    for seed in 2..5 {
        // The same masks and contexts again.
        let proofs = prove(group, COUNT, &[&masks], |_| context(0), &mut rng(seed));
        assert!(proofs.chunks(proof_bytes(group)).all(|proof| seen.insert(proof[..group.point_bytes()].to_vec())));
    }
}

#[test]
fn a_challenge_depends_on_context_and_commitment() {
    let group = &Ristretto255;
    let encodings = group.encode(&group.random_points(2, &mut rng(1)));
    let (one, other) = encodings.split_at(group.point_bytes());
    let first = |number, commitment| group.encode_scalar(&powers(group, context(number), commitment, 1)[0]);
    assert!(first(0, one) != first(0, other) && first(0, one) != first(1, one));
}
