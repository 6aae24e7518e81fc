//! Transport of ciphertexts as messages.

use super::params::frames;
use crate::channel::{Incoming, Label, Outgoing};
use crate::error::Result;
use crate::primitive::elgamal::{self, Ciphertext, ElGamalPublicKey};
use crate::primitive::group::Group;

/// Sends ciphertexts, in as many messages as they take.
pub(in crate::protocol) fn send<G: Group>(
    group: &G,
    label: Label,
    ciphertexts: &[Ciphertext<G>],
    outgoing: &mut Outgoing,
) -> Result<()> {
    for range in frames(ciphertexts.len(), 2 * group.point_bytes()) {
        outgoing.send(label, elgamal::encode(group, &ciphertexts[range]))?;
    }
    Ok(())
}

/// Receives `count` ciphertexts, and takes memory as they arrive.
pub(in crate::protocol) fn receive<G: Group>(
    group: &G,
    label: Label,
    count: usize,
    incoming: &mut Incoming,
) -> Result<Vec<Ciphertext<G>>> {
    let mut ciphertexts = Vec::new();
    let length = 2 * group.point_bytes();
    for range in frames(count, length) {
        let bytes = incoming.receive(label, range.len() * length)?;
        let decoded = elgamal::decode(group, &bytes);
        ciphertexts.extend(decoded.map_err(|error| incoming.violation(format!("`{}` {error}", label.name)))?);
    }
    Ok(ciphertexts)
}

/// Receives a public key.
pub(in crate::protocol) fn receive_key<G: Group + Sync>(
    group: &G,
    label: Label,
    incoming: &mut Incoming,
) -> Result<ElGamalPublicKey<G>> {
    let bytes = incoming.receive(label, group.point_bytes())?;
    ElGamalPublicKey::from_bytes(group, &bytes).map_err(|error| incoming.violation(format!("`{}` {error}", label.name)))
}
