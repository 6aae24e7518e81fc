//! Requests to the proxy by participants, and by oracles and proxies of its domain.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use tacita_core::protocol::aggregate::blind;
use tacita_node::base::hex::hex;
use tacita_node::base::random::fresh_rng;
use tacita_node::base::text::counted;
use tacita_node::identity::Fingerprint;
use tokio::time::timeout;

use super::handover::handed;
use super::interact::{interact, taken};
use super::list::held;
use super::round::{Round, fingerprint};
use super::{Proxy, lock};
use crate::queue::{Accepted, Refusal};
use crate::secret::Secret;
use crate::setting::ServiceConfig;
use crate::transport::{Caller, MEDIA_TYPE, Who, read};
use crate::wire::batch::{BatchId, batch_id, first_of};
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::{Open, RoundState, check_name};
use crate::wire::same_keys::Under;

/// Time for which a request about an unknown round waits for news from the database.
const NEWS: Duration = Duration::from_secs(2);

/// Returns the routes of all requests that the proxy answers.
pub(super) fn routes(proxy: &Arc<Proxy>) -> Router {
    Router::new()
        .route("/v1/rounds/{round}", get(round))
        .route("/v1/rounds/{round}/reports/{batch}", put(reports).get(is_there))
        .route("/v1/rounds/{round}/reports/{batch}/{reports}", post(interact))
        .route("/v1/rounds/{round}/handed/{batch}", put(handed))
        .route("/v1/rounds/{round}/key", get(key))
        .route("/v1/keys", get(held))
        .with_state(proxy.clone())
}

/// `GET /v1/rounds/{round}`: the keys that reports are encrypted under.
async fn round(State(proxy): State<Arc<Proxy>>, who: Who, Path(name): Path<String>) -> ApiResult<Json<Open>> {
    proxy.participant(&who)?;
    if !lock(&proxy.told).contains_key(&name) && !proxy.look_again().await {
        let what = "the round is not known here, and the database does not answer at the moment";
        return Err(ApiError::new(RefusalReason::NotYet, what).again_in(2));
    }
    let round = proxy.taking(&name)?;
    Ok(Json(round.open.clone()))
}

/// `GET /v1/rounds/{round}/reports/{batch}`: whether a batch of this participant is there.
async fn is_there(
    State(proxy): State<Arc<Proxy>>,
    who: Who,
    Path((name, batch)): Path<(String, String)>,
    under: Under,
) -> ApiResult<Json<serde_json::Value>> {
    let participant = proxy.participant(&who)?;
    let batch = batch_id(&batch)?;
    if let Some(refused) = proxy.is_given_up(&name).or_else(|| proxy.is_differing(&name)) {
        return Err(refused);
    }
    if let Some(what) = proxy.is_elsewhere(&name) {
        return Err(ApiError::new(RefusalReason::NotYet, what).again_in(2));
    }
    let Some(round) = proxy.round(&name) else {
        // What has never been here has brought nothing here.
        let known = lock(&proxy.told).get(&name).is_some_and(|status| status.state != RoundState::Removed);
        return if known {
            Ok(Json(serde_json::json!({ "there": false, "open": false })))
        } else {
            Err(proxy.elsewhere(&name))
        };
    };
    under.check(&name, &round.fingerprint, false).map_err(|refused| refused.again_in(2))?;
    let (pool, asked, looked) = (proxy.pool.clone(), proxy.clone(), round.clone());
    let look = pool.run(move || {
        let number = asked.names.number(&participant)?;
        // First whether it is closed: from then on nothing comes.
        let open = looked.queue.takes();
        Ok((looked.has(number, &batch), open))
    });
    let (there, open) = look.await?;
    // Also that nothing is there is only so in the right directory.
    proxy.covered(&round).await?;
    Ok(Json(serde_json::json!({ "there": there, "open": open })))
}

