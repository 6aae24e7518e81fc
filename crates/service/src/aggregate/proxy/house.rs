//! What the proxy does by itself: it follows the database's rounds, has their secrets, shuffles and sends what has come.

use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tacita_core::{Error, Result};
use tacita_node::base::hex::hex;
use tacita_node::base::text::counted;

use super::round::Round;
use super::workers::WORKERS;
use super::{MOST_LIST_BYTES, Proxy, lock};
use crate::aggregate::queue::Shuffled;
use crate::aggregate::rounds::{Completion, Open, State as Stage, Status, check_name, of_other_terms};
use crate::aggregate::transport::{Answer, Ask, Client, Kind, Persistence};

/// How often the database is asked how its rounds stand.
const LOOK: Duration = Duration::from_millis(250);

/// After how long of silence it is said who is silent, and how often again.
pub(super) const TELL: Duration = Duration::from_secs(10);

/// Rounds that the database is asked for at once: each takes at most a few KiB of an answer.
const PAGE_ROUNDS: usize = 512;

/// Rounds that are followed, at most.
const MAX_ROUNDS: usize = 1 << 17;

/// Memory of a shuffle.
const SHUFFLE_BYTES: u64 = 64 << 20;

/// Bytes of an answer.
pub(super) const MOST_BYTES: usize = 1 << 16;

/// What is tried until it succeeds, or the proxy ends.
pub(super) const FOR_GOOD: Persistence = Persistence { silence: Duration::MAX, busy: Duration::MAX };

/// What is kept of a round beside its secrets and its queue.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    open: Open,
    /// What the database is told at the end.
    completion: Option<Completion>,
    /// The proxy to which what is here is handed over, once that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    handed_to: Option<usize>,
}

