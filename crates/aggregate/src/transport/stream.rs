//! A channel over the two bodies of one request, which travel at once: a protocol of many messages within one request,
//! that leaves nothing when the request is cut off.

use std::io::{self, Read, Write};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes};
use http_body_util::BodyExt;
use hyper::body::Frame;
use tacita_core::{Channel, Error};
use tacita_node::base::cancel::Cancel;
use tokio::runtime::Handle;
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};

use super::body::time_for;

/// Pieces of a body between a thread of a channel and whoever carries them.
const WAITING: usize = 2;

/// Bytes of a piece, at most.
const PIECE_BYTES: usize = 1 << 16;

/// Interval at which a channel that has nothing to send shows that it is there, and the time limit without a sign.
const HEARTBEAT: Duration = Duration::from_secs(4);
const SILENCE: Duration = Duration::from_secs(15);

const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Limits on the data that a channel accepts from the other end.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// Bytes that may arrive.
    pub bytes: usize,
    /// Time limit for the whole channel.
    pub time: Duration,
}

impl Bounds {
    /// For a protocol in which so many bytes may travel in either direction: as long as bodies of these may take, one
    /// after the other.
    pub fn of(bytes: usize) -> Bounds {
        Bounds { bytes, time: time_for(2 * bytes) }
    }
}

/// The writing end of a body that is being sent.
pub struct Outlet {
    pieces: mpsc::Sender<Bytes>,
    runtime: Handle,
    stop: watch::Sender<bool>,
}

/// A body that is sent while it is written: where it is read, and where it is written. Called where the runtime is.
pub fn outlet() -> (Outlet, Body) {
    let (pieces, written) = mpsc::channel(WAITING);
    (Outlet { pieces, runtime: Handle::current(), stop: watch::Sender::new(false) }, Body::new(Written(written)))
}

/// A channel to `peer` that reads a body, and writes another. It ends when the other end says nothing, sends or takes
/// more than it may, or when it is cancelled. Called where the runtime is, and used where it may wait.
pub fn join<B>(peer: &str, incoming: B, outlet: Outlet, bounds: Bounds, cancel: &Cancel) -> Channel
where
    B: hyper::body::Body<Data = Bytes> + Send + Unpin + 'static,
    B::Error: std::fmt::Display,
{
    let (pieces, arrived) = mpsc::channel(WAITING);
    let carrying = tokio::spawn(carry(incoming, pieces, bounds.bytes)).abort_handle();
    let stop = outlet.stop.clone();
    let mut stopped = stop.subscribe();
    let inlet = Inlet { arrived, rest: Bytes::new() };
    let channel = Channel::over(peer, inlet, outlet, HEARTBEAT, move || {
        carrying.abort();
        stop.send_replace(true);
    });
    let (handle, cancel, peer) = (channel.handle(), cancel.clone(), peer.to_owned());
    tokio::spawn(async move {
        let error = tokio::select! {
            _ = stopped.wait_for(|stopped| *stopped) => return,
            () = sleep(bounds.time) => {
                Error::Network { peer, what: format!("was given up: it took longer than {} s", bounds.time.as_secs()) }
            }
            () = cancelled(&cancel) => Error::Interrupted,
        };
        handle.interrupt(error);
    });
    channel
}

/// Carries a body to whoever reads it, as long as it goes on and is no longer than it may be.
async fn carry<B>(mut body: B, pieces: mpsc::Sender<io::Result<Bytes>>, mut left: usize)
where
    B: hyper::body::Body<Data = Bytes> + Unpin,
    B::Error: std::fmt::Display,
{
    loop {
        let piece = match timeout(SILENCE, body.frame()).await {
            Ok(Some(Ok(frame))) => match frame.into_data() {
                Ok(data) if data.len() > left => Err(io::ErrorKind::FileTooLarge.into()),
                Ok(data) => {
                    left -= data.len();
                    Ok(data)
                }
                Err(_) => continue,
            },
            Ok(Some(Err(error))) => Err(io::Error::new(io::ErrorKind::ConnectionReset, error.to_string())),
            Ok(None) => return,
            Err(_) => Err(io::ErrorKind::TimedOut.into()),
        };
        let ended = piece.is_err();
        if pieces.send(piece).await.is_err() || ended {
            return;
        }
    }
}

/// The pieces of a body as a thread reads them.
struct Inlet {
    arrived: mpsc::Receiver<io::Result<Bytes>>,
    rest: Bytes,
}

impl Read for Inlet {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.arrived.blocking_recv() {
                Some(piece) => self.rest = piece?,
                None => return Ok(0),
            }
        }
        let length = into.len().min(self.rest.len());
        into[..length].copy_from_slice(&self.rest.split_to(length));
        Ok(length)
    }
}

impl Write for Outlet {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let piece = &bytes[..bytes.len().min(PIECE_BYTES)];
        let mut stopped = self.stop.subscribe();
        // Whoever carries it may not take it for ever: then what stops the channel ends this.
        let taken = self.runtime.block_on(async {
            tokio::select! {
                biased;
                taken = self.pieces.send(Bytes::copy_from_slice(piece)) => taken.is_ok(),
                _ = stopped.wait_for(|stopped| *stopped) => false,
            }
        });
        if taken { Ok(piece.len()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Bytes that were written, as the body of a request or of an answer.
struct Written(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Written {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
    }
}

pub(crate) async fn cancelled(cancel: &Cancel) {
    while !cancel.is_cancelled() {
        sleep(POLL_INTERVAL).await;
    }
}
