//! Answers that say what is wrong.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use axum::Json;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::{Deserialize, Serialize};
use tacita_core::{Error, ErrorKind};

/// Reason why a request was not granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RefusalReason {
    /// Too much is going on, or a queue is full: come again.
    Busy,
    /// Something is not there yet: come again.
    NotYet,
    /// There is no such round.
    UnknownRound,
    /// The round takes no reports any more, or is not in the state that this needs.
    Closed,
    /// The participant has reported as much as it may.
    Quota,
    /// The body, or the path, is not what it has to be.
    Malformed,
    /// The body is longer than any may be.
    TooLarge,
    /// Another body was given by this name before.
    Conflict,
    /// The round has other keys here than where the request comes from.
    OtherKeys,
    /// The proxy's state directory is not the one that has what it acknowledged, or the database's storage is not.
    Stale,
    /// Request that the caller is not allowed to make.
    Forbidden,
    /// Failure of this service.
    Failed,
}

/// Body of a refusal in JSON.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorBody {
    /// Reason for programs, as a code.
    pub error: RefusalReason,
    /// Reason for people, as a text.
    pub message: String,
    /// The round that is open instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Result of a request.
pub type ApiResult<T> = Result<T, ApiError>;

/// A request that was not granted.
#[derive(Debug, Clone)]
pub struct ApiError {
    told: ErrorBody,
    /// Failure of this service, for the operator alone.
    cause: Option<String>,
    /// Number of seconds after which to ask again.
    again: Option<u64>,
}

impl ApiError {
    /// Creates a refusal with its reason.
    pub fn new(kind: RefusalReason, message: impl Into<String>) -> ApiError {
        let again = matches!(kind, RefusalReason::Busy | RefusalReason::NotYet).then_some(1);
        ApiError { told: ErrorBody { error: kind, message: message.into(), next: None }, cause: None, again }
    }

    /// Sets the number of seconds after which to ask again.
    pub fn again_in(mut self, seconds: u64) -> ApiError {
        self.again = Some(seconds);
        self
    }

    /// Names the round that is open instead.
    pub fn next(mut self, round: Option<String>) -> ApiError {
        self.told.next = round;
        self
    }

    /// The same for who operates this machine, who is told what failed.
    pub fn for_operator(mut self) -> ApiError {
        if let Some(cause) = self.cause.take() {
            self.told.message = cause;
        }
        self
    }

    /// Returns the body that the caller is told.
    pub fn told(&self) -> &ErrorBody {
        &self.told
    }

    /// Whether the same request would be refused again.
    pub fn is_final(&self) -> bool {
        !matches!(
            self.told.error,
            RefusalReason::Busy | RefusalReason::NotYet | RefusalReason::OtherKeys | RefusalReason::Failed
        )
    }

    /// Encodes the answer to a granted request, where it is sent as the request's last message. The encoding is the
    /// status (2 bytes), the seconds until the retry (2 bytes; 0 if there is none), and JSON.
    /// [`Answer::decode`](crate::transport::ApiResponse::decode) reads it.
    pub fn outcome(granted: &ApiResult<serde_json::Value>) -> Vec<u8> {
        let (status, again, json) = match granted {
            Ok(value) => (StatusCode::OK, 0, value.to_string()),
            Err(reply) => {
                let told = serde_json::to_string(&reply.told).unwrap_or_default();
                (reply.status(), reply.again.unwrap_or(0), told)
            }
        };
        let again = u16::try_from(again).unwrap_or(u16::MAX);
        [&status.as_u16().to_le_bytes()[..], &again.to_le_bytes(), json.as_bytes()].concat()
    }

    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self.told.error {
            RefusalReason::Busy | RefusalReason::Quota => StatusCode::TOO_MANY_REQUESTS,
            RefusalReason::NotYet => StatusCode::SERVICE_UNAVAILABLE,
            RefusalReason::UnknownRound => StatusCode::NOT_FOUND,
            RefusalReason::Closed => StatusCode::GONE,
            RefusalReason::Malformed => StatusCode::BAD_REQUEST,
            RefusalReason::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            RefusalReason::Conflict | RefusalReason::OtherKeys | RefusalReason::Stale => StatusCode::CONFLICT,
            RefusalReason::Forbidden => StatusCode::FORBIDDEN,
            RefusalReason::Failed => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = (self.status(), Json(&self.told)).into_response();
        // For whoever counts what is refused.
        response.extensions_mut().insert(self.told.error);
        if let Some(seconds) = self.again {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}

/// Time for which the same failure is not reported again: a client that is told to come again does.
const QUIET: Duration = Duration::from_secs(30);

/// Says what failed, without filling the log.
fn tell(what: &str) {
    static LAST: Mutex<Option<(String, Instant)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if last.as_ref().is_none_or(|(told, when)| told != what || when.elapsed() > QUIET) {
        tracing::warn!("a request failed: {what}");
        *last = Some((what.to_owned(), Instant::now()));
    }
}

/// Conversion of failures of this service: they are reported to this machine's log, and to its operator alone.
impl From<Error> for ApiError {
    fn from(error: Error) -> ApiError {
        tell(&error.to_string());
        let reply = match error.kind() {
            // Who does not let this end in may do so later.
            ErrorKind::NotReady | ErrorKind::Network | ErrorKind::Authentication | ErrorKind::Interrupted => {
                ApiError::new(RefusalReason::NotYet, "it cannot be done at the moment")
            }
            // A disk that is full, for example: that may pass.
            ErrorKind::Input => {
                ApiError::new(RefusalReason::NotYet, "it cannot be done: its operator finds the reason in the log")
                    .again_in(5)
            }
            _ => ApiError::new(RefusalReason::Failed, "it failed: its operator finds the reason in the log"),
        };
        ApiError { cause: Some(error.to_string()), ..reply }
    }
}
