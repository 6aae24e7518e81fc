//! Requests to the database by proxies, by its operator, and by those who get results.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post, put};
use axum::{Json, Router};
use tacita_core::Error;
use tacita_core::protocol::aggregate::open;
use tacita_node::base::hex::hex;
use tacita_node::base::text::counted;

use super::directories::Presented;
use super::progress::Refused;
use super::record::part;
use super::round::Round;
use super::{At, Database, directories, keyed, list, lock, no_more, operator, secrets};
use crate::setting::ServiceConfig;
use crate::step;
use crate::store::{BatchOrigin, Ingested, OpenedReport, Stored};
use crate::transport::{Caller, MEDIA_TYPE, Who, read, read_json};
use crate::wire::batch::ClaimId;
use crate::wire::batch::batch_id;
use crate::wire::claims::{MAX_CLAIMS, encode_answers};
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::{Completion, Numbers, ReportCounts, Rest, Resting, RoundState, RoundStatus, check_name};
use crate::wire::same_keys::Under;
use crate::wire::sessions::SessionOrder;

/// Returns the routes of all requests that the database answers.
pub(super) fn routes(database: &Arc<Database>) -> Router {
    Router::new()
        .route("/v1/rounds", get(list::list))
        .route("/v1/rounds/{round}", get(status))
        .route("/v1/rounds/{round}/key", post(keyed::key))
        .route("/v1/rounds/{round}/secret", get(secrets::give).put(secrets::offered))
        .route("/v1/rounds/{round}/session", post(directories::session))
        .route("/v1/rounds/{round}/claims", post(claims))
        .route("/v1/rounds/{round}/entries/{batch}", put(entries))
        .route("/v1/rounds/{round}/rest", post(rest))
        .route("/v1/rounds/{round}/complete", post(complete))
        .route("/v1/rounds/{round}/results/{part}", get(results))
        .route("/v1/rounds/{round}/histogram", get(histogram))
        .route("/v1/rounds/{round}/open", post(operator::open))
        .route("/v1/rounds/{round}/close", post(operator::close))
        .route("/v1/rounds/{round}/tighten", post(operator::tighten))
        .route("/v1/rounds/{round}/reveal", post(operator::reveal))
        .route("/v1/rounds/{round}/remove", post(operator::remove))
        .with_state(database.clone())
}

/// `GET /v1/rounds/{round}`; a proxy that has it under other keys says so, and is refused.
async fn status((State(database), who, Path(name)): At, under: Under) -> ApiResult<Json<RoundStatus>> {
    let caller = database.caller(&who)?;
    let round = database.found(&name).await.map_err(|refused| caller.told(refused))?;
    let pool = database.pool.clone();
    pool.run(move || {
        if under.0.is_some()
            && let Ok((place, peer)) = database.proxy(&caller)
        {
            database.check_keys(&round, (place, &peer), &under)?;
        }
        Ok(Json(database.status(&round, &caller)))
    })
    .await
}

/// `POST /v1/rounds/{round}/claims`: names of batches, of which each is the proxy's from then on that has named it
/// first.
///
/// The proxy's state directory goes on to its next session when they are granted: a storage that was put back to an
/// earlier state, and does not know of them, does not know of that session either.
async fn claims(
    (State(database), who, Path(name)): At,
    under: Under,
    presented: Presented,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let caller = database.caller(&who)?;
    let (place, peer) = database.proxy(&caller)?;
    // As it stands now: what is handed over, and to whom, another database may have been told.
    let round = database.found(&name).await?;
    let body = read(&headers, body, MAX_CLAIMS * size_of::<ClaimId>()).await?;
    let pool = database.pool.clone();
    let answers = pool
        .run(move || {
            check_taking(&round, place, "claims")?;
            database.check_keys(&round, (place, &peer), &under)?;
            let advance = presented.advance()?;
            let (claims, rest) = body.as_chunks();
            if claims.is_empty() || !rest.is_empty() {
                return Err(ApiError::new(RefusalReason::Malformed, "the body is no whole number of claims"));
            }
            if advance.judge(round.record().sessions.get(&place).copied()) != SessionOrder::Made {
                database.check_session(&round, place, presented.session()?)?;
            }
            let number = |place: usize| u32::try_from(place).map_err(|_| Error::Internal("too many proxies".into()));
            let handed = round.record().handed_to(place, database.setting.count("proxy")?);
            let handed = handed.into_iter().map(number).collect::<Result<Vec<_>, _>>()?;
            let granted = database.storage.claim(&round.name, number(place)?, &handed, claims)?;
            let granted = granted.ok_or_else(|| no_more(&round, "claims"))?;
            step("claims granted")?;
            database.advance(&round, place, &advance)?;
            Ok(granted)
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], encode_answers(&answers)).into_response())
}

