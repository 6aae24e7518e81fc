//! Suites: a group and a hash function (RFC 9497, section 4).

use rand_core::CryptoRng;
use rayon::prelude::*;
use sha2::{Digest, Sha384, Sha512};
use zeroize::Zeroizing;

use super::{OUTPUT_BYTES, Outputs};
use crate::error::{Error, Result};
use crate::primitive::group::{DecodeError, Group, P384, P521, Ristretto255, ScalarField};
use crate::security::Level;

/// Inputs that one processor hashes at a time.
const BATCH: usize = 256;

/// A group and a hash function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Suite {
    /// `ristretto255-SHA512` (section 4.1).
    Ristretto255,
    /// `P384-SHA384` (section 4.4).
    P384,
    /// `P521-SHA512` (section 4.5).
    P521,
}

/// A scalar of a suite's group for each of some inputs, or one for all.
pub(super) enum Scalars {
    Ristretto255(Vec<<Ristretto255 as ScalarField>::Scalar>),
    P384(Vec<<P384 as ScalarField>::Scalar>),
    P521(Vec<<P521 as ScalarField>::Scalar>),
}

/// A key's public part, made ready to be multiplied often.
pub(super) enum PublicKey {
    Ristretto255(<Ristretto255 as Group>::Base),
    P384(<P384 as Group>::Base),
    P521(<P521 as Group>::Base),
}

/// Runs `$work` with `$scalars` and their `$group`.
macro_rules! with {
    ($any:expr, |$group:ident, $scalars:ident| $work:expr) => {
        match $any {
            Scalars::Ristretto255($scalars) => {
                let $group = &Ristretto255;
                $work
            }
            Scalars::P384($scalars) => {
                let $group = &P384::new();
                $work
            }
            Scalars::P521($scalars) => {
                let $group = &P521::new();
                $work
            }
        }
    };
}

/// Matches as [`with`] does, with other scalars of the same suite for the result.
macro_rules! map {
    ($any:expr, |$group:ident, $scalars:ident| $work:expr) => {
        match $any {
            Scalars::Ristretto255($scalars) => {
                let $group = &Ristretto255;
                Scalars::Ristretto255($work)
            }
            Scalars::P384($scalars) => {
                let $group = &P384::new();
                Scalars::P384($work)
            }
            Scalars::P521($scalars) => {
                let $group = &P521::new();
                Scalars::P521($work)
            }
        }
    };
}

impl Suite {
    /// List of all suites.
    pub const ALL: [Suite; 3] = [Suite::Ristretto255, Suite::P384, Suite::P521];

    /// The suite of a level; none if there is none.
    pub fn of(level: Level) -> Option<Suite> {
        match level {
            Level::Bits128 => Some(Suite::Ristretto255),
            Level::Bits192 => Some(Suite::P384),
            Level::Bits256 => Some(Suite::P521),
            _ => None,
        }
    }