impl Proxy {
    /// Takes up the rounds of before.
    pub(super) fn load(&self) -> Result<()> {
        for file in
            self.folder.names()?.into_iter().filter(|name| name.starts_with("round-") && name.ends_with(".json"))
        {
            let Record { open, .. } = self.record(&file)?;
            let secret = self.keys.load(&open.round)?.ok_or_else(|| self.keys.none(&open.round))?;
            let name = open.round.clone();
            let _of = tracing::error_span!("load", round = name).entered();
            let round = Round::new(&self.setting, &self.identity, &self.state, self.queue_bytes, &secret, open)
                .map_err(|error| of_other_terms(&name, error))?;
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
            scope.spawn(|| self.database.keep_in_touch(&Ask::get("/v1/rounds?limit=1", MOST_LIST_BYTES)));
            for _ in 0..WORKERS {
                scope.spawn(|| self.workers.work(|round| self.attend(round)));
            }
            let _ending = self.workers.ending();
            self.follow()
        })
    }

    fn follow(&self) -> Result<()> {
        let (mut pause, mut silent, mut told) = (LOOK, None::<Instant>, Instant::now());
        while !self.cancel.is_cancelled() {
            self.admission.refresh();
            match self.poll() {
                Ok(all) => {
                    (pause, silent) = (LOOK, None);
                    *lock(&self.told) = all.iter().map(|status| (status.round.clone(), status.clone())).collect();
                    self.looks.send_modify(|looks| *looks += 1);
                    all.iter().for_each(|status| self.consider(status));
                }
                Err(Error::Interrupted) => break,
                // Other terms do not pass by themselves. A database that does not let this proxy in may be started anew with a job file that does.
                Err(error @ Error::Terms(_)) => {
                    self.cancel.cancel();
                    return Err(error);
                }
                Err(error) => {
                    let since = *silent.get_or_insert_with(Instant::now);
                    if since.elapsed() > TELL && told.elapsed() > TELL {
                        told = Instant::now();
                        tracing::warn!("{error}; trying again since {} s", since.elapsed().as_secs());
                    }
                    pause = (pause * 2).min(8 * LOOK);
                }
            }
            if self.database.rest(pause).is_err() {
                break;
            }
        }
        Ok(())
    }

    /// How the database's rounds stand: it tells them in pages, in the order of their names.
    fn poll(&self) -> Result<Vec<Status>> {
        let mut all: Vec<Status> = Vec::new();
        loop {
            let after = all.last().map(|last| format!("&after={}", last.round)).unwrap_or_default();
            let ask = Ask::get(format!("/v1/rounds?limit={PAGE_ROUNDS}{after}"), MOST_LIST_BYTES);
            let (answer, by) = self.database.once(&ask)?;
            if !answer.is_ok() {
                let what = format!("does not tell its rounds: {}", answer.told().message);
                return Err(Error::Network { peer: by.name().to_owned(), what });
            }
            let page: Vec<Status> =
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
    fn is_due(&self, status: &Status, round: Option<&Round>) -> bool {
        match status.state {
            _ if self.was_strange_just_now(&status.round) => false,
            Stage::Open | Stage::Closed if round.is_some_and(|round| round.differs().is_some()) => {
                round.is_some_and(Round::is_to_tell)
            }
            Stage::Open => round.is_none_or(|round| {
                let (queue, conditions) = (&round.queue, &round.conditions);
                let sends = queue.has_outgoing() || queue.is_due(conditions);
                status.proxy.is_none() || conditions.batch_size.is_some() && sends
            }),
            Stage::Closed => status.waits.contains(&self.place),
            Stage::Removed => round.is_some(),
            _ => false,
        }
    }

    /// Has what is due of a round done.
    fn consider(&self, status: &Status) {
        let round = self.round(&status.round);
        let differs = round.as_ref().is_some_and(|round| round.compare(status));
        if let Some(round) = &round
            && status.state != Stage::Open
            && !differs
            && round.is_open()
            && let Err(error) = round.close()
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
            (Stage::Open | Stage::Closed, Some(round)) if round.differs().is_some() => self.tell_keys(&round),
            (Stage::Open | Stage::Closed, Some(_)) if lacks_key => self.offer(name).map(drop),
            (Stage::Open, None) => self.begin(&status),
            (Stage::Open, Some(round)) => self.send(&round).map(drop),
            (Stage::Closed, round) => self.finish(&status, round),
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
    fn begin(&self, status: &Status) -> Result<()> {
        let name = &status.round;
        // Before anything else: it may have begun with another directory.
        self.tell_directory(name)?;
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
        let round = Round::new(&self.setting, &self.identity, &self.state, self.queue_bytes, &secret, open.clone())?;
        self.write(name, &Record { open, completion: None, handed_to: None })?;
        let keys = round.fingerprint.short();
        lock(&self.rounds).insert(name.clone(), Arc::new(round));
        tracing::info!("round {name} takes reports, under the keys {keys}");
        Ok(())
    }

    /// Shuffles what may leave, and sends what has left. Returns why nothing of the rest can ever leave, if that is so.
    fn send(&self, round: &Round) -> Result<Option<String>> {
        if !self.others.is_empty() && round.queue.is_due(&round.conditions) {
            self.claim(round)?;
        }
        let reason = match round.queue.shuffle(&round.conditions, SHUFFLE_BYTES)? {
            Shuffled::Left { records } => {
                tracing::info!("round {}: shuffled {}", round.name, counted(records, "report"));
                None
            }
            Shuffled::Nothing | Shuffled::Waiting(_) => None,
            Shuffled::Unshufflable(reason) => Some(reason),
        };
        while let Some(batch) = round.queue.next_outgoing()? {
            let entries = (batch.records.len() / round.params.entry_bytes()) as u64;
            let path = round.fingerprint.on(&format!("/v1/rounds/{}/entries/{}", round.name, hex(&batch.id)));
            let (answer, by) = self.database.ask_in_turn(&Ask::put(path, batch.records, MOST_BYTES), FOR_GOOD)?;
            if !answer.is_ok() {
                return Err(refusal(&answer, by, &format!("entries of round {}", round.name)));
            }
            round.queue.sent(&batch.id)?;
            self.done.sent.fetch_add(entries, Ordering::Relaxed);
        }
        Ok(reason)
    }

    /// Sends all of a round that has closed, and says so.
    fn finish(&self, status: &Status, round: Option<Arc<Round>>) -> Result<()> {
        let name = &status.round;
        let file = file(name);
        let completion = match (&round, self.folder.has(&file)) {
            (Some(round), true) => {
                let mut record = self.record(&file)?;
                match record.completion {
                    Some(completion) => completion,
                    None => {
                        round.close()?;
                        self.come_together(round, status)?;
                        let unshufflable = self.send(round)?;
                        let total = self.names.all().map(|number| round.queue.accepted(number)).sum::<u64>();
                        let entries = if unshufflable.is_some() { total - round.queue.status().waiting } else { total };
                        let completion = Completion { entries, unshufflable };
                        record.completion = Some(completion.clone());
                        self.write(name, &record)?;
                        completion
                    }
                }
            }
            _ => {
                self.tell_directory(name)?;
                self.tell_nothing(status)?;
                tracing::warn!("round {name} closed before this proxy knew of it: it has no reports");
                Completion { entries: 0, unshufflable: None }
            }
        };
        if let Some(reason) = &completion.unshufflable {
            tracing::warn!("round {name} cannot be shuffled, and nothing of what waits is ever sent: {reason}");
        }
        let value = serde_json::to_value(&completion).map_err(|error| Error::Internal(error.to_string()))?;
        let path = format!("/v1/rounds/{name}/complete");
        let path = round.as_ref().map_or(path.clone(), |round| round.fingerprint.on(&path));
        let (answer, by) = self.database.ask(&Ask::json(path, &value, MOST_BYTES), FOR_GOOD)?;
        if !answer.is_ok() {
            return Err(refusal(&answer, by, &format!("the end of round {name}")));
        }
        tracing::info!("round {name}: the database has all of {}", counted(completion.entries, "report"));
        if let (Some(round), Some(_)) = (round, &completion.unshufflable) {
            round.queue.discard()?;
        }
        Ok(())
    }

    /// Removes what is left of a round that was removed at the database.
    fn forget(&self, name: &str, round: Option<Arc<Round>>) -> Result<()> {
        lock(&self.strange).remove(name);
        lock(&self.waits).remove(name);
        self.keys.forget(name)?;
        let failed = |error: std::io::Error| Error::Input(format!("{}: {error}", self.folder.path().display()));
        self.folder.remove(&file(name)).map_err(failed)?;
        lock(&self.rounds).remove(name);
        drop(round);
        let queue = self.state.join(format!("queue-{}", hex(name.as_bytes())));
        match std::fs::remove_dir_all(&queue) {
            Err(error) if queue.exists() => Err(failed(error)),
            _ => Ok(()),
        }
    }

    /// To which proxy what is here of a round is handed over, if that has begun; or notes that it does, to `begins`.
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
        opened.take(MOST_BYTES as u64).read_to_end(&mut bytes).map_err(|error| damaged(&error.to_string()))?;
        serde_json::from_slice(&bytes).map_err(|_| damaged("is no record of a round"))
    }

    fn write(&self, name: &str, record: &Record) -> Result<()> {
        let bytes = serde_json::to_vec(record).map_err(|error| Error::Internal(error.to_string()))?;
        self.folder.write(&file(name), &bytes)
    }
}

pub(super) fn wrong(database: &Client, check: &str) -> Error {
    Error::Protocol { peer: database.name().to_owned(), check: check.to_owned() }
}

/// Why the database does not take what belongs to a round: it may be over, or fail for a while.
pub(super) fn refusal(answer: &Answer, database: &Client, what: &str) -> Error {
    let told = answer.told();
    let check = format!("it does not take {what}: {}", told.message);
    match told.error {
        Kind::Closed | Kind::OtherKeys | Kind::Failed => Error::NotReady(check),
        _ => wrong(database, &check),
    }
}

/// The record of a round.
fn file(name: &str) -> String {
    format!("round-{}.json", hex(name.as_bytes()))
}
