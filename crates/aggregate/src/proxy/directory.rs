//! State directories of proxies. The reports that a proxy acknowledged are in the state directory with which it worked,
//! and in no other. The database holds the last session of that directory (`sessions.rs`). Nothing is told to anybody
//! before the database holds one behind what was written.

use std::time::{Duration, Instant};

use tacita_core::{Error, Result};
use tokio::time::timeout;

use super::asking::{LOG_INTERVAL, MAX_BYTES, ONCE, POLL_INTERVAL, wrong};
use super::journal::{file_name, round_of};
use super::names::Names;
use super::round::Round;
use super::track::{Refused, Seen, Track};
use super::{Proxy, lock};
use crate::queue::Fresh;
use crate::transport::{ApiRequest, ApiResponse, Client};
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::{RoundState, RoundStatus};
use crate::wire::same_keys::KeysFingerprint;
use crate::wire::sessions::{Advance, StateSession};
use tacita_node::base::text::json;

/// Time for which a sender of reports waits for the database to hold the session that covers them.
const TIMEOUT: Duration = Duration::from_secs(5);

/// A directory goes on to its next session that often where nothing comes: so a process beside it is noticed.
const IDLE: Duration = Duration::from_secs(60);

/// Message about a round whose acknowledged reports this directory does not have.
const ELSEWHERE: &str = "the reports that this proxy acknowledged are in another state directory";

impl Round {
    /// Does something with the sessions of this directory, which stay as they are meanwhile.
    pub(super) fn tracked<T>(&self, work: impl FnOnce(&mut Track) -> Result<T>) -> Result<T> {
        work(&mut lock(&self.cover.track))
    }

    /// Checks that the queue holds what was taken, and describes the fault if it does not.
    pub(super) fn check_queue(&self, names: &Names) -> Result<()> {
        let (generation, present) = self.queue.present();
        let differs = |what: &str| Error::Input(format!("round {}: {what}", self.name));
        let present = names.batches(present).map_err(|what| differs(&what))?.keys().copied().collect();
        let fits = self.tracked(|track| Ok(track.journal.past()?.check(generation, &present)))?;
        fits.map_err(|_| {
            differs("its queue differs from what this proxy has acknowledged, or participants.json was replaced")
        })
    }

    /// Asks something with the session of this directory in the query, which stays the last one meanwhile. A database
    /// that refuses it is asked for it again.
    pub(super) fn presenting<T>(&self, ask: impl FnOnce(StateSession) -> Result<(T, bool)>) -> Result<T> {
        self.tracked(|track| {
            let (answer, is_stale) = ask(track.session()?)?;
            if is_stale {
                track.past.chain.doubt();
                self.cover.seen.send_modify(|seen| seen.covers = None);
            }
            Ok(answer)
        })
    }

    /// Has the database asked for the session of this directory again.
    pub(super) fn doubt(&self) {
        // Whoever is at it finds the same.
        let _ = self.presenting(|_| Ok(((), true)));
    }

    fn is_covered(&self) -> bool {
        let written = self.queue.written();
        self.cover.seen.borrow().covers.is_some_and(|covers| covers >= written)
    }
}

impl Proxy {
    /// Has the database hold a session behind all that was written of a round until now.
    ///
    /// Errors: [`Error::Input`] if another directory has the round; [`Error::NotReady`] if it is over; those of the
    /// database and the disk.
    pub(super) fn cover(&self, round: &Round) -> Result<()> {
        let wanted = round.queue.written();
        round.tracked(|track| self.cover_until(round, track, wanted))
    }

    fn cover_until(&self, round: &Round, track: &mut Track, wanted: u64) -> Result<()> {
        while !track.past.chain.covers(wanted) {
            if track.past.chain.asks().is_none() {
                track.propose_for(&round.queue, &self.names)?;
            }
            self.settle(round, track)?;
        }
        Ok(())
    }

    /// Asks for a session that is on disk, and notes what it covers.
    fn settle(&self, round: &Round, track: &mut Track) -> Result<()> {
        let refused = self.ask_for_session(&round.name, Some(&round.fingerprint), track)?;
        let seen = Seen { covers: track.covers(), refused: refused.clone(), at: Instant::now() };
        round.cover.seen.send_replace(seen);
        refused.map_or(Ok(()), |refused| Err(self.why(&round.name, refused)))
    }

    /// Asks something with which this directory goes on to its next session: a storage that does not know of the one
    /// does not know of the other.
    pub(super) fn stepping<'a>(
        &'a self,
        round: &Round,
        ask: impl FnOnce(StateSession, StateSession) -> Result<(ApiResponse, &'a Client)>,
    ) -> Result<(ApiResponse, &'a Client)> {
        round.tracked(|track| {
            let session = track.session()?;
            track.propose_for(&round.queue, &self.names)?;
            round.cover.seen.send_modify(|seen| seen.covers = None);
            let next = track.past.chain.asks().map_or(session, |advance| advance.to);
            let (answer, by) = ask(session, next)?;
            if answer.is_ok() {
                track.past.chain.held();
                round.cover.seen.send_modify(|seen| seen.covers = track.covers());
            }
            Ok((answer, by))
        })
    }

