//! A run through a helper: a party loads its table, comes to the helper, and leaves and collects there what the protocol says.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};

use crate::agreement::{Ability, Found, JobSpec, Part, Peers, Run, Terms};
use crate::base::memory::Limit;
use crate::base::random::fresh_rng;
use crate::base::usage::round;
use crate::run::party::PartyRun;
use crate::run::report::{Bytes, Report};
use crate::transport::depot::{self, Client};
use crate::watch::Watcher;

/// How often a party that loads its table looks whether it was interrupted.
const LOOK: Duration = Duration::from_millis(100);

impl PartyRun {
    /// Runs the job at its helper, and says it there if it was `checked` in vain.
    pub(super) fn run_at_helper(&self, checked: Result<()>) -> Result<(Box<dyn Part>, Found, Report)> {
        let place = self.meeting.helper.clone();
        let place = place.ok_or_else(|| Error::Internal("a run through a helper without one".into()))?;
        let me = self.job.parties.position(&self.me).unwrap_or_default();
        tracing::info!("going to {} at {}", place.helper.name, place.address);
        let times = [self.timeout, self.patience];
        let (identity, ways) = (self.identity.clone(), (self.meeting.shape, self.job.job.at_helper(&self.job, me)?));
        let client = Client::new(place, me, identity, terms(&self.job), times, ways, self.cancel.clone())?;
        let ran = self.load_and_run(checked, &client);
        ran.inspect_err(|error| client.end(error))
    }

    fn load_and_run(&self, checked: Result<()>, client: &Client) -> Result<(Box<dyn Part>, Found, Report)> {
        let (job, me) = (&self.job, self.me.as_str());
        let started = Instant::now();
        let (loaded, reported) = mpsc::channel();
        let pools = self.pool.is_some();
        let (of_loader, name, source) = (job.clone(), self.me.clone(), self.source.clone());
        // Left to itself when the helper cannot be reached: nobody waits for a table that is no longer needed.
        std::thread::spawn(move || {
            let pool = |()| if pools { of_loader.job.can(&of_loader, Ability::Pool) } else { Ok(()) };
            let part = checked.and_then(pool).and_then(|()| of_loader.job.load(&of_loader, &name, &source, None));
            let part = part.and_then(|part| of_loader.check_quality(&name, &part.rows()).map(|()| part));
            let _ = loaded.send((part, started.elapsed()));
        });
        let arrived = client.arrive();
        let connect = started.elapsed();
        arrived?;
        let (part, load) = loop {
            match reported.recv_timeout(LOOK) {
                Ok(loaded) => break loaded,
                Err(mpsc::RecvTimeoutError::Timeout) if self.cancel.is_cancelled() => return Err(Error::Interrupted),
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Error::Internal("loading ended without a word".into()));
                }
            }
        };
        let mut part = part?;
        let sizes = job.parties.names().into_iter().map(|name| (name.to_owned(), part.sizes())).collect();
        let chosen = job.job.choose_among(job, &sizes)?.chosen;
        Limit::of(self.memory).check(job.job.memory(job, me, &chosen, &sizes)?, "agree on a lower limits.pad_to")?;

        let protocol_started = Instant::now();
        let watcher = Watcher::of_connections(client.progress(), client.counting(), self.screen.clone());
        let run = Run { job, me, peers: Peers::Depot(client), allowed: self.memory, rng: &mut fresh_rng()? };
        let found = part.run(run).and_then(|found| client.done().map(|()| found));
        drop(watcher);
        let mut found = found?;
        let (learned, extras) = (std::mem::take(&mut found.learned), std::mem::take(&mut found.extras));
        let mut report = self.report(&*part, found.protocol, &chosen.to_string(), learned, extras);
        report.bytes = Bytes::of(&client.traffic(), &[]);
        report.rounds = found.further_rounds;
        report.seconds.load = round(load);
        report.seconds.connect = round(connect);
        report.seconds.protocol = round(protocol_started.elapsed());
        Ok((part, found, report))
    }
}

/// What the helper compares.
pub fn terms(job: &JobSpec) -> depot::Terms {
    let terms = Terms::of(job);
    depot::Terms { id: job.id.clone(), text: terms.canonical(), agreement: terms.agreement_bytes(), differences }
}

fn differences(ours: &str, theirs: &[u8]) -> Option<Vec<String>> {
    let [ours, theirs] = [ours.as_bytes(), theirs].map(|text| serde_json::from_slice(text).ok());
    Some(Terms::from_peer(&ours?).differences(&Terms::from_peer(&theirs?)))
}
