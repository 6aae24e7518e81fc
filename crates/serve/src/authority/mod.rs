//! An authority: it keeps a list, answers desks, and changes the list and its key meanwhile.

mod attend;
pub mod control;
mod keeper;
mod ledger;
mod rotation;
mod schedule;

use std::collections::HashMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, RwLock};
use std::time::Duration;

use tacita_core::channel::Handle;
use tacita_core::{Error, Result};
use tacita_node::agreement::handshake::{confirm, greet};
use tacita_node::base::folder::Folder;
use tacita_node::base::random::fresh_rng;
use tacita_node::base::text::{count, counted};
use tacita_node::govern::account::Account;
use tacita_node::identity::{Fingerprint, Identity};
use tacita_node::jobs::intersect::live::{Live, Quota, Roll, learned, protocol};
use tacita_node::table::{ReadOptions, read};
use tacita_node::transport::{self, ConnectCancel, Connected, Options, Purpose, door};

use control::{ListOrder, OrderResult};

use keeper::{Epoch, Keeper, Next};
use ledger::Ledger;
use schedule::Moment;

use crate::accept::bind;
use crate::allow_list::AllowList;
use crate::clock;
use crate::journal::Key;
use crate::live::{HEARTBEAT, SILENCE};
use crate::refusals::Refusals;

const LOCK_FILE: &str = "lock";

/// Connections of one desk at a time: an old one that has not been noticed to be gone, and the new one.
const PER_DESK: usize = 4;

/// Connections at a time.
const MAX_CONNECTIONS: usize = 2048;

/// Interval between checks for work that is due.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Time for which a desk may be connected and ask nothing: it shows its interest every second.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Configuration of an authority.
pub struct AuthorityConfig {
    /// Job with the list.
    pub live: Live,
    /// The table that a new list begins with.
    pub input: Option<PathBuf>,
    /// Options for reading tables.
    pub reading: ReadOptions,
    /// Go on although more than half of the rows cannot be read.
    pub allow_unreadable: bool,
    /// Identity of this party.
    pub identity: Identity,
    /// Directory in which the list is kept.
    pub state: PathBuf,
    /// Address on which to listen.
    pub listen: String,
    /// Account in which changes of the list are entered, before they are made.
    pub account: Option<Arc<Account>>,
    /// Handle that cancels the service.
    pub cancel: ConnectCancel,
}

/// A list that is served.
struct Authority {
    live: Arc<Live>,
    identity: Identity,
    reading: ReadOptions,
    allow_unreadable: bool,
    keeper: Mutex<Keeper>,
    /// Epoch of the keeper, which can be read without the keeper's lock.
    epoch: RwLock<Arc<Epoch>>,
    ledger: Ledger,
    desks: RwLock<AllowList>,
    connections: Mutex<HashMap<u64, (String, Handle)>>,
    next: AtomicU64,
    /// One rotation that the owner wants at a time.
    rotating: Mutex<()>,
    refusals: Refusals,
    account: Option<Arc<Account>>,
}

