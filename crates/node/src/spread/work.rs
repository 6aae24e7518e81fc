//! What a driver keeps until the run is done: the run, so that it is resumed by whoever comes back, and what commits to the own rows.

use std::path::Path;

use serde::{Deserialize, Serialize};
use tacita_core::protocol::intersect::buckets::Run;
use tacita_core::{Error, Result};

use crate::agreement::handshake::fresh_nonce;
use crate::agreement::{JobSpec, Terms};
use crate::base::hex::{hex, unhex};
use crate::base::random::fresh_rng;
use crate::identity::Identity;
use crate::jobs::on_disk::directory::{Directory, Owner};

/// What is kept of a run, sealed with a key that only the party's identity opens.
#[derive(Serialize, Deserialize)]
struct State {
    /// What the commitment to the rows is made with, in hexadecimal.
    nonce: String,
    /// The run, once it was agreed on.
    run: Option<Agreed>,
    /// What the party says of it, once all have ended it.
    #[serde(default)]
    ended: Option<String>,
}

/// What was agreed on.
#[derive(Clone, Serialize, Deserialize)]
pub(super) struct Agreed {
    /// The run's seed and commitments, in hexadecimal.
    pub run: String,
    /// The protocol's name.
    pub protocol: String,
    /// Number of buckets.
    pub buckets: usize,
}

/// Where a driver keeps its run. One process has it at a time.
pub struct Work {
    directory: Directory,
    state: State,
}

impl Work {
    /// Opens a directory, of a run that begins or of one that is resumed.
    ///
    /// Errors ([`Error::Input`], [`Error::Terms`]): there is an unfinished run and `resume` is not set, or one of another party, identity or other terms; another
    /// process has it; others can write to it.
    pub fn open(path: &Path, job: &JobSpec, me: &str, identity: &Identity, resume: bool) -> Result<Work> {
        let terms = Terms::of(&job.of_drivers()).agreement();
        let owner = Owner { id: &job.id, party: me, terms: &terms, identity };
        let (directory, kept) = Directory::open(path, &owner, resume)?;
        let state = match kept {
            Some(state) => state,
            None => {
                let state = State { nonce: hex(&fresh_nonce(&mut fresh_rng()?)), run: None, ended: None };
                directory.keep(&state)?;
                state
            }
        };
        Ok(Work { directory, state })
    }

    /// What was agreed on in the run that is kept, if that is so.
    pub(super) fn agreed(&self) -> Option<&Agreed> {
        self.state.run.as_ref()
    }

    /// Whether a run was agreed on before, by whoever had this directory.
    pub fn has_run(&self) -> bool {
        self.state.run.is_some()
    }

    /// What names this run where its results are kept, in hexadecimal: of no other run are any taken for its own. Public.
    pub fn name(&self) -> String {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 spread name");
        hex(&hasher.update(self.state.nonce.as_bytes()).finalize().as_bytes()[..8])
    }

    /// The run that is kept.
    pub(super) fn run(&self) -> Result<Option<Run>> {
        let Some(agreed) = &self.state.run else { return Ok(None) };
        let run = unhex(&agreed.run).and_then(|bytes| Run::from_bytes(&bytes));
        run.map(Some).ok_or_else(|| Error::Internal("a run is kept that is none".into()))
    }

    /// What the others see of the own rows: nothing, but that they are the same as before.
    pub(super) fn commitment(&self, digest: &[u8; 32]) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 spread commitment");
        hasher.update(self.state.nonce.as_bytes()).update(digest);
        hasher.finalize().into()
    }

    /// Keeps what was agreed on; on disk before this returns.
    pub(super) fn keep(&mut self, agreed: Agreed) -> Result<()> {
        self.state.run = Some(agreed);
        self.directory.keep(&self.state)
    }

    /// Keeps what the party says of the run, which needs the others no more; on disk before this returns.
    pub fn end(&mut self, report: String) -> Result<()> {
        self.state.ended = Some(report);
        self.directory.keep(&self.state)
    }

    /// What [`Work::end`] has kept, if the run has come so far.
    pub fn ended(&self) -> Option<&str> {
        self.state.ended.as_deref()
    }

    /// Fingerprint of the run that is kept, by which parties see that they have kept the same.
    pub(super) fn public_id(&self) -> Option<String> {
        let agreed = self.agreed()?;
        let mut hasher = blake3::Hasher::new_derive_key("tacita 1 spread run");
        hasher
            .update(agreed.run.as_bytes())
            .update(&(agreed.buckets as u64).to_le_bytes())
            .update(agreed.protocol.as_bytes());
        Some(hasher.finalize().to_hex().to_string())
    }

    /// Removes it, now that the run has succeeded.
    pub fn clear(&self) -> Result<()> {
        self.directory.clear()
    }
}
