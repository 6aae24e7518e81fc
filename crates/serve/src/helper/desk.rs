//! One job, and its run if there is one: who is there, what was left, and how it ends.

mod own;

use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rand_core::Rng;
use tacita_core::depot::DepotParty;
use tacita_core::{ErrorKind, Result};
use tacita_node::base::random::fresh_rng;
use tacita_node::base::text::{bytes, duration};
use tacita_node::jobs::intersect::outsourced::Helping;
use tacita_node::transport::depot::frame::Ticket;

use zeroize::Zeroizing;

use super::Numbers;
use super::files::{Files, Key};
use super::run::{Arrived, Over, Run, State, Told};

/// Time for which an answer is put off until there is something to say.
const WAIT: Duration = Duration::from_secs(2);

/// Connections of a party at a time.
pub(super) const MAX_CONNECTIONS: usize = 16;

/// Basic number of parts that may be left, and the number of bytes for each of which one more may be left.
const MAX_PARTS: u64 = 4096;
const PART_BYTES: u64 = 1024;

/// Job that the helper serves.
pub(super) struct HelperJob {
    pub(super) helping: Helping,
    pub(super) agreement: [u8; 32],
    files: Files,
    state: Mutex<State>,
    changed: Condvar,
    /// A party's parts are written one after the other.
    writing: Vec<Mutex<()>>,
}

impl HelperJob {
    /// The desk of a job, with what is left of a run on disk.
    pub(super) fn open(helping: Helping, state: &Path) -> Result<HelperJob> {
        let parties = helping.parties.len();
        let files = Files::open(state, &helping.terms.agreement()[..32])?;
        let mut own = State::default();
        if let Some((record, held)) = files.resume(parties)? {
            tracing::info!("{}: goes on with the run that was under way", helping.id);
            own.run = Some(Run::resumed(record, held));
            own.runs = 1;
        }
        Ok(HelperJob {
            agreement: helping.terms.agreement_bytes(),
            writing: (0..parties).map(|_| Mutex::default()).collect(),
            helping,
            files,
            state: Mutex::new(own),
            changed: Condvar::new(),
        })
    }

    /// Removes the directory if there is no run in it.
    pub(super) fn leave_nothing(&self) {
        self.files.leave_nothing();
    }

    /// Whether a run is under way.
    pub(super) fn is_running(&self) -> bool {
        self.lock().run.is_some()
    }

    /// Returns the number of parties that are there, and the number of bytes that are kept.
    pub(super) fn now(&self) -> (usize, u64) {
        let state = self.lock();
        let run = state.run.as_ref();
        let here = run.map_or(0, |run| run.members.iter().filter(|member| member.here > 0).count());
        (here, run.map_or(0, |run| run.held.values().sum()))
    }

    /// A party has come on a new connection: into the run that it is in if that has `begun`, or else into the next one.
    pub(super) fn arrive(
        &self,
        place: usize,
        (ticket, begun): (Ticket, bool),
        draining: bool,
        numbers: &Numbers,
    ) -> Result<Arrived> {
        let mut state = self.lock();
        if let Some(over) = state.over(&ticket) {
            return Ok(if over == Over::Finished { Arrived::Welcome } else { Arrived::Over(Some(over)) });
        }
        if begun && state.of(place, &ticket).is_none() {
            // Its keys are of a run that is no more: in a new one it would only be in the way of those who begin that.
            tracing::info!("{}: {} comes for a run of which nothing is known here", self.helping.id, self.name(place));
            return Ok(Arrived::Over(None));
        }
        if let Some(run) = &mut state.run {
            let member = &mut run.members[place];
            if run.record.tickets[place] == Some(ticket) {
                if member.here >= MAX_CONNECTIONS {
                    return Ok(Arrived::Busy);
                }
                member.here += 1;
                member.seen = Instant::now();
                return Ok(Arrived::Welcome);
            }
            if member.here > 0 {
                return Ok(Arrived::Busy);
            }
            if run.has_begun() {
                // Its keys have gone with the process that had them.
                self.end_run(&mut state, Over::gone(place), numbers);
            }
        }
        if state.run.is_none() {
            if draining {
                return Ok(Arrived::Ending);
            }
            let number = state.runs;
            state.runs += 1;
            let mut seed = Zeroizing::new([0; 32]);
            fresh_rng()?.fill_bytes(&mut *seed);
            state.run = Some(Run::new(number, self.helping.parties.len(), seed));
        }
        let Some(run) = &mut state.run else { return Ok(Arrived::Ending) };
        run.record.tickets[place] = Some(ticket);
        run.record.words[place] = None;
        self.files.record(&run.record)?;
        run.members[place].here = 1;
        run.members[place].seen = Instant::now();
        tracing::info!("{}: {} is here", self.helping.id, self.name(place));
        drop(state);
        self.changed.notify_all();
        Ok(Arrived::Welcome)
    }

    /// A connection of a party has ended.
    pub(super) fn depart(&self, place: usize, ticket: &Ticket) {
        if let Some(run) = self.lock().of(place, ticket) {
            let member = &mut run.members[place];
            member.here = member.here.saturating_sub(1);
            member.seen = Instant::now();
            if member.here == 0 {
                run.unsay(place);
            }
        }
    }

