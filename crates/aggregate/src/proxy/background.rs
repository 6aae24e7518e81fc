//! Background work of the proxy: it follows the database's rounds, has their secrets, and shuffles and sends the
//! reports that have come.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};
use tacita_node::base::hex::hex;
use tacita_node::base::text::counted;
use tacita_node::base::text::json;

use super::asking::{LOG_INTERVAL, MAX_BYTES, POLL_INTERVAL, TURN, refusal, wrong};
use super::journal::file_name;
use super::round::{Round, queue_path};
use super::track::Track;
use super::workers::WORKERS;
use super::{Proxy, lock};
use crate::queue::{Queue, ShuffleOutcome};
use crate::step;
use crate::transport::{ApiRequest, ApiResponse};
use crate::wire::held::MAX_LIST_BYTES;
use crate::wire::reply::RefusalReason;
use crate::wire::rounds::{Completion, Open, RoundState, RoundStatus, check_name, of_other_terms};

/// Rounds that the database is asked for at once: each takes at most a few KiB of an answer.
const PAGE_ROUNDS: usize = 512;

/// Rounds that are followed, at most.
const MAX_ROUNDS: usize = 1 << 17;

/// Memory of a shuffle.
const SHUFFLE_BYTES: u64 = 64 << 20;

/// Data that is kept of a round beside its secrets and its queue.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    open: Open,
    /// Report to the database at the end of the round.
    completion: Option<Completion>,
    /// The proxy to which what is here is handed over, once that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handed_to: Option<usize>,
    /// Reports that were discarded, as that proxy is lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    discarded: Option<u64>,
}

impl Proxy {
    /// Takes up the rounds of before.
    pub(super) fn load(&self) -> Result<()> {
        for file in
            self.folder.names()?.into_iter().filter(|name| name.starts_with("round-") && name.ends_with(".json"))
        {
            let Record { open, completion, .. } = self.record(&file)?;
            if !Queue::is_there(&queue_path(&self.state, &open.round)) {
                self.lose(&open.round, "its queue is gone");
                continue;
            }
            let track = Track::open(&self.folder, &open.round)?;
            let secret = self.keys.load(&open.round)?.ok_or_else(|| self.keys.none(&open.round))?;
            let name = open.round.clone();
            let _of = tracing::error_span!("load", round = name).entered();
            let round = Round::new(&self.setting, &self.identity, &self.state, self.queue_bytes, &secret, open, track)
                .map_err(|error| of_other_terms(&name, error))?;
            if let Err(what) =
                round.tracked(|track| Ok(track.check(&round.queue, &self.names, completion.is_some())))?
            {
                self.lose(&name, &what);
                continue;
            }
            let status = round.queue.status();
            tracing::info!(
                "round {}: {} wait, {} are to be sent",
                round.name,
                counted(status.waiting, "report"),
                counted(status.outgoing, "batch")
            );
            lock(&self.rounds).insert(round.name.clone(), Arc::new(round));
        }
        Ok(())
    }

    /// Follows the database until the proxy is to end.
    pub(super) fn keep(&self) -> Result<()> {
        std::thread::scope(|scope| {
            // Being asked for its rounds, a database notes whom it has heard.
            scope.spawn(|| self.database.keep_in_touch(&ApiRequest::get("/v1/rounds?limit=1", MAX_LIST_BYTES)));
            scope.spawn(|| self.cover_all());
            for _ in 0..WORKERS {
                scope.spawn(|| self.workers.work(|round| self.attend(round)));
            }
            let _ending = self.workers.ending();
            self.follow()
        })
    }