/// `PUT /v1/rounds/{round}/reports/{batch}`: reports in a batch of a name of the participant's own, taken exactly once.
async fn reports(
    State(proxy): State<Arc<Proxy>>,
    who: Who,
    Path((name, batch)): Path<(String, String)>,
    under: Under,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<serde_json::Value>> {
    let participant = proxy.participant(&who)?;
    let batch = batch_id(&batch)?;
    // Also of a round that has closed: what was taken before is known, and goes to no other round for want of the
    // answer.
    let round = proxy.known(&name)?;
    // Reports under other keys prove nothing here, whether that is said or not.
    under.check(&name, &round.fingerprint, false).map_err(|refused| refused.again_in(2))?;
    let body = read(&headers, body, ServiceConfig::batch(&round.params) * round.params.report_bytes()).await?;
    let (pool, asked, taking) = (proxy.pool.clone(), proxy.clone(), round.clone());
    let take = pool.run(move || {
        let done = asked.take(&taking, &participant, &batch, &body);
        if let Err(reply) = &done
            && reply.is_final()
        {
            asked.done.refused.fetch_add(1, Ordering::Relaxed);
        }
        done.map(|known| taken(body.len() / taking.params.report_bytes(), known))
    });
    let taken = take.await?;
    proxy.covered(&round).await?;
    Ok(Json(taken))
}

/// `GET /v1/rounds/{round}/key`: the secrets of a round, for the oracles and the other proxies, who share them.
async fn key(State(proxy): State<Arc<Proxy>>, who: Who, Path(name): Path<String>, under: Under) -> ApiResult<Response> {
    // Before the round is taken up other ones may take their place: proxies see that, and oracles do not.
    let early = proxy.domain(&who)?.proxy().is_some() && check_name(&name).is_ok() && proxy.keys.has(&name);
    let pool = proxy.pool.clone();
    let secret = pool
        .run(move || {
            match proxy.round(&name) {
                Some(round) => under.check(&name, &round.fingerprint, false)?,
                None if early && under.0.is_none() => (),
                None => return Err(ApiError::new(RefusalReason::NotYet, "the round has no secrets here yet")),
            }
            proxy.keys.load(&name)?.ok_or_else(|| proxy.keys.none(&name).into())
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], secret.to_vec()).into_response())
}

impl Proxy {
    /// The identity of a participant who asks. What the list calls it is for people.
    pub(super) fn participant(&self, who: &Who) -> ApiResult<Fingerprint> {
        if self.admission.caller(&who.0).is_some_and(|caller| caller.participant.is_some()) {
            Ok(who.0)
        } else {
            Err(ApiError::new(RefusalReason::Forbidden, "only participants in the proxy's list may report"))
        }
    }

    /// Returns the requester, if it is of the proxy's domain.
    pub(super) fn domain(&self, who: &Who) -> ApiResult<Caller> {
        match self.admission.caller(&who.0) {
            Some(caller) if caller.is_oracle() || caller.proxy().is_some() => Ok(caller),
            _ => Err(ApiError::new(
                RefusalReason::Forbidden,
                "secrets are for the proxy's oracles and the other proxies",
            )),
        }
    }

    /// Waits until the database has been asked anew how its rounds stand: a round may have opened just now. Whether it
    /// has answered.
    async fn look_again(&self) -> bool {
        let mut looks = self.looks.subscribe();
        // One that is under way may be older than the question.
        let enough = *looks.borrow() + 2;
        timeout(NEWS, looks.wait_for(|looks| *looks >= enough)).await.is_ok()
    }

    /// A round, open or not, in which what was taken counts.
    pub(super) fn known(&self, name: &str) -> ApiResult<Arc<Round>> {
        match self.is_given_up(name).or_else(|| self.is_differing(name)) {
            Some(refused) => Err(refused),
            None if self.is_elsewhere(name).is_some() => Err(self.elsewhere(name)),
            None => self.round(name).ok_or_else(|| self.elsewhere(name)),
        }
    }

    /// A round that takes reports.
    fn taking(&self, name: &str) -> ApiResult<Arc<Round>> {
        if let Some(refused) = self.is_differing(name) {
            return Err(refused);
        }
        let round = self.round(name).filter(|round| round.is_open() && self.is_elsewhere(name).is_none());
        round.ok_or_else(|| self.elsewhere(name))
    }

