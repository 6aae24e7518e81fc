//! Requests of the proxy to the database and to other proxies, and its handling of invalid answers.

use std::time::Duration;

use tacita_core::Error;

use crate::transport::{ApiResponse, Client, Persistence};
use crate::wire::reply::RefusalReason;

/// Interval at which the database is asked for the status of its rounds. Tests play rounds by the hundred.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(if cfg!(test) { 20 } else { 250 });

/// After how long of silence it is said who is silent, and how often again.
pub(super) const LOG_INTERVAL: Duration = Duration::from_secs(10);

/// Bytes of an answer.
pub(super) const MAX_BYTES: usize = 1 << 16;

/// A service that does not answer, or has too much to do, is asked again when the round is looked at again.
pub(super) const ONCE: Persistence = Persistence { silence: Duration::ZERO, busy: Duration::ZERO };

/// Time for which a worker tries one thing, and reports for what it waits, before other rounds have their turn. Work
/// that is due is looked at again in a moment.
pub(super) const TURN: Persistence = Persistence { silence: Duration::from_secs(10), busy: Duration::from_secs(10) };

/// An error about a database that breaks the rules.
pub(super) fn wrong(database: &Client, check: &str) -> Error {
    Error::Protocol { peer: database.name().to_owned(), check: check.to_owned() }
}

/// Returns the reason why the database does not accept data of a round: it may be over, or fail for a while.
pub(super) fn refusal(answer: &ApiResponse, database: &Client, what: &str) -> Error {
    let told = answer.told();
    let check = format!("it does not take {what}: {}", told.message);
    match told.error {
        RefusalReason::Closed | RefusalReason::OtherKeys | RefusalReason::Stale | RefusalReason::Failed => {
            Error::NotReady(check)
        }
        _ if answer.come_again() => Error::NotReady(check),
        _ => wrong(database, &check),
    }
}
