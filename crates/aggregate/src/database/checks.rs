//! Conditions that have to hold for a database to do its work.

use std::time::Duration;

use tacita_serve::status::Check;

use super::{Database, lock};
use crate::metrics::{SILENCE, heard};
use crate::transport::ApiRequest;
use crate::wire::rounds::RoundState;
use crate::wire::service::Service;

/// Interval at which an oracle is asked whether it is there: nobody asks it for anything before a reveal.
const MEET: Duration = Duration::from_secs(SILENCE.as_secs() / 3);

/// Bytes of what a service says of itself.
const MAX_BYTES: usize = 1 << 14;

impl Database {
    pub(super) fn look_after(&self) -> Vec<Check<'_>> {
        vec![
            Check::new("storage", || self.storage.rounds().map(drop).map_err(|error| error.to_string())),
            Check::new("secrets", || {
                // One that cannot be seen at the moment is seen the next time.
                let kept = |state: &Option<RoundState>| state.is_some_and(|state| state != RoundState::Removed);
                let rounds = self.all();
                let mut used = rounds.iter().filter(|round| kept(&round.state()));
                match used.find(|round| !self.keys.has(&round.name)) {
                    None => Ok(()),
                    Some(round) => {
                        Err(format!("the key of round {} is gone: put it back with `tacita key restore`", round.name))
                    }
                }
            }),
            Check::new("proxies", || {
                let proxies = self.setting.count("proxy").unwrap_or_default();
                (0..proxies).try_for_each(|place| {
                    let silent = lock(&self.heard).get(&place).map(|last| last.elapsed());
                    heard(&self.setting.name(Service::Proxy(place)).unwrap_or_default(), silent)
                })
            }),
            Check::new("oracles", || {
                self.oracles.iter().try_for_each(|oracle| {
                    if oracle.contact().silent().is_none_or(|silent| silent > MEET) {
                        // Who does not answer has been silent since.
                        let _ = oracle.once(&ApiRequest::get("/v1/here", MAX_BYTES));
                    }
                    heard(oracle.name(), oracle.contact().silent())
                })
            }),
        ]
    }
}
