//! Proofs of knowing scalars that satisfy linear equations in points: that of a discrete logarithm (Schnorr, CRYPTO 1989), of two
//! that are equal (Chaum & Pedersen, CRYPTO 1992), and any conjunction of such (Maurer, "Unifying zero-knowledge proofs of
//! knowledge", AFRICACRYPT 2009), made non-interactive over a [`Transcript`] (Fiat & Shamir; all that is proved is hashed, as
//! Bernhard, Pereira & Warinschi ask, ASIACRYPT 2012).
//!
//! A proof holds its commitments, so that many are verified at once by one sum of products under random weights (Bellare, Garay &
//! Rabin, EUROCRYPT 1998).

#[cfg(test)]
mod tests;

use rand_core::CryptoRng;

use crate::primitive::group::Group;
use crate::session::Transcript;

/// What is proved: that there are known scalars with which all equations hold.
pub struct Relation<G: Group> {
    equations: Vec<Equation<G>>,
    scalars: usize,
}

/// `image` is the sum of each base times the scalar of that number.
pub struct Equation<G: Group> {
    /// The sum.
    pub image: G::Point,
    /// Which scalar, and its base.
    pub terms: Vec<(usize, G::Point)>,
}

/// A proof of a [`Relation`].
pub struct Proof<G: Group> {
    /// The images of random scalars, one for each equation.
    commitments: Vec<G::Point>,
    /// What the challenge makes of these and of the known ones.
    responses: Vec<G::Scalar>,
}

/// The proof at this place does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wrong(pub usize);

impl<G: Group> Relation<G> {
    /// The conjunction of equations, in scalars that are numbered from 0.
    pub fn new(equations: Vec<Equation<G>>) -> Relation<G> {
        let numbers = equations.iter().flat_map(|equation| equation.terms.iter().map(|(scalar, _)| scalar + 1));
        let scalars = numbers.max().unwrap_or(0);
        Relation { equations, scalars }
    }

    /// Knowing x with each of these images x times its base.
    pub fn one_scalar(pairs: impl IntoIterator<Item = (G::Point, G::Point)>) -> Relation<G> {
        let equation = |(base, image)| Equation { image, terms: vec![(0, base)] };
        Relation::new(pairs.into_iter().map(equation).collect())
    }

    fn append_to(&self, group: &G, transcript: &mut Transcript) {
        for Equation { image, terms } in &self.equations {
            transcript.append("image", &group.encode(std::slice::from_ref(image)));
            for (scalar, base) in terms {
                transcript.append("scalar", &(*scalar as u64).to_le_bytes());
                transcript.append("base", &group.encode(std::slice::from_ref(base)));
            }
        }
    }
}

/// A proof of each relation, from the scalars that satisfy it. `transcript` is what they are bound to, the same for who verifies.
pub fn prove<G: Group>(
    group: &G,
    relations: &[Relation<G>],
    scalars: &[&[G::Scalar]],
    transcript: &Transcript,
    rng: &mut impl CryptoRng,
) -> Vec<Proof<G>> {
    assert_eq!(relations.len(), scalars.len(), "every relation has its scalars");
    let nonces: Vec<Vec<G::Scalar>> =
        relations.iter().map(|relation| group.random_scalars(relation.scalars, rng)).collect();
    // All products at once.
    let terms = || {
        relations.iter().zip(&nonces).flat_map(|(relation, nonces)| {
            relation
                .equations
                .iter()
                .flat_map(|equation| &equation.terms)
                .map(|(scalar, base)| (base, &nonces[*scalar]))
        })
    };
    let (bases, factors): (Vec<_>, Vec<_>) = terms().map(|(base, nonce)| (base.clone(), nonce.clone())).unzip();
    let mut products = group.multiply_each(&bases, &factors).into_iter();
    let mut proofs = Vec::with_capacity(relations.len());
    for (index, relation) in relations.iter().enumerate() {
        let commitment = |equation: &Equation<G>| sum(group, products.by_ref().take(equation.terms.len()).collect());
        let commitments: Vec<G::Point> = relation.equations.iter().map(commitment).collect();
        let challenge = challenge(group, relation, &commitments, index, transcript);
        let response = |(nonce, scalar)| group.plus(nonce, &group.times(&challenge, scalar));
        let responses = nonces[index].iter().zip(scalars[index]).map(response).collect();
        proofs.push(Proof { commitments, responses });
    }
    proofs
}

