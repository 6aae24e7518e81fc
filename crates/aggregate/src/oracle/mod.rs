//! The oracle: it tells the database the keys of rows that have as many reports as agreed. It belongs to the proxies'
//! domain, and has the secrets of a round from any of the proxies.

mod secrets;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use tacita_core::protocol::aggregate::{Params, RevealThreshold, RowAnswer, answer};
use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::text::counted;
use tacita_serve::status::{Check, MetricsPage};
use tacita_serve::sync::lock;

use crate::hello::meet;
use crate::keys::{self, StateKeys};
use crate::metrics::heard;
use crate::role::Role;
use crate::secret::Secret;
use crate::serve::{RoleConfig, Started};
use crate::setting::ServiceConfig;
use crate::transport::{Admission, ApiRequest, Client, MEDIA_TYPE, Persistence, RequestPool, Who, read};
use crate::wire::held::{Held, MAX_LIST_BYTES, PAGE_ROUNDS};
use crate::wire::questions::MAX_QUESTION_BYTES;
use crate::wire::questions::{RowReply, decode_questions, encode_replies};
use crate::wire::reply::{ApiError, ApiResult, RefusalReason};
use crate::wire::rounds::check_name;
use crate::wire::same_keys::{KeysFingerprint, Under, unsaid};
use crate::wire::service::Service;
use crate::wire::signed;

const POLL_INTERVAL: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 500 });

const ONCE: Persistence = Persistence { silence: Duration::ZERO, busy: Duration::ZERO };

/// The secrets of a round, with what was agreed on for it.
struct Round {
    params: Params,
    key: Secret,
    /// The fingerprint of the public keys that they belong to.
    keys: KeysFingerprint,
}

struct Oracle {
    setting: Arc<ServiceConfig>,
    keys: StateKeys,
    proxies: Vec<Client>,
    /// Rounds whose secrets each proxy has, by its place.
    held: Mutex<BTreeMap<usize, BTreeMap<String, KeysFingerprint>>>,
    rounds: Mutex<BTreeMap<String, Arc<Round>>>,
    /// Held while secrets are written.
    keeping: Mutex<()>,
    admission: Arc<Admission>,
    pool: RequestPool,
    asked: AtomicU64,
    told: AtomicU64,
    cancel: Cancel,
}

/// Serves an oracle until it is cancelled.
///
/// Errors: as those of a database.
pub fn serve(serving: RoleConfig) -> Result<()> {
    let setting = serving.setting.clone();
    let place = setting.place_of("oracle", &serving.identity)?;
    let (folder, _lock) = keys::lock(&serving.state, Some("oracle"))?;
    let databases = setting.services()?.into_iter().filter(|(_, service)| matches!(service, Service::Database(_)));
    let admission = Arc::new(Admission::new(databases.collect(), Vec::new(), None)?);
    let keys = StateKeys::new(folder, &serving.identity, signed::KeyRole::Proxy);
    let cancel = serving.cancel.clone();
    let started = Started::new(serving, Service::Oracle(place))?;
    let proxies = (0..setting.count("proxy")?.max(1)).map(|place| started.client(Service::Proxy(place)));
    let oracle = Arc::new(Oracle {
        proxies: proxies.collect::<Result<_>>()?,
        held: Mutex::default(),
        setting,
        keys,
        rounds: Mutex::default(),
        keeping: Mutex::default(),
        admission: admission.clone(),
        pool: RequestPool::new(),
        asked: AtomicU64::new(0),
        told: AtomicU64::new(0),
        cancel,
    });
    let routes = Router::new()
        .route("/v1/rounds/{round}/answers", post(answers))
        .layer(DefaultBodyLimit::disable())
        .with_state(oracle.clone());
    started.serve(oracle, admission, routes)
}

/// `POST /v1/rounds/{round}/answers`
async fn answers(
    State(oracle): State<Arc<Oracle>>,
    who: Who,
    Path(round): Path<String>,
    under: Under,
    headers: HeaderMap,
    body: Body,
) -> ApiResult<Response> {
    if !oracle.admission.caller(&who.0).is_some_and(|caller| caller.is_database()) {
        return Err(ApiError::new(RefusalReason::Forbidden, "only databases ask"));
    }
    let keys = under.0.ok_or_else(unsaid)?;
    let body = read(&headers, body, MAX_QUESTION_BYTES).await?;
    let pool = oracle.pool.clone();
    let answered = pool.run(move || oracle.answer(&round, &keys, &body)).await?;
    Ok(([(header::CONTENT_TYPE, MEDIA_TYPE)], answered).into_response())
}

impl Oracle {
    fn answer(&self, name: &str, keys: &KeysFingerprint, body: &[u8]) -> ApiResult<Vec<u8>> {
        let round = self.round(name, keys)?;
        let malformed = || ApiError::new(RefusalReason::Malformed, "these are no questions about rows of this round");
        let questions = decode_questions(body, &round.params).ok_or_else(malformed)?;
        tracing::debug!("round {name}: is asked about {}", counted(questions.len() as u64, "row"));
        let least = self.setting.own()?.oracle_minimum()?;
        let bound = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let least = RevealThreshold { count: bound(least.count), distinct: bound(least.distinct) };
        let mut replies = Vec::with_capacity(questions.len());
        for question in &questions {
            let found = answer(&round.params, &round.key, &question.row, &question.sealed, &question.reporters, least);
            replies.push(match found.map_err(|_| malformed())? {
                RowAnswer::Key(key) => {
                    self.told.fetch_add(1, Ordering::Relaxed);
                    RowReply::Key(key)
                }
                RowAnswer::Inconsistent(places) => RowReply::Inconsistent(places),
                RowAnswer::TooFew => RowReply::TooFew,
            });
        }
        self.asked.fetch_add(questions.len() as u64, Ordering::Relaxed);
        tracing::debug!("round {name}: has answered about {}", counted(questions.len() as u64, "row"));
        Ok(encode_replies(&replies))
    }
}

