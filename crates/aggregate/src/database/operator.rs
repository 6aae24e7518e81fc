//! Requests of the database's operator on rounds.

use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::HeaderMap;
use tacita_core::{Error, Result};
use tacita_node::base::text::shown;
use tacita_node::jobs::aggregate::predicate::largest_gap;
use tacita_node::jobs::aggregate::{Measure, Predicate, Summary};

use super::record::Record;
use super::round::Round;
use super::{At, Database};
use crate::transport::{Caller, Who, read_json};
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::Tighten;
use crate::wire::rounds::{Closing, ReportCounts, RoundState, RoundStatus};

/// `POST /v1/rounds/{round}/open`
pub(super) async fn open((State(database), who, Path(name)): At) -> ApiResult<Json<RoundStatus>> {
    let caller = operator(&database, &who)?;
    let pool = database.pool.clone();
    pool.run(move || {
        database.open(&name).map_err(refused)?;
        Ok(Json(database.status(&*database.known(&name)?, &caller)))
    })
    .await
}

/// `POST /v1/rounds/{round}/close`
pub(super) async fn close(at: At, headers: HeaderMap, body: Body) -> ApiResult<Json<RoundStatus>> {
    operator(&at.0.0, &at.1)?;
    close_with(at, read_json(&headers, body).await?).await
}

/// Closes a round, as [`close`] does.
pub(super) async fn close_with(at: At, closing: Closing) -> ApiResult<Json<RoundStatus>> {
    change(at, move |database, round| database.close_without(round, &closing.without)).await
}

/// `POST /v1/rounds/{round}/reveal`: also once more for a round that failed when its rows were counted.
pub(super) async fn reveal(at: At) -> ApiResult<Json<RoundStatus>> {
    change(at, |database, round| {
        let revealing = round.change(&*database.storage, |record| {
            match record.state {
                RoundState::Revealing | RoundState::Revealed => return Ok(false),
                RoundState::Counted => (),
                RoundState::Failed if may_be_revealed_again(record) => (),
                state => return Err(not_now(round, state, "can be revealed when its rows are counted")),
            }
            record.state = RoundState::Revealing;
            record.failure = None;
            Ok(true)
        });
        revealing.map(drop)
    })
    .await
}

/// `POST /v1/rounds/{round}/tighten`: raises a threshold, never lowers one.
pub(super) async fn tighten(at: At, headers: HeaderMap, body: Body) -> ApiResult<Json<RoundStatus>> {
    operator(&at.0.0, &at.1)?;
    raise(at, read_json(&headers, body).await?).await
}

/// Raises a threshold, as [`tighten`] does.
pub(super) async fn raise(at: At, wanted: Tighten) -> ApiResult<Json<RoundStatus>> {
    change(at, move |database, round| {
        let own = database.setting.own()?;
        if !own.own.round.tighten {
            return Err(Error::Input("thresholds cannot be raised: the job does not say round.tighten = true".into()));
        }
        // As the condition has it, or its name alone.
        let named = |of: &Measure, name: &str| wanted.measure == name || wanted.measure == of.to_string();
        let measure = Measure::ALL.iter().find(|(of, name)| named(of, name)).map(|(measure, _)| *measure);
        let measure = measure.ok_or_else(|| {
            let known: Vec<&str> = Measure::ALL.iter().map(|(_, name)| *name).collect();
            Error::Input(format!(
                "\"{}\" is nothing that has a threshold: use one of {}",
                shown(&wanted.measure),
                known.join(", ")
            ))
        })?;
        let predicate = round.predicate(&database.setting)?;
        let before = round.record();
        let Some(counts) = before.counts.as_ref().filter(|_| before.state == RoundState::Counted) else {
            return Err(not_now(round, before.state, "has thresholds to be raised between the count and the reveal"));
        };
        let number = match (wanted.to, measure) {
            (Some(number), _) => i128::from(number),
            (None, _) => gap(&predicate, measure, counts)?,
        };
        let raised = predicate.tighten_all(measure, number)?;
        let mut passing = 0;
        database.storage.groups(&round.name, None, &mut |_, entries| {
            let mut row = Summary::new(&own.own.round.values);
            for entry in entries {
                let entry = entry?;
                row.add(entry.value, &entry.tag);
            }
            passing += u64::from(raised.holds(&row));
            Ok(database.go_on())
        })?;
        database.stop()?;
        round.change(&*database.storage, |record| {
            if record.state != RoundState::Counted {
                return Err(not_now(
                    round,
                    record.state,
                    "has thresholds to be raised between the count and the reveal",
                ));
            }
            if record.reveal_when != before.reveal_when {
                return Err(Error::NotReady(format!(
                    "round {}: another operator has raised a threshold meanwhile",
                    round.name
                )));
            }
            record.reveal_when = Some(raised.to_string());
            record.numbers.passing = Some(passing);
            Ok(true)
        })?;
        tracing::info!("round {}: keys are revealed when {raised}", round.name);
        Ok(())
    })
    .await
}

