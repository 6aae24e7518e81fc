//! Bodies, read within bounds, and the work on them, done where it stops no other request.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderMap, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use tacita_core::Error;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::{BODY_LIMIT, MEDIA_TYPE};
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};

/// Time for which a request waits for a place among those that compute.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Bytes of a body that arrive in a second at least, on the average.
const SLOWEST: usize = 1 << 18;

/// Bytes of a body in JSON.
const MAX_JSON_BYTES: usize = 1 << 14;

const JSON: &str = "application/json";

/// Reads a binary body of at most `most` bytes.
pub async fn read(headers: &HeaderMap, body: Body, most: usize) -> ApiResult<Vec<u8>> {
    expect_binary(headers)?;
    let too_large = || ApiError::new(RefusalReason::TooLarge, format!("the body is longer than {most} bytes"));
    let length = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > most as u64) {
        return Err(too_large());
    }
    let limit = time_for(most);
    match timeout(limit, Limited::new(body, most).collect()).await {
        Ok(Ok(whole)) => Ok(whole.to_bytes().into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(ApiError::new(RefusalReason::Malformed, "the body was cut off")),
        Err(_) => Err(ApiError::new(
            RefusalReason::Malformed,
            format!("the body did not arrive within {} s", limit.as_secs()),
        )),
    }
}

/// Reads a body in JSON. Whoever may not be asked for something is refused before its body is read: it could let it
/// drip.
pub async fn read_json<T: DeserializeOwned>(headers: &HeaderMap, body: Body) -> ApiResult<T> {
    let malformed = |what: &str| ApiError::new(RefusalReason::Malformed, what.to_owned());
    if headers.get(header::CONTENT_TYPE).is_none_or(|found| found.as_bytes() != JSON.as_bytes()) {
        return Err(malformed("the body is no JSON"));
    }
    match timeout(BODY_LIMIT, Limited::new(body, MAX_JSON_BYTES).collect()).await {
        Ok(Ok(whole)) => {
            serde_json::from_slice(&whole.to_bytes()).map_err(|_| malformed("the body of the request cannot be read"))
        }
        Ok(Err(_)) => Err(malformed("the body is too long, or was cut off")),
        Err(_) => Err(malformed("the body did not arrive in time")),
    }
}

/// Refuses a body that does not say that it is a binary one.
pub fn expect_binary(headers: &HeaderMap) -> ApiResult<()> {
    if headers.get(header::CONTENT_TYPE).is_some_and(|found| found.as_bytes() == MEDIA_TYPE.as_bytes()) {
        Ok(())
    } else {
        Err(ApiError::new(
            RefusalReason::Malformed,
            format!("the body is no {MEDIA_TYPE}: are both programs of one version?"),
        ))
    }
}

/// Returns the time limit for this many bytes to arrive.
pub(super) fn time_for(bytes: usize) -> Duration {
    BODY_LIMIT + Duration::from_secs((bytes / SLOWEST) as u64)
}

/// Pool in which requests compute and wait for disks.
#[derive(Clone)]
pub struct RequestPool(Arc<Semaphore>);

impl RequestPool {
    /// Creates a pool with as many places as there are cores; each may use several.
    pub fn new() -> RequestPool {
        let cores = std::thread::available_parallelism().map_or(2, |cores| cores.get());
        RequestPool(Arc::new(Semaphore::new(cores.max(2))))
    }

    /// Runs `work` in the pool.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> ApiResult<T> + Send + 'static) -> ApiResult<T> {
        let place = match timeout(TIMEOUT, self.0.clone().acquire_owned()).await {
            Ok(Ok(place)) => place,
            _ => return Err(ApiError::new(RefusalReason::Busy, "too many requests: try again later").again_in(2)),
        };
        let span = tracing::Span::current();
        let done = tokio::task::spawn_blocking(move || {
            let _place = place;
            span.in_scope(work)
        });
        done.await.unwrap_or_else(|error| Err(Error::Internal(format!("a request's work ended: {error}")).into()))
    }
}

impl Default for RequestPool {
    fn default() -> RequestPool {
        RequestPool::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 10;

    fn runtime() -> tokio::runtime::Runtime {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
    }

    fn headers(kind: &str, length: Option<usize>) -> HeaderMap {
        let kind = (header::CONTENT_TYPE, kind.parse().unwrap());
        let length = length.map(|length| (header::CONTENT_LENGTH, length.into()));
        [kind].into_iter().chain(length).collect()
    }

    /// Whether a body says how long it is or not, no more of it is read than it may have.
    #[test]
    fn bodies_have_a_bound() {
        let read = |said, length| {
            let body = Body::from(vec![7; length]);
            runtime().block_on(read(&headers(MEDIA_TYPE, said), body, LIMIT)).map_err(|reply| reply.told().error)
        };
        for said in [None, Some(LIMIT)] {
            assert_eq!(read(said, LIMIT), Ok(vec![7; LIMIT]));
            assert_eq!(read(said, LIMIT + 1), Err(RefusalReason::TooLarge));
        }
        assert_eq!(read(Some(LIMIT + 1), 1), Err(RefusalReason::TooLarge), "it is not waited for");
        let other = runtime().block_on(super::read(&headers(JSON, None), Body::empty(), LIMIT));
        assert_eq!(other.map_err(|reply| reply.told().error), Err(RefusalReason::Malformed));
    }

    #[test]
    fn bodies_in_json_have_a_bound() {
        let read = |length: usize| {
            let text = format!("\"{}\"", "a".repeat(length - 2));
            runtime().block_on(read_json::<String>(&headers(JSON, None), Body::from(text))).map(|text| text.len())
        };
        assert_eq!(read(MAX_JSON_BYTES).unwrap(), MAX_JSON_BYTES - 2);
        assert!(read(MAX_JSON_BYTES + 1).unwrap_err().told().message.contains("too long"));
    }
}
