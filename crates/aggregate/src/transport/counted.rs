//! A socket whose bytes are counted, and a stream of which it is noted why it failed.

use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::SharedTraffic;

pub(super) struct Counted {
    socket: TcpStream,
    traffic: SharedTraffic,
}

impl Counted {
    pub(super) fn new(socket: TcpStream, traffic: SharedTraffic) -> Counted {
        Counted { socket, traffic }
    }
}

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        let done = Pin::new(&mut self.socket).poll_read(context, into);
        self.traffic.received.fetch_add((into.filled().len() - before) as u64, Ordering::Relaxed);
        done
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let done = Pin::new(&mut self.socket).poll_write(context, bytes);
        if let Poll::Ready(Ok(count)) = &done {
            self.traffic.sent.fetch_add(*count as u64, Ordering::Relaxed);
        }
        done
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(context)
    }
}

/// First reason for which a stream failed: those who read it say less.
pub(super) type Fault = Arc<Mutex<Option<io::Error>>>;

/// A stream that notes its first failure.
pub(super) struct Noted<S> {
    stream: S,
    fault: Fault,
}

impl<S> Noted<S> {
    pub(super) fn new(stream: S) -> (Noted<S>, Fault) {
        let fault = Fault::default();
        (Noted { stream, fault: fault.clone() }, fault)
    }

    fn note<T>(&self, done: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        done.map_err(|error| {
            let shown = io::Error::new(error.kind(), error.to_string());
            self.fault.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            shown
        })
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Noted<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let done = Pin::new(&mut self.stream).poll_read(context, into);
        self.note(done)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Noted<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
