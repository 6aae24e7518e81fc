//! Making a connection: where the other end may listen, and who it has to be there.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use axum::body::Body;
use axum::http::Method;
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tacita_core::{Error, Result};
use tacita_node::transport::http::Dialer;
use tacita_node::transport::key_exchange::NegotiatedGroup;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::{Client, Endpoint, Link};
use crate::transport::addresses::ServiceAddresses;
use crate::transport::counted::{Counted, Noted};
use crate::transport::{HANDSHAKE_LIMIT, MEDIA_TYPE};
use crate::wire::hello::ServiceInfo;
use crate::wire::service::file;

/// Bytes of what a service says of itself.
const MAX_HERE_BYTES: usize = 1 << 14;

/// Time for which the message that somebody else answers is not repeated.
const QUIET: Duration = Duration::from_secs(30);

/// Bytes of answers that may be on their way.
const WINDOW: u32 = 1 << 20;

impl Client {
    /// Connects to where the other end should listen.
    pub(super) async fn reach(&self) -> Result<Link> {
        match &self.place {
            Endpoint::At(address) => self.connect(address, address.clone()).await,
            Endpoint::Told(path) => {
                let address = std::fs::read_to_string(path);
                let address = address.map_err(|_| self.silent("it has not said where it listens"))?;
                self.connect(&address, address.clone()).await
            }
            Endpoint::Named(named) => self.reach_named(named).await,
        }
    }

    /// Connects to the first of several addresses at which the other end is. Where none leads to it, others are asked
    /// for one more.
    async fn reach_named(&self, named: &ServiceAddresses) -> Result<Link> {
        let (mut tried, mut failures) = (Vec::new(), Vec::new());
        for is_asked in [false, true] {
            if is_asked {
                named.addresses.ask(named.service).await;
            }
            for candidate in named.candidates() {
                if tried.contains(&candidate.address) {
                    continue;
                }
                let shown = candidate.shown.clone();
                match self.connect(&candidate.address, candidate.shown).await {
                    Ok(link) if !candidate.is_named => return Ok(link),
                    Ok(link) => match self.checked(link, named).await {
                        Some(link) => return Ok(link),
                        None => failures.push(format!("at {shown}: this is not {} of this job", self.peer.name)),
                    },
                    Err(Error::Network { what, .. }) => failures.push(what),
                    // Who names a wrong address, or an old one, must not be able to end anything.
                    Err(Error::Authentication { what, .. }) if candidate.is_named => failures.push(what),
                    Err(error) => return Err(error),
                }
                tried.push(candidate.address);
            }
        }
        Err(self.silent(&if failures.is_empty() { named.unknown() } else { failures.join("; ") }))
    }

    /// The connection, if who answers there serves the job as this service.
    async fn checked(&self, link: Link, named: &ServiceAddresses) -> Option<Link> {
        let asking = async {
            let (answer, link) = self.send(link, &Method::GET, "/v1/here", MEDIA_TYPE, Body::empty()).await.ok()?;
            let answer = self.whole(answer, MAX_HERE_BYTES, link).await.ok()?;
            serde_json::from_slice::<ServiceInfo>(&answer.body).ok()
        };
        let here = timeout(HANDSHAKE_LIMIT, asking).await.ok()??;
        let link = self.kept()?;
        (here.agreement == named.agreement && here.service == Some(file(named.service))).then_some(link)
    }

    /// Interprets a failed handshake. Until it is over, the other end has not proved any identity. An answer under
    /// another identity means a wrong address, and says nothing of the service that is looked for. It is reported at
    /// once, and not too often.
    fn nobody(&self, error: Error) -> Error {
        let Error::Authentication { peer, what } = error else { return error };
        let mut told = self.stranger.lock().unwrap_or_else(PoisonError::into_inner);
        if told.is_none_or(|last| last.elapsed() > QUIET) {
            *told = Some(Instant::now());
            tracing::warn!("{peer}: {what}: another server answers there, which counts as no answer");
        }
        Error::Network { peer, what }
    }

    /// Connects to `dialed`, which messages call `address`.
    async fn connect(&self, dialed: &str, address: String) -> Result<Link> {
        let dialer = Dialer::new(&self.identity, &self.peer)?;
        let connecting = async {
            let socket = TcpStream::connect(dialed).await.map_err(|error| dialer.failure(&error, &address))?;
            let _ = socket.set_nodelay(true);
            let socket = Counted::new(socket, self.traffic.clone());
            let connector = TlsConnector::from(dialer.config.clone());
            let stream = connector.connect(dialer.name(), socket).await;
            stream.map_err(|error| self.nobody(dialer.failure(&error, &address)))
        };
        let limit = self.patience.unwrap_or(HANDSHAKE_LIMIT).min(HANDSHAKE_LIMIT);
        let stream = timeout(limit, connecting).await;
        let stream = stream.map_err(|_| self.silent(&format!("at {address}: no answer")))??;
        if stream.get_ref().1.alpn_protocol() != Some(b"h2") {
            return Err(self.silent(&format!("the server at {address} does not speak HTTP/2")));
        }
        let group = NegotiatedGroup::of(stream.get_ref().1)?;
        self.traffic.note_group(group);
        let (stream, ended) = Noted::new(stream);
        let handshake = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .initial_stream_window_size(WINDOW)
            .initial_connection_window_size(WINDOW)
            .handshake(TokioIo::new(stream))
            .await;
        let (sender, connection) = handshake.map_err(|error| dialer.failure(&error, &address))?;
        // How it ends is noted, and found by the request that it is for.
        tokio::spawn(connection);
        Ok(Link { sender, address, group, ended })
    }
}
