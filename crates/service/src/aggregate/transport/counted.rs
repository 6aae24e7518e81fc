//! A socket whose bytes are counted.

use std::io;
use std::pin::Pin;
use std::sync::atomic::Ordering;
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
