//! Proofs of knowing the masks of ciphertexts: r of (r G, X + r Y), whatever X is. Who has made a ciphertext knows it;
//! who has taken another's, and re-randomised it, does not. With such proofs ciphertexts of which each is decrypted by
//! somebody else give nothing away that their makers did not know (Schnorr & Jakobsson, "Security of signed ElGamal
//! encryption", ASIACRYPT 2000; Fuchsbauer, Plouviez & Seurin, EUROCRYPT 2020).
//!
//! The masks of several ciphertexts share a proof, whose response is a nonce and the sum of e^j r_j, with the challenge
//! e (Gennaro, Leigh, Sundaram & Yerazunis, "Batching Schnorr identification scheme", ASIACRYPT 2004): from one more
//! answer than there are masks follow all of them.

#[cfg(test)]
mod tests;

use std::ops::Range;

use rand_core::CryptoRng;

use super::known::{first_wrong, weight};
use crate::parallel;
use crate::primitive::group::Group;
use crate::primitive::proof::nonzero;
use crate::session::Transcript;

/// Length of a proof, for as many masks as it may be: a commitment and a response.
pub(crate) fn proof_bytes<G: Group>(group: &G) -> usize {
    group.point_bytes() + group.scalar_bytes()
}

/// The encodings of so many proofs, one after the other. Each is for one mask of every column. `context` gives, for
/// each number, a transcript that holds the ciphertexts, the keys, and everything else that the proof is bound to.
pub fn prove<G: Group>(
    group: &G,
    number: usize,
    columns: &[&[G::Scalar]],
    context: impl Fn(usize) -> Transcript,
    rng: &mut impl CryptoRng,
) -> Vec<u8> {
    let nonces = group.random_scalars(number, rng);
    let commitments = group.encode(&group.multiply_generator(&nonces));
    let mut proofs = Vec::with_capacity(number * proof_bytes(group));
    for (place, (nonce, commitment)) in nonces.iter().zip(commitments.chunks(group.point_bytes())).enumerate() {
        let powers = powers(group, context(place), commitment, columns.len());
        let response = columns
            .iter()
            .zip(&powers)
            .fold(nonce.clone(), |sum, (masks, power)| group.plus(&sum, &group.times(power, &masks[place])));
        proofs.extend_from_slice(commitment);
        proofs.extend_from_slice(&group.encode_scalar(&response));
    }
    proofs
}

/// Whether the proofs that follow each other in `proofs` hold, one for each row of `columns`, which are the first
/// points of ciphertexts; if not, which is the first that does not. One wrong proof passes with a probability of
/// 2^-128. The time tells of what is given, none of which is secret.
pub(crate) fn verify<G: Group + Sync>(
    group: &G,
    columns: &[&[G::Point]],
    proofs: &[u8],
    context: impl Fn(usize) -> Transcript + Sync,
    rng: &mut impl CryptoRng,
) -> Result<(), usize> {
    let (length, number) = (proof_bytes(group), columns.first().map_or(0, |column| column.len()));
    if proofs.len() != number * length {
        return Err((proofs.len() / length).min(number.saturating_sub(1)));
    }
    let read = |place: usize| {
        let proof = &proofs[place * length..][..length];
        let (commitment, response) = proof.split_at(group.point_bytes());
        let powers = powers(group, context(place), commitment, columns.len());
        let commitment = group.decode(commitment).ok()?.pop()?;
        Some(Read { commitment, powers, response: group.decode_scalar(response)? })
    };
    let read: Vec<Option<Read<G>>> = parallel::numbers(number, 1, read);
    let unreadable = read.iter().position(Option::is_none);
    let read: Vec<Read<G>> = read.into_iter().map_while(|proof| proof).collect();
    first_wrong(read.len(), |range| hold(group, columns, &read, range, rng)).or(unreadable).map_or(Ok(()), Err)
}

/// A proof as it is verified.
struct Read<G: Group> {
    commitment: G::Point,
    /// e, e^2 and so on, with the challenge e.
    powers: Vec<G::Scalar>,
    response: G::Scalar,
}

/// Whether all of these hold. Of each, with K the commitment, e the challenge, z the response and R_j the points, K +
/// (the sum of e^j R_j) - z G = 0; under random weights these sum to the identity.
fn hold<G: Group + Sync>(
    group: &G,
    columns: &[&[G::Point]],
    proofs: &[Read<G>],
    range: Range<usize>,
    rng: &mut impl CryptoRng,
) -> bool {
    let terms = range.len() * (1 + columns.len()) + 1;
    let (mut points, mut factors) = (Vec::with_capacity(terms), Vec::with_capacity(terms));
    let mut of_generator = group.scalar(0);
    for place in range {
        let (proof, weight) = (&proofs[place], weight(group, rng));
        of_generator = group.plus(&of_generator, &group.times(&weight, &proof.response));
        for (column, power) in columns.iter().zip(&proof.powers) {
            points.push(column[place].clone());
            factors.push(group.times(&weight, power));
        }
        points.push(proof.commitment.clone());
        factors.push(weight);
    }
    points.push(group.multiply_generator(&[group.scalar(1)]).remove(0));
    factors.push(group.minus(&group.scalar(0), &of_generator));
    group.any_identity(&[group.combine_public(&points, &factors)])
}

/// Returns the first `number` powers of the challenge, beginning with the challenge itself.
fn powers<G: Group>(group: &G, mut context: Transcript, commitment: &[u8], number: usize) -> Vec<G::Scalar> {
    context.append("masks", commitment);
    let challenge = nonzero(group, &context.challenge("challenge"), b"tacita 1 challenge");
    std::iter::successors(Some(challenge.clone()), |power| Some(group.times(power, &challenge))).take(number).collect()
}
