//! Requests whose bodies never come.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::Bytes;
use axum::http::{Request, header};
use hyper::body::{Body, Frame};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tacita_node::transport::http::Dialer;
use tacita_service::aggregate::transport::{MEDIA_TYPE, Service};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;
use tokio_rustls::TlsConnector;

use super::world::World;

/// A body that never comes.
pub struct Never;

impl Body for Never {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

/// So many requests on one connection whose bodies never come; the statuses of their answers.
pub fn dripping(
    world: &World,
    name: &str,
    service: Service,
    (method, path): (&str, &str),
    json: bool,
    requests: usize,
) -> Vec<JoinHandle<u16>> {
    let (identity, peer) = (world.identity(name), world.setting.peer(service).unwrap());
    let role = if service == Service::Proxy(0) { "proxy-0" } else { "database-0" };
    let address = std::fs::read_to_string(world.at("addresses").join(role)).unwrap();
    let sender = world.runtime.block_on(async {
        let dialer = Dialer::new(&identity, &peer).unwrap();
        let socket = TcpStream::connect(address).await.unwrap();
        let stream = TlsConnector::from(dialer.config.clone()).connect(dialer.name(), socket).await.unwrap();
        let builder = http2::Builder::new(TokioExecutor::new()).timer(TokioTimer::new()).to_owned();
        let (sender, connection) = builder.handshake::<_, Never>(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        sender
    });
    let kind = if json { "application/json" } else { MEDIA_TYPE };
    let ask = |_| {
        let mut sender = sender.clone();
        let request = Request::builder().method(method).uri(format!("https://tacita.invalid{path}"));
        let request = request.header(header::CONTENT_TYPE, kind).body(Never).unwrap();
        world.runtime.spawn(async move { sender.send_request(request).await.unwrap().status().as_u16() })
    };
    (0..requests).map(ask).collect()
}
