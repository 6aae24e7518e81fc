//! A round at the proxy: its secrets, its public keys, and the queue of what was reported to it.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tacita_core::protocol::aggregate::{Params, RoundKeys, RowFunction};
use tacita_core::{Error, Result};
use tacita_node::base::hex::hex;
use tacita_node::identity::Identity;
use tacita_node::store::seal::SealKey;

use super::claim_key::ClaimKey;
use super::track::{Cover, Track};
use crate::queue::{Accepted, Conditions, Queue, QueueLimits, Submission};
use crate::secret::Secret;
use crate::setting::ServiceConfig;
use crate::wire::batch::BatchId;
use crate::wire::rounds::{Open, RoundState};
use crate::wire::same_keys::KeysFingerprint;

/// Batches of one participant in a round. Of each the proxy keeps its name, about 150 bytes in memory, as long as the
/// round.
const MAX_BATCHES: u64 = 1 << 17;

/// Computes the fingerprint that distinguishes a batch from another one of its name: the number of its reports. Reports
/// differ each time that they are made.
pub(super) fn fingerprint(reports: usize) -> [u8; 32] {
    *blake3::hash(&(reports as u64).to_le_bytes()).as_bytes()
}

pub(super) struct Round {
    pub(super) name: String,
    pub(super) params: Params,
    pub(super) secret: Secret,
    pub(super) keys: RoundKeys,
    pub(super) open: Open,
    pub(super) queue: Queue,
    pub(super) cover: Cover,
    pub(super) conditions: Conditions,
    pub(super) claims: ClaimKey,
    /// The fingerprint of its keys.
    pub(super) fingerprint: KeysFingerprint,
    /// Message while the database has other keys of the round.
    pub(super) differing: Mutex<Option<Differing>>,
    closed: AtomicBool,
}

/// Message about a round that the database has under other keys, and the time at which the database was last told so.
pub(super) struct Differing {
    pub(super) what: String,
    pub(super) told: Option<Instant>,
}

impl Round {
    /// A round with these secrets and public keys, the signatures of which are checked; its queue is in a directory of
    /// `state`, and made if it is not there.
    pub(super) fn new(
        setting: &ServiceConfig,
        identity: &Identity,
        state: &Path,
        queue_bytes: u64,
        secret: &[u8],
        open: Open,
        track: Track,
    ) -> Result<Round> {
        let name = open.round.clone();
        let params = setting.params(&name)?;
        let secret = Secret::from_bytes(setting, &params, secret)
            .ok_or_else(|| Error::Input(format!("the secrets of round {name} are of another job")))?;
        let keys = setting.round_keys(&params, &open, "the database", "the proxy")?;
        if !secret.blinding().is_of(&params, &keys) {
            return Err(Error::Input(format!(
                "the secrets of round {name} are not those that it was opened with: put these back with `tacita key restore`"
            )));
        }
        let round = &setting.own()?.own.round;
        let limits = QueueLimits {
            record_bytes: params.entry_bytes(),
            batch_records: ServiceConfig::batch(&params),
            bytes: queue_bytes,
            quota: round.quota(),
            batches: MAX_BATCHES,
            claims: setting.count("proxy")? > 1,
        };
        let conditions = Conditions {
            min_participants: round.min_participants,
            // Decimals of a few digits: what a float makes of them is as near as the queue needs.
            max_share: round
                .max_share
                .to_string()
                .parse()
                .map_err(|_| Error::Internal("round.max_share is no number".into()))?,
            batch_size: round.batch_size,
        };
        let key = SealKey::new(identity.derive("aggregate queue", name.as_bytes()));
        let queue = Queue::open(&queue_path(state, &name), key, limits)?;
        let closed = AtomicBool::new(queue.is_closed());
        let claims = ClaimKey::new(&params, &secret);
        let (cover, fingerprint, differing) =
            (Cover::new(track), KeysFingerprint::of(&params, &keys), Mutex::default());
        Ok(Round { name, params, secret, keys, open, queue, cover, conditions, claims, fingerprint, differing, closed })
    }

    /// Whether it takes reports.
    pub(super) fn is_open(&self) -> bool {
        !self.closed.load(Ordering::Acquire) && self.queue.takes()
    }

    /// Takes reports, takes none for the time being, or none any more, as the round stands at the database. One that
    /// has failed may be in a storage that is not the right one: when that is put back, it goes on.
    pub(super) fn follow(&self, state: RoundState) -> Result<()> {
        match state {
            RoundState::Failed if self.queue.is_closed() => return Ok(()),
            RoundState::Failed => {
                if self.queue.pause(true) {
                    tracing::warn!("round {} has failed at the database: its reports are refused", self.name);
                }
                return Ok(());
            }
            RoundState::Open => (),
            _ if self.closed.load(Ordering::Acquire) => (),
            _ => self.close()?,
        }
        if self.queue.pause(false) {
            tracing::info!("round {} continues at the database", self.name);
            self.cover.ask_again();
        }
        Ok(())
    }

    /// Takes none any more. Durable when this returns.
    pub(super) fn close(&self) -> Result<()> {
        self.closed.store(true, Ordering::Release);
        if self.queue.is_closed() { Ok(()) } else { self.queue.close() }
    }

    /// Whether a participant's batch of this name is there.
    pub(super) fn has(&self, participant: u32, batch: &BatchId) -> bool {
        // Any digest: a batch that is there is in conflict with another one of its name.
        use crate::queue::Refusal;
        let foreseen = self.queue.foresee(participant, batch, &[0; 32], 0);
        matches!(foreseen, Some(Accepted::Known | Accepted::Refused(Refusal::Conflict)))
    }

    /// Predicts the outcome for a batch, as far as that is known without working on it.
    pub(super) fn foresee(
        &self,
        participant: u32,
        batch: &BatchId,
        digest: &[u8; 32],
        reports: u64,
    ) -> Option<Accepted> {
        self.queue.foresee(participant, batch, digest, reports)
    }

    /// Takes a batch: it is on disk when this says so.
    pub(super) fn accept(
        &self,
        participant: u32,
        batch: &BatchId,
        digest: [u8; 32],
        records: &[u8],
    ) -> Result<Accepted> {
        self.queue.accept(&Submission { participant, batch: *batch, digest, records })
    }
}

/// The directory of a round's queue.
pub(super) fn queue_path(state: &Path, round: &str) -> PathBuf {
    state.join(format!("queue-{}", hex(round.as_bytes())))
}
