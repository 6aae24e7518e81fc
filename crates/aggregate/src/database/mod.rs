//! The database: it keeps rounds and their rows, finds the rows that pass, has their keys told by the oracle, and gives
//! results.

pub mod backup;
mod checks;
mod condition;
pub mod dashboard;
pub(super) mod directories;
mod follow;
mod keyed;
mod list;
mod noise_seed;
pub mod operator;
pub(crate) mod progress;
pub(crate) mod record;
mod reveal;
mod round;
mod routes;
mod secrets;
mod work;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract;
use tacita_core::protocol::aggregate::DatabaseKey;
use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::random::fresh_rng;
use tacita_node::identity::Identity;
use tacita_serve::clock;
use tacita_serve::status::{Check, MetricsPage};
use tacita_serve::sync::lock;

use self::dashboard::Dashboard;
use self::noise_seed::NoiseSeed;
use self::record::{Kept, Record};
use self::round::Round;
use self::secrets::Offers;
use crate::keys::{self, StateKeys};
use crate::metrics::{Noted, rounds as by_state, timed};
use crate::role::Role;
use crate::serve::{RoleConfig, Started};
use crate::setting::ServiceConfig;
use crate::store::{self, Holder, Storage};
use crate::transport::{Admission, Client, RequestPool, Who};
use crate::wire::questions::MAX_QUESTION_BYTES;
use crate::wire::reply::{ApiError, RefusalReason};
use crate::wire::rounds::{RoundFailure, RoundState, check_name};
use crate::wire::same_keys::KeysFingerprint;
use crate::wire::service::Service;
use crate::wire::signed::{self, KeyPurpose, Signed};

/// Time within which another database has to begin an answer.
const PEER_PATIENCE: Duration = Duration::from_secs(3);

/// Configuration of a database.
pub struct DatabaseConfig {
    /// Settings that all roles share.
    pub serving: RoleConfig,
    /// URL of the storage that keeps rows; if absent, they are kept in the state directory.
    pub storage: Option<String>,
    /// Rounds to open at the beginning, unless they are there.
    pub rounds: Vec<String>,
    /// Time for which the oracle may be silent, or the storage fail, before a round fails.
    pub patience: Duration,
    /// Bytes that the oracle is asked about in one question: a row of more is left out. See [`MAX_QUESTION_BYTES`].
    pub question_bytes: usize,
    /// Dashboard on which the operator sees all this in a browser.
    pub dashboard: Option<Dashboard>,
}

pub(super) struct Database {
    setting: Arc<ServiceConfig>,
    identity: Identity,
    keys: StateKeys,
    storage: Box<dyn Storage>,
    noted: Arc<Noted>,
    rounds: Mutex<BTreeMap<String, Arc<Round>>>,
    oracles: Vec<Client>,
    /// The other databases of the job.
    peers: Vec<Client>,
    /// Identifier of this database as the holder of leases.
    holder: Holder,
    /// Rounds to open at the beginning.
    wanted: Vec<String>,
    /// Held while a round is opened.
    opening: Mutex<()>,
    /// Fingerprints of the records of rounds, when they were last taken up.
    seen: Mutex<BTreeMap<String, Vec<u8>>>,
    offers: Mutex<Offers>,
    /// The round that is worked on.
    at_work: Mutex<Option<String>>,
    admission: Arc<Admission>,
    pool: RequestPool,
    /// Time at which each proxy was last heard of.
    heard: Mutex<BTreeMap<usize, Instant>>,
    /// Time at which each proxy last came with another state directory than a round knows it by.
    strange: Mutex<BTreeMap<usize, Instant>>,
    /// Time at which each proxy last came under other keys of a round, and the fingerprint of these.
    other_keys: Mutex<BTreeMap<(usize, String), (Instant, KeysFingerprint)>>,
    /// Troubles of rounds whose operations are tried again: the time since which they last, and their description.
    troubled: Mutex<BTreeMap<String, (Instant, String)>>,
    began: Instant,
    patience: Duration,
    question_bytes: usize,
    cancel: Cancel,
}

