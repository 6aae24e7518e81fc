//! Client end of the transport.

mod connect;
mod interact;
mod notice;
mod replicas;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use axum::body::{Body, Bytes};
use axum::http::{Method, Request, Response, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http2::SendRequest;
use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::text::shown;
use tacita_node::identity::Identity;
use tacita_node::transport::Peer;
use tacita_node::transport::http::Dialer;
use tacita_node::transport::key_exchange::NegotiatedGroup;
use tokio::runtime::{Handle, Runtime};
use tokio::time::{sleep, timeout};

use super::addresses::ServiceAddresses;
use super::counted::Fault;
use super::stream::cancelled;
use super::{MEDIA_TYPE, SharedTraffic};
use crate::message;
use crate::wire::reply::{ErrorBody, RefusalReason};

pub use self::notice::WaitNotice;
pub use self::replicas::{Replicas, all_silent};

/// Time limit for one request, and the rate in bytes per second by which its body extends it. An oracle decrypts what
/// it is asked.
const REQUEST_LIMIT: Duration = Duration::from_secs(120);
const BYTES_A_SECOND: u64 = 1 << 17;

/// Pauses between attempts: the first, which doubles, and the longest.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

const POLL: Duration = Duration::from_millis(50);

/// Source of the address on which a service listens.
#[derive(Debug, Clone)]
pub enum Endpoint {
    /// Fixed address of the service.
    At(String),
    /// File that names the current address.
    Told(PathBuf),
    /// Addresses from a registry or another service, and from the job file.
    Named(ServiceAddresses),
}

/// A connection to one service, which is made when it is needed, and again when it was lost.
pub struct Client {
    // No runtime: the last owner of one must not drop it where it runs.
    runtime: Handle,
    identity: Identity,
    peer: Peer,
    place: Endpoint,
    traffic: SharedTraffic,
    cancel: Cancel,
    open: Mutex<Option<Link>>,
    contact: Arc<Contact>,
    /// Time of the latest message that somebody else answers.
    stranger: Mutex<Option<Instant>>,
    /// Time limit for the connection, and then for the beginning of an answer; if absent, that of the whole request.
    patience: Option<Duration>,
}

/// Time of the last answer.
#[derive(Debug, Default)]
pub struct Contact(Mutex<Option<SystemTime>>);

impl Contact {
    /// Returns the time of the last answer, if there ever was one.
    pub fn last(&self) -> Option<SystemTime> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the time that has passed since the last answer.
    pub fn silent(&self) -> Option<Duration> {
        self.last().map(|last| last.elapsed().unwrap_or_default())
    }

    /// Notes that an answer has come now.
    pub(crate) fn now(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(SystemTime::now());
    }
}

/// A connection that is made.
struct Link {
    sender: SendRequest<Body>,
    address: String,
    group: NegotiatedGroup,
    /// Reason why the connection has ended, if it has.
    ended: Fault,
}

/// Request to a service.
#[derive(Debug, Clone)]
pub struct ApiRequest {
    /// GET, PUT or POST.
    pub method: Method,
    /// Path of the request.
    pub path: String,
    /// The body; a binary one unless it is empty or `json`.
    pub body: Bytes,
    /// Whether it is JSON.
    pub json: bool,
    /// Maximum length of the answer in bytes.
    pub most: usize,
}

/// Answer to a request.
#[derive(Debug)]
pub struct ApiResponse {
    /// HTTP status of the answer.
    pub status: u16,
    /// Body of the answer.
    pub body: Vec<u8>,
    /// Time after which to ask again.
    pub again: Option<Duration>,
}

/// Time limits for repeated attempts.
#[derive(Debug, Clone, Copy)]
pub struct Persistence {
    /// Attempts that find nobody end then.
    pub silence: Duration,
    /// Attempts that are told to come again end then.
    pub busy: Duration,
}

impl ApiRequest {
    /// Creates a GET request.
    pub fn get(path: impl Into<String>, most: usize) -> ApiRequest {
        ApiRequest { method: Method::GET, path: path.into(), body: Bytes::new(), json: false, most }
    }

    /// Creates a PUT request with a binary body.
    pub fn put(path: impl Into<String>, body: impl Into<Bytes>, most: usize) -> ApiRequest {
        ApiRequest { method: Method::PUT, path: path.into(), body: body.into(), json: false, most }
    }

    /// Has something binary answered.
    pub fn post(path: impl Into<String>, body: impl Into<Bytes>, most: usize) -> ApiRequest {
        ApiRequest { method: Method::POST, path: path.into(), body: body.into(), json: false, most }
    }

    /// Says something in JSON.
    pub fn json(path: impl Into<String>, value: &serde_json::Value, most: usize) -> ApiRequest {
        ApiRequest { method: Method::POST, path: path.into(), body: value.to_string().into(), json: true, most }
    }
}

impl ApiResponse {
    fn new(status: u16, again: Option<u64>, body: Vec<u8>) -> ApiResponse {
        // Nobody waits for longer than a minute, whatever it is told.
        ApiResponse { status, body, again: again.map(|seconds| Duration::from_secs(seconds.min(60))) }
    }

    /// An answer that was the last word of a channel: see [`Reply::outcome`](crate::wire::reply::ApiError::outcome).
    pub fn decode(bytes: &[u8]) -> Option<ApiResponse> {
        let (status, rest) = bytes.split_first_chunk()?;
        let (again, body) = rest.split_first_chunk()?;
        let again = Some(u16::from_le_bytes(*again)).filter(|again| *again > 0);
        Some(ApiResponse::new(u16::from_le_bytes(*status), again.map(u64::from), body.to_vec()))
    }

    /// Whether it was granted.
    pub fn is_ok(&self) -> bool {
        (200..300).contains(&self.status)
    }

    /// Returns the reason why the request was not granted.
    pub fn told(&self) -> ErrorBody {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| ErrorBody {
            error: RefusalReason::Failed,
            message: format!("it answered with status {} and no reason", self.status),
            next: None,
        })
    }

    /// Whether it was not granted now, and may be later.
    pub fn come_again(&self) -> bool {
        !self.is_ok() && self.again.is_some()
    }
}

