//! A report counts once, whichever proxies it was given to.
//!
//! A participant gives a batch to one proxy, and where that is silent to another; the batch has the same name there. So two may have it, and
//! before a proxy shuffles, it claims the batches that it has at the database, which gives each to the proxy that asks for it first, and for good.
//! What is another's is dropped, and what conditions there are for a shuffle is looked at afterwards. Why a batch that was acknowledged leaves
//! exactly once, whatever is killed when:
//!
//! * It is on a proxy's disk before it is acknowledged, and only what is on its disk a proxy claims. So whoever owns a batch has it.
//! * A proxy drops what another one owns, and nothing else; it shuffles what it owns, and nothing else. So a batch that anybody has leaves from its
//!   owner, and nowhere else; from there once (`queue`).
//! * The database counts no round before all proxies have sent what they own of it.
//!
//! | a proxy is killed | what becomes of the batch |
//! |---|---|
//! | before it has stored it | it is not there, and the participant gives it to another one |
//! | when it has stored it, and not acknowledged | two have it: the first to claim it owns it |
//! | after it has acknowledged; the participant had given up, and asked another one | the same |
//! | when the database has noted the claim, and the answer is lost | it claims it again, and is told that it is its own |
//! | when it was told, and has not dropped what is another's | it claims all that waits again, and is told the same |
//! | when it has dropped it | its mark says that it is there, and leaves elsewhere |
//! | when it shuffles | what waits is claimed again; it is its own |
//!
//! What is taken between a claim and its shuffle is not claimed, and waits for the next one. When a round has closed nothing more is taken, and
//! all is claimed.
//!
//! Claims are named by a hash under a key that the proxies have and the database does not, and brought in the order of their names. The database
//! learns how many batches a proxy has, and how many of them two have; not whose they are, nor which are of one participant.

use tacita_core::protocol::aggregate::Params;
use tacita_core::{Error, Result};
use tacita_node::base::text::counted;
use tacita_node::identity::Fingerprint;
use zeroize::Zeroizing;

use super::Proxy;
use super::house::{TURN, refusal, wrong};
use super::round::Round;
use crate::queue::MarkKey;
use crate::secret::Secret;
use crate::transport::Ask;
use crate::wire::batch::{BatchId, ClaimId};
use crate::wire::claims::{MOST_CLAIMS, decode_answers};

/// What claims of a round are named by: the same at all proxies.
pub(super) struct ClaimKey(Zeroizing<[u8; 32]>);

impl ClaimKey {
    /// That of a round with these secrets.
    pub(super) fn new(params: &Params, secret: &Secret) -> ClaimKey {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 aggregate claims");
        hasher.update(&secret.to_bytes(params));
        ClaimKey(Zeroizing::new(*hasher.finalize().as_bytes()))
    }

    /// The name under which a participant's batch is claimed: the same at all proxies, whatever their lists call the participant.
    pub(super) fn name(&self, participant: &Fingerprint, batch: &BatchId) -> ClaimId {
        let mut hasher = blake3::Hasher::new_keyed(&self.0);
        hasher.update(&participant.0).update(batch);
        let mut name = ClaimId::default();
        name.copy_from_slice(&hasher.finalize().as_bytes()[..16]);
        name
    }
}

impl Proxy {
    /// Claims what waits, where there are other proxies, and drops what is another's.
    ///
    /// Errors: the database does not answer, or not what it has to; those of the queue.
    pub(super) fn claim(&self, round: &Round) -> Result<()> {
        let names = self.names.by_number();
        let mut claims: Vec<(ClaimId, MarkKey)> = Vec::new();
        for key in round.queue.unclaimed() {
            let participant = names.get(&key.0).ok_or_else(|| Error::Internal("a batch of nobody".into()))?;
            claims.push((round.claims.name(participant, &key.1), key));
        }
        if claims.is_empty() {
            return Ok(());
        }
        // Their order says nothing of whose they are.
        claims.sort_unstable_by_key(|(name, _)| *name);
        let (mut own, mut others) = (Vec::new(), Vec::new());
        for claims in claims.chunks(MOST_CLAIMS) {
            let answers = self.ask_for(round, claims)?;
            for ((_, key), answer) in claims.iter().zip(answers) {
                if answer { &mut own } else { &mut others }.push(*key);
            }
        }
        // Acted on behind a session that follows the granted one: else a start would ask a storage that was put back for the same step once more.
        round.queue.note_new(std::iter::empty());
        self.cover(round)?;
        round.queue.settle(&own, &others)?;
        if !others.is_empty() {
            let dropped = counted(others.len() as u64, "batch");
            tracing::info!("round {}: {dropped} came to another proxy as well, which sends them", round.name);
        }
        Ok(())
    }

    fn ask_for(&self, round: &Round, claims: &[(ClaimId, MarkKey)]) -> Result<Vec<bool>> {
        let body: Vec<u8> = claims.iter().flat_map(|(name, _)| *name).collect();
        let name = &round.name;
        let (answer, by) = self.stepping(round, |session, next| {
            let path = format!("/v1/rounds/{name}/claims?session={session}&next={next}");
            self.database.ask(&Ask::post(round.fingerprint.on(&path), body, MOST_CLAIMS / 8), TURN)
        })?;
        if !answer.is_ok() {
            return Err(refusal(&answer, by, &format!("claims of round {name}")));
        }
        let wrong =
            || wrong(by, &format!("it does not answer the {} of round {name}", counted(claims.len() as u64, "claim")));
        decode_answers(&answer.body, claims.len()).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All proxies have the secrets of a round, and name claims alike; the database does not, and cannot.
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
