//! Whether a service is well, and what it has done: two pages on this machine, for whoever watches it.

use std::fmt::{Display, Write};
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tacita_core::{Error, Result};
use tokio::runtime::{Builder, Runtime};

/// A service that can be watched.
pub(crate) trait Watched: Send + Sync + 'static {
    /// Whether it is well, in a line, and if it is not, why.
    fn health(&self) -> (bool, String);

    /// In the text format of Prometheus, version 0.0.4. Jobs are numbered: their names are the parties' own.
    fn metrics(&self) -> String;
}

/// A page of metrics that is being written.
pub(crate) struct Page {
    prefix: &'static str,
    text: String,
}

impl Page {
    /// One whose names all begin with `tacita_PREFIX_`.
    pub(crate) fn new(prefix: &'static str) -> Page {
        Page { prefix, text: String::new() }
    }

    /// Adds a metric with its values, each with labels, if it has some.
    pub(crate) fn tell(&mut self, name: &str, kind: &str, help: &str, values: &[(String, u64)]) {
        let Page { prefix, text } = self;
        let _ = write!(text, "# HELP tacita_{prefix}_{name} {help}\n# TYPE tacita_{prefix}_{name} {kind}\n");
        for (labels, value) in values {
            let _ = writeln!(text, "tacita_{prefix}_{name}{labels} {value}");
        }
    }

    /// The page.
    pub(crate) fn text(self) -> String {
        self.text
    }
}

/// Takes the address of pages that an option gives: HOST:PORT, or :PORT for this machine.
///
/// Errors ([`Error::Input`]): it is not of this machine alone, or cannot be had.
pub(crate) fn listen(option: &str, address: &str) -> Result<TcpListener> {
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

/// Serves `/health` and `/metrics` until what this returns is dropped.
pub(crate) fn serve(listener: TcpListener, watched: Arc<dyn Watched>) -> Result<Runtime> {
    let failed = |error: std::io::Error| Error::Internal(format!("the pages of --status: {error}"));
    let here = listener.local_addr().map_err(failed)?;
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(failed)?;
    let pages = Router::new().route("/health", get(health)).route("/metrics", get(metrics)).with_state(watched);
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        axum::serve(listener, pages).await
    });
    tracing::info!("status at http://{here}/health and http://{here}/metrics");
    Ok(runtime)
}

async fn health(State(watched): State<Arc<dyn Watched>>) -> impl IntoResponse {
    match watched.health() {
        (true, text) => (StatusCode::OK, text),
        (false, text) => (StatusCode::SERVICE_UNAVAILABLE, text),
    }
}

async fn metrics(State(watched): State<Arc<dyn Watched>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], watched.metrics())
}