impl Client {
    /// A client of `peer`. Nothing is connected yet.
    pub fn new(
        runtime: &Arc<Runtime>,
        identity: &Identity,
        peer: Peer,
        place: Endpoint,
        traffic: &SharedTraffic,
        cancel: &Cancel,
    ) -> Client {
        Client {
            runtime: runtime.handle().clone(),
            identity: identity.clone(),
            peer,
            place,
            traffic: traffic.clone(),
            cancel: cancel.clone(),
            open: Mutex::default(),
            contact: Arc::default(),
            stranger: Mutex::default(),
            patience: None,
        }
    }

    /// The same, but taken for silent when it takes longer to be connected, or then to begin an answer.
    pub fn answered_within(mut self, patience: Duration) -> Client {
        self.patience = Some(patience);
        self
    }

    /// Returns the record of the other end's last answer.
    pub fn contact(&self) -> &Arc<Contact> {
        &self.contact
    }

    /// Returns the address at which the other end was reached, while there is a connection.
    pub fn reached(&self) -> Option<String> {
        self.lock().as_ref().map(|link| link.address.clone())
    }

    /// Returns the group from which the connection has its keys, while there is one.
    pub fn group(&self) -> Option<NegotiatedGroup> {
        self.lock().as_ref().map(|link| link.group)
    }

    /// Returns the name of the other end in the job.
    pub fn name(&self) -> &str {
        &self.peer.name
    }

    /// Asks until there is an answer that is no request to come again, or the time is over: the last answer, or
    /// failure, is returned then.
    ///
    /// Errors: [`Error::Network`] where nobody answers, or somebody of another identity; [`Error::Authentication`]
    /// where the other end refuses this identity; [`Error::Interrupted`].
    pub fn ask(&self, ask: &ApiRequest, persistence: Persistence) -> Result<ApiResponse> {
        self.persist(persistence, |_| self.once(ask))
    }

    /// `once` may set when the time begins anew.
    fn persist(
        &self,
        persistence: Persistence,
        mut once: impl FnMut(&mut Instant) -> Result<ApiResponse>,
    ) -> Result<ApiResponse> {
        let mut began = Instant::now();
        let (mut pause, mut news) = (FIRST_PAUSE, WaitNotice::default());
        loop {
            let done = once(&mut began);
            let (waited, limit) = match &done {
                Ok(answer) if answer.come_again() => (answer.again.unwrap_or_default(), persistence.busy),
                Err(Error::Network { .. }) => (Duration::ZERO, persistence.silence),
                _ => return done,
            };
            if began.elapsed() >= limit {
                return done;
            }
            if news.is_due(began.elapsed()) {
                let more = WaitNotice::more(limit.saturating_sub(began.elapsed()));
                match &done {
                    Ok(answer) => {
                        tracing::info!("{}: {}; trying again{more}", self.peer.name, shown(&answer.told().message));
                    }
                    Err(error) => tracing::info!("{error}; trying again{more}"),
                }
            }
            // Who were told to come again at once would come at once: each at a time of its own.
            let wait = waited.max(pause).mul_f64(0.75 + 0.5 * fraction());
            pause = LONGEST_PAUSE.min(pause * 2);
            self.rest(wait.min(limit.saturating_sub(began.elapsed())))?;
        }
    }