    /// Returns the name of the suite in the RFC.
    pub fn name(self) -> &'static str {
        match self {
            Suite::Ristretto255 => "ristretto255-SHA512",
            Suite::P384 => "P384-SHA384",
            Suite::P521 => "P521-SHA512",
        }
    }

    /// Length of an encoded group element, blinded or evaluated.
    pub fn element_bytes(self) -> usize {
        with!(&self.none(), |group, _none| group.point_bytes())
    }

    /// Length of an encoded [`Key`](super::OprfKey).
    pub fn key_bytes(self) -> usize {
        with!(&self.none(), |group, _none| group.scalar_bytes())
    }

    /// The encoded group element of each input. Fails if an input hashes to the identity; nobody can find one that
    /// does.
    pub fn hash_to_group<I: AsRef<[u8]> + Sync>(self, inputs: &[I]) -> Result<Vec<u8>> {
        self.none().hash_to_group(&slices(inputs))
    }

    /// A domain separation tag: a word, then `CreateContextString(modeOPRF, name)` of section 3.1.
    fn tag(self, word: &str) -> Vec<u8> {
        [word.as_bytes(), b"OPRFV1-\x00-", self.name().as_bytes()].concat()
    }

    fn points<G: Group>(self, group: &G, inputs: &[&[u8]]) -> Result<Vec<G::Point>> {
        let points = group.hash_to_points(inputs, &self.tag("HashToGroup-"));
        if group.any_identity(&points) {
            Err(Error::Internal("an input hashes to the identity".into()))
        } else {
            Ok(points)
        }
    }

    fn none(self) -> Scalars {
        match self {
            Suite::Ristretto255 => Scalars::Ristretto255(Vec::new()),
            Suite::P384 => Scalars::P384(Vec::new()),
            Suite::P521 => Scalars::P521(Vec::new()),
        }
    }

    /// Uniformly random ones, none of them zero.
    pub(super) fn random_scalars(self, count: usize, mut rng: &mut dyn CryptoRng) -> Scalars {
        map!(self.none(), |group, _none| group.random_scalars(count, &mut rng))
    }

    /// The one that a message hashes to; none for zero.
    pub(super) fn hash_to_scalar(self, message: &[u8]) -> Option<Scalars> {
        let tag = self.tag("DeriveKeyPair");
        Some(map!(self.none(), |group, _none| vec![group.hash_to_scalar(message, &tag)?]))
    }

    /// The one that `bytes` canonically encode, if it is not zero.
    pub(super) fn decode_scalar(self, bytes: &[u8]) -> Option<Scalars> {
        Some(map!(self.none(), |group, _none| vec![group.decode_scalar(bytes)?]))
    }

    /// The public part that `bytes` canonically encode: one element other than the identity.
    pub(super) fn decode_public_key(self, bytes: &[u8]) -> std::result::Result<PublicKey, DecodeError> {
        if bytes.len() != self.element_bytes() {
            return Err(DecodeError::Length);
        }
        Ok(match self {
            Suite::Ristretto255 => PublicKey::Ristretto255(decode_base(&Ristretto255, bytes)?),
            Suite::P384 => PublicKey::P384(decode_base(&P384::new(), bytes)?),
            Suite::P521 => PublicKey::P521(decode_base(&P521::new(), bytes)?),
        })
    }

    /// The last step of `Finalize` and `Evaluate` (section 3.3.1).
    pub(super) fn finalize<I: AsRef<[u8]> + Sync>(self, inputs: &[I], elements: &[u8]) -> Outputs {
        match self {
            Suite::Ristretto255 | Suite::P521 => self.hash::<Sha512, I>(inputs, elements),
            Suite::P384 => self.hash::<Sha384, I>(inputs, elements),
        }
    }

    fn hash<D: Digest, I: AsRef<[u8]> + Sync>(self, inputs: &[I], elements: &[u8]) -> Outputs {
        let length = self.element_bytes();
        let hash = |(input, element): (&I, &[u8])| {
            let input = input.as_ref();
            let hasher = D::new()
                .chain_update(u16::try_from(input.len()).expect("inputs have at most 65,535 bytes").to_be_bytes())
                .chain_update(input)
                .chain_update((length as u16).to_be_bytes())
                .chain_update(element)
                .chain_update(b"Finalize");
            let mut output = [0; OUTPUT_BYTES];
            output[..<D as Digest>::output_size()].copy_from_slice(&hasher.finalize());
            output
        };
        let outputs = inputs.par_iter().zip(elements.par_chunks(length)).with_min_len(BATCH).map(hash);
        Zeroizing::new(outputs.collect())
    }
}

impl Scalars {
    pub(super) fn suite(&self) -> Suite {
        match self {
            Scalars::Ristretto255(_) => Suite::Ristretto255,
            Scalars::P384(_) => Suite::P384,
            Scalars::P521(_) => Suite::P521,
        }
    }

    pub(super) fn len(&self) -> usize {
        with!(self, |_group, scalars| scalars.len())
    }

