//! Changes of the key. The next one is prepared ahead, so that it takes its place at its time, and not when as many
//! rows are done as there are.

use std::time::{Duration, Instant};

use tacita_core::{Error, Result};
use tacita_node::jobs::intersect::live::EncodedRow;
use tacita_node::transport::ConnectCancel;

use super::keeper::{Keeper, Outcome};
use super::{Authority, Moment, Next, POLL_INTERVAL};

/// After how long a change of the key is tried again that failed, as on a disk that is full.
const RETRY: Duration = Duration::from_secs(10);

/// Time by which the last steps to another key begin before it is due, and the addition for each row that there may be.
/// In these steps changes are applied, and everything is written to disk.
const LAST_STEPS: Duration = Duration::from_secs(1);
const LAST_STEPS_OF_A_ROW: Duration = Duration::from_micros(20);

impl Authority {
    /// Does before anybody is served what the schedule has wanted meanwhile: changes the key if its time has passed,
    /// and prepares the next one if its time is near. How long that takes shows to nobody.
    pub(super) fn catch_up(&self) -> Result<Option<Next>> {
        let is_ahead = || self.keeper().schedule().is_ahead(Moment::now());
        if is_ahead() {
            let next = self.prepare()?;
            if !self.is_due() {
                return Ok(Some(next));
            }
            self.switch(next)?;
        }
        is_ahead().then(|| self.prepare()).transpose()
    }

    /// Changes the key at the times of its schedule, until it is cancelled. `next` is what has been prepared already.
    pub(super) fn follow_schedule(&self, mut next: Option<Next>, cancel: &ConnectCancel) {
        let mut failed: Option<Instant> = None;
        while !cancel.is_cancelled() {
            std::thread::sleep(POLL_INTERVAL);
            if failed.is_some_and(|failed| failed.elapsed() < RETRY) {
                continue;
            }
            let done = self.follow(&mut next, cancel);
            failed = done.is_err().then(Instant::now);
            if let Err(error) = done {
                tracing::error!("the key could not be rotated: {error}; retrying");
            }
        }
    }

    /// Does what is due now.
    fn follow(&self, next: &mut Option<Next>, cancel: &ConnectCancel) -> Result<()> {
        if next.is_none() && self.keeper().schedule().is_ahead(Moment::now()) {
            let prepared = self.prepare()?;
            *next = Some(prepared);
        }
        match next.take_if(|_| self.left() <= self.last_steps()) {
            Some(next) => self.switch_on_time(next, cancel),
            None => Ok(()),
        }
    }

    /// Returns the time by which the last steps to another key begin before it is due. It depends on the agreement
    /// alone.
    fn last_steps(&self) -> Duration {
        LAST_STEPS
            + LAST_STEPS_OF_A_ROW * self.live.job.limits.pad_to.unwrap_or_default().try_into().unwrap_or(u32::MAX)
    }

    /// Goes over to the next key at its time, and no sooner. What takes as long as the list is, is done before that;
    /// changes wait meanwhile.
    fn switch_on_time(&self, next: Next, cancel: &ConnectCancel) -> Result<()> {
        let mut keeper = self.keeper();
        let schedule = keeper.schedule();
        keeper.rotate(next, schedule.moment())?;
        if schedule.left(Moment::now()).is_zero() {
            tracing::warn!(
                "key rotation is late: its time lets desks estimate the number of rows. Agree on a longer limits.rotate_within, \
                 or use a faster disk"
            );
        }
        while !schedule.left(Moment::now()).is_zero() {
            if cancel.is_cancelled() {
                return Ok(());
            }
            std::thread::sleep(schedule.left(Moment::now()).min(POLL_INTERVAL));
        }
        self.publish(&keeper);
        Ok(())
    }

    fn left(&self) -> Duration {
        self.keeper().schedule().left(Moment::now())
    }

    fn is_due(&self) -> bool {
        self.left().is_zero()
    }

    /// Another key now, whatever the schedule says, which stays as it is.
    pub(super) fn rotate(&self) -> Result<()> {
        let _one = self.rotating.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let next = self.prepare()?;
        self.switch(next)
    }

    /// The next key, prepared on one processor while the others answer.
    fn prepare(&self) -> Result<Next> {
        let started = Instant::now();
        let (live, roll) = self.keeper().next();
        let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build();
        let pool = pool.map_err(|error| Error::Internal(error.to_string()))?;
        let next = pool.install(|| Next::prepare(&live, &roll))?;
        tracing::debug!("another key is prepared, after {:.1} s", started.elapsed().as_secs_f64());
        Ok(next)
    }

    /// Goes over to the next key at once.
    fn switch(&self, next: Next) -> Result<()> {
        let mut keeper = self.keeper();
        keeper.rotate(next, Moment::now())?;
        self.publish(&keeper);
        Ok(())
    }

    /// Shows desks the epoch that is kept.
    fn publish(&self, keeper: &Keeper) {
        *self.epoch.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = keeper.epoch();
        tracing::info!("key rotated");
    }

    /// Adds rows, or takes them off; under another key, if this one has no room for so many changes any more.
    pub(super) fn change(&self, rows: &[EncodedRow], added: bool) -> Result<Outcome> {
        loop {
            let changed = self.keeper().change(rows.to_vec(), added)?;
            match changed {
                Some(outcome) => return Ok(outcome),
                None => self.rotate()?,
            }
        }
    }
}

#[cfg(test)]
mod tests;
