//! Threshold exponential ElGamal: a key of which every party has a share, so that nobody decrypts alone.
//!
//! *(n, n)*: the key is the sum of all parties' (Desmedt & Frankel, CRYPTO 1989; as Miyaji, Nakasho & Nishida, "Privacy-Preserving
//! Integration of Medical Data", 2017, section 2.2, have it). Each party proves that it knows its own share, or the
//! last to speak could choose the sum (rogue keys). *(t, n)*: [`dealing`] makes shares of which any t are enough;
//! [`KeyShare::among`] makes those of a set of t into shares of the first kind.
//!
//! To decrypt, each party adds x c_1 to what it is given, for its share x and every ciphertext, and proves that it has:
//! all of it together is taken from c_2. In which order, [`PartyOrder`] says. Whoever adds something else is found by
//! [`check`].

pub mod dealing;
mod order;
#[cfg(test)]
mod tests;

use std::fmt;

use rand_core::CryptoRng;

use super::{Ciphertext, ElGamalPublicKey, columns};
use crate::primitive::group::{DecodeError, Group};
use crate::primitive::proof::{self, Proof, Statement, Wrong};
use crate::session::Transcript;
pub use order::PartyOrder;

/// A party's share of the secret key.
pub struct KeyShare<G: Group>(G::Scalar);

/// Public key of a share x, with which others verify its use: x G.
pub struct VerificationKey<G: Group>(G::Point);

/// Contribution of a party to a decryption, added to the sums that it was given.
pub struct Contribution<G: Group> {
    /// For each ciphertext the sum of x c_1 over this party and those before it.
    pub sums: Vec<G::Point>,
    /// Proof that this party has added the right values.
    pub proof: Proof<G>,
}

/// The party at this place has deviated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Culprit(pub usize);

impl<G: Group + Sync> KeyShare<G> {
    /// A fresh random share of a key of which all are needed.
    pub fn generate(group: &G, rng: &mut impl CryptoRng) -> KeyShare<G> {
        KeyShare(group.random_scalars(1, rng).remove(0))
    }

    /// Returns the verification key, which the others may know.
    pub fn verification_key(&self, group: &G) -> VerificationKey<G> {
        VerificationKey(group.multiply_generator(std::slice::from_ref(&self.0)).remove(0))
    }

    /// The proof that the party at `place` knows its share. `transcript` is what all parties have in common: session
    /// and parties.
    pub fn prove_possession(
        &self,
        group: &G,
        place: usize,
        transcript: &Transcript,
        rng: &mut impl CryptoRng,
    ) -> Proof<G> {
        let statement = possession(group, &self.verification_key(group), place, transcript);
        proof::prove(group, &[statement], &[std::slice::from_ref(&self.0)], rng).remove(0)
    }

    /// Adds x c_1 to the sums that the party at `place` is given: one list for each party before it, each as long as
    /// the ciphertexts.
    pub fn contribute(
        &self,
        group: &G,
        place: usize,
        ciphertexts: &[Ciphertext<G>],
        given: &[&[G::Point]],
        transcript: &Transcript,
        rng: &mut impl CryptoRng,
    ) -> Contribution<G> {
        let [masks, _] = columns::<G>(ciphertexts);
        let own = group.multiply(&masks, &self.0);
        let context = of_party(transcript, "decryption", place);
        let statement = Statement::composite(group, &self.verification_key(group).0, &masks, &own, context);
        let proof = proof::prove(group, &[statement], &[std::slice::from_ref(&self.0)], rng).remove(0);
        let sums = given.iter().fold(own, |sums, given| group.add(&sums, given));
        Contribution { sums, proof }
    }
}

impl<G: Group> KeyShare<G> {
    /// c_2 - x c_1 for each ciphertext: m G, if all others have taken their shares off before.
    pub fn strip(&self, group: &G, ciphertexts: &[Ciphertext<G>]) -> Vec<G::Point> {
        let [masks, hidden] = columns::<G>(ciphertexts);
        group.subtract(&hidden, &group.multiply(&masks, &self.0))
    }
}

impl<G: Group> fmt::Debug for KeyShare<G> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KeyShare(..)")
    }
}

impl<G: Group> Clone for VerificationKey<G> {
    fn clone(&self) -> VerificationKey<G> {
        VerificationKey(self.0.clone())
    }
}

