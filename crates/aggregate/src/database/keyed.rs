//! The proxies' public key of a round, and whether proxies bring what they bring under the round's own keys.

use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;

use super::round::Round;
use super::{At, Database, lock};
use crate::transport::read_json;
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::{RoundState, RoundStatus};
use crate::wire::same_keys::{KeysFingerprint, Under, other_keys, unsaid};
use crate::wire::signed::Signed;

/// A proxy that comes under other keys says so again more often than this; and for as long it is not told again.
const OTHER: Duration = Duration::from_secs(30);

/// `POST /v1/rounds/{round}/key`: the proxies' public key of a round.
pub(super) async fn key(
    (State(database), who, Path(name)): At,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<RoundStatus>> {
    let caller = database.caller(&who)?;
    let (_, peer) = database.proxy(&caller)?;
    let round = database.found(&name).await?;
    let signed: Signed = read_json(&headers, body).await?;
    let pool = database.pool.clone();
    pool.run(move || {
        if round.record().proxy.is_none()
            && let Err(error) = round.checked(&database.setting, &signed, &peer)
        {
            tracing::warn!("round {}: {error}", round.name);
            return Err(ApiError::new(RefusalReason::Malformed, "this is no key of the round that a proxy has signed"));
        }
        round.change(&*database.storage, |record| {
            let is_first = record.proxy.is_none() && record.state != RoundState::Removed;
            if is_first {
                record.proxy = Some(signed.clone());
            }
            Ok(is_first)
        })?;
        round.learn_kept(&database.setting)?;
        // The same key may come with another proof: of a proxy that had the round before, for example.
        let is_same =
            |known: &Signed| known.public == signed.public || round.is_keyed_by(&database.setting, &signed, &peer);
        if round.record().proxy.as_ref().is_some_and(is_same) {
            Ok(Json(database.status(&round, &caller)))
        } else {
            Err(ApiError::new(RefusalReason::Conflict, "the round has another key of the proxies"))
        }
    })
    .await
}

impl Database {
    /// Refuses what a proxy brings to a round under other keys than the round's, and notes it.
    pub(super) fn check_keys(&self, round: &Round, (place, peer): (usize, &str), under: &Under) -> ApiResult<()> {
        let asked = under.0.ok_or_else(unsaid)?;
        let (here, of) = (round.fingerprint(), (place, round.name.clone()));
        let refused = match here {
            Some(here) if here == asked => {
                lock(&self.other_keys).remove(&of);
                return Ok(());
            }
            Some(here) => other_keys(&round.name, &here, &asked),
            // A proxy that is told so looks at the round anew, and gives it the key.
            None => ApiError::new(
                RefusalReason::OtherKeys,
                format!("round {} has no key of the proxies here, and the keys {} there", round.name, asked.short()),
            ),
        };
        let known = lock(&self.other_keys).insert(of, (Instant::now(), asked));
        if known.is_none_or(|(last, keys)| keys != asked || last.elapsed() > OTHER) {
            tracing::error!("{peer}: {}", refused.told().message);
        }
        Err(refused)
    }

    /// Under which other keys a proxy came to a round just now, if it did.
    pub(super) fn comes_under(&self, place: usize, round: &str) -> Option<KeysFingerprint> {
        let known = lock(&self.other_keys).get(&(place, round.to_owned())).copied();
        known.filter(|(last, _)| last.elapsed() < OTHER).map(|(_, keys)| keys)
    }
}
