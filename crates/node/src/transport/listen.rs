//! Listening side of a connection.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::channel as queue;
use std::time::{Duration, Instant};

use tacita_core::{Error, Result};

use super::arrival::Arrival;
use super::handshake::Failure;
use super::handshakes::Handshakes;
use super::tls::Fault;
use super::{Connected, HANDSHAKE_LIMIT, Options, Peer, Purpose, end, runs_already};
use crate::base::text::{counted, shown};
use crate::identity::Identity;

/// Handshakes at a time.
const MAX_HANDSHAKES: usize = 32;

/// Interval at which the listener checks for new connections.
const ACCEPT_POLL: Duration = Duration::from_millis(5);

/// Returns the address on which to listen: an address without a host means all of this machine's.
///
/// Errors ([`Error::Input`]): it is no address.
pub fn listening_at(address: &str) -> Result<String> {
    match address.rsplit_once(':').map(|(host, port)| (host, port.parse::<u16>())) {
        Some(("", Ok(port))) => Ok(format!("0.0.0.0:{port}")),
        Some((_, Ok(_))) => Ok(address.to_owned()),
        _ => Err(Error::Input(format!(
            "`{}` is no address to listen on: write HOST:PORT, or :PORT, as in :7400",
            shown(address)
        ))),
    }
}

/// Waits on `listener` until `peer` is there or the time is over.
///
/// Connections that show no certificate, speak something else or stall are left aside. So are those that show another
/// key or a certificate that is not valid now, and those that refuse our identity: anybody can do that, and the peer
/// may still come. The user is told. When the time is over the error is [`Error::Authentication`] if there was one of
/// those, else [`Error::Network`]; [`Error::Interrupted`] if the wait is cancelled.
///
/// The listener is switched to non-blocking and can be used again.
pub fn listen(listener: &TcpListener, peer: &Peer, identity: &Identity, options: &Options) -> Result<Connected> {
    let mut found = None;
    listen_for_all(listener, std::slice::from_ref(peer), identity, options, |_, connected| found = Some(connected))?;
    found.unwrap_or_else(|| Err(Error::Internal("a wait ended without the peer".into())))
}

/// Listens as [`listen`] does, until all of `peers` are there. `found` gets each as it comes. A peer that comes again
/// is left aside. A run also leaves aside a doctor, which is told that it has met a run. A doctor that meets a run is
/// done with that peer: [`Error::NotReady`].
pub fn listen_for_all(
    listener: &TcpListener,
    peers: &[Peer],
    identity: &Identity,
    options: &Options,
    mut found: impl FnMut(&Peer, Result<Connected>),
) -> Result<()> {
    let mut awaited: Vec<&Peer> = peers.iter().collect();
    let names = |awaited: &[&Peer]| awaited.iter().map(|peer| peer.name.as_str()).collect::<Vec<_>>().join(", ");
    let failed = |e: io::Error| Error::Network { peer: names(&awaited), what: format!("cannot listen for it: {e}") };
    listener.set_nonblocking(true).map_err(failed)?;
    let here = listener.local_addr().map_err(failed)?;
    let until = Instant::now() + options.timeout;
    let (sender, arrivals) = queue();
    let mut strangers = Strangers::default();
    std::thread::scope(|scope| {
        let mut handshakes = Sockets(Handshakes::new(MAX_HANDSHAKES));
        while !awaited.is_empty() {
            options.cancel.check()?;
            if Instant::now() >= until {
                return Err(strangers.explain(names(&awaited), here, options));
            }
            if let Ok(Outcome { number, from, arrival }) = arrivals.recv_timeout(ACCEPT_POLL) {
                handshakes.0.remove(number);
                let accepted = arrival.and_then(|arrival| {
                    let place = place_among(&arrival, &awaited)?;
                    let peer = awaited[place];
                    match (arrival.accept(until, peer, options), options.purpose) {
                        (Ok(connected), _) => found(peer, Ok(connected)),
                        (Err(Failure::Elsewhere(_)), Purpose::Doctor) => found(peer, Err(runs_already(&peer.name))),
                        (Err(Failure::Elsewhere(Purpose::Doctor)), _) => {
                            strangers.note_doctor(&peer.name);
                            return Ok(());
                        }
                        (Err(failure), _) => return Err(failure),
                    }
                    awaited.remove(place);
                    Ok(())
                });
                match accepted {
                    Ok(()) => {}
                    Err(Failure::Fatal(error)) => return Err(error),
                    Err(Failure::Elsewhere(_)) => {}
                    Err(Failure::Fault(Fault::Unknown(what))) => strangers.note(from, what),
                    Err(Failure::Fault(Fault::TheirIdentity(what))) => {
                        strangers.note_identity(from, &names(&awaited), what);
                    }
                    Err(Failure::Fault(Fault::OurIdentity(what))) => {
                        let own = identity.fingerprint();
                        let what = format!("it refused {what} ({own}); compare with what it expects of this party");
                        strangers.note_identity(from, &names(&awaited), what);
                    }
                }
            }
            while let Ok((socket, from)) = listener.accept() {
                let Ok(copy) = socket.try_clone() else { continue };
                let (number, displaced) = handshakes.0.add(from.ip(), |_| copy);
                displaced.iter().for_each(end);
                let (sender, until) = (sender.clone(), until.min(Instant::now() + HANDSHAKE_LIMIT));
                scope.spawn(move || {
                    let pins = peers.iter().map(|peer| peer.pin).collect();
                    let arrival = Arrival::meet(socket, until, pins, identity, options);
                    // The wait may be over.
                    let _ = sender.send(Outcome { number, from, arrival });
                });
            }
        }
        Ok(())
    })
}