/// Arguments that all requests about a round have in common.
type At = (extract::State<Arc<Database>>, Who, extract::Path<String>);

/// Serves a database until it is cancelled.
///
/// Ends when it is cancelled. Errors: [`Error::Input`] for what is wrong with files, directories and addresses.
pub fn serve(databasing: DatabaseConfig) -> Result<()> {
    let DatabaseConfig { serving, storage, rounds, patience, question_bytes, dashboard } = databasing;
    let setting = serving.setting.clone();
    let place = setting.place_of("database", &serving.identity)?;
    setting.check_roles()?;
    let databases = setting.count("database")?;
    check_storage(databases, storage.as_deref())?;
    let (folder, _lock) = keys::lock(&serving.state, Some("database"))?;
    let storage = open_storage(storage.as_deref(), &serving.state)?;
    let (storage, noted) = timed(storage);
    let allow = setting.own()?.own.participants.allow.clone();
    let admission = Arc::new(Admission::new(setting.services()?, setting.parties(), allow.as_deref())?);
    let dashboard = dashboard.map(|dashboard| dashboard.listen(&serving.state)).transpose()?;
    let identity = serving.identity.clone();
    let started = Started::new(serving, Service::Database(place))?;
    let oracles = (0..setting.count("oracle")?).map(|place| started.client(Service::Oracle(place)));
    let peers = (0..databases).filter(|other| *other != place).map(|other| started.client(Service::Database(other)));
    let database = Database {
        keys: StateKeys::new(folder, &identity, signed::KeyRole::Database),
        oracles: oracles.collect::<Result<_>>()?,
        peers: peers.map(|peer| Ok(peer?.answered_within(PEER_PATIENCE))).collect::<Result<_>>()?,
        holder: holder(&identity),
        wanted: rounds,
        opening: Mutex::default(),
        seen: Mutex::default(),
        offers: Mutex::default(),
        at_work: Mutex::default(),
        storage,
        noted,
        rounds: Mutex::default(),
        admission: admission.clone(),
        pool: RequestPool::new(),
        heard: Mutex::default(),
        strange: Mutex::default(),
        other_keys: Mutex::default(),
        troubled: Mutex::default(),
        began: Instant::now(),
        patience,
        question_bytes: question_bytes.min(MAX_QUESTION_BYTES),
        cancel: started.serving.cancel.clone(),
        setting,
        identity,
    };
    database.load()?;
    // Where there are others, they are asked: that waits until this one answers them as well.
    if !database.has_peers() {
        database.open_wanted()?;
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
            let Some(kept) = Kept::load(&*self.storage, &name)? else { continue };
            let _of = tracing::error_span!("load", round = name).entered();
            tracing::info!("round {name} {}", kept.record.state.told());
            let round = self.add(Round::new(&self.setting, name, kept)?);
            if round.record().state == RoundState::Removed {
                // A removal may have been cut off.
                round.clear(&*self.storage)?;
            }
            self.settle(&round)?;
        }
        Ok(())
    }

    /// Opens the rounds that are to be there at the beginning.
    fn open_wanted(&self) -> Result<()> {
        for round in &self.wanted {
            if self.round(round).is_none() {
                self.open(round)?;
            }
        }
        Ok(())
    }

    /// Opens a round, with keys of its own; one that is open already stays as it is.
    fn open(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let _of = tracing::error_span!("open", round = name).entered();
        let _opening = lock(&self.opening);
        if self.has_peers() {
            self.take_up(name)?;
        }
        if let Some(round) = self.round(name) {
            return is_open(&round);
        }
        if let Some(moment) = self.setting.own()?.own.round.close_at
            && moment.system_time() <= std::time::SystemTime::now()
        {
            return Err(Error::Input(format!(
                "round.close_at = \"{moment}\" is over: agree on a later one before a round opens"
            )));
        }
        let signed = self.sign_key(name)?;
        // From the beginning, so that it is in every copy.
        let noise = self.setting.spec.noise.as_ref().map(|_| NoiseSeed::fresh()).transpose()?;
        let kept = Kept::new(Record::new(clock::now(), signed).with_noise(noise))?;
        if kept.create(&*self.storage, name)? {
            let round = self.add(Round::new(&self.setting, name.to_owned(), kept)?);
            self.settle(&round)?;
            tracing::info!("round {name} is open");
            if let Some(weak) = self.setting.own()?.weak_conditions() {
                tracing::warn!("round {name}: {weak}");
            }
            Ok(())
        } else {
            // Another database was the first, and its key is the round's.
            self.take_up(name)?;
            self.round(name).map_or(Ok(()), |round| is_open(&round))
        }
    }

    /// The public key of a round that is to be opened, whose secret is kept, and with all other databases that answer.
    fn sign_key(&self, name: &str) -> Result<Signed> {
        let params = self.setting.params(name)?;
        let secret = match self.keys.load(name)? {
            Some(secret) => secret,
            None => {
                let secret = keys::fresh(&self.setting, signed::KeyRole::Database, name)?;
                self.keys.keep(name, &secret)?;
                tracing::info!("round {name}: made the database's key");
                secret
            }
        };
        let key = DatabaseKey::from_bytes(&params, &secret).ok_or_else(|| self.keys.none(name))?;
        let purpose = KeyPurpose { agreement: &self.setting.agreement, round: name, role: signed::KeyRole::Database };
        let signed = Signed::new(&self.identity, purpose, &key.public(&params, &mut fresh_rng()?))?;
        self.offer(name, &secret);
        self.keys.use_up(name)?;
        Ok(signed)
    }

    fn round(&self, name: &str) -> Option<Arc<Round>> {
        lock(&self.rounds).get(name).cloned()
    }

    /// Returns at most this many rounds in the order of their names, starting behind the one of this name.
    fn after(&self, name: Option<&str>, limit: usize) -> Vec<Arc<Round>> {
        let from = name.map_or(Bound::Unbounded, Bound::Excluded);
        let rounds = lock(&self.rounds);
        rounds.range::<str, _>((from, Bound::Unbounded)).take(limit).map(|(_, round)| round.clone()).collect()
    }

    fn all(&self) -> Vec<Arc<Round>> {
        lock(&self.rounds).values().cloned().collect()
    }

    /// The round that late reports are for: the one that was opened last.
    fn next(&self) -> Option<String> {
        let open = self.all().into_iter().filter(|round| round.record().state == RoundState::Open);
        open.max_by_key(|round| round.record().opened).map(|round| round.name.clone())
    }

    /// Closes a round: from then on it takes no reports.
    fn close(&self, round: &Round) -> Result<()> {
        let closed = round.change(&*self.storage, |record| {
            let is_open = record.state == RoundState::Open;
            if is_open {
                record.state = RoundState::Closed;
                record.closed = Some(clock::now());
            }
            Ok(is_open)
        })?;
        if closed {
            tracing::info!("round {} is closed", round.name);
        }
        Ok(())
    }

    /// Ends a round without a result.
    fn fail(&self, round: &Round, error: &Error) -> Result<()> {
        self.fail_telling(round, error, None)
    }

    /// The same; who is not its operator is told something else.
    fn fail_telling(&self, round: &Round, error: &Error, told: Option<&str>) -> Result<()> {
        let mut again = "";
        let failed = round.change(&*self.storage, |record| {
            if record.state.is_over() {
                return Ok(false);
            }
            if record.counts.is_some() {
                again = ": when that is mended, `tacita round reveal` takes it up again";
            }
            record.state = RoundState::Failed;
            record.failure = Some(RoundFailure { told: told.map(str::to_owned), ..RoundFailure::of(error) });
            Ok(true)
        })?;
        if failed {
            tracing::error!("round {} has no result: {error}{again}", round.name);
        }
        Ok(())
    }

    /// Returns the proxies for which a round waits.
    fn waits_for(&self, round: &str, record: &Record) -> Vec<(usize, String)> {
        let heard = lock(&self.heard);
        let missing = record.missing(self.setting.count("proxy").unwrap_or_default());
        let told = |place: usize| {
            let name = self.setting.name(Service::Proxy(place)).unwrap_or_default();
            let silent = heard.get(&place).unwrap_or(&self.began).elapsed().as_secs();
            match silent {
                ..10 if self.is_strange(place) => {
                    format!("{name}, which is there without the state directory that has its reports")
                }
                ..10 => match self.comes_under(place, round) {
                    Some(keys) => format!("{name}, which has the round under the keys {}", keys.short()),
                    None => name,
                },
                _ => format!("{name}, silent for {silent} s"),
            }
        };
        missing.into_iter().map(|place| (place, told(place))).collect()
    }

    /// Notes that something goes wrong with a round; since when something does.
    fn trouble(&self, round: &str, error: &Error) -> Instant {
        let mut troubled = lock(&self.troubled);
        let (since, what) = troubled.entry(round.to_owned()).or_insert_with(|| (Instant::now(), String::new()));
        *what = error.to_string();
        *since
    }
}

