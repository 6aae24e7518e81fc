//! A party's way to a peer through a relay.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustls::Connection;
use tacita_core::ErrorKind as Kind;
use tacita_core::{Error, Result};

use super::{AGREEMENT_BYTES, HEADER_BYTES, RelayMessage, RelayRequest, RelayWish, record_bytes};
use crate::base::text::shown;
use crate::identity::{Fingerprint, Identity};
use crate::transport::dial::{FIRST_PAUSE, LONGEST_PAUSE, check_form, connect, describe, resolve};
use crate::transport::handshake::{Failure, Handshake};
use crate::transport::tls::{self, Fault, Purpose};
use crate::transport::{self, ConnectCancel, Connected, HANDSHAKE_LIMIT, Options, POLL, Peer, runs_already};

/// Time limit for a relay to answer when it is probed after a connection was lost.
const PROBE: Duration = Duration::from_secs(2);

/// Relay at which the parties of a job meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayAddress {
    /// Address on which the relay listens, as `host:port`.
    pub address: String,
    /// Fingerprint of the key that the relay must prove to hold.
    pub pin: Fingerprint,
    /// The agreement of the job.
    pub agreement: [u8; AGREEMENT_BYTES],
    /// Index of the connection among several of two parties; 0 where there is one.
    pub lane: u64,
}

/// End of the connection to its peer that a party takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectionEnd {
    /// End of the party which would dial without a relay.
    Dials,
    /// End of the party which would listen.
    Listens,
}

/// Reason why a visit to a relay has led to nothing.
enum Miss {
    /// Fatal error, which no other attempt can help.
    Fatal(Error),
    /// The relay is not there; the reason.
    Relay(String),
    /// The peer is not; the reason.
    Peer(String),
}

impl RelayAddress {
    /// Returns the name of the relay in messages.
    pub fn name(&self) -> String {
        format!("the relay ({})", shown(&self.address))
    }

    /// Returns the error that ended a run, if `error` is what was seen of it. Where a connection is lost and the relay
    /// does not answer, the relay has gone and not the peer.
    pub fn blame(&self, error: Error, identity: &Identity) -> Error {
        let (Error::Network { peer, .. } | Error::Reported { culprit: peer, kind: Kind::Network, .. }) = &error else {
            return error;
        };
        if *peer == self.name() {
            return error;
        }
        match self.look(identity, PROBE) {
            Err(Miss::Relay(reason) | Miss::Peer(reason)) => {
                let what =
                    format!("does not answer ({reason}), and {peer} is reached through it: run again when it is back");
                Error::Network { peer: self.name(), what }
            }
            _ => error,
        }
    }

    /// Looks whether it is there; how long the answer took.
    fn look(&self, identity: &Identity, limit: Duration) -> std::result::Result<Duration, Miss> {
        let (started, cancel) = (Instant::now(), ConnectCancel::default());
        let until = started + limit;
        let socket = self.socket(until, &cancel)?;
        let word = self.ask(&socket, RelayWish::Look, identity, until, &cancel)?.next(self, identity, until)?;
        if word == RelayMessage::Known { Ok(started.elapsed()) } else { Err(self.refused(word, "")) }
    }

    /// A connection to it.
    fn socket(&self, until: Instant, cancel: &ConnectCancel) -> std::result::Result<TcpStream, Miss> {
        let addresses = resolve(&self.address, until, cancel).map_err(Miss::Fatal)?;
        let addresses = addresses.map_err(|error| Miss::Relay(error.to_string()))?;
        let mut reason = String::from("the name has no address");
        for address in addresses {
            match connect(address, until, cancel).map_err(Miss::Fatal)? {
                Ok(socket) => return Ok(socket),
                Err(error) => reason = describe(&error),
            }
        }
        Err(Miss::Relay(reason))
    }

