//! Orders of the database's operator.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tacita_core::{Error, Result};
use tacita_node::identity::Identity;

use crate::connect::ServiceClients;
use crate::setting::ServiceConfig;
use crate::transport::{ApiRequest, Persistence, Replicas};
use crate::wire::reply::RefusalReason;
use crate::wire::rounds::{RoundState, RoundStatus, check_name};

/// Bytes of an answer.
const MAX_BYTES: usize = 1 << 24;

/// Time for which the database may not answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Order of the operator.
#[derive(Debug, Clone)]
pub enum RoundOrder {
    /// Open the round to reports.
    Open,
    /// Close it, and go on without what some proxies have not sent.
    Close {
        /// Their places, from 0 on.
        without: Vec<usize>,
    },
    /// Tell how it stands.
    Status,
    /// Tell how many rows have how many reports.
    Histogram,
    /// Raise a threshold: to a number, or into the widest gap.
    Tighten {
        /// Measure whose threshold is raised.
        measure: String,
        /// New number for the threshold.
        to: Option<i64>,
    },
    /// Reveal the keys that pass.
    Reveal,
    /// Remove the round from storage.
    Remove,
}

/// Client of the database's operator.
pub struct Operator {
    databases: Replicas,
    /// Whether a round waits for the operator when its rows are counted.
    decides: bool,
    /// Access that the clients run on.
    _reach: ServiceClients,
}

impl Operator {
    /// Creates the client of an operator that has the database's identity.
    pub fn new(setting: &ServiceConfig, identity: &Identity, announced: Option<&Path>) -> Result<Operator> {
        setting.place_of("database", identity)?;
        let reach = ServiceClients::of_operator(setting, identity, announced)?;
        let decides = setting.own()?.own.round.tighten;
        Ok(Operator { databases: reach.databases()?, decides, _reach: reach })
    }

    /// Returns the status of a round.
    pub fn status(&self, round: &str) -> Result<RoundStatus> {
        let told = self.order(round, &RoundOrder::Status)?;
        serde_json::from_value(told).map_err(|_| unreadable("the database"))
    }

    /// Returns the status of all rounds, in the order of their names.
    pub fn list(&self) -> Result<Vec<RoundStatus>> {
        serde_json::from_value(self.ask(&ApiRequest::get("/v1/rounds", MAX_BYTES))?)
            .map_err(|_| unreadable("the database"))
    }

    /// Returns the status of a round once nothing changes any more without the operator.
    ///
    /// Errors: [`Error::NotReady`] before that; the failure of a round that has failed.
    pub fn outcome(&self, round: &str) -> Result<RoundStatus> {
        let status = self.status(round)?;
        match (status.state, &status.failure) {
            (RoundState::Failed, Some(failure)) => Err(failure.error(round, "the database")),
            (state, _) if state.is_over() || (state == RoundState::Counted && self.decides) => Ok(status),
            _ => Err(Error::NotReady(status.waiting())),
        }
    }

    /// Tells it, or another one of several.
    ///
    /// Errors: [`Error::Input`] if it cannot be done, [`Error::NotReady`] if it cannot be done yet; [`Error::Terms`];
    /// those of a connection.
    pub fn order(&self, round: &str, order: &RoundOrder) -> Result<Value> {
        check_name(round)?;
        let at = |what: &str| format!("/v1/rounds/{round}{what}");
        let say = |what: &str| ApiRequest::json(at(what), &json!({}), MAX_BYTES);
        let ask = match order {
            RoundOrder::Open => say("/open"),
            RoundOrder::Close { without } => ApiRequest::json(at("/close"), &json!({ "without": without }), MAX_BYTES),
            RoundOrder::Status => ApiRequest::get(at(""), MAX_BYTES),
            RoundOrder::Histogram => ApiRequest::get(at("/histogram"), MAX_BYTES),
            RoundOrder::Tighten { measure, to } => {
                ApiRequest::json(at("/tighten"), &json!({ "measure": measure, "to": to }), MAX_BYTES)
            }
            RoundOrder::Reveal => say("/reveal"),
            RoundOrder::Remove => say("/remove"),
        };
        self.ask(&ask)
    }

    fn ask(&self, ask: &ApiRequest) -> Result<Value> {
        let persistence = Persistence { silence: TIMEOUT, busy: Duration::ZERO };
        let (answer, by) = self.databases.ask(ask, persistence)?;
        match (answer.is_ok(), answer.again) {
            (true, _) => serde_json::from_slice(&answer.body).map_err(|_| unreadable(by.name())),
            (false, Some(_)) => Err(Error::NotReady(answer.told().message)),
            (false, None) => {
                let told = answer.told();
                Err(match told.error {
                    RefusalReason::Closed => Error::NotReady(told.message),
                    _ => Error::Input(format!("{}: {}", by.name(), told.message)),
                })
            }
        }
    }
}

fn unreadable(database: &str) -> Error {
    Error::Protocol { peer: database.to_owned(), check: "its answer cannot be read".into() }
}