impl Role for Oracle {
    fn word(&self) -> &'static str {
        "oracle"
    }

    /// Has the secrets of rounds before they are needed, so that no proxy need be there then; and forgets those of
    /// rounds that were removed.
    fn run_background(&self) -> Result<()> {
        std::thread::scope(|scope| {
            let follow = |place| scope.spawn(move || self.follow(place));
            let all: Vec<_> = (0..self.proxies.len()).map(follow).collect();
            // One that fails ends the others.
            all.into_iter().try_for_each(|one| one.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    }

    fn learned(&self) -> Vec<String> {
        self.setting.own().map_or_else(|_| Vec::new(), |own| crate::role::learned(own, "oracle"))
    }

    fn numbers(&self) -> Vec<(&'static str, u64)> {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        vec![("asked_rows", of(&self.asked)), ("told_keys", of(&self.told))]
    }

    fn measures(&self, page: &mut MetricsPage) {
        page.one("rows_asked_total", "counter", "Rows that were asked about.", self.asked.load(Ordering::Relaxed));
        page.one("keys_told_total", "counter", "Keys that were told.", self.told.load(Ordering::Relaxed));
        page.one("rounds_held", "gauge", "Rounds whose secrets are here.", lock(&self.rounds).len());
    }

    fn checks(&self) -> Vec<Check<'_>> {
        let proxy = || {
            // One of them is enough.
            let last = self.proxies.iter().min_by_key(|proxy| proxy.contact().silent().unwrap_or(Duration::MAX));
            last.map_or(Ok(()), |last| heard(last.name(), last.contact().silent()))
        };
        let secrets = || {
            let (held, here) = (lock(&self.held), lock(&self.rounds));
            let all: BTreeSet<_> = held.values().flat_map(BTreeMap::keys).collect();
            match all.into_iter().filter(|round| !here.contains_key(*round)).count() {
                0 => Ok(()),
                missing => Err(format!("the secrets of {} cannot be had", counted(missing as u64, "round"))),
            }
        };
        vec![Check::new("proxy", proxy), Check::new("secrets", secrets)]
    }
}

impl Oracle {
    /// Follows a proxy until the oracle is to end.
    fn follow(&self, place: usize) -> Result<()> {
        let (proxy, mut pause, mut met, mut said) = (&self.proxies[place], POLL_INTERVAL, false, None::<Error>);
        while !self.cancel.is_cancelled() {
            pause = match self.look(place, met) {
                Ok(()) => {
                    met = true;
                    POLL_INTERVAL
                }
                Err(Error::Interrupted) => return Ok(()),
                // Other terms do not pass by themselves. Who does not answer, or not let this oracle in, may later.
                Err(error @ Error::Terms(_)) => {
                    self.cancel.cancel();
                    return Err(error);
                }
                Err(error) => {
                    met = false;
                    // Who is silent is seen on the pages; what does not pass by itself is said once.
                    if matches!(error, Error::Protocol { .. } | Error::Input(_)) && said.as_ref() != Some(&error) {
                        tracing::warn!("{error}; trying again");
                        said = Some(error);
                    } else {
                        tracing::debug!("{error}");
                    }
                    (pause * 2).min(10 * POLL_INTERVAL)
                }
            };
            if proxy.rest(pause).is_err() {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Looks which rounds a proxy has; its terms are compared before unless it was `met`.
    fn look(&self, place: usize, met: bool) -> Result<()> {
        let proxy = &self.proxies[place];
        if !met {
            meet(proxy, &self.setting, ONCE)?;
        }
        let wrong = |check: &str| Error::Protocol { peer: proxy.name().to_owned(), check: check.to_owned() };
        let held = Held::whole(|after| {
            let after = after.map(|name| format!("&after={name}")).unwrap_or_default();
            let answer =
                proxy.once(&ApiRequest::get(format!("/v1/keys?limit={PAGE_ROUNDS}{after}"), MAX_LIST_BYTES))?;
            if answer.is_ok() {
                serde_json::from_slice(&answer.body).map_err(|_| wrong("its list of rounds cannot be read"))
            } else {
                let what = format!("does not tell its rounds: {}", answer.told().message);
                Err(Error::Network { peer: proxy.name().to_owned(), what })
            }
        })?;
        let held = held.map_err(wrong)?;
        lock(&self.held).insert(place, held.rounds.clone());
        for (round, keys) in &held.rounds {
            if self.is_wanted(round, keys) {
                // What fails is told where it is needed.
                let _ = self.round(round, keys);
            }
        }
        for round in held.removed {
            if check_name(&round).is_ok() {
                lock(&self.rounds).remove(&round);
                self.keys.forget(&round)?;
            }
        }
        Ok(())
    }
}
