//! Helpers for tests of more than one module.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rustix::process::{Signal, getpid, kill_process};
use serde_json::json;
use tacita_core::{Error, Result};
use tacita_node::agreement::JobSpec;
use tacita_node::identity::{Identity, VALIDITY};

use crate::setting::ServiceConfig;

/// The step at which a process ends itself: `NAME#NUMBER`, with the number counted from 1 among those of the name, or
/// `#NUMBER` among all.
pub(super) const KILL_AT: &str = "TACITA_TEST_KILL_AT";

static STEPS: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Steps until the disk is full, for this thread.
    pub(super) static FULL_AFTER: Cell<Option<u64>> = const { Cell::new(None) };
}

/// Action that is performed at a step.
type Meanwhile = Box<dyn Fn(&str)>;

thread_local! {
    /// Action that is performed at each step of this thread.
    pub(super) static MEANWHILE: Cell<Option<Meanwhile>> = const { Cell::new(None) };
}

/// See the function of that name for other builds.
pub(super) fn step(name: &str) -> Result<()> {
    if let Some(meanwhile) = MEANWHILE.take() {
        meanwhile(name);
        MEANWHILE.set(Some(meanwhile));
    }
    if let Ok(at) = std::env::var(KILL_AT)
        && let Some((wanted, number)) = at.split_once('#')
    {
        println!("step {name}");
        let counts = wanted.is_empty() || wanted == name;
        if counts && number == (STEPS.fetch_add(1, Ordering::Relaxed) + 1).to_string() {
            println!("killed at {name}");
            let _ = kill_process(getpid(), Signal::KILL);
        }
    }
    match FULL_AFTER.get() {
        Some(0) => Err(Error::Input(format!("at {name}, the disk is full"))),
        left => {
            FULL_AFTER.set(left.map(|left| left - 1));
            Ok(())
        }
    }
}

/// See the function of that name for other builds. What changes nothing where it comes is no step.
pub(super) fn message(when: &str, method: &str, path: &str) {
    let what = path.split(['/', '?']).nth(4).unwrap_or("round");
    if method != "GET" && std::env::var_os(KILL_AT).is_some() {
        let _ = step(&format!("{when} {what}"));
    }
}

/// A job with one service of each kind, and their identities: the proxy's, the oracle's, the database's.
pub(super) fn setting() -> (ServiceConfig, [Identity; 3]) {
    let now = SystemTime::now();
    let services = ["proxy", "oracle", "database"].map(|name| Identity::generate(name, now, now + VALIDITY).unwrap());
    let mut job = json!({
        "job": "aggregate", "protocol": "dh", "id": "t", "reveal_to": "participants", "key": { "columns": ["item"] },
        "round": { "reveal_when": "distinct >= 2", "key_bytes": 16 }, "participants": { "allow": "participants" },
    });
    for service in &services {
        job[service.name()] = json!([{ "identity": service.fingerprint().to_string() }]);
    }
    (ServiceConfig::new(JobSpec::parse(&job.to_string(), true).unwrap()).unwrap(), services)
}

/// Opens what another one of this process has had open. A process that a test has just started holds the locks of this
/// one until it is another program: they are waited for.
pub(super) fn patient<T>(open: impl Fn() -> Result<T>) -> Result<T> {
    let begun = Instant::now();
    loop {
        match open() {
            Err(error)
                if error.to_string().contains("another process has") && begun.elapsed() < Duration::from_secs(20) =>
            {
                std::thread::sleep(Duration::from_millis(5));
            }
            opened => return opened,
        }
    }
}