/// The number in the middle of the widest gap of the histogram that is not below a threshold.
pub(super) fn gap(predicate: &Predicate, measure: Measure, counts: &ReportCounts) -> Result<i128> {
    let sizes = match measure {
        Measure::Count => &counts.count,
        Measure::Distinct => &counts.distinct,
        _ => {
            return Err(Error::Input(
                "gaps are known for count and distinct only: give a number for other measures".into(),
            ));
        }
    };
    let of = predicate.thresholds().into_iter().filter(|threshold| threshold.measure == measure);
    let agreed = of.map(|threshold| threshold.bound).max().unwrap_or(0);
    Ok(i128::from(largest_gap(sizes, u64::try_from(agreed).unwrap_or(0))))
}

/// Whether a round that failed can be taken up again: its rows are counted, and there. Whatever failed, an oracle that
/// is mended, or another one, may answer.
pub(super) fn may_be_revealed_again(record: &Record) -> bool {
    record.failure.is_some() && record.counts.is_some()
}

/// `POST /v1/rounds/{round}/remove`: nothing of it stays but its name.
pub(super) async fn remove(at: At) -> ApiResult<Json<RoundStatus>> {
    change(at, |database, round| {
        // First the mark: a removal that is cut off is done again.
        round.change(&*database.storage, |record| {
            let is_there = record.state != RoundState::Removed;
            *record = Record::removed(record);
            Ok(is_there)
        })?;
        round.clear(&*database.storage)?;
        database.settle(round)?;
        tracing::info!("round {} is removed", round.name);
        Ok(())
    })
    .await
}

/// Changes a round for the operator, and tells how it then stands.
async fn change(
    (State(database), who, Path(name)): At,
    change: impl FnOnce(&Database, &Round) -> Result<()> + Send + 'static,
) -> ApiResult<Json<RoundStatus>> {
    let caller = operator(&database, &who)?;
    let round = database.found(&name).await.map_err(ApiError::for_operator)?;
    let pool = database.pool.clone();
    pool.run(move || {
        change(&database, &round).map_err(refused)?;
        Ok(Json(database.status(&round, &caller)))
    })
    .await
}

/// The operator is told what is wrong.
fn refused(error: Error) -> ApiError {
    match error {
        Error::Input(text) => ApiError::new(RefusalReason::Malformed, text),
        Error::NotReady(text) => ApiError::new(RefusalReason::Closed, text),
        other => ApiError::from(other).for_operator(),
    }
}

fn not_now(round: &Round, state: RoundState, what: &str) -> Error {
    Error::NotReady(format!("round {} {}: it {what}", round.name, state.told()))
}

fn operator(database: &Arc<Database>, who: &Who) -> ApiResult<Caller> {
    let caller = database.caller(who)?;
    if caller.is_database() {
        Ok(caller)
    } else {
        Err(ApiError::new(RefusalReason::Forbidden, "only the database's operator may, with the database's identity"))
    }
}