/// Refuses a storage that several databases of a job cannot share.
fn check_storage(databases: usize, storage: Option<&str>) -> Result<()> {
    if databases > 1 && !storage.is_some_and(store::is_shared) {
        Err(Error::Input(format!(
            "the job file names {databases} [[database]], and they share a storage: give each the same --storage \
             postgresql://USER@HOST/DATABASE (a directory serves one process only)"
        )))
    } else {
        Ok(())
    }
}

/// Opens a database's storage: that of a URL, or else the one in its state directory.
fn open_storage(url: Option<&str>, state: &Path) -> Result<Box<dyn Storage>> {
    match url {
        Some(url) => store::open(url),
        None => store::open(&format!("embedded:{}", state.join("rows").display())),
    }
}

/// Returns the name under which a database holds a lease: the same after a restart.
fn holder(identity: &Identity) -> Holder {
    let hash = blake3::hash(identity.fingerprint().to_string().as_bytes());
    let mut holder = Holder::default();
    holder.copy_from_slice(&hash.as_bytes()[..size_of::<Holder>()]);
    holder
}

/// Whether a round that is there can be taken for one that is to be opened.
fn is_open(round: &Round) -> Result<()> {
    match round.record().state {
        RoundState::Open => Ok(()),
        state => Err(Error::Input(format!("round {} {}: open one of another name", round.name, state.told()))),
    }
}

