//! The proxy: it takes the participants' reports, blinds and shuffles them, and forwards them so that nobody can tell
//! who reported what.

mod asking;
mod background;
mod bell;
mod claim_key;
mod claims;
mod directory;
mod handover;
mod interact;
pub(crate) mod journal;
mod keyed;
mod list;
mod measures;
mod names;
mod round;
mod routes;
mod secrets;
mod track;
mod workers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::folder::Folder;
use tacita_node::identity::Identity;
use tacita_serve::status::{Check, MetricsPage};
use tacita_serve::sync::lock;
use tokio::sync::{Semaphore, watch};

use self::bell::Bell;
use self::names::Names;
use self::round::Round;
use self::workers::Workers;
use crate::keys::{self, StateKeys};
use crate::role::Role;
use crate::serve::{RoleConfig, Started};
use crate::setting::ServiceConfig;
use crate::transport::{Admission, Client, MAX_INTERACTIONS, Replicas, RequestPool};
use crate::wire::rounds::RoundStatus;
use crate::wire::service::Service;
use crate::wire::signed;

/// Default limit on the disk space of a round's queue, in bytes.
pub const QUEUE_BYTES: u64 = 64 << 30;

/// Configuration of a proxy.
pub struct ProxyConfig {
    /// Settings that all roles share.
    pub serving: RoleConfig,
    /// The most that the reports of a round may take on disk, in bytes.
    pub queue_bytes: u64,
}

/// Counters of the work that was done.
#[derive(Default)]
struct Done {
    accepted: AtomicU64,
    repeated: AtomicU64,
    refused: AtomicU64,
    /// Interactions that came to no end.
    broken: AtomicU64,
    sent: AtomicU64,
}

struct Proxy {
    setting: Arc<ServiceConfig>,
    identity: Identity,
    /// Index of this proxy among the proxies.
    place: usize,
    folder: Arc<Folder>,
    state: PathBuf,
    keys: StateKeys,
    names: Names,
    queue_bytes: u64,
    database: Replicas,
    /// Clients of the other proxies.
    others: Vec<Client>,
    rounds: Mutex<BTreeMap<String, Arc<Round>>>,
    /// Latest status of each round from the database.
    told: Mutex<BTreeMap<String, RoundStatus>>,
    /// Rounds of which another state directory has what was acknowledged, and when the database said so last.
    strange: Mutex<BTreeMap<String, Instant>>,
    /// Rounds whose queue, or record, is lost: what is said of each.
    lost: Mutex<BTreeMap<String, String>>,
    /// Rung when something has come that the database is to be told of.
    bell: Bell,
    /// Number of times that the database has told the status of its rounds.
    looks: watch::Sender<u64>,
    /// Latest message about what each round waits for.
    waits: Mutex<BTreeMap<String, String>>,
    /// Rounds that something is due for.
    workers: Workers,
    admission: Arc<Admission>,
    pool: RequestPool,
    /// Permits for interactions at a time.
    interactions: Arc<Semaphore>,
    done: Done,
    cancel: Cancel,
}

/// Serves a proxy until it is cancelled.
///
/// Errors: as those of a database; [`Error::Authentication`] if the database is somebody else.
pub fn serve(proxying: ProxyConfig) -> Result<()> {
    let ProxyConfig { serving, queue_bytes } = proxying;
    let setting = serving.setting.clone();
    let place = setting.place_of("proxy", &serving.identity)?;
    let (allow, parties) = (setting.own()?.own.participants.allow.clone(), setting.parties());
    if allow.is_none() && parties.is_empty() {
        return Err(Error::Input(
            "no participant is listed: write a file with a name and an identity on each line, and name it as participants.allow".into(),
        ));
    }
    let (folder, _lock) = keys::lock(&serving.state, Some("proxy"))?;
    let domain = setting.services()?.into_iter().filter(|(_, service)| !matches!(service, Service::Database(_)));
    let admission = Arc::new(Admission::new(domain.collect(), parties, allow.as_deref())?);
    let identity = serving.identity.clone();
    let state = serving.state.clone();
    let started = Started::new(serving, Service::Proxy(place))?;
    let others = (0..setting.count("proxy")?).filter(|other| *other != place);
    let proxy = Proxy {
        keys: StateKeys::new(folder.clone(), &identity, signed::KeyRole::Proxy),
        names: Names::open(folder.clone())?,
        database: started.databases()?,
        others: others.map(|other| started.client(Service::Proxy(other))).collect::<Result<_>>()?,
        setting,
        identity,
        place,
        folder,
        state,
        queue_bytes,
        rounds: Mutex::default(),
        told: Mutex::default(),
        strange: Mutex::default(),
        lost: Mutex::default(),
        bell: Bell::default(),
        looks: watch::Sender::default(),
        waits: Mutex::default(),
        workers: Workers::default(),
        admission: admission.clone(),
        pool: RequestPool::new(),
        interactions: Arc::new(Semaphore::new(MAX_INTERACTIONS)),
        done: Done::default(),
        cancel: started.serving.cancel.clone(),
    };
    proxy.load()?;
    proxy.lose_unrecorded()?;
    let proxy = Arc::new(proxy);
    let routes = routes::routes(&proxy);
    started.serve(proxy, admission, routes)
}

impl Role for Proxy {
    fn word(&self) -> &'static str {
        "proxy"
    }

    fn run_background(&self) -> Result<()> {
        self.keep()
    }

    fn learned(&self) -> Vec<String> {
        self.setting.own().map_or_else(|_| Vec::new(), |own| crate::role::learned(own, "proxy"))
    }

    fn numbers(&self) -> Vec<(&'static str, u64)> {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        vec![
            ("accepted_reports", of(&self.done.accepted)),
            ("repeated_batches", of(&self.done.repeated)),
            ("refused_batches", of(&self.done.refused)),
            ("broken_interactions", of(&self.done.broken)),
            ("sent_entries", of(&self.done.sent)),
        ]
    }

    fn measures(&self, page: &mut MetricsPage) {
        self.measure(page);
    }

    fn checks(&self) -> Vec<Check<'_>> {
        self.look_after()
    }
}

impl Proxy {
    fn round(&self, name: &str) -> Option<Arc<Round>> {
        lock(&self.rounds).get(name).cloned()
    }
}