/// Serves a list until it is cancelled.
///
/// Errors ([`Error::Input`]): what is wrong with files, directories and addresses.
pub fn serve(serving: AuthorityConfig) -> Result<()> {
    let address = transport::listening_at(&serving.listen)?;
    let desks = AllowList::read(&allow_file(&serving.live)?)?;
    let folder = Arc::new(Folder::make(&serving.state)?);
    let _lock = folder.try_lock(LOCK_FILE)?.ok_or_else(|| {
        Error::Input(format!(
            "{}: another `tacita serve` uses it: end that, or name another directory",
            serving.state.display()
        ))
    })?;
    let authority = Authority::open(&serving, folder.clone(), desks)?;
    let next = authority.catch_up()?;
    // Not before: how long all this takes depends on how many rows there are, and who waits at an open door could see
    // it.
    let (listener, here) = bind(&address)?;
    let socket = control::listen(&folder)?;
    authority.announce(here);
    let options = Options {
        purpose: Purpose::Desk,
        cancel: serving.cancel.clone(),
        heartbeat: HEARTBEAT,
        silence: SILENCE,
        ..Options::default()
    };
    std::thread::scope(|scope| {
        let (authority, cancel) = (&authority, &serving.cancel);
        scope.spawn(move || authority.run_background(cancel));
        scope.spawn(move || authority.follow_schedule(next, cancel));
        scope.spawn(move || {
            for stream in socket.incoming().flatten() {
                if cancel.is_cancelled() {
                    break;
                }
                scope.spawn(move || {
                    let _ = control::attend(stream, |order| authority.obey(&order));
                });
            }
        });
        let admitted = || authority.desks().fingerprints();
        let arrived = |who, connected| authority.meet(&who, connected);
        let refused = |from: SocketAddr, what: String| authority.refuse(from, &what);
        let ended = door::admit(
            (&listener, &authority.identity),
            &options,
            &authority.live.desk,
            &admitted,
            &arrived,
            &refused,
        );
        // The thread that waits for orders ends with the next one.
        let _ = std::os::unix::net::UnixStream::connect(folder.at("serve.sock"));
        match ended {
            Err(Error::Interrupted) => {
                tracing::info!("the list is served no more; it is kept for the next time");
                Ok(())
            }
            ended => ended,
        }
    })
}

impl Authority {
    fn open(serving: &AuthorityConfig, folder: Arc<Folder>, desks: AllowList) -> Result<Authority> {
        let key = Key::new(serving.identity.derive("live list", b""));
        let live = Arc::new(serving.live.clone());
        let (has_list, has_ledger) = (Keeper::is_in(&folder), Ledger::is_in(&folder));
        let keeper = match (has_list, has_ledger, &serving.input) {
            (true, true, _) => {
                if serving.input.is_some() {
                    tracing::info!(
                        "{}: goes on with the list there; --input is for a new one",
                        serving.state.display()
                    );
                }
                Keeper::open(live.clone(), folder.clone(), key.clone())?
            }
            (true, false, _) => {
                return Err(Error::Input(format!(
                    "{}: the record of the desks' quotas (quotas.sealed) is missing: put it back, or begin a new list in another \
                     directory",
                    serving.state.display()
                )));
            }
            (false, _, None) => {
                return Err(Error::Input(format!(
                    "{}: there is no list there yet: give --input, to begin one",
                    serving.state.display()
                )));
            }
            (false, _, Some(input)) => {
                let (rows, _) = read_rows(&live, input, &serving.reading, serving.allow_unreadable)?;
                tracing::info!("preparing a list of {}", counted(rows.len() as u64, "row"));
                // The ledger comes first: without the list, nothing was ever answered by it.
                drop(Ledger::open(&folder, &key, Quota::of(&live.job))?);
                Keeper::begin(live.clone(), folder.clone(), key.clone(), rows)?
            }
        };
        let ledger = Ledger::open(&folder, &key, Quota::of(&live.job))?;
        Ok(Authority {
            live,
            identity: serving.identity.clone(),
            reading: serving.reading.clone(),
            allow_unreadable: serving.allow_unreadable,
            epoch: RwLock::new(keeper.epoch()),
            keeper: Mutex::new(keeper),
            ledger,
            desks: RwLock::new(desks),
            connections: Mutex::default(),
            next: AtomicU64::new(0),
            rotating: Mutex::default(),
            refusals: Refusals::default(),
            account: serving.account.clone(),
        })
    }

    /// Says what is served.
    fn announce(&self, here: SocketAddr) {
        tracing::info!("{}", protocol(&self.live));
        learned(&self.live.job, &self.live.authority).iter().for_each(|sentence| tracing::info!("{sentence}"));
        tracing::info!(
            "serving {} on {here} to {}",
            counted(self.keeper().rows() as u64, "row"),
            counted(self.desks().fingerprints().len() as u64, "desk")
        );
        self.warn_without_desks();
    }

