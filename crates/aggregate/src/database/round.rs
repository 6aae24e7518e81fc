//! A round at the database, ready to take entries.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, RwLock};

use tacita_core::protocol::aggregate::{DatabaseKey, Params, RoundKeys};
use tacita_core::{Error, Result};
use tacita_node::base::random::fresh_rng;
use tacita_node::jobs::aggregate::Predicate;

use super::record::{Kept, Record};
use crate::setting::ServiceConfig;
use crate::step;
use crate::store::Storage;
use crate::wire::rounds::{RoundState, of_other_terms};
use crate::wire::same_keys::KeysFingerprint;
use crate::wire::signed::{KeyPurpose, KeyRole, Signed};

pub(super) struct Round {
    pub(super) name: String,
    pub(super) params: Params,
    /// Data signed by the database that opened the round; empty once the round is removed.
    public: Vec<u8>,
    /// Absent while only others of the databases have it, and once it is removed.
    secret: RwLock<Option<Arc<DatabaseKey>>>,
    /// Keys of the round, set once the proxies' key is there.
    keys: OnceLock<RoundKeys>,
    kept: RwLock<Kept>,
    /// Held while the record is changed, or had from the storage.
    changing: Mutex<()>,
    /// Whether what a removal leaves has been seen to be all that there is.
    cleared: AtomicBool,
}

impl Round {
    /// A round of the storage, without its secret yet.
    ///
    /// Errors ([`Error::Terms`]): it was opened on other terms, or by another identity.
    pub(super) fn new(setting: &ServiceConfig, name: String, kept: Kept) -> Result<Round> {
        let params = setting.params(&name)?;
        let purpose = KeyPurpose { agreement: &setting.agreement, round: &name, role: KeyRole::Database };
        let pins = setting.pins("database")?;
        let public = match kept.record.database.as_ref().filter(|_| kept.record.state != RoundState::Removed) {
            Some(own) => own.open(purpose, &pins, "the database").map_err(|error| of_other_terms(&name, error))?,
            None => Vec::new(),
        };
        let round = Round {
            name,
            params,
            public,
            secret: RwLock::default(),
            keys: OnceLock::new(),
            kept: RwLock::new(kept),
            changing: Mutex::default(),
            cleared: AtomicBool::new(false),
        };
        round.learn_kept(setting)?;
        Ok(round)
    }

    /// Returns the record of the round, as far as this database has seen it.
    pub(super) fn record(&self) -> Arc<Record> {
        self.kept().record
    }

    /// Returns the state of the round, unless it is being changed.
    pub(super) fn state(&self) -> Option<RoundState> {
        self.changing.try_lock().ok().map(|_| self.record().state)
    }

