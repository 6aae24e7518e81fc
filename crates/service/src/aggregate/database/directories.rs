//! What a proxy acknowledged of a round is in the state directory that it worked with, and nowhere else. So each says with which one it takes reports, once and
//! for good: one that comes back with another directory, or a second process of its identity, is told so, and the round waits for what the first one has. Or
//! its operator has it go on without that.

use std::time::{Duration, Instant};

use axum::Json;
use axum::body::Body;
use axum::http::HeaderMap;
use tacita_core::{Error, Result};
use tacita_node::base::hex::unhex;

use super::round::Round;
use super::routes::{At, no_more};
use super::{Database, lock};
use crate::aggregate::rounds::{Directory, Rest, State as Stage, Status};
use crate::aggregate::transport::{Granted, Kind, Reply, Service, read_json};

/// Bytes of a directory's name, which is random.
pub(in crate::aggregate) const DIRECTORY_BYTES: usize = 16;

/// A proxy that has another directory says so again more often than this.
const STRANGE: Duration = Duration::from_secs(30);

/// `POST /v1/rounds/{round}/directory`: the state directory with which a proxy takes reports of a round. The first one stays.
pub(super) async fn directory(at: At, headers: HeaderMap, body: Body) -> Granted<Json<Status>> {
    let (axum::extract::State(database), who, axum::extract::Path(name)) = at;
    let caller = database.caller(&who)?;
    let (place, peer) = database.proxy(&caller)?;
    let round = database.found(&name).await?;
    let Directory { directory } = read_json(&headers, body).await?;
    if unhex(&directory).is_none_or(|name| name.len() != DIRECTORY_BYTES) {
        return Err(Reply::new(Kind::Malformed, "this is no name of a directory"));
    }
    let pool = database.pool.clone();
    pool.run(move || {
        round.change(&*database.storage, |record| {
            let may_come = matches!(record.state, Stage::Open | Stage::Closed) && !record.without.contains(&place);
            let is_new = may_come && !record.directories.contains_key(&place);
            if is_new {
                record.directories.insert(place, directory.clone());
            }
            Ok(is_new)
        })?;
        let record = round.record();
        match record.directories.get(&place) {
            _ if record.without.contains(&place) => Err(given_up(&round)),
            None => Err(no_more(&round, "directory")),
            Some(known) if *known == directory => {
                lock(&database.strange).remove(&place);
                Ok(Json(database.status(&round, &caller)))
            }
            Some(_) => {
                lock(&database.strange).insert(place, Instant::now());
                let what = format!("{peer} has taken reports of round {} with another state directory", round.name);
                Err(Reply::new(Kind::Conflict, what))
            }
        }
    })
    .await
}

/// What a proxy is told that brings something to a round that goes on without it.
pub(super) fn given_up(round: &Round) -> Reply {
    Reply::new(Kind::Closed, format!("round {} goes on without what this proxy had", round.name))
}

impl Database {
    /// Closes a round, and has it go on without what proxies have not sent.
    ///
    /// Errors: [`Error::Input`] for a proxy that is not there, or has sent all; [`Error::NotReady`] if its rows are counted already.
    pub(super) fn close_without(&self, round: &Round, places: &[usize]) -> Result<()> {
        let proxies = self.setting.count("proxy")?;
        if let Some(place) = places.iter().find(|place| **place >= proxies) {
            return Err(Error::Input(format!("there is no proxy {}: the job file names {proxies}", place + 1)));
        }
        self.close(round)?;
        for place in places {
            let name = self.setting.name(Service::Proxy(*place))?;
            let given_up = round.change(&*self.storage, |record| {
                if record.state != Stage::Closed {
                    let state = record.state.told();
                    return Err(Error::NotReady(format!("round {} {state}: it waits for no proxy", round.name)));
                }
                if record.complete.contains_key(place) {
                    return Err(Error::Input(format!("{name} has sent all that it had of round {}", round.name)));
                }
                // Nothing is handed over to it any more.
                record.rests.insert(*place, Rest::Nothing);
                Ok(record.without.insert(*place))
            })?;
            if given_up {
                tracing::warn!("round {} goes on without what {name} has not sent", round.name);
            }
        }
        Ok(())
    }

    /// Whether a proxy is there with another state directory than the one that has what it acknowledged.
    pub(super) fn is_strange(&self, place: usize) -> bool {
        lock(&self.strange).get(&place).is_some_and(|last| last.elapsed() < STRANGE)
    }
}
