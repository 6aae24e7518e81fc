//! Orders of the database's operator.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tacita_core::{Error, Result};
use tacita_node::identity::Identity;

use crate::reach::Reach;
use crate::setting::Setting;
use crate::transport::{Ask, Persistence, Replicas};
use crate::wire::reply::Kind;
use crate::wire::rounds::{State, Status, check_name};

/// Bytes of an answer.
const MOST_BYTES: usize = 1 << 24;

/// Time for which the database may not answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Order of the operator.
#[derive(Debug, Clone)]
pub enum Order {
    /// Open the round.
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
    /// Reveal the round.
    Reveal,
    /// Remove the round.
    Remove,
}

/// Client of the database's operator.
pub struct Operator {
    databases: Replicas,
    /// Whether a round waits for the operator when its rows are counted.
    decides: bool,
    /// Access that the clients run on.
    _reach: Reach,
}

impl Operator {
    /// Creates the client of an operator that has the database's identity.
    pub fn new(setting: &Setting, identity: &Identity, announced: Option<&Path>) -> Result<Operator> {
        setting.place_of("database", identity)?;
        let reach = Reach::of_operator(setting, identity, announced)?;
        let decides = setting.own()?.own.round.tighten;
        Ok(Operator { databases: reach.databases()?, decides, _reach: reach })
    }

    /// Returns the status of a round.
    pub fn status(&self, round: &str) -> Result<Status> {
        let told = self.order(round, &Order::Status)?;
        serde_json::from_value(told).map_err(|_| unreadable("the database"))
    }

    /// Returns the status of all rounds, in the order of their names.
    pub fn list(&self) -> Result<Vec<Status>> {
        serde_json::from_value(self.ask(&Ask::get("/v1/rounds", MOST_BYTES))?).map_err(|_| unreadable("the database"))
    }

    /// Returns the status of a round once nothing changes any more without the operator.
    ///
    /// Errors: [`Error::NotReady`] before that; the failure of a round that has failed.
    pub fn outcome(&self, round: &str) -> Result<Status> {
        let status = self.status(round)?;
        match (status.state, &status.failure) {
            (State::Failed, Some(failure)) => Err(failure.error(round, "the database")),
            (state, _) if state.is_over() || (state == State::Counted && self.decides) => Ok(status),
            _ => Err(Error::NotReady(status.waiting())),
        }
    }

    /// Tells it, or another one of several.
    ///
    /// Errors: [`Error::Input`] if it cannot be done, [`Error::NotReady`] if it cannot be done yet; [`Error::Terms`]; those of a connection.
    pub fn order(&self, round: &str, order: &Order) -> Result<Value> {
        check_name(round)?;
        let at = |what: &str| format!("/v1/rounds/{round}{what}");
        let say = |what: &str| Ask::json(at(what), &json!({}), MOST_BYTES);
        let ask = match order {
            Order::Open => say("/open"),
            Order::Close { without } => Ask::json(at("/close"), &json!({ "without": without }), MOST_BYTES),
            Order::Status => Ask::get(at(""), MOST_BYTES),
            Order::Histogram => Ask::get(at("/histogram"), MOST_BYTES),
            Order::Tighten { measure, to } => {
                Ask::json(at("/tighten"), &json!({ "measure": measure, "to": to }), MOST_BYTES)
            }
            Order::Reveal => say("/reveal"),
            Order::Remove => say("/remove"),
        };
        self.ask(&ask)
    }

    fn ask(&self, ask: &Ask) -> Result<Value> {
        let persistence = Persistence { silence: PATIENCE, busy: Duration::ZERO };
        let (answer, by) = self.databases.ask(ask, persistence)?;
        match (answer.is_ok(), answer.again) {
            (true, _) => serde_json::from_slice(&answer.body).map_err(|_| unreadable(by.name())),
            (false, Some(_)) => Err(Error::NotReady(answer.told().message)),
            (false, None) => {
                let told = answer.told();
                Err(match told.error {
                    Kind::Closed => Error::NotReady(told.message),
                    _ => Error::Input(format!("{}: {}", by.name(), told.message)),
                })
            }
        }
    }
}

fn unreadable(database: &str) -> Error {
    Error::Protocol { peer: database.to_owned(), check: "its answer cannot be read".into() }
}
