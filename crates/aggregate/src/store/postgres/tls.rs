//! TLS to a PostgreSQL server whose certificate was issued by whom the operator names, and is for the host's name.

use std::future::Future;
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use tacita_core::Result;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client;
use tokio_rustls::rustls::ClientConfig;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::trust;

/// Returns a connector for servers whose certificates were issued by those in a file.
///
/// Errors ([`tacita_core::Error::Input`]): the file cannot be read, or holds no certificate.
pub(super) fn trusting(path: &Path) -> Result<Arc<ClientConfig>> {
    trust::trusting("storage: sslrootcert=", path, None)
}

/// Makes a connection to a host private.
#[derive(Clone)]
pub(super) struct Tls(pub(super) Arc<ClientConfig>);

/// The same, for one host.
pub(super) struct Connect {
    connector: TlsConnector,
    host: ServerName<'static>,
}

/// Connection that is encrypted with TLS.
pub(super) struct Stream<S>(client::TlsStream<S>);

type Connecting<S> = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = Connect;
    type Error = io::Error;

    fn make_tls_connect(&mut self, host: &str) -> io::Result<Connect> {
        let host = ServerName::try_from(host.to_owned())
            .map_err(|error| io::Error::new(io::ErrorKind::InvalidInput, error))?;
        Ok(Connect { connector: self.0.clone().into(), host })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Connect {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Connecting<S>;

    fn connect(self, stream: S) -> Connecting<S> {
        Box::pin(async move { self.connector.connect(self.host, stream).await.map(Stream) })
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Stream<S> {
    /// The certificate was verified: whoever holds its key is the server.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, into)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
