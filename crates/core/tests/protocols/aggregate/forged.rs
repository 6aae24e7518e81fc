//! A participant with a program of its own: it encrypts what it likes, and proves what it can. What it has to know of
//! the protocol is written down here once more.

use tacita_core::primitive::elgamal::known::{self, Opening};
use tacita_core::primitive::elgamal::masks;
use tacita_core::primitive::group::{Embedding, Group, Point, Ristretto255, ScalarField};
use tacita_core::session::Transcript;

use crate::aggregate::round::*;

pub type Scalar = <Ristretto255 as ScalarField>::Scalar;

pub const GROUP: Ristretto255 = Ristretto255;

/// Contents of a report.
pub struct Forged<'a> {
    /// Participant as which the report is sent, with its number and its round.
    pub participant: &'a str,
    pub number: u64,
    pub round: &'a str,
    /// Point in the place of H(k).
    pub row: Point,
    /// The value's scalar, one more than its place.
    pub value: u64,
    /// Points in the place of the embedded key.
    pub key: Vec<Point>,
}

pub fn one(points: Vec<Point>) -> Point {
    points.into_iter().next().unwrap()
}

pub fn times(point: &Point, scalar: &Scalar) -> Point {
    one(GROUP.multiply(std::slice::from_ref(point), scalar))
}

pub fn plus(a: &Point, b: &Point) -> Point {
    one(GROUP.add(std::slice::from_ref(a), std::slice::from_ref(b)))
}

pub fn encoded(point: &Point) -> Vec<u8> {
    GROUP.encode(std::slice::from_ref(point))
}

/// Returns the public keys B and P.
pub fn keys(round: &Round) -> [Point; 2] {
    [&round.public.0, &round.public.1].map(|public| one(GROUP.decode(&public[..32]).unwrap()))
}

/// A key as it is embedded.
fn padded(round: &Round, key: &[u8]) -> Vec<u8> {
    let mut padded = key.to_vec();
    padded.resize(16 * round.params.key_points(), 0);
    padded
}

/// Computes the point H(k).
pub fn hashed(round: &Round, key: &[u8]) -> Point {
    let message = [&session("one").derive("aggregate row")[..], &padded(round, key)].concat();
    one(GROUP.hash_to_points(&[message], b"tacita 1 aggregate row"))
}

pub fn embedded(round: &Round, key: &[u8]) -> Vec<Point> {
    GROUP.embed(&padded(round, key))
}

impl<'a> Forged<'a> {
    /// Returns the contents of an honest report of a pair.
    pub fn honest(round: &Round, participant: &'a str, key: &[u8], place: u64) -> Forged<'a> {
        let (row, key) = (hashed(round, key), embedded(round, key));
        Forged { participant, number: 0, round: "one", row, value: place + 1, key }
    }

    /// Returns the bytes of the report, and the masks of its ciphertexts: of the row, the value and the key.
    pub fn make(&self, round: &mut Round) -> (Vec<u8>, Vec<Scalar>) {
        let (mut bytes, masks) = self.ciphertexts(round);
        self.prove(round, &mut bytes, &masks);
        (bytes, masks)
    }

    /// Returns the ciphertexts of the report, and their masks.
    pub fn ciphertexts(&self, round: &mut Round) -> (Vec<u8>, Vec<Scalar>) {
        let [b, p] = keys(round);
        let masks = GROUP.random_scalars(2 + self.key.len(), &mut round.rng);
        let encrypt = |key: &Point, plain: &Point, mask: &Scalar| {
            let first = one(GROUP.multiply_generator(std::slice::from_ref(mask)));
            GROUP.encode(&[first, plus(plain, &times(key, mask))])
        };
        let value = one(GROUP.multiply_generator(&[GROUP.scalar(self.value)]));
        let mut bytes = encrypt(&b, &self.row, &masks[0]);
        if round.params.has_values() {
            bytes.extend(encrypt(&b, &value, &masks[1]));
        }
        for (piece, mask) in self.key.iter().zip(&masks[2..]) {
            bytes.extend(encrypt(&plus(&b, &p), piece, mask));
        }
        (bytes, masks)
    }

    /// Adds proofs to ciphertexts of which these are the masks.
    pub fn prove(&self, round: &mut Round, bytes: &mut Vec<u8>, masks: &[Scalar]) {
        let context = self.context(round, bytes);
        if round.params.has_values() {
            let (b, opening) = (&keys(round)[0], Opening { scalar: GROUP.scalar(self.value), mask: masks[1].clone() });
            bytes.extend(known::prove(&GROUP, &GROUP.base(b), &[opening], |_| context.clone(), &mut round.rng));
        }
        let others: Vec<&[Scalar]> = [&masks[..1]].into_iter().chain(masks[2..].chunks(1)).collect();
        bytes.extend(masks::prove(&GROUP, 1, &others, |_| context.clone(), &mut round.rng));
    }

    /// Context to which the report's proofs are bound.
    pub fn context(&self, round: &Round, ciphertexts: &[u8]) -> Transcript {
        let mut transcript = Transcript::new("aggregate");
        transcript.append("round", session(self.round).id()).append("purpose", b"report");
        let params = &round.params;
        for number in [params.key_bytes() as u64, u64::from(params.values()), u64::from(params.distinct())] {
            transcript.append("agreed", &number.to_le_bytes());
        }
        transcript.append("keys", &[&round.public.0[..32], &round.public.1[..32]].concat());
        transcript.append("participant", self.participant.as_bytes());
        transcript.append("number", &self.number.to_le_bytes()).append("ciphertexts", ciphertexts);
        transcript
    }
}
