//! A relay: parties of a job that can only dial out meet here, and what they say to each other end to end is carried between them.
//!
//! It reads who asks and for whom, under TLS of its own, and nothing of what it carries then: that is under a TLS whose keys it has not.

mod hall;
mod splice;
mod streams;

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tacita_core::{Error, Result};
use tacita_node::agreement::{JobSpec, Terms};
use tacita_node::base::text::counted;
use tacita_node::identity::{Fingerprint, Identity};
use tacita_node::transport::handshakes::{Handshakes, is_short};
use tacita_node::transport::relay::prepare;
use tacita_node::transport::{Cancel, HANDSHAKE_LIMIT, listening_at};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;
use tokio::time::timeout;

use crate::refusals::Refusals;
use hall::Hall;

/// Connections at a time whose owners have not said what they want.
const MAX_HANDSHAKES: usize = 256;

/// How long the relay takes at most to tell those who wait that it ends.
const FAREWELL: Duration = Duration::from_millis(300);

/// How often it looks whether it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// How long to wait when no connection can be taken.
const PAUSE: Duration = Duration::from_millis(10);

/// How to serve as a relay.
pub struct Serving {
    /// The jobs, and the files that they are from.
    pub jobs: Vec<(PathBuf, JobSpec)>,
    /// The relay's identity.
    pub identity: Identity,
    /// Where to listen.
    pub listen: String,
    /// Ends it.
    pub cancel: Cancel,
}

/// A job whose parties meet here.
struct Served {
    id: String,
    agreement: [u8; 32],
    parties: Vec<(String, Fingerprint)>,
}

