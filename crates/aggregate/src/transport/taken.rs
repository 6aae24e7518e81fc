//! Answers on their way. Whoever asks and does not read would have them kept for it, one after the other: so an answer
//! counts as its request until it was taken, travels in small pieces, and is given up when that takes too long.

use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use hyper::body::{Frame, SizeHint};
use tokio::task::AbortHandle;
use tokio::time::sleep;

use super::body::time_for;

/// Time within which an answer without a length has to be taken.
#[derive(Debug, Clone, Copy)]
pub struct ReadDeadline(pub Duration);

/// Bytes of an answer that wait in the connection, at most, where the other end takes none.
const PIECE_BYTES: usize = 1 << 14;

/// An answer that is on its way.
struct Taken {
    left: Arc<Mutex<Option<Left>>>,
    limit: AbortHandle,
}

/// Remainder of the answer.
struct Left {
    body: Body,
    piece: Bytes,
    _under_way: Box<dyn Send>,
}

/// An answer that counts as its request, and ends with it.
pub(super) fn taken(answer: Response, under_way: impl Send + 'static) -> Response {
    let within = answer.extensions().get::<ReadDeadline>().map(|within| within.0);
    answer.map(|body| {
        let length = hyper::body::Body::size_hint(&body).exact().unwrap_or(0);
        let within = within.unwrap_or_else(|| time_for(usize::try_from(length).unwrap_or(usize::MAX)));
        let left = Arc::new(Mutex::new(Some(Left { body, piece: Bytes::new(), _under_way: Box::new(under_way) })));
        let held = left.clone();
        let limit = tokio::spawn(async move {
            sleep(within).await;
            held.lock().unwrap_or_else(PoisonError::into_inner).take();
        });
        Body::new(Taken { left, limit: limit.abort_handle() })
    })
}

impl hyper::body::Body for Taken {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Left { body, piece, .. }) = left.as_mut() else {
            return Poll::Ready(Some(Err(axum::Error::new(io::Error::from(io::ErrorKind::TimedOut)))));
        };
        if piece.is_empty() {
            match ready!(Pin::new(body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => *piece = data,
                    Err(frame) => return Poll::Ready(Some(Ok(frame))),
                },
                ended => return Poll::Ready(ended),
            }
        }
        let length = piece.len().min(PIECE_BYTES);
        Poll::Ready(Some(Ok(Frame::data(piece.split_to(length)))))
    }

    fn is_end_stream(&self) -> bool {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.as_ref().is_some_and(|left| left.piece.is_empty() && hyper::body::Body::is_end_stream(&left.body))
    }

    fn size_hint(&self) -> SizeHint {
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        match left.as_ref() {
            Some(left) if left.piece.is_empty() => hyper::body::Body::size_hint(&left.body),
            _ => SizeHint::default(),
        }
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.limit.abort();
    }
}