fn no_more(round: &Round, what: &str) -> ApiError {
    ApiError::new(
        RefusalReason::Closed,
        format!("round {} takes no {what}: it {}", round.name, round.record().state.told()),
    )
}

impl Role for Database {
    fn word(&self) -> &'static str {
        "database"
    }

    fn run_background(&self) -> Result<()> {
        std::thread::scope(|scope| {
            let mut opened = Ok(());
            if self.has_peers() {
                scope.spawn(|| self.keep_up());
                scope.spawn(|| self.collect_secrets());
                opened = self.open_wanted();
            }
            match opened {
                Ok(()) => self.work(),
                Err(_) => drop(self.cancel.cancel()),
            }
            opened
        })
    }

    fn learned(&self) -> Vec<String> {
        self.setting.own().map_or_else(|_| Vec::new(), |own| crate::role::learned(own, "database"))
    }

    fn numbers(&self) -> Vec<(&'static str, u64)> {
        let (mut rounds, mut reports) = (0, 0);
        for round in self.all() {
            rounds += 1;
            reports += self.storage.totals(&round.name).map_or(0, |totals| totals.reports);
        }
        vec![("rounds", rounds), ("reports", reports)]
    }

    fn measures(&self, page: &mut MetricsPage) {
        self.noted.tell(page);
        by_state(page, self.all().iter().map(|round| round.state()));
    }

    fn checks(&self) -> Vec<Check<'_>> {
        self.look_after()
    }
}