    fn why(&self, round: &str, refused: Refused) -> Error {
        match refused {
            Refused::Elsewhere => {
                let here = self.not_here(round);
                Error::Input(format!("{here}: start it with that one; {}", self.if_it_is_lost(round)))
            }
            Refused::Closed(what) => Error::NotReady(what),
        }
    }

    /// Asks for the session that is not known to be held.
    fn ask_for_session(
        &self,
        round: &str,
        keys: Option<&KeysFingerprint>,
        track: &mut Track,
    ) -> Result<Option<Refused>> {
        let Some(advance) = track.past.chain.asks() else { return Ok(None) };
        let refused = self.tell_session(round, keys, &advance)?;
        if refused.is_none() {
            track.past.chain.held();
            track.since = Instant::now();
        }
        Ok(refused)
    }

    /// Asks for a session, under the round's keys as far as they are known: the first one comes before them.
    fn tell_session(&self, round: &str, keys: Option<&KeysFingerprint>, advance: &Advance) -> Result<Option<Refused>> {
        let value = json(serde_json::to_value(advance))?;
        let path = format!("/v1/rounds/{round}/session");
        let path = keys.map(|keys| keys.on(&path)).unwrap_or(path);
        let (answer, by) = self.database.ask(&ApiRequest::json(path, &value, MAX_BYTES), ONCE)?;
        if answer.is_ok() {
            lock(&self.strange).remove(round);
            return Ok(None);
        }
        let told = answer.told();
        match told.error {
            RefusalReason::Stale => {
                lock(&self.strange).insert(round.to_owned(), Instant::now());
                Ok(Some(Refused::Elsewhere))
            }
            RefusalReason::Closed => Ok(Some(Refused::Closed(told.message))),
            // Whether this is the right directory is seen when the database has the round under the same keys.
            RefusalReason::OtherKeys => Err(Error::NotReady(told.message)),
            _ if answer.come_again() => Err(Error::NotReady(format!("{}: {}", by.name(), told.message))),
            _ => Err(wrong(by, &format!("it does not take a session of this state directory: {}", told.message))),
        }
    }

    /// Tells the database, before anything is taken of a round, that this directory will have it.
    ///
    /// Errors: [`Error::Input`] if another one has; [`Error::NotReady`] if the round is over.
    pub(super) fn tell_directory(&self, round: &str) -> Result<Track> {
        let lost = lock(&self.lost).get(round).cloned();
        if let Some(what) = lost {
            // So that the database's operator is told as well.
            self.tell_session(round, None, &Advance { from: None, to: StateSession::after(None)? })?;
            return Err(Error::Input(format!("{what}; {}", self.if_it_is_lost(round))));
        }
        let mut track = Track::open(&self.folder, round)?;
        if track.past.chain.asks().is_none() {
            track.propose(&Fresh { batches: Vec::new(), written: 0, generation: 0 }, &self.names)?;
        }
        match self.ask_for_session(round, None, &mut track)? {
            None => Ok(track),
            Some(refused) => Err(self.why(round, refused)),
        }
    }

    /// Notes rounds of which something was acknowledged, and whose record is gone: before anybody is told that nothing
    /// of them was ever here.
    pub(super) fn lose_unrecorded(&self) -> Result<()> {
        let is_known = |round: &String| lock(&self.rounds).contains_key(round) || lock(&self.lost).contains_key(round);
        for round in self.folder.names()?.iter().filter_map(|name| round_of(name)).filter(|round| !is_known(round)) {
            if !Track::open(&self.folder, &round)?.past.is_new() {
                self.lose(&round, &format!("the record of it is gone, and {} is there", file_name(&round)));
            }
        }
        Ok(())
    }

    /// Notes that what was acknowledged of a round is not here.
    pub(super) fn lose(&self, round: &str, what: &str) {
        let what = format!(
            "round {round}: {what} in {}: put the whole state directory back as it was at the end",
            self.state.display()
        );
        tracing::error!("{what}; {}", self.if_it_is_lost(round));
        lock(&self.strange).insert(round.to_owned(), Instant::now());
        lock(&self.lost).insert(round.to_owned(), what);
    }

    /// Covers what has come, and confirms what is there from before, until the proxy is to end.
    pub(super) fn cover_all(&self) {
        while !self.cancel.is_cancelled() {
            let mut failed = false;
            let all: Vec<_> = lock(&self.rounds).values().cloned().collect();
            for round in all {
                // Where a worker sends something with the session of now, others do not wait for that.
                let Some(mut track) = round.cover.free_track() else { continue };
                if !self.is_to_cover(&round, &track) {
                    continue;
                }
                let _of = tracing::error_span!("cover", round = round.name).entered();
                match self.cover_until(&round, &mut track, round.queue.written()) {
                    Ok(()) => (),
                    Err(Error::Interrupted) => return,
                    Err(error @ Error::Input(_)) => tracing::warn!("round {}: {error}", round.name),
                    Err(error) => {
                        failed = true;
                        tracing::debug!("round {}: {error}", round.name);
                    }
                }
            }
            if failed && self.database.rest(POLL_INTERVAL).is_err() {
                return;
            }
            self.bell.wait(POLL_INTERVAL);
        }
    }

