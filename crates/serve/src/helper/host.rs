//! A party of a job without `[helper]` is in the helper's place: it serves the others beside its own run.

use std::time::Duration;

use tacita_core::{Error, Result};
use tacita_node::agreement::JobSpec;
use tacita_node::identity::Identity;
use tacita_node::jobs::intersect::outsourced::Helping;
use tacita_node::run::connect::ConnectPlan;
use tacita_node::transport::ConnectCancel;

use super::{HelperConfig, serve};

/// A party in the helper's place.
pub struct Hosting {
    ended: std::thread::JoinHandle<Result<()>>,
    drain: ConnectCancel,
    _scratch: tempfile::TempDir,
}

impl Hosting {
    /// Serves the others beside this party's own run, if it is in the helper's place; its `meeting` is then with
    /// itself.
    pub fn begin(
        job: &JobSpec,
        identity: &Identity,
        meeting: &mut ConnectPlan,
        [timeout, patience]: [Duration; 2],
    ) -> Result<Option<Hosting>> {
        let Some(place) = meeting.helper.as_mut().filter(|place| place.address.is_empty()) else { return Ok(None) };
        let scratch = tempfile::tempdir().map_err(|error| Error::Input(format!("no temporary directory: {error}")))?;
        let (announce, drain) = (scratch.path().join("address"), ConnectCancel::default());
        let serving = HelperConfig {
            jobs: vec![(format!("job {}", job.id), Helping::new(job, place.parties.clone())?)],
            identity: identity.clone(),
            listen: meeting.listen.clone(),
            state: Some(scratch.path().join("state")),
            status: None,
            timeout,
            patience,
            drain: drain.clone(),
            once: true,
            announce: Some(announce.clone()),
            report: None,
        };
        let ended = std::thread::spawn(move || serve(serving));
        let address = loop {
            if let Ok(address) = std::fs::read_to_string(&announce) {
                break address;
            }
            if ended.is_finished() {
                let ended = ended.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
                return Err(ended.err().unwrap_or_else(|| Error::Internal("the helper ended".into())));
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        place.address = address.replace("0.0.0.0:", "127.0.0.1:").replace("[::]:", "[::1]:");
        Ok(Some(Hosting { ended, drain, _scratch: scratch }))
    }

    /// Waits until the others have what they need, after this party's own run has.
    pub fn end(self, well: bool) -> Result<()> {
        if !well {
            self.drain.cancel();
        }
        self.ended.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}
