//! Tests in every group: true statements are proved and verified, and false ones are found and located.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::primitive::group::{ModP, P384, Ristretto255, ScalarField};
use crate::security::Level;

fn rng(seed: u8) -> ChaCha20Rng {
    ChaCha20Rng::from_seed([seed; 32])
}

fn context(word: &str) -> Transcript {
    let mut transcript = Transcript::new("test");
    transcript.append("word", word.as_bytes());
    transcript
}

/// Knowing x, y and z with A = x P, B = x Q + y R and 0 = y P - z Q, where z Q = y P.
fn conjunction<G: Group>(group: &G, seed: u8, word: &str) -> (Statement<G>, Vec<G::Scalar>) {
    let mut rng = rng(seed);
    let p = group.random_points(1, &mut rng).remove(0);
    let [x, y, z] = <[G::Scalar; 3]>::try_from(group.random_scalars(3, &mut rng)).ok().unwrap();
    let times = |point: &G::Point, scalar: &G::Scalar| group.multiply(std::slice::from_ref(point), scalar).remove(0);
    // Q = (y / z) P, so that y P - z Q is the identity.
    let q = times(&times(&p, &y), &group.invert(std::slice::from_ref(&z))[0]);
    let r = group.random_points(1, &mut rng).remove(0);
    let minus_q = group.subtract(&[group.combine(&[], &[])], std::slice::from_ref(&q)).remove(0);
    let first = times(&p, &x);
    let second = group.add(&[times(&q, &x)], &[times(&r, &y)]).remove(0);
    let equations = vec![
        Equation { image: first, terms: vec![(0, p.clone())] },
        Equation { image: second, terms: vec![(0, q), (1, r)] },
        Equation { image: group.combine(&[], &[]), terms: vec![(1, p), (2, minus_q)] },
    ];
    (Statement::new(equations, context(word)), vec![x, y, z])
}

fn all<G: Group>(group: &G) {
    for count in [0, 1, 2, 5] {
        let statements = |word| (0..count).map(|seed| conjunction(group, seed, word)).unzip::<_, _, Vec<_>, Vec<_>>();
        let (own, scalars) = statements("a");
        let known: Vec<&[G::Scalar]> = scalars.iter().map(|scalars| &scalars[..]).collect();
        let proofs = prove(group, &own, &known, &mut rng(9));
        let check = |proofs: &[Proof<G>], word| verify(group, &statements(word).0, proofs, &mut rng(10));
        assert_eq!(check(&proofs, "a"), Ok(()));
        if count == 0 {
            continue;
        }
        // In another context, in another place, too few.
        assert_eq!(check(&proofs, "b"), Err(Wrong(0)));
        assert_eq!(check(&proofs[1..], "a").map_err(|Wrong(at)| at < usize::from(count)), Err(true));
        if count > 1 {
            let mut swapped = proofs.clone();
            swapped.swap(0, 1);
            assert_eq!(check(&swapped, "a"), Err(Wrong(0)));
        }
        // Each part of each proof counts.
        for at in 0..proofs.len() {
            for part in 0..6 {
                let mut wrong = proofs.clone();
                match part {
                    0..3 => wrong[at].commitments[part] = group.random_points(1, &mut rng(11)).remove(0),
                    _ => wrong[at].responses[part - 3] = group.random_scalars(1, &mut rng(11)).remove(0),
                }
                assert_eq!(check(&wrong, "a"), Err(Wrong(at)), "part {part}");
            }
            let mut short = proofs.clone();
            short[at].responses.pop();
            assert_eq!(check(&short, "a"), Err(Wrong(at)));
        }
        // What is not known is not proved.
        let (statement, mut scalars) = conjunction(group, 1, "a");
        scalars[2] = group.scalar(5);
        let proofs = prove(group, std::slice::from_ref(&statement), &[&scalars], &mut rng(9));
        assert_eq!(verify(group, &[statement], &proofs, &mut rng(10)), Err(Wrong(0)));
        // One encoding.
        let (statement, scalars) = conjunction(group, 1, "a");
        let proof = prove(group, std::slice::from_ref(&statement), &[&scalars], &mut rng(9)).remove(0);
        let bytes = proof.encode(group);
        assert_eq!(bytes.len(), Proof::bytes(group, 3, 3));
        assert_eq!(Proof::decode(group, &bytes, 3, 3).unwrap().encode(group), bytes);
        for (equations, scalars) in [(3, 2), (2, 3), (0, 0), (4, 3)] {
            assert!(Proof::decode(group, &bytes, equations, scalars).is_none());
        }
        assert!(Proof::decode(group, &vec![0; bytes.len()], 3, 3).is_none());
    }
}

/// Checks that one wrong image is found among many under one scalar.
fn composites<G: Group + Sync>(group: &G) {
    let x = group.random_scalars(1, &mut rng(1));
    let own = group.multiply_generator(&x).remove(0);
    for count in [0, 1, 7, 100] {
        let bases = group.random_points(count, &mut rng(2));
        let images = group.multiply(&bases, &x[0]);
        let with = |images: &[G::Point]| {
            let statement = [Statement::composite(group, &own, &bases, images, context("a"))];
            let proofs = prove(group, &statement, &[&x], &mut rng(3));
            verify(group, &statement, &proofs, &mut rng(4))
        };
        assert_eq!(with(&images), Ok(()));
        // Of many, the first and the last of those, and one between them.
        for at in (0..count.min(7)).step_by(if count > 7 { 3 } else { 1 }) {
            let mut wrong = images.clone();
            wrong[at] = group.random_points(1, &mut rng(5)).remove(0);
            assert_eq!(with(&wrong), Err(Wrong(0)));
        }
        // Errors that would cancel out under equal weights.
        if count > 1 {
            let mut wrong = images.clone();
            let error = group.random_points(1, &mut rng(6));
            wrong[0] = group.add(&images[..1], &error).remove(0);
            wrong[1] = group.subtract(&images[1..2], &error).remove(0);
            assert_eq!(with(&wrong), Err(Wrong(0)));
        }
    }
}

