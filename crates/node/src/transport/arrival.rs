//! Somebody who has come to a listener, and has proved who it is.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustls::Connection;

use super::handshake::{Failure, Handshake};
use super::tls::{self, Fault, Refusal};
use super::{Connected, Options, Peer, Purpose, socket};
use crate::identity::{Fingerprint, Identity};

/// One of those who may come, by its key: the TLS handshake is over, and the dialer is not told yet that it was chosen.
pub(super) struct Arrival {
    connection: Connection,
    refusal: Refusal,
    socket: TcpStream,
    writer: Box<dyn Write + Send>,
    round_trip: Duration,
}

impl Arrival {
    /// Shakes hands with whoever is at the other end of a socket, if it holds one of these keys.
    pub(super) fn meet(
        socket: TcpStream,
        until: Instant,
        pins: Vec<Fingerprint>,
        identity: &Identity,
        options: &Options,
    ) -> Result<Arrival, Failure> {
        let failed = |e: io::Error| Failure::Fault(Fault::Unknown(format!("the socket failed: {e}")));
        socket::prepare(&socket).map_err(failed)?;
        let mut writer = super::writer(&socket, options.shape).map_err(failed)?;
        let (connection, refusal) = tls::server(identity, pins).map_err(Failure::Fatal)?;
        let mut handshake =
            Handshake { connection, refusal, socket: &socket, writer: &mut writer, until, cancel: &options.cancel };
        let started = Instant::now();
        handshake.await_hello()?;
        handshake.run()?;
        let round_trip = started.elapsed();
        let Handshake { connection, refusal, .. } = handshake;
        Ok(Arrival { connection, refusal, socket, writer, round_trip })
    }

    /// Returns the fingerprint of the certificate that the connection has presented.
    pub(super) fn presented(&self) -> Option<Fingerprint> {
        tls::presented(&self.connection)
    }

    /// Tells the dialer that it was chosen, or that this end serves another purpose.
    pub(super) fn accept(mut self, until: Instant, peer: &Peer, options: &Options) -> Result<Connected, Failure> {
        let mut handshake = Handshake {
            connection: self.connection,
            refusal: self.refusal,
            socket: &self.socket,
            writer: &mut self.writer,
            until,
            cancel: &options.cancel,
        };
        handshake.greet(options.purpose)?;
        match Purpose::of(&handshake.connection) {
            Some(purpose) if purpose == options.purpose => {}
            other => return Err(Failure::Elsewhere(other.unwrap_or_default())),
        }
        let connection = handshake.connection;
        super::channel(connection, self.socket, self.writer, peer, options, self.round_trip).map_err(Failure::Fatal)
    }
}
