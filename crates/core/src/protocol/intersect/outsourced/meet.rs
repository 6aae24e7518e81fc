//! Parties meet: each tells its keys, and from what all have told follow the session, the joint key, and keys between
//! any two.

use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use super::Met;
use crate::depot::{Depot, DepotParty, Post, PostKeys};
use crate::error::{Error, Result};
use crate::primitive::elgamal::threshold::{Culprit, KeyShare, VerificationKey, joint_key};
use crate::primitive::group::Group;
use crate::primitive::proof::Proof;
use crate::session::{Session, Transcript};

/// Random bytes by which no two runs are alike.
const NONCE_BYTES: usize = 32;

/// Length of what a party tells: its share's public key with the proof that it knows the share, a key for parcels to
/// it, and a nonce.
pub fn announcement_bytes<G: Group>(group: &G) -> usize {
    2 * group.point_bytes() + Proof::bytes(group, 1, 1) + NONCE_BYTES
}

/// Meets the others. `terms` is what the run is bound to besides: job, agreement, parties. What a party tells is under
/// its identity ([`Depot::announce`]), so that a helper can pass no key off as another's.
///
/// Errors: [`Error::Protocol`] by the name of whoever tells what is no key, or cannot prove that it knows its share.
pub fn meet<'a, G: Group + Sync, D: Depot>(
    group: &G,
    me: usize,
    parties: usize,
    terms: &Transcript,
    depot: &'a D,
    rng: &mut impl CryptoRng,
) -> Result<(Met<G>, Post<'a, D>)> {
    let share = KeyShare::generate(group, rng);
    let parcels: G::Scalar = group.random_scalars(1, rng).remove(0);
    let own_parcels = group.multiply_generator(std::slice::from_ref(&parcels));
    let mut nonce = [0; NONCE_BYTES];
    rng.fill_bytes(&mut nonce);
    let mut own = share.verification_key(group).to_bytes(group);
    own.extend_from_slice(&share.prove_possession(group, me, terms, rng).encode(group));
    own.extend_from_slice(&group.encode(&own_parcels));
    own.extend_from_slice(&nonce);

    let all = depot.announce(own.clone())?;
    let name = |place: usize| depot.name(DepotParty::Party(place as u8));
    let broken = |place: usize, check: &str| Error::Protocol { peer: name(place), check: check.into() };
    if all.len() != parties || all.get(me) != Some(&own) {
        let peer = depot.name(DepotParty::Helper);
        return Err(Error::Protocol { peer, check: "it does not pass on what all have told".into() });
    }
    let mut session = terms.clone();
    let mut told = Vec::with_capacity(parties);
    for (place, bytes) in all.iter().enumerate() {
        session.append("announcement", bytes);
        told.push(Announcement::read(group, bytes).ok_or_else(|| broken(place, "what it tells holds no keys"))?);
    }
    let (keys, proofs): (Vec<_>, Vec<_>) = told.iter().map(|told| (told.key.clone(), told.proof.clone())).unzip();
    let joint = joint_key(group, &keys, &proofs, terms, rng)
        .map_err(|Culprit(place)| broken(place, "it does not know the share whose public key it tells"))?;
    let session = Session::new(session);
    let between = |(place, told): (usize, Announcement<G>)| {
        let mut common = group.encode(&group.multiply(&[told.parcels], &parcels));
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 post between two");
        hasher.update(session.id()).update(&[me.min(place) as u8, me.max(place) as u8]).update(&common);
        common.zeroize();
        Zeroizing::new(*hasher.finalize().as_bytes())
    };
    let between = told.into_iter().enumerate().map(between).collect();
    let post = Post::new(depot, me, PostKeys::new(between));
    Ok((Met { session, share, keys, joint }, post))
}

/// Values that a party has announced.
struct Announcement<G: Group> {
    key: VerificationKey<G>,
    proof: Proof<G>,
    parcels: G::Point,
}

impl<G: Group> Announcement<G> {
    fn read(group: &G, bytes: &[u8]) -> Option<Announcement<G>> {
        if bytes.len() != announcement_bytes(group) {
            return None;
        }
        let (key, rest) = bytes.split_at(group.point_bytes());
        let (proof, rest) = rest.split_at(Proof::bytes(group, 1, 1));
        let (parcels, _) = rest.split_at(group.point_bytes());
        Some(Announcement {
            key: VerificationKey::from_bytes(group, key).ok()?,
            proof: Proof::decode(group, proof, 1, 1)?,
            parcels: group.decode(parcels).ok()?.pop()?,
        })
    }
}