    /// Says so if there is nobody to serve.
    fn warn_without_desks(&self) {
        let desks = self.desks();
        if desks.fingerprints().is_empty() {
            tracing::warn!(
                "{}: no desk is listed: add a line \"NAME SHA256:...\" for each, with the output of its `tacita identity show`",
                desks.path().display()
            );
        }
    }

    /// Says that a desk asked for more than it may.
    fn warn_spent(&self, client: &str, wanted: u64, left: u64) {
        let name = client.parse().ok().and_then(|who| self.desks().name(&who).map(str::to_owned)).unwrap_or_default();
        let (wanted, left) = (counted(wanted, "key"), count(left));
        self.refusals.tell(format!("{name}: its quota is used up: it asked for {wanted}, and may ask for {left} more"));
    }

    /// Says who was not let in, and how it could be.
    fn refuse(&self, from: SocketAddr, what: &str) {
        let advice = if what.starts_with("it presents SHA256:") {
            format!(": if it is a desk, put that on a line of {}", self.desks().path().display())
        } else {
            String::new()
        };
        self.refusals.somebody(from, &format!("{what}{advice}"));
    }

    fn keeper(&self) -> MutexGuard<'_, Keeper> {
        self.keeper.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn desks(&self) -> std::sync::RwLockReadGuard<'_, AllowList> {
        self.desks.read().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn connections(&self) -> MutexGuard<'_, HashMap<u64, (String, Handle)>> {
        self.connections.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// The epoch that desks are answered in.
    fn epoch(&self) -> Arc<Epoch> {
        self.epoch.read().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
    }

    /// Whether a client may ask, by its fingerprint.
    fn is_admitted(&self, client: &str) -> bool {
        client.parse().is_ok_and(|who| self.desks().name(&who).is_some())
    }

    /// A desk has come: it is greeted, answered, and seen off.
    fn meet(&self, who: &Fingerprint, connected: Connected) {
        let client = who.to_string();
        let Some(name) = self.desks().name(who).map(str::to_owned) else { return };
        let Connected { mut channel, exporter, .. } = connected;
        channel.set_patience(TIMEOUT);
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        {
            let mut connections = self.connections();
            let own: Vec<u64> =
                connections.iter().filter(|(_, (other, _))| *other == client).map(|(number, _)| *number).collect();
            if own.len() >= PER_DESK
                && let Some(oldest) = own.iter().min().and_then(|number| connections.remove(number))
            {
                oldest.1.interrupt(Error::Interrupted);
            }
            if connections.len() >= MAX_CONNECTIONS {
                tracing::warn!("{name} was not let in: {MAX_CONNECTIONS} connections are open");
                channel.abort(&Error::NotReady("too many connections".into()));
                return;
            }
            connections.insert(number, (client.clone(), channel.handle()));
        }
        tracing::info!("{name} is connected");
        let greeted = fresh_rng().and_then(|mut rng| {
            let greeted = greet(&self.live.job, &self.live.authority, &exporter, &mut channel, &mut rng)?;
            let session = greeted.bound_to(&[]);
            confirm(&session, &self.live.job, &self.live.authority, &mut channel)
        });
        let ended = greeted.and_then(|()| attend::attend(self, &client, &mut channel));
        self.connections().remove(&number);
        if let Err(error) = ended {
            match &error {
                Error::Network { .. } | Error::Peer { .. } | Error::Interrupted => {
                    tracing::info!("{name} is gone: {error}")
                }
                _ => tracing::warn!("{name} was sent away: {error}"),
            }
            channel.abort(&error);
        }
    }

    /// Reads who may ask when that has changed. Ends when it is cancelled, and all connections with it.
    fn run_background(&self, cancel: &ConnectCancel) {
        while !cancel.is_cancelled() {
            std::thread::sleep(POLL_INTERVAL);
            self.refusals.tell_rest();
            if self.desks().is_stale() {
                self.read_desks();
            }
        }
        self.connections().values().for_each(|(_, handle)| handle.interrupt(Error::Interrupted));
    }

