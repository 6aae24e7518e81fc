//! Handover of reports when a round closes: a proxy that has too few reports to shuffle them hands them to one that has
//! more.
//!
//! Participants go on with another proxy where one is away for a moment, and so the one that comes back may have the
//! reports of a single participant, which hide among nobody's. When a round has closed and each proxy has claimed what
//! is its own, it tells the database whether that is enough for a shuffle. When all have told, those that have too
//! little bring it to one that all of them agree on: the first that has enough, or else the first that has any. That
//! one waits until they have; the others shuffle what they have at once.
//!
//! A batch is on the disk of the one that takes it over before it is dropped where it was, and whoever hands over
//! shuffles none of what it had claimed. If either is killed meanwhile, what was not dropped is brought again, and
//! taken once. The claim stays that of the proxy that made it; the database grants it to the one that takes over as
//! well, which is asked after a start.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use serde_json::{Value, json};
use tacita_core::{Error, Result};
use tacita_node::base::hex::hex;
use tacita_node::base::text::counted;
use tacita_node::base::text::json;
use tacita_node::identity::FINGERPRINT_BYTES;

use super::asking::{MAX_BYTES, ONCE, TURN, refusal, wrong};
use super::round::Round;
use super::{Proxy, lock};
use crate::queue::Submission;
use crate::setting::ServiceConfig;
use crate::step;
use crate::transport::{ApiRequest, Who, read};
use crate::wire::batch::batch_id;
use crate::wire::handed::{DIGEST_BYTES, Handed};
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::{Rest, Resting, RoundStatus, collector};
use crate::wire::same_keys::{KeysFingerprint, Under};
use crate::wire::service::Service;
use crate::wire::sessions::StateSession;

