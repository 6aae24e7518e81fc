//! Names under which the proxies of a round claim batches.

use tacita_core::protocol::aggregate::Params;
use tacita_node::identity::Fingerprint;
use zeroize::Zeroizing;

use crate::secret::Secret;
use crate::wire::batch::{BatchId, ClaimId};

/// Key that determines the names of a round's claims: the same at all proxies.
pub(super) struct ClaimKey(Zeroizing<[u8; 32]>);

impl ClaimKey {
    /// Derives the key of a round with these secrets.
    pub(super) fn new(params: &Params, secret: &Secret) -> ClaimKey {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 aggregate claims");
        hasher.update(&secret.to_bytes(params));
        ClaimKey(Zeroizing::new(*hasher.finalize().as_bytes()))
    }

    /// The name under which a participant's batch is claimed: the same at all proxies, whatever their lists call the
    /// participant.
    pub(super) fn name(&self, participant: &Fingerprint, batch: &BatchId) -> ClaimId {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&participant.0).update(batch);
        let mut name = ClaimId::default();
        name.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proxies all have the secrets of a round, and name claims alike; the database does not, and cannot.
    #[test]
    fn names_of_claims_follow_from_the_secrets_of_the_round() {
        let (setting, _) = crate::testing::setting();
        let (params, mut rng) = (setting.params("r").unwrap(), tacita_node::base::random::fresh_rng().unwrap());
        let [one, other] = [0; 2].map(|_| Secret::generate(&setting, &params, &mut rng));
        let again = Secret::from_bytes(&setting, &params, &one.to_bytes(&params)).unwrap();
        let [one, other, again] =
            [one, other, again].map(|secret| ClaimKey::new(&params, &secret).name(&Fingerprint([8; 32]), &[1; 16]));
        assert!(one == again && one != other);
    }

    #[test]
    fn names_of_claims_are_those_of_a_batch_and_its_participant() {
        let [one, other] = [1, 2].map(|byte| ClaimKey(Zeroizing::new([byte; 32])));
        let [a, b] = [8, 9].map(|byte| Fingerprint([byte; 32]));
        let name = one.name(&a, &[1; 16]);
        assert_eq!(name, ClaimKey(Zeroizing::new([1; 32])).name(&a, &[1; 16]));
        for another in [one.name(&b, &[1; 16]), one.name(&a, &[2; 16]), other.name(&a, &[1; 16])] {
            assert_ne!(name, another);
        }
    }
}
