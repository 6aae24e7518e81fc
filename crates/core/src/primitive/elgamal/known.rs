//! Proofs of knowing what a ciphertext holds (Schnorr & Jakobsson, "Security of signed ElGamal encryption", ASIACRYPT 2000): m and r of
//! (r G, m G + r Y). It is a conjunction of two equations as [`crate::primitive::proof`] has them, in a form for very many ciphertexts
//! under one key: what is hashed is what the caller has in bytes already, and all proofs of a batch share the products of G and Y.

#[cfg(test)]
mod tests;

use std::ops::Range;

use rand_core::CryptoRng;

use super::{Ciphertext, decode, encode, pairs};
use crate::parallel;
use crate::primitive::group::Group;
use crate::primitive::proof::nonzero;
use crate::session::Transcript;

/// Proofs that share one sum of products.
const BATCH: usize = 1 << 12;

/// Contents of a ciphertext: plaintext and mask.
pub struct Opening<G: Group> {
    /// Plaintext m of the ciphertext.
    pub scalar: G::Scalar,
    /// Mask r of the ciphertext.
    pub mask: G::Scalar,
}

/// Length of a proof: the ciphertext of a random scalar, and what hides m and r.
pub(crate) fn proof_bytes<G: Group>(group: &G) -> usize {
    2 * group.point_bytes() + 2 * group.scalar_bytes()
}

/// The encodings of a proof for each opening, under the key Y that has been made ready. `context` gives, for each
/// number, a transcript that holds the ciphertext, the key, and everything else that the proof is bound to.
pub fn prove<G: Group + Sync>(
    group: &G,
    key: &G::Base,
    openings: &[Opening<G>],
    context: impl Fn(usize) -> Transcript,
    rng: &mut impl CryptoRng,
) -> Vec<u8> {
    let (masks, scalars) = (group.random_scalars(openings.len(), rng), group.random_scalars(openings.len(), rng));
    let hidden = group.add(&group.multiply_generator(&scalars), &group.multiply_base(key, &masks));
    let commitments = encode(group, &pairs::<G>(group.multiply_generator(&masks), hidden));
    let mut proofs = Vec::with_capacity(openings.len() * proof_bytes(group));
    let nonces = masks.iter().zip(&scalars).zip(commitments.chunks(2 * group.point_bytes()));
    for ((number, opening), ((mask, scalar), commitment)) in openings.iter().enumerate().zip(nonces) {
        let challenge = challenge(group, context(number), commitment);
        proofs.extend_from_slice(commitment);
        for (nonce, secret) in [(mask, &opening.mask), (scalar, &opening.scalar)] {
            let response = group.plus(nonce, &group.times(&challenge, secret));
            proofs.extend_from_slice(&group.encode_scalar(&response));
        }
    }
    proofs
}

/// Whether the proofs that follow each other in `proofs` hold, one for each ciphertext under the key Y; if not, which
/// is the first that does not. One wrong proof passes with a probability of 2^-127 (its share in the sum has random
/// weights of 128 bits). The time tells of everything that is given, none of which is secret.
pub fn verify<G: Group + Sync>(
    group: &G,
    key: &G::Point,
    ciphertexts: &[Ciphertext<G>],
    proofs: &[u8],
    context: impl Fn(usize) -> Transcript + Sync,
    rng: &mut impl CryptoRng,
) -> Result<(), usize> {
    let length = proof_bytes(group);
    if proofs.len() != ciphertexts.len() * length {
        return Err((proofs.len() / length).min(ciphertexts.len().saturating_sub(1)));
    }
    let read = |number: usize| {
        let (commitment, responses) = proofs[number * length..][..length].split_at(2 * group.point_bytes());
        let (mask, scalar) = responses.split_at(group.scalar_bytes());
        let challenge = challenge(group, context(number), commitment);
        let commitment = decode(group, commitment).ok()?.pop()?;
        Some(Read { commitment, challenge, mask: group.decode_scalar(mask)?, scalar: group.decode_scalar(scalar)? })
    };
    let read: Vec<Option<Read<G>>> = parallel::numbers(ciphertexts.len(), 1, read);
    let unreadable = read.iter().position(Option::is_none);
    let read: Vec<Read<G>> = read.into_iter().map_while(|proof| proof).collect();
    let hold = |range: Range<usize>| hold(group, key, &ciphertexts[range.clone()], &read[range], rng);
    first_wrong(read.len(), hold).or(unreadable).map_or(Ok(()), Err)
}

/// A proof as it is verified.
struct Read<G: Group> {
    commitment: Ciphertext<G>,
    challenge: G::Scalar,
    mask: G::Scalar,
    scalar: G::Scalar,
}

/// The first of so many proofs that does not hold, if one does not, where it is seen of a range at a time whether all
/// of them do: halving a batch of which not all do finds it in twice the time that one look takes.
pub(super) fn first_wrong(number: usize, mut hold: impl FnMut(Range<usize>) -> bool) -> Option<usize> {
    let mut batches = (0..number).step_by(BATCH).map(|from| from..number.min(from + BATCH));
    let Range { start: mut from, end: mut to } = batches.find(|batch| !hold(batch.clone()))?;
    while to - from > 1 {
        let middle = from.midpoint(to);
        if hold(from..middle) { from = middle } else { to = middle }
    }
    Some(from)
}

/// Whether all of these hold. Of each, with K the commitment, c the challenge and z the responses, z_r G - K_1 - c (r
/// G) = 0 and z_m G + z_r Y - K_2 - c (m G + r Y) = 0; under random weights these sum to the identity.
fn hold<G: Group + Sync>(
    group: &G,
    key: &G::Point,
    ciphertexts: &[Ciphertext<G>],
    proofs: &[Read<G>],
    rng: &mut impl CryptoRng,
) -> bool {
    let mut points = Vec::with_capacity(4 * proofs.len() + 2);
    let mut factors = Vec::with_capacity(4 * proofs.len() + 2);
    let [mut of_generator, mut of_key] = [group.scalar(0), group.scalar(0)];
    for (ciphertext, proof) in ciphertexts.iter().zip(proofs) {
        let weights = [weight(group, rng), weight(group, rng)];
        let [of_mask, of_scalar] =
            [(&weights[0], &proof.mask), (&weights[1], &proof.scalar)].map(|(a, b)| group.times(a, b));
        of_generator = group.plus(&of_generator, &group.plus(&of_mask, &of_scalar));
        of_key = group.plus(&of_key, &group.times(&weights[1], &proof.mask));
        for (row, weight) in weights.into_iter().enumerate() {
            points.extend([ciphertext[row].clone(), proof.commitment[row].clone()]);
            factors.extend([group.times(&weight, &proof.challenge), weight]);
        }
    }
    points.extend([group.multiply_generator(&[group.scalar(1)]).remove(0), key.clone()]);
    factors.extend([of_generator, of_key].map(|sum| group.minus(&group.scalar(0), &sum)));
    group.any_identity(&[group.combine_public(&points, &factors)])
}

/// A uniformly random number below 2^128.
pub(super) fn weight<G: Group>(group: &G, rng: &mut impl CryptoRng) -> G::Scalar {
    let [high, low] = [rng.next_u64(), rng.next_u64()].map(|word| group.scalar(word));
    let half = group.scalar(1 << 32);
    group.plus(&group.times(&group.times(&high, &half), &half), &low)
}

fn challenge<G: Group>(group: &G, mut context: Transcript, commitment: &[u8]) -> G::Scalar {
    context.append("commitment", commitment);
    nonzero(group, &context.challenge("challenge"), b"tacita 1 challenge")
}
