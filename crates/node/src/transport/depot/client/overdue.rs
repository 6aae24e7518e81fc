//! Waits at a helper that are too long: for parties that do not come, and for what they do not leave.

use std::time::{Duration, Instant};

use tacita_core::depot::{self, Depot, Parcel};
use tacita_core::{Error, Result};

use super::DepotClient;
use crate::base::text;

impl DepotClient {
    /// Returns an error if it is time to stop waiting for the other parties to come.
    pub(super) fn missing(&self, places: &[u8], started: Instant) -> Result<()> {
        let missing = places.iter().map(|place| self.place.parties.get(usize::from(*place)));
        let missing = missing.collect::<Option<Vec<_>>>().ok_or_else(|| self.broken())?;
        let names: Vec<_> = missing.iter().map(|party| party.name.as_str()).collect();
        let (patience, what) = if names.is_empty() {
            (self.patience, "has not loaded its table within")
        } else {
            (self.options.timeout, "did not come to the helper within")
        };
        if started.elapsed() < patience {
            return Ok(());
        }
        let peer = if names.is_empty() { "another party".to_owned() } else { text::names(&names) };
        let (patience, helper) = (text::duration(patience), &self.place.helper.name);
        Err(Error::Network { peer, what: format!("{what} {patience}, as {helper} says: is it running?") })
    }

    /// The error for a parcel that has not come in time. The helper alone says so, and whoever leaves it may wait for
    /// others itself.
    pub(super) fn overdue(&self, parcel: Parcel, patience: Duration) -> Error {
        let (step, patience) = (parcel.step.name, text::duration(patience));
        let what = match parcel.from {
            depot::DepotParty::Helper => {
                format!("has no `{step}` after {patience}; it may wait for a party: is each of them running?")
            }
            from => {
                let from = self.name(from);
                format!(
                    "says that {from} has sent no `{step}` within {patience}, and may itself wait for another party: check that \
                     all are running"
                )
            }
        };
        Error::Network { peer: self.name(depot::DepotParty::Helper), what }
    }
}
