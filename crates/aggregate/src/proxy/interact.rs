//! Reports that a participant makes together with the proxy.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};
use tacita_core::channel::labels::interaction::OUTCOME;
use tacita_core::protocol::published::aggregate::naor_reingold::{self, Reporting};
use tacita_core::{Channel, Error, Result};
use tacita_node::base::hex::hex;
use tacita_node::base::random::fresh_rng;
use tokio::runtime::Handle;
use tokio::time::timeout;

use super::Proxy;
use super::round::{Round, fingerprint};
use crate::interaction::{InteractionSide, ParticipantBatch, bounds, session};
use crate::secret::Secret;
use crate::transport::{Going, MEDIA_TYPE, ReadDeadline, UnderWay, Who, expect_binary, join, outlet};
use crate::wire::batch::{batch_id, first_of};
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::same_keys::Under;

/// Time for which a participant waits for a place before it is told to come again.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Time limit for the delivery of an interaction's last bytes.
const SHUTDOWN_GRACE: Duration = Duration::from_secs(10);

/// `POST /v1/rounds/{round}/reports/{batch}/{reports}`: so many reports in a batch of a name of the participant's own,
/// made together and taken exactly once. The answer is a channel, or that they are there, or why they are not taken.
pub(super) async fn interact(
    State(proxy): State<Arc<Proxy>>,
    who: Who,
    under_way: Extension<UnderWay>,
    Path((name, batch, reports)): Path<(String, String, String)>,
    under: Under,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    let participant = proxy.participant(&who)?;
    let batch = batch_id(&batch)?;
    // Also of a round that has closed: what was taken before is known, as where reports are sent.
    let round = proxy.known(&name)?;
    under.check(&name, &round.fingerprint, false).map_err(|refused| refused.again_in(2))?;
    let Secret::NaorReingold(_) = &round.secret else {
        return Err(ApiError::new(
            RefusalReason::Malformed,
            "reports of this job are sent complete, not made with the proxy",
        ));
    };
    expect_binary(&headers)?;
    let most = proxy.setting.submission(&round.params);
    let reports = reports.parse::<usize>().ok().filter(|reports| (1..=most).contains(reports));
    let reports = reports.ok_or_else(|| {
        ApiError::new(RefusalReason::Malformed, format!("a batch of this round has 1 to {most} reports"))
    })?;
    // What would not be taken is not worked on.
    let (asked, taking, whose) = (proxy.clone(), round.clone(), participant);
    let foresee = move || {
        let number = asked.names.number(&whose)?;
        Ok((number, taking.foresee(number, &batch, &fingerprint(reports), reports as u64)))
    };
    let (number, foreseen) = proxy.pool.run(foresee).await?;
    if let Some(foreseen) = foreseen {
        let known = proxy.answer(&round, &batch, foreseen, reports as u64)?;
        proxy.covered(&round).await?;
        return Ok(axum::Json(taken(reports, known)).into_response());
    }
    if !round.is_open() {
        return Err(proxy.elsewhere(&name));
    }
    let busy = || ApiError::new(RefusalReason::Busy, "too many reports are being made: try again later").again_in(2);
    // Who waits with what it may have at most has it in the order of coming: nobody is overtaken by who begins one
    // after the other.
    let own = proxy.admission.enter(who.0, Going::Interaction).ok_or_else(busy)?;
    let place = match timeout(TIMEOUT, proxy.interactions.clone().acquire_owned()).await {
        Ok(Ok(place)) => place,
        _ => return Err(busy()),
    };

    let (outlet, answer) = outlet();
    let bounds = bounds(&round.params, reports);
    let participant = participant.to_string();
    let mut channel = join(&participant, body, outlet, bounds, &proxy.cancel);
    tokio::task::spawn_blocking(move || {
        let batch = ParticipantBatch { round: &round.name, participant: &participant, name: batch, reports };
        let made = proxy.make(&round, &batch, number, &mut channel);
        // Whoever takes its time to hear of it keeps no others waiting.
        drop(place);
        tell(&round, made, channel);
        drop((own, under_way));
    });
    let mut answer = ([(header::CONTENT_TYPE, MEDIA_TYPE)], answer).into_response();
    answer.extensions_mut().insert(ReadDeadline(bounds.time + SHUTDOWN_GRACE));
    Ok(answer)
}

/// Tells how an interaction has ended.
fn tell(round: &Round, made: Result<ApiResult<Value>>, mut channel: Channel) {
    let told = match made {
        Ok(answer) => channel.send(OUTCOME, ApiError::outcome(&answer)).and_then(|()| channel.conclude()),
        Err(error) => {
            channel.abort(&error);
            Err(error)
        }
    };
    // If this is lost, the same batch is answered so when it comes again.
    if let Err(error) = told {
        tracing::debug!("round {}: {error}", round.name);
    }
}

/// Returns the answer about reports that were taken.
pub(super) fn taken(reports: usize, known: bool) -> Value {
    json!({ "reports": reports, "known": known })
}

impl Proxy {
    /// One interaction from its beginning to its outcome.
    fn make(
        &self,
        round: &Round,
        batch: &ParticipantBatch<'_>,
        number: u32,
        channel: &mut Channel,
    ) -> Result<ApiResult<Value>> {
        tracing::debug!("round {}: batch {} comes", round.name, hex(&batch.name));
        match self.entries(round, batch, channel) {
            Ok(entries) => Ok(round
                .accept(number, &batch.name, fingerprint(batch.reports), &entries)
                .map_err(ApiError::from)
                .and_then(|accepted| self.answer(round, &batch.name, accepted, batch.reports as u64))
                .and_then(|known| Handle::current().block_on(self.covered(round)).map(|()| known))
                .map(|known| taken(batch.reports, known))),
            // Where the channel still goes, whoever broke the rules is told which; else its kind.
            Err(Error::Protocol { check, .. }) => {
                self.done.refused.fetch_add(1, Ordering::Relaxed);
                Ok(Err(ApiError::new(RefusalReason::Malformed, format!("the reports are refused: {check}"))))
            }
            Err(error) => {
                self.done.broken.fetch_add(1, Ordering::Relaxed);
                Err(error)
            }
        }
    }

    /// The entries of reports that are made now.
    fn entries(&self, round: &Round, batch: &ParticipantBatch<'_>, channel: &mut Channel) -> Result<Vec<u8>> {
        let Secret::NaorReingold(secret) = &round.secret else {
            return Err(Error::Internal("an interaction in a protocol that has none".into()));
        };
        let mut rng = fresh_rng()?;
        let session = session(&self.setting, batch, InteractionSide::Proxy, channel, &mut rng)?;
        let mut transfers = naor_reingold::proxy::connect(&session, channel, &mut rng)?;
        let reporting = Reporting {
            params: &round.params,
            keys: &round.keys,
            participant: batch.participant,
            first: first_of(&batch.name),
            stage: batch.reports,
        };
        let mut made = Vec::new();
        let take = |entries: Vec<u8>| {
            made.extend(entries);
            Ok(())
        };
        naor_reingold::proxy::receive(&reporting, secret, batch.reports, &mut transfers, channel, &mut rng, take)?;
        Ok(made)
    }
}
