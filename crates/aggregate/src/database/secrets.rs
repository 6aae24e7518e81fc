//! The secrets of rounds, which all databases of a job have: whoever opens a round makes its secret, and the others
//! have it from one that has it.

use std::collections::VecDeque;
use std::time::Duration;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use tacita_core::protocol::aggregate::DatabaseKey;
use tacita_core::{Error, Result};
use zeroize::Zeroizing;

use super::round::Round;
use super::{At, Database, lock};
use crate::transport::{ApiRequest, MEDIA_TYPE, Who, read};
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::{RoundState, check_name};

/// Maximum length of a secret in bytes.
const MAX_BYTES: usize = 1 << 10;

/// Secrets of rounds that are being opened elsewhere, at most: of more, those that came first are forgotten, and had
/// again when they are needed.
const MAX_OFFERS: usize = 64;

/// Interval at which the other databases are asked for missing secrets.
const POLL_INTERVAL: Duration = Duration::from_millis(250);

/// Secrets that others have offered for rounds that are not there yet.
pub(super) type Offers = VecDeque<(String, Zeroizing<Vec<u8>>)>;

/// `GET /v1/rounds/{round}/secret`: for other databases of the job.
pub(super) async fn give((State(database), who, Path(name)): At) -> ApiResult<Response> {
    only_databases(&database, &who)?;
    let round = database.found(&name).await?;
    let pool = database.pool.clone();
    let secret = pool
        .run(move || {
            if round.record().state == RoundState::Removed {
                return Err(ApiError::new(RefusalReason::Closed, "the round was removed"));
            }
            let secret = round
                .secret()
                .ok_or_else(|| ApiError::new(RefusalReason::NotYet, "the round's secret is not here yet"))?;
            Ok(secret.to_bytes(&round.params))
        })
        .await?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], secret.to_vec()).into_response())
}

/// `PUT /v1/rounds/{round}/secret`: of a round that the database which asks is about to open.
pub(super) async fn offered(
    (State(database), who, Path(name)): At,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Json<serde_json::Value>> {
    only_databases(&database, &who)?;
    check_name(&name).map_err(|error| ApiError::new(RefusalReason::Malformed, error.to_string()))?;
    let secret = Zeroizing::new(read(&headers, body, MAX_BYTES).await?.to_vec());
    if DatabaseKey::from_bytes(&database.setting.params(&name)?, &secret).is_none() {
        return Err(ApiError::new(RefusalReason::Malformed, "this is no secret of a round"));
    }
    let mut offers = lock(&database.offers);
    while offers.len() >= MAX_OFFERS {
        offers.pop_front();
    }
    offers.push_back((name, secret));
    Ok(Json(serde_json::json!({})))
}

fn only_databases(database: &Database, who: &Who) -> ApiResult<()> {
    if database.caller(who)?.is_database() {
        Ok(())
    } else {
        Err(ApiError::new(RefusalReason::Forbidden, "only databases of the job may"))
    }
}

impl Database {
    /// Gives the secret of a round that is about to be opened to all other databases that answer: if this one fails
    /// then, theirs go on.
    pub(super) fn offer(&self, round: &str, secret: &[u8]) {
        let ask = ApiRequest::put(format!("/v1/rounds/{round}/secret"), secret.to_vec(), MAX_BYTES);
        std::thread::scope(|scope| {
            for peer in &self.peers {
                let ask = &ask;
                scope.spawn(move || {
                    let told = match peer.once(ask) {
                        Ok(answer) if answer.is_ok() => return,
                        Ok(answer) => answer.told().message,
                        Err(error) => error.to_string(),
                    };
                    tracing::warn!(
                        "round {round}: {} does not take its secret now, and gets it later: {told}",
                        peer.name()
                    );
                });
            }
        });
    }

    /// Finds the secret of a round in the state directory, or among those that were offered.
    ///
    /// Errors ([`Error::Input`]): it is not there, and there is no other database to have it from.
    pub(super) fn find_secret(&self, round: &Round) -> Result<()> {
        match self.keys.load(&round.name)? {
            Some(secret) if round.take_secret(&secret) => return Ok(()),
            Some(_) if !self.has_peers() => {
                return Err(Error::Input(format!(
                    "the key of round {} here is not the one that the round was opened with: put that back with `tacita key restore`",
                    round.name
                )));
            }
            Some(_) => {
                tracing::info!(
                    "round {}: another database has opened it, and a key that was made here goes",
                    round.name
                );
                self.keys.forget(&round.name)?;
            }
            None if !self.has_peers() => return Err(self.keys.none(&round.name)),
            None => (),
        }
        let offered: Vec<_> = {
            let mut offers = lock(&self.offers);
            let (own, others) = offers.drain(..).partition(|(name, _)| *name == round.name);
            *offers = others;
            Offers::into_iter(own).map(|(_, secret)| secret).collect()
        };
        match offered.iter().find(|secret| round.take_secret(secret)) {
            Some(secret) => {
                self.keep_secret(round, secret)?;
                tracing::info!("round {}: has the secret from the database that opened it", round.name);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Has the secrets that are missing from the others, until the database is to end.
    pub(super) fn collect_secrets(&self) {
        while !self.cancel.is_cancelled() {
            let missing = |round: &Round| round.secret().is_none() && round.record().state != RoundState::Removed;
            for round in self.all().into_iter().filter(|round| missing(round)) {
                let _of = tracing::error_span!("secret", round = round.name).entered();
                if let Err(error) = self.have_secret(&round) {
                    tracing::debug!("round {}: {error}", round.name);
                }
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Asks the others for the secret of a round, one after the other.
    fn have_secret(&self, round: &Round) -> Result<()> {
        let ask = ApiRequest::get(format!("/v1/rounds/{}/secret", round.name), MAX_BYTES);
        for peer in &self.peers {
            let Ok(answer) = peer.once(&ask) else { continue };
            let (is_ok, secret) = (answer.is_ok(), Zeroizing::new(answer.body));
            if is_ok && round.take_secret(&secret) {
                self.keep_secret(round, &secret)?;
                tracing::info!("round {}: has the secret from {}", round.name, peer.name());
                return Ok(());
            }
            if is_ok {
                tracing::warn!(
                    "round {}: {} gives another secret than the round was opened with",
                    round.name,
                    peer.name()
                );
            }
        }
        Ok(())
    }

    fn keep_secret(&self, round: &Round, secret: &[u8]) -> Result<()> {
        self.keys.keep(&round.name, secret)?;
        self.keys.use_up(&round.name)?;
        // It may have been removed meanwhile.
        match round.record().state {
            RoundState::Removed => self.settle(round),
            _ => Ok(()),
        }
    }
}
