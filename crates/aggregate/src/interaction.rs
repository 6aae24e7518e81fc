//! Interactions: a participant and the proxy make the reports of one batch together, in one request whose bodies travel
//! both ways at once.
//!
//! Nothing of an interaction outlives its request. One that is cut off has taken no report, and another one begins from
//! nothing, with transfers, blinds and encryptions of its own; one whose outcome was lost is answered by the name of
//! its batch.

use rand_core::CryptoRng;
use tacita_core::channel::labels::interaction::NONCE;
use tacita_core::protocol::aggregate::Params;
use tacita_core::protocol::published::aggregate::naor_reingold;
use tacita_core::session::{Session, Transcript};
use tacita_core::{Channel, Result};

use crate::setting::ServiceConfig;
use crate::transport::Bounds;
use crate::wire::batch::BatchId;

/// Bytes of the number that each side draws.
const NONCE_BYTES: usize = 32;

/// Memory that an interaction takes beside that for each report: transfers are set up, and begun for more than are
/// needed.
const BEGINNING_BYTES: usize = 1 << 20;

/// Bytes of an outcome.
pub const MAX_OUTCOME_BYTES: usize = 1 << 12;

/// A batch, and whose it is.
pub struct ParticipantBatch<'a> {
    /// Name of the round.
    pub round: &'a str,
    /// Participant that makes the batch with the proxy: the fingerprint of its identity.
    pub participant: &'a str,
    /// Name of the batch.
    pub name: BatchId,
    /// Number of reports in the batch.
    pub reports: usize,
}

/// Side of an interaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InteractionSide {
    /// Participant, which makes reports.
    Participant,
    /// Proxy, which takes the reports.
    Proxy,
}

/// Returns the bounds of an interaction that makes this many reports.
pub fn bounds(params: &Params, reports: usize) -> Bounds {
    let most = usize::try_from(naor_reingold::memory_of_stage(params, reports)).unwrap_or(usize::MAX);
    Bounds::of(most.saturating_add(BEGINNING_BYTES))
}

/// The session of an interaction, which no other has: each side has drawn a part of it.
///
/// Errors: the channel fails, or the other end breaks the protocol.
pub fn session(
    setting: &ServiceConfig,
    batch: &ParticipantBatch<'_>,
    side: InteractionSide,
    channel: &mut Channel,
    rng: &mut impl CryptoRng,
) -> Result<Session> {
    let mut own = vec![0; NONCE_BYTES];
    rng.fill_bytes(&mut own);
    let theirs = channel.exchange(NONCE, own.clone(), NONCE_BYTES)?;
    if theirs.len() != NONCE_BYTES {
        return Err(channel.violation(format!("`{}` has {} bytes instead of {NONCE_BYTES}", NONCE.name, theirs.len())));
    }
    let (of_proxy, of_participant) = match side {
        InteractionSide::Proxy => (own, theirs),
        InteractionSide::Participant => (theirs, own),
    };
    let mut transcript = Transcript::new("aggregate interaction");
    transcript
        .append("terms", &setting.agreement)
        .append("round", batch.round.as_bytes())
        .append("participant", batch.participant.as_bytes())
        .append("batch", &batch.name)
        .append("reports", &(batch.reports as u64).to_le_bytes())
        .append("of proxy", &of_proxy)
        .append("of participant", &of_participant);
    Ok(Session::new(transcript))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use chacha20::ChaCha20Rng;
    use rand_core::SeedableRng;

    use super::*;
    use crate::testing;

    const BATCH: ParticipantBatch<'static> =
        ParticipantBatch { round: "r", participant: "SHA256:a", name: [1; 16], reports: 3 };

    /// The name of the session that proxy and participant have, who draw from these seeds.
    fn made(setting: &ServiceConfig, batch: &ParticipantBatch<'_>, seeds: [u64; 2]) -> Vec<u8> {
        let (mut proxy, mut participant) = Channel::pair("participant", "proxy");
        let side = |side, channel: &mut Channel, seed| {
            let session = session(setting, batch, side, channel, &mut ChaCha20Rng::seed_from_u64(seed));
            session.unwrap().id().to_vec()
        };
        let [one, other] = std::thread::scope(|scope| {
            let proxy = scope.spawn(|| side(InteractionSide::Proxy, &mut proxy, seeds[0]));
            let participant = scope.spawn(|| side(InteractionSide::Participant, &mut participant, seeds[1]));
            [proxy, participant].map(|one| one.join().unwrap())
        });
        assert_eq!(one, other);
        one
    }

    /// Whoever draws the same again meets another session, if only the other one draws anew; and none is that of
    /// another batch.
    #[test]
    fn no_interaction_has_the_session_of_another() {
        let (setting, _) = testing::setting();
        assert_eq!(made(&setting, &BATCH, [1, 2]), made(&setting, &BATCH, [1, 2]));
        let mut seen: BTreeSet<_> = [[1, 2], [3, 2], [1, 3], [2, 1]].map(|seeds| made(&setting, &BATCH, seeds)).into();
        for other in [
            ParticipantBatch { round: "s", ..BATCH },
            ParticipantBatch { participant: "SHA256:b", ..BATCH },
            ParticipantBatch { name: [2; 16], ..BATCH },
            ParticipantBatch { reports: 4, ..BATCH },
        ] {
            seen.insert(made(&setting, &other, [1, 2]));
        }
        let (another, _) = testing::setting();
        seen.insert(made(&another, &BATCH, [1, 2]));
        assert_eq!(seen.len(), 9);
    }
}
