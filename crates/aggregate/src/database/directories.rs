//! Sessions of state directories. The reports that a proxy acknowledged of a round are in the state directory with
//! which it worked, and nowhere else. The database therefore knows the last session of that directory (`sessions.rs`).
//! A proxy that comes with another directory, or with an older copy, is told so, and the round waits for the right one.
//! Alternatively its operator lets the round go on without that directory.

use std::convert::Infallible;
use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::extract::FromRequestParts;
use axum::http::HeaderMap;
use axum::http::request::Parts;
use tacita_core::{Error, Result};

use super::progress::Refused;
use super::reveal::MISSING;
use super::round::Round;
use super::{At, Database, lock, no_more};
use crate::transport::read_json;
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::{RoundState, RoundStatus};
use crate::wire::same_keys::Under;
use crate::wire::service::Service;
use crate::wire::sessions::{Advance, StateSession};

/// A proxy that has another directory says so again more often than this.
const STRANGE: Duration = Duration::from_secs(30);

/// The session of a proxy's state directory, and the one that it goes on to, in the query of a request.
#[derive(Debug, Clone, Default)]
pub(super) struct Presented {
    session: Option<StateSession>,
    next: Option<StateSession>,
}

impl<S: Sync> FromRequestParts<S> for Presented {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> std::result::Result<Presented, Infallible> {
        let mut presented = Presented::default();
        for (key, value) in
            parts.uri.query().into_iter().flat_map(|query| query.split('&')).filter_map(|one| one.split_once('='))
        {
            match key {
                "session" => presented.session = value.parse().ok(),
                "next" => presented.next = value.parse().ok(),
                _ => (),
            }
        }
        Ok(presented)
    }
}

impl Presented {
    /// Returns the session that the request names.
    pub(super) fn session(&self) -> ApiResult<StateSession> {
        let none = || {
            ApiError::new(
                RefusalReason::Malformed,
                "the request names no session of the proxy's state directory: ?session=NUMBER-NAME",
            )
        };
        self.session.ok_or_else(none)
    }

    /// The step to the next session.
    pub(super) fn advance(&self) -> ApiResult<Advance> {
        let from = Some(self.session()?);
        let none = || {
            ApiError::new(
                RefusalReason::Malformed,
                "the request names no session that follows its own: &next=NUMBER-NAME",
            )
        };
        self.next.map(|to| Advance { from, to }).filter(Advance::is_one_step).ok_or_else(none)
    }
}

/// `POST /v1/rounds/{round}/session`: the state directory with which a proxy takes reports of a round goes on to its
/// next session.
///
/// A proxy asks for the first one before it has the round's keys. One that has others says nothing of what was stored
/// under those here.
pub(super) async fn session(at: At, under: Under, headers: HeaderMap, body: Body) -> ApiResult<Json<RoundStatus>> {
    let (axum::extract::State(database), who, axum::extract::Path(name)) = at;
    let caller = database.caller(&who)?;
    let (place, peer) = database.proxy(&caller)?;
    let round = database.found(&name).await?;
    let advance: Advance = read_json(&headers, body).await?;
    if !advance.is_one_step() {
        return Err(ApiError::new(RefusalReason::Malformed, "this session does not follow an earlier one"));
    }
    let pool = database.pool.clone();
    pool.run(move || {
        if under.0.is_some() && round.record().state != RoundState::Removed {
            database.check_keys(&round, (place, &peer), &under)?;
        }
        database.advance(&round, place, &advance)?;
        lock(&database.strange).remove(&place);
        Ok(Json(database.status(&round, &caller)))
    })
    .await
}

/// Returns the reply to a proxy that brings something to a round that goes on without it.
pub(super) fn given_up(round: &Round) -> ApiError {
    ApiError::new(RefusalReason::Closed, format!("round {} continues without this proxy's unsent reports", round.name))
}

impl Database {
    /// Has a proxy's state directory go on to its next session.
    pub(super) fn advance(&self, round: &Round, place: usize, advance: &Advance) -> ApiResult<()> {
        let proxies = self.setting.count("proxy")?;
        self.change_for(round, place, |record| record.advance(place, proxies, advance)).map(drop)
    }

    /// Refuses what a proxy brings whose state directory does not hold the last session.
    pub(super) fn check_session(&self, round: &Round, place: usize, session: StateSession) -> ApiResult<()> {
        // Another database may have been told of a later one.
        if self.has_peers() && round.record().holds(place, session).is_err() {
            self.take_up(&round.name)?;
        }
        round.record().holds(place, session).or_else(|refused| Err(self.refuse(round, place, refused)?))
    }