    fn read_desks(&self) {
        let mut desks = self.desks.write().unwrap_or_else(|poisoned| poisoned.into_inner());
        match desks.read_again() {
            Ok(()) => tracing::info!("{} may ask now", counted(desks.fingerprints().len() as u64, "desk")),
            Err(error) => tracing::warn!("{error}; until it is mended, those may ask that might before"),
        }
        drop(desks);
        self.warn_without_desks();
        let connections = self.connections();
        let gone = connections.values().filter(|(client, _)| !self.is_admitted(client));
        gone.for_each(|(_, handle)| handle.interrupt(Error::Input("it may not ask any more".into())));
    }

    /// Does what the owner wants.
    fn obey(&self, order: &ListOrder) -> OrderResult {
        let change = |path: &Path, added: bool| -> Result<String> {
            let (rows, shortfall) = read_rows(&self.live, path, &self.reading, self.allow_unreadable)?;
            self.enter(if added { "add" } else { "remove" }, Some(rows.len() as u64))?;
            let outcome = self.change(&rows, added)?;
            let (done, not) = if added { ("added", "there already") } else { ("removed", "not there") };
            let told = format!(
                "{done} {}; {} {not}; {} on the list",
                counted(outcome.changed as u64, "row"),
                count(outcome.left_out as u64),
                count(outcome.rows as u64)
            );
            tracing::info!("{told}");
            Ok(std::iter::once(told).chain(shortfall).collect::<Vec<_>>().join("\n"))
        };
        let told = match order {
            ListOrder::Add(path) => change(path, true),
            ListOrder::Remove(path) => change(path, false),
            ListOrder::Rotate => {
                self.enter("rotate", None).and_then(|()| self.rotate()).map(|()| "Key rotated.".into())
            }
            ListOrder::Status => Ok(self.status()),
        };
        told.map_err(|error| error.to_string())
    }

    /// Enters a change in the ledger.
    fn enter(&self, what: &str, rows: Option<u64>) -> Result<()> {
        self.account.as_ref().map_or(Ok(()), |account| account.changed(what, rows))
    }

    /// Returns the status, for the owner.
    fn status(&self) -> String {
        let (rows, due) = {
            let keeper = self.keeper();
            (keeper.rows(), keeper.schedule().due())
        };
        let epoch = self.epoch();
        let version = epoch.list.read().unwrap_or_else(|poisoned| poisoned.into_inner()).state().version;
        let (clients, keys) = self.ledger.totals();
        format!(
            "{} on the list, {} connected; this key since {}, {} of the table since then; the next key at {}; {} asked so far, for {}",
            counted(rows as u64, "row"),
            counted(self.connections().len() as u64, "desk"),
            clock::written(epoch.begun),
            counted(version, "change"),
            clock::written(due),
            counted(clients as u64, "desk"),
            counted(keys, "key")
        )
    }
}

/// The rows of a table, and what its owner has to know of those that cannot be found, which the log says, too.
fn read_rows(
    live: &Live,
    path: &Path,
    reading: &ReadOptions,
    allow_unreadable: bool,
) -> Result<(Vec<Vec<u8>>, Vec<String>)> {
    let read = Roll::read(live, &read(path, reading)?, allow_unreadable)?;
    let shortfall = read.shortfall(&path.display().to_string());
    shortfall.iter().for_each(|line| tracing::warn!("{line}"));
    Ok((read.rows, shortfall))
}

/// The file that lists the desks, and how many it does.
///
/// Errors ([`Error::Input`]): it cannot be read, or a line of it.
pub fn listed_desks(live: &Live) -> Result<(PathBuf, usize)> {
    let path = allow_file(live)?;
    let desks = AllowList::read(&path)?.fingerprints().len();
    Ok((path, desks))
}

/// Returns the path of the file with those who may ask.
fn allow_file(live: &Live) -> Result<PathBuf> {
    let clients = live.job.clients.as_ref();
    clients.map(|clients| clients.allow.clone()).ok_or_else(|| Error::Internal("a list for nobody".into()))
}