/// `PUT /v1/rounds/{round}/entries/{batch}`: entries in a batch of a random name, taken exactly once.
async fn entries(
    State(database): State<Arc<Database>>,
    who: Who,
    Path((name, batch)): Path<(String, String)>,
    under: Under,
    presented: Presented,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<serde_json::Value>> {
    let caller = database.caller(&who)?;
    let (place, peer) = database.proxy(&caller)?;
    let round = database.taking(&name).await?;
    let batch = batch_id(&batch)?;
    let most = ServiceConfig::batch(&round.params) * round.params.entry_bytes();
    let body = read(&headers, body, most).await?;
    let pool = database.pool.clone();
    pool.run(move || {
        check_taking(&round, place, "entries")?;
        database.check_keys(&round, (place, &peer), &under)?;
        database.check_session(&round, place, presented.session()?)?;
        let not_yet =
            || ApiError::new(RefusalReason::NotYet, "the round's secret is not here yet: another database has it");
        let secret = round.secret().ok_or_else(not_yet)?;
        tracing::debug!("round {}: batch {} comes", round.name, hex(&batch));
        let opened = match open(&round.params, &secret, &body) {
            Ok(opened) => opened,
            Err(refused) => {
                let check = format!("an invalid entry in round {}: {refused}", round.name);
                database.fail(&round, &Error::Protocol { peer, check })?;
                return Err(ApiError::new(RefusalReason::Malformed, format!("entry {refused}")));
            }
        };
        let dropped = opened.dropped.identity + opened.dropped.outside_domain;
        let rows = opened.rows.into_iter().map(|row| OpenedReport {
            id: row.id,
            stored: Stored { tag: row.tag, value: row.value, sealed: row.sealed },
        });
        let rows: Vec<OpenedReport> = rows.collect();
        let proxy = u32::try_from(place).map_err(|_| Error::Internal("too many proxies".into()))?;
        let known = match database.storage.ingest_from(BatchOrigin { proxy, dropped }, &round.name, &batch, &rows)? {
            Ingested::New => false,
            Ingested::Known => true,
            Ingested::Sealed => return Err(no_more(&round, "entries")),
            Ingested::Conflict => {
                let check = format!("it gives two batches of round {} one name", round.name);
                database.fail(&round, &Error::Protocol { peer, check })?;
                return Err(ApiError::new(RefusalReason::Conflict, "another batch has this name"));
            }
        };
        step("entries stored")?;
        tracing::debug!("round {}: batch {} of {} rows is on disk", round.name, hex(&batch), rows.len());
        Ok(Json(serde_json::json!({ "entries": rows.len() as u64 + dropped, "known": known })))
    })
    .await
}

/// `POST /v1/rounds/{round}/rest`: what a proxy of several has of a round that has closed. What it has said once stays.
async fn rest(
    (State(database), who, Path(name)): At,
    under: Under,
    presented: Presented,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<RoundStatus>> {
    let caller = database.caller(&who)?;
    let (place, peer) = database.proxy(&caller)?;
    let round = database.found(&name).await?;
    let resting: Resting = read_json(&headers, body).await?;
    let pool = database.pool.clone();
    pool.run(move || {
        // Who has nothing of a round may never have had its keys.
        if resting.rest != Rest::Nothing || under.0.is_some() {
            database.check_keys(&round, (place, &peer), &under)?;
        }
        let session = presented.session()?;
        database.change_for(&round, place, |record| record.tell_rest(place, session, resting.rest))?;
        Ok(Json(database.status(&round, &caller)))
    })
    .await
}

/// `POST /v1/rounds/{round}/complete`: a proxy has sent all that it had, or cannot.
async fn complete(
    (State(database), who, Path(name)): At,
    under: Under,
    presented: Presented,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<RoundStatus>> {
    let caller = database.caller(&who)?;
    let (place, peer) = database.proxy(&caller)?;
    let round = database.found(&name).await?;
    let completion: Completion = read_json(&headers, body).await?;
    let pool = database.pool.clone();
    pool.run(move || {
        let had_reports = completion.entries > 0 || completion.discarded > 0 || completion.unshufflable.is_some();
        if had_reports || under.0.is_some() {
            database.check_keys(&round, (place, &peer), &under)?;
        }
        let session = presented.session()?;
        if database.change_for(&round, place, |record| record.finish(place, session, &completion))? {
            tracing::info!("round {}: {peer} has sent all of its {} entries", round.name, completion.entries);
            if completion.discarded > 0 {
                let lost = counted(completion.discarded, "report");
                tracing::error!("round {}: {peer} has lost {lost} that it was handing over to a proxy that is left out of the round", round.name);
            }
        }
        Ok(Json(database.status(&round, &caller)))
    })
    .await
}

/// `GET /v1/rounds/{round}/results/{part}`
async fn results(
    State(database): State<Arc<Database>>,
    who: Who,
    Path((name, number)): Path<(String, u64)>,
    under: Under,
) -> ApiResult<Response> {
    let caller = database.caller(&who)?;
    let round = database.found(&name).await?;
    database.learner(&caller)?;
    let pool = database.pool.clone();
    let bytes = pool
        .run(move || {
            if let Some(keys) = round.fingerprint() {
                under.check(&round.name, &keys, false)?;
            }
            let record = round.record();
            if record.state != RoundState::Revealed {
                return Err(ApiError::new(
                    RefusalReason::NotYet,
                    format!("round {} {}", round.name, record.state.told()),
                ));
            }
            if number >= record.revealed.parts {
                let what = format!("the result has {} parts, from 0 on", record.revealed.parts);
                return Err(ApiError::new(RefusalReason::Malformed, what));
            }
            let found = database.storage.get(&round.name, &part(number))?;
            found.ok_or_else(|| {
                Error::Input(format!("round {}: part {number} of the result is gone", round.name)).into()
            })
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], bytes).into_response())
}

/// `GET /v1/rounds/{round}/histogram`: for the operator once rows are counted; for those who get it when the result is
/// there.
async fn histogram((State(database), who, Path(name)): At) -> ApiResult<Json<ReportCounts>> {
    let caller = database.caller(&who)?;
    let round = database.found(&name).await.map_err(|refused| caller.told(refused))?;
    if !caller.is_database() {
        database.learner(&caller)?;
        if !database.setting.own()?.revealed().histogram {
            return Err(ApiError::new(RefusalReason::Forbidden, "the histogram is not revealed in this job"));
        }
        let state = round.record().state;
        if state != RoundState::Revealed {
            return Err(ApiError::new(RefusalReason::NotYet, format!("round {name} {}", state.told())));
        }
    }
    let counts = round.record().counts.clone();
    let has_noise = database.setting.spec.noise.is_some();
    // Exact numbers are the operator's.
    let told = |counts: ReportCounts| {
        if has_noise && !caller.is_database() {
            ReportCounts { noisy: counts.noisy, ..ReportCounts::default() }
        } else {
            counts
        }
    };
    counts
        .map(|counts| Json(told(counts)))
        .ok_or_else(|| ApiError::new(RefusalReason::NotYet, format!("the rows of round {name} are not counted yet")))
}

impl Database {
    /// Returns the role of the requester, and notes that a proxy was heard of.
    pub(super) fn caller(&self, who: &Who) -> ApiResult<Caller> {
        let caller = self.admission.caller(&who.0);
        let caller =
            caller.ok_or_else(|| ApiError::new(RefusalReason::Forbidden, "you are not in the list any more"))?;
        if let Some(place) = caller.proxy() {
            lock(&self.heard).insert(place, Instant::now());
        }
        Ok(caller)
    }

    /// Returns the index of the proxy and its name.
    pub(super) fn proxy(&self, caller: &Caller) -> ApiResult<(usize, String)> {
        let place = caller.proxy().ok_or_else(|| ApiError::new(RefusalReason::Forbidden, "only proxies may"))?;
        Ok((place, self.setting.name(crate::wire::service::Service::Proxy(place))?))
    }

    /// A round, as it stands now: what others have done with it is in the storage.
    pub(super) async fn found(self: &Arc<Database>, name: &str) -> ApiResult<Arc<Round>> {
        if !self.has_peers() || check_name(name).is_err() {
            return self.known(name);
        }
        let (database, name) = (self.clone(), name.to_owned());
        let pool = self.pool.clone();
        pool.run(move || {
            database.take_up(&name)?;
            database.known(&name)
        })
        .await
    }

    /// A round that entries are for: whether it still takes them, the storage says itself.
    async fn taking(self: &Arc<Database>, name: &str) -> ApiResult<Arc<Round>> {
        match self.round(name).filter(|round| round.keys().is_some()) {
            Some(round) => Ok(round),
            // Another database may have opened it, or taken the proxies' key.
            None => self.found(name).await,
        }
    }

    /// A round, as far as this database has seen.
    pub(super) fn known(&self, name: &str) -> ApiResult<Arc<Round>> {
        self.round(name).ok_or_else(|| {
            ApiError::new(RefusalReason::UnknownRound, "there is no round of this name").next(self.next())
        })
    }

    /// Refuses who gets no results.
    fn learner(&self, caller: &Caller) -> ApiResult<()> {
        let own = self.setting.own()?;
        let learns = caller.participant.as_ref().is_some_and(|name| own.gets_results(name, true));
        if learns || caller.is_database() {
            Ok(())
        } else {
            Err(ApiError::new(RefusalReason::Forbidden, "results are for parties in reveal_to only"))
        }
    }

    /// Returns the status of a round as the caller may see it.
    pub(super) fn status(&self, round: &Round, caller: &Caller) -> RoundStatus {
        let predicate = round.predicate(&self.setting).map(|predicate| predicate.to_string()).unwrap_or_default();
        let record = round.record();
        // None where the storage does not answer: none are not 0.
        let numbers = || {
            let totals = self.storage.totals(&round.name).ok()?;
            let discarded = record.complete.values().map(|one| one.discarded).sum();
            let dropped = record.numbers.dropped + totals.dropped;
            Some(Numbers { reports: totals.reports, dropped, discarded, ..record.numbers.clone() })
        };
        let waits = self.waits_for(&round.name, &record);
        // Who has told what it has waits for the others itself, until all have.
        let all_told = waits.iter().all(|(place, _)| record.rests.contains_key(place));
        let is_waited_for = |place: &usize| all_told || !record.rests.contains_key(place);
        let revealed = record.state == RoundState::Revealed && self.learner(caller).is_ok();
        RoundStatus {
            round: round.name.clone(),
            state: record.state,
            closed: record.closed,
            reveal_when: predicate,
            waits: waits.iter().map(|(place, _)| *place).collect(),
            waits_for: waits.into_iter().filter(|(place, _)| is_waited_for(place)).map(|(_, told)| told).collect(),
            rests: if caller.proxy().is_some() { record.rests.clone() } else { BTreeMap::new() },
            without: record.without.iter().copied().collect(),
            failure: record.failure.clone().map(|failure| failure.for_others(caller.is_database())),
            next: self.next().filter(|next| *next != round.name),
            parts: revealed.then_some(record.revealed.parts),
            database: record.database.clone().filter(|_| record.state != RoundState::Removed),
            proxy: record.proxy.clone(),
            keys: round.fingerprint().filter(|_| record.state != RoundState::Removed),
            numbers: caller.is_database().then(numbers).flatten(),
        }
    }
}

/// Refuses what a proxy brings to a round that takes nothing more of it.
fn check_taking(round: &Round, place: usize, what: &str) -> ApiResult<()> {
    round.record().takes(place).map_err(|refused| match refused {
        Refused::GivenUp => directories::given_up(round),
        _ => no_more(round, what),
    })
}
