//! A round at the database, ready to take entries.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use tacita_core::protocol::aggregate::{DatabaseKey, Params, RoundKeys};
use tacita_core::{Error, Result};
use tacita_node::base::random::fresh_rng;
use tacita_node::jobs::aggregate::Predicate;

use super::record::Record;
use crate::aggregate::Setting;
use crate::aggregate::keys::{Keys, Role};
use crate::aggregate::rounds::{State, of_other_terms};
use crate::aggregate::signed::{Purpose, Signed};

pub(super) struct Round {
    pub(super) name: String,
    pub(super) params: Params,
    /// Absent once it is removed.
    pub(super) secret: Option<DatabaseKey>,
    /// Since the proxies' key is there.
    keys: OnceLock<RoundKeys>,
    record: Mutex<Record>,
    /// Held while entries come in; alone, while the round is removed.
    pub(super) gate: RwLock<()>,
}

impl Round {
    pub(super) fn new(setting: &Setting, keys: &Keys, name: String, record: Record) -> Result<Round> {
        let params = setting.params(&name)?;
        let secret = match record.state {
            State::Removed => None,
            _ => {
                let bytes = keys.load(&name)?.ok_or_else(|| keys.none(&name))?;
                let secret = DatabaseKey::from_bytes(&params, &bytes);
                Some(secret.ok_or_else(|| Error::Input(format!("the key of round {name} is of another job")))?)
            }
        };
        if let Some(own) = record.database.as_ref().filter(|_| secret.is_some()) {
            let purpose = Purpose { agreement: &setting.agreement, round: &name, role: Role::Database };
            let opened = own.open(purpose, &setting.pins("database")?, "the database");
            opened.map_err(|error| of_other_terms(&name, error))?;
        }
        let proxy = record.proxy.clone();
        let round =
            Round { name, params, secret, keys: OnceLock::new(), record: Mutex::new(record), gate: RwLock::default() };
        if let Some(proxy) = proxy {
            let keys = round.verified(setting, &proxy, "the proxy");
            round.learn(keys.map_err(|error| of_other_terms(&round.name, error))?);
        }
        Ok(round)
    }

    /// How it stands. What is changed here is saved before the lock is let go.
    pub(super) fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// In which state it is, unless that is being changed.
    pub(super) fn state(&self) -> Option<State> {
        self.record.try_lock().ok().map(|record| record.state)
    }

    /// The public keys, once both are there.
    pub(super) fn keys(&self) -> Option<&RoundKeys> {
        self.keys.get()
    }

    /// The public keys, with the proxies' from `peer`.
    ///
    /// Errors, about `peer`: it is not signed by a proxy, or proves nothing.
    pub(super) fn verified(&self, setting: &Setting, proxy: &Signed, peer: &str) -> Result<RoundKeys> {
        let purpose = Purpose { agreement: &setting.agreement, round: &self.name, role: Role::Proxy };
        let public = proxy.open(purpose, &setting.pins("proxy")?, peer)?;
        let mut rng = fresh_rng()?;
        let own = self.secret.as_ref().map(|secret| secret.public(&self.params, &mut rng)).unwrap_or_default();
        RoundKeys::new(&self.params, &own, &public, &mut rng).ok_or_else(|| Error::Protocol {
            peer: peer.to_owned(),
            check: format!("its key of round {} proves nothing", self.name),
        })
    }

    /// Takes the public keys, which the record has.
    pub(super) fn learn(&self, keys: RoundKeys) {
        let _ = self.keys.set(keys);
    }

    /// When keys of rows are revealed, as it stands.
    pub(super) fn predicate(&self, setting: &Setting) -> Result<Predicate> {
        let own = setting.own()?;
        let raised = self.record().reveal_when.clone();
        match raised {
            None => Ok(own.own.round.reveal_when.clone()),
            Some(text) => Predicate::parse(&text, &own.own.round.values)
                .map_err(|error| Error::Internal(format!("a raised condition is none: {error}"))),
        }
    }
}
