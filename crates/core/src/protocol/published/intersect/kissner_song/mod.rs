//! `kissner-song`: intersection among any number of parties as the roots of a sum of encrypted polynomials.
//!
//! After Kissner & Song, "Privacy-Preserving Set Operations" (CRYPTO 2005; steps are those of Set-Intersection-HBC in
//! CMU-CS-05-113), for honest-but-curious parties of whom any n - 1 may pool what they see, under exponential ElGamal
//! with a key that all parties share ([`threshold`](crate::primitive::elgamal::threshold)), as Miyaji, Nakasho &
//! Nishida, "Privacy-Preserving Integration of Medical Data" (2017), compare their own protocol with it. Between two
//! parties, with one key of the receiver's, it is [`polynomial`](super::polynomial), of which the arithmetic is.
//!
//! 1. Every party i makes the polynomial f_i that has its items as roots, filled up with random ones to the agreed number w, and tells
//!    all others its coefficients, encrypted. It multiplies each party's polynomial f_j by a polynomial r_ij of its own, of degree w
//!    and uniformly random, and adds the products up.
//! 2. and 3. From one party to the next these sums are added up.
//! 4. The last one tells all others p, the sum over all j of f_j times the sum over all i of r_ij.
//! 5. All decrypt p for those who learn, and these look which of their items are roots.
//!
//! The coefficients of p come out as multiples of the generator, which is enough: p is evaluated "in the exponent".
//!
//! What is opened is a uniformly random multiple, of degree 2w, of the polynomial whose roots all parties have (lemma 2
//! in the paper, and a proof in `docs/protocols/kissner-song.md`); as points it tells no more than as numbers. It stays
//! one when all but one party take away what they have added themselves, because that one has multiplied *every*
//! party's polynomial by random ones. So those who learn, with any others, learn which of their items all parties have;
//! others learn nothing. Everybody knows w, and nobody how many items another has.
//!
//! A fresh encryption of zero is in everything that leaves a party: it adds the product of its own polynomial as fresh
//! ciphertexts. Without, those who know the randomness of their own polynomials could divide by it.
//!
//! Semi-honest parties only: nothing proves that products are those of one polynomial with a random one. Keys and
//! decryptions are proved all the same, so that whoever gets them wrong is named.

mod decryption;
mod keys;
mod params;
mod product;
#[cfg(test)]
mod tests;

use std::iter;
use std::slice;

use rand_core::CryptoRng;

use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::item::Item;
use crate::primitive::elgamal::threshold::Culprit;
use crate::primitive::group::Group;
use crate::primitive::published::polynomial::Points;
use crate::protocol::intersect::tag_exchange::items::{Padded, check_count, fork};
use crate::protocol::published::intersect::polynomial::bins::root;
use crate::protocol::published::intersect::polynomial::form::Form;
use crate::session::{Session, Transcript};

pub use crate::primitive::elgamal::threshold::PartyOrder;
pub use crate::protocol::published::intersect::polynomial::Strategy;
pub use crate::protocol::published::labels::kissner_song::{KEY, PARTIAL, POLYNOMIAL, SUM, WHOLE};
pub use params::Params;

/// A party of a run.
#[derive(Clone, Copy)]
pub struct KissnerSongParty<'a> {
    /// Place of this party.
    pub me: usize,
    /// Items of this party: distinct, and made with a key of the run's session.
    pub items: &'a [Item],
    /// Parameters that all parties have agreed on.
    pub params: &'a Params,
    /// The session of the run, which all parties have.
    pub session: &'a Session,
}

/// Runs the part of a party. `channels` are those to all others, by place. Returns the indices of its items that all
/// have, ascending, if it learns.
///
/// Errors: the group has no roots of unity for [`Strategy::Fft`]; a peer breaks the protocol, or a connection fails;
/// all have then ended.
pub fn run<G: Group + Sync>(
    group: &G,
    party: KissnerSongParty<'_>,
    channels: &mut [Channel],
    rng: &mut impl CryptoRng,
) -> Result<Option<Vec<usize>>> {
    party.check(group, channels)?;
    let KissnerSongParty { me, items, params, .. } = party;
    if params.bound == 0 {
        // Nothing is common, as all know.
        return Ok(params.learners.contains(&me).then(Vec::new));
    }
    let mut rng = fork(rng);
    let all = Padded::new(items, &mut rng).range(&(0..params.bound));
    let roots: Vec<G::Scalar> = all.iter().map(|item| root(group, item)).collect();
    // 1c. A polynomial for each party, also for itself.
    let factors: Vec<Vec<G::Scalar>> =
        (0..params.parties).map(|_| group.random_scalars(params.bound + 1, &mut rng)).collect();
    let opened = open(group, &party, &roots, &factors, channels, &mut rng)?;
    Ok(opened.map(|opened| party.common(group, &opened, &roots)))
}

