//! What the database's operator tells it.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use tacita_core::{Error, Result};
use tacita_node::identity::Identity;

use super::Reach;
use crate::aggregate::Setting;
use crate::aggregate::rounds::check_name;
use crate::aggregate::transport::{Ask, Kind, Persistence, Replicas};

/// Bytes of an answer.
const MOST_BYTES: usize = 1 << 24;

/// How long the database may not answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is wanted.
#[derive(Debug, Clone)]
pub enum Order {
    /// Open it.
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
        /// Of what.
        measure: String,
        /// To which number.
        to: Option<i64>,
    },
    /// Reveal.
    Reveal,
    /// Remove it.
    Remove,
}

/// The database's operator.
pub struct Operator {
    databases: Replicas,
    /// What the clients run on.
    _reach: Reach,
}

impl Operator {
    /// Who has the database's identity.
    pub fn new(setting: &Setting, identity: &Identity, announced: Option<&Path>) -> Result<Operator> {
        setting.place_of("database", identity)?;
        let reach = Reach::of_operator(setting, identity, announced)?;
        Ok(Operator { databases: reach.databases()?, _reach: reach })
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
        let persistence = Persistence { silence: PATIENCE, busy: Duration::ZERO };
        let (answer, by) = self.databases.ask(&ask, persistence)?;
        let wrong = || Error::Protocol { peer: by.name().to_owned(), check: "its answer is no JSON".into() };
        match (answer.is_ok(), answer.again) {
            (true, _) => serde_json::from_slice(&answer.body).map_err(|_| wrong()),
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
