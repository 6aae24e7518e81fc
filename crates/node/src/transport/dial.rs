//! Dialling side of a connection.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::mpsc::{RecvTimeoutError, channel as queue};
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};

use super::handshake::{Failure, Handshake};
use super::tls::{self, Fault};
use super::{ConnectCancel, Connected, HANDSHAKE_LIMIT, Options, POLL, Peer, Purpose, runs_already, socket};
use crate::base::text::shown;
use crate::identity::Identity;

/// Time limit for TCP to answer one attempt at one address.
const CONNECT_LIMIT: Duration = Duration::from_secs(5);

/// Pause after the first failed round over all addresses; it doubles up to [`LONGEST_PAUSE`].
pub(super) const FIRST_PAUSE: Duration = Duration::from_millis(100);
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Connects to `peer` at `address` (`HOST:PORT`), trying again until it is there or the time is over.
///
/// [`Error::Input`] if the address cannot be one; [`Error::Authentication`] if what answers has another key or a
/// certificate that is not valid now, or refuses our identity; [`Error::Network`] with the last reason when the time
/// is over; [`Error::NotReady`] if a doctor has met a run; [`Error::Interrupted`].
pub fn dial(address: &str, peer: &Peer, identity: &Identity, options: &Options) -> Result<Connected> {
    check_form(address)?;
    let until = Instant::now() + options.timeout;
    let mut pause = FIRST_PAUSE;
    let mut reason = String::from("no time to try");
    while Instant::now() < until {
        match resolve(address, until, &options.cancel)? {
            Err(error) => reason = error.to_string(),
            Ok(addresses) => {
                for address in addresses {
                    match attempt(address, until, peer, identity, options) {
                        Ok(connected) => return Ok(connected),
                        Err(Failure::Fatal(error)) => return Err(error),
                        Err(Failure::Elsewhere(Purpose::Run)) if options.purpose == Purpose::Doctor => {
                            return Err(runs_already(&peer.name));
                        }
                        Err(Failure::Elsewhere(other)) => {
                            reason = match other {
                                Purpose::Run => "a run answers there, not a list for desks".into(),
                                Purpose::Doctor => "its doctor answers there, not its run".into(),
                                Purpose::Desk => "a list for desks answers there (`tacita serve`), not a run".into(),
                                Purpose::Helper => "a helper answers there (`tacita helper`), not a run".into(),
                            };
                        }
                        Err(Failure::Fault(Fault::Unknown(what))) => reason = what,
                        Err(Failure::Fault(Fault::TheirIdentity(what))) => {
                            let what = format!("at {address} {what}");
                            return Err(Error::Authentication { peer: peer.name.clone(), what });
                        }
                        Err(Failure::Fault(Fault::OurIdentity(what))) => {
                            let what = format!(
                                "at {address} it refused {what} ({}); compare with what it expects of this party",
                                identity.fingerprint()
                            );
                            return Err(Error::Authentication { peer: peer.name.clone(), what });
                        }
                    }
                }
            }
        }
        let wake = until.min(Instant::now() + pause);
        while Instant::now() < wake {
            options.cancel.check()?;
            std::thread::sleep(POLL.min(wake.saturating_duration_since(Instant::now())));
        }
        pause = LONGEST_PAUSE.min(pause * 2);
    }
    let what = format!(
        "did not answer at {address} within {} s ({reason}): is it running, and is the address right?",
        options.timeout.as_secs_f64()
    );
    Err(Error::Network { peer: peer.name.clone(), what })
}

/// One attempt at one address.
fn attempt(
    address: SocketAddr,
    until: Instant,
    peer: &Peer,
    identity: &Identity,
    options: &Options,
) -> std::result::Result<Connected, Failure> {
    let failed = |e: io::Error| Failure::Fault(Fault::Unknown(describe(&e)));
    let socket = connect(address, until, &options.cancel).map_err(Failure::Fatal)?.map_err(failed)?;
    let mut writer = super::writer(&socket, options.shape).map_err(failed)?;
    let (connection, refusal) = tls::client(identity, peer.pin, options.purpose).map_err(Failure::Fatal)?;
    let mut handshake = Handshake {
        connection,
        refusal,
        socket: &socket,
        writer: &mut writer,
        until: until.min(Instant::now() + HANDSHAKE_LIMIT),
        cancel: &options.cancel,
    };
    let started = Instant::now();
    handshake.run()?;
    let round_trip = started.elapsed();
    handshake.await_greeting(options.purpose)?;
    let connection = handshake.connection;
    super::channel(connection, socket, writer, peer, options, round_trip).map_err(Failure::Fatal)
}

/// A TCP connection to one address.
pub(super) fn connect(address: SocketAddr, until: Instant, cancel: &ConnectCancel) -> Result<io::Result<TcpStream>> {
    let limit = CONNECT_LIMIT.min(until.saturating_duration_since(Instant::now())).max(Duration::from_millis(1));
    let connected = abortable(move || TcpStream::connect_timeout(&address, limit), until, cancel)?;
    Ok(connected.and_then(|socket| {
        // A port of our own may meet itself while nobody listens there (a simultaneous open).
        if socket.local_addr()? == socket.peer_addr()? {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        socket::prepare(&socket)?;
        Ok(socket)
    }))
}

pub(super) fn check_form(address: &str) -> Result<()> {
    let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty()).map(|(_, port)| port.parse::<u16>());
    match port {
        Some(Ok(port)) if port > 0 => Ok(()),
        _ => Err(Error::Input(format!(
            "`{}` is no address: write HOST:PORT, as in insurer.example:7400",
            shown(address)
        ))),
    }
}

/// Resolves a name to all its addresses.
pub(super) fn resolve(address: &str, until: Instant, cancel: &ConnectCancel) -> Result<io::Result<Vec<SocketAddr>>> {
    let address = address.to_owned();
    abortable(move || address.to_socket_addrs().map(Iterator::collect), until, cancel)
}

/// Runs `work`, which cannot be interrupted, on a thread of its own that is left to itself if the wait ends first.
fn abortable<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
    until: Instant,
    cancel: &ConnectCancel,
) -> Result<io::Result<T>> {
    let (sender, receiver) = queue();
    std::thread::spawn(move || {
        // Nobody may be waiting any more.
        let _ = sender.send(work());
    });
    loop {
        cancel.check()?;
        match receiver.recv_timeout(POLL) {
            Ok(result) => return Ok(result),
            Err(RecvTimeoutError::Timeout) if Instant::now() < until => {}
            Err(_) => return Ok(Err(io::ErrorKind::TimedOut.into())),
        }
    }
}

/// The reason in a few words, without the system's error number.
pub(super) fn describe(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "connection refused".into(),
        io::ErrorKind::TimedOut => "no answer".into(),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => "no route to it".into(),
        _ => error.to_string(),
    }
}
