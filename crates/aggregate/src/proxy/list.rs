//! Information that a proxy gives on the rounds whose secrets it has.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use serde::Deserialize;

use super::{Proxy, lock};
use crate::transport::Who;
use crate::wire::held::Held;
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::RoundState;

/// Selection of the rounds to list; all rounds by default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// Name after which the listed rounds come.
    after: Option<String>,
    /// Maximum number of rounds.
    limit: Option<usize>,
}

/// `GET /v1/keys`
pub(super) async fn held(
    State(proxy): State<Arc<Proxy>>,
    who: Who,
    part: Result<Query<Part>, QueryRejection>,
) -> ApiResult<Json<Held>> {
    proxy.domain(&who)?;
    let wrong =
        |_| ApiError::new(RefusalReason::Malformed, "a list of keys takes `after`, a name, and `limit`, a number");
    let Query(part) = part.map_err(wrong)?;
    let removed = lock(&proxy.told)
        .values()
        .filter(|status| status.state == RoundState::Removed)
        .map(|one| one.round.clone())
        .collect();
    let rounds = lock(&proxy.rounds).iter().map(|(name, round)| (name.clone(), round.fingerprint)).collect();
    Ok(Json(Held { rounds, removed }.part(part.after.as_deref(), part.limit.unwrap_or(usize::MAX))))
}