    /// Says to the relay what this party wants.
    fn ask<'a>(
        &self,
        socket: &'a TcpStream,
        wish: RelayWish,
        identity: &Identity,
        until: Instant,
        cancel: &'a ConnectCancel,
    ) -> std::result::Result<Words<'a>, Miss> {
        let (connection, refusal) = tls::guest(identity, self.pin).map_err(Miss::Fatal)?;
        let failed = |what: String| Error::Authentication { peer: self.name(), what };
        let until = until.min(Instant::now() + HANDSHAKE_LIMIT);
        let mut handshake = Handshake { connection, refusal, socket, writer: &mut &*socket, until, cancel };
        let shaken = handshake.run();
        let connection = handshake.connection;
        shaken.map_err(|failure| self.explain(failure, identity, &failed))?;
        let mut words = Words { connection, socket, record: Vec::new(), cancel };
        words.send(&RelayRequest { agreement: self.agreement, wish }.write()).map_err(Miss::Relay)?;
        // In TLS 1.3 the client is done before the server has judged its certificate: that comes with the first word.
        Ok(words)
    }

    fn explain(&self, failure: Failure, identity: &Identity, failed: &dyn Fn(String) -> Error) -> Miss {
        match failure {
            Failure::Fatal(error) => Miss::Fatal(error),
            Failure::Fault(Fault::TheirIdentity(what)) => Miss::Fatal(failed(what)),
            Failure::Fault(Fault::OurIdentity(what)) => Miss::Fatal(failed(format!(
                "it refused {what} ({}): it serves other jobs, or other identities; compare with the job files that it was started with",
                identity.fingerprint()
            ))),
            Failure::Fault(Fault::Unknown(what)) => Miss::Relay(what),
            Failure::Elsewhere(_) => Miss::Relay("it serves another purpose".into()),
        }
    }

    /// Translates a word that ends the visit.
    fn refused(&self, word: RelayMessage, peer: &str) -> Miss {
        match word {
            RelayMessage::UnknownJob => Miss::Fatal(Error::Terms(format!(
                "{} does not know this job (agreement {}): its job file is missing, or differs from the one here: start it with \
                 the same file",
                self.name(),
                self.agreement[..8].iter().map(|byte| format!("{byte:02x}")).collect::<String>()
            ))),
            RelayMessage::NoSuchPair => Miss::Fatal(Error::Authentication {
                peer: self.name(),
                what: format!("it says that this identity has no peer {peer} in this job: compare the job files"),
            }),
            RelayMessage::Replaced => Miss::Fatal(Error::Network {
                peer: self.name(),
                what: format!(
                    "another run with this identity connected to {peer}, and replaced this one: start only one"
                ),
            }),
            RelayMessage::Busy => Miss::Peer("an earlier connection of the two is still there".into()),
            RelayMessage::Late => Miss::Peer("the relay has waited for it for its time".into()),
            RelayMessage::Ending => Miss::Relay("it was ended".into()),
            RelayMessage::Wait | RelayMessage::Joined | RelayMessage::Known => {
                Miss::Relay("its answer does not fit the request".into())
            }
        }
    }
}

/// Meets `peer` at the relay, and connects to it end to end; tries again until it is there or the time is over.
///
/// [`Error::Input`] if the address cannot be one; [`Error::Authentication`] if the relay, or the peer, has another key,
/// or refuses our identity; [`Error::Terms`] if the relay does not know the job; [`Error::Network`], which names whom
/// it is about, when the time is over; [`Error::NotReady`] if a doctor has met a run; [`Error::Interrupted`].
pub fn meet(
    place: &RelayAddress,
    peer: &Peer,
    side: ConnectionEnd,
    identity: &Identity,
    options: &Options,
) -> Result<Connected> {
    check_form(&place.address)?;
    let until = Instant::now() + options.timeout;
    let mut pause = FIRST_PAUSE;
    let mut doctors = 0;
    let mut missed = None;
    while Instant::now() < until {
        match visit(place, peer, side, identity, options, until, &mut doctors) {
            Ok(connected) => return Ok(connected),
            Err(Miss::Fatal(error)) => return Err(error),
            // A visit that the end of the time cuts short says less than the one before.
            Err(Miss::Relay(_)) if missed.is_some() && Instant::now() >= until => {}
            Err(miss) => missed = Some(miss),
        }
        let wake = until.min(Instant::now() + pause);
        while Instant::now() < wake {
            options.cancel.check()?;
            std::thread::sleep(POLL.min(wake.saturating_duration_since(Instant::now())));
        }
        pause = LONGEST_PAUSE.min(pause * 2);
    }
    let seconds = options.timeout.as_secs_f64();
    Err(match missed.unwrap_or(Miss::Relay("no time to try".into())) {
        Miss::Fatal(error) => error,
        Miss::Relay(reason) => Error::Network {
            peer: place.name(),
            what: format!("did not answer within {seconds} s ({reason}): is it running, and is the address right?"),
        },
        Miss::Peer(reason) => Error::Network {
            peer: peer.name.clone(),
            what: format!(
                "did not come to {} within {seconds} s ({reason}): is it running, and does its job file have this [relay]?",
                place.name()
            ),
        },
    })
}