/// Somebody whose handshake is over.
struct Outcome {
    number: u64,
    from: SocketAddr,
    arrival: std::result::Result<Arrival, Failure>,
}

/// Returns the index of the awaited peer whose certificate the connection has presented.
fn place_among(arrival: &Arrival, awaited: &[&Peer]) -> std::result::Result<usize, Failure> {
    let presented = arrival.presented();
    let place = awaited.iter().position(|peer| Some(peer.pin) == presented);
    place.ok_or_else(|| Failure::Fault(Fault::Unknown("it is connected already".into())))
}

/// Sockets of handshakes under way, which end when the wait does.
struct Sockets(Handshakes<TcpStream>);

impl Drop for Sockets {
    fn drop(&mut self) {
        self.0.drain().for_each(|socket| end(&socket));
    }
}

/// Connections that came and were not from the peer.
#[derive(Default)]
struct Strangers {
    count: usize,
    last: Option<(SocketAddr, String)>,
    /// Number of those that had another identity, or wanted another one.
    identities: usize,
    /// The last of those.
    identity: Option<(SocketAddr, String)>,
    /// Peers whose doctors were here.
    doctors: BTreeSet<String>,
}

/// Number of connections with another identity that are reported one by one.
const TOLD: usize = 3;

impl Strangers {
    fn note(&mut self, from: SocketAddr, what: String) {
        tracing::debug!(%from, what, "left a connection aside");
        self.count += 1;
        self.last = Some((from, what));
    }

    fn note_identity(&mut self, from: SocketAddr, awaited: &str, what: String) {
        self.identities += 1;
        if self.identities <= TOLD {
            let rest = if self.identities == TOLD { " (further ones are not logged)" } else { "" };
            tracing::warn!("still waiting for {awaited}; refused a connection from {from}: {what}{rest}");
        }
        self.identity = Some((from, what));
    }

    /// Notes that a peer's doctor has met this run. Each is reported once.
    fn note_doctor(&mut self, peer: &str) {
        if self.doctors.insert(peer.to_owned()) {
            tracing::info!(
                "{peer}'s doctor was here, and knows now that it can reach this party; still waiting for its run"
            );
        }
    }

    /// The error when the time is over.
    fn explain(&self, peer: String, here: SocketAddr, options: &Options) -> Error {
        let seconds = options.timeout.as_secs_f64();
        if let Some((from, what)) = &self.identity {
            return Error::Authentication {
                peer,
                what: format!("at {from} {what}; nobody else came within {seconds} s"),
            };
        }
        let seen = match &self.last {
            None => "nobody did".into(),
            Some((from, what)) => format!("{} did, the last from {from}: {what}", counted(self.count as u64, "other")),
        };
        let what = format!(
            "did not connect to {here} within {seconds} s ({seen}): is it running, does it dial this address, and does its job \
             file have the parties in the same order?"
        );
        Error::Network { peer, what }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_a_host_is_every_address_of_this_machine() {
        for (given, expected) in [
            (":7400", "0.0.0.0:7400"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("[::1]:7400", "[::1]:7400"),
            ("insurer.example:7400", "insurer.example:7400"),
        ] {
            assert_eq!(listening_at(given).unwrap(), expected);
        }
        for bad in ["", ":", "7400", "host", "host:", "host:x", "host:70000", ":-1"] {
            assert!(matches!(listening_at(bad), Err(Error::Input(_))), "{bad}");
        }
    }
}