    /// Whether something is to be covered of a round.
    fn is_to_cover(&self, round: &Round, track: &Track) -> bool {
        let is_refused = self.was_strange_just_now(&round.name) || self.is_given_up(&round.name).is_some();
        if is_refused || round.differs().is_some() {
            return false;
        }
        let told = lock(&self.told).get(&round.name).map(|status| status.state);
        if !round.is_covered() {
            // What is over takes nothing, and is asked about once. What is not may have been refused by a storage that
            // was not the right one.
            let seen = round.cover.seen.borrow();
            let is_refused = matches!(seen.refused, Some(Refused::Closed(_)));
            return !is_refused || seen.at.elapsed() > LOG_INTERVAL && told.is_some_and(|state| !state.is_over());
        }
        let is_open = told == Some(RoundState::Open);
        if is_open && track.since.elapsed() > IDLE {
            round.queue.note_new(std::iter::empty());
            return true;
        }
        false
    }

    /// Waits until the database holds a session behind all that was written of a round until now: before that nothing
    /// is acknowledged.
    pub(super) async fn covered(&self, round: &Round) -> ApiResult<()> {
        let wanted = round.queue.written();
        let covers = |seen: &Seen| seen.covers.is_some_and(|covers| covers >= wanted);
        let mut seen = round.cover.seen.subscribe();
        if !covers(&seen.borrow()) {
            self.bell.ring();
        }
        let refused = match timeout(TIMEOUT, seen.wait_for(|seen| covers(seen) || seen.refused.is_some())).await {
            Ok(Ok(seen)) if covers(&seen) => return Ok(()),
            Ok(Ok(seen)) => seen.refused.clone(),
            _ => None,
        };
        Err(match refused {
            // Why it is over the database says to those who ask it.
            Some(Refused::Closed(_)) => {
                let over = || {
                    ApiError::new(RefusalReason::Closed, format!("round {} takes no more of this proxy", round.name))
                };
                self.is_given_up(&round.name).unwrap_or_else(over)
            }
            Some(Refused::Elsewhere) => {
                let given_up = self.is_given_up(&round.name);
                given_up
                    .unwrap_or_else(|| ApiError::new(RefusalReason::NotYet, told_elsewhere(&round.name)).again_in(2))
            }
            None => self.is_differing(&round.name).unwrap_or_else(|| {
                let what =
                    "the database does not answer: reports are on this proxy's disk, and are acknowledged when it does";
                ApiError::new(RefusalReason::NotYet, what).again_in(1)
            }),
        })
    }

    /// Returns the reply about a round that goes on without what this proxy had, whichever directory it works with.
    /// None of that counts, and nobody is told that it was taken.
    pub(super) fn is_given_up(&self, round: &str) -> Option<ApiError> {
        let is_without = |status: &RoundStatus| status.without.contains(&self.place);
        let given_up = lock(&self.told).get(round).is_some_and(is_without);
        given_up.then(|| {
            ApiError::new(RefusalReason::Closed, format!("round {round} continued without this proxy's unsent reports"))
        })
    }

    /// Returns the message about a round whose acknowledged reports are in another directory, if that is so.
    /// Participants are told it: which directory it is not is for the log alone.
    pub(super) fn is_elsewhere(&self, round: &str) -> Option<String> {
        let is_strange = lock(&self.strange).contains_key(round);
        (is_strange && self.is_given_up(round).is_none()).then(|| told_elsewhere(round))
    }

    /// Whether such a round was asked about just now, and need not be again yet.
    pub(super) fn was_strange_just_now(&self, round: &str) -> bool {
        lock(&self.strange).get(round).is_some_and(|last| last.elapsed() < LOG_INTERVAL)
    }

    /// Describes the fault of this directory, for the log.
    fn not_here(&self, round: &str) -> String {
        let lost = lock(&self.lost).get(round).cloned();
        lost.unwrap_or_else(|| {
            format!("round {round}: {ELSEWHERE} than {}, or in a later copy of it", self.state.display())
        })
    }

    fn if_it_is_lost(&self, round: &str) -> String {
        format!(
            "if that is lost, the database's operator closes the round without it: `tacita round close --round {round} \
             --without-proxy {}`",
            self.place + 1
        )
    }
}

/// Returns the message to participants about such a round: the same, whatever has become of the directory.
fn told_elsewhere(round: &str) -> String {
    format!("round {round}: {ELSEWHERE}, or in a later copy of it")
}
