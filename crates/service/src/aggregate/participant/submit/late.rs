//! What is submitted to a round that has closed: what is there already stays there, and the rest goes to the next one.

use serde_json::Value;
use tacita_core::protocol::aggregate::Entry;
use tacita_core::{Error, Result};
use tacita_node::base::hex::hex;
use tacita_node::base::text::shown;

use super::{MOST_BYTES, Submission};
use crate::aggregate::participant::batches::Batches;
use crate::aggregate::transport::{Ask, Kind, Persistence};

impl Submission<'_> {
    /// Whether a batch was taken in the round that it was meant for, where reports go to another one in its place. Submitted again, it would
    /// count in both.
    ///
    /// Errors ([`Error::Input`]): nobody knows any more what was taken there.
    pub(super) fn was_in_time(&self, place: u64, entries: &[Entry], persistence: Persistence) -> Result<bool> {
        let (told, meant) = (self.told, &self.told.round);
        if self.target.round == *meant {
            return Ok(false);
        }
        let name = Batches::new(&told.identity, &told.me, &told.setting.agreement, meant).name(place, entries);
        self.is_there(&format!("/v1/rounds/{meant}/reports/{}", hex(&name)), persistence, |proxy, answer| {
            let why = answer.told();
            match why.error {
                Kind::Busy | Kind::NotYet => Err(Error::NotReady(format!(
                    "{proxy}: {}: submit again later, with --resume",
                    shown(&why.message)
                ))),
                _ => Err(Error::Input(format!(
                    "{proxy} does not know any more what it took in round {meant} ({}), and what is submitted again would count twice: if \
                     none of this was submitted before, use --round {}",
                    shown(&why.message),
                    self.target.round
                ))),
            }
        })
    }

    /// Whether a batch is at one of the proxies; `unknown` says what it means that one does not tell.
    pub(super) fn is_there(
        &self,
        path: &str,
        persistence: Persistence,
        unknown: impl Fn(&str, &crate::aggregate::transport::Answer) -> Result<bool>,
    ) -> Result<bool> {
        for (place, proxy) in self.proxies.iter().enumerate() {
            let answer = match proxy.ask(&Ask::get(path, MOST_BYTES), persistence) {
                Ok(answer) => answer,
                // Another one than that which is spoken with may be gone.
                Err(Error::Network { .. }) if place > 0 => continue,
                Err(error) => return Err(error),
            };
            let told: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
            match answer.is_ok() {
                true if told["there"].as_bool() == Some(true) => return Ok(true),
                true => (),
                false if unknown(proxy.name(), &answer)? => return Ok(true),
                false => (),
            }
        }
        Ok(false)
    }
}
