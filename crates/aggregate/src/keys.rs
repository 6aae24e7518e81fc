//! Secret keys of rounds, each in a file that only its owner can read, sealed under the owner's identity.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;

use tacita_core::protocol::aggregate::DatabaseKey;
use tacita_core::{Error, Result};
use tacita_node::base::folder::Folder;
use tacita_node::base::hex::hex;
use tacita_node::base::random::fresh_rng;
use tacita_node::base::text::shown;
use tacita_node::identity::Identity;
use tacita_node::store::seal::{self, SealKey, SealedReader};
use zeroize::Zeroizing;

use crate::secret::Secret;
use crate::setting::ServiceConfig;
use crate::wire::signed::KeyRole;

/// Maximum length of a key in bytes.
const MAX_BYTES: u64 = 1 << 16;

/// The lock of a state directory.
const LOCK: &str = "lock";

/// The file in which it is said whose state directory it is.
const ROLE: &str = "role";

/// The keys in a state directory.
pub struct StateKeys {
    folder: Arc<Folder>,
    key: SealKey,
    role: KeyRole,
}

impl StateKeys {
    /// Creates access to the keys in `folder`, sealed under `identity`.
    pub fn new(folder: Arc<Folder>, identity: &Identity, role: KeyRole) -> StateKeys {
        StateKeys { folder, key: SealKey::new(identity.derive("round keys", b"")), role }
    }

    /// The key of a round, if there is one.
    pub fn load(&self, round: &str) -> Result<Option<Zeroizing<Vec<u8>>>> {
        let name = self.file(round);
        if self.folder.has(&name) {
            let opened = SealedReader::open(&self.folder, &name, &self.key, &self.purpose(round));
            opened.and_then(|reader| reader.only()).map(Some).map_err(|error| self.unread(&name, error))
        } else {
            Ok(None)
        }
    }

    /// Replaces the error on a damaged key file. The advice in errors on sealed files is meant for those of a run,
    /// which can be made anew.
    fn unread(&self, name: &str, error: Error) -> Error {
        if error.to_string().contains("damaged") {
            Error::Input(format!(
                "{}: was sealed under another identity than the one given, or is damaged: give the identity of this directory, or put the key \
                 back with `tacita key restore`",
                self.folder.at(name).display()
            ))
        } else {
            error
        }
    }

    /// Whether there is a key of a round.
    pub fn has(&self, round: &str) -> bool {
        self.folder.has(&self.file(round))
    }

    /// Keeps a new key of a round; on disk before this returns.
    pub fn keep(&self, round: &str, secret: &[u8]) -> Result<()> {
        let advice = "make room, and try again".to_owned();
        seal::put(&self.folder, &self.file(round), &self.key, &self.purpose(round), secret.to_vec(), advice).map(drop)
    }

    /// Notes that a round was opened with its key: from then on no other may take its place.
    pub fn use_up(&self, round: &str) -> Result<()> {
        if self.is_used(round) { Ok(()) } else { self.folder.write(&self.mark(round), b"") }
    }

    /// Whether the round was opened with its key.
    pub fn is_used(&self, round: &str) -> bool {
        self.folder.has(&self.mark(round))
    }

    /// Removes the key of a round, whose reports nobody can open from then on. That it was used stays known.
    pub fn forget(&self, round: &str) -> Result<()> {
        let failed = |error: std::io::Error| Error::Input(format!("{}: {error}", self.folder.path().display()));
        self.folder.remove(&self.file(round)).map_err(failed)
    }

    /// Writes the sealed key of a round to a file of its own, which is not there yet.
    pub fn back_up(&self, round: &str, to: &Path) -> Result<()> {
        if self.load(round)?.is_none() {
            return Err(self.none(round));
        }
        let path = self.folder.at(&self.file(round));
        let sealed = std::fs::read(&path).map_err(|error| Error::Input(format!("{}: {error}", path.display())))?;
        tacita_node::base::files::write_whole_new_private(to, &sealed)
    }

    /// Takes the key of a round from such a file. One that is there stays.
    pub fn restore(&self, round: &str, from: &Path) -> Result<()> {
        let failed = |what: String| Error::Input(format!("{}: {what}", from.display()));
        let name = self.file(round);
        if self.folder.has(&name) {
            return Err(failed(format!(
                "a key of round {round} already exists in {}, and is not replaced",
                self.folder.path().display()
            )));
        }
        let facts = std::fs::metadata(from).map_err(|error| failed(error.to_string()))?;
        if facts.len() > MAX_BYTES {
            return Err(failed("too large for the key of a round".into()));
        }
        if facts.permissions().mode() & 0o077 != 0 {
            return Err(failed(format!("others can read it: chmod 600 {}", from.display())));
        }
        let sealed = std::fs::read(from).map_err(|error| failed(error.to_string()))?;
        let part = seal::part(&name);
        self.folder.write(&part, &sealed)?;
        let opened =
            SealedReader::open(&self.folder, &part, &self.key, &self.purpose(round)).and_then(SealedReader::only);
        if opened.is_err() {
            let _ = self.folder.remove(&part);
            return Err(failed(format!(
                "it is not a key of round {round} of a {}, or is sealed under another identity",
                self.role.name()
            )));
        }
        self.folder.rename(&part, &name).map_err(|error| failed(error.to_string()))
    }