    /// Asks once; a connection that has ended is made again.
    pub fn once(&self, ask: &ApiRequest) -> Result<ApiResponse> {
        self.wait_for(ask.body.len(), self.attempts(ask))
    }

    /// Does something where the network is, unless it takes too long or is cancelled.
    fn wait_for<T>(&self, bytes: usize, doing: impl Future<Output = Result<T>>) -> Result<T> {
        let limit = REQUEST_LIMIT + Duration::from_secs(bytes as u64 / BYTES_A_SECOND);
        self.runtime.block_on(async {
            tokio::select! {
                done = timeout(limit, doing) => {
                    done.unwrap_or_else(|_| Err(self.silent("it did not answer in time")))
                }
                () = cancelled(&self.cancel) => Err(Error::Interrupted),
            }
        })
    }

    pub(super) async fn attempts(&self, ask: &ApiRequest) -> Result<ApiResponse> {
        if let Some(link) = self.kept()
            && let Ok(answer) = self.attempt(link, ask).await
        {
            return Ok(answer);
        }
        let link = self.reach().await?;
        self.attempt(link, ask).await
    }

    async fn attempt(&self, link: Link, ask: &ApiRequest) -> Result<ApiResponse> {
        let kind = if ask.json { "application/json" } else { MEDIA_TYPE };
        message("asks", ask.method.as_str(), &ask.path);
        let (answer, link) = self.send(link, &ask.method, &ask.path, kind, ask.body.clone().into()).await?;
        let answer = self.whole(answer, ask.most, link).await?;
        message("told", ask.method.as_str(), &ask.path);
        Ok(answer)
    }

    async fn send(
        &self,
        mut link: Link,
        method: &Method,
        path: &str,
        kind: &str,
        body: Body,
    ) -> Result<(Response<Incoming>, Link)> {
        let request = Request::builder()
            .method(method.clone())
            .uri(format!("https://tacita.invalid{path}"))
            .header(header::CONTENT_TYPE, kind)
            .body(body)
            .map_err(|error| Error::Internal(format!("a request: {error}")))?;
        let answer = match self.patience {
            Some(patience) => match timeout(patience, link.sender.send_request(request)).await {
                Ok(answer) => answer,
                Err(_) => {
                    return Err(self.silent(&format!("at {}: no answer for {} s", link.address, patience.as_secs())));
                }
            },
            None => link.sender.send_request(request).await,
        };
        match answer {
            Ok(answer) => Ok((answer, link)),
            Err(error) => Err(self.refusal(error, &link).await),
        }
    }

    /// The whole of an answer; the connection is kept then.
    async fn whole(&self, answer: Response<Incoming>, most: usize, link: Link) -> Result<ApiResponse> {
        let status = answer.status().as_u16();
        let again = answer.headers().get(header::RETRY_AFTER).and_then(|seconds| seconds.to_str().ok()?.parse().ok());
        let body = match Limited::new(answer.into_body(), most).collect().await {
            Ok(body) => body.to_bytes().into(),
            Err(error) if error.is::<LengthLimitError>() => {
                let check = format!("its answer is longer than {most} bytes");
                return Err(Error::Protocol { peer: self.peer.name.clone(), check });
            }
            Err(error) => return Err(self.silent(&format!("at {}: {error}", link.address))),
        };
        *self.lock() = Some(link);
        self.contact.now();
        Ok(ApiResponse::new(status, again, body))
    }

    fn kept(&self) -> Option<Link> {
        self.lock().take().filter(|link| !link.sender.is_closed())
    }

    /// Interprets a failed request. The other end may have refused our identity after the handshake: the connection's
    /// end says so.
    async fn refusal(&self, error: hyper::Error, link: &Link) -> Error {
        let mut ended = None;
        for _ in 0..10 {
            ended = link.ended.lock().unwrap_or_else(PoisonError::into_inner).take();
            if ended.is_some() {
                break;
            }
            sleep(POLL / 5).await;
        }
        match (Dialer::new(&self.identity, &self.peer), ended) {
            (Ok(dialer), Some(ended)) => dialer.failure(&ended, &link.address),
            (Ok(dialer), None) => dialer.failure(&error, &link.address),
            (Err(error), _) => error,
        }
    }

    fn silent(&self, what: &str) -> Error {
        Error::Network { peer: self.peer.name.clone(), what: what.to_owned() }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Link>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits, unless it is cancelled.
    pub fn rest(&self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        while Instant::now() < until {
            if self.cancel.is_cancelled() {
                return Err(Error::Interrupted);
            }
            std::thread::sleep(POLL.min(until.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }
}

/// A number between 0 and 1 that differs from process to process.
fn fraction() -> f64 {
    let mut byte = [0];
    match getrandom::fill(&mut byte) {
        Ok(()) => f64::from(byte[0]) / 256.0,
        Err(_) => 0.5,
    }
}
