//! A relay: parties of a job that can only dial out meet here, and what they say to each other end to end is carried
//! between them.
//!
//! It reads who asks and for whom, under TLS of its own, and nothing of what it carries then: that is under a TLS whose
//! keys it has not.

mod rendezvous;
mod splice;
mod streams;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tacita_core::{Error, Result};
use tacita_node::agreement::{JobSpec, Terms};
use tacita_node::base::text::counted;
use tacita_node::identity::{Fingerprint, Identity};
use tacita_node::transport::relay::prepare;
use tacita_node::transport::{ConnectCancel, HANDSHAKE_LIMIT, listening_at};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::accept::{AcceptLimits, Handshake, accept, bind};
use crate::refusals::Refusals;
use rendezvous::Rendezvous;

/// Connections at a time whose owners have not said what they want.
const MAX_HANDSHAKES: usize = 256;

/// Time limit for telling waiting parties that the relay ends.
const LINGER: Duration = Duration::from_millis(300);

/// Interval between checks of whether it is to end.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Configuration of a relay.
pub struct RelayConfig {
    /// The jobs, and the files that they are from.
    pub jobs: Vec<(PathBuf, JobSpec)>,
    /// Identity of the relay.
    pub identity: Identity,
    /// Address on which to listen.
    pub listen: String,
    /// Handle that cancels the relay.
    pub cancel: ConnectCancel,
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
pub fn serve(serving: RelayConfig) -> Result<()> {
    let jobs = served(&serving.jobs, serving.identity.fingerprint())?;
    let address = listening_at(&serving.listen)?;
    if let Err(what) = serving.identity.certificate().check_dates(crate::clock::now() as i64) {
        tracing::warn!("the relay's certificate {what}: parties refuse it; set the clock, or `tacita identity renew`");
    }
    let (listener, here) = bind(&address)?;
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
    let (hall, refusals) = (Arc::new(Rendezvous::new(serving.identity, jobs)), Arc::new(Refusals::default()));
    runtime.block_on(async {
        let ended = async {
            while !serving.cancel.is_cancelled() {
                tokio::time::sleep(POLL_INTERVAL).await;
                refusals.tell_rest();
            }
        };
        let failed = |error: &std::io::Error| refusals.tell(format!("a connection could not be taken: {error}"));
        let attend = |(), socket, from, handshake| let_in(hall.clone(), refusals.clone(), socket, from, handshake);
        let limits = AcceptLimits { handshakes: MAX_HANDSHAKES, grace: Duration::ZERO };
        accept(listener, limits, ended, failed, || Some(()), attend).await.map_err(internal)?;
        let (cut, waiting) = hall.close();
        tokio::time::sleep(LINGER).await;
        tracing::info!(
            "relay stopped: {} cut off, {} turned away",
            counted(cut as u64, "connection"),
            counted(waiting as u64, "waiting party")
        );
        if cut == 0 { Ok(()) } else { Err(Error::Interrupted) }
    })
}

/// Returns the facts that the relay has to know of each job.
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
                "relay.identity is {named}, but --identity is {own}: use the right --identity, or have the job file corrected at \
                 all parties"
            )));
        }
        let identity = |(name, party): &(String, _)| {
            let party: &tacita_node::agreement::Party = party;
            let pin = party.identity.ok_or_else(|| {
                bad(format!("parties.{name}.identity is missing: a relay admits only identities of its job files"))
            })?;
            if pin == own {
                return Err(bad(format!("parties.{name}.identity is the relay's own: give the party another one")));
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

/// Finds out who has come and what they want, and attends to them.
async fn let_in(
    hall: Arc<Rendezvous>,
    refusals: Arc<Refusals>,
    socket: TcpStream,
    from: SocketAddr,
    handshake: Handshake,
) {
    let prepared = socket.into_std().and_then(|socket| {
        prepare(&socket)?;
        TcpStream::from_std(socket)
    });
    let come = match prepared {
        Ok(socket) => timeout(HANDSHAKE_LIMIT, streams::receive(socket, &hall))
            .await
            .unwrap_or_else(|_| Err("it did not complete the TLS handshake, or sent no request".into())),
        Err(error) => Err(format!("the socket failed: {error}")),
    };
    drop(handshake);
    let ended = match come {
        Ok((guest, request)) => hall.attend(guest, request).await,
        Err(what) => Err(what),
    };
    if let Err(what) = ended {
        refusals.somebody(from, &what);
    }
}
