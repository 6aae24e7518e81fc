//! A listener that stands: it lets in whoever is admitted, for as long as it is wanted.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};

use super::arrival::Arrival;
use super::handshake::Failure;
use super::handshakes::{Handshakes, is_short};
use super::tls::Fault;
use super::{Connected, HANDSHAKE_LIMIT, Options, Peer, end};
use crate::identity::{Fingerprint, Identity};

/// Interval between checks for new connections.
const POLL: Duration = Duration::from_millis(5);

/// Handshakes at a time. Each holds three descriptors, and a process may often have 1,024.
const MAX_HANDSHAKES: usize = 128;

/// Lets in whoever `admitted` says, until `options.cancel` is: `arrived` gets each, on a thread of its own, by whose
/// key it has proved to hold. The channel calls it `name`. Whoever is somebody else is left aside, and `refused` is
/// told why.
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
    // A copy of each socket, to end its handshake with.
    let handshakes = Mutex::new(Handshakes::<TcpStream>::new(MAX_HANDSHAKES));
    std::thread::scope(|scope| {
        loop {
            if let Err(error) = options.cancel.check() {
                lock(&handshakes).drain().for_each(|socket| end(&socket));
                return Err(error);
            }
            let come = listener.accept().and_then(|(socket, from)| Ok((socket.try_clone()?, socket, from)));
            let (copy, socket, from) = match come {
                Ok(come) => come,
                Err(error) => {
                    if is_short(&error) {
                        lock(&handshakes).displace().iter().for_each(end);
                    }
                    std::thread::sleep(POLL);
                    continue;
                }
            };
            let (number, displaced) = lock(&handshakes).add(from.ip(), |_| copy);
            displaced.iter().for_each(end);
            let under_way = &handshakes;
            let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
                let met = meet(socket, identity, options, name, admitted());
                lock(under_way).remove(number);
                match met {
                    Ok((who, connected)) => arrived(who, connected),
                    Err(Failure::Fault(Fault::Unknown(what) | Fault::TheirIdentity(what))) => refused(from, what),
                    Err(Failure::Fault(Fault::OurIdentity(what))) => refused(from, format!("it refused {what}")),
                    Err(Failure::Elsewhere(_)) => refused(from, "it serves another job, or a run".into()),
                    Err(Failure::Fatal(Error::Interrupted)) => (),
                    Err(Failure::Fatal(error)) => refused(from, error.to_string()),
                }
            });
            if spawned.is_err() {
                // No more threads: the one that came tries again.
                lock(&handshakes).remove(number);
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
    let until = Instant::now() + HANDSHAKE_LIMIT;
    let arrival = Arrival::meet(socket, until, admitted, identity, options)?;
    let pin = arrival.presented();
    let pin = pin.ok_or_else(|| Failure::Fault(Fault::Unknown("it shows no certificate".into())))?;
    let connected = arrival.accept(until, &Peer { name: name.to_owned(), pin }, options)?;
    Ok((pin, connected))
}

fn lock<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