    pub(super) fn invert(&self) -> Scalars {
        map!(self, |group, scalars| group.invert(scalars))
    }

    /// The encodings of all, one after the other.
    pub(super) fn encode(&self) -> Zeroizing<Vec<u8>> {
        with!(self, |group, scalars| {
            let mut encoded = Zeroizing::new(Vec::with_capacity(scalars.len() * group.scalar_bytes()));
            scalars.iter().for_each(|scalar| encoded.extend_from_slice(&group.encode_scalar(scalar)));
            encoded
        })
    }

    fn hash_to_group(&self, inputs: &[&[u8]]) -> Result<Vec<u8>> {
        with!(self, |group, _scalars| Ok(group.encode(&self.suite().points(group, inputs)?)))
    }

    /// The encoding of the element of each input times its scalar, or times the only one.
    pub(super) fn times_hashes(&self, inputs: &[&[u8]]) -> Result<Vec<u8>> {
        with!(self, |group, scalars| {
            let points = self.suite().points(group, inputs)?;
            Ok(times(group, scalars, &points))
        })
    }

    /// The encoding of each encoded element times its scalar, or times the only one.
    pub(super) fn times_elements(&self, elements: &[u8]) -> std::result::Result<Vec<u8>, DecodeError> {
        with!(self, |group, scalars| Ok(times(group, scalars, &group.decode(elements)?)))
    }

    /// The encoding of each scalar times the generator.
    pub(super) fn times_generator(&self) -> Vec<u8> {
        with!(self, |group, scalars| group.encode(&group.multiply_generator(scalars)))
    }

    /// The encoding of the element of each input plus its scalar times the generator. Fails if one is the identity.
    pub(super) fn plus_hashes(&self, inputs: &[&[u8]]) -> Result<Vec<u8>> {
        with!(self, |group, scalars| {
            let points = Zeroizing::new(self.suite().points(group, inputs)?);
            let sums = group.add(&points, &group.multiply_generator(scalars));
            if group.any_identity(&sums) {
                return Err(Error::Internal("a blinded element is the identity".into()));
            }
            Ok(group.encode(&sums))
        })
    }

    /// The encoding of each encoded element minus its scalar times the public key, which must be of this suite.
    pub(super) fn times_key_off(&self, key: &PublicKey, elements: &[u8]) -> std::result::Result<Vec<u8>, DecodeError> {
        match (self, key) {
            (Scalars::Ristretto255(scalars), PublicKey::Ristretto255(key)) => {
                off(&Ristretto255, scalars, key, elements)
            }
            (Scalars::P384(scalars), PublicKey::P384(key)) => off(&P384::new(), scalars, key, elements),
            (Scalars::P521(scalars), PublicKey::P521(key)) => off(&P521::new(), scalars, key, elements),
            _ => panic!("blinds and key have one suite"),
        }
    }
}

fn decode_base<G: Group>(group: &G, bytes: &[u8]) -> std::result::Result<G::Base, DecodeError> {
    let points = group.decode(bytes)?;
    points.first().map(|point| group.base(point)).ok_or(DecodeError::Length)
}

/// The inputs as what all of them are. What comes behind is compiled here once, and not again, and differently,
/// wherever other inputs are.
pub(super) fn slices<I: AsRef<[u8]>>(inputs: &[I]) -> Vec<&[u8]> {
    inputs.iter().map(AsRef::as_ref).collect()
}

fn times<G: Group>(group: &G, scalars: &[G::Scalar], points: &[G::Point]) -> Vec<u8> {
    match scalars {
        [scalar] => group.multiply_encode(points, scalar),
        _ => group.multiply_each_encode(points, scalars),
    }
}

fn off<G: Group>(
    group: &G,
    scalars: &[G::Scalar],
    key: &G::Base,
    elements: &[u8],
) -> std::result::Result<Vec<u8>, DecodeError> {
    let points = group.decode(elements)?;
    Ok(group.encode(&group.subtract(&points, &group.multiply_base(key, scalars))))
}