/// Looks whether a relay is there, has its identity, and knows the job. Returns how long the answer took.
///
/// Errors: as [`meet`], without trying again.
pub fn look(place: &RelayAddress, identity: &Identity, limit: Duration) -> Result<Duration> {
    check_form(&place.address)?;
    place.look(identity, limit).map_err(|miss| match miss {
        Miss::Fatal(error) => error,
        Miss::Relay(reason) | Miss::Peer(reason) => Error::Network {
            peer: place.name(),
            what: format!("does not answer ({reason}): is it running, and is the address right?"),
        },
    })
}

/// One visit to the relay.
fn visit(
    place: &RelayAddress,
    peer: &Peer,
    side: ConnectionEnd,
    identity: &Identity,
    options: &Options,
    until: Instant,
    doctors: &mut usize,
) -> std::result::Result<Connected, Miss> {
    let socket = place.socket(until, &options.cancel)?;
    let mut words =
        place.ask(&socket, RelayWish::Meet { peer: peer.pin, lane: place.lane }, identity, until, &options.cancel)?;
    let mut waits = false;
    loop {
        match words.next(place, identity, until)? {
            RelayMessage::Wait if !waits => {
                waits = true;
                tracing::info!("waiting for {} at {}", peer.name, place.name());
            }
            RelayMessage::Wait => {}
            RelayMessage::Joined => break,
            word => return Err(place.refused(word, &peer.name)),
        }
    }
    let failed =
        |what: String| Error::Authentication { peer: peer.name.clone(), what: format!("at {} {what}", place.name()) };
    over(socket, peer, side, identity, options).map_err(|failure| match failure {
        Failure::Fatal(error) => Miss::Fatal(error),
        Failure::Elsewhere(Purpose::Run) if options.purpose == Purpose::Doctor => Miss::Fatal(runs_already(&peer.name)),
        Failure::Elsewhere(_) => {
            if *doctors == 0 {
                tracing::info!("{}'s doctor was here; still waiting for its run", peer.name);
            }
            *doctors += 1;
            Miss::Peer("it was its doctor that came, and not its run".into())
        }
        Failure::Fault(Fault::TheirIdentity(what)) => Miss::Fatal(failed(what)),
        Failure::Fault(Fault::OurIdentity(what)) => Miss::Fatal(failed(format!(
            "it refused {what} ({}); compare with what it expects of this party",
            identity.fingerprint()
        ))),
        Failure::Fault(Fault::Unknown(what)) => Miss::Peer(what),
    })
}