#[test]
fn ristretto255() {
    all(&Ristretto255);
    composites(&Ristretto255);
}

#[test]
fn p384() {
    all(&P384::new());
    composites(&P384::new());
}

#[test]
fn modulo_a_prime() {
    let group = ModP::of(Level::Paper80);
    all(&group);
    composites(&group);
}

/// The challenge depends on all of the statement, on the commitments, and on what the proof is bound to besides: who
/// could change one of these after the challenge would prove what it does not know.
#[test]
fn what_is_proved_is_hashed() {
    let group = &Ristretto255;
    let points = group.random_points(6, &mut rng(1));
    let at = |place: usize| points[place].clone();
    let challenge = |image: usize, base: usize, scalar: usize, commitment: usize, word: &str| {
        let equations = vec![
            Equation { image: at(image), terms: vec![(0, at(base)), (scalar, at(2))] },
            Equation { image: at(3), terms: vec![(1, at(2))] },
        ];
        let statement = Statement::new(equations, context(word));
        group.encode_scalar(&statement.challenge(group, &[at(commitment), at(3)])).to_vec()
    };
    let all = [
        challenge(0, 1, 0, 4, "a"),
        challenge(5, 1, 0, 4, "a"),
        challenge(0, 5, 0, 4, "a"),
        challenge(0, 1, 1, 4, "a"),
        challenge(0, 1, 0, 5, "a"),
        challenge(0, 1, 0, 4, "b"),
    ];
    assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), all.len());
}

/// Two proofs of one statement share no commitment: with one nonce for two challenges, anybody divides the responses'
/// difference by the challenges'.
#[test]
fn two_proofs_have_other_nonces() {
    let group = &Ristretto255;
    let mut seen = std::collections::HashSet::new();
    for seed in 0..4 {
        // Twice in one call, too.
        let (statements, scalars): (Vec<_>, Vec<_>) =
            [1, 1].map(|same| conjunction(group, same, "a")).into_iter().unzip();
        let known: Vec<&[_]> = scalars.iter().map(|scalars| &scalars[..]).collect();
        for proof in prove(group, &statements, &known, &mut rng(20 + seed)) {
            assert!(
                proof.commitments.iter().all(|commitment| seen.insert(group.encode(std::slice::from_ref(commitment))))
            );
            assert!(proof.responses.iter().all(|response| seen.insert(group.encode_scalar(response).to_vec())));
        }
    }
}

/// Checks that errors do not cancel. A prover who knows one of two logarithms only moves the error of one equation to
/// the other. The plain sum of the equations then holds, and the proof does not.
#[test]
fn errors_do_not_cancel() {
    let group = &Ristretto255;
    let bases = group.random_points(2, &mut rng(1));
    let (x, error) = (group.random_scalars(1, &mut rng(2)), group.random_points(1, &mut rng(3)));
    let images = group.multiply(&bases, &x[0]);
    let pairs = bases.iter().cloned().zip(images);
    let statement = Statement::one_scalar(pairs, context("a"));
    let nonce = group.random_scalars(1, &mut rng(4));
    let honest = group.multiply(&bases, &nonce[0]);
    let commitments = vec![group.add(&honest[..1], &error).remove(0), group.subtract(&honest[1..], &error).remove(0)];
    let challenge = statement.challenge(group, &commitments);
    let responses = vec![group.plus(&nonce[0], &group.times(&challenge, &x[0]))];
    let sums = group.subtract(&group.multiply(&bases, &responses[0]), &commitments);
    let known =
        group.multiply(&statement.equations.iter().map(|one| one.image.clone()).collect::<Vec<_>>(), &challenge);
    let errors = group.subtract(&sums, &known);
    assert!(group.any_identity(&group.add(&errors[..1], &errors[1..])), "the plain sum holds");
    let proof = Proof { commitments, responses };
    assert_eq!(verify(group, &[statement], &[proof], &mut rng(5)), Err(Wrong(0)));
}

/// Weights follow from bases and images: who knew them before could choose images whose errors cancel.
#[test]
fn weights_depend_on_bases_and_images() {
    let group = &Ristretto255;
    let points = group.random_points(6, &mut rng(1));
    let other = group.random_points(1, &mut rng(2)).remove(0);
    // The first of the bases, times its weight.
    let weighted = |change: Option<usize>| {
        let mut points = points.clone();
        if let Some(place) = change {
            points[place] = other.clone();
        }
        // All but the first base and image are nothing, so that the sum is one product.
        let nothing = group.combine(&[], &[]);
        let bases = [points[0].clone(), nothing.clone()];
        let images = [points[2].clone(), points[3].clone()];
        let statement = Statement::composite(group, &points[4], &bases, &images, context("a"));
        group.encode(&[statement.equations[1].terms[0].1.clone()])
    };
    let all = [None, Some(2), Some(3), Some(4)].map(weighted);
    assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), all.len());
}
