//! `GET /v1/peers`: where proxies and databases listen, for participants and operators whose job file does not say, or
//! no longer.

use std::sync::Arc;

use axum::extract::State;
use axum::routing::get;
use axum::{Json, Router};

use crate::setting::ServiceConfig;
use crate::transport::{Addresses, Admission, Who};
use crate::wire::peers::{Listening, PeerAddresses};
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::service::{Service, parts};

/// State that is needed for an answer.
#[derive(Clone)]
struct Serves {
    setting: Arc<ServiceConfig>,
    admission: Arc<Admission>,
    addresses: Arc<Addresses>,
}

/// `GET /v1/peers`, for all who are let in.
pub(super) fn routes(setting: &Arc<ServiceConfig>, admission: &Arc<Admission>, addresses: &Arc<Addresses>) -> Router {
    let serves = Serves { setting: setting.clone(), admission: admission.clone(), addresses: addresses.clone() };
    Router::new().route("/v1/peers", get(peers)).with_state(serves)
}

async fn peers(State(serves): State<Serves>, who: Who) -> ApiResult<Json<PeerAddresses>> {
    let caller = serves.admission.caller(&who.0);
    caller.ok_or_else(|| ApiError::new(RefusalReason::Forbidden, "you are not in the list any more"))?;
    let mut peers = Vec::new();
    // Oracles are nobody's but the databases', which ask the registry.
    for (_, service) in serves.setting.services()?.into_iter().filter(|(_, one)| !matches!(one, Service::Oracle(_))) {
        let address = serves.addresses.get(service);
        let Some(address) = address.or(serves.setting.written(service)?) else { continue };
        let (role, place) = parts(service);
        peers.push(Listening { role: role.into(), place, address });
    }
    Ok(Json(PeerAddresses { peers }))
}
