//! Collection of a round's result by a party in `reveal_to`.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tacita_core::{Error, Result};
use tacita_node::base::cancel::Cancel;
use tacita_node::base::text::counted;
use tacita_node::base::usage;
use tacita_node::identity::Identity;
use tacita_node::jobs::aggregate::reports::{ReportsInput, Resolver};
use tacita_node::jobs::aggregate::results::RoundResults;
use tacita_node::jobs::aggregate::{KeyPacking, Moment};
use tacita_serve::clock;

use crate::connect::ServiceClients;
use crate::gather::Gathering;
use crate::hello::meet;
use crate::setting::ServiceConfig;
use crate::transport::{ApiRequest, ApiResponse, Client, Persistence};
use crate::wire::reply::RefusalReason;
use crate::wire::rounds::{ReportCounts, RoundState, RoundStatus, check_name};
use crate::wire::service::Service;

/// Bytes of a part of a result.
const MAX_PART_BYTES: usize = 256 << 20;

/// Bytes of other answers.
const MAX_BYTES: usize = 1 << 24;

/// Settings of a collection: the collector and the round.
pub struct Collecting {
    /// Setting of the job.
    pub setting: Arc<ServiceConfig>,
    /// Name of the collecting party.
    pub me: String,
    /// Identity of the collecting party.
    pub identity: Identity,
    /// Name of the round.
    pub round: String,
    /// Reports of the collecting party, among which hashed keys are looked for.
    pub input: Option<ReportsInput>,
    /// Time for which there may be no answer from any service.
    pub timeout: Duration,
    /// A directory in which the services say where they listen.
    pub announce: Option<PathBuf>,
    /// Handle that cancels the collection.
    pub cancel: Cancel,
}

/// Collects; the result, and the report of what was done.
///
/// Errors: [`Error::NotReady`] while there is no result; the one with which the round failed, if it did.
pub fn collect(told: &Collecting) -> Result<(RoundResults, Value)> {
    let began = Instant::now();
    check_name(&told.round)?;
    let own = told.setting.own()?;
    let reach = ServiceClients::new(&told.setting, &told.identity, told.announce.as_deref(), &told.cancel)?;
    let databases = reach.databases()?;
    let persistence = Persistence { silence: told.timeout, busy: told.timeout };
    let ask = |path: &str, most: usize| -> Result<(ApiResponse, &Client)> {
        let ask = ApiRequest::get(format!("/v1/rounds/{}{path}", told.round), most);
        // A result that is not there is not waited for.
        let once = Persistence { busy: Duration::ZERO, ..persistence };
        let (answer, by) = databases.ask(&ask, if path.is_empty() { once } else { persistence })?;
        if answer.is_ok() {
            return Ok((answer, by));
        }
        let refused = answer.told();
        Err(match refused.error {
            RefusalReason::NotYet | RefusalReason::Busy => Error::NotReady(refused.message),
            _ => Error::Input(format!("{}: round {}: {}", by.name(), told.round, refused.message)),
        })
    };
    let (_, by) = databases.ask(&ApiRequest::get("/v1/here", MAX_BYTES), persistence)?;
    let here = meet(by, &told.setting, persistence)?;
    // Who runs the database has its identity, and is no participant.
    if here.participant.is_some() {
        here.check_name(&told.me, by.name())?;
    }
    let (answer, by) = ask("", MAX_BYTES)?;
    let status: RoundStatus = read(&answer, by)?;
    let parts = match status.state {
        RoundState::Revealed => status.parts.ok_or_else(|| {
            Error::Input(format!(
                "round {} is revealed, but not to {}: reveal_to does not name this party",
                told.round, told.me
            ))
        })?,
        RoundState::Failed => {
            return Err(match &status.failure {
                Some(failure) => failure.error(&told.round, by.name()),
                None => Error::Input(format!("round {} has no result", told.round)),
            });
        }
        RoundState::Removed => return Err(Error::Input(format!("round {} was removed", told.round))),
        _ => return Err(Error::NotReady(status.waiting())),
    };
    let mut gathering = Gathering::new(own);
    for part in 0..parts {
        let path = format!("/results/{part}");
        let path = status.keys.map_or(path.clone(), |keys| keys.on(&path));
        let (answer, by) = ask(&path, MAX_PART_BYTES)?;
        let added = gathering.add(&answer.body);
        added.map_err(|refused| refused.error(&told.round, |check| wrong(by, check)))?;
    }
    let rows = gathering.rows();
    let histogram = if own.revealed().histogram {
        let (answer, by) = ask("/histogram", MAX_BYTES)?;
        let counts: ReportCounts = read(&answer, by)?;
        if own.noise.is_some() && counts.noisy.is_empty() {
            return Err(wrong(by, "its histogram has no noise"));
        }
        Some(counts.histogram(own.noise.is_some()))
    } else {
        None
    };
    let resolver = match (&told.input, KeyPacking::of(&own).is_hashed()) {
        (Some(input), true) => {
            let hashes: HashSet<Vec<u8>> = rows.iter().map(|row| row.key.clone()).collect();
            Some(Resolver::read(&own, &told.me, input, &hashes)?)
        }
        (Some(_), false) => {
            return Err(Error::Input(
                "--input is for jobs with round.keys = \"hashed\": keys stand in this result as they are".into(),
            ));
        }
        (None, _) => None,
    };
    let closed: Moment = clock::written(status.closed.unwrap_or_default()).parse()?;
    let results = RoundResults::new(&own, &told.round, closed, rows, histogram, resolver.as_ref());
    for place in &status.without {
        let proxy = told.setting.name(Service::Proxy(*place))?;
        tracing::warn!(
            "round {} was counted without the unsent reports of {proxy}: the round's operator gave them up",
            told.round
        );
    }
    // The operator's, who is told numbers.
    if let Some(numbers) = status.numbers.as_ref().filter(|numbers| numbers.inconsistent > 0) {
        tracing::warn!(
            "round {}: {} of rows that passed were inconsistent, and count for nothing: a participant can make such reports",
            told.round,
            counted(numbers.inconsistent, "report")
        );
    }
    if results.unreadable() > 0 {
        tracing::warn!(
            "{} keys of the result cannot be read, and are left out: a participant reports malformed keys",
            results.unreadable()
        );
    }
    let mut report = json!({
        "job": "aggregate",
        "id": told.setting.spec.id,
        "party": told.me,
        "version": env!("CARGO_PKG_VERSION"),
        "round": told.round,
        "result": results.json(),
        "reveal_when": status.reveal_when,
        "keys": status.keys,
        "inconsistent": status.numbers.map(|numbers| numbers.inconsistent),
        "without_proxies": status.without.iter().map(|place| place + 1).collect::<Vec<_>>(),
        "learned": own.spec.job.learned(own.spec, &told.me, Default::default()),
        "bytes": { "sent": reach.traffic.sent(), "received": reach.traffic.received() },
        "tls": reach.traffic.tls(),
        "seconds": { "total": usage::round(began.elapsed()) },
        "cpu_seconds": usage::round(usage::cpu_time()),
        "peak_memory": usage::peak_memory(),
    });
    if let Some(noise) = own.noise_report()? {
        report["noise"] = noise;
    }
    Ok((results, report))
}

fn read<T: serde::de::DeserializeOwned>(answer: &ApiResponse, database: &Client) -> Result<T> {
    serde_json::from_slice(&answer.body).map_err(|_| wrong(database, "its answer cannot be read"))
}

fn wrong(database: &Client, check: &str) -> Error {
    Error::Protocol { peer: database.name().to_owned(), check: check.to_owned() }
}