/// Whether all proofs hold; if not, which is the first that does not.
pub fn verify<G: Group>(
    group: &G,
    relations: &[Relation<G>],
    proofs: &[Proof<G>],
    transcript: &Transcript,
    rng: &mut impl CryptoRng,
) -> Result<(), Wrong> {
    let fits = |relation: &Relation<G>, proof: &Proof<G>| {
        proof.commitments.len() == relation.equations.len() && proof.responses.len() == relation.scalars
    };
    let missing = relations.len().min(proofs.len());
    if let Some(wrong) = relations.iter().zip(proofs).position(|(relation, proof)| !fits(relation, proof)) {
        return Err(Wrong(wrong));
    }
    if relations.len() != proofs.len() {
        return Err(Wrong(missing));
    }
    let hold = |range: std::ops::Range<usize>, rng: &mut _| {
        let (mut points, mut factors) = (Vec::new(), Vec::new());
        for index in range {
            let (relation, proof) = (&relations[index], &proofs[index]);
            let challenge = challenge(group, relation, &proof.commitments, index, transcript);
            let zero = group.scalar(0);
            for (equation, commitment) in relation.equations.iter().zip(&proof.commitments) {
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
    };
    if hold(0..proofs.len(), rng) {
        return Ok(());
    }
    // Which one it is, only where one is wrong.
    (0..proofs.len()).find(|&index| !hold(index..index + 1, rng)).map_or(Ok(()), |wrong| Err(Wrong(wrong)))
}

/// The proof that many images are the same scalar times their bases, as `image` is of the generator: of one random combination of
/// them, drawn when they are fixed (RFC 9497, section 2.2.1, `ComputeComposites`, with scalars of full length).
pub fn composite<G: Group>(
    group: &G,
    image: &G::Point,
    bases: &[G::Point],
    images: &[G::Point],
    transcript: &Transcript,
) -> Relation<G> {
    assert_eq!(bases.len(), images.len(), "every base has its image");
    let mut of_all = transcript.clone();
    of_all.append("image", &group.encode(std::slice::from_ref(image)));
    of_all.append("bases", &group.encode(bases)).append("images", &group.encode(images));
    let seed = of_all.challenge("weights");
    let weight =
        |index: usize| nonzero(group, &[&seed[..], &(index as u64).to_le_bytes()].concat(), b"tacita 1 weight");
    let weights: Vec<G::Scalar> = (0..bases.len()).map(weight).collect();
    let generator = group.multiply_generator(&[group.scalar(1)]).remove(0);
    let mut pairs = vec![(generator, image.clone())];
    if !bases.is_empty() {
        pairs.push((group.combine(bases, &weights), group.combine(images, &weights)));
    }
    Relation::one_scalar(pairs)
}

impl<G: Group> Clone for Proof<G> {
    fn clone(&self) -> Proof<G> {
        Proof { commitments: self.commitments.clone(), responses: self.responses.clone() }
    }
}

impl<G: Group> Proof<G> {
    /// Length of the encoding of a proof of so many equations in so many scalars.
    pub fn bytes(group: &G, equations: usize, scalars: usize) -> usize {
        equations * group.point_bytes() + scalars * group.scalar_bytes()
    }

    /// Its encoding: commitments, then responses.
    pub fn encode(&self, group: &G) -> Vec<u8> {
        let mut bytes = group.encode(&self.commitments);
        self.responses.iter().for_each(|response| bytes.extend_from_slice(&group.encode_scalar(response)));
        bytes
    }

    /// The proof that `bytes` encode, of so many equations in so many scalars. One in as many as the group's order has no encoding.
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

/// The challenge for the proof with this number.
fn challenge<G: Group>(
    group: &G,
    relation: &Relation<G>,
    commitments: &[G::Point],
    index: usize,
    transcript: &Transcript,
) -> G::Scalar {
    let mut transcript = transcript.clone();
    transcript.append("proof", &(index as u64).to_le_bytes());
    relation.append_to(group, &mut transcript);
    transcript.append("commitments", &group.encode(commitments));
    nonzero(group, &transcript.challenge("challenge"), b"tacita 1 challenge")
}

/// What a message is hashed to, which is not zero.
fn nonzero<G: Group>(group: &G, message: &[u8], tag: &[u8]) -> G::Scalar {
    let hashed = |again: u64| group.hash_to_scalar(&[message, &again.to_le_bytes()].concat(), tag);
    (0..).find_map(hashed).expect("not every hash is zero")
}

fn sum<G: Group>(group: &G, points: Vec<G::Point>) -> G::Point {
    points
        .into_iter()
        .reduce(|sum, point| group.add(&[sum], &[point]).remove(0))
        .unwrap_or_else(|| group.combine(&[], &[]))
}