    /// An error about a round without a key.
    pub fn none(&self, round: &str) -> Error {
        Error::Input(format!(
            "{}: there is no key of round {round}: make one with `tacita key new`, or let the {} make it when the round opens",
            self.folder.path().display(),
            self.role.name()
        ))
    }

    fn file(&self, round: &str) -> String {
        format!("{}-{}.key", self.role.name(), hex(round.as_bytes()))
    }

    fn mark(&self, round: &str) -> String {
        format!("{}-{}.used", self.role.name(), hex(round.as_bytes()))
    }

    fn purpose(&self, round: &str) -> String {
        format!("{} key of round {round}", self.role.name())
    }
}

/// Fresh secrets of a round.
pub fn fresh(setting: &ServiceConfig, role: KeyRole, round: &str) -> Result<Zeroizing<Vec<u8>>> {
    let (params, mut rng) = (setting.params(round)?, fresh_rng()?);
    Ok(match role {
        KeyRole::Proxy => Secret::generate(setting, &params, &mut rng).to_bytes(&params),
        KeyRole::Database => DatabaseKey::generate(&params, &mut rng).to_bytes(&params),
    })
}

/// Opens a state directory, for this process alone; as that of a role, if one is named: it is no other's from then on.
///
/// Errors ([`Error::Input`]): others can write to it, another process uses it, or another role has.
pub fn lock(state: &Path, role: Option<&str>) -> Result<(Arc<Folder>, std::fs::File)> {
    let folder = Folder::make(state)?;
    let lock = folder.try_lock(LOCK)?.ok_or_else(|| {
        Error::Input(format!("{}: another process uses it: end that, or name another directory", state.display()))
    })?;
    if let Some(role) = role {
        match std::fs::read(folder.at(ROLE)) {
            Ok(other) if other != role.as_bytes() => {
                let other = shown(&String::from_utf8_lossy(&other));
                let state = state.display();
                return Err(Error::Input(format!(
                    "{state}: is the state directory of a service `{other}`: name another one"
                )));
            }
            Ok(_) => (),
            Err(_) => folder.write(ROLE, role.as_bytes())?,
        }
    }
    Ok((Arc::new(folder), lock))
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use tacita_node::identity::VALIDITY;

    use super::*;

    #[test]
    fn keys_are_kept_sealed_and_move_with_their_identity_alone() {
        let now = SystemTime::now();
        let [one, other] = ["one", "other"].map(|name| Identity::generate(name, now, now + VALIDITY).unwrap());
        let (first, second) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let folder = |at: &tempfile::TempDir| Arc::new(Folder::make(&at.path().join("state")).unwrap());
        let keys = StateKeys::new(folder(&first), &one, KeyRole::Proxy);
        assert!(keys.load("r").unwrap().is_none());
        keys.keep("r", b"a secret of the round").unwrap();
        assert_eq!(**keys.load("r").unwrap().unwrap(), *b"a secret of the round");
        assert!(keys.load("s").unwrap().is_none());
        for entry in std::fs::read_dir(first.path().join("state")).unwrap() {
            let entry = entry.unwrap();
            assert_eq!(entry.metadata().unwrap().permissions().mode() & 0o777, 0o600);
            assert!(!std::fs::read(entry.path()).unwrap().windows(6).any(|part| part == b"secret"));
        }
        let file = first.path().join("backup");
        keys.back_up("r", &file).unwrap();
        assert!(keys.back_up("s", &file).unwrap_err().to_string().contains("no key of round s"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        let seen = StateKeys::new(folder(&second), &one, KeyRole::Proxy).restore("r", &file).unwrap_err().to_string();
        assert!(seen.contains("others can read it"), "{seen}");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(StateKeys::new(folder(&second), &other, KeyRole::Proxy).restore("r", &file).is_err());
        assert!(StateKeys::new(folder(&second), &one, KeyRole::Database).restore("r", &file).is_err());
        let moved = StateKeys::new(folder(&second), &one, KeyRole::Proxy);
        assert!(moved.restore("s", &file).is_err());
        moved.restore("r", &file).unwrap();
        assert_eq!(**moved.load("r").unwrap().unwrap(), *b"a secret of the round");
        assert!(moved.restore("r", &file).unwrap_err().to_string().contains("is not replaced"));
        keys.use_up("r").unwrap();
        keys.forget("r").unwrap();
        assert!(keys.is_used("r") && keys.load("r").unwrap().is_none());
        assert!(
            lock(&first.path().join("state"), Some("proxy"))
                .is_ok_and(|held| lock(&first.path().join("state"), None).is_err() && held.1.metadata().is_ok())
        );
        lock(&first.path().join("state"), Some("proxy")).unwrap();
        let other = lock(&first.path().join("state"), Some("database")).unwrap_err().to_string();
        assert!(other.contains("is the state directory of a service `proxy`"), "{other}");
    }
}
