//! What is true is proved and verified, in every group; what is not is found, and where.

use chacha20::ChaCha20Rng;
use rand_core::SeedableRng;

use super::*;
use crate::primitive::group::{ModP, P384, Ristretto255};
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

/// Of many images under one scalar, one that is wrong is enough.
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
        for at in 0..count.min(7) {
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
