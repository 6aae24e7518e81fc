//! Proofs of knowing scalars that satisfy linear equations in points: that of a discrete logarithm (Schnorr, CRYPTO 1989), of two
//! that are equal (Chaum & Pedersen, CRYPTO 1992), and any conjunction of such (Maurer, "Unifying zero-knowledge proofs of
//! knowledge", AFRICACRYPT 2009), made non-interactive over a [`Transcript`] (Fiat & Shamir; all that is proved is hashed, as
//! Bernhard, Pereira & Warinschi ask, ASIACRYPT 2012).
//!
//! A proof holds its commitments, so that many are verified at once by one sum of products under random weights
//! (Bellare, Garay & Rabin, EUROCRYPT 1998).

#[cfg(test)]
mod tests;

use rand_core::CryptoRng;

use crate::parallel;
use crate::primitive::group::Group;
use crate::session::Transcript;

/// Statement that is proved: the prover knows scalars with which all equations hold.
pub(crate) struct Statement<G: Group> {
    equations: Vec<Equation<G>>,
    scalars: usize,
    /// Context to which the proof is also bound: prover, purpose and session.
    context: Transcript,
}

/// `image` is the sum of each base times the scalar of that number.
pub(crate) struct Equation<G: Group> {
    /// Sum of the terms.
    pub image: G::Point,
    /// Number of each scalar, and its base.
    pub terms: Vec<(usize, G::Point)>,
}

/// A proof of a `Statement`.
pub struct Proof<G: Group> {
    /// The images of random scalars, one for each equation.
    commitments: Vec<G::Point>,
    /// Responses to the challenge, made from the random and the known scalars.
    responses: Vec<G::Scalar>,
}

/// The proof at this place does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Wrong(pub usize);

impl<G: Group> Statement<G> {
    /// The conjunction of equations, in scalars that are numbered from 0.
    pub(crate) fn new(equations: Vec<Equation<G>>, context: Transcript) -> Statement<G> {
        let numbers = equations.iter().flat_map(|equation| equation.terms.iter().map(|(scalar, _)| scalar + 1));
        let scalars = numbers.max().unwrap_or(0);
        Statement { equations, scalars, context }
    }

    /// Knowing x with each of these images x times its base.
    pub(crate) fn one_scalar(
        pairs: impl IntoIterator<Item = (G::Point, G::Point)>,
        context: Transcript,
    ) -> Statement<G> {
        let equation = |(base, image)| Equation { image, terms: vec![(0, base)] };
        Statement::new(pairs.into_iter().map(equation).collect(), context)
    }

    /// The challenge for a proof with these commitments.
    fn challenge(&self, group: &G, commitments: &[G::Point]) -> G::Scalar {
        let mut transcript = self.context.clone();
        for Equation { image, terms } in &self.equations {
            transcript.append("image", &group.encode(std::slice::from_ref(image)));
            for (scalar, base) in terms {
                transcript.append("scalar", &(*scalar as u64).to_le_bytes());
                transcript.append("base", &group.encode(std::slice::from_ref(base)));
            }
        }
        transcript.append("commitments", &group.encode(commitments));
        nonzero(group, &transcript.challenge("challenge"), b"tacita 1 challenge")
    }
}

impl<G: Group + Sync> Statement<G> {
    /// Knowing x with `image` x times the generator and many images x times their bases: of one random combination of
    /// these, drawn when they are fixed (RFC 9497, section 2.2.1, `ComputeComposites`, with scalars of full length).
    pub(crate) fn composite(
        group: &G,
        image: &G::Point,
        bases: &[G::Point],
        images: &[G::Point],
        context: Transcript,
    ) -> Statement<G> {
        assert_eq!(bases.len(), images.len(), "every base has its image");
        let mut all = context.clone();
        all.append("image", &group.encode(std::slice::from_ref(image)));
        all.append("bases", &group.encode(bases)).append("images", &group.encode(images));
        let seed = all.challenge("weights");
        let weight =
            |index: usize| nonzero(group, &[&seed[..], &(index as u64).to_le_bytes()].concat(), b"tacita 1 weight");
        let weights: Vec<G::Scalar> = parallel::numbers(bases.len(), 1, weight);
        let generator = group.multiply_generator(&[group.scalar(1)]).remove(0);
        let mut pairs = vec![(generator, image.clone())];
        if !bases.is_empty() {
            pairs.push((group.combine(bases, &weights), group.combine(images, &weights)));
        }
        Statement::one_scalar(pairs, context)
    }
}

