//! The database: it keeps rounds and their rows, finds the rows that pass, has their keys told by the oracle, and gives results.

pub mod backup;
mod checks;
pub mod dashboard;
pub mod operator;
mod record;
mod reveal;
mod round;
mod routes;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tacita_core::protocol::aggregate::DatabaseKey;
use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::random::fresh_rng;
use tacita_node::identity::Identity;

use self::dashboard::Dashboard;
use self::record::Record;
use self::round::Round;
pub(super) use self::routes::batch_id;
use super::keys::{self, Keys};
use super::metrics::{Noted, rounds as by_state, timed};
pub use super::oracle::MOST_QUESTION_BYTES;
use super::rounds::{State, check_name};
use super::serve::Role;
use super::signed::{Purpose, Signed};
use super::store::{self, Storage};
use super::transport::{Admission, Client, Pool, Service};
use super::{Serving, Setting, Started};
use crate::clock;
use crate::status::{Check, Page};

/// How often it looks whether something is due.
const LOOK: Duration = Duration::from_millis(100);

/// How often it is said what does not go on.
const TELL: Duration = Duration::from_secs(10);

/// How to serve a database.
pub struct Databasing {
    /// What all roles are told.
    pub serving: Serving,
    /// Where rows are kept: a storage's URL; absent: in the state directory.
    pub storage: Option<String>,
    /// Rounds to open at the beginning, unless they are there.
    pub rounds: Vec<String>,
    /// How long the oracle may be silent, or the storage fail, before a round fails.
    pub patience: Duration,
    /// Bytes that the oracle is asked about in one question: a row of more is left out. See [`MOST_QUESTION_BYTES`].
    pub question_bytes: usize,
    /// Where its operator sees all this in a browser.
    pub dashboard: Option<Dashboard>,
}

pub(super) struct Database {
    setting: Arc<Setting>,
    identity: Identity,
    keys: Keys,
    storage: Box<dyn Storage>,
    noted: Arc<Noted>,
    rounds: Mutex<BTreeMap<String, Arc<Round>>>,
    oracles: Vec<Client>,
    admission: Arc<Admission>,
    pool: Pool,
    /// When each proxy was heard of last.
    heard: Mutex<BTreeMap<usize, Instant>>,
    /// What goes wrong with rounds and is tried again: since when, and what.
    troubled: Mutex<BTreeMap<String, (Instant, String)>>,
    began: Instant,
    patience: Duration,
    question_bytes: usize,
    cancel: Cancel,
}

/// Serves a database until it is cancelled.
///
/// Errors: [`Error::Input`] for what is wrong with files, directories and addresses; [`Error::Interrupted`] when it is cancelled.
pub fn serve(databasing: Databasing) -> Result<()> {
    let Databasing { serving, storage, rounds, patience, question_bytes, dashboard } = databasing;
    let setting = serving.setting.clone();
    let place = setting.place_of("database", &serving.identity)?;
    if setting.count("oracle")? == 0 || setting.count("proxy")? == 0 {
        return Err(Error::Input(
            "the job file names no [[proxy]] or no [[oracle]]: add them, with address and identity".into(),
        ));
    }
    let (folder, _lock) = keys::lock(&serving.state)?;
    let storage = match &storage {
        Some(url) => store::open(url)?,
        None => store::open(&format!("embedded:{}", serving.state.join("rows").display()))?,
    };
    let (storage, noted) = timed(storage);
    let allow = setting.own()?.own.participants.allow.clone();
    let admission = Arc::new(Admission::new(setting.services()?, setting.parties(), allow.as_deref())?);
    let dashboard = dashboard.map(|dashboard| dashboard.listen(&serving.state)).transpose()?;
    let identity = serving.identity.clone();
    let started = Started::new(serving, Service::Database(place))?;
    let oracles = (0..setting.count("oracle")?).map(|place| started.client(Service::Oracle(place)));
    let database = Database {
        keys: Keys::new(folder, &identity, keys::Role::Database),
        oracles: oracles.collect::<Result<_>>()?,
        storage,
        noted,
        rounds: Mutex::default(),
        admission: admission.clone(),
        pool: Pool::new(),
        heard: Mutex::default(),
        troubled: Mutex::default(),
        began: Instant::now(),
        patience,
        question_bytes: question_bytes.min(MOST_QUESTION_BYTES),
        cancel: started.serving.cancel.clone(),
        setting,
        identity,
    };
    database.load()?;
    for round in rounds {
        if lock(&database.rounds).get(&round).is_none() {
            database.open(&round)?;
        }
    }
    let database = Arc::new(database);
    if let Some(dashboard) = dashboard {
        dashboard.serve(&database, &started.runtime)?;
    }
    let routes = routes::routes(&database);
    started.serve(database, admission, routes)
}

