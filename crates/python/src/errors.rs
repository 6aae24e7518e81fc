//! Errors as the package's exceptions: `tacita.Error` and what derives from it.

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use tacita_core::{Error, ErrorKind};
use tacita_node::base::exit::{exit_code, one_line};
use tacita_node::simulate;

/// Why something failed, and in a simulation at which party it began.
pub struct Failure {
    kind: ErrorKind,
    message: String,
    peer: Option<String>,
    party: Option<String>,
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        Failure { kind: error.kind(), message: one_line(&error), peer: error.peer().map(str::to_owned), party: None }
    }
}

/// Of a process that has ended with its exit code.
impl From<simulate::Failure> for Failure {
    fn from(simulate::Failure { party, text, code }: simulate::Failure) -> Failure {
        let kinds = (0..=u8::MAX).filter_map(ErrorKind::from_code);
        let kind = kinds.into_iter().find(|kind| exit_code(*kind) == code).unwrap_or(ErrorKind::Internal);
        Failure { kind, message: text, peer: None, party: None }.at(&party)
    }
}

impl Failure {
    /// The same, which began at a party. What is wrong with its table in memory names it already.
    pub fn at(self, party: &str) -> Failure {
        let named = self.message.strip_prefix(party).is_some_and(|rest| rest.starts_with([':', ',']));
        let message = if named { self.message } else { format!("{party}: {}", self.message) };
        Failure { message, party: Some(party.to_owned()), ..self }
    }

    /// How likely it is to be the consequence of another party's failure; the least is the cause.
    pub fn consequence(&self) -> u8 {
        simulate::consequence(exit_code(self.kind))
    }

    /// The exception.
    pub fn raise(self, py: Python<'_>) -> PyErr {
        if self.kind == ErrorKind::Interrupted {
            return PyKeyboardInterrupt::new_err(self.message);
        }
        let made = py.import("tacita.errors").and_then(|errors| {
            let fields = (word(self.kind), exit_code(self.kind), self.message, self.peer, self.party);
            errors.getattr("_made")?.call1(fields)
        });
        made.map_or_else(|error| error, PyErr::from_value)
    }
}

/// The exception for an error.
pub fn raise(py: Python<'_>, error: Error) -> PyErr {
    Failure::from(error).raise(py)
}

fn word(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::Input => "input",
        ErrorKind::Terms => "terms",
        ErrorKind::Network => "network",
        ErrorKind::Protocol => "protocol",
        ErrorKind::Authentication => "authentication",
        ErrorKind::NotReady => "not-ready",
        ErrorKind::Interrupted => "interrupted",
        ErrorKind::Internal => "internal",
    }
}