    /// A party tells its word, and is told those of all, or who is missing.
    pub(super) fn announce(
        &self,
        place: usize,
        ticket: &Ticket,
        word: &[u8],
        numbers: &Numbers,
    ) -> Result<Told<std::result::Result<Vec<u8>, Vec<u8>>>> {
        let mut state = self.lock();
        let Some(run) = state.of(place, ticket) else { return Ok(state.gone(ticket)) };
        let told = &mut run.record.words[place];
        if word.len() != self.helping.word_bytes() || told.as_ref().is_some_and(|told| told != word) {
            return Ok(self.refuse(&mut state, place, "its message cannot be read", numbers));
        }
        if told.is_none() {
            *told = Some(word.to_vec());
            self.files.record(&run.record)?;
            if run.has_begun() {
                tracing::info!("{}: all parties are here", self.helping.id);
            }
            self.changed.notify_all();
        }
        let told = self.wait(state, place, ticket, |run| {
            run.has_begun().then(|| run.record.words.iter().flatten().flatten().copied().collect())
        });
        if !matches!(told, Told::NotYet) {
            return Ok(told.map(Ok));
        }
        let mut state = self.lock();
        let Some(run) = state.of(place, ticket) else { return Ok(state.gone(ticket)) };
        let missing = |place: &usize| run.record.words[*place].is_none() && run.members[*place].here == 0;
        Ok(Told::This(Err((0..run.members.len()).filter(missing).map(|place| place as u8).collect())))
    }

    /// A party leaves a part.
    pub(super) fn leave(
        &self,
        place: usize,
        ticket: &Ticket,
        key: Key,
        part: &[u8],
        numbers: &Numbers,
    ) -> Result<Told<()>> {
        let _one_by_one = super::lock(&self.writing[place]);
        {
            let mut state = self.lock();
            let Some(run) = state.of(place, ticket) else { return Ok(state.gone(ticket)) };
            run.members[place].seen = Instant::now();
            let known = match key.to {
                DepotParty::Helper => true,
                DepotParty::Party(to) => usize::from(to) < run.members.len() && usize::from(to) != place,
            };
            if !run.has_begun() || !known {
                return Ok(self.refuse(&mut state, place, "it left a message that no party waits for", numbers));
            }
            if run.held.contains_key(&key) {
                // Asked again, because the answer was lost; what was worked on already is there no more.
                let same = self.files.part(&key).map_or(true, |kept| kept == part);
                return Ok(if same {
                    Told::This(())
                } else {
                    self.refuse(&mut state, place, "it replaced an earlier message by a different one", numbers)
                });
            }
            let most = self.helping.most_bytes(place)?;
            let member = &mut run.members[place];
            if member.left + part.len() as u64 > most || member.parts >= MAX_PARTS + most / PART_BYTES {
                return Ok(self.refuse(&mut state, place, "it leaves more than the agreed sizes take", numbers));
            }
            member.left += part.len() as u64;
            member.parts += 1;
            member.asking += 1;
        }
        let kept = self.files.keep(&key, part);
        let mut state = self.lock();
        let Some(run) = state.of(place, ticket) else {
            // The run was over meanwhile, and its files are gone but for this one.
            self.files.forget(&key);
            return Ok(state.gone(ticket));
        };
        let member = &mut run.members[place];
        member.asking -= 1;
        member.seen = Instant::now();
        if let Err(error) = kept {
            // It is not there, and will be left again.
            member.left -= part.len() as u64;
            member.parts -= 1;
            return Err(error);
        }
        run.held.insert(key, part.len() as u64);
        numbers.received.fetch_add(part.len() as u64, Ordering::Relaxed);
        drop(state);
        self.changed.notify_all();
        Ok(Told::This(()))
    }

    /// A party collects a part that is for it.
    pub(super) fn collect(&self, place: usize, ticket: &Ticket, key: Key, numbers: &Numbers) -> Result<Told<Vec<u8>>> {
        let state = self.lock();
        let there = self.wait(state, place, ticket, |run| run.held.contains_key(&key).then_some(()));
        let part = if matches!(there, Told::This(())) { self.files.part(&key)? } else { Vec::new() };
        numbers.sent.fetch_add(part.len() as u64, Ordering::Relaxed);
        Ok(there.map(|()| part))
    }

    /// A party is done.
    pub(super) fn done(&self, place: usize, ticket: &Ticket, numbers: &Numbers) -> Result<Told<()>> {
        let mut state = self.lock();
        let Some(run) = state.of(place, ticket) else {
            return Ok(match state.over(ticket) {
                Some(Over::Finished) => Told::This(()),
                _ => state.gone(ticket),
            });
        };
        run.record.done[place] = true;
        self.files.record(&run.record)?;
        if run.record.done.iter().all(|done| *done) {
            self.end_run(&mut state, Over::Finished, numbers);
        }
        Ok(Told::This(()))
    }

