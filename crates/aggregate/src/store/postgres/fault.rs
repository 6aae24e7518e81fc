//! Faults of a server, and whether it helps to try again.

use std::error::Error as _;
use std::io;

use tacita_node::base::text::shown_within;
use tokio_postgres::error::SqlState;

/// A text of a server is not longer than this in ours.
const MAX_TEXT: usize = 200;

/// Reason why an operation was not done.
#[derive(Debug)]
pub(super) enum Fault {
    /// The server does not answer, or ends: it may come back.
    Away(String),
    /// Another one was in the way: trying again helps.
    Again(String),
    /// Trying again leads to the same.
    Lasting(String),
}

impl Fault {
    /// Creates the fault of a server that does not hold what it was given.
    pub(super) fn damaged(what: &str) -> Fault {
        Fault::Lasting(format!("damaged ({what}): put back the database from a backup, or begin with another schema"))
    }

    /// Returns the description of the fault.
    pub(super) fn text(&self) -> &str {
        match self {
            Fault::Away(what) | Fault::Again(what) | Fault::Lasting(what) => what,
        }
    }
}

impl From<tokio_postgres::Error> for Fault {
    fn from(error: tokio_postgres::Error) -> Fault {
        if let Some(told) = error.as_db_error() {
            // Not its detail, which may hold what is in a row.
            return of_state(told.code(), &shown_within(told.message(), MAX_TEXT));
        }
        let cause = error.source().map(|cause| format!(": {}", shown_within(&cause.to_string(), MAX_TEXT)));
        let text = format!("{error}{}", cause.unwrap_or_default());
        let io = error.source().and_then(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
        match io {
            // A certificate that does not do, or what is no PostgreSQL.
            Some(io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput) => Fault::Lasting(text),
            Some(_) => Fault::Away(text),
            None if error.is_closed() => Fault::Away(text),
            None => Fault::Lasting(text),
        }
    }
}

fn of_state(state: &SqlState, message: &str) -> Fault {
    let told = format!("{message} ({})", state.code());
    match state.code() {
        // Connections that break, a server that ends, begins, or has no place for another connection.
        "57P01" | "57P02" | "57P03" | "57P05" | "53300" => Fault::Away(told),
        code if code.starts_with("08") => Fault::Away(told),
        // A transaction that could not be told apart in order, a deadlock, a lock; a round that another made or removed
        // meanwhile.
        "40001" | "40P01" | "55P03" | "23503" | "23505" | "42P01" | "42P07" => Fault::Again(told),
        "53100" => {
            Fault::Lasting(format!("its disk is full: make room; nothing was taken, and nothing is lost ({told})"))
        }
        "57014" => Fault::Lasting(format!("it took too long: {told}")),
        "28P01" | "28000" => Fault::Lasting(format!("it does not let this user in: {told}")),
        "42501" => Fault::Lasting(format!(
            "the user lacks a right: it needs CREATE on the database, or has to own the schema: {told}"
        )),
        "25006" => Fault::Lasting(format!("it takes no changes, as a standby: name the primary: {told}")),
        _ => Fault::Lasting(told),
    }
}