    fn follow(&self) -> Result<()> {
        let (mut pause, mut silent, mut told) = (POLL_INTERVAL, None::<Instant>, Instant::now());
        while !self.cancel.is_cancelled() {
            self.admission.refresh();
            match self.poll() {
                Ok(all) => {
                    (pause, silent) = (POLL_INTERVAL, None);
                    *lock(&self.told) = all.iter().map(|status| (status.round.clone(), status.clone())).collect();
                    self.looks.send_modify(|looks| *looks += 1);
                    all.iter().for_each(|status| self.consider(status));
                }
                Err(Error::Interrupted) => break,
                // Other terms do not pass by themselves. A database that does not let this proxy in may be started anew
                // with a job file that does.
                Err(error @ Error::Terms(_)) => {
                    self.cancel.cancel();
                    return Err(error);
                }
                Err(error) => {
                    let since = *silent.get_or_insert_with(Instant::now);
                    if since.elapsed() > LOG_INTERVAL && told.elapsed() > LOG_INTERVAL {
                        told = Instant::now();
                        tracing::warn!("{error}; trying again since {} s", since.elapsed().as_secs());
                    }
                    pause = (pause * 2).min(8 * POLL_INTERVAL);
                }
            }
            if self.database.rest(pause).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// Requests the status of the database's rounds, which come in pages in the order of their names.
    fn poll(&self) -> Result<Vec<RoundStatus>> {
        let mut all: Vec<RoundStatus> = Vec::new();
        loop {
            let after = all.last().map(|last| format!("&after={}", last.round)).unwrap_or_default();
            let ask = ApiRequest::get(format!("/v1/rounds?limit={PAGE_ROUNDS}{after}"), MAX_LIST_BYTES);
            let (answer, by) = self.database.once(&ask)?;
            if !answer.is_ok() {
                let what = format!("does not tell its rounds: {}", answer.told().message);
                return Err(Error::Network { peer: by.name().to_owned(), what });
            }
            let page: Vec<RoundStatus> =
                serde_json::from_slice(&answer.body).map_err(|_| wrong(by, "its rounds cannot be read"))?;
            if !page.iter().all(|status| check_name(&status.round).is_ok()) {
                return Err(wrong(by, "it names a round as no round can be named"));
            }
            let is_last = page.len() < PAGE_ROUNDS;
            all.extend(page);
            if !all.is_sorted_by(|one, next| one.round < next.round) {
                return Err(wrong(by, "its rounds are not in the order of their names"));
            }
            if is_last {
                return Ok(all);
            }
            if all.len() >= MAX_ROUNDS {
                return Err(wrong(by, "it has more rounds than a proxy follows"));
            }
        }
    }

    /// Whether something is due of a round.
    fn is_due(&self, status: &RoundStatus, round: Option<&Round>) -> bool {
        match status.state {
            _ if self.was_strange_just_now(&status.round) => false,
            RoundState::Open | RoundState::Closed if round.is_some_and(|round| round.differs().is_some()) => {
                round.is_some_and(Round::is_to_tell)
            }
            RoundState::Open => round.is_none_or(|round| {
                let (queue, conditions) = (&round.queue, &round.conditions);
                let sends = queue.has_outgoing() || queue.is_due(conditions);
                status.proxy.is_none() || conditions.batch_size.is_some() && sends
            }),
            RoundState::Closed => status.waits.contains(&self.place),
            RoundState::Removed => round.is_some() || lock(&self.lost).contains_key(&status.round),
            _ => false,
        }
    }

    /// Has what is due of a round done.
    fn consider(&self, status: &RoundStatus) {
        let round = self.round(&status.round);
        let differs = round.as_ref().is_some_and(|round| round.compare(status));
        if let Some(round) = &round
            && !differs
            && let Err(error) = round.follow(status.state)
        {
            tracing::error!("round {}: {error}", status.round);
        }
        if self.is_due(status, round.as_deref()) {
            self.workers.add(&status.round);
        }
    }

    /// Does what is due of a round, as it stands now: it may have waited for a worker.
    fn attend(&self, name: &str) {
        let Some(status) = lock(&self.told).get(name).cloned() else { return };
        let round = self.round(name);
        if self.cancel.is_cancelled() || !self.is_due(&status, round.as_deref()) {
            return;
        }
        let _of = tracing::error_span!("house", round = name).entered();
        // A database that was emptied, and has kept its key, waits for that of the proxies.
        let lacks_key = status.proxy.is_none();
        let done = match (status.state, round) {
            (RoundState::Open | RoundState::Closed, Some(round)) if round.differs().is_some() => self.tell_keys(&round),
            (RoundState::Open | RoundState::Closed, Some(_)) if lacks_key => self.offer(name).map(drop),
            (RoundState::Open, None) => self.begin(&status),
            (RoundState::Open, Some(round)) => self.send(&round).map(drop),
            (RoundState::Closed, round) => self.finish(&status, round),
            (_, round) => self.forget(name, round),
        };
        match done {
            Ok(()) => drop(lock(&self.waits).remove(name)),
            Err(Error::Interrupted) => (),
            // It is looked at again in a moment, and said once.
            Err(error @ (Error::NotReady(_) | Error::Network { .. } | Error::Authentication { .. })) => {
                let said = lock(&self.waits).insert(name.to_owned(), error.to_string());
                if said.is_none_or(|said| said != error.to_string()) {
                    tracing::debug!("round {name}: {error}");
                }
            }
            Err(error) => tracing::warn!("round {name}: {error}"),
        }
    }

    /// Has the secrets of a round that has opened, and takes reports from then on.
    fn begin(&self, status: &RoundStatus) -> Result<()> {
        let name = &status.round;
        // Before anything else: it may have begun with another directory.
        let track = self.tell_directory(name)?;
        let Some(database) = status.database.clone() else {
            return Err(wrong(self.database.current(), "a round of it has no key"));
        };
        let proxy = match status.proxy.clone() {
            Some(proxy) => proxy,
            None => self.offer(name)?,
        };
        let open =
            Open { round: name.clone(), database, proxy, most_reports: self.setting.own()?.own.round.max_reports };
        let secret = self.secret_of(&open)?;
        self.keys.use_up(name)?;
        let round =
            Round::new(&self.setting, &self.identity, &self.state, self.queue_bytes, &secret, open.clone(), track)?;
        // Behind the queue, which is never made anew for a record that is there.
        self.write(name, &Record { open, completion: None, handed_to: None, discarded: None })?;
        let keys = round.fingerprint.short();
        lock(&self.rounds).insert(name.clone(), Arc::new(round));
        tracing::info!("round {name} takes reports, under the keys {keys}");
        Ok(())
    }

    /// Shuffles what may leave, and sends what has left. Returns why nothing of the rest can ever leave, if that is so.
    fn send(&self, round: &Round) -> Result<Option<String>> {
        self.cover(round)?;
        if !self.others.is_empty() && round.queue.is_due(&round.conditions) {
            self.claim(round)?;
        }
        let reason = match round.queue.shuffle(&round.conditions, SHUFFLE_BYTES)? {
            ShuffleOutcome::Left { records } => {
                tracing::info!("round {}: shuffled {}", round.name, counted(records, "report"));
                None
            }
            ShuffleOutcome::Nothing | ShuffleOutcome::Waiting(_) => None,
            ShuffleOutcome::Unshufflable(reason) => Some(reason),
        };
        // An older copy of this directory would shuffle the same once more.
        self.cover(round)?;
        while let Some(batch) = round.queue.next_outgoing()? {
            // What comes meanwhile is not kept waiting until all of this is sent.
            self.cover(round)?;
            let entries = (batch.records.len() / round.params.entry_bytes()) as u64;
            let (answer, by) = round.presenting(|session| {
                let path = format!("/v1/rounds/{}/entries/{}?session={session}", round.name, hex(&batch.id));
                let ask = ApiRequest::put(round.fingerprint.on(&path), batch.records, MAX_BYTES);
                let done = self.database.ask_in_turn(&ask, TURN)?;
                let is_stale = is_stale(&done.0);
                Ok((done, is_stale))
            })?;
            if !answer.is_ok() {
                return Err(refusal(&answer, by, &format!("entries of round {}", round.name)));
            }
            round.queue.sent(&batch.id)?;
            self.done.sent.fetch_add(entries, Ordering::Relaxed);
        }
        Ok(reason)
    }

    /// Sends all of a round that has closed, and says so.
    fn finish(&self, status: &RoundStatus, round: Option<Arc<Round>>) -> Result<()> {
        let name = &status.round;
        let file = file(name);
        let (completion, session) = match (&round, self.folder.has(&file)) {
            (Some(round), true) => {
                let completion = match self.record(&file)?.completion {
                    Some(completion) => completion,
                    None => self.complete(status, round)?,
                };
                self.cover(round)?;
                (completion, round.tracked(|track| track.session())?)
            }
            _ => {
                let session = self.tell_directory(name)?.session()?;
                self.tell_nothing(status, session)?;
                tracing::warn!("round {name} closed before this proxy knew of it: it has no reports");
                (Completion { entries: 0, discarded: 0, unshufflable: None }, session)
            }
        };
        if let Some(reason) = &completion.unshufflable {
            tracing::warn!("round {name} cannot be shuffled, and its waiting reports are never sent: {reason}");
        }
        let value = json(serde_json::to_value(&completion))?;
        let path = format!("/v1/rounds/{name}/complete?session={session}");
        let path = round.as_ref().map(|round| round.fingerprint.on(&path)).unwrap_or(path);
        let (answer, by) = self.database.ask(&ApiRequest::json(path, &value, MAX_BYTES), TURN)?;
        if is_stale(&answer) {
            round.iter().for_each(|round| round.doubt());
            return Err(refusal(&answer, by, &format!("the end of round {name}")));
        }
        if !answer.is_ok() {
            return Err(refusal(&answer, by, &format!("the end of round {name}")));
        }
        tracing::info!("round {name}: the database has all of {}", counted(completion.entries, "report"));
        if let (Some(round), Some(_)) = (round, &completion.unshufflable) {
            round.queue.discard()?;
        }
        Ok(())
    }

    /// Sends all of a round that has closed here; what the database is told then.
    fn complete(&self, status: &RoundStatus, round: &Round) -> Result<Completion> {
        let name = &status.round;
        round.close()?;
        self.come_together(round, status)?;
        let unshufflable = self.send(round)?;
        round.check_queue(&self.names)?;
        let mut record = self.record(&file(name))?;
        let taken = self.names.all().map(|number| round.queue.accepted(number)).sum::<u64>();
        let waiting = if unshufflable.is_some() { round.queue.status().waiting } else { 0 };
        let discarded = record.discarded.unwrap_or(0);
        let entries = taken.saturating_sub(waiting).saturating_sub(discarded);
        let completion = Completion { entries, discarded, unshufflable };
        record.completion = Some(completion.clone());
        self.write(name, &record)?;
        Ok(completion)
    }

    /// Discards what was being handed over to a proxy that the round goes on without: how much that is, is on disk
    /// first.
    pub(super) fn discard(&self, round: &Round) -> Result<u64> {
        let mut record = self.record(&file(&round.name))?;
        let discarded = match record.discarded {
            Some(discarded) => discarded,
            None => round.queue.status().waiting,
        };
        record.discarded = Some(discarded);
        self.write(&round.name, &record)?;
        round.queue.discard()?;
        Ok(discarded)
    }

    /// Removes what is left of a round that was removed at the database.
    fn forget(&self, name: &str, round: Option<Arc<Round>>) -> Result<()> {
        lock(&self.strange).remove(name);
        lock(&self.lost).remove(name);
        lock(&self.waits).remove(name);
        self.keys.forget(name)?;
        let failed = |error: std::io::Error| Error::Input(format!("{}: {error}", self.folder.path().display()));
        self.folder.remove(&file(name)).map_err(failed)?;
        self.folder.remove(&file_name(name)).map_err(failed)?;
        lock(&self.rounds).remove(name);
        drop(round);
        let queue = queue_path(&self.state, name);
        match std::fs::remove_dir_all(&queue) {
            Err(error) if queue.exists() => Err(failed(error)),
            _ => Ok(()),
        }
    }

    /// Returns the proxy to which this proxy's part of a round is handed over, if that has begun; or notes that it
    /// begins, to `begins`.
    pub(super) fn handed_to(&self, name: &str, begins: Option<usize>) -> Result<Option<usize>> {
        let mut record = self.record(&file(name))?;
        if record.handed_to.is_none() && begins.is_some() {
            record.handed_to = begins;
            self.write(name, &record)?;
        }
        Ok(record.handed_to)
    }

    /// Whether all of a round has been sent.
    pub(super) fn completed(&self, name: &str) -> Result<bool> {
        Ok(self.record(&file(name))?.completion.is_some())
    }

    fn record(&self, file: &str) -> Result<Record> {
        let damaged =
            |what: &str| Error::Input(format!("{}: {what}: restore it from a backup", self.folder.at(file).display()));
        let mut bytes = Vec::new();
        let opened = self.folder.read(file).map_err(|error| damaged(&error.to_string()))?;
        opened.take(MAX_BYTES as u64).read_to_end(&mut bytes).map_err(|error| damaged(&error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|_| damaged("is no record of a round"))
    }

    fn write(&self, name: &str, record: &Record) -> Result<()> {
        let bytes = json(serde_json::to_vec(record))?;
        step("record")?;
        self.folder.write(&file(name), &bytes)?;
        step("record written")
    }
}

/// Whether a database holds another session of this state directory than it was shown.
pub(super) fn is_stale(answer: &ApiResponse) -> bool {
    !answer.is_ok() && answer.told().error == RefusalReason::Stale
}

/// The record of a round.
fn file(name: &str) -> String {
    format!("round-{}.json", hex(name.as_bytes()))
}
