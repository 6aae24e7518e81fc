//! Storage of the rows in a simulation with several databases.

use tacita_core::{Error, Result};

use super::{ROUND, RoundSimulation};
use crate::store::{self, Storage};

/// The rows of a simulation in a storage that is there before and after it: they go with it.
pub(super) struct Rows(Option<Box<dyn Storage>>);

impl Rows {
    /// Opens the storage that so many databases share.
    ///
    /// Errors ([`Error::Input`]): there is none, or it holds what a simulation has left.
    pub(super) fn free(simulation: &RoundSimulation, databases: usize) -> Result<Rows> {
        let Some(url) = &simulation.storage else {
            return match databases {
                ..=1 => Ok(Rows(None)),
                _ => Err(Error::Input(format!(
                    "the job file names {databases} [[database]], and they share a storage: give one as --storage postgresql://USER@HOST/DATABASE"
                ))),
            };
        };
        let storage = store::open(url)?;
        if storage.rounds()?.iter().any(|round| round == ROUND) {
            return Err(Error::Input(format!(
                "--storage: it holds a round `{ROUND}`, of an earlier simulation or one that still runs: name another schema, as \
                 postgresql://USER@HOST/DATABASE?schema=NAME"
            )));
        }
        // A directory is a database's alone.
        Ok(Rows(storage.is_shared().then_some(storage)))
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        if let Some(Err(error)) = self.0.as_ref().map(|storage| storage.remove(ROUND)) {
            tracing::warn!("rows of the simulation are left: {error}");
        }
    }
}