/// The connection of the two, once they are joined.
fn over(
    socket: TcpStream,
    peer: &Peer,
    side: ConnectionEnd,
    identity: &Identity,
    options: &Options,
) -> std::result::Result<Connected, Failure> {
    let failed = |e: std::io::Error| Failure::Fault(Fault::Unknown(format!("the socket failed: {e}")));
    let mut writer = transport::writer(&socket, options.shape).map_err(failed)?;
    let ends = match side {
        ConnectionEnd::Dials => tls::client(identity, peer.pin, options.purpose),
        ConnectionEnd::Listens => tls::server(identity, vec![peer.pin]),
    };
    let (connection, refusal) = ends.map_err(Failure::Fatal)?;
    let until = Instant::now() + HANDSHAKE_LIMIT;
    let cancel = &options.cancel;
    let mut handshake = Handshake { connection, refusal, socket: &socket, writer: &mut writer, until, cancel };
    let started = Instant::now();
    handshake.run()?;
    let round_trip = started.elapsed();
    match side {
        ConnectionEnd::Dials => handshake.await_greeting(options.purpose)?,
        ConnectionEnd::Listens => {
            handshake.greet(options.purpose)?;
            match Purpose::of(&handshake.connection) {
                Some(purpose) if purpose == options.purpose => {}
                other => return Err(Failure::Elsewhere(other.unwrap_or_default())),
            }
        }
    }
    let connection = handshake.connection;
    transport::channel(connection, socket, writer, peer, options, round_trip).map_err(Failure::Fatal)
}

/// Words of a relay to this party.
struct Words<'a> {
    connection: Connection,
    socket: &'a TcpStream,
    /// The record that is being read, of which no byte more is taken from the socket.
    record: Vec<u8>,
    cancel: &'a ConnectCancel,
}

impl Words<'_> {
    fn send(&mut self, bytes: &[u8]) -> std::result::Result<(), String> {
        let mut records = Vec::new();
        let sent = self.connection.writer().write_all(bytes).and_then(|()| {
            while self.connection.wants_write() {
                self.connection.write_tls(&mut records)?;
            }
            self.socket.write_all(&records)
        });
        sent.map_err(|error| format!("the connection failed: {error}"))
    }

    /// Reads the next word of the relay.
    fn next(
        &mut self,
        place: &RelayAddress,
        identity: &Identity,
        until: Instant,
    ) -> std::result::Result<RelayMessage, Miss> {
        let mut heard = Instant::now();
        let mut byte = [0];
        loop {
            match self.connection.reader().read(&mut byte) {
                Ok(1) => {
                    return RelayMessage::read(byte[0]).ok_or_else(|| Miss::Relay("it speaks another version".into()));
                }
                Ok(_) => return Err(Miss::Relay("it closed the connection".into())),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {}
                Err(error) => return Err(Miss::Relay(error.to_string())),
            }
            self.cancel.check().map_err(Miss::Fatal)?;
            if Instant::now() >= until {
                return Err(Miss::Peer("no sign of it".into()));
            }
            if heard.elapsed() > transport::SILENCE {
                return Err(Miss::Relay("it fell silent".into()));
            }
            let Some(record) = self.record()? else { continue };
            heard = Instant::now();
            let mut record = record.as_slice();
            while !record.is_empty() {
                let taken = self.connection.read_tls(&mut record).is_ok_and(|count| count > 0);
                let failure = self.connection.process_new_packets().err();
                if let Some(error) = failure {
                    let failed = |what: String| Error::Authentication { peer: place.name(), what };
                    let fault = tls::fault(&error, &tls::Refusal::default());
                    return Err(place.explain(Failure::Fault(fault), identity, &failed));
                }
                if !taken {
                    return Err(Miss::Relay("it sends too much".into()));
                }
            }
        }
    }

    /// A whole record, as soon as it is there.
    fn record(&mut self) -> std::result::Result<Option<Vec<u8>>, Miss> {
        let missing = match self.record.first_chunk::<HEADER_BYTES>() {
            None => HEADER_BYTES - self.record.len(),
            Some(header) => {
                let length = record_bytes(*header).map_err(|error| Miss::Relay(error.to_string()))?;
                HEADER_BYTES + length - self.record.len()
            }
        };
        if missing == 0 {
            return Ok(Some(std::mem::take(&mut self.record)));
        }
        let mut part = vec![0; missing];
        match (&mut &*self.socket).read(&mut part) {
            Ok(0) => Err(Miss::Relay("it closed the connection".into())),
            Ok(count) => {
                self.record.extend_from_slice(&part[..count]);
                Ok(None)
            }
            // The handshake has set a limit of POLL.
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) =>
            {
                Ok(None)
            }
            Err(error) => Err(Miss::Relay(describe(&error))),
        }
    }
}
