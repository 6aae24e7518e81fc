//! The secrets of a round, which all proxies share. Any of them makes some when a round opens; those whose public key
//! the database has first are the round's, and the other proxies have them from whoever has taken the round up. What a
//! proxy has made in vain it drops, at once or at the next start.

use tacita_core::protocol::aggregate::RowFunction;
use tacita_core::{Error, Result};
use tacita_node::base::random::fresh_rng;
use tacita_node::base::text::json;
use zeroize::Zeroizing;

use super::Proxy;
use super::asking::{MAX_BYTES, ONCE, TURN, wrong};
use crate::keys;
use crate::secret::{Secret, fetch_key};
use crate::transport::ApiRequest;
use crate::wire::reply::RefusalReason;
use crate::wire::rounds::Open;
use crate::wire::signed::{KeyPurpose, KeyRole, Signed};

impl Proxy {
    /// Offers the public key of a round to the database: of the secrets that are here, or else at another proxy, or
    /// else of new ones. Returns it if it is the round's now.
    ///
    /// Errors ([`Error::NotReady`]): another proxy's was there before.
    pub(super) fn offer(&self, round: &str) -> Result<Signed> {
        let params = self.setting.params(round)?;
        let secret = match self.keys.load(round)? {
            Some(secret) => secret,
            None => {
                let secret = match self.others.iter().find_map(|other| {
                    fetch_key(other, round, None, ONCE)
                        .ok()
                        .filter(|secret| Secret::from_bytes(&self.setting, &params, secret).is_some())
                }) {
                    Some(secret) => secret,
                    None => keys::fresh(&self.setting, KeyRole::Proxy, round)?,
                };
                self.keys.keep(round, &secret)?;
                tracing::info!("round {round}: has new secrets");
                secret
            }
        };
        let key = Secret::from_bytes(&self.setting, &params, &secret).ok_or_else(|| self.keys.none(round))?;
        let purpose = KeyPurpose { agreement: &self.setting.agreement, round, role: KeyRole::Proxy };
        let signed = Signed::new(&self.identity, purpose, &key.public(&params, &mut fresh_rng()?))?;
        let value = json(serde_json::to_value(&signed))?;
        let (answer, by) =
            self.database.ask(&ApiRequest::json(format!("/v1/rounds/{round}/key"), &value, MAX_BYTES), TURN)?;
        match (answer.is_ok(), answer.told().error) {
            (true, _) => Ok(signed),
            // Whose secrets they are is seen when the database tells of it.
            (false, RefusalReason::Conflict) => {
                Err(Error::NotReady("another proxy has given the round its key".into()))
            }
            (false, _) if answer.come_again() => {
                Err(Error::NotReady(format!("{}: {}", by.name(), answer.told().message)))
            }
            (false, _) => Err(wrong(by, &format!("it refuses the proxy's key: {}", answer.told().message))),
        }
    }

    /// The secrets that belong to a round's public key: those that are here, or else another proxy's.
    ///
    /// Errors: [`Error::NotReady`] while nobody who has them answers; [`Error::Input`] if all answer and none has them.
    pub(super) fn secret_of(&self, open: &Open) -> Result<Zeroizing<Vec<u8>>> {
        let round = &open.round;
        match self.keys.load(round)? {
            Some(secret) if self.belongs(open, &secret)? => return Ok(secret),
            Some(_) if self.others.is_empty() || self.keys.is_used(round) => return Err(none(round)),
            Some(_) => {
                tracing::info!(
                    "round {round}: another proxy's secrets are the round's, and those made here are dropped"
                );
                self.keys.forget(round)?;
            }
            None if self.others.is_empty() => return Err(none(round)),
            None => (),
        }
        let mut silent = Vec::new();
        for other in &self.others {
            match fetch_key(other, round, None, ONCE) {
                Ok(secret) if self.belongs(open, &secret)? => {
                    self.keys.keep(round, &secret)?;
                    tracing::info!("round {round}: has the secrets from {}", other.name());
                    return Ok(secret);
                }
                // Those that it has made in vain, and not dropped yet.
                Ok(_) => silent.push(other.name()),
                Err(Error::NotReady(_)) => (),
                Err(_) => silent.push(other.name()),
            }
        }
        if silent.is_empty() {
            Err(none(round))
        } else {
            Err(Error::NotReady(format!("its secrets may be at {}", silent.join(" or "))))
        }
    }

    /// Whether these are the secrets of a round's public key.
    fn belongs(&self, open: &Open, secret: &[u8]) -> Result<bool> {
        let params = self.setting.params(&open.round)?;
        let database = self.database.current().name();
        let keys = self.setting.round_keys(&params, open, database, database)?;
        let secret = Secret::from_bytes(&self.setting, &params, secret);
        Ok(secret.is_some_and(|secret| secret.blinding().is_of(&params, &keys)))
    }
}

fn none(round: &str) -> Error {
    Error::Input(format!(
        "round {round} was opened with secrets that are not here: put them back with `tacita key restore`"
    ))
}