    /// A party cannot go on.
    pub(super) fn abort(
        &self,
        place: usize,
        ticket: &Ticket,
        kind: ErrorKind,
        culprit: Option<DepotParty>,
        numbers: &Numbers,
    ) {
        let mut state = self.lock();
        if state.of(place, ticket).is_some() {
            let by = DepotParty::Party(place as u8);
            let known = |culprit: &DepotParty| match culprit {
                DepotParty::Helper => true,
                DepotParty::Party(place) => usize::from(*place) < self.helping.parties.len(),
            };
            self.end_run(&mut state, Over::Ended { by, kind, culprit: culprit.filter(known) }, numbers);
        }
    }

    /// A party has other terms for this job: those who wait for it wait in vain.
    pub(super) fn differs(&self, place: Option<usize>, numbers: &Numbers) {
        let mut state = self.lock();
        let waited = state.run.as_ref().is_some_and(|run| !run.has_begun());
        if let (true, Some(place)) = (waited, place) {
            let over = Over::Ended { by: DepotParty::Party(place as u8), kind: ErrorKind::Terms, culprit: None };
            self.end_run(&mut state, over, numbers);
        }
    }

    /// Ends what takes too long.
    pub(super) fn look(&self, timeout: Duration, patience: Duration, numbers: &Numbers) {
        let mut state = self.lock();
        let Some(run) = &mut state.run else { return };
        let begun = run.has_begun();
        for place in 0..run.members.len() {
            let (member, idle) = (&run.members[place], run.members[place].seen.elapsed());
            if run.record.done[place] || run.record.tickets[place].is_none() {
                continue;
            }
            let away = member.here == 0 && idle > timeout;
            let silent = member.here > 0 && member.asking == 0 && idle > patience;
            if begun && (away || silent) {
                let what = if away { "was away" } else { "did nothing" };
                tracing::warn!("{}: {} {what} for {}", self.helping.id, self.name(place), duration(idle));
                return self.end_run(&mut state, Over::gone(place), numbers);
            }
            if !begun && away {
                run.record.tickets[place] = None;
                run.record.words[place] = None;
                tracing::info!("{}: {} has left", self.helping.id, self.name(place));
                if let Err(error) = self.files.record(&run.record) {
                    tracing::error!("{}: {error}", self.helping.id);
                }
            }
        }
        if !begun && run.record.tickets.iter().all(Option::is_none) {
            state.run = None;
            let _ = self.files.clear();
        }
    }

    /// Waits a while until `found` finds something.
    fn wait<T>(
        &self,
        mut state: MutexGuard<'_, State>,
        place: usize,
        ticket: &Ticket,
        found: impl Fn(&Run) -> Option<T>,
    ) -> Told<T> {
        let until = Instant::now() + WAIT;
        if let Some(run) = state.of(place, ticket) {
            run.members[place].asking += 1;
        }
        loop {
            let Some(run) = state.of(place, ticket) else { return state.gone(ticket) };
            let found = found(run);
            let left = until.checked_duration_since(Instant::now());
            match (found, left) {
                (None, Some(left)) => {
                    state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
                }
                (found, _) => {
                    run.members[place].asking -= 1;
                    run.members[place].seen = Instant::now();
                    return found.map_or(Told::NotYet, Told::This);
                }
            }
        }
    }

    /// A party breaks the rules.
    fn refuse<T>(&self, state: &mut State, place: usize, what: &str, numbers: &Numbers) -> Told<T> {
        tracing::warn!("{}: {}: {what}", self.helping.id, self.name(place));
        let culprit = Some(DepotParty::Party(place as u8));
        let over = Over::Ended { by: DepotParty::Helper, kind: ErrorKind::Protocol, culprit };
        self.end_run(state, over, numbers);
        Told::Over(Some(over))
    }

    fn end_run(&self, state: &mut State, over: Over, numbers: &Numbers) {
        let Some(run) = state.run.take() else { return };
        let left: u64 = run.members.iter().map(|member| member.left).sum();
        let (id, took) = (&self.helping.id, duration(run.began.elapsed()));
        match over {
            Over::Finished => {
                tracing::info!("{id}: done in {took}: the parties left {}", bytes(left));
                numbers.finished.fetch_add(1, Ordering::Relaxed);
            }
            Over::Ended { by, kind, culprit } => {
                let because = culprit.map_or(String::new(), |culprit| format!(" because of {}", self.named(culprit)));
                tracing::info!("{id}: ended by {}{because} ({kind:?}) after {took}", self.named(by));
                numbers.failed.fetch_add(1, Ordering::Relaxed);
            }
        }
        state.remember(run, over);
        if let Err(error) = self.files.clear() {
            tracing::warn!("{error}");
        }
        self.changed.notify_all();
    }

    fn named(&self, place: DepotParty) -> &str {
        match place {
            DepotParty::Helper => "the helper",
            DepotParty::Party(place) => self.name(usize::from(place)),
        }
    }

    fn name(&self, place: usize) -> &str {
        self.helping.parties.get(place).map_or("", |party| party.name.as_str())
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        super::lock(&self.state)
    }
}
