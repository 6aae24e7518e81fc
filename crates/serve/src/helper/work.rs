//! The helper's own work in the runs of a job.

use std::time::Instant;

use tacita_core::depot::{Depot, DepotParty, Parcel};
use tacita_core::{Error, ErrorKind, Result};

use super::desk::HelperJob;
use super::files::Key;
use super::{Helper, POLL_INTERVAL};

/// The depot as the helper itself uses it in one run.
struct Own<'a> {
    desk: &'a HelperJob,
    run: u64,
}

/// Does what there is to do in one run after the other, until the helper ends.
pub(super) fn help(helper: &Helper, desk: &HelperJob) {
    let mut last = None;
    while !helper.closed.is_cancelled() {
        let Some((run, done, seed)) = desk.work(last, Instant::now() + POLL_INTERVAL) else { continue };
        last = Some(run);
        match work(desk, run, done, &seed) {
            // The run has ended meanwhile, which those who take part know.
            Ok(()) | Err(Error::Interrupted) => {}
            Err(error) => {
                let named = |peer| desk.helping.parties.iter().position(|party| party.name == peer);
                let culprit = error.peer().and_then(named).map(|place| DepotParty::Party(place as u8));
                tracing::warn!("{}: {error}", desk.helping.id);
                let kind = if culprit.is_some() { error.kind() } else { ErrorKind::Internal };
                desk.end(run, kind, culprit, &helper.numbers);
            }
        }
    }
}

fn work(desk: &HelperJob, run: u64, done: u32, seed: &[u8; 32]) -> Result<()> {
    let own = Own { desk, run };
    for part in done..desk.helping.parts()? {
        desk.helping.help(&own, part, seed)?;
        desk.helped(run, part)?;
    }
    Ok(())
}

impl Depot for Own<'_> {
    fn announce(&self, _own: Vec<u8>) -> Result<Vec<Vec<u8>>> {
        Err(Error::Internal("a helper has nothing to tell".into()))
    }

    fn leave(&self, parcel: Parcel, part: u32, bytes: Vec<u8>) -> Result<()> {
        if self.desk.give(self.run, key(parcel, part), &bytes)? { Ok(()) } else { Err(Error::Interrupted) }
    }

    fn collect(&self, parcel: Parcel, part: u32, length: usize) -> Result<Vec<u8>> {
        let bytes = self.desk.take(self.run, &key(parcel, part))?.ok_or(Error::Interrupted)?;
        if bytes.len() == length {
            Ok(bytes)
        } else {
            Err(Error::Protocol {
                peer: self.name(parcel.from),
                check: format!("`{}` has {} bytes instead of {length}", parcel.step.name, bytes.len()),
            })
        }
    }

    fn name(&self, place: DepotParty) -> String {
        match place {
            DepotParty::Helper => "the helper".into(),
            DepotParty::Party(place) => {
                let party = self.desk.helping.parties.get(usize::from(place));
                party.map(|party| party.name.clone()).unwrap_or_default()
            }
        }
    }
}

fn key(parcel: Parcel, part: u32) -> Key {
    Key { step: parcel.step.code, from: parcel.from, to: parcel.to, part }
}
