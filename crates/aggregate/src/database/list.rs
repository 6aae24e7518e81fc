//! The list of rounds, whole or in parts.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State as Extracted};
use serde::Deserialize;

use super::Database;
use super::round::Round;
use crate::transport::Who;
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::{RoundState, RoundStatus};

/// Selection of the rounds to list; all rounds by default.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Part {
    /// Name after which the listed rounds come.
    after: Option<String>,
    /// Maximum number of rounds. Of rounds that are over, only the facts that a proxy has to know are listed.
    limit: Option<usize>,
}

/// `GET /v1/rounds`: in the order of their names.
pub(super) async fn list(
    Extracted(database): Extracted<Arc<Database>>,
    who: Who,
    part: Result<Query<Part>, QueryRejection>,
) -> ApiResult<Json<Vec<RoundStatus>>> {
    let caller = database.caller(&who)?;
    let Query(part) = part.map_err(|_| {
        ApiError::new(RefusalReason::Malformed, "a list of rounds takes `after`, a name, and `limit`, a number")
    })?;
    let pool = database.pool.clone();
    pool.run(move || {
        database.follow()?;
        let rounds = database.after(part.after.as_deref(), part.limit.unwrap_or(usize::MAX));
        let next = database.next();
        let tell = |round: &Arc<Round>| {
            if part.limit.is_some() && round.record().state.is_over() {
                brief(round, next.clone())
            } else {
                database.status(round, &caller)
            }
        };
        Ok(Json(rounds.iter().map(tell).collect()))
    })
    .await
}

/// Returns the short status of a round that is over, for a list in parts.
fn brief(round: &Round, next: Option<String>) -> RoundStatus {
    let record = round.record();
    RoundStatus {
        round: round.name.clone(),
        state: record.state,
        closed: record.closed,
        reveal_when: String::new(),
        waits: Vec::new(),
        waits_for: Vec::new(),
        rests: BTreeMap::new(),
        without: record.without.iter().copied().collect(),
        failure: None,
        next: next.filter(|next| *next != round.name),
        parts: None,
        database: None,
        proxy: None,
        keys: round.fingerprint().filter(|_| record.state != RoundState::Removed),
        numbers: None,
    }
}
