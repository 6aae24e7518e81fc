//! Whether the helper is well, and what it has done: two pages on this machine, for whoever watches it.

use std::fmt::{Display, Write};
use std::net::{TcpListener, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use tacita_core::{Error, Result};
use tokio::runtime::{Builder, Runtime};

use super::Helper;

/// Takes the address of the pages: HOST:PORT, or :PORT for this machine.
///
/// Errors ([`Error::Input`]): it is not of this machine alone, or cannot be had.
pub(super) fn listen(address: &str) -> Result<TcpListener> {
    let failed = |what: &dyn Display| Error::Input(format!("--status {address}: {what}"));
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
pub(super) fn serve(listener: TcpListener, helper: Arc<Helper>) -> Result<Runtime> {
    let failed = |error: std::io::Error| Error::Internal(format!("the pages of --status: {error}"));
    let here = listener.local_addr().map_err(failed)?;
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().map_err(failed)?;
    let pages = Router::new().route("/health", get(health)).route("/metrics", get(metrics)).with_state(helper);
    runtime.spawn(async move {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        axum::serve(listener, pages).await
    });
    tracing::info!("status at http://{here}/health and http://{here}/metrics");
    Ok(runtime)
}

async fn health(State(helper): State<Arc<Helper>>) -> impl IntoResponse {
    match (helper.open.load(Ordering::Acquire), helper.drain.is_cancelled()) {
        (true, false) => (StatusCode::OK, "ok\n".to_owned()),
        (true, true) => (StatusCode::SERVICE_UNAVAILABLE, format!("ending, with {} under way\n", helper.running())),
        (false, _) => (StatusCode::SERVICE_UNAVAILABLE, "not open\n".to_owned()),
    }
}

/// In the text format of Prometheus, version 0.0.4. Jobs are numbered: their names are the parties' own.
async fn metrics(State(helper): State<Arc<Helper>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], helper.metrics())
}

impl Helper {
    fn metrics(&self) -> String {
        let mut page = String::new();
        let mut tell = |name: &str, kind: &str, help: &str, values: &[(String, u64)]| {
            let _ = write!(page, "# HELP tacita_helper_{name} {help}\n# TYPE tacita_helper_{name} {kind}\n");
            for (labels, value) in values {
                let _ = writeln!(page, "tacita_helper_{name}{labels} {value}");
            }
        };
        let of = |number: &AtomicU64| vec![(String::new(), number.load(Ordering::Relaxed))];
        let by_job = |value: &dyn Fn(usize) -> u64| -> Vec<(String, u64)> {
            (0..self.desks.len()).map(|job| (format!("{{job=\"{}\"}}", job + 1), value(job))).collect()
        };
        tell("runs_finished_total", "counter", "Runs that all parties finished.", &of(&self.numbers.finished));
        tell("runs_failed_total", "counter", "Runs that somebody ended.", &of(&self.numbers.failed));
        tell("refused_total", "counter", "Connections of strangers.", &of(&self.numbers.refused));
        tell("received_bytes_total", "counter", "Bytes that parties left.", &of(&self.numbers.received));
        tell("sent_bytes_total", "counter", "Bytes that parties collected.", &of(&self.numbers.sent));
        let running = by_job(&|job| u64::from(self.desks[job].is_running()));
        tell("running", "gauge", "Whether a run is under way.", &running);
        tell("parties_here", "gauge", "Parties that are connected.", &by_job(&|job| self.desks[job].now().0 as u64));
        tell("kept_bytes", "gauge", "Bytes that were left in the run.", &by_job(&|job| self.desks[job].now().1));
        page
    }
}
