//! Server end of the transport.

use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Extension;
use axum::response::{IntoResponse, Response};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http2;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::identity::{Fingerprint, Identity};
use tacita_node::transport::http::{HttpAcceptor, presented};
use tacita_node::transport::key_exchange::NegotiatedGroup;
use tacita_serve::accept::{AcceptLimits, Handshake, accept};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::admission::{CountGuard, Going};
use super::counted::Counted;
use super::stream::cancelled;
use super::taken::taken;
use super::{Admission, HANDSHAKE_LIMIT, MAX_CONNECTIONS, MAX_REQUESTS, REQUESTS_EACH, SharedTraffic};
use crate::wire::reply::{ApiError, RefusalReason};

/// Handshakes at a time. Who comes then takes the place of the oldest one of the network that holds most: where that is
/// the own one, only if it has had the time that a handshake takes, so that a crowd of honest ones gets done.
const MAX_HANDSHAKES: usize = 1024;
const HANDSHAKE: Duration = Duration::from_secs(1);

/// After how long without a request a connection is closed.
const IDLE: Duration = Duration::from_secs(60);

/// Interval at which the other end has to show that it is there, and the time limit for its answer.
const PING: Duration = Duration::from_secs(15);
const PONG: Duration = Duration::from_secs(10);

/// Time limit for a connection to end when it is to.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// Requests of one connection at a time.
const STREAMS: u32 = 16;

/// Bytes that one connection may send before they are read.
const WINDOW: u32 = 1 << 17;

/// Bytes of one request's head.
const HEAD_BYTES: u32 = 16 << 10;

/// Time limit for a refused client to read the reason.
const GOODBYE: Duration = Duration::from_secs(1);

const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Server of a role.
pub struct Server {
    /// Identity of the server.
    pub identity: Identity,
    /// List of those who are let in.
    pub admission: Arc<Admission>,
    /// Counter of the traffic.
    pub traffic: SharedTraffic,
    /// Routes of the requests that are answered.
    pub routes: Router,
    /// Ends it: requests under way may end.
    pub cancel: Cancel,
}

/// Activity of a connection.
struct Activity {
    began: Instant,
    under_way: AtomicUsize,
    /// Milliseconds after it began.
    last: AtomicU64,
}

/// Lets processes of services open as many files as they may: each connection is one.
pub fn files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limits = getrlimit(Resource::Nofile);
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limits.maximum, maximum: limits.maximum });
}

/// Serves until it is cancelled, and what was being answered is.
///
/// Errors ([`Error::Input`]): the listener is none.
pub async fn stand(server: Arc<Server>, listener: std::net::TcpListener) -> Result<()> {
    let failed = |error: std::io::Error| Error::Input(format!("cannot listen: {error}"));
    let connections = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let requests = Arc::new(Semaphore::new(MAX_REQUESTS));
    let attend = |place: OwnedSemaphorePermit, socket, from, handshake| {
        let (server, requests) = (server.clone(), requests.clone());
        async move {
            if let Err(what) = meet(&server, socket, handshake, requests).await {
                tracing::debug!("refused a connection from {from}: {what}");
                server.traffic.refused.fetch_add(1, Ordering::Relaxed);
                note(from, &what);
            }
            drop(place);
        }
    };
    let enter = || connections.clone().try_acquire_owned().ok();
    let limits = AcceptLimits { handshakes: MAX_HANDSHAKES, grace: HANDSHAKE };
    accept(listener, limits, cancelled(&server.cancel), |_| (), enter, attend).await.map_err(failed)?;
    // Every connection holds a place.
    let _ = timeout(SHUTDOWN_GRACE, connections.acquire_many(MAX_CONNECTIONS as u32)).await;
    Ok(())
}

/// Says who was refused, without filling the log.
fn note(from: SocketAddr, what: &str) {
    static TOLD: AtomicU64 = AtomicU64::new(0);
    let told = TOLD.fetch_add(1, Ordering::Relaxed);
    if told < 100 || told.is_power_of_two() {
        tracing::info!("refused a connection from {from}: {what}");
    }
}

