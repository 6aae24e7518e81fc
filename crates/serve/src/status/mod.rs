//! Whether a service is well, whether it can do its work, and what it has done: pages on this machine, for whoever
//! watches it.

mod page;
mod ready;

use std::fmt::Display;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde_json::{Value, json};
use tacita_core::{Error, Result};
use tokio::runtime::{Builder, Runtime};

use crate::page::origin::is_local;
use crate::page::server;

pub use page::{Durations, MetricsPage, labels, seconds, value};
pub use ready::{Check, Readiness};

/// A service that can be watched.
pub trait Watched: Send + Sync + 'static {
    /// Whether it is well, in a line, and if it is not, why.
    fn health(&self) -> (bool, String);

    /// Whether it can do its work, and in JSON which of its checks fail, and since when.
    fn ready(&self) -> (bool, Value) {
        let (well, text) = self.health();
        (well, json!({ "ready": well, "why": text.trim_end() }))
    }

    /// Returns the metrics in the text format of Prometheus, version 0.0.4. Jobs are numbered: their names are the
    /// parties' own.
    fn metrics(&self) -> String;
}

/// Takes the address of pages that an option gives: HOST:PORT, or :PORT for this machine.
///
/// Errors ([`Error::Input`]): it is not of this machine alone, or cannot be had.
pub fn listen(option: &str, address: &str) -> Result<TcpListener> {
    let failed = |what: &dyn Display| Error::Input(format!("{option} {address}: {what}"));
    let whole = if address.starts_with(':') { format!("127.0.0.1{address}") } else { address.to_owned() };
    let found = whole.to_socket_addrs().ok().and_then(|mut all| all.next());
    let found = found.ok_or_else(|| failed(&"no address: give one of this machine, as 127.0.0.1:7501"))?;
    if !found.ip().is_loopback() {
        return Err(failed(&"others can reach that; use an address of this machine alone, as 127.0.0.1:7501"));
    }
    let listener = TcpListener::bind(found).and_then(|listener| listener.set_nonblocking(true).map(|()| listener));
    listener.map_err(|error| failed(&format!("cannot listen there: {error}: give another address")))
}

/// Serves `/health`, `/healthz`, `/readyz` and `/metrics` until what this returns is dropped.
pub fn serve(listener: TcpListener, watched: Arc<dyn Watched>) -> Result<Runtime> {
    let failed = |error: std::io::Error| Error::Internal(format!("the pages of --status: {error}"));
    let here = listener.local_addr().map_err(failed)?;
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(failed)?;
    let pages = Router::new()
        .route("/health", get(health))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/readyz", get(ready))
        .route("/metrics", get(metrics))
        .layer(from_fn_with_state(here, check_host))
        .with_state(watched);
    runtime.spawn(server::serve(listener, pages, std::future::pending()));
    tracing::info!("status at http://{here}/health and http://{here}/metrics");
    Ok(runtime)
}

/// Refuses what a browser asks for on behalf of another site, whose name leads here today. Programs may name no host.
async fn check_host(State(here): State<SocketAddr>, request: Request, next: Next) -> Response {
    let host = request.headers().get(header::HOST);
    if host.is_some_and(|host| !host.to_str().is_ok_and(|host| is_local(host, here))) {
        return (StatusCode::FORBIDDEN, format!("these pages have another name: http://{here}\n")).into_response();
    }
    next.run(request).await
}

async fn health(State(watched): State<Arc<dyn Watched>>) -> impl IntoResponse {
    let (well, text) = aside(move || watched.health()).await;
    (code(well), text)
}

async fn ready(State(watched): State<Arc<dyn Watched>>) -> impl IntoResponse {
    let (ready, checks) = aside(move || watched.ready()).await;
    (code(ready), Json(checks))
}

async fn metrics(State(watched): State<Arc<dyn Watched>>) -> impl IntoResponse {
    let text = aside(move || watched.metrics()).await;
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text)
}

/// Has it looked up where it keeps no other page waiting.
async fn aside<T: Send + Default + 'static>(look: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(look).await.unwrap_or_default()
}

fn code(well: bool) -> StatusCode {
    if well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}