/// Steps 1 to 5 with these roots and factors: p times the generator, coefficient by coefficient or at points, if the
/// party learns.
fn open<G: Group + Sync>(
    group: &G,
    party: &KissnerSongParty<'_>,
    roots: &[G::Scalar],
    factors: &[Vec<G::Scalar>],
    channels: &mut [Channel],
    rng: &mut (impl CryptoRng + Send),
) -> Result<Option<Vec<G::Point>>> {
    let keys = keys::agree(group, party, channels, rng)?;
    let product = product::of_all(group, party, &keys, roots, factors, channels, rng)?;
    decryption::open(group, party, &keys, &product, channels, rng)
}

impl KissnerSongParty<'_> {
    /// Refuses what does not fit what was agreed on.
    fn check<G: Group>(&self, group: &G, channels: &[Channel]) -> Result<()> {
        self.params.check(group)?;
        check_count(self.items, self.params.bound)?;
        if self.me < self.params.parties && channels.len() == self.params.parties - 1 {
            Ok(())
        } else {
            Err(Error::Internal("kissner-song: not a channel to each other party".into()))
        }
    }

    /// Returns the form in which polynomials travel and are multiplied.
    fn form<G: Group + Sync>(&self, group: &G) -> Form<G> {
        Form::of(group, self.params.strategy, self.params.opened(), true)
    }

    /// The items that are roots of what was opened. It is evaluated at dummies too, so that time does not tell how many
    /// there are.
    fn common<G: Group + Sync>(&self, group: &G, opened: &[G::Point], roots: &[G::Scalar]) -> Vec<usize> {
        let values = self.form(group).evaluate(&Points(group), opened, roots, &|_| ());
        let is_root = |&item: &usize| group.any_identity(slice::from_ref(&values[item]));
        (0..self.items.len()).filter(is_root).collect()
    }

    /// The places of all others, in the order of their channels.
    fn others(&self) -> impl Iterator<Item = usize> + Clone {
        let me = self.me;
        (0..self.params.parties).filter(move |place| *place != me)
    }

    /// For each channel what `state` says of the party at its other end.
    fn of_others<S>(&self, state: impl FnMut(usize) -> S) -> Vec<S> {
        self.others().map(state).collect()
    }

    /// Returns the values of all places: `own` for this party, and for the others the values from their channels.
    fn with_own<T>(&self, own: T, others: Vec<T>) -> Vec<T> {
        let mut all = others;
        all.insert(self.me, own);
        all
    }

    /// Transcript to which proofs are bound.
    fn transcript(&self) -> Transcript {
        let mut transcript = Transcript::new("kissner-song");
        transcript.append("session", self.session.id());
        transcript.append("parties", &(self.params.parties as u64).to_le_bytes());
        transcript
    }

    /// Names who has failed `check`, or those who may have: the party that shows, and whoever has told it what it
    /// builds on.
    fn blames(&self, Culprit(place): Culprit, told_by: &[usize], channels: &[Channel], check: &str) -> Error {
        match self.suspects(place, told_by, channels) {
            None => Error::Internal(format!("kissner-song: an own message fails: {check}")),
            Some(peer) => Error::Protocol { peer, check: check.to_owned() },
        }
    }

    /// Names these parties, without this one, as the beginning of a sentence.
    fn suspects(&self, place: usize, told_by: &[usize], channels: &[Channel]) -> Option<String> {
        let peers: Vec<usize> = self.others().collect();
        let suspects = iter::once(&place).chain(told_by).filter_map(|place| peers.binary_search(place).ok());
        let names: Vec<&str> = suspects.map(|channel| channels[channel].peer()).collect();
        match names[..] {
            [] => None,
            [name] => Some(name.to_owned()),
            _ => Some(format!("{},", names.join(", or "))),
        }
    }
}
