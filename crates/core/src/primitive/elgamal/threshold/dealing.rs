//! Shares of a joint key of which any t of n are enough (Pedersen, EUROCRYPT 1991: each party shares a secret of its
//! own verifiably, by Feldman's scheme, FOCS 1987, and the key is the sum of all).
//!
//! Each party sends the commitments to its polynomial to all, with a proof that it knows its secret, and its value at
//! each other's place to that party alone. Somebody who sees all commitments before it sends its own, and then leaves,
//! can influence the key's distribution (Gennaro, Jarecki, Krawczyk & Rabin, EUROCRYPT 1999); under the assumptions of
//! ElGamal encryption that is no gain (the same, J. Cryptology 2007, section 5). Here who leaves ends the set-up, so
//! nobody can leave and go on.

use std::fmt;

use rand_core::CryptoRng;

use super::{Culprit, KeyShare, VerificationKey, of_party};
use crate::primitive::elgamal::ElGamalPublicKey;
use crate::primitive::group::Group;
use crate::primitive::proof::{self, Proof, Statement, Wrong};
use crate::session::Transcript;

/// A party's own secret, as a polynomial whose value at 0 it is.
pub struct Dealer<G: Group>(Vec<G::Scalar>);

/// Public message of a dealer, to all parties.
pub struct Dealt<G: Group> {
    /// Each coefficient times G, the constant one first.
    pub commitments: Vec<G::Point>,
    /// Proof that the dealer knows the constant coefficient.
    pub proof: Proof<G>,
}

impl<G: Group + Sync> Dealer<G> {
    /// A fresh random secret, of which shares of any `threshold` parties are enough.
    pub fn new(group: &G, threshold: usize, rng: &mut impl CryptoRng) -> Dealer<G> {
        Dealer(group.random_scalars(threshold, rng))
    }

    /// Returns the public message of the party at `place`, for all parties.
    pub fn deal(&self, group: &G, place: usize, transcript: &Transcript, rng: &mut impl CryptoRng) -> Dealt<G> {
        let commitments = group.multiply_generator(&self.0);
        let statement = knowing(group, &commitments, place, transcript);
        let proof = proof::prove(group, &[statement], &[&self.0[..1]], rng).remove(0);
        Dealt { commitments, proof }
    }

    /// Returns the secret message of the dealer for the party at `place` alone.
    pub fn share(&self, group: &G, place: usize) -> G::Scalar {
        let at = group.scalar(place as u64 + 1);
        let step = |value: G::Scalar, coefficient| group.plus(&group.times(&value, &at), coefficient);
        self.0.iter().rev().fold(group.scalar(0), step)
    }
}

impl<G: Group> fmt::Debug for Dealer<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Dealer(..)")
    }
}

impl<G: Group> Clone for Dealt<G> {
    fn clone(&self) -> Dealt<G> {
        Dealt { commitments: self.commitments.clone(), proof: self.proof.clone() }
    }
}

/// The joint key, and every party's verification key, from what all have told: or who has told what is none.
pub fn join<G: Group>(
    group: &G,
    threshold: usize,
    dealt: &[Dealt<G>],
    transcript: &Transcript,
    rng: &mut impl CryptoRng,
) -> Result<(ElGamalPublicKey<G>, Vec<VerificationKey<G>>), Culprit> {
    assert!(threshold > 0, "somebody is needed");
    if let Some(place) = dealt.iter().position(|dealt| dealt.commitments.len() != threshold) {
        return Err(Culprit(place));
    }
    let statement = |(place, dealt): (usize, &Dealt<G>)| knowing(group, &dealt.commitments, place, transcript);
    let statements: Vec<_> = dealt.iter().enumerate().map(statement).collect();
    let proofs: Vec<_> = dealt.iter().map(|dealt| dealt.proof.clone()).collect();
    proof::verify(group, &statements, &proofs, rng).map_err(|Wrong(place)| Culprit(place))?;
    let ones = vec![group.scalar(1); dealt.len()];
    let sum = |power: usize| {
        let commitments: Vec<G::Point> = dealt.iter().map(|dealt| dealt.commitments[power].clone()).collect();
        group.combine(&commitments, &ones)
    };
    let sums: Vec<G::Point> = (0..threshold).map(sum).collect();
    let keys = (0..dealt.len()).map(|place| VerificationKey(at(group, &sums, place))).collect();
    Ok((ElGamalPublicKey(sums[0].clone()), keys))
}

/// The share of the party at `place`, from what each dealer has told it alone: or whose does not fit what that one has
/// told all.
pub fn receive<G: Group>(
    group: &G,
    place: usize,
    dealt: &[Dealt<G>],
    shares: &[G::Scalar],
) -> Result<KeyShare<G>, Culprit> {
    if shares.len() != dealt.len() {
        return Err(Culprit(shares.len().min(dealt.len())));
    }
    let images = group.multiply_generator(shares);
    for (dealer, (dealt, image)) in dealt.iter().zip(images).enumerate() {
        if !group.any_identity(&group.subtract(&[at(group, &dealt.commitments, place)], &[image])) {
            return Err(Culprit(dealer));
        }
    }
    Ok(KeyShare(shares.iter().fold(group.scalar(0), |sum, share| group.plus(&sum, share))))
}

impl<G: Group> KeyShare<G> {
    /// The share of the party at `place` as one of a key of which all those in `set` are needed.
    pub fn among(&self, group: &G, place: usize, set: &[usize]) -> KeyShare<G> {
        KeyShare(group.times(&self.0, &lagrange(group, place, set)))
    }
}

impl<G: Group> VerificationKey<G> {
    /// Returns the verification key that belongs to [`KeyShare::among`].
    pub fn among(&self, group: &G, place: usize, set: &[usize]) -> VerificationKey<G> {
        VerificationKey(group.multiply(std::slice::from_ref(&self.0), &lagrange(group, place, set)).remove(0))
    }
}

/// The factor of the value at `place` in the value at 0 of a polynomial of a degree below the number of places in
/// `set`.
fn lagrange<G: Group>(group: &G, place: usize, set: &[usize]) -> G::Scalar {
    let number = |place: usize| group.scalar(place as u64 + 1);
    let others = || set.iter().copied().filter(|other| *other != place);
    let product = |factors: &mut dyn Iterator<Item = G::Scalar>| {
        factors.fold(group.scalar(1), |product, factor| group.times(&product, &factor))
    };
    let above = product(&mut others().map(number));
    let below = product(&mut others().map(|other| group.minus(&number(other), &number(place))));
    group.times(&above, &group.invert(&[below])[0])
}

/// The image of a polynomial's value at a place, from those of its coefficients.
fn at<G: Group>(group: &G, commitments: &[G::Point], place: usize) -> G::Point {
    let number = group.scalar(place as u64 + 1);
    let powers = std::iter::successors(Some(group.scalar(1)), |power| Some(group.times(power, &number)));
    group.combine(commitments, &powers.take(commitments.len()).collect::<Vec<_>>())
}

/// The dealer at `place` knows the constant coefficient of what it commits to.
fn knowing<G: Group>(group: &G, commitments: &[G::Point], place: usize, transcript: &Transcript) -> Statement<G> {
    let generator = group.multiply_generator(&[group.scalar(1)]).remove(0);
    let mut context = of_party(transcript, "dealing", place);
    context.append("commitments", &group.encode(commitments));
    Statement::one_scalar([(generator, commitments[0].clone())], context)
}
