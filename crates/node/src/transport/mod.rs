//! Connections between parties: TCP, TLS 1.3 with pinned keys, and a [`Channel`] on top.
//!
//! One party listens, the other dials, and either may start first. The wire format is in `docs/wire.md`.

mod arrival;
pub mod depot;
mod dial;
pub mod door;
pub mod faults;
mod handshake;
pub mod handshakes;
pub mod http;
pub mod key_exchange;
pub mod links;
mod listen;
pub mod relay;
pub mod shaped;
mod socket;
mod stream;
mod tls;

use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustls::Connection;
use tacita_core::{Channel, Error, Result};

pub use dial::dial;
pub use listen::{listen, listen_for_all, listening_at};
pub use shaped::LinkShape;
pub use tls::{
    ALPN, DESK_ALPN, DOCTOR_ALPN, EXPORTER_BYTES, EXPORTER_LABEL, HELPER_ALPN, HTTP_ALPN, OUR_IDENTITY, Purpose,
    RELAY_ALPN,
};

use crate::identity::Fingerprint;
use key_exchange::NegotiatedGroup;
use shaped::ShapedWriter;

/// Default time for which parties wait for each other.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Interval at which a party that has nothing to send shows that it is alive.
pub const HEARTBEAT: Duration = Duration::from_secs(2);

/// After how long without a byte a peer counts as gone.
pub const SILENCE: Duration = Duration::from_secs(10);

/// Time limit for one handshake.
pub const HANDSHAKE_LIMIT: Duration = Duration::from_secs(10);

/// Time for which a listener waits for the dialer's first message: long enough for it to be sent three times.
const HELLO_LIMIT: Duration = Duration::from_secs(4);

/// Interval at which everything that waits checks whether it was cancelled.
const POLL: Duration = Duration::from_millis(50);

/// The party that is expected at the other end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Name of the peer in the job.
    pub name: String,
    /// Fingerprint of the key that the peer must prove to hold.
    pub pin: Fingerprint,
}

/// Options for a connection.
#[derive(Debug, Clone)]
pub struct Options {
    /// Purpose of this end of the connection.
    pub purpose: Purpose,
    /// Time to wait for the peer.
    pub timeout: Duration,
    /// Ends the wait from another thread.
    pub cancel: ConnectCancel,
    /// Simulated link of the sending direction, TLS included.
    pub shape: LinkShape,
    /// See [`HEARTBEAT`].
    pub heartbeat: Duration,
    /// See [`SILENCE`].
    pub silence: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            purpose: Purpose::default(),
            timeout: DEFAULT_TIMEOUT,
            cancel: ConnectCancel::default(),
            shape: LinkShape::default(),
            heartbeat: HEARTBEAT,
            silence: SILENCE,
        }
    }
}

/// Ends the wait for a peer from another thread, as when the user presses Ctrl-C. Clones cancel the same wait.
#[derive(Debug, Clone, Default)]
pub struct ConnectCancel(Arc<AtomicBool>);

impl ConnectCancel {
    /// Makes everything that waits under this handle, now or later, end with [`Error::Interrupted`] within 100 ms.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Release);
    }

    /// Whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    fn check(&self) -> Result<()> {
        if self.0.load(Ordering::Acquire) { Err(Error::Interrupted) } else { Ok(()) }
    }
}

/// A channel to an authenticated peer.
pub struct Connected {
    /// Named after the peer.
    pub channel: Channel,
    /// Secret that only the two ends of this very connection know (RFC 8446 section 7.5).
    pub exporter: [u8; EXPORTER_BYTES],
    /// Group from which the connection has its keys.
    pub group: NegotiatedGroup,
    /// Duration of the TLS handshake: one round trip, and a millisecond or two of computation.
    pub round_trip: Duration,
}

/// The peer is there, and for something else: a run that a doctor has met. Nothing of it was read.
fn runs_already(peer: &str) -> Error {
    Error::NotReady(format!(
        "{peer} can be reached, and both identities are right; but its run waits there, not its doctor, so nothing more was \
         compared: start this party's run, or ask {peer} for `tacita doctor` with --meet"
    ))
}

/// The sending direction of a socket.
fn writer(socket: &TcpStream, shape: LinkShape) -> std::io::Result<Box<dyn Write + Send>> {
    let socket = socket.try_clone()?;
    Ok(if shape.is_plain() { Box::new(socket) } else { Box::new(ShapedWriter::new(socket, shape)) })
}

/// Ends a connection on which another thread reads.
fn end(socket: &TcpStream) {
    // It fails if the connection is down, which is what is wanted.
    let _ = socket.shutdown(Shutdown::Both);
}

/// A finished handshake becomes a channel.
fn channel(
    connection: Connection,
    socket: TcpStream,
    writer: Box<dyn Write + Send>,
    peer: &Peer,
    options: &Options,
    round_trip: Duration,
) -> Result<Connected> {
    let failed =
        |e: std::io::Error| Error::Network { peer: peer.name.clone(), what: format!("the socket failed: {e}") };
    let exporter = tls::exporter(&connection)?;
    let group = NegotiatedGroup::of(&connection)?;
    socket.set_read_timeout(Some(options.silence)).map_err(failed)?;
    let shut = socket.try_clone().map_err(failed)?;
    let (reader, writer) = stream::split(connection, socket, writer);
    let channel = Channel::over(&peer.name, reader, writer, options.heartbeat, move || end(&shut));
    Ok(Connected { channel, exporter, group, round_trip })
}
