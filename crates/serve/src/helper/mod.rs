//! A helper: parties of a job leave here what they have for each other and for it, sealed or encrypted, and it adds up
//! what is for it. It keeps what was left on disk until the run is over, so that it can be ended and started again
//! meanwhile.

mod attend;
mod desk;
mod files;
mod host;
mod metrics;
mod run;
mod work;

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use tacita_core::channel::Handle;
use tacita_core::{Error, Result};
use tacita_node::base::files::write_whole;
use tacita_node::base::folder::Folder;
use tacita_node::base::text::{bytes, count, counted};
use tacita_node::base::usage;
use tacita_node::identity::{Fingerprint, Identity};
use tacita_node::jobs::intersect::outsourced::Helping;
use tacita_node::run::report::write_json;
use tacita_node::transport::{ConnectCancel, Options, Purpose, door, listening_at};

use crate::accept::bind;
use crate::refusals::Refusals;
use crate::sync::lock;
use desk::HelperJob;

pub use host::Hosting;

/// Interval between checks for work that is due.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

const LOCK_FILE: &str = "lock";

/// Configuration of a helper.
pub struct HelperConfig {
    /// The jobs, and what they are called in messages.
    pub jobs: Vec<(String, Helping)>,
    /// Identity of the helper.
    pub identity: Identity,
    /// Address on which to listen.
    pub listen: String,
    /// Directory in which the parcels of parties are kept; without one, a directory that goes with the process.
    pub state: Option<PathBuf>,
    /// Address of the page with health and metrics, on this machine.
    pub status: Option<String>,
    /// Time for which a party that takes part in a run may be away.
    pub timeout: Duration,
    /// Time for which a party may be there and do nothing.
    pub patience: Duration,
    /// Ends it, when the runs under way are over.
    pub drain: ConnectCancel,
    /// Ends it when one run is over.
    pub once: bool,
    /// Write the address that is listened on to this file.
    pub announce: Option<PathBuf>,
    /// Write what it took to this file in the end.
    pub report: Option<PathBuf>,
}

/// A helper that stands.
struct Helper {
    desks: Vec<HelperJob>,
    identity: Identity,
    timeout: Duration,
    patience: Duration,
    drain: ConnectCancel,
    once: bool,
    /// Handle that closes the door.
    closed: ConnectCancel,
    /// Whether it is ready to be asked.
    open: AtomicBool,
    handles: Mutex<BTreeMap<u64, Handle>>,
    /// Number of connections of each identity that was let in, by fingerprint.
    connections: Mutex<BTreeMap<[u8; 32], usize>>,
    next: AtomicU64,
    numbers: Numbers,
    refusals: Refusals,
}

/// Counters of the events since the helper was started.
#[derive(Default)]
struct Numbers {
    finished: AtomicU64,
    failed: AtomicU64,
    refused: AtomicU64,
    received: AtomicU64,
    sent: AtomicU64,
}

/// Serves until it is told to end, and no run is under way.
///
/// Errors ([`Error::Input`]): what is wrong with jobs, directories and addresses.
pub fn serve(serving: HelperConfig) -> Result<()> {
    let started = Instant::now();
    check_jobs(&serving)?;
    let address = listening_at(&serving.listen)?;
    let scratch = match serving.state {
        Some(_) => None,
        None => Some(tempfile::tempdir().map_err(|error| Error::Input(format!("no temporary directory: {error}")))?),
    };
    let state = serving.state.clone().or_else(|| scratch.as_ref().map(|scratch| scratch.path().to_owned()));
    let state = state.unwrap_or_default();
    let folder = Folder::make(&state)?;
    let _lock = folder.try_lock(LOCK_FILE)?.ok_or_else(|| {
        let state = state.display();
        Error::Input(format!("{state}: another `tacita helper` uses it: end that, or name another directory"))
    })?;
    let (listener, here) = bind(&address)?;
    let status = serving.status.as_deref().map(|address| crate::status::listen("--status", address)).transpose()?;
    let desk = |(_, helping)| HelperJob::open(helping, &state);
    let helper = Helper {
        desks: serving.jobs.into_iter().map(desk).collect::<Result<Vec<_>>>()?,
        identity: serving.identity,
        timeout: serving.timeout,
        patience: serving.patience,
        drain: serving.drain,
        once: serving.once,
        closed: ConnectCancel::default(),
        open: AtomicBool::new(false),
        handles: Mutex::default(),
        connections: Mutex::default(),
        next: AtomicU64::new(0),
        numbers: Numbers::default(),
        refusals: Refusals::default(),
    };
    helper.introduce(here, serving.state.is_none())?;
    let helper = Arc::new(helper);
    let _status = status.map(|listener| crate::status::serve(listener, helper.clone())).transpose()?;
    if let Some(path) = &serving.announce {
        write_whole(path, here.to_string().as_bytes())?;
    }
    let ended = helper.stand(&listener);
    if let Some(path) = &serving.report {
        let sum = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let report = json!({
            "bytes": { "sent": sum(&helper.numbers.sent), "received": sum(&helper.numbers.received) },
            "seconds": { "total": started.elapsed().as_secs_f64() },
            "cpu_seconds": usage::cpu_time().as_secs_f64(),
            "peak_memory": usage::peak_memory(),
        });
        write_json(path, &report)?;
    }
    ended
}

