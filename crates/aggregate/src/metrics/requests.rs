//! Requests that a role answers: how many, how long they took, why they were refused, and which services they came
//! from.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use axum::extract::{MatchedPath, Request, State};
use axum::middleware::Next;
use axum::response::Response;
use tacita_node::identity::Fingerprint;
use tacita_serve::status::{Durations, MetricsPage, labels};
use tacita_serve::sync::lock;
use tracing::Instrument;

use crate::message;
use crate::transport::Admission;
use crate::wire::reply::RefusalReason;
use crate::wire::rounds::check_name;
use crate::wire::service::Service;

/// Prefix of the patterns of routes that are about a round.
const OF_ROUND: &str = "/v1/rounds/{round}";

/// Statistics of the requests that were answered so far.
pub(crate) struct Requests {
    admission: Arc<Admission>,
    answered: Mutex<BTreeMap<Answered, Durations>>,
    refused: Mutex<BTreeMap<(String, String), u64>>,
    heard: Mutex<BTreeMap<Service, SystemTime>>,
}

/// Attributes by which requests are counted together. A route is the pattern that a request matched, and holds nothing
/// that was sent.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Answered {
    route: String,
    method: &'static str,
    status: u16,
}

impl Requests {
    pub(crate) fn new(admission: &Arc<Admission>) -> Requests {
        Requests {
            admission: admission.clone(),
            answered: Mutex::default(),
            refused: Mutex::default(),
            heard: Mutex::default(),
        }
    }

    /// Returns the time of the last request by each service.
    pub(super) fn heard(&self) -> BTreeMap<Service, Option<SystemTime>> {
        lock(&self.heard).iter().map(|(service, moment)| (*service, Some(*moment))).collect()
    }

    /// Adds its numbers to a page.
    pub(super) fn tell(&self, page: &mut MetricsPage) {
        let answered = lock(&self.answered);
        let statuses: Vec<_> = answered.keys().map(|one| one.status.to_string()).collect();
        let all = answered.iter().zip(&statuses).map(|((one, durations), status)| {
            (vec![("route", one.route.as_str()), ("method", one.method), ("status", status.as_str())], *durations)
        });
        let help = "Time from a request's head to its answer's.";
        page.durations("tacita_request_duration_seconds", help, &all.collect::<Vec<_>>());
        let refused = lock(&self.refused);
        let refused = refused.iter().map(|((route, reason), count)| {
            let labels = labels(&[("route", route), ("reason", reason)]);
            (labels, *count)
        });
        page.all(
            "tacita_requests_refused_total",
            "counter",
            "Requests that were not granted.",
            &refused.collect::<Vec<_>>(),
        );
    }
}

/// Answers a request and notes how that went. What is logged meanwhile names the round.
pub(crate) async fn watched(State(requests): State<Arc<Requests>>, request: Request, next: Next) -> Response {
    let began = Instant::now();
    let route = request.extensions().get::<MatchedPath>().map_or("none", MatchedPath::as_str).to_owned();
    let method = match request.method().as_str() {
        "GET" => "GET",
        "PUT" => "PUT",
        "POST" => "POST",
        _ => "other",
    };
    if let Some(who) = request.extensions().get::<Fingerprint>() {
        let mut heard = lock(&requests.heard);
        for service in requests.admission.services(who) {
            heard.insert(service, SystemTime::now());
        }
    }
    let named = request.uri().path().split('/').nth(3).filter(|_| route.starts_with(OF_ROUND));
    let span = match named.filter(|round| check_name(round).is_ok()) {
        // Of this level it is there whatever is logged.
        Some(round) => tracing::error_span!("request", round),
        None => tracing::Span::none(),
    };
    let path = request.uri().path().to_owned();
    message("asked", method, &path);
    let answer = next.run(request).instrument(span).await;
    message("answers", method, &path);
    if let Some(kind) = answer.extensions().get::<RefusalReason>() {
        let reason = serde_json::to_value(kind).ok().and_then(|word| word.as_str().map(str::to_owned));
        *lock(&requests.refused).entry((route.clone(), reason.unwrap_or_default())).or_default() += 1;
    }
    let answered = Answered { route, method, status: answer.status().as_u16() };
    lock(&requests.answered).entry(answered).or_default().add(began.elapsed());
    answer
}
