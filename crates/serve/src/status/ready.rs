//! Whether a service can do its work: checks that are made again and again, so that whoever asks is answered at once,
//! also while a check finds nobody who answers.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::clock;
use crate::sync::lock;

/// Time limit after which a check counts as failed.
const LIMIT: Duration = Duration::from_secs(10);

/// Something that has to be so for a service to do its work.
pub struct Check<'a> {
    /// Word for the check.
    name: &'static str,
    /// Looks; what is wrong is said in a line.
    look: Box<dyn Fn() -> Result<(), String> + Send + Sync + 'a>,
}

impl<'a> Check<'a> {
    /// A check by this name.
    pub fn new(name: &'static str, look: impl Fn() -> Result<(), String> + Send + Sync + 'a) -> Check<'a> {
        Check { name, look: Box::new(look) }
    }
}

/// Latest findings of the checks.
#[derive(Default)]
pub struct Readiness {
    found: Mutex<BTreeMap<&'static str, Found>>,
    /// The check that is being made.
    going_on: Mutex<Option<(&'static str, Instant)>>,
}

#[derive(Clone)]
struct Found {
    fault: Option<String>,
    /// Time since which the check has been good, or bad, in seconds since 1970.
    since: u64,
}

impl Readiness {
    /// Makes the checks, one after the other.
    pub fn look(&self, checks: &[Check<'_>]) {
        for check in checks {
            *lock(&self.going_on) = Some((check.name, Instant::now()));
            let fault = (check.look)().err();
            *lock(&self.going_on) = None;
            let mut found = lock(&self.found);
            let before = found.get(check.name).cloned();
            let since = match &before {
                Some(before) if before.fault.is_some() == fault.is_some() => before.since,
                _ => clock::now(),
            };
            match (&fault, before.is_none_or(|before| before.fault.is_none())) {
                (Some(fault), true) => tracing::warn!("not ready: {}: {fault}", check.name),
                (None, false) => tracing::info!("ready again: {}", check.name),
                _ => (),
            }
            found.insert(check.name, Found { fault, since });
        }
    }

    /// Whether all is well, and what each check has found, since when.
    pub fn report(&self) -> (bool, Value) {
        let all = self.all();
        let ready = !all.is_empty() && all.values().all(|found| found.fault.is_none());
        let checks: serde_json::Map<_, _> = all
            .into_iter()
            .map(|(name, Found { fault, since })| {
                let mut one = json!({ "ok": fault.is_none(), "since": clock::written(since) });
                if let Some(fault) = fault {
                    one["why"] = fault.into();
                }
                (name.to_owned(), one)
            })
            .collect();
        (ready, json!({ "ready": ready, "checks": checks }))
    }

    /// Each check, and whether it is well.
    pub fn by_check(&self) -> Vec<(&'static str, bool)> {
        self.all().into_iter().map(|(name, found)| (name, found.fault.is_none())).collect()
    }

    fn all(&self) -> BTreeMap<&'static str, Found> {
        let going_on = *lock(&self.going_on);
        let mut all = lock(&self.found).clone();
        if let Some((name, began)) = going_on.filter(|(_, began)| began.elapsed() > LIMIT) {
            let before = all.get(name).filter(|found| found.fault.is_some()).map(|found| found.since);
            let since = before.unwrap_or_else(|| clock::now().saturating_sub(began.elapsed().as_secs()));
            all.insert(name, Found { fault: Some(format!("no answer for {} s", began.elapsed().as_secs())), since });
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use super::*;

    #[test]
    fn what_fails_is_named_with_the_time_since_when_it_does() {
        let (readiness, broken) = (Readiness::default(), AtomicBool::new(true));
        assert!(!readiness.report().0, "nothing was looked at yet");
        let look = || if broken.load(Ordering::Relaxed) { Err("it is full".to_owned()) } else { Ok(()) };
        let checks = [Check::new("disk", look), Check::new("storage", || Ok(()))];
        readiness.look(&checks);
        let (ready, told) = readiness.report();
        assert!(!ready && told["ready"] == false && told["checks"]["storage"]["ok"] == true, "{told}");
        assert_eq!(
            (&told["checks"]["disk"]["ok"], &told["checks"]["disk"]["why"]),
            (&json!(false), &json!("it is full"))
        );
        // It has failed since then, however often it is looked at.
        lock(&readiness.found).get_mut("disk").unwrap().since = 0;
        readiness.look(&checks);
        assert_eq!(readiness.report().1["checks"]["disk"]["since"], "1970-01-01T00:00:00Z");
        broken.store(false, Ordering::Relaxed);
        readiness.look(&checks);
        let (ready, told) = readiness.report();
        assert!(ready && told["checks"]["disk"]["since"] != "1970-01-01T00:00:00Z", "{told}");
        assert_eq!(readiness.by_check(), [("disk", true), ("storage", true)]);
        // One that hangs is known by how long it does.
        *lock(&readiness.going_on) = Some(("storage", Instant::now().checked_sub(2 * LIMIT).unwrap()));
        let (ready, told) = readiness.report();
        assert!(!ready && told["checks"]["storage"]["why"] == "no answer for 20 s", "{told}");
    }
}