/// A proof of each statement, from the scalars that satisfy it.
pub(crate) fn prove<G: Group>(
    group: &G,
    statements: &[Statement<G>],
    scalars: &[&[G::Scalar]],
    rng: &mut impl CryptoRng,
) -> Vec<Proof<G>> {
    assert_eq!(statements.len(), scalars.len(), "every statement has its scalars");
    let nonces: Vec<Vec<G::Scalar>> =
        statements.iter().map(|statement| group.random_scalars(statement.scalars, rng)).collect();
    // All products at once.
    let (mut bases, mut factors) = (Vec::new(), Vec::new());
    for (statement, nonces) in statements.iter().zip(&nonces) {
        for (scalar, base) in statement.equations.iter().flat_map(|equation| &equation.terms) {
            bases.push(base.clone());
            factors.push(nonces[*scalar].clone());
        }
    }
    let mut products = group.multiply_each(&bases, &factors).into_iter();
    let mut proofs = Vec::with_capacity(statements.len());
    for ((statement, nonces), scalars) in statements.iter().zip(&nonces).zip(scalars) {
        let commitment = |equation: &Equation<G>| sum(group, products.by_ref().take(equation.terms.len()));
        let commitments: Vec<G::Point> = statement.equations.iter().map(commitment).collect();
        let challenge = statement.challenge(group, &commitments);
        let response = |(nonce, scalar)| group.plus(nonce, &group.times(&challenge, scalar));
        let responses = nonces.iter().zip(*scalars).map(response).collect();
        proofs.push(Proof { commitments, responses });
    }
    proofs
}

/// Whether all proofs hold; if not, which is the first that does not.
pub(crate) fn verify<G: Group>(
    group: &G,
    statements: &[Statement<G>],
    proofs: &[Proof<G>],
    rng: &mut impl CryptoRng,
) -> Result<(), Wrong> {
    let fits = |(statement, proof): (&Statement<G>, &Proof<G>)| {
        proof.commitments.len() == statement.equations.len() && proof.responses.len() == statement.scalars
    };
    if let Some(wrong) = statements.iter().zip(proofs).position(|pair| !fits(pair)) {
        return Err(Wrong(wrong));
    }
    if statements.len() != proofs.len() {
        return Err(Wrong(statements.len().min(proofs.len())));
    }
    if hold(group, statements, proofs, rng) {
        return Ok(());
    }
    // Which one it is, only where one is wrong.
    let wrong = |index: &usize| !hold(group, &statements[*index..=*index], &proofs[*index..=*index], rng);
    (0..proofs.len()).find(wrong).map_or(Ok(()), |wrong| Err(Wrong(wrong)))
}

/// Whether all of these proofs hold, which fit their statements: their equations under random weights sum to the
/// identity.
fn hold<G: Group>(group: &G, statements: &[Statement<G>], proofs: &[Proof<G>], rng: &mut impl CryptoRng) -> bool {
    let zero = group.scalar(0);
    let (mut points, mut factors) = (Vec::new(), Vec::new());
    for (statement, proof) in statements.iter().zip(proofs) {
        let challenge = statement.challenge(group, &proof.commitments);
        for (equation, commitment) in statement.equations.iter().zip(&proof.commitments) {
            let weight = group.random_scalars(1, rng).remove(0);
            for (scalar, base) in &equation.terms {
                points.push(base.clone());
                factors.push(group.times(&weight, &proof.responses[*scalar]));
            }
            points.extend([commitment.clone(), equation.image.clone()]);
            factors.push(group.minus(&zero, &weight));
            factors.push(group.minus(&zero, &group.times(&weight, &challenge)));
        }
    }
    group.any_identity(&[group.combine(&points, &factors)])
}

impl<G: Group> Clone for Proof<G> {
    fn clone(&self) -> Proof<G> {
        Proof { commitments: self.commitments.clone(), responses: self.responses.clone() }
    }
}

impl<G: Group> Proof<G> {
    /// Length of the encoding of a proof of so many equations in so many scalars.
    pub(crate) fn bytes(group: &G, equations: usize, scalars: usize) -> usize {
        equations * group.point_bytes() + scalars * group.scalar_bytes()
    }

    /// Returns the encoding: commitments, then responses.
    pub fn encode(&self, group: &G) -> Vec<u8> {
        let mut bytes = group.encode(&self.commitments);
        self.responses.iter().for_each(|response| bytes.extend_from_slice(&group.encode_scalar(response)));
        bytes
    }

    /// The proof that `bytes` encode, of so many equations in so many scalars. One in as many as the group's order has
    /// no encoding.
    pub fn decode(group: &G, bytes: &[u8], equations: usize, scalars: usize) -> Option<Proof<G>> {
        if bytes.len() != Proof::bytes(group, equations, scalars) {
            return None;
        }
        let (commitments, responses) = bytes.split_at(equations * group.point_bytes());
        let commitments = group.decode(commitments).ok()?;
        let responses = responses.chunks(group.scalar_bytes()).map(|response| group.decode_scalar(response));
        Some(Proof { commitments, responses: responses.collect::<Option<_>>()? })
    }
}

/// Hashes a message to a scalar that is not zero.
pub(crate) fn nonzero<G: Group>(group: &G, message: &[u8], tag: &[u8]) -> G::Scalar {
    let hashed = |again: u64| group.hash_to_scalar(&[message, &again.to_le_bytes()].concat(), tag);
    (0..).find_map(hashed).expect("not every hash is zero")
}

fn sum<G: Group>(group: &G, points: impl Iterator<Item = G::Point>) -> G::Point {
    points.reduce(|sum, point| group.add(&[sum], &[point]).remove(0)).unwrap_or_else(|| group.combine(&[], &[]))
}
