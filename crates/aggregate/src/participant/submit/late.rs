//! Submission to a round that has closed: reports that are there already stay there, and the rest goes to the next
//! round.

use std::time::{Duration, Instant};

use serde_json::Value;
use tacita_core::protocol::aggregate::Entry;
use tacita_core::{Error, Result};
use tacita_node::base::hex::hex;
use tacita_node::base::text::shown;

use super::{MAX_BYTES, Submission};
use crate::participant::batches::Batches;
use crate::transport::{ApiRequest, ApiResponse, Client, Persistence};
use crate::wire::reply::RefusalReason;

/// Interval at which a proxy that closes a round is asked again.
const CLOSING: Duration = Duration::from_millis(100);

impl Submission<'_> {
    /// The round that a batch was taken in before the one that reports go to now: submitted again, it would count in
    /// both. Every proxy is asked that may have it.
    ///
    /// Errors: [`Error::NotReady`] if one of several does not answer; [`Error::Input`] if nobody knows any more what
    /// was taken there.
    pub(super) fn was_taken(&self, place: u64, entries: &[Entry]) -> Result<Option<String>> {
        let told = self.told;
        let persistence = Persistence { silence: told.timeout, busy: told.patience };
        for round in &self.passed {
            let name =
                Batches::new(&told.identity, &told.reporter(), &told.setting.agreement, round).name(place, entries);
            let path = format!("/v1/rounds/{round}/reports/{}", hex(&name));
            if self.is_there(&path, persistence, |proxy, answer| self.unknown(round, proxy, answer))? {
                return Ok(Some(round.clone()));
            }
        }
        Ok(None)
    }

    /// Interprets the failure of a proxy to tell what it has taken in a round to which reports do not go any more.
    fn unknown(&self, round: &str, proxy: &Client, answer: Result<ApiResponse>) -> Result<bool> {
        let name = proxy.name();
        match answer.map(|answer| answer.told()) {
            Ok(why) if matches!(why.error, RefusalReason::Busy | RefusalReason::NotYet | RefusalReason::OtherKeys) => {
                Err(Error::NotReady(format!("{name}: {}: submit again later, with --resume", shown(&why.message))))
            }
            Ok(why) => Err(Error::Input(format!(
                "{name} no longer knows which reports it took in round {round} ({}), and a second copy would count twice: if \
                 none of these was submitted before, use --round {}",
                shown(&why.message),
                self.target.round
            ))),
            Err(Error::Network { what, .. }) if self.proxies.all().len() > 1 => Err(Error::NotReady(format!(
                "{name} may have taken this in round {round}, and does not answer ({what}): submit again later, with --resume"
            ))),
            Err(error) => Err(error),
        }
    }

    /// Whether a batch is there already, as far as those who answer at once know: if it is not, it is given to one of
    /// them.
    pub(super) fn is_known(&self, path: &str) -> Result<bool> {
        let once = Persistence { silence: Duration::ZERO, busy: Duration::ZERO };
        self.is_there(path, once, |_, _| Ok(false))
    }

    /// Whether a batch is at one of the proxies; `unknown` says what it means that one does not tell.
    fn is_there(
        &self,
        path: &str,
        persistence: Persistence,
        unknown: impl Fn(&Client, Result<ApiResponse>) -> Result<bool>,
    ) -> Result<bool> {
        for proxy in self.proxies.all() {
            let until = Instant::now() + persistence.busy;
            let there = loop {
                let told: Value = match proxy.ask(&ApiRequest::get(path, MAX_BYTES), persistence) {
                    Ok(answer) if answer.is_ok() => serde_json::from_slice(&answer.body).unwrap_or_default(),
                    Err(error) if !matches!(error, Error::Network { .. }) => return Err(error),
                    other => break unknown(proxy, other)?,
                };
                let there = told["there"].as_bool() == Some(true);
                // Until the round is closed there, it may be about to be taken.
                let may_come = !there && told["open"].as_bool() != Some(false) && !persistence.busy.is_zero();
                if may_come && Instant::now() < until {
                    proxy.rest(CLOSING)?
                } else if may_come {
                    let what = "has not closed the round that this may be in: submit again later, with --resume";
                    return Err(Error::NotReady(format!("{} {what}", proxy.name())));
                } else {
                    break there;
                }
            };
            if there {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