/// One connection from its first byte to its last.
async fn meet(
    server: &Arc<Server>,
    socket: TcpStream,
    handshake: Handshake,
    requests: Arc<Semaphore>,
) -> std::result::Result<(), String> {
    let _ = socket.set_nodelay(true);
    let stream = {
        let door = HttpAcceptor::new(&server.identity, server.admission.pins()).map_err(|error| error.to_string())?;
        let accepting = TlsAcceptor::from(door.config.clone()).accept(Counted::new(socket, server.traffic.clone()));
        let accepted = timeout(HANDSHAKE_LIMIT, accepting.into_fallible()).await;
        match accepted.map_err(|_| "it did not complete the TLS handshake".to_owned())? {
            Ok(stream) => stream,
            Err((error, socket)) => {
                let what = door.refused(&error);
                // A socket that is closed with unread bytes would destroy the alert on its way.
                let _ = timeout(GOODBYE, linger(socket)).await;
                return Err(what);
            }
        }
    };
    drop(handshake);
    let connection = stream.get_ref().1;
    if connection.alpn_protocol() != Some(b"h2") {
        return Err("it does not speak HTTP/2".into());
    }
    server.traffic.note_group(NegotiatedGroup::of(connection).map_err(|error| error.to_string())?);
    let who = presented(connection).ok_or("it shows no certificate")?;
    let _counted = server.admission.enter(who, Going::Connection).ok_or("it has too many connections")?;
    let activity =
        Arc::new(Activity { began: Instant::now(), under_way: AtomicUsize::new(0), last: AtomicU64::new(0) });
    let routes = TowerToHyperService::new(server.routes.clone().layer(Extension(who)));
    let (admission, busy, traffic) = (server.admission.clone(), activity.clone(), server.traffic.clone());
    let answer = service_fn(move |mut request: Request<Incoming>| {
        let place = requests.clone().try_acquire_owned().ok();
        // The fewer are free, the fewer one may have: a few identities that let bodies drip would have them all.
        let most = (1 + requests.available_permits() * REQUESTS_EACH / MAX_REQUESTS).min(REQUESTS_EACH);
        let own = admission.enter(who, Going::Request { most });
        let (routes, busy, traffic) = (routes.clone(), Busy::new(&busy), traffic.clone());
        async move {
            let (Some(place), Some(own)) = (place, own) else {
                traffic.turned_away.fetch_add(1, Ordering::Relaxed);
                return Ok::<Response, std::convert::Infallible>(
                    ApiError::new(RefusalReason::Busy, "too many requests: try again later").into_response(),
                );
            };
            let under_way = UnderWay { _held: Arc::new((busy, place, own)) };
            request.extensions_mut().insert(under_way.clone());
            let Ok(answer) = routes.call(request).await;
            Ok(taken(answer, under_way))
        }
    });
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(PING)
        .keep_alive_timeout(PONG)
        .max_concurrent_streams(STREAMS)
        .initial_stream_window_size(WINDOW)
        .initial_connection_window_size(WINDOW)
        .max_header_list_size(HEAD_BYTES);
    let mut serving = pin!(builder.serve_connection(TokioIo::new(stream), answer));
    let mut ending: Option<Instant> = None;
    loop {
        let ended = tokio::select! {
            ended = serving.as_mut() => Some(ended),
            () = sleep(POLL_INTERVAL) => None,
        };
        match ended {
            // An end that is cut off is the other one's affair: it asks again.
            Some(_) => return Ok(()),
            None if ending.is_some_and(|since| since.elapsed() > SHUTDOWN_GRACE) => return Ok(()),
            None if ending.is_none() && (server.cancel.is_cancelled() || activity.idle() > IDLE) => {
                serving.as_mut().graceful_shutdown();
                ending = Some(Instant::now());
            }
            None => (),
        }
    }
}

/// Closes a socket's sending side, and reads on until the other end has hung up.
async fn linger(mut socket: Counted) -> std::io::Result<()> {
    poll_fn(|context| Pin::new(&mut socket).poll_shutdown(context)).await?;
    let mut sink = [0; 1024];
    loop {
        let mut sink = ReadBuf::new(&mut sink);
        poll_fn(|context| Pin::new(&mut socket).poll_read(context, &mut sink)).await?;
        if sink.filled().is_empty() {
            return Ok(());
        }
    }
}

impl Activity {
    fn idle(&self) -> Duration {
        match self.under_way.load(Ordering::Acquire) {
            0 => self.began.elapsed().saturating_sub(Duration::from_millis(self.last.load(Ordering::Acquire))),
            _ => Duration::ZERO,
        }
    }
}

/// A request that is being answered.
struct Busy(Arc<Activity>);

impl Busy {
    fn new(activity: &Arc<Activity>) -> Busy {
        activity.under_way.fetch_add(1, Ordering::AcqRel);
        Busy(activity.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.last.store(self.0.began.elapsed().as_millis() as u64, Ordering::Release);
        self.0.under_way.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A request, which counts as one, and keeps its connection, until all of these are dropped: its answer may take longer
/// than its beginning.
#[derive(Clone)]
pub struct UnderWay {
    _held: Arc<(Busy, OwnedSemaphorePermit, CountGuard)>,
}

/// Identity that sent the request.
pub type Who = Extension<Fingerprint>;