/// Serves until it is cancelled.
///
/// Errors: [`Error::Input`] for what is wrong with jobs and addresses; [`Error::Interrupted`] if it was
/// cancelled while pairs were talking.
pub fn serve(serving: Serving) -> Result<()> {
    let jobs = served(&serving.jobs, serving.identity.fingerprint())?;
    let address = listening_at(&serving.listen)?;
    if let Err(what) = serving.identity.certificate().check_dates(crate::clock::now() as i64) {
        tracing::warn!("the relay's certificate {what}: parties refuse it; set the clock, or `tacita identity renew`");
    }
    let bad = |error: std::io::Error| {
        Error::Input(format!("cannot listen on {address}: {error}: give another address with --listen"))
    };
    let listener = TcpListener::bind(&address).map_err(bad)?;
    listener.set_nonblocking(true).map_err(bad)?;
    let here = listener.local_addr().map_err(bad)?;
    let most = jobs.iter().map(|job| job.parties.len() * (job.parties.len() - 1)).sum();
    allow_sockets(most);
    let internal = |error: std::io::Error| Error::Internal(error.to_string());
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(internal)?;
    tracing::info!("relay {} listens on {here}", serving.identity.fingerprint());
    for job in &jobs {
        let names: Vec<_> = job.parties.iter().map(|(name, _)| name.as_str()).collect();
        let agreement: String = job.agreement[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        tracing::info!("serving job {} (agreement {agreement}): {}", job.id, names.join(", "));
    }
    let door = Arc::new(Door {
        hall: Arc::new(Hall::new(serving.identity, jobs)),
        shaking: Mutex::new(Handshakes::new(MAX_HANDSHAKES)),
        refusals: Refusals::default(),
    });
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::from_std(listener).map_err(internal)?;
        while !serving.cancel.is_cancelled() {
            match timeout(LOOK, listener.accept()).await {
                Err(_) => door.refusals.tell_rest(),
                Ok(Ok((socket, from))) => door.let_in(socket, from),
                Ok(Err(error)) => {
                    door.refusals.tell(format!("a connection could not be taken: {error}"));
                    if is_short(&error) {
                        lock(&door.shaking).displace().iter().for_each(AbortHandle::abort);
                    }
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        let (cut, waiting) = door.hall.close();
        tokio::time::sleep(FAREWELL).await;
        tracing::info!(
            "relay stopped: {} cut off, {} turned away",
            counted(cut as u64, "connection"),
            counted(waiting as u64, "waiting party")
        );
        if cut == 0 { Ok(()) } else { Err(Error::Interrupted) }
    })
}

/// What the relay has to know of each job.
fn served(jobs: &[(PathBuf, JobSpec)], own: Fingerprint) -> Result<Vec<Served>> {
    let mut served: Vec<Served> = Vec::new();
    for (path, job) in jobs {
        let bad = |what: String| Error::Input(format!("{}: {what}", path.display()));
        if job.clients.is_some() {
            return Err(bad("a job that is served ([clients]) has no relay: desks dial the one that serves it".into()));
        }
        if let Some(named) = job.relay.as_ref().and_then(|relay| relay.identity)
            && named != own
        {
            return Err(bad(format!(
                "relay.identity is {named}, the identity given is {own}: use the right --identity, or tell the parties"
            )));
        }
        let identity = |(name, party): &(String, _)| {
            let party: &tacita_node::agreement::Party = party;
            let pin = party.identity.ok_or_else(|| {
                bad(format!("parties.{name}.identity is missing: a relay lets in nobody whom it cannot tell"))
            })?;
            if pin == own {
                return Err(bad(format!("parties.{name}.identity is the relay's own: it needs another one")));
            }
            Ok((name.clone(), pin))
        };
        let parties = job.parties.0.iter().map(identity).collect::<Result<Vec<_>>>()?;
        let agreement = Terms::of(job).agreement_bytes();
        if let Some(place) = served.iter().position(|other| other.agreement == agreement) {
            return Err(bad(format!("is the same job as {}: name it once", jobs[place].0.display())));
        }
        served.push(Served { id: job.id.clone(), agreement, parties });
    }
    Ok(served)
}

/// Allows this process as many sockets as all pairs of all jobs take, as far as the system lets it.
fn allow_sockets(pairs: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let needed = (pairs + MAX_HANDSHAKES + 64) as u64;
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return;
    }
    let allowed = limit.maximum.map_or(needed, |most| most.min(needed));
    // What cannot be raised is told below.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(allowed), maximum: limit.maximum });
    if allowed < needed {
        tracing::warn!(
            "these jobs may take {needed} sockets at once, and the system allows {allowed}: raise `ulimit -n`"
        );
    }
}

/// Where everybody comes in.
struct Door {
    hall: Arc<Hall>,
    /// Connections whose owners have not said yet what they want.
    shaking: Mutex<Handshakes<AbortHandle>>,
    refusals: Refusals,
}

impl Door {
    /// A connection has come: who it is and what it wants is found out on a task of its own.
    fn let_in(self: &Arc<Door>, socket: TcpStream, from: SocketAddr) {
        let door = self.clone();
        let attend = async move |number| {
            let prepared = socket.into_std().and_then(|socket| {
                prepare(&socket)?;
                TcpStream::from_std(socket)
            });
            let come = match prepared {
                Ok(socket) => timeout(HANDSHAKE_LIMIT, streams::receive(socket, &door.hall))
                    .await
                    .unwrap_or_else(|_| Err("it does not go on with the TLS handshake, or asks for nothing".into())),
                Err(error) => Err(format!("the socket failed: {error}")),
            };
            lock(&door.shaking).remove(number);
            let ended = match come {
                Ok((guest, request)) => door.hall.clone().attend(guest, request).await,
                Err(what) => Err(what),
            };
            if let Err(what) = ended {
                door.refusals.tell(format!("refused somebody from {from}: {what}"));
            }
        };
        // A task waits for the lock before it takes itself off the list.
        let mut shaking = lock(&self.shaking);
        let (_, displaced) = shaking.add(from.ip(), |number| tokio::spawn(attend(number)).abort_handle());
        displaced.iter().for_each(AbortHandle::abort);
    }
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
