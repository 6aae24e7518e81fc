//! Errors as the package's exceptions: `tacita.Error` and what derives from it.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tacita_core::{Error, ErrorKind, RowLimit};
use tacita_node::base::exit::{exit_code, one_line};
use tacita_node::simulate;

use crate::words::as_arguments;

/// Cause of a failure, and in a simulation the party at which it began.
pub struct Failure {
    kind: ErrorKind,
    message: String,
    peer: Option<String>,
    party: Option<String>,
    /// A peer has ended it for a reason of its own that does not pass.
    ended_there: bool,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let ended_there = match &error {
            Error::Peer { kind, .. } | Error::Reported { kind, .. } => *kind != ErrorKind::Network,
            _ => false,
        };
        let peer = error.peer().map(str::to_owned);
        Failure { kind: error.kind(), message: as_arguments(&one_line(&error)), peer, party: None, ended_there }
    }
}

/// Converts the failure of a process that has ended with its exit code.
impl From<simulate::SimulationFailure> for Failure {
    fn from(simulate::SimulationFailure { party, text, code }: simulate::SimulationFailure) -> Failure {
        let kinds = (0..=u8::MAX).filter_map(ErrorKind::from_code);
        let kind = kinds.into_iter().find(|kind| exit_code(*kind) == code).unwrap_or(ErrorKind::Internal);
        Failure { kind, message: as_arguments(&text), peer: None, party: None, ended_there: false }.at(&party)
    }
}

impl Failure {
    /// The same, which began at a party. What is wrong with its table in memory names it already.
    pub fn at(self, party: &str) -> Failure {
        let named = self.message.strip_prefix(party).is_some_and(|rest| rest.starts_with([':', ',']));
        let message = if named { self.message } else { format!("{party}: {}", self.message) };
        Failure { message, party: Some(party.to_owned()), ..self }
    }

    /// Returns a rank of how likely it is to be the consequence of another party's failure; the least is the cause.
    pub fn consequence(&self) -> u8 {
        simulate::consequence(exit_code(self.kind))
    }

    /// Returns the exception that Python raises.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        if self.kind == ErrorKind::Interrupted {
            return PyKeyboardInterrupt::new_err(self.message);
        }
        let made = py.import("tacita.errors").and_then(|errors| {
            let fields = (self.kind.name(), exit_code(self.kind), self.message, self.peer, self.party);
            let made = errors.getattr("_made")?.call1(fields)?;
            made.setattr("_ended_there", self.ended_there)?;
            Ok(made)
        });
        made.map_or_else(|error| error, PyErr::from_value)
    }
}

/// The exception for an error.
pub fn raise(py: Python<'_>, error: Error) -> PyErr {
    Failure::from(error).raise(py)
}

/// An error of a kind, perhaps about this peer, for those who are told the kind alone.
pub fn of_kind(kind: ErrorKind, peer: String) -> Error {
    let what = || "this party has stopped".to_owned();
    match kind {
        ErrorKind::Input => Error::Input(what()),
        ErrorKind::MinRows => Error::Rows { limit: RowLimit::MinRows, text: what() },
        ErrorKind::MaxNull => Error::Rows { limit: RowLimit::MaxNull, text: what() },
        ErrorKind::MaxUnreadable => Error::Rows { limit: RowLimit::MaxUnreadable, text: what() },
        ErrorKind::Policy => Error::Policy(what()),
        ErrorKind::Terms => Error::Terms(what()),
        ErrorKind::NotReady => Error::NotReady(what()),
        ErrorKind::Interrupted => Error::Interrupted,
        ErrorKind::Network => Error::Network { peer, what: what() },
        ErrorKind::Protocol => Error::Protocol { peer, check: what() },
        ErrorKind::OneOf => Error::OneOf { peers: vec![peer], check: what() },
        ErrorKind::Authentication => Error::Authentication { peer, what: what() },
        _ => Error::Internal(what()),
    }
}