/// `PUT /v1/rounds/{round}/handed/{batch}`: a participant's batch that another proxy cannot shuffle.
pub(super) async fn handed(
    State(proxy): State<Arc<Proxy>>,
    who: Who,
    Path((name, batch)): Path<(String, String)>,
    under: Under,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<Value>> {
    if proxy.admission.caller(&who.0).is_none_or(|caller| caller.proxy().is_none()) {
        return Err(ApiError::new(RefusalReason::Forbidden, "only other proxies hand reports over"));
    }
    let batch = batch_id(&batch)?;
    let round =
        proxy.round(&name).ok_or_else(|| ApiError::new(RefusalReason::NotYet, "the round is not here").again_in(1))?;
    under.check(&name, &round.fingerprint, true)?;
    let most = ServiceConfig::batch(&round.params) * round.params.entry_bytes() + FINGERPRINT_BYTES + DIGEST_BYTES;
    let body = read(&headers, body, most).await?;
    let (pool, taken, taking) = (proxy.pool.clone(), proxy.clone(), round.clone());
    let done = pool.run(move || {
        let handed = Handed::from_bytes(&body).filter(|handed| handed.records.len() % round.params.entry_bytes() == 0);
        let handed =
            handed.ok_or_else(|| ApiError::new(RefusalReason::Malformed, "this is no batch of a participant"))?;
        if !round.queue.is_closed() {
            return Err(ApiError::new(RefusalReason::NotYet, "the round is not closed here yet").again_in(1));
        }
        if proxy.is_complete(&round.name)? {
            return Err(ApiError::new(RefusalReason::Closed, "all reports of the round have been sent from here"));
        }
        let participant = proxy.names.number(&handed.participant)?;
        let submission = Submission { participant, batch, digest: handed.digest, records: handed.records };
        round.queue.take_over(&submission)?;
        step("taken over")?;
        Ok(())
    });
    done.await?;
    // Whoever hands it over drops it then.
    taken.covered(&taking).await?;
    Ok(Json(json!({ "taken": true })))
}

impl Proxy {
    /// Sees to it that what is here of a round that has closed can be shuffled, or is handed over, where there are
    /// other proxies.
    ///
    /// Errors: [`Error::NotReady`] while it depends on another one; those of the database and of the queue.
    pub(super) fn come_together(&self, round: &Round, status: &RoundStatus) -> Result<()> {
        if self.others.is_empty() {
            return Ok(());
        }
        self.cover(round)?;
        // What has been handed over in part is shuffled nowhere else, whatever is told of the others now.
        match self.handed_to(&round.name, None)? {
            // It may have sent what it was given before it was lost.
            Some(place) if status.without.contains(&place) => {
                let lost = counted(self.discard(round)?, "report");
                tracing::error!(
                    "round {}: {lost} were being handed over to proxy {}, and are lost with it",
                    round.name,
                    place + 1
                );
                return Ok(());
            }
            Some(place) => {
                // After a start it is not known what has been claimed, and nothing else is handed over.
                self.claim(round)?;
                return self.hand_over(round, place);
            }
            None => (),
        }
        self.claim(round)?;
        let told = if status.rests.contains_key(&self.place) {
            status.clone()
        } else {
            let (session, rest) = (round.tracked(|track| track.session())?, round.queue.rest(&round.conditions));
            self.tell_rest(&round.name, Some(&round.fingerprint), rest, session)?
        };
        let rests = &told.rests;
        if rests.len() <= self.others.len() {
            let silent = (0..=self.others.len()).filter(|place| !rests.contains_key(place));
            let silent = silent.map(|place| self.setting.name(Service::Proxy(place))).collect::<Result<Vec<_>>>()?;
            return Err(Error::NotReady(format!("waits until {} has listed its reports", silent.join(" and "))));
        }
        let is_few = |place: &usize| rests.get(place) == Some(&Rest::TooFew);
        match collector(rests) {
            // One that has sent all takes nothing over any more: then this one says itself why it cannot go on.
            Some(place) if place != self.place && is_few(&self.place) && told.waits.contains(&place) => {
                self.handed_to(&round.name, Some(place))?;
                self.hand_over(round, place)
            }
            Some(place) if place == self.place && told.waits.iter().any(|other| *other != place && is_few(other)) => {
                Err(Error::NotReady("another proxy hands over its reports".into()))
            }
            _ => Ok(()),
        }
    }

    /// Tells, where there are other proxies, that nothing is here of a round.
    pub(super) fn tell_nothing(&self, status: &RoundStatus, session: StateSession) -> Result<()> {
        if self.others.is_empty() || status.rests.contains_key(&self.place) {
            Ok(())
        } else {
            self.tell_rest(&status.round, None, Rest::Nothing, session).map(drop)
        }
    }

    fn tell_rest(
        &self,
        round: &str,
        keys: Option<&KeysFingerprint>,
        rest: Rest,
        session: StateSession,
    ) -> Result<RoundStatus> {
        let value = json(serde_json::to_value(Resting { rest }))?;
        let path = format!("/v1/rounds/{round}/rest?session={session}");
        let path = keys.map(|keys| keys.on(&path)).unwrap_or(path);
        let (answer, by) = self.database.ask(&ApiRequest::json(path, &value, MAX_BYTES), TURN)?;
        if !answer.is_ok() {
            return Err(refusal(&answer, by, &format!("word of what is there of round {round}")));
        }
        serde_json::from_slice(&answer.body).map_err(|_| wrong(by, "its answer about a round cannot be read"))
    }

    /// Brings all that waits to another proxy, and drops it.
    fn hand_over(&self, round: &Round, place: usize) -> Result<()> {
        // The others, in order, are all but this one.
        let other = self.others.get(if place < self.place { place } else { place - 1 });
        let other = other.ok_or_else(|| Error::Internal("a proxy that is not in the job".into()))?;
        let (names, keys) = (self.names.by_number(), round.queue.claimed());
        let mut reports = 0;
        for key in &keys {
            let participant = *names.get(&key.0).ok_or_else(|| Error::Internal("a batch of nobody".into()))?;
            let (digest, records) = round.queue.batch(key)?;
            reports += (records.len() / round.params.entry_bytes()) as u64;
            let body = Handed { participant, digest, records: &records }.to_bytes();
            let path = round.fingerprint.on(&format!("/v1/rounds/{}/handed/{}", round.name, hex(&key.1)));
            let answer = other.ask(&ApiRequest::put(path, body, MAX_BYTES), ONCE)?;
            if !answer.is_ok() {
                let what = format!("reports of round {}", round.name);
                return Err(match answer.again {
                    Some(_) => Error::NotReady(format!("{}: {}", other.name(), answer.told().message)),
                    None => refusal(&answer, other, &what),
                });
            }
        }
        round.queue.settle(&[], &keys)?;
        if reports > 0 {
            let shown = counted(reports, "report");
            tracing::info!("round {}: {shown}, too few for a shuffle, went to {}", round.name, other.name());
        }
        Ok(())
    }

    /// Whether all of a round has been sent from here.
    fn is_complete(&self, round: &str) -> Result<bool> {
        Ok(!lock(&self.rounds).contains_key(round) || self.completed(round)?)
    }
}