impl<G: Group> VerificationKey<G> {
    /// Returns the encoding of the share.
    pub fn to_bytes(&self, group: &G) -> Vec<u8> {
        group.encode(std::slice::from_ref(&self.0))
    }

    /// The key that `bytes` encode: any point but the identity.
    pub fn from_bytes(group: &G, bytes: &[u8]) -> Result<VerificationKey<G>, DecodeError> {
        match <[G::Point; 1]>::try_from(group.decode(bytes)?) {
            Ok([point]) => Ok(VerificationKey(point)),
            Err(_) => Err(DecodeError::Length),
        }
    }
}

/// The key that all parties encrypt under, of their shares, if all prove to know them.
pub fn joint_key<G: Group>(
    group: &G,
    keys: &[VerificationKey<G>],
    proofs: &[Proof<G>],
    transcript: &Transcript,
    rng: &mut impl CryptoRng,
) -> Result<ElGamalPublicKey<G>, Culprit> {
    let statements: Vec<_> =
        keys.iter().enumerate().map(|(place, key)| possession(group, key, place, transcript)).collect();
    proof::verify(group, &statements, proofs, rng).map_err(|Wrong(place)| Culprit(place))?;
    Ok(key_of(group, keys))
}

/// The key of these shares alone: what is encrypted under the joint key is under that of the rest once the others have
/// taken theirs off.
pub(crate) fn key_of<'a, G: Group + 'a>(
    group: &G,
    keys: impl IntoIterator<Item = &'a VerificationKey<G>>,
) -> ElGamalPublicKey<G> {
    let points: Vec<G::Point> = keys.into_iter().map(|key| key.0.clone()).collect();
    ElGamalPublicKey(group.combine(&points, &vec![group.scalar(1); points.len()]))
}

/// Contribution of a party, with the inputs that it was given.
pub struct ThresholdView<'a, G: Group> {
    /// Place of the party.
    pub place: usize,
    /// Verification key of the party.
    pub key: &'a VerificationKey<G>,
    /// The sums that it was given.
    pub given: &'a [&'a [G::Point]],
    /// Contribution that the party has made of these sums.
    pub contribution: &'a Contribution<G>,
}

/// Whether parties have added what they should to what they were given; if not, the first in `told` that has not.
pub fn check<G: Group + Sync>(
    group: &G,
    ciphertexts: &[Ciphertext<G>],
    told: &[ThresholdView<'_, G>],
    transcript: &Transcript,
    rng: &mut impl CryptoRng,
) -> Result<(), Culprit> {
    let [masks, _] = columns::<G>(ciphertexts);
    let (mut statements, mut proofs) = (Vec::with_capacity(told.len()), Vec::with_capacity(told.len()));
    for ThresholdView { place, key, given, contribution } in told {
        let sums = &contribution.sums;
        if sums.len() != masks.len() || given.iter().any(|given| given.len() != masks.len()) {
            return Err(Culprit(*place));
        }
        let own = given.iter().fold(sums.clone(), |sums, given| group.subtract(&sums, given));
        let context = of_party(transcript, "decryption", *place);
        statements.push(Statement::composite(group, &key.0, &masks, &own, context));
        proofs.push(contribution.proof.clone());
    }
    proof::verify(group, &statements, &proofs, rng).map_err(|Wrong(index)| Culprit(told[index].place))
}

/// m G for each ciphertext of m, from what all parties have added together.
pub(crate) fn open<G: Group>(group: &G, ciphertexts: &[Ciphertext<G>], sums: &[G::Point]) -> Vec<G::Point> {
    let [_, hidden] = columns::<G>(ciphertexts);
    group.subtract(&hidden, sums)
}

/// The party at `place` knows the discrete logarithm of its key.
fn possession<G: Group>(group: &G, key: &VerificationKey<G>, place: usize, transcript: &Transcript) -> Statement<G> {
    let generator = group.multiply_generator(&[group.scalar(1)]).remove(0);
    Statement::one_scalar([(generator, key.0.clone())], of_party(transcript, "possession", place))
}

/// Transcript to which proofs of the party at `place` are bound.
fn of_party(transcript: &Transcript, purpose: &str, place: usize) -> Transcript {
    let mut transcript = transcript.clone();
    transcript.append("purpose", purpose.as_bytes()).append("place", &(place as u64).to_le_bytes());
    transcript
}