    /// Returns the reason why a round takes no reports, and the round that does.
    pub(super) fn elsewhere(&self, name: &str) -> ApiError {
        let strange = self.is_elsewhere(name);
        let told = lock(&self.told);
        let mut next = told.values().filter(|status| status.state == RoundState::Open && status.round != name);
        let next = told
            .get(name)
            .and_then(|status| status.next.clone())
            .or_else(|| next.next_back().map(|one| one.round.clone()));
        let state = told.get(name).map(|status| status.state);
        if let (Some(RoundState::Open | RoundState::Closed) | None, Some(what)) = (state, strange) {
            return ApiError::new(RefusalReason::NotYet, what);
        }
        match state {
            // It may go on, in the storage that is the right one.
            Some(RoundState::Failed) => {
                ApiError::new(RefusalReason::Closed, format!("round {name} has failed")).next(next)
            }
            _ if self.round(name).is_some_and(|round| !round.is_open()) => {
                ApiError::new(RefusalReason::Closed, format!("round {name} takes no reports any more")).next(next)
            }
            Some(RoundState::Open) => ApiError::new(RefusalReason::NotYet, format!("round {name} is being opened")),
            Some(state) => ApiError::new(RefusalReason::Closed, format!("round {name} {}", state.told())).next(next),
            None if told.is_empty() => ApiError::new(RefusalReason::NotYet, "the proxy knows of no round yet"),
            None => ApiError::new(RefusalReason::UnknownRound, "there is no round of this name").next(next),
        }
    }

    /// Takes a batch; whether it was there already.
    fn take(&self, round: &Round, participant: &Fingerprint, batch: &BatchId, body: &[u8]) -> ApiResult<bool> {
        let Secret::Dh(secret) = &round.secret else {
            return Err(ApiError::new(
                RefusalReason::Malformed,
                "reports of this job are made with the proxy, not sent complete",
            ));
        };
        let length = round.params.report_bytes();
        if body.is_empty() || !body.len().is_multiple_of(length) {
            return Err(ApiError::new(
                RefusalReason::Malformed,
                format!("the body is no whole number of reports of {length} bytes"),
            ));
        }
        let number = self.names.number(participant)?;
        tracing::debug!("round {}: batch {} comes", round.name, hex(batch));
        let digest = fingerprint(body.len() / length);
        let reports = (body.len() / length) as u64;
        // What would not be taken is not worked on.
        if let Some(foreseen) = round.foresee(number, batch, &digest, reports) {
            return self.answer(round, batch, foreseen, reports);
        }
        if !round.is_open() {
            return Err(self.elsewhere(&round.name));
        }
        let mut rng = fresh_rng()?;
        let who = participant.to_string();
        let blinded = blind(&round.params, &round.keys, secret, &who, first_of(batch), body, &mut rng)
            .map_err(|refused| ApiError::new(RefusalReason::Malformed, format!("a report is refused: {refused}")))?;
        let accepted = round.accept(number, batch, digest, &blinded)?;
        self.answer(round, batch, accepted, reports)
    }

    /// Returns the answer to the queue's outcome for a batch: whether it was there already.
    pub(super) fn answer(&self, round: &Round, batch: &BatchId, accepted: Accepted, reports: u64) -> ApiResult<bool> {
        if !matches!(accepted, Accepted::Refused(_)) {
            tracing::debug!("round {}: batch {} is on disk", round.name, hex(batch));
        }
        match accepted {
            Accepted::New => {
                self.done.accepted.fetch_add(reports, Ordering::Relaxed);
                Ok(false)
            }
            Accepted::Known => {
                self.done.repeated.fetch_add(1, Ordering::Relaxed);
                Ok(true)
            }
            Accepted::Refused(Refusal::Conflict) => {
                Err(ApiError::new(RefusalReason::Conflict, "another batch has this name"))
            }
            Accepted::Refused(Refusal::Full) => {
                Err(ApiError::new(RefusalReason::Busy, "the proxy's queue is full: try again later").again_in(10))
            }
            Accepted::Refused(Refusal::Quota { has, limit }) => Err(ApiError::new(
                RefusalReason::Quota,
                format!("the round takes {limit} reports of one participant, and has {has} of this one"),
            )),
            Accepted::Refused(Refusal::Batches { limit }) => Err(ApiError::new(
                RefusalReason::Quota,
                format!("the round takes {} of one participant: put more reports into each", counted(limit, "batch")),
            )),
            Accepted::Refused(Refusal::Closed) => Err(self.elsewhere(&round.name)),
        }
    }
}