/// Each job once, and none of the helper's own.
fn check_jobs(serving: &HelperConfig) -> Result<()> {
    let own = serving.identity.fingerprint();
    for (place, (name, job)) in serving.jobs.iter().enumerate() {
        let same = |other: &&(String, Helping)| other.1.terms == job.terms;
        if let Some((other, _)) = serving.jobs[..place].iter().find(same) {
            return Err(Error::Input(format!("{name}: is the same job as {other}: name it once")));
        }
        if !serving.once
            && let Some(party) = job.parties.iter().find(|party| party.pin == own)
        {
            return Err(Error::Input(format!(
                "{name}: parties.{}.identity is the helper's own: a helper that is no party needs another one",
                party.name
            )));
        }
    }
    Ok(())
}

impl Helper {
    /// Says what it does.
    fn introduce(&self, here: SocketAddr, forgets: bool) -> Result<()> {
        tracing::info!("helper {} listens on {here}", self.identity.fingerprint());
        for desk in &self.desks {
            let names: Vec<_> = desk.helping.parties.iter().map(|party| party.name.as_str()).collect();
            let agreement = &desk.helping.terms.agreement()[..16];
            tracing::info!("serving job {} (agreement {agreement}): {}", desk.helping.id, names.join(", "));
            let most = (0..names.len()).map(|place| desk.helping.most_bytes(place)).sum::<Result<u64>>()?;
            tracing::info!("{}: takes up to {} on disk while it runs", desk.helping.id, bytes(most));
            desk.helping.learns().iter().for_each(|sentence| tracing::info!("{}: {sentence}.", desk.helping.id));
        }
        if forgets {
            tracing::info!("without --state, runs that are under way are lost when the helper is started again");
        }
        Ok(())
    }

    /// Lets parties in until it is to end.
    fn stand(&self, listener: &TcpListener) -> Result<()> {
        let mut pins: Vec<Fingerprint> =
            self.desks.iter().flat_map(|desk| desk.helping.parties.iter().map(|party| party.pin)).collect();
        pins.sort_by_key(|pin| pin.0);
        pins.dedup();
        let options = Options { purpose: Purpose::Helper, cancel: self.closed.clone(), ..Options::default() };
        std::thread::scope(|scope| {
            for desk in &self.desks {
                scope.spawn(move || work::help(self, desk));
            }
            scope.spawn(|| self.run_background());
            self.open.store(true, Ordering::Release);
            let refused = |from: SocketAddr, what: String| {
                self.numbers.refused.fetch_add(1, Ordering::Relaxed);
                self.refusals.somebody(from, &what);
            };
            let arrived = |who, connected| attend::attend(self, who, connected);
            let ended =
                door::admit((listener, &self.identity), &options, "a party", &|| pins.clone(), &arrived, &refused);
            self.open.store(false, Ordering::Release);
            self.closed.cancel();
            self.desks.iter().for_each(HelperJob::leave_nothing);
            match ended {
                Err(Error::Interrupted) => {
                    if !self.once {
                        self.numbers.tell();
                    }
                    Ok(())
                }
                ended => ended,
            }
        })
    }

    /// Looks after runs: who stays away or does nothing for too long ends one, and with the last one the helper if it
    /// is to.
    fn run_background(&self) {
        while !self.closed.is_cancelled() {
            self.refusals.tell_rest();
            self.desks.iter().for_each(|desk| desk.look(self.timeout, self.patience, &self.numbers));
            let over = self.once && self.numbers.over() > 0;
            let draining = self.drain.is_cancelled();
            if draining || over {
                let running = self.desks.iter().filter(|desk| desk.is_running()).count() as u64;
                if running == 0 || over {
                    // Those that are done have hung up, or will find nobody.
                    std::thread::sleep(POLL_INTERVAL);
                    self.closed.cancel();
                    let handles = lock(&self.handles);
                    handles.values().for_each(|handle| handle.interrupt(Error::Interrupted));
                    return;
                }
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Returns the number of runs under way, for the operator who tells the helper to end.
    fn running(&self) -> String {
        counted(self.desks.iter().filter(|desk| desk.is_running()).count() as u64, "run")
    }
}

impl Numbers {
    /// Says in the end how runs went.
    fn tell(&self) {
        let [finished, failed] = [&self.finished, &self.failed].map(|number| number.load(Ordering::Relaxed));
        tracing::info!("helper stopped: {} finished, {} ended otherwise", counted(finished, "run"), count(failed));
    }

    fn over(&self) -> u64 {
        self.finished.load(Ordering::Relaxed) + self.failed.load(Ordering::Relaxed)
    }
}
