//! Log messages of a listener about those whom it refuses, who may be many: the log does not grow with them.

use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tacita_node::base::text::counted;

/// Refusals that are told of one by one within [`WINDOW`]; the rest is counted.
const EACH: u64 = 5;
const WINDOW: Duration = Duration::from_secs(10);

/// Beginning of a window, and the number of refusals in it.
pub(crate) struct Refusals(Mutex<(Instant, u64)>);

impl Default for Refusals {
    fn default() -> Refusals {
        Refusals(Mutex::new((Instant::now(), 0)))
    }
}

impl Refusals {
    /// Says that somebody from an address was refused, if not too many were.
    pub(crate) fn somebody(&self, from: SocketAddr, what: &str) {
        self.tell(format!("refused a connection from {from}: {what}"));
    }

    /// Says that something was refused, if not too much was.
    pub(crate) fn tell(&self, what: String) {
        self.tell_rest();
        let mut told = self.lock();
        told.1 += 1;
        if told.1 <= EACH {
            tracing::info!("{what}");
        }
    }

    /// Says how many more were refused, when it is time.
    pub(crate) fn tell_rest(&self) {
        let mut told = self.lock();
        if told.0.elapsed() < WINDOW {
            return;
        }
        if told.1 > EACH {
            tracing::info!("refused {}, too", counted(told.1 - EACH, "other"));
        }
        *told = (Instant::now(), 0);
    }

    fn lock(&self) -> MutexGuard<'_, (Instant, u64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
