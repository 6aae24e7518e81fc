//! A listener that stands: it lets in whoever is admitted, for as long as it is wanted.

use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};

use super::handshake::{Failure, Handshake};
use super::tls::{self, Fault};
use super::{Connected, HANDSHAKE_LIMIT, Options, Peer, Purpose, socket};
use crate::identity::{Fingerprint, Identity};

/// How often it looks for new connections.
const POLL: Duration = Duration::from_millis(5);

/// Handshakes at a time: more than that wait until one is over, or its time is.
const MAX_HANDSHAKES: usize = 256;

/// Lets in whoever `admitted` says, until `options.cancel` is: `arrived` gets each, on a thread of its own, by whose key it has proved to
/// hold. The channel calls it `name`. Whoever is somebody else is left aside, and `refused` is told why.
///
/// Errors: [`Error::Input`] if the listener is none; [`Error::Interrupted`] when it is cancelled.
pub fn admit(
    (listener, identity): (&TcpListener, &Identity),
    options: &Options,
    name: &str,
    admitted: &(dyn Fn() -> Vec<Fingerprint> + Sync),
    arrived: &(dyn Fn(Fingerprint, Connected) + Sync),
    refused: &(dyn Fn(SocketAddr, String) + Sync),
) -> Result<()> {
    listener.set_nonblocking(true).map_err(|error| Error::Input(format!("cannot listen: {error}")))?;
    let under_way = AtomicUsize::new(0);
    let open: Mutex<Vec<TcpStream>> = Mutex::default();
    std::thread::scope(|scope| {
        loop {
            if let Err(error) = options.cancel.check() {
                // Those that shake hands end with their sockets.
                let open = open.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
                open.iter().for_each(|socket| drop(socket.shutdown(Shutdown::Both)));
                return Err(error);
            }
            let free = under_way.load(Ordering::Acquire) < MAX_HANDSHAKES;
            let Some((socket, from)) = free.then(|| listener.accept().ok()).flatten() else {
                std::thread::sleep(POLL);
                continue;
            };
            under_way.fetch_add(1, Ordering::AcqRel);
            let (under_way, open) = (&under_way, &open);
            let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
                let place = socket.peer_addr().ok();
                if let Ok(copy) = socket.try_clone() {
                    open.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(copy);
                }
                let met = meet(socket, identity, options, name, admitted());
                open.lock()
                    .unwrap_or_else(|poisoned| poisoned.into_inner())
                    .retain(|open| open.peer_addr().ok() != place);
                under_way.fetch_sub(1, Ordering::AcqRel);
                match met {
                    Ok((who, connected)) => arrived(who, connected),
                    Err(Failure::Fault(Fault::Unknown(what) | Fault::TheirIdentity(what))) => refused(from, what),
                    Err(Failure::Fault(Fault::OurIdentity(what))) => refused(from, format!("it refused {what}")),
                    Err(Failure::Elsewhere(_)) => refused(from, "it is there for another job, or for a run".into()),
                    Err(Failure::Fatal(Error::Interrupted)) => (),
                    Err(Failure::Fatal(error)) => refused(from, error.to_string()),
                }
            });
            if spawned.is_err() {
                // No more threads: the one that came tries again.
                under_way.fetch_sub(1, Ordering::AcqRel);
            }
        }
    })
}

/// One that has come: who it is, and its channel.
fn meet(
    socket: TcpStream,
    identity: &Identity,
    options: &Options,
    name: &str,
    admitted: Vec<Fingerprint>,
) -> std::result::Result<(Fingerprint, Connected), Failure> {
    let failed = |error: std::io::Error| Failure::Fault(Fault::Unknown(format!("the socket failed: {error}")));
    socket::prepare(&socket).map_err(failed)?;
    let mut writer = super::writer(&socket, options.shape).map_err(failed)?;
    let (connection, refusal) = tls::server(identity, admitted).map_err(Failure::Fatal)?;
    let until = Instant::now() + HANDSHAKE_LIMIT;
    let mut handshake =
        Handshake { connection, refusal, socket: &socket, writer: &mut writer, until, cancel: &options.cancel };
    let started = Instant::now();
    handshake.run()?;
    let round_trip = started.elapsed();
    handshake.greet(options.purpose)?;
    match Purpose::of(&handshake.connection) {
        Some(purpose) if purpose == options.purpose => {}
        other => return Err(Failure::Elsewhere(other.unwrap_or_default())),
    }
    let connection = handshake.connection;
    let who = tls::presented(&connection);
    let who = who.ok_or_else(|| Failure::Fault(Fault::Unknown("it shows no certificate".into())))?;
    let peer = Peer { name: name.to_owned(), pin: who };
    let connected = super::channel(connection, socket, writer, &peer, options, round_trip).map_err(Failure::Fatal)?;
    Ok((who, connected))
}
