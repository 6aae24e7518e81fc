//! First request of every client: whether the service serves this job on these terms, and as whom it regards the other
//! end.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};
use serde_json::Value;
use tacita_core::{Error, Result};
use tacita_node::agreement::Terms;
use tacita_node::base::hex::hex;
use tacita_node::base::text::shown;

use crate::setting::ServiceConfig;
use crate::transport::{Admission, ApiRequest, Client, Persistence, Replicas, Who};
use crate::wire::hello::ServiceInfo;
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::service::{Service, file};

/// Bytes of an answer, and of the terms: these may name a great many values.
const MAX_BYTES: usize = 1 << 14;
const MAX_TERMS_BYTES: usize = 1 << 22;

/// `GET /v1/here` and `GET /v1/terms`, for all who are let in.
pub(super) fn routes(setting: &Arc<ServiceConfig>, admission: &Arc<Admission>, service: Service) -> Router {
    Router::new().route("/v1/here", get(here)).route("/v1/terms", get(terms)).with_state((
        setting.clone(),
        admission.clone(),
        service,
    ))
}

type Serves = State<(Arc<ServiceConfig>, Arc<Admission>, Service)>;

async fn here(State((setting, admission, service)): Serves, who: Who) -> ApiResult<Json<ServiceInfo>> {
    let caller = admission.caller(&who.0);
    let caller = caller.ok_or_else(|| ApiError::new(RefusalReason::Forbidden, "you are not in the list any more"))?;
    Ok(Json(ServiceInfo {
        agreement: hex(&setting.agreement),
        service: Some(file(service)),
        version: env!("CARGO_PKG_VERSION").into(),
        clock: milliseconds(),
        participant: caller.participant,
    }))
}

async fn terms(State((setting, ..)): Serves) -> Json<Value> {
    Json(Terms::of(&setting.spec).json().clone())
}

/// Returns the statement of a service about itself, if it serves the job on the same terms.
///
/// Errors: [`Error::Terms`], which names the keys that differ; [`Error::NotReady`] if it has too much to do; those of a
/// connection.
pub fn meet(client: &Client, setting: &ServiceConfig, persistence: Persistence) -> Result<ServiceInfo> {
    let here: ServiceInfo = ask(client, "/v1/here", MAX_BYTES, persistence)?;
    if here.agreement == hex(&setting.agreement) {
        return Ok(here);
    }
    let theirs: Value = ask(client, "/v1/terms", MAX_TERMS_BYTES, persistence)?;
    let differences = Terms::of(&setting.spec).differences(&Terms::from_peer(&theirs));
    Err(Error::Terms(if differences.is_empty() {
        // The version of what is fingerprinted, for example.
        format!("the terms differ from those of {}, which runs {}", client.name(), shown(&here.version))
    } else {
        format!("the terms differ from those of {} in {}", client.name(), differences.join(", "))
    }))
}

/// Clients of services of which any will do, if it serves the job on the same terms.
pub(super) fn any_of(clients: Vec<Client>, setting: &ServiceConfig) -> Result<Replicas> {
    let setting = setting.clone();
    let once = Persistence { silence: Duration::ZERO, busy: Duration::ZERO };
    Replicas::new(clients, move |client| meet(client, &setting, once).map(drop))
}

fn ask<T: serde::de::DeserializeOwned>(
    client: &Client,
    path: &str,
    most: usize,
    persistence: Persistence,
) -> Result<T> {
    let answer = client.ask(&ApiRequest::get(path, most), persistence)?;
    let wrong = || Error::Protocol {
        peer: client.name().to_owned(),
        check: "it does not name its service: are both programs of one version?".into(),
    };
    match (answer.is_ok(), answer.again) {
        (true, _) => serde_json::from_slice(&answer.body).map_err(|_| wrong()),
        (false, Some(_)) => Err(Error::NotReady(format!("{}: {}", client.name(), answer.told().message))),
        (false, None) => match answer.told().error {
            RefusalReason::Forbidden => Err(Error::Input(format!("{}: {}", client.name(), answer.told().message))),
            _ => Err(wrong()),
        },
    }
}

/// Now, in milliseconds since 1970.
pub(super) fn milliseconds() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
