//! The key of which every party has a share.

use rand_core::CryptoRng;

use super::{KEY, KissnerSongParty};
use crate::channel::{Channel, each};
use crate::error::Result;
use crate::primitive::elgamal::ElGamalPublicKey;
use crate::primitive::elgamal::threshold::{KeyShare, VerificationKey, joint_key};
use crate::primitive::group::Group;
use crate::primitive::proof::Proof;
use crate::session::Transcript;

/// A party's share, and what all know.
pub(super) struct Keys<G: Group> {
    pub share: KeyShare<G>,
    /// Joint public key under which all parties encrypt.
    pub joint: ElGamalPublicKey<G>,
    /// Every party's, by place.
    pub of_parties: Vec<VerificationKey<G>>,
    /// Session and keys, to which decryptions are bound.
    pub transcript: Transcript,
}

/// Every party tells all others its key, with a proof that it knows its share: or the last to speak could choose the
/// joint one.
pub(super) fn agree<G: Group + Sync>(
    group: &G,
    party: &KissnerSongParty<'_>,
    channels: &mut [Channel],
    rng: &mut impl CryptoRng,
) -> Result<Keys<G>> {
    let mut transcript = party.transcript();
    let share = KeyShare::generate(group, rng);
    let own = (share.verification_key(group), share.prove_possession(group, party.me, &transcript, rng));
    let message = [own.0.to_bytes(group), own.1.encode(group)].concat();
    let told = each(channels, party.of_others(|_| ()), |(), channel| {
        let bytes = channel.exchange(KEY, message.clone(), message.len())?;
        decode(group, &bytes).map_err(|what| channel.violation(format!("`{}` {what}", KEY.name)))
    })?;
    let (of_parties, proofs): (Vec<_>, Vec<_>) = party.with_own(own, told).into_iter().unzip();
    let joint = joint_key(group, &of_parties, &proofs, &transcript, rng)
        .map_err(|culprit| party.blames(culprit, &[], channels, "it does not prove that it knows its key"))?;
    for key in &of_parties {
        transcript.append("key", &key.to_bytes(group));
    }
    Ok(Keys { share, joint, of_parties, transcript })
}

fn decode<G: Group>(group: &G, bytes: &[u8]) -> std::result::Result<(VerificationKey<G>, Proof<G>), String> {
    let (key, proof) = bytes.split_at_checked(group.point_bytes()).ok_or("is too short")?;
    let key = VerificationKey::from_bytes(group, key).map_err(|error| error.to_string())?;
    let proof = Proof::decode(group, proof, 1, 1).ok_or("holds no proof")?;
    Ok((key, proof))
}
