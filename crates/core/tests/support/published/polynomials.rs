//! A receiver of encrypted polynomials that follows the protocol, and keeps all that it could use later.

use tacita_core::channel::Channel;
use tacita_core::primitive::elgamal::{self, ElGamalSecretKey};
use tacita_core::primitive::group::{Group, Ristretto255, ScalarField};
use tacita_core::primitive::published::polynomial::{self, Module, Points, expand};
use tacita_core::protocol::published::intersect::polynomial::{ANSWERS, POLYNOMIALS, PUBLIC_KEY};
use tacita_core::{Item, Result};

use crate::support::rng;

pub const GROUP: Ristretto255 = Ristretto255;
pub const STRATEGY: polynomial::MultiplyStrategy = polynomial::MultiplyStrategy::Schoolbook;

pub type Scalar = <Ristretto255 as ScalarField>::Scalar;
pub type Point = <Ristretto255 as Group>::Point;

/// The root that stands for an item.
pub fn root(item: &Item) -> Scalar {
    GROUP.hash_to_scalar(&item.0, b"tacita 1 polynomial root").unwrap()
}

/// The polynomial that has items as roots.
pub fn polynomial_of(items: &[Item]) -> Vec<Scalar> {
    expand(&GROUP, STRATEGY, &items.iter().map(root).collect::<Vec<_>>())
}

/// Data of a receiver that follows the protocol, and remembers its randomness: that as a polynomial, φ, and the
/// sender's answers: their first halves, and what is in them.
pub struct Receiver {
    pub randomness: Vec<Scalar>,
    pub phi: Vec<Scalar>,
    pub firsts: Vec<Point>,
    pub opened: Vec<Point>,
}

/// Asks a sender with the items `mine`, all in one bin, by coefficients.
pub fn ask(mine: &[Item], sender: impl FnOnce(&mut Channel) -> Result<()> + Send, answers: usize) -> Receiver {
    let phi = polynomial_of(mine);
    // As `ElGamalSecretKey::encrypt` draws it.
    let mut randomness = GROUP.random_scalars(mine.len(), &mut rng(2));
    randomness.push(GROUP.scalar(0));
    let [firsts, opened] = ask_for(&phi[..mine.len()], sender, answers);
    Receiver { randomness, phi, firsts, opened }
}

/// Sends these coefficients, of the polynomials of all bins: the first halves of what comes back, and what is in it.
pub fn ask_for(
    coefficients: &[Scalar],
    sender: impl FnOnce(&mut Channel) -> Result<()> + Send,
    answers: usize,
) -> [Vec<Point>; 2] {
    let secret = ElGamalSecretKey::generate(&GROUP, &mut rng(1));
    let encrypted = secret.encrypt(&GROUP, coefficients, &mut rng(2));
    let (channel, mut other) = Channel::pair("sender", "receiver");
    let bytes = std::thread::scope(|scope| {
        // The receiver leaves as soon as it has the answers, whatever else the sender has to say.
        let mut channel = channel;
        scope.spawn(move || sender(&mut other).map(|()| other));
        channel.send(PUBLIC_KEY, secret.public(&GROUP).to_bytes(&GROUP)).unwrap();
        channel.send(POLYNOMIALS, elgamal::encode(&GROUP, &encrypted)).unwrap();
        channel.receive(ANSWERS, answers * 64).unwrap()
    });
    // A weakened sender may send what nobody should: zeros, which are the identity.
    let point = |bytes: &[u8]| {
        if bytes.iter().all(|byte| *byte == 0) { Points(&GROUP).zero() } else { GROUP.decode(bytes).unwrap().remove(0) }
    };
    let answers: Vec<_> = bytes.chunks(64).map(|pair| [point(&pair[..32]), point(&pair[32..])]).collect();
    [answers.iter().map(|[first, _]| first.clone()).collect(), secret.decrypt(&GROUP, &answers)]
}