    /// Changes a round's record by a rule; whether it was changed.
    pub(super) fn change_for(
        &self,
        round: &Round,
        place: usize,
        mut rule: impl FnMut(&mut super::record::Record) -> std::result::Result<bool, Refused>,
    ) -> ApiResult<bool> {
        let mut refused = None;
        let changed = round.change(&*self.storage, |record| {
            let done = rule(record);
            refused = done.err();
            Ok(done == Ok(true))
        })?;
        match refused {
            Some(refused) => Err(self.refuse(round, place, refused)?),
            None => Ok(changed),
        }
    }

    /// Returns the reply to a proxy that is refused. A storage that has lost its last changes ends the round.
    pub(super) fn refuse(&self, round: &Round, place: usize, refused: Refused) -> Result<ApiError> {
        let (name, peer) = (&round.name, self.setting.name(Service::Proxy(place))?);
        Ok(match refused {
            Refused::GivenUp => given_up(round),
            Refused::Over => no_more(round, "more of this proxy"),
            Refused::Older => {
                lock(&self.strange).insert(place, Instant::now());
                ApiError::new(
                    RefusalReason::Stale,
                    format!(
                        "{peer} has taken reports of round {name} with another state directory, or a later copy of this one"
                    ),
                )
            }
            Refused::Newer => {
                let what = format!(
                    "the storage lacks changes that it had confirmed to {peer}: it was restored to an earlier state, or lost its \
                     last commits. Restore the right one, or open another round and have reports submitted again"
                );
                self.fail_telling(round, &Error::Terms(what.clone()), Some(MISSING))?;
                ApiError::new(RefusalReason::Closed, format!("round {name} has failed: {what}"))
            }
        })
    }

    /// Closes a round, and has it go on without what proxies have not sent.
    ///
    /// Errors: [`Error::Input`] for a proxy that is not there, or has sent all; [`Error::NotReady`] if its rows are
    /// counted already.
    pub(super) fn close_without(&self, round: &Round, places: &[usize]) -> Result<()> {
        let proxies = self.setting.count("proxy")?;
        if let Some(place) = places.iter().find(|place| **place >= proxies) {
            return Err(Error::Input(format!("there is no proxy {}: the job file names {proxies}", place + 1)));
        }
        self.close(round)?;
        for place in places {
            let name = self.setting.name(Service::Proxy(*place))?;
            let given_up = round.change(&*self.storage, |record| {
                record.go_without(*place).map_err(|_| match record.state {
                    RoundState::Closed => {
                        Error::Input(format!("{name} has sent all that it had of round {}", round.name))
                    }
                    state => Error::NotReady(format!("round {} {}: it waits for no proxy", round.name, state.told())),
                })
            })?;
            if given_up {
                tracing::warn!("round {} continues without the unsent reports of {name}", round.name);
            }
        }
        Ok(())
    }

    /// Whether a proxy is there with another state directory than the one that has what it acknowledged.
    pub(super) fn is_strange(&self, place: usize) -> bool {
        lock(&self.strange).get(&place).is_some_and(|last| last.elapsed() < STRANGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::same_keys::KeysFingerprint;

    /// A query may say both, in any order: neither hides the other.
    #[test]
    fn keys_and_sessions_stand_in_one_query() {
        let [session, next] = [1, 2].map(|number| StateSession { number, name: [number as u8; 16] });
        let keys = KeysFingerprint([7; 32]);
        let both = format!("session={session}&next={next}");
        for path in [
            keys.on(&format!("/v1/rounds/one/claims?{both}")),
            format!("{}&{both}", keys.on("/v1/rounds/one/claims")),
            keys.on(&format!("/v1/rounds/one/claims?session={session}")) + &format!("&next={next}"),
        ] {
            let (mut parts, ()) = axum::http::Request::post(&path).body(()).unwrap().into_parts();
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let Ok(found) = runtime.block_on(Presented::from_request_parts(&mut parts, &()));
            assert_eq!(found.advance().unwrap(), Advance { from: Some(session), to: next }, "{path}");
            let under = runtime.block_on(Under::from_request_parts(&mut parts, &())).unwrap();
            assert_eq!(under.0, Some(keys), "{path}");
        }
    }
}