    fn kept(&self) -> Kept {
        self.kept.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn keep(&self, kept: Kept) {
        *self.kept.write().unwrap_or_else(PoisonError::into_inner) = kept;
    }

    fn changing(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up what other databases have made of it.
    pub(super) fn refresh(&self, storage: &dyn Storage) -> Result<()> {
        let _changing = self.changing();
        self.load(storage)
    }

    fn load(&self, storage: &dyn Storage) -> Result<()> {
        let gone = || Error::Input(format!("the storage's record of round {} is gone: restore the storage", self.name));
        let kept = Kept::load(storage, &self.name)?.ok_or_else(gone)?;
        // Whoever has emptied the storage, and opened the round anew there, has made other keys: entries cannot be
        // opened by what is here.
        let then = self.record();
        let changed = |now: &Option<Signed>, then: &Option<Signed>| {
            now.as_ref().zip(then.as_ref()).is_some_and(|(now, then)| !now.holds_point_of(then, &self.params))
        };
        if changed(&kept.record.database, &then.database) || changed(&kept.record.proxy, &then.proxy) {
            return Err(Error::Input(format!(
                "round {} was reopened in the storage under other keys: restore the former storage, or restart this database",
                self.name
            )));
        }
        self.keep(kept);
        Ok(())
    }

    /// Changes the record: `change` makes of it what it is to be, and says whether that is anything else. It is called
    /// again with what others have made of it meanwhile. Whether the record was changed; on disk before this returns.
    pub(super) fn change(
        &self,
        storage: &dyn Storage,
        change: impl FnMut(&mut Record) -> Result<bool>,
    ) -> Result<bool> {
        self.change_with(storage, &[], change)
    }

    /// The same, with other records that are written together with it or not at all.
    pub(super) fn change_with(
        &self,
        storage: &dyn Storage,
        beside: &[(&str, &[u8])],
        mut change: impl FnMut(&mut Record) -> Result<bool>,
    ) -> Result<bool> {
        let _changing = self.changing();
        loop {
            let kept = self.kept();
            let mut record = Record::clone(&kept.record);
            if !change(&mut record)? {
                return Ok(false);
            }
            step("change")?;
            if let Some(changed) = kept.replaced(storage, &self.name, record, beside)? {
                step("changed")?;
                self.keep(changed);
                return Ok(true);
            }
            self.load(storage)?;
        }
    }

    /// Whether the storage has been told to keep nothing of it but its record.
    pub(super) fn is_cleared(&self) -> bool {
        self.cleared.load(Ordering::Acquire)
    }

    /// Has the storage keep nothing of it but its record, unless that has been done.
    pub(super) fn clear(&self, storage: &dyn Storage) -> Result<()> {
        if !self.is_cleared() {
            self.kept().clear(storage, &self.name)?;
            self.cleared.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// The secret, if it is here.
    pub(super) fn secret(&self) -> Option<Arc<DatabaseKey>> {
        self.secret.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes the secret, if these bytes are that of this round; whether they are.
    pub(super) fn take_secret(&self, bytes: &[u8]) -> bool {
        let secret = DatabaseKey::from_bytes(&self.params, bytes);
        let Some(secret) = secret.filter(|secret| secret.is_of(&self.params, &self.public)) else { return false };
        *self.secret.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(secret));
        true
    }

    /// Removes the secret from memory.
    pub(super) fn drop_secret(&self) {
        *self.secret.write().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// The public keys, once both are there.
    pub(super) fn keys(&self) -> Option<&RoundKeys> {
        self.keys.get()
    }

    /// Their fingerprint, once both are there.
    pub(super) fn fingerprint(&self) -> Option<KeysFingerprint> {
        self.keys().map(|keys| KeysFingerprint::of(&self.params, keys))
    }

    /// Whether a public key of the proxies is the round's own, whatever proof it comes with.
    pub(super) fn is_keyed_by(&self, setting: &ServiceConfig, proxy: &Signed, peer: &str) -> bool {
        let given = self.checked(setting, proxy, peer).ok();
        given.is_some_and(|keys| self.fingerprint() == Some(KeysFingerprint::of(&self.params, &keys)))
    }

    /// Takes the proxies' public key that is in the record, if it is.
    pub(super) fn learn_kept(&self, setting: &ServiceConfig) -> Result<()> {
        let proxy = self.record().proxy.clone();
        if let Some(proxy) = proxy.filter(|_| self.keys.get().is_none()) {
            let keys = self.checked(setting, &proxy, "the proxy");
            // The same key may come twice.
            let _ = self.keys.set(keys.map_err(|error| of_other_terms(&self.name, error))?);
        }
        Ok(())
    }

    /// The public keys, with the proxies' one that `peer` gives.
    ///
    /// Errors, about `peer`: it is not signed by a proxy, or proves nothing.
    pub(super) fn checked(&self, setting: &ServiceConfig, proxy: &Signed, peer: &str) -> Result<RoundKeys> {
        let purpose = KeyPurpose { agreement: &setting.agreement, round: &self.name, role: KeyRole::Proxy };
        let public = proxy.open(purpose, &setting.pins("proxy")?, peer)?;
        RoundKeys::new(&self.params, &self.public, &public, &mut fresh_rng()?).ok_or_else(|| Error::Protocol {
            peer: peer.to_owned(),
            check: format!("its key of round {} proves nothing", self.name),
        })
    }

    /// Returns the current condition under which keys of rows are revealed.
    pub(super) fn predicate(&self, setting: &ServiceConfig) -> Result<Predicate> {
        let own = setting.own()?;
        match &self.record().reveal_when {
            None => Ok(own.own.round.reveal_when.clone()),
            Some(text) => Predicate::parse(text, &own.own.round.values)
                .map_err(|error| Error::Internal(format!("a raised condition is none: {error}"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use tacita_node::identity::Identity;
    use zeroize::Zeroizing;

    use super::super::record::NAME;
    use super::*;
    use crate::secret::Secret;
    use crate::{store, testing};

    /// A round that is open in a storage, and whose keys were made by whom they should be.
    struct Opened {
        setting: ServiceConfig,
        proxy: Identity,
        database: Identity,
        storage: Box<dyn Storage>,
        secret: Zeroizing<Vec<u8>>,
        _home: tempfile::TempDir,
    }

    impl Opened {
        fn new() -> Opened {
            let (setting, [proxy, _, database]) = testing::setting();
            let home = tempfile::tempdir().unwrap();
            let storage = store::open(&format!("embedded:{}", home.path().join("rows").display())).unwrap();
            let (secret, signed) = key(&setting, &database);
            assert!(Kept::new(Record::new(0, signed)).unwrap().create(&*storage, "r").unwrap());
            Opened { setting, proxy, database, storage, secret, _home: home }
        }

        /// The round as a database takes it up.
        fn taken_up(&self) -> Result<Round> {
            Round::new(&self.setting, "r".into(), Kept::load(&*self.storage, "r")?.unwrap())
        }

        fn put(&self, record: &Record) {
            self.storage.put("r", NAME, &record.to_bytes().unwrap()).unwrap();
        }

        /// A public key of the proxies'.
        fn proxies(&self) -> Signed {
            let (params, mut rng) = (self.setting.params("r").unwrap(), fresh_rng().unwrap());
            let public = Secret::generate(&self.setting, &params, &mut rng).public(&params, &mut rng);
            let purpose = KeyPurpose { agreement: &self.setting.agreement, round: "r", role: KeyRole::Proxy };
            Signed::new(&self.proxy, purpose, &public).unwrap()
        }
    }

    /// A fresh secret of the round, and its public key, signed by this identity.
    fn key(setting: &ServiceConfig, by: &Identity) -> (Zeroizing<Vec<u8>>, Signed) {
        let (params, mut rng) = (setting.params("r").unwrap(), fresh_rng().unwrap());
        let key = DatabaseKey::generate(&params, &mut rng);
        let purpose = KeyPurpose { agreement: &setting.agreement, round: "r", role: KeyRole::Database };
        let signed = Signed::new(by, purpose, &key.public(&params, &mut rng)).unwrap();
        (key.to_bytes(&params), signed)
    }

    #[test]
    fn a_round_has_the_secret_that_it_was_opened_with_and_no_other() {
        let opened = Opened::new();
        let round = opened.taken_up().unwrap();
        assert!(!round.take_secret(&key(&opened.setting, &opened.database).0) && round.secret().is_none());
        assert!(round.take_secret(&opened.secret) && round.secret().is_some());
        opened.put(&Record::new(0, key(&opened.setting, &opened.proxy).1));
        assert!(matches!(opened.taken_up(), Err(Error::Terms(_))), "signed by a proxy");
    }

    /// Two databases change one round: each makes of it what it is to be after the other.
    #[test]
    fn a_change_is_made_of_what_others_have_changed_meanwhile() {
        let opened = Opened::new();
        let [one, other] = [0; 2].map(|_| opened.taken_up().unwrap());
        let close = |record: &mut Record| {
            record.state = RoundState::Closed;
            Ok(true)
        };
        assert!(one.change(&*opened.storage, close).unwrap());
        let mut seen = Vec::new();
        let changed = other.change(&*opened.storage, |record| {
            seen.push(record.state);
            record.closed = Some(7);
            Ok(true)
        });
        assert!(changed.unwrap());
        assert_eq!(seen, [RoundState::Open, RoundState::Closed]);
        let kept = Kept::load(&*opened.storage, "r").unwrap().unwrap().record;
        assert_eq!((kept.state, kept.closed), (RoundState::Closed, Some(7)));
    }

    /// Somebody has emptied the storage, and opened the round anew: what was sent under its keys of before opens to
    /// nothing there.
    #[test]
    fn a_round_that_was_opened_anew_in_the_storage_is_not_taken_for_the_one_of_before() {
        let opened = Opened::new();
        let own = opened.taken_up().unwrap().record().database.clone().unwrap();
        let keyed = |database: &Signed, proxy| {
            let mut record = Record::new(0, database.clone());
            record.proxy = Some(proxy);
            record
        };
        let proxy = opened.proxies();
        opened.put(&keyed(&own, proxy.clone()));
        let round = opened.taken_up().unwrap();
        round.refresh(&*opened.storage).unwrap();
        for anew in [keyed(&key(&opened.setting, &opened.database).1, proxy.clone()), keyed(&own, opened.proxies())] {
            opened.put(&anew);
            let error = round.refresh(&*opened.storage).unwrap_err().to_string();
            assert!(error.contains("was reopened"), "{error}");
        }
        opened.put(&keyed(&own, proxy));
        round.refresh(&*opened.storage).unwrap();
    }
}