impl Database {
    /// Takes up the rounds of before.
    fn load(&self) -> Result<()> {
        for name in self.storage.rounds()? {
            let Some(record) = Record::load(&*self.storage, &name)? else { continue };
            let _of = tracing::error_span!("load", round = name).entered();
            if record.state == State::Removed {
                // A removal may have been cut off.
                self.storage.remove(&name)?;
                record.save(&*self.storage, &name)?;
                self.keys.forget(&name)?;
            }
            tracing::info!("round {name} {}", record.state.told());
            let round = Round::new(&self.setting, &self.keys, name.clone(), record)?;
            lock(&self.rounds).insert(name, Arc::new(round));
        }
        Ok(())
    }

    /// Opens a round, with keys of its own.
    fn open(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let _of = tracing::error_span!("open", round = name).entered();
        let mut rounds = lock(&self.rounds);
        if let Some(round) = rounds.get(name) {
            let state = round.record().state;
            return match state {
                State::Open => Ok(()),
                _ => Err(Error::Input(format!("round {name} {}: open one of another name", state.told()))),
            };
        }
        if let Some(moment) = self.setting.own()?.own.round.close_at
            && moment.system_time() <= std::time::SystemTime::now()
        {
            return Err(Error::Input(format!(
                "round.close_at = \"{moment}\" is over: agree on a later one before a round opens"
            )));
        }
        let params = self.setting.params(name)?;
        let mut rng = fresh_rng()?;
        let secret = match self.keys.load(name)? {
            Some(secret) => secret,
            None => {
                let secret = keys::fresh(&self.setting, keys::Role::Database, name)?;
                self.keys.keep(name, &secret)?;
                tracing::info!("round {name}: made the database's key");
                secret
            }
        };
        let key = DatabaseKey::from_bytes(&params, &secret).ok_or_else(|| self.keys.none(name))?;
        let purpose = Purpose { agreement: &self.setting.agreement, round: name, role: keys::Role::Database };
        let signed = Signed::new(&self.identity, purpose, &key.public(&params, &mut rng))?;
        self.keys.use_up(name)?;
        let record = Record::new(clock::now(), signed);
        record.save(&*self.storage, name)?;
        rounds.insert(name.to_owned(), Arc::new(Round::new(&self.setting, &self.keys, name.to_owned(), record)?));
        tracing::info!("round {name} is open");
        Ok(())
    }

    fn round(&self, name: &str) -> Option<Arc<Round>> {
        lock(&self.rounds).get(name).cloned()
    }

    fn all(&self) -> Vec<Arc<Round>> {
        lock(&self.rounds).values().cloned().collect()
    }

    /// The round that late reports are for: the one that was opened last.
    fn next(&self) -> Option<String> {
        let open = self.all().into_iter().filter(|round| round.record().state == State::Open);
        open.max_by_key(|round| round.record().opened).map(|round| round.name.clone())
    }

    /// Closes a round: from then on it takes no reports.
    fn close(&self, round: &Round) -> Result<()> {
        let mut record = round.record();
        if record.state == State::Open {
            // What is not on disk has not happened.
            let closed = Record { state: State::Closed, closed: Some(clock::now()), ..record.clone() };
            closed.save(&*self.storage, &round.name)?;
            *record = closed;
            tracing::info!("round {} is closed", round.name);
        }
        Ok(())
    }

    /// Ends a round without a result.
    fn fail(&self, round: &Round, error: &Error) {
        let mut record = round.record();
        if record.state.is_over() {
            return;
        }
        let may_pass = matches!(error, Error::Network { .. } | Error::NotReady(_) | Error::Input(_));
        let again = match may_pass && record.counts.is_some() {
            true => ": when that is mended, `tacita round reveal` takes it up again",
            false => "",
        };
        tracing::error!("round {} has no result: {error}{again}", round.name);
        record.state = State::Failed;
        record.failure = Some(super::rounds::Failure::of(error));
        if let Err(error) = record.save(&*self.storage, &round.name) {
            tracing::error!("round {}: {error}", round.name);
        }
    }

