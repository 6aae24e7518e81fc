//! Requests whose bodies never come, and answers that nobody reads.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::{Request, header};
use http_body_util::Empty;
use hyper::body::{Body, Frame};
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use serde_json::json;
use tacita_aggregate::transport::{ApiRequest, MEDIA_TYPE, REQUESTS_EACH};
use tacita_aggregate::wire::service::Service;
use tacita_node::transport::http::Dialer;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::world::{ONCE, PATIENT, ROUND, World, refused};

/// A body that never comes.
pub struct Never;

impl Body for Never {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

/// A connection, on which so many bytes of an answer may come before they are asked for.
pub fn connected<B>(world: &World, name: &str, service: Service, window: Option<u32>) -> SendRequest<B>
where
    B: Body<Data = Bytes, Error = Infallible> + Send + Unpin + 'static,
{
    let (identity, peer) = (world.identity(name), world.setting.peer(service).unwrap());
    let role = if service == Service::Proxy(0) { "proxy-1" } else { "database-1" };
    let address = std::fs::read_to_string(world.at("addresses").join(role)).unwrap();
    world.runtime.block_on(async {
        let dialer = Dialer::new(&identity, &peer).unwrap();
        let socket = TcpStream::connect(address).await.unwrap();
        let stream = TlsConnector::from(dialer.config.clone()).connect(dialer.name(), socket).await.unwrap();
        let mut builder = http2::Builder::new(TokioExecutor::new());
        let builder = builder.timer(TokioTimer::new()).initial_stream_window_size(window);
        let (sender, connection) = builder.handshake::<_, B>(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender
    })
}

/// Sends this many requests on one connection, whose bodies never come. Returns the statuses of their answers.
pub fn dripping(
    world: &World,
    name: &str,
    service: Service,
    (method, path): (&str, &str),
    json: bool,
    requests: usize,
) -> Vec<JoinHandle<u16>> {
    let sender = connected(world, name, service, None);
    let kind = if json { "application/json" } else { MEDIA_TYPE };
    let ask = |_| {
        let mut sender = sender.clone();
        let request = Request::builder().method(method).uri(format!("https://tacita.invalid{path}"));
        let request = request.header(header::CONTENT_TYPE, kind).body(Never).unwrap();
        world.runtime.spawn(async move { sender.send_request(request).await.unwrap().status().as_u16() })
    };
    (0..requests).map(ask).collect()
}

/// Whoever asks and does not read has no more answers kept for it than requests answered, and not for long.
#[test]
fn answers_that_nobody_reads_count_as_requests_and_are_given_up() {
    let world = World::started(&["a", "b"], json!({}));
    world.keys(&world.proxy("a"));
    let path = format!("/v1/rounds/{ROUND}");
    let mut sender = connected::<Empty<Bytes>>(&world, "a", Service::Proxy(0), Some(0));
    let mut unread = Vec::new();
    for _ in 0..REQUESTS_EACH {
        let request = Request::builder().uri(format!("https://tacita.invalid{path}")).body(Empty::new()).unwrap();
        unread.push(world.runtime.block_on(sender.send_request(request)).unwrap());
    }
    assert!(unread.iter().all(|answer| answer.status() == 200));
    let ask =
        |name: &str, persistence| world.proxy(name).ask(&ApiRequest::get(path.clone(), 1 << 16), persistence).unwrap();
    refused(&ask("a", ONCE), 429, "try again later");
    assert!(ask("b", ONCE).is_ok());
    let began = Instant::now();
    assert!(ask("a", PATIENT).is_ok());
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
    drop(unread);
}