    /// Whom a round waits for.
    fn waits_for(&self, record: &Record) -> Vec<(usize, String)> {
        if record.state != State::Closed {
            return Vec::new();
        }
        let heard = lock(&self.heard);
        let proxies = self.setting.count("proxy").unwrap_or_default();
        let missing = (0..proxies).filter(|place| !record.complete.contains_key(place));
        let told = |place: usize| {
            let name = self.setting.name(Service::Proxy(place)).unwrap_or_default();
            let silent = heard.get(&place).unwrap_or(&self.began).elapsed().as_secs();
            match silent {
                ..10 => name,
                _ => format!("{name}, silent for {silent} s"),
            }
        };
        missing.map(|place| (place, told(place))).collect()
    }

    /// Notes that something goes wrong with a round; since when something does.
    fn trouble(&self, round: &str, error: &Error) -> Instant {
        let mut troubled = lock(&self.troubled);
        let (since, what) = troubled.entry(round.to_owned()).or_insert_with(|| (Instant::now(), String::new()));
        *what = error.to_string();
        *since
    }

    /// What is due of one round.
    fn look(&self, round: &Round) -> Result<()> {
        let record = round.record().clone();
        match record.state {
            State::Open => {
                let due = self.setting.own()?.own.round.close_at;
                if due.is_some_and(|moment| moment.system_time() <= std::time::SystemTime::now()) {
                    self.close(round)?;
                }
            }
            State::Closed if self.waits_for(&record).is_empty() => {
                let unshufflable = record
                    .complete
                    .iter()
                    .find_map(|(place, one)| one.unshufflable.as_ref().map(|reason| (*place, reason)));
                match unshufflable {
                    Some((place, reason)) => {
                        let proxy = self.setting.name(Service::Proxy(place))?;
                        self.fail(round, &Error::Terms(format!("{proxy} could not shuffle its reports: {reason}")));
                    }
                    None => self.count(round)?,
                }
            }
            State::Revealing => self.reveal(round)?,
            _ => (),
        }
        Ok(())
    }
}

impl Role for Database {
    fn word(&self) -> &'static str {
        "database"
    }

    fn keep_house(&self) -> Result<()> {
        let mut told: BTreeMap<String, Instant> = BTreeMap::new();
        while !self.cancel.is_cancelled() {
            self.admission.refresh();
            for round in self.all() {
                let _of = tracing::error_span!("house", round = round.name).entered();
                match self.look(&round) {
                    Ok(()) => {
                        lock(&self.troubled).remove(&round.name);
                    }
                    Err(Error::Interrupted) => return Ok(()),
                    // What may pass is tried again; whoever is to blame, or what cannot pass, ends the round.
                    Err(error) => {
                        let since = self.trouble(&round.name, &error);
                        let may_pass = matches!(error, Error::Network { .. } | Error::NotReady(_) | Error::Input(_));
                        match may_pass && since.elapsed() < self.patience {
                            true => {
                                if told
                                    .insert(round.name.clone(), Instant::now())
                                    .is_none_or(|last| last.elapsed() > TELL)
                                {
                                    tracing::warn!("round {}: {error}; trying again", round.name);
                                }
                            }
                            false => self.fail(&round, &error),
                        }
                    }
                }
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn learned(&self) -> Vec<String> {
        self.setting.own().map_or_else(|_| Vec::new(), |own| super::serve::learned(own, "database"))
    }

    fn numbers(&self) -> Vec<(&'static str, u64)> {
        let (mut rounds, mut reports) = (0, 0);
        for round in self.all() {
            rounds += 1;
            reports += self.storage.totals(&round.name).map_or(0, |totals| totals.reports);
        }
        vec![("rounds", rounds), ("reports", reports)]
    }

    fn measures(&self, page: &mut Page) {
        self.noted.tell(page);
        by_state(page, self.all().iter().map(|round| round.state()));
    }

    fn checks(&self) -> Vec<Check<'_>> {
        self.look_after()
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
